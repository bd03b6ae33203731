"""Methods in one kernel: the same numbers and derivatives, under every transformation of JAX."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from tests.helpers import ALL_CLOSURES, SAME, VARIANTS, id_of, some_long
from tunax_lite.closures import OneEquation
from tunax_lite.closures.two_equation import AbstractTwoEquation
from tunax_lite.runtime.kernels import in_one_kernel

EVERY = *ALL_CLOSURES, *VARIANTS.values()
PREPARED = [each for each in EVERY if isinstance(each, AbstractTwoEquation | OneEquation)]


class Numbers(eqx.Module):
    """Two numbers, a vector, and a setting."""

    first: jax.Array
    second: jax.Array
    vector: jax.Array
    power: int = eqx.field(default=2, static=True)

    @in_one_kernel
    def prepare(self) -> "Numbers":
        scaled = jax.jit(jnp.sin)(self.first * self.vector)
        return Numbers(self.first, self.second**self.power / self.first, scaled, self.power + 1)


NUMBERS = Numbers(jnp.asarray(0.7), jnp.asarray(1.3), jnp.arange(3.0))


def plain(module):
    return inspect.unwrap(type(module).prepare)(module)


def total(prepare):
    """A function of a vector: the sum of all results, each with another weight."""
    values, back = ravel_pytree(NUMBERS)

    def of_vector(x):
        results = ravel_pytree(prepare(back(x)))[0]
        return jnp.sum(results**2 * jnp.arange(1.0, 1.0 + len(results)))

    return of_vector, values


def in_loop(function, x):
    advance = jax.checkpoint(lambda sum_, _: (sum_ + function(x * (1.0 + sum_)), None))
    return jax.lax.scan(advance, 0.0, None, 2)[0]


TRANSFORMED = {
    "value": lambda f: f,
    "reverse": jax.grad,
    "forward": jax.jacfwd,
    "vmap": lambda f: lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, 2.0 * x])),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "scan": lambda f: jax.grad(
        lambda x: jax.lax.scan(
            jax.checkpoint(lambda sum_, _: (sum_ + f(x * (1.0 + sum_)), None)), 0.0, None, 2
        )[0]
    ),
    "hessian": jax.hessian,
    "reverse over reverse": lambda f: jax.jacrev(jax.grad(f)),
    "hessian of checkpoint": lambda f: jax.jacfwd(jax.grad(jax.checkpoint(f))),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_derivatives_are_those_of_the_method(name):
    (ours, x), (theirs, _) = total(lambda module: module.prepare()), total(plain)
    got, expected = (jax.jit(TRANSFORMED[name](function))(x) for function in (ours, theirs))
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


def test_method_is_replaced():
    plain_program = jax.make_jaxpr(plain)(NUMBERS)
    assert "xla_metadata_call" not in str(plain_program)
    assert "xla_metadata_call" in str(jax.make_jaxpr(lambda module: module.prepare())(NUMBERS))


def test_only_derived_numbers_pass_through_the_kernel():
    program = jax.make_jaxpr(lambda module: module.prepare().first)(NUMBERS)
    assert program.jaxpr.outvars == program.jaxpr.invars[:1]
    assert NUMBERS.prepare().power == jax.eval_shape(lambda module: module.prepare(), NUMBERS).power == 3


@pytest.mark.parametrize("closure", some_long(PREPARED, lambda each: each is not PREPARED[0], id_of))
def test_gradient_of_a_prepared_closure_by_each_parameter(closure):
    """XLA fails where its simplifications find an argument of a kernel without use."""
    numbers, others = eqx.partition(closure, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(numbers)

    def total_of(prepare, number):
        def of_number(x):
            changed = jax.tree.unflatten(tree, [*leaves[:number], x, *leaves[number + 1 :]])
            results = jax.tree.leaves(eqx.filter(prepare(eqx.combine(changed, others)), eqx.is_inexact_array))
            return sum(jnp.sum(result) for result in results)

        return jax.jit(jax.value_and_grad(of_number))

    for number, value in enumerate(leaves):
        ours, theirs = (total_of(how, number)(value) for how in (lambda each: each.prepare(), plain))
        np.testing.assert_allclose(ours, theirs, rtol=SAME, atol=SAME)
