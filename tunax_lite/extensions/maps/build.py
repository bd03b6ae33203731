"""Build the columns and the model of a map from its checked configuration."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...config.build import build_model
from ...config.load import Loaded, load
from ...io.axes import place_in_words
from ...io.yaml_file import ConfigError
from ...plausibility import recorded, remarks
from .calibration import MapFit
from .sections import MapConfig
from .setup import MapRun

if TYPE_CHECKING:
    from .gridded import GriddedColumns


def load_map(path: Path, overrides: Sequence[str] = ()) -> Loaded[MapConfig]:
    """Read the configuration of a map; arguments and errors as in `load_run`."""
    return load(path, overrides, MapConfig)


def build_map(loaded: Loaded[MapConfig], parameters: Mapping[str, float] | None = None) -> MapRun:
    """Build the columns and model of a map; `parameters` of the closure override the configuration.

    Raises:
        ConfigError: values that contradict each other.
        FileNotFoundError, FileFormatError: a file that is missing, or cannot be used.
    """
    from .gridded import GriddedColumns  # takes long

    config, section, where = loaded.config, loaded.config.map, loaded.place.below("map")

    def find(name: str) -> Path:
        return where.file(name if section.folder is None else str(Path(section.folder) / name), "paths")

    levels = config.grid.of(1.0)
    assert levels is not None  # checked by the section
    with recorded() as warnings_of_files, where.naming():
        columns = GriddedColumns(section, levels, dt=config.time.dt, find=find, name=loaded.name)
    duration = config.time.duration or section.duration
    if duration > section.duration:
        raise ConfigError(
            f"{loaded.place.at('time', 'duration')}: expected at most map.duration, {section.duration:g} s, "
            f"got {duration:g} s; change one of them."
        )
    model = build_model(config.model, loaded.place, parameters)
    with where.naming():
        notes = [str(warning) for warning in warnings_of_files if warning.rule not in config.accept]
        columns.notes = (*columns.notes, *notes, *_remarks_of(columns, config.accept))
    run = MapRun(
        model=model,
        columns=columns,
        dt=config.time.dt,
        output_interval=config.time.output_interval,
        duration=duration,
        variables=tuple(config.output.variables),
    )
    with loaded.place.naming("time"):
        _ = run.n_frames  # raises errors early
    return run


_N_JUDGED, _N_RECORDS = 9, 13
"""Number of columns to which the rules of plausibility are applied, and least number of their records."""


def _remarks_of(columns: "GriddedColumns", accept: Sequence[str]) -> list[str]:
    """Return notes on unlikely input, from a few columns.

    On a grid, rules that fewer than a third of these columns break give no note.
    """
    judged = np.unique(np.linspace(0, columns.n_columns - 1, _N_JUDGED).astype(int))
    length = min(columns.duration, max(10.0 * 86400.0, _N_RECORDS * columns.longest_interval))
    notes: dict[str, list[str]] = {}
    case = columns.case(judged, 0.0, length)  # at once: a compressed file is unpacked once
    for number, column in enumerate(judged):
        place = place_in_words(float(columns.latitude[column]), float(columns.longitude[column]))
        for warning in remarks(case, accept=accept, column=number):
            notes.setdefault(warning.rule, []).append(f"{place}, {warning}")
    least = 1 if len(columns.shape) == 1 else len(judged) / 3.0
    return [notes_of_rule[0] for notes_of_rule in notes.values() if len(notes_of_rule) >= least]


def build_map_fit(loaded: Loaded[MapConfig]) -> MapFit:
    """Build the fit that `calibrate` solves on a map.

    Raises:
        ConfigError: a map without `calibration`, or values that contradict each other.
        FileNotFoundError, FileFormatError: a file that is missing, or cannot be used.
    """
    section, place = loaded.config.calibration, loaded.place
    if section is None:
        expected = "a map with the section `calibration`, which lists the free parameters"
        raise ConfigError(f"{loaded.path}: expected {expected}, got a map without it; add it.")
    with place.naming("calibration"):
        run = dataclasses.replace(build_map(loaded), variables=())
        fit = MapFit(run, section)
        if not fit.times.size:
            raise ValueError(
                f"start: expected a time before the end of the run, {run.duration:g} s, got "
                f"{section.start:g} s; extend the run, or begin earlier."
            )
        _ = run.columns.observed(slice(0, 1), fit.times)  # raise errors early
    return fit
