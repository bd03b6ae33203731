"""Runs columns on a map, in tiles of columns and pieces of time, within known memory.

    while a piece is computed, the forcing of the next is read and the results of the previous are written

All tiles and pieces have the same shapes, so that one compiled program serves all, and another a shorter
frame at the end: tiles are padded with copies of the last column, and blocks consisting of copies only are
skipped. A process takes several tiles through a piece before the next one, so that it reads the forcing of
all of them at once. A tile continues from the file written after its last piece, so that a run may end
anywhere; anything computed twice is bit-identical.
"""

import contextlib
import datetime
import functools
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ...plausibility.water_limits import Extreme, Lowest, extremes, lower, lowest_of, merged
from ...runtime import failures_as_values
from ...runtime.engine import AbstractEngine, ThisProcess
from ...runtime.memory import peak_memory
from . import store as stores
from .plan import Results, piece_program
from .setup import INITIAL, Layout, MapRun, MapVariable, Piece
from .store import MapStore, TileState

T = TypeVar("T")

FEWEST_TO_GIVE_UP = 16
"""Columns: where all of so many in a tile are not finite, the fault is not that of a place."""


_PART_OF_SHARE = 0.75
"""Fraction of its share of the remaining tiles that a worker takes at once; the rest balances the load."""


class Broken(NamedTuple):
    """A column with values that are not finite from a time on [s since the epoch]."""

    latitude: float
    longitude: float
    time: float

    def described(self, epoch: datetime.datetime) -> str:
        moment = epoch + datetime.timedelta(seconds=self.time)
        return f"{place_in_words(self.latitude, self.longitude)} before {moment:%Y-%m-%d %H:%M}"


class MapReport(NamedTuple):
    """Failed columns, the peak memory of a process [bytes], water beyond its limits, and least tracers."""

    broken: tuple[Broken, ...]
    peak_memory: int
    beyond: tuple[Extreme, ...] = ()
    lowest: Mapping[str, Lowest] | None = None


def _joined(reports: Sequence[MapReport]) -> MapReport:
    """The report of several parts of a map."""
    beyond, lowest = list[Extreme](), dict[str, Lowest]()
    for report in reports:
        beyond = merged(beyond, report.beyond, same_columns=False)
        lowest = lower(lowest, report.lowest or {})
    broken = tuple(column for report in reports for column in report.broken)
    return MapReport(broken, max((one.peak_memory for one in reports), default=0), tuple(beyond), lowest)


TilesReport = Callable[[float], None]
"""Called with the fraction that is done."""


@failures_as_values()
def run_tiles(
    run: MapRun, path: Path, tiles: Sequence[int], report: TilesReport = lambda done: None
) -> MapReport:
    """Compute and write the missing pieces of neighbouring tiles.

    Raises:
        FloatingPointError: all columns of a tile failed.
        OSError: a file that cannot be read or written.
    """
    store = MapStore(path)
    columns, pieces = run.tiles(store.layout), list(enumerate(run.pieces(store.layout)))
    works = [_Tile(run, store, tile, columns[tile]) for tile in tiles]
    missing = [(work, number, piece) for number, piece in pieces for work in works if work.done <= number]
    if missing:
        if len(works) > 1:
            run.columns.read_together(np.concatenate([columns[tile] for tile in tiles]))
        try:
            with _one_thread() as reader, _one_thread() as writer:
                _run_pieces(missing, len(works), reader, writer, report)
        finally:
            run.columns.read_together(None)
    return _joined([work.report() for work in works])


def _run_pieces(
    missing: Sequence[tuple["_Tile", int, Piece]],
    n_ahead: int,
    reader: ThreadPoolExecutor,
    writer: ThreadPoolExecutor,
    report: TilesReport,
) -> None:
    """Compute pieces of tiles in order; `n_ahead` of them are read ahead."""
    x64 = bool(jax.config.read("jax_enable_x64"))  # of this thread

    def in_precision(function: Callable[..., T], *given: object) -> T:
        with jax.enable_x64(x64):
            return function(*given)

    def read(number: int) -> None:
        if number < len(missing):
            work, _, piece = missing[number]
            reading.append(reader.submit(in_precision, work.read, piece))

    reading: deque[Future[tuple[Model, Case]]] = deque()
    writing: Future | None = None
    for number in range(n_ahead):
        read(number)
    for done, (work, number, piece) in enumerate(missing, 1):
        batch = reading.popleft().result()
        read(done - 1 + n_ahead)
        results = work.compute(batch, piece)
        if writing is not None:
            writing.result()
        writing = writer.submit(in_precision, work.write, results, number, piece, batch[1], work.broken)
        report(done / len(missing))
    if writing is not None:
        writing.result()


@contextlib.contextmanager
def _one_thread() -> Iterator[ThreadPoolExecutor]:
    """A thread that works in order and starts nothing after an error."""
    pool = ThreadPoolExecutor(1)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Tile:
    """A tile in progress: its columns and their current state."""

    def __init__(self, run: MapRun, store: MapStore, tile: int, columns: np.ndarray):
        self._run, self._store, self._tile, self._columns = run, store, tile, columns
        n_rows, width = store.layout.n_rows, store.layout.width
        self._rows = slice(tile * n_rows, min((tile + 1) * n_rows, run.columns.shape[0]))
        self._padded = np.concatenate([columns, np.repeat(columns[-1:], width - len(columns))])
        self._places = run.columns.index[columns] - self._rows.start * run.n_in_row
        self._restart: Restart | list[np.ndarray] | None = None  # as it was read: its arrays
        self.broken = np.full(len(columns), -1)  # first frame affected
        self.done = 0
        self._beyond: list[Extreme] = []  # of the pieces that this process computes
        self._lowest: dict[str, Lowest] = {}
        if (state := store.read_state(tile)) is not None:
            self.done, self.broken, self._restart = state

    def read(self, piece: Piece) -> tuple[Model, Case]:
        return self._run.batch(self._padded, piece.start, piece.stop)

    def compute(self, batch: tuple[Model, Case], piece: Piece) -> Results:
        run, layout, start = self._run, self._store.layout, self._restart
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
        return MapReport(self.broken_columns(), peak_memory(), tuple(self._beyond), self._lowest)

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
                z = np.broadcast_to(z.reshape(len(z), -1), (len(z), self._store.layout.width))[:, :n_columns]
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
        """Note extreme water and tracers: in the stored frames, or else at the end of the piece."""
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
        for name, last in results.end.state.tracers.items():
            fields = results.values[name][:n_frames] if name in results.values else last[None]
            time = self._run.times[frames if name in results.values else [frames.stop - 1]]
            (least,) = lowest_of({name: fields[..., :n_columns]}, time).values()
            placed = least._replace(place=self._place(least.column))
            self._lowest = lower(self._lowest, {name: placed})

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
    together: int = 1,
    *,
    store: MapStore | None = None,
    report: Callable[[float, str], None] = lambda done, where: None,
    announce: Callable[[str], None] = lambda sentence: None,
) -> MapReport:
    """Run a map and write its store, or continue one.

    Args:
        run, layout, variables: from `planned`.
        engine: runs the tiles; all its workers must have access to the folder of the store.
        together: number of tiles that a process may read at once, from `read_together`; results do not
            depend on it.
        store: from `stores.prepare`; `None` for a new one.
        report: called with the fraction done, and the position.
        announce: called with a sentence for each tile that is computed again because a file of it is damaged.

    Raises:
        FileFormatError: the input changed since the store was begun, or meanwhile.
        FloatingPointError: all columns of a tile failed.
        OSError: a file that cannot be read or written; computed results are kept.
    """
    if store is None:
        store = stores.create(path, run, variables, layout)
    else:
        store.verify(run, announce)
    tiles = list(run.tiles(store.layout))
    shares = _shares(tiles, together, engine.n_workers)
    done: dict[tuple[int, ...], float] = {}

    def note(share: tuple[int, ...], fraction: float) -> None:
        done[share] = fraction * len(share)
        report(sum(done.values()) / len(tiles), f"{sum(done.values()):.3g} of {len(tiles)} tiles")

    one: Callable[[tuple[int, ...]], MapReport]
    if isinstance(engine, ThisProcess):
        one = lambda share: run_tiles(run, path, share, functools.partial(note, share))  # noqa: E731
    else:
        one = functools.partial(run_tiles, run, path)
    results = _joined(engine.map(one, shares, lambda number, result: note(shares[number], 1.0)))
    store.check_input(run.columns)  # read to the end meanwhile
    store.finish([column._asdict() for column in results.broken])
    return results


def _shares(tiles: Sequence[int], together: int, n_workers: int) -> list[tuple[int, ...]]:
    """Neighbouring tiles for one process after the other, ever fewer, so that all end together."""
    shares, left = [], list(tiles)
    while left:
        n = len(left) if n_workers == 1 else math.ceil(_PART_OF_SHARE * len(left) / n_workers)
        shares.append(tuple(left[: min(n, together)]))
        left = left[len(shares[-1]) :]
    return shares
