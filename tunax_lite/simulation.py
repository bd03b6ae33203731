"""Run a model on a case: a scan over saved frames of a scan over time steps."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._types import ScalarLike, is_traced, parameter_batch_shape
from .case import Case
from .checkpointing import AbstractCheckpointing, Auto, scan_frames
from .model import Model
from .trajectory import Restart, Trajectory


def count_steps(interval: float, dt: float, name: str, unit: str = "dt") -> int:
    """Number of steps of `dt` in an interval [s]; `name` and `unit` are what messages call the two.

    Raises:
        ValueError: an interval that is not a positive multiple of the step.
    """
    if not (math.isfinite(dt) and dt > 0.0):
        raise ValueError(f"simulate: expected a positive dt [s], got {dt}.")
    n = round(interval / dt) if math.isfinite(interval) else 0
    if n < 1 or abs(n * dt - interval) > 1e-9 * abs(interval):
        raise ValueError(
            f"simulate: expected {name} to be a positive multiple of {unit} = {dt:g} s, got {interval:g} s."
        )
    return n


def batched_case(model: Model, case: Case) -> Case:
    """The case with its state and grid spread over the common batch shape of model and case."""
    batch_shape = np.broadcast_shapes(case.batch_shape, parameter_batch_shape(model))
    replacement = (
        case.grid.with_batch_rank(len(batch_shape)),
        case.initial_state.broadcast(batch_shape),
    )
    return eqx.tree_at(lambda c: (c.grid, c.initial_state), case, replacement)


def start_of(model: Model, case: Case) -> Restart:
    """State, closure state and step counter at the start of a case."""
    return Restart(case.initial_state, model.init(case), jnp.zeros((), jnp.int32))


def run_frames(
    model: Model,
    case: Case,
    start: Restart,
    dt: ScalarLike,
    *,
    n_frames: int,
    steps_per_frame: int,
    checkpointing: AbstractCheckpointing,
    save=lambda restart: restart,
):
    """The time loop alone, for callers that save something else than whole states.

    Args:
        model, case: the case spread over its batch by `batched_case`.
        start: from `start_of` or `Trajectory.restart`.
        dt: time step [s].
        n_frames, steps_per_frame: length of the run.
        checkpointing: what reverse mode keeps.
        save: function from `Restart` to what is kept of a frame.

    Returns:
        What was saved, with a leading axis of `n_frames`; the start is not among it.
    """
    dt = jnp.asarray(dt, dtype=case.grid.z_face.dtype)
    model = eqx.tree_at(lambda m: m.closure, model, model.closure.prepare())

    def step(current: Restart) -> Restart:
        time = current.step.astype(dt.dtype) * dt
        state, clo_state = model.step(current.state, current.clo_state, case, time, dt)
        return Restart(state, clo_state, current.step + 1)

    _, saved = scan_frames(
        step,
        save,
        start,
        n_frames=n_frames,
        steps_per_frame=steps_per_frame,
        checkpointing=checkpointing,
    )
    return saved


@eqx.filter_jit
def _simulate(model, case, start, dt, n_frames, steps_per_frame, checkpointing) -> Trajectory:
    case = batched_case(model, case)
    start = start_of(model, case) if start is None else start
    saved = run_frames(
        model,
        case,
        start,
        dt,
        n_frames=n_frames,
        steps_per_frame=steps_per_frame,
        checkpointing=checkpointing,
    )
    frames = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, saved)
    time = frames.step.astype(dt.dtype) * dt
    return Trajectory(case.grid, time, frames.step, frames.state, frames.clo_state)


def simulate(
    model: Model,
    case: Case,
    *,
    dt: float = 60.0,
    duration: float | None = None,
    output_interval: float = 600.0,
    checkpointing: AbstractCheckpointing | None = None,
    start: Restart | None = None,
) -> Trajectory:
    """Run a model on a case.

    Args:
        model: closure and time scheme.
        case: one column or a batch; parameters of the model with a batch axis make an ensemble.
        dt: time step [s].
        duration: length of the run [s], a multiple of `output_interval`; by default that of the case,
            less what lies before `start`.
        output_interval: time between saved frames [s], a multiple of `dt`.
        checkpointing: what reverse mode keeps; see `checkpointing`.
        start: goes on from a frame of an earlier run, `Trajectory.restart(frame)`; the same `dt` then
            gives the same numbers bit by bit. By default the initial state of the case.

    Returns:
        The start and all frames. Values that are not finite are returned, not raised: see
        `first_non_finite`.

    Raises:
        ValueError: times that do not fit each other, or a forcing that does not cover the run.
    """
    steps_per_frame = count_steps(output_interval, dt, "output_interval")
    begin = 0.0
    if start is not None and not is_traced(start.step):
        begin = float(start.step) * dt
    length = case.duration - begin if duration is None else duration
    n_frames = count_steps(length, output_interval, "the duration (or what is left of it)", "output_interval")
    if not is_traced(case.forcing):
        case.forcing.check_covers(begin, begin + length)
    return _simulate(
        model,
        case.unlabelled(),
        start,
        jnp.asarray(dt, dtype=case.grid.z_face.dtype),
        n_frames,
        steps_per_frame,
        Auto() if checkpointing is None else checkpointing,
    )


def first_non_finite(trajectory: Trajectory) -> tuple[str, float] | None:
    """Variable and time [s] of the first saved value that is not finite; `None` if all are."""
    found = None
    both = (trajectory.state, trajectory.clo_state)
    for path, leaf in jax.tree_util.tree_leaves_with_path(both):
        values = np.asarray(leaf)
        bad = ~np.isfinite(values.reshape(values.shape[0], -1)).all(axis=1)
        if bad.any():
            time = float(trajectory.time[int(np.argmax(bad))])
            if found is None or time < found[1]:
                found = (jax.tree_util.keystr(path[1:]).lstrip("."), time)
    return found
