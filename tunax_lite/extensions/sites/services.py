"""Sources that are services: Climate Data Store, ARCO-ERA5, Argo, OPeNDAP, Copernicus Marine, ERDDAP.

What they answer is kept in the cache of `downloads`, and read by the functions of `files`.
"""

import datetime
import functools
import importlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._types import JSON
from ...io.axes import axis_at, read_time
from ...io.errors import FileFormatError, shortened
from ...io.netcdf import Variable, opened
from . import downloads
from .files import (
    ARGO,
    COPERNICUS,
    ERA5,
    ETOPO,
    LONGEST_GAP,
    WOA,
    Mean,
    climatology,
    digests,
    elevation_at,
    era5_names,
    means_of,
    tidal,
    water_of_floats,
    water_of_reanalysis,
    waves_of_files,
    weather_of_files,
)
from .sources import Found, Place, floor, merged, source
from .tides import times_of

Client = Any  # of an optional package
ARCO_ADDRESS = (
    "https://storage.googleapis.com/gcp-public-data-arco-era5/ar/full_37-1h-0p25deg-chunk-1.zarr-v3"
)
WOA_ADDRESS = "https://www.ncei.noaa.gov/thredds-ocean/dodsC/woa23/DATA"
ERDDAP_ADDRESS = "https://coastwatch.pfeg.noaa.gov/erddap/griddap/etopo180"
GLORYS = "cmems_mod_glo_phy_my_0.083deg_P1D-m"
_MOST_BYTES = 20e9
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


@source("weather", "arco", title="ARCO-ERA5, analysis-ready ERA5", packages=("zarr",), work=ERA5)
def _weather_of_arco(place: Place, where: str) -> Found:
    """The weather from a Zarr store of ERA5 over HTTPS; only its pieces of the run are fetched.

    Raises:
        FileFormatError: a parameter or piece that is missing, or more than 20 GB: its pieces hold the globe.
    """
    import xarray as xr

    base = (where or ARCO_ADDRESS).rstrip("/")
    store = _Store(base)
    axes = {name: store.values(name) for name in ("time", "latitude", "longitude")}
    clock = Variable(Path(base), "time", ("time",), axes["time"], store.attributes("time"))
    since = read_time(clock).since(place.start_time)
    at = (since >= -3600.0) & (since <= place.duration + 3600.0)
    if not at.any():
        raise FileFormatError(base, "time", f"times around {place.start}", "others", "choose other dates")
    hours = slice(int(np.flatnonzero(at)[0]), int(np.flatnonzero(at)[-1]) + 1)
    rows, columns = (_beside(place, store, axis) for axis in ("latitude", "longitude"))
    short = {long: name for name, long in reversed(era5_names().items())}
    missing = [name for name in _WEATHER if name not in store and name not in ("total_cloud_cover",)]
    if missing:
        raise FileFormatError(base, missing[0], ", ".join(missing), "a store without", "choose another store")
    parts = {name: store.part(name, (hours, rows, columns)) for name in _WEATHER if name in store}
    store.fetch(parts)
    dims = ("time", "latitude", "longitude")
    variables = {
        short[name]: (dims, store.read(name, (hours, rows, columns)), store.attributes(name))
        for name in parts
    }
    coordinates = {
        "time": ("time", axes["time"][hours], store.attributes("time")),
        "latitude": ("latitude", axes["latitude"][rows], {"units": "degrees_north"}),
        "longitude": ("longitude", axes["longitude"][columns], {"units": "degrees_east"}),
    }
    dataset = xr.Dataset(variables | coordinates, attrs={"id": base})
    found = weather_of_files(place, [dataset], {base: store.digest})
    return Found(merged(found.case, HOURLY), found.files, found.places, found.notes)


def _beside(place: Place, store: "_Store", axis: str) -> list[int]:
    """Indices of the points on either side of the place, increasing."""
    points = Variable(Path(store.base), axis, (axis,), store.values(axis), store.attributes(axis))
    return axis_at(points, axis, place.position[axis]).at


class _Store:
    """A Zarr store of version 2 over HTTPS: its pieces are fetched, and read by zarr from the cache."""

    def __init__(self, base: str):
        path = downloads.download(f"{base}/.zmetadata")
        try:
            self._metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
        except (ValueError, KeyError, TypeError):
            expected = "the consolidated metadata of a Zarr store (version 2)"
            raise FileFormatError(base, ".zmetadata", expected, "others", "check the address") from None
        self.base, self._pieces = base, dict[str, Path]()
        self.digest = downloads.noted([path])[f"{base}/.zmetadata"]

    def __contains__(self, name: str) -> bool:
        return f"{name}/.zarray" in self._metadata

    def _array(self, name: str) -> dict[str, Any]:  # JSON
        if name not in self:
            raise FileFormatError(self.base, name, f"an array {name}", "none", "choose another store")
        return self._metadata[f"{name}/.zarray"]

    def attributes(self, name: str) -> dict[str, Any]:  # JSON
        """Of an array, without those of xarray."""
        found = self._metadata.get(f"{name}/.zattrs", {})
        return {key: value for key, value in found.items() if not key.startswith("_")}

    def part(self, name: str, at: Sequence[slice | list[int]]) -> list[str]:
        """Keys of the pieces that hold these indices."""
        array, ranges = self._array(name), []
        for index, length in zip(at, array["chunks"], strict=True):
            ends = (index.start, index.stop - 1) if isinstance(index, slice) else (index[0], index[-1])
            inside = range(ends[0] // length, ends[1] // length + 1)
            ranges.append(inside if isinstance(index, slice) else sorted({one // length for one in index}))
        separator = array.get("dimension_separator", ".")
        grids = np.stack([each.ravel() for each in np.meshgrid(*map(list, ranges), indexing="ij")], axis=1)
        return [f"{name}/{separator.join(map(str, row))}" for row in grids.tolist()]

    def fetch(self, parts: dict[str, list[str]]) -> None:
        """Download pieces that are not there; more than the limit is refused before."""
        size = 0.0
        for name, keys in parts.items():
            array = self._array(name)
            size += len(keys) * math.prod(array["chunks"]) * np.dtype(array["dtype"]).itemsize
        if size > _MOST_BYTES:
            expected, got = (
                f"at most {_MOST_BYTES / 1e9:g} GB of pieces",
                f"{size / 1e9:.0f} GB before packing",
            )
            advice = "choose a shorter run, another store whose pieces are long in time, or --weather cds"
            raise FileFormatError(self.base, "pieces", expected, got, advice)
        keys = [key for each in parts.values() for key in each if key not in self._pieces]
        paths = downloads.download_all(f"{self.base}/{key}" for key in keys)
        self._pieces |= dict(zip(keys, paths, strict=True))

    def read(self, name: str, at: Sequence[slice | list[int]]) -> np.ndarray:
        """Values of fetched pieces."""
        import zarr

        texts = {f"{name}/.zarray": json.dumps(self._array(name)), ".zgroup": '{"zarr_format": 2}'}
        files = {key: path.read_bytes() for key, path in self._pieces.items() if key.startswith(f"{name}/")}
        buffers = importlib.import_module("zarr.core.buffer").default_buffer_prototype().buffer
        held = {key: buffers.from_bytes(text.encode()) for key, text in texts.items()}
        held |= {key: buffers.from_bytes(data) for key, data in files.items()}
        group = zarr.open_group(
            importlib.import_module("zarr.storage").MemoryStore(held), mode="r", zarr_format=2
        )
        array: Any = group[name]  # an array, not a group
        return np.asarray(array.oindex[tuple(at)], dtype=float)

    def values(self, name: str) -> np.ndarray:
        """A whole coordinate."""
        whole = [slice(0, n) for n in self._array(name)["shape"]]
        self.fetch({name: self.part(name, whole)})
        return self.read(name, whole)


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


@source("water", "thredds", title="World Ocean Atlas 2023, OPeNDAP", work=WOA)
def _water_of_thredds(place: Place, where: str) -> Found:
    """The climatology of the World Ocean Atlas at the position, from a server of OPeNDAP: months and year."""
    base, months = (where or WOA_ADDRESS).rstrip("/"), {0}
    months |= {month for _, month in _months(place.start - 16 * _DAY, place.stop + 16 * _DAY)}
    paths = []
    for folder, letter in (("temperature", "t"), ("salinity", "s")):
        for month in sorted(months):
            name = f"woa23_decav_{letter}{month:02d}_01.nc"
            address = f"{base}/{folder}/netcdf/decav/1.00/{name}"
            ask = functools.partial(_by_opendap, place, address, name)
            key = f"{address} {place.latitude} {place.longitude}"
            paths.append(downloads.kept(key, f"{name}.json", ask, address))
    means = [_mean(one) for path in paths for one in json.loads(path.read_text(encoding="utf-8"))]
    return climatology(means, place, downloads.noted(paths))


def _by_opendap(place: Place, address: str, name: str, path: Path) -> None:
    """Write the profiles of one file at the position."""
    import netCDF4
    import xarray as xr

    netCDF4.rc_set("HTTP.TIMEOUT", f"{downloads.TIMEOUT:.0f}")
    try:
        with xr.open_dataset(address, engine="netcdf4", decode_cf=False) as dataset, opened(dataset) as read:
            means = means_of(place, read, name)
    except (FileFormatError, IndexError) as error:
        if isinstance(error, FileFormatError) and error.__cause__ is None:
            raise
        # The library fails in its own ways where the connection breaks.
        raise OSError("an answer that ends too early") from error
    rows = [{**one._asdict(), "depth": one.depth.tolist(), "values": one.values.tolist()} for one in means]
    path.write_text(json.dumps(rows), encoding="utf-8")


def _mean(row: dict[str, Any]) -> Mean:  # JSON
    depth, values = (np.array(row[key], dtype=float) for key in ("depth", "values"))
    return Mean(int(row["month"]), row["quantity"], row["kind"], depth, values)


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


# -------------------------------------------------------------------------------------------------- depth


@source("depth", "erddap", title="ETOPO grid, ERDDAP", work=ETOPO)
def _depth_of_erddap(place: Place, where: str) -> Found:
    """The depth from a data set of ERDDAP with the elevation of the sea floor, as `ADDRESS?VARIABLE`."""
    base, _, variable = (where or f"{ERDDAP_ADDRESS}?altitude").partition("?")
    longitude = (place.longitude + 180.0) % 360.0 - 180.0
    ranges = [
        f"[({max(low, centre - 0.05):.4f}):({min(high, centre + 0.05):.4f})]"
        for centre, low, high in ((place.latitude, -89.9, 89.9), (longitude, -179.9, 179.9))
    ]
    path = downloads.download(f"{base}.nc?{variable or 'altitude'}{''.join(ranges)}")
    with opened(path) as read:
        return floor(place, elevation_at(place, read), downloads.noted([path]), base)


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
