"""Faults of records, whatever the quantity: missing codes, spikes, stuck sensors.

The tests of a spike and a flat line are those of QARTOD (U.S. IOOS, 2020, Manual for Real-Time Quality
Control of In-situ Temperature and Salinity Data, version 2.1), with thresholds from the record.
"""

import dataclasses
import datetime
from collections.abc import Iterator, Sequence

import numpy as np

from .evidence import DAY, Evidence, Samples
from .finding import Finding, rule

_CODES = np.array(
    [sign * base for base in (9.0, 9.9, 9.99, 9.999, 99.0, 99.9, 99.99, 99.999, 999.0, 999.9, 999.99, 9999.0)
     for sign in (-1.0, 1.0)]
    + [-1.0, -8.0, -88.0, -888.0, 8888.0, -8888.0, 9999.9, -9999.9, 99999.0, -99999.0, 32767.0, -32768.0]
)  # fmt: skip
"""Numbers that files put where there is no value; zero is another."""
_BACKGROUND = {
    "air_temperature": 3.0, "dew_point": 3.0, "wet_bulb": 3.0, "relative_humidity": 12.0,
    "specific_humidity": 1.5e-3, "air_pressure": 500.0, "wind_speed": 6.0, "wind_u": 8.0, "wind_v": 8.0,
    "cloud_cover": 2.0, "longwave": 60.0, "shortwave": 700.0, "precipitation": 3e-5,
    "temperature": 1.5, "sea_surface_temperature": 1.5, "salinity": 1.0, "u": 0.6, "v": 0.6,
    "surface_heat_flux": 500.0, "surface_stress_u": 1.5, "surface_stress_v": 1.5,
    "surface_shortwave_flux": 700.0, "surface_freshwater_flux": 0.01,
}  # fmt: skip
"""Difference from both neighbours that happens in good records of any quantity [its unit]."""
_THROUGH_ZERO = ("wind_u", "wind_v", "u", "v", "precipitation", "shortwave", "cloud_cover", "wind_speed")
"""Quantities of which an exact zero is common."""
_NEVER_NEGATIVE = (
    "shortwave", "surface_shortwave_flux", "precipitation", "relative_humidity", "specific_humidity",
    "cloud_cover", "wind_speed", "salinity",
)  # fmt: skip
_ALIVE = (
    "air_temperature",
    "dew_point",
    "wet_bulb",
    "specific_humidity",
    "air_pressure",
    "wind_u",
    "longwave",
)
"""Quantities of the air that do not stay the same to the last digit for a day."""


_STANDARD_PRESSURES = (1e5, 101300.0, 101320.0, 101325.0)
"""What stands for an unknown pressure [Pa]; a constant one hardly matters."""


def _each(evidence: Evidence) -> Iterator[tuple[Samples, np.ndarray, np.ndarray]]:
    for one in evidence.everything():
        if one.quantity != "stress":
            for time, values in one.columns():
                yield one, time, values


def codes_in(values: np.ndarray, quantity: str) -> tuple[float, int] | None:
    """A missing code that stands among values far from it, and how often."""
    if values.size < 4:
        return None
    unique, counts = np.unique(values, return_counts=True)
    zeros = () if quantity in _THROUGH_ZERO or quantity.startswith("surface_") else (0.0,)
    for code in (*_CODES, *zeros):
        near = 1e-6 * max(abs(code), 1e-3)
        at = np.flatnonzero(np.abs(unique - code) <= near)
        n = int(counts[at].sum())
        if not n or n > 0.5 * values.size:
            continue
        others = values[(np.abs(values - code) > near) & ~np.isin(values, _CODES[np.abs(_CODES) > 90.0])]
        if others.size < 3:
            continue
        below_nothing = quantity in _NEVER_NEGATIVE and code <= -5.0
        usual = np.max(counts[(np.abs(unique - code) > near) & (unique != 0.0)], initial=1)
        # Values of many digits do not meet a round number again and again.
        fine = unique.size > 0.8 * np.count_nonzero(values)
        popular = (abs(code) > 900.0 or fine and code) and n >= 3 and n > 4 * usual and values.size > 50
        if below_nothing or popular or _is_apart(code, others, quantity):
            return code, n
    return None


def _is_apart(code: float, others: np.ndarray, quantity: str) -> bool:
    """Whether a code lies well outside of all other values."""
    gap = max(np.min(others) - code, code - np.max(others))
    spread = np.quantile(others, 0.99) - np.quantile(others, 0.01)
    return bool(gap > max(0.6 * spread, 0.25 * _BACKGROUND.get(quantity, 0.0), 1e-9))


@rule
def missing_code(evidence: Evidence) -> Iterator[Finding]:
    """Note a number such as -9.99, 0, 99 or 9999 among values far from it."""
    for one, _, values in _each(evidence):
        found = codes_in(values, one.quantity)
        if found is not None:
            yield from _is_code(one, *found, values.size)


def in_profiles(quantity: str, where: str, profiles: Sequence[np.ndarray]) -> Iterator[Finding]:
    """Missing codes in profiles of any number of levels, before they are interpolated."""
    if quantity not in ("temperature", "salinity", "u", "v"):
        return
    for values in profiles[:400]:
        found = codes_in(values, quantity)
        if found is not None:
            yield from _is_code(Samples(quantity, where, np.zeros(1), values), *found, values.size)
            return


def in_file(one: Samples) -> Iterator[Finding]:
    """Missing codes and stuck sensors in values as a file has them: a code is no code after a conversion."""
    for _, values in one.columns():
        found = codes_in(values, one.quantity)
        if found is not None:
            yield from _is_code(one, *found, values.size)
            break
    yield from _stuck_levels(one)


def _is_code(one: Samples, code: float, n: int, size: int) -> Iterator[Finding]:
    said = f"expected measured values, got {code:g} in {n} of {size} records"
    key = "mark it as missing in the file (`_FillValue`, an empty cell)"
    yield one.finding("missing_code", said, "a code for missing values", key)


@rule
def spike(evidence: Evidence) -> Iterator[Finding]:
    """Note a single value far from both of its neighbours."""
    for one, time, values in _each(evidence):
        if (
            values.size < 12
            or one.quantity not in _BACKGROUND
            or one.quantity in ("shortwave", "precipitation")
        ):
            continue
        before, after = values[1:-1] - values[:-2], values[1:-1] - values[2:]
        size = np.where(before * after > 0.0, np.minimum(np.abs(before), np.abs(after)), 0.0)
        # Sharp on the far side only: the neighbours agree with each other.
        size = np.where(np.abs(values[2:] - values[:-2]) < 0.5 * size, size, 0.0)
        usual = np.quantile(np.abs(np.diff(values)), 0.98)
        # Records further apart differ more.
        background = _BACKGROUND[one.quantity] * min(4.0, max(1.0, (one.interval / 10800.0) ** 0.5))
        at = int(np.argmax(size))
        if size[at] > max(6.0 * usual, background) and np.sum(size > 0.5 * size[at]) <= max(
            3, 1e-3 * values.size
        ):
            said = f"expected neighbours alike, got {values[at + 1]:.5g} between {values[at]:.5g} and "
            said += f"{values[at + 2]:.5g} at {time[at + 1]:.0f} {'m' if one.by_profile else 's'}"
            yield one.finding("spike", said, "a spike", "remove the value from the file")


@rule
def stuck(evidence: Evidence) -> Iterator[Finding]:
    """Note the same value for long in a quantity that always varies."""
    for name in _ALIVE:
        one = evidence.weather.get(name)
        if one is None or one.known.size < 24 or one.interval > 10800.0:
            continue
        found = _stuck_in(one.values, one.interval, 18, 0.9 * DAY, 4)
        if found is None:
            continue
        value = one.values[found[0]]
        if name == "air_pressure" and value in _STANDARD_PRESSURES:
            continue
        others = any(other.varies for other in evidence.weather.values() if other is not one)
        if one.varies or others and value != 0.0 and name != "air_pressure":
            yield from _is_stuck(dataclasses.replace(one, epoch=evidence.start), *found)
    for name in ("temperature", "salinity", "u", "v"):
        if name in evidence.observed:
            yield from _stuck_levels(evidence.observed[name], evidence.start)


def _stuck_levels(one: Samples, start: datetime.datetime | None = None) -> Iterator[Finding]:
    """Stuck instruments, each with its height; those of a file may move."""
    heights = one.instruments if one.instruments is not None or one.z is None or one.z.ndim == 2 else one.z
    if one.time.size < 60 or one.interval > 0.3 * DAY or (heights is None and one.z is not None):
        return
    for level, values in enumerate(one.values.reshape(one.time.size, -1).T):
        there = np.isfinite(values)
        found = _stuck_in(values[there], one.interval, 60, 3.0 * DAY, 10)
        if found is None or np.ptp(values[there]) == 0.0:
            continue
        where = one.where if heights is None else f"{one.where} at {-heights[level]:g} m"
        own = Samples(one.quantity, where, one.time[there], values[there], epoch=one.epoch or start)
        yield from _is_stuck(own, *found)


def _stuck_in(
    values: np.ndarray, interval: float, least: int, seconds: float, ratio: int
) -> tuple[int, int] | None:
    """First and last record of the longest run of one value, if it is much longer than other runs."""
    if values.size < least:
        return None
    changes = np.flatnonzero(np.append(True, np.diff(values) != 0.0))
    lengths = np.diff(np.append(changes, values.size))
    longest = int(np.argmax(lengths))
    n = int(lengths[longest])
    usual = np.sort(lengths)[-min(4, lengths.size)]
    if n < least or n * interval < seconds or n < ratio * usual and n < values.size:
        return None
    return int(changes[longest]), int(changes[longest]) + n - 1


def _is_stuck(one: Samples, first: int, last: int) -> Iterator[Finding]:
    said = f"expected a value that varies, got {one.values[first]:g} from {one.moment(one.time[first])} to "
    remedy = "leave that time out"
    if one.where.endswith(" m"):
        remedy += ", or the instrument (exclude_depths)"
    yield one.finding("stuck", said + one.moment(one.time[last]), "a stuck sensor, or a filled gap", remedy)
