"""Runs of GOTM cases, with the parts that a configuration of the package replaces."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..gotm import GotmOptions, LoadedGotm, build_gotm, load_gotm
from ..gotm.settings import Settings
from ..grid import Grid
from ..io.registry import resolve
from ..io.yaml_file import ConfigError, parse_yaml, yaml_text
from ..run import Run
from .cases import GotmCase
from .describe import model_section
from .schema import RunConfig
from .sections import FacesGrid, NativeGrid, StretchedGrid, UniformGrid


def build_gotm_run(config: RunConfig, case: GotmCase, source: Path) -> Run:
    """The run of a GOTM case; its own grid and times where the configuration gives none.

    Args:
        config: of the run; its `model` is left to the caller.
        case: its section `case`.
        source: the configuration file.

    Raises:
        ConfigError: a configuration of either kind that cannot be used.
        FileNotFoundError: a file of the case that is missing.
        FileFormatError: a file of the case that cannot be used.
    """
    given = config.time.model_fields_set if "time" in config.model_fields_set else set()
    grid = config.grid if "grid" in config.model_fields_set else NativeGrid(kind="native")
    run = read_gotm(case, grid, config.time.step if "step" in given else None, source, "case")
    run = dataclasses.replace(run, duration=config.time.duration)
    if "output_interval" in given:
        return dataclasses.replace(run, output_interval=config.time.output_interval)
    return run


def read_gotm(case: GotmCase, grid: Any, step: float | None, source: Path, key: str) -> Run:
    """The run of a GOTM case, and what was observed in it.

    Args:
        case: of a configuration.
        grid: one of `GridSection`.
        step: time step [s]; `None` for that of the file.
        source: the configuration file.
        key: of the case in it, for messages.

    Raises:
        ConfigError: a configuration of either kind that cannot be used.
        FileNotFoundError: a file of the case that is missing.
        FileFormatError: a file of the case that cannot be used.
    """
    try:
        path = resolve(case.path, source.parent)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{source}: {key}.path: {error}") from error
    replaced = {**case.settings, **_grid_settings(grid, source)}
    if step is not None:
        replaced["time.dt"] = step
    overrides = [f"{name}={json.dumps(value)}" for name, value in replaced.items()]
    observed = None if case.observations is None else case.observations.build()
    options = GotmOptions(salinity_anomaly=case.salinity_anomaly, vertical_velocity=case.vertical_velocity)
    made = build_gotm(load_gotm(path, overrides, f"{source}:", config=options), observed)
    if not case.ignore_unsupported or made.run is None:
        made.report.check()
    assert made.run is not None  # without a run there is an error
    return dataclasses.replace(made.run, source=source)


def configuration_of(run: Run, source: LoadedGotm, settings: Sequence[str]) -> str:
    """Text of a configuration of the package that runs a case of GOTM, to be changed from there.

    Its grid, model and times are written out where that gives the same numbers to the bit.

    Args:
        run: of the case.
        source: configuration of GOTM, with the settings.
        settings: values that replace those of the file, `key=value` with GOTM's names.
    """
    case: dict[str, Any] = {"format": "gotm", "path": str(source.path.resolve())}
    if not source.config.salinity_anomaly:
        case["salinity_anomaly"] = False
    if source.config.vertical_velocity:
        case["vertical_velocity"] = True
    if settings:
        pairs = (setting.partition("=") for setting in settings)
        case["settings"] = {key: parse_yaml(value) for key, _, value in pairs}
    duration, model = run.duration_from(0.0), model_section(run.model)
    content = {
        "case": case,
        "grid": _grid_section(run.case.grid, Settings(source.document)),
        **({} if model is None else {"model": model}),
        "time": {"step": run.dt, "output_interval": run.output_interval, "duration": duration},
    }
    header = (
        f"# {run.case.name}: the case of GOTM in {source.path.name}, from which its water and forcing come.\n"
        "# What is given here replaces what that file says of it"
    )
    header += ".\n" if model is not None else "; its closure, which has no words here, is that of the file.\n"
    return header + yaml_text(content)


def _grid_section(grid: Grid, settings: Settings) -> dict[str, Any]:
    """The grid of a case in words; `native` for what only the file can say."""
    native = {"kind": "native"}
    if settings["grid.method"] != "analytical":
        return native
    n_cells, surface, bottom = (settings[f"grid.{name}"] for name in ("nlev", "ddu", "ddl"))
    section: dict[str, Any] = {"kind": "uniform", "n_cells": n_cells}
    if surface or bottom:
        section |= {"kind": "stretched", "surface_zoom": surface, "bottom_zoom": bottom}
    try:
        (StretchedGrid if surface or bottom else UniformGrid).model_validate(section)
    except ValueError:  # two cells, or a zoom out of range
        return native
    made = Grid.stretched(float(grid.depth), n_cells, surface_zoom=surface, bottom_zoom=bottom)
    return section if np.array_equal(made.z_face, grid.z_face) else native


def _grid_settings(grid: Any, source: Path) -> dict[str, str | float]:
    """The grid in GOTM's terms: its profiles are read onto it, and not remapped afterwards."""
    if isinstance(grid, NativeGrid):
        return {}
    if isinstance(grid, FacesGrid):
        raise ConfigError(
            f"{source}: grid.kind: expected uniform, stretched or native for a case of GOTM, got faces; "
            "name a file with `grid.file` among case.settings instead."
        )
    zooms = (grid.surface_zoom, grid.bottom_zoom) if isinstance(grid, StretchedGrid) else (0.0, 0.0)
    return {
        "grid.method": "analytical",
        "grid.nlev": grid.n_cells,
        "grid.ddu": zooms[0],
        "grid.ddl": zooms[1],
    }
