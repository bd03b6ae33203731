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
    Exponents,
    GenericLengthScale,
    Harcourt,
    KEpsilon,
    KOmega,
    MellorYamada,
    OneEquation,
    SecondMomentClosure,
    WaveShear,
)
from ..closures.one_equation import AbstractLength
from ..closures.second_moment import StabilityFunctions
from ..closures.stability import AbstractStability
from ..declarations import names_of
from .settings import Settings
from .turbulence import Turbulence

_CONDITIONS: dict[str, Any] = {"neumann": "flux", "dirichlet": "value"}
_EQUILIBRIA: dict[str, Any] = {"quasi_eq": "quasi", "weak_eq_kb_eq": "weak"}
_LANGMUIR = "quasi_eq_h15"


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
        return _one_equation(turbulence, settings)
    expected = "mellor_yamada" if turbulence.length_scale == "mellor_yamada" else "tke"
    if turbulence.tke_equation != expected:
        settings.refuse(
            "turbulence.tke_method",
            f"{turbulence.tke_equation} is not supported with len_scale_method {turbulence.length_scale}; "
            f"use {expected}",
        )
    if turbulence.varying_schmidt_number and turbulence.von_karman is None:
        raise settings.error(
            "turbulence.keps.sig_peps",
            "expected turb_param.compute_kappa: false with it, as GOTM does, got true; prescribe kappa",
        )
    common: dict[str, Any] = _common(turbulence) | {"imposed_von_karman": turbulence.von_karman}
    # Without it the prescribed c3 of the equation holds.
    if turbulence.steady_state_richardson_number is not None:
        common["steady_state_richardson_number"] = turbulence.steady_state_richardson_number
    _check_wall(turbulence, settings)
    _check_steady_state(turbulence, common["stability"], settings)
    build = {
        "dissipation": _k_epsilon,
        "omega": _k_omega,
        "gls": _generic,
        "mellor_yamada": _mellor_yamada,
    }[turbulence.length_scale]
    return build(turbulence, turbulence.length_equation, common)


_GROUPS = {"dissipation": ("keps", "ce"), "omega": ("kw", "cw"), "gls": ("generic", "cpsi")}


def _check_wall(turbulence: Turbulence, settings: Settings) -> None:
    """Refuse constants without a logarithmic layer, with which GOTM stops or has no Schmidt number."""
    if turbulence.length_scale not in _GROUPS or turbulence.generated:
        return
    group, letters = _GROUPS[turbulence.length_scale]
    numbers = turbulence.length_equation
    assert numbers is not None  # there is an equation
    first, second = (numbers[f"{letters}{number}"] for number in (1, 2))
    if not second > first:
        raise settings.error(
            f"turbulence.{group}.{letters}2",
            f"expected more than {letters}1 = {first:g}, without which there is no logarithmic layer, got "
            f"{second:g}; correct one of them",
        )
    if numbers.get("gen_n", -1.0) >= 0.0:
        raise settings.error(
            "turbulence.generic.gen_n",
            f"expected a negative exponent, got {numbers['gen_n']:g}: a quantity that grows with the length "
            "needs a wall function, as len_scale_method mellor_yamada has it",
        )


def _check_steady_state(turbulence: Turbulence, stability: AbstractStability, settings: Settings) -> None:
    """Refuse a Richardson number without equilibrium, for which GOTM finds no c3 and stops."""
    functions, wanted = stability.stability_functions(), turbulence.steady_state_richardson_number
    if wanted is None or not isinstance(functions, StabilityFunctions):
        return
    critical = float(functions.critical_richardson_number)
    if not wanted < critical:
        raise settings.error(
            "turbulence.turb_param.Ri_st",
            f"expected less than {critical:.3g}, the critical number of scnd_coeff {turbulence.stability}, "
            f"got {wanted:g}; lower it",
        )


def _common(turbulence: Turbulence) -> dict[str, Any]:
    """Settings that all closures with an equation for k share."""
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
        "stability": _in_waves(turbulence, _stability(turbulence)),
    }
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
        equilibrium = _EQUILIBRIA.get(turbulence.equilibrium, "quasi")
        if turbulence.coefficients:
            return SecondMomentClosure(**turbulence.coefficients, equilibrium=equilibrium)
        return SecondMomentClosure.of(turbulence.stability.replace("-", "_"), equilibrium=equilibrium)
    cm0, prandtl = turbulence.constants["cm0_fix"], turbulence.constants["Prandtl0_fix"]
    if turbulence.stability == "icon":
        return Brueggemann(c_mu_0=cm0)
    return names_of(AbstractStability)[turbulence.stability].make(c_mu_0=cm0, neutral_prandtl_number=prandtl)


def _in_waves(turbulence: Turbulence, stability: AbstractStability) -> AbstractStability:
    """With Langmuir turbulence the functions have constants of their own; c_mu0 is that of the given set."""
    if turbulence.equilibrium != _LANGMUIR:
        return stability
    return Harcourt(c_mu_0=stability.stability_functions().c_mu_0)


def _given(turbulence: Turbulence, value: float) -> float | None:
    """A prescribed c3 in stable water, or `None` where it follows from the Richardson number."""
    return value if turbulence.steady_state_richardson_number is None else None


def _one_equation(turbulence: Turbulence, settings: Settings) -> AbstractClosure | None:
    """k with an algebraic length; GOTM takes kappa = 0.4 where it is to be computed."""
    if turbulence.tke_equation == "mellor_yamada":
        settings.refuse(
            "turbulence.tke_method",
            f"mellor_yamada is not supported with len_scale_method {turbulence.length_scale}; use tke",
        )
        return None
    return OneEquation(
        length=names_of(AbstractLength)[turbulence.length_scale].make(),
        local_equilibrium=turbulence.tke_equation == "local_eq",
        von_karman=0.4 if turbulence.von_karman is None else turbulence.von_karman,
        sigma_k=settings["turbulence.keps.sig_k"],
        **_common(turbulence),
    )


def _k_epsilon(turbulence: Turbulence, numbers: dict[str, float], common: dict[str, Any]) -> AbstractClosure:
    return KEpsilon(
        c_eps_1=numbers["ce1"],
        c_eps_2=numbers["ce2"],
        c_eps_3_minus=_given(turbulence, numbers["ce3minus"]),
        c_eps_3_plus=numbers["ce3plus"],
        c_eps_4=numbers["ce4"],
        sigma_k=numbers["sig_k"],
        sigma_eps=numbers["sig_e"],
        varying_schmidt_number=turbulence.varying_schmidt_number,
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
        s_h=0.41 if turbulence.equilibrium == _LANGMUIR else None,
        s_q=numbers["sq"],
        s_l=numbers["sl"],
        wall_length=wall_length,
        **common,
    )
