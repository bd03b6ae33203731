"""Stability functions of first order, and mixing by internal waves, against their formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs
from tunax_lite import Grid
from tunax_lite.closures import (
    BackgroundMixing,
    Brueggemann,
    ConstantStability,
    EiflerSchrimpf,
    KOmega,
    MunkAnderson,
    SchumannGerz,
    WaveShear,
)
from tunax_lite.closures.stability import Flow

RI = np.array([-5.0, -1e-3, 0.0, 0.02, 0.1, 0.25, 0.6, 1.0, 2.0, 50.0])
STABLE = np.maximum(RI, 0.0)
HALF = 0.5 / 0.7143 * RI
LEFT = np.minimum((np.sqrt(HALF**2 + 1.0) - HALF) ** 2, 2.0)  # 1 - R_f
PRANDTL = {
    ConstantStability: np.full(RI.shape, 0.74),
    MunkAnderson: 0.74 * (1.0 + 3.33 * STABLE) ** 1.5 / np.sqrt(1.0 + 10.0 * STABLE),
    SchumannGerz: np.minimum(3.0, 0.74 * np.exp(-STABLE / (0.74 * 0.25)) + STABLE / 0.25),
    Brueggemann: np.clip(6.6 * RI, 1.0, 10.0),
    EiflerSchrimpf: 1.0 / np.clip(np.sqrt(LEFT) / 0.7143, 0.18, 2.0),
}


def test_functions_follow_from_the_prandtl_number():
    for kind, expected in PRANDTL.items():
        check_prandtl_number(kind, expected)


def check_prandtl_number(kind, expected):
    functions = kind().stability_functions()
    s_squared = jnp.full(RI.shape, 1e-4)
    # (S k/eps)² = 1: GOTM adds 1e-8 to it.
    c_mu, c_mu_prime = functions.in_flow(Flow(jnp.full(RI.shape, 1e-4), s_squared * RI, s_squared))
    np.testing.assert_allclose(c_mu, 0.5477**4, rtol=1e-12)
    np.testing.assert_allclose(c_mu / c_mu_prime, expected, rtol=2e-8)
    assert (float(functions.c_mu_0), float(functions.c_mu_shear_free)) == (0.5477, 0.5477)


@pytest.mark.parametrize("kind", [MunkAnderson, SchumannGerz, EiflerSchrimpf])
def test_gradient_and_calm_water(kind):
    functions = kind().stability_functions()

    @jax.jit
    def both(n_squared, s_squared):
        return jnp.stack(functions.in_flow(Flow(jnp.asarray([1e-6]), n_squared[None], s_squared[None])))

    slopes = jax.jit(jax.jacfwd(both, argnums=(0, 1)))
    for n_squared, s_squared in ((3e-5, 1e-4), (-3e-5, 1e-4), (0.0, 0.0), (1e-4, 0.0), (-1e-4, 0.0)):
        arguments = jnp.asarray(n_squared), jnp.asarray(s_squared)
        assert np.all(np.isfinite(both(*arguments)))
        assert all(np.all(np.isfinite(x)) for x in slopes(*arguments))
    found = slopes(jnp.asarray(3e-5), jnp.asarray(1e-4))[0]
    ends = [both(jnp.asarray(3e-5 + s * 1e-9), jnp.asarray(1e-4)) for s in (1.0, -1.0)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-9, rtol=1e-5, atol=1e-12)


def test_buoyancy_coefficient_with_a_constant_prandtl_number():
    # GOTM prints 0.0101 for its case of breaking waves.
    closure = KOmega(stability=ConstantStability())
    np.testing.assert_allclose(closure.c_omega_3_stable, 0.833 + (0.555 - 0.833) / 0.25 * 0.74, rtol=1e-12)
    np.testing.assert_allclose(closure.von_karman, 0.4084, atol=5e-5)


def test_background_mixing_where_turbulence_is_weak():
    tke = jnp.asarray([1e-7, 1e-6, 2e-6, 1e-7, 1e-7, 1e-7])
    s_squared = jnp.asarray([1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 0.0])
    n_squared = jnp.asarray([0.35, 0.35, 0.35, 0.8, -0.2, 0.0]) * 1e-4
    old = jnp.full(6, 3e-3)
    inputs = closure_inputs(Grid.uniform(7.0, 7), n_squared, s_squared)
    viscosity, diffusivity = BackgroundMixing().mix((old, 0.5 * old), tke, inputs)
    # Ri = 0.35 is half the critical number: (1 - 1/4)³.
    shear = 5e-3 * np.array([0.421875, 0.421875, 0.0, 0.0, 1.0, 1.0])
    weak = np.array([True, True, False, True, True, True])
    np.testing.assert_allclose(viscosity, np.where(weak, 1e-4 + shear, 3e-3), rtol=1e-5)
    np.testing.assert_allclose(diffusivity, np.where(weak, 1e-5 + shear, 1.5e-3), rtol=1e-5)


def test_shear_of_internal_waves_produces_turbulence():
    inputs = closure_inputs(Grid.uniform(3.0, 3), 2e-5, 1e-4)
    found = WaveShear(alpha=0.5).producing_shear_squared(inputs)
    np.testing.assert_allclose(found, 1.1e-4, rtol=1e-12)
