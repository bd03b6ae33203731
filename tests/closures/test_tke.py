"""The closure of Gaspar et al. as in NEMO and Veros: one step against loops over the levels, term by term."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, random_grid, surface_waves
from tunax_lite.closures import (
    TKE,
    BottomFlow,
    BoundedSlope,
    LangmuirCells,
    Penetration,
    SurfaceFlux,
    SurfaceValue,
    UpAndDown,
    WithinColumn,
    WithinSpacing,
)
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.numerics.elementary import smallest_downward, smallest_upward

N, DT, USTAR, CORIOLIS = 12, 300.0, 0.012, 5e-5
GRID = random_grid(5, N)
Z, H = np.asarray(GRID.z_face), np.asarray(GRID.cell_thickness)
DZ = 0.5 * (H[1:] + H[:-1])
RANDOM = np.random.default_rng(8)
# Unstable above, stable below, with weak and strong shear.
N_SQUARED = np.where(Z[1:-1] > -8.0, -1e-7, 4e-5) * RANDOM.uniform(0.5, 2.0, N - 1)
S_SQUARED = RANDOM.uniform(0.0, 3e-4, N - 1)
NU, KAPPA, K, EPSILON = (RANDOM.uniform(low, 5.0 * low, N + 1) for low in (2e-3, 1e-3, 2e-4, 1e-7))
OLD = TurbulenceState(
    eddy_viscosity=jnp.asarray(NU),
    eddy_diffusivity=jnp.asarray(KAPPA),
    turbulent_kinetic_energy=jnp.asarray(K),
    dissipation_rate=jnp.asarray(EPSILON),
)
step = eqx.filter_jit(lambda closure, *arguments: closure.step(*arguments))
lengths = eqx.filter_jit(lambda bounds, *arguments: bounds(*arguments))


def inputs(**more):
    made = closure_inputs(GRID, N_SQUARED, S_SQUARED, friction_velocity=USTAR)
    changed = {"coriolis_parameter": CORIOLIS, **more}
    return dataclasses.replace(made, **{name: jnp.asarray(value) for name, value in changed.items()})


def tke_by_dense_solve(*, alpha, weight, c_eps, background, production, surface, floor, bottom=None):
    """k on inner faces and the surface from a full matrix; `surface` is a value or a flux of k."""
    k, dissipation, nu, kappa = K[1:], EPSILON[1:], NU[1:].copy(), KAPPA[1:]
    volumes = np.append(DZ, 0.5 * H[-1])
    nu[-1] = max(0.1 * c_eps * k[-1] ** 2 / dissipation[-1], background)
    matrix, rhs = np.zeros((N, N)), np.zeros(N)
    for i in range(N):
        matrix[i, i] += volumes[i] * (1.0 + DT * weight * dissipation[i] / k[i])
        rhs[i] += volumes[i] * (k[i] + DT * (weight - 1.0) * dissipation[i])
        if i < N - 1:
            produced = nu[i] * S_SQUARED[i] - kappa[i] * N_SQUARED[i] + production[i]
            rhs[i] += volumes[i] * DT * produced
            exchange = DT * alpha * 0.5 * (nu[i] + nu[i + 1]) / H[i + 1]
            matrix[i, [i, i + 1]] += exchange, -exchange
            matrix[i + 1, [i + 1, i]] += exchange, -exchange
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


def inverse_prandtl_number(critical):
    richardson = np.maximum(N_SQUARED, 0.0) / S_SQUARED
    return np.clip(critical / np.maximum(richardson, 1e-30), 0.1, 1.0)


def check(state, k, mixing, dissipating, c_eps, nu_floor, kappa_floor, inverse_prandtl):
    """The state against k and lengths; all to round-off of the linear solve."""
    nu = 0.1 * mixing * np.sqrt(k)
    kappa = np.maximum(nu * inverse_prandtl, kappa_floor)
    inner = slice(1, -1)
    for values, expected in (
        (state.turbulent_kinetic_energy, k),
        (state.dissipation_rate, c_eps * k**1.5 / dissipating),
        (state.eddy_viscosity, np.maximum(nu, nu_floor)),
        (state.eddy_diffusivity, kappa),
    ):
        np.testing.assert_allclose(np.asarray(values)[inner], expected, rtol=1e-9)


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
    k = tke_by_dense_solve(
        alpha=1.0,
        weight=1.5,
        c_eps=0.7,
        background=1.2e-4,
        production=langmuir_production(drift, 0.15),
        surface={"value": surface},
        floor=1e-6,
    )
    latitude = np.arcsin(CORIOLIS * 86164.0 / (4.0 * np.pi))
    k = k[:-1] + 0.05 * surface * np.exp(Z[1:-1] / (45.0 * np.sin(latitude)))
    at_surface = 0.4 * 2e5 * USTAR**2 / 9.81
    up, down = two_sweeps(parcel_length(k, 0.01), at_surface, 0.01)
    state = step(TKE(), OLD, inputs(), DT)
    check(
        state, k, np.minimum(up, down), np.sqrt(up * down), 0.7, 1.2e-4, 1.2e-5, inverse_prandtl_number(2 / 9)
    )
    assert state.turbulent_kinetic_energy[-1] == pytest.approx(surface, rel=1e-14)
    assert state.dissipation_rate[-1] == pytest.approx(0.7 * surface**1.5 / at_surface, rel=1e-12)


def test_step_of_veros():
    k = tke_by_dense_solve(
        alpha=30.0,
        weight=1.0,
        c_eps=0.7,
        background=2e-4,
        production=np.zeros(N - 1),
        surface={"flux": USTAR**3},
        floor=1e-12,
    )
    inner, at_surface = k[:-1], k[-1]
    length = np.sqrt(2.0 * inner / np.maximum(N_SQUARED, 1e-15))
    length = np.minimum(np.minimum(length, -Z[1:-1] + 0.5 * DZ), Z[1:-1] - Z[0])
    state = step(TKE.veros(), OLD, inputs(), DT)
    inverse = 1.0 / np.clip(6.6 * N_SQUARED / S_SQUARED, 1.0, 10.0)
    check(state, inner, length, length, 0.7, 2e-4, 2e-5, inverse)
    assert state.turbulent_kinetic_energy[-1] == pytest.approx(at_surface, rel=1e-9)
    of_surface = min(np.sqrt(2.0 * at_surface / max(N_SQUARED[-1], 1e-15)), 0.5 * H[-1])
    assert state.dissipation_rate[-1] == pytest.approx(0.7 * at_surface**1.5 / of_surface, rel=1e-9)


def test_step_with_other_options():
    closure = TKE(
        c_eps=0.5,
        largest_viscosity=3e-2,
        convective_diffusivity=5.0,
        prandtl_number=2.0,
        length_bounds=BoundedSlope(),
        surface_energy=SurfaceFlux(factor=2.0),
        penetration=Penetration(fraction=0.1, time_step=3600.0, depth=5.0),
        langmuir_cells=None,
    )
    waves = RANDOM.uniform(-1e-5, 1e-4, N - 1)
    k = tke_by_dense_solve(
        alpha=1.0,
        weight=1.5,
        c_eps=0.5,
        background=1.2e-4,
        production=NU[1:-1] * waves,
        surface={"flux": 2.0 * USTAR**3},
        floor=1e-6,
        bottom=3.75 * 0.02**2,
    )
    k = k[:-1] + 0.1 * DT / 3600.0 * k[-1] * np.exp(Z[1:-1] / 5.0)
    up, down = two_sweeps(parcel_length(k, 0.01), 0.4 * 2e5 * USTAR**2 / 9.81, 0.01)
    length = np.minimum(up, down)
    flow = BottomFlow(jnp.asarray(0.02), jnp.asarray(0.001))
    with_waves = dataclasses.replace(inputs(), waves=surface_waves(GRID, shear=waves), bottom=flow)
    state = step(closure, OLD, with_waves, DT)
    nu = np.minimum(0.1 * length * np.sqrt(k), 3e-2)
    np.testing.assert_allclose(np.asarray(state.turbulent_kinetic_energy)[1:-1], k, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(state.eddy_viscosity)[1:-1], np.maximum(nu, 1.2e-4), rtol=1e-9)
    kappa = np.where(N_SQUARED < 0.0, 5.0, np.maximum(0.5 * nu, 1.2e-5))
    np.testing.assert_allclose(np.asarray(state.eddy_diffusivity)[1:-1], kappa, rtol=1e-9)

    # Where velocities contain the drift, nu S² is all that shear and waves produce.
    contained = dataclasses.replace(surface_waves(GRID, shear=waves), in_velocity=True)
    with_drift, without = (
        step(closure, OLD, dataclasses.replace(with_waves, waves=each), DT) for each in (contained, None)
    )
    assert eqx.tree_equal(with_drift, without)


@pytest.mark.long
def test_logarithmic_layer(c_k=0.2, c_eps=0.4):
    """Shear u* / (kappa d) keeps k in equilibrium, and nu = kappa u* (d + z_0)."""
    roughness, von_karman = 0.1, 0.4
    closure = TKE(
        c_k=c_k,
        c_eps=c_eps,
        alpha_tke=0.0,  # k would diffuse to the bottom
        length_bounds=BoundedSlope(),
        charnock_constant=0.0,
        surface_length_floor=roughness,
        surface_energy=SurfaceValue(factor=1.0 / np.sqrt(c_k * c_eps)),
        langmuir_cells=None,
        penetration=None,
        imposed_von_karman=von_karman,
    )
    distance = roughness - Z[1:-1]
    shear = USTAR / (von_karman * distance)
    column = dataclasses.replace(
        inputs(), buoyancy_frequency_squared=jnp.zeros(N - 1), shear_squared=jnp.asarray(shear**2)
    )
    state = jax.lax.fori_loop(0, 2000, lambda _, state: closure.step(state, column, DT), closure.init(column))
    upper = distance < 0.4 * distance.max()  # nearer to the surface than to the bottom
    nu = np.asarray(state.eddy_viscosity)[1:-1]
    np.testing.assert_allclose(nu[upper], (von_karman * USTAR * distance)[upper], rtol=1e-3)


def test_lagrangian_stress():
    """Currents mixed down U + U_S, whose shear produces k, give what Lagrangian velocities give."""
    drift = RANDOM.uniform(0.0, 1e-2, N - 1)
    shear = RANDOM.uniform(-1e-2, 1e-2, N - 1)
    closure = TKE(langmuir_cells=None, lagrangian_stress=True)
    given = surface_waves(GRID, shear=drift * shear)
    given = dataclasses.replace(given, shear_squared=jnp.asarray(drift**2))
    in_currents = dataclasses.replace(inputs(shear_squared=shear**2), waves=given)
    contained = dataclasses.replace(given, in_velocity=True)
    in_sum = dataclasses.replace(inputs(shear_squared=(shear + drift) ** 2), waves=contained)
    currents, both = step(closure, OLD, in_currents, DT), step(closure, OLD, in_sum, DT)
    np.testing.assert_allclose(currents.turbulent_kinetic_energy, both.turbulent_kinetic_energy, rtol=1e-12)
    assert eqx.tree_equal(currents.stokes_viscosity, currents.eddy_viscosity)
    assert both.stokes_viscosity is None


def test_bounds_of_the_length():
    """A length that no stratification limits is the distance to the ends; a spike stays within its cone."""
    long = jnp.full(N - 1, 1e3)
    ends = (jnp.asarray(0.5), jnp.asarray(0.1), GRID)
    both = np.minimum(-Z[1:-1] + 0.5, Z[1:-1] - Z[0] + 0.1)
    mixing, dissipating = lengths(UpAndDown(), long, *ends)
    np.testing.assert_allclose(mixing, both, rtol=1e-12)
    np.testing.assert_allclose(dissipating**2, (-Z[1:-1] + 0.5) * (Z[1:-1] - Z[0] + 0.1), rtol=1e-12)
    np.testing.assert_allclose(lengths(BoundedSlope(), long, *ends)[0], both, rtol=1e-12)
    np.testing.assert_allclose(
        lengths(WithinColumn(), long, *ends)[0], np.minimum(-Z[1:-1], Z[1:-1] - Z[0]), rtol=1e-12
    )
    np.testing.assert_allclose(lengths(WithinSpacing(), long, *ends)[1], DZ, rtol=1e-12)
    short = long.at[4].set(0.2)
    cone = 0.2 + np.abs(Z[1:-1] - Z[5])
    np.testing.assert_allclose(lengths(BoundedSlope(), short, *ends)[0], np.minimum(both, cone), rtol=1e-12)


def test_running_minima():
    values = jnp.asarray(RANDOM.uniform(size=(13, 2)))
    np.testing.assert_array_equal(jax.jit(smallest_downward)(values), np.minimum.accumulate(values))
    np.testing.assert_array_equal(jax.jit(smallest_upward)(values), np.minimum.accumulate(values[::-1])[::-1])
    # The gradient goes to the levels whose value is taken.
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(smallest_upward(x))))(values)
    taken = np.asarray(jax.jit(smallest_upward)(values))
    often = [[np.sum(taken[:, j] == x) for j, x in enumerate(row)] for row in np.asarray(values)]
    np.testing.assert_array_equal(gradient, often)
    assert float(jnp.sum(gradient)) == values.size


def test_langmuir_cells_without_wind_or_stratification():
    closure = LangmuirCells()
    still = closure_inputs(GRID, N_SQUARED, S_SQUARED)
    np.testing.assert_array_equal(closure.production(still), 0.0)
    # Nothing stops the cells: they reach the bottom.
    mixed = closure_inputs(GRID, 0.0, S_SQUARED, friction_velocity=USTAR)
    drift, depth = 0.016 * np.sqrt(1026.0 / (1.22 * 1.5e-3)) * USTAR, -Z[0]
    expected = (0.15 * drift * np.sin(np.pi * -Z[1:-1] / depth)) ** 3 / depth
    np.testing.assert_allclose(closure.production(mixed), expected, rtol=1e-7)
