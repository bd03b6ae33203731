"""Gaps in series over time: sunlight is filled along the clear sun of the position, others linearly.

A straight line over days without records of shortwave radiation has no day and night: it starts at the last
value, which is 0 for a gap that begins at night and that of noon for one that begins there. Filled values are

    Q(t) = c I(t),   c = sum Q / sum I over the records within three days of the gap,

with the radiation I under a clear sky. Gaps of at most three hours, and those of daily means, are bridged
linearly like those of any other quantity.
"""

import datetime
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..air_sea import ClearSky, SolarPosition
from ..air_sea.daylight import DAY, LONGEST_INSTANT, is_mean
from ..plausibility.inputs import late_records
from .series import start_of_case

_AROUND = 3.0 * DAY
"""Time on either side of a gap whose records determine how clear the sky is [s]."""
_FAINT = 1.0
"""Mean radiation under a clear sky [W m-2] below which it is dark."""

Position = tuple[float, float]
"""Latitude and longitude [degrees]."""


def is_sunlight(quantity: str) -> bool:
    """Whether a quantity is shortwave radiation."""
    return quantity.removeprefix("surface_") in ("shortwave", "shortwave_flux")


class Filled(NamedTuple):
    """A series of shortwave radiation with values in its gaps."""

    time: np.ndarray  # [s]
    values: np.ndarray  # [W m-2]
    bounds: np.ndarray | None  # start and end of means [s], `(n_times, 2)`; `None` for values at instants
    notes: tuple[str, ...]  # one on each gap


def long_gaps(time: np.ndarray) -> np.ndarray:
    """Records of the sun before gaps so long that a straight line misses its daily course."""
    apart = np.diff(time)
    if apart.size < 2 or is_mean(usual := float(np.median(apart))):
        return np.zeros(0, dtype=int)
    return np.flatnonzero(apart > (1.0 + 1e-6) * max(LONGEST_INSTANT, 1.5 * usual))


def fill_sunlight(
    time: np.ndarray,
    values: np.ndarray,
    *,
    start_time: str | None,
    position: Position | None,
    refuse: Callable[[str, str, str], Exception],
    bounds: np.ndarray | None = None,
) -> Filled:
    """Fill the gaps of shortwave radiation along the clear sun of a position.

    Args:
        time: of the known values [s] since `start_time`.
        values: [W m-2], without missing ones.
        start_time: ISO 8601 time; `None` for a case without a date.
        position: `None` if it is unknown.
        refuse: makes the error for a gap without a date or a position, or between dark days, from what was
            expected, what was there, and what to do.
        bounds: as in `Filled`.
    """
    notes, usual = [], float(np.median(np.diff(time))) if time.size > 1 else 0.0
    more, light, ends = [time], [values], [] if bounds is None else [bounds]
    for at in long_gaps(time):
        hours, since = (time[at + 1] - time[at]) / 3600.0, _moment(float(time[at]), start_time)
        length = f"{hours:g} h without a value after {since}"
        if start_time is None or position is None:
            expected = "a date and a position, along whose clear sun a gap in shortwave radiation is filled"
            raise refuse(expected, f"{length}, and none", "choose a case of the format site, or fill the gap")
        added = np.arange(float(time[at]) + usual, float(time[at + 1]) - 0.5 * usual, usual)
        sun = SolarPosition(start_time, *position)
        near = (time >= time[at] - _AROUND) & (time <= time[at + 1] + _AROUND)
        shift = 0.0 if bounds is None else float(bounds[at].mean() - time[at])
        around, inside = (_clear(sun, each + shift) for each in (time[near], added))
        # At dawn there is some light where the formula, without refraction and equation of time, has none.
        lit = around > 0.0
        if around.mean() < _FAINT and inside.mean() >= _FAINT:
            expected = f"light within {_AROUND / DAY:g} days of a gap in shortwave radiation"
            raise refuse(expected, f"{length} between dark days", "fill the gap")
        share = max(0.0, float(values[near][lit].sum() / around[lit].sum())) if lit.any() else 0.0
        notes.append(f"{length}: filled with {share:.3g} times the radiation under a clear sky")
        more.append(added)
        light.append(share * inside)
        if bounds is not None:
            ends.append(bounds[at] + (added - time[at])[:, None])
    joined = np.concatenate(more)
    order = np.argsort(joined, kind="stable")
    both = None if bounds is None else np.concatenate(ends)[order]
    return Filled(joined[order], np.concatenate(light)[order], both, tuple(notes))


def note_of_gaps(quantity: str, time: np.ndarray, start_time: str | None) -> str | None:
    """A note on missing records [s] that are bridged linearly, if some are."""
    late = late_records(time)
    if not late.size or is_sunlight(quantity) and long_gaps(time).size:
        return None
    apart = np.diff(time)
    longest = int(np.argmax(apart))
    gaps = "a gap without records is" if late.size == 1 else f"{late.size} gaps without records are"
    hours = f"{apart[longest] / 3600.0:g} h after {_moment(float(time[longest]), start_time)}"
    return f"{gaps} bridged linearly, at most {hours}"


def _moment(seconds: float, start_time: str | None) -> str:
    if start_time is None:
        return f"{seconds:g} s"
    moment = start_of_case(start_time) + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="seconds")


def _clear(sun: SolarPosition, time: np.ndarray) -> np.ndarray:
    """Radiation under a clear sky at times [s], [W m-2]."""
    cosine = sun.cosine_of_zenith(sun.at(jnp.asarray(time, dtype=float)))
    return np.asarray(ClearSky().downward(cosine, jnp.asarray(90.0), 0.0))
