"""Time schemes against an analytic solution, and at steps far beyond what an explicit one stands."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import order_of_accuracy
from tunax_lite.extensions import biogeochemistry as bgc
from tunax_lite.extensions.biogeochemistry import schemes

RATE = 5.0
START = {"a": jnp.array([0.9]), "b": jnp.array([0.1])}


class Linear:
    """Two pools that exchange: a' = b - 5 a, as in Burchard et al. (2003), section 6."""

    signed: frozenset[str] = frozenset()

    def water(self, pools) -> bgc.Exchanges:
        return {("a", "b"): RATE * pools["a"], ("b", "a"): pools["b"]}

    def ends(self, pools):
        return {}

    def after_ends(self, pools, dt):
        return pools


def after(step, n_steps: int):
    pools = dict(START)
    for _ in range(n_steps):
        pools = step(pools, 1.0 / n_steps)
    return pools


def test_the_order_of_accuracy():
    first = (schemes.Euler, schemes.ModifiedPatankar)
    for order, tested in ((1.0, first), (2.0, (schemes.ModifiedPatankar2,))):
        for scheme in tested:
            step = jax.jit(functools.partial(scheme().step, Linear()))
            sizes = [40, 80, 160]
            exact = 1.0 / (1.0 + RATE) + (0.9 - 1.0 / (1.0 + RATE)) * np.exp(-(1.0 + RATE))
            errors = [abs(float(after(step, n)["a"][0]) - exact) for n in sizes]
            # Between these steps the order is within a tenth of its limit.
            assert order_of_accuracy(sizes, errors) == pytest.approx(-order, abs=0.15), scheme


def test_modified_schemes_conserve_and_stay_positive_at_any_step():
    for scheme, dt in itertools.product(
        (schemes.ModifiedPatankar(), schemes.ModifiedPatankar2()), (1e-3, 1e6)
    ):
        pools = dict(START)
        for _ in range(5):
            pools = scheme.step(Linear(), pools, dt)
            assert np.all(np.asarray(pools["a"]) > 0.0) and np.all(np.asarray(pools["b"]) > 0.0)
            assert float(pools["a"][0] + pools["b"][0]) == pytest.approx(1.0, abs=5e-15)


def test_an_empty_pool_gains_what_the_others_lose():
    new = schemes.ModifiedPatankar().step(Linear(), {"a": jnp.array([1.0]), "b": jnp.array([0.0])}, 0.1)
    # (1 + 0.5) a' = 1, because b has nothing to return.
    np.testing.assert_allclose([new["a"][0], new["b"][0]], [1.0 / 1.5, 0.5 / 1.5], rtol=1e-14)


@pytest.mark.long
def test_derivatives_of_implicit_schemes():
    @jax.jit
    def end(start):
        pools = {"a": START["a"] * start, "b": START["b"]}
        for _ in range(3):
            pools = schemes.ModifiedPatankar2().step(Linear(), pools, 0.2)
        return jnp.sum(pools["a"] ** 2)

    by_differences = float((end(1.0 + 1e-6) - end(1.0 - 1e-6)) / 2e-6)
    assert float(jax.grad(end)(1.0)) == pytest.approx(by_differences, rel=1e-7)
    assert float(jax.jvp(end, (1.0,), (1.0,))[1]) == pytest.approx(by_differences, rel=1e-7)
