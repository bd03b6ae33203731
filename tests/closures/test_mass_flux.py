"""Plumes on top of a local closure: their equations and their energy."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax

from tunax_lite import Case, Grid, KEpsilon, Model, State
from tunax_lite.closures import MassFluxConvection
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes

N, DEPTH = 50, 100.0
THERMAL = 9.81 * 2e-4  # g alpha [m s-2 K-1]
TO_HEAT = 1027.0 * 3991.86796 / THERMAL
LOSS, N_SQUARED = 1e-7, 1e-5
# A floor that adds no energy that could be seen.
LOCAL = KEpsilon(turbulent_kinetic_energy_floor=1e-16)


def a_case(*, shear=0.0, zoom=0.0, cold_top=0.0):
    grid = Grid.stretched(DEPTH, N, surface_zoom=zoom)
    state = State.from_profiles(
        grid,
        temperature=lambda z: N_SQUARED / THERMAL * z - cold_top * jnp.exp(z / 3.0),
        salinity=0.0,
        u=lambda z: shear * jnp.exp(z / 20.0),
    )
    forcing = ConstantForcing(SurfaceFluxes(heat_flux=jnp.asarray(-LOSS * TO_HEAT)))
    return Case(grid, state, forcing, coriolis_parameter=0.0, duration=1e7)


@eqx.filter_jit
def run(model, case, dt, n_steps):
    """State and closure state after so many steps; one program per closure."""
    start, stepper = (case.initial_state, model.init(case)), model.closure.prepare()
    return lax.fori_loop(0, n_steps, lambda i, now: model.step(*now, case, i * dt, dt, stepper), start)


def after(closure, case, dt, n_steps):
    model = Model(closure, molecular_viscosity=0.0, molecular_diffusivity=0.0)
    return run(model, case, jnp.asarray(dt), jnp.asarray(n_steps))


def carried(cells, fraction):
    """Values in the plumes on inner faces: the recurrence, as a loop."""
    values = np.zeros(N + 1)
    values[N] = cells[-1]
    for k in range(N - 1, 0, -1):
        values[k] = (1.0 - fraction[k]) * values[k + 1] + fraction[k] * cells[k]
    return values[1:N]


def test_plumes_fulfil_the_equations_of_the_paper():
    closure = MassFluxConvection(local=LOCAL)
    case = a_case(cold_top=0.05, zoom=1.5)
    state, plumes = after(closure, case, 60.0, 1)
    temperature, h = np.asarray(state.temperature), np.asarray(case.grid.cell_thickness)
    beta_1, beta_2, drag, delta, least = 0.99, 1.99, 0.75 / 10.0, 1.75 / 10.0, 1e-5
    w, a = 0.0, 0.2
    plume = temperature[-1] + (temperature[-1] - temperature[-2]) * h[-1] / (h[-1] + h[-2])
    for k in range(N - 1, 0, -1):
        buoyancy, alpha, before = THERMAL * (plume - temperature[k]), 1.0, (w + least) ** 2
        for _ in range(2):
            square = ((alpha - h[k] * drag) * before - 2.0 * h[k] * buoyancy) / (alpha + h[k] * drag)
            alpha = 1.0 + beta_1 if drag * (before + square) + 2.0 * buoyancy < 0.0 else 1.0
        square = ((alpha - h[k] * drag) * before - 2.0 * h[k] * buoyancy) / (alpha + h[k] * drag)
        new_w = np.sqrt(max(square, least**2)) - least
        taken = max(beta_1 * (new_w - w), 0.0)
        left = max(beta_2 * (w - new_w), 0.0) + max(0.5 * h[k] * delta * (w + new_w), 2.0 * least)
        new_a = max(a * (2.0 * w + taken - left) / (2.0 * new_w - taken + left), 0.0)
        if square <= least**2:
            new_a = 0.0
        if new_a > 0.0:
            # What is left behind has the temperature at the lower face.
            flux, mean_area = a * w, 0.5 * (a + new_a)
            plume = (flux * plume + mean_area * taken * temperature[k]) / (flux + mean_area * taken)
        w, a = new_w, new_a
        np.testing.assert_allclose(plumes.plume_velocity[k], w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(plumes.plume_mass_flux[k], a * w, rtol=1e-9, atol=1e-14)
        # Pressure gives half of the velocity around the plumes to them.
        np.testing.assert_allclose(plumes.plume_momentum_flux[k], 0.5 * a * w, rtol=1e-9, atol=1e-14)
        if a > 0.0:
            own = carried(temperature, np.asarray(plumes.entrained_fraction))[k - 1]
            np.testing.assert_allclose(own, plume, rtol=0.0, atol=1e-12)
    assert np.count_nonzero(np.asarray(plumes.plume_mass_flux)) > 5


def test_energy_goes_from_the_mean_flow_to_turbulence_and_nowhere_else():
    closure, case, dt = MassFluxConvection(local=LOCAL), a_case(shear=0.2, zoom=1.5), 60.0
    old, before = after(closure, case, dt, 200)
    new, now = after(closure, case, dt, 201)
    grid = case.grid
    h, dz, z = (np.asarray(x) for x in (grid.cell_thickness, grid.center_spacing, grid.z_center))

    def energy(state, plumes):
        kinetic = 0.5 * np.sum(h * np.asarray(state.u) ** 2)
        potential = -THERMAL * np.sum(h * z * np.asarray(state.temperature))
        return kinetic, potential, np.sum(dz * np.asarray(plumes.local.turbulent_kinetic_energy)[1:-1])

    changes = np.subtract(energy(new, now), energy(old, before))
    fraction = np.asarray(before.entrained_fraction)
    old_u, new_u, new_t = (np.asarray(x) for x in (old.u, new.u, new.temperature))
    plume_u, plume_t = carried(old_u, fraction), carried(np.asarray(old.temperature), fraction)
    momentum, flux = np.asarray(before.plume_momentum_flux)[1:-1], np.asarray(before.plume_mass_flux)[1:-1]
    viscosity = np.asarray(before.eddy_viscosity)[1:-1]
    diffusivity = np.asarray(before.eddy_diffusivity)[1:-1]
    shear = 0.5 * (np.diff(new_u) + np.diff(old_u)) / dz
    production = (viscosity * np.diff(new_u) / dz + momentum * (plume_u - new_u[:-1])) * shear
    sunk = THERMAL * (flux * (new_t[:-1] - plume_t) - diffusivity * np.diff(new_t) / dz)
    np.testing.assert_allclose(changes[0], -dt * np.sum(dz * production), rtol=1e-9)
    from_surface = dt * z[-1] * LOSS
    np.testing.assert_allclose(changes[1], from_surface - dt * np.sum(dz * sunk), rtol=1e-9)
    # Both plumes and gradients give a good part of it.
    assert np.sum(dz * flux * THERMAL * (new_t[:-1] - plume_t)) > 0.5 * np.sum(dz * sunk)

    k = np.asarray(before.local.turbulent_kinetic_energy)[1:-1]
    new_k = np.asarray(now.local.turbulent_kinetic_energy)[1:-1]
    ratio = new_k / k
    dissipation = np.asarray(before.local.dissipation_rate)[1:-1]
    # Where k is so small that its sum with the buoyancy term would be negative, that is implicit too.
    lost = np.where(production + sunk > 0.0, dissipation * ratio, (dissipation - sunk) * ratio + sunk)
    # In quiet water the floor of k gives what the floor of its dissipation takes.
    lost = np.where((k > 1.01e-16) | (new_k > 1.01e-16), lost, 0.0)
    np.testing.assert_allclose(np.sum(changes), from_surface - dt * np.sum(dz * lost), rtol=2e-6)
