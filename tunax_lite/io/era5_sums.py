"""Parameters of ERA5 at a place: units, intervals of accumulation, and valid ranges."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np

from .._types import JSON
from ..air_sea import SolarPosition
from ..quantities import quantity_of
from .axes import Record
from .errors import FileFormatError, check_names
from .units import Conversion, Conversions, as_conversion

HOUR = 3600.0
_SOLAR_CONSTANT = 1361.0 * 1.035  # [W m-2], at perihelion
_LONGEST_STEP = 6.0 * HOUR
"""Between records: of what changes with the day, more is not known from fewer."""
_MEANS = {"J m**-2": "W m-2", "N m**-2 s": "N m-2", "m": "kg m-2 s-1", "m of water equivalent": "kg m-2 s-1"}
_PLAIN = {"(0 - 1)": "1", "m of water equivalent": "m"}
"""Units of means, and of others that are words."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of ERA5: its names, unit and possible range.

    Means over the interval before the time stamp carry the same information as sums: `means` lists their
    names, and `rate` converts a mean to the sum over one hour in the unit of the sums.
    """

    names: list[str]
    units: list[str]
    possible: tuple[float, float]
    download: str
    means: list[str] = field(default_factory=list)
    rate: float = HOUR
    accumulated: bool = False
    rounding: float = 0.0
    hint: str = "check the unit"
    zero: float = 0.0
    conversion: Conversion = Conversion()

    def unit(self, is_mean: bool) -> str:
        """The unit in which files have it, as means or otherwise."""
        first = self.units[0]
        return _MEANS[first] if is_mean else _PLAIN.get(first, first)

    def scaled(self, values: np.ndarray, is_mean: bool) -> np.ndarray:
        """Values in ERA5's unit, after factor and sign, which act in that of the package."""
        how = self.conversion
        scale, offset = replace(how, offset=0.0).linear_to(self.unit(is_mean), self.unit(is_mean))
        zero = self.zero * (1.0 - how.sign * how.factor)
        return values if (scale, offset + zero) == (1.0, 0.0) else scale * values + (offset + zero)


def with_conversions(parameters: dict[str, Parameter], units: Conversions) -> dict[str, Parameter]:
    """Parameters with what the user says about them, by the same keys."""
    check_names("units", units, parameters)
    return {key: replace(one, conversion=as_conversion(units.get(key))) for key, one in parameters.items()}


def parameters_of(known: Mapping[str, dict[str, JSON]]) -> dict[str, Parameter]:
    """The parameters of ERA5 in a table of `names.yaml`, by key."""
    found = {}
    for key, one in known.items():
        low, high = quantity_of(one["quantity"]).possible if "quantity" in one else one["possible"]
        zero = one.get("zero", 0.0)
        others = {key: value for key, value in one.items() if key not in ("quantity", "possible")}
        found[key] = Parameter(possible=(low + zero, high + zero), **others)
    return found


@dataclass(frozen=True)
class Point:
    """One parameter at the position: records in file order, their times, and values.

    Accumulated values are sums over one hour, from an interval [s] before the time stamp; others are
    instantaneous.
    """

    records: list[Record]
    time: np.ndarray
    values: np.ndarray
    interval: float = 0.0

    def error(self, at: int, expected: str, got: str, advice: str, when: str = "at") -> FileFormatError:
        """The error for a value, with its file and date."""
        for record in self.records:
            if at < record.time.size:
                got = f"{got} {when} {record.axis.describe(at)}"
                return record.variable.error(expected, got, advice)
            at -= record.time.size
        raise IndexError(at)

    def is_mean(self, parameter: Parameter) -> bool:
        """Whether values are means, not sums."""
        return self.records[0].variable.name in parameter.means

    def scaled(self, parameter: Parameter) -> "Point":
        """The same in ERA5's unit, as the user says; the offset follows once sums are those of an hour."""
        try:
            return replace(self, values=parameter.scaled(self.values, self.is_mean(parameter)))
        except ValueError:
            wanted = parameter.unit(self.is_mean(parameter))
            expected, got = f"a unit that converts to {wanted}", f"'{parameter.conversion.unit}'"
            raise self.records[0].variable.error(expected, got, "correct it (units)") from None

    @property
    def step(self) -> float:
        """The shortest time between two records [s]."""
        return float(np.min(np.diff(self.time), initial=np.inf))

    def checked(self, parameter: Parameter, interval: float, longest: float) -> "Point":
        """The same in ERA5's unit and within its range; records may be `longest` [s] apart."""
        values, variable, is_mean = self.values, self.records[0].variable, self.is_mean(parameter)
        for record in self.records:
            unit = record.variable.attrs.get("units")
            known = is_mean or parameter.conversion.unit is not None
            if unit is not None and unit not in parameter.units and not known:
                expected = f"the unit {parameter.units[0]}"
                raise record.variable.error(expected, f"'{unit}'", "use the file as it was downloaded")
        if self.time.size < 2:
            raise variable.error("at least two records", self.time.size, "add more hours")
        steps = np.diff(self.time)
        odd = np.flatnonzero((np.abs(steps - self.step) > 1.0) | (steps > longest + 1.0))
        if odd.size:
            expected = f"a record every {self.step:g} s"
            if self.step > longest:
                expected = f"a record at least every {longest:g} s"
            got, advice = f"a gap of {steps[odd[0]]:g} s", "download all hours"
            raise self.error(int(odd[0]), expected, got, advice, "after")
        if parameter.accumulated:
            values = values * (parameter.rate if is_mean else HOUR / interval)
        if (how := parameter.conversion).offset:
            values = values + how.sign * how.offset * (HOUR if parameter.accumulated else 1.0)
        (low, high), slack = parameter.possible, parameter.rounding
        bad = np.flatnonzero(~((values >= low - slack) & (values <= high + slack)))
        if bad.size:
            expected = f"values from {low:g} to {high:g}"
            raise self.error(int(bad[0]), expected, f"{values[bad[0]]:g}", parameter.hint)
        interval = interval if parameter.accumulated else 0.0
        return replace(self, values=np.clip(values, low, high), interval=interval)


def checked(
    found: dict[str, Point],
    parameters: dict[str, Parameter],
    accumulation: float | None,
    sun: SolarPosition,
) -> dict[str, Point]:
    """All parameters, each with its interval of accumulation."""
    found = {key: one.scaled(parameters[key]) for key, one in found.items()}
    if accumulation is not None and not accumulation > 0.0:
        raise ValueError(f"accumulation: expected a time [s] above 0, got {accumulation:g}.")
    if accumulation is None:
        found, accumulation = _within_days(found, parameters)
    longest = _LONGEST_STEP if accumulation is None else np.inf
    sums = {key: one for key, one in found.items() if parameters[key].accumulated}
    interval, step = accumulation or HOUR, min((one.step for one in sums.values()), default=np.inf)
    if accumulation is None and HOUR + 1.0 < step <= longest + 1.0:
        held = [time for time in (HOUR, step) if _can_hold(found, parameters, time, sun)]
        records = [one for point in sums.values() for one in point.records]
        members = {one.variable.attrs.get("GRIB_totalNumber") for one in records} - {None}
        if len(held) != 1 and len(members) != 1:
            one = next(iter(sums.values()))
            expected = (
                f"sums over one hour or over {step:g} s, as the sun and the temperature of the air tell"
            )
            advice = f"say over what time they are summed (accumulation, such as {step:g})"
            raise one.error(0, expected, "what may be either" if held else "neither", advice, "from")
        interval = held[0] if len(held) == 1 else step if members.pop() else HOUR
    found = {key: one.checked(parameters[key], interval, longest) for key, one in found.items()}
    if "humidity" in found:
        _check_dew_point(found["air_temperature"], found["humidity"])
    if "shortwave" in found:
        _check_shortwave(found["shortwave"], sun)
        found["shortwave"] = _filled_by_sun(found["shortwave"], sun)
    return found


def _within_days(
    found: dict[str, Point], parameters: dict[str, Parameter]
) -> tuple[dict[str, Point], float | None]:
    """Convert sums since midnight (universal time, as in ERA5-Land) to sums between records [s].

    Radiation identifies them: it grows throughout the day, and the longwave sum of an evening hour is not
    twice that of a night hour. Other parameters are returned unchanged, with `None`.
    """
    sums = {
        key: one
        for key, one in found.items()
        if parameters[key].accumulated and not one.is_mean(parameters[key])
    }
    told = [sums[key] for key in ("shortwave", "longwave") if key in sums]
    step = min((one.step for one in sums.values()), default=np.inf)
    if not told or not all(_grows_all_day(one) for one in told) or step > _LONGEST_STEP + 1.0:
        return found, None
    if "longwave" in sums:
        hour, size = _hours(sums["longwave"])[1], np.abs(sums["longwave"].values)
        evening, night = size[hour >= 18.0], size[hour <= 6.0]
        if not (evening.size and night.size and np.median(evening) >= 2.0 * np.median(night)):
            return found, None
    return found | {key: _differences(one, step) for key, one in sums.items()}, step


def _hours(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Days and hours of the day of the time stamps; midnight is the end of a day."""
    clock = np.concatenate([one.axis.since("1970-01-01") for one in point.records]) / HOUR
    day = np.ceil(clock / 24.0 - 1e-6) - 1.0
    return day, clock - 24.0 * day


def _grows_all_day(point: Point) -> bool:
    size, day = np.abs(point.values), _hours(point)[0]
    steps, is_within, slack = np.diff(size), np.diff(day) == 0.0, 1e-6 * np.max(size, initial=0.0)
    grows = (steps[is_within] >= -slack).all() and (steps[~is_within] <= slack).all()
    return bool(grows and slack > 0.0 and point.time[-1] - point.time[0] >= 24.0 * HOUR - 1.0)


def _differences(point: Point, step: float) -> Point:
    """Sums over the time between records [s]; the first record is dropped where its day began earlier."""
    day, hour = _hours(point)
    is_first = np.diff(day, prepend=day[0] - 1.0) != 0.0
    values = np.where(is_first, point.values, np.diff(point.values, prepend=0.0))
    if HOUR * hour[0] <= step + 1.0:
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


def _can_hold(
    found: dict[str, Point], parameters: dict[str, Parameter], interval: float, sun: SolarPosition
) -> bool:
    """Whether the radiation is physically possible for an interval of accumulation [s].

    By day, some but not all of the radiation at the top of the atmosphere reaches the surface; the sky emits
    between half and all of the black-body radiation at the air temperature.
    """
    short, long, air = (found.get(key) for key in ("shortwave", "longwave", "air_temperature"))
    possible = True
    if short is not None and not short.is_mean(parameters["shortwave"]):
        above = _above_air(short.time, interval, sun)
        share = short.values[above > 150.0] / (interval * above[above > 150.0])
        possible &= share.size == 0 or 0.35 <= share.max() <= 1.1
    if long is not None and air is not None and not long.is_mean(parameters["longwave"]):
        black = 5.67e-8 * np.interp(long.time, air.time, air.values) ** 4
        possible &= 0.45 <= np.median(long.values / (interval * black)) <= 1.15
    return bool(possible)


def _filled_by_sun(point: Point, sun: SolarPosition) -> Point:
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


def _check_dew_point(air: Point, dew: Point) -> None:
    """Check that the dew point does not exceed the air temperature, beyond errors of interpolation."""
    common, i, j = np.intersect1d(air.time, dew.time, return_indices=True)
    bad = np.flatnonzero(dew.values[j] > air.values[i] + 2.0)
    if bad.size:
        at = int(j[bad[0]])
        expected = f"a dew point below the temperature of the air, {air.values[i[bad[0]]]:g} K"
        raise dew.error(at, expected, f"{dew.values[at]:g} K", "check which variable is which")


def _check_shortwave(point: Point, sun: SolarPosition) -> None:
    """Check shortwave radiation against that at the top of the atmosphere; also detects local time."""
    # The largest value in the interval, widened by a quarter of an hour on either side for the equation of
    # time.
    moments = point.time[:, None] + np.linspace(-point.interval - 0.25 * HOUR, 0.25 * HOUR, 7)
    cosine = np.asarray(sun.cosine_of_zenith(sun.at(jnp.asarray(moments))))
    most = HOUR * (_SOLAR_CONSTANT * cosine.max(axis=1) + 20.0)
    bad = np.flatnonzero(point.values > most)
    if bad.size:
        at = int(bad[0])
        expected = f"at most {most[at]:g} J m-2, what the sun gives in that hour"
        advice = "check the longitude, that times are Universal Time, and that it is the sum of one hour"
        raise point.error(at, expected, f"{point.values[at]:g}", advice)
