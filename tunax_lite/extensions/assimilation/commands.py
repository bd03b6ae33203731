"""The command `assimilate`."""

from pathlib import Path
from typing import Annotated

from ...cli import options
from ...cli.application import command


@command(module="command")
def assimilate(
    config: options.Config,
    output: Annotated[Path, options.output("OUT.nc", "File for the results.")],
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
    figures: options.Figures = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Assimilate observations cycle after cycle, forecast from each analysis, and write both as NetCDF.

    The file holds innovation(time, lead), observation minus forecast, with background, analysis, increments,
    spread and the estimated corrections.
    """
