"""A year at Ocean Weather Station Papa: one column, and an ensemble on two cores; needs `TUNAX_LITE_DATA`.

GOTM's case: 150 levels, hourly steps, Fairall's fluxes, TEOS-10.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.extensions.gotm import build_gotm, load_gotm

from .forward import seconds_of
from .harness import Row, Setting, Worker, least_seconds

WAYS = ("one device", "two devices", "two threads")
"""How an ensemble is run on two cores: as one batch, split over two devices, or in halves by two threads."""


def papa() -> tuple[Any, tl.Case, float]:
    """Model, case and time step."""
    folder = os.environ.get("TUNAX_LITE_DATA")
    if not folder:
        raise SystemExit("benchmarks: set TUNAX_LITE_DATA to the folder that holds gotm_cases/ows_papa")
    run = build_gotm(load_gotm(Path(folder) / "gotm_cases/ows_papa/ows_papa_meteo.gotm.yaml")).run
    assert run is not None
    return run.model, run.case, run.dt


def years(n_members: int, way: str, n_days: int | None) -> Iterator[float]:
    """In a process of its own: compile, then the seconds of one year after the other.

    More than one member have viscosities of their own through c_eps_1.
    """
    tl.configure()
    model, case, dt = papa()
    duration = case.duration if n_days is None else n_days * 86400.0
    devices = "all" if way == "two devices" else None

    def run(model: tl.Model):
        kept = tl.simulate(model, case, dt=dt, duration=duration, output_interval=86400.0, devices=devices)
        return kept.state.temperature

    parts = [model]
    if n_members > 1:
        values = model.closure.c_eps_1 * jnp.linspace(0.95, 1.05, n_members)
        pieces = jnp.split(values, 2 if way == "two threads" else 1)
        parts = [eqx.tree_at(lambda m: m.closure.c_eps_1, model, piece) for piece in pieces]
    with ThreadPoolExecutor(len(parts)) as pool:
        yield from seconds_of(lambda: list(pool.map(run, parts)))


def measure_papa(setting: Setting) -> list[Row]:
    """A year at Papa: seconds; each way of running is a process, and they take turns."""
    n_members, n_days = (8, 2) if setting.quick else (64, None)
    wanted = {"one column, one core": (1, WAYS[0], 1)}
    if len(setting.cores) > 1:
        wanted |= {f"{n_members} members, two cores, {way}": (n_members, way, 2) for way in WAYS}
    workers = {
        name: Worker(
            "benchmarks.papa:years",
            setting.cores[:n_cores],
            2 if way == "two devices" else 1,
            n_members=n,
            way=way,
            n_days=n_days,
        )
        for name, (n, way, n_cores) in wanted.items()
    }
    seconds = least_seconds(workers, rounds=2 if setting.quick else 5)
    return [{"run": name, "seconds": value} for name, value in seconds.items()]
