"""Maps between physical and unconstrained parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tunax_lite.calibration.transforms import Bounded, LogBounded, Unbounded

TRANSFORMS = [Bounded(-3.0, 7.0), Bounded(1e-3, 2e-3), LogBounded(1e-12, 1e-3), LogBounded(0.5, 2.0)]
anywhere = st.floats(allow_nan=False, width=64)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@settings(deadline=None, max_examples=50)
@given(share=st.floats(1e-6, 1.0 - 1e-6))
def test_there_and_back(transform, share):
    if isinstance(transform, LogBounded):
        value = transform.lower * (transform.upper / transform.lower) ** share
    else:
        value = transform.lower + share * (transform.upper - transform.lower)
    x = transform.to_unconstrained(value)
    # The inverse loses what 1 / share amplifies of round-off; the way back damps it again.
    assert float(transform.to_physical(jnp.asarray(x))) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@settings(deadline=None, max_examples=50)
@given(x=anywhere)
def test_stays_within_the_bounds_with_a_finite_gradient(transform, x):
    value, gradient = jax.value_and_grad(transform.to_physical)(jnp.asarray(x))
    assert transform.lower <= float(value) <= transform.upper
    assert np.isfinite(gradient) and gradient >= 0.0


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@settings(deadline=None, max_examples=30)
@given(x=st.floats(-8.0, 8.0))
@example(x=0.0)  # where the two halves of the formula meet
def test_gradient_equals_central_differences(transform, x):
    step = 1e-5  # error of the difference about step² = 1e-10 and round-off / step = 1e-11, relative
    ahead, behind = (float(transform.to_physical(jnp.asarray(x + sign * step))) for sign in (1, -1))
    gradient = float(jax.grad(transform.to_physical)(jnp.asarray(x)))
    # At |x| = 8 a share of 3e-4 of the range changes, against round-off of the whole range.
    assert gradient == pytest.approx((ahead - behind) / (2.0 * step), rel=1e-5)


def test_single_precision_stays_single():
    value = Bounded(1.0, 2.0).to_physical(jnp.asarray(0.3, jnp.float32))
    assert value.dtype == jnp.float32


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@pytest.mark.parametrize("which", ["lower", "upper"])
def test_a_start_on_a_bound_is_refused(transform, which):
    with pytest.raises(ValueError, match="on a bound"):
        transform.to_unconstrained(getattr(transform, which))


@pytest.mark.parametrize("value", [-4.0, 8.0, float("nan"), float("inf")])
def test_a_start_outside_is_refused(value):
    with pytest.raises(ValueError, match="between the bounds -3 and 7"):
        Bounded(-3.0, 7.0).to_unconstrained(value)


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [(Bounded, (1.0, 1.0)), (Bounded, (2.0, 1.0)), (Bounded, (0.0, float("inf"))), (LogBounded, (0.0, 1.0))],
)
def test_bounds_without_meaning_are_refused(kind, bounds):
    with pytest.raises(ValueError, match="bounds"):
        kind(*bounds)


def test_unbounded_is_the_identity():
    assert Unbounded().to_unconstrained(-2.5) == -2.5
    assert float(Unbounded().to_physical(jnp.asarray(-2.5))) == -2.5
    with pytest.raises(ValueError, match="finite"):
        Unbounded().to_unconstrained(float("nan"))
