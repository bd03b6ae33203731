"""Numbers out of their declared range are refused wherever they are declared, and optimisers stay inside."""

import copy
import dataclasses
import importlib
import inspect
import math
import pickle
import re
import sys
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import ALL_CLOSURES
from tests.networks import Learned
from tunax_lite._types import check_range, iterate_parameters, parameter
from tunax_lite.calibration.priors import bounded, unbounded
from tunax_lite.declarations import check_settings, setting
from tunax_lite.registry import modules

# Where numbers and settings are declared; importing the rest takes long.
PARTS = "air_sea calibration.methods calibration.observed calibration.posterior closures column.case config "
PARTS += "column.corrections column.model column.terms ice io.cf_netcdf physics"
for part in PARTS.split():
    importlib.import_module(f"tunax_lite.{part}")
modules("formats")
modules("kinds")


def _fields() -> list[tuple[type, dataclasses.Field]]:
    places = [module for name, module in sorted(sys.modules.items()) if name.startswith("tunax_lite.")]
    found = {each for module in places for each in vars(module).values() if isinstance(each, type)}
    kinds = [each for each in found if dataclasses.is_dataclass(each) and not inspect.isabstract(each)]
    ours = sorted(kinds, key=lambda each: each.__qualname__)
    return [(kind, field) for kind in ours for field in dataclasses.fields(kind)]


FIELDS = _fields()


def test_every_declared_range_is_checked():
    ranges = [(field, field.metadata.get("valid_range", (-math.inf, math.inf))) for _, field in FIELDS]
    declared = [field for field, ends in ranges if np.isfinite(ends).any()]
    assert len(declared) > 200
    for field in {id(field): field for field in declared}.values():
        lower, upper = field.metadata["valid_range"]
        convert = field.metadata["converter"]
        for value in (lower, upper, 0.5 * lower + 0.5 * upper):
            if math.isfinite(value):
                assert float(convert(value)) == value
        for outside in (lower - 1e-3 * max(1.0, abs(lower)), upper + 1e-3 * max(1.0, abs(upper)), math.nan):
            if not math.isinf(outside):
                with error_naming(ValueError, field.name):
                    convert(outside)
    assert float(tl.KEpsilon(c_eps_1=jnp.asarray(1.7, jnp.float32)).c_eps_1) == np.float32(1.7)


def _wrong_value(setting):
    bounds = setting["bounds"]
    if setting["choices"] is not None:
        return "no such choice"
    if "ge" in bounds or "gt" in bounds:
        return bounds.get("ge", bounds.get("gt")) - 1
    return bounds.get("le", bounds.get("lt")) + 1


def test_every_declared_setting_is_checked():
    told = [(kind, field, field.metadata.get("setting")) for kind, field in FIELDS]
    declared = [each for each in told if each[2] is not None and (each[2]["choices"] or each[2]["bounds"])]
    assert len(declared) > 100
    for kind, field, given in declared:
        value = _wrong_value(given)
        if issubclass(kind, eqx.Module):
            with error_naming(ValueError, field.name):
                field.metadata["converter"](value)
            continue
        instance = object.__new__(kind)
        for each in dataclasses.fields(kind):
            factory = each.default_factory
            default = each.default if factory is dataclasses.MISSING else factory()
            object.__setattr__(instance, each.name, None if default is dataclasses.MISSING else default)
        object.__setattr__(instance, field.name, value)
        with error_naming(ValueError, field.name):
            check_settings(instance)
        ours = [each for each in kind.__mro__ if each.__module__.startswith("tunax_lite.")]
        assert any("check_settings(" in inspect.getsource(sys.modules[each.__module__]) for each in ours)


def test_constructors_refuse_what_they_know_and_name_it():
    several = jnp.asarray([1.4, -3.0, 9.0])
    for make, named in (
        (lambda: tl.KEpsilon(c_eps_1=-3), "c_eps_1 1 2.5 -3"),
        (lambda: dataclasses.replace(tl.KEpsilon(), c_eps_1=several), "c_eps_1 -3 1 3"),
        (lambda: Own(kind="c"), "kind a b c"),
        (lambda: check_range("x", True, (2.0, 3.0)), "x 2 3 True"),  # no number
    ):
        with error_naming(ValueError, named):
            make()


class Own(eqx.Module):
    """As a user's closure declares it."""

    depth: tl.Scalar = parameter(1.0, unit="m", valid_range=(0.1, 10.0))
    width: tl.Scalar = parameter(5.0, unit="m", valid_range=(0.1, 10.0))
    kind: str = setting("a", choices=("a", "b"))


def test_transformations_build_modules_with_any_numbers():
    own = Own(2.0)
    minus = jax.tree.map(lambda leaf: -leaf, own)
    assert float(minus.depth) == -2.0
    assert float(eqx.tree_at(lambda m: m.depth, own, jnp.asarray(-1.0)).depth) == -1.0
    gradient = eqx.filter_jit(eqx.filter_grad(lambda module: -3.0 * module.depth))(own)
    assert isinstance(gradient, Own) and float(gradient.depth) == -3.0
    depths = jax.jit(lambda x: Own(x).depth)(jnp.asarray(-5.0))  # traced: unknown
    assert float(depths) == -5.0
    np.testing.assert_array_equal(jax.vmap(lambda x: Own(x).depth)(jnp.array([-1.0, 2.0])), [-1.0, 2.0])
    with jax.disable_jit(), error_naming(ValueError, "depth 0.1 10"):
        jax.jit(lambda x: Own(x).depth)(jnp.asarray(-5.0))


def test_the_transform_goes_both_ways_and_has_no_end():
    inf = math.inf
    for lower, upper in ((1.0, 2.5), (1e-16, 1e-3), (0.0, inf), (-inf, -1.0), (-inf, inf)):
        x = jnp.linspace(-12.0, 12.0, 49)
        values = bounded(x, lower, upper)
        np.testing.assert_allclose(unbounded(values, lower, upper), x, rtol=0.0, atol=1e-6)
        assert np.all(np.diff(values) > 0.0)
        is_finite = math.isfinite(lower) and math.isfinite(upper)
        far = jnp.asarray([-1e6, 1e6] if is_finite else [-80.0, 80.0])
        for precision in (jnp.float64, jnp.float32):
            ends = bounded(far.astype(precision), lower, upper)
            assert np.all((ends >= np.asarray(lower, precision)) & (ends <= np.asarray(upper, precision)))
        # From the formula of the logistic function, 1 / (1 + e) = 0.2689414.
        if is_finite:
            expected = lower + 0.2689414213699951 * (upper - lower)
            np.testing.assert_allclose(bounded(jnp.asarray(-1.0), lower, upper), expected)
    own = Own(0.1)  # on its bound it stays there
    value, slope = jax.value_and_grad(lambda x: tl.constrained(x).depth)(tl.unconstrained(own))
    assert float(value) == 0.1 and float(slope.depth) == 0.0
    with error_naming(ValueError, "depth 0.1 10"):
        tl.unconstrained(eqx.tree_at(lambda m: m.depth, own, jnp.asarray(-1.0)))


def test_every_closure_goes_there_and_back():
    for closure in ALL_CLOSURES:
        back = tl.constrained(tl.unconstrained(closure))
        assert jax.tree.structure(back) == jax.tree.structure(closure)
        for first, second in zip(jax.tree.leaves(back), jax.tree.leaves(closure), strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-12, atol=0.0 if np.any(second) else 1e-14)


def test_unconstrained_numbers_are_no_module_in_any_copy():
    x = tl.unconstrained(Own(2.0))
    for each in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), jax.grad(lambda x: x.depth**2)(x)):  # noqa: S301
        assert isinstance(each, tl.Unconstrained) and each.depth.shape == ()
        assert not isinstance(each, Own)
        assert isinstance(tl.constrained(each), Own)
    with error_naming(TypeError, "unconstrained tl.constrained(x)"):
        tl.unconstrained(x)


def test_only_what_is_free_is_a_leaf():
    closure = tl.KEpsilon()
    x = tl.unconstrained(closure, only=["c_eps_1", "stability.*"])
    n_of_stability = sum(info.value is not None for info in iterate_parameters(closure.stability))
    assert len(jax.tree.leaves(x)) == 1 + n_of_stability
    # ln((p - a) / (b - p)) of 1.44 between 1 and 2.5.
    assert float(x.c_eps_1) == pytest.approx(math.log(0.44 / 1.06))
    moved = tl.constrained(eqx.tree_at(lambda m: m.c_eps_1, x, jnp.asarray(0.0)))
    assert float(moved.c_eps_1) == 1.75 and moved.c_eps_2 is closure.c_eps_2
    assert len(jax.tree.leaves(tl.unconstrained(closure, only="stability.cc1"))) == 1
    for wrong, named in (("c_eps_9", "c_eps_9 c_eps_1 KEpsilon"), ("stability", "stability stability.*")):
        with error_naming(ValueError, named):
            tl.unconstrained(closure, only=[wrong])


def test_the_same_fixed_parts_need_no_new_program():
    n_traced = 0

    @jax.jit
    def mean(x):
        nonlocal n_traced
        n_traced += 1
        return tl.constrained(x).depth

    for depth in (2.0, 3.0):
        assert float(mean(tl.unconstrained(Own(depth=depth), only=["depth"]))) == pytest.approx(depth)
    mean(tl.unconstrained(Own(width=9.0), only=["depth"]))
    assert n_traced == 2
    assert re.search(r"width: 9 \[m\].* fixed", repr(tl.unconstrained(Own(width=9.0), only=["depth"])))


def test_the_functions_of_a_network_are_no_leaves():
    x: Any = tl.unconstrained(Learned(), only=["largest", "net.*"])  # types do not know modules as pytrees
    assert all(eqx.is_inexact_array(leaf) for leaf in jax.tree.leaves(x))
    # As flowjax and other samplers do.
    vector, back = jax.flatten_util.ravel_pytree(x)
    assert vector.shape == (1 + 4 * 3 + 5,) and eqx.tree_equal(back(vector), x)
    found: Any = tl.constrained(x)
    assert isinstance(found, Learned) and found.net is not None and callable(found.net.activation)
