"""Formulas of the closures that follow from the stratification and shear at hand."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs
from tunax_lite import ConstantDiffusivity, ConvectiveAdjustment, Grid, PacanowskiPhilander
from tunax_lite.closures import MunkAndersonMixing, RiBased

GRID = Grid.uniform(10.0, 5)
N_SQUARED = jnp.array([1e-4, 0.0, -1e-6, 4e-4])
S_SQUARED = jnp.array([2e-4, 1e-4, 1e-4, 0.0])
INPUTS = closure_inputs(GRID, N_SQUARED, S_SQUARED)


CONVECTIVE = {"convective_diffusivity": 0.7, "convective_viscosity": 0.6}
CONVECTIVE |= {"background_diffusivity": 2e-5, "background_viscosity": 3e-4}
SHEAR_MIXING = {"viscosity_scale": 5e-3, "background_viscosity": 2e-4, "background_diffusivity": 3e-5}
SHEAR_MIXING |= {"convective_coefficient": 0.5, "shear_squared_floor": 1e-5}
SLOPES = {"diffusivity_scale": 4e-3, "viscosity_slope": 6.0, "diffusivity_slope": 2.0}
# Viscosities and diffusivities at Ri = 0.5, 0, convective, and 40 with the floor of the shear.
PACANOWSKI = [5e-3 / 27.0 + 2e-4, 5.2e-3, 0.5, 5e-3 / 161.0**3 + 2e-4]
OF_SCALARS = [PACANOWSKI[0] / 3.0 + 3e-5, 5.23e-3, 0.5, PACANOWSKI[3] / 161.0 + 3e-5]
MUNK_ANDERSON = [5e-3 / 2.0 + 2e-4, 5.2e-3, 0.5, 5e-3 / np.sqrt(241.0) + 2e-4]
SCALARS_OF_MUNK_ANDERSON = [4e-3 / 2.0**1.5 + 3e-5, 4.03e-3, 0.5, 4e-3 / 81.0**1.5 + 3e-5]
WITHOUT_MEMORY = [
    (ConstantDiffusivity(viscosity=2e-3, diffusivity=5e-4), [2e-3] * 4, [5e-4] * 4),
    (ConvectiveAdjustment(**CONVECTIVE), [3e-4, 3e-4, 0.6, 3e-4], [2e-5, 2e-5, 0.7, 2e-5]),
    (PacanowskiPhilander(**SHEAR_MIXING, alpha=4.0, exponent=3.0), PACANOWSKI, OF_SCALARS),
    (MunkAndersonMixing(**SHEAR_MIXING, **SLOPES), MUNK_ANDERSON, SCALARS_OF_MUNK_ANDERSON),
]


@pytest.mark.parametrize(("closure", "viscosity", "diffusivity"), WITHOUT_MEMORY)
def test_coefficients_without_memory(closure, viscosity, diffusivity):
    assert closure.prepare() is closure
    first = closure.init(INPUTS)
    for before in (first, eqx.tree_at(lambda s: s.eddy_viscosity, first, 1e3 * jnp.ones(6))):
        state = closure.step(before, INPUTS, 60.0)
        np.testing.assert_allclose(state.eddy_viscosity, [0.0, *viscosity, 0.0], rtol=1e-13)
        np.testing.assert_allclose(state.eddy_diffusivity, [0.0, *diffusivity, 0.0], rtol=1e-13)
    assert first.terms(INPUTS.state) == ()


def test_ri_based():
    # At Ri = 0.5, 0.2, 0 and 40, for Ri_0 = 0.1 and Ri_d = 0.4.
    fading = (1.0 - np.tanh(np.array([1.0, 0.25, -0.25, 99.75]))) / 2.0
    n_squared, flux = np.array([1e-4, 2e-5, -1e-6, 4e-3]), 5e-8
    inputs = closure_inputs(GRID, n_squared, jnp.array([2e-4, 1e-4, 1e-4, 1e-4]), buoyancy_flux=-flux)
    closure = RiBased()
    first = closure.step(closure.init(inputs), inputs, 60.0)
    viscosity = 0.7 * fading / 1.6
    diffusivity = (0.5 * fading + [0.0, 0.1 * flux / 2e-5, 1.7, 0.0]) / 1.6
    np.testing.assert_allclose(first.eddy_viscosity[1:-1], viscosity, rtol=1e-13, atol=1e-30)
    np.testing.assert_allclose(first.eddy_diffusivity[1:-1], diffusivity, rtol=1e-13, atol=1e-30)
    second = closure.step(first, inputs, 60.0)
    np.testing.assert_allclose(second.eddy_diffusivity[1:-1], diffusivity * 2.2 / 1.6, rtol=1e-13, atol=1e-30)
    warmed = closure_inputs(GRID, n_squared, 1e-4, buoyancy_flux=flux)
    below = closure.step(closure.init(warmed), warmed, 60.0).eddy_diffusivity[2]
    np.testing.assert_allclose(below, 0.5 * fading[1] / 1.6, rtol=1e-13)  # nothing entrains
