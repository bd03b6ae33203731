"""Two cores against one: `python -m benchmarks.devices` measures a batch split over two devices of the CPU.

Devices are fixed when JAX starts, so that every way of running is a process of its own. They are started
together, take turns, and each waits for its turn without using a core.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .timing import pin_to_one_core

MICRO = 1e6
N_STEPS = 480
"""Eight hours: the time of a column-step does not depend on the length."""
TARGET = 1.8


class Way(NamedTuple):
    """How a batch is run: on how many devices, and on which processors."""

    n_devices: int
    cores: tuple[int, ...]


def two_device_speedup(
    cores: Sequence[int],
    *,
    n_columns: int = 512,
    precision: str = "float32",
    n_steps: int = N_STEPS,
    rounds: int = 9,
    with_threads: bool = False,
) -> dict[str, float]:
    """Speed of two devices on two cores over that of one device pinned to one core.

    Args:
        cores: processors, of which the first two are used.
        n_columns, precision, n_steps: of the batch; 64 levels.
        rounds: runs of each process, in turn; the least time of each counts.
        with_threads: measure one device on both cores, too, to see what threads within a device bring.

    Returns:
        `two_device_speedup`, the time of a column-step of each way [us], and `one_device_two_cores_speedup`.

    Raises:
        ValueError: fewer than two processors.
        RuntimeError: a process that fails, with what it said.
    """
    if len(cores) < 2:
        raise ValueError(
            f"two_device_speedup: expected two processors, got {tuple(cores)}; allow the process more."
        )
    pair = tuple(cores[:2])
    ways = {"one_core": Way(1, pair[:1]), "two_devices": Way(2, pair)}
    if with_threads:
        ways["one_device_two_cores"] = Way(1, pair)
    problem = ["--columns", str(n_columns), "--precision", precision, "--steps", str(n_steps)]
    seconds = _run_in_turn(ways, problem, rounds)
    us = {name: taken / (n_columns * n_steps) * MICRO for name, taken in seconds.items()}
    found = {f"{name}_us": value for name, value in us.items()}
    found["two_device_speedup"] = us["one_core"] / us["two_devices"]
    if with_threads:
        found["one_device_two_cores_speedup"] = us["one_core"] / us["one_device_two_cores"]
    return found


def _run_in_turn(ways: Mapping[str, Way], problem: Sequence[str], rounds: int) -> dict[str, float]:
    """Least seconds of a run of each way."""
    workers = {name: _start(way, problem) for name, way in ways.items()}
    try:
        for worker in workers.values():
            _answer(worker)  # compiled
        samples: dict[str, list[float]] = {name: [] for name in workers}
        for _ in range(rounds):
            for name, worker in workers.items():
                samples[name].append(_answer(worker, ask=True))
    finally:
        for worker in workers.values():
            worker.kill()
            worker.communicate()
    return {name: min(taken) for name, taken in samples.items()}


def _start(way: Way, problem: Sequence[str]) -> subprocess.Popen[str]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={way.n_devices}"
    command = [sys.executable, "-m", "benchmarks.devices", "--cores", *map(str, way.cores), *problem]
    return subprocess.Popen(
        [*command, "--worker"],
        env={**os.environ, "XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu"},
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer(worker: subprocess.Popen[str], *, ask: bool = False) -> float:
    """The next number that a worker prints, seconds of a run if asked for one."""
    assert worker.stdin is not None and worker.stdout is not None
    try:
        if ask:
            worker.stdin.write("run\n")
            worker.stdin.flush()
        line = worker.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        raise RuntimeError(f"two_device_speedup: a measuring process ended early.\n{worker.communicate()[1]}")
    return float(line)


def _work(arguments: argparse.Namespace) -> None:
    """Compile the run, then time it once for every line of the input."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, arguments.cores)  # before JAX starts its threads
    import jax

    import tunax_lite as tl
    from tunax_lite.runtime import column_mesh, configure, shard_columns
    from tunax_lite.simulation import columns_of

    from .column import DT, problem

    configure()
    model, case = problem(n_columns=arguments.columns, precision=arguments.precision)
    devices = "all" if jax.device_count() > 1 else None
    if devices is not None:
        placed = columns_of(model, case, None)[:2]
        model, case = shard_columns((model, case), placed, column_mesh(devices, arguments.columns))
    duration = arguments.steps * DT

    def run(model: tl.Model, case: tl.Case):
        trajectory = tl.simulate(
            model, case, dt=DT, duration=duration, output_interval=duration / 8, devices=devices
        )
        return trajectory.state.temperature

    program = jax.jit(run).lower(model, case).compile()
    jax.block_until_ready(program(model, case))
    print(0.0, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        jax.block_until_ready(program(model, case))
        print(time.perf_counter() - start, flush=True)


def main() -> None:
    """Measure and print; as a worker, be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--steps", type=int, default=N_STEPS)
    parser.add_argument("--precision", choices=("float32", "float64"))
    parser.add_argument("--cores", type=int, nargs="+", help="two processors; by default the first two")
    parser.add_argument("--json", type=Path, help="store the figures in this file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work(arguments)
        return
    cores = arguments.cores or pin_to_one_core()
    precisions = (arguments.precision,) if arguments.precision else ("float32", "float64")
    figures = {}
    print(f"{arguments.columns} columns, 64 levels   us per column-step   over one device on one core")
    for precision in precisions:
        found = two_device_speedup(
            cores,
            n_columns=arguments.columns,
            precision=precision,
            n_steps=arguments.steps,
            with_threads=True,
        )
        figures[precision] = found
        for name, ratio in (
            ("one_core", 1.0),
            ("one_device_two_cores", found["one_device_two_cores_speedup"]),
            ("two_devices", found["two_device_speedup"]),
        ):
            print(f"  {precision}, {name:<22}{found[f'{name}_us']:16.3f}{ratio:24.2f}x")
    print(f"target: two devices at least {TARGET}x")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
