"""The closure of Gaspar et al. as in NEMO and Veros: one step against loops over the levels, term by term."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, exchange_matrix, random_grid, surface_waves
from tunax_lite import closures
from tunax_lite.closures.energy import TurbulenceState

N, DT, USTAR, CORIOLIS = 12, 300.0, 0.012, 5e-5
GRID = random_grid(5, N)
Z, H = np.asarray(GRID.z_face), np.asarray(GRID.cell_thickness)
DZ = 0.5 * (H[1:] + H[:-1])
RANDOM = np.random.default_rng(8)
# Unstable above, stable below, with weak and strong shear.
N_SQUARED = np.where(Z[1:-1] > -8.0, -1e-7, 4e-5) * RANDOM.uniform(0.5, 2.0, N - 1)
S_SQUARED = RANDOM.uniform(0.0, 3e-4, N - 1)
NU, KAPPA, K, EPSILON = (RANDOM.uniform(low, 5.0 * low, N + 1) for low in (2e-3, 1e-3, 2e-4, 1e-7))
OLD = TurbulenceState(*map(jnp.asarray, (NU, KAPPA, K, EPSILON)))
step = eqx.filter_jit(lambda closure, *arguments: closure.step(*arguments))


def inputs(**more):
    changed = {"coriolis_parameter": jnp.asarray(CORIOLIS), **more}
    return closure_inputs(GRID, N_SQUARED, S_SQUARED, friction_velocity=USTAR, **changed)


def tke_by_dense_solve(
    surface, production=0.0, *, alpha=1.0, weight=1.5, c_eps=0.7, background=1.2e-4, floor=1e-6, bottom=None
):
    """k on inner faces and the surface from a full matrix; `surface` is a value or a flux of k."""
    k, dissipation, nu, kappa = K[1:], EPSILON[1:], NU[1:].copy(), KAPPA[1:]
    volumes = np.append(DZ, 0.5 * H[-1])
    nu[-1] = max(0.1 * c_eps * k[-1] ** 2 / dissipation[-1], background)
    conductance = 0.5 * alpha * (nu[1:] + nu[:-1]) / H[1:]
    matrix = np.diag(volumes * (1.0 + DT * weight * dissipation / k)) - DT * exchange_matrix(conductance, N)
    rhs = volumes * (k + DT * (weight - 1.0) * dissipation)
    rhs[:-1] += volumes[:-1] * DT * (nu[:-1] * S_SQUARED - kappa[:-1] * N_SQUARED + production)
    if bottom is not None:
        exchange = DT * alpha * 0.5 * nu[0] / H[0]
        matrix[0, 0] += exchange
        rhs[0] += exchange * bottom
    if "value" in surface:
        matrix[-1], rhs[-1] = 0.0, surface["value"]
        matrix[-1, -1] = 1.0
    else:
        rhs[-1] += DT * surface["flux"]
    return np.maximum(np.linalg.solve(matrix, rhs), floor)


def parcel_length(k, floor):
    return np.maximum(np.sqrt(2.0 * k / np.maximum(N_SQUARED, 1e-15)), floor)


def two_sweeps(length, surface, bottom):
    """Lengths that grow by the distance at most, from the surface downward and from the bottom upward."""
    up, down = length.copy(), length.copy()
    for i in range(N - 2, -1, -1):
        up[i] = min(length[i], (up[i + 1] if i < N - 2 else surface) + H[i + 1])
    for i in range(N - 1):
        down[i] = min(length[i], (down[i - 1] if i > 0 else bottom) + H[i])
    return up, down


def check(state, k, nu, kappa, dissipation):
    """The state against values on inner faces; all to round-off of the linear solve."""
    found = state.turbulent_kinetic_energy, state.eddy_viscosity, state.eddy_diffusivity
    for values, expected in zip((*found, state.dissipation_rate), (k, nu, kappa, dissipation), strict=True):
        np.testing.assert_allclose(values[1:-1], expected, rtol=1e-9)


def langmuir_production(drift, coefficient):
    depth, work, lowest = -Z, 0.0, None
    for i in range(N - 1, 0, -1):  # faces from the surface; the crossing lies in the cell above face i
        more = max(N_SQUARED[i - 1], 0.0) * depth[i] * DZ[i - 1]
        if work + more > 0.5 * drift**2:
            lowest = depth[i + 1] + (0.5 * drift**2 - work) / more * H[i]
            break
        work += more
    assert lowest is not None and lowest < depth[1]
    shape = np.where(depth[1:-1] < lowest, np.sin(np.pi * depth[1:-1] / lowest), 0.0)
    return (coefficient * drift * shape) ** 3 / lowest


def test_step_of_nemo():
    drift = 0.016 * np.sqrt(1026.0 * USTAR**2 / (1.22 * 1.5e-3))
    surface = 67.83 * USTAR**2
    assert surface > 1e-4
    k = tke_by_dense_solve({"value": surface}, langmuir_production(drift, 0.15))
    latitude = np.arcsin(CORIOLIS * 86164.0 / (4.0 * np.pi))
    k = k[:-1] + 0.05 * surface * np.exp(Z[1:-1] / (45.0 * np.sin(latitude)))
    at_surface = 0.4 * 2e5 * USTAR**2 / 9.81
    up, down = two_sweeps(parcel_length(k, 0.01), at_surface, 0.01)
    nu = 0.1 * np.minimum(up, down) * np.sqrt(k)
    richardson = np.maximum(N_SQUARED, 0.0) / S_SQUARED
    kappa = np.maximum(nu * np.clip(2.0 / 9.0 / np.maximum(richardson, 1e-30), 0.1, 1.0), 1.2e-5)
    state = step(closures.TKE(), OLD, inputs(), DT)
    check(state, k, np.maximum(nu, 1.2e-4), kappa, 0.7 * k**1.5 / np.sqrt(up * down))
    assert state.turbulent_kinetic_energy[-1] == pytest.approx(surface, rel=1e-14)
    assert state.dissipation_rate[-1] == pytest.approx(0.7 * surface**1.5 / at_surface, rel=1e-12)


def test_step_of_veros():
    k = tke_by_dense_solve({"flux": USTAR**3}, alpha=30.0, weight=1.0, background=2e-4, floor=1e-12)
    inner, at_surface = k[:-1], k[-1]
    length = np.sqrt(2.0 * inner / np.maximum(N_SQUARED, 1e-15))
    length = np.minimum(np.minimum(length, -Z[1:-1] + 0.5 * DZ), Z[1:-1] - Z[0])
    state = step(closures.TKE.veros(), OLD, inputs(), DT)
    nu = 0.1 * length * np.sqrt(inner)
    kappa = np.maximum(nu / np.clip(6.6 * N_SQUARED / S_SQUARED, 1.0, 10.0), 2e-5)
    check(state, inner, np.maximum(nu, 2e-4), kappa, 0.7 * inner**1.5 / length)
    assert state.turbulent_kinetic_energy[-1] == pytest.approx(at_surface, rel=1e-9)
    of_surface = min(np.sqrt(2.0 * at_surface / max(N_SQUARED[-1], 1e-15)), 0.5 * H[-1])
    assert state.dissipation_rate[-1] == pytest.approx(0.7 * at_surface**1.5 / of_surface, rel=1e-9)


def test_step_with_other_options():
    options: dict[str, Any] = {"c_eps": 0.5, "largest_viscosity": 3e-2, "convective_diffusivity": 5.0}
    options |= {"prandtl_number": 2.0, "imposed_von_karman": 0.35, "langmuir_cells": None}
    options |= {"length_bounds": closures.BoundedSlope(), "surface_energy": closures.SurfaceFlux(factor=2.0)}
    penetration = closures.Penetration(fraction=0.1, time_step=3600.0, depth=5.0)
    closure = closures.TKE(**options, penetration=penetration)
    waves: Any = RANDOM.uniform(-1e-5, 1e-4, N - 1)
    k = tke_by_dense_solve({"flux": 2.0 * USTAR**3}, NU[1:-1] * waves, c_eps=0.5, bottom=3.75 * 0.02**2)
    k = k[:-1] + 0.1 * DT / 3600.0 * k[-1] * np.exp(Z[1:-1] / 5.0)
    # P = eps with l = slope z and S = u* / (kappa z) gives nu = kappa u* z.
    slope = 0.35 * (0.5 / 0.1**3) ** 0.25
    up, down = two_sweeps(parcel_length(k, 0.01) / slope, 0.4 * 2e5 * USTAR**2 / 9.81, 0.01)
    length = slope * np.minimum(up, down)
    flow = closures.BottomFlow(jnp.asarray(0.02), jnp.asarray(0.001))
    with_waves = inputs(waves=surface_waves(GRID, shear=waves), bottom=flow)
    state = step(closure, OLD, with_waves, DT)
    nu = np.minimum(0.1 * length * np.sqrt(k), 3e-2)
    kappa = np.where(N_SQUARED < 0.0, 5.0, np.maximum(0.5 * nu, 1.2e-5))
    check(state, k, np.maximum(nu, 1.2e-4), kappa, 0.5 * k**1.5 / length)

    # Where velocities contain the drift, nu S² is all that shear and waves produce.
    contained = dataclasses.replace(surface_waves(GRID, shear=waves), in_velocity=True)
    with_drift, without = (
        step(closure, OLD, dataclasses.replace(with_waves, waves=each), DT) for each in (contained, None)
    )
    assert eqx.tree_equal(with_drift, without)


def test_lagrangian_stress():
    """Currents mixed down U + U_S, whose shear produces k, give what Lagrangian velocities give."""
    drift = RANDOM.uniform(0.0, 1e-2, N - 1)
    shear = RANDOM.uniform(-1e-2, 1e-2, N - 1)
    closure = closures.TKE(langmuir_cells=None, lagrangian_stress=True)
    given = surface_waves(GRID, shear=drift * shear)
    given = dataclasses.replace(given, shear_squared=jnp.asarray(drift**2))
    in_currents = inputs(shear_squared=jnp.asarray(shear**2), waves=given)
    contained = dataclasses.replace(given, in_velocity=True)
    in_sum = inputs(shear_squared=jnp.asarray((shear + drift) ** 2), waves=contained)
    currents, both = step(closure, OLD, in_currents, DT), step(closure, OLD, in_sum, DT)
    np.testing.assert_allclose(currents.turbulent_kinetic_energy, both.turbulent_kinetic_energy, rtol=1e-12)
    assert eqx.tree_equal(currents.stokes_viscosity, currents.eddy_viscosity)
    assert both.stokes_viscosity is None


def test_lengths_within_the_column():
    long, ends = jnp.full(N - 1, 1e3), (jnp.asarray(0.5), jnp.asarray(0.1), GRID)
    nearest = np.minimum(-Z[1:-1], Z[1:-1] - Z[0])
    np.testing.assert_allclose(closures.WithinColumn()(long, *ends)[0], nearest, rtol=1e-12)


def test_langmuir_cells_without_wind_or_stratification():
    closure = closures.LangmuirCells()
    still = closure_inputs(GRID, N_SQUARED, S_SQUARED)
    np.testing.assert_array_equal(closure.production(still), 0.0)
    # Nothing stops the cells: they reach the bottom.
    mixed = closure_inputs(GRID, 0.0, S_SQUARED, friction_velocity=USTAR)
    drift, depth = 0.016 * np.sqrt(1026.0 / (1.22 * 1.5e-3)) * USTAR, -Z[0]
    expected = (0.15 * drift * np.sin(np.pi * -Z[1:-1] / depth)) ** 3 / depth
    np.testing.assert_allclose(closure.production(mixed), expected, rtol=1e-7)
