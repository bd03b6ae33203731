"""What `print` and notebooks show: values, units, ranges, what is free; traced, large and odd leaves too."""

import re
import xml.etree.ElementTree as ElementTree

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.helpers import ALL_CLOSURES
from tests.networks import Learned


def row(text: str, name: str) -> str:
    (found,) = (line for line in text.splitlines() if re.match(rf" +{name} ", line))
    return found


@pytest.fixture
def case():
    grid = tl.Grid.uniform(30.0, 10)
    state = tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=-100.0))
    return tl.Case(grid, state, forcing, duration=6000.0, name="<b>&")


def test_print_tells_value_unit_range_freedom_and_source():
    text = repr(tl.KEpsilon(c_eps_1=1.5, imposed_von_karman=0.4))
    assert re.search(r"c_eps_1 +1\.5 +1 +free in 1 \.\.\. 2\.5 ", row(text, "c_eps_1"))
    assert re.search(r"0\.02 +m +free", row(text, "surface_roughness_length"))
    assert "no effect: imposed_von_karman is given" in row(text, "sigma_eps")  # as its docstring says
    assert "not given" in row(text, "eddy_slope")
    assert "Rodi (1987)" in text
    assert str(tl.KEpsilon()) == repr(tl.KEpsilon())
    assert max(map(len, text.splitlines())) <= 110


def test_every_closure_can_be_shown_with_all_its_free_numbers():
    for closure in ALL_CLOSURES:
        text = repr(closure)
        assert text.count("  free") + text.count("no effect: ") + text.count("  not given\n") >= sum(
            info.value is not None for info in tl.iterate_parameters(closure)
        )
        ElementTree.fromstring(closure._repr_html_())  # well-formed
        assert max(map(len, text.splitlines())) <= 110


def test_weights_of_a_network_are_free_and_summarised():
    text = repr(Learned())
    assert re.search(r"weight +\(\d+, \d+\) .* free", text)


def test_results_show_shapes_extremes_and_a_curve(case):
    trajectory = tl.simulate(tl.Model(tl.Constant()), case, dt=600.0)
    shown = row(repr(trajectory), "temperature")
    lowest, highest = (float(f(trajectory.state.temperature)) for f in (np.min, np.max))
    assert f"(11, 10) {lowest:.5g} ... {highest:.5g}" in shown
    assert "█" in shown and "▁" in shown  # the surface cools
    root = ElementTree.fromstring(trajectory._repr_html_())
    assert root.findall(".//svg/polyline")
    assert "eddy_viscosity" in repr(trajectory) and "free" not in row(repr(trajectory), "time")


def test_traced_modules_show_shapes():
    shown = []

    def look(c_eps_1):
        shown.append(repr(tl.Model(tl.KEpsilon(c_eps_1=c_eps_1))))
        return 1.0 * c_eps_1

    for transform, value in ((jax.jit, 1.4), (jax.vmap, jnp.ones(2)), (jax.grad, 1.4)):
        transform(look)(value)
        assert "float64[] traced" in row(shown[-1], "c_eps_1")


def test_derivatives_and_unconstrained_numbers_are_shown_as_such():
    derivative = eqx.filter_grad(lambda closure: -7.0 * closure.c_eps_1)(tl.KEpsilon())
    assert re.search(r"-7 +1 +outside 1 \.\.\. 2\.5", row(repr(derivative), "c_eps_1"))
    text = repr(tl.unconstrained(tl.KEpsilon(), only=["c_eps_1"]))
    assert re.search(r"1\.92 +1 +fixed", row(text, "c_eps_2"))


def test_odd_leaves_are_shown(case):
    gone = jnp.ones(3) * 2.0
    gone.delete()
    odd = eqx.tree_at(lambda each: each.z_face, case.grid, gone)
    assert "float64[3] deleted" in repr(odd)
    assert "&lt;b&gt;&amp;" in case._repr_html_()
    structs = eqx.filter_eval_shape(lambda: case)
    assert "float64[11]" in row(repr(structs), "z_face")
    part = eqx.filter(tl.KEpsilon(), lambda _: False)
    assert "c_eps_1" in repr(part)
    large = eqx.tree_at(lambda each: each.z_face, case.grid, np.broadcast_to(0.0, (4000, 4000)))
    assert "float64[4000, 4000]" in repr(large)  # not read
    nan = eqx.tree_at(lambda each: each.z_face, case.grid, jnp.asarray([1.0, jnp.nan, 3.0]))
    assert "(3,) 1 ... 3, 1 not finite" in repr(nan)


def test_what_goes_into_a_case_is_a_table_too():
    given = {"stress_u": jnp.full(3, 0.1), "heat_flux": jnp.array([-50.0, 0.0, 200.0])}
    forcing = tl.TimeSeriesForcing.from_values(jnp.arange(3.0) * 3600.0, **given)
    (shown,) = (line for line in str(forcing).splitlines() if line.split()[0] == "heat_flux")
    assert "(3,) -50 ... 200" in shown and "W m-2" in shown and "█" in shown
    profiles = {"temperature": jnp.full((3, 2), 10.0)}
    observed = tl.Observations(time=forcing.time, z=jnp.array([-2.0, -1.0]), profiles=profiles)
    assert "(3, 2) all 10" in str(observed) and "degC" in observed._repr_html_()
    assert "infrared_depth" in str(tl.TwoBandAbsorption())
