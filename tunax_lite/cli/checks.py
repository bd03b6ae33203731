"""The checks of a calibration on the terminal and in its folder."""

import math
from collections.abc import Sequence
from pathlib import Path

import typer

from ..calibration import CalibrationResult
from ..closures import AbstractClosure
from ..validation import CHECKS_NAME, CheckRow, checks_in_words, run_checks, write_table
from ..validation.checks import AbstractCheck


def checked(
    checks: Sequence[AbstractCheck], before: AbstractClosure, result: CalibrationResult, folder: Path
) -> list[Path]:
    """Run the checks of a calibration, say what they give, write their table and return its path."""
    path = folder / CHECKS_NAME
    if not checks:
        path.unlink(missing_ok=True)  # of an earlier configuration
        return []
    rows = run_checks(checks, before, result.closure, result.best)
    say(rows)
    write_table(path, rows)
    return [path]


def say(rows: Sequence[CheckRow]) -> None:
    """Errors before and after, and a warning where they grow too much."""
    typer.echo("checks: root mean square errors without and with the calibrated parameters")
    width = max(len(row.check) for row in rows)
    for row in rows:
        growth = f"{100.0 * row.growth:+.0f} %" if math.isfinite(row.growth) else "no number"
        typer.echo(
            f"  {row.check:{width}}  {row.variable}  {row.uncalibrated:.5g} -> {row.calibrated:.5g} "
            f"{row.unit}  {growth}"
        )
    for sentence in checks_in_words(rows):
        typer.echo(sentence, err=any(row.too_large for row in rows))
