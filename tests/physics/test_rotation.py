"""The Coriolis part of the momentum equation."""

import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite import coriolis_parameter
from tunax_lite.physics import rotate


@pytest.mark.parametrize("f", [1e-4, -1e-4])
@pytest.mark.parametrize("dt", [60.0, 6e4])
def test_inertial_oscillation_is_exact(f, dt):
    u, v = jnp.ones(3), jnp.zeros(3)
    for step in range(1, 21):
        u, v = rotate(u, v, f, dt)
        # Round-off of one rotation per step.
        np.testing.assert_allclose(u, np.cos(f * dt * step), atol=1e-13)
        np.testing.assert_allclose(v, -np.sin(f * dt * step), atol=1e-13)


def test_speed_is_kept_and_columns_turn_by_their_own_angle():
    rng = np.random.default_rng(40)
    u, v = jnp.asarray(rng.normal(size=(2, 5, 3)))
    f = jnp.array([0.0, 1e-4, -5e-4])
    new_u, new_v = rotate(u, v, f, 1000.0)
    np.testing.assert_allclose(new_u**2 + new_v**2, u**2 + v**2, rtol=1e-13)
    np.testing.assert_array_equal(new_u[:, 0], u[:, 0])
    turned = (np.asarray(u) + 1j * np.asarray(v)) * np.exp(-1j * np.asarray(f) * 1000.0)
    np.testing.assert_allclose(new_u, turned.real, atol=1e-14)
    np.testing.assert_allclose(new_v, turned.imag, atol=1e-14)


def test_coriolis_parameter():
    assert coriolis_parameter(0.0) == 0.0
    # Twice the rotation rate of the Earth, 7.2921e-5 s-1.
    np.testing.assert_allclose(coriolis_parameter(90.0), 2 * 7.2921e-5, rtol=1e-5)
    np.testing.assert_allclose(coriolis_parameter(-30.0), -7.2921e-5, rtol=1e-5)
