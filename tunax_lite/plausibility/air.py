"""Relations between quantities of the air, and between air, water and season."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from ..air_sea.air import saturation_vapour_pressure
from .evidence import DAY, Evidence, Samples
from .finding import Finding, rule

_STEFAN_BOLTZMANN = 5.67e-8


def _pair(evidence: Evidence, name: str) -> tuple[Samples, np.ndarray] | None:
    """A series of the weather and the air temperature at its times."""
    one, air = evidence.weather.get(name), evidence.weather.get("air_temperature")
    if one is None or air is None or one.values.shape != air.values.shape:
        return None
    return one, air.values


@rule
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


@rule
def humidity(evidence: Evidence) -> Iterator[Finding]:
    """Note specific humidity above saturation, or hardly any."""
    both, pressure = _pair(evidence, "specific_humidity"), evidence.weather.get("air_pressure")
    if both is None:
        return
    one, air = both
    level = 101325.0 if pressure is None else pressure.values
    vapour = one.values * level / (0.622 + 0.378 * one.values)
    relative = 100.0 * vapour / np.asarray(saturation_vapour_pressure(jnp.asarray(air)))
    middle, share = float(np.median(relative)), float(np.mean(relative > 115.0))
    if share > 0.2 or middle < 5.0 and relative.size > 1 or middle < 0.5:
        said = f"expected 20 to 100 % relative humidity, got {middle:.2g} %, above 115 % in {share:.0%}"
        yield one.finding("humidity", said, "kg kg-1 given as g kg-1, or another quantity", "`unit`")


@rule
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
        is_first, is_last = falls & ~np.append(False, falls[:-1]), falls & ~np.append(falls[1:], False)
        begins, ends = np.flatnonzero(is_first), np.flatnonzero(is_last)
        if begins.size and np.median(ends - begins) > 0.0:
            continue
        clock = one.time[begins + 1] % DAY
        away = np.abs((clock - np.median(clock) + 0.5 * DAY) % DAY - 0.5 * DAY) if begins.size else clock
        at_one_hour = begins.size >= 2 and np.mean(away <= one.interval) > 0.9
        if n_rises < max(6, 2 * begins.size) or not (at_one_hour or begins.size == 0 and n_rises > 12):
            continue
        again = "never again" if begins.size == 0 else f"starts again every day, {begins.size} times"
        after = one.values[1:][is_first & is_last]
        rate = (np.sum(np.maximum(steps, 0.0)) + np.sum(after)) / max(one.days * DAY / one.interval, 1.0)
        times = f", {one.mean / rate:.2g} times the sum of its rises" if rate > 0.0 else ""
        said = f"expected a rate that falls as often as it rises, got one that only rises and {again}{times}"
        key = "the difference between records, in its unit per time"
        yield one.finding("accumulated", said, "sums since midnight or since the start", key)


@rule
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


@rule
def longwave(evidence: Evidence) -> Iterator[Finding]:
    """Note longwave radiation that no sky emits at this air temperature."""
    both = _pair(evidence, "longwave")
    if both is None:
        return
    one, air = both
    mean = one.mean
    if evidence.net_longwave:
        if mean > 25.0 or mean < -250.0:
            said = f"expected net radiation of some -150 to 0 W m-2, got a mean of {mean:.4g}"
            cause, key = "downward radiation, or another unit", "`air_sea.longwave: downward`"
            if 0.0 < mean < 170.0:
                cause, key = "an upward flux", "`sign: -1`"
            yield one.finding("longwave", said, cause, key)
        return
    ratio = float(np.mean(one.values) / np.mean(_STEFAN_BOLTZMANN * (air + 273.15) ** 4))
    if not 0.5 <= ratio <= 1.08:
        said = f"expected downward radiation of 0.55 to 1 times sigma T^4 of the air, got {ratio:.2f}"
        cause = "an upward or net flux" if mean < 130.0 else "another unit"
        yield one.finding("longwave", said, cause, "`air_sea.longwave`, `sign: -1` or `unit`")
