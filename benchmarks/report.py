"""What is measured, and how it is shown: one list of tables, on the terminal and in the docs."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import LogLocator

from . import (
    bfm17,
    biogeochemistry,
    calibration,
    conservation,
    first_gradient,
    forward,
    gpu,
    gradient,
    jacobian,
    maps,
    papa,
    reference,
    twin,
)
from .harness import PRECISIONS, Row, Setting

BASELINE = Path(__file__).with_name("baseline.json")
TOLERANCE = 1.3
"""A figure that became worse by more than this factor is flagged."""
MISSING = "–"
DEFAULT: dict[str, Callable[[Setting], list[Row]]] = {
    "forward": forward.measure_forward,
    "gradient": gradient.measure_gradient,
    "memory": gradient.measure_memory,
    "jacobian": jacobian.measure_jacobian,
    "chunks": jacobian.measure_chunks,
    "devices": forward.measure_devices,
}
"""What is measured if nothing is asked for."""
TABLES = DEFAULT | {
    "blocks": forward.measure_blocks,
    "vectors": forward.measure_vectors,
    "reference": reference.measure_reference,
    "gotm": reference.measure_gotm,
    "near": reference.measure_near,
    "papa": papa.measure_papa,
    "first_gradient": first_gradient.measure_first_gradient,
    "tangents": gradient.measure_tangents,
    "calibration": calibration.measure_calibration,
    "gpu": gpu.measure_gpu,
    "maps": maps.measure_maps,
    "world": maps.measure_world,
    "bfm17": bfm17.measure_bfm17,
    "biogeochemistry": biogeochemistry.measure_biogeochemistry,
    "fabm": biogeochemistry.measure_fabm,
    "conservation": conservation.measure_conservation,
    "twin": twin.measure_twin,
    "twin_errors": twin.measure_twin_errors,
}
"""Every benchmark makes the rows of one table; the first sentence of its docstring is the title."""


def remark(name: str, rows: Sequence[Row]) -> str:
    """What stands below a table."""
    if name == "memory":
        powers = (f"{gradient.growth(rows, key):.2f} ({heading(key)})" for key in rows[0] if key != "n_steps")
        return f"\n\nPowers of the steps with which it grows, from 1000: {', '.join(powers)}."
    if name == "chunks":
        m0, m1 = map(size, jacobian.straight_line(rows))
        return f"\n\nTemporary memory is {m0} + {m1} x chunk."
    return ""


def title(name: str) -> str:
    """Of a table."""
    return (TABLES[name].__doc__ or name).splitlines()[0].rstrip(".")


class Figure(NamedTuple):
    """A number that later runs are compared with.

    Args:
        what, unit: in words.
        table, row, key: where it stands: the first row with these entries.
        ceiling: of the machine, with which it scales; `None` for ratios and bytes.
        higher_is_better: of a speed, not a cost.
    """

    what: str
    unit: str
    table: str
    row: Row
    key: str
    ceiling: str | None = None
    higher_is_better: bool = False


def _forward(what: str, n_columns: int, n_levels: int, precision: str = "float64") -> Figure:
    row = {"n_columns": n_columns, "n_levels": n_levels, "precision": precision}
    unit, ceiling = ("us per step", "dividing_link") if n_columns == 1 else ("us per column-step", "fused")
    return Figure(what, unit, "forward", row, "us", f"{ceiling}_{precision}_ns")


def _gradient(what: str, unit: str, key: str, ceiling: str | None = None, n_columns: int = 1) -> Figure:
    row = {"layout": gradient.DEFAULT, "n_parameters": 5, "n_columns": n_columns}
    return Figure(what, unit, "gradient", row, key, ceiling)


_SPLIT, _PROFILES = {"way": "two devices", "precision": "float32"}, {"of": "profiles"}
FIGURES = {
    "forward_1x64_float64_us": _forward("one column of 64 levels", 1, 64),
    "forward_1x256_float64_us": _forward("one column of 256 levels", 1, 256),
    "forward_128x64_float64_us": _forward("128 columns of 64 levels", 128, 64),
    "forward_512x64_float32_us": _forward("512 columns of 64 levels, float32", 512, 64, "float32"),
    "two_device_speedup": Figure(
        "512 columns on two cores over one, float32", "x", "devices", _SPLIT, "over_one_core", None, True
    ),
    "gradient_over_forward": _gradient("gradient of 48 h by 5 parameters over forward", "x", "over_forward"),
    "gradient_temporary_bytes": _gradient("temporary memory of that gradient", "bytes", "temporary_bytes"),
    "gradient_compile_seconds": _gradient(
        "compilation of that gradient", "s", "compile_seconds", "dividing_link_float64_ns"
    ),
    "jacobian10_over_forward": Figure(
        "Jacobian of profiles by 10 parameters over forward", "x", "jacobian", _PROFILES, "over_forward"
    ),
    "gradient_128x64_float64_us": _gradient(
        "gradient by 5 parameters, 128 columns of 64 levels",
        *("us per column-step", "us", "fused_float64_ns", 128),
    ),
}


def row_of(report: Mapping[str, Any], figure: Figure) -> Row:
    for row in report["tables"].get(figure.table, ()):
        if all(row[key] == value for key, value in figure.row.items()):
            return row
    return {}


def figures_of(report: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures by name, `None` where a report lacks one."""
    return {name: row_of(report, figure).get(figure.key) for name, figure in FIGURES.items()}


def worsened(report: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, float]:
    """Factors by which the figures that both reports hold became worse.

    A time is divided by that of its ceiling in the same report: a slower machine is not slower code.
    """
    now, before = figures_of(report), figures_of(baseline)
    factors = {}
    for name, figure in FIGURES.items():
        value, old = now[name], before[name]
        if value and old:
            factors[name] = old / value if figure.higher_is_better else value / old
            if figure.ceiling is not None:
                factors[name] *= baseline["ceilings"][figure.ceiling] / report["ceilings"][figure.ceiling]
    return factors


def read_report(path: Path) -> dict[str, Any]:
    """A stored report.

    Raises:
        FileNotFoundError: no such file.
        ValueError: something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such report; `python -m benchmarks --json {path}` makes one.")
    report = json.loads(path.read_text(encoding="utf-8"))
    missing = [key for key in ("about", "ceilings", "tables") if key not in report]
    if missing:
        raise ValueError(f"{path}: expected a report of the benchmarks, but it lacks {', '.join(missing)}.")
    return report


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Store as JSON; a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    os.replace(temporary, path)


def heading(key: str) -> str:
    """What stands above a column: the key in words, with its unit."""
    return key.removesuffix("_bytes").removeprefix("n_").replace("_seconds", " s").replace("_", " ")


def size(n_bytes: float) -> str:
    """Bytes in kB, MB or GB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{n_bytes:.0f} B"


def shown(key: str, value: Any) -> str:
    """An entry as its column shows it."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value.splitlines()[0]
    if key.endswith("bytes"):
        return size(value)
    if key.startswith("over_"):
        return f"{value:.2f}x"
    if isinstance(value, int):
        return str(value)
    if key.startswith("rmsd"):
        return f"{value:.3g}"  # of concentrations of any size
    return f"{value:.2f}" if value == 0.0 or 0.01 <= abs(value) < 1e5 else f"{value:.2g}"


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """An aligned Markdown table; the first column is on the left, the others on the right."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]

    def joined(cells: Sequence[str]) -> str:
        right = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"| {' | '.join([cells[0].ljust(widths[0]), *right[1:]])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([joined(header), joined(rule), *map(joined, lines)])


def drawn(rows: Sequence[Row]) -> str:
    """A table of all that rows hold besides lists, which figures show."""
    keys = list(dict.fromkeys(key for row in rows for key in row if not isinstance(row[key], list)))
    return table([heading(key) for key in keys], [[shown(key, row.get(key)) for key in keys] for row in rows])


def figures_table(report: Mapping[str, Any], factors: Mapping[str, float]) -> str:
    """The figures, beside the baseline where there is one."""
    found, header = figures_of(report), ["figure", "unit", "measured"]
    lines = [[figure.what, figure.unit, shown(figure.unit, found[name])] for name, figure in FIGURES.items()]
    if factors:
        header.append("cost over baseline")
        for name, line in zip(FIGURES, lines, strict=True):
            factor = factors.get(name, np.nan)
            worse = " WORSE" if factor > TOLERANCE else ""
            line.append(f"{factor:.2f}x{worse}" if name in factors else MISSING)
    return table(header, lines)


def sections(
    report: Mapping[str, Any], factors: Mapping[str, float] | None = None
) -> dict[str, tuple[str, str]]:
    """Title and text of everything that a report holds."""
    about = report["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    where = f"{about['machine']}, {about['n_cores']} cores; {about['date']}; {versions}; `{about['command']}`"
    found = {"about": ("Measured", where)}
    if any(value is not None for value in figures_of(report).values()):
        found["figures"] = "Figures", figures_table(report, factors or {})
    for name in TABLES:
        if rows := report["tables"].get(name):
            found[name] = title(name), drawn(rows) + remark(name, rows)
    return found


def text(report: Mapping[str, Any], factors: Mapping[str, float]) -> str:
    """A report for the terminal, with what became worse since the baseline."""
    parts = [f"{title}\n\n{body}" for title, body in sections(report, factors).values()]
    worse = [f"{name} ({factor:.2f}x)" for name, factor in factors.items() if factor > TOLERANCE]
    if worse:
        parts.append(f"WORSE than {TOLERANCE}x the baseline: {', '.join(worse)}.")
    elif factors:
        parts.append(f"Nothing became worse than {TOLERANCE}x the baseline.")
    return "\n\n".join(parts)


Line = tuple[str, Sequence[float], Sequence[float] | np.ndarray]
"""Label, abscissae, ordinates."""


def _by_size(rows: Sequence[Row], key: str, other: str, fixed: int) -> list[Line]:
    of_panel = sorted((row for row in rows if row[other] == fixed), key=lambda row: row[key])
    lines = []
    for precision in PRECISIONS:
        points = [(row[key], row["us"]) for row in of_panel if row["precision"] == precision]
        lines.append((precision, *zip(*points, strict=True)))
    return lines


def _figure_of(panels: Mapping[tuple[str, str], Sequence[Line]]) -> Drawing:
    """Panels side by side, by the titles of their axes; all axes are logarithmic."""
    figure = Drawing(figsize=(1.5 + 4.5 * len(panels), 4.3), layout="constrained")
    for axes, ((across, up), lines) in zip(
        np.ravel(figure.subplots(1, len(panels))), panels.items(), strict=True
    ):
        x = ()
        for label, x, y in lines:
            axes.plot(x, y, ".-", label=label)
        axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:g}")
        if len(x) < 20:
            axes.set_xticks(x, labels=[f"{value:g}" for value in x])
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.legend(fontsize="small")
    return figure


def _forward_figure(rows: Sequence[Row]) -> Drawing:
    up = "time of a column-step [us]"
    return _figure_of(
        {
            ("levels of one column", up): _by_size(rows, "n_levels", "n_columns", 1),
            ("columns of 64 levels", up): _by_size(rows, "n_columns", "n_levels", 64),
        }
    )


def _memory_figure(rows: Sequence[Row]) -> Drawing:
    steps = [row["n_steps"] for row in rows]
    lines = [(heading(key), steps, [row[key] / 1e6 for row in rows]) for key in rows[0] if key != "n_steps"]
    return _figure_of({("steps", "temporary memory of the gradient [MB]"): lines})


def _calibration_figure(rows: Sequence[Row]) -> Drawing:
    lines = [(row["method"], row["seconds"], np.fmin.accumulate(np.array(row["losses"]))) for row in rows]
    return _figure_of({("seconds, compiling included", "lowest loss so far"): lines})


DRAWINGS: dict[str, tuple[str, Callable[[Sequence[Row]], Drawing]]] = {
    "forward": ("performance_forward.png", _forward_figure),
    "memory": ("performance_memory.png", _memory_figure),
    "calibration": ("calibration_methods.png", _calibration_figure),
}


def draw(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw the figures of a report."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (file, make) in DRAWINGS.items():
        if rows := report["tables"].get(name):
            paths.append(folder / file)
            make(rows).savefig(paths[-1], dpi=110)
    return paths
