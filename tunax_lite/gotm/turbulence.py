"""GOTM's turbulence as plain numbers: what is in effect, and why the rest is not."""

import dataclasses

from .keys import KEYS
from .settings import Settings

_EQUATIONS = {"dissipation": "keps", "omega": "kw", "mellor_yamada": "my", "gls": "generic"}
"""Groups of the length-scale equations."""

_GENERATED = {"gen_d", "gen_alpha", "gen_l"}
"""Properties of turbulence from which GOTM computes the generic equation."""


@dataclasses.dataclass(frozen=True)
class Turbulence:
    """Settings of the section `turbulence` that are in effect, by GOTM's names.

    Args:
        method: `no_model`, `first_order` or `second_order`.
        tke_equation: `tke`, `mellor_yamada` or `local_eq`.
        length_scale: `dissipation`, `omega`, `gls`, `mellor_yamada`, or the name of an algebraic length.
        stability: functions of a first-order closure, or the coefficients of a second-order one; `custom`
            for those in `coefficients`.
        equilibrium: `quasi_eq`, `weak_eq_kb_eq` or `quasi_eq_h15`; `None` for first order.
        coefficients: cc1 to ctt of `custom`; empty otherwise.
        length_equation: numbers of the length-scale equation; `None` for an algebraic length.
        barotropic_length: of the Mellor-Yamada equation.
        generated: whether GOTM computes the generic equation from gen_d, gen_alpha, gen_l and gen_m;
            `ce3plus` of k-epsilon then is among the numbers.
        varying_schmidt_number: whether that of epsilon follows Burchard (2001) under breaking waves.
        boundary: `neumann` or `dirichlet` of k_ubc, k_lbc, psi_ubc, psi_lbc.
        wave_breaking: whether waves inject energy at the surface.
        constants: numbers of `turb_param` that are in effect.
        von_karman: prescribed; `None` where it follows from the other numbers.
        steady_state_richardson_number: from which c3 follows; `None` where c3 is prescribed.
        length_limit: coefficient of Galperin et al. (1988); `None` for none.
        surface_roughness_length: z0s, or its least value with Charnock's formula [m].
        charnock: constant of Charnock's formula; `None` for a constant roughness.
        internal_waves: `off`, `mellor` or `large`, and its numbers.
    """

    method: str
    tke_equation: str
    length_scale: str
    stability: str
    equilibrium: str | None
    coefficients: dict[str, float]
    length_equation: dict[str, float] | None
    barotropic_length: str
    generated: bool
    varying_schmidt_number: bool
    boundary: dict[str, str]
    wave_breaking: bool
    constants: dict[str, float]
    von_karman: float | None
    steady_state_richardson_number: float | None
    length_limit: float | None
    surface_roughness_length: float
    charnock: float | None
    internal_waves: tuple[str, dict[str, float]]


def read_turbulence(settings: Settings) -> Turbulence | None:
    """Turbulence of a configuration; `None` where it is KPP, which has a section of its own."""
    method = settings["turbulence.turb_method"]
    if method == "cvmix":
        return None
    settings.without_effect("cvmix", f"turbulence.turb_method is {method}")
    get = lambda key: settings[f"turbulence.{key}"]  # noqa: E731
    length_scale, is_second_order = get("len_scale_method"), method == "second_order"
    equation = _EQUATIONS.get(length_scale)
    _ignore_inactive(settings, method, length_scale)
    charnock = settings["surface.roughness.charnock"]
    if not charnock:
        settings.without_effect("surface.roughness.charnock_val", "surface.roughness.charnock is false")
    return Turbulence(
        method=method,
        tke_equation=get("tke_method"),
        length_scale=length_scale,
        stability=get("scnd.scnd_coeff") if is_second_order else get("stab_method"),
        equilibrium=get("scnd.method") if is_second_order else None,
        coefficients=_custom(settings) if is_second_order else {},
        length_equation=None if equation is None else _numbers(settings, equation),
        barotropic_length=get("my.length") if equation == "my" else "parabolic",
        generated=equation == "generic" and get("generic.compute_param"),
        varying_schmidt_number=equation == "keps" and get("keps.sig_peps"),
        boundary={key: get(f"bc.{key}") for key in ("k_ubc", "k_lbc", "psi_ubc", "psi_lbc")},
        wave_breaking=get("bc.ubc_type") == "tke_injection",
        constants=_constants(settings, method),
        von_karman=None if get("turb_param.compute_kappa") else get("turb_param.kappa"),
        steady_state_richardson_number=get("turb_param.Ri_st") if get("turb_param.compute_c3") else None,
        length_limit=get("turb_param.galp") if get("turb_param.length_lim") else None,
        surface_roughness_length=settings["surface.roughness.z0s_min"],
        charnock=settings["surface.roughness.charnock_val"] if charnock else None,
        internal_waves=_internal_waves(settings, is_second_order),
    )


def _numbers(settings: Settings, group: str) -> dict[str, float]:
    """Numbers of a length-scale equation, without those that others replace."""
    prefix = f"turbulence.{group}."
    names = [path.removeprefix(prefix) for path, key in KEYS.items() if path.startswith(prefix)]
    names = [name for name in names if KEYS[prefix + name].kind == "number"]
    # The production by sea grass is not there.
    unused = {"cex", "cwx", "cpsix", "ex"}
    for name in unused & set(names):
        settings.without_effect(prefix + name, "there is no sea grass")
    if group == "generic":
        computed = settings[f"{prefix}compute_param"]
        given = {"gen_n", "cpsi1", "cpsi2", "cpsi3plus", "sig_kpsi", "sig_psi"} if computed else _GENERATED
        for name in given:
            reason = "generic.compute_param is true" if computed else "generic.compute_param is false"
            settings.without_effect(prefix + name, reason)
        unused |= given
    numbers = {name: settings[prefix + name] for name in names if name not in unused}
    if group == "generic" and settings[f"{prefix}compute_param"]:
        numbers |= {
            "ce3plus": settings["turbulence.keps.ce3plus"],
            "kappa": settings["turbulence.turb_param.kappa"],
        }
    return numbers


def _internal_waves(settings: Settings, is_second_order: bool) -> tuple[str, dict[str, float]]:
    """Method and numbers of mixing by internal waves."""
    method = settings["turbulence.iw.method"]
    if method == "large" and is_second_order:
        settings.without_effect("turbulence.iw", "GOTM adds such internal waves to first-order closures only")
        return "off", {}
    names = {"off": (), "mellor": ("alpha",), "large": ("klim", "rich_cr", "numshear", "num", "nuh")}[method]
    settings.without_effect("turbulence.iw", f"turbulence.iw.method is {method}")
    return method, {name: settings[f"turbulence.iw.{name}"] for name in names}


def _custom(settings: Settings) -> dict[str, float]:
    names = [*(f"cc{n}" for n in range(1, 7)), *(f"ct{n}" for n in range(1, 6)), "ctt"]
    if settings["turbulence.scnd.scnd_coeff"] == "custom":
        return {name: settings[f"turbulence.scnd.{name}"] for name in names}
    for name in names:
        settings.without_effect(f"turbulence.scnd.{name}", "turbulence.scnd.scnd_coeff is not custom")
    return {}


def _constants(settings: Settings, method: str) -> dict[str, float]:
    names = {
        "no_model": ("const_num", "const_nuh"),
        "first_order": ("cm0_fix", "Prandtl0_fix", "cw", "k_min", "eps_min"),
        "second_order": ("cw", "k_min", "eps_min"),
    }[method]
    return {name: settings[f"turbulence.turb_param.{name}"] for name in names}


def _ignore_inactive(settings: Settings, method: str, length_scale: str) -> None:
    """Say why groups that are not in effect are not."""
    say = lambda key, reason: settings.without_effect(f"turbulence.{key}", reason)  # noqa: E731
    if method == "no_model":
        say("bc", "turbulence.turb_method is no_model")
        say("turb_param", "turbulence.turb_method is no_model")
    for group in _EQUATIONS.values():
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
