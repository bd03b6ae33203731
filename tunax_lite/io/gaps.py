"""Bridge gaps in series over time linearly, and refuse those in shortwave radiation that hide day and night.

A straight line over hours without records of shortwave radiation has no day and night: it starts at the last
value, which is 0 for a gap that begins at night and that of noon for one that begins there.
"""

from typing import TYPE_CHECKING

import numpy as np

from .._types import warn_of_input
from ..air_sea.daylight import LONGEST_RESOLVING_INTERVAL, is_mean
from .errors import name_of
from .series import intervals_between
from .times import describe, error_at, with_bounds
from .variables import error_of

if TYPE_CHECKING:
    import xarray as xr

_LATE = 2.5
"""Multiple of the usual interval above which a time without values is a gap."""
_LATE_IN_TEXT = 12.0
"""Multiple of the usual interval above which records of dated text, often irregular, have a gap."""


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
    longest_gap: float | None = None,
    linear_sunlight: bool = False,
    stamp: str | None = None,
) -> "xr.DataArray":
    """Bridge the gaps of a series, and warn of them.

    Args:
        series: series of `times.timed`.
        quantity: its name in the table of quantities.
        longest_gap: longest time without a value that is bridged [s]; `None` accepts any time between
            records, but no missing value.
        linear_sunlight: whether to bridge long gaps in shortwave radiation, too.
        stamp: as in `intervals_between`; `None` keeps the intervals of the series, if it has some.

    Raises:
        FileFormatError: a missing value without `longest_gap`, a longer gap, a long gap in shortwave
            radiation that is no daily mean, or fewer than two values.
    """
    along_sun = quantity.removeprefix("surface_") in ("shortwave", "shortwave_flux") and not linear_sunlight
    time, valid = series["time"].values, np.isfinite(series.values)
    steps = np.diff(time)
    late = np.flatnonzero(steps > _LATE * np.median(steps)) if steps.size else np.zeros(0, dtype=int)
    if "line" in series.coords:
        late = late[steps[late] > _LATE_IN_TEXT * np.median(steps)] if steps.size > 10 else late[:0]
    if late.size:
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
    time = series["time"].values
    for at in _long_gaps(time)[:1].tolist() if along_sun else ():
        expected = "shortwave radiation without gaps that hide day and night"
        got = f"{(time[at + 1] - time[at]) / 3600.0:g} h without a value after {{}}"
        raise error_at(series, at, expected, got, "fill the gap")
    return series if stamp is None else with_bounds(series, intervals_between(time, stamp))
