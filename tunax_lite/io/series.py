"""Series over time as arrays: interpolation to other times and grids, means over intervals."""

import dataclasses
import datetime
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from ..column.observations import Observations

GOOD_FLAGS = (1, 2, 5, 8)
"""Good, probably good, changed, interpolated or estimated: the same numbers in OceanSITES and Argo."""
BAD_FLAGS = (3, 4, 9)
"""Probably bad, bad, missing: flags of times and positions to reject."""


def start_of_case(start_time: str) -> datetime.datetime:
    """Parse the start of a case, in universal time; `ValueError` if it is not in ISO 8601."""
    try:
        start = datetime.datetime.fromisoformat(start_time)
    except (TypeError, ValueError):
        raise ValueError(
            f"start_time: expected an ISO 8601 time, got {start_time!r}; write it like 2011-03-21T00:00:00."
        ) from None
    return start if start.tzinfo is None else start.astimezone(datetime.UTC).replace(tzinfo=None)


@dataclasses.dataclass(frozen=True)
class Series:
    """Values at increasing times [s] since the start of the run; `values` has time as its first axis."""

    time: np.ndarray
    values: np.ndarray

    def on(self, time: np.ndarray) -> np.ndarray:
        """Interpolate linearly to other times; constant beyond the ends."""
        if self.values.ndim == 1:
            return np.interp(time, self.time, self.values)
        if self.time.size == 1:
            return np.broadcast_to(self.values, (np.size(time), self.values.shape[1]))
        after = np.clip(np.searchsorted(self.time, time, side="right"), 1, self.time.size - 1)
        fraction = (time - self.time[after - 1]) / (self.time[after] - self.time[after - 1])
        fraction = np.clip(fraction, 0.0, 1.0)[:, None]
        between = (1.0 - fraction) * self.values[after - 1] + fraction * self.values[after]
        # At the time of a profile use it alone: zero times a missing neighbour would be missing.
        between = np.where(fraction == 0.0, self.values[after - 1], between)
        return np.where(fraction == 1.0, self.values[after], between)

    def of_means(self, intervals: np.ndarray) -> "Series":
        """Hold each value over its interval, so that the integral over the interval is that of the mean.

        At the end of an interval the value changes within a millionth of its length, or the shortest time
        that the precision resolves. Between intervals that do not touch it changes linearly.

        Args:
            intervals: start and end of each [s], `(n_times, 2)`; where they overlap, the later one begins at
                the end of the earlier one.
        """
        start, end = intervals.T
        start = np.append(start[0], np.maximum(start[1:], end[:-1]))
        resolved = 4.0 * float(jnp.finfo(jnp.zeros(()).dtype).eps) * np.max(np.abs(intervals))
        last = end - np.maximum(1e-6 * (end - start), resolved) * np.append(start[1:] <= end[:-1], False)
        return Series(np.stack([start, last], axis=1).reshape(-1), np.repeat(self.values, 2, axis=0))

    def lagged(self, lag: float, *, from_zero: bool) -> "Series":
        """Delay profiles by `lag` [s].

        Until then the first one is used or, with `from_zero`, zero, which rises linearly until 1.5 `lag`.
        """
        time, values = np.append(self.time[0], self.time + lag), self.values[[0, *range(self.time.size)]]
        if from_zero:
            later, after = time > 1.5 * lag, Series(time, values).on(np.array([1.5 * lag]))
            values = np.concatenate([0.0 * after, 0.0 * after, after, values[later]])
            time = np.concatenate([[min(time[0], 0.0), lag, 1.5 * lag], time[later]])
        return Series(time, values)


def intervals_between(time: np.ndarray, stamp: str) -> np.ndarray:
    """Return start and end [s] of means over the time between records, `(n_times, 2)`.

    Args:
        stamp: position of the times in their intervals: "start", "middle" or "end".
    """
    steps = np.diff(time)
    steps = np.minimum(steps, np.median(steps))  # a gap does not lengthen an interval
    before, after = np.append(steps[0], steps), np.append(steps, steps[-1])
    share = {"start": (0.0, 1.0), "middle": (0.5, 0.5), "end": (1.0, 0.0)}[stamp]
    return np.stack([time - share[0] * before, time + share[1] * after], axis=1)


def on_common_times(
    series: Mapping[str, Series | float], length: float
) -> tuple[np.ndarray, dict[str, np.ndarray | float]]:
    """Interpolate series to the union of their times [s] in the interval that all of them cover.

    Numbers stay numbers; if all are numbers, the times are the start and end of a run of `length` [s].

    Raises:
        ValueError: series that do not overlap.
    """
    times = {name: each.time for name, each in series.items() if isinstance(each, Series)}
    time = np.unique(np.concatenate(list(times.values()))) if times else np.array([0.0, length])
    # Drop everything outside the interval that all series cover.
    begin = max((t[0] for t in times.values()), default=0.0)
    end = min((t[-1] for t in times.values()), default=length)
    time = time[(time >= begin) & (time <= end)]
    if time.size < 2:
        ranges = ", ".join(f"{name} {t[0]:g} to {t[-1]:g}" for name, t in times.items())
        raise ValueError(f"expected series that overlap, got times [s] of {ranges}; extend them.")
    return time, {
        name: each.on(time) if isinstance(each, Series) else float(each) for name, each in series.items()
    }


def as_series_together(
    values: Mapping[str, Series | float], length: float
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Like `on_common_times`, but numbers become constant series."""
    time, on_times = on_common_times(values, length)
    series = {key: np.full_like(time, x) if np.ndim(x) == 0 else x for key, x in on_times.items()}
    return jnp.asarray(time), {key: jnp.asarray(x) for key, x in series.items()}


def profiles_on_grid(
    observations: Observations, variable: str, z: np.ndarray, *, longest_gap: float, duration: float
) -> Series:
    """Interpolate the profiles of a variable to heights `z`, from the start to the end of a case.

    Casts, and instruments whose heights vary, are interpolated in the vertical, then at each height in time
    over gaps of up to `longest_gap`; a profile is held for up to 10 m beyond its ends. Instruments at fixed
    heights, which have values usually every day or more often, are interpolated in time first; longer gaps
    are filled from neighbouring heights. Profiles are constant above the uppermost and below the deepest
    value, and for up to `longest_gap` before the first and after the last record.

    Heights are in m and increasing, times in s.

    Raises:
        ValueError: a variable that was not observed, or a longer time without any value.
    """
    name = observations.name
    if variable not in observations.profiles:
        expected, got = f"{variable} among the observations {name}", ", ".join(observations.profiles)
        raise ValueError(f"expected {expected}, got {got}; give a profile, or add a file.")
    time = np.asarray(observations.time, dtype=float)
    values = np.asarray(observations.profiles[variable], dtype=float)
    before, after = (np.flatnonzero(part) for part in (time <= 0.0, time >= duration))
    kept = slice(before[-1] if before.size else 0, after[0] + 1 if after.size else time.size)
    # Records outside the case can still bridge a gap at its ends.
    around = (time >= time[kept][0] - longest_gap) & (time <= time[kept][-1] + longest_gap)
    wanted, time, values = time[kept], time[around], values[around]
    levels = np.asarray(observations.z, dtype=float)
    if observations.moves or _usual_interval(time, values) > _LONGEST_OF_INSTRUMENTS:
        heights = np.unique([*z, np.nanmin(levels), np.nanmax(levels)])
        rows = np.broadcast_to(levels[around] if observations.moves else levels, values.shape)
        values = np.stack([_on_heights(heights, *row) for row in zip(rows, values, strict=True)])
        levels = heights
        bridged = np.stack([_in_time(wanted, time, column, longest_gap)[0] for column in values.T], axis=1)
    else:
        bridged = _bridged_at_instruments(wanted, time, values, levels, longest_gap)
    time = np.union1d(wanted, [min(wanted[0], 0.0), max(wanted[-1], duration)])
    has_values = np.any(np.isfinite(bridged), axis=1)
    if not has_values.all() or np.diff(time).max(initial=0.0) > longest_gap:
        expected = f"{variable} in the observations {name} at least every {longest_gap:g} s (longest_gap)"
        known = np.array([time[0], *wanted[has_values], time[-1]])
        at = int(np.argmax(np.diff(known)))
        got = f"none from {known[at]:g} to {known[at + 1]:g} s"
        advice = "fill the gap, change start_time or duration, or set a longer longest_gap"
        raise ValueError(f"expected {expected} from 0 to {duration:g} s, got {got}; {advice}.")
    profiles = np.stack([np.interp(z, levels[np.isfinite(row)], row[np.isfinite(row)]) for row in bridged])
    return Series(time, Series(wanted, profiles).on(time))


_LONGEST_OF_INSTRUMENTS = 1.5 * 86400.0
"""Longest usual time [s] between values at one height of instruments; casts are rarer."""
_REACH = 10.0
"""Distance [m] over which a value represents the water around it, where no other is between."""


def _usual_interval(time: np.ndarray, values: np.ndarray) -> float:
    """Median time [s] from a value to the nearest other one at its height; infinite if most are alone."""
    nearest = []
    for column in values.T:
        steps = np.diff(time[np.isfinite(column)], prepend=-np.inf, append=np.inf)
        nearest.append(np.minimum(steps[:-1], steps[1:]))
    nearest = np.sort(np.concatenate(nearest))
    return float(nearest[nearest.size // 2]) if nearest.size else 0.0


def _on_heights(heights: np.ndarray, levels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate a profile to other heights: constant up to `_REACH` beyond its ends, NaN further away."""
    valid = np.isfinite(values) & np.isfinite(levels)
    if not valid.any():
        return np.full(heights.shape, np.nan)
    levels, values = levels[valid], values[valid]
    near = (heights >= levels[0] - _REACH) & (heights <= levels[-1] + _REACH)
    return np.where(near, np.interp(heights, levels, values), np.nan)


def _bridged_at_instruments(
    wanted: np.ndarray, time: np.ndarray, values: np.ndarray, levels: np.ndarray, longest: float
) -> np.ndarray:
    """Interpolate the values of instruments to the wanted times.

    The first or last value of an instrument is not held where another one measures close by: often one
    deployment follows another at slightly different depths.
    """
    columns = [_in_time(wanted, time, column, longest) for column in values.T]
    bridged, beyond = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    is_late = beyond > _LONGEST_OF_INSTRUMENTS
    present = np.isfinite(bridged) & ~is_late
    for level in np.flatnonzero(is_late.any(axis=0)):
        close = present[:, np.abs(levels - levels[level]) <= _REACH].any(axis=1)
        bridged[is_late[:, level] & close, level] = np.nan
    return bridged


def _in_time(
    wanted: np.ndarray, time: np.ndarray, values: np.ndarray, longest: float
) -> tuple[np.ndarray, np.ndarray]:
    """Values at one height at the wanted times, NaN in gaps over `longest`, and times beyond its ends [s]."""
    valid = np.isfinite(values)
    if not np.any(valid):
        return np.full(wanted.shape, np.nan), np.zeros(wanted.shape)
    time, values = time[valid], values[valid]
    after = np.searchsorted(time, wanted)
    gap = time[np.clip(after, None, time.size - 1)] - time[np.clip(after - 1, 0, None)]
    beyond = np.maximum(np.maximum(time[0] - wanted, wanted - time[-1]), 0.0)
    gap = np.where(np.isin(wanted, time), 0.0, np.maximum(gap, beyond))
    return np.where(gap <= longest, np.interp(wanted, time, values), np.nan), beyond
