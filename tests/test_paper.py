"""The draft of the paper names commands, configurations, figures and references that there are."""

import re
import shlex
from pathlib import Path

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
    bibliography = (ROOT / "paper/paper.bib").read_text(encoding="utf-8")
    entries = set(re.findall(r"^@\w+\{(\w+),", bibliography, flags=re.MULTILINE))
    assert set(re.findall(r"@(\w+)", PAPER.split("---", 2)[2])) == entries
