"""What goes into a case: its series and first profile, and budgets of what profiles and fluxes say."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..air_sea import BulkForcing, bulk_forcing
from ..column.case import Case
from ..column.forcing import ConstantForcing, TimeSeriesForcing, WaterSurface
from ..column.observations import Observations
from ..column.state import State
from ..column.terms.base import or_zero
from ..column.terms.surface import kinematic_fluxes
from ..column.time_series import TimeSeries, named_leaves
from ..quantities import QUANTITIES, quantity_of
from .evidence import ALWAYS
from .finding import Gap, Remark, late_records

_MOST_TIMES = 4000
"""At which fluxes that depend on the water are computed for a budget."""


@dataclass(frozen=True)
class Input:
    """An input over time, or over depth.

    Args:
        name: of the input, behind that of its part of the case.
        unit: of the values; empty if unknown.
        time: times [s] since the start; `None` for the first profile.
        values: first axis is time, or height for the first profile; NaN where missing.
        z: heights of values over depth [m], if any; those that vary in time are padded with NaN.
        filled: gaps that its reader bridged or filled.
    """

    name: str
    unit: str
    time: np.ndarray | None
    values: np.ndarray
    z: np.ndarray | None = None
    filled: tuple[Gap, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at all times."""
        return self.time is not None and self.time.size == 0

    def known(self) -> np.ndarray:
        """All values that are not missing."""
        return self.values[np.isfinite(self.values)]

    @property
    def n_values(self) -> int:
        """Places of values, known and missing."""
        if self.z is not None and self.z.shape == self.values.shape:
            return int(np.isfinite(self.z).sum())
        return self.values.size

    @property
    def n_missing(self) -> int:
        """Missing values."""
        return self.n_values - self.known().size

    def _times(self) -> np.ndarray:
        """Times [s] with values."""
        if self.time is None or self.time.size == 0:
            return np.zeros(0)
        rows = self.values.reshape(self.time.size, -1)
        return self.time[np.isfinite(rows).any(axis=1)]

    def interval(self) -> float | None:
        """Usual time between two values [s]."""
        time = self._times()
        return float(np.median(np.diff(time))) if time.size > 1 else None

    def gaps(self) -> tuple[int, float]:
        """Number of gaps in time, filled by the reader or without values, and the longest [s]."""
        if self.filled:
            return len(self.filled), max(one.length for one in self.filled)
        time = self._times()
        found = np.diff(time)[late_records(time)]
        return int(found.size), float(found.max(initial=0.0))


class Budget(NamedTuple):
    """What the profiles of a case gain from their first to their last complete record, and the fluxes add.

    Args:
        quantity: heat [J m-2] or salt [kg m-2].
        gained: by the profiles, between the surface and `depth` [m].
        added: by the fluxes through surface and bottom.
        start, stop: times of the two records [s].
    """

    quantity: str
    unit: str
    gained: float
    added: float
    depth: float
    start: float
    stop: float


def inputs_of(
    case: Case, observations: Observations | None = None, gaps: Iterable[Remark] = ()
) -> list[Input]:
    """Forcing, terms below the surface, first profile and observations of a case, during the case.

    Gaps are those that readers left of it.
    """
    filled = [one for one in gaps if isinstance(one, Gap) and one.case == case.name.partition("@")[0]]
    filled = [one for one in filled if -one.length < one.start < case.duration]
    found = [_during(one, case.duration) for one in (*_forcing(case), *_terms(case))]
    found = [replace(one, filled=tuple(gap for gap in filled if gap.name == one.name)) for one in found]
    z, state = np.asarray(case.grid.z_center), case.initial_state
    first = {name: getattr(state, name) for name in ("temperature", "salinity", "u", "v")} | state.tracers
    units = {name: unit for name, (unit, _) in case.tracer_units.items()}
    units |= {name: one.unit for name, one in QUANTITIES.items()}
    for name, values in first.items():
        unit = units.get(name, "")
        found.append(Input(f"initial {name}", unit, None, np.asarray(values), z))
    if observations is not None:
        time, heights = np.asarray(observations.time), np.asarray(observations.z)
        for name, values in (observations.profiles | observations.series).items():
            unit, there = units.get(name, ""), observations.has_values(name)
            z = heights[there] if observations.moves else heights
            own = z if name in observations.profiles else None
            found.append(Input(f"observed {name}", unit, time[there], np.asarray(values)[there], own))
    return found


def _forcing(case: Case) -> Iterator[Input]:
    forcing, names = case.forcing, {}
    if isinstance(forcing, BulkForcing):
        series, label = forcing.weather, ""
        names = {"humidity": bulk_forcing.HUMIDITY_QUANTITIES[forcing.humidity_measure]}
    elif isinstance(forcing, TimeSeriesForcing):
        series, label = TimeSeries(forcing.time, forcing.fluxes), ""
    elif isinstance(forcing, ConstantForcing):
        for name, values in named_leaves(forcing.fluxes):
            yield Input(_plain(name), _unit(_plain(name)), np.zeros(0), np.asarray(values)[None])
        return
    else:
        return
    yield from _of_series(series, label, names)


def _terms(case: Case) -> Iterator[Input]:
    is_series = lambda part: isinstance(part, TimeSeries)  # noqa: E731
    parts = (case.interior, case.terms, case.absorption)
    for each in filter(is_series, jax.tree.leaves(parts, is_leaf=is_series)):
        yield from _of_series(each, each.name.replace("observed ", "relaxation of "), {})


def _of_series(series: TimeSeries, label: str, names: dict[str, str]) -> Iterator[Input]:
    """Each leaf of a series."""
    time = np.asarray(series.time)
    for path, values in named_leaves(series.values):
        name, values = _plain(path), np.asarray(values)
        name = names.get(name, name)
        whole = " ".join(part for part in (label, "" if name == "the values" else name) if part)
        unit = _unit(name) or _unit(label.replace(" ", "_").removeprefix("relaxation_of_"))
        if time[-1] > ALWAYS:
            yield Input(whole, unit, np.zeros(0), values[:1])
        else:
            yield Input(whole, unit, time, values)


def _plain(path: str) -> str:
    """The last name of a path of a leaf."""
    return path.split(".")[-1].split("'")[-2] if path.endswith("']") else path.split(".")[-1]


def _unit(name: str) -> str:
    try:
        return quantity_of(name).unit
    except KeyError:
        return {"x": "", "waves": "m"}.get(name, "")


def _during(given: Input, duration: float) -> Input:
    """The records that a run needs, with one before and one after."""
    if given.time is None or given.time.size < 2:
        return given
    first = max(int(np.searchsorted(given.time, 0.0, side="right")) - 1, 0)
    last = int(np.searchsorted(given.time, duration, side="left")) + 1
    part = slice(first, max(last, first + 2))
    return replace(given, time=given.time[part], values=given.values[part])


def budgets_of(case: Case, observations: Observations | None) -> list[Budget]:
    """Budgets of heat and salt over the observed profiles, where profiles and fluxes exist."""
    if observations is None or observations.moves or case.batch_shape:
        return []
    found, eos = [], case.equation_of_state
    density = float(eos.reference_density)
    names = {
        "temperature": ("heat", "J m-2", density * float(eos.heat_capacity)),
        "salinity": ("salt", "kg m-2", density * 1e-3),
    }
    for name, (quantity, unit, per_unit) in names.items():
        if name not in observations.profiles or name in case.held:
            continue
        time, content, depth = _contents(case, observations, name)
        if time.size < 2:
            continue
        added = _added(case, observations, name, time, per_unit)
        if added is not None:
            gained = per_unit * float(content[-1] - content[0])
            found.append(Budget(quantity, unit, gained, added, depth, float(time[0]), float(time[-1])))
    return found


def _contents(case: Case, observations: Observations, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Times of complete profiles, their integrals over depth, and the depth down to which they reach [m]."""
    values, z = np.asarray(observations.profiles[name], dtype=float), np.asarray(observations.z)
    known = np.isfinite(values)
    levels = known.any(axis=0)
    if levels.sum() < 3:
        return np.zeros(0), np.zeros(0), 0.0
    complete = known[:, levels].all(axis=1)
    if complete.sum() < 2:  # the levels that are most often there
        levels &= known.mean(axis=0) >= 0.9 * known.mean(axis=0).max()
        complete = known[:, levels].all(axis=1)
    if levels.sum() < 3:
        return np.zeros(0), np.zeros(0), 0.0
    heights = z[levels]
    bottom = max(heights[0] - 0.5 * (heights[1] - heights[0]), -float(case.grid.depth))
    faces = np.concatenate([[bottom], 0.5 * (heights[1:] + heights[:-1]), [0.0]])
    time = np.asarray(observations.time)[complete]
    return time, values[complete][:, levels] @ np.diff(faces), -float(bottom)


def _added(
    case: Case, observations: Observations, name: str, time: np.ndarray, per_unit: float
) -> float | None:
    """Heat [J m-2] or salt [kg m-2] that surface and bottom add between the first and the last time.

    `per_unit` is the content of a cubic metre per unit of the variable [J m-3 K-1 or kg m-3 per g kg-1].
    """
    own = getattr(case.forcing, "weather", case.forcing)
    instants = np.asarray(getattr(own, "time", time))
    inside = instants[(instants > time[0]) & (instants < time[-1])]
    inside = inside[:: max(1, inside.size // _MOST_TIMES)]
    instants = np.unique(np.concatenate([[time[0], time[-1]], inside]))

    def surface(variable: str) -> jax.Array:
        values = observations.profiles.get(variable)
        default = getattr(case.initial_state, variable)[-1]
        if values is None:
            return jnp.full(instants.shape, default)
        top = np.asarray(values)[:, np.isfinite(np.asarray(values)).any(axis=0)][:, -1]
        known = np.isfinite(top)
        return jnp.asarray(np.interp(instants, np.asarray(observations.time)[known], top[known]))

    rest = jnp.zeros(instants.shape)
    water = WaterSurface(rest, rest, surface("temperature"), surface("salinity"))
    fluxes = jax.vmap(lambda t, w: case.forcing.at(t, w))(jnp.asarray(instants), water)
    uppermost = State(rest[None], rest[None], water.temperature[None], water.salinity[None])
    entering = per_unit * kinematic_fluxes(uppermost, case.equation_of_state, fluxes)[name]
    if name == "temperature":
        entering = entering + or_zero(fluxes.shortwave_flux, uppermost)
    if not np.any(entering):
        return None
    total = np.trapezoid(np.broadcast_to(np.asarray(entering), instants.shape), instants)
    bottom = case.interior.bottom_heat
    if name == "temperature" and bottom is not None:
        total += float(bottom.heat_flux) * (instants[-1] - instants[0])
    return float(total)
