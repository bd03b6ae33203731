"""Tables of pages that are made of what is declared and measured, so that a page reads well as it is stored.

A table stands between two comments, `<!-- measured figures -->` and `<!-- end -->`. `python
docs/generated.py` writes them all; with `--check` it only lists pages that are out of date, as a test does.

    names               all names of configurations, by family
    public              all public names of the package, with their pages
    measured NAME       a table of the benchmarks, from benchmarks/baseline.json
    history             time of a step beside GOTM and Tunax, from benchmarks/history.csv
    errors              errors of closures on large-eddy simulations, from benchmarks/les_errors.csv
    commands            what each command does
    mapping             keys of the mapping of a NetCDF file
"""

import csv
import importlib
import inspect
import re
import statistics
import sys
from pathlib import Path
from typing import get_args

import interface

from tunax_lite.cli.application import Group
from tunax_lite.cli.commands import app
from tunax_lite.closures import AbstractClosure
from tunax_lite.declarations import Named, all_names, meanings, name_of, summary_and_source, words_of
from tunax_lite.io import Mapping
from tunax_lite.views import AbstractShown

DOCS = Path(__file__).parent
TABLE = re.compile(
    r"(<!-- (names|public|measured|history|errors|commands|mapping) ?([\w ]*) -->\n).*?(<!-- end -->)",
    re.DOTALL,
)

EXPLANATION = re.compile(r"[;:] |, (?=(?:as|so|which|with|whose|such|for|from|if|ready|one|that) )")
ADDITION = re.compile(
    rf"{EXPLANATION.pattern}|, (?=(?:and|or|without|in|at|by|also|compiled|averaged|each|NaN) )"
)


def _families() -> dict[str, list[Named]]:
    """All names by the title of their family: the first base class in this package, in words."""
    named: dict[str, list[Named]] = {}
    for each in all_names():
        kinds = [kind for kind in each.kind.__mro__ if kind.__module__.startswith("tunax_lite.")]
        kinds = [kind for kind in kinds if kind is not AbstractShown]
        roots = [kind for kind in kinds if not set(kind.__bases__) & set(kinds)]
        root = AbstractClosure if AbstractClosure in roots else roots[0]
        named.setdefault(words_of(root), []).append(each)
    return {title: sorted(named[title], key=lambda each: each.name) for title in sorted(named)}


def _names(_: str) -> str:
    lines = []
    for title, names in _families().items():
        lines += [f"**{title}**", ""]
        for kind in dict.fromkeys(each.kind for each in names):
            labels = ", ".join(f"`{each.name}`" for each in names if each.kind is kind)
            lines.append(f"* {labels}: {_first_clause(summary_and_source(kind)[0])}")
        lines.append("")
    return "\n".join(lines[:-1])


def _public(_: str) -> str:
    lines = []
    for (package, name), page in sorted(interface.pages().items()):
        value = getattr(importlib.import_module(package), name)
        clause = ""
        if inspect.isclass(value):  # names.md describes the classes with a name in configurations
            label = name_of(value)
            clause = f"`{label}`" if label else _first_clause(summary_and_source(value)[0], ADDITION)
        elif inspect.isroutine(value):
            clause = _first_clause(inspect.getdoc(value) or "", ADDITION)
        lines.append(
            f"* [`{package}.{name}`]({page}.md){clause and f': {clause}'}"
        )  # interface.py reads lines with "- "
    return "\n".join(lines)


def _measured(name: str) -> str:
    sys.path.append(str(DOCS.parent))
    from benchmarks import report

    return report.sections(report.read_report(report.BASELINE))[name][1]


def _history(_: str) -> str:
    """The measurements of one step that include GOTM."""
    lines = ["| date | machine | tunax_lite | GOTM | Tunax | GOTM / tunax_lite | Tunax / tunax_lite |"]
    lines.append("| --- | --- |" + " ---: |" * 5)
    with (DOCS.parent / "benchmarks/history.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["gotm_us"]:
                numbers = [f"{float(row[name]):.3g}" for name in ("column_us", "gotm_us", "tunax_us")]
                numbers += [f"{float(row[f'{name}_over_column']):.2g}" for name in ("gotm", "tunax")]
                lines.append(f"| {row['date']} | {row['machine']} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _errors(_: str) -> str:
    """Median, mean and largest error [mK] of the default and the recommended constants of each closure."""
    with (DOCS.parent / "benchmarks/les_errors.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    errors = {row.pop("closure"): [float(value) for value in row.values()] for row in rows}

    def cells(name: str) -> str:
        if name not in errors:
            return "| | | "
        values = errors[name]
        return "".join(f"| {each(values):.1f} " for each in (statistics.median, statistics.mean, max))

    names = {name.removesuffix("_recommended") for name in errors} - {"persistence"}
    ordered = sorted(names, key=lambda name: statistics.mean(errors.get(f"{name}_recommended", errors[name])))
    lines = ["| closure | default: median | mean | worst | recommended: median | mean | worst |"]
    lines.append("| --- |" + " ---: |" * 6)
    for name in [*ordered, "persistence"]:
        lines.append(f"| `{name}` {cells(name)}{cells(f'{name}_recommended')}|")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _first_clause(text: str, ends: re.Pattern[str] = EXPLANATION) -> str:
    """Start of a summary, up to its formula or to one of `ends`; brackets stay complete."""
    cell = _cell(text.split("\n\n")[0]).partition(" Source:")[0].removesuffix(".")
    if "=" in cell:
        return cell.partition(": ")[0]
    heads = (cell[: match.start()] for match in ends.finditer(cell))
    return next((head for head in heads if head.count(" ") >= 3 and head.count("(") == head.count(")")), cell)


def _commands(_: str) -> str:
    lines = ["| command | what it does |", "| --- | --- |"]
    for group in get_args(Group):
        for each in (command for command in app.registered_commands if command.rich_help_panel == group):
            assert each.callback is not None
            name = each.name or each.callback.__name__.replace("_", "-")
            lines.append(f"| `{name}` | {_first_clause(inspect.getdoc(each.callback) or '')} |")
    return "\n".join(lines)


def _mapping(_: str) -> str:
    lines = [f"- `{name}`: {meaning}" for name, meaning in meanings(Mapping).items()]
    return "\n".join(lines)


MAKERS = {
    "names": _names,
    "public": _public,
    "measured": _measured,
    "history": _history,
    "errors": _errors,
    "commands": _commands,
    "mapping": _mapping,
}


def filled(text: str) -> str:
    """A page with its tables as they are declared and measured now."""
    return TABLE.sub(lambda found: f"{found[1]}\n{MAKERS[found[2]](found[3])}\n\n{found[4]}", text)


def pages() -> list[Path]:
    """Pages that have such tables."""
    return [path for path in sorted(DOCS.rglob("*.md")) if TABLE.search(path.read_text(encoding="utf-8"))]


def main(check: bool) -> int:
    old = 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            old += 1
            if not check:
                path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{path} {'is out of date' if check else 'is written'}\n")
    return old if check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
