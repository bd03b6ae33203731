"""Fluxes from the weather: what the switches do, gradients, batches, and what is refused."""

from typing import Any

import gsw
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.air_sea.bulk_numpy import fairall, humidity_of, saturation
from tests.errors import error_naming
from tests.helpers import central_difference, get_leaf, water_surface, with_leaf
from tunax_lite import Case, Grid, KEpsilon, Model, State, air_sea, simulate
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.physics import Teos10

TIMES = np.linspace(0.0, 86400.0, 9)
SUN = air_sea.SolarPosition("2011-06-21T00:00:00", 50.0, -145.0)
SKY = {"longwave": air_sea.Clark(), "shortwave": air_sea.ClearSky(), "albedo": air_sea.Payne(), "sun": SUN}
WATER = water_surface(0.3, -0.2, 10.0, 33.0)


def weather(**changes) -> Any:
    day = 2.0 * np.pi * TIMES / 86400.0
    values = dict(
        wind_u=7.0 + np.cos(day),
        wind_v=-3.0 + np.sin(day),
        air_temperature=9.0 + np.sin(day),
        humidity=80.0 + 5.0 * np.cos(day),
        air_pressure=101000.0 + 500.0 * np.cos(day),
        cloud_cover=0.6 + 0.3 * np.sin(day),
        precipitation=1e-7 * (1.0 + np.cos(day)),
        shortwave=300.0 * np.maximum(np.sin(day), 0.0),
        longwave=-60.0 + 10.0 * np.cos(day),
    )
    return TimeSeries(jnp.asarray(TIMES), air_sea.Weather(**(values | changes)), "station")


def forcing(**changes) -> Any:
    return air_sea.BulkForcing(weather(), **changes)


def at(name, time) -> float:
    """A quantity of the weather [its unit]."""
    return float(np.interp(time, TIMES, getattr(weather().values, name)))


def expected_exchange(time):
    """Components of the wind over the water, and by Fairall's formula stress, heat and vapour [SI]."""
    u, v = at("wind_u", time) - 0.3, at("wind_v", time) + 0.2
    air, pressure = at("air_temperature", time), at("air_pressure", time)
    moist = humidity_of(0.01 * at("humidity", time) * saturation(air), pressure)
    skin = float(gsw.t_from_CT(33.0, 10.0, 0.0))
    upon_water = humidity_of(0.98 * saturation(skin), pressure)
    density = pressure / (287.1 * (air + 273.15) * (1.0 + 0.608 * moist))
    return u, v, *fairall(float(np.hypot(u, v)), air, skin, moist, upon_water, density)


def test_the_wind_that_gases_feel_is_that_of_the_stress():
    time = 30000.0
    u, v = at("wind_u", time), at("wind_v", time)
    for relative, expected in ((True, np.hypot(u - 0.3, v + 0.2)), (False, np.hypot(u, v))):
        speed = forcing(relative_wind=relative).wind_speed(time, WATER)
        np.testing.assert_allclose(speed, expected, rtol=1e-12)
    np.testing.assert_allclose(forcing().wind_speed(time), np.hypot(u, v), rtol=1e-12)


def test_parts_add_up():
    time = 30000.0
    plain = forcing().at(time, WATER)
    u, v, stress, sensible, latent, _ = expected_exchange(time)
    # Saturation and density are those of other formulas, which agree to a thousandth.
    np.testing.assert_allclose(plain.latent_heat_flux, latent, rtol=5e-3)
    np.testing.assert_allclose(plain.sensible_heat_flux, sensible, rtol=5e-3)
    np.testing.assert_allclose(plain.stress_u, stress * u / np.hypot(u, v), rtol=2e-3)
    np.testing.assert_allclose(plain.stress_v, stress * v / np.hypot(u, v), rtol=2e-3)
    parts = plain.latent_heat_flux, plain.sensible_heat_flux, plain.longwave_flux
    np.testing.assert_allclose(plain.longwave_flux, at("longwave", time), rtol=1e-14)
    np.testing.assert_allclose(plain.heat_flux, sum(parts), rtol=1e-14)
    assert plain.latent_heat_flux < plain.sensible_heat_flux < 0.0  # warm water under dry, cool air
    np.testing.assert_allclose(plain.shortwave_flux, at("shortwave", time), rtol=1e-14)
    rain = forcing(evaporation=False).at(time, WATER).freshwater_flux
    np.testing.assert_allclose(rain, 1000.0 * at("precipitation", time), rtol=1e-14)
    # The water as the air meets it: no conversion.
    skin = WATER._replace(temperature=jnp.asarray(gsw.t_from_CT(33.0, 10.0, 0.0)))
    direct = forcing(conservative_temperature=False).at(time, skin)
    np.testing.assert_allclose(direct.heat_flux, plain.heat_flux, rtol=1e-4)
    scaled = forcing(heat_factor=1.2, shortwave_factor=0.5).at(time, WATER)
    np.testing.assert_allclose(scaled.heat_flux, 1.2 * plain.heat_flux, rtol=1e-14)
    np.testing.assert_allclose(scaled.shortwave_flux, 0.5 * plain.shortwave_flux, rtol=1e-14)
    still = forcing(relative_wind=False).at(time, WATER)
    assert abs(still.stress_u) > abs(plain.stress_u)
    sheltered = forcing(wind_factor=0.5, relative_wind=False).at(time, WATER)
    np.testing.assert_allclose(sheltered.stress_v / sheltered.stress_u, still.stress_v / still.stress_u)
    assert abs(sheltered.stress_u) < 0.3 * abs(still.stress_u) and sheltered.heat_flux > still.heat_flux


def test_radiation_by_formula_or_by_series():
    time = 3600.0 * 22.0
    computed = forcing(**SKY).at(time, WATER)
    # Midsummer noon at 50 N in 145 W is at 21:40 UTC.
    assert 300.0 < computed.shortwave_flux < 1000.0
    assert forcing(**SKY).at(3600.0 * 10.0, WATER).shortwave_flux == 0.0
    of_sky = weather(longwave=300.0 + 0.0 * TIMES)
    downward: Any = air_sea.BulkForcing(of_sky, longwave=air_sea.DownwardLongwave())
    loss = 0.97 * 5.670374419e-8 * 283.14**4
    more = downward.at(time, WATER).heat_flux - forcing().at(time, WATER).heat_flux
    np.testing.assert_allclose(more, 300.0 - loss - at("longwave", time), atol=0.1)


def test_rain_and_evaporation():
    time = 0.0
    dry, rainy, salty = (
        forcing(**switches).at(time, WATER)
        for switches in ({"evaporation": False}, {"rain_heat": True, "rain_stress": True}, {})
    )
    rain = 2e-4  # kg m-2 s-1
    np.testing.assert_allclose(dry.freshwater_flux, rain, rtol=1e-12)
    np.testing.assert_allclose(rainy.stress_u - dry.stress_u, 0.85 * rain * (8.0 - 0.3), rtol=1e-10)
    # Rain of the wet bulb, some 2 K colder than the water: the plain product of its heat and a difference.
    assert -3985.0 * rain * 3.0 < rainy.heat_flux - dry.heat_flux < -3985.0 * rain * 1.0
    evaporated = dry.freshwater_flux - salty.freshwater_flux
    np.testing.assert_allclose(evaporated, -expected_exchange(time)[-1], rtol=5e-3)


def column(bulk_forcing: air_sea.BulkForcing, duration=86400.0) -> Case:
    grid = Grid.uniform(50.0, 25)
    state = State.from_profiles(grid, temperature=lambda z: 10.0 + 0.02 * z, salinity=33.0)
    return Case(grid, state, bulk_forcing, equation_of_state=Teos10(), duration=duration)


def full_forcing(bulk=None) -> air_sea.BulkForcing:
    return forcing(bulk=bulk or air_sea.Fairall(), **SKY, rain_heat=True, rain_stress=True)


# What of weather and sky is free, and the size of a change of it.
FREE = {
    "offsets.wind_u": 1.0,
    "offsets.air_temperature": 1.0,
    "offsets.humidity": 5.0,
    "offsets.cloud_cover": 0.1,
    "offsets.precipitation": 1e-6,
    "wind_factor": 0.1,
    "heat_factor": 0.1,
    "shortwave.transmissivity": 0.05,
}
FLUXES = ("stress_u", "stress_v", "surface_drag", "heat_flux", "shortwave_flux", "freshwater_flux")


@pytest.mark.long
def test_gradient_of_the_fluxes_equals_central_differences():
    bulk = full_forcing()

    @jax.jit
    def fluxes(numbers):
        changed = bulk
        for path, number in zip(FREE, numbers, strict=True):
            changed = with_leaf(changed, path, number)
        now = changed.at(3600.0 * 20.0, WATER)
        return jnp.stack([getattr(now, name) for name in FLUXES])

    point = jnp.stack([jnp.asarray(get_leaf(bulk, path)) for path in FREE])
    slopes = np.asarray(jax.jit(jax.jacrev(fluxes))(point))
    for i, (path, scale) in enumerate(FREE.items()):

        def of_numbers(numbers, i=i):
            return np.stack([np.asarray(fluxes(point.at[i].set(number))) for number in numbers])

        found = central_difference(of_numbers, float(point[i]), scale)
        assert np.all(found.holds(0.0, fraction=1e-5)), f"{path}: {found}"
        np.testing.assert_allclose(slopes[:, i], found.value, rtol=1e-5, err_msg=path)


REFUSED = [
    ({"air_temperature": 280.0 + 0.0 * TIMES}, {}, "air_temperature -90 60 [degC] 280"),
    ({"air_pressure": 1013.0 + 0.0 * TIMES}, {}, "air_pressure [Pa] 1013 0"),
    ({"cloud_cover": 60.0 + 0.0 * TIMES}, {}, "cloud_cover 0 1 60"),
    ({"humidity": 0.8 + 0.0 * TIMES}, {}, "humidity % 0.8"),
    ({}, {"humidity_measure": "specific"}, "humidity 0 0.1 85"),
    ({"wind_u": np.where(TIMES > 5e4, 999.0, 5.0)}, {}, "999 54000 5"),
    ({"longwave": None}, {}, "weather.longwave"),
    ({"shortwave": None}, {}, "weather.shortwave"),
    ({}, {"longwave": air_sea.Clark()}, "sun longwave"),
    ({"precipitation": None}, {"rain_heat": True}, "weather.precipitation"),
]


def test_weather_that_cannot_be_is_refused():
    for changes, options, message in REFUSED:
        with error_naming(ValueError, message):
            air_sea.BulkForcing(weather(**changes), **options)


def test_run_beyond_the_weather_is_refused():
    case = column(forcing(), duration=90000.0)
    with error_naming(ValueError, "station"):
        simulate(Model(KEpsilon()), case, dt=3600.0, output_interval=90000.0)
    with error_naming(ValueError, "water"):
        forcing().at(0.0)


@pytest.mark.long
def test_the_parts_of_the_heat_flux_are_those_of_its_step():
    case, model = column(forcing(heat_factor=1.2)), Model(KEpsilon())
    run = simulate(model, case, dt=600.0, duration=21600.0, output_interval=7200.0, step_starts=True)
    parts = [f"surface_{name}_flux" for name in ("latent_heat", "sensible_heat", "longwave")]
    found = diagnose(run, case, ["surface_heat_flux", *parts], model)
    total = 1.2 * sum(np.asarray(found[name]) for name in parts)
    np.testing.assert_allclose(found["surface_heat_flux"], total, rtol=1e-10)
