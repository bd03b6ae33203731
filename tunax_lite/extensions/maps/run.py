"""Run columns on a map, in tiles of columns and pieces of time.

All tiles and pieces have the same shapes, so that one compiled program serves all: tiles are padded with
copies of the last column, and blocks consisting of copies only are skipped. A tile continues from the state
written after its last piece, so that a run may end anywhere; anything computed twice is bit-identical.
"""

import datetime
import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from ...column.case import Case
from ...column.integrate import restart_of
from ...column.model import Model
from ...column.trajectory import Restart
from ...io.axes import place_in_words
from ...runtime.engine import AbstractEngine, ThisProcess
from ...runtime.jax_setup import failures_as_values
from ...runtime.memory import peak_memory
from .plan import Results, piece_program
from .setup import MapRun, on_map
from .store import MapStore

FEWEST_TO_GIVE_UP = 16
"""Fewest columns of a tile whose joint failure stops the run; with fewer, their place may be the cause."""


class Broken(NamedTuple):
    """A column that failed; `time` is the end of its first frame with NaN or infinity [s since the epoch]."""

    latitude: float
    longitude: float
    time: float

    def described(self, epoch: datetime.datetime) -> str:
        moment = epoch + datetime.timedelta(seconds=self.time)
        return f"{place_in_words(self.latitude, self.longitude)} before {moment:%Y-%m-%d %H:%M}"


class MapReport(NamedTuple):
    """Failed columns, and the peak memory of a process [bytes]."""

    broken: tuple[Broken, ...]
    peak_memory: int


def run_tile(
    run: MapRun, path: Path, tile: int, report: Callable[[float], None] = lambda done: None
) -> MapReport:
    """Compute and write the missing pieces of a tile; `report` is called with their completed fraction.

    JAX computes a piece while the results of the previous one are written and the next forcing is read.

    Raises:
        FileFormatError: input that is missing or impossible, or a damaged state of the tile.
        FloatingPointError: all columns of the tile failed, at least `FEWEST_TO_GIVE_UP`.
        OSError: a file that cannot be read or written.
    """
    work = _Tile(run, MapStore(path), tile)
    pieces = list(enumerate(run.pieces(work.store.layout)))[work.n_done :]
    pending: tuple[Results, int, slice] | None = None
    for done, (number, (frames, start, stop)) in enumerate(pieces):
        batch = run.batch(work.padded, start, stop)
        results = work.start(batch)
        if pending is not None:
            work.write(*pending)
            report(done / len(pieces))
        pending = results, number, frames
    if pending is not None:
        work.write(*pending)
        report(1.0)
    return MapReport(work.broken_columns(), peak_memory())


class _Tile:
    """A tile in progress.

    Attributes:
        columns, padded: indices of its columns; with copies of the last one up to the width of all tiles.
        rows: its rows of the map.
        n_done: pieces in the store when the tile was opened.
    """

    def __init__(self, run: MapRun, store: MapStore, tile: int):
        self.run, self.store, self.tile = run, store, tile
        n_rows, width = store.layout.n_rows, store.layout.width
        self.columns = columns = run.tiles(n_rows)[tile]
        self.rows = slice(tile * n_rows, min((tile + 1) * n_rows, run.columns.shape[0]))
        self.padded = np.concatenate([columns, np.repeat(columns[-1:], width - len(columns))])
        state = store.read_state(tile) or (0, np.full(len(columns), -1), [])
        self.n_done, self._broken, self._leaves = state  # `_broken`: first frame affected
        self._restart: Restart | None = None

    def start(self, batch: tuple[Model, Case]) -> Results:
        """Start to compute a piece from the end of the last one, here or in the store, without waiting."""
        start = self._restart or restart_of(*batch)
        if self._leaves:
            start = jax.tree.unflatten(jax.tree.structure(start), map(jax.numpy.asarray, self._leaves))
            self._leaves = []
        program, arguments = piece_program(self.run, self.store.layout, batch, start)
        n_blocks = -(-len(self.columns) // self.store.layout.block)
        results: Results = program(*arguments, np.int32(n_blocks))
        self._restart = results.end
        return results

    def write(self, results: Results, number: int, frames: slice) -> None:
        """Write the results of a piece, then the state; a kill in between only repeats the piece."""
        n_columns, write = len(self.columns), self.store.write
        n_frames = frames.stop - frames.start
        self._note_broken(np.asarray(results.finite)[:n_frames, :n_columns], frames)
        has_failed = (self._broken >= 0) & (np.arange(frames.start, frames.stop)[:, None] >= self._broken)
        try:
            for name, values in results.start.items() if number == 0 else ():
                write(name, self._on_map(np.asarray(values)), self.rows)
            for name, values in results.values.items():
                values = np.asarray(values)[:n_frames, ..., :n_columns]
                if has_failed.any():
                    failed = has_failed.reshape(n_frames, *(1,) * (values.ndim - 2), -1)
                    values = np.where(failed, np.nan, values)
                write(name, self._on_map(values), self.rows, frames)
            self.store.write_state(self.tile, number + 1, self._broken, results.end)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{self.store.path}: expected to write to it, got: {error.strerror or error}; make room, "
                "and continue with --resume.",
            ) from error

    def _note_broken(self, finite: np.ndarray, frames: slice) -> None:
        """Record failed columns; `finite` has frames first, then columns."""
        new = ~finite.all(axis=0) & (self._broken < 0)
        self._broken = np.where(new, frames.start + finite.argmin(axis=0), self._broken)
        if len(self._broken) >= FEWEST_TO_GIVE_UP and (self._broken >= 0).all():
            first = min(self.broken_columns(), key=lambda column: column.time)
            raise FloatingPointError(
                f"map: expected finite values, got none in all {len(self._broken)} columns of a tile, "
                f"first at {first.described(self.run.columns.epoch)}; try a shorter time step, or other "
                "parameters."
            )

    def broken_columns(self) -> tuple[Broken, ...]:
        """Columns that failed, with the end of their first frame that is not finite."""
        columns, times = self.run.columns, self.run.times
        return tuple(
            Broken(float(columns.latitude[i]), float(columns.longitude[i]), float(times[frame]))
            for i, frame in zip(self.columns, self._broken, strict=True)
            if frame >= 0
        )

    def _on_map(self, values: np.ndarray) -> np.ndarray:
        """Put columns (the last axis) at their positions in the rows of the tile."""
        shape = self.rows.stop - self.rows.start, *self.run.columns.shape[1:]
        places = self.run.columns.index[self.columns] - self.rows.start * self.run.n_in_row
        return on_map(values, places, shape)


@failures_as_values()
def run_map(
    run: MapRun,
    store: MapStore,
    engine: AbstractEngine,
    *,
    report: Callable[[float, str], None] = lambda done, where: None,
) -> MapReport:
    """Compute the missing pieces of all tiles in a store.

    Args:
        run: the map.
        store: from `create_store`, or `existing_store` to continue one.
        engine: runs the tiles; all its workers must have access to the folder of the store.
        report: called with the completed fraction, and this fraction in words.

    Raises:
        FileFormatError: input that is missing, impossible or changed during the run, or a damaged state.
        FloatingPointError: all columns of a tile failed, at least `FEWEST_TO_GIVE_UP`.
        OSError: a file that cannot be read or written; computed results are kept.
    """
    tiles = list(run.tiles(store.layout.n_rows))
    done = dict.fromkeys(tiles, 0.0)

    def note(tile: int, fraction: float) -> None:
        done[tile] = fraction
        report(sum(done.values()) / len(tiles), f"{sum(done.values()):.3g} of {len(tiles)} tiles")

    compute: Callable[[int], MapReport] = functools.partial(run_tile, run, store.path)
    if isinstance(engine, ThisProcess):
        compute = lambda tile: run_tile(run, store.path, tile, functools.partial(note, tile))  # noqa: E731
    reports = engine.map(compute, tiles, lambda number, result: note(tiles[number], 1.0))
    store.check_inputs(run)  # raises an error if the input changed during the run
    broken = tuple(column for of_tile in reports for column in of_tile.broken)
    store.finish([column._asdict() for column in broken])
    return MapReport(broken, max((of_tile.peak_memory for of_tile in reports), default=0))
