"""Depth of the mixed layer."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._types import Scalar
from ..grid import Grid


def mixed_layer_depth(
    temperature: Float[Array, "center *#batch"],
    grid: Grid,
    *,
    difference: float = 0.2,
    reference_depth: float | None = None,
) -> Scalar:
    """Depth [m] at which the temperature is first `difference` [K] below that of a reference above.

    Linear between centers; the depth of the deepest center where the criterion is met nowhere.
    Differentiable except where the crossing moves to another pair of cells.

    Args:
        temperature: on the cells [degC], or minus another variable that grows with depth.
        grid: of the column.
        difference: to the reference, in the unit of the variable.
        reference_depth: of the reference [m]; what lies above does not count. `None` for the uppermost cell.

    Source: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003, who take 10 m and 0.2 K.
    """
    z = jnp.broadcast_to(grid.z_center, temperature.shape)
    if reference_depth is not None:
        # As if the water above were that of the reference, and began there.
        temperature = jnp.where(
            z > -reference_depth, _value_at(temperature, z, -reference_depth), temperature
        )
        z = jnp.minimum(z, -reference_depth)
    threshold = temperature[-1] - difference
    below, above = temperature[:-1] < threshold, temperature[1:] >= threshold
    # The shallowest crossing: the last True along the upward axis.
    is_crossing = below & above
    steps_from_top = jnp.argmax(is_crossing[::-1], axis=0)
    lower = temperature.shape[0] - 2 - steps_from_top
    t_low, t_up = _take(temperature, lower), _take(temperature, lower + 1)
    z_low, z_up = _take(z, lower), _take(z, lower + 1)
    spread = jnp.where(t_up > t_low, t_up - t_low, 1.0)
    crossing = z_low + (threshold - t_low) / spread * (z_up - z_low)
    return jnp.where(jnp.any(is_crossing, axis=0), -crossing, -z[0])


def _take(values: Float[Array, "center *#batch"], index: Int[Array, "*#batch"]) -> Scalar:
    return jnp.take_along_axis(values, index[None], axis=0)[0]


def _value_at(values: Float[Array, "center *#batch"], z: Float[Array, "center *#batch"], height: float):
    """Linear between centers at heights z [m], constant beyond the first and the last."""
    lower = jnp.clip(jnp.sum(z < height, axis=0) - 1, 0, z.shape[0] - 2)
    z_low, z_up = _take(z, lower), _take(z, lower + 1)
    fraction = jnp.clip((height - z_low) / (z_up - z_low), 0.0, 1.0)
    return (1.0 - fraction) * _take(values, lower) + fraction * _take(values, lower + 1)


def first_face_below(met: Bool[Array, "face *#batch"], grid: Grid) -> Scalar:
    """Depth [m] of the first inner face from the surface where a condition is met, or of the bottom."""
    inner = met[1:-1]
    from_top = jnp.argmax(inner[::-1], axis=0)
    faces = jnp.broadcast_to(grid.z_face[1:-1], inner.shape)[::-1]
    found = jnp.take_along_axis(faces, from_top[None], axis=0)[0]
    return jnp.where(jnp.any(inner, axis=0), -found, -jnp.broadcast_to(grid.z_face[0], found.shape))
