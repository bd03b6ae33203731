"""Temperature and salinity: floats, moorings, reanalyses and climatologies, from files or services.

All but moorings become `water.nc`: profiles of conservative temperature and absolute salinity over time, from
which a run starts, and with which it is compared.
"""

import datetime
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import io
from ...io import sea_water
from ...io.axes import stem_of
from ...io.errors import FileFormatError, Source, name_of
from ...io.netcdf import opened
from ...plausibility.rules import distance_of
from ...runtime.machine import needed
from .grids import columns_at
from .place import Section, Site, failures_of, netcdf_files

_LONGEST_GAP = 30.0 * 86400.0
"""Longest time between the run and a profile that is used [s]: three cycles of a float."""
_LEVELS = -np.concatenate([np.arange(2000, 500, -20), np.arange(500, 200, -5), np.arange(200, -1, -2)])
"""Heights of the profiles, deepest first [m]."""
_TEMPERATURES = {
    "t_an": "in_situ",
    "thetao": "potential",
    "votemper": "potential",
    "PTEMP": "potential",
    "temperature": "in_situ",
    "TEMP": "in_situ",
}
"""Kind of temperature by name in gridded files."""
_SALINITIES = ("s_an", "so", "vosaline", "SALT", "salinity", "PSAL")
_GLORYS = "cmems_mod_glo_phy_my_0.083deg_P1D-m"
_DAY = datetime.timedelta(days=1)


# ------------------------------------------------------------------------------------- floats and moorings


def argo(place: Site, where: str) -> Section:
    """Write the profiles of floats near the place, from their files."""
    return _floats(place, netcdf_files(where, "--water argo"))


def argopy(place: Site, where: str) -> Section:
    """Write the profiles of floats near the place, from the data servers of Argo."""
    client: Any = needed("argopy", "--water argopy", "or give files (argo:DIR)")
    margin = place.radius / 111.2  # [degrees]
    south, north, west, east = place.box(margin, margin / max(math.cos(math.radians(place.latitude)), 0.05))
    gap = datetime.timedelta(seconds=_LONGEST_GAP)
    dates = [f"{place.start - gap:%Y-%m-%d}", f"{place.stop + gap:%Y-%m-%d}"]
    with failures_of("argopy", "see the documentation of argopy"):
        points = client.DataFetcher().region([west, east, south, north, 0.0, place.column + 200.0, *dates])
        profiles = points.to_xarray().argo.point2profile()
    numbers = np.char.strip(profiles["PLATFORM_NUMBER"].values.astype(str))
    floats = []
    for number in np.unique(numbers):
        floats.append(profiles.isel(N_PROF=np.flatnonzero(numbers == number)))
        floats[-1].encoding = {"source": str(number)}
    return _floats(place, floats)


def _floats(place: Site, sources: Sequence[Source]) -> Section:
    """Write the profiles within the radius and at most 30 days outside the run; one float per source.

    Raises:
        FileFormatError: no profile within the radius and 30 days of the start.
    """
    profiles, names, nearest = {}, [], np.inf
    for source in sources:
        stored = io.open_observations(source, format="argo")
        observed = io.read_argo(source, z=_LEVELS, start_time=place.start_time)
        if not {"temperature", "salinity"} <= observed.profiles.keys():
            continue
        time = np.asarray(observed.time)
        site = place.latitude, place.longitude
        distance = distance_of(stored["latitude"].values, stored["longitude"].values, site)
        for at in np.flatnonzero((time >= -_LONGEST_GAP) & (time <= place.duration + _LONGEST_GAP)):
            both = [np.asarray(observed.profiles[name])[at] for name in ("temperature", "salinity")]
            if not all(np.isfinite(values).any() for values in both):
                continue
            if abs(time[at]) <= _LONGEST_GAP:
                nearest = min(nearest, distance[at])
            if distance[at] <= place.radius:
                profiles[time[at]] = both
                names.append(stem_of(source))
    if not profiles or min(map(abs, profiles)) > _LONGEST_GAP:
        expected = f"a profile within {place.radius:g} km and 30 days of {place.start}"
        got = f"none; the nearest in these days is {nearest:.0f} km away" if np.isfinite(nearest) else "none"
        advice = "give more files, a larger --radius, or a climatology (--water woa:DIR)"
        raise FileFormatError(name_of(sources[0]), "JULD, LATITUDE, LONGITUDE", expected, got, advice)
    time = np.array(sorted(profiles))
    temperature, salinity = (np.stack([profiles[each][i] for each in time]) for i in (0, 1))
    return _written(place, time, temperature, salinity, floats=", ".join(dict.fromkeys(names)))


def mooring(place: Site, where: str) -> Section:
    """Return the profiles of a mooring, which a run reads itself: OceanSITES, IMOS, CMEMS or text."""
    path = Path(where).expanduser().absolute()
    paths = [path] if path.is_file() else netcdf_files(where, "--water mooring")
    return {
        "observations": {"format": "oceansites", "paths": [*map(str, paths)], "longest_gap": _LONGEST_GAP}
    }


# ----------------------------------------------------------------------------- reanalyses and climatologies


def gridded(place: Site, where: str) -> Section:
    """Write the profiles of a reanalysis, such as GLORYS12, from its files."""
    return _reanalysis(place, netcdf_files(where, "--water gridded"))


def copernicus(place: Site, where: str) -> Section:
    """Write the daily profiles of GLORYS12 or another data set; needs an account of Copernicus Marine."""
    client: Any = needed("copernicusmarine", "--water copernicus", "or give files (gridded:DIR)")
    south, north, west, east = place.box(0.1, 0.1)
    place.folder.mkdir(parents=True, exist_ok=True)
    with failures_of(f"copernicusmarine: {where or _GLORYS}", "run `copernicusmarine login` once"):
        client.subset(
            dataset_id=where or _GLORYS,
            variables=["thetao", "so"],
            minimum_longitude=west,
            maximum_longitude=east,
            minimum_latitude=south,
            maximum_latitude=north,
            minimum_depth=0.0,
            maximum_depth=place.column + 200.0,
            start_datetime=(place.start - _DAY).isoformat(),
            end_datetime=(place.stop + _DAY).isoformat(),
            output_directory=str(place.folder),
            output_filename="copernicus.nc",
            overwrite=True,
        )
    return _reanalysis(place, [place.folder / "copernicus.nc"])


def woa(place: Site, where: str) -> Section:
    """Write the World Ocean Atlas in the middle of each month; deeper than its monthly means, annual ones."""
    paths = [path for path in netcdf_files(where, "--water woa") if _month_of(path) <= 12]

    def months(path: Path, time: np.ndarray) -> Sequence[int]:
        return range(1, 13) if time.size == 12 else [_month_of(path)]

    # In reverse, because the first profile of a month counts: that of the last file, such as 04, not 01.
    *both, kind = _profiles(place, where, paths[::-1], months)
    middles = _middles_of_months(place)
    values = [np.stack([_mean_of_month(means, middle.month) for middle in middles]) for means in both]
    time = np.array([(middle - place.start).total_seconds() for middle in middles])
    return _converted(place, time, *values, kind=kind)


_Profiles = dict[float | int, np.ndarray]
"""Profiles on the levels, by time [s] or month."""


def _profiles(
    place: Site,
    where: str,
    paths: Sequence[Path],
    labels: Callable[[Path, np.ndarray], Sequence[float] | np.ndarray] = lambda path, time: time,
) -> tuple[_Profiles, _Profiles, str]:
    """Read the profiles of temperature and salinity at the place, and the kind of the temperature.

    Args:
        place: place and time of the run.
        where: text of the option, for messages.
        paths: files; the first profile with a label counts.
        labels: function from a file and its times [s] to the labels of its profiles, by default the times.

    Raises:
        FileFormatError: temperature or salinity is missing.
    """
    by_quantity: dict[str, _Profiles] = {"temperature": {}, "salinity": {}}
    kind = ""
    for path in paths:
        with opened(path) as stored:
            for name in [name for name in (*_TEMPERATURES, *_SALINITIES) if name in stored.variables]:
                depth, values, time = columns_at(place, stored, name)
                profiles = by_quantity["temperature" if name in _TEMPERATURES else "salinity"]
                for label, row in zip(labels(path, time), values, strict=True):
                    profiles.setdefault(label, _on_levels(depth, row))
                kind = kind or _TEMPERATURES.get(name, "")
    for quantity, profiles in by_quantity.items():
        if not any(np.isfinite(row).any() for row in profiles.values()):
            names = _TEMPERATURES if quantity == "temperature" else _SALINITIES
            expected = f"values of {quantity} ({', '.join(names)}) at the position"
            raise FileFormatError(where, quantity, expected, "none", "give both, and a place in the sea")
    return by_quantity["temperature"], by_quantity["salinity"], kind


def _on_levels(depth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate to the levels; constant above the uppermost value, NaN below the deepest."""
    known = np.isfinite(values)
    if not known.any():
        return np.full(_LEVELS.shape, np.nan)
    return np.interp(-_LEVELS, depth[known], values[known], right=np.nan)


def _reanalysis(place: Site, paths: Sequence[Path]) -> Section:
    """Write the profiles from 30 days before the run to 30 days after it."""
    temperature, salinity, kind = _profiles(place, str(paths[0]), paths)
    if temperature.keys() != salinity.keys():
        expected = "temperature and salinity at the same times"
        got = f"{len(temperature)} and {len(salinity)} times"
        raise FileFormatError(paths[0], "time", expected, got, "give both at all times")
    time = np.array(sorted(temperature))
    near = time[(time >= -_LONGEST_GAP) & (time <= place.duration + _LONGEST_GAP)]
    if not near.size or near[0] > _LONGEST_GAP:
        expected, advice = f"a profile within 30 days of {place.start}", "add files, or choose other dates"
        raise FileFormatError(paths[0], "time", expected, f"{time.size} at other times", advice)
    values = [np.stack([profiles[at] for at in near]) for profiles in (temperature, salinity)]
    return _converted(place, near, *values, kind=kind)


def _month_of(path: Path) -> int:
    """Month in the name of a file of the World Ocean Atlas: 0 for the year or none, 13 to 16 for seasons."""
    coded = re.search(r"_[ts](\d\d)(?:_|\.|mn)", path.name)
    return int(coded[1]) if coded else 0


def _middles_of_months(place: Site) -> list[datetime.datetime]:
    """Middles of the months from the one before the start to the first after the stop."""
    year, month, middles = place.start.year, place.start.month - 1, list[datetime.datetime]()
    while not middles or middles[-1] < place.stop:
        middles.append(datetime.datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 16))
        month += 1
    return middles


def _mean_of_month(means: _Profiles, month: int) -> np.ndarray:
    """Profile of a month, else of the year, else of the nearest month; below its end that of the year."""
    nearest = min(means, key=lambda each: min((each - month) % 12, (month - each) % 12))
    profile = means.get(month, means.get(0, means[nearest]))
    return np.where(np.isnan(profile), means.get(0, profile), profile)


# ------------------------------------------------------------------------------------------------- water.nc


def _converted(
    place: Site, time: np.ndarray, temperature: np.ndarray, salinity: np.ndarray, kind: str
) -> Section:
    """Convert profiles from a kind of temperature and practical salinity, and write them."""
    both = sea_water.modelled_water(
        temperature,
        salinity,
        _LEVELS,
        temperature_kind=kind,
        salinity_kind="practical",
        latitude=place.latitude,
        longitude=place.longitude,
    )
    return _written(place, time, *both)


def _written(
    place: Site, time: np.ndarray, temperature: np.ndarray, salinity: np.ndarray, **attributes: str
) -> Section:
    """Write `water.nc`: conservative temperature and absolute salinity over time [s] and the levels.

    If no profile lies within the run, one at the start is interpolated in time, or copied from the nearest.
    """
    import xarray as xr

    dims = ("time", "depth")
    of_temperature = {"standard_name": "sea_water_conservative_temperature", "units": "degC"}
    of_salinity = {"standard_name": "sea_water_absolute_salinity", "units": "g kg-1"}
    water = xr.Dataset(
        {"TEMP": (dims, temperature, of_temperature), "PSAL": (dims, salinity, of_salinity)},
        {
            "time": ("time", time, place.clock),
            "depth": ("depth", -_LEVELS, {"units": "m", "positive": "down", "standard_name": "depth"}),
            **place.position,
        },
        attributes,
    )
    water = water.isel(depth=_LEVELS >= -place.column - 100.0)
    if not np.any((time >= 0.0) & (time <= place.duration)):
        start = water.interp(time=[np.clip(0.0, time[0], time[-1])]).assign_coords(time=[0.0])
        water = xr.concat([water, start], "time", data_vars="minimal").sortby("time")
        water["time"].attrs = place.clock
    place.write("water.nc", water)
    gap = float(np.max(np.diff(water["time"].values), initial=_LONGEST_GAP))
    return {"observations": {"format": "oceansites", "paths": ["water.nc"], "longest_gap": gap}}
