"""The result of a run: states and closure states with a leading time axis."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from ..closures.base import AbstractCloState
from ..views import AbstractShown
from .grid import Grid
from .state import State


class Restart(eqx.Module):
    """Start of a continued run: state, closure state and number of steps since the start of the case."""

    state: State
    clo_state: AbstractCloState
    step: Int[Array, ""]


def prognostic_variables(state: State, clo_state: AbstractCloState) -> dict[str, PyTree]:
    """Prognostic variables by name: those of the state, and those of the closure state and its parts."""
    variables = {name: getattr(state, name) for name in ("temperature", "salinity", "u", "v")}
    variables |= state.tracers | state.surface
    pending = [clo_state]
    while pending:
        part = pending.pop()
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            if isinstance(value, AbstractCloState):
                pending.append(value)
            elif value is not None:
                variables[field.name] = value
    return variables


class Means(eqx.Module):
    """Means over the steps since the previous frame; the first frame is its own mean.

    Args:
        state, clo_state: leaves as in a trajectory; integers and switches, which have no mean, are those of
            the last step.
        since: start of the averaging intervals [s], `(n_frames,)`; they end at the frames.
        others: diagnostics and effects of terms by name, as requested by `simulate(means=...)`; effects
            of terms are zero in the first frame.
    """

    state: State
    clo_state: AbstractCloState
    since: Float[Array, " time"]
    others: dict[str, Float[Array, "time ..."]] = eqx.field(default_factory=dict)


class Trajectory(AbstractShown):
    """Saved frames of a run; the first is the state that the run started from.

    Args:
        time, step: time of the frames [s] and number of steps since the start of the case, `(n_frames,)`.
        state: leaves `(n_frames, n_cells, *batch)`; those of `surface` are `(n_frames, *batch)`.
        clo_state: leaves `(n_frames, n_faces, *batch)`; some closures have leaves on cells, or one per
            column.
        means: means over the time between frames, if requested.
        step_starts: start of the last step before each frame, if requested, with leaves as above; the first
            frame, which no step precedes, is its own start.
    """

    grid: Grid
    time: Float[Array, " time"]
    step: Int[Array, " time"]
    state: State
    clo_state: AbstractCloState
    means: Means | None = None
    step_starts: Restart | None = None

    @property
    def n_frames(self) -> int:
        return self.time.shape[0]

    def restart(self, frame: int = -1) -> Restart:
        """Return the restart at a frame; with the same `dt` the continued run is bit-identical."""
        if not -self.n_frames <= frame < self.n_frames:
            raise ValueError(f"restart: expected a frame of 0 to {self.n_frames - 1}, got {frame}.")
        take = lambda leaf: jnp.asarray(leaf)[frame]  # noqa: E731
        return Restart(*jax.tree.map(take, (self.state, self.clo_state, self.step)))


def first_non_finite(trajectory: Trajectory) -> tuple[str, float] | None:
    """Variable and time [s] of the first saved value that is not finite; `None` if all are."""
    non_finite = []
    for path, leaf in jax.tree_util.tree_leaves_with_path((trajectory.state, trajectory.clo_state)):
        values = np.asarray(leaf)
        bad = ~np.isfinite(values.reshape(values.shape[0], -1)).all(axis=1)
        if bad.any():
            name = jax.tree_util.keystr(path[1:]).lstrip(".")
            non_finite.append((name, float(trajectory.time[int(np.argmax(bad))])))
    # A level that leaves its basin makes everything in that frame non-finite: report the cause first.
    return min(non_finite, key=lambda entry: (entry[1], not entry[0].startswith("surface")), default=None)
