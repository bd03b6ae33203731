"""How fast this machine is: what times of two runs are divided by before they are compared.

One column is bound by latency, a batch by its arithmetic; neither by memory.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from tunax_lite.runtime import compile_program

from .harness import time_in_turn

CHAIN_LENGTH = 40_000
LOOP_SIZE, LOOP_TURNS = 1024, 50
"""Numbers and turns of the loop over independent numbers: they stay in the first-level cache."""
PRECISIONS = ("float64", "float32")


def _chain(x):
    """A tridiagonal solve's chain of dependent x <- 1 / (a - b x)."""

    def eight_links(_, x):
        for _ in range(8):
            x = 1.0 / (2.5 - 0.5 * x)
        return x

    return jax.lax.fori_loop(0, CHAIN_LENGTH // 8, eight_links, x)


def _mix(values):
    """9 divisions, 2 roots and 200 others for each number: about the mix of a step of k-epsilon."""

    def one_turn(values):
        sums = [values + 0.1 * i for i in range(8)]
        for i in range(9):
            sums[i % 8] = 1.0 / (sums[i % 8] + 0.1)
        for i in range(2):
            sums[i] = jnp.sqrt(sums[i] + 0.1)
        for i in range(100):
            sums[i % 8] = sums[i % 8] * 0.9 + 0.1 * (1 + i % 3)
        return 1.0 + 1e-3 * sum(sums)

    return jax.lax.fori_loop(0, LOOP_TURNS, lambda _, x: one_turn(x), values)


def measure_ceilings(rounds: int = 15) -> dict[str, float]:
    """Least time of a link of the chain, and of the mix for one number, in each precision [ns]."""
    loops: dict[str, tuple[Callable, Any, int]] = {}
    for precision in PRECISIONS:
        values = jnp.linspace(1.0, 2.0, LOOP_SIZE, dtype=precision)
        loops[f"dividing_link_{precision}_ns"] = _chain, jnp.ones((), precision), CHAIN_LENGTH
        loops[f"fused_{precision}_ns"] = _mix, values, LOOP_TURNS * LOOP_SIZE
    calls = {name: partial(compile_program(f, x), x) for name, (f, x, _) in loops.items()}
    seconds = time_in_turn(calls, rounds=rounds, seconds=3.0)
    return {name: 1e9 * seconds[name] / n for name, (_, _, n) in loops.items()}
