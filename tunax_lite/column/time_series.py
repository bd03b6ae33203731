"""Time series, interpolated linearly.

Time-dependent input is an array with a time axis, interpolated in every step, and never a Python function:
it can then be batched, differentiated and read from files.

A step samples a series at its end: records within it would have no effect. Before the run, `over_steps`
therefore replaces the records in each such step by one at its end, with the mean over the step.
"""

import contextlib
import datetime
from collections.abc import Iterator
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int, PyTree, Shaped

from .._types import ScalarLike, array_field, as_float_array, is_traced, without_index

T = TypeVar("T")


@custom_vmap
def _record_after(times: Float[Array, " time"], time: Shaped[Array, ""]) -> Int[Array, ""]:
    """Index of the first record after a time; 0 before all records."""
    return jnp.searchsorted(times, time, side="right", method="scan_unrolled")


@_record_after.def_vmap
def _record_after_each(
    axis_size: int, batched: list[bool], times: Shaped[Array, "..."], time: Shaped[Array, "..."]
) -> tuple[Array, bool]:
    # LLVM's vectoriser takes minutes over the unrolled search in a long record (jax 0.12).
    search = partial(jnp.searchsorted, side="right", method="scan")
    return jax.vmap(search, in_axes=[0 if is_batched else None for is_batched in batched])(times, time), True


class StepMeans(NamedTuple):
    """A linear operator that replaces records finer than a step by means over the step.

    Args:
        time: times of the new records [s].
        is_mean: whether a new record is the mean over the step that ends there.
        kept: indices of the records that stay.
        sampled: index of the last record, and weight of the next [1], at the ends of the neighbouring steps.
        points: likewise at the ends of the pieces.
        pieces: indices of the pieces, between records and ends of steps, that lie in steps with means.
        share: length of each of these pieces divided by that of its step [1].
        step: index of the step with a mean to which each of these pieces belongs.
        order: permutation that sorts the kept, sampled and mean records by time.
    """

    time: np.ndarray
    is_mean: np.ndarray
    kept: np.ndarray
    sampled: tuple[np.ndarray, np.ndarray]
    points: tuple[np.ndarray, np.ndarray]
    pieces: np.ndarray
    share: np.ndarray
    step: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, time: Float[Array, " time"], dt: float) -> "StepMeans | None":
        """Build the operator for records at times [s] and steps that end at multiples of `dt` [s].

        `None` if no records are closer together than a step. Steps outside the series have no means.
        """
        t = np.asarray(time, dtype=float)
        # Times in float32, or converted from days, are rounded.
        slack = max(1e-6 * dt, 8.0 * float(jnp.finfo(time.dtype).eps) * float(np.max(np.abs(t))))
        fine = np.diff(t) < dt - slack
        if not fine.any():
            return None
        # An interval shorter than a step lies in one step or in two.
        first = np.floor((t[:-1][fine] + slack) / dt)
        last = np.ceil((t[1:][fine] - slack) / dt) - 1.0
        steps = np.unique(np.concatenate([first, last])).astype(np.int64)
        inside = (steps >= 0) & (steps * dt >= t[0] - slack) & ((steps + 1) * dt <= t[-1] + slack)
        steps = steps[inside]
        if not steps.size:
            return None
        # Keep the values at the ends of the steps before and after: otherwise the means would change them.
        after = steps[~np.isin(steps + 1, steps)] + 2
        sampled = np.union1d(steps[~np.isin(steps - 1, steps)], after[after * dt <= t[-1] + slack])
        nearest = np.rint(t / dt)
        at_end = np.abs(t - nearest * dt) <= slack
        step_of_record = np.where(at_end, nearest, np.floor(t / dt)).astype(np.int64)
        # Drop the records in steps with means and in the step after, up to its end, which is sampled.
        within, next_step, two_later = (np.isin(step_of_record - n, steps) for n in range(3))
        kept = np.flatnonzero(~(within | next_step | (at_end & two_later)))
        new = np.concatenate([t[kept], sampled * dt, (steps + 1) * dt])
        order = np.argsort(new, kind="stable")
        ends = np.union1d(steps, steps + 1) * dt
        points = np.union1d(t[(t > ends[0]) & (t < ends[-1])], ends)
        step_of_piece = np.floor(0.5 * (points[1:] + points[:-1]) / dt).astype(np.int64)
        pieces = np.flatnonzero(np.isin(step_of_piece, steps))
        step, width = np.searchsorted(steps, step_of_piece[pieces]), np.diff(points)[pieces]
        share = width / np.bincount(step, width, steps.size)[step]
        is_mean = np.concatenate([np.zeros(kept.size + sampled.size, bool), np.ones(steps.size, bool)])
        at_sampled, at_points = _places(t, sampled * dt), _places(t, points)
        return cls(new[order], is_mean[order], kept, at_sampled, at_points, pieces, share, step, order)

    def __call__(self, values: Float[Array, "time ..."]) -> Float[Array, "new_time ..."]:
        """New records of a leaf with records along its first axis."""
        points = _interpolated(values, *self.points)
        halves = 0.5 * (points[self.pieces] + points[self.pieces + 1])
        n_steps = int(np.count_nonzero(self.is_mean))
        means = jax.ops.segment_sum(
            _like(values, self.share) * halves, self.step, n_steps, indices_are_sorted=True
        )
        return jnp.concatenate([values[self.kept], _interpolated(values, *self.sampled), means])[self.order]


class StepsOfRun(NamedTuple):
    """Steps of a run: length [s], index of the first step, which may be traced, and number of steps."""

    dt: float
    first: int | Int[Array, ""] = 0
    number: int | None = None


class TracedStepMeans(NamedTuple):
    """Like `StepMeans`, for traced times: new records are at the ends of all steps, as means or values."""

    time: Float[Array, " end"]
    is_mean: Bool[Array, " end"]
    ends: tuple[Int[Array, " end"], Array]
    points: tuple[Int[Array, " point"], Array]
    share: Array
    step: Int[Array, " piece"]

    @classmethod
    def of(cls, time: Float[Array, " time"], steps: StepsOfRun) -> "TracedStepMeans | None":
        """Build the operator; `None` without a number of steps, or if records are no finer on average."""
        if steps.number is None or time.shape[0] - 1 <= steps.number:
            return None
        dt = jnp.asarray(steps.dt, time.dtype)
        ends = (jnp.asarray(steps.first, time.dtype) + jnp.arange(steps.number + 1, dtype=time.dtype)) * dt
        slack = jnp.maximum(1e-6 * dt, 8.0 * jnp.finfo(time.dtype).eps * jnp.max(jnp.abs(time)))
        n_fine = jnp.cumsum(jnp.diff(time) < dt - slack)  # intervals shorter than a step before each record
        n_fine = jnp.concatenate([jnp.zeros_like(n_fine[:1]), n_fine])
        first = _traced_places(time, ends[:-1] + slack)[0]
        last = _traced_places(time, ends[1:] - slack)[0] + 1
        is_mean = jnp.concatenate([jnp.zeros(1, bool), n_fine[last] > n_fine[first]])
        points = jnp.sort(jnp.concatenate([time, ends]))
        middle, width = 0.5 * (points[1:] + points[:-1]), jnp.diff(points)
        step = jnp.searchsorted(ends, middle, side="right") - 1
        inside = (middle > ends[0]) & (middle < ends[-1])
        share = jnp.where(inside, width / dt, 0.0)
        places = _traced_places(time, ends), _traced_places(time, points)
        step = jnp.clip(step, 0, steps.number - 1)
        return cls(ends, is_mean, places[0], places[1], share, step)

    def __call__(self, values: Float[Array, "time ..."]) -> Float[Array, "end ..."]:
        points, sampled = _interpolated(values, *self.points), _interpolated(values, *self.ends)
        pieces = _like(values, self.share) * 0.5 * (points[1:] + points[:-1])
        means = jax.ops.segment_sum(pieces, self.step, self.time.size - 1)
        is_mean = self.is_mean[1:].reshape(-1, *(1,) * (values.ndim - 1))
        return sampled.at[1:].set(jnp.where(is_mean, means, sampled[1:]))


def _like(values: Array, numbers: np.ndarray | Array) -> Array:
    """Give one number per record the precision and the axes of values."""
    return jnp.asarray(numbers, values.dtype).reshape(-1, *(1,) * (values.ndim - 1))


def _interpolated(values: Array, before: np.ndarray | Array, weight: np.ndarray | Array) -> Array:
    """Values between the records `before` and the next ones, which have a weight [1]."""
    return values[before] + _like(values, weight) * (values[before + 1] - values[before])


def _traced_places(time: Float[Array, " time"], at: Float[Array, " point"]) -> tuple[Array, Array]:
    """Like `_places`, for traced times."""
    before = jnp.clip(jnp.searchsorted(time, at, side="right") - 1, 0, time.shape[0] - 2)
    return before, jnp.clip((at - time[before]) / (time[before + 1] - time[before]), 0.0, 1.0)


def _places(time: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the last record up to each time, and the weight of the next record [1]."""
    before = np.clip(np.searchsorted(time, at, side="right") - 1, 0, time.size - 2)
    return before, np.clip((at - time[before]) / (time[before + 1] - time[before]), 0.0, 1.0)


def seconds(time: Any, start_time: str | None = None) -> Any:  # array-likes to an array
    """Times of a series [s] since the start of the case, from numbers, durations or dates.

    Args:
        time: array, list or column of a table: numbers [s], `timedelta64`, or dates as `datetime64`,
            `datetime` or ISO 8601 text, in Universal Time unless they have a zone.
        start_time: start of the case, ISO 8601, for dates.

    Raises:
        TypeError: dates without a start, or values that are not times.
    """
    if isinstance(time, jax.Array) or not (hasattr(time, "__array__") or isinstance(time, list | tuple)):
        return time
    times: Any = np.asarray(without_index(time))  # numbers, durations, dates or objects
    if times.dtype.kind in "fiu":
        return jnp.asarray(times, dtype=float)
    if times.dtype.kind in "OU":
        with contextlib.suppress(TypeError, ValueError):  # not dates: the error at the end shows them
            times = np.array([universal(each) for each in times], dtype="datetime64[us]")
    if times.dtype.kind == "M" and start_time is not None:
        start = universal(start_time)
        times = times.astype("datetime64[us]") - np.datetime64(start, "us")
    if times.dtype.kind == "m":
        return jnp.asarray(times / np.timedelta64(1, "s"), dtype=float)
    if times.dtype.kind == "M":
        remedy = "subtract it, or pass start_time to TimeSeries.from_dates or TimeSeriesForcing.from_values"
        raise TypeError(f"time: expected seconds since the start of the case, got dates; {remedy}.")
    raise TypeError(f"time: expected numbers [s] or dates, got {times[:1]}; convert them.")


def universal(date: Any) -> Any:  # text, datetime or a date of pandas
    """A date in Universal Time, without its zone."""
    if isinstance(date, str):
        date = datetime.datetime.fromisoformat(date)
    if not isinstance(date, datetime.datetime):
        raise TypeError(date)
    return date if date.tzinfo is None else date.astimezone(datetime.UTC).replace(tzinfo=None)


class TimeSeries(eqx.Module, Generic[T]):
    """A pytree of arrays over common times.

    Args:
        time: [s] since the start of the case, increasing, shape `(n_times,)`; `from_dates` takes dates.
        values: leaves with `time` as their first axis, `(n_times, ..., *batch)`; columns of pandas and xarray
            are taken in their order, without their index.
        name: used in messages.

    Beyond its ends the series is constant; `simulate` rejects a run that needs values there.

    Raises:
        TypeError: dates as times, or values that are no numbers.
        ValueError: times that do not increase, values of different length, or a value that is not finite,
            with its name and time.
    """

    time: Float[Array, " time"] = array_field(1, is_shared=True, converter=seconds)
    values: T = array_field(1, converter=partial(jax.tree.map, partial(as_float_array, name="values")))
    name: str = eqx.field(default="forcing", static=True)

    @classmethod
    def constant(cls, values: T, name: str = "forcing") -> "TimeSeries[T]":
        """Values constant in time."""
        twice = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf, dtype=float)] * 2), values)
        return cls(jnp.array([-1e12, 1e12]), twice, name)

    @classmethod
    def from_dates(cls, dates: Any, values: T, start_time: str, name: str = "forcing") -> "TimeSeries[T]":
        """Series at dates, for a case that starts at a time.

        Args:
            dates: as `datetime64` or `datetime`, such as the index of a table; Universal Time without a zone.
            start_time: start of the case, ISO 8601, as in `Case`.
        """
        return cls(seconds(dates, start_time), values, name)

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
        # Without barriers, XLA repeats the search for every variable and in every operation that uses it.
        index = lax.optimization_barrier(jnp.clip(after - 1, 0, last))
        start, end = lax.dynamic_slice_in_dim(self.time, index, 2, allow_negative_indices=False)
        weight = lax.optimization_barrier(jnp.clip((time - start) / (end - start), 0.0, 1.0))

        def interpolate(values):
            before, following = lax.dynamic_slice_in_dim(values, index, 2, allow_negative_indices=False)
            return before + weight * (following - before)

        return jax.tree.map(interpolate, self.values)

    def step_means(self, steps: StepsOfRun) -> StepMeans | TracedStepMeans | None:
        """Operator for means over the steps of a run; `None` if no records are closer than the steps."""
        time = self.time
        if not isinstance(time, jax.Array):
            return None
        if is_traced(time):
            time = lax.stop_gradient(time)  # concrete under jax.grad alone, traced under jax.jit
        return TracedStepMeans.of(time, steps) if is_traced(time) else StepMeans.of(time, steps.dt)

    def averaged(self, means: StepMeans | TracedStepMeans | None) -> "TimeSeries[T]":
        """Apply the operator of `step_means`; `None` returns the same series."""
        if means is None:
            return self
        values = jax.tree.map(means, self.values)
        return TimeSeries(jnp.asarray(means.time, self.time.dtype), values, self.name)

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


def over_steps(tree: T, steps: StepsOfRun) -> T:
    """Average series in a module that are finer than the steps of a run."""
    is_series = lambda part: isinstance(part, TimeSeries)  # noqa: E731

    def averaged(part: PyTree) -> PyTree:
        return part.averaged(part.step_means(steps)) if is_series(part) else part

    return jax.tree.map(averaged, tree, is_leaf=is_series)


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
    """Yield the leaves of a tree with their names for messages."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        yield jax.tree_util.keystr(path).lstrip(".") or "the values", leaf
