"""The division of a map with which it fits into memory, and the compiled program of one of its parts.

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
from ...column.integrate import batched_case, columns_of, integrate, restart_of
from ...column.model import Model
from ...column.trajectory import Restart, carried
from ...runtime import Program, Shared, compile_program
from ...runtime.devices import Split, block_size, map_blocks
from ...runtime.memory import expected_seconds
from .setup import INITIAL, Layout, MapRun, MapVariable, Piece

PROCESS = 700 * 2**20
"""Bytes of a process with its libraries and compiled programs, without any column."""
FEWEST_TILES = 16
"""Tiles of a map on a CPU, for up to as many processes; a GPU takes all columns that its memory holds."""
FEWEST_COLUMNS = 256
"""Approximate minimum per tile; the last block is padded with copies, which cost as much as columns."""
LONGEST_PIECE = 60.0
"""Approximate time of a tile and piece [s], which is lost where a process ends."""
_SAMPLE, _FRAMES_OF_SAMPLE = 4, 8


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
        results: bytes of all values in the store before compression.
    """

    layout: Layout
    variables: tuple[MapVariable, ...]
    results: int


class _Sizes(NamedTuple):
    """Bytes per column.

    Args:
        restart: of the state that a step hands to the next.
        forcing: of the forcing of any piece, and of each of its frames.
        first: of the results at the start; frame: of those of a frame; largest: of one variable of a frame.
    """

    restart: int
    forcing: tuple[float, float]
    first: int
    frame: int
    largest: int

    def of_process(self, width: int, n_frames: int, n_points: int) -> int:
        """Estimate of the bytes of a process: tiles of `width` columns on `n_points` of the map.

        It reads the next forcing and writes the previous results while it computes.
        """
        forcing = self.forcing[0] + self.forcing[1] * n_frames
        results = self.first + self.frame * n_frames
        on_map = 2 * n_points * n_frames * self.largest
        return int(PROCESS + width * (5 * forcing + 4 * self.restart + 3 * results) + on_map)


def planned(run: MapRun, memory: int) -> Plan:
    """Divide a map so that a process that computes a tile holds about `memory` bytes at most.

    Reads a few columns. The division does not depend on the number of workers, so that results do not either.

    Raises:
        MemoryError: less than the smallest tile needs for one frame.
        ValueError: an unknown variable, or times that are not multiples of each other.
    """
    sizes, variables = _measured(run)
    n_rows, n_columns = run.columns.shape[0], run.columns.n_columns
    rows, fitting = n_rows, block_size("auto", 10**6, 10**6 * sizes.restart)  # a power of two: fastest
    if jax.default_backend() == "cpu":
        fewest = math.ceil(FEWEST_COLUMNS * n_rows / n_columns)
        rows = min(n_rows, max(math.ceil(n_rows / FEWEST_TILES), fewest))
    while True:
        widest = max(len(columns) for columns in run.tiles(rows).values())
        block = fitting if widest >= 4 * fitting else max(widest, min(n_columns, 4))
        width = -(-widest // block) * block
        seconds = expected_seconds(run.output_interval / run.dt, run.first_grid.n_cells, width)
        n_frames = max(1, min(run.length.n_frames, int(LONGEST_PIECE / seconds)))
        n_points = rows * run.n_in_row
        while n_frames > 1 and sizes.of_process(width, n_frames, n_points) > memory:
            n_frames = math.ceil(n_frames / 2)
        n_frames = run.frames_per_piece(n_frames)
        needed = sizes.of_process(width, n_frames, n_points)
        if needed <= memory:
            results = n_columns * (sizes.first + sizes.frame * run.length.n_all)
            return Plan(Layout(rows, n_frames, block, width, needed), variables, results)
        if rows == 1:
            raise MemoryError(
                f"map: expected at least {math.ceil(needed / 2**20)} MiB of memory for one row of the map "
                f"and one frame, got {memory / 2**20:.0f} MiB; give more (--memory), keep fewer variables, "
                "or save more often."
            )
        rows = math.ceil(rows / 2)


def _measured(run: MapRun) -> tuple[_Sizes, tuple[MapVariable, ...]]:
    """Bytes per column, from a sample of columns, and the stored variables."""
    columns, interval = np.zeros(_SAMPLE, dtype=int), run.output_interval
    several = min(_FRAMES_OF_SAMPLE, run.length.n_frames)
    found = []
    for n_frames in (1, several):
        batch = run.batch(columns, 0.0, n_frames * interval)
        model, case = batch[0], batched_case(*batch)
        start = restart_of(*batch)
        split = jax.tree.leaves(columns_of(model, case, start)[:2])
        leaves = zip(jax.tree.leaves((model, case)), split, strict=True)
        found.append(sum(leaf.nbytes for leaf, own in leaves if own) / _SAMPLE)
    slope = (found[1] - found[0]) / max(1, several - 1)
    variables = _variables(run, model, case, start)
    restart = sum(leaf.nbytes for leaf in jax.tree.leaves(start)) // _SAMPLE
    own = [(one, math.prod(one.shape) * one.dtype.itemsize) for one in variables if not one.is_height]
    first = sum(size for one, size in own if one.is_initial)
    frames = [size for one, size in own if not one.is_initial]
    forcing = found[0] - slope, slope
    return _Sizes(restart, forcing, first, sum(frames), max(frames)), variables


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
