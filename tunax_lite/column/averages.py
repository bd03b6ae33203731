"""Means over the steps between frames: diagnostics, and effects of terms on heat, salt, tracers and momentum.

The effects are named heat_budget_TERM [W m-2], salt_budget_TERM [kg m-2 s-1], kinetic_energy_budget_TERM
[W m-2] and TRACER_budget_TERM [unit m s-1] for the column, where the term `storage` is the rate of change of
the content; temperature_tendency_TERM [K s-1], u_tendency_TERM [m s-2] and so on for each cell.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Scalar
from .budgets import StepBudget, quantities
from .case import Case
from .diagnostics import OF_THE_STEP, LastStep, Snapshot, diagnostic
from .model import Model, Stepped
from .trajectory import Restart

BUDGETS = "budgets"
TENDENCIES = "tendencies"
KINDS = (BUDGETS, TENDENCIES)
"""Names that request the effects of all terms: on the column, or on each cell."""

Values = dict[str, Float[Array, "..."]]


class Averaged(NamedTuple):
    """Quantities to average over the steps between frames: names of diagnostics, or of `KINDS`."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, means: bool | Sequence[str]) -> "Averaged":
        """Quantities besides the state that `means` of `simulate` requests."""
        return cls(() if isinstance(means, bool) else tuple(means))

    def check(self) -> None:
        """Raise `ValueError` for an unknown name."""
        for name in self._diagnostics:
            try:
                diagnostic(name)
            except ValueError as error:
                advice = f"; {' and '.join(KINDS)} select the effects of all terms."
                raise ValueError(str(error).removesuffix(".") + advice) from None

    @property
    def _diagnostics(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in KINDS)

    def of_step(self, model: Model, case: Case, start: Restart, stepped: Stepped, dt: Scalar) -> Values:
        """Values in one step of `dt` [s], by name."""
        end = Restart(stepped.state, stepped.clo_state, start.step + 1)
        last = (
            LastStep.of(model, start, end.state, case, dt) if OF_THE_STEP.intersection(self.names) else None
        )
        values = self._of_frame(case, end, dt, last)
        if set(KINDS).intersection(self.names):
            budget, eos = StepBudget.of(stepped, start, case, dt), case.equation_of_state
            heat, density = eos.reference_density * eos.heat_capacity, eos.reference_density
            if BUDGETS in self.names:
                scales = {"temperature": ("heat", heat), "salinity": ("salt", 1e-3 * density)}
                for quantity in ("temperature", "salinity", *end.state.tracers):
                    name, scale = scales.get(quantity, (quantity, 1.0))
                    rates = budget.contents(quantity)
                    values |= {f"{name}_budget_{term}": scale * rate for term, rate in rates.items()}
                rates = budget.energy()
                values |= {f"kinetic_energy_budget_{term}": density * rate for term, rate in rates.items()}
            if TENDENCIES in self.names:
                for quantity in quantities(end.state):
                    rates = budget.tendencies(quantity)
                    values |= {f"{quantity}_tendency_{term}": rate for term, rate in rates.items()}
        return _per_column(values, end)

    def at_start(self, model: Model, case: Case, start: Restart, dt: Scalar) -> Values:
        """Values in the first frame of a run; the effects of terms are zero."""
        shapes = eqx.filter_eval_shape(
            lambda: self.of_step(
                model, case, start, model.stepped(start.state, start.clo_state, case, 0.0 * dt, dt), dt
            )
        )
        zeros = {name: jnp.zeros(like.shape, like.dtype) for name, like in shapes.items()}
        return zeros | _per_column(self._of_frame(case, start, dt, None), start)

    def _of_frame(self, case: Case, now: Restart, dt: Scalar, last: LastStep | None) -> Values:
        """Diagnostics of a frame; those in `OF_THE_STEP` belong to the `last` step, unless it is `None`."""
        time = now.step.astype(dt.dtype) * dt
        snapshot = Snapshot(now.state, now.clo_state, time, case.placed(now.state).grid, case)
        stepped = dataclasses.replace(snapshot, last=last)
        return {
            name: diagnostic(name)(stepped if name in OF_THE_STEP else snapshot) for name in self._diagnostics
        }


def _per_column(values: Values, now: Restart) -> Values:
    """Broadcast all values to the columns of a batch."""
    zeros = jnp.zeros_like(now.state.u[-1])
    return {name: array + zeros for name, array in values.items()}
