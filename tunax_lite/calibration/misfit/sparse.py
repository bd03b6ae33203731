"""Numbers of the column from profiles at a few heights, such as the instruments of a mooring.

What was observed is linear between the heights that have a value, and constant above them, and so is the
model where these heights are the same at all times: both see the same depths. A number that depends on water
where nothing was observed is NaN.
"""

import numpy as np

from ...observables.names import INTEGRALS, parse

_NEAR_SURFACE = 10.0
"""Depth [m] down to which the uppermost value stands for the surface."""
_DEPENDS_ON = {
    "sea_surface_temperature": ("temperature",),
    "mixed_layer_depth": ("temperature",),
    "heat_content": ("temperature",),
    "salt_content": ("salinity",),
    "kinetic_energy": ("u", "v"),
}


def depends_on(variable: str) -> tuple[str, ...]:
    """Profiles that a number depends on."""
    return _DEPENDS_ON.get(parse(variable).name, ("temperature", "salinity"))


def on_centers(z: np.ndarray, values: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Profiles at the centers of the model, each from its own values that are there.

    Args:
        z: heights [m], `(n_levels,)` or `(n_times, n_levels)`.
        values: NaN where missing, `(n_times, n_levels)`.
        centers: of the model [m].

    Returns:
        `(n_times, n_centers)`; NaN at times without two values.
    """
    found = np.full((values.shape[0], centers.size), np.nan)
    for time, (heights, row) in enumerate(zip(np.broadcast_to(z, values.shape), values, strict=True)):
        known = np.isfinite(row)
        if known.sum() > 1:
            found[time] = np.interp(centers, heights[known], row[known])
    return found


def seen_through(z: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """The matrix of a profile on the centers that is known at some heights only, `(n_centers, n_centers)`."""
    at_heights = np.stack([np.interp(z, centers, row) for row in np.eye(centers.size)], axis=1)
    return np.stack([np.interp(centers, z, row) for row in np.eye(z.size)], axis=1) @ at_heights


def is_determined(
    variable: str, numbers: np.ndarray, z: np.ndarray, values: np.ndarray, lowest_center: float
) -> np.ndarray:
    """Whether a number follows from what was observed at each time, `(n_times,)`.

    Args:
        variable: name of the observable.
        numbers: its values, `(n_times,)`.
        z, values: as for `on_centers`.
        lowest_center: of the model [m].
    """
    heights = np.where(np.isfinite(values), np.broadcast_to(z, values.shape), np.nan)
    has_any = np.isfinite(heights).any(axis=1)
    lowest, highest = (
        np.array([end(row[np.isfinite(row)], initial=initial) for row in heights])
        for end, initial in ((np.min, 0.0), (np.max, -np.inf))
    )
    parsed = parse(variable)
    above = _NEAR_SURFACE if parsed.name in INTEGRALS or parsed.depth is None else parsed.depth
    needed = np.full(numbers.shape, lowest_center)
    if parsed.name in INTEGRALS and parsed.depth is not None:
        needed = np.maximum(needed, -parsed.depth)
    elif parsed.name.startswith("mixed_layer_depth"):
        needed = -numbers
    elif parsed.name == "sea_surface_temperature":
        needed = highest
    slack = 1e-6 * abs(lowest_center)
    return has_any & (highest >= -above - slack) & (lowest <= needed + slack)
