"""K-profile parameterisation: coefficients of a prescribed shape in a boundary layer of diagnosed depth.

    nu = h w_m(sigma) G(sigma),   kappa = h w_s(sigma) G(sigma),   sigma = depth / h

In convection, a non-local flux carries the fraction C_s G of the surface flux. The order is that of GOTM's
CVMix driver: interior coefficients; Ri_b and h from the new state; coefficients with the buoyancy flux at
that h; the same for a bottom layer, with the column upside down.

Velocity scales:

    w = kappa u* / phi(zeta),   zeta = kappa s B / u*³,   s the depth, at most that of the surface layer
    stable (B > 0):              1 / phi = 1 / (1 + c zeta)
    unstable:                    1 / phi_m = (1 - g zeta)^(1/4),   1 / phi_s = (1 - g zeta)^(1/2)
    beyond zeta_m or zeta_s:     1 / phi = (a - b zeta)^(1/3), which holds without wind as well

a and b make both unstable forms continuous in value and slope. In terms of X = kappa s B = zeta u*³ no form
divides by u*. The layer ends where the bulk Richardson number first exceeds its critical value,

    Ri_b(d) = (1 - eps/2) d (b_r - b) / (|u_r - u|² + V_t²)

b_r and u_r are means over the upper eps d. V_t² represents unresolved turbulence, such that convection
entrains beta times its buoyancy flux. The first crossing is found with maxima and sums over all levels,
without a search; the result is a smooth function of Ri_b at three levels. Shapes G(sigma), of which the
non-local flux always uses the first:

    simple:                G = sigma (1 - sigma)²
    match_gradient:        the cubic that continues the interior coefficients

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403, sections 2 and 3, appendix B, eqs. 11,
17, 18 and D5; Danabasoglu et al. (2006), J. Clim. 19, 2347-2365, for C_v in V_t²; Van Roekel et al. (2018),
J. Adv. Model. Earth Syst. 10, 2647-2685, for N in V_t²; CVMix and GOTM where they leave a choice, with the
constants and the names of the shapes of CVMix.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from .._types import CenterArray, ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..column.state import State
from ..column.terms import AbstractTerm
from ..column.terms.turbulence import NonlocalTransport
from ..declarations import named, setting
from ..numerics.elementary import (
    at_least,
    at_most,
    interpolated,
    inverse_cube_root,
    mean_of_neighbours,
    reciprocal,
    safe_sqrt,
    with_end_faces,
)
from .base import AbstractCloState, AbstractPlainClosure, ClosureInputs
from .langmuir import Langmuir, LangmuirEffect

_SHEAR_FLOOR = 1e-14  # [s-2]


class Coefficients(NamedTuple):
    """Eddy coefficients on inner faces [m2 s-1]."""

    viscosity: InnerFaceArray
    diffusivity: InnerFaceArray


@named("large")
class LargeShear(eqx.Module):
    """Mixing by shear, nu = kappa = nu_0 {1 for Ri <= 0; (1 - (Ri / Ri_0)²)³ below Ri_0; 0 beyond}.

    Args:
        coefficient: nu_0, largest nu and kappa [m2 s-1].
        limiting_richardson_number: Ri_0, beyond which there is no shear mixing [1].

    Source: Large et al. (1994).
    """

    coefficient: Scalar = parameter(5e-3, unit="m2 s-1", valid_range=(0.0, 1.0))
    limiting_richardson_number: Scalar = parameter(0.7, valid_range=(0.05, 5.0))

    def coefficient_at(self, richardson: InnerFaceArray) -> InnerFaceArray:
        """nu = kappa [m2 s-1] at a gradient Richardson number."""
        relative = at_least(richardson, 0.0) * reciprocal(self.limiting_richardson_number)
        base = at_least(1.0 - relative * relative, 0.0)
        return self.coefficient * (base * base * base)


def smoothed(richardson: InnerFaceArray) -> InnerFaceArray:
    """Running mean with the weights 1/4, 1/2, 1/4 and zeros at both ends."""
    end = jnp.zeros_like(richardson[:1])
    above = jnp.concatenate([richardson[1:], end])
    below = jnp.concatenate([end, richardson[:-1]])
    return 0.5 * richardson + 0.25 * (above + below)


def gradient_richardson_number(inputs: ClosureInputs) -> InnerFaceArray:
    """Ri = N² / S² [1], finite without shear."""
    shear = at_least(inputs.shear_squared, 0.0) + _SHEAR_FLOOR
    return inputs.buoyancy_frequency_squared * reciprocal(shear)


_WEAKEST_FORCING = 7e-12
"""w³ below which convection without wind fades [m3 s-3]: its cube root has no derivative at zero."""
_SMALLEST_CUBE, _SMALLEST_SPEED = 1e-15, 1e-6  # divisors [m3 s-3, m s-1]


class Friction(NamedTuple):
    """Powers of u* used by the velocity scales, once per column."""

    speed: Scalar  # u* [m s-1]
    cube: Scalar
    root: Scalar
    inverse_root: Scalar
    fading_cube: Scalar  # w³ below which convection fades [m3 s-3]; near 0 in wind

    @classmethod
    def of(cls, friction_velocity: Scalar) -> "Friction":
        cube = friction_velocity * friction_velocity * friction_velocity
        root = safe_sqrt(friction_velocity)
        inverse_root = reciprocal(at_least(root, _SMALLEST_SPEED**0.5))
        # Wind keeps the cube root away from zero, so that nothing has to fade.
        fading_cube = _WEAKEST_FORCING * (_WEAKEST_FORCING * reciprocal(_WEAKEST_FORCING + cube))
        return cls(friction_velocity, cube, root, inverse_root, fading_cube)


class VelocityScales(eqx.Module):
    """The similarity functions.

    Args:
        von_karman: kappa [1].
        stable_slope: c [1].
        unstable_slope: g [1].
        momentum_transition, scalar_transition: zeta_m and zeta_s [1], below which convection is free.
    """

    von_karman: Scalar = parameter(0.4, valid_range=(0.2, 0.6))
    stable_slope: Scalar = parameter(5.0, valid_range=(0.0, 50.0))
    unstable_slope: Scalar = parameter(16.0, valid_range=(1.0, 100.0))
    momentum_transition: Scalar = parameter(-0.2, valid_range=(-5.0, -0.01))
    scalar_transition: Scalar = parameter(-1.0, valid_range=(-5.0, -0.01))

    def momentum_convection(self) -> tuple[Scalar, Scalar]:
        """a and b of momentum [1]."""
        g, transition = self.unstable_slope, self.momentum_transition
        scale = reciprocal(safe_sqrt(safe_sqrt(1.0 - g * transition)))
        return scale * (1.0 - 0.25 * g * transition), scale * (0.75 * g)

    def scalar_convection(self) -> tuple[Scalar, Scalar]:
        """a and b of scalars [1]."""
        g, transition = self.unstable_slope, self.scalar_transition
        scale = safe_sqrt(1.0 - g * transition)
        return scale * (1.0 + 0.5 * g * transition), scale * (1.5 * g)

    def forcing(self, distance: ColumnArray | Scalar, buoyancy_flux: ColumnArray | Scalar):
        """X [m3 s-3] at a distance below the surface [m], for a buoyancy flux [m2 s-3]."""
        return self.von_karman * distance * buoyancy_flux

    def momentum(self, x: ColumnArray | Scalar, friction: Friction) -> ColumnArray | Scalar:
        """w_m [m s-1]."""
        is_sheared = x >= self.momentum_transition * friction.cube
        sheared = safe_sqrt(friction.root * self._unstable_root(x, is_sheared, friction))
        free = _free(x, is_sheared, friction, *self.momentum_convection())
        return self._stable_or_unstable(x, jnp.where(is_sheared, sheared, free), friction)

    def scalar(self, x: ColumnArray | Scalar, friction: Friction) -> ColumnArray | Scalar:
        """w_s [m s-1]."""
        is_sheared = x >= self.scalar_transition * friction.cube
        sheared = friction.inverse_root * self._unstable_root(x, is_sheared, friction)
        free = _free(x, is_sheared, friction, *self.scalar_convection())
        return self._stable_or_unstable(x, jnp.where(is_sheared, sheared, free), friction)

    def _unstable_root(self, x, is_sheared, friction: Friction):
        """(u*³ - g X)^(1/2)."""
        unstable_x = jnp.where(is_sheared & (x <= 0.0), x, 0.0)
        return safe_sqrt(friction.cube - self.unstable_slope * unstable_x)

    def _stable_or_unstable(self, x, unstable, friction: Friction):
        """Velocity scale [m s-1] from its value over kappa in unstable water, by the sign of X."""
        cube = friction.cube + self.stable_slope * jnp.where(x >= 0.0, x, 0.0)
        stable = friction.speed * friction.cube * reciprocal(at_least(cube, _SMALLEST_CUBE))
        return self.von_karman * (stable + fraction_unstable(x) * (unstable - stable))


def fraction_unstable(x: ColumnArray | Scalar) -> ColumnArray | Scalar:
    """1 where buoyancy is lost, 0 where it is gained, and 1/2 at zero.

    The derivative at zero is then the mean of both sides.
    """
    return jnp.where(x < 0.0, 1.0, jnp.where(x > 0.0, 0.0, jnp.full_like(x, 0.5)))


def _free(x, is_sheared, friction: Friction, a: Scalar, b: Scalar):
    """Velocity scale over kappa in free convection, (a u*³ - b X)^(1/3) [m s-1]."""
    cube = jnp.where(is_sheared, 0.0, a * friction.cube - b * x)
    # (cube + f)^(1/3) [cube / (cube + f)]^8, f the fading cube: no infinite slope where cube vanishes.
    guarded = cube + friction.fading_cube
    inverse = inverse_cube_root(guarded)
    square = inverse * inverse
    factor = cube * square * inverse
    for _ in range(3):
        factor = factor * factor
    return guarded * square * factor


_TINY = 1e-12  # smallest divisor [1]


def pick(where: Bool[Array, "..."], values: Float[Array, "..."]) -> Float[Array, "..."]:
    """Value at the level that `where` marks, one per column; 0 if it marks none."""
    return jnp.sum(jnp.where(where, values, 0.0), axis=0)


def means_over_upper_part(
    fields: tuple[CenterArray, ...], thickness: CenterArray, grid: Grid
) -> tuple[CenterArray, ...]:
    """Means of fields over the upper `thickness` [m] of the column, one for each level; at least one cell."""
    cell = grid.cell_thickness
    upper_depth = -grid.z_face[1:]
    thickness = at_least(thickness, cell[-1])
    # The cell in which a part ends depends on the grid alone: no step repeats this.
    n_below = jnp.sum(thickness[:, None] > upper_depth[None], axis=1)
    end_cells = jnp.clip(cell.shape[0] - n_below, 0, cell.shape[0] - 1)

    def at_end(values):
        return _at_ends(*_aligned(values, end_cells))

    def add(contents_above, content):
        return jax.tree.map(jnp.add, contents_above, content), contents_above

    contents = tuple(values * cell for values in fields)
    zeros = jax.tree.map(lambda content: jnp.zeros_like(content[0]), contents)
    _, contents_above = lax.scan(add, zeros, contents, reverse=True)
    remainder = thickness - at_end(upper_depth)
    inverse = reciprocal(thickness)
    return tuple(
        (at_end(content) + at_end(values) * remainder) * inverse
        for content, values in zip(contents_above, fields, strict=True)
    )


def _aligned(values, index):
    """Broadcast an array and level indices to the batch axes of both."""
    batch = jnp.broadcast_shapes(values.shape[1:], index.shape[1:])

    def spread(x):
        aligned = x.reshape(x.shape + (1,) * (len(batch) + 1 - x.ndim))
        return jnp.broadcast_to(aligned, (x.shape[0], *batch))

    return spread(values), spread(index)


def _at_ends(values: CenterArray, ends_in: Int[Array, "..."]) -> CenterArray:
    """Values at level indices that do not decrease with height; its transpose sums over equal indices.

    The transpose of a gather is a scatter, which XLA computes outside the fused time loop: gradients took
    seven times as long. `custom_linear_solve` accepts any pair of a linear function and its transpose.
    """
    level = jnp.arange(values.shape[0]).reshape(-1, *(1,) * values.ndim)
    up_to = jnp.sum(ends_in[None] <= level, axis=1)  # ends at or below this level

    def sums_of_runs(_, cotangent):
        _, total = lax.scan(lambda below, x: (below + x,) * 2, jnp.zeros_like(cotangent[0]), cotangent)
        total = jnp.concatenate([jnp.zeros_like(total[:1]), total])
        until = jnp.take_along_axis(total, up_to, axis=0, mode="promise_in_bounds")
        return until - jnp.concatenate([jnp.zeros_like(until[:1]), until[:-1]])

    def gather(_, values):
        return jnp.take_along_axis(values, ends_in, axis=0, mode="promise_in_bounds")

    return lax.custom_linear_solve(lambda x: x, values, gather, sums_of_runs)


def larger_of_both_faces(values: InnerFaceArray) -> CenterArray:
    """Larger of the values at the two faces of each cell; surface and bottom count as 0."""
    end = jnp.zeros_like(values[:1])
    upper, lower = jnp.concatenate([values, end]), jnp.concatenate([end, values])
    return jnp.where(upper > lower, upper, lower)


def first_crossing(richardson: CenterArray, critical: Scalar, depth: CenterArray) -> Scalar:
    """Depth [m] at which Ri_b on centers first exceeds a critical value; without crossing, the lowest center.

    The uppermost center is ignored. The interpolation is quadratic: at the center above the crossing it has
    the slope of the interval above, or 0 without one.
    """
    n = richardson.shape[0]
    level = lax.broadcasted_iota(int, richardson.shape, 0)
    crossed = jnp.max(jnp.where((richardson > critical) & (level < n - 1), level, -1), axis=0)
    at_lower, at_upper, at_second = (level == crossed + k for k in range(3))
    crosses = crossed >= 0
    # Without a crossing, finite numbers replace the missing ones, and the last line ignores them.
    upper, lower = pick(at_upper, richardson), jnp.where(crosses, pick(at_lower, richardson), critical + 1.0)
    top, bottom = pick(at_upper, depth), jnp.where(crosses, pick(at_lower, depth), 0.0)
    spacing = jnp.where(crosses, bottom - top, 1.0)
    increase, to_critical = at_least(lower - upper, _TINY), critical - upper
    has_second = crosses & (crossed < n - 2)
    interval = jnp.where(has_second, top - pick(at_second, depth), 1.0)
    change = jnp.where(has_second, upper - pick(at_second, richardson), 0.0)
    slope = change * spacing * reciprocal(interval)
    fraction = _quadratic_fraction(increase, slope, jnp.where(crosses, to_critical, 0.5))
    return jnp.where(crosses, top + fraction * spacing, depth[0])


def _quadratic_fraction(increase: Scalar, slope: Scalar, to_critical: Scalar) -> Scalar:
    """x in [0, 1] with slope x + (increase - slope) x² = to_critical, where the left-hand side increases."""
    curvature = increase - slope
    root = safe_sqrt(slope * slope + 4.0 * curvature * to_critical)
    # Of the two forms of the root, the one without cancellation.
    grows = slope >= 0.0
    divisor = jnp.where(grows, slope + root, 2.0 * curvature)
    return jnp.where(grows, 2.0 * to_critical, root - slope) * reciprocal(at_least(divisor, _TINY))


_SLOWEST_MIXING = 1e-10  # smallest w as a divisor [m s-1]


class Cubic(NamedTuple):
    """G with G(0) = 0 and G'(0) = 1 from its value and slope at sigma = 1."""

    value: Scalar
    slope: Scalar

    def __call__(self, sigma: Float[Array, "..."]) -> Float[Array, "..."]:
        second = 3.0 * self.value - self.slope - 2.0
        third = 1.0 - 2.0 * self.value + self.slope
        return sigma * (1.0 + sigma * (second + sigma * third))


def simple(sigma: Float[Array, "..."]) -> Float[Array, "..."]:
    """sigma (1 - sigma)²."""
    remaining = 1.0 - sigma
    return sigma * (remaining * remaining)


def at_layer_depth(coefficient: InnerFaceArray, depth: Scalar, grid: Grid) -> tuple[Scalar, Scalar]:
    """Interior coefficient [m2 s-1] and its slope [m s-1], positive upward, at the depth of the layer [m].

    Extrapolate from the face below, with the distance-weighted mean of the slopes in this cell and the next;
    negative slopes count as zero. Source: Large et al. (1994), eq. D5.
    """
    faces = with_end_faces(coefficient)
    upper, lower = -grid.z_face[1:], -grid.z_face[:-1]
    within = (upper <= depth) & (depth < lower)
    slope = at_least((faces[1:] - faces[:-1]) * reciprocal(grid.cell_thickness), 0.0)
    next_slope = jnp.concatenate([jnp.zeros_like(slope[:1]), slope[:-1]])
    height = pick(within, lower - depth)
    weight = pick(within, (lower - depth) * reciprocal(grid.cell_thickness))
    mean = weight * pick(within, slope) + (1.0 - weight) * pick(within, next_slope)
    return pick(within, faces[:-1]) + mean * height, mean


def matched(
    interior: tuple[Scalar, Scalar], depth: Scalar, velocity: Scalar, stable_slope: Scalar | None
) -> Cubic:
    """Shape that continues the interior coefficient and its slope below h [m], for w [m s-1] at sigma = 1.

    `stable_slope` is c B / u*⁴ [s m-2], 0 where B destabilises; `None` for G'(1) = 0.
    """
    inverse = reciprocal(at_least(velocity, _SLOWEST_MIXING))
    value = interior[0] * inverse * reciprocal(depth)
    if stable_slope is None:
        return Cubic(value, jnp.zeros_like(value))
    return Cubic(value, at_most(stable_slope * interior[0] - interior[1] * inverse, 0.0))


class KPPState(AbstractCloState):
    """Eddy coefficients [m2 s-1] and non-local fraction [1] on faces, and depths of the layers [m]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: FaceArray
    boundary_layer_depth: Scalar
    bottom_layer_thickness: Scalar | None = None

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        # Above 1 the flux would exceed the surface flux: it would warm the uppermost cell under cooling.
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
        shape: `simple` or `match_gradient`.
        match_slope: whether `match_gradient` also continues the slope of the interior coefficient.
    """

    critical_richardson_number: Scalar = parameter(0.3, valid_range=(0.05, 2.0))
    surface_layer_fraction: Scalar = parameter(0.1, valid_range=(0.01, 0.9))
    unresolved_shear_floor: Scalar = parameter(1e-10, unit="m2 s-2", valid_range=(1e-14, 1e-2))
    shape: str = setting("simple", choices=("simple", "match_gradient"))
    match_slope: bool = setting(False)


class BottomLayer(AbstractLayer):
    """Bottom boundary layer."""


@named("kpp", kpp_recommended="recommended")
class KPP(AbstractLayer, AbstractPlainClosure[KPPState]):
    """K-profile parameterisation.

    Args:
        entrainment_ratio: beta, ratio of entrainment to surface buoyancy flux in free convection [1].
        weak_concavity, strong_concavity, concavity_slope: C_v = max(C_weak - s N, C_strong) [1, 1, s].
        nonlocal_coefficient: C* [1].
        background_viscosity, background_diffusivity: values in quiescent water below the layer [m2 s-1].
        initial_eddy_coefficient: nu and kappa in the first step [m2 s-1].
        velocity_scales: similarity functions.
        shear: mixing by shear below the layer; `None` for none.
        langmuir: enhancement by waves; `None` for none; no effect without waves.
        enhanced_diffusivity: whether to enhance the coefficient at the base of the layer, by the distance
            that h reaches into the next cell.
        closed_base: whether the first face below h has no mixing if h lies between the center above that face
            and the face, as in CVMix; only without the enhancement.
        surface_layer: whether there is a boundary layer at the surface.
        bottom_layer: bottom boundary layer; `None` for none; no effect without bottom friction.
    """

    entrainment_ratio: Scalar = parameter(0.2, valid_range=(0.0, 2.0))
    weak_concavity: Scalar = parameter(2.1, valid_range=(0.0, 10.0))
    strong_concavity: Scalar = parameter(1.7, valid_range=(0.0, 10.0))
    concavity_slope: Scalar = parameter(200.0, unit="s", valid_range=(0.0, 1e4))
    nonlocal_coefficient: Scalar = parameter(10.0, valid_range=(0.0, 50.0))
    background_viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1.0))
    background_diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    initial_eddy_coefficient: Scalar = parameter(1e-6, unit="m2 s-1", valid_range=(0.0, 1e3))
    velocity_scales: VelocityScales = eqx.field(default_factory=VelocityScales)
    shear: LargeShear | None = eqx.field(default_factory=LargeShear)
    langmuir: Langmuir | None = None
    enhanced_diffusivity: bool = setting(True)
    closed_base: bool = setting(False)
    surface_layer: bool = setting(True)
    bottom_layer: BottomLayer | None = None

    @property
    def von_karman(self) -> Scalar:
        """kappa of the logarithmic layer [1], for bottom friction."""
        return self.velocity_scales.von_karman

    def init(self, inputs: ClosureInputs) -> KPPState:
        zeros = jnp.zeros_like(with_end_faces(inputs.buoyancy_frequency_squared))
        start = zeros + self.initial_eddy_coefficient
        no_layer = jnp.zeros_like(zeros[0])
        return KPPState(start, start, zeros, no_layer, None if self.bottom_layer is None else no_layer)

    def step(self, clo_state: KPPState, inputs: ClosureInputs, dt: ScalarLike) -> KPPState:
        mixing, depth, bottom_thickness = self._interior(inputs), clo_state.boundary_layer_depth, None
        nonlocal_fraction = jnp.zeros_like(mixing.viscosity)
        if self.surface_layer:
            eos, surface = inputs.equation_of_state, jnp.zeros((), depth.dtype)
            buoyancy = eos.buoyancy(inputs.state.temperature, inputs.state.salinity, surface)
            mixing, nonlocal_fraction, depth = self._with_layer(mixing, depth, buoyancy, inputs)
        if self.bottom_layer is not None and clo_state.bottom_layer_thickness is not None:
            bottom_thickness = clo_state.bottom_layer_thickness
            if inputs.bottom is not None:
                mixing, bottom_thickness = self._with_bottom_layer(mixing, bottom_thickness, inputs)
        viscosity, diffusivity, fraction = map(with_end_faces, (*mixing, nonlocal_fraction))
        return KPPState(viscosity, diffusivity, fraction, depth, bottom_thickness)

    def _with_layer(
        self, mixing: Coefficients, old_depth: Scalar, buoyancy: CenterArray, inputs: ClosureInputs
    ) -> tuple[Coefficients, InnerFaceArray, Scalar]:
        """Coefficients with the boundary layer, its non-local fraction, and its depth [m]."""
        friction, effect = Friction.of(inputs.surface_friction_velocity), None
        if self.langmuir is not None:
            effect = self.langmuir.effect(old_depth, self.velocity_scales.von_karman, inputs)
        depth = self._depth(friction, effect, buoyancy, inputs)
        flux = interpolated(-depth, inputs.grid.z_face, inputs.buoyancy_flux_above)
        layer = Layer(depth, flux, friction, effect)
        return *self._mix(layer, mixing, inputs), depth

    def _with_bottom_layer(
        self, mixing: Coefficients, old_depth: Scalar, inputs: ClosureInputs
    ) -> tuple[Coefficients, Scalar]:
        """Coefficients with the bottom layer, computed with the column upside down."""
        assert self.bottom_layer is not None and inputs.bottom is not None
        settings = {
            field.name: getattr(self.bottom_layer, field.name)
            for field in dataclasses.fields(self.bottom_layer)
        }
        bottom_kpp = dataclasses.replace(self, **settings, langmuir=None, enhanced_diffusivity=False)
        eos, surface = inputs.equation_of_state, jnp.zeros((), old_depth.dtype)
        buoyancy = -eos.buoyancy(inputs.state.temperature, inputs.state.salinity, surface)
        z_face, light = inputs.grid.z_face, inputs.radiative_buoyancy_flux
        flipped_inputs = dataclasses.replace(
            inputs,
            grid=Grid((z_face[0] - z_face)[::-1]),
            state=jax.tree.map(lambda values: values[::-1], inputs.state),
            buoyancy_frequency_squared=inputs.buoyancy_frequency_squared[::-1],
            surface_friction_velocity=inputs.bottom.friction_velocity,
            surface_buoyancy_flux=jnp.zeros_like(inputs.surface_buoyancy_flux),
            radiative_buoyancy_flux=None if light is None else light[::-1],
        )
        flipped = jax.tree.map(lambda values: values[::-1], mixing)
        mixing, _, thickness = bottom_kpp._with_layer(flipped, old_depth, buoyancy[::-1], flipped_inputs)
        return jax.tree.map(lambda values: values[::-1], mixing), thickness

    def _interior(self, inputs: ClosureInputs) -> Coefficients:
        """Coefficients below the boundary layer."""
        zeros = jnp.zeros_like(inputs.buoyancy_frequency_squared)
        viscosity, diffusivity = zeros + self.background_viscosity, zeros + self.background_diffusivity
        if self.shear is not None:
            by_shear = self.shear.coefficient_at(smoothed(gradient_richardson_number(inputs)))
            viscosity, diffusivity = viscosity + by_shear, diffusivity + by_shear
        return Coefficients(viscosity, diffusivity)

    def _depth(
        self, friction: Friction, effect: LangmuirEffect | None, buoyancy: CenterArray, inputs: ClosureInputs
    ) -> Scalar:
        """Depth of the boundary layer [m]."""
        depth = -inputs.grid.z_center
        unresolved = self._unresolved_shear_squared(depth, friction, effect, inputs)
        richardson = self._bulk_richardson_number(depth, buoyancy, unresolved, inputs)
        boundary_depth = first_crossing(richardson, self.critical_richardson_number, depth)
        return at_least(at_most(boundary_depth, depth[0]), depth[-1])

    def _bulk_richardson_number(
        self, depth: CenterArray, buoyancy: CenterArray, unresolved: CenterArray, inputs: ClosureInputs
    ) -> CenterArray:
        """Ri_b at the centers [1]."""
        state, eps = inputs.state, self.surface_layer_fraction
        fields = (buoyancy - buoyancy[-1], state.u, state.v)
        upper = means_over_upper_part(fields, eps * depth, inputs.grid)
        excess, u, v = (mean - values for mean, values in zip(upper, fields, strict=True))
        denominator = u * u + v * v + at_least(unresolved, self.unresolved_shear_floor)
        return (1.0 - 0.5 * eps) * depth * excess * reciprocal(denominator)

    def _unresolved_shear_squared(
        self, depth: CenterArray, friction: Friction, effect: LangmuirEffect | None, inputs: ClosureInputs
    ) -> CenterArray:
        """V_t² [m2 s-2]."""
        scales, eps = self.velocity_scales, self.surface_layer_fraction
        flux = mean_of_neighbours(inputs.buoyancy_flux_above)
        velocity = scales.scalar(scales.forcing(eps * depth, flux), friction)
        frequency = safe_sqrt(larger_of_both_faces(inputs.buoyancy_frequency_squared))
        concavity = at_least(self.weak_concavity - self.concavity_slope * frequency, self.strong_concavity)
        convection = safe_sqrt(self.entrainment_ratio * reciprocal(scales.scalar_convection()[1] * eps))
        scale = convection * reciprocal(scales.von_karman * scales.von_karman)
        if effect is not None and self.langmuir is not None:
            factor, cube = self.langmuir.entrainment(effect, depth, flux, inputs)
            entrained = scale * velocity * factor
            if cube is not None:
                # (w³ / w_s)^(1/2) instead of the scale times w_s.
                is_convecting = flux < 0.0
                safe = at_least(jnp.where(is_convecting, velocity, 1.0), 1e-8)
                entrained = jnp.where(is_convecting, safe_sqrt(cube * reciprocal(safe)), entrained)
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
        last_center = jnp.max(jnp.where(center <= h, center, 0.0), axis=0)
        at_base = (center[1:] <= h) & (h < center[:-1])
        closed = at_base & ~inside if self.closed_base and not self.enhanced_diffusivity else None
        if not self.enhanced_diffusivity:
            at_base = jnp.zeros_like(at_base)
        reach = jnp.where(at_base, (h - center[1:]) * reciprocal(grid.center_spacing), 0.0)
        sigma, sigma_last = at_most(face * inverse_h, 1.0), last_center * inverse_h
        weights = reach * (1.0 - reach) ** 2, reach * reach * reach  # of the last center, and of the face

        def blend(coefficient, velocity, velocity_last, cubic):
            shape = simple if cubic is None else cubic
            within = jnp.where(inside, h * velocity * shape(sigma), coefficient)
            enhanced = weights[0] * (h * velocity_last * shape(sigma_last)) + weights[1] * within
            mixing = jnp.where(at_base, (1.0 - reach) * coefficient + enhanced, within)
            return mixing if closed is None else jnp.where(closed, 0.0, mixing)

        momentum, scalars = self._velocities(layer, face)
        momentum_last, scalars_last = self._velocities(layer, last_center)
        momentum_shape, scalar_shape = self._cubics(layer, interior, grid)
        mixing = Coefficients(
            blend(interior.viscosity, momentum, momentum_last, momentum_shape),
            blend(interior.diffusivity, scalars, scalars_last, scalar_shape),
        )
        flux, flux_last = simple(sigma), simple(sigma_last)
        # At the base, use the fluxes of the enhanced coefficient without its interior part.
        flux = jnp.where(at_base, weights[0] * flux_last + weights[1] * flux, flux)
        strength = self._nonlocal_strength() * fraction_unstable(layer.buoyancy_flux)
        return mixing, jnp.where(inside, strength * flux, 0.0)

    def _velocities(self, layer: Layer, depth):
        """w_m and w_s [m s-1] at a depth [m] in the layer, with wave enhancement."""
        scales = self.velocity_scales
        reach = self.surface_layer_fraction * layer.depth
        forcing = scales.forcing(at_most(depth, reach), layer.buoyancy_flux)
        momentum = scales.momentum(forcing, layer.friction)
        scalars = scales.scalar(forcing, layer.friction)
        if layer.effect is None:
            return momentum, scalars
        return momentum * layer.effect.enhancement, scalars * layer.effect.enhancement

    def _cubics(self, layer: Layer, interior: Coefficients, grid) -> tuple[Cubic | None, ...]:
        """Matched shapes of momentum and scalars; `None` for the simple one."""
        if self.shape == "simple":
            return None, None
        stable_slope = None
        if self.match_slope:
            fourth = at_least(layer.friction.speed * layer.friction.cube, 1e-16)
            stabilising = at_least(layer.buoyancy_flux, 0.0)
            stable_slope = self.velocity_scales.stable_slope * stabilising * reciprocal(fourth)

        def of(coefficient, velocity):
            below = at_layer_depth(coefficient, layer.depth, grid)
            return matched(below, layer.depth, velocity, stable_slope)

        return tuple(map(of, interior, self._velocities(layer, layer.depth)))

    def _nonlocal_strength(self) -> Scalar:
        """C_s = C* kappa (kappa eps c_s)^(1/3) [1]."""
        kappa = self.velocity_scales.von_karman
        cube = kappa * self.surface_layer_fraction * self.velocity_scales.scalar_convection()[1]
        root = inverse_cube_root(cube)
        return self.nonlocal_coefficient * kappa * cube * root * root
