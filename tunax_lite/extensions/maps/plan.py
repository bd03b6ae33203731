"""The division of a map into tiles and pieces, and the compiled program of one of its parts.

Diagnostics are computed with the columns, for every frame. Profiles are stored in single precision, because
they make up nearly all of the output; scalars in the precision of the run.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...column.case import Case
from ...column.checkpointing import AutoCheckpointing
from ...column.diagnostics import Snapshot, diagnostic
from ...column.integrate import Length, batched_case, columns_of, integrate, restart_of
from ...column.model import Model
from ...column.trajectory import Restart, carried
from ...runtime import compile_program
from ...runtime.compilation import Program, Shared
from ...runtime.devices import Split, block_size, map_blocks
from ...runtime.memory import TooLargeError, check_memory, expected_seconds
from .setup import INITIAL, Layout, MapRun, MapVariable, Piece

PROCESS = 700 * 2**20
"""Bytes of a process with its libraries and compiled programs, without any column."""
FEWEST_TILES, COLUMNS = 16, (256, 4096)
"""Tiles of a map on a CPU, and their least and most columns; a GPU takes all columns at once."""
LONGEST_PIECE, PIECE = 60.0, 2**30
"""Approximate time of a tile and piece [s], which is lost where a process ends, and its most bytes."""
_SAMPLE = 4


class Results(NamedTuple):
    """Variables by name `(n_frames, ..., width)`, at the start `(..., width)`, finite columns, last state."""

    values: dict[str, Float[Array, "..."]]
    start: dict[str, Float[Array, "..."]]
    finite: Bool[Array, "frame column"]
    end: Restart


def _of_frame(restart: Restart, case: Case, dt: Array, names: Sequence[str]) -> dict[str, Array]:
    """Stored variables of a frame by name, prognostic or diagnosed, with the columns along the last axis."""
    held = carried(restart.state, restart.clo_state)
    now = Snapshot(restart.state, restart.clo_state, restart.step.astype(dt.dtype) * dt, case.grid, case)
    return {name: held[name] if name in held else diagnostic(name)(now) for name in names}


def _finite(restart: Restart) -> Bool[Array, " column"]:
    leaves = jax.tree.leaves((restart.state, restart.clo_state))
    real = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    found = [jnp.isfinite(leaf).all(axis=tuple(range(leaf.ndim - 1))) for leaf in real]
    return functools.reduce(jnp.logical_and, found)


def _kept(values: Array) -> Array:
    """In single precision if they are profiles."""
    return values.astype(jnp.float32) if values.ndim > 2 else values


def _frames(run: MapRun, n_frames: int, steps_per_frame: int, part: tuple) -> Results:
    """One piece of one block of columns."""
    model, case, start, dt = part
    whole = model.with_von_karman(case)
    end, (values, finite, means) = integrate(
        model,
        case,
        start,
        dt,
        n_frames=n_frames,
        steps_per_frame=steps_per_frame,
        checkpointing=AutoCheckpointing(),
        save=lambda carry, _: (
            _of_frame(carry.now, whole, dt, run.variables),
            _finite(carry.now),
            carry.means,
        ),
        means=bool(run.means),
    )
    if means is not None:
        averages = carried(*means)
        values |= {f"{name}_mean": averages[name] for name in run.means}
    first = _of_frame(start, whole, dt, run.variables)
    kept = {name: _kept(found) for name, found in values.items()}
    return Results(kept, {name: _kept(found[None])[0] for name, found in first.items()}, finite, end)


_programs: Shared[Program] = Shared(most=2)
"""Programs of the last map of this process: of whole pieces, and of a shorter frame at the end."""


def piece_program(
    run: MapRun, layout: Layout, piece: Piece, batch: tuple[Model, Case], start: Restart
) -> tuple[Program, tuple]:
    """The program for a piece of a tile, compiled once per process, and its arguments but for the last.

    The last is the number of blocks that have columns.
    """
    dt = jnp.asarray(run.dt, batch[1].grid.z_face.dtype)
    block, *lengths = layout.block, piece.n_frames, piece.steps_per_frame

    def results(batch: tuple[Model, Case], start: Restart, dt: Array, n_blocks: Array) -> Results:
        model, case = batch[0], batched_case(*batch)
        arguments = (model, case, start, dt)
        one = functools.partial(_frames, run, *lengths)
        if block == layout.width:
            return one(arguments)
        has_columns = columns_of(model, case, start)
        of_results = Results(*(True, True, True, has_columns[2]))  # pyright: ignore[reportArgumentType]
        split = Split((*has_columns, False), jax.eval_shape(one, arguments), of_results)
        return map_blocks(one, arguments, split, block, n_blocks)

    arguments = batch, start, dt
    same = run.fingerprint, block, layout.width, *lengths
    program = _programs.get(lambda: compile_program(results, *arguments, np.int32(1)), arguments, *same)
    return program, arguments


class Plan(NamedTuple):
    """Division of a map, and its stored variables.

    Args:
        layout, variables: for `run_map`.
        memory: estimate of the bytes that a process holds.
        results: bytes of all values in the store before compression.
    """

    layout: Layout
    variables: tuple[MapVariable, ...]
    memory: int
    results: int


def planned(run: MapRun, n_columns: int | None = None) -> Plan:
    """Divide a map into tiles of about `n_columns`, and its time into pieces; reads a few columns.

    The division does not depend on the number of workers, so that results do not either.

    Raises:
        MemoryError: a tile needs more memory than is free.
        ValueError: an unknown variable, or times that are not multiples of each other.
    """
    n_all, n_rows = run.columns.n_columns, run.columns.shape[0]
    if n_columns is None:
        n_columns = n_all
        if jax.default_backend() == "cpu":
            n_columns = int(np.clip(math.ceil(n_all / FEWEST_TILES), *COLUMNS))
    rows = min(n_rows, math.ceil(n_columns * n_rows / n_all))
    widest = max(len(columns) for columns in run.tiles(rows).values())
    batch = run.batch(np.zeros(_SAMPLE, dtype=int), 0.0, run.output_interval)
    start = restart_of(*batch)
    restart = sum(leaf.nbytes for leaf in jax.tree.leaves(start)) / _SAMPLE
    block = block_size("auto", widest, int(widest * restart))
    width = -(-widest // block) * block

    variables = _variables(run, batch[0], batched_case(*batch), start)
    stored = [one for one in variables if not one.is_height]
    first, frame = (
        sum(math.prod(one.shape) * one.dtype.itemsize for one in stored if one.is_initial == is_initial)
        for is_initial in (True, False)
    )
    forcing = sum(leaf.nbytes for leaf in jax.tree.leaves(batch)) / _SAMPLE
    # The next forcing is read and the previous results are written while a piece is computed.
    of_frame = width * (5.0 * forcing + 3.0 * frame)
    seconds = expected_seconds(run.output_interval / run.dt, run.first_grid.n_cells, width)
    most = max(1, int(min(run.length.n_frames, LONGEST_PIECE / seconds, PIECE / of_frame)))
    n_frames = frames_per_piece(run.length, most)
    memory = int(PROCESS + n_frames * of_frame + width * (4.0 * restart + 3.0 * first))
    try:
        check_memory(memory, "a tile of the map")
    except TooLargeError as error:
        raise MemoryError(f"map: {error}; use fewer --columns, or store more often.") from error
    results = n_all * (first + frame * run.length.n_all)
    return Plan(Layout(rows, n_frames, block, width), variables, memory, results)


def frames_per_piece(length: Length, most: int) -> int:
    """Number of frames per piece, at most so many.

    Pieces are equally long, so that little is computed beyond the end; nothing is, before a shorter frame.
    """
    pieces = math.ceil(length.n_frames / most)
    while length.rest and length.n_frames % pieces:
        pieces += 1
    return math.ceil(length.n_frames / pieces)


def _variables(run: MapRun, model: Model, case: Case, start: Restart) -> tuple[MapVariable, ...]:
    """The variables of the store, with names, shapes and types."""
    held = carried(start.state, start.clo_state)
    n_cells = case.grid.n_cells
    dims = {n_cells: ("z_center",), n_cells + 1: ("z_face",)}
    unknown = sorted({*run.means} - {*held})
    if unknown:
        raise ValueError(f"map: expected means of {', '.join(sorted(held))}, got {unknown[0]}; leave it out.")
    dt = jnp.asarray(run.dt, start.state.temperature.dtype)
    whole = model.with_von_karman(case)
    found = dict(jax.eval_shape(lambda now: _of_frame(now, whole, dt, run.variables), start))
    found |= {f"{name}_mean": held[name] for name in run.means}
    heights = (("height_center", n_cells), ("height_face", n_cells + 1))
    variables = [MapVariable(name, name, (n,), dims[n], np.dtype("float64")) for name, n in heights]
    told = case.tracer_units
    for name, values in found.items():
        own = values.shape[:-1]
        frames = jax.eval_shape(lambda one: _kept(one[None]), values)
        if len(own) > 1 or (own and own[0] not in dims):
            raise ValueError(
                f"map: expected {name} on cells, on faces or one per column, got the shape {own}."
            )
        is_mean = name not in run.variables
        quantity = name.removesuffix("_mean") if is_mean else name
        along, about = dims[own[0]] if own else (), told.get(quantity)
        variable = MapVariable(name, quantity, own, along, frames.dtype, is_mean, told=about)
        variables.append(variable)
        if not is_mean:
            initial = {"name": f"{INITIAL}{name}", "is_initial": True}
            variables.append(dataclasses.replace(variable, **initial))
    return tuple(variables)
