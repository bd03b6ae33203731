"""Weather and surface fluxes from the ERA5 reanalysis on single levels, at one position.

Source: Hersbach et al. (2020), Q. J. R. Meteorol. Soc. 146, 1999-2049; ECMWF documentation: radiation,
precipitation and fluxes are accumulated over the hour before the time stamp (three hours in the ensemble) and
count downward. All other parameters are instantaneous.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..air_sea import SolarPosition, Weather
from ..air_sea.air import HumidityMeasure
from ..column.forcing import TimeSeriesForcing
from ..column.time_series import TimeSeries
from ..quantities import quantity_of
from .axes import as_sources, check_position, read_at, stem_of
from .errors import FileFormatError, Source, name_of, names_its_file
from .netcdf import read_netcdf
from .series import as_series_together
from .times import as_series, error_at, joined, timed, with_bounds
from .units import between
from .variables import error_in, error_of, in_unit, like, listing, name_in_file
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_HOUR = 3600.0
_VAPORISATION_HEAT = 2.5008e6  # [J kg-1] of the forecast model, IFS documentation, Part IV, constants
_AT_TOP = 1361.0  # [W m-2] above the atmosphere
_AT_PERIHELION = 1.035 * _AT_TOP
_LONGEST_STEP = 6.0 * _HOUR
"""Longest time between records [s]: sparser ones do not resolve the daily cycle."""
_UNITS = {"(0 - 1)": "1", "(0-1)": "1", "0-1": "1", "m of water equivalent": "m", "m of water": "m"}
"""Units as ERA5 writes them, in our terms."""
_OPTIONAL = ("cloud_cover", "precipitation", "evaporation")
_DATA_SET = "reanalysis-era5-single-levels of the Climate Data Store"


@dataclass(frozen=True)
class _Parameter:
    """An entry of `names.yaml`: names, unit and quantity of a parameter of ERA5, and its possible range.

    Parameters with `means` are accumulated; `means` are the names of their means over the same interval.
    """

    names: list[str]
    download: str
    unit: str
    quantity: str
    possible: list[float] | None = None
    means: list[str] = field(default_factory=list)
    rounding: float = 0.0
    hint: str = "check the unit"

    def is_sum(self, point: "xr.DataArray") -> bool:
        """Return whether values are sums over an interval, and not means."""
        return bool(self.means) and name_in_file(point) not in self.means


def _parameters(table: Any) -> dict[str, _Parameter]:
    return {name: _Parameter(**{"quantity": name} | entry) for name, entry in table.items()}


_PARAMETERS, _FLUXES = _parameters(NAMES["era5"]), _parameters(NAMES["era5_fluxes"])
_RADIATION = {kind: _parameters(NAMES["era5_radiation"][kind]) for kind in ("downward", "net")}


@names_its_file("a file of ERA5")
def read_era5(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    shortwave: str | None = "downward",
    longwave: str | None = "downward",
    accumulation: float | None = None,
) -> tuple[TimeSeries[Weather], HumidityMeasure]:
    """Read the weather of ERA5, u10, v10, t2m, d2m, sp or msl, radiation, and tcc and tp if present.

    The kind of its humidity is the dew point. Means of accumulated parameters hold over their interval, so
    that their sums are those of the file.

    Args:
        paths: one NetCDF file or xarray dataset, or several (one per parameter, one per month).
        latitude, longitude: of the position [degrees north, degrees east].
        start_time: ISO 8601 time, universal time, at which the time of the case is 0.
        shortwave, longwave: "downward" for ssrd and strd, "net" for ssr and str, which contain the albedo and
            surface temperature of ERA5; `None` where a formula gives the radiation, from tcc.
        accumulation: interval before the time stamp over which parameters are accumulated [s]. By default it
            is one hour; where records are farther apart, the number of members in the GRIB attributes tells
            the reanalysis from the ensemble (the time between records). With this option records may be more
            than six hours apart. Sums since midnight (ERA5-Land) are refused.

    Raises:
        FileFormatError: a parameter that is missing or in an unexpected unit, a position outside the grid,
            missing or unsorted times, a gap, or an impossible value, with its time.
        ValueError: one radiation net and the other downward, or unknown options.
    """
    kinds = {"shortwave": shortwave, "longwave": longwave}
    requested = {*kinds.values()} - {None}
    if not requested <= _RADIATION.keys() or len(requested) > 1:
        expected = "shortwave and longwave of ERA5 both downward or both net, or from a formula"
        raise ValueError(
            f"expected {expected}, got shortwave {shortwave} and longwave {longwave}; change one."
        )
    radiation = {name: _RADIATION[kind][name] for name, kind in kinds.items() if kind is not None}
    hints = dict.fromkeys(
        kinds, ", choose the other kind of radiation, or a formula from the cloud cover, tcc"
    )
    if len(radiation) < len(kinds):
        hints["cloud_cover"] = ": the formula of the radiation needs it"
    place = {"latitude": latitude, "longitude": longitude}
    options = {"start_time": start_time, "accumulation": accumulation}
    sources = as_sources(paths)
    time, values = _series_of(sources, _PARAMETERS | radiation, place, hints, **options)
    return TimeSeries(time, Weather(**values), stem_of(sources[0])), "dew_point"


@names_its_file("a file of ERA5")
def read_era5_fluxes(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    accumulation: float | None = None,
) -> TimeSeriesForcing:
    """Read the surface fluxes that ERA5 computed with its sea surface temperature.

    Net radiation, turbulent heat fluxes and stress (ssr, str, sshf, slhf, ewss, nsss), accumulated or as
    means (msnswrf or avg_snswrf, ...), and precipitation minus evaporation: tp if present, and e, or else
    the water of the latent heat.

    Args:
        paths, latitude, longitude, start_time, accumulation: as in `read_era5`.

    Raises:
        FileFormatError, ValueError: as in `read_era5`.
    """
    place = {"latitude": latitude, "longitude": longitude}
    needed = [key for key in _FLUXES if key not in _OPTIONAL]
    hints = dict.fromkeys(needed, "; or compute the fluxes from the weather with read_era5")
    options = {"start_time": start_time, "accumulation": accumulation}
    sources = as_sources(paths)
    time, values = _series_of(sources, _FLUXES, place, hints, **options)
    heat = sum(values[key] for key in ("longwave", "sensible", "latent"))
    fluxes = {key: values[key] for key in ("stress_u", "stress_v")}
    fluxes |= {"heat_flux": heat, "shortwave_flux": values["shortwave"]}
    if "evaporation" in values:
        fluxes["freshwater_flux"] = 1000.0 * values["evaporation"]
    else:
        fluxes["freshwater_flux"] = values["latent"] / _VAPORISATION_HEAT
    if "precipitation" in values:
        fluxes["freshwater_flux"] = fluxes["freshwater_flux"] + 1000.0 * values["precipitation"]
    return TimeSeriesForcing.from_values(time, **fluxes)


def _series_of(
    sources: list[Source],
    parameters: Mapping[str, _Parameter],
    place: Mapping[str, float],
    hints: Mapping[str, str],
    *,
    start_time: str,
    accumulation: float | None,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """All parameters at a place on common times [s]; sums are means over their interval.

    Args:
        hints: advice about missing parameters, by key; optional parameters with a hint are required.
    """
    check_position((place["latitude"], place["longitude"]))
    if accumulation is not None and not accumulation > 0.0:
        raise ValueError(f"accumulation: expected a time [s] above 0, got {accumulation:g}.")
    names = {key: (*each.names, each.download, *each.means) for key, each in parameters.items()}
    pieces: dict[str, list[xr.DataArray]] = {}
    for source in sources:
        for variable, times in read_at(source, {*itertools.chain(*names.values())}, place):
            series = timed(variable, times, variable.values, start_time)
            pieces.setdefault(name_in_file(variable), []).append(series)
    if not pieces:
        file, known = read_netcdf(sources[0]), itertools.chain(*(each.names for each in parameters.values()))
        expected = f"a variable among {', '.join(sorted(known))}"
        advice = "use a NetCDF file of ERA5 on single levels"
        raise error_in(file, "file", expected, listing(file), advice)
    present = {key: next((name for name in names[key] if name in pieces), "") for key in parameters}
    needed = [key for key, name in present.items() if not name and (key in hints or key not in _OPTIONAL)]
    if needed:
        wanted = [parameters[key] for key in needed]
        listed = ", ".join(f"{' or '.join(each.names)} ({each.download})" for each in wanted)
        expected, name = f"{listed} of {_DATA_SET} in one of the files", wanted[0].names[0]
        advice = f"download it{hints.get(needed[0], '')}"
        raise FileFormatError(name_of(sources[0]), name, expected, "none", advice)
    points = {
        key: _converted(joined(pieces[name], "give each hour once"), parameters[key])
        for key, name in present.items()
        if name
    }
    longest = _LONGEST_STEP if accumulation is None else np.inf
    interval = accumulation or _interval_of([points[key] for key in points if parameters[key].means], longest)
    points = {key: _rates(point, parameters[key], interval, longest) for key, point in points.items()}
    if "shortwave" in points:
        sun = SolarPosition(start_time=start_time, **place)
        points["shortwave"] = _sunlight(points["shortwave"], interval, sun)
    try:
        return as_series_together({key: as_series(point) for key, point in points.items()}, 0.0)
    except ValueError:
        expected, advice = "times that all parameters have", "download them again"
        raise FileFormatError(name_of(sources[0]), "time", expected, "none", advice) from None


def _step(point: "xr.DataArray") -> float:
    """Shortest time between two records [s]; infinite for a single one."""
    return float(np.min(np.diff(point["time"].values), initial=np.inf))


def _interval_of(accumulated: Sequence["xr.DataArray"], longest: float) -> float:
    """Interval of accumulation [s]: an hour, or the time between the records of an ensemble."""
    step = min(map(_step, accumulated), default=np.inf)
    if not _HOUR + 1.0 < step <= longest + 1.0:
        return _HOUR
    members = {point.attrs.get("GRIB_totalNumber") for point in accumulated} - {None}
    if len(members) != 1:
        expected = "hourly records, or the time over which these are accumulated (accumulation)"
        advice = "give 3600 for the reanalysis, 10800 for the ensemble"
        raise error_at(accumulated[0], 0, expected, f"a record every {step:g} s from {{}}", advice)
    return step if members.pop() else _HOUR


def _converted(point: "xr.DataArray", parameter: _Parameter) -> "xr.DataArray":
    """Convert to the package's unit, or sums to this unit times s; the unit of ERA5 is the default."""
    unit = point.attrs.get("units", None if name_in_file(point) in parameter.means else parameter.unit)
    if unit is not None:
        point = point.assign_attrs(units=_UNITS.get(str(unit), str(unit)))
    if not parameter.is_sum(point):
        return point.copy(data=in_unit(point, parameter.quantity))
    try:
        scale, _ = between(point.attrs["units"], f"{quantity_of(parameter.quantity).unit} s")
    except ValueError:
        expected, advice = f"a unit that converts to {parameter.unit}", "use the file as it was downloaded"
        raise error_of(point, expected, f"'{unit}'", advice) from None
    return point.copy(data=scale * point.values)


def _rates(point: "xr.DataArray", parameter: _Parameter, interval: float, longest: float) -> "xr.DataArray":
    """Divide sums by the interval, check range and spacing (at most `longest` [s]), and remove rounding.

    Accumulated parameters and their means get the bounds of their interval.
    """
    time, values, step = point["time"].values, point.values, _step(point)
    if time.size < 2:
        raise error_of(point, "at least two records", time.size, "add more hours")
    steps = np.diff(time)
    odd = np.flatnonzero((np.abs(steps - step) > 1.0) | (steps > longest + 1.0))
    if odd.size:
        expected = f"a record every {min(step, longest):g} s"
        got = f"a gap of {steps[odd[0]]:g} s after {{}}"
        raise error_at(point, int(odd[0]), expected, got, "download all hours")
    if parameter.is_sum(point):
        values = values / interval
    low, high = parameter.possible or quantity_of(parameter.quantity).possible
    bad = np.flatnonzero(~((values >= low - parameter.rounding) & (values <= high + parameter.rounding)))
    if bad.size:
        unit = quantity_of(parameter.quantity).unit
        expected = f"values from {low:g} to {high:g}" + (f" {unit}" if unit != "1" else "")
        raise error_at(point, int(bad[0]), expected, f"{values[bad[0]]:g} at {{}}", parameter.hint)
    rates = point.copy(data=np.clip(values, low, high))
    return with_bounds(rates, np.stack([time - interval, time], axis=1)) if parameter.means else rates


def _sunlight(point: "xr.DataArray", interval: float, sun: SolarPosition) -> "xr.DataArray":
    """Check shortwave radiation against that at the top of the atmosphere, and return it at all hours.

    The check also detects local time. Where records are farther apart than their interval of accumulation,
    the fraction transmitted by the atmosphere is interpolated linearly.
    """

    def cosine(time: np.ndarray) -> np.ndarray:
        return np.asarray(sun.cosine_of_zenith(sun.at(jnp.asarray(time))))

    def above_air(time: np.ndarray) -> np.ndarray:
        """Mean radiation at the top of the atmosphere [W m-2] over the interval before each time."""
        moments = time[:, None] - interval * (np.arange(12) + 0.5) / 12.0
        return _AT_TOP * np.maximum(cosine(moments), 0.0).mean(axis=1)

    time = point["time"].values
    # The largest value in the interval, widened by a quarter of an hour on either side for the equation of
    # time.
    around = np.linspace(-interval - 0.25 * _HOUR, 0.25 * _HOUR, 7)
    most = _AT_PERIHELION * cosine(time[:, None] + around).max(axis=1) + 20.0
    for at in np.flatnonzero(point.values > most)[:1].tolist():
        expected = f"at most {most[at]:g} W m-2, the radiation above the atmosphere"
        advice = "check the longitude, that times are Universal Time, and that it is the sum of one hour"
        raise error_at(point, at, expected, f"{point.values[at]:g} at {{}}", advice)
    above = above_air(time)
    is_day = above > 20.0
    if _step(point) <= interval + 1.0 or not is_day.any():
        return point
    hours = np.arange(time[0], time[-1] + 1.0, interval)
    share = np.interp(hours, time[is_day], point.values[is_day] / above[is_day])
    filled = like(point, share * above_air(hours)).assign_coords(time=hours)
    return with_bounds(filled, np.stack([hours - interval, hours], axis=1))
