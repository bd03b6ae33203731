"""`tunax-lite doctor`: versions, devices, precision, cache, and the time of one step."""

import os
import platform
from pathlib import Path

import jax

from ..closures import KEpsilon
from ..column.case import Case
from ..column.forcing import ConstantForcing, SurfaceFluxes
from ..column.grid import Grid
from ..column.integrate import simulate
from ..column.model import Model
from ..column.state import State
from ..runtime import compile_program
from ..runtime.jax_setup import configuration
from ..runtime.machine import n_processors, processor, versions
from .application import Answer
from .terminal import echo

PACKAGES = ("tunax_lite", "jax", "jaxlib", "equinox", "optax", "numpy")
N_LEVELS, N_STEPS, DT = 64, 2880, 60.0
DRIVER = Path("/proc/driver/nvidia/version")


def doctor() -> Answer:
    """See `commands.doctor`."""
    settings, devices = configuration(), jax.local_devices()
    folder = settings.cache_folder
    with jax.enable_x64(True):  # the default of commands
        step = _step()
    report: Answer = {
        "versions": versions(PACKAGES) | {"system": platform.platform()},
        "processor": processor(),
        "processors": n_processors(),
        "devices": [f"{device}: {device.device_kind}" for device in devices],
        "precision": settings.precision,
        "cache": None if folder is None else str(folder),
        "programs": 0 if folder is None else sum(1 for _ in folder.glob("*-cache")),
        "xla_flags": settings.xla_flags,
        "step": step,
        "problems": [],
    }
    wants_cpu = os.environ.get("JAX_PLATFORMS") == "cpu"
    if DRIVER.exists() and not wants_cpu and {device.platform for device in devices} == {"cpu"}:
        report["problems"].append(
            "devices: this machine has an NVIDIA driver, but JAX found no GPU; "
            "install tunax_lite[cuda12] or [cuda13], or set JAX_PLATFORMS=cpu to use the CPU"
        )
    _show(report)
    return report


def _step() -> Answer:
    """Time of a step of k-epsilon on 64 levels [us], and time to trace and compile a run [s]."""
    grid = Grid.uniform(256.0, N_LEVELS)
    case = Case(
        grid=grid,
        initial_state=State.from_profiles(grid, temperature=lambda z: 0.01 * z),
        forcing=ConstantForcing(SurfaceFluxes(stress_u=0.1, heat_flux=-100.0)),
        duration=N_STEPS * DT,
    )

    def run(model: Model, case: Case):
        return simulate(model, case, dt=DT, output_interval=N_STEPS * DT)

    model = Model(KEpsilon())
    program = compile_program(run, model, case)
    seconds = program.fastest_call(model, case, repetitions=3)
    return {
        "microseconds": 1e6 * seconds / N_STEPS,
        "compile_seconds": program.trace_seconds + program.compile_seconds,
    }


def _show(report: Answer) -> None:
    step = report["step"]
    facts = {
        **report["versions"],
        "processors": f"{report['processors']} for this process: {report['processor']}",
        "devices": "; ".join(report["devices"]),
        "precision": f"float64 in commands by default, {report['precision']} in JAX",
        "cache": "off" if report["cache"] is None else f"{report['cache']}, {report['programs']} programs",
        "XLA_FLAGS": report["xla_flags"] or "not set",
        "one step": f"{step['microseconds']:.2f} us (k-epsilon, {N_LEVELS} levels); "
        f"compiled in {step['compile_seconds']:.1f} s",
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        echo(f"{name:{width}}  {value}")
    for problem in report["problems"]:
        echo(f"problem: {problem}")
