"""Free memory, from files as Linux writes them and from a device that tells."""

from tests.errors import error_naming
from tunax_lite.runtime.memory import free_memory

GIB = 2**30
OF_PROCESS = {2: "0::/batch/job_7\n", 1: "9:name=systemd:/\n4:cpu,memory:/batch/job_7\n0::/\n"}
NO_LIMIT = {2: "max", 1: 9223372036854771712}


def group(version, path, limit, used, cache=0):
    folder, names = f"sys/fs/cgroup/{path}", ("memory.max", "memory.current")
    stat = f"anon 5\ninactive_file {cache}\nactive_file 7\n"
    if version == 1:
        folder, names = f"sys/fs/cgroup/memory/{path}", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        stat = f"inactive_file 3\ntotal_inactive_file {cache}\n"
    values = dict(zip((*names, "memory.stat"), (limit, used, stat), strict=True))
    return {"proc/self/cgroup": OF_PROCESS[version]} | {f"{folder}/{name}": v for name, v in values.items()}


FREE = {
    "no group": ({}, 16 * GIB),
    "limit of a group around this one": (
        group(2, "batch/job_7", 8 * GIB, GIB) | group(2, "batch", 4 * GIB, 2 * GIB),
        2 * GIB,
    ),
    "more than the machine has": (group(2, "batch/job_7", 64 * GIB, 2 * GIB), 16 * GIB),
    "more used than the limit": (group(2, "batch/job_7", 4 * GIB, 5 * GIB), 0),
}
for _version in (1, 2):
    FREE |= {
        f"no limit, {_version}": (group(_version, "batch/job_7", NO_LIMIT[_version], 5 * GIB), 16 * GIB),
        f"limit, {_version}": (group(_version, "batch/job_7", 8 * GIB, 5 * GIB), 3 * GIB),
        # Files that Linux keeps in memory are counted as used, but given up when needed.
        f"cached files, {_version}": (group(_version, "batch/job_7", 8 * GIB, 5 * GIB, 2 * GIB), 5 * GIB),
        # In a container the path is that outside, and the mount is the group.
        f"container, {_version}": (group(_version, "", 4 * GIB, 3 * GIB), GIB),
    }


def test_free_memory_of_a_cpu(tmp_path, monkeypatch):
    for name, (files, free) in FREE.items():
        root = tmp_path / name
        available = {"proc/meminfo": f"MemTotal: {2**25} kB\nMemAvailable:   {2**24} kB\n"}
        for file, content in (available | files).items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(str(content))
        assert free_memory(root=root) == free, name
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    with error_naming(RuntimeError, "/proc/meminfo"):
        free_memory(root=tmp_path)


class Device:
    """What the code asks of a GPU."""

    platform = "gpu"
    __str__ = lambda self: "cuda:0"  # noqa: E731

    def __init__(self, stats):
        self.memory_stats = lambda: stats


def test_memory_of_a_gpu_is_what_it_says():
    device = Device({"bytes_limit": 60 * GIB, "bytes_in_use": 20 * GIB, "peak_bytes_in_use": 50 * GIB})
    assert free_memory(device) == 40 * GIB
    for stats in (None, {}, {"bytes_in_use": 3}):
        with error_naming(RuntimeError, "cuda:0 XLA_PYTHON_CLIENT_ALLOCATOR=platform"):
            free_memory(Device(stats))
