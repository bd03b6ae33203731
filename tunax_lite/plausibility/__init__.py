"""Plausibility: rules for the input of a column, whatever its format.

Impossible values are errors where they are read or set (`tunax_lite.quantities`). Rules warn of values that
are possible but unlikely, with the number, the likely cause and the key that sets it right. Limits of single
quantities are rows of `plausible.csv`. Readers of files warn of names and attributes.
"""

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator

import numpy as np

from .._types import InputWarning
from ..column.case import Case
from ..column.observations import Observations
from . import rules
from .budgets import unclosed_budgets
from .inputs import Evidence, column_of, evidence_of

__all__ = [
    "InputWarning",
    "remarks",
]


def __dir__() -> list[str]:
    return __all__


_OF_FILES = ("position", "sign_of_name", "net_of_the_sun", "another_quantity")
"""Rules of readers, which know the names, attributes and positions in a file."""
_OF_INPUTS = (
    rules.coriolis_parameter,
    rules.missing_code,
    rules.water_swapped,
    rules.currents_swapped,
)
RULES = (
    *_OF_FILES,
    "heat_budget",
    "salt_budget",
    "momentum_budget",
    *(rule.__name__ for rule in _OF_INPUTS),
    *dict.fromkeys(row.rule for row in rules.LIMITS),
)
"""Names of all rules."""


def findings_of(evidence: Evidence, accept: Collection[str] = ()) -> tuple[InputWarning, ...]:
    """Return warnings of the rules that need no budget, without those of accepted rules."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # means over nothing are NaN, which limits leave out
        noted = [warning for rule in (*_OF_INPUTS, rules.limits) for warning in rule(evidence)]
    return tuple(warning for warning in noted if warning.rule not in accept)


def remarks(
    case: Case,
    observations: Observations | None = None,
    *,
    accept: Collection[str] = (),
    column: int | None = None,
) -> tuple[InputWarning, ...]:
    """Return warnings of unlikely values in a case and its observations.

    Args:
        case: one column, or a batch of which one column is checked.
        observations: profiles and series to check as well; budgets compare their profiles with the fluxes.
        accept: names of rules to leave out; unknown names have no effect.
        column: index of the column in a batch; by default the first.
    """
    case = column_of(case, column or 0)
    unclosed = (warning for warning in unclosed_budgets(case, observations) if warning.rule not in accept)
    return (*findings_of(evidence_of(case, observations), accept), *unclosed)


@contextlib.contextmanager
def recorded(show_note: Callable[[str], object] | None = None) -> Iterator[list[InputWarning]]:
    """Collect the input warnings of a block, each once; they go to `show_note` and are not displayed."""
    notes: list[InputWarning] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        show = warnings.showwarning

        def keep(message, category, filename, lineno, file=None, line=None) -> None:
            if not isinstance(message, InputWarning):
                show(message, category, filename, lineno, file, line)
            elif str(message) not in map(str, notes):
                notes.append(message)
                if show_note is not None:
                    show_note(str(message))

        warnings.showwarning = keep
        yield notes
