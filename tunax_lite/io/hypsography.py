"""Hypsographies: lake area as a function of depth, as text.

GOTM's format (lake branch): a line with the number of rows and a code, then height [m] and area [m2] per row.
Codes 1 and 2 mean heights from the surface (negative), 3 and 4 from the bottom; rows may be in any order.
Alternatively CSV with a header that has one name with `area` and one with `depth` (positive down), `z` or
`height` (from the surface, positive up), as in LakeEnsemblR.
"""

from pathlib import Path

import numpy as np

from .errors import FileFormatError, decimal, names_its_file, read_text

_HEIGHTS = ("depth", "z", "height")


@names_its_file("a hypsography")
def read_hypsography(path, depth: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read increasing heights [m], 0 at the surface, and the areas [m2] at these heights.

    Args:
        path: of the file.
        depth: of the lake [m]; required where heights count from the bottom.

    Raises:
        FileFormatError: a row that is not a pair of numbers, an unexpected number of rows, a duplicate
            height, a negative area, or heights from the bottom of a lake of unknown depth.
    """
    path = Path(path)
    lines = []
    for number, line in enumerate(read_text(path, "text in UTF-8", "utf-8-sig").splitlines(), 1):
        cells = [cell.strip(" \t\"'") for cell in (line.split(",") if "," in line else line.split())]
        if cells and cells[0][:1] not in ("!", "#"):
            lines.append((f"line {number}", cells))
    if len(lines) < 3:
        raise FileFormatError(path, "file", "a head and at least two lines", f"{len(lines)}", "complete it")
    (first, head), *rows = lines
    from_bottom, columns, sign = False, (0, 1), 1.0
    if head[0].lstrip("+-").isdigit():
        if len(head) < 2 or head[1] not in ("1", "2", "3", "4") or int(head[0]) > len(rows):
            expected = "the number of lines that follow and 1, 2, 3 or 4"
            got = f"{' '.join(head)} above {len(rows)} lines"
            raise FileFormatError(path, first, expected, got, "correct the numbers")
        from_bottom = head[1] in ("3", "4")
    else:
        names = [name.lower() for name in head]
        areas = [i for i, name in enumerate(names) if "area" in name]
        heights = [i for i, name in enumerate(names) if name.startswith(_HEIGHTS)]
        if len(areas) != 1 or len(heights) != 1:
            expected = "names of columns, one with area and one with depth, z or height"
            raise FileFormatError(path, first, expected, ", ".join(head), "rename the columns")
        columns, sign = (heights[0], areas[0]), -1.0 if names[heights[0]].startswith("depth") else 1.0
    table = np.zeros((len(rows), 2))
    for row, (line, cells) in enumerate(rows):
        try:
            table[row] = [decimal(cells[column]) for column in columns]
        except (ValueError, IndexError):
            expected, got = "a height and an area", f"'{' '.join(cells)}'"
            raise FileFormatError(path, line, expected, got, "correct it") from None
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
        raise FileFormatError(path, rows[at][0], "every height once", f"{z[at]:g} m", "remove one")
    if np.any(area < 0.0):
        line = rows[int(np.argmin(area))][0]
        raise FileFormatError(path, line, "an area [m2]", f"{area.min():g}", "correct it")
    return z[order], area[order]
