"""One-equation closure: an equation for k, and a diagnostic length scale.

    eps = c_mu0³ k^(3/2) / l

d_s and d_b are the distances to surface and bottom, each with the roughness length added, and H is the water
depth.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._types import ColumnArray, InnerFaceArray, Scalar, parameter
from ..column.grid import Grid
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, reciprocal, safe_sqrt
from .energy import AbstractEnergyClosure, EnergyStepper
from .k_equation import AbstractLengthScale, SchmidtNumber, Step
from .walls import ShearFreeLayer

_SMALLEST_SQUARE, _SMALLEST_DIVISOR = 1e-30, 1e-20


class FaceConditions(NamedTuple):
    """Position of the inner faces, and turbulence and stratification there."""

    grid: Grid
    from_surface: InnerFaceArray  # d_s [m]
    from_bottom: InnerFaceArray  # d_b [m]
    bottom_roughness_length: Scalar  # z_0 of the bottom [m]
    von_karman: Scalar  # kappa [1]
    tke: InnerFaceArray  # k [m2 s-2]
    n_squared: InnerFaceArray  # N² [s-2]


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


@named("xing_davies")
class XingDavies(AbstractLength):
    """Xing and Davies (1995): parabolic, with the distance d to the bottom reduced to d exp(-beta d / H).

    Args:
        beta: rate at which the distance to the bottom is reduced [1].

    Source: Xing and Davies (1995), J. Geophys. Res. 100, 16063-16079.
    """

    beta: Scalar = parameter(2.0, valid_range=(0.0, 10.0))

    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        roughness = faces.bottom_roughness_length
        distance = faces.from_bottom - roughness
        shortened = distance * jnp.exp(-self.beta * distance / faces.grid.depth) + roughness
        return faces.von_karman * reciprocal(reciprocal(faces.from_surface) + reciprocal(shortened))


@named("robert_ouellet")
class RobertOuellet(AbstractLength):
    """Robert and Ouellet (1987): l = kappa d_b sqrt(d_s / H).

    Source: Robert and Ouellet (1987), in Three-Dimensional Models of Marine and Estuarine Dynamics.
    """

    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        return faces.von_karman * faces.from_bottom * safe_sqrt(faces.from_surface / faces.grid.depth)


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


@named("bougeault_andre")
class BougeaultAndre(AbstractLength):
    """Bougeault and Andre (1986): l = sqrt(l_u l_d), distances over which k lifts and lowers a parcel.

        integral of (b - b_0) dz upward over l_u = k,   integral of (b_0 - b) dz downward over l_d = k

    The buoyancy b is linear between cell centers and constant beyond the outermost, so that for constant
    stratification l = sqrt(2 k) / N to round-off. A parcel that nothing stops reaches the surface or the
    bottom. All pairs of a face and a segment are computed at once: the cost is quadratic in the number of
    levels.

    Source: Bougeault and Andre (1986), J. Atmos. Sci. 43, 1574-1579.
    """

    def __call__(self, faces: FaceConditions) -> InnerFaceArray:
        thickness = faces.grid.cell_thickness
        upward = _distance_upward(faces.tke, faces.n_squared, thickness)
        # With buoyancy and height reversed, downward becomes upward.
        downward = _distance_upward(faces.tke[::-1], faces.n_squared[::-1], thickness[::-1])[::-1]
        return safe_sqrt(upward * downward)


@named("one_equation")
class OneEquation(AbstractEnergyClosure):
    """k with an algebraic length scale; for common settings see `AbstractEnergyClosure`.

    Args:
        von_karman: kappa of the logarithmic layer [1].
        length: formula for the length.
        local_equilibrium: whether k follows from P + B = eps with the length scale of the previous step,
            instead of its equation.
    """

    von_karman: Scalar = parameter(0.4, valid_range=(0.2, 0.6))
    length: AbstractLength = eqx.field(default_factory=Blackadar)
    local_equilibrium: bool = setting(False)

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
        tke_diffusion = None if self.local_equilibrium else diffusion
        return EnergyStepper(self, tke_diffusion, length, functions, self.von_karman, waves)


class AlgebraicLength(AbstractLengthScale):
    """A length scale diagnosed from the column."""

    length: AbstractLength
    von_karman: Scalar

    def dissipation(self, now: Step, tke: InnerFaceArray) -> InnerFaceArray:
        z, roughness = now.inputs.grid.z_face, now.bottom.roughness_length
        faces = FaceConditions(
            now.inputs.grid,
            from_surface=-z[1:-1] + now.surface.roughness_length,
            from_bottom=z[1:-1] - z[0] + roughness,
            bottom_roughness_length=roughness,
            von_karman=self.von_karman,
            tke=tke,
            n_squared=now.inputs.buoyancy_frequency_squared,
        )
        return now.functions.c_mu_0**3 * tke * safe_sqrt(tke) * reciprocal(self.length(faces))


def _segments(n_squared: InnerFaceArray, thickness: ColumnArray) -> tuple[Array, ...]:
    """Split the upward path from every inner face into segments; results have the axes (face, segment).

    Segments lead from the face to the center above, between centers, and from the last center to the surface.
    Returns whether the path has the segment, the segment's length, the buoyancy excess b - b_0 at its start,
    the slope of b, and the work up to its start and up to its end.
    """
    n = thickness.shape[0]
    half = 0.5 * jnp.broadcast_to(thickness, (n, *n_squared.shape[1:]))
    spacing, zero = half[1:] + half[:-1], jnp.zeros_like(half[:1])

    def integral_of(steps):
        return jnp.concatenate([zero, jnp.cumsum(steps, axis=0)])

    center, buoyancy = integral_of(spacing), integral_of(n_squared * spacing)
    integral = integral_of(0.5 * (buoyancy[1:] + buoyancy[:-1]) * spacing)
    at_face, start = buoyancy[:-1] + n_squared * half[:-1], center[:-1] + half[:-1]
    integral_at_start = integral[:-1] + 0.5 * (buoyancy[:-1] + at_face) * half[:-1]

    end = jnp.concatenate([center[1:], center[-1:] + half[-1:]])
    end_integral = jnp.concatenate([integral[1:], integral[-1:] + buoyancy[-1:] * half[-1:]])
    work = (end_integral - integral_at_start[:, None]) - at_face[:, None] * (end - start[:, None])
    face, segment = (jax.lax.broadcasted_iota(int, work.shape, axis) for axis in (0, 1))

    def at_beginning(at_ends, at_faces):
        """Values at the start of segments: those at the end of the previous one, or at the face."""
        previous = jnp.broadcast_to(at_ends, work.shape)[:, :-1]
        previous = jnp.concatenate([previous[:, :1], previous], axis=1)
        return jnp.where(face == segment, at_faces[:, None], previous)

    length = end - at_beginning(end, start)
    excess = at_beginning(jnp.concatenate([buoyancy[1:], zero]), at_face) - at_face[:, None]
    slope = jnp.concatenate([n_squared, zero])[None]
    return face <= segment, length, excess, slope, at_beginning(work, jnp.zeros_like(at_face)), work


def _distance_upward(
    tke: InnerFaceArray, n_squared: InnerFaceArray, thickness: ColumnArray
) -> InnerFaceArray:
    """l_u [m] of every inner face."""
    exists, length, excess, slope, work_before, work = _segments(n_squared, thickness)
    remaining = tke[:, None] - work_before
    square = excess**2 + 2.0 * slope * remaining
    # Where the excess changes sign within a segment, the work has its maximum there.
    turns = (excess > 0.0) & (excess + slope * length < 0.0) & (square >= 0.0)
    stops = (exists & ((work >= tke[:, None]) | turns)).astype(int)
    n_stops = jnp.cumsum(stops, axis=1)
    is_crossed, is_last = exists & (n_stops == 0), (stops == 1) & (n_stops == 1)

    root = safe_sqrt(at_least(square, _SMALLEST_SQUARE))
    divisor = jnp.where(is_last, excess + root, 1.0)
    last_length = 2.0 * remaining * reciprocal(at_least(divisor, _SMALLEST_DIVISOR))
    return jnp.sum(jnp.where(is_crossed, length, jnp.where(is_last, last_length, 0.0)), axis=1)
