"""The columns of a map one by one, for what computes each for itself."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from ...column.case import Case
from ...column.model import Model
from ...config.formats import AbstractColumns
from .build import build_map, load_map
from .setup import MapRun


@dataclasses.dataclass(frozen=True)
class SingleColumns(AbstractColumns):
    """The columns of a run of a map.

    A column is read alone, over the whole period: of a map whose files are compressed in large pieces this
    takes longer than its computation, and `map` is the command that reads for many at once.
    """

    run: MapRun

    def case(self, number: int) -> tuple[Model, Case]:
        # What differs between a batch of one and of two is what has an axis of columns.
        one, two = (self.run.batch(np.full(n, number), 0.0, self.run.duration) for n in (1, 2))
        model, case = jax.tree.map(lambda a, b: a if np.shape(a) == np.shape(b) else a[..., 0], one, two)
        return model, dataclasses.replace(case, duration=self.duration, start_time=self.start_time)

    def observed(self, number: int, times: np.ndarray) -> np.ndarray:
        return self.run.columns.observed(np.array([number]), times)[:, 0]


def load_columns(path: Path, overrides: Sequence[str]) -> SingleColumns:
    """Those of the configuration of a map; errors as in `build_map`."""
    run = build_map(load_map(path, overrides))
    of = run.columns
    return SingleColumns(
        fingerprint=run.fingerprint,
        index=of.index,
        shape=of.shape,
        coordinates=of.coordinates,
        start_time=of.epoch.isoformat(),
        duration=run.duration,
        dt=run.dt,
        notes=of.notes,
        run=run,
    )
