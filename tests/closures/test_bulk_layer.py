"""Bulk layers against the laws of their deepening, and the model of Price, Weller and Pinkel in loops."""

import dataclasses

import equinox as eqx
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, mixed_depth, stratified
from tunax_lite import Grid, Model, TimeSeriesForcing, simulate
from tunax_lite.closures import KrausTurner, PriceWellerPinkel

GRAVITY, DENSITY, ALPHA, HEAT_CAPACITY = 9.81, 1027.0, 2e-4, 3991.86796
BUOYANCY, DAY = GRAVITY * ALPHA, 86400.0
GRID = Grid.uniform(80.0, 80)
step = eqx.filter_jit(lambda closure, inputs: closure.step(closure.init(inputs), inputs, 600.0))


def run(closure, case, dt, output_interval=6 * 3600.0):
    model = Model(closure, molecular_viscosity=0.0, molecular_diffusivity=0.0)
    return simulate(model, case, dt=dt, output_interval=output_interval)


def test_kraus_turner_deepens_by_the_energy_of_the_wind():
    """N² h³ / 12 = m u*³ t, the energy of a mixed layer in water of constant stratification."""
    closure = KrausTurner(wind_efficiency=1.25, background_coefficient=0.0)
    case = stratified(GRID, 1e-4 / BUOYANCY, {"duration": DAY}, stress_u=DENSITY * 1e-4, heat_flux=0.0)
    result = run(closure, case, 600.0)
    time = np.asarray(result.time[1:])
    law = (12.0 * 1.25 * 1e-6 * time / 1e-4) ** (1.0 / 3.0)
    np.testing.assert_allclose(mixed_depth(result.state.temperature[1:], 1e-4), law, atol=1.0)
    # The energy itself, with what the first, shallow steps and cells leave out.
    z, change = np.asarray(GRID.z_center), np.asarray(result.state.temperature - result.state.temperature[0])
    gained = -BUOYANCY * np.sum(change * z, axis=1)[1:]
    np.testing.assert_allclose(gained, 1.25e-6 * time, rtol=0.05)


@pytest.mark.parametrize("efficiency", [0.2])
def test_kraus_turner_convects_with_the_share_that_entrains(efficiency):
    """h = sqrt(2 (1 + 2 A) B t) / N with A the flux of entrainment over that of the surface."""
    closure = KrausTurner(convective_efficiency=efficiency, background_coefficient=0.0)
    heat_flux = -1e-7 / (BUOYANCY) * DENSITY * HEAT_CAPACITY
    case = stratified(GRID, 1e-5 / BUOYANCY, {"duration": DAY}, stress_u=0.0, heat_flux=heat_flux)
    result = run(closure, case, 600.0)
    law = np.sqrt(2.0 * (1.0 + 2.0 * efficiency) * 1e-7 * np.asarray(result.time[1:]) / 1e-5)
    np.testing.assert_allclose(mixed_depth(result.state.temperature[1:], 1e-5), law, atol=1.0)


def test_kraus_turner_under_heating_is_as_deep_as_monin_and_obukhov():
    """The wind keeps 2 m u*³ / B mixed against the buoyancy that enters; a third of a cell is in between."""
    closure, friction_velocity, flux = KrausTurner(background_coefficient=0.0), 0.01, 1.22e-7
    inputs = closure_inputs(GRID, 0.0, 0.0, friction_velocity=friction_velocity, buoyancy_flux=flux)
    state = step(closure, inputs)
    depth = 2.0 * 1.25 * friction_velocity**3 / flux
    # The energy of the uppermost cell, half a cell less, is not counted; the last cell comes in part.
    assert 20.0 < depth < 20.9
    mixed = np.asarray(state.eddy_viscosity)[::-1]
    assert np.all(mixed[1:21] > 1.0) and 0.0 < mixed[21] < 1.0 and np.all(mixed[22:] == 0.0)
    np.testing.assert_array_equal(state.eddy_viscosity, state.eddy_diffusivity)


def price_weller_pinkel(temperature, fluxes, stress, coriolis, dt):
    """Temperature [degC] after each step of the published model under `fluxes` [W m-2]; 0 is the top."""
    dz, u = 1.0, np.zeros(len(temperature), complex)
    density, profiles = lambda t: -DENSITY * ALPHA * t, []
    for heat in fluxes:
        temperature[0] += heat * dt / (DENSITY * HEAT_CAPACITY * dz)
        while np.any(np.diff(density(temperature)) < 0.0):
            last = np.flatnonzero(np.diff(density(temperature)) < 0.0)[0] + 1
            for x in (temperature, u):
                x[: last + 1] = x[: last + 1].mean()
        first = np.flatnonzero(density(temperature) - density(temperature[0]) > 1e-4)[0]
        u *= np.exp(-1j * coriolis * dt)
        u[:first] += stress * dt / (first * dz * DENSITY)
        for j in range(first, len(u)):
            lighter = density(temperature[j]) - density(temperature[0])
            if GRAVITY * j * dz * lighter / DENSITY > 0.65 * abs(u[j] - u[0]) ** 2:
                break
            for x in (temperature, u):
                x[: j + 1] = x[: j + 1].mean()
        while True:
            sheared = np.abs(np.diff(u)) ** 2
            stable = GRAVITY * dz * np.diff(density(temperature)) / DENSITY
            number = np.where(sheared < 1e-10, np.inf, stable / np.maximum(sheared, 1e-10))
            j = np.argmin(number)
            if number[j] > 0.25:
                break
            fraction = 1.0 - number[j] / (0.25 + (0.02 + (0.25 - number[j]) / 2.0) / 5.0)
            for x in (temperature, u):
                exchanged = 0.5 * fraction * (x[j + 1] - x[j])
                x[j], x[j + 1] = x[j] + exchanged, x[j + 1] - exchanged
        profiles.append(temperature.copy())
    return np.array(profiles)


def depth_of_fall(profiles, fall=0.1):
    return np.array([np.interp(fall, x[0] - x, np.arange(80) + 0.5) for x in profiles])


@pytest.mark.parametrize("heat", [-200.0])
def test_price_weller_pinkel_in_loops(heat):
    """Wind and rotation, with half a day of cooling and half a day of heating or the other way.

    The model goes by bursts: a base that has just broken is up to two cells deeper in one of the two.
    """
    dt, coriolis = 60.0, 1e-4
    time = dt * np.arange(1441)
    flux = heat * np.sin(2.0 * np.pi * time / DAY)
    forcing = TimeSeriesForcing.from_values(time, stress_u=0.1 * np.ones_like(time), heat_flux=flux)
    calm = stratified(GRID, 1e-4 / BUOYANCY, {"duration": DAY, "coriolis_parameter": coriolis})
    result = run(PriceWellerPinkel(), dataclasses.replace(calm, forcing=forcing), dt, 3600.0)
    ours = np.asarray(result.state.temperature)[:, ::-1]
    theirs = price_weller_pinkel(ours[0].copy(), flux[1:], 0.1, coriolis, dt)[59::60]
    difference = np.abs(depth_of_fall(ours[1:]) - depth_of_fall(theirs))
    assert np.mean(difference <= 1.0) >= 0.9 and np.mean(difference) < 0.5 and np.max(difference) < 2.5
    assert np.sqrt(np.mean((ours[1:] - theirs) ** 2)) < 0.03
