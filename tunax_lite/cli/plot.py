"""`tunax-lite plot`: figures of an output file; `tunax-lite report`: one page about a calibration."""

from pathlib import Path
from typing import Annotated

import typer

from ..io.protection import check_outputs
from .session import Debug, Overwrite, errors_as_messages, report_written


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
