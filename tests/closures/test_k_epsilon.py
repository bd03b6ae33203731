"""k-epsilon: turbulence without transport against exact solutions, and limits of a step.

Its step with dense matrices is in `test_two_equation`.
"""

from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.closures.columns import (
    FREE,
    beyond,
    closure_inputs,
    random_grid,
    random_turbulence,
    run_box,
    uniform_turbulence,
)
from tests.closures.turbulence_numpy import SecondMoments
from tunax_lite import KEpsilon
from tunax_lite.numerics import AbstractTridiagonalMethod, ThomasScan

BOX = beyond(KEpsilon(), **FREE)
A = SecondMoments("canuto_a")

step = eqx.filter_jit(lambda closure, *arguments: closure.prepare().step(*arguments))


@pytest.mark.long
def test_homogeneous_decay_follows_its_power_law():
    tke, dissipation, c_2 = 1e-2, 1e-4, 1.92
    turnover = tke / dissipation
    # k = k_0 (1 + (c_2 - 1) t / turnover)^(-1 / (c_2 - 1)) after 20 turnover times.
    exact = tke * (1.0 + 0.92 * 20.0) ** (-1.0 / 0.92)
    errors, decay_exponents = [], []
    for n_steps in (200, 400, 800):
        dt = 20.0 * turnover / n_steps
        k, eps = run_box(BOX, (tke, dissipation), 0.0, 0.0, dt, n_steps)
        errors.append(k[-1] / exact - 1.0)
        decay_exponents.append(np.log(eps[-1] / dissipation) / np.log(k[-1] / tke))
    # Of first order in time: it halves with the step.
    assert abs(errors[0]) < 0.08
    np.testing.assert_allclose(2.0 * errors[2] - errors[1], 0.0, atol=1e-3)
    # Both decay together, eps ~ k^c_2; extrapolated to a time step of zero.
    np.testing.assert_allclose(2.0 * decay_exponents[2] - decay_exponents[1], c_2, rtol=1e-3)


def stationary_growth_rate(ri):
    """Growth rate of k over S and alpha_N where k / eps no longer changes, by bisection."""
    c_3 = 1.92 + (1.44 - 1.92) / 0.25 * A.equilibrium_ratio(0.25)

    def rates(alpha_n):
        c_mu, c_mu_prime = (c[0] for c in A.in_flow(np.array([alpha_n]), np.array([alpha_n / ri])))
        production, buoyancy = c_mu * alpha_n / ri, -c_mu_prime * alpha_n
        return production + buoyancy - 1.0, 1.44 * production + c_3 * buoyancy - 1.92

    low, high = 1e-3, 50.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        of_tke, of_dissipation = rates(middle)
        # A large k / eps makes epsilon catch up.
        low, high = (low, middle) if of_dissipation > of_tke else (middle, high)
    return rates(low)[0] / np.sqrt(low / ri), low


@cache
def simulated_growth_rate(ri):
    """The same from the last of many steps, extrapolated to a time step of zero, and alpha_N there."""
    shear, tke = 1e-2, 1e-4
    rates = []
    for scaled_dt in (0.04, 0.02):
        start = (tke, 0.2 * tke * shear, 1e-3)
        n_steps = int(400.0 / scaled_dt)
        dt = scaled_dt / shear
        k, eps = run_box(BOX, start, ri * shear**2, shear**2, dt, n_steps)
        rates.append(np.log(k[-1] / k[-2]) / scaled_dt)
    return 2.0 * rates[1] - rates[0], float((k[-1] / eps[-1]) ** 2 * ri * shear**2)


@pytest.mark.parametrize("ri", [0.24, 0.26])
def test_sheared_stratified_turbulence_grows_or_decays_at_its_stationary_rate(ri):
    rate, alpha_n = simulated_growth_rate(ri)
    expected, expected_alpha_n = stationary_growth_rate(ri)
    # First-order errors of the time step are extrapolated away; 1e-5 is left of the second.
    np.testing.assert_allclose(rate, expected, atol=1e-5)
    np.testing.assert_allclose(alpha_n, expected_alpha_n, rtol=0.02)
    assert (rate > 0.0) == (ri < 0.25)


def test_turbulence_is_steady_at_the_steady_state_richardson_number():
    rate, alpha_n = simulated_growth_rate(0.25)
    assert abs(rate) < 1e-9
    np.testing.assert_allclose(alpha_n, 6.7329, rtol=2e-5)


GRID = random_grid(80, 9)


def random_state(seed):
    return random_turbulence(GRID, seed)


def random_inputs(seed):
    """Stable and unstable faces, with and without net production."""
    rng = np.random.default_rng(seed)
    n_squared = rng.choice([-1.0, 1.0], GRID.n_cells - 1) * 10.0 ** rng.uniform(-7, -3, GRID.n_cells - 1)
    s_squared = 10.0 ** rng.uniform(-8, -3, GRID.n_cells - 1)
    return closure_inputs(GRID, n_squared, s_squared, friction_velocity=0.01)


def test_what_followed_from_old_parameters_cannot_outlive_them():
    stepper = KEpsilon().prepare()
    # What a run steps with has none of the parameters that could be changed without what follows from them.
    assert not hasattr(stepper, "c_eps_2") and not hasattr(KEpsilon(), "step")
    changed = eqx.tree_at(lambda c: c.c_eps_2, KEpsilon(), jnp.asarray(1.8))
    assert eqx.tree_equal(changed.prepare(), KEpsilon(c_eps_2=1.8).prepare())
    assert changed.von_karman < KEpsilon().von_karman


def test_length_is_limited_in_stable_water_only():
    closure = KEpsilon()
    state, inputs = random_state(6), random_inputs(6)
    new = step(closure, state, inputs, 60.0)
    k, eps = new.turbulent_kinetic_energy[1:-1], new.dissipation_rate[1:-1]
    length = np.asarray(A.c_mu_0**3 * k**1.5 / eps)
    n_squared = np.asarray(inputs.buoyancy_frequency_squared)
    stable = n_squared > 0.0
    limit = 0.27 * np.sqrt(2.0 * np.asarray(k)[stable] / n_squared[stable])
    assert np.all(length[stable] <= limit * (1.0 + 1e-12))
    assert np.any(length[stable] > 0.999 * limit)
    free = step(beyond(KEpsilon(), length_limit=1e30), state, inputs, 60.0).dissipation_rate[1:-1]
    np.testing.assert_array_equal(np.asarray(free)[~stable], np.asarray(eps)[~stable])


def test_start_and_walls():
    closure = KEpsilon()
    inputs = random_inputs(7)
    start = closure.prepare().init(inputs)
    assert {float(x) for x in start.eddy_viscosity} == {1e-6}
    assert {float(x) for x in start.turbulent_kinetic_energy} == {1e-10}
    assert {float(x) for x in start.dissipation_rate} == {1e-12}
    new = step(closure, start, inputs, 60.0)
    tke = (0.01 / A.c_mu_0) ** 2
    np.testing.assert_allclose(new.turbulent_kinetic_energy[-1], tke, rtol=1e-12)
    # eps = u*³ / (kappa 2 z_0) in the logarithmic layer.
    expected = 0.01**3 / (A.c_mu_0 * np.sqrt(1.3 * 0.48) * 2.0 * 0.02)
    np.testing.assert_allclose(new.dissipation_rate[-1], expected, rtol=1e-12)
    assert new.turbulent_kinetic_energy[0] == 1e-10
    for coefficient in (new.eddy_viscosity, new.eddy_diffusivity):
        assert coefficient[0] == 0.0 and coefficient[-1] == 0.0


def test_the_method_of_the_model_solves_the_systems_of_the_closure_too():
    systems = []

    class Counted(AbstractTridiagonalMethod):
        def __call__(self, matrices, rhs, sinking=None):
            systems.append(len(matrices))
            return ThomasScan()(matrices, rhs, sinking)

    grid = tl.Grid.uniform(50.0, 10)
    case = tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.01 * z),
        tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1)),
        coriolis_parameter=1e-4,
        duration=600.0,
    )
    tl.simulate(tl.Model(KEpsilon(), tridiagonal_method=Counted()), case)
    # Momentum with tracers, k, epsilon.
    assert systems == [2, 1, 1]


def test_constants_of_oceananigans():
    """Its table of stability functions, and its limit of the length, l <= 0.75 sqrt(k) / N."""
    closure = KEpsilon.as_in_oceananigans()
    functions = closure.stability.stability_functions()
    printed = {
        "n": (0.1067, 0.0173, -0.0001205),
        "b": (0.1120, 0.003766, 0.0008871),
        "d": (1.0, 0.2398, 0.02872, 0.005154, 0.006930, -0.00003372),  # d5 is ten times that in the table
    }
    for letter, values in printed.items():
        for i, value in enumerate(values):
            if (letter, i) != ("d", 0):
                # The least exact of the printed numbers has three digits.
                np.testing.assert_allclose(getattr(functions, f"{letter}{i}"), value, rtol=3e-3)
    n_squared, tke = 1e-4, 1e-5
    start, inputs = uniform_turbulence(GRID, tke, 1e-11), closure_inputs(GRID, n_squared, 0.0)
    state = step(closure, start, inputs, 1.0)
    expected = A.c_mu_0**3 * np.asarray(state.turbulent_kinetic_energy)[1:-1] * 1e-2 / 0.75
    np.testing.assert_allclose(state.dissipation_rate[1:-1], expected, rtol=1e-12)
    assert closure.c_eps_3_stable == closure.c_eps_3_plus == -0.65
    assert KEpsilon.as_in_oceananigans(c_eps_1=1.5).c_eps_1 == 1.5
