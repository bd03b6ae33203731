"""An ordered map of a function over items: in this process, or on the workers of Dask.

Tiles of a map, members, cases of a calibration, folds and chains are functions of one picklable item each
that do not see each other. What runs them here is a loop; on several processes it is Dask, which runs again
what a worker that died was at, leaves out workers that do not answer, and shows all of it. A function may be
run twice, also at the same time: what it writes must be whole at any moment, and the same each time.

A worker runs one item at a time, on the cores (or the GPU) that are its own, in the precision of the process
that asks, and JAX starts there only after it was told so.
"""

import abc
import contextlib
import functools
import hashlib
import os
import pickle
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
Report = Callable[[int, Any], None]
"""Called with the number of an item and its result as soon as there is one, in any order."""

RETRIES = 3
"""Of an item that met an error of the system: a disk, a connection, memory."""
DEATHS = 50
"""Of local workers at one item, before it is taken for the cause."""


class AbstractEngine(abc.ABC):
    """What runs a function for many items."""

    @abc.abstractmethod
    def map(
        self,
        function: Callable[[ItemT], ResultT],
        items: Sequence[ItemT],
        report: Report = lambda number, result: None,
    ) -> list[ResultT]:
        """Results in the order of the items.

        Raises what the function raises, for the first item of which that is known; `WorkersLost` where no
        worker survived one.
        """


class ThisProcess(AbstractEngine):
    """One item after the other, here."""

    def map(self, function, items, report=lambda number, result: None):
        results = []
        for number, item in enumerate(items):
            results.append(function(item))
            report(number, results[-1])
        return results


class WorkersLost(OSError):
    """Workers that ended while they were at an item, again and again."""


class _Setup(NamedTuple):
    """What a worker has to know before JAX starts: precision, and its place by its name."""

    precision: Any
    places: dict[str, dict[str, Any]]


class DaskEngine(AbstractEngine):
    """The workers of a Dask cluster.

    Args:
        client: of `distributed`.
        places: processors and variables of the environment of local workers, by their names.
    """

    def __init__(self, client: Any, places: dict[str, dict[str, Any]]):
        self._client, self._places = client, places

    def map(self, function, items, report=lambda number, result: None):
        import cloudpickle
        from distributed import KilledWorker, as_completed

        from .runtime import configuration

        setup = _Setup(configuration().precision, self._places)
        data = cloudpickle.dumps(function)
        name = f"tunax-lite-{hashlib.sha256(data).hexdigest()[:12]}-{os.urandom(4).hex()}"
        # A result of the cluster, which it can make again where all copies are lost.
        shared = self._client.submit(_same, data, key=f"{name}-function", retries=RETRIES)
        send = functools.partial(self._client.submit, _run, setup, shared, retries=RETRIES, pure=False)
        futures = {send(cloudpickle.dumps(item), key=f"{name}-{i}"): i for i, item in enumerate(items)}
        results: list[Any] = [None] * len(items)
        try:
            for future in as_completed(futures):
                number = futures[future]
                try:
                    found = pickle.loads(future.result())
                except KilledWorker as error:
                    raise WorkersLost(
                        f"item {number + 1} of {len(items)}: expected a worker that survives it, got some "
                        "that ended at it, one after the other; give them more memory, and see their logs."
                    ) from error
                if isinstance(found, _Raised):
                    raise found.error()
                results[number] = found
                report(number, found)
        finally:
            self._client.cancel([*futures, shared])
        return results


class _Raised(NamedTuple):
    """An error that would be the same on another worker; as a whole some cannot be pickled."""

    kind: type[Exception]
    args: tuple

    def error(self) -> Exception:
        return self.kind.__new__(self.kind, *self.args)  # `__init__` may want what the message was made of


_turn = threading.Lock()
"""One item at a time, whatever the number of threads that a worker was started with."""


def _same(data: bytes) -> bytes:
    return data


def _run(setup: _Setup, function: bytes, item: bytes) -> bytes:
    """The pickled result for an item, on a worker: what is pickled may hold arrays, which start JAX."""
    with _turn:
        _prepare(setup)
        try:
            result = _unpickled(function)(pickle.loads(item))
        except OSError:
            raise  # Dask tries again
        except Exception as error:
            result = _Raised(type(error), error.args)
        return pickle.dumps(result)


_is_prepared = False


def _prepare(setup: _Setup) -> None:
    """Put this process in its place, and set JAX up, before JAX starts."""
    global _is_prepared
    from distributed import get_worker

    from .runtime import configure

    place = setup.places.get(str(get_worker().name))
    if place is not None and not _is_prepared:
        os.environ.update(place["environment"])
        for thread in Path("/proc/self/task").glob("*"):  # those that these start follow
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(thread.name), place["cores"])
    configure(precision=setup.precision)
    _is_prepared = True


@functools.lru_cache(maxsize=1)
def _unpickled(function: bytes) -> Callable[[Any], Any]:
    return pickle.loads(function)


@contextlib.contextmanager
def open_engine(
    workers: int | None = None, scheduler: str | None = None, scheduler_file: Path | None = None
) -> Iterator[AbstractEngine]:
    """What runs items: this process, unless told otherwise.

    Args:
        workers: processes on this machine, each with its share of the cores, or one of the GPUs.
        scheduler: address of a Dask scheduler whose workers do the work, such as `tcp://node1:8786`.
        scheduler_file: its file, `dask scheduler --scheduler-file`.

    Raises:
        ValueError: more than one of them, no worker, or Dask that is not installed.
        OSError: a scheduler that does not answer, or a file that is not there.
    """
    given = {"--workers": workers, "--scheduler": scheduler, "--scheduler-file": scheduler_file}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"expected one of {', '.join(given)}, got {' and '.join(named)}; choose one.")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers {workers}: expected at least 1.")
    if not named or workers == 1:
        yield ThisProcess()
        return
    try:
        import dask.config
        import distributed
    except ImportError as error:
        raise ValueError(
            f"{named[0]} {given[named[0]]}: expected Dask, got none ({error}); pip install "
            "'tunax_lite[cluster]', or leave the option out."
        ) from error
    quiet = {
        "distributed.scheduler.allowed-failures": DEATHS,
        "distributed.admin.large-graph-warning-threshold": "1TB",
    }
    with dask.config.set(quiet), contextlib.ExitStack() as stack:
        if workers is not None:
            places = _places(workers)
            cluster = _local_cluster(workers)
            client = stack.enter_context(distributed.Client(stack.enter_context(cluster)))
        else:
            places = {}
            client = stack.enter_context(_client(scheduler, scheduler_file))
        yield DaskEngine(client, places)


def _local_cluster(workers: int) -> Any:
    import logging

    import distributed

    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,  # spawned: JAX does not survive a fork
        memory_limit=None,  # what an item needs is known before; Dask would end what comes near its own guess
        dashboard_address=None,  # pyright: ignore[reportArgumentType]
        host="127.0.0.1",
        silence_logs=logging.CRITICAL,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    """What local workers take over of the set-up of JAX here, besides the environment."""
    from .runtime import configuration

    folder = configuration().cache_folder
    if folder is None:
        return {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    seconds = configuration().cache_minimum_seconds
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(seconds),
    }


def _client(scheduler: str | None, scheduler_file: Path | None) -> Any:
    import distributed

    where = f"--scheduler {scheduler}" if scheduler_file is None else f"--scheduler-file {scheduler_file}"
    if scheduler_file is not None and not scheduler_file.is_file():
        raise FileNotFoundError(
            f"{where}: expected the file of a Dask scheduler, got none; start the scheduler first."
        )
    try:
        if scheduler_file is None:
            return distributed.Client(scheduler)
        return distributed.Client(scheduler_file=str(scheduler_file))
    except (OSError, ValueError) as error:
        raise OSError(
            f"{where}: expected a Dask scheduler that answers, got: {error}; start it, or correct the "
            "address."
        ) from error


def _places(workers: int) -> dict[str, dict[str, Any]]:
    """Processors and GPU of each local worker, by its name; workers share them where there are too few."""
    if not hasattr(os, "sched_getaffinity"):
        return {}
    cores = sorted(os.sched_getaffinity(0))
    gpus = sorted(name[6:] for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name))
    gpus = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(gpus)).split(",") if name]
    places = {}
    for i in range(workers):
        own = cores[i * len(cores) // workers : (i + 1) * len(cores) // workers] or [cores[i % len(cores)]]
        environment = {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]} if gpus else {}
        places[str(i)] = {"cores": own, "environment": environment}
    return places
