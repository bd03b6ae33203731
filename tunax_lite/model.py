"""One time step of the column: transport with the eddy coefficients at hand, then the closure.

    du/dt - f v = d/dz((nu + nu_mol) du/dz),         dv/dt + f u = d/dz((nu + nu_mol) dv/dz)
    dT/dt = d/dz((kappa + kappa_mol) dT/dz - w'T'_nonlocal) + 1/(rho_0 c_p) dI/dz,   likewise S and tracers

and where the closure has plumes, + d/dz(M (phi_p - phi)) for every quantity phi.

The order within a step is that of GOTM: fluxes at the end of the step; rotation; viscous step of u and v;
diffusive step of salinity, tracers and temperature; shear and stratification; closure.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from . import constants
from ._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from .case import Case
from .closures.base import AbstractClosure, AbstractStepper, CloState, ClosureInputs
from .declarations import setting
from .forcing import SurfaceFluxes, WaterSurface
from .grid import Grid
from .numerics.limiters import safe_sqrt, vector_norm
from .numerics.stencils import gradient, mean_of_neighbours, with_end_faces
from .numerics.tridiagonal import AbstractTridiagonalMethod
from .physics.plume import Plume, PlumeEnergy
from .physics.rotation import rotate
from .physics.stratification import (
    buoyancy_frequency_squared,
    shear_squared,
    shear_squared_between_cells,
)
from .state import State
from .transport import Fluxes, MolecularMixing, kinematic_fluxes, or_zero, penetrating_sunlight, transport


class Model(eqx.Module):
    """The mathematics of a column: a closure, molecular mixing and the time scheme.

    Args:
        closure: how turbulence mixes.
        molecular_viscosity, molecular_diffusivity: added to the eddy coefficients [m2 s-1].
        molecular_salt_diffusivity: that of salinity [m2 s-1]; by default it shares that of heat, and with it
            one matrix, which makes a step about a tenth faster.
        coefficient_memory: share of the eddy coefficients that is kept from the step before [1]; by default
            none. Closures of several equations flicker from step to step where turbulence is marginal; the
            flicker hardly changes a run, but its derivatives grow without bound. 0.5 ends it.
        n_sweeps: how often a step is taken; the second time on, with eddy coefficients halfway between those
            of the last time and what the closure then found. 2 is for steps much longer than turbulence
            takes to follow the forcing, and costs twice as much.
        theta: weight of the new values in the fluxes of momentum and tracers; 1 is backward Euler,
            0.5 Crank-Nicolson. Turbulence quantities are always backward Euler.
        like_gotm: whether to do as GOTM where the choice is ours: u, v and what the water contains one after
            another, each with the new values of those before; S² of cells of their own thickness; non-local
            fluxes, the roughness of the sea and that of the bottom from the step before; the buoyancy of
            sunlight with the expansion of the place.
        tridiagonal_method: how linear systems are solved; by default the fastest for the platform.

    Raises:
        ValueError: theta outside of [0, 1], or a number of sweeps that is not a whole number from 1 on.
    """

    closure: AbstractClosure
    molecular_viscosity: Scalar = parameter(
        constants.MOLECULAR_VISCOSITY, unit="m2 s-1", valid_range=(0.0, 1.0)
    )
    molecular_diffusivity: Scalar = parameter(
        constants.MOLECULAR_DIFFUSIVITY, unit="m2 s-1", valid_range=(0.0, 1.0)
    )
    molecular_salt_diffusivity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(0.0, 1.0))
    coefficient_memory: Scalar | None = parameter(None, valid_range=(0.0, 0.99))
    n_sweeps: int = setting(1, at_least=1, at_most=10)
    theta: float = setting(1.0, at_least=0.0, at_most=1.0)
    like_gotm: bool = setting(False)
    tridiagonal_method: AbstractTridiagonalMethod | None = None

    def __check_init__(self):
        if not 0.0 <= self.theta <= 1.0:
            raise ValueError(f"Model: expected theta between 0 and 1, got {self.theta}.")
        if not isinstance(self.n_sweeps, int) or self.n_sweeps < 1:
            raise ValueError(
                f"Model: expected n_sweeps to be a whole number from 1 on, got {self.n_sweeps!r}."
            )

    def completed(self, case: Case) -> Case:
        """The case with what it takes from the closure: kappa of the logarithmic layer at the bottom."""
        friction = case.interior.bottom_friction
        if friction is None or friction.von_karman is not None:
            return case
        von_karman = jnp.asarray(self.closure.von_karman, dtype=case.grid.z_face.dtype)
        friction = dataclasses.replace(friction, von_karman=von_karman)
        return eqx.tree_at(lambda c: c.interior.bottom_friction, case, friction)

    def init(self, case: Case) -> CloState:
        """Closure state of the case at rest: the start of a run."""
        case = self.completed(case)
        state = case.start_state
        start = jnp.zeros((), state.temperature.dtype)
        fluxes = self._fluxes(state, case, start, start)
        return self.closure.prepare().init(self._closure_inputs(state, state, case, fluxes, start))

    def step(
        self,
        state: State,
        clo_state: CloState,
        case: Case,
        time: ScalarLike,
        dt: ScalarLike,
        stepper: AbstractStepper | None = None,
    ) -> tuple[State, CloState]:
        """Advance by one step.

        Args:
            state, clo_state: at `time`.
            case: gives grid, forcing, rotation and equation of state.
            time: start of the step [s] since the start of the case.
            dt: length of the step [s].
            stepper: the closure prepared, by a caller with many steps; by default it is prepared here.

        Returns:
            state and closure state at `time + dt`.
        """
        end = time + dt
        stepper = self.closure.prepare() if stepper is None else stepper
        case, fluxes = self._place(state, case, time, end)
        entering = _entering(state, case, end, dt)
        used = clo_state
        new_state, new_clo_state = self._sweep(stepper, entering, used, case, fluxes, end, dt)
        for _ in range(self.n_sweeps - 1):
            used = _with_coefficients(clo_state, used, new_clo_state, 0.5)
            new_state, new_clo_state = self._sweep(stepper, entering, used, case, fluxes, end, dt)
        if self.coefficient_memory is not None:
            new_clo_state = _with_coefficients(
                new_clo_state, clo_state, new_clo_state, self.coefficient_memory
            )
        return new_state, new_clo_state

    def inputs_of_closure(
        self, start: State, end: State, case: Case, time: ScalarLike, dt: ScalarLike
    ) -> ClosureInputs:
        """What the closure was given in a step, without plumes.

        Args:
            start, end: states that a step began and ended with.
            case: as for `step`.
            time, dt: start and length of the step [s].
        """
        case, fluxes = self._place(start, case, time, time + dt)
        return self._closure_inputs(end, _entering(start, case, time + dt, dt), case, fluxes, time + dt)

    def _place(self, state: State, case: Case, time: ScalarLike, end: ScalarLike) -> tuple[Case, Fluxes]:
        """The case as it is at the end of a step, and the fluxes of the step."""
        case = self.completed(case)
        case = eqx.tree_at(lambda c: c.grid, case, case.interior.moved(case.grid, end))
        return case, self._fluxes(state, case, time, end)

    def _sweep(
        self,
        stepper: AbstractStepper,
        entering: State,
        clo_state: CloState,
        case: Case,
        fluxes: Fluxes,
        end: ScalarLike,
        dt: ScalarLike,
    ) -> tuple[State, CloState]:
        """Transport with the coefficients of a closure state, and the closure after it."""
        molecular = MolecularMixing(
            self.molecular_viscosity, self.molecular_diffusivity, self.molecular_salt_diffusivity
        )
        mass_flux = clo_state.mass_flux
        plume = None if mass_flux is None else Plume.of(entering, mass_flux)
        new_state = transport(
            entering,
            clo_state,
            plume,
            case,
            fluxes,
            molecular,
            end,
            dt,
            theta=self.theta,
            in_turn=self.like_gotm,
            method=self.tridiagonal_method,
        )
        inputs = self._closure_inputs(new_state, entering, case, fluxes, end)
        if plume is not None and mass_flux is not None:
            energy = PlumeEnergy.of(plume, mass_flux, new_state, entering, case.grid, case.equation_of_state)
            inputs = dataclasses.replace(inputs, plume_energy=energy)
        return new_state, stepper.step(clo_state, inputs, dt)

    def _fluxes(self, state: State, case: Case, time: ScalarLike, end: ScalarLike) -> Fluxes:
        """Through the surface; like GOTM also those of the step before, with the water of this one."""
        water = WaterSurface.of(state)
        before = case.forcing.at(time, water) if self.like_gotm else None
        return Fluxes(case.forcing.at(end, water), before)

    def _closure_inputs(
        self, state: State, entering: State, case: Case, given: Fluxes, time: ScalarLike
    ) -> ClosureInputs:
        eos, grid, fluxes = case.equation_of_state, case.grid, given.now
        heat, salt, _ = kinematic_fluxes(entering if self.like_gotm else state, case, fluxes)
        surface = grid.z_face[-1] if self.like_gotm else grid.z_center[-1]
        alpha, beta = eos.expansion(state.temperature[-1], state.salinity[-1], surface)
        stress = or_zero(fluxes.stress_u, state), or_zero(fluxes.stress_v, state)
        density = eos.reference_density
        stokes_drift = case.interior.stokes_drift
        drift = None if stokes_drift is None else stokes_drift.at(grid, time)
        sunlight = penetrating_sunlight(case, fluxes)
        alpha_of_sunlight = _expansion_at_faces(state, case) if self.like_gotm else alpha
        at_bottom = self._at_bottom(state, entering, case)
        return ClosureInputs(
            grid=grid,
            state=state,
            buoyancy_frequency_squared=buoyancy_frequency_squared(state, grid, eos),
            shear_squared=self._shear_squared(state, entering, grid),
            surface_friction_velocity=safe_sqrt(vector_norm(*stress) / density),
            friction_velocity_before=_friction_velocity_of(given.before, state, density),
            surface_buoyancy_flux=eos.gravity * (alpha * heat - beta * salt),
            coriolis_parameter=case.coriolis_parameter,
            equation_of_state=eos,
            surface_momentum_flux=(stress[0] / density, stress[1] / density),
            radiative_buoyancy_flux=None if sunlight is None else eos.gravity * alpha_of_sunlight * sunlight,
            bottom_friction_velocity=at_bottom[0],
            bottom_roughness_length=at_bottom[1],
            stokes_shear=None if drift is None else _stokes_shear((state.u, state.v), grid, drift),
            stokes_shear_squared=None if drift is None else _stokes_shear(drift, grid, drift),
            stokes_drift=drift,
            surface_stokes_drift=None if stokes_drift is None else stokes_drift.at_surface(time),
            tridiagonal_method=self.tridiagonal_method,
            explicit_waves=self.like_gotm,
        )

    def _shear_squared(self, state: State, entering: State, grid: Grid) -> InnerFaceArray:
        if self.like_gotm:
            return shear_squared_between_cells(state, entering, grid, self.theta)
        return shear_squared(state, entering, grid)

    def _at_bottom(self, state: State, entering: State, case: Case) -> tuple[Scalar | None, Scalar | None]:
        """Friction velocity and roughness length of the bottom; like GOTM with that of the step before."""
        friction = case.interior.bottom_friction
        if friction is None:
            return None, None
        before, thickness = None, case.grid.cell_thickness[0]
        if self.like_gotm:
            before = friction.at(entering.u[0], entering.v[0], thickness)[0]
        return friction.at(state.u[0], state.v[0], thickness, before)[:2]


def _friction_velocity_of(fluxes: SurfaceFluxes | None, state: State, density: Scalar) -> Scalar | None:
    if fluxes is None:
        return None
    stress = or_zero(fluxes.stress_u, state), or_zero(fluxes.stress_v, state)
    return safe_sqrt(vector_norm(*stress) / density)


def _expansion_at_faces(state: State, case: Case) -> FaceArray | Scalar:
    """alpha [K-1] of the water between the cells, and of the cells at the ends."""
    temperature, salinity = (
        with_end_faces(mean_of_neighbours(values), values[0], values[-1])
        for values in (state.temperature, state.salinity)
    )
    return case.equation_of_state.expansion(temperature, salinity, case.grid.z_face)[0]


def _with_coefficients(changed: CloState, old: CloState, new: CloState, kept: ScalarLike) -> CloState:
    """A closure state with the eddy coefficients of two others, the share `kept` of the old ones."""
    coefficients = lambda state: (state.eddy_viscosity, state.eddy_diffusivity)  # noqa: E731
    blend = jax.tree.map(lambda a, b: kept * a + (1.0 - kept) * b, coefficients(old), coefficients(new))
    return eqx.tree_at(coefficients, changed, blend)


def _entering(state: State, case: Case, end: ScalarLike, dt: ScalarLike) -> State:
    """The state that transport starts from."""
    entering = _rotated(state, case, end, dt)
    bound = case.interior.freezing_bound
    return entering if bound is None else bound.apply(entering)


def _rotated(state: State, case: Case, time: ScalarLike, dt: ScalarLike) -> State:
    """State after the Coriolis force alone, which acts on the velocity with its Stokes drift."""
    u, v = state.u, state.v
    if case.interior.stokes_drift is None:
        u, v = rotate(u, v, case.coriolis_parameter, dt)
    else:
        drift_u, drift_v = case.interior.stokes_drift.at(case.grid, time)
        u, v = rotate(u + drift_u, v + drift_v, case.coriolis_parameter, dt)
        u, v = u - drift_u, v - drift_v
    return State(u, v, state.temperature, state.salinity, state.tracers)


def _stokes_shear(
    velocity: tuple[CenterArray, CenterArray], grid: Grid, drift: tuple[CenterArray, CenterArray]
) -> InnerFaceArray:
    along = gradient(velocity[0], grid) * gradient(drift[0], grid)
    return along + gradient(velocity[1], grid) * gradient(drift[1], grid)
