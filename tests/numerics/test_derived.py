"""Numbers derived from parameters by a loop: values and derivatives of every kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.numerics.derived import derived
from tunax_lite.numerics.elementary import at_least, safe_sqrt

X = {"a": jnp.asarray(1.7), "b": jnp.asarray(0.4), "c": jnp.asarray(-2.0), "weights": jnp.ones(3)}


def numbers(x):
    root = jax.jit(lambda a, b: safe_sqrt(a**3 - b) / (a + 2.0))(x["a"], x["b"])
    return {
        "root": at_least(root, 0.1),
        "power": jnp.exp(x["b"]) * root,
        "same": x["c"],
        "fixed": x["c"] ** 2,
        **x,
    }


def total(function, x):
    found = function(x)
    return sum(jnp.sum(jnp.sin((i + 1.0) * found[name])) for i, name in enumerate(sorted(found)))


def mapped_gradient(f):
    return lambda x: jax.vmap(jax.grad(f))(jax.tree.map(lambda leaf: jnp.stack([leaf, 1.1 * leaf]), x))


@pytest.mark.parametrize(
    "of", [jax.grad, jax.jacfwd, jax.hessian, lambda f: jax.jacrev(jax.jacrev(f)), mapped_gradient]
)
@pytest.mark.parametrize("fewest", [1, 100])
def test_derivatives_are_those_of_the_function(of, fewest, monkeypatch):
    monkeypatch.setattr("tunax_lite.numerics.derived._FEWEST_OPERATIONS", fewest)
    by_loop, plain = (of(lambda x, f=f: total(f, x))(X) for f in (lambda x: derived(numbers, x), numbers))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13), by_loop, plain)


def test_parameters_without_derived_numbers_need_no_loop(monkeypatch):
    monkeypatch.setattr("tunax_lite.numerics.derived._FEWEST_OPERATIONS", 1)

    def jaxpr(name):
        of_one = lambda x: derived(numbers, X | {name: x})["root"]  # noqa: E731
        return str(jax.make_jaxpr(lambda x: jax.jvp(of_one, (x,), (x,)))(X[name]))

    assert "scan" in jaxpr("a")
    assert "scan" not in jaxpr("weights")
    assert derived(numbers, X)["root"] == numbers(X)["root"]
