"""Closures with an equation for k: settings and time step; mixing by internal waves."""

import abc
import dataclasses
import math

import equinox as eqx
import jax.numpy as jnp

from .._types import FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.state import State
from ..column.terms import AbstractTerm
from ..column.terms.turbulence import CounterGradientHeat, StokesMixing
from ..declarations import named, setting
from ..numerics.elementary import (
    at_least,
    at_most,
    inner_faces,
    quotient,
    reciprocal,
    safe_sqrt,
    with_end_faces,
)
from .base import AbstractCloState, AbstractClosure, AbstractStepper, ClosureInputs
from .k_equation import AbstractDiffusion, AbstractLengthScale, Production, Rates, Step, advance
from .second_moment import SecondMomentClosure
from .stability import (
    AbstractStability,
    AbstractStabilityFunctions,
    AbstractWaveFunctions,
    Flow,
    StabilityValues,
    Waves,
)
from .walls import Boundary, ShearFreeLayer, Wall, charnock_length

EddyPair = tuple[InnerFaceArray, InnerFaceArray]  # nu and kappa [m2 s-1]


@named("background_mixing")
class BackgroundMixing(eqx.Module):
    """Mixing by breaking internal waves and their shear; it replaces nu and kappa in weak turbulence.

    The fraction of the shear mixing is [1 - (Ri / Ri_c)²]³ between 0 and Ri_c, 1 below, 0 above, with Ri =
    N² / (S² + 1e-10 s-2). GOTM uses this with first-order stability functions only.

    Args:
        weakest_tke: largest k of weak turbulence [m2 s-2].
        critical_richardson_number: Ri_c, above which wave shear does not mix [1].
        shear_coefficient: largest nu and kappa by wave shear [m2 s-1].
        viscosity, diffusivity: nu and kappa by breaking waves [m2 s-1].

    Source: Kantha and Clayson (1994), J. Geophys. Res. 99, 25235-25266, after Large et al. (1994).
    """

    weakest_tke: Scalar = parameter(1e-6, unit="m2 s-2", valid_range=(1e-16, 1e-2))
    critical_richardson_number: Scalar = parameter(0.7, valid_range=(0.1, 5.0))
    shear_coefficient: Scalar = parameter(5e-3, unit="m2 s-1", valid_range=(0.0, 1.0))
    viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1.0))
    diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))

    def mix(self, coefficients: EddyPair, tke: InnerFaceArray, inputs: ClosureInputs) -> EddyPair:
        """nu and kappa, replaced in weak turbulence [m2 s-1]."""
        ri = inputs.buoyancy_frequency_squared * reciprocal(at_least(inputs.shear_squared, 0.0) + 1e-10)
        scaled = at_most(at_least(ri / self.critical_richardson_number, 0.0), 1.0)
        shear = self.shear_coefficient * (1.0 - scaled**2) ** 3
        weak, (viscosity, diffusivity) = tke <= self.weakest_tke, coefficients
        viscosity = jnp.where(weak, self.viscosity + shear, viscosity)
        return viscosity, jnp.where(weak, self.diffusivity + shear, diffusivity)


class TurbulenceState(AbstractCloState):
    """Eddy coefficients [m2 s-1], k [m2 s-2], epsilon [m2 s-3] on faces, and variables of some closures."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    turbulent_kinetic_energy: FaceArray
    dissipation_rate: FaceArray
    stokes_viscosity: FaceArray | None = None  # nu_S [m2 s-1]; `None` if waves drive no momentum flux
    temperature_variance: FaceArray | None = None  # theta'² [K2]
    variance_driven_flux: FaceArray | None = None  # Gamma, upward [K m s-1]

    @property
    def on_inner_faces(self) -> tuple[InnerFaceArray, InnerFaceArray]:
        """k and epsilon on the inner faces."""
        return inner_faces(self.turbulent_kinetic_energy), inner_faces(self.dissipation_rate)

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        waves = () if self.stokes_viscosity is None else (StokesMixing(self.stokes_viscosity),)
        driven = self.variance_driven_flux
        return waves if driven is None else (*waves, CounterGradientHeat(driven))


class AbstractEnergyStepper(AbstractStepper[TurbulenceState]):
    """Stepper of a closure with an equation for k."""

    @abc.abstractmethod
    def production(self, clo_state: TurbulenceState, inputs: ClosureInputs) -> Production:
        """P, B and P_St [m2 s-3] in a step."""


class EnergyStepper(AbstractEnergyStepper):
    """An equation for k with a length scale and the common settings."""

    settings: "AbstractEnergyClosure"
    diffusion: AbstractDiffusion  # of k
    length_scale: AbstractLengthScale
    functions: AbstractStabilityFunctions
    von_karman: Scalar  # kappa of the logarithmic layer [1]
    waves: ShearFreeLayer | None  # layer below breaking waves, if any
    has_shortest_length: bool = eqx.field(default=False, static=True)  # that of k and epsilon at their floors

    def init(self, inputs: ClosureInputs) -> TurbulenceState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared))
        settings = self.settings
        waves_drive_momentum = isinstance(self.functions, AbstractWaveFunctions) or settings.lagrangian_stress
        waves_drive_momentum = waves_drive_momentum and inputs.waves is not None
        return TurbulenceState(
            eddy_viscosity=faces + settings.initial_eddy_coefficient,
            eddy_diffusivity=faces + settings.initial_eddy_coefficient,
            turbulent_kinetic_energy=faces + settings.turbulent_kinetic_energy_floor,
            dissipation_rate=faces + settings.dissipation_rate_floor,
            stokes_viscosity=faces if waves_drive_momentum else None,
        )

    def step(self, clo_state: TurbulenceState, inputs: ClosureInputs, dt: ScalarLike) -> TurbulenceState:
        production = self.production(clo_state, inputs)  # applies `at_interface` itself
        inputs = self.at_interface(inputs)
        stability = self._stability(clo_state, production.stokes, inputs)
        return self.advanced(clo_state, production, stability, inputs, dt)

    def production(self, clo_state: TurbulenceState, inputs: ClosureInputs) -> Production:
        inputs = self.at_interface(inputs)
        n_squared, s_squared = inputs.buoyancy_frequency_squared, inputs.shear_squared
        plume, waves, viscosity = inputs.plume_energy, inputs.waves, inner_faces(clo_state.eddy_viscosity)
        by_shear = viscosity * s_squared
        by_buoyancy = -inner_faces(clo_state.eddy_diffusivity) * n_squared
        if plume is not None:
            by_shear = by_shear + plume.shear_production
            by_buoyancy = by_buoyancy + plume.buoyancy_production
        if inputs.stirring is not None:
            by_shear = by_shear + inputs.stirring
        if waves is None:
            return Production(by_shear, by_buoyancy, None)
        by_waves = viscosity * waves.shear
        if clo_state.stokes_viscosity is not None:
            driven = inner_faces(clo_state.stokes_viscosity)
            by_shear = by_shear + driven * waves.shear
            by_waves = by_waves + driven * waves.shear_squared
        if waves.in_velocity:  # S² includes the drift: P_St is part of nu S²
            by_shear = by_shear - by_waves
        return Production(by_shear, by_buoyancy, by_waves)

    def at_interface(self, inputs: ClosureInputs) -> ClosureInputs:
        """Multiply stable N² by h / dz, so that Ri is that of a jump of thickness h < dz below a mixed layer.

        The jump has N² larger than the cells by dz / h, and S² by (dz / h)²: Ri is smaller by h / dz.
        """
        if self.settings.interface_thickness is None:
            return inputs
        ratio = self.settings.interface_thickness * _wall_distance(inputs) / inputs.grid.center_spacing
        n_squared = inputs.buoyancy_frequency_squared
        n_squared = jnp.where(n_squared > 0.0, n_squared * at_most(ratio, 1.0), n_squared)
        return dataclasses.replace(inputs, buoyancy_frequency_squared=n_squared)

    def _stability(
        self, clo_state: TurbulenceState, stokes_production: InnerFaceArray | None, inputs: ClosureInputs
    ) -> StabilityValues:
        """c_mu and c_mu' for the turbulence at the start of the step."""
        tke, dissipation = clo_state.on_inner_faces
        frequency = quotient(dissipation, tke)
        functions, waves = self.functions, inputs.waves
        flow = Flow(frequency**2, inputs.buoyancy_frequency_squared, inputs.shear_squared)
        if not isinstance(functions, AbstractWaveFunctions) or waves is None or stokes_production is None:
            return self.with_stokes(*functions.in_flow(flow), inputs)
        length = functions.c_mu_0**3 * safe_sqrt(tke) * reciprocal(frequency)
        depth, spacing = -inputs.grid.z_face[1:-1], inputs.grid.center_spacing
        shear = waves.shear - waves.shear_squared if waves.in_velocity else waves.shear
        drift = Waves(shear, waves.shear_squared, stokes_production, length, depth, spacing)
        return functions.in_waves(flow, drift)

    def with_stokes(
        self, c_mu: InnerFaceArray, c_mu_prime: InnerFaceArray, inputs: ClosureInputs
    ) -> StabilityValues:
        """Add c_mu_S to c_mu and c_mu' [1]: it is c_mu if waves drive momentum."""
        waves_drive_momentum = self.settings.lagrangian_stress and inputs.waves is not None
        return StabilityValues(c_mu, c_mu_prime, c_mu if waves_drive_momentum else None)

    def advanced(
        self,
        clo_state: TurbulenceState,
        production: Production,
        stability: StabilityValues,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> TurbulenceState:
        """State at the end of a step, from production and stability functions at its start."""
        settings = self.settings
        tke, dissipation = clo_state.on_inner_faces
        start = Step(
            self.functions,
            *self._walls(inputs),
            inputs,
            dt,
            tke=tke,
            dissipation=dissipation,
            rates=Rates.of(tke, dissipation, production),
            viscosity=inner_faces(clo_state.eddy_viscosity),
            stability=stability,
            negative_in_sink=production.stokes is not None and not inputs.explicit_waves,
        )

        tke = at_least(self._new_tke(start), settings.turbulent_kinetic_energy_floor)
        dissipation = self._limited(self.length_scale.dissipation(start, tke), tke, inputs)
        scale = tke**2 * reciprocal(dissipation)
        viscosity, diffusivity = stability.momentum * scale, stability.scalars * scale
        stokes_viscosity = None if stability.stokes is None else stability.stokes * scale
        if stokes_viscosity is not None and inputs.waves is not None and inputs.waves.in_velocity:
            stokes_viscosity = stokes_viscosity - viscosity  # nu mixes the drift in the velocity already
        if settings.internal_waves is not None:
            viscosity, diffusivity = settings.internal_waves.mix((viscosity, diffusivity), tke, inputs)
        bottom, surface = self._at_wall(start.bottom), self._at_wall(start.surface)
        return TurbulenceState(
            eddy_viscosity=with_end_faces(viscosity),
            eddy_diffusivity=with_end_faces(diffusivity),
            turbulent_kinetic_energy=with_end_faces(tke, bottom[0], surface[0]),
            dissipation_rate=with_end_faces(dissipation, bottom[1], surface[1]),
            stokes_viscosity=None if stokes_viscosity is None else with_end_faces(stokes_viscosity),
        )

    def _new_tke(self, now: Step) -> InnerFaceArray:
        """k [m2 s-2] at the end of the step, before its floor."""
        source, sink_rate = now.sources_of_tke()
        ends = [wall.tke_condition(now.functions.c_mu_0) for wall in (now.bottom, now.surface)]
        conductance, plume = self.diffusion.conductance(now), now.inputs.plume_energy
        flow = None if plume is None else plume.turbulent_flow(now.tke)
        return advance(now.tke, conductance, source, sink_rate, ends, now.inputs, now.dt, flow)

    def _walls(self, inputs: ClosureInputs) -> tuple[Wall, Wall]:
        """Bottom and surface, with the friction velocities and roughness lengths of a step."""
        settings, thickness = self.settings, inputs.grid.cell_thickness
        friction_velocity, z_0 = inputs.surface_friction_velocity, settings.surface_roughness_length
        if settings.charnock_constant is not None:
            charnock = charnock_length(inputs.friction_velocity_of_sea, settings.charnock_constant)
            z_0 = at_least(charnock, z_0)
        slope = self.von_karman if self.waves is None else self.waves.length_slope
        convection = None
        if settings.convective_flux_factor is not None:
            buoyancy_loss = at_least(-inputs.surface_buoyancy_flux, 0.0)
            convection = 0.5 * settings.convective_flux_factor * buoyancy_loss * thickness[-1]
        surface = Wall(settings.surface, friction_velocity, z_0, thickness[-1], slope, self.waves, convection)
        if inputs.bottom is None:
            friction_velocity, z_0 = jnp.zeros_like(friction_velocity), settings.bottom_roughness_length
        else:
            friction_velocity, z_0 = inputs.bottom.friction_velocity, inputs.bottom.roughness_length
        return Wall(settings.bottom, friction_velocity, z_0, thickness[0], self.von_karman, None), surface

    def _limited(
        self, dissipation: InnerFaceArray, tke: InnerFaceArray, inputs: ClosureInputs
    ) -> InnerFaceArray:
        """epsilon with its floor and the limits of l: by stratification, by wall distance, and from below."""
        limit, floor = self.settings.length_limit, self.settings.dissipation_rate_floor
        dissipation = at_least(dissipation, floor)
        if limit is not None:
            n_squared = inputs.buoyancy_frequency_squared
            smallest = self.functions.c_mu_0**3 / (math.sqrt(2.0) * limit) * tke * safe_sqrt(n_squared)
            dissipation = at_least(dissipation, smallest)
        if self.settings.wall_length_limit is not None:
            longest_length = self.settings.wall_length_limit * _wall_distance(inputs)
            smallest = self.functions.c_mu_0**3 * tke * safe_sqrt(tke) * reciprocal(longest_length)
            dissipation = at_least(dissipation, smallest)
        if self.has_shortest_length:
            ratio = tke / self.settings.turbulent_kinetic_energy_floor
            dissipation = at_least(at_most(dissipation, floor * ratio * safe_sqrt(ratio)), floor)
        return dissipation

    def _at_wall(self, wall: Wall) -> tuple[Scalar, Scalar]:
        """k and epsilon at the distance z_0 from a wall, for output and for plumes."""
        distance, c_mu_0 = 2.0 * wall.roughness_length, self.functions.c_mu_0
        tke = at_least(wall.tke_at(distance, c_mu_0), self.settings.turbulent_kinetic_energy_floor)
        dissipation = c_mu_0**3 * tke * safe_sqrt(tke) / (wall.length_slope * distance)
        return tke, at_least(dissipation, self.settings.dissipation_rate_floor)


def _wall_distance(inputs: ClosureInputs) -> InnerFaceArray:
    """Distance from the nearer end of the column [m]."""
    z = inputs.grid.z_face
    return at_most(-z[1:-1], z[1:-1] - z[0])


class AbstractEnergyClosure(AbstractClosure[TurbulenceState]):
    """A closure with an equation for k, and GOTM's settings.

    Args:
        sigma_k: turbulent Schmidt number of k [1].
        length_limit: c in l <= c sqrt(2 k) / N [1]; `None` for no limit.
        wall_length_limit: largest length per distance from the nearest wall, surface or bottom [1]; `None`
            for no limit. Where waves and buoyancy reduce epsilon, the length would grow without bound.
        interface_thickness: thickness of the jump at the end of a mixed layer over the depth of that layer
            [1]; where cells are thicker, the closure reduces N² so that the Richardson number is that of the
            jump; `None` for N² of the cells, as in GOTM.
        turbulent_kinetic_energy_floor, dissipation_rate_floor: minimum values; they determine when convection
            starts from rest.
        surface_roughness_length: z_0 of the surface [m]; its lower limit if `charnock_constant` is given.
        bottom_roughness_length: z_0 of the bottom if there is no bottom friction [m].
        charnock_constant: factor in z_0 = constant u*² / g at the surface [1]; `None` for a constant z_0.
        initial_eddy_coefficient: nu and kappa in the first step [m2 s-1].
        convective_flux_factor: fraction c of the production of k in the upper half of the uppermost cell, by
            surface buoyancy loss B_0, that enters the column, as the flux c B_0 dz / 2, if `surface.tke` is
            "flux" [1]; `None` for none, as in GOTM.
        lagrangian_stress: whether momentum is mixed down the gradient of current plus Stokes drift.
        stability: stability functions.
        surface, bottom: boundary conditions.
        internal_waves: mixing by internal waves in weak turbulence.

    Raises:
        ValueError: breaking waves at the bottom.
    """

    sigma_k: Scalar = parameter(1.0, valid_range=(0.1, 5.0))
    length_limit: Scalar | None = parameter(0.27, valid_range=(0.01, 2.0))
    wall_length_limit: Scalar | None = parameter(None, valid_range=(0.3, 100.0))
    interface_thickness: Scalar | None = parameter(None, valid_range=(0.05, 2.0))
    turbulent_kinetic_energy_floor: Scalar = parameter(1e-10, unit="m2 s-2", valid_range=(1e-16, 1e-3))
    dissipation_rate_floor: Scalar = parameter(1e-12, unit="m2 s-3", valid_range=(1e-18, 1e-5))
    surface_roughness_length: Scalar = parameter(0.02, unit="m", valid_range=(1e-5, 20.0))
    bottom_roughness_length: Scalar = parameter(0.0015, unit="m", valid_range=(1e-6, 10.0))
    charnock_constant: Scalar | None = parameter(None, valid_range=(0.0, 1e6))
    initial_eddy_coefficient: Scalar = parameter(1e-6, unit="m2 s-1", valid_range=(0.0, 10.0))
    convective_flux_factor: Scalar | None = parameter(None, valid_range=(0.0, 10.0))
    lagrangian_stress: bool = setting(False)
    stability: AbstractStability = eqx.field(default_factory=SecondMomentClosure)
    surface: Boundary = eqx.field(default_factory=Boundary)
    bottom: Boundary = eqx.field(default_factory=Boundary)
    internal_waves: BackgroundMixing | None = None

    def __check_init__(self):
        if self.bottom.breaking_waves is not None:
            raise ValueError(
                f"{type(self).__name__}: expected breaking waves at the surface only, got some at the bottom."
            )
