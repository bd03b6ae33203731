"""One JAX program over the processes of a cluster: connecting them, and ending them together."""

import contextlib
import faulthandler
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import jax


def join_processes(
    coordinator: str | None = None,
    n_processes: int | None = None,
    process: int | None = None,
    *,
    wait: float = 1800.0,
    silence: float = 100.0,
) -> None:
    """Connect the devices of all processes of a job; call this before creating the first array.

    Under SLURM no arguments are needed. JAX itself gives each process the one GPU of its local index, and
    leaves the others idle if one process drives all GPUs of a node.

    Args:
        coordinator: `host:port` of process 0; under SLURM, the first host of the job step.
        n_processes, process: number of processes, and index of this one, from 0.
        wait: how long processes wait for each other [s]; starting a large job takes minutes.
        silence: time without a sign of life from a process [s] after which all others end.

    Raises:
        ValueError: outside SLURM without all three, or more processes on a host than GPUs.
    """
    given = (coordinator, n_processes, process)
    if "SLURM_PROCID" not in os.environ and None in given:
        raise ValueError(
            "join_processes: expected to be started by srun, or coordinator, n_processes and process; "
            f"got {given}."
        )
    jax.distributed.initialize(
        coordinator,
        n_processes,
        process,
        local_device_ids=local_gpus(os.environ, len(list(Path("/dev").glob("nvidia[0-9]*")))),
        initialization_timeout=round(wait),
        heartbeat_timeout_seconds=round(silence),
    )


def local_gpus(environment: Mapping[str, str], n_present: int) -> list[int] | None:
    """The GPUs of this process, by index among those visible; `None` if SLURM or the host has none.

    SLURM either binds GPUs to tasks (`--gpus-per-task`), which then see only their own, or shows all GPUs of
    a node to each task; tasks then take equal parts.
    """
    if "SLURM_PROCID" not in environment:
        return None
    seen = environment.get("CUDA_VISIBLE_DEVICES")
    n_seen = n_present if seen is None else len([one for one in seen.split(",") if one])
    if not n_seen:
        return None
    if n_seen < int(environment.get("SLURM_GPUS_ON_NODE", "0")):
        return list(range(n_seen))
    node, task = int(environment.get("SLURM_NODEID", "0")), int(environment["SLURM_LOCALID"])
    n_tasks = _tasks_per_node(environment.get("SLURM_STEP_TASKS_PER_NODE", "1"))[node]
    share = n_seen // n_tasks
    if not share:
        raise ValueError(
            f"join_processes: expected at most one process per GPU, got {n_tasks} processes and {n_seen} "
            "GPUs on this node; use srun --ntasks-per-node with the number of GPUs."
        )
    return list(range(task * share, (task + 1) * share))


def _tasks_per_node(text: str) -> list[int]:
    """Expand SLURM's `2(x3),1` to one number per node."""
    found = re.findall(r"(\d+)(?:\(x(\d+)\))?", text)
    return [int(tasks) for tasks, repeats in found for _ in range(int(repeats or 1))]


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End this process, printing its stack on stderr, if the block takes too long.

    A process that is alive but stuck blocks all others in the next sum over devices; JAX notices only dead
    ones. `srun --kill-on-bad-exit=1` then ends the others at once.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
