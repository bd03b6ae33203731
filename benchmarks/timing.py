"""Timing on one pinned core: minimum and median over repetitions, after compilation."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax


class Timing(NamedTuple):
    """Seconds of one call: the minimum is the machine undisturbed, the median the machine as it is."""

    minimum: float
    median: float


def pin_to_one_core() -> int | None:
    """Keep this process on one processor; call before JAX starts its threads.

    Returns:
        The processor, or `None` where the system cannot pin.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def time_calls(function: Callable[[], Any], repetitions: int) -> Timing:
    """Time a function that was compiled before."""
    jax.block_until_ready(function())
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        jax.block_until_ready(function())
        seconds.append(time.perf_counter() - start)
    return Timing(min(seconds), statistics.median(seconds))


class Compiled(NamedTuple):
    """A program compiled ahead of time, with what that took."""

    call: Callable[..., Any]
    trace_seconds: float
    compile_seconds: float
    temporary_bytes: int


def compile_program(function: Callable[..., Any], *arguments: Any) -> Compiled:
    """Trace and compile a function for arguments of these shapes."""
    start = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    traced = time.perf_counter()
    program = lowered.compile()
    compiled = time.perf_counter()
    memory = program.memory_analysis()
    if memory is None:
        raise RuntimeError("this back end does not report the memory of a program; measure on CPU or GPU")
    return Compiled(program, traced - start, compiled - traced, memory.temp_size_in_bytes)
