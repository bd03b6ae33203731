"""Sources that are files: ERA5, Argo, WOA and other gridded water, bathymetry, waves, tidal constants."""

import csv
import datetime
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import io
from ...config import ConfigError
from ...io import sea_water
from ...io.axes import Record, axis_at, is_axis, is_position, read_at, read_time, stem_of
from ...io.checksums import sha256_of
from ...io.errors import FileFormatError, Source, existing_file, name_of, read_text
from ...io.netcdf import Contents, Reader, Variable, opened
from ...io.table import radiation_of_table
from ...io.yaml_file import NAMES
from .sources import Found, Place, Work, floor, source
from .tides import CONSTITUENTS, Harmonic, current

if TYPE_CHECKING:
    import xarray as xr

ERA5 = Work(
    "Copernicus licence (CC-BY 4.0 since 2025)",
    "Hersbach et al. (2020), Q. J. R. Meteorol. Soc. 146, 1999-2049, doi:10.1002/qj.3803",
)
ARGO = Work("CC-BY 4.0", "Argo (2000), data of Global Data Assembly Centres, doi:10.17882/42182")
WOA = Work(
    "public domain (NOAA)", "Reagan et al. (2024), World Ocean Atlas 2023, NOAA NCEI, doi:10.25921/va26-hv25"
)
COPERNICUS = Work(
    "Copernicus Marine Service licence", "Global Ocean Physics Reanalysis, doi:10.48670/moi-00021"
)
GEBCO = Work("public domain (GEBCO)", "GEBCO Compilation Group, GEBCO grid, gebco.net")
ETOPO = Work("public domain (NOAA)", "NOAA NCEI (2022), ETOPO 2022, doi:10.25921/fd45-gt74")

_MARGIN = 6.0 * 3600.0  # [s] of weather beside the run: means hold in the middle of their interval
LONGEST_GAP = 30.0 * 86400.0
"""Between the start and a measured profile [s]; three cycles of a float."""
LEVELS = -np.concatenate([np.arange(0.0, 200.0, 2.0), np.arange(200.0, 500.0, 5.0), np.arange(500, 2001, 20)])
"""Heights of measured profiles in the folder of a site [m]."""
_COORDINATES = {
    "latitude": ("latitude", "lat", "LAT", "LATITUDE", "nav_lat", "gridlat_t", "y"),
    "longitude": ("longitude", "lon", "LON", "LONGITUDE", "nav_lon", "gridlon_t", "x"),
    "depth": ("depth", "DEPTH", "deptht", "lev", "level"),
    "time": ("time", "valid_time", "TIME", "time_counter"),
}
_PLACE, _KINDS = ("latitude", "longitude"), {"depth": "vertical", "time": "time"}
TEMPERATURES = {"t_an": "in_situ", "thetao": "potential", "votemper": "potential", "PTEMP": "potential"}
TEMPERATURES |= {"temperature": "in_situ", "TEMP": "in_situ"}
SALINITIES = ("s_an", "so", "vosaline", "SALT", "salinity", "PSAL")
_ELEVATIONS = ("elevation", "z", "Band1", "altitude", "topo", "bathymetry")


def paths_of(where: str, option: str) -> list[Path]:
    """The NetCDF files of a folder, in order of their names, or one file.

    Raises:
        FileNotFoundError: neither, or a folder without such files.
    """
    if not where:
        raise ConfigError(f"{option}: expected a folder or file after the colon, got none; add it.")
    path = Path(where).expanduser()
    found = sorted(p for p in path.rglob("*.nc") if p.is_file()) if path.is_dir() else [path]
    if not found or not found[0].is_file():
        got = "a folder without any" if path.is_dir() else "no file or folder"
        raise FileNotFoundError(f"{option} {where}: expected NetCDF files, got {got}; check the path.")
    return found


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of files, by name."""
    return {path.name: _digest(path, path.stat().st_mtime_ns) for path in paths}


@functools.lru_cache(maxsize=1024)
def _digest(path: Path, changed: int) -> str:
    return sha256_of(path)


# ------------------------------------------------------------------------------------------------ weather


def era5_names() -> dict[str, str]:
    """Names of the parameters of ERA5 that a run can use, with their names in the Climate Data Store."""
    tables = [NAMES["era5"], *NAMES["era5_radiation"].values()]
    found = {}
    for table in tables:
        for entry in table.values():
            found |= dict.fromkeys((*entry["names"], *entry.get("means", ())), entry["download"])
    return found


@source("weather", "era5", title="ERA5 hourly data on single levels, files", work=ERA5)
def _weather_of_era5(place: Place, where: str) -> Found:
    """The weather from a folder of ERA5 files, at the position."""
    return weather_of_files(place, paths_of(where, "--weather era5"))


def weather_of_files(place: Place, paths: Sequence[Source], places: Mapping[str, str] | None = None) -> Found:
    """The weather of ERA5 files at the position; files of other areas are left out.

    Raises:
        FileFormatError: no file around the position, or times that do not cover the run.
    """
    series, used, notes, refused = series_at(place, paths, era5_names())
    if not series:
        raise refused or FileFormatError(
            paths[0], "file", "parameters of ERA5", "none", f"give files with {', '.join(era5_names())}"
        )
    files, air = _by_time(place, series, "weather"), {}
    if not {"ssrd", "strd"} <= series.keys():
        net, means = {"ssr", "str"} <= series.keys(), {"msdwswrf", "msdwlwrf", "avg_sdswrf", "avg_sdlwrf"}
        if net:
            air = {"shortwave": "net", "longwave": "net"}
        elif len(means & series.keys()) < 2:
            notes.append("radiation from the sun and the clouds: the files do not have both parts of it")
            air = {"shortwave": "clear_sky", "longwave": "clark"}
    if not {"tp", "mtpr", "avg_tprate"} & series.keys():
        notes.append(
            "without rain: evaporation alone changes the salinity; air_sea: {evaporation: false} turns it off"
        )
    case: dict[str, Any] = {"weather": {"format": "era5", "paths": list(files)}}  # as in a configuration
    case |= {"air_sea": air} if air else {}
    return Found(case, files, places or digests(used), tuple(notes))


@source("weather", "table", title="a table of the weather, file")
def _weather_of_table(place: Place, where: str) -> Found:
    """The weather of a station, ship or buoy: the records of a table during the run."""
    import xarray as xr

    if not where:
        raise ConfigError("--weather table: expected a file after the colon, got none; add it.")
    path = existing_file(Path(where).expanduser())
    table = io.read_table(path)
    if "time" not in table:
        raise table.error("time", "times under this name", f"only {table.listing}", "rename them")
    time = read_time(table["time"]).since(place.start_time)
    kept = np.flatnonzero((time >= -_MARGIN) & (time <= place.duration + _MARGIN))
    if not kept.size or time[kept[0]] > 0.0 or time[kept[-1]] < place.duration:
        axis, expected = read_time(table["time"]), f"records from {place.start} to {place.stop}"
        got = f"{axis.describe(0)} to {axis.describe(-1)}"
        raise FileFormatError(path, "time", expected, got, "choose other dates, or add the records")
    columns = {
        name: ("time", of.values[kept], _plain(of))
        for name, of in table.variables.items()
        if of.dims == table["time"].dims and of.values.dtype.kind in "fiu" and name != "time"
    }
    stamps = {"time": ("time", time[kept], place.clock)}
    radiation = {"shortwave": "clear_sky", "longwave": "clark"} | radiation_of_table(table)
    case = {"weather": {"format": "table", "paths": ["weather.nc"]}, "air_sea": radiation}
    notes = [f"{name} radiation by the formula {how}" for name, how in radiation.items() if how in _FORMULAE]
    return Found(case, {"weather.nc": xr.Dataset(columns | stamps)}, digests([path]), tuple(notes))


_FORMULAE = ("clear_sky", "clark")


def series_at(
    place: Place, paths: Sequence[Source], wanted: Iterable[str]
) -> tuple[dict[str, Record], list[Source], list[str], FileFormatError | None]:
    """Series of these variables at the position, during the run; files used, notes, and the last refusal."""
    pieces: dict[str, list[Record]] = {}
    used, left_out, refused = [], [], None
    for path in paths:
        try:
            found = read_at(path, set(wanted), place.position)
        except FileFormatError as error:
            refused = error
            left_out.append(stem_of(path))
            continue
        for variable, axis in found:
            time = axis.since(place.start_time)
            kept = (time >= -_MARGIN) & (time <= place.duration + _MARGIN)
            if kept.any():
                piece = Record(variable, axis, time[kept], variable.values[kept])
                pieces.setdefault(variable.name, []).append(piece)
                used += [] if any(path is one for one in used) else [path]
        if found and not used:
            name, axis = found[0][0].name, found[0][1]
            got, expected = f"{axis.describe(0)} to {axis.describe(-1)}", f"{place.start} to {place.stop}"
            refused = FileFormatError(
                path, name, f"times within {expected}", got, "choose other dates or files"
            )
    series = {name: _joined(several) for name, several in pieces.items()}
    notes = [f"left out {', '.join(left_out)}: {refused}"] if left_out else []
    for one in series.values():
        if one.time[0] > 0.0 or one.time[-1] < place.duration:
            first, last = (place.start + datetime.timedelta(seconds=float(one.time[i])) for i in (0, -1))
            expected, got = f"records from {place.start} to {place.stop}", f"{first} to {last}"
            advice = "add the files that are missing, or choose other dates"
            raise one.variable.error(expected, got, advice)
    return series, used, notes, refused


def _joined(several: list[Record]) -> Record:
    """Pieces one after the other; of records at one time, the first is kept."""
    time, values = (np.concatenate([getattr(one, key) for one in several]) for key in ("time", "values"))
    time, first = np.unique(time, return_index=True)
    return Record(several[0].variable, several[0].axis, time, values[first])


def _by_time(place: Place, series: Mapping[str, Record], stem: str) -> "dict[str, xr.Dataset]":
    """Series as files of one point, one for each set of times."""
    import xarray as xr

    groups: dict[bytes, dict[str, Record]] = {}
    for name, one in series.items():
        groups.setdefault(one.time.tobytes(), {})[name] = one
    files = {}
    for number, group in enumerate(groups.values(), 1):
        dims, time = ("valid_time", "latitude", "longitude"), next(iter(group.values())).time
        variables = {
            name: (dims, one.values[:, None, None], _plain(one.variable)) for name, one in group.items()
        }
        stamps = {"valid_time": ("valid_time", time, place.clock)}
        files[f"{stem}.nc" if number == 1 else f"{stem}_{number}.nc"] = xr.Dataset(
            variables | stamps | _point(place)
        )
    return files


def _point(place: Place) -> dict[str, tuple]:
    units = {"latitude": "degrees_north", "longitude": "degrees_east"}
    return {
        name: (name, [at], {"units": units[name], "standard_name": name})
        for name, at in place.position.items()
    }


def _plain(variable: Variable) -> dict[str, Any]:  # attributes of NetCDF
    names = ("units", "long_name", "standard_name", "GRIB_totalNumber", "GRIB_numberOfMembers")
    return {name: variable.attrs[name] for name in names if name in variable.attrs}


# -------------------------------------------------------------------------------------------------- water


@source("water", "argo", title="profiles of Argo floats, files", work=ARGO)
def _water_of_argo(place: Place, where: str) -> Found:
    """Profiles of floats near the position, from a folder of their files."""
    return water_of_floats(place, paths_of(where, "--water argo"))


def water_of_floats(place: Place, paths: Sequence[Source], places: Mapping[str, str] | None = None) -> Found:
    """Profiles of all floats within the radius around the position, from 30 days before the start on.

    Raises:
        FileFormatError: no profile within the radius and 30 days of the start.
    """
    levels = LEVELS[::-1]
    rows, used, notes, nearest = [], [], [], np.inf
    for path in paths:
        try:
            floats = io.read_argo_profiles(path)
            read = io.read_argo(path, z=levels, start_time=place.start_time)
        except FileFormatError as error:
            notes.append(f"left out {stem_of(path)}: {error}")
            continue
        if not {"temperature", "salinity"} <= read.profiles.keys():
            notes.append(f"left out {stem_of(path)}: it has no good salinity")
            continue
        distance, time = _distance(place, floats.latitude, floats.longitude), np.asarray(read.time)
        during = (time >= -LONGEST_GAP) & (time <= place.duration + LONGEST_GAP)
        nearest = min(nearest, *distance[during], np.inf)
        for at in np.flatnonzero(during & (distance <= place.radius)):
            both = [np.asarray(read.profiles[name])[at] for name in ("temperature", "salinity")]
            if all(np.isfinite(each).any() for each in both):
                rows.append((time[at], *both, floats.latitude[at], floats.longitude[at], stem_of(path)))
                used += [] if any(path is one for one in used) else [path]
    rows.sort(key=lambda row: row[0])
    rows = list({row[0]: row for row in rows}.values())  # one at each time
    if not rows or min(abs(row[0]) for row in rows) > LONGEST_GAP:
        expected = f"a profile within {place.radius:g} km and 30 days of {place.start}"
        got = f"none; the nearest of these dates is {nearest:.0f} km away" if np.isfinite(nearest) else "none"
        advice = "give more files, a larger --radius, or a climatology (--water woa:DIR)"
        raise FileFormatError(name_of(paths[0]), "JULD, LATITUDE, LONGITUDE", expected, got, advice)
    notes.append(f"{len(rows)} profiles of {len(used)} files within {place.radius:g} km")
    time, temperature, salinity, latitude, longitude, names = zip(*rows, strict=True)
    dataset = water_dataset(place, np.array(time), levels, np.stack(temperature), np.stack(salinity))
    dataset["profile_north"] = ("time", np.array(latitude), {"long_name": "latitude of the profile"})
    dataset["profile_east"] = ("time", np.array(longitude), {"long_name": "longitude of the profile"})
    dataset.attrs["floats"] = ", ".join(dict.fromkeys(names))
    return _water(dataset, places or digests(used), notes)


def _distance(place: Place, latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """From the position, on a sphere [km]."""
    a, b = np.deg2rad(place.latitude), np.deg2rad(latitude)
    half = np.deg2rad(longitude - place.longitude) / 2.0
    return (
        2.0
        * 6371.0
        * np.arcsin(np.sqrt(np.sin((b - a) / 2.0) ** 2 + np.cos(a) * np.cos(b) * np.sin(half) ** 2))
    )


def water_dataset(
    place: Place, time: np.ndarray, z: np.ndarray, temperature: np.ndarray, salinity: np.ndarray
) -> "xr.Dataset":
    """Conservative temperature and absolute salinity over time [s] and height [m], at least to the column."""
    import xarray as xr

    kept = z >= -place.column - 100.0
    depth = {"units": "m", "positive": "down", "axis": "Z", "standard_name": "depth"}
    names = {"TEMP": ("sea_water_conservative_temperature", "degC", temperature)}
    names["PSAL"] = ("sea_water_absolute_salinity", "g kg-1", salinity)
    variables = {
        name: (("time", "depth"), values[:, kept], {"standard_name": long, "units": unit})
        for name, (long, unit, values) in names.items()
    }
    axes = {"time": ("time", time, place.clock), "depth": ("depth", -z[kept], depth)}
    return xr.Dataset(variables | axes | _point(place))


def _of_levels(
    place: Place, time: np.ndarray, temperature: np.ndarray, salinity: np.ndarray, kind: str
) -> "xr.Dataset":
    """The same on the levels of the folder, from a kind of temperature and practical salinity."""
    grid = LEVELS[::-1]
    water = sea_water.modelled_water(
        temperature,
        salinity,
        grid,
        temperature_kind=kind,
        salinity_kind="practical",
        latitude=place.latitude,
        longitude=place.longitude,
    )
    return water_dataset(place, time, grid, *water)


def _water(dataset: "xr.Dataset", places: Mapping[str, str], notes: Iterable[str]) -> Found:
    section = {"format": "oceansites", "paths": ["water.nc"], "longest_gap": LONGEST_GAP}
    return Found({"observations": section}, {"water.nc": dataset}, places, tuple(notes))


@source("water", "woa", title="World Ocean Atlas, files", work=WOA)
def _water_of_woa(place: Place, where: str) -> Found:
    """A climatology of temperature and salinity from a folder of its files: months, below them the year."""
    paths = paths_of(where, "--water woa")
    means, notes = of_files(paths, lambda path: months_of(place, path))
    return climatology(means, place, digests(paths), notes)


class Mean(NamedTuple):
    """A profile of a climatology: its month, 0 for the year; depths [m]; values, NaN where none."""

    month: int
    quantity: str
    kind: str
    depth: np.ndarray
    values: np.ndarray


def months_of(place: Place, path: Path) -> list[Mean]:
    """Profiles of a climatology in a file at the position: of one month, of twelve, or of the year."""
    with opened(path) as read:
        return means_of(place, read, path.name)


def means_of(place: Place, read: Reader, name: str) -> list[Mean]:
    """The same of an open file, whose name tells its month as those of the World Ocean Atlas do."""
    file, found = read(only=()), []
    coded = re.search(r"_[ts](\d\d)(?:_|\.|mn)", name)
    for key in (*TEMPERATURES, *SALINITIES):
        if key not in file.dims:
            continue
        depth, values, _ = columns_at(place, read, key)
        quantity = "temperature" if key in TEMPERATURES else "salinity"
        if len(values) == 12:
            months = list(range(1, 13))
        else:
            months = [int(coded[1]) if coded else 0]
        found += [
            Mean(month, quantity, TEMPERATURES.get(key, "practical"), depth, row)
            for month, row in zip(months, values, strict=False)
            if month <= 12  # seasons have numbers above
        ]
    return found


def climatology(
    means: Sequence[Mean], place: Place, places: Mapping[str, str], more: Sequence[str] = ()
) -> Found:
    """Monthly profiles in the middle of each month of the run, with the yearly one below and without months.

    Raises:
        FileFormatError: no temperature or no salinity at the position.
    """
    times = _middles(place)
    both = {}
    for quantity in ("temperature", "salinity"):
        own = [one for one in means if one.quantity == quantity and np.isfinite(one.values).any()]
        if not own:
            where, advice = next(iter(places), "files"), "give both, and a place in the sea"
            expected = f"values of {quantity} ({', '.join((*TEMPERATURES, *SALINITIES))}) at the position"
            raise FileFormatError(where, quantity, expected, "none", advice)
        by_month = {one.month: one for one in own}
        both[quantity] = np.stack([_profile(by_month, time.month) for time in times])
    kind = next(one.kind for one in means if one.quantity == "temperature")
    seconds = np.array([(time - place.start).total_seconds() for time in times])
    months = sorted({one.month for one in means})
    notes = ["only the mean of the year"] if months == [0] else [f"{len(set(months) - {0})} months"]
    return _water(_of_levels(place, seconds, **both, kind=kind), places, [*notes, *more])


def _middles(place: Place) -> list[datetime.datetime]:
    """Middles of the months from before the start to after the stop."""
    year, month, found = place.start.year, place.start.month - 1, []
    while not found or found[-1] < place.stop:
        found.append(datetime.datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 16))
        month += 1
    return found


def _profile(means: Mapping[int, Mean], month: int) -> np.ndarray:
    """On the levels: the month or the nearest one, below it the year."""
    yearly = means.get(0)
    distance = lambda one: min((one - month) % 12, (month - one) % 12)  # noqa: E731
    chosen = means.get(month) or yearly or means[min(means, key=distance)]
    known = np.isfinite(chosen.values)
    depth, values = chosen.depth[known], chosen.values[known]
    if yearly is not None and yearly is not chosen:
        below = np.isfinite(yearly.values) & (yearly.depth > depth.max(initial=-1.0))
        depth, values = np.append(depth, yearly.depth[below]), np.append(values, yearly.values[below])
    return _on_levels(depth, values)


@source("water", "mooring", title="profiles of a mooring, files")
def _water_of_mooring(place: Place, where: str) -> Found:
    """Profiles of a mooring, from files of OceanSITES, IMOS or CMEMS, or text.

    Raises:
        FileFormatError: no temperature or no salinity within 30 days of the start.
    """
    path = Path(where).expanduser()
    texts = sorted(path.glob("*.dat")) if path.is_dir() else []
    paths = [*texts, *(paths_of(where, "--water mooring") if not texts else [])]
    read = io.read_oceansites(
        paths,
        start_time=place.start_time,
        position=(place.latitude, place.longitude),
        name=place.name,
    )
    time, margin = np.asarray(read.time), LONGEST_GAP
    kept = (time >= -margin) & (time <= place.duration + margin)
    both = {"temperature", "salinity"} <= read.profiles.keys()
    if not both or not kept.any() or time[kept][0] > margin:
        expected, got = "temperature and salinity within 30 days of the start", ", ".join(read.profiles)
        raise FileFormatError(path, "time", expected, got, "choose other dates, or another source")
    profiles = (np.asarray(read.profiles[name])[kept] for name in ("temperature", "salinity"))
    dataset = water_dataset(place, time[kept], np.asarray(read.z), *profiles)
    return _water(dataset, digests(paths), read.notes)


@source("water", "gridded", title="gridded temperature and salinity over time, files")
def _water_of_grid(place: Place, where: str) -> Found:
    """Profiles of a reanalysis, such as GLORYS12, from its files."""
    paths = paths_of(where, "--water gridded")
    return water_of_reanalysis(place, paths, digests(paths))


def water_of_reanalysis(place: Place, paths: Sequence[Path], places: Mapping[str, str]) -> Found:
    """Temperature and salinity over time and depth at the position.

    Raises:
        FileFormatError: one of them is missing, or times that do not cover the start.
    """
    found, notes = of_files(paths, lambda path: _gridded(place, path))
    joined, kinds = {}, [kind for kind, _, _ in found if kind != "practical"]
    for quantity, is_own in (("temperature", False), ("salinity", True)):
        several = [one[1:] for one in found if (one[0] == "practical") == is_own]
        if not several:
            expected = f"{quantity} ({', '.join((*TEMPERATURES, *SALINITIES))})"
            raise FileFormatError(paths[0], quantity, expected, "none", "give files with both")
        time, first = np.unique(np.concatenate([time for time, _ in several]), return_index=True)
        joined[quantity] = time, np.concatenate([values for _, values in several])[first]
    (time, temperature), (other, salinity) = joined.values()
    if not np.array_equal(time, other):
        expected, got = "temperature and salinity at the same times", f"{time.size} and {other.size} times"
        raise FileFormatError(paths[0], "time", expected, got, "give both at all times")
    near = (time >= -LONGEST_GAP) & (time <= place.duration + LONGEST_GAP)
    if not near.any() or time[near][0] > LONGEST_GAP:
        expected, advice = f"a profile within 30 days of {place.start}", "add files, or choose other dates"
        raise FileFormatError(paths[0], "time", expected, f"{time.size} at other times", advice)
    water = _of_levels(place, time[near], temperature[near], salinity[near], kinds[0])
    return _water(water, places, [f"{near.sum()} profiles", *notes])


def of_files(paths: Sequence[Path], read: Callable[[Path], list]) -> tuple[list, list[str]]:
    """What files give, one after the other; those of other areas or kinds are left out, with a note.

    Raises:
        FileFormatError: the last reason, where none gives anything.
    """
    found, left_out, refused = [], [], None
    for path in paths:
        try:
            found += read(path)
        except FileFormatError as error:
            refused = error
            left_out.append(path.name)
    if not found:
        advice = "give files with temperature and salinity"
        raise refused or FileFormatError(paths[0], "file", "temperature or salinity", "none", advice)
    return found, [f"left out {', '.join(left_out)}: {refused}"] if left_out else []


def _gridded(place: Place, path: Path) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Kinds, times [s] and profiles on the levels of temperature and salinity in a file."""
    found = []
    with opened(path) as read:
        names = read(only=()).dims
        for key in [key for key in (*TEMPERATURES, *SALINITIES) if key in names]:
            depth, values, time = columns_at(place, read, key)
            profiles = np.stack([_on_levels(depth, row) for row in values])
            found.append((TEMPERATURES.get(key, "practical"), time, profiles))
    return found


def _on_levels(depth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Linear; constant above the uppermost value, NaN below the deepest."""
    known = np.isfinite(values)
    if not known.any():
        return np.full(LEVELS.shape, np.nan)
    return np.interp(-LEVELS[::-1], depth[known], values[known], right=np.nan)


def columns_at(place: Place, read: Reader, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depths [m], values over (time, depth) and times [s] of a variable, linear between points with values.

    Raises:
        FileFormatError: no coordinates, or a position outside the grid.
    """
    file, variable, weights = _around(place, read, name)
    dims = {
        axis: _coordinate(file, axis, variable.dims, needed=axis == "depth") for axis in ("time", "depth")
    }
    order = [variable.dims.index(each.dims[0]) for each in dims.values() if each is not None]
    values = variable.numbers().transpose(
        [*order, *(i for i in range(variable.values.ndim) if i not in order)]
    )
    values = values if dims["time"] is not None else values[None]
    values, depth = _weighted(values, weights), dims["depth"]
    assert depth is not None  # it was needed
    time = np.zeros(1)
    if (
        dims["time"] is not None
        and len(values) != 12
        and "months" not in str(dims["time"].attrs.get("units"))
    ):
        time = read_time(dims["time"]).since(place.start_time)
    return np.abs(depth.numbers()), values, time


def _weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Over the two last axes, by the points with values; NaN without any."""
    known = np.isfinite(values)
    total = np.sum(weights * known, axis=(-2, -1))
    total = np.where(total > 0.0, total, np.nan)
    return np.asarray(np.sum(np.where(known, values, 0.0) * weights, axis=(-2, -1)) / total)


def _coordinate(file: Contents, axis: str, dims: Sequence[str], *, needed: bool = True) -> Variable | None:
    """The coordinate of one of these dimensions that is this axis, by a usual name or its attributes."""
    along = [one for one in file.variables.values() if len(one.dims) == 1 and one.dims[0] in dims]
    named = sorted(along, key=lambda one: one.name != one.dims[0])
    for one in [*(each for each in named if each.name in _COORDINATES[axis]), *named]:
        is_own = one.name in _COORDINATES[axis]
        if is_own or (is_position(one, axis) if axis in _PLACE else is_axis(one, _KINDS[axis])):
            return one
    if needed:
        raise file.error(axis, f"a coordinate {axis} of one dimension", "none", "use the file as published")
    return None


def _axes(place: Place, file: Contents, dims: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    """By dimension, latitude first: the points on either side of a place, increasing, and their weights."""
    found = {}
    for axis, target in place.position.items():
        coordinate = _coordinate(file, axis, dims)
        assert coordinate is not None  # it was needed
        at = axis_at(coordinate, axis, target)
        found[at.name] = sorted(at.weights)
    return found


def _around(place: Place, read: Reader, name: str) -> tuple[Contents, Variable, np.ndarray]:
    """Coordinates, a variable at the points around the position (these last), and weights of the points."""
    dims = read(only=()).dims[name]
    file = read(only={*dims, *(each for names in _COORDINATES.values() for each in names)})
    chosen = _axes(place, file, dims)
    at = {dim: [index for index, _ in pairs] for dim, pairs in chosen.items()}
    variable = read(only=(name,), at=at)[name]
    others = [dim for dim in variable.dims if dim not in chosen]
    variable = variable.along([*others, *chosen], "choose one member")
    rows, columns = ([weight for _, weight in pairs] for pairs in chosen.values())
    return file, variable, np.outer(rows, columns)


# -------------------------------------------------------------------------------------------------- depth


def depth_of_files(place: Place, where: str, option: str) -> Found:
    """The depth from a grid of the elevation of the sea floor.

    Raises:
        FileFormatError: no elevation, or land at the position.
    """
    paths, refused = paths_of(where, option), None
    for path in paths:
        try:
            with opened(path) as read:
                return floor(place, elevation_at(place, read), digests([path]), path.name)
        except FileFormatError as error:
            refused = error
    assert refused is not None  # there is a file
    raise refused


def elevation_at(place: Place, read: Reader) -> float:
    """Depth of the sea floor [m] in an open file of its elevation."""
    file = read(only=())
    name = next((each for each in _ELEVATIONS if each in file.dims), None)
    if name is None:
        expected = f"the elevation of the sea floor ({', '.join(_ELEVATIONS)})"
        raise file.error("elevation", expected, file.listing, "use a grid of GEBCO or ETOPO")
    _, variable, weights = _around(place, read, name)
    elevation = float(_weighted(variable.numbers().reshape(weights.shape), weights))
    if not elevation < -1.0:
        got, advice = f"{elevation:.0f} m, which is land", "move the position, or give --depth METRES"
        raise variable.error("a sea floor below -1 m at the position", got, advice)
    return -elevation


source("depth", "gebco", title="GEBCO grid, files", work=GEBCO)(
    functools.partial(depth_of_files, option="--depth gebco")
)
source("depth", "etopo", title="ETOPO grid, files", work=ETOPO)(
    functools.partial(depth_of_files, option="--depth etopo")
)


# -------------------------------------------------------------------------------------- waves and tides

WAVES = ("ust", "vst", "mwp", "swh", "mwd")


@source("waves", "era5", title="ERA5 ocean waves, files", work=ERA5)
def _waves_of_era5(place: Place, where: str) -> Found:
    """Waves from a folder of ERA5 files, at the position."""
    return waves_of_files(place, paths_of(where, "--waves era5"))


def waves_of_files(place: Place, paths: Sequence[Path], places: Mapping[str, str] | None = None) -> Found:
    """Stokes drift and its depth, from `ust`, `vst`, or from `swh` and `mwd`, and `mwp`.

    A monochromatic wave in deep water of period T and height H: u = pi^3 H^2 / (g T^3) at the surface,
    which decays over g T^2 / (8 pi^2). Source: Kenyon (1969), J. Geophys. Res. 74, 6991-6994.
    """
    series, used, notes, refused = series_at(place, paths, WAVES)
    drift = {"ust", "vst"} <= series.keys()
    if "mwp" not in series or not (drift or {"swh", "mwd"} <= series.keys()):
        got = ", ".join(series) or "none"
        raise refused or FileFormatError(
            paths[0], "mwp", "mwp with ust and vst, or with swh and mwd", got, "download them"
        )
    time, period = series["mwp"].time, series["mwp"].values
    on = lambda name: np.interp(time, series[name].time, series[name].values)  # noqa: E731
    if drift:
        u, v = on("ust"), on("vst")
    else:
        speed, direction = np.pi**3 * on("swh") ** 2 / (9.81 * period**3), np.deg2rad(on("mwd"))
        u, v = -speed * np.sin(direction), -speed * np.cos(direction)  # from where they come
        notes.append("Stokes drift of a monochromatic wave of the mean period")
    values = {"u": ("m s-1", u), "v": ("m s-1", v), "decay_depth": ("m", 9.81 * period**2 / (8.0 * np.pi**2))}
    values |= {"height": ("m", on("swh"))} if "swh" in series else {}
    timed = {name: {"path": "waves.nc", "variable": name} for name in ("u", "v", "decay_depth")}
    interior: dict[str, Any] = {"stokes_drift": {"kind": "exponential", **timed}}  # as in a configuration
    interior |= {"wave_height": {"path": "waves.nc", "variable": "height"}} if "swh" in series else {}
    file = series_dataset(place, time, values)
    return Found({"interior": interior}, {"waves.nc": file}, places or digests(used), tuple(notes))


def series_dataset(
    place: Place, time: np.ndarray, values: Mapping[str, tuple[str, np.ndarray]]
) -> "xr.Dataset":
    """Series with their units over time [s] since the start."""
    import xarray as xr

    series = {name: ("time", one, {"units": unit}) for name, (unit, one) in values.items()}
    return xr.Dataset(series | {"time": ("time", time, place.clock)})


@source("tides", "harmonics", title="tidal current by harmonic constants, a table")
def _tides_of_harmonics(place: Place, where: str) -> Found:
    """The depth-mean tidal current from a table of constants.

    Its columns are `constituent`, `amplitude_u`, `amplitude_v` [m s-1], `phase_u`, `phase_v` [degrees, lag of
    Greenwich].
    """
    path, constants = Path(where).expanduser(), []
    names = ("constituent", "amplitude_u", "phase_u", "amplitude_v", "phase_v")
    for at, row in rows_of(path, "a table of tidal constants", names):
        name = row["constituent"].upper()
        if name not in CONSTITUENTS:
            expected = f"a constituent among {', '.join(CONSTITUENTS)}"
            raise FileFormatError(path, at, expected, name, "leave it out")
        constants.append(Harmonic(name, *(number_in(path, at, row, key) for key in names[1:])))
    time, u, v = current(constants, place.start, place.duration)
    return tidal(place, time, u, v, digests([path]), [f"{len(constants)} constituents"])


def rows_of(path: Path, kind: str, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The lines of a table with a line of names, by column, each with its number for messages.

    Raises:
        FileFormatError: a column that is missing.
    """
    lines = csv.DictReader(read_text(path, kind, "utf-8-sig").splitlines())
    names = [str(name).strip() for name in lines.fieldnames or ()]
    if not set(needed) <= set(names):
        got = ", ".join(names) or "none"
        raise FileFormatError(path, "line 1", f"names of columns with {', '.join(needed)}", got, "add them")
    for number, line in enumerate(lines, 2):
        yield f"line {number}", {str(key).strip(): str(value).strip() for key, value in line.items() if value}


def number_in(path: Path, at: str, row: Mapping[str, str], key: str) -> float:
    """A number of a row; raises `FileFormatError`."""
    try:
        return float(row.get(key, ""))
    except ValueError:
        raise FileFormatError(path, f"{at}, {key}", "a number", row.get(key, "none"), "correct it") from None


def tidal(
    place: Place,
    time: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    places: Mapping[str, str],
    notes: Sequence[str],
) -> Found:
    """The slope of the surface that drives this depth-mean current [m s-1]."""
    file = series_dataset(place, time, {"u": ("m s-1", u), "v": ("m s-1", v)})
    parts = {axis: {"path": "tides.nc", "variable": name} for axis, name in (("x", "u"), ("y", "v"))}
    case = {"interior": {"pressure_gradient": {"kind": "mean_velocity", **parts}, "bottom_friction": {}}}
    return Found(case, {"tides.nc": file}, places, tuple(notes))
