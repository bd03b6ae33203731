"""Targets and the misfit: what is compared, where and when, by which operators, and with which weights."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import gsw
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.twins import CHEAP_FREE, make_case, observe
from tests.errors import error_naming
from tunax_lite import calibration as cal
from tunax_lite.calibration import MeanSquare, RootMeanSquare, Target, errors_and_run, misfit, residuals
from tunax_lite.calibration.observed import AtCenters, faces_from_centers
from tunax_lite.calibration.problem import GradientEvaluator, Problem
from tunax_lite.column.observables import OBSERVABLES, ColumnState, observable, unit_of_difference
from tunax_lite.physics import Teos10
from tunax_lite.physics.equation_of_state import SpecificVolumeTeos10
from tunax_lite.runtime.engine import ThisProcess

DT = 300.0
MODEL = tl.Model(tl.PacanowskiPhilander())
FREE = CHEAP_FREE.resolve(MODEL.closure)
TRUTH = tl.Model(tl.PacanowskiPhilander(alpha=4.0))
CASE = make_case(0.1, -200.0)
CENTERS = np.asarray(CASE.grid.z_center)


def _noisy(case=CASE) -> tl.Observations:
    clean = observe(TRUTH, case, dt=DT, interval=1800.0)
    random = np.random.default_rng(1)
    noise = {name: 0.01 * random.standard_normal(values.shape) for name, values in clean.profiles.items()}
    profiles = {name: clean.profiles[name] + jnp.asarray(added) for name, added in noise.items()}
    return dataclasses.replace(clean, profiles=profiles)


OBSERVED, CLEAN = _noisy(), observe(TRUTH, CASE, dt=DT, interval=1800.0)


def _modelled(name: str, interval: float = DT) -> np.ndarray:
    return np.asarray(getattr(tl.simulate(MODEL, CASE, dt=DT, output_interval=interval).state, name))


def _misfit(target: Target, score=None) -> float:
    return float(misfit(MODEL, target.comparison, score or MeanSquare(), tl.SaveSegments())[0])


def test_misfit_equals_a_plain_computation():
    gap = np.array(OBSERVED.profiles["u"])
    gap[3, 2:5] = np.nan
    observed = dataclasses.replace(OBSERVED, profiles={**OBSERVED.profiles, "u": jnp.asarray(gap)})
    weights = {"temperature": 2.0, "u": 0.5, "v": 0.0}
    windows: dict[str, Any] = {"time_window": (3600.0, 9000.0), "depth_window": (-50.0, -6.0)}
    target = Target(CASE, observed, weights, dt=DT, scale=cal.ZScore(), **windows)
    time, z = np.asarray(observed.time), np.asarray(observed.z)
    inside = np.ix_((time >= 3600.0) & (time <= 9000.0), (z >= -50.0) & (z <= -6.0))
    _, found = misfit(MODEL, target.comparison, MeanSquare(), tl.SaveSegments())
    expected = 0.0
    for name, weight in weights.items():
        truth = np.asarray(observed.profiles[name])[inside]
        square = np.nanmean((_modelled(name, 1800.0)[inside] - truth) ** 2)
        assert float(found[name]) == pytest.approx(square, rel=1e-12)  # physical, also of weight 0
        expected += weight * square / np.nanstd(truth) ** 2 / 2.5
    assert _misfit(target) == pytest.approx(expected, rel=1e-12)
    assert _misfit(target, RootMeanSquare()) == pytest.approx(math.sqrt(expected), rel=1e-12)
    uncertain = dataclasses.replace(OBSERVED, uncertainty={"temperature": jnp.asarray(0.1)})
    target = Target(CASE, uncertain, dt=DT)
    scaled = dataclasses.replace(target, scale=cal.Uncertainty())
    assert _misfit(scaled) == pytest.approx(100.0 * _misfit(target), rel=1e-12)


def test_other_times_and_heights_are_interpolated():
    times, z = np.array([0.0, 1000.0, 4321.0, 10000.0]), np.array([-63.5, -40.3, -33.3, -0.4])
    twenty = {"temperature": jnp.full((4, 4), 20.0)}
    target = Target(CASE, tl.Observations(jnp.asarray(times), jnp.asarray(z), twenty), dt=DT)
    steps = np.arange(len(_modelled("temperature"))) * DT
    at_z = np.stack([np.interp(z, CASE.grid.z_center, profile) for profile in _modelled("temperature")])
    at_times = np.stack([np.interp(times, steps, at_z[:, level]) for level in range(4)], axis=1)
    assert target.comparison.n_frames == 34  # no step after the last observation
    assert _misfit(target) == pytest.approx(np.mean((at_times - 20.0) ** 2), rel=1e-12)


def test_frames_meet_the_observed_times_and_no_others():
    comparison = Target(CASE, OBSERVED, dt=DT, time_window=(3600.0, 7200.0)).comparison
    assert (comparison.steps_per_frame, comparison.n_frames) == (6, 4)
    assert comparison.in_time is None and {type(one.operator) for one in comparison.variables.values()} == {
        AtCenters
    }
    coarse = Target(CASE, OBSERVED, dt=DT, frame_interval=5400.0).comparison
    assert coarse.steps_per_frame == 18 and coarse.in_time is not None
    # Of seven, every 1800 s: the last of each of so many equal parts.
    few = Target(CASE, OBSERVED, dt=DT, most_times=3)
    np.testing.assert_array_equal(np.asarray(OBSERVED.time)[few.times], [3600.0, 7200.0, 10800.0])
    inside = dataclasses.replace(few, time_window=(0.0, 5400.0), most_times=1)
    np.testing.assert_array_equal(np.asarray(OBSERVED.time)[inside.times], [5400.0])


def test_scores_at_zero_and_of_a_run_that_broke_down():
    for score, expected in ((MeanSquare(), (0.0, 1.0)), (RootMeanSquare(), (0.0, 0.0))):
        assert jax.value_and_grad(score)(jnp.zeros(())) == expected
        assert jnp.isnan(score(jnp.asarray(jnp.nan)))


def test_a_run_ends_with_the_last_observation_that_is_used():
    target = Target(CASE, OBSERVED, dt=DT, time_window=(0.0, 5400.0))
    assert target.times_of_run() == {"dt": 300.0, "duration": 5400.0, "output_interval": 5400.0}
    whole = dataclasses.replace(target, time_window=(0.0, math.inf))
    # 36 steps in at most five frames: nine steps each.
    assert whole.times_of_run(5) == {"dt": 300.0, "duration": 10800.0, "output_interval": 2700.0}


@pytest.fixture(scope="module")
def evaluated():
    targets = [
        Target(case, _noisy(case), {"temperature": 1.0, "u": 1.0}, weight=weight, dt=DT)
        for case, weight in ((CASE, 1.0), (make_case(0.2, 50.0), 3.0), (make_case(0.05, 0.0), 0.0))
    ]
    return targets, GradientEvaluator(Problem(MODEL, FREE, targets, RootMeanSquare()), ThisProcess(2))


@pytest.mark.long
def test_loss_is_the_weighted_mean_of_the_scores(evaluated):
    targets, evaluate = evaluated
    first, *others = (evaluate(FREE.start()) for _ in range(4))
    assert evaluate.program.n_compiled == 1  # of cases of equal shape
    for target, score in zip(targets, first.scores, strict=True):
        assert score == pytest.approx(_misfit(target, RootMeanSquare()), rel=1e-12)
    assert first.loss == pytest.approx((first.scores[0] + 3.0 * first.scores[1]) / 4.0)
    for other in others:  # threads do not change a bit
        assert other.loss == first.loss
        np.testing.assert_array_equal(other.gradient, first.gradient)


def test_gradient_equals_central_differences(evaluated):
    _, evaluate = evaluated
    x = np.asarray(FREE.start())
    for slope, step in zip(evaluate(jnp.asarray(x)).gradient, 1e-5 * np.eye(x.size), strict=True):
        ahead, behind = (evaluate(jnp.asarray(x + way * step)).loss for way in (1.0, -1.0))
        # Error of the difference: step² and round-off of the loss (1e-15 of 1e-2) over the step.
        assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-6, abs=1e-10)


@pytest.mark.long
def test_a_case_without_weight_cannot_spoil_the_loss():
    # Fluxes that no constructor accepts.
    broken = eqx.tree_at(
        lambda case: (case.forcing.fluxes.stress_u, case.forcing.fluxes.heat_flux),
        make_case(0.1, 0.0),
        (jnp.asarray(1e200), jnp.asarray(1e300)),
    )
    targets = [
        Target(CASE, observe(MODEL, CASE, dt=DT, interval=1800.0), dt=DT),
        Target(broken, dataclasses.replace(OBSERVED, name="broken"), weight=0.0, dt=DT),
    ]
    evaluation = GradientEvaluator(Problem(MODEL, FREE, targets, MeanSquare()))(FREE.start())
    assert not np.isfinite(evaluation.scores[1])
    # A perfect fit; compiled with its gradient, sums may differ in round-off from those of the plain run.
    assert evaluation.is_finite and evaluation.loss < 1e-24
    assert np.abs(evaluation.gradient).max() < 1e-12


def test_bad_targets_are_refused():
    profile, time = OBSERVED.profiles["temperature"], jnp.array([0.0, 3600.0])
    nan, constant = (
        dataclasses.replace(OBSERVED, profiles={"temperature": jnp.full(profile.shape, value)})
        for value in (jnp.nan, 20.0)
    )
    start_alone = {"temperature": profile.at[1:].set(jnp.nan)}
    first_alone = dataclasses.replace(OBSERVED, profiles=start_alone)
    deep = dataclasses.replace(OBSERVED, z=OBSERVED.z - 30.0)
    short = tl.TimeSeriesForcing(time, tl.SurfaceFluxes(stress_u=np.array([0.1, 0.1])))
    temperature = {"temperature": profile[:, :2]}
    instruments = {"observations": tl.Observations(OBSERVED.time, jnp.array([-50.0, -10.0]), temperature)}
    velocity = dataclasses.replace(OBSERVED, profiles={"u": OBSERVED.profiles["u"]})
    depth = {"weights": {"mixed_layer_depth": 1.0}}
    batch = dataclasses.replace(CASE, coriolis_parameter=jnp.array([0.0, 1e-4]))
    for change, message in (
        ({"weights": {"salt": 1.0}}, "salt temperature u v"),
        ({"weights": {"temperature": math.nan}}, "weight temperature nan"),
        ({"weights": {}}, "weight {}"),
        ({"weight": -1.0}, "weight 0 -1"),
        ({"time_window": (1.0, 2.0)}, "time_window 1 2 0 10800"),
        ({"observations": first_alone}, "start 0"),  # compares the initial profile with itself
        ({"depth_window": (-1000.0, -100.0)}, "depth_window -1000 -100 -62 -2"),
        ({"dt": math.nan}, "dt"),
        ({"frame_interval": 400.0}, "frame_interval dt 300 400"),
        ({"scale": cal.Uncertainty()}, "uncertainty temperature"),
        ({"observations": nan}, "temperature NaN"),
        ({"observations": constant, "scale": cal.ZScore()}, "temperature 0"),
        ({"observations": deep}, "depth_window -64 -92 -32"),
        ({"case": dataclasses.replace(CASE, duration=3600.0)}, "time_window 0 3600 10800"),
        ({"case": dataclasses.replace(CASE, forcing=short)}, "forcing 0 10800 3600"),
        ({"case": batch}, "(2,)"),
        ({**depth, "observations": velocity}, "mixed_layer_depth u"),
        # Two instruments, at 50 and at 10 m: nothing says how much heat is below them.
        ({**instruments, "weights": {"heat_content": 1.0}}, "heat_content NaN 10"),
        ({"averaging": "cell_mean"}, "averaging points cell_means cell_mean"),
        ({"reduction": "max"}, "reduction mean sum max"),
    ):
        with error_naming(ValueError, message):
            _ = dataclasses.replace(Target(CASE, OBSERVED, dt=DT), **change).comparison
    target = Target(CASE, OBSERVED, dt=DT)
    for targets, message in (
        ([], "targets none"),
        ([target, target], "stress 0.1 heat -200"),
        ([dataclasses.replace(target, weight=0.0)], "targets weight 0"),
    ):
        with error_naming(ValueError, message):
            Problem(MODEL, FREE, targets, MeanSquare())


@pytest.mark.long
@pytest.mark.parametrize("water", [Teos10(), SpecificVolumeTeos10()])
def test_temperatures_of_the_surface_are_compared_in_situ(water):
    """In fresh water the conservative temperature is 5 % above 20 degC, which the instrument shows."""
    conservative = float(gsw.CT_from_t(0.0, 20.0, 0.0))
    assert conservative == pytest.approx(21.045, abs=1e-3)
    grid = tl.Grid.uniform(10.0, 4)
    state = tl.State.from_profiles(grid, temperature=conservative, salinity=0.0)
    still = tl.ConstantForcing(tl.SurfaceFluxes())
    lake = tl.Case(grid, state, still, equation_of_state=water, duration=3600.0, name="lake")
    times = jnp.array([0.0, 1800.0, 3600.0])
    profiles = {"temperature": jnp.full((3, 4), conservative)}
    series = {"sea_surface_temperature": jnp.full(3, 20.5)}
    weights = {"sea_surface_temperature": 1.0, "potential_temperature": 1.0}
    target = Target(lake, tl.Observations(times, grid.z_center, profiles, series=series), weights, dt=DT)
    found = errors_and_run(MODEL, target.comparison)[0]
    # Half a degree too cold; the polynomial of TEOS-10 is good to 5 mK.
    assert found["sea_surface_temperature"].mean == pytest.approx(-0.5, abs=5e-3)
    assert found["potential_temperature"].root_mean_square < 1e-12
    linear = dataclasses.replace(lake, equation_of_state=tl.LinearEquationOfState())
    carried = dataclasses.replace(target, case=linear, weights={"sea_surface_temperature": 1.0}).comparison
    as_carried = errors_and_run(MODEL, carried)[0]["sea_surface_temperature"]
    assert as_carried.mean == pytest.approx(conservative - 20.5, abs=1e-9)


NAMES = (*OBSERVABLES, "heat_content_above_6m", "potential_energy_anomaly_above_30m", "temperature", "u")
# Without the start, where N² is the same at all faces and its largest one chance.
ALL = Target(CASE, CLEAN, dict.fromkeys(NAMES, 1.0), dt=DT, averaging="cell_means", time_window=(1.0, 1e9))
run_residuals = eqx.filter_jit(residuals)
run_misfit = eqx.filter_jit(lambda model, given: misfit(model, given, MeanSquare(), tl.SaveSegments())[0])


def with_alpha(alpha) -> tl.Model:
    return eqx.tree_at(lambda m: m.closure.alpha, MODEL, jnp.asarray(alpha))


@pytest.fixture(scope="module")
def all_found():
    """All observables relative to their largest values: residuals, and what these change with alpha."""
    comparison = ALL.comparison
    scaled = {
        name: dataclasses.replace(
            one, factor=jnp.asarray(1.0 / max(float(jnp.max(jnp.abs(one.observed))), 1e-30) ** 2)
        )
        for name, one in comparison.variables.items()
    }
    comparison = dataclasses.replace(comparison, variables=scaled)

    def slopes(alpha):
        return jax.jvp(lambda a: residuals(with_alpha(a), comparison)[0], (alpha,), (jnp.ones_like(alpha),))

    return comparison, *jax.jit(slopes)(jnp.asarray(5.0))


def test_observables_of_two_layers():
    grid, eos = tl.Grid.uniform(40.0, 20), tl.LinearEquationOfState()
    state = tl.State.from_profiles(grid, temperature=lambda z: jnp.where(z > -20.0, 20.0, 10.0), u=0.2)
    water = ColumnState(state, grid, eos)
    heat = float(eos.reference_density * eos.heat_capacity)
    expected = {
        "sea_surface_temperature": 20.0,
        "heat_content_above_30m": heat * (20.0 * 20.0 + 10.0 * 10.0),
        "heat_content_above_21m": heat * (20.0 * 20.0 + 10.0),
        "salt_content_above_10m": 1.027 * 35.0 * 10.0,
        "kinetic_energy": 0.5 * 1027.0 * 0.04 * 40.0,
        # Two layers of thickness d: g (rho_1 - rho_2) d / 4 per volume, of 1027 kg m-3 times the buoyancy.
        "potential_energy_anomaly": 1027.0 * 9.81 * 2e-4 * 10.0 * 20.0 / 4.0,
        "potential_energy_anomaly_above_20m": 0.0,
        "mixed_layer_depth_stratification": 20.0,
    }
    for name, value in expected.items():
        assert float(observable(name)(water)) == pytest.approx(value, rel=1e-12, abs=1e-12), name
    units = [unit_of_difference(name) for name in ("sea_surface_temperature", "heat_content_above_5m")]
    assert units == ["K", "J m-2"]


def test_heights_that_move_and_numbers_beside_them():
    times = np.array([600.0, 1500.0, 4321.0])
    z = np.array([[-60.0, -33.3, -0.4], [-41.0, -7.0, np.nan], [-30.0, -20.0, -11.0]])
    values = np.where(np.isfinite(z), 20.0, np.nan)
    values[2, 1] = np.nan
    profiles = {"temperature": jnp.asarray(values)}
    series = {"sea_surface_temperature": jnp.array([19.0, jnp.nan, 19.5])}
    given = {"series": series, "rejected": {"temperature": 3}}
    observed = tl.Observations(jnp.asarray(times), jnp.asarray(z), profiles, **given)
    target = Target(CASE, observed, {"temperature": 1.0, "sea_surface_temperature": 2.0}, dt=DT)
    temperature = _modelled("temperature")
    steps = np.arange(len(temperature)) * DT
    at_times = np.stack([np.interp(times, steps, column) for column in temperature.T], axis=1)
    at_z = np.stack([np.interp(row, CENTERS, profile) for row, profile in zip(z, at_times, strict=True)])
    profile = np.nanmean((at_z - values) ** 2)
    surface = np.mean((at_times[[0, 2], -1] - [19.0, 19.5]) ** 2)
    found = float(run_misfit(MODEL, target.comparison))
    assert found == pytest.approx((profile + 2.0 * surface) / 3.0, rel=1e-12)
    times[2], at_z[2] = 4200.0, np.interp(z[2], CENTERS, temperature[14])
    observed = dataclasses.replace(observed, time=jnp.asarray(times))  # at steps of the model
    target = dataclasses.replace(target, observations=observed, weights={"temperature": 1.0})
    expected = np.nanmean((at_z - values) ** 2)
    assert float(run_misfit(MODEL, target.comparison)) == pytest.approx(expected, rel=1e-12)


def test_faces_of_cells_follow_from_their_centers():
    grid = tl.Grid.stretched(80.0, 12, surface_zoom=1.5)
    np.testing.assert_allclose(faces_from_centers(np.asarray(grid.z_center), "les"), grid.z_face, atol=1e-11)
    with error_naming(ValueError, "mooring -100 -50 -10 averaging points"):
        faces_from_centers(np.array([-100.0, -50.0, -10.0]), "mooring")


def test_profiles_of_other_cells_are_compared_as_means():
    start = np.asarray(CLEAN.profiles["temperature"])
    for n_cells, expected, inside in (
        (8, 0.5 * (start[:, ::2] + start[:, 1::2]), slice(3, 7)),  # of 8 m, wholly between -44 and -4 m
        (32, start, slice(5, 15)),
    ):
        options = {"averaging": "cell_means", "depth_window": (-44.0, -4.0), "time_window": (1.0, 1e9)}
        case = CASE.on(tl.Grid.uniform(64.0, n_cells))
        comparison = Target(case, CLEAN, dt=DT, **options).comparison
        counts = np.asarray(comparison.variables["temperature"].shares)
        assert np.flatnonzero(counts[1]).tolist() == list(range(16))[inside][: counts.shape[1]]
        got = np.asarray(comparison.variables["temperature"].observed)[1:]
        np.testing.assert_allclose(got[:, inside], expected[1:, inside], rtol=1e-12)
        profile = jnp.asarray(case.grid.z_center) ** 2
        assert np.asarray(comparison.variables["temperature"].operator(profile)).size == counts.shape[1]


def test_operators_and_observations_that_are_refused():
    for name in ("heat", "heat_content_above_0m"):
        with error_naming(ValueError, name):
            observable(name)
    profile = {"temperature": jnp.ones((3, 2))}
    for z, series, message in (
        ([[-2.0, -1.0], [-1.0, -2.0], [-2.0, -1.0]], {}, "1 -1"),
        ([[-2.0, -1.0], [np.nan, -1.0], [-2.0, -1.0]], {}, "1 -1"),
        ([-2.0, -1.0], {"temperature": jnp.zeros(3)}, "temperature time 3"),
    ):
        with error_naming(ValueError, message):
            tl.Observations(jnp.arange(3.0), jnp.asarray(z), profile, series=series)


@pytest.mark.long
def test_a_perfect_model_leaves_nothing_and_derivatives_equal_central_differences(all_found):
    perfect = dataclasses.replace(ALL, observations=observe(MODEL, CASE, dt=DT, interval=1800.0)).comparison
    found, mean_squares = run_residuals(MODEL, perfect)
    assert set(found) == set(NAMES)
    comparison, single, slopes = all_found
    step = 1e-4
    ahead, behind = (run_residuals(with_alpha(5.0 + way * step), comparison)[0] for way in (1.0, -1.0))
    for name in NAMES:
        # A depth or an energy is some 1e0 to 1e10: round-off of each by its own size.
        size = float(np.max(np.abs(np.asarray(perfect.variables[name].observed))))
        assert float(jnp.sqrt(mean_squares[name])) <= 1e-12 * max(size, 1e-3), name
        difference = (np.asarray(ahead[name]) - np.asarray(behind[name])) / (2.0 * step)
        size = np.max(np.abs(difference))
        # What does not change here: contents, and ice, of which there is none.
        conserved = ("heat_content", "salt_content", "mixed_layer_depth_stratification", "ice_thickness")
        assert size > 1e-8 or name in conserved, name
        # Beside the error of the difference, round-off of values of size 1 over the step.
        tolerances = {"rtol": 1e-4, "atol": 1e-6 * size + 1e-10}
        np.testing.assert_allclose(slopes[name], difference, **tolerances, err_msg=name)
