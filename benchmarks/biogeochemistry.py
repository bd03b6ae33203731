"""Cost of biogeochemistry in a column: steps and gradients with models, beside those of the water alone."""

import dataclasses
from functools import partial
from operator import attrgetter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite._types import ScalarLike, array_field
from tunax_lite.column.forcing import AbstractForcing, WaterSurface
from tunax_lite.extensions.biogeochemistry import BFM17, NPZD, Biogeochemistry, Euler, Fasham
from tunax_lite.runtime import compile_program

from .column import DT, Shape, costs, problem
from .forward import simulated
from .harness import MICRO, Row, Setting, time_in_turn

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


def growth_gradient(model: tl.Model, case: tl.Case, n_steps: int) -> Any:
    """Derivative of the phytoplankton at the end by the growth rate."""

    models_of = attrgetter("models")

    def phytoplankton(rate: jax.Array) -> jax.Array:
        changed = eqx.tree_at(lambda case: models_of(case.terms["life"])["npzd"].rmax, case, rate)
        run = tl.simulate(model, changed, dt=DT, duration=n_steps * DT, output_interval=n_steps * DT)
        return jnp.mean(run.state.tracers["npzd_phy"][-1])

    return jax.grad(phytoplankton)(models_of(case.terms["life"])["npzd"].rmax)
