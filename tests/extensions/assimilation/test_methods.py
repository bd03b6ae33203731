"""Analyses, instruments and forecasts against formulas that need no ensemble."""

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
from tunax_lite import Observations, simulate
from tunax_lite.column.observables import ColumnState
from tunax_lite.extensions import assimilation as da
from tunax_lite.extensions.assimilation.methods import Nudging, transformed, weights_of
from tunax_lite.extensions.assimilation.observing import build_streams, observations_on_frames
from tunax_lite.extensions.assimilation.results import to_dataset


def kalman(mean, covariance, h, values, variance):
    innovation = h @ covariance @ h.T + np.diag(variance)
    gain = covariance @ h.T @ np.linalg.inv(innovation)
    return mean + gain @ (values - h @ mean), covariance - gain @ h @ covariance


def test_transform_is_the_kalman_filter_of_the_covariance_of_the_members():
    random = np.random.default_rng(3)
    members = random.normal(size=(4, 9))
    h = random.normal(size=(3, 4))
    values, variance = random.normal(size=3), np.array([0.3, 1.0, 0.5])
    weights = weights_of(jnp.asarray(h @ members), jnp.asarray(values), jnp.asarray(1.0 / variance))
    after = np.asarray(transformed(jnp.asarray(members), weights, 0.0))
    mean, covariance = kalman(members.mean(axis=1), np.cov(members), h, values, variance)
    # Round-off of matrices of condition 100.
    np.testing.assert_allclose(after.mean(axis=1), mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.cov(after), covariance, rtol=0, atol=1e-12)
    relaxed = transformed(jnp.asarray(members), weights, 1.0)  # to the spread of the background
    np.testing.assert_allclose(np.std(relaxed, axis=1), np.std(members, axis=1), rtol=1e-12)


def test_first_members_have_the_covariance_of_the_prior():
    error = da.ProfileError("temperature", 0.5, 10.0, decay=20.0)
    z = np.array([-20.0, -10.0, 0.0])
    factor = np.asarray(error.factor(jnp.asarray(z)))
    size = 0.5 * np.exp(z / 20.0)
    expected = size[:, None] * size * np.exp(-0.5 * ((z[:, None] - z) / 10.0) ** 2)
    np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-14)


@pytest.mark.long
def test_processes_forget_and_keep_their_variance():
    run = assimilation(
        da.FreeRun(4000), stream([12.0]), processes=(da.Process("heat_flux_bias", 30.0, INTERVAL),)
    )
    first = run.system.members(jax.random.key(1), 4000)
    knots = run.system.draw_processes(first, jax.random.key(2), INTERVAL, 3)[0]
    # 4000 members know a standard deviation to 1.1 %, a correlation to 0.016: three times that.
    np.testing.assert_allclose(np.std(knots, axis=1), 30.0, rtol=0.035)
    assert np.corrcoef(knots[0], knots[1])[0, 1] == pytest.approx(np.exp(-1.0), abs=0.05)
    assert np.corrcoef(knots[0], knots[2])[0, 1] == pytest.approx(np.exp(-2.0), abs=0.05)


def test_free_run_is_simulate_and_its_forecast_the_same_run():
    values = 12.0 + 0.1 * np.arange(4)
    run = assimilation(da.FreeRun(), stream(values))
    records = run.run()
    alone = simulate(run.system.model, column(), dt=HOUR, duration=4 * INTERVAL, output_interval=INTERVAL)
    surface = np.asarray(alone.state.temperature[1:, -1])
    np.testing.assert_allclose(records.by_cycle.background, alone.state.temperature[1:], atol=1e-10)
    innovation = records.innovation()[..., 0]
    # A forecast of one interval exists from the second observation on, of two from the third.
    known = [[False, False], [True, False], [True, True], [True, True]]
    np.testing.assert_array_equal(np.isfinite(innovation), known)
    np.testing.assert_allclose(innovation[1:, 0], (values - surface)[1:], atol=1e-10)
    np.testing.assert_allclose(innovation[2:, 1], (values - surface)[2:], atol=1e-10)


def test_observations_between_analyses_judge_the_nearest_forecast():
    # One hour before, and ten minutes after analyses: one step, and none.
    time = np.array([6.0, 11.0, 18.0 + 1.0 / 6.0, 23.0]) * HOUR
    seen = dataclasses.replace(stream([12.0] * 4), time=time)
    run = assimilation(da.FreeRun(), seen, end=4 * INTERVAL)
    records = run.run()
    alone = simulate(run.system.model, column(), dt=HOUR, duration=4 * INTERVAL, output_interval=HOUR)
    surface = np.asarray(alone.state.temperature)[[11, 18, 23], -1]
    np.testing.assert_allclose(records.innovation()[1:, 0, 0], 12.0 - surface, rtol=0, atol=1e-10)
    np.testing.assert_allclose(records.forecast_period()[1:, 0], np.array([5.0, 6.0, 5.0]) * HOUR)
    assert not run.notes()
    repeated = dataclasses.replace(seen, time=np.array([6.0, 11.0, 11.1, 18.0]) * HOUR)
    (note,) = assimilation(da.FreeRun(), repeated, end=3 * INTERVAL).notes()
    assert "1 of 4 observations are replaced" in note
    half = dataclasses.replace(seen, time=INTERVAL * np.arange(0.5, 4.0))
    with error_naming(ValueError, "leads 10800 21600 start"):
        assimilation(da.FreeRun(), half, end=4 * INTERVAL).notes()


@pytest.mark.long
def test_an_average_is_that_of_the_steps_around_the_time_of_the_observation():
    case = column(heat_flux=800.0, days=1.0)
    values = 12.0 + 0.1 * np.arange(4)
    run = assimilation(da.FreeRun(), stream(values), case=case, of_system={"average": 2.0 * INTERVAL})
    records = run.run()
    alone = simulate(run.system.model, case, dt=HOUR, duration=4 * INTERVAL, output_interval=HOUR)
    surface = np.asarray(alone.state.temperature[1:, -1])
    around = np.array([surface[6 * k : 6 * k + 12].mean() for k in range(3)])
    # The weather ends with the last observation: the mean is that of what is there.
    expected = np.append(around, surface[18:].mean())
    np.testing.assert_allclose(records.observed("predicted")[:, 0], expected, atol=1e-10)
    innovation = records.innovation()[..., 0]
    np.testing.assert_allclose(innovation[1:, 0], (values - expected)[1:], atol=1e-10)
    np.testing.assert_allclose(records.by_cycle.background, alone.state.temperature[6::6], atol=1e-10)
    with error_naming(ValueError, "observations.average 43200 64800"):
        _ = assimilation(da.FreeRun(), stream(values), of_system={"average": 3.0 * INTERVAL}).frames


def test_persistence_is_the_difference_of_observations():
    values = np.array([12.0, 12.5, 12.1, 13.0])
    innovation = assimilation(da.Persistence(), stream(values)).run().innovation()[..., 0]
    np.testing.assert_allclose(innovation[1:, 0], np.diff(values), atol=1e-12)
    np.testing.assert_allclose(innovation[2:, 1], values[2:] - values[:-2], atol=1e-12)


def test_nudging_adds_its_part_of_the_departure():
    run = assimilation(Nudging(gain=0.5, depth=10.0), stream([14.0]), case=column(heat_flux=0.0))
    record = run.run().by_cycle
    z = np.asarray(run.system.case.grid.z_center)
    departure = 14.0 - record.predicted[0, 0, 0]
    np.testing.assert_allclose((record.analysis - record.background)[0], 0.5 * departure * np.exp(z / 10.0))
    deep = dataclasses.replace(stream([13.0], height=-10.0), withheld=True)
    current = dataclasses.replace(stream([0.1]), operator=da.Operator("u", -10.0), withheld=True)
    several = assimilation(Nudging(gain=0.5, depth=10.0), stream([14.0]), deep, current)
    record = several.run().by_cycle
    added = (record.fitted - record.predicted)[0, 0]
    np.testing.assert_allclose(added, added[0] * np.array([1.0, np.exp(-1.0), 0.0]))


def test_nudging_names_observations_that_it_cannot_use():
    current = dataclasses.replace(stream([0.1]), operator=da.Operator("u", -10.0))
    notes = assimilation(Nudging(), stream([14.0]), current).notes()
    assert any(note.startswith("method: observations of u -10 only judge forecasts") for note in notes)
    with pytest.raises(ValueError) as error:
        assimilation(Nudging(), current)
    assert "expected observations of temperature for nudging" in str(error.value)


@pytest.mark.long
def test_localisation_leaves_deep_water_alone():
    near = assimilation(da.EnsembleTransform(20, localisation=4.0), stream([13.0]))
    record = near.run().by_cycle
    increment = np.abs(record.analysis - record.background)[0]
    assert increment[-1] > 0.1
    # exp(-(27.5 / 4)² / 2) is 5e-11 of the precision at the lowest cell.
    assert increment[0] < 1e-8


@pytest.mark.long
def test_background_check_leaves_a_wild_value_out():
    wild = assimilation(da.EnsembleTransform(20), stream([12.0, 40.0]), background_check=4.0)
    records = wild.run()
    np.testing.assert_array_equal(records.observed("used")[:, 0], [True, False])
    np.testing.assert_array_equal(records.by_cycle.analysis[1], records.by_cycle.background[1])


def test_skill_is_that_of_the_judged_observations_and_its_interval_holds_it():
    values = np.random.default_rng(0).normal(size=60)
    run = assimilation(da.Persistence(), stream(values), case=column(days=20.0), judged_from=20 * INTERVAL)
    skill = run.run().skill(0, block=4 * INTERVAL)
    # The value at the 20th interval is the first that counts.
    expected = np.diff(values)[18:]
    assert skill is not None and skill.number == expected.size == 41
    assert skill.rms == pytest.approx(np.sqrt(np.mean(expected**2)))
    assert skill.mean == pytest.approx(np.mean(expected))
    assert skill.lower < skill.rms < skill.upper
    # 41 values hold two blocks of 20, but not of 21.
    intervals = [run.run().skill(0, block=n * INTERVAL) for n in (20, 21)]
    assert [np.isfinite([each.lower, each.upper]).tolist() for each in intervals if each] == [
        [True, True],
        [False, False],
    ]


@pytest.mark.long
@pytest.mark.parametrize("method", [da.EnsembleTransform(8)])
def test_withheld_values_judge_and_change_nothing(method):
    values = stream([13.0, 13.1, 13.2])
    deep = dataclasses.replace(stream([15.0, 15.0, 15.0], height=-22.5), withheld=True)
    records, alone = (assimilation(method, *streams).run() for streams in ((values, deep), (values,)))
    np.testing.assert_allclose(records.by_cycle.analysis, alone.by_cycle.analysis, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(records.observed("used"), [[True, False]] * 3)
    assert np.isfinite(records.innovation()[1:, 0, 1]).all()


def test_depths_choose_values_of_profiles():
    z, profiles = jnp.array([-20.0, -10.0, -1.0]), {"temperature": jnp.ones((2, 3))}
    seen = Observations(time=jnp.array([0.0, 1.0]), z=z, profiles=profiles)
    given = seen, ["temperature"], {"temperature": 0.1}
    found = build_streams(*given, [1.0, 20.0], [20.0])
    assert [(each.operator.height, each.withheld) for each in found] == [(-20.0, True), (-1.0, False)]
    with error_naming(ValueError, "depths 1, 10, 20 m 7 m"):
        build_streams(*given, [7.0])
    with error_naming(ValueError, "depths 1 m 10 m"):
        build_streams(*given, [1.0], [10.0])


@pytest.mark.long
def test_growth_adds_errors_of_the_same_shape_to_the_water():
    run = assimilation(da.FreeRun(400), stream([12.0]))
    system = run.system
    start = system.members(jax.random.key(0), 400)
    error = da.ProfileError("temperature", 0.5, 10.0, decay=20.0, growth=0.1)
    system = dataclasses.replace(system, profiles=(error,))
    after = system.with_model_error(start, jax.random.key(1), 4 * 86400.0)
    added = np.asarray(after.now.state.temperature - start.now.state.temperature)
    np.testing.assert_allclose(added.mean(axis=1), 0.0, atol=1e-12)
    z = np.asarray(column().grid.z_center)
    expected = 0.2**2 * np.exp((z[:, None] + z) / 20.0 - 0.5 * ((z[:, None] - z) / 10.0) ** 2)
    # 400 members know a variance to 7 %.
    np.testing.assert_allclose(np.cov(added), expected, rtol=0, atol=0.25 * 0.2**2)
    np.testing.assert_array_equal(after.now.state.salinity, start.now.state.salinity)
    spreads = []
    for growth in (0.0, 1.0):
        system = dataclasses.replace(system, profiles=(dataclasses.replace(error, growth=growth),))
        spreads.append(dataclasses.replace(run, system=system).run().by_cycle.background_spread)
    assert (spreads[1] > spreads[0]).all()


def test_values_count_in_frames_at_multiples_of_an_interval():
    ten = 10.0 * INTERVAL
    times = np.array([0.1, 0.95, 1.02, 2.2, 4.0]) * ten
    values = da.Stream(da.Operator("sea_surface_temperature"), times, np.arange(5.0), np.ones(5))
    found = values.at_multiples(ten)
    np.testing.assert_allclose(found.time, np.array([1.0, 2.0, 4.0]) * ten)
    np.testing.assert_array_equal(found.values, [2.0, 3.0, 4.0])
    frames = observations_on_frames([stream([1.0, 2.0, 3.0])], INTERVAL, INTERVAL, 3)
    np.testing.assert_array_equal(frames.values[:, 0], [2.0, 3.0, 0.0])
    np.testing.assert_allclose(frames.precision[:, 0], [100.0, 100.0, 0.0])


def water_with(**tracers: float) -> ColumnState:
    case = column()
    pools = {name: jnp.full(6, value) for name, value in tracers.items()}
    state = dataclasses.replace(case.initial_state, tracers=pools, u=0.1 * jnp.arange(6.0))
    return ColumnState(state, case.grid, case.equation_of_state)


def test_a_pool_is_shown_as_the_logarithm_of_chlorophyll():
    assert float(da.Operator("u", -10.0)(water_with())) == pytest.approx(0.35)  # between 0.3 and 0.4
    assert da.Operator("u", -0.0).label == "u 0"
    operator = da.Operator("npzd_phy", -5.0, 1.6, True)
    shown = jax.jacrev(lambda value: operator(water_with(npzd_phy=value)))
    assert float(operator(water_with(npzd_phy=0.5))) == pytest.approx(np.log10(0.8))
    assert float(shown(0.5)) == pytest.approx(1.0 / (0.5 * np.log(10.0)))
    assert float(operator(water_with(npzd_phy=0.0))) == pytest.approx(-3.0)  # the least that it shows
    with error_naming(ValueError, "npzd_ph npzd_phy"):
        da.Operator("npzd_ph", -5.0).check(("npzd_phy",), 30.0)


@pytest.mark.parametrize(
    ("options", "units"),
    [({}, ["degC", "K"]), ({"logarithm": True}, ["1", "1"]), ({"factor": 2.0}, ["1", "1"])],
)
def test_results_of_converted_values_have_no_unit_of_the_variable(options, units):
    operator = da.Operator("sea_surface_temperature", None, **options)
    values = dataclasses.replace(stream([12.0] * 2), operator=operator)
    run = assimilation(da.Persistence(), values)
    results = to_dataset(run, run.run())
    assert [results[name].attrs["units"] for name in ("observation", "innovation")] == units


@pytest.mark.long
@pytest.mark.parametrize("method", [da.EnsembleTransform(40), da.Variational(n_outer=1, processes=1.0)])
def test_the_bias_of_one_instrument_is_found_and_stays_out_of_the_water(method):
    truth = simulate(MODEL, column(), dt=HOUR, duration=8 * INTERVAL, output_interval=INTERVAL)
    deep, top = (np.asarray(truth.state.temperature[1:, level]) for level in (0, 5))
    name = "temperature -2.5"
    bias = da.Process("observations", 1.0, 1e9, name)
    streams = stream(top + 0.5, 0.05, height=-2.5), stream(deep, 0.05, height=-27.5)
    sea = dataclasses.replace(stream(top, 0.05), operator=da.Operator("sea_surface_temperature"))
    run = assimilation(method, *streams, sea, processes=(bias,))
    every = run.run().by_cycle
    assert every.processes[-1, 0] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(every.analysis[-1], truth.state.temperature[-1], atol=0.1)
    with error_naming(ValueError, "processes sea_surface_temperature temperature -20 observations"):
        assimilation(method, sea, processes=(da.Process("observations", 1.0, 1e9, "temperature -20"),))


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
