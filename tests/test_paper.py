"""The draft of the paper names commands, configurations, figures and references that there are."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from tunax_lite.cli.commands import app

ROOT = Path(__file__).parents[1]
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line)
    for line in re.findall(r"^    ([a-z].*)$", PAPER.split("\n# ", 1)[1], flags=re.MULTILINE)
]


def test_commands_are_those_of_the_package():
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(COMMANDS) >= 6
    for program, *words in COMMANDS:
        if program == "make":
            assert set(words) <= set(targets)
        elif program == "python":
            assert words[0] == "-m" and (ROOT / words[1]).is_dir()
        else:
            assert program == "tunax-lite"
            options = {name for parameter in known[words[0]].params for name in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options
            assert all((ROOT / word).is_file() for word in words if word.startswith("configs/"))


def test_figures_and_references_are_there():
    figures = re.findall(r"\]\(([^)]+)\)", PAPER)
    assert figures and all((ROOT / "paper" / figure).is_file() for figure in figures)
    entries = set(
        re.findall(
            r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    assert set(re.findall(r"@(\w+)", PAPER.split("---", 2)[2])) == entries


# A number of the README, in its place there, and the same in the sentence of the paper.
SHARED = [
    (
        r"\| forward, one column of 64 / 256 levels \| ([\d.]+) / [\d.]+ us",
        r"with 64 levels takes ([\d.]+) µs per step",
    ),
    (
        r"least memory of similar speed .*; ([\d.]+) x forward in",
        r"five parameters takes ([\d.]+) times as long",
    ),
    (r"\[(\d+) of them\]\(docs/closures", r"\b(\d+)\b[^.]*\bclosures\b"),
    (r"generic length scale: ([\d.]+) mK on large-eddy", r"its error on that source is ([\d.]+) mK"),
    (r"k-epsilon with GOTM's constants ([\d.]+) mK", r"k-epsilon with GOTM's constants is ([\d.]+) mK"),
]


@pytest.mark.parametrize(("in_readme", "in_paper"), SHARED)
def test_numbers_are_those_of_the_readme(in_readme, in_paper):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(in_readme, readme), re.search(in_paper, " ".join(PAPER.split()))
    assert found[0] and found[1] and found[0][1] == found[1][1]


def test_numbers_are_those_of_the_pages_that_the_commands_fill():
    pages = {
        name: (ROOT / "docs" / name).read_text(encoding="utf-8")
        for name in ("results.md", "closures/two_equation.md")
    }
    assert "| 23.9 |" in pages["results.md"] and "| 2.7 |" in pages["results.md"]
    assert "24 stay" in pages["results.md"] and "from 23.9 to 2.7 mK" in PAPER


def test_it_has_two_pages():
    body = PAPER.split("---", 2)[2]
    assert 600 < len(body.split()) < 1100
