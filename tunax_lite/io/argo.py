"""Profiles of Argo floats, at the measured depths or interpolated to other heights.

Source: Argo User's Manual 3.4 (2021, doi:10.13155/29825). Core profile files hold one cycle or all cycles of
a float; adjusted values are used where the data mode is A or D; quality flags are characters.
"""

import bisect
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from .._types import warn_of_input
from ..column.observations import Observations
from ..plausibility.rules import far_away
from ..quantities import quantity_of
from .axes import as_sources, check_measured, has_flag, stem_of
from .case import observations_from_dataset
from .errors import name_of, names_its_file
from .netcdf import read_netcdf
from .sea_water import SalinityGuess
from .series import BAD_FLAGS, GOOD_FLAGS
from .times import order_in_time, read_time
from .tracers import Tracer, Tracers, as_tracers
from .variables import (
    error_in,
    error_of,
    in_unit,
    like,
    numbers_in,
    texts_in,
    variable_named,
)

if TYPE_CHECKING:
    import xarray as xr

_QUANTITIES = {"TEMP": "temperature", "PSAL": "salinity"}
_NAMES = {"temperature": "in_situ_temperature", "salinity": "practical_salinity"}
_PRESSURES = (-5.0, 12000.0)
"""Possible pressures [dbar]. Sensors drift: of several levels at or below 0, the uppermost is at z = 0."""
_LARGEST_SPACING = 200.0
"""Largest spacing of good values across which to interpolate [m]."""
_POSITIONS = {"LONGITUDE": (-360.0, 360.0), "LATITUDE": (-90.0, 90.0)}
_PLACE_FLAGS = ("JULD_QC", "POSITION_QC")


@names_its_file("profiles of Argo floats")
def open_argo(
    paths,
    *,
    good_flags: Sequence[int] = GOOD_FLAGS,
    tracers: Tracers | None = None,
) -> "xr.Dataset":
    """Read the profiles of the primary sampling scheme on the measured levels; see `open_observations`.

    Args:
        paths: one file or xarray dataset, or several, such as the cycles of one float; sorted by the time of
            their first profile. Accepts core files, synthetic profiles (Sprof), those of the Copernicus
            Marine Service (GL_PR_PF) and those of argopy.
        good_flags: quality flags to accept; files without flags are accepted in full.
        tracers: parameters of the file such as NITRATE, DOXY or CHLA, by the names of pools: adjusted values
            where the mode of the parameter is A or D and there are some, with the flags of these.

    Returns:
        In-situ temperature [degC], practical salinity and tracers over `time` (universal time) and `level`,
        NaN where they are not good; their attribute `rejected` is the number of values that have no
        good flag or no good pressure. Heights `z` [m] increase and are padded with NaN; levels
        outside the longest sequence of increasing pressures are dropped. `longitude`, `latitude` and the
        `data_mode` of temperature (R real time, A adjusted, D delayed mode) are those of each profile. The
        attribute `n_left_out` is the number of profiles without a good time or position, or of a secondary
        sampling scheme.

    Raises:
        FileFormatError: not a profile file, no temperature, several floats, no usable profile, two profiles
            at one time, impossible values, or a parameter that the file lacks.
    """
    import xarray as xr  # takes long

    files = [_read_file(part, good_flags, as_tracers(tracers)) for part in as_sources(paths)]
    files.sort(key=lambda part: part["time"].values[0])
    for before, after in zip(files[:-1], files[1:], strict=True):
        if after["time"].values[0] <= before["time"].values[-1]:
            last = before["time"].values[-1].astype("M8[ms]")
            expected = f"profiles after {last}, the last of the file before"
            got, advice = str(after["time"].values[0].astype("M8[ms]")), "give each profile once"
            raise error_in(after, "JULD", expected, got, advice)
    n_levels = max(part.sizes["level"] for part in files)
    padded = [part.pad(level=(0, n_levels - part.sizes["level"])) for part in files] if files[1:] else files
    profiles = xr.concat(padded, "time", combine_attrs="override")
    for name in profiles.data_vars:
        if "rejected" in profiles[name].attrs:
            profiles[name].attrs["rejected"] = sum(part[name].attrs["rejected"] for part in files)
    profiles.attrs["n_left_out"] = sum(part.attrs["n_left_out"] for part in files)
    profiles.encoding["source"] = name_of(files[0])
    return profiles


def read_argo(
    paths,
    *,
    z=None,
    start_time: str,
    salinity: SalinityGuess | None = None,
    position: tuple[float, float] | None = None,
    name: str | None = None,
    **options: Any,
) -> Observations:
    """Read Argo profiles on the measured levels, or interpolate them to heights `z`.

    Interpolation is linear, with NaN above the uppermost and below the deepest value, and between values more
    than 200 m apart.

    Args:
        paths, options: as in `open_argo`.
        start_time, salinity: as in `observations_from_dataset`.
        z: heights [m], increasing, at most 0, such as the cell centers of a grid; `None` keeps the measured
            levels.
        position: latitude and longitude of the site [degrees north, degrees east]; warns if every profile is
            far from it.
        name: of the observations; by default the name of the first file.

    Raises:
        FileFormatError: as in `open_argo`, or no good value.
        ValueError: heights that do not increase or lie above the surface.
    """
    sources = as_sources(paths)
    profiles = open_argo(sources, **options)
    if position is not None:
        places = zip(profiles["latitude"].values, profiles["longitude"].values, strict=True)
        warn_of_input(far_away(name_of(profiles), places, position))
    observed = observations_from_dataset(
        profiles, start_time=start_time, salinity=salinity, name=name or stem_of(sources[0])
    )
    # Floats without a salinity sensor have no entry yet.
    rejected = dict.fromkeys(_QUANTITIES.values(), 0) | dict(observed.rejected)
    observed = dataclasses.replace(observed, rejected=rejected)
    valid = {key: np.asarray(rows) for key, rows in observed.profiles.items() if np.isfinite(rows).any()}
    expected = f"values with quality flags among {tuple(options.get('good_flags', GOOD_FLAGS))}"
    left_out = {key: f"{key}: none of {rejected[key]}" for key in observed.profiles if key not in valid}
    if not valid:
        got, advice = " and ".join(left_out.values()), "leave the file out, or give other good_flags"
        raise error_in(profiles, "file", expected, got, advice)
    notes = [
        f"expected {expected}, got {got}; it is not used (good_flags)"
        for key, got in left_out.items()
        if rejected[key]
    ]
    warn_of_input(f"{name_of(profiles)}: {note}" for note in notes)
    if z is None:
        return dataclasses.replace(observed, profiles={key: observed.profiles[key] for key in valid})
    heights = np.asarray(z, dtype=float)
    increase = heights.ndim == 1 and heights.size > 0 and bool(np.all(np.diff(heights) > 0.0))
    if not (increase and heights[-1] <= 0.0):
        raise ValueError(f"z: expected heights [m] that increase and are at most 0, got {z}.")
    on_heights = {}
    for key, rows in valid.items():
        columns = zip(profiles["z"].values, rows, strict=True)
        on_heights[key] = jnp.stack([_interpolate(heights, *column) for column in columns])
    return dataclasses.replace(observed, z=jnp.asarray(heights), profiles=on_heights)


def _interpolate(z: np.ndarray, measured_at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate one profile to the heights `z` as in `read_argo`."""
    valid = np.isfinite(measured_at) & np.isfinite(values)
    heights, values = measured_at[valid], values[valid]
    if heights.size < 2:
        return np.full(z.shape, np.nan)
    above = np.clip(np.searchsorted(heights, z), 1, heights.size - 1)
    between = np.interp(z, heights, values, left=np.nan, right=np.nan)
    is_near = heights[above] - heights[above - 1] <= _LARGEST_SPACING
    return np.where(is_near | np.isin(z, heights), between, np.nan)


def _read_file(source, good_flags: Sequence[int], tracers: Mapping[str, Tracer]) -> "xr.Dataset":
    """Read the profiles of one file; see `open_argo`."""
    import gsw
    import xarray as xr

    file = _as_profiles(read_netcdf(source))
    path, usable = name_of(file), _usable(file)
    if not np.any(usable):
        expected = "a profile of the primary sampling with a good time and position"
        flags = [f"{key} {' '.join(np.unique(texts_in(file[key])))}" for key in _PLACE_FLAGS if key in file]
        raise error_in(file, "JULD_QC, POSITION_QC", expected, " and ".join(flags) or "none", "leave it out")
    file = file.isel(N_PROF=np.flatnonzero(usable))
    file = file.isel(N_PROF=order_in_time(file["JULD"]))
    times = read_time(file["JULD"])
    pressure = _within(_good_values(file, "PRES", good_flags)[0], file["PRES"], _PRESSURES, "dbar")
    misplaced, n_pressures = _out_of_order(pressure), int(np.isfinite(pressure).sum())
    pressure = np.where(misplaced, np.nan, pressure)
    at_surface = pressure <= 0.0
    has_z = np.isfinite(pressure)
    kept = (has_z & ~(at_surface & (np.cumsum(at_surface, axis=1) > 1)))[:, ::-1]
    order = np.argsort(~kept, axis=1, kind="stable")[:, : max(1, int(kept.sum(axis=1).max()))]

    def packed(values: np.ndarray) -> np.ndarray:
        """Move the levels to keep to the front, deepest first."""
        return np.take_along_axis(np.where(kept, values[:, ::-1], np.nan), order, axis=1)

    variables: dict[str, tuple] = {"data_mode": ("time", _data_mode(file, "TEMP"))}
    names = {key: name for name, key in _QUANTITIES.items() if name in file}
    for key, name in (names | {key: tracer.variable for key, tracer in tracers.items()}).items():
        advice = "name another, or read the *_Sprof.nc of the float"
        variable, dims = variable_named(file, name, key, advice), file["PRES"].dims
        if variable.dims != dims:
            raise error_of(variable, f"the dimensions {dims}", variable.dims, advice)
        good, present = _good_values(file, name, good_flags)
        variable, attrs = like(variable, np.where(has_z & np.isfinite(good), good, np.nan)), {}
        if (tracer := tracers.get(key)) is not None:
            values, attrs = tracer.converted(variable, key)
        else:
            values = in_unit(variable, key)
            check_measured(variable, key, values, times)
            attrs["units"] = quantity_of(key).unit
        attrs["rejected"] = int((present & ~misplaced).sum() - np.isfinite(values).sum())
        variables[_NAMES.get(key, key)] = (("time", "level"), packed(values), attrs)
    longitude, latitude = (
        _within(numbers_in(file[key]), file[key], limits, "degrees") for key, limits in _POSITIONS.items()
    )
    heights = np.minimum(gsw.z_from_p(pressure, latitude[:, None]), 0.0)
    profiles = xr.Dataset(
        variables,
        coords={
            "time": like(times, times.values, ("time",)),
            "z": (("time", "level"), packed(heights), {"units": "m", "positive": "up"}),
            "longitude": ("time", longitude, {"units": "degrees_east"}),
            "latitude": ("time", latitude, {"units": "degrees_north"}),
        },
        attrs={"n_left_out": int((~usable).sum())},
    )
    if n := int(misplaced.sum()):
        warn_of_input([f"{path}: left out {n} of {n_pressures} levels, whose pressures do not increase."])
    profiles.encoding["source"] = path
    return profiles


def _within(
    values: np.ndarray, variable: "xr.DataArray", limits: tuple[float, float], unit: str
) -> np.ndarray:
    low, high = limits
    for wrong in np.argwhere((values < low) | (values > high))[:1]:
        expected, got = f"{low:g} to {high:g} {unit}", f"{values[tuple(wrong)]:g} in profile {wrong[0]}"
        raise error_of(variable, expected, got, "check the unit, correct the value, or flag it as bad")
    return values


def _as_profiles(file: "xr.Dataset") -> "xr.Dataset":
    """Rename variables and dimensions of synthetic, argopy and CMEMS files to those of core files."""
    import xarray as xr

    dims, pressure = {}, file.get("PRES")
    if pressure is not None and pressure.dims == ("TIME", "DEPTH"):
        # In Copernicus files positions have separate dimensions, with one entry per profile like the time.
        dims = {"DEPTH": "N_LEVELS"} | dict.fromkeys(("TIME", "LATITUDE", "LONGITUDE", "POSITION"), "N_PROF")
    # A single profile selected from its file has no dimension of profiles.
    single = pressure is not None and pressure.dims == ("N_LEVELS",)
    variables = {}
    for name, var in file.variables.items():
        on_profiles = xr.Variable(
            [dims.get(dim, dim) for dim in map(str, var.dims)], var.values, var.attrs, var.encoding
        )
        new = {"TIME": "JULD", "TIME_QC": "JULD_QC"}.get(str(name), str(name))
        variables[name if new in file else new] = on_profiles.expand_dims("N_PROF") if single else on_profiles
    encoding, file = file.encoding, xr.Dataset(variables, attrs=file.attrs)
    file.encoding = encoding
    floats = np.unique(texts_in(file["PLATFORM_NUMBER"])) if "PLATFORM_NUMBER" in file else np.zeros(1)
    if floats.size > 1:
        got, advice = f"{floats.size}: {', '.join(map(str, floats[:3]))}, ...", "choose those of one float"
        raise error_in(file, "PLATFORM_NUMBER", "profiles of one float", got, advice)
    for key in ("JULD", "LATITUDE", "LONGITUDE", "PRES", "TEMP"):
        if key not in file or file[key].dims[:1] != ("N_PROF",):
            expected = "a variable of a core Argo profile file, over N_PROF"
            advice = "use R*.nc, D*.nc, *_prof.nc or *_Sprof.nc of a float, or point2profile() of argopy"
            got = f"one over {file[key].dims}" if key in file else "none"
            raise error_in(file, key, expected, got, advice)
    return file


def _usable(file: "xr.Dataset") -> np.ndarray:
    """Mask of profiles of the primary sampling scheme with a position and no bad flag of time or place."""
    kept = np.isfinite(numbers_in(file["LATITUDE"])) & np.isfinite(numbers_in(file["LONGITUDE"]))
    for key in _PLACE_FLAGS:
        if key in file:
            kept &= ~has_flag(file[key].values, BAD_FLAGS)
    # Single-cycle files often contain a second, unpumped profile of the uppermost metres.
    if "VERTICAL_SAMPLING_SCHEME" in file:
        schemes = texts_in(file["VERTICAL_SAMPLING_SCHEME"])
        kept &= np.array([not scheme or scheme.startswith("Primary") for scheme in schemes])
    return kept


def _data_mode(file: "xr.Dataset", key: str) -> np.ndarray:
    """Data mode in each profile, R if it is missing; in a file without modes, A if adjusted values exist."""
    name, n_profiles = "DATA_MODE", file["JULD"].values.shape[0]
    if "PARAMETER_DATA_MODE" in file and "STATION_PARAMETERS" in file:
        name = "PARAMETER_DATA_MODE"
        of_key = texts_in(file["STATION_PARAMETERS"]) == key
        modes = texts_in(file[name])[np.arange(n_profiles), of_key.argmax(axis=1)]
        modes = np.where(of_key.any(axis=1) & (modes != ""), modes, "R")
    elif name in file:
        modes = texts_in(file[name])
    else:
        adjusted = file.get(f"{key}_ADJUSTED")
        has = False if adjusted is None else np.isfinite(numbers_in(adjusted)).any(axis=1)
        modes = np.where(np.broadcast_to(has, n_profiles), "A", "R")
    wrong = np.flatnonzero(~np.isin(modes, ("R", "A", "D")))
    if wrong.size:
        got = f"'{modes[wrong[0]]}' in profile {wrong[0]}"
        raise error_in(file, name, "R, A or D", got, "repair the file")
    return modes


def _good_values(file: "xr.Dataset", key: str, good_flags: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Adjusted values where the data mode is A or D and they exist, otherwise the real-time values.

    NaN where the value is missing or has no good flag. Also return a mask of the values that are present,
    with good flags or others.
    """

    def flagged(name: str, flags: Sequence[int], default: bool) -> np.ndarray:
        if f"{name}_QC" not in file:
            return np.full(file[name].shape, default)
        return has_flag(file[f"{name}_QC"].values, flags)

    def good(name: str) -> tuple[np.ndarray, np.ndarray]:
        values = numbers_in(file[name])
        return np.where(flagged(name, good_flags, True), values, np.nan), np.isfinite(values)

    real_time, name = good(key), f"{key}_ADJUSTED"
    if name not in file:
        return real_time
    empty = ~np.any(np.isfinite(numbers_in(file[name])), axis=1)
    # A profile rejected in delayed mode has no adjusted values, only flags.
    rejected = np.any(flagged(name, (3, 4), False), axis=1)
    adjusted = np.isin(_data_mode(file, key), ("A", "D")) & (~empty | rejected)
    corrected = good(name)
    # For these profiles `present` counts the real-time values, which are rejected.
    present = np.where(adjusted[:, None] & ~(empty & rejected)[:, None], corrected[1], real_time[1])
    return np.where(adjusted[:, None], corrected[0], real_time[0]), present


def _out_of_order(pressure: np.ndarray) -> np.ndarray:
    """Mask of pressures [dbar] outside the longest increasing sequence."""
    misplaced = np.zeros(pressure.shape, dtype=bool)
    for profile, values in enumerate(pressure):
        valid = np.flatnonzero(np.isfinite(values))
        if np.any(np.diff(values[valid]) <= 0.0):
            misplaced[profile, valid] = True
            misplaced[profile, valid[_longest_increase(values[valid])]] = False
    return misplaced


def _longest_increase(values: np.ndarray) -> list[int]:
    """Indices of the longest increasing sequence; of equal values the first is kept."""
    lowest: list[float] = []  # last value of the best sequence of each length
    last: list[int] = []
    before: list[int] = []
    for at, value in enumerate(values.tolist()):
        n = bisect.bisect_left(lowest, value)
        before.append(last[n - 1] if n else -1)
        if n == len(lowest) or lowest[n] > value:
            lowest[n : n + 1], last[n : n + 1] = [value], [at]
    indices = [last[-1]]
    while before[indices[-1]] >= 0:
        indices.append(before[indices[-1]])
    return indices[::-1]
