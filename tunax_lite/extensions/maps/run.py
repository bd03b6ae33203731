"""Run columns on a map, in tiles of columns and pieces of time.

    while a piece is computed, the forcing of the next is read and the results of the previous are written

All tiles and pieces have the same shapes, so that one compiled program serves all, and another a shorter
frame at the end: tiles are padded with copies of the last column, and blocks consisting of copies only are
skipped. A tile continues from the state written after its last piece, so that a run may end anywhere;
anything computed twice is bit-identical.
"""

import datetime
import functools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import jax
import numpy as np

from ...column.case import Case
from ...column.integrate import restart_of
from ...column.model import Model
from ...column.trajectory import Restart
from ...io.axes import place_in_words
from ...plausibility.water_limits import Extreme, extremes, merged
from ...runtime.engine import AbstractEngine, ThisProcess
from ...runtime.jax_setup import failures_as_values
from ...runtime.memory import peak_memory
from . import store as stores
from .plan import Results, piece_program
from .setup import INITIAL, Layout, MapRun, MapVariable, Piece
from .store import MapStore, TileState

T = TypeVar("T")

FEWEST_TO_GIVE_UP = 16
"""Columns: where all of so many in a tile are not finite, the fault is not that of a place."""


class Broken(NamedTuple):
    """A column with values that are not finite from a time on [s since the epoch]."""

    latitude: float
    longitude: float
    time: float

    def described(self, epoch: datetime.datetime) -> str:
        moment = epoch + datetime.timedelta(seconds=self.time)
        return f"{place_in_words(self.latitude, self.longitude)} before {moment:%Y-%m-%d %H:%M}"


class MapReport(NamedTuple):
    """Failed columns, the peak memory of a process [bytes], and water beyond its limits."""

    broken: tuple[Broken, ...]
    peak_memory: int
    beyond: tuple[Extreme, ...] = ()


def _joined(reports: Sequence[MapReport]) -> MapReport:
    """The report of several parts of a map."""
    beyond = list[Extreme]()
    for report in reports:
        beyond = merged(beyond, report.beyond, same_columns=False)
    broken = tuple(column for report in reports for column in report.broken)
    return MapReport(broken, max((one.peak_memory for one in reports), default=0), tuple(beyond))


@failures_as_values()
def run_tile(
    run: MapRun, path: Path, tile: int, report: Callable[[float], None] = lambda done: None
) -> MapReport:
    """Compute and write the missing pieces of a tile; `report` is called with the fraction that is done.

    Raises:
        FloatingPointError: all columns of the tile failed.
        OSError: a file that cannot be read or written.
    """
    work = _Tile(run, MapStore(path), tile)
    missing = list(enumerate(run.pieces(work.layout)))[work.done :]
    x64 = bool(jax.config.read("jax_enable_x64"))  # of this thread

    def in_precision(function: Callable[..., T], *given: object) -> T:
        with jax.enable_x64(x64):
            return function(*given)

    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        reading = [reader.submit(in_precision, work.read, piece) for _, piece in missing[:1]]
        writing: list[Future] = []
        for done, (number, piece) in enumerate(missing, 1):
            batch = reading.pop().result()
            reading = [reader.submit(in_precision, work.read, piece) for _, piece in missing[done : done + 1]]
            results = work.compute(batch, piece)
            for before in writing:
                before.result()
            writing = [writer.submit(in_precision, work.write, results, number, piece, batch[1], work.broken)]
            report(done / len(missing))
        for last in writing:
            last.result()
    return work.report()


class _Tile:
    """A tile in progress: its columns and their current state."""

    def __init__(self, run: MapRun, store: MapStore, tile: int):
        self._run, self._store, self._tile, self.layout = run, store, tile, store.layout
        n_rows, width = self.layout.n_rows, self.layout.width
        self._columns = columns = run.tiles(n_rows)[tile]
        self._rows = slice(tile * n_rows, min((tile + 1) * n_rows, run.columns.shape[0]))
        self._padded = np.concatenate([columns, np.repeat(columns[-1:], width - len(columns))])
        self._places = run.columns.index[columns] - self._rows.start * run.n_in_row
        self._restart: Restart | list[np.ndarray] | None = None  # as it was read: its arrays
        self.broken = np.full(len(columns), -1)  # first frame affected
        self.done = 0
        self._beyond: list[Extreme] = []  # of the pieces that this process computes
        if (state := store.read_state(tile)) is not None:
            self.done, self.broken, self._restart = state

    def read(self, piece: Piece) -> tuple[Model, Case]:
        return self._run.batch(self._padded, piece.start, piece.stop)

    def compute(self, batch: tuple[Model, Case], piece: Piece) -> Results:
        run, layout, start = self._run, self.layout, self._restart
        if start is None:
            start = restart_of(*batch)
        elif isinstance(start, list):
            structure = jax.tree.structure(jax.eval_shape(restart_of, *batch))
            start = jax.tree.unflatten(structure, map(jax.numpy.asarray, start))
        program, arguments = piece_program(run, layout, piece, batch, start)
        n_blocks = -(-len(self._columns) // layout.block)
        results: Results = jax.block_until_ready(program(*arguments, np.int32(n_blocks)))
        self._restart = results.end
        self._note_broken(np.asarray(results.finite), piece.frames)
        return results

    def _note_broken(self, finite: np.ndarray, frames: slice) -> None:
        """Record failed columns; `finite` has frames first, then columns."""
        bad = ~finite[: frames.stop - frames.start, : len(self._columns)]
        new = bad.any(axis=0) & (self.broken < 0)
        self.broken = np.where(new, frames.start + bad.argmax(axis=0), self.broken)
        if len(self.broken) >= FEWEST_TO_GIVE_UP and (self.broken >= 0).all():
            first = min(self.broken_columns(), key=lambda one: one.time).described(self._run.columns.epoch)
            raise FloatingPointError(
                f"map: expected finite values, got none in all {len(self.broken)} columns of a tile, "
                f"first at {first}; try a shorter time step, or other parameters."
            )

    def report(self) -> MapReport:
        return MapReport(self.broken_columns(), peak_memory(), tuple(self._beyond))

    def broken_columns(self) -> tuple[Broken, ...]:
        columns, times = self._run.columns, self._run.times
        return tuple(
            Broken(float(columns.latitude[i]), float(columns.longitude[i]), float(times[frame]))
            for i, frame in zip(self._columns, self.broken, strict=True)
            if frame >= 0
        )

    def write(self, results: Results, number: int, piece: Piece, case: Case, broken: np.ndarray) -> None:
        """Write the results of a piece, then the state; a kill in between only repeats the piece."""
        frames, n_columns = piece.frames, len(self._columns)
        n_frames = frames.stop - frames.start
        try:
            for name in ("center", "face") if number == 0 else ():
                z = np.asarray(getattr(case.grid, f"z_{name}"))
                z = np.broadcast_to(z.reshape(len(z), -1), (len(z), self.layout.width))[:, :n_columns]
                self._store.write(f"height_{name}", self._on_map(z), self._rows)
            for name, values in results.start.items() if number == 0 else ():
                found = self._on_map(np.asarray(values)[..., :n_columns])
                self._store.write(f"{INITIAL}{name}", found, self._rows)
            gone = (broken >= 0) & (np.arange(frames.start, frames.stop)[:, None] >= broken)
            for name, values in results.values.items():
                found = np.asarray(values)[:n_frames, ..., :n_columns]
                if gone.any():
                    found = np.where(gone.reshape(n_frames, *(1,) * (found.ndim - 2), -1), np.nan, found)
                self._store.write(name, self._on_map(found), self._rows, frames)
            self._judge(results, frames, case)
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(results.end)]
            self._store.write_state(self._tile, TileState(number + 1, broken, leaves))
        except OSError as error:
            raise OSError(
                error.errno,
                f"{self._store.path}: expected to write to it, got: {error.strerror or error}; make room, "
                "and continue with --resume.",
            ) from error

    def _judge(self, results: Results, frames: slice, case: Case) -> None:
        """Note extreme water: in the stored frames, or else at the end of the piece."""
        names = "temperature", "salinity"
        n_frames, n_columns = frames.stop - frames.start, len(self._columns)
        if all(name in results.values for name in names):
            fields = [np.asarray(results.values[name])[:n_frames, :, :n_columns] for name in names]
            time = self._run.times[frames]
        else:
            fields = [np.asarray(getattr(results.end.state, name))[None, :, :n_columns] for name in names]
            time = self._run.times[[frames.stop - 1]]
        z = np.asarray(case.grid.z_center).reshape(case.grid.n_cells, -1)[:, :n_columns]
        found = extremes(fields[0], fields[1], z, time, has_ice=case.ice is not None)
        self._beyond = merged(self._beyond, [one._replace(place=self._place(one.column)) for one in found])

    def _place(self, column: int) -> str:
        """Position of a column of the tile in words, with a comma behind it."""
        at, columns = self._columns[column], self._run.columns
        return f"{place_in_words(float(columns.latitude[at]), float(columns.longitude[at]))}, "

    def _on_map(self, values: np.ndarray) -> np.ndarray:
        """Put columns (the last axis) at their positions in the rows of the tile."""
        shape = self._rows.stop - self._rows.start, *self._run.columns.shape[1:]
        found = np.full((*values.shape[:-1], math.prod(shape)), np.nan, values.dtype)
        found[..., self._places] = values
        return found.reshape(*values.shape[:-1], *shape)


@failures_as_values()
def run_map(
    run: MapRun,
    path: Path,
    layout: Layout,
    variables: Sequence[MapVariable],
    engine: AbstractEngine,
    *,
    store: MapStore | None = None,
    report: Callable[[float, str], None] = lambda done, where: None,
) -> MapReport:
    """Run a map and write its store, or continue one.

    Args:
        run, layout, variables: from `planned`.
        engine: runs the tiles; all its workers must have access to the folder of the store.
        store: from `stores.prepare`; `None` for a new one.
        report: called with the fraction done, and the position.

    Raises:
        FileFormatError: the input changed meanwhile; or a damaged state of a tile.
        FloatingPointError: all columns of a tile failed.
        OSError: a file that cannot be read or written; computed results are kept.
    """
    if store is None:
        store = stores.create(path, run, variables, layout)
    tiles = list(run.tiles(store.layout.n_rows))
    done = dict.fromkeys(tiles, 0.0)

    def note(tile: int, fraction: float) -> None:
        done[tile] = fraction
        report(sum(done.values()) / len(tiles), f"{sum(done.values()):.3g} of {len(tiles)} tiles")

    one: Callable[[int], MapReport] = functools.partial(run_tile, run, path)
    if isinstance(engine, ThisProcess):
        one = lambda tile: run_tile(run, path, tile, functools.partial(note, tile))  # noqa: E731
    results = _joined(engine.map(one, tiles, lambda number, result: note(tiles[number], 1.0)))
    store.check_inputs(run)  # nothing changed meanwhile
    store.finish([column._asdict() for column in results.broken])
    return results
