"""The ceilings of this machine, measured, and the least time that a program needs under them.

One column is bound by latency: its state is 4 kB, but each tridiagonal solve is a chain of dependent
x <- 1 / (a - b x) over the levels, and then one of x <- r - u x. A batch hides the chains behind its
columns and is bound by its arithmetic, or by the memory that a step reads and writes.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tunax_lite.runtime import compile_program

from .operations import Operations, count_operations
from .timing import time_in_turn

NANO = 1e9
PRECISIONS = ("float64", "float32")
CHAIN_LENGTH = 40_000
LOOP_SIZE, LOOP_TURNS = 1024, 50
"""Numbers and turns of the loops over independent numbers: they stay in the first-level cache."""
LOOPS = {"division": (16, 0, 0), "root": (0, 16, 0), "simple": (0, 0, 256), "fused": (9, 2, 200)}
"""Divisions, roots and additions or multiplications per number: each kind alone, and about the mix of a
step of k-epsilon in one fused loop."""
COPIED_BYTES = {"memory": 2**26, "cache": 2**18}


def measure_copy(n_bytes: int, seconds: float = 0.3) -> float:
    """Bytes read and written per second by a plain copy of this many bytes, the best of many."""
    source, target = np.ones(n_bytes // 8), np.ones(n_bytes // 8)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * n_bytes / best


def _chain(link: Callable) -> Callable:
    def eight_links(_, carry):
        for _ in range(8):
            carry = link(carry)
        return carry

    return lambda x: jax.lax.fori_loop(0, CHAIN_LENGTH // 8, eight_links, x)


def _arithmetic_loop(divisions: int, roots: int, simple: int) -> Callable:
    """A loop over numbers with this many operations for each, in eight independent sums."""

    def one_turn(values):
        sums = [values + 0.1 * i for i in range(8)]
        for i in range(divisions):
            sums[i % 8] = 1.0 / (sums[i % 8] + 0.1)
        for i in range(roots):
            sums[i % 8] = jnp.sqrt(sums[i % 8] + 0.1)
        for i in range(simple // 2):
            sums[i % 8] = sums[i % 8] * 0.9 + 0.1 * (1 + i % 3)
        return 1.0 + 1e-3 * sum(sums)

    return lambda values: jax.lax.fori_loop(0, LOOP_TURNS, lambda _, x: one_turn(x), values)


def _loops(precision: str) -> dict[str, tuple[Callable, jax.Array, int]]:
    """Function, argument and number of operations of each measurement of time."""
    one, values = jnp.ones((), precision), jnp.linspace(1.0, 2.0, LOOP_SIZE, dtype=precision)
    found: dict[str, tuple[Callable, jax.Array, int]] = {
        "dividing_link": (_chain(lambda x: 1.0 / (2.5 - 0.5 * x)), one, CHAIN_LENGTH),
        "plain_link": (_chain(lambda x: 0.7 - 0.5 * x), one, CHAIN_LENGTH),
    }
    for name, counts in LOOPS.items():
        n_operations = 1 if name == "fused" else sum(counts)
        found[name] = _arithmetic_loop(*counts), values, LOOP_TURNS * LOOP_SIZE * n_operations
    return {f"{name}_{precision}_ns": loop for name, loop in found.items()}


def measure_ceilings(rounds: int = 15) -> dict[str, float]:
    """What the machine reaches at best, each alone.

    Args:
        rounds: of the timing, whose minimum counts.

    Returns:
        `copy_memory_GB_per_s` and `copy_cache_GB_per_s`; and, with `_float64_ns` or `_float32_ns` behind it,
        the time of `dividing_link` and `plain_link`, one turn of a chain; of one `division`, `root` or
        `simple` operation among many independent ones; of `fused`, the mix of `LOOPS` for one number.
    """
    loops = {name: loop for precision in PRECISIONS for name, loop in _loops(precision).items()}
    calls = {}
    for name, (function, argument, _) in loops.items():
        calls[name] = partial(compile_program(function, argument), argument)
    timings = time_in_turn(calls, rounds=rounds, seconds=3.0)
    copies = {f"copy_{place}_GB_per_s": measure_copy(size) / NANO for place, size in COPIED_BYTES.items()}
    return copies | {name: timings[name].minimum / loops[name][2] * NANO for name in loops}


class Need(NamedTuple):
    """What one column-step of a program needs.

    Args:
        operations: of one column-step, over all levels.
        bytes: read and written: every pass through the step reads a state and writes one.
        single: one column without a batch axis, whose chains nothing hides.
        precision: "float64" or "float32".
    """

    operations: Operations
    bytes: float
    single: bool
    precision: str

    def scaled(self, factor: float) -> "Need":
        """The need of a column of another number of levels."""
        return self._replace(operations=self.operations.times(factor), bytes=self.bytes * factor)


def need_of(
    function: Callable, *arguments: Any, state_bytes: int, passes: float, n_columns: int, n_steps: int
) -> Need:
    """Count what a program needs per column-step.

    Args:
        function, arguments: the program.
        state_bytes: of all columns.
        passes: how often a step is passed through: once forward, more often in a gradient.
        n_columns, n_steps: of the run.
    """
    operations = count_operations(function, *arguments).times(1.0 / (n_columns * n_steps))
    precision = jax.tree.leaves(jax.eval_shape(function, *arguments))[0].dtype.name
    return Need(operations, 2.0 * passes * state_bytes / n_columns, n_columns == 1, precision)


def _arithmetic_ns(
    divisions: float, roots: float, simple: float, precision: str, ceilings: Mapping[str, float]
) -> float:
    """Time of independent operations [ns]; divisions and roots run beside all else, in their own unit."""
    division, root, each = (ceilings[f"{name}_{precision}_ns"] for name in ("division", "root", "simple"))
    return max(divisions * division + roots * root, simple * each)


def least_us(need: Need, ceilings: Mapping[str, float]) -> float:
    """Time that a column-step of a program takes on a machine with these ceilings if nothing is wasted [us].

    One column: its chains, and then the arithmetic that is not part of them. A batch has as many links as one
    column, and computes beside them. Arithmetic counts with the efficiency that the fused loop reaches.
    Either has to wait for the second-level cache where that takes longer.
    """
    needed, precision = need.operations, need.precision
    chains = needed.dividing_links * ceilings[f"dividing_link_{precision}_ns"]
    chains += needed.plain_links * ceilings[f"plain_link_{precision}_ns"]
    divisions, simple = needed.divisions, needed.simple
    if need.single:  # the arithmetic of the links fits into their latency
        divisions, simple = divisions - needed.linked_divisions, simple - needed.linked_simple
    ideal = _arithmetic_ns(*LOOPS["fused"], precision, ceilings)
    efficiency = min(1.0, ideal / ceilings[f"fused_{precision}_ns"])
    arithmetic = _arithmetic_ns(divisions, needed.roots, simple, precision, ceilings) / efficiency
    computing = chains + arithmetic if need.single else max(chains, arithmetic)
    return max(computing, need.bytes / ceilings["copy_cache_GB_per_s"]) / 1e3
