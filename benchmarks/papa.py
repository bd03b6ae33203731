"""A year at Ocean Weather Station Papa: one column, and an ensemble on two cores; needs `TUNAX_LITE_DATA`.

GOTM's case: 150 levels, hourly steps, Fairall's fluxes, TEOS-10.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.config import build_gotm
from tunax_lite.gotm import load_gotm

from .harness import Row, Setting, Worker, least_seconds

WAYS = ("one device", "two devices", "two threads")
"""How an ensemble is run on two cores: as one batch, split over two devices, or in halves by two threads."""


def papa(n_members: int = 1) -> tuple[Any, tl.Case, float]:
    """Model, case and time step; more than one member have viscosities of their own through c_eps_1."""
    folder = os.environ.get("TUNAX_LITE_DATA")
    if not folder:
        raise SystemExit("benchmarks: set TUNAX_LITE_DATA to the folder that holds gotm_cases/ows_papa")
    run = build_gotm(load_gotm(Path(folder) / "gotm_cases/ows_papa/ows_papa_meteo.gotm.yaml")).run
    assert run is not None
    model: Any = run.model
    if n_members > 1:
        values = model.closure.c_eps_1 * jnp.linspace(0.95, 1.05, n_members)
        model = eqx.tree_at(lambda m: m.closure.c_eps_1, model, values)
    return model, run.case, run.dt


def years(n_members: int, way: str, n_days: int | None) -> Iterator[float]:
    """In a process of its own: compile, then the seconds of one year after the other."""
    tl.configure()
    model, case, dt = papa(n_members)
    duration = case.duration if n_days is None else n_days * 86400.0
    devices = "all" if way == "two devices" else None

    def run(model: tl.Model):
        kept = tl.simulate(model, case, dt=dt, duration=duration, output_interval=86400.0, devices=devices)
        return kept.state.temperature

    parts = [model]
    if way == "two threads":
        values = model.closure.c_eps_1
        halves = values[: n_members // 2], values[n_members // 2 :]
        parts = [eqx.tree_at(lambda m: m.closure.c_eps_1, model, half) for half in halves]
    with ThreadPoolExecutor(len(parts)) as pool:
        jax.block_until_ready(list(pool.map(run, parts)))
        yield 0.0
        while True:
            start = time.perf_counter()
            jax.block_until_ready(list(pool.map(run, parts)))
            yield time.perf_counter() - start


def measure_papa(setting: Setting) -> list[Row]:
    """A year at Papa: seconds; each way of running is a process, and they take turns."""
    n_members, n_days = (8, 2) if setting.quick else (64, None)
    wanted = {"one column, one core": (1, WAYS[0], setting.cores[:1])}
    if len(setting.cores) > 1:
        wanted |= {
            f"{n_members} members, two cores, {way}": (n_members, way, setting.cores[:2]) for way in WAYS
        }
    workers = {}
    for name, (n, way, cores) in wanted.items():
        arguments = {"n_members": n, "way": way, "n_days": n_days}
        flags = f"--xla_force_host_platform_device_count={2 if way == 'two devices' else 1}"
        workers[name] = Worker("benchmarks.papa:years", arguments, cores=cores, flags=flags)
    seconds = least_seconds(workers, rounds=2 if setting.quick else 5)
    return [{"run": name, "seconds": value} for name, value in seconds.items()]
