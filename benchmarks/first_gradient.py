"""Time from a model to its first gradient: tracing and compilation, by surface forcing."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.air_sea import AbstractBulkFormula, BulkForcing, Coare36, Kondo, Weather
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.physics import LinearEquationOfState, Teos10

from .harness import Row, Setting, time_in_turn

HOUR = 3600.0
DURATION = 120.0 * HOUR


def _weather(bulk: AbstractBulkFormula) -> BulkForcing:
    """Hourly records of a varying wind over five days."""
    t = jnp.arange(0.0, DURATION + 1.5 * HOUR, HOUR)
    one = jnp.ones_like(t)
    weather = Weather(
        wind_u=8.0 + jnp.sin(t / 9e3),
        wind_v=0.0 * one,
        air_temperature=15.0 * one,
        humidity=75.0 * one,
        air_pressure=101325.0 * one,
        shortwave=200.0 * one,
        longwave=-60.0 * one,
        precipitation=1e-8 * one,
    )
    return BulkForcing(TimeSeries(t, weather), bulk)


def _cases() -> Iterator[tuple[str, tl.Case]]:
    """Five days of a column of 64 levels, by forcing and equation of state."""
    fluxes = tl.SurfaceFluxes(stress_u=0.1, heat_flux=-100.0, shortwave_flux=50.0)
    grid = tl.Grid.uniform(100.0, 64)
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.05 * z, salinity=35.0)
    for name, forcing, water in (
        ("constant fluxes, linear density", tl.ConstantForcing(fluxes), LinearEquationOfState()),
        ("Kondo, linear density", _weather(Kondo()), LinearEquationOfState()),
        ("COARE 3.6, TEOS-10", _weather(Coare36()), Teos10()),
    ):
        yield (
            name,
            tl.Case(
                grid, state, forcing, coriolis_parameter=1e-4, equation_of_state=water, duration=DURATION
            ),
        )


def _compiled(function: Callable, *args) -> tuple[Callable, Row]:
    """A program, and seconds of the processor to make it, with its instructions before optimisation."""
    start = time.process_time()
    program_of: Any = eqx.filter_jit(function)  # its wrapper has no declared type
    lowered = program_of.lower(*args)
    traced = time.process_time()
    program = lowered.compile()
    seconds = time.process_time()
    instructions = lowered.as_text().count(" = ")
    return program, {
        "trace_seconds": traced - start,
        "compile_seconds": seconds - traced,
        "instructions": instructions,
    }


def measure_first_gradient(setting: Setting) -> list[Row]:
    """Processor time to the first run and gradient of k-epsilon: five days of 600 s steps, 64 levels."""
    rows, model = [], tl.Model(tl.KEpsilon())
    for name, case in _cases():

        def loss(model: tl.Model, case: tl.Case = case) -> jax.Array:
            run = tl.simulate(model, case, dt=600.0, output_interval=HOUR)
            return jnp.mean(run.state.temperature[-1] ** 2)

        for what, function in (("run", loss), ("gradient", eqx.filter_value_and_grad(loss))):
            program, row = _compiled(function, model)
            call = lambda program=program: program(model)  # noqa: E731
            taken = time_in_turn({what: call}, rounds=5 if setting.quick else 15)[what]
            rows.append({"case": name, "program": what} | row | {"again_seconds": taken})
    return rows
