"""`tunax-lite evaluate`, `plot` and `report`: what came out, as errors, figures and a page."""

import csv
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import equinox as eqx
import typer

from ..calibration import Target, account, errors_of, with_case_parameters, with_parameters
from ..calibration.checks import run_checks
from ..case import Case
from ..config import CalibrationConfig, ConfigError, build_checks, evaluation_of, load_any
from ..io.protection import check_outputs
from ..io.writing import replacing
from ..model import Model
from ..observables import unit_of_difference
from .calibrate import say
from .session import (
    Config,
    Debug,
    Overwrite,
    Parameters,
    Settings,
    errors_as_messages,
    parameters_for,
    precision,
    report_written,
)


class ErrorRow(NamedTuple):
    """Root mean square and mean error of one variable of one case, by label of the model."""

    case: str
    variable: str
    unit: str
    errors: dict[str, float]
    means: dict[str, float]


def evaluate(
    config: Config,
    parameters: Parameters = None,
    settings: Settings = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE.csv", help="Write the table to a file, too.")
    ] = None,
    overwrite: Overwrite = False,
    debug: Debug = False,
) -> None:
    """Root mean square and mean errors over all levels and the times of `evaluation` (by default after 2 h).

    CONFIG is that of a run, or of a calibration, whose cases are all compared. With --parameters the
    errors of the configuration and of the given parameters stand side by side, and the checks of a
    calibration are run with both.
    """
    with errors_as_messages(debug):
        loaded = load_any(config, settings or [])
        if output is not None and output.suffix != ".csv":
            raise ConfigError(f"--output {output}: expected a file name that ends in .csv.")
        with precision(loaded):
            values = parameters_for(parameters, loaded)
            model, targets = evaluation_of(loaded)
            models, cases = {"configuration": model}, {"configuration": [t.case for t in targets]}
            if values is not None:
                try:
                    closure = with_parameters(model.closure, values)
                    corrected = [with_case_parameters(target.case, values) for target in targets]
                except ValueError as error:
                    raise ConfigError(f"{parameters}: {error}") from error
                models["parameters"] = eqx.tree_at(lambda m: m.closure, model, closure)
                cases["parameters"] = corrected
            if output is not None:
                check_outputs([output], overwrite=overwrite)
            for line in (line for target in targets for line in account(target) if line.is_notable):
                typer.echo(str(line))
            rows = compare(models, targets, cases)
            typer.echo(_table(rows, list(models)))
            if values is not None and isinstance(loaded.config, CalibrationConfig):
                _check(loaded.config, loaded.path, models, values)
        if output is not None:
            _write(output, rows, list(models))
            report_written([output])


def _check(
    config: CalibrationConfig, source: Path, models: dict[str, Model], values: dict[str, float]
) -> None:
    checks, notes = build_checks(config.checks, source)
    for note in notes:
        typer.echo(f"note: {note}")
    if checks:
        before, after = (models[label].closure for label in ("configuration", "parameters"))
        say(run_checks(checks, before, after, values))


def compare(
    models: dict[str, Model], targets: Sequence[Target], cases: dict[str, list[Case]]
) -> list[ErrorRow]:
    """Errors of all models on all targets.

    Args:
        models: by label.
        targets: what they are compared with.
        cases: those of the targets, corrected as a label has it.

    Raises:
        FloatingPointError: a run with values that are not finite.
    """
    rows = []
    for number, target in enumerate(targets):
        errors = {
            label: errors_of(model, dataclasses.replace(target, case=cases[label][number]).comparison)
            for label, model in models.items()
        }
        for variable in target.weights:
            by_label = {label: found[variable].root_mean_square for label, found in errors.items()}
            means = {label: found[variable].mean for label, found in errors.items()}
            bad = [label for label, error in by_label.items() if not math.isfinite(error)]
            if bad:
                raise FloatingPointError(
                    f"{target.case.name}: expected finite values, got a {variable} that is not with the "
                    f"{bad[0]}; try a shorter time.step, or other parameters."
                )
            rows.append(ErrorRow(target.case.name, variable, unit_of_difference(variable), by_label, means))
    return rows


def _number(error: float) -> str:
    """Five decimals, or powers of ten where these would hide it."""
    return f"{error:.5f}" if error == 0.0 or 1e-4 <= abs(error) < 1e7 else f"{error:.4e}"


def _signed(error: float) -> str:
    return _number(error) if error < 0.0 else f"+{_number(error)}"


def _table(rows: Sequence[ErrorRow], labels: Sequence[str]) -> str:
    widths = max(len("case"), *(len(row.case) for row in rows)), max(12, *(len(row.variable) for row in rows))

    def line(case: str, variable: str, numbers: Sequence[str], unit: str) -> str:
        return (
            f"{case:{widths[0]}}  {variable:{widths[1]}}" + "".join(f"{n:>15}" for n in numbers) + f"  {unit}"
        )

    lines = [line("case", "variable", labels, "unit")]
    for row in rows:
        numbers = [_number(row.errors[label]) for label in labels]
        lines.append(line(row.case, row.variable, numbers, row.unit))
    temperature = [row for row in rows if row.variable == "temperature"]
    if len(temperature) > 1:
        means = [sum(row.errors[label] for row in temperature) / len(temperature) for label in labels]
        lines.append(line("mean", "temperature", [_number(mean) for mean in means], "K"))
    lines.append("mean errors, model minus observed")
    for row in rows:
        lines.append(line(row.case, row.variable, [_signed(row.means[label]) for label in labels], row.unit))
    return "\n".join(["root mean square errors", *lines])


def _write(path: Path, rows: Sequence[ErrorRow], labels: Sequence[str]) -> None:
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "variable", "unit", *labels])
        for row in rows:
            writer.writerow([row.case, row.variable, row.unit, *(row.errors[label] for label in labels)])


def plot(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.nc", help="Trajectory of a run, history or posterior of a calibration."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the figures; by default that of the file."),
    ] = None,
    overwrite: Overwrite = False,
    debug: Debug = False,
) -> None:
    """Draw the figures of an output file: sections and profiles, or loss and parameters.

    Of a run that was interrupted, FILE.nc is the name of its output, and the figures show what there is.
    """
    with errors_as_messages(debug):
        # What takes long to import, where it is needed.
        from ..io.runs import parts_folder, parts_of
        from ..plotting import figures_of_parts, file_figures, save_figure
        from .outputs import check_figures_of

        folder = file.parent if output is None else output
        parts = [] if file.exists() else parts_of(file)
        if parts:
            typer.echo(f"note: {file} is not there yet: these are the parts of it in {parts_folder(file)}")
        drawn = figures_of_parts(parts) if parts else file_figures(file)
        figures = {folder / f"{file.stem}_{name}.png": figure for name, figure in drawn.items()}
        check_figures_of(file, figures, overwrite)
        for path, figure in figures.items():
            save_figure(figure, path)
        report_written(list(figures))


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a calibration.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE.html", help="By default report.html in the folder."),
    ] = None,
    overwrite: Overwrite = False,
    debug: Debug = False,
) -> None:
    """Write one HTML page about a calibration, figures included, that needs no other file."""
    with errors_as_messages(debug):
        # What takes long to import, where it is needed.
        from ..report import read_run_folder, write_report
        from .outputs import seen_from

        run, path = read_run_folder(folder), output or folder / "report.html"
        check_outputs([path], overwrite=overwrite, product=f"report of {seen_from(path, folder)}")
        report_written([write_report(run, path)])
