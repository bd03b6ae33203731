"""The prognostic variables."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tunax_lite import Grid, State


def test_profiles_from_functions_numbers_and_arrays():
    grid = random_grid(2, 5)
    u = jnp.arange(5.0)
    state = State.from_profiles(
        grid, temperature=lambda z: 20.0 + 0.1 * z, u=u, tracers={"dye": 2.0, "silt": lambda z: -z}
    )
    np.testing.assert_allclose(state.temperature, 20.0 + 0.1 * np.asarray(grid.z_center))
    np.testing.assert_array_equal(state.u, u)
    np.testing.assert_array_equal(state.v, np.zeros(5))
    np.testing.assert_array_equal(state.salinity, np.full(5, 35.0))
    np.testing.assert_array_equal(state.tracers["dye"], np.full(5, 2.0))
    np.testing.assert_array_equal(state.tracers["silt"], -grid.z_center)
    assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {np.dtype(np.float64)}


def test_profile_of_another_length_is_refused():
    with error_naming(ValueError, "temperature 5 (6,)"):
        State.from_profiles(Grid.uniform(10.0, 5), temperature=jnp.ones(6))


def test_broadcast_repeats_the_column():
    state = State.from_profiles(Grid.uniform(10.0, 5), temperature=lambda z: z, tracers={"dye": 1.0})
    assert state.batch_shape == ()
    wide = state.broadcast((2, 3))
    assert wide.batch_shape == (2, 3)
    assert {leaf.shape for leaf in jax.tree.leaves(wide)} == {(5, 2, 3)}
    np.testing.assert_array_equal(wide.temperature[:, 1, 2], state.temperature)


def test_broadcast_keeps_columns_that_differ():
    grid = Grid(np.stack([np.linspace(-d, 0.0, 5) for d in (10.0, 20.0, 30.0)], axis=-1))
    state = State.from_profiles(grid, temperature=lambda z: z)
    assert state.batch_shape == (3,)
    np.testing.assert_array_equal(state.broadcast((3,)).temperature, grid.z_center)
