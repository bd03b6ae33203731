"""Statistics of a result, their comparison, and the files that store them."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = ("mean", "deviation", "lowest", "highest", "first", "last", "ramp", "value")
"""Of the finite values of an array; `ramp` is the mean weighted by position, which sees values that change
places, and `value` that of a scalar."""

TOLERANCE = 1e-12
"""Relative to the largest magnitude of a variable: sums and elementary functions differ by some 1e-15 between
processors, and runs of tens of steps amplify that."""

_NOT_RESULTS = {"name", "notes", "source"}  # texts for people

Entry = dict[str, Any]
"""Statistics by variable, in the order of the JSON file: what `statistics` returns."""


@dataclasses.dataclass(frozen=True)
class Item:
    """One result to protect.

    Args:
        label: path below the data folder, or name of a run.
        group: items that one test computes.
        compute: returns the statistics.
        needs: path below the data folder without which the item cannot be computed; empty if the repository
            has everything.
        tolerance: relative to the largest magnitude of each variable.
    """

    label: str
    group: str
    compute: Callable[[], Entry]
    needs: str = ""
    tolerance: float = TOLERANCE


def statistics(tree: object) -> Entry:
    """Statistics of all arrays, numbers and texts in a tree, by dotted path."""
    return {path: _of_array(leaf) if isinstance(leaf, np.ndarray) else leaf for path, leaf in leaves(tree)}


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, np.ndarray | str]]:
    """Arrays and texts in dataclasses, mappings and sequences, by dotted path."""
    children: Mapping[Any, object] | None = None
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        children = {field.name: getattr(tree, field.name) for field in dataclasses.fields(tree)}
        children = {name: child for name, child in children.items() if name not in _NOT_RESULTS}
    elif isinstance(tree, Mapping):
        children = tree
    elif isinstance(tree, list | tuple):
        children = dict(enumerate(tree))
    if children is not None:
        for name, child in children.items():
            yield from leaves(child, f"{path}.{name}".lstrip("."))
    elif isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, bool | int | float | np.generic) or hasattr(tree, "__array__"):
        array = np.asarray(tree)
        yield path, array.astype(float) if array.dtype.kind in "biuf" else array


def _of_array(values: np.ndarray) -> Entry:
    """Shape, number of finite values, and `NUMBERS` of these; texts as they are, if there are few."""
    if values.dtype.kind != "f":
        return {"shape": list(values.shape), "texts": sorted(set(map(str, values.ravel().tolist())))[:20]}
    if values.ndim == 0:
        return {"value": float(values) if np.isfinite(values) else str(values)}
    finite = values[np.isfinite(values)]
    found: Entry = {"shape": list(values.shape), "finite": int(finite.size)}
    if finite.size:
        ramp = np.linspace(-1.0, 1.0, finite.size) if finite.size > 1 else np.ones(1)
        numbers = (finite.mean(), finite.std(), finite.min(), finite.max(), finite[0], finite[-1])
        found |= dict(zip(NUMBERS, map(float, (*numbers, np.mean(finite * ramp))), strict=False))
    return found


def outcome(compute: Callable[[], object], path: Path | None = None) -> Entry:
    """Statistics of what a function returns; or the public type of its error and the key that it names.

    Args:
        path: of the file that is read, with which the message of an error begins.
    """
    try:
        return statistics(compute())
    except (ValueError, FileNotFoundError) as error:
        public = next(kind for kind in type(error).__mro__ if not kind.__name__.startswith("_"))
        message = str(error).removeprefix(f"{path}: ")
        key = re.match(r"(?:line \d+: (?=\S+: ))?([^:]*)", message)  # a line number only if no key follows
        return {"error": public.__name__, "key": key[1] if key else ""}


def changes(old: Entry, new: Entry, tolerance: float = TOLERANCE) -> list[str]:
    """A line for each statistic that differs: `variable statistic: old -> new`."""
    found = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, "missing"), new.get(name, "missing")
        if isinstance(before, str) or isinstance(after, str):
            found += [f"{name}: {_short(before)} -> {_short(after)}"] * (before != after)
            continue
        known = [before[key] for key in NUMBERS if not isinstance(before.get(key, ""), str)]
        largest = max(map(abs, known), default=0.0)
        for key in dict.fromkeys((*before, *after)):
            was, is_now = before.get(key, "missing"), after.get(key, "missing")
            if key in NUMBERS and not isinstance(was, str) and not isinstance(is_now, str):
                off = abs(is_now - was)
                if not off <= tolerance * largest:
                    found.append(f"{name} {key}: {was!r} -> {is_now!r} ({off / (largest or 1.0):.1e})")
            elif was != is_now:
                found.append(f"{name} {key}: {was} -> {is_now}")
    return found


def _short(value: object) -> str:
    return value if isinstance(value, str) else "statistics"


def read_stored(path: Path) -> dict[str, Entry]:
    """Statistics by label; empty if there are none yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write_stored(path: Path, entries: Mapping[str, Entry]) -> None:
    """One line per variable, so that a comparison of two versions is short."""

    def text(value: object) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        return "{" + ", ".join(f"{json.dumps(key)}: {_number(one)}" for key, one in value.items()) + "}"

    blocks = []
    for label in sorted(entries):
        lines = ",\n".join(f"  {json.dumps(name)}: {text(value)}" for name, value in entries[label].items())
        blocks.append(f" {json.dumps(label)}: {{\n{lines}\n }}")
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def _number(value: object) -> str:
    """Sixteen digits: a change by 1e-15 is none."""
    return f"{value:.16g}" if isinstance(value, float) else json.dumps(value)
