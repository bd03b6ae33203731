"""Columns whose area changes with depth: exact solutions, and budgets to round-off."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import Differentiated, order_of_accuracy, some_long
from tunax_lite import (
    Case,
    ConstantDiffusivity,
    ConstantForcing,
    Grid,
    KEpsilon,
    Model,
    State,
    SurfaceFluxes,
    simulate,
)
from tunax_lite.closures import CATKE, EPBL, KPP, KrausTurner, MassFluxConvection
from tunax_lite.closures.k_equation import advance
from tunax_lite.closures.walls import EndCondition
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.column.terms import BottomFriction, Interior, Stream, Streams, StreamWater
from tunax_lite.column.terms.streams import StreamPlace
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.numerics.elementary import column_integral
from tunax_lite.physics import LinearEquationOfState, TwoBandAbsorption

DEPTH, DIFFUSIVITY = 40.0, 1e-3
NO_FORCING = ConstantForcing(SurfaceFluxes())
MIXED = Model(
    ConstantDiffusivity(DIFFUSIVITY, DIFFUSIVITY), molecular_viscosity=0.0, molecular_diffusivity=0.0
)
STILL = dataclasses.replace(MIXED, closure=ConstantDiffusivity(0.0, 0.0))


def cone(n_cells: int, depth: float = DEPTH, **zooms: float) -> Grid:
    """A basin whose area grows with the square of the height r above its lowest point, pi r²."""
    grid = Grid.stretched(depth, n_cells, **zooms)
    return Grid(grid.z_face, np.pi * (np.asarray(grid.z_face) + depth) ** 2)


def lake(n_cells: int = 16, depth: float = 20.0) -> Grid:
    """A basin with a flat floor and a shelf."""
    return Grid.stretched(depth, n_cells, surface_zoom=1.0).with_hypsography(
        [-25.0, -20.0, -12.0, -4.0, 0.0], [0.0, 2e4, 3e5, 8e5, 2e6]
    )


def ended(model: Model, case: Case, dt: float, n_steps: int) -> State:
    run = simulate(model, case, dt=dt, duration=n_steps * dt, output_interval=n_steps * dt)
    return frame(run.state, -1)


def areas_of(grid: Grid) -> np.ndarray:
    assert grid.area is not None
    return np.asarray(grid.area)


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
    np.testing.assert_allclose(areas_of(again), areas_of(grid), rtol=1e-13)
    slope = jax.grad(lambda area: jnp.sum(Grid(grid.z_face, area).cell_volume ** 2))(areas_of(grid))
    assert np.all(np.isfinite(slope))


def test_bad_hypsographies_are_refused():
    for z, area, message in (
        ([-20.0, 0.0], [1.0], "area"),
        ([0.0, -20.0], [2.0, 1.0], "heights"),
        ([-20.0, 0.0], [-1.0, 1.0], "m2 0"),
        ([-15.0, 0.0], [1.0, 2.0], "-20 surface"),
        ([-20.0, -10.0, 0.0], [1.0, 3.0, 2.0], "decrease"),
        ([-20.0, -10.0, 0.0], [0.0, 0.0, 2.0], "areas"),
    ):
        with error_naming(ValueError, message):
            Grid.uniform(20.0, 8).with_hypsography(z, area)
    with error_naming(ValueError, "face"):
        Grid([-3.0, -2.0, -1.0, 0.0], [1.0, 2.0])


# sin(k r) / r: the slope is zero at the surface where tan(k H) = k H.
WAVENUMBER = 4.493409457909064 / DEPTH
DECAY_TIME = 2e5


def mode(r):
    return np.sin(WAVENUMBER * r) / (WAVENUMBER * r)


def decay_error(n_cells: int, **zooms: float) -> float:
    grid = cone(n_cells, **zooms)
    start = cell_means(grid, mode)
    case = Case(grid, State.from_profiles(grid, temperature=jnp.asarray(start)), NO_FORCING)
    end = ended(dataclasses.replace(MIXED, theta=0.5), case, DECAY_TIME / 400, 400)
    error = np.asarray(end.temperature) - np.exp(-DIFFUSIVITY * WAVENUMBER**2 * DECAY_TIME) * start
    return float(np.sqrt(column_integral(jnp.asarray(error**2), grid) / grid.mean_depth))


@pytest.mark.long  # budgets: below
def test_diffusion_in_a_cone_is_that_of_a_sphere_and_of_second_order():
    n_cells = (20, 40, 80)
    errors = [decay_error(n, surface_zoom=1.0) for n in n_cells]
    assert 1.8 < -order_of_accuracy(n_cells, errors) < 2.2
    assert errors[-1] < 2e-4


def test_a_heated_cone_reaches_its_exact_profile():
    """T = F (r² / (2 H K) + 3 t / H): the flux through every area is what the water below it takes."""
    grid, heat, eos = cone(100), 100.0, LinearEquationOfState()
    flux = heat / float(eos.reference_density * eos.heat_capacity)
    profile = cell_means(grid, lambda r: flux * r**2 / (2.0 * DEPTH * DIFFUSIVITY))
    forcing = ConstantForcing(SurfaceFluxes(heat_flux=heat))
    case = Case(grid, State.from_profiles(grid, temperature=jnp.asarray(profile)), forcing)
    risen = np.asarray(ended(MIXED, case, 3600.0, 240).temperature) - profile
    # The profile of the cells differs from the exact one by what the lowest, in which r² bends, holds.
    np.testing.assert_allclose(risen, 3.0 * flux * 240 * 3600.0 / DEPTH, rtol=2e-3)


def lake_case(grid: Grid, bottom_absorbs: bool = True, **fluxes) -> Case:
    given = {"stress_u": 0.05, "heat_flux": -120.0, "shortwave_flux": 300.0, "freshwater_flux": 2e-5} | fluxes
    state = State.from_profiles(grid, temperature=lambda z: 14.0 + 0.3 * z, salinity=0.1, u=0.02)
    bands = TwoBandAbsorption(0.5, 0.5, 4.0, bottom_absorbs=bottom_absorbs)
    rough = Interior(bottom_friction=BottomFriction())
    return Case(grid, state, ConstantForcing(SurfaceFluxes(**given)), 1e-4, absorption=bands, interior=rough)


def contents(case: Case, state: State, frame: int) -> tuple[float, float]:
    """Heat over its capacity and salt, per area of the surface, summed without rounding."""
    volume = np.asarray(case.grid.cell_volume, dtype=np.longdouble)
    both = np.asarray(state.temperature[frame]), np.asarray(state.salinity[frame])
    return float(np.sum(volume * both[0])), float(np.sum(volume * both[1]))


ALL = KEpsilon(), KPP(), CATKE(), EPBL(), KrausTurner(), MassFluxConvection()
CLOSURES = {type(closure).__name__: closure for closure in ALL}


@pytest.mark.parametrize("name", some_long(CLOSURES, "KEpsilon".__ne__))
def test_heat_and_salt_of_a_lake_close(name):
    case, n_steps, dt = lake_case(lake(), bottom_absorbs=name != "KEpsilon"), 40, 600.0
    run = simulate(Model(CLOSURES[name]), case, dt=dt, duration=n_steps * dt, output_interval=dt)
    (heat, salt), (heat_after, salt_after) = (contents(case, run.state, frame) for frame in (0, -1))
    grid, eos = case.grid, case.equation_of_state
    reaches = np.asarray(case.absorption.fraction(grid.z_face))
    own = np.asarray(grid.cell_volume / grid.cell_thickness)
    absorbed = 1.0 if case.absorption.bottom_absorbs else float(np.sum(own * np.diff(reaches)))
    gained = dt * n_steps * (-120.0 + 300.0 * absorbed) / float(eos.reference_density * eos.heat_capacity)
    assert abs(heat_after - heat - gained) < 1e-13 * heat
    # Rain dilutes the uppermost cell with its salinity at the start of every step.
    diluted = -dt * 2e-5 / float(eos.reference_density) * float(jnp.sum(run.state.salinity[:-1, -1]))
    assert abs(salt_after - salt - diluted) < 1e-13 * salt


def test_light_on_the_sides_heats_the_cells_beside_them():
    """In a cone of height H a cell gains A_up I_up - A_down I_down, with A = r² / H²."""
    case = lake_case(cone(16), stress_u=0.0, heat_flux=0.0, freshwater_flux=0.0)
    case = dataclasses.replace(case, interior=Interior())
    warmed = np.asarray(ended(STILL, case, 600.0, 1).temperature - case.initial_state.temperature)
    z, eos = np.asarray(case.grid.z_face), case.equation_of_state
    r, light = z + DEPTH, 0.5 * np.exp(z / 0.5) + 0.5 * np.exp(z / 4.0)
    warmth = 300.0 * 600.0 / float(eos.reference_density * eos.heat_capacity)
    np.testing.assert_allclose(warmed, warmth * np.diff(r**2 * light) / (np.diff(r**3) / 3.0), rtol=1e-9)


def test_the_sides_drag_every_cell():
    """Momentum of a cell falls by the drag on its ring, area of the ring over volume."""
    grid = lake(8)
    state = State.from_profiles(grid, temperature=10.0, u=0.1)
    case = Case(grid, state, NO_FORCING, interior=Interior(bottom_friction=BottomFriction()))
    end = ended(STILL, case, 100.0, 1).u
    area = areas_of(grid)
    ring = np.diff(area)
    ring[0] = area[1]
    volume = np.asarray(grid.cell_thickness) * (area[1:] + np.sqrt(area[1:] * area[:-1]) + area[:-1]) / 3.0
    drag = np.asarray(BottomFriction().at(jnp.full(8, 0.1), jnp.zeros(8), grid.cell_thickness)[2])
    np.testing.assert_allclose(end, 0.1 / (1.0 + 100.0 * drag * 0.1 * ring / volume), rtol=1e-12)


def test_turbulence_spreads_through_the_areas():
    grid, model = lake(8), Model(KEpsilon())
    case = lake_case(grid)
    clo_state, state = model.init(case), case.initial_state
    inputs, _ = model.inputs_of_closure(state, clo_state, state, case, 0.0, 600.0)
    k, conductance = jnp.linspace(1e-6, 1e-4, 7), jnp.linspace(1e-3, 3e-3, 6)
    ends = EndCondition(), EndCondition(flux=jnp.asarray(2e-8))
    new = advance(k, conductance, 0.0 * k, 0.0 * k, ends, inputs, 600.0)
    area, thickness = areas_of(grid) / areas_of(grid)[-1], np.asarray(grid.cell_thickness)
    own = (area[1:] + np.sqrt(area[1:] * area[:-1]) + area[:-1]) / 3.0
    volumes = 0.5 * (thickness[1:] + thickness[:-1]) * area[1:-1]
    matrix, through = np.diag(volumes), 600.0 * own[1:-1] * np.asarray(conductance)
    for i, flux in enumerate(through):
        matrix[i : i + 2, i : i + 2] += flux * np.array([[1.0, -1.0], [-1.0, 1.0]])
    content = volumes * np.asarray(k)
    content[-1] += 600.0 * own[-1] * 2e-8
    np.testing.assert_allclose(new, np.linalg.solve(matrix, content), rtol=1e-12)
    np.testing.assert_allclose(np.sum(volumes * np.asarray(new)), np.sum(content), rtol=1e-13)
    # GOTM's turbulence ignores areas.
    as_gotm = dataclasses.replace(model, discretisation=GotmDiscretisation())
    gotm, _ = as_gotm.inputs_of_closure(state, clo_state, state, case, 0.0, 600.0)
    assert inputs.grid.area is not None and gotm.grid.area is None


def river(
    discharge, place: str, temperature: float | None = 6.0, salinity=0.3, tracers=None, **options
) -> Stream:
    water = StreamWater(discharge, temperature, salinity, tracers or {})
    return Stream(TimeSeries.constant(water, "river"), StreamPlace(place), **options)


def fed_case(grid: Grid, **streams: Stream) -> Case:
    case = lake_case(grid, shortwave_flux=0.0, heat_flux=0.0, freshwater_flux=0.0)
    return eqx.tree_at(lambda c: c.interior, case, Interior(streams=Streams(streams)))


def frame(tree, at: int):
    return jax.tree.map(lambda values: values[at], tree)


def flows(streams: dict[str, Stream], case: Case, before: State, dt: float):
    """Yield the water of each stream, and its flow into every cell [m3 s-1]."""
    column, _, _ = MIXED._before_transport(before, MIXED.init(case), case, 0.0, dt)
    for stream in streams.values():
        water = jax.tree.map(lambda values: float(values[0]), stream.series.values)
        yield water, water.discharge * np.asarray(stream.shares(column, water))


STREAMS = {
    "too much: at the surface, more than its cell holds at the bottom, and at its level": {
        "a": river(3.0, "surface"),
        "b": river(20.0, "bottom"),
        "c": river(5.0, "interleaving", temperature=11.0),
        "d": river(-1.0, "range", lower=-30.0, upper=-25.0),
    },
    "too little: in between heights, as warm as the lake, and out at the bottom": {
        "a": river(5.0, "range", lower=-9.3, upper=-4.1),
        "b": river(2.0, "surface", temperature=None),
        "c": river(-8.0, "bottom"),
    },
}


@pytest.mark.parametrize("streams", STREAMS.values(), ids=STREAMS)
@pytest.mark.long
def test_water_heat_and_salt_of_streams_close(streams):
    case, dt = fed_case(lake(), **streams), 1800.0
    state = simulate(Model(KEpsilon()), case, dt=dt, duration=20 * dt, output_interval=dt).state
    gained = np.zeros(2)
    for step in range(20):
        before, after = frame(state, step), frame(state, step + 1)
        net = 0.0
        for water, flow in flows(streams, case, before, dt):
            assert np.sum(flow) == pytest.approx(water.discharge, rel=1e-14)
            net += water.discharge
            warmth = before.temperature if water.temperature is None else water.temperature
            own = (warmth, water.salinity) if water.discharge > 0.0 else (after.temperature, after.salinity)
            gained += [np.sum(flow * value) for value in own]
        top = after if net > 0.0 else before
        gained -= [net * top.temperature[-1], net * top.salinity[-1]]
    before, after = np.array(contents(case, state, 0)), np.array(contents(case, state, -1))
    assert np.all(np.abs(after - before - dt * gained / areas_of(case.grid)[-1]) < 1e-13 * before[0])
    # No cell is warmer or colder than what it is made of.
    assert state.temperature.max() <= state.temperature[0].max() + 1e-12
    assert state.temperature.min() >= min(6.0, state.temperature[0].min()) - 1e-12


@pytest.mark.long
def test_a_filling_basin_pushes_its_profile_up():
    """Water that enters at the bottom lifts what lies above: the volume below a temperature grows by Q t."""
    grid = cone(400)
    case = fed_case(grid, a=river(2.0, "bottom", 4.0))
    start = State.from_profiles(grid, temperature=lambda z: 4.0 + 10.0 * (z + DEPTH) / DEPTH)
    end = ended(STILL, dataclasses.replace(case, initial_state=start), 300.0, 288)
    below = np.concatenate([[0.0], np.cumsum(grid.cell_volume)]) * float(areas_of(grid)[-1])
    centers = 0.5 * (below[1:] + below[:-1])
    expected = np.interp(centers - 2.0 * 86400.0, centers, start.temperature, left=4.0)
    # The front between the new water and the old is smeared; above it the profile is linear enough.
    np.testing.assert_allclose(end.temperature[200:], expected[200:], atol=0.01)


def test_streams_find_their_level():
    grid = lake()
    for temperature, cell in ((20.0, -1), (1.0, 0)):
        stream = river(1.0, "interleaving", temperature, 0.1)
        case = fed_case(grid, a=stream)
        ((_, flow),) = flows({"a": stream}, case, case.initial_state, 1.0)
        assert flow[cell] > 0.99
    with error_naming(ValueError, "lower upper"):
        river(1.0, "range", lower=-2.0, upper=-3.0)
    with error_naming(ValueError, "temperature interleaving"):
        river(1.0, "interleaving", None)
    with error_naming(ValueError, "areas"):
        dataclasses.replace(case, grid=Grid.uniform(20.0, 16))


@pytest.mark.long  # gradients of an ocean column: the contract
def test_the_temperature_of_a_lake_by_its_extinction_and_its_streams():
    case = lake_case(lake(12))
    streams = {"a": river(3.0, "interleaving", 11.0), "b": river(-2.0, "range", lower=-9.2, upper=-4.4)}
    case = eqx.tree_at(lambda c: c.interior, case, Interior(streams=Streams(streams)))

    def numbers(case) -> list:
        streams = case.interior.streams.streams
        water = streams["a"].series.values
        return [case.absorption.visible_depth, water.temperature, water.discharge, streams["b"].lower]

    def warmth(by):
        changed = eqx.tree_at(numbers, case, [value * by[i] for i, value in enumerate(numbers(case))])
        return jnp.sum(ended(Model(KEpsilon()), changed, 900.0, 12).temperature ** 2 * case.grid.cell_volume)

    one, step, found = jnp.ones(4), 1e-5, Differentiated(warmth)
    reverse = found.reverse(one)
    for i, direction in enumerate(np.eye(4)):
        forward = float(found.forward(one, jnp.asarray(direction)))
        up, down = (float(found.value(one + sign * step * direction)) for sign in (1.0, -1.0))
        central = (up - down) / (2.0 * step)
        assert float(reverse[i]) == pytest.approx(forward, rel=1e-9)
        assert float(reverse[i]) == pytest.approx(central, rel=1e-5)
        assert abs(central) > 1e-3


def test_the_water_balance_of_a_lake_is_reported():
    case = fed_case(lake(), a=river(3.0, "bottom"), b=river(-5.0, "range", lower=-9.0, upper=-4.0))
    case = eqx.tree_at(lambda c: c.forcing.fluxes.freshwater_flux, case, jnp.asarray(2e-5))
    run = simulate(MIXED, case, dt=600.0, duration=1200.0, output_interval=600.0)
    found = diagnose(run, case, ("stream_inflow", "stream_outflow", "level_outflow"))
    entering, leaving, over = (found[f"{name}flow"][-1] for name in ("stream_in", "stream_out", "level_out"))
    rain = 2e-5 / case.equation_of_state.reference_density * areas_of(case.grid)[-1]
    assert (float(entering), float(leaving)) == (3.0, 5.0)
    assert float(over) == pytest.approx(float(3.0 - 5.0 + rain), rel=1e-12)
