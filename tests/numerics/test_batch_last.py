"""`vmap_last` agrees with `jax.vmap` on whatever it meets, and keeps the mapped axis last inside of loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tunax_lite.numerics.batch_last import vmap_last
from tunax_lite.numerics.tridiagonal import solve_tridiagonal

N, SIZE = 5, 3
FIXED = jnp.asarray(np.random.default_rng(7).uniform(0.5, 1.5, N))
MAPPED = jnp.asarray(np.random.default_rng(8).uniform(0.5, 1.5, (N, SIZE)))


@jax.custom_jvp
def cube(x):
    return x**3


cube.defjvp(lambda primals, tangents: (cube(*primals), 3.0 * primals[0] ** 2 * tangents[0]))


@jax.custom_vjp
def halve(x):
    return 0.5 * x


halve.defvjp(lambda x: (halve(x), None), lambda _, cotangent: (0.5 * cotangent,))


def scan_with_all_kinds(x):
    """Carries that become mapped only in the second turn, some that never do; outputs of both kinds."""

    def turn(carry, row):
        fixed, late, later, count = carry
        carry = (fixed * 1.1, later, late + row * x, count + 1)
        return carry, (fixed, late[0], count)

    start = (FIXED, FIXED, FIXED, jnp.zeros((), jnp.int32))
    return lax.scan(turn, start, FIXED, reverse=True)


def while_until_large(x):
    return lax.while_loop(lambda c: jnp.sum(c) < 50.0, lambda c: c * 1.3, x)


def nested_loops(x):
    def outer(i, carry):
        row = lax.dynamic_index_in_dim(carry, i, 0, keepdims=False)
        return lax.fori_loop(0, i + 1, lambda j, c: lax.dynamic_update_index_in_dim(c, row + j, j, 0), carry)

    return lax.fori_loop(0, N, outer, x)


def derivative_of_a_loop(x):
    """Reverse mode through a checkpointed scan, with what that transposes slices to."""

    def loss(p):
        def step(c, _):
            c = jnp.concatenate([c[1:] * p[0], jnp.sin(c[:1])])
            return c, c[2]

        last, rows = lax.scan(jax.checkpoint(step), p, None, length=4)
        return jnp.sum(last**2) + jnp.sum(rows)

    return jax.grad(loss)(x)


FUNCTIONS = {
    "elementwise": lambda x: jnp.where(x > 1.0, jnp.sqrt(x) * FIXED, FIXED) / (1.0 + x**2),
    "scalar and array": lambda x: jnp.where(x[0] > 1.0, FIXED, x) + x[1] * 2.0,
    "not mapped at all": lambda x: FIXED * 2.0,
    "pytree": lambda x: {"a": x[:2], "b": (FIXED, x.sum())},
    "slices": lambda x: jnp.concatenate([x[:1], FIXED[1:-1] * x[1:-1], x[::4]]),
    "shapes": lambda x: x.reshape(1, N, 1).transpose(2, 1, 0)[:, ::-1].squeeze() + x[:, None].T[0],
    "reductions": lambda x: (jnp.max(x), jnp.cumsum(x * FIXED), jnp.argmin(x), jnp.any(x > 1.2)),
    "pad": lambda x: lax.pad(x, 1.5, [(1, 2, 1)]),
    "pad by a mapped value": lambda x: lax.pad(FIXED, x[0], [(1, 0, 0)]),
    "integers": lambda x: x.astype(jnp.int32) + jnp.arange(N, dtype=jnp.int32),
    "gather": lambda x: x[jnp.asarray([3, 1, 1, 0, 4])] + jnp.interp(FIXED, jnp.arange(float(N)), x),
    "mapped index": lambda x: lax.dynamic_slice(FIXED, [x[0].astype(jnp.int32)], [2]),
    "update at a mapped index": lambda x: lax.dynamic_update_slice(x, FIXED[:2], [x[0].astype(jnp.int32)]),
    "sort and product": lambda x: jnp.outer(jnp.sort(x), FIXED) @ x,
    "scan": scan_with_all_kinds,
    "while": while_until_large,
    "nested loops": nested_loops,
    "choice": lambda x: lax.cond(FIXED[0] > 0.0, lambda y: (y, FIXED), lambda y: (FIXED, y), x),
    "mapped choice": lambda x: lax.cond(x[0] > 1.0, lambda y: 2.0 * y, lambda y: FIXED, x),
    "custom derivatives": lambda x: cube(x) + halve(x),
    "derivative of custom": lambda x: jax.grad(lambda y: jnp.sum(cube(y) * halve(y)))(x),
    "tridiagonal": lambda x: solve_tridiagonal(-FIXED, 3.0 + FIXED, -FIXED, {"x": x, "y": FIXED * x}),
    "tangent of a solve": lambda x: jax.jvp(
        lambda y: solve_tridiagonal(-FIXED, 3.0 + y, -y, FIXED), (FIXED,), (x,)
    ),
    "reverse mode": derivative_of_a_loop,
}


@pytest.mark.long
def test_it_agrees_with_vmap():
    for name, function in FUNCTIONS.items():
        both = vmap_last(function), jax.vmap(function, in_axes=-1, out_axes=-1)
        found, expected = jax.jit(lambda x, both=both: tuple(mapped(x) for mapped in both))(MAPPED)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-15, err_msg=name)


def test_the_axis_stays_last_inside_of_loops():
    text = str(jax.make_jaxpr(vmap_last(FUNCTIONS["tangent of a solve"]))(MAPPED))
    assert f"f64[{N},{SIZE}]" in text
    assert f"f64[{SIZE},{N}]" not in text
