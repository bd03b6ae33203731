"""`tunax-lite plot`: figures of an output file."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .session import errors_as_messages, report_written


def plot(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.nc", help="Trajectory of a run, history or posterior of a calibration."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the figures; by default that of the file."),
    ] = None,
    overwrite: options.Overwrite = False,
    debug: options.Debug = False,
) -> None:
    """Draw the figures of an output file: sections and profiles, or loss and parameters."""
    # What takes long to import, where it is needed.
    from ..plotting import save_figure
    from .figures import file_figures
    from .outputs import check_figures_of

    with errors_as_messages(debug):
        folder = file.parent if output is None else output
        figures = {folder / f"{file.stem}_{name}.png": one for name, one in file_figures(file).items()}
        check_figures_of(file, figures, overwrite)
        for path, figure in figures.items():
            save_figure(figure, path)
        report_written(list(figures))
