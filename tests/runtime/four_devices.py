"""Runs inside of programs that distribute their arrays, on four devices: see `test_embedding.py`.

Right values are those of one device without a mesh.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from tests.errors import error_naming
from tests.runtime.two_devices import count_collectives
from tunax_lite import (
    KPP,
    Case,
    Constant,
    ConstantForcing,
    Grid,
    KEpsilon,
    Model,
    State,
    SurfaceFluxes,
    simulate,
)
from tunax_lite.column.model import batched_case

STRESS = jnp.linspace(0.02, 0.2, 8)
CLOSURES = (Constant(), KEpsilon(), KPP())
SPLIT, COPIED, RESULTS = PartitionSpec("columns"), PartitionSpec(), PartitionSpec(None, None, "columns")
each_closure = pytest.mark.parametrize("closure", CLOSURES, ids=lambda one: type(one).__name__)


def with_wind(stress) -> Case:
    """Cooled water under this wind stress [N m-2]."""
    grid = Grid.uniform(depth=64.0, n_cells=16)
    start = State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=stress, heat_flux=-50.0))
    return Case(grid, start, forcing, coriolis_parameter=1e-4)


def run(stress, closure, **options):
    """Temperature under this wind stress [N m-2]."""
    return simulate(
        Model(closure), with_wind(stress), dt=600.0, duration=3600.0, output_interval=1800.0, **options
    ).state.temperature


def loss(stress, closure, **options):
    return jnp.mean(run(stress, closure, **options)[-1] ** 2)


def gradient_of(function):
    """Jitted gradient to the wind stress and the numbers of a closure."""
    return eqx.filter_jit(eqx.filter_grad(lambda both: function(*both)))


def assert_equal(one, other, rtol=0.0):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.max(np.abs(y), initial=0.0))


def placed(tree, spec, kind=AxisType.Explicit):
    mesh = jax.make_mesh((4,), ("columns",), axis_types=(kind,))
    arrays, others = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(mesh, spec)), others)


@each_closure
def test_explicit_axes_of_a_mesh(closure):
    right, split, copied = run(STRESS, closure), placed(STRESS, SPLIT), placed(closure, COPIED)
    assert jax.typeof(split).sharding.spec == SPLIT
    results = [run(split, closure), run(split, copied), eqx.filter_jit(run)(split, copied)]
    assert_equal(results, [right, right, right])
    assert jax.typeof(results[-1]).sharding.spec == RESULTS
    assert_equal([run(STRESS, copied), run(STRESS[0], copied)], [right, run(STRESS[0], closure)])


@each_closure
def test_gradient_with_explicit_axes_is_that_with_automatic_ones(closure):
    given = [
        (placed(STRESS, SPLIT, kind), placed(closure, COPIED, kind))
        for kind in (AxisType.Explicit, AxisType.Auto)
    ]
    explicit, automatic = (gradient_of(loss)(both) for both in given)
    assert_equal(explicit, automatic, rtol=1e-12)
    assert_equal(explicit, gradient_of(loss)((STRESS, closure)), rtol=1e-6)


def test_transformations_with_explicit_axes():
    split, closure = placed(STRESS, SPLIT), Constant()
    each = jax.vmap(lambda stress: run(stress, closure))
    assert_equal(each(split), each(STRESS))
    derivative = jax.jit(lambda x: jax.jvp(lambda x: run(x, closure), (x,), (jnp.ones_like(x),)))
    assert_equal(derivative(split), derivative(STRESS))
    with jax.set_mesh(jax.make_mesh((4,), ("columns",))):
        of_map = jax.jit(jax.grad(lambda x: jax.vmap(lambda one: loss(one, closure))(x).sum()))
        inside, eager = of_map(placed(STRESS, SPLIT)), jax.grad(loss)(placed(STRESS, SPLIT), closure)
    assert_equal(inside, of_map(STRESS), rtol=1e-12)
    assert_equal(eager, jax.grad(loss)(STRESS, closure), rtol=1e-12)


def test_no_device_waits_for_another_with_explicit_axes():
    compiled: Any = eqx.filter_jit(run)
    program = compiled.lower(placed(STRESS, SPLIT), placed(KEpsilon(), COPIED)).compile()
    assert count_collectives(program.compiled) == (0, 0)


@each_closure
def test_shard_map_of_the_caller(closure):
    mesh = jax.make_mesh((4,), ("columns",), axis_types=(AxisType.Auto,))
    numbers, others = eqx.partition(closure, eqx.is_inexact_array)

    def local(stress, numbers):
        return run(stress, eqx.combine(numbers, others))

    split = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(SPLIT, COPIED), out_specs=RESULTS))
    assert_equal(split(STRESS, numbers), run(STRESS, closure))

    def together(both):
        mean = lambda *given: jax.lax.pmean(jnp.mean(local(*given)[-1] ** 2), "columns")  # noqa: E731
        return jax.shard_map(mean, mesh=mesh, in_specs=(SPLIT, COPIED), out_specs=COPIED)(*both)

    gradient = jax.jit(jax.grad(together)).lower((STRESS, numbers)).compile()
    assert_equal(gradient((STRESS, numbers)), gradient_of(loss)((STRESS, closure)), rtol=1e-6)
    assert count_collectives(gradient)[1] == 0  # sums over the devices come after the loop


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize(("shape", "names"), [((4,), ("data",)), ((2, 2), ("data", "model"))])
def test_all_devices_while_a_mesh_is_set(shape, names, kind):
    closure = Constant()
    for stress in (STRESS, STRESS[:2]):  # fewer columns than devices, too
        stress = np.asarray(stress)
        right, slope = run(jnp.asarray(stress), closure), jax.grad(loss)(jnp.asarray(stress), closure)
        with jax.set_mesh(jax.make_mesh(shape, names, axis_types=(kind,) * len(names))):
            given = jnp.asarray(stress)
            found = run(given, closure, devices="all")
            assert_equal(found, right)
            assert_equal(found - run(given, closure), jnp.zeros_like(right))  # of one mesh
            assert_equal(jax.jit(lambda x: run(x, closure, devices="all"))(given), right)
            assert_equal(jax.grad(loss)(given, closure, devices="all"), slope, rtol=1e-12)
            with error_naming(ValueError, "all mesh"):
                run(given, closure, devices=jax.devices()[:2])


def test_devices_inside_of_a_shard_map_are_refused():
    mesh = jax.make_mesh((4,), ("columns",), axis_types=(AxisType.Auto,))
    split = jax.shard_map(
        lambda x: run(x, Constant(), devices="all"), mesh=mesh, in_specs=SPLIT, out_specs=RESULTS
    )
    with error_naming(ValueError, "jax.shard_map"):
        split(STRESS)


def test_single_steps_with_explicit_axes_and_in_a_shard_map():
    model = Model(KEpsilon())

    def step(stress):
        forced = batched_case(model, with_wind(stress))
        return model.step(forced.initial_state, model.init(forced), forced, 0.0, 600.0)[0].u

    right, mesh = step(STRESS), jax.make_mesh((4,), ("columns",), axis_types=(AxisType.Auto,))
    assert_equal(step(placed(STRESS, SPLIT)), right)
    assert_equal(jax.jit(step)(placed(STRESS, SPLIT)), right)
    split = jax.shard_map(step, mesh=mesh, in_specs=SPLIT, out_specs=PartitionSpec(None, "columns"))
    assert_equal(jax.jit(split)(STRESS), right)
