"""Water points of a map, their depth, and the fields interpolated to them."""

import datetime
from typing import TYPE_CHECKING

import numpy as np

from ...io.errors import check_possible
from ...io.variables import error_of
from .fields import HALF, Field, Remapped
from .remapping import Remapping
from .sections import Gridded, MapInput, SitePoints
from .sources import FieldReader, Sources, joined_sites, variable_of

if TYPE_CHECKING:
    import xarray as xr

_QUANTITIES = {"wind_speed": "wind_u", "u": "stokes_drift_u", "v": "stokes_drift_v"}
"""What fields are that have other names than in the table of quantities."""
_ELEVATIONS = ("altitude", "surface_altitude", "height_above_mean_sea_level", "height_above_geoid")


class Located:
    """The water points of a map and their fields.

    Args:
        given: files, points, and settings of the columns.
        sources: the files.
        epoch: time 0.
        humidity: name of the quantity that the humidity of the weather is.

    Attributes:
        points: all, including those without water.
        index: of the water points among all.
        depth: of the water points [m].
        profiles: initial temperature, salinity and tracers.
        groups: fields by name, grouped by section of the map.
        counts: number of points by treatment.

    Raises:
        FileFormatError, ValueError: as in `ColumnMap`.
    """

    def __init__(self, given: MapInput, sources: Sources, epoch: datetime.datetime, humidity: str):
        self._given, self._sources, self._epoch = given, sources, epoch
        self._quantities = _QUANTITIES | {"humidity": humidity}
        temperature = self._field("temperature", given.temperature, has_levels=True)
        source = temperature.parts[0].reader.points
        self.points = given.points.of(source)
        self._remapping = Remapping(self.points, given.reach)
        n, matrix = int(np.prod(self.points.shape)), self._remapping.weights(source)
        share, depth = temperature.parts[0].depth(matrix)
        if given.depth is not None:
            share, depth = self._bathymetry(given.depth, n)
        chosen, n_outside = np.flatnonzero(share >= HALF), int(np.sum(matrix.sum(axis=1) < 1e-6))
        if not chosen.size:
            expected = "a point with water, where the temperature has values"
            if n_outside == n:
                ends = [f"{axis.min():g} to {axis.max():g}" for axis in (source.latitude, source.longitude)]
                expected = f"points within those of the file, latitudes {ends[0]} and longitudes {ends[1]}"
            got = f"none of {n}: {n - n_outside} on land, {n_outside} outside of the files"
            raise ValueError(f"points: expected {expected}, got {got}; change the points.")
        self.groups = self._groups()
        salinity = self._field("salinity", given.salinity, has_levels=True)
        tracers = {name: self._field("", one, has_levels=True) for name, one in given.tracers.items()}
        self.profiles = {"temperature": temperature, "salinity": salinity} | tracers
        kept, filled, n_empty = self._locate(chosen)
        self.index, depth = chosen[kept], depth[chosen[kept]]
        self.depth = np.clip(depth, given.least_depth, given.largest_depth)
        self.counts = {
            "points": n,
            "columns": kept.size,
            "filled from a neighbour": filled,
            "land": n - chosen.size - n_outside,
            "outside of the files": n_outside,
            "without values in reach": n_empty,
            "deepened": int(np.sum(depth < given.least_depth)),
            "cut at largest_depth": int(np.sum(depth > given.largest_depth)),
        }

    def _locate(self, chosen: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Which points have values of all fields, and how many take some of a neighbour, or have none."""
        filled, empty = np.zeros((2, chosen.size), dtype=bool)
        fields = [*self.profiles.items(), *(one for group in self.groups.values() for one in group.items())]
        parts, lacking = [(name, part) for name, field in fields for part in field.parts], dict[str, int]()
        for name, part in parts:
            of_part = part.locate(self._remapping, chosen)
            filled, empty = filled | of_part[0], empty | of_part[1]
            lacking[name] = lacking.get(name, 0) + int(np.sum(of_part[1]))
        kept = np.flatnonzero(~empty)
        if not kept.size:
            expected = f"values of all fields within {self._given.reach / 1e3:g} km of a point with water"
            counts = ", ".join(f"{number} without {name}" for name, number in lacking.items() if number)
            got = f"got none of {chosen.size}: {counts}; extend it, or check that the files overlap."
            raise ValueError(f"reach: expected {expected}, {got}")
        for _, part in parts:
            part.keep(kept)
        return kept, int(np.sum(filled & ~empty)), int(np.sum(empty))

    def _groups(self) -> dict[str, dict[str, Field]]:
        """The fields of all sections of the map; time-dependent ones cover its period."""
        found = {
            name: {key: self._field("" if name == "parameters" else key, each) for key, each in group.items()}
            for name, group in self._given.groups().items()
        }
        fields = [each for name, group in found.items() if name != "observed" for each in group.values()]
        for times in [one.times for field in fields for one in field.parts if one.times is not None]:
            times.window(0.0, self._given.duration)  # raises errors early
        return found

    def _field(self, quantity: str, given: Gridded, *, has_levels: bool = False) -> Field:
        """A quantity over time, or of the water over depth."""
        if has_levels and (given.constant is not None or given.sum_of):
            what = quantity or "tracers"
            raise ValueError(f"{what}: expected a variable of a file over depth, got a number or a sum.")
        if given.constant is not None:
            known = self._quantities.get(quantity, quantity)
            check_possible("map", quantity or "parameters", known, np.array([given.constant]))
            return Field((), given.constant)
        if given.sum_of:
            several = [self._field(quantity, part) for part in given.sum_of]
            parts = tuple(part for each in several for part in each.parts)
            return Field(parts, sum(each.constant for each in several))
        return Field((Remapped(self._reader(quantity, given), has_levels=has_levels),))

    def _reader(self, quantity: str, given: Gridded) -> FieldReader:
        quantity = self._quantities.get(quantity, quantity)
        files = self._files(quantity, given)
        return FieldReader(quantity, given, files, self._epoch, self._given.duration)

    def _files(self, quantity: str, given: Gridded) -> "list[xr.Dataset]":
        """The files of a field; those of single sites are joined."""
        if not any("{site}" in path for path in given.paths):
            return self._sources.of(given.paths)
        points = self._given.points
        if not isinstance(points, SitePoints):
            got = "files of single sites for a map"
            raise ValueError(f"paths: expected points of the kind sites with {{site}}, got {got}; list them.")
        several = [
            self._sources.of([path.replace("{site}", site) for path in given.paths]) for site in points.places
        ]
        name = variable_of(quantity, given, several[0])
        return [joined_sites(files, name, points.of()) for files in zip(*several, strict=True)]

    def _bathymetry(self, given: Gridded, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of each point that is water, and its depth [m]."""
        if given.constant is not None:
            return np.ones(n), np.full(n, given.constant)
        reader = self._reader("height", given)
        header = reader.header
        is_up = header.attrs.get("standard_name") in _ELEVATIONS or header.attrs.get("positive") == "up"
        depth = reader.block(np.zeros(1, dtype=int))[0] * (-1.0 if is_up else 1.0)
        wet = np.isfinite(depth) & (depth > 0.0)
        if not wet.any():
            known = depth[np.isfinite(depth)]
            got = f"{known.min():g} to {known.max():g} m" if known.size else "missing values alone"
            advice = "say that it is an elevation (attribute positive: up), or give a factor of -1"
            raise error_of(header, "depths of the sea, positive where there is water", got, advice)
        matrix = self._remapping.weights(reader.points)
        share = matrix @ wet.astype(float)
        return share, (matrix @ np.where(wet, depth, 0.0)) / np.where(share > 0.0, share, 1.0)
