"""The boundary layer of KPP: velocity scales, depth, shapes.

    w = kappa u* / phi(zeta),   zeta = kappa s B / u*³,   s the depth, at most that of the surface layer
    stable (B > 0):              1 / phi = 1 / (1 + c zeta)
    unstable:                    1 / phi_m = (1 - g zeta)^(1/4),   1 / phi_s = (1 - g zeta)^(1/2)
    beyond zeta_m or zeta_s:     1 / phi = (a - b zeta)^(1/3), which holds without wind as well

a and b make both unstable forms continuous in value and slope. In terms of X = kappa s B = zeta u*³ no form
divides by u*. The layer ends where the bulk Richardson number first exceeds its critical value,

    Ri_b(d) = (1 - eps/2) d (b_r - b) / (|u_r - u|² + V_t²)

b_r and u_r are means over the upper eps d. V_t² is the shear of unresolved turbulence, such that convection
entrains beta times its buoyancy flux. The first crossing is found with maxima and sums over all levels,
without a search; the result is a smooth function of Ri_b at three levels. Shapes G(sigma), with sigma = depth
/ h:

    simple:                G = sigma (1 - sigma)², also for the non-local flux
    parabolic_nonlocal:    the same, with (1 - sigma)² for the non-local flux
    match_gradient:        the cubic that continues the interior coefficients, with the simple non-local flux
    match_both:            that cubic for both

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403, section 3, appendix B, eqs. 11, 17, 18
and D5; Danabasoglu et al. (2006), J. Clim. 19, 2347-2365, for C_v; Van Roekel et al. (2018), J. Adv. Model.
Earth Syst. 10, 2647-2685, for N; the names of the shapes are those of CVMix.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from .._types import CenterArray, ColumnArray, InnerFaceArray, Scalar, parameter
from ..column.grid import Grid
from ..numerics.elementary import at_least, at_most, inverse_cube_root, reciprocal, safe_sqrt, with_end_faces

_WEAKEST_FORCING = 7e-12
"""w³ below which convection without wind fades [m3 s-3]: its cube root has no derivative at zero."""
_SMALLEST_CUBE, _SMALLEST_SPEED = 1e-15, 1e-6


class Friction(NamedTuple):
    """Powers of u* used by the velocity scales, once per column."""

    speed: Scalar
    cube: Scalar
    root: Scalar
    inverse_root: Scalar
    weakest: Scalar

    @classmethod
    def of(cls, friction_velocity: Scalar) -> "Friction":
        cube = friction_velocity * friction_velocity * friction_velocity
        root = safe_sqrt(friction_velocity)
        inverse_root = reciprocal(at_least(root, _SMALLEST_SPEED**0.5))
        # With wind nothing has to fade.
        weakest = _WEAKEST_FORCING * (_WEAKEST_FORCING * reciprocal(_WEAKEST_FORCING + cube))
        return cls(friction_velocity, cube, root, inverse_root, weakest)


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
        g, at = self.unstable_slope, self.momentum_transition
        scale = reciprocal(safe_sqrt(safe_sqrt(1.0 - g * at)))
        return scale * (1.0 - 0.25 * g * at), scale * (0.75 * g)

    def scalar_convection(self) -> tuple[Scalar, Scalar]:
        """a and b of scalars [1]."""
        g, at = self.unstable_slope, self.scalar_transition
        scale = safe_sqrt(1.0 - g * at)
        return scale * (1.0 + 0.5 * g * at), scale * (1.5 * g)

    def forcing(self, distance: ColumnArray | Scalar, buoyancy_flux: ColumnArray | Scalar):
        """X [m3 s-3] at a distance below the surface [m], for a buoyancy flux [m2 s-3]."""
        return self.von_karman * distance * buoyancy_flux

    def momentum(self, x: ColumnArray | Scalar, friction: Friction) -> ColumnArray | Scalar:
        """w_m [m s-1]."""
        mild = x >= self.momentum_transition * friction.cube
        sheared = safe_sqrt(friction.root * self._mild(x, mild, friction))
        free = _free(x, mild, friction, *self.momentum_convection())
        return self._either(x, jnp.where(mild, sheared, free), friction)

    def scalar(self, x: ColumnArray | Scalar, friction: Friction) -> ColumnArray | Scalar:
        """w_s [m s-1]."""
        mild = x >= self.scalar_transition * friction.cube
        sheared = friction.inverse_root * self._mild(x, mild, friction)
        free = _free(x, mild, friction, *self.scalar_convection())
        return self._either(x, jnp.where(mild, sheared, free), friction)

    def _mild(self, x, mild, friction: Friction):
        """(u*³ - g X)^(1/2)."""
        within = jnp.where(mild & (x <= 0.0), x, 0.0)
        return safe_sqrt(friction.cube - self.unstable_slope * within)

    def _either(self, x, unstable, friction: Friction):
        cube = friction.cube + self.stable_slope * jnp.where(x >= 0.0, x, 0.0)
        stable = friction.speed * friction.cube * reciprocal(at_least(cube, _SMALLEST_CUBE))
        return self.von_karman * (stable + fraction_unstable(x) * (unstable - stable))


def fraction_unstable(x: ColumnArray | Scalar) -> ColumnArray | Scalar:
    """1 where buoyancy is lost, 0 where it is gained, and 1/2 at zero.

    The derivative at zero is then the mean of both sides.
    """
    return jnp.where(x < 0.0, 1.0, jnp.where(x > 0.0, 0.0, jnp.full_like(x, 0.5)))


def _free(x, mild, friction: Friction, a: Scalar, b: Scalar):
    cube = jnp.where(mild, 0.0, a * friction.cube - b * x)
    # The cube root of cube + f times [cube / (cube + f)]^8, which fades as cube vanishes.
    raised = cube + friction.weakest
    inverse = inverse_cube_root(raised)
    square = inverse * inverse
    fading = cube * square * inverse
    for _ in range(3):
        fading = fading * fading
    return raised * square * fading


_N_NEWTON, _TINY = 6, 1e-12


def pick(where: Bool[Array, "..."], values: Float[Array, "..."]) -> Float[Array, "..."]:
    """The value at the only marked level, per column."""
    return jnp.sum(jnp.where(where, values, 0.0), axis=0)


def means_over_upper_part(
    fields: tuple[CenterArray, ...], thickness: CenterArray, grid: Grid
) -> tuple[CenterArray, ...]:
    """Means of fields from the surface to a depth [m] for each level; at least over the uppermost cell."""
    cell = grid.cell_thickness
    upper_depth = -grid.z_face[1:]
    thickness = at_least(thickness, cell[-1])
    # The cell in which a part ends depends on the grid alone, so that no step repeats this.
    below = jnp.sum(thickness[:, None] > upper_depth[None], axis=1)
    ends_in = jnp.clip(cell.shape[0] - below, 0, cell.shape[0] - 1)

    def at_end(values):
        return _at_ends(*_aligned(values, ends_in))

    def add(above, content):
        return jax.tree.map(jnp.add, above, content), above

    contents = tuple(values * cell for values in fields)
    nothing = jax.tree.map(lambda content: jnp.zeros_like(content[0]), contents)
    _, above = lax.scan(add, nothing, contents, reverse=True)
    rest = thickness - at_end(upper_depth)
    inverse = reciprocal(thickness)
    return tuple(
        (at_end(content) + at_end(values) * rest) * inverse
        for content, values in zip(above, fields, strict=True)
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
        _, total = lax.scan(lambda sum, x: (sum + x,) * 2, jnp.zeros_like(cotangent[0]), cotangent)
        total = jnp.concatenate([jnp.zeros_like(total[:1]), total])
        until = jnp.take_along_axis(total, up_to, axis=0, mode="promise_in_bounds")
        return until - jnp.concatenate([jnp.zeros_like(until[:1]), until[:-1]])

    def gather(_, values):
        return jnp.take_along_axis(values, ends_in, axis=0, mode="promise_in_bounds")

    return lax.custom_linear_solve(lambda x: x, values, gather, sums_of_runs)


def larger_of_both_faces(values: InnerFaceArray) -> CenterArray:
    """The larger value at the two faces of a cell, 0 at both ends of the column."""
    end = jnp.zeros_like(values[:1])
    upper, lower = jnp.concatenate([values, end]), jnp.concatenate([end, values])
    return jnp.where(upper > lower, upper, lower)


def first_crossing(
    richardson: CenterArray, critical: Scalar, depth: CenterArray, interpolation: str
) -> Scalar:
    """Depth [m] at which a number on centers first exceeds a critical value; else of the lowest center.

    The uppermost center never exceeds it. `quadratic` and `cubic` take the slope at the center above the
    crossing from the two above, or zero at the uppermost; `cubic` ends with the slope between both.
    """
    n = richardson.shape[0]
    level = lax.broadcasted_iota(int, richardson.shape, 0)
    crossed = jnp.max(jnp.where((richardson > critical) & (level < n - 1), level, -1), axis=0)
    beyond, last, before = (level == crossed + k for k in range(3))
    found = crossed >= 0
    upper, lower = pick(last, richardson), jnp.where(found, pick(beyond, richardson), critical + 1.0)
    top, bottom = pick(last, depth), jnp.where(found, pick(beyond, depth), 0.0)
    spacing = jnp.where(found, bottom - top, 1.0)
    rise, missing = at_least(lower - upper, _TINY), critical - upper
    if interpolation == "linear":
        fraction = missing * reciprocal(rise)
    else:
        has_before = found & (crossed < n - 2)
        interval = jnp.where(has_before, top - pick(before, depth), 1.0)
        change = jnp.where(has_before, upper - pick(before, richardson), 0.0)
        slope = change * spacing * reciprocal(interval)
        solve = _quadratic_fraction if interpolation == "quadratic" else _cubic_fraction
        fraction = solve(rise, slope, jnp.where(found, missing, 0.5))
    return jnp.where(found, top + fraction * spacing, depth[0])


def _quadratic_fraction(rise: Scalar, slope: Scalar, missing: Scalar) -> Scalar:
    """x in [0, 1] with slope x + (rise - slope) x² = missing, where the left-hand side increases."""
    curvature = rise - slope
    root = safe_sqrt(slope * slope + 4.0 * curvature * missing)
    # Of the two forms of the root, the one without cancellation.
    grows = slope >= 0.0
    divisor = jnp.where(grows, slope + root, 2.0 * curvature)
    return jnp.where(grows, 2.0 * missing, root - slope) * reciprocal(at_least(divisor, _TINY))


def _cubic_fraction(rise: Scalar, slope: Scalar, missing: Scalar) -> Scalar:
    """x in [0, 1] where the cubic with the given end slopes reaches `missing`."""

    def newton(x, rise, slope, missing):
        quadratic, cubic = 2.0 * (rise - slope), slope - rise
        value = x * (slope + x * (quadratic + x * cubic)) - missing
        steepness = slope + x * (2.0 * quadratic + x * (3.0 * cubic))
        return at_most(at_least(x - value * reciprocal(at_least(steepness, _TINY)), 0.0), 1.0)

    # A loop, because the fused kernel of a run would recompute all iterations for each use of the last.
    known = lax.stop_gradient((rise, slope, missing))
    x = lax.fori_loop(0, _N_NEWTON, lambda _, x: newton(x, *known), jnp.full_like(missing, 0.5))
    # One more iteration from the solution has the derivative of the implicit function.
    return newton(x, rise, slope, missing)


_WEAKEST_MIXING = 1e-10


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
    left = 1.0 - sigma
    return sigma * (left * left)


def nonlocal_shape(shape: str, sigma: Float[Array, "..."], of_scalars: Cubic | None) -> Float[Array, "..."]:
    """Shape of the non-local flux [1] by name of the option, at depths sigma in the layer."""
    if shape == "match_both" and of_scalars is not None:
        return of_scalars(sigma)
    left = 1.0 - sigma
    return left * left if shape == "parabolic_nonlocal" else sigma * (left * left)


def at_layer_depth(coefficient: InnerFaceArray, depth: Scalar, grid: Grid) -> tuple[Scalar, Scalar]:
    """Interior coefficient [m2 s-1] and slope [m s-1], positive upward, at the depth of the layer [m].

    Extrapolated from the face below, with the distance-weighted mean of the slopes in this cell and the next;
    negative slopes count as zero. Source: Large et al. (1994), eq. D5.
    """
    faces = with_end_faces(coefficient)
    upper, lower = -grid.z_face[1:], -grid.z_face[:-1]
    within = (upper <= depth) & (depth < lower)
    slope = at_least((faces[1:] - faces[:-1]) * reciprocal(grid.cell_thickness), 0.0)
    next_slope = jnp.concatenate([jnp.zeros_like(slope[:1]), slope[:-1]])
    above_face = pick(within, lower - depth)
    weight = pick(within, (lower - depth) * reciprocal(grid.cell_thickness))
    mean = weight * pick(within, slope) + (1.0 - weight) * pick(within, next_slope)
    return pick(within, faces[:-1]) + mean * above_face, mean


def matched(
    below: tuple[Scalar, Scalar], depth: Scalar, velocity: Scalar, stable_slope: Scalar | None
) -> Cubic:
    """The shape that continues the interior coefficient below h [m], for w [m s-1] at sigma = 1.

    The slope is matched given c B / u*⁴ of the stable side [s m-2]; `None` for G'(1) = 0.
    """
    inverse = reciprocal(at_least(velocity, _WEAKEST_MIXING))
    value = below[0] * inverse * reciprocal(depth)
    if stable_slope is None:
        return Cubic(value, jnp.zeros_like(value))
    return Cubic(value, at_most(stable_slope * below[0] - below[1] * inverse, 0.0))
