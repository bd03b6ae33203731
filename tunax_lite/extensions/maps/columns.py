"""Columns on a map, read in batches of columns and periods."""

import abc
import datetime
from pathlib import Path

import numpy as np

from ...column.case import Case
from ...column.model import Model


class ColumnMap(abc.ABC):
    """Water points of a map. Can be pickled: files are opened where they are read.

    Args:
        n_columns: number of water points.
        latitude, longitude: of the columns [degrees north, degrees east], shape `(n_columns,)`.
        shape: of the target grid, `(n_lat, n_lon)`, or `(n_points,)` of a list of points.
        index: flat index into `shape` of each column, increasing.
        coordinates: of a dataset on `shape`: dims, values and attributes by name, as in xarray.
        epoch: time 0 of all cases.
        duration: of the map [s].
        counts: number of points by treatment: filled from neighbours, left out, ...
        notes: for the user.
        fingerprint: changes with the settings and the points.
        inputs: files and folders that are read, but for datasets in memory.
    """

    n_columns: int
    latitude: np.ndarray
    longitude: np.ndarray
    shape: tuple[int, ...]
    index: np.ndarray
    coordinates: dict[str, tuple]
    epoch: datetime.datetime
    duration: float
    counts: dict[str, int]
    notes: tuple[str, ...]
    fingerprint: str
    inputs: tuple[Path, ...]

    @abc.abstractmethod
    def case(self, columns: slice | np.ndarray, start: float, stop: float) -> Case:
        """A batch of these columns, with forcing from `start` to `stop` [s] since the epoch.

        Cases of equally many columns and equal length `stop - start` have the same structure and shapes, so
        that one compiled program serves all. Only the data of the batch are read.

        Raises:
            ValueError: times not covered by the input.
            FileFormatError: a missing or impossible value, with file, variable, point and time.
        """

    @abc.abstractmethod
    def model(self, model: Model, columns: slice | np.ndarray) -> Model:
        """The model with column-dependent parameters; unchanged if there are none."""

    @abc.abstractmethod
    def observed(self, columns: slice | np.ndarray, times: np.ndarray) -> np.ndarray:
        """Observed temperature of the uppermost cell [degC], `(n_times, n_columns)`, NaN where missing.

        Raises:
            ValueError: a map without observations, or without any at these times.
            FileFormatError: as in `case`.
        """
