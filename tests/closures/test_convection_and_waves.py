"""k-epsilon beyond GOTM: convection that starts by itself, interfaces in thick cells, and waves."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, random_grid, stratified
from tests.helpers import some_long
from tunax_lite import Case, ConstantForcing, Grid, KEpsilon, Model, State, SurfaceFluxes, simulate
from tunax_lite.closures import GenericLengthScale, KEpsilonTheta, KOmega
from tunax_lite.closures.energy import EnergyStepper, TurbulenceState
from tunax_lite.column.terms import DriftVector, Interior, StokesDrift
from tunax_lite.column.time_series import TimeSeries

ROTATING: dict[str, Any] = {"coriolis_parameter": 1e-4}


def cooled(closure, floors=(1e-10, 1e-12)) -> np.ndarray:
    """Temperature after twelve hours of cooling without wind."""
    options = dict(zip(("turbulent_kinetic_energy_floor", "dissipation_rate_floor"), floors, strict=True))
    # A background, as some large-eddy simulations have: it keeps the gradient too weak for GOTM's floors.
    model = Model(closure(**options), molecular_viscosity=1e-4, molecular_diffusivity=1e-4)
    case = stratified(Grid.uniform(50.0, 25), 0.01, heat_flux=-75.0)
    return np.asarray(simulate(model, case, duration=43200.0, output_interval=43200.0).state.temperature[-1])


@pytest.mark.long
def test_convection_starts_whatever_the_floors():
    flux = jnp.asarray(1.0)
    found = [
        cooled(lambda **options: KEpsilon(convective_flux_factor=flux, **options), floors)
        for floors in ((1e-10, 1e-12), (1e-14, 1e-12), (1e-8, 1e-16), (1e-14, 1e-10))
    ]
    # The mixed layer is there, and its temperature the same to a mK; it has cooled by some 0.1 K.
    for other in found:
        np.testing.assert_allclose(other, found[0], atol=1e-3)
    assert np.ptp(found[0][-4:]) < 2e-2
    # With GOTM's conditions it depends on them.
    assert cooled(KEpsilon, (1e-14, 1e-12))[-1] < found[0][-1] - 0.1


@pytest.mark.long
@pytest.mark.parametrize("kind", [GenericLengthScale, KEpsilon, KOmega, KEpsilonTheta])
def test_recommended_constants_have_the_logarithmic_layer(kind):
    """du/dln(z + z_0) = u* / kappa, kappa = 0.4 +- 0.01, where the stress is that of the surface."""
    closure, grid = kind.recommended(), Grid.stretched(50.0, 100, surface_zoom=4.0)
    case = stratified(grid, 0.0, stress_u=1027.0 * 0.01**2)
    run = simulate(Model(closure), case, duration=86400.0, output_interval=86400.0)
    distance = -np.asarray(grid.z_center) + float(closure.surface_roughness_length)
    layer = (distance > 0.1) & (distance < 0.3)
    assert layer.sum() >= 4
    slope = np.polyfit(np.log(distance[layer]), np.asarray(run.state.u[-1])[layer], 1)[0]
    np.testing.assert_allclose(-0.01 / slope, 0.4, atol=0.01)


@pytest.mark.long
def test_momentum_down_the_lagrangian_gradient_is_the_same_in_both_frames():
    """Velocities with and without the drift tell one story where their fluxes and forces are the same."""
    grid = Grid.uniform(40.0, 40)
    drift = StokesDrift(TimeSeries.constant(DriftVector(0.1, 0.02)), decay_depth=6.0)
    u_s, v_s = drift.at(grid, 0.0)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.1, heat_flux=-100.0))
    closure = KEpsilon(lagrangian_stress=True, c_eps_4=1.0, convective_flux_factor=1.0)
    runs = []
    for velocities, factor in (("eulerian", 0.0), ("lagrangian", 1.0)):
        warm = lambda z: 20.0 + 0.02 * z  # noqa: E731
        state = State.from_profiles(grid, temperature=warm, u=factor * u_s, v=factor * v_s)
        interior = Interior(stokes_drift=drift, velocities=velocities)
        case = Case(grid, state, forcing, **ROTATING, interior=interior)
        runs.append(simulate(Model(closure), case, duration=21600.0, output_interval=10800.0).state)
    eulerian, lagrangian = runs
    # The Coriolis force and implicit steps differ by the order of a step.
    np.testing.assert_allclose(eulerian.temperature, lagrangian.temperature, atol=2e-3)
    np.testing.assert_allclose(eulerian.u + u_s, lagrangian.u, atol=2e-3)
    np.testing.assert_allclose(eulerian.v + v_s, lagrangian.v, atol=2e-3)


@pytest.mark.long
def test_waves_over_weak_cooling_do_not_stop_turbulence():
    """Without a limit by the walls, the length passes a kilometre, and turbulence dies below cooled water."""
    grid = Grid.uniform(80.0, 64)
    state = State.from_profiles(grid, temperature=lambda z: 12.0 + 0.01 * jnp.minimum(z + 42.0, 0.0))
    drift = StokesDrift(TimeSeries.constant(DriftVector(0.3, 0.0)), decay_depth=2.0)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.09, heat_flux=-50.0))
    case = Case(grid, state, forcing, **ROTATING, interior=Interior(stokes_drift=drift))

    def found(closure):
        run = simulate(Model(closure), case, dt=60.0, duration=172800.0, output_interval=3600.0)
        assert isinstance(run.clo_state, TurbulenceState)
        warmer_below = run.state.temperature[:, -20] - run.state.temperature[:, -1]
        tke, dissipation = run.clo_state.turbulent_kinetic_energy, run.clo_state.dissipation_rate
        length = 0.146 * tke[:, 1:-1] ** 1.5 / dissipation[:, 1:-1]
        return float(warmer_below.max()), float(length.max())

    closure = GenericLengthScale.recommended()
    warmer_below, length = found(closure)
    assert warmer_below < 0.01 and length < 5.0 * 40.0
    warmer_below, length = found(dataclasses.replace(closure, wall_length_limit=None))
    assert warmer_below > 0.05 and length > 1000.0


@pytest.mark.parametrize("closure", some_long((KEpsilon, KEpsilonTheta), lambda kind: kind is KEpsilonTheta))
def test_all_of_a_step_sees_the_interface(closure):
    """A step is that of the closure without one, in the stratification that it sees.

    The Richardson number is that of the cells where they are thinner than the jump, and in convection.
    """
    given = np.linspace(1e-4, -1e-5, 11)
    inputs = closure_inputs(random_grid(3, 12), given, 1e-4)
    stepper, without = (closure(interface_thickness=c).prepare() for c in (jnp.asarray(0.3), None))
    energy = getattr(stepper, "energy", stepper)
    assert isinstance(energy, EnergyStepper)
    at_interface = energy.at_interface(inputs)
    z = np.asarray(inputs.grid.z_face)
    ratio = 0.3 * np.minimum(-z, z - z[0])[1:-1] / np.asarray(inputs.grid.center_spacing)
    assert (ratio < 1.0).any() and (ratio > 1.0).any()
    seen = np.where(given > 0.0, given * np.minimum(ratio, 1.0), given)
    np.testing.assert_allclose(at_interface.buoyancy_frequency_squared, seen, rtol=1e-14)
    start = stepper.init(inputs)
    found = stepper.step(start, inputs, 60.0)
    expected, coarse = (without.step(start, each, 60.0) for each in (at_interface, inputs))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert np.abs(found.dissipation_rate / coarse.dissipation_rate - 1.0).max() > 0.1
