"""`tunax-lite calibrate` and `cross-validate`: parameters from observations, and what they are worth."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import typer

from ..calibration import (
    CalibrationResult,
    Target,
    account,
    in_short,
    remarks,
    remarks_in_short,
    write_results,
)
from ..calibration import calibrate as run_calibration
from ..calibration.calibrate import Iteration
from ..calibration.checks import AbstractCheck, CheckRow, run_checks
from ..calibration.cross_validation import (
    CrossValidation,
    checks_in_words,
    cross_validate,
    cross_validation_in_words,
    write_table,
)
from ..calibration.files import CHECKS_NAME, CROSS_VALIDATION_NAME, HISTORY_NAME, PARAMETERS_NAME, RESULTS
from ..calibration.known import units_in_short
from ..closures import AbstractClosure
from ..config import Calibration, CalibrationConfig, ConfigError, Loaded, build_calibration, load_calibration
from ..interrupts import Interrupted, advise, ordered_end
from ..io.writing import claimed
from ..model import Model
from ..observations import Observations
from ..simulation import simulate
from ..trajectory import Trajectory
from .outputs import check_calibration_outputs
from .progress import progress_of
from .session import (
    Anew,
    Config,
    Debug,
    Folder,
    Resume,
    Settings,
    errors_as_messages,
    origin_of,
    precision,
    report_written,
    results_folder,
)

_MOST_FRAMES = 400
"""Of a run in a figure over time."""


def calibrate(
    config: Config,
    output: Folder = None,
    resume: Resume = False,
    overwrite: Anew = False,
    settings: Settings = None,
    debug: Debug = False,
) -> None:
    """Calibrate a closure on all cases; write parameters.yaml, history.nc and figures.

    Interrupted at any moment, --resume goes on with the same iterates.
    """
    with errors_as_messages(debug, "What is done is saved: go on with --resume."):
        loaded = load_calibration(config, settings or [])
        folder = results_folder(loaded, output, resume=resume, overwrite=overwrite)
        with precision(loaded):
            setup = build_calibration(loaded)
            cases = [target.case.name for target in setup.targets]
            check_calibration_outputs(folder, overwrite, figures=loaded.config.output.figures, cases=cases)
            with claimed(folder, folder=True):
                try:
                    result = _calibrate(setup, folder, resume, overwrite)
                except Interrupted:
                    advise(_write_so_far(setup, loaded, folder))
                    raise
                written = write(result, setup, loaded, folder)
                _summarise(result)
                written += checked(setup.checks, setup.model.closure, result, folder)
        report_written(written)


def _calibrate(setup: Calibration, folder: Path, resume: bool, overwrite: bool) -> CalibrationResult:
    names = ", ".join(target.case.name for target in setup.targets)
    for note in setup.notes:
        typer.echo(f"note: {note}")
    for line in (line for target in setup.targets for line in account(target) if line.is_notable):
        typer.echo(str(line))
    n_free = len(setup.free_parameters.paths)
    typer.echo(f"calibrating {n_free} parameters on {names}; compiling ...")
    try:
        with progress_of(setup.n_iterations) as show, ordered_end("this iteration") as safe_point:

            def report(iteration: Iteration) -> None:
                show(iteration)
                safe_point()

            return run_calibration(
                **problem_of(setup),
                folder=folder,
                resume=resume,
                overwrite=overwrite,
                report=report,
                announce=typer.echo,
            )
    except ValueError as error:
        raise ConfigError(f"{error} (options: --resume, --overwrite, --output DIR)") from error


def problem_of(setup: Calibration) -> dict[str, Any]:  # arguments of many types
    """What is to be calibrated and how, as arguments."""
    return {
        "model": setup.model,
        "free_parameters": setup.free_parameters,
        "targets": setup.targets,
        "method": setup.method,
        "n_iterations": setup.n_iterations,
        "score": setup.score,
        "prior_weight": setup.prior_weight,
        "n_threads": setup.n_threads,
        "max_non_finite": setup.max_non_finite,
    }


def _write_so_far(setup: Calibration, loaded: Loaded[CalibrationConfig], folder: Path) -> str:
    """Parameters and history of a calibration that was interrupted; returns how to go on."""
    # One iteration is done, so that nothing is computed.
    result = run_calibration(**dict(problem_of(setup), n_iterations=1), folder=folder, resume=True)
    done = f"{result.history.n_iterations} of {setup.n_iterations} iterations"
    result = dataclasses.replace(result, stop_reason=f"interrupted after {done}")
    for name in set(RESULTS) - {PARAMETERS_NAME, HISTORY_NAME}:
        (folder / name).unlink(missing_ok=True)  # of fewer iterations
    write_results(result, folder, origin_of(loaded, result.case_names, result.closure))
    return (
        f"The best of {done} is in {folder / PARAMETERS_NAME}, tunax-lite report {folder} shows it; "
        "go on with --resume."
    )


def write(
    result: CalibrationResult, setup: Calibration, loaded: Loaded[CalibrationConfig], folder: Path
) -> list[Path]:
    """Write the files of a calibration into its folder and return their paths."""
    written = list(write_results(result, folder, origin_of(loaded, result.case_names, result.closure)))
    if not loaded.config.output.figures:
        return written
    # What takes long to import, where it is needed.
    from ..calibration.history_file import history_dataset
    from ..plotting import CaseRuns, history_figures, plot_fits, plot_series, save_figure

    figures = history_figures(history_dataset(result))
    fits = [
        CaseRuns(target.case.name, _runs(target, setup.model, result), target.observations, target.case)
        for target in setup.targets
    ]
    if any(set(fit.observations.profiles) & {"temperature", "u", "v"} for fit in fits):
        figures["profiles"] = plot_fits(fits)
    for fit in fits:
        if _is_shown_over_time(fit.observations):
            figures[f"series_{fit.name}" if len(fits) > 1 else "series"] = plot_series(fit)
    for name, figure in figures.items():
        written.append(folder / f"{name}.png")
        save_figure(figure, written[-1])
    return written


def _runs(target: Target, model: Model, result: CalibrationResult) -> dict[str, Trajectory]:
    calibrated = eqx.tree_at(lambda m: m.closure, model, result.closure)
    corrected = dataclasses.replace(target, case=result.cases[target.case.name])
    return {"before": _frames(model, target), "after": _frames(calibrated, corrected)}


def _is_shown_over_time(observations: Observations) -> bool:
    """Whether there are measurements to draw over time; of a large-eddy simulation the profiles say it."""
    is_long = observations.source != "LES" and observations.time.size > 2
    return is_long and ("temperature" in observations.profiles or bool(observations.series))


def last_time_of(target: Target) -> float:
    """The last observation that counts, as a multiple of the step [s]."""
    times = [float(t) for t in target.observations.time if t <= target.time_window[1] * (1.0 + 1e-9)]
    return max(1, round(times[-1] / target.dt)) * target.dt


def _frames(model: Model, target: Target) -> Trajectory:
    """A run up to the last observation that counts: its ends, and what lies between where that is drawn."""
    end = last_time_of(target)
    n_steps = round(end / target.dt)
    most = _MOST_FRAMES if _is_shown_over_time(target.observations) else 1
    n_frames = max(n for n in range(1, most + 1) if n_steps % n == 0)
    # A common name: it is part of what is compiled.
    case = dataclasses.replace(target.case, name="case")
    return simulate(model, case, dt=target.dt, duration=end, output_interval=end / n_frames)


def _summarise(result: CalibrationResult) -> None:
    units, start, best = units_in_short(result.units), in_short(result.start), in_short(result.best)
    said = remarks_in_short(remarks(result), result.best)
    width, before, after = (max(map(len, each)) for each in (best, start.values(), best.values()))
    typer.echo(f"{result.stop_reason}; best of them is iteration {result.history.best_iteration + 1}")
    typer.echo(f"loss: {float(result.history.loss[0]):.5g} at the start, {result.best_loss:.5g} at the best")
    for path, value in best.items():
        remark = f"  {said[path]}" if path in said else ""
        typer.echo(
            f"  {path:{width}}  {start[path]:>{before}} -> {value:>{after}}  [{units.get(path, '1')}]{remark}"
        )
    if len(lowest := result.lowest_by_start) > 1:
        typer.echo("lowest loss by start: " + ", ".join("none" if x is None else f"{x:.5g}" for x in lowest))
    if result.n_non_finite:
        typer.echo(f"{result.n_non_finite} evaluations were not finite; their steps were taken back")
    if result.n_failed:
        typer.echo(f"{result.n_failed} members of the ensemble broke down in all; they were drawn anew")


def checked(
    checks: Sequence[AbstractCheck], before: AbstractClosure, result: CalibrationResult, folder: Path
) -> list[Path]:
    """Run the checks of a calibration, say what they give, write their table and return its path."""
    path = folder / CHECKS_NAME
    if not checks:
        path.unlink(missing_ok=True)  # of an earlier configuration
        return []
    rows = run_checks(checks, before, result.closure, result.best)
    say(rows)
    write_table(path, rows)
    return [path]


def say(rows: Sequence[CheckRow]) -> None:
    """Errors before and after, and a warning where they grow too much."""
    typer.echo("checks: root mean square errors without and with the calibrated parameters")
    width = max(len(row.check) for row in rows)
    for row in rows:
        growth = f"{100.0 * row.growth:+.0f} %" if math.isfinite(row.growth) else "no number"
        typer.echo(
            f"  {row.check:{width}}  {row.variable}  {row.uncalibrated:.5g} -> {row.calibrated:.5g} "
            f"{row.unit}  {growth}"
        )
    for sentence in checks_in_words(rows):
        typer.echo(sentence, err=any(row.too_large for row in rows))


FIGURE_NAME = "cross_validation.png"


def cross_validation(
    config: Config,
    output: Folder = None,
    overwrite: Anew = False,
    settings: Settings = None,
    debug: Debug = False,
) -> None:
    """Calibrate on all cases and on all but each; say what the errors are on the case left out.

    CONFIG is that of a calibration. Interrupted at any moment, the same command goes on; calibrations that
    are done are not done again, among them that of `tunax-lite calibrate` in the same folder.
    """
    with errors_as_messages(debug, "What is done is saved: give the same command to go on."):
        loaded = load_calibration(config, settings or [])
        folder = results_folder(loaded, output)
        with precision(loaded):
            setup = build_calibration(loaded)
            for note in setup.notes:
                typer.echo(f"note: {note}")
            names = [target.case.name for target in setup.targets]
            origin = origin_of(loaded, names, setup.model.closure)
            check_calibration_outputs(folder, overwrite, figures=loaded.config.output.figures, cases=names)
            with claimed(folder, folder=True):
                found = _cross_validate(setup, folder, overwrite, origin)
                written = write(found.calibrated, setup, loaded, folder)
                written += checked(setup.checks, setup.model.closure, found.calibrated, folder)
                written.append(folder / CROSS_VALIDATION_NAME)
                write_table(written[-1], found.rows)
                if loaded.config.output.figures:
                    # What takes long to import, where it is needed.
                    from ..plotting import plot_cross_validation, save_figure

                    written.append(folder / FIGURE_NAME)
                    save_figure(plot_cross_validation(found.rows), written[-1])
        _say(found)
        report_written(written)


def _cross_validate(
    setup: Calibration, folder: Path, overwrite: bool, attributes: dict[str, str]
) -> CrossValidation:
    n_begun, n_all = itertools.count(1), 1 + len(setup.targets)
    with contextlib.ExitStack() as stack:

        def begin(left_out: str | None):
            stack.close()  # the table of the calibration before
            without = "all cases" if left_out is None else f"without {left_out}"
            typer.echo(f"calibration {next(n_begun)} of {n_all}: {without}; compiling ...")
            return stack.enter_context(progress_of(setup.n_iterations))

        try:
            return cross_validate(
                **problem_of(setup), folder=folder, overwrite=overwrite, attributes=attributes, begin=begin
            )
        except ValueError as error:
            raise ConfigError(f"{error} (options: --overwrite, --output DIR)") from error


def _say(found: CrossValidation) -> None:
    rows = found.rows
    width = max(len("left out"), *(len(row.case) for row in rows))
    columns = ("persistence", "uncalibrated", "calibrated", "left_out")
    typer.echo("root mean square errors on the case left out of the calibration")
    typer.echo(
        f"{'left out':{width}}  {'variable':12}  "
        + "  ".join(f"{name.replace('_', ' '):>12}" for name in columns)
        + "  unit   better"
    )
    for row in rows:
        numbers = "  ".join(f"{getattr(row, name):12.5f}" for name in columns)
        typer.echo(
            f"{row.case:{width}}  {row.variable:12}  {numbers}  {row.unit:5}  {'yes' if row.better else 'no'}"
        )
    for sentence in cross_validation_in_words(rows):
        typer.echo(sentence)
