"""The Coriolis part of the momentum equation, du/dt = f v, dv/dt = -f u, solved exactly."""

import jax.numpy as jnp

from .. import constants
from .._types import CenterArray, Scalar, ScalarLike


def coriolis_parameter(latitude: ScalarLike) -> Scalar:
    """f = (4 pi / sidereal day) sin(latitude) [s-1]; latitude in degrees north."""
    return 4.0 * jnp.pi / constants.ROTATION_PERIOD * jnp.sin(jnp.deg2rad(latitude))


def rotate(
    u: CenterArray, v: CenterArray, coriolis_parameter: ScalarLike, dt: ScalarLike
) -> tuple[CenterArray, CenterArray]:
    """Turn the velocity by the angle f dt: exact for any time step, and energy is conserved."""
    angle = jnp.asarray(coriolis_parameter * dt)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return cosine * u + sine * v, cosine * v - sine * u
