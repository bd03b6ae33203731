"""The command `map`."""

from pathlib import Path
from typing import Annotated

from typer import Option

from ...cli import options
from ...cli.application import command


@command(
    "Extensions", "Complete pieces stay in the store: continue with --resume.", name="map", module="command"
)
def map_columns(
    config: options.Config,
    output: Annotated[Path, options.output("STORE.zarr", "Zarr store for the results.")],
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
    n_columns: Annotated[
        int | None,
        Option(
            "--columns",
            metavar="N",
            min=1,
            help="Approximate columns per tile; by default a 16th of the map on a CPU, all on a GPU.",
        ),
    ] = None,
    resume: options.Resume = False,
    overwrite: options.Anew = False,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Run the columns of a map; write a Zarr store, which can be read while it grows.

    After any interruption, --resume continues with the same numbers.
    """
