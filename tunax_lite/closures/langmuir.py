"""Langmuir turbulence: mixing and entrainment in KPP, work of the wind in EPBL, production of k in TKE.

    La_SL² = u* / |<u_s>_SL - u_s(h)|

<u_s>_SL is the mean Stokes drift over the upper fifth of the boundary layer. The angle between the wind and
the Langmuir cells follows from the law of the wall.

Source: Li et al. (2016), Ocean Modelling 103, 145-160 (LWF16); Li and Fox-Kemper (2017), J. Phys. Oceanogr.
47, 2863-2886 (LF17); Van Roekel et al. (2012), J. Geophys. Res. 117, C05028, for the angle.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._types import CenterArray, InnerFaceArray, Scalar, parameter
from ..column.grid import Grid
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, horner, reciprocal, safe_sqrt, vector_norm
from .base import ClosureInputs, SurfaceWaves

_LEAST_ROUGHNESS = 0.08  # roughness length of the sea for waves of 0.02 m [m]
_WEAKEST = 1e-4  # Stokes drift or friction velocity below which there are no Langmuir cells [m s-1]
_LEAST_INVERSE = 1e-8  # La^-2 below which waves have no effect [1]


class LangmuirEffect(NamedTuple):
    """Effect of waves on one column."""

    enhancement: Scalar  # of the mixing coefficients [1]
    inverse_la_squared: Scalar  # La^-2 for the entrainment [1]


def drift_at_surface(waves: SurfaceWaves, grid: Grid) -> Scalar:
    """Magnitude of the Stokes drift at the surface [m s-1]."""
    components = waves.at_surface
    if components is None:
        # Extrapolate linearly from the two uppermost cells.
        slopes = ((u[-1] - u[-2]) * reciprocal(grid.center_spacing[-1]) for u in waves.drift)
        components = (
            u[-1] + 0.5 * s * grid.cell_thickness[-1] for u, s in zip(waves.drift, slopes, strict=True)
        )
    return vector_norm(*components)


class LangmuirNumber(NamedTuple):
    """La_SL and the Stokes drift that it depends on."""

    means: tuple[Scalar, Scalar]  # of the drift over the surface layer [m s-1]
    at_surface: Scalar  # magnitude of the drift at the surface [m s-1]
    active: Bool[Array, "*#batch"]  # whether there are Langmuir cells
    inverse_squared: Scalar  # La_SL^-2 [1]; 0 without Langmuir cells

    @classmethod
    def of(
        cls, depth: Scalar, fraction: Scalar, inputs: ClosureInputs, waves: SurfaceWaves
    ) -> "LangmuirNumber":
        """Compute La_SL for a layer of a depth [m], with the drift averaged over a fraction of it [1]."""
        speed, drift, grid = inputs.surface_friction_velocity, waves.drift, inputs.grid
        means = _upper_mean(drift[0], fraction * depth, grid), _upper_mean(drift[1], fraction * depth, grid)
        at_depth = (_at_depth(u, depth, grid) for u in drift)
        at_surface = drift_at_surface(waves, grid)
        active = (at_surface > _WEAKEST) & (speed > _WEAKEST)
        difference = jnp.abs(vector_norm(*means) - vector_norm(*at_depth))
        inverse_squared = jnp.where(active, difference * reciprocal(at_least(speed, _WEAKEST)), 0.0)
        return cls(means, at_surface, active, inverse_squared)


@named("reichl_li")
class LangmuirWork(eqx.Module):
    """Factor of the work of the wind, min(1 + c La_SL^-e, F).

    Args:
        coefficient: c [1].
        exponent: e [1].
        largest: F [1].
        surface_layer_fraction: fraction of the boundary layer over which the drift is averaged [1].

    Source: Reichl and Li (2019), J. Phys. Oceanogr. 49, 2935-2959; constants of MOM6, which averages the
    drift over 0.04 of the layer, subtracts none at the base, and corrects La for stratification.
    """

    coefficient: Scalar = parameter(0.447, valid_range=(0.0, 10.0))
    exponent: Scalar = parameter(1.33, valid_range=(0.0, 4.0))
    largest: Scalar = parameter(5.0, valid_range=(1.0, 100.0))
    surface_layer_fraction: Scalar = parameter(0.2, valid_range=(0.01, 1.0))

    def factor(self, depth: Scalar, inputs: ClosureInputs) -> Scalar:
        """Factor for the depth of the layer in the previous step [m]; 1 without waves."""
        if inputs.waves is None:
            return jnp.ones_like(depth)
        number = LangmuirNumber.of(depth, self.surface_layer_fraction, inputs, inputs.waves)
        # The power of a number above zero has a finite derivative.
        inverse_squared = jnp.where(number.inverse_squared > _LEAST_INVERSE, number.inverse_squared, 1.0)
        increase = self.coefficient * inverse_squared ** (0.5 * self.exponent)
        return at_most(1.0 + jnp.where(number.inverse_squared > _LEAST_INVERSE, increase, 0.0), self.largest)


@named(li_2016={"method": "LWF16"}, li_2017={"method": "LF17"})
class Langmuir(eqx.Module):
    """Enhancement by Langmuir turbulence.

    Args:
        method: `LWF16` multiplies mixing and entrainment by one factor; `LF17` multiplies mixing by the same
            factor, with the entrainment of Li and Fox-Kemper (2017).
        surface_layer_fraction: fraction of the boundary layer over which the drift is averaged [1].
        wave_roughness: four times the wave height, for cases without wave heights [m].
        largest_enhancement: maximum of the factor [1].
        first_order, second_order: a and b in the factor cos(alpha) (1 + (a La)^-2 + (b La)^-4)^(1/2) for the
            angle alpha between wind and Langmuir cells [1].
        convection, shear, langmuir: c_CT, c_ST and c_LT of LF17 [1].
        wind_direction: towards which the wind blows, counterclockwise from east [rad]; `None` for that of the
            surface stress.
    """

    method: str = setting("LF17", choices=("LWF16", "LF17"))
    surface_layer_fraction: Scalar = parameter(0.2, valid_range=(0.01, 1.0))
    wave_roughness: Scalar = parameter(0.08, unit="m", valid_range=(1e-3, 100.0))
    largest_enhancement: Scalar = parameter(2.0, valid_range=(1.0, 100.0))
    first_order: Scalar = parameter(1.5, valid_range=(0.1, 100.0))
    second_order: Scalar = parameter(5.4, valid_range=(0.1, 100.0))
    convection: Scalar = parameter(0.15, valid_range=(0.0, 10.0), only_if={"method": ("LF17",)})
    shear: Scalar = parameter(0.17, valid_range=(0.0, 10.0), only_if={"method": ("LF17",)})
    langmuir: Scalar = parameter(0.083, valid_range=(0.0, 10.0), only_if={"method": ("LF17",)})
    wind_direction: Scalar | None = parameter(None, unit="rad", valid_range=(-7.0, 7.0))

    def effect(self, depth: Scalar, von_karman: Scalar, inputs: ClosureInputs) -> LangmuirEffect | None:
        """Enhancement for the depth of the layer in the previous step [m]; `None` without waves."""
        if inputs.waves is None:
            return None
        number = LangmuirNumber.of(depth, self.surface_layer_fraction, inputs, inputs.waves)
        means, at_surface, active, inverse_squared = number
        cos_cells, cos_waves = self._angles(means, at_surface, depth, von_karman, inputs)
        cos_cells, cos_waves = jnp.where(active, cos_cells, 1.0), jnp.where(active, cos_waves, 1.0)
        projected = inverse_squared * cos_waves * reciprocal(at_least(cos_cells, 1e-6))
        first = projected * reciprocal(self.first_order * self.first_order)
        second = projected * reciprocal(self.second_order * self.second_order)
        factor = cos_cells * safe_sqrt(1.0 + first + second * second)
        return LangmuirEffect(at_most(factor, self.largest_enhancement), inverse_squared)

    def _angles(
        self,
        drift: tuple[Scalar, Scalar],
        at_surface: Scalar,
        depth: Scalar,
        kappa: Scalar,
        inputs: ClosureInputs,
    ) -> tuple[Scalar, Scalar]:
        """|cos| of the angle between wind and Langmuir cells, and of that between cells and waves."""
        u, v = inputs.surface_momentum_flux
        if self.wind_direction is not None:
            u, v = jnp.cos(self.wind_direction), jnp.sin(self.wind_direction)
        inverse = reciprocal(at_least(vector_norm(u, v) * vector_norm(*drift), 1e-12))
        along = (u * drift[0] + v * drift[1]) * inverse
        across = (u * drift[1] - v * drift[0]) * inverse
        roughness, waves = self.wave_roughness, inputs.waves
        if waves is not None and waves.height is not None:
            roughness = at_least(4.0 * waves.height, _LEAST_ROUGHNESS)
        profile = jnp.log(at_least(depth * reciprocal(roughness), 1.0))
        shear = inputs.surface_friction_velocity * profile * reciprocal(at_least(kappa * at_surface, 1e-12))
        along_cells = shear + along
        inverse = reciprocal(at_least(vector_norm(along_cells, across), 1e-12))
        return jnp.abs(along_cells) * inverse, jnp.abs(along * along_cells + across * across) * inverse

    def entrainment(
        self, effect: LangmuirEffect, depth: CenterArray, buoyancy_flux: CenterArray, inputs: ClosureInputs
    ) -> tuple[Scalar, CenterArray | None]:
        """Factor of V_t² [1], and the w³ that determines V_t² in convection instead, or `None` [m3 s-3].

        Arguments are the depth of the centers [m], and the buoyancy flux into the water above them [m2 s-3].
        """
        if self.method == "LWF16":
            return effect.enhancement, None
        cube = inputs.surface_friction_velocity**3
        mechanical = cube * (self.shear + self.langmuir * effect.inverse_la_squared)
        return jnp.ones_like(mechanical), mechanical - self.convection * buoyancy_flux * depth


def _upper_mean(values: CenterArray, thickness: Scalar, grid: Grid) -> Scalar:
    """Mean from the surface to a depth [m], at least over the uppermost cell."""
    cell = grid.cell_thickness
    thickness = at_least(thickness, cell[-1])
    within = at_least(at_most(thickness + grid.z_face[1:], cell), 0.0)
    return jnp.sum(values * within, axis=0) * reciprocal(thickness)


def _at_depth(values: CenterArray, depth: Scalar, grid: Grid) -> Scalar:
    """Value in the cell that contains a depth [m]."""
    upper, lower = -grid.z_face[1:], -grid.z_face[:-1]
    within = (upper < depth) & (depth <= lower)
    at_depth = jnp.sum(jnp.where(within, values, 0.0), axis=0)
    return jnp.where(depth <= 0.0, values[-1], at_depth)


@named("axell")
class LangmuirCells(eqx.Module):
    """Production of k by Langmuir cells: w³ / H with w = c u_s sin(pi d / H) at depth d above H.

    H is the depth at which stratification stops a parcel of kinetic energy u_s²/2: the integral of max(N², 0)
    d from the surface to H is u_s²/2, linear between the faces.

    Args:
        velocity_ratio: c [1].
        stokes_drift_ratio: surface Stokes drift u_s over u* [1]; 0.016 of the wind at 10 m, with a drag
            coefficient of 1.5e-3 and densities of 1.22 and 1026 kg m-3.

    Source: Axell (2002), J. Geophys. Res. 107, 3200, eqs. 44 to 47; NEMO for the constants.
    """

    velocity_ratio: Scalar = parameter(0.15, valid_range=(0.0, 1.0))
    stokes_drift_ratio: Scalar = parameter(
        0.016 * math.sqrt(1026.0 / (1.22 * 1.5e-3)), valid_range=(0.0, 100.0)
    )

    def production(self, inputs: ClosureInputs) -> InnerFaceArray:
        """Production of k [m2 s-3]."""
        drift = self.stokes_drift_ratio * inputs.surface_friction_velocity
        z = inputs.grid.z_face
        depth = z[-1] - z[1:-1]
        cell_depth = self._depth(0.5 * drift**2, depth, inputs)
        inverse = reciprocal(at_least(cell_depth, 1e-2))
        fraction = at_most(depth * inverse, 1.0)
        # sin(pi x) as the series of cos(pi (x - 1/2)), to 1e-10: it costs a tenth of the sine.
        series = [(-1.0) ** k / math.factorial(2 * k) for k in range(8)]
        velocity = self.velocity_ratio * drift * horner(series, (math.pi * (fraction - 0.5)) ** 2)
        return jnp.where(depth < cell_depth, velocity**3 * inverse, 0.0)

    def _depth(self, energy: Scalar, depth: InnerFaceArray, inputs: ClosureInputs) -> Scalar:
        """H [m]."""
        grid = inputs.grid
        work = at_least(inputs.buoyancy_frequency_squared, 0.0) * depth * grid.center_spacing
        work_to_face = jnp.cumsum(work[::-1], axis=0)[::-1]
        # Fraction of the cell above each face that a parcel crosses; without work nothing stops it.
        crossed = (energy - work_to_face + work) * reciprocal(at_least(work, 1e-15))
        crossed = at_most(at_least(crossed, 0.0), 1.0)
        thickness = jnp.broadcast_to(grid.cell_thickness, (depth.shape[0] + 1, *work.shape[1:]))
        lowest_cell = jnp.where(energy > work_to_face[0], thickness[0], 0.0)
        return jnp.sum(crossed * thickness[1:], axis=0) + lowest_cell
