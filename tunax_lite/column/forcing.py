"""Surface fluxes, constant or as time series.

Fluxes are positive into the column.
"""

import abc
import sys
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from .._types import Scalar, ScalarLike, array_field, as_float_array, is_traced
from ..quantities import QUANTITIES, check_values
from .state import State
from .time_series import TimeSeries, first_bad


class SurfaceFluxes(eqx.Module):
    """Surface fluxes into the column; `None` means no flux, at no cost.

    Args:
        stress_u, stress_v: eastward and northward stress on the water [N m-2].
        surface_drag: reduction of the stress by the velocity of the water [N m-2 per m s-1], for wind
            relative to the current. It is implicit: the wind never drives the water faster than it blows,
            however long the step.
        heat_flux: heat absorbed at the surface: sensible, latent, longwave [W m-2].
        shortwave_flux: shortwave radiation that enters the water and is absorbed below the surface [W m-2].
        freshwater_flux: precipitation minus evaporation [kg m-2 s-1]; changes salinity, not volume.
        salt_flux: salt [kg m-2 s-1].
        latent_heat_flux, sensible_heat_flux, longwave_flux: components of the heat flux [W m-2], for output
            only, as computed by bulk formulae, before factors and corrections of the sum; `None` if only the
            sum is known.
        tracer_fluxes: by name of the passive tracer [tracer unit m s-1].
    """

    stress_u: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    stress_v: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    surface_drag: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    heat_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    shortwave_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    freshwater_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    salt_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    latent_heat_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    sensible_heat_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    longwave_flux: Float[Array, "..."] | None = eqx.field(default=None, converter=as_float_array)
    tracer_fluxes: dict[str, Float[Array, "..."]] = eqx.field(
        default_factory=dict,
        converter=lambda fluxes: {name: as_float_array(flux) for name, flux in fluxes.items()},
    )


def check_fluxes(where: str, fluxes: SurfaceFluxes) -> None:
    """Raise `ValueError` for concrete fluxes that are not finite, or impossible, such as 1 MW m-2."""
    tracers = {f"tracer_fluxes.{name}": leaf for name, leaf in fluxes.tracer_fluxes.items()}
    for name, leaf in (vars(fluxes) | tracers).items():
        if not isinstance(leaf, jax.Array) or isinstance(leaf, Tracer):
            continue
        values, (low, high) = np.asarray(leaf), _POSSIBLE.get(name, _FINITE)
        # In microseconds, because a coupled model comes by at every step; NaN is not within.
        least, most = (values.min(), values.max()) if values.ndim else (values.item(),) * 2
        if not (low <= least and most <= high):
            if first_bad(values) is not None:
                raise ValueError(f"{where}: expected a finite {name}, got {values}.")
            check_values(f"{where}: {name}", f"surface_{name}", values)


_FINITE = -sys.float_info.max, sys.float_info.max
_POSSIBLE = {
    name: tuple(np.clip(QUANTITIES[f"surface_{name}"].possible, *_FINITE).tolist())
    for name in SurfaceFluxes.__dataclass_fields__
    if f"surface_{name}" in QUANTITIES
}


class IceSurface(NamedTuple):
    """Surface of ice as seen from the air: temperature [degC] and albedo [1]; it is at rest."""

    covers: Bool[Array, "..."]
    temperature: Scalar
    albedo: Scalar


class WaterSurface(NamedTuple):
    """Surface water for air-sea fluxes: velocity [m s-1], temperature [degC], salinity [g kg-1]."""

    u: Scalar
    v: Scalar
    temperature: Scalar
    salinity: Scalar
    ice: IceSurface | None = None

    @classmethod
    def of(cls, state: State) -> "WaterSurface":
        return cls(state.u[-1], state.v[-1], state.temperature[-1], state.salinity[-1])


class AbstractForcing(eqx.Module):
    """Surface fluxes as a function of time and surface water."""

    @abc.abstractmethod
    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        """Fluxes at `time` [s] since the start of the case; the model always passes `water`."""

    def air_temperature(self, time: ScalarLike) -> Scalar | None:
        """Air temperature [degC] at `time` [s]; `None` if unknown."""
        return None

    @abc.abstractmethod
    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if the forcing does not cover `start` to `end` [s]."""


class ConstantForcing(AbstractForcing):
    """Fluxes constant in time.

    Raises:
        ValueError: a flux that is not finite, or impossible.
    """

    fluxes: SurfaceFluxes = array_field(0)

    def __check_init__(self):
        if is_traced(self.fluxes):
            return
        check_fluxes("forcing", self.fluxes)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        return self.fluxes

    def check_covers(self, start: float, end: float) -> None:
        pass


class TimeSeriesForcing(AbstractForcing):
    """Fluxes at given times, interpolated linearly in between.

    Args:
        time: [s] since the start of the case, increasing, shape `(n_times,)`.
        fluxes: each with `time` as its first axis, `(n_times, *batch)`; `from_values` also accepts numbers.

    Raises:
        ValueError: as in `TimeSeries`, or an impossible flux.
    """

    time: Float[Array, " time"] = array_field(1, is_shared=True)
    fluxes: SurfaceFluxes = array_field(1)

    @classmethod
    def from_values(cls, time, **fluxes) -> "TimeSeriesForcing":
        """Series from arrays over `time`; a number is a constant flux."""
        time = jnp.asarray(time, dtype=float)

        def series(values):
            values = jnp.asarray(values, dtype=float)
            return jnp.broadcast_to(values, time.shape) if values.ndim == 0 else values

        is_series = lambda values: isinstance(values, (list, tuple))  # noqa: E731
        return cls(time, SurfaceFluxes(**jax.tree.map(series, fluxes, is_leaf=is_series)))

    def __check_init__(self):
        TimeSeries(self.time, self.fluxes)
        check_fluxes("forcing", self.fluxes)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        return TimeSeries(self.time, self.fluxes).at(time)

    def check_covers(self, start: float, end: float) -> None:
        TimeSeries(self.time, self.fluxes).check_covers(start, end)
