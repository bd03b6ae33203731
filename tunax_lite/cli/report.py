"""`tunax-lite report`: one page about a calibration."""

from pathlib import Path
from typing import Annotated

import typer

from ..io.protection import check_outputs
from . import options
from .session import errors_as_messages, report_written


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a calibration.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE.html", help="By default report.html in the folder."),
    ] = None,
    overwrite: options.Overwrite = False,
    debug: options.Debug = False,
) -> None:
    """Write one HTML page about a calibration, figures included, that needs no other file."""
    with errors_as_messages(debug):
        # What takes long to import, where it is needed.
        from ..report import read_run_folder, write_report
        from .outputs import seen_from

        run, path = read_run_folder(folder), output or folder / "report.html"
        check_outputs([path], overwrite=overwrite, product=f"report of {seen_from(path, folder)}")
        report_written([write_report(run, path)])
