"""The compiled program of a map, and a division of the map with which it fits into memory.

Diagnostics are computed with the columns, for every frame. Profiles are stored in single precision, because
they make up nearly all of the output; scalars in the precision of the run.

A process holds the forcing of a tile and piece twice, because the next is read meanwhile, and its results
twice, because the previous ones are being written; the compiler reports the memory of the program itself. If
memory is left, it reads for several tiles at once.
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
from ...column.checkpointing import Auto
from ...column.diagnostics import Snapshot, diagnostic
from ...column.integrate import batched_case, columns_of, integrate, restart_of
from ...column.model import Model
from ...column.trajectory import Restart, carried
from ...runtime import Program, Shared, compile_program
from ...runtime.devices import Split, block_size, map_blocks
from .setup import INITIAL, Layout, MapRun, MapVariable, Piece

PROCESS = 700 * 2**20
"""Bytes of a process with its libraries and compiled programs, without any column."""
FEWEST_TILES = 16
"""Of a map on a CPU, for as many processes or fewer; a GPU takes as many columns at once as it has memory
for."""
FEWEST_COLUMNS = 256
"""In a tile, about: the last of its blocks is in part copies, which cost as much as columns."""
LONGEST_PIECE = 60.0
"""s, of a tile: about what is lost where a process ends."""
_SECONDS_PER_CELL = 2e-8  # per step, on one core
_BLOCK_RESULTS = 1_500_000  # bytes of the results of a block and piece; they stay in the cache of a core
_FEW_FRAMES = 8  # in a piece, before fewer tiles are read at once
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
        checkpointing=Auto(),
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
"""Of the last map of this process: of whole pieces, and of a shorter frame at the end."""


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
    """Division of a map, its stored variables, and the memory required.

    Args:
        layout, variables: for `run_map`.
        results: bytes of all values in the store before compression.
    """

    layout: Layout
    variables: tuple[MapVariable, ...]
    results: int


class _Sizes(NamedTuple):
    """Bytes per column: of the state carried by a step, and per frame, of forcing and results."""

    restart: int
    forcing: tuple[float, float]
    first: int  # of the variables at the start
    frame: int
    largest: int  # of any variable in a frame
    n_cells: int

    def forced(self, n_frames: int) -> int:
        return int(self.forcing[0] + self.forcing[1] * n_frames)

    def read_along(self, n_frames: int) -> int:
        """Of a waiting tile: forcing as read, for a piece and the next."""
        return 3 * self.forced(n_frames) + self.restart


def planned(run: MapRun, memory: int) -> Plan:
    """Divide a map so that a process that computes a tile holds at most `memory` bytes.

    Compiles the program and reads a few columns. The division does not depend on the machine or the number of
    workers, so that results do not either.

    Raises:
        MemoryError: less than the smallest tile needs for one frame.
        ValueError: an unknown variable, or times that are not multiples of each other.
    """
    sizes, variables = _measured(run)
    on_cpu = jax.default_backend() == "cpu"
    n_rows, n_columns = run.columns.shape[0], run.columns.n_columns
    rows = n_rows
    if on_cpu:
        fewest = math.ceil(FEWEST_COLUMNS * n_rows / n_columns)
        rows = min(n_rows, max(math.ceil(n_rows / FEWEST_TILES), fewest))
    while True:
        layout, needed = _largest(run, sizes, rows, memory, on_cpu)
        if needed <= memory:
            break
        if rows == 1:
            raise MemoryError(
                f"map: expected at least {math.ceil(needed / 2**20)} MiB of memory for one row of the map "
                f"and one frame, got {memory / 2**20:.0f} MiB; give more (--memory), keep fewer variables, "
                "or save more often."
            )
        rows = math.ceil(rows / 2)
    results = n_columns * (sizes.first + sizes.frame * run.length.n_all)
    while True:
        exact = _compiled(run, layout, sizes)
        if exact <= memory or layout.n_frames == 1:
            return Plan(dataclasses.replace(layout, memory=max(exact, needed)), variables, results)
        layout = dataclasses.replace(layout, n_frames=run.frames_per_piece(math.ceil(layout.n_frames / 2)))


def _largest(run: MapRun, sizes: _Sizes, rows: int, memory: int, on_cpu: bool) -> tuple[Layout, int]:
    """The largest tiles of given rows with as many frames as fit, at least one, and their memory."""
    rows, block, width = _cut(run, sizes, rows)
    work = width * sizes.n_cells * run.length.steps_per_frame * _SECONDS_PER_CELL
    cached = max(4, _BLOCK_RESULTS // (block * sizes.frame)) if on_cpu else run.length.n_frames
    n_frames = max(1, min(run.length.n_frames, int(LONGEST_PIECE / work), cached))

    def needed(n_frames: int) -> int:
        forcing, results = width * sizes.forced(n_frames), width * (sizes.first + sizes.frame * n_frames)
        program = forcing + width * sizes.restart + results
        layout = Layout(rows, n_frames, block, width, memory)
        return _in_all(run, layout, sizes, forcing, results, program)

    along = (-(-run.columns.shape[0] // rows) - 1) // 2 * width
    while n_frames > _FEW_FRAMES and needed(n_frames) + along * sizes.read_along(n_frames) > memory:
        n_frames = math.ceil(n_frames / 2)
    while n_frames > 1 and needed(n_frames) > memory:
        n_frames = math.ceil(n_frames / 2)
    n_frames = run.frames_per_piece(n_frames)
    return Layout(rows, n_frames, block, width, memory), needed(n_frames)


def _cut(run: MapRun, sizes: _Sizes, rows: int) -> tuple[int, int, int]:
    """Rows of a tile (at most a quarter fewer), columns per block and tile, with the fewest copies."""
    per_row = np.bincount(run.columns.index // run.n_in_row, minlength=run.columns.shape[0])
    fitting, found = block_size("auto", 10**6, 10**6 * sizes.restart), []  # a power of two: fastest
    for n_rows in range(rows, rows - max(1, rows // 4), -1):
        in_tiles = np.add.reduceat(per_row, np.arange(0, len(per_row), n_rows))
        most = int(in_tiles.max())
        blocks = {fitting, max(16, fitting // 2)} if fitting < most else set()
        if most < 4 * fitting:  # fewer blocks gain nothing
            blocks.add(max(most, 4 if most > 1 else 1))
        for block in blocks:
            computed = -(-in_tiles // block) * block
            found.append((int(computed.sum()), -n_rows, -block, int(computed.max())))
    _, n_rows, block, width = min(found)
    return -n_rows, -block, width


def read_together(run: MapRun, layout: Layout, memory: int) -> tuple[int, int]:
    """Tiles that a process of so many bytes reads at once, at least one, and the bytes that it then needs."""
    further = layout.width * _measured(run)[0].read_along(layout.n_frames)
    n = max(1, min(len(run.tiles(layout)), 1 + (memory - layout.memory) // further))
    return n, layout.memory + (n - 1) * further


def _in_all(run: MapRun, layout: Layout, sizes: _Sizes, forcing: int, results: int, program: int) -> int:
    """Bytes of a process, including the next forcing being read and the results being written."""
    on_map = layout.n_rows * run.n_in_row * layout.n_frames * sizes.largest
    restart = layout.width * sizes.restart
    return PROCESS + 4 * forcing + 3 * restart + 2 * results + program + 2 * on_map


def _compiled(run: MapRun, layout: Layout, sizes: _Sizes) -> int:
    """Memory of a process, from the compiler's report."""
    piece = run.pieces(layout)[0]
    batch = run.batch(np.zeros(layout.width, dtype=int), piece.start, piece.stop)
    program, _ = piece_program(run, layout, piece, batch, restart_of(*batch))
    forcing, memory = sum(leaf.nbytes for leaf in jax.tree.leaves(batch)), program.memory
    return _in_all(run, layout, sizes, forcing, memory.outputs, memory.temporary + memory.code)


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
    return _Sizes(restart, forcing, first, sum(frames), max(frames), case.grid.n_cells), variables


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
