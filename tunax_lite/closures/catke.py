"""CATKE: one equation for the turbulent kinetic energy e, at cell centers, and convective mixing lengths.

    de/dt = d/dz (kappa_e de/dz) + P + B - e^(3/2) / l_D,   P = nu S²,   B = -kappa N²
    nu = w l_u,   kappa = w l_c,   kappa_e = w l_e,   w = sqrt(max(e, e_min))
    kappa_e de/dz = C^Wu u*³ + C^Ww max(J_0, 0) dz  at the surface,   C^We e^(3/2)  at the bottom

with J_0 the destabilising surface buoyancy flux and dz the thickness of the uppermost cell. Length scales:

    shear:        l_psi = sigma_psi(Ri) l*,   l* = min(C^s d, C^b D, w / N)
    convection:   l_psi = C^c_psi max(0, 1 - C^sp d w S² / J) w³ / J     where N² < 0
    entrainment:  l_psi = C^e_psi J / (w N²)                             where N² > 0, and N² < 0 just above
    waves:        w / N times min(1 + C^La U_s u* / (u*² + (1 mm s-1)²), 5), if `c_waves` is not 0

with d the depth and D the height above the bottom. The largest length applies, up to the water depth.
sigma_psi is C^un_psi where Ri < 0, and varies from C^lo_psi to C^hi_psi between the Richardson numbers C^Ri0
and C^Ri0 + C^Rid. J relaxes to J_0 over the time scale of convective overturning, t = (l_D² / max(J, J_0,
J_min))^(1/3) in the uppermost cell.

Order of a step: P and B from the previous coefficients, kappa_e and l_D from the old e; then the new e, with
implicit transport, dissipation, negative P and B, and bottom flux; then J and the coefficients of the new e.

Source: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522; constants and discretisation of
Oceananigans.jl, with backward Euler instead of Adams-Bashforth steps, so that e stays positive. The factor of
waves is not published.
"""

from collections import namedtuple
from collections.abc import Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._types import CenterArray, ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..column.state import State
from ..column.terms import AbstractTerm
from ..column.terms.turbulence import StokesMixing
from ..declarations import named, setting
from ..numerics.diffusion import Sources, diffuse
from ..numerics.elementary import (
    at_least,
    at_most,
    gradient,
    inner_faces,
    mean_of_neighbours,
    reciprocal,
    safe_sqrt,
    with_end_faces,
)
from .base import AbstractCloState, AbstractPlainClosure, ClosureInputs
from .langmuir import drift_at_surface

_LARGEST_WAVE_FACTOR = 5.0
_WEAKEST_WIND = 1e-3  # friction velocity below which waves lose their effect [m s-1]
_SMALLEST_SHEAR_SQUARED = 1e-14  # S² as a divisor [s-2]

Factors = namedtuple("Factors", "high low unstable convective entraining")  # C^hi, C^lo, C^un, C^c, C^e


class LocalFlow(NamedTuple):
    """The flow at the levels of the length scales."""

    buoyancy_frequency: ColumnArray  # N in stable stratification, 0 elsewhere [s-1]
    buoyancy_frequency_squared: ColumnArray  # N² [s-2]
    shear_squared: ColumnArray  # S² [s-2]
    unstable_above: Bool[Array, "level *#batch"]  # whether N² < 0 at the next level up
    negative_ri: Bool[Array, "level *#batch"]  # whether Ri < 0
    ramp: ColumnArray  # from 0 to 1 as Ri passes from C^Ri0 to C^Ri0 + C^Rid [1]
    depth: ColumnArray  # d [m]
    inverse_wall_length: ColumnArray  # 1 / min(C^s d, C^b D) [m-1]

    @classmethod
    def of(cls, on_levels: tuple[ColumnArray, ...], z: ColumnArray, bottom: Scalar, c: "CATKE"):
        """Build from N², S² and Ri at heights z [m] over a bottom at height `bottom` [m]."""
        n_squared, s_squared, ri = on_levels
        unstable = n_squared < 0.0
        ramp = (ri - c.c_ri_0) * reciprocal(c.c_ri_delta)
        # Nothing is unstable above the uppermost level.
        unstable_above = jnp.concatenate([unstable[1:], jnp.zeros_like(unstable[:1])])
        ramp = at_most(at_least(ramp, 0.0), 1.0)
        inverse = reciprocal(at_most(-c.c_s * z, c.c_b * (z - bottom)))
        return cls(safe_sqrt(n_squared), n_squared, s_squared, unstable_above, ri < 0.0, ramp, -z, inverse)

    def sigma(self, factors: Factors) -> ColumnArray:
        """The stability function [1]."""
        stable = factors.low + (factors.high - factors.low) * self.ramp
        return jnp.where(self.negative_ri, factors.unstable, stable)


def to_centers(values: InnerFaceArray) -> ColumnArray:
    """Mean of the two faces of each cell; end cells use one face."""
    return mean_of_neighbours(jnp.concatenate([values[:1], values, values[-1:]]))


class Lengths(NamedTuple):
    """l* and the two convective lengths without their factors [m]; 0 where they do not apply."""

    stable: ColumnArray
    plume: ColumnArray
    entraining: ColumnArray

    @classmethod
    def of(cls, flow: LocalFlow, speed: ColumnArray, speed_cubed: ColumnArray, flux: Scalar, c: "CATKE"):
        """Compute the lengths for w [m s-1] and w³ in a flow, with J [m2 s-3]."""
        n_squared, smallest = at_least(flow.buoyancy_frequency_squared, 0.0), c.minimum_convective_flux
        is_convective, flux = flux > smallest, at_least(flux, 0.0)
        inverse_flux = reciprocal(flux + smallest)
        unsheared = 1.0 - c.c_sp * flow.depth * speed * flow.shear_squared * inverse_flux
        plume = at_least(unsheared, 0.0) * speed_cubed * inverse_flux
        entraining = flux * reciprocal(speed * n_squared + smallest)
        is_plume = is_convective & (flow.buoyancy_frequency_squared < 0.0)
        is_base = is_convective & (flow.buoyancy_frequency_squared > 0.0) & flow.unstable_above
        rate = at_least(flow.buoyancy_frequency, speed * flow.inverse_wall_length)
        stable = speed * reciprocal(rate)
        return cls(stable, jnp.where(is_plume, plume, 0.0), jnp.where(is_base, entraining, 0.0))

    def longest(self, stable: ColumnArray, factors: Factors, depth: Scalar) -> ColumnArray:
        """Larger of the stable length and the convective one [m], at most the water depth [m]."""
        convective = factors.convective * self.plume + factors.entraining * self.entraining
        return at_most(at_least(stable, convective), depth)


class CATKEState(AbstractCloState):
    """Eddy coefficients [m2 s-1] on faces, e [m2 s-2] at cell centers, and J.

    Args:
        mean_destabilising_flux: J, the surface buoyancy flux averaged over the last overturning [m2 s-3],
            positive if destabilising.
        stokes_viscosity: nu_S [m2 s-1]; `None` unless nu mixes a drift that is not part of the velocity.
    """

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    turbulent_kinetic_energy: CenterArray
    mean_destabilising_flux: Scalar
    stokes_viscosity: FaceArray | None = None

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        return () if self.stokes_viscosity is None else (StokesMixing(self.stokes_viscosity),)


@named("catke", catke_recommended="recommended")
class CATKE(AbstractPlainClosure[CATKEState]):
    """CATKE with the constants of Wagner et al. (2025).

    Args:
        c_hi_u, c_lo_u, c_un_u, c_c_u, c_e_u: factors of the length scale of momentum [1]: at high, low and
            negative Richardson number, in convection and in entrainment.
        c_hi_c, c_lo_c, c_un_c, c_c_c, c_e_c: the same for temperature, salinity and tracers.
        c_hi_e, c_lo_e, c_un_e, c_c_e, c_e_e: the same for e.
        c_hi_d, c_lo_d, c_un_d, c_c_d, c_e_d: the same for the dissipation; the first three are divisors.
        c_s, c_b: length over the distance to the surface and to the bottom [1]; c_b = 0.967 gives a von
            Karman constant of 0.4 above the bottom, the 0.28 of Oceananigans gives 0.116.
        c_sp: reduction of convective plumes by shear [1].
        c_ri_0, c_ri_delta: onset and width of the transition with the Richardson number [1].
        c_w_u_star, c_w_w_delta, c_w_eps: fluxes of e through the surface and into the bottom [1].
        c_waves: C^La, by which waves lengthen w / N [1].
        minimum_tke: e_min [m2 s-2], which sets the mixing of quiescent water, about `c_hi_c` e_min / N.
        minimum_convective_flux: J_min, below which there is no convection [m2 s-3].
        n_substeps: steps of e per time step of the model.
        lagrangian_stress: whether momentum is mixed down the gradient of current plus Stokes drift, whose
            shear then also enters P and Ri; always so where velocities include the drift.
    """

    c_hi_u: Scalar = parameter(0.242, valid_range=(0.0, 10.0))
    c_lo_u: Scalar = parameter(0.361, valid_range=(0.0, 10.0))
    c_un_u: Scalar = parameter(0.370, valid_range=(0.0, 10.0))
    c_c_u: Scalar = parameter(3.705, valid_range=(0.0, 20.0))
    c_e_u: Scalar = parameter(0.0, valid_range=(0.0, 2.0))
    c_hi_c: Scalar = parameter(0.098, valid_range=(0.0, 10.0))
    c_lo_c: Scalar = parameter(0.369, valid_range=(0.0, 10.0))
    c_un_c: Scalar = parameter(0.572, valid_range=(0.0, 10.0))
    c_c_c: Scalar = parameter(4.793, valid_range=(0.0, 20.0))
    c_e_c: Scalar = parameter(0.112, valid_range=(0.0, 2.0))
    c_hi_e: Scalar = parameter(0.548, valid_range=(0.0, 20.0))
    c_lo_e: Scalar = parameter(7.863, valid_range=(0.0, 20.0))
    c_un_e: Scalar = parameter(1.447, valid_range=(0.0, 20.0))
    c_c_e: Scalar = parameter(3.642, valid_range=(0.0, 20.0))
    c_e_e: Scalar = parameter(0.0, valid_range=(0.0, 2.0))
    c_hi_d: Scalar = parameter(0.579, valid_range=(0.01, 20.0))
    c_lo_d: Scalar = parameter(1.604, valid_range=(0.01, 20.0))
    c_un_d: Scalar = parameter(0.923, valid_range=(0.01, 20.0))
    c_c_d: Scalar = parameter(3.254, valid_range=(0.0, 20.0))
    c_e_d: Scalar = parameter(0.0, valid_range=(0.0, 2.0))
    c_s: Scalar = parameter(1.131, valid_range=(0.01, 10.0))
    c_b: Scalar = parameter(0.967, valid_range=(0.01, 10.0))  # kappa (c_lo_d / c_lo_u³)^(1/4), kappa = 0.4
    c_sp: Scalar = parameter(0.505, valid_range=(0.0, 10.0))
    c_ri_0: Scalar = parameter(0.254, valid_range=(0.0, 2.0))
    c_ri_delta: Scalar = parameter(1.02, valid_range=(0.01, 5.0))
    c_w_u_star: Scalar = parameter(3.179, valid_range=(0.0, 50.0))
    c_w_w_delta: Scalar = parameter(0.383, valid_range=(0.0, 10.0))
    c_w_eps: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    c_waves: Scalar = parameter(0.0, valid_range=(0.0, 10.0))
    minimum_tke: Scalar = parameter(1e-9, unit="m2 s-2", valid_range=(1e-14, 1e-4))
    minimum_convective_flux: Scalar = parameter(1e-11, unit="m2 s-3", valid_range=(1e-14, 1e-8))
    n_substeps: int = setting(1, at_least=1)
    lagrangian_stress: bool = setting(False)

    def init(self, inputs: ClosureInputs) -> CATKEState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared))
        return CATKEState(
            eddy_viscosity=faces,
            eddy_diffusivity=faces,
            turbulent_kinetic_energy=faces[1:] + self.minimum_tke,
            mean_destabilising_flux=faces[0],
            stokes_viscosity=faces if self._mixes_drift(inputs) else None,
        )

    def step(self, clo_state: CATKEState, inputs: ClosureInputs, dt: ScalarLike) -> CATKEState:
        grid, n_squared = inputs.grid, inputs.buoyancy_frequency_squared
        s_squared = gradient(inputs.state.u, grid) ** 2 + gradient(inputs.state.v, grid) ** 2
        producing_shear_squared, waves = inputs.shear_squared, inputs.waves
        if waves is not None and self._mixes_drift(inputs):
            by_drift = 2.0 * waves.shear + waves.shear_squared  # |dU/dz + dU_s/dz|² - |dU/dz|²
            s_squared, producing_shear_squared = s_squared + by_drift, producing_shear_squared + by_drift
        ri = n_squared * reciprocal(at_least(s_squared, _SMALLEST_SHEAR_SQUARED))
        on_faces = n_squared, s_squared, ri
        faces = LocalFlow.of(on_faces, grid.z_face[1:-1], grid.z_face[0], self)
        # N², S² and Ri at centers are means over the faces.
        on_centers = tuple(map(to_centers, on_faces))
        centers = LocalFlow.of(on_centers, grid.z_center, grid.z_face[0], self)
        if waves is not None:
            inverse_factor = reciprocal(self._wave_factor(inputs, drift_at_surface(waves, grid)))
            faces, centers = (
                flow._replace(buoyancy_frequency=flow.buoyancy_frequency * inverse_factor)
                for flow in (faces, centers)
            )
        # Production by shear and buoyancy [m2 s-3], with the coefficients of the previous step.
        shear = inner_faces(clo_state.eddy_viscosity) * producing_shear_squared * grid.center_spacing
        buoyancy = -inner_faces(clo_state.eddy_diffusivity) * n_squared
        sources = to_centers(shear) * reciprocal(grid.cell_thickness), to_centers(buoyancy)
        tke, flux = clo_state.turbulent_kinetic_energy, clo_state.mean_destabilising_flux
        for _ in range(self.n_substeps):
            tke = self._advance_tke(tke, flux, sources, (faces, centers), inputs, dt / self.n_substeps)
        uppermost = LocalFlow(*(values[-1:] for values in centers))
        length = self._dissipation_length(tke[-1:], flux, uppermost, grid)[-1]
        destabilising = -inputs.surface_buoyancy_flux
        largest = at_least(at_least(flux, destabilising), self.minimum_convective_flux)
        time_scale = jnp.cbrt(length**2 / largest)
        flux = (time_scale * flux + dt * destabilising) / (time_scale + dt)

        viscosity, diffusivity = self._coefficients(
            (self.factors_of("u"), self.factors_of("c")), tke, flux, faces, grid
        )
        eddy_viscosity = with_end_faces(viscosity)
        return CATKEState(
            eddy_viscosity=eddy_viscosity,
            eddy_diffusivity=with_end_faces(diffusivity),
            turbulent_kinetic_energy=tke,
            mean_destabilising_flux=flux,
            stokes_viscosity=eddy_viscosity if self._mixes_drift(inputs) else None,
        )

    def _mixes_drift(self, inputs: ClosureInputs) -> bool:
        """Return whether nu mixes the Stokes drift, and the velocities do not include it."""
        return self.lagrangian_stress and inputs.waves is not None and not inputs.waves.in_velocity

    def _wave_factor(self, inputs: ClosureInputs, drift: Scalar) -> Scalar:
        """Factor of w / N [1] for a Stokes drift at the surface [m s-1]: 1 + C^La / La², at most 5."""
        speed = inputs.surface_friction_velocity
        inverse_la_squared = drift * speed * reciprocal(speed * speed + _WEAKEST_WIND**2)
        return at_most(1.0 + self.c_waves * inverse_la_squared, _LARGEST_WAVE_FACTOR)

    def factors_of(self, quantity: Literal["u", "c", "e", "d"]) -> Factors:
        """Factors of the length scale of momentum, scalars, e or dissipation [1], by the last letter."""
        return Factors(*(getattr(self, f"c_{regime}_{quantity}") for regime in ("hi", "lo", "un", "c", "e")))

    def _speed(self, tke: CenterArray) -> CenterArray:
        """w [m s-1] at centers."""
        return safe_sqrt(at_least(tke, self.minimum_tke))

    def _coefficients(
        self, factor_sets: Sequence[Factors], tke: CenterArray, flux: Scalar, faces: LocalFlow, grid: Grid
    ) -> list[InnerFaceArray]:
        """w l [m2 s-1] of several quantities on inner faces; w and w³ are means over the two cells."""
        speed = self._speed(tke)
        speed_cubed = mean_of_neighbours(speed**3)
        speed = mean_of_neighbours(speed)
        lengths = Lengths.of(faces, speed, speed_cubed, flux, self)
        return [
            speed * lengths.longest(faces.sigma(factors) * lengths.stable, factors, grid.depth)
            for factors in factor_sets
        ]

    def _dissipation_length(self, tke: CenterArray, flux: Scalar, flow: LocalFlow, grid: Grid) -> CenterArray:
        """l_D [m] at centers, or at some of them; its sigma divides the shear length."""
        speed, factors = self._speed(tke), self.factors_of("d")
        lengths = Lengths.of(flow, speed, speed**3, flux, self)
        return lengths.longest(lengths.stable * reciprocal(flow.sigma(factors)), factors, grid.depth)

    def _advance_tke(
        self,
        tke: CenterArray,
        flux: Scalar,
        sources: tuple[CenterArray, CenterArray],
        flows: tuple[LocalFlow, LocalFlow],
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> CenterArray:
        """e after a step; `sources` are P and B at centers [m2 s-3], `flows` on faces and at centers."""
        grid, (shear, buoyancy), (faces, centers) = inputs.grid, sources, flows
        (tke_diffusivity,) = self._coefficients((self.factors_of("e"),), tke, flux, faces, grid)
        root = safe_sqrt(tke)
        sink = root * reciprocal(self._dissipation_length(tke, flux, centers, grid))
        removal = at_most(buoyancy, 0.0) + at_most(shear, 0.0)
        removal = removal * reciprocal(at_least(tke, self.minimum_tke))
        # At its minimum e cannot supply more, as in Oceananigans.
        sink = sink - jnp.where(tke > self.minimum_tke, removal, 0.0)
        bottom_sink = sink[:1] + self.c_w_eps * root[:1] * reciprocal(grid.cell_thickness[:1])
        sink = jax.lax.dynamic_update_slice_in_dim(sink, bottom_sink, 0, axis=0)
        production = (at_least(shear, 0.0) + at_least(buoyancy, 0.0)) * grid.cell_thickness
        destabilising = at_least(-inputs.surface_buoyancy_flux, 0.0)
        surface_flux = self.c_w_u_star * inputs.surface_friction_velocity**3
        surface_flux = surface_flux + self.c_w_w_delta * destabilising * grid.cell_thickness[-1]
        conductance = tke_diffusivity * reciprocal(grid.center_spacing)
        areas, cell_area = grid.relative_area, grid.cell_area
        if areas is not None and cell_area is not None:
            conductance, production = areas[1:-1] * conductance, cell_area * production
        return diffuse(
            tke,
            conductance,
            grid.cell_volume,
            dt,
            source=Sources(production, surface=surface_flux),
            sink_rate=sink,
            method=inputs.tridiagonal_method,
        )
