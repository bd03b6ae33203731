"""Transport of momentum, heat, salt and tracers over one step: sum the tendencies and solve.

Quantities that share a matrix (u with v; temperature with salinity and tracers, unless a term gives one of
them its own rate) are solved together, and all matrices side by side.
"""

import functools
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ..closures.base import AbstractCloState
from ..numerics.diffusion import Added, CarryingRates, DiffusionSystem, diffusion_system
from ..numerics.elementary import inner_faces, reciprocal
from ..numerics.tridiagonal import AbstractTridiagonalMethod, solve_tridiagonal_systems
from .grid import Grid
from .state import State
from .terms import AbstractTerm, Column, Tendency


class Mixing(NamedTuple):
    """Down-gradient mixing: an eddy coefficient on faces plus a molecular one [m2 s-1]."""

    eddy: FaceArray
    molecular: ScalarLike

    @classmethod
    def of_quantities(
        cls,
        clo_state: AbstractCloState,
        viscosity: Scalar,
        diffusivity: Scalar,
        salt_diffusivity: Scalar | None,
        tracer_diffusivity: Scalar | None = None,
    ) -> "dict[str, Mixing]":
        """Total coefficients by quantity; "" stands for all others. Equal objects share a matrix.

        Molecular coefficients [m2 s-1] are added. By default salinity and tracers share that of heat, and its
        matrix.
        """
        velocity = cls(clo_state.eddy_viscosity, viscosity)
        heat = salt = tracers = cls(clo_state.eddy_diffusivity, diffusivity)
        of_salt = clo_state.salt_diffusivity()
        if of_salt is not None:
            salt = salt._replace(eddy=of_salt)
        if salt_diffusivity is not None:
            salt = salt._replace(molecular=salt_diffusivity)
        if tracer_diffusivity is not None:
            tracers = tracers._replace(molecular=tracer_diffusivity)
        return {"u": velocity, "v": velocity, "temperature": heat, "salinity": salt, "": tracers}


class Solutions(NamedTuple):
    """Values or sources of a quantity; with a counter-gradient flux, also without that flux."""

    complete: PyTree
    down_gradient: PyTree = None


class Group(NamedTuple):
    """Quantities that share a matrix: their mixing, the rates of their tendencies, values and sources.

    The sources are sums of the tendencies of the terms in `parts`.
    """

    mixing: Mixing
    rates: list[Tendency]
    values: dict[str, Solutions]
    sources: dict[str, Solutions]
    parts: dict[str, list[tuple[AbstractTerm, Tendency]]]

    def shares(self, mixing: Mixing, rates: Sequence[Tendency]) -> bool:
        """Return whether the same objects enter the matrix of another quantity; their values are traced."""
        pairs = [(self.mixing.eddy, mixing.eddy), (self.mixing.molecular, mixing.molecular)]
        for rate, other in zip(self.rates, rates, strict=False):
            pairs += [(rate.loss_rate, other.loss_rate), (rate.carrying, other.carrying)]
        return len(self.rates) == len(rates) and all(first is second for first, second in pairs)

    def conductance(self, grid: Grid) -> InnerFaceArray:
        """Conductance of the inner faces, per surface area [m s-1]."""
        per_area = (inner_faces(self.mixing.eddy) + self.mixing.molecular) * reciprocal(grid.center_spacing)
        return per_area if grid.relative_area is None else grid.relative_area[1:-1] * per_area

    def system(self, column: Column, theta: float) -> DiffusionSystem:
        grid, conductance = column.grid, self.conductance(column.grid)
        source, areas, mean_areas = self.sources, grid.relative_area, grid.cell_area
        sink_rate, flow = sum_of_all(part.loss_rate for part in self.rates), _carrying(self.rates)
        if areas is not None and mean_areas is not None:
            # Fluxes per surface area: a flux through a face is multiplied by its area.
            flow = None if flow is None else flow.through(areas)
            is_source = lambda part: isinstance(part, Added)  # noqa: E731
            source = jax.tree.map(lambda part: part.through(areas, mean_areas), source, is_leaf=is_source)
        return diffusion_system(
            self.values,
            conductance,
            grid.cell_volume,
            column.dt,
            source=source,
            sink_rate=sink_rate,
            theta=theta,
            flow=flow,
            thickness_before=None if column.level is None else column.level.volume_before,
        )


class Solved(NamedTuple):
    """Solved equations, for budgets.

    Args:
        column: input of the equations.
        groups: groups of quantities.
        solutions: solutions of the systems, by quantity.
        new: values at the end of the step, within the range of the old ones, by quantity.
        theta: weight of the new values in the diffusive fluxes [1].
    """

    column: Column
    groups: Sequence[Group]
    solutions: dict[str, Solutions]
    new: dict[str, CenterArray]
    theta: float


class Transported(NamedTuple):
    """The end of a step, and the equations that it solves, in their order."""

    state: State
    solved: tuple[Solved, ...]


class Equations(NamedTuple):
    """The equations of transport in a step, which a discretisation solves in its order.

    Args:
        column: after vertical advection, with the newest known velocity.
        terms: terms in order of summation.
        mixing: coefficients by quantity.
        theta: weight of the new values in the diffusive fluxes [1].
        method: method of the solution.
        held: quantities that keep their values.
        owners: terms by the names of the tracers that belong to them.
        after_advection: states after the vertical advection by each term.

    Raises:
        ValueError: a term that acts on an unknown quantity, or two terms with `sinking`.
    """

    column: Column
    terms: Sequence[AbstractTerm]
    mixing: dict[str, Mixing]
    theta: float
    method: AbstractTridiagonalMethod
    held: tuple[str, ...]
    owners: dict[str, AbstractTerm]
    after_advection: Sequence[tuple[AbstractTerm, State]]

    @classmethod
    def of(
        cls,
        column: Column,
        terms: Sequence[AbstractTerm],
        mixing: dict[str, Mixing],
        theta: float,
        method: AbstractTridiagonalMethod,
    ) -> "Equations":
        """The equations of a column, after vertical advection."""
        owners = {name: term for term in terms for name in term.own_tracers()}
        carried, stages = column.state, []
        for term in terms:
            column = column._replace(carried=carried)
            carried = term.carry(column)
            stages.append((term, carried))
        tracers = carried.tracers | {k: of for k, of in column.state.tracers.items() if k in owners}
        carried = State(carried.u, carried.v, carried.temperature, carried.salinity, tracers)
        held = tuple(name for term in terms for name in term.held())
        column = column._replace(carried=carried, velocity=(carried.u, carried.v))
        return cls(column, terms, mixing, theta, method, held, owners, stages)

    def moving(self, u: CenterArray, v: CenterArray) -> "Equations":
        """The equations with the newest known velocity."""
        return self._replace(column=self.column._replace(velocity=(u, v)))

    def of_velocity(self, *names: str) -> list[Group]:
        """The equations of `u` and `v`, or of one of them."""
        known = {"u": self.column.carried.u, "v": self.column.carried.v}
        tendencies = [(term, term.on_velocity(self.column)) for term in self.terms]
        return self._groups({name: known[name] for name in names}, known, tendencies)

    def of_scalars(self) -> list[Group]:
        """The equations of temperature, salinity and tracers that are not held."""
        carried = self.column.carried
        known = {"temperature": carried.temperature, "salinity": carried.salinity, **carried.tracers}
        tendencies = [(term, term.on_scalars(self.column)) for term in self.terms]
        return self._groups({k: known[k] for k in known if k not in self.held}, known, tendencies)

    def _groups(
        self,
        values: dict[str, CenterArray],
        known: Collection[str],
        tendencies: Sequence[tuple[AbstractTerm, dict[str, Tendency]]],
    ) -> list[Group]:
        """Quantities with their tendencies, in as few groups as rates and coefficients allow."""
        for term, of_term in tendencies:
            if unknown := of_term.keys() - set(known):
                raise ValueError(
                    f"{type(term).__name__}: expected to act on some of {', '.join(known)}, got "
                    f"{', '.join(sorted(unknown))}; give the initial state such a tracer."
                )
        groups: list[Group] = []
        for name, value in values.items():
            owner, mixing = self.owners.get(name), self.mixing.get(name, self.mixing[""])
            acting = [(term, by[name]) for term, by in tendencies if name in by]
            acting = acting if owner is None else [(term, part) for term, part in acting if term is owner]
            parts = [part for _, part in acting]
            if owner is not None:
                mixing = Mixing(0.0 * mixing.eddy, 0.0)
            rates = [part for part in parts if part.loss_rate is not None or part.carrying is not None]
            group = next((group for group in groups if group.shares(mixing, rates)), None)
            if group is None:
                group = Group(mixing, rates, {}, {}, {})
                groups.append(group)
            group.parts[name] = acting
            if any(part.against_gradient is not None for part in parts):
                down = [part._replace(against_gradient=None) for part in parts]
                group.values[name] = Solutions(value, value)
                group.sources[name] = Solutions(_added(parts), _added(down))
            else:
                group.values[name], group.sources[name] = Solutions(value), Solutions(_added(parts))
        return groups

    def solve(self, groups: Sequence[Group]) -> Solved:
        """New values of groups, whose matrices are solved side by side."""
        if not groups:
            return Solved(self.column, (), {}, {}, self.theta)
        systems = [group.system(self.column, self.theta) for group in groups]
        solution = solve_tridiagonal_systems(
            tuple(system.matrix for system in systems),
            tuple(system.rhs for system in systems),
            self.method,
            # Solve for the change: constant salinity stays exactly constant, and float32 suffices for days.
            guess=tuple(group.values for group in groups),
            residual=tuple(system.residual for system in systems),
            sinking=tuple(system.sinking for system in systems),
        )
        old = {name: both.complete for group in groups for name, both in group.values.items()}
        solutions = {name: both for group in solution for name, both in group.items()}
        new = {
            name: complete if down is None else _within_range(complete, down, old[name])
            for name, (complete, down) in solutions.items()
        }
        return Solved(self.column, groups, solutions, new, self.theta)

    def driven(self, u: CenterArray, v: CenterArray) -> tuple[CenterArray, CenterArray]:
        """The new velocity, after the terms that set it."""
        for term in self.terms:
            u, v = term.after_velocity(u, v, self.column)
        return u, v

    def end(self, u: CenterArray, v: CenterArray, scalars: dict[str, CenterArray]) -> State:
        """The state at the end of the step."""
        new = {name: getattr(self.column.state, name) for name in self.held} | scalars
        tracers = {name: new[name] for name in self.column.carried.tracers}
        return State(u, v, new["temperature"], new["salinity"], tracers)


def sum_of_all(parts: Iterable[PyTree]) -> PyTree:
    """Sum of the values that are not `None`, in order; `None` if there are none."""
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.add, known) if known else None


def _added(parts: Sequence[Tendency]) -> Added:
    """Sum of the tendencies of all terms for one quantity."""
    plumes = [part for part in parts if part.sinking is not None]
    if len(plumes) > 1:
        raise ValueError("transport: expected at most one term with plumes, got two.")
    rising = [part for part in parts if part.carrying is not None and part.carrying.upward is not None]
    exchanged = None
    if plumes and plumes[0].carrying is not None and len(rising) > 1:
        # Water that streams lift in a lake is not exchanged with plumes.
        exchanged = plumes[0].carrying.upward
    return Added(
        volumes=sum_of_all(part.cells for part in parts),
        bottom=sum_of_all(part.bottom for part in parts),
        surface=sum_of_all(part.surface for part in parts),
        sinking=plumes[0].sinking if plumes else None,
        downward=sum_of_all(of for part in parts for of in (part.downward, part.against_gradient)),
        exchanged=exchanged,
    )


def _carrying(parts: Sequence[Tendency]) -> CarryingRates | None:
    rates = [part.carrying for part in parts if part.carrying is not None]
    if not rates:
        return None
    return CarryingRates(
        upward=sum_of_all(rate.upward for rate in rates), downward=sum_of_all(rate.downward for rate in rates)
    )


def _within_range(new: CenterArray, down_gradient: CenterArray, old: CenterArray) -> CenterArray:
    """Keep new values within the range of the old ones and of those without the counter-gradient flux."""
    fraction = fraction_within_range(new, down_gradient, old)
    return jnp.where(fraction < 1.0, down_gradient + fraction * (new - down_gradient), new)


def fraction_within_range(new: CenterArray, down_gradient: CenterArray, old: CenterArray) -> Scalar:
    """Fraction of the counter-gradient flux that acts [1].

    The flux is scaled by one factor where new values would exceed the range of the old ones and of those
    without it, so that content is conserved.
    """
    highest = jnp.maximum(jnp.max(old, axis=0), jnp.max(down_gradient, axis=0))
    lowest = jnp.minimum(jnp.min(old, axis=0), jnp.min(down_gradient, axis=0))
    change = new - down_gradient
    room = jnp.where(change > 0.0, highest - down_gradient, down_gradient - lowest)
    leaves = (new > highest) | (new < lowest)
    fraction = jnp.where(leaves, room * reciprocal(jnp.where(leaves, jnp.abs(change), 1.0)), 1.0)
    return jnp.min(fraction, axis=0)
