"""Runs written piece by piece, so that they need little memory and report their progress.

A piece takes about a second to compute, and its frames fit into a memory budget. Pieces are appended to a
temporary file, which is renamed at the end.
"""

import functools
import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import numpy as np

from ..column.averages import TENDENCIES, Averaged
from ..column.case import Case
from ..column.diagnostics import OF_THE_STEP, diagnose
from ..column.integrate import length_of_run, restart_of, simulate
from ..column.model import Model
from ..column.terms import ELEVATION
from ..column.trajectory import Restart, Trajectory, first_non_finite
from ..io.dataset import appending_frames, to_dataset
from ..io.provenance import Provenance

_WORK_OF_A_PIECE = 4_000_000
"""Largest product of cells and steps in a piece: about a second for one column, less for a batch."""


def run_to_file(
    model: Model,
    case: Case,
    path,
    *,
    dt: float,
    duration: float,
    output_interval: float,
    start: Restart | None = None,
    diagnostics: Sequence[str] = (),
    means: bool | Sequence[str] = False,
    provenance: Provenance | None = None,
    memory_budget: int = 2**26,
    report: Callable[[Trajectory], None] = lambda piece: None,
) -> None:
    """Run a model on a case and write the trajectory piece by piece.

    Args:
        model, case, dt, duration, output_interval, start: as in `simulate`.
        diagnostics: names of `DIAGNOSTICS`.
        means: averages between frames, as in `simulate`.
        provenance: as in `to_dataset`.
        memory_budget: approximate size of the frames held at once [bytes].
        report: called with each piece; an exception ends the run.

    Raises:
        FloatingPointError: a value that is not finite.
        ValueError: errors of `simulate`.
    """
    n_frames, steps_per_frame, rest = length = length_of_run(duration, output_interval, dt)
    step_starts = bool(OF_THE_STEP.intersection(diagnostics))
    names = Averaged.of(means).names
    # Every term has a profile of tendencies for each quantity: together about four times a frame.
    budget = memory_budget // (1 + bool(means) + step_starts + bool(names) + 4 * (TENDENCIES in names))
    piece = _frames_at_once(model, case, start, length.n_all, steps_per_frame, budget)
    piece = max(1, min(piece, n_frames))
    run = functools.partial(simulate, model, case, dt=dt, means=means, step_starts=step_starts)

    def compute(frames: int, restart: Restart | None, interval: float = output_interval) -> Trajectory:
        trajectory = run(duration=frames * interval, output_interval=interval, start=restart)
        bad = first_non_finite(jax.block_until_ready(trajectory))
        if bad is not None:
            advice = "try a shorter time step, or other parameters"
            level = trajectory.state.surface.get(ELEVATION)
            if level is not None and bool(np.any(np.isinf(np.asarray(level)))):
                advice = "the lake left its hypsography: extend it, or correct streams, rain and evaporation"
            raise FloatingPointError(
                f"{case.name}: expected finite values, got a {bad[0]} that is not, first at {bad[1]:g} s; "
                f"nothing was written; {advice}."
            )
        return trajectory

    done, last = 0, None
    with appending_frames(path) as append:
        while done < length.n_all:
            # The last frame is shorter if the output interval does not divide the duration.
            is_rest = done == n_frames
            # The last piece starts earlier, repeating known frames, so that no new program is compiled.
            frames, n_repeated = (1, 0) if is_rest else (piece, max(0, done + piece - n_frames))
            n_known = 1 if last is None else last.n_frames
            if n_repeated >= n_known:  # it would start before the previous piece
                frames, n_repeated = n_frames - done, 0
            if last is not None:
                start = last.restart(-1 - n_repeated)
            elif start is None and frames < n_frames:
                start = restart_of(model, case)
            last = compute(frames, start, rest * dt if is_rest else output_interval)
            diagnosed = diagnose(last, case, diagnostics, model)
            dataset = to_dataset(
                last,
                case=case,
                closure=model.closure,
                diagnostics=diagnosed,
                provenance=provenance,
                dates=False,
            )
            # The first frame of a piece is the last of the previous one.
            append(dataset if done == 0 else dataset.isel(time=slice(1 + n_repeated, None)))
            done += frames - n_repeated
            report(last)


def _frames_at_once(
    model: Model, case: Case, start: Restart | None, n_frames: int, steps_per_frame: int, memory_budget: int
) -> int:
    """Number of frames per piece, the same for all: limited by memory and work."""
    shapes = start if start is not None else eqx.filter_eval_shape(restart_of, model, case)
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
    fitting = max(1, min(n_frames, memory_budget // size))
    work = shapes.state.temperature.size * steps_per_frame
    n_pieces = math.ceil(n_frames / max(1, min(fitting, _WORK_OF_A_PIECE // work)))
    return math.ceil(n_frames / n_pieces)
