"""Definition of a computation on a map, and its division into tiles and pieces."""

import dataclasses
import functools
import math

import numpy as np

from ..._types import iterate_options, precision_of, without_weak_types
from ...column.case import Case
from ...column.grid import Grid
from ...column.integrate import Length, length_of_run
from ...column.model import Model
from ...io.checksums import digest_of_tree
from ...io.protection import Provenance
from .columns import ColumnMap


@dataclasses.dataclass(frozen=True)
class Layout:
    """Division of a map into parts that are computed at once.

    Args:
        n_rows: of the first axis of the map per tile.
        n_frames: per piece (in time), all of `output_interval`; a shorter last frame is a piece of its own.
        block: columns that a device steps together.
        width: of the largest tile, in whole blocks.
        memory: largest number of bytes that a process holds.
    """

    n_rows: int
    n_frames: int
    block: int
    width: int
    memory: int


@dataclasses.dataclass(frozen=True)
class MapVariable:
    """A variable of the store: name, name of the quantity, axes before those of the map, type."""

    name: str
    quantity: str
    shape: tuple[int, ...]  # without time and the axes of the map
    dims: tuple[str, ...]
    dtype: np.dtype
    is_mean: bool = False


@dataclasses.dataclass(frozen=True)
class MapRun:
    """A computation on a map, as one picklable object.

    Args:
        model: for all columns; `columns` may add column-dependent parameters.
        columns: the map.
        dt, output_interval, duration: as in `simulate` [s], from the epoch of the map on; the last frame is
            at the end, and shorter than the others if the interval does not divide the duration.
        variables: stored at the end of every frame: names in the state, the closure or diagnostics.
        means: of state and closure variables, averaged over the steps of every frame.
        about: provenance.
    """

    model: Model
    columns: ColumnMap
    dt: float
    output_interval: float
    duration: float
    variables: tuple[str, ...]
    means: tuple[str, ...] = ()
    about: Provenance = Provenance()

    @property
    def length(self) -> Length:
        length = length_of_run(self.duration, self.output_interval, self.dt)
        if length.n_frames == 0:
            expected = f"at most the duration, {self.duration:g} s"
            raise ValueError(f"output_interval: expected {expected}, got {self.output_interval:g} s.")
        return length

    @property
    def times(self) -> np.ndarray:
        """Ends of the frames [s]."""
        ends = self.output_interval * np.arange(1, self.length.n_all + 1)
        return np.minimum(ends, self.duration)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Changes with the map, the model and the stored variables, but not with the division of the map."""
        settings = self.dt, self.output_interval, self.duration, self.variables, self.means
        known = self.columns.fingerprint, settings, tuple(iterate_options(self.model)), self.about.config
        return digest_of_tree(self.model, known, self.about.version)

    @functools.cached_property
    def first_grid(self) -> Grid:
        """The grid of the first column, to estimate times and judge resolutions; read once."""
        return self.columns.case(slice(0, 1), 0.0, self.output_interval).grid

    def batch(self, columns: np.ndarray, start: float, stop: float) -> tuple[Model, Case]:
        """Model and case of a selection of columns and a period [s], for a compiled program."""
        case = self.columns.case(columns, start, stop).unlabelled()
        model = self.columns.model(self.model, columns)
        return without_weak_types((model, case), precision_of(model=model, case=case))

    def frames_per_piece(self, most: int) -> int:
        """Number of frames per piece, at most so many.

        Of equal length, so that little is computed beyond the end; nothing is, where a shorter frame follows.
        """
        whole = self.length.n_frames
        pieces = math.ceil(whole / most)
        while self.length.rest and whole % pieces:
            pieces += 1
        return math.ceil(whole / pieces)

    def is_shorter(self, piece: int, layout: Layout) -> bool:
        """Whether a piece is the shorter frame at the end."""
        return piece * layout.n_frames >= self.length.n_frames

    def frames_of(self, piece: int, layout: Layout) -> slice:
        whole = self.length.n_frames
        if self.is_shorter(piece, layout):
            return slice(whole, whole + 1)
        return slice(piece * layout.n_frames, min((piece + 1) * layout.n_frames, whole))

    def covered(self, piece: int, layout: Layout) -> tuple[float, float]:
        """Times of the forcing of a piece [s], equally long for whole ones: the last may begin earlier."""
        length = layout.n_frames * self.output_interval
        if self.is_shorter(piece, layout):
            return piece * length, self.duration
        start = min(piece * length, self.length.n_frames * self.output_interval - length)
        return start, start + length

    def n_pieces(self, layout: Layout) -> int:
        return math.ceil(self.length.n_frames / layout.n_frames) + (self.length.rest > 0)

    def rows_of(self, tile: int, layout: Layout) -> slice:
        n_rows = self.columns.shape[0]
        return slice(tile * layout.n_rows, min((tile + 1) * layout.n_rows, n_rows))

    def columns_of(self, tile: int, layout: Layout) -> np.ndarray:
        """Indices of the columns in a tile."""
        rows, n_in_row = self.rows_of(tile, layout), math.prod(self.columns.shape[1:])
        first, last = np.searchsorted(self.columns.index, [rows.start * n_in_row, rows.stop * n_in_row])
        return np.arange(first, last)

    def tiles(self, layout: Layout) -> list[int]:
        """Tiles with water."""
        n_tiles = math.ceil(self.columns.shape[0] / layout.n_rows)
        return [tile for tile in range(n_tiles) if len(self.columns_of(tile, layout))]
