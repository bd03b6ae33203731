"""Time and memory of Jacobians by parameters of the closure, against the size of the chunk and the mode."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.checkpointing import AbstractCheckpointing
from tunax_lite.sensitivity import ChunkSize, CompiledJacobian, Mode

from .column import N_STEPS, TEN_PARAMETERS, problem, temperature_frames
from .forward import Shape, compiled_forward, costs
from .timing import time_in_turn

CHUNKS = tuple(range(1, 17))
# One more than the largest chunk: memory is a straight line where there are several chunks.
SEVENTEEN_PARAMETERS = (
    *TEN_PARAMETERS,
    "bottom_roughness_length",
    "initial_eddy_coefficient",
    "stability.cc1",
    "stability.cc2",
    "stability.ct1",
    "stability.ct2",
    "stability.ct5",
)
RESIDUAL_COUNTS = (1, 2, 4, 8)


def _leaves(model: tl.Model, names: Sequence[str]) -> list[jax.Array]:
    return [operator.attrgetter(name)(model.closure) for name in names]


def profiles(
    values: jax.Array,
    model: tl.Model,
    case: tl.Case,
    *,
    names: Sequence[str],
    layout: AbstractCheckpointing,
):
    """All profiles of temperature, u and v of 48 h, every 10 minutes, `(n_frames, 3, n_levels)`."""
    model = eqx.tree_at(lambda m: _leaves(m, names), model, list(values))

    def save(current):
        return jnp.stack([current.state.temperature, current.state.u, current.state.v])

    return temperature_frames(model, case, layout, N_STEPS, save)


def last_temperatures(n_residuals: int, values, model, case, **options):
    """Temperature at the end in cells below the surface, the first `n_residuals` of them."""
    return profiles(values, model, case, **options)[-1, 0, -n_residuals:]


def compile_jacobian(
    names: Sequence[str] = TEN_PARAMETERS,
    *,
    chunk_size: ChunkSize = "auto",
    mode: Mode = "forward",
    n_residuals: int | None = None,
):
    """The Jacobian of all profiles, or of the last temperature of some cells, and its arguments."""
    model, case = problem(**Shape()._asdict())
    arguments = jnp.stack(_leaves(model, names)), model, case
    # What forward mode goes through keeps nothing in any case.
    layout = tl.SaveSegments() if mode == "reverse" else tl.SaveEverything()
    residuals = profiles if n_residuals is None else partial(last_temperatures, n_residuals)
    function = partial(residuals, names=tuple(names), layout=layout)
    return CompiledJacobian(function, *arguments, chunk_size=chunk_size, mode=mode), arguments


def _measure(jacobians: Mapping[str, tuple[CompiledJacobian, tuple]], rounds: int) -> list[dict[str, Any]]:
    """One row per Jacobian, timed in turn with the forward run that keeps nothing but its loss."""
    forward, forward_arguments = compiled_forward(Shape())
    calls = {"forward": partial(forward, *forward_arguments)}
    calls |= {name: partial(compiled.program, *args) for name, (compiled, args) in jacobians.items()}
    timings = time_in_turn(calls, rounds=rounds, seconds=60.0)
    rows = []
    for name, (compiled, _) in jacobians.items():
        plan = compiled.plan
        timing = timings[name]
        rows.append(
            {
                "program": name,
                "mode": plan.mode,
                "n_parameters": plan.n_parameters,
                "n_residuals": plan.n_residuals,
                "chunk_size": plan.chunk_size,
                "n_chunks": plan.n_chunks,
                "us": timing.minimum * 1e6 / N_STEPS,
                "median_us": timing.median * 1e6 / N_STEPS,
                "over_forward": timing.minimum / timings["forward"].minimum,
                "total_bytes": compiled.program.memory.total,
            }
            | costs(compiled.program)
        )
    return rows


def measure_jacobian(rounds: int = 15) -> list[dict[str, Any]]:
    """The Jacobian of all profiles by ten parameters, with the chunk that is chosen: what has a target."""
    return _measure({"Jacobian of profiles by 10": compile_jacobian()}, rounds)


def measure_chunks(chunks: Iterable[int] = CHUNKS, rounds: int = 5) -> list[dict[str, Any]]:
    """The Jacobian of all profiles by seventeen parameters: one row per size of the chunk."""
    return _measure(
        {f"chunks of {n}": compile_jacobian(SEVENTEEN_PARAMETERS, chunk_size=n) for n in chunks}, rounds
    )


def measure_modes(counts: Iterable[int] = RESIDUAL_COUNTS, rounds: int = 5) -> list[dict[str, Any]]:
    """Few residuals by ten parameters in both modes."""
    modes: tuple[Mode, ...] = ("forward", "reverse")
    return _measure(
        {
            f"{n} residuals, {mode}": compile_jacobian(mode=mode, n_residuals=n)
            for n in counts
            for mode in modes
        },
        rounds,
    )


def fit_memory(rows: Sequence[Mapping[str, Any]], of: str = "temporary_bytes") -> dict[str, float]:
    """The line m0 + m1 * chunk [bytes] through the memory of rows of `measure_chunks`, and its R²."""
    chunk, memory = (np.array([row[key] for row in rows], dtype=float) for key in ("chunk_size", of))
    m1, m0 = np.polyfit(chunk, memory, 1)
    left = np.sum((memory - m0 - m1 * chunk) ** 2) / np.sum((memory - memory.mean()) ** 2)
    return {"m0": float(m0), "m1": float(m1), "r_squared": float(1.0 - left)}
