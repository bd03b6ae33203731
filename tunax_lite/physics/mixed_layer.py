"""Depth of the mixed layer."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._types import Scalar
from ..grid import Grid


def mixed_layer_depth(
    temperature: Float[Array, "center *#batch"], grid: Grid, *, difference: float = 0.2
) -> Scalar:
    """Depth [m] at which the temperature is first `difference` [K] below that of the uppermost cell.

    Linear between centers; the depth of the deepest center where the criterion is met nowhere.
    Differentiable except where the crossing moves to another pair of cells.

    Source: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003, with the surface cell as
    reference.
    """
    threshold = temperature[-1] - difference
    z = grid.z_center
    below, above = temperature[:-1] < threshold, temperature[1:] >= threshold
    # The shallowest crossing: the last True along the upward axis.
    is_crossing = below & above
    steps_from_top = jnp.argmax(is_crossing[::-1], axis=0)
    lower = temperature.shape[0] - 2 - steps_from_top
    take = lambda values, index: jnp.take_along_axis(values, index[None], axis=0)[0]  # noqa: E731
    t_low, t_up = take(temperature, lower), take(temperature, lower + 1)
    z_full = jnp.broadcast_to(z, temperature.shape)
    z_low, z_up = take(z_full, lower), take(z_full, lower + 1)
    spread = jnp.where(t_up > t_low, t_up - t_low, 1.0)
    crossing = z_low + (threshold - t_low) / spread * (z_up - z_low)
    return jnp.where(jnp.any(is_crossing, axis=0), -crossing, -z_full[0])


def first_face_below(met: Bool[Array, "face *#batch"], grid: Grid) -> Scalar:
    """Depth [m] of the first inner face from the surface where a condition is met, or of the bottom."""
    inner = met[1:-1]
    from_top = jnp.argmax(inner[::-1], axis=0)
    faces = jnp.broadcast_to(grid.z_face[1:-1], inner.shape)[::-1]
    found = jnp.take_along_axis(faces, from_top[None], axis=0)[0]
    return jnp.where(jnp.any(inner, axis=0), -found, -jnp.broadcast_to(grid.z_face[0], found.shape))
