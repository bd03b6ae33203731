"""Transport of momentum, heat, salt and tracers over one step: sum the tendencies and solve.

Quantities that share a matrix (u with v; temperature with salinity and tracers, unless a term gives one of
them its own rate) are solved together, and all matrices side by side.
"""

import functools
import operator
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import CenterArray, FaceArray, Scalar, ScalarLike
from ..closures.base import CloState
from ..numerics.diffusion import Added, CarryingRates, DiffusionSystem, diffusion_system
from ..numerics.elementary import reciprocal
from ..numerics.tridiagonal import solve_tridiagonal_systems
from ..numerics.tridiagonal_methods import AbstractTridiagonalMethod
from .state import State
from .terms import AbstractTerm, Column, Tendency

_DOWN_GRADIENT = " down its gradient"
"""Behind the name of a quantity: what it would be without fluxes against the gradient."""


class Mixing(NamedTuple):
    """Down-gradient mixing: an eddy coefficient on faces plus a molecular one [m2 s-1]."""

    eddy: FaceArray
    molecular: ScalarLike

    @classmethod
    def of_quantities(
        cls, clo_state: CloState, viscosity: Scalar, diffusivity: Scalar, salt_diffusivity: Scalar | None
    ) -> "dict[str, Mixing]":
        """Total coefficients by quantity; "" stands for all others. Equal objects share a matrix.

        Molecular coefficients [m2 s-1] are added; salinity uses that of heat, and its matrix, unless it has
        its own.
        """
        velocity = cls(clo_state.eddy_viscosity, viscosity)
        scalars = salt = cls(clo_state.eddy_diffusivity, diffusivity)
        of_salt = clo_state.salt_diffusivity()
        if of_salt is not None:
            salt = salt._replace(eddy=of_salt)
        if salt_diffusivity is not None:
            salt = salt._replace(molecular=salt_diffusivity)
        return {"u": velocity, "v": velocity, "salinity": salt, "": scalars}


class Solver(NamedTuple):
    """Options of the solution.

    With `in_turn`, as in GOTM, u, v and the scalars are solved one after another: bottom drag on v uses the
    new u, and horizontal advection uses the new velocity.
    """

    theta: float  # weight of the new values in the diffusive fluxes
    in_turn: bool
    method: AbstractTridiagonalMethod


class Group(NamedTuple):
    """Quantities that share a matrix: their mixing, values and tendencies."""

    mixing: Mixing
    values: dict[str, CenterArray]
    tendencies: dict[str, list[Tendency]]

    def system(self, column: Column, theta: float) -> DiffusionSystem:
        grid = column.grid
        parts = next(iter(self.tendencies.values()))  # all have the same rates
        conductance = (self.mixing.eddy[1:-1] + self.mixing.molecular) * reciprocal(grid.center_spacing)
        volume = grid.cell_volume
        source = {name: _added(of) for name, of in self.tendencies.items()}
        sink_rate, flow = sum_of_all(part.loss_rate for part in parts), _carrying(parts)
        areas, own = grid.relative_area, grid.cell_area
        if areas is not None and own is not None:
            # Fluxes per surface area: a flux through a face is multiplied by its area.
            conductance, flow = areas[1:-1] * conductance, None if flow is None else flow.through(areas)
            source = {name: of.through(areas, own) for name, of in source.items()}
        before = None if column.level is None else column.level.volume_before
        added = {"source": source, "sink_rate": sink_rate, "flow": flow, "thickness_before": before}
        return diffusion_system(self.values, conductance, volume, column.dt, theta=theta, **added)


def transport(
    column: Column,
    terms: Sequence[AbstractTerm],
    mixing: dict[str, Mixing],
    held: Sequence[str],
    solver: Solver,
) -> State:
    """State after a step from a column; quantities that are held stay unchanged.

    Raises:
        ValueError: a term that acts on an unknown quantity, or two terms with `sinking`.
    """
    own = {name: term for term in terms for name in term.own_tracers()}
    carried = column.state
    for term in terms:
        column = column._replace(carried=carried)
        carried = term.carry(column)
    tracers = carried.tracers | {name: of for name, of in column.state.tracers.items() if name in own}
    carried = State(carried.u, carried.v, carried.temperature, carried.salinity, tracers)
    start = column.velocity
    column = column._replace(carried=carried, velocity=(carried.u, carried.v))
    velocity = {"u": carried.u, "v": carried.v}
    scalars = {"temperature": carried.temperature, "salinity": carried.salinity, **tracers}
    scalars = {name: values for name, values in scalars.items() if name not in held}

    def of_velocity(column: Column, *names: str) -> list[Group]:
        given = [(term, term.on_velocity(column)) for term in terms]
        return _groups({name: velocity[name] for name in names}, velocity, given, mixing, {})

    def of_scalars(column: Column) -> list[Group]:
        given = [(term, term.on_scalars(column)) for term in terms]
        return _groups(scalars, {**scalars, **dict.fromkeys(held)}, given, mixing, own)

    def driven(u: CenterArray, v: CenterArray) -> tuple[CenterArray, CenterArray]:
        for term in terms:
            u, v = term.after_velocity(u, v, column)
        return u, v

    if solver.in_turn:
        u = _solved(of_velocity(column, "u"), column, solver)["u"]
        column = column._replace(velocity=(u, carried.v))
        v = _solved(of_velocity(column, "v"), column, solver)["v"]
        u, v = driven(u, v)
        mixed = _solved(of_scalars(column._replace(velocity=(u, v))), column, solver)
    else:
        groups = of_velocity(column, "u", "v") + of_scalars(column._replace(velocity=start))
        mixed = _solved(groups, column, solver)
        u, v = driven(mixed["u"], mixed["v"])
    new = {name: getattr(column.state, name) for name in held} | mixed
    return State(u, v, new["temperature"], new["salinity"], {name: new[name] for name in carried.tracers})


def _groups(
    values: dict[str, CenterArray],
    known: Collection[str],
    given: Sequence[tuple[AbstractTerm, dict[str, Tendency]]],
    mixing: dict[str, Mixing],
    own: dict[str, AbstractTerm],
) -> list[Group]:
    """Quantities with their tendencies, in as few groups as rates and coefficients allow."""
    for term, tendencies in given:
        if unknown := tendencies.keys() - set(known):
            raise ValueError(
                f"{type(term).__name__}: expected to act on some of {', '.join(known)}, got "
                f"{', '.join(sorted(unknown))}; give the initial state such a tracer."
            )
    groups: dict[Hashable, Group] = {}
    for name, value in values.items():
        keeper = own.get(name)
        parts = [
            tendencies[name]
            for term, tendencies in given
            if name in tendencies and (keeper is None or keeper is term)
        ]
        mixed = mixing.get(name, mixing[""])
        if keeper is not None:
            mixed = Mixing(0.0 * mixed.eddy, 0.0)
        # Compare objects, not numbers, which are traced.
        rates = [(id(part.loss_rate), id(part.carrying)) for part in parts]
        nothing = (id(None), id(None))
        key = id(mixed.eddy), id(mixed.molecular), *(rate for rate in rates if rate != nothing)
        group = groups.setdefault(key, Group(mixed, {}, {}))
        group.values[name], group.tendencies[name] = value, parts
        if any(part.against_gradient is not None for part in parts):
            group.values[name + _DOWN_GRADIENT] = value
            group.tendencies[name + _DOWN_GRADIENT] = [part._replace(against_gradient=None) for part in parts]
    return list(groups.values())


def sum_of_all(parts: Iterable[PyTree]) -> PyTree:
    """Sum of the values that are not `None`, in order; `None` if there are none."""
    given = [part for part in parts if part is not None]
    return functools.reduce(operator.add, given) if given else None


def _added(parts: Sequence[Tendency]) -> Added:
    """Sum of the tendencies of all terms for one quantity."""
    sinking = [part.sinking for part in parts if part.sinking is not None]
    if len(sinking) > 1:
        raise ValueError("transport: expected at most one term with plumes, got two.")
    return Added(
        volumes=sum_of_all(part.cells for part in parts),
        bottom=sum_of_all(part.bottom for part in parts),
        surface=sum_of_all(part.surface for part in parts),
        sinking=sum_of_all(sinking),
        downward=sum_of_all(of for part in parts for of in (part.downward, part.against_gradient)),
    )


def _carrying(parts: Sequence[Tendency]) -> CarryingRates | None:
    rates = [part.carrying for part in parts if part.carrying is not None]
    if not rates:
        return None
    return CarryingRates(
        upward=sum_of_all(rate.upward for rate in rates), downward=sum_of_all(rate.downward for rate in rates)
    )


def _solved(groups: Sequence[Group], column: Column, solver: Solver) -> dict[str, CenterArray]:
    """New values of groups, whose matrices are solved side by side."""
    if not groups:
        return {}
    systems = [group.system(column, solver.theta) for group in groups]
    solution = solve_tridiagonal_systems(
        tuple(system.matrix for system in systems),
        tuple(system.rhs for system in systems),
        solver.method,
        # Solve for the change: constant salinity stays exactly constant, and float32 suffices for days.
        guess=tuple(group.values for group in groups),
        residual=tuple(system.residual for system in systems),
        sinking=tuple(system.sinking for system in systems),
    )
    old = {name: values for group in groups for name, values in group.values.items()}
    new = {name: values for group in solution for name, values in group.items()}
    bounded = [name for name in new if name + _DOWN_GRADIENT in new]
    for name in bounded:
        new[name] = _within_range(new[name], new.pop(name + _DOWN_GRADIENT), old[name])
    return new


def _within_range(new: CenterArray, down_gradient: CenterArray, old: CenterArray) -> CenterArray:
    """Keep new values within the range of the old ones and of those without the counter-gradient flux.

    That flux is scaled by one factor where it would exceed the range, so that content is conserved.
    """
    highest = jnp.maximum(jnp.max(old, axis=0), jnp.max(down_gradient, axis=0))
    lowest = jnp.minimum(jnp.min(old, axis=0), jnp.min(down_gradient, axis=0))
    change = new - down_gradient
    room = jnp.where(change > 0.0, highest - down_gradient, down_gradient - lowest)
    leaves = (new > highest) | (new < lowest)
    fraction = jnp.where(leaves, room * reciprocal(jnp.where(leaves, jnp.abs(change), 1.0)), 1.0)
    fraction = jnp.min(fraction, axis=0)
    return jnp.where(fraction < 1.0, down_gradient + fraction * change, new)
