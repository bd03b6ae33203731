"""`tunax-lite doctor`: the machine, the configuration of JAX, and a test of results and speed."""

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax

from .._types import JSON
from ..runtime import cache_contents, cache_statistics, configuration, free_memory, used_memory
from ..runtime.extras import MissingPackageError, command_for, installed
from ..runtime.machine import n_processors, processor, versions
from ..runtime.memory import Device
from .check import check
from .self_test import SelfTest, self_test
from .terminal import echo

PACKAGES = ("tunax_lite", "jax", "jaxlib", "equinox", "optax", "numpy")
MEMORY_VARIABLES = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
    "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.75",
    "XLA_CLIENT_MEM_FRACTION": "0.75",  # new name of the previous one
    "XLA_PYTHON_CLIENT_ALLOCATOR": "default",
}
"""What decides how much of a GPU JAX takes, with JAX's defaults."""

Report = dict[str, JSON]


def doctor(seconds: float, configs: Sequence[Path] = ()) -> Report:
    """See `commands.doctor`."""
    before = cache_statistics()
    echo("testing ...", err=True)
    tested = self_test(seconds)
    report = describe_machine()
    report["cache"] |= cache_statistics().since(before)._asdict()
    report["self_test"] = {
        "speeds": [speed._asdict() for speed in tested.speeds],
        "checks": [check._asdict() for check in tested.checks],
        "skipped": tested.skipped,
    }
    report["problems"] = _problems(report, tested)
    report["configurations"] = {str(config): _checked(config, report["problems"]) for config in configs}
    _show(report)
    return report


def _checked(config: Path, problems: list[str]) -> Report:
    """The answer of `check`; an error is added to the problems."""
    try:
        answer = check(config)
    except (ValueError, OSError, MissingPackageError) as error:
        problems.append(str(error))
        answer = {}
    echo("")
    return answer


def describe_machine() -> Report:
    """Versions, devices, memory, cache and flags."""
    now = configuration()
    programs, size = (0, 0) if now.cache_folder is None else cache_contents(now.cache_folder)
    return {
        "versions": versions(PACKAGES) | {"system": platform.platform()},
        "extras": installed(),
        "processor": processor(),
        "processors": n_processors(),
        "devices": [_device(device) for device in jax.local_devices()],
        # Commands set it from their configuration, float64 by default.
        "precision": {"of_jax": now.precision, "of_commands": "float64"},
        "memory": {name: os.environ.get(name) for name in MEMORY_VARIABLES},
        "cache": {
            "folder": None if now.cache_folder is None else str(now.cache_folder),
            "minimum_seconds": now.cache_minimum_seconds,
            "programs": programs,
            "bytes": size,
        },
        "fuse_time_loop": now.fuse_time_loop,
        "xla_flags": now.xla_flags,
    }


def _device(device: Device) -> Report:
    try:
        free, used = free_memory(device), used_memory(device)
    except RuntimeError:  # does not report its memory
        free, used = None, None
    return {
        "name": str(device),
        "platform": device.platform,
        "platform_version": device.client.platform_version,
        "kind": device.device_kind,
        "free_bytes": free,
        "used_bytes": used,
    }


def _problems(report: Report, tested: SelfTest) -> list[str]:
    found = [f"{check.name}: {check.found}" for check in tested.checks if not check.passed]
    folder = report["cache"]["folder"]
    if folder is not None and Path(folder).exists() and not os.access(folder, os.W_OK | os.X_OK):
        found.append(f"cache: {folder} cannot be written; choose another with --cache-folder DIR")
    wants_cpu = getattr(jax.config, "jax_platforms") == "cpu"  # noqa: B009 (made at import)
    platforms = {device["platform"] for device in report["devices"]}
    if Path("/proc/driver/nvidia/version").exists() and platforms == {"cpu"} and not wants_cpu:
        found.append(
            "devices: there is an NVIDIA driver, but JAX sees no GPU; "
            "install tunax_lite[cuda12] or [cuda13], or set JAX_PLATFORMS=cpu if that is what you want"
        )
    return found


def _show(report: Report) -> None:
    facts, tested = list(_facts(report)), report["self_test"]
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        echo(f"{name:{width}}  {value}")
    echo("")
    _show_speeds(tested["speeds"])
    echo("")
    for one in tested["checks"]:
        echo(f"{'passed' if one['passed'] else 'FAILED'}  {one['name']}: {one['found']}")
    for name in tested["skipped"]:
        echo(f"skipped  {name}: no time left; give more with --seconds")
    for problem in report["problems"]:
        echo(f"problem: {problem}")
    echo("something is wrong" if report["problems"] else "all is well")


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    yield from report["versions"].items()
    for extra, packages in report["extras"].items():
        missing = [name for name, version in packages.items() if version is None]
        have = ", ".join(f"{name} {version}" for name, version in packages.items() if version is not None)
        lack = f"without {', '.join(missing)}: {command_for(missing[0])}" if missing else ""
        yield f"[{extra}]", "; ".join(filter(None, (have, lack)))
    yield "processors", f"{report['processors']} for this process: {report['processor']}"
    for device in report["devices"]:
        yield "device", f"{device['name']}: {device['kind']}, {device['platform_version']}"
        free, used = _megabytes(device["free_bytes"]), _megabytes(device["used_bytes"])
        yield "  memory", f"{free} free, {used} used by this process"
    for name, value in report["memory"].items():
        yield name, value or f"not set, which is {MEMORY_VARIABLES[name]}; for GPUs only"
    cache, precision = report["cache"], report["precision"]
    default = f"{precision['of_commands']} in commands unless their configuration says otherwise"
    yield "precision", f"{default}; {precision['of_jax']} in JAX"
    kept = "off: every program is compiled in every process"
    if cache["folder"] is not None:
        kept = f"{cache['folder']}, {cache['programs']} programs, {_megabytes(cache['bytes'])}, "
        kept += f"for programs that compile in {cache['minimum_seconds']:g} s or more"
    yield "cache", kept
    yield "  in this test", f"{cache['hits']} hits, {cache['misses']} misses"
    yield "XLA_FLAGS", report["xla_flags"] or "not set"


def _megabytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e6:,.0f} MB"


def _show_speeds(speeds: list[Report]) -> None:
    # Slow import.
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("k-epsilon, 64 levels")
    for heading in ("columns", "steps", "us per column and step", r"compile \[s]"):
        table.add_column(heading, justify="right")
    for speed in speeds:
        times = f"{speed['microseconds']:.2f}", f"{speed['compile_seconds']:.1f}"
        table.add_row(speed["precision"], str(speed["n_columns"]), str(speed["n_steps"]), *times)
    Console(file=sys.stdout).print(table)
