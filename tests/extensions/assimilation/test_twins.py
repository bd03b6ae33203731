"""Twin experiments: a known truth is observed, and water, flux and parameter have to be found again."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.extensions.assimilation.columns import HOUR, INTERVAL, MODEL, assimilation, column, stream
from tunax_lite import Constant, Model, simulate
from tunax_lite.calibration import FreeParameter, FreeParameters, LogNormal
from tunax_lite.extensions.assimilation import (
    EnsembleSmoother,
    EnsembleTransform,
    FreeRun,
    Process,
    Variational,
)
from tunax_lite.extensions.assimilation.system import passed

pytestmark = pytest.mark.long

N_TRUTHS, N_CYCLES, SPIN_UP, NOISE = 8, 30, 5, 0.05
HEAT = Process("heat_flux_bias", 200.0, 2.0 * 86400.0)
# One object, so that methods share what is compiled for it.
FREE = FreeParameters((FreeParameter("diffusivity", prior=LogNormal(1e-3, 1.0)),)).resolve(MODEL.closure)


def truths():
    """Members of the prior: surface temperature, whole profiles and fluxes at the ends of the cycles."""
    system = assimilation(FreeRun(), stream([0.0]), processes=(HEAT,), case=column(days=10.0)).system
    members = system.members(jax.random.key(77), N_TRUTHS)
    surface, profiles, fluxes = [], [], []
    for cycle in range(N_CYCLES):
        knots = system.drawn(members, jax.random.key(1000 + cycle), INTERVAL, 2)
        times = jnp.asarray(INTERVAL * np.array([cycle, cycle + 1.0]))
        now, predicted = passed(system, members.now, knots, members.parameters, times, (1, 6))
        members = dataclasses.replace(members, now=now, processes=knots[:, -1])
        surface.append(predicted[0, 0])
        profiles.append(now.state.temperature)
        fluxes.append(knots[0, -1])
    return np.array(surface), np.array(profiles), np.array(fluxes)


def test_identical_twins_are_found_with_a_spread_that_is_reliable():
    surface, profiles, fluxes = truths()
    noise = NOISE * np.random.default_rng(11).normal(size=surface.shape)
    scores, later = [], slice(SPIN_UP, None)
    for member in range(N_TRUTHS):
        seen = stream(surface[:, member] + noise[:, member], NOISE)
        options = {"processes": (HEAT,), "case": column(days=10.0), "seed": member}
        every = assimilation(EnsembleTransform(40), seen, **options).run().every
        differences = (
            every.predicted[later, 0, 0] - surface[later, member],
            every.predicted_spread[later, 0, 0],
            every.analysis - profiles[..., member],
            profiles.mean(axis=2) - profiles[..., member],
            every.processes[later, 0] - fluxes[later, member],
        )
        scores.append([np.mean(each**2) for each in differences])
    error, spread, water, prior, flux = np.mean(scores, axis=0)
    # 200 forecasts, about half as many independent ones, know the ratio to 6 %.
    assert abs(np.sqrt(error / spread) - 1.0) < 0.10
    assert water < 0.15 * prior
    assert flux < 0.5 * HEAT.standard_deviation**2


def fraternal(method, **options):
    """Assimilate a truth of three times the diffusivity; returns that found, and the error of the water."""
    other = Model(Constant(viscosity=1e-3, diffusivity=3e-3))
    truth = simulate(other, column(days=10.0), dt=HOUR, duration=24 * INTERVAL, output_interval=INTERVAL)
    noise = 0.01 * np.random.default_rng(2).normal(size=24)
    seen = stream(np.asarray(truth.state.temperature[1:, -1]) + noise, 0.01)
    deep = stream(np.asarray(truth.state.temperature[1:, 0]) + noise[::-1], 0.01, height=-27.5)
    options |= {"processes": (), "case": column(days=10.0), "of_system": {"parameters": FREE}}
    records = assimilation(method, seen, deep, **options).run()
    diffusivity = float(FREE.to_physical(jnp.asarray(records.every.parameters[-1]))[0])
    error = np.abs(np.asarray(truth.state.temperature[-1]) - records.every.analysis[-1]).mean()
    return diffusivity, error


def test_fraternal_twins_have_the_diffusivity_of_the_truth():
    without = fraternal(FreeRun())[1]
    windows = {"length": 4 * INTERVAL, "interval": 4 * INTERVAL, "leads": (4 * INTERVAL,)}
    for method, options in (
        (EnsembleTransform(40), {}),
        (EnsembleSmoother(40, n_iterations=2), {}),
        (Variational(background=1.0), windows),
        (Variational(background=1.0, minimiser="lanczos"), windows),
        (Variational(background=1.0, minimiser="lbfgs", n_outer=20), windows),
        (Variational(background=1.0, n_members=20), windows),
    ):
        diffusivity, error = fraternal(method, **options)
        assert 2e-3 < diffusivity < 4.5e-3, method
        assert error < 0.3 * without, method
