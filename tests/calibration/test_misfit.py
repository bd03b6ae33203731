"""Targets and the misfit: windows, weights, scales, interpolation, and the gradient."""

import dataclasses
import math

import equinox as eqx
import gsw
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.calibration.twins import CHEAP_FREE, make_case, observe
from tests.errors import error_naming
from tunax_lite.calibration import (
    MeanSquare,
    Physical,
    RootMeanSquare,
    Target,
    Uncertainty,
    ZScore,
    errors_of,
    misfit,
)
from tunax_lite.calibration.observed import AtCenters
from tunax_lite.calibration.problem import GradientEvaluator, Problem
from tunax_lite.closures import PacanowskiPhilander
from tunax_lite.column.case import Case
from tunax_lite.column.checkpointing import Auto, SaveEverything, SaveSegments
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from tunax_lite.column.grid import Grid
from tunax_lite.column.integrate import simulate
from tunax_lite.column.model import Model
from tunax_lite.column.observations import Observations
from tunax_lite.column.state import State
from tunax_lite.physics import LinearEquationOfState, Teos10
from tunax_lite.physics.equation_of_state import SpecificVolumeTeos10
from tunax_lite.runtime.engine import ThisProcess

DT = 300.0
MODEL = Model(PacanowskiPhilander())
CASE = make_case(0.1, -200.0)


def _noisy(case=CASE) -> Observations:
    """Observations of another model, with noise that does not average out."""
    clean = observe(Model(PacanowskiPhilander(alpha=4.0)), case, dt=DT, interval=1800.0)
    random = np.random.default_rng(1)
    profiles = {
        name: values + jnp.asarray(0.01 * random.standard_normal(values.shape))
        for name, values in clean.profiles.items()
    }
    return dataclasses.replace(clean, profiles=profiles)


OBSERVED = _noisy()


def _modelled(name: str, interval: float = DT) -> np.ndarray:
    return np.asarray(getattr(simulate(MODEL, CASE, dt=DT, output_interval=interval).state, name))


def _misfit(target: Target, score=None) -> float:
    comparison = target.comparison
    return float(misfit(MODEL, comparison, score or MeanSquare(), SaveSegments())[0])


def test_misfit_equals_a_plain_computation():
    gap = np.array(OBSERVED.profiles["u"])
    gap[3, 2:5] = np.nan
    observed = dataclasses.replace(OBSERVED, profiles={**OBSERVED.profiles, "u": jnp.asarray(gap)})
    weights = {"temperature": 2.0, "u": 0.5, "v": 0.0}
    target = Target(
        CASE,
        observed,
        weights,
        dt=DT,
        time_window=(3600.0, 9000.0),
        depth_window=(-50.0, -6.0),
        scale=ZScore(),
    )
    inside = np.ix_(
        (np.asarray(observed.time) >= 3600.0) & (np.asarray(observed.time) <= 9000.0),
        (np.asarray(observed.z) >= -50.0) & (np.asarray(observed.z) <= -6.0),
    )
    expected = 0.0
    for name in ("temperature", "u"):
        truth = np.asarray(observed.profiles[name])[inside]
        difference = _modelled(name, 1800.0)[inside] - truth
        expected += weights[name] * np.nanmean(difference**2) / np.nanstd(truth) ** 2 / 2.5
    assert _misfit(target) == pytest.approx(expected, rel=1e-12)
    assert _misfit(target, RootMeanSquare()) == pytest.approx(math.sqrt(expected), rel=1e-12)


def test_mean_squares_are_physical_and_include_weight_zero():
    target = Target(CASE, OBSERVED, {"temperature": 1.0, "v": 0.0}, dt=DT, scale=ZScore())
    _, mean_squares = misfit(MODEL, target.comparison, MeanSquare(), SaveSegments())
    for name in ("temperature", "v"):
        difference = _modelled(name, 1800.0) - np.asarray(OBSERVED.profiles[name])
        assert float(mean_squares[name]) == pytest.approx(np.mean(difference**2), rel=1e-12)


def test_other_times_and_heights_are_interpolated():
    times, z = np.array([0.0, 1000.0, 4321.0, 10000.0]), np.array([-63.5, -40.3, -33.3, -0.4])
    observed = Observations(
        jnp.asarray(times), jnp.asarray(z), {"temperature": jnp.full((4, 4), 20.0)}, name="mooring"
    )
    target = Target(CASE, observed, dt=DT)
    steps = np.arange(len(_modelled("temperature"))) * DT
    at_z = np.stack([np.interp(z, CASE.grid.z_center, profile) for profile in _modelled("temperature")])
    at_times = np.stack([np.interp(times, steps, at_z[:, level]) for level in range(4)], axis=1)
    assert target.comparison.n_frames == 34  # no step after the last observation
    assert _misfit(target) == pytest.approx(np.mean((at_times - 20.0) ** 2), rel=1e-12)


def test_frames_meet_the_observed_times_and_no_others():
    comparison = Target(CASE, OBSERVED, dt=DT, time_window=(3600.0, 7200.0)).comparison
    assert (comparison.steps_per_frame, comparison.n_frames) == (6, 4)
    assert comparison.in_time is None and set(map(type, comparison.operators.values())) == {AtCenters}
    coarse = Target(CASE, OBSERVED, dt=DT, frame_interval=5400.0).comparison
    assert coarse.steps_per_frame == 18 and coarse.in_time is not None


def test_a_few_of_many_times_end_with_the_last():
    """Of seven, every 1800 s: the last of each of so many equal parts."""
    few = Target(CASE, OBSERVED, dt=DT, most_times=3)
    np.testing.assert_array_equal(np.asarray(OBSERVED.time)[few.times], [3600.0, 7200.0, 10800.0])
    inside = dataclasses.replace(few, time_window=(0.0, 5400.0), most_times=1)
    np.testing.assert_array_equal(np.asarray(OBSERVED.time)[inside.times], [5400.0])


def test_a_run_ends_with_the_last_observation_that_is_used():
    target = Target(CASE, OBSERVED, dt=DT, time_window=(0.0, 5400.0))
    assert target.times_of_run() == {"dt": 300.0, "duration": 5400.0, "output_interval": 5400.0}
    whole = dataclasses.replace(target, time_window=(0.0, math.inf))
    # 36 steps in at most five frames: eight steps each.
    assert whole.times_of_run(5) == {"dt": 300.0, "duration": 10800.0, "output_interval": 2400.0}


def test_given_uncertainty_scales():
    observed = dataclasses.replace(OBSERVED, uncertainty={"temperature": jnp.asarray(0.1)})
    target = Target(CASE, observed, dt=DT)
    scaled = dataclasses.replace(target, scale=Uncertainty())
    assert _misfit(scaled) == pytest.approx(100.0 * _misfit(target), rel=1e-12)


def test_a_perfect_fit_has_zero_loss_and_gradient(perfect):
    # The loop is compiled with its gradient, so sums may differ in round-off from those of the plain run.
    assert perfect.fit.loss < 1e-24
    assert np.abs(perfect.gradient).max() < 1e-12


@pytest.fixture
def perfect():
    twin = Target(CASE, observe(MODEL, CASE, dt=DT, interval=1800.0), dt=DT)
    free = CHEAP_FREE.resolve(MODEL.closure)
    problem = Problem(MODEL, free, [twin], MeanSquare())
    return GradientEvaluator(problem)(free.start())


@pytest.mark.parametrize("score", [MeanSquare(), RootMeanSquare()], ids=repr)
def test_scores_have_a_finite_gradient_at_zero(score):
    assert jax.value_and_grad(score)(jnp.zeros(())) in ((0.0, 1.0), (0.0, 0.0))


@pytest.mark.parametrize("score", [MeanSquare(), RootMeanSquare()], ids=repr)
def test_a_run_that_broke_down_is_no_perfect_fit(score):
    assert jnp.isnan(score(jnp.asarray(jnp.nan)))


@pytest.fixture(scope="module")
def evaluated():
    targets = [
        Target(case, _noisy(case), {"temperature": 1.0, "u": 1.0}, weight=weight, dt=DT)
        for case, weight in ((CASE, 1.0), (make_case(0.2, 50.0), 3.0), (make_case(0.05, 0.0), 0.0))
    ]
    free = CHEAP_FREE.resolve(MODEL.closure)
    problem = Problem(MODEL, free, targets, RootMeanSquare())
    return targets, free, GradientEvaluator(problem, ThisProcess(2))


def test_cases_of_equal_shape_compile_once(evaluated):
    _, free, evaluate = evaluated
    evaluate(free.start())
    assert evaluate.n_compiled == 1


def test_loss_is_the_weighted_mean_of_the_scores(evaluated):
    targets, free, evaluate = evaluated
    evaluation = evaluate(free.start())
    for target, score in zip(targets, evaluation.fit.scores, strict=True):
        assert score == pytest.approx(_misfit(target, RootMeanSquare()), rel=1e-12)
    assert evaluation.fit.loss == pytest.approx(
        (evaluation.fit.scores[0] + 3.0 * evaluation.fit.scores[1]) / 4.0
    )


def test_threads_do_not_change_a_bit(evaluated):
    _, free, evaluate = evaluated
    first, *others = (evaluate(free.start()) for _ in range(5))
    for other in others:
        assert other.fit.loss == first.fit.loss
        np.testing.assert_array_equal(other.gradient, first.gradient)


def test_gradient_equals_central_differences(evaluated):
    _, free, evaluate = evaluated
    x = np.asarray(free.start())
    gradient = evaluate(jnp.asarray(x)).gradient
    step = 1e-5
    for i in range(x.size):
        shift = step * np.eye(x.size)[i]
        ahead, behind = (evaluate(jnp.asarray(x + way * shift)).fit.loss for way in (1.0, -1.0))
        # Error of the difference: step² and round-off of the loss (1e-15 of 1e-2) over the step.
        assert gradient[i] == pytest.approx((ahead - behind) / (2.0 * step), rel=1e-6, abs=1e-10)


def test_a_case_without_weight_cannot_spoil_the_loss():
    cold = make_case(0.1, -200.0)
    # Fluxes that no constructor accepts.
    broken = eqx.tree_at(
        lambda case: (case.forcing.fluxes.stress_u, case.forcing.fluxes.heat_flux),
        make_case(0.1, 0.0),
        (jnp.asarray(1e200), jnp.asarray(1e300)),
    )
    targets = [
        Target(cold, OBSERVED, dt=DT),
        Target(broken, dataclasses.replace(OBSERVED, name="broken"), weight=0.0, dt=DT),
    ]
    free = CHEAP_FREE.resolve(MODEL.closure)
    problem = Problem(MODEL, free, targets, MeanSquare())
    evaluation = GradientEvaluator(problem)(free.start())
    assert not np.isfinite(evaluation.fit.scores[1])
    assert evaluation.is_finite


def test_checkpointing_does_not_change_the_gradient(evaluated):
    targets, free, evaluate = evaluated
    problem = Problem(MODEL, free, targets, RootMeanSquare(), SaveEverything())
    expected = GradientEvaluator(problem)(free.start()).gradient
    np.testing.assert_allclose(evaluate(free.start()).gradient, expected, rtol=1e-10)


def _with_profile(values) -> Observations:
    return dataclasses.replace(OBSERVED, profiles={"temperature": values})


SHORT_FORCING = TimeSeriesForcing(jnp.array([0.0, 3600.0]), SurfaceFluxes(stress_u=np.array([0.1, 0.1])))
NAN = jnp.full(OBSERVED.profiles["temperature"].shape, jnp.nan)
CONSTANT = jnp.full(OBSERVED.profiles["temperature"].shape, 20.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": {"salt": 1.0}}, "salt temperature u v"),
        ({"weights": {"temperature": 0.0}}, "weight temperature 0"),
        ({"weights": {"temperature": -1.0}}, "weight temperature -1"),
        ({"weights": {"temperature": math.nan}}, "weight temperature nan"),
        ({"weights": {}}, "weight {}"),
        ({"weight": -1.0}, "weight 0 -1"),
        ({"time_window": (1.0, 2.0)}, "time_window 1 2 0 10800"),
        ({"time_window": (7200.0, 3600.0)}, "time_window 7200 3600"),
        ({"time_window": (0.0, 0.0)}, "time_window 0 10800"),
        ({"depth_window": (-1000.0, -100.0)}, "depth_window -1000 -100 -62 -2"),
        ({"dt": 0.0}, "dt"),
        ({"dt": math.nan}, "dt"),
        ({"frame_interval": 400.0}, "frame_interval dt 300 400"),
        ({"scale": Uncertainty()}, "uncertainty temperature"),
        ({"observations": _with_profile(NAN)}, "temperature NaN"),
        ({"observations": _with_profile(CONSTANT), "scale": ZScore()}, "temperature 0"),
        ({"case": dataclasses.replace(CASE, duration=3600.0)}, "time_window 0 3600 10800"),
        ({"case": dataclasses.replace(CASE, forcing=SHORT_FORCING)}, "forcing 0 10800 3600"),
        (
            {"case": dataclasses.replace(CASE, coriolis_parameter=jnp.array([0.0, 1e-4]))},
            "(2,)",
        ),
    ],
)
def test_bad_targets_are_refused(change, message):
    target = dataclasses.replace(Target(CASE, OBSERVED, dt=DT, scale=Physical()), **change)
    with error_naming(ValueError, message):
        _ = target.comparison


def test_heights_below_the_bottom_are_refused():
    deep = dataclasses.replace(OBSERVED, z=OBSERVED.z - 30.0)
    with error_naming(ValueError, "depth_window -64 -92 -32"):
        _ = Target(CASE, deep, dt=DT).comparison


def _problem(targets):
    free = CHEAP_FREE.resolve(MODEL.closure)
    return Problem(MODEL, free, targets, MeanSquare())


def test_no_case_and_equal_names_are_refused():
    target = Target(CASE, OBSERVED, dt=DT)
    with error_naming(ValueError, "targets none"):
        _problem([])
    with error_naming(ValueError, "stress 0.1 heat -200"):
        _problem([target, target])
    with error_naming(ValueError, "targets weight 0"):
        _problem([dataclasses.replace(target, weight=0.0)])


@pytest.mark.long  # the choice: test_checkpointing
def test_auto_takes_the_fastest_layout_that_fits_and_says_which():
    target, free = Target(CASE, OBSERVED, dt=DT), CHEAP_FREE.resolve(MODEL.closure)
    chosen = []
    for budget in (2**28, 40_000, 100):
        problem = Problem(MODEL, free, [target], MeanSquare(), Auto(budget))
        if budget == 100:
            with error_naming(MemoryError, "100"):
                GradientEvaluator(problem)
            continue
        evaluate = GradientEvaluator(problem)
        chosen.append((evaluate.explanations, evaluate(free.start())))
    (roomy, first), (tight, second) = chosen
    assert (
        roomy[0].startswith("SaveSteps") and "SaveSteps" in tight[0] and not tight[0].startswith("SaveSteps")
    )
    np.testing.assert_allclose(first.gradient, second.gradient, rtol=1e-10)


@pytest.mark.parametrize("water", [Teos10(), SpecificVolumeTeos10()])
def test_temperatures_of_the_surface_are_compared_in_situ(water):
    """In fresh water the conservative temperature is 5 % above 20 degC, which the instrument shows."""
    conservative = float(gsw.CT_from_t(0.0, 20.0, 0.0))
    assert conservative == pytest.approx(21.045, abs=1e-3)
    grid = Grid.uniform(10.0, 4)
    state = State.from_profiles(grid, temperature=conservative, salinity=0.0)
    still = ConstantForcing(SurfaceFluxes())
    lake = Case(grid, state, still, equation_of_state=water, duration=3600.0, name="lake")
    times = jnp.array([0.0, 1800.0, 3600.0])
    profiles = {"temperature": jnp.full((3, 4), conservative)}
    series = {"sea_surface_temperature": jnp.full(3, 20.5)}
    weights = {"sea_surface_temperature": 1.0, "potential_temperature": 1.0}
    target = Target(lake, Observations(times, grid.z_center, profiles, series=series), weights, dt=DT)
    found = errors_of(MODEL, target.comparison)
    # Half a degree too cold; the polynomial of TEOS-10 is good to 5 mK.
    assert found["sea_surface_temperature"].mean == pytest.approx(-0.5, abs=5e-3)
    assert found["potential_temperature"].root_mean_square < 1e-12
    linear = dataclasses.replace(lake, equation_of_state=LinearEquationOfState())
    carried = dataclasses.replace(target, case=linear, weights={"sea_surface_temperature": 1.0}).comparison
    as_carried = errors_of(MODEL, carried)["sea_surface_temperature"]
    assert as_carried.mean == pytest.approx(conservative - 20.5, abs=1e-9)
