"""What the time loop keeps for reverse-mode differentiation, and what it computes again.

For n steps, with C bytes of state (what a step hands to the next), q C bytes of state and solutions of the
linear systems, and R bytes of intermediate results per step (q is 1.75 and R about 10 C for k-epsilon):

    layout                     memory                     steps computed
    SaveEverything()           n R                        n
    SaveSteps()                q n C + R                  2 n, the second time without the linear solves
    SaveSegments()             2 sqrt(q n) C + R          3 n, the third time without the linear solves
    SaveSegments(levels=2)     3 (q n)^(1/3) C + R        4 n, the fourth time without the linear solves

`Auto` takes the first of the last three that fits a memory budget; SaveEverything is slower than all of them
on a CPU, because it is bound by memory traffic. Without a gradient all are the same.
"""

import abc
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from .numerics.tridiagonal import SOLUTION

_STEP_OVER_STATE = 1.75
"""Bytes of state and solutions of a step over bytes of state; k-epsilon has 8 arrays and 6 solutions."""


class Layout(NamedTuple):
    """What a loop keeps: the state before every step or all intermediates, in nested segments or not.

    Args:
        checkpoint_steps: compute the intermediates of a step again.
        segments: steps per segment, the longest first; empty for none.
    """

    checkpoint_steps: bool
    segments: tuple[int, ...]


class AbstractCheckpointing(eqx.Module):
    """How a loop of steps is checkpointed."""

    @abc.abstractmethod
    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        """The layout of a loop whose steps each hand on `bytes_per_step`."""


class SaveEverything(AbstractCheckpointing):
    """Keep all intermediate results."""

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        del bytes_per_step, n_steps
        return Layout(checkpoint_steps=False, segments=())


class SaveSteps(AbstractCheckpointing):
    """Keep the state at every step and the results of its linear solves."""

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        del bytes_per_step, n_steps
        return Layout(checkpoint_steps=True, segments=())


class SaveSegments(AbstractCheckpointing):
    """Keep the state at the segments' starts, and `SaveSteps` within the segment at work.

    Args:
        steps_per_segment: length of the shortest segments; by default what needs least memory; the nearest
            number that divides the run evenly is taken where there is one.
        levels: 1, or 2 for segments of segments: memory grows with the cube root of the number of steps
            instead of the square root, and every step is computed once more.

    Raises:
        ValueError: a segment of less than one step, or other levels than 1 and 2.
    """

    steps_per_segment: int | None = eqx.field(default=None, static=True)
    levels: int = eqx.field(default=1, static=True)

    def __check_init__(self):
        if self.steps_per_segment is not None and self.steps_per_segment < 1:
            raise ValueError(
                f"SaveSegments: expected steps_per_segment of at least 1, got {self.steps_per_segment}."
            )
        if self.levels not in (1, 2):
            raise ValueError(f"SaveSegments: expected levels of 1 or 2, got {self.levels}.")

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        del bytes_per_step
        # With a and b segments, and s steps in the shortest, the loop keeps (a + b + q s) states of C bytes
        # each, where q C are the state and the solutions of a step; least for a = b = q s.
        least = (n_steps / _STEP_OVER_STATE**self.levels) ** (1.0 / (1 + self.levels))
        shortest = self.steps_per_segment or max(1, round(least))
        if self.levels == 1:
            return Layout(checkpoint_steps=True, segments=(shortest,))
        longer = shortest * max(1, round(math.sqrt(n_steps / shortest)))
        return Layout(checkpoint_steps=True, segments=(longer, shortest))


class Auto(AbstractCheckpointing):
    """The first of `candidates`, which get slower and need less memory, that fits a memory budget.

    Inside of a traced function what a layout keeps is estimated from the shapes; `choose_checkpointing` and
    calibrations compile the candidates and ask XLA.

    Args:
        memory_budget: bytes for what the loop keeps.
    """

    memory_budget: int = eqx.field(default=2**28, static=True)

    @property
    def candidates(self) -> tuple[AbstractCheckpointing, ...]:
        return SaveSteps(), SaveSegments(), SaveSegments(levels=2)

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        *others, frugal = self.candidates
        for candidate in others:
            layout = candidate.layout(bytes_per_step, n_steps)
            if _kept_bytes(layout, bytes_per_step, n_steps) <= self.memory_budget:
                return layout
        return frugal.layout(bytes_per_step, n_steps)


def _kept_bytes(layout: Layout, bytes_per_step: int, n_steps: int) -> float:
    """What a loop keeps with its steps checkpointed: the starts of segments, and steps with solutions."""
    lengths = (n_steps, *layout.segments)
    starts = sum(longer / shorter for longer, shorter in zip(lengths[:-1], lengths[1:], strict=True))
    return (starts + _STEP_OVER_STATE * lengths[-1]) * bytes_per_step


def _near_divisor(n: int, target: int) -> int:
    """Divisor of n nearest to the target, or the target itself if none is within a factor of two."""
    candidates = [d for d in range((target + 1) // 2, 2 * target + 1) if n % d == 0]
    return min(candidates, key=lambda d: abs(math.log(d / target)), default=target)


def _segmented_scan(body, carry, inputs, length: int, segments: tuple[int, ...]):
    """`lax.scan` of which reverse mode keeps the carry at the starts of segments only.

    Args:
        body, carry, inputs, length: as for `lax.scan`.
        segments: turns of `body` per segment, the longest first.
    """
    size = _near_divisor(length, segments[0]) if segments else length
    if size >= length:
        if not segments:
            return lax.scan(body, carry, inputs, length)
        return _segmented_scan(body, carry, inputs, length, segments[1:])

    def run(carry, inputs, length=size):
        return _segmented_scan(body, carry, inputs, length, segments[1:])

    n_segments = length // size
    whole = jax.tree.map(lambda x: x[: n_segments * size].reshape((n_segments, size) + x.shape[1:]), inputs)
    # The scan around the segments already keeps XLA from merging the two passes.
    carry, outputs = lax.scan(jax.checkpoint(run, prevent_cse=False), carry, whole, n_segments)
    outputs = jax.tree.map(lambda x: x.reshape((-1,) + x.shape[2:]), outputs)
    rest = length - n_segments * size
    if rest:
        carry, last = run(carry, jax.tree.map(lambda x: x[-rest:], inputs), rest)
        outputs = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), outputs, last)
    return carry, outputs


def scan_frames(
    step, save, carry, *, n_frames: int, steps_per_frame: int, checkpointing, inputs: PyTree = None
):
    """Run `n_frames * steps_per_frame` steps and save after each frame.

    Args:
        step: function from carry to carry.
        save: function from carry and the inputs of a frame to what is kept of the frame.
        carry: start.
        n_frames: number of frames, at least 1.
        steps_per_frame: at least 1.
        checkpointing: what reverse mode keeps.
        inputs: pytree of what `save` gets, with a leading axis of `n_frames`.

    Returns:
        The last carry, and what was saved, with a leading axis of `n_frames`.
    """
    bytes_per_step = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry))
    layout = checkpointing.layout(bytes_per_step, n_frames * steps_per_frame)
    if layout.checkpoint_steps:
        policy = jax.checkpoint_policies.save_only_these_names(SOLUTION)
        step = jax.checkpoint(step, prevent_cse=False, policy=policy)
    # Segments shorter than half a frame lie in the frames, the others are whole frames.
    in_frame = tuple(s for s in layout.segments if steps_per_frame >= 2 * s)
    of_frames = tuple(max(1, s // steps_per_frame) for s in layout.segments if steps_per_frame < 2 * s)

    def frame(carry, given):
        carry, _ = _segmented_scan(lambda c, _: (step(c), None), carry, None, steps_per_frame, in_frame)
        return carry, save(carry, given)

    return _segmented_scan(frame, carry, inputs, n_frames, of_frames)
