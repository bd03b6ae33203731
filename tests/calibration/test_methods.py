"""Methods that need gradients, on functions that cost nothing."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.calibration.twins import told
from tests.errors import error_naming
from tunax_lite.calibration import LBFGS, Adam, ConstantRate, CosineDecay, ExponentialDecay

METHODS = [Adam(0.1), Adam(0.1, CosineDecay(40, 5), largest_gradient=1.0), LBFGS()]


@jax.jit
@jax.value_and_grad
def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _steps(method, function, x, n):
    """States after each of n evaluations."""
    state = method.init(jnp.asarray(x))
    states = [state]
    for _ in range(n):
        state = told(method, state, *function(*method.ask(state)))
        states.append(state)
        if bool(state.finished):
            break
    return states


def test_lbfgs_finds_the_minimum_of_a_curved_valley():
    states = _steps(LBFGS(largest_step=0.5), rosenbrock, np.full(4, -0.5), 150)
    np.testing.assert_allclose(states[-1].trial, 1.0, rtol=1e-8)
    for before, after in zip(states, states[1:], strict=False):
        assert float(jnp.abs(after.trial - after.base).max()) <= 0.5 + 1e-12
        assert float(after.base_loss) <= float(before.base_loss)


def test_adam_finds_the_minimum_of_a_badly_scaled_bowl():
    scales = jnp.array([1.0, 1e4])
    bowl = jax.jit(jax.value_and_grad(lambda x: jnp.sum(scales * (x - 1.0) ** 2)))
    last = _steps(Adam(0.1, CosineDecay(200, 5, 0.0)), bowl, np.full(2, -0.5), 200)[-1]
    np.testing.assert_allclose(last.trial, 1.0, atol=1e-2)  # about what is left of the learning rate


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_values_that_are_not_finite_shorten_the_step(method):
    """Below zero the function does not exist; the minimum lies at 0.1."""

    def walled(x):
        if float(x[0]) <= 0.0:
            return math.nan, jnp.full(1, jnp.nan)
        return float(jnp.sum((x - 0.1) ** 2)), 2.0 * (x - 0.1)

    wide = dataclasses.replace(method, **{"learning_rate": 1.0} if isinstance(method, Adam) else {})
    states = _steps(wide, walled, [2.0], 60)
    trials = np.array([float(state.trial[0]) for state in states])
    for before, after in zip(states[1:-1], states[2:], strict=True):
        if float(before.trial[0]) <= 0.0:  # what was told then is refused
            assert not bool(after.accepted)
            assert float(after.trial[0]) > float(before.trial[0])
            assert float(after.base[0]) > 0.0
    assert np.isfinite(trials).all()
    assert abs(trials[-1] - 0.1) < 0.5


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_rejected_trial_is_halved_towards_the_last_good_point(method):
    x = jnp.array([1.0, -2.0])
    good = told(method, method.init(x), 1.0, [0.3, -0.1])
    bad = told(method, good, math.inf, [0.3, -0.1])
    worse = told(method, bad, 1.0, [math.nan, 0.0])
    np.testing.assert_allclose(bad.trial - x, 0.5 * (good.trial - x), rtol=1e-12)
    np.testing.assert_allclose(worse.trial - x, 0.25 * (good.trial - x), rtol=1e-12)
    assert not bool(bad.accepted) and not bool(worse.accepted)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_state_that_was_saved_goes_on_bit_by_bit(method, tmp_path):
    states = _steps(method, rosenbrock, np.full(3, -0.5), 12)
    eqx.tree_serialise_leaves(tmp_path / "state.eqx", states[6])
    state = eqx.tree_deserialise_leaves(tmp_path / "state.eqx", method.init(jnp.zeros(3)))
    for expected in states[7:]:
        state = told(method, state, *rosenbrock(state.trial))
        np.testing.assert_array_equal(state.trial, expected.trial)


def test_lbfgs_ends_where_nothing_lowers_the_loss():
    states = _steps(LBFGS(), lambda x: (1.0, jnp.array([1.0])), [0.0], 100)
    assert bool(states[-1].finished) and len(states) < 40
    assert bool(_steps(LBFGS(), lambda x: (1.0, jnp.array([0.0])), [0.0], 5)[-1].finished)


def test_clipping_bounds_the_gradient_that_adam_remembers():
    state = Adam(0.1, largest_gradient=1.0).init(jnp.zeros(2))
    after = told(Adam(0.1, largest_gradient=1.0), state, 1.0, [3e8, 4e8])
    _, moments = after.transformation  # pyright: ignore[reportGeneralTypeIssues]
    np.testing.assert_allclose(
        moments.mu,  # pyright: ignore[reportAttributeAccessIssue]
        0.1 * np.array([0.6, 0.8]),
        rtol=1e-12,
    )


def test_schedules_rise_then_fall_to_their_final_fraction():
    for schedule in (CosineDecay(100, 10, 0.05), ExponentialDecay(100, 10, 0.05)):
        fractions = np.array([schedule.fraction(step) for step in range(150)])
        assert fractions[0] == pytest.approx(1.0 / 11.0)
        assert np.all(np.diff(fractions[:11]) > 0.0) and fractions[10] == pytest.approx(1.0)
        assert np.all(np.diff(fractions[10:100]) < 0.0)
        np.testing.assert_allclose(fractions[100:], 0.05, rtol=1e-6)
    assert [ConstantRate().fraction(step) for step in (0, 7)] == [1.0, 1.0]


def test_bad_settings_are_refused():
    for make, message in (
        (lambda: Adam(math.inf), "learning_rate 0"),
        (lambda: CosineDecay(10, 10), "n_warmup n_steps 10"),
        (lambda: ExponentialDecay(10, 0, 0.0), "final_fraction 0"),
        (lambda: LBFGS(backtracking=1.0), "backtracking 0 1"),
    ):
        with error_naming(ValueError, message):
            make()
