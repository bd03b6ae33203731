"""A step takes the mean of forcing that is finer than it, and coarser forcing as it is."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.helpers import water_surface
from tunax_lite.air_sea import BulkForcing, Weather
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.column.terms import Interior, SurfaceRestoring
from tunax_lite.column.terms.interior import SurfaceElevation
from tunax_lite.column.time_series import StepMeans, StepsOfRun, TimeSeries

HOUR = 3600.0
HOURLY = StepsOfRun(HOUR)
GRID = tl.Grid.uniform(20.0, 4)
MODEL = tl.Model(tl.ConstantDiffusivity(1e-2, 1e-2))


def exact_mean(time, values, start, end):
    """Mean of the piecewise linear interpolant, from all its corners."""
    corners = np.unique(np.concatenate([[start, end], time[(time > start) & (time < end)]]))
    return np.trapezoid(np.interp(corners, time, values), corners) / (end - start)


def case_of(forcing, **more) -> tl.Case:
    state = tl.State.from_profiles(GRID, temperature=10.0, salinity=35.0)
    return tl.Case(GRID, state, forcing, duration=24 * HOUR, **more)


@pytest.mark.parametrize("spacing", ["even", "uneven", "partly fine", "off the steps"])
def test_each_step_with_finer_records_has_their_mean(spacing):
    random = np.random.default_rng(1)
    time = {
        "even": np.arange(0.0, 24.1 * HOUR, 600.0),
        "uneven": np.unique(np.concatenate([[0.0, 24 * HOUR], random.uniform(0.0, 24 * HOUR, 200)])),
        "partly fine": HOUR * np.r_[0.0:10.0, 10.0 + np.arange(0.0, 2.0, 0.1), 12.0:25.0],
        "off the steps": np.arange(-700.0, 24.3 * HOUR, 500.0),
    }[spacing]
    values = random.normal(size=(time.size, 2))
    series = TimeSeries(jnp.asarray(time), jnp.asarray(values))
    means = series.averaged(series.step_means(HOURLY))
    for step in range(24):
        start, end = step * HOUR, (step + 1) * HOUR
        gaps = np.diff(time)[(time[:-1] < end - 1e-6) & (time[1:] > start + 1e-6)]
        for column in range(2):
            own = values[:, column]
            is_fine = gaps.min() < HOUR - 1e-3
            expected = exact_mean(time, own, start, end) if is_fine else np.interp(end, time, own)
            np.testing.assert_allclose(means.at(end)[column], expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(means.at(0.0), series.at(0.0), rtol=1e-12)


@pytest.mark.parametrize("interval", [HOUR, 1.5 * HOUR, 24 * HOUR])
def test_records_as_coarse_as_the_step_stay_the_same_objects(interval):
    for first in (0.0, -700.0):
        time = jnp.arange(first, 24 * HOUR + 2 * interval, interval)
        assert StepMeans.of(time, HOUR) is None
        case = case_of(tl.TimeSeriesForcing(time, tl.SurfaceFluxes(heat_flux=jnp.sin(time))))
        assert case.over_steps(HOUR) is case
    constant = case_of(tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=1.0)))
    assert constant.over_steps(HOUR) is constant


def bursts():
    """10 mm of rain and 36 MJ m-2 of sun within ten minutes in the middle of each hour."""
    time = np.arange(0.0, 24 * HOUR + 1.0, 600.0)
    there = (time % HOUR) == 1800.0
    return time, np.where(there, 10.0 / 600.0, 0.0), np.where(there, 1000.0, 0.0)


@pytest.mark.parametrize(
    "dt", [HOUR, *(pytest.param(dt, marks=pytest.mark.long) for dt in (600.0, 4 * HOUR))]
)
def test_the_water_receives_all_rain_and_sun_with_any_step(dt):
    time, rain, sun = bursts()
    fluxes = {"freshwater_flux": 1e-2 * rain, "shortwave_flux": sun}
    case = case_of(tl.TimeSeriesForcing.from_values(time, **fluxes))
    end = tl.simulate(MODEL, case, dt=dt, output_interval=24 * HOUR).state
    eos = case.equation_of_state
    warmed = float(jnp.sum(end.temperature[-1] - 10.0) * 5.0 * eos.reference_density * eos.heat_capacity)
    np.testing.assert_allclose(warmed, 24 * 1000.0 * 600.0, rtol=1e-10)
    freshened = float(jnp.sum(35.0 - end.salinity[-1]) * 5.0 / 35.0 * eos.reference_density)
    np.testing.assert_allclose(freshened, 24 * 0.1, rtol=1e-4)


def test_gotm_samples():
    time, rain, _ = bursts()
    case = case_of(tl.TimeSeriesForcing.from_values(time, freshwater_flux=rain))
    model = dataclasses.replace(MODEL, discretisation=GotmDiscretisation())
    end = tl.simulate(model, case, dt=HOUR, output_interval=24 * HOUR).state
    np.testing.assert_allclose(end.salinity[-1], 35.0, rtol=1e-14)  # no burst at a full hour


def gusty(time, u, v) -> BulkForcing:
    full = {"air_temperature": 5.0, "humidity": 80.0, "air_pressure": 1e5, "shortwave": 0.0, "longwave": 0.0}
    values = {name: jnp.full(time.size, each) for name, each in full.items()}
    air = Weather(wind_u=jnp.asarray(u), wind_v=jnp.asarray(v), **values)
    return BulkForcing(TimeSeries(jnp.asarray(time), air))


def test_bulk_formulae_have_the_mean_wind_vector_and_the_mean_speed():
    time = np.arange(0.0, 4 * HOUR + 1.0, 300.0)
    turning = gusty(time, np.where(np.arange(time.size) % 2, 8.0, -8.0), np.full(time.size, 6.0))
    water = water_surface(0.0, 0.0, 15.0, 35.0)
    mean: Any = turning.over_steps(HOURLY)
    weather = mean.weather.at(HOUR)
    np.testing.assert_allclose([weather.wind_u, weather.wind_v], [0.0, 6.0], atol=1e-12)
    np.testing.assert_allclose(mean.wind_speed(HOUR, water), 10.0, rtol=1e-12)
    # Steady in speed: the heat flux is that of 10 m s-1.
    steady: Any = gusty(time, np.full(time.size, 8.0), np.full(time.size, 6.0))
    expected = steady.at(HOUR, water).heat_flux
    np.testing.assert_allclose(mean.at(HOUR, water).heat_flux, expected, rtol=1e-12)
    np.testing.assert_allclose(steady.over_steps(HOURLY).at(HOUR, water).heat_flux, expected, rtol=1e-12)


def test_means_of_terms_and_levels_that_stay():
    time = jnp.arange(0.0, 24 * HOUR, 600.0)
    series = TimeSeries(time, jnp.sin(time))
    changed: Any = SurfaceRestoring(temperature=series).over_steps(HOURLY)
    assert changed.temperature.time.size < time.size
    level = SurfaceElevation(series)
    assert level.over_steps(HOURLY) is level
    flow = Interior(surface_elevation=series)
    changed = case_of(tl.ConstantForcing(tl.SurfaceFluxes()), interior=flow).over_steps(HOUR)
    assert changed.interior.surface_elevation is series


@pytest.mark.long
def test_gradients_batches_and_pieces_are_those_of_the_means():
    time, rain, sun = bursts()

    def heat(values):
        case = case_of(tl.TimeSeriesForcing(jnp.asarray(time), tl.SurfaceFluxes(heat_flux=values)))
        end = tl.simulate(MODEL, case, dt=HOUR, output_interval=24 * HOUR).state
        return jnp.sum(end.temperature[-1]) * 5.0 * 1027.0 * 3991.86796

    found = jax.grad(heat)(jnp.asarray(sun))
    weights = np.full(time.size, 600.0)
    weights[[0, -1]] = 300.0
    np.testing.assert_allclose(found, weights, rtol=1e-4)
    case = case_of(tl.TimeSeriesForcing.from_values(time, freshwater_flux=1e-2 * rain))
    both = tl.stack_cases([case, case])
    one = tl.simulate(MODEL, case, dt=HOUR, output_interval=12 * HOUR).state.salinity
    two = tl.simulate(MODEL, both, dt=HOUR, output_interval=12 * HOUR).state.salinity
    np.testing.assert_allclose(two[..., 1], one, rtol=1e-13)
    first = tl.simulate(MODEL, case, dt=HOUR, duration=12 * HOUR, output_interval=12 * HOUR)
    rest = tl.simulate(MODEL, case, dt=HOUR, start=first.restart(), output_interval=12 * HOUR)
    np.testing.assert_array_equal(rest.state.salinity[-1], one[-1])


@pytest.mark.long
def test_a_compiled_function_of_the_case_has_the_means_too():
    time, rain, _ = bursts()
    case = case_of(tl.TimeSeriesForcing.from_values(time, freshwater_flux=1e-2 * rain))

    def salinity(case):
        return tl.simulate(MODEL, case, dt=HOUR, output_interval=24 * HOUR).state.salinity[-1].sum()

    expected, grad = salinity(case), eqx.filter_grad(salinity)
    assert abs(float(expected) - 4 * 35.0) > 1e-3
    np.testing.assert_allclose(eqx.filter_jit(salinity)(case), expected, rtol=1e-12)
    slopes = [each(case).forcing.fluxes.freshwater_flux for each in (grad, eqx.filter_jit(grad))]
    assert bool(jnp.all(slopes[0] < 0.0))
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-9)
    np.testing.assert_allclose(jax.jit(lambda: salinity(case))(), expected, rtol=1e-12)
