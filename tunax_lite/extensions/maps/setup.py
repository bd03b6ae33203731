"""A computation on the columns of a map, and its division into tiles of columns and pieces of time."""

import dataclasses
import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from ..._types import iterate_options, precision_of, without_weak_types
from ...column.arguments import case_over_steps
from ...column.case import Case
from ...column.integrate import count_steps
from ...column.model import Model
from ...io.checksums import digest_of_tree, stamp_of
from ...io.provenance import Provenance

if TYPE_CHECKING:
    from .gridded import GriddedColumns

INITIAL = "initial_"
"""Prefix of the names of variables at the start, which have no time."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """Division of a map into parts that are computed at once.

    Args:
        n_rows: rows of the map (values of its first axis) per tile.
        n_frames: frames per piece of time.
        block: columns that a device steps together.
        width: columns of the largest tile, in whole blocks.
    """

    n_rows: int
    n_frames: int
    block: int
    width: int


def on_map(values: np.ndarray, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Put the first `len(places)` columns (last axis) at these flat indices of `shape`; NaN elsewhere."""
    result = np.full((*values.shape[:-1], math.prod(shape)), np.nan, values.dtype)
    result[..., places] = values[..., : len(places)]
    return result.reshape(*values.shape[:-1], *shape)


@dataclasses.dataclass(frozen=True)
class MapRun:
    """A computation on a map, as one picklable object.

    Args:
        model: for all columns.
        columns: the map.
        dt, output_interval, duration: as in `simulate` [s], from the epoch of the map on; `dt` divides
            `output_interval`, which divides `duration`.
        variables: stored at the start and at the end of every frame: names in the state, the closure or
            diagnostics.
        about: provenance of the configuration.
    """

    model: Model
    columns: "GriddedColumns"
    dt: float
    output_interval: float
    duration: float
    variables: tuple[str, ...]
    about: Provenance = Provenance()

    @property
    def n_frames(self) -> int:
        """Number of frames after the start; `ValueError` if `dt` or `output_interval` does not fit."""
        _ = self.steps_per_frame  # raises errors of `dt`
        return count_steps(self.duration, self.output_interval, "the duration", "output_interval")

    @property
    def steps_per_frame(self) -> int:
        """Number of time steps in a frame."""
        return count_steps(self.output_interval, self.dt, "output_interval")

    @property
    def times(self) -> np.ndarray:
        """Ends of the frames [s]."""
        return self.output_interval * np.arange(1, self.n_frames + 1)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the map, the model and the stored variables, without the division of the map.

        It does not cover the contents of input files: `stamps` show whether these changed.
        """
        settings = self.dt, self.output_interval, self.duration, self.variables
        texts = self.columns.fingerprint, settings, tuple(iterate_options(self.model)), self.about.config
        return digest_of_tree(self.model, texts, self.about.version)

    def stamps(self) -> list[list[str]]:
        """Name, and size and time of the last change, of each file or folder of the input."""
        return [[path.name, stamp_of(path)] for path in self.columns.inputs]

    @functools.cached_property
    def first_column(self) -> Case:
        """The first column, to estimate times and judge resolutions; read once."""
        return self.columns.case(slice(0, 1), 0.0, self.output_interval)

    @property
    def n_in_row(self) -> int:
        """Number of points per value of the first axis of the map."""
        return math.prod(self.columns.shape[1:])

    def batch(self, columns: np.ndarray, start: float, stop: float) -> tuple[Model, Case]:
        """Model and case of a selection of columns and a period [s], for a compiled program."""
        case = self.columns.case(columns, start, stop).unlabelled()
        case = case_over_steps(self.model, case, self.dt)
        return without_weak_types((self.model, case), precision_of(model=self.model, case=case))

    def pieces(self, layout: Layout) -> list[tuple[slice, float, float]]:
        """Frames of each piece, in order, and start and stop of its forcing [s].

        The forcing of all pieces is equally long: that of the last may begin before its first frame.
        """
        pieces, n = [], layout.n_frames
        for first in range(0, self.n_frames, n):
            start = min(first, self.n_frames - n)
            times = self.output_interval * start, self.output_interval * (start + n)
            pieces.append((slice(first, min(first + n, self.n_frames)), *times))
        return pieces

    def tiles(self, n_rows: int) -> dict[int, np.ndarray]:
        """Columns of each tile of `n_rows` rows of the map, by number of the tile, without tiles of land."""
        edges = self.n_in_row * np.arange(0, self.columns.shape[0] + n_rows, n_rows)
        first = np.searchsorted(self.columns.index, edges)
        parts = (np.arange(*ends) for ends in zip(first[:-1], first[1:], strict=True))
        return {tile: columns for tile, columns in enumerate(parts) if columns.size}
