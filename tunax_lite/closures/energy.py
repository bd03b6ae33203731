"""What all closures with an equation for the turbulent kinetic energy k share: its step, written once.

    dk/dt = d/dz (nu / sigma_k dk/dz) + P + P_St + B - eps
    P = nu S²,   P_St = nu dU/dz . dU_s/dz,   B = -kappa N²,   nu = c_mu k²/eps,   kappa = c_mu' k²/eps
    eps = c_mu0³ k^(3/2) / l

and where waves drive momentum, u'w' = -nu dU/dz - nu_S dU_s/dz with nu_S = c_mu_S k²/eps,
P = nu S² + nu_S dU/dz . dU_s/dz and P_St = nu dU/dz . dU_s/dz + nu_S |dU_s/dz|².

The order is that of GOTM: P, B and the stability functions from k, eps, nu and kappa at the start of the
step; then k; then the length scale, as eps; then floors and the limit of the length; then nu and kappa from
the new k and eps with those stability functions. The diffusion and the sinks are implicit (Patankar).
Unknowns live on inner faces, and what follows from the laws of `walls` on both ends.

Source: Umlauf and Burchard (2005), Cont. Shelf Res. 25, 795-827; Burchard et al. (2003), Appl. Numer. Math.
47, 1-30, for the split of sources; Galperin et al. (1988), J. Atmos. Sci. 45, 55-62, for the limit of l.
"""

import abc
import dataclasses
import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..grid import Grid
from ..numerics.diffusion import EndValues, Flow, Source, diffuse
from ..numerics.limiters import at_least, at_most, reciprocal, safe_sqrt
from ..numerics.stencils import mean_of_neighbours, with_end_faces
from .base import AbstractClosure, CloState, ClosureInputs
from .internal_waves import AbstractInternalWaves
from .stability import AbstractStability, AbstractStabilityFunctions, SecondMomentClosure, Waves
from .walls import Boundary, EndCondition, ShearFreeLayer, Wall, charnock_length


class TurbulenceState(CloState):
    """Eddy coefficients [m2 s-1], k [m2 s-2] and epsilon [m2 s-3] on faces.

    `stokes_viscosity` is nu_S; `None` where waves drive no momentum.
    """

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    turbulent_kinetic_energy: FaceArray
    dissipation_rate: FaceArray
    stokes_viscosity: FaceArray | None = None
    nonlocal_transport: None = None

    def down_stokes_shear(self) -> FaceArray | None:
        return self.stokes_viscosity


class Turbulence(NamedTuple):
    """Turbulence on inner faces: what rates are taken from, and k and epsilon at the start of the step.

    Rates are those of the start of the step, unless it is repeated with those of its middle.
    """

    tke_before: InnerFaceArray
    dissipation_before: InnerFaceArray
    tke: InnerFaceArray
    inverse_tke: InnerFaceArray
    dissipation: InnerFaceArray
    time_scale: InnerFaceArray
    viscosity: InnerFaceArray
    viscosity_at_centers: ColumnArray
    shear_production: InnerFaceArray
    buoyancy_production: InnerFaceArray
    stokes_production: InnerFaceArray | None
    flow: Flow | None
    c_mu: InnerFaceArray
    c_mu_prime: InnerFaceArray
    c_mu_stokes: InnerFaceArray | None
    waves_join_sink: bool

    def towards(self, tke: InnerFaceArray, dissipation: InnerFaceArray) -> "Turbulence":
        """With rates of k and epsilon halfway, in their logarithms, to given ones; production as it was."""
        tke, dissipation = safe_sqrt(self.tke * tke), safe_sqrt(self.dissipation * dissipation)
        return self._replace(
            tke=tke,
            inverse_tke=reciprocal(tke),
            dissipation=dissipation,
            time_scale=tke * reciprocal(dissipation),
        )

    def sources_of_tke(self) -> tuple[InnerFaceArray, InnerFaceArray]:
        """Source of k [m2 s-3] and rate of its implicit sink [s-1]."""
        production = self.shear_production
        if self.stokes_production is not None:
            production = production + self.stokes_production
        parts = production, self.buoyancy_production, self.dissipation
        source, sink = split_sources(*parts, waves=self.waves_join_sink)
        return source, sink * self.inverse_tke


class Derived(eqx.Module):
    """What follows from the parameters of a closure, computed once per run.

    Args:
        functions: stability functions.
        von_karman: kappa of the logarithmic layer [1].
        waves: the layer below breaking waves, if there are any.
        length_scale: what the length scale needs; `None` for an algebraic one.
    """

    functions: AbstractStabilityFunctions
    von_karman: Scalar
    waves: ShearFreeLayer | None
    length_scale: eqx.Module | None = None


class Walls(NamedTuple):
    bottom: Wall
    surface: Wall


def advance(
    quantity: InnerFaceArray,
    conductance: ColumnArray,
    source: InnerFaceArray,
    sink_rate: InnerFaceArray,
    ends: tuple[EndCondition, EndCondition],
    inputs: ClosureInputs,
    dt: ScalarLike,
    flow: Flow | None = None,
) -> InnerFaceArray:
    """A turbulence quantity after one implicit step, with a source per volume and the two ends."""
    bottom, surface = ends
    spacing = inputs.grid.center_spacing
    held = None
    if bottom.value is not None or surface.value is not None:
        held = EndValues(bottom.value, surface.value)
    return diffuse(
        quantity,
        conductance,
        spacing,
        dt,
        source=Source(source * spacing, bottom.flux, surface.flux),
        sink_rate=sink_rate,
        held=held,
        flow=flow,
        method=inputs.tridiagonal_method,
    )


def split_sources(
    production: InnerFaceArray, buoyancy: InnerFaceArray, sink: InnerFaceArray, *, waves: bool
) -> tuple[InnerFaceArray, InnerFaceArray]:
    """Explicit source and implicit sink of a quantity, so that no step makes it negative (Patankar).

    Where the sum of production and buoyancy would consume, its buoyancy part joins the sink, and in `waves`,
    which may take energy, the production too if it is negative.
    """
    produced = production + buoyancy
    grows = produced > 0.0
    source = jnp.where(grows, produced, production)
    more = buoyancy + at_most(production, 0.0) if waves else buoyancy
    return at_least(source, 0.0) if waves else source, jnp.where(grows, sink, sink - more)


class AbstractEnergyClosure(AbstractClosure[TurbulenceState]):
    """A closure that carries k, with the settings of GOTM.

    Args:
        sigma_k: turbulent Schmidt number of k [1].
        length_limit: c in l <= c sqrt(2 k) / N [1]; `None` for no limit.
        turbulent_kinetic_energy_floor, dissipation_rate_floor: lowest values; they decide when
            convection sets in from rest.
        surface_roughness_length: z_0 of the surface [m]; the least if `charnock_constant` is given.
        bottom_roughness_length: z_0 of the bottom where the model has no bottom friction [m].
        charnock_constant: of z_0 = constant u*² / g at the surface [1]; `None` for a constant z_0.
        initial_eddy_coefficient: nu and kappa of the first step [m2 s-1].
        stability: stability functions.
        surface, bottom: conditions at the ends.
        internal_waves: mixing by internal waves where turbulence is weak.
        derived: set by `prepare`, which the time loop calls; not to be given.

    Raises:
        ValueError: breaking waves at the bottom.
    """

    sigma_k: Scalar = parameter(1.0, valid_range=(0.1, 5.0))
    length_limit: Scalar | None = parameter(0.27, valid_range=(0.01, 2.0))
    turbulent_kinetic_energy_floor: Scalar = parameter(1e-10, unit="m2 s-2", valid_range=(1e-16, 1e-3))
    dissipation_rate_floor: Scalar = parameter(1e-12, unit="m2 s-3", valid_range=(1e-18, 1e-5))
    surface_roughness_length: Scalar = parameter(0.02, unit="m", valid_range=(1e-5, 20.0))
    bottom_roughness_length: Scalar = parameter(0.0015, unit="m", valid_range=(1e-6, 10.0))
    charnock_constant: Scalar | None = parameter(None, valid_range=(0.0, 1e6))
    initial_eddy_coefficient: Scalar = parameter(1e-6, unit="m2 s-1", valid_range=(0.0, 10.0))
    stability: AbstractStability = eqx.field(default_factory=SecondMomentClosure)
    surface: Boundary = eqx.field(default_factory=Boundary)
    bottom: Boundary = eqx.field(default_factory=Boundary)
    internal_waves: AbstractInternalWaves | None = None
    derived: Derived | None = None

    def __check_init__(self):
        if self.bottom.breaking_waves is not None:
            raise ValueError(
                f"{type(self).__name__}: expected breaking waves at the surface only, got some at the bottom."
            )

    @property
    def _repeats(self) -> bool:
        """Whether a step is taken again with the rates of its middle."""
        return False

    @abc.abstractmethod
    def _derive(self) -> Derived:
        """What follows from the parameters."""

    @abc.abstractmethod
    def _dissipation(
        self,
        old: Turbulence,
        new_tke: InnerFaceArray,
        derived: Derived,
        walls: Walls,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        """epsilon at the end of the step [m2 s-3], before floors and limits."""

    def prepare(self) -> "AbstractEnergyClosure":
        return dataclasses.replace(self, derived=self._derive())

    def init(self, inputs: ClosureInputs) -> TurbulenceState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared, 0.0, 0.0))
        driven = self.stability.follows_waves and inputs.stokes_shear is not None
        return TurbulenceState(
            eddy_viscosity=faces + self.initial_eddy_coefficient,
            eddy_diffusivity=faces + self.initial_eddy_coefficient,
            turbulent_kinetic_energy=faces + self.turbulent_kinetic_energy_floor,
            dissipation_rate=faces + self.dissipation_rate_floor,
            stokes_viscosity=faces if driven else None,
        )

    def step(self, clo_state: TurbulenceState, inputs: ClosureInputs, dt: ScalarLike) -> TurbulenceState:
        derived = self._derive() if self.derived is None else self.derived
        functions, n_squared = derived.functions, inputs.buoyancy_frequency_squared
        old, walls = self._turbulence(clo_state, derived, inputs), self._walls(derived, inputs)

        def evolve(rates: Turbulence) -> tuple[InnerFaceArray, InnerFaceArray]:
            tke = self._advance_tke(rates, derived, walls, inputs, dt)
            dissipation = self._dissipation(rates, tke, derived, walls, inputs, dt)
            return tke, self._limit_length(tke, dissipation, functions.c_mu_0, n_squared)

        tke, dissipation = evolve(old)
        if self._repeats:
            tke, dissipation = evolve(old.towards(tke, dissipation))

        scale = tke**2 * reciprocal(dissipation)
        viscosity, diffusivity = old.c_mu * scale, old.c_mu_prime * scale
        driven = None if old.c_mu_stokes is None else with_end_faces(old.c_mu_stokes * scale, 0.0, 0.0)
        if self.internal_waves is not None:
            viscosity, diffusivity = self.internal_waves.mix(
                viscosity, diffusivity, tke, n_squared, inputs.shear_squared
            )
        (tke_bottom, dissipation_bottom), (tke_surface, dissipation_surface) = (
            self._at_wall(wall, functions.c_mu_0) for wall in walls
        )
        return TurbulenceState(
            eddy_viscosity=with_end_faces(viscosity, 0.0, 0.0),
            eddy_diffusivity=with_end_faces(diffusivity, 0.0, 0.0),
            turbulent_kinetic_energy=with_end_faces(tke, tke_bottom, tke_surface),
            dissipation_rate=with_end_faces(dissipation, dissipation_bottom, dissipation_surface),
            stokes_viscosity=driven,
        )

    def _turbulence(self, clo_state: TurbulenceState, derived: Derived, inputs: ClosureInputs) -> Turbulence:
        tke = clo_state.turbulent_kinetic_energy[1:-1]
        dissipation = clo_state.dissipation_rate[1:-1]
        viscosity, plume = clo_state.eddy_viscosity[1:-1], inputs.plume_energy
        time_scale = tke * reciprocal(dissipation)
        by_shear, by_buoyancy, by_waves = self.production(clo_state, inputs)
        length = derived.functions.c_mu_0**3 * safe_sqrt(tke) * time_scale
        c_mu, c_mu_prime, c_mu_stokes = self._functions(time_scale, length, by_waves, derived, inputs)
        return Turbulence(
            tke_before=tke,
            dissipation_before=dissipation,
            tke=tke,
            inverse_tke=reciprocal(tke),
            dissipation=dissipation,
            time_scale=time_scale,
            viscosity=viscosity,
            viscosity_at_centers=mean_of_neighbours(viscosity),
            shear_production=by_shear,
            buoyancy_production=by_buoyancy,
            stokes_production=by_waves,
            flow=None if plume is None else plume.turbulent_flow(tke),
            c_mu=c_mu,
            c_mu_prime=c_mu_prime,
            c_mu_stokes=c_mu_stokes,
            waves_join_sink=by_waves is not None and not inputs.explicit_waves,
        )

    def production(
        self, clo_state: TurbulenceState, inputs: ClosureInputs
    ) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray | None]:
        """P, B and P_St [m2 s-3]; the last is `None` without waves."""
        n_squared, s_squared = inputs.buoyancy_frequency_squared, inputs.shear_squared
        if self.internal_waves is not None:
            s_squared = self.internal_waves.producing_shear_squared(s_squared, n_squared)
        viscosity, plume = clo_state.eddy_viscosity[1:-1], inputs.plume_energy
        by_shear = viscosity * s_squared
        by_buoyancy = -clo_state.eddy_diffusivity[1:-1] * n_squared
        if plume is not None:
            by_shear = by_shear + plume.shear_production
            by_buoyancy = by_buoyancy + plume.buoyancy_production
        if inputs.stokes_shear is None:
            return by_shear, by_buoyancy, None
        by_waves = viscosity * inputs.stokes_shear
        if clo_state.stokes_viscosity is not None and inputs.stokes_shear_squared is not None:
            driven = clo_state.stokes_viscosity[1:-1]
            by_shear = by_shear + driven * inputs.stokes_shear
            by_waves = by_waves + driven * inputs.stokes_shear_squared
        return by_shear, by_buoyancy, by_waves

    def _functions(
        self,
        time_scale: InnerFaceArray,
        length: InnerFaceArray,
        stokes_production: InnerFaceArray | None,
        derived: Derived,
        inputs: ClosureInputs,
    ) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray | None]:
        """c_mu, c_mu' and, where waves drive momentum, c_mu_S [1]."""
        flow = time_scale**2, inputs.buoyancy_frequency_squared, inputs.shear_squared
        shear, shear_squared = inputs.stokes_shear, inputs.stokes_shear_squared
        if shear is None or shear_squared is None or stokes_production is None:
            return *derived.functions.in_flow(*flow), None
        grid = inputs.grid
        waves = Waves(
            shear, shear_squared, stokes_production, length, -grid.z_face[1:-1], grid.center_spacing
        )
        return derived.functions.in_waves(*flow, waves)

    def _walls(self, derived: Derived, inputs: ClosureInputs) -> Walls:
        thickness, friction_velocity = inputs.grid.cell_thickness, inputs.surface_friction_velocity
        roughness = self.surface_roughness_length
        if self.charnock_constant is not None:
            of_sea = inputs.friction_velocity_of_sea
            roughness = at_least(charnock_length(of_sea, self.charnock_constant), roughness)
        waves = derived.waves
        slope = derived.von_karman if waves is None else waves.length_slope
        surface = Wall(self.surface, friction_velocity, roughness, thickness[-1], slope, waves)
        at_bottom, roughness = inputs.bottom_friction_velocity, inputs.bottom_roughness_length
        bottom = Wall(
            self.bottom,
            jnp.zeros_like(friction_velocity) if at_bottom is None else at_bottom,
            self.bottom_roughness_length if roughness is None else roughness,
            thickness[0],
            derived.von_karman,
            None,
        )
        return Walls(bottom, surface)

    def _advance_tke(
        self,
        old: Turbulence,
        derived: Derived,
        walls: Walls,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        source, sink_rate = old.sources_of_tke()
        c_mu_0 = derived.functions.c_mu_0
        tke = advance(
            old.tke_before,
            self._tke_conductance(old, derived, inputs.grid),
            source,
            sink_rate,
            (walls.bottom.tke_condition(c_mu_0), walls.surface.tke_condition(c_mu_0)),
            inputs,
            dt,
            old.flow,
        )
        return at_least(tke, self.turbulent_kinetic_energy_floor)

    def _tke_conductance(self, old: Turbulence, derived: Derived, grid: Grid) -> ColumnArray:
        """Diffusivity of k over the thickness, at the centers of inner cells [m s-1]."""
        return old.viscosity_at_centers * reciprocal(self.sigma_k * grid.cell_thickness[1:-1])

    def _limit_length(
        self, tke: InnerFaceArray, dissipation: InnerFaceArray, c_mu_0: Scalar, n_squared: InnerFaceArray
    ) -> InnerFaceArray:
        """epsilon with its floor, and in stable water with the limit of the length."""
        dissipation = at_least(dissipation, self.dissipation_rate_floor)
        if self.length_limit is None:
            return dissipation
        lowest = c_mu_0**3 / (math.sqrt(2.0) * self.length_limit) * tke * safe_sqrt(n_squared)
        return at_least(dissipation, lowest)

    def _at_wall(self, wall: Wall, c_mu_0: Scalar) -> tuple[Scalar, Scalar]:
        """k and epsilon at z = z_0 from a wall; they do not enter the next step."""
        distance = 2.0 * wall.roughness_length
        tke = at_least(wall.tke_at(distance, c_mu_0), self.turbulent_kinetic_energy_floor)
        dissipation = c_mu_0**3 * tke * safe_sqrt(tke) / (wall.length_slope * distance)
        return tke, at_least(dissipation, self.dissipation_rate_floor)
