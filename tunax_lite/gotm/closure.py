"""GOTM's turbulence as the section `closure` of a configuration of the package.

A closure is a name, options (parts and switches) and parameters (numbers).
"""

from typing import Any

from ..closures import GenericLengthScale
from ..closures.second_moment import StabilityFunctions
from ..closures.stability import AbstractStability
from ..declarations import names_of
from .kpp import kpp_section
from .settings import Said, Settings

_EQUATIONS = {
    "dissipation": (
        "keps",
        "k_epsilon",
        {
            "ce1": "c_eps_1",
            "ce2": "c_eps_2",
            "ce3minus": "c_eps_3_minus",
            "ce3plus": "c_eps_3_plus",
            "ce4": "c_eps_4",
            "sig_k": "sigma_k",
            "sig_e": "sigma_eps",
        },
    ),
    "omega": (
        "kw",
        "k_omega",
        {
            "cw1": "c_omega_1",
            "cw2": "c_omega_2",
            "cw3minus": "c_omega_3_minus",
            "cw3plus": "c_omega_3_plus",
            "cw4": "c_omega_4",
            "sig_kw": "sigma_k",
            "sig_w": "sigma_omega",
        },
    ),
    "gls": (
        "generic",
        "generic_length_scale",
        {
            "cpsi1": "c_psi_1",
            "cpsi2": "c_psi_2",
            "cpsi3minus": "c_psi_3_minus",
            "cpsi3plus": "c_psi_3_plus",
            "cpsi4": "c_psi_4",
            "sig_kpsi": "sigma_k",
            "sig_psi": "sigma_psi",
        },
    ),
    "mellor_yamada": (
        "my",
        "mellor_yamada",
        {"e1": "e_1", "e2": "e_2", "e3": "e_3_minus", "e6": "e_6", "sq": "s_q", "sl": "s_l"},
    ),
}
"""Of the equations for a length scale: GOTM's group, the name of the closure, and that of its numbers."""

_WALLS = {"dissipation": ("ce1", "ce2"), "omega": ("cw1", "cw2"), "gls": ("cpsi1", "cpsi2")}
"""Constants of which the second must be the larger one for a logarithmic layer."""

_GENERATED = ("gen_n", "cpsi1", "cpsi2", "cpsi3plus", "sig_kpsi", "sig_psi")
"""What GOTM computes from the properties of turbulence that follow, on demand."""
_PROPERTIES = {"gen_d": "decay_rate", "gen_alpha": "shear_free_decay", "gen_l": "shear_free_slope"}

_OF_SEA_GRASS = {"keps": "cex", "kw": "cwx", "generic": "cpsix", "my": "ex"}
"""Constants of its production, which is not there."""

_CONDITIONS = {"neumann": "flux", "dirichlet": "value"}
_LANGMUIR = "quasi_eq_h15"
_INTERNAL_WAVES = {
    "off": {},
    "mellor": {"alpha": "alpha"},
    "large": {
        "klim": "weakest_tke",
        "rich_cr": "critical_richardson_number",
        "numshear": "shear_coefficient",
        "num": "viscosity",
        "nuh": "diffusivity",
    },
}
_CUSTOM = (*(f"cc{n}" for n in range(1, 7)), *(f"ct{n}" for n in range(1, 6)), "ctt")


def closure_section(settings: Settings) -> dict[str, Any] | None:
    """The closure; `None` after a refusal that leaves none."""
    method = settings["turbulence.turb_method"]
    if method == "cvmix":
        return kpp_section(settings)
    settings.without_effect("cvmix", f"turbulence.turb_method is {method}")
    get = lambda key: settings[f"turbulence.{key}"]  # noqa: E731
    length_scale, tke = get("len_scale_method"), get("tke_method")
    _ignore_inactive(settings, method, length_scale)
    common = _common(settings, method)
    if method == "no_model":
        numbers = {"viscosity": "const_num", "diffusivity": "const_nuh"}
        said = {ours: settings.said(f"turbulence.turb_param.{theirs}") for ours, theirs in numbers.items()}
        return {"name": "constant", "parameters": said}
    if length_scale not in _EQUATIONS:
        return _one_equation(settings, length_scale, tke, common)
    expected = "mellor_yamada" if length_scale == "mellor_yamada" else "tke"
    if tke != expected:
        settings.refuse(
            "turbulence.tke_method",
            f"{tke} is not supported with len_scale_method {length_scale}; use {expected}",
        )
    group, name, known = _EQUATIONS[length_scale]
    given = _numbers(settings, group, list(known), get(f"{group}.sig_peps") if group == "keps" else False)
    return _two_equations(settings, name, length_scale, given, common)


def _numbers(settings: Settings, group: str, names: list[str], varies: bool) -> dict[str, Said]:
    """Numbers of a length-scale equation, without those that others replace."""
    prefix = f"turbulence.{group}."
    if varies and settings["turbulence.turb_param.compute_kappa"]:
        raise settings.error(
            f"{prefix}sig_peps",
            "expected turb_param.compute_kappa: false with it, as GOTM does, got true; prescribe kappa",
        )
    settings.without_effect(
        f"{prefix}{ {'keps': 'cex', 'kw': 'cwx', 'my': 'ex'}.get(group, 'cpsix') }", "there is no sea grass"
    )
    if group != "generic":
        return {name: settings.said(prefix + name) for name in names}
    computed = settings[f"{prefix}compute_param"]
    for name in _GENERATED if computed else _PROPERTIES:
        settings.without_effect(prefix + name, f"generic.compute_param is {str(computed).lower()}")
    names = [*names, "gen_n"]
    if computed:
        names = ["cpsi3minus", "cpsi4", *_PROPERTIES]
    names += ["gen_m", "gen_p"]
    return {name: settings.said(prefix + name) for name in names}


def _two_equations(
    settings: Settings, name: str, length_scale: str, given: dict[str, Said], common: dict[str, Any]
) -> dict[str, Any]:
    """A closure with an equation for the length scale."""
    options, parameters = dict(common["options"]), dict(common["parameters"])
    param = "turbulence.turb_param."
    if not settings[f"{param}compute_kappa"]:
        parameters["imposed_von_karman"] = settings.said(f"{param}kappa")
    known = _EQUATIONS[length_scale][2]
    is_generated = length_scale == "gls" and settings["turbulence.generic.compute_param"]
    numbers = {ours: given[theirs] for theirs, ours in known.items() if theirs in given}
    stable = next(ours for ours in numbers if ours.endswith("3_minus"))
    if settings[f"{param}compute_c3"]:
        # c3 follows from the Richardson number; without it the prescribed one of the equation holds.
        del numbers[stable]
        parameters["steady_state_richardson_number"] = settings.said(f"{param}Ri_st")
        _check_steady_state(settings, options["stability"])
    if length_scale in _WALLS and not is_generated:
        _check_wall(settings, given, *_WALLS[length_scale])
    if length_scale == "dissipation":
        options["varying_schmidt_number"] = settings["turbulence.keps.sig_peps"]
    if length_scale == "mellor_yamada":
        options["wall_length"] = settings["turbulence.my.length"]
        if settings.peek("turbulence.turb_method") == "second_order" and _in_waves(settings):
            parameters["s_h"] = 0.41
    if is_generated:
        computed = _generated(settings, given, options["stability"])
        options["exponents"] = computed.pop("exponents")
        numbers |= computed
    elif length_scale == "gls":
        options["exponents"] = [given[f"gen_{letter}"].value for letter in "pmn"]
    return {"name": name, "options": options, "parameters": parameters | numbers}


def _generated(settings: Settings, given: dict[str, Said], stability: dict[str, Any]) -> dict[str, Any]:
    """Exponents and constants that follow from properties of turbulence, as GOTM computes them."""
    made = GenericLengthScale.generated(
        von_karman=settings["turbulence.turb_param.kappa"],
        m=given["gen_m"].value,
        p=given["gen_p"].value,
        stability=_made(stability),
        **{ours: given[theirs].value for theirs, ours in _PROPERTIES.items()},
    )
    p, m, n = made.exponents
    names = ("sigma_k", "c_psi_1", "c_psi_2", "sigma_psi")
    # GOTM gives unstable water the c3 that corresponds to that of k-epsilon.
    c_3 = (1.5 - settings["turbulence.keps.ce3plus"]) * n + m
    return {name: float(getattr(made, name)) for name in names} | {
        "c_psi_3_plus": c_3,
        "exponents": [p, m, n],
    }


def _check_wall(settings: Settings, given: dict[str, Said], first: str, second: str) -> None:
    """Refuse constants without a logarithmic layer, with which GOTM stops or has no Schmidt number."""
    if not given[second].value > given[first].value:
        raise settings.error(
            given[second].key,
            f"expected more than {first} = {given[first].value:g}, without which there is no logarithmic "
            f"layer, got {given[second].value:g}; correct one of them",
        )
    if "gen_n" in given and given["gen_n"].value >= 0.0:
        raise settings.error(
            given["gen_n"].key,
            f"expected a negative exponent, got {given['gen_n'].value:g}: a quantity that grows with the "
            "length needs a wall function, as len_scale_method mellor_yamada has it",
        )


def _check_steady_state(settings: Settings, stability: dict[str, Any]) -> None:
    """Refuse a Richardson number without equilibrium, for which GOTM finds no c3 and stops."""
    functions, wanted = _made(stability).stability_functions(), settings["turbulence.turb_param.Ri_st"]
    if not isinstance(functions, StabilityFunctions):
        return
    critical = float(functions.critical_richardson_number)
    if not wanted < critical:
        raise settings.error(
            "turbulence.turb_param.Ri_st",
            f"expected less than {critical:.3g}, the critical number of scnd_coeff "
            f"{settings.peek('turbulence.scnd.scnd_coeff')}, got {wanted:g}; lower it",
        )


def _made(stability: dict[str, Any]) -> AbstractStability:
    """The stability functions of a section, from which other constants follow."""
    numbers = {key: value.value if isinstance(value, Said) else value for key, value in stability.items()}
    return names_of(AbstractStability)[numbers.pop("name")].make(**numbers)


def _common(settings: Settings, method: str) -> dict[str, Any]:
    """Options and parameters that all closures with an equation for k share."""
    prefix = "turbulence.turb_param."
    get = lambda key: settings[f"turbulence.{key}"]  # noqa: E731
    breaking = get("bc.ubc_type") == "tke_injection"
    walls = {key: _CONDITIONS[get(f"bc.{key}")] for key in ("k_ubc", "k_lbc", "psi_ubc", "psi_lbc")}
    options: dict[str, Any] = {
        "stability": _stability(settings, method),
        "surface": {"tke": walls["k_ubc"], "length_scale": walls["psi_ubc"], "breaking_waves": breaking},
        "bottom": {"tke": walls["k_lbc"], "length_scale": walls["psi_lbc"]},
    }
    parameters: dict[str, Any] = {
        "turbulent_kinetic_energy_floor": settings.said(f"{prefix}k_min"),
        "dissipation_rate_floor": settings.said(f"{prefix}eps_min"),
        "surface_roughness_length": settings.said("surface.roughness.z0s_min"),
    }
    factor = settings.said(f"{prefix}cw")
    if breaking:
        parameters["surface.breaking_waves.energy_flux_factor"] = factor
    if settings[f"{prefix}length_lim"]:
        parameters["length_limit"] = settings.said(f"{prefix}galp")
    else:
        options["length_limit"] = None
    if settings["surface.roughness.charnock"]:
        parameters["charnock_constant"] = settings.said("surface.roughness.charnock_val")
    else:
        settings.without_effect("surface.roughness.charnock_val", "surface.roughness.charnock is false")
    waves = get("iw.method")
    if waves == "large" and method == "second_order":
        settings.without_effect("turbulence.iw", "GOTM adds such internal waves to first-order closures only")
        return {"options": options, "parameters": parameters}
    settings.without_effect("turbulence.iw", f"turbulence.iw.method is {waves}")
    if waves != "off":
        numbers = {
            ours: settings.said(f"turbulence.iw.{key}") for key, ours in _INTERNAL_WAVES[waves].items()
        }
        name = "wave_shear" if waves == "mellor" else "background_mixing"
        options["internal_waves"] = {"name": name} | numbers
    return {"options": options, "parameters": parameters}


def _in_waves(settings: Settings) -> bool:
    return settings["turbulence.scnd.method"] == _LANGMUIR


def _stability(settings: Settings, method: str) -> dict[str, Any]:
    """Stability functions of first order, or the constants of a second-order closure."""
    get = lambda key: settings[f"turbulence.{key}"]  # noqa: E731
    if method != "second_order":
        name = "brueggemann" if get("stab_method") == "icon" else get("stab_method")
        if method == "no_model":
            return {}
        section = {"name": name, "c_mu_0": settings.said("turbulence.turb_param.cm0_fix")}
        prandtl = settings.said("turbulence.turb_param.Prandtl0_fix")
        return section if name == "brueggemann" else section | {"neutral_prandtl_number": prandtl}
    equilibrium = {"weak_eq_kb_eq": "weak"}.get(get("scnd.method"), "quasi")
    constants: dict[str, Any] = {}
    if get("scnd.scnd_coeff") == "custom":
        constants = {name: settings.said(f"turbulence.scnd.{name}") for name in _CUSTOM}
        name = "canuto_a"  # with other numbers
    else:
        for key in _CUSTOM:
            settings.without_effect(f"turbulence.scnd.{key}", "turbulence.scnd.scnd_coeff is not custom")
        name = get("scnd.scnd_coeff").replace("-", "_")
    section = {"name": name, **constants, "equilibrium": equilibrium}
    if not _in_waves(settings):
        return section
    # With Langmuir turbulence the functions have constants of their own; c_mu0 is that of the given set.
    return {"name": "harcourt", "c_mu_0": float(_made(section).stability_functions().c_mu_0)}


def _one_equation(
    settings: Settings, length_scale: str, tke: str, common: dict[str, Any]
) -> dict[str, Any] | None:
    """k with an algebraic length; GOTM takes kappa = 0.4 where it is to be computed."""
    if tke == "mellor_yamada":
        settings.refuse(
            "turbulence.tke_method",
            f"mellor_yamada is not supported with len_scale_method {length_scale}; use tke",
        )
        return None
    kappa: Any = 0.4
    if not settings["turbulence.turb_param.compute_kappa"]:
        kappa = settings.said("turbulence.turb_param.kappa")
    if settings["turbulence.turb_param.compute_c3"]:
        settings.said("turbulence.turb_param.Ri_st")
    numbers = {"von_karman": kappa, "sigma_k": settings.said("turbulence.keps.sig_k")}
    options = {"length": length_scale, "local_equilibrium": tke == "local_eq"}
    return {
        "name": "one_equation",
        "options": common["options"] | options,
        "parameters": common["parameters"] | numbers,
    }


def _ignore_inactive(settings: Settings, method: str, length_scale: str) -> None:
    """Say why groups that are not in effect are not."""
    say = lambda key, reason: settings.without_effect(f"turbulence.{key}", reason)  # noqa: E731
    if method == "no_model":
        say("bc", "turbulence.turb_method is no_model")
        say("turb_param", "turbulence.turb_method is no_model")
    for group, _, _ in _EQUATIONS.values():
        say(group, f"turbulence.len_scale_method is {length_scale}")
    say("turb_param.kappa", "turb_param.compute_kappa is true")
    say("turb_param.Ri_st", "turb_param.compute_c3 is false")
    say("turb_param.galp", "turb_param.length_lim is false")
    for name in ("const_num", "const_nuh"):
        say(f"turb_param.{name}", f"turbulence.turb_method is {method}")
    for name in ("kb_min", "epsb_min"):
        say(f"turb_param.{name}", "nothing depends on the buoyancy variance")
    say("turb_param.cm0_fix", "a second-order closure has its own")
    say("turb_param.Prandtl0_fix", "a second-order closure has its own")
    say("bc.lbc_type", "there is only one")
    say("scnd.epsb_method", "there is only one")
    if method == "second_order":
        say("stab_method", "turbulence.turb_method is second_order")
        say("scnd.kb_method", "neither of GOTM's two equilibria depends on the buoyancy variance")
        return
    say("scnd", f"turbulence.turb_method is {method}")
