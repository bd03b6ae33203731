"""One time step of the column: transport with the current eddy coefficients, then the closure.

    du/dt - f v = d/dz((nu + nu_mol) du/dz),         dv/dt + f u = d/dz((nu + nu_mol) dv/dz)
    dT/dt = d/dz((kappa + kappa_mol) dT/dz - w'T'_nonlocal) + 1/(rho_0 c_p) dI/dz,   likewise S and tracers

and, if the closure has plumes, + d/dz(M (phi_p - phi)) for every quantity phi.

The order within a step is that of GOTM: fluxes at the end of the step; rotation; viscous step of u and v;
diffusive step of salinity, tracers and temperature; shear and stratification; closure.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from .. import constants
from .._types import FaceArray, Scalar, ScalarLike, parameter
from ..closures.base import (
    AbstractClosure,
    AbstractStepper,
    BottomFlow,
    CloState,
    ClosureInputs,
    SurfaceWaves,
)
from ..declarations import setting
from ..numerics.elementary import gradient, mean_of_neighbours, safe_sqrt, vector_norm, with_end_faces
from ..numerics.tridiagonal import PlatformDefault
from ..numerics.tridiagonal_methods import AbstractTridiagonalMethod, ThomasScan, TwistedThomas
from ..physics.stratification import buoyancy_frequency_squared, shear_squared, shear_squared_between_cells
from ..runtime.jax_setup import time_loop_is_fused
from .case import Case
from .forcing import SurfaceFluxes, WaterSurface
from .grid import Grid
from .state import State
from .terms import ELEVATION, AbstractTerm, Column
from .terms.surface import (
    CoriolisForce,
    ShortwaveHeating,
    SurfaceExchange,
    kinematic_fluxes,
    shortwave_heating,
    surface_stress,
)
from .transport import Mixing, Solver, sum_of_all, transport


class Model(eqx.Module):
    """Numerical model of a column: closure, molecular mixing and time scheme.

    Args:
        closure: turbulence closure.
        molecular_viscosity, molecular_diffusivity: added to the eddy coefficients [m2 s-1], unless the case
            has its own.
        molecular_salt_diffusivity: for salinity [m2 s-1]; by default that of heat, so that both share one
            matrix, which makes a step about a tenth faster.
        coefficient_memory: under-relaxation: fraction of the eddy coefficients kept from the previous step
            [1]; none by default. Multi-equation closures oscillate from step to step where turbulence is
            marginal; the oscillation hardly affects a run, but its derivatives grow without bound. A value of
            0.5 removes it.
        n_sweeps: Picard iterations per step; from the second on, eddy coefficients are the average of those
            of the previous iteration and the result of the closure. Use 2 for steps much longer than the
            response time of turbulence; it doubles the cost.
        theta: weight of the new values in the fluxes of momentum and tracers; 1 is backward Euler,
            0.5 Crank-Nicolson. Turbulence quantities are always backward Euler.
        like_gotm: whether to follow GOTM's discretisation: u, v and the scalars are solved one after another,
            each with the new values of the previous ones; S² uses the thickness of each cell; non-local
            fluxes and the roughness of surface and bottom are those of the previous step; the buoyancy of
            shortwave radiation uses the local expansion.
        tridiagonal_method: solver for linear systems; by default the fastest on the platform.

    Raises:
        ValueError: theta outside [0, 1], or a number of sweeps that is not a positive whole number.
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
        if not isinstance(self.n_sweeps, int):
            raise ValueError(f"Model: expected n_sweeps to be a whole number, got {self.n_sweeps!r}.")

    def completed(self, case: Case) -> Case:
        """The case completed with values from the closure: kappa of the logarithmic layers at its ends."""
        for where in ("bottom_friction", "lid_friction"):
            friction = getattr(case.interior, where)
            if friction is None or friction.von_karman is not None:
                continue
            von_karman = jnp.asarray(self.closure.von_karman, dtype=case.grid.z_face.dtype)
            friction = dataclasses.replace(friction, von_karman=von_karman)
            case = eqx.tree_at(lambda c, where=where: getattr(c.interior, where), case, friction)
        return case

    def init(self, case: Case) -> CloState:
        """Closure state for the case at rest: the start of a run."""
        case = self.completed(case)
        state = case.start_state
        case = case.placed(state)
        start = jnp.zeros((), state.temperature.dtype)
        at_rest = jnp.zeros_like(case.grid.z_face)
        column = self._column(state.without_surface(), (at_rest, at_rest), case, start, start, 0.0)
        return self.closure.prepare().init(self._closure_inputs(state, column, case, ()))

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
            case: provides grid, forcing, rotation and equation of state.
            time: start of the step [s] since the start of the case.
            dt: length of the step [s].
            stepper: the prepared closure, from a caller that makes many steps; by default it is prepared
                here.

        Returns:
            state and closure state at `time + dt`.
        """
        stepper = self.closure.prepare() if stepper is None else stepper
        column, case = self._entering(state, clo_state, case, time, dt)
        used = clo_state
        new_state, new_clo_state = self._sweep(stepper, column, used, case, dt)
        for _ in range(self.n_sweeps - 1):
            used = _with_coefficients(clo_state, used, new_clo_state, 0.5)
            new_state, new_clo_state = self._sweep(stepper, column, used, case, dt)
        if self.coefficient_memory is not None:
            new_clo_state = _with_coefficients(
                new_clo_state, clo_state, new_clo_state, self.coefficient_memory
            )
        if column.surface:
            new_state = dataclasses.replace(new_state, surface=column.surface)
        return new_state, new_clo_state

    def inputs_of_closure(
        self, state: State, clo_state: CloState, end: State, case: Case, time: ScalarLike, dt: ScalarLike
    ) -> tuple[ClosureInputs, SurfaceFluxes]:
        """Input of the closure, without plumes, in a step to the state `end`, and the fluxes of the step."""
        column, case = self._entering(state, clo_state, case, time, dt)
        return self._closure_inputs(end, column, case, ()), column.fluxes

    @property
    def solver(self) -> AbstractTridiagonalMethod:
        """Method for linear systems: as given, or the fastest on the platform and its configuration."""
        if self.tridiagonal_method is not None:
            return self.tridiagonal_method
        return PlatformDefault(cpu=TwistedThomas() if time_loop_is_fused() else ThomasScan())

    def _entering(
        self, state: State, clo_state: CloState, case: Case, time: ScalarLike, dt: ScalarLike
    ) -> tuple[Column, Case]:
        """The column at the start of a step, and the case at its end."""
        at_rest, end, level = case.grid, time + dt, case.interior.level
        case = self.completed(case).placed(state, end)
        mixing = clo_state.eddy_viscosity, clo_state.eddy_diffusivity
        if case.ice is None:
            column = self._column(state, mixing, case, time, end, dt)
        else:
            # Traced once for both ends of the step, including the weather.
            at_surface = eqx.filter_jit(case.at_surface) if self.like_gotm else case.at_surface
            below = at_surface(state, end, dt)
            before = at_surface(state, time, dt) if self.like_gotm else below
            temperature = state.temperature.at[-1].set(below.temperature)
            water = dataclasses.replace(state, temperature=temperature, surface={})
            fluxes = below.fluxes, before.fluxes
            column = self._column(water, mixing, case, time, end, dt, fluxes)._replace(surface=below.ice)
        if level is not None:
            elevation, density = state.surface[ELEVATION], case.equation_of_state.reference_density
            column = level.moved(column, at_rest, elevation, case.interior.streams, density)
        turning = CoriolisForce(drifts=case.interior.velocities == "lagrangian")
        for term in (turning, *case.acting()):
            column = column.starting_from(term.before(column))
        return column, case

    def _column(
        self,
        state: State,
        mixing: tuple[FaceArray, FaceArray],
        case: Case,
        time: ScalarLike,
        end: ScalarLike,
        dt: ScalarLike,
        fluxes: tuple[SurfaceFluxes, SurfaceFluxes] | None = None,
    ) -> Column:
        """Input of terms; as in GOTM, non-local fluxes may be those of the previous step."""
        drift = case.interior.stokes_drift
        if fluxes is None:
            water = WaterSurface.of(state)
            now = case.forcing.at(end, water)
            fluxes = now, case.forcing.at(time, water) if self.like_gotm else now
        return Column(
            state=state,
            carried=state,
            velocity=(state.u, state.v),
            grid=case.grid,
            equation_of_state=case.equation_of_state,
            absorption=case.absorption.at(end),
            coriolis_parameter=case.coriolis_parameter,
            fluxes=fluxes[0],
            fluxes_before=fluxes[1],
            stokes_drift=None if drift is None else drift.at(case.grid, end),
            eddy_viscosity=mixing[0],
            eddy_diffusivity=mixing[1],
            time=end,
            dt=dt,
        )

    def _sweep(
        self, stepper: AbstractStepper, column: Column, clo_state: CloState, case: Case, dt: ScalarLike
    ) -> tuple[State, CloState]:
        """Transport with the coefficients of a closure state, then the closure."""
        column = column._replace(
            eddy_viscosity=clo_state.eddy_viscosity, eddy_diffusivity=clo_state.eddy_diffusivity
        )
        solver = Solver(self.theta, self.like_gotm, self.solver)
        terms = (ShortwaveHeating(), *case.acting(), SurfaceExchange(), *clo_state.terms(column.state))
        viscosity, diffusivity = case.background_viscosity, case.background_diffusivity
        mixing = Mixing.of_quantities(
            clo_state,
            self.molecular_viscosity if viscosity is None else viscosity,
            self.molecular_diffusivity if diffusivity is None else diffusivity,
            self.molecular_salt_diffusivity,
        )
        new_state = transport(column, terms, mixing, case.interior.held, solver)
        return new_state, stepper.step(clo_state, self._closure_inputs(new_state, column, case, terms), dt)

    def _closure_inputs(
        self, state: State, column: Column, case: Case, acted: tuple[AbstractTerm, ...]
    ) -> ClosureInputs:
        eos, grid, start = column.equation_of_state, column.grid, column.state
        entering = kinematic_fluxes(start if self.like_gotm else state, eos, column.fluxes)
        surface = grid.z_face[-1] if self.like_gotm else grid.z_center[-1]
        alpha, beta = eos.expansion(state.temperature[-1], state.salinity[-1], surface)
        stress, density = surface_stress(column.fluxes, state), eos.reference_density
        before, lid = surface_stress(column.fluxes_before, state), case.interior.lid_friction
        if lid is not None:
            held, held_before = (lid.stress(water, grid, density) for water in (state, start))
            stress = stress[0] + held[0], stress[1] + held[1]
            before = before[0] + held_before[0], before[1] + held_before[1]
        of_sea = safe_sqrt(vector_norm(*before) / density)
        passing = shortwave_heating(column.fluxes, column)
        if self.like_gotm:
            shear = shear_squared_between_cells(state, start, grid, self.theta)
            of_sea = jnp.where(column.time < 1.5 * column.dt, 0.0, of_sea)  # no step precedes the first
        else:
            shear = shear_squared(state, start, grid)
        alpha_of_shortwave = _expansion_at_faces(state, column) if self.like_gotm else alpha
        # GOTM's turbulence ignores areas.
        plain = Grid(grid.z_face) if self.like_gotm and grid.area is not None else grid
        return ClosureInputs(
            grid=plain,
            state=state,
            start=start,
            buoyancy_frequency_squared=buoyancy_frequency_squared(state, grid, eos),
            shear_squared=shear,
            surface_friction_velocity=safe_sqrt(vector_norm(*stress) / density),
            friction_velocity_of_sea=of_sea,
            surface_momentum_flux=(stress[0] / density, stress[1] / density),
            surface_buoyancy_flux=eos.gravity
            * (alpha * entering["temperature"] - beta * entering["salinity"]),
            coriolis_parameter=column.coriolis_parameter,
            equation_of_state=eos,
            radiative_buoyancy_flux=None if passing is None else eos.gravity * alpha_of_shortwave * passing,
            waves=_waves(state, column, case),
            bottom=self._bottom(state, column, case),
            stirring=sum_of_all(term.stirring(state) for term in acted),
            acted=acted,
            tridiagonal_method=self.solver,
            explicit_waves=self.like_gotm,
        )

    def _bottom(self, state: State, column: Column, case: Case) -> BottomFlow | None:
        """Flow over the bottom; as in GOTM, the roughness length may be that of the previous step."""
        friction = case.interior.bottom_friction
        if friction is None:
            return None
        before, thickness = None, column.grid.cell_thickness[0]
        if self.like_gotm:
            before = friction.at(column.state.u[0], column.state.v[0], thickness)[0]
            if friction.from_rest:
                before = jnp.where(column.time < 1.5 * column.dt, 0.0, before)
        return BottomFlow(*friction.at(state.u[0], state.v[0], thickness, before)[:2])


def _waves(state: State, column: Column, case: Case) -> SurfaceWaves | None:
    waves, drift = case.interior.stokes_drift, column.stokes_drift
    if waves is None or drift is None:
        return None
    grid, height = column.grid, case.interior.wave_height
    by_drift = [gradient(values, grid) for values in drift]
    if not case.interior.stokes_shear:
        by_drift = [jnp.zeros_like(each) for each in by_drift]
    return SurfaceWaves(
        drift=drift,
        at_surface=waves.at_surface(column.time),
        shear=gradient(state.u, grid) * by_drift[0] + gradient(state.v, grid) * by_drift[1],
        shear_squared=by_drift[0] * by_drift[0] + by_drift[1] * by_drift[1],
        height=None if height is None else height.at(column.time),
        in_velocity=case.interior.velocities == "lagrangian",
    )


def _expansion_at_faces(state: State, column: Column) -> FaceArray | Scalar:
    """alpha [K-1] of the water between cells, and of the end cells at the ends."""
    temperature, salinity = (
        with_end_faces(mean_of_neighbours(values), values[0], values[-1])
        for values in (state.temperature, state.salinity)
    )
    return column.equation_of_state.expansion(temperature, salinity, column.grid.z_face)[0]


def _with_coefficients(changed: CloState, old: CloState, new: CloState, kept: ScalarLike) -> CloState:
    """A closure state with averaged eddy coefficients of two others, with weight `kept` for the old ones."""
    coefficients = lambda state: (state.eddy_viscosity, state.eddy_diffusivity)  # noqa: E731
    blend = jax.tree.map(lambda a, b: kept * a + (1.0 - kept) * b, coefficients(old), coefficients(new))
    return eqx.tree_at(coefficients, changed, blend)
