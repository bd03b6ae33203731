"""Shortwave radiation against the position of the sun."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from ..air_sea import SolarPosition
from .finding import Finding, rule
from .inputs import DAY, Evidence, Samples

_SOLAR_CONSTANT = 1361.0
_LEAST = 20.0
"""Daily mean above the atmosphere [W m-2] below which there is no sun to speak of."""


def top_of_atmosphere(time: np.ndarray, evidence: Evidence, *, daily: bool = False) -> np.ndarray:
    """Shortwave radiation above the atmosphere [W m-2] at times [s], or its mean over their days."""
    assert evidence.start is not None and evidence.latitude is not None
    sun = SolarPosition(evidence.start.isoformat(), evidence.latitude, evidence.longitude or 0.0)
    hours = np.arange(-12.0, 12.0) * 3600.0 if daily else np.zeros(1)
    cosine = sun.cosine_of_zenith(sun.at(jnp.asarray(time[:, None] + hours)))
    return _SOLAR_CONSTANT * np.asarray(cosine).mean(axis=1)


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


@rule
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
        if ratio > 0.8 or best > 1.05 and bright.sum() > 3:
            said += f", up to {best:.2f}"
            cause = "kJ m-2 per hour, cal cm-2 per day, or a latitude of the other hemisphere"
            yield one.finding("sun_amount", said, cause, "`unit` or `latitude`")
        elif ratio < 0.06 and (one.days > 5.0 or ratio < 0.01):
            cause = "kW m-2, or MJ m-2 per day"
            yield one.finding("sun_amount", said, cause, "`unit`")


@rule
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


def _alike(values: np.ndarray, above: np.ndarray) -> float:
    return float(np.corrcoef(values, above)[0, 1]) if np.ptp(above) > 0.0 else 0.0


@rule
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
