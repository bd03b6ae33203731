"""Limits of single quantities, from the table `plausible.csv` beside that of quantities."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..quantities import QUANTITIES
from .evidence import Evidence, Samples
from .finding import RULES, Finding

STATISTICS: dict[str, Callable[[np.ndarray], Any]] = {
    "lowest": np.min,
    "highest": np.max,
    "largest": np.max,
    "mean": np.mean,
    "mean_size": lambda values: np.mean(np.abs(values)),
    "largest_size": lambda values: np.max(np.abs(values)),
}
"""Of all known values. A lower limit of a magnitude does not hold where all values are zero."""
_SIZES = ("largest", "mean_size", "largest_size")
_UNITS = {"wind_speed": "m s-1", "stress": "N m-2"}


@dataclass(frozen=True)
class Limit:
    """A row of the table; empty numbers are unbounded."""

    rule: str
    quantity: str
    group: str
    context: str
    statistic: str
    lowest: float
    highest: float
    least_days: float
    cause: str
    key: str

    @property
    def unit(self) -> str:
        name = self.quantity if self.quantity in QUANTITIES else f"surface_{self.quantity}"
        return _UNITS.get(self.quantity) or QUANTITIES[name].unit

    def find(self, one: Samples) -> Iterator[Finding]:
        """A finding if the samples exceed the limit."""
        if one.known.size == 0 or one.days < self.least_days:
            return
        value = float(STATISTICS[self.statistic](one.known))
        if self.statistic in _SIZES and value <= 0.0 or self.lowest <= value <= self.highest:
            return
        bounds = f"from {self.lowest:g} to {self.highest:g}"
        if not np.isfinite(self.lowest):
            bounds = f"of at most {self.highest:g}"
        elif not np.isfinite(self.highest):
            bounds = f"of at least {self.lowest:g}"
        what = {"largest_size": "a largest magnitude", "mean_size": "a mean magnitude", "mean": "a mean"}
        name = what.get(self.statistic, f"a {self.statistic} value")
        said = f"expected {name} {bounds} {self.unit}, got {value:.4g}"
        yield Finding(self.rule, self.quantity, one.where, said, self.cause, self.key)


def _read() -> Iterator[Limit]:
    table = (Path(__file__).parents[1] / "plausible.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        numbers = {
            "lowest": float(row["lowest"] or "-inf"),
            "highest": float(row["highest"] or "inf"),
            "least_days": float(row["least_days"]),
        }
        yield Limit(**row | numbers)  # pyright: ignore[reportArgumentType]


LIMITS = tuple(_read())
"""The table."""


def _looks(name: str) -> Callable[[Evidence], Iterator[Finding]]:
    own = [limit for limit in LIMITS if limit.rule == name]

    def look(evidence: Evidence) -> Iterator[Finding]:
        """Note values beyond the limits of the table."""
        water = "fresh" if evidence.is_fresh else "sea"
        for limit in own:
            if limit.context not in ("any", water):
                continue
            for samples in _inputs(evidence, limit):
                yield from limit.find(samples)

    return look


def _inputs(evidence: Evidence, limit: Limit) -> Iterator[Samples]:
    groups = {"weather": (evidence.weather,), "fluxes": (evidence.fluxes,)}
    for group in groups.get(limit.group, (evidence.initial, evidence.observed)):
        if limit.quantity in group:
            yield group[limit.quantity]


for _name in dict.fromkeys(limit.rule for limit in LIMITS):
    RULES[_name] = _looks(_name)
