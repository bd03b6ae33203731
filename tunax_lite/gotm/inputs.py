"""Inputs of a case as numbers, series or profiles, read from their files once."""

import numpy as np

from ..grid import Grid
from ..io.series import Series
from .plausible import check_constant, without_kelvin
from .profiles import ProfileReader
from .series import Period, SeriesReader
from .settings import Settings


class Inputs:
    """What the mapping reads.

    Args:
        settings: the configuration.
        period: start and length of the run.
        grid: on which profiles are put.
        dt: time step [s].
        salinity_anomaly: whether absolute salinity has the anomaly of its place, or the ratio of the standard
            ocean everywhere.
    """

    def __init__(
        self, settings: Settings, period: Period, grid: Grid, dt: float, *, salinity_anomaly: bool = True
    ):
        self.salinity_anomaly = salinity_anomaly
        self.settings = settings
        self.period = period
        self.dt = dt
        self.z_center = np.asarray(grid.z_center)
        self.z_face = np.asarray(grid.z_face)
        self._series = SeriesReader(period)
        self._profiles = ProfileReader(period, self.z_center)

    @property
    def warnings(self) -> list[str]:
        """What is odd in the files, and yet no error."""
        return self._series.warnings

    def scalar(self, path: str, kind: str | None = None) -> Series | float:
        """A number, or a series over the run.

        Args:
            path: of an input of the methods constant, file or off (which is 0).
            kind: what the values are, by default the last part of the path.
        """
        source = self.settings.input(path)
        kind = kind or path.split(".")[-1]
        if source.method == "file":
            return self._series.read(source, kind)
        value = 0.0 if source.method == "off" else source.constant_value
        if kind in ("airt", "wet_bulb", "dew_point"):
            value = float(without_kelvin(np.asarray(value)))
        check_constant(source, value, kind)
        return value

    def profile(self, path: str, *, whole_period: bool = True) -> Series:
        """Profiles on the cells, `(n_times, n_cells)`; a number is the same everywhere and at all times.

        Args:
            path: of an input of the methods constant, file or off (which is 0).
            whole_period: read all the run needs, not only what its start needs.
        """
        source = self.settings.input(path)
        if source.method == "file":
            return self._profiles.read(source, whole_period=whole_period)
        value = source.constant_value if source.method == "constant" else 0.0
        return self.at_all_times(np.full(self.z_center.shape, value))

    def at_all_times(self, profile: np.ndarray) -> Series:
        """A profile that does not change."""
        return Series(np.array([0.0, self.period.length]), np.stack([profile, profile]))
