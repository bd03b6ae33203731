"""The shape of the diffusivity, and the depth at which what it costs is what wind and convection give.

    K = kappa (c_u u* + c_w (max(-B, 0) z)^(1/3)) z g(z / H)
    g(s) = [t + (1 - t) (1 - s)^n] (1 - a s), s at most 1

g is a polynomial, so that sum of K N² over the levels above H is, for all candidates H at once, that of its
terms: running sums of N² z^j.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._types import CenterArray, InnerFaceArray, Scalar
from ...numerics.limiters import at_most, reciprocal


class Shape(NamedTuple):
    """g of a layer.

    Args:
        transition: t, share of the length at the base [1].
        decay: a, share of the velocity that is gone at the base [1].
        exponent: n, a whole number [1].
    """

    transition: Scalar
    decay: Scalar
    exponent: int

    def at(self, share: InnerFaceArray) -> InnerFaceArray:
        """g at shares of the depth."""
        share = at_most(share, 1.0)
        length = self.transition + (1.0 - self.transition) * (1.0 - share) ** self.exponent
        return length * (1.0 - self.decay * share)

    def terms(self) -> list[Scalar]:
        """Coefficients of the powers of s, the lowest first."""
        length, binomial = [], 1.0
        for power in range(self.exponent + 1):
            length.append(binomial * (1.0 - self.transition))
            binomial = -binomial * (self.exponent - power) / (power + 1)
        length[0] = length[0] + self.transition
        shifted = [0.0, *(-self.decay * coefficient for coefficient in length)]
        return [a + b for a, b in zip([*length, 0.0], shifted, strict=True)]


def cost_of_layers(
    shape: Shape, cost: InnerFaceArray, face_depth: InnerFaceArray, center_depth: CenterArray
) -> CenterArray:
    """Sum of cost g(z / H) over the faces above H, for layers that end at the centers [m3 s-3].

    Args:
        shape: of the diffusivity.
        cost: of the faces for g = 1 [m3 s-3].
        face_depth, center_depth: z and H [m].
    """
    terms = shape.terms()
    moments = [cost]
    for _ in terms[1:]:
        moments.append(moments[-1] * face_depth)

    def add(above, face):
        total = jax.tree.map(jnp.add, above, face)
        return total, total

    nothing = jax.tree.map(lambda moment: jnp.zeros_like(moment[0]), moments)
    _, sums = lax.scan(add, nothing, moments, reverse=True)
    inverse = reciprocal(center_depth[:-1])
    total = terms[-1] * sums[-1]
    for coefficient, moment in zip(terms[-2::-1], sums[-2::-1], strict=True):
        total = total * inverse + coefficient * moment
    return jnp.concatenate([total, jnp.zeros_like(total[:1])])
