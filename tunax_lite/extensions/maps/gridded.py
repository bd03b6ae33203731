"""Columns from gridded files: grids, initial water and forcing."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..._types import as_float_array
from ...air_sea import BulkForcing, ConstantAlbedo, SolarPosition, Weather
from ...air_sea.air import HumidityMeasure
from ...air_sea.bulk_forcing import WEATHER
from ...air_sea.daylight import DAY, days_of, diurnal_cycle
from ...column.case import Case
from ...column.corrections import CorrectedForcing
from ...column.forcing import AbstractForcing, SurfaceFluxes, TimeSeriesForcing
from ...column.grid import Grid
from ...column.state import State
from ...column.terms import DriftVector, Interior, StokesDrift, SurfaceRestoring
from ...column.time_series import TimeSeries
from ...config.air_sea import bulk_arguments
from ...config.closures import term_of
from ...config.formats import notes_on_terms
from ...config.profiles import with_memory
from ...io.checksums import digest_of_tree
from ...io.errors import Source
from ...io.named_files import resolve
from ...io.sea_water import modelled_water
from ...io.series import Series, start_of_case
from ...io.variables import error_of
from ...io.yaml_file import NAMES
from ...physics import coriolis_parameter
from .fields import HALF, FieldBuilder, finest
from .remapping import TINY, Points, Remapping
from .sections import MapSection

_FOREVER = 1e12
"""Series of constants extend from minus to plus this time [s]."""
_LARGEST_GUSTINESS = 10.0
"""Upper limit of the ratio of mean wind speed to speed of the mean wind [1], which diverges in calms."""


class GriddedColumns:
    """Water points of gridded files. Can be pickled: files are opened where they are read.

    Args:
        section: files, points, and settings of the columns.
        levels: grid whose faces are stretched to the depth of each column.
        sources: files or datasets for fields without their own; replace `section.paths`.
        dt: time step [s], for terms and the diurnal cycle of the sun.
        find: function that returns the path of a name.
        name: name of the map.

    Attributes:
        n_columns: number of water points.
        latitude, longitude, depth: those of the columns [degrees north, degrees east, m], `(n_columns,)`.
        shape: shape of the target grid, `(n_lat, n_lon)`, or `(n_points,)` of a list of points.
        index: flat index into `shape` of each column, increasing.
        coordinates: coordinates of a dataset on `shape`: dims, values and attributes by name, as in xarray.
        epoch: time 0 of all cases.
        duration: duration of the map [s].
        counts: numbers of points by outcome: columns, filled, land, without values, deepened and others.
        notes: notes for the user; the first lists `counts`.
        fingerprint: digest of the settings and the points.
        inputs: files and folders that are read, without datasets in memory.

    Raises:
        FileFormatError, FileNotFoundError: a file that cannot be used, with the reason.
        ValueError: no water points, or inconsistent settings.
    """

    def __init__(
        self,
        section: MapSection,
        levels: Grid,
        *,
        sources: Sequence[Source] = (),
        dt: float = 3600.0,
        find: Callable[[str], Path] = resolve,
        name: str = "map",
    ):
        self.name, self.duration, self._dt = name, section.duration, dt
        self._fractions = np.asarray(levels.z_face, dtype=float) / float(levels.depth)
        self._water, self._light = section.equation_of_state.build(), section.absorption.build()
        self._ice = None if section.ice is None else section.ice.build()
        terms = {name: term_of(each) for name, each in section.terms.items()}
        implicit_stress = bool(section.air_sea.implicit_stress)
        self._bulk = bulk_arguments(section.air_sea, implicit_stress=implicit_stress)
        self._mean_light = section.air_sea.mean_light()
        self._restoring, self._drift = section.restoring, section.stokes_drift
        self.epoch = start_of_case(section.start_time)
        weather = section.weather
        self._humidity: HumidityMeasure = "relative" if weather is None else weather.humidity_measure
        build = FieldBuilder(section, sources or section.paths, find, self.epoch)
        water = {"temperature": section.temperature, "salinity": section.salinity}
        self._profiles = {name: build.profile(name, each) for name, each in water.items()}
        self._profiles |= {name: build.profile("", each) for name, each in section.tracers.items()}
        self._groups = {
            name: {key: build.field(key, each) for key, each in group.items()}
            for name, group in section.groups().items()
        }
        driving = [group.values() for name, group in self._groups.items() if name != "observed"]
        parts = [part for fields in driving for field in fields for part in field.parts]
        for times in [part.times for part in parts if part.times is not None]:
            times.window(0.0, section.duration)  # raises errors early
        points = self._locate(section, build)
        self._last_start: tuple[bytes, tuple[Grid, State]] | None = None  # reused by all pieces of a tile
        self._kinds: dict[str, Any] = {}
        for name in water:
            header, key = self._profiles[name].header, f"{name}_kind"
            standard_name = str(header.attrs.get("standard_name", "none"))
            kind = getattr(section, key) or NAMES["oceansites"][name]["kinds"].get(standard_name)
            if kind is None:
                expected = f"a CF standard name that gives its kind, or {key}"
                got = f"the standard name {standard_name}"
                raise error_of(header, expected, got, f"give {key}")
            self._kinds[key] = kind
        self.notes: tuple[str, ...] = (", ".join(f"{n} {what}" for what, n in self.counts.items() if n),)
        shortwave, self._shortwave_interval = self._groups.get("weather", {}).get("shortwave"), None
        if shortwave is not None and self._bulk.get("shortwave") is None:
            self._shortwave_interval = np.inf if shortwave.times is None else shortwave.times.interval  # [s]
            notes = self._mean_light.notes(
                self._bulk.get("albedo", ConstantAlbedo(0.0)), self._shortwave_interval
            )
            self.notes += tuple(f"weather: {note}" for note in notes)
        self.inputs = build.paths
        parts = self._water, self._light, self._ice, self._bulk, terms
        arrays = self._fractions, self.index, self.depth
        self.fingerprint = digest_of_tree((parts, arrays), section.model_dump(exclude={"folder"}))
        self.coordinates = points.coordinates
        if terms:  # all columns share one setting of substeps, so it is chosen for the thinnest cells
            grid, state = self._start(np.argmin(self.depth, keepdims=True))
            notes = notes_on_terms(terms, state)
            self.notes += tuple(f"map.terms.{name}: {note}" for name, note in notes)
            state = with_memory(state, Interior(), terms)
            terms = {name: term.adapted_to(state, grid, dt) for name, term in terms.items()}
            for term in terms.values():
                term.check_step(state, grid, dt)
        self._terms = terms

    def _locate(self, section: MapSection, build: FieldBuilder) -> Points:
        """Find the columns, which are the points with water and values of all fields.

        Sets `index`, `shape`, `n_columns`, `latitude`, `longitude`, `depth` and `counts`, and restricts the
        fields to the columns. Returns all points.
        """
        temperature = self._profiles["temperature"]
        source = temperature.points
        points = section.points.of(source)
        remapping, n = Remapping(points, section.reach), int(np.prod(points.shape))
        matrix = remapping.weights(source)
        share, depth = temperature.depth(matrix)
        if section.depth is not None:
            share, depth = build.bathymetry(section.depth, remapping)
        chosen, n_outside = np.flatnonzero(share >= HALF), int(np.sum(matrix.sum(axis=1) < TINY))
        fields = [(name, field) for group in self._groups.values() for name, field in group.items()]
        parts = [*self._profiles.items(), *((name, part) for name, field in fields for part in field.parts)]
        filled, empty = np.zeros((2, chosen.size), dtype=bool)
        lacking = {"on land": n - chosen.size - n_outside, "outside of the files": n_outside}
        for name, part in parts:
            part_filled, part_empty = part.locate(remapping, chosen)
            filled, empty = filled | part_filled, empty | part_empty
            what = f"without {name}"
            lacking[what] = lacking.get(what, 0) + int(np.sum(part_empty))
        kept = np.flatnonzero(~empty)
        if not kept.size:
            ends = [f"{axis.min():g} to {axis.max():g}" for axis in (source.latitude, source.longitude)]
            counts = ", ".join(f"{number} {what}" for what, number in lacking.items() if number)
            raise ValueError(
                f"points: expected water within latitudes {ends[0]} and longitudes {ends[1]}, and values of "
                f"all fields within reach, {section.reach / 1e3:g} km, got none of {n}: {counts}; change the "
                "points or the reach, or check that the files overlap."
            )
        for _, part in parts:
            part.keep(kept)
        self.index, self.shape, self.n_columns = chosen[kept], points.shape, kept.size
        self.latitude, self.longitude = (each[self.index] for each in points.all())
        depth = depth[self.index]
        self.depth = np.clip(depth, section.least_depth, section.largest_depth)
        self.counts = {
            "points": n,
            "columns": kept.size,
            "filled from a neighbour": int(np.sum(filled & ~empty)),
            "land": n - chosen.size - n_outside,
            "outside of the files": n_outside,
            "without values in reach": int(np.sum(empty)),
            "deepened": int(np.sum(depth < section.least_depth)),
            "cut at largest_depth": int(np.sum(depth > section.largest_depth)),
        }
        return points

    @property
    def longest_interval(self) -> float:
        """Largest median time between records over the fields of forcing and observations [s]."""
        fields = [field for group in self._groups.values() for field in group.values()]
        return max((field.times.interval for field in fields if field.times is not None), default=0.0)

    def case(self, columns: slice | np.ndarray, start: float, stop: float) -> Case:
        """Read a batch of columns, with forcing from `start` to `stop` [s] since the epoch.

        Cases with as many columns and the same length `stop - start` have the same structure and shapes, so
        that they share a compiled program. Only the data of the batch are read.

        Raises:
            FileFormatError: times not covered by the input, or a missing or impossible value, with file,
                variable, point and time.
        """
        chosen = np.arange(self.n_columns)[columns]
        grid, state = self._start(chosen)
        latitude = jnp.asarray(self.latitude[chosen], dtype=float)
        longitude = jnp.asarray(self.longitude[chosen], dtype=float)
        terms, waves = dict(self._terms), None
        if (restoring := self._restoring) is not None:
            time, water = self._surface_water("restoring", chosen, start, stop)
            targets = {
                name: TimeSeries(time, jnp.asarray(values, dtype=float), f"restoring of {name}")
                for name, values in water.items()
            }
            velocities = restoring.temperature_velocity, restoring.salinity_velocity
            terms["restoring"] = SurfaceRestoring(
                targets.get("temperature"), targets.get("salinity"), *velocities
            )
        if (drift := self._drift) is not None:
            time, values = self._series("stokes_drift", chosen, start, stop)
            waves = StokesDrift(TimeSeries(time, DriftVector(**values), "Stokes drift"), drift.decay_depth)
        interior = Interior(stokes_drift=waves)
        state = with_memory(state, interior, terms)
        for term in terms.values():
            term.check_step(state, grid, self._dt)
        return Case(
            grid=grid,
            initial_state=state,
            forcing=self._forcing(chosen, latitude, longitude, start, stop),
            coriolis_parameter=coriolis_parameter(latitude),
            equation_of_state=self._water,
            absorption=self._light,
            interior=interior,
            terms=terms,
            ice=self._ice,
            duration=self.duration,
            name=self.name,
            start_time=self.epoch.isoformat(),
            latitude=latitude,
            longitude=longitude,
        )

    def _series(
        self, group: str, chosen: np.ndarray, start: float, stop: float
    ) -> tuple[Array, dict[str, np.ndarray]]:
        """Times from before `start` to after `stop`, and the values of all fields of a group at them.

        The times are those of the field with the shortest interval between records.
        """
        fields = self._groups[group]
        times = finest(list(fields.values()))
        time = np.array([-_FOREVER, _FOREVER])
        if times is not None:
            time = times.seconds[times.window(start, stop)]
        values = {name: field.on(chosen, time) for name, field in fields.items()}
        return jnp.asarray(time, dtype=float), values

    def _start(self, chosen: np.ndarray) -> tuple[Grid, State]:
        """Return the initial grid and water; the last result is kept."""
        key = chosen.tobytes()
        if self._last_start is None or self._last_start[0] != key:
            z_face = self._fractions[:, None] * self.depth[chosen]
            z = 0.5 * (z_face[1:] + z_face[:-1])
            profiles: dict[str, Any] = {
                name: profile.over_depth(chosen, z) for name, profile in self._profiles.items()
            }
            temperature, salinity = profiles.pop("temperature"), profiles.pop("salinity")
            water = modelled_water(temperature, salinity, z, **self._kinds, **self._place(chosen))
            tracers = {name: jnp.asarray(values, dtype=float) for name, values in profiles.items()}
            temperature, salinity = (jnp.asarray(each, dtype=float) for each in water)
            at_rest = jnp.zeros_like(temperature)
            state = State(at_rest, at_rest, temperature, salinity, tracers)
            self._last_start = key, (Grid(z_face), state)
        return self._last_start[1]

    def _place(self, chosen: np.ndarray) -> dict[str, Any]:  # arguments of `modelled_water`
        return {"longitude": self.longitude[chosen] % 360.0, "latitude": self.latitude[chosen]}

    def _surface_water(
        self, group: str, chosen: np.ndarray, start: float, stop: float
    ) -> tuple[Array, dict[str, np.ndarray]]:
        """Times, and conservative temperature and absolute salinity at the surface if the group has them."""
        time, values = self._series(group, chosen, start, stop)
        kinds, salinity = self._kinds, values.get("salinity")
        if salinity is None:  # needed to convert temperature
            salinity = np.asarray(self._start(chosen)[1].salinity[-1])
            kinds = kinds | {"salinity_kind": "absolute"}
        # Any value replaces a missing temperature: the converted salinity does not depend on it.
        temperature = values.get("temperature", np.full_like(salinity, 10.0))
        z = np.zeros(chosen.size)
        both = modelled_water(temperature, salinity, z, **kinds, **self._place(chosen))
        named = zip(("temperature", "salinity"), both, strict=True)
        return time, {name: each for name, each in named if name in values}

    def observed(self, columns: slice | np.ndarray, times: np.ndarray) -> np.ndarray:
        """Observed conservative temperature at the surface [degC], `(n_times, n_columns)`.

        It is interpolated linearly between records, and NaN before the first and after the last one.

        Raises:
            ValueError: a map without observations, or without any at these times.
            FileFormatError: as in `case`.
        """
        if "observed" not in self._groups:
            raise ValueError("observed: expected observations to compare columns with, got none; add them.")
        chosen, records = np.arange(self.n_columns)[columns], self._groups["observed"]["temperature"].times
        is_covered = np.ones(times.shape, dtype=bool)
        if records is not None:
            is_covered = (times >= records.seconds[0]) & (times <= records.seconds[-1])
        # Where no time is covered, reading all of them raises the error.
        covered = times[is_covered] if is_covered.any() else times
        time, water = self._surface_water("observed", chosen, float(covered[0]), float(covered[-1]))
        values = Series(np.asarray(time), np.asarray(water["temperature"])).on(times)
        return np.where(is_covered[:, None], values, np.nan)

    def _forcing(
        self, chosen: np.ndarray, latitude: Array, longitude: Array, start: float, stop: float
    ) -> AbstractForcing:
        """Weather or fluxes of some columns from `start` to `stop`, with the flux corrections, if any."""
        if "weather" in self._groups:
            time, values = self._series("weather", chosen, start, stop)
            for field in WEATHER:
                if (usual := field.metadata.get("usual")) is not None:
                    values.setdefault(field.name, np.full_like(values["wind_u"], usual))
            speed = values.pop("wind_speed", None)
            if speed is not None:
                speed_of_mean = np.hypot(values["wind_u"], values["wind_v"])
                factor = np.clip(speed / np.maximum(speed_of_mean, 1e-9), 1.0, _LARGEST_GUSTINESS)
                values |= {name: values[name] * factor for name in ("wind_u", "wind_v")}
            sun = SolarPosition(self.epoch.isoformat(), latitude, longitude)
            forcing: AbstractForcing = BulkForcing(
                weather=TimeSeries(time, Weather(**values), "weather"),
                sun=sun,
                humidity_measure=self._humidity,
                **self._bulk | self._sun_arguments(sun, chosen, start, stop),
            )
        else:
            time, values = self._series("fluxes", chosen, start, stop)
            forcing = TimeSeriesForcing(time, SurfaceFluxes(**values))
        if "flux_corrections" not in self._groups:
            return forcing
        time, values = self._series("flux_corrections", chosen, start, stop)
        biases = {f"{name}_bias": as_float_array(each) for name, each in values.items()}
        return CorrectedForcing(forcing, time, **biases)

    def _sun_arguments(
        self, sun: SolarPosition, chosen: np.ndarray, start: float, stop: float
    ) -> dict[str, Any]:  # arguments of `BulkForcing`
        """Albedo and diurnal cycle for shortwave records that do not resolve the day, such as daily means."""
        interval, mean_light = self._shortwave_interval, self._mean_light
        if interval is None:
            return {}
        arguments: dict[str, Any] = {}
        if "albedo" in self._bulk:
            arguments["albedo"] = mean_light.albedo(self._bulk["albedo"], sun.latitude, interval)
        if mean_light.spreads_means(interval):
            field, days = self._groups["weather"]["shortwave"], days_of(sun, start, stop)
            time = days
            if field.times is not None:
                time = field.times.seconds[field.times.around(days[0], days[-1] + DAY)]
            arguments["diurnal_cycle"] = diurnal_cycle(days, time, field.on(chosen, time), sun, self._dt)
        return arguments


def columns_from_dataset(
    sources: Source | Sequence[Source],
    levels: Grid,
    *,
    columns: slice | np.ndarray = slice(None),
    dt: float = 3600.0,
    **settings: Any,  # keys of `MapSection`
) -> Case:
    """Build columns from gridded datasets as one batch, with their positions.

    Args:
        sources: a dataset, a path, or several; datasets may be decoded or not, and chunked by Dask.
        levels: grid whose faces are stretched to the depth of each column.
        columns: indices of the water points to use; all by default.
        dt: time step [s], for terms and the diurnal cycle of the sun.
        settings: keys of a map, as in a configuration.

    Returns:
        A case of batch shape `(n_columns,)`, as long as `duration`.

    Raises:
        FileFormatError, ValueError: as in `GriddedColumns`.
    """
    listed = list(sources) if isinstance(sources, list | tuple) else [sources]
    gridded = GriddedColumns(MapSection(**settings), levels, sources=listed, dt=dt)
    case = gridded.case(columns, 0.0, gridded.duration)
    sites = gridded.coordinates.get("site")
    return case if sites is None else dataclasses.replace(case, sites=tuple(sites[1][gridded.index[columns]]))
