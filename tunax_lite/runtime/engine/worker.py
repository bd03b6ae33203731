"""Code that runs on a worker: configures JAX, runs items, and caches the last functions."""

import contextlib
import functools
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

N_FUNCTIONS = 4
"""Number of functions that a worker keeps, with their compiled programs."""


class WorkerResources(TypedDict):
    """Processors and environment variables of a local worker."""

    cores: list[int]
    environment: dict[str, str]


class Setup(NamedTuple):
    """Configuration of workers before JAX starts: precision, and the resources of each by its name."""

    precision: Literal["float64", "float32"]
    resources_by_worker: dict[str, WorkerResources]


class Raised(NamedTuple):
    """An exception that a retry would not avoid, as class and arguments: some cannot be pickled."""

    kind: type[Exception]
    args: tuple

    def error(self) -> Exception:
        return self.kind.__new__(self.kind, *self.args)  # `__init__` may have other arguments


_turn = threading.Lock()
"""Held by the running item: one at a time, however many threads a worker has."""


def dask_setup(server: Any) -> None:  # of `distributed`
    """Stop the web server; Dask calls this on local workers, which preload this module."""
    server.http_server.stop()


def same(data: bytes) -> bytes:
    """Return the argument, so that a pickled function becomes a result on the cluster."""
    return data


def run(setup: Setup, function: bytes, item: bytes) -> bytes:
    """Return the pickled result for a pickled item; unpickling arrays before `_prepare` would start JAX."""
    with _turn:
        _prepare(setup)
        try:
            from ..jax_setup import failures_as_values

            with failures_as_values():
                result = _unpickled(function)(pickle.loads(item))
        except OSError:
            raise  # so that Dask tries again
        except Exception as error:
            result = Raised(type(error), error.args)
        return pickle.dumps(result)


_prepared: Setup | None = None


def _prepare(setup: Setup) -> None:
    """Bind this process to its processors and GPU, and configure JAX; bound once, before JAX starts."""
    global _prepared
    if _prepared == setup:
        return
    from distributed import get_worker

    from .. import configure

    resources = setup.resources_by_worker.get(str(get_worker().name))
    if resources is not None and _prepared is None:
        os.environ.update(resources["environment"])
        for thread in Path("/proc/self/task").glob("*"):  # so that their future threads inherit it
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(thread.name), resources["cores"])
    configure(precision=setup.precision)
    _prepared = setup


@functools.lru_cache(maxsize=N_FUNCTIONS)
def _unpickled(function: bytes) -> Callable[[object], object]:
    return pickle.loads(function)
