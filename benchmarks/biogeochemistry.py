"""Biogeochemistry: cost of steps and gradients beside the water alone, and set-ups beside GOTM with FABM."""

import dataclasses
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

import tunax_lite as tl
from tunax_lite._types import ScalarLike, array_field
from tunax_lite.column.forcing import AbstractForcing, WaterSurface
from tunax_lite.extensions.biogeochemistry import BFM17, NPZD, Biogeochemistry, Fasham
from tunax_lite.extensions.biogeochemistry.schemes import Euler
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.runtime import compile_program

from .column import DT, Shape, costs, problem
from .forward import simulated
from .harness import MICRO, Row, Setting, time_in_turn
from .reference import rms

LIGHT = 200.0
"""Shortwave radiation that enters [W m-2]."""


class SunAndWind(AbstractForcing):
    """Constant fluxes, with the wind that gases need."""

    fluxes: tl.SurfaceFluxes = array_field(0)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> tl.SurfaceFluxes:
        return self.fluxes

    def wind_speed(self, time: ScalarLike, water=None) -> tl.Scalar:
        return jnp.asarray(8.0)

    def check_covers(self, start: float, end: float) -> None:
        return None


def with_life(shape: Shape, life: Biogeochemistry | None) -> tuple[tl.Model, tl.Case]:
    """The column of the benchmarks in light, with pools at their initial values."""
    model, case = problem(shape)
    fluxes = dataclasses.replace(case.forcing.at(0.0), shortwave_flux=jnp.asarray(LIGHT))
    case = dataclasses.replace(case, forcing=SunAndWind(fluxes))
    if life is None:
        return model, case
    return model, dataclasses.replace(
        case, terms={"life": life}, initial_state=life.with_pools(case.initial_state)
    )


def measure_biogeochemistry(setting: Setting) -> list[Row]:
    """Time of a column-step with biogeochemistry, us, and over that of the water alone, all in turn.

    Gradients are by the growth rate of NPZD, over a forward run of the same.
    """
    models: dict[str, Biogeochemistry | None] = {
        "none": None,
        "npzd": Biogeochemistry({"npzd": NPZD()}),
        "npzd, euler": Biogeochemistry({"npzd": NPZD()}, scheme=Euler()),
        "fasham": Biogeochemistry({"fasham": Fasham()}),
        "npzd, shading": Biogeochemistry({"npzd": NPZD()}, shading=True),
        "bfm17, euler": Biogeochemistry({"bfm17": BFM17()}, scheme=Euler()),
    }
    programs, calls = {}, {}
    for n_columns in (1, 32):
        shape = Shape(n_columns)
        for name, life in models.items():
            arguments = with_life(shape, life)
            programs[name, shape] = compile_program(simulated, *arguments, n_steps=shape.n_steps)
            calls[name, shape] = partial(programs[name, shape], *arguments)
        arguments = with_life(shape, models["npzd"])
        programs["npzd, gradient", shape] = compile_program(
            growth_gradient, *arguments, n_steps=shape.n_steps
        )
        calls["npzd, gradient", shape] = partial(programs["npzd, gradient", shape], *arguments)
    seconds = time_in_turn(calls, rounds=3 if setting.quick else 9, seconds=120.0)
    rows = []
    for (name, shape), program in programs.items():
        of = "npzd" if name.endswith("gradient") else "none"
        us = MICRO * seconds[name, shape] / shape.column_steps
        over = seconds[name, shape] / seconds[of, shape]
        rows.append(
            {"models": name, "n_columns": shape.n_columns, "us": us, f"over_{of}": over} | costs(program)
        )
    return rows


def measure_fabm(setting: Setting) -> list[Row]:
    """GOTM's set-ups with FABM over their year: the pool furthest from GOTM's, over its range, and seconds.

    All below `fabm` of `TUNAX_LITE_REFERENCE`, without the table of salinity anomalies, with the forcing of
    `TUNAX_LITE_DATA`. Ours are seconds after start and compilation; those of a program of GOTM with FABM in
    `TUNAX_LITE_GOTM`, in turn with ours, include its start and its output.
    """
    rows = []
    folders = sorted((Path(os.environ["TUNAX_LITE_REFERENCE"]) / "fabm").iterdir())
    for folder in folders[:1] if setting.quick else folders:
        with tempfile.TemporaryDirectory() as temporary:
            rows.append(_beside_fabm(folder, Path(temporary), rounds=2 if setting.quick else 6))
    return rows


def _beside_fabm(reference: Path, copy: Path, rounds: int) -> Row:
    case = reference.name.rpartition("_")[0].removesuffix("_npzd")  # as in nns_annual_npzd_shade
    forcing = Path(os.environ["TUNAX_LITE_DATA"]) / "gotm_cases" / case
    for file in (*reference.iterdir(), *forcing.iterdir()):
        if file.suffix != ".nc" and not (copy / file.name).exists():
            (copy / file.name).symlink_to(file.resolve())
    run = build_gotm(load_gotm(copy / "gotm.yaml", salinity_anomaly=False)).run
    assert run is not None
    ours = partial(tl.simulate, run.model, run.case, dt=run.dt, output_interval=run.output_interval)
    calls: dict[str, Callable[[], Any]] = {"ours": ours}
    if program := os.environ.get("TUNAX_LITE_GOTM"):
        calls["gotm"] = partial(subprocess.run, [program], cwd=copy, capture_output=True, check=True)
    seconds = time_in_turn(calls, rounds=rounds, seconds=120.0)
    kept = ours()
    with xr.open_dataset(reference / "reference.nc", decode_times=False) as expected:
        off = {}
        for pool, values in (kept.state.tracers | kept.state.surface).items():
            theirs = expected[pool].values.squeeze().astype(float)
            n = min(len(theirs), kept.n_frames)
            scale = max(np.ptp(theirs[:n]), 1e-6 * np.abs(theirs[:n]).max())
            off[pool] = (np.asarray(values)[:n] - theirs[:n]) / scale
    furthest = max(off, key=lambda pool: rms(off[pool]))
    row = {"set_up": reference.name, "pool": furthest, "rms": f"{rms(off[furthest]):.1e}"}
    row |= {"maximum": f"{np.abs(off[furthest]).max():.0e}", "seconds": seconds["ours"]}
    gotm = seconds.get("gotm")
    return row | {"gotm_seconds": gotm, "gotm_over_ours": gotm and gotm / seconds["ours"]}


def growth_gradient(model: tl.Model, case: tl.Case, n_steps: int) -> Any:
    """Derivative of the phytoplankton at the end by the growth rate."""

    models_of = attrgetter("models")

    def phytoplankton(rate: jax.Array) -> jax.Array:
        changed = eqx.tree_at(lambda case: models_of(case.terms["life"])["npzd"].rmax, case, rate)
        run = tl.simulate(model, changed, dt=DT, duration=n_steps * DT, output_interval=n_steps * DT)
        return jnp.mean(run.state.tracers["npzd_phy"][-1])

    return jax.grad(phytoplankton)(models_of(case.terms["life"])["npzd"].rmax)
