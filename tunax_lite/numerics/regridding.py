"""Conservative regridding of cell means.

Within a source cell, values are linear around the cell mean, with the slope between its two neighbours. The
integral over the column is conserved, and a linear profile is exact on any pair of grids. With piecewise
constant values, all shear on a finer grid would be at the edges of the coarse cells.
"""

import numpy as np


def regrid(values: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Means over the target cells; NaN for cells that source cells with values do not cover completely.

    Values are `(n_source, ...)`, NaN where missing; source and target are faces [m], increasing.
    """
    if source.shape == target.shape and np.allclose(source, target, rtol=0.0, atol=1e-9 * np.ptp(source)):
        return values
    columns = values.reshape(values.shape[0], -1)
    known = np.isfinite(columns)
    mean = np.where(known, columns, 0.0)
    thickness, centers = np.diff(source)[:, None], 0.5 * (source[1:] + source[:-1])[:, None]
    slope = _slopes(mean, known, centers)
    content, covered = (np.cumsum(np.pad(x * thickness, ((1, 0), (0, 0))), axis=0) for x in (mean, known))
    inside = np.clip(target, source[0], source[-1])
    cell = np.clip(np.searchsorted(source, inside, side="right") - 1, 0, source.size - 2)
    height = (inside - source[cell])[:, None]
    # Integral of mean + slope (z - center) from the lower face of the cell.
    from_slope = 0.5 * slope[cell] * height * (height - thickness[cell])
    at_faces = content[cell] + mean[cell] * height + from_slope
    covered_at_faces = covered[cell] + known[cell] * height
    new_thickness = np.diff(target)[:, None]
    complete = np.diff(covered_at_faces, axis=0) >= new_thickness * (1.0 - 1e-9)
    means = np.where(complete, np.diff(at_faces, axis=0) / new_thickness, np.nan)
    return means.reshape(target.size - 1, *values.shape[1:])


def _slopes(mean: np.ndarray, known: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Slope between the neighbours of each cell, or towards its only neighbour with a value."""
    below, above = (np.clip(np.arange(len(mean)) + shift, 0, len(mean) - 1) for shift in (-1, 1))
    rise, distance = (
        np.where(known[above], x[above], x) - np.where(known[below], x[below], x) for x in (mean, centers)
    )
    return np.where(known & (distance > 0.0), rise / np.where(distance > 0.0, distance, 1.0), 0.0)
