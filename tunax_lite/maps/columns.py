"""Columns on a map, which are read in batches of some columns and some of the time."""

import abc
import datetime

import numpy as np

from ..case import Case
from ..model import Model


class ColumnMap(abc.ABC):
    """Water points of a map. Can be pickled: files are opened where they are read.

    Args:
        n_columns: number of water points.
        latitude, longitude: of them [degrees north, degrees east], shape `(n_columns,)`.
        shape: of the target grid, `(n_lat, n_lon)`, or `(n_points,)` of a list of points.
        index: flat index into `shape` of each column, increasing.
        coordinates: of a dataset on `shape`: by name dims, values and attributes, as xarray takes them.
        epoch: time 0 of all cases.
        duration: length of the map's time [s].
        counts: of points that were filled from neighbours, left out, ... by what became of them.
        notes: what the user should know.
        fingerprint: changes when the input or the settings change.
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

    @abc.abstractmethod
    def case(self, columns: slice | np.ndarray, start: float, stop: float) -> Case:
        """A batch of these columns, whose forcing covers from `start` to `stop` [s] since the epoch.

        Times of the case count from the epoch. Cases of as many columns and of equal length `stop - start`
        have the same structure and shapes, so that one compiled program serves all. Only what the batch
        needs is read.

        Raises:
            ValueError: times that the input does not cover.
            FileFormatError: a value that is missing or cannot be, with file, variable, point and time.
        """

    @abc.abstractmethod
    def model(self, model: Model, columns: slice | np.ndarray) -> Model:
        """The model with the parameters that these columns have of their own; the same if there are none."""

    @abc.abstractmethod
    def observed(self, columns: slice | np.ndarray, times: np.ndarray) -> np.ndarray:
        """Observed temperature of the uppermost cell [degC], `(n_times, n_columns)`, NaN where there is none.

        Raises:
            ValueError: a map without observations, or with none at these times.
            FileFormatError: as `case`.
        """
