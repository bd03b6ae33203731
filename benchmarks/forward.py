"""Time of a step against levels, columns and precision."""

import functools
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import jax

import tunax_lite as tl
from tunax_lite.runtime import Program, compile_program
from tunax_lite.simulation import batched_case, start_of

from .column import N_STEPS, N_STEPS_OF_BATCHES, loss, problem
from .limits import PRECISIONS, Need, need_of
from .timing import time_in_turn

LEVELS = (32, 64, 128, 256, 512)
COLUMNS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
N_LEVELS = 64


class Shape(NamedTuple):
    """What is run."""

    n_columns: int = 1
    n_levels: int = N_LEVELS
    precision: str = "float64"

    @property
    def n_steps(self) -> int:
        return N_STEPS if self.n_columns == 1 else N_STEPS_OF_BATCHES

    @property
    def name(self) -> str:
        return f"{self.n_columns} x {self.n_levels}, {self.precision}"


def over(*, levels: Iterable[int] = (N_LEVELS,), columns: Iterable[int] = (1,)) -> list[Shape]:
    """Shapes of these levels and columns in both precisions."""
    return [Shape(n, m, precision) for precision in PRECISIONS for n in columns for m in levels]


def forward_loss(model: tl.Model, case: tl.Case, n_steps: int = N_STEPS):
    """The loss of a run that is not differentiated."""
    return loss(model, case, tl.SaveEverything(), n_steps)


def costs(program: Program) -> dict[str, float]:
    """What a program took to make and takes besides its arguments and results."""
    return {
        "trace_seconds": program.trace_seconds,
        "compile_seconds": program.compile_seconds,
        "temporary_bytes": program.memory.temporary,
    }


@functools.cache
def compiled_forward(shape: Shape) -> tuple[Program, tuple[tl.Model, tl.Case]]:
    """The program of a run and its arguments; compiled once, however many tables time it."""
    arguments = problem(**shape._asdict())
    return compile_program(forward_loss, *arguments, n_steps=shape.n_steps), arguments


def measure_forward(shapes: Iterable[Shape], rounds: int = 15) -> list[dict[str, Any]]:
    """One row per shape, all timed in turn: `us` is the time of a column-step [us]."""
    programs = {shape: compiled_forward(shape) for shape in shapes}
    calls = {shape.name: partial(program, *arguments) for shape, (program, arguments) in programs.items()}
    timings = time_in_turn(calls, rounds=rounds, seconds=30.0)
    rows = []
    for shape, (program, _) in programs.items():
        per_column_step = 1e6 / (shape.n_columns * shape.n_steps)
        timing = {
            "us": timings[shape.name].minimum * per_column_step,
            "median_us": timings[shape.name].median * per_column_step,
        }
        rows.append({"program": f"forward, {shape.name}"} | shape._asdict() | timing | costs(program))
    return rows


def state_bytes(model: tl.Model, case: tl.Case) -> int:
    """Bytes that one step hands to the next, of all columns."""
    start = jax.eval_shape(lambda m, c: start_of(m, batched_case(m, c)), model, case)
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(start))


def forward_need(single: bool, precision: str) -> Need:
    """What a column-step of 64 levels needs, of one column or of a batch."""
    shape = Shape(1 if single else 128, N_LEVELS, precision)
    arguments = problem(**shape._asdict())
    return need_of(
        partial(forward_loss, n_steps=shape.n_steps),
        *arguments,
        state_bytes=state_bytes(*arguments),
        passes=1,
        n_columns=shape.n_columns,
        n_steps=shape.n_steps,
    )
