"""The depth of the layer that its own energy reaches: the root of what is reached less what is assumed.

Every round tries several depths in one march, and goes on between the two where the sign changes; secants
follow, until the root is exact enough to be differentiated. The cost is the same for all columns and steps.
The derivative is that of the root, by the implicit function theorem: no round is differentiated.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..._types import Scalar
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal
from .march import Depths

_N_TRIED = 4
_BRACKET = 0.1
"""Width of the last bracket of the rounds [mean thickness of a cell]."""
_N_SECANTS = 6
"""Two are enough where the excess is smooth; where the base enters another cell it has a kink."""
_SMALLEST_DIFFERENCE = 1e-12


def self_consistent_depth(reached: Callable[[Depths], Depths], grid: Grid, like: Scalar) -> Scalar:
    """H with reached(H) = H [m], the shallowest that the first round sees where there are several.

    Args:
        reached: depths that energy reaches in layers of some depths; from the uppermost cell to the bottom.
        grid: of the column.
        like: a number with the batch axes of the column.
    """
    n = grid.n_cells
    n_rounds = math.ceil(math.log(n / _BRACKET) / math.log(_N_TRIED + 1))
    start = jnp.zeros_like(like)

    def search(_, start: Scalar) -> Scalar:
        below_surface = grid.z_face[-1] - grid.z_face[::-1]
        faces = [max(round(n * k / (_N_TRIED - 1)), 1) for k in range(_N_TRIED)]
        tried = jnp.stack([start + below_surface[face] for face in faces])
        bracket = _Bracket(tried[0], start, tried[-1], start)

        def narrow(_, bracket_and_tried):
            bracket, tried = bracket_and_tried
            bracket = bracket.narrowed(tried, reached(tried) - tried)
            return bracket, bracket.inner()

        bracket, _ = lax.fori_loop(0, n_rounds, narrow, (bracket, tried))
        last = bracket.upper, bracket.below
        start = bracket.secant(last, (bracket.lower, bracket.above))

        def approach(_, depth_and_last):
            depth, last = depth_and_last
            here = depth, excess(depth)
            return bracket.secant(here, last), here

        return lax.fori_loop(0, _N_SECANTS, approach, (start, last))[0]

    def excess(depth: Scalar) -> Scalar:
        return reached(depth[None])[0] - depth

    return lax.custom_root(excess, start, search, lambda slope, y: y / slope(jnp.ones_like(y)))


class _Bracket(NamedTuple):
    """Two depths, and by how much what is reached from them exceeds them: at least 0, and at most 0."""

    lower: Scalar
    above: Scalar
    upper: Scalar
    below: Scalar

    def narrowed(self, tried: Depths, excess: Depths) -> "_Bracket":
        """The first neighbours between which the excess becomes negative; the last ones where it does not."""
        depth = jnp.concatenate([self.lower[None], tried, self.upper[None]])
        excess = jnp.concatenate([self.above[None], excess, self.below[None]])
        upper = jnp.min(jnp.where(excess < 0.0, depth, depth[-1]), axis=0)
        lower = jnp.max(jnp.where(depth < upper, depth, depth[0]), axis=0)
        above = jnp.max(jnp.where(depth == lower, excess, 0.0), axis=0)
        below = jnp.min(jnp.where(depth == upper, excess, 0.0), axis=0)
        return _Bracket(lower, above, upper, below)

    def secant(self, here: tuple[Scalar, Scalar], last: tuple[Scalar, Scalar]) -> Scalar:
        """Where the line through two points (depth, excess) is zero, within the bracket."""
        rise = here[1] - last[1]
        level = jnp.abs(rise) < _SMALLEST_DIFFERENCE
        change = here[1] * (here[0] - last[0]) * reciprocal(jnp.where(level, 1.0, rise))
        depth = here[0] - jnp.where(level, 0.0, change)
        return at_least(at_most(depth, self.upper), self.lower)

    def inner(self) -> Depths:
        """Depths between the two."""
        step = (self.upper - self.lower) * (1.0 / (_N_TRIED + 1))
        return jnp.stack([self.lower + k * step for k in range(1, _N_TRIED + 1)])
