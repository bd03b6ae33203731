"""How things are timed: programs take turns in one process, or processes take turns with each other.

What disturbs the machine then disturbs all of them alike, so that ratios hold on a machine that others use.
"""

import contextlib
import importlib
import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from unittest import mock

Row = dict[str, Any]
MICRO = 1e6
PRECISIONS = ("float64", "float32")
_STARTING = threading.Lock()


class Setting(NamedTuple):
    """What a benchmark is measured under.

    Args:
        quick: few short measurements, instead of all.
        cores: processors that may be used besides the one that this process is pinned to, lowest first.
    """

    quick: bool
    cores: tuple[int, ...]


def pin_to_one_core() -> tuple[int, ...]:
    """Keep this process on one processor, before JAX starts its threads; returns those it could use."""
    if not hasattr(os, "sched_setaffinity"):
        return ()
    cores = tuple(sorted(os.sched_getaffinity(0)))
    os.sched_setaffinity(0, cores[:1])
    return cores


def time_in_turn(
    calls: Mapping[Any, Callable[[], Any]], *, rounds: int = 15, seconds: float = 60.0
) -> dict[Any, float]:
    """Least seconds of functions that were compiled before, one call of each per round.

    Args:
        calls: functions without arguments that return arrays.
        rounds: at most this many, and at least two.
        seconds: no round starts after this time.
    """
    import jax

    least = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        jax.block_until_ready(call())
    begin = time.perf_counter()
    for done in range(rounds):
        if done >= 2 and time.perf_counter() - begin > seconds:
            break
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            least[name] = min(least[name], time.perf_counter() - start)
    return least


@contextlib.contextmanager
def on_cores(cores: Sequence[int]) -> Iterator[None]:
    """Start processes and threads here that have these processors; this thread goes back to its own."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class WorkerError(RuntimeError):
    """A process that gave no answer, with what is known of it."""


class Worker:
    """A process of its own: JAX fixes devices, threads and flags when it starts.

    It runs a generator of a module, which goes on to its next `yield` when it is asked; questions are what
    `yield` returns there, but for the first.

    Args:
        function: `module:name` of the generator.
        arguments: its keyword arguments.
        cores: its processors; all if none is given.
        n_devices: what JAX makes of them.
        platform: as JAX calls it.
    """

    def __init__(
        self, function: str, cores: Sequence[int] = (), n_devices: int = 1, platform: str = "cpu", **arguments
    ):
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={n_devices}"
        environment = {"XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": platform}
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, function, arguments, cores), daemon=True)
        # What is passed on imports JAX in that process before any line of ours could set them there.
        with _STARTING, mock.patch.dict(os.environ, environment):
            self._process.start()
        theirs.close()

    def ask(self, question: Any = None, *, seconds: float | None = None) -> Any:
        """The next answer.

        Raises:
            WorkerError: the process ended, or took longer than that.
        """
        try:
            self._pipe.send(question)
            if not self._pipe.poll(seconds):
                raise WorkerError("took too long")
            answer = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            raise WorkerError(f"the process ended early, with {self._process.exitcode}") from None
        if isinstance(answer, WorkerError):
            raise answer
        return answer

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, function: str, arguments: Row, cores: Sequence[int]) -> None:
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)  # before JAX starts its threads
    module, name = function.split(":")
    try:
        answers = getattr(importlib.import_module(module), name)(**arguments)
        pipe.recv()
        answer = next(answers)
        while True:
            pipe.send(answer)
            answer = answers.send(pipe.recv())
    except EOFError:  # nobody asks any more
        return
    except Exception:
        pipe.send(WorkerError(f"the process ended early\n{traceback.format_exc()[-2000:]}"))


def least_seconds(workers: Mapping[str, Worker], rounds: int) -> dict[str, float]:
    """Least seconds of workers that take turns: the first answer of each says that it has compiled."""
    try:
        for worker in workers.values():
            worker.ask()
        taken = [{name: worker.ask() for name, worker in workers.items()} for _ in range(rounds)]
    finally:
        for worker in workers.values():
            worker.stop()
    return {name: min(found[name] for found in taken) for name in workers}


_LINKS, _NUMBERS, _TURNS = 40_000, 1024, 50  # so many numbers stay in the first-level cache


def _chain(x):
    """A tridiagonal solve's chain of dependent x <- 1 / (a - b x): what bounds one column."""
    import jax

    def eight_links(_, x):
        for _ in range(8):
            x = 1.0 / (2.5 - 0.5 * x)
        return x

    return jax.lax.fori_loop(0, _LINKS // 8, eight_links, x)


def _mix(values):
    """9 divisions, 2 roots and 200 others for each number, about a step of k-epsilon: what bounds a batch."""
    import jax

    def one_turn(_, values):
        sums = [values + 0.1 * i for i in range(8)]
        for i in range(9):
            sums[i % 8] = 1.0 / (sums[i % 8] + 0.1)
        for i in range(2):
            sums[i] = jax.numpy.sqrt(sums[i] + 0.1)
        for i in range(100):
            sums[i % 8] = sums[i % 8] * 0.9 + 0.1 * (1 + i % 3)
        return 1.0 + 1e-3 * sum(sums)

    return jax.lax.fori_loop(0, _TURNS, one_turn, values)


def measure_ceilings(rounds: int = 15) -> dict[str, float]:
    """How fast this machine is, by which times are divided before runs are compared.

    Returns:
        Least time of a link of the chain, and of the mix for one number, in each precision [ns].
    """
    import jax.numpy as jnp

    from tunax_lite.runtime import compile_program

    loops = {}
    for precision in PRECISIONS:
        values = jnp.linspace(1.0, 2.0, _NUMBERS, dtype=precision)
        loops[f"dividing_link_{precision}_ns"] = _chain, jnp.ones((), precision), _LINKS
        loops[f"fused_{precision}_ns"] = _mix, values, _TURNS * _NUMBERS
    calls = {name: partial(compile_program(f, x), x) for name, (f, x, _) in loops.items()}
    seconds = time_in_turn(calls, rounds=rounds, seconds=3.0)
    return {name: 1e9 * seconds[name] / n for name, (_, _, n) in loops.items()}
