"""The division of a map into tiles and pieces, and the compiled program that computes a piece of a tile.

Diagnostics are computed with the columns, for every frame. Profiles are stored in single precision, because
they make up nearly all of the output; scalars in the precision of the run.
"""

import functools
import math
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
from ...column.trajectory import Restart, prognostic_variables
from ...runtime import compile_program
from ...runtime.compilation import Program, Shared
from ...runtime.devices import Split, block_size, map_blocks
from ...runtime.memory import TooLargeError, check_memory
from .setup import INITIAL, Layout, MapRun

PROCESS = 700 * 2**20
"""Bytes of a process with its libraries and compiled programs, without any column."""
N_TILES, COLUMNS = 16, (256, 4096)
"""Tiles of a map on a CPU, and bounds of the columns in a tile; a GPU takes all columns at once."""
MOST_CELL_STEPS, MOST_BYTES = 3e9, 2**30
"""Largest piece: cells times steps (a minute on one core), and bytes. A killed process loses one piece."""
_SAMPLE = 4
"""Number of copies of the first column from which the memory per column is estimated."""


class Results(NamedTuple):
    """Results of a piece of a tile.

    Args:
        values: stored variables by name, `(n_frames, ..., width)`.
        start: heights of cells and faces, and stored variables at the start, by name, `(..., width)`.
        finite: columns without NaN and infinity.
        end: last state.
    """

    values: dict[str, Float[Array, "..."]]
    start: dict[str, Float[Array, "..."]]
    finite: Bool[Array, "frame column"]
    end: Restart


def _finite(restart: Restart) -> Bool[Array, " column"]:
    leaves = jax.tree.leaves((restart.state, restart.clo_state))
    real = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    finite = [jnp.isfinite(leaf).all(axis=tuple(range(leaf.ndim - 1))) for leaf in real]
    return functools.reduce(jnp.logical_and, finite)


def _frames(run: MapRun, n_frames: int, part: tuple) -> Results:
    """Compute frames of one block of columns; `part` is the model, the case, the start and the time step."""
    model, case, start, dt = part
    prepared = model.with_von_karman(case)

    def variables(now: Restart) -> dict[str, Array]:
        """Stored variables of a frame, prognostic or diagnosed, with the columns along the last axis."""
        states = prognostic_variables(now.state, now.clo_state)
        frame = Snapshot(now.state, now.clo_state, now.step.astype(dt.dtype) * dt, prepared.grid, prepared)
        return {name: states[name] if name in states else diagnostic(name)(frame) for name in run.variables}

    end, (values, finite) = integrate(
        model,
        case,
        start,
        dt,
        n_frames=n_frames,
        steps_per_frame=run.steps_per_frame,
        checkpointing=AutoCheckpointing(),
        save=lambda carry, _: (variables(carry.now), _finite(carry.now)),
    )
    stored = {name: _in_single_precision(each, 2) for name, each in values.items()}
    first = {f"{INITIAL}{name}": _in_single_precision(each, 1) for name, each in variables(start).items()}
    heights = {"height_center": prepared.grid.z_center, "height_face": prepared.grid.z_face}
    return Results(stored, heights | first, finite, end)


def _in_single_precision(values: Array, n_of_scalar: int) -> Array:
    """Convert profiles, which have more axes than a scalar: column, and in series frame."""
    return values.astype(jnp.float32) if values.ndim > n_of_scalar else values


_programs: Shared[Program] = Shared(most=1)
"""The program of the last map of this process."""


def piece_program(
    run: MapRun, layout: Layout, batch: tuple[Model, Case], start: Restart
) -> tuple[Program, tuple]:
    """Return the program for a piece of a tile, compiled once per process, and its arguments.

    The program takes one more argument: the number of blocks that have columns.
    """
    dt = jnp.asarray(run.dt, batch[1].grid.z_face.dtype)

    def results(batch: tuple[Model, Case], start: Restart, dt: Array, n_blocks: Array) -> Results:
        model, case = batch[0], batched_case(*batch)
        arguments = (model, case, start, dt)
        compute_block = functools.partial(_frames, run, layout.n_frames)
        if layout.block == layout.width:
            return compute_block(arguments)
        has_columns = columns_of(model, case, start)
        is_split = Results(*(True, True, True, has_columns[2]))  # pyright: ignore[reportArgumentType]
        split = Split((*has_columns, False), jax.eval_shape(compute_block, arguments), is_split)
        return map_blocks(compute_block, arguments, split, layout.block, n_blocks)

    arguments = batch, start, dt
    compiled = lambda: compile_program(results, *arguments, np.int32(1))  # noqa: E731
    return _programs.get(compiled, arguments, run.fingerprint, layout), arguments


class Plan(NamedTuple):
    """Division of a map, its stored variables, and their sizes.

    Args:
        layout: division into tiles and pieces.
        structure: shapes and types of the results of one frame of some columns.
        memory: estimated memory of a process [bytes].
        n_bytes: size of all values in the store before compression.
    """

    layout: Layout
    structure: Results
    memory: int
    n_bytes: int


def planned(run: MapRun, n_columns: int | None = None) -> Plan:
    """Divide a map into tiles of about `n_columns`, and its time into pieces; reads the first column.

    The division does not depend on the number of workers, so that results do not either.

    Raises:
        MemoryError: a tile needs more memory than is free.
        ValueError: an unknown variable, or times that are not multiples of each other.
    """
    n_all, n_rows = run.columns.n_columns, run.columns.shape[0]
    if n_columns is None:
        n_columns = n_all
        if jax.default_backend() == "cpu":
            n_columns = int(np.clip(math.ceil(n_all / N_TILES), *COLUMNS))
    rows = min(n_rows, math.ceil(n_columns * n_rows / n_all))
    widest = max(len(columns) for columns in run.tiles(rows).values())
    batch = run.batch(np.zeros(_SAMPLE, dtype=int), 0.0, run.output_interval)
    start = restart_of(*batch)
    restart = sum(leaf.nbytes for leaf in jax.tree.leaves(start)) / _SAMPLE
    block = block_size("auto", widest, int(widest * restart))
    width = -(-widest // block) * block

    structure = _structure(run, batch, start)
    first, frame, forcing = (
        sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) / _SAMPLE
        for tree in (structure.start, structure.values, batch)
    )
    # Copies held at once: the next forcing is read and the last results are written during a piece.
    of_frame = width * (5.0 * forcing + 3.0 * frame)
    cell_steps = run.steps_per_frame * run.first_column.grid.n_cells * width
    most = max(1, int(min(run.n_frames, MOST_CELL_STEPS / cell_steps, MOST_BYTES / of_frame)))
    n_frames = math.ceil(run.n_frames / math.ceil(run.n_frames / most))
    memory = int(PROCESS + n_frames * of_frame + width * (4.0 * restart + 3.0 * first))
    try:
        check_memory(memory, "a tile of the map")
    except TooLargeError as error:
        raise MemoryError(f"map: {error}; use fewer --columns, or store more often.") from error
    n_bytes = int(n_all * (first + frame * run.n_frames))
    return Plan(Layout(rows, n_frames, block, width), structure, memory, n_bytes)


def _structure(run: MapRun, batch: tuple[Model, Case], start: Restart) -> Results:
    """Shapes and types of the results of one frame of a batch.

    Raises:
        ValueError: an unknown variable, or one that is neither a profile nor a scalar.
    """
    dt = jnp.asarray(run.dt, start.state.temperature.dtype)
    part = batch[0], batched_case(*batch), start, dt
    results = jax.eval_shape(functools.partial(_frames, run, 1), part)
    n_cells = start.state.temperature.shape[0]
    for name, values in results.values.items():
        shape = values.shape[1:-1]
        if shape not in ((), (n_cells,), (n_cells + 1,)):
            expected = f"{name} on cells, on faces or one per column"
            raise ValueError(f"map: expected {expected}, got the shape {shape}.")
    return results
