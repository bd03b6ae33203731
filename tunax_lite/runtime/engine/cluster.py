"""Engine on the workers of a Dask cluster, local or started by the user."""

import asyncio
import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
import logging
import os
import pickle
import queue
import re
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..jax_setup import configuration
from ..machine import needed
from . import worker
from .base import AbstractEngine, ThisProcess, WorkersLost

# Any: the type hints of `distributed` allow coroutines everywhere.
Client = Any  # `distributed.Client`
Future = Any  # `distributed.Future`

RETRIES = 3
"""Number of repetitions of an item after an `OSError`, such as that of a disk or a connection."""
DEATHS = 50
"""Number of deaths of local workers tolerated per item; another scheduler has its own limit."""
SECONDS = 4.0
"""Time limit for a scheduler to identify itself [s]."""
SILENCE = 60.0
"""Time without a message after which a local worker counts as dead [s]."""


class DaskEngine(AbstractEngine):
    """The workers of a Dask cluster.

    Args:
        client: connection to the scheduler.
        places: processors and environment variables of local workers, by name.
    """

    def __init__(self, client: Client, places: dict[str, worker.WorkerResources]):
        super().__init__(max(1, len(places)), 64)
        self._client, self._places = client, places
        self._sent: deque[tuple[Callable, str, Future]] = deque(maxlen=worker.N_FUNCTIONS)
        self._sending, self._n_maps = threading.Lock(), itertools.count()

    def map(self, function, items, report=lambda number, result: None):
        import cloudpickle
        from distributed import KilledWorker

        name, shared = self._shared(function)
        name = f"{name}-{next(self._n_maps)}"
        setup = worker.Setup(configuration().precision, self._places)
        finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
        send = functools.partial(self._client.submit, worker.run, setup, shared, retries=RETRIES, pure=False)
        futures = {send(cloudpickle.dumps(item), key=f"{name}-{i}"): i for i, item in enumerate(items)}
        results: list[Any] = [None] * len(items)  # filled in order of completion
        try:
            for future in futures:
                future.add_done_callback(finished.put)
            for _ in items:
                future = finished.get()
                number = futures[future]
                try:
                    result = pickle.loads(future.result())
                except KilledWorker as error:
                    raise WorkersLost(
                        f"item {number + 1} of {len(items)}: expected a worker to complete it, got "
                        "several that ended one after the other; give them more memory, and see their logs."
                    ) from error
                except concurrent.futures.CancelledError as error:
                    raise WorkersLost(
                        f"{self._client.scheduler.address}: the Dask scheduler ended; start it again, and "
                        "continue with what is saved."
                    ) from error
                if isinstance(result, worker.Raised):
                    raise result.error()
                results[number] = result
                report(number, result)
        finally:
            self._client.cancel([future for future in futures if not future.done()])
        return results

    def _shared(self, function: Callable) -> tuple[str, Future]:
        """Return a name for a function, and its pickled form on the cluster."""
        import cloudpickle

        with self._sending:
            for known, name, shared in self._sent:
                if known is function:
                    return name, shared
            data = cloudpickle.dumps(function)
            name = f"tunax-lite-{hashlib.sha256(data).hexdigest()[:12]}-{os.urandom(4).hex()}"
            # As a result on the cluster, the scheduler can recompute it if all copies are lost.
            shared = self._client.submit(worker.same, data, key=f"{name}-function", retries=RETRIES)
            self._sent.append((function, name, shared))
            return name, shared


async def _kind_of_server(address: str, security: Any) -> str:  # of `distributed`
    """Ask a server of Dask for its kind, such as `Scheduler`."""
    from distributed.comm.core import connect

    comm = await connect(address, timeout=SECONDS, **security.get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        return str((await comm.read())["type"])
    finally:
        comm.abort()


@contextlib.contextmanager
def open_engine(
    workers: int | None = None,
    scheduler: str | None = None,
    *,
    n_threads: int = 1,
) -> Iterator[AbstractEngine]:
    """Open the engine that runs items; by default this process.

    Args:
        workers: number of processes on this machine, each with a part of the cores and one of the GPUs; 1
            stands for this process.
        scheduler: address of a Dask scheduler with workers, such as `tls://node1:8786`, or the file of `dask
            scheduler --scheduler-file`.
        n_threads: number of concurrent items if this process runs them.

    Raises:
        ValueError: both workers and a scheduler, or less than one worker.
        MissingPackageError: a package of the extra `cluster` is not installed.
        OSError: a scheduler that does not answer, a missing file, or workers that do not start.
    """
    if workers is not None and scheduler is not None:
        raise ValueError("expected either --workers or --scheduler, got both; choose one.")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers {workers}: expected at least 1.")
    if scheduler is None and workers in (None, 1):
        yield ThisProcess(n_threads)
        return
    option = f"--workers {workers}" if scheduler is None else f"--scheduler {scheduler}"
    needed("distributed", option, "or leave the option out")
    if scheduler is None:
        needed("cryptography", option)  # for certificates that keep other users out
    import dask.config
    import distributed

    settings = {
        "distributed.scheduler.allowed-failures": DEATHS,
        "distributed.scheduler.worker-ttl": f"{SILENCE:.0f} s",
        # After 15 s Dask would kill the process that restarts a worker, even if that is just slow.
        "distributed.deploy.lost-worker-timeout": "10000 h",
        "distributed.admin.large-graph-warning-threshold": "1TB",
        # Items are long: they wait at the scheduler until a worker is free.
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.scheduler.work-stealing-interval": "100 ms",
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "10 s",
        # Dask always starts its web servers: here without pages, and `dask_setup` stops them.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.worker.multiprocessing-method": "spawn",  # over pipes; JAX does not survive a fork
    }
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are raised here anyway
    with dask.config.set(settings), contextlib.ExitStack() as stack:
        if scheduler is None:
            assert workers is not None
            # Dask's own folder is shared by all users of the machine.
            private = tempfile.TemporaryDirectory(prefix="tunax-lite-", ignore_cleanup_errors=True)
            cluster = stack.enter_context(_local_cluster(workers, stack.enter_context(private)))
            client, places = distributed.Client(cluster), _places(workers)
        else:
            client, places = _client_of(scheduler), {}
        yield DaskEngine(stack.enter_context(client), places)


def _client_of(scheduler: str) -> Client:
    """Connect to a scheduler that the user started, by its address or file.

    A scheduler can run code in this process, and so can anyone who reaches its port unless it requires
    certificates.
    """
    import distributed

    address, security = scheduler, distributed.Security()
    try:
        if "://" not in scheduler:
            address = str(json.loads(Path(scheduler).read_text(encoding="utf-8"))["address"])
        # A client would wait for a silent server for ever. A thread, because a notebook runs an event loop.
        question = asyncio.wait_for(_kind_of_server(address, security), SECONDS)
        kind = ThreadPoolExecutor(1).submit(asyncio.run, question).result(SECONDS + 1.0)
        if kind != "Scheduler":
            raise TypeError(f"a {kind} of Dask")
        client = distributed.Client(address, security=security)
    except Exception as error:  # of a damaged file, or of whatever answers at this address
        raise OSError(
            f"--scheduler {scheduler}: expected the address of a Dask scheduler that answers, or its file, "
            f"got: {type(error).__name__}: {str(error).rstrip('.')}; start it, or correct the address or its "
            "certificates (distributed.comm.tls)."
        ) from error
    if address.startswith("tcp://"):
        warnings.warn(
            f"--scheduler {scheduler}: its connections are not encrypted, and everybody who reaches its port "
            "can run code as you; where others can, start it with certificates, and name tls://.",
            stacklevel=2,
        )
    return client


def _local_cluster(workers: int, folder: str) -> contextlib.AbstractContextManager:
    """Start workers that only this process can reach: their certificate is new and stays in memory."""
    import distributed

    try:
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=None,  # checked in advance; Dask would kill workers near its own estimate
            security=distributed.Security.temporary(),
            protocol="tls://",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            host="127.0.0.1",
            local_directory=folder,
            preload=[worker.__name__],
            silence_logs=logging.CRITICAL,
            env=_environment(),
        )
        worker.dask_setup(cluster.scheduler)
        return cluster
    except (OSError, RuntimeError) as error:
        raise WorkersLost(
            f"--workers {workers}: expected workers that start, got: {str(error).rstrip('.')}; start fewer, "
            "or again, if one was killed."
        ) from error


def _environment() -> dict[str, str]:
    """Environment variables that give local workers the compilation cache of this process."""
    folder = configuration().cache_folder
    if folder is None:
        return {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    return {"JAX_COMPILATION_CACHE_DIR": str(folder)}


def _places(workers: int) -> dict[str, worker.WorkerResources]:
    """Processors and GPU of each local worker, by name, shared if there are too few; empty outside Linux."""
    if not hasattr(os, "sched_getaffinity"):
        return {}
    cores = sorted(os.sched_getaffinity(0))
    gpus = sorted(name[6:] for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name))
    gpus = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(gpus)).split(",") if name]
    places = {}
    for i in range(workers):
        share = cores[i * len(cores) // workers : (i + 1) * len(cores) // workers] or [cores[i % len(cores)]]
        environment = {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]} if gpus else {}
        places[str(i)] = {"cores": share, "environment": environment}
    return places
