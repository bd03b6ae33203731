"""GOTM's KPP, which is that of CVMix: the section `cvmix` as a closure."""

from typing import Any

from ..closures import (
    KPP,
    DoubleDiffusion,
    InteriorConvection,
    Langmuir,
    LargeShear,
    PacanowskiPhilanderShear,
)
from .settings import Settings

_SHAPES = {
    "simple": "simple",
    "parabolic": "parabolic_nonlocal",
    "gradient": "match_gradient",
    "both": "match_both",
}
_LANGMUIR = {"lwf16": "LWF16", "lf17": "LF17", "rwh16": "RWHGK16"}
_LEAST_WAVES = 0.02
"""Height of the waves that GOTM assumes at least [m]."""


def kpp_of(settings: Settings) -> KPP | None:
    """The closure, or `None` after a refusal that leaves none."""
    get = lambda key: settings[f"cvmix.{key}"]  # noqa: E731
    settings.without_effect("turbulence", "turbulence.turb_method is cvmix")
    if get("bottom_layer.use"):
        settings.refuse("cvmix.bottom_layer.use", "a boundary layer at the bottom is not supported")
    settings.without_effect("cvmix.bottom_layer", "cvmix.bottom_layer.use is false")
    if not get("surface_layer.use"):
        settings.refuse("cvmix.surface_layer.use", "KPP without its surface layer is not supported")
        settings.without_effect("cvmix", "cvmix.surface_layer.use is false")
        return None
    shape = get("surface_layer.match_technique")
    if shape in ("gradient", "both"):
        if get("surface_layer.OBL_interp_type") != "lmd94":
            settings.refuse("cvmix.surface_layer.OBL_interp_type", "only lmd94 is supported")
    else:
        for name in ("OBL_interp_type", "use_noDGat1"):
            reason = f"cvmix.surface_layer.match_technique is {shape}"
            settings.without_effect(f"cvmix.surface_layer.{name}", reason)
    return KPP(
        critical_richardson_number=get("surface_layer.Ri_c"),
        surface_layer_fraction=get("surface_layer.surface_layer_extent"),
        unresolved_shear_floor=1e-14,  # GOTM has none
        depth_interpolation=get("surface_layer.bulk_Ri_interp_type"),
        shape=_SHAPES[shape],
        match_slope=shape in ("gradient", "both") and not get("surface_layer.use_noDGat1"),
        enhanced_diffusivity=get("surface_layer.use_enhanced_diff"),
        limit_by_ekman_depth=get("surface_layer.check_Ekman_length"),
        limit_by_monin_obukhov_depth=get("surface_layer.check_MonOb_length"),
        langmuir=_langmuir(settings),
        **_interior(settings),
    )


def _langmuir(settings: Settings) -> Langmuir | None:
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
    return Langmuir(method=_LANGMUIR[method], wave_roughness=4.0 * height, wind_direction=direction)


def _interior(settings: Settings) -> dict[str, Any]:
    """Mixing below the boundary layer."""
    get = lambda key: settings[f"cvmix.interior.{key}"]  # noqa: E731
    parts: dict[str, Any] = {"background_viscosity": 0.0, "background_diffusivity": 0.0, "shear": None}
    if not get("use"):
        settings.without_effect("cvmix.interior", "cvmix.interior.use is false")
        return parts
    for name in ("background", "shear", "convection", "tidal_mixing", "double_diffusion"):
        if not get(f"{name}.use"):
            settings.without_effect(f"cvmix.interior.{name}", f"cvmix.interior.{name}.use is false")
    if get("tidal_mixing.use"):
        settings.refuse("cvmix.interior.tidal_mixing.use", "tidal mixing is not supported, nor is it in GOTM")
    if get("background.use"):
        parts["background_viscosity"] = get("background.viscosity")
        parts["background_diffusivity"] = get("background.diffusivity")
    if get("shear.use"):
        parts |= _shear(settings)
    if get("convection.use"):
        if not get("convection.basedOnBVF"):
            settings.refuse("cvmix.interior.convection.basedOnBVF", "only true is supported, also by GOTM")
        parts["convection"] = InteriorConvection(
            viscosity=get("convection.viscosity"),
            diffusivity=get("convection.diffusivity"),
            threshold=min(get("convection.triggerBVF"), 0.0),
        )
    if get("double_diffusion.use"):
        parts["double_diffusion"] = DoubleDiffusion()
    return parts


def _shear(settings: Settings) -> dict[str, Any]:
    get = lambda key: settings[f"cvmix.interior.shear.{key}"]  # noqa: E731
    if get("mix_scheme") == "pp":
        for name in ("KPP_nu_zero", "KPP_Ri_zero", "KPP_exp"):
            settings.without_effect(f"cvmix.interior.shear.{name}", "mix_scheme is pp")
        shear: Any = PacanowskiPhilanderShear(
            coefficient=get("PP_nu_zero"), alpha=get("PP_alpha"), exponent=get("PP_exp")
        )
    else:
        for name in ("PP_nu_zero", "PP_alpha", "PP_exp"):
            settings.without_effect(f"cvmix.interior.shear.{name}", "mix_scheme is kpp")
        if get("KPP_exp") != 3.0:
            settings.refuse("cvmix.interior.shear.KPP_exp", "only an exponent of 3 is supported")
        shear = LargeShear(coefficient=get("KPP_nu_zero"), limiting_richardson_number=get("KPP_Ri_zero"))
    return {"shear": shear, "n_smoothing": get("num_smooth_Ri")}
