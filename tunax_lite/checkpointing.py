"""What the time loop keeps for reverse-mode differentiation, and what it computes again.

For n steps, with C bytes of state (what a step hands to the next) and R bytes of intermediate results
per step (R is about 13 C for k-epsilon):

    layout            memory            steps computed
    SaveEverything    n R               n
    SaveSteps         2 n C + R         2 n, the second time without the linear solves
    SaveSegments      3 sqrt(n) C + R   3 n, the third time without the linear solves

`Auto` takes SaveSteps where it fits a memory budget, and SaveSegments otherwise; SaveEverything is
slower than both on a CPU, because it is bound by memory traffic. Without a gradient all are the same.
"""

import abc
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from .numerics.tridiagonal import SOLUTION


class Layout(NamedTuple):
    """What a loop keeps: the state before every step or all intermediates, in segments or not."""

    checkpoint_steps: bool
    steps_per_segment: int | None


class AbstractCheckpointing(eqx.Module):
    """How a loop of steps is checkpointed."""

    @abc.abstractmethod
    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        """The layout of a loop whose steps each hand on `bytes_per_step`."""


class SaveEverything(AbstractCheckpointing):
    """Keep all intermediate results."""

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        del bytes_per_step, n_steps
        return Layout(checkpoint_steps=False, steps_per_segment=None)


class SaveSteps(AbstractCheckpointing):
    """Keep the state at every step and the results of its linear solves."""

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        del bytes_per_step, n_steps
        return Layout(checkpoint_steps=True, steps_per_segment=None)


class SaveSegments(AbstractCheckpointing):
    """Keep the state every `steps_per_segment` steps, and `SaveSteps` within the segment at work.

    Args:
        steps_per_segment: by default the square root of the number of steps, which needs least memory;
            the nearest number that divides the run evenly is taken where there is one.

    Raises:
        ValueError: a segment of less than one step.
    """

    steps_per_segment: int | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        if self.steps_per_segment is not None and self.steps_per_segment < 1:
            raise ValueError(
                f"SaveSegments: expected steps_per_segment of at least 1, got {self.steps_per_segment}."
            )

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        del bytes_per_step
        segment = self.steps_per_segment or max(1, round(math.sqrt(n_steps)))
        return Layout(checkpoint_steps=True, steps_per_segment=segment)


class Auto(AbstractCheckpointing):
    """`SaveSteps` where it fits the memory budget, `SaveSegments` otherwise.

    Args:
        memory_budget: bytes for what the loop keeps.
    """

    memory_budget: int = eqx.field(default=2**28, static=True)

    def layout(self, bytes_per_step: int, n_steps: int) -> Layout:
        # The solutions that a step keeps are about as large as the state it hands on.
        fits = 2 * bytes_per_step * n_steps <= self.memory_budget
        return (SaveSteps() if fits else SaveSegments()).layout(bytes_per_step, n_steps)


def _near_divisor(n: int, target: int) -> int:
    """Divisor of n nearest to the target, or the target itself if none is within a factor of two."""
    candidates = [d for d in range((target + 1) // 2, 2 * target + 1) if n % d == 0]
    return min(candidates, key=lambda d: abs(math.log(d / target)), default=target)


def _loop(body, carry, length: int):
    return jax.lax.scan(lambda c, _: body(c), carry, length=length)


def scan_frames(step, save, carry, *, n_frames: int, steps_per_frame: int, checkpointing):
    """Run `n_frames * steps_per_frame` steps and save after each frame.

    Args:
        step: function from carry to carry.
        save: function from carry to what is kept of a frame.
        carry: start.
        n_frames: number of frames, at least 1.
        steps_per_frame: at least 1.
        checkpointing: what reverse mode keeps.

    Returns:
        The last carry, and what was saved, with a leading axis of `n_frames`.
    """
    bytes_per_step = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry))
    layout = checkpointing.layout(bytes_per_step, n_frames * steps_per_frame)
    segment = layout.steps_per_segment
    if layout.checkpoint_steps:
        policy = jax.checkpoint_policies.save_only_these_names(SOLUTION)
        # The scan around the step already keeps XLA from merging the two passes.
        step = jax.checkpoint(step, prevent_cse=False, policy=policy)

    def steps(carry, length):
        return _loop(lambda c: (step(c), None), carry, length)[0]

    def segmented_steps(carry, length, per_segment):
        run = jax.checkpoint(lambda c: (steps(c, per_segment), None), prevent_cse=False)
        carry, _ = _loop(run, carry, length // per_segment)
        rest = length % per_segment
        return steps(carry, rest) if rest else carry

    def frame(carry):
        if segment is not None and steps_per_frame >= 2 * segment:
            carry = segmented_steps(carry, steps_per_frame, _near_divisor(steps_per_frame, segment))
        else:
            carry = steps(carry, steps_per_frame)
        return carry, save(carry)

    if segment is None or steps_per_frame >= 2 * segment:
        return _loop(frame, carry, n_frames)
    # Several frames make a segment.
    group = min(n_frames, _near_divisor(n_frames, max(1, segment // steps_per_frame)))
    run = jax.checkpoint(lambda c: _loop(frame, c, group), prevent_cse=False)
    carry, saved = _loop(run, carry, n_frames // group)
    saved = jax.tree.map(lambda x: x.reshape((-1,) + x.shape[2:]), saved)
    rest = n_frames % group
    if rest:
        carry, last = _loop(frame, carry, rest)
        saved = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), saved, last)
    return carry, saved
