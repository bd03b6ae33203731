"""Arguments and options shared by several commands."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

Config = Annotated[Path, Argument(metavar="CONFIG", help="Configuration file (YAML).")]
Settings = Annotated[
    list[str],
    Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value of the configuration; the value is read as YAML. May be repeated.",
    ),
]
Parameters = Annotated[
    Path | None, Option(metavar="FILE", help="Closure parameters from a calibration (YAML).")
]


def output(metavar: str, text: str) -> Any:  # declaration of an option
    """`--output`, with its meaning for a command."""
    return Option("--output", "-o", metavar=metavar, help=text)


Figures = Annotated[
    Path | None, Option("--figures", metavar="DIR", help="Folder for figures; by default none are drawn.")
]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace existing files.")]
Resume = Annotated[bool, Option("--resume", help="Continue the computation in the output.")]
Anew = Annotated[bool, Option("--overwrite", help="Start over in an output with earlier results.")]
Folder = Annotated[Path | None, output("DIR", "Folder for the results; by default results/CONFIG.")]


Workers = Annotated[
    int | None,
    Option(metavar="N", help="Processes on this machine, each with its share of the cores or GPUs."),
]
Scheduler = Annotated[
    str | None,
    Option(
        metavar="ADDRESS|FILE",
        help="Run on the workers of a Dask scheduler: its address, as tls://node1:8786, or its file.",
    ),
]

NONE: Any = []  # default of an option that may be repeated
