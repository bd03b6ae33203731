"""CATKE against NumPy written from its equations; what it does to a column is in `tests/verification`."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures import catke_numpy
from tests.closures.columns import closure_inputs, random_grid, stratified, surface_waves
from tunax_lite import Grid, Model, simulate
from tunax_lite.closures import CATKE
from tunax_lite.closures.catke import CATKEState
from tunax_lite.column.terms import BottomFriction, Interior

N = 12
U_STAR, COOLING = 8e-3, 6e-8
START_AND_STEP = eqx.filter_jit(lambda closure, inputs: closure.step(closure.init(inputs), inputs, 60.0))


def faces(inner):
    return jnp.concatenate([jnp.zeros(1), jnp.asarray(inner), jnp.zeros(1)])


def flow_with_everything():
    """Convection over an entraining base over sheared water of small, middle and large Ri, and more."""
    grid = random_grid(5, N)
    n_squared = np.array([1e-5, 4e-5, -2e-7, 0.0, 3e-6, 2e-5, 6e-5, 1e-5, 2e-7, -1e-7, -3e-7])
    shear = np.array([1e-3, 3e-3, 2e-3, 1e-3, 8e-3, 5e-3, 6e-3, 2e-2, 1e-3, 2e-4, 1e-5])
    spacing = np.asarray(grid.center_spacing)
    u = np.concatenate([[0.0], np.cumsum(0.6 * shear * spacing)])
    v = np.concatenate([[0.1], 0.1 - np.cumsum(0.8 * shear * spacing)])
    tke = np.geomspace(1e-5, 3e-4, N)
    tke[1] = 2e-10  # below the least that mixes
    return grid, n_squared, u, v, tke


@pytest.mark.parametrize(("flux", "n_substeps"), [(-3e-8, 1), (2e-8, 3)])
def test_step_term_by_term(flux, n_substeps):
    grid, n_squared, u, v, tke = flow_with_everything()
    nu, kappa = np.linspace(1e-3, 3e-2, N - 1), np.linspace(2e-3, 5e-2, N - 1)
    shear_of_step = np.linspace(1e-6, 5e-5, N - 1)
    buoyancy_flux, dt = (-COOLING if flux > 0.0 else 4e-8), 300.0
    inputs = closure_inputs(
        grid, n_squared, shear_of_step, friction_velocity=U_STAR, buoyancy_flux=buoyancy_flux
    )
    inputs = eqx.tree_at(lambda i: (i.state.u, i.state.v), inputs, (jnp.asarray(u), jnp.asarray(v)))
    old = CATKEState(
        eddy_viscosity=faces(nu),
        eddy_diffusivity=faces(kappa),
        turbulent_kinetic_energy=jnp.asarray(tke),
        mean_destabilising_flux=jnp.asarray(flux),
    )
    new = eqx.filter_jit(CATKE(n_substeps=n_substeps).step)(old, inputs, dt)

    column = catke_numpy.Column(np.asarray(grid.z_face), n_squared, u, v)
    expected = catke_numpy.step(
        column, shear_of_step, nu, kappa, tke, flux, U_STAR, buoyancy_flux, dt, n_substeps
    )
    np.testing.assert_allclose(new.turbulent_kinetic_energy, expected[0], rtol=1e-11)
    np.testing.assert_allclose(new.mean_destabilising_flux, expected[1], rtol=1e-11)
    np.testing.assert_allclose(new.eddy_viscosity, faces(expected[2]), rtol=1e-11)
    np.testing.assert_allclose(new.eddy_diffusivity, faces(expected[3]), rtol=1e-11)
    if flux > 0.0:  # both convective lengths were at work
        shear_only = column.coefficient("c", expected[0], 0.0)
        longer = np.flatnonzero(expected[3] > shear_only)
        assert {1, 8} & set(longer) and {2, 9, 10} & set(longer), longer


@pytest.mark.long
def test_lagrangian_stress():
    """Currents mixed down U + U_S, whose shear produces e, give what Lagrangian velocities give."""
    grid, n_squared, u, v, _ = flow_with_everything()
    u, v = jnp.asarray(u), jnp.asarray(v)
    inputs = closure_inputs(grid, n_squared, 0.0, friction_velocity=U_STAR)
    drift, spacing = 0.1 * jnp.exp(grid.z_center / 10.0), np.diff(np.asarray(grid.z_center))
    of_drift = jnp.diff(drift) / spacing
    waves = surface_waves(grid, drift=(drift, 0.0 * drift), shear=of_drift * jnp.diff(u) / spacing)
    waves = dataclasses.replace(waves, shear_squared=of_drift**2)
    closure = CATKE(lagrangian_stress=True, c_waves=0.1)
    old = dataclasses.replace(closure.init(inputs), eddy_viscosity=faces(np.full(N - 1, 1e-2)))

    @eqx.filter_jit
    def step(u, waves):
        shear_squared = sum((jnp.diff(each) / spacing) ** 2 for each in (u, v))
        given = dataclasses.replace(inputs, waves=waves, shear_squared=shear_squared)
        return closure.step(old, eqx.tree_at(lambda i: (i.state.u, i.state.v), given, (u, v)), 300.0)

    currents, both = step(u, waves), step(u + drift, dataclasses.replace(waves, in_velocity=True))
    for name in ("turbulent_kinetic_energy", "eddy_viscosity", "eddy_diffusivity"):
        np.testing.assert_allclose(getattr(currents, name), getattr(both, name), rtol=1e-10)
    assert eqx.tree_equal(currents.stokes_viscosity, currents.eddy_viscosity)
    assert both.stokes_viscosity is None
    calm = step(u, None)
    assert calm.turbulent_kinetic_energy.sum() < currents.turbulent_kinetic_energy.sum()


@pytest.mark.long
def test_waves_lengthen_stratified_eddies():
    """By 1 + C U_s u* / (u*² + (1 mm/s)²), at most 5; without wind, swell has no effect."""
    grid, drift = Grid.uniform(100.0, 20), jnp.full(20, 0.08)
    factor = 1.0 + 0.1 * 0.08 * 1e-2 / (1e-4 + 1e-6)
    rows = (0.0, 1e-2, 1.0), (0.1, 1e-2, factor), (10.0, 1e-2, 5.0), (10.0, 0.0, 1.0)
    for c_waves, speed, expected in rows:
        waves = surface_waves(grid, drift=(drift, 0.0 * drift))
        inputs = closure_inputs(grid, 1e-4, 0.0, friction_velocity=speed, waves=waves)
        closure = CATKE(c_waves=c_waves, c_w_u_star=0.0)
        mixing = START_AND_STEP(closure, inputs).eddy_diffusivity[1:-1] * 1e-2 / (0.098 * 1e-9)
        np.testing.assert_allclose(mixing, expected, rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("c_b", [0.967])
def test_law_of_the_wall_above_the_bottom(c_b):
    """Flow of one stress: kappa = c_b (c_lo_u³ / c_lo_d)^(1/4) (Wagner et al. 2025, eq. 35, at the bottom).

    0.967, with which it is 0.4, is the number of pull request 6024 of Oceananigans.jl, which found that its
    0.28 has c_lo_u to the power of one.
    """
    grid, four_days = Grid.uniform(40.0, 40), 4 * 86400.0
    friction = {"duration": four_days, "interior": Interior(bottom_friction=BottomFriction())}
    case = stratified(grid, 0.0, friction, stress_u=1027.0 * 1e-4)
    run = simulate(Model(CATKE(c_b=c_b)), case, dt=300.0, output_interval=four_days)
    height = np.asarray(grid.z_center) + 40.0
    wall = (height > 2.0) & (height < 12.0)
    slope = np.polyfit(np.log(height[wall]), np.asarray(run.state.u[-1])[wall], 1)[0]
    np.testing.assert_allclose(1e-2 / slope, c_b * (0.361**3 / 1.604) ** 0.25, rtol=0.06)
