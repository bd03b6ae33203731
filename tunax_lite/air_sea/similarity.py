"""Stability functions psi of unstable air that the bulk formulae share; zeta is height over Obukhov length.

All take arguments that stand for zeta <= 0, at which they are 0 for zeta = 0 and increase with -zeta.
"""

import math

import jax.numpy as jnp

from .._types import Scalar

_SQRT3 = math.sqrt(3.0)


def kansas_momentum(root: Scalar) -> Scalar:
    """Businger-Dyer function of momentum, of the root (1 - a zeta)^(1/2)."""
    chi = jnp.sqrt(root)
    product = (0.5 * (1.0 + chi)) ** 2 * (0.5 * (1.0 + root))
    return jnp.log(product) - 2.0 * jnp.arctan(chi) + 0.5 * math.pi


def kansas_heat(root: Scalar) -> Scalar:
    """Businger-Dyer function of heat and vapour, of the root (1 - a zeta)^(1/2)."""
    return 2.0 * jnp.log(0.5 * (1.0 + root))


def convective(argument: Scalar) -> Scalar:
    """Free-convective function, of 1 - b zeta.

    Source: Fairall et al. (1996), J. Geophys. Res. 101, 3747-3764.
    """
    y = jnp.exp(jnp.log(argument) * (1.0 / 3.0))
    logarithm = 1.5 * jnp.log((1.0 + y + y * y) * (1.0 / 3.0))
    return logarithm - _SQRT3 * jnp.arctan((1.0 + 2.0 * y) * (1.0 / _SQRT3)) + math.pi / _SQRT3


def blend(zeta: Scalar, near_neutral: Scalar, free: Scalar) -> Scalar:
    """The two functions weighted by 1 / (1 + zeta²) and its complement."""
    squared = zeta * zeta
    return (near_neutral + squared * free) / (1.0 + squared)


def gust_squared(buoyant: Scalar, factor: Scalar | float) -> Scalar:
    """Square of the gustiness, factor * buoyant^(2/3) [m2 s-2], 0 where the air is stable.

    The power has an infinite slope at 0: what it is at a small value is taken off, so that the gustiness
    starts from 0 with a finite slope, and is too small by less than 5 mm s-1.
    """
    least = 1e-7
    positive = jnp.where(buoyant > least, buoyant, least)
    return factor * (jnp.exp(jnp.log(positive) * (2.0 / 3.0)) - least ** (2.0 / 3.0))
