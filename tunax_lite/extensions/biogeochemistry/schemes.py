"""Time schemes of the exchanges between pools over one step.

Explicit schemes conserve, but pools can become negative in long steps. Modified Patankar schemes keep pools
positive for any step, and conserve the matter exchanged between pools:

    c'_i = c_i + dt sum_j p_ij c'_j / c_j - dt sum_j d_ij c'_i / c_i

Source: Burchard, Deleersnijder and Meister (2003), Appl. Numer. Math. 47, 1-30.
"""

import abc
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._types import ScalarLike
from ...declarations import named
from ...numerics.elementary import at_least, reciprocal
from .interface import Exchanges, Pools, Values, once

Concentrations = dict[str, Values]
Entries = dict[tuple[str, str], Values]
"""Entries of a matrix by row and column."""
K = TypeVar("K")


@runtime_checkable
class Reactions(Protocol):
    """Exchanges at concentrations of pools."""

    @property
    def signed(self) -> frozenset[str]:
        """Pools that may be negative: their losses are explicit."""
        ...

    def water(self, pools: Pools) -> Exchanges:
        """Exchanges in the water [unit s-1]."""
        ...

    def ends(self, pools: Pools) -> Concentrations:
        """Rates of change by exchanges through the surface and the bottom [unit s-1]."""
        ...

    def after_ends(self, pools: Pools, dt: ScalarLike) -> Concentrations:
        """Concentrations after exchanges through the surface and the bottom, by a positive scheme."""
        ...


class AbstractSourceScheme(eqx.Module):
    """A time scheme of exchanges."""

    @abc.abstractmethod
    def step(self, reactions: Reactions, pools: Concentrations, dt: ScalarLike) -> Concentrations:
        """Concentrations after a step of `dt` [s]."""


@named("euler")
class Euler(AbstractSourceScheme):
    """Explicit, first order."""

    def step(self, reactions: Reactions, pools: Concentrations, dt: ScalarLike) -> Concentrations:
        gains: Concentrations = {}
        losses: Concentrations = {}
        for (source, target), rate in reactions.water(pools).items():
            if source is not None:
                add_to(losses, source, rate)
            if target is not None:
                add_to(gains, target, rate)
        change = dict(reactions.ends(pools))
        for sign, parts in ((1.0, gains), (-1.0, losses)):
            for name, rate in parts.items():
                add_to(change, name, sign * rate)
        return pools | {name: pools[name] + dt * change[name] for name in change}


@named("modified_patankar")
class ModifiedPatankar(AbstractSourceScheme):
    """Positive and conservative for any step, first order."""

    def step(self, reactions: Reactions, pools: Concentrations, dt: ScalarLike) -> Concentrations:
        pools = reactions.after_ends(pools, dt)
        return modified_patankar(pools, reactions.water(pools), pools, dt, reactions.signed)


@named("modified_patankar_2")
class ModifiedPatankar2(AbstractSourceScheme):
    """Positive and conservative for any step, second order.

    Its rates are the mean of those before and after a first-order step, whose result gives the weights.
    """

    def step(self, reactions: Reactions, pools: Concentrations, dt: ScalarLike) -> Concentrations:
        pools = reactions.after_ends(pools, dt)
        rates = reactions.water(pools)
        guess = modified_patankar(pools, rates, pools, dt, reactions.signed)
        later = reactions.water(guess)
        mean = {pair: 0.5 * (rates[pair] + later[pair]) for pair in rates}
        return modified_patankar(pools, mean, guess, dt, reactions.signed)


def add_to(totals: dict[K, Values], key: K, value: Values) -> None:
    """Add a value to the total of a key, which starts at zero."""
    totals[key] = totals[key] + value if key in totals else value


def modified_patankar(
    pools: Concentrations, exchanges: Exchanges, weights: Pools, dt: ScalarLike, signed: frozenset[str]
) -> Concentrations:
    """Return new values c' = w y, with the weights w and ratios y that solve

        (w_i + dt sum_j d_ij) y_i - dt sum_j p_ij y_j = c_i.

    This form divides by no content: an empty pool loses nothing, and gains the losses of others. Losses of
    `signed` pools are explicit.
    """
    names = [name for name in pools if any(name in pair for pair in exchanges)]
    gained: Entries = {}
    right = {name: pools[name] for name in names}
    weight = {
        name: jnp.ones_like(pools[name])
        if name in signed
        # Any weight conserves; this one keeps the derivative of its reciprocal finite.
        else at_least(weights[name], float(jnp.finfo(pools[name].dtype).tiny) ** 0.25)
        for name in names
    }
    column_sums = dict(weight)
    for (source, target), rate in exchanges.items():
        if source is None or source in signed:
            for name, sign in ((source, -1.0), (target, 1.0)):
                if name is not None:
                    right[name] = right[name] + sign * dt * rate
        elif target is None:
            column_sums[source] = column_sums[source] + dt * rate
        else:
            add_to(gained, (target, source), dt * rate)
    ratios = _solved(gained, column_sums, right)
    return pools | {name: weight[name] * ratios[name] for name in names}


@jax.custom_jvp
def _solved(gained: Entries, column_sums: Concentrations, right: Concentrations) -> Concentrations:
    """Solve a linear system with a matrix of given column sums and off-diagonal entries.

    Without subtractions the solution is accurate to round-off and conserves contents for any step. Its
    derivatives solve systems with the same matrix.

    Args:
        gained: entries off the diagonal by row and column, with the opposite sign.
        column_sums: sums of the columns of the matrix, above zero.
        right: the right-hand sides, at least zero except of signed pools.

    Source: Grassmann, Taksar and Heyman (1985), Oper. Res. 33, 1107-1116.
    """
    return _substituted(_eliminated(gained, column_sums), right)


@_solved.defjvp
def _(primals, tangents):
    (gained, column_sums, right), (gained_dot, column_sums_dot, right_dot) = primals, tangents
    pivots = _eliminated(gained, column_sums)
    solution = _substituted(pivots, right)
    change = {name: right_dot[name] - column_sums_dot[name] * solution[name] for name in solution}
    for (row, column), entry_dot in gained_dot.items():
        moved = entry_dot * solution[column]
        change[row], change[column] = change[row] + moved, change[column] - moved
    return solution, _substituted(pivots, change)


class _Pivot(NamedTuple):
    """A pool, the reciprocal of its diagonal, and the entries of its column and row when it is eliminated."""

    name: str
    inverse: Values
    column: Concentrations
    row: Concentrations


def _eliminated(gained: Entries, column_sums: Concentrations) -> list[_Pivot]:
    """Eliminate pools one after the other, in an order that adds few entries."""
    gained, column_sums, rest, pivots = dict(gained), dict(column_sums), list(column_sums), []
    while rest:
        targets = {pool: [name for name in rest if (name, pool) in gained] for pool in rest}
        sources = {pool: [name for name in rest if (pool, name) in gained] for pool in rest}
        pool = min(rest, key=lambda pool: len(targets[pool]) * len(sources[pool]))
        rest = [name for name in rest if name != pool]
        column = {name: gained[name, pool] for name in targets[pool]}
        row = {name: gained[pool, name] for name in sources[pool]}
        inverse = reciprocal(sum(column.values(), start=column_sums[pool]))
        for source, gain in row.items():
            share = gain * inverse
            column_sums[source] = column_sums[source] + share * column_sums[pool]
            for target, loss in column.items():
                if target != source:
                    add_to(gained, (target, source), loss * share)
        pivots.append(_Pivot(pool, inverse, column, row))
    return pivots


def _substituted(pivots: Sequence[_Pivot], right: Concentrations) -> Concentrations:
    """Solve the eliminated system by forward and backward substitution."""
    solution = dict(right)
    for pool, inverse, column, _ in pivots:
        passed = once(solution[pool] * inverse)
        for target, loss in column.items():
            solution[target] = solution[target] + loss * passed
    for pool, inverse, _, row in reversed(pivots):
        for source, gain in row.items():
            solution[pool] = solution[pool] + gain * solution[source]
        solution[pool] = once(solution[pool] * inverse)
    return solution
