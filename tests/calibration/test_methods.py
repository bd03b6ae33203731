"""Methods on functions that cost nothing and on a cheap twin."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.calibration.twins import CHEAP_FREE, CHEAP_TRUTH, assert_same_history, cheap_targets
from tests.errors import error_naming
from tunax_lite import calibration as cal
from tunax_lite.calibration import LBFGS, Adam, EnsembleKalman, LevenbergMarquardt
from tunax_lite.calibration import problem as problems
from tunax_lite.calibration.problem import EnsembleEvaluator, Evaluation, GradientEvaluator, Problem
from tunax_lite.plotting import history_figures
from tunax_lite.runtime.engine import ThisProcess

MODEL = tl.Model(tl.PacanowskiPhilander())
RESOLVED = CHEAP_FREE.resolve(MODEL.closure)
METHODS = [Adam(0.1, 40, 5, largest_gradient=1.0), LBFGS()]


@jax.jit
@jax.value_and_grad
def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _evaluation(loss, **requested) -> Evaluation:
    return Evaluation(float(loss), np.array([float(loss)]), np.zeros((1, 1)), **requested)


def _of_gradient(function, x):
    loss, gradient = function(x)
    return _evaluation(loss, gradient=np.asarray(gradient))


def told(method, state, loss, gradient):
    return method.tell(state, _of_gradient(lambda x: (loss, gradient), None))


def _steps(method, function, x, n, evaluate=_of_gradient):
    states = [method.init(jnp.asarray(x))]
    while len(states) <= n and not bool(states[-1].finished):
        states.append(method.tell(states[-1], evaluate(function, *method.ask(states[-1]))))
    return states


def test_lbfgs_finds_the_minimum_of_a_curved_valley():
    states = _steps(LBFGS(largest_step=0.5), rosenbrock, np.full(4, -0.5), 150)
    np.testing.assert_allclose(states[-1].trial, 1.0, rtol=1e-8)
    for before, after in zip(states, states[1:], strict=False):
        assert float(jnp.abs(after.trial - after.base).max()) <= 0.5 + 1e-12
        assert float(after.base_loss) <= float(before.base_loss)
    # It ends where nothing lowers the loss.
    states = _steps(LBFGS(), lambda x: (1.0, jnp.array([1.0])), [0.0], 100)
    assert bool(states[-1].finished) and len(states) < 40
    assert bool(_steps(LBFGS(), lambda x: (1.0, jnp.array([0.0])), [0.0], 5)[-1].finished)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_rejected_trial_is_halved_towards_the_last_good_point(method):
    x = jnp.array([1.0, -2.0])
    good = told(method, method.init(x), 1.0, [0.3, -0.1])
    bad = told(method, good, math.inf, [0.3, -0.1])
    worse = told(method, bad, 1.0, [math.nan, 0.0])
    np.testing.assert_allclose(bad.trial - x, 0.5 * (good.trial - x), rtol=1e-12)
    np.testing.assert_allclose(worse.trial - x, 0.25 * (good.trial - x), rtol=1e-12)
    assert not bool(bad.accepted) and not bool(worse.accepted)


def test_clipping_bounds_the_gradient_that_adam_remembers():
    method = Adam(0.1, largest_gradient=1.0)
    after: Any = told(method, method.init(jnp.zeros(2)), 1.0, [3e8, 4e8])
    np.testing.assert_allclose(after.transformation[1].mu, 0.1 * np.array([0.6, 0.8]), rtol=1e-12)


def test_schedules_rise_then_fall_to_their_final_fraction():
    fractions = np.array([Adam(1.0, 100, 10).rate(step) for step in range(150)])
    assert fractions[0] == pytest.approx(1.0 / 11.0)
    assert np.all(np.diff(fractions[:11]) > 0.0) and fractions[10] == pytest.approx(1.0)
    assert np.all(np.diff(fractions[10:100]) < 0.0)
    np.testing.assert_allclose(fractions[100:], 0.05, rtol=1e-6)
    assert {float(Adam(0.3, n, 0, 1.0).rate(step)) for n in (None, 9) for step in (0, 7)} == {0.3}


def test_bad_settings_are_refused():
    for make, message in (
        (lambda: Adam(math.inf), "learning_rate 0"),
        (lambda: Adam(0.1, 10, 10), "n_warmup n_steps 10"),
        (lambda: Adam(0.1, n_warmup=3), "n_warmup n_steps 3"),
        (lambda: EnsembleKalman(noise=1.0, n_members=4).init(jnp.zeros(4)), "EnsembleKalman 4"),
    ):
        with error_naming(ValueError, message):
            make()


ADAM = Adam(0.1)


@pytest.mark.long
def test_a_calibration_goes_on_bit_by_bit(tmp_path):
    def stop(iteration):
        if iteration.number == 6:
            raise KeyboardInterrupt

    def calibrated(folder, **options):
        return cal.calibrate(MODEL, CHEAP_FREE, cheap_targets(), ADAM, 13, folder=folder, **options)

    plain = calibrated(None)
    with pytest.raises(KeyboardInterrupt):
        calibrated(tmp_path, report=stop)
    assert_same_history(calibrated(tmp_path, resume=True), plain)
    assert plain.best_loss == plain.history.loss.min() < plain.history.loss[0]
    cal.write_results(plain, tmp_path)
    with xr.open_dataset(tmp_path / "history.nc") as dataset:
        np.testing.assert_array_equal(dataset["loss"], plain.history.loss)
        assert len(history_figures(dataset)["loss"].axes[0].lines) == 4


@jax.jit
def valley(x):
    def residuals(x):
        return jnp.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

    return residuals(x), jax.jacfwd(residuals)(x)


def _evaluate(function, x, loss_to_beat):
    residuals, matrix = (np.asarray(part) for part in function(x))
    loss = float(residuals @ residuals)
    if not (math.isfinite(loss) and loss < loss_to_beat):
        return _evaluation(loss)
    return _evaluation(loss, gradient=2.0 * matrix.T @ residuals, matrix=2.0 * matrix.T @ matrix)


def test_levenberg_marquardt_finds_the_minimum_of_a_curved_valley():
    method = LevenbergMarquardt()
    states = _steps(method, valley, np.full(4, -0.5), 60, _evaluate)
    np.testing.assert_allclose(states[-1].trial, 1.0, rtol=1e-6)
    rejected = [not bool(state.accepted) for state in states[1:]]
    assert 0 < sum(rejected) < 30
    for before, after in zip(states, states[1:], strict=False):
        assert float(jnp.abs(after.trial - after.base).max()) <= 2.0 + 1e-12
        assert float(after.base_loss) <= float(before.base_loss)
    flat = _steps(method, lambda x: (np.ones(2), np.zeros((2, 1))), [0.0], 5, _evaluate)
    assert bool(flat[-1].finished) and len(flat) == 2


@pytest.mark.long
def test_evaluators_agree_and_compute_the_jacobian_only_for_a_lower_loss(evaluators):
    problem, normal, gradient = evaluators
    x = problem.free_parameters.start() + 0.1
    forward, reverse = normal(x), gradient(x)
    loss = forward.loss
    assert loss == pytest.approx(reverse.loss, rel=1e-12)
    np.testing.assert_allclose(forward.errors, reverse.errors, rtol=1e-12)
    np.testing.assert_allclose(forward.gradient, reverse.gradient, rtol=1e-8)
    values = np.linalg.eigvalsh(forward.matrix)
    assert values.min() > -1e-12 * values.max()
    rejected = normal(x, loss)
    assert not rejected.matrix.size and rejected.is_finite and math.isnan(rejected.gradient_norm)
    assert normal(x, 1.001 * loss).matrix.size


def test_a_linear_problem_takes_one_step_without_damping():
    matrix, truth = np.random.default_rng(0).standard_normal((9, 3)), np.array([0.3, -0.2, 0.5])
    method, function = LevenbergMarquardt(damping=1e-12), lambda x: (matrix @ (np.asarray(x) - truth), matrix)
    states = _steps(method, function, np.zeros(3), 1, _evaluate)
    np.testing.assert_allclose(states[-1].trial, truth, rtol=1e-9)


def test_a_trial_that_is_not_finite_is_rejected_and_damped():
    method = LevenbergMarquardt()
    first = method.tell(method.init(jnp.zeros(2)), _evaluate(valley, jnp.zeros(2), math.inf))
    bad = method.tell(first, _evaluate(lambda x: (np.full(2, np.nan), np.zeros((2, 2))), first.trial, 1.0))
    worse = method.tell(bad, _evaluate(lambda x: (np.full(2, 1e9), np.zeros((2, 2))), bad.trial, 1.0))
    np.testing.assert_array_equal(bad.base, first.base)
    np.testing.assert_allclose([bad.damping, worse.damping], [0.02, 0.08], rtol=1e-12)  # twice, four times
    assert not bool(bad.accepted) and not bool(worse.accepted)
    lengths = [float(jnp.linalg.norm(state.trial - state.base)) for state in (first, bad, worse)]
    assert lengths[0] > lengths[1] > lengths[2] > 0.0


def test_a_rejected_trial_is_never_evaluated_again():
    """One number wants to go far beyond the largest step, which the growing damping does not change."""
    method = LevenbergMarquardt(damping=1e-9)
    state, trials = method.init(jnp.zeros(2)), []
    residuals = lambda x: (np.array([1e3, 1.0]) + np.asarray(x), np.eye(2))  # noqa: E731
    state = method.tell(state, _evaluate(residuals, state.trial, math.inf))
    while len(trials) < 12 and not bool(state.finished):
        trials.append(tuple(np.asarray(state.trial).tolist()))
        state = method.tell(state, _evaluation(math.nan))
    assert len(trials) > 6 and len(set(trials)) == len(trials)
    lengths = np.linalg.norm(trials, axis=1)
    assert np.all(np.diff(lengths) < 0.0) and trials[0][0] == -2.0


def test_a_weight_of_the_priors_is_checked():
    problem = Problem(MODEL, RESOLVED, cheap_targets(), cal.RootMeanSquare())
    for wrong in (-1.0, math.nan):
        with error_naming(ValueError, f"prior_weight 0 {wrong:g}"):
            problem.with_weights(prior_weight=wrong)


@pytest.fixture(scope="module")
def evaluators():
    """With the root as score, whose slope weights the cases too."""
    first, second = cheap_targets()
    targets = [first, dataclasses.replace(second, weight=3.0)]
    problem = Problem(MODEL, RESOLVED, targets, cal.RootMeanSquare())
    return problem, problems.NormalEquationsEvaluator(problem), GradientEvaluator(problem)


@pytest.mark.long
def test_a_prior_adds_half_the_square_of_the_unconstrained_vector(evaluators):
    problem, normal, gradient = evaluators
    x = problem.free_parameters.start() + jnp.array([0.1, -0.3, 0.2])
    without = normal(x), gradient(x)
    problem = problem.with_weights(prior_weight=0.3)
    of_prior, gradient = normal.for_problem(problem), gradient.for_problem(problem)
    for before, after in zip(without, (of_prior(x), gradient(x)), strict=True):
        assert after.loss - before.loss == pytest.approx(0.15 * float(x @ x), rel=1e-9)
        np.testing.assert_array_equal(after.scores, before.scores)
        np.testing.assert_allclose(after.gradient - before.gradient, 0.3 * x, rtol=1e-9)
    np.testing.assert_allclose(of_prior(x).matrix - without[0].matrix, 0.3 * np.eye(3), atol=1e-9)
    assert not of_prior(x, without[0].loss).matrix.size  # the loss to beat is with the prior
    assert normal(x).loss == without[0].loss  # that of its own problem
    with error_naming(ValueError, "prior_weight 0 0.3"):
        EnsembleEvaluator(problem)


@pytest.mark.long
def test_members_of_a_batch_give_what_single_runs_give(evaluators):
    problem, normal, _ = evaluators
    x = np.asarray(problem.free_parameters.start())
    members = jnp.asarray(x[:, None] + 0.2 * np.random.default_rng(0).standard_normal((3, 5)))
    found = EnsembleEvaluator(problem)(members)
    fits = [normal(members[:, i], 0.0) for i in range(5)]
    np.testing.assert_allclose(found.losses, [fit.loss for fit in fits], rtol=1e-9)
    mean = normal(members.mean(axis=1), 0.0)
    np.testing.assert_allclose(found.scores, mean.scores, rtol=1e-9)
    np.testing.assert_allclose(found.errors, mean.errors, rtol=1e-9)
    # sum w s'(m) r_i · r_j with s' = 1 / 2 sqrt(m), the m being those of the mean.
    of_members = np.array([fit.scores for fit in fits]) ** 2
    expected = of_members @ (problem.weights / (2.0 * mean.scores))
    np.testing.assert_allclose(np.diag(found.products), expected, rtol=1e-9)


@pytest.mark.long
def test_the_first_step_from_near_the_truth_is_taken():
    """Small residuals with the same derivatives do not make the matrix small."""
    near = (dataclasses.replace(one, start=1.05 * CHEAP_TRUTH[one.path]) for one in CHEAP_FREE.parameters)
    free, method = cal.FreeParameters(tuple(near)), LevenbergMarquardt()
    result = cal.calibrate(MODEL, free, cheap_targets(), method, 5, score=cal.MeanSquare())
    assert not result.history.rejected.any()
    for path, value in CHEAP_TRUTH.items():
        assert result.best[path] == pytest.approx(value, rel=1e-6)


@pytest.mark.long
def test_a_case_whose_observations_do_not_vary_is_calibrated():
    target = cheap_targets()[0]
    one = {"temperature": target.observations.profiles["temperature"][-1:, -1:]}
    observed = tl.Observations(target.observations.time[-1:], target.observations.z[-1:], one)
    target = cal.Target(target.case, observed, {"temperature": 1.0}, dt=target.dt, scale=cal.Physical())
    free = cal.FreeParameters(CHEAP_FREE.parameters[:1])
    result = cal.calibrate(MODEL, free, [target], LevenbergMarquardt(), 12, score=cal.MeanSquare())
    assert result.best_loss < 1e-6 * result.history.loss[0]


def _ensemble(matrix, observed, members) -> Evaluation:
    residuals = matrix @ np.asarray(members) - observed[:, None]
    products = residuals.T @ residuals
    return _evaluation(1.0, losses=np.diag(products).copy(), products=products)


def test_the_ensemble_arrives_at_the_exact_posterior_of_a_linear_problem():
    random = np.random.default_rng(3)
    matrix, observed = random.standard_normal((8, 3)), random.standard_normal(8)
    prior, spread, noise = np.array([0.5, -1.0, 0.2]), 0.7, 0.3
    method = EnsembleKalman(noise=noise, n_members=6, prior_spread=spread)
    state = method.init(jnp.asarray(prior))
    np.testing.assert_array_equal(state.members, method.init(jnp.asarray(prior)).members)  # those of the seed
    other = dataclasses.replace(method, seed=2).init(jnp.asarray(prior))
    assert not np.allclose(state.members, other.members)
    while not bool(state.finished):
        state = method.tell(state, _ensemble(matrix, observed, *method.ask(state)))
    precision = matrix.T @ matrix / noise**2 + np.eye(3) / spread**2
    mean = np.linalg.solve(precision, matrix.T @ observed / noise**2 + prior / spread**2)
    assert int(state.step) > 2  # in several steps
    # Without perturbed observations there is no sampling error: round-off only.
    np.testing.assert_allclose(state.trial, mean, rtol=1e-9)
    np.testing.assert_allclose(np.cov(state.members), np.linalg.inv(precision), rtol=1e-8, atol=1e-12)


def test_members_that_fail_do_not_count_and_come_back():
    random, method = np.random.default_rng(3), EnsembleKalman(noise=0.5, n_members=9)
    matrix, observed = random.standard_normal((5, 2)), random.standard_normal(5)
    state = method.init(jnp.zeros(2))
    good = _ensemble(matrix, observed, state.members)
    losses, products = good.losses.copy(), good.products.copy()
    losses[[2, 5]] = np.nan, 1e6 * np.median(losses)
    products[2, :] = products[:, 2] = np.nan
    evaluation = dataclasses.replace(good, losses=losses, products=products)
    assert evaluation.failed.sum() == 2 and evaluation.failed[[2, 5]].all()
    told = method.tell(state, evaluation)
    assert np.isfinite(told.members).all() and told.members.shape == (2, 9)
    np.testing.assert_array_equal(told.members, method.tell(state, evaluation).members)
    others = ~evaluation.failed
    fewer = _ensemble(matrix, observed, state.members[:, others])
    alone = dataclasses.replace(method, n_members=7)
    expected = alone.tell(dataclasses.replace(state, members=state.members[:, others]), fewer)
    np.testing.assert_allclose(told.members[:, others], expected.members, rtol=1e-12)
    with error_naming(FloatingPointError, "EnsembleKalman 2 1 0 9"):
        method.tell(state, dataclasses.replace(evaluation, losses=losses * np.nan))


def test_threads_compute_in_the_precision_of_the_caller():
    engine = ThisProcess(2)
    with jax.enable_x64(False):
        assert engine.map(lambda index: jnp.zeros(1).dtype.name, [0, 1]) == ["float32", "float32"]
        (found,) = engine.side_by_side([lambda check: jnp.zeros(1).dtype.name])
        assert found == "float32"
    assert engine.map(lambda index: jnp.zeros(1).dtype.name, [0, 1]) == ["float64", "float64"]
