"""Stratification, shear, the Richardson number, and the Coriolis part of the momentum equation."""

import jax.numpy as jnp
import numpy as np

from tests.closures.columns import random_grid
from tunax_lite import Grid, LinearEquationOfState, State, coriolis_parameter
from tunax_lite.numerics import diffuse
from tunax_lite.numerics.diffusion import Sources
from tunax_lite.physics import buoyancy_frequency_squared, shear_squared
from tunax_lite.physics.stratification import rotate, shear_squared_between_cells


def test_linear_profiles_on_an_irregular_grid():
    grid = random_grid(30, 8)
    state = State.from_profiles(
        grid,
        temperature=lambda z: 20.0 + 0.05 * z,
        salinity=lambda z: 35.0 - 0.01 * z,
        u=lambda z: 1e-2 * z,
        v=lambda z: -2e-2 * z,
    )
    eos = LinearEquationOfState(thermal_expansion=2e-4, haline_contraction=8e-4, gravity=10.0)
    n_squared = buoyancy_frequency_squared(state, grid, eos)
    np.testing.assert_allclose(n_squared, 10.0 * (2e-4 * 0.05 + 8e-4 * 0.01), rtol=1e-11)
    np.testing.assert_allclose(shear_squared(state, state, grid), 5e-4, rtol=1e-11)


def test_shear_between_two_cells_of_different_thickness():
    # By hand: thickness 1 and 3 m, centers 2 m apart, u from (0, 1) to (0.2, 0.8) m/s, v twice as fast.
    grid, zeros = Grid(np.array([-5.0, -4.0, -3.0, 0.0])), jnp.zeros(3)
    speeds = jnp.array([0.0, 0.0, 1.0]), jnp.array([0.0, 0.2, 0.8])
    old, new = (State(u, -2.0 * u, zeros, zeros) for u in speeds)
    implicit = 0.5 * (0.6 * 0.8 / 2.0 / 1.0 + 0.6 * 0.8 / 2.0 / 3.0)
    explicit = 0.5 * (1.0 * 0.8 / 2.0 / 1.0 + 1.0 * 0.8 / 2.0 / 3.0)
    for theta, expected in ((1.0, implicit), (0.0, explicit), (0.6, 0.6 * implicit + 0.4 * explicit)):
        found = shear_squared_between_cells(new, old, grid, theta)[1]
        np.testing.assert_allclose(found, 5.0 * expected, rtol=1e-12)


def test_shear_production_is_the_kinetic_energy_lost_on_any_grid(seed=1):
    n, dt, rng = 10, 600.0, np.random.default_rng(seed)
    grid = random_grid(seed, n)
    viscosity = jnp.asarray(10.0 ** rng.uniform(-5.0, -1.0, n - 1))
    u, v = jnp.asarray(rng.normal(size=(2, n)))
    zeros = jnp.zeros(n)
    conductance, still = viscosity / grid.center_spacing, (Sources(), Sources())
    new_u, new_v = diffuse((u, v), conductance, grid.cell_thickness, dt, source=still)
    old = State(u, v, zeros, zeros)
    new = State(new_u, new_v, zeros, zeros)
    taken = dt * np.sum(viscosity * shear_squared(new, old, grid) * grid.center_spacing)
    before, after = (0.5 * np.sum(grid.cell_thickness * (s.u**2 + s.v**2)) for s in (old, new))
    np.testing.assert_allclose(taken, before - after, rtol=1e-12)


def test_speed_is_kept_and_columns_turn_by_their_own_angle():
    rng = np.random.default_rng(40)
    u, v = jnp.asarray(rng.normal(size=(2, 5, 3)))
    f = jnp.array([0.0, 1e-4, -5e-4])
    for dt in (1000.0, 6e4):
        new_u, new_v = rotate(u, v, f, dt)
        np.testing.assert_allclose(new_u**2 + new_v**2, u**2 + v**2, rtol=1e-13)
        np.testing.assert_array_equal(new_u[:, 0], u[:, 0])
        turned = (np.asarray(u) + 1j * np.asarray(v)) * np.exp(-1j * np.asarray(f) * dt)
        np.testing.assert_allclose(new_u, turned.real, atol=1e-13)
        np.testing.assert_allclose(new_v, turned.imag, atol=1e-13)


def test_coriolis_parameter():
    assert coriolis_parameter(0.0) == 0.0
    # Twice the rotation rate of the Earth, 7.2921e-5 s-1.
    np.testing.assert_allclose(coriolis_parameter(90.0), 2 * 7.2921e-5, rtol=1e-5)
    np.testing.assert_allclose(coriolis_parameter(-30.0), -7.2921e-5, rtol=1e-5)
