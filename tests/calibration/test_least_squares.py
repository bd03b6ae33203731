"""Levenberg-Marquardt and ensemble Kalman inversion, on residuals that cost nothing and on a cheap twin."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import yaml

from tests.calibration.twins import CHEAP_FREE, CHEAP_TRUTH, calibrate_cheap, cheap_targets
from tests.errors import error_naming
from tunax_lite.calibration import (
    EnsembleKalman,
    FreeParameter,
    FreeParameters,
    LevenbergMarquardt,
    LogNormal,
    MeanSquare,
    OtherCalibrationError,
    Physical,
    RootMeanSquare,
    Target,
    Tied,
    Uniform,
    calibrate,
    read_parameters,
    with_parameters,
    write_results,
)
from tunax_lite.calibration.problem import (
    EnsembleEvaluator,
    Evaluation,
    Fit,
    GradientEvaluator,
    NormalEquationsEvaluator,
    Problem,
)
from tunax_lite.closures import PacanowskiPhilander
from tunax_lite.column.model import Model
from tunax_lite.column.observations import Observations
from tunax_lite.runtime.engine import ThisProcess

MODEL = Model(PacanowskiPhilander())


@jax.jit
def valley(x):
    """Residuals of Rosenbrock's function, and their Jacobian."""

    def residuals(x):
        return jnp.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

    return residuals(x), jax.jacfwd(residuals)(x)


def _fit(loss) -> Fit:
    return Fit(float(loss), np.array([float(loss)]), np.zeros((1, 1)))


def _evaluate(function, x, loss_to_beat):
    """What the evaluator would say of residuals and Jacobian."""
    residuals, matrix = (np.asarray(part) for part in function(x))
    loss = float(residuals @ residuals)
    if not (math.isfinite(loss) and loss < loss_to_beat):
        return Evaluation(_fit(loss))
    return Evaluation(_fit(loss), 2.0 * matrix.T @ residuals, 2.0 * matrix.T @ matrix)


def _steps(method, function, x, n):
    states = [method.init(jnp.asarray(x))]
    while len(states) <= n and not bool(states[-1].finished):
        states.append(method.tell(states[-1], _evaluate(function, *method.ask(states[-1]))))
    return states


def test_levenberg_marquardt_finds_the_minimum_of_a_curved_valley(tmp_path):
    method = LevenbergMarquardt()
    states = _steps(method, valley, np.full(4, -0.5), 60)
    np.testing.assert_allclose(states[-1].trial, 1.0, rtol=1e-6)
    rejected = [not bool(state.accepted) for state in states[1:]]
    assert 0 < sum(rejected) < 30
    for before, after in zip(states, states[1:], strict=False):
        assert float(jnp.abs(after.trial - after.base).max()) <= 2.0 + 1e-12
        assert float(after.base_loss) <= float(before.base_loss)
    # A saved state goes on bit by bit.
    eqx.tree_serialise_leaves(tmp_path / "state.eqx", states[5])
    state = eqx.tree_deserialise_leaves(tmp_path / "state.eqx", method.init(jnp.zeros(4)))
    for expected in states[6:10]:
        state = method.tell(state, _evaluate(valley, *method.ask(state)))
        np.testing.assert_array_equal(state.trial, expected.trial)
    flat = _steps(method, lambda x: (np.ones(2), np.zeros((2, 1))), [0.0], 5)
    assert bool(flat[-1].finished) and len(flat) == 2


@pytest.mark.long
def test_evaluators_agree_and_compute_the_jacobian_only_for_a_lower_loss(evaluators):
    problem, normal, gradient = evaluators
    x = problem.free_parameters.start() + 0.1
    forward, reverse = normal(x), gradient(x)
    loss = forward.fit.loss
    assert loss == pytest.approx(reverse.fit.loss, rel=1e-12)
    np.testing.assert_allclose(forward.fit.errors, reverse.fit.errors, rtol=1e-12)
    np.testing.assert_allclose(forward.gradient, reverse.gradient, rtol=1e-8)
    values = np.linalg.eigvalsh(forward.matrix)
    assert values.min() > -1e-12 * values.max()
    rejected = normal(x, loss)
    assert not rejected.matrix.size and rejected.is_finite and math.isnan(rejected.gradient_norm)
    assert normal(x, 1.001 * loss).matrix.size


def test_a_linear_problem_takes_one_step_without_damping():
    random = np.random.default_rng(0)
    matrix, truth = random.standard_normal((9, 3)), np.array([0.3, -0.2, 0.5])
    method = LevenbergMarquardt(damping=1e-12)
    states = _steps(method, lambda x: (matrix @ (np.asarray(x) - truth), matrix), np.zeros(3), 1)
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
    spoilt = dataclasses.replace(_evaluate(valley, bad.trial, math.inf), matrix=np.full((2, 2), np.nan))
    assert not bool(method.tell(bad, spoilt).accepted)


def test_a_rejected_trial_is_never_evaluated_again():
    """One number wants to go far beyond the largest step, which the growing damping does not change."""
    method = LevenbergMarquardt(damping=1e-9)
    state, trials = method.init(jnp.zeros(2)), []
    residuals = lambda x: (np.array([1e3, 1.0]) + np.asarray(x), np.eye(2))  # noqa: E731
    state = method.tell(state, _evaluate(residuals, state.trial, math.inf))
    while len(trials) < 12 and not bool(state.finished):
        trials.append(tuple(np.asarray(state.trial).tolist()))
        state = method.tell(state, Evaluation(_fit(math.nan)))
    assert len(trials) > 6 and len(set(trials)) == len(trials)
    lengths = np.linalg.norm(trials, axis=1)
    assert np.all(np.diff(lengths) < 0.0) and trials[0][0] == -2.0


def test_a_problem_does_not_change():
    """Evaluators share it: one with another weight of the priors is another problem."""
    problem = Problem(MODEL, CHEAP_FREE.resolve(MODEL.closure), cheap_targets(), RootMeanSquare())
    for name in ("prior_weight", "weights"):
        with pytest.raises(AttributeError):
            setattr(problem, name, getattr(problem, name))
    with error_naming(ValueError, "prior_weight 0 -1"):
        problem.changed(prior_weight=-1.0)
    with error_naming(ValueError, "prior_weight 0"):
        calibrate_cheap(None, "levenberg_marquardt", 2, prior_weight=math.nan)


@pytest.fixture(scope="module")
def evaluators():
    """With the root as score, whose slope weights the cases too."""
    free = CHEAP_FREE.resolve(MODEL.closure)
    first, second = cheap_targets()
    targets = [first, dataclasses.replace(second, weight=3.0)]
    problem = Problem(MODEL, free, targets, RootMeanSquare())
    return problem, NormalEquationsEvaluator(problem), GradientEvaluator(problem)


@pytest.mark.long
def test_a_prior_adds_half_the_square_of_the_unconstrained_vector(evaluators):
    problem, normal, gradient = evaluators
    x = problem.free_parameters.start() + jnp.array([0.1, -0.3, 0.2])
    without = normal(x), gradient(x)
    problem = problem.changed(prior_weight=0.3)
    of_prior, gradient = normal.of(problem), gradient.of(problem)
    for before, after in zip(without, (of_prior(x), gradient(x)), strict=True):
        assert after.fit.loss - before.fit.loss == pytest.approx(0.15 * float(x @ x), rel=1e-9)
        np.testing.assert_array_equal(after.fit.scores, before.fit.scores)
        np.testing.assert_allclose(after.gradient - before.gradient, 0.3 * x, rtol=1e-9)
    np.testing.assert_allclose(of_prior(x).matrix - without[0].matrix, 0.3 * np.eye(3), atol=1e-9)
    assert not of_prior(x, without[0].fit.loss).matrix.size  # the loss to beat is with the prior
    assert normal(x).fit.loss == without[0].fit.loss  # that of its own problem
    with error_naming(ValueError, "prior_weight 0 0.3"):
        EnsembleEvaluator(problem)


@pytest.mark.long
def test_what_the_data_do_not_tell_goes_to_the_median_of_its_prior(tmp_path):
    (_, stable) = cheap_targets()  # warmed from above: no convection
    free = FreeParameters(
        (
            FreeParameter("alpha", prior=Uniform(1.0, 20.0)),
            FreeParameter("convective_coefficient", start=0.2, prior=LogNormal(0.05, 0.5)),
        ),
        tied=(Tied("exponent", to="alpha", factor=0.25, offset=1.0),),  # 2 at the true alpha, as it was
    )
    start = Model(with_parameters(PacanowskiPhilander(), {"viscosity_scale": CHEAP_TRUTH["viscosity_scale"]}))

    def calibrated(prior_weight, **options):
        options |= {"score": MeanSquare(), "prior_weight": prior_weight, "folder": tmp_path}
        return calibrate(start, free, [stable], LevenbergMarquardt(), 30, **options)

    result = calibrated(1e-4)
    assert result.best["convective_coefficient"] == pytest.approx(0.05, rel=1e-2)
    assert result.best["alpha"] == pytest.approx(CHEAP_TRUTH["alpha"], rel=1e-2)
    x = result.history.x[result.history.best_iteration]
    score = result.history.scores[result.history.best_iteration, 0]
    assert result.best_loss == pytest.approx(score + 0.5e-4 * x @ x, rel=1e-9)
    parameters, history = write_results(result, tmp_path)
    exponent = yaml.safe_load(parameters.read_text())["parameters"]["exponent"]
    assert exponent["tied_to"] == "0.25 * alpha + 1.0"
    assert [exponent[key] for key in ("start", "lower", "upper")] == [2.25, 1.25, 6.0]
    assert result.best["exponent"] == 0.25 * result.best["alpha"] + 1.0
    assert read_parameters(parameters) == result.best
    with xr.open_dataset(history) as dataset:
        np.testing.assert_array_equal(dataset["exponent"], 0.25 * dataset["alpha"] + 1.0)
        assert dataset.attrs["prior_weight"] == 1e-4
    with error_naming(OtherCalibrationError, "0.0001 0"):
        calibrated(0.0, resume=True)


@pytest.mark.long
def test_members_of_a_batch_give_what_single_runs_give(evaluators):
    problem, normal, _ = evaluators
    x = np.asarray(problem.free_parameters.start())
    members = jnp.asarray(x[:, None] + 0.2 * np.random.default_rng(0).standard_normal((3, 5)))
    found = EnsembleEvaluator(problem)(members)
    fits = [normal(members[:, i], 0.0).fit for i in range(5)]
    np.testing.assert_allclose(found.losses, [fit.loss for fit in fits], rtol=1e-9)
    mean = normal(members.mean(axis=1), 0.0).fit
    np.testing.assert_allclose(found.fit.scores, mean.scores, rtol=1e-9)
    np.testing.assert_allclose(found.fit.errors, mean.errors, rtol=1e-9)
    # sum w s'(m) r_i · r_j with s' = 1 / 2 sqrt(m), the m being those of the mean.
    of_members = np.array([fit.scores for fit in fits]) ** 2
    expected = of_members @ (problem.weights / (2.0 * mean.scores))
    np.testing.assert_allclose(np.diag(found.products), expected, rtol=1e-9)


@pytest.mark.long
def test_a_cheap_twin_is_recovered_by_least_squares():
    result = calibrate_cheap(None, "levenberg_marquardt", 12)
    for path, value in CHEAP_TRUTH.items():
        assert result.best[path] == pytest.approx(value, rel=1e-4)
    assert result.best_loss < 1e-8 * result.history.loss[0]


@pytest.mark.long
def test_the_first_step_from_near_the_truth_is_taken():
    """Small residuals with the same derivatives do not make the matrix small."""
    free = (dataclasses.replace(one, start=1.05 * CHEAP_TRUTH[one.path]) for one in CHEAP_FREE.parameters)
    near = FreeParameters(tuple(free))
    result = calibrate(MODEL, near, cheap_targets(), LevenbergMarquardt(), 5, score=MeanSquare())
    assert not result.history.rejected.any()
    for path, value in CHEAP_TRUTH.items():
        assert result.best[path] == pytest.approx(value, rel=1e-6)


@pytest.mark.long
def test_a_case_whose_observations_do_not_vary_is_calibrated():
    """One value has no range that could limit the derivatives."""
    target = cheap_targets()[0]
    one = {"temperature": target.observations.profiles["temperature"][-1:, -1:]}
    observations = Observations(target.observations.time[-1:], target.observations.z[-1:], one)
    target = Target(target.case, observations, {"temperature": 1.0}, dt=target.dt, scale=Physical())
    free = FreeParameters(CHEAP_FREE.parameters[:1])
    result = calibrate(MODEL, free, [target], LevenbergMarquardt(), 12, score=MeanSquare())
    assert result.best_loss < 1e-6 * result.history.loss[0]


def _linear(n_parameters: int, n_data: int):
    random = np.random.default_rng(3)
    return random.standard_normal((n_data, n_parameters)), random.standard_normal(n_data)


def _ensemble(matrix, observed, members) -> Evaluation:
    residuals = matrix @ np.asarray(members) - observed[:, None]
    products = residuals.T @ residuals
    return Evaluation(_fit(1.0), losses=np.diag(products).copy(), products=products)


def test_the_ensemble_arrives_at_the_exact_posterior_of_a_linear_problem():
    matrix, observed = _linear(3, 8)
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
    matrix, observed = _linear(2, 5)
    method = EnsembleKalman(noise=0.5, n_members=9)
    state = method.init(jnp.zeros(2))
    good = _ensemble(matrix, observed, state.members)
    losses, products = good.losses.copy(), good.products.copy()
    losses[[2, 5]] = np.nan, 1e6 * np.median(losses)
    products[2, :] = products[:, 2] = np.nan
    evaluation = Evaluation(good.fit, losses=losses, products=products)
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
        method.tell(state, Evaluation(good.fit, losses=losses * np.nan, products=products))


def test_bad_settings_are_refused():
    for make, message in (
        (lambda: LevenbergMarquardt(decrease=1.0), "decrease 1"),
        (lambda: LevenbergMarquardt(tolerance=math.nan), "tolerance 0 nan"),
        (lambda: EnsembleKalman(noise=1.0, n_members=2), "n_members 3 2"),
        (lambda: EnsembleKalman(noise=1.0, n_members=4).init(jnp.zeros(4)), "EnsembleKalman 4"),
    ):
        with error_naming(ValueError, message):
            make()


def test_threads_compute_in_the_precision_of_the_caller():
    engine = ThisProcess(2)
    with jax.enable_x64(False):
        assert engine.map(lambda index: jnp.zeros(1).dtype.name, [0, 1]) == ["float32", "float32"]
        (found,) = engine.side_by_side([lambda check: jnp.zeros(1).dtype.name])
        assert found == "float32"
    assert engine.map(lambda index: jnp.zeros(1).dtype.name, [0, 1]) == ["float64", "float64"]
