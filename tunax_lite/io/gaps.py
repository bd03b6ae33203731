"""Fill gaps in series over time: shortwave radiation with scaled clear-sky radiation, others linearly.

A straight line over hours without records of shortwave radiation has no day and night: it starts at the last
value, which is 0 for a gap that begins at night and that of noon for one that begins there. Filled values are

    Q(t) = c I(t),   c = sum Q / sum I over the records within three days of the gap,

with the radiation I under a clear sky. Gaps of at most three hours, and those of daily means, are bridged
linearly like those of any other quantity.
"""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from .._types import warn_of_input
from ..air_sea import ClearSky, SolarPosition
from ..air_sea.daylight import DAY, LONGEST_RESOLVING_INTERVAL, is_mean
from .errors import name_of
from .series import intervals_between
from .times import describe, error_at, with_bounds
from .variables import error_of, like

if TYPE_CHECKING:
    import xarray as xr

_AROUND = 3.0 * DAY
"""Time on either side of a gap whose records determine how clear the sky is [s]."""
_FAINT = 1.0
"""Mean radiation under a clear sky [W m-2] below which it is dark."""
_LATE = 2.5
"""Multiple of the usual interval above which a time without values is a gap."""
_LATE_IN_TEXT = 12.0
"""Multiple of the usual interval above which records of dated text, often irregular, have a gap."""

Position = tuple[float, float]
"""Latitude and longitude [degrees]."""


def _long_gaps(time: np.ndarray) -> np.ndarray:
    """Indices of records before gaps so long that a straight line misses the daily course of the sun."""
    steps = np.diff(time)
    if steps.size < 2 or is_mean(usual := float(np.median(steps))):
        return np.zeros(0, dtype=int)
    return np.flatnonzero(steps > (1.0 + 1e-6) * max(LONGEST_RESOLVING_INTERVAL, 1.5 * usual))


def bridged(
    series: "xr.DataArray",
    quantity: str,
    *,
    start_time: str | None,
    longest_gap: float | None = None,
    position: Position | None = None,
    linear_sunlight: bool = False,
    stamp: str | None = None,
) -> "xr.DataArray":
    """Fill the gaps of a series, and warn of them.

    Args:
        series: series of `times.timed`.
        quantity: its name in the table of quantities.
        start_time: ISO 8601 time at which the time of the series is 0; `None` for a case without a date.
        longest_gap: longest time without a value that is bridged [s]; `None` accepts any time between
            records, but no missing value.
        position: position whose clear-sky radiation fills gaps in shortwave radiation; `None` if unknown.
        linear_sunlight: whether to bridge long gaps in shortwave radiation linearly, too.
        stamp: as in `intervals_between`; `None` keeps the intervals of the series, if it has some.

    Raises:
        FileFormatError: a missing value without `longest_gap`, a longer gap, a long gap in shortwave
            radiation without a date and a position or between dark days, or too few values.
    """
    along_sun = quantity.removeprefix("surface_") in ("shortwave", "shortwave_flux") and not linear_sunlight
    time, valid = series["time"].values, np.isfinite(series.values)
    steps = np.diff(time)
    late = np.flatnonzero(steps > _LATE * np.median(steps)) if steps.size else np.zeros(0, dtype=int)
    if "line" in series.coords:
        late = late[steps[late] > _LATE_IN_TEXT * np.median(steps)] if steps.size > 10 else late[:0]
    if late.size and not (along_sun and _long_gaps(time).size):
        longest = int(np.argmax(steps))
        gaps = "a gap without records is" if late.size == 1 else f"{late.size} gaps without records are"
        hours = f"{steps[longest] / 3600.0:g} h after {describe(series['moment'], longest)}"
        warn_of_input([f"{series['source'].values[longest]}: {gaps} bridged linearly, at most {hours}"])
    if longest_gap is None and not valid.all():
        at = int(np.argmin(valid))
        advice = f"fill the {np.sum(~valid)} missing values before the run, or let longest_gap bridge them"
        raise error_at(series, at, "a series of finite values", f"{series.values[at]} at {{}}", advice)
    if valid.sum() < (2 if longest_gap is None else min(2, valid.size)):
        got = f"{valid.sum()} of {valid.size}"
        raise error_of(series, "at least two values", got, "choose another variable, or complete it")
    if longest_gap is not None and valid.size > 1:
        kept = np.flatnonzero(valid)
        steps = np.diff(time[kept])
        at, hours = int(kept[np.argmax(steps)]), f"{steps.max() / 3600.0:g} h without a value after"
        if steps.max() > longest_gap * (1.0 + 1e-6):
            expected = f"a value at least every {longest_gap / 3600.0:g} h (longest_gap)"
            raise error_at(series, at, expected, f"{hours} {{}}", "fill the gap, or set a longer longest_gap")
        if not valid.all():
            note = f"{np.sum(~valid)} missing values of {quantity} are bridged, at most {hours}"
            warn_of_input([f"{name_of(series)}: {note} {describe(series['moment'], at)}"])
            series = series.isel(time=valid)
    if stamp is not None:
        series = with_bounds(series, intervals_between(series["time"].values, stamp))
    return _along_the_sun(series, start_time, position) if along_sun else series


def _along_the_sun(
    series: "xr.DataArray", start_time: str | None, position: Position | None
) -> "xr.DataArray":
    """Fill the long gaps of shortwave radiation with scaled clear-sky radiation."""
    time, values = series["time"].values, series.values
    bounds = np.stack([series["begin"], series["end"]], axis=1) if "end" in series.coords else None
    gaps = _long_gaps(time)
    if not gaps.size:
        return series
    usual = float(np.median(np.diff(time)))
    times, radiation, intervals = [time], [values], [] if bounds is None else [bounds]
    for at in gaps:
        hours = f"{(time[at + 1] - time[at]) / 3600.0:g} h without a value after"
        if start_time is None or position is None:
            expected = "a date and a position, to fill a gap in shortwave radiation as under a clear sky"
            advice = "choose a case of the format site, or fill the gap"
            raise error_at(series, int(at), expected, f"{hours} {{}}, and none", advice)
        added = np.arange(float(time[at]) + usual, float(time[at + 1]) - 0.5 * usual, usual)
        sun = SolarPosition(start_time, *position)
        near = (time >= time[at] - _AROUND) & (time <= time[at + 1] + _AROUND)
        shift = 0.0 if bounds is None else float(bounds[at].mean() - time[at])
        instants = [jnp.asarray(each + shift, dtype=float) for each in (time[near], added)]
        cosines = [sun.cosine_of_zenith(sun.at(each)) for each in instants]
        around, inside = (np.asarray(ClearSky().downward(x, jnp.asarray(90.0), 0.0)) for x in cosines)
        # At dawn there is some light where the formula, without refraction and equation of time, has none.
        lit = around > 0.0
        if around.mean() < _FAINT and inside.mean() >= _FAINT:
            expected = f"light within {_AROUND / DAY:g} days of a gap in shortwave radiation"
            raise error_at(series, int(at), expected, f"{hours} {{}} between dark days", "fill the gap")
        share = max(0.0, float(values[near][lit].sum() / around[lit].sum())) if lit.any() else 0.0
        note = f"{hours} {describe(series['moment'], int(at))}: filled with {share:.3g} times the radiation"
        warn_of_input([f"{name_of(series)}: {series.name}: {note} under a clear sky"])
        times.append(added)
        radiation.append(share * inside)
        if bounds is not None:
            intervals.append(bounds[at] + (added - time[at])[:, None])
    order = np.argsort(np.concatenate(times), kind="stable")
    filled = like(series, np.concatenate(radiation)[order]).assign_coords(time=np.concatenate(times)[order])
    return filled if bounds is None else with_bounds(filled, np.concatenate(intervals)[order])
