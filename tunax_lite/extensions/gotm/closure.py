"""GOTM's turbulence settings as the section `closure` of a configuration of this package.

A closure consists of a name, options (parts and switches) and parameters (numbers).
"""

import math

import equinox as eqx

from ..._types import JSON, Scalar
from ...closures import GenericLengthScale
from ...closures.second_moment import StabilityFunctions
from ...closures.stability import AbstractStability
from ...declarations import names_of
from .keys import WORDS
from .settings import Content, KeyedValue, Settings

_EQUATIONS: dict[str, JSON] = WORDS["equations"]
_PROPERTIES: dict[str, str] = WORDS["properties"]
_LENGTHS = "parabolic", "triangular", "blackadar"
_FIRST_ORDER = "constant", "munk_anderson", "schumann_gerz"
_WALL = {"keps": ("ce1", "ce2"), "kw": ("cw1", "cw2"), "generic": ("cpsi1", "cpsi2")}
"""Pairs of constants, of which the second must be larger for a logarithmic layer to exist."""


def closure_section(settings: Settings) -> dict[str, Content] | None:
    """Build the section `closure`; `None` if the equations for k or the length scale are not supported.

    Raises:
        ConfigError: settings that contradict each other.
    """
    method = settings["turbulence.turb_method"]
    if method == "cvmix":
        return kpp_section(settings)
    if method == "no_model":
        numbers = {"const_num": "viscosity", "const_nuh": "diffusivity"}
        return {"name": "constant", "parameters": settings.renamed("turbulence.turb_param", numbers)}
    length_scale, tke = (settings[f"turbulence.{key}"] for key in ("len_scale_method", "tke_method"))
    if length_scale not in (*_EQUATIONS, *_LENGTHS):
        expected = " or ".join(_LENGTHS)
        settings.refuse("turbulence.len_scale_method", f"{length_scale} is not supported; use {expected}")
        return None
    common = _common(settings, method)
    if length_scale in _LENGTHS:
        return _one_equation(settings, length_scale, common)
    expected = "mellor_yamada" if length_scale == "mellor_yamada" else "tke"
    if tke != expected:
        settings.refuse(
            "turbulence.tke_method",
            f"{tke} is not supported with len_scale_method {length_scale}; use {expected}",
        )
    equation = _EQUATIONS[length_scale]
    return _two_equations(settings, equation, _numbers(settings, equation), common)


def _numbers(settings: Settings, equation: dict[str, JSON]) -> dict[str, KeyedValue]:
    """Constants of a length-scale equation by GOTM's names; without those that `_generated` computes."""
    prefix, names = f"turbulence.{equation['group']}.", list(equation["numbers"])
    if equation["group"] == "generic":
        computed = settings[f"{prefix}compute_param"]
        names = ["cpsi3minus", "cpsi4", *_PROPERTIES] if computed else [*names, "gen_n"]
        names += ["gen_m", "gen_p"]
    return {name: settings.keyed(prefix + name) for name in names}


def _two_equations(
    settings: Settings,
    equation: dict[str, JSON],
    constants: dict[str, KeyedValue],
    common: dict[str, Content],
) -> dict[str, Content]:
    """Build the section of a closure with an equation for the length scale."""
    options, parameters = dict(common["options"]), dict(common["parameters"])
    param, group = "turbulence.turb_param.", equation["group"]
    # The generic equation always computes kappa.
    if not settings[f"{param}compute_kappa"] and group != "generic":
        parameters["imposed_von_karman"] = settings.keyed(f"{param}kappa")
    numbers = {ours: constants[theirs] for theirs, ours in equation["numbers"].items() if theirs in constants}
    if settings[f"{param}compute_c3"]:
        # c3 then follows from the steady-state Richardson number.
        del numbers[next(ours for ours in numbers if ours.endswith("3_minus"))]
        parameters["steady_state_richardson_number"] = settings.keyed(f"{param}Ri_st")
        _check_steady_state(settings, options["stability"])
    first, second = (constants.get(name) for name in _WALL.get(group, ("", "")))
    if first is not None and second is not None and not second.value > first.value:
        expected = f"expected more than {first.key.rpartition('.')[2]} = {first.value:g}"
        raise settings.error(second.key, f"{expected}, got {second.value:g}; correct one of them")
    if group == "generic" and settings["turbulence.generic.compute_param"]:
        numbers |= _generated(settings, constants, options["stability"])
        options["exponents"] = numbers.pop("exponents")
    elif group == "generic":
        options["exponents"] = [constants[f"gen_{letter}"].value for letter in "pmn"]
    if group == "generic":  # k-epsilon's value for unstable stratification, also with the generic equation
        unstable = settings.keyed("turbulence.keps.ce3plus")
        exponents: Content = options["exponents"]
        _, m, n = exponents
        numbers["c_psi_3_plus"] = unstable._replace(value=(1.5 - unstable.value) * n + m)
    if settings["seagrass.method"] == "file":
        shear, seagrass = (settings.keyed(f"turbulence.{group}.{name}") for name in equation["canopy"])
        if shear.value <= 0.0:
            settings.refuse(shear.key, "with sea grass a constant above 0 is needed")
        elif seagrass.value != shear.value:
            parameters["stirring_ratio"] = seagrass._replace(value=seagrass.value / shear.value)
    if group == "keps":
        options["varying_schmidt_number"] = settings["turbulence.keps.sig_peps"]
    if group == "my":
        options["wall_length"] = settings["turbulence.my.length"]
        if options["stability"]["name"] == "harcourt":
            parameters["s_h"] = 0.41
    return {"name": equation["closure"], "options": options, "parameters": parameters | numbers}


def _check_steady_state(settings: Settings, stability: dict[str, Content]) -> None:
    """Raise `ConfigError` for a steady-state Richardson number without equilibrium; GOTM stops there too."""
    number = _critical_richardson_number(_stability_functions(stability, settings))
    steady_state = settings["turbulence.turb_param.Ri_st"]
    if number is not None and not steady_state < (critical := float(number)):
        expected = (
            "constants with a critical Richardson number"
            if math.isnan(critical)
            else f"less than {critical:.3g}"
        )
        got = f"{steady_state:g}; lower it, or correct the constants of turbulence.scnd"
        raise settings.error("turbulence.turb_param.Ri_st", f"expected {expected}, got {got}")


@eqx.filter_jit  # one compiled program instead of many
def _critical_richardson_number(stability: AbstractStability) -> Scalar | None:
    functions = stability.stability_functions()
    return functions.critical_richardson_number if isinstance(functions, StabilityFunctions) else None


def _generated(
    settings: Settings, constants: dict[str, KeyedValue], stability: dict[str, Content]
) -> dict[str, Content]:
    """Exponents and constants that follow from observed properties of turbulence, as GOTM computes them."""
    properties = {**_PROPERTIES, "gen_m": "m", "gen_p": "p"}
    key = "turbulence.generic.compute_param"
    try:
        closure = GenericLengthScale.generated(
            von_karman=settings["turbulence.turb_param.kappa"],
            stability=_stability_functions(stability, settings),
            **{ours: constants[theirs].value for theirs, ours in properties.items()},
        )
    except (ValueError, ZeroDivisionError) as error:
        got = ", ".join(f"{name} {constants[name].value:g}" for name in properties)
        raise settings.error(key, f"expected properties of turbulence, got {got}: {error}") from None
    p, m, n = closure.exponents
    names = ("sigma_k", "c_psi_1", "c_psi_2", "sigma_psi")
    numbers: dict[str, Content] = {name: KeyedValue(float(getattr(closure, name)), key) for name in names}
    return {**numbers, "exponents": [p, m, n]}


def _stability_functions(stability: dict[str, Content], settings: Settings) -> AbstractStability:
    """Build the stability functions of a section, to compute constants that follow from them."""
    numbers = {
        key: value.value if isinstance(value, KeyedValue) else value for key, value in stability.items()
    }
    try:
        return names_of(AbstractStability)[numbers.pop("name")].make(**numbers)
    except ValueError as error:
        name = str(error).partition(":")[0]
        if not isinstance(keyed := stability.get(name), KeyedValue):
            raise
        raise settings.error(keyed.key, str(error)) from None


def _common(settings: Settings, method: str) -> dict[str, Content]:
    """Options and parameters shared by all closures with an equation for k."""
    prefix = "turbulence.turb_param."
    get = lambda key: settings[f"turbulence.{key}"]  # noqa: E731
    breaking = get("bc.ubc_type") == "tke_injection"
    conditions = {
        key: WORDS["conditions"][get(f"bc.{key}")] for key in ("k_ubc", "k_lbc", "psi_ubc", "psi_lbc")
    }
    options: dict[str, Content] = {
        "stability": _stability(settings, method),
        "surface": {
            "tke": conditions["k_ubc"],
            "length_scale": conditions["psi_ubc"],
            "breaking_waves": breaking,
        },
        "bottom": {"tke": conditions["k_lbc"], "length_scale": conditions["psi_lbc"]},
    }
    floors = {"k_min": "turbulent_kinetic_energy_floor", "eps_min": "dissipation_rate_floor"}
    parameters = settings.renamed("turbulence.turb_param", floors)
    parameters["surface_roughness_length"] = settings.keyed("surface.roughness.z0s_min")
    factor = settings.keyed(f"{prefix}cw")  # counts as used also without breaking waves
    if breaking:
        parameters["surface.breaking_waves.energy_flux_factor"] = factor
    if settings[f"{prefix}length_lim"]:
        parameters["length_limit"] = settings.keyed(f"{prefix}galp")
    else:
        options["length_limit"] = None
    if settings["surface.roughness.charnock"]:
        parameters["charnock_constant"] = settings.keyed("surface.roughness.charnock_val")
    waves = get("iw.method")
    if waves == "mellor":
        settings.refuse("turbulence.iw.method", "mellor is not supported; use large or off")
    elif waves == "large" and method != "second_order":  # GOTM mixes by them in first-order closures only
        numbers = settings.renamed("turbulence.iw", WORDS["internal_waves"])
        options["internal_waves"] = {"name": "background_mixing"} | numbers
    return {"options": options, "parameters": parameters}


def _stability(settings: Settings, method: str) -> dict[str, Content]:
    """The section `stability`, of a first- or second-order closure."""
    get = lambda key: settings[f"turbulence.{key}"]  # noqa: E731
    if method != "second_order":
        name = get("stab_method")
        if name not in _FIRST_ORDER:
            expected = " or ".join(_FIRST_ORDER)
            settings.refuse("turbulence.stab_method", f"{name} is not supported; use {expected}")
            name = "constant"
        names = {"cm0_fix": "c_mu_0", "Prandtl0_fix": "neutral_prandtl_number"}
        return {"name": name} | settings.renamed("turbulence.turb_param", names)
    equilibrium = {"weak_eq_kb_eq": "weak"}.get(get("scnd.method"), "quasi")
    constants: dict[str, Content] = {}
    if get("scnd.scnd_coeff") == "custom":
        constants = settings.renamed("turbulence.scnd", {name: name for name in WORDS["second_moment"]})
        name = "canuto_a"  # all of its constants are replaced
    else:
        name = get("scnd.scnd_coeff").replace("-", "_")
    section = {"name": name, **constants, "equilibrium": equilibrium}
    if get("scnd.method") != "quasi_eq_h15":
        return section
    # With Langmuir turbulence the functions use other constants; c_mu0 is that of the chosen set.
    return {
        "name": "harcourt",
        "c_mu_0": float(_stability_functions(section, settings).stability_functions().c_mu_0),
    }


def _one_equation(
    settings: Settings, length_scale: str, common: dict[str, Content]
) -> dict[str, Content] | None:
    """k-equation with an algebraic length scale; with compute_kappa GOTM uses kappa = 0.4."""
    tke = settings["turbulence.tke_method"]
    if tke != "tke":
        settings.refuse(
            "turbulence.tke_method", f"{tke} is not supported with len_scale_method {length_scale}; use tke"
        )
        return None
    kappa: Content = 0.4
    if not settings["turbulence.turb_param.compute_kappa"]:
        kappa = settings.keyed("turbulence.turb_param.kappa")
    if settings["turbulence.turb_param.compute_c3"]:
        settings.keyed("turbulence.turb_param.Ri_st")  # counts as used: there is no c3 to compute
    numbers = {"von_karman": kappa, "sigma_k": settings.keyed("turbulence.keps.sig_k")}
    return {
        "name": "one_equation",
        "options": common["options"] | {"length": length_scale},
        "parameters": common["parameters"] | numbers,
    }


_NO_FLOOR = {"unresolved_shear_floor": 1e-14}
"""Practically no floor, as in GOTM [m2 s-2]."""
_LEAST_WAVE_HEIGHT = 0.02
"""Smallest wave height that GOTM uses [m]."""


def kpp_section(settings: Settings) -> dict[str, Content]:
    """KPP with its surface and bottom layers, either of which may be absent."""
    options, parameters = _interior(settings)
    options["closed_base"] = True
    surface, bottom = (f"cvmix.{end}_layer" for end in ("surface", "bottom"))
    if settings[f"{surface}.use"]:
        layer, numbers = _layer(settings, surface)
        options |= layer | {"enhanced_diffusivity": settings[f"{surface}.use_enhanced_diff"]}
        options["langmuir"] = _langmuir(settings)
        parameters |= numbers | _NO_FLOOR
    else:
        options["surface_layer"] = False
    if settings[f"{bottom}.use"]:
        layer, numbers = _layer(settings, bottom)
        options["bottom_layer"] = layer | numbers | _NO_FLOOR
        if settings["surface.swr.method"] != "constant" or settings["surface.swr.constant_value"] > 0.0:
            settings.note(
                f"{bottom}.use",
                "radiation absorbed near the bottom thickens the bottom layer; in GOTM it thins the layer",
            )
    return {"name": "kpp", "options": options, "parameters": parameters}


def _layer(settings: Settings, group: str) -> tuple[dict[str, Content], dict[str, Content]]:
    """Options and parameters of the surface or the bottom boundary layer."""
    _check_supported(settings, group, WORDS["supported_layer"])
    matches = settings[f"{group}.match_technique"] == "gradient"
    if matches:
        _check_supported(settings, group, {"OBL_interp_type": ["lmd94"]})
    options = {
        "shape": "match_gradient" if matches else "simple",
        "match_slope": matches and not settings[f"{group}.use_noDGat1"],
    }
    names = {"Ri_c": "critical_richardson_number", "surface_layer_extent": "surface_layer_fraction"}
    return options, settings.renamed(group, names)


def _langmuir(settings: Settings) -> dict[str, Content] | None:
    _check_supported(settings, "cvmix.surface_layer", {"langmuir_method": ["none", *WORDS["langmuir"]]})
    method = settings["cvmix.surface_layer.langmuir_method"]
    if method not in WORDS["langmuir"]:
        return None
    height = _LEAST_WAVE_HEIGHT
    if settings["waves.Hs.method"] == "constant":
        height = max(_LEAST_WAVE_HEIGHT, settings["waves.Hs.constant_value"])
    # With prescribed fluxes GOTM reads no wind, and treats it as a westerly.
    direction = 0.0 if settings["surface.fluxes.method"] == "off" else None
    wind = "from the west, as in GOTM without bulk formulae" if direction == 0.0 else "along the wind stress"
    settings.note(
        "cvmix.surface_layer.langmuir_method",
        f"the wind direction of Langmuir turbulence is {wind}",
    )
    return {"name": WORDS["langmuir"][method], "wave_roughness": 4.0 * height, "wind_direction": direction}


def _interior(settings: Settings) -> tuple[dict[str, Content], dict[str, Content]]:
    """Options and parameters of the mixing in the interior."""
    group = "cvmix.interior"
    get = lambda key: settings[f"{group}.{key}"]  # noqa: E731
    options: dict[str, Content] = {"shear": None}
    background: dict[str, Content] = {"background_viscosity": 0.0, "background_diffusivity": 0.0}
    if not get("use"):
        return options, background
    _check_supported(settings, group, WORDS["supported_interior"])
    if get("background.use"):
        names = {name: f"background_{name}" for name in ("viscosity", "diffusivity")}
        background = settings.renamed(f"{group}.background", names)
    if get("shear.use"):
        _check_supported(settings, f"{group}.shear", WORDS["supported_shear"])
        options["shear"] = {"name": "large"} | settings.renamed(f"{group}.shear", WORDS["interior_shear"])
    return options, background


def _check_supported(settings: Settings, group: str, supported: dict[str, list[JSON]]) -> None:
    """Reject values of keys of a group other than the supported ones."""
    for key, values in supported.items():
        if settings[f"{group}.{key}"] not in values:
            expected = " or ".join(str(value).lower() for value in values)
            settings.refuse(f"{group}.{key}", f"not supported; use {expected}")
