"""Timing on one pinned core: programs take turns, so that what disturbs the machine disturbs them alike."""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax

from tunax_lite.runtime import Timing


def pin_to_one_core() -> tuple[int, ...]:
    """Keep this process on one processor; call before JAX starts its threads.

    Returns:
        The processors that it may use otherwise, lowest first; empty where the system cannot pin.
    """
    if not hasattr(os, "sched_setaffinity"):
        return ()
    cores = tuple(sorted(os.sched_getaffinity(0)))
    os.sched_setaffinity(0, cores[:1])
    return cores


def time_in_turn(
    calls: Mapping[str, Callable[[], Any]], *, rounds: int = 15, seconds: float = 10.0
) -> dict[str, Timing]:
    """Time functions that were compiled before, one call of each per round.

    Args:
        calls: functions without arguments that return arrays.
        rounds: at most this many, and at least two.
        seconds: no round starts after this time.
    """
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        jax.block_until_ready(call())
    begin = time.perf_counter()
    for done in range(rounds):
        if done >= 2 and time.perf_counter() - begin > seconds:
            break
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            samples[name].append(time.perf_counter() - start)
    return {name: Timing(min(taken), statistics.median(taken)) for name, taken in samples.items()}
