"""Profiles of Argo floats, at their measured depths or interpolated to given heights.

Source: Argo User's Manual 3.4 (2021, doi:10.13155/29825). Core profile files hold one cycle or all cycles of
a float; adjusted values are used where the data mode is A or D; quality flags are characters.
"""

import bisect
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ..column.observations import Observations
from ..plausibility import Position, Samples, in_file, leave
from .axes import (
    TimeAxis,
    as_seconds,
    as_sources,
    check_measured,
    has_flag,
    order_in_time,
    read_time,
    stem_of,
)
from .errors import (
    FileFormatError,
    check_names,
    name_of,
    names_its_file,
)
from .netcdf import Contents, Variable, read_contents
from .sea_water import (
    SalinityGiven,
    absolute_salinity,
    conservative_temperature,
    notes_of_salinity,
    salinity_at,
)
from .series import BAD_FLAGS, GOOD_FLAGS, start_of_case
from .tracers import Tracer, Tracers, as_tracers, potential_density
from .units import Conversion, Conversions, as_conversion

_QUANTITIES = {"TEMP": "temperature", "PSAL": "salinity"}
_PRESSURES = (-5.0, 12000.0)
_PLACED = ("JULD_QC", "POSITION_QC")


@dataclasses.dataclass(frozen=True)
class ArgoProfiles:
    """Profiles on their own levels, uppermost first: conservative temperature and absolute salinity.

    Args:
        time: universal time, `(n_profiles,)`.
        longitude, latitude: [degrees], `(n_profiles,)`.
        z: heights [m] of the levels with a good pressure, decreasing, padded with NaN, `(n_profiles,
            n_levels)`; the fewest levels are dropped that make the rest monotonic.
        temperature: conservative temperature [degC], NaN where it is not good, same shape.
        salinity: absolute salinity [g kg-1], same shape.
        data_mode: of each profile: R real time, A adjusted in real time, D delayed mode.
        n_left_out: number of profiles without a good time or position, or from a secondary sampling scheme.
        n_rejected: number of temperature and salinity values set to NaN because of their own quality flag or
            that of the pressure.
        notes: sentences on how the files were read.
        tracers: further parameters by the names that they were asked for under, same shape.
    """

    time: np.ndarray
    longitude: np.ndarray
    latitude: np.ndarray
    z: np.ndarray
    temperature: np.ndarray
    salinity: np.ndarray
    data_mode: np.ndarray
    n_left_out: int
    n_rejected: dict[str, int]
    notes: tuple[str, ...] = ()
    tracers: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Values by name."""
        return {"temperature": self.temperature, "salinity": self.salinity} | self.tracers


@names_its_file("profiles of Argo floats")
def read_argo_profiles(
    paths,
    *,
    good_flags: Sequence[int] = GOOD_FLAGS,
    salinity: SalinityGiven | None = None,
    units: Conversions | None = None,
    tracers: Tracers | None = None,
) -> ArgoProfiles:
    """Read the profiles of the primary sampling scheme.

    Args:
        paths: one file or xarray dataset, or several, such as the cycles of one float; sorted by the time of
            their first profile. Accepts core files, synthetic profiles (Sprof), those of the Copernicus
            Marine Service (GL_PR_PF) and those of argopy.
        good_flags: quality flags to accept; files without flags are accepted in full.
        salinity: practical salinity used to convert temperatures where no good one was measured: a number, or
            increasing heights [m] and values. The default is the mean of the good values at neighbouring
            depths, or 35 if there are none.
        units: units or conversions of `temperature` and `salinity`, and of `pressure` [dbar]; override those
            in the file.
        tracers: parameters of the file such as NITRATE, DOXY or CHLA, by the names of pools: adjusted values
            where the mode of the parameter is A or D, with their own flags.

    Raises:
        FileFormatError: not a profile file, only biogeochemical parameters, two profiles at one time,
            impossible values, or a parameter that the file lacks.
    """
    check_names("units", units := dict(units or {}), (*_QUANTITIES.values(), "pressure"))
    wanted, sources = as_tracers(tracers), as_sources(paths)
    contents = [_read_file(one, good_flags, salinity, units, wanted) for one in sources]
    read = list(zip(map(name_of, sources), contents, strict=True))
    read.sort(key=lambda one: one[1].time[0])
    for (_, before), (path, after) in zip(read[:-1], read[1:], strict=True):
        if after.time[0] <= before.time[-1]:
            expected = f"profiles after {before.time[-1]}, the last of the file before"
            raise FileFormatError(path, "JULD", expected, f"{after.time[0]}", "give each profile once")
    files = [one for _, one in read]
    n_levels = max(one.z.shape[1] for one in files)

    def joined(name: str) -> np.ndarray:
        arrays = [one.tracers[name] if name in wanted else getattr(one, name) for one in files]
        if arrays[0].ndim == 2:
            gaps = [np.full((len(each), n_levels - each.shape[1]), np.nan) for each in arrays]
            arrays = [np.append(*pair, axis=1) for pair in zip(arrays, gaps, strict=True)]
        return np.concatenate(arrays)

    return ArgoProfiles(
        *map(joined, ("time", "longitude", "latitude", "z", "temperature", "salinity", "data_mode")),
        n_left_out=sum(one.n_left_out for one in files),
        n_rejected={key: sum(one.n_rejected[key] for one in files) for key in files[0].n_rejected},
        notes=tuple(note for one in files for note in one.notes),
        tracers={name: joined(name) for name in wanted},
    )


@names_its_file("profiles of Argo floats")
def read_argo(
    paths,
    *,
    z=None,
    start_time: str,
    good_flags: Sequence[int] = GOOD_FLAGS,
    salinity: SalinityGiven | None = None,
    largest_spacing: float = 200.0,
    units: Conversions | None = None,
    tracers: Tracers | None = None,
    name: str | None = None,
) -> Observations:
    """Read Argo profiles on their own levels, or interpolate them to given heights.

    Interpolation is linear, with NaN above the uppermost and below the deepest value.

    Args:
        paths, good_flags, salinity, units, tracers: as in `read_argo_profiles`. Without any measured
            salinity, the observations contain none.
        z: heights [m], increasing, at most 0, such as the cell centers of a grid; `None` keeps the measured
            levels.
        start_time: ISO 8601 time, universal time, at which the time of the observations is 0.
        largest_spacing: of two good values to interpolate between [m].
        name: of the observations; by default the name of the first file.

    Raises:
        FileFormatError: as in `read_argo_profiles`.
        ValueError: heights that do not increase or lie above the surface.
    """
    sources = as_sources(paths)
    profiles = read_argo_profiles(
        sources, good_flags=good_flags, salinity=salinity, units=units, tracers=tracers
    )
    start = np.datetime64(start_of_case(start_time))
    file = Variable(Path(name_of(sources[0])), "JULD", (), np.array(0), {})
    time = as_seconds(file, (profiles.time - start) / np.timedelta64(1, "ms") / 1e3, start_time)
    if z is None:
        heights, values = _upwards(profiles)
    else:
        heights = np.asarray(z, dtype=float)
        increase = heights.ndim == 1 and heights.size > 0 and bool(np.all(np.diff(heights) > 0.0))
        if not (increase and heights[-1] <= 0.0):
            raise ValueError(f"z: expected heights [m] that increase and are at most 0, got {z}.")
        values = {}
        for key, of_key in profiles.values.items():
            columns = zip(profiles.z, of_key, strict=True)
            rows = [_interpolate(heights, *one, largest_spacing) for one in columns]
            values[key] = jnp.asarray(np.stack(rows), dtype=float)
    empty = {key for key, one in profiles.values.items() if not np.isfinite(one).any()}
    values = {key: one for key, one in values.items() if key not in empty}
    if not values:
        expected = f"values of temperature or salinity with quality flags among {tuple(good_flags)}"
        got = " and ".join(f"none of {n} of {key}" for key, n in profiles.n_rejected.items())
        raise FileFormatError(file.path, "file", expected, got, "leave it out, or give other good_flags")
    heights = jnp.asarray(heights, dtype=float)
    notes = [
        f"{file.path}: expected values of {key} with quality flags among {tuple(good_flags)}, got none of "
        f"{n}; it is not observed: leave it out, or give other good_flags."
        for key, n in profiles.n_rejected.items()
        if n and key in empty
    ]
    said = {"rejected": profiles.n_rejected, "notes": (*profiles.notes, *notes)}
    return Observations(time, heights, values, name=name or stem_of(sources[0]), **said)


def _upwards(profiles: ArgoProfiles) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Heights and values, deepest first; of several levels at the same height, only the uppermost is kept."""
    stacked = np.stack([profiles.z, *profiles.values.values()])[:, :, ::-1]
    rows = np.full(stacked.shape, np.nan)
    for profile in range(stacked.shape[1]):
        known = stacked[:, profile, np.isfinite(stacked[0, profile])]
        known = known[:, np.append(np.diff(known[0]) > 0.0, True)[: known.shape[1]]]
        rows[:, profile, : known.shape[1]] = known
    longest = max(1, int(np.isfinite(rows[0]).sum(axis=1).max()))
    z, *values = (jnp.asarray(row[:, :longest], dtype=float) for row in rows)
    return z, dict(zip(profiles.values, values, strict=True))


def _interpolate(z: np.ndarray, measured_at: np.ndarray, values: np.ndarray, largest: float) -> np.ndarray:
    known = np.isfinite(measured_at) & np.isfinite(values)
    heights, values = measured_at[known][::-1], values[known][::-1]
    if heights.size < 2:
        return np.full(z.shape, np.nan)
    above = np.clip(np.searchsorted(heights, z), 1, heights.size - 1)
    found = np.interp(z, heights, values, left=np.nan, right=np.nan)
    exact = np.isin(z, heights)
    return np.where((heights[above] - heights[above - 1] <= largest) | exact, found, np.nan)


def _read_file(
    source,
    good_flags: Sequence[int],
    salinity: SalinityGiven | None,
    units: Conversions,
    tracers: dict[str, Tracer],
) -> ArgoProfiles:
    file = _as_profiles(read_contents(source))
    kept = _kept(file)
    if not np.any(kept):
        expected = "a profile of the primary sampling with a good time and position"
        said = [f"{key} {' '.join(np.unique(file[key].texts()))}" for key in _PLACED if key in file]
        raise file.error("JULD_QC, POSITION_QC", expected, " and ".join(said) or "none", "leave it out")
    of_profiles = {name: one for name, one in file.variables.items() if one.dims[:1] == ("N_PROF",)}
    chosen = {name: one.with_values(one.values[kept]) for name, one in of_profiles.items()}
    order, disorder = order_in_time(chosen["JULD"])
    chosen = {name: one.with_values(one.values[order]) for name, one in chosen.items()}
    file = dataclasses.replace(file, variables=file.variables | chosen)
    axis, pressure = read_time(file["JULD"]), _pressure_of(file, good_flags, units.get("pressure"))
    misplaced = _out_of_order(pressure)
    pressure = np.where(misplaced, np.nan, pressure)
    values = {quantity: np.full(pressure.shape, np.nan) for quantity in _QUANTITIES.values()}
    present = {quantity: np.zeros(pressure.shape, bool) for quantity in values}
    for key, quantity in _QUANTITIES.items():
        if key not in file:
            continue
        good, present[quantity] = _good_values(file, key, good_flags)
        of_file, is_placed = file[key].with_values(good), np.isfinite(pressure)
        converted = of_file.converted(quantity, units.get(quantity))
        values[quantity] = np.where(is_placed, converted, np.nan)
        check_measured(of_file, quantity, values[quantity], axis)
        leave(in_file(Samples(quantity, f"{file.path}: {key}", axis.seconds, values[quantity], -pressure)))
    longitude, latitude = _degrees(file, "LONGITUDE", 360.0), _degrees(file, "LATITUDE", 90.0)
    data_mode = _data_mode(file, "TEMP")
    leave([Position(f"{file.path}: LATITUDE, LONGITUDE", latitude, longitude)])
    z, temperature, absolute = _modelled(pressure, values, longitude, latitude, salinity)
    modelled = {"temperature": temperature, "salinity": absolute}
    rejected = {
        key: int((present[key] & ~misplaced).sum() - np.isfinite(one).sum()) for key, one in modelled.items()
    }
    notes = (*disorder, *notes_of_salinity(str(file.path), temperature, absolute, salinity))
    if n := int(misplaced.sum()):
        n_levels = present["temperature"].sum()
        notes += (f"{file.path}: left out {n} of {n_levels} levels: no deeper than those above.",)
    if n := int(np.sum((pressure < 0.0) & np.isfinite(values["temperature"]))):
        said = (
            f"{n} values at pressures below zero, down to {np.nanmin(pressure):.3g} dbar, are at the surface"
        )
        notes += (f"{file.path}: {said}; of several at one height the uppermost is used.",)
    milliseconds = np.round(1e3 * axis.since("1970-01-01")).astype("timedelta64[ms]")
    found = ArgoProfiles(
        time=np.datetime64("1970-01-01", "ms") + milliseconds,
        longitude=longitude,
        latitude=latitude,
        z=z,
        temperature=temperature,
        salinity=absolute,
        data_mode=data_mode,
        n_left_out=int((~kept).sum()),
        n_rejected=rejected,
        notes=notes,
    )
    return _with_tracers(found, file, axis, pressure, good_flags, tracers)


def _pressure_of(file: Contents, good_flags: Sequence[int], given: str | Conversion | None) -> np.ndarray:
    """Pressure [dbar], which must be possible, NaN where not good."""
    scale, offset = as_conversion(given).linear_to("dbar", "dbar")
    pressure = scale * _good_values(file, "PRES", good_flags)[0] + offset
    low, high = _PRESSURES
    wrong = np.argwhere((pressure < low) | (pressure > high))
    if wrong.size:
        expected, got = f"{low:g} to {high:g} dbar", f"{pressure[tuple(wrong[0])]:g} in profile {wrong[0][0]}"
        raise file["PRES"].error(expected, got, "check the unit, or flag the value")
    return pressure


def _degrees(file: Contents, key: str, largest: float) -> np.ndarray:
    """Longitude or latitude of the profiles [degrees]."""
    degrees = file[key].numbers()
    for profile in np.flatnonzero(np.abs(degrees) > largest)[:1]:
        expected, got = f"at most {largest:g} degrees", f"{degrees[profile]:g} in profile {profile}"
        raise file[key].error(expected, got, "correct it, or flag it (POSITION_QC)")
    return degrees


def _with_tracers(
    found: ArgoProfiles,
    file: Contents,
    axis: TimeAxis,
    pressure: np.ndarray,
    good_flags: Sequence[int],
    tracers: dict[str, Tracer],
) -> ArgoProfiles:
    """The profiles of a file with further parameters on the same levels."""
    density = potential_density(found.temperature, found.salinity)
    order = np.argsort(np.isnan(pressure), axis=1, kind="stable")
    values, rejected = {}, dict(found.n_rejected)
    for key, tracer in tracers.items():
        if tracer.variable not in file or file[tracer.variable].dims != file["PRES"].dims:
            known = [name.removesuffix("_ADJUSTED") for name in file.variables if name.endswith("_ADJUSTED")]
            got = f"only {', '.join(each for each in known if each != 'PRES')}"
            advice = "name one of these, or read the *_Sprof.nc of the float"
            raise file.error(tracer.variable, f"a parameter for {key}", got, advice)
        good, there = _good_values(file, tracer.variable, good_flags)
        good = np.where(np.isfinite(pressure), good, np.nan)
        at, label = file[tracer.variable].with_values(good), f"{file.path}: {tracer.variable}"
        leave(in_file(Samples(key, label, axis.seconds, good, -pressure)))
        in_order = at.with_values(np.take_along_axis(good, order, axis=1))
        values[key] = tracer.converted(in_order, key, density)
        rejected[key] = int(there.sum() - np.isfinite(good).sum())
    return dataclasses.replace(found, tracers=values, n_rejected=rejected)


def _as_profiles(file: Contents) -> Contents:
    """Rename variables and dimensions of synthetic, argopy and CMEMS files to those of core files."""
    dims, pressure = {}, file.variables.get("PRES")
    if pressure is not None and pressure.dims == ("TIME", "DEPTH"):
        # Copernicus files give a position per profile on a dimension of its own, as long as that of time.
        dims = {"DEPTH": "N_LEVELS"} | dict.fromkeys(("TIME", "LATITUDE", "LONGITUDE", "POSITION"), "N_PROF")
    found, is_one = {}, pressure is not None and pressure.dims == ("N_LEVELS",)
    for name, one in file.variables.items():
        if is_one:  # a single profile selected from its file
            one = dataclasses.replace(one, dims=("N_PROF", *one.dims), values=one.values[None])
        new = {"TIME": "JULD", "TIME_QC": "JULD_QC"}.get(name, name)
        own = dataclasses.replace(one, dims=tuple(dims.get(dim, dim) for dim in one.dims))
        found[name if new in file else new] = own
    file = dataclasses.replace(file, variables=found)
    others = [name.removesuffix("_ADJUSTED") for name in file.variables if name.endswith("_ADJUSTED")]
    if "PRES" in file and "N_PROF" in file["PRES"].dims and "TEMP" not in file and others:
        got = f"a file of {', '.join(others)} without temperature and salinity"
        advice = f"read the core file {file.path.name.removeprefix('B')}, or the *_Sprof.nc of the float"
        raise file.error("TEMP", "temperature", got, advice)
    floats = np.unique(file["PLATFORM_NUMBER"].texts()) if "PLATFORM_NUMBER" in file else np.zeros(1)
    if floats.size > 1:
        got, advice = f"{floats.size}: {', '.join(map(str, floats[:3]))}, ...", "choose those of one float"
        raise file.error("PLATFORM_NUMBER", "profiles of one float", got, advice)
    for key in ("JULD", "LATITUDE", "LONGITUDE", "PRES", "TEMP"):
        if key not in file or file[key].dims[:1] != ("N_PROF",):
            expected = "a variable of a core Argo profile file, over N_PROF"
            advice = "use the files R*.nc, D*.nc, *_prof.nc or *_Sprof.nc of a float"
            if "N_POINTS" in [dim for one in file.variables.values() for dim in one.dims]:
                advice = "make profiles of the points (dataset.argo.point2profile())"
            got = f"one over {file[key].dims}" if key in file else "none"
            raise file.error(key, expected, got, advice)
    return file


def _kept(file: Contents) -> np.ndarray:
    """Keep profiles of the primary sampling scheme with a good time and position."""
    kept = np.isfinite(file["LATITUDE"].numbers()) & np.isfinite(file["LONGITUDE"].numbers())
    for key in _PLACED:
        if key in file:
            kept &= ~has_flag(file[key].values, BAD_FLAGS)
    # Single-cycle files often contain a second, unpumped profile of the uppermost metres.
    if "VERTICAL_SAMPLING_SCHEME" in file:
        schemes = file["VERTICAL_SAMPLING_SCHEME"].texts()
        kept &= np.array([not scheme or scheme.startswith("Primary") for scheme in schemes])
    return kept


def _data_mode(file: Contents, key: str) -> np.ndarray:
    """Data mode of a parameter in each profile; real time where the file gives none."""
    name, n_profiles = "DATA_MODE", file["JULD"].values.shape[0]
    if "PARAMETER_DATA_MODE" in file and "STATION_PARAMETERS" in file:
        name = "PARAMETER_DATA_MODE"
        of_key = file["STATION_PARAMETERS"].texts() == key
        modes = file[name].texts()[np.arange(n_profiles), of_key.argmax(axis=1)]
        modes = np.where(of_key.any(axis=1) & (modes != ""), modes, "R")
    elif name in file:
        modes = file[name].texts()
    else:
        adjusted = file.variables.get(f"{key}_ADJUSTED")
        has = False if adjusted is None else np.isfinite(adjusted.numbers()).any(axis=1)
        modes = np.where(np.broadcast_to(has, n_profiles), "A", "R")
    wrong = np.flatnonzero(~np.isin(modes, ("R", "A", "D")))
    if wrong.size:
        got = f"'{modes[wrong[0]]}' in profile {wrong[0]}"
        raise file.error(name, "R, A or D", got, "repair the file")
    return modes


def _good_values(file: Contents, key: str, good_flags: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Adjusted values where the data mode calls for them and they exist, otherwise the real-time values.

    NaN where the value is missing or the file gives it a flag that is not good.
    """

    def flagged(name: str, flags: Sequence[int], default: bool) -> np.ndarray:
        there = f"{name}_QC" in file
        return (
            has_flag(file[f"{name}_QC"].values, flags) if there else np.full(file[name].values.shape, default)
        )

    def good(name: str) -> tuple[np.ndarray, np.ndarray]:
        values = file[name].numbers()
        return np.where(flagged(name, good_flags, True), values, np.nan), np.isfinite(values)

    sent, name = good(key), f"{key}_ADJUSTED"
    if name not in file:
        return sent
    filled = ~np.any(np.isfinite(file[name].numbers()), axis=1)
    # A profile rejected in delayed mode has no adjusted values, only flags.
    rejected = np.any(flagged(name, (3, 4), False), axis=1)
    adjusted = np.isin(_data_mode(file, key), ("A", "D")) & (~filled | rejected)
    corrected = good(name)
    # Values rejected in delayed mode have no adjusted counterpart; the real-time value remains.
    present = np.where(adjusted[:, None] & ~(filled & rejected)[:, None], corrected[1], sent[1])
    return np.where(adjusted[:, None], corrected[0], sent[0]), present


def _out_of_order(pressure: np.ndarray) -> np.ndarray:
    """Where pressures [dbar] are outside the longest increasing sequence."""
    misplaced = np.zeros(pressure.shape, dtype=bool)
    for profile, values in enumerate(pressure):
        known = np.flatnonzero(np.isfinite(values))
        if np.any(np.diff(values[known]) <= 0.0):
            misplaced[profile, known] = True
            misplaced[profile, known[_longest_increase(values[known])]] = False
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
    found = [last[-1]]
    while before[found[-1]] >= 0:
        found.append(before[found[-1]])
    return found[::-1]


def _modelled(
    pressure: np.ndarray,
    values: dict[str, np.ndarray],
    longitude: np.ndarray,
    latitude: np.ndarray,
    given: SalinityGiven | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Heights, conservative temperature and absolute salinity."""
    import gsw

    z = np.minimum(gsw.z_from_p(pressure, latitude[:, None]), 0.0)
    practical = values["salinity"]
    complete = salinity_at(z, practical, given)
    longitude, latitude = longitude[:, None], latitude[:, None]
    absolute = absolute_salinity(complete, pressure, longitude=longitude, latitude=latitude)
    temperature = conservative_temperature(values["temperature"], absolute, pressure, "in_situ")
    salinity = np.where(np.isnan(practical), np.nan, absolute)
    # Dropping levels without a good pressure leaves heights that decrease without gaps.
    order = np.argsort(np.isnan(z), axis=1, kind="stable")
    z, temperature, salinity = (np.take_along_axis(v, order, axis=1) for v in (z, temperature, salinity))
    return z, temperature, salinity
