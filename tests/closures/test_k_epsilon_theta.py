"""k-epsilon-theta: its functions as published, one step term by term, and what it does under cooling."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures import columns
from tests.closures.turbulence_numpy import SecondMoments
from tests.errors import error_naming
from tunax_lite import Grid, Model, simulate
from tunax_lite.closures import ConstantStability, KEpsilonTheta, MassFluxConvection, SecondMomentClosure
from tunax_lite.closures.k_epsilon_theta import VarianceFunctions
from tunax_lite.closures.stability import Flow
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.terms.turbulence import CounterGradientHeat, Plumes

step = eqx.filter_jit(lambda closure, *arguments: closure.prepare().step(*arguments))

# Constants of Legay et al. (2025), in their notation.
C1, C2, C3, C4, C5 = 2.5, 0.984, 0.5, 0.512, 0.416
C1T, C2T, C3T, C4T, CT = 5.95, 0.6, 0.3333, 0.4, 1.44


def published(alpha_n, alpha_m, alpha_theta):
    """c_mu, c_mu' and c_mu* as the source writes them."""
    strain = 3.0 * C5**2 + 6.0 * C5 * (1.0 - C2) + 2.0 * (1.0 - C2) ** 2
    turned = 2.0 - 2.0 * C2T - C4T
    weight = 4.0 - 4.0 * C2 + 3.0 * C4
    d3 = 3.0 * C1 * C4T * (1.0 - C2 + C5) + C5 * C1T * (2.0 - 2.0 * C2 + C5)
    d3 -= C1 * (1.0 - C2T) * (2.0 - 2.0 * C2 + 3.0 * C5)
    denominator = 1.0 + 7.0 * (1.0 - C3) / (3.0 * C1 * C1T) * alpha_n
    denominator += (strain / (3.0 * C1**2) - C4T * turned / (4.0 * C1T**2)) * alpha_m
    denominator += (1.0 - C3) * d3 / (3.0 * C1**3 * C1T**2) * alpha_n * alpha_m
    denominator += 4.0 * (1.0 - C3) ** 2 / (3.0 * C1**2 * C1T**2) * alpha_n**2
    denominator -= C4T * turned * strain / (12.0 * C1**2 * C1T**2) * alpha_m**2
    c_mu = weight / (6.0 * C1)
    c_mu += (1.0 - C3) * (2.0 * C1T * (C4 - C5) - C1 * turned) / (3.0 * C1**2 * C1T**2) * alpha_n
    c_mu -= C4T * weight * turned / (24.0 * C1 * C1T**2) * alpha_m
    by_variance = 2.0 * C1T * (4.0 - 4.0 * C2 + 3.0 * C5) + 3.0 * C1 * turned
    c_mu += (1.0 - C3) * (1.0 - C3T) * by_variance / (6.0 * C1**2 * C1T**2) * alpha_theta
    prime = (
        C1 * C4T * weight + 8.0 * C5 * C1T * (1.0 - C2 + C5) - 2.0 * C4 * C1T * (2.0 - 2.0 * C2 + 3.0 * C5)
    )
    c_mu_prime = 2.0 / (3.0 * C1T) + 2.0 * (1.0 - C3) / (3.0 * C1 * C1T**2) * alpha_n
    c_mu_prime += prime / (12.0 * C1**2 * C1T**2) * alpha_m
    c_mu_star = (
        (1.0 - C3T) / C1T * (1.0 + (1.0 - C3) / (C1 * C1T) * alpha_n + strain / (3.0 * C1**2) * alpha_m)
    )
    return tuple(np.clip(c / denominator, 0.0, 2.0) for c in (c_mu, c_mu_prime, c_mu_star))


def functions():
    return VarianceFunctions.of(SecondMomentClosure(cc6=0.5, equilibrium="weak", instability_limit=0.73))


def test_functions_are_those_of_the_source():
    alpha_n, alpha_m = np.array([-2.3, 0.0, 0.7, 30.0]), np.array([0.5, 0.0, 4.0, 40.0])
    alpha_theta = np.array([3.0, 0.0, 0.2, 9.0])
    # k/eps = 2 s; the numbers lie inside of the limits of the closure.
    flow = Flow(*map(jnp.asarray, (0.25 + 0.0 * alpha_n, alpha_n / 4.0, alpha_m / 4.0)))
    found = functions().in_flow(flow, jnp.asarray(alpha_theta / 4.0))
    for ours, theirs in zip(found, published(alpha_n, alpha_m, alpha_theta), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


WITHOUT = SecondMoments("canuto_a", equilibrium="weak", cc6=0.5)
# The limits of the closure are those of functions into which the variance does not enter.
LIMITS = SecondMoments("canuto_a", equilibrium="weak", cc6=0.5, ctt=0.0, instability_limit=0.73)


GRID = columns.random_grid(81, 9)
G_ALPHA = 9.81 * 2e-4  # of LinearEquationOfState()


def random_step(seed):
    """State and inputs with stable and unstable faces, and fluxes up and down the gradient."""
    rng, inputs = np.random.default_rng(seed), columns.random_inputs(GRID, seed)
    variance, flux = jnp.asarray(10.0 ** rng.uniform(-7, -4, (2, GRID.n_cells + 1)))
    state = dataclasses.replace(
        columns.random_turbulence(GRID, seed),
        temperature_variance=variance,
        variance_driven_flux=flux.at[jnp.array([0, -1])].set(0.0),
    )
    temperature = jnp.asarray(10.0 + np.cumsum(rng.normal(0.0, 0.02, GRID.n_cells)))
    return state, eqx.tree_at(lambda i: i.state.temperature, inputs, temperature)


def patankar(production, sink, old):
    """Source, and rate of the sink, of a quantity that a negative production may not empty."""
    return np.maximum(production, 0.0), sink + np.maximum(-production, 0.0) / old


FIELDS = ("turbulent_kinetic_energy", "dissipation_rate", "temperature_variance")
FIELDS += ("eddy_viscosity", "eddy_diffusivity", "variance_driven_flux")


def reference_step(state, inputs, dt):
    """`FIELDS` on inner faces from the equations of the source."""
    k, eps, theta, nu, kappa, gamma = (np.asarray(getattr(state, name))[1:-1] for name in FIELDS)
    n2, s2 = np.asarray(inputs.buoyancy_frequency_squared), np.asarray(inputs.shear_squared)
    slope = np.diff(np.asarray(inputs.state.temperature)) / np.asarray(GRID.center_spacing)
    h = np.asarray(GRID.cell_thickness)
    p, b = nu * s2, -kappa * n2 + G_ALPHA * gamma
    # A negative sum leaves the production explicit; only the buoyancy term joins the sink.
    source, sink = np.where(p + b > 0.0, p + b, p), np.where(p + b > 0.0, eps, eps - b) / k
    new_k = np.maximum(columns.backward_euler(GRID, k, source, sink, nu, dt), 1e-6)
    both = 1.44 * p + np.where(b > 0.0, 1.0, -0.65) * b
    assert np.all(both > 0.0)  # c_3 b is positive for either sign
    cm0 = WITHOUT.c_mu_0
    roughness = np.array([0.0015, max(1400.0 * 0.01**2 / 9.81, 0.01)])
    fluxes = cm0**4 * new_k[[0, -1]] ** 2 / (1.2 * (0.5 * h[[0, -1]] + roughness))
    ends = [("flux", flux) for flux in fluxes]
    new_eps = columns.backward_euler(GRID, eps, eps / k * both, 1.92 * eps / k, nu / 1.2, dt, ends)
    lowest = cm0**3 * new_k * np.sqrt(np.maximum(n2, 0.0)) / (np.sqrt(2.0) * 0.53)
    new_eps = np.maximum(new_eps, np.maximum(lowest, 1e-12))
    down = -kappa * slope + gamma
    source, sink = patankar(-2.0 * down * slope, 2.0 / CT * eps / k, theta)
    new_theta = columns.backward_euler(GRID, theta, source, sink, nu, dt)
    square = (k / eps) ** 2
    alpha_n, alpha_m = LIMITS.limited(square * n2, square * s2)
    c_mu, c_mu_prime, c_mu_star = published(alpha_n, alpha_m, square * G_ALPHA**2 * theta / k)
    scale = new_k**2 / new_eps
    new_gamma = c_mu_star * scale / new_k * G_ALPHA * new_theta
    return new_k, new_eps, new_theta, c_mu * scale, c_mu_prime * scale, new_gamma


@pytest.mark.parametrize("seed", range(2))
def test_step_equals_the_equations_term_by_term(seed):
    state, inputs = random_step(seed)
    new = step(KEpsilonTheta(), state, inputs, 60.0)
    expected = reference_step(state, inputs, 60.0)
    for name, theirs in zip(FIELDS, expected, strict=True):
        np.testing.assert_allclose(getattr(new, name)[1:-1], theirs, rtol=1e-9, err_msg=name)
    assert new.variance_driven_flux[0] == new.variance_driven_flux[-1] == 0.0


def test_plumes_on_it_pass_its_flux_on():
    inputs = random_step(0)[1]
    state = MassFluxConvection(local=KEpsilonTheta()).prepare().init(inputs)
    against, plumes = state.terms(inputs.state)
    assert isinstance(against, CounterGradientHeat) and np.all(against.upward == 0.0)
    assert isinstance(plumes, Plumes)


def test_other_stability_functions_are_refused():
    for other in (SecondMomentClosure(), SecondMomentClosure.of("canuto_b"), ConstantStability()):
        with error_naming(ValueError, "equilibrium weak"):
            KEpsilonTheta(stability=other)


@pytest.mark.long
def test_under_cooling_heat_goes_up_against_the_gradient():
    """The lower part of the layer is stable, and its production that of the flux."""
    flux = 200.0 / (1027.0 * 3991.86796)  # K m s-1
    case = columns.stratified(Grid.uniform(100.0, 50), 0.01, {"duration": 3.0 * 86400.0}, heat_flux=-200.0)
    run = simulate(Model(KEpsilonTheta()), case, dt=600.0, output_interval=case.duration)
    slope = np.diff(np.asarray(run.state.temperature)[1]) / 2.0
    turbulence = jax.tree.map(lambda leaf: np.asarray(leaf)[1, 1:-1], run.clo_state)
    upward = turbulence.variance_driven_flux - turbulence.eddy_diffusivity * slope
    z = np.asarray(case.grid.z_face)[1:-1]
    against = (z > 0.8 * z[np.argmax(slope)]) & (slope > 0.0)
    assert np.sum(against) > 5 and np.all(upward[against] > 0.05 * flux)
    found = diagnose(run, case, ["buoyancy_production"])["buoyancy_production"]
    np.testing.assert_allclose(found[1, 1:-1], G_ALPHA * upward, rtol=1e-9, atol=1e-16)
