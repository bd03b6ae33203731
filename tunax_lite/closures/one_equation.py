"""One-equation closure: an equation for k, and a diagnostic length scale.

    eps = c_mu0³ k^(3/2) / l

d_s and d_b are the distances to surface and bottom, each with the roughness length added.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import InnerFaceArray, Scalar, parameter
from ..column.grid import Grid
from ..declarations import named
from ..numerics.elementary import at_least, at_most, reciprocal, safe_sqrt
from .energy import AbstractEnergyClosure, EnergyStepper
from .k_equation import AbstractLengthScale, SchmidtNumber, Step
from .walls import ShearFreeLayer


class FaceConditions(NamedTuple):
    """Position of the inner faces, and turbulence there."""

    grid: Grid
    from_surface: InnerFaceArray  # d_s [m]
    from_bottom: InnerFaceArray  # d_b [m]
    von_karman: Scalar  # kappa [1]
    tke: InnerFaceArray  # k [m2 s-2]


class AbstractLength(eqx.Module):
    """A length scale on the inner faces."""

    @abc.abstractmethod
    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        """l [m], positive, before the limit in stable stratification."""


@named("parabolic")
class Parabolic(AbstractLength):
    """Parabolic length scale: l = kappa d_s d_b / (d_s + d_b)."""

    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        return faces.von_karman * reciprocal(reciprocal(faces.from_surface) + reciprocal(faces.from_bottom))


@named("triangular")
class Triangular(AbstractLength):
    """Triangular length scale: l = kappa min(d_s, d_b)."""

    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        return faces.von_karman * at_most(faces.from_surface, faces.from_bottom)


@named("blackadar")
class Blackadar(AbstractLength):
    """Blackadar (1962): 1 / l = 1 / (kappa d_s) + 1 / (kappa d_b) + 1 / l_a, l_a from the profile of k.

    l_a = gamma mean(sqrt(k) d_b) / mean(sqrt(k)).

    Args:
        gamma: l_a over the mean height of the turbulence [1].

    Source: Blackadar (1962), J. Geophys. Res. 67, 3095-3102, here with two walls; gamma of GOTM.
    """

    gamma: Scalar = parameter(0.2, valid_range=(0.01, 2.0))

    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        weight = safe_sqrt(faces.tke) * faces.grid.cell_thickness[:-1]
        mean = jnp.sum(weight * faces.from_bottom, axis=0) / jnp.sum(weight, axis=0)
        near_walls = (reciprocal(faces.from_surface) + reciprocal(faces.from_bottom)) / faces.von_karman
        return reciprocal(near_walls + 1.0 / at_least(self.gamma * mean, 1e-10))


@named("one_equation")
class OneEquation(AbstractEnergyClosure):
    """k with an algebraic length scale; for common settings see `AbstractEnergyClosure`.

    Args:
        von_karman: kappa of the logarithmic layer [1].
        length: formula for the length.
    """

    von_karman: Scalar = parameter(0.4, valid_range=(0.2, 0.6))
    length: AbstractLength = eqx.field(default_factory=Blackadar)

    def prepare(self) -> EnergyStepper:
        functions, waves = self.stability.stability_functions(), self.surface.breaking_waves
        diffusion = SchmidtNumber(self.sigma_k, self.sigma_k)
        if waves is not None:
            # k ~ z^alpha where the diffusion of k balances eps, with l = kappa z.
            squared = 2.0 / 3.0 * functions.c_mu_0**3 / functions.c_mu_shear_free * self.sigma_k
            decay = -safe_sqrt(jnp.asarray(squared)) / self.von_karman
            at_wall = diffusion.at_wall(functions, below_waves=True)
            waves = ShearFreeLayer.of(waves, decay, self.von_karman, at_wall)
        length = AlgebraicLength(self.length, self.von_karman)
        return EnergyStepper(self, diffusion, length, functions, self.von_karman, waves)


class AlgebraicLength(AbstractLengthScale):
    """A length scale diagnosed from the column."""

    length: AbstractLength
    von_karman: Scalar

    def dissipation(self, now: Step, tke: InnerFaceArray) -> InnerFaceArray:
        z = now.inputs.grid.z_face
        faces = FaceConditions(
            now.inputs.grid,
            from_surface=-z[1:-1] + now.surface.roughness_length,
            from_bottom=z[1:-1] - z[0] + now.bottom.roughness_length,
            von_karman=self.von_karman,
            tke=tke,
        )
        return now.functions.c_mu_0**3 * tke * safe_sqrt(tke) * reciprocal(self.length(faces))
