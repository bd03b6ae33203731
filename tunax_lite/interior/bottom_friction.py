"""Drag of the bottom by a logarithmic layer, stress = (kappa / ln((z_0 + h/2) / z_0))² |U| U.

The roughness length follows from the height of the roughness elements and, in slow flow, from viscosity.
Source: Burchard et al. (1999), GOTM report; the law of the wall.
"""

import jax.numpy as jnp

from .._types import Scalar, ScalarLike, parameter
from ..numerics.limiters import at_least, reciprocal, vector_norm
from ..terms import AbstractTerm, Column, Tendency

_N_ITERATIONS = 4
"""Of roughness length and friction velocity; they depend weakly on each other."""


class BottomFriction(AbstractTerm):
    """Logarithmic drag.

    Args:
        physical_roughness: height of the roughness elements [m]; 0.03 of it counts.
        von_karman: kappa [1]; `None` for that of the closure, which makes a consistent wall.
        viscosity: molecular viscosity of the smooth limit [m2 s-1].
        additional_roughness: roughness length of waves or ripples [m].
    """

    physical_roughness: Scalar = parameter(0.05, unit="m", valid_range=(0.0, 10.0))
    von_karman: Scalar | None = parameter(0.4, valid_range=(0.1, 1.0))
    viscosity: Scalar = parameter(1.3e-6, unit="m2 s-1", valid_range=(1e-12, 1.0))
    additional_roughness: Scalar = parameter(0.0, unit="m", valid_range=(0.0, 10.0))

    def at(
        self, u: Scalar, v: Scalar, thickness: ScalarLike, before: Scalar | None = None
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Friction velocity [m s-1], roughness length [m] and drag coefficient [1].

        Args:
            u, v: velocity of the lowest cell [m s-1].
            thickness: of the lowest cell [m].
            before: friction velocity of the step before [m s-1], from which the roughness length follows as
                in GOTM; `None` to iterate both.

        Raises:
            ValueError: no kappa.
        """
        if self.von_karman is None:
            raise ValueError(
                "BottomFriction.at: expected a von_karman, got none; `Model.completed(case)` puts in that of "
                "the closure."
            )
        von_karman, speed = self.von_karman, vector_norm(u, v)
        rough = 0.03 * self.physical_roughness + self.additional_roughness

        def ratio_to_speed(friction_velocity: Scalar) -> tuple[Scalar, Scalar]:
            smooth = 0.1 * self.viscosity * reciprocal(at_least(friction_velocity, self.viscosity))
            roughness_length = smooth + rough
            logarithm = jnp.log1p(0.5 * thickness * reciprocal(roughness_length))
            return von_karman * reciprocal(logarithm), roughness_length

        ratio, roughness_length = ratio_to_speed(0.05 * speed if before is None else before)
        for _ in range(_N_ITERATIONS - 1 if before is None else 0):
            ratio, roughness_length = ratio_to_speed(ratio * speed)
        return ratio * speed, roughness_length, ratio * ratio

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        """The drag of the lowest cell, by the coefficient of the start and the velocity that is known."""
        (u, v), old, thickness = column.velocity, column.carried, column.grid.cell_thickness
        _, _, coefficient = self.at(old.u[0], old.v[0], thickness[0])
        rate = coefficient * vector_norm(u[0], v[0]) / thickness[0]
        rate = jnp.concatenate([jnp.zeros_like(old.u[:1]) + rate, jnp.zeros_like(old.u[1:])])
        return {"u": Tendency(loss_rate=rate), "v": Tendency(loss_rate=rate)}
