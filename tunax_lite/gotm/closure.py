"""The closure that GOTM's turbulence settings describe."""

import dataclasses
from typing import Any

from ..closures import (
    AbstractClosure,
    BackgroundMixing,
    Boundary,
    BreakingWaves,
    Brueggemann,
    Constant,
    ConstantStability,
    Exponents,
    GenericLengthScale,
    KEpsilon,
    KOmega,
    MellorYamada,
    MunkAnderson,
    SchumannGerz,
    SecondMomentClosure,
    WaveShear,
)
from ..closures.stability import AbstractStability
from .settings import Settings
from .turbulence import Turbulence

_CONDITIONS: dict[str, Any] = {"neumann": "flux", "dirichlet": "value"}
_EQUILIBRIA: dict[str, Any] = {"quasi_eq": "quasi", "weak_eq_kb_eq": "weak", "quasi_eq_h15": "quasi"}
_FIRST_ORDER = {
    "constant": ConstantStability,
    "munk_anderson": MunkAnderson,
    "schumann_gerz": SchumannGerz,
}


def closure_of(turbulence: Turbulence, settings: Settings) -> AbstractClosure | None:
    """The closure, or `None` after a refusal.

    Args:
        turbulence: settings in effect.
        settings: take the refusals.
    """
    if turbulence.method == "no_model":
        constants = turbulence.constants
        return Constant(viscosity=constants["const_num"], diffusivity=constants["const_nuh"])
    if turbulence.length_equation is None:
        settings.refuse(
            "turbulence.len_scale_method",
            f"the algebraic length scale {turbulence.length_scale} is not supported; use dissipation, omega, "
            "gls or mellor_yamada",
        )
        return None
    expected = "mellor_yamada" if turbulence.length_scale == "mellor_yamada" else "tke"
    if turbulence.tke_equation != expected:
        settings.refuse(
            "turbulence.tke_method",
            f"{turbulence.tke_equation} is not supported with len_scale_method {turbulence.length_scale}; "
            f"use {expected}",
        )
    if turbulence.length_scale == "dissipation" and settings["turbulence.keps.sig_peps"]:
        settings.refuse("turbulence.keps.sig_peps", "a Schmidt number that varies is not supported")
    common = _common(turbulence) | {"stability": _stability(turbulence)}
    build = {
        "dissipation": _k_epsilon,
        "omega": _k_omega,
        "gls": _generic,
        "mellor_yamada": _mellor_yamada,
    }[turbulence.length_scale]
    return build(turbulence, turbulence.length_equation, common)


def _common(turbulence: Turbulence) -> dict[str, Any]:
    """Settings that all two-equation closures share."""
    constants, boundary = turbulence.constants, turbulence.boundary
    waves = BreakingWaves(constants["cw"]) if turbulence.wave_breaking else None
    tke, length_scale = (_CONDITIONS[boundary[key]] for key in ("k_ubc", "psi_ubc"))
    common: dict[str, Any] = {
        "surface": Boundary(tke, length_scale, waves),
        "bottom": Boundary(_CONDITIONS[boundary["k_lbc"]], _CONDITIONS[boundary["psi_lbc"]]),
        "length_limit": turbulence.length_limit,
        "turbulent_kinetic_energy_floor": constants["k_min"],
        "dissipation_rate_floor": constants["eps_min"],
        "surface_roughness_length": turbulence.surface_roughness_length,
        "charnock_constant": turbulence.charnock,
        "imposed_von_karman": turbulence.von_karman,
    }
    # Without it the prescribed c3 of the equation holds.
    if turbulence.steady_state_richardson_number is not None:
        common["steady_state_richardson_number"] = turbulence.steady_state_richardson_number
    method, numbers = turbulence.internal_waves
    if method == "mellor":
        common["internal_waves"] = WaveShear(numbers["alpha"])
    if method == "large":
        common["internal_waves"] = BackgroundMixing(
            weakest_tke=numbers["klim"],
            critical_richardson_number=numbers["rich_cr"],
            shear_coefficient=numbers["numshear"],
            viscosity=numbers["num"],
            diffusivity=numbers["nuh"],
        )
    return common


def _stability(turbulence: Turbulence) -> AbstractStability:
    if turbulence.equilibrium is not None:
        equilibrium = _EQUILIBRIA[turbulence.equilibrium]
        if turbulence.coefficients:
            return SecondMomentClosure(**turbulence.coefficients, equilibrium=equilibrium)
        return SecondMomentClosure.of(turbulence.stability.replace("-", "_"), equilibrium=equilibrium)
    cm0, prandtl = turbulence.constants["cm0_fix"], turbulence.constants["Prandtl0_fix"]
    if turbulence.stability == "icon":
        return Brueggemann(c_mu_0=cm0)
    return _FIRST_ORDER[turbulence.stability](c_mu_0=cm0, neutral_prandtl_number=prandtl)


def _given(turbulence: Turbulence, value: float) -> float | None:
    """A prescribed c3 in stable water, or `None` where it follows from the Richardson number."""
    return value if turbulence.steady_state_richardson_number is None else None


def _k_epsilon(turbulence: Turbulence, numbers: dict[str, float], common: dict[str, Any]) -> AbstractClosure:
    return KEpsilon(
        c_eps_1=numbers["ce1"],
        c_eps_2=numbers["ce2"],
        c_eps_3_minus=_given(turbulence, numbers["ce3minus"]),
        c_eps_3_plus=numbers["ce3plus"],
        c_eps_4=numbers["ce4"],
        sigma_k=numbers["sig_k"],
        sigma_eps=numbers["sig_e"],
        **common,
    )


def _k_omega(turbulence: Turbulence, numbers: dict[str, float], common: dict[str, Any]) -> AbstractClosure:
    return KOmega(
        c_omega_1=numbers["cw1"],
        c_omega_2=numbers["cw2"],
        c_omega_3_minus=_given(turbulence, numbers["cw3minus"]),
        c_omega_3_plus=numbers["cw3plus"],
        c_omega_4=numbers["cw4"],
        sigma_k=numbers["sig_kw"],
        sigma_omega=numbers["sig_w"],
        **common,
    )


def _generic(turbulence: Turbulence, numbers: dict[str, float], common: dict[str, Any]) -> AbstractClosure:
    more = {"c_psi_3_minus": _given(turbulence, numbers["cpsi3minus"]), "c_psi_4": numbers["cpsi4"]}
    if turbulence.generated:
        closure = GenericLengthScale.generated(
            von_karman=numbers["kappa"],
            decay_rate=numbers["gen_d"],
            shear_free_decay=numbers["gen_alpha"],
            shear_free_slope=numbers["gen_l"],
            m=numbers["gen_m"],
            p=numbers["gen_p"],
            **(common | more),
        )
        # GOTM gives unstable water the c3 that corresponds to that of k-epsilon.
        c_3 = (1.5 - numbers["ce3plus"]) * closure.exponents.n + closure.exponents.m
        return dataclasses.replace(closure, c_psi_3_plus=c_3)
    return GenericLengthScale(
        exponents=Exponents(p=numbers["gen_p"], m=numbers["gen_m"], n=numbers["gen_n"]),
        c_psi_1=numbers["cpsi1"],
        c_psi_2=numbers["cpsi2"],
        c_psi_3_plus=numbers["cpsi3plus"],
        sigma_k=numbers["sig_kpsi"],
        sigma_psi=numbers["sig_psi"],
        **(common | more),
    )


def _mellor_yamada(
    turbulence: Turbulence, numbers: dict[str, float], common: dict[str, Any]
) -> AbstractClosure:
    wall_length: Any = turbulence.barotropic_length
    return MellorYamada(
        e_1=numbers["e1"],
        e_2=numbers["e2"],
        e_3_minus=_given(turbulence, numbers["e3"]),
        e_6=numbers["e6"],
        s_q=numbers["sq"],
        s_l=numbers["sl"],
        wall_length=wall_length,
        **common,
    )
