"""Place and time of a site, and functions that its sources share."""

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import ConfigError
from ...io.dataset import write_dataset
from ...io.errors import FileFormatError, shortened

if TYPE_CHECKING:
    import xarray as xr

Section = dict[str, Any]
"""Keys of a case of the format `site`, as in a configuration."""


@dataclass(frozen=True)
class Site:
    """Position, period and folder of a site.

    Args:
        name: name of the site, for files and figures.
        latitude, longitude: [degrees north, degrees east].
        start, stop: start and end of the run, universal time.
        folder: folder for the files of the site.
        column: largest depth of the column [m].
        radius: largest distance of a measured profile [km].
    """

    name: str
    latitude: float
    longitude: float
    start: datetime.datetime
    stop: datetime.datetime
    folder: Path
    column: float = 300.0
    radius: float = 150.0

    @property
    def duration(self) -> float:
        """Duration of the run [s]."""
        return (self.stop - self.start).total_seconds()

    @property
    def start_time(self) -> str:
        """Start of the run as ISO 8601 time."""
        return self.start.isoformat()

    @property
    def clock(self) -> dict[str, str]:
        """Attributes of times since the start [s]."""
        return {"units": f"seconds since {self.start_time}", "standard_name": "time", "axis": "T"}

    @property
    def position(self) -> dict[str, float]:
        """Latitude and longitude by name."""
        return {"latitude": self.latitude, "longitude": self.longitude}

    def box(self, latitude_margin: float, longitude_margin: float) -> tuple[float, float, float, float]:
        """South, north, west and east [degrees] of a box with a margin around the place."""
        longitude = (self.longitude + 180.0) % 360.0 - 180.0
        south = max(self.latitude - latitude_margin, -90.0)
        north = min(self.latitude + latitude_margin, 90.0)
        return south, north, longitude - longitude_margin, longitude + longitude_margin

    def write(self, name: str, dataset: "xr.Dataset") -> None:
        """Write an input to the folder of the site."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_dataset(dataset, self.folder / name)

    def write_series(self, name: str, values: dict[str, tuple[str, Any]]) -> None:
        """Write an input over time.

        `values` has units and arrays by name; `time` is in seconds since the start.
        """
        import xarray as xr

        series = {key: ("time", each, {"units": unit}) for key, (unit, each) in values.items()}
        self.write(name, xr.Dataset(series | {"time": ("time", values["time"][1], self.clock)}))


def netcdf_files(where: str, option: str) -> list[Path]:
    """Absolute paths of the NetCDF files in a folder, in order of their names, or of a single file.

    Raises:
        ConfigError: an empty `where`.
        FileNotFoundError: no such file or folder, or a folder without NetCDF files.
    """
    if not where:
        raise ConfigError(f"{option}: expected a folder or file after the colon, got none; add it.")
    path = Path(where).expanduser().absolute()
    paths = sorted(p for p in path.rglob("*.nc") if p.is_file()) if path.is_dir() else [path]
    if not paths or not paths[0].is_file():
        got = "a folder without any" if path.is_dir() else "no file or folder"
        raise FileNotFoundError(f"{option} {where}: expected NetCDF files, got {got}; check the path.")
    return paths


@contextlib.contextmanager
def failures_of(service: str, account: str) -> Iterator[None]:
    """Turn exceptions of the client of a service into `FileFormatError`; `account` is advice on access."""
    try:
        yield
    except Exception as error:  # clients raise anything
        reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 300)
        advice = f"{account}, check position, dates and network, or use another source"
        raise FileFormatError(service, "download", "an answer", reason, advice) from error
