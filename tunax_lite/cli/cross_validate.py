"""`tunax-lite cross-validate`: what a calibration is worth on cases that it has not seen."""

import contextlib
import itertools
from pathlib import Path

import typer

from ..config import Calibration, ConfigError, build_calibration, load_calibration
from ..io.writing import claimed
from ..validation import (
    CROSS_VALIDATION_NAME,
    CrossValidation,
    cross_validate,
    cross_validation_in_words,
    write_table,
)
from .calibrate import checked, problem_of, write
from .outputs import check_calibration_outputs
from .progress import progress_of
from .session import (
    Anew,
    Config,
    Debug,
    Folder,
    Settings,
    errors_as_messages,
    origin_of,
    precision,
    report_written,
    results_folder,
)

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
