"""`tunax-lite schema` and `tunax-lite describe`: what configurations may hold."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..config import ConfigError
from ..config.reference import KINDS, Description, describe, json_schema
from ..io import replacing
from ..io.protection import check_outputs
from .session import Debug, Overwrite, errors_as_messages


def schema(
    kind: Annotated[str, typer.Argument(help=f"Kind of configuration: {', '.join(KINDS)}.")] = "run",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.json", help="File to write; by default the screen."),
    ] = None,
    overwrite: Overwrite = False,
    debug: Debug = False,
) -> None:
    """Write the JSON Schema of a kind of configuration, with which editors complete and check."""
    with errors_as_messages(debug):
        try:
            text = json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"
        except ValueError as error:
            raise ConfigError(str(error)) from error
        if output is None:
            typer.echo(text, nl=False)
            return
        check_outputs([output], overwrite=overwrite)
        with replacing(output) as path:
            path.write_text(text, encoding="utf-8")
        typer.echo(f"wrote {output}")


def describe_name(
    name: Annotated[
        str, typer.Argument(help="A closure, a part of one, a bulk formula, a water, a method …")
    ],
    debug: Debug = False,
) -> None:
    """Show what a name in configurations stands for: parameters with unit, range, default and meaning."""
    with errors_as_messages(debug):
        try:
            found = describe(name)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        for each in found:
            _show(each)


def _show(each: Description) -> None:
    typer.echo(f"{each.name}: {each.kind.__name__}. {each.summary}")
    if each.source:
        typer.echo(f"Source: {each.source}")
    for title, rows in (
        ("parameters", [row for row in each.declared if row.is_number]),
        ("settings", [row for row in each.declared if not row.is_number]),
    ):
        if not rows:
            continue
        table = Table(box=None, pad_edge=False, title=title, title_justify="left")
        for column in ("name", "default", "unit", "range", "meaning"):
            table.add_column(column, overflow="fold", no_wrap=column == "name")
        for row in rows:
            table.add_row(row.path, row.default, row.unit, row.range, row.meaning)
        Console().print(table, markup=False)
