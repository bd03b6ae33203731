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
        help="Replace a value of the configuration; VALUE is read as YAML. May be repeated.",
    ),
]
Parameters = Annotated[
    Path | None, Option(metavar="FILE", help="Closure parameters from a calibration (YAML).")
]


def output(metavar: str, text: str) -> Any:  # declaration of an option
    """Declare the option `--output` with its meaning for a command."""
    return Option("--output", "-o", metavar=metavar, help=text)


Figures = Annotated[
    Path | None, Option("--figures", metavar="DIR", help="Folder for figures; by default none are drawn.")
]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace existing files.")]
Resume = Annotated[bool, Option("--resume", help="Continue an interrupted computation in the output.")]
Anew = Annotated[bool, Option("--overwrite", help="Start again and replace earlier results in the output.")]
Folder = Annotated[Path | None, output("DIR", "Folder for the results; by default results/CONFIG.")]
CalibrationFolder = Annotated[
    Path | None, output("DIR", "Folder for the results; by default output.folder, or results/CONFIG.")
]

Workers = Annotated[
    int | None,
    Option(
        metavar="N",
        help="Number of processes on this machine, which share its cores or GPUs; by default one.",
    ),
]
Scheduler = Annotated[
    str | None,
    Option(
        metavar="ADDRESS|FILE",
        help="Dask scheduler whose workers to use: an address such as tls://node1:8786, or a file.",
    ),
]

NONE: Any = []  # default of an option that may be repeated
