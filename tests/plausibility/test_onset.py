"""Convection that waits for turbulence to grow from the floors of a closure."""

import dataclasses
import math

import numpy as np
import pytest

import tunax_lite as tl
from tunax_lite.closures import ConvectiveAdjustment, KEpsilon, MellorYamada
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.closures.second_moment import StabilityFunctions
from tunax_lite.plausibility.onset import delay_of_convection

HOUR = 3600.0


def _case(thickness=2.0, heat_flux=-200.0, stress=0.0, hours=18.0):
    grid = tl.Grid.uniform(16.0 * thickness, 16)
    return tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=20.0, salinity=0.0),
        tl.ConstantForcing(tl.SurfaceFluxes(stress_u=stress, heat_flux=heat_flux)),
        equation_of_state=tl.LinearEquationOfState(thermal_expansion=2e-4),
        coriolis_parameter=1e-4,
        duration=hours * HOUR,
    )


def _seen(model, case):
    """When k is well above its floor [s]."""
    run = tl.simulate(model, case, dt=120.0, output_interval=600.0)
    assert isinstance(run.clo_state, TurbulenceState)
    tke = np.asarray(run.clo_state.turbulent_kinetic_energy)[:, 1:-1].max(axis=1)
    above = np.flatnonzero(tke > 1e-6)
    return float(run.time[above[0]]) if above.size else math.inf


@pytest.mark.long
def test_the_delay_is_that_of_runs():
    ignites, model = _case(), tl.Model(KEpsilon())
    delay = delay_of_convection(model, ignites, ignites.duration)
    seen = _seen(model, ignites)
    assert delay is not None and 4.0 * HOUR < delay < 16.0 * HOUR
    np.testing.assert_allclose(delay, seen, rtol=0.15)
    conducting = dataclasses.replace(ignites, background_diffusivity=1e-3, background_viscosity=1e-3)
    assert delay_of_convection(model, conducting, conducting.duration) == _seen(model, conducting) == math.inf


def test_the_delay_goes_with_the_square_of_the_cells():
    """N² = -1 / (c_mu' T²) at B t / dz², with c_mu' of the most unstable water that the functions see."""
    model = tl.Model(KEpsilon())
    fine, coarse = (delay_of_convection(model, _case(dz, hours=200.0), 200.0 * HOUR) for dz in (0.5, 1.0))
    assert fine is not None and coarse is not None
    np.testing.assert_allclose(coarse / fine, 4.0, rtol=0.1)
    constants = tl.LinearEquationOfState(thermal_expansion=2e-4)
    heat = 200.0 / float(constants.reference_density * constants.heat_capacity)
    functions = KEpsilon().stability.stability_functions()
    assert isinstance(functions, StabilityFunctions)
    c_mu_prime = float(functions.quasi_equilibrium(functions.lowest_alpha_n[None])[1][0])
    expected = 1.0 / (c_mu_prime * 1e4) / (float(constants.gravity) * 2e-4 * heat)
    np.testing.assert_allclose(coarse, expected, rtol=0.1)


def test_convection_without_a_delay():
    for closure, changes, has_onset in (
        (KEpsilon.recommended(), {}, False),
        (ConvectiveAdjustment(), {}, False),
        (KEpsilon(), {"heat_flux": 100.0}, False),
        (KEpsilon(), {"stress": 0.3}, True),
        (KEpsilon(turbulent_kinetic_energy_floor=1e-8), {}, True),
    ):
        case = _case(**changes)
        delay = delay_of_convection(tl.Model(closure), case, case.duration)
        assert delay is not None and delay < HOUR if has_onset else delay is None


def test_rotation_limits_the_shear_of_a_weak_wind():
    case = _case(5.0, stress=0.01, heat_flux=-20.0)
    assert delay_of_convection(tl.Model(KEpsilon()), case, case.duration) == math.inf


def test_mellor_and_yamada_wait_with_the_flux_too():
    case = _case(hours=200.0)
    models = [tl.Model(MellorYamada(convective_flux_factor=factor)) for factor in (None, 1.0)]
    first, second = (delay_of_convection(model, case, case.duration) for model in models)
    assert first is not None and first == second and first > 3.0 * HOUR
