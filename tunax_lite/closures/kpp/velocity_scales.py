"""Turbulent velocity scales of momentum and scalars, which obey Monin-Obukhov similarity near the surface.

    w = kappa u* / phi(zeta),   zeta = kappa s B / u*³,   s the depth, at most that of the surface layer

    stable (B > 0):              1 / phi = 1 / (1 + c zeta)
    unstable:                    1 / phi_m = (1 - g zeta)^(1/4),   1 / phi_s = (1 - g zeta)^(1/2)
    beyond zeta_m or zeta_s:     1 / phi = (a - b zeta)^(1/3), which holds without wind as well

a and b make the value and slope of both unstable forms meet. In terms of X = kappa s B = zeta u*³ no form
divides by u*.

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403, appendix B.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from ..._types import ColumnArray, Scalar, parameter
from ...numerics.limiters import at_least, reciprocal, safe_sqrt
from ...numerics.powers import inverse_cube_root

_WEAKEST_FORCING = 7e-12
"""w³ below which convection without wind fades [m3 s-3]: its cube root has no derivative at zero."""
_SMALLEST_CUBE, _SMALLEST_SPEED = 1e-15, 1e-6


class Friction(NamedTuple):
    """Powers of u* that the scales need, once per column."""

    speed: Scalar
    cube: Scalar
    root: Scalar
    inverse_root: Scalar
    weakest: Scalar

    @classmethod
    def of(cls, friction_velocity: Scalar) -> "Friction":
        cube = friction_velocity * friction_velocity * friction_velocity
        root = safe_sqrt(friction_velocity)
        return cls(
            friction_velocity,
            cube,
            root,
            reciprocal(at_least(root, _SMALLEST_SPEED**0.5)),
            # With wind nothing has to fade.
            _WEAKEST_FORCING * (_WEAKEST_FORCING * reciprocal(_WEAKEST_FORCING + cube)),
        )


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
        """X [m3 s-3] at a distance below the surface [m], under a buoyancy flux [m2 s-3]."""
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
    """1 where buoyancy is lost, 0 where it is gained; 1/2 at the kink between: the derivative there is the
    mean of both sides."""
    return jnp.where(x < 0.0, 1.0, jnp.where(x > 0.0, 0.0, jnp.full_like(x, 0.5)))


def _free(x, mild, friction: Friction, a: Scalar, b: Scalar):
    cube = jnp.where(mild, 0.0, a * friction.cube - b * x)
    # The cube root of cube + f times [cube / (cube + f)]^8, which fades where cube vanishes.
    raised = cube + friction.weakest
    inverse = inverse_cube_root(raised)
    square = inverse * inverse
    fading = cube * square * inverse
    fading = fading * fading
    fading = fading * fading
    return raised * square * (fading * fading)
