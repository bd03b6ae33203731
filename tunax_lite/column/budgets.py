"""Budgets of a step: effects of every term on heat, salt, tracers, momentum and kinetic energy.

    d(V Y)/dt = sum of rates over the terms,            K = rho_0 sum of V (u² + v²) / 2
    dK/dt = rho_0 sum of U_m d(V U)/dt,                 U_m = (U_before + U_after) / 2

for cells of volume V per surface area. Rates are those of the solved equations, with new values where
a term is implicit, so that their sum is the change of content to round-off, whatever the time step. With U_m,
the change of kinetic energy is exactly the sum of the work of the terms.

Mixing, non-local fluxes and plumes only redistribute, and sum to zero over the column: its budget omits them,
except the mixing of momentum, which converts energy of the mean flow into turbulence.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import jax.numpy as jnp

from .._types import CenterArray, InnerFaceArray, Scalar, ScalarLike
from .case import Case
from .grid import Grid
from .model import Stepped
from .state import State
from .terms import AbstractTerm, Column, Tendency
from .trajectory import Restart
from .transport import Group, Solved, fraction_within_range, sum_of_all

MIXING = "mixing"
"""Down-gradient mixing with the eddy coefficients of the closure and the molecular coefficients."""
STORAGE = "storage"
"""Rate of change of a content: the sum of its terms."""
MOVING_CELLS = "moving_cells"
"""Gain and loss of content of cells whose faces move, with the water level, through the water."""
ICE = "ice"


class Rate(NamedTuple):
    """Effect of a term on one quantity in a step.

    Args:
        term: name of the term.
        quantity: `u`, `v`, `temperature`, `salinity` or a tracer.
        cells: change of the content of the cells [unit m s-1].
        before, after: values of the quantity before and after the term acts; the work uses their mean.
        redistributes: whether the term only moves the quantity from cell to cell.
        volume: volume of the cells when the term acts [m]; `None` for the volume at the end of the step.
    """

    term: str
    quantity: str
    cells: CenterArray
    before: CenterArray
    after: CenterArray
    redistributes: bool = False
    volume: CenterArray | None = None


class StepBudget(NamedTuple):
    """The budgets of one step.

    Args:
        rates: rates of all terms and quantities.
        volume: volume of the cells at the end of the step, per surface area [m].
        area: surface area relative to the area at rest [1].
        storage: rate of change of column content by quantity [unit m s-1]; of kinetic energy by "" [m3 s-3].
        moving_energy: change of kinetic energy by moving faces [m3 s-3]; `None` if faces are fixed.
        diluting: changes of values, but not of contents, of cells that grow or shrink with a lake level.
    """

    rates: list[Rate]
    volume: CenterArray
    area: ScalarLike
    storage: dict[str, Scalar]
    moving_energy: Scalar | None
    diluting: list[Rate]

    @classmethod
    def of(cls, stepped: Stepped, start: Restart, case: Case, dt: ScalarLike) -> "StepBudget":
        """Compute the budgets of a step of `dt` [s]."""
        column = stepped.transported.solved[0].column
        at_start = case.placed(start.state, start.step.astype(column.grid.z_face.dtype) * dt).grid
        volume, old_volume = column.grid.cell_volume, at_start.cell_volume
        area: ScalarLike = 1.0
        if column.level is not None and column.grid.area is not None and case.grid.area is not None:
            old_volume, area = column.level.volume_before, column.grid.area[-1] / case.grid.area[-1]
        rates, energy, diluting = list[Rate](), list[Scalar](), list[Rate]()
        if column.level is None and at_start.z_face is not case.grid.z_face:
            # The water keeps its values while all cells stretch or shrink.
            change = (volume - old_volume) / dt
            for name, values in quantities(start.state).items():
                rates.append(Rate(MOVING_CELLS, name, change * values, values, values))
            energy.append(-0.5 * jnp.sum(change * _squared(start.state), axis=0))
        rates += _of_stages(stepped, start.state, volume if column.level is None else old_volume, dt)
        for solved in stepped.transported.solved:
            rates += _of_solved(solved, stepped.case)
        rates += _of_velocity(stepped, dt)
        rates += _of_reactions(stepped, volume, dt)
        if column.level is not None:
            old = column.advected
            # (V u² - V_0 u_0²) / 2 = (u + u_0) (V u - V_0 u_0) / 2 - u u_0 (V - V_0) / 2
            product = old.u * _solution(stepped, "u") + old.v * _solution(stepped, "v")
            energy.append(-0.5 * jnp.sum((volume - old_volume) * product, axis=0) / dt)
            for name, values in quantities(old).items():
                cells = (old_volume - volume) * values / dt
                diluting.append(Rate(MOVING_CELLS, name, cells, values, values))
        ends = quantities(start.state), quantities(stepped.state)
        storage = {
            name: jnp.sum(volume * ends[1][name] - old_volume * old, axis=0) for name, old in ends[0].items()
        }
        kinetic = 0.5 * jnp.sum(volume * _squared(stepped.state) - old_volume * _squared(start.state), axis=0)
        storage = {name: change / dt for name, change in (storage | {"": kinetic}).items()}
        return cls(rates, volume, area, storage, sum_of_all(energy), diluting)

    def contents(self, quantity: str) -> dict[str, Scalar]:
        """Rate of change of the content of the column by term, and in total (`storage`) [unit m s-1]."""
        sums: dict[str, Scalar] = {}
        for rate in self.rates:
            if rate.quantity == quantity and not rate.redistributes:
                _add(sums, rate.term, jnp.sum(rate.cells, axis=0))
        return {name: self.area * rate for name, rate in (sums | {STORAGE: self.storage[quantity]}).items()}

    def energy(self) -> dict[str, Scalar]:
        """Rate of change of kinetic energy divided by density [m3 s-3], by term and in total (`storage`)."""
        sums: dict[str, Scalar] = {}
        for rate in self.rates:
            if rate.quantity in ("u", "v"):
                _add(sums, rate.term, jnp.sum(0.5 * (rate.before + rate.after) * rate.cells, axis=0))
        if self.moving_energy is not None:
            _add(sums, MOVING_CELLS, self.moving_energy)
        return {name: self.area * rate for name, rate in (sums | {STORAGE: self.storage[""]}).items()}

    def tendencies(self, quantity: str) -> dict[str, CenterArray]:
        """Rate of change of a quantity by term [unit s-1], on cells."""
        sums: dict[str, CenterArray] = {}
        for rate in (*self.rates, *self.diluting):
            # Moving faces change values only with a lake level: a surface elevation stretches cells of water.
            if rate.quantity == quantity and (rate.term != MOVING_CELLS or self.diluting):
                _add(sums, rate.term, rate.cells / (self.volume if rate.volume is None else rate.volume))
        return sums


def quantities(state: State) -> dict[str, CenterArray]:
    """Return the quantities that have a budget, by name."""
    values = {"temperature": state.temperature, "salinity": state.salinity, "u": state.u, "v": state.v}
    return values | state.tracers


def budget_name(term: AbstractTerm, case: Case) -> str:
    """Name of a term in budgets: its name in the case, or that of its class, such as `bottom_friction`."""
    label = next((name for name, named_term in case.terms.items() if named_term is term), type(term).__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", label).lower()


def _squared(state: State) -> CenterArray:
    return state.u * state.u + state.v * state.v


def _add(sums: dict, name: str, values: CenterArray | Scalar) -> None:
    sums[name] = values if name not in sums else sums[name] + values


def _solution(stepped: Stepped, name: str) -> CenterArray:
    """Values of a quantity that solve the equations of transport."""
    return next(solved.new[name] for solved in stepped.transported.solved if name in solved.new)


def _changes(name: str, before: State, after: State, volume: CenterArray, dt: ScalarLike) -> Iterator[Rate]:
    """Yield the effects of a term that replaces a state; identical objects mean no effect."""
    ends = quantities(before), quantities(after)
    for quantity, old in ends[0].items():
        new = ends[1].get(quantity, old)
        if new is not old:
            yield Rate(name, quantity, volume * (new - old) / dt, old, new, volume=volume)


def _of_stages(stepped: Stepped, state: State, volume: CenterArray, dt: ScalarLike) -> Iterator[Rate]:
    """Yield the effects of ice and terms before the equations of transport are solved."""
    for term, after in (*stepped.before_transport, *stepped.after_advection):
        name = ICE if term is None else budget_name(term, stepped.case)
        yield from _changes(name, state, after, volume, dt)
        state = after


def _of_velocity(stepped: Stepped, dt: ScalarLike) -> Iterator[Rate]:
    """Yield the effects of terms that change the velocity after the equations are solved."""
    transported = stepped.transported
    column = transported.solved[-1].column
    u, v = _solution(stepped, "u"), _solution(stepped, "v")
    for term, _ in stepped.after_advection:
        changed = term.after_velocity(u, v, column)
        for name, old, new in (("u", u, changed[0]), ("v", v, changed[1])):
            if new is not old:
                cells = column.grid.cell_volume * (new - old) / dt
                yield Rate(budget_name(term, stepped.case), name, cells, old, new)
        u, v = changed


def _of_reactions(stepped: Stepped, volume: CenterArray, dt: ScalarLike) -> Iterator[Rate]:
    """Yield the effects of reactions after the transport."""
    state = stepped.transported.state
    for term, after in stepped.after_reactions:
        assert term is not None  # `None` stands for ice, which acts before the transport
        yield from _changes(budget_name(term, stepped.case), state, after, volume, dt)
        state = after


def _of_solved(solved: Solved, case: Case) -> Iterator[Rate]:
    """Yield the effects of mixing and of the terms in the equations of transport."""
    for group in solved.groups:
        for quantity in group.values:
            old, new = group.values[quantity].complete, solved.new[quantity]
            complete, down = solved.solutions[quantity]
            fraction = 1.0 if down is None else fraction_within_range(complete, down, old)
            for term, part in group.parts[quantity]:
                cells = _content_change(part, solved.column, new, fraction)
                moves_only = all(x is None for x in (part.cells, part.surface, part.bottom, part.loss_rate))
                yield Rate(budget_name(term, case), quantity, cells, old, new, moves_only)
            cells = _convergence(_mixing(group, solved.column.grid, old, new, solved.theta))
            yield Rate(MIXING, quantity, cells, old, new, True)


def _mixing(group: Group, grid: Grid, old: CenterArray, new: CenterArray, theta: float) -> InnerFaceArray:
    """Downward flux by mixing [unit m s-1]."""
    change = new[1:] - new[:-1]
    if theta != 1.0:
        change = theta * change + (1.0 - theta) * (old[1:] - old[:-1])
    return group.conductance(grid) * change


def _convergence(downward: InnerFaceArray) -> CenterArray:
    zero = jnp.zeros_like(downward[:1])
    return jnp.concatenate([downward, zero]) - jnp.concatenate([zero, downward])


def _content_change(part: Tendency, column: Column, new: CenterArray, fraction: ScalarLike) -> CenterArray:
    """Gain of cells [unit m s-1] by a tendency, with a fraction of its counter-gradient flux."""
    grid, rate = column.grid, jnp.zeros_like(new)
    areas, cell_area = grid.relative_area, grid.cell_area
    bottom_area, inner_areas = (1.0, 1.0) if areas is None else (areas[0], areas[1:-1])
    if part.cells is not None:
        rate = rate + (part.cells if cell_area is None else cell_area * part.cells)
    if part.bottom is not None:
        rate = rate.at[0].add(bottom_area * part.bottom)
    if part.surface is not None:
        rate = rate.at[-1].add(part.surface)
    against = None if part.against_gradient is None else fraction * part.against_gradient
    advected = None if part.carrying is None else part.carrying.between(new, part.plume_value)
    downward = sum_of_all((part.downward, against, advected))
    if downward is not None:
        rate = rate + _convergence(inner_areas * downward)
    return rate if part.loss_rate is None else rate - part.loss_rate * grid.cell_volume * new
