"""4D-Var and the ensemble transform on a linear column, whose posterior is known exactly."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.extensions.assimilation.columns import HOUR, INTERVAL, MODEL, assimilation, column, stream
from tests.helpers import central_difference
from tunax_lite import simulate
from tunax_lite.calibration import FreeParameter, FreeParameters
from tunax_lite.column.corrections import CorrectedForcing
from tunax_lite.extensions import assimilation as da
from tunax_lite.extensions.assimilation import variational

N = 4
VALUES = np.array([12.3, 12.2, 12.6, 12.5])
HEAT = da.Process("heat_flux_bias", 100.0, 86400.0)


def one_window(method, processes=(HEAT,), **options):
    run = assimilation(method, stream(VALUES, 0.1), processes=processes, length=N * INTERVAL, **options)
    window = run._window(0)
    return run, window, run.begin()[0]


def by_simulate(added, flux) -> tuple[np.ndarray, np.ndarray]:
    """Surface temperature at the ends of the intervals, and the last profile, by a run of its own."""
    case = column()
    state = dataclasses.replace(case.initial_state, temperature=case.initial_state.temperature + added)
    knots = INTERVAL * np.arange(N + 1.0)
    forcing = CorrectedForcing(case.forcing, knots, heat_flux_bias=jnp.asarray(flux))
    case = dataclasses.replace(case, initial_state=state, forcing=forcing)
    run = simulate(MODEL, case, dt=HOUR, duration=N * INTERVAL, output_interval=INTERVAL)
    found = np.asarray(run.state.temperature)
    return found[1:, -1], found[-1]


def of_start(background: float, processes: float = 0.4) -> np.ndarray:
    """Covariance of the first profile and the first value of the flux, in units of its standard deviation."""
    z = np.asarray(column().grid.z_center)
    covariance = np.zeros((7, 7))
    covariance[:6, :6] = 0.5**2 * np.exp(-0.5 * ((z[:, None] - z) / 10.0) ** 2) * background**2
    covariance[6, 6] = processes**2
    return covariance


def exact(first: np.ndarray) -> np.ndarray:
    """The last profile of the posterior mean: a linear model, Gaussian errors, all by runs of `simulate`.

    Of the covariance of profile and flux at the start.
    """
    kept = np.exp(-INTERVAL / 86400.0)
    decay = 100.0 * kept ** np.arange(N + 1.0)[:, None]
    root = np.block([[np.eye(6), np.zeros((6, 1))], [np.zeros((N + 1, 6)), decay]])
    prior = root @ first @ root.T
    base = by_simulate(np.zeros(6), np.zeros(N + 1))
    unit = [by_simulate(each[:6], 100.0 * each[6:]) for each in np.eye(6 + N + 1)]
    scale = np.append(np.ones(6), np.full(N + 1, 100.0))
    shown = np.stack([each[0] - base[0] for each in unit], axis=1) / scale
    last = np.stack([each[1] - base[1] for each in unit], axis=1) / scale
    gain = prior @ shown.T @ np.linalg.inv(shown @ prior @ shown.T + 0.1**2 * np.eye(N))
    return base[1] + last @ gain @ (VALUES - base[0])


@pytest.mark.long
def test_variational_ends_at_the_minimum_of_a_linear_column():
    method = da.Variational(background=0.5, kept_variance=1.0, n_outer=1)
    _, window, start = one_window(method)
    found = method.assimilate(window, start).analysis.now.state.temperature[:, 0]
    # The column is linear up to the round-off of a hundred steps.
    np.testing.assert_allclose(found, exact(of_start(0.5)), rtol=0, atol=1e-8)


@pytest.mark.long
def test_an_ensemble_has_the_posterior_of_its_covariance():
    method = da.EnsembleTransform(12)
    _, window, start = one_window(method)
    analysis = method.assimilate(window, start)
    last = np.asarray(analysis.background.now.state.temperature)
    shown = np.asarray(analysis.predicted).reshape(N, -1)
    joint = np.cov(np.concatenate([last, shown]))
    gain = joint[:6, 6:] @ np.linalg.inv(joint[6:, 6:] + 0.1**2 * np.eye(N))
    mean = last.mean(axis=1) + gain @ (VALUES - shown.mean(axis=1))
    covariance = joint[:6, :6] - gain @ joint[6:, :6]
    found = np.asarray(analysis.analysis.now.state.temperature)
    np.testing.assert_allclose(found.mean(axis=1), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.cov(found), covariance, rtol=0, atol=1e-8)


@functools.cache  # which keeps what is compiled for it
def with_diffusivity():
    """A window in which the diffusivity is uncertain too: the run is no linear function of the control."""
    method = da.Variational()
    run, window, _ = one_window(method)
    free = FreeParameters((FreeParameter("diffusivity", lower=1e-5, upper=1e-2, scale="log"),))
    system = dataclasses.replace(run.system, parameters=free.resolve(MODEL.closure))
    window = dataclasses.replace(window, system=system)
    return method, window, system.members(jax.random.key(0), 1)


@pytest.mark.long
def test_gradient_of_the_cost_is_that_of_differences():
    method, window, start = with_diffusivity()
    modes = variational.leading_modes(method, window)
    v = 0.3 * np.random.default_rng(4).normal(size=variational.n_control(modes, start))

    def cost(v):
        shown = window.run(*variational.start_from(window, start, modes, v))[1]
        return variational.cost_of(shown[..., 0], window.observed, v)

    predicted, jacobian = variational.linearise(window, start, modes, jnp.asarray(v))
    departure = np.asarray(window.observed.precision * (window.observed.values - predicted))
    gradient = v - np.einsum("fsc,fs->c", np.asarray(jacobian), departure)
    way = np.random.default_rng(5).normal(size=v.size)
    along = jax.jit(lambda steps: jax.lax.map(lambda step: cost(jnp.asarray(v) + step * way), steps))
    slope = central_difference(along, 0.0, 1.0)
    np.testing.assert_allclose(gradient @ way, slope.value, atol=5.0 * float(slope.error), rtol=1e-6)


def test_control_holds_the_modes_of_most_variance():
    method, window, start = with_diffusivity()
    modes = variational.leading_modes(method, window)
    every = variational.leading_modes(da.Variational(kept_variance=1.0), window)
    assert variational.n_control(every, start) == 6 + 1 + 1
    assert variational.n_control(modes, start) < variational.n_control(every, start)
    z = np.asarray(column().grid.z_center)
    covariance = 0.075**2 * np.exp(-0.5 * ((z[:, None] - z) / 10.0) ** 2)
    whole, kept = (np.asarray(each.profiles[0] @ each.profiles[0].T) for each in (every, modes))
    np.testing.assert_allclose(whole, covariance, atol=1e-12)
    assert 0.99 <= np.trace(kept) / np.trace(covariance) < 1.0


@pytest.mark.long
def test_windows_that_overlap_begin_with_the_analysis_that_ended_there():
    method = da.Variational(n_outer=1)
    run = assimilation(method, stream(VALUES), length=2 * INTERVAL, end=4 * INTERVAL)
    assert run.cycles.n_cycles == 3
    records = run.run()
    np.testing.assert_allclose(records.analysis_time, INTERVAL * np.array([2.0, 3.0, 4.0]))
    # The last interval of each window holds the values of its end.
    np.testing.assert_allclose(records.observed("values")[:, 0], VALUES[1:])
    first = method.assimilate(run._window(0), run.begin()[0])
    last = method.assimilate(run._window(2), first.analysis)
    np.testing.assert_array_equal(records.by_cycle.analysis[2], last.analysis.now.state.temperature[:, 0])
