"""Checkpointing of the time loop: which values reverse mode stores, and which it computes again.

For n steps, with C bytes of state carried between steps, q C bytes of state and solutions of the linear
systems, and R bytes of intermediate results per step (q is 1.75 and R about 10 C for k-epsilon):

    layout                     memory                     steps computed
    SaveEverything()           n R                        n
    SaveSteps()                q n C + R                  2 n, the second time without the linear solves
    SaveSegments()             2 sqrt(q n) C + R          3 n, the third time without the linear solves
    SavePairs()                2 sqrt(q n / 2) C + R      3.5 n, the last time without the linear solves
    SaveSegments(levels=2)     3 (q n)^(1/3) C + R        4 n, the fourth time without the linear solves

`AutoCheckpointing` takes the first of the last four that fits a memory budget. SaveEverything is slower than
these on a CPU, because memory bandwidth limits it. Without a gradient all layouts are equal.
"""

import abc
import itertools
import math
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from ..numerics.tridiagonal import SOLUTION

_STEP_OVER_STATE = 1.75
"""Bytes of state and solutions of a step over bytes of state; k-epsilon has 8 arrays and 6 solutions."""


class Layout(NamedTuple):
    """Values that a loop stores for reverse mode.

    Args:
        checkpoint_steps: whether to store only the state at every step, and recompute its intermediates.
        segments: steps per segment of nested segments, longest first; empty for none.
        in_pairs: whether to store the state at the start of only every second of the shortest segments.
    """

    checkpoint_steps: bool
    segments: tuple[int, ...]
    in_pairs: bool = False

    def kept(self, n_steps: int) -> float:
        """Memory of a checkpointed loop in states: starts of segments, and steps with their solutions."""
        lengths = (n_steps, *self.segments)
        starts = sum(longer / shorter for longer, shorter in itertools.pairwise(lengths))
        return (starts / 2 if self.in_pairs else starts) + _STEP_OVER_STATE * lengths[-1]


class AbstractCheckpointing(eqx.Module):
    """Checkpointing of a loop of steps."""

    @abc.abstractmethod
    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        """Layout of a loop that carries `bytes_per_step` between steps."""


class SaveEverything(AbstractCheckpointing):
    """Store all intermediate results."""

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        return Layout(checkpoint_steps=False, segments=())


class SaveSteps(AbstractCheckpointing):
    """Store the state at every step and the results of its linear solves."""

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        return Layout(checkpoint_steps=True, segments=())


class SaveSegments(AbstractCheckpointing):
    """Store the state at the start of each segment, and `SaveSteps` within the current segment.

    Args:
        steps_per_segment: length of the shortest segments, at least 1; by default the length that needs least
            memory. It is adjusted to a divisor of the run within a factor of two, and to frames.
        levels: 1, or 2 for segments of segments: memory grows with the cube root of the number of steps
            instead of the square root, and every step is computed once more.
    """

    steps_per_segment: int | None = eqx.field(default=None, static=True)
    levels: int = eqx.field(default=1, static=True)

    def __check_init__(self):
        _check_segment(self)
        if self.levels not in (1, 2):
            raise ValueError(f"SaveSegments: expected levels of 1 or 2, got {self.levels}.")

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        # a long segments, b short ones in each, and s steps in a short one take (a + b + q s) C bytes, where
        # q C are the state and the solutions of a step. The minimum is at a = b = q s.
        optimal = (n_steps / _STEP_OVER_STATE**self.levels) ** (1.0 / (1 + self.levels))
        shortest = self.steps_per_segment or max(1, round(optimal))
        if self.levels == 1:
            return Layout(checkpoint_steps=True, segments=(shortest,))
        longer = shortest * max(1, round(math.sqrt(n_steps / shortest)))
        return Layout(checkpoint_steps=True, segments=(longer, shortest))


def _check_segment(layout: "SaveSegments | SavePairs") -> None:
    n = layout.steps_per_segment
    if n is not None and n < 1:
        raise ValueError(f"{type(layout).__name__}: expected steps_per_segment of at least 1, got {n}.")


class SavePairs(AbstractCheckpointing):
    """Store the state at the start of every second segment, and `SaveSteps` within the current segment.

    To compute the start of the other segments again costs half a run; two levels of segments cost a whole
    run. In forward mode, the primal run is also computed up to two and a half times. For second derivatives,
    use forward mode outside (`jax.hessian`); reverse over reverse needs another layout.

    Args:
        steps_per_segment: as in `SaveSegments`.
    """

    steps_per_segment: int | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        _check_segment(self)

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        # The loop stores n / 2s + q s states: the minimum is where both parts are equal.
        shortest = self.steps_per_segment or max(1, round(math.sqrt(n_steps / (2.0 * _STEP_OVER_STATE))))
        return Layout(checkpoint_steps=True, segments=(shortest,), in_pairs=True)


class AutoCheckpointing(AbstractCheckpointing):
    """The first layout that fits a memory budget: steps, segments, pairs, or two levels of segments.

    The memory, which decreases in this order, is estimated from shapes; the last layout need not fit.

    Args:
        memory_budget: bytes that the loop may store. On a CPU, a loop that stores more than some 24 MB takes
            longer than one that recomputes.
    """

    memory_budget: int = eqx.field(default=2**25, static=True)

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        candidates = SaveSteps(), SaveSegments(), SavePairs(), SaveSegments(levels=2)
        layouts = [candidate.layout(bytes_per_step, n_steps) for candidate in candidates]
        fits = (each for each in layouts if each.kept(n_steps) * bytes_per_step <= self.memory_budget)
        return next(fits, layouts[-1])


def shared_among(n: int, checkpointing: AbstractCheckpointing) -> AbstractCheckpointing:
    """Checkpointing for each of n loops that store their intermediates at the same time."""
    if not isinstance(checkpointing, AutoCheckpointing):
        return checkpointing
    return AutoCheckpointing(memory_budget=max(1, checkpointing.memory_budget // n))


def _near_divisor(n: int, target: int) -> int:
    """Divisor of n nearest to the target, or the target itself if none is within a factor of two."""
    candidates = [d for d in range((target + 1) // 2, 2 * target + 1) if n % d == 0]
    return min(candidates, key=lambda d: abs(math.log(d / target)), default=target)


def _row(tree: PyTree, index) -> PyTree:
    return jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, index, 0, keepdims=False), tree)


@eqx.filter_custom_jvp
def _two_turns(run, carry, inputs):
    """`lax.scan` over two turns of `run`; reverse mode stores `carry` and the intermediates of one turn."""
    return lax.scan(lambda *step_input: run(*step_input), carry, inputs, 2)


@_two_turns.def_jvp
def _(primals, tangents):
    run, start, inputs = primals
    run_change, change, input_changes = tangents

    def direction(x, change):
        return jnp.zeros_like(x) if change is None and eqx.is_inexact_array(x) else change

    is_none = lambda x: x is None  # noqa: E731
    change = jax.tree.map(direction, start, change, is_leaf=is_none)
    tangents_of_turn = run_change, change, _row(input_changes, 0)
    is_varied = jax.tree.map(lambda _, move: move is not None, primals, tangents_of_turn, is_leaf=is_none)

    def linearised(here, step_input):
        """Result of a turn, and its derivative: a function that holds the intermediates."""
        varied, fixed = eqx.partition((run, here, step_input), is_varied)

        def ends(varied):
            run, here, step_input = eqx.combine(varied, fixed)
            return eqx.partition(run(here, step_input), eqx.is_inexact_array)

        end, derivative, constant = jax.linearize(ends, varied, has_aux=True)
        return eqx.combine(end, constant)[0], derivative

    def pull(change, step_input):
        # The second turn starts where the first ends. The linearising code also computes the first turn
        # again, without using its derivative, because separate code would take longer to compile.
        index, input_change = step_input
        # Any: out_struct is untyped
        advance: Any = eqx.filter_closure_convert(linearised, start, _row(inputs, 0))
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), advance.out_struct[1])
        _, derivative = lax.fori_loop(
            0, index + 1, lambda i, current: advance(current[0], _row(inputs, i)), (start, zeros)
        )
        return derivative((run_change, change, input_change))

    turns = jnp.arange(2), input_changes
    return _two_turns(run, start, inputs), lax.scan(jax.checkpoint(pull, prevent_cse=False), change, turns)


def _split(tree: PyTree, n: int, size: int) -> PyTree:
    """Split the first `n * size` entries of the leading axis into `n` parts."""
    return jax.tree.map(lambda x: x[: n * size].reshape((n, size) + x.shape[1:]), tree)


def _join(tree: PyTree) -> PyTree:
    """Merge the two leading axes."""
    return jax.tree.map(lambda x: x.reshape((-1,) + x.shape[2:]), tree)


def _segmented_scan(run, carry, inputs, length: int, segments: tuple[int, ...], in_pairs: bool = False):
    """Call `run(carry, inputs, turns)` by segments; reverse mode stores only their starts.

    `segments` are lengths in turns, longest first; with `in_pairs` every second of the shortest is stored.
    """
    if not segments:
        return run(carry, inputs, length)
    n_parts = 2 if in_pairs and len(segments) == 1 else 1
    part = _near_divisor(max(1, length // n_parts), segments[0])
    size = n_parts * part
    if part >= length or size > length:
        return _segmented_scan(run, carry, inputs, length, segments[1:], in_pairs)

    def segment(carry, inputs):
        if n_parts == 2:  # reverse mode stores the start of the first only
            halves = _split(inputs, 2, part)
            run_half = lambda carry, inputs: run(carry, inputs, part)  # noqa: E731
            run_half = eqx.filter_closure_convert(run_half, carry, _row(halves, 0))
            carry, outputs = _two_turns(run_half, carry, halves)
            return carry, _join(outputs)
        return _segmented_scan(run, carry, inputs, size, segments[1:], in_pairs)

    n_segments = length // size
    # The scan around the segments already prevents XLA from merging the two passes.
    segment = jax.checkpoint(segment, prevent_cse=False)
    carry, outputs = lax.scan(segment, carry, _split(inputs, n_segments, size), n_segments)
    outputs = _join(outputs)
    rest = length - n_segments * size
    if rest:
        last_inputs = jax.tree.map(lambda x: x[-rest:], inputs)
        carry, last = _segmented_scan(run, carry, last_inputs, rest, segments[1:], in_pairs)
        outputs = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), outputs, last)
    return carry, outputs


def _run_frames(step, save, carry, inputs, n_frames: int, steps_per_frame: int):
    """Run frames in a single loop over steps: reverse mode would store the steps of an inner loop twice."""

    def advance(current, i):
        carry, ends = current
        carry = step(carry)
        # Every step overwrites its frame; the last one remains.
        ends = jax.tree.map(
            lambda rows, x: lax.dynamic_update_index_in_dim(rows, x, i // steps_per_frame, 0), ends, carry
        )
        return (carry, ends), None

    ends = jax.tree.map(lambda x: jnp.broadcast_to(lax.stop_gradient(x), (n_frames, *x.shape)), carry)
    (carry, ends), _ = lax.scan(advance, (carry, ends), jnp.arange(n_frames * steps_per_frame))
    return carry, lax.map(lambda frame: save(*frame), (ends, inputs))


def scan_frames(
    step, save, carry, *, n_frames: int, steps_per_frame: int, checkpointing, inputs: PyTree = None
):
    """Run `n_frames * steps_per_frame` steps, at least one, and save after each frame.

    Args:
        step: function from carry to carry.
        save: function from carry and the inputs of a frame to the stored variables of the frame.
        inputs: pytree passed to `save`, with a leading axis of `n_frames`.

    Returns the last carry, and the saved variables with a leading axis of `n_frames`.
    """
    bytes_per_step = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry))
    layout = checkpointing.layout(bytes_per_step, n_frames * steps_per_frame)
    if layout.checkpoint_steps:
        policy = jax.checkpoint_policies.save_only_these_names(SOLUTION)
        step = jax.checkpoint(step, prevent_cse=False, policy=policy)
    # Segments shorter than half a frame lie within frames; others consist of whole frames.
    in_frame = tuple(s for s in layout.segments if steps_per_frame >= 2 * s)
    of_frames = tuple(max(1, round(s / steps_per_frame)) for s in layout.segments if steps_per_frame < 2 * s)

    if of_frames and not in_frame:

        def run(carry, inputs, length):
            return _run_frames(step, save, carry, inputs, length, steps_per_frame)

        return _segmented_scan(run, carry, inputs, n_frames, of_frames, layout.in_pairs)

    def run_steps(carry, _, length):
        return lax.scan(lambda c, _: (step(c), None), carry, None, length)

    def frame(carry, frame_inputs):
        carry, _ = _segmented_scan(run_steps, carry, None, steps_per_frame, in_frame, layout.in_pairs)
        return carry, save(carry, frame_inputs)

    return _segmented_scan(partial(lax.scan, frame), carry, inputs, n_frames, of_frames)
