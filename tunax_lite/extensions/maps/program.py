"""The compiled program of a map: one piece for the columns of a tile, and its stored variables.

Diagnostics are computed with the columns, for every frame. Profiles are stored in single precision, because
they make up nearly all of the output; scalars in the precision of the run.
"""

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...column.case import Case
from ...column.checkpointing import Auto
from ...column.diagnostics import Snapshot, diagnostic
from ...column.integrate import batched_case, columns_of, integrate
from ...column.model import Model
from ...column.trajectory import Restart, carried
from ...runtime import Program, compile_program
from ...runtime.devices import Split, map_blocks
from .setup import Layout, MapRun


class Results(NamedTuple):
    """Variables by name `(n_frames, ..., width)`, which columns are finite, and the final state."""

    values: dict[str, Float[Array, "..."]]
    finite: Bool[Array, "frame column"]
    end: Restart


def of_frame(restart: Restart, case: Case, dt: Array, names: Sequence[str]) -> dict[str, Array]:
    """Stored variables of a frame by name, prognostic or diagnosed, with the columns along the last axis."""
    held = carried(restart.state, restart.clo_state)
    now = Snapshot(restart.state, restart.clo_state, restart.step.astype(dt.dtype) * dt, case.grid, case)
    return {name: held[name] if name in held else diagnostic(name)(now) for name in names}


def _finite(restart: Restart) -> Bool[Array, " column"]:
    leaves = jax.tree.leaves((restart.state, restart.clo_state))
    real = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    found = [jnp.isfinite(leaf).all(axis=tuple(range(leaf.ndim - 1))) for leaf in real]
    return functools.reduce(jnp.logical_and, found)


def kept(values: Array) -> Array:
    """In single precision if they are profiles."""
    return values.astype(jnp.float32) if values.ndim > 2 else values


def _frames(run: MapRun, layout: Layout, is_shorter: bool, part: tuple) -> Results:
    """One piece of one block of columns."""
    n_frames, steps = (1, run.length.rest) if is_shorter else (layout.n_frames, run.length.steps_per_frame)
    model, case, start, dt = part
    whole = model.with_von_karman(case)
    end, (values, finite, means) = integrate(
        model,
        case,
        start,
        dt,
        n_frames=n_frames,
        steps_per_frame=steps,
        checkpointing=Auto(),
        save=lambda carry, _: (
            of_frame(carry.now, whole, dt, run.variables),
            _finite(carry.now),
            carry.means,
        ),
        means=bool(run.means),
    )
    if means is not None:
        averages = carried(*means)
        values |= {f"{name}_mean": averages[name] for name in run.means}
    return Results({name: kept(found) for name, found in values.items()}, finite, end)


def _piece(
    run: MapRun,
    layout: Layout,
    is_shorter: bool,
    batch: tuple[Model, Case],
    start: Restart,
    dt: Array,
    n_blocks: Array,
) -> Results:
    model, case = batch[0], batched_case(*batch)
    arguments = (model, case, start, dt)
    one = functools.partial(_frames, run, layout, is_shorter)
    if layout.block == layout.width:
        return one(arguments)
    has_columns = columns_of(model, case, start)
    of_results = Results(*(True, True, has_columns[2]))  # pyright: ignore[reportArgumentType]
    split = Split((*has_columns, False), jax.eval_shape(one, arguments), of_results)
    return map_blocks(one, arguments, split, layout.block, n_blocks)


@dataclasses.dataclass(frozen=True)
class PieceProgram:
    """One piece of a tile, compiled."""

    program: Program
    dt: Array

    def __call__(self, batch: tuple[Model, Case], start: Restart, n_blocks: int) -> Results:
        return jax.block_until_ready(self.program(batch, start, self.dt, np.int32(n_blocks)))


_programs: dict[tuple[Hashable, bool], PieceProgram] = {}
"""Of the last map of this process: of whole pieces, and of a shorter frame at the end."""


def piece_program(
    run: MapRun, layout: Layout, batch: tuple[Model, Case], start: Restart, *, is_shorter: bool = False
) -> PieceProgram:
    """The program for a divided map, compiled once per process."""
    key = run.fingerprint, dataclasses.replace(layout, memory=0), bool(jax.config.read("jax_enable_x64"))
    if (key, is_shorter) not in _programs:
        dt = jnp.asarray(run.dt, batch[1].grid.z_face.dtype)
        given = batch, start, dt, np.int32(1)
        program = compile_program(functools.partial(_piece, run, layout, is_shorter), *given)
        for other in [other for other in _programs if other[0] != key]:
            del _programs[other]
        _programs[key, is_shorter] = PieceProgram(program, dt)
    return _programs[key, is_shorter]
