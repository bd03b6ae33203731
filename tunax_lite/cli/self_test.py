"""A k-epsilon column that tests results and speed on this machine."""

import dataclasses
import itertools
import math
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._types import in_precision
from ..closures import KEpsilon
from ..column.case import Case
from ..column.forcing import ConstantForcing, SurfaceFluxes
from ..column.grid import Grid
from ..column.integrate import simulate
from ..column.model import Model
from ..column.state import State
from ..column.trajectory import Trajectory
from ..runtime import Program, compile_program

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
