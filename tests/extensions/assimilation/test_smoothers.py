"""4D-Var and smoothers on a linear column, whose posterior is known exactly, and gradients of the cost."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.extensions.assimilation.columns import HOUR, INTERVAL, MODEL, assimilation, column, stream
from tests.helpers import central_difference
from tunax_lite import simulate
from tunax_lite.calibration import FreeParameter, FreeParameters
from tunax_lite.column.corrections import CorrectedForcing
from tunax_lite.extensions.assimilation import EnsembleSmoother, EnsembleTransform, Process, Variational
from tunax_lite.extensions.assimilation.smoothers import (
    cost_of,
    linearised,
    minimum,
    modes_of,
    n_control,
    started,
)

N = 4
VALUES = np.array([12.3, 12.2, 12.6, 12.5])
HEAT = Process("heat_flux_bias", 100.0, 86400.0)


def one_window(method, processes=(HEAT,), **options):
    """A window of four intervals, with its start."""
    run = assimilation(method, stream(VALUES, 0.1), processes=processes, length=N * INTERVAL, **options)
    window = run._window(0, run.layout)
    return run, window, run.begin().starts[0]


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


def exact(background: float) -> np.ndarray:
    """The last profile of the posterior mean: a linear model, Gaussian errors, all by runs of `simulate`."""
    z = np.asarray(column().grid.z_center)
    covariance = 0.5**2 * np.exp(-0.5 * ((z[:, None] - z) / 10.0) ** 2) * background**2
    kept = np.exp(-INTERVAL / 86400.0)
    # c_0 = 0.4 s xi_0, c_{j+1} = k c_j + s sqrt(1 - k²) xi: rows of a lower triangle.
    powers = np.array([[kept ** (i - j) if i >= j else 0.0 for j in range(N + 1)] for i in range(N + 1)])
    noise = np.append(0.4**2, np.full(N, 1.0 - kept**2))
    of_flux = 100.0**2 * powers @ np.diag(noise) @ powers.T
    prior = np.block([[covariance, np.zeros((6, N + 1))], [np.zeros((N + 1, 6)), of_flux]])
    base = by_simulate(np.zeros(6), np.zeros(N + 1))
    unit = [by_simulate(each[:6], 100.0 * each[6:]) for each in np.eye(6 + N + 1)]
    scale = np.append(np.ones(6), np.full(N + 1, 100.0))
    shown = np.stack([each[0] - base[0] for each in unit], axis=1) / scale
    last = np.stack([each[1] - base[1] for each in unit], axis=1) / scale
    gain = prior @ shown.T @ np.linalg.inv(shown @ prior @ shown.T + 0.1**2 * np.eye(N))
    return base[1] + last @ gain @ (VALUES - base[0])


def test_variational_is_the_kalman_smoother_of_a_linear_column():
    method = Variational(n_outer=1, background=0.5, kept_variance=1.0)
    _, window, start = one_window(method)
    analysis = method.assimilate(window, start)
    # The column is linear up to the round-off of a hundred steps.
    np.testing.assert_allclose(analysis.analysis.now.state.temperature[:, 0], exact(0.5), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "method",
    [EnsembleTransform(12), EnsembleSmoother(12, n_iterations=1), EnsembleSmoother(12, n_iterations=4)],
)
def test_ensembles_have_the_posterior_of_their_covariance(method):
    """In a linear column, any number of iterations ends with the update by the textbook."""
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


def with_diffusivity():
    """A window in which the diffusivity is uncertain too: the run is no linear function of the control."""
    method = Variational()
    run, window, _ = one_window(method)
    free = FreeParameters((FreeParameter("diffusivity", lower=1e-5, upper=1e-2, scale="log"),))
    system = dataclasses.replace(run.system, parameters=free.resolve(MODEL.closure))
    window = dataclasses.replace(window, system=system)
    return method, window, system.members(jax.random.key(0), 1)


def test_gradient_of_the_cost_is_that_of_differences():
    method, window, start = with_diffusivity()
    modes = modes_of(method, window)
    v = 0.3 * np.random.default_rng(4).normal(size=n_control(modes, start))

    def cost(v):
        shown = window.run(*started(window, start, modes, v))[1]
        return cost_of(shown[..., 0], window.seen, v)

    predicted, jacobian = linearised(window, start, modes, jnp.asarray(v))
    departure = np.asarray(window.seen.precision * (window.seen.values - predicted))
    gradient = v - np.einsum("fsc,fs->c", np.asarray(jacobian), departure)
    way = np.random.default_rng(5).normal(size=v.size)
    along = jax.jit(lambda steps: jax.lax.map(lambda step: cost(jnp.asarray(v) + step * way), steps))
    slope = central_difference(along, 0.0, 1.0)
    np.testing.assert_allclose(gradient @ way, slope.value, atol=5.0 * float(slope.error), rtol=1e-6)


def test_gauss_newton_ends_where_the_gradient_vanishes():
    method, window, start = with_diffusivity()
    modes = modes_of(method, window)
    v = jnp.zeros(n_control(modes, start))
    sizes = []
    for _ in range(8):
        predicted, jacobian = linearised(window, start, modes, v)
        departure = window.seen.precision * (window.seen.values - predicted)
        sizes.append(float(jnp.linalg.norm(v - jnp.einsum("fsc,fs->c", jacobian, departure))))
        v = minimum(predicted, jacobian, window.seen, v)
    # It converges linearly where the model curves, the faster the smaller the misfit.
    assert sizes[-1] < 1e-2 * sizes[0]


def test_control_holds_the_modes_of_most_variance():
    method, window, start = with_diffusivity()
    modes, every = modes_of(method, window), modes_of(Variational(kept_variance=1.0), window)
    assert n_control(every, start) == 6 + (N + 1) + 1
    assert n_control(modes, start) < n_control(every, start)
    z = np.asarray(column().grid.z_center)
    covariance = 0.075**2 * np.exp(-0.5 * ((z[:, None] - z) / 10.0) ** 2)
    whole, kept = (np.asarray(each.profiles[0] @ each.profiles[0].T) for each in (every, modes))
    np.testing.assert_allclose(whole, covariance, atol=1e-12)
    assert 0.99 <= np.trace(kept) / np.trace(covariance) < 1.0


def test_windows_that_overlap_begin_with_the_analysis_that_ended_there():
    method = Variational(n_outer=1)
    run = assimilation(method, stream(VALUES), length=2 * INTERVAL, end=4 * INTERVAL)
    assert run.cycles.n_cycles == 3
    records = run.run()
    np.testing.assert_allclose(records.analysis_time, INTERVAL * np.array([2.0, 3.0, 4.0]))
    # The last interval of each window holds the values of its end.
    np.testing.assert_allclose(records.observed("values")[:, 0], VALUES[1:])
    first = method.assimilate(run._window(0, run.layout), run.begin().starts[0])
    last = method.assimilate(run._window(2, run.layout), first.analysis)
    np.testing.assert_array_equal(records.every.analysis[2], last.analysis.now.state.temperature[:, 0])
