"""Time from a model to its first gradient: tracing and compilation, by surface forcing, and beside Tunax.

The Python of `TUNAX_LITE_TUNAX`, if set, has Tunax installed; it runs after this process, on the same core.
"""

import os
import subprocess
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
BESIDE_TUNAX = "two days of 60 s steps, float32"
_TUNAX = """import time, equinox as eqx, jax, jax.numpy as jnp, tunax
from tunax.closures.k_epsilon import KepsParameters
state = tunax.State.zeros(tunax.Grid.linear(64, 256), ["t"]).init_t(0.0, 20.0, 2e-3)
case = tunax.Case(fcor=1e-4, ustr_sfc=1 / 1024, t_forcing=-100 / (1024 * 3985))
model = tunax.SingleColumnModel(2880, 60.0, 10, state, case, "k-epsilon")
parameters = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, KepsParameters())
loss = lambda parameters: jnp.mean(model.run(parameters).t[-1] ** 2)
times = [time.process_time()]
lowered = eqx.filter_jit(eqx.filter_value_and_grad(loss)).lower(parameters)
times.append(time.process_time())
program = lowered.compile()
for _ in range(6):
    times.append(time.process_time())
    jax.block_until_ready(program(parameters))
print(times[1] - times[0], times[2] - times[1], min(b - a for a, b in zip(times[2:], times[3:])))
"""


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
    rows, rounds = [], 5 if setting.quick else 15
    for name, case in _cases():
        rows += _rows(name, tl.Model(tl.KEpsilon()), case, 600.0, rounds)
    return rows + _beside_tunax(rounds)


def _rows(name: str, model: tl.Model, case: tl.Case, dt: float, rounds: int) -> list[Row]:
    """Rows of a run and of its gradient by all parameters of the model."""
    rows = []

    def loss(model: tl.Model) -> jax.Array:
        return jnp.mean(tl.simulate(model, case, dt=dt, output_interval=HOUR).state.temperature[-1] ** 2)

    for what, function in (("run", loss), ("gradient", eqx.filter_value_and_grad(loss))):
        program, row = _compiled(function, model)
        call = lambda program=program: program(model)  # noqa: E731
        taken = time_in_turn({what: call}, rounds=rounds)[what]
        rows.append({"case": name, "program": what} | row | {"again_seconds": taken})
    return rows


def _beside_tunax(rounds: int) -> list[Row]:
    """The first gradient of the same two days here and in Tunax; no rows without it."""
    python = os.environ.get("TUNAX_LITE_TUNAX")
    if python is None:
        return []
    grid = tl.Grid.uniform(256.0, 64)
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 2e-3 * z, salinity=35.0)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=1.0, heat_flux=-100.0))
    case = tl.Case(grid, state, forcing, coriolis_parameter=1e-4, duration=48.0 * HOUR)
    model, case = tl.in_precision((tl.Model(tl.KEpsilon()), case), "float32")
    rows = _rows(BESIDE_TUNAX, model, case, 60.0, rounds)
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}  # not its own
    done = subprocess.run([python, "-c", _TUNAX], env=environment, stdout=subprocess.PIPE, check=True)
    names = "trace_seconds", "compile_seconds", "again_seconds"
    numbers = dict(zip(names, map(float, done.stdout.split()), strict=True))
    return [*rows, {"case": f"{BESIDE_TUNAX}, Tunax", "program": "gradient", "instructions": None} | numbers]
