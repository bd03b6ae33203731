"""Running attacks: most in a few processes that live on, so that each costs no start; others alone."""

import contextlib
import io
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.harness import Worker, WorkerError

from .attack import Attack, Try
from .catalogue import attacks_of
from .judge import Outcome, contents, judge
from .material import COMMAND

MATERIAL = "material"
"""Folder of the valid files in that of the campaign."""
Recipe = tuple[int, int]
"""Arguments of `attacks_of`: attacks are functions, which do not travel to other processes."""


class _Late(BaseException):
    """Raised by the alarm: nothing catches it on the way."""


def run_attack(attack: Attack, seed: int, material: Path, folder: Path) -> list[str]:
    """Prepare, run and judge; what is wrong, with the end of the message."""
    shutil.copytree(material, folder, symlinks=True)
    attempt = attack.prepare(folder, random.Random(f"{seed} {attack.kind} {attack.name}"))
    before = contents(folder)
    outcomes = _outside(attempt, folder) if attempt.outside else [_inside(attempt, folder)]
    wrong = [text for outcome in outcomes for text in judge(attempt, outcome, folder, before)]
    _remove(folder)
    said = outcomes[0].stderr.strip()[-600:]
    return [*wrong, f"tunax-lite {' '.join(attempt.arguments)}"[:300], said] if wrong else []


def _remove(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)


def _inside(attempt: Try, folder: Path) -> Outcome:
    """In this process: what libraries write to the descriptors themselves is caught, too."""
    from tunax_lite.cli.commands import app
    from tunax_lite.runtime.memory import lift_limits

    def late(number, frame):
        raise _Late

    with tempfile.TemporaryFile() as captured:
        kept, at, arguments = os.dup(2), Path.cwd(), sys.argv
        stdout, stderr = io.StringIO(), io.StringIO()
        os.dup2(captured.fileno(), 2)
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, attempt.seconds)
        clock, code = time.perf_counter(), 0
        try:
            os.chdir(folder)
            sys.argv = ["tunax-lite", *attempt.arguments]
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                warnings.simplefilter("always")
                app(attempt.arguments, standalone_mode=True)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        except _Late:
            code = None
        except BaseException:
            code = 1
            stderr.write(traceback.format_exc())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            os.dup2(kept, 2)
            os.close(kept)
            os.chdir(at)
            sys.argv = arguments
            lift_limits(False)
        captured.seek(0)
        said = stderr.getvalue() + captured.read().decode(errors="replace")
    return Outcome(code, stdout.getvalue(), said, time.perf_counter() - clock)


def _outside(attempt: Try, folder: Path) -> list[Outcome]:
    """As processes of their own, two at once where the attack wants that."""
    variables = {**os.environ, **attempt.environment}
    environment = {name: value for name, value in variables.items() if value is not None}

    def limit() -> None:
        for name, value in attempt.limits.items():
            resource.setrlimit(getattr(resource, name), (value, value))

    clock, processes = time.perf_counter(), []
    for arguments in (attempt.arguments, attempt.also):
        if arguments is not None:
            processes.append(
                subprocess.Popen(
                    [*COMMAND, *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    preexec_fn=limit if attempt.limits else None,
                )
            )
    outcomes = []
    for process in processes:
        try:
            said = process.communicate(timeout=attempt.seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            said, code = process.communicate(), None
        stdout, stderr = (part.decode(errors="replace") for part in said)
        outcomes.append(Outcome(code, stdout, stderr, time.perf_counter() - clock))
    return outcomes


def results(recipe: Recipe, scratch: Path) -> Generator[list[str] | None, int, None]:
    """In a process of its own: what is wrong with the attacks that it is asked for."""
    attacks = attacks_of(*recipe)
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(scratch / "cache"))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    number = yield None
    while True:
        try:
            wrong = run_attack(attacks[number], recipe[1], scratch / MATERIAL, scratch / f"{number:05d}")
        except Exception:
            wrong = ["the campaign itself failed", traceback.format_exc()[-1500:]]
        number = yield wrong


def run_attacks(
    recipe: Recipe, chosen: list[int], scratch: Path, n_workers: int
) -> Iterator[tuple[Attack, list[str]]]:
    """All attacks with what is wrong; a worker that dies or hangs is replaced."""
    attacks = attacks_of(*recipe)
    idle: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()

    def outcome(number: int) -> tuple[Attack, list[str]]:
        worker = idle.get()
        try:
            if worker is None:
                worker = Worker("tests.hostile.workers:results", recipe=recipe, scratch=scratch)
                worker.ask()
            return attacks[number], worker.ask(number, seconds=400.0)
        except WorkerError as error:
            assert worker is not None
            worker.stop()
            worker = None
            return attacks[number], [f"crash, or a hang beyond the alarm: {error}"]
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(n_workers) as pool:
        for _ in range(n_workers):
            idle.put(None)
        yield from pool.map(outcome, chosen)
    for worker in (idle.get() for _ in range(n_workers)):
        if worker is not None:
            worker.stop()
