"""What a call knows of its arguments before its first step."""

import gc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite.column.arguments import ByIdentity, Parts, common_precision
from tunax_lite.column.terms import AbstractTerm, Tendency


class Warming(AbstractTerm):
    """A source of heat that is the same in all cells."""

    rate: tl.Scalar = tl.parameter(1e-4, unit="degC s-1")

    def on_scalars(self, column):
        return {"temperature": Tendency(cells=self.rate * column.grid.cell_thickness)}


class Module(eqx.Module):
    x: object
    table: dict = eqx.field(default_factory=dict)
    label: str = eqx.field(default="a", static=True)


def test_a_tree_comes_back_from_its_parts():
    tree = Module({"a": jnp.arange(3.0), "b": True, "c": None}, {"n": 2})
    parts = Parts.of(tree)
    back = parts.structure.tree(parts.arrays)
    assert eqx.tree_equal(back, tree)


def test_equal_structures_are_one_object_and_values_that_only_compare_equal_are_not():
    first, second = Module(jnp.zeros(3), {"n": 1}), Module(jnp.ones(5), {"n": 1})
    assert Parts.of(first).structure is Parts.of(second).structure
    others = (
        Module(jnp.zeros(3), {"n": True}),
        Module(jnp.zeros(3), {"n": 1}, label="b"),
        Module(jnp.zeros(3)),
    )
    for other in others:
        assert Parts.of(other).structure is not Parts.of(first).structure


def test_weak_types_and_python_floats_follow_the_firm_arrays():
    parts = Parts.of(Module({"firm": jnp.zeros(2, jnp.float32), "weak": jnp.asarray(0.1), "float": 0.2}))
    assert common_precision(parts) == np.float32
    settled = parts.settled(np.dtype("float32"))
    assert {(a.dtype, a.weak_type) for a in settled.arrays} == {(np.dtype("float32"), False)}
    assert common_precision(parts, Parts.of(jnp.zeros(2))) is None
    assert common_precision(Parts.of(0.5)) is None


def test_a_result_is_kept_while_its_module_lives_and_its_dictionaries_hold_the_same():
    calls = []
    known = ByIdentity(lambda module: calls.append(module.label) or len(module.table))
    module = Module(jnp.zeros(2))
    assert (known(module), known(module)) == (0, 0)
    assert len(calls) == 1
    module.table["x"] = jnp.ones(1)
    assert known(module) == 1
    module.table["x"] = jnp.ones(2)
    known(module)
    assert len(calls) == 3
    equal = Module(jnp.zeros(2), dict(module.table))
    known(equal)
    assert len(calls) == 4
    del module, equal
    gc.collect()
    assert not known._entries


def test_nothing_traced_is_kept():
    known = ByIdentity(lambda module: module.x)
    kept = []

    @jax.jit
    def traced(x):
        kept.append(Module(x))
        return known(kept[-1]) + 1.0

    traced(jnp.zeros(2))
    assert not known._entries


@pytest.fixture
def column():
    grid = tl.Grid.uniform(20.0, 10)
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1))
    return tl.Model(tl.PacanowskiPhilander()), tl.Case(grid=grid, initial_state=state, forcing=forcing)


def temperature(model, case, **options):
    return np.asarray(tl.simulate(model, case, duration=3600.0, **options).state.temperature)


def test_a_term_added_to_a_case_acts_in_the_next_call(column):
    model, case = column
    before = temperature(model, case)

    case.terms["warming"] = Warming()
    after = temperature(model, case)
    assert after[-1].mean() - before[-1].mean() == pytest.approx(0.36, rel=1e-6)


def test_every_call_checks_the_times_of_its_own_forcing(column):
    model, case = column
    series = tl.TimeSeriesForcing(
        jnp.asarray([0.0, 3600.0]), tl.SurfaceFluxes(stress_u=jnp.asarray([0.1, 0.2]))
    )
    case = eqx.tree_at(lambda case: case.forcing, case, series)
    temperature(model, case)
    for _ in range(2):
        with error_naming(ValueError, "3600 7200"):
            tl.simulate(model, case, duration=7200.0)


def test_a_new_model_and_an_equal_one_give_the_bits_of_the_first(column):
    model, case = column
    first = temperature(model, case)
    np.testing.assert_array_equal(temperature(tl.Model(tl.PacanowskiPhilander()), case), first)
    other = temperature(tl.Model(tl.PacanowskiPhilander(alpha=4.0)), case)
    assert np.abs(other - first).max() > 0.0
    np.testing.assert_array_equal(temperature(model, case), first)
