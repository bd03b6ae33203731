"""The turbulent velocity w of K = kappa w l, from the energy that is left."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._types import Scalar, parameter
from ...declarations import named
from ...numerics.limiters import at_least, reciprocal

Numbers = Float[Array, "..."]
"""One number per column, per level, or per depth of the layer that is tried."""
_SMALLEST_CUBE = 1e-11
"""Of a velocity [m3 s-3]: below, it is linear in the energy."""
_SMALLEST_VELOCITY = 1e-12


def cube_root(cube: Numbers) -> Numbers:
    """x^(1/3) of energy from 0 on [m3 s-3]; linear in x, and finite in its derivative, at 0."""
    return cube * jnp.exp((-2.0 / 3.0) * jnp.log(cube + _SMALLEST_CUBE))


@named("om4")
class EnergyVelocity(eqx.Module):
    """w = (E + c R)^(1/3), with what wind (E) and convection (R) have left where it mixes.

    A face whose mixing releases energy counts with all that it could release.

    Args:
        convection: c [1].
        rotation: c_f; the length is l / (1 + c_f |f| l / w) [1].

    Source: Adcroft et al. (2019), J. Adv. Model. Earth Syst. 11, 3167-3211; numbers of MOM6.
    """

    convection: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    rotation: Scalar = parameter(1.0, valid_range=(0.0, 10.0))

    def diffusivity(self, energy: Numbers, length: Numbers, turning: Numbers) -> Numbers:
        """K = kappa w l [m2 s-1].

        Args:
            energy: E + c R [m3 s-3].
            length: kappa l without rotation [m].
            turning: c_f |f| / kappa [s-1].
        """
        velocity = cube_root(at_least(energy, 0.0))
        return velocity * velocity * length * reciprocal(velocity + turning * length + _SMALLEST_VELOCITY)
