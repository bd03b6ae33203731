"""Temperature of the surface from conservative temperature."""

import gsw
import jax
import jax.numpy as jnp
import numpy as np

from tunax_lite.physics import surface_temperature


def test_agrees_with_the_gibbs_sea_water_library():
    temperature, salinity = np.meshgrid(np.linspace(-2.0, 36.0, 77), np.linspace(0.0, 42.0, 43))
    exact = gsw.t_from_CT(salinity, temperature, 0.0)
    found = np.asarray(surface_temperature(jnp.asarray(temperature), jnp.asarray(salinity)))
    for least, error in ((0.0, 3e-3), (5.0, 1e-4), (28.0, 3e-6)):  # as the docstring says
        np.testing.assert_allclose(found[salinity >= least], exact[salinity >= least], atol=error)


def test_gradient_is_nearly_one_and_that_of_the_library():
    slope = jax.grad(surface_temperature)(jnp.asarray(10.0), jnp.asarray(33.0))
    exact = (gsw.t_from_CT(33.0, 10.01, 0.0) - gsw.t_from_CT(33.0, 9.99, 0.0)) / 0.02
    np.testing.assert_allclose(slope, exact, atol=1e-4)
