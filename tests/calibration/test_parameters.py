"""Which numbers of a closure are free, from where, and how they get into it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import get_leaf
from tunax_lite._types import iterate_parameters
from tunax_lite.calibration import (
    FreeParameter,
    FreeParameters,
    LogNormal,
    Normal,
    Tied,
    Uniform,
    with_parameters,
)
from tunax_lite.closures import KEpsilon

FREE = FreeParameters(
    (
        FreeParameter("c_eps_1"),
        FreeParameter("c_eps_3_minus", -2.0, 1.0, start=-0.6),
        FreeParameter("turbulent_kinetic_energy_floor", 1e-12, 1e-5, scale="log"),
        FreeParameter("stability.cc1", 3.5, 7.0),
    )
)


def test_bounds_and_starts_come_from_the_closure():
    free = FREE.resolve(KEpsilon())
    first, second, _, fourth = free.numbers
    assert (first.lower, first.upper, first.start) == (1.0, 2.5, 1.44)
    assert second.start == -0.6
    assert (fourth.lower, fourth.upper, fourth.start) == (3.5, 7.0, 5.0)
    np.testing.assert_allclose(free.to_physical(free.start()), [1.44, -0.6, 1e-10, 5.0], rtol=1e-13)


def test_insert_changes_the_free_parameters_only():
    closure = KEpsilon()
    free = FREE.resolve(closure)
    x = free.start() + 0.3
    inserted = {info.path: info.value for info in iterate_parameters(free.insert(closure, x))}
    expected = dict(zip(free.paths, free.to_physical(x), strict=True))
    for info in iterate_parameters(closure):
        if info.value is not None:
            assert inserted[info.path] == expected.get(info.path, info.value)
    assert inserted["c_eps_3_minus"].shape == ()
    closure = with_parameters(closure, {"c_eps_3_minus": -0.1, "stability.ct1": 6.0})
    assert isinstance(closure, KEpsilon) and closure.c_eps_3_stable == -0.1
    assert get_leaf(closure, "stability.ct1") == 6.0
    assert eqx.tree_equal(with_parameters(closure, {}), closure)


def _resolve(*parameters, tied=(), closure=None):
    return FreeParameters(parameters, tied).resolve(closure or KEpsilon())


def test_bad_free_parameters_are_refused():
    one = FreeParameter
    for free, message in (
        (one("c_eps1"), "c_eps1 KEpsilon c_eps_1"),
        (one("stability.cc9"), "stability.cc9 KEpsilon stability.cc6"),
        (one("stability"), "stability KEpsilon stability.ctt"),
        (one("c_eps_3_minus"), "c_eps_3_minus start"),
        (one("c_eps_1", 0.5, 2.0), "c_eps_1 1 2.5 0.5 2"),
        (one("c_eps_1", 2.0, 1.5), "c_eps_1 2 1.5"),
        (one("c_eps_1", 1.44, 2.0), "c_eps_1 1.44 2"),
        (one("c_eps_1", start=float("nan")), "c_eps_1 1 2.5 nan"),
        (one("c_eps_3_plus", scale="log"), "c_eps_3_plus -2"),
        (one("c_eps_1", prior=Normal(1.44, 0.2)), "c_eps_1 1 2.5 1.44 0.2 2.2"),
        (one("c_eps_1", 1.2, 2.0, prior=Uniform(1.0, 2.0)), "c_eps_1 1.2 2"),
        (one("c_eps_1", scale="log", prior=Normal(1.44, 0.1)), "c_eps_1 scale prior"),
        (one("c_eps_1", start=3.0, prior=Normal(1.44, 0.1)), "c_eps_1 1 2.5 3"),
    ):
        with error_naming(ValueError, message):
            _resolve(free)
    with error_naming(ValueError, "c_eps_1 (2,)"):
        _resolve(one("c_eps_1"), closure=KEpsilon(c_eps_1=jnp.array([1.4, 1.5])))  # pyright: ignore
    with error_naming(ValueError, "FreeParameters none"):
        _resolve()
    with error_naming(ValueError, "FreeParameters c_eps_1"):
        _resolve(one("c_eps_1"), one("c_eps_1"))
    for values, message in (
        ({"c_epsilon_1": 1.4}, "c_epsilon_1 KEpsilon c_eps_1"),
        ({"c_eps_1": 9.0}, "c_eps_1 1 2.5 9"),
        ({"c_eps_1": float("nan")}, "c_eps_1 nan"),
    ):
        with error_naming(ValueError, message):
            with_parameters(KEpsilon(), values)


def test_a_prior_starts_from_the_closure_or_from_its_median():
    free = FreeParameters(
        (
            FreeParameter("c_eps_1", prior=Normal(1.5, 0.1)),
            FreeParameter("c_eps_2", prior=Uniform(2.0, 3.0)),
            FreeParameter("c_eps_3_minus", prior=Normal(-0.5, 0.2)),
            FreeParameter("sigma_eps", start=2.5, prior=LogNormal(1.0, 0.2)),
        )
    ).resolve(KEpsilon())
    assert [parameter.start for parameter in free.numbers] == [1.44, 2.5, -0.5, 2.5]
    assert [(p.lower, p.upper) for p in free.numbers] == [(1.0, 2.5), (2.0, 3.0), (-5.0, 2.0), (0.1, 5.0)]
    np.testing.assert_allclose(free.start(), [-0.6, 0.0, 0.0, np.log(2.5) / 0.2], atol=1e-12)
    np.testing.assert_allclose(free.to_physical(free.start()), [1.44, 2.5, -0.5, 2.5])


TIED = FreeParameters(
    (FreeParameter("c_eps_2"), FreeParameter("c_eps_1", prior=Normal(1.44, 0.1))),
    tied=(Tied("c_eps_3_plus", to="c_eps_1", factor=-2.0, offset=4.0), Tied("c_eps_3_minus", to="c_eps_1")),
)


def test_tied_parameters_follow_their_free_one():
    closure = KEpsilon(c_eps_3_minus=-0.5)  # pyright: ignore[reportArgumentType]
    free = FreeParameters(TIED.parameters, TIED.tied[:1]).resolve(closure)
    x = free.start() + 0.5
    second, first = free.to_physical(x)
    inserted = free.insert(closure, x)
    assert isinstance(inserted, KEpsilon)
    assert (inserted.c_eps_1, inserted.c_eps_2) == (first, second)
    assert inserted.c_eps_3_plus == pytest.approx(4.0 - 2.0 * float(first), rel=1e-14)
    gradient = jax.grad(lambda x: free.insert(closure, x).c_eps_3_plus)(x)  # pyright: ignore
    np.testing.assert_allclose(gradient, [0.0, -2.0 * 0.1], rtol=1e-12)
    assert free.with_tied({"c_eps_1": 1.5, "c_eps_2": 2.0})["c_eps_3_plus"] == 1.0
    members = free.insert(closure, jnp.stack([x, x + 1.0], axis=1))
    np.testing.assert_allclose(get_leaf(members, "c_eps_3_plus"), 4.0 - 2.0 * (first + np.array([0.0, 0.1])))


def test_bad_ties_are_refused():
    for make, message in (
        (lambda: Tied("c_eps_3_plus", "c_eps_1", 0.0), "c_eps_3_plus 0"),
        (lambda: Tied("c_eps_3_plus", "c_eps_1", 1.0, float("nan")), "c_eps_3_plus 1 nan"),
        (lambda: Tied("c_eps_3_plus", "sigma_eps"), "c_eps_3_plus sigma_eps c_eps_2 c_eps_1"),
        (lambda: Tied("c_eps_9", "c_eps_1"), "c_eps_9 KEpsilon"),
        (lambda: Tied("c_eps_2", "c_eps_1"), "FreeParameters c_eps_2"),
        (lambda: TIED.tied[1], "c_eps_3_minus -5 2 [1] 1 2.5 c_eps_1"),
    ):
        with error_naming(ValueError, message):
            _resolve(*TIED.parameters, tied=(make(),))
