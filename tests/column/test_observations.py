"""Profiles to compare with."""

import jax.numpy as jnp
import numpy as np

from tests.errors import error_naming
from tunax_lite import Observations

TIME = jnp.array([0.0, 600.0, 1200.0])
Z = jnp.array([-30.0, -10.0])


def test_gaps_are_kept():
    profile = jnp.ones((3, 2)).at[1, 0].set(jnp.nan)
    observations = Observations(TIME, Z, {"temperature": profile})
    assert np.isnan(observations.profiles["temperature"][1, 0])
    assert observations.uncertainty == {}


def test_misordered_axes_are_refused():
    for time, z, message in (
        (jnp.array([0.0, 600.0, 600.0]), Z, "times"),
        (jnp.array([0.0, jnp.nan, 1200.0]), Z, "times"),
        (TIME, Z[::-1], "heights"),
        (TIME, jnp.array([-jnp.inf, -1.0]), "heights"),
    ):
        with error_naming(ValueError, f"mooring {message}"):
            Observations(time, z, {"temperature": jnp.ones((3, 2))}, name="mooring")
    with error_naming(ValueError, "times"):
        Observations(jnp.zeros(0), Z, {"temperature": jnp.ones((0, 2))})
