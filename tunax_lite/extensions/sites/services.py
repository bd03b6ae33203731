"""Sources that are services: Climate Data Store, Argo, Copernicus Marine, and atlases by pyTMD.

What they answer is kept in the cache of `downloads`, and read by the functions of `files`.
"""

import datetime
import importlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._types import JSON
from ...io.errors import FileFormatError, shortened
from . import downloads
from .files import (
    ARGO,
    COPERNICUS,
    ERA5,
    LONGEST_GAP,
    digests,
    tidal,
    water_of_floats,
    water_of_reanalysis,
    waves_of_files,
    weather_of_files,
)
from .sources import Found, Place, merged, source
from .tides import times_of

Client = Any  # of an optional package
GLORYS = "cmems_mod_glo_phy_my_0.083deg_P1D-m"
_CDS_ACCOUNT = "write your key to ~/.cdsapirc and accept the licence: cds.climate.copernicus.eu/how-to-api"
_DAY = datetime.timedelta(days=1)
_WEATHER = (
    *("10m_u_component_of_wind", "10m_v_component_of_wind", "2m_temperature", "2m_dewpoint_temperature"),
    *("surface_pressure", "total_cloud_cover", "total_precipitation"),
    *("surface_solar_radiation_downwards", "surface_thermal_radiation_downwards"),
)
_WAVES = (
    *("u_component_stokes_drift", "v_component_stokes_drift", "mean_wave_period"),
    "significant_height_of_combined_wind_waves_and_swell",
)
HOURLY = {"weather": {"accumulation": 3600.0}}
"""Sums of hourly data are those of an hour."""


def asked(work: Callable[[], object], service: str, account: str) -> None:
    """Call a client of a service; whatever it raises becomes one message.

    Raises:
        FileFormatError: with the first line of its reason; of an account, or of the request.
    """
    try:
        work()
    except Exception as error:  # clients raise anything
        reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 300)
        words = ("401", "403", "credential", "api key", "apikey", "login", "password", "cdsapirc", "licen")
        is_account = any(word in f"{error}".lower() for word in words)
        advice = account if is_account else "check position, dates and network, or use another source"
        raise FileFormatError(service, "download", "an answer", reason, advice) from error


def _kept(request: JSON, name: str, fetch: Callable[[Path], object], address: str, account: str) -> Path:
    """The file with the answer of a client to a request, as `downloads.kept` and `asked` have it."""
    return downloads.kept(
        json.dumps(request), name, lambda path: asked(lambda: fetch(path), address, account), address
    )


# ------------------------------------------------------------------------------------------------ weather


@source("weather", "cds", title="ERA5 hourly data on single levels, CDS", packages=("cdsapi",), work=ERA5)
def _weather_of_cds(place: Place, where: str) -> Found:
    """The weather from the Climate Data Store, month by month; needs an account there."""
    paths, places = _of_cds(place, _WEATHER)
    found = weather_of_files(place, paths, places)
    return Found(merged(found.case, HOURLY), found.files, found.places, found.notes)


@source("waves", "cds", title="ERA5 ocean waves, CDS", packages=("cdsapi",), work=ERA5)
def _waves_of_cds(place: Place, where: str) -> Found:
    """Waves from the Climate Data Store."""
    return waves_of_files(place, *_of_cds(place, _WAVES))


def _of_cds(place: Place, variables: Sequence[str]) -> tuple[list[Path], dict[str, str]]:
    """Files of the months of the run around the position, and their checksums."""
    data_set, archives = "reanalysis-era5-single-levels", []
    for year, month in _months(place.start - _DAY, place.stop + _DAY):
        south, north, west, east = place.box(*[1.0 if variables is _WAVES else 0.5] * 2)
        request = {
            "product_type": ["reanalysis"],
            "variable": list(variables),
            "year": [f"{year}"],
            "month": [f"{month:02d}"],
            "day": [f"{day:02d}" for day in range(1, 32)],
            "time": [f"{hour:02d}:00" for hour in range(24)],
            "area": [north, west, south, east],
            "data_format": "netcdf",
            "download_format": "unarchived",
        }

        def fetch(path: Path, request: dict[str, object] = request) -> None:
            client: Client = importlib.import_module("cdsapi").Client(timeout=downloads.TIMEOUT, quiet=True)
            client.retrieve(data_set, request, str(path))

        name = f"era5_{year}_{month:02d}.nc"
        archives.append(_kept([data_set, request], name, fetch, f"cds:{data_set}/{name}", _CDS_ACCOUNT))
    return [each for path in archives for each in downloads.unpacked(path)], downloads.noted(archives)


def _months(start: datetime.datetime, stop: datetime.datetime) -> list[tuple[int, int]]:
    first, last = (12 * each.year + each.month - 1 for each in (start, stop))
    return [(number // 12, number % 12 + 1) for number in range(first, last + 1)]


# -------------------------------------------------------------------------------------------------- water


@source("water", "argopy", title="profiles of Argo floats, argopy", packages=("argopy",), work=ARGO)
def _water_of_argopy(place: Place, where: str) -> Found:
    """Profiles of floats around the position, from the data servers of Argo."""
    gap = datetime.timedelta(seconds=LONGEST_GAP)
    north = place.radius / 111.2
    east = north / max(math.cos(math.radians(place.latitude)), 0.05)
    south, north, west, east = place.box(north, east)
    box = [west, east, south, north, 0.0]
    box += [place.column + 200.0, f"{place.start - gap:%Y-%m-%d}", f"{place.stop + gap:%Y-%m-%d}"]

    def fetch(path: Path) -> None:
        fetcher: Client = importlib.import_module("argopy").DataFetcher().region(box)
        profiles = fetcher.to_xarray().argo.point2profile()
        profiles.to_netcdf(path)

    path = _kept(["argopy", box], "argo.nc", fetch, "argopy", "see argopy")
    return water_of_floats(place, _floats(path), downloads.noted([path]))


def _floats(path: Path) -> list[Any]:  # datasets of xarray
    """The profiles of each float."""
    import xarray as xr

    with xr.open_dataset(path) as file:
        whole = file.load()
    numbers = np.char.strip(whole["PLATFORM_NUMBER"].values.astype(str))
    found = [whole.isel(N_PROF=np.flatnonzero(numbers == number)) for number in np.unique(numbers)]
    for number, each in zip(np.unique(numbers), found, strict=True):
        each.encoding = {"source": str(number)}
    return found


@source(
    "water",
    "copernicus",
    title="Copernicus Marine global reanalysis (GLORYS12)",
    packages=("copernicusmarine",),
    work=COPERNICUS,
)
def _water_of_copernicus(place: Place, where: str) -> Found:
    """Daily temperature and salinity of a data set of Copernicus Marine; needs an account there."""
    longitude, data_set = (place.longitude + 180.0) % 360.0 - 180.0, where or GLORYS
    request = {
        "dataset_id": data_set,
        "variables": ["thetao", "so"],
        "minimum_longitude": longitude - 0.1,
        "maximum_longitude": longitude + 0.1,
        "minimum_latitude": place.latitude - 0.1,
        "maximum_latitude": place.latitude + 0.1,
        "minimum_depth": 0.0,
        "maximum_depth": place.column + 200.0,
        "start_datetime": f"{place.start - _DAY:%Y-%m-%dT%H:%M:%S}",
        "end_datetime": f"{place.stop + _DAY:%Y-%m-%dT%H:%M:%S}",
    }

    def fetch(path: Path) -> None:
        client: Client = importlib.import_module("copernicusmarine")
        name = f"{path.name}.nc"
        client.subset(**request, output_directory=str(path.parent), output_filename=name)
        path.with_name(name).replace(path)

    account = "run `copernicusmarine login` once: marine.copernicus.eu"
    path = _kept(request, "glorys.nc", fetch, f"copernicusmarine:{data_set}", account)
    return water_of_reanalysis(place, [path], downloads.noted([path]))


# -------------------------------------------------------------------------------------------------- tides


@source("tides", "pytmd", title="tidal current of an atlas, pyTMD", packages=("pyTMD",))
def _tides_of_pytmd(place: Place, where: str) -> Found:
    """The depth-mean tidal current of an atlas on this machine, predicted by pyTMD with minor constituents.

    `where` is MODEL@DIR, a model of pyTMD's database and the folder with its files, or the file of a
    definition in JSON, with files relative to its folder.
    """
    model, _, at = where.rpartition("@")
    path = Path(at).expanduser()
    if not (path.is_dir() if model else path.is_file()):
        expected = "MODEL@DIR with the folder of an atlas, or a definition FILE.json"
        raise FileFormatError(where or "--tides pytmd", "tides", expected, "none", "name one of them")
    options: dict[str, Any] = {"definition_file": path, "directory": path.parent}  # of several types
    if model:
        options = {"model": model, "directory": path}
    time = times_of(place.duration)
    epoch = tuple(place.start.timetuple()[:6])
    found: dict[str, np.ndarray] = {}

    def predict() -> None:
        compute: Client = importlib.import_module("pyTMD.compute")
        at = np.array([(place.longitude + 180.0) % 360.0 - 180.0]), np.array([place.latitude])
        current = compute.tide_currents(*at, time, epoch=epoch, type="time series", **options)
        found.update((axis, 0.01 * np.asarray(current[axis], dtype=float).reshape(-1)) for axis in ("u", "v"))

    asked(predict, "pyTMD", "")
    if not all(np.isfinite(values).all() and values.shape == time.shape for values in found.values()):
        got, advice = "missing values, as on land", "move the position, or use another atlas"
        raise FileFormatError(path, "tides", "a current at the position", got, advice)
    places = digests([path]) if not model else {f"{model}, {path}": ""}
    return tidal(place, time, found["u"], found["v"], places, [f"{model or path.name} by pyTMD"])
