"""The program for an NVIDIA GPU, lowered without having one: no loop over levels, cuSPARSE solves."""

import equinox as eqx
import jax
import pytest
from jax import export

import tunax_lite as tl

CUSPARSE = "cusparse_gtsv2_ffi"


@pytest.fixture(scope="module")
def case():
    grid = tl.Grid.uniform(50.0, 16)
    return tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.01 * z),
        forcing=tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, stress_v=0.0, heat_flux=-50.0)),
        duration=1200.0,
    )


def lowered_text(case, platform):
    def final_heat(c_eps_1):
        closure = eqx.tree_at(lambda c: c.c_eps_1, tl.KEpsilon(), c_eps_1)
        trajectory = tl.simulate(tl.Model(closure), case, output_interval=600.0)
        return trajectory.state.temperature[-1].mean()

    disabled = [export.DisabledSafetyCheck.custom_call(CUSPARSE)]
    program = export.export(jax.jit(jax.grad(final_heat)), platforms=(platform,), disabled_checks=disabled)
    return program(tl.KEpsilon().c_eps_1).mlir_module()


def test_gpu_program_solves_with_cusparse_and_loops_over_time_only(case):
    text = lowered_text(case, "cuda")
    # Frames and steps, forward and backward: four loops. One over levels would launch a kernel per level.
    assert text.count("stablehlo.while") <= 4
    assert CUSPARSE in text


def test_cpu_program_does_without_cusparse(case):
    assert CUSPARSE not in lowered_text(case, "cpu")
