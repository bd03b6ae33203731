"""The model on an NVIDIA GPU: linear solvers, 1 to 1e6 columns, both precisions, forward and gradient.

`python -m benchmarks.gpu` is `python -m benchmarks --only gpu`. Measurements come in the order of what they
decide, in a process of their own; what fails or hangs there costs one of them, and those that time is too
short for are left out.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.numerics import tridiagonal
from tunax_lite.runtime import compile_program, configure

from .column import FIVE_PARAMETERS, Shape, frames, parameter_values, problem, with_parameters
from .harness import PRECISIONS, Row, Setting, Worker, WorkerError

SECONDS = 450.0
"""Of all measurements."""
SECONDS_PER_JOB = 90.0
"""A measurement that takes longer, compilation included, is given up."""
METHODS = ("VendorLibrary", "ThomasScan")
COLUMNS = (1, 100_000, 1_000, 1_000_000, 32, 10_000)
"""Those that tell most come first."""


class Job(NamedTuple):
    """One measurement."""

    kind: str
    precision: str
    n_columns: int
    method: str

    @property
    def n_steps(self) -> int:
        """Few where a step takes long; the same for all methods, whose results are compared."""
        return 50 if self.n_columns <= 10_000 else 20 if self.n_columns <= 100_000 else 10


def plan(quick: bool) -> list[Job]:
    """All measurements, each once: float32 before float64, forward before the gradient, the sizes in turn."""
    if quick:
        return [
            *(Job("forward", "float32", 3, method) for method in METHODS),
            Job("gradient", "float64", 3, METHODS[1]),
        ]
    return list(
        itertools.starmap(Job, itertools.product(("forward", "gradient"), PRECISIONS[::-1], COLUMNS, METHODS))
    )


def measure_gpu(setting: Setting) -> list[Row]:
    """k-epsilon of 64 levels on the GPU, or on what JAX_PLATFORMS names; of a size the fastest first."""
    rows = measure(plan(setting.quick), os.environ.get("JAX_PLATFORMS", "cuda"), SECONDS)
    never = float("inf")
    keys = ("kind", "precision", "n_columns")
    return sorted(rows, key=lambda row: (*(row[key] for key in keys), row.get("seconds_per_step", never)))


def measure(jobs: Sequence[Job], platform: str, seconds: float) -> list[Row]:
    """One row for each measurement that there was time for.

    Args:
        jobs: in order.
        platform: as JAX calls it, "cuda" or "cpu".
        seconds: after which nothing is waited for.

    Raises:
        WorkerError: a platform that JAX cannot use here, with what JAX says.
    """
    deadline = time.monotonic() + seconds
    rows: list[Row] = []
    left = list(jobs)
    while left and (time_left := deadline - time.monotonic()) > 0.0:
        worker = Worker("benchmarks.gpu:work", platform=platform, jobs=left)
        try:
            worker.ask(seconds=min(SECONDS_PER_JOB, time_left))
            while left:
                answer = worker.ask(seconds=min(SECONDS_PER_JOB, deadline - time.monotonic()))
                rows.append(left.pop(0)._asdict() | answer)
        except WorkerError as error:
            if not rows:  # nothing works here
                raise
            if time.monotonic() < deadline:  # the next measurement gets a process of its own
                rows.append(left.pop(0)._asdict() | {"failed": str(error)})
        finally:
            worker.stop()
    return rows


def work(jobs: Sequence[Job]) -> Iterator[Any]:
    """In a process of its own: the device, then the results of measurements, one after the other."""
    configure()
    device = jax.devices()[0]
    memory = (device.memory_stats() or {}).get("bytes_limit")
    yield device.device_kind
    references: dict[tuple, Any] = {}
    for job in jobs:
        try:
            yield {"device": device.device_kind} | _measure_one(job, memory, references)
        except jax.errors.JaxRuntimeError as error:  # no memory, or a program that the device refuses
            yield {"failed": str(error).splitlines()[0][:200]}


def _measure_one(job: Job, bytes_limit: int | None, references: dict[tuple, Any]) -> Row:
    """Compile and time one measurement; compare what it computes with the first of its shape."""
    function, arguments = computation(job)
    program = compile_program(function, *arguments)
    row: Row = {"compile_seconds": program.compile_seconds, "total_bytes": program.memory.total}
    if bytes_limit is not None and program.memory.total > bytes_limit:
        return row | {"failed": "needs more memory than there is"}
    result = jax.block_until_ready(program(*arguments))
    per_step = program.fastest_call(*arguments, repetitions=3) / job.n_steps
    result = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(result)]
    if not all(np.isfinite(leaf).all() for leaf in result):
        return row | {"failed": "values that are not finite"}
    reference = references.setdefault(job[:3], result)
    difference = max(
        float(np.abs(x - y).max() / (np.abs(y).max() + 1e-30)) for x, y in zip(result, reference, strict=True)
    )
    speed = {"seconds_per_step": per_step, "column_steps_per_second": job.n_columns / per_step}
    return row | speed | {"difference": difference}


def computation(job: Job) -> tuple[Callable, tuple]:
    """The run of a job, or its gradient, and the arguments."""
    model, case = problem(Shape(job.n_columns, 64, job.precision))
    method = getattr(tridiagonal, job.method)()
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
    return gradient if job.kind == "gradient" else profiles, arguments


if __name__ == "__main__":
    import sys

    from .__main__ import main

    main(["--only", "gpu", *sys.argv[1:]])
