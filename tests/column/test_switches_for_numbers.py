"""True and False in the place of a number are refused like a number outside its range."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import get_leaf
from tunax_lite import Case, ConstantForcing, Grid, KEpsilon, Model, State, SurfaceFluxes, simulate

SWITCHES = [True, False, np.True_, np.array([True, False]), jnp.asarray(True)]


@pytest.mark.parametrize("switch", SWITCHES, ids=["True", "False", "numpy", "array", "jax"])
def test_a_constructor_refuses_a_switch_like_a_number_outside_the_range(switch):
    for make in (
        lambda: KEpsilon(c_eps_2=switch),
        lambda: Model(KEpsilon(), molecular_viscosity=switch),
        lambda: SurfaceFluxes(heat_flux=switch),
    ):
        with error_naming(ValueError, "expected True" if np.all(switch) else "expected False"):
            make()
    with error_naming(ValueError, "c_eps_2 1.1 3.5"):
        KEpsilon(c_eps_2=1.0)


def test_a_run_refuses_a_switch_that_was_put_into_a_tree():
    grid = Grid.uniform(8.0, 4)
    state = State.from_profiles(grid, temperature=10.0)
    case = Case(grid, state, ConstantForcing(SurfaceFluxes(stress_u=0.1)), duration=600.0)
    for switch in (True, jnp.asarray(False)):
        model = eqx.tree_at(lambda model: model.closure.c_eps_2, Model(KEpsilon()), switch)
        with error_naming(ValueError, "closure.c_eps_2 1.1 3.5"):
            simulate(model, case, dt=600.0)


def test_trees_may_hold_switches_as_placeholders():
    model = Model(KEpsilon())
    spec = jax.tree.map(lambda _: False, model)
    spec = eqx.tree_at(lambda tree: tree.closure.c_eps_2, spec, True)
    free, fixed = eqx.partition(model, spec)
    assert len(jax.tree.leaves(free)) == 1
    assert get_leaf(eqx.combine(free, fixed), "closure.c_eps_2") == get_leaf(model, "closure.c_eps_2")
