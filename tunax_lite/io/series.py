"""Series of files as arrays, and several of them on common times."""

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np


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
        share = (time - self.time[after - 1]) / (self.time[after] - self.time[after - 1])
        share = np.clip(share, 0.0, 1.0)[:, None]
        return (1.0 - share) * self.values[after - 1] + share * self.values[after]


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
