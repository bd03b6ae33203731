"""Heights of instruments: fixed depths, varying depths, bins above a sensor, instrument indices.

Heights [m] count upward from the surface.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..runtime.memory import MOST_CELLS
from .axes import flags_of, has_flag, has_statistics, is_axis
from .errors import check_increasing
from .netcdf import Contents, Variable
from .places import number_of
from .series import BAD_FLAGS

_PRESSURES = ("sea_water_pressure_due_to_sea_water", "sea_water_pressure")
_UPWARD = ("height", "altitude", "height_above_mean_sea_level", "height_above_geoid")
_NOMINAL = ("instrument_nominal_depth", "nominal_depth", "sensor_depth", "instrument_depth")
"""Attributes of files that give the depth of an instrument."""
_LEAST, _SHARE = 5.0, 0.05
"""A depth that stays within so many metres, or this share, of its median counts as fixed."""
_Upward = Callable[[Variable], np.ndarray]


@dataclass(frozen=True)
class Heights:
    """Heights of the values of a variable, over its records and further dimensions.

    Args:
        z: heights [m], broadcast against `(n_records, n_levels)`.
        placed: where a good height at or below the surface is known; same shape.
        dims: of the variable other than that of the records.
        moves: whether they differ from record to record.
        is_ragged: whether records of several instruments follow each other (ragged array).
    """

    z: np.ndarray
    placed: np.ndarray
    dims: tuple[str, ...]
    moves: bool
    is_ragged: bool


@dataclass(frozen=True)
class VerticalAxis:
    """Heights of the levels [m], increasing, and the faces between them if the file has bounds."""

    variable: Variable
    z: np.ndarray
    faces: np.ndarray | None
    is_reversed: bool  # whether the file has the uppermost level first


def read_vertical(file: Contents, variable: Variable, unit: str | None, positive: str | None) -> VerticalAxis:
    """Heights of a coordinate, positive upward, checked to be sorted and below the surface."""
    values = variable.converted("z", unit)
    is_up = _is_up(variable, values, positive)
    if is_up is None:
        expected = "heights of at most 0 m, or an attribute 'positive'"
        got = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
        raise variable.error(expected, got, "say 'positive: down' in the mapping if these are depths")
    sign = 1.0 if is_up else -1.0
    z = sign * values
    is_reversed = bool(z.size > 1 and z[0] > z[-1])
    z = z[::-1] if is_reversed else z
    check_increasing(variable.path, variable.name, z)
    if z.size < 3:
        raise variable.error("at least 3 levels", z.size, "choose another file")
    if z.size > MOST_CELLS:
        raise variable.error(f"at most {MOST_CELLS} levels", z.size, "choose a part")
    if z[-1] > 0.0:
        got = f"{z[-1]:g} m, positive upward"
        raise variable.error("levels at or below the surface", got, "check 'positive' in the mapping")
    faces = None
    bounds = file.variables.get(str(variable.attrs.get("bounds")))
    if bounds is not None and bounds.shape == (z.size, 2):
        pairs = sign * bounds.converted("z", variable.unit(unit, "z"))
        pairs = np.sort(pairs[::-1] if is_reversed else pairs, axis=1)
        if np.array_equal(pairs[1:, 0], pairs[:-1, 1]):
            faces = np.append(pairs[:, 0], pairs[-1, 1])
    return VerticalAxis(variable, z + 0.0, faces, is_reversed)


def heights_of(
    file: Contents,
    variable: Variable,
    records: str,
    depths: str | float,
    unit: str | None,
    position: tuple[float, float] | None,
) -> Heights:
    """Heights of a variable; see `read_oceansites` for `depths`."""
    others = tuple(
        dim for dim, n in zip(variable.dims, variable.shape, strict=True) if dim != records and n > 1
    )
    instrument = _instruments(file, records)
    # A depth takes precedence over a pressure, and an adjusted one over a raw one.
    levels = [one for one in file.variables.values() if _is_height(one)]
    levels.sort(key=lambda one: (_is_pressure(one), not one.name.endswith("_ADJUSTED")))
    upward = functools.partial(_upward, file, unit, 45.0 if position is None else position[1])
    own = [one for one in levels if len(one.dims) == 1 and one.dims[0] in {*variable.dims} - {records}]
    own = [one for one in own if one.name == one.dims[0]] or own
    absolute = [one for one in own if not _is_relative(one)]
    absolute = [one for one in absolute if not _is_pressure(one)] or absolute
    if len(absolute) == 1 and len(others) < 2:
        z = upward(absolute[0]).reshape(-1)
        order = np.argsort(z, kind="stable")
        check_increasing(file.path, absolute[0].name, z[order])
        if z[order][-1] > 0.0:
            got = f"a height of {z[order][-1]:g} m"
            expected = "instruments in the water, depths counted downward"
            advice = "correct its attribute 'positive', or leave the instrument out"
            raise absolute[0].error(expected, got, advice)
        return Heights(z[None], np.array(True), others, False, instrument is not None)
    nominal = (
        -float(depths)
        if not isinstance(depths, str)
        else _nominal(file, variable, levels, instrument, upward)
    )
    z = _measured(file, levels, (records, *others), upward)
    if others and not own:
        nominal = None  # the depth of one instrument, but there are several
    is_one = z is None or z.shape[1] == 1
    if absolute or len(others) > 1 or (z is None and nominal is None) or (others and not own and is_one):
        expected = "one depth: a coordinate DEPTH, a nominal depth, or the depth or pressure of each value"
        got = " and ".join(one.name for one in absolute) or f"none over {variable.dims}"
        advice = "give the depth of the instrument (depths), choose one place, or name another variable"
        raise variable.error(expected, got, advice)
    moves = depths == "measured" and z is not None and np.isfinite(z).any()
    if instrument is not None and z is not None and depths == "nominal" and not moves:
        # Several values of an instrument at one time are bins, whose depths differ from the nominal depth.
        on_records = [one for one in file.variables.values() if one.dims == (records,)]
        times = next(one for one in on_records if is_axis(one, "time")).numbers()
        moves = np.unique(np.stack([instrument, times]), axis=1).shape[1] < times.size
    if not moves and nominal is None:
        assert z is not None  # rejected above otherwise
        middle = np.nanmedian(z, axis=0, keepdims=True)
        moves = bool(np.any(np.abs(z - middle) > np.maximum(_LEAST, -_SHARE * middle)))
        nominal = middle
    found = np.asarray(z if moves else nominal, dtype=float)
    found = found if found.ndim == 2 else found.reshape(-1, 1)
    if own:
        cells = own[0].converted("z", unit if "units" not in own[0].attrs else None).reshape(1, -1)
        found = found + (-cells if str(own[0].attrs.get("positive")).lower() == "down" else cells)
    with np.errstate(invalid="ignore"):
        placed = np.isfinite(found) & (found <= 0.0)
    return Heights(found, placed, others, bool(moves), instrument is not None)


def _is_height(variable: Variable) -> bool:
    """Whether a variable is a height, depth or pressure, but not a maximum, a flag or the water depth."""
    words = str(variable.attrs.get("standard_name", ""))
    is_other = has_statistics(variable) or re.search("flag|number_of|air_|sea_floor", words) is not None
    known = ("deph", "nominal_depth", "height_above_sensor", "dist_along_beams")
    is_one = is_axis(variable, "vertical") or variable.name.lower() in known or _is_pressure(variable)
    return is_one and not is_other


def _is_pressure(variable: Variable) -> bool:
    """Whether a variable is the sea pressure."""
    is_named = variable.name.lower() in ("pres", "pres_rel", "pressure", "pres_adjusted")
    return is_named or variable.attrs.get("standard_name") in _PRESSURES


def _is_relative(variable: Variable) -> bool:
    """Whether heights count from a sensor."""
    words = f"{variable.attrs.get('reference_datum', '')} {variable.name}".lower()
    return "sensor" in words or "along_beam" in words


def _upward(file: Contents, unit: str | None, latitude: float, variable: Variable) -> np.ndarray:
    """Heights from a depth, height or pressure; a depth without unit is in metres."""
    if _is_pressure(variable):
        import gsw  # takes long

        pressure = 1e-4 * variable.converted("air_pressure")
        # In IMOS files, `sea_water_pressure` includes the atmospheric pressure.
        is_total = variable.attrs.get("standard_name") == _PRESSURES[1]
        is_total = is_total and "IMOS" in str(file.attrs.get("Conventions"))
        return np.asarray(gsw.z_from_p(pressure - (10.1325 if is_total else 0.0), latitude))
    values = variable.converted("z", unit if unit is not None or "units" in variable.attrs else "m")
    return np.asarray((values if _is_up(variable, values) else -values) + 0.0)


def _is_up(variable: Variable, values: np.ndarray, positive: str | None = None) -> bool | None:
    """Whether a coordinate is positive upward, as given or as stated in the file; `None` if unknown."""
    stated, name = positive or variable.attrs.get("positive"), str(variable.attrs.get("standard_name"))
    if str(stated).lower() in ("up", "down"):
        return str(stated).lower() == "up"
    # A single level at zero is treated as a depth.
    is_below = np.nanmax(values, initial=-1.0) <= 0.0 and np.nanmin(values, initial=0.0) < 0.0
    if name in _UPWARD or is_below:
        return True
    return False if name.startswith("depth") else None


def _instruments(file: Contents, records: str) -> np.ndarray | None:
    """Instrument index of each record, where a file stores several instruments one after the other."""
    for one in file.variables.values():
        if "instance_dimension" in one.attrs and one.dims == (records,):
            return one.numbers().astype(int)
        if one.attrs.get("sample_dimension") == records and len(one.dims) == 1:
            return np.repeat(np.arange(one.values.size), one.numbers().astype(int))
    return None


def _nominal(
    file: Contents, variable: Variable, levels: list[Variable], instrument: np.ndarray | None, upward: _Upward
) -> np.ndarray | None:
    """Nominal height of the instrument: a number, or one per record."""
    for one in sorted(levels, key=lambda one: "nominal" not in one.name.lower()):
        if _is_relative(one):
            continue
        if instrument is not None and one.values.size == instrument.max() + 1 < instrument.size:
            return upward(one).reshape(-1)[instrument]
        if one.values.size == 1 and np.all(upward(one) <= 0.0):
            return upward(one).reshape(1)
    stated = [number_of(attrs.get(name)) for attrs in (variable.attrs, file.attrs) for name in _NOMINAL]
    bounds = [number_of(file.attrs.get(f"geospatial_vertical_{end}")) for end in ("min", "max")]
    if bounds[0] is not None and bounds[1] is not None:
        middle = 0.5 * (bounds[0] + bounds[1])
        is_narrow = abs(bounds[1] - middle) <= max(_LEAST, _SHARE * abs(middle))
        stated += [middle] if is_narrow else []
    return next((np.array([-abs(depth)]) for depth in stated if depth is not None), None)


def _measured(
    file: Contents, levels: list[Variable], dims: tuple[str, ...], upward: _Upward
) -> np.ndarray | None:
    """Heights of each record and level from depth, or else pressure; NaN where flags are bad."""
    for one in levels:
        arranged = one.without_single()
        if _is_relative(one) or dims[0] not in arranged.dims or not set(arranged.dims) <= set(dims):
            continue
        arranged = arranged.along([dim for dim in dims if dim in arranged.dims], "")
        z, flags = upward(arranged), flags_of(file, arranged)
        z = z if flags is None else np.where(has_flag(flags.values, BAD_FLAGS), np.nan, z)
        if np.isfinite(z).any():
            return z.reshape(z.shape[0], -1)
    return None
