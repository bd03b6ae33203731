"""Inputs of a case: its series, first profile and observations, as plain arrays."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np

from .._types import leading_axes
from ..air_sea import BulkForcing
from ..air_sea.bulk_forcing import HUMIDITY_QUANTITIES
from ..column.case import Case
from ..column.corrections import CorrectedForcing
from ..column.forcing import AbstractForcing, ConstantForcing, TimeSeriesForcing
from ..column.observations import Observations
from ..column.time_series import TimeSeries, named_leaves
from ..quantities import QUANTITIES, quantity_of

DAY = 86400.0
_ALWAYS = 1e11
"""Time [s] beyond which the last record marks a constant."""
_FEW = 6
"""Number of profiles below which values are compared along profiles rather than over time."""


@dataclass(frozen=True)
class Samples:
    """An input: values of a quantity over time, at heights if it is a profile.

    Args:
        quantity: name in the table of quantities, or of a derived quantity.
        where: name of the input, for messages.
        time: times [s] since the start, `(n_times,)`; a single one for constants and initial profiles.
        values: values, `(n_times,)` or `(n_times, n_levels)`; NaN where missing.
        z: heights of profiles [m], shaped like `values` or `(n_levels,)`, bottom first; `None` for series.
        unit: unit of the values; empty if unknown.
    """

    quantity: str
    where: str
    time: np.ndarray
    values: np.ndarray
    z: np.ndarray | None = None
    unit: str = ""

    @property
    def name(self) -> str:
        """Name without the group `weather` or `fluxes`; for humidity that of its quantity."""
        kind, _, name = self.where.rpartition(".")
        return self.quantity if name == "humidity" else name if kind in ("weather", "fluxes") else self.where

    @functools.cached_property
    def known(self) -> np.ndarray:
        """All finite values."""
        return self.values[np.isfinite(self.values)]

    @property
    def days(self) -> float:
        """Length of the record [days]."""
        return float(np.ptp(self.time)) / DAY if self.time.size > 1 else 0.0

    @functools.cached_property
    def interval(self) -> float:
        """Median time between records with values [s]; infinite for fewer than two."""
        time = self.time[np.isfinite(self.values.reshape(self.time.size, -1)).any(axis=1)]
        return float(np.median(np.diff(time))) if time.size > 1 else np.inf

    @property
    def varies(self) -> bool:
        return self.known.size > 1 and bool(np.ptp(self.known) > 0.0)

    @property
    def mean(self) -> float:
        return float(self.known.mean()) if self.known.size else np.nan

    def columns(self) -> Iterator[np.ndarray]:
        """Known values over time, at each height; of each profile if its heights move or times are few."""
        by_profile = self.z is not None and (self.z.ndim == 2 or self.values.shape[0] < _FEW)
        for column in self.values if by_profile else self.values.reshape(len(self.values), -1).T:
            yield column[np.isfinite(column)]


@dataclass(frozen=True)
class Evidence:
    """Input of one column, by name.

    Args:
        weather: series by name in `Weather`, and `wind_speed`; `humidity` under the name of its quantity.
        fluxes: prescribed fluxes by name in `SurfaceFluxes`, and the magnitude `stress`.
        initial: profiles at the start.
        observed: profiles and series to compare with.
        latitude, longitude: position [degrees]; `None` if unknown.
        start: ISO 8601 time; `None` for a case without a date.
        coriolis_parameter: Coriolis parameter [s-1].
        is_lake: true if the grid has areas of faces.
        net_longwave: true if the longwave radiation of the weather is net.
    """

    weather: dict[str, Samples] = field(default_factory=dict)
    fluxes: dict[str, Samples] = field(default_factory=dict)
    initial: dict[str, Samples] = field(default_factory=dict)
    observed: dict[str, Samples] = field(default_factory=dict)
    latitude: float | None = None
    longitude: float | None = None
    start: str | None = None
    coriolis_parameter: float = 0.0
    is_lake: bool = False
    net_longwave: bool = False

    def everything(self) -> Iterator[Samples]:
        """All series and profiles."""
        for group in (self.weather, self.fluxes, self.initial, self.observed):
            yield from group.values()

    @property
    def is_fresh(self) -> bool:
        """True for a lake, or water with a mean salinity below 2 g kg-1."""
        salt = [group["salinity"].mean for group in (self.initial, self.observed) if "salinity" in group]
        return self.is_lake or (bool(salt) and bool(np.nanmax(salt) < 2.0))

    def surface_temperature(self) -> float | None:
        """Uppermost temperature of the initial profile, or else of the first observed one [degC]."""
        for group in (self.initial, self.observed):
            values = group["temperature"].values[0] if "temperature" in group else np.zeros(0)
            if np.isfinite(values).any():
                return float(values[np.isfinite(values)][-1])
        return None


def evidence_of(case: Case, observations: Observations | None = None) -> Evidence:
    """Return the evidence of a single column."""
    groups: dict[str, dict[str, Samples]] = {"weather": {}, "fluxes": {}}
    for samples in _forcing(case.forcing):
        if samples.name != "surface_drag" and samples.unit:
            groups[samples.where.partition(".")[0]][samples.name] = samples
    for kind, vector, size, u, v in (
        ("weather", "wind", "wind_speed", "wind_u", "wind_v"),
        ("fluxes", "stress", "stress", "stress_u", "stress_v"),
    ):
        both = [groups[kind][name] for name in (u, v) if name in groups[kind]]
        if both:
            speed = np.hypot(both[0].values, both[-1].values * (len(both) > 1))
            groups[kind][size] = replace(both[0], quantity=size, where=f"{kind}.{vector}", values=speed)
    z, profiles = np.asarray(case.grid.z_center), dict[str, Samples]()
    for name in ("temperature", "salinity", "u", "v"):
        values = np.asarray(getattr(case.initial_state, name))[None]
        profiles[name] = Samples(name, f"initial {name}", np.zeros(1), values, z, _unit(name))
    return Evidence(
        weather=groups["weather"],
        fluxes=groups["fluxes"],
        initial=profiles,
        observed={} if observations is None else observed_of(observations),
        latitude=None if case.latitude is None else float(case.latitude),
        longitude=None if case.longitude is None else float(case.longitude),
        start=case.start_time,
        coriolis_parameter=float(case.coriolis_parameter),
        is_lake=case.grid.area is not None,
        net_longwave=getattr(uncorrected(case.forcing), "longwave", "") is None,
    )


def observed_of(observations: Observations) -> dict[str, Samples]:
    """Return profiles and series by name, at the times that have values."""
    observed = {}
    time, z = (np.asarray(each, dtype=float) for each in (observations.time, observations.z))
    for name, values in (observations.profiles | observations.series).items():
        there = observations.has_values(name)
        heights = None if name in observations.series else z[there] if observations.moves else z
        values = np.asarray(values, dtype=float)[there]
        observed[name] = Samples(name, f"observed {name}", time[there], values, heights, _unit(name))
    return observed


def column_of(case: Case, column: int) -> Case:
    """Return a column of a batch, the last if `column` is too large; a single column is unchanged."""

    def single(leaf, n_axes: int):
        has_columns = 0 <= n_axes < jnp.ndim(leaf)
        return leaf[..., min(column, leaf.shape[-1] - 1)] if has_columns else leaf

    while case.batch_shape:
        case = jax.tree.map(single, case, leading_axes(case))
    return case


def uncorrected(forcing: AbstractForcing) -> AbstractForcing:
    """Return a forcing without calibrated corrections."""
    while isinstance(forcing, CorrectedForcing):
        forcing = forcing.forcing
    return forcing


def _forcing(forcing: AbstractForcing) -> Iterator[Samples]:
    """Yield the weather or the prescribed fluxes, without corrections; nothing for other forcings."""
    names, forcing = {}, uncorrected(forcing)
    if isinstance(forcing, BulkForcing):
        kind, series = "weather", forcing.weather
        names = {"humidity": HUMIDITY_QUANTITIES[forcing.humidity_measure]}
    elif isinstance(forcing, TimeSeriesForcing):
        kind, series = "fluxes", TimeSeries(forcing.time, forcing.fluxes)
    elif isinstance(forcing, ConstantForcing):
        kind, series = "fluxes", TimeSeries.constant(forcing.fluxes)
    else:
        return
    for name, time, values in _leaves(series):
        quantity = names.get(name, name)
        if kind == "fluxes" and f"surface_{name}" in QUANTITIES:
            quantity = f"surface_{name}"
        yield Samples(quantity, f"{kind}.{name}", time, values, unit=_unit(quantity))


def _leaves(series: TimeSeries) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, times and values of each leaf of a series; a single time if it is constant."""
    time = np.asarray(series.time, dtype=float)
    for name, leaf in named_leaves(series.values):
        values = np.asarray(leaf)
        yield (name, np.zeros(1), values[:1]) if time[-1] > _ALWAYS else (name, time, values)


def _unit(name: str) -> str:
    """Unit of a quantity, empty if unknown."""
    try:
        return quantity_of(name).unit
    except KeyError:
        return ""
