"""Points on the sphere: axes of a grid, or a list."""

import hashlib
from dataclasses import dataclass

import numpy as np

TINY = 1e-6
"""Angles [degrees] and weights below it are round-off of a point that lies on another one."""


@dataclass(frozen=True)
class Points:
    """Points of a file, or of a target, in the order of a flattened array.

    Args:
        latitude, longitude: axes of a grid, or of each point of a list [degrees], shape `(n,)`.
        is_grid: whether they are axes, `(n_lat,)` and `(n_lon,)`.
        latitude_edges, longitude_edges: of the cells of a grid [degrees], one more than points.
    """

    latitude: np.ndarray
    longitude: np.ndarray
    is_grid: bool
    latitude_edges: np.ndarray | None = None
    longitude_edges: np.ndarray | None = None

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

    @property
    def fingerprint(self) -> str:
        """Equal for equal points."""
        text = b"".join(np.asarray(each, dtype=float).tobytes() for each in (self.latitude, self.longitude))
        return hashlib.sha256(text + str(self.is_grid).encode()).hexdigest()

    def is_same(self, other: "Points") -> bool:
        """Whether other points are the same, in the same order."""
        if self.shape != other.shape:
            return False
        east = (self.longitude - other.longitude + 180.0) % 360.0 - 180.0
        return bool(np.all(np.abs(self.latitude - other.latitude) < TINY) and np.all(np.abs(east) < TINY))

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges of the cells of a grid: as given, or halfway between points."""
        latitude, longitude = self.latitude_edges, self.longitude_edges
        if latitude is None:
            latitude = np.clip(_between(self.latitude), -90.0, 90.0)
        return latitude, _between(self.longitude) if longitude is None else longitude


def _between(axis: np.ndarray) -> np.ndarray:
    if axis.size < 2:
        return np.array([axis[0] - 0.5, axis[0] + 0.5])
    middle = 0.5 * (axis[1:] + axis[:-1])
    return np.concatenate([[2.0 * axis[0] - middle[0]], middle, [2.0 * axis[-1] - middle[-1]]])
