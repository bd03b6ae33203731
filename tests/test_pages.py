"""Pages read well as they are stored, on a code host that builds nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tunax_lite.cli.commands import app
from tunax_lite.config import load_calibration

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "gallery").glob("*.md")]
    if "_build" not in path.parts and path.relative_to(DOCS.parent).parts[:2] != ("docs", "gallery")
)
FENCED = re.compile(r"^(```|~~~)(.*?)\n(.*?)^\1[ ]*$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def stored() -> set[Path] | None:
    """Files and folders of the repository; `None` where it is no checkout."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = {ROOT / line for line in listed.stdout.splitlines()}
    return {folder for file in files for folder in (file, *file.parents)} if files else None


def slug(heading: str) -> str:
    """The anchor that a code host gives to a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text_of(path)), flags=re.MULTILINE)
    return {slug(heading) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_needs_no_build(page):
    text = text_of(page)
    kinds = [kind for _, kind, _ in FENCED.findall(text)]
    assert not [kind for kind in kinds if kind.startswith("{")], "directives of Sphinx show as code"
    plain = re.sub(r"`[^`\n]*`", "", FENCED.sub("", text))
    assert not re.findall(r"^\(\w+\)=$|\{\{.*?\}\}|^:::.*|\{[a-z:]+\}(?=`)", plain, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_of_a_page_lead_to_stored_files_and_headings(page, stored):
    broken = []
    for link in LINK.findall(FENCED.sub("", text_of(page))):
        file, _, place = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (stored is not None and target not in stored):
            broken.append(link)
        elif place and target.suffix == ".md" and place not in anchors(target):
            broken.append(link)
    assert not broken


def test_every_page_can_be_reached_from_the_readme():
    reached, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(text_of(page)))
        todo += [path for link in links if link and (path := (page.parent / link).resolve()) in PAGES]
    own = {page for page in PAGES if page.is_relative_to(DOCS) and "figures" not in page.parts}
    assert not {name(page) for page in own - reached}


def test_tables_of_pages_are_what_is_declared_and_measured():
    """In a process of its own, where no test has declared names."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, DOCS / "generated.py", "--check"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"run: python docs/generated.py\n{done.stdout}{done.stderr}"


def test_every_option_of_every_command_is_on_the_page():
    """As the help of each command shows it."""
    page = text_of(DOCS / "command_line.md")
    sections = dict(re.findall(r"^### tunax-lite (\S+)\n(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL))
    shared = page[page.index("### Of several commands") : page.index("### tunax-lite")]
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.partition("Commands")[2]
    assert set(sections) == set(re.findall(r"^[ │]+([a-z-]+) ", listed, flags=re.MULTILINE))
    for command in sections:
        said = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", said, flags=re.MULTILINE))
        assert {"--debug", "--help"} <= options
        for option in options:
            own = f"`{option}" in sections[command]
            assert own or re.search(rf"`{option}[ `].*(\| all \||`{command}`)", shared), f"{command} {option}"


def test_the_example_of_overfitting_is_a_configuration(tmp_path):
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text_of(DOCS / "calibration/overfitting.md"), re.M | re.S)
    (tmp_path / "two.yaml").write_text(block)
    config = load_calibration(tmp_path / "two.yaml").config
    assert len(config.cases) == 2 and len(config.parameters) == 4


def test_the_gallery_lists_its_examples():
    linked = set(LINK.findall(text_of(ROOT / "gallery" / "README.md")))
    assert {path.name for path in (ROOT / "gallery").glob("*.py")} <= linked
