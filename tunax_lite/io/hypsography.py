"""Hypsographies: lake area as a function of depth, as text.

GOTM's format (lake branch): a line with the number of rows and a code, then height [m] and area [m2] per row.
Codes 1 and 2 mean heights from the surface (negative), 3 and 4 from the bottom; rows may be in any order.
Alternatively CSV with a header that has one name with `area` and one with `depth` (positive down), `z` or
`height` (from the surface, positive up), as in LakeEnsemblR.
"""

import contextlib
import csv

import numpy as np

from .dated_text import read_lines
from .errors import FileFormatError, decimal, names_its_file

_HEIGHTS = ("depth", "z", "height")


@names_its_file("a hypsography")
def read_hypsography(path, depth: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read increasing heights [m], 0 at the surface, and the areas [m2] at these heights.

    Args:
        path: of the file.
        depth: of the lake [m]; required where heights count from the bottom.

    Raises:
        FileFormatError: a row without a height and an area, fewer rows than the first line says, a duplicate
            height, a negative area, or heights from the bottom of a lake of unknown depth.
    """
    file = read_lines(path)
    n_rows = len(file.texts) - 1
    if n_rows < 2:
        raise file.error(0, "a head and at least two lines below it", f"{n_rows}", "complete the file")
    head, *cells = map(_cells, file.texts)
    from_bottom, columns, sign = False, (0, 1), 1.0
    if head[0].lstrip("+-").isdigit():
        if len(head) < 2 or head[1] not in ("1", "2", "3", "4") or int(head[0]) > n_rows:
            expected = "the number of lines that follow and 1, 2, 3 or 4"
            got = f"{' '.join(head)} above {n_rows} lines"
            raise file.error(0, expected, got, "correct the numbers")
        from_bottom = head[1] in ("3", "4")
    else:
        names = [name.lower() for name in head]
        areas = [i for i, name in enumerate(names) if "area" in name]
        heights = [i for i, name in enumerate(names) if name.startswith(_HEIGHTS)]
        if len(areas) != 1 or len(heights) != 1:
            expected = "names of columns, one with area and one with depth, z or height"
            raise file.error(0, expected, ", ".join(head), "rename the columns")
        columns, sign = (heights[0], areas[0]), -1.0 if names[heights[0]].startswith("depth") else 1.0
    table = np.full((n_rows, 2), np.nan)
    for row, texts in enumerate(cells):
        with contextlib.suppress(ValueError, IndexError):  # stays NaN
            table[row] = [decimal(texts[column]) for column in columns]
        if not np.isfinite(table[row]).all():
            raise file.error(row + 1, "a height and an area", repr(file.texts[row + 1]), "correct it")
    z, area = sign * table[:, 0] + 0.0, table[:, 1]  # without negative zero
    if from_bottom:
        if depth is None:
            advice = "give the depth of the lake"
            raise FileFormatError(path, "file", "heights below the surface", "those above the bottom", advice)
        z = z - z.min() - depth
    order = np.argsort(z)
    repeated = np.flatnonzero(np.diff(z[order]) == 0.0)
    if repeated.size:
        at = int(order[repeated[0] + 1])
        raise file.error(at + 1, "every height once", f"{z[at]:g} m", "remove one")
    if np.any(area < 0.0):
        raise file.error(int(np.argmin(area)) + 1, "an area [m2]", f"{area.min():g}", "correct it")
    return z[order], area[order]


def _cells(text: str) -> list[str]:
    """Split a line at its commas, or else at blanks, and remove quotes."""
    cells = next(csv.reader([text], skipinitialspace=True)) if "," in text else text.split()
    return [cell.strip(" \t\"'") for cell in cells]
