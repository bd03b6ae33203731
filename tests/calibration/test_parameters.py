"""Free parameters and their priors, how they get into a closure, and the closures that files of them fit."""

import dataclasses
import math
from pathlib import Path
from statistics import NormalDist

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import get_leaf
from tunax_lite import calibration as cal
from tunax_lite._types import iterate_parameters
from tunax_lite.calibration import FreeParameter, FreeParameters, Normal, Uniform, read_parameters
from tunax_lite.calibration.base import Base
from tunax_lite.calibration.parameters import with_parameters
from tunax_lite.calibration.priors import Bounded, LogBounded
from tunax_lite.closures import KEpsilon
from tunax_lite.config import load_calibration

CONFIGS = Path(__file__).parents[2] / "configs"
BOUNDED = [Bounded(-3.0, 7.0), Bounded(1e-3, 2e-3), LogBounded(1e-12, 1e-3), LogBounded(0.5, 2.0)]
EVEN = [Uniform(-3.0, 7.0), Uniform(1e-3, 2e-3), cal.LogUniform(1e-12, 1e-3), cal.LogUniform(0.5, 2.0)]
NORMAL = [Normal(-1.5, 0.2), Normal(1.44, 0.1, 1.0, 2.5)]
KNOWN = [*NORMAL, cal.LogNormal(0.3, 0.5), cal.LogNormal(1e-6, 1.5, 1e-12, 1.0)]


def _value_at(prior, x) -> float:
    return float(prior.to_physical(jnp.asarray(x)))


def _value_and_slope(prior, x):
    return jax.jvp(prior.to_physical, (x,), (jnp.ones_like(x),))


def test_quantiles_are_those_of_the_distributions():
    for x in (-3.0, -1.2816, 0.0, 2.5):
        fraction, logistic = NormalDist().cdf(x), 1.0 / (1.0 + math.exp(-x))
        normal, log_normal = NormalDist(1.44, 0.1), NormalDist(math.log(0.3), 0.5)
        for prior, expected in (
            (Uniform(-3.0, 7.0), -3.0 + 10.0 * fraction),
            (cal.LogUniform(1e-12, 1e-3), 1e-12 * 1e9**fraction),
            (Normal(1.44, 0.1, 1.0, 2.5), normal.inv_cdf(fraction)),
            (cal.LogNormal(0.3, 0.5), math.exp(log_normal.inv_cdf(fraction))),
            (Bounded(-3.0, 7.0), -3.0 + 10.0 * logistic),
            (LogBounded(1e-12, 1e-3), 1e-12 * 1e9**logistic),
        ):
            assert _value_at(prior, x) == pytest.approx(expected, rel=1e-12), prior
            assert prior.to_unconstrained(expected) == pytest.approx(x, abs=1e-9), prior
    # Tails are cut where a parameter loses its meaning.
    normal, log_normal = Normal(1.0, 0.25).within(0.0, 5.0), cal.LogNormal(1.0, 0.5).within(-1.0, 9.0)
    assert [_value_at(normal, x) for x in (-5.0, 20.0)] == [0.0, 5.0]
    assert _value_at(log_normal, 1000.0) == 9.0 and log_normal.lower == 0.0
    assert 0.0 < _value_at(log_normal, -100.0) < 1e-20
    assert normal.within(0.0, 5.0) == normal


@pytest.mark.parametrize("prior", [*BOUNDED, *EVEN, *KNOWN], ids=repr)
def test_values_stay_within_the_bounds_with_the_right_gradient(prior):
    assert _value_at(prior, 0.0) == pytest.approx(prior.middle, rel=1e-14)
    ends = [5.0, 8.5, 37.0, 40.0, 700.0, 1e30, 1.7e308, math.inf]
    x = jnp.array(sorted([*(-end for end in ends), -5e-324, 0.0, 5e-324, *ends]))
    values, gradients = (np.asarray(part) for part in _value_and_slope(prior, x))
    if prior in (KNOWN[0], KNOWN[2]):  # without bounds
        assert not np.isnan(values).any() and not np.isnan(gradients).any()
    else:
        assert np.all((prior.lower <= values) & (values <= prior.upper))
        assert np.isfinite(gradients).all() and np.all(gradients >= 0.0)
    assert np.all(np.diff(values[np.isfinite(values)]) >= 0.0)
    x = jnp.array([*np.random.default_rng(0).uniform(-3.9, 3.9, 20), 0.0])  # 0: two halves of a formula meet
    step = 1e-5  # error of the difference about step² = 1e-10 and round-off / step = 1e-11, relative
    difference = (prior.to_physical(x + step) - prior.to_physical(x - step)) / (2.0 * step)
    # At the ends a fraction of 1e-4 of the range changes, against round-off of the whole range.
    np.testing.assert_allclose(_value_and_slope(prior, x)[1], difference, rtol=1e-5)
    value, gradient = _value_and_slope(prior, x.astype(jnp.float32))
    assert value.dtype == gradient.dtype == jnp.float32 and np.isfinite(gradient).all()
    np.testing.assert_allclose(value, prior.to_physical(x), rtol=3e-5)


def test_starts_outside_and_priors_without_meaning_are_refused():
    for prior in (*BOUNDED, *EVEN, KNOWN[1], KNOWN[3]):
        with error_naming(ValueError, f"{prior.lower:g} {prior.upper:g}"):
            prior.to_unconstrained(prior.upper)
    for make, message in (
        (lambda: Bounded(1.0, 1.0), "lower upper 1"),
        (lambda: LogBounded(0.0, 1.0), "logarithmic 0"),
        (lambda: Normal(1.0, 0.3).within(-1.0, 2.0), "-1 2 1 0.3 3.33"),
        (lambda: cal.LogNormal(1.0, 0.5).within(0.2, 9.0), "0.2 9 1 0.5 3.22"),
        (lambda: Uniform(0.0, 2.0).within(0.0, 1.0), "0 1 2"),
        (lambda: Normal(0.0, 1.0).to_unconstrained(math.nan), "-inf inf nan"),
    ):
        with error_naming(ValueError, message):
            make()


FREE = FreeParameters(
    (
        FreeParameter("c_eps_1"),
        FreeParameter("c_eps_3_minus", -2.0, 1.0, start=-0.6),
        FreeParameter("turbulent_kinetic_energy_floor", 1e-12, 1e-5, scale="log"),
        FreeParameter("stability.cc1", 3.5, 7.0),
    )
)


def test_bounds_and_starts_come_from_the_closure_or_the_prior():
    free = FREE.resolve(KEpsilon())
    first, second, _, fourth = free.numbers
    assert (first.lower, first.upper, first.start) == (1.0, 2.5, 1.44) and second.start == -0.6
    assert (fourth.lower, fourth.upper, fourth.start) == (3.5, 7.0, 5.0)
    np.testing.assert_allclose(free.to_physical(free.start()), [1.44, -0.6, 1e-10, 5.0], rtol=1e-13)
    free = _resolve(
        FreeParameter("c_eps_1", prior=Normal(1.5, 0.1)),
        FreeParameter("c_eps_2", prior=Uniform(2.0, 3.0)),
        FreeParameter("c_eps_3_minus", prior=Normal(-0.5, 0.2)),
        FreeParameter("sigma_eps", start=2.5, prior=cal.LogNormal(1.0, 0.2)),
    )
    assert [parameter.start for parameter in free.numbers] == [1.44, 2.5, -0.5, 2.5]
    assert [(p.lower, p.upper) for p in free.numbers] == [(1.0, 2.5), (2.0, 3.0), (-5.0, 2.0), (0.1, 5.0)]
    np.testing.assert_allclose(free.start(), [-0.6, 0.0, 0.0, np.log(2.5) / 0.2], atol=1e-12)
    np.testing.assert_allclose(free.to_physical(free.start()), [1.44, 2.5, -0.5, 2.5])


def test_insert_changes_the_free_parameters_only():
    closure = KEpsilon()
    free = FREE.resolve(closure)
    x = free.start() + 0.3
    inserted = {info.path: info.value for info in iterate_parameters(free.to_pytree(closure, x))}
    expected = dict(zip(free.paths, free.to_physical(x), strict=True))
    for info in iterate_parameters(closure):
        if info.value is not None:
            assert inserted[info.path] == expected.get(info.path, info.value)
    assert inserted["c_eps_3_minus"].shape == ()
    values = {path: float(inserted[path]) for path in free.paths}
    np.testing.assert_allclose(free.to_unconstrained(values), x, rtol=1e-9)
    closure = with_parameters(closure, {"c_eps_3_minus": -0.1, "stability.ct1": 6.0})
    assert isinstance(closure, KEpsilon) and closure.c_3_stable == -0.1
    assert get_leaf(closure, "stability.ct1") == 6.0
    assert eqx.tree_equal(with_parameters(closure, {}), closure)


def _resolve(*parameters, closure=None):
    return FreeParameters(parameters).resolve(closure or KEpsilon())


def test_bad_free_parameters_are_refused():
    one = FreeParameter
    for free, message in (
        ((), "FreeParameters none"),
        ((one("c_eps_1"), one("c_eps_1")), "FreeParameters c_eps_1"),
        ((one("c_eps1"),), "c_eps1 KEpsilon c_eps_1"),
        ((one("stability"),), "stability KEpsilon stability.ctt"),
        ((one("c_eps_3_minus"),), "c_eps_3_minus start"),
        ((one("c_eps_1", 0.5, 2.0),), "c_eps_1 1 2.5 0.5 2"),
        ((one("c_eps_1", 1.44, 2.0),), "c_eps_1 1.44 2"),
        ((one("c_eps_3_plus", scale="log"),), "c_eps_3_plus -2"),
        ((one("c_eps_1", 1.2, 2.0, prior=Uniform(1.0, 2.0)),), "c_eps_1 1.2 2"),
        ((one("c_eps_1", scale="log", prior=Normal(1.44, 0.1)),), "c_eps_1 scale prior"),
    ):
        with error_naming(ValueError, message):
            _resolve(*free)
    with error_naming(ValueError, "c_eps_1 (2,)"):
        _resolve(one("c_eps_1"), closure=KEpsilon(c_eps_1=jnp.array([1.4, 1.5])))  # pyright: ignore
    for path, value, message in (
        ("c_epsilon_1", 1.4, "c_epsilon_1 KEpsilon c_eps_1"),
        ("c_eps_1", 9.0, "c_eps_1 1 2.5 9"),
        ("c_eps_1", math.nan, "c_eps_1 nan"),
    ):
        with error_naming(ValueError, message):
            with_parameters(KEpsilon(), {path: value})


CALIBRATED = {"c_eps_1": 1.5, "length_limit": 0.4}


def _file(path, closure, values, **changes):
    base = Base.of(closure, values)
    content = {"closure": base.closure, "base": {**base.content, **changes}, "parameters": dict(values)}
    path.write_text(yaml.safe_dump(content))
    return path


def test_values_go_into_their_own_base_whatever_the_calibrated_numbers_were(tmp_path):
    path = _file(tmp_path / "parameters.yaml", tl.KEpsilon.recommended(), CALIBRATED)
    values = read_parameters(path, "KEpsilon")
    closure = with_parameters(tl.KEpsilon.recommended(c_eps_1=1.44, length_limit=None), values)
    assert isinstance(closure, tl.KEpsilon)
    assert closure.c_eps_1 == 1.5 and closure.length_limit == 0.4
    assert with_parameters(tl.in_precision(tl.KEpsilon.recommended(), "float32"), values)
    weak = tl.SecondMomentClosure(equilibrium="weak")
    for other, named in (
        (tl.KEpsilon(), "k_epsilon_recommended k_epsilon eddy_slope 0.25 lagrangian_stress True"),
        (tl.KEpsilon.recommended(sigma_k=1.1), "sigma_k 1.0 1.1"),
        (tl.KEpsilon.recommended(stability=weak), "stability.equilibrium quasi weak"),
    ):
        with error_naming(ValueError, named):
            with_parameters(other, values)


def test_bases_without_a_name_and_of_another_version(tmp_path):
    own = tl.KEpsilon(sigma_k=1.2)
    assert Base.of(own, ["sigma_k"]).name == "k_epsilon"
    assert Base.of(own, []).name.startswith("k_epsilon with ")
    assert Base.of(tl.MellorYamada.harcourt(), []).name == "mellor_yamada_harcourt"
    path = _file(tmp_path / "old.yaml", own, CALIBRATED, version="0.1.0")
    with error_naming(ValueError, "0.1.0 k_epsilon sigma_k 1.2 1.0"):
        with_parameters(tl.KEpsilon(), read_parameters(path))
    # Numbers of a vector that were not free do not hide a difference.
    network = tl.NeuralCorrection(physical=tl.PacanowskiPhilander(), width=1, depth=1)
    path = _file(tmp_path / "p.yaml", network, {"alpha": 1.0})
    with error_naming(ValueError, "weights"):
        with_parameters(dataclasses.replace(network, weights=network.weights + 1e-3), read_parameters(path))


def test_a_file_without_base_goes_into_any_constants_and_a_name_is_a_base(tmp_path):
    path = tmp_path / "own.yaml"

    def values(base):
        path.write_text(f"closure: KEpsilon\n{base}parameters: {{c_eps_1: 1.5}}\n")
        return read_parameters(path)

    recommended = "base: k_epsilon_recommended\n"
    for base in ("", recommended):
        assert get_leaf(with_parameters(tl.KEpsilon.recommended(), values(base)), "c_eps_1") == 1.5
    for base, named in (
        (recommended, "k_epsilon_recommended k_epsilon"),
        ("base: k_epsilom\n", "own.yaml base name version options constants"),
    ):
        with error_naming(ValueError, named):
            with_parameters(tl.KEpsilon(), values(base))


@pytest.mark.long
def test_shipped_parameters_go_into_the_closure_of_their_calibration():
    paths = [CONFIGS / "calibrations" / path.name for path in (CONFIGS / "parameters").glob("*.yaml")]
    calibrations = [path for path in paths if path.exists()]
    assert len(calibrations) > 5
    for path in calibrations:
        closure = load_calibration(path).config.model.closure.build()
        assert with_parameters(closure, read_parameters(CONFIGS / "parameters" / path.name)), path.name
