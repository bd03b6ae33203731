"""Links of pages lead somewhere, and what they print from declarations is current."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tunax_lite.config import load_calibration

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "gallery").glob("*.md")]
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
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run: python docs/generated.py\n{done.stdout}{done.stderr}"


def test_the_example_of_overfitting_is_a_configuration(tmp_path):
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text_of(DOCS / "calibration/overfitting.md"), re.M | re.S)
    (tmp_path / "two.yaml").write_text(block)
    config = load_calibration(tmp_path / "two.yaml").config
    assert len(config.cases) == 2 and len(config.parameters) == 4
