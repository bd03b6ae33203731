"""Check the initial pools of a case: errors about impossible ones, and notes on unlikely ones."""

import difflib
from collections.abc import Iterator, Mapping

from ..._types import CenterArray
from ...column.state import State
from ...column.terms import AbstractTerm
from .term import Biogeochemistry, below_zero


def notes_on_pools(terms: Mapping[str, AbstractTerm], state: State) -> Iterator[tuple[str, str]]:
    """Yield notes on the initial pools, each with the name of its biogeochemical term.

    Args:
        terms: terms of a case by name.
        state: initial state with the tracers of the case, before defaults fill in others.

    Raises:
        ValueError: a pool in two terms, or a negative profile of a pool that cannot be negative.
    """
    biogeochemistry = {key: term for key, term in terms.items() if isinstance(term, Biogeochemistry)}
    _check_names(biogeochemistry)
    for key, term in biogeochemistry.items():
        _check_signs(term, state.tracers)
        notes = *_notes_on_defaults(term, state.tracers), *_notes_on_names(term, state.tracers)
        yield from ((key, note) for note in notes)


def _check_names(terms: Mapping[str, Biogeochemistry]) -> None:
    owner: dict[str, str] = {}
    for key, term in terms.items():
        for name in term.pools():
            if name in owner:
                raise ValueError(
                    f"expected each pool in one term, got {name} in {owner[name]} and {key}; rename the "
                    "models of one of them, or put all models into one term."
                )
            owner[name] = key


def _check_signs(term: Biogeochemistry, pools: Mapping[str, CenterArray]) -> None:
    for name, pool in term.pools().items():
        if message := below_zero(name, pool, pools.get(name, 0.0)):
            raise ValueError(f"{message}.")


def _notes_on_defaults(term: Biogeochemistry, pools: Mapping[str, CenterArray]) -> Iterator[str]:
    defaults: dict[str, list[str]] = {}
    for name, value in term.initial_tracers().items():
        if name not in {*pools, *term.initial, *term.kept}:
            defaults.setdefault(f"{value:g} {term.pools()[name].unit}", []).append(name)
    if defaults:
        values = "; ".join(f"{', '.join(names)} from {value}" for value, names in defaults.items())
        yield (
            f"pools start from the defaults of their models, the same at all depths: {values}; give measured "
            "profiles, `tracers` of the case, or numbers in `initial` of the term"
        )


def _notes_on_names(term: Biogeochemistry, pools: Mapping[str, CenterArray]) -> Iterator[str]:
    known = [*term.initial_tracers()]
    for name in pools.keys() - set(known):
        near = difflib.get_close_matches(name, known, n=1)
        if near or any(name.startswith(f"{model}_") for model in term.models):
            hint = f"did you mean {near[0]}" if near else f"pools are {', '.join(known)}"
            yield f"the tracer {name} of the case is no pool and takes part in no exchange; {hint}"
