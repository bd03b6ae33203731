"""The program that `python -m benchmarks --only gpu` measures, lowered for an NVIDIA GPU on any machine."""

import re
from collections import Counter

import equinox as eqx
import jax
import pytest
from jax import export

import tunax_lite as tl
from benchmarks.gpu import Job, computation
from tests.helpers import cooled_case
from tunax_lite.numerics import solve_tridiagonal
from tunax_lite.numerics.tridiagonal import VendorLibrary

CUSPARSE = "cusparse_gtsv2_ffi"


def lowered_text(function, *arguments, platform="cuda"):
    """StableHLO of a function for a platform that need not be there."""
    disabled = [export.DisabledSafetyCheck.custom_call(CUSPARSE)]
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), arguments)
    program = export.export(jax.jit(function), platforms=(platform,), disabled_checks=disabled)(*shapes)
    return re.sub(r" loc\([^()]*(\([^()]*\))?[^()]*\)", "", program.mlir_module())


def text_of_job(kind="forward", precision="float32", n_columns=7, method="VendorLibrary"):
    function, arguments = computation(Job(kind, precision, n_columns, method))
    return lowered_text(function, *arguments)


def targets(text):
    """What a program calls outside of XLA, each with how often it is written."""
    return Counter(re.findall(r"stablehlo\.custom_call @([\w$.]+)", text))


@pytest.mark.long
def test_gpu_program_solves_with_cusparse_and_loops_over_time_only():
    case = cooled_case(duration=1200.0)

    def final_heat(c_eps_1):
        closure = eqx.tree_at(lambda c: c.c_eps_1, tl.KEpsilon(), c_eps_1)
        trajectory = tl.simulate(tl.Model(closure), case, output_interval=600.0)
        return trajectory.state.temperature[-1].mean()

    text = lowered_text(jax.grad(final_heat), tl.KEpsilon().c_eps_1)
    # Frames and steps, forward and backward: four loops. One over levels would launch a kernel per level.
    assert text.count("stablehlo.while") <= 4
    assert CUSPARSE in text
    assert CUSPARSE not in lowered_text(jax.grad(final_heat), tl.KEpsilon().c_eps_1, platform="cpu")


@pytest.mark.parametrize(("precision", "n_columns"), [("float32", 1000), ("float64", 1)])
def test_solve_of_a_batch_is_one_call_without_a_loop(precision, n_columns):
    """JAX's `tridiagonal_solve` once looped over the batch on CUDA: its issue 28544, mended in 28696."""
    column = jax.ShapeDtypeStruct((50, n_columns), precision)

    def solve(lower, diagonal, upper, rhs):
        return solve_tridiagonal(lower, diagonal, upper, rhs, VendorLibrary())

    gradient = jax.grad(lambda *system: (solve(*system) ** 2).sum(), argnums=(0, 1, 2, 3))

    for function, n_solves in ((solve, 1), (gradient, 2)):
        text = lowered_text(function, *4 * [column])
        assert "stablehlo.while" not in text
        assert targets(text) == {CUSPARSE: 1}
        assert text.count("call @swept") == n_solves


def test_library_solves_mapped_columns_in_one_call():
    column = jax.ShapeDtypeStruct((7, 50), "float32")
    solve = jax.vmap(lambda *system: solve_tridiagonal(*system, method=VendorLibrary()))
    text = lowered_text(solve, *4 * [column])
    assert "stablehlo.while" not in text
    assert targets(text) == {CUSPARSE: 1}


@pytest.mark.long
def test_no_host_is_called_back_and_float32_has_no_float64():
    text = text_of_job("gradient")
    # A callback or an outfeed would stop the GPU in every step.
    assert set(targets(text)) == {CUSPARSE}
    assert not re.findall(r"stablehlo\.(?:infeed|outfeed|send|recv)", text)
    # Where float64 is enabled, `jnp.where(x, 0.0, y)` hands over 0.0 as float64: constants, folded away.
    assert not re.findall(r"tensor<[\dx]+xf64>", text)
    handing_over = re.compile(r"stablehlo\.(constant|convert) |call @|func\.func")
    assert not [line for line in text.splitlines() if "f64" in line and not handing_over.search(line)]
    with jax.enable_x64(False):
        assert "f64" not in text_of_job("gradient")
