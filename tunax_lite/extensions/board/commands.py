"""The command `board`."""

from typing import Annotated

from typer import Option

from ...cli import options
from ...cli.application import Answer, command


@command(module="command")
def board(
    config: options.Config,
    output: options.Folder = None,
    rows: Annotated[str, Option(metavar="NAME,NAME", help="Only these rows, by label.")] = "",
    enter: Annotated[
        list[str],
        Option(
            metavar="WHAT",
            help="A further row: the name of a closure, or package.module:Class. May be repeated.",
        ),
    ] = options.NONE,
    cases: Annotated[str, Option(metavar="NAME,NAME", help="Only these simulations.")] = "",
    settings: options.Settings = options.NONE,
    overwrite: options.Overwrite = False,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> Answer:
    """Rank closures by their errors on all available simulations, run in the same way.

    Writes board.json and board.md: errors with intervals over all simulations, and over those
    that were not used to choose the constants of a row.
    """
    ...
