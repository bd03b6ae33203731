"""Time and memory of gradients by parameters of the closure, and how far they reach."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.column.checkpointing import AbstractCheckpointing
from tunax_lite.runtime import compile_program

from .column import (
    FIVE_PARAMETERS,
    TEN_PARAMETERS,
    Shape,
    costs,
    parameter_values,
    problem,
    value_and_gradient,
)
from .forward import compiled
from .harness import MICRO, Row, Setting, time_in_turn

LAYOUTS: dict[str, AbstractCheckpointing] = {
    "SaveEverything": tl.SaveEverything(),
    "SaveSteps": tl.SaveSteps(),
    "SaveSegments": tl.SaveSegments(),
    "SavePairs": tl.SavePairs(),
    "SaveSegments, 2 levels": tl.SaveSegments(levels=2),
    "AutoCheckpointing": tl.AutoCheckpointing(),
}
DEFAULT = "SaveSegments"
"""The layout of the figures that are compared."""
BATCH = Shape(128)
STEP_COUNTS = (100, 1_000, 10_000, 100_000)
DAY = 86400.0


def gradients(
    layouts: Sequence[str], shape: Shape, names: Sequence[str] = FIVE_PARAMETERS, rounds: int = 15
) -> list[Row]:
    """One row per layout; the gradients and the forward run are timed in turn."""
    calls: dict[str, Callable] = {"forward": compiled(shape)[1]}
    rows = []
    model, case = problem(shape)
    arguments = parameter_values(model, names), model, case
    for layout in layouts:
        options = {"names": names, "layout": LAYOUTS[layout], "n_steps": shape.n_steps}
        program = compile_program(value_and_gradient, *arguments, **options)
        calls[layout] = partial(program, *arguments)
        labels = {"layout": layout, "n_parameters": len(names), "n_columns": shape.n_columns}
        rows.append(labels | {"n_steps": shape.n_steps, "us": 0.0, "over_forward": 0.0} | costs(program))
    seconds = time_in_turn(calls, rounds=rounds, seconds=30.0)
    for row in rows:
        taken = seconds[row["layout"]]
        row |= {"us": MICRO * taken / shape.column_steps, "over_forward": taken / seconds["forward"]}
    return rows


def measure_gradient(setting: Setting) -> list[Row]:
    """Gradient of the loss by parameters of the closure, 64 levels, float64, by layout."""
    if setting.quick:
        return gradients([DEFAULT], Shape(), rounds=10) + gradients([DEFAULT], BATCH, rounds=2)
    rows = gradients(list(LAYOUTS), Shape())
    rows += gradients([DEFAULT], Shape(), TEN_PARAMETERS)
    of_batches = [name for name in LAYOUTS if name not in ("SaveEverything", "AutoCheckpointing")]
    return rows + gradients(of_batches, BATCH, rounds=4)


def measure_memory(setting: Setting) -> list[Row]:
    """Temporary memory of the gradient by 5 parameters against steps; nothing is run."""
    model, case = problem()
    arguments = parameter_values(model, FIVE_PARAMETERS), model, case
    rows = []
    for n_steps in STEP_COUNTS[:2] if setting.quick else STEP_COUNTS:
        row: Row = {"n_steps": n_steps}
        for name, layout in LAYOUTS.items():
            if name != "AutoCheckpointing":  # takes one of the others
                options = {"names": FIVE_PARAMETERS, "layout": layout, "n_steps": n_steps}
                program = compile_program(value_and_gradient, *arguments, **options)
                row[f"{name}_bytes"] = program.memory.temporary
        rows.append(row)
    return rows


def growth(rows: Sequence[Row], key: str, first: int = 1000) -> float:
    """Exponent p of bytes ~ steps^p, fitted to runs of at least `first` steps."""
    points = [(row["n_steps"], row[key]) for row in rows if row["n_steps"] >= first]
    steps, taken = np.log(np.array(points, float).T)
    return float(np.polyfit(steps, taken, 1)[0]) if len(points) > 1 else float("nan")


def measure_tangents(setting: Setting) -> list[Row]:
    """A year at Papa: the largest derivative of any temperature by a uniform change of the initial one.

    Against the step and the memory of the eddy coefficients; near 1 where a gradient is of use.
    """
    from .papa import papa

    model, case, dt = papa()
    n_days = 2 if setting.quick else int(case.duration // DAY)

    @eqx.filter_jit
    def differentiate(model, case, dt):
        def temperature(change):
            where = lambda c: c.initial_state.temperature  # noqa: E731
            moved = eqx.tree_at(where, case, where(case) + change)
            run = tl.simulate(model, moved, dt=dt, duration=n_days * DAY, output_interval=DAY)
            return run.state.temperature

        return jax.jvp(temperature, (jnp.zeros(()),), (jnp.ones(()),))

    rows = []
    for step in (dt,) if setting.quick else (dt, dt / 6.0):
        for memory in (0.0, 0.5) if setting.quick else (0.0, 0.3, 0.5, 0.8):
            kept = jnp.asarray(memory) if memory else None
            values, tangents = differentiate(dataclasses.replace(model, coefficient_memory=kept), case, step)
            largest = np.asarray(jnp.max(jnp.abs(tangents), axis=1))
            days = {f"day_{day}": f"{largest[day]:.1e}" for day in (60, 180, 270) if day < n_days}
            row = {"step_seconds": step, "coefficient_memory": memory} | days
            rows.append(
                row | {"end": f"{largest[-1]:.1e}", "surface_at_the_end": f"{float(values[-1, -1]):.3f}"}
            )
    return rows
