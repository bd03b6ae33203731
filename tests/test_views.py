"""What `print` shows: values, units and ranges; traced, large and odd leaves too."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.helpers import ALL_CLOSURES
from tests.networks import Learned


def row(text: str, name: str) -> str:
    (found,) = (line for line in text.splitlines() if re.match(rf" +{name}:", line))
    return found.strip()


@pytest.fixture
def case():
    grid = tl.Grid.uniform(30.0, 10)
    state = tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=-100.0))
    return tl.Case(grid, state, forcing, duration=6000.0)


def test_print_shows_value_unit_and_range():
    text = repr(tl.KEpsilon(c_eps_1=1.5))
    assert text.splitlines()[0] == "KEpsilon (k_epsilon)" and "eddy_slope" not in text
    assert row(text, "c_eps_1") == "c_eps_1: 1.5 [1] in 1 ... 2.5"
    assert row(text, "surface_roughness_length").startswith("surface_roughness_length: 0.02 [m] in ")
    part = tl.unconstrained(tl.KEpsilon(), only=["c_eps_1"])
    assert row(repr(part), "c_eps_2") == "c_eps_2: 1.92 [1] in 1.1 ... 3.5, fixed"


def test_every_closure_shows_all_its_numbers():
    for closure in ALL_CLOSURES:
        names = {
            info.path.split(".")[-1] for info in tl.iterate_parameters(closure) if info.value is not None
        }
        assert names <= set(re.findall(r"^ +(\w+): ", repr(closure), re.MULTILINE))
    assert re.search(r"weight: \(\d+, \d+\) ", repr(Learned()))


def test_modules_without_values_show_shapes():
    shown = []

    def look(c_eps_1):
        shown.append(repr(tl.Model(tl.KEpsilon(c_eps_1=c_eps_1))))
        return 1.0 * c_eps_1

    for transform, value in ((jax.jit, 1.4), (jax.vmap, jnp.ones(2)), (jax.grad, 1.4)):
        transform(look)(value)
        assert "c_eps_1: float64[]" in row(shown[-1], "c_eps_1")


def test_odd_leaves_are_shown(case):
    gone = jnp.ones(3) * 2.0
    gone.delete()
    many = np.broadcast_to(0.0, (4000, 4000))  # too many to read
    for leaf, text in (
        (gone, "float64[3]"),
        (many, "float64[4000, 4000]"),
        (jnp.asarray([1.0, jnp.nan, 3.0]), "(3,) 1 ... 3, 1 not finite"),
    ):
        assert f"z_face: {text}" in repr(eqx.tree_at(lambda each: each.z_face, case.grid, leaf))
    assert "z_face: float64[11]" in repr(eqx.filter_eval_shape(lambda: case))
    assert "c_eps_1" not in repr(eqx.filter(tl.KEpsilon(), lambda _: False))
