"""Plausibility: one table of rules for the input of a column, whatever its format.

Impossible values are errors of whoever reads or sets them (`tunax_lite.quantities`); rules note what is
possible but unlikely, with its number, the likely cause and the key that sets it right. A rule is a function
of `Evidence`; limits of single quantities are rows of `plausible.csv`.
"""

import warnings
from collections.abc import Collection, Iterable

import numpy as np

from ..column.case import Case
from ..column.observations import Observations
from . import air, fluxes, limits, place, records, sun, water
from .finding import RULES, Finding, Gap, Position, Remark, collecting, late_records, leave
from .inputs import Evidence, Samples, evidence_of
from .limits import LIMITS
from .place import far_from
from .records import in_file, in_profiles

__all__ = [
    "remarks",
]


def __dir__() -> list[str]:
    return __all__


_MODULES = air, fluxes, limits, place, records, sun, water  # register their rules


def findings_of(
    evidence: Evidence, left: Iterable[Remark] = (), accept: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return what the rules and readers note, one finding for each rule and input, without accepted rules."""
    for name in accept:
        if name not in RULES:
            raise ValueError(f"accept: expected names of rules among {', '.join(RULES)}, got '{name}'.")
    has_sun = "shortwave_flux" in evidence.fluxes
    found: list[Finding] = []
    for one in left:
        if isinstance(one, Position):
            found.extend(far_from(one, evidence))
        elif isinstance(one, Finding):
            of_heat = one.rule == "net_of_the_sun" and one.quantity == "surface_heat_flux"
            found.extend([one] if has_sun or not of_heat else [])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of means over nothing: comparisons with NaN note nothing
        for name, look in RULES.items():
            found.extend(() if name in accept else look(evidence))
    kept: dict[tuple[str, str], Finding] = {}
    for one in found:
        if one.rule not in accept:
            kept.setdefault((one.rule, one.where), one)
    return tuple(kept.values())


def remarks(
    case: Case,
    observations: Observations | None = None,
    *,
    accept: Collection[str] = (),
    left: Iterable[Remark] = (),
    column: int | None = None,
) -> tuple[Finding, ...]:
    """What is unlikely about a case and its observations.

    Args:
        case: one column, or a batch of which one is looked at.
        observations: to compare with; also for budgets between profiles and fluxes.
        accept: names of rules to leave out.
        left: what readers remarked (`collecting`).
        column: number of the column in a batch.

    Raises:
        ValueError: an unknown rule in `accept`.
    """
    return findings_of(evidence_of(case, observations, column), left, accept)
