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
ALL = [*BOUNDED, *EVEN, *KNOWN]


def _value_at(prior, x) -> float:
    return float(prior.to_physical(jnp.asarray(x)))


def _value_and_slope(prior, x):
    return jax.jvp(prior.to_physical, (x,), (jnp.ones_like(x),))


def test_quantiles_are_those_of_the_distributions():
    for x in (-3.0, -1.2816, 0.0, 2.5):
        fraction, logistic = NormalDist().cdf(x), 1.0 / (1.0 + math.exp(-x))
        normal, log_normal = NormalDist(1.44, 0.1), NormalDist(math.log(0.3), 0.5)
        for prior, expected in (
            (Uniform(-3.0, 7.0), -3.0 + 10.0 * fraction),
            (LogUniform(1e-12, 1e-3), 1e-12 * 1e9**fraction),
            (Normal(1.44, 0.1, 1.0, 2.5), normal.inv_cdf(fraction)),
            (LogNormal(0.3, 0.5), math.exp(log_normal.inv_cdf(fraction))),
            (Bounded(-3.0, 7.0), -3.0 + 10.0 * logistic),
            (LogBounded(1e-12, 1e-3), 1e-12 * 1e9**logistic),
        ):
            assert _value_at(prior, x) == pytest.approx(expected, rel=1e-12), prior
    # Tails are cut where a parameter loses its meaning.
    normal, log_normal = Normal(1.0, 0.25).within(0.0, 5.0), LogNormal(1.0, 0.5).within(-1.0, 9.0)
    assert [_value_at(normal, x) for x in (-5.0, 20.0)] == [0.0, 5.0]
    assert _value_at(log_normal, 1000.0) == 9.0 and log_normal.lower == 0.0
    assert 0.0 < _value_at(log_normal, -100.0) < 1e-20
    assert normal.within(0.0, 5.0) == normal


@settings(deadline=None, max_examples=30)
@given(fraction=st.floats(1e-6, 1.0 - 1e-6))
def test_there_and_back(fraction):
    for prior in (*BOUNDED, *EVEN):
        if isinstance(prior, (LogBounded, LogUniform)):
            value = prior.lower * (prior.upper / prior.lower) ** fraction
        else:
            value = prior.lower + fraction * (prior.upper - prior.lower)
        # The inverse loses what 1 / share amplifies of round-off; the way back damps it again.
        assert _value_at(prior, prior.to_unconstrained(value)) == pytest.approx(value, rel=1e-12)
    for prior in (*KNOWN, Unbounded()):
        x = NormalDist().inv_cdf(fraction)
        if abs(x) < 3.9:
            assert prior.to_unconstrained(_value_at(prior, x)) == pytest.approx(x, abs=1e-10)


@pytest.mark.parametrize("prior", ALL, ids=repr)
def test_values_stay_within_the_bounds_with_the_right_gradient(prior):
    assert _value_at(prior, 0.0) == pytest.approx(prior.middle, rel=1e-14)
    ends = [5.0, 8.5, 37.0, 40.0, 700.0, 1e30, 1.7e308, math.inf]
    x = jnp.array(sorted([*(-end for end in ends), -5e-324, 0.0, 5e-324, *ends]))
    values, gradients = (np.asarray(part) for part in _value_and_slope(prior, x))
    if prior in (KNOWN[0], KNOWN[2]):  # without bounds
        assert not np.isnan(values).any() and not np.isnan(gradients).any()
    else:
        assert np.all((prior.lower <= values) & (values <= prior.upper))
        assert np.isfinite(gradients).all() and np.all(gradients >= 0.0)
    assert np.all(np.diff(values[np.isfinite(values)]) >= 0.0)
    x = jnp.array([*np.random.default_rng(0).uniform(-3.9, 3.9, 20), 0.0])  # 0: two halves of a formula meet
    step = 1e-5  # error of the difference about step² = 1e-10 and round-off / step = 1e-11, relative
    difference = (prior.to_physical(x + step) - prior.to_physical(x - step)) / (2.0 * step)
    # At the ends a fraction of 1e-4 of the range changes, against round-off of the whole range.
    np.testing.assert_allclose(_value_and_slope(prior, x)[1], difference, rtol=1e-5)
    value, gradient = _value_and_slope(prior, x.astype(jnp.float32))
    assert value.dtype == gradient.dtype == jnp.float32 and np.isfinite(gradient).all()
    np.testing.assert_allclose(value, prior.to_physical(x), rtol=3e-5)


def test_a_start_on_a_bound_or_outside_is_refused():
    for prior in (*BOUNDED, *EVEN, KNOWN[1], KNOWN[3]):
        for end in (prior.lower, prior.upper, 2.0 * prior.upper, math.nan):
            with error_naming(ValueError, f"{prior.lower:g} {prior.upper:g} {end:g}"):
                prior.to_unconstrained(end)
    with error_naming(ValueError, "-inf inf nan"):
        Unbounded().to_unconstrained(float("nan"))


def test_priors_without_meaning_are_refused():
    for make, message in (
        (lambda: Bounded(1.0, 1.0), "lower upper 1"),
        (lambda: Uniform(2.0, 1.0), "lower upper 2 1"),
        (lambda: Bounded(0.0, math.inf), "0 inf"),
        (lambda: LogBounded(0.0, 1.0), "logarithmic 0"),
        (lambda: Normal(1.0, 0.0), "Normal standard_deviation 0"),
        (lambda: Normal(math.nan, 1.0), "Normal mean nan"),
        (lambda: LogNormal(-1.0, 1.0), "LogNormal median 0 -1"),
        (lambda: LogNormal(1.0, math.inf), "LogNormal log_standard_deviation inf"),
        (lambda: Normal(1.0, 0.3).within(-1.0, 2.0), "-1 2 1 0.3 3.33"),
        (lambda: LogNormal(1.0, 0.5).within(0.2, 9.0), "0.2 9 1 0.5 3.22"),
        (lambda: LogNormal(1.0, 0.5).within(-5.0, 0.0), "0 1 0.5 -inf"),
        (lambda: Uniform(0.0, 2.0).within(0.0, 1.0), "0 1 2"),
        (lambda: Unbounded().within(0.0, math.inf), "0 inf"),
    ):
        with error_naming(ValueError, message):
            make()
