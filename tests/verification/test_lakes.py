"""Columns whose area changes with depth: exact solutions, and budgets to round-off."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import order_of_accuracy
from tunax_lite import (
    Case,
    Constant,
    ConstantForcing,
    Grid,
    KEpsilon,
    Model,
    State,
    SurfaceFluxes,
    simulate,
    stack_cases,
)
from tunax_lite.io import read_trajectory, write_trajectory
from tunax_lite.numerics import column_integral
from tunax_lite.physics import LinearEquationOfState, TwoBandAbsorption
from tunax_lite.terms import BottomFriction, Interior

DEPTH, DIFFUSIVITY = 40.0, 1e-3
NO_FORCING = ConstantForcing(SurfaceFluxes())
MIXED = Model(Constant(DIFFUSIVITY, DIFFUSIVITY), molecular_viscosity=0.0, molecular_diffusivity=0.0)


def cone(n_cells: int, depth: float = DEPTH, **zooms: float) -> Grid:
    """A basin whose area grows with the square of the height r above its lowest point, pi r²."""
    grid = Grid.stretched(depth, n_cells, **zooms)
    return Grid(grid.z_face, np.pi * (np.asarray(grid.z_face) + depth) ** 2)


def lake(n_cells: int = 16, depth: float = 20.0) -> Grid:
    """A basin with a flat floor and a shelf."""
    return Grid.stretched(depth, n_cells, surface_zoom=1.0).with_hypsography(
        [-25.0, -20.0, -12.0, -4.0, 0.0], [0.0, 2e4, 3e5, 8e5, 2e6]
    )


def cell_means(grid: Grid, function, n_points: int = 40) -> np.ndarray:
    """Means over the volume of cells of a cone, by the midpoint rule in many slices."""
    faces = np.asarray(grid.z_face) + DEPTH
    weight = (np.arange(n_points) + 0.5) / n_points
    r = faces[:-1, None] + np.diff(faces)[:, None] * weight
    return np.sum(function(r) * r**2, axis=1) / np.sum(r**2, axis=1)


def test_areas_and_volumes_of_a_cone():
    grid = cone(7, surface_zoom=1.0)
    r = np.asarray(grid.z_face) + DEPTH
    np.testing.assert_allclose(grid.cell_volume, np.diff(r**3) / (3.0 * DEPTH**2), rtol=1e-13)
    np.testing.assert_allclose(grid.mean_depth, DEPTH / 3.0, rtol=1e-13)
    again = Grid(grid.z_face).with_hypsography([-DEPTH, 0.0], [0.0, np.pi * DEPTH**2])
    np.testing.assert_allclose(again.area, grid.area, rtol=1e-13)
    slope = jax.grad(lambda area: jnp.sum(Grid(grid.z_face, area).cell_volume ** 2))(grid.area)
    assert np.all(np.isfinite(slope))


@pytest.mark.parametrize(
    ("z", "area", "message"),
    [
        ([-20.0, 0.0], [1.0], "one area each"),
        ([0.0, -20.0], [2.0, 1.0], "heights that increase"),
        ([-20.0, 0.0], [-1.0, 1.0], "at least 0 m2"),
        ([-15.0, 0.0], [1.0, 2.0], "from -20 m to the surface"),
        ([-20.0, -1.0], [1.0, 2.0], "from -20 m to the surface"),
        ([-20.0, -10.0, 0.0], [1.0, 3.0, 2.0], "do not decrease upward"),
        ([-20.0, -10.0, 0.0], [0.0, 0.0, 2.0], "positive areas"),
    ],
)
def test_bad_hypsographies_are_refused(z, area, message):
    with pytest.raises(ValueError, match=message):
        Grid.uniform(20.0, 8).with_hypsography(z, area)
    with pytest.raises(ValueError, match="every face"):
        Grid([-3.0, -2.0, -1.0, 0.0], [1.0, 2.0])


def test_a_constant_area_is_none():
    """To round-off: the areas are 1, and so are all factors."""
    plain = Grid.stretched(20.0, 12, surface_zoom=1.0)
    case = lake_case(plain)
    ends = [
        simulate(
            Model(KEpsilon()),
            dataclasses.replace(case, grid=grid),
            dt=300.0,
            duration=6000.0,
            output_interval=6000.0,
        )
        for grid in (plain, Grid(plain.z_face, np.full(13, 7e5)))
    ]
    for plain, flat in zip(*(jax.tree.leaves(end.state) for end in ends), strict=True):
        np.testing.assert_allclose(flat[-1], plain[-1], rtol=1e-11, atol=1e-13)


# sin(k r) / r: the slope is zero at the surface where tan(k H) = k H.
WAVENUMBER = 4.493409457909064 / DEPTH
DECAY_TIME = 2e5


def mode(r):
    return np.sin(WAVENUMBER * r) / (WAVENUMBER * r)


def decay_error(n_cells: int, **zooms: float) -> float:
    grid = cone(n_cells, **zooms)
    start = cell_means(grid, mode)
    case = Case(grid, State.from_profiles(grid, temperature=jnp.asarray(start)), NO_FORCING)
    model = dataclasses.replace(MIXED, theta=0.5)
    end = simulate(
        model, case, dt=DECAY_TIME / 400, duration=DECAY_TIME, output_interval=DECAY_TIME
    ).state.temperature[-1]
    error = np.asarray(end) - np.exp(-DIFFUSIVITY * WAVENUMBER**2 * DECAY_TIME) * start
    return float(np.sqrt(column_integral(jnp.asarray(error**2), grid) / grid.mean_depth))


def test_diffusion_in_a_cone_is_that_of_a_sphere_and_of_second_order():
    n_cells = (20, 40, 80)
    errors = [decay_error(n, surface_zoom=1.0) for n in n_cells]
    assert 1.8 < -order_of_accuracy(n_cells, errors) < 2.2
    assert errors[-1] < 2e-4


def test_a_heated_cone_reaches_its_exact_profile():
    """T = F (r² / (2 H K) + 3 t / H): the flux through every area is what the water below it takes."""
    grid, heat = cone(100), 100.0
    eos = LinearEquationOfState()
    flux = heat / (float(eos.reference_density) * float(eos.heat_capacity))
    profile = cell_means(grid, lambda r: flux * r**2 / (2.0 * DEPTH * DIFFUSIVITY))
    forcing = ConstantForcing(SurfaceFluxes(heat_flux=heat))
    case = Case(grid, State.from_profiles(grid, temperature=jnp.asarray(profile)), forcing)
    end = simulate(MIXED, case, dt=3600.0, duration=864e3, output_interval=864e3).state.temperature[-1]
    risen = np.asarray(end) - profile
    # The profile of the cells differs from the exact one by what the lowest, in which r² bends, holds.
    np.testing.assert_allclose(risen, 3.0 * flux * 240 * 3600.0 / DEPTH, rtol=2e-3)


def lake_case(grid: Grid, bottom_absorbs: bool = True, **fluxes) -> Case:
    given = {"stress_u": 0.05, "heat_flux": -120.0, "shortwave_flux": 300.0, "freshwater_flux": 2e-5} | fluxes
    absorption = TwoBandAbsorption(
        infrared_fraction=0.5, infrared_depth=0.5, visible_depth=4.0, bottom_absorbs=bottom_absorbs
    )
    return Case(
        grid,
        State.from_profiles(grid, temperature=lambda z: 14.0 + 0.3 * z, salinity=0.1, u=0.02),
        ConstantForcing(SurfaceFluxes(**given)),
        1e-4,
        absorption=absorption,
        interior=Interior(bottom_friction=BottomFriction()),
    )


def contents(case: Case, state: State, frame: int) -> tuple[float, float]:
    """Heat over its capacity and salt, per area of the surface, summed without rounding."""
    volume = np.asarray(case.grid.cell_volume, dtype=np.longdouble)
    return tuple(
        float(np.sum(volume * np.asarray(values[frame]))) for values in (state.temperature, state.salinity)
    )


@pytest.mark.parametrize("bottom_absorbs", [True, False])
def test_heat_and_salt_of_a_lake_close(bottom_absorbs):
    case, n_steps, dt = lake_case(lake(), bottom_absorbs), 40, 600.0
    run = simulate(Model(KEpsilon()), case, dt=dt, duration=n_steps * dt, output_interval=dt)
    (heat, salt), (heat_after, salt_after) = (contents(case, run.state, frame) for frame in (0, -1))
    grid, eos = case.grid, case.equation_of_state
    reaches = np.asarray(case.absorption.fraction(grid.z_face))
    own = np.asarray(grid.cell_volume / grid.cell_thickness)
    absorbed = 1.0 if bottom_absorbs else float(np.sum(own * np.diff(reaches)))
    gained = dt * n_steps * (-120.0 + 300.0 * absorbed) / float(eos.reference_density * eos.heat_capacity)
    assert abs(heat_after - heat - gained) < 1e-12 * heat
    # Rain dilutes the uppermost cell with its salinity at the start of every step.
    diluted = (
        -dt * 2e-5 / float(eos.reference_density) * float(np.sum(np.asarray(run.state.salinity)[:-1, -1]))
    )
    assert abs(salt_after - salt - diluted) < 1e-13 * salt


def test_the_sides_drag_every_cell():
    """Momentum of a cell falls by the drag on its ring, area of the ring over volume."""
    grid = lake(8)
    state = State.from_profiles(grid, temperature=10.0, u=0.1)
    case = Case(grid, state, NO_FORCING, interior=Interior(bottom_friction=BottomFriction()))
    still = Model(Constant(0.0, 0.0), molecular_viscosity=0.0, molecular_diffusivity=0.0)
    end = simulate(still, case, dt=100.0, duration=100.0, output_interval=100.0).state.u[-1]
    area = np.asarray(grid.area)
    ring = np.diff(area)
    ring[0] = area[1]
    volume = np.asarray(grid.cell_thickness) * (area[1:] + np.sqrt(area[1:] * area[:-1]) + area[:-1]) / 3.0
    drag = np.asarray(BottomFriction().at(jnp.full(8, 0.1), jnp.zeros(8), grid.cell_thickness)[2])
    np.testing.assert_allclose(end, 0.1 / (1.0 + 100.0 * drag * 0.1 * ring / volume), rtol=1e-12)


def warmth(case: Case, visible_depth) -> jax.Array:
    case = eqx.tree_at(lambda c: c.absorption.visible_depth, case, jnp.asarray(visible_depth, dtype=float))
    run = simulate(Model(KEpsilon()), case, dt=900.0, duration=21600.0, output_interval=21600.0)
    return jnp.sum(run.state.temperature[-1] ** 2 * case.grid.cell_volume)


def test_the_temperature_of_a_lake_by_its_extinction():
    case, depth, step = lake_case(lake(12)), 4.0, 1e-3
    loss = jax.jit(lambda by: warmth(case, by))
    reverse = float(jax.jit(jax.grad(lambda by: warmth(case, by)))(depth))
    forward = float(jax.jvp(loss, (depth,), (1.0,))[1])
    central = float(loss(depth + step) - loss(depth - step)) / (2.0 * step)
    assert reverse == pytest.approx(forward, rel=1e-9)
    assert reverse == pytest.approx(central, rel=1e-6)
    assert abs(reverse) > 1e-3


def test_a_batch_of_lakes_equals_its_lakes():
    cases = [lake_case(lake(12)), lake_case(cone(12, 20.0))]
    options = {"dt": 600.0, "duration": 7200.0, "output_interval": 3600.0}
    both = simulate(Model(KEpsilon()), stack_cases(cases), **options)
    for i, case in enumerate(cases):
        alone = simulate(Model(KEpsilon()), case, **options)
        np.testing.assert_allclose(both.state.temperature[..., i], alone.state.temperature, rtol=1e-11)
        np.testing.assert_allclose(both.state.u[..., i], alone.state.u, rtol=1e-7, atol=1e-12)


def test_a_lake_on_another_grid_keeps_its_mean_temperature(tmp_path):
    case = lake_case(lake(12))
    moved = case.on(Grid.uniform(20.0, 30))
    means = [
        float(column_integral(of.initial_state.temperature, of.grid) / of.grid.mean_depth)
        for of in (case, moved)
    ]
    assert means[0] == pytest.approx(means[1], rel=1e-12)
    run = simulate(MIXED, case, dt=600.0, duration=600.0, output_interval=600.0)
    write_trajectory(run, tmp_path / "lake.nc", case=case)
    again = read_trajectory(tmp_path / "lake.nc")
    np.testing.assert_array_equal(again.grid.area, case.grid.area)
