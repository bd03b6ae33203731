"""Relations between quantities of the air, and between air, water and season."""

from collections.abc import Iterator

import numpy as np

from .evidence import DAY, Evidence, Samples
from .finding import Finding, rule
from .sun import top_of_atmosphere

_STEFAN_BOLTZMANN = 5.67e-8


def saturation(temperature: np.ndarray) -> np.ndarray:
    """Vapour pressure [Pa] over water at a temperature [degC]; Magnus, with constants of Alduchov and
    Eskridge (1996), J. Appl. Meteorol. 35, 601-609."""
    return 610.94 * np.exp(17.625 * temperature / np.maximum(temperature + 243.04, 1.0))


def _pair(evidence: Evidence, name: str) -> tuple[Samples, np.ndarray] | None:
    """A series of the weather and the air temperature at its times."""
    one, air = evidence.weather.get(name), evidence.weather.get("air_temperature")
    if one is None or air is None or one.values.shape != air.values.shape:
        return None
    return one, air.values


@rule("dew_point_above_air")
def dew_point_above_air(evidence: Evidence) -> Iterator[Finding]:
    """Note a dew point or wet bulb warmer than the air."""
    for name in ("dew_point", "wet_bulb"):
        both = _pair(evidence, name)
        if both is None:
            continue
        excess = both[0].values - both[1]
        share = float(np.mean(excess > 1.0))
        if share > 0.1 or np.max(excess) > 8.0:
            said = (
                f"expected at most the air temperature, got up to {np.max(excess):.3g} K more in {share:.0%}"
            )
            cause = "the columns of the two are swapped, or one of them in another unit or at another time"
            yield both[0].finding("dew_point_above_air", said, cause, "the variable")


@rule("humidity")
def humidity(evidence: Evidence) -> Iterator[Finding]:
    """Note air above saturation, or without vapour."""
    both, pressure = _pair(evidence, "specific_humidity"), evidence.weather.get("air_pressure")
    if both is not None:
        level = 101325.0 if pressure is None else pressure.values
        relative = 100.0 * both[0].values * level / (0.622 + 0.378 * both[0].values) / saturation(both[1])
        yield from _relative(both[0], relative)
    both = _pair(evidence, "dew_point")
    if both is not None:
        relative = 100.0 * saturation(both[0].values) / saturation(both[1])
        if np.mean(relative) < 10.0:
            yield from _relative(both[0], relative)
    one = evidence.weather.get("relative_humidity")
    if one is not None and one.known.size and np.mean(one.known > 101.0) > 0.2:
        said = f"expected at most 100 %, got more in {np.mean(one.known > 101.0):.0%}"
        yield one.finding("humidity", said, "another quantity, or a calibration", "factor")


def _relative(one: Samples, relative: np.ndarray) -> Iterator[Finding]:
    middle, share = float(np.median(relative)), float(np.mean(relative > 115.0))
    if share > 0.2 or np.max(relative) > 250.0 and relative.size < 1e4:
        said = f"expected air of at most 100 % relative humidity, got up to {np.max(relative):.0f} %"
        said += f", above 115 % in {share:.0%}"
        yield one.finding("humidity", said, "a unit, or another quantity", "`unit`")
    elif middle < 5.0 and relative.size > 1 or middle < 0.5:
        said = f"expected air of some 20 to 100 % relative humidity, got {middle:.2g} %"
        yield one.finding("humidity", said, "kg kg-1 given as g kg-1", "`unit`")


@rule("cloud_cover_steps")
def cloud_cover_steps(evidence: Evidence) -> Iterator[Finding]:
    """Note cloud cover that ends at 8 tenths."""
    one = evidence.weather.get("cloud_cover")
    if one is None or one.known.size < 100 or one.days < 10.0:
        return
    top = float(np.max(one.known))
    tenths = np.abs(10.0 * one.known - np.round(10.0 * one.known)) < 1e-6
    if abs(top - 0.8) < 1e-6 and np.mean(one.known > 0.8 - 1e-6) > 0.05 and tenths.all():
        said = "expected some overcast sky, got at most 0.8, in steps of 0.1"
        yield one.finding("cloud_cover_steps", said, "oktas given as tenths", "factor")


@rule("accumulated")
def accumulated(evidence: Evidence) -> Iterator[Finding]:
    """Note rain or radiation that only rises, and starts again each day or never."""
    for group, name in (
        (evidence.weather, "precipitation"),
        (evidence.weather, "shortwave"),
        (evidence.weather, "longwave"),
        (evidence.fluxes, "shortwave_flux"),
        (evidence.fluxes, "freshwater_flux"),
    ):
        one = group.get(name)
        if one is None or one.interval > 0.25 * DAY or one.days < 2.0 or not np.isfinite(one.values).all():
            continue
        steps = np.diff(one.values)
        n_rises, falls = int(np.sum(steps > 0.0)), steps < 0.0
        # Sums fall in one step, a bridged gap in many.
        begins = np.flatnonzero(falls & ~np.append(False, falls[:-1]))
        ends = np.flatnonzero(falls & ~np.append(falls[1:], False))
        if begins.size and np.median(ends - begins) > 0.0:
            continue
        clock = one.time[begins + 1] % DAY
        away = np.abs((clock - np.median(clock) + 0.5 * DAY) % DAY - 0.5 * DAY) if begins.size else clock
        at_one_hour = begins.size >= 2 and np.mean(away <= one.interval) > 0.9
        if n_rises < max(6, 2 * begins.size) or not (at_one_hour or begins.size == 0 and n_rises > 12):
            continue
        again = "never again" if begins.size == 0 else f"starts again every day, {begins.size} times"
        after = one.values[1:][falls & ~np.append(falls[1:], False) & ~np.append(False, falls[:-1])]
        rate = (np.sum(np.maximum(steps, 0.0)) + np.sum(after)) / max(one.days * DAY / one.interval, 1.0)
        times = f", {one.mean / rate:.2g} times the sum of its rises" if rate > 0.0 else ""
        said = f"expected a rate that falls as often as it rises, got one that only rises and {again}{times}"
        key = "the difference between records, in its unit per time"
        yield one.finding("accumulated", said, "sums since midnight or since the start", key)


@rule("air_and_water")
def air_and_water(evidence: Evidence) -> Iterator[Finding]:
    """Note air much warmer or colder than the water."""
    one, water = evidence.weather.get("air_temperature"), evidence.surface_temperature()
    if one is None or water is None:
        return
    start = max(float(one.time[0]), 0.0)
    early = one.values[(one.time >= start) & (one.time <= start + 20.0 * DAY)]
    if not early.size:
        return
    difference = float(np.mean(early)) - water
    if difference > 15.0 or difference < -15.0 and water > 8.0:
        said = (
            f"expected air within 15 K of the water, {water:.3g} degC at the surface, got {difference:+.3g} K"
        )
        cause = "a unit, or water or air of another place or season"
        yield one.finding("air_and_water", said, cause, "`unit` or `start_time`")


@rule("warm_nights")
def warm_nights(evidence: Evidence) -> Iterator[Finding]:
    """Note air that is warmest at night."""
    one = evidence.weather.get("air_temperature")
    if one is None or one.interval > 10800.0 or one.days < 20.0:
        return
    if evidence.start is None or evidence.longitude is None:
        return
    midnight = evidence.start.replace(hour=0, minute=0, second=0, microsecond=0)
    seconds = one.time + (evidence.start - midnight).total_seconds() + 240.0 * evidence.longitude
    turn = np.exp(-2j * np.pi * seconds / DAY)
    there = np.isfinite(one.values)
    # By day, so that the weather and the season do not matter.
    anomaly = one.values - np.interp(one.time, *_means(one.time[there], one.values[there]))
    wave = 2.0 * np.mean((anomaly * turn)[there])
    warmest = float(-np.angle(wave) / (2.0 * np.pi) * 24.0 % 24.0)
    if np.abs(wave) > 0.7 and not 9.0 <= warmest <= 20.5:
        said = f"expected the warmest air in the afternoon, got it at {warmest:.0f} h local solar time"
        said += f", by {2.0 * np.abs(wave):.2g} K over a day"
        cause = "local instead of universal time, or a longitude of the other sign"
        yield one.finding("warm_nights", said, cause, "`start_time` or `longitude`")


def _means(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle of days, and means over them."""
    day = np.floor((time - time[0]) / DAY).astype(int)
    n = np.maximum(np.bincount(day), 1)
    there = np.bincount(day) > 0
    return (np.bincount(day, time) / n)[there], (np.bincount(day, values) / n)[there]


@rule("wind_direction")
def wind_direction(evidence: Evidence) -> Iterator[Finding]:
    """Note a speed and a direction in radians given as components."""
    u, v = (evidence.weather.get(name) for name in ("wind_u", "wind_v"))
    if u is None or v is None or u.days < 5.0 or u.known.size < 50 or v.known.size < 50:
        return
    low, high = float(v.known.min()), float(v.known.max())
    if u.known.min() >= 0.0 and 0.0 <= low < 0.6 and 5.6 < high < 2.0 * np.pi + 1e-3:
        said = f"expected components of both signs, got u of at least {u.known.min():.2g} m s-1"
        said += f" and v from {low:.2g} to {high:.4g} m s-1"
        cause = "speed, and direction in radians"
        yield v.finding("wind_direction", said, cause, "`wind_speed` and `wind_direction`")


@rule("season")
def season(evidence: Evidence) -> Iterator[Finding]:
    """Note a warm season in the winter of the latitude."""
    one = evidence.weather.get("air_temperature")
    if one is None or one.days < 300.0 or evidence.start is None or evidence.latitude is None:
        return
    if abs(evidence.latitude) < 20.0:
        return
    days = np.arange(one.time[0] / DAY, one.time[-1] / DAY, 5.0) * DAY
    # The air follows the sun by a month.
    sun = top_of_atmosphere(days - 30.0 * DAY, evidence, daily=True)
    air = np.interp(days, one.time, one.values)
    together = float(np.corrcoef(sun, air)[0, 1])
    if together < -0.4:
        said = f"expected warm air in summer at {evidence.latitude:g} N, got a correlation of {together:.2f} "
        said += "with the sun a month before"
        cause = "a latitude of the other hemisphere, or times half a year off"
        yield one.finding("season", said, cause, "`latitude` or `start_time`")


@rule("longwave")
def longwave(evidence: Evidence) -> Iterator[Finding]:
    """Note longwave radiation that no sky emits at this air temperature."""
    both = _pair(evidence, "longwave")
    if both is None:
        return
    one, air = both
    mean = one.mean
    emission = _STEFAN_BOLTZMANN * (air + 273.15) ** 4
    if evidence.net_longwave:
        if 0.0 < abs(mean) < 2.0 and one.days > 2.0:
            said = f"expected net radiation of some -150 to 0 W m-2, got a mean of {mean:.3g}"
            yield one.finding("longwave", said, "kW m-2, or K m s-1", "`unit`")
        if mean > 25.0 or mean < -250.0:
            said = f"expected net radiation of some -150 to 0 W m-2, got a mean of {mean:.4g}"
            cause = "an upward flux" if 0.0 < mean < 170.0 else "downward radiation, or another unit"
            key = "`sign: -1`" if 0.0 < mean < 170.0 else "`air_sea.longwave: downward`"
            yield one.finding("longwave", said, cause, key)
        return
    ratio = float(np.mean(one.values) / np.mean(emission))
    extreme = np.quantile(one.values / emission, (0.002, 0.998))
    if 0.5 <= ratio <= 1.08 and extreme[0] > 0.3 and extreme[1] < 1.4:
        return
    said = "expected downward radiation of 0.55 to 1 times sigma T^4 of the air, got "
    said += f"{ratio:.2f} in the mean, from {extreme[0]:.2f} to {extreme[1]:.2f}"
    cause = "another unit"
    if mean < 0.0:
        cause = "an upward or net flux" if mean > -150.0 else "an upward flux"
    elif mean < 130.0:
        cause = "net radiation"
    yield one.finding("longwave", said, cause, "`air_sea.longwave`, `sign: -1` or `unit`")
