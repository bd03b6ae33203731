"""Tables of pages that are made of what is declared and measured, so that a page reads well as it is stored.

A table stands between two comments, `<!-- parameters kpp -->` and `<!-- end -->`. `python docs/generated.py`
writes them all, with `--check` only lists the pages that are out of date, as a test does.

    parameters NAME     parameters and settings of a name of configurations
    cost NAME NAME      times per step that the page of the comparison has for closures, and over k-epsilon
    names               all names of configurations, by family; on the site with the tables of each
    measured NAME       a table of the benchmarks, from figures/performance_tables.md
"""

import re
import sys
from pathlib import Path

from tunax_lite.closures import AbstractClosure
from tunax_lite.config.reference import describe, families

DOCS = Path(__file__).parent
TABLE = re.compile(r"(<!-- (parameters|cost|names|measured) ?([\w ]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def _parameters(name: str, only: type | None = None) -> str:
    """What a name declares itself, the closure of several; its parts have names of their own."""
    named = [each for each in describe(name) if only is None or each.kind is only]
    each = max(named, key=lambda each: issubclass(each.kind, AbstractClosure))
    rows = [row for row in each.declared if "." not in row.path]
    lines = ["| name | default | unit | range | meaning |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (f"`{row.path}`", row.default, row.unit, row.range, row.meaning.replace("|", "\\|"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if rows else ""


def _cost(names: str) -> str:
    text = (DOCS / "closures" / "comparison.md").read_text(encoding="utf-8")
    measured: dict[str, float] = {}
    for row in re.finditer(r"^\| `(\w+)` (?:\|[^|\n]*){8}\| ([\d.]+) \|$", text, flags=re.MULTILINE):
        measured.setdefault(row[1], float(row[2]))  # the first table: default constants
    lines = ["| closure | step of one column of 64 cells [µs] | over `k_epsilon` |", "| --- | ---: | ---: |"]
    for name in names.split():
        ratio = measured[name] / measured["k_epsilon"]
        lines.append(f"| `{name}` | {measured[name]:g} | {ratio:.1f} |")
    lines += ["", "One core, float64; [how it was measured](comparison.md#with-default-constants)."]
    return "\n".join(lines)


def _names(_: str) -> str:
    lines = []
    for title, names in families().items():
        lines += [f"## {title}", "", "| name | meaning |", "| --- | --- |"]
        for each in names:
            (said,) = [said for said in describe(each.name) if said.kind is each.kind]
            lines.append(f"| `{each.name}` | {said.summary.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines[:-1])


def with_settings(text: str) -> str:
    """The page of all names as the site has it: with the parameters and settings of each."""
    lines = []
    for title, names in families().items():
        lines.append(f"## {title}\n")
        for each in names:
            (said,) = [said for said in describe(each.name) if said.kind is each.kind]
            source = f" Source: {said.source}" if said.source else ""
            table = _parameters(each.name, each.kind)
            lines.append(f"### `{each.name}`\n\n{said.summary}{source}\n\n{table}\n")
    return TABLE.sub(lambda _: "\n".join(lines), text)


def _measured(name: str) -> str:
    tables = (DOCS / "figures" / "performance_tables.md").read_text(encoding="utf-8")
    return tables.split(f"<!-- begin {name} -->\n\n")[1].split("\n\n<!-- end")[0]


MAKERS = {"parameters": _parameters, "cost": _cost, "names": _names, "measured": _measured}


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
