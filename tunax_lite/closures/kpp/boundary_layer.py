"""Depth of the boundary layer: where the bulk Richardson number first exceeds its critical value.

    Ri_b(d) = (1 - eps/2) d (b_r - b) / (|u_r - u|² + V_t²)

b_r and u_r are means over the upper eps d. V_t² is the shear of turbulence that the column does not resolve,
such that convection entrains beta of its buoyancy flux. The first crossing is found with maxima and sums over
all levels, without a search; what follows from it is a smooth function of Ri_b at three levels.

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403, section 3; Danabasoglu et al. (2006),
J. Clim. 19, 2347-2365, for C_v; Van Roekel et al. (2018), J. Adv. Model. Earth Syst. 10, 2647-2685, for N.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool

from ..._types import CenterArray, InnerFaceArray, Scalar, ScalarLike
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt

INTERPOLATIONS = ("linear", "quadratic", "cubic")
_SMALLEST_SPACING = 1e-6
_N_NEWTON = 6


def pick(where: Bool[Array, "..."], values: Any) -> Any:
    """The value of the only level that is marked, per column."""
    return jnp.sum(jnp.where(where, values, 0.0), axis=0)


def means_over_upper_part(
    fields: tuple[CenterArray, ...], thickness: CenterArray, grid: Grid
) -> tuple[CenterArray, ...]:
    """Means from the surface down to a depth of its own for every level; at least the uppermost cell.

    Args:
        fields: on cells.
        thickness: of the part [m].
        grid: of the fields.
    """
    cell = grid.cell_thickness
    upper_depth = -grid.z_face[1:]
    thickness = at_least(thickness, cell[-1])
    # The cell in which a part ends. It follows from the grid alone, so that no step repeats it.
    below = jnp.sum(thickness[:, None] > upper_depth[None], axis=1)
    ends_in = jnp.clip(cell.shape[0] - below, 0, cell.shape[0] - 1)

    def at_end(values):
        return jnp.take_along_axis(*_aligned(values, ends_in), axis=0, mode="promise_in_bounds")

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
    """An array and indices into its levels with the batch axes of both."""
    batch = jnp.broadcast_shapes(values.shape[1:], index.shape[1:])

    def spread(x):
        aligned = x.reshape(x.shape + (1,) * (len(batch) + 1 - x.ndim))
        return jnp.broadcast_to(aligned, (x.shape[0], *batch))

    return spread(values), spread(index)


def larger_of_both_faces(values: InnerFaceArray) -> CenterArray:
    """The larger value of the two faces of a cell, 0 at both ends of the column."""
    end = jnp.zeros_like(values[:1])
    upper, lower = jnp.concatenate([values, end]), jnp.concatenate([end, values])
    return jnp.where(upper > lower, upper, lower)


def first_crossing(
    richardson: CenterArray, critical: Scalar, depth: CenterArray, interpolation: str
) -> Scalar:
    """Depth [m] at which a number that varies with depth first exceeds a critical one.

    Args:
        richardson: on centers; the uppermost never counts as beyond.
        critical: [1].
        depth: of the centers [m].
        interpolation: between the center above the crossing and that below; `quadratic` and `cubic` have
            the slope at the upper one from the two centers above, or none at the uppermost; `cubic` ends
            with the slope between both.

    Returns:
        The depth of the lowest center where nothing crosses.
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


_TINY = 1e-12


def _quadratic_fraction(rise: Scalar, slope: Scalar, missing: Scalar) -> Scalar:
    """x in [0, 1] with slope x + (rise - slope) x² = missing, where the left side grows."""
    curvature = rise - slope
    root = safe_sqrt(slope * slope + 4.0 * curvature * missing)
    # Of the two forms of the root that which does not cancel.
    grows = slope >= 0.0
    divisor = jnp.where(grows, slope + root, 2.0 * curvature)
    return jnp.where(grows, 2.0 * missing, root - slope) * reciprocal(at_least(divisor, _TINY))


def _cubic_fraction(rise: Scalar, slope: Scalar, missing: Scalar) -> Scalar:
    """x in [0, 1] where the cubic with the given end slopes reaches `missing`."""
    quadratic, cubic = 2.0 * (rise - slope), slope - rise

    def newton(x):
        value = x * (slope + x * (quadratic + x * cubic)) - missing
        steepness = slope + x * (2.0 * quadratic + x * (3.0 * cubic))
        return at_most(at_least(x - value * reciprocal(at_least(steepness, _TINY)), 0.0), 1.0)

    x = jnp.full_like(missing, 0.5)
    for _ in range(_N_NEWTON):
        x = newton(x)
    # One more step from the solution has the derivative of the implicit function.
    return newton(lax.stop_gradient(x))


def limited(
    depth: Scalar,
    shallowest: ScalarLike,
    limits: list[Scalar],
) -> Scalar:
    """A depth [m] of at most each limit, and at least the shallowest one."""
    for limit in limits:
        depth = at_most(depth, limit)
    return at_least(depth, shallowest)
