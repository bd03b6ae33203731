"""Posteriors: exact where that is known, the same after an interruption, honest about what broke down."""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.calibration.posterior_twins import FREE, NOISE, noisy_twin
from tests.errors import error_naming
from tunax_lite import calibration as cal
from tunax_lite._types import InputWarning
from tunax_lite.calibration import posterior
from tunax_lite.calibration.posterior import NUTS, Laplace, Likelihood, TemperedSMC
from tunax_lite.calibration.posterior.infer import (
    effective_number,
    laplace_moments,
    log_likelihood,
    paths_as_in_prior,
    write_summary,
)
from tunax_lite.calibration.posterior.samplers import mixing, sample_chains, temper
from tunax_lite.calibration.problem import Problem
from tunax_lite.runtime.engine import ThisProcess

MODEL = tl.Model(tl.PacanowskiPhilander())
NOISE_OF_LINE = 0.3


def linear_problem():
    """Data, matrix, and the exact mean and covariance of the posterior of a linear model."""
    random = np.random.default_rng(3)
    matrix, observed = random.standard_normal((8, 3)), random.standard_normal(8)
    covariance = np.linalg.inv(matrix.T @ matrix / NOISE_OF_LINE**2 + np.eye(3))
    return matrix, observed, covariance @ matrix.T @ observed / NOISE_OF_LINE**2, covariance


def of_line(x, matrix, observed):
    """Logarithm of its likelihood; nowhere else than where the first number is below 1.5."""
    r = matrix @ x - observed
    return jnp.where(x[0] < 1.5, -0.5 * r @ r / NOISE_OF_LINE**2, jnp.nan)


def sample_line(method: NUTS, scale: float = 1.0, **options):
    matrix, observed, mean, covariance = linear_problem()
    make = lambda: (of_line, (jnp.asarray(matrix), jnp.asarray(observed)))  # noqa: E731
    return sample_chains(method, make, mean, scale * covariance, engine=ThisProcess(2), **options)


@pytest.mark.long
def test_laplace_and_nuts_find_the_exact_posterior_of_a_linear_model():
    matrix, observed, mean, covariance = linear_problem()
    # L is the mean square of eight values, all of which count.
    likelihood = Likelihood(NOISE_OF_LINE, 8.0)
    weight = likelihood.prior_weight
    _, found = laplace_moments(2.0 / 8.0 * matrix.T @ matrix + weight * np.eye(3), weight)
    np.testing.assert_allclose(found, covariance, rtol=1e-10, atol=1e-15)

    # A start that knows neither the width of the density nor its directions.
    draws, _ = sample_line(NUTS(n_draws=600, n_warmup=150), 5.0)
    sizes, r_hat = mixing(draws)
    assert sizes.min() > 300 and r_hat.max() < 1.02
    deviation = np.sqrt(np.diag(covariance))
    flat = draws.reshape(-1, 3)
    assert (np.abs(flat.mean(axis=0) - mean) < 4.0 * deviation / np.sqrt(sizes)).all()
    across = np.outer(deviation, deviation)
    np.testing.assert_allclose(np.cov(flat.T) / across, covariance / across, atol=0.2)


def test_particles_from_the_prior_find_the_exact_posterior_of_a_linear_model():
    matrix, observed, mean, covariance = linear_problem()
    make, exponents = lambda: (of_line, (jnp.asarray(matrix), jnp.asarray(observed))), list[float]()
    keep = lambda fraction, state: exponents.append(fraction)  # noqa: E731
    draws, n = temper(TemperedSMC(1000), make, 3, ThisProcess(), keep)
    assert exponents == sorted(exponents) and exponents[n - 1 :] == [1.0, 1.0]
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / deviation, 0.0, atol=0.15)
    across = np.outer(deviation, deviation)
    np.testing.assert_allclose(np.cov(draws.T) / across, covariance / across, atol=0.2)


def rough(x):
    """Log likelihood with a maximum in every thousandth, at which no random step ends."""
    return -1e6 * jnp.sum(jnp.sin(1e3 * jnp.pi * x) ** 2)


def test_particles_that_stay_together_are_noted():
    with pytest.warns(InputWarning):
        draws, _ = temper(TemperedSMC(50, n_moves=1), lambda: (rough, ()), 2, ThisProcess(), lambda *_: None)
    assert len(np.unique(draws, axis=0)) < 25


def test_chains_go_on_draw_by_draw(tmp_path):
    method = NUTS(n_draws=35, n_warmup=150)
    whole = sample_line(method, folder=tmp_path / "whole", parts={"a": "b"})

    def killed(fraction, where):
        if fraction == 60 / 70:
            raise KeyboardInterrupt

    options = {"folder": tmp_path / "killed", "parts": {"a": "b"}}
    with pytest.raises(KeyboardInterrupt):
        sample_line(method, report=killed, **options)
    seen: list[float] = []
    resumed = sample_line(method, report=lambda fraction, where: seen.append(fraction), **options)
    assert len(seen) < 8  # four files for each chain from the start
    for part, expected in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(part, expected)
    longer, _ = sample_line(dataclasses.replace(method, n_draws=50), **options)
    np.testing.assert_array_equal(longer[:, :35], whole[0])
    with error_naming(cal.OtherCalibrationError, "a b c"):
        sample_line(method, folder=tmp_path / "killed", parts={"a": "c"})
    path = tmp_path / "killed/posterior_chain_0.eqx"
    path.write_bytes(path.read_bytes()[:-100])
    with error_naming(ValueError, "posterior_chain_0.eqx SHA-256"):
        sample_line(method, **options)


METHODS = {"laplace": Laplace(40), "nuts": NUTS(n_draws=40, n_warmup=150)}


def infer_twin(method: str, folder, **options):
    twin = noisy_twin(1)
    options = {"likelihood": twin.likelihood, "folder": folder, **options}
    return posterior.infer(MODEL, FREE, [twin.target], METHODS[method], **options)


@pytest.fixture(scope="module")
def inferred(tmp_path_factory):
    """By each method, as far as a test asks for it, with its folder."""
    folder = tmp_path_factory.mktemp("posterior")
    return functools.cache(lambda method: (infer_twin(method, folder / method), folder / method))


@pytest.mark.long
def test_a_twin_is_found_and_a_posterior_goes_on_where_it_was(inferred, tmp_path):
    nuts, folder = inferred("nuts")
    deviation = np.sqrt(np.diag(nuts["covariance"]))
    assert np.linalg.eigvalsh(nuts["information"].values)[-1] > 1.0 and deviation.max() < 1.3
    assert (np.abs(noisy_twin(1).truth - nuts["mean"]) < 4.0 * deviation).all()
    for path, (low, high) in posterior.intervals(nuts, 0.9).items():
        assert low < np.median(nuts[path]) < high
    write_summary(tmp_path / "posterior.yaml", nuts, 0.9)
    alpha = jax.vmap(FREE.to_physical)(nuts["x"].values[0])[:, FREE.paths.index("alpha")]
    np.testing.assert_array_equal(nuts["alpha"][0], alpha)
    assert nuts.method == "nuts" and nuts["viscosity_scale"].units == "m2 s-1"
    best = {path: drawn.most_probable for path, drawn in posterior.draws_of(nuts).items()}
    assert cal.read_parameters(tmp_path / "posterior.yaml", "PacanowskiPhilander") == best
    np.testing.assert_array_equal(infer_twin("nuts", folder, resume=True)["x"], nuts["x"])
    with error_naming(ValueError, "posterior_chain_0.eqx"):
        infer_twin("nuts", folder)
    with error_naming(cal.OtherCalibrationError, "likelihood"):
        infer_twin("nuts", folder, likelihood=Likelihood(0.5, 3.0), resume=True)


def test_what_breaks_down_is_no_draw_and_counts():
    arguments = jnp.zeros((8, 3)), jnp.zeros(8)  # nothing is observed: a prior with an end
    make, start, engine = lambda: (of_line, arguments), (np.zeros(3), np.eye(3)), ThisProcess(2)
    draws, is_divergent = sample_chains(NUTS(100, 150), make, *start, engine=engine)
    particles, _ = temper(TemperedSMC(100), make, 3, engine, lambda fraction, state: None)
    assert (draws[..., 0] < 1.5).all() and (particles[:, 0] < 1.5).all() and is_divergent.sum() > 0


def test_samplers_need_cases_that_are_not_padded():
    target = dataclasses.replace(noisy_twin(1).target, padded=(99, 99))
    for method in (NUTS(), TemperedSMC()):
        with error_naming(ValueError, "misfit.padded"):
            posterior.infer(MODEL, FREE, [target], method)


@pytest.mark.long  # of a linear model: above
def test_the_density_is_that_of_normal_errors_and_priors():
    twin = noisy_twin(0)
    case = dataclasses.replace(twin.target.case, name="other")
    other = dataclasses.replace(twin.target, case=case, weight=3.0)
    weight = twin.likelihood.prior_weight
    problem = Problem(MODEL, FREE, [twin.target, other], cal.MeanSquare(), prior_weight=weight)
    likelihood, arguments = log_likelihood(problem)
    both = jax.jit(jax.value_and_grad(likelihood))
    x = np.array([0.3, -0.2, 0.5])
    value, gradient = both(jnp.asarray(x), *arguments)
    times: dict[str, Any] = {"dt": 600.0, "output_interval": 7200.0}
    closure = FREE.to_pytree(MODEL.closure, jnp.asarray(x))
    run = tl.simulate(tl.Model(closure), twin.target.case, **times).state.temperature[1:]
    squares = float(np.sum((run - twin.target.observations.profiles["temperature"]) ** 2))
    # Twice the same case: with whatever weights, their mean is worth as much as one.
    assert float(value) == pytest.approx(-0.5 * squares / NOISE**2, rel=1e-9)
    for i, step in enumerate(1e-5 * np.eye(3)):
        above, below = (both(jnp.asarray(x + sign * step), *arguments)[0] for sign in (1.0, -1.0))
        assert float(gradient[i]) == pytest.approx(float(above - below) / 2e-5, rel=1e-4, abs=1e-5)


@pytest.mark.long
def test_noise_and_what_observations_are_worth():
    twin = noisy_twin(0)
    problem = Problem(MODEL, FREE, [twin.target], cal.MeanSquare())
    found = posterior.estimate_likelihood(problem, jnp.asarray(twin.truth))
    n = twin.likelihood.n_observations
    assert found.noise == pytest.approx(NOISE, rel=5.0 / math.sqrt(2.0 * n))
    assert 0.75 * n < found.n_observations <= n  # a correlation found by chance makes them fewer
    assert effective_number(np.ones((400, 3)), np.ones((400, 3), bool)) == 1.0
    # Red noise in time: a correlation of 0.8 with the next value leaves a ninth of them.
    random, values = np.random.default_rng(0), np.zeros((20_000, 1))
    for i in range(1, len(values)):
        values[i] = 0.8 * values[i - 1] + random.standard_normal()
    assert effective_number(values, np.ones(values.shape, bool)) == pytest.approx(len(values) / 9.0, rel=0.1)
    # Every other time of one level, with unselected ones between and beside them.
    chosen = np.zeros((len(values) + 8, 3), bool)
    chosen[: len(values) : 2, 1] = True
    wide = np.where(chosen, np.pad(values, ((0, 8), (1, 1))), 0.0)
    expected = 0.5 * len(values) * (1.0 - 0.64) / (1.0 + 0.64)
    assert effective_number(wide, chosen) == pytest.approx(expected, rel=0.1)
    # A slow error of many times and independent levels is worth one observation, not one for each level.
    slow = np.outer(1.0 + 1e-6 * np.arange(20), random.standard_normal(50))
    assert effective_number(slow, np.ones(slow.shape, bool)) == 1.0


@pytest.mark.long
def test_bands_are_the_quantiles_of_runs(inferred, tmp_path):
    case, found = noisy_twin(1).target.case, inferred("laplace")[0]
    times: dict[str, Any] = {"dt": 600.0, "duration": 7200.0, "output_interval": 3600.0}
    found.to_netcdf(tmp_path / "posterior.nc")
    members = posterior.members_of_file(tmp_path / "posterior.nc", MODEL, 5)
    bands = posterior.bands_of_members(members, case, 5, **times)
    closures = (
        FREE.to_pytree(MODEL.closure, jnp.asarray(x)) for x in found["x"].values[0, [0, 10, 20, 29, 39]]
    )
    runs = [tl.simulate(tl.Model(closure), case, **times).state.temperature for closure in closures]
    for quantile, values in zip(bands["quantile"].values, bands["temperature"].values, strict=True):
        np.testing.assert_allclose(values, np.quantile(runs, quantile, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(bands["sea_surface_temperature"], bands["temperature"][..., -1])
    assert bands["mixed_layer_depth"].shape == (5, 3) and bands.attrs["n_failed"] == 0
    with error_naming(ValueError, "draws 2 40 1"):
        posterior.members_of_file(tmp_path / "posterior.nc", MODEL, 1)


def test_a_parameter_far_from_its_prior_is_constrained():
    moments = {"shift": ("parameter", [2.9, 0.1, 0.0]), "spread": ("parameter", [0.95, 0.95, 0.5])}
    found = xr.Dataset(moments, {"parameter": list(FREE.paths)})
    assert paths_as_in_prior(found) == [FREE.paths[1]]


def test_a_start_on_a_bound_is_moved_off():
    x = posterior.start_from(FREE, {"alpha": 20.0, "viscosity_scale": 1e-2})
    np.testing.assert_allclose(x, [3.0, 0.0, float(FREE.start()[2])], atol=1e-12)
    closure = FREE.to_pytree(tl.PacanowskiPhilander(), x)
    assert cal.with_parameters(closure, {"alpha": float(closure.alpha)})  # pyright: ignore[reportAttributeAccessIssue]
