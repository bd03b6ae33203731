"""Priors: their quantiles, the maps that they give, and what is refused."""

import math
from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import error_naming
from tunax_lite.calibration.parameters import (
    Bounded,
    LogBounded,
    LogNormal,
    LogUniform,
    Normal,
    Unbounded,
    Uniform,
)

BOUNDED = [Bounded(-3.0, 7.0), Bounded(1e-3, 2e-3), LogBounded(1e-12, 1e-3), LogBounded(0.5, 2.0)]
EVEN = [Uniform(-3.0, 7.0), Uniform(1e-3, 2e-3), LogUniform(1e-12, 1e-3), LogUniform(0.5, 2.0)]
KNOWN = [
    Normal(-1.5, 0.2),
    Normal(1.44, 0.1, 1.0, 2.5),
    LogNormal(0.3, 0.5),
    LogNormal(1e-6, 1.5, 1e-12, 1.0),
]


def _value_at(prior, x) -> float:
    return float(prior.to_physical(jnp.asarray(x)))


def _value_and_slope(prior, x):
    return jax.jvp(prior.to_physical, (x,), (jnp.ones_like(x),))


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


@pytest.mark.parametrize("x", [-3.0, -1.2816, -0.1, 0.0, 0.7, 2.5])
def test_quantiles_are_those_of_the_distributions(x):
    fraction = NormalDist().cdf(x)
    assert _value_at(Uniform(-3.0, 7.0), x) == pytest.approx(-3.0 + 10.0 * fraction, rel=1e-13)
    assert _value_at(LogUniform(1e-12, 1e-3), x) == pytest.approx(1e-12 * 1e9**fraction, rel=1e-12)
    normal = NormalDist(1.44, 0.1)
    assert _value_at(Normal(1.44, 0.1, 1.0, 2.5), x) == pytest.approx(normal.inv_cdf(fraction), rel=1e-12)
    log_normal = NormalDist(math.log(0.3), 0.5)
    assert _value_at(LogNormal(0.3, 0.5), x) == pytest.approx(
        math.exp(log_normal.inv_cdf(fraction)), rel=1e-12
    )
    assert _value_at(Bounded(-3.0, 7.0), x) == pytest.approx(-3.0 + 10.0 * _logistic(x), rel=1e-13)
    assert _value_at(LogBounded(1e-12, 1e-3), x) == pytest.approx(1e-12 * 1e9 ** _logistic(x), rel=1e-12)


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN, *KNOWN, Unbounded()], ids=repr)
def test_the_middle_is_the_median(prior):
    assert _value_at(prior, 0.0) == pytest.approx(prior.middle, rel=1e-14)
    if prior.middle != 0.0:
        assert prior.to_unconstrained(prior.middle) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN], ids=repr)
@settings(deadline=None, max_examples=30)
@given(fraction=st.floats(1e-6, 1.0 - 1e-6))
def test_there_and_back(prior, fraction):
    if isinstance(prior, (LogBounded, LogUniform)):
        value = prior.lower * (prior.upper / prior.lower) ** fraction
    else:
        value = prior.lower + fraction * (prior.upper - prior.lower)
    # The inverse loses what 1 / share amplifies of round-off; the way back damps it again.
    assert _value_at(prior, prior.to_unconstrained(value)) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("prior", KNOWN, ids=repr)
@pytest.mark.parametrize("x", [-3.9, -0.2, 1.0, 3.5])
def test_back_and_there(prior, x):
    assert prior.to_unconstrained(_value_at(prior, x)) == pytest.approx(x, abs=1e-10)


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN, *KNOWN], ids=repr)
def test_stays_within_the_bounds_with_a_finite_gradient(prior):
    ends = [5.0, 8.5, 37.0, 40.0, 700.0, 1e30, 1.7e308, math.inf]
    x = jnp.array(sorted([*(-end for end in ends), -5e-324, 0.0, 5e-324, *ends]))
    values, gradients = (np.asarray(part) for part in _value_and_slope(prior, x))
    if prior in (KNOWN[0], KNOWN[2]):  # without bounds
        assert not np.isnan(values).any() and not np.isnan(gradients).any()
    else:
        assert np.all((prior.lower <= values) & (values <= prior.upper))
        assert np.isfinite(gradients).all() and np.all(gradients >= 0.0)
    assert np.all(np.diff(values[np.isfinite(values)]) >= 0.0)


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN, *KNOWN], ids=repr)
def test_gradient_equals_central_differences(prior):
    x = jnp.array([*np.random.default_rng(0).uniform(-3.9, 3.9, 20), 0.0])  # 0: two halves of a formula meet
    step = 1e-5  # error of the difference about step² = 1e-10 and round-off / step = 1e-11, relative
    difference = (prior.to_physical(x + step) - prior.to_physical(x - step)) / (2.0 * step)
    # At the ends a fraction of 1e-4 of the range changes, against round-off of the whole range.
    np.testing.assert_allclose(_value_and_slope(prior, x)[1], difference, rtol=1e-5)


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN, *KNOWN], ids=repr)
def test_single_precision_stays_single(prior):
    x = jnp.asarray([-4.5, -1.0, 0.0, 1.0, 4.5], jnp.float32)
    value, gradient = _value_and_slope(prior, x)
    assert value.dtype == gradient.dtype == jnp.float32
    np.testing.assert_allclose(value, prior.to_physical(x.astype(float)), rtol=3e-5)
    assert np.isfinite(gradient).all() and (gradient[1:4] > 0.0).all()


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN, KNOWN[1], KNOWN[3]], ids=repr)
@pytest.mark.parametrize("which", ["lower", "upper"])
def test_a_start_on_a_bound_is_refused(prior, which):
    end = getattr(prior, which)
    with error_naming(ValueError, f"{prior.lower:g} {prior.upper:g} {end:g}"):
        prior.to_unconstrained(end)


@pytest.mark.parametrize("value", [-4.0, 8.0, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [Bounded, Uniform])
def test_a_start_outside_is_refused(kind, value):
    with error_naming(ValueError, f"-3 7 {value:g}"):
        kind(-3.0, 7.0).to_unconstrained(value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bounded(1.0, 1.0), "lower upper 1"),
        (lambda: Uniform(2.0, 1.0), "lower upper 2 1"),
        (lambda: Bounded(0.0, math.inf), "0 inf"),
        (lambda: LogBounded(0.0, 1.0), "logarithmic 0"),
        (lambda: LogUniform(-1.0, 1.0), "logarithmic -1"),
        (lambda: Normal(1.0, 0.0), "Normal standard_deviation 0"),
        (lambda: Normal(math.nan, 1.0), "Normal mean nan"),
        (lambda: LogNormal(-1.0, 1.0), "LogNormal median 0 -1"),
        (lambda: LogNormal(1.0, math.inf), "LogNormal log_standard_deviation inf"),
        (
            lambda: Normal(1.0, 0.3).within(0.0, math.inf),
            "0 inf 1 0.3 3.33",
        ),
        (lambda: Normal(1.0, 0.3).within(-1.0, 2.0), "-1 2 1 0.3 3.33"),
        (lambda: LogNormal(1.0, 0.5).within(0.2, 9.0), "0.2 9 1 0.5 3.22"),
        (lambda: LogNormal(1.0, 0.5).within(-5.0, 0.0), "0 1 0.5 -inf"),
        (lambda: Uniform(0.0, 2.0).within(0.0, 1.0), "0 1 2"),
        (lambda: Unbounded().within(0.0, math.inf), "0 inf"),
    ],
)
def test_priors_without_meaning_are_refused(make, message):
    with error_naming(ValueError, message):
        make()


def test_tails_are_cut_where_a_parameter_loses_its_meaning():
    normal, log_normal = Normal(1.0, 0.25).within(0.0, 5.0), LogNormal(1.0, 0.5).within(-1.0, 9.0)
    assert [_value_at(normal, x) for x in (-5.0, 20.0)] == [0.0, 5.0]
    assert _value_at(log_normal, 1000.0) == 9.0
    assert 0.0 < _value_at(log_normal, -100.0) < 1e-20
    assert log_normal.lower == 0.0
    assert normal.within(0.0, 5.0) == normal


def test_unbounded_is_the_identity():
    assert Unbounded().to_unconstrained(-2.5) == -2.5
    assert _value_at(Unbounded(), -2.5) == -2.5
    with error_naming(ValueError, "-inf inf nan"):
        Unbounded().to_unconstrained(float("nan"))
