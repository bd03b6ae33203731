"""Hourly weather of the reanalysis ERA5 on single levels, at one place.

Source: Hersbach et al. (2020), Q. J. R. Meteorol. Soc. 146, 1999-2049; documentation of ECMWF: radiation and
precipitation are accumulated over the hour that ends at the stamp, and fluxes count downward.
"""

from dataclasses import dataclass
from pathlib import Path

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
from .cf_axes import as_paths
from .era5_point import PointSeries, read_point
from .errors import FileFormatError, names_its_file

_HOUR = 3600.0
_KELVIN = 273.15
_SOLAR_CONSTANT = 1361.0 * 1.035  # [W m-2], at the smallest distance from the sun


@dataclass(frozen=True)
class _Parameter:
    """A parameter of ERA5: what it is called, its unit, and between what values it can be.

    `lowest` and `highest` are in the unit of the file, in one hour where it is accumulated. What lies beyond
    them by no more than `rounding` comes from packing and becomes the bound; the rest is an error.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    lowest: float
    highest: float
    accumulated: bool = False
    rounding: float = 0.0
    hint: str = "check the unit"


def _possible(quantity: str, zero: float = 0.0) -> tuple[float, float]:
    low, high = quantity_of(quantity).possible
    return low + zero, high + zero


_WIND_UNITS = ("m s**-1", "m s-1", "m/s", "m s^-1")
_ENERGY_UNITS = ("J m**-2", "J m-2", "J/m2", "J m^-2")
_ENERGY_HINT = "it has to be accumulated over the hour before its stamp, and count downward"
_KELVIN_HINT = "it looks like degC; ERA5 is in K"
_PARAMETERS = {
    "wind_u": _Parameter(("u10", "10u"), _WIND_UNITS, *_possible("wind_u")),
    "wind_v": _Parameter(("v10", "10v"), _WIND_UNITS, *_possible("wind_v")),
    "air_temperature": _Parameter(
        ("t2m", "2t"), ("K", "kelvin"), *_possible("air_temperature", _KELVIN), hint=_KELVIN_HINT
    ),
    "humidity": _Parameter(
        ("d2m", "2d"), ("K", "kelvin"), *_possible("dew_point", _KELVIN), hint=_KELVIN_HINT
    ),
    "air_pressure": _Parameter(
        ("sp", "msl"), ("Pa", "pascal"), *_possible("air_pressure"), hint="if it is hPa, multiply it by 100"
    ),
    "cloud_cover": _Parameter(
        ("tcc",),
        ("(0 - 1)", "(0-1)", "0-1", "1", "dimensionless"),
        *_possible("cloud_cover"),
        rounding=1e-3,
        hint="if it is %, divide it by 100",
    ),
    "precipitation": _Parameter(
        ("tp",),
        ("m", "m of water equivalent", "m of water", "metres"),
        0.0,
        0.4,
        True,
        1e-5,
        "it has to be metres of water in the hour before its stamp",
    ),
}
_RADIATION = {
    "downward": {
        "shortwave": _Parameter(("ssrd",), _ENERGY_UNITS, 0.0, 1500 * _HOUR, True, _HOUR, _ENERGY_HINT),
        "longwave": _Parameter(("strd",), _ENERGY_UNITS, 30 * _HOUR, 700 * _HOUR, True, 0.0, _ENERGY_HINT),
    },
    "net": {
        "shortwave": _Parameter(("ssr",), _ENERGY_UNITS, 0.0, 1500 * _HOUR, True, _HOUR, _ENERGY_HINT),
        "longwave": _Parameter(("str",), _ENERGY_UNITS, -400 * _HOUR, 150 * _HOUR, True, 0.0, _ENERGY_HINT),
    },
}
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
        FileNotFoundError: no such file.
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
    paths = as_paths(paths)
    parameters = _PARAMETERS | {k: v for k, v in _RADIATION[radiation].items() if formulae[k] is None}
    names = {field: parameter.names for field, parameter in parameters.items()}
    found = read_point(paths, names, latitude, longitude, start_time, interpolation)
    for field, parameter in parameters.items():
        if field in found:
            found[field] = _checked(found[field], parameter)
        elif field == "cloud_cover" and cloudy:
            raise _missing(paths[0], parameter, f", which the {' and the '.join(cloudy)} needs")
        elif field not in _OPTIONAL:
            raise _missing(paths[0], parameter, _other_radiation(field, radiation))
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


def _other_radiation(field: str, radiation: str) -> str:
    """What can be done where a radiation is missing."""
    if field not in _RADIATION[radiation]:
        return ""
    other = "net" if radiation == "downward" else "downward"
    return f", choose radiation='{other}', or a {field} formula, which needs tcc"


def _missing(path: Path, parameter: _Parameter, hint: str) -> FileFormatError:
    return FileFormatError(
        path,
        parameter.names[0],
        f"a variable {' or '.join(parameter.names)} in one of the files",
        "none",
        f"download it{hint}",
    )


def _checked(series: PointSeries, parameter: _Parameter) -> PointSeries:
    """The series in the unit of ERA5 and within its bounds, hourly where it is accumulated."""
    if series.unit is not None and series.unit not in parameter.units:
        raise FileFormatError(
            series.paths[0],
            series.name,
            f"the unit {parameter.units[0]}",
            f"'{series.unit}'",
            "use the file as it was downloaded",
        )
    steps = np.diff(series.time)
    usual = _HOUR if parameter.accumulated else float(np.min(steps))
    odd = np.flatnonzero(np.abs(steps - usual) > 1.0)
    if odd.size:
        at = int(odd[0])
        raise FileFormatError(
            series.paths[at],
            series.name,
            f"a record every {usual:g} s",
            f"a gap of {steps[at]:g} s after {series.describe(at)}",
            "download all hours",
        )
    bad = np.flatnonzero(
        ~(
            (series.values >= parameter.lowest - parameter.rounding)
            & (series.values <= parameter.highest + parameter.rounding)
        )
    )
    if bad.size:
        at = int(bad[0])
        is_gap = not np.isfinite(series.values[at])
        raise FileFormatError(
            series.paths[at],
            series.name,
            "a value" if is_gap else f"values from {parameter.lowest:g} to {parameter.highest:g}",
            f"{series.values[at]:g} at {series.describe(at)}",
            "download it again" if is_gap else parameter.hint,
        )
    return series.replaced(np.clip(series.values, parameter.lowest, parameter.highest))


def _check_dew_point(air: PointSeries, dew: PointSeries) -> None:
    """Air is not moister than saturated; a little where a dew point was interpolated."""
    common, i, j = np.intersect1d(air.time, dew.time, return_indices=True)
    bad = np.flatnonzero(dew.values[j] > air.values[i] + 2.0)
    if bad.size:
        at = int(j[bad[0]])
        raise FileFormatError(
            dew.paths[at],
            dew.name,
            f"a dew point below the temperature of the air, {air.values[i[bad[0]]]:g} K",
            f"{dew.values[at]:g} K at {dew.describe(at)}",
            "check which variable is which",
        )


def _check_shortwave(series: PointSeries, sun: SolarPosition) -> None:
    """No more shortwave radiation on the water than above the air: also finds stamps in local time."""
    # The largest in the hour, and a quarter more on either side for the equation of time.
    moments = series.time[:, None] + np.linspace(-1.25 * _HOUR, 0.25 * _HOUR, 7)
    cosine = np.asarray(sun.cosine_of_zenith(sun.at(jnp.asarray(moments))))
    most = _HOUR * (_SOLAR_CONSTANT * cosine.max(axis=1) + 20.0)
    bad = np.flatnonzero(series.values > most)
    if bad.size:
        at = int(bad[0])
        raise FileFormatError(
            series.paths[at],
            series.name,
            f"at most {most[at]:g} J m-2, what the sun gives in that hour",
            f"{series.values[at]:g} at {series.describe(at)}",
            "check the longitude, that times are Universal Time, and that it is accumulated over one hour",
        )


def _weather(
    found: dict[str, PointSeries], parameters: dict[str, _Parameter], name: str
) -> TimeSeries[Weather]:
    """All series in our units on the union of stamps and middles of hours, linear in between."""
    times, values = {}, {}
    for field, series in found.items():
        accumulated = parameters[field].accumulated
        times[field] = series.time - 0.5 * _HOUR if accumulated else series.time
        values[field] = series.values / _HOUR if accumulated else series.values
    for field in ("air_temperature", "humidity"):
        values[field] = values[field] - _KELVIN
    # A mean holds from half an hour before its middle to half an hour after it.
    first = max(t[0] - 0.5 * _HOUR * parameters[field].accumulated for field, t in times.items())
    last = min(t[-1] + 0.5 * _HOUR * parameters[field].accumulated for field, t in times.items())
    common = np.unique(np.concatenate([*times.values(), [first, last]]))
    common = common[(common >= first) & (common <= last)]
    if common.size < 2:
        raise FileFormatError(
            found["wind_u"].paths[0], "time", "times that all parameters have", "none", "download them again"
        )
    weather = {field: np.interp(common, times[field], values[field]) for field in found}
    return TimeSeries(jnp.asarray(common, dtype=float), Weather(**weather), name)
