"""Transport of momentum, heat, salt and tracers over one step: sum the tendencies and solve.

Quantities that share a matrix (u with v; temperature with salinity and tracers, unless diffusivities or rates
of a term differ) are solved together, and all matrices side by side.
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
from ..numerics.diffusion import CarryingRates, DiffusionSystem, Sources, diffusion_system
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
        tracer_diffusivity: Scalar | None,
    ) -> "dict[str, Mixing]":
        """Return the coefficients by quantity; the name "", which no tracer can have, stands for all tracers.

        Other arguments are molecular coefficients [m2 s-1]; `None` means that of heat. Quantities with
        identical objects share a matrix.
        """
        velocity = cls(clo_state.eddy_viscosity, viscosity)
        heat = salt = tracers = cls(clo_state.eddy_diffusivity, diffusivity)
        if salt_diffusivity is not None:
            salt = salt._replace(molecular=salt_diffusivity)
        if tracer_diffusivity is not None:
            tracers = tracers._replace(molecular=tracer_diffusivity)
        return {"u": velocity, "v": velocity, "temperature": heat, "salinity": salt, "": tracers}


class Variants(NamedTuple):
    """Values, sources or solutions of a quantity: complete, and without its counter-gradient flux, if any."""

    complete: PyTree
    down_gradient: PyTree = None


class Group(NamedTuple):
    """Quantities that share a matrix: their mixing, tendencies with rates, old values and sources.

    The sources are sums of the tendencies in `parts`, which also names their terms.
    """

    mixing: Mixing
    rates: list[Tendency]
    values: dict[str, Variants]
    sources: dict[str, Variants]
    parts: dict[str, list[tuple[AbstractTerm, Tendency]]]

    def shares(self, mixing: Mixing, rates: Sequence[Tendency]) -> bool:
        """Return whether another quantity has the same matrix, by identity, because values are traced."""
        pairs = [(self.mixing.eddy, mixing.eddy), (self.mixing.molecular, mixing.molecular)]
        for rate, other in zip(self.rates, rates, strict=False):
            pairs += [(rate.loss_rate, other.loss_rate), (rate.carrying, other.carrying)]
        return len(self.rates) == len(rates) and all(first is second for first, second in pairs)

    def conductance(self, grid: Grid) -> InnerFaceArray:
        """Diffusive conductance of the inner faces, per surface area [m s-1]."""
        per_area = (inner_faces(self.mixing.eddy) + self.mixing.molecular) * reciprocal(grid.center_spacing)
        return per_area if grid.relative_area is None else grid.relative_area[1:-1] * per_area

    def system(self, column: Column, theta: float) -> DiffusionSystem:
        grid, conductance = column.grid, self.conductance(column.grid)
        source, areas, cell_areas = self.sources, grid.relative_area, grid.cell_area
        sink_rate, flow = sum_of_all(part.loss_rate for part in self.rates), _carrying_rates(self.rates)
        if areas is not None and cell_areas is not None:
            # Fluxes per surface area: a flux through a face is multiplied by its area.
            flow = None if flow is None else flow.through(areas)
            is_source = lambda part: isinstance(part, Sources)  # noqa: E731
            source = jax.tree.map(lambda part: part.through(areas, cell_areas), source, is_leaf=is_source)
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
        new: values at the end of the step by quantity; counter-gradient fluxes create no new extrema.
        theta: weight of the new values in the diffusive fluxes [1].
    """

    column: Column
    groups: Sequence[Group]
    solutions: dict[str, Variants]
    new: dict[str, CenterArray]
    theta: float


class Transported(NamedTuple):
    """State at the end of a step, and the solved equations in the order of their solution."""

    state: State
    solved: tuple[Solved, ...]


class Equations(NamedTuple):
    """The equations of transport in a step; the discretisation decides the order of their solution.

    Args:
        column: column after vertical advection, with the newest known velocity.
        terms: terms, in the order in which tendencies are summed.
        mixing: coefficients by quantity.
        theta: weight of the new values in the diffusive fluxes [1].
        method: solver of tridiagonal systems.
        held: quantities that keep their values.
        owners: terms by the names of their own tracers, which nothing else changes.
        after_advection: states after the vertical advection by each term.

    Raises:
        ValueError: in a step, a term that acts on an unknown quantity, or two terms with plumes.
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
        """Apply vertical advection to a column, and set up its equations."""
        owners = {name: term for term in terms for name in term.own_tracers()}
        advected, stages = column.state, []
        for term in terms:
            column = column._replace(advected=advected)
            advected = term.advect(column)
            stages.append((term, advected))
        tracers = advected.tracers | {k: x for k, x in column.state.tracers.items() if k in owners}
        advected = State(advected.u, advected.v, advected.temperature, advected.salinity, tracers)
        held = tuple(name for term in terms for name in term.held())
        column = column._replace(advected=advected, velocity=(advected.u, advected.v))
        return cls(column, terms, mixing, theta, method, held, owners, stages)

    def with_velocity(self, u: CenterArray, v: CenterArray) -> "Equations":
        """Set the newest known velocity."""
        return self._replace(column=self.column._replace(velocity=(u, v)))

    def of_velocity(self, *names: str) -> list[Group]:
        """Groups of the equations of `u` and `v`, or of one of them."""
        known = {"u": self.column.advected.u, "v": self.column.advected.v}
        tendencies = [(term, term.on_velocity(self.column)) for term in self.terms]
        return self._groups({name: known[name] for name in names}, known, tendencies)

    def of_scalars(self) -> list[Group]:
        """Groups of the equations of temperature, salinity and tracers that are not held."""
        advected = self.column.advected
        known = {"temperature": advected.temperature, "salinity": advected.salinity, **advected.tracers}
        tendencies = [(term, term.on_scalars(self.column)) for term in self.terms]
        return self._groups({k: known[k] for k in known if k not in self.held}, known, tendencies)

    def _groups(
        self,
        values: dict[str, CenterArray],
        known: Collection[str],
        tendencies: Sequence[tuple[AbstractTerm, dict[str, Tendency]]],
    ) -> list[Group]:
        """Collect quantities and tendencies in as few groups as rates and coefficients allow."""
        for term, by_quantity in tendencies:
            if unknown := by_quantity.keys() - set(known):
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
            if owner is not None:  # nothing mixes the tracer of a term
                mixing = Mixing(0.0 * mixing.eddy, 0.0)
            rates = [part for part in parts if part.loss_rate is not None or part.carrying is not None]
            group = next((group for group in groups if group.shares(mixing, rates)), None)
            if group is None:
                group = Group(mixing, rates, {}, {}, {})
                groups.append(group)
            group.parts[name] = acting
            if any(part.against_gradient is not None for part in parts):
                down_gradient = [part._replace(against_gradient=None) for part in parts]
                group.values[name] = Variants(value, value)
                group.sources[name] = Variants(_sources(parts), _sources(down_gradient))
            else:
                group.values[name], group.sources[name] = Variants(value), Variants(_sources(parts))
        return groups

    def solve(self, groups: Sequence[Group]) -> Solved:
        """Solve the equations of groups, with their matrices side by side."""
        if not groups:
            return Solved(self.column, (), {}, {}, self.theta)
        systems = [group.system(self.column, self.theta) for group in groups]
        solution = solve_tridiagonal_systems(
            tuple(system.matrix for system in systems),
            tuple(system.rhs for system in systems),
            self.method,
            # Solve for the change: constant salinity stays exactly constant, and round-off stays small.
            guess=tuple(group.values for group in groups),
            residual=tuple(system.residual for system in systems),
            sinking=tuple(system.sinking for system in systems),
        )
        old = {name: pair.complete for group in groups for name, pair in group.values.items()}
        solutions = {name: pair for group in solution for name, pair in group.items()}
        new = {
            name: complete if down is None else _within_range(complete, down, old[name])
            for name, (complete, down) in solutions.items()
        }
        return Solved(self.column, groups, solutions, new, self.theta)

    def adjusted(self, u: CenterArray, v: CenterArray) -> tuple[CenterArray, CenterArray]:
        """Let terms adjust the new velocity, such as to a prescribed mean."""
        for term in self.terms:
            u, v = term.after_velocity(u, v, self.column)
        return u, v

    def end(self, u: CenterArray, v: CenterArray, scalars: dict[str, CenterArray]) -> State:
        """Assemble the state at the end of the step."""
        new = {name: getattr(self.column.state, name) for name in self.held} | scalars
        tracers = {name: new[name] for name in self.column.advected.tracers}
        return State(u, v, new["temperature"], new["salinity"], tracers)


def sum_of_all(parts: Iterable[PyTree]) -> PyTree:
    """Sum of the values that are not `None`, in order; `None` if there are none."""
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.add, known) if known else None


def _sources(parts: Sequence[Tendency]) -> Sources:
    """Sum the tendencies of all terms for one quantity."""
    plumes = [part for part in parts if part.plume_value is not None]
    if len(plumes) > 1:
        raise ValueError("transport: expected at most one term with plumes, got two.")
    rising = [part for part in parts if part.carrying is not None and part.carrying.upward is not None]
    plume_rate = None
    if plumes and plumes[0].carrying is not None and len(rising) > 1:
        # Streams also lift water: only the water that plumes lift is exchanged with sinking plumes.
        plume_rate = plumes[0].carrying.upward
    return Sources(
        volumes=sum_of_all(part.cells for part in parts),
        bottom=sum_of_all(part.bottom for part in parts),
        surface=sum_of_all(part.surface for part in parts),
        plume_value=plumes[0].plume_value if plumes else None,
        downward=sum_of_all(flux for part in parts for flux in (part.downward, part.against_gradient)),
        plume_rate=plume_rate,
    )


def _carrying_rates(parts: Sequence[Tendency]) -> CarryingRates | None:
    rates = [part.carrying for part in parts if part.carrying is not None]
    if not rates:
        return None
    return CarryingRates(
        upward=sum_of_all(rate.upward for rate in rates), downward=sum_of_all(rate.downward for rate in rates)
    )


def _within_range(new: CenterArray, down_gradient: CenterArray, old: CenterArray) -> CenterArray:
    """Scale the counter-gradient flux down, so that new values stay within the range of the others."""
    fraction = fraction_within_range(new, down_gradient, old)
    return jnp.where(fraction < 1.0, down_gradient + fraction * (new - down_gradient), new)


def fraction_within_range(new: CenterArray, down_gradient: CenterArray, old: CenterArray) -> Scalar:
    """Fraction of the counter-gradient flux that acts [1].

    New values stay within the range of old values and of new values without the flux. One factor per column
    conserves content.
    """
    highest = jnp.maximum(jnp.max(old, axis=0), jnp.max(down_gradient, axis=0))
    lowest = jnp.minimum(jnp.min(old, axis=0), jnp.min(down_gradient, axis=0))
    change = new - down_gradient
    allowed = jnp.where(change > 0.0, highest - down_gradient, down_gradient - lowest)
    exceeds = (new > highest) | (new < lowest)
    fraction = jnp.where(exceeds, allowed * reciprocal(jnp.where(exceeds, jnp.abs(change), 1.0)), 1.0)
    return jnp.min(fraction, axis=0)
