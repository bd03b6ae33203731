"""Limits of single quantities, from the table `plausible.csv` beside that of quantities."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..quantities import QUANTITIES
from .finding import RULES, Finding
from .inputs import Evidence, Samples

STATISTICS: dict[str, Callable[[np.ndarray], Any]] = {
    "lowest": np.min,
    "highest": np.max,
    "largest": np.max,
    "mean": np.mean,
    "mean magnitude": lambda values: np.mean(np.abs(values)),
    "largest magnitude": lambda values: np.max(np.abs(values)),
}
"""Functions of all known values of an input."""
_SIZES = ("largest", "mean magnitude", "largest magnitude")
"""Statistics whose lower limits do not hold where all values are zero."""


class Limit(NamedTuple):
    """A row of the table."""

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

    def find(self, one: Samples) -> Iterator[Finding]:
        """A finding if the samples exceed the limit."""
        if one.known.size == 0 or one.days < self.least_days:
            return
        value = float(STATISTICS[self.statistic](one.known))
        if self.statistic in _SIZES and value <= 0.0 or self.lowest <= value <= self.highest:
            return
        known = QUANTITIES.get(self.quantity) or QUANTITIES.get(f"surface_{self.quantity}")
        unit = known.unit if known else {"wind_speed": "m s-1", "stress": "N m-2"}[self.quantity]
        bound = f"at most {self.highest:g}" if value > self.highest else f"at least {self.lowest:g}"
        said = f"expected a {self.statistic} value of {bound} {unit}, got {value:.4g}"
        yield Finding(self.rule, self.quantity, one.where, said, self.cause, self.key)


def _read() -> Iterator[Limit]:
    table = (Path(__file__).parents[1] / "plausible.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        lowest, highest = float(row.pop("lowest") or "-inf"), float(row.pop("highest") or "inf")
        yield Limit(lowest=lowest, highest=highest, least_days=float(row.pop("least_days")), **row)


LIMITS = tuple(_read())
"""The table."""


def _looks(name: str) -> Callable[[Evidence], Iterator[Finding]]:
    own = [limit for limit in LIMITS if limit.rule == name]

    def look(evidence: Evidence) -> Iterator[Finding]:
        water = "fresh" if evidence.is_fresh else "sea"
        groups = {"weather": [evidence.weather], "fluxes": [evidence.fluxes]}
        for limit in own:
            if limit.context in ("any", water):
                for group in groups.get(limit.group, [evidence.initial, evidence.observed]):
                    if limit.quantity in group:
                        yield from limit.find(group[limit.quantity])

    return look


for _name in dict.fromkeys(limit.rule for limit in LIMITS):
    RULES[_name] = _looks(_name)
