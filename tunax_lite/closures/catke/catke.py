"""CATKE: one equation for the turbulent energy e, at cell centers, and lengths that know of convection.

    de/dt = d/dz (kappa_e de/dz) + P + B - e^(3/2) / l_D,   P = nu S²,   B = -kappa N²
    nu = w l_u,   kappa = w l_c,   kappa_e = w l_e,   w = sqrt(max(e, e_min))
    kappa_e de/dz = C^Wu u*³ + C^Ww max(J_0, 0) dz  at the surface,   C^We e^(3/2)  at the bottom

with J_0 the destabilising surface buoyancy flux and dz the thickness of the uppermost cell. The lengths are
in `lengths`. They see J, which follows J_0 within the time of a convective overturning,
t = (l_D² / max(J, J_0, J_min))^(1/3) in the uppermost cell.

Order of a step: sources from the coefficients of the step before, kappa_e and l_D from the old e; the new e,
with its transport, the dissipation, negative P and B and the bottom implicit; J; the coefficients from the
new e.

Source: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522; constants and discretisation of
Oceananigans.jl, with backward Euler steps in place of Adams-Bashforth ones, so that e stays positive.
"""

import jax
import jax.numpy as jnp

from ..._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import check_settings, named, setting
from ...grid import Grid
from ...numerics.diffusion import Source, diffuse
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt
from ...numerics.stencils import gradient, mean_of_neighbours, with_end_faces
from ..base import AbstractClosure, CloState, ClosureInputs
from .lengths import Factors, Flow, Lengths, Widths, flow_on_faces_and_centers, to_centers


class CATKEState(CloState):
    """Eddy coefficients [m2 s-1] on faces, e [m2 s-2] at cell centers, and J.

    Args:
        mean_destabilising_flux: J, the surface buoyancy flux of the last overturning [m2 s-3], positive where
            it destabilises.
    """

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    turbulent_kinetic_energy: CenterArray
    mean_destabilising_flux: Scalar
    nonlocal_transport: None = None


@named("catke")
class CATKE(AbstractClosure[CATKEState]):
    """CATKE with the constants of Wagner et al. (2025).

    Args:
        c_hi_u, c_lo_u, c_un_u, c_c_u, c_e_u: factors of the length of momentum [1]: at high, low and
            negative Richardson number, in convection and in entrainment.
        c_hi_c, c_lo_c, c_un_c, c_c_c, c_e_c: those of temperature, salinity and tracers.
        c_hi_e, c_lo_e, c_un_e, c_c_e, c_e_e: those of e.
        c_hi_d, c_lo_d, c_un_d, c_c_d, c_e_d: those of the dissipation, of which the first three divide.
        c_s, c_b: length over the distance to the surface and to the bottom [1]; c_b = 0.967 makes the
            constant of von Karman 0.4 above the bottom, the 0.28 of Oceananigans makes it 0.116.
        c_sp: reduction of convective plumes by shear [1].
        c_ri_0, c_ri_delta: onset and width of the change with the Richardson number [1].
        c_w_u_star, c_w_w_delta, c_w_eps: fluxes of e through the surface and into the bottom [1].
        minimum_tke: e_min, which makes the mixing of quiet water, about `c_hi_c` e_min / N [m2 s-2].
        minimum_convective_flux: J_min, below which nothing convects [m2 s-3].
        n_substeps: steps of e in one step of the model.

    Raises:
        ValueError: fewer than one substep.
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
    minimum_tke: Scalar = parameter(1e-9, unit="m2 s-2", valid_range=(1e-14, 1e-4))
    minimum_convective_flux: Scalar = parameter(1e-11, unit="m2 s-3", valid_range=(1e-14, 1e-8))
    n_substeps: int = setting(1, at_least=1)

    def __check_init__(self):
        check_settings(self)

    def prepare(self) -> "CATKE":
        return self

    def init(self, inputs: ClosureInputs) -> CATKEState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared, 0.0, 0.0))
        return CATKEState(
            eddy_viscosity=faces,
            eddy_diffusivity=faces,
            turbulent_kinetic_energy=faces[1:] + self.minimum_tke,
            mean_destabilising_flux=faces[0],
        )

    def step(self, clo_state: CATKEState, inputs: ClosureInputs, dt: ScalarLike) -> CATKEState:
        grid, n_squared = inputs.grid, inputs.buoyancy_frequency_squared
        s_squared = gradient(inputs.state.u, grid) ** 2 + gradient(inputs.state.v, grid) ** 2
        faces, centers = flow_on_faces_and_centers(n_squared, s_squared, grid, self._widths)
        sources = _sources(clo_state, inputs)
        tke, flux = clo_state.turbulent_kinetic_energy, clo_state.mean_destabilising_flux
        for _ in range(self.n_substeps):
            tke = self._advance_tke(tke, flux, sources, faces, centers, inputs, dt / self.n_substeps)
        flux = self._mean_flux(flux, tke, centers, inputs, dt)

        speed, lengths = self._on_faces(tke, flux, faces)
        viscosity = speed * lengths.mixing(faces, self._of_momentum, grid.depth)
        diffusivity = speed * lengths.mixing(faces, self._of_contents, grid.depth)
        return CATKEState(
            eddy_viscosity=with_end_faces(viscosity, 0.0, 0.0),
            eddy_diffusivity=with_end_faces(diffusivity, 0.0, 0.0),
            turbulent_kinetic_energy=tke,
            mean_destabilising_flux=flux,
        )

    @property
    def _widths(self) -> Widths:
        return Widths(
            self.c_s, self.c_b, self.c_sp, self.c_ri_0, self.c_ri_delta, self.minimum_convective_flux
        )

    @property
    def _of_momentum(self) -> Factors:
        return Factors(self.c_hi_u, self.c_lo_u, self.c_un_u, self.c_c_u, self.c_e_u)

    @property
    def _of_contents(self) -> Factors:
        return Factors(self.c_hi_c, self.c_lo_c, self.c_un_c, self.c_c_c, self.c_e_c)

    @property
    def _of_tke(self) -> Factors:
        return Factors(self.c_hi_e, self.c_lo_e, self.c_un_e, self.c_c_e, self.c_e_e)

    @property
    def _of_dissipation(self) -> Factors:
        return Factors(self.c_hi_d, self.c_lo_d, self.c_un_d, self.c_c_d, self.c_e_d)

    def _speed(self, tke: CenterArray) -> CenterArray:
        """w [m s-1] at centers."""
        return safe_sqrt(at_least(tke, self.minimum_tke))

    def _on_faces(self, tke: CenterArray, flux: Scalar, faces: Flow) -> tuple[InnerFaceArray, Lengths]:
        """w [m s-1] and lengths [m] on inner faces; w and w³ are means of those of the two cells."""
        speed = self._speed(tke)
        cubed = mean_of_neighbours(speed**3)
        speed = mean_of_neighbours(speed)
        return speed, Lengths.of(faces, speed, cubed, flux, self._widths)

    def _dissipation_length(self, tke: CenterArray, flux: Scalar, flow: Flow, grid: Grid) -> CenterArray:
        """l_D [m] at centers, or at some of them."""
        speed = self._speed(tke)
        lengths = Lengths.of(flow, speed, speed**3, flux, self._widths)
        return lengths.dissipation(flow, self._of_dissipation, grid.depth)

    def _advance_tke(
        self,
        tke: CenterArray,
        flux: Scalar,
        sources: tuple[CenterArray, CenterArray],
        faces: Flow,
        centers: Flow,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> CenterArray:
        """e after a step with given production by shear and by buoyancy [m2 s-3]."""
        grid, (shear, buoyancy) = inputs.grid, sources
        speed, lengths = self._on_faces(tke, flux, faces)
        tke_diffusivity = speed * lengths.mixing(faces, self._of_tke, grid.depth)
        root = safe_sqrt(tke)
        sink = root * reciprocal(self._dissipation_length(tke, flux, centers, grid))
        consumed = at_most(buoyancy, 0.0) + at_most(shear, 0.0)
        consumed = consumed * reciprocal(at_least(tke, self.minimum_tke))
        sink = sink - jnp.where(tke > self.minimum_tke, consumed, 0.0)
        at_bottom = sink[:1] + self.c_w_eps * root[:1] * reciprocal(grid.cell_thickness[:1])
        sink = jax.lax.dynamic_update_slice_in_dim(sink, at_bottom, 0, axis=0)
        return diffuse(
            tke,
            tke_diffusivity * reciprocal(grid.center_spacing),
            grid.cell_thickness,
            dt,
            source=Source(
                (at_least(shear, 0.0) + at_least(buoyancy, 0.0)) * grid.cell_thickness,
                surface=self._surface_flux(inputs),
            ),
            sink_rate=sink,
            method=inputs.tridiagonal_method,
        )

    def _surface_flux(self, inputs: ClosureInputs) -> Scalar:
        """e that enters through the surface [m3 s-3]."""
        destabilising = at_least(-inputs.surface_buoyancy_flux, 0.0)
        by_wind = self.c_w_u_star * inputs.surface_friction_velocity**3
        return by_wind + self.c_w_w_delta * destabilising * inputs.grid.cell_thickness[-1]

    def _mean_flux(
        self, flux: Scalar, tke: CenterArray, centers: Flow, inputs: ClosureInputs, dt: ScalarLike
    ) -> Scalar:
        """J at the end of the step [m2 s-3]."""
        uppermost = Flow(*(values[-1:] for values in centers))
        length = self._dissipation_length(tke[-1:], flux, uppermost, inputs.grid)[-1]
        now = -inputs.surface_buoyancy_flux
        largest = at_least(at_least(flux, now), self.minimum_convective_flux)
        time_scale = jnp.cbrt(length**2 / largest)
        return (time_scale * flux + dt * now) / (time_scale + dt)


def _sources(clo_state: CATKEState, inputs: ClosureInputs) -> tuple[CenterArray, CenterArray]:
    """Production by shear and by buoyancy [m2 s-3] at centers, with the coefficients of the step before."""
    grid = inputs.grid
    of_shear = clo_state.eddy_viscosity[1:-1] * inputs.shear_squared * grid.center_spacing
    of_buoyancy = -clo_state.eddy_diffusivity[1:-1] * inputs.buoyancy_frequency_squared
    return to_centers(of_shear) * reciprocal(grid.cell_thickness), to_centers(of_buoyancy)
