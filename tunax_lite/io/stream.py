"""Runs that are written while they go on, so that memory stays flat and an interrupted run resumes.

A run longer than what fits a memory budget is computed in parts. Each part is a complete file in the folder
`OUT.nc.parts` beside the output; at the end they become `OUT.nc` and the folder goes. A run that was
interrupted, by whatever, goes on after its last part and gives the same numbers as if it never was.
"""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import netCDF4
import numpy as np

from ..case import Case
from ..diagnostics import OF_THE_STEP, diagnose
from ..model import Model
from ..simulation import batched_case, count_steps, first_non_finite, simulate, start_of
from ..trajectory import Restart, Trajectory
from .atomic import clear_left_over, replacing
from .dataset import read_trajectory, write_trajectory
from .lock import claims
from .provenance import Provenance

_NOTE = "run.json"


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run is: simulated time [s], its end [s], and what was just computed."""

    time: float
    end: float
    trajectory: Trajectory


@claims("path")
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
    means: bool = False,
    provenance: Provenance | None = None,
    start_time: str | None = None,
    memory_budget: int = 2**26,
    report: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Run a model on a case and write the trajectory, in parts if it is long.

    Args:
        model, case, dt, duration, output_interval, start: as for `simulate`.
        path: of the NetCDF file.
        diagnostics: names of `DIAGNOSTICS` that are written too.
        means: whether means between frames are written too.
        provenance, start_time: as for `to_dataset`.
        memory_budget: bytes of frames that are held at once.
        report: called after each part.

    Raises:
        FloatingPointError: a value that is not finite; the parts before it stay.
        ValueError: as `simulate`, or parts of another run beside the output.
    """
    path, begin = Path(path), 0.0 if start is None else float(start.step) * dt
    n_frames = count_steps(duration, output_interval, "duration", "output_interval")
    step_starts = bool(OF_THE_STEP.intersection(diagnostics))
    chunk = _frames_per_part(model, case, start, n_frames, memory_budget // (1 + means + step_starts))
    writing = {"provenance": provenance, "start_time": start_time}

    def compute(from_frame: int, restart: Restart | None, frames: int) -> Trajectory:
        trajectory = simulate(
            model,
            case,
            dt=dt,
            duration=frames * output_interval,
            output_interval=output_interval,
            start=restart,
            means=means,
            step_starts=step_starts,
        )
        bad = first_non_finite(jax.block_until_ready(trajectory))
        if bad is not None:
            kept = f"what came before is in {_folder(path)}" if from_frame else "nothing was written"
            raise FloatingPointError(
                f"{case.name}: expected finite values, got a {bad[0]} that is not, first at {bad[1]:g} s; "
                f"{kept}; try a shorter time step, or other parameters."
            )
        report(Progress(begin + (from_frame + frames) * output_interval, begin + duration, trajectory))
        return trajectory

    def write(trajectory: Trajectory, target: Path) -> None:
        found = diagnose(trajectory, model.completed(case), diagnostics, model)
        write_trajectory(trajectory, target, case=case, closure=model.closure, diagnostics=found, **writing)

    if chunk >= n_frames:
        write(compute(0, start, n_frames), path)
        return
    identity = _identity(case, provenance, dt, duration, output_interval, begin, chunk, diagnostics, means)
    parts = _existing_parts(path, identity)
    restart = start if not parts else read_trajectory(parts[-1]).restart()
    for first in range(len(parts) * chunk, n_frames, chunk):
        trajectory = compute(first, restart, min(chunk, n_frames - first))
        restart = trajectory.restart()
        parts.append(_folder(path) / f"{len(parts):06d}.nc")
        # The first frame of a part is the last of the one before.
        write(trajectory if first == 0 else _without_first_frame(trajectory), parts[-1])
    with replacing(path) as temporary:
        _join(parts, temporary)
    _remove(parts)


def _remove(parts: Sequence[Path]) -> None:
    """Remove the parts and their folder, but for what is not of this package in it."""
    folder = parts[0].parent
    for path in (*reversed(parts), folder / _NOTE):  # what a kill leaves is the beginning
        path.unlink(missing_ok=True)
    clear_left_over(folder)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _folder(path: Path) -> Path:
    return path.with_name(path.name + ".parts")


def _frames_per_part(
    model: Model, case: Case, start: Restart | None, n_frames: int, memory_budget: int
) -> int:
    frame = start if start is not None else jax.eval_shape(_start_of_batch, model, case)
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(frame))
    return max(1, min(n_frames, memory_budget // size))


def _start_of_batch(model: Model, case: Case) -> Restart:
    return start_of(model, batched_case(model, case))


def _identity(case: Case, provenance: Provenance | None, *settings) -> str:
    """What parts must share to belong to the same run: all numbers of the case, model and settings."""
    told = provenance or Provenance()
    known = json.dumps([told.config, told.parameters, told.restart])
    digest = hashlib.sha256(f"{known}{settings}".encode())
    for leaf in jax.tree.leaves(case):
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()


def _existing_parts(path: Path, identity: str) -> list[Path]:
    """Parts of the same run that are complete, in order.

    Raises:
        ValueError: parts of another run.
    """
    folder = _folder(path)
    note = folder / _NOTE
    if not note.exists():
        folder.mkdir(parents=True, exist_ok=True)
        clear_left_over(folder)
        if any(folder.iterdir()):
            raise ValueError(
                f"{folder}: expected no folder, or one with parts of this run, got another one, without "
                f"{note.name}; move it, or choose another output file."
            )
        with replacing(note) as temporary:
            temporary.write_text(json.dumps({"identity": identity}), encoding="utf-8")
        return []
    if json.loads(note.read_text(encoding="utf-8"))["identity"] != identity:
        raise ValueError(
            f"{folder}: expected parts of this run, got those of a run with another configuration; finish "
            "that one with its own configuration, or remove the folder, or choose another output file."
        )
    found = sorted(folder.glob("[0-9]*.nc"))
    return [part for number, part in enumerate(found) if part.stem == f"{number:06d}"]


def _without_first_frame(trajectory: Trajectory) -> Trajectory:
    def rest(tree):
        return jax.tree.map(lambda leaf: leaf[1:], tree)

    frames = (trajectory.time, trajectory.step, trajectory.state, trajectory.clo_state, trajectory.means)
    return Trajectory(trajectory.grid, *map(rest, (*frames, trajectory.step_starts)))


def _join(parts: Sequence[Path], target: Path) -> None:
    """One file from many, one part in memory at a time."""
    with netCDF4.Dataset(parts[0]) as first, netCDF4.Dataset(target, "w") as whole:
        whole.setncatts({name: first.getncattr(name) for name in first.ncattrs()})
        for name, dimension in first.dimensions.items():
            whole.createDimension(name, None if name == "time" else len(dimension))
        for name, variable in first.variables.items():
            created = whole.createVariable(
                name, variable.dtype, variable.dimensions, zlib=variable.ndim > 1, complevel=1
            )
            created.setncatts({key: variable.getncattr(key) for key in variable.ncattrs()})
            if "time" not in variable.dimensions:
                created[...] = variable[...]
        for path in parts:
            at = len(whole.dimensions["time"])
            with netCDF4.Dataset(path) as part:
                for name, variable in part.variables.items():
                    if "time" in variable.dimensions:
                        whole[name][at : at + variable.shape[0]] = variable[...]
