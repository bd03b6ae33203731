"""`vmap` of a run: the same numbers and derivatives, with the mapped axis last inside of the loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.networks import Learned

N, SIZE = 7, 5
CONSTANTS = jnp.linspace(0.01, 0.02, SIZE)
GRID = tl.Grid.uniform(35.0, N)
WATER = tl.State.from_profiles(GRID, temperature=lambda z: 20.0 + 0.05 * z)


def run(scale, heat_flux: tl.ScalarLike = -100.0, closure=None):
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, heat_flux=heat_flux))
    case = tl.Case(GRID, WATER, forcing, coriolis_parameter=1e-4, duration=7200.0)
    closure = tl.PacanowskiPhilander(viscosity_scale=scale) if closure is None else closure
    return tl.simulate(tl.Model(closure), case, dt=600.0, output_interval=3600.0)


def loss(scale):
    return jnp.sum(run(scale).state.temperature[-1] ** 2)


def shapes_in_loops(function, *arguments) -> set[tuple[int, ...]]:
    """Shapes that the scans of a program carry."""
    found, pending = set(), [jax.make_jaxpr(function)(*arguments).jaxpr]
    while pending:
        for equation in pending.pop().eqns:
            if equation.primitive.name in ("scan", "while"):
                found |= {getattr(variable.aval, "shape", ()) for variable in equation.outvars}
            inner = jax.tree.leaves(equation.params, is_leaf=lambda each: hasattr(each, "eqns"))
            pending += [getattr(each, "jaxpr", each) for each in inner if hasattr(each, "eqns")]
    return found


@pytest.mark.long
def test_a_mapped_run_equals_single_runs_and_keeps_the_columns_last():
    mapped = jax.jit(jax.vmap(run))(CONSTANTS)
    for i, constant in enumerate(CONSTANTS[:2]):
        single = run(constant)
        assert jax.tree.structure(single) == jax.tree.structure(mapped)
        for found, expected in zip(jax.tree.leaves(mapped), jax.tree.leaves(single), strict=True):
            # Rounding differs between a column and a batch.
            np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-14)
    shapes = shapes_in_loops(jax.vmap(run), CONSTANTS)
    assert (N, SIZE) in shapes and (SIZE, N) not in shapes
    fluxes = jnp.asarray([-50.0, -100.0])
    over_fluxes = lambda c: jax.vmap(lambda q: run(c, q).state.temperature, out_axes=-1)(fluxes)  # noqa: E731
    nested = jax.vmap(over_fluxes)(CONSTANTS[:3])
    assert nested.shape == (3, 3, N, 2)
    np.testing.assert_allclose(nested[1, ..., 1], run(CONSTANTS[1]).state.temperature, rtol=1e-12)


@pytest.mark.long
def test_derivatives_outside_of_the_map_keep_the_columns_last_and_inside_name_the_way_out():
    with pytest.warns(UserWarning, match=r"jax\.grad\(lambda x: jax\.vmap\(loss\)\(x\)\.sum\(\)\)"):
        expected = jax.jit(jax.vmap(jax.grad(loss)))(CONSTANTS)  # by the rule of JAX
    total = jax.grad(lambda c: jax.vmap(loss)(c).sum())
    np.testing.assert_allclose(jax.jit(total)(CONSTANTS), expected, rtol=1e-8)
    _, pushed = jax.jit(lambda c: jax.jvp(jax.vmap(loss), (c,), (jnp.ones(SIZE),)))(CONSTANTS)
    np.testing.assert_allclose(pushed, expected, rtol=1e-8)
    assert (SIZE, N) not in shapes_in_loops(total, CONSTANTS)


@pytest.mark.long
def test_mapped_weights_and_closures_from_outside_keep_the_rule_of_jax():
    """Such a closure need not accept batches: one that looks at the whole column stays right."""
    net = lambda key: eqx.nn.MLP(2, 1, 4, 1, activation=jnp.tanh, key=key)  # noqa: E731
    made = eqx.filter_vmap(lambda key: eqx.tree_at(lambda c: c.net, Learned(), net(key)))
    closures = made(jax.random.split(jax.random.key(1), 2))

    def end(closure):
        return run(None, closure=closure).state.temperature[-1]

    found = eqx.filter_vmap(end)(closures)
    one = jax.tree.map(lambda leaf: leaf[1] if eqx.is_array(leaf) else leaf, closures)
    np.testing.assert_allclose(found[1], end(one), rtol=1e-12)
    assert (2, N) in shapes_in_loops(lambda c: jax.vmap(lambda x: end(Learned(largest=x)))(c), CONSTANTS[:2])
