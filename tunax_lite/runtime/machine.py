"""The machine and the code that results come from; imports nothing heavy."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path


def n_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Model of the processor, or its architecture where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Of installed packages, by name, and of Python."""
    return {name: importlib.metadata.version(name) for name in packages} | {
        "python": platform.python_version()
    }


def commit() -> str:
    """That of a checkout that is run from; empty for an installed package."""
    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10.0).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
