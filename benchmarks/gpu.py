"""The model on an NVIDIA GPU: `python -m benchmarks.gpu` prints and stores one table in under eight minutes.

How linear systems are solved, 1 to 1e6 columns, both precisions, forward and gradient, and command buffers
(recorded sequences of kernels, of whole loops if XLA is told so). Measurements are ordered by what they
decide; those that time is too short for are left out. Each kind of command buffers is a process of its own,
because XLA reads its flags once; what fails or hangs there costs one measurement, not the table.
"""

import argparse
import dataclasses
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SECONDS = 450.0
"""Of the whole call; under eight minutes."""
SECONDS_PER_JOB = 90.0
"""A measurement that takes longer, compilation included, is given up."""
STORED = Path("results/gpu.json")
TOO_LONG, ENDED = "took too long", "the process ended"
LEAST_COLUMN_STEPS_PER_SECOND = 2.5e7
"""Forward in float32, at `MANY` columns or more."""
MANY = 100_000
MOST_SECONDS_PER_STEP = 2e-3
"""Of a single column."""
Row = dict[str, Any]
METHODS = ("VendorLibrary", "ParallelCyclicReduction", "ThomasScan")
COMMAND_BUFFERS = {
    "default": "",
    # Loops as well: the whole time loop becomes one recorded sequence where all of it can be recorded.
    "loops": "--xla_gpu_enable_command_buffer=+CONDITIONAL,+WHILE,+CUSTOM_CALL "
    "--xla_gpu_graph_min_graph_size=1",
    "off": "--xla_gpu_enable_command_buffer=",
}
"""Flags of XLA; `+` adds to what it records by default."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One measurement."""

    method: str
    n_columns: int
    precision: str = "float32"
    kind: str = "forward"
    command_buffers: str = "default"
    n_levels: int = 64
    n_steps: int = 100


def plan(quick: bool) -> list[Job]:
    """All measurements, the most important first, each once.

    The targets come first; then the choice of the solver, command buffers, gradient and double precision
    at the sizes that tell most; then everything else.
    """
    if quick:
        small = [
            Job("VendorLibrary", 3),
            Job("ParallelCyclicReduction", 3),
            Job("ThomasScan", 3, "float64", "gradient"),
            Job("VendorLibrary", 1, command_buffers="loops"),
        ]
        return [dataclasses.replace(job, n_levels=64, n_steps=40) for job in small]
    vendor, parallel, _ = METHODS
    few, many = (1, 1_000, 100_000), (1, 32, 1_000, 10_000, 100_000, 1_000_000)
    wanted = [
        *(Job(vendor, n) for n in (1, 100_000, 1_000_000)),
        *(Job(method, n) for n in few for method in METHODS),
        *(Job(method, n, command_buffers="loops") for n in few for method in METHODS),
        *(Job(vendor, n, kind="gradient") for n in few),
        *(Job(vendor, n, "float64") for n in few),
        Job(parallel, 1, kind="gradient"),
        *(Job(method, n) for n in many for method in METHODS),
        *(Job(method, n, command_buffers="off") for n in (1, 100_000) for method in (vendor, parallel)),
        *(Job(vendor, n, "float64", "gradient") for n in few),
        *(
            Job(method, n, precision, kind)
            for kind in ("forward", "gradient")
            for precision in ("float32", "float64")
            for n in many
            for method in METHODS
        ),
    ]
    return [shortened(job) for job in dict.fromkeys(wanted)]


def shortened(job: Job) -> Job:
    """Fewer steps where a step takes long; the same for all methods, whose results are compared."""
    n_steps = 50 if job.n_columns <= 10_000 else 20 if job.n_columns <= 100_000 else 10
    return dataclasses.replace(job, n_steps=n_steps)


def measure(jobs: Sequence[Job], platform: str, seconds: float) -> tuple[Row, list[Row]]:
    """What the device is, and one row for each measurement that there was time for.

    Args:
        jobs: in order; a process serves those in sequence that share their command buffers.
        platform: as JAX calls it, "cuda" or "cpu".
        seconds: after which nothing is waited for.

    Raises:
        RuntimeError: a platform that JAX cannot use here, with what JAX says.
    """
    deadline = time.monotonic() + seconds
    device: Row = {}
    rows: list[Row] = []
    left = list(jobs)
    while left and time.monotonic() < deadline:
        mode = left[0].command_buffers
        together = list(itertools.takewhile(lambda job, mode=mode: job.command_buffers == mode, left))
        worker = _Worker(platform, together)
        try:
            greeting = worker.answer(deadline)
            if "failed" not in greeting:
                device = greeting
            elif not device and time.monotonic() < deadline:
                raise RuntimeError(f"benchmarks.gpu: no device of platform {platform}.\n{worker.said()}")
            for job in together:
                found = worker.answer(deadline)
                if "failed" in found and time.monotonic() >= deadline:
                    break
                left.pop(0)
                rows.append({**dataclasses.asdict(job), **found})
                if worker.is_lost(found):
                    rows[-1]["said"] = worker.said()
                    break
        finally:
            worker.stop()
    return device, rows


class _Worker:
    """A process that answers one line for itself, and one for each measurement."""

    def __init__(self, platform: str, jobs: Sequence[Job]):
        flags = f"{os.environ.get('XLA_FLAGS', '')} {COMMAND_BUFFERS[jobs[0].command_buffers]}".strip()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.gpu", "--worker", json.dumps([vars(job) for job in jobs])],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": platform},
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")

    def answer(self, deadline: float) -> Row:
        """The next answer, or why there is none."""
        seconds = min(SECONDS_PER_JOB, deadline - time.monotonic())
        try:
            line = self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return {"failed": TOO_LONG}
        return json.loads(line) if line else {"failed": ENDED}

    @staticmethod
    def is_lost(answer: Row) -> bool:
        """Whether the process will answer no more, or not in time."""
        return answer.get("failed") in (TOO_LONG, ENDED)

    def said(self) -> str:
        """The end of what it wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read()[-2000:]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        self._errors.close()


def work(jobs: Sequence[Job]) -> Iterator[Row]:
    """The device, then the rows of measurements, one after the other."""
    import jax

    from tunax_lite.runtime import configure

    configure()
    device = jax.devices()[0]
    memory = (device.memory_stats() or {}).get("bytes_limit")
    yield {"device": device.device_kind, "platform": device.platform, "bytes": memory, "jax": jax.__version__}
    references: dict[tuple, Any] = {}
    for job in jobs:
        try:
            yield _measure_one(job, memory, references)
        except jax.errors.JaxRuntimeError as error:  # no memory, or a program that the device refuses
            yield {"failed": str(error).splitlines()[0][:200]}


def _measure_one(job: Job, bytes_limit: int | None, references: dict[tuple, Any]) -> Row:
    """Compile and time one measurement; compare what it computes with the first of its shape."""
    import jax
    import numpy as np

    program, arguments = _program(job)
    row: Row = {"compile_seconds": program.compile_seconds, "bytes": program.memory.total}
    if bytes_limit is not None and program.memory.total > bytes_limit:
        return {**row, "failed": "needs more memory than there is"}
    result = jax.block_until_ready(program(*arguments))
    timing = program.timing(*arguments, repetitions=3)
    result = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(result)]
    if not all(np.isfinite(leaf).all() for leaf in result):
        return {**row, "failed": "values that are not finite"}
    # The first method measured at this shape is the reference of the others.
    shape = (job.n_columns, job.n_levels, job.n_steps, job.precision, job.kind)
    reference = references.setdefault(shape, result)
    difference = max(
        float(np.abs(x - y).max() / (np.abs(y).max() + 1e-30)) for x, y in zip(result, reference, strict=True)
    )
    per_step = timing.minimum / job.n_steps
    return {
        **row,
        "seconds_per_step": per_step,
        "column_steps_per_second": job.n_columns / per_step,
        "difference": difference,
    }


def _program(job: Job):
    """The compiled run or gradient of a job, and its arguments."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    import tunax_lite as tl
    from tunax_lite import numerics
    from tunax_lite.runtime import compile_program
    from tunax_lite.simulation import batched_case, run_frames, start_of

    from .column import DT, FIVE_PARAMETERS, parameter_values, problem, with_parameters

    model, case = problem(n_columns=job.n_columns, n_levels=job.n_levels, precision=job.precision)
    method = getattr(numerics, job.method)()
    model = eqx.tree_at(lambda m: m.tridiagonal_method, model, method, is_leaf=lambda x: x is None)

    def profiles(values, model, case):
        model = with_parameters(model, FIVE_PARAMETERS, values)
        case = batched_case(model, case)
        saved = run_frames(
            model,
            case,
            start_of(model, case),
            DT,
            n_frames=1,
            steps_per_frame=job.n_steps,
            checkpointing=tl.SaveSegments(),
            save=lambda current: (current.state.temperature, current.state.u),
        )
        # Means over the columns: results of one size, to which all of them contribute.
        return tuple(values.reshape(job.n_levels, -1).mean(axis=1) for values in saved)

    def gradient(values, model, case):
        return jax.grad(lambda v: jnp.mean((profiles(v, model, case)[0] - 19.5) ** 2))(values)

    arguments = (parameter_values(model, FIVE_PARAMETERS), model, case)
    return compile_program(gradient if job.kind == "gradient" else profiles, *arguments), arguments


def choices(rows: Sequence[Row]) -> list[Row]:
    """The fastest method for each kind, precision and number of columns, with its command buffers."""
    best: dict[tuple, Row] = {}
    for row in rows:
        key = (row["kind"], row["precision"], row["n_columns"])
        if "failed" not in row and (
            key not in best or row["seconds_per_step"] < best[key]["seconds_per_step"]
        ):
            best[key] = row
    return [best[key] for key in sorted(best)]


def targets(rows: Sequence[Row]) -> dict[str, Row]:
    """The two figures with targets, `None` where nothing was measured, and whether they are met."""
    forward = [row for row in rows if "failed" not in row and row["kind"] == "forward"]
    speeds = [
        row["column_steps_per_second"]
        for row in forward
        if row["precision"] == "float32" and row["n_columns"] >= MANY
    ]
    steps = [row["seconds_per_step"] for row in forward if row["n_columns"] == 1]
    speed, step = max(speeds, default=None), min(steps, default=None)
    return {
        "column_steps_per_second": {
            "target": LEAST_COLUMN_STEPS_PER_SECOND,
            "measured": speed,
            "met": speed is not None and speed >= LEAST_COLUMN_STEPS_PER_SECOND,
        },
        "single_column_seconds_per_step": {
            "target": MOST_SECONDS_PER_STEP,
            "measured": step,
            "met": step is not None and step <= MOST_SECONDS_PER_STEP,
        },
    }


def table(device: Row, rows: Sequence[Row], n_jobs: int) -> str:
    """Everything measured, the fastest methods, and the targets, as text."""
    lines = [
        f"{device.get('device')} ({device.get('platform')}), jax {device.get('jax')}, k-epsilon; "
        f"{len(rows)} of {n_jobs} measurements",
        "",
        "kind      precision  buffers      columns  method                     ms/step  column-steps/s"
        "  compile s       MB  difference",
    ]
    for row in sorted(rows, key=_order):
        start = (
            f"{row['kind']:<10}{row['precision']:<11}{row['command_buffers']:<9}{row['n_columns']:>11}  "
            f"{row['method']:<24}"
        )
        if "failed" in row:
            lines.append(f"{start}  {row['failed']}")
            continue
        lines.append(
            f"{start}{1e3 * row['seconds_per_step']:>10.3f}{row['column_steps_per_second']:>16.3g}"
            f"{row['compile_seconds']:>11.1f}{row['bytes'] / 1e6:>9.0f}{row['difference']:>12.1e}"
        )
    lines += ["", "fastest"]
    lines += [
        f"  {row['kind']:<10}{row['precision']:<9}{row['n_columns']:>9} columns: {row['method']}, command "
        f"buffers {row['command_buffers']}, {1e3 * row['seconds_per_step']:.3f} ms per step"
        for row in choices(rows)
    ]
    lines += ["", "target                                target   measured"]
    for name, found in targets(rows).items():
        measured = "not measured" if found["measured"] is None else f"{found['measured']:.3g}"
        verdict = "" if found["measured"] is None else "  met" if found["met"] else "  missed"
        lines.append(f"  {name:<32}{found['target']:>10.3g}   {measured}{verdict}")
    return "\n".join(lines)


def _order(row: Row) -> tuple:
    modes = list(COMMAND_BUFFERS)
    return row["kind"], row["precision"], modes.index(row["command_buffers"]), row["n_columns"], row["method"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, store; as a worker, be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--platform", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="a few small measurements, to try the script")
    parser.add_argument("--json", type=Path, default=STORED, metavar="FILE", help="where the table is stored")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the whole call")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.worker:
        for answer in work([Job(**job) for job in json.loads(parsed.worker)]):
            print(json.dumps(answer), flush=True)
        return
    jobs = plan(parsed.quick)
    try:
        device, rows = measure(jobs, parsed.platform, parsed.seconds)
    except RuntimeError as error:
        sys.exit(str(error))
    print(table(device, rows, len(jobs)))
    parsed.json.parent.mkdir(parents=True, exist_ok=True)
    report = {"device": device, "targets": targets(rows), "rows": rows}
    parsed.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
