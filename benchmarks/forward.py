"""Time of a column-step of a run: against levels, columns and precision, over two devices, and in blocks."""

import time
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.runtime import Program, column_mesh, compile_program, configure, shard_columns
from tunax_lite.simulation import columns_of

from .ceilings import PRECISIONS
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
from .harness import MICRO, Row, Setting, Worker, least_seconds, time_in_turn

LEVELS = (32, 64, 128, 256, 512)
COLUMNS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
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
    """Time of a column-step forward, us, against levels and columns, all in turn."""
    shapes = COMPARED
    if not setting.quick:
        sizes = [(1, n) for n in LEVELS] + [(n, 64) for n in COLUMNS]
        shapes = tuple(Shape(*size, precision) for precision in PRECISIONS for size in sizes)
    programs = {shape: compiled(shape) for shape in shapes}
    calls = {str(shape): call for shape, (_, call) in programs.items()}
    seconds = time_in_turn(calls, rounds=7 if setting.quick else 15, seconds=60.0)
    rows = []
    for shape, (program, _) in programs.items():
        us = MICRO * seconds[str(shape)] / shape.column_steps
        rows.append(shape._asdict() | {"us": us} | costs(program))
    return rows


def measure_devices(setting: Setting) -> list[Row]:
    """512 columns of 64 levels on one core, on two, and split over two devices; nothing if there is one core.

    A device is what JAX makes of a processor, fixed when it starts: every way is a process of its own.
    """
    if len(setting.cores) < 2:
        return []
    rows = []
    for precision in ("float32",) if setting.quick else PRECISIONS:
        shape, rounds = Shape(512, 64, precision), 5 if setting.quick else 9
        rows += split_runs(shape, setting.cores[:2], shape.n_steps, rounds)
    return rows


def split_runs(shape: Shape, cores: tuple[int, ...], n_steps: int, rounds: int) -> list[Row]:
    ways = {
        "one core": (1, cores[:1]),
        "one device, two cores": (1, cores),
        "two devices": (2, cores),
    }
    workers = {
        way: Worker(
            "benchmarks.forward:batch_runs",
            {"shape": shape, "n_steps": n_steps},
            cores=on,
            flags=f"--xla_force_host_platform_device_count={n}",
        )
        for way, (n, on) in ways.items()
    }
    seconds = least_seconds(workers, rounds)
    scale = MICRO / (shape.n_columns * n_steps)
    return [
        {
            "way": way,
            "precision": shape.precision,
            "us": scale * taken,
            "over_one_core": seconds["one core"] / taken,
        }
        for way, taken in seconds.items()
    ]


def batch_runs(shape: list[Any], n_steps: int) -> Iterator[float]:
    """In a process of its own: compile, then the seconds of one run after the other."""
    configure()
    model, case = problem(Shape(*shape))
    devices = "all" if jax.device_count() > 1 else None
    if devices is not None:
        placed = columns_of(model, case, None)[:2]
        model, case = shard_columns((model, case), placed, column_mesh(devices, shape[0]))
    duration = n_steps * DT

    def run(model: tl.Model, case: tl.Case):
        trajectory = tl.simulate(
            model, case, dt=DT, duration=duration, output_interval=duration / 8, devices=devices
        )
        return trajectory.state.temperature

    program = jax.jit(run).lower(model, case).compile()
    jax.block_until_ready(program(model, case))
    yield 0.0
    while True:
        start = time.perf_counter()
        jax.block_until_ready(program(model, case))
        yield time.perf_counter() - start


def measure_blocks(setting: Setting) -> list[Row]:
    """Many columns at once and in blocks, float64: what `runtime.blocks.BYTES_PER_BLOCK` is chosen by."""
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

    calls, programs = {}, {}
    for kind, function, n_columns in (("forward", misfit, 512), ("gradient", jax.grad(misfit), 256)):
        model, case = problem(Shape(64 if setting.quick else n_columns))
        arguments = parameter_values(model, FIVE_PARAMETERS), model, case
        for block in blocks:
            name = f"{kind}, {'all' if block is None else block}"
            programs[name] = compile_program(function, *arguments, block=block)
            calls[name] = partial(programs[name], *arguments)
    seconds = time_in_turn(calls, seconds=60.0, rounds=2 if setting.quick else 15)
    rows = []
    for name, program in programs.items():
        kind, block = name.split(", ")
        n_columns = 64 if setting.quick else 512 if kind == "forward" else 256
        row = {"kind": kind, "n_columns": n_columns, "block": block}
        row["us"] = MICRO * seconds[name] / (n_columns * n_steps)
        rows.append(row | {"temporary_bytes": program.memory.temporary})
    return rows


def measure_vectors(setting: Setting) -> list[Row]:
    """Time of a column-step, us, by the longest vectors: what `configure(vector_bits=...)` is chosen by."""
    bits = (128, 256, 512)
    wanted = [("forward", shape) for shape in (Shape(), Shape(1, 256), Shape(32), Shape(64, 64, "float32"))]
    wanted += [("gradient", shape) for shape in (Shape(), Shape(32))]
    calls: dict[str, partial] = {}
    for kind, shape in wanted[:2] if setting.quick else wanted:
        given, function = problem(shape), partial(loss, layout=LAYOUT, n_steps=shape.n_steps)
        if kind == "gradient":
            given = parameter_values(given[0], FIVE_PARAMETERS), *given
            function = partial(
                value_and_gradient, names=FIVE_PARAMETERS, layout=tl.SavePairs(), n_steps=shape.n_steps
            )
        lowered = jax.jit(function).lower(*given)
        for n in bits:
            program = lowered.compile({"xla_cpu_prefer_vector_width": str(n)})
            calls[f"{kind}, {shape}, {n}"] = partial(program, *given)
    seconds = time_in_turn(calls, rounds=2 if setting.quick else 10, seconds=60.0)
    rows = []
    for kind, shape in wanted[:2] if setting.quick else wanted:
        us = {f"{n}_bits_us": MICRO * seconds[f"{kind}, {shape}, {n}"] / shape.column_steps for n in bits}
        rows.append({"program": f"{kind}, {shape}"} | us)
    return rows
