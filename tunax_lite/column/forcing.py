"""Surface fluxes, constant or as time series, positive into the water."""

import abc
import dataclasses
import sys
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from .._types import FieldValue, Scalar, ScalarLike, SeriesOrScalar, array_field, as_float_array, is_traced
from ..declarations import check_kinds
from ..quantities import Quantity, check_values, declares
from ..views import AbstractShown
from .state import State
from .time_series import StepsOfRun, TimeSeries, first_bad, over_steps, seconds

Flux = SeriesOrScalar | None


def surface_flux(
    long_name: str,
    unit: str,
    possible: tuple[float, float],
    *,
    standard_name: str | None = None,
    positive: str = "into the water",
    scale: str | None = None,
    prescribed: bool = True,
) -> FieldValue:
    """Declare a surface flux for files, configurations, maps, corrections and couplings.

    The name of the field is its name in the forcing; in files and diagnostics `surface_` precedes it. Its
    meaning is in the docstring of the class.

    Args:
        long_name: name in files and figures.
        unit: as written in the UDUNITS package.
        possible: lowest and highest possible value.
        standard_name: standard name of CF.
        positive: direction of a positive flux.
        scale: name of the correction that scales it, if several fluxes share that correction.
        prescribed: whether files may prescribe it; otherwise it is output only.
    """
    quantity = Quantity("", long_name, unit, "scalar", standard_name, possible, positive)
    metadata = {"quantity": quantity, "prescribed": prescribed, "scale": scale}
    flux = eqx.field(default=None, metadata=metadata, converter=lambda x: as_float_array(x, flux.name))
    return flux


@declares("scalar", prefix="surface_")
class SurfaceFluxes(AbstractShown):
    """Surface fluxes into the column; `None` means no flux, at no cost.

    The components of the heat flux are for output only: bulk formulae compute them, and corrections change
    only their sum. They are `None` if only the sum is known.

    Args:
        stress_u: eastward stress on the water [N m-2].
        stress_v: northward stress on the water [N m-2].
        surface_drag: reduction of the stress per velocity of the water [N m-2 per m s-1], for wind relative
            to the current; `stress_u` and `stress_v` include it. It is implicit: the wind never drives the
            water faster than it blows, however long the step.
        heat_flux: heat into the surface, without shortwave radiation [W m-2].
        shortwave_flux: shortwave radiation into the water, less the albedo [W m-2].
        freshwater_flux: precipitation minus evaporation [kg m-2 s-1]; it changes salinity and, only in a lake
            whose level follows the water budget, volume.
        salt_flux: salt [kg m-2 s-1].
        latent_heat_flux, sensible_heat_flux, longwave_flux: components of the heat flux [W m-2].
        tracer_fluxes: by name of the passive tracer [tracer unit m s-1].
    """

    stress_u: Flux = surface_flux(
        "eastward stress on the water",
        "N m-2",
        (-50.0, 50.0),
        standard_name="surface_downward_eastward_stress",
        positive="eastward",
        scale="stress_scale",
    )
    stress_v: Flux = surface_flux(
        "northward stress on the water",
        "N m-2",
        (-50.0, 50.0),
        standard_name="surface_downward_northward_stress",
        positive="northward",
        scale="stress_scale",
    )
    surface_drag: Flux = eqx.field(default=None, converter=as_float_array)
    heat_flux: Flux = surface_flux(
        "heat absorbed at the surface, without shortwave radiation",
        "W m-2",
        (-1e4, 1e4),
        standard_name="surface_downward_heat_flux_in_sea_water",
    )
    shortwave_flux: Flux = surface_flux(
        "shortwave radiation that enters the water",
        "W m-2",
        (-1.0, 1800.0),
        standard_name="net_downward_shortwave_flux_at_sea_water_surface",
    )
    freshwater_flux: Flux = surface_flux(
        "precipitation minus evaporation",
        "kg m-2 s-1",
        (-1.0, 1.0),
        standard_name="water_flux_into_sea_water",
    )
    salt_flux: Flux = surface_flux("salt that enters the water", "kg m-2 s-1", (-1.0, 1.0))
    latent_heat_flux: Flux = surface_flux(
        "latent heat into the water, as the bulk formula gives it",
        "W m-2",
        (-1e4, 1e4),
        standard_name="surface_downward_latent_heat_flux",
        prescribed=False,
    )
    sensible_heat_flux: Flux = surface_flux(
        "sensible heat into the water, as the bulk formula gives it",
        "W m-2",
        (-1e4, 1e4),
        standard_name="surface_downward_sensible_heat_flux",
        prescribed=False,
    )
    longwave_flux: Flux = surface_flux(
        "net longwave radiation into the water",
        "W m-2",
        (-1e4, 1e4),
        standard_name="surface_net_downward_longwave_flux",
        prescribed=False,
    )
    tracer_fluxes: dict[str, Float[Array, "..."]] = eqx.field(
        default_factory=dict,
        converter=lambda fluxes: {name: as_float_array(flux) for name, flux in fluxes.items()},
    )


DECLARED_FLUXES = tuple(field for field in dataclasses.fields(SurfaceFluxes) if "quantity" in field.metadata)
"""Fields of the fluxes with a row in the table of quantities."""
FLUXES = tuple(field.name for field in DECLARED_FLUXES if field.metadata["prescribed"])
"""Names of the fluxes that files may prescribe."""


def check_fluxes(where: str, fluxes: SurfaceFluxes) -> None:
    """Raise `ValueError` for concrete fluxes that are not finite, or impossible, such as 1 MW m-2."""
    tracers = {f"tracer_fluxes.{name}": leaf for name, leaf in fluxes.tracer_fluxes.items()}
    for name, leaf in (vars(fluxes) | tracers).items():
        if not isinstance(leaf, jax.Array) or isinstance(leaf, Tracer):
            continue
        values, (low, high) = np.asarray(leaf), _POSSIBLE.get(name, _FINITE)
        # Coupled models call this in every step, so it takes only microseconds. NaN fails the comparison.
        lowest, highest = (values.min(), values.max()) if values.ndim else (values.item(),) * 2
        if not (low <= lowest and highest <= high):
            if first_bad(values) is not None:
                raise ValueError(f"{where}: expected a finite {name}, got {values}.")
            check_values(f"{where}: {name}", f"surface_{name}", values)


_FINITE = -sys.float_info.max, sys.float_info.max
_POSSIBLE = {
    field.name: tuple(np.clip(field.metadata["quantity"].possible, *_FINITE).tolist())
    for field in DECLARED_FLUXES
}


class IceSurface(NamedTuple):
    """Ice as seen from the air: where it covers the water, its surface temperature [degC] and albedo [1]."""

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


class AbstractForcing(AbstractShown):
    """Surface fluxes as a function of time and surface water."""

    @abc.abstractmethod
    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        """Fluxes at `time` [s] since the start of the case; the model always passes `water`."""

    def air_temperature(self, time: ScalarLike) -> Scalar | None:
        """Air temperature [degC] at `time` [s]; `None` if unknown."""
        return None

    def air_pressure(self, time: ScalarLike) -> Scalar | None:
        """Pressure of the air at the surface [Pa] at `time` [s]; `None` if unknown."""
        return None

    def wind_speed(self, time: ScalarLike, water: WaterSurface | None = None) -> Scalar | None:
        """Wind speed at 10 m [m s-1] at `time` [s], over `water` as for the stress; `None` if unknown."""
        return None

    def over_steps(self, steps: StepsOfRun) -> "AbstractForcing":
        """Average series that are finer than the steps of a run over these steps.

        Forcings within this one are averaged by their own methods.
        """
        is_part = lambda part: part is not self and isinstance(part, AbstractForcing)  # noqa: E731
        parts = jax.tree.map(
            lambda part: part.over_steps(steps) if is_part(part) else part, self, is_leaf=is_part
        )
        return over_steps(parts, steps)

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
        check_kinds(self)
        if is_traced(self.fluxes):
            return
        check_fluxes("forcing", self.fluxes)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        return self.fluxes

    def check_covers(self, start: float, end: float) -> None:
        pass


class TimeSeriesForcing(AbstractForcing):
    """Fluxes over time, interpolated linearly.

    Args:
        time: [s] since the start of the case, increasing, shape `(n_times,)`.
        fluxes: each with `time` as its first axis, `(n_times, *batch)`; `from_values` also accepts numbers.

    Raises:
        ValueError: as in `TimeSeries`, or an impossible flux.
    """

    time: Float[Array, " time"] = array_field(1, is_shared=True, converter=seconds)
    fluxes: SurfaceFluxes = array_field(1)

    @classmethod
    def from_values(
        cls,
        time,
        *,
        start_time: Any = None,  # a text; Any, because callers unpack dictionaries of arrays into `fluxes`
        **fluxes,
    ) -> "TimeSeriesForcing":
        """Series from arrays over `time`; a number is a constant flux.

        Args:
            time: as in `TimeSeries`, or dates with the `start_time` of the case.
            start_time: ISO 8601, for dates.
            fluxes: fields of `SurfaceFluxes`.
        """
        time = jnp.asarray(seconds(time, start_time), dtype=float)
        is_series = lambda values: isinstance(values, (list, tuple))  # noqa: E731

        def series(values):
            values = jnp.asarray(values if is_series(values) else as_float_array(values), dtype=float)
            return jnp.broadcast_to(values, time.shape) if values.ndim == 0 else values

        return cls(time, SurfaceFluxes(**jax.tree.map(series, fluxes, is_leaf=is_series)))

    def __check_init__(self):
        check_kinds(self)
        TimeSeries(self.time, self.fluxes)
        check_fluxes("forcing", self.fluxes)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        return TimeSeries(self.time, self.fluxes).at(time)

    def over_steps(self, steps: StepsOfRun) -> "TimeSeriesForcing":
        series = TimeSeries(self.time, self.fluxes)
        means = series.averaged(series.step_means(steps))
        return self if means is series else TimeSeriesForcing(means.time, means.values)

    def check_covers(self, start: float, end: float) -> None:
        TimeSeries(self.time, self.fluxes).check_covers(start, end)
