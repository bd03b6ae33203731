"""References of a comparison: profiles of large-eddy simulations, as cell means.

Model and reference are compared on the coarser of their two grids, to which the other is averaged
conservatively, so that neither is penalised for its resolution. Errors are root mean squares over all cells,
weighted by volume, and all observed times from `start` on; the velocity error is the length of the vector (u
- u_ref, v - v_ref). Mixed layer depths of both are computed on the same grid.
"""

import dataclasses
import math
from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ...column.case import Case, remap
from ...column.grid import Grid
from ...column.observations import Observations
from ...physics.stratification import mixed_layer_depth

VARIABLES = ("temperature", "u", "v")

Profiles = Mapping[str, np.ndarray]
"""Variables by name, `(n_cells, n_times)`."""


@dataclasses.dataclass(frozen=True)
class Reference:
    """A case on the grid of a large-eddy simulation, with its profiles on all cells.

    Raises `ValueError` for profiles that are missing, at other heights, at irregular times, or not finite.
    """

    case: Case
    observations: Observations
    group: str = ""  # of cases from one source, for summaries

    def __post_init__(self):
        name, observations = self.case.name, self.observations
        missing = [variable for variable in VARIABLES if variable not in observations.profiles]
        if missing:
            raise ValueError(
                f"{name}: expected profiles of {', '.join(VARIABLES)}, got none of {', '.join(missing)}; "
                "compare with a complete simulation."
            )
        z, centers = np.asarray(observations.z), np.asarray(self.case.grid.z_center)
        # Faces midway between uneven levels make cells whose centers are close to the levels.
        slack = 0.2 * np.asarray(self.case.grid.cell_thickness)
        if z.shape != centers.shape or np.any(np.abs(z - centers) > slack):
            raise ValueError(
                f"{name}: expected profiles on the {centers.size} cells of the case, got {z.size} heights "
                f"from {z[0]:g} to {z[-1]:g} m; compare with a simulation that covers the column."
            )
        times = np.asarray(observations.time)
        if times.size < 2 or abs(times[0]) > 1e-6 or np.ptp(np.diff(times)) > 1e-6:
            raise ValueError(
                f"{name}: expected at least two times, equally spaced from 0 s on, got {times.size} from "
                f"{times[0]:g} s on; compare with a simulation that was saved regularly."
            )
        if not all(np.isfinite(observations.profiles[variable]).all() for variable in VARIABLES):
            raise ValueError(f"{name}: expected finite profiles, got values that are missing; fill them.")

    @property
    def interval(self) -> float:
        """Time between profiles [s]."""
        return float(self.observations.time[1])

    def n_steps(self, time_step: float) -> int:
        """Steps between two profiles; `ValueError` for a step [s] that does not divide the time."""
        n = round(self.interval / time_step)
        if n < 1 or abs(n * time_step - self.interval) > 1e-6 * self.interval:
            raise ValueError(
                f"expected time steps that divide the time between the profiles of {self.case.name}, "
                f"{self.interval:g} s, got {time_step:g} s; choose another step."
            )
        return n


@dataclasses.dataclass(frozen=True)
class ShownCase:
    """Profiles of a case for figures, all `(n_cells, n_times)` on one grid."""

    name: str
    time: np.ndarray  # [s]
    grid: Grid
    reference: Profiles  # large-eddy simulation
    runs: dict[str, Profiles]  # by label of the closure


class Yardstick:
    """A reference prepared for a model grid of the same depth; times before `start` [s] are ignored.

    The base of the mixed layer differs from the uppermost cell by `temperature_difference` [K], because
    layers of a few hours are often shallower than the 10 m of `usual_reference_depth`; if nothing does, it is
    the deepest center. With the averaging `points`, the model is interpolated to the levels of the reference,
    with equal weights.
    """

    def __init__(
        self,
        reference: Reference,
        grid: Grid,
        start: float,
        temperature_difference: float,
        averaging: str = "cell_means",
    ):
        own, at_points = reference.case.grid, averaging == "points"
        self.grid = grid if grid.n_cells <= own.n_cells and not at_points else own
        self.name, self.n_cells, self.group = reference.case.name, grid.n_cells, reference.group
        self.time = np.asarray(reference.observations.time)
        self._counts = self.time >= start * (1.0 - 1e-9)
        if not self._counts.any():
            raise ValueError(
                f"{self.name}: expected a start before the last profile at {self.time[-1]:g} s, got "
                f"{start:g} s; choose an earlier one."
            )
        self._difference = temperature_difference
        self._averaging = _averaging(grid, self.grid)
        if at_points:
            z, rows = np.asarray(reference.observations.z), np.eye(grid.n_cells)
            self._averaging = np.stack([np.interp(z, np.asarray(grid.z_center), row) for row in rows], axis=1)
        profiles = reference.observations.profiles
        from_own = _averaging(own, self.grid)
        self.reference = {name: from_own @ np.asarray(profiles[name]).T for name in VARIABLES}
        self._depth = self._mixed_layer_depth(self.reference["temperature"])
        self._fraction = np.asarray(self.grid.cell_volume) / float(self.grid.mean_depth)
        if at_points:
            self._fraction = np.full(own.n_cells, 1.0 / own.n_cells)

    def averaged(self, profiles: Profiles) -> dict[str, np.ndarray]:
        """Profiles of the model on the common grid."""
        return {name: self._averaging @ profiles[name] for name in VARIABLES}

    def scores(self, averaged: Profiles) -> tuple[float, float, float]:
        """Errors of temperature [K], velocity [m s-1] and mixed layer depth [m] of averaged profiles."""

        def mean(values: np.ndarray) -> float:
            return float(np.mean((self._fraction @ values)[self._counts]))

        with np.errstate(over="ignore"):  # a diverging run may overflow: infinite error
            squares = [mean((averaged[name] - self.reference[name]) ** 2) for name in VARIABLES]
        depth_error = (self._mixed_layer_depth(averaged["temperature"]) - self._depth)[self._counts]
        temperature, velocity = math.sqrt(squares[0]), math.sqrt(squares[1] + squares[2])
        return temperature, velocity, float(np.sqrt(np.mean(depth_error**2)))

    def _mixed_layer_depth(self, temperature: np.ndarray) -> np.ndarray:
        return np.asarray(_depths(jnp.asarray(temperature), self.grid, difference=self._difference))


@partial(jax.jit, static_argnames="difference")
def _depths(temperature, grid: Grid, difference: float):
    options = {"difference": difference, "reference_depth": 0.0, "bounded": True}
    return mixed_layer_depth(temperature, grid.with_batch_rank(1), **options)


def _averaging(source: Grid, target: Grid) -> np.ndarray:
    """Conservative remapping as a matrix, `(n_target, n_source)`."""
    return np.asarray(remap(jnp.eye(source.n_cells, dtype=source.z_face.dtype), source, target))


PERSISTENCE = "persistence"
"""Label of the initial profile kept."""


@dataclasses.dataclass(frozen=True)
class StoredResult:
    """A run of another model, or an earlier run, on a case of the comparison."""

    label: str
    case: str
    time: np.ndarray  # [s] since the start
    grid: Grid  # own grid
    profiles: Profiles  # of temperature, u and v
    time_step: float  # of the run [s]


def persistence(reference: Reference, grid: Grid) -> Profiles:
    """The initial profiles of a case on a grid at all times of its reference."""
    state, n_times = reference.case.on(grid).initial_state, reference.observations.time.size
    return {name: np.repeat(np.asarray(getattr(state, name))[:, None], n_times, axis=1) for name in VARIABLES}


def at_common_times(
    stored: StoredResult, reference: Reference, start: float, temperature_difference: float
) -> tuple[Yardstick, Profiles]:
    """A stored result and the reference at the times that both have.

    Raises `ValueError` for a different depth, or too few common times.
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
    observed = dataclasses.replace(observed, time=observed.time[common], profiles=chosen)
    part = dataclasses.replace(reference, observations=observed)
    yardstick = Yardstick(part, stored.grid, start, temperature_difference)
    return yardstick, {name: stored.profiles[name][:, nearest[common]] for name in VARIABLES}
