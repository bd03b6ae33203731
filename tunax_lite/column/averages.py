"""Means over the steps between frames: diagnostics, and what terms do to heat, salt, tracers and momentum.

heat_budget_TERM [W m-2], salt_budget_TERM [kg m-2 s-1], kinetic_energy_budget_TERM [W m-2],
TRACER_budget_TERM [unit m s-1]; the term `storage` is the rate of change of the content
temperature_tendency_TERM [K s-1] and so on, on cells
"""

import dataclasses
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
"""Names that stand for the means of all terms."""

Values = dict[str, Float[Array, "..."]]


class Averaged(NamedTuple):
    """Quantities to average over the steps between frames: names of diagnostics, or of `KINDS`."""

    names: tuple[str, ...]

    def check(self) -> "Averaged":
        """Raise `ValueError` for an unknown name."""
        for name in self._diagnostics:
            try:
                diagnostic(name)
            except ValueError as error:
                advice = f"; {' and '.join(KINDS)} stand for those of all terms."
                raise ValueError(str(error).removesuffix(".") + advice) from None
        return self

    @property
    def _diagnostics(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in KINDS)

    def of_step(self, model: Model, case: Case, start: Restart, stepped: Stepped, dt: Scalar) -> Values:
        """The values of a step of `dt` [s] from a start."""
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
                    values |= {f"{name}_budget_{term}": scale * of for term, of in rates.items()}
                rates = budget.energy()
                values |= {f"kinetic_energy_budget_{term}": density * of for term, of in rates.items()}
            if TENDENCIES in self.names:
                for quantity in quantities(end.state):
                    rates = budget.tendencies(quantity)
                    values |= {f"{quantity}_tendency_{term}": of for term, of in rates.items()}
        return _of_columns(values, end)

    def at_start(self, model: Model, case: Case, start: Restart, dt: Scalar) -> Values:
        """Values of the first frame of a run; zero for terms, which have not acted yet."""
        stepped = eqx.filter_eval_shape(
            lambda: self.of_step(
                model, case, start, model.stepped(start.state, start.clo_state, case, 0.0 * dt, dt), dt
            )
        )
        zeros = {name: jnp.zeros(of.shape, of.dtype) for name, of in stepped.items()}
        return zeros | _of_columns(self._of_frame(case, start, dt, None), start)

    def _of_frame(self, case: Case, now: Restart, dt: Scalar, last: LastStep | None) -> Values:
        """Diagnostics of a frame; those in `OF_THE_STEP` are of the step before, if it is known."""
        time = now.step.astype(dt.dtype) * dt
        snapshot = Snapshot(now.state, now.clo_state, time, case.placed(now.state).grid, case)
        of_step = dataclasses.replace(snapshot, last=last)
        return {
            name: diagnostic(name)(of_step if name in OF_THE_STEP else snapshot) for name in self._diagnostics
        }


def _of_columns(values: Values, now: Restart) -> Values:
    """Broadcast all values to the columns of a batch."""
    nothing = jnp.zeros_like(now.state.u[-1])
    return {name: array + nothing for name, array in values.items()}
