"""K-profile parameterisation: coefficients of a prescribed shape in a boundary layer of diagnosed depth.

    nu = h w_m(sigma) G(sigma),   kappa = h w_s(sigma) G(sigma),   sigma = depth / h

In convection, a non-local flux carries the fraction C_s G of the surface flux. The order is that of GOTM's
CVMix driver: interior coefficients; Ri_b and h from the new state; coefficients with the buoyancy flux at
that h; the same for a bottom layer, with the column upside down; convection in the interior.

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403; CVMix and GOTM where they leave a
choice.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..column.state import State
from ..column.terms import AbstractTerm, NonlocalTransport
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, inverse_cube_root, reciprocal, safe_sqrt, with_end_faces
from . import kpp_interior, kpp_layer
from .base import AbstractPlainClosure, CloState, ClosureInputs
from .kpp_interior import AbstractInteriorShear, Coefficients, DoubleDiffusion, InteriorConvection, LargeShear
from .kpp_layer import Cubic, Friction, VelocityScales
from .langmuir import Langmuir, LangmuirEffect


class KPPState(CloState):
    """Eddy coefficients [m2 s-1] and non-local fraction [1] on faces, and depths of the layers [m]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: FaceArray
    boundary_layer_depth: Scalar
    eddy_salt_diffusivity: FaceArray | None = None
    bottom_layer_thickness: Scalar | None = None

    def salt_diffusivity(self) -> FaceArray | None:
        return self.eddy_salt_diffusivity

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        # More than the surface flux would warm the cell that is cooled, and cool the next beyond any budget.
        return (NonlocalTransport(at_most(self.nonlocal_transport, 1.0)),)


class Layer(NamedTuple):
    """The boundary layer in one step."""

    depth: Scalar  # h [m]
    buoyancy_flux: Scalar  # into the water above h [m2 s-3]
    friction: Friction  # powers of u*
    effect: LangmuirEffect | None


class AbstractLayer(eqx.Module):
    """Settings common to the surface and the bottom boundary layer.

    Args:
        critical_richardson_number: value of Ri_b at the base of the layer [1].
        surface_layer_fraction: eps, fraction of the layer in which surface-layer similarity holds [1].
        unresolved_shear_floor: least V_t² [m2 s-2].
        depth_interpolation: of Ri_b: `linear`, `quadratic` or `cubic`.
        shape: `simple`, `parabolic_nonlocal`, `match_gradient` or `match_both`.
        match_slope: whether matched shapes also have the slope of the interior coefficient, as in the paper.
        limit_by_ekman_depth, limit_by_monin_obukhov_depth: whether to limit h under stable forcing.
    """

    critical_richardson_number: Scalar = parameter(0.3, valid_range=(0.05, 2.0))
    surface_layer_fraction: Scalar = parameter(0.1, valid_range=(0.01, 0.9))
    unresolved_shear_floor: Scalar = parameter(1e-10, unit="m2 s-2", valid_range=(1e-14, 1e-2))
    depth_interpolation: str = setting("quadratic", choices=("linear", "quadratic", "cubic"))
    shape: str = setting("simple", choices=("simple", "parabolic_nonlocal", "match_gradient", "match_both"))
    match_slope: bool = setting(False)
    limit_by_ekman_depth: bool = setting(False)
    limit_by_monin_obukhov_depth: bool = setting(False)


class BottomLayer(AbstractLayer):
    """Bottom boundary layer."""


@named("kpp", kpp_recommended="recommended")
class KPP(AbstractLayer, AbstractPlainClosure[KPPState]):
    """K-profile parameterisation.

    Args:
        entrainment_ratio: beta, ratio of entrainment to surface buoyancy flux in free convection [1].
        weak_concavity, strong_concavity, concavity_slope: C_v = max(C_weak - s N, C_strong) [1, 1, s].
        nonlocal_coefficient: C* [1].
        ekman_factor: depth over u* / |f| under stable forcing [1], with `limit_by_ekman_depth`.
        background_viscosity, background_diffusivity: below the layer [m2 s-1].
        initial_eddy_coefficient: in the first step [m2 s-1].
        velocity_scales: similarity functions.
        shear, double_diffusion, convection: interior mixing; `None` for none.
        langmuir: enhancement by waves; `None` for none; no effect without waves.
        enhanced_diffusivity: whether to enhance the coefficient at the base of the layer, by the distance
            that h reaches into the next cell.
        closed_base: whether, without that enhancement, the first face below the layer has no mixing if h is
            below the center above it, as in CVMix.
        n_smoothing: number of running means applied to Ri for interior shear.
        surface_layer: whether there is a boundary layer at the surface.
        bottom_layer: bottom boundary layer; `None` for none; no effect without bottom friction.
    """

    entrainment_ratio: Scalar = parameter(0.2, valid_range=(0.0, 2.0))
    weak_concavity: Scalar = parameter(2.1, valid_range=(0.0, 10.0))
    strong_concavity: Scalar = parameter(1.7, valid_range=(0.0, 10.0))
    concavity_slope: Scalar = parameter(200.0, unit="s", valid_range=(0.0, 1e4))
    nonlocal_coefficient: Scalar = parameter(10.0, valid_range=(0.0, 50.0))
    ekman_factor: Scalar = parameter(0.7, valid_range=(0.05, 5.0), only_if={"limit_by_ekman_depth": (True,)})
    background_viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1.0))
    background_diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    initial_eddy_coefficient: Scalar = parameter(1e-6, unit="m2 s-1", valid_range=(0.0, 1e3))
    velocity_scales: VelocityScales = eqx.field(default_factory=VelocityScales)
    shear: AbstractInteriorShear | None = eqx.field(default_factory=LargeShear)
    double_diffusion: DoubleDiffusion | None = None
    convection: InteriorConvection | None = None
    langmuir: Langmuir | None = None
    enhanced_diffusivity: bool = setting(True)
    closed_base: bool = setting(False)
    n_smoothing: int = setting(1, at_least=0)
    surface_layer: bool = setting(True)
    bottom_layer: BottomLayer | None = None

    @property
    def von_karman(self) -> Scalar:
        """kappa of the logarithmic layer [1], for bottom friction."""
        return self.velocity_scales.von_karman

    def init(self, inputs: ClosureInputs) -> KPPState:
        nothing = jnp.zeros_like(with_end_faces(inputs.buoyancy_frequency_squared))
        start = nothing + self.initial_eddy_coefficient
        salt = None if self.double_diffusion is None else start
        thin = jnp.zeros_like(nothing[0])
        return KPPState(start, start, nothing, thin, salt, None if self.bottom_layer is None else thin)

    def step(self, clo_state: KPPState, inputs: ClosureInputs, dt: ScalarLike) -> KPPState:
        mixing, depth, of_bottom = self._interior(inputs), clo_state.boundary_layer_depth, None
        nonlocal_fraction = jnp.zeros_like(mixing.viscosity)
        if self.surface_layer:
            eos, surface = inputs.equation_of_state, jnp.zeros((), depth.dtype)
            buoyancy = eos.buoyancy(inputs.state.temperature, inputs.state.salinity, surface)
            mixing, nonlocal_fraction, depth = self._with_layer(mixing, depth, buoyancy, inputs)
        if self.bottom_layer is not None and clo_state.bottom_layer_thickness is not None:
            of_bottom = clo_state.bottom_layer_thickness
            if inputs.bottom is not None:
                mixing, of_bottom = self._with_bottom_layer(mixing, of_bottom, inputs)
        viscosity, diffusivity, salt = mixing
        if self.convection is not None:
            weight = self.convection.weight(inputs.buoyancy_frequency_squared)
            more = weight * self.convection.diffusivity
            viscosity, diffusivity = viscosity + weight * self.convection.viscosity, diffusivity + more
            salt = None if salt is None else salt + more
        viscosity, diffusivity, fraction = map(with_end_faces, (viscosity, diffusivity, nonlocal_fraction))
        salt = None if salt is None else with_end_faces(salt)
        return KPPState(viscosity, diffusivity, fraction, depth, salt, of_bottom)

    def _with_layer(
        self, mixing: Coefficients, before: Scalar, buoyancy: CenterArray, inputs: ClosureInputs
    ) -> tuple[Coefficients, InnerFaceArray, Scalar]:
        """Coefficients with the boundary layer, its non-local fraction, and its depth [m]."""
        friction, effect = Friction.of(inputs.surface_friction_velocity), None
        if self.langmuir is not None:
            effect = self.langmuir.effect(before, self.velocity_scales.von_karman, inputs)
        depth = self._depth(before, friction, effect, buoyancy, inputs)
        layer = Layer(depth, _buoyancy_flux_above(depth, inputs), friction, effect)
        return *self._mix(layer, mixing, inputs), depth

    def _with_bottom_layer(
        self, mixing: Coefficients, before: Scalar, inputs: ClosureInputs
    ) -> tuple[Coefficients, Scalar]:
        """Coefficients with the bottom layer, computed with the column upside down."""
        assert self.bottom_layer is not None and inputs.bottom is not None
        own = {
            field.name: getattr(self.bottom_layer, field.name)
            for field in dataclasses.fields(self.bottom_layer)
        }
        upside_down = dataclasses.replace(self, **own, langmuir=None, enhanced_diffusivity=False)
        eos, surface = inputs.equation_of_state, jnp.zeros((), before.dtype)
        buoyancy = -eos.buoyancy(inputs.state.temperature, inputs.state.salinity, surface)
        z_face, light = inputs.grid.z_face, inputs.radiative_buoyancy_flux
        turned = dataclasses.replace(
            inputs,
            grid=Grid((z_face[0] - z_face)[::-1]),
            state=jax.tree.map(lambda values: values[::-1], inputs.state),
            buoyancy_frequency_squared=inputs.buoyancy_frequency_squared[::-1],
            surface_friction_velocity=inputs.bottom.friction_velocity,
            surface_buoyancy_flux=jnp.zeros_like(inputs.surface_buoyancy_flux),
            radiative_buoyancy_flux=None if light is None else light[::-1],
        )
        of_column = jax.tree.map(lambda values: values[::-1], mixing)
        found, _, thickness = upside_down._with_layer(of_column, before, buoyancy[::-1], turned)
        return jax.tree.map(lambda values: values[::-1], found), thickness

    def _interior(self, inputs: ClosureInputs) -> Coefficients:
        """Coefficients below the boundary layer."""
        nothing = jnp.zeros_like(inputs.buoyancy_frequency_squared)
        viscosity, diffusivity = nothing + self.background_viscosity, nothing + self.background_diffusivity
        if self.shear is not None:
            richardson = kpp_interior.gradient_richardson_number(inputs)
            by_shear = self.shear.coefficients(kpp_interior.smoothed(richardson, self.n_smoothing))
            viscosity, diffusivity = viscosity + by_shear[0], diffusivity + by_shear[1]
        if self.double_diffusion is None:
            return Coefficients(viscosity, diffusivity, None)
        heat, salt = self.double_diffusion.diffusivities(*kpp_interior.thermal_and_haline(inputs))
        return Coefficients(viscosity, diffusivity + heat, diffusivity + salt)

    def _depth(
        self,
        before: Scalar,
        friction: Friction,
        effect: LangmuirEffect | None,
        buoyancy: CenterArray,
        inputs: ClosureInputs,
    ) -> Scalar:
        """Depth of the boundary layer [m]."""
        depth = -inputs.grid.z_center
        unresolved = self._unresolved_shear_squared(depth, friction, effect, inputs)
        richardson = self._bulk_richardson_number(depth, buoyancy, unresolved, inputs)
        critical = self.critical_richardson_number
        found = kpp_layer.first_crossing(richardson, critical, depth, self.depth_interpolation)
        limits = [depth[0]]
        flux = _buoyancy_flux_above(before, inputs)
        stable = flux > 0.0
        if self.limit_by_ekman_depth:
            f = jnp.abs(inputs.coriolis_parameter)
            ekman = self.ekman_factor * friction.speed * reciprocal(at_least(f, 1e-12))
            limits.append(jnp.where(stable & (f > 0.0), ekman, depth[0]))
        if self.limit_by_monin_obukhov_depth:
            loss = self.velocity_scales.von_karman * jnp.where(stable, flux, 1.0)
            obukhov = friction.cube * reciprocal(at_least(loss, 1e-20))
            limits.append(jnp.where(stable, obukhov, depth[0]))
        for limit in limits:
            found = at_most(found, limit)
        return at_least(found, depth[-1])

    def _bulk_richardson_number(
        self, depth: CenterArray, buoyancy: CenterArray, unresolved: CenterArray, inputs: ClosureInputs
    ) -> CenterArray:
        """Ri_b at the centers [1]."""
        state, eps = inputs.state, self.surface_layer_fraction
        fields = (buoyancy - buoyancy[-1], state.u, state.v)
        upper = kpp_layer.means_over_upper_part(fields, eps * depth, inputs.grid)
        excess, u, v = (mean - values for mean, values in zip(upper, fields, strict=True))
        denominator = u * u + v * v + at_least(unresolved, self.unresolved_shear_floor)
        return (1.0 - 0.5 * eps) * depth * excess * reciprocal(denominator)

    def _unresolved_shear_squared(
        self, depth: CenterArray, friction: Friction, effect: LangmuirEffect | None, inputs: ClosureInputs
    ) -> CenterArray:
        """V_t² [m2 s-2]."""
        scales, eps = self.velocity_scales, self.surface_layer_fraction
        flux = _buoyancy_flux_above_centers(inputs)
        velocity = scales.scalar(scales.forcing(eps * depth, flux), friction)
        frequency = safe_sqrt(kpp_layer.larger_of_both_faces(inputs.buoyancy_frequency_squared))
        concavity = at_least(self.weak_concavity - self.concavity_slope * frequency, self.strong_concavity)
        convection = safe_sqrt(self.entrainment_ratio * reciprocal(scales.scalar_convection()[1] * eps))
        scale = convection * reciprocal(scales.von_karman * scales.von_karman)
        if effect is not None and self.langmuir is not None:
            factor, cube = self.langmuir.entrainment(effect, depth, flux, inputs)
            entrained = scale * velocity * factor
            if cube is not None:
                # (w³ / w_s)^(1/2) instead of the scale times w_s.
                lost = flux < 0.0
                safe = at_least(jnp.where(lost, velocity, 1.0), 1e-8)
                entrained = jnp.where(lost, safe_sqrt(cube * reciprocal(safe)), entrained)
        else:
            entrained = scale * velocity
        return depth * frequency * concavity * entrained * reciprocal(self.critical_richardson_number)

    def _mix(
        self, layer: Layer, interior: Coefficients, inputs: ClosureInputs
    ) -> tuple[Coefficients, InnerFaceArray]:
        """Coefficients of the whole column, and the non-local fraction, on inner faces."""
        grid, h = inputs.grid, layer.depth
        inverse_h = reciprocal(h)
        face, center = -grid.z_face[1:-1], -grid.z_center
        inside = face <= h
        # The deepest center in the layer; the face at the base lies between it and the next.
        last = jnp.max(jnp.where(center <= h, center, 0.0), axis=0)
        at_base = (center[1:] <= h) & (h < center[:-1])
        closed = at_base & ~inside if self.closed_base and not self.enhanced_diffusivity else None
        if not self.enhanced_diffusivity:
            at_base = jnp.zeros_like(at_base)
        reach = jnp.where(at_base, (h - center[1:]) * reciprocal(grid.center_spacing), 0.0)
        sigma, sigma_last = at_most(face * inverse_h, 1.0), last * inverse_h
        fraction = reach * (1.0 - reach) ** 2, reach * reach * reach  # of the center, and of the face

        def blend(coefficient, velocity, velocity_last, cubic):
            shape = kpp_layer.simple if cubic is None else cubic
            within = jnp.where(inside, h * velocity * shape(sigma), coefficient)
            enhanced = fraction[0] * (h * velocity_last * shape(sigma_last)) + fraction[1] * within
            mixing = jnp.where(at_base, (1.0 - reach) * coefficient + enhanced, within)
            return mixing if closed is None else jnp.where(closed, 0.0, mixing)

        momentum, scalars = self._velocities(layer, face, sigma)
        momentum_last, scalars_last = self._velocities(layer, last, None)
        of_momentum, of_heat, of_salt = self._cubics(layer, interior, grid)
        salt = interior.salt_diffusivity
        mixing = Coefficients(
            blend(interior.viscosity, momentum, momentum_last, of_momentum),
            blend(interior.diffusivity, scalars, scalars_last, of_heat),
            None if salt is None else blend(salt, scalars, scalars_last, of_salt),
        )
        carried = kpp_layer.nonlocal_shape(self.shape, sigma, of_heat)
        carried_last = kpp_layer.nonlocal_shape(self.shape, sigma_last, of_heat)
        # At the base, use the fluxes of the enhanced coefficient without its interior part.
        carried = jnp.where(at_base, fraction[0] * carried_last + fraction[1] * carried, carried)
        strength = self._nonlocal_strength() * kpp_layer.fraction_unstable(layer.buoyancy_flux)
        return mixing, jnp.where(inside, strength * carried, 0.0)

    def _velocities(self, layer: Layer, depth, sigma):
        """w_m and w_s [m s-1] at a depth [m] in the layer, with wave enhancement.

        The enhancement of RWHGK16 has the shape of the coefficients; it is omitted at the last center
        (`sigma` is `None`).
        """
        scales = self.velocity_scales
        reach = self.surface_layer_fraction * layer.depth
        forcing = scales.forcing(at_most(depth, reach), layer.buoyancy_flux)
        momentum = scales.momentum(forcing, layer.friction)
        scalars = scales.scalar(forcing, layer.friction)
        if layer.effect is None or self.langmuir is None:
            return momentum, scalars
        factor = layer.effect.enhancement
        if self.langmuir.method == "RWHGK16":
            if sigma is None:
                return momentum, scalars
            factor = 1.0 + kpp_layer.simple(sigma) * (27.0 / 4.0) * (factor - 1.0)
        return momentum * factor, scalars * factor

    def _cubics(self, layer: Layer, interior: Coefficients, grid) -> tuple[Cubic | None, ...]:
        """Matched shapes of momentum, heat and salt; `None` for the simple one."""
        if self.shape in ("simple", "parabolic_nonlocal"):
            return None, None, None
        effect = layer.effect
        if effect is not None and self.langmuir is not None and self.langmuir.method == "RWHGK16":
            effect = None
        momentum, scalars = self._velocities(layer._replace(effect=effect), layer.depth, None)
        stable_slope = None
        if self.match_slope:
            fourth = at_least(layer.friction.speed * layer.friction.cube, 1e-16)
            gained = at_least(layer.buoyancy_flux, 0.0)
            stable_slope = self.velocity_scales.stable_slope * gained * reciprocal(fourth)

        def of(coefficient, velocity):
            below = kpp_layer.at_layer_depth(coefficient, layer.depth, grid)
            return kpp_layer.matched(below, layer.depth, velocity, stable_slope)

        given = zip(interior, (momentum, scalars, scalars), strict=True)
        return tuple(
            None if coefficient is None else of(coefficient, velocity) for coefficient, velocity in given
        )

    def _nonlocal_strength(self) -> Scalar:
        """C_s = C* kappa (kappa eps c_s)^(1/3) [1]."""
        kappa = self.velocity_scales.von_karman
        cube = kappa * self.surface_layer_fraction * self.velocity_scales.scalar_convection()[1]
        root = inverse_cube_root(cube)
        return self.nonlocal_coefficient * kappa * cube * root * root


def _buoyancy_flux_above(depth: Scalar, inputs: ClosureInputs) -> Scalar:
    """Buoyancy gain of the water above a depth [m] [m2 s-3]: at the surface, and by shortwave radiation."""
    flux, shortwave = inputs.surface_buoyancy_flux, inputs.radiative_buoyancy_flux
    if shortwave is None:
        return flux
    grid = inputs.grid
    filled = (depth + grid.z_face[1:]) * reciprocal(grid.cell_thickness)
    absorbed = (shortwave[1:] - shortwave[:-1]) * at_most(at_least(filled, 0.0), 1.0)
    return flux + jnp.sum(absorbed, axis=0)


def _buoyancy_flux_above_centers(inputs: ClosureInputs) -> CenterArray:
    flux, shortwave = inputs.surface_buoyancy_flux, inputs.radiative_buoyancy_flux
    if shortwave is None:
        return flux + jnp.zeros_like(inputs.grid.z_center)
    return flux + shortwave[-1] - 0.5 * (shortwave[1:] + shortwave[:-1])
