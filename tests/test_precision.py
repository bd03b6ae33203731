"""Precision: what is asked for, what stays through a whole run, and what mixtures say."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.twins import CHEAP_TRUTH, make_case, observe
from tests.errors import error_naming
from tests.helpers import ALL_CLOSURES, CASES, id_of, some_long
from tunax_lite._types import in_precision, precision_of
from tunax_lite.calibration import RootMeanSquare, Target, misfit, with_parameters
from tunax_lite.column.integrate import simulate

RUN: dict[str, Any] = {"dt": 600.0, "output_interval": 1800.0, "duration": 3600.0}


def float64_operations(function, *arguments) -> set[str]:
    """Operations of a traced function, in all loops and branches, whose result is in float64."""

    def of(jaxpr):
        for equation in jaxpr.eqns:
            if any(getattr(out.aval, "dtype", None) == np.float64 for out in equation.outvars):
                yield str(equation.primitive)
            for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
                if _is_program(value):
                    yield from of(getattr(value, "jaxpr", value))

    return set(of(jax.make_jaxpr(function)(*arguments).jaxpr))


def _is_program(value) -> bool:
    return hasattr(getattr(value, "jaxpr", value), "eqns")


def run_and_gradient(model, case):
    def loss(both):
        run = simulate(*both, **RUN)
        return jnp.sum(run.state.temperature**2), eqx.filter(run, eqx.is_array)

    return jax.grad(loss, has_aux=True)((model, case))


def ensemble(closure):
    """A closure with two values of its first parameter."""
    name = next(field.name for field in dataclasses.fields(closure))
    return eqx.tree_at(lambda c: getattr(c, name), closure, getattr(closure, name) * jnp.array([1.0, 1.1]))


@pytest.mark.parametrize("closure", some_long(ALL_CLOSURES, lambda each: each is not ALL_CLOSURES[2], id_of))
def test_a_run_in_float32_and_its_gradient_have_no_operation_in_float64(closure):
    case = tl.stack_cases([CASES["everything"], CASES["wind"]])
    model, case = in_precision((tl.Model(ensemble(closure)), case), "float32")
    assert float64_operations(run_and_gradient, model, case) == set()


def test_a_closure_built_inside_of_jit_can_be_cast_there():
    case = in_precision(CASES["wind"], "float32")

    @jax.jit
    def surface_temperature(c_eps_1):
        model = in_precision(tl.Model(tl.KEpsilon(c_eps_1=c_eps_1)), "float32")
        return simulate(model, case, **RUN).state.temperature[-1, -1]

    assert surface_temperature(1.4).dtype == np.float32


def float32_target(z) -> Target:
    """A target in float32 with observations in float64, at given heights."""
    case = make_case(0.1, -200.0, hours=1.0)
    truth = tl.Model(with_parameters(tl.PacanowskiPhilander(), CHEAP_TRUTH))
    observed = observe(truth, case, dt=300.0, interval=900.0)
    if z is not None:
        profiles = {name: jnp.full((2, len(z)), 0.1) for name in observed.profiles}
        observed = tl.Observations(jnp.array([950.0, 2010.0]), jnp.array(z), profiles)
    return Target(in_precision(case, "float32"), observed, {"temperature": 1.0, "u": 1.0}, dt=300.0)


@pytest.mark.long
@pytest.mark.parametrize("z", [None, (-33.3, -2.5)], ids=["on levels", "interpolated"])
def test_the_misfit_of_a_case_in_float32_is_computed_in_float32(z):
    comparison = float32_target(z).comparison
    assert precision_of(comparison=comparison) == np.float32
    model = in_precision(tl.Model(tl.PacanowskiPhilander()), "float32")

    def scored(model, comparison):
        return misfit(model, comparison, RootMeanSquare(), tl.SaveSteps())

    assert float64_operations(scored, model, comparison) == set()


def test_casting_keeps_what_is_no_floating_point_array():
    tree = {"a": jnp.arange(3), "b": True, "c": 1.5, "d": None, "e": np.ones(2), "f": jnp.ones(2)}
    cast = in_precision(tree, "float32")
    assert cast["a"].dtype == tree["a"].dtype and cast["b"] is True and cast["c"] == 1.5 and cast["d"] is None
    assert isinstance(cast["e"], np.ndarray) and cast["e"].dtype == cast["f"].dtype == np.float32
    np.testing.assert_array_equal(in_precision(cast, "float64")["f"], tree["f"])


def test_a_case_on_another_grid_keeps_its_precision():
    case = in_precision(CASES["wind"], "float32")
    assert precision_of(case=case.on(tl.Grid.uniform(float(case.grid.depth), 20))) == np.float32


def test_a_mixture_of_precisions_is_refused_by_name():
    model, case = tl.Model(tl.KEpsilon()), CASES["wind"]
    double = {"model": model, "case": case, "start": simulate(model, case, **RUN).restart(1)}
    for name, module in double.items():
        with error_naming(ValueError, "float32 in_precision"):
            simulate(**(double | {name: in_precision(module, "float32")}), **RUN)


def test_what_has_no_precision_or_another_one_is_refused(unknown="float16"):
    with error_naming(ValueError, "array"):
        precision_of(names=["a"])
    with error_naming(ValueError, "float32 float64"):
        in_precision(jnp.ones(2), unknown)
    with jax.enable_x64(False), error_naming(ValueError, "jax_enable_x64 configure"):
        in_precision(jnp.ones(2), "float64")
