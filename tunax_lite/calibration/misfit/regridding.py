"""Means over cells from means over other cells, as arrays of NumPy: observed profiles on the grid of a model.

Within a source cell values are linear, with the slope between its two neighbours, around the mean of the
cell. The integral over the column is conserved, and a linear profile is exact on any pair of grids.
"""

import numpy as np


def faces_from_centers(z: np.ndarray, name: str) -> np.ndarray:
    """Faces of the cells whose centers these heights are, with the uppermost face at the surface.

    Args:
        z: heights [m], increasing, `(n_cells,)`.
        name: of the observations, for messages.

    Raises:
        ValueError: heights that are no centers of cells from the surface down.
    """
    faces = np.zeros(z.size + 1)
    for cell in range(z.size - 1, -1, -1):
        faces[cell] = 2.0 * z[cell] - faces[cell + 1]
    thickness = np.diff(faces)
    # A center that is off moves the faces below it to one side and the other: neighbours differ then.
    ratio = thickness[1:] / thickness[:-1] if np.all(thickness > 0.0) else np.zeros(1)
    if not np.all((ratio > 0.5) & (ratio < 2.0)):
        raise ValueError(
            f"{name}: expected heights that are centers of cells from the surface down, for means over "
            f"cells, got {np.array2string(z, threshold=6, edgeitems=2)}; choose averaging at points "
            "(`averaging: points`)."
        )
    return faces


def regrid(values: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Means over the target cells; NaN for those that are not covered by source cells with a value.

    Args:
        values: means over the source cells, NaN where missing, `(n_source, ...)`.
        source: heights of the faces of the source cells [m], increasing.
        target: those of the target cells.
    """
    if source.shape == target.shape and np.allclose(source, target, rtol=0.0, atol=1e-9 * np.ptp(source)):
        return values
    columns = values.reshape(values.shape[0], -1)
    known = np.isfinite(columns)
    mean = np.where(known, columns, 0.0)
    thickness, centers = np.diff(source)[:, None], 0.5 * (source[1:] + source[:-1])[:, None]
    slope = _slopes(mean, known, centers)
    content = _cumulated(mean * thickness)
    covered = _cumulated(known * thickness)
    inside = np.clip(target, source[0], source[-1])
    cell = np.clip(np.searchsorted(source, inside, side="right") - 1, 0, source.size - 2)
    above = (inside - source[cell])[:, None]
    # Integral of mean + slope (z - center) from the lower face of the cell.
    bent = 0.5 * slope[cell] * above * (above - thickness[cell])
    at_faces = content[cell] + mean[cell] * above + bent
    covered_at_faces = covered[cell] + known[cell] * above
    new = np.diff(target)[:, None]
    complete = np.diff(covered_at_faces, axis=0) >= new * (1.0 - 1e-9)
    means = np.where(complete, np.diff(at_faces, axis=0) / new, np.nan)
    return means.reshape(target.size - 1, *values.shape[1:])


def _slopes(mean: np.ndarray, known: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Difference between the neighbours of each cell, or to the only one with a value, over the distance."""

    def neighbour(array: np.ndarray, shift: int) -> np.ndarray:
        index = np.clip(np.arange(array.shape[0]) + shift, 0, array.shape[0] - 1)
        return array[index]

    lower, upper = (
        (
            np.where(neighbour(known, shift), neighbour(mean, shift), mean),
            np.where(neighbour(known, shift), neighbour(centers, shift), centers),
        )
        for shift in (-1, 1)
    )
    distance = upper[1] - lower[1]
    return np.where(
        known & (distance > 0.0), (upper[0] - lower[0]) / np.where(distance > 0.0, distance, 1.0), 0.0
    )


def _cumulated(contents: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros_like(contents[:1]), np.cumsum(contents, axis=0)])
