"""What the pages below `docs/api` document, and the directives that describe it.

A line "- [`MODULE`](source): `NAME`, `NAME`" of a page stands for these names, one without names for all of
`__all__` of the package that no page lists.
"""

import dataclasses
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import tunax_lite
from tunax_lite.config.names import Declared, declared

PAGES = Path(__file__).parent / "api"
LINE = re.compile(r"^- \[`(tunax_lite[\w.]*)`\]\([^)]*\): (.*)$", flags=re.MULTILINE)


@functools.cache
def pages() -> dict[tuple[str, str], str]:
    """Public names, with the package in front of each, and the page that lists them."""
    lines = [
        (page.stem, module, re.findall(r"`(\w+)`", names))
        for page in sorted(PAGES.glob("*.md"))
        for module, names in LINE.findall(page.read_text(encoding="utf-8"))
    ]
    found = {(module, name): page for page, module, names in lines for name in names}
    for page, module, names in lines:
        if not names:
            found |= {(module, name): page for name in _remaining(module)}
    return found


def _remaining(module: str) -> Iterator[str]:
    """Public names of a package that no line names."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES.glob("*.md")]
    lines = [line for text in texts for line in LINE.findall(text)]
    named = [(own, name) for own, names in lines for name in re.findall(r"`(\w+)`", names)]
    elsewhere = {id(getattr(importlib.import_module(own), name)) for own, name in named}
    found = importlib.import_module(module)
    return (name for name in found.__all__ if id(getattr(found, name)) not in elsewhere)


def directives(text: str) -> str:
    """A page with Sphinx directives in place of its lines."""

    def described(line: re.Match) -> str:
        module, names = line[1], re.findall(r"`(\w+)`", line[2])
        names = names or _remaining(module)
        return "\n".join(["```{eval-rst}", *(_directive(module, name) for name in names), "```"])

    return LINE.sub(described, text)


def _directive(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    if name in tunax_lite.__all__ and getattr(tunax_lite, name) is value:
        module = "tunax_lite"
    if inspect.isclass(value) and value.__module__.startswith("tunax_lite"):
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {module}.{name}\n"
    said = str(value).replace("jaxtyping.", "").replace("jax.Array", "Array")
    return f".. py:data:: {module}.{name}\n\n   ``{said if len(said) < 300 else type(value).__name__}``\n"


def _declared(value: object) -> list[Declared]:
    if not (inspect.isclass(value) and dataclasses.is_dataclass(value)):
        return []
    return [row for row in declared(value) if "." not in row.path and (row.unit or row.range)]


def signature(value: object, text: str | None) -> str | None:
    """That of a function or class with short names of types; none where a table has all arguments."""
    rows = {row.path for row in _declared(value)}
    if rows and rows >= {field.name for field in dataclasses.fields(value) if field.init}:
        return ""
    return text and text.replace("jaxlib._jax.Array", "Array").replace("jaxtyping.", "")


def with_tables(value: object, lines: list[str]) -> None:
    """Put a table of what a class declares in place of these arguments, and escape what reST would read."""
    rows = _declared(value)
    text = _without_arguments("\n".join(lines), {row.path for row in rows})
    parts = re.split(r"(``.*?``|`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*|]|_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    text = re.sub(r"^Returns:$", ":returns:", "".join(parts), flags=re.MULTILINE)  # a colon there is no type
    lines[:] = text.splitlines()
    if rows:
        lines += ["", *_list_table(rows), ""]


def _without_arguments(text: str, names: set[str]) -> str:
    """A docstring without the entries of `Args:` all of whose names a table has."""

    def remaining(section: re.Match) -> str:
        entries = re.split(r"\n(?=    \S)", section[1].rstrip())
        kept = [entry for entry in entries if not set(re.findall(r"\w+", entry.partition(":")[0])) <= names]
        return "Args:\n" + "\n".join(kept) + "\n\n" if kept else ""

    return (
        re.sub(r"^Args:\n((?:[ ]+.*\n|\n)*)", remaining, text + "\n", flags=re.MULTILINE) if names else text
    )


def _list_table(rows) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", "   :class: declared", ""]
    cells = [("name", "default", "unit", "range", "meaning")]
    cells += [(f"``{row.path}``", row.default, row.unit, row.range, row.meaning) for row in rows]
    for row in cells:
        escaped = [row[0], *(re.sub(r"([*|]|_(?=\W|$))", r"\\\1", cell) for cell in row[1:])]
        lines += [f"   {'* -' if n == 0 else '  -'} {cell}" for n, cell in enumerate(escaped)]
    return lines
