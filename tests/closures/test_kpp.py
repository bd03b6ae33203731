"""KPP against loops from its equations, published constants, and central differences."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures import kpp_numpy
from tests.closures.columns import closure_inputs, random_grid, surface_waves
from tunax_lite import Grid, closures
from tunax_lite.closures.base import BottomFlow
from tunax_lite.closures.kpp import Friction, first_crossing, smoothed

FORCINGS = {
    "wind": (0.01, 0.0, 0.0),
    "wind and heating": (0.01, 2e-8, 0.0),
    "wind and cooling": (0.01, -5e-8, 0.0),
    "cooling": (0.0, -1e-7, 0.0),
    "cooling under the sun": (0.004, -1e-7, 1.5e-7),
}
"""u* [m s-1], surface buoyancy flux and that of shortwave radiation [m2 s-3]."""


def column_of(forcing: str, grid: Grid):
    """Inputs of a closure on a mixed layer over a thermocline, with shear."""
    speed, flux, sun = FORCINGS[forcing]
    z = grid.z_center
    temperature = 15.0 - 2.0 / (1.0 + jnp.exp((z + 22.0) / 3.0)) + 0.002 * z
    state = closure_inputs(grid, 0.0, 0.0).state
    parts = (0.1 * jnp.exp(z / 8.0), -0.02 * jnp.exp(z / 12.0), temperature)
    state = eqx.tree_at(lambda s: (s.u, s.v, s.temperature), state, parts)
    n_squared = 9.81 * 2e-4 * np.diff(np.asarray(temperature)) / np.asarray(grid.center_spacing)
    options = {"friction_velocity": speed, "buoyancy_flux": flux, "state": state}
    inputs = closure_inputs(grid, n_squared, 1e-4, **options)
    return dataclasses.replace(inputs, radiative_buoyancy_flux=sun * jnp.exp(grid.z_face / 5.0))


def downward(inputs):
    """The column as the loops take it, and the buoyancy gained above a depth."""
    grid, state = inputs.grid, inputs.state
    flip = lambda x: np.asarray(x)[::-1]  # noqa: E731
    n_squared = np.concatenate([[0.0], flip(inputs.buoyancy_frequency_squared), [0.0]])
    column = {"thickness": flip(grid.cell_thickness), "n_squared": n_squared}
    column |= {"buoyancy": 9.81 * 2e-4 * flip(state.temperature), "u": flip(state.u), "v": flip(state.v)}
    light = flip(inputs.radiative_buoyancy_flux)

    def flux_above(depth):
        return float(inputs.surface_buoyancy_flux) + light[0] - np.interp(depth, -flip(grid.z_face), light)

    return column, flux_above


def same(ours, theirs, rtol=2e-6):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * (np.max(np.abs(theirs)) + 1e-30))


STEP = eqx.filter_jit(lambda closure, state, inputs: closure.step(state, inputs, 60.0))


def by_loops(column, depth, flux_at, speed, shape, **options):
    """h, nu, kappa and the non-local fraction in the direction in which `depth` grows."""
    h = kpp_numpy.crossing(kpp_numpy.bulk_richardson(column, speed, flux_at), depth)
    assert 5.0 < h < 35.0
    shear = kpp_numpy.shear_mixing(column["n_squared"][1:-1] / (1e-4 + 1e-14))
    interior = [np.concatenate([[0.0], shear + more, [0.0]]) for more in (1e-4, 1e-5)]
    return h, *kpp_numpy.coefficients(column, h, flux_at(h), speed, shape, interior, **options)


@pytest.mark.parametrize("shape", ["simple", "match_gradient"])
def test_step_against_loops(shape):
    grid, closure = random_grid(3, 24), closures.KPP(shape=shape, match_slope=shape == "match_gradient")
    for forcing, (speed, *_) in FORCINGS.items():
        inputs = column_of(forcing, grid)
        ours = STEP(closure, closure.init(inputs), inputs)
        column, flux_above = downward(inputs)
        depth = -np.asarray(grid.z_center)[::-1]
        h, nu, kappa, fraction = by_loops(column, depth, flux_above, speed, shape)
        # Without wind, weak convection fades.
        rtol = 2e-6 if speed else 1e-3
        same(ours.boundary_layer_depth, h, 2e-6 if speed else 1e-4)
        same(ours.eddy_viscosity[1:-1][::-1], nu, rtol)
        same(ours.eddy_diffusivity[1:-1][::-1], kappa, rtol)
        if shape == "simple":
            same(ours.nonlocal_transport[1:-1][::-1], fraction, max(rtol, 1e-4))


def test_published_constants():
    scales = closures.VelocityScales()
    np.testing.assert_allclose(scales.momentum_convection(), (1.25736, 8.38241), rtol=2e-6)
    np.testing.assert_allclose(scales.scalar_convection(), (-28.86174, 98.95454), rtol=2e-7)
    np.testing.assert_allclose(closures.KPP()._nonlocal_strength(), 6.3274, rtol=1e-5)


def test_derivative_at_neutral_forcing_is_the_mean_of_both_sides():
    scales, friction = closures.VelocityScales(), Friction.of(jnp.asarray(0.01))
    for function, unstable in ((scales.momentum, -4.0), (scales.scalar, -8.0)):
        slope = jax.jit(jax.grad(lambda x, f=function: f(x, friction)))(jnp.asarray(0.0))
        np.testing.assert_allclose(slope, 0.4 * 0.01 * 0.5 * (unstable - 5.0) / 0.01**3, rtol=1e-12)


def test_first_crossing_and_its_derivative():
    depth = jnp.asarray(np.linspace(19.0, 1.0, 10))
    numbers = jnp.asarray([3.0, 0.1, 2.0, 0.9, 0.35, 0.21, 0.1, 0.15, 0.02, 0.0])
    of = jax.jit(lambda ri: first_crossing(ri, jnp.asarray(0.3), depth))
    differences = [(of(numbers + change) - of(numbers - change)) / 2e-6 for change in 1e-6 * np.eye(10)]
    np.testing.assert_allclose(jax.jit(jax.grad(of))(numbers), differences, rtol=1e-6, atol=1e-8)
    # Nothing crosses: the lowest center. The second level crosses: no slope is known above.
    assert of(0.01 * numbers) == 19.0
    second = numbers.at[8].set(0.6)
    found = kpp_numpy.crossing(np.asarray(second)[::-1], np.asarray(depth)[::-1])
    np.testing.assert_allclose(of(second), found, rtol=1e-9)


def test_interior_mixing():
    large = closures.LargeShear().coefficient_at(jnp.asarray([-1.0, 0.0, 0.35, 0.7, 3.0]))
    np.testing.assert_allclose(large, 5e-3 * np.array([1.0, 1.0, 0.75**3, 0.0, 0.0]), rtol=1e-13)
    np.testing.assert_allclose(smoothed(jnp.asarray([4.0, 0.0, 8.0])), [2.0, 3.0, 4.0])


@pytest.mark.long  # against GOTM with Langmuir turbulence: test_gotm_folders
def test_langmuir_factors():
    grid = Grid.uniform(50.0, 50)
    inputs = column_of("wind and cooling", grid)
    profile = 0.06 * jnp.exp(grid.z_center / 5.0)
    angle, h = 0.6, 20.0
    waves = dataclasses.replace(
        inputs,
        waves=surface_waves(grid, drift=(profile * np.cos(angle), profile * np.sin(angle))),
        surface_momentum_flux=(jnp.asarray(1e-4), jnp.asarray(0.0)),
    )
    drift = np.asarray(profile)[::-1]
    difference = drift[:4].mean() - drift[19]
    surface = 1.5 * drift[0] - 0.5 * drift[1]
    cells = np.arctan(np.sin(angle) / (0.01 / surface / 0.4 * np.log(h / 0.08) + np.cos(angle)))
    la = np.sqrt(0.01 / difference)
    of_li = la * np.sqrt(np.cos(cells) / np.cos(angle - cells))
    li = np.cos(cells) * np.sqrt(1.0 + (1.5 * of_li) ** -2 + (5.4 * of_li) ** -4)
    for method in ("LWF16", "LF17"):
        langmuir = closures.Langmuir(method=method, largest_enhancement=10.0)
        effect = langmuir.effect(jnp.asarray(h), jnp.asarray(0.4), waves)
        assert effect is not None
        np.testing.assert_allclose(effect.enhancement, li, rtol=1e-12)
        np.testing.assert_allclose(effect.inverse_la_squared, la**-2.0, rtol=1e-12)
        flux, depth = jnp.asarray([-1e-7]), jnp.asarray([12.0])
        times, cube = langmuir.entrainment(effect, depth, flux, waves)
        if method == "LF17":
            assert cube is not None and times == 1.0
            np.testing.assert_allclose(cube, 1.8e-7 + 1e-6 * (0.17 + 0.083 / la**2), rtol=1e-12)
        else:
            np.testing.assert_allclose(times, li, rtol=1e-12)
            assert cube is None
    # More entrainment, a deeper layer; without waves it makes no difference.
    closure = closures.KPP(langmuir=closures.Langmuir())
    state = dataclasses.replace(closure.init(waves), boundary_layer_depth=jnp.asarray(h))
    plain = STEP(closures.KPP(), state, inputs)
    assert STEP(closure, state, waves).boundary_layer_depth > plain.boundary_layer_depth
    assert eqx.tree_equal(STEP(closure, state, inputs), plain)


@pytest.mark.long  # against GOTM: test_gotm_folders
def test_a_layer_on_the_bottom_is_that_of_the_column_upside_down():
    """The loops, from the bottom up, with buoyancy of the other sign; the surface is left alone."""
    speed, grid = 0.012, random_grid(5, 24)
    inputs = column_of("cooling under the sun", grid)
    z = inputs.grid.z_center + inputs.grid.depth
    parts = 0.1 * jnp.log1p(z), 10.0 + 2.0 / (1.0 + jnp.exp(14.0 - z))
    state = eqx.tree_at(lambda s: (s.u, s.temperature), inputs.state, parts)
    n_squared = np.asarray(9.81 * 2e-4 * jnp.diff(state.temperature) / grid.center_spacing)
    bottom = BottomFlow(jnp.asarray(speed), jnp.asarray(1e-3))
    inputs = dataclasses.replace(
        inputs, state=state, buoyancy_frequency_squared=jnp.asarray(n_squared), bottom=bottom
    )
    own = closures.BottomLayer(shape="match_gradient", match_slope=True)
    closure = closures.KPP(surface_layer=False, bottom_layer=own)
    ours = STEP(closure, closure.init(inputs), inputs)
    column = {"u": np.asarray(state.u), "v": np.asarray(state.v)}
    column |= {"n_squared": np.concatenate([[0.0], n_squared, [0.0]])}
    column |= {"buoyancy": -9.81 * 2e-4 * np.asarray(state.temperature)}
    column |= {"thickness": np.asarray(grid.cell_thickness)}
    light, height = np.asarray(inputs.radiative_buoyancy_flux), np.asarray(grid.z_face - grid.z_face[0])

    def flux_below(above_bottom):
        return light[0] - np.interp(above_bottom, height, light)

    h, nu, kappa, _ = by_loops(column, np.asarray(z), flux_below, speed, "match_gradient", enhanced=False)
    same(ours.bottom_layer_thickness, h)
    assert float(ours.boundary_layer_depth) == 0.0
    same(ours.eddy_viscosity[1:-1], nu)
    same(ours.eddy_diffusivity[1:-1], kappa)
    np.testing.assert_array_equal(ours.nonlocal_transport, 0.0)
