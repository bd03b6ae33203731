"""Elementary operations: limits and roots with defined gradients, powers, stencils, running minima.

JAX differentiates a division into divisions, and a maximum into a ratio that splits the gradient at a tie.
Divisions dominate the cost of a step, so the derivatives of these functions avoid them.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import CenterArray, ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ..column.grid import Grid


@jax.custom_jvp
def reciprocal(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 / x, with the derivative -1 / x² without a further division."""
    return 1.0 / x


@reciprocal.defjvp
def _(primals, tangents):
    inverse = reciprocal(*primals)
    return inverse, -(inverse * inverse) * tangents[0]


@jax.custom_jvp
def quotient(x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    """x / y, with derivatives that share one further division.

    Use this for values with several uses: on a CPU XLA computes a quotient once, but recomputes a product,
    with everything that it depends on, in every loop that uses it.
    """
    return x / y


@quotient.defjvp
def _(primals, tangents):
    ratio, inverse = quotient(*primals), reciprocal(primals[1])
    return ratio, inverse * (tangents[0] - ratio * tangents[1])


def safe_sqrt(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Square root of `x` if positive; otherwise 0 with zero gradient; NaN stays NaN.

    The argument is replaced before taking the root, because the gradient of a masked `sqrt(0)` is NaN.
    """
    not_positive = x <= 0.0
    return jnp.where(not_positive, 0.0, jnp.sqrt(jnp.where(not_positive, 1.0, x)))


def vector_norm(x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Length of the vector (x, y); 0 with zero gradient at the origin (the minimal subgradient)."""
    return safe_sqrt(x * x + y * y)


def at_least(x: Float[Array, "..."], lowest: ScalarLike) -> Float[Array, "..."]:
    """Larger of `x` and `lowest`; at a tie the gradient is that of `x`; NaN in `x` stays NaN."""
    return jnp.where(x < lowest, lowest, x)


def at_most(x: Float[Array, "..."], highest: ScalarLike) -> Float[Array, "..."]:
    """Smaller of `x` and `highest`; at a tie the gradient is that of `x`; NaN in `x` stays NaN."""
    return jnp.where(x > highest, highest, x)


def power(x: Float[Array, "..."], exponent: float) -> Float[Array, "..."]:
    """`x` to a fixed power.

    Args:
        x: positive; zero is allowed if twice the exponent is a positive integer.
        exponent: a Python number. Multiples of 1/2 become products and at most one square root.
    """
    if 2.0 * exponent != round(2.0 * exponent):
        return jnp.exp(exponent * jnp.log(x))
    base = x if exponent >= 0.0 else reciprocal(x)
    n_factors, has_root = divmod(round(abs(2.0 * exponent)), 2)
    if not has_root:
        return base**n_factors
    root = safe_sqrt(base)
    return base**n_factors * root if n_factors else root


def product_of_powers(*factors: tuple[Float[Array, "..."], float]) -> Float[Array, "..."]:
    """Product of x^e over the pairs (x, e), at least one of which has a nonzero exponent."""
    first, *others = [power(x, exponent) for x, exponent in factors if exponent != 0.0]
    for other in others:
        first = first * other
    return first


def horner(coefficients: Sequence[PyTree], x: Float[Array, "..."]) -> PyTree:
    """Sum of c_n x^n; the coefficients are numbers or arrays."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


@jax.custom_jvp
def inverse_cube_root(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """x^(-1/3) of positive numbers, to round-off, without a logarithm or a division.

    The bits of a number, read as an integer, grow like its logarithm: `start` minus a third of them is within
    3 %. Each Newton iteration for r^-3 = x doubles the digits. Compilers vectorise this, but not a power.
    """
    if x.dtype == jnp.float32:
        bits, start = jnp.int32, 0x548C39CB
    else:
        bits, start = jnp.int64, 0x553EF0FF289DD796
    third = (jax.lax.bitcast_convert_type(x, bits).astype(x.dtype) * (1.0 / 3.0)).astype(bits)
    root = jax.lax.bitcast_convert_type(start - third, x.dtype)
    for _ in range(4):
        root = root * (4.0 / 3.0 - (x * (1.0 / 3.0)) * root * root * root)
    return root


@inverse_cube_root.defjvp
def _(primals, tangents):
    root = inverse_cube_root(*primals)
    return root, (-1.0 / 3.0) * (root * root) * (root * root) * tangents[0]


def _compute_before_padding(
    linear: Callable[[ColumnArray], InnerFaceArray],
) -> Callable[[ColumnArray], InnerFaceArray]:
    """Keep the transpose of a linear function from fusing the array that it pads: see `unfused`.

    Otherwise XLA computes the array in a loop over the padded length, with a branch at the ends.
    """
    function = jax.custom_jvp(linear)

    @function.defjvp
    def _(primals, tangents):
        return function(*primals), unfused(linear(*tangents))

    return function


@_compute_before_padding
def inner_faces(faces: FaceArray) -> InnerFaceArray:
    """Values on the faces between cells: all but the two ends."""
    return faces[1:-1]


@_compute_before_padding
def difference(values: CenterArray) -> InnerFaceArray:
    """Upper minus lower neighbour, on inner faces."""
    return values[1:] - values[:-1]


def gradient(values: CenterArray, grid: Grid) -> InnerFaceArray:
    """Vertical derivative on inner faces [unit m-1], second order on a uniform grid."""
    return difference(values) * reciprocal(grid.center_spacing)


@_compute_before_padding
def mean_of_neighbours(values: CenterArray) -> InnerFaceArray:
    """Arithmetic mean of the two neighbours, on inner faces."""
    return 0.5 * (values[1:] + values[:-1])


def column_integral(values: CenterArray, grid: Grid) -> Scalar:
    """Integral over the column, per unit area of the surface [unit m]."""
    return jnp.sum(values * grid.cell_volume, axis=0)


def sum_above(half: CenterArray) -> CenterArray:
    """Integral from the surface down to each center; `half` is the content of half a cell, per cell."""
    if half.ndim == 1:  # a loop over the levels costs one column more than sums by shifts
        total, shift = 2.0 * half, 1
        while shift < len(half):
            total = total + unfused(jnp.concatenate([total[shift:], jnp.zeros_like(total[:shift])]))
            shift *= 2
        return total - half
    # On a GPU a loop over the levels launches a kernel for each, and sums by shifts may be such a loop.
    n, dtype = len(half), half.dtype
    weights = 2.0 * jnp.tri(n, k=-1, dtype=dtype).T + jnp.eye(n, dtype=dtype)
    step = lambda above, here: (above + 2.0 * here, above + here)  # noqa: E731
    return jax.lax.platform_dependent(
        half,
        cpu=lambda half: jax.lax.scan(step, jnp.zeros_like(half[0]), half, reverse=True)[1],
        default=lambda half: jnp.tensordot(weights, half, 1, precision=jax.lax.Precision.HIGHEST),
    )


def unfused(values: Float[Array, "..."]) -> Float[Array, "..."]:
    """Keep XLA from fusing the values of a single column with the code that uses them.

    A loop over levels that sets another value at one end has a branch, and LLVM does not vectorise it from
    jax 0.12 on: a step took 1.15 times as long.
    """
    return jax.lax.optimization_barrier(values) if values.ndim == 1 else values


def with_end_faces(inner: InnerFaceArray, bottom: ScalarLike = 0.0, surface: ScalarLike = 0.0) -> FaceArray:
    """Values on all faces, from inner faces and the two ends."""
    end = jnp.zeros_like(inner[:1])
    return jnp.concatenate([end + bottom, unfused(inner), end + surface])


def interpolated(
    position: Float[Array, "..."], points: Float[Array, "..."], values: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Interpolate linearly between points that increase along axis 0; constant beyond both ends.

    A sum over all intervals instead of a search, because the transpose of a gather is slow.
    """
    fraction = at_most(at_least((position - points[:-1]) / (points[1:] - points[:-1]), 0.0), 1.0)
    return values[0] + jnp.sum((values[1:] - values[:-1]) * fraction, axis=0)


def smallest_upward(values: ColumnArray) -> ColumnArray:
    """Smallest value at or above each level; the gradient is that of this value, the nearest at a tie."""
    return _smallest(values, lambda shifted, padding: [shifted[padding.shape[0] :], padding])


def smallest_downward(values: ColumnArray) -> ColumnArray:
    """Smallest value at or below each level; gradient as in `smallest_upward`."""
    return _smallest(values, lambda shifted, padding: [padding, shifted[: -padding.shape[0]]])


def _smallest(values: ColumnArray, parts: Callable[..., list]) -> ColumnArray:
    """Running minimum by a few shifts of the column instead of a loop; `parts` shifts and pads the column."""
    shift, n = 1, values.shape[0]
    while shift < n:
        shifted = jnp.concatenate(parts(values, jnp.full_like(values[:shift], jnp.inf)))
        values = jnp.where(shifted < values, shifted, values)
        shift *= 2
    return values
