"""`parameter` and what is read from it."""

import equinox as eqx
import jax
import numpy as np

from tunax_lite import ConstantDiffusivity, parameter
from tunax_lite._types import iterate_parameters


class Inner(eqx.Module):
    depth: float = parameter(2, unit="m", valid_range=(0.0, 5.0))


class Outer(eqx.Module):
    inner: Inner
    switch: bool
    scale: float = parameter(0.5)
    derived: float | None = parameter(None, unit="s")


def test_number_becomes_float_array_that_is_not_weakly_typed():
    for value in (3, np.float64(3.0)):
        viscosity = ConstantDiffusivity(viscosity=value).viscosity
        assert isinstance(viscosity, jax.Array)
        assert viscosity.shape == () and viscosity.dtype == np.float64
        # A weak type would compile the same program again for a number and for an array.
        assert not viscosity.weak_type


def test_default_is_converted_too_and_gets_a_gradient():
    gradient = eqx.filter_grad(lambda outer: outer.inner.depth * outer.scale)(Outer(Inner(), True))
    assert (gradient.inner.depth, gradient.scale, gradient.derived) == (0.5, 2.0, None)


def test_iteration_names_nested_parameters_with_unit_and_range():
    found = {info.path: info for info in iterate_parameters(Outer(Inner(), True))}
    assert list(found) == ["inner.depth", "scale", "derived"]
    depth = found["inner.depth"]
    assert (depth.unit, depth.valid_range, depth.value) == ("m", (0.0, 5.0), 2.0)
    assert found["derived"].value is None
    assert found["scale"].valid_range == (-np.inf, np.inf)
