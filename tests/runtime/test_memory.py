"""Free and used memory, from files as Linux writes them and from a device that tells."""

import os

import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.runtime import free_memory, used_memory

GIB = 2**30
NO_LIMIT_V1 = 9223372036854771712


def group_v2(path, limit, used, cache=0):
    folder = f"sys/fs/cgroup/{path}"
    stat = f"anon 5\ninactive_file {cache}\nactive_file 7\n"
    return {
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": used,
        f"{folder}/memory.stat": stat,
    }


def group_v1(path, limit, used, cache=0):
    folder = f"sys/fs/cgroup/memory/{path}"
    return {
        f"{folder}/memory.limit_in_bytes": limit,
        f"{folder}/memory.usage_in_bytes": used,
        f"{folder}/memory.stat": f"inactive_file 3\ntotal_inactive_file {cache}\n",
    }


V2 = {"proc/self/cgroup": "0::/batch/job_7\n"}
V1 = {"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/batch/job_7\n0::/\n"}


def test_this_process_is_seen():
    before = used_memory()
    ballast = np.ones(2**25)  # 256 MiB
    assert used_memory() - before == pytest.approx(ballast.nbytes, rel=0.2)
    assert free_memory() > 0


class Device:
    """What the code asks of a GPU."""

    platform = "gpu"

    def __init__(self, stats):
        self._stats = stats

    def memory_stats(self):
        return self._stats

    def __str__(self):
        return "cuda:0"


def test_memory_of_a_gpu_is_what_it_says():
    device = Device({"bytes_limit": 60 * GIB, "bytes_in_use": 20 * GIB, "peak_bytes_in_use": 50 * GIB})
    assert free_memory(device) == 40 * GIB
    assert used_memory(device) == 20 * GIB
    for stats in (None, {}, {"bytes_in_use": 3}):
        for ask in (free_memory, used_memory):
            with error_naming(RuntimeError, "cuda:0 XLA_PYTHON_CLIENT_ALLOCATOR=platform"):
                ask(Device(stats))


FREE = {
    "no group": ({}, 16 * GIB),
    "no limit": (V2 | group_v2("batch/job_7", "max", 5 * GIB), 16 * GIB),
    "limit": (V2 | group_v2("batch/job_7", 8 * GIB, 5 * GIB), 3 * GIB),
    # Files that Linux keeps in memory are counted as used, but given up when needed.
    "cached files": (V2 | group_v2("batch/job_7", 8 * GIB, 5 * GIB, 2 * GIB), 5 * GIB),
    "limit of a group around this one": (
        V2 | group_v2("batch/job_7", 8 * GIB, GIB) | group_v2("batch", 4 * GIB, 2 * GIB),
        2 * GIB,
    ),
    # In a container the path is that outside, and the mount is the group.
    "container": (V2 | group_v2("", 4 * GIB, 3 * GIB), GIB),
    "more than the machine has": (V2 | group_v2("batch/job_7", 64 * GIB, 2 * GIB), 16 * GIB),
    "more used than the limit": (V2 | group_v2("batch/job_7", 4 * GIB, 5 * GIB), 0),
    "no limit, v1": (V1 | group_v1("batch/job_7", NO_LIMIT_V1, 5 * GIB), 16 * GIB),
    "limit, v1": (V1 | group_v1("batch/job_7", 8 * GIB, 5 * GIB, GIB), 4 * GIB),
    "container, v1": (V1 | group_v1("", 4 * GIB, 3 * GIB), GIB),
}


def test_free_and_used_memory_of_a_cpu(tmp_path, monkeypatch):
    """On a machine with 16 GiB available."""
    for name, (files, free) in FREE.items():
        root = tmp_path / name
        available = {"proc/meminfo": f"MemTotal: {2**25} kB\nMemAvailable:   {2**24} kB\n"}
        for file, content in (available | {"proc/self/statm": "900 300 20 1 0 99 0"} | files).items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(str(content))
        assert free_memory(root=root) == free, name
        assert used_memory(root=root) == 300 * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    with error_naming(RuntimeError, "/proc/meminfo"):
        free_memory(root=tmp_path)
