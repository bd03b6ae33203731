"""Fluxes through the surface, constant or as series in time.

Every flux is positive when it adds to the column. Time-dependent forcing is arrays with a time axis,
interpolated linearly inside the step, so that it can be batched, differentiated and read from a file.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._types import ScalarLike, is_traced


def _to_float_array(value):
    return jnp.asarray(value, dtype=float) if isinstance(value, (int, float, np.ndarray)) else value


class SurfaceFluxes(eqx.Module):
    """What enters the column through the surface; `None` is no flux, and costs nothing.

    Args:
        stress_u, stress_v: eastward and northward stress on the water [N m-2].
        heat_flux: heat absorbed at the surface: sensible, latent, longwave [W m-2].
        shortwave_flux: sunlight that enters the water and is absorbed below [W m-2].
        freshwater_flux: precipitation minus evaporation [kg m-2 s-1]; changes salinity, not volume.
        salt_flux: salt [kg m-2 s-1].
        tracer_fluxes: for the passive tracers of the same names [tracer unit m s-1].
    """

    stress_u: Float[Array, "..."] | None = eqx.field(default=None, converter=_to_float_array)
    stress_v: Float[Array, "..."] | None = eqx.field(default=None, converter=_to_float_array)
    heat_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=_to_float_array)
    shortwave_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=_to_float_array)
    freshwater_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=_to_float_array)
    salt_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=_to_float_array)
    tracer_fluxes: dict[str, Float[Array, "..."]] = eqx.field(
        default_factory=dict,
        converter=lambda fluxes: {name: _to_float_array(flux) for name, flux in fluxes.items()},
    )


class AbstractForcing(eqx.Module):
    """Surface fluxes as a function of time.

    Args:
        leading_axes: how many axes all its arrays have before those of the batch; 1 for series in time.
    """

    leading_axes: eqx.AbstractClassVar[int]

    @abc.abstractmethod
    def at(self, time: ScalarLike) -> SurfaceFluxes:
        """Fluxes at `time` [s] since the start of the case."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Batch shape of the fluxes."""
        shapes = (jnp.shape(leaf)[self.leading_axes :] for leaf in jax.tree.leaves(self))
        return np.broadcast_shapes((), *shapes)

    @abc.abstractmethod
    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if the forcing is not known from `start` to `end` [s]."""


def _first_bad(values: np.ndarray) -> tuple[int, ...] | None:
    bad = np.argwhere(~np.isfinite(values))
    return tuple(int(i) for i in bad[0]) if len(bad) else None


def _named_leaves(fluxes: SurfaceFluxes):
    for path, leaf in jax.tree_util.tree_leaves_with_path(fluxes):
        yield jax.tree_util.keystr(path).lstrip("."), leaf


class ConstantForcing(AbstractForcing):
    """The same fluxes at all times.

    Raises:
        ValueError: a flux that is not finite.
    """

    fluxes: SurfaceFluxes

    leading_axes: ClassVar[int] = 0

    def __check_init__(self):
        if is_traced(self.fluxes):
            return
        for name, leaf in _named_leaves(self.fluxes):
            if isinstance(leaf, jax.Array) and _first_bad(np.asarray(leaf)) is not None:
                raise ValueError(f"forcing: expected a finite {name}, got {np.asarray(leaf)}.")

    def at(self, time: ScalarLike) -> SurfaceFluxes:
        del time
        return self.fluxes

    def check_covers(self, start: float, end: float) -> None:
        del start, end


class TimeSeriesForcing(AbstractForcing):
    """Fluxes given at times, interpolated linearly in between.

    Args:
        time: [s] since the start of the case, increasing, shape `(n_times,)`.
        fluxes: each with `time` as its first axis, `(n_times, *batch)`; `from_values` also takes numbers.

    Outside the series the first and the last value hold; `simulate` refuses a run that needs them.

    Raises:
        ValueError: times that do not increase, a flux of another length, or a value that is not finite,
            with its name and time.
    """

    time: Float[Array, " time"]
    fluxes: SurfaceFluxes

    leading_axes: ClassVar[int] = 1

    @classmethod
    def from_values(cls, time, **fluxes) -> "TimeSeriesForcing":
        """Series from arrays over `time`; a number is a flux that does not change."""
        time = jnp.asarray(time, dtype=float)

        def series(values):
            values = jnp.asarray(values, dtype=float)
            return jnp.broadcast_to(values, time.shape) if values.ndim == 0 else values

        is_series = lambda values: isinstance(values, (list, tuple))  # noqa: E731
        return cls(time, SurfaceFluxes(**jax.tree.map(series, fluxes, is_leaf=is_series)))

    def __check_init__(self):
        if is_traced((self.time, self.fluxes)) or not isinstance(self.time, jax.Array):
            return
        time = np.asarray(self.time)
        if time.size < 2 or not np.all(np.isfinite(time)) or not np.all(np.diff(time) > 0.0):
            at = np.flatnonzero(~(np.diff(time) > 0.0)) if time.size > 1 else []
            where = f" after {time[at[0]]:g} s" if len(at) else ""
            raise ValueError(
                "forcing: expected at least two times [s] that increase, got "
                f"{np.array2string(time, threshold=6, edgeitems=2)}{where}."
            )
        for name, leaf in _named_leaves(self.fluxes):
            values = np.asarray(leaf)
            if values.shape[:1] != time.shape:
                raise ValueError(
                    f"forcing: expected {name} with {time.size} values along its first axis (time), "
                    f"got shape {values.shape}."
                )
            bad = _first_bad(values)
            if bad is not None:
                raise ValueError(
                    f"forcing: expected finite values of {name}, got {values[bad]} at time "
                    f"{time[bad[0]]:g} s (record {bad[0]}); fill the gap before the run."
                )

    def at(self, time: ScalarLike) -> SurfaceFluxes:
        last = self.time.shape[0] - 2
        after = jnp.searchsorted(self.time, time, side="right", method="scan_unrolled")
        index = jnp.clip(after - 1, 0, last)
        start, end = self.time[index], self.time[index + 1]
        weight = jnp.clip((time - start) / (end - start), 0.0, 1.0)

        def interpolate(values):
            return values[index] + weight * (values[index + 1] - values[index])

        return jax.tree.map(interpolate, self.fluxes)

    def check_covers(self, start: float, end: float) -> None:
        # NumPy: inside `jit` even an index of a known array is traced.
        time = np.asarray(self.time)
        first, last = float(time[0]), float(time[-1])
        # Round-off of times that were written in days must not refuse a run that ends on the last record.
        slack = 1e-9 * max(abs(first), abs(last))
        if start < first - slack or end > last + slack:
            raise ValueError(
                f"forcing: the run needs times from {start:g} to {end:g} s, the series covers "
                f"{first:g} to {last:g} s; shorten the run or extend the series."
            )
