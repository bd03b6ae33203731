"""Targets and the misfit: windows, weights, scales, interpolation, and the gradient."""

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
from tunax_lite.physics import Teos10
from tunax_lite.physics.equation_of_state import SpecificVolumeTeos10
from tunax_lite.runtime.engine import ThisProcess

DT = 300.0
MODEL = tl.Model(tl.PacanowskiPhilander())
CASE = make_case(0.1, -200.0)


def _noisy(case=CASE) -> tl.Observations:
    """Observations of another model, with noise that does not average out."""
    clean = observe(tl.Model(tl.PacanowskiPhilander(alpha=4.0)), case, dt=DT, interval=1800.0)
    random = np.random.default_rng(1)
    profiles = {
        name: values + jnp.asarray(0.01 * random.standard_normal(values.shape))
        for name, values in clean.profiles.items()
    }
    return dataclasses.replace(clean, profiles=profiles)


OBSERVED = _noisy()


def _modelled(name: str, interval: float = DT) -> np.ndarray:
    return np.asarray(getattr(tl.simulate(MODEL, CASE, dt=DT, output_interval=interval).state, name))


def _misfit(target: Target, score=None) -> float:
    comparison = target.comparison
    return float(misfit(MODEL, comparison, score or MeanSquare(), tl.SaveSegments())[0])


def test_misfit_equals_a_plain_computation():
    gap = np.array(OBSERVED.profiles["u"])
    gap[3, 2:5] = np.nan
    observed = dataclasses.replace(OBSERVED, profiles={**OBSERVED.profiles, "u": jnp.asarray(gap)})
    weights = {"temperature": 2.0, "u": 0.5, "v": 0.0}
    windows: dict[str, Any] = {"time_window": (3600.0, 9000.0), "depth_window": (-50.0, -6.0)}
    target = Target(CASE, observed, weights, dt=DT, scale=ZScore(), **windows)
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
    scaled = dataclasses.replace(target, scale=Uncertainty())
    assert _misfit(scaled) == pytest.approx(100.0 * _misfit(target), rel=1e-12)


def test_other_times_and_heights_are_interpolated():
    times, z = np.array([0.0, 1000.0, 4321.0, 10000.0]), np.array([-63.5, -40.3, -33.3, -0.4])
    observed = tl.Observations(
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
    # 36 steps in at most five frames: eight steps each.
    assert whole.times_of_run(5) == {"dt": 300.0, "duration": 10800.0, "output_interval": 2400.0}


@pytest.fixture(scope="module")
def evaluated():
    targets = [
        Target(case, _noisy(case), {"temperature": 1.0, "u": 1.0}, weight=weight, dt=DT)
        for case, weight in ((CASE, 1.0), (make_case(0.2, 50.0), 3.0), (make_case(0.05, 0.0), 0.0))
    ]
    free = CHEAP_FREE.resolve(MODEL.closure)
    problem = Problem(MODEL, free, targets, RootMeanSquare())
    return targets, free, GradientEvaluator(problem, ThisProcess(2))


@pytest.mark.long
def test_loss_is_the_weighted_mean_of_the_scores(evaluated):
    targets, free, evaluate = evaluated
    first, *others = (evaluate(free.start()) for _ in range(4))
    assert evaluate.n_compiled == 1  # of cases of equal shape
    for target, score in zip(targets, first.fit.scores, strict=True):
        assert score == pytest.approx(_misfit(target, RootMeanSquare()), rel=1e-12)
    assert first.fit.loss == pytest.approx((first.fit.scores[0] + 3.0 * first.fit.scores[1]) / 4.0)
    for other in others:  # threads do not change a bit
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


@pytest.mark.long
def test_a_case_without_weight_cannot_spoil_the_loss():
    # Fluxes that no constructor accepts.
    broken = eqx.tree_at(
        lambda case: (case.forcing.fluxes.stress_u, case.forcing.fluxes.heat_flux),
        make_case(0.1, 0.0),
        (jnp.asarray(1e200), jnp.asarray(1e300)),
    )
    twin = observe(MODEL, CASE, dt=DT, interval=1800.0)
    targets = [Target(CASE, twin, dt=DT)]
    targets.append(Target(broken, dataclasses.replace(OBSERVED, name="broken"), weight=0.0, dt=DT))
    free = CHEAP_FREE.resolve(MODEL.closure)
    evaluation = GradientEvaluator(Problem(MODEL, free, targets, MeanSquare()))(free.start())
    assert not np.isfinite(evaluation.fit.scores[1])
    # A perfect fit; compiled with its gradient, sums may differ in round-off from those of the plain run.
    assert evaluation.is_finite and evaluation.fit.loss < 1e-24
    assert np.abs(evaluation.gradient).max() < 1e-12


@pytest.mark.long
def test_checkpointing_does_not_change_the_gradient(evaluated):
    targets, free, evaluate = evaluated
    problem = Problem(MODEL, free, targets, RootMeanSquare(), tl.SaveEverything())
    expected = GradientEvaluator(problem)(free.start()).gradient
    np.testing.assert_allclose(evaluate(free.start()).gradient, expected, rtol=1e-10)


def test_bad_targets_are_refused():
    profile, time = OBSERVED.profiles["temperature"], jnp.array([0.0, 3600.0])
    nan, constant = (
        dataclasses.replace(OBSERVED, profiles={"temperature": jnp.full(profile.shape, value)})
        for value in (jnp.nan, 20.0)
    )
    deep = dataclasses.replace(OBSERVED, z=OBSERVED.z - 30.0)
    short = tl.TimeSeriesForcing(time, tl.SurfaceFluxes(stress_u=np.array([0.1, 0.1])))
    batch = dataclasses.replace(CASE, coriolis_parameter=jnp.array([0.0, 1e-4]))
    for change, message in (
        ({"weights": {"salt": 1.0}}, "salt temperature u v"),
        ({"weights": {"temperature": 0.0}}, "weight temperature 0"),
        ({"weights": {"temperature": math.nan}}, "weight temperature nan"),
        ({"weights": {}}, "weight {}"),
        ({"weight": -1.0}, "weight 0 -1"),
        ({"time_window": (1.0, 2.0)}, "time_window 1 2 0 10800"),
        ({"time_window": (7200.0, 3600.0)}, "time_window 7200 3600"),
        ({"time_window": (0.0, 0.0)}, "time_window 0 10800"),
        ({"depth_window": (-1000.0, -100.0)}, "depth_window -1000 -100 -62 -2"),
        ({"dt": math.nan}, "dt"),
        ({"frame_interval": 400.0}, "frame_interval dt 300 400"),
        ({"scale": Uncertainty()}, "uncertainty temperature"),
        ({"observations": nan}, "temperature NaN"),
        ({"observations": constant, "scale": ZScore()}, "temperature 0"),
        ({"observations": deep}, "depth_window -64 -92 -32"),
        ({"case": dataclasses.replace(CASE, duration=3600.0)}, "time_window 0 3600 10800"),
        ({"case": dataclasses.replace(CASE, forcing=short)}, "forcing 0 10800 3600"),
        ({"case": batch}, "(2,)"),
    ):
        target = dataclasses.replace(Target(CASE, OBSERVED, dt=DT, scale=Physical()), **change)
        with error_naming(ValueError, message):
            _ = target.comparison
    target = Target(CASE, OBSERVED, dt=DT)
    for targets, message in (
        ([], "targets none"),
        ([target, target], "stress 0.1 heat -200"),
        ([dataclasses.replace(target, weight=0.0)], "targets weight 0"),
    ):
        with error_naming(ValueError, message):
            Problem(MODEL, CHEAP_FREE.resolve(MODEL.closure), targets, MeanSquare())


@pytest.mark.long  # the choice: test_checkpointing
def test_auto_takes_the_fastest_layout_that_fits_and_says_which():
    target, free = Target(CASE, OBSERVED, dt=DT), CHEAP_FREE.resolve(MODEL.closure)
    chosen = []
    for budget in (2**28, 40_000, 100):
        problem = Problem(MODEL, free, [target], MeanSquare(), tl.Auto(budget))
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
    found = errors_of(MODEL, target.comparison)
    # Half a degree too cold; the polynomial of TEOS-10 is good to 5 mK.
    assert found["sea_surface_temperature"].mean == pytest.approx(-0.5, abs=5e-3)
    assert found["potential_temperature"].root_mean_square < 1e-12
    linear = dataclasses.replace(lake, equation_of_state=tl.LinearEquationOfState())
    carried = dataclasses.replace(target, case=linear, weights={"sea_surface_temperature": 1.0}).comparison
    as_carried = errors_of(MODEL, carried)["sea_surface_temperature"]
    assert as_carried.mean == pytest.approx(conservative - 20.5, abs=1e-9)
