"""Free memory of a device, and rejection of computations that are too large.

A GPU is queried; for a CPU the system's files are read. These include the control group: a container or batch
job may use only part of the machine, and is killed beyond that.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

Device = Any  # `jax.Device`, which type checkers take for a variable
_ROOT = Path("/")


def free_memory(device: Device = None, *, root: Path = _ROOT) -> int:
    """Bytes that this process may still allocate on a device, by default the first.

    Linux files are read below `root`. Raises `RuntimeError` if the device or system does not report it.
    """
    device = jax.devices()[0] if device is None else device
    if device.platform == "cpu":
        return free_on_host(root=root)
    stats = device.memory_stats()
    if not stats or "bytes_limit" not in stats or "bytes_in_use" not in stats:
        raise RuntimeError(
            f"memory: expected {device} to report its memory, got nothing; with "
            "XLA_PYTHON_CLIENT_ALLOCATOR=platform it cannot: unset it, or give a memory budget."
        )
    return max(0, stats["bytes_limit"] - stats["bytes_in_use"])


def free_on_host(*, root: Path = _ROOT) -> int:
    """Bytes that this process may still allocate on the host; `root` and errors as in `free_memory`."""
    free = min([_free_in_machine(root), *_free_in_control_groups(root)])
    if math.isinf(free):
        raise RuntimeError(
            "memory: expected the system to report its free memory, got neither /proc/meminfo nor a control "
            "group; give a memory budget."
        )
    return max(0, int(free))


def peak_memory(*, root: Path = _ROOT) -> int:
    """Peak memory of this process on the host in bytes; 0 if the system does not report it."""
    return 1024 * _numbers(root / "proc/self/status").get("VmHWM:", 0)


def _free_in_machine(root: Path) -> int | float:
    available = _numbers(root / "proc/meminfo").get("MemAvailable:")
    if available is not None:
        return 1024 * available
    try:  # without /proc: all memory of the machine
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _free_in_control_groups(root: Path) -> Iterator[int]:
    """Free bytes of the control group of this process and its parents, version 1 or 2."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        mount = root / "sys/fs/cgroup"
        if number == "0" and not controllers:
            names = "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            mount = mount / "memory"
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        # In a container the path may be that outside the container; the mount is then the group itself.
        group = mount / path.strip("/")
        while group.is_relative_to(mount):
            limit, used = (_text(group / name).strip() for name in names[:2])
            if limit.isdigit() and used.isdigit():  # "max" means no limit
                # File cache counts as used, but can be evicted.
                yield int(limit) - int(used) + _numbers(group / "memory.stat").get(names[2], 0)
            group = group.parent


def _numbers(path: Path) -> dict[str, int]:
    """Numbers of a file with lines of a name and a number, by name."""
    words = (line.split() for line in _text(path).splitlines())
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


MOST_STEPS = 2**31 - 1  # per run: the step counter has 32 bits
MOST_CELLS = 100_000  # per column


class TooLargeError(ValueError):
    """A computation that exceeds the limits; states its number of steps or bytes."""


def check_steps(duration: float, dt: float) -> None:
    """Raise `TooLargeError` if a duration [s] has more than `MOST_STEPS` steps of `dt` [s]."""
    n_steps = float(duration) / float(dt)
    if n_steps > MOST_STEPS:
        raise TooLargeError(
            f"expected at most {MOST_STEPS:.3g} time steps, got {n_steps:.3g}: {duration:g} s in steps of "
            f"{dt:g} s; choose longer steps or a shorter run."
        )


def check_memory(n_bytes: int | float, what: str) -> None:
    """Raise `TooLargeError` for more bytes than the free memory, if the system reports it.

    `what` names the subject of the message; empty leaves out the subject and its verb.
    """
    if n_bytes < 1e6:  # checking opens system files, which takes longer than reading such an array
        return
    try:
        free = free_on_host()
    except RuntimeError:
        return
    if n_bytes > free:
        needs = f"{what} needs " if what else ""
        raise TooLargeError(f"{needs}{_size(n_bytes)}, but only {_size(free)} are free")


def _size(n_bytes: int | float) -> str:
    return f"{n_bytes:.3g} bytes" if n_bytes < 1e6 or n_bytes > 1e15 else f"{n_bytes / 1e9:.3g} GB"
