"""Time and memory of the gradient of the loss by parameters of the closure, in reverse mode."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax

import tunax_lite as tl
from tunax_lite.checkpointing import AbstractCheckpointing
from tunax_lite.runtime import compile_program

from .column import FIVE_PARAMETERS, N_STEPS, loss, parameter_values, problem, with_parameters
from .forward import Shape, compiled_forward, costs, state_bytes
from .limits import Need, need_of
from .timing import time_in_turn

LAYOUTS: dict[str, AbstractCheckpointing] = {
    "SaveEverything": tl.SaveEverything(),
    "SaveSteps": tl.SaveSteps(),
    "SaveSegments": tl.SaveSegments(),
    "SavePairs": tl.SavePairs(),
    "SaveSegments, 2 levels": tl.SaveSegments(levels=2),
    "Auto": tl.Auto(),
}
DEFAULT = {"SavePairs": LAYOUTS["SavePairs"]}
"""The layout of the figures that have targets."""
CHOSEN_BY_NAME = {name: layout for name, layout in LAYOUTS.items() if name != "Auto"}
OF_BATCHES = {name: layout for name, layout in CHOSEN_BY_NAME.items() if name != "SaveEverything"}
STEP_COUNTS = (100, 1_000, 10_000, 100_000)


def value_and_gradient(
    values: jax.Array,
    model: tl.Model,
    case: tl.Case,
    names: Sequence[str] = FIVE_PARAMETERS,
    layout: AbstractCheckpointing = LAYOUTS["SavePairs"],
    n_steps: int = N_STEPS,
):
    """Loss, and its derivatives by the named parameters, at their values."""
    return jax.value_and_grad(lambda v: loss(with_parameters(model, names, v), case, layout, n_steps))(values)


def _compile(shape: Shape, names: Sequence[str], layout: AbstractCheckpointing, n_steps: int):
    model, case = problem(**shape._asdict())
    arguments = parameter_values(model, names), model, case
    program = compile_program(value_and_gradient, *arguments, names=names, layout=layout, n_steps=n_steps)
    return program, arguments


def measure_gradient(
    layouts: Mapping[str, AbstractCheckpointing],
    shape: Shape = Shape(),  # noqa: B008
    *,
    names: Sequence[str] = FIVE_PARAMETERS,
    rounds: int = 15,
) -> list[dict[str, Any]]:
    """One row per layout; gradients by the named parameters and the forward run are timed in turn."""
    n_steps = shape.n_steps
    forward, forward_arguments = compiled_forward(shape)
    calls: dict[str, Any] = {"forward": partial(forward, *forward_arguments)}
    rows = []
    for layout_name, layout in layouts.items():
        name = f"gradient by {len(names)}, {shape.name}, {layout_name}"
        program, arguments = _compile(shape, names, layout, n_steps)
        calls[name] = partial(program, *arguments)
        labels = {"program": name, "layout": layout_name, "n_parameters": len(names), "n_steps": n_steps}
        rows.append(labels | shape._asdict() | costs(program))
    timings = time_in_turn(calls, rounds=rounds, seconds=30.0)
    for row in rows:
        timing = timings[row["program"]]
        row["us"] = timing.minimum * 1e6 / (shape.n_columns * n_steps)
        row["median_us"] = timing.median * 1e6 / (shape.n_columns * n_steps)
        row["over_forward"] = timing.minimum / timings["forward"].minimum
    return rows


def measure_memory(
    layouts: Mapping[str, AbstractCheckpointing], step_counts: Sequence[int] = STEP_COUNTS
) -> list[dict[str, Any]]:
    """Temporary bytes of the gradient by five parameters against the number of steps; nothing is run."""
    rows = []
    for name, layout in layouts.items():
        for n_steps in step_counts:
            program, _ = _compile(Shape(), FIVE_PARAMETERS, layout, n_steps)
            rows.append({"layout": name, "n_steps": n_steps} | costs(program))
    return rows


def gradient_need(single: bool) -> Need:
    """What a column-step of the gradient needs with the default layout, in float64.

    Three and a half passes forward and one backward, see `checkpointing`.
    """
    shape = Shape(1 if single else 128)
    model, case = problem(**shape._asdict())
    return need_of(
        partial(value_and_gradient, n_steps=shape.n_steps),
        parameter_values(model, FIVE_PARAMETERS),
        model,
        case,
        state_bytes=state_bytes(model, case),
        passes=4.5,
        n_columns=shape.n_columns,
        n_steps=shape.n_steps,
    )
