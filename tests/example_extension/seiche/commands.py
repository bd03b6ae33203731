"""The command `seiche-period`."""

from typing import Annotated

from typer import Argument

from tunax_lite.cli.application import Answer, command
from tunax_lite.cli.terminal import echo


@command(name="seiche-period")
def seiche_period(
    length: Annotated[float, Argument(help="Length of the basin [m].")],
    depth: Annotated[float, Argument(help="Depth of the basin [m].")],
) -> Answer:
    """Print the period of the gravest seiche of a basin, T = 2 L / sqrt(g h) (Merian 1828)."""
    period = 2.0 * length / (9.81 * depth) ** 0.5
    echo(f"{period:.1f} s")
    return {"period": period}
