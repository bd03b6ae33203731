"""Rules for input: the table of limits, and quantities that follow from two inputs.

A function of `Evidence` yields an `InputWarning` for each unlikely input, or `Samples` of a quantity that
follows from several inputs, such as the share of the sun above the atmosphere, for the table of limits.
"""

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gsw
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from .._types import InputWarning
from ..air_sea import SolarPosition
from ..air_sea.air import saturation_vapour_pressure
from .inputs import DAY, Evidence, Samples

STATISTICS: dict[str, Callable[[np.ndarray], Any]] = {
    "lowest": np.min,
    "highest": np.max,
    "largest": np.max,
    "mean": np.mean,
    "median": np.median,
    "80th percentile": lambda values: np.quantile(values, 0.8),
    "90th percentile": lambda values: np.quantile(values, 0.9),
    "95th percentile": lambda values: np.quantile(values, 0.95),
    "mean magnitude": lambda values: np.mean(np.abs(values)),
    "largest magnitude": lambda values: np.max(np.abs(values)),
}
"""Functions of all known values of an input."""
_SIZES = ("largest", "mean magnitude", "largest magnitude")
"""Statistics whose limits apply only if they are positive."""


def unlikely(rule: str, where: str, problem: str, cause: str, remedy: str) -> InputWarning:
    """Return the warning of a rule about an input `where`, with the likely cause and the remedy."""
    return InputWarning(f"{where}: {problem}: {cause}? {remedy}, or `accept: [{rule}]`", rule)


class Limit(NamedTuple):
    """A row of the table of limits: where it applies, its bounds, and the likely cause and remedy."""

    rule: str
    quantity: str
    group: str
    context: str
    statistic: str
    lowest: float
    highest: float
    least_days: float
    cause: str
    key: str

    def exceeded_by(self, samples: Samples) -> InputWarning | None:
        """Return a warning if the samples exceed the limit."""
        if samples.known.size == 0 or samples.days < self.least_days:
            return None
        value = float(STATISTICS[self.statistic](samples.known))
        if self.statistic in _SIZES and value <= 0.0 or self.lowest <= value <= self.highest:
            return None
        bound = f"at most {self.highest:g}" if value > self.highest else f"at least {self.lowest:g}"
        problem = f"expected a {self.statistic} value of {bound} {samples.unit}, got {value:.4g}"
        return unlikely(self.rule, samples.where, problem, self.cause, self.key)


def _read_limits() -> Iterator[Limit]:
    table = (Path(__file__).parents[1] / "plausible.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        lowest, highest = float(row.pop("lowest") or "-inf"), float(row.pop("highest") or "inf")
        yield Limit(lowest=lowest, highest=highest, least_days=float(row.pop("least_days")), **row)


LIMITS = tuple(_read_limits())
"""The table of limits."""


def limits(evidence: Evidence) -> Iterator[InputWarning]:
    """Compare each quantity with its limits, and warn of the first limit of a rule that an input exceeds."""
    water = "fresh" if evidence.is_fresh else "sea"
    groups = {
        "weather": [evidence.weather],
        "fluxes": [evidence.fluxes],
        "profiles": [evidence.initial, evidence.observed],
        "derived": [{one.quantity: one} for derive in _DERIVED for one in derive(evidence)],
    }
    noted = set[tuple[str, str]]()
    for limit in LIMITS:
        for group in groups[limit.group] if limit.context in ("any", water) else ():
            samples = group.get(limit.quantity)
            warning = None if samples is None else limit.exceeded_by(samples)
            if samples is not None and warning is not None and (limit.rule, samples.where) not in noted:
                noted.add((limit.rule, samples.where))
                yield warning


def _derived(
    one: Samples, quantity: str, values: ArrayLike, unit: str, time: ArrayLike | None = None
) -> Samples:
    """Build samples of a derived quantity under the name of an input, by default at its times."""
    time = one.time if time is None else np.asarray(time)
    return Samples(quantity, one.where, time, np.asarray(values), unit=unit)


# Air, and air and water.

_STEFAN_BOLTZMANN = 5.67e-8


def _with_air(evidence: Evidence, name: str) -> Iterator[tuple[Samples, np.ndarray]]:
    """Yield a series of the weather and the air temperature at its times, if both are known."""
    series, air = evidence.weather.get(name), evidence.weather.get("air_temperature")
    if series is not None and air is not None and series.values.shape == air.values.shape:
        yield series, air.values


def _dew_point_above_air(evidence: Evidence) -> Iterator[Samples]:
    for name in ("dew_point", "wet_bulb"):
        for series, air in _with_air(evidence, name):
            yield _derived(series, "dew_point_excess", series.values - air, "K above the air temperature")


def _relative_humidity(evidence: Evidence) -> Iterator[Samples]:
    pressure = evidence.weather.get("air_pressure")
    for specific, air in _with_air(evidence, "specific_humidity"):
        share = specific.values / (0.622 + 0.378 * specific.values)
        vapour = share * (101325.0 if pressure is None else pressure.values)
        relative = 100.0 * vapour / np.asarray(saturation_vapour_pressure(jnp.asarray(air)))
        yield _derived(specific, "humidity", relative, "% of saturation")


def _air_and_water(evidence: Evidence) -> Iterator[Samples]:
    air, water = evidence.weather.get("air_temperature"), evidence.surface_temperature()
    if air is not None and water is not None:
        start = max(float(air.time[0]), 0.0)
        early = (air.time >= start) & (air.time <= start + 20.0 * DAY)
        difference = float(np.mean(air.values[early])) - water
        if difference > 0.0 or water > 8.0:  # over cold water, air of -40 degC is winter
            yield _derived(air, "air_and_water", difference, f"K above the water of {water:.3g} degC")


def _longwave(evidence: Evidence) -> Iterator[Samples]:
    for series, air in _with_air(evidence, "longwave"):
        if evidence.net_longwave:
            yield _derived(series, "net_longwave", series.values, "W m-2 of net radiation")
        else:
            ratio = np.mean(series.values) / np.mean(_STEFAN_BOLTZMANN * (air + 273.15) ** 4)
            yield _derived(series, "downward_longwave", ratio, "of sigma T^4 of the air")


# The sun: shortwave radiation against its position, and against the heat flux.

_SOLAR_CONSTANT = 1361.0
_LEAST = 20.0
"""Mean radiation above the atmosphere [W m-2] below which it is too dark to compare."""


def top_of_atmosphere(
    time: np.ndarray, start: str, latitude: float, longitude: float, *, daily: bool = False
) -> np.ndarray:
    """Return shortwave radiation above the atmosphere [W m-2] at times [s], or its mean over their days."""
    sun = SolarPosition(start, latitude, longitude)
    hours = np.arange(-12.0, 12.0) * 3600.0 if daily else np.zeros(1)
    cosine = sun.cosine_of_zenith(sun.at(jnp.asarray(time[:, None] + hours)))
    return _SOLAR_CONSTANT * np.asarray(cosine).mean(axis=1)


def _light(evidence: Evidence) -> Iterator[tuple[Samples, tuple[str, float, float]]]:
    """Yield shortwave radiation that varies, with start, latitude and longitude if the case has them."""
    if evidence.start is None or evidence.latitude is None:
        return
    for group, name in ((evidence.weather, "shortwave"), (evidence.fluxes, "shortwave_flux")):
        light = group.get(name)
        if light is not None and light.time.size > 2 and light.days > 0.9 and light.varies:
            yield light, (evidence.start, evidence.latitude, evidence.longitude or 0.0)


def _daily(light: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of whole days and means over them; the records themselves if these are daily."""
    if light.interval > 0.6 * DAY:
        return light.time, light.values
    step = max(light.interval, 600.0)
    fine, per_day = np.arange(light.time[0], light.time[-1], step), round(DAY / step)
    days = np.s_[: fine.size // per_day * per_day]
    values = np.interp(fine, light.time, light.values)[days].reshape(-1, per_day)
    return fine[days].reshape(-1, per_day).mean(axis=1), values.mean(axis=1)


def _sun_amount(evidence: Evidence) -> Iterator[Samples]:
    for light, place in _light(evidence):
        time, received = _daily(light)
        above = top_of_atmosphere(time, *place, daily=True) if time.size else np.zeros(0)
        bright = above > 3.0 * _LEAST
        if bright.any():
            unit, share = "of the sun above the atmosphere", np.sum(received[bright]) / np.sum(above[bright])
            yield _derived(light, "sun_share", share, unit)
            yield _derived(light, "daily_sun_share", received[bright] / above[bright], unit, time[bright])


def _hours_from_sun(evidence: Evidence) -> Iterator[Samples]:
    """Yield the time by which radiation is ahead of the sun, if the shifted sun fits it much better."""
    for light, place in _light(evidence):
        if light.interval > 10800.0 or light.days < 1.5 or evidence.longitude is None:
            continue
        time, values = light.time[:40_000], np.maximum(light.values[:40_000], 0.0)
        above = top_of_atmosphere(time, *place)
        if np.sum(values) <= 0.0 or np.mean(above) < _LEAST or np.min(above) > 0.3 * np.max(above):
            continue
        lags = np.arange(-11.5, 12.5, 0.5)
        correlations = [_correlation(values, top_of_atmosphere(time + 3600.0 * lag, *place)) for lag in lags]
        best = int(np.argmax(correlations))
        if correlations[best] >= 0.6 and correlations[best] - _correlation(values, above) >= 0.12:
            yield _derived(light, "hours_from_sun", lags[best], f"h ahead of the sun at {place[2]:g} E")


def _correlation(values: np.ndarray, others: np.ndarray) -> float:
    return float(np.corrcoef(values, others)[0, 1]) if np.ptp(others) > 0.0 else 0.0


def _sun_counted_twice(evidence: Evidence) -> Iterator[Samples]:
    heat, light = evidence.fluxes.get("heat_flux"), evidence.fluxes.get("shortwave_flux")
    if heat is None or light is None or heat.values.size != light.values.size or heat.values.size < 12:
        return
    if heat.varies and light.varies and (correlation := _correlation(heat.values, light.values)) > 0.8:
        slope = correlation * float(np.std(heat.values) / np.std(light.values))
        yield _derived(heat, "sun_in_heat", slope, f"of the shortwave radiation (r = {correlation:.2f})")


def _heat_beside_sun(evidence: Evidence) -> Iterator[Samples]:
    heat, light = evidence.fluxes.get("heat_flux"), evidence.fluxes.get("shortwave_flux")
    if heat is not None and light is not None and light.mean >= 60.0:
        # A constant holds for ever, so that it is long enough for every limit.
        time = np.array([0.0, np.inf]) if heat.time.size == 1 else heat.time
        unit = f"W m-2 with {light.mean:.3g} W m-2 of shortwave radiation"
        yield _derived(heat, "heat_beside_sun", heat.values, unit, time)


# The place: rotation against latitude, and instruments against the site.

TWICE_ROTATION = 1.4584e-4
"""Twice the rotation of the Earth [s-1]."""
_FARTHEST = 300.0
"""Distance of an instrument from the site [km] from which on it is unlikely; floats drift."""


def coriolis_parameter(evidence: Evidence) -> Iterator[InputWarning]:
    """Warn of a Coriolis parameter that differs from that at the latitude."""
    f, latitude, name = evidence.coriolis_parameter, evidence.latitude, "coriolis_parameter"
    if f == 0.0 or latitude is None:
        return
    expected = TWICE_ROTATION * float(np.sin(np.deg2rad(latitude)))
    if abs(f - expected) > 0.06 * abs(expected) + 2e-6:
        problem = f"expected {expected:.4g} s-1 at {latitude:g} N, got {f:.4g} s-1"
        yield unlikely(name, name, problem, "the other hemisphere, another place or unit", "`latitude`")


def distance_of(latitude: ArrayLike, longitude: ArrayLike, site: tuple[float, float]) -> np.ndarray:
    """Return the distance of positions from a site [km], on a sphere."""
    a, b, c = np.deg2rad(latitude), np.deg2rad(site[0]), np.deg2rad(site[1] - np.asarray(longitude))
    h = np.sin((b - a) / 2.0) ** 2 + np.cos(a) * np.cos(b) * np.sin(c / 2.0) ** 2
    return np.asarray(2.0 * 6371.0 * np.arcsin(np.sqrt(np.minimum(1.0, h))))


def far_away(
    where: str, places: Iterable[tuple[float, float]], site: tuple[float, float]
) -> Iterator[InputWarning]:
    """Warn if the nearest instrument is far from the site; places are latitude and longitude [degrees]."""
    latitude, longitude = min(places, key=lambda place: distance_of(*place, site))
    distance = distance_of(latitude, longitude, site)
    if not distance >= _FARTHEST:
        return
    cause = "a file of another place, or latitude and longitude swapped or of the wrong sign"
    problem = f"an instrument at {latitude:.4g} N {longitude:.4g} E, {distance:.0f} km from the site"
    yield unlikely("position", where, problem, cause, "`latitude` and `longitude`")


# The water: upside down, swapped, or one variable for two.


def _unstable_profiles(evidence: Evidence) -> Iterator[Samples]:
    """Yield the share of the first 400 profiles whose density decreases downward nearly everywhere."""
    for group in (evidence.initial, evidence.observed):
        warmth, salt = group.get("temperature"), group.get("salinity")
        if warmth is None or salt is None or warmth.z is None or warmth.values.shape != salt.values.shape:
            continue
        is_upside_down = []
        for rho in gsw.rho(salt.values[:400], warmth.values[:400], 0.0):
            known = rho[np.isfinite(rho)]
            if known.size >= 3:
                steps = np.diff(known)
                is_reversed = np.maximum(steps, 0.0).sum() > -4.0 * np.minimum(steps, 0.0).sum()
                is_upside_down.append(is_reversed and known[-1] - known[0] > 0.05)
        if is_upside_down:
            yield _derived(warmth, "upside_down", np.mean(is_upside_down), "of the profiles lighter below")


def water_swapped(evidence: Evidence) -> Iterator[InputWarning]:
    """Warn of temperature and salinity with each other's values."""
    for group in (evidence.initial, evidence.observed):
        warmth, salt = group.get("temperature"), group.get("salinity")
        if warmth is None or salt is None or not salt.known.size or not warmth.known.size:
            continue
        t, s = warmth.known, salt.known
        like_salinity = np.median(t) > 30.5 and np.ptp(np.quantile(t, (0.05, 0.95))) < 4.0
        if like_salinity and np.quantile(t, 0.95) < 42.0 and np.median(s) < 30.5:
            problem = f"expected sea water, got {np.median(t):.3g} degC with {np.median(s):.3g} g kg-1"
            yield unlikely("water_swapped", warmth.where, problem, "the two are swapped", "the variables")


def currents_swapped(evidence: Evidence) -> Iterator[InputWarning]:
    """Warn of two components with the same values."""
    for group, name, other in (
        (evidence.observed, "u", "v"),
        (evidence.weather, "wind_u", "wind_v"),
        (evidence.fluxes, "stress_u", "stress_v"),
    ):
        u, v = group.get(name), group.get(other)
        if u is not None and v is not None and u.varies and u.known.size > 5:
            if np.array_equal(u.values, v.values, equal_nan=True):
                problem = f"expected another component than {name}, got the same values"
                yield unlikely("currents_swapped", v.where, problem, "one variable for both", "its name")


_DERIVED = (
    _dew_point_above_air, _relative_humidity, _air_and_water, _longwave, _sun_amount, _hours_from_sun,
    _sun_counted_twice, _heat_beside_sun, _unstable_profiles,
)  # fmt: skip
"""Functions that yield samples for the table of limits."""


# Missing codes: numbers that mark a missing value of any quantity.

_CODES = (99999.0, 32767.0, 9999.0, 999.9, 999.0, 99.99, 99.9, 99.0, 9.99)
"""Codes of missing values, of either sign; zero is another."""
_OFTEN_ZERO = ("wind_u", "wind_v", "u", "v", "precipitation", "shortwave", "cloud_cover", "wind_speed")
"""Quantities of which zero is a measured value, like all surface fluxes."""


def codes_in(values: np.ndarray, quantity: str) -> tuple[float, int] | None:
    """Return a missing code that occurs among values far from it, and how often; `None` without one."""
    is_often_zero = quantity in _OFTEN_ZERO or quantity.startswith("surface_")
    for code in (*_CODES, *(-code for code in _CODES), *(() if is_often_zero else (0.0,))):
        is_code = np.abs(values - code) <= 1e-6 * max(abs(code), 1e-3)
        n, others = int(is_code.sum()), values[~is_code]
        if 0 < n <= 0.5 * values.size and others.size >= 3:
            gap = max(np.min(others) - code, code - np.max(others))
            if gap > max(0.6 * (np.quantile(others, 0.99) - np.quantile(others, 0.01)), 1e-9):
                return code, n
    return None


def missing_code(evidence: Evidence) -> Iterator[InputWarning]:
    """Warn of a number such as -9.99, 0, 99 or 9999 among values far from it."""
    for samples in evidence.everything():
        for values in itertools.islice(samples.columns(), 400 if samples.quantity != "stress" else 0):
            if (code := codes_in(values, samples.quantity)) is not None:
                problem = f"expected measured values, got {code[0]:g} in {code[1]} of {values.size} records"
                remedy = "mark it as missing in the file (`_FillValue`, an empty cell)"
                yield unlikely("missing_code", samples.where, problem, "a code for missing values", remedy)
                break
