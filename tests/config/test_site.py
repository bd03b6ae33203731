"""Cases of the format site: what stands in the configuration and in its files arrives in the case."""

from typing import Any

import gsw
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import yaml

from tests.errors import error_naming, missing_from, notes_in
from tests.io import test_era5 as era5
from tests.io import test_oceansites as oceansites
from tunax_lite.air_sea import Clark, Coare36, ConstantAlbedo, DownwardLongwave, Fairall, Payne
from tunax_lite.air_sea.daylight import AlbedoOfTheDay
from tunax_lite.column.observations import Observations
from tunax_lite.column.terms import AdvectionScheme, MeanVelocity, PlumeOnSlope, VelocityAtHeight
from tunax_lite.config import build_run, evaluation_of, load_run
from tunax_lite.io import read_era5
from tunax_lite.io.errors import ConfigError
from tunax_lite.io.series import profiles_on_grid
from tunax_lite.physics import buoyancy_frequency_squared
from tunax_lite.physics.absorption import RgbAbsorption
from tunax_lite.physics.equation_of_state import LinearEquationOfState, Teos10

START = "2012-06-10T00:00:00"
DAY = 86400.0
PLACE = {"latitude": 50.1, "longitude": -144.9, "start_time": START}
BASE = {"format": "site", **PLACE, "duration": DAY, "depth": 40.0}
WEATHER = {"format": "constant", "wind_u": 8.0, "air_temperature": 9.0, "humidity": 85.0, "cloud_cover": 0.6}
SKY = {"longwave": "clark", "shortwave": "clear_sky"}
WATER = {"temperature": {"surface": 10.0, "gradient": 0.05}, "salinity": 33.0}


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(**case):
        config = {
            "case": BASE | case,
            "grid": {"kind": "uniform", "n_cells": 20},
            "time": {"dt": 3600.0, "output_interval": 21600.0},
            "evaluation": {"start": 0.0, "variables": ["temperature", "salinity"]},
        }
        (tmp_path / "site.yaml").write_text(yaml.safe_dump(config))
        return load_run(tmp_path / "site.yaml")

    return run


@pytest.fixture
def build(load):
    def run(**case) -> Any:  # of no stated type, because its parts are of many
        return build_run(load(**case))

    return run


def test_weather_and_formulae_arrive(build):
    bulk = {"name": "coare36", "wind_height": 4.0, "air_height": 3.0, "iterations": 7}
    numbers = {"offsets": {"air_temperature": 0.5}, "heat_factor": 0.9}
    sky = {**SKY, **numbers, "bulk": bulk, "albedo": 0.06, "rain_heat": True, "relative_wind": False}
    case = build(**WATER, weather=WEATHER | {"precipitation": 1e-7}, air_sea=sky).case
    forcing = case.forcing
    assert isinstance(forcing.bulk, Coare36) and isinstance(case.equation_of_state, Teos10)
    assert (forcing.bulk.wind_height, forcing.bulk.air_height, forcing.bulk.iterations) == (4.0, 3.0, 7)
    assert isinstance(forcing.longwave, Clark) and isinstance(forcing.albedo, ConstantAlbedo)
    assert (float(forcing.offsets.air_temperature), float(forcing.heat_factor)) == (0.5, 0.9)
    assert (forcing.rain_heat, forcing.relative_wind, forcing.evaporation) == (True, False, True)
    assert (float(forcing.sun.latitude), forcing.sun.start_time) == (50.1, START)
    assert (float(forcing.weather.at(0.0).wind_u), float(forcing.weather.at(DAY).cloud_cover)) == (8.0, 0.6)
    assert case.start_time == START
    np.testing.assert_allclose(case.coriolis_parameter, gsw.f(50.1), rtol=1e-5)


DAYS = {"time": [DAY * day for day in range(-1, 4)], "values": [100.0, 150.0, 250.0, 90.0, 200.0]}


def test_daily_weather_takes_the_albedo_of_the_day(build, recwarn):
    weather = WEATHER | {"format": "series", "shortwave": DAYS, "longwave": -50.0}
    cycle, instant = {"diurnal_cycle": True}, {"albedo_of": "instant"}
    for how, kind in (({}, AlbedoOfTheDay), (instant, Payne), (cycle, Payne)):
        run = build(**WATER, weather=weather, air_sea={"longwave": "net", **how})
        assert type(run.case.forcing.albedo) is kind
        assert sum("24 h apart" in note for note in notes_in(recwarn)) == 1
        assert (run.case.forcing.diurnal_cycle is None) == (how is not cycle)


@pytest.mark.parametrize("everywhere", [False, True])
def test_salinity_with_a_buoyancy_frequency_is_stably_stratified(build, everywhere):
    salinity = {"surface": 33.0, "buoyancy_frequency_squared": 1e-4, "everywhere": everywhere}
    case = build(temperature=10.0, salinity=salinity, fluxes={}).case
    n_squared = buoyancy_frequency_squared(case.initial_state, case.grid, case.equation_of_state)
    np.testing.assert_allclose(n_squared, 1e-4, rtol=1e-2)


def test_a_buoyancy_frequency_needs_the_other_variable(build):
    n_squared = {"surface": 33.0, "buoyancy_frequency_squared": 1e-4}
    sloping = {"surface": 10.0, "gradient": 0.01}
    for profiles, words in (
        ({"salinity": n_squared}, "temperature salinity none"),
        ({"salinity": n_squared, "temperature": n_squared}, "temperature another"),
        ({"salinity": n_squared | {"everywhere": True}, "temperature": sloping}, "constant everywhere"),
    ):
        with error_naming(ConfigError, words):
            build(**profiles, fluxes={})


RISING = {"time": [0.0, DAY], "values": [0.0, 0.1]}


def test_parts_of_the_interior_arrive(build):
    layers = {"time_scale": 1e6, "surface_height": 5.0, "surface_time_scale": 1e4}
    interior = {
        "relaxation": {
            "temperature": layers | {"profile": {"z": [-40.0, 0.0], "values": [8.0, 10.0]}},
            "velocity": {"time_scale": 7200.0, "u": 0.1, "v": 0.0},
        },
        "pressure_gradient": {
            "kind": "velocity_at_height",
            "x": {"constant": 0.1, "harmonics": [{"amplitude": 0.2, "period": 44714.0, "phase": 600.0}]},
            "height": 10.0,
        },
        "buoyancy_gradient": {"salinity_x": -5e-4, "advect_salinity": True},
        "vertical_velocity": {"velocity": 1e-5, "height": -20.0, "scheme": "muscl", "n_substeps": 2},
        "bottom_friction": {"physical_roughness": 0.02},
        "stokes_drift": {"kind": "exponential", "u": RISING, "decay_depth": 7.0},
        "surface_elevation": {"harmonics": [{"amplitude": 1.5, "period": 44714.0}]},
        "held": ["salinity"],
    }
    case = build(**WATER, weather=WEATHER, air_sea=SKY, interior=interior).case
    got, z = case.interior, np.asarray(case.grid.z_center)
    target = got.relaxation.temperature
    np.testing.assert_allclose(target.profiles.at(0.5 * DAY), 10.0 + 0.05 * z, rtol=1e-13)
    np.testing.assert_allclose(target.rate, np.where(-z <= 5.0, 1e-4, 1e-6), rtol=1e-13)
    assert got.relaxation.salinity is None and got.held == ("salinity",)
    np.testing.assert_allclose(got.relaxation.u.profiles.at(0.0), 0.1)
    assert isinstance(got.pressure_gradient, VelocityAtHeight)
    # Linear between 400 knots per period.
    times = np.linspace(0.0, DAY, 17)
    tide = 0.1 + 0.2 * np.sin(2.0 * np.pi * (times - 600.0) / 44714.0)
    wanted = [float(got.pressure_gradient.series.at(t).x) for t in times]
    np.testing.assert_allclose(wanted, tide, atol=0.2 * 0.5 * (np.pi / 400) ** 2)
    assert got.buoyancy_gradient.advect_salinity
    np.testing.assert_array_equal(got.buoyancy_gradient.series.at(0.0).salinity_x, -5e-4)
    velocity = got.vertical_velocity
    assert (velocity.scheme, velocity.n_substeps) == (AdvectionScheme.MUSCL, 2)
    assert float(velocity.series.at(0.0).height) == -20.0
    assert float(got.bottom_friction.physical_roughness) == 0.02
    drift = got.stokes_drift
    assert (float(drift.series.at(0.25 * DAY).u), float(drift.decay_depth)) == (0.025, 7.0)
    np.testing.assert_allclose(got.surface_elevation.at(44714.0 / 4.0), 1.5, rtol=1e-4)


def test_waves_follow_the_wind_or_a_profile(build):
    def drift_at_noon(weather=WEATHER, **section):
        case = build(**WATER, weather=weather, air_sea=SKY, interior={"stokes_drift": section}).case
        return np.stack(case.interior.stokes_drift.at(case.grid, 0.5 * DAY)), case

    of_weather, _ = drift_at_noon(kind="wind_sea")
    given, _ = drift_at_noon(WEATHER | {"wind_u": 3.0}, kind="wind_sea", u=8.0, v=0.0)
    np.testing.assert_allclose(of_weather, given, rtol=1e-13)
    assert 0.02 < given[0, -1] < 0.0162 * 8.0 and not np.any(given[1])
    read, case = drift_at_noon(kind="profiles", u={"z": [-40.0, -10.0, 0.0], "values": [0.0, 0.1, 0.3]})
    z = np.asarray(case.grid.z_center)
    np.testing.assert_allclose(read[0], np.interp(z, [-40.0, -10.0, 0.0], [0.0, 0.1, 0.3]), rtol=1e-12)
    assert not np.any(read[1])


def test_other_parts_by_name(build):
    case = build(
        **WATER,
        fluxes={"heat_flux": RISING | {"factor": -1000.0}, "stress_u": 0.1},
        equation_of_state={"name": "linear", "tangent_to_teos10": {"temperature": 10.0, "salinity": 33.0}},
        absorption={"name": "rgb", "chlorophyll": 0.5},
        interior={"pressure_gradient": {"kind": "mean_velocity", "x": 0.1}, "plume": {"slope_x": 0.01}},
    ).case
    assert isinstance(case.interior.pressure_gradient, MeanVelocity)
    assert isinstance(case.interior.plume, PlumeOnSlope)
    assert isinstance(case.absorption, RgbAbsorption) and float(case.absorption.chlorophyll) == 0.5
    assert isinstance(case.equation_of_state, LinearEquationOfState)
    expansion = case.equation_of_state.thermal_expansion
    np.testing.assert_allclose(expansion, gsw.alpha(33.0, 10.0, 0.0), rtol=5e-3)
    fluxes = case.forcing.at(0.25 * DAY)
    np.testing.assert_allclose([fluxes.heat_flux, fluxes.stress_u], [-25.0, 0.1])


def test_light_that_ends_before_the_case_is_refused(build, tmp_path):
    (tmp_path / "light.csv").write_text("time,depth [m]\n2021-01-01 00:00:00,9.0\n2021-01-01 01:00:00,8.0\n")
    bands = {"infrared_fraction": 0.58, "infrared_depth": 0.35}
    light = {"name": "two_band_series", "visible_depth": {"path": "light.csv", "variable": "depth"}, **bands}
    with error_naming(ConfigError, "case.duration absorption 86400 3600"):
        build(**WATER, fluxes={"shortwave_flux": 100.0}, start_time="2021-01-01", absorption=light)


@pytest.mark.long
def test_mooring_and_era5_from_the_configuration(load, tmp_path):
    depths, hours = np.array([1.0, 10.0, 30.0]), 24.0 * 740 + np.arange(-1.0, 27.0)
    temperature = 11.0 - 0.1 * depths + 0.01 * np.arange(28.0)[:, None]
    salinity = 33.0 + 0.01 * depths + 0.0 * np.arange(28.0)[:, None]
    oceansites.write(tmp_path / "T.nc", "TEMP", temperature, depths=depths, hours=hours)
    oceansites.write(tmp_path / "S.nc", "PSAL", salinity, depths=depths, hours=hours)
    weather = era5.write(tmp_path / "era5.nc")
    loaded = load(
        observations={"format": "oceansites", "paths": ["T.nc", "S.nc"]},
        weather={"format": "era5", "paths": "era5.nc"},
        interior={"relaxation": {"temperature": {"time_scale": 5e4}}},
    )
    run = build_run(loaded)
    case: Any = run.case
    z = np.asarray(case.grid.z_center)
    direct, _ = read_era5(weather, **PLACE)
    found, expected = case.forcing.weather.values, direct.values
    for name in ("wind_u", "humidity", "shortwave", "longwave"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert isinstance(case.forcing.bulk, Fairall) and isinstance(case.forcing.longwave, DownwardLongwave)
    assert isinstance(case.forcing.albedo, Payne) and case.forcing.humidity_measure == "dew_point"
    # The start is the record of 00:00, the second; by the library, at the instruments, linear in between.
    pressures = gsw.p_from_z(-depths, 50.1)
    absolute = gsw.SA_from_SP(salinity[1].astype("f4"), pressures, -144.9, 50.1)
    conservative = gsw.CT_from_t(absolute, temperature[1].astype("f4"), pressures)
    start, salt = (np.interp(z, -depths[::-1], values[::-1]) for values in (conservative, absolute))
    np.testing.assert_allclose(case.initial_state.temperature, start, atol=1e-6)
    np.testing.assert_allclose(case.initial_state.salinity, salt, atol=1e-6)
    np.testing.assert_allclose(case.interior.relaxation.temperature.profiles.at(0.0), start, atol=1e-6)
    # The mooring goes on before and after the case; what is compared does not.
    assert run.observations is not None
    assert (float(run.observations.time[0]), float(run.observations.time[-1])) == (0.0, DAY)
    _, (target,) = evaluation_of(loaded)
    assert set(target.weights) == {"temperature", "salinity"}


def test_a_mooring_that_moves_and_fluxes_of_era5(build, tmp_path):
    hours = np.arange(25.0)
    of_depth = {"standard_name": "depth", "units": "m", "positive": "down"}
    in_situ = {"units": "degC", "standard_name": "sea_water_temperature"}
    moments = np.datetime64(START, "ns") + (hours * 3600e9).astype("timedelta64[ns]")
    variables = {
        "TEMP": ("TIME", 9.0 + 0.01 * hours, in_situ),
        "DEPTH": ("TIME", 20.0 + 0.1 * hours, of_depth),
        "NOMINAL_DEPTH": ((), 20.0, of_depth),
    }
    xr.Dataset(variables, {"TIME": ("TIME", moments)}).to_netcdf(tmp_path / "T.nc", engine="netcdf4")
    era5.write(tmp_path / "era5.nc", era5.FLUXES | {"sst": era5.SERIES["t2m"]})
    site = {
        "observations": {"format": "oceansites", "paths": "T.nc", "depths": "measured"},
        "series": {"sea_surface_temperature": {"path": "era5.nc", "variable": "sst", "kind": "conservative"}},
        "fluxes": {"era5": {"paths": "era5.nc"}},
    }
    run = build(**WATER, **site)
    np.testing.assert_allclose(run.case.forcing.at(3600.0 * 20.5).heat_flux, -181.0)
    found = run.observations
    np.testing.assert_allclose(found.z[:, 0], -20.0 - 0.1 * hours, atol=1e-6)
    pressure = gsw.p_from_z(-(20.0 + 0.1 * hours), 50.1)
    conservative = gsw.CT_from_t(33.0, 9.0 + 0.01 * hours, pressure)
    np.testing.assert_allclose(found.profiles["temperature"][:, 0], conservative, atol=1e-5)
    # In situ, as an instrument shows it; with a linear equation of state in what the column carries.
    sst = era5.SERIES["t2m"][1][:25] - 273.15
    np.testing.assert_allclose(found.series["sea_surface_temperature"], gsw.t_from_CT(33.0, sst, 0.0))
    fresh = build(**site)
    at_place = gsw.SA_from_SP(35.0, gsw.p_from_z(np.asarray(fresh.case.grid.z_center), 50.1), -144.9, 50.1)
    np.testing.assert_allclose(fresh.case.initial_state.salinity, at_place)
    with error_naming(ConfigError, "case.fluxes era5 heat_flux"):
        build(**WATER, **site | {"fluxes": site["fluxes"] | {"heat_flux": 0.0}})


def test_a_temperature_follows_its_case_where_salinity_is_measured(build, tmp_path):
    depths, hours = np.array([1.0, 10.0, 30.0]), 24.0 * 740 + np.arange(-1.0, 27.0)
    salinity = 33.0 + 0.01 * depths + 0.0 * np.arange(28.0)[:, None]
    oceansites.write(tmp_path / "S.nc", "PSAL", salinity, depths=depths, hours=hours)
    mooring = {"format": "oceansites", "paths": "S.nc"}
    relaxation = {"temperature": {"time_scale": 5e4, "profile": "case"}}
    given = {"temperature": 10.0, "fluxes": {"stress_u": 0.1}}
    case: Any = build(**given, observations=mooring, interior={"relaxation": relaxation}).case
    np.testing.assert_array_equal(case.interior.relaxation.temperature.profiles.at(0.0), 10.0)
    inputs = {"format": "inputs", "surface_temperature": 10.0}
    with error_naming(ConfigError, "case salinity"):
        build(**given, observations=inputs, initial=mooring)


def _observations(values, time=(0.0, 10.0, 20.0, 30.0), z=(-30.0, -10.0)):
    profiles = {"temperature": jnp.asarray(values)}
    return Observations(jnp.asarray(time), jnp.asarray(z), profiles, name="mooring")


def test_gaps_are_bridged_in_time_then_in_height():
    nan = np.nan
    values = np.array([[2.0, 6.0], [nan, 7.0], [4.0, nan], [nan, nan]])
    z = np.array([-40.0, -20.0, 0.0])
    given = _observations(values)
    with error_naming(ValueError, "temperature mooring 9 10 longest_gap"):
        profiles_on_grid(given, "temperature", z, longest_gap=9.0, duration=30.0)
    # A gap of 20 s is longer than 15 s: below, the height above counts alone.
    short = profiles_on_grid(given, "temperature", z, longest_gap=15.0, duration=30.0)
    np.testing.assert_allclose(short.values, [[2, 4, 6], [7, 7, 7], [4, 5.5, 7], [4, 4, 4]], atol=1e-14)
    long = profiles_on_grid(given, "temperature", z, longest_gap=25.0, duration=30.0)
    np.testing.assert_allclose(long.values, [[2, 4, 6], [3, 5, 7], [4, 5.5, 7], [4, 5.5, 7]], atol=1e-14)


def test_casts_are_interpolated_in_the_vertical_before_time():
    nan, day = np.nan, 86400.0
    values = np.array([[4.2, nan, 4.2, 4.2], [nan, 11.0, nan, 11.0], [12.0, nan, 12.0, 12.0]])
    given = _observations(values, (-5.0 * day, 5.0 * day, 12.0 * day), z=(-20.3, -20.0, -10.3, 0.0))
    z = np.array([-25.0, -20.2, -10.2, -1.0])
    found = profiles_on_grid(given, "temperature", z, longest_gap=15.0 * day, duration=0.0)
    np.testing.assert_allclose(found.on(np.zeros(1))[0], 7.6, rtol=1e-12)
    with error_naming(ValueError, "temperature longest_gap"):
        profiles_on_grid(given, "temperature", z, longest_gap=9.9 * day, duration=0.0)
    # Hourly instruments of a second deployment replace those of the first.
    time, second = np.arange(-240.0, 241.0) * 3600.0, np.arange(481) >= 120
    values = np.where(np.stack([second, ~second], axis=1), nan, [4.2, 11.0])
    given = _observations(values, time, z=(-10.0, -9.0))
    found = profiles_on_grid(given, "temperature", z, longest_gap=15.0 * day, duration=0.0)
    np.testing.assert_array_equal(found.on(np.zeros(1))[0], 11.0)


def test_profiles_are_held_at_the_ends_of_a_case():
    values = np.array([[1.0, 1.0], [2.0, 2.0]])
    given = _observations(values, time=(5.0, 25.0))
    found = profiles_on_grid(given, "temperature", np.array([-20.0]), longest_gap=20.0, duration=30.0)
    np.testing.assert_array_equal(found.time, [0.0, 5.0, 25.0, 30.0])
    np.testing.assert_array_equal(found.values[:, 0], [1.0, 1.0, 2.0, 2.0])
    with error_naming(ValueError, "temperature mooring 0 60 25 start_time duration longest_gap"):
        profiles_on_grid(given, "temperature", np.array([-20.0]), longest_gap=20.0, duration=60.0)


def test_profiles_that_end_above_the_bottom_or_below_the_surface_are_told(build, recwarn):
    def noted(**case):
        build(**WATER | {"fluxes": {"stress_u": 0.1}} | case)
        return [note for note in notes_in(recwarn) if "is used" in note]

    given = {"z": [-20.0, -8.0], "values": [8.0, 9.0]}
    bottom, _, dye = noted(temperature=given, tracers={"dye": {"z": [-20.0, 0.0], "values": [1.0, 2.0]}})
    assert not missing_from(bottom, "site.yaml case temperature -20") and not missing_from(dye, "dye -20")
    # A cell is no matter, and neither is a profile that is uniform where it ends.
    assert not noted(temperature={"z": [-38.0, -2.0], "values": [8.0, 9.0]})
    assert not noted(temperature={"z": [-30.0, -20.0, -19.0, -9.0], "values": [8.0, 8.0, 9.0, 9.0]})
