"""Axes, heights [m] upward from the surface, positions and quality flags, for all readers."""

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._types import warn_of_input
from ..runtime.memory import MOST_CELLS
from .errors import FileFormatError, Source, check_increasing, check_possible, is_path, name_of
from .netcdf import opened, values_in
from .sea_water import MIDDLE_LATITUDE
from .series import BAD_FLAGS
from .times import describe, read_time
from .variables import (
    error_in,
    error_of,
    in_unit,
    like,
    note_on,
    numbers_in,
    on_axes,
    squeezed,
    unit_in_file,
    variable_named,
    variables_of,
)

if TYPE_CHECKING:
    import xarray as xr

_HEIGHTS = "altitude height height_above_mean_sea_level height_above_geoid depth depth_below_sea_surface"
_AXES = {
    "time": ("T", ("time",), ("time", "t")),
    "vertical": ("Z", tuple(_HEIGHTS.split()), ("z", "depth", "height", "z_center")),
}
"""Letters of CF, standard names, and names of coordinates."""
_PRESSURES = ("sea_water_pressure_due_to_sea_water", "sea_water_pressure")
_UPWARD = ("height", "altitude", "height_above_mean_sea_level", "height_above_geoid")
_NOMINAL = ("instrument_nominal_depth", "nominal_depth", "sensor_depth", "instrument_depth")
"""Attributes with the depth of an instrument."""
_TOLERANCE, _RELATIVE_TOLERANCE = 5.0, 0.05
"""A depth counts as fixed if it stays within the larger of 5 m and 5 % of its nominal value or median."""
_Upward = Callable[["xr.DataArray"], np.ndarray]
_FARTHEST = 3.0
"""Largest distance [degrees] to the grid points around a position, unless their spacing is larger."""
_TIMES = ("valid_time", "time")
_POSITIONS = ("latitude", "longitude", "lat", "lon", "nav_lat", "nav_lon")
"""Names of axes of grids."""
_HORIZONTAL = {"latitude": ("Y", "lat", "n(orth)?"), "longitude": ("X", "lon", "e(ast)?")}
"""Letters of CF, short names, and endings of units."""


def as_sources(sources: Source | Iterable[Source]) -> list[Source]:
    """Convert a path or dataset, or several, to a list; `ValueError` if there are none."""
    is_single = isinstance(sources, (str, Path)) or hasattr(sources, "data_vars")
    items: list[Source] = [sources] if is_single or not isinstance(sources, Iterable) else list(sources)
    if not items:
        raise ValueError("paths: expected at least one file, got none.")
    return [Path(source) if is_path(source) else source for source in items]


def stem_of(source) -> str:
    """Name of a file or dataset without folder and suffix."""
    return Path(name_of(source)).stem


def flags_of(file: "xr.Dataset", variable: "xr.DataArray") -> "xr.DataArray | None":
    """Quality flags of a variable, by its attributes or by name, on its axes; `None` if there are none."""
    lower = {name.lower(): name for name in map(str, file.variables)}
    stated = str(variable.attrs.get("ancillary_variables", "")).lower().replace(",", " ").split()
    linked = [(name, file[lower[name]].attrs) for name in stated if name in lower]
    texts = {name: f"{name} {attrs.get('standard_name')} {[*attrs]}".lower() for name, attrs in linked}
    names = [name for name, words in texts.items() if re.search("qc|quality|flag", words)]
    ends = ("qc", "quality_control", "flag", "qc_flag", "quality_flag")
    names += [f"{variable.name}_{end}" for end in ends]
    # EPIC: QT_5020 belongs to T_20.
    epic = re.fullmatch(r"([A-Z]+)_(\d{2,3})", str(variable.name))
    names += [f"Q{epic[1]}_5{int(epic[2]):03d}"] if epic else []
    for name in (lower[name.lower()] for name in names if name.lower() in lower):
        flags = squeezed(file[name], variable.dims)
        if set(flags.dims) == set(variable.dims):
            return on_axes(flags, variable.dims, "repair the file")
    return None


def is_text_or_statistic(variable: "xr.DataArray") -> bool:
    """Return whether a variable is text, or an extreme or standard deviation over an interval."""
    methods = str(variable.attrs.get("cell_methods"))
    words = ("maximum", "minimum", "standard_deviation", "variance", "range")
    return variable.values.dtype.kind not in "fiu" or any(word in methods for word in words)


def has_flag(flags: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Mask of the quality flags (numbers or characters) that are among those wanted."""
    kind = "d" if flags.dtype.kind in "fiu" else "S"
    return np.isin(flags.astype(kind), np.array(wanted).astype(kind))


def check_measured(
    variable: "xr.DataArray", quantity: str, values: np.ndarray, times: "xr.DataArray"
) -> None:
    """Raise `FileFormatError` for impossible values in the package's unit, or for salinity in kg kg-1."""
    check_possible(name_of(variable), str(variable.name), quantity, values, lambda at: describe(times, at))
    if quantity == "salinity" and np.any(values > 0.0) and np.nanmax(values) < 0.1:
        expected, got = "salinity in g kg-1 or on the practical scale", f"at most {np.nanmax(values):g}"
        raise error_of(variable, expected, got, "it looks like kg kg-1; give that unit (units)")


def is_axis(variable: "xr.DataArray", kind: str) -> bool:
    """Return whether a coordinate is of this kind, `time` or `vertical`, by CF attributes or name."""
    letter, standard_names, names = _AXES[kind]
    attrs = variable.attrs
    if attrs.get("axis") == letter or attrs.get("standard_name") in standard_names:
        return True
    if kind == "time" and " since " in str(attrs.get("units", "")):
        return True
    is_directed = kind == "vertical" and str(attrs.get("positive")).lower() in ("up", "down")
    return is_directed or str(variable.name).lower() in names


def find_axis(file: "xr.Dataset", variable: "xr.DataArray", wanted: str | None, kind: str) -> "xr.DataArray":
    """Find the `time` or `vertical` coordinate of a variable, with the name `wanted` if it is given.

    Raises:
        FileFormatError: no such coordinate, several, or one that is not along the variable.
    """
    advice = f"correct '{kind}' in the mapping"
    if wanted is not None:
        coordinate = variable_named(file, wanted, f"the {kind} axis", advice)
        if len(coordinate.dims) != 1 or coordinate.dims[0] not in variable.dims:
            expected = f"one of the dimensions {variable.dims} of {variable.name}"
            raise error_of(coordinate, expected, coordinate.dims, advice)
        return coordinate
    along = [var for var in variables_of(file) if len(var.dims) == 1 and var.dims[0] in variable.dims]
    matches = [var for var in along if is_axis(var, kind)]
    # The coordinate variable of the dimension takes precedence over others on the same dimension.
    candidates = [var for var in matches if var.name == var.dims[0]] or matches
    named = [
        var for var in candidates if var.attrs.get("standard_name") == kind or str(var.name).lower() == kind
    ]
    candidates = named or candidates
    if len(candidates) != 1:
        expected = f"one {kind} coordinate among the dimensions {variable.dims}"
        got = " and ".join(str(var.name) for var in candidates) or "none with CF attributes"
        raise error_of(variable, expected, got, f"name it in the mapping ('{kind}')")
    return candidates[0]


def read_vertical(
    file: "xr.Dataset", variable: "xr.DataArray", unit: str | None, positive: str | None
) -> "xr.DataArray":
    """Heights of a coordinate [m], positive upward, in the order of the file, as coordinate `z`.

    Bounds of levels that touch each other are its coordinates `z_lower` and `z_upper`.

    Raises:
        FileFormatError: unsorted levels, fewer than three or too many, levels above the surface, an unknown
            direction or an unknown unit.
    """
    values = in_unit(variable, "z", unit)
    is_up = _is_up(variable, values, positive)
    if is_up is None:
        expected = "heights of at most 0 m, or an attribute 'positive'"
        got = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
        raise error_of(variable, expected, got, "say 'positive: down' in the mapping if these are depths")
    sign = 1.0 if is_up else -1.0
    z = sign * values + 0.0  # without negative zero
    upward = z[::-1] if z.size > 1 and z[0] > z[-1] else z
    check_increasing(name_of(variable), str(variable.name), upward)
    if not 3 <= z.size <= MOST_CELLS:
        raise error_of(variable, f"3 to {MOST_CELLS} levels", z.size, "choose another file, or a part")
    if upward[-1] > 0.0:
        got = f"{upward[-1]:g} m, positive upward"
        raise error_of(variable, "levels at or below the surface", got, "check 'positive' in the mapping")
    heights = like(variable, z, ("z",)).rename("z").assign_attrs(units="m", positive="up")
    bounds = file.get(str(variable.attrs.get("bounds")))
    if bounds is not None and bounds.shape == (z.size, 2):
        pairs = np.sort(sign * in_unit(bounds, "z", unit_in_file(variable, unit, "z")), axis=1)
        in_order = pairs[np.argsort(z)]
        if np.array_equal(in_order[1:, 0], in_order[:-1, 1]):
            heights = heights.assign_coords(z_lower=("z", pairs[:, 0]), z_upper=("z", pairs[:, 1]))
    return heights


class Heights(NamedTuple):
    """Heights of the values of a variable, by record and level."""

    z: np.ndarray  # [m], broadcast against `(n_records, n_levels)`
    dims: tuple[str, ...]  # dimensions of the variable other than that of the records
    moves: bool  # heights differ between records
    is_ragged: bool  # records of several instruments follow each other


def heights_of(
    file: "xr.Dataset",
    variable: "xr.DataArray",
    records: str,
    depths: str | float,
    unit: str | None,
    position: tuple[float, float] | None,
) -> Heights:
    """Find the heights of a variable; warns of depths that are not used.

    Args:
        records: dimension of its times.
        depths: as in `open_oceansites`.
        unit: of depths, instead of that in the file.
        position: latitude and longitude, for the conversion of pressures.

    Raises:
        FileFormatError: no depth, several, a repeated one, or one above the water.
    """
    others = tuple(str(dim) for dim, n in variable.sizes.items() if dim != records and n > 1)
    instrument = _instruments_of(file, records)
    # A depth takes precedence over a pressure, and an adjusted one over a raw one.
    levels = [var for var in variables_of(file) if _is_height(var)]
    levels.sort(key=lambda var: (_is_pressure(var), not str(var.name).endswith("_ADJUSTED")))
    sensors = [var for var in levels if not _is_relative(var)]  # the others count from a sensor
    upward = functools.partial(_upward, file, unit, MIDDLE_LATITUDE if position is None else position[0])
    along = [var for var in levels if len(var.dims) == 1 and var.dims[0] in {*variable.dims} - {records}]
    along = [var for var in along if var.name == var.dims[0]] or along
    absolute = [var for var in along if not _is_relative(var)]
    absolute = [var for var in absolute if not _is_pressure(var)] or absolute
    has_levels = len(absolute) == 1 and len(others) < 2
    note = ""
    try:
        measured = _measured(file, sensors, (records, *others), upward)
    except FileFormatError:  # such as a pressure without a unit, which nominal depths make unnecessary
        if not has_levels or depths == "measured":
            raise
        measured = None
    if has_levels:
        nominal = upward(absolute[0]).reshape(1, -1)
        check_increasing(name_of(file), str(absolute[0].name), np.sort(nominal[0]))
        if nominal.max() > 0.0:
            expected = "instruments in the water, depths counted downward"
            advice = "correct its attribute 'positive', or leave the instrument out"
            raise error_of(absolute[0], expected, f"a height of {nominal.max():g} m", advice)
        if not isinstance(depths, str):
            note, measured = f"the file gives its depths; {depths:g} m is not used (depths)", None
        elif measured is not None and measured.shape[1] != nominal.size:
            measured = None  # it belongs to one of the instruments
    else:
        nominal = _nominal(file, variable, sensors, instrument, upward, depths)
        if others and not along:  # several instruments: a single depth is only that of one of them
            nominal = None
            measured = measured if measured is not None and measured.shape[1] > 1 else None
        if absolute or len(others) > 1 or (nominal is None and measured is None):
            expected = (
                "one depth: a coordinate DEPTH, a nominal depth, or the depth or pressure of each value"
            )
            got = " and ".join(str(var.name) for var in absolute) or f"none over {variable.dims}"
            advice = "give the depth of the instrument (depths), choose one place, or name another variable"
            raise error_of(variable, expected, got, advice)
        if depths == "nominal" and measured is not None and _has_bins(file, records, instrument):
            nominal, depths = None, "measured"
    moves = False
    if measured is None:
        assert nominal is not None
        z = nominal
        if depths == "measured":
            dims = ", ".join(map(str, variable.dims))
            note = f"no depth or pressure over {dims}: values are at nominal depths (depths)"
    else:
        z = np.nanmedian(measured, axis=0, keepdims=True) if nominal is None else nominal
        shift = np.abs(measured - z)
        is_far = np.any(shift > np.maximum(_TOLERANCE, -_RELATIVE_TOLERANCE * z))
        moves = depths == "measured" or bool(is_far and nominal is None)
        if moves:
            z = measured
        elif is_far:
            note = f"measured depths differ by up to {np.nanmax(shift):.3g} m from the nominal ones and are "
            note += "not used; to use them, set depths to measured"
    if along and not has_levels:  # heights above or below the sensor
        cells = in_unit(along[0], "z", unit if "units" not in along[0].attrs else None).reshape(1, -1)
        z = z + (-cells if str(along[0].attrs.get("positive")).lower() == "down" else cells)
        note = ""
    warn_of_input([note_on(variable, note)] if note else [])
    return Heights(z, others, moves, instrument is not None)


def _has_bins(file: "xr.Dataset", records: str, instrument: np.ndarray | None) -> bool:
    """Return whether an instrument has several values at one time, as a profiler with bins has."""
    if instrument is None:
        return False
    on_records = [var for var in variables_of(file) if var.dims == (records,)]
    times = numbers_in(next(var for var in on_records if is_axis(var, "time")))
    return np.unique(np.stack([instrument, times]), axis=1).shape[1] < times.size


def _is_height(variable: "xr.DataArray") -> bool:
    """Return whether a variable is a height, depth or pressure, but no extreme, flag or depth of the sea."""
    words = str(variable.attrs.get("standard_name", ""))
    is_other = is_text_or_statistic(variable) or re.search("flag|number_of|air_|sea_floor", words) is not None
    names = ("deph", "nominal_depth", "height_above_sensor", "dist_along_beams")
    is_z = is_axis(variable, "vertical") or str(variable.name).lower() in names or _is_pressure(variable)
    return is_z and not is_other


def _is_pressure(variable: "xr.DataArray") -> bool:
    is_named = str(variable.name).lower() in ("pres", "pres_rel", "pressure", "pres_adjusted")
    return is_named or variable.attrs.get("standard_name") in _PRESSURES


def _is_relative(variable: "xr.DataArray") -> bool:
    """Return whether heights count from the sensor and not from the surface."""
    words = f"{variable.attrs.get('reference_datum', '')} {variable.name}".lower()
    return "sensor" in words or "along_beam" in words


def _upward(file: "xr.Dataset", unit: str | None, latitude: float, variable: "xr.DataArray") -> np.ndarray:
    """Convert a depth, height or pressure to heights [m]; a depth without unit is in metres."""
    if _is_pressure(variable):
        import gsw  # takes long

        pressure = 1e-4 * in_unit(variable, "air_pressure")
        # In IMOS files, `sea_water_pressure` includes the atmospheric pressure.
        is_total = variable.attrs.get("standard_name") == _PRESSURES[1]
        is_total = is_total and "IMOS" in str(file.attrs.get("Conventions"))
        return np.asarray(gsw.z_from_p(pressure - (10.1325 if is_total else 0.0), latitude))
    values = in_unit(variable, "z", unit if unit is not None or "units" in variable.attrs else "m")
    return np.asarray((values if _is_up(variable, values) else -values) + 0.0)


def _is_up(variable: "xr.DataArray", values: np.ndarray, positive: str | None = None) -> bool | None:
    """Return whether a coordinate increases upward, by option, attributes or sign; `None` if unknown."""
    direction = str(positive or variable.attrs.get("positive")).lower()
    name = str(variable.attrs.get("standard_name"))
    if direction in ("up", "down"):
        return direction == "up"
    # A single level at zero is treated as a depth.
    is_below = np.nanmax(values, initial=-1.0) <= 0.0 and np.nanmin(values, initial=0.0) < 0.0
    if name in _UPWARD or is_below:
        return True
    return False if name.startswith("depth") else None


def _instruments_of(file: "xr.Dataset", records: str) -> np.ndarray | None:
    """Instrument index of each record, where a file stores several instruments one after the other."""
    for var in variables_of(file):
        if "instance_dimension" in var.attrs and var.dims == (records,):
            return numbers_in(var).astype(int)
        if var.attrs.get("sample_dimension") == records and len(var.dims) == 1:
            return np.repeat(np.arange(var.values.size), numbers_in(var).astype(int))
    return None


def _nominal(
    file: "xr.Dataset",
    variable: "xr.DataArray",
    sensors: list["xr.DataArray"],
    instrument: np.ndarray | None,
    upward: _Upward,
    depths: str | float,
) -> np.ndarray | None:
    """Nominal height of the instrument, `(1, 1)` or one per record, `(n, 1)`; `None` if unknown."""
    if not isinstance(depths, str):
        return np.array([[-float(depths)]])
    for sensor in sorted(sensors, key=lambda sensor: "nominal" not in str(sensor.name).lower()):
        is_separate = not {*sensor.dims} & {*variable.dims}  # one cast has as many records as instruments
        if instrument is not None and is_separate and sensor.values.size == instrument.max() + 1:
            return upward(sensor).reshape(-1, 1)[instrument]
        if sensor.values.size == 1 and np.all(upward(sensor) <= 0.0):
            return upward(sensor).reshape(1, 1)
    stated = [number_of(attrs.get(name)) for attrs in (variable.attrs, file.attrs) for name in _NOMINAL]
    low, high = (number_of(file.attrs.get(f"geospatial_vertical_{end}")) for end in ("min", "max"))
    if low is not None and high is not None:
        middle = 0.5 * (low + high)
        stated += [middle] if abs(high - middle) <= max(_TOLERANCE, _RELATIVE_TOLERANCE * abs(middle)) else []
    return next((np.array([[-abs(depth)]]) for depth in stated if depth is not None), None)


def _measured(
    file: "xr.Dataset", sensors: list["xr.DataArray"], dims: tuple[str, ...], upward: _Upward
) -> np.ndarray | None:
    """Measured heights by record and level, from depth or else pressure; NaN where flags are bad."""
    for sensor in map(squeezed, sensors):
        if dims[0] not in sensor.dims or not set(sensor.dims) <= set(dims):
            continue
        sensor = sensor.transpose(*(dim for dim in dims if dim in sensor.dims))
        z, flags = upward(sensor), flags_of(file, sensor)
        z = z if flags is None else np.where(has_flag(flags.values, BAD_FLAGS), np.nan, z)
        if np.isfinite(z).any():
            return z.reshape(z.shape[0], -1)
    return None


class GridAxis(NamedTuple):
    """An axis of a grid: its dimension, the points around a position, and their weights."""

    dim: str
    points: list[int]  # increasing
    weights: list[float]


def read_at(
    source, wanted: Collection[str], place: Mapping[str, float]
) -> list[tuple["xr.DataArray", "xr.DataArray"]]:
    """Interpolate the `wanted` variables that a file has to a position, and return them with their times.

    Only the surrounding grid points are read: a global file need not fit into memory.

    Raises:
        FileFormatError: no coordinates, a position outside the grid, or a missing value, as on land.
    """
    with opened(source) as stored:
        if not set(wanted).intersection(stored.variables):
            return []
        file = values_in(stored, only=(*_TIMES, *_POSITIONS))
        axes = []
        for axis in ("latitude", "longitude"):
            named = [var for var in variables_of(file) if is_position(var, axis) and len(var.dims) < 2]
            if not named:
                advice = "use the file as it was downloaded"
                raise error_in(file, axis, f"a coordinate {axis}", "none", advice)
            axes.append(axis_at(named[0], axis, place[axis]))
        time = next((file[n] for n in _TIMES if n in file and len(file[n].dims) == 1), None)
        if time is None:
            expected = "a variable valid_time or time over one dimension"
            raise error_in(file, "valid_time", expected, "none", "download NetCDF")
        times, dim = read_time(time), str(time.dims[0])
        near, series = values_in(stored, only=wanted, at={axis.dim: axis.points for axis in axes}), []
        for variable in variables_of(near):
            if variable.name not in wanted:
                continue
            grid = _on_grid(variable, dim, axes)
            values = np.sum(grid * np.outer(axes[0].weights, axes[1].weights), axis=(1, 2))
            missing = np.flatnonzero(~np.isfinite(values))
            if missing.size:
                first, advice = int(missing[0]), "give the position of a grid point with values"
                raise error_of(variable, "a value", f"{values[first]} at {describe(times, first)}", advice)
            series.append((like(variable, values, (dim,)), times))
    return series


def axis_at(coordinate: "xr.DataArray", axis: str, target: float) -> GridAxis:
    """Find the points on either side of a position on a grid along `latitude` or `longitude`.

    Raises:
        FileFormatError: a position outside the grid.
    """
    points = numbers_in(coordinate).reshape(-1)
    name = str(coordinate.dims[0] if coordinate.dims else coordinate.name)
    offset = points - target
    if axis == "longitude":
        # Longitudes in files run from 0 to 360 or from -180 to 180.
        offset = (offset + 180.0) % 360.0 - 180.0
    nearest = int(np.argmin(np.abs(offset)))
    before, after = np.where(offset < 0.0, offset, -np.inf), np.where(offset > 0.0, offset, np.inf)
    low, high = int(np.argmax(before)), int(np.argmin(after))
    # A grid cell reaches half a spacing to either side of its point.
    spacing = float(np.min(np.abs(np.diff(points)))) if points.size > 1 else 0.25
    is_near = max(-before[low], after[high]) <= max(_FARTHEST, spacing)
    is_between = is_near and abs(offset[nearest]) >= 1e-6
    if not is_between and abs(offset[nearest]) > 0.5 * spacing + 1e-6:
        got = f"{points.min():g} to {points.max():g}"
        raise error_of(coordinate, f"a grid around {target:g}", got, "download the area around the place")
    if not is_between:
        return GridAxis(name, [nearest], [1.0])
    weight = float(-offset[low] / (offset[high] - offset[low]))
    (first, of_first), (second, of_second) = sorted([(low, 1.0 - weight), (high, weight)])
    return GridAxis(name, [first, second], [of_first, of_second])


def _on_grid(variable: "xr.DataArray", time: str, axes: Sequence[GridAxis]) -> np.ndarray:
    """Values over time, latitude and longitude; preliminary data (ERA5T) fill the gaps of final ones."""
    if "expver" in variable.dims:
        for version in range(1, variable.sizes["expver"]):
            variable = variable.fillna(variable.isel(expver=version, drop=True))
        variable = variable.isel(expver=0, drop=True)
    dims = tuple(axis.dim for axis in axes)
    variable = variable.expand_dims([dim for dim in dims if dim not in variable.dims])
    return numbers_in(on_axes(variable, (time, *dims), "choose one member"))


def place_in_words(latitude: float, longitude: float) -> str:
    """Write a position as text, for messages and names."""
    east = (longitude + 180.0) % 360.0 - 180.0
    return f"{abs(latitude):g} {'NS'[int(latitude < 0)]} {abs(east):g} {'EW'[int(east < 0)]}"


def check_position(position: tuple[float, float] | None) -> None:
    """Raise `ValueError` unless a position is a latitude and a longitude, in this order."""
    if position is not None and not (abs(position[0]) <= 90.0 and abs(position[1]) <= 360.0):
        expected = "a latitude of -90 to 90 and a longitude of -360 to 360 degrees, in this order"
        raise ValueError(f"position: expected {expected}, got {position[0]:g}, {position[1]:g}; swap them.")


def at_position(source, file: "xr.Dataset", name: str, position: tuple[float, float]) -> "xr.Dataset":
    """Replace a variable on a grid by its values at a latitude and longitude; others pass unchanged."""
    check_position(position)
    variable = file.get(name)
    if variable is None or not set(squeezed(variable).dims) & set(_POSITIONS):
        return file
    ((series, _),) = read_at(source, (name,), {"latitude": position[0], "longitude": position[1]})
    return file.assign({name: series})


def position_of(file: "xr.Dataset") -> tuple[float, float] | None:
    """Latitude and longitude [degrees] of a file; `None` unless it has both."""
    latitude, longitude = (degrees_of(file, axis) for axis in ("latitude", "longitude"))
    return None if longitude is None or latitude is None else (latitude, longitude)


def degrees_of(file: "xr.Dataset", axis: str) -> float | None:
    """First latitude or longitude in a file, from a variable or else an attribute; `None` if absent."""
    for var in variables_of(file):
        if is_position(var, axis) and var.values.dtype.kind in "fiu":
            numbers = numbers_in(var).ravel()
            if (valid := np.abs(numbers) <= 360.0).any():
                return float(numbers[valid][0])
    stated = (number_of(file.attrs.get(name)) for name in (axis, f"geospatial_{axis[:3]}_min"))
    return next((number for number in stated if number is not None), None)


def is_position(variable: "xr.DataArray", axis: str) -> bool:
    """Return whether a coordinate is the `latitude` or `longitude` [degrees], by CF attributes or name."""
    letter, short, unit = _HORIZONTAL[axis]
    standard_name, units = (str(variable.attrs.get(key, "")).lower() for key in ("standard_name", "units"))
    is_named = axis == standard_name or str(variable.name).lower() in (axis, short, f"nav_{short}")
    has_unit = re.fullmatch(f"degrees?_?{unit}", units) is not None
    is_length = units in ("m", "km", "meters", "metres", "meter", "metre")  # of a projection
    return is_named or has_unit or (variable.attrs.get("axis") == letter and not is_length)


def number_of(value: object) -> float | None:
    """Number in an attribute that may be text; `None` if there is none."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if np.isfinite(number) else None
