"""Tables of a report, in the same text on the terminal and in the docs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import peers
from .baseline import TOLERANCE, Change, Row
from .jacobian import fit_memory
from .targets import FIGURES

MISSING = "–"


def number(value: float | str | None, digits: int = 2) -> str:
    """A number with this many decimals, fewer where it is large; words as they are."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1e4:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.{0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else digits}f}"


def size(n_bytes: float | None) -> str:
    """Bytes in kB, MB or GB."""
    if n_bytes is None:
        return MISSING
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{n_bytes:.0f} B"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An aligned Markdown table; the first column is on the left, the others on the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def joined(cells: Sequence[str]) -> str:
        right = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"| {' | '.join([cells[0].ljust(widths[0]), *right[1:]])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([joined(lines[0]), joined(rule), *map(joined, lines[1:])])


def targets_table(figures: Row, least: Row | None = None, changes: Sequence[Change] = ()) -> str:
    """The figures beside what they must reach, their limit, and the baseline where there is one.

    Args:
        figures: by the names of `FIGURES`.
        least: limits of some of them.
        changes: from `compare`.
    """
    by_name = {change.name: change for change in changes}
    header = ["figure", "unit", "measured", "must", "aim", "limit", "over limit"]
    if changes:
        header.append("cost over baseline")
    rows = []
    for name, figure in FIGURES.items():
        value, limit, change = figures.get(name), (least or {}).get(name), by_name.get(name)
        show = size if figure.unit == "bytes" else number
        over = MISSING
        if value is not None and limit is not None:
            over = f"{limit / value if figure.higher_is_better else value / limit:.1f}x"
        factor = MISSING if change is None else f"{change.factor:.2f}x{' SLOWER' if change.is_worse else ''}"
        shown = (show(value), show(figure.must), show(figure.aim), show(limit))
        rows.append([figure.what, figure.unit, *shown, over, *([factor] if changes else [])])
    return table(header, rows)


def verdict(changes: Sequence[Change]) -> str:
    """What became worse since the baseline, in a sentence."""
    worse = [f"{c.name} ({c.factor:.2f}x)" for c in changes if c.is_worse]
    if not worse:
        return f"Nothing became worse than {TOLERANCE}x the baseline."
    return f"WORSE than {TOLERANCE}x the baseline: {', '.join(worse)}."


CEILINGS = (
    ("copy from and to memory [GB/s]", "copy_memory_GB_per_s", None),
    ("copy within the cache [GB/s]", "copy_cache_GB_per_s", None),
    ("link of a chain, x <- 1 / (a - b x) [ns]", "dividing_link", "_ns"),
    ("link of a chain, x <- r - u x [ns]", "plain_link", "_ns"),
    ("independent division [ns]", "division", "_ns"),
    ("independent square root [ns]", "root", "_ns"),
    ("independent addition or multiplication [ns]", "simple", "_ns"),
    ("fused loop of 9 divisions, 2 roots, 200 others [ns per level]", "fused", "_ns"),
)


def ceilings_table(ceilings: Row) -> str:
    """What the machine reaches."""
    rows = []
    for what, name, suffix in CEILINGS:
        if suffix is None:
            rows.append([what, number(ceilings[name]), MISSING])
        else:
            values = (ceilings[f"{name}_{precision}{suffix}"] for precision in ("float64", "float32"))
            rows.append([what, *(number(value, 3) for value in values)])
    return table(["ceiling", "float64", "float32"], rows)


def needs_table(rows: Sequence[Row]) -> str:
    """What programs need per column-step, and the time that takes at the ceilings."""
    header = ("divisions", "roots", "others", "dividing links", "plain links", "bytes", "limit us")
    keys = ("divisions", "roots", "simple", "dividing_links", "plain_links", "bytes")
    lines = [[row["program"], *(number(row[k], 0) for k in keys), number(row["least_us"])] for row in rows]
    return table(["program, 64 levels", *header], lines)


def pivot(rows: Iterable[Row], index: str, column: str, value: str) -> dict[Any, dict[str, Any]]:
    """Values by the entries `index` and `column` of their rows."""
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(row[index], {})[row[column]] = row[value]
    return found


def forward_table(rows: Sequence[Row], index: str, theirs: Mapping[str, Mapping[int, float]]) -> str:
    """Time of a column-step against levels or columns, with its limit, beside the peers' times."""
    times = pivot(rows, index, "precision", "us")
    limits = pivot(rows, index, "precision", "least_us")
    header = [index.removeprefix("n_")]
    for precision in ("float64", "float32"):
        header += [f"{precision} us", "limit us", "over limit"]
    lines = []
    for key in sorted(times):
        line = [str(key)]
        for precision in ("float64", "float32"):
            us, least = times[key].get(precision), limits[key].get(precision)
            line += [number(us), number(least), MISSING if not us or not least else f"{us / least:.1f}x"]
        lines.append([*line, *(number(by.get(key)) for by in theirs.values())])
    return table([*header, *theirs], lines)


def tunax_ratios() -> str:
    """What a step of Tunax takes beside ours, in words."""
    ratios = [f"{ratio} times ours at {n} levels" for n, ratio in peers.TUNAX_STEP_OVER_OURS.items()]
    return f"A step of Tunax takes {', '.join(ratios)}, in turns in one process."


def gradient_table(rows: Sequence[Row]) -> str:
    """Time and memory of gradients by layout, number of parameters and columns."""
    header = ["layout", "parameters", "columns", "steps", "us", "over forward", "temporary", "compile s"]
    lines = [
        [
            row["layout"],
            *(str(row[key]) for key in ("n_parameters", "n_columns", "n_steps")),
            number(row["us"]),
            f"{row['over_forward']:.2f}x",
            size(row["temporary_bytes"]),
            number(row["compile_seconds"], 1),
        ]
        for row in rows
    ]
    for name, theirs in peers.GRADIENT.items():
        lines.append(
            [name, "5", "1", "2880", MISSING, theirs["over_forward"]]
            + [size(theirs["temporary_bytes"]), number(theirs["compile_seconds"])]
        )
    return table(header, lines)


def growth(rows: Sequence[Row], layout: str, first: int = 1000) -> float:
    """Exponent p of bytes ~ steps^p, fitted to runs of at least `first` steps."""
    points = [(r["n_steps"], r["temporary_bytes"]) for r in rows if r["layout"] == layout]
    steps, taken = np.log(np.array([point for point in points if point[0] >= first], float).T)
    return float(np.polyfit(steps, taken, 1)[0])


def memory_table(rows: Sequence[Row]) -> str:
    """Temporary memory of the gradient against steps, and the power of the steps with which it grows."""
    found = pivot(rows, "n_steps", "layout", "temporary_bytes")
    layouts = list(dict.fromkeys(row["layout"] for row in rows))
    lines = [[str(n), *(size(found[n].get(layout)) for layout in layouts)] for n in sorted(found)]
    lines.append(["power, from 1000", *(f"{growth(rows, layout):.2f}" for layout in layouts)])
    return table(["steps", *layouts], lines)


def compile_table(rows: Sequence[Row]) -> str:
    """What programs took to trace and compile."""
    keys = ("trace_seconds", "compile_seconds")
    lines = [
        [row["program"], *(number(row[key]) for key in keys), size(row["temporary_bytes"])] for row in rows
    ]
    return table(["program", "trace s", "compile s", "temporary"], lines)


def about_line(about: Row) -> str:
    """Where, when and how the figures were measured, in a line."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"{about['machine']}, {about['n_cores']} cores, one of them used; {about['date']}; {versions}; "
        f"`{about['command']}`"
    )


def jacobian_table(rows: Sequence[Row]) -> str:
    """Time and memory of Jacobians by mode and size of the chunk."""
    counts = ("n_parameters", "n_residuals", "chunk_size")
    header = ("mode", "parameters", "residuals", "chunk", "us", "over forward", "temporary", "compile s")
    lines = [
        [row["program"], row["mode"], *(str(row[key]) for key in counts), number(row["us"])]
        + [f"{row['over_forward']:.2f}x", size(row["temporary_bytes"]), number(row["compile_seconds"], 1)]
        for row in rows
    ]
    return table(["program", *header], lines)


def all_jacobians_table(rows: Sequence[Row]) -> str:
    """The same beside the peers' ratios."""
    lines = [f"{name}: {ratio} times its forward run." for name, ratio in peers.JACOBIAN_OVER_FORWARD.items()]
    return "\n\n".join([jacobian_table(rows), *lines])


def chunks_table(rows: Sequence[Row]) -> str:
    """The same against the size of the chunk, and the straight line through its memory."""
    fit = fit_memory(rows)
    line = f"Temporary memory is {size(fit['m0'])} + {size(fit['m1'])} x chunk, R² = {fit['r_squared']:.4f}."
    return f"{jacobian_table(rows)}\n\n{line}"


def devices_table(rows: Sequence[Row]) -> str:
    """Time of a column-step on one core and on two."""
    lines = [[row["way"], row["precision"], number(row["us"]), f"{row['speedup']:.2f}x"] for row in rows]
    return table(["512 columns of 64 levels", "precision", "us per column-step", "over one core"], lines)


SECTIONS: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {
    "levels": (
        "Forward, one column: us per step against levels",
        lambda rows: f"{forward_table(rows, 'n_levels', peers.STEP_US)}\n\n{tunax_ratios()}",
    ),
    "columns": (
        "Forward, batches of 64 levels: us per column-step against columns",
        lambda rows: forward_table(rows, "n_columns", {}),
    ),
    "gradient": ("Gradient of the loss, 64 levels, float64", gradient_table),
    "memory": ("Temporary memory of the gradient by 5 parameters against steps", memory_table),
    "jacobian": ("Jacobian by 10 parameters, one column of 64 levels, float64", all_jacobians_table),
    "chunks": ("Jacobian of profiles against the size of the chunk", chunks_table),
    "devices": ("Two cores", devices_table),
    "compile": ("Programs: what they took to make", compile_table),
    "needs": ("What a column-step needs", needs_table),
}


def sections(report: Row, changes: Sequence[Change] = ()) -> dict[str, tuple[str, str]]:
    """Title and table of everything that a report holds."""
    targets = targets_table(report["figures"], report.get("least"), changes)
    found = {"targets": ("Figures with targets", targets)}
    for name, (title, draw) in SECTIONS.items():
        if rows := report.get("tables", {}).get(name):
            found[name] = title, draw(rows)
    found["ceilings"] = "Ceilings of this machine", ceilings_table(report["ceilings"])
    return found


def text(report: Row, changes: Sequence[Change] = ()) -> str:
    """A report for the terminal."""
    parts = [about_line(report["about"])]
    parts += [f"{title}\n\n{drawn}" for title, drawn in sections(report, changes).values()]
    return "\n\n".join([*parts, verdict(changes)]) if changes else "\n\n".join(parts)


def markdown(report: Row) -> str:
    """The tables for the docs, each between comments by which a page includes it."""
    parts = {"about": about_line(report["about"])}
    parts |= {name: drawn for name, (_, drawn) in sections(report).items()}
    begun = (f"<!-- begin {name} -->\n\n{drawn}\n\n<!-- end {name} -->" for name, drawn in parts.items())
    return "\n\n".join(begun) + "\n"
