"""`tunax-lite check`, `schema` and `describe`."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from .._types import iterate_parameters, iterate_vectors
from ..calibration.posterior.infer import check_packages
from ..column.case import Case
from ..column.forcing import ConstantForcing, WaterSurface
from ..column.integrate import length_of_run
from ..column.model import Model
from ..column.observations import Observations
from ..config import (
    Calibration,
    ConfigError,
    Loaded,
    Run,
    RunConfig,
    build_calibration,
    names,
)
from ..config.build import build_translated
from ..config.json_schema import json_schema
from ..config.load import load
from ..io.place import Place
from ..io.writing import check_outputs, file_name, write_text
from ..runtime.machine import MissingPackageError
from . import session
from .application import Answer
from .terminal import echo, print_table


def check(
    config: Path,
    settings: Sequence[str] = (),
    parameters: Path | None = None,
    output: Path | None = None,
    figures: Path | None = None,
    *,
    overwrite: bool = False,
) -> Answer:
    """See `commands.check`."""
    loaded, input_figures = load(config, settings), InputFigures(figures, overwrite)
    if output is not None and loaded.report is None:
        raise ConfigError(
            f"--output {output}: expected a set-up of another model, got a configuration of the package; "
            "copy the file."
        )
    with session.precision(loaded):
        if loaded.report is not None:
            answer = _check_set_up(loaded, output, input_figures)
        elif isinstance(loaded.config, RunConfig):
            answer = _describe_run(session.build_with_parameters(loaded, parameters), input_figures)
        elif loaded.kind.module:
            answer = loaded.kind.commands.check(loaded, parameters, input_figures)
        else:
            values = session.parameters_for(parameters, loaded.closure_class.__name__)
            answer = _describe_calibration(build_calibration(loaded, values), input_figures)
            try:
                check_packages(loaded.config.posterior.method.build())
            except MissingPackageError as error:
                session.say_notes([f"posterior.method: {error}"])
    echo(f"{config}: fine")
    return answer


def _check_set_up(loaded: Loaded[RunConfig], output: Path | None, figures: "InputFigures") -> Answer:
    if output is not None:
        check_outputs([output], overwrite=figures.overwrite, inputs=session.inputs_of(loaded))
    run, report = build_translated(loaded)
    for line in report.lines():
        echo(line)
    answer = {"kind": "run"} if run is None else _describe_run(run, figures)
    report.check()  # raises for unsupported settings, after all of them were printed
    if output is not None:
        header = f"# {loaded.config.case.name}: the case of {report.model} in {loaded.path.name}.\n"
        write_text(output, header + loaded.short_text)
        session.report_written([output])
    return answer | {report.model.lower(): dataclasses.asdict(report)}


@dataclasses.dataclass(frozen=True)
class InputFigures:
    """Where to draw the inputs of cases, if anywhere."""

    folder: Path | None  # `None` to draw nothing
    overwrite: bool  # whether existing files may be replaced

    def draw(self, case: Case, *, several: bool = False) -> None:
        """Draw the inputs of a case, if there is a folder; with `several` cases, the file names differ."""
        if self.folder is not None:
            from ..plotting.inputs import plot_inputs  # slow import
            from ..plotting.style import save_figures

            name = f"inputs_{file_name(case.name)}" if several else "inputs"
            check_outputs([self.folder / f"{name}.png"], overwrite=self.overwrite)
            with np.errstate(all="ignore"):
                figure = plot_inputs(case)
            session.report_written(save_figures({name: figure}, self.folder))


def _describe_run(run: Run, figures: InputFigures) -> Answer:
    """Print case, model and times of a run."""
    case, model = _describe_case(run.case, run.observations), describe_model(run.model)
    figures.draw(run.case)
    length = run.duration_from(0.0)
    run.case.check_covers(0.0, length)
    with Place(run.source).naming("time"):
        _check_step(run.model, run.case, run.dt)
    times = describe_times(length, run.dt, run.output_interval)
    return {"kind": "run", "cases": [case], "model": model, "time": times}


def _check_step(model: Model, case: Case, dt: float) -> None:
    """Raise `ValueError` for a step that the case or one of its terms rejects."""
    case.check_step(dt)
    if case.terms:
        jax.eval_shape(lambda case: model.step(case.start_state, model.init(case), case, 0.0, dt), case)


def describe_times(length: float, dt: float, output_interval: float) -> Answer:
    """Print the steps and frames of a run."""
    n_steps, frames = round(length / dt), length_of_run(length, output_interval, dt)
    last = f", the last of {frames.rest * dt:g} s" if frames.rest else ""
    echo(f"time: {n_steps} steps of {dt:g} s, {frames.n_all} frames of {output_interval:g} s{last}")
    return {"n_steps": n_steps, "dt": dt, "n_frames": frames.n_all, "output_interval": output_interval}


def _describe_calibration(setup: Calibration, figures: InputFigures) -> Answer:
    """Print cases, weights, model, free parameters and method of a calibration."""
    cases = []
    for target in setup.targets:
        case = _describe_case(target.case, target.observations)
        figures.draw(target.case, several=len(setup.targets) > 1)
        weights = ", ".join(f"{name} {weight:g}" for name, weight in target.weights.items())
        echo(f"  weights: {weights}; time step {target.dt:g} s")
        _check_step(setup.model, target.case, target.dt)
        cases.append(case | {"weights": dict(target.weights), "dt": target.dt})
    model, free = describe_model(setup.model), []
    for parameter in setup.free_parameters.numbers:
        prior = repr(parameter.prior)
        echo(f"free: {parameter.path} from {parameter.start:g} [{parameter.unit}], {prior}")
        free.append({"path": parameter.path, "start": float(parameter.start), "unit": parameter.unit})
    method = type(setup.method).__name__
    echo(f"{method}, {setup.n_iterations} iterations")
    answer = {"kind": "calibration", "cases": cases, "model": model, "free": free, "method": method}
    return answer | {"n_iterations": setup.n_iterations}


def _describe_case(case: Case, observations: Observations | None) -> Answer:
    """Print grid, fluxes at the start, constants of the density, and observations of a case."""
    depth, rotation = float(case.grid.depth), float(case.coriolis_parameter)
    echo(
        f"case: {case.name}, {case.grid.n_cells} cells over {depth:g} m, "
        f"{case.duration / 3600.0:g} h, f = {rotation:g} s-1"
    )
    kind = "constant" if isinstance(case.forcing, ConstantForcing) else "time series"
    values = vars(case.forcing.at(0.0, WaterSurface.of(case.initial_state)))
    fluxes = {
        name: float(value) for name, value in values.items() if name != "tracer_fluxes" and value is not None
    }
    listed = ", ".join(f"{name} = {value:.4g}" for name, value in fluxes.items())
    echo(f"  fluxes ({kind}, at the start): {listed or 'none'}")
    water = {
        info.path: (float(info.value), info.unit)
        for info in iterate_parameters(case.equation_of_state)
        if info.value is not None
    }
    listed = ", ".join(f"{name} = {value:g} {unit}" for name, (value, unit) in water.items())
    echo(f"  density ({type(case.equation_of_state).__name__}): {listed}")
    observed = {}
    if observations is not None:
        for name, values in (observations.profiles | observations.series).items():
            valid = np.isfinite(np.asarray(values))
            n_times = int(valid.reshape(len(valid), -1).any(axis=1).sum())
            heights = f" and {valid.shape[1]} heights" if valid.ndim > 1 else ""
            echo(f"  observed: {name} at {n_times} times{heights}")
            observed[name] = {"n_times": n_times} | ({"n_heights": valid.shape[1]} if valid.ndim > 1 else {})
    answer = {"name": case.name, "n_cells": case.grid.n_cells, "depth": depth, "duration": case.duration}
    answer["equation_of_state"] = {name: value for name, (value, _) in water.items()}
    return answer | {"coriolis_parameter": rotation, "fluxes_at_start": fluxes, "observed": observed}


def describe_model(model: Model) -> Answer:
    """Print the closure, its number of parameters, and theta of the time scheme."""
    n_parameters = len(list(iterate_parameters(model.closure)))
    n_parameters += sum(len(info.value) for info in iterate_vectors(model.closure))
    name = type(model.closure).__name__
    echo(f"model: {name} with {n_parameters} parameters, theta {model.theta:g}")
    return {"closure": name, "n_parameters": n_parameters, "theta": model.theta}


def schema(kind: str) -> None:
    """See `commands.schema`."""
    echo(json.dumps(json_schema(kind), indent=1, ensure_ascii=False))


def describe(name: str) -> None:
    """See `commands.describe`."""
    for each in names.describe(name):
        echo(f"{each.name}: {each.kind.__name__}. {each.summary}")
        if each.source:
            echo(f"Source: {each.source}")
        for title, is_number in (("parameters", True), ("settings", False)):
            columns = ("name", "default", "unit", "range", "meaning")
            if rows := [row[:-1] for row in each.declared if row.is_number == is_number]:
                print_table(columns, rows, title)
        for title, columns, rows in each.tables:
            print_table(columns, rows, title)
