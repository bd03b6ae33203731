"""Weather and surface fluxes from the ERA5 reanalysis on single levels, at one position.

Source: Hersbach et al. (2020), Q. J. R. Meteorol. Soc. 146, 1999-2049; ECMWF documentation: radiation,
precipitation and fluxes are accumulated over the hour before the time stamp (three hours in the ensemble) and
count downward. All other parameters are instantaneous. GRIB files are read with the optional package cfgrib.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from .._types import JSON
from ..air_sea import (
    AbstractAlbedo,
    AbstractBulkFormula,
    AbstractLongwave,
    BulkForcing,
    ClearSky,
    ConstantAlbedo,
    DownwardLongwave,
    Fairall,
    MeanSun,
    Payne,
    SolarPosition,
    Weather,
    with_mean_sun,
)
from ..column.forcing import TimeSeriesForcing
from ..column.time_series import TimeSeries
from ..quantities import quantity_of
from ..runtime.machine import MissingPackageError, command_for, needed
from .axes import Record, as_sources, in_order, joined, read_at, stem_of
from .errors import (
    FileFormatError,
    Source,
    check_names,
    existing_file,
    first_bytes,
    is_path,
    name_of,
    names_its_file,
)
from .netcdf import read_contents
from .series import Series, on_common_times
from .units import Conversion, Conversions, as_conversion
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_KELVIN = 273.15
_HOUR = 3600.0
_VAPORISATION_HEAT = 2.5008e6  # [J kg-1] of the forecast model, IFS documentation, Part IV, constants
_SOLAR_CONSTANT = 1361.0 * 1.035  # [W m-2], at perihelion
_LONGEST_STEP = 6.0 * _HOUR
"""Between records: of what changes with the day, more is not known from fewer."""
_MEANS = {"J m**-2": "W m-2", "N m**-2 s": "N m-2", "m": "kg m-2 s-1", "m of water equivalent": "kg m-2 s-1"}
_PLAIN = {"(0 - 1)": "1", "m of water equivalent": "m"}
"""Units of means, and of others that are words."""
_OPTIONAL = ("cloud_cover", "precipitation", "evaporation")
_DATA_SET = "reanalysis-era5-single-levels of the Climate Data Store"


@dataclass(frozen=True)
class _Parameter:
    """A parameter of ERA5: its names, unit and possible range, and what the user says about its values.

    Means over the interval before the time stamp carry the same information as sums: `means` lists their
    names, and `rate` converts a mean to the sum over one hour in the unit of the sums.
    """

    names: list[str]
    units: list[str]
    possible: tuple[float, float]
    download: str
    means: list[str] = field(default_factory=list)
    rate: float = _HOUR
    accumulated: bool = False
    rounding: float = 0.0
    hint: str = "check the unit"
    zero: float = 0.0
    conversion: Conversion = Conversion()


def _parameters_of(known: Mapping[str, dict[str, JSON]]) -> dict[str, _Parameter]:
    """The parameters of ERA5 in a table of `names.yaml`, by key."""
    parameters = {}
    for key, entry in known.items():
        low, high = quantity_of(entry["quantity"]).possible if "quantity" in entry else entry["possible"]
        zero = entry.get("zero", 0.0)
        others = {name: value for name, value in entry.items() if name not in ("quantity", "possible")}
        parameters[key] = _Parameter(possible=(low + zero, high + zero), **others)
    return parameters


_PARAMETERS = _parameters_of(NAMES["era5"])
_RADIATION = {kind: _parameters_of(known) for kind, known in NAMES["era5_radiation"].items()}
_FLUXES = _parameters_of(NAMES["era5_fluxes"])


@names_its_file("a file of ERA5")
def read_era5(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    radiation: str = "downward",
    interpolation: str = "bilinear",
    accumulation: float | None = None,
    units: Conversions | None = None,
    bulk: AbstractBulkFormula | None = None,
    albedo: AbstractAlbedo | None = None,
    longwave: AbstractLongwave | None = None,
    shortwave: ClearSky | None = None,
    name: str | None = None,
) -> BulkForcing:
    """Bulk forcing from ERA5: u10, v10, t2m, d2m, sp or msl, radiation, and tcc and tp if present.

    Means of accumulated parameters hold over their interval, so that their sums are those of the file.
    The forcing includes evaporation, with and without precipitation.

    Args:
        paths: one file or xarray dataset, or several (one per parameter, one per month); NetCDF, or GRIB,
            which needs the package cfgrib.
        latitude, longitude: of the position [degrees north, degrees east].
        start_time: ISO 8601 time, universal time, at which the time of the case is 0.
        radiation: "downward" takes ssrd less an albedo and strd less the emission of the modelled surface;
            "net" takes ssr and str, which contain the albedo and surface temperature of ERA5.
        interpolation: bilinear between the four surrounding grid points, or the nearest point.
        accumulation: interval before the time stamp over which parameters are accumulated [s]. By default it
            is either one hour or the time between records; the reader decides by the sun's elevation, by the
            air temperature, then by the number of members in the GRIB attributes. Sums since midnight
            (ERA5-Land) are detected from their growth. If given, records may be more than six hours apart.
        units: units or conversions by the package's names; override those in the file. `humidity` is the dew
            point.
        bulk: formula of the turbulent fluxes; `Fairall` by default.
        albedo: of the water, unless the shortwave radiation is net; `Payne` by default. That of the day where
            records are more than three hours apart.
        longwave, shortwave: formulae based on cloud cover that replace the radiation of ERA5, which is then
            not read; they need tcc.
        name: for messages; by default the name of the first file.

    Raises:
        FileFormatError: a parameter that is missing or in an unexpected unit, a position outside the grid,
            missing or unsorted times, a gap, or an impossible value, with its time.
        ValueError: an albedo with net radiation, a longwave that is not a formula, or unknown options.
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
    sources = _opened(as_sources(paths))
    parameters = _PARAMETERS | {k: v for k, v in _RADIATION[radiation].items() if formulae[k] is None}
    place = {"latitude": latitude, "longitude": longitude}
    check_names("units", units or {}, (*_PARAMETERS, *formulae))
    points = _read_points(sources, parameters, units or {}, place, start_time, interpolation)
    missing, other = [key for key in parameters if key not in points], "downward" if is_net else "net"
    for key in missing:
        hint = ""
        if key == "cloud_cover" and cloudy:
            hint = f", which the {' and the '.join(cloudy)} needs"
        elif key in formulae:
            hint = f", choose radiation='{other}', or a {key} formula, which needs tcc"
        if hint or key not in _OPTIONAL:
            raise _missing(sources[0], parameters, [key, *(k for k in missing if k != key)], hint)
    sun = SolarPosition(start_time=start_time, latitude=latitude, longitude=longitude)
    points = _checked(points, accumulation, sun)
    if albedo is None:
        albedo = ConstantAlbedo(0.0) if is_net and shortwave is None else Payne()
    time, values = _common(points)
    celsius = {key: values[key] - _KELVIN for key in ("air_temperature", "humidity")}
    weather = Weather(**values | celsius)
    forcing = BulkForcing(
        weather=TimeSeries(jnp.asarray(time, dtype=float), weather, name or stem_of(sources[0])),
        bulk=Fairall() if bulk is None else bulk,
        longwave=DownwardLongwave() if longwave is None and not is_net else longwave,
        shortwave=shortwave,
        albedo=albedo,
        sun=sun,
        humidity_measure="dew_point",
    )
    return with_mean_sun(forcing, MeanSun(), step=_HOUR, duration=float(time[-1]))[0]


@names_its_file("a file of ERA5")
def read_era5_fluxes(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    interpolation: str = "bilinear",
    accumulation: float | None = None,
    units: Conversions | None = None,
) -> TimeSeriesForcing:
    """The surface fluxes computed by ERA5 over its own sea surface temperature.

    Net radiation, turbulent heat fluxes and stress (ssr, str, sshf, slhf, ewss, nsss), accumulated or as
    means (msnswrf or avg_snswrf, ...), and precipitation minus evaporation: tp if present, and e, or else
    the water of the latent heat.

    Args:
        paths, latitude, longitude, start_time, interpolation, accumulation, units: as in `read_era5`.

    Raises:
        FileFormatError, ValueError: as in `read_era5`.
    """
    sources, place = _opened(as_sources(paths)), {"latitude": latitude, "longitude": longitude}
    check_names("units", units or {}, _FLUXES)
    points = _read_points(sources, _FLUXES, units or {}, place, start_time, interpolation)
    missing = [key for key in _FLUXES if key not in points]
    if set(missing) - set(_OPTIONAL):
        raise _missing(sources[0], _FLUXES, missing, "; or read_era5 makes the fluxes of the weather")
    points = _checked(points, accumulation, SolarPosition(start_time, latitude, longitude))
    time, values = _common(points)
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


def _missing(source, parameters: dict[str, _Parameter], missing: list[str], hint: str) -> FileFormatError:
    """The error for parameters that no file contains: names all of them, with the first as the key."""
    wanted = [parameters[key] for key in missing if key == missing[0] or key not in _OPTIONAL]
    listed = ", ".join(f"{' or '.join(one.names)} ({one.download})" for one in wanted)
    expected, name = f"{listed} of {_DATA_SET} in one of the files", wanted[0].names[0]
    return FileFormatError(name_of(source), name, expected, "none", f"download it{hint}")


@dataclass(frozen=True)
class _Point:
    """One parameter at the position: records in file order, their times, and values.

    Accumulated values are sums over one hour, from an interval [s] before the time stamp; others are
    instantaneous.
    """

    parameter: _Parameter
    records: list[Record]
    time: np.ndarray
    values: np.ndarray
    interval: float = 0.0

    @property
    def is_mean(self) -> bool:
        """Whether values are means, not sums."""
        return self.records[0].variable.name in self.parameter.means

    @property
    def step(self) -> float:
        """The shortest time between two records [s]."""
        return float(np.min(np.diff(self.time), initial=np.inf))

    def error(self, at: int, expected: str, got: str, advice: str, when: str = "at") -> FileFormatError:
        """The error for a value, with its file and date."""
        for record in self.records:
            if at < record.time.size:
                got = f"{got} {when} {record.axis.describe(at)}"
                return record.variable.error(expected, got, advice)
            at -= record.time.size
        raise IndexError(at)


def _read_points(
    sources: list[Source],
    parameters: dict[str, _Parameter],
    units: Conversions,
    place: dict[str, float],
    start_time: str,
    interpolation: str,
) -> dict[str, _Point]:
    """Read series at a position, by the package's names; of several names, the first that any file has."""
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(f"interpolation: expected 'bilinear' or 'nearest', got '{interpolation}'.")
    latitude, longitude = place.values()
    if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
        expected = "a latitude from -90 to 90 and a longitude from -180 to 360 degrees"
        raise ValueError(f"expected {expected}, got {latitude:g} and {longitude:g}.")
    names = {key: (*one.names, one.download, *one.means) for key, one in parameters.items()}
    pieces: dict[str, list[Record]] = {}
    for source in sources:
        for variable, axis in read_at(
            source, {name for known in names.values() for name in known}, place, interpolation
        ):
            record = Record(variable, axis, axis.since(start_time), variable.values)
            pieces.setdefault(variable.name, []).append(record)
    if not pieces:
        file = read_contents(sources[0], only=())
        listed = ", ".join(sorted(name for one in parameters.values() for name in one.names))
        advice = "use a NetCDF file of ERA5 on single levels"
        raise file.error("file", f"a variable among {listed}", file.listing, advice)
    points = {}
    for key, known in names.items():
        for name in [name for name in known if name in pieces][:1]:
            records = in_order(pieces[name], "give each hour of a parameter once")
            series = joined(records)
            parameter = replace(parameters[key], conversion=as_conversion(units.get(key)))
            points[key] = _Point(parameter, records, series.time, series.values)
    return points


def _common(points: dict[str, _Point]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return all series on common times; a sum becomes the mean that holds over its interval."""
    series = {}
    for key, point in points.items():
        series[key] = Series(point.time, point.values)
        if point.interval:
            intervals = np.stack([point.time - point.interval, point.time], axis=1)
            series[key] = Series(point.time, point.values / _HOUR).of_means(intervals)
    try:
        time, values = on_common_times(series, 0.0)
    except ValueError:
        path = next(iter(points.values())).records[0].variable.path
        expected = "times that all parameters have"
        raise FileFormatError(path, "time", expected, "none", "download them again") from None
    return time, {key: np.asarray(value) for key, value in values.items()}


def _converted(point: _Point) -> _Point:
    """The same in ERA5's unit, as the user says; the offset follows once sums are those of an hour."""
    parameter, how = point.parameter, point.parameter.conversion
    first = parameter.units[0]
    unit = _MEANS[first] if point.is_mean else _PLAIN.get(first, first)
    try:
        scale, offset = replace(how, offset=0.0).linear_to(unit, unit)
    except ValueError:
        expected = f"a unit that converts to {unit}"
        raise point.records[0].variable.error(expected, f"'{how.unit}'", "correct it (units)") from None
    offset += parameter.zero * (1.0 - how.sign * how.factor)
    return point if (scale, offset) == (1.0, 0.0) else replace(point, values=scale * point.values + offset)


def _within_range(point: _Point, interval: float, longest: float) -> _Point:
    """The same as sums of one hour, within the possible range; records may be `longest` [s] apart."""
    values, parameter, how = point.values, point.parameter, point.parameter.conversion
    for record in point.records:
        unit = record.variable.attrs.get("units")
        known = point.is_mean or how.unit is not None
        if unit is not None and unit not in parameter.units and not known:
            expected = f"the unit {parameter.units[0]}"
            raise record.variable.error(expected, f"'{unit}'", "use the file as it was downloaded")
    if point.time.size < 2:
        raise point.records[0].variable.error("at least two records", point.time.size, "add more hours")
    steps = np.diff(point.time)
    odd = np.flatnonzero((np.abs(steps - point.step) > 1.0) | (steps > longest + 1.0))
    if odd.size:
        expected = f"a record every {point.step:g} s"
        if point.step > longest:
            expected = f"a record at least every {longest:g} s"
        raise point.error(
            int(odd[0]), expected, f"a gap of {steps[odd[0]]:g} s", "download all hours", "after"
        )
    if parameter.accumulated:
        values = values * (parameter.rate if point.is_mean else _HOUR / interval)
    if how.offset:
        values = values + how.sign * how.offset * (_HOUR if parameter.accumulated else 1.0)
    (low, high), slack = parameter.possible, parameter.rounding
    bad = np.flatnonzero(~((values >= low - slack) & (values <= high + slack)))
    if bad.size:
        expected = f"values from {low:g} to {high:g}"
        raise point.error(int(bad[0]), expected, f"{values[bad[0]]:g}", parameter.hint)
    interval = interval if parameter.accumulated else 0.0
    return replace(point, values=np.clip(values, low, high), interval=interval)


def _checked(points: dict[str, _Point], accumulation: float | None, sun: SolarPosition) -> dict[str, _Point]:
    """All parameters, each with its interval of accumulation."""
    points = {key: _converted(point) for key, point in points.items()}
    if accumulation is not None and not accumulation > 0.0:
        raise ValueError(f"accumulation: expected a time [s] above 0, got {accumulation:g}.")
    if accumulation is None:
        points, accumulation = _within_days(points)
    longest = _LONGEST_STEP if accumulation is None else np.inf
    sums = [point for point in points.values() if point.parameter.accumulated]
    interval, step = accumulation or _HOUR, min((point.step for point in sums), default=np.inf)
    if accumulation is None and _HOUR + 1.0 < step <= longest + 1.0:
        possible = [time for time in (_HOUR, step) if _can_hold(points, time, sun)]
        records = [record for point in sums for record in point.records]
        members = {record.variable.attrs.get("GRIB_totalNumber") for record in records} - {None}
        if len(possible) != 1 and len(members) != 1:
            expected = (
                f"sums over one hour or over {step:g} s, as the sun and the temperature of the air tell"
            )
            advice = f"say over what time they are summed (accumulation, such as {step:g})"
            got = "what may be either" if possible else "neither"
            raise sums[0].error(0, expected, got, advice, "from")
        interval = possible[0] if len(possible) == 1 else step if members.pop() else _HOUR
    points = {key: _within_range(point, interval, longest) for key, point in points.items()}
    if "humidity" in points:
        _check_dew_point(points["air_temperature"], points["humidity"])
    if "shortwave" in points:
        _check_shortwave(points["shortwave"], sun)
        points["shortwave"] = _filled_by_sun(points["shortwave"], sun)
    return points


def _within_days(points: dict[str, _Point]) -> tuple[dict[str, _Point], float | None]:
    """Convert sums since midnight (universal time, as in ERA5-Land) to sums between records [s].

    Radiation identifies them: it grows throughout the day, and the longwave sum of an evening hour is not
    twice that of a night hour. Other parameters are returned unchanged, with `None`.
    """
    sums = {key: one for key, one in points.items() if one.parameter.accumulated and not one.is_mean}
    told = [sums[key] for key in ("shortwave", "longwave") if key in sums]
    step = min((one.step for one in sums.values()), default=np.inf)
    if not told or not all(_grows_all_day(one) for one in told) or step > _LONGEST_STEP + 1.0:
        return points, None
    if "longwave" in sums:
        hour, size = _hours(sums["longwave"])[1], np.abs(sums["longwave"].values)
        evening, night = size[hour >= 18.0], size[hour <= 6.0]
        if not (evening.size and night.size and np.median(evening) >= 2.0 * np.median(night)):
            return points, None
    return points | {key: _differences(one, step) for key, one in sums.items()}, step


def _hours(point: _Point) -> tuple[np.ndarray, np.ndarray]:
    """Days and hours of the day of the time stamps; midnight is the end of a day."""
    clock = np.concatenate([one.axis.since("1970-01-01") for one in point.records]) / _HOUR
    day = np.ceil(clock / 24.0 - 1e-6) - 1.0
    return day, clock - 24.0 * day


def _grows_all_day(point: _Point) -> bool:
    size, day = np.abs(point.values), _hours(point)[0]
    steps, is_within, slack = np.diff(size), np.diff(day) == 0.0, 1e-6 * np.max(size, initial=0.0)
    grows = (steps[is_within] >= -slack).all() and (steps[~is_within] <= slack).all()
    return bool(grows and slack > 0.0 and point.time[-1] - point.time[0] >= 24.0 * _HOUR - 1.0)


def _differences(point: _Point, step: float) -> _Point:
    """Sums over the time between records [s]; the first record is dropped where its day began earlier."""
    day, hour = _hours(point)
    is_first = np.diff(day, prepend=day[0] - 1.0) != 0.0
    values = np.where(is_first, point.values, np.diff(point.values, prepend=0.0))
    if _HOUR * hour[0] <= step + 1.0:
        return replace(point, values=values)
    first, *others = point.records
    axis = replace(first.axis, seconds=first.axis.seconds[1:])
    first = replace(first, axis=axis, time=first.time[1:], values=first.values[1:])
    return replace(point, records=[first, *others], time=point.time[1:], values=values[1:])


def _above_air(time: np.ndarray, interval: float, sun: SolarPosition) -> np.ndarray:
    """Mean shortwave radiation at the top of the atmosphere [W m-2] over intervals [s] before given times."""
    moments = time[:, None] - interval * (np.arange(12) + 0.5) / 12.0
    cosine = np.asarray(sun.cosine_of_zenith(sun.at(jnp.asarray(moments))))
    return 1361.0 * np.maximum(cosine, 0.0).mean(axis=1)


def _can_hold(points: dict[str, _Point], interval: float, sun: SolarPosition) -> bool:
    """Whether the radiation is physically possible for an interval of accumulation [s].

    By day, some but not all of the radiation at the top of the atmosphere reaches the surface; the sky emits
    between half and all of the black-body radiation at the air temperature.
    """
    short, long, air = (points.get(key) for key in ("shortwave", "longwave", "air_temperature"))
    possible = True
    if short is not None and not short.is_mean:
        above = _above_air(short.time, interval, sun)
        share = short.values[above > 150.0] / (interval * above[above > 150.0])
        possible &= share.size == 0 or 0.35 <= share.max() <= 1.1
    if long is not None and air is not None and not long.is_mean:
        black = 5.67e-8 * np.interp(long.time, air.time, air.values) ** 4
        possible &= 0.45 <= np.median(long.values / (interval * black)) <= 1.15
    return bool(possible)


def _filled_by_sun(point: _Point, sun: SolarPosition) -> _Point:
    """Shortwave radiation at all hours, where records are farther apart than their interval of accumulation.

    In between, the fraction transmitted by the atmosphere is interpolated linearly.
    """
    if point.step <= point.interval + 1.0:
        return point
    time = np.arange(point.time[0], point.time[-1] + 1.0, point.interval)
    above = _above_air(point.time, point.interval, sun)
    known = above > 20.0
    if not known.any():
        return point
    share = np.interp(time, point.time[known], point.values[known] / above[known])
    return replace(point, time=time, values=share * _above_air(time, point.interval, sun))


def _check_dew_point(air: _Point, dew: _Point) -> None:
    """Check that the dew point does not exceed the air temperature, beyond errors of interpolation."""
    common, i, j = np.intersect1d(air.time, dew.time, return_indices=True)
    bad = np.flatnonzero(dew.values[j] > air.values[i] + 2.0)
    if bad.size:
        at = int(j[bad[0]])
        expected = f"a dew point below the temperature of the air, {air.values[i[bad[0]]]:g} K"
        raise dew.error(at, expected, f"{dew.values[at]:g} K", "check which variable is which")


def _check_shortwave(point: _Point, sun: SolarPosition) -> None:
    """Check shortwave radiation against that at the top of the atmosphere; also detects local time."""
    # The largest value in the interval, widened by a quarter of an hour on either side for the equation of
    # time.
    moments = point.time[:, None] + np.linspace(-point.interval - 0.25 * _HOUR, 0.25 * _HOUR, 7)
    cosine = np.asarray(sun.cosine_of_zenith(sun.at(jnp.asarray(moments))))
    most = _HOUR * (_SOLAR_CONSTANT * cosine.max(axis=1) + 20.0)
    bad = np.flatnonzero(point.values > most)
    if bad.size:
        at = int(bad[0])
        expected = f"at most {most[at]:g} J m-2, what the sun gives in that hour"
        advice = "check the longitude, that times are Universal Time, and that it is the sum of one hour"
        raise point.error(at, expected, f"{point.values[at]:g}", advice)


def _opened(sources: list[Source]) -> list[Source]:
    """Replace GRIB files among the sources by their datasets.

    Raises:
        FileFormatError: a GRIB file that cannot be read, or without cfgrib.
    """
    datasets = []
    for source in sources:
        if is_path(source) and first_bytes(existing_file(source), 4) == b"GRIB":
            datasets += _datasets(Path(source))
        else:
            datasets.append(source)
    return datasets


def _datasets(path: Path) -> list["xr.Dataset"]:
    try:
        cfgrib: Any = needed("cfgrib", "GRIB")  # untyped
    except MissingPackageError as error:  # also where ecCodes is missing
        expected, advice = "NetCDF, or the package cfgrib", f"{command_for('cfgrib')}, or download NetCDF"
        raise FileFormatError(
            path, "file", expected, f"GRIB without it ({error.__cause__})", advice
        ) from None
    # Write no index file: the folder may not be writable.
    datasets = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
    return [_over_time(dataset).assign_attrs(id=str(path)) for dataset in datasets]


def _over_time(dataset: "xr.Dataset") -> "xr.Dataset":
    """Make the valid time the only time dimension."""
    if "valid_time" not in dataset.variables:
        return dataset
    over = [dim for dim in ("time", "step") if dim in dataset.dims]
    times = np.asarray(dataset["valid_time"].transpose(*over).values).reshape(-1)
    if over:
        dataset = dataset.stack(moment=over, create_index=False)
    else:
        dataset = dataset.expand_dims("moment")
    dataset = dataset.drop_vars(["time", "step", "valid_time"], errors="ignore")
    dataset = dataset.assign_coords(valid_time=("moment", times)).swap_dims(moment="valid_time")
    # The last forecast of a file may be incomplete.
    return dataset.sortby("valid_time").dropna("valid_time", how="all")
