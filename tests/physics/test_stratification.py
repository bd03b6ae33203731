"""Stratification, shear and the Richardson number."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tests.helpers import central_difference
from tunax_lite import Grid, LinearEquationOfState, State
from tunax_lite.numerics import Added, diffuse
from tunax_lite.physics import Teos10, buoyancy_frequency_squared, shear_squared, shear_squared_between_cells
from tunax_lite.physics.stratification import richardson_number


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


def test_stratification_is_the_gradient_of_buoyancy():
    grid = random_grid(31, 8)
    rng = np.random.default_rng(31)
    temperature, salinity = jnp.asarray(rng.normal(size=(2, 8)))
    state = State.from_profiles(grid, temperature=temperature, salinity=salinity)
    buoyancy = 9.81 * (2e-4 * np.asarray(temperature) - 7.8e-4 * np.asarray(salinity))
    expected = np.diff(buoyancy) / np.diff(grid.z_center)
    found = buoyancy_frequency_squared(state, grid, LinearEquationOfState())
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", ["temperature", "salinity"])
@pytest.mark.parametrize("cell", [0, 3, 5])
@pytest.mark.long
def test_gradient_of_the_stratification_of_sea_water(name, cell):
    """Also by way of expansion and contraction, which depend on temperature and salinity."""
    grid = random_grid(32, 6)
    state = State.from_profiles(grid, temperature=lambda z: 4.0 + 0.2 * z, salinity=lambda z: 34.0 - 0.05 * z)

    @jax.jit
    def n_squared(value):
        changed = {name: getattr(state, name).at[cell].set(value)}
        return buoyancy_frequency_squared(dataclasses.replace(state, **changed), grid, Teos10())

    value = float(getattr(state, name)[cell])
    slope = jax.jacfwd(n_squared)(value)
    found = central_difference(jax.vmap(n_squared), value, 1.0)
    assert np.all(found.holds(1e-12)) and np.count_nonzero(found.value) == (2 if cell == 3 else 1)
    np.testing.assert_allclose(slope, found.value, rtol=1e-7, atol=1e-12)


def test_shear_between_cells_is_that_of_one_spacing_on_a_uniform_grid():
    rng = np.random.default_rng(33)
    zeros = jnp.zeros(6)
    normal = lambda: jnp.asarray(rng.normal(size=6))  # noqa: E731
    old, new = (State(normal(), normal(), zeros, zeros) for _ in range(2))
    uniform = Grid.uniform(12.0, 6)  # cells of 2 m
    expected = sum(
        np.diff(getattr(new, name)) * 0.5 * np.diff(getattr(new, name) + getattr(old, name)) / 4.0
        for name in ("u", "v")
    )
    for found in (shear_squared_between_cells(new, old, uniform, 1.0), shear_squared(new, old, uniform)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_shear_between_two_cells_of_different_thickness():
    # By hand: thickness 1 and 3 m, centers 2 m apart, u from (0, 1) to (0.2, 0.8) m/s.
    grid, zeros = Grid(np.array([-5.0, -4.0, -3.0, 0.0])), jnp.zeros(3)
    old, new = (State(jnp.asarray(u), zeros, zeros, zeros) for u in ([0.0, 0.0, 1.0], [0.0, 0.2, 0.8]))
    implicit = 0.5 * (0.6 * 0.8 / 2.0 / 1.0 + 0.6 * 0.8 / 2.0 / 3.0)
    explicit = 0.5 * (1.0 * 0.8 / 2.0 / 1.0 + 1.0 * 0.8 / 2.0 / 3.0)
    for theta, expected in ((1.0, implicit), (0.0, explicit), (0.6, 0.6 * implicit + 0.4 * explicit)):
        found = shear_squared_between_cells(new, old, grid, theta)[1]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_shear_production_is_the_kinetic_energy_lost_on_any_grid(seed=1):
    n, dt = 10, 600.0
    grid = random_grid(seed, n)
    rng = np.random.default_rng(seed)
    viscosity = jnp.asarray(10.0 ** rng.uniform(-5.0, -1.0, n - 1))
    u, v = jnp.asarray(rng.normal(size=(2, n)))
    zeros = jnp.zeros(n)
    new_u, new_v = diffuse(
        (u, v), viscosity / grid.center_spacing, grid.cell_thickness, dt, source=(Added(), Added())
    )
    old = State(u, v, zeros, zeros)
    new = State(new_u, new_v, zeros, zeros)
    taken = dt * np.sum(viscosity * shear_squared(new, old, grid) * grid.center_spacing)
    before, after = (0.5 * np.sum(grid.cell_thickness * (s.u**2 + s.v**2)) for s in (old, new))
    np.testing.assert_allclose(taken, before - after, rtol=1e-12)


def test_richardson_number_and_its_floor():
    n_squared, s_squared = jnp.array([1e-4, -1e-4, 1e-4]), jnp.array([4e-4, 4e-4, 0.0])
    ri = richardson_number(n_squared, s_squared, shear_squared_floor=1e-6)
    np.testing.assert_allclose(ri, [0.25, -0.25, 100.0], rtol=1e-14)
    slope = jax.grad(lambda s: jnp.sum(richardson_number(n_squared, s, shear_squared_floor=1e-6)))(s_squared)
    np.testing.assert_allclose(slope, [-625.0, 625.0, 0.0], rtol=1e-12)
