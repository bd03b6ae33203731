"""Moorings in the formats of OceanSITES, IMOS and CMEMS: temperature, salinity and currents of instruments.

Each value becomes a sample with its time and height, whatever the layout: a variable over time and depth, one
instrument whose depth moves, a current meter with cells above it, or values one after the other with the
number of their instrument. Samples of all files are then put on common times and heights.

Source: OceanSITES Data Format Reference Manual 1.4 (2020): depths count downward, quality flags stand in
`<NAME>_QC`, averages carry the time in the middle of their interval; IMOS NetCDF Conventions 1.4 (2017); CF
Conventions 1.11, chapter 9 (indexed and contiguous ragged arrays).
"""

import contextlib
import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..observations import Observations
from .axes import (
    TimeAxis,
    as_seconds,
    as_sources,
    find_axis,
    flags_of,
    has_flag,
    has_statistics,
    is_axis,
    measured,
    order_in_time,
    read_time,
    stem_of,
)
from .errors import FileFormatError, check_names, names_its_file
from .heights import Heights, heights_of
from .netcdf import Contents, Variable, read_contents
from .places import position_of
from .profile_text import read_profile_text
from .sea_water import SalinityGiven, modelled_water, notes_of_salinity, salinity_at
from .series import BAD_FLAGS, GOOD_FLAGS, start_of_case
from .table import is_text
from .units import conversion
from .yaml_file import NAMES

_KNOWN = NAMES["oceansites"]


@dataclass(frozen=True)
class _Samples:
    """Values of one variable of one file, NaN where not good, and the time [s] and height [m] of each."""

    key: str
    kind: str | None
    variable: Variable
    time: np.ndarray
    z: np.ndarray
    values: np.ndarray
    moves: bool
    n_rejected: int
    position: tuple[float, float] | None  # longitude and latitude [degrees]
    notes: tuple[str, ...] = ()


class _NothingGoodError(FileFormatError):
    """Of a variable without any value that can be used: the others of its file may have some."""


@names_its_file("a file of a mooring")
def read_oceansites(
    paths,
    *,
    start_time: str,
    variables: Mapping[str, str | None] | None = None,
    units: Mapping[str, str] | None = None,
    good_flags: Sequence[int] = GOOD_FLAGS,
    depths: str | float = "nominal",
    conservative: bool = True,
    salinity: SalinityGiven | None = None,
    longest_gap: float | None = None,
    position: tuple[float, float] | None = None,
    name: str | None = None,
) -> Observations:
    """Profiles of a mooring at the depths of its instruments, NaN where there is no good value.

    Where no instrument measured the salinity that the conversion of a temperature needs, its mean over time
    at the depths around serves, and 35 without any: 1 g/kg moves the result by 0.02 K at 10 degC, by 0.04 K
    at 30 degC. Without any measured salinity the observations have none: the temperature alone is enough to
    compare temperatures. What was assumed or left out is in their notes.

    Args:
        paths: one file or dataset of xarray, or several of one mooring: temperature and salinity apart, one
            year after the other, one instrument each.
        start_time: ISO 8601 time at which the time of the observations is 0, Universal Time.
        variables: name in the file of `temperature`, `salinity`, `u` or `v`, `None` to leave one out; by
            default TEMP, PSAL, UCUR and VCUR, or those with the CF standard name. Of several resolutions that
            counts which has most of these quantities, then the finest.
        units: unit by our name, also for `time` and `z`; goes before the one in the file.
        good_flags: values with another quality flag are left out.
        depths: of instruments that measure theirs: "nominal" for the depth that they should have, so that
            heights do not change (without one the median, where the depth stays within 5 m or 5 % of it);
            "measured" for the depth or the pressure of each value; or the depth [m] of the instrument in
            files that do not say it.
        conservative: convert to conservative temperature and absolute salinity, those of the column.
        salinity: practical salinity to convert temperatures with where none was measured: a number, or
            increasing heights [m] and values.
        longest_gap: refuse files with a longer time between two records [s].
        position: longitude and latitude [degrees], of files that do not say theirs.
        name: of the observations; by default that of the first file.

    Raises:
        FileFormatError: nothing to read, times or depths that are not in order, values that cannot be, no
            good value, a gap, files that contradict each other, or no depth.
    """
    sources = as_sources(paths)
    given, units = dict(variables or {}), dict(units or {})
    check_names("variables", given, _KNOWN)
    if isinstance(depths, str) and depths not in ("nominal", "measured"):
        raise ValueError(f"depths: expected 'nominal', 'measured' or a depth [m], got '{depths}'.")
    found, empty = [], []
    for source in sources:
        file = read_profile_text(source) if is_text(source) else read_contents(source)
        place = position_of(file) or position
        for key, (times, variable) in _find(file, given).items():
            heights = heights_of(file, variable, times.dims[0], depths, units.get("z"), place)
            variable = variable.along((times.dims[0], *heights.dims), "choose one place")
            try:
                good = _good(file, variable, tuple(good_flags))
                options = (units, start_time, longest_gap)
                found.append(_samples(file, key, times, variable, heights, good, *options))
            except _NothingGoodError as error:
                empty.append(error)
    if not found:
        raise empty[0]
    time, z, profiles = _merged(found)
    notes = (*(f"left out: {error}" for error in empty), *(note for one in found for note in one.notes))
    if conservative:
        profiles, more = _modelled(found, profiles, z, salinity, position)
        notes += more
    return Observations(
        time=as_seconds(found[0].variable, time, start_time),
        z=jnp.asarray(z, dtype=float),
        profiles={key: jnp.asarray(values, dtype=float) for key, values in profiles.items()},
        name=name or stem_of(sources[0]),
        rejected={key: sum(one.n_rejected for one in found if one.key == key) for key in profiles},
        notes=notes,
    )


def _find(file: Contents, given: dict[str, str | None]) -> dict[str, tuple[Variable, Variable]]:
    """Times and variables by our name; of several resolutions that of most quantities, then the finest."""
    lower = {name.lower(): one for name, one in file.variables.items()}
    candidates: dict[str, list[tuple[Variable, Variable, bool]]] = {}
    for key, known in _KNOWN.items():
        names, others = [given[key]] if key in given else [*known["names"], *known["kinds"]], []
        named = [lower[name.lower()] for name in names if name is not None and name.lower() in lower][:1]
        if key not in given:
            adjusted = [lower[name] for one in named if (name := f"{one.name}_adjusted".lower()) in lower]
            named = [one for one in adjusted if np.isfinite(one.numbers()).any()] or named
            others = [one for one in lower.values() if one.attrs.get("standard_name") in known["kinds"]]
            dims = set(named[0].dims) if named else None
            others = [one for one in others if not has_statistics(one) and set(one.dims) != dims]
        candidates[key] = [(*_times(file, one), one in named) for one in (*named, *others)]
    found = {}
    for key, several in candidates.items():
        ranks = []
        for time, one, is_named in several:
            shared = sum(any(time.name == of[0].name for of in other) for other in candidates.values())
            ranks.append((shared, is_named, one.values.size))
        best = [one for one, rank in zip(several, ranks, strict=True) if rank == max(ranks)]
        if len(best) > 1:
            got = " and ".join(one.name for _, one, _ in best)
            raise file.error(key, "one variable with its CF standard name", got, "choose one (variables)")
        if best:
            found[key] = best[0][:2]
    if not found:
        expected = "a variable TEMP, PSAL, UCUR or VCUR, or one with its CF standard name"
        raise file.error("file", expected, file.listing, "name it (variables)")
    return found


def _times(file: Contents, variable: Variable) -> tuple[Variable, Variable]:
    """The times of a variable, and the variable over them; one profile may have its time beside it."""
    times = [one for one in file.variables.values() if is_axis(one, "time")]
    single = [one for one in times if one.values.size == 1]
    if len(single) == 1 and not any(len(one.dims) == 1 and one.dims[0] in variable.dims for one in times):
        time = dataclasses.replace(single[0], dims=("time",), values=single[0].values.reshape(1))
        return time, dataclasses.replace(
            variable, dims=("time", *variable.dims), values=variable.values[None]
        )
    return find_axis(file, variable, None, "time"), variable


def _samples(
    file: Contents,
    key: str,
    times: Variable,
    variable: Variable,
    heights: Heights,
    good: np.ndarray,
    units: dict[str, str],
    start_time: str,
    longest_gap: float | None,
) -> _Samples:
    shape = (times.values.size, -1)
    numbers, good = variable.numbers().reshape(shape), good.reshape(shape)
    # What has no good depth, or is above the water, has no place in the column.
    there, placed = np.isfinite(numbers), np.broadcast_to(heights.placed, numbers.shape)
    kept, flags = there & good & placed, flags_of(file, times)
    if flags is not None:
        kept &= ~has_flag(flags.values, BAD_FLAGS)[:, None]
    if not kept.any():
        expected = "good values at a known depth below the surface and with a good time"
        got, advice = f"none among {int(there.sum())} values", "check the depths and the flags"
        raise _NothingGoodError(variable.path, variable.name, expected, got, advice)
    # A record without any good value need not have a time that can be.
    chosen = np.flatnonzero(kept.any(axis=1))
    disorder: tuple[str, ...] = ()
    if not heights.is_ragged:
        order, disorder = order_in_time(times.with_values(times.values[chosen]))
        chosen = chosen[order]
    times = times.with_values(times.values[chosen])
    axis = read_time(times, units.get("time"), increasing=not heights.is_ragged)
    if not heights.is_ragged:
        axis.check_gaps(longest_gap)
    inside, notes = _in_water(file, axis), disorder
    if not inside.all():
        n_all, n_dry = int(kept.sum()), int(kept[chosen][~inside].sum())
        if n_dry == n_all:
            expected = "values from time_deployment_start to time_deployment_end"
            got, advice = f"none of {n_all}", "correct these attributes, or choose another file"
            raise _NothingGoodError(variable.path, variable.name, expected, got, advice)
        said = f"{n_dry} of {n_all} values are not of the time of the deployment, and are left out"
        notes += (f"{variable.path}: {variable.name}: {said}.",)
        chosen = chosen[inside]
        axis = dataclasses.replace(axis, seconds=axis.seconds[inside])
    # The deepest first, where heights are fixed: in the order in which messages count.
    is_fixed = len(heights.z) == 1
    order = np.argsort(heights.z[0], kind="stable") if is_fixed else slice(None)
    numbers, kept, placed = (part[chosen][:, order] for part in (numbers, kept, placed))
    z = np.broadcast_to(heights.z, there.shape)[chosen][:, order]
    unit = units.get(key)
    if key == "salinity" and unit is None:
        unit, more = _unit_of_salinity(variable)
        notes += more
    values = measured(variable.with_values(numbers), key, axis, unit, kept)
    # Fixed heights are there whether or not they ever had a good value.
    row, column = np.nonzero(placed if is_fixed else kept)
    kinds = _KNOWN[key]["kinds"]
    said = (str(variable.attrs.get("standard_name")), variable.name)
    return _Samples(
        key=key,
        kind=next((kinds[word] for word in said if word in kinds), next(iter(kinds.values()))),
        variable=variable,
        time=_rounded(axis, start_time)[row],
        z=z[row, column],
        values=values[row, column],
        moves=heights.moves,
        n_rejected=int((there & ~good).sum()),
        position=position_of(file),
        notes=notes,
    )


def _in_water(file: Contents, axis: TimeAxis) -> np.ndarray:
    """Records of the time in which the instrument hung in the water, where the file says it as IMOS does."""
    inside = np.ones(axis.seconds.shape, dtype=bool)
    for name, sign in (("time_deployment_start", 1.0), ("time_deployment_end", -1.0)):
        with contextlib.suppress(ValueError):  # no date
            moment = start_of_case(str(file.attrs.get(name)))
            if axis.epoch is not None:
                # Stamps in days are good to a fraction of a second.
                inside &= sign * (axis.seconds - (moment - axis.epoch).total_seconds()) > -1.0
    return inside


def _unit_of_salinity(variable: Variable) -> tuple[str | None, tuple[str, ...]]:
    """1 where there is none, or one that practical salinity cannot have; and what to know of that."""
    unit = variable.attrs.get("units")
    if unit is None:
        return "1", ()
    try:
        conversion("salinity", str(unit))
    except ValueError:
        if variable.attrs.get("standard_name") == "sea_water_practical_salinity":
            return "1", (
                f"{variable.path}: {variable.name}: practical salinity, whose unit is not '{unit}'.",
            )
    return None, ()


def _rounded(axis: TimeAxis, start_time: str) -> np.ndarray:
    """Seconds since the start: stamps in days differ by fractions of one between the files of a mooring."""
    exact = axis.since(start_time)
    rounded = np.round(exact)
    return rounded if np.unique(rounded).size == np.unique(exact).size else exact


def _good(file: Contents, variable: Variable, good_flags: tuple[int, ...]) -> np.ndarray:
    """Where the value has one of the good flags; everywhere in a file without flags."""
    flags, there = flags_of(file, variable), np.isfinite(variable.numbers())
    if flags is None:
        return np.ones(variable.shape, dtype=bool)
    # Some files give other meanings to the numbers, such as `sensor_failed` to 5.
    meanings = str(flags.attrs.get("flag_meanings", "")).lower().split()
    numbers = np.ravel(flags.attrs.get("flag_values", ())).tolist()
    if good_flags == GOOD_FLAGS and len(numbers) == len(meanings):
        meant = {str(number): word for number, word in zip(numbers, meanings, strict=True)}
        bad = [flag for flag in good_flags if re.search("fail|missing", meant.get(str(flag), ""))]
        good_flags = tuple(flag for flag in good_flags if flag not in bad)
    good = has_flag(flags.values, good_flags)
    if there.any() and not np.any(good & there):
        shown = np.unique(flags.values[there]).tolist()
        expected = f"values with a quality flag among {good_flags}, and not {shown} alone"
        advice = "leave it out (variables), or choose another file"
        if has_flag(np.array(shown), (0,)).any():
            advice = "where 0 (not checked) is good enough, give good_flags=(0, 1, 2, 5, 8)"
        raise _NothingGoodError(file.path, flags.name, expected, f"none of {int(there.sum())}", advice)
    return good


def _merged(found: list[_Samples]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Times, heights (those of each time, where they move), and all samples on them."""
    time, rows = np.unique(np.concatenate([one.time for one in found]), return_inverse=True)
    z, columns = np.unique(np.concatenate([one.z for one in found]), return_inverse=True)
    if any(one.moves for one in found):
        pairs, at = np.unique(rows * z.size + columns, return_inverse=True)
        first = np.searchsorted(pairs // z.size, np.arange(time.size))
        heights, columns = z[columns], at - first[rows]
        z = np.full((time.size, int(columns.max()) + 1), np.nan)
        z[rows, columns] = heights
    shape, start = (time.size, z.shape[-1]), 0
    profiles: dict[str, np.ndarray] = {}
    for one in found:
        part = slice(start, start := start + one.time.size)
        place = rows[part] * shape[1] + columns[part]
        # Instruments of one file at one depth count as one.
        known = np.isfinite(one.values)
        n = np.bincount(place[known], minlength=shape[0] * shape[1]).reshape(shape)
        total = np.bincount(place[known], weights=one.values[known], minlength=n.size).reshape(shape)
        own = np.where(n > 0, total / np.maximum(n, 1), np.nan)
        merged = profiles.get(one.key, np.full(shape, np.nan))
        twice = np.argwhere(np.isfinite(merged) & np.isfinite(own) & (merged != own))
        if twice.size:
            i, j = (int(n) for n in twice[0])
            expected = f"the value of the files before it, {merged[i, j]:g}"
            height = z[i, j] if z.ndim == 2 else z[j]
            got = f"{own[i, j]:g} at time {time[i]:g} s, height {height:g} m"
            advice = "read deployments that overlap one by one"
            raise FileFormatError(one.variable.path, one.key, expected, got, advice)
        profiles[one.key] = np.where(np.isfinite(merged), merged, own)
    return time, z, profiles


def _modelled(
    found: list[_Samples],
    profiles: dict[str, np.ndarray],
    z: np.ndarray,
    given: SalinityGiven | None,
    position: tuple[float, float] | None,
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Conservative temperature and absolute salinity in place of what was measured; what to know of them."""
    if "temperature" not in profiles and "salinity" not in profiles:
        return profiles, ()
    path = found[0].variable.path
    kinds = {}
    for key in ("temperature", "salinity"):
        several = sorted({str(one.kind) for one in found if one.key == key})
        if len(several) > 1:
            got = " and ".join(several)
            raise FileFormatError(path, key, "one kind in all files", got, "read the files one by one")
        kinds[key] = several[0] if several else next(iter(_KNOWN[key]["kinds"].values()))
    missing = np.full_like(next(iter(profiles.values())), np.nan)
    heights, measured_salinity = np.broadcast_to(z, missing.shape), profiles.get("salinity", missing)
    salinity = salinity_at(heights, measured_salinity, given)
    notes = notes_of_salinity(str(path), profiles.get("temperature", missing), measured_salinity, given)
    positions = [one.position for one in found if one.position is not None]
    positions += [] if position is None else [position]
    is_measured = bool(np.isfinite(measured_salinity).any())
    if not positions and kinds["salinity"] == "practical" and is_measured:
        advice = "add them to the file, give `position`, or conservative=False"
        expected = "the position, for absolute salinity"
        raise FileFormatError(path, "LATITUDE, LONGITUDE", expected, "none", advice)
    longitude, latitude = positions[0] if positions else (0.0, 0.0)
    temperature, absolute = modelled_water(
        profiles.get("temperature", missing),
        salinity,
        heights,
        temperature_kind=kinds["temperature"],
        salinity_kind=kinds["salinity"],
        longitude=longitude,
        latitude=latitude,
        anomaly=bool(positions),
    )
    absolute = np.where(np.isnan(measured_salinity), np.nan, absolute)
    modelled = {"temperature": temperature, "salinity": absolute}
    return {key: modelled.get(key, values) for key, values in profiles.items()}, notes
