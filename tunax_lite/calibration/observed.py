"""Observed values prepared for comparison with a model: at points, as cell means or as scalars.

Observation operators map values on model cells to values at the observations. They are linear, with the
vertical as first and the batch as last axis, and hold arrays: targets of equal shapes share compiled code.

For scalars derived from profiles at a few heights, such as the instruments of a mooring, the observed
profile is linear between heights with a value, and constant above them. If these heights are fixed, the
model profile is sampled in the same way, so that both resolve the same depths. A scalar that depends on
unobserved water is NaN.
"""

import abc
import dataclasses
import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from ..column.case import Case
from ..column.grid import Grid
from ..column.integrate import count_steps
from ..column.observables import INTEGRALS, ColumnState, is_scalar, observable, parse
from ..column.observations import Observations
from ..column.state import State
from ..numerics.regridding import regrid

Values = Float[Array, "center *#member"]
Observed = Float[Array, "level *#member"]


class AbstractOperator(eqx.Module):
    """Maps the values of a variable at one time to the observations."""

    @abc.abstractmethod
    def __call__(self, values: Values) -> Observed:
        """Values at the observed heights."""


class AtCenters(AbstractOperator):
    """Identity, for observations at the cell centers of the model."""

    def __call__(self, values: Values) -> Observed:
        return values


class Interpolation(AbstractOperator):
    """Linear interpolation along the leading axis, between the values at `lower` and `lower + 1`."""

    lower: Int[Array, " *target"]
    fraction: Float[Array, " *target"]

    def __call__(self, values: Values) -> Observed:
        fraction = self.fraction.reshape((-1,) + (1,) * (values.ndim - 1))
        return (1.0 - fraction) * values[self.lower] + fraction * values[self.lower + 1]


class Averaging(AbstractOperator):
    """Means over the observed cells, if these are thicker than those of the model."""

    matrix: Float[Array, "level center"]

    def __call__(self, values: Values) -> Observed:
        return jnp.tensordot(self.matrix, values, axes=1)


class OneNumber(AbstractOperator):
    """A scalar of the column as a profile of one level."""

    def __call__(self, values: Float[Array, "*#member"]) -> Observed:
        return values[None]


def interpolation(source: np.ndarray, points: np.ndarray) -> Interpolation:
    """Interpolation from increasing positions to points, constant beyond the ends; NaN is the first."""
    inside = np.clip(np.where(np.isnan(points), source[0], points), source[0], source[-1])
    lower = np.clip(np.searchsorted(source, inside, side="right") - 1, 0, source.size - 2)
    fraction = (inside - source[lower]) / (source[lower + 1] - source[lower])
    return Interpolation(jnp.asarray(lower), jnp.asarray(fraction))


def place_in_time(
    times: np.ndarray, *, name: str, dt: float, duration: float, frame_interval: float | None
) -> tuple[Interpolation | None, int, int, np.ndarray]:
    """Return interpolation, number of frames, steps per frame, and the row of each observed time [s].

    Rows are those of the frames, and the interpolation is `None`, if all times are frames; otherwise frames
    are interpolated to rows of observed times. Raises `ValueError` for times outside the case, or time steps
    that do not divide `frame_interval`.
    """
    if times[0] < 0.0 or times[-1] > duration * (1.0 + 1e-9) or times[-1] <= 0.0:
        raise ValueError(
            f"{name}: expected observed times between the start and the end of the case, 0 to "
            f"{duration:g} s, got {times[0]:g} to {times[-1]:g} s; set `time_window` or the "
            "duration of the case."
        )
    if frame_interval is None:
        # The longest interval of which all times are multiples, or a step if some times lie between steps.
        count_steps(dt, dt, "dt")  # raises if the step is not positive
        steps = np.rint(times / dt).astype(int)
        steps_per_frame = 1 if np.any(np.abs(times / dt - steps) > 1e-6) else int(np.gcd.reduce(steps))
    else:
        steps_per_frame = count_steps(frame_interval, dt, f"the frame_interval of {name}")
    position = times / (steps_per_frame * dt)
    nearest = np.rint(position).astype(int)
    if np.all(np.abs(position - nearest) * steps_per_frame <= 1e-6):
        return None, int(nearest[-1]), steps_per_frame, nearest
    last = math.ceil(position[-1])
    return interpolation(np.arange(last + 1.0), position), last, steps_per_frame, np.arange(times.size)


def check_heights(z: np.ndarray, depth: float, name: str) -> None:
    """Raise `ValueError` for heights [m] above the surface or below the bottom."""
    finite = z[np.isfinite(z)]
    if finite.size and (finite.min() < -depth * (1.0 + 1e-9) or finite.max() > 0.0):
        raise ValueError(
            f"{name}: expected observed heights between the bottom at {-depth:g} m and the surface at "
            f"0 m, got {finite.min():g} to {finite.max():g} m; set `depth_window` or a deeper grid."
        )


def centers_of(z: np.ndarray, centers: np.ndarray, depth: float) -> np.ndarray | None:
    """Indices of the centers at increasing heights; `None` if one of these lies between centers."""
    nearest = np.argmin(np.abs(z[:, None] - centers), axis=1)
    are_centers = np.all(np.abs(z - centers[nearest]) <= 1e-6 * depth) and np.all(np.diff(nearest) > 0)
    return nearest if are_centers else None


def faces_from_centers(z: np.ndarray, name: str) -> np.ndarray:
    """Faces of cells with centers at these heights [m], increasing, with the uppermost face at the surface.

    Raises `ValueError` for heights that are not the centers of contiguous cells from the surface down, or
    neighbouring cells whose thicknesses differ by a factor of 2 or more.
    """
    faces = np.zeros(z.size + 1)
    for cell in range(z.size - 1, -1, -1):
        faces[cell] = 2.0 * z[cell] - faces[cell + 1]
    thickness = np.diff(faces)
    # A misplaced center moves the faces below it up and down in turn, so that neighbouring cells differ.
    ratio = thickness[1:] / thickness[:-1] if np.all(thickness > 0.0) else np.zeros(1)
    if not np.all((ratio > 0.5) & (ratio < 2.0)):
        raise ValueError(
            f"{name}: expected heights that are centers of cells from the surface down, for means over "
            f"cells, got {np.array2string(z, threshold=6, edgeitems=2)}; choose averaging at points "
            "(`averaging: points`)."
        )
    return faces


_NEAR_SURFACE = 10.0
"""Largest depth [m] of an uppermost value that is taken as that of the surface."""
_DEPENDS_ON = {
    "sea_surface_temperature": ("temperature",),
    "mixed_layer_depth": ("temperature",),
    "heat_content": ("temperature",),
    "salt_content": ("salinity",),
    "kinetic_energy": ("u", "v"),
}


def depends_on(variable: str) -> tuple[str, ...]:
    """Names of the profiles on which a scalar depends."""
    return _DEPENDS_ON.get(parse(variable).name, ("temperature", "salinity"))


def on_centers(z: np.ndarray, values: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Interpolate profiles `(n_times, n_levels)` to the model's centers, from the values that are not NaN.

    Heights are `(n_levels,)` or `(n_times, n_levels)`; the result is NaN at times with fewer than two values.
    """
    profiles = np.full((values.shape[0], centers.size), np.nan)
    for time, (heights, row) in enumerate(zip(np.broadcast_to(z, values.shape), values, strict=True)):
        finite = np.isfinite(row)
        if finite.sum() > 1:
            profiles[time] = np.interp(centers, heights[finite], row[finite])
    return profiles


def smoothing_matrix(z: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Matrix that interpolates a profile from the centers to `z` and back, `(n_centers, n_centers)`."""
    at_heights = np.stack([np.interp(z, centers, row) for row in np.eye(centers.size)], axis=1)
    return np.stack([np.interp(centers, z, row) for row in np.eye(z.size)], axis=1) @ at_heights


def is_determined(
    variable: str, numbers: np.ndarray, z: np.ndarray, values: np.ndarray, centers: np.ndarray
) -> np.ndarray:
    """Mask `(n_times,)` of times at which values reach far enough up and down to determine a scalar.

    `numbers` are the scalars, computed from heights and values as in `on_centers`.
    """
    finite = np.isfinite(values)
    heights = np.broadcast_to(z, values.shape)
    lowest = np.min(heights, axis=1, where=finite, initial=0.0)
    highest = np.max(heights, axis=1, where=finite, initial=-np.inf)
    parsed = parse(variable)
    above = _NEAR_SURFACE if parsed.name in INTEGRALS or parsed.depth is None else parsed.depth
    above = max(above, -float(centers[-1]))  # the model resolves nothing above its uppermost center
    needed = np.full(numbers.shape, float(centers[0]))
    if parsed.name in INTEGRALS and parsed.depth is not None:
        needed = np.maximum(needed, -parsed.depth)
    elif parsed.name.startswith("mixed_layer_depth"):
        needed = -numbers
    elif parsed.name == "sea_surface_temperature":
        needed = highest
    slack = 1e-6 * abs(float(centers[0]))
    return finite.any(axis=1) & (highest >= -above - slack) & (lowest <= needed + slack)


class ComparedVariable(eqx.Module):
    """One variable of a comparison: observed values, and the operators that map model profiles to them.

    `sample` returns the values at all observed times, NaN where they are missing. `Target.comparison` selects
    times, replaces NaN by 0, and adds shares and factor. The methods after `at` apply to its result.
    """

    observed: Float[Array | np.ndarray, "..."]  # (time, level), and columns of a batch
    operator: AbstractOperator  # from model cells, at all times
    moving: Interpolation | None = None  # for heights that vary in time, with a leading time axis
    # Reduces model profiles to the resolution of a few observed heights.
    smoothing: Float[Array | np.ndarray, "center center"] | None = None
    thickness: np.ndarray | None = None  # weights of cell means [m], (n_levels,); `None` if all are equal
    shares: Any = None  # share of each value in the mean; 0 if it is not selected; shape of the values
    factor: Any = None  # of the mean square, such as w_v / (s_v² sum w_v)

    def at_times(self) -> PyTree:
        """The part that varies in time, with a leading time axis, for `at`."""
        return self.observed, self.shares, self.moving

    def at(self, part: PyTree) -> "ComparedVariable":
        """The comparison at one time."""
        observed, shares, moving = part
        return dataclasses.replace(self, observed=observed, shares=shares, moving=moving)

    def differences(self, modelled: Values) -> Observed:
        """Model minus observed."""
        at_heights = modelled if self.moving is None else self.moving(modelled)
        return at_heights - _like(self.observed, at_heights)

    def mean(self, values: Observed) -> Float[Array, "*#member"]:
        """Contribution to the mean of values over the selected ones."""
        return jnp.sum(_like(self.shares, values) * values, axis=0)

    def scaled(self, difference: Observed) -> Observed:
        """Weighted differences, whose squares sum to the contribution to the weighted mean square."""
        return jnp.sqrt(self.factor * _like(self.shares, difference)) * difference


def _like(values, batch: Float[Array, "..."]):
    """Append axes to the values of a column, so that they broadcast over a batch of columns."""
    return values.reshape(values.shape + (1,) * (batch.ndim - values.ndim))


def sample(
    case: Case, observations: Observations, variable: str, averaging: str, window: tuple[float, float]
) -> ComparedVariable:
    """Return the observed values of a variable or an observable, at the levels of comparison.

    Grid, equation of state and, if it was not observed, salinity are those of the case. Averaging is `points`
    or `cell_means`. The window, which does not apply to scalars, is the lowest and highest height to use [m].
    """
    if variable in observations.series:
        return _scalar(np.asarray(observations.series[variable], dtype=float))
    if is_scalar(variable):
        try:
            faces = _observed_faces(case, observations)
        except ValueError:  # the observed heights are not the cell centers of a column
            if averaging == "cell_means":
                raise
            return _scalar_at_points(case, observations, variable)
        model_faces = np.asarray(case.grid.z_face, dtype=float)
        observed = _state_profiles(observations).items()
        profiles = {name: regrid(values.T, faces, model_faces).T for name, values in observed}
        return _scalar(_observed_observable(case, case.grid, profiles, variable))
    if averaging == "cell_means":
        faces = _observed_faces(case, observations)
        return _cell_means(case, _profile_at_points(case, observations, variable), faces, window)
    return _points(case, _profile_at_points(case, observations, variable), observations, window)


def with_levels(sampled: ComparedVariable, case: Case, n_levels: int) -> ComparedVariable:
    """Pad a profile to more levels, without values, and make its operator a matrix; scalars are unchanged."""
    if isinstance(sampled.operator, OneNumber):
        return sampled
    if sampled.moving is not None:
        raise ValueError(f"{case.name}: expected fixed heights for shared programs, got others; do not pad.")
    more = n_levels - sampled.observed.shape[1]
    matrix = np.asarray(sampled.operator(jnp.eye(case.grid.n_cells)))
    return dataclasses.replace(
        sampled,
        observed=np.pad(sampled.observed, ((0, 0), (0, more)), constant_values=np.nan),
        operator=Averaging(jnp.asarray(np.pad(matrix, ((0, more), (0, 0))))),
        thickness=None if sampled.thickness is None else np.pad(sampled.thickness, (0, more)),
    )


def can_be_observed(observations: Observations, variable: str) -> bool:
    """Return whether a variable is observed, or follows from observed profiles."""
    if variable in observations.names:
        return True
    if "temperature" not in observations.profiles or variable in ("temperature", "salinity", "u", "v"):
        return False
    try:
        observable(variable)
    except ValueError:
        return False
    return "kinetic" not in variable or {"u", "v"} <= set(observations.profiles)


def _scalar(values: np.ndarray) -> ComparedVariable:
    return ComparedVariable(values[:, None], OneNumber())


def _scalar_at_points(case: Case, observations: Observations, variable: str) -> ComparedVariable:
    """Derive a scalar from values at points; see the top of this module."""
    z, centers = np.asarray(observations.z, dtype=float), np.asarray(case.grid.z_center, dtype=float)
    names = {"temperature", *depends_on(variable)}
    observed = {name: each for name, each in _state_profiles(observations).items() if name in names}
    profiles = {name: on_centers(z, values, centers) for name, values in observed.items()}
    numbers = _observed_observable(case, case.grid, profiles, variable)
    for name in set(depends_on(variable)) & set(observed):
        determined = is_determined(variable, numbers, z, observed[name], centers)
        numbers = np.where(determined, numbers, np.nan)
    smoothing = None if observations.moves else smoothing_matrix(z, centers)
    return dataclasses.replace(_scalar(numbers), smoothing=smoothing)


def _state_profiles(observations: Observations) -> dict[str, np.ndarray]:
    profiles, names = observations.profiles, ("temperature", "salinity", "u", "v")
    return {name: np.asarray(profiles[name], dtype=float) for name in names if name in profiles}


def _observed_faces(case: Case, observations: Observations) -> np.ndarray:
    """Faces of the cells whose centers are the observed heights; `ValueError` if there are no such cells."""
    if observations.moves:
        raise ValueError(
            f"{case.name}: expected the same heights at all times for means over cells, got heights that "
            "differ; choose averaging at points (`averaging: points`)."
        )
    grid, z = case.grid, np.asarray(observations.z, dtype=float)
    centers = np.asarray(grid.z_center, dtype=float)
    if z.shape == centers.shape and np.allclose(z, centers, rtol=0.0, atol=1e-6 * float(grid.depth)):
        return np.asarray(grid.z_face, dtype=float)
    faces = faces_from_centers(z, case.name)
    check_heights(0.5 * (faces[1:] + faces[:-1]), float(grid.depth), case.name)
    return faces


def _profile_at_points(case: Case, observations: Observations, variable: str) -> np.ndarray:
    """Observed or derived values of a profile at the observed heights, `(n_times, n_levels)`."""
    if variable in observations.profiles:
        return np.asarray(observations.profiles[variable], dtype=float)
    profiles = _state_profiles(observations)
    if "salinity" not in profiles:
        z, centers = np.asarray(observations.z, dtype=float), np.asarray(case.grid.z_center, dtype=float)
        at_heights = np.interp(z, centers, np.asarray(case.initial_state.salinity, dtype=float))
        profiles["salinity"] = np.broadcast_to(at_heights, profiles["temperature"].shape)
    # Profiles of potential quantities do not depend on a grid, which may have fewer than three cells here.
    faces = jnp.linspace(-1.0, 0.0, profiles["temperature"].shape[1] + 1)
    any_grid = eqx.tree_at(lambda grid: grid.z_face, Grid.uniform(1.0, 3), faces)
    return _observed_observable(case, any_grid, profiles, variable)


def _observed_observable(case: Case, grid: Grid, profiles: dict[str, np.ndarray], variable: str):
    """Compute an observable of observed profiles `(n_times, n_levels)`; NaN where its input is missing."""
    shape = profiles["temperature"].shape
    columns = {name: profiles.get(name, np.zeros(shape)) for name in ("u", "v", "temperature")}
    columns["salinity"] = profiles.get("salinity", np.asarray(case.initial_state.salinity, dtype=float))
    columns = {name: np.broadcast_to(column, shape) for name, column in columns.items()}
    finite = np.all([np.isfinite(values) for values in columns.values()], axis=0)
    filled: dict[str, Any] = {  # fields of a state
        name: jnp.asarray(np.where(finite, each, 0.0).T) for name, each in columns.items()
    }
    water = ColumnState(State(**filled), grid, case.equation_of_state)
    values = np.asarray(_observable_of(variable, water), dtype=float)
    return np.where(finite.all(axis=1) if values.ndim == 1 else finite, values.T, np.nan)


@functools.partial(jax.jit, static_argnums=0)  # one program for all cases of equal shapes
def _observable_of(variable: str, water: ColumnState) -> Array:
    return observable(variable)(water)


def _points(case: Case, values: np.ndarray, observations: Observations, window) -> ComparedVariable:
    z = np.asarray(observations.z, dtype=float)
    centers, depth = np.asarray(case.grid.z_center, dtype=float), float(case.grid.depth)
    inside = (z >= window[0]) & (z <= window[1])
    _check_window(case.name, inside, z, window)
    check_heights(z[inside], depth, case.name)
    values = np.where(inside, values, np.nan)
    if observations.moves:
        return ComparedVariable(values, AtCenters(), moving=interpolation(centers, z))
    levels = np.flatnonzero(inside)
    z, values = z[levels], values[:, levels]
    indices = centers_of(z, centers, depth)
    if indices is None:
        return ComparedVariable(values, interpolation(centers, z))
    on_cells = np.full((values.shape[0], centers.size), np.nan)
    on_cells[:, indices] = values
    return ComparedVariable(on_cells, AtCenters())


def _cell_means(
    case: Case, values: np.ndarray, faces: np.ndarray, window: tuple[float, float]
) -> ComparedVariable:
    """Compare means over the cells of the model, or over the observed cells if these are fewer."""
    model_faces = np.asarray(case.grid.z_face, dtype=float)
    bottom = abs(model_faces[0])
    if np.searchsorted(model_faces, faces[0] - 1e-6 * bottom) + faces.size >= model_faces.size:
        values, faces, operator = regrid(values.T, faces, model_faces).T, model_faces, AtCenters()
    else:
        operator = Averaging(jnp.asarray(regrid(np.eye(model_faces.size - 1), model_faces, faces)))
    slack = 1e-9 * bottom
    inside = (faces[:-1] >= window[0] - slack) & (faces[1:] <= window[1] + slack)
    z = 0.5 * (faces[1:] + faces[:-1])
    _check_window(case.name, inside, z, window)
    values = np.where(inside, values, np.nan)
    thickness = np.diff(faces)
    varies = np.ptp(thickness) > 1e-3 * thickness.mean()  # more than by the rounding of heights in files
    return ComparedVariable(values, operator, thickness=thickness if varies else None)


def _check_window(name: str, inside: np.ndarray, z: np.ndarray, window: tuple[float, float]) -> None:
    if not inside.any():
        raise ValueError(
            f"{name}: expected a depth_window [m] with observations in it, got {window[0]:g} to "
            f"{window[1]:g}; they reach from {np.nanmin(z):g} to {np.nanmax(z):g}."
        )
