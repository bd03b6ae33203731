"""What this processor can do at best, measured: the floor under the time of a k-epsilon step.

A step of one column is bound by latency, not by bandwidth: 64 levels are 4 kB. It contains three
tridiagonal solves in sequence (momentum and tracers side by side, k, epsilon). In each the elimination
is a chain of dependent x <- 1 / (a - b x) over the levels, and the substitution a chain of x <- r - u x.
Around them, each level costs about ten divisions and three square roots that are independent of each
other and run at the throughput of the vector units.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .timing import compile_program, time_calls

SOLVES_IN_SEQUENCE = 3
DIVISIONS_PER_LEVEL = 10
SQUARE_ROOTS_PER_LEVEL = 3


def _elimination_chain(x: np.ndarray, repetitions: int):
    def link(carry, _):
        for _ in range(8):
            carry = 1.0 / (2.5 - 0.5 * carry)
        return carry, None

    return jax.lax.scan(link, x, length=repetitions // 8)[0]


def _substitution_chain(x: np.ndarray, repetitions: int):
    def link(carry, _):
        for _ in range(8):
            carry = 0.7 - 0.5 * carry
        return carry, None

    return jax.lax.scan(link, x, length=repetitions // 8)[0]


def _independent_arithmetic(values):
    result = values
    for i in range(DIVISIONS_PER_LEVEL):
        result = result + (1.0 + i) / (values + 0.1 * i)
    for i in range(SQUARE_ROOTS_PER_LEVEL):
        result = result + jnp.sqrt(values + i)
    return result


def step_limit(n_levels: int, repetitions: int) -> float:
    """Seconds that the arithmetic of one k-epsilon step of one column needs at least, in float64."""
    length = 80_000
    one = jnp.ones(())
    elimination = compile_program(lambda x: _elimination_chain(x, length), one)
    substitution = compile_program(lambda x: _substitution_chain(x, length), one)
    values = jnp.linspace(1.0, 2.0, 4096)  # stays in the first-level cache
    loop = compile_program(
        lambda v: jax.lax.fori_loop(0, 200, lambda _, x: _independent_arithmetic(x) * 1e-2 + 1.0, v), values
    )
    link = time_calls(lambda: elimination.call(one), repetitions).minimum / length
    link += time_calls(lambda: substitution.call(one), repetitions).minimum / length
    arithmetic = time_calls(lambda: loop.call(values), repetitions).minimum / (200 * values.size)
    return n_levels * (SOLVES_IN_SEQUENCE * link + arithmetic)
