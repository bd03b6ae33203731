"""Water points of a map, their depth, and the fields interpolated to them."""

import datetime
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...io.errors import check_possible
from ...io.series import start_of_case
from .calendars import RecordTimes, read_times
from .fields import AnyField, Constant, Field, PerSite, Reader, Sum
from .points import Points
from .remapping import Matrix, weights
from .settings import Gridded, MapInput, SitePoints
from .sources import Placing, Sources, placing_of, variable_of
from .water import AnyProfiles, Profiles, ProfilesPerSite

_QUANTITIES = {"wind_speed": "wind_u", "u": "stokes_drift_u", "v": "stokes_drift_v"}
"""What fields are that have other names than in the table of quantities."""
_ELEVATIONS = ("altitude", "surface_altitude", "height_above_mean_sea_level", "height_above_geoid")


@dataclass
class Located:
    """The water points of a map and their fields.

    Args:
        target: all points, including those without water.
        names: of listed points.
        index: of the water points among all.
        depth: of the water points [m].
        profiles: initial temperature and salinity.
        groups: fields by name, grouped by section of the map.
        counts: number of points by treatment.
    """

    target: Points
    names: tuple[str, ...]
    index: np.ndarray
    depth: np.ndarray
    profiles: dict[str, AnyProfiles]
    groups: dict[str, dict[str, AnyField]]
    counts: dict[str, int] = field(default_factory=dict)


def locate(given: MapInput, sources: Sources, humidity: str = "relative_humidity") -> Located:
    """Find the water points and the source points of each.

    Raises:
        FileFormatError, ValueError: as in `ColumnMap`.
    """
    epoch = start_of_case(given.start_time)
    make = _Maker(given, sources, epoch, {"humidity": humidity})
    temperature = make.profiles("temperature", given.temperature)
    target, names = given.points.of(make.points_of(temperature))
    base = make.matrix(temperature, target)
    share, depth = temperature.depth_at(base)
    counts = {"points": share.size}
    if given.depth is not None:
        share, depth = make.bathymetry(given.depth, target)
    chosen = np.flatnonzero(share >= 0.5 - 1e-9)
    outside = int(np.sum(np.asarray(base.sum(axis=1)).ravel() < 1e-6))
    if not chosen.size:
        known = make.points_of(temperature)
        ends = [f"{axis.min():g} to {axis.max():g}" for axis in (known.latitude, known.longitude)]
        if outside == share.size:
            expected = f"points within those of the file, latitudes {ends[0]} and longitudes {ends[1]}"
            raise ValueError(f"points: expected {expected}, got none of {share.size}; change the points.")
        expected = "a point with water, where the temperature has values"
        raise ValueError(f"points: expected {expected}, got none of {share.size}; change the points.")
    groups, profiles = make.groups(), {"temperature": temperature}
    profiles["salinity"] = make.profiles("salinity", given.salinity)
    filled, empty = np.zeros((2, chosen.size), dtype=bool)
    for each in profiles.values():
        found = each.locate(make.matrix(each, target), target, chosen, given.reach)
        filled, empty = filled | found[0], empty | found[1]
    cache: dict[Hashable, Any] = {}  # of grids shared by several parts
    for each in [one for group in groups.values() for one in group.values()]:
        found = each.locate(target, chosen, given.remapping, given.reach, cache)
        filled, empty = filled | found[0], empty | found[1]
    kept = np.flatnonzero(~empty)
    if not kept.size:
        expected = f"values of all fields within {given.reach / 1e3:g} km of a point with water"
        raise ValueError(f"reach: expected {expected}, got none; extend it, or check that the files overlap.")
    for each in (*profiles.values(), *(one for group in groups.values() for one in group.values())):
        each.keep(kept)
    counts |= {
        "columns": kept.size,
        "filled from a neighbour": int(np.sum(filled & ~empty)),
        "land": share.size - chosen.size - outside,
        "outside of the files": outside,
        "without values in reach": int(np.sum(empty)),
        "deepened": int(np.sum(depth[chosen[kept]] < given.least_depth)),
        "cut at largest_depth": int(np.sum(depth[chosen[kept]] > given.largest_depth)),
    }
    depth = np.clip(depth[chosen[kept]], given.least_depth, given.largest_depth)
    return Located(target, names, chosen[kept], depth, profiles, groups, counts)


@dataclass
class _Maker:
    """Creates fields from their settings."""

    given: MapInput
    sources: Sources
    epoch: datetime.datetime
    others: dict[str, str]

    def groups(self) -> dict[str, dict[str, AnyField]]:
        """The fields of all sections of the map; time-dependent ones cover its period."""
        names = ("weather", "fluxes", "flux_corrections", "restoring", "stokes_drift", "observed")
        parts = {name: getattr(self.given, name) for name in names}
        found = {
            name: {key: self.field(key, each) for key, each in part.given().items()}
            for name, part in parts.items()
            if part is not None
        }
        parameters = self.given.parameters.items()
        found["parameters"] = {path: self.field("", each) for path, each in parameters}
        for name, part in found.items():
            for each in part.values() if name != "observed" else ():
                _check_covers(each, self.given.duration)
        return found

    def _per_site(self, given: Gridded) -> tuple[str, ...]:
        """Names of the sites for which a field has one file each."""
        if not any("{site}" in path for path in given.paths):
            return ()
        if not isinstance(self.given.points, SitePoints):
            got = "files of single sites for a map"
            raise ValueError(f"paths: expected points of the kind sites with {{site}}, got {got}; list them.")
        return tuple(self.given.points.places)

    def reader(self, quantity: str, given: Gridded, site: str = "{site}") -> Reader:
        """Reader for the records of a variable."""
        quantity = self.others.get(quantity, _QUANTITIES.get(quantity, quantity))
        files = self.sources.of(given, site)
        placing = placing_of(variable_of(quantity, given, files), files, is_place=site != "{site}")
        return Reader(quantity, given, placing, self._times(given, placing))

    def _times(self, given: Gridded, placing: Placing) -> RecordTimes | None:
        if placing.time is None or sum(placing.lengths) < 2:
            return None
        coordinates = [placing.coordinate(file, placing.time, "time") for file in placing.files]
        return read_times(coordinates, self.epoch, given.repeats, given.stretched_years)

    def field(self, quantity: str, given: Gridded) -> AnyField:
        """A time-dependent field."""
        if given.constant is not None:
            own = self.others.get(quantity, _QUANTITIES.get(quantity, quantity))
            check_possible("map", quantity or "parameters", own, np.array([given.constant]))
            return Constant(given.constant)
        if given.sum_of:
            return Sum([self.field(quantity, part) for part in given.sum_of])
        if sites := self._per_site(given):
            return PerSite([Field(self.reader(quantity, given, site)) for site in sites])
        return Field(self.reader(quantity, given))

    def profiles(self, quantity: str, given: Gridded) -> AnyProfiles:
        """A quantity over depth."""
        if given.constant is not None or given.sum_of:
            raise ValueError(f"{quantity}: expected a variable of a file over depth, got a number or a sum.")
        if sites := self._per_site(given):
            return ProfilesPerSite([Profiles(self.reader(quantity, given, site)) for site in sites])
        return Profiles(self.reader(quantity, given))

    def points_of(self, profiles: AnyProfiles) -> Points:
        """Points of the files."""
        if isinstance(profiles, Profiles):
            return profiles.reader.placing.points
        return self.given.points.of(Points(np.zeros(1), np.zeros(1), False))[0]

    def matrix(self, profiles: AnyProfiles, target: Points) -> Matrix:
        """Matrix from the points of the profiles to those of the target."""
        return weights(self.points_of(profiles), target, self.given.remapping)

    def bathymetry(self, given: Gridded, target: Points) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of each point that is water, and its depth [m]."""
        if given.constant is not None:
            n = int(np.prod(target.shape))
            return np.ones(n), np.full(n, given.constant)
        reader = self.reader("height", given)
        header = reader.placing.header()
        is_up = header.attrs.get("standard_name") in _ELEVATIONS or header.attrs.get("positive") == "up"
        depth = reader.block(np.zeros(1, dtype=int))[0] * (-1.0 if is_up else 1.0)
        wet = np.isfinite(depth) & (depth > 0.0)
        if not wet.any():
            known = depth[np.isfinite(depth)]
            got = f"{known.min():g} to {known.max():g} m" if known.size else "missing values alone"
            advice = "say that it is an elevation (attribute positive: up), or give a factor of -1"
            raise header.error("depths of the sea, positive where there is water", got, advice)
        matrix = weights(reader.placing.points, target, self.given.remapping)
        share = matrix @ wet.astype(float)
        return share, (matrix @ np.where(wet, depth, 0.0)) / np.where(share > 0.0, share, 1.0)


def _check_covers(each: AnyField, duration: float) -> None:
    """Raise `FileFormatError` if the records do not cover the period of the map."""
    for part in each.parts if isinstance(each, Sum | PerSite) else [each]:
        if isinstance(part, Sum | PerSite):
            _check_covers(part, duration)
        elif part.times is not None:
            part.times.window(0.0, duration)
