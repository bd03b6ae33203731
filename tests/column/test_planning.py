"""What compiling alone says of memory is what a run then takes; the checkpointing that fits is chosen."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from tests.errors import error_naming
from tests.helpers import cooled_case
from tunax_lite import KEpsilon, Model, PacanowskiPhilander, SaveSegments, SaveSteps, simulate
from tunax_lite.column.planning import choose_checkpointing, estimate_memory

ROOT = Path(__file__).parents[2]
CASE = cooled_case(duration=12000.0)
MODEL = Model(PacanowskiPhilander())
N_FRAMES = 21  # of 10 steps, with the start


def frame_bytes(n_columns: int = 1) -> int:
    """u, v, temperature, salinity at 8 centers; two eddy coefficients at 9 faces; in float64."""
    return 8 * (4 * 8 + 2 * 9) * n_columns


@pytest.mark.long
def test_a_run_needs_its_frames():
    one = estimate_memory(MODEL, CASE)
    many = estimate_memory(MODEL, CASE, n_columns=50)
    # Times, steps and the grid come on top.
    assert N_FRAMES * frame_bytes() <= one.outputs <= 1.15 * N_FRAMES * frame_bytes()
    assert N_FRAMES * frame_bytes(50) <= many.outputs <= 1.05 * N_FRAMES * frame_bytes(50)
    assert one.peak == one.arguments + one.outputs + one.temporary + one.code
    assert one.trace_seconds > 0.0 and one.compile_seconds > 0.0
    assert str(one.peak) in str(one)


@pytest.mark.long  # of a run: above
def test_a_jacobian_needs_its_matrix():
    found = estimate_memory(MODEL, CASE, what="jacobian", parameters=["alpha", "exponent"], chunk_size=1)
    n_residuals = N_FRAMES * 3 * 8
    assert found.outputs >= 8 * n_residuals * 3
    assert found.outputs <= 8 * n_residuals * 3 * 1.05


def test_requests_without_meaning_are_refused():
    batch = eqx.tree_at(lambda case: case.coriolis_parameter, CASE, jnp.zeros(3))
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (CASE, {"n_columns": 0}, "n_columns 1 0"),
        (CASE, {"what": "gradient", "parameters": ["alfa"]}, "parameters alpha alfa"),
        (CASE, {"what": "jacobian", "parameters": []}, "parameters none"),
        (CASE, {"duration": 1234.0}, "multiple"),
        (batch, {"n_columns": 4}, "column 4 (3,)"),
    ]
    for case, options, message in wrong:
        with error_naming(ValueError, message):
            estimate_memory(MODEL, case, **options)


def gradient_of(layout):
    def loss(alpha, case):
        model = Model(eqx.tree_at(lambda c: c.alpha, PacanowskiPhilander(), alpha))
        return jnp.mean(simulate(model, case, checkpointing=layout).state.temperature ** 2)

    return jax.grad(loss)


ARGUMENTS = (jnp.asarray(5.0), CASE)


@pytest.mark.long  # layouts by themselves: test_checkpointing
def test_the_fastest_layout_that_fits_is_taken():
    assert choose_checkpointing(gradient_of, ARGUMENTS).checkpointing == SaveSteps()  # of the machine
    rich = choose_checkpointing(gradient_of, ARGUMENTS, 10**9)
    assert rich.checkpointing == SaveSteps()
    needed = rich.program.memory.temporary
    assert f"SaveSteps(): {needed} bytes of {10**9} " in rich.explanation
    assert choose_checkpointing(gradient_of, ARGUMENTS, needed).checkpointing == SaveSteps()
    poor = choose_checkpointing(gradient_of, ARGUMENTS, needed - 1)
    assert poor.checkpointing == SaveSegments()
    assert poor.program.memory.temporary < needed
    assert float(poor.program(*ARGUMENTS)) == pytest.approx(float(rich.program(*ARGUMENTS)), rel=1e-9)


@pytest.mark.long
def test_a_budget_below_everything_says_what_is_needed():
    with error_naming(MemoryError, "SaveSegments 100"):
        choose_checkpointing(gradient_of, ARGUMENTS, 100, candidates=[SaveSegments()])
    with error_naming(ValueError, "candidate"):
        choose_checkpointing(gradient_of, ARGUMENTS, 100, candidates=[])
    with error_naming(ValueError, "memory_budget -1"):
        choose_checkpointing(gradient_of, ARGUMENTS, -1)


MEASURE = """
import sys
from pathlib import Path
import tunax_lite as tl
tl.configure()
import equinox as eqx, jax, jax.numpy as jnp
from tunax_lite.column.planning import estimate_memory
from tunax_lite.runtime import compile_program, used_memory

def peak():
    return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

what, n = sys.argv[1], 256
grid = tl.Grid.uniform(64.0, 64)
case = tl.Case(
    grid,
    tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z),
    tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.2)),
)
model = tl.Model(tl.PacanowskiPhilander())
batch = eqx.tree_at(lambda c: c.initial_state, case, case.initial_state.broadcast((n,)))
options = {"checkpointing": tl.SaveSteps(), "duration": 60.0 * (600 if what == "forward" else 120)}
estimate = estimate_memory(model, case, what=what, n_columns=n, parameters=["alpha"], **options)

def run(model, case):
    return tl.simulate(model, case, **options)

def loss(alpha, model, case):
    state = run(eqx.tree_at(lambda m: m.closure.alpha, model, alpha), case).state
    return (jnp.mean(state.temperature**2) + jnp.mean(state.u**2) + jnp.mean(state.v**2)) / 3.0

if what == "forward":
    function, arguments = run, (model, batch)
else:
    function, arguments = jax.value_and_grad(loss), (model.closure.alpha, model, batch)
program = compile_program(function, *arguments)
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
before = used_memory()
results = jax.block_until_ready(program(*arguments))
print(peak() - before, estimate.peak - estimate.arguments)
"""


@pytest.mark.parametrize(
    "what",
    [pytest.param("forward", marks=pytest.mark.long), pytest.param("gradient", marks=pytest.mark.study)],
)
def test_the_estimate_is_what_the_process_then_takes(what):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("needs Linux, which says how much memory a process had at most")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, what], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    used, estimated = (int(word) for word in done.stdout.split())
    assert estimated > 50e6  # otherwise what the process takes besides would show
    assert abs(used - estimated) < 0.2 * used


@pytest.mark.long
def test_the_estimate_is_what_a_gpu_then_takes():
    if jax.default_backend() == "cpu":
        pytest.skip("needs a GPU")
    model, n = Model(KEpsilon()), 4096
    estimate = estimate_memory(model, CASE, n_columns=n)
    batch = eqx.tree_at(lambda case: case.initial_state, CASE, CASE.initial_state.broadcast((n,)))
    device = jax.devices()[0]
    program = jax.jit(lambda m, c: simulate(m, c)).lower(model, batch).compile()
    before = device.memory_stats()["peak_bytes_in_use"]
    jax.block_until_ready(program(model, batch))
    used = device.memory_stats()["peak_bytes_in_use"] - before
    assert abs(used - (estimate.peak - estimate.arguments)) < 0.2 * used
