"""What `print` and notebooks show of a model, a closure, a case, a grid, a state or a result.

A table with one row per field: value, unit, range, whether a calibration can free the number, and meaning.
Everything follows from the declarations of the fields. Arrays are summarised by shape, extremes and a small
figure; traced values, which have no numbers yet, by shape.
"""

import dataclasses
import html
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ._types import Fixed, LikelyMistake, iterate_parameters
from .declarations import meanings, name_of, summary_and_source
from .quantities import QUANTITIES

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 110
_OUTSIDE = "outside"
_MOST = 1_000_000
"""Numbers of an array that is read for its extremes; larger ones stay where they are."""


class AbstractShown(eqx.Module):
    """A module that `print` and notebooks show as a table of its fields."""

    arrays_are_free: ClassVar[bool] = False
    """Whether a calibration can free arrays that no field declares, as in closures."""

    def __getstate__(self) -> tuple[dict[str, object], bool]:
        doubles = (leaf for leaf in jax.tree.leaves(self) if getattr(leaf, "dtype", None) == np.float64)
        return vars(self), any(isinstance(leaf, jax.Array) for leaf in doubles)

    def __setstate__(self, state: tuple[dict[str, object], bool]) -> None:
        fields, is_double = state
        vars(self).update(fields)
        if is_double and jax.dtypes.canonicalize_dtype(float) != np.float64:  # JAX has cast the arrays
            warnings.warn(
                "model or case: expected to unpickle float64, got float32, because JAX computes in float32 "
                "in this process; call tunax_lite.configure() before unpickling.",
                LikelyMistake,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


class Row(NamedTuple):
    """One field of a module.

    Args:
        depth: number of modules around it below the one that is shown.
        name: of the field.
        value: as text; for a module, its class.
        unit: of the number; empty if none is declared.
        status: range, whether a calibration can free it, or why it has no effect.
        meaning: from the docstring of the class.
        curve: values for a small figure, evenly thinned.
    """

    depth: int
    name: str
    value: str
    unit: str = ""
    status: str = ""
    meaning: str = ""
    curve: tuple[float, ...] = ()


def as_text(module: eqx.Module) -> str:
    """The table for a terminal, at most 110 characters wide."""
    rows = list(_rows(module))
    cells = [(f"{'  ' * row.depth}{row.name}", row.value, row.unit, row.status) for row in rows]
    most = (36, 36, 16, 24)  # single longer texts do not widen a column
    widths = [max((len(cell[i]) for cell in cells if len(cell[i]) <= most[i]), default=0) for i in range(4)]
    lines = [_title(module)]
    for row, cell in zip(rows, cells, strict=True):
        start = "  ".join(text.ljust(width) for text, width in zip(cell, widths, strict=True)).rstrip()
        line = f"  {start.ljust(sum(widths) + 6)}  {_sparkline(row.curve)}".rstrip()
        room = _WIDTH - max(len(line), sum(widths) + 8) - 2
        if row.meaning and room >= 20:  # less would not be worth reading
            line = f"{line.ljust(sum(widths) + 8)}  {_shortened(row.meaning, room)}"
        lines.append(_shortened(line, _WIDTH))
    for remark in _remarks(module, rows):
        lines += textwrap.wrap(remark, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


def as_html(module: eqx.Module) -> str:
    """The table for a notebook, with curves as SVG; it follows the colours of the page."""
    rows, wraps = list(_rows(module)), (*["nowrap"] * 4, "normal")
    cell = "<td style='text-align:left;padding:0 0.6em;vertical-align:top;white-space:{}'>{}</td>"
    lines = [f"<div><strong>{html.escape(_title(module))}</strong>", "<table style='font-size:90%'>"]
    for row in rows:
        name = f"<span style='padding-left:{row.depth}em'>{html.escape(row.name)}</span>"
        texts = [html.escape(text) for text in (row.value, row.unit, row.status, row.meaning)]
        cells = [name, texts[0] + _svg(row.curve), *texts[1:]]
        lines.append("<tr>" + "".join(map(cell.format, wraps, cells)) + "</tr>")
    lines += ["</table>", *(f"<div>{html.escape(line)}</div>" for line in _remarks(module, rows)), "</div>"]
    return "\n".join(lines)


def _title(module: eqx.Module) -> str:
    """Class, name in files and first sentence of the docstring."""
    kind = type(module)
    name, about = name_of(kind), summary_and_source(kind)[0]
    sentence = re.split(r"[.:;](?:\s|$)", about)[0]
    label = kind.__name__ if name is None else f"{kind.__name__} ({name})"
    return _shortened(f"{label}: {sentence}" if sentence else label, _WIDTH)


def _remarks(module: eqx.Module, rows: list[Row]) -> list[str]:
    """Below the table: fields that are not given, how to read curves, and the source."""
    absent = [field.name for field in dataclasses.fields(module) if _is_absent(module, field)]
    source = summary_and_source(type(module))[1]
    lines = [f"not given: {', '.join(absent)}"] if absent else []
    if n_outside := sum(row.status.startswith(_OUTSIDE) for row in rows):
        what = "derivatives or unconstrained numbers are, with which no model makes sense"
        lines.append(f"{n_outside} of the numbers are outside of their ranges, as {what}")
    if any(row.curve for row in rows):
        lines.append("curves: along axis 0 (from the bottom up, or in time), at the last place of other axes")
    return lines + ([f"source: {source}"] if source else [])


def _is_absent(module: eqx.Module, field: dataclasses.Field) -> bool:
    """Whether an optional field that is no calibratable number is left out."""
    if "valid_range" in field.metadata:
        return False
    value = getattr(module, field.name, None)
    return value is None or (isinstance(value, dict | tuple) and not value)


def _rows(module: eqx.Module, arrays_are_free: bool = False) -> Iterator[Row]:
    """Rows of the fields of a module, and of the modules in them."""
    fields, free = dataclasses.fields(module), arrays_are_free or getattr(module, "arrays_are_free", False)
    idle = {}
    if all(hasattr(module, field.name) for field in fields):  # not while it is built
        idle = {info.path: info.idle for info in iterate_parameters(module)}
    for field in fields:
        if not _is_absent(module, field):
            value = getattr(module, field.name, None)
            about = meanings(type(module)).get(field.name, "")
            told = {**field.metadata, "idle": idle.get(field.name, ""), "arrays_are_free": free}
            yield from _of_value(field.name, value, told, about)


def _of_value(
    name: str,
    value: PyTree,
    declared: Mapping[str, Any],  # its types depend on the key
    about: str,
) -> Iterator[Row]:
    """Rows of one field."""
    if isinstance(value, eqx.Module):
        kind = type(value)
        yield Row(0, name, name_of(kind) or kind.__name__, meaning=about)
        yield from (row._replace(depth=row.depth + 1) for row in _rows(value, declared["arrays_are_free"]))
    elif _is_container(value):
        yield Row(0, name, f"{len(value)}", meaning=about)
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            rows = _of_value(str(key), part, declared, "")
            yield from (row._replace(depth=row.depth + 1) for row in rows)
    else:
        is_count = eqx.is_array(value) and jnp.issubdtype(value.dtype, jnp.integer)
        unit, status = "" if is_count else _unit(name, declared, about), _status(value, declared)
        yield Row(0, name, _text(value), unit, status, about, _curve(value))


def _is_container(value: PyTree) -> bool:
    """Whether a dictionary, list or tuple holds modules or arrays, rather than a short list of settings."""
    if not isinstance(value, dict | list | tuple):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return any(isinstance(part, eqx.Module) or eqx.is_array(part) or _is_container(part) for part in parts)


def _unit(name: str, declared: Mapping[str, Any], about: str) -> str:  # Any: types depend on the key
    """As declared for the number, or in brackets in the meaning."""
    if "quantity" in declared:
        return declared["quantity"].unit
    if (unit := declared.get("unit") or declared.get("vector", {}).get("unit")) is not None:
        return unit
    if name in QUANTITIES:
        return QUANTITIES[name].unit
    found = re.search(r"\[([^\]]{1,16})\]", about)
    return found[1] if found else ""


def _status(value: PyTree, declared: Mapping[str, Any]) -> str:  # Any: types depend on the key
    """Range of a calibratable number, and why it has no effect or is not free."""
    interval = declared.get("valid_range") or declared.get("vector", {}).get("range")
    if interval is None:
        is_weight = "leading_axes" not in declared and eqx.is_inexact_array(value)
        return "free" if is_weight and declared["arrays_are_free"] else ""
    low, high = interval
    idle = declared["idle"]
    within = "" if np.isinf(low) and np.isinf(high) else f" in {low:g} ... {high:g}"
    if isinstance(value, Fixed):
        return "fixed"
    if value is None:
        return "not given"
    numbers = _numbers(value)
    if numbers is not None and np.any((numbers < low) | (numbers > high)):
        return f"{_OUTSIDE}{within.removeprefix(' in')}"
    return f"no effect: {idle}" if idle else f"free{within}"


def _numbers(value: PyTree) -> np.ndarray | None:
    """Numbers of an array, where they are known, at hand and not too many."""
    if isinstance(value, jax.core.Tracer) or not eqx.is_array_like(value) or isinstance(value, bool):
        return None
    if isinstance(value, jax.Array) and (value.is_deleted() or not value.is_fully_addressable):
        return None
    if np.size(value) > _MOST or not jnp.issubdtype(jnp.result_type(value), jnp.number):
        return None
    return np.asarray(value)


def _text(value: PyTree) -> str:
    """A number as such, an array by shape and extremes, anything else by its own text."""
    if isinstance(value, Fixed):
        value = value.value
    numbers = _numbers(value)
    if numbers is not None and numbers.ndim == 0:
        return f"{numbers[()]:.6g}" if numbers.dtype.kind in "fc" else str(numbers[()])
    if numbers is not None and numbers.dtype.kind in "fiu" and numbers.size:
        finite = numbers[np.isfinite(numbers)]
        extremes = f"{finite.min():.5g} ... {finite.max():.5g}" if finite.size else "none finite"
        if finite.size == numbers.size and finite.min() == finite.max():
            extremes = f"all {finite.min():.5g}"
        lost = "" if finite.size in (0, numbers.size) else f", {numbers.size - finite.size} not finite"
        return f"{numbers.shape} {extremes}{lost}"
    if isinstance(value, jax.core.Tracer):
        return f"{value.dtype}{list(value.shape)} traced"
    if isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
        gone = " deleted" if isinstance(value, jax.Array) and value.is_deleted() else ""
        return f"{value.dtype}{list(value.shape)}{gone}"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return _shortened(" ".join(str(value).split()), 36)


def _curve(value: PyTree) -> tuple[float, ...]:
    """At most 32 values along axis 0, at the last place of other axes; none if they are equal."""
    numbers = _numbers(value)
    if numbers is None or numbers.ndim == 0 or len(numbers) < 3 or 0 in numbers.shape:
        return ()
    line = numbers[(slice(None), *[-1] * (numbers.ndim - 1))]
    if line.dtype.kind not in "fiu" or not np.all(np.isfinite(line)) or line.min() == line.max():
        return ()
    places = np.linspace(0, len(line) - 1, min(len(line), 32)).round().astype(int)
    return tuple(map(float, line[places]))


def _scaled(curve: tuple[float, ...]) -> np.ndarray:
    """Values of a curve from 0 to 1."""
    low, high = min(curve), max(curve)
    return (np.asarray(curve) - low) / (high - low)


def _sparkline(curve: tuple[float, ...]) -> str:
    """A curve as one line of text of at most 16 characters."""
    if not curve:
        return ""
    levels = _scaled(curve)[:: -(-len(curve) // 16)]
    return "".join(_BLOCKS[round(level * (len(_BLOCKS) - 1))] for level in levels)


def _svg(curve: tuple[float, ...]) -> str:
    """A curve as a figure of 120 by 22 pixels in the colour of the text."""
    if not curve:
        return ""
    x, y = np.linspace(2.0, 118.0, len(curve)), 20.0 - 18.0 * _scaled(curve)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    line = f"<polyline points='{points}' fill='none' stroke='currentColor' stroke-width='1.5'/>"
    return f"<br/><svg width='120' height='22' role='img'>{line}</svg>"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
