"""Moorings in OceanSITES, IMOS and CMEMS formats: temperature, salinity and currents of instruments.

Each value becomes a sample with a time and a height, whatever the layout: a variable over time and depth, one
instrument of varying depth, a current meter with bins above it, or a ragged array with instrument indices.
The samples of all files are then placed on common times and heights.

Source: OceanSITES Data Format Reference Manual 1.4 (2020): depths are positive down, quality flags are in
`<NAME>_QC`, averages are stamped at the middle of their interval; IMOS NetCDF Conventions 1.4 (2017); CF
Conventions 1.11, chapter 9 (indexed and contiguous ragged arrays).
"""

import contextlib
import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._types import warn_of_input
from ..column.observations import Observations
from ..plausibility.rules import far_away
from ..quantities import QUANTITIES
from .attributes import examine
from .axes import (
    as_sources,
    check_measured,
    check_position,
    find_axis,
    flags_of,
    has_flag,
    heights_of,
    is_axis,
    is_text_or_statistic,
    position_of,
    stem_of,
)
from .case import WATER_NAMES, observations_from_dataset
from .errors import FileFormatError, check_names, name_of, names_its_file
from .netcdf import read_netcdf
from .sea_water import SalinityGuess
from .series import BAD_FLAGS, GOOD_FLAGS, start_of_case
from .table import is_text, read_profile_text
from .times import order_in_time, read_time, seconds_since
from .tracers import Tracer, Tracers, as_tracers
from .units import Conversions, as_conversion, conversion, unit_alone, unit_in_brackets
from .variables import (
    error_in,
    in_unit,
    like,
    listing,
    note_on,
    numbers_in,
    on_axes,
    variables_of,
)
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_KNOWN = NAMES["oceansites"]


class _Options(NamedTuple):
    """Options for all files, as in `open_oceansites`."""

    units: Conversions
    good_flags: tuple[int, ...]
    depths: str | float
    tracers: Mapping[str, Tracer]


class _NothingGoodError(FileFormatError):
    """A variable without a usable value; other variables of the same file may have some."""


def read_oceansites(
    paths,
    *,
    start_time: str,
    conservative: bool = True,
    salinity: SalinityGuess | None = None,
    name: str | None = None,
    **options: Any,
) -> Observations:
    """Profiles of a mooring at the depths of its instruments, NaN where there is no good value.

    Args:
        paths, options: as in `open_oceansites`.
        start_time, conservative, salinity, name: as in `observations_from_dataset`.
    """
    dataset = open_oceansites(paths, **options)
    return observations_from_dataset(
        dataset, start_time=start_time, conservative=conservative, salinity=salinity, name=name
    )


@names_its_file("a file of a mooring")
def open_oceansites(
    paths,
    *,
    variables: Mapping[str, str | None] | None = None,
    units: Conversions | None = None,
    good_flags: Sequence[int] = GOOD_FLAGS,
    depths: str | float = "nominal",
    position: tuple[float, float] | None = None,
    tracers: Tracers | None = None,
) -> "xr.Dataset":
    """Read a mooring over `time` and `z`, or `level` where heights vary; see `open_observations`.

    Args:
        paths: one file or xarray dataset, or several of one mooring, such as one per variable, year or
            instrument.
        variables: names in the file of `temperature`, `salinity`, `u` or `v`, `None` to leave one out;
            `FILE:NAME` for one of several files, such as columns of profiles in GOTM's format, which are
            called 1, 2, ... in every file. By default usual names such as TEMP, PSAL, UCUR and VCUR, or the
            CF standard name. Of several temporal resolutions, the reader takes the one with most of these
            quantities, then one with a usual name, then the finest.
        units: units or conversions by the package's names, also the units of `time` and `z`; override those
            in the file.
        good_flags: quality flags to accept.
        depths: of instruments that measure pressure or depth: "nominal" for fixed nominal depths (or the
            median if there is none and the depth varies by less than 5 m or 5 %); "measured" for the depth or
            pressure of each value; or a depth [m] for files that give none.
        position: latitude and longitude of the site [degrees north, degrees east]; that of the instruments in
            files that do not give it.
        tracers: variables of the files by the names of tracers, such as pools of biogeochemistry.

    Raises:
        FileFormatError: nothing to read, a repeated time or depth, impossible values, no good value, files
            that contradict each other, or no depth.
        ValueError: unknown names, a wrong `depths` or an impossible position.
    """
    sources, requested, units = as_sources(paths), dict(variables or {}), dict(units or {})
    check_names("variables", requested, _KNOWN)
    tracers_by_name = as_tracers(tracers)
    requested |= {key: tracer.variable for key, tracer in tracers_by_name.items()}
    check_names("units", units, (*_KNOWN, "time", "z"))
    if isinstance(depths, str) and depths not in ("nominal", "measured"):
        raise ValueError(f"depths: expected 'nominal', 'measured' or a depth [m], got '{depths}'.")
    check_position(position)
    options = _Options(units, tuple(good_flags), depths, tracers_by_name)
    samples, empty = list["xr.DataArray"](), list[_NothingGoodError]()
    for source in sources:
        file = read_profile_text(source) if is_text(source) else read_netcdf(source)
        place = position_of(file)
        if place is not None and position is not None:
            warn_of_input(far_away(name_of(file), [place], position))
        for key, (times, variable) in _find(file, _names_in(file, requested)).items():
            try:
                part = _samples(file, key, times, variable, place or position, options)
                samples.append(part.assign_attrs(position=place))
            except _NothingGoodError as error:
                empty.append(error)
    if not samples:
        raise empty[0]
    wanted = {key: name for key, name in requested.items() if name is not None}
    for key in [key for key in wanted if key not in {part.name for part in samples}]:
        nothing_good = next((error for error in empty if f": {wanted[key]}" in str(error)), None)
        files, advice = ", ".join(map(name_of, sources)), "correct its name (variables, tracers)"
        raise nothing_good or FileFormatError(files, wanted[key], f"a variable for {key}", "none", advice)
    warn_of_input(f"left out: {error}" for error in empty)
    dataset = _merged(samples)
    for key in [str(name) for name in dataset.data_vars]:
        parts = [part for part in samples if part.name == key]
        kinds = sorted({str(part.attrs["kind"]) for part in parts})
        if len(kinds) > 1 and key in ("temperature", "salinity"):
            got, path = " and ".join(kinds), name_of(samples[0])
            raise FileFormatError(path, key, "one kind in all files", got, "read the files one by one")
        attrs = {name: parts[0].attrs[name] for name in ("of_density", "offset") if name in parts[0].attrs}
        attrs |= {"rejected": sum(part.attrs["rejected"] for part in parts)}
        if key in QUANTITIES:
            attrs["units"] = QUANTITIES[key].unit
        dataset[key].attrs = attrs
        dataset = dataset.rename({key: WATER_NAMES.get((key, kinds[0]), key)})
    places = [part.attrs["position"] for part in samples if part.attrs["position"] is not None] + [position]
    if places[0] is not None:
        dataset = dataset.assign_coords(latitude=places[0][0], longitude=places[0][1])
    dataset.encoding["source"] = name_of(samples[0])
    return dataset.assign_attrs(case=stem_of(sources[0]))


def _names_in(file: "xr.Dataset", requested: dict[str, str | None]) -> dict[str, str | None]:
    """Names to read from this file: those of other files (`FILE:NAME`) become `None`."""
    names = {}
    for key, name in requested.items():
        where, separator, in_file = (name or "").rpartition(":")
        names[key] = name if not separator else in_file if where == Path(name_of(file)).name else None
    return names


def _find(
    file: "xr.Dataset", requested: dict[str, str | None]
) -> dict[str, tuple["xr.DataArray", "xr.DataArray"]]:
    """Find times and variables, by the package's names; see `variables` of `open_oceansites`.

    Raises:
        FileFormatError: no variable, or several that fit equally well.
    """
    lower = {str(var.name).lower(): var for var in variables_of(file)}

    def first_of(names: Sequence[str]) -> list["xr.DataArray"]:
        return [lower[name.lower()] for name in names if name.lower() in lower][:1]

    # Times, variable, and whether it has a requested or usual name.
    candidates: dict[str, list[tuple["xr.DataArray", "xr.DataArray", bool]]]
    candidates = {key: [] for key in (*_KNOWN, *requested)}
    for key, name in requested.items():
        names = [] if name is None else [name, unit_in_brackets(name)[0]]
        candidates[key] = [(*_times(file, var), True) for var in first_of(names)]
    for key in [key for key in _KNOWN if key not in requested]:
        kinds = _KNOWN[key]["kinds"]
        named = first_of([*_KNOWN[key]["names"], *kinds])
        adjusted = first_of([f"{var.name}_adjusted" for var in named])
        named = [var for var in adjusted if np.isfinite(numbers_in(var)).any()] or named
        # Of variables on the same axes, the one with the usual name is taken.
        dims = set(named[0].dims) if named else None
        others = [var for var in lower.values() if var.attrs.get("standard_name") in kinds]
        others = [var for var in others if not is_text_or_statistic(var) and set(var.dims) != dims]
        candidates[key] = [(*_times(file, var), True) for var in named]
        candidates[key] += [(*_times(file, var), False) for var in others]
    variables = {}
    for key, of_key in candidates.items():
        ranks = []
        for time, var, is_named in of_key:
            shared = sum(any(time.name == row[0].name for row in rows) for rows in candidates.values())
            ranks.append((shared, is_named, var.values.size))
        best = [row for row, rank in zip(of_key, ranks, strict=True) if rank == max(ranks)]
        if len(best) > 1:
            got = " and ".join(str(var.name) for _, var, _ in best)
            raise error_in(file, key, "one variable with its CF standard name", got, "choose one (variables)")
        if best:
            variables[key] = best[0][:2]
    if not variables:
        expected = "a variable TEMP, PSAL, UCUR or VCUR, or one with its CF standard name"
        expected += "".join(f", or {name} for {key}" for key, name in requested.items() if name)
        raise error_in(file, "file", expected, listing(file), "name it (variables, tracers)")
    return variables


def _times(file: "xr.Dataset", variable: "xr.DataArray") -> tuple["xr.DataArray", "xr.DataArray"]:
    """Times of a variable, and the variable over time; the time of a single profile may be a scalar."""
    times = [var for var in variables_of(file) if is_axis(var, "time")]
    single = [var for var in times if var.values.size == 1]
    if len(single) == 1 and not any(len(var.dims) == 1 and var.dims[0] in variable.dims for var in times):
        times = like(single[0], single[0].values.reshape(1), ("time",))
        return times, like(variable, variable.values[None], ("time", *variable.dims))
    return find_axis(file, variable, None, "time"), variable


def _samples(
    file: "xr.Dataset",
    key: str,
    times: "xr.DataArray",
    variable: "xr.DataArray",
    position: tuple[float, float] | None,
    options: _Options,
) -> "xr.DataArray":
    """Read the samples of a variable, each with its time [s] since 1970 and height [m]; NaN unless good.

    Their attributes are the `kind` of the quantity, the number of `rejected` values, whether heights vary
    (`moves`), and those of `Tracer.converted`.

    Raises:
        _NothingGoodError: no good value.
        FileFormatError: impossible values, an unknown unit, no depth, or a repeated time.
    """
    import xarray as xr  # takes long

    unit = unit_alone(options.units, "z")
    heights = heights_of(file, variable, str(times.dims[0]), options.depths, unit, position)
    variable = on_axes(variable, (times.dims[0], *heights.dims), "choose one place")
    shape = (times.values.size, -1)
    numbers = numbers_in(variable).reshape(shape)
    good = _good(file, variable, options.good_flags).reshape(shape)
    present, z = np.isfinite(numbers), np.broadcast_to(heights.z, numbers.shape)
    has_z = np.isfinite(z) & (z <= 0.0)
    kept, flags, notes = present & good & has_z, flags_of(file, times), []
    if n_unplaced := int((present & good & ~has_z).sum()):
        n_all = int((present & good).sum())
        notes.append(f"left out {n_unplaced} of {n_all} values: no good depth, or above the water")
    if flags is not None:
        kept &= ~has_flag(flags.values, BAD_FLAGS)[:, None]
    if not kept.any():
        expected = "good values at a known depth below the surface and with a good time"
        got, advice = f"none among {int(present.sum())} values", "check the depths and the flags"
        raise _NothingGoodError(name_of(variable), str(variable.name), expected, got, advice)
    records, axis = _records(file, variable, times, kept, heights.is_ragged, options)
    # Fixed heights deepest first: messages name the first impossible value in this order.
    is_fixed = len(heights.z) == 1
    order = np.argsort(heights.z[0], kind="stable") if is_fixed else slice(None)
    numbers, kept, has_z, z = (part[records][:, order] for part in (numbers, kept, has_z, z))
    converted, attrs = _converted(like(variable, numbers, ("record", "level")), key, options)
    values = np.where(kept, converted, np.nan)
    check_measured(variable, key, values, axis)
    time = seconds_since(axis, "1970-01-01")
    # Fixed heights are kept even if they never had a good value.
    row, column = np.nonzero(has_z if is_fixed else kept)
    # Time stamps in days differ slightly between files of a mooring.
    time = np.round(time) if np.unique(np.round(time)).size == np.unique(time).size else time
    time, z, values = time[row], z[row, column], values[row, column]
    valid = np.stack([time, z])[:, np.isfinite(values)]
    if n_equal := valid.shape[1] - np.unique(valid, axis=1).shape[1]:
        notes.append(f"{n_equal} of {valid.shape[1]} values are at the time and height of another: averaged")
    warn_of_input(note_on(variable, note) for note in notes)
    kinds = _KNOWN[key]["kinds"] if key in _KNOWN else {"": None}
    words = (str(variable.attrs.get("standard_name")), str(variable.name))
    attrs["kind"] = next((kinds[word] for word in words if word in kinds), next(iter(kinds.values())))
    attrs |= {"moves": heights.moves, "rejected": int((present & ~good).sum())}
    samples = xr.DataArray(values, {"time": ("sample", time), "z": ("sample", z)}, "sample", key, attrs)
    samples.encoding["source"] = name_of(variable)
    return samples


def _converted(variable: "xr.DataArray", key: str, options: _Options) -> tuple[np.ndarray, dict[str, Any]]:
    """Convert to the package's unit; also return the attributes of a tracer per mass of water."""
    if (tracer := options.tracers.get(key)) is not None:
        return tracer.converted(variable, key)
    change = as_conversion(options.units.get(key))
    examine(variable, key, requested=change)
    if key == "salinity" and change.unit is None:
        change = dataclasses.replace(change, unit=_unit_of_salinity(variable))
    return in_unit(variable, key, change), {}


def _records(
    file: "xr.Dataset",
    variable: "xr.DataArray",
    times: "xr.DataArray",
    kept: np.ndarray,
    is_ragged: bool,
    options: _Options,
) -> tuple[np.ndarray, "xr.DataArray"]:
    """Indices of the records with a value to keep within the time of the deployment, and their times.

    Only these records need a valid time. They are sorted, unless instruments follow each other (ragged).
    """
    records = np.flatnonzero(kept.any(axis=1))
    if not is_ragged:
        records = records[order_in_time(like(times, times.values[records]))]
    times = like(times, times.values[records])
    axis = read_time(times, unit_alone(options.units, "time"), increasing=not is_ragged)
    inside = np.ones(records.shape, dtype=bool)
    for name, sign in (("time_deployment_start", 1.0), ("time_deployment_end", -1.0)):  # of IMOS
        with contextlib.suppress(ValueError):  # no date
            moment = start_of_case(str(file.attrs.get(name)))
            # Time stamps in days resolve a fraction of a second.
            inside &= sign * seconds_since(axis, str(moment)) > -1.0
    if inside.all():
        return records, axis
    n_all, n_dry = int(kept.sum()), int(kept[records][~inside].sum())
    if n_dry == n_all:
        expected = "values from time_deployment_start to time_deployment_end"
        advice = "correct these attributes, or choose another file"
        raise _NothingGoodError(name_of(variable), str(variable.name), expected, f"none of {n_all}", advice)
    note = f"left out {n_dry} of {n_all} values: outside the time of the deployment"
    warn_of_input([note_on(variable, note)])
    return records[inside], axis[inside]


def _unit_of_salinity(variable: "xr.DataArray") -> str | None:
    """Return "1" if the unit is missing, or unknown for practical salinity, with a warning; else `None`."""
    unit, kind = variable.attrs.get("units"), variable.attrs.get("standard_name")
    if unit is None:
        note = "no unit, taken to be practical salinity; if it is not, give `units.salinity`"
        warn_of_input([] if kind else [note_on(variable, note)])
        return "1"
    with contextlib.suppress(ValueError):
        conversion("salinity", str(unit))
        return None
    if kind != "sea_water_practical_salinity":
        return None
    warn_of_input([note_on(variable, f"practical salinity, whose unit is not '{unit}'")])
    return "1"


def _good(file: "xr.Dataset", variable: "xr.DataArray", good_flags: tuple[int, ...]) -> np.ndarray:
    """Mask of values with a good flag, or of all if there are no flags; `_NothingGoodError` if none is good.

    The default flags are corrected by the `flag_meanings` of the file: 5 may be `sensor_failed`.
    """
    flags, present = flags_of(file, variable), np.isfinite(numbers_in(variable))
    if flags is None:
        return np.ones(variable.values.shape, dtype=bool)
    meanings = str(flags.attrs.get("flag_meanings", "")).lower().split()
    numbers = np.ravel(flags.attrs.get("flag_values", ())).tolist()
    if good_flags == GOOD_FLAGS and len(numbers) == len(meanings):
        meant = {str(number): word for number, word in zip(numbers, meanings, strict=True)}
        bad = [flag for flag in good_flags if re.search("fail|missing|bad|suspect", meant.get(str(flag), ""))]
        named = [flag for flag, word in meant.items() if re.match("(probably_)?good|pass", word)]
        good = map(int, filter(str.isdigit, named))
        good_flags = tuple(flag for flag in sorted({*good_flags, *good}) if flag not in bad)
    good = has_flag(flags.values, good_flags)
    if present.any() and not np.any(good & present):
        shown = np.unique(flags.values[present]).tolist()
        expected = f"values with a quality flag among {good_flags}, and not {shown} alone"
        advice = "leave it out (variables), or choose another file"
        if has_flag(np.array(shown), (0,)).any():
            advice = "where 0 (not checked) is good enough, give good_flags=(0, 1, 2, 5, 8)"
        got = f"none of {int(present.sum())}"
        raise _NothingGoodError(name_of(file), str(flags.name), expected, got, advice)
    return good


def _merged(samples: Sequence["xr.DataArray"]) -> "xr.Dataset":
    """Place all samples on common times and heights, or `level`; `FileFormatError` if values contradict."""
    import pandas as pd  # takes long

    columns: dict[str, Any] = {}  # pandas declares too many types of results
    for part in samples:
        key, places = str(part.name), [part["time"].values, part["z"].values]
        # Values of one file at the same time and depth are averaged.
        index = pd.MultiIndex.from_arrays(places, names=["time", "z"])
        values: Any = pd.Series(part.values, index).groupby(level=["time", "z"]).mean()
        earlier = columns.get(key, values[:0])
        before, after = earlier.dropna().align(values.dropna(), join="inner")
        for (time, height), value in before[before != after][:1].items():
            expected = f"the value of the files before it, {value:g}"
            moment = np.datetime64(int(time), "s")
            got = f"{after[time, height]:g} at {moment}, height {height:g} m"
            advice = "read deployments that overlap one by one"
            raise FileFormatError(name_of(part), key, expected, got, advice)
        columns[key] = earlier.combine_first(values) if len(earlier) else values
    table = pd.DataFrame(columns).sort_index()
    if any(part.attrs["moves"] for part in samples):
        level = table.groupby(level="time").cumcount()
        table = table.reset_index("z").set_index(pd.Index(level, name="level"), append=True)
    dataset = table.to_xarray().set_coords("z")
    moments = np.datetime64("1970-01-01", "us") + np.round(1e6 * dataset["time"].values).astype("m8[us]")
    dataset = dataset.assign_coords(time=moments)
    dataset["z"].attrs = {"units": "m", "positive": "up"}
    return dataset
