"""Values over time: series as arrays, several series on common times, the start of a case."""

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
"""Probably bad, bad, missing: what a time or a position must not be."""


def start_of_case(start_time: str) -> datetime.datetime:
    """Start of a case in universal time; `ValueError` if it is not in ISO 8601."""
    try:
        start = datetime.datetime.fromisoformat(start_time)
    except (TypeError, ValueError):
        raise ValueError(
            f"start_time: expected an ISO 8601 time, got {start_time!r}; write it like 2011-03-21T00:00:00."
        ) from None
    return start if start.tzinfo is None else start.astimezone(datetime.UTC).replace(tzinfo=None)


def longest_missing(time: np.ndarray, known: np.ndarray) -> tuple[float, int]:
    """Longest time [s] between two known records, and the record before it."""
    kept = np.flatnonzero(known)
    apart = np.diff(time[kept])
    longest = int(np.argmax(apart))
    return float(apart[longest]), int(kept[longest])


@dataclasses.dataclass(frozen=True)
class Series:
    """Values at increasing times [s] since the start of the run; `values` has time as its first axis."""

    time: np.ndarray
    values: np.ndarray

    def on(self, time: np.ndarray) -> np.ndarray:
        """Values at other times, interpolated linearly, and constant beyond the ends."""
        if self.values.ndim == 1:
            return np.interp(time, self.time, self.values)
        if self.time.size == 1:
            return np.broadcast_to(self.values, (np.size(time), self.values.shape[1]))
        after = np.clip(np.searchsorted(self.time, time, side="right"), 1, self.time.size - 1)
        fraction = (time - self.time[after - 1]) / (self.time[after] - self.time[after - 1])
        fraction = np.clip(fraction, 0.0, 1.0)[:, None]
        between = (1.0 - fraction) * self.values[after - 1] + fraction * self.values[after]
        # At a known time its profile alone: zero times a missing neighbour would be missing.
        between = np.where(fraction == 0.0, self.values[after - 1], between)
        return np.where(fraction == 1.0, self.values[after], between)

    def of_means(self, intervals: np.ndarray) -> "Series":
        """Means that hold over their intervals, so that the integral over each is that of its mean.

        From one interval to the next the value changes within a millionth of the shorter one, or what times
        resolve. Between intervals that do not touch it changes linearly.

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
        """Profiles delayed by `lag` [s]; before that, the first profile holds, or zero."""
        time, values = np.append(self.time[0], self.time + lag), self.values[[0, *range(self.time.size)]]
        if from_zero:
            later, after = time > 1.5 * lag, Series(time, values).on(np.array([1.5 * lag]))
            values = np.concatenate([0.0 * after, 0.0 * after, after, values[later]])
            time = np.concatenate([[min(time[0], 0.0), lag, 1.5 * lag], time[later]])
        return Series(time, values)


def intervals_between(time: np.ndarray, stamp: str) -> np.ndarray:
    """Start and end [s] of means over the time between records, `(n_times, 2)`.

    Args:
        stamp: where times stand in their interval: at the "start", in the "middle" or at the "end".
    """
    apart = np.diff(time)
    apart = np.minimum(apart, np.median(apart))  # a gap does not lengthen an interval
    before, after = np.append(apart[0], apart), np.append(apart, apart[-1])
    share = {"start": (0.0, 1.0), "middle": (0.5, 0.5), "end": (1.0, 0.0)}[stamp]
    return np.stack([time - share[0] * before, time + share[1] * after], axis=1)


def on_common_times(
    series: Mapping[str, Series | float], length: float
) -> tuple[np.ndarray, dict[str, np.ndarray | float]]:
    """Series on the union of their times [s]; linear interpolation leaves each of them unchanged.

    Numbers stay numbers; if all are numbers, the times are the ends of a run of given length [s].

    Raises:
        ValueError: series that do not overlap.
    """
    times = {name: given.time for name, given in series.items() if isinstance(given, Series)}
    time = np.unique(np.concatenate(list(times.values()))) if times else np.array([0.0, length])
    # Drop everything outside the interval that all series cover.
    begin = max((t[0] for t in times.values()), default=0.0)
    end = min((t[-1] for t in times.values()), default=length)
    time = time[(time >= begin) & (time <= end)]
    if time.size < 2:
        ranges = ", ".join(f"{name} {t[0]:g} to {t[-1]:g}" for name, t in times.items())
        raise ValueError(f"expected series that overlap, got times [s] of {ranges}; extend them.")
    return time, {
        name: given.on(time) if isinstance(given, Series) else float(given) for name, given in series.items()
    }


def as_series(values: Mapping[str, Series | float], length: float) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Common times, and every quantity as a series on them; see `on_common_times`."""
    time, given = on_common_times(values, length)
    return jnp.asarray(time), {key: jnp.asarray(value + 0.0 * time) for key, value in given.items()}


def profiles_on_grid(
    observations: Observations, variable: str, z: np.ndarray, *, longest_gap: float, duration: float
) -> Series:
    """Profiles of one variable at given heights from the start to the end of a case.

    Each instrument (height) is interpolated in time over gaps of up to `longest_gap`; longer gaps are filled
    from neighbouring heights. Profiles are constant above the uppermost and below the deepest value, and for
    up to `longest_gap` before the first and after the last record.

    Heights are in m and increasing, times in s.

    Raises:
        ValueError: a variable that was not observed, or a longer time without any value.
    """
    name = observations.name
    if variable not in observations.profiles:
        expected, got = f"{variable} among the observations {name}", ", ".join(observations.profiles)
        raise ValueError(f"expected {expected}, got {got}; give a profile, or add a file.")
    if observations.moves:
        advice = "give profiles to start from, or the depths of a mooring (depths: nominal)"
        raise ValueError(f"{name}: expected the same heights at all times, got others; {advice}.")
    time = np.asarray(observations.time, dtype=float)
    values = np.asarray(observations.profiles[variable], dtype=float)
    before, after = (np.flatnonzero(part) for part in (time <= 0.0, time >= duration))
    kept = slice(before[-1] if before.size else 0, after[0] + 1 if after.size else time.size)
    # Records outside the case can still bridge a gap at its ends.
    around = (time >= time[kept][0] - longest_gap) & (time <= time[kept][-1] + longest_gap)
    wanted, time, values = time[kept], time[around], values[around]
    bridged = np.stack([_bridged(wanted, time, column, longest_gap) for column in values.T], axis=1)
    empty = np.flatnonzero(
        ~np.any(np.isfinite(bridged), axis=1) | (np.diff(wanted, prepend=wanted[0]) > longest_gap)
    )
    if empty.size:
        at = int(empty[0])
        raise ValueError(
            f"expected a value of {variable} in the observations {name} at least every {longest_gap:g} s "
            f"(longest_gap), got none around {wanted[at]:g} s; fill the gap, or set a longer longest_gap."
        )
    levels = np.asarray(observations.z, dtype=float)
    profiles = np.stack([np.interp(z, levels[np.isfinite(row)], row[np.isfinite(row)]) for row in bridged])
    return _extended(wanted, profiles, duration, longest_gap, f"{variable} in the observations {name}")


def _bridged(wanted: np.ndarray, time: np.ndarray, values: np.ndarray, longest: float) -> np.ndarray:
    """One instrument at the wanted times, NaN where neighbouring values are more than `longest` apart."""
    known = np.isfinite(values)
    if not np.any(known):
        return np.full(wanted.shape, np.nan)
    time, values = time[known], values[known]
    after = np.searchsorted(time, wanted)
    previous, following = time[np.clip(after - 1, 0, None)], time[np.clip(after, None, time.size - 1)]
    gap = np.where((wanted < time[0]) | (wanted > time[-1]), np.abs(following - wanted), following - previous)
    gap = np.where(wanted > time[-1], wanted - time[-1], gap)
    gap = np.where(np.isin(wanted, time), 0.0, gap)
    return np.where(gap <= longest, np.interp(wanted, time, values), np.nan)


def _extended(time: np.ndarray, profiles: np.ndarray, duration: float, longest: float, what: str) -> Series:
    """The profiles from 0 to `duration`, those at the ends held for up to `longest`."""
    if time[0] - 0.0 > longest or duration - time[-1] > longest:
        got = f"{time[0]:g} to {time[-1]:g} s"
        advice = "change start_time or duration, or set a longer longest_gap"
        raise ValueError(f"expected {what} from 0 to {duration:g} s, got {got}; {advice}.")
    if time[0] > 0.0:
        time, profiles = np.append(0.0, time), np.concatenate([profiles[:1], profiles])
    if time[-1] < duration:
        time, profiles = np.append(time, duration), np.concatenate([profiles, profiles[-1:]])
    return Series(time, profiles)
