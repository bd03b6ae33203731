"""Provenance of results (machine, code version, packages) and optional packages; quick to import."""

import importlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType


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
    """Versions of installed packages, by name, and of Python."""
    return {name: importlib.metadata.version(name) for name in packages} | {
        "python": platform.python_version()
    }


def commit() -> str:
    """Commit of the running checkout, with `-dirty` if modified; empty if installed or without Git."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10.0).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


EXTRAS = {
    "posterior": ("blackjax", "arviz_stats"),
    "cluster": ("dask", "distributed", "zarr", "cryptography"),
    "sites": ("cdsapi", "argopy", "copernicusmarine", "pyTMD"),
}
"""Optional packages, by the extra that installs them."""


class MissingPackageError(ImportError):
    """An optional package that is missing or does not load; names its purpose and how to install it."""


def command_for(package: str) -> str | None:
    """Command that installs an optional package; `None` for other packages."""
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    if extra is None:
        return None
    return f"pip install 'tunax_lite[{extra}]' (in a clone: pip install '.[{extra}]')"


def needed(name: str, what: str, instead: str = "") -> ModuleType:
    """Import a module of an optional package.

    Args:
        name: full name of a module of a package in `EXTRAS`.
        what: option or command that needs the package, for the message.
        instead: another remedy, as the end of a sentence.

    Raises:
        MissingPackageError: with the command that installs it.
    """
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:  # RuntimeError: a missing C library
        package = name.partition(".")[0]
        todo = f"{command_for(package)}{instead and ', ' + instead}"
        raise MissingPackageError(
            f"{what}: expected the package {package}, got none ({error}); {todo}.", name=package
        ) from error
