"""What the pages below `docs/api` document: which names are public, and the directives that describe them.

A line "- [`MODULE`](source): `NAME`, `NAME`" of a page stands for these names, one without names for all
public names of a module or folder that no page lists. `tests/test_docs.py` holds every public name to one of
these lines.
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import tunax_lite
from tunax_lite.config.reference import Declared, declared

PAGES = Path(__file__).parent / "api"
LINE = re.compile(r"^- \[`(tunax_lite[\w.]*)`\]\([^)]*\): (.*)$", flags=re.MULTILINE)
NOT_CALLED = {
    "cli",
    "column.time_series",
    "column.transport",
    "constants",
    "declarations",
    "quantities",
    "runtime.interrupts",
    "runtime.machine",
}
"""Folders and modules that serve the others."""


def modules() -> list[str]:
    """The package, its public folders, also those in folders, and the modules beside them."""
    walked = pkgutil.walk_packages(tunax_lite.__path__, "tunax_lite.")
    own = [
        each.name
        for each in walked
        if each.ispkg
        or each.name.count(".") == 1
        or re.fullmatch(r"tunax_lite\.(column|extensions\.coupling)\.\w+", each.name)
    ]
    hidden = {f"tunax_lite.{name}" for name in NOT_CALLED}
    is_hidden = lambda name: any(f"{name}.".startswith(f"{each}.") for each in hidden)  # noqa: E731
    return ["tunax_lite", *(name for name in own if name.split(".")[1][0] != "_" and not is_hidden(name))]


@functools.cache
def public(module: str) -> dict[str, Any]:  # Any: whatever has a name
    """Public objects of a module or folder by name: what it defines, and constants in capitals."""
    found = importlib.import_module(module)
    if found is tunax_lite:
        return {name: getattr(tunax_lite, name) for name in tunax_lite.__all__}
    names = getattr(found, "__all__", None) or [name for name in vars(found) if name[0] != "_"]
    return {name: getattr(found, name) for name in names if _is_own(getattr(found, name), name, module)}


def _is_own(value: Any, name: str, module: str) -> bool:  # Any: whatever has a name
    if inspect.isclass(value) or callable(value):
        return f"{getattr(value, '__module__', '')}.".startswith(f"{module}.")
    return not isinstance(value, ModuleType) and re.fullmatch("[A-Z][A-Z0-9_]+", name) is not None


@functools.cache
def listed() -> tuple[tuple[str, str], ...]:
    """Names that pages list, with the module in front of them."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        for module, names in LINE.findall(page.read_text(encoding="utf-8")):
            found += [(module, name) for name in re.findall(r"`(\w+)`", names)]
    return tuple(found)


def documented() -> set[int]:
    """What the lines of all pages stand for, by identity."""
    found = {id(getattr(importlib.import_module(module), name)) for module, name in listed()}
    for page in PAGES.glob("*.md"):
        for module, names in LINE.findall(page.read_text(encoding="utf-8")):
            if "`" not in names:
                found |= {id(value) for value in public(module).values()}
    return found


def directives(text: str) -> str:
    """A page with Sphinx directives in place of its lines."""

    def described(line: re.Match) -> str:
        module, names = line[1], re.findall(r"`(\w+)`", line[2])
        if not names:
            elsewhere = {id(getattr(importlib.import_module(own), name)) for own, name in listed()}
            names = [name for name, value in public(module).items() if id(value) not in elsewhere]
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
