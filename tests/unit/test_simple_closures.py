"""Formulas of the closures that follow from the stratification and shear at hand."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.unit.columns import closure_inputs
from tunax_lite import Constant, ConvectiveAdjustment, Grid, PacanowskiPhilander

GRID = Grid.uniform(10.0, 5)
N_SQUARED = jnp.array([1e-4, 0.0, -1e-6, 4e-4])
S_SQUARED = jnp.array([2e-4, 1e-4, 1e-4, 0.0])
INPUTS = closure_inputs(GRID, N_SQUARED, S_SQUARED)


def of_step(closure):
    """Coefficients on inner faces; those at both ends must be zero."""
    state = closure.step(closure.init(INPUTS), INPUTS, 60.0)
    for values in (state.eddy_viscosity, state.eddy_diffusivity):
        assert values.shape == (6,)
        assert values[0] == 0.0 and values[-1] == 0.0
    assert state.nonlocal_transport is None
    return np.asarray(state.eddy_viscosity[1:-1]), np.asarray(state.eddy_diffusivity[1:-1])


@pytest.mark.parametrize("closure", [Constant(), ConvectiveAdjustment(), PacanowskiPhilander()])
def test_nothing_to_prepare_and_no_memory(closure):
    assert closure.prepare() is closure
    first = closure.init(INPUTS)
    for state in (first, eqx.tree_at(lambda s: s.eddy_viscosity, first, 1e3 * jnp.ones(6))):
        assert eqx.tree_equal(closure.step(state, INPUTS, 60.0), first)


def test_constant():
    viscosity, diffusivity = of_step(Constant(viscosity=2e-3, diffusivity=5e-4))
    np.testing.assert_array_equal(viscosity, 2e-3)
    np.testing.assert_array_equal(diffusivity, 5e-4)


def test_convective_adjustment_mixes_where_unstable_only():
    closure = ConvectiveAdjustment(
        convective_diffusivity=0.7,
        convective_viscosity=0.6,
        background_diffusivity=2e-5,
        background_viscosity=3e-4,
    )
    viscosity, diffusivity = of_step(closure)
    np.testing.assert_array_equal(viscosity, [3e-4, 3e-4, 0.6, 3e-4])
    np.testing.assert_array_equal(diffusivity, [2e-5, 2e-5, 0.7, 2e-5])


def test_pacanowski_philander():
    closure = PacanowskiPhilander(
        viscosity_scale=5e-3,
        alpha=4.0,
        exponent=3.0,
        background_viscosity=2e-4,
        background_diffusivity=3e-5,
        convective_coefficient=0.5,
        shear_squared_floor=1e-5,
    )
    viscosity, diffusivity = of_step(closure)
    # Ri = 0.5, 0, convective, and 40 with the floor of the shear.
    expected = [5e-3 / 27.0 + 2e-4, 5.2e-3, 0.5, 5e-3 / 161.0**3 + 2e-4]
    np.testing.assert_allclose(viscosity, expected, rtol=1e-13)
    expected = [expected[0] / 3.0 + 3e-5, 5.23e-3, 0.5, expected[3] / 161.0 + 3e-5]
    np.testing.assert_allclose(diffusivity, expected, rtol=1e-13)
