"""The length of Bougeault and Andre: how far turbulence lifts and lowers a parcel against buoyancy.

    integral of (b - b_0) dz upward over l_u = k,   integral of (b_0 - b) dz downward over l_d = k,
    l = sqrt(l_u l_d)

The buoyancy b is linear between the cell centers and constant beyond the last ones, so that in water of
constant stratification l = sqrt(2 k) / N to the last digit. A parcel that nothing stops reaches the surface
or the bottom. All pairs of a face and a segment are computed at once: the cost grows with the square of the
number of levels.

Source: Bougeault and Andre (1986), J. Atmos. Sci. 43, 1574-1579.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..._types import ColumnArray, InnerFaceArray
from ...declarations import named
from ...numerics.limiters import at_least, reciprocal, safe_sqrt
from .lengths import AbstractLength, Place

_SMALLEST_SQUARE, _SMALLEST_DIVISOR = 1e-30, 1e-20


@named("bougeault_andre")
class BougeaultAndre(AbstractLength):
    """l = sqrt(l_u l_d)."""

    def __call__(self, place: Place) -> InnerFaceArray:
        thickness = place.grid.cell_thickness
        upward = _distance_upward(place.tke, place.n_squared, thickness)
        # Seen from below, with buoyancy and height reversed, the way down is a way up.
        downward = _distance_upward(place.tke[::-1], place.n_squared[::-1], thickness[::-1])[::-1]
        return safe_sqrt(upward * downward)


class _Segments(NamedTuple):
    """The way up from every inner face, in segments; axes: face, segment.

    From the face to the center above, from center to center, and from the last center to the surface. A face
    has no segments below itself.
    """

    exists: Bool[Array, "face segment *#batch"]
    length: Float[Array, "face segment *#batch"]
    excess: Float[Array, "face segment *#batch"]  # b - b_0 at the beginning
    slope: Float[Array, "1 segment *#batch"]  # db/dz
    work_before: Float[Array, "face segment *#batch"]
    work: Float[Array, "face segment *#batch"]  # at the end


def _segments(n_squared: InnerFaceArray, thickness: ColumnArray) -> _Segments:
    n = thickness.shape[0]
    half = 0.5 * jnp.broadcast_to(thickness, (n, *n_squared.shape[1:]))
    spacing, zero = half[1:] + half[:-1], jnp.zeros_like(half[:1])

    def integral_of(steps):
        return jnp.concatenate([zero, jnp.cumsum(steps, axis=0)])

    center, buoyancy = integral_of(spacing), integral_of(n_squared * spacing)
    integral = integral_of(0.5 * (buoyancy[1:] + buoyancy[:-1]) * spacing)
    own, start = buoyancy[:-1] + n_squared * half[:-1], center[:-1] + half[:-1]
    integral_at_start = integral[:-1] + 0.5 * (buoyancy[:-1] + own) * half[:-1]

    end = jnp.concatenate([center[1:], center[-1:] + half[-1:]])
    end_integral = jnp.concatenate([integral[1:], integral[-1:] + buoyancy[-1:] * half[-1:]])
    work = (end_integral - integral_at_start[:, None]) - own[:, None] * (end - start[:, None])
    face, segment = (jax.lax.broadcasted_iota(int, work.shape, axis) for axis in (0, 1))

    def at_beginning(of_ends, of_face):
        """Values where segments begin: the end of the one before, or the face."""
        before = jnp.broadcast_to(of_ends, work.shape)[:, :-1]
        before = jnp.concatenate([before[:, :1], before], axis=1)
        return jnp.where(face == segment, of_face[:, None], before)

    return _Segments(
        exists=face <= segment,
        length=end - at_beginning(end, start),
        excess=at_beginning(jnp.concatenate([buoyancy[1:], zero]), own) - own[:, None],
        slope=jnp.concatenate([n_squared, zero])[None],
        work_before=at_beginning(work, jnp.zeros_like(own)),
        work=work,
    )


def _distance_upward(
    tke: InnerFaceArray, n_squared: InnerFaceArray, thickness: ColumnArray
) -> InnerFaceArray:
    """l_u [m] from every inner face."""
    exists, length, excess, slope, work_before, work = _segments(n_squared, thickness)
    left = tke[:, None] - work_before
    square = excess**2 + 2.0 * slope * left
    # Where buoyancy turns within a segment, the work is largest there.
    turns = (excess > 0.0) & (excess + slope * length < 0.0) & (square >= 0.0)
    reached = (exists & ((work >= tke[:, None]) | turns)).astype(int)
    n_reached = jnp.cumsum(reached, axis=1)
    passed, stopped = exists & (n_reached == 0), (reached == 1) & (n_reached == 1)

    root = safe_sqrt(at_least(square, _SMALLEST_SQUARE))
    divisor = jnp.where(stopped, excess + root, 1.0)
    last = 2.0 * left * reciprocal(at_least(divisor, _SMALLEST_DIVISOR))
    return jnp.sum(jnp.where(passed, length, jnp.where(stopped, last, 0.0)), axis=1)
