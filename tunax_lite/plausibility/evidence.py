"""What rules look at: the series and profiles of a case and its observations, as plain arrays."""

import datetime
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from .._types import leading_axes
from ..air_sea import BulkForcing
from ..air_sea.bulk_forcing import HUMIDITY_QUANTITIES
from ..column.case import Case
from ..column.corrections import CorrectedForcing
from ..column.forcing import AbstractForcing, ConstantForcing, TimeSeriesForcing
from ..column.observations import Observations
from ..quantities import quantity_of
from .finding import Finding

DAY = 86400.0
ALWAYS = 1e11
"""Beyond which times [s] stand for a number that holds always."""
_MOST = 200_000
"""Records of a series that are looked at; of longer ones every n-th."""
_MOST_PROFILES, _LEAST_RECORDS = 400, 6


@dataclass(frozen=True)
class Samples:
    """Values of a quantity over time, at heights if it is a profile.

    Args:
        quantity: name in the table of quantities, or of a derived quantity.
        where: the input, for messages.
        time: [s] since the start, `(n_times,)`; one value if it is constant.
        values: `(n_times,)`, or `(n_times, n_levels)`, NaN where missing.
        z: heights [m] of a profile, like `values` or `(n_levels,)`, bottom first.
        instruments: heights [m] of instruments, of one column of `values` each.
        epoch: date of the time 0, where it is known.
    """

    quantity: str
    where: str
    time: np.ndarray
    values: np.ndarray
    z: np.ndarray | None = None
    instruments: np.ndarray | None = None
    epoch: datetime.datetime | None = None

    @functools.cached_property
    def known(self) -> np.ndarray:
        """All values that are there."""
        return self.values[np.isfinite(self.values)]

    @property
    def days(self) -> float:
        """Length of the record [days]."""
        return float(np.ptp(self.time)) / DAY if self.time.size > 1 else 0.0

    @functools.cached_property
    def interval(self) -> float:
        """Time between records [s], the median."""
        return float(np.median(np.diff(self.time))) if self.time.size > 1 else np.inf

    @property
    def varies(self) -> bool:
        return self.known.size > 1 and bool(np.ptp(self.known) > 0.0)

    @property
    def mean(self) -> float:
        return float(self.known.mean()) if self.known.size else np.nan

    @property
    def by_profile(self) -> bool:
        """Whether values are compared along profiles: of moving heights, or of few times."""
        return self.z is not None and (self.z.ndim == 2 or self.values.shape[0] < _LEAST_RECORDS)

    def columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Times and values of each height, without what is missing; or heights and values of profiles."""
        if self.z is not None and self.by_profile:
            z = np.broadcast_to(self.z, self.values.shape)
            for heights, one in zip(z[:_MOST_PROFILES], self.values[:_MOST_PROFILES], strict=True):
                there = np.isfinite(one)
                yield heights[there], one[there]
            return
        for one in self.values.reshape(len(self.values), -1).T:
            there = np.isfinite(one)
            yield self.time[there], one[there]

    def moment(self, seconds: float) -> str:
        """Text of a time: a date if the epoch is known, otherwise seconds."""
        if self.epoch is None:
            return f"{seconds:.0f} s"
        return f"{self.epoch + datetime.timedelta(seconds=seconds):%Y-%m-%d %H:%M}"

    def finding(self, rule: str, said: str, cause: str, key: str) -> Finding:
        """What a rule found unlikely about them; arguments as in `Finding`."""
        return Finding(rule, self.quantity, self.where, said, cause, key)


@dataclass(frozen=True)
class Evidence:
    """One column: what was given, by name.

    Args:
        weather: series by name in `Weather`, and `wind_speed`; `humidity` under the name of its quantity.
        fluxes: prescribed fluxes by name in `SurfaceFluxes`.
        initial: profiles at the start.
        observed: profiles and series to compare with.
        latitude, longitude: [degrees]; `None` where they are not known.
        start: of the case; `None` where it has no date.
        coriolis_parameter: [s-1].
        z_face: of the grid [m].
        area: of the faces of a lake [m2]; `None` for a sea.
        heat_capacity, reference_density: of the water.
        net_longwave: whether the longwave radiation of the weather is net.
        source: of the observations, `LES` if they are a simulation.
        bottom_heat: through the bottom [W m-2].
        drift: transport of the Stokes drift, u + iv times depth [m2 s-1], at times [s]; `None` without waves.
        has_drift_in_velocity: whether observed velocities include it.
    """

    weather: dict[str, Samples] = field(default_factory=dict)
    fluxes: dict[str, Samples] = field(default_factory=dict)
    initial: dict[str, Samples] = field(default_factory=dict)
    observed: dict[str, Samples] = field(default_factory=dict)
    latitude: float | None = None
    longitude: float | None = None
    start: datetime.datetime | None = None
    coriolis_parameter: float = 0.0
    z_face: np.ndarray = field(default_factory=lambda: np.zeros(2))
    area: np.ndarray | None = None
    heat_capacity: float = 3991.0
    reference_density: float = 1025.0
    net_longwave: bool = False
    source: str = "observations"
    bottom_heat: float = 0.0
    drift: Callable[[np.ndarray], np.ndarray] | None = None
    has_drift_in_velocity: bool = False

    @functools.cached_property
    def is_simulation(self) -> bool:
        """Whether the profiles are those of a model: complete from the bottom to the surface at all times."""
        if self.source == "LES":
            return True
        given = [self.observed.get(name) for name in ("temperature", "u", "v")]
        return all(one is not None and self._is_complete(one) for one in given)

    def _is_complete(self, one: Samples) -> bool:
        if one.z is None or one.z.ndim == 2 or one.z.size < 8 or one.values.shape[0] < 4:
            return False
        spacing = 1.5 * float(np.max(np.diff(one.z)))
        reaches = one.z[-1] > -spacing and one.z[0] < self.z_face[0] + spacing
        return bool(reaches and np.isfinite(one.values).all())

    def everything(self) -> Iterator[Samples]:
        """All series and profiles."""
        for group in (self.weather, self.fluxes, self.initial, self.observed):
            yield from group.values()

    @property
    def is_fresh(self) -> bool:
        """Whether the water is that of a lake or river."""
        salt = [one.mean for one in self._water("salinity")]
        return self.area is not None or (bool(salt) and bool(np.nanmax(salt) < 2.0))

    def _water(self, name: str) -> list[Samples]:
        return [group[name] for group in (self.initial, self.observed) if name in group]

    def surface_temperature(self) -> float | None:
        """Temperature of the water at the surface at the start [degC]."""
        for one in self._water("temperature"):
            there = one.values[0][np.isfinite(one.values[0])]
            if there.size:
                return float(there[-1])
        return None


def evidence_of(case: Case, observations: Observations | None = None, column: int | None = None) -> Evidence:
    """The evidence of a case; of a batch that of one column, the first by default."""
    while case.batch_shape:
        case = _column_of(case, column or 0)
    z_face = _array(case.grid.z_face)
    z = 0.5 * (z_face[1:] + z_face[:-1])
    initial = {
        name: Samples(
            name, f"initial {name}", np.zeros(1), _array(getattr(case.initial_state, name))[None], z
        )
        for name in ("temperature", "salinity", "u", "v")
    }
    weather, fluxes, net = _forcing(case.forcing)
    bottom = case.interior.bottom_heat
    return Evidence(
        weather=weather,
        fluxes=fluxes,
        initial=initial,
        observed={} if observations is None else observed_of(observations),
        **_placed(case),
        coriolis_parameter=float(case.coriolis_parameter),
        z_face=z_face,
        area=None if case.grid.area is None else _array(case.grid.area),
        heat_capacity=float(case.equation_of_state.heat_capacity),
        reference_density=float(case.equation_of_state.reference_density),
        net_longwave=net,
        source="" if observations is None else observations.source,
        bottom_heat=0.0 if bottom is None else float(bottom.heat_flux),
        drift=_drift(case),
        has_drift_in_velocity=case.interior.velocities == "lagrangian",
    )


def _column_of(case: Case, column: int) -> Case:
    """One column along the last axis of a batch."""

    def single(leaf, n_axes: int):
        has_columns = 0 <= n_axes < jnp.ndim(leaf)
        return leaf[..., min(column, leaf.shape[-1] - 1)] if has_columns else leaf

    return jax.tree.map(single, case, leading_axes(case))


def _array(values: ArrayLike) -> np.ndarray:
    return np.asarray(values, dtype=float)


def _drift(case: Case) -> Callable[[np.ndarray], np.ndarray] | None:
    """Transport of the Stokes drift of a case, u + iv times depth [m2 s-1]."""
    drift = case.interior.stokes_drift
    if drift is None:
        return None

    def transport(time: np.ndarray) -> np.ndarray:
        u, v = jax.vmap(lambda t: drift.at(case.grid, t))(jnp.asarray(time))
        return (np.asarray(u) + 1j * np.asarray(v)) @ np.diff(np.asarray(case.grid.z_face))

    return transport


def _placed(case: Case) -> dict[str, Any]:  # fields of `Evidence`
    """Latitude, longitude and start of a case, or of the sun of its weather."""
    known = {"latitude": case.latitude, "longitude": case.longitude}
    date, sun = case.start_time, case.forcing.sun if isinstance(case.forcing, BulkForcing) else None
    if sun is not None and known["latitude"] is None:
        known = {"latitude": sun.latitude, "longitude": sun.longitude}
        date = date or sun.start_time
    start = None if date is None else datetime.datetime.fromisoformat(date)
    if start is not None and start.tzinfo is not None:
        start = start.astimezone(datetime.UTC).replace(tzinfo=None)
    place = {name: None if value is None else float(value) for name, value in known.items()}
    return {**place, "start": start}


def _series(where: str, quantity: str, time: ArrayLike, values: ArrayLike) -> Samples:
    time, found = _array(time), _array(values)
    if abs(time[0]) > ALWAYS:
        time, found = np.zeros(1), found[:1]
    step = -(-time.size // _MOST)
    return Samples(quantity, where, time[::step], found[::step])


def _forcing(forcing: AbstractForcing) -> tuple[dict[str, Samples], dict[str, Samples], bool]:
    """Weather, fluxes, and whether the longwave radiation is net."""
    while isinstance(forcing, CorrectedForcing):
        forcing = forcing.forcing
    weather: dict[str, Samples] = {}
    if isinstance(forcing, BulkForcing):
        time, given = forcing.weather.time, forcing.weather.values
        for name, values in vars(given).items():
            if values is None:
                continue
            quantity = HUMIDITY_QUANTITIES[forcing.humidity_measure] if name == "humidity" else name
            weather[quantity] = _series(f"weather.{name}", quantity, time, values)
        speed = np.hypot(weather["wind_u"].values, weather["wind_v"].values)
        weather["wind_speed"] = Samples("wind_speed", "weather.wind", weather["wind_u"].time, speed)
        return weather, {}, forcing.longwave is None
    fluxes: dict[str, Samples] = {}
    if isinstance(forcing, ConstantForcing | TimeSeriesForcing):
        time = np.zeros(1) if isinstance(forcing, ConstantForcing) else forcing.time
        for name, values in vars(forcing.fluxes).items():
            if values is not None and name not in ("tracer_fluxes", "surface_drag", "rain"):
                fluxes[name] = _series(f"fluxes.{name}", quantity_of(name).name, time, np.atleast_1d(values))
        both = [fluxes[name] for name in ("stress_u", "stress_v") if name in fluxes]
        if both:
            one, other = both[0], both[-1]
            fluxes["stress"] = Samples(
                "stress", "fluxes.stress", one.time, np.hypot(one.values, other.values * (len(both) > 1))
            )
    return weather, fluxes, False


def observed_of(observations: Observations) -> dict[str, Samples]:
    """Samples of profiles and series by name."""
    time, z = _array(observations.time), _array(observations.z)
    found = {}
    for name, values in observations.profiles.items():
        there = observations.has_values(name)
        values = _array(values)[there]
        step = max(1, -(-values.size // (20 * _MOST)))
        heights = z[there][::step] if z.ndim == 2 else z
        found[name] = Samples(name, f"observed {name}", time[there][::step], values[::step], heights)
    for name, values in observations.series.items():
        there = observations.has_values(name)
        found[name] = Samples(name, f"observed {name}", time[there], _array(values)[there])
    return found
