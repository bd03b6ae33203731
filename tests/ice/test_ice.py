"""Ice: exact growth, budgets of heat, derivatives, batches and restarts; melting below a shelf."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import Differentiated
from tunax_lite import io
from tunax_lite.air_sea import BulkForcing, Clark, ConstantAlbedo, Kondo, SolarPosition, Weather
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.forcing import FLUXES
from tunax_lite.column.grid import Hypsography
from tunax_lite.column.terms import Interior, LakeLevel, LidFriction
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.ice import BasalMelt, Lebedev, MyLake, Winton
from tunax_lite.ice.base import UppermostCell, below_cover
from tunax_lite.ice.freezing import FreezingBound
from tunax_lite.ice.winton import Layers
from tunax_lite.physics.equation_of_state import SpecificVolumeTeos10

DAY, S, FREEZING = 86400.0, 32.0, -0.0575 * 32.0
MIXED = tl.Model(tl.ConstantDiffusivity(1e-3, 1e-3))


def weather(air_temperature=-15.0, shortwave=0.0, **more) -> BulkForcing:
    """The same weather all the time."""
    given = {"wind_u": 6.0, "wind_v": 0.0, "humidity": 80.0, "air_pressure": 101300.0, "cloud_cover": 0.6}
    given |= {"air_temperature": air_temperature, "shortwave": shortwave, "precipitation": 0.0} | more
    series = TimeSeries.constant(Weather(**{name: jnp.asarray(value) for name, value in given.items()}))
    sun = SolarPosition(latitude=70.0, longitude=0.0, start_time="2020-12-01T00:00:00")
    formulae = {"longwave": Clark(), "albedo": ConstantAlbedo(0.06), "evaporation": False}
    return BulkForcing(series, Kondo(), sun=sun, **formulae)


def column(ice, forcing=None, temperature=-1.0, days=10.0, **more) -> tl.Case:
    grid = tl.Grid.uniform(20.0, 10)
    state = tl.State.from_profiles(grid, temperature=temperature, salinity=S)
    forcing = weather() if forcing is None else forcing
    return tl.Case(grid, state, forcing, ice=ice, duration=days * DAY, **more)


def run(case, model=MIXED, dt=3600.0, **options):
    return tl.simulate(model, case, dt=dt, **{"output_interval": case.duration} | options)


def test_water_enters_a_step_at_its_freezing_point_or_above():
    grid = tl.Grid.uniform(8.0, 4)
    state = tl.State.from_profiles(grid, temperature=jnp.array([-2.5, 3.0, 1.0, -2.5]), salinity=30.0)
    cold = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=-500.0))
    case = tl.Case(grid, state, cold, ice=FreezingBound(), duration=DAY)
    below = case.ice_step(case.start_state, 0.0, 600.0)
    np.testing.assert_allclose(below.temperature, -0.0575 * 30.0, rtol=1e-14)
    last = tl.simulate(
        tl.Model(tl.ConstantDiffusivity(diffusivity=0.0)), case, dt=600.0, output_interval=DAY
    ).state
    # Below the bound by what one step takes.
    loss = 500.0 * 600.0 / (1027.0 * 3991.86796 * 2.0)
    np.testing.assert_allclose(last.temperature[-1, -1], -0.0575 * 30.0 - loss, rtol=1e-3)
    np.testing.assert_allclose(last.surface["ice_thickness"], [0.0, 0.1])


def test_ice_of_one_layer_grows_as_stefan_found():
    """H²/2 + a H grows by k (T_f - T_air) t / (rho L), to the first order of the time step."""
    ice = MyLake(initial_thickness=0.1, exchanges_water=False)  # which would raise the freezing point
    case = column(ice, temperature=FREEZING, days=60.0)
    found = run(case, dt=1800.0).state.surface["ice_thickness"][-1]
    grown = 2.1 * (FREEZING + 15.0) * 60.0 * DAY / (910.0 * 333500.0)
    exact = math.sqrt((0.1 + 0.1) ** 2 + 2.0 * grown) - 0.1
    np.testing.assert_allclose(found, exact, rtol=2e-4)
    assert found > 0.5


def test_ice_that_stores_heat_grows_as_stefan_found_where_its_surface_is_held():
    """Conduction through thick ice in balance takes k dT / H, less what cools the ice that there is."""
    warmth = 1e4  # W m-2 K-1: the air holds the surface at its temperature
    ice, surface = Winton(initial_thickness=1.0), -20.0
    cell = UppermostCell(*(jnp.asarray(x) for x in (FREEZING, S, 1.0, 1.0, 3990.0, 1027.0, 0.0)))
    sky = lambda met: tl.SurfaceFluxes(heat_flux=warmth * (surface - met.temperature))  # noqa: E731
    state = tl.State.from_profiles(tl.Grid.uniform(3.0, 3), temperature=FREEZING, salinity=S)
    step = lambda carried, _: (ice.step(carried, cell, sky, None, 3600.0).ice, None)  # noqa: E731
    settled = jax.lax.scan(step, ice.start(state), length=24 * 30)[0]
    later = jax.lax.scan(step, settled, length=24 * 60)[0]
    h, thicker = (float(one["ice_thickness"]) for one in (settled, later))
    latent = 905.0 * (334000.0 + 2100.0 * (-0.054 - FREEZING))
    exact = math.sqrt(h**2 + 2.0 * 2.03 * (FREEZING - surface) * 60.0 * DAY / latent)
    # What is below the middle of the ice cools as it grows: half of c_i (T_f - T_s) / 2 over L.
    assert 0.93 < (thicker - h) / (exact - h) < 1.0
    # Linear but for the heat that goes into cooling: at the quarters of the thickness.
    quarters = surface + (FREEZING - surface) * np.array([0.25, 0.75])
    found = [float(later[f"{half}_ice_temperature"]) for half in ("upper", "lower")]
    np.testing.assert_allclose(found, quarters, atol=0.5)


@pytest.mark.long
def test_ice_by_degree_days_is_what_the_formula_says():
    case = column(Lebedev(initial_thickness=0.2), days=20.0)
    found = run(case).state.surface
    frost = (20.0 / 1.33) ** (1.0 / 0.58) + 20.0 * (FREEZING + 15.0)
    np.testing.assert_allclose(found["freezing_degree_days"][-1], frost, rtol=1e-12)
    np.testing.assert_allclose(found["ice_thickness"][-1], 0.0133 * frost**0.58, rtol=1e-12)
    # From open water: frost counts from the step on in which the water freezes.
    assert float(run(column(Lebedev(), temperature=FREEZING)).state.surface["ice_thickness"][-1]) > 0.15


def held_heat(ice, carried):
    """Of ice, against water at its melting point [J m-2]."""
    if isinstance(ice, Winton):
        half = 0.5 * carried["ice_thickness"]
        temperatures = carried["upper_ice_temperature"], carried["lower_ice_temperature"]
        return -ice.heat_to_melt(Layers(carried["snow_thickness"], half, half, *temperatures))
    return -910.0 * 333500.0 * (carried["ice_thickness"] + carried.get("frazil_thickness", 0.0))


ICES, IDS = [Lebedev(), MyLake(), Winton()], ["lebedev", "mylake", "winton"]


@pytest.mark.parametrize("ice", ICES, ids=IDS)
def test_the_heat_of_ice_and_water_closes_to_round_off_in_a_long_step(ice, dt=86400.0):
    """Thin and thick, freezing and melting, with snow and without: both gain what the air gives."""
    random, n = np.random.default_rng(0), 3000
    open_water = random.random(n) < 0.3
    salinity = jnp.asarray(random.uniform(5.0, 36.0, n))
    freezing = ice.freezing_point(salinity)
    thickness = jnp.asarray(np.where(open_water, 0.0, 10.0 ** random.uniform(-5.0, 0.7, n)))
    air = jnp.asarray(random.uniform(-40.0, 10.0, n))
    light, rain = (jnp.asarray(random.uniform(0.0, high, n)) for high in (300.0, 1e-4))
    upper = jnp.asarray(random.uniform(-30.0, -0.054, n))
    start = {"ice_thickness": thickness}
    if isinstance(ice, MyLake):
        start["frazil_thickness"] = jnp.where(open_water, 0.0295, 0.0)
    elif isinstance(ice, Lebedev):
        start["freezing_degree_days"] = jnp.where(open_water, 0.999, (thickness / 0.0133) ** (1.0 / 0.58))
    else:
        snow = jnp.where(open_water, 0.0, jnp.asarray(random.choice([0.0, 0.01, 0.8], n)))
        start |= {"snow_thickness": snow, "ice_surface_temperature": jnp.minimum(air, -0.1)}
        start |= {"upper_ice_temperature": upper, "lower_ice_temperature": jnp.maximum(upper, -4.0)}
    water = (freezing + jnp.asarray(random.normal(0.0, 0.2, n)), salinity, jnp.full(n, 0.7), jnp.full(n, 0.6))
    cell = UppermostCell(*water, *(jnp.asarray(x) for x in (3990.0, 1027.0, 0.0)))

    def sky(met):
        lit = light * (1.0 - jnp.where(met.covers, met.albedo, 0.06))
        return tl.SurfaceFluxes(
            heat_flux=20.0 * (air - met.temperature), shortwave_flux=lit, freshwater_flux=rain
        )

    done = ice.step(start, cell, sky, air, dt)
    gained = held_heat(ice, done.ice) - held_heat(ice, start)
    gained = gained + cell.heat_per_kelvin * (done.temperature - cell.temperature)
    scale = np.abs(held_heat(ice, start)) + 1e3 * dt + 1e6  # what the air gives is a difference
    assert np.max(np.abs(gained - done.heat_from_air * dt) / scale) < 1e-12
    assert all(np.all(np.isfinite(value)) for value in done.ice.values())
    assert np.all(done.ice["ice_thickness"] >= 0.0)
    # Both kinds of cover, and all ways between them.
    after = np.asarray(done.ice["ice_thickness"]) > 0.0
    assert all(np.any(before & now) for before in (open_water, ~open_water) for now in (after, ~after))


@pytest.mark.parametrize(("ice", "in_lake"), [(MyLake(), True), (Winton(), False)], ids=["mylake", "winton"])
@pytest.mark.long  # in one step: above
def test_a_run_loses_what_the_air_takes(ice, in_lake):
    case = column(ice, temperature=-1.83, days=2.0)
    if in_lake:
        lake = case.grid.with_hypsography([-20.0, 0.0], [1e4, 1e6])
        case = dataclasses.replace(case, grid=lake)
    found = run(case, output_interval=3600.0)
    water = np.asarray(diagnose(found, case, ["heat_content"])["heat_content"])
    total = water + np.asarray(jax.vmap(lambda carried: held_heat(ice, carried))(found.state.surface))
    given, at_surface = [], eqx.filter_jit(case.ice_step)
    for step in range(found.n_frames - 1):
        start = jax.tree.map(lambda leaf, step=step: leaf[step], found.state)
        below = at_surface(start, jnp.asarray((step + 1) * 3600.0), 3600.0)
        assert below.fluxes.heat_flux is not None and below.fluxes.shortwave_flux is not None
        passed = below.fluxes.heat_flux + below.fluxes.shortwave_flux
        given.append(3600.0 * float(below.heat_from_air + passed))
    np.testing.assert_allclose(np.diff(total), given, atol=1e-9 * np.abs(total).max())
    assert float(found.state.surface["ice_thickness"][-1]) > 0.03


@pytest.mark.long
@pytest.mark.parametrize("ice", [MyLake(), Winton(exchanges_water=True)], ids=["mylake", "winton"])
def test_water_and_salt_of_ice_and_water_close(ice):
    """Rain and snow of 1e-4 kg m-2 s-1 over both; a level that follows takes it, or salinity does."""
    fall = 1e-4
    case = column(ice, weather(precipitation=1e-7), temperature=-1.83, days=3.0)

    def frozen(state):
        mass = 910.0 if isinstance(ice, MyLake) else 905.0
        snow = 330.0 * np.asarray(state.surface.get("snow_thickness", 0.0))
        frazil = np.asarray(state.surface.get("frazil_thickness", 0.0))
        return mass * (np.asarray(state.surface["ice_thickness"]) + frazil) + snow

    found = run(case, output_interval=3600.0)
    assert frozen(found.state)[-1] > 30.0
    # Growing ice leaves its salt.
    entering = 3600.0 * fall - np.diff(frozen(found.state))
    salt = np.sum(np.asarray(found.state.salinity) * 2.0, axis=1)
    rejected = -entering * np.asarray(found.state.salinity)[:-1, -1] / 1027.0
    np.testing.assert_allclose(np.diff(salt), rejected, atol=1e-13 * salt[0])
    assert salt[-1] > salt[0] + 0.5
    # In a lake whose level follows, salt stays, and water and ice together gain what falls.
    grid = case.grid.with_hypsography([-20.0, 0.0], [1e4, 1e6])
    level = LakeLevel(Hypsography([-20.0, 0.0], [1e4, 1e6]).up_to(1.0))
    case = dataclasses.replace(case, grid=grid, interior=Interior(level=level))
    found = run(case, output_interval=3600.0)
    placed = jax.vmap(lambda state: case.placed(state).grid)(found.state)
    volume, area = np.asarray(placed.volume), np.asarray(placed.area)[:, -1]
    salt = np.sum(volume * np.asarray(found.state.salinity), axis=1)
    np.testing.assert_allclose(salt, salt[0], rtol=1e-12)
    mass = 1027.0 * np.sum(volume, axis=1) + frozen(found.state) * area
    np.testing.assert_allclose(np.diff(mass), 3600.0 * fall * area[:-1], atol=1e-14 * mass[0])


@pytest.mark.parametrize("ice", ICES[1:], ids=IDS[1:])
@pytest.mark.long  # compiles for long
def test_thickness_by_the_weather_is_that_of_central_differences(ice):

    def thickness(warmer):
        forcing = weather()
        forcing = eqx.tree_at(lambda f: f.offsets.air_temperature, forcing, warmer)
        return run(column(ice, forcing, temperature=-1.82, days=3.0)).state.surface["ice_thickness"][-1]

    at, step, found = jnp.asarray(0.0), 1e-4, Differentiated(thickness)
    reverse, forward = found.reverse(at), found.forward(at, jnp.ones(()))
    central = (found.value(at + step) - found.value(at - step)) / (2.0 * step)
    np.testing.assert_allclose(reverse, forward, rtol=1e-9)
    np.testing.assert_allclose(reverse, central, rtol=1e-5)
    assert reverse < -1e-3  # m K-1


@pytest.mark.parametrize("ice", ICES[1:], ids=IDS[1:])
@pytest.mark.long  # compiles for long
def test_a_batch_is_its_columns_and_a_run_goes_on_from_its_file(ice, tmp_path):
    cases = [column(ice, weather(air)) for air in (-25.0, -10.0)]
    times: dict = {"dt": 3600.0, "output_interval": DAY}
    together = tl.simulate(MIXED, tl.stack_cases(cases), **times)
    for k, case in enumerate(cases):
        alone = tl.simulate(MIXED, case, **times)
        for name, values in alone.state.surface.items():
            np.testing.assert_allclose(together.state.surface[name][:, k], values, rtol=1e-10, atol=1e-12)
    whole = tl.simulate(MIXED, cases[0], **times)
    io.write_trajectory(whole, tmp_path / "whole.nc")
    rest = tl.simulate(MIXED, cases[0], start=io.read_trajectory(tmp_path / "whole.nc").restart(5), **times)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a[-1] == b[-1])), rest.state, whole.state))
    with xr.open_dataset(tmp_path / "whole.nc") as dataset:
        assert dataset["ice_thickness"].attrs["standard_name"] == "sea_ice_thickness"
        assert dataset["ice_thickness"].dims == ("time",)


def test_ice_keeps_wind_and_light_from_the_water():
    case = column(Winton(initial_thickness=1.0), weather(shortwave=100.0), temperature=FREEZING)
    fluxes = case.ice_step(case.start_state, 0.0, 60.0).fluxes
    assert {float(jnp.asarray(flux)) for flux in (fluxes.stress_u, fluxes.heat_flux)} == {0.0}
    # Thick ice, not far from melting, of which 0.3 exp(-1 / 0.67) of the light goes through.
    albedo = 0.5826 - 0.075 * max(0.0, 1.0 + (FREEZING + 0.054) / 1.0)
    passed = 100.0 * (1.0 - albedo) * 0.3 * math.exp(-1.0 / 0.67)
    np.testing.assert_allclose(jnp.asarray(fluxes.shortwave_flux), passed, rtol=1e-12)
    bare = column(Winton(), weather(shortwave=100.0))
    assert float(jnp.asarray(bare.ice_step(bare.start_state, 0.0, 60.0).fluxes.stress_u)) > 0.0


def test_ice_is_refused_without_the_air_or_the_salt_that_it_needs():
    with error_naming(ValueError, "Lebedev weather"):
        column(Lebedev(), tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=-100.0)))
    grid = tl.Grid.uniform(20.0, 10)
    fresh = tl.State.from_profiles(grid, temperature=4.0, salinity=0.1)
    with error_naming(ValueError, "Winton -0.054"):
        tl.Case(grid, fresh, weather(), ice=Winton())


def shelf_cell(temperature=0.5, friction_velocity=0.01, salinity=34.0):
    values = temperature, salinity, 0.2, 0.2, 3991.87, 1027.0, friction_velocity
    return UppermostCell(*(jnp.asarray(value) for value in values))


def test_melting_fulfils_the_three_equations():
    ice, cell, thickness = BasalMelt(), shelf_cell(), jnp.asarray(300.0)
    layer = ice.melt(thickness, cell)
    t_b, s_b, melt = (float(x) for x in layer[:3])
    freezing = -5.6705121472405570e-2 * s_b + 7.5436448744204881e-2
    np.testing.assert_allclose(t_b, freezing + 7.6828512903539831e-4 * 300.0 * 910.0 / 1027.0, rtol=1e-12)

    def transfer(molecular):
        rough = 0.55 * math.exp(0.5 * 0.4 * 8.5) * math.sqrt(0.01 * 0.01 / 1.95e-6)
        beta = rough * (molecular ** (2.0 / 3.0) - 0.2) - 0.7 * 8.5 + 9.5
        return 0.4 * 0.01 / (0.7 * (math.log(0.11 / 0.01) + 0.4 / 0.7 * beta))

    heat, salt = transfer(13.8) * (0.5 - t_b), transfer(2432.0) * (34.0 - s_b)
    np.testing.assert_allclose(float(layer.heat_exchange), heat, rtol=1e-12)
    taken = 1995.0 / 3991.87 * (t_b + 20.0) + 333500.0 / 3991.87
    np.testing.assert_allclose(heat, melt * taken, rtol=1e-12)
    np.testing.assert_allclose(salt, melt * s_b, rtol=1e-9)
    assert 1e-7 < melt < 1e-5  # 3 to 300 m in a year


@pytest.mark.long
def test_nothing_melts_below_water_at_rest_and_derivatives_are_finite_there():
    def melt(u, ice):
        return ice.melt(jnp.asarray(300.0), shelf_cell(friction_velocity=u)).melt_rate

    assert float(melt(0.0, BasalMelt())) == 0.0
    assert np.isfinite(jax.grad(melt)(0.0, BasalMelt()))
    by_ice = eqx.filter_grad(lambda ice: melt(0.01, ice))(BasalMelt())
    for name in ("roughness_length", "ice_temperature", "schmidt_number", "latent_heat"):
        value = getattr(BasalMelt(), name)
        changed = [dataclasses.replace(BasalMelt(), **{name: value * f}) for f in (1.0001, 0.9999)]
        up, down = (melt(0.01, ice) for ice in changed)
        np.testing.assert_allclose(getattr(by_ice, name), (up - down) / (2e-4 * value), rtol=1e-6)


@pytest.mark.long
def test_a_shelf_gives_the_water_what_it_loses():
    grid, density, capacity = tl.Grid.uniform(20.0, 10), 1027.0, 3991.86796
    state = tl.State.from_profiles(grid, temperature=0.5, salinity=34.0, u=0.2)
    ice = BasalMelt(replenished=False)
    eos = SpecificVolumeTeos10(draft=265.8)
    forcing, interior = tl.ConstantForcing(tl.SurfaceFluxes()), Interior(lid_friction=LidFriction())
    case = tl.Case(grid, state, forcing, interior=interior, equation_of_state=eos, ice=ice, duration=7200.0)
    found = run(case, tl.Model(tl.KEpsilon()), dt=60.0, output_interval=60.0)
    thickness = np.asarray(found.state.surface["ice_thickness"])
    melted = -np.diff(thickness) * 910.0 / density  # of water [m]
    assert 1e-6 < melted.sum() < 1e-2
    salt = np.sum(np.asarray(found.state.salinity) * 2.0, axis=1)
    # The ice takes back what its freezing would have left in the water of the start, of 34 g kg-1.
    np.testing.assert_allclose(np.diff(salt), -melted * 34.0, atol=1e-10)
    # The surroundings of the ice are colder than the water by what melting and warming the ice takes.
    heat = np.sum(np.asarray(found.state.temperature) * 2.0, axis=1)
    uppermost = [np.asarray(x)[:-1, -1] for x in (found.state.temperature, found.state.u)]
    for h, t, u, lost, m in zip(thickness[:-1], *uppermost, -np.diff(heat), melted, strict=True):
        u_star = 0.4 / math.log1p(0.5 * 2.0 / 0.01) * abs(u)
        cell = UppermostCell(*(jnp.asarray(x) for x in (t, 34.0, 2.0, 2.0, capacity, density, u_star)))
        t_b = float(ice.melt(jnp.asarray(h), cell).temperature)
        taken = m * (1995.0 / capacity * (t_b + 20.0) + 333500.0 / capacity)
        np.testing.assert_allclose(lost, taken + m * (t - t_b), rtol=2e-2, atol=1e-9)
    # The lid slows the water, and turbulence has its friction velocity.
    (shown,) = diagnose(found, case, ["friction_velocity"]).values()
    np.testing.assert_allclose(shown, 0.4 / math.log1p(100.0) * np.hypot(found.state.u, found.state.v)[:, -1])
    assert float(found.state.u[-1, -1]) < 0.19
    assert float(jnp.max(found.clo_state.eddy_viscosity[-1, 5:])) > 1e-4


def test_heights_below_a_shelf_count_from_the_sea(tmp_path):
    grid = tl.Grid.uniform(20.0, 10)
    state = tl.State.from_profiles(grid, temperature=0.5, salinity=34.0)
    forcing, eos = tl.ConstantForcing(tl.SurfaceFluxes()), SpecificVolumeTeos10(draft=300.1)
    case = tl.Case(grid, state, forcing, equation_of_state=eos, duration=600.0)
    found = tl.simulate(MIXED, case, dt=60.0, output_interval=600.0)
    io.write_trajectory(found, tmp_path / "shelf.nc", case=case)
    with xr.open_dataset(tmp_path / "shelf.nc") as dataset:
        np.testing.assert_allclose(dataset["z_center"][-1], -301.1, rtol=1e-12)
    np.testing.assert_array_equal(io.read_trajectory(tmp_path / "shelf.nc").grid.z_face, grid.z_face)
    # Cold water expands more under pressure.
    at_surface, below = (SpecificVolumeTeos10(draft=d) for d in (None, 300.1))
    z = jnp.asarray(-1.0)
    t, s = jnp.asarray(0.5), jnp.asarray(34.0)
    assert float(below.expansion(t, s, z)[0]) == float(at_surface.expansion(t, s, z - 300.1)[0])
    assert float(below.expansion(t, s, z)[0]) > 1.1 * float(at_surface.expansion(t, s, z)[0])


@pytest.mark.parametrize("gained", [None, 0.0])
def test_nothing_that_a_file_may_prescribe_passes_through_ice(gained):
    """A flux that is added later, too: only light and, where the ice exchanges water, fresh water do."""
    sky = tl.SurfaceFluxes(**dict.fromkeys(FLUXES, jnp.asarray(0.5)), tracer_fluxes={"dye": jnp.asarray(0.5)})
    exchanged = None if gained is None else jnp.asarray(gained)
    below = below_cover(jnp.asarray(True), sky, jnp.asarray(0.1), exchanged)
    passing = {"shortwave_flux"} | (set() if gained is None else {"freshwater_flux"})
    assert {name for name in FLUXES if float(getattr(below, name)) != 0.0} == passing
    assert float(below.tracer_fluxes["dye"]) == 0.0
