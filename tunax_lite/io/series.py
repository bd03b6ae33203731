"""Values over time: series as arrays, several of them on common times, the start of a case, quality flags."""

import dataclasses
import datetime
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

GOOD_FLAGS = (1, 2, 5, 8)
"""Good, probably good, changed, interpolated or estimated: the same numbers in OceanSITES and Argo."""
BAD_FLAGS = (3, 4, 9)
"""Probably bad, bad, missing: what a time or a position must not be."""


def start_of_case(start_time: str) -> datetime.datetime:
    """The moment at which the time of a case is 0, Universal Time.

    Raises:
        ValueError: not an ISO 8601 time.
    """
    try:
        start = datetime.datetime.fromisoformat(start_time)
    except (TypeError, ValueError):
        raise ValueError(
            f"start_time: expected an ISO 8601 time, got {start_time!r}; write it like 2011-03-21T00:00:00."
        ) from None
    return start if start.tzinfo is None else start.astimezone(datetime.UTC).replace(tzinfo=None)


@dataclasses.dataclass(frozen=True)
class Series:
    """Values at times [s] since the start of the run, increasing; `values` has time as its first axis."""

    time: np.ndarray
    values: np.ndarray

    def on(self, time: np.ndarray) -> np.ndarray:
        """The values at other times, interpolated linearly."""
        if self.values.ndim == 1:
            return np.interp(time, self.time, self.values)
        after = np.clip(np.searchsorted(self.time, time, side="right"), 1, self.time.size - 1)
        fraction = (time - self.time[after - 1]) / (self.time[after] - self.time[after - 1])
        fraction = np.clip(fraction, 0.0, 1.0)[:, None]
        return (1.0 - fraction) * self.values[after - 1] + fraction * self.values[after]


def on_common_times(
    series: Mapping[str, Series | float], length: float
) -> tuple[np.ndarray, dict[str, np.ndarray | float]]:
    """Series on the union of their times, which leaves each of them, linear in between, unchanged.

    Args:
        series: by name; numbers are constant.
        length: of the run [s], for times where all are constant.

    Returns:
        times [s] since the start, and values on them; numbers stay numbers.

    Raises:
        ValueError: series that do not overlap.
    """
    times = {name: given.time for name, given in series.items() if isinstance(given, Series)}
    time = np.unique(np.concatenate(list(times.values()))) if times else np.array([0.0, length])
    # Beyond the first and the last record of each series lies what the run does not need.
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
