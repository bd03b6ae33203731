"""Hypsographies: lake area as a function of depth, as text.

GOTM's format (lake branch): a line with the number of rows and a code, then height [m] and area [m2] per row.
Codes 1 and 2 count heights from the surface (negative), 3 and 4 from the bottom, upward and downward.
Alternatively CSV with a header that has one name with `area` and one with `depth` (positive down), `z` or
`height` (from the surface, positive up), as in LakeEnsemblR.
"""

from pathlib import Path

import numpy as np

from .errors import FileFormatError, check_names, decimal, names_its_file, read_text
from .units import Conversions, as_conversion

_FROM_BOTTOM = (3, 4)
_UNITS = {"z": "m", "area": "m2"}
_HEIGHTS = {"depth": -1.0, "z": 1.0, "height": 1.0}


@names_its_file("a hypsography")
def read_hypsography(
    path, depth: float | None = None, units: Conversions | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Heights [m], increasing, 0 at the surface, and the areas there [m2].

    Args:
        path: of the file.
        depth: of the lake [m]; required where heights count from the bottom.
        units: units or conversions of `z` and `area`, which are m and m2 otherwise.

    Raises:
        FileFormatError: a row that is not a pair of numbers, an unexpected number of rows, a duplicate
            height, a negative area, or heights from the bottom of a lake of unknown depth.
        ValueError: a unit of another quantity.
    """
    path = Path(path)
    text = read_text(path, "text in UTF-8", "utf-8-sig")
    lines = [(number, _cells(line)) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, cells) for number, cells in lines if cells and cells[0][0] not in "!#"]
    if len(lines) < 3:
        raise FileFormatError(path, "file", "a head and at least two lines", f"{len(lines)}", "complete it")
    (number, head), *rows = lines
    from_bottom = head[0].lstrip("+-").isdigit()
    if from_bottom:
        from_bottom, columns, sign = _order(path, number, head, len(rows)) in _FROM_BOTTOM, (0, 1), 1.0
    else:
        columns, sign = _named(path, number, head)
    table = np.zeros((len(rows), 2))
    for row, (number, cells) in enumerate(rows):
        try:
            table[row] = [decimal(cells[column]) for column in columns]
        except (ValueError, IndexError):
            expected, got = "a height and an area", f"'{' '.join(cells)}'"
            raise FileFormatError(path, f"line {number}", expected, got, "correct it") from None
    z, area = in_metres(sign * table[:, 0], table[:, 1], units or {})
    if from_bottom:
        if depth is None:
            advice = "give the depth of the lake"
            raise FileFormatError(path, "file", "heights below the surface", "heights of the bottom", advice)
        z = z - z.min() - depth
    order = np.argsort(z)
    repeated = np.flatnonzero(np.diff(z[order]) == 0.0)
    if repeated.size:
        where = f"line {rows[int(order[repeated[0] + 1])][0]}"
        raise FileFormatError(path, where, "every height once", f"{z[order][repeated[0]]:g} m", "remove one")
    if np.any(area < 0.0):
        line = rows[int(np.argmin(area))][0]
        raise FileFormatError(path, f"line {line}", "an area [m2]", f"{area.min():g}", "correct it")
    return z[order], area[order]


def in_metres(z: np.ndarray, area: np.ndarray, units: Conversions) -> tuple[np.ndarray, np.ndarray]:
    """Heights [m] and areas [m2] from values in these units."""
    check_names("units", units, _UNITS)
    (of_z, zero), (of_area, more) = (
        as_conversion(units.get(name)).linear_to(unit, unit) for name, unit in _UNITS.items()
    )
    return of_z * z + zero, of_area * area + more


def _cells(line: str) -> list[str]:
    return [cell.strip(" \t\"'") for cell in (line.split(",") if "," in line else line.split())]


def _order(path: Path, number: int, head: list[str], n_rows: int) -> int:
    expected = "the number of lines that follow and 1, 2, 3 or 4"
    if len(head) < 2 or head[1] not in ("1", "2", "3", "4") or int(head[0]) > n_rows:
        got = f"{' '.join(head)} above {n_rows} lines"
        raise FileFormatError(path, f"line {number}", expected, got, "correct the numbers")
    return int(head[1])


def _named(path: Path, number: int, head: list[str]) -> tuple[tuple[int, int], float]:
    names = [name.lower() for name in head]
    areas = [i for i, name in enumerate(names) if "area" in name]
    known = _HEIGHTS.items()
    heights = [(i, sign) for i, name in enumerate(names) for key, sign in known if name.startswith(key)]
    if len(areas) != 1 or len(heights) != 1:
        expected = "names of columns, one with area and one with depth, z or height"
        raise FileFormatError(path, f"line {number}", expected, ", ".join(head), "rename the columns")
    return (heights[0][0], areas[0]), heights[0][1]
