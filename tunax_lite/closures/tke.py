"""The closure of Gaspar et al. with options of NEMO and Veros.

    dk/dt = d/dz (alpha nu dk/dz) + nu S² - kappa N² - c_eps k^(3/2) / l_d
    nu = max(c_k l_m sqrt(k), background),   kappa = max(nu / Pr, background),   l = sqrt(2 k) / N
    1 / Pr = Ri_c / max(Ri, Ri_c), at least 1 / Pr_max

k is defined on the inner faces and at the surface, which has half a cell. Its diffusion is implicit, sources
are explicit. The sink has k^(3/2) = sqrt(k_old) (w k + (1 - w) k_old), with Newton's linearisation for w =
3/2. With the bounds

    l_up(z) = min over z' >= z of l(z') + z' - z,    l_down(z) = min over z' <= z of l(z') + z - z',

neither length changes faster than the distance: |dl/dz| <= 1. The minima include given lengths at both ends.
"""

import abc
import math

import equinox as eqx
import jax.numpy as jnp

from .. import constants
from .._types import ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..declarations import named, setting
from ..numerics.diffusion import EndValues, Sources, diffuse
from ..numerics.elementary import (
    at_least,
    at_most,
    inner_faces,
    mean_of_neighbours,
    reciprocal,
    smallest_downward,
    smallest_upward,
    with_end_faces,
)
from .base import AbstractPlainClosure, ClosureInputs
from .energy import TurbulenceState
from .langmuir import LangmuirCells
from .walls import EndCondition, charnock_length

Lengths = tuple[InnerFaceArray, InnerFaceArray]  # l_m and l_d, or l_up and l_down [m]


class AbstractLengthBounds(eqx.Module):
    """Mixing and dissipation lengths on the inner faces."""

    @abc.abstractmethod
    def __call__(self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid) -> Lengths:
        """l_m and l_d [m], positive, from sqrt(2 k) / N with its floor and lengths at the two ends [m]."""


@named("within_column")
class WithinColumn(AbstractLengthBounds):
    """Lengths limited by the distances to surface and bottom.

    Args:
        half_spacing: whether half the distance between centers is added to the distance to the surface, as
            in Veros.
    """

    half_spacing: bool = setting(False)

    def __call__(self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid) -> Lengths:
        z = grid.z_face
        from_surface = z[-1] - z[1:-1]
        if self.half_spacing:
            from_surface = from_surface + 0.5 * grid.center_spacing
        length = at_most(length, jnp.minimum(from_surface, z[1:-1] - z[0]))
        return length, length


@named("bounded_slope")
class BoundedSlope(AbstractLengthBounds):
    """Lengths with a bounded slope: l_m = l_d = min(l_up, l_down)."""

    def __call__(self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid) -> Lengths:
        upward, downward = _limited_by_slope(length, surface, bottom, grid)
        length = at_most(upward, downward)
        return length, length


@named("up_and_down")
class UpAndDown(AbstractLengthBounds):
    """Lengths of NEMO's default: l_m = min(l_up, l_down), l_d = sqrt(l_up l_down).

    Source: Bougeault and Lacarrere (1989), Mon. Wea. Rev. 117, 1872-1890, for the two lengths; Madec et al.
    (1998) for their limits.
    """

    def __call__(self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid) -> Lengths:
        upward, downward = _limited_by_slope(length, surface, bottom, grid)
        return at_most(upward, downward), jnp.sqrt(upward * downward)


def _limited_by_slope(length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid) -> Lengths:
    """l_up and l_down [m]."""
    z = grid.z_face[1:-1]
    upward = at_most(smallest_upward(length + z), surface + grid.z_face[-1]) - z
    downward = at_most(smallest_downward(length - z), bottom - grid.z_face[0]) + z
    return upward, downward


class AbstractSurfaceEnergy(eqx.Module):
    """Boundary condition for k at the surface."""

    @abc.abstractmethod
    def condition(self, friction_velocity: Scalar) -> EndCondition:
        """A value [m2 s-2] or a flux [m3 s-3] of k."""


@named("value")
class SurfaceValue(AbstractSurfaceEnergy):
    """Value of k at the surface: max(factor u*², floor).

    The factor is 67.83 below breaking waves (3.75 without).

    Args:
        factor: factor of u*² [1].
        floor: minimum of k at the surface [m2 s-2].

    Source: Mellor and Blumberg (2004), J. Phys. Oceanogr. 34, 693-698; NEMO.
    """

    factor: Scalar = parameter(67.83, valid_range=(0.0, 1000.0))
    floor: Scalar = parameter(1e-4, unit="m2 s-2", valid_range=(1e-12, 1e-1))

    def condition(self, friction_velocity: Scalar) -> EndCondition:
        return EndCondition(value=at_least(self.factor * friction_velocity**2, self.floor))


@named("flux")
class SurfaceFlux(AbstractSurfaceEnergy):
    """Flux of k into the water at the surface, factor u*³.

    Args:
        factor: factor of u*³ [1].

    Source: the global set-ups of Veros.
    """

    factor: Scalar = parameter(1.0, valid_range=(0.0, 1000.0))

    def condition(self, friction_velocity: Scalar) -> EndCondition:
        return EndCondition(flux=self.factor * friction_velocity**3)


@named("exponential")
class Penetration(eqx.Module):
    """Penetration of k: every step adds a fraction of its surface value, which decays with depth.

    k <- k + fraction k_surface exp(z / depth), as in NEMO: steps of half the length add twice as much in
    total. With a `time_step`, the increment is proportional to the step.

    Args:
        fraction: fraction of k at the surface [1].
        time_step: time step for which the fraction holds [s]; `None` for every step.
        depth: depth of the decay [m]; `None` for min(max(45 |sin(latitude)|, 0.5), 30) as in NEMO.

    Source: Rodgers et al. (2014), Biogeosciences 11, 4077-4098; NEMO.
    """

    fraction: Scalar = parameter(0.05, valid_range=(0.0, 1.0))
    time_step: Scalar | None = parameter(None, unit="s", valid_range=(1.0, 86400.0))
    depth: Scalar | None = parameter(None, unit="m", valid_range=(0.1, 200.0))

    def added(self, at_surface: Scalar, inputs: ClosureInputs, dt: ScalarLike) -> InnerFaceArray:
        """Increase of k in a step [m2 s-2]."""
        fraction = self.fraction if self.time_step is None else self.fraction * dt / self.time_step
        depth = self.depth
        if depth is None:
            sine = jnp.abs(inputs.coriolis_parameter) * (constants.ROTATION_PERIOD / (4.0 * math.pi))
            depth = at_most(at_least(45.0 * sine, 0.5), 30.0)
        z = inputs.grid.z_face
        height = z[1:-1] - z[-1]
        return fraction * at_surface * jnp.exp(height * reciprocal(jnp.asarray(depth)))


_SMALLEST_SQUARE = 1e-15  # floor of N² for the length, and of S² in Ri [s-2]


@named("tke", tke_veros="veros", tke_recommended="recommended")
class TKE(AbstractPlainClosure[TurbulenceState]):
    """One equation for k, with a length from k and N; the defaults are those of NEMO.

    Args:
        c_k, c_eps: coefficients of the viscosity and of the dissipation [1].
        alpha_tke: diffusivity of k over the viscosity [1].
        critical_richardson_number: Ri_c of the Prandtl number [1]; `None` for 2 / (2 + c_eps / c_k).
        largest_prandtl_number: Pr_max [1].
        prandtl_number: constant Pr that replaces the two numbers above [1].
        turbulent_kinetic_energy_floor: lowest k [m2 s-2].
        length_floor: lowest l, and l at the bottom [m].
        charnock_constant: c in l = max(c u*² / g, surface_length_floor) at the surface [1]; `None` for
            sqrt(2 k) / N there, at most half of the uppermost cell.
        surface_length_floor: lowest l at the surface with a `charnock_constant` [m].
        background_viscosity, background_diffusivity: lowest coefficients [m2 s-1].
        largest_viscosity: [m2 s-1]; `None` for no limit.
        convective_diffusivity: kappa where N² < 0 [m2 s-1]; `None` for nu / Pr.
        bottom_factor: k / u*² at the bottom if the model has bottom friction [1].
        length_bounds: bounds of the mixing and dissipation lengths.
        surface_energy: k at the surface, or its flux.
        langmuir_cells: production of k by Langmuir cells; turn it off if the case has a Stokes drift, which
            itself produces k.
        penetration: penetration of k from the surface into the water.
        imposed_von_karman: kappa of the logarithmic layer [1], which sets the slope of both lengths at walls,
            kappa (c_k c_eps)^(1/4) / c_k; `None` for a slope of one.
        lagrangian_stress: whether momentum is mixed down the gradient of current plus Stokes drift.
        implicit_fraction: weight w of the new k in the sink, at least 1: 1.5 is Newton's linearisation.

    Raises:
        ValueError: an implicit fraction below 1, with which k can become negative.

    Source: Gaspar et al. (1990), J. Geophys. Res. 95, 16179-16193; Blanke and Delecluse (1993), J. Phys.
    Oceanogr. 23, 1363-1388; NEMO 5.0, `zdftke`; Veros, `core/tke`, after Eden's pyOM2.
    """

    c_k: Scalar = parameter(0.1, valid_range=(1e-3, 1.0))
    c_eps: Scalar = parameter(0.7, valid_range=(1e-2, 10.0))
    alpha_tke: Scalar = parameter(1.0, valid_range=(0.0, 100.0))
    critical_richardson_number: Scalar | None = parameter(None, valid_range=(1e-2, 10.0))
    largest_prandtl_number: Scalar = parameter(10.0, valid_range=(1.0, 1e3))
    prandtl_number: Scalar | None = parameter(None, valid_range=(0.1, 1e3))
    turbulent_kinetic_energy_floor: Scalar = parameter(1e-6, unit="m2 s-2", valid_range=(1e-14, 1e-3))
    length_floor: Scalar = parameter(0.01, unit="m", valid_range=(1e-8, 1.0))
    charnock_constant: Scalar | None = parameter(0.4 * 2e5, valid_range=(0.0, 1e7))
    surface_length_floor: Scalar = parameter(0.04, unit="m", valid_range=(1e-8, 10.0))
    background_viscosity: Scalar = parameter(1.2e-4, unit="m2 s-1", valid_range=(0.0, 1.0))
    background_diffusivity: Scalar = parameter(1.2e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    largest_viscosity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(1e-2, 1e4))
    convective_diffusivity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(0.0, 1e3))
    bottom_factor: Scalar = parameter(3.75, valid_range=(0.0, 1000.0))
    length_bounds: AbstractLengthBounds = eqx.field(default_factory=UpAndDown)
    surface_energy: AbstractSurfaceEnergy = eqx.field(default_factory=SurfaceValue)
    langmuir_cells: LangmuirCells | None = eqx.field(default_factory=LangmuirCells)
    penetration: Penetration | None = eqx.field(default_factory=Penetration)
    imposed_von_karman: Scalar | None = parameter(None, valid_range=(0.1, 1.0))
    lagrangian_stress: bool = setting(False)
    implicit_fraction: float = setting(1.5, at_least=1.0)

    @classmethod
    def veros(cls, **settings) -> "TKE":
        """The global set-ups of Veros, modified by `settings`; unlike in Veros, k needs a floor here."""
        constants = {
            "alpha_tke": 30.0,
            "critical_richardson_number": 1.0 / 6.6,
            "turbulent_kinetic_energy_floor": 1e-12,
            "length_floor": 1e-8,
            "charnock_constant": None,
            "background_viscosity": 2e-4,
            "background_diffusivity": 2e-5,
            "largest_viscosity": 100.0,
            "length_bounds": WithinColumn(half_spacing=True),
            "surface_energy": SurfaceFlux(),
            "langmuir_cells": None,
            "penetration": None,
            "implicit_fraction": 1.0,
        }
        return cls(**(constants | settings))

    def init(self, inputs: ClosureInputs) -> TurbulenceState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared))
        tke = faces + self.turbulent_kinetic_energy_floor
        return TurbulenceState(
            eddy_viscosity=faces + self.background_viscosity,
            eddy_diffusivity=faces + self.background_diffusivity,
            turbulent_kinetic_energy=tke,
            dissipation_rate=self.c_eps * tke * jnp.sqrt(tke) / self.length_floor,
            stokes_viscosity=self._stokes_viscosity(faces, inputs),
        )

    def step(self, clo_state: TurbulenceState, inputs: ClosureInputs, dt: ScalarLike) -> TurbulenceState:
        tke, at_surface = self._advance(clo_state, inputs, dt)
        speed = jnp.sqrt(tke)
        (mixing_length, dissipation_length), surface_length = self._lengths(tke, at_surface, inputs)
        viscosity, diffusivity = self._coefficients(mixing_length * speed, inputs)
        dissipation = self.c_eps * tke * speed * reciprocal(dissipation_length)
        surface_dissipation = self.c_eps * at_surface * jnp.sqrt(at_surface) / surface_length
        floor = self.turbulent_kinetic_energy_floor
        bottom_dissipation = self.c_eps * floor * jnp.sqrt(floor) / self.length_floor
        return TurbulenceState(
            eddy_viscosity=with_end_faces(viscosity),
            eddy_diffusivity=with_end_faces(diffusivity),
            turbulent_kinetic_energy=with_end_faces(tke, floor, at_surface),
            dissipation_rate=with_end_faces(dissipation, bottom_dissipation, surface_dissipation),
            stokes_viscosity=self._stokes_viscosity(with_end_faces(viscosity), inputs),
        )

    def _stokes_viscosity(self, viscosity: FaceArray, inputs: ClosureInputs) -> FaceArray | None:
        """nu_S [m2 s-1]; `None` unless nu mixes a drift that is not part of the velocity."""
        has_eulerian_waves = inputs.waves is not None and not inputs.waves.in_velocity
        return viscosity if has_eulerian_waves and self.lagrangian_stress else None

    def _advance(
        self, clo_state: TurbulenceState, inputs: ClosureInputs, dt: ScalarLike
    ) -> tuple[InnerFaceArray, Scalar]:
        """k at the end of the step, on inner faces and at the surface [m2 s-2]."""
        grid, weight = inputs.grid, self.implicit_fraction
        # From the lowest inner face to the surface.
        tke, dissipation = clo_state.turbulent_kinetic_energy[1:], clo_state.dissipation_rate[1:]
        s_squared = inputs.shear_squared
        if inputs.waves is not None and not inputs.waves.in_velocity:  # otherwise S² includes them
            s_squared = s_squared + inputs.waves.shear
            if self.lagrangian_stress:  # S² + 2 dU/dz . dU_s/dz + |dU_s/dz|² in all
                s_squared = s_squared + inputs.waves.shear + inputs.waves.shear_squared
        produced = inner_faces(clo_state.eddy_viscosity) * s_squared
        produced = produced - inner_faces(clo_state.eddy_diffusivity) * inputs.buoyancy_frequency_squared
        if self.langmuir_cells is not None:
            produced = produced + self.langmuir_cells.production(inputs)
        volumes = jnp.concatenate([grid.center_spacing, 0.5 * grid.cell_thickness[-1:]])
        conductance, areas, cell_area = self._conductance(clo_state, grid), grid.relative_area, grid.cell_area
        if areas is not None and cell_area is not None:
            volumes, conductance = areas[1:] * volumes, cell_area[1:] * conductance
        source = jnp.concatenate([produced, jnp.zeros_like(tke[-1:])]) + (weight - 1.0) * dissipation
        sink_rate = weight * dissipation * reciprocal(tke)
        surface = self.surface_energy.condition(inputs.surface_friction_velocity)
        from_bottom = None
        if inputs.bottom is not None:
            at_bottom = self.bottom_factor * inputs.bottom.friction_velocity**2
            at_bottom = at_least(at_bottom, self.turbulent_kinetic_energy_floor)
            exchange = 0.5 * self.alpha_tke * clo_state.eddy_viscosity[1] / grid.cell_thickness[0]
            exchange = exchange if cell_area is None else cell_area[0] * exchange
            from_bottom = exchange * at_bottom
            sink_rate = jnp.concatenate([sink_rate[:1] + exchange / volumes[0], sink_rate[1:]])
        new = diffuse(
            tke,
            conductance,
            volumes,
            dt,
            source=Sources(source * volumes, from_bottom, surface.flux),
            sink_rate=sink_rate,
            held=None if surface.value is None else EndValues(surface=surface.value),
            method=inputs.tridiagonal_method,
        )
        new = at_least(new, self.turbulent_kinetic_energy_floor)
        inner, at_surface = new[:-1], new[-1]
        if self.penetration is not None:
            inner = inner + self.penetration.added(at_surface, inputs, dt)
        return inner, at_surface

    def _conductance(self, clo_state: TurbulenceState, grid: Grid) -> ColumnArray:
        """Diffusivity of k over thickness, in the cells above the lowest inner face [m s-1]."""
        at_surface = clo_state.turbulent_kinetic_energy[-1:]
        # nu from l and k at the surface, where the state has none: nothing mixes through the surface.
        ratio = at_surface**2 / clo_state.dissipation_rate[-1:]
        surface = at_least(self.c_k * self.c_eps * ratio, self.background_viscosity)
        viscosity = jnp.concatenate([inner_faces(clo_state.eddy_viscosity), surface])
        return self.alpha_tke * mean_of_neighbours(viscosity) * reciprocal(grid.cell_thickness[1:])

    def _lengths(
        self, tke: InnerFaceArray, at_surface: Scalar, inputs: ClosureInputs
    ) -> tuple[Lengths, Scalar]:
        """l_m and l_d on inner faces, and l at the surface [m]."""
        n_squared = at_least(inputs.buoyancy_frequency_squared, _SMALLEST_SQUARE)
        length = at_least(jnp.sqrt(2.0 * tke * reciprocal(n_squared)), self.length_floor)
        if self.charnock_constant is None:
            parcel_length = jnp.sqrt(2.0 * at_surface / n_squared[-1])
            surface = at_most(parcel_length, 0.5 * inputs.grid.cell_thickness[-1])
            surface = at_least(surface, self.length_floor)
        else:
            charnock = charnock_length(inputs.surface_friction_velocity, self.charnock_constant)
            surface = at_least(charnock, self.surface_length_floor)
        if self.imposed_von_karman is None:
            return self.length_bounds(length, surface, self.length_floor, inputs.grid), surface
        # P = eps with both l = slope z gives nu = kappa u* z.
        slope = self.imposed_von_karman * (self.c_k * self.c_eps) ** 0.25 * reciprocal(self.c_k)
        length = length * reciprocal(slope)
        bounded = self.length_bounds(length, surface, self.length_floor, inputs.grid)
        return (slope * bounded[0], slope * bounded[1]), slope * surface

    def _coefficients(self, mixing: InnerFaceArray, inputs: ClosureInputs) -> tuple[InnerFaceArray, ...]:
        """nu and kappa from l_m sqrt(k) [m2 s-1]."""
        n_squared = inputs.buoyancy_frequency_squared
        viscosity = self.c_k * mixing
        if self.largest_viscosity is not None:
            viscosity = at_most(viscosity, self.largest_viscosity)
        if self.prandtl_number is not None:
            inverse = 1.0 / self.prandtl_number
        else:
            critical = self.critical_richardson_number
            if critical is None:
                critical = 2.0 / (2.0 + self.c_eps / self.c_k)
            critical = critical * at_least(inputs.shear_squared, _SMALLEST_SQUARE)
            inverse = critical * reciprocal(at_least(n_squared, critical))
            inverse = at_least(inverse, 1.0 / self.largest_prandtl_number)
        diffusivity = at_least(viscosity * inverse, self.background_diffusivity)
        if self.convective_diffusivity is not None:
            diffusivity = jnp.where(n_squared < 0.0, self.convective_diffusivity, diffusivity)
        return at_least(viscosity, self.background_viscosity), diffusivity
