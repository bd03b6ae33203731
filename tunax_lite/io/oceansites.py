"""Moorings in the format of OceanSITES: temperature, salinity and currents at the depths of instruments.

Source: OceanSITES Data Format Reference Manual 1.4 (2020): depths count downward, quality flags stand in
`<NAME>_QC`, averages carry the time in the middle of their interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import xarray as xr

from ..observations import Observations
from .cf_axes import (
    TimeAxis,
    as_paths,
    check_gaps,
    check_salinity_unit,
    converted,
    find_axis,
    has_flag,
    is_vertical,
    read_time,
    since_start,
    without_fill,
)
from .errors import FileFormatError, check_increasing, check_possible, names_its_file
from .netcdf import read_netcdf
from .sea_water import modelled_water
from .series import BAD_FLAGS, GOOD_FLAGS

_NAMES = {
    "temperature": ("TEMP",),
    "salinity": ("PSAL",),
    "u": ("UCUR", "EWCT"),
    "v": ("VCUR", "NSCT"),
}
_KINDS = {
    "sea_water_temperature": "in_situ",
    "sea_water_potential_temperature": "potential",
    "sea_water_conservative_temperature": "conservative",
    "sea_water_practical_salinity": "practical",
    "sea_water_salinity": "practical",
    "sea_water_absolute_salinity": "absolute",
}
_DEFAULT_KINDS = {"temperature": "in_situ", "salinity": "practical"}


@dataclass(frozen=True)
class _Record:
    """One variable of one file: `values` is `(n_times, n_levels)`, bottom first."""

    path: Path
    variable: str
    kind: str | None
    time: np.ndarray
    z: np.ndarray
    values: np.ndarray
    n_rejected: int
    position: tuple[float, float] | None


@names_its_file("a file of a mooring")
def read_oceansites(
    paths,
    *,
    start_time: str,
    variables: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    good_flags: Sequence[int] = GOOD_FLAGS,
    conservative: bool = True,
    salinity: float | None = None,
    longest_gap: float | None = None,
    position: tuple[float, float] | None = None,
    name: str | None = None,
) -> Observations:
    """Profiles of a mooring at the depths of its instruments, NaN where there is no good value.

    Where no instrument measured the salinity that the conversion of a temperature needs, its mean over time
    at the depths around serves: 1 g/kg moves the result by less than 0.02 K.

    Args:
        paths: one file, or several of one mooring: temperature and salinity apart, one year after the other.
        start_time: ISO 8601 time at which the time of the observations is 0, Universal Time.
        variables: name in the file of `temperature`, `salinity`, `u` or `v`; by default TEMP, PSAL, UCUR
            and VCUR, or those with the CF standard name.
        units: unit by our name, also for `time` and `z`; goes before the one in the file.
        good_flags: values with another quality flag are left out.
        conservative: convert to conservative temperature and absolute salinity, those of the column.
        salinity: practical salinity to convert temperatures with where none was measured.
        longest_gap: refuse files with a longer time between two records [s].
        position: longitude and latitude [degrees], of files that do not say theirs.
        name: of the observations; by default that of the first file.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: nothing to read, times or depths that are not in order, values that cannot be, no
            good value, a gap, files that contradict each other, or no salinity to convert with.
    """
    paths = as_paths(paths)
    records = []
    for path in paths:
        dataset = read_netcdf(path, join_characters=False)
        for variable, found in _find(path, dataset, dict(variables or {})).items():
            records.append(
                _read(path, dataset, variable, found, dict(units or {}), start_time, good_flags, longest_gap)
            )
    time = np.unique(np.concatenate([record.time for record in records]))
    z = np.unique(np.concatenate([record.z for record in records]))
    profiles = _merged(records, time, z)
    if conservative:
        profiles = _modelled(records, profiles, z, salinity, position)
    return Observations(
        time=jnp.asarray(time, dtype=float),
        z=jnp.asarray(z, dtype=float),
        profiles={key: jnp.asarray(values, dtype=float) for key, values in profiles.items()},
        name=name or paths[0].stem,
        rejected={
            key: sum(record.n_rejected for record in records if record.variable == key) for key in profiles
        },
    )


def _find(path: Path, dataset: xr.Dataset, given: dict[str, str]) -> dict[str, str]:
    """Name in the file by our name."""
    unknown = [key for key in given if key not in _NAMES]
    if unknown:
        raise ValueError(f"variables: expected names among {', '.join(_NAMES)}, got '{unknown[0]}'.")
    standard = {
        "u": ("eastward_sea_water_velocity",),
        "v": ("northward_sea_water_velocity",),
        "temperature": [key for key in _KINDS if key.endswith("temperature")],
        "salinity": [key for key in _KINDS if key.endswith("salinity")],
    }
    found = {}
    for variable, names in _NAMES.items():
        known = (given[variable],) if variable in given else names
        matching = [name for name in known if name in dataset.variables] or [
            str(name)
            for name in dataset.variables
            if variable not in given and dataset[name].attrs.get("standard_name") in standard[variable]
        ]
        if len(matching) > 1:
            raise FileFormatError(
                path, variable, "one variable", " and ".join(matching), "choose one (variables)"
            )
        if matching:
            found[variable] = matching[0]
    if not found:
        raise FileFormatError(
            path,
            "file",
            "a variable TEMP, PSAL, UCUR or VCUR, or one with its CF standard name",
            ", ".join(map(str, dataset.variables)) or "an empty file",
            "name it (variables)",
        )
    return found


def _read(
    path: Path,
    dataset: xr.Dataset,
    variable: str,
    name: str,
    units: dict[str, str],
    start_time: str,
    good_flags: Sequence[int],
    longest_gap: float | None,
) -> _Record:
    measured = dataset[name]
    axis, kept = _time(path, dataset, measured, units)
    if longest_gap is not None:
        check_gaps(path, axis, longest_gap)
    z, order, dims = _heights(path, dataset, measured, units)
    single = [d for d, n in measured.sizes.items() if n == 1 and d not in (*kept.dims, *dims)]
    measured = without_fill(measured.squeeze(single))
    if set(measured.dims) != {*kept.dims, *dims}:
        raise FileFormatError(
            path, name, f"the dimensions {(*kept.dims, *dims)}", f"{measured.dims}", "choose one place"
        )
    measured = measured.transpose(*kept.dims, *dims)
    values = converted(path, measured, variable, units.get(variable))
    good = _good(path, dataset, measured, values, good_flags)
    n_rejected = int((np.isfinite(values) & ~good).sum())
    values = np.where(good, values, np.nan)
    values = values.reshape(kept.size, z.size)[kept.values][:, order]
    check_possible(path, name, variable, values, axis.describe)
    if variable == "salinity":
        check_salinity_unit(path, name, values)
    # Stamps in days differ by fractions of a second between the files of one mooring.
    seconds = np.round(since_start(path, axis, start_time))
    check_increasing(path, axis.name, seconds)
    kind = _KINDS.get(str(measured.attrs.get("standard_name")), _DEFAULT_KINDS.get(variable))
    return _Record(path, variable, kind, seconds, z, values, n_rejected, _position(dataset))


def _time(
    path: Path, dataset: xr.Dataset, measured: xr.DataArray, units: dict[str, str]
) -> tuple[TimeAxis, xr.DataArray]:
    """The times that are not flagged as bad, and which these are."""
    time = find_axis(path, dataset, measured, None, "time")
    kept = np.ones(time.size, dtype=bool)
    if f"{time.name}_QC" in dataset.variables and dataset[f"{time.name}_QC"].shape == time.shape:
        kept = ~has_flag(dataset[f"{time.name}_QC"].values, BAD_FLAGS)
    axis = read_time(path, without_fill(time)[kept], units.get("time"))
    return axis, xr.DataArray(kept, dims=time.dims)


def _heights(
    path: Path, dataset: xr.Dataset, measured: xr.DataArray, units: dict[str, str]
) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Heights [m], increasing, their order in the file, and the dimension they have (none for one depth)."""
    levels = [dataset[key] for key in dataset.variables if is_vertical(dataset[key])]
    along = [c for c in levels if c.ndim == 1 and c.dims[0] in measured.dims]
    own = [c for c in along if c.name == c.dims[0]]
    single = [c for c in levels if c.size == 1]
    candidates = own or along or single
    if len(candidates) != 1:
        raise FileFormatError(
            path,
            str(measured.name),
            "one coordinate DEPTH that does not change in time",
            " and ".join(str(c.name) for c in candidates) or "none",
            "choose another file, or interpolate it to fixed depths",
        )
    depth = candidates[0]
    values = np.ravel(converted(path, without_fill(depth), "z", units.get("z")))
    # The format counts depth downward, whether or not a file repeats it.
    sign = 1.0 if str(depth.attrs.get("positive", "down")).lower() == "up" else -1.0
    z = sign * values + 0.0
    order = np.argsort(z)
    check_increasing(path, str(depth.name), z[order])
    if z[order][-1] > 0.0:
        raise FileFormatError(
            path,
            str(depth.name),
            "instruments in the water, depths counted downward",
            f"a height of {z[order][-1]:g} m",
            "correct its attribute 'positive', or leave the instrument out",
        )
    return z[order], order, depth.dims if along else ()


def _good(
    path: Path, dataset: xr.Dataset, measured: xr.DataArray, values: np.ndarray, good_flags: Sequence[int]
) -> np.ndarray:
    """Where the value has one of the good flags; everywhere in a file without flags."""
    stated = str(measured.attrs.get("ancillary_variables", "")).replace(",", " ").split()
    names = [name for name in (*stated, f"{measured.name}_QC") if name.upper().endswith("_QC")]
    names = [name for name in names if name in dataset.variables]
    if not names:
        return np.ones(values.shape, dtype=bool)
    flags = dataset[names[0]]
    flags = flags.squeeze([d for d, n in flags.sizes.items() if n == 1 and d not in measured.dims])
    if set(flags.dims) != set(measured.dims):
        raise FileFormatError(
            path, names[0], f"the dimensions {measured.dims}", f"{flags.dims}", "repair the file"
        )
    good = has_flag(flags.transpose(*measured.dims).values, good_flags)
    if np.any(np.isfinite(values)) and not np.any(good & np.isfinite(values)):
        raise FileFormatError(
            path,
            names[0],
            f"values with a quality flag among {tuple(good_flags)}",
            f"none of {int(np.isfinite(values).sum())}",
            "where 0 (not checked) is good enough, give good_flags=(0, 1, 2, 5, 8)",
        )
    return good


def _position(dataset: xr.Dataset) -> tuple[float, float] | None:
    """Longitude and latitude [degrees]."""
    found = []
    for name in ("LONGITUDE", "LATITUDE"):
        if name not in dataset.variables:
            return None
        values = without_fill(dataset[name]).values.ravel()
        values = values[np.isfinite(values)]
        if not values.size:
            return None
        found.append(float(values[0]))
    return found[0], found[1]


def _merged(records: list[_Record], time: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
    """All records on common times and heights."""
    profiles: dict[str, np.ndarray] = {}
    for record in records:
        merged = profiles.setdefault(record.variable, np.full((time.size, z.size), np.nan))
        place = np.ix_(np.searchsorted(time, record.time), np.searchsorted(z, record.z))
        there = merged[place]
        twice = np.isfinite(there) & np.isfinite(record.values) & (there != record.values)
        if np.any(twice):
            i, j = (int(n) for n in np.argwhere(twice)[0])
            raise FileFormatError(
                record.path,
                record.variable,
                f"the value of the files before it, {there[i, j]:g}",
                f"{record.values[i, j]:g} at time {record.time[i]:g} s, height {record.z[j]:g} m",
                "read deployments that overlap one by one",
            )
        merged[place] = np.where(np.isfinite(there), there, record.values)
    return profiles


def _modelled(
    records: list[_Record],
    profiles: dict[str, np.ndarray],
    z: np.ndarray,
    constant: float | None,
    position: tuple[float, float] | None,
) -> dict[str, np.ndarray]:
    """Conservative temperature and absolute salinity in place of what was measured."""
    if "temperature" not in profiles and "salinity" not in profiles:
        return profiles
    path = records[0].path
    kinds = {}
    for key, default in _DEFAULT_KINDS.items():
        several = {record.kind for record in records if record.variable == key and record.kind is not None}
        if len(several) > 1:
            raise FileFormatError(
                path, key, "one kind in all files", " and ".join(sorted(several)), "read the files one by one"
            )
        kinds[key] = several.pop() if several else default
    measured = profiles.get("salinity", np.full_like(next(iter(profiles.values())), np.nan))
    salinity = _complete(measured, z, constant)
    if "temperature" in profiles and not np.all(np.isfinite(salinity)):
        raise FileFormatError(
            path,
            "salinity",
            "salinity to convert the temperature with",
            "none",
            "add the file of the salinity, give `salinity`, or conservative=False for in-situ temperature",
        )
    positions = [record.position for record in records if record.position is not None]
    positions += [] if position is None else [position]
    if not positions and kinds["salinity"] == "practical":
        raise FileFormatError(
            path,
            "LATITUDE, LONGITUDE",
            "the position, for absolute salinity",
            "none",
            "add them to the file, give `position`, or conservative=False",
        )
    longitude, latitude = positions[0] if positions else (0.0, 0.0)
    temperature, absolute = modelled_water(
        profiles.get("temperature", np.full_like(salinity, np.nan)),
        salinity,
        z[None, :],
        temperature_kind=kinds["temperature"],
        salinity_kind=kinds["salinity"],
        longitude=longitude,
        latitude=latitude,
    )
    converted_profiles = {
        "temperature": temperature,
        "salinity": np.where(np.isnan(measured), np.nan, absolute),
    }
    return {key: converted_profiles.get(key, values) for key, values in profiles.items()}


def _complete(salinity: np.ndarray, z: np.ndarray, constant: float | None) -> np.ndarray:
    """Salinity without gaps: the mean over time of the instruments around, or a constant."""
    if constant is not None:
        return np.where(np.isnan(salinity), constant, salinity)
    count = np.isfinite(salinity).sum(axis=0)
    if not np.any(count):
        return salinity
    known = count > 0
    means = np.nansum(salinity[:, known], axis=0) / count[known]
    return np.where(np.isnan(salinity), np.interp(z, z[known], means)[None, :], salinity)
