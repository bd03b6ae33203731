"""Time of a column-step of a run: against levels, columns and precision, over two devices, and in blocks."""

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

import tunax_lite as tl
from tunax_lite.column.integrate import columns_of
from tunax_lite.runtime import compile_program, configure, shard_columns
from tunax_lite.runtime.compilation import Program
from tunax_lite.runtime.devices import column_mesh

from .column import (
    DT,
    FIVE_PARAMETERS,
    Shape,
    costs,
    loss,
    parameter_values,
    problem,
    value_and_gradient,
    with_parameters,
)
from .harness import MICRO, PRECISIONS, Row, Setting, Worker, least_seconds, time_in_turn

SIZES = [(1, n) for n in (32, 64, 128, 256, 512)] + [(2**n, 64) for n in range(1, 11)]
"""Numbers of columns and of levels."""
COMPARED = (Shape(), Shape(1, 256), Shape(128), Shape(512, 64, "float32"))
LAYOUT = tl.SaveEverything()
"""Of a run that is not differentiated: any would do."""


@cache
def compiled(shape: Shape) -> tuple[Program, partial]:
    """The program of a run and a call of it; compiled once, however many tables time it."""
    arguments = problem(shape)
    program = compile_program(loss, *arguments, layout=LAYOUT, n_steps=shape.n_steps)
    return program, partial(program, *arguments)


def measure_forward(setting: Setting) -> list[Row]:
    """Time of a column-step of `simulate` as users call it, us, against levels and columns, all in turn."""
    every = tuple(Shape(*size, precision) for precision in PRECISIONS for size in SIZES)
    programs, calls = dict[Shape, Program](), dict[str, Callable]()
    for shape in COMPARED if setting.quick else every:
        arguments = problem(shape)
        programs[shape] = compile_program(simulated, *arguments, n_steps=shape.n_steps)
        calls[str(shape)] = partial(programs[shape], *arguments)
    seconds = time_in_turn(calls, rounds=7 if setting.quick else 15)
    return [
        shape._asdict() | {"us": MICRO * seconds[str(shape)] / shape.column_steps} | costs(program)
        for shape, program in programs.items()
    ]


def simulated(model: tl.Model, case: tl.Case, n_steps: int, devices: Literal["all"] | None = None) -> Array:
    """Temperature in eight frames, with the default settings."""
    duration = n_steps * DT
    trajectory = tl.simulate(
        model, case, dt=DT, duration=duration, output_interval=duration / 8, devices=devices
    )
    return trajectory.state.temperature


def measure_devices(setting: Setting) -> list[Row]:
    """512 columns of 64 levels on one core, on two, and split over two devices; nothing if there is one core.

    A device is what JAX makes of a processor, fixed when it starts: every way is a process of its own.
    """
    if len(setting.cores) < 2:
        return []
    precisions, rounds = (("float32",), 5) if setting.quick else (PRECISIONS, 9)
    return [
        row
        for precision in precisions
        for row in split_runs(Shape(512, 64, precision), setting.cores[:2], rounds=rounds)
    ]


def split_runs(shape: Shape, cores: tuple[int, ...], rounds: int, n_steps: int | None = None) -> list[Row]:
    n_steps = n_steps or shape.n_steps
    ways = {
        "one core": (cores[:1], 1),
        "one device, two cores": (cores, 1),
        "two devices": (cores, 2),
    }
    workers = {
        way: Worker("benchmarks.forward:batch_runs", *on, shape=shape, n_steps=n_steps)
        for way, on in ways.items()
    }
    seconds = least_seconds(workers, rounds)
    rows = []
    for way, taken in seconds.items():
        us = MICRO * taken / (shape.n_columns * n_steps)
        row = {"way": way, "precision": shape.precision, "us": us}
        rows.append(row | {"over_one_core": seconds["one core"] / taken})
    return rows


def batch_runs(shape: Shape, n_steps: int) -> Iterator[float]:
    """In a process of its own: compile, then the seconds of one run after the other."""
    configure()
    model, case = problem(shape)
    devices = "all" if jax.device_count() > 1 else None
    if devices is not None:
        placed = columns_of(model, case, None)[:2]
        model, case = shard_columns((model, case), placed, column_mesh(devices, shape.n_columns))
    program = compile_program(simulated, model, case, n_steps=n_steps, devices=devices)
    yield from seconds_of(partial(program, model, case))


def seconds_of(call: Callable[[], object]) -> Iterator[float]:
    """Of one call after the other; the first counts as compilation and is 0."""
    jax.block_until_ready(call())
    yield 0.0
    while True:
        start = time.perf_counter()
        jax.block_until_ready(call())
        yield time.perf_counter() - start


def measure_blocks(setting: Setting) -> list[Row]:
    """Many columns at once and in blocks, float64: what `runtime.devices.BYTES_PER_BLOCK` is chosen by."""
    n_steps, blocks = 120, (None, 16, "auto") if setting.quick else (None, 256, 128, 64, 32, 16, 8, "auto")

    def misfit(values, model, case, block):
        run = tl.simulate(
            with_parameters(model, FIVE_PARAMETERS, values),
            case,
            dt=DT,
            duration=n_steps * DT,
            output_interval=n_steps * DT,
            checkpointing=tl.SaveSegments(),
            column_block=block,
        )
        return jnp.mean((run.state.temperature[-1] - 19.5) ** 2)

    calls, rows = {}, []
    for kind, function, n_columns in (("forward", misfit, 512), ("gradient", jax.grad(misfit), 256)):
        n_columns = 64 if setting.quick else n_columns
        model, case = problem(Shape(n_columns))
        arguments = parameter_values(model, FIVE_PARAMETERS), model, case
        for block in blocks:
            program = compile_program(function, *arguments, block=block)
            calls[f"{kind}, {block}"] = partial(program, *arguments)
            row = {"kind": kind, "n_columns": n_columns, "block": str(block or "all"), "us": 0.0}
            rows.append(row | {"temporary_bytes": program.memory.temporary})
    seconds = time_in_turn(calls, rounds=2 if setting.quick else 15)
    for row, taken in zip(rows, seconds.values(), strict=True):
        row["us"] = MICRO * taken / (row["n_columns"] * n_steps)
    return rows


def measure_vectors(setting: Setting) -> list[Row]:
    """Time of a column-step, us, by the longest vectors: by which `configure` chooses 512 bits."""
    shapes = (Shape(), Shape(1, 256), Shape(32), Shape(64, 64, "float32"))
    wanted = [("forward", shape) for shape in shapes] + [("gradient", shape) for shape in shapes[::2]]
    calls: dict[tuple[str, Shape, int], Callable] = {}
    for kind, shape in wanted[:2] if setting.quick else wanted:
        given, function = problem(shape), partial(loss, layout=LAYOUT, n_steps=shape.n_steps)
        if kind == "gradient":
            given = parameter_values(given[0], FIVE_PARAMETERS), *given
            function = partial(
                value_and_gradient, names=FIVE_PARAMETERS, layout=tl.SavePairs(), n_steps=shape.n_steps
            )
        lowered = jax.jit(function).lower(*given)
        for n in (128, 256, 512):
            program = lowered.compile({"xla_cpu_prefer_vector_width": str(n)})
            calls[kind, shape, n] = partial(program, *given)
    seconds = time_in_turn(calls, rounds=2 if setting.quick else 10)
    rows: dict[str, Row] = {}
    for (kind, shape, n), taken in seconds.items():
        row = rows.setdefault(f"{kind}, {shape}", {"program": f"{kind}, {shape}"})
        row[f"{n}_bits_us"] = MICRO * taken / shape.column_steps
    return list(rows.values())
