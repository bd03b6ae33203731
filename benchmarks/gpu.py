"""The model on an NVIDIA GPU: linear solvers, 1 to 1e6 columns, both precisions, forward and gradient.

And command buffers: recorded sequences of kernels, of whole loops if XLA is told so. Measurements come in
the order of what they decide; those that time is too short for are left out. Each kind of command buffers is
a process of its own, because XLA reads its flags once; what fails or hangs there costs one measurement.
"""

import dataclasses
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite import numerics
from tunax_lite.runtime import compile_program, configure

from .column import FIVE_PARAMETERS, Shape, frames, parameter_values, problem, with_parameters
from .harness import Row, Setting, Worker, WorkerError

SECONDS = 450.0
"""Of all measurements."""
SECONDS_PER_JOB = 90.0
"""A measurement that takes longer, compilation included, is given up."""
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

    @property
    def n_steps(self) -> int:
        """Few where a step takes long; the same for all methods, whose results are compared."""
        return 50 if self.n_columns <= 10_000 else 20 if self.n_columns <= 100_000 else 10


def plan(quick: bool) -> list[Job]:
    """All measurements, each once: one column and many before the choice of the solver, command buffers,
    gradient and double precision at the sizes that tell most, and these before everything else."""
    vendor, parallel, scan = METHODS
    if quick:
        small = [Job(vendor, 3), Job(parallel, 3), Job(scan, 3, "float64", "gradient")]
        return [*small, Job(vendor, 1, command_buffers="loops")]
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
    return list(dict.fromkeys(wanted))


def measure_gpu(setting: Setting) -> list[Row]:
    """k-epsilon of 64 levels on the GPU, or on what JAX_PLATFORMS names, by solver and number of columns."""
    return measure(plan(setting.quick), os.environ.get("JAX_PLATFORMS", "cuda"), SECONDS)


def measure(jobs: Sequence[Job], platform: str, seconds: float) -> list[Row]:
    """One row for each measurement that there was time for.

    Args:
        jobs: in order; a process serves those in sequence that share their command buffers.
        platform: as JAX calls it, "cuda" or "cpu".
        seconds: after which nothing is waited for.

    Raises:
        WorkerError: a platform that JAX cannot use here, with what JAX says.
    """
    deadline = time.monotonic() + seconds
    rows: list[Row] = []
    left = list(jobs)
    while left and time.monotonic() < deadline:
        mode = left[0].command_buffers
        together = list(itertools.takewhile(lambda job, mode=mode: job.command_buffers == mode, left))
        arguments = {"jobs": [dataclasses.asdict(job) for job in together]}
        worker = Worker("benchmarks.gpu:work", arguments, flags=COMMAND_BUFFERS[mode], platform=platform)
        try:
            device = worker.ask(min(SECONDS_PER_JOB, deadline - time.monotonic()))
            for _ in together:
                answer = worker.ask(min(SECONDS_PER_JOB, deadline - time.monotonic()))
                rows.append({"device": device} | dataclasses.asdict(left.pop(0)) | answer)
        except WorkerError as error:
            if not rows:  # nothing works here
                raise
            if time.monotonic() < deadline:  # the next measurement gets a process of its own
                rows.append(
                    {"device": rows[0]["device"]} | dataclasses.asdict(left.pop(0)) | {"failed": str(error)}
                )
        finally:
            worker.stop()
    return rows


def work(jobs: Sequence[Row]) -> Iterator[Any]:
    """In a process of its own: the device, then the results of measurements, one after the other."""
    configure()
    device = jax.devices()[0]
    memory = (device.memory_stats() or {}).get("bytes_limit")
    yield f"{device.device_kind} ({device.platform}), jax {jax.__version__}"
    references: dict[tuple, Any] = {}
    for job in jobs:
        try:
            yield _measure_one(Job(**job), memory, references)
        except jax.errors.JaxRuntimeError as error:  # no memory, or a program that the device refuses
            yield {"failed": str(error).splitlines()[0][:200]}


def _measure_one(job: Job, bytes_limit: int | None, references: dict[tuple, Any]) -> Row:
    """Compile and time one measurement; compare what it computes with the first of its shape."""
    program, arguments = _program(job)
    row: Row = {"compile_seconds": program.compile_seconds, "total_bytes": program.memory.total}
    if bytes_limit is not None and program.memory.total > bytes_limit:
        return row | {"failed": "needs more memory than there is"}
    result = jax.block_until_ready(program(*arguments))
    per_step = program.timing(*arguments, repetitions=3).minimum / job.n_steps
    result = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(result)]
    if not all(np.isfinite(leaf).all() for leaf in result):
        return row | {"failed": "values that are not finite"}
    reference = references.setdefault((job.n_columns, job.precision, job.kind), result)
    difference = max(
        float(np.abs(x - y).max() / (np.abs(y).max() + 1e-30)) for x, y in zip(result, reference, strict=True)
    )
    speed = {"seconds_per_step": per_step, "column_steps_per_second": job.n_columns / per_step}
    return row | speed | {"difference": difference}


def _program(job: Job):
    """The compiled run or gradient of a job, and its arguments."""
    model, case = problem(Shape(job.n_columns, 64, job.precision))
    method = getattr(numerics, job.method)()
    model = eqx.tree_at(lambda m: m.tridiagonal_method, model, method, is_leaf=lambda x: x is None)

    def profiles(values, model, case):
        model = with_parameters(model, FIVE_PARAMETERS, values)
        save = lambda current: (current.state.temperature, current.state.u)  # noqa: E731
        saved = frames(model, case, tl.SaveSegments(), job.n_steps, save, every=job.n_steps)
        # Means over the columns: results of one size, to which all of them contribute.
        return tuple(values.reshape(64, -1).mean(axis=1) for values in saved)

    def gradient(values, model, case):
        return jax.grad(lambda v: jnp.mean((profiles(v, model, case)[0] - 19.5) ** 2))(values)

    arguments = (parameter_values(model, FIVE_PARAMETERS), model, case)
    return compile_program(gradient if job.kind == "gradient" else profiles, *arguments), arguments


def fastest(rows: Sequence[Row]) -> list[Row]:
    """The fastest method for each kind, precision and number of columns, with its command buffers."""
    best: dict[tuple, Row] = {}
    for row in sorted((row for row in rows if "failed" not in row), key=lambda row: -row["seconds_per_step"]):
        best[row["kind"], row["precision"], row["n_columns"]] = row
    return [best[key] for key in sorted(best)]


def fastest_lines(rows: Sequence[Row]) -> str:
    """The same in words, below the table."""
    lines = (
        f"Fastest {row['kind']}, {row['precision']}, {row['n_columns']} columns: {row['method']}, command "
        f"buffers {row['command_buffers']}, {1e3 * row['seconds_per_step']:.3f} ms per step."
        for row in fastest(rows)
    )
    return "\n\n".join(lines)
