"""Arguments and options that commands share."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (YAML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value of the configuration; the value is read as YAML. May be repeated.",
    ),
]
Parameters = Annotated[
    Path | None,
    typer.Option("--parameters", metavar="FILE", help="Closure parameters that a calibration found (YAML)."),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace files that are there and are not results of the same command."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
