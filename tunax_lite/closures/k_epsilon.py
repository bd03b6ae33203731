"""The k-epsilon closure with the algebraic second-moment closure in quasi-equilibrium.

    dk/dt   = d/dz (nu/sigma_k dk/dz)     + P + B - eps
    deps/dt = d/dz (nu/sigma_e deps/dz)   + eps/k (c_e1 P + c_e3 B - c_e2 eps)
    P = nu S²,   B = -kappa N²,   nu = c_mu k²/eps,   kappa = c_mu' k²/eps

Both equations are implicit in the diffusion and in the sinks (Patankar), with P and B from the eddy
coefficients at the start of the step. Unknowns live on inner faces; the flux conditions act at the
centers of the uppermost and the lowest cell, half a cell from the wall: no flux of k, and the flux of
epsilon that the logarithmic layer has there.

Source: Rodi (1987), J. Geophys. Res. 92, 5305-5328; Burchard and Bolding (2001), J. Phys. Oceanogr. 31,
1943-1968; discretisation and order of operations of GOTM.
"""

import dataclasses
import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..grid import Grid
from ..numerics.diffusion import Source, diffuse
from ..numerics.limiters import at_least, reciprocal, safe_sqrt
from ..numerics.stencils import mean_of_neighbours, with_end_faces
from .base import AbstractClosure, CloState, ClosureInputs
from .second_moment import SecondMomentClosure, StabilityFunctions


class KEpsilonState(CloState):
    """Eddy coefficients [m2 s-1], k [m2 s-2] and epsilon [m2 s-3] on faces."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    turbulent_kinetic_energy: FaceArray
    dissipation_rate: FaceArray
    nonlocal_transport: None = None


class _Turbulence(NamedTuple):
    """Turbulence at the start of a step, on inner faces."""

    tke: InnerFaceArray
    inverse_tke: InnerFaceArray
    dissipation: InnerFaceArray
    viscosity_at_centers: ColumnArray
    shear_production: InnerFaceArray
    buoyancy_production: InnerFaceArray


class Derived(eqx.Module):
    """What follows from the parameters of `KEpsilon`, computed once per run."""

    functions: StabilityFunctions
    c_eps_3_stable: Scalar
    von_karman: Scalar


class KEpsilon(AbstractClosure[KEpsilonState]):
    """k-epsilon as in GOTM, with GOTM's constants.

    Args:
        c_eps_1, c_eps_2: production and sink of epsilon [1].
        c_eps_3_minus: buoyancy term in stable water (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_eps_3_plus: the same in unstable water (B > 0).
        sigma_k, sigma_eps: turbulent Schmidt numbers [1].
        steady_state_richardson_number: where sheared stratified turbulence neither grows nor decays.
        length_limit: c in l <= c sqrt(2 k) / N, the limit of Galperin et al. (1988) [1].
        turbulent_kinetic_energy_floor, dissipation_rate_floor: lowest values; they decide when
            convection sets in from rest.
        surface_roughness_length, bottom_roughness_length: z_0 of the logarithmic layers [m].
        initial_eddy_coefficient: nu and kappa of the first step [m2 s-1].
        second_moment: constants of the stability functions.
        derived: set by `prepare`, which the time loop calls; not to be given.
    """

    c_eps_1: Scalar = parameter(1.44, valid_range=(1.0, 2.5))
    c_eps_2: Scalar = parameter(1.92, valid_range=(1.1, 3.5))
    c_eps_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 2.0))
    c_eps_3_plus: Scalar = parameter(1.5, valid_range=(-2.0, 5.0))
    sigma_k: Scalar = parameter(1.0, valid_range=(0.1, 5.0))
    sigma_eps: Scalar = parameter(1.3, valid_range=(0.1, 5.0))
    steady_state_richardson_number: Scalar = parameter(0.25, valid_range=(0.05, 0.8))
    length_limit: Scalar = parameter(0.27, valid_range=(0.01, 2.0))
    turbulent_kinetic_energy_floor: Scalar = parameter(1e-10, unit="m2 s-2", valid_range=(1e-16, 1e-3))
    dissipation_rate_floor: Scalar = parameter(1e-12, unit="m2 s-3", valid_range=(1e-18, 1e-5))
    surface_roughness_length: Scalar = parameter(0.02, unit="m", valid_range=(1e-5, 20.0))
    bottom_roughness_length: Scalar = parameter(0.0015, unit="m", valid_range=(1e-6, 10.0))
    initial_eddy_coefficient: Scalar = parameter(1e-6, unit="m2 s-1", valid_range=(0.0, 10.0))
    second_moment: SecondMomentClosure = eqx.field(default_factory=SecondMomentClosure)

    derived: Derived | None = None

    @property
    def von_karman(self) -> Scalar:
        """kappa of the logarithmic layer that the other constants imply [1]; 0.416 by default."""
        return self._derive().von_karman

    @property
    def c_eps_3_stable(self) -> Scalar:
        """`c_eps_3_minus`, or what the steady-state Richardson number implies [1]; -0.621 by default.

        Source: Burchard and Baumert (1995), J. Geophys. Res. 100, 8523-8540.
        """
        return self._derive().c_eps_3_stable

    def prepare(self) -> "KEpsilon":
        return dataclasses.replace(self, derived=self._derive())

    def _derive(self) -> Derived:
        functions = self.second_moment.stability_functions()
        c_eps_3 = self.c_eps_3_minus
        if c_eps_3 is None:
            ri = self.steady_state_richardson_number
            ratio = functions.equilibrium_ratio(ri)
            c_eps_3 = self.c_eps_2 + (self.c_eps_1 - self.c_eps_2) / ri * ratio
        # Without a logarithmic layer (c_eps_1 >= c_eps_2) a thin one stands in: kappa divides at the walls.
        growth = at_least(self.sigma_eps * (self.c_eps_2 - self.c_eps_1), 1e-4)
        return Derived(functions, c_eps_3, functions.c_mu_0 * safe_sqrt(growth))

    def init(self, inputs: ClosureInputs) -> KEpsilonState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared, 0.0, 0.0))
        return KEpsilonState(
            eddy_viscosity=faces + self.initial_eddy_coefficient,
            eddy_diffusivity=faces + self.initial_eddy_coefficient,
            turbulent_kinetic_energy=faces + self.turbulent_kinetic_energy_floor,
            dissipation_rate=faces + self.dissipation_rate_floor,
        )

    def step(self, clo_state: KEpsilonState, inputs: ClosureInputs, dt: ScalarLike) -> KEpsilonState:
        derived = self._derive() if self.derived is None else self.derived
        functions = derived.functions
        n_squared = inputs.buoyancy_frequency_squared
        tke = clo_state.turbulent_kinetic_energy[1:-1]
        dissipation = clo_state.dissipation_rate[1:-1]
        viscosity = clo_state.eddy_viscosity[1:-1]
        old = _Turbulence(
            tke=tke,
            inverse_tke=reciprocal(tke),
            dissipation=dissipation,
            viscosity_at_centers=mean_of_neighbours(viscosity),
            shear_production=viscosity * inputs.shear_squared,
            buoyancy_production=-clo_state.eddy_diffusivity[1:-1] * n_squared,
        )
        c_mu, c_mu_prime = functions.quasi_equilibrium((tke * reciprocal(dissipation)) ** 2 * n_squared)

        new_tke = self._advance_tke(old, inputs, dt)
        new_dissipation = self._advance_dissipation(old, new_tke, derived, inputs, dt)
        new_dissipation = self._limit_length(new_tke, new_dissipation, functions.c_mu_0, n_squared)

        scale = new_tke**2 * reciprocal(new_dissipation)
        friction_velocity = inputs.surface_friction_velocity
        surface = self._at_wall(friction_velocity, self.surface_roughness_length, derived)
        bottom = self._at_wall(jnp.zeros_like(friction_velocity), self.bottom_roughness_length, derived)
        return KEpsilonState(
            eddy_viscosity=with_end_faces(c_mu * scale, 0.0, 0.0),
            eddy_diffusivity=with_end_faces(c_mu_prime * scale, 0.0, 0.0),
            turbulent_kinetic_energy=with_end_faces(new_tke, bottom[0], surface[0]),
            dissipation_rate=with_end_faces(new_dissipation, bottom[1], surface[1]),
        )

    def _advance_tke(self, old: _Turbulence, inputs: ClosureInputs, dt: ScalarLike) -> InnerFaceArray:
        grid = inputs.grid
        produced = old.shear_production + old.buoyancy_production
        grows = produced > 0.0
        # Patankar: where the sum would consume k, its buoyancy part joins the implicit sink.
        source = jnp.where(grows, produced, old.shear_production)
        sink = jnp.where(grows, old.dissipation, old.dissipation - old.buoyancy_production)
        new_tke = diffuse(
            old.tke,
            old.viscosity_at_centers * reciprocal(self.sigma_k * grid.cell_thickness[1:-1]),
            grid.center_spacing,
            dt,
            source=Source(volumes=source * grid.center_spacing),
            sink_rate=sink * old.inverse_tke,
            method=inputs.tridiagonal_method,
        )
        return at_least(new_tke, self.turbulent_kinetic_energy_floor)

    def _advance_dissipation(
        self,
        old: _Turbulence,
        new_tke: InnerFaceArray,
        derived: Derived,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        grid = inputs.grid
        unstable = old.buoyancy_production > 0.0
        c_eps_3 = jnp.where(unstable, self.c_eps_3_plus, derived.c_eps_3_stable)
        shear_part = self.c_eps_1 * old.shear_production
        buoyancy_part = c_eps_3 * old.buoyancy_production
        produced = shear_part + buoyancy_part
        grows = produced > 0.0
        source = old.dissipation * old.inverse_tke * jnp.where(grows, produced, shear_part)
        consumed = self.c_eps_2 * old.dissipation
        # The sink is eps/k times this and is divided by eps: 1/k remains.
        sink = jnp.where(grows, consumed, consumed - buoyancy_part)
        fluxes = self._dissipation_fluxes(new_tke, derived.functions.c_mu_0, grid)
        return diffuse(
            old.dissipation,
            old.viscosity_at_centers * reciprocal(self.sigma_eps * grid.cell_thickness[1:-1]),
            grid.center_spacing,
            dt,
            source=Source(source * grid.center_spacing, *fluxes),
            sink_rate=sink * old.inverse_tke,
            method=inputs.tridiagonal_method,
        )

    def _dissipation_fluxes(self, tke: InnerFaceArray, c_mu_0: Scalar, grid: Grid) -> tuple[Scalar, Scalar]:
        """Fluxes of epsilon into the column, at the centers of the end cells [m3 s-4]."""
        factor = c_mu_0**4 / self.sigma_eps
        thickness = grid.cell_thickness
        from_bottom = 0.5 * thickness[0] + self.bottom_roughness_length
        from_surface = 0.5 * thickness[-1] + self.surface_roughness_length
        return factor * tke[0] ** 2 / from_bottom, factor * tke[-1] ** 2 / from_surface

    def _limit_length(
        self, tke: InnerFaceArray, dissipation: InnerFaceArray, c_mu_0: Scalar, n_squared: InnerFaceArray
    ) -> InnerFaceArray:
        """Floor of epsilon, and the limit of Galperin et al. (1988) on the length in stable water."""
        lowest = c_mu_0**3 / (math.sqrt(2.0) * self.length_limit) * tke * safe_sqrt(n_squared)
        return at_least(at_least(dissipation, self.dissipation_rate_floor), lowest)

    def _at_wall(
        self, friction_velocity: Scalar, roughness_length: Scalar, derived: Derived
    ) -> tuple[Scalar, Scalar]:
        """k and epsilon of the logarithmic layer at a wall; they do not enter the next step."""
        c_mu_0 = derived.functions.c_mu_0
        tke = at_least((friction_velocity / c_mu_0) ** 2, self.turbulent_kinetic_energy_floor)
        dissipation = c_mu_0**3 * tke * safe_sqrt(tke) / (derived.von_karman * 2.0 * roughness_length)
        return tke, at_least(dissipation, self.dissipation_rate_floor)
