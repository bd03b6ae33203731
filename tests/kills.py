"""Kills of a command and of its workers at random moments."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def wait_for(condition, seconds: float = 900.0):
    """What a condition gives as soon as it holds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.02)
    return found


def started(script: Path, *arguments: object, errors: Path | None = None) -> subprocess.Popen:
    """A process that runs a script of tests, with what it says of errors in a file."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, str(script), *map(str, arguments)]
    with open(errors or os.devnull, "wb") as file:
        return subprocess.Popen(command, env=environment, stderr=file if errors else None)


def workers_of(pid: int) -> list[int]:
    """The spawned processes that a process started."""
    workers = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # one ended meanwhile
            for one in map(int, thread.read_text().split()):
                if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes():
                    workers.append(one)
    return workers


def kill_at_random(
    start: Callable[[], subprocess.Popen],
    errors: Path,
    has_saved: Callable[[int], bool],
    after_kill: Callable[[], None],
    after_end: Callable[[], None],
    n_kills: int = 20,
    seed: int = 1,
) -> tuple[int, int]:
    """Kill the command or some of its workers, also while these start, and start it again where it ended.

    A command may end by itself where it is done, or where a worker was killed before all had started.
    `errors` is what it says, `has_saved` whether it saved something after some time [ns]; `after_kill` and
    `after_end` are called once it was killed or is done. Return the numbers of kills of it, and of workers.
    """
    random = np.random.default_rng(seed)
    n_of_client = n_of_workers = 0
    process = start()
    try:
        while n_of_client + n_of_workers < n_kills or min(n_of_client, n_of_workers) < 4:
            before = time.time_ns()
            if random.random() < 0.75:  # else while it starts, or what starts a worker again does
                wait_for(lambda one=process, since=before: one.poll() is not None or has_saved(since))
            time.sleep(random.uniform(0.0, 1.0))
            workers = workers_of(process.pid)
            if process.poll() == 0:
                after_end()
            elif process.poll() is not None:
                assert "expected workers that start" in errors.read_text(), errors.read_text()
            elif workers and random.random() < 0.65:
                for one in random.choice(workers, random.integers(1, len(workers) + 1), replace=False):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(one), signal.SIGKILL)
                n_of_workers += 1
                continue
            else:
                process.kill()
                n_of_client += process.wait() == -signal.SIGKILL
                after_kill()
            process = start()
    finally:
        process.kill()
        process.wait()
    return n_of_client, n_of_workers
