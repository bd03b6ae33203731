"""The program of a batch with plankton for an NVIDIA GPU, lowered without having one."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import tunax_lite as tl
from tests.numerics.test_gpu_lowering import CUSPARSE, lowered_text
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry


@pytest.mark.long
def test_gpu_program_loops_over_time_only():
    """Light is summed over the levels without a loop over them, and exchanges are solved in each cell."""
    grid = tl.Grid.uniform(50.0, 16)
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.01 * z)
    life = Biogeochemistry({"npzd": NPZD()}, shading=True)
    fluxes = tl.SurfaceFluxes(stress_u=jnp.array([0.1, 0.2]), shortwave_flux=jnp.array([100.0, 200.0]))
    forcing = tl.ConstantForcing(fluxes)
    dark = tl.Case(grid, state, forcing, duration=1200.0)
    lit = dataclasses.replace(dark, terms={"life": life}, initial_state=life.with_pools(state))

    def warmth(of_case, depth):
        changed = eqx.tree_at(lambda case: case.absorption.visible_depth, of_case, depth)
        run = tl.simulate(tl.Model(tl.KEpsilon()), changed, dt=600.0, output_interval=600.0)
        return sum(value[-1].mean() for value in (run.state.temperature, *run.state.tracers.values()))

    depth = jnp.asarray(20.0)
    for of in (lambda function: function, jax.grad):
        bare, alive = (lowered_text(of(functools.partial(warmth, each)), depth) for each in (dark, lit))
        assert alive.count("stablehlo.while") == bare.count("stablehlo.while")
        assert CUSPARSE in alive
