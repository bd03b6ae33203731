"""GOTM's KPP, which is that of CVMix: the section `cvmix` as the section `closure` of a configuration."""

from typing import Any

from .settings import Settings

_SHAPES = {
    "simple": "simple",
    "parabolic": "parabolic_nonlocal",
    "gradient": "match_gradient",
    "both": "match_both",
}
_LANGMUIR = {"lwf16": "li_2016", "lf17": "li_2017", "rwh16": "reichl_2016"}
_LEAST_WAVES = 0.02
"""Height of the waves that GOTM assumes at least [m]."""


def kpp_section(settings: Settings) -> dict[str, Any] | None:
    """The closure, or `None` after a refusal that leaves none."""
    get = lambda key: settings[f"cvmix.surface_layer.{key}"]  # noqa: E731
    settings.without_effect("turbulence", "turbulence.turb_method is cvmix")
    if settings["cvmix.bottom_layer.use"]:
        settings.refuse("cvmix.bottom_layer.use", "a boundary layer at the bottom is not supported")
    settings.without_effect("cvmix.bottom_layer", "cvmix.bottom_layer.use is false")
    if not get("use"):
        settings.refuse("cvmix.surface_layer.use", "KPP without its surface layer is not supported")
        settings.without_effect("cvmix", "cvmix.surface_layer.use is false")
        return None
    shape = get("match_technique")
    matches = shape in ("gradient", "both")
    if matches and get("OBL_interp_type") != "lmd94":
        settings.refuse("cvmix.surface_layer.OBL_interp_type", "only lmd94 is supported")
    for name in () if matches else ("OBL_interp_type", "use_noDGat1"):
        reason = f"cvmix.surface_layer.match_technique is {shape}"
        settings.without_effect(f"cvmix.surface_layer.{name}", reason)
    options, background = _interior(settings)
    return {
        "name": "kpp",
        "options": {
            "depth_interpolation": get("bulk_Ri_interp_type"),
            "shape": _SHAPES[shape],
            "match_slope": matches and not get("use_noDGat1"),
            "enhanced_diffusivity": get("use_enhanced_diff"),
            "limit_by_ekman_depth": get("check_Ekman_length"),
            "limit_by_monin_obukhov_depth": get("check_MonOb_length"),
            "langmuir": _langmuir(settings),
            **options,
        },
        "parameters": {
            "critical_richardson_number": settings.said("cvmix.surface_layer.Ri_c"),
            "surface_layer_fraction": settings.said("cvmix.surface_layer.surface_layer_extent"),
            "unresolved_shear_floor": 1e-14,  # GOTM has none
            **background,
        },
    }


def _langmuir(settings: Settings) -> dict[str, Any] | None:
    method = settings["cvmix.surface_layer.langmuir_method"]
    if method == "none":
        return None
    if settings["waves.Hs.method"] != "constant":
        settings.refuse("waves.Hs.method", "waves whose height varies are not supported with KPP")
        return None
    height = max(_LEAST_WAVES, settings["waves.Hs.constant_value"])
    # GOTM reads no wind where the fluxes are prescribed, and so takes it as one from the west.
    direction = 0.0 if settings["surface.fluxes.method"] == "off" else None
    wind = "from the west, as in GOTM without bulk formulae" if direction == 0.0 else "along the wind stress"
    settings.note(
        "cvmix.surface_layer.langmuir_method",
        f"the wind that turns Langmuir cells blows {wind}; the drift at the surface is extrapolated from the "
        "two uppermost cells",
    )
    return {"name": _LANGMUIR[method], "wave_roughness": 4.0 * height, "wind_direction": direction}


def _interior(settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options and parameters of the mixing below the boundary layer."""
    group = "cvmix.interior"
    get = lambda key: settings[f"{group}.{key}"]  # noqa: E731
    options: dict[str, Any] = {"shear": None}
    background: dict[str, Any] = {"background_viscosity": 0.0, "background_diffusivity": 0.0}
    if not get("use"):
        settings.without_effect(group, f"{group}.use is false")
        return options, background
    for name in ("background", "shear", "convection", "tidal_mixing", "double_diffusion"):
        if not get(f"{name}.use"):
            settings.without_effect(f"{group}.{name}", f"{group}.{name}.use is false")
    if get("tidal_mixing.use"):
        settings.refuse(f"{group}.tidal_mixing.use", "tidal mixing is not supported, nor is it in GOTM")
    if get("background.use"):
        names = ("viscosity", "diffusivity")
        background = {f"background_{name}": settings.said(f"{group}.background.{name}") for name in names}
    if get("shear.use"):
        options |= _shear(settings, f"{group}.shear")
    if get("convection.use"):
        if not get("convection.basedOnBVF"):
            settings.refuse(f"{group}.convection.basedOnBVF", "only true is supported, also by GOTM")
        options["convection"] = {
            "name": "adjustment",
            "viscosity": settings.said(f"{group}.convection.viscosity"),
            "diffusivity": settings.said(f"{group}.convection.diffusivity"),
            "threshold": min(get("convection.triggerBVF"), 0.0),
        }
    if get("double_diffusion.use"):
        options["double_diffusion"] = "fingers_and_layers"
    return options, background


def _shear(settings: Settings, group: str) -> dict[str, Any]:
    scheme = settings[f"{group}.mix_scheme"]
    numbers = {
        "pp": {"PP_nu_zero": "coefficient", "PP_alpha": "alpha", "PP_exp": "exponent"},
        "kpp": {"KPP_nu_zero": "coefficient", "KPP_Ri_zero": "limiting_richardson_number"},
    }
    for name in (*numbers["kpp" if scheme == "pp" else "pp"], *(["KPP_exp"] if scheme == "pp" else [])):
        settings.without_effect(f"{group}.{name}", f"mix_scheme is {scheme}")
    if scheme == "kpp" and settings[f"{group}.KPP_exp"] != 3.0:
        settings.refuse(f"{group}.KPP_exp", "only an exponent of 3 is supported")
    said = {ours: settings.said(f"{group}.{theirs}") for theirs, ours in numbers[scheme].items()}
    name = "pacanowski_philander" if scheme == "pp" else "large"
    return {"shear": {"name": name, **said}, "n_smoothing": settings.said(f"{group}.num_smooth_Ri")}
