"""Bilinear remapping from the points of a file to those of the columns, with coasts.

Remapping is a sparse matrix with one row per column. If some points of a row are dry, the others take their
weight; if all are, the nearest wet point within a distance is used.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy  # loads `sparse` and `spatial` at first use: every command imports this module

Matrix = Any  # a sparse array, whose type stubs lack its shape

TINY = 1e-6
"""Angles [degrees] and weights [1] below it count as zero: they are round-off."""
EARTH_RADIUS = 6.371e6


@dataclass(frozen=True)
class Points:
    """Points on the sphere, in the order of a flattened array.

    Args:
        latitude, longitude: axes of the grid, `(n_lat,)` and `(n_lon,)`, or coordinates of each point of a
            list, `(n,)` [degrees].
        is_grid: whether they are axes.
        names: names of the points of a list, if any.
    """

    latitude: np.ndarray
    longitude: np.ndarray
    is_grid: bool
    names: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        n = self.latitude.size
        return (n, self.longitude.size) if self.is_grid else (n,)

    def all(self) -> tuple[np.ndarray, np.ndarray]:
        """Latitude and longitude of every point."""
        if not self.is_grid:
            return self.latitude, self.longitude
        latitude, longitude = np.meshgrid(self.latitude, self.longitude, indexing="ij")
        return latitude.ravel(), longitude.ravel()

    def is_same(self, other: "Points") -> bool:
        """Whether other points are the same, in the same order."""
        if self.shape != other.shape:
            return False
        east = (self.longitude - other.longitude + 180.0) % 360.0 - 180.0
        return bool(np.all(np.abs(self.latitude - other.latitude) < TINY) and np.all(np.abs(east) < TINY))

    @property
    def coordinates(self) -> dict[str, tuple]:
        """Coordinates of a dataset on the points: dims, values and attributes by name, as in xarray."""
        dims = ("lat", "lon") if self.is_grid else ("point", "point")
        coordinates: dict[str, tuple] = {
            "lat": (dims[:1], self.latitude, {"standard_name": "latitude", "units": "degrees_north"}),
            "lon": (dims[1:], self.longitude, {"standard_name": "longitude", "units": "degrees_east"}),
        }
        if self.names:
            names = np.array(self.names, dtype=object)
            coordinates["site"] = ("point",), names, {"long_name": "name of the site"}
        return coordinates


@dataclass(frozen=True)
class Remapping:
    """Matrices from the points of files to those of the columns.

    Variables on the same points with the same coasts share a matrix.

    Args:
        target: points of the columns, including those without water.
        reach: largest distance of a water point used for a point without values [m].
    """

    target: Points
    reach: float
    _matrices: dict[Hashable, Any] = field(default_factory=dict)

    def weights(self, source: Points) -> Matrix:
        """Return the bilinear matrix from the points of a file to all target points.

        Returns:
            One row per target point, with sum 1; empty if the file has no neighbouring points.

        Raises:
            ValueError: a source that is neither a grid with axes nor identical with the target.
        """
        key = source.latitude.tobytes(), source.longitude.tobytes(), source.is_grid
        if key in self._matrices:
            return self._matrices[key]
        if source.is_same(self.target):
            matrix = scipy.sparse.csr_array(scipy.sparse.eye_array(int(np.prod(source.shape))))
        elif source.is_grid:
            latitude, longitude = self.target.all()
            n_longitude, parts = source.longitude.size, []
            for i, of_latitude in _linear(source.latitude, latitude, None):
                for j, of_longitude in _linear(source.longitude, longitude, 360.0):
                    parts.append((of_latitude * of_longitude, np.arange(latitude.size), i * n_longitude + j))
            values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
            shape = latitude.size, source.latitude.size * n_longitude
            matrix = _sorted(scipy.sparse.coo_array((values, (rows, columns)), shape))
        else:
            raise ValueError(
                "points: expected a file with axes of latitude and longitude, got a curvilinear grid or a "
                "list of points; use the points of the file (points: input), or remap the file first."
            )
        self._matrices[key] = matrix
        return matrix

    def around_coasts(
        self, source: Points, wet: np.ndarray, chosen: np.ndarray
    ) -> tuple[Matrix, np.ndarray, np.ndarray]:
        """Return the matrix from the wet points of a file to the chosen points.

        Returns:
            The matrix, whose rows sum to 1 or are empty; masks of rows that use the nearest wet point within
            reach, because all their points are dry, and of empty rows.
        """
        key = source.latitude.tobytes(), source.longitude.tobytes(), wet.tobytes(), chosen.tobytes()
        if key in self._matrices:
            return self._matrices[key]
        matrix, wet = self.weights(source)[chosen], wet.ravel()
        share = matrix @ wet.astype(float)
        empty = share < TINY
        scale = scipy.sparse.diags_array(np.where(empty, 0.0, 1.0 / np.where(empty, 1.0, share)))
        matrix = _sorted(scale @ (matrix @ scipy.sparse.diags_array(wet.astype(float))))
        rows, points, filled = np.flatnonzero(empty), np.flatnonzero(wet), np.zeros_like(empty)
        if rows.size and points.size:
            latitude, longitude = (each[chosen][rows] for each in self.target.all())
            tree = scipy.spatial.KDTree(_on_sphere(*(each[points] for each in source.all())))
            limit = 2.0 * np.sin(min(self.reach / EARTH_RADIUS, np.pi) / 2.0) * (1.0 + 1e-12)
            distance, nearest = tree.query(_on_sphere(latitude, longitude), distance_upper_bound=limit)
            near = np.isfinite(distance)
            at = rows[near], points[np.asarray(nearest)[near]]
            matrix = _sorted(matrix + scipy.sparse.csr_array((np.ones(at[0].size), at), matrix.shape))
            filled[at[0]], empty[at[0]] = True, False
        self._matrices[key] = matrix, filled, empty
        return matrix, filled, empty


def _linear(axis: np.ndarray, at: np.ndarray, period: float | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Indices and weights of both neighbours on an axis.

    Weights are zero beyond half of the largest spacing from the ends of the axis.
    """
    points = axis if period is None else axis % period
    order = np.argsort(points, kind="stable")
    points, gap = points[order], 0.0
    if period is not None:
        # Eastward, starting behind the widest gap.
        gaps = np.diff(points, prepend=points[-1] - period)
        first, gap = int(np.argmax(gaps)), float(np.max(gaps))
        order = np.roll(order, -first)
        points = points[first] + (np.roll(points, -first) - points[first]) % period
    spacing = float(np.max(np.diff(points))) if points.size > 1 else 1.0
    if period is not None:
        at = points[0] + (at - points[0]) % period
        if gap <= 1.5 * spacing:  # the axis goes around the globe: repeat its first point at the end
            points, order = np.append(points, points[0] + period), np.append(order, order[0])
        else:  # points just west of the first point of the axis
            at = np.where(at > points[-1] + 0.5 * gap, at - period, at)
    lower = np.clip(np.searchsorted(points, at, side="right") - 1, 0, max(points.size - 2, 0))
    upper = np.minimum(lower + 1, points.size - 1)
    step = np.where(upper > lower, points[upper] - points[lower], 1.0)
    fraction = np.clip((at - points[lower]) / step, 0.0, 1.0)
    fraction = np.where(np.abs(fraction - np.round(fraction)) < TINY, np.round(fraction), fraction)
    margin = 0.5 * spacing + TINY
    near = (at >= points[0] - margin) & (at <= points[-1] + margin)
    return [
        (order[lower], np.where(near, 1.0 - fraction, 0.0)),
        (order[upper], np.where(near, fraction, 0.0)),
    ]


def _sorted(matrix) -> Matrix:
    """Remove negligible weights and sort the columns, so that a row gives bit-identical sums in all tiles."""
    rows = scipy.sparse.csr_array(matrix)
    rows.sum_duplicates()
    rows.data[rows.data < 1e-12] = 0.0
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _on_sphere(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    phi, theta = np.deg2rad(latitude), np.deg2rad(longitude)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=-1)
