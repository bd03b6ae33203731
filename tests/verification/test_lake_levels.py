"""Lakes whose level moves: budgets of water, heat and salt to round-off, exact levels, derivatives."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import Differentiated
from tests.verification.test_lakes import flows, frame, lake, lake_case, river
from tunax_lite.closures import AbstractClosure
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.grid import Hypsography
from tunax_lite.column.terms import Interior, LakeLevel, Stream, Streams
from tunax_lite.column.time_series import TimeSeries

# The basin of `lake()`, with a shore above it.
HEIGHTS = np.array([-25.0, -20.0, -12.0, -4.0, 0.0, 3.0])
AREAS = np.array([0.0, 2e4, 3e5, 8e5, 2e6, 2.5e6])
BASIN = Hypsography(HEIGHTS, AREAS)
DENSITY = 1027.0
LAKE = lake()
DT = 1800.0
SIMPLE = tl.PacanowskiPhilander()  # compiles fast; budgets are those of k-epsilon


def volume_to(z: float) -> float:
    """Of the basin up to a height [m3]: frusta of the table, in higher precision."""
    total, root = np.longdouble(0.0), np.sqrt(AREAS.astype(np.longdouble))
    for k in range(len(HEIGHTS) - 1):
        t = np.clip(np.longdouble(z) - HEIGHTS[k], 0.0, HEIGHTS[k + 1] - HEIGHTS[k])
        upper = root[k] + (root[k + 1] - root[k]) / (HEIGHTS[k + 1] - HEIGHTS[k]) * t
        total += t * (root[k] ** 2 + root[k] * upper + upper**2) / 3.0
    return float(total)


def moving_case(streams: dict[str, Stream], prescribed: TimeSeries | None = None, **fluxes) -> tl.Case:
    given: dict[str, Any] = {"shortwave_flux": 0.0, "heat_flux": 0.0, "freshwater_flux": 0.0} | fluxes
    case, level = lake_case(LAKE, **given), LakeLevel(BASIN, prescribed=prescribed)
    interior = Interior(streams=Streams(streams) if streams else None, level=level)
    state = dataclasses.replace(case.initial_state, tracers={"dye": jnp.linspace(0.0, 2.0, 16)})
    return eqx.tree_at(lambda c: (c.interior, c.initial_state), case, (interior, state))


def ran(case: tl.Case, n_steps: int = 48, closure: AbstractClosure = SIMPLE) -> tl.Trajectory:
    return tl.simulate(tl.Model(closure), case, dt=DT, duration=n_steps * DT, output_interval=DT)


def volumes(case: tl.Case, run: tl.Trajectory) -> np.ndarray:
    """Of the cells in all frames [m3], and in the last column the area of the surface [m2]."""
    found = []
    for elevation in np.asarray(run.state.surface["surface_elevation"]):
        heights = -20.0 + (np.asarray(case.grid.z_face) + 20.0) / 20.0 * (20.0 + elevation)
        root = np.interp(heights[-1], HEIGHTS, np.sqrt(AREAS))
        found.append([*np.diff([volume_to(z) for z in heights]), root**2])
    return np.array(found)


DRYING = {"a": river(2.0, "interleaving", 11.0), "b": river(-9.0, "range", lower=-6.0, upper=-3.0)}
FULL = {"rain": ({"a": river(3.0, "surface"), "b": river(5.0, "bottom")}, 2e-3), "drought": (DRYING, -3e-3)}


@pytest.mark.parametrize("name", FULL)
@pytest.mark.long
def test_water_heat_salt_and_tracers_close_while_the_level_moves(name):
    streams, fresh = FULL[name]
    case = moving_case(streams, freshwater_flux=fresh, heat_flux=-200.0)
    run = ran(case, closure=tl.KEpsilon())
    volume, state = volumes(case, run), run.state
    cells, surface = volume[:, :-1], volume[:, -1]
    discharge = sum(float(of.series.values.discharge[0]) for of in streams.values())
    expected = DT * (discharge + fresh / DENSITY * surface[:-1])
    total = np.sum(cells, axis=1)
    np.testing.assert_allclose(np.diff(total), expected, rtol=0.0, atol=4e-15 * total[0])
    assert abs(float(state.surface["surface_elevation"][-1])) > 0.05
    # What streams bring, and take of the new water; nothing else but heat passes the surface.
    gained = {"temperature": 0.0, "salinity": 0.0, "dye": 0.0}
    eos = case.equation_of_state
    cooling = DT * -200.0 / float(eos.reference_density * eos.heat_capacity)
    for step in range(run.n_frames - 1):
        before, after = frame(state, step), frame(state, step + 1)
        gained["temperature"] += cooling * surface[step + 1]
        gained["temperature"] += DT * fresh / DENSITY * surface[step] * before.temperature[-1]
        for water, rate in flows(streams, case, before, DT):
            flow = DT * rate
            out = water.discharge < 0.0
            gained["temperature"] += np.sum(flow * (after.temperature if out else water.temperature))
            gained["salinity"] += np.sum(flow * (after.salinity if out else water.salinity))
            gained["dye"] += np.sum(flow * after.tracers["dye"]) if out else 0.0
    for name, change in gained.items():
        values = np.asarray(state.tracers[name] if name == "dye" else getattr(state, name))
        first, last = (float(np.sum(cells[at].astype(np.longdouble) * values[at])) for at in (0, -1))
        assert abs(last - first - change) < 2e-13 * first, name


def test_a_range_without_water_is_the_lowest_or_the_uppermost_cell():
    case = moving_case({}, TimeSeries(jnp.array([0.0, 1e5]), jnp.array([-3.0, -3.0]), "level"))
    below, above = river(2.0, "range", lower=-30.0, upper=-25.0), river(2.0, "range", lower=-2.0, upper=-1.0)
    flow_below, flow_above = (f for _, f in flows({"a": below, "b": above}, case, case.start_state, DT))
    assert flow_below[0] == flow_above[-1] == np.sum(flow_below) == np.sum(flow_above) == 2.0


FALLING = TimeSeries(jnp.array([0.0, 1e5]), jnp.array([0.5, -2.5]), "level")


@pytest.mark.parametrize("prescribed", [None, FALLING])
@pytest.mark.long  # contents close: above
def test_water_of_one_kind_stays_what_it_is_while_the_level_moves(prescribed):
    streams = {"a": river(4.0, "bottom", 12.0, 0.1), "b": river(-30.0, "range", lower=-6.0, upper=-3.0)}
    case = moving_case(streams, prescribed, freshwater_flux=0.0, stress_u=0.1)
    uniform = tl.State.from_profiles(case.grid, temperature=12.0, salinity=0.1)
    run = ran(dataclasses.replace(case, initial_state=uniform))
    assert float(np.ptp(run.state.surface["surface_elevation"])) > 0.5
    np.testing.assert_allclose(run.state.temperature, 12.0, rtol=2e-13)
    np.testing.assert_allclose(run.state.salinity, 0.1, rtol=2e-13)
    if prescribed is not None:
        elevation = run.state.surface["surface_elevation"]
        np.testing.assert_allclose(elevation, 0.5 - 3.0 * run.time / 1e5, atol=1e-15)
        # What streams bring beyond the level leaves at the surface.
        area = volumes(case, run)[:, -1]
        (outflow,) = diagnose(run, case, ["level_outflow"]).values()
        np.testing.assert_allclose(outflow[1:], (-26.0 + 3e-5 * area)[1:], rtol=1e-12)


@pytest.mark.long  # contents close: above
def test_a_basin_holds_what_it_was_given():
    z = np.linspace(-25.0, 3.0, 57)
    volume = np.array([volume_to(height) for height in z])
    np.testing.assert_allclose(BASIN.volume_below(jnp.asarray(z)), volume, rtol=1e-14)
    np.testing.assert_allclose(BASIN.height_of(jnp.asarray(volume)), z, atol=1e-13)
    areas = np.interp(z, HEIGHTS, np.sqrt(AREAS)) ** 2
    np.testing.assert_allclose(BASIN.area_at(jnp.asarray(z)), areas, rtol=1e-14)
    # The volume grows by the area; walls may be vertical, and a table go on.
    by_height = jax.grad(lambda x: BASIN.volume_below(x[None])[0])(-3.3)
    np.testing.assert_allclose(by_height, np.interp(-3.3, HEIGHTS, np.sqrt(AREAS)) ** 2, rtol=1e-13)
    for at in (0.0, 1e5, volume[-1]):
        assert np.isfinite(jax.grad(lambda v: BASIN.height_of(v[None])[0])(at))
    walls = Hypsography([-10.0, 0.0], [1e6, 1e6]).up_to(2.0)
    np.testing.assert_allclose(walls.height_of(jnp.array([1.1e7])), 1.0, atol=1e-13)
    assert BASIN.up_to(2.0) is BASIN
    root = (4.0 * np.sqrt(2.5e6) - np.sqrt(2e6)) / 3.0
    np.testing.assert_allclose(np.sqrt(BASIN.up_to(4.0).area[-1]), root)


@pytest.mark.long
def test_a_level_leaves_its_basin():
    case = moving_case({"flood": river(1e3, "surface")})
    level = np.asarray(ran(case, 8).state.surface["surface_elevation"])
    full = volume_to(3.0) - volume_to(0.0)
    first = int(np.ceil(full / (1e3 * DT)))
    assert first < 8 and np.all(np.isfinite(level[:first])) and np.all(level[first:] == np.inf)
    drained = moving_case({"drain": river(-2e3, "range", lower=-20.0, upper=-15.0)})
    assert ran(drained, 8).state.surface["surface_elevation"][-1] == -np.inf
    given: Any
    for given in ({"initial": 3.5}, {"prescribed": TimeSeries(jnp.array([0.0, 9.0]), jnp.array([0.0, 4.0]))}):
        with error_naming(ValueError, "level -25 3"):
            LakeLevel(BASIN, **given)
    with error_naming(ValueError, "areas level"):
        dataclasses.replace(moving_case({}), grid=tl.Grid.uniform(20.0, 16))


@pytest.mark.long  # of a lake that keeps its level: test_lakes
def test_derivatives_of_a_moving_lake_are_those_of_differences():
    def ends(x):
        case = moving_case({"a": river(2.0 + x[0], "bottom", 8.0)}, freshwater_flux=1e-3 + x[1])
        level = LakeLevel(Hypsography(HEIGHTS, AREAS * (1.0 + x[3])), initial=x[2])
        case = eqx.tree_at(lambda c: c.interior.level, case, level)
        run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=DT, duration=6 * DT, output_interval=6 * DT)
        temperature = run.state.temperature[-1]
        return jnp.stack([run.state.surface["surface_elevation"][-1], temperature[0], temperature[-3]])

    at, found = jnp.zeros(4), Differentiated(ends)
    forward = np.stack([found.forward(at, change) for change in jnp.eye(4)], axis=1)
    reverse = np.stack([found.reverse(at, weights) for weights in jnp.eye(3)])
    np.testing.assert_allclose(forward, reverse, rtol=1e-8, atol=1e-12)
    steps = jnp.diag(jnp.array([1e-3, 1e-6, 1e-4, 1e-4]))
    central = np.stack([(found.value(h) - found.value(-h)) / (2.0 * h.max()) for h in steps], axis=1)
    np.testing.assert_allclose(forward, central, rtol=1e-4, atol=1e-7)
    assert np.all(np.abs(forward[0]) > 1e-4)


def test_rain_dilutes_by_its_volume():
    grid = tl.Grid.uniform(10.0, 8).with_hypsography([-10.0, 0.0], [1e6, 1e6])
    level = LakeLevel(Hypsography([-10.0, 2.0], [1e6, 1e6]))
    rain = tl.ConstantForcing(tl.SurfaceFluxes(freshwater_flux=0.1027))
    state = tl.State.from_profiles(grid, temperature=10.0, salinity=20.0)
    case = tl.Case(grid, state, rain, interior=Interior(level=level))
    run = ran(case, 1)
    np.testing.assert_allclose(run.state.surface["surface_elevation"][-1], 1e-4 * DT, rtol=1e-13)
    content = np.sum(np.asarray(run.state.salinity[-1])) * (10.0 + 1e-4 * DT) / 8.0
    np.testing.assert_allclose(content, 200.0, rtol=1e-14)
