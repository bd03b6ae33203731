"""One time step of the column: transport with the current eddy coefficients, then the closure.

    du/dt - f v = d/dz((nu + nu_mol) du/dz),         dv/dt + f u = d/dz((nu + nu_mol) dv/dz)
    dT/dt = d/dz((kappa + kappa_mol) dT/dz - w'T'_nonlocal) + 1/(rho_0 c_p) dI/dz,   likewise S and tracers

and, if the closure has plumes, + d/dz(M (phi_p - phi)) for every quantity phi.

The order within a step is that of GOTM: surface fluxes at its end; ice; lake level; rotation; vertical
advection; transport of all quantities, together or in turn (`discretisation`); reactions; closure.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .. import constants
from .._types import FaceArray, Scalar, ScalarLike, batch_shape_of, leading_axes, parameter, precision_of
from ..closures.base import AbstractCloState, AbstractClosure, AbstractStepper, ClosureInputs
from ..declarations import check_kinds, check_mixing, setting
from ..numerics.tridiagonal import AbstractTridiagonalMethod, PlatformDefault, ThomasScan, TwistedThomas
from ..physics.stratification import buoyancy_frequency_squared
from ..runtime.embedding import check_axes, varying_alike
from ..runtime.jax_setup import time_loop_is_fused
from ..views import AbstractShown
from .case import Case
from .discretisation import AbstractDiscretisation, StandardDiscretisation
from .forcing import SurfaceFluxes, WaterSurface
from .state import State
from .terms import AbstractTerm, Column
from .terms.base import first_of
from .terms.surface import (
    CoriolisForce,
    ShortwaveHeating,
    SurfaceExchange,
    friction_velocity,
    total_stress,
    wind_stress,
)
from .transport import Equations, Mixing, Transported, sum_of_all

Stages = list[tuple[AbstractTerm | None, State]]
"""Terms, and the state after each of them, in the order in which they act."""


class Stepped(NamedTuple):
    """Result of a step, with everything that budgets need.

    Args:
        state, clo_state: at the end of the step.
        case: case with the grid and the terms of the step.
        before_transport: states after the effect of ice (`None`) and of each term before the transport.
        after_advection: states after the vertical advection by each term.
        transported: state after the transport, and the solved equations.
        after_reactions: states after the tracer sources of each term.
    """

    state: State
    clo_state: AbstractCloState
    case: Case
    before_transport: Stages
    after_advection: Sequence[tuple[AbstractTerm, State]]
    transported: Transported
    after_reactions: Stages


class Model(AbstractShown):
    """Numerical model of a column: closure, molecular mixing and time scheme.

    Args:
        closure: turbulence closure.
        molecular_viscosity, molecular_diffusivity: added to the eddy coefficients [m2 s-1]; the case can
            replace both.
        molecular_salt_diffusivity: diffusivity of salinity [m2 s-1]; by default that of heat, so that both
            share a matrix, which makes a step about a tenth faster.
        molecular_tracer_diffusivity: diffusivity of tracers [m2 s-1]; by default that of heat.
        coefficient_memory: under-relaxation: fraction of the eddy coefficients kept from the previous step
            [1]; none by default. Multi-equation closures oscillate from step to step where turbulence is
            marginal; the oscillation hardly affects a run, but its derivatives grow without bound. A value of
            0.5 removes it.
        theta: weight of the new values in the diffusive fluxes of momentum, heat, salt and tracers; 1 is
            backward Euler, 0.5 Crank-Nicolson. Turbulence quantities are always backward Euler.
        discretisation: time levels and stencils: the standard ones, or those of GOTM.
        tridiagonal_method: solver for linear systems; by default the fastest on the platform.

    Raises:
        TypeError: something else than a closure, such as its name, or a text instead of a number.
        ValueError: a number outside its valid range.
    """

    closure: AbstractClosure
    molecular_viscosity: Scalar = parameter(
        constants.MOLECULAR_VISCOSITY, unit="m2 s-1", valid_range=(0.0, 1.0)
    )
    molecular_diffusivity: Scalar = parameter(
        constants.MOLECULAR_DIFFUSIVITY, unit="m2 s-1", valid_range=(0.0, 1.0)
    )
    molecular_salt_diffusivity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(0.0, 1.0))
    molecular_tracer_diffusivity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(0.0, 1.0))
    coefficient_memory: Scalar | None = parameter(None, valid_range=(0.0, 0.99))
    theta: float = setting(1.0, at_least=0.0, at_most=1.0)
    discretisation: AbstractDiscretisation = eqx.field(default_factory=StandardDiscretisation)
    tridiagonal_method: AbstractTridiagonalMethod | None = None

    def __check_init__(self):
        check_kinds(self)

    def with_von_karman(self, case: Case) -> Case:
        """Set the von Karman constant of the closure in logarithmic layers that declare none."""
        return case.with_von_karman(
            lambda: jnp.asarray(self.closure.von_karman, dtype=case.grid.z_face.dtype)
        )

    def init(self, case: Case) -> AbstractCloState:
        """Compute the closure state at the start of a run."""
        check_axes((self, case))
        model, case = varying_alike((self, case))
        case = model.with_von_karman(case)
        state = case.start_state
        case = case.placed(state)
        start = jnp.zeros((), state.temperature.dtype)
        zeros = jnp.zeros_like(case.grid.z_face)
        water = WaterSurface.of(state)
        fluxes = model.discretisation.at_ends(lambda time: case.forcing.at(time, water), start, start)
        column = _column(state.without_surface(), (zeros, zeros), case, start, 0.0, fluxes)
        clo_state = model.closure.prepare().init(model._closure_inputs(state, column, case))
        check_mixing(model.closure, clo_state, case.grid.n_cells + 1)
        return clo_state

    def step(
        self,
        state: State,
        clo_state: AbstractCloState,
        case: Case,
        time: ScalarLike,
        dt: ScalarLike,
        stepper: AbstractStepper | None = None,
    ) -> tuple[State, AbstractCloState]:
        """Advance by one step.

        Args:
            state, clo_state: at `time`.
            case: provides grid, forcing, rotation and equation of state.
            time: start of the step [s] since the start of the case.
            dt: length of the step [s].
            stepper: the prepared closure, for callers that make many steps; by default this method prepares
                it.

        Returns:
            State and closure state at `time + dt`.
        """
        arguments = self, state, clo_state, case, time, dt, stepper
        check_axes(arguments)
        model, *others = varying_alike(arguments)
        stepped = model.stepped(*others)
        return stepped.state, stepped.clo_state

    def stepped(
        self,
        state: State,
        clo_state: AbstractCloState,
        case: Case,
        time: ScalarLike,
        dt: ScalarLike,
        stepper: AbstractStepper | None = None,
    ) -> Stepped:
        """Advance by one step like `step`, and also return the solved equations, for budgets."""
        stepper = self.closure.prepare() if stepper is None else stepper
        column, case, before_transport = self._before_transport(state, clo_state, case, time, dt)
        surface = SurfaceExchange(case.undiluted)
        terms = (ShortwaveHeating(), *case.acting(), surface, *clo_state.terms(column.state))
        viscosity, diffusivity = case.background_viscosity, case.background_diffusivity
        mixing = Mixing.of_quantities(
            clo_state,
            self.molecular_viscosity if viscosity is None else viscosity,
            self.molecular_diffusivity if diffusivity is None else diffusivity,
            self.molecular_salt_diffusivity,
            self.molecular_tracer_diffusivity,
        )
        equations = Equations.of(column, terms, mixing, self.theta, self.solver)
        transported = self.discretisation.solve(equations)
        reactions = self._after_reactions(transported.state, column, case)
        end = reactions[-1][1]
        inputs = self._closure_inputs(end, column, case, terms)
        new_clo_state = stepper.step(clo_state, inputs, dt)
        if self.coefficient_memory is not None:
            new_clo_state = _averaged(clo_state, new_clo_state, self.coefficient_memory)
        return Stepped(
            end, new_clo_state, case, before_transport, equations.after_advection, transported, reactions[1:]
        )

    def inputs_of_closure(
        self,
        state: State,
        clo_state: AbstractCloState,
        end: State,
        case: Case,
        time: ScalarLike,
        dt: ScalarLike,
    ) -> tuple[ClosureInputs, SurfaceFluxes]:
        """Closure inputs of a step that ends with the state `end`, without plumes, and its surface fluxes."""
        column, case, _ = self._before_transport(state, clo_state, case, time, dt)
        return self._closure_inputs(end, column, case), column.fluxes

    @property
    def solver(self) -> AbstractTridiagonalMethod:
        """Solver of linear systems: `tridiagonal_method`, or the fastest on the platform."""
        if self.tridiagonal_method is not None:
            return self.tridiagonal_method
        return PlatformDefault(cpu=TwistedThomas() if time_loop_is_fused() else ThomasScan())

    def _before_transport(
        self, state: State, clo_state: AbstractCloState, case: Case, time: ScalarLike, dt: ScalarLike
    ) -> tuple[Column, Case, Stages]:
        """Apply ice, lake level, rotation and other effects before the transport, and collect the states."""
        at_rest, end = case.grid, time + dt
        case = self.with_von_karman(case).placed(state, end)
        at_ends, water = self.discretisation.at_ends, WaterSurface.of(state)
        surface, covered, melting = {}, None, {}
        if case.ice is None:
            fluxes = at_ends(lambda instant: case.forcing.at(instant, water), time, end)
        else:
            ice_now, ice_before = at_ends(lambda instant: case.ice_step(state, instant, dt), time, end)
            fluxes, covered = (ice_now.fluxes, ice_before.fluxes), ice_now.covered
            left_in_water, melting = case.left_by_ice(state, ice_now, dt)
            surface = ice_now.ice | left_in_water
            state = dataclasses.replace(state, temperature=state.temperature.at[-1].set(ice_now.temperature))
        fluxes = jax.lax.optimization_barrier(fluxes)  # XLA would compute them again for every cell
        coefficients = clo_state.eddy_viscosity, clo_state.eddy_diffusivity
        terms = case.acting()
        column = _column(state, coefficients, case, end, dt, fluxes)._replace(
            surface=surface, covered=covered, melting=melting
        )
        for term in terms:
            column = column.shaded(term.shade(state, case.grid))
        for term in terms:
            column = term.move(column, at_rest, terms)
        if case.ice is not None and column.level is not None:
            column = column._replace(surface=case.ice.spread(column.surface, column.level.area_ratio))
        stages: Stages = [(None, state)]
        for term in (CoriolisForce(), *terms):
            column = column.starting_from(term.before(column))
            stages.append((term, column.state))
        return column, case, stages

    def _after_reactions(self, state: State, column: Column, case: Case) -> Stages:
        """Return the state after the transport (`None`), and those after the tracer sources of each term."""
        if column.surface:
            state = dataclasses.replace(state, surface=column.surface)
        terms = case.acting()
        column = column._replace(bottom=self.discretisation.bottom_flow(state, column, terms))
        stages: Stages = [(None, state)]
        for term in terms:
            stages.append((term, term.react(stages[-1][1], column)))
        return stages

    def _closure_inputs(
        self, state: State, column: Column, case: Case, transport_terms: tuple[AbstractTerm, ...] = ()
    ) -> ClosureInputs:
        """Closure inputs of a step that ends with `state`, after the transport by `transport_terms`."""
        grid, eos, start, terms = column.grid, column.equation_of_state, column.state, case.acting()
        discretisation, density = self.discretisation, eos.reference_density
        stress = total_stress(wind_stress(column.fluxes, state), state, grid, density, terms)
        before = total_stress(wind_stress(column.fluxes_before, state), start, grid, density, terms)
        speed_over_sea = discretisation.speed_over_sea(friction_velocity(before, density), column)
        surface, radiative = discretisation.buoyancy_fluxes(state, column)
        return ClosureInputs(
            grid=discretisation.grid_of_turbulence(grid),
            state=state,
            start=start,
            buoyancy_frequency_squared=buoyancy_frequency_squared(state, grid, eos),
            shear_squared=discretisation.shear_squared(state, column, self.theta),
            surface_friction_velocity=friction_velocity(stress, density),
            friction_velocity_of_sea=speed_over_sea,
            surface_momentum_flux=(stress[0] / density, stress[1] / density),
            surface_buoyancy_flux=surface,
            coriolis_parameter=column.coriolis_parameter,
            equation_of_state=eos,
            radiative_buoyancy_flux=radiative,
            waves=first_of(term.surface_waves(state, column) for term in terms),
            bottom=discretisation.bottom_flow(state, column, terms),
            stirring=sum_of_all(term.stirring(state) for term in transport_terms),
            terms=transport_terms,
            tridiagonal_method=self.solver,
            explicit_waves=discretisation.explicit_waves,
        )


def _column(
    state: State,
    coefficients: tuple[FaceArray, FaceArray],
    case: Case,
    end: ScalarLike,
    dt: ScalarLike,
    fluxes: tuple[SurfaceFluxes, SurfaceFluxes],
) -> Column:
    """Input of the terms in a step that ends at `end` [s], with `Column.fluxes` and `fluxes_before`."""
    return Column(
        state=state,
        advected=state,
        velocity=(state.u, state.v),
        grid=case.grid,
        equation_of_state=case.equation_of_state,
        absorption=case.absorption.at(end),
        coriolis_parameter=case.coriolis_parameter,
        fluxes=fluxes[0],
        fluxes_before=fluxes[1],
        wind_speed=case.forcing.wind_speed(end, WaterSurface.of(state)),
        air_pressure=case.forcing.air_pressure(end),
        stokes_drift=first_of(term.stokes_drift(case.grid, end) for term in case.acting()),
        eddy_viscosity=coefficients[0],
        eddy_diffusivity=coefficients[1],
        time=end,
        dt=dt,
    )


def _averaged(old: AbstractCloState, new: AbstractCloState, weight: ScalarLike) -> AbstractCloState:
    """Average the eddy coefficients of two closure states; the old ones have a weight [1]."""
    coefficients = lambda state: (state.eddy_viscosity, state.eddy_diffusivity)  # noqa: E731
    mean = jax.tree.map(lambda a, b: weight * a + (1.0 - weight) * b, coefficients(old), coefficients(new))
    return eqx.tree_at(coefficients, new, mean)


def batched_case(model: Model, case: Case) -> Case:
    """Broadcast a case to the batch shape of model and case; its initial state becomes its `start_state`."""
    precision_of(model=model, case=case)
    batch_shape = batch_shape_of((model, case))
    rank = len(batch_shape)
    return dataclasses.replace(
        case,
        grid=case.grid.with_batch_rank(rank),
        initial_state=case.start_state.broadcast(batch_shape),
        interior=_with_batch_rank(case.interior, rank),
        terms={name: _with_batch_rank(term, rank) for name, term in case.terms.items()},
        initial_correction=None,
    )


def _with_batch_rank(parts: PyTree, rank: int) -> PyTree:
    """Add trailing axes of length 1, so that profiles of one column broadcast with a batch of states."""

    def with_rank(leaf, axes: int):
        missing = axes + rank - jnp.ndim(leaf)
        if axes < 1 or missing <= 0:
            return leaf
        return jnp.reshape(leaf, (*jnp.shape(leaf), *(1,) * missing))

    return jax.tree.map(with_rank, parts, leading_axes(parts))
