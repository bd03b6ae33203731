"""`tunax-lite check`, `schema` and `describe`: configurations before they are run."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from typer import echo

from .._types import iterate_parameters, iterate_vectors
from ..case import Case
from ..config import (
    Calibration,
    ConfigError,
    MapConfig,
    Run,
    RunConfig,
    build_calibration,
    build_gotm,
    build_map,
    configuration_of,
    load_any,
    reference,
)
from ..forcing import ConstantForcing, WaterSurface
from ..gotm import load_gotm
from ..io import replacing
from ..io.protection import check_outputs
from ..maps.setup import MapRun
from ..model import Model
from ..observations import Observations
from . import session


def check(
    config: Path,
    settings: Sequence[str] = (),
    parameters: Path | None = None,
    write_config: Path | None = None,
    *,
    strict: bool = False,
    overwrite: bool = False,
) -> None:
    """As `commands.check` says."""
    if session.is_gotm(config):
        _check_gotm(config, settings, write_config, overwrite=overwrite, strict=strict)
        return
    if write_config is not None:
        raise ConfigError(
            f"--write-config {write_config}: expected a configuration of GOTM, got one of the package; "
            "copy the file."
        )
    loaded = load_any(config, settings)
    with session.precision(loaded):
        if isinstance(loaded.config, RunConfig):
            _describe_run(session.build_source(loaded, parameters))
        elif isinstance(loaded.config, MapConfig):
            values = session.parameters_for(parameters, loaded.closure_class.__name__)
            _describe_map(build_map(loaded, values))
        else:
            values = session.parameters_for(parameters, loaded.closure_class.__name__)
            _describe_calibration(build_calibration(loaded, values))
    echo(f"{config}: fine")


def _check_gotm(
    config: Path, settings: Sequence[str], write_config: Path | None, *, overwrite: bool, strict: bool
) -> None:
    source = load_gotm(config, settings)
    with session.precision(source):
        made = build_gotm(source)
        for line in made.report.lines():
            echo(line)
        if made.run is not None:
            _describe_run(made.run)
        made.report.check(strict=strict)
        if write_config is not None and made.run is not None:
            _write(write_config, configuration_of(source), overwrite)
    echo(f"{config}: fine")


def _describe_run(run: Run) -> None:
    _describe_case(run.case, run.observations)
    _describe_model(run.model)
    duration = run.duration_from(0.0)
    run.check_output(duration, Path.cwd())
    run.case.check_covers(0.0, duration)
    echo(
        f"time: {duration / run.dt:.0f} steps of {run.dt:g} s, "
        f"{duration / run.output_interval:.0f} frames of {run.output_interval:g} s"
    )


def _describe_map(run: MapRun) -> None:
    columns = run.columns
    _describe_model(columns.model(run.model, slice(0, 1)))
    case = columns.case(slice(0, 1), 0.0, run.output_interval)  # what is read of one piece of time
    echo(
        f"map: {' x '.join(map(str, columns.shape))} points, {case.grid.n_cells} cells in a column, from "
        f"{columns.epoch:%Y-%m-%d %H:%M} on"
    )
    session.say_notes(columns.notes)
    echo(
        f"time: {run.duration / run.dt:.0f} steps of {run.dt:g} s, "
        f"{run.duration / run.output_interval:.0f} frames of {run.output_interval:g} s"
    )


def _describe_calibration(setup: Calibration) -> None:
    for target in setup.targets:
        _describe_case(target.case, target.observations)
        weights = ", ".join(f"{name} {weight:g}" for name, weight in target.weights.items())
        echo(f"  weights: {weights}; time step {target.dt:g} s")
    _describe_model(setup.model)
    for parameter in setup.free_parameters.numbers:
        echo(
            f"free: {parameter.path} from {parameter.start:g} [{parameter.unit}], {parameter.distribution!r}"
        )
    echo(f"{type(setup.method).__name__}, {setup.n_iterations} iterations")
    for one in setup.checks:
        echo(f"check: {one.name} against {one.kind}")
    session.say_notes(setup.notes)


def _describe_case(case: Case, observations: Observations | None) -> None:
    echo(
        f"case: {case.name}, {case.grid.n_cells} cells over {float(case.grid.depth):g} m, "
        f"{case.duration / 3600.0:g} h, f = {float(case.coriolis_parameter):g} s-1"
    )
    kind = "constant" if isinstance(case.forcing, ConstantForcing) else "time series"
    fluxes = case.forcing.at(0.0, WaterSurface.of(case.initial_state))
    given = {name: value for name, value in vars(fluxes).items() if name != "tracer_fluxes"}
    listed = [f"{name} = {float(value):.4g}" for name, value in given.items() if value is not None]
    echo(f"  fluxes ({kind}, at the start): {', '.join(listed) or 'none'}")
    if case.ice is not None:
        carried = {name: float(value) for name, value in case.start_state.surface.items()}
        listed = ", ".join(f"{name} = {value:.4g}" for name, value in carried.items())
        echo(f"  ice ({type(case.ice).__name__}, at the start): {listed}")
    if observations is not None:
        for name, values in (observations.profiles | observations.series).items():
            known = np.isfinite(np.asarray(values))
            n_times = int(known.reshape(len(known), -1).any(axis=1).sum())
            heights = f" and {known.shape[1]} heights" if known.ndim > 1 else ""
            echo(f"  observed: {name} at {n_times} times{heights}")


def _describe_model(model: Model) -> None:
    n_parameters = len(list(iterate_parameters(model.closure)))
    n_parameters += sum(len(info.value) for info in iterate_vectors(model.closure))
    echo(f"model: {type(model.closure).__name__} with {n_parameters} parameters, theta {model.theta:g}")


def _write(path: Path, text: str, overwrite: bool) -> None:
    check_outputs([path], overwrite=overwrite)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    session.report_written([path])


def schema(kind: str, output: Path | None, *, overwrite: bool) -> None:
    """As `commands.schema` says."""
    text = json.dumps(reference.json_schema(kind), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        echo(text, nl=False)
    else:
        _write(output, text, overwrite)


def describe(name: str) -> None:
    """As `commands.describe` says."""
    for each in reference.describe(name):
        echo(f"{each.name}: {each.kind.__name__}. {each.summary}")
        if each.source:
            echo(f"Source: {each.source}")
        for title, is_number in (("parameters", True), ("settings", False)):
            rows = [row for row in each.declared if row.is_number == is_number]
            if not rows:
                continue
            table = Table(box=None, pad_edge=False, title=title, title_justify="left")
            for column in ("name", "default", "unit", "range", "meaning"):
                table.add_column(column, overflow="fold", no_wrap=column == "name")
            for row in rows:
                table.add_row(row.path, row.default, row.unit, row.range, row.meaning)
            Console().print(table, markup=False)
