"""One time step of the column: transport with the eddy coefficients at hand, then the closure.

    du/dt - f v = d/dz((nu + nu_mol) du/dz),         dv/dt + f u = d/dz((nu + nu_mol) dv/dz)
    dT/dt = d/dz((kappa + kappa_mol) dT/dz - w'T'_nonlocal) + 1/(rho_0 c_p) dI/dz,   likewise S and tracers

The order within a step is that of GOTM: fluxes at the end of the step; rotation; viscous step of u and v;
diffusive step of salinity, tracers and temperature; shear and stratification; closure.
"""

import equinox as eqx
import jax.numpy as jnp

from . import constants
from ._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from .case import Case
from .closures.base import AbstractClosure, CloState, ClosureInputs
from .forcing import SurfaceFluxes, WaterSurface
from .numerics.diffusion import Source, diffusion_system
from .numerics.limiters import reciprocal, safe_sqrt, vector_norm
from .numerics.tridiagonal import (
    AbstractTridiagonalMethod,
    solve_tridiagonal_systems,
)
from .physics.rotation import rotate
from .physics.stratification import buoyancy_frequency_squared, shear_squared
from .state import State


def _or_zero(flux: Scalar | None, state: State) -> Scalar:
    """A flux, or zero in the precision of the state where there is none."""
    return jnp.zeros((), state.temperature.dtype) if flux is None else flux


class Model(eqx.Module):
    """The mathematics of a column: a closure, molecular mixing and the time scheme.

    Args:
        closure: how turbulence mixes.
        molecular_viscosity, molecular_diffusivity: added to the eddy coefficients [m2 s-1]; temperature,
            salinity and tracers share the diffusivity, and with it one matrix.
        theta: weight of the new values in the fluxes of momentum and tracers; 1 is backward Euler,
            0.5 Crank-Nicolson. Turbulence quantities are always backward Euler.
        tridiagonal_method: how linear systems are solved; by default the fastest for the platform.

    Raises:
        ValueError: theta outside of [0, 1].
    """

    closure: AbstractClosure
    molecular_viscosity: Scalar = parameter(
        constants.MOLECULAR_VISCOSITY, unit="m2 s-1", valid_range=(0.0, 1.0)
    )
    molecular_diffusivity: Scalar = parameter(
        constants.MOLECULAR_DIFFUSIVITY, unit="m2 s-1", valid_range=(0.0, 1.0)
    )
    theta: float = eqx.field(default=1.0, static=True)
    tridiagonal_method: AbstractTridiagonalMethod | None = None

    def __check_init__(self):
        if not 0.0 <= self.theta <= 1.0:
            raise ValueError(f"Model: expected theta between 0 and 1, got {self.theta}.")

    def init(self, case: Case) -> CloState:
        """Closure state of the case at rest: the start of a run."""
        state = case.initial_state
        fluxes = case.forcing.at(jnp.zeros((), state.temperature.dtype), WaterSurface.of(state))
        return self.closure.init(self._closure_inputs(state, state, case, fluxes))

    def step(
        self, state: State, clo_state: CloState, case: Case, time: ScalarLike, dt: ScalarLike
    ) -> tuple[State, CloState]:
        """Advance by one step.

        Args:
            state, clo_state: at `time`.
            case: gives grid, forcing, rotation and equation of state.
            time: start of the step [s] since the start of the case.
            dt: length of the step [s].

        Returns:
            state and closure state at `time + dt`.
        """
        fluxes = case.forcing.at(time + dt, WaterSurface.of(state))
        u, v = rotate(state.u, state.v, case.coriolis_parameter, dt)
        entering = State(u, v, state.temperature, state.salinity, state.tracers)
        new_state = self._transport(entering, clo_state, case, fluxes, dt)
        inputs = self._closure_inputs(new_state, entering, case, fluxes)
        return new_state, self.closure.step(clo_state, inputs, dt)

    def _transport(
        self, state: State, clo_state: CloState, case: Case, fluxes: SurfaceFluxes, dt: ScalarLike
    ) -> State:
        """Viscous and diffusive step; the two systems are independent and are solved side by side."""

        def system(quantities, source, eddy_coefficient, molecular_coefficient):
            coefficient = eddy_coefficient[1:-1] + molecular_coefficient
            return diffusion_system(
                quantities,
                coefficient * reciprocal(case.grid.center_spacing),
                case.grid.cell_thickness,
                dt,
                source=source,
                theta=self.theta,
            )

        velocity = (state.u, state.v)
        contents = (state.temperature, state.salinity, state.tracers)
        momentum = system(
            velocity,
            _momentum_source(state, case, fluxes),
            clo_state.eddy_viscosity,
            self.molecular_viscosity,
        )
        tracers = system(
            contents,
            _tracer_source(state, clo_state, case, fluxes),
            clo_state.eddy_diffusivity,
            self.molecular_diffusivity,
        )
        (u, v), (temperature, salinity, passive) = solve_tridiagonal_systems(
            (momentum.matrix, tracers.matrix),
            (momentum.rhs, tracers.rhs),
            self.tridiagonal_method,
            # For the change: a constant salinity stays what it is, and float32 serves for days.
            guess=(velocity, contents),
            residual=(momentum.residual, tracers.residual),
        )
        return State(u, v, temperature, salinity, passive)

    def _closure_inputs(
        self, state: State, entering: State, case: Case, fluxes: SurfaceFluxes
    ) -> ClosureInputs:
        eos = case.equation_of_state
        n_squared: InnerFaceArray = buoyancy_frequency_squared(state, case.grid, eos)
        heat, salt, _ = _kinematic_fluxes(state, case, fluxes)
        alpha, beta = eos.expansion(state.temperature[-1], state.salinity[-1], case.grid.z_center[-1])
        stress = vector_norm(_or_zero(fluxes.stress_u, state), _or_zero(fluxes.stress_v, state))
        return ClosureInputs(
            grid=case.grid,
            state=state,
            buoyancy_frequency_squared=n_squared,
            shear_squared=shear_squared(state, entering, case.grid),
            surface_friction_velocity=safe_sqrt(stress / eos.reference_density),
            surface_buoyancy_flux=eos.gravity * (alpha * heat - beta * salt),
            coriolis_parameter=case.coriolis_parameter,
            tridiagonal_method=self.tridiagonal_method,
        )


def _momentum_source(state: State, case: Case, fluxes: SurfaceFluxes) -> tuple[Source, Source]:
    """Acceleration times thickness [m2 s-2] of u and v."""
    density = case.equation_of_state.reference_density
    return (
        Source(surface=_or_zero(fluxes.stress_u, state) / density),
        Source(surface=_or_zero(fluxes.stress_v, state) / density),
    )


def _content_source(surface_flux: Scalar, clo_state: CloState, volumes: CenterArray | None = None) -> Source:
    """Boundary flux, convergence of the non-local flux, and what is added in the volumes [unit m s-1]."""
    if clo_state.nonlocal_transport is not None:
        # The share that a cell receives through its upper face, less what leaves through its lower face.
        downward: FaceArray = surface_flux * clo_state.nonlocal_transport
        convergence = downward[1:] - downward[:-1]
        volumes = convergence if volumes is None else volumes + convergence
    return Source(volumes=volumes, surface=surface_flux)


def _tracer_source(
    state: State, clo_state: CloState, case: Case, fluxes: SurfaceFluxes
) -> tuple[Source, Source, dict[str, Source]]:
    """Content added per cell, area and time [unit m s-1]: temperature, salinity, passive tracers."""
    heat, salt, passive = _kinematic_fluxes(state, case, fluxes)
    return (
        _content_source(heat, clo_state, _shortwave_heating(case, fluxes)),
        _content_source(salt, clo_state),
        {name: _content_source(passive[name], clo_state) for name in state.tracers},
    )


def _kinematic_fluxes(
    state: State, case: Case, fluxes: SurfaceFluxes
) -> tuple[Scalar, Scalar, dict[str, Scalar]]:
    """Fluxes into the uppermost cell: temperature [K m s-1], salinity [g kg-1 m s-1], tracers."""
    eos = case.equation_of_state
    heat = _or_zero(fluxes.heat_flux, state) / (eos.reference_density * eos.heat_capacity)
    # Fresh water dilutes the uppermost cell without changing its volume; salt flux is in kg, salinity in g.
    dilution = -state.salinity[-1] * _or_zero(fluxes.freshwater_flux, state)
    salt = (dilution + 1e3 * _or_zero(fluxes.salt_flux, state)) / eos.reference_density
    return heat, salt, {name: _or_zero(fluxes.tracer_fluxes.get(name), state) for name in state.tracers}


def _shortwave_heating(case: Case, fluxes: SurfaceFluxes) -> CenterArray | None:
    """Absorbed sunlight per cell [K m s-1]."""
    if fluxes.shortwave_flux is None:
        return None
    eos = case.equation_of_state
    transmission = case.absorption.transmission(case.grid)
    entering = fluxes.shortwave_flux / (eos.reference_density * eos.heat_capacity)
    return entering * (transmission[1:] - transmission[:-1])
