"""Downward march that assigns K to each face until the energy of the step is used up.

Two water bodies of thickness h_a, h_b, mean buoyancy b_a, b_b and depth d_a, d_b that exchange the volume x
require the energy x (b_a - b_b) (d_b - d_a) per unit area. In a backward Euler step of length dt with the
conductance k = K dt / dz between them, x = k / (1 + k (1 / h_a + 1 / h_b)). The upper body is all water above
the face, as if nothing below the face mixed, and is updated from cell to cell:

    b_a <- b + (x / h) (b_a - b),    d_a <- d + (x / h) (d_a - d),    1 / h_a <- (1 - x / h) / h

The sum of these energies over the faces is the change of potential energy in the step, to round-off. Wind and
convection supply energy, mixing uses it, and unstable faces release energy, of which the fraction n* is
available to the faces below. The face where the energy ends exchanges the volume that the remainder allows.

The depth of the layer is the root of the difference between the depth that the energy reaches and the assumed
depth. Each round tries several depths in one march and continues between the two where the sign changes; then
bracketed secant steps find the exact root. The derivative is that of the root, by the implicit function
theorem: the rounds are not differentiated, because that of an approximate root would be wrong.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .._types import CenterArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..declarations import named
from ..numerics.elementary import at_least, at_most, reciprocal

Depths = Float[Array, "depth *#batch"]
"""One number for every depth of the layer that is tried."""
Faces = Float[Array, "inner depth *#batch"]

Numbers = Float[Array, "..."]  # one number per column, per level, or per trial depth
# Below this energy, mixing fades out within a cell [m3 s-3]: slower turbulence needs less energy, so that a
# tiny remainder could reach the bottom, and the depth would jump where it vanishes.
_SMALLEST_POWER = 1e-12
_SMALLEST_CUBE = 1e-11  # of a velocity [m3 s-3]; below it, w is linear in the energy
_SMALLEST_VELOCITY = 1e-12


def cube_root(cube: Numbers) -> Numbers:
    """x^(1/3) of an energy x >= 0 [m3 s-3]; linear in x near 0, with a finite derivative."""
    return cube * jnp.exp((-2.0 / 3.0) * jnp.log(cube + _SMALLEST_CUBE))


@named("om4")
class EnergyVelocity(eqx.Module):
    """w = (E + c R)^(1/3), from the remaining energy of wind (E) and convection (R).

    At a face whose mixing releases energy, all energy that it could release is included.

    Args:
        convection: c [1].
        rotation: c_f; the length is l / (1 + c_f |f| l / w) [1].

    Source: Adcroft et al. (2019), J. Adv. Model. Earth Syst. 11, 3167-3211; numbers of MOM6.
    """

    convection: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    rotation: Scalar = parameter(1.0, valid_range=(0.0, 10.0))

    def diffusivity(self, energy: Numbers, length: Numbers, turning: Numbers) -> Numbers:
        """K [m2 s-1] from E + c R [m3 s-3], kappa l without rotation [m] and c_f |f| / kappa [s-1]."""
        velocity = cube_root(at_least(energy, 0.0))
        return velocity * velocity * length * reciprocal(velocity + turning * length + _SMALLEST_VELOCITY)


class Water(NamedTuple):
    """The column of a step."""

    buoyancy: CenterArray  # after the forcing of the step, before mixing [m s-2]
    grid: Grid
    dt: ScalarLike
    convection: Scalar  # energy released at the surface [m3 s-3]
    efficiency: Scalar  # n*, fraction of convective energy available for mixing [1]
    velocity: EnergyVelocity | None  # formula for w
    turning: Scalar  # c_f |f| / kappa [s-1]


def march(water: Water, wind: Depths, profile: Faces) -> tuple[Faces, Faces, Depths]:
    """March down from the surface, for several depths of the layer at once.

    `wind` is the energy from wind [m3 s-3]; `profile` is K [m2 s-1], or kappa l [m] with a formula for w.
    Returns K, the available fraction of the energy that each face requires, and the depth where it ends [m].
    """
    grid, dt, velocity = water.grid, water.dt, water.velocity
    level = jnp.zeros_like(water.buoyancy)[:, None]
    cell, depth = grid.cell_thickness[:, None] + level, level - grid.z_center[:, None]
    inverse_cell = reciprocal(cell)
    per_spacing = (dt * reciprocal(grid.center_spacing))[:, None]
    step, fall = water.buoyancy[1:, None] - water.buoyancy[:-1, None], depth[:-1] - depth[1:]
    same = jnp.zeros_like(profile[0] + wind + cell[0])
    left = same + wind + water.efficiency * water.convection
    start = (inverse_cell[-1] + same, same, same, left, 1.0 + same, cell[-1] + same)
    if velocity is not None:
        start = *start, same + wind + velocity.convection * water.convection
    inverse_dt = 1.0 / dt

    def down(above, face):
        inverse, lighter, higher, left, goes_on, reached, *available = above
        profile, per_spacing, cell, inverse_cell, step, fall = face
        lighter, higher = lighter + step, higher + fall
        both, lever = inverse + inverse_cell, lighter * higher * inverse_dt
        if velocity is None:
            wanted = profile * per_spacing
        else:
            most = velocity.convection * at_least(-lever, 0.0) * reciprocal(both)
            wanted = velocity.diffusivity(available[0] + most, profile, water.turning) * per_spacing
        exchanged = wanted * reciprocal(1.0 + wanted * both)
        needed = exchanged * lever
        taken = at_least(needed, 0.0)
        part = at_most(left * reciprocal(at_least(taken, _SMALLEST_POWER)), 1.0)
        ends = left < taken
        # Unstable faces need no energy, but they mix only as far as the faces above do.
        part = goes_on * jnp.where(needed < 0.0, 1.0, part)
        taken, released = part * taken, part * (taken - needed)
        exchanged = part * exchanged
        renewed = exchanged * inverse_cell
        below = (
            inverse_cell * (1.0 - renewed),
            renewed * lighter,
            renewed * higher,
            # Where the energy ends, set it to exactly zero: the next face may need as little as rounding.
            jnp.where(ends, 0.0, left - taken) + water.efficiency * released,
            part,
            reached + part * cell,
        )
        if velocity is not None:
            kept = jnp.where(ends, 0.0, 1.0 - taken * reciprocal(at_least(left, _SMALLEST_POWER)))
            below = *below, available[0] * kept + velocity.convection * released
        return below, (exchanged * reciprocal(1.0 - exchanged * both), part)

    faces = (profile, per_spacing, cell[:-1], inverse_cell[:-1], step, fall)
    last, (conductance, fraction) = lax.scan(down, start, faces, reverse=True)
    return conductance / per_spacing, fraction, last[5]


_N_TRIED = 4
_BRACKET = 0.1  # width of the final bracket of the rounds [mean cell thickness]
_MOST_STEPS = 40  # usually four or five; some thirty where the remaining energy fades out


def self_consistent_depth(reached: Callable[[Depths], Depths], grid: Grid, like: Scalar) -> Scalar:
    """H with reached(H) = H [m]; if there are several, the shallowest found in the first round.

    `reached` returns depths between the uppermost cell and the bottom; `like` has the batch axes of the
    column.
    """
    n = grid.n_cells
    n_rounds = math.ceil(math.log(n / _BRACKET) / math.log(_N_TRIED + 1))
    start = jnp.zeros_like(like)
    exact = 8.0 * jnp.finfo(start.dtype).eps * grid.depth

    def search(_, start: Scalar) -> Scalar:
        below_surface = grid.z_face[-1] - grid.z_face[::-1]
        faces = [max(round(n * k / (_N_TRIED - 1)), 1) for k in range(_N_TRIED)]
        tried = jnp.stack([start + below_surface[face] for face in faces])

        def narrow(_, bracket_and_tried):
            bracket, tried = bracket_and_tried
            bracket = bracket.narrowed(tried, reached(tried) - tried)
            return bracket, bracket.inner()

        def goes_on(found):
            bracket, (_, excess), _, n_steps = found
            open_ = (jnp.abs(excess) > exact) & (bracket.upper - bracket.lower > exact)
            return jnp.any(open_) & (n_steps < _MOST_STEPS)

        def approach(found):
            bracket, last, moved, n_steps = found
            depth = jnp.where(jnp.abs(last[1]) > exact, bracket.crossing(), last[0])
            here = depth, excess(depth)
            return *bracket.ending(here, moved), n_steps + 1

        bracket = _Bracket(tried[0], start, tried[-1], start)
        bracket, _ = lax.fori_loop(0, n_rounds, narrow, (bracket, tried))
        nowhere = bracket.upper, jnp.full_like(start, jnp.inf)
        return lax.while_loop(goes_on, approach, (bracket, nowhere, start, 0))[1][0]

    def excess(depth: Scalar) -> Scalar:
        return reached(depth[None])[0] - depth

    return lax.custom_root(excess, start, search, lambda slope, y: y / slope(jnp.ones_like(y)))


class _Bracket(NamedTuple):
    """Two depths, and the excess of the depth reached over each: non-negative and non-positive."""

    lower: Scalar
    above: Scalar
    upper: Scalar
    below: Scalar

    def narrowed(self, tried: Depths, excess: Depths) -> "_Bracket":
        """The first neighbours between which the excess becomes negative; otherwise the last ones."""
        depth = jnp.concatenate([self.lower[None], tried, self.upper[None]])
        excess = jnp.concatenate([self.above[None], excess, self.below[None]])
        upper = jnp.min(jnp.where(excess < 0.0, depth, depth[-1]), axis=0)
        lower = jnp.max(jnp.where(depth < upper, depth, depth[0]), axis=0)
        above = jnp.max(jnp.where(depth == lower, excess, 0.0), axis=0)
        below = jnp.min(jnp.where(depth == upper, excess, 0.0), axis=0)
        return _Bracket(lower, above, upper, below)

    def inner(self) -> Depths:
        """Depths in between."""
        step = (self.upper - self.lower) * (1.0 / (_N_TRIED + 1))
        return jnp.stack([self.lower + k * step for k in range(1, _N_TRIED + 1)])

    def crossing(self) -> Scalar:
        """Zero of the line between the two."""
        fall = self.above - self.below
        fraction = -self.below * reciprocal(jnp.where(fall > 0.0, fall, 1.0))
        return self.upper - fraction * (self.upper - self.lower)

    def ending(self, here: tuple[Scalar, Scalar], moved: Scalar):
        """Replace one end by a depth and its excess; also returns which: 1 for the lower, -1 for the upper.

        If the same end `moved` twice, the weight of the other is reduced, so that both approach the root.

        Source: Anderson and Bjorck (1973), BIT 13, 253-264.
        """
        depth, excess = here
        positive = excess > 0.0
        left = 1.0 - excess / jnp.where(positive, self.above, self.below)
        less = jnp.where(left > 0.0, left, 0.5)
        above = jnp.where(moved < 0.0, less, 1.0) * self.above
        below = jnp.where(moved > 0.0, less, 1.0) * self.below
        lower = jnp.where(positive, depth, self.lower), jnp.where(positive, excess, above)
        upper = jnp.where(positive, self.upper, depth), jnp.where(positive, below, excess)
        one = jnp.ones_like(depth)
        return _Bracket(*lower, *upper), here, jnp.where(positive, one, -one)
