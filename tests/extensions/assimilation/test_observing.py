"""What instruments show: pools, logarithms, layers, velocities, biases; and forecasts that are ensembles."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import yaml

from tests.cli.running import invoked
from tests.errors import error_naming
from tests.extensions.assimilation.columns import HOUR, INTERVAL, MODEL, assimilation, column, stream
from tests.extensions.assimilation.test_command import CONFIG, config  # noqa: F401  # a fixture
from tests.extensions.assimilation.test_command import write as write_sst
from tunax_lite import SurfaceFluxes, TimeSeriesForcing, simulate
from tunax_lite.column.observables import ColumnState
from tunax_lite.extensions.assimilation import (
    Climatology,
    EnsembleTransform,
    Operator,
    Persistence,
    Process,
    Variational,
)


def water_with(**tracers: float) -> ColumnState:
    case = column()
    pools = {name: jnp.full(6, value) for name, value in tracers.items()}
    state = dataclasses.replace(case.initial_state, tracers=pools, u=0.1 * jnp.arange(6.0))
    return ColumnState(state, case.grid, case.equation_of_state)


def test_a_pool_is_shown_as_the_logarithm_of_chlorophyll():
    assert float(Operator("u", -10.0)(water_with())) == pytest.approx(0.35)  # between 0.3 and 0.4
    operator = Operator("npzd_phy", -5.0, 1.6, True)
    shown = jax.jacrev(lambda value: operator(water_with(npzd_phy=value)))
    assert float(operator(water_with(npzd_phy=0.5))) == pytest.approx(np.log10(0.8))
    assert float(shown(0.5)) == pytest.approx(1.0 / (0.5 * np.log(10.0)))
    assert float(operator(water_with(npzd_phy=0.0))) == pytest.approx(-3.0)  # the least that it shows
    with error_naming(ValueError, "npzd_ph npzd_phy"):
        Operator("npzd_ph", -5.0).check(("npzd_phy",))


@pytest.mark.long
@pytest.mark.parametrize("method", [EnsembleTransform(40), Variational(n_outer=1, processes=1.0)])
def test_the_bias_of_one_instrument_is_found_and_stays_out_of_the_water(method):
    """Two instruments at one place in water that is known, one of which shows half a degree too much."""
    truth = simulate(MODEL, column(), dt=HOUR, duration=8 * INTERVAL, output_interval=INTERVAL)
    deep, top = (np.asarray(truth.state.temperature[1:, level]) for level in (0, 5))
    name = "temperature -2.5"
    bias = Process("observations", 1.0, 1e9, name)
    streams = stream(top + 0.5, 0.05, height=-2.5), stream(deep, 0.05, height=-27.5)
    sea = dataclasses.replace(stream(top, 0.05), operator=Operator("sea_surface_temperature"))
    run = assimilation(method, *streams, sea, processes=(bias,))
    every = run.run().every
    assert every.processes[-1, 0] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(every.analysis[-1], truth.state.temperature[-1], atol=0.1)
    with error_naming(ValueError, "processes sea_surface_temperature temperature -20 observations"):
        assimilation(method, sea, processes=(Process("observations", 1.0, 1e9, "temperature -20"),))


@pytest.mark.long
def test_forecasts_have_the_weather_of_the_same_days_of_other_years():
    """Two years of cooling, one without: each member's forecast is a run with the weather of its year."""
    day = 86400.0
    dates = jnp.array([0.0, 365.0, 365.0 + 1e-6, 1100.0]) * day
    heat = jnp.array([-400.0, -400.0, 50.0, 50.0])
    forcing = TimeSeriesForcing(dates, SurfaceFluxes(stress_u=jnp.full(4, 0.1), heat_flux=heat))
    case = dataclasses.replace(column(days=800.0), forcing=forcing, start_time="2001-01-01T00:00:00")
    values = dataclasses.replace(stream([12.0, 12.0]), time=day * (366.0 + np.array([0.25, 0.5])))
    method, start = EnsembleTransform(3), 366.0 * day
    options = {"case": case, "processes": (), "start": start, "end": start + 2 * INTERVAL}
    run = assimilation(method, values, **options, weather_years=(2001, 2002))
    records = run.run()
    members = records.every.ensemble[0, :, 0]  # (frame, year and member)
    assert members.shape == (2, 6)
    cold, warm = members[:, :3], members[:, 3:]
    # A day's quarter of 450 W m-2 over five metres mixed with the rest: the years part by tenths of a degree.
    assert (warm.mean(axis=1) - cold.mean(axis=1) > 0.05).all()
    np.testing.assert_allclose(records.every.forecast[0, :, 0], members.mean(axis=1), rtol=1e-6)
    skill = records.skill(0)
    y = records.observed("values")[1, 0]
    x = np.asarray(members[0], float)
    expected = np.abs(x - y).mean() - 0.5 * np.abs(x[:, None] - x).mean()
    assert skill is not None and skill.crps == pytest.approx(expected, rel=1e-6)
    with error_naming(ValueError, "weather_years covers 2001-01-01T00:00:00 1999"):
        assimilation(method, values, **options, weather_years=(1999,))


@pytest.mark.long
def test_climatology_is_what_was_observed_in_earlier_years():
    day, year = 86400.0, 365.2425 * 86400.0
    time = np.concatenate([[0.3 * day, year + 0.6 * day], 2.0 * year + INTERVAL * np.arange(1.0, 4.0)])
    seen = np.array([10.0, 13.0, 12.0, 12.5, 13.0])
    values = dataclasses.replace(stream(seen, 1.0), time=np.rint(time / HOUR) * HOUR)
    begin = float(values.time[2]) - INTERVAL
    run = assimilation(Climatology(), values, case=column(days=800.0), processes=(), start=begin)
    records = run.run()
    np.testing.assert_allclose(records.innovation()[1:, 0, 0], [12.5 - 11.5, 13.0 - 11.5], atol=1e-6)
    # Two members 3 K apart: mean distances of 1.5 K, less half the mean distance of members, 0.75 K.
    np.testing.assert_allclose(records.crps()[1, 0, 0], 1.5 - 0.75, atol=1e-6)
    single = assimilation(Persistence(), stream([1.0, 3.0, 2.0])).run()
    np.testing.assert_allclose(single.crps()[1:, 0, 0], [2.0, 1.0])


@pytest.mark.long
def test_chlorophyll_changes_pools_and_two_parameters(config):  # noqa: F811
    given = yaml.safe_load(CONFIG)
    life = {"name": "biogeochemistry", "models": {"npzd": {"name": "npzd", "w_p": 0.0, "w_d": 0.0}}}
    life["initial"] = {"npzd_nut": 5.0, "npzd_phy": 0.3, "npzd_zoo": 0.1}
    given["run"]["case"]["terms"] = {"life": life}
    given["run"]["case"]["fluxes"]["shortwave_flux"] = 150.0
    given["observations"] |= {"variable": "npzd_phy", "depth": 2.5, "factor": 1.6, "logarithm": True}
    given["uncertainty"]["parameters"] = {
        f"case.terms.life.models.npzd.{name}": {
            "prior": "log_normal",
            "median": x,
            "log_standard_deviation": 0.5,
        }
        for name, x in (("rmax", 1.0), ("gmax", 0.5))
    }
    del given["uncertainty"]["processes"][1]
    config.write_text(yaml.safe_dump(given))
    write_sst(np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2]))  # faster growth than the model's
    invoked("assimilate", "six_cells.yaml", "--output", "out.nc")
    with xr.open_dataset("out.nc", decode_timedelta=False) as found:
        before, after = (np.abs(found.observation - found[name]) for name in ("predicted", "fitted"))
        assert after.mean() < before.mean()
        rate = found["parameter_case_terms_life_models_npzd_rmax"]
        assert rate[-1] > 1.05 and np.isfinite(found["parameter_case_terms_life_models_npzd_gmax"]).all()


@pytest.mark.long
@pytest.mark.parametrize("method", [EnsembleTransform(6), Variational(n_outer=1)])
def test_a_window_without_observations_changes_nothing(method):
    whole = stream([13.0, 13.1, 13.2])
    values = dataclasses.replace(
        whole, time=whole.time[[0, 2]], values=whole.values[[0, 2]], error=whole.error[:2]
    )
    every = assimilation(method, values).run().every
    np.testing.assert_allclose(every.analysis[1], every.background[1], rtol=0, atol=1e-12)
    assert np.abs(every.analysis[2] - every.background[2]).max() > 1e-3
