"""The site: every public name has its place, examples run, links lead somewhere, tables are current."""

import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import some_long
from tunax_lite.config import load_calibration

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted(path.stem for path in (ROOT / "gallery").glob("*.py"))
SHORT_EXAMPLES = ("10_own_energy_equation", "11_custom_term")
API = sorted(page.stem for page in (DOCS / "api").glob("*.md") if ">>>" in page.read_text(encoding="utf-8"))
SHORT_PAGES = ("case", "model", "forcing")


def _module_of_docs(name: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        return importlib.import_module(name)


interface = _module_of_docs("interface")


def test_public_names_are_on_a_page_and_are_all_that_dir_shows():
    listed = {(package, name) for package, name in interface.pages()}
    assert len(listed) <= 250
    objects = {id(getattr(importlib.import_module(package), name)) for package, name in listed}
    for package in {package for package, _ in listed}:
        found = importlib.import_module(package)
        assert dir(found) == sorted(found.__all__), package
        assert not [name for name in found.__all__ if id(getattr(found, name)) not in objects], package


def test_examples_use_public_names():
    pattern = re.compile(
        r"^(?:>>> |\s+\")?from (tunax_lite[\w.]*) import (\w+(?:, \w+)*)", flags=re.MULTILINE
    )
    pages = [*DOCS.rglob("*.md"), *(ROOT / "gallery").glob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    for page in pages:
        for package, names in pattern.findall(page.read_text(encoding="utf-8")):
            others = set(names.split(", ")) - set(dir(importlib.import_module(package)))
            assert all(importlib.util.find_spec(f"{package}.{name}") for name in others), (
                page,
                package,
                others,
            )


@pytest.mark.parametrize("page", some_long(API, lambda page: page not in SHORT_PAGES))
def test_examples_of_a_page_of_the_interface(page):
    text = (DOCS / "api" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, f"{page}.md", 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def _of_tier(name: str):
    return pytest.param(name, marks=pytest.mark.long if name in SHORT_EXAMPLES else pytest.mark.study)


@pytest.mark.parametrize("name", list(map(_of_tier, EXAMPLES)))
def test_example_of_the_gallery(name):
    command = [sys.executable, "-W", "error:::tunax_lite", f"{name}.py"]
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT / "gallery", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "gallery/*.md", "paper/*.md")
    for path in ROOT.glob(pattern)
    if "_build" not in path.parts and path.relative_to(ROOT).parts[:2] != ("docs", "gallery")
)
FENCED = re.compile(r"^(```|~~~)(.*?)\n(.*?)^\1[ ]*$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def slug(heading: str) -> str:
    """The anchor that a code host gives to a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def test_links_of_pages_lead_to_stored_files_and_headings():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = {ROOT / line for line in listed.stdout.splitlines()}
    stored = {folder for file in files for folder in (file, *file.parents)}  # empty: no checkout
    texts = {page: FENCED.sub("", text_of(page)) for page in PAGES}
    headings = {page: re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for link in LINK.findall(text):
            file, _, place = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            is_there = target.exists() and (not stored or target in stored)
            if not is_there or (place and place not in map(slug, headings.get(target, [place]))):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert not broken


@pytest.mark.long  # in a process of its own, where no test has declared names
def test_tables_of_pages_are_what_is_declared_and_measured():
    command = [sys.executable, DOCS / "generated.py", "--check"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run: python docs/generated.py\n{done.stdout}{done.stderr}"


def test_the_example_of_overfitting_is_a_configuration(tmp_path):
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text_of(DOCS / "calibration/overfitting.md"), re.M | re.S)
    (tmp_path / "two.yaml").write_text(block)
    config = load_calibration(tmp_path / "two.yaml").config
    assert len(config.cases) == 2 and len(config.parameters) == 4
