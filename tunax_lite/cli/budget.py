"""`tunax-lite budget`: the budgets of heat, salt, tracers and kinetic energy of a run, from its file."""

from pathlib import Path

import jax

from ..io.runs import Budget, read_budgets
from . import session
from .application import Answer
from .terminal import print_table


def budget(file: Path) -> Answer:
    """See `commands.budget`."""
    with jax.enable_x64(True):  # keeps double precision on reading
        budgets = read_budgets(file)
    for each in budgets:
        _print(each)
    return {"budgets": [_answer(each) for each in budgets]}


def _print(budget: Budget) -> None:
    days = (budget.until[-1] - budget.since[0]) / 86400.0
    means = {term.replace("_", " "): budget.mean(rates) for term, rates in budget.terms.items()}
    means |= {"sum of the terms": sum(means.values()), "change of the content": budget.mean(budget.change)}
    title = f"{budget.label} of the column: mean over {days:.4g} days, {len(budget.since)} intervals"
    rows = [(term, f"{mean:+.6e}") for term, mean in means.items()]
    rows.append(("residual", f"{budget.mean(budget.residual):+.1e}"))
    state, largest = "closed" if budget.is_closed else "not closed", float(abs(budget.residual).max())
    bound = f"at most {largest:.1e} in an interval; rounding allows {float(budget.rounding.max()):.1e}"
    print_table(("term", budget.unit), rows, title, f"{budget.label}: {state}, residual {bound}")
    session.say_notes(budget.notes)


def _answer(budget: Budget) -> Answer:
    return {
        "name": budget.name,
        "unit": budget.unit,
        "terms": {term: budget.mean(rates) for term, rates in budget.terms.items()},
        "change": budget.mean(budget.change),
        "residual": budget.mean(budget.residual),
        "largest_residual": float(abs(budget.residual).max()),
        "rounding": float(budget.rounding.max()),
        "closed": budget.is_closed,
        "notes": list(budget.notes),
    }
