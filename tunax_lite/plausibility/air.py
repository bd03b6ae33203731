"""Relations between quantities of the air, and between air, water and season."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from ..air_sea.air import saturation_vapour_pressure
from .finding import Finding, rule
from .inputs import DAY, Evidence, Samples

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
