"""Time series, interpolated linearly.

Time-dependent input is arrays with a time axis, interpolated within the step, never a Python function, so
that it can be batched, differentiated and read from files.
"""

from collections.abc import Iterator
from functools import partial
from typing import Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, PyTree, Shaped

from .._types import ScalarLike, array_field, is_traced

T = TypeVar("T")


@custom_vmap
def _record_after(times: Float[Array, " time"], time: Shaped[Array, ""]) -> Int[Array, ""]:
    """Number of the first record after a time, 0 before all records."""
    return jnp.searchsorted(times, time, side="right", method="scan_unrolled")


@_record_after.def_vmap
def _record_after_each(
    axis_size: int, batched: list[bool], times: Shaped[Array, "..."], time: Shaped[Array, "..."]
) -> tuple[Array, bool]:
    # LLVM's vectoriser takes minutes over the unrolled search in a long record (jax 0.12).
    search = partial(jnp.searchsorted, side="right", method="scan")
    return jax.vmap(search, in_axes=[0 if one else None for one in batched])(times, time), True


class TimeSeries(eqx.Module, Generic[T]):
    """A pytree of arrays over common times.

    Args:
        time: [s] since the start of the case, increasing, shape `(n_times,)`.
        values: leaves with `time` as their first axis, `(n_times, ..., *batch)`.
        name: used in messages.

    Beyond its ends the series is constant; `simulate` rejects a run that needs values there.

    Raises:
        ValueError: times that do not increase, values of different length, or a value that is not finite,
            with its name and time.
    """

    time: Float[Array, " time"] = array_field(1, is_shared=True)
    values: T = array_field(1)
    name: str = eqx.field(default="forcing", static=True)

    @classmethod
    def constant(cls, values: T, name: str = "forcing") -> "TimeSeries[T]":
        """Values constant in time."""
        twice = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf, dtype=float)] * 2), values)
        return cls(jnp.array([-1e12, 1e12]), twice, name)

    def __check_init__(self):
        if is_traced((self.time, self.values)) or not isinstance(self.time, jax.Array):
            return
        time = np.asarray(self.time)
        if time.size < 2 or not np.all(np.isfinite(time)) or not np.all(np.diff(time) > 0.0):
            at = np.flatnonzero(~(np.diff(time) > 0.0)) if time.size > 1 else []
            where = f" after {time[at[0]]:g} s" if len(at) else ""
            got = np.array2string(time, threshold=6, edgeitems=2) + where
            raise ValueError(f"{self.name}: expected at least two times [s] that increase, got {got}.")
        for name, leaf in named_leaves(self.values):
            values = np.asarray(leaf)
            if values.shape[:1] != time.shape:
                expected = f"{name} with {time.size} values along its first axis (time)"
                raise ValueError(f"{self.name}: expected {expected}, got shape {values.shape}.")
            bad = first_bad(values)
            if bad is not None:
                at = f"time {time[bad[0]]:g} s (record {bad[0]})"
                got = f"{values[bad]} at {at}; fill the gap before the run"
                raise ValueError(f"{self.name}: expected finite values of {name}, got {got}.")

    def at(self, time: ScalarLike) -> T:
        """Values at a time [s]."""
        last = self.time.shape[0] - 2
        after = _record_after(lax.stop_gradient(self.time), lax.stop_gradient(jnp.asarray(time)))
        index = jnp.clip(after - 1, 0, last)
        start, end = self.time[index], self.time[index + 1]
        weight = jnp.clip((time - start) / (end - start), 0.0, 1.0)

        def interpolate(values):
            return values[index] + weight * (values[index + 1] - values[index])

        return jax.tree.map(interpolate, self.values)

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if the series does not cover `start` to `end` [s]."""
        # NumPy, because inside `jit` even an index of a constant array is traced.
        time = np.asarray(self.time)
        first, last = float(time[0]), float(time[-1])
        # Tolerate the round-off of times in days, so that a run may end on the last record.
        slack = 1e-9 * max(abs(first), abs(last))
        if start < first - slack or end > last + slack:
            raise ValueError(
                f"{self.name}: the run needs times from {start:g} to {end:g} s, the series covers "
                f"{first:g} to {last:g} s; shorten the run, correct its start, or extend the series."
            )


def check_covers(tree: PyTree, start: float, end: float) -> None:
    """Raise `ValueError` if any series in a module does not cover `start` to `end` [s]."""
    is_series = lambda part: isinstance(part, TimeSeries)  # noqa: E731
    for series in filter(is_series, jax.tree.leaves(tree, is_leaf=is_series)):
        series.check_covers(start, end)


def first_bad(values: np.ndarray) -> tuple[int, ...] | None:
    """Index of the first value that is not finite."""
    bad = np.argwhere(~np.isfinite(values))
    return tuple(int(i) for i in bad[0]) if len(bad) else None


def named_leaves(tree: PyTree) -> Iterator[tuple[str, PyTree]]:
    """Leaves with their names in messages."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        yield jax.tree_util.keystr(path).lstrip(".") or "the values", leaf
