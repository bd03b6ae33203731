"""`tunax-lite doctor`: the machine, the configuration of JAX, and a test of results and speed."""

import dataclasses
import itertools
import math
import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._types import JSON, in_precision
from ..calibration.comparison import Summary
from ..closures import KEpsilon
from ..column.case import Case
from ..column.forcing import ConstantForcing, SurfaceFluxes
from ..column.grid import Grid
from ..column.integrate import simulate
from ..column.model import Model
from ..column.state import State
from ..column.trajectory import Trajectory
from ..runtime import (
    Program,
    cache_contents,
    cache_statistics,
    compile_program,
    configuration,
    free_memory,
    used_memory,
)
from ..runtime.machine import MissingPackageError, command_for, installed, n_processors, processor, versions
from ..runtime.memory import Device
from ..runtime.options import options_without_effect
from .check import check
from .evaluate import print_summary
from .terminal import echo

DT = 60.0
N_LEVELS, DEPTH = 64, 256.0
HEAT_FLUX = -100.0
N_STEPS = {1: 2880, 128: 480}
"""Number of steps by number of columns: a fraction of a second for each."""
PRECISIONS = ("float64", "float32")
_JIT_CHECK = "jit = no jit"
_LEVELS_WITHOUT_JIT, _STEPS_WITHOUT_JIT = 8, 3  # each operation is a separate program: slow
_MOST_REPETITIONS = 50
_LONGER_THAN_THE_LAST = 1.3
"""How much longer the next program may take to compile than the longest before it."""
_JIT_OVER_PROGRAM = 5.0
"""How much longer the check without compilation takes than the first program."""


class Speed(NamedTuple):
    """Time per column and step of the fastest run in one precision, and the time to trace and compile it."""

    precision: str
    n_columns: int
    n_steps: int
    microseconds: float
    compile_seconds: float


class Check(NamedTuple):
    """A check, whether it passed, and what was found."""

    name: str
    passed: bool
    found: str


@dataclasses.dataclass(frozen=True)
class SelfTest:
    """Speeds and checks, and those skipped for lack of time."""

    speeds: tuple[Speed, ...]
    checks: tuple[Check, ...]
    skipped: tuple[str, ...] = ()


def self_test(seconds: float) -> SelfTest:
    """Run one column and a batch, in both precisions.

    Everything beyond the time limit [s] is skipped, except the first program.
    """
    start = time.perf_counter()
    checks, compiled, skipped, longest = [], [], [], 0.0
    for n_columns, precision in itertools.product(N_STEPS, PRECISIONS):
        before = time.perf_counter()
        if before - start + _LONGER_THAN_THE_LAST * longest > seconds and compiled:
            skipped.append(_label(precision, n_columns))
            continue
        with jax.enable_x64(precision == "float64"):
            model, case = problem(precision, n_columns)
            program = compile_program(_run, model, case, n_steps=N_STEPS[n_columns])
            checks += check_run(program(model, case), case, precision, n_columns)
        compiled.append((precision, n_columns, program))
        longest = max(longest, time.perf_counter() - before)
    if time.perf_counter() - start + _JIT_OVER_PROGRAM * longest > seconds:
        skipped.append(_JIT_CHECK)
    else:
        with jax.enable_x64(True):
            checks.append(_check_jit())
    speeds = []
    for index, (precision, n_columns, program) in enumerate(compiled):
        fraction = max(0.0, start + seconds - time.perf_counter()) / (len(compiled) - index)
        with jax.enable_x64(precision == "float64"):
            speeds.append(_speed(program, precision, n_columns, fraction))
    return SelfTest(tuple(speeds), tuple(checks), tuple(skipped))


def _label(precision: str, n_columns: int) -> str:
    return f"{precision}, {n_columns} column{'s' if n_columns > 1 else ''}"


def problem(precision: str, n_columns: int, n_levels: int = N_LEVELS) -> tuple[Model, Case]:
    """A stratified column under wind and cooling; the columns of a batch differ in the wind."""
    stress = 0.1 if n_columns == 1 else np.linspace(0.05, 0.15, n_columns)
    grid = Grid.uniform(DEPTH, n_levels)
    case = Case(
        grid=grid,
        # Temperature is relative to the surface, so that rounding hides less of a small change.
        initial_state=State.from_profiles(grid, temperature=lambda z: 0.01 * z),
        forcing=ConstantForcing(SurfaceFluxes(stress_u=stress, heat_flux=HEAT_FLUX)),
        coriolis_parameter=1e-4,
        duration=86400.0,
    )
    return in_precision((Model(KEpsilon()), case), precision)


def _run(model: Model, case: Case, n_steps: int) -> Trajectory:
    return simulate(model, case, dt=DT, duration=n_steps * DT, output_interval=n_steps * DT)


def _speed(program: Program, precision: str, n_columns: int, seconds: float) -> Speed:
    arguments = problem(precision, n_columns)
    once = program.timing(*arguments, repetitions=1).minimum
    repetitions = min(_MOST_REPETITIONS, max(1, math.floor(seconds / once)))
    fastest, n_steps = program.timing(*arguments, repetitions=repetitions).minimum, N_STEPS[n_columns]
    took = program.trace_seconds + program.compile_seconds
    return Speed(precision, n_columns, n_steps, 1e6 * fastest / (n_steps * n_columns), took)


def check_run(run: Trajectory, case: Case, precision: str, n_columns: int) -> list[Check]:
    """Check that a run (first and last frame) is finite, in its precision, and conserves heat."""
    label = _label(precision, n_columns)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((run.state, run.clo_state))]
    n_bad = sum(int((~np.isfinite(leaf)).sum()) for leaf in leaves)
    dtype = np.asarray(run.state.temperature).dtype
    temperature = np.asarray(run.state.temperature, dtype="float64").reshape(2, N_LEVELS, -1)
    heat = temperature.sum(axis=1) * DEPTH / N_LEVELS  # [K m]
    eos = case.equation_of_state
    entered = HEAT_FLUX * float(run.time[-1]) / float(eos.reference_density * eos.heat_capacity)
    error = float(np.abs(heat[1] - heat[0] - entered).max())
    # Below the mixed layer, successive steps round the same numbers in the same direction.
    content = float(np.abs(temperature[0]).sum(axis=0).max()) * DEPTH / N_LEVELS
    rounding = float(run.step[-1]) * float(np.finfo(precision).eps) * content
    share, explained = error / abs(entered), rounding / abs(entered)
    budget = f"off by {share:.1e} of what entered; rounding explains {explained:.1e}"
    return [
        Check(f"finite ({label})", n_bad == 0, f"{n_bad} values that are not finite"),
        Check(f"precision ({label})", dtype == precision, f"arrays of {dtype}"),
        Check(f"heat budget ({label})", error <= 4.0 * rounding, budget),
    ]


def _check_jit() -> Check:
    """A few steps of a small column, compiled and operation by operation."""
    model, case = problem("float64", 1, _LEVELS_WITHOUT_JIT)
    compiled = _run(model, case, _STEPS_WITHOUT_JIT)
    with jax.disable_jit():
        plain = _run(model, case, _STEPS_WITHOUT_JIT)
    error = 0.0
    for one, other in zip(jax.tree.leaves(compiled), jax.tree.leaves(plain), strict=True):
        scale = float(jnp.max(jnp.abs(other)))
        error = max(error, float(jnp.max(jnp.abs(one - other))) / (scale or 1.0))
    return Check(_JIT_CHECK, error <= 1e-10, f"relative difference {error:.1e}")


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
    report["options_without_effect"] = options_without_effect()
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
    for lost in report["options_without_effect"]:
        echo(f"note: this version of JAX ignores an option of configure: {lost}")
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
    header = ("k-epsilon, 64 levels", "columns", "steps", "us per column and step", "compile [s]")
    rows = []
    for speed in speeds:
        times = f"{speed['microseconds']:.2f}", f"{speed['compile_seconds']:.1f}"
        rows.append((speed["precision"], str(speed["n_columns"]), str(speed["n_steps"]), *times))
    print_summary(Summary("", "", header, tuple(rows)))
