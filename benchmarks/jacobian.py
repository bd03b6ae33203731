"""Time and memory of Jacobians by parameters of the closure."""

from collections.abc import Callable, Sequence
from functools import partial

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.column.sensitivity import ChunkSize, CompiledJacobian, Mode

from .column import N_STEPS, TEN_PARAMETERS, Shape, costs, frames, parameter_values, problem, with_parameters
from .forward import compiled
from .harness import MICRO, Row, Setting, time_in_turn

# One more than the largest chunk: memory is a straight line where there are several chunks.
SEVENTEEN_PARAMETERS = (
    *TEN_PARAMETERS,
    "bottom_roughness_length",
    "initial_eddy_coefficient",
    *(f"stability.{name}" for name in ("cc1", "cc2", "ct1", "ct2", "ct5")),
)


def jacobian(
    names: Sequence[str],
    chunk_size: ChunkSize = "auto",
    mode: Mode = "forward",
    n_residuals: int | None = None,
) -> tuple[CompiledJacobian, partial]:
    """The Jacobian of all profiles every 10 minutes of 48 h, or of some last temperatures; and its call."""
    model, case = problem()
    arguments = parameter_values(model, names), model, case
    # What forward mode goes through keeps nothing in any case.
    layout = tl.SaveSegments() if mode == "reverse" else tl.SaveEverything()

    def profiles(current):
        return jnp.stack([current.state.temperature, current.state.u, current.state.v])

    def residuals(values, model, case):
        found = frames(with_parameters(model, names, values), case, layout, N_STEPS, profiles)
        return found if n_residuals is None else found[-1, 0, -n_residuals:]

    made = CompiledJacobian(residuals, *arguments, chunk_size=chunk_size, mode=mode)
    return made, partial(made.program, *arguments)


def _rows(jacobians: dict[str, tuple[CompiledJacobian, partial]], rounds: int) -> list[Row]:
    """One row per Jacobian, timed in turn with the forward run that keeps nothing but its loss."""
    calls: dict[str, Callable] = {"forward": compiled(Shape())[1]}
    calls |= {name: call for name, (_, call) in jacobians.items()}
    seconds = time_in_turn(calls, rounds=rounds)
    rows = []
    for name, (made, _) in jacobians.items():
        keys = ("mode", "n_parameters", "n_residuals", "chunk_size")
        row = {"of": name} | {key: getattr(made.plan, key) for key in keys}
        row |= {"us": MICRO * seconds[name] / N_STEPS, "over_forward": seconds[name] / seconds["forward"]}
        rows.append(row | costs(made.program))
    return rows


def measure_jacobian(setting: Setting) -> list[Row]:
    """Jacobian by 10 parameters of all profiles, and of few residuals in both modes."""
    rows = _rows({"profiles": jacobian(TEN_PARAMETERS)}, rounds=5 if setting.quick else 15)
    if setting.quick:
        return rows
    modes: tuple[Mode, ...] = ("forward", "reverse")
    few = {
        f"{n} of the last temperatures, {mode}": jacobian(TEN_PARAMETERS, mode=mode, n_residuals=n)
        for n in (1, 4)
        for mode in modes
    }
    return rows + _rows(few, rounds=5)


def measure_chunks(setting: Setting) -> list[Row]:
    """Jacobian of all profiles by 17 parameters against the size of the chunk."""
    sizes = (1, 8) if setting.quick else (1, 2, 4, 6, 8, 12, 16)
    of_size = {f"profiles, {n}": jacobian(SEVENTEEN_PARAMETERS, n) for n in sizes}
    return _rows(of_size, rounds=2 if setting.quick else 5)


def straight_line(rows: Sequence[Row]) -> tuple[float, float]:
    """m0 and m1 [bytes] of the temporary memory m0 + m1 * chunk."""
    chunk, memory = (np.array([row[key] for row in rows], float) for key in ("chunk_size", "temporary_bytes"))
    m1, m0 = np.polyfit(chunk, memory, 1)
    return float(m0), float(m1)
