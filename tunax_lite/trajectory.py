"""The result of a run: states and closure states with a leading time axis."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from .closures.base import CloState
from .grid import Grid
from .state import State


class Restart(eqx.Module):
    """Where a run can go on: a state, a closure state and the number of steps behind them."""

    state: State
    clo_state: CloState
    step: Int[Array, ""]


def carried(state: State, clo_state: CloState) -> dict[str, PyTree]:
    """What a run carries from step to step, by name: water, tracers, ice, level, and the closure's own."""
    found = {name: getattr(state, name) for name in ("temperature", "salinity", "u", "v")}
    found |= state.tracers | state.surface
    pending = [clo_state]
    while pending:
        part = pending.pop()
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            if isinstance(value, CloState):
                pending.append(value)
            elif value is not None:
                found[field.name] = value
    return found


class Means(eqx.Module):
    """Means over the steps since the frame before; of the first frame, its own values.

    Args:
        state, clo_state: leaves as in a trajectory; what is no real number is that of the last step.
        since: beginning of the intervals [s], `(n_frames,)`; they end at the frames.
    """

    state: State
    clo_state: CloState
    since: Float[Array, " time"]


class Trajectory(eqx.Module):
    """Saved frames of a run; the first is the state the run started from.

    Args:
        time, step: of the frames [s], and steps made, since the start of the case, `(n_frames,)`.
        state: leaves `(n_frames, n_cells, *batch)`.
        clo_state: leaves `(n_frames, n_faces, *batch)`; some closures have some on cells, or one per column.
        means: over the time between frames, where they were asked for.
        step_starts: what the last step before each frame started from, where it was asked for, leaves as
            above; of a frame before which no step was made, the frame.
    """

    grid: Grid
    time: Float[Array, " time"]
    step: Int[Array, " time"]
    state: State
    clo_state: CloState
    means: Means | None = None
    step_starts: Restart | None = None

    @property
    def n_frames(self) -> int:
        return self.time.shape[0]

    def restart(self, frame: int = -1) -> Restart:
        """Start of a run that continues from a frame, bit-identical to an uninterrupted one."""
        if not -self.n_frames <= frame < self.n_frames:
            raise ValueError(f"restart: expected a frame of 0 to {self.n_frames - 1}, got {frame}.")
        take = lambda leaf: jnp.asarray(leaf)[frame]  # noqa: E731
        return Restart(*jax.tree.map(take, (self.state, self.clo_state, self.step)))
