"""Moorings in the format of OceanSITES: temperature, salinity and currents at the depths of instruments.

Source: OceanSITES Data Format Reference Manual 1.4 (2020): depths count downward, quality flags stand in
`<NAME>_QC`, averages carry the time in the middle of their interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..observations import Observations
from .axes import Record, as_paths, find_axis, has_flag, is_axis, measured, read_time
from .errors import FileFormatError, check_increasing, check_names, names_its_file
from .netcdf import Contents, Variable, read_contents
from .sea_water import modelled_water
from .series import BAD_FLAGS, GOOD_FLAGS
from .yaml_file import NAMES

_KNOWN = NAMES["oceansites"]


@dataclass(frozen=True)
class _Instruments:
    """One variable of one file: `(n_times, n_levels)`, bottom first."""

    key: str
    kind: str | None
    record: Record
    z: np.ndarray
    n_rejected: int
    position: tuple[float, float] | None  # longitude and latitude [degrees]


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
        FileFormatError: nothing to read, times or depths that are not in order, values that cannot be, no
            good value, a gap, files that contradict each other, or no salinity to convert with.
    """
    paths = as_paths(paths)
    given, units = dict(variables or {}), dict(units or {})
    check_names("variables", given, _KNOWN)
    found = []
    for path in paths:
        file = read_contents(path)
        for key, variable in _find(file, given).items():
            found.append(_read(file, key, variable, units, start_time, good_flags, longest_gap))
    time = np.unique(np.concatenate([one.record.time for one in found]))
    z = np.unique(np.concatenate([one.z for one in found]))
    profiles = _merged(found, time, z)
    if conservative:
        profiles = _modelled(found, profiles, z, salinity, position)
    return Observations(
        time=jnp.asarray(time, dtype=float),
        z=jnp.asarray(z, dtype=float),
        profiles={key: jnp.asarray(values, dtype=float) for key, values in profiles.items()},
        name=name or paths[0].stem,
        rejected={key: sum(one.n_rejected for one in found if one.key == key) for key in profiles},
    )


def _find(file: Contents, given: dict[str, str]) -> dict[str, Variable]:
    """Variables by our name."""
    found = {}
    for key, known in _KNOWN.items():
        names, standard = ((given[key],), ()) if key in given else (known["names"], known["kinds"])
        found[key] = file.find(key, names, standard, "choose one (variables)")
    found = {key: variable for key, variable in found.items() if variable is not None}
    if not found:
        expected = "a variable TEMP, PSAL, UCUR or VCUR, or one with its CF standard name"
        raise file.error("file", expected, file.listing, "name it (variables)")
    return found


def _read(
    file: Contents,
    key: str,
    variable: Variable,
    units: dict[str, str],
    start_time: str,
    good_flags: Sequence[int],
    longest_gap: float | None,
) -> _Instruments:
    time = find_axis(file, variable, None, "time")
    flags, kept = file.variables.get(f"{time.name}_QC"), np.ones(time.shape, dtype=bool)
    if flags is not None and flags.shape == time.shape:
        kept = ~has_flag(flags.values, BAD_FLAGS)
    axis = read_time(time.with_values(time.values[kept]), units.get("time"))
    axis.check_gaps(longest_gap)
    z, order, dims = _heights(file, variable, units)
    dims = (axis.variable.dims[0], *dims)
    variable = variable.along(dims, "choose one place")
    there = np.isfinite(variable.numbers())
    good = _good(file, variable, good_flags, int(there.sum()))
    # One row a time, also where there is a single depth.
    variable = variable.with_values(variable.values.reshape(kept.size, z.size)[kept][:, order])
    n_rejected = int((there & ~good).sum())
    good = good.reshape(kept.size, z.size)[kept][:, order]
    values = measured(variable, key, axis, units.get(key), good)
    # Stamps in days differ by fractions of a second between the files of one mooring.
    seconds = np.round(axis.since(start_time))
    check_increasing(file.path, axis.variable.name, seconds)
    kinds = _KNOWN[key]["kinds"]
    kind = kinds.get(str(variable.attrs.get("standard_name")), next(iter(kinds.values())))
    return _Instruments(key, kind, Record(variable, axis, seconds, values), z, n_rejected, _position(file))


def _heights(
    file: Contents, variable: Variable, units: dict[str, str]
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Heights [m], increasing, their order in the file, and the dimension they have (none for one depth)."""
    levels = [one for one in file.variables.values() if is_axis(one, "vertical")]
    along = [one for one in levels if len(one.dims) == 1 and one.dims[0] in variable.dims]
    own = [one for one in along if one.name == one.dims[0]]
    candidates = own or along or [one for one in levels if one.values.size == 1]
    if len(candidates) != 1:
        expected = "one coordinate DEPTH that does not change in time"
        got = " and ".join(one.name for one in candidates) or "none"
        raise variable.error(expected, got, "choose another file, or interpolate it to fixed depths")
    depth = candidates[0]
    values = np.ravel(depth.converted("z", units.get("z")))
    # The format counts depth downward, whether or not a file repeats it.
    sign = 1.0 if str(depth.attrs.get("positive", "down")).lower() == "up" else -1.0
    z = sign * values + 0.0
    order = np.argsort(z)
    check_increasing(file.path, depth.name, z[order])
    if z[order][-1] > 0.0:
        expected, got = "instruments in the water, depths counted downward", f"a height of {z[order][-1]:g} m"
        raise depth.error(expected, got, "correct its attribute 'positive', or leave the instrument out")
    return z[order], order, depth.dims if along else ()


def _good(file: Contents, variable: Variable, good_flags: Sequence[int], n_there: int) -> np.ndarray:
    """Where the value has one of the good flags; everywhere in a file without flags."""
    stated = str(variable.attrs.get("ancillary_variables", "")).replace(",", " ").split()
    names = [name for name in (*stated, f"{variable.name}_QC") if name.upper().endswith("_QC")]
    names = [name for name in names if name in file]
    if not names:
        return np.ones(variable.shape, dtype=bool)
    flags = file[names[0]].along(variable.dims, "repair the file")
    good = has_flag(flags.values, good_flags)
    if n_there and not np.any(good & np.isfinite(variable.numbers())):
        expected = f"values with a quality flag among {tuple(good_flags)}"
        advice = "where 0 (not checked) is good enough, give good_flags=(0, 1, 2, 5, 8)"
        raise flags.error(expected, f"none of {n_there}", advice)
    return good


def _position(file: Contents) -> tuple[float, float] | None:
    values = [file[name].values for name in ("LONGITUDE", "LATITUDE") if name in file]
    known = [float(numbers[0]) for one in values if (numbers := one[np.isfinite(one)]).size]
    return (known[0], known[1]) if len(known) == 2 else None


def _merged(found: list[_Instruments], time: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
    """All records on common times and heights."""
    profiles: dict[str, np.ndarray] = {}
    for one in found:
        record = one.record
        merged = profiles.setdefault(one.key, np.full((time.size, z.size), np.nan))
        place = np.ix_(np.searchsorted(time, record.time), np.searchsorted(z, one.z))
        there = merged[place]
        twice = np.isfinite(there) & np.isfinite(record.values) & (there != record.values)
        if np.any(twice):
            i, j = (int(n) for n in np.argwhere(twice)[0])
            expected = f"the value of the files before it, {there[i, j]:g}"
            got = f"{record.values[i, j]:g} at time {record.time[i]:g} s, height {one.z[j]:g} m"
            advice = "read deployments that overlap one by one"
            raise FileFormatError(record.variable.path, one.key, expected, got, advice)
        merged[place] = np.where(np.isfinite(there), there, record.values)
    return profiles


def _modelled(
    found: list[_Instruments],
    profiles: dict[str, np.ndarray],
    z: np.ndarray,
    constant: float | None,
    position: tuple[float, float] | None,
) -> dict[str, np.ndarray]:
    """Conservative temperature and absolute salinity in place of what was measured."""
    if "temperature" not in profiles and "salinity" not in profiles:
        return profiles
    path = found[0].record.variable.path
    kinds = {}
    for key in ("temperature", "salinity"):
        several = sorted({str(one.kind) for one in found if one.key == key})
        if len(several) > 1:
            got = " and ".join(several)
            raise FileFormatError(path, key, "one kind in all files", got, "read the files one by one")
        kinds[key] = several[0] if several else next(iter(_KNOWN[key]["kinds"].values()))
    missing = np.full_like(next(iter(profiles.values())), np.nan)
    measured_salinity = profiles.get("salinity", missing)
    salinity = _complete(measured_salinity, z, constant)
    if "temperature" in profiles and not np.all(np.isfinite(salinity)):
        expected = "salinity to convert the temperature with"
        advice = "add its file, give `salinity`, or conservative=False for in-situ temperature"
        raise FileFormatError(path, "salinity", expected, "none", advice)
    positions = [one.position for one in found if one.position is not None]
    positions += [] if position is None else [position]
    if not positions and kinds["salinity"] == "practical":
        advice = "add them to the file, give `position`, or conservative=False"
        expected = "the position, for absolute salinity"
        raise FileFormatError(path, "LATITUDE, LONGITUDE", expected, "none", advice)
    longitude, latitude = positions[0] if positions else (0.0, 0.0)
    temperature, absolute = modelled_water(
        profiles.get("temperature", missing),
        salinity,
        z[None, :],
        temperature_kind=kinds["temperature"],
        salinity_kind=kinds["salinity"],
        longitude=longitude,
        latitude=latitude,
    )
    absolute = np.where(np.isnan(measured_salinity), np.nan, absolute)
    modelled = {"temperature": temperature, "salinity": absolute}
    return {key: modelled.get(key, values) for key, values in profiles.items()}


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
