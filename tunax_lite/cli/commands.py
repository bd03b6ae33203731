"""All commands in one application, and the options before a command."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Exit, Option, echo

from .. import __version__
from ..config import ConfigError
from ..runtime import configure
from ..runtime.memory import lift_limits
from .calibrate import calibrate, cross_validate
from .check import check, describe, schema
from .doctor import doctor
from .evaluate import compare, evaluate, plot, report
from .map import map_columns
from .posterior import posterior
from .run import run
from .session import check_devices, check_flags, errors_as_messages, prepare_terminal

app = typer.Typer(
    name="tunax-lite",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A differentiable one-dimensional model of the ocean water column.",
    epilog="Exit codes: 0 done, 1 computation failed, 2 bad usage, configuration or parameters, "
    "3 bad or missing data file, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.",
)
_COMMANDS = run, calibrate, posterior, report, evaluate, compare, plot, check, schema, doctor
for _command in (*_COMMANDS, cross_validate, describe):
    app.command()(_command)
app.command("map")(map_columns)


def _print_version(wanted: bool) -> bool:
    if wanted:
        echo(f"tunax_lite {__version__}")
        raise Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    cache_folder: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Folder for compiled programs; by default $JAX_COMPILATION_CACHE_DIR, or the user's cache.",
        ),
    ] = None,
    cache_seconds: Annotated[
        float | None,
        Option(
            metavar="S",
            min=0.0,
            help="Do not keep programs that compile in less; by default "
            "$JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS, or 0.5.",
        ),
    ] = None,
    no_cache: Annotated[
        bool, Option("--no-cache", help="Neither keep compiled programs nor use kept ones.")
    ] = False,
    no_limits: Annotated[
        bool,
        Option(
            "--no-limits",
            help="Start what takes more than 1e9 time steps, or more memory or disk than is free.",
        ),
    ] = False,
) -> None:
    lift_limits(no_limits)
    with errors_as_messages():
        if no_cache and cache_folder is not None:
            raise ConfigError("expected either --cache-folder or --no-cache, got both; choose one.")
        folder = None if no_cache else "auto" if cache_folder is None else cache_folder
        # The precision is that of the configuration; `session.precision` sets it.
        check_flags()
        configure(precision=None, cache_folder=folder, cache_minimum_seconds=cache_seconds)
        check_devices()


def start() -> None:
    """Run the command that the arguments of the process name."""
    prepare_terminal()
    app(prog_name="tunax-lite")
