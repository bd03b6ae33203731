"""Two-equation closures: a step of each against its published equations with dense matrices; wall laws.

All are equations for psi = c_mu0^p k^m l^n; that of Mellor and Yamada for q² l / 2 = k l.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures import columns
from tests.closures.turbulence_numpy import Constants, SecondMoments, constants, constants_of_mellor_yamada
from tests.errors import error_naming
from tests.helpers import get_leaf, some_long
from tunax_lite import Grid, LinearEquationOfState, Model, SecondMomentClosure, simulate
from tunax_lite.closures import (
    BottomFlow,
    Boundary,
    BreakingWaves,
    ConstantStability,
    Exponents,
    GenericLengthScale,
    KEpsilon,
    KOmega,
    MellorYamada,
)
from tunax_lite.column.terms import BottomFriction, Interior
from tunax_lite.numerics.tridiagonal import AbstractTridiagonalMethod, ThomasScan

GRID, DT, U_STAR, U_BOTTOM = columns.random_grid(80, 9), 60.0, 0.01, 0.004
WAVES = BreakingWaves()

step = eqx.filter_jit(lambda closure, *arguments: closure.prepare().step(*arguments))


def random_flow(seed):
    """Random turbulence, drag at the bottom, waves that move with the flow."""
    inputs, rng = columns.random_inputs(GRID, seed), np.random.default_rng(seed)
    waves = columns.surface_waves(GRID, shear=inputs.shear_squared * rng.uniform(0.0, 0.5, GRID.n_cells - 1))
    bottom = BottomFlow(jnp.asarray(U_BOTTOM), jnp.asarray(0.003))
    return columns.random_turbulence(GRID, seed), dataclasses.replace(inputs, bottom=bottom, waves=waves)


class Equation(NamedTuple):
    """Numbers of the equation for psi as published."""

    exponents: tuple[float, float, float]  # p, m, n
    constants: tuple[float, float, float, float]  # c_1, c_3 stable, c_3 unstable, c_4
    sink: Callable  # l -> c_2
    diffusivities: Callable  # (sqrt(k) l, nu) -> those of k and psi
    follows: Constants
    at_wall: float  # diffusivity of psi over sqrt(k) l in a logarithmic layer
    below_waves: tuple[float, float]  # diffusivities of k and psi over sqrt(k) l


EXPONENTS = {KEpsilon: (3.0, 1.5, -1.0), KOmega: (-1.0, 0.5, -1.0)}
NAMES = {KEpsilon: "eps", KOmega: "omega", GenericLengthScale: "psi"}
FACES = np.asarray(GRID.z_face)


def schmidt_numbers(functions, kappa, c_1, c_2):
    """Those of Burchard (2001): where turbulence is produced and dissipated, and below breaking waves."""
    m = np.sqrt(1.5) * functions.shear_free / kappa
    waves = (4.0 / 3.0 * m + 1.0) * (m + 1.0) * kappa**2 / (c_2 * functions.shear_free**2)
    return kappa**2 / (c_2 - c_1) / functions.c_mu_0**2, waves


def published(closure, functions) -> Equation:
    if isinstance(closure, MellorYamada):
        e_1, e_2, e_6, s_q, s_l = (float(getattr(closure, name)) for name in "e_1 e_2 e_6 s_q s_l".split())
        follows = constants_of_mellor_yamada(functions, e_1, e_2, s_q, s_l)
        up, down = -FACES[1:-1] + float(closure.surface_roughness_length), FACES[1:-1] + 40.0 + 0.003
        wall_length = follows.von_karman * up * down / (up + down)
        of_tke, of_length = np.sqrt(2.0) * s_q, np.sqrt(2.0) * s_l
        return Equation(
            exponents=(0.0, 1.0, 1.0),
            constants=(0.5 * e_1, 0.5 * follows.c_3, 0.5 * follows.c_3, 0.5 * e_6),
            sink=lambda length: 0.5 * (1.0 + e_2 * (length / wall_length) ** 2),
            diffusivities=lambda root_k_l, nu: (of_tke * root_k_l, of_length * root_k_l),
            follows=follows,
            at_wall=of_length,
            below_waves=(of_tke, of_length),
        )
    name = NAMES[type(closure)]
    c_1, c_2, c_3_plus, c_4 = (float(getattr(closure, f"c_{name}_{key}")) for key in "1 2 3_plus 4".split())
    sigma_k, sigma = float(closure.sigma_k), float(getattr(closure, f"sigma_{name}"))
    exponents = EXPONENTS.get(type(closure)) or tuple(closure.exponents)
    sigma_waves = sigma
    if isinstance(closure, KEpsilon) and closure.varying_schmidt_number:
        sigma, sigma_waves = schmidt_numbers(functions, 0.4, c_1, c_2)
    follows = constants(functions, exponents, c_1, c_2, sigma_k, sigma, sigma_waves=sigma_waves)
    given = getattr(closure, f"c_{name}_3_minus")
    return Equation(
        exponents=exponents,
        constants=(c_1, follows.c_3 if given is None else float(given), c_3_plus, c_4),
        sink=lambda length: c_2,
        diffusivities=lambda root_k_l, nu: (nu / sigma_k, nu / sigma),
        follows=follows,
        at_wall=functions.c_mu_0 / sigma,
        below_waves=(functions.shear_free / sigma_k, functions.shear_free / sigma_waves),
    )


def patankar(shear, buoyancy, consumed):
    grows = shear + buoyancy > 0.0
    return np.where(grows, shear + buoyancy, shear), np.where(grows, consumed, consumed - buoyancy)


def reference_step(closure, functions, state, inputs, dt):
    """k, epsilon, viscosity and diffusivity on inner faces."""
    cm0, h = functions.c_mu_0, np.asarray(GRID.cell_thickness)
    equation = published(closure, functions)
    (p, m, n), (kappa, _, alpha, slope) = equation.exponents, equation.follows
    n2, s2 = np.asarray(inputs.buoyancy_frequency_squared), np.asarray(inputs.shear_squared)
    nu, diffusivity = np.asarray(state.eddy_viscosity)[1:-1], np.asarray(state.eddy_diffusivity)[1:-1]
    k, eps = np.asarray(state.turbulent_kinetic_energy)[1:-1], np.asarray(state.dissipation_rate)[1:-1]
    shear, stokes, b = nu * s2, nu * np.asarray(inputs.waves.shear), -diffusivity * n2
    length = cm0**3 * k**1.5 / eps
    of_tke, of_value = equation.diffusivities(np.sqrt(k) * length, nu)
    if getattr(closure, "eddy_slope", None) is not None:
        # k is carried by the longest eddies from elsewhere, whose length falls by the slope on their way.
        reach = float(closure.eddy_slope) * np.abs(FACES[1:-1, None] - FACES[1:-1])
        longest = np.max(length - reach, axis=1)
        assert np.any(longest > 1.5 * length)
        of_tke = of_tke * (1.0 + cm0 * np.sqrt(k) * (longest - length) / nu)
    if isinstance(closure, KEpsilon) and closure.varying_schmidt_number:
        fraction = np.minimum((shear + b) / eps, 1.0)
        sigma, sigma_waves = schmidt_numbers(functions, 0.4, 1.44, 1.92)
        of_value = nu / (fraction * sigma + (1.0 - fraction) * sigma_waves)
    walls = (
        (closure.bottom, U_BOTTOM, 0.003, h[0]),
        (closure.surface, U_STAR, float(closure.surface_roughness_length), h[-1]),
    )

    def distance(kind, z_0, thickness):
        return (0.5 * thickness if kind == "flux" else thickness) + z_0

    def tke_below_waves(u_star, z_0):
        """K of k = K (z + z_0)^alpha for the energy that breaking waves lose."""
        return (-100.0 * u_star**3 / (equation.below_waves[0] * alpha * slope)) ** (2.0 / 3.0) / z_0**alpha

    def tke_end(boundary, u_star, z_0, thickness):
        kind, d = boundary.tke, distance(boundary.tke, z_0, thickness)
        if boundary.breaking_waves is None:
            return kind, 0.0 if kind == "flux" else u_star**2 / cm0**2
        c = tke_below_waves(u_star, z_0)
        flux = -equation.below_waves[0] * c**1.5 * alpha * slope * d ** (1.5 * alpha)
        return kind, flux if kind == "flux" else c * d**alpha

    def value_end(boundary, u_star, z_0, thickness, tke):
        """Psi, or its flux, for k = c d^a and l = r d."""
        kind, d = boundary.length_scale, distance(boundary.length_scale, z_0, thickness)
        c, r, a, over_length = tke, kappa, 0.0, equation.at_wall
        if boundary.breaking_waves is not None:
            c, r, a, over_length = tke_below_waves(u_star, z_0), slope, alpha, equation.below_waves[1]
        if kind == "value":
            return kind, cm0**p * c**m * r**n * d ** (m * a + n)
        of_depth = d ** ((m + 0.5) * a + n)
        return kind, -(m * a + n) * over_length * cm0**p * c ** (m + 0.5) * r ** (n + 1.0) * of_depth

    source, sink = patankar(shear + stokes, b, eps)
    ends = [tke_end(*wall) for wall in walls]
    new_k = columns.backward_euler(GRID, k, source, sink / k, of_tke, dt, ends)
    new_k = np.maximum(new_k, float(closure.turbulent_kinetic_energy_floor))

    c_1, c_3_stable, c_3_unstable, c_4 = equation.constants
    value = cm0**p * k**m * length**n
    buoyancy = np.where(b > 0.0, c_3_unstable, c_3_stable) * b
    source, sink = patankar(c_1 * shear + c_4 * stokes, buoyancy, equation.sink(length) * eps)
    ends = [value_end(*wall, tke) for wall, tke in zip(walls, (new_k[0], new_k[-1]), strict=True)]
    new_value = columns.backward_euler(GRID, value, value / k * source, sink / k, of_value, dt, ends)
    if isinstance(closure, MellorYamada):
        # What the flux has taken below zero has the shortest length, as in GOTM.
        shortest = cm0**3 * float(closure.turbulent_kinetic_energy_floor) ** 1.5
        new_value = np.maximum(new_value, new_k * shortest / float(closure.dissipation_rate_floor))
    new_eps = cm0**3 * new_k**1.5 / (new_value / (cm0**p * new_k**m)) ** (1.0 / n)
    if closure.length_limit is not None:
        limit = float(closure.length_limit)
        galperin = cm0**3 * new_k * np.sqrt(np.maximum(n2, 0.0)) / np.sqrt(2.0) / limit
        new_eps = np.maximum(new_eps, galperin)
    if closure.wall_length_limit is not None:
        longest = float(closure.wall_length_limit) * np.minimum(-FACES, FACES - FACES[0])[1:-1]
        new_eps = np.maximum(new_eps, cm0**3 * new_k**1.5 / longest)
    new_eps = np.maximum(new_eps, float(closure.dissipation_rate_floor))
    c_mu, c_mu_prime = functions.in_flow((k / eps) ** 2 * n2, (k / eps) ** 2 * s2)
    return new_k, new_eps, c_mu * new_k**2 / new_eps, c_mu_prime * new_k**2 / new_eps


WEAK = SecondMomentClosure(equilibrium="weak")
A, A_WEAK = SecondMoments("canuto_a"), SecondMoments("canuto_a", equilibrium="weak")
# Buoyancy may also consume epsilon, which it never does with the default constants.
OTHER_CONSTANTS = {"c_eps_1": 1.3, "c_eps_2": 1.8, "c_eps_3_minus": 0.5, "c_eps_3_plus": -0.4}
OTHER_CONSTANTS |= {"sigma_k": 0.8, "sigma_eps": 1.1, "length_limit": 0.5}
HALF_INTEGER = {"exponents": Exponents(2.0, 1.5, -0.5), "c_psi_1": 1.5, "c_psi_2": 1.7, "c_psi_4": 0.3}
OTHER_EXPONENTS = {"exponents": Exponents(3.0, 1.1, -1.07), "wall_length_limit": 0.35, "eddy_slope": 0.3}
# Kind, its options, functions of its second moments, and ends. Fluxes or values at both walls are those of
# `mixed`, one at each; other exponents change what `waves` holds.
VARIANTS = {
    "k-epsilon": (KEpsilon, {"c_eps_4": 0.7}, A, ["mixed", "waves"]),
    "k-epsilon, other constants": (KEpsilon, OTHER_CONSTANTS, A, ["fluxes"]),
    "k-omega": (KOmega, {"stability": WEAK}, A_WEAK, ["values", "values below waves"]),
    "generic, half-integer exponents": (GenericLengthScale, HALF_INTEGER, A, ["mixed"]),
    "generic, other exponents": (GenericLengthScale, OTHER_EXPONENTS, A, ["waves"]),
    "Mellor-Yamada": (MellorYamada, {}, SecondMoments("kantha_clayson"), ["mixed", "waves"]),
}
ROUGH = {"surface_roughness_length": 0.5}
ENDS: dict[str, dict[str, Any]] = {
    "fluxes": {},
    "values": {"surface": Boundary("value", "value"), "bottom": Boundary("value", "value")},
    "mixed": {"surface": Boundary("value", "flux"), "bottom": Boundary("flux", "value")},
    "waves": {"surface": Boundary(breaking_waves=WAVES), **ROUGH},
    "values below waves": {"surface": Boundary("value", "value", WAVES), "length_limit": None, **ROUGH},
}
OFTEN = {"k-epsilon, mixed", "k-omega, values below waves", "generic, other exponents, waves"}
OFTEN |= {"Mellor-Yamada, mixed"}
STEPS = [(name, end) for name, (*_, ends) in VARIANTS.items() for end in ends]


def check_steps(closure, functions):
    for seed in range(2):
        state, inputs = random_flow(seed)
        new = step(closure, state, inputs, DT)
        found = new.turbulent_kinetic_energy, new.dissipation_rate, new.eddy_viscosity, new.eddy_diffusivity
        expected = reference_step(closure, functions, state, inputs, DT)
        for ours, theirs, rtol in zip(found, expected, (1e-9, 1e-9, 1e-8, 1e-8), strict=True):
            np.testing.assert_allclose(ours[1:-1], theirs, rtol=rtol)


@pytest.mark.parametrize("of", some_long(STEPS, lambda of: ", ".join(of) not in OFTEN, ", ".join))
def test_step_equals_the_published_equations_with_dense_matrices(of):
    kind, options, functions, _ = VARIANTS[of[0]]
    check_steps(kind(**(options | ENDS[of[1]])), functions)


@pytest.mark.parametrize("ends", some_long(("mixed", "waves"), "mixed".__eq__))
def test_schmidt_number_under_breaking_waves(ends):
    closure = KEpsilon(varying_schmidt_number=True, imposed_von_karman=0.4, **ENDS[ends])
    check_steps(closure, A)
    # Published for Canuto's model A: sigma below waves.
    np.testing.assert_allclose(schmidt_numbers(A, 0.4, 1.44, 1.92)[1], 2.012, atol=5e-4)
    # It is made so that the length grows below waves as at a wall, and does so where c_mu is one number.
    constant = dataclasses.replace(closure, stability=ConstantStability(), **ENDS["waves"])
    waves = constant.prepare().waves
    assert waves is not None
    np.testing.assert_allclose(waves.length_slope, 0.4, rtol=1e-12)


# k [m2 s-2] on the two uppermost inner faces and u [m s-1] in the two uppermost cells after so many steps of
# 60 s: GOTM 84f8d8e9 on its own case entrainment_my, written in every step.
OF_GOTM = {
    1: ((7.089724509340e-09, 1.0e-10), (1.199338330282e-02, 6.613048790093e-06)),
    2: ((1.326183083200e-09, 1.0e-10), (2.398584881012e-02, 1.414312679582e-05)),
    3: ((1.573396763166e-09, 1.0e-10), (3.597455018105e-02, 2.543381731963e-05)),
    25: ((4.652300182214e-04, 9.532472624353e-06), (2.659944821654e-01, 3.376543146928e-02)),
    60: ((2.956522386567e-04, 2.705837787317e-04), (1.422578337873e-01, 1.121605278102e-01)),
}


@pytest.mark.long
def test_a_negative_q2l_is_the_shortest_length():
    """The flux from the wall takes q2l below zero on the second face already in the second step."""
    water = LinearEquationOfState(thermal_expansion=2e-4, gravity=9.81, reference_density=1027.0)
    bottom = Interior(bottom_friction=BottomFriction())  # its roughness length is part of the wall function
    options = {"equation_of_state": water, "interior": bottom, "duration": 3600.0}
    case = columns.stratified(Grid.uniform(50.0, 100), 1e-4 / (9.81 * 2e-4), options, stress_u=0.1027)
    functions = SecondMomentClosure.of("kantha_clayson", equilibrium="weak")
    run = simulate(Model(MellorYamada(stability=functions)), case, dt=60.0, output_interval=60.0)
    tke = run.clo_state.turbulent_kinetic_energy  # pyright: ignore[reportAttributeAccessIssue]
    for n, (expected_tke, expected_u) in OF_GOTM.items():
        # GOTM holds the constants of the second moments in single precision.
        tolerance = 1e-7 if n < 25 else 1e-6
        np.testing.assert_allclose(tke[n, -2:-4:-1], expected_tke, rtol=tolerance)
        np.testing.assert_allclose(run.state.u[n, -1:-3:-1], expected_u, rtol=tolerance)


@pytest.mark.parametrize("kind", [KOmega, MellorYamada])
@pytest.mark.long
def test_a_length_scale_below_zero_gives_a_dissipation_within_its_floors(kind):
    """A stress that takes more psi out of the column than there is; only MellorYamada's flux does."""

    def taking(stepper: Any):
        length_scale = stepper.length_scale
        return length_scale.constants.c_1, length_scale.constants.c_4

    closure = kind()
    stepper = eqx.tree_at(taking, closure.prepare(), (jnp.asarray(-1e9), jnp.asarray(0.0)))
    state, inputs = random_flow(1)
    new = eqx.filter_jit(stepper.step)(state, dataclasses.replace(inputs, waves=None), DT)
    dissipation, tke = new.dissipation_rate[1:-1], new.turbulent_kinetic_energy[1:-1]
    assert np.all(np.isfinite(dissipation) & (dissipation >= closure.dissipation_rate_floor))
    if kind is MellorYamada:
        floor, c_mu_0 = 1e-10, SecondMoments("kantha_clayson").c_mu_0
        shortest = c_mu_0**3 * floor**1.5 / 1e-12
        np.testing.assert_allclose(dissipation, c_mu_0**3 * tke**1.5 / shortest, rtol=1e-12)


def test_charnock_roughness_is_at_least_the_given_one():
    state, inputs = random_flow(4)

    def dissipation(**options):
        return step(KEpsilon(**options), state, inputs, DT).dissipation_rate

    rough = dissipation(charnock_constant=1.4e4)  # 1.4e4 u*² / g = 0.1427 m
    np.testing.assert_allclose(rough, dissipation(surface_roughness_length=1.4e4 * 1e-4 / 9.81), rtol=1e-12)
    np.testing.assert_array_equal(dissipation(charnock_constant=10.0), dissipation())
    np.testing.assert_array_equal(dissipation(charnock_constant=0.0), dissipation())


def test_settings_without_meaning_are_refused():
    for make, named in (
        (lambda: KEpsilon(bottom=Boundary(breaking_waves=WAVES)), "waves surface"),
        (lambda: Boundary(tke="dirichlet"), "tke flux value dirichlet"),
        (lambda: GenericLengthScale(exponents=Exponents(0.0, 1.0, 1.0)), "n 0 1"),
        (lambda: GenericLengthScale.generated(decay_rate=-2.0), "n nan"),
        (lambda: KEpsilon(varying_schmidt_number=True), "imposed_von_karman"),
    ):
        with error_naming(ValueError, named):
            make()


# What the constants imply.


def test_generated_model_has_the_properties_that_were_asked_for():
    closure = GenericLengthScale.generated(
        von_karman=0.41, decay_rate=-1.25, shear_free_decay=-2.5, shear_free_slope=0.19, m=1.2
    )
    _, m, n = closure.exponents
    np.testing.assert_allclose(closure.von_karman, 0.41, rtol=1e-12)
    np.testing.assert_allclose(-2.0 * n / (2.0 * m + n - 2.0 * float(closure.c_psi_2)), -1.25, rtol=1e-12)
    waves: Any = dataclasses.replace(closure, surface=Boundary(breaking_waves=WAVES)).prepare().waves
    np.testing.assert_allclose((waves.decay, waves.length_slope), (-2.5, 0.19), rtol=1e-9)
    # The numbers of GOTM for kappa = 0.4, d = -1.2, alpha = -2, L = 0.2, m = 1 and Canuto's model A.
    closure = GenericLengthScale.generated()
    np.testing.assert_allclose(closure.exponents.n, -1.0634, atol=5e-5)
    found = (closure.c_psi_1, closure.c_psi_2, closure.c_3_stable, closure.sigma_k, closure.sigma_psi)
    np.testing.assert_allclose(found, (1.0, 1.35447, -0.52192, 1.20233, 1.84161), atol=6e-6)


def test_imposed_von_karman_constant_moves_one_constant():
    of_length = 0.5 + 0.5 * (0.41**2 * 2.0**1.5 / 0.554905538**3 * 0.2 + 0.8)
    for closure, name, expected in (
        (KEpsilon(imposed_von_karman=0.4), "diffusion.sigma", 0.4**2 / (0.5264647**2 * 0.48)),
        (KOmega(imposed_von_karman=0.4), "diffusion.sigma", 0.4**2 / (0.5264647**2 * 0.278)),
        (MellorYamada(imposed_von_karman=0.41), "constants.c_2", of_length),
    ):
        found = get_leaf(closure.prepare().length_scale, name)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert closure.von_karman == closure.imposed_von_karman


def test_constants_of_mellor_and_yamada_with_kantha_and_clayson():
    closure = MellorYamada(steady_state_richardson_number=0.23)
    np.testing.assert_allclose(2.0 * closure.c_3_stable, 4.82586, atol=6e-6)
    np.testing.assert_allclose(closure.von_karman, 0.4001, atol=5e-5)
    assert MellorYamada(e_3_minus=1.8).c_3_stable == 0.9


def test_the_method_of_the_model_solves_the_systems_of_the_closure_too():
    systems = []

    class Counted(AbstractTridiagonalMethod):
        def __call__(self, matrices, rhs, sinking=None):
            systems.append(len(matrices))
            return ThomasScan()(matrices, rhs, sinking)

    case = columns.stratified(Grid.uniform(50.0, 10), 0.01, {"duration": 600.0}, stress_u=0.1)
    simulate(Model(KEpsilon(), tridiagonal_method=Counted()), case)
    # Momentum with tracers; k and epsilon, whose equal shapes are traced once.
    assert systems == [2, 1]


def test_constants_of_oceananigans():
    """Its table of stability functions, and its limit of the length, l <= 0.75 sqrt(k) / N."""
    closure = KEpsilon.as_in_oceananigans()
    functions = closure.stability.stability_functions()
    printed = (0.1067, 0.0173, -0.0001205, 0.1120, 0.003766, 0.0008871)
    printed += (0.2398, 0.02872, 0.005154, 0.006930, -0.00003372)
    for name, value in zip("n0 n1 n2 b0 b1 b2 d1 d2 d3 d4 d5".split(), printed, strict=True):
        # The least exact of the printed numbers has three digits; d5 is ten times that in the table.
        np.testing.assert_allclose(getattr(functions, name), value, rtol=3e-3)
    n_squared, tke = 1e-4, 1e-5
    start, inputs = columns.uniform_turbulence(GRID, tke, 1e-11), columns.closure_inputs(GRID, n_squared, 0.0)
    state = step(closure, start, inputs, 1.0)
    expected = A.c_mu_0**3 * np.asarray(state.turbulent_kinetic_energy)[1:-1] * 1e-2 / 0.75
    np.testing.assert_allclose(state.dissipation_rate[1:-1], expected, rtol=1e-12)
    assert closure.c_3_stable == closure.c_eps_3_plus == -0.65
    assert KEpsilon.as_in_oceananigans(c_eps_1=1.5).c_eps_1 == 1.5


# Turbulence in a box: no walls, floors or limits.


EXPONENT = {KEpsilon: -1.0 / 0.92, KOmega: -1.0 / 0.833, GenericLengthScale.generated: -1.2}


@pytest.mark.long
@pytest.mark.parametrize("make", EXPONENT)
def test_homogeneous_decay_follows_its_power_law(make):
    closure, exponent = columns.beyond(make(), **columns.FREE), EXPONENT[make]
    turnover = 100.0
    # k = k_0 (1 - t / (d turnover))^d; the error of backward Euler halves with the step.
    exact, errors = (1.0 - 20.0 / exponent) ** exponent, []
    for n_steps in (2000, 4000):
        k, _ = columns.run_box(closure, (1e-2, 1e-4), 0.0, 0.0, 20.0 * turnover / n_steps, n_steps)
        errors.append(k[-1] / (1e-2 * exact) - 1.0)
    assert abs(errors[0]) < 0.02
    np.testing.assert_allclose(2.0 * errors[1] - errors[0], 0.0, atol=2e-4)


@pytest.mark.parametrize("make", [KEpsilon, lambda: KOmega(stability=WEAK), GenericLengthScale.generated])
def test_turbulence_is_steady_at_the_steady_state_richardson_number(make):
    closure, shear, ri = columns.beyond(make(), **columns.FREE), 1e-2, 0.25
    k, _ = columns.run_box(closure, (1e-4, 2e-7, 1e-3), ri * shear**2, shear**2, 4.0, 20000)
    assert abs(np.log(k[-1] / k[-2])) < 1e-9
    assert k[-1] > 1e-8
