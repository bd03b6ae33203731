"""`tunax-lite budget`: the budgets of heat, salt, tracers and kinetic energy of a run, from its file."""

from collections.abc import Iterator
from pathlib import Path

import jax

from ..io.budgets import Budget, read_budgets
from ..io.netcdf import read_netcdf
from ..io.writing import check_outputs
from . import session
from .application import Answer
from .terminal import echo


def budget(file: Path, figures: Path | None, *, overwrite: bool) -> Answer:
    """See `commands.budget`."""
    path = None if figures is None else figures / f"{file.stem}_budgets.png"
    if path is not None:
        check_outputs([path], overwrite=overwrite, inputs=[file])
    with jax.enable_x64(True):  # otherwise double precision would be lost on reading
        budgets = read_budgets(file)
    for one in budgets:
        for line in _lines(one):
            echo(line)
    if path is not None:
        # Slow imports, only where needed.
        from ..plotting import in_words, plot_budgets, save_figure

        about = read_netcdf(file, only=()).attrs
        title = in_words(str(about.get("tunax_lite_case") or file.stem))
        start_time = str(about.get("start_time", "")) or None
        save_figure(plot_budgets(budgets, title, start_time=start_time), path)
        session.report_written([path])
    return {"budgets": [_answer(one) for one in budgets]}


def _lines(budget: Budget) -> Iterator[str]:
    days = (budget.until[-1] - budget.since[0]) / 86400.0
    intervals = f"mean over {days:.4g} days, {len(budget.since)} intervals"
    yield f"{budget.label} of the column: {intervals} [{budget.unit}]"
    rows = {term.replace("_", " "): budget.mean(of) for term, of in budget.terms.items()}
    rows |= {"sum of the terms": sum(rows.values()), "change of the content": budget.mean(budget.change)}
    width = max(map(len, rows))
    for term, mean in rows.items():
        yield f"  {term:{width}}  {mean:+.6e}"
    largest = float(abs(budget.residual).max())
    state = "closed" if budget.is_closed else "not closed"
    yield (
        f"  {'residual':{width}}  {budget.mean(budget.residual):+.1e}, at most {largest:.1e} in an interval: "
        f"{state}, rounding allows {float(budget.rounding.max()):.1e}"
    )
    for note in budget.notes:
        yield f"  note: {note}"


def _answer(budget: Budget) -> Answer:
    return {
        "name": budget.name,
        "unit": budget.unit,
        "terms": {term: budget.mean(of) for term, of in budget.terms.items()},
        "change": budget.mean(budget.change),
        "residual": budget.mean(budget.residual),
        "largest_residual": float(abs(budget.residual).max()),
        "rounding": float(budget.rounding.max()),
        "closed": budget.is_closed,
        "notes": list(budget.notes),
    }
