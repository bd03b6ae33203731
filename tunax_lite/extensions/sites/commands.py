"""The command `site`."""

from pathlib import Path
from typing import Annotated

from typer import Option

from ...cli import options
from ...cli.application import command


@command(
    "Data and sites",
    "To continue, repeat with --overwrite; complete months of `cds` are kept.",
    module="command",
)
def site(
    output: Annotated[Path, options.output("DIR", "Folder for the site and its results.")],
    latitude: Annotated[float, Option(metavar="DEG", min=-90.0, max=90.0, help="[degrees north].")],
    longitude: Annotated[float, Option(metavar="DEG", min=-360.0, max=360.0, help="[degrees east].")],
    start: Annotated[str, Option(metavar="DATE", help="Start, ISO 8601, Universal Time.")],
    stop: Annotated[str, Option(metavar="DATE", help="End, likewise.")],
    name: Annotated[str | None, Option(help="Name of the site; by default that of DIR.")] = None,
    data: Annotated[
        Path | None,
        Option(metavar="DIR", help="Folders era5, argo, woa, gebco, ... in it replace services."),
    ] = None,
    weather: Annotated[str | None, Option(metavar="NAME[:WHERE]", help="Source of the weather.")] = None,
    water: Annotated[str | None, Option(metavar="NAME[:WHERE]", help="Source of the water.")] = None,
    depth: Annotated[str | None, Option(metavar="M|NAME[:WHERE]", help="Depth of the sea.")] = None,
    waves: Annotated[str | None, Option(metavar="NAME[:WHERE]", help="Source of waves, if any.")] = None,
    tides: Annotated[str | None, Option(metavar="NAME[:WHERE]", help="Source of tides, if any.")] = None,
    column: Annotated[float, Option(metavar="M", min=10.0, help="Largest depth of the column.")] = 300.0,
    radius: Annotated[
        float, Option(metavar="KM", min=0.0, help="Largest distance of measured profiles.")
    ] = 150.0,
    settings: options.Settings = options.NONE,
    no_run: Annotated[bool, Option("--no-run", help="Only write inputs and configuration.")] = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Fetch what a column at a place needs, write a configuration, and run it.

    Sources are files (era5:DIR, argo:DIR, woa:DIR, gebco:FILE) or services (cds, copernicus, argopy). The
    folder holds converted inputs, site.yaml for `check` and `run`, and results.
    """
