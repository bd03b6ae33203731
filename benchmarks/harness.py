"""How things are timed: programs take turns in one process, or processes take turns with each other.

What disturbs the machine then disturbs all of them alike, so that ratios hold on a machine that others use.
"""

import contextlib
import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]
MICRO = 1e6


class Setting(NamedTuple):
    """What a benchmark is measured under.

    Args:
        quick: few short measurements, instead of all.
        cores: processors that the process may use besides the one that it is pinned to, lowest first.
        ceilings: of this machine, from `limits.measure_ceilings`.
    """

    quick: bool
    cores: tuple[int, ...]
    ceilings: Mapping[str, float]


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
) -> dict[str, float]:
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


class WorkerError(RuntimeError):
    """A process that gave no answer, with what it said."""


class Worker:
    """A process of its own: JAX fixes devices, threads and flags when it starts.

    It runs a generator of a module, which goes on to its next `yield` when it is asked.

    Args:
        function: `module:name` of the generator.
        arguments: its keyword arguments, as JSON holds them.
        cores: its processors; all if none is given.
        flags: of XLA, behind those of the environment.
        platform: as JAX calls it.
    """

    def __init__(
        self,
        function: str,
        arguments: Mapping[str, Any],
        *,
        cores: Sequence[int] = (),
        flags: str = "",
        platform: str = "cpu",
    ):
        xla_flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.harness",
                json.dumps([function, dict(arguments), list(cores)]),
            ],
            env={**os.environ, "XLA_FLAGS": xla_flags, "JAX_PLATFORMS": platform},
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")

    def ask(self, seconds: float | None = None) -> Any:
        """The next answer.

        Raises:
            WorkerError: the process ended, or took longer than that.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("next\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except BrokenPipeError:
            line = ""
        except queue.Empty:
            raise WorkerError(f"took too long\n{self.said()}") from None
        if not line:
            self._process.wait()
            raise WorkerError(f"the process ended early\n{self.said()}")
        return json.loads(line)

    def said(self) -> str:
        """The end of what it wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read()[-2000:]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a question that nobody heard
            self._process.stdin.close()
        self._errors.close()


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


def _serve(function: str, arguments: Mapping[str, Any], cores: Sequence[int]) -> None:
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)  # before JAX starts its threads
    module, name = function.split(":")
    answers = getattr(importlib.import_module(module), name)(**arguments)
    for _ in sys.stdin:
        print(json.dumps(next(answers)), flush=True)


if __name__ == "__main__":
    _serve(*json.loads(sys.argv[1]))
