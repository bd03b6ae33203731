"""Two-equation closures: a step of each in its own variable, against dense matrices; laws at the walls.

The package has one equation in psi = c_mu0^p k^m l^n; here omega, q² l and psi have their own equations and
wall laws, as published.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import (
    FREE,
    backward_euler,
    beyond,
    closure_inputs,
    random_grid,
    random_turbulence,
    run_box,
    surface_waves,
)
from tests.closures.turbulence_numpy import SecondMoments, constants, constants_of_mellor_yamada
from tests.errors import error_naming
from tests.helpers import get_leaf, some_long
from tunax_lite import (
    Case,
    ConstantForcing,
    Grid,
    LinearEquationOfState,
    Model,
    SecondMomentClosure,
    State,
    SurfaceFluxes,
    simulate,
)
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

GRID, DT, U_STAR, U_BOTTOM = random_grid(80, 9), 60.0, 0.01, 0.004
WAVES = BreakingWaves()

step = eqx.filter_jit(lambda closure, *arguments: closure.prepare().step(*arguments))


def random_state(seed):
    return random_turbulence(GRID, seed)


def random_inputs(seed):
    """Stable and unstable faces, drag at the bottom, waves that move with the flow or against it."""
    rng = np.random.default_rng(seed)
    n_squared = rng.choice([-1.0, 1.0], GRID.n_cells - 1) * 10.0 ** rng.uniform(-7, -3, GRID.n_cells - 1)
    s_squared = 10.0 ** rng.uniform(-8, -3, GRID.n_cells - 1)
    return dataclasses.replace(
        closure_inputs(GRID, n_squared, s_squared, friction_velocity=U_STAR),
        bottom=BottomFlow(jnp.asarray(U_BOTTOM), jnp.asarray(0.003)),
        waves=surface_waves(GRID, shear=s_squared * rng.uniform(0.0, 0.5, GRID.n_cells - 1)),
    )


class Variable(NamedTuple):
    """The second quantity of a closure as published."""

    of: Callable  # (k, eps) -> value
    dissipation: Callable  # (k, value) -> eps
    constants: tuple  # c_1, c_3 stable, c_3 unstable, c_4; all of value/k
    sink: Callable  # (k, eps) -> its rate times k / eps
    diffusivities: Callable  # (k, eps, nu) -> those of k and of the value
    value_in_log_layer: Callable  # (k, z + z_0) -> value
    flux_in_log_layer: Callable  # (k, z + z_0) -> flux from the wall
    value_below_waves: Callable  # (K, z + z_0) -> value, with k = K (z + z_0)^alpha
    flux_below_waves: Callable
    decay: float  # alpha
    tke_flux_below_waves: Callable
    wave_tke: Callable  # flux of k -> K z_0^alpha


EXPONENTS = {KEpsilon: (3.0, 1.5, -1.0), KOmega: (-1.0, 0.5, -1.0)}
NAMES = {KEpsilon: "eps", KOmega: "omega", GenericLengthScale: "psi"}


def schmidt_numbers(functions, kappa, c_1, c_2):
    """Those of Burchard (2001): where turbulence is produced and dissipated, and below breaking waves."""
    m = np.sqrt(1.5) * functions.shear_free / kappa
    waves = (4.0 / 3.0 * m + 1.0) * (m + 1.0) * kappa**2 / (c_2 * functions.shear_free**2)
    return kappa**2 / (c_2 - c_1) / functions.c_mu_0**2, waves


def published(closure, functions) -> Variable:
    cm0, cmsf = functions.c_mu_0, functions.shear_free
    if isinstance(closure, MellorYamada):
        e_1, e_2, e_6, s_q, s_l = (
            float(getattr(closure, name)) for name in ("e_1", "e_2", "e_6", "s_q", "s_l")
        )
        kappa, e_3, alpha, slope = constants_of_mellor_yamada(functions, e_1, e_2, s_q, s_l)
        b_1 = 2.0**1.5 / cm0**3
        z = np.asarray(GRID.z_face)[1:-1]
        up, down = -z + float(closure.surface_roughness_length), z + 40.0 + 0.003
        wall_length = kappa * up * down / (up + down)

        def sink(k, eps):
            length = cm0**3 * k**1.5 / eps
            # q³/B_1 (...) over q² l, times k / eps
            rate = (2.0 * k) ** 1.5 / b_1 * (1.0 + e_2 * (length / wall_length) ** 2) / (2.0 * k * length)
            return rate * k / eps

        root = np.sqrt(2.0)
        return Variable(
            of=lambda k, eps: 2.0 * k * cm0**3 * k**1.5 / eps,
            dissipation=lambda k, q2l: cm0**3 * k**1.5 / (q2l / (2.0 * k)),
            constants=(0.5 * e_1, 0.5 * e_3, 0.5 * e_3, 0.5 * e_6),
            sink=sink,
            diffusivities=lambda k, eps, nu: (
                s_q * np.sqrt(2.0 * k) * cm0**3 * k**1.5 / eps,
                s_l * np.sqrt(2.0 * k) * cm0**3 * k**1.5 / eps,
            ),
            value_in_log_layer=lambda k, d: 2.0 * kappa * k * d,
            flux_in_log_layer=lambda k, d: -2.0 * root * s_l * kappa**2 * k**1.5 * d,
            value_below_waves=lambda c, d: 2.0 * c * slope * d ** (alpha + 1.0),
            flux_below_waves=lambda c, d: (
                -2.0 * root * s_l * (alpha + 1.0) * c**1.5 * slope**2 * d ** (1.5 * alpha + 1.0)
            ),
            decay=alpha,
            tke_flux_below_waves=lambda c, d: -root * s_q * c**1.5 * alpha * slope * d ** (1.5 * alpha),
            wave_tke=lambda flux: (-flux / (root * s_q * alpha * slope)) ** (2.0 / 3.0),
        )
    name = NAMES[type(closure)]
    p, m, n = exponents = EXPONENTS.get(type(closure)) or tuple(closure.exponents)
    c_1, c_2, c_3_plus, c_4 = (
        float(getattr(closure, f"c_{name}_{key}")) for key in ("1", "2", "3_plus", "4")
    )
    sigma_k, sigma = float(closure.sigma_k), float(getattr(closure, f"sigma_{name}"))
    sigma_waves = sigma
    if isinstance(closure, KEpsilon) and closure.varying_schmidt_number:
        sigma, sigma_waves = schmidt_numbers(functions, 0.4, c_1, c_2)
    kappa, c_3, alpha, slope = constants(
        functions, exponents, c_1, c_2, sigma_k, sigma, sigma_waves=sigma_waves
    )
    given = getattr(closure, f"c_{name}_3_minus")
    return Variable(
        of=lambda k, eps: {
            "eps": eps,
            "omega": eps / (cm0**4 * k),
            "psi": cm0**p * k**m * (cm0**3 * k**1.5 / eps) ** n,
        }[name],
        dissipation=lambda k, x: {
            "eps": x,
            "omega": cm0**4 * k * x,
            "psi": cm0 ** (3.0 + p / n) * k ** (1.5 + m / n) * x ** (-1.0 / n),
        }[name],
        constants=(c_1, c_3 if given is None else float(given), c_3_plus, c_4),
        sink=lambda k, eps: c_2,
        diffusivities=lambda k, eps, nu: (nu / sigma_k, nu / sigma),
        value_in_log_layer=lambda k, d: {
            "eps": cm0**3 * k**1.5 / (kappa * d),
            "omega": np.sqrt(k) / (cm0 * kappa * d),
            "psi": cm0**p * kappa**n * k**m * d**n,
        }[name],
        flux_in_log_layer=lambda k, d: {
            "eps": cm0**4 * k**2 / (sigma * d),
            "omega": k / (sigma * d),
            "psi": -n * cm0 ** (p + 1.0) * kappa ** (n + 1.0) * k ** (m + 0.5) * d**n / sigma,
        }[name],
        value_below_waves=lambda c, d: {
            "eps": cm0**3 * c**1.5 / slope * d ** (1.5 * alpha - 1.0),
            "omega": np.sqrt(c) / (cm0 * slope) * d ** (0.5 * alpha - 1.0),
            "psi": cm0**p * c**m * slope**n * d ** (m * alpha + n),
        }[name],
        flux_below_waves=lambda c, d: {
            "eps": -cmsf * cm0**3 / sigma_waves * c**2 * (1.5 * alpha - 1.0) * d ** (2.0 * alpha - 1.0),
            "omega": -cmsf * c * (0.5 * alpha - 1.0) * d ** (alpha - 1.0) / (sigma * cm0),
            "psi": -(m * alpha + n)
            * (cmsf * cm0**p / sigma)
            * c ** (m + 0.5)
            * slope ** (n + 1.0)
            * d ** ((m + 0.5) * alpha + n),
        }[name],
        decay=alpha,
        tke_flux_below_waves=lambda c, d: -cmsf / sigma_k * c**1.5 * alpha * slope * d ** (1.5 * alpha),
        wave_tke=lambda flux: (-sigma_k * flux / (cmsf * alpha * slope)) ** (2.0 / 3.0),
    )


def patankar(shear, buoyancy, consumed):
    grows = shear + buoyancy > 0.0
    return np.where(grows, shear + buoyancy, shear), np.where(grows, consumed, consumed - buoyancy)


def reference_step(closure, functions, state, inputs, dt):
    """k, epsilon, viscosity and diffusivity on inner faces."""
    cm0, h = functions.c_mu_0, np.asarray(GRID.cell_thickness)
    variable = published(closure, functions)
    alpha = variable.decay
    n2, s2 = np.asarray(inputs.buoyancy_frequency_squared), np.asarray(inputs.shear_squared)
    nu, kappa = np.asarray(state.eddy_viscosity)[1:-1], np.asarray(state.eddy_diffusivity)[1:-1]
    k, eps = np.asarray(state.turbulent_kinetic_energy)[1:-1], np.asarray(state.dissipation_rate)[1:-1]
    p, stokes, b = nu * s2, nu * np.asarray(inputs.waves.shear), -kappa * n2
    of_tke, of_value = variable.diffusivities(k, eps, nu)
    if isinstance(closure, KEpsilon) and closure.varying_schmidt_number:
        fraction, (sigma, sigma_waves) = (
            np.minimum((p + b) / eps, 1.0),
            schmidt_numbers(functions, 0.4, 1.44, 1.92),
        )
        of_value = nu / (fraction * sigma + (1.0 - fraction) * sigma_waves)

    walls = (
        (closure.bottom, U_BOTTOM, 0.003, h[0]),
        (closure.surface, U_STAR, float(closure.surface_roughness_length), h[-1]),
    )

    def distance(kind, z_0, thickness):
        return (0.5 * thickness if kind == "flux" else thickness) + z_0

    def tke_end(boundary, u_star, z_0, thickness):
        kind, d = boundary.tke, distance(boundary.tke, z_0, thickness)
        if boundary.breaking_waves is None:
            return kind, 0.0 if kind == "flux" else u_star**2 / cm0**2
        c = variable.wave_tke(100.0 * u_star**3) / z_0**alpha
        return kind, variable.tke_flux_below_waves(c, d) if kind == "flux" else c * d**alpha

    def value_end(boundary, u_star, z_0, thickness, tke):
        kind, d = boundary.length_scale, distance(boundary.length_scale, z_0, thickness)
        if boundary.breaking_waves is None:
            law = variable.flux_in_log_layer if kind == "flux" else variable.value_in_log_layer
            return kind, law(tke, d)
        c = variable.wave_tke(100.0 * u_star**3) / z_0**alpha
        return kind, (variable.flux_below_waves if kind == "flux" else variable.value_below_waves)(c, d)

    source, sink = patankar(p + stokes, b, eps)
    ends = [tke_end(*wall) for wall in walls]
    new_k = backward_euler(GRID, k, source, sink / k, of_tke, dt, ends)
    new_k = np.maximum(new_k, float(closure.turbulent_kinetic_energy_floor))

    c_1, c_3_stable, c_3_unstable, c_4 = variable.constants
    value = variable.of(k, eps)
    buoyancy = np.where(b > 0.0, c_3_unstable, c_3_stable) * b
    source, sink = patankar(c_1 * p + c_4 * stokes, buoyancy, variable.sink(k, eps) * eps)
    ends = [value_end(*wall, tke) for wall, tke in zip(walls, (new_k[0], new_k[-1]), strict=True)]
    new_value = backward_euler(GRID, value, value / k * source, sink / k, of_value, dt, ends)
    if isinstance(closure, MellorYamada):
        # What the flux has taken below zero has the shortest length, as in GOTM.
        shortest = cm0**3 * float(closure.turbulent_kinetic_energy_floor) ** 1.5
        new_value = np.maximum(new_value, 2.0 * new_k * shortest / float(closure.dissipation_rate_floor))
    new_eps = variable.dissipation(new_k, new_value)
    if closure.length_limit is not None:
        limit = float(closure.length_limit)
        galperin = cm0**3 * new_k * np.sqrt(np.maximum(n2, 0.0)) / np.sqrt(2.0) / limit
        new_eps = np.maximum(new_eps, galperin)
    if closure.wall_length_limit is not None:
        faces = np.asarray(GRID.z_face)
        longest = float(closure.wall_length_limit) * np.minimum(-faces, faces - faces[0])[1:-1]
        new_eps = np.maximum(new_eps, cm0**3 * new_k**1.5 / longest)
    new_eps = np.maximum(new_eps, float(closure.dissipation_rate_floor))
    c_mu, c_mu_prime = functions.in_flow((k / eps) ** 2 * n2, (k / eps) ** 2 * s2)
    return new_k, new_eps, c_mu * new_k**2 / new_eps, c_mu_prime * new_k**2 / new_eps


WEAK = SecondMomentClosure(equilibrium="weak")
A = SecondMoments("canuto_a")
# Kind, its options, and the functions of its second moments.
VARIANTS = {
    "k-epsilon": (KEpsilon, {"c_eps_4": 0.7}, A),
    # Buoyancy may also consume epsilon, which it never does with the default constants.
    "k-epsilon, other constants": (
        KEpsilon,
        {"c_eps_1": 1.3, "c_eps_2": 1.8, "c_eps_3_minus": 0.5, "c_eps_3_plus": -0.4}
        | {"sigma_k": 0.8, "sigma_eps": 1.1, "length_limit": 0.5},
        A,
    ),
    "k-omega": (KOmega, {"stability": WEAK}, SecondMoments("canuto_a", equilibrium="weak")),
    "generic, half-integer exponents": (
        GenericLengthScale,
        {"exponents": Exponents(2.0, 1.5, -0.5), "c_psi_1": 1.5, "c_psi_2": 1.7, "c_psi_4": 0.3},
        A,
    ),
    "generic, other exponents": (
        GenericLengthScale,
        {"exponents": Exponents(3.0, 1.1, -1.07), "wall_length_limit": 0.35},
        A,
    ),
    "Mellor-Yamada": (MellorYamada, {}, SecondMoments("kantha_clayson")),
}
ENDS = {
    "fluxes": {},
    "values": {"surface": Boundary("value", "value"), "bottom": Boundary("value", "value")},
    "mixed": {"surface": Boundary("value", "flux"), "bottom": Boundary("flux", "value")},
    "waves": {"surface": Boundary(breaking_waves=WAVES), "surface_roughness_length": 0.5},
    "values below waves": {
        "surface": Boundary("value", "value", WAVES),
        "surface_roughness_length": 0.5,
        "length_limit": None,
    },
}


# Fluxes or values at both walls are those of `mixed`, one at each; other exponents change what `waves` holds.
OF_EVERY_CHANGE = {
    "fluxes": ["k-epsilon, other constants"],
    "values": ["k-omega"],
    "mixed": ["k-epsilon", "generic, half-integer exponents", "Mellor-Yamada"],
    "waves": ["k-epsilon", "generic, other exponents", "Mellor-Yamada"],
}
OF_EVERY_CHANGE["values below waves"] = ["k-omega"]
OFTEN = {
    ("k-epsilon", "mixed"),
    ("k-omega", "values below waves"),
    ("generic, other exponents", "waves"),
    ("Mellor-Yamada", "mixed"),
}
STEPS = [
    pytest.param(variant, ends, marks=[] if (variant, ends) in OFTEN else [pytest.mark.long])
    for ends, variants in OF_EVERY_CHANGE.items()
    for variant in variants
]


@pytest.mark.parametrize(("variant", "ends"), STEPS)
def test_step_equals_the_published_equations_with_dense_matrices(variant, ends):
    kind, options, functions = VARIANTS[variant]
    closure = kind(**(options | ENDS[ends]))
    for seed in range(2):
        state, inputs = random_state(seed), random_inputs(seed)
        found = step(closure, state, inputs, DT)
        k, eps, nu, kappa = reference_step(closure, functions, state, inputs, DT)
        np.testing.assert_allclose(found.turbulent_kinetic_energy[1:-1], k, rtol=1e-9)
        np.testing.assert_allclose(found.dissipation_rate[1:-1], eps, rtol=1e-9)
        np.testing.assert_allclose(found.eddy_viscosity[1:-1], nu, rtol=1e-8)
        np.testing.assert_allclose(found.eddy_diffusivity[1:-1], kappa, rtol=1e-8)


@pytest.mark.parametrize("ends", some_long(("mixed", "waves"), "mixed".__eq__))
def test_schmidt_number_under_breaking_waves(ends):
    closure = KEpsilon(varying_schmidt_number=True, imposed_von_karman=0.4, **ENDS[ends])
    for seed in range(2):
        state, inputs = random_state(seed), random_inputs(seed)
        found = step(closure, state, inputs, DT)
        k, eps, nu, _ = reference_step(closure, A, state, inputs, DT)
        np.testing.assert_allclose(found.turbulent_kinetic_energy[1:-1], k, rtol=1e-9)
        np.testing.assert_allclose(found.dissipation_rate[1:-1], eps, rtol=1e-9)
        np.testing.assert_allclose(found.eddy_viscosity[1:-1], nu, rtol=1e-8)
    # Published for Canuto's model A: sigma below waves.
    np.testing.assert_allclose(schmidt_numbers(A, 0.4, 1.44, 1.92)[1], 2.012, atol=5e-4)
    # It is made so that the length grows below waves as at a wall, and does so where c_mu is one number.
    constant = dataclasses.replace(closure, stability=ConstantStability(), **ENDS["waves"])
    waves = constant.prepare().waves
    assert waves is not None
    np.testing.assert_allclose(waves.length_slope, 0.4, rtol=1e-12)
    with error_naming(ValueError, "imposed_von_karman"):
        KEpsilon(varying_schmidt_number=True)


@pytest.mark.long
@pytest.mark.parametrize("kind", [KEpsilon, GenericLengthScale])
def test_long_steps_vanish_as_steps_become_short(kind):
    """Both are backward Euler of the same equations, diffusion and walls included: they differ by O(dt²)."""
    state, inputs = random_state(6), random_inputs(6)
    limited = step(kind(), state, inputs, jnp.asarray(1e-9))  # within the limits of the length
    state = dataclasses.replace(
        limited, eddy_viscosity=state.eddy_viscosity, eddy_diffusivity=state.eddy_diffusivity
    )

    def difference(dt):
        plain, long = (step(kind(long_steps=on), state, inputs, jnp.asarray(dt)) for on in (False, True))
        return np.asarray(jnp.log(long.dissipation_rate / plain.dissipation_rate))[1:-1]

    coarse, fine = difference(2e-4), difference(1e-4)
    assert np.max(np.abs(coarse)) > 1e-8
    np.testing.assert_allclose(coarse, 4.0 * fine, rtol=0.05, atol=1e-12)


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
    grid, alpha = Grid.uniform(50.0, 100), 2e-4
    water = LinearEquationOfState(thermal_expansion=alpha, gravity=9.81, reference_density=1027.0)
    state = State.from_profiles(grid, temperature=20.0 + 1e-4 / (9.81 * alpha) * (grid.z_center + 0.25))
    wind = ConstantForcing(SurfaceFluxes(stress_u=0.1027))
    bottom = Interior(bottom_friction=BottomFriction())  # its roughness length is part of the wall function
    case = Case(grid, state, wind, equation_of_state=water, interior=bottom, duration=3600.0)
    functions = SecondMomentClosure.of("kantha_clayson", equilibrium="weak")
    run = simulate(Model(MellorYamada(stability=functions)), case, dt=60.0, output_interval=60.0)
    tke = run.clo_state.turbulent_kinetic_energy  # pyright: ignore[reportAttributeAccessIssue]
    for n, (expected_tke, expected_u) in OF_GOTM.items():
        # GOTM holds the constants of the second moments in single precision.
        tolerance = 1e-7 if n < 25 else 1e-6
        np.testing.assert_allclose(tke[n, -2:-4:-1], expected_tke, rtol=tolerance)
        np.testing.assert_allclose(run.state.u[n, -1:-3:-1], expected_u, rtol=tolerance)


@pytest.mark.parametrize(
    "closure",
    [KEpsilon(), KOmega(), GenericLengthScale(), MellorYamada()],
    ids=lambda closure: type(closure).__name__,
)
@pytest.mark.long
def test_a_length_scale_below_zero_gives_a_dissipation_within_its_floors(closure):
    """A stress that takes more psi out of the column than there is; only MellorYamada's flux does."""

    def taking(stepper: Any):
        length_scale = stepper.length_scale
        return length_scale.constants.c_1, length_scale.constants.c_4

    stepper = eqx.tree_at(taking, closure.prepare(), (jnp.asarray(-1e9), jnp.asarray(0.0)))
    inputs = dataclasses.replace(random_inputs(1), waves=None)
    new = eqx.filter_jit(stepper.step)(random_state(1), inputs, DT)
    dissipation, tke = new.dissipation_rate[1:-1], new.turbulent_kinetic_energy[1:-1]
    assert bool(jnp.all(jnp.isfinite(dissipation)))
    assert bool(jnp.all(dissipation >= closure.dissipation_rate_floor))
    if isinstance(closure, MellorYamada):
        floor, c_mu_0 = 1e-10, SecondMoments("kantha_clayson").c_mu_0
        shortest = c_mu_0**3 * floor**1.5 / 1e-12
        np.testing.assert_allclose(dissipation, c_mu_0**3 * tke**1.5 / shortest, rtol=1e-12)


def test_charnock_roughness_is_at_least_the_given_one():
    state, inputs = random_state(4), random_inputs(4)

    def dissipation(**options):
        return step(KEpsilon(**options), state, inputs, DT).dissipation_rate

    rough = dissipation(charnock_constant=1.4e4)  # 1.4e4 u*² / g = 0.1427 m
    np.testing.assert_allclose(rough, dissipation(surface_roughness_length=1.4e4 * 1e-4 / 9.81), rtol=1e-12)
    np.testing.assert_array_equal(dissipation(charnock_constant=10.0), dissipation())
    np.testing.assert_array_equal(dissipation(charnock_constant=0.0), dissipation())


def test_settings_without_meaning_are_refused():
    with error_naming(ValueError, "waves surface"):
        KEpsilon(bottom=Boundary(breaking_waves=WAVES))
    with error_naming(ValueError, "tke flux value dirichlet"):
        Boundary(tke="dirichlet")
    with error_naming(ValueError, "n 0 1"):
        GenericLengthScale(exponents=Exponents(0.0, 1.0, 1.0))


# What the constants imply.


def test_shear_free_turbulence_balances_transport_and_dissipation():
    """alpha and L are such that both equations hold."""
    generic = constants(A, (3.0, 1.0, -0.67), 1.0, 1.22, 0.8, 1.07)
    for closure, expected in (
        (KEpsilon(), constants(A, EXPONENTS[KEpsilon], 1.44, 1.92, 1.0, 1.3)),
        (KOmega(), constants(A, EXPONENTS[KOmega], 0.555, 0.833, 2.0, 2.0)),
        (GenericLengthScale(), generic),
        (MellorYamada(), constants_of_mellor_yamada(SecondMoments("kantha_clayson"), 1.8, 1.33, 0.2, 0.2)),
    ):
        waves: Any = dataclasses.replace(closure, surface=Boundary(breaking_waves=WAVES)).prepare().waves
        np.testing.assert_allclose((waves.decay, waves.length_slope), expected[2:], rtol=1e-10)


def test_generated_model_has_the_properties_that_were_asked_for():
    closure = GenericLengthScale.generated(
        von_karman=0.41, decay_rate=-1.25, shear_free_decay=-2.5, shear_free_slope=0.19, m=1.2
    )
    closure = dataclasses.replace(closure, surface=Boundary(breaking_waves=WAVES))
    _, m, n = closure.exponents
    np.testing.assert_allclose(closure.von_karman, 0.41, rtol=1e-12)
    np.testing.assert_allclose(-2.0 * n / (2.0 * m + n - 2.0 * float(closure.c_psi_2)), -1.25, rtol=1e-12)
    waves: Any = closure.prepare().waves
    np.testing.assert_allclose(waves.decay, -2.5, rtol=1e-9)
    np.testing.assert_allclose(waves.length_slope, 0.19, rtol=1e-9)


def test_generated_model_of_published_properties():
    """The numbers of GOTM for kappa = 0.4, d = -1.2, alpha = -2, L = 0.2, m = 1 and Canuto's model A."""
    closure = GenericLengthScale.generated()
    np.testing.assert_allclose(closure.exponents.n, -1.0634, atol=5e-5)
    found = (closure.c_psi_1, closure.c_psi_2, closure.c_psi_3_stable, closure.sigma_k, closure.sigma_psi)
    np.testing.assert_allclose(found, (1.0, 1.35447, -0.52192, 1.20233, 1.84161), atol=6e-6)
    with error_naming(ValueError, "n nan"):
        GenericLengthScale.generated(decay_rate=-2.0)


def test_imposed_von_karman_constant_moves_one_constant():
    for closure, name, expected in (
        (KEpsilon(imposed_von_karman=0.4), "diffusion.sigma", 0.4**2 / (0.5264647**2 * 0.48)),
        (KOmega(imposed_von_karman=0.4), "diffusion.sigma", 0.4**2 / (0.5264647**2 * 0.278)),
        (
            MellorYamada(imposed_von_karman=0.41),
            "constants.c_2",
            0.5 + 0.5 * (0.41**2 * 2.0**1.5 / 0.554905538**3 * 0.2 + 0.8),
        ),
    ):
        found = get_leaf(closure.prepare().length_scale, name)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert closure.von_karman == closure.imposed_von_karman


def test_constants_of_mellor_and_yamada_with_kantha_and_clayson():
    closure = MellorYamada(steady_state_richardson_number=0.23)
    np.testing.assert_allclose(closure.e_3_stable, 4.82586, atol=6e-6)
    np.testing.assert_allclose(closure.von_karman, 0.4001, atol=5e-5)
    assert MellorYamada(e_3_minus=1.8).e_3_stable == 1.8


# Turbulence in a box: no walls, floors or limits.


# The length of Mellor and Yamada grows with the distance from a wall, and with it the flux from there.
NO_WALL_LENGTH: dict[str, Any] = FREE | dict(
    imposed_von_karman=1e-12, surface_roughness_length=2e18, bottom_roughness_length=2e18
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("closure", "exponent"),
    [
        (beyond(KOmega(), **FREE), -1.0 / 0.833),
        (beyond(GenericLengthScale.generated(), **FREE), -1.2),
        (beyond(MellorYamada(), **NO_WALL_LENGTH), -1.0),
    ],
    ids=["k-omega", "generic", "Mellor-Yamada"],
)
def test_homogeneous_decay_follows_its_power_law(closure, exponent):
    turnover = 100.0
    # k = k_0 (1 - t / (d turnover))^d; the error of backward Euler halves with the step.
    exact, errors = (1.0 - 20.0 / exponent) ** exponent, []
    for n_steps in (2000, 4000):
        k, _ = run_box(closure, (1e-2, 1e-4), 0.0, 0.0, 20.0 * turnover / n_steps, n_steps)
        errors.append(k[-1] / (1e-2 * exact) - 1.0)
    assert abs(errors[0]) < 0.02
    np.testing.assert_allclose(2.0 * errors[1] - errors[0], 0.0, atol=2e-4)


@pytest.mark.long
def test_k_omega_in_neutral_shear_grows_as_the_constants_say():
    shear, scaled_dt = 1e-2, 0.01
    closure = beyond(KOmega(stability=WEAK), **FREE)
    k, eps = run_box(closure, (1e-4, 2e-7, 1e-3), 0.0, shear**2, scaled_dt / shear, 20000)
    # P / eps = c_2 / c_1 = 1.5009; c_mu(alpha_M) alpha_M = that.
    np.testing.assert_allclose((k[-1] / eps[-1] * shear) ** 2, 24.2588, rtol=0.01)
    np.testing.assert_allclose(np.log(k[-1] / k[-2]) / scaled_dt, 0.101699, rtol=0.01)


@pytest.mark.parametrize(
    "closure",
    [
        beyond(KOmega(stability=WEAK), **FREE),
        beyond(GenericLengthScale.generated(), **FREE),
    ],
    ids=["weak k-omega", "generic"],
)
def test_turbulence_is_steady_at_the_steady_state_richardson_number(closure):
    shear, ri = 1e-2, 0.25
    k, _ = run_box(closure, (1e-4, 2e-7, 1e-3), ri * shear**2, shear**2, 4.0, 20000)
    assert abs(np.log(k[-1] / k[-2])) < 1e-9
    assert k[-1] > 1e-8
