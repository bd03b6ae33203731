"""Shortwave radiation against the position of the sun.

The sun above the atmosphere is that of `air_sea.SolarPosition` in numpy, with the equation of time:
declination and equation of time of Spencer (1971), Search 2, 172.
"""

from collections.abc import Iterator

import numpy as np

from .evidence import DAY, Evidence, Samples
from .finding import Finding, rule

_SOLAR_CONSTANT = 1361.0
_LEAST = 20.0
"""Daily mean above the atmosphere [W m-2] below which there is no sun to speak of."""


def cosine_of_zenith(time: np.ndarray, evidence: Evidence) -> np.ndarray:
    """Cosine of the solar zenith angle at times [s], negative at night."""
    return _sun(time, evidence, daily=False)[0]


def top_of_atmosphere(time: np.ndarray, evidence: Evidence, *, daily: bool = False) -> np.ndarray:
    """Shortwave radiation above the atmosphere [W m-2] at times [s], or its mean over their days."""
    cosine, distance = _sun(time, evidence, daily=daily)
    return _SOLAR_CONSTANT * distance * np.maximum(cosine, 0.0)


def _sun(time: np.ndarray, evidence: Evidence, *, daily: bool) -> tuple[np.ndarray, np.ndarray]:
    """Cosine of the zenith angle, or its mean over the day, and the squared distance ratio."""
    assert evidence.start is not None and evidence.latitude is not None
    since = evidence.start - evidence.start.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    seconds = np.asarray(time) + since.total_seconds()
    angle = 2.0 * np.pi * seconds / (365.2425 * DAY)
    declination = (
        0.006918 - 0.399912 * np.cos(angle) + 0.070257 * np.sin(angle)
        - 0.006758 * np.cos(2.0 * angle) + 0.000907 * np.sin(2.0 * angle)
    )  # fmt: skip
    distance = 1.00011 + 0.034221 * np.cos(angle) + 0.00128 * np.sin(angle)
    latitude = np.deg2rad(evidence.latitude)
    polar, equatorial = np.sin(latitude) * np.sin(declination), np.cos(latitude) * np.cos(declination)
    if daily:
        half = np.arccos(np.clip(-polar / np.maximum(equatorial, 1e-9), -1.0, 1.0))
        mean = (half * polar + equatorial * np.sin(half)) / np.pi
    else:
        minutes = 229.18 * (
            0.000075 + 0.001868 * np.cos(angle) - 0.032077 * np.sin(angle)
            - 0.014615 * np.cos(2.0 * angle) - 0.040849 * np.sin(2.0 * angle)
        )  # fmt: skip
        hour = (seconds % DAY) / 3600.0 + minutes / 60.0 + (evidence.longitude or 0.0) / 15.0
        mean = polar + equatorial * np.cos(np.pi * (hour - 12.0) / 12.0)
    return mean, distance


def _light(evidence: Evidence) -> Iterator[Samples]:
    """Series of shortwave radiation with a date and a place; idealised ones have neither."""
    if evidence.start is None or evidence.latitude is None:
        return
    for group, name in ((evidence.weather, "shortwave"), (evidence.fluxes, "shortwave_flux")):
        one = group.get(name)
        if one is not None and one.time.size > 2 and one.days > 0.9 and one.varies:
            yield one


def _daily(one: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Middle of whole days, and means over them; the records themselves if they are longer."""
    if one.interval > 0.6 * DAY:
        return one.time, one.values
    fine = np.arange(one.time[0], one.time[-1], max(one.interval, 600.0))
    per_day = round(DAY / max(one.interval, 600.0))
    n_days = fine.size // per_day
    if n_days < 1:
        return np.zeros(0), np.zeros(0)
    shape = (n_days, per_day)
    values = np.interp(fine, one.time, one.values)[: n_days * per_day].reshape(shape).mean(axis=1)
    return fine[: n_days * per_day].reshape(shape).mean(axis=1), values


@rule("sun_amount")
def sun_amount(evidence: Evidence) -> Iterator[Finding]:
    """Note more sun than reaches the top of the atmosphere, or hardly any."""
    for one in _light(evidence):
        time, received = _daily(one)
        if not time.size:
            continue
        above = top_of_atmosphere(time, evidence, daily=True)
        bright, dark = above > 3.0 * _LEAST, above < 0.2
        if dark.any() and np.mean(received[dark]) > 8.0:
            said = f"expected no sun in the polar night, got {np.mean(received[dark]):.3g} W m-2"
            cause = "a latitude of the other hemisphere, or times half a year off"
            yield one.finding("sun_amount", said, cause, "`latitude` or `start_time`")
        if not bright.any():
            continue
        ratio = float(np.sum(received[bright]) / np.sum(above[bright]))
        best = float(np.quantile(received[bright] / above[bright], 0.95))
        said = f"expected 0.2 to 0.75 of the sun above the atmosphere, got {ratio:.3g} over {time.size} days"
        if ratio > 0.8 or best > 1.02 and bright.sum() > 3:
            said += f", up to {best:.2f}"
            cause = "kJ m-2 per hour, cal cm-2 per day, or a latitude of the other hemisphere"
            yield one.finding("sun_amount", said, cause, "`unit` or `latitude`")
        elif ratio < 0.06 and (one.days > 5.0 or ratio < 0.01):
            cause = "kW m-2, or MJ m-2 per day"
            yield one.finding("sun_amount", said, cause, "`unit`")


@rule("sun_by_night")
def sun_by_night(evidence: Evidence) -> Iterator[Finding]:
    """Note shortwave radiation at night, or at its best at another hour than noon."""
    for one in _light(evidence):
        if one.interval > 10800.0 or one.days < 1.5 or evidence.longitude is None:
            continue
        some = slice(0, 40_000)
        time, values = one.time[some], np.maximum(one.values[some], 0.0)
        above = top_of_atmosphere(time, evidence)
        if np.sum(values) <= 0.0 or np.mean(above) < _LEAST or np.min(above) > 0.3 * np.max(above):
            continue
        yield from _light_at_night(one, time, values, evidence)
        yield from _without_night(one, time, values)
        lags = np.arange(-11.5, 12.5, 0.5)
        alike = [_alike(values, top_of_atmosphere(time + 3600.0 * lag, evidence)) for lag in lags]
        best = int(np.argmax(alike))
        lag, here = float(lags[best]), _alike(values, above)
        if abs(lag) < 2.0 or alike[best] < 0.6 or alike[best] - here < 0.12:
            continue
        hours = "after" if lag < 0.0 else "before"
        said = f"expected the best sun at noon, got it {abs(lag):g} h {hours} (at {evidence.longitude:g} E)"
        cause = "local instead of universal time, a longitude of the other sign, or means of daily intervals"
        yield one.finding("sun_by_night", said, cause, "`start_time` or `longitude`")


def _light_at_night(
    one: Samples, time: np.ndarray, values: np.ndarray, evidence: Evidence
) -> Iterator[Finding]:
    """A finding where there is light although the sun is far below the horizon before and after."""
    near = [cosine_of_zenith(time + step, evidence) for step in (-one.interval, 0.0, one.interval)]
    dark = np.max(near, axis=0) < -0.12
    n = int(np.sum(values[dark] > 60.0))
    if n and n < 0.5 * dark.sum():
        said = f"expected no light at night, got up to {np.max(values[dark]):.3g} W m-2 in {n} records"
        yield one.finding("sun_by_night", said, "a code for missing values, or a lamp", "the file")


def _without_night(one: Samples, time: np.ndarray, values: np.ndarray) -> Iterator[Finding]:
    """A finding where records of hours repeat the mean of a day."""
    n_changes, days = int(np.count_nonzero(np.diff(values))), np.ptp(time) / DAY
    if days > 5.0 and 0.5 * days < n_changes < 1.5 * days and one.interval < 0.2 * DAY:
        said = (
            f"expected day and night in records of {one.interval / 3600.0:.2g} h, got the same value for days"
        )
        key = "one record a day, and `diurnal_cycle: true`"
        yield one.finding("sun_by_night", said, "daily means, repeated", key)


@rule("cloud_and_sun")
def cloud_and_sun(evidence: Evidence) -> Iterator[Finding]:
    """Note cloud cover that comes with more sun."""
    cloud = evidence.weather.get("cloud_cover")
    if cloud is None or not cloud.varies or evidence.start is None or evidence.latitude is None:
        return
    for one in _light(evidence):
        time, received = _daily(one)
        if time.size < 20 or cloud.time.size != one.time.size:
            continue
        _, cover = _daily(cloud)
        above = top_of_atmosphere(time, evidence, daily=True)
        bright = above > 3.0 * _LEAST
        if bright.sum() < 20 or np.ptp(cover[bright]) < 0.2:
            continue
        together = _alike(received[bright] / above[bright], cover[bright])
        if together > 0.4:
            said = f"expected less sun under clouds, got a correlation of {together:.2f}"
            said += f" over {bright.sum()} days"
            cause = "the clear part of the sky instead of the cloudy one"
            key = "`factor: -1` and `offset: 1`"
            yield cloud.finding("cloud_and_sun", said, cause, key)


def _alike(values: np.ndarray, above: np.ndarray) -> float:
    return float(np.corrcoef(values, above)[0, 1]) if np.ptp(above) > 0.0 else 0.0


@rule("no_sun_by_day")
def no_sun_by_day(evidence: Evidence) -> Iterator[Finding]:
    """Note zeros by day among days of sun."""
    for one in _light(evidence):
        if one.interval > 10800.0 or one.days < 2.0 or evidence.longitude is None:
            continue
        above = top_of_atmosphere(one.time, evidence)
        high = above > 0.55 * np.max(above)
        if high.sum() < 12 or np.max(above) < 300.0:
            continue
        share = float(np.mean(one.values[high] <= 0.0))
        if 0.004 < share < 0.6 and np.median(one.values[high]) > 60.0:
            said = f"expected light around noon, got zero in {share:.1%} of these records"
            cause = "zero as a code for missing values, or the time of another place"
            yield one.finding("no_sun_by_day", said, cause, "start_time, or the file")


@rule("sun_counted_twice")
def sun_counted_twice(evidence: Evidence) -> Iterator[Finding]:
    """Note a heat flux that follows the shortwave radiation beside it."""
    heat, light = evidence.fluxes.get("heat_flux"), evidence.fluxes.get("shortwave_flux")
    if heat is None or light is None or heat.values.size != light.values.size or heat.values.size < 12:
        return
    if not (heat.varies and light.varies):
        return
    together = float(np.corrcoef(heat.values, light.values)[0, 1])
    slope = together * float(np.std(heat.values) / np.std(light.values))
    if together > 0.8 and slope > 0.55:
        said = f"expected heat without the sun, got {slope:.2f} times its radiation (r = {together:.2f})"
        cause = "the net heat flux, in which the sun is already counted"
        key = "subtract shortwave_flux, or leave it out"
        yield heat.finding("sun_counted_twice", said, cause, key)
