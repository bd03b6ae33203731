"""What `tunax-lite check` prints about a map."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from ...cli import session
from ...cli.application import Answer
from ...cli.check import Page, describe_model, describe_times, duration
from ...cli.terminal import echo
from ...config.load import Loaded
from ...runtime.machine import needed
from .build import build_map
from .notes import late_convection, recommended_constants
from .sections import MapConfig

_COLUMNS_SHOWN, _TIME_SHOWN = 64, 31 * 86400.0
"""Of a map: its columns and its time [s] whose inputs are shown."""


def check(loaded: Loaded[MapConfig], parameters: Mapping[str, float] | None, page: Page) -> Answer:
    """Print what `tunax-lite map` would do, and what goes into some of the columns."""
    needed("zarr", "tunax-lite map")
    run, name = build_map(loaded, parameters), loaded.name
    columns = run.columns
    model = describe_model(columns.model(run.model, slice(0, 1)))
    n_cells = run.first_grid.n_cells
    echo(
        f"map: {' x '.join(map(str, columns.shape))} points, {n_cells} cells in a column, from "
        f"{columns.epoch:%Y-%m-%d %H:%M} on"
    )
    shown = np.unique(np.linspace(0, columns.n_columns - 1, _COLUMNS_SHOWN).astype(int))
    length = min(run.duration, _TIME_SHOWN)
    sample = dataclasses.replace(columns.case(shown, 0.0, length), duration=length)
    sample = dataclasses.replace(sample, name=name, start_time=columns.epoch.isoformat())
    echo(f"inputs of {shown.size} of {columns.n_columns} columns, over {duration(length)}:")
    answer = page.of(sample, None)
    times = describe_times(run.duration, run.dt, run.output_interval)
    session.say_how_long(run.duration / run.dt, n_cells, columns.n_columns)
    notes = [*columns.notes, *late_convection(run), *recommended_constants(run)]
    session.say_notes(notes)
    points = {"shape": list(columns.shape), "n_cells": n_cells, "start": columns.epoch.isoformat()}
    found = {"kind": "map", "map": points, "model": model, "time": times, "notes": notes}
    return found | answer
