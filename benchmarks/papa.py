"""A year at Ocean Weather Station Papa: `python -m benchmarks.papa`, with GOTM's cases in `TUNAX_LITE_DATA`.

150 levels, hourly steps, Fairall's fluxes, TEOS-10: one column on one core, and an ensemble of perturbed
parameters on two. Devices and threads are fixed when JAX starts, so that every way of running is a process.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .timing import pin_to_one_core

WAYS = ("one device", "two devices", "two threads")
"""How an ensemble is run on two cores: as one batch, split over two devices, or in halves by two threads."""
LIMITS = {"column": 0.5, "ensemble": 8.0}
"""Seconds that the year of one column and that of 64 members must not exceed."""
GOTM_SECONDS = 2.1


def papa(n_members: int = 1) -> tuple[Any, Any, float]:
    """Model, case and time step; more than one member have viscosities of their own through c_eps_1."""
    import equinox as eqx
    import jax.numpy as jnp

    from tunax_lite.gotm import build_gotm, load_gotm

    folder = os.environ.get("TUNAX_LITE_DATA")
    if not folder:
        raise SystemExit("benchmarks.papa: set TUNAX_LITE_DATA to the folder that holds gotm_cases/ows_papa")
    run = build_gotm(load_gotm(Path(folder) / "gotm_cases/ows_papa/ows_papa_meteo.gotm.yaml")).run
    assert run is not None
    model: Any = run.model
    if n_members > 1:
        values = model.closure.c_eps_1 * jnp.linspace(0.95, 1.05, n_members)
        model = eqx.tree_at(lambda m: m.closure.c_eps_1, model, values)
    return model, run.case, run.dt


def year_of(n_members: int, way: str, output_interval: float = 86400.0):
    """A function without arguments that runs the year, compiled."""
    import equinox as eqx
    import jax

    import tunax_lite as tl

    model, case, dt = papa(n_members)

    def run(model: tl.Model, devices=None):
        frames = tl.simulate(model, case, dt=dt, output_interval=output_interval, devices=devices)
        return frames.state.temperature

    if way == "two threads":
        half = n_members // 2
        halves = [
            eqx.tree_at(lambda m: m.closure.c_eps_1, model, model.closure.c_eps_1[part])
            for part in (slice(0, half), slice(half, None))
        ]
        pool = ThreadPoolExecutor(2)
        call = lambda: jax.block_until_ready(list(pool.map(run, halves)))  # noqa: E731
    else:
        devices = "all" if way == "two devices" else None
        call = lambda: jax.block_until_ready(run(model, devices))  # noqa: E731
    call()
    return call


def _work(arguments: argparse.Namespace) -> None:
    """Least seconds of a number of runs, printed."""
    os.sched_setaffinity(0, arguments.cores)  # before JAX starts its threads
    from tunax_lite.runtime import configure

    configure(precision="float64")
    call = year_of(arguments.members, arguments.way)
    taken = []
    for _ in range(arguments.rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    print(min(taken))


def measure(n_members: int, cores: Sequence[int], way: str = WAYS[0], rounds: int = 5) -> float:
    """Least seconds of the year in a process of its own.

    Args:
        n_members: of the ensemble; 1 is a single column.
        cores: processors of the process.
        way: one of `WAYS`.
        rounds: runs after compilation.

    Raises:
        RuntimeError: a process that fails, with what it said.
    """
    n_devices = 2 if way == "two devices" else 1
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={n_devices}"
    command = [sys.executable, "-m", "benchmarks.papa", "--worker", "--members", str(n_members)]
    command += ["--way", way, "--rounds", str(rounds), "--cores", *map(str, cores)]
    environment = {**os.environ, "XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[1], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"benchmarks.papa: a measuring process failed.\n{done.stderr}")
    return float(done.stdout)


def main() -> None:
    """Measure and print; as a worker, be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papa", description=__doc__)
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, nargs="+", help="two processors; by default the first two")
    parser.add_argument("--json", type=Path, help="store the seconds in this file")
    parser.add_argument("--way", choices=WAYS, default=WAYS[0], help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work(arguments)
        return
    cores = tuple(arguments.cores or pin_to_one_core())
    seconds = {"one column, one core": measure(1, cores[:1], rounds=arguments.rounds)}
    for way in WAYS if len(cores) > 1 else ():
        name = f"{arguments.members} members, two cores, {way}"
        seconds[name] = measure(arguments.members, cores[:2], way, arguments.rounds)
    print(f"a year at Papa, 150 levels, hourly steps: seconds (GOTM: {GOTM_SECONDS} for one column)")
    for name, value in seconds.items():
        print(f"  {name:<40}{value:8.3f}")
    print(f"limits: {LIMITS['column']} s for one column, {LIMITS['ensemble']} s for 64 members")
    if arguments.json:
        arguments.json.write_text(json.dumps(seconds, indent=2) + "\n")


if __name__ == "__main__":
    main()
