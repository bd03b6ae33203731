"""Restoring of the surface: the implicit step in closed form, the budget, and both derivatives."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jax.typing import ArrayLike

from tunax_lite import Case, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.closures import ConstantDiffusivity
from tunax_lite.column.terms import SurfaceRestoring
from tunax_lite.column.time_series import TimeSeries

THICKNESS = np.array([8.0, 7.0, 6.0, 4.0, 3.0, 2.0])
GRID, DT, W = Grid(jnp.asarray(np.cumsum([-30.0, *THICKNESS]))), 3600.0, 2e-5
TIME = jnp.array([0.0, 86400.0])


def case_of(velocity: ArrayLike = W, target=15.0, **others) -> Case:
    series = TimeSeries(TIME, target + jnp.array([0.0, 2.0]))
    term = SurfaceRestoring(series, temperature_velocity=velocity, **others)
    state = State.from_profiles(GRID, temperature=lambda z: 20.0 + 0.1 * z, salinity=35.0)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.0))
    return Case(GRID, state, forcing, terms={"restoring": term}, duration=86400.0)


def run(case: Case, diffusivity: float = 0.0):
    closure = ConstantDiffusivity(viscosity=1e-4, diffusivity=diffusivity)
    model = Model(closure, molecular_viscosity=0.0, molecular_diffusivity=0.0)
    return simulate(model, case, dt=DT, duration=12 * DT, output_interval=DT)


def test_the_uppermost_cell_alone_follows_its_targets_implicitly():
    fresh = {"salinity": TimeSeries(TIME, jnp.array([33.0, 33.0])), "salinity_velocity": 5e-6}
    found = run(case_of(**fresh)).state
    expected, h = [float(case_of().initial_state.temperature[-1])], 2.0
    for step in range(1, 13):
        target = 15.0 + 2.0 * step * DT / 86400.0
        expected.append((expected[-1] + DT * W / h * target) / (1.0 + DT * W / h))
    np.testing.assert_allclose(found.temperature[:, -1], expected, rtol=1e-12)
    np.testing.assert_array_equal(found.temperature[-1, :-1], found.temperature[0, :-1])
    left = 2.0 * (1.0 + DT * 5e-6 / 2.0) ** -np.arange(13.0)
    np.testing.assert_allclose(found.salinity[:, -1] - 33.0, left, rtol=1e-11)
    np.testing.assert_array_equal(found.salinity[:, :-1], 35.0)


@pytest.mark.long  # the implicit step: above; derivatives of terms: test_interior
def test_batches_and_their_budget():
    both = jnp.array([W, 2.0 * W])
    case = eqx.tree_at(lambda c: c.terms["restoring"].temperature_velocity, case_of(), both)
    batch = run(case, 1e-3).state
    # What the column gains is what the target gives.
    content = np.einsum("tkc,k->tc", batch.temperature, THICKNESS)
    target = 15.0 + 2.0 * np.arange(1, 13)[:, None] * DT / 86400.0
    gained = DT * np.asarray(both) * (target - np.asarray(batch.temperature)[1:, -1])
    np.testing.assert_allclose(np.diff(content, axis=0), gained, atol=1e-11)
    alone = run(case_of(both[1]), 1e-3).state.temperature[-1]
    np.testing.assert_allclose(batch.temperature[-1, :, 1], alone, rtol=1e-13)
