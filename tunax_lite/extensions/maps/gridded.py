"""Columns from gridded files: grids, water, forcing and parameters."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..._types import as_float_array, at_path, iterate_parameters
from ...air_sea import BulkForcing, ConstantAlbedo, MeanSun, SolarPosition, Weather
from ...air_sea.air import HumidityMeasure
from ...air_sea.bulk_forcing import HUMIDITY_QUANTITIES, WEATHER
from ...air_sea.daylight import DAY, days_of, diurnal_cycle
from ...column.case import Case
from ...column.corrections import CorrectedForcing
from ...column.forcing import AbstractForcing, SurfaceFluxes, TimeSeriesForcing
from ...column.grid import Grid
from ...column.model import Model
from ...column.state import State
from ...column.terms import DriftVector, Interior, StokesDrift, SurfaceRestoring
from ...column.time_series import TimeSeries
from ...ice import AbstractIce
from ...io.checksums import digest_of_tree
from ...io.errors import Source, name_of
from ...io.registry import resolve
from ...io.sea_water import Numbers, modelled_water
from ...io.series import start_of_case
from ...physics import (
    AbstractAbsorption,
    AbstractEquationOfState,
    Teos10,
    TwoBandAbsorption,
    coriolis_parameter,
)
from .columns import ColumnMap
from .fields import AnyField, between, finest, is_among
from .located import Located, locate
from .settings import MapInput, SurfaceTargets
from .sources import Sources
from .water import ProfilesPerSite, kind_of

ModuleT = TypeVar("ModuleT", bound=eqx.Module)

_FOREVER = 1e12
_MOST_VARIABLE = 10.0
"""The wind is lengthened by no more than this factor to its mean speed [1]."""


class GriddedColumns(ColumnMap):
    """Water points of gridded files.

    Args:
        given: files, points, and settings of the columns.
        levels: grid whose faces are stretched to the depth of each column.
        sources: files or datasets for fields without their own; replace `given.paths`.
        equation_of_state, absorption, ice: for all columns; TEOS-10, clear water and no ice by default.
        bulk: further arguments of `BulkForcing`, if there is weather.
        mean_sun: what is wanted where records of its shortwave radiation are means; `step` is that of the
            run [s].
        find: returns the path for a name.
        name: of the map.

    Raises:
        FileFormatError, FileNotFoundError: a file that cannot be used, with the reason.
        ValueError: no water points, or inconsistent settings.
    """

    def __init__(
        self,
        given: MapInput,
        levels: Grid,
        *,
        sources: Sequence[Source] = (),
        equation_of_state: AbstractEquationOfState | None = None,
        absorption: AbstractAbsorption | None = None,
        ice: AbstractIce | None = None,
        bulk: Mapping[str, Any] | None = None,  # arguments of `BulkForcing`
        mean_sun: MeanSun | None = None,
        step: float = 3600.0,
        find: Callable[[str], Path] = resolve,
        name: str = "map",
    ):
        self.given, self.name, self.duration = given, name, given.duration
        self._fractions = np.asarray(levels.z_face, dtype=float) / float(levels.depth)
        self._water = equation_of_state or Teos10()
        self._light, self._ice, self._bulk = absorption or TwoBandAbsorption(), ice, dict(bulk or {})
        self.epoch = start_of_case(given.start_time)
        opened = Sources(sources or given.paths, find)
        weather = given.weather
        self._humidity: HumidityMeasure = "relative" if weather is None else weather.humidity_measure
        found = locate(given, opened, HUMIDITY_QUANTITIES[self._humidity])
        self._found, self._starts = found, dict[bytes, tuple[Grid, State]]()
        self._together: np.ndarray | None = None
        self._profiles: dict[str, np.ndarray] = {}
        latitude, longitude = found.target.all()
        self.latitude, self.longitude = latitude[found.index], longitude[found.index]
        self.index, self.depth, self.shape = found.index, found.depth, found.target.shape
        self.n_columns, self.counts = found.index.size, found.counts
        self._mean_sun, self._step = mean_sun or MeanSun(), step
        self.notes = (
            ", ".join(f"{n} {what}" for what, n in found.counts.items() if n),
            *self._notes_on_sun(),
        )
        self._kinds = _kinds_of(given, found)
        self.fingerprint, self.inputs = _fingerprint(self, opened), opened.paths
        self.coordinates = _coordinates(found)

    @property
    def longest_interval(self) -> float:
        """Longest time between records of any field [s]."""
        fields = [one for group in self._found.groups.values() for one in group.values()]
        return max((one.times.step for one in fields if one.times is not None), default=0.0)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_starts": {}, "_together": None, "_profiles": {}}

    def read_together(self, columns: np.ndarray | None) -> None:
        self._starts, self._together, self._profiles = {}, columns, {}
        for field in (field for group in self._found.groups.values() for field in group.values()):
            field.read_together(columns)

    def case(self, columns: slice | np.ndarray, start: float, stop: float) -> Case:
        chosen = np.arange(self.n_columns)[columns]
        grid, state = self._start(chosen)
        latitude = jnp.asarray(self.latitude[chosen], dtype=float)
        longitude = jnp.asarray(self.longitude[chosen], dtype=float)
        terms, groups = {}, self._found.groups
        if self.given.restoring is not None:
            terms["restoring"] = self._restoring(self.given.restoring, chosen, start, stop)
        drift = None
        if self.given.stokes_drift is not None:
            time, values = self._series(groups["stokes_drift"], chosen, start, stop)
            series = TimeSeries(time, DriftVector(**values), "Stokes drift")
            drift = StokesDrift(series, self.given.stokes_drift.decay_depth)
        case = Case(
            grid=grid,
            initial_state=state,
            forcing=self._forcing(chosen, latitude, longitude, start, stop),
            coriolis_parameter=coriolis_parameter(latitude),
            equation_of_state=self._water,
            absorption=self._light,
            interior=Interior(stokes_drift=drift),
            terms=terms,
            ice=self._ice,
            duration=self.duration,
            name=self.name,
            start_time=self.epoch.isoformat(),
            latitude=latitude,
            longitude=longitude,
        )
        own = {path: field for path, field in groups["parameters"].items() if path.startswith("case.")}
        return _with_fields(case, {path.removeprefix("case."): f for path, f in own.items()}, chosen, self)

    def model(self, model: Model, columns: slice | np.ndarray) -> Model:
        chosen = np.arange(self.n_columns)[columns]
        own = {p: f for p, f in self._found.groups["parameters"].items() if not p.startswith("case.")}
        closure = _with_fields(model.closure, own, chosen, self)
        return model if closure is model.closure else dataclasses.replace(model, closure=closure)

    def _series(
        self, fields: Mapping[str, AnyField], chosen: np.ndarray, start: float, stop: float
    ) -> tuple[Array, dict[str, np.ndarray]]:
        """Fields on the records of the one with the finest time resolution."""
        times = finest([field.times for field in fields.values()])
        time = np.array([-_FOREVER, _FOREVER]) if times is None else times.at(times.window(start, stop))
        values = {name: field.on(chosen, time) for name, field in fields.items()}
        return jnp.asarray(time, dtype=float), values

    def _start(self, chosen: np.ndarray) -> tuple[Grid, State]:
        """Initial grid and water; cached for the next period of the same columns."""
        key = chosen.tobytes()
        if key in self._starts:
            return self._starts[key]
        if self._together is None:
            self._starts.clear()
        z_face = self._fractions[:, None] * self.depth[chosen]
        grid, z = Grid(z_face), 0.5 * (z_face[1:] + z_face[:-1])
        given = self._profiles_of(chosen, z)
        both = self._modelled(given["temperature"], given["salinity"], z, chosen, self._kinds)
        temperature, salinity = (jnp.asarray(each, dtype=float) for each in both)
        at_rest = jnp.zeros_like(temperature)
        self._starts[key] = grid, State(at_rest, at_rest, temperature, salinity)
        return self._starts[key]

    def _profiles_of(self, chosen: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
        """Temperature and salinity of the files at the start on heights [m]."""
        found, together = self._found.profiles, self._together
        if together is None or not is_among(chosen, together):
            return {name: profile.on(chosen, z, 0.0) for name, profile in found.items()}
        if not self._profiles:
            faces = self._fractions[:, None] * self.depth[together]
            middle = 0.5 * (faces[1:] + faces[:-1])
            self._profiles = {name: profile.on(together, middle, 0.0) for name, profile in found.items()}
        return {name: values[:, chosen - together[0]] for name, values in self._profiles.items()}

    def _modelled(
        self,
        temperature: Numbers,
        salinity: Numbers,
        z: Numbers,
        chosen: np.ndarray,
        kinds: Mapping[str, str],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Conservative temperature and absolute salinity from those in the files."""
        place = {"longitude": self.longitude[chosen] % 360.0, "latitude": self.latitude[chosen]}
        return modelled_water(temperature, salinity, z, **kinds, **place)

    def _restoring(
        self, given: SurfaceTargets, chosen: np.ndarray, start: float, stop: float
    ) -> SurfaceRestoring:
        time, found = self._surface_water("restoring", chosen, start, stop)
        targets = {
            name: TimeSeries(time, jnp.asarray(each, dtype=float), f"restoring of {name}")
            for name, each in found.items()
        }
        velocities = given.temperature_velocity, given.salinity_velocity
        return SurfaceRestoring(targets.get("temperature"), targets.get("salinity"), *velocities)

    def _surface_water(
        self, group: str, chosen: np.ndarray, start: float, stop: float
    ) -> tuple[Array, dict[str, np.ndarray]]:
        """Conservative temperature and absolute salinity at the surface, as far as they are given."""
        time, values = self._series(self._found.groups[group], chosen, start, stop)
        kinds, salinity = self._kinds, values.get("salinity")
        if salinity is None:  # needed to convert temperature
            salinity = np.asarray(self._start(chosen)[1].salinity[-1])
            kinds = kinds | {"salinity_kind": "absolute"}
        temperature = values.get("temperature", np.full_like(salinity, 10.0))
        both = self._modelled(temperature, salinity, np.zeros(chosen.size), chosen, kinds)
        named = zip(("temperature", "salinity"), both, strict=True)
        return time, {name: each for name, each in named if name in values}

    def observed(self, columns: slice | np.ndarray, times: np.ndarray) -> np.ndarray:
        if self.given.observed is None:
            raise ValueError("observed: expected a field to compare columns with, got none; give it.")
        chosen, records = (
            np.arange(self.n_columns)[columns],
            self._found.groups["observed"]["temperature"].times,
        )
        there = np.ones(times.shape, dtype=bool)
        if records is not None and not records.repeats:
            there = (times >= records.seconds[0]) & (times <= records.seconds[-1])
        some = times[there] if there.any() else times  # raises an error
        time, found = self._surface_water("observed", chosen, float(some[0]), float(some[-1]))
        values = between(np.asarray(time), np.asarray(found["temperature"]), times)
        return np.where(there[:, None], values, np.nan)

    def _forcing(
        self, chosen: np.ndarray, latitude: Array, longitude: Array, start: float, stop: float
    ) -> AbstractForcing:
        groups = self._found.groups
        if self.given.weather is not None:
            time, values = self._series(groups["weather"], chosen, start, stop)
            for field in WEATHER:
                if (usual := field.metadata.get("usual")) is not None:
                    values.setdefault(field.name, np.full_like(values["wind_u"], usual))
            speed = values.pop("wind_speed", None)
            if speed is not None:
                of_means = np.hypot(values["wind_u"], values["wind_v"])
                longer = np.clip(speed / np.maximum(of_means, 1e-9), 1.0, _MOST_VARIABLE)
                values |= {name: values[name] * longer for name in ("wind_u", "wind_v")}
            sun = SolarPosition(self.epoch.isoformat(), latitude, longitude)
            forcing: AbstractForcing = BulkForcing(
                weather=TimeSeries(time, Weather(**values), "weather"),
                sun=sun,
                humidity_measure=self._humidity,
                **self._bulk | self._following_day(sun, chosen, start, stop),
            )
        else:
            time, values = self._series(groups["fluxes"], chosen, start, stop)
            forcing = TimeSeriesForcing(time, SurfaceFluxes(**values))
        if self.given.flux_corrections is None:
            return forcing
        time, values = self._series(groups["flux_corrections"], chosen, start, stop)
        biases = {f"{name}_bias": as_float_array(each) for name, each in values.items()}
        return CorrectedForcing(forcing, time, **biases)

    def _time_between_suns(self) -> float | None:
        """Time between records of shortwave radiation [s]; `None` where there are none."""
        field = self._found.groups["weather"].get("shortwave") if self.given.weather is not None else None
        if field is None or self._bulk.get("shortwave") is not None:
            return None
        return np.inf if field.times is None else field.times.step

    def _notes_on_sun(self) -> list[str]:
        interval = self._time_between_suns()
        if interval is None:
            return []
        albedo = self._bulk.get("albedo", ConstantAlbedo(0.0))
        return [f"weather: {note}" for note in self._mean_sun.notes(albedo, interval)]

    def _following_day(
        self, sun: SolarPosition, chosen: np.ndarray, start: float, stop: float
    ) -> dict[str, Any]:  # arguments of `BulkForcing`
        """Albedo, and diurnal cycle, that suit the time between records of shortwave radiation."""
        interval, how = self._time_between_suns(), self._mean_sun
        if interval is None:
            return {}
        found: dict[str, Any] = {}  # the same
        if "albedo" in self._bulk:
            found["albedo"] = how.albedo(self._bulk["albedo"], sun.latitude, interval)
        if how.spreads(interval):
            field, days = self._found.groups["weather"]["shortwave"], days_of(sun, start, stop)
            time = days
            if field.times is not None:
                time = field.times.at(field.times.around(np.array([days[0], days[-1] + DAY])))
            found["diurnal_cycle"] = diurnal_cycle(days, time, field.on(chosen, time), sun, self._step)
        return found


def _with_fields(
    module: ModuleT, fields: Mapping[str, AnyField], chosen: np.ndarray, columns: ColumnMap
) -> ModuleT:
    """A module with column-dependent parameters."""
    if not fields:
        return module
    known = {info.path: info for info in iterate_parameters(module)}
    values = []
    for path, field in fields.items():
        if path not in known:
            expected = f"a parameter among {', '.join(known)}"
            raise ValueError(f"parameters.{path}: expected {expected}, got another one; correct its name.")
        low, high = known[path].valid_range
        own = field.on(chosen, np.zeros(1))[0]
        bad = np.flatnonzero(~((own >= low) & (own <= high)))
        if bad.size:
            at = chosen[bad[0]]
            where = f"{columns.latitude[at]:g} N {columns.longitude[at]:g} E"
            raise ValueError(
                f"parameters.{path}: expected values from {low:g} to {high:g} [{known[path].unit}], got "
                f"{own[bad[0]]:g} at {where}; check the file."
            )
        values.append(jnp.asarray(own, dtype=float))
    at_paths = lambda tree: [at_path(tree, path) for path in fields]  # noqa: E731
    return eqx.tree_at(at_paths, module, values, is_leaf=lambda leaf: leaf is None)


def _kinds_of(given: MapInput, found: Located) -> dict[str, str]:
    """Kinds of temperature and salinity: as given, or from the CF standard names in the files."""
    kinds = {}
    for name in ("temperature", "salinity"):
        profiles = found.profiles[name]
        first = profiles.parts[0] if isinstance(profiles, ProfilesPerSite) else profiles
        kinds[f"{name}_kind"] = kind_of(first.reader.placing.header(), f"{name}_kind", given)
    return kinds


def _coordinates(found: Located) -> dict[str, tuple]:
    """Coordinates of the points."""
    attributes = {
        "lat": {"standard_name": "latitude", "units": "degrees_north"},
        "lon": {"standard_name": "longitude", "units": "degrees_east"},
    }
    target = found.target
    if target.is_grid:
        axes = {"lat": target.latitude, "lon": target.longitude}
        return {name: ((name,), axes[name], attributes[name]) for name in axes}
    values, dims = {"lat": target.latitude, "lon": target.longitude}, ("point",)
    own = {name: (dims, values[name], of) for name, of in attributes.items()}
    if found.names:
        own["site"] = (dims, np.array(found.names, dtype=object), {"long_name": "name of the site"})
    return own


def _fingerprint(columns: GriddedColumns, sources: Sources) -> str:
    """Of settings, and of names, sizes and variables of the files, without folders."""
    parts = columns._water, columns._light, columns._ice, columns._bulk
    arrays = columns._fractions, columns.index, columns.depth
    files = []
    for one in sources.opened.values():
        names = sorted(map(str, one.variables))  # a Zarr store lists them in any order
        files.append((Path(name_of(one)).name, sorted(map(str, one.sizes.items())), names))
    return digest_of_tree((parts, arrays), columns.given, columns._mean_sun, parts, files)
