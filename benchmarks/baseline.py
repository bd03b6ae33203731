"""Compare a run of the benchmarks with a stored one, each measured by the ceilings of its own machine."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .targets import FIGURES

Row = Mapping[str, Any]
BASELINE = Path(__file__).with_name("baseline.json")
TOLERANCE = 1.3
"""A figure that became worse by more than this factor is flagged."""


class Change(NamedTuple):
    """How a figure changed.

    Args:
        name: of the figure.
        before, now: its values.
        factor: by which it became worse, the difference of the machines taken out.
    """

    name: str
    before: float
    now: float
    factor: float

    @property
    def is_worse(self) -> bool:
        return self.factor > TOLERANCE


def compare(report: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[Change]:
    """Changes of all figures that both reports hold.

    Args:
        report, baseline: with `figures` and `ceilings`. A time is divided by that of its ceiling in the same
            report, so that a slower machine is not taken for slower code.
    """
    changes = []
    for name, figure in FIGURES.items():
        now, before = report["figures"].get(name), baseline["figures"].get(name)
        if not now or not before:
            continue
        factor = before / now if figure.higher_is_better else now / before
        if figure.ceiling is not None:
            factor *= baseline["ceilings"][figure.ceiling] / report["ceilings"][figure.ceiling]
        changes.append(Change(name, before, now, factor))
    return changes


def read_report(path: Path) -> dict[str, Any]:
    """A stored report.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a report of the whole suite.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such report; `python -m benchmarks --json {path}` makes one.")
    report = json.loads(path.read_text(encoding="utf-8"))
    missing = [key for key in ("about", "ceilings", "figures", "tables") if key not in report]
    if missing:
        raise ValueError(
            f"{path}: expected a report of the whole suite, but it lacks {', '.join(missing)}; make one "
            "without --quick."
        )
    return report


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Store as JSON; a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    os.replace(temporary, path)
