"""Hourly weather of the reanalysis ERA5 on single levels, at one place.

Source: Hersbach et al. (2020), Q. J. R. Meteorol. Soc. 146, 1999-2049; documentation of ECMWF: radiation and
precipitation are accumulated over the hour that ends at the stamp, and fluxes count downward.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..air_sea import (
    AbstractAlbedo,
    AbstractBulkFormula,
    AbstractLongwave,
    BulkForcing,
    ClearSky,
    ConstantAlbedo,
    DownwardLongwave,
    Fairall,
    Payne,
    SolarPosition,
    Weather,
)
from ..quantities import quantity_of
from ..time_series import TimeSeries
from .axes import Record, as_sources, in_order, joined, read_time
from .errors import FileFormatError, names_its_file
from .netcdf import Contents, Variable, read_contents
from .yaml_file import NAMES

_HOUR = 3600.0
_KELVIN = 273.15
_SOLAR_CONSTANT = 1361.0 * 1.035  # [W m-2], at the smallest distance from the sun
_FARTHEST = 3.0
"""Points of the grid on either side of a place are no farther from it than this [degrees]."""


@dataclass(frozen=True)
class _Parameter:
    """A parameter of ERA5: what it is called, its unit, and between what values it can be."""

    names: list[str]
    units: list[str]
    possible: tuple[float, float]
    accumulated: bool = False
    rounding: float = 0.0
    hint: str = "check the unit"


def _parameters(known: Mapping[str, dict[str, Any]]) -> dict[str, _Parameter]:
    found = {}
    for field, one in known.items():
        low, high = quantity_of(one["quantity"]).possible if "quantity" in one else one["possible"]
        zero = one.get("zero", 0.0)
        others = {key: value for key, value in one.items() if key not in ("quantity", "zero", "possible")}
        found[field] = _Parameter(possible=(low + zero, high + zero), **others)
    return found


_PARAMETERS = _parameters(NAMES["era5"])
_RADIATION = {kind: _parameters(known) for kind, known in NAMES["era5_radiation"].items()}
_OPTIONAL = ("cloud_cover", "precipitation")


@names_its_file("a file of ERA5")
def read_era5(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    radiation: str = "downward",
    interpolation: str = "bilinear",
    bulk: AbstractBulkFormula | None = None,
    albedo: AbstractAlbedo | None = None,
    longwave: AbstractLongwave | None = None,
    shortwave: ClearSky | None = None,
    name: str | None = None,
) -> BulkForcing:
    """Bulk forcing with the weather of ERA5: u10, v10, t2m, d2m, sp or msl, radiation, and tcc, tp if there.

    The mean of an accumulated parameter stands in the middle of its hour, linear in between. Where there is
    precipitation there is evaporation too.

    Args:
        paths: one file, or several: parameters apart, one month after the other.
        latitude, longitude: of the place [degrees north, degrees east].
        start_time: ISO 8601 time at which the time of the case is 0, Universal Time.
        radiation: "downward": ssrd less an albedo, strd less what the modelled water emits; "net": ssr and
            str, whose albedo and water temperature are those of ERA5.
        interpolation: between the four points of the grid around the place, or the nearest point.
        bulk: formula of the turbulent fluxes; `Fairall` by default.
        albedo: of the water, where the shortwave radiation is not net; `Payne` by default.
        longwave, shortwave: formulae from the cloud cover in place of the radiation of ERA5: that part of it
            is not read, and tcc has to be there.
        name: for messages; by default that of the first file.

    Raises:
        FileFormatError: a parameter that is missing or in another unit, a place outside of the grid, times
            that are missing or not in order, a gap, or a value that cannot be, with its time.
        ValueError: an albedo for net radiation, a longwave that is no formula, or unknown options.
    """
    if radiation not in _RADIATION:
        raise ValueError(f"radiation: expected 'downward' or 'net', got '{radiation}'.")
    if longwave is not None and not longwave.needs_cloud:
        raise ValueError(
            f"longwave: expected a formula from the cloud cover, got {type(longwave).__name__}; leave it out "
            "for the radiation of ERA5."
        )
    is_net = radiation == "net"
    if is_net and shortwave is None and albedo is not None:
        raise ValueError("albedo: expected none with net radiation, from which ERA5 took its own; leave it.")
    formulae = {"longwave": longwave, "shortwave": shortwave}
    cloudy = [f"{field} formula {type(formula).__name__}" for field, formula in formulae.items() if formula]
    paths = as_sources(paths)
    parameters = _PARAMETERS | {k: v for k, v in _RADIATION[radiation].items() if formulae[k] is None}
    names = {field: parameter.names for field, parameter in parameters.items()}
    place = {"latitude": latitude, "longitude": longitude}
    found = _read_point(paths, names, place, start_time, interpolation)
    for field, parameter in parameters.items():
        hint, other = "", "downward" if is_net else "net"
        if field in found:
            found[field] = found[field].checked(parameter)
            continue
        if field == "cloud_cover" and cloudy:
            hint = f", which the {' and the '.join(cloudy)} needs"
        elif field in _OPTIONAL:
            continue
        elif field in formulae:
            hint = f", choose radiation='{other}', or a {field} formula, which needs tcc"
        expected = f"a variable {' or '.join(parameter.names)} in one of the files"
        raise FileFormatError(paths[0], parameter.names[0], expected, "none", f"download it{hint}")
    sun = SolarPosition(start_time=start_time, latitude=latitude, longitude=longitude)
    _check_dew_point(found["air_temperature"], found["humidity"])
    if "shortwave" in found:
        _check_shortwave(found["shortwave"], sun)
    if albedo is None:
        albedo = ConstantAlbedo(0.0) if is_net and shortwave is None else Payne()
    return BulkForcing(
        weather=_weather(found, parameters, name or paths[0].stem),
        bulk=Fairall() if bulk is None else bulk,
        longwave=DownwardLongwave() if longwave is None and not is_net else longwave,
        shortwave=shortwave,
        albedo=albedo,
        sun=sun,
        humidity_measure="dew_point",
        evaporation="precipitation" in found,
    )


@dataclass(frozen=True)
class _Point:
    """One parameter at the place: records of files in order, their times and values."""

    records: list[Record]
    time: np.ndarray
    values: np.ndarray

    def error(self, at: int, expected: str, got: str, advice: str, when: str = "at") -> FileFormatError:
        """The error to raise for a value, with its file and date."""
        for record in self.records:
            if at < record.time.size:
                got = f"{got} {when} {record.axis.describe(at)}"
                return record.variable.error(expected, got, advice)
            at -= record.time.size
        raise IndexError(at)

    def checked(self, parameter: _Parameter) -> "_Point":
        """The same in the unit of ERA5 and within its bounds, hourly where it is accumulated."""
        for record in self.records:
            unit = record.variable.attrs.get("units")
            if unit is not None and unit not in parameter.units:
                expected = f"the unit {parameter.units[0]}"
                raise record.variable.error(expected, f"'{unit}'", "use the file as it was downloaded")
        steps = np.diff(self.time)
        usual = _HOUR if parameter.accumulated else float(np.min(steps))
        odd = np.flatnonzero(np.abs(steps - usual) > 1.0)
        if odd.size:
            expected, got = f"a record every {usual:g} s", f"a gap of {steps[odd[0]]:g} s"
            raise self.error(int(odd[0]), expected, got, "download all hours", "after")
        (low, high), slack = parameter.possible, parameter.rounding
        bad = np.flatnonzero(~((self.values >= low - slack) & (self.values <= high + slack)))
        if bad.size:
            value = self.values[bad[0]]
            expected, advice = f"values from {low:g} to {high:g}", parameter.hint
            if not np.isfinite(value):
                expected, advice = "a value", "download it again"
            raise self.error(int(bad[0]), expected, f"{value:g}", advice)
        return replace(self, values=np.clip(self.values, low, high))


def _check_dew_point(air: _Point, dew: _Point) -> None:
    """Air is not moister than saturated; a little where a dew point was interpolated."""
    common, i, j = np.intersect1d(air.time, dew.time, return_indices=True)
    bad = np.flatnonzero(dew.values[j] > air.values[i] + 2.0)
    if bad.size:
        at = int(j[bad[0]])
        expected = f"a dew point below the temperature of the air, {air.values[i[bad[0]]]:g} K"
        raise dew.error(at, expected, f"{dew.values[at]:g} K", "check which variable is which")


def _check_shortwave(point: _Point, sun: SolarPosition) -> None:
    """No more shortwave radiation on the water than above the air: also finds stamps in local time."""
    # The largest in the hour, and a quarter more on either side for the equation of time.
    moments = point.time[:, None] + np.linspace(-1.25 * _HOUR, 0.25 * _HOUR, 7)
    cosine = np.asarray(sun.cosine_of_zenith(sun.at(jnp.asarray(moments))))
    most = _HOUR * (_SOLAR_CONSTANT * cosine.max(axis=1) + 20.0)
    bad = np.flatnonzero(point.values > most)
    if bad.size:
        at = int(bad[0])
        expected = f"at most {most[at]:g} J m-2, what the sun gives in that hour"
        advice = "check the longitude, that times are Universal Time, and that it is the sum of one hour"
        raise point.error(at, expected, f"{point.values[at]:g}", advice)


def _weather(found: dict[str, _Point], parameters: dict[str, _Parameter], name: str) -> TimeSeries[Weather]:
    """All series in our units on the union of stamps and middles of hours, linear in between."""
    times, values = {}, {}
    for field, point in found.items():
        accumulated = parameters[field].accumulated
        times[field] = point.time - 0.5 * _HOUR if accumulated else point.time
        values[field] = point.values / _HOUR if accumulated else point.values
    for field in ("air_temperature", "humidity"):
        values[field] = values[field] - _KELVIN
    # A mean holds from half an hour before its middle to half an hour after it.
    first = max(t[0] - 0.5 * _HOUR * parameters[field].accumulated for field, t in times.items())
    last = min(t[-1] + 0.5 * _HOUR * parameters[field].accumulated for field, t in times.items())
    common = np.unique(np.concatenate([*times.values(), [first, last]]))
    common = common[(common >= first) & (common <= last)]
    if common.size < 2:
        path = found["wind_u"].records[0].variable.path
        raise FileFormatError(path, "time", "times that all parameters have", "none", "download them again")
    weather = {field: np.interp(common, times[field], values[field]) for field in found}
    return TimeSeries(jnp.asarray(common, dtype=float), Weather(**weather), name)


def _read_point(
    paths: list[Path], names: dict[str, list[str]], place: dict[str, float], start: str, interpolation: str
) -> dict[str, _Point]:
    """Series at a place, by our name; of several names the first that any file has."""
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(f"interpolation: expected 'bilinear' or 'nearest', got '{interpolation}'.")
    latitude, longitude = place.values()
    if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
        expected = "a latitude from -90 to 90 and a longitude from -180 to 360 degrees"
        raise ValueError(f"expected {expected}, got {latitude:g} and {longitude:g}.")
    wanted = {name for known in names.values() for name in known}
    pieces: dict[str, list[Record]] = {}
    for path in paths:
        for record in _read_file(path, wanted, place, start, interpolation):
            pieces.setdefault(record.variable.name, []).append(record)
    found = {}
    for field, known in names.items():
        for name in [name for name in known if name in pieces][:1]:
            records = in_order(pieces[name], "give each hour of a parameter once")
            series = joined(records)
            found[field] = _Point(records, series.time, series.values)
    return found


def _read_file(
    path: Path, wanted: set[str], place: dict[str, float], start_time: str, interpolation: str
) -> list[Record]:
    """The parameters in one file; only points around the place are read: a global file need not fit."""
    axes = read_contents(path, only=("valid_time", "time", *place))
    if not wanted.intersection(axes.names):
        expected = f"a variable among {', '.join(sorted(wanted))}"
        raise axes.error("file", expected, axes.listing, "use a NetCDF file of ERA5 on single levels")
    weights = {axis: _weights(axes, axis, place[axis], interpolation) for axis in place}
    around = {axis: sorted(at for at, _ in pairs) for axis, pairs in weights.items()}
    file = read_contents(path, only=wanted, at=around)
    time = next((axes[n] for n in ("valid_time", "time") if n in axes and len(axes[n].dims) == 1), None)
    if time is None:
        expected = "a variable valid_time or time over one dimension"
        raise file.error("valid_time", expected, "none", "download NetCDF")
    axis = read_time(time)
    seconds = axis.since(start_time)
    if seconds.size < 2:
        raise time.error("at least two records", seconds.size, "add more hours")
    found = []
    for variable in file.variables.values():
        grid = _one_version(variable, time.dims[0]).values
        values = np.zeros(seconds.size)
        for i, of_latitude in weights["latitude"]:
            for j, of_longitude in weights["longitude"]:
                at = around["latitude"].index(i), around["longitude"].index(j)
                values = values + of_latitude * of_longitude * grid[:, at[0], at[1]]
        found.append(Record(variable, axis, seconds, values))
    return found


def _one_version(variable: Variable, time: str) -> Variable:
    """Values over time, latitude and longitude; preliminary ones (ERA5T) where there are no final ones."""
    if "expver" in variable.dims:
        versions = np.moveaxis(variable.numbers(), variable.dims.index("expver"), 0)
        merged = versions[0]
        for later in versions[1:]:
            merged = np.where(np.isnan(merged), later, merged)
        dims = tuple(dim for dim in variable.dims if dim != "expver")
        variable = replace(variable, dims=dims, values=merged)
    return variable.along((time, "latitude", "longitude"), "choose one member")


def _weights(file: Contents, axis: str, target: float, interpolation: str) -> list[tuple[int, float]]:
    """Points on either side of the place along one axis and their weights."""
    if axis not in file or len(file[axis].dims) != 1:
        raise file.error(axis, f"a coordinate {axis}", "none", "use the file as it was downloaded")
    points = file[axis].numbers()
    offset = points - target
    if axis == "longitude":
        # Files count from 0 to 360 or from -180 to 180.
        offset = (offset + 180.0) % 360.0 - 180.0
    nearest = int(np.argmin(np.abs(offset)))
    spacing = np.min(np.abs(np.diff(points))) if points.size > 1 else 0.25
    if abs(offset[nearest]) < 1e-6:
        return [(nearest, 1.0)]
    below, above = np.flatnonzero(offset < 0.0), np.flatnonzero(offset > 0.0)
    inside = below.size > 0 and above.size > 0
    low = int(below[np.argmax(offset[below])]) if inside else nearest
    high = int(above[np.argmin(offset[above])]) if inside else nearest
    inside = inside and max(-offset[low], offset[high]) <= _FARTHEST
    # The cell of a point reaches half a spacing to either side.
    if not inside and abs(offset[nearest]) > 0.5 * spacing + 1e-6:
        got = f"{points.min():g} to {points.max():g}"
        raise file.error(axis, f"a grid around {target:g}", got, "download the area around the place")
    if not inside or interpolation == "nearest":
        return [(nearest, 1.0)]
    weight = float(-offset[low] / (offset[high] - offset[low]))
    return [(low, 1.0 - weight), (high, weight)]
