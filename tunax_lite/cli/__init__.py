"""The command line: parse, call, report.

Exit codes: 0 done; 1 the computation failed, for example a value that is not finite; 2 usage,
configuration or parameters that cannot be used; 3 a data file that is missing or cannot be used;
130 interrupted.
"""

from typing import Annotated

import typer

from .. import __version__
from .calibrate import calibrate
from .check import check
from .evaluate import evaluate
from .plot import plot
from .run import run

app = typer.Typer(
    name="tunax-lite",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A differentiable one-dimensional model of the ocean water column.",
    epilog="Exit codes: 0 done, 1 computation failed, 2 bad usage, configuration or parameters, "
    "3 bad or missing data file, 130 interrupted.",
)
for _command in (run, calibrate, evaluate, plot, check):
    app.command()(_command)


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"tunax_lite {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Entry point of the `tunax-lite` command."""
    app()
