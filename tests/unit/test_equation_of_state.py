"""The linear equation of state."""

import jax
import jax.numpy as jnp
import numpy as np

from tunax_lite import LinearEquationOfState

EOS = LinearEquationOfState(thermal_expansion=1.7e-4, haline_contraction=7.6e-4)


def test_density_at_reference_and_away_from_it():
    zero = jnp.asarray(0.0)
    t0, s0 = EOS.reference_temperature, EOS.reference_salinity
    assert EOS.density(t0, s0, zero) == EOS.reference_density
    np.testing.assert_allclose(
        EOS.density(t0 + 10.0, s0 - 2.0, zero), 1027.0 * (1.0 - 1.7e-3 - 1.52e-3), rtol=1e-14
    )


def test_expansion_is_the_derivative_of_density():
    t, s, z = jnp.asarray(7.0), jnp.asarray(33.0), jnp.asarray(-50.0)
    to_temperature, to_salinity = jax.grad(EOS.density, argnums=(0, 1))(t, s, z)
    alpha, beta = EOS.expansion(t, s, z)
    np.testing.assert_allclose(-to_temperature / EOS.reference_density, alpha, rtol=1e-12)
    np.testing.assert_allclose(to_salinity / EOS.reference_density, beta, rtol=1e-12)
