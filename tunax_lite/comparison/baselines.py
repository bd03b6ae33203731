"""What closures are measured by besides the reference: the initial profile kept, and stored results."""

import dataclasses

import numpy as np

from ..grid import Grid
from .reference import VARIABLES, Profiles, Reference, Yardstick

PERSISTENCE = "persistence"
"""Label of the initial profile kept."""


@dataclasses.dataclass(frozen=True)
class StoredResult:
    """A run of another model, or an earlier one, on a case of the comparison.

    Args:
        label: of its rows.
        case: name of the case.
        time: since the start [s].
        grid: its own.
        profiles: of temperature, u and v, `(n_cells, n_times)`.
        time_step: that it was made with [s].
    """

    label: str
    case: str
    time: np.ndarray
    grid: Grid
    profiles: Profiles
    time_step: float


def persistence(reference: Reference, grid: Grid) -> Profiles:
    """The initial profiles of a case on a grid at all times of its reference."""
    state, n_times = reference.case.on(grid).initial_state, reference.observations.time.size
    return {name: np.repeat(np.asarray(getattr(state, name))[:, None], n_times, axis=1) for name in VARIABLES}


def at_common_times(
    stored: StoredResult, reference: Reference, *, start: float, temperature_difference: float
) -> tuple[Yardstick, Profiles]:
    """A stored result and what it is compared with, at the times that both have.

    Args:
        stored: of the case of the reference.
        reference: whose profiles at other times do not count.
        start, temperature_difference: as for `compare_closures`.

    Raises:
        ValueError: another depth, or too few common times.
    """
    observed = reference.observations
    depth, own_depth = float(stored.grid.depth), float(reference.case.grid.depth)
    if abs(depth - own_depth) > 1e-6 * own_depth:
        raise ValueError(
            f"{stored.label}: expected a result over the {own_depth:g} m of {stored.case}, got {depth:g} m; "
            "name that of the same case."
        )
    times = np.asarray(observed.time)
    nearest = np.argmin(np.abs(times[:, None] - stored.time), axis=1)
    common = np.flatnonzero(np.abs(stored.time[nearest] - times) <= 1e-3)
    if common.size < 2 or times[common[-1]] < start:
        raise ValueError(
            f"{stored.label}: expected a result at times of {stored.case}, every "
            f"{reference.interval:g} s, got {common.size} of them between {stored.time[0]:g} and "
            f"{stored.time[-1]:g} s; store it more often."
        )
    chosen = {name: values[common] for name, values in observed.profiles.items()}
    part = dataclasses.replace(
        reference, observations=dataclasses.replace(observed, time=observed.time[common], profiles=chosen)
    )
    yardstick = Yardstick(part, stored.grid, start=start, temperature_difference=temperature_difference)
    return yardstick, {name: stored.profiles[name][:, nearest[common]] for name in VARIABLES}
