"""`tunax-lite evaluate`, `plot` and `report`: what came out, as errors, figures and a page."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..calibration.checks import Candidate, ErrorRow, errors_by_label, run_checks, with_values
from ..config import CalibrationConfig, ConfigError, build_checks, evaluation_of, load_any
from ..io.protection import check_outputs
from ..io.writing import replacing
from . import session
from .calibrate import say_checks
from .outputs import check_figures_of, seen_from


@session.command()
def evaluate(
    config: session.Config,
    parameters: session.Parameters = None,
    settings: session.Settings = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the table to a file, too.")
    ] = None,
    overwrite: session.Overwrite = False,
) -> None:
    """Root mean square and mean errors over all levels and the times of `evaluation` (by default after 2 h).

    CONFIG is that of a run, or of a calibration, whose cases are all compared. With --parameters the
    errors of the configuration and of the given parameters stand side by side, and the checks of a
    calibration are run with both.
    """
    loaded = load_any(config, settings or [])
    if output is not None and output.suffix != ".csv":
        raise ConfigError(f"--output {output}: expected a file name that ends in .csv.")
    with session.precision(loaded):
        values = session.parameters_for(parameters, loaded.closure_class.__name__)
        candidates: dict[str, Candidate] = {"configuration": evaluation_of(loaded)}
        targets = candidates["configuration"][1]
        if values is not None:
            try:
                candidates["parameters"] = with_values(candidates["configuration"], values)
            except ValueError as error:
                raise ConfigError(f"{parameters}: {error}") from error
        if output is not None:
            check_outputs([output], overwrite=overwrite)
        session.say_accounts(targets)
        rows = errors_by_label(candidates)
        typer.echo(_table(rows, list(candidates)))
        if values is not None and isinstance(loaded.config, CalibrationConfig):
            checks, notes = build_checks(loaded.config.checks, loaded.path)
            session.say_notes(notes)
            before, after = (one.closure for one, _ in candidates.values())
            if checks:
                say_checks(run_checks(checks, before, after, values))
    if output is not None:
        _write(output, rows, list(candidates))
        session.report_written([output])


def _number(error: float, sign: str = "") -> str:
    """Five decimals, or powers of ten where these would hide it."""
    return f"{error:{sign}.5f}" if error == 0.0 or 1e-4 <= abs(error) < 1e7 else f"{error:{sign}.4e}"


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
        lines.append(
            line(row.case, row.variable, [_number(row.means[label], "+") for label in labels], row.unit)
        )
    return "\n".join(["root mean square errors", *lines])


def _write(path: Path, rows: Sequence[ErrorRow], labels: Sequence[str]) -> None:
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "variable", "unit", *labels])
        for row in rows:
            writer.writerow([row.case, row.variable, row.unit, *(row.errors[label] for label in labels)])


@session.command()
def plot(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.nc", help="Trajectory of a run, history or posterior of a calibration."),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the figures; by default that of the file.")
    ] = None,
    overwrite: session.Overwrite = False,
) -> None:
    """Draw the figures of an output file: sections and profiles, or loss and parameters.

    Of a run that was interrupted, FILE.nc is the name of its output, and the figures show what there is.
    """
    # What takes long to import, where it is needed.
    from ..io.runs import parts_folder, parts_of
    from ..plotting import figures_of_parts, file_figures, save_figures

    folder, parts = file.parent if output is None else output, [] if file.exists() else parts_of(file)
    if parts:
        session.say_notes([f"{file} is not there yet: these are the parts of it in {parts_folder(file)}"])
    figures = figures_of_parts(parts) if parts else file_figures(file)
    check_figures_of(file, [folder / f"{file.stem}_{name}.png" for name in figures], overwrite)
    session.report_written(save_figures(figures, folder, f"{file.stem}_"))


@session.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a calibration.")],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="By default report.html in the folder.")
    ] = None,
    overwrite: session.Overwrite = False,
) -> None:
    """Write one HTML page about a calibration, figures included, that needs no other file."""
    # What takes long to import, where it is needed.
    from ..report import read_run_folder, write_report

    run, path = read_run_folder(folder), output or folder / "report.html"
    check_outputs([path], overwrite=overwrite, product=f"report of {seen_from(path, folder)}")
    session.report_written([write_report(run, path)])
