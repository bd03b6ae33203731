"""The section `fabm` of a GOTM configuration, as a term of the column."""

from collections.abc import Mapping

from ..._types import JSON

_SCHEMES = {
    "euler": ("fe", "1", "forward euler"),
    "runge_kutta_2": ("rk2", "2"),
    "runge_kutta_4": ("rk4", "3"),
    "patankar": ("patankar1", "4"),
    "patankar_2": ("patankar2", "5"),
    "modified_patankar": ("mp1", "7"),
    "modified_patankar_2": ("mp2", "8"),
}
_ADVECTION = {
    "upstream": ("upstream", "1"),
    "superbee": ("superbee", "4"),
    "muscl": ("muscl", "5"),
    "p2_pdm": ("p2_pdm", "6"),
}


def fabm_term(settings) -> dict[str, JSON]:
    """The term of `fabm`, by name.

    Args:
        settings: of a GOTM configuration that uses FABM, with its file; records what is not supported.
    """
    from .fabm import read_fabm  # imports the configuration, which imports this module

    ecosystem = read_fabm(settings.folder / settings["fabm.yaml_file"])
    for problem in ecosystem.problems:
        settings.refuse("fabm.use", problem)
    for name in ("albedo", "surface_drag"):
        if settings[f"fabm.feedbacks.{name}"]:
            settings.without_effect(f"fabm.feedbacks.{name}", "no available model changes it")
    if settings["fabm.debug.no_surface"]:
        settings.refuse("fabm.debug.no_surface", "exchanges through the surface cannot be switched off")
    if settings["fabm.salinity_relaxation_to_freshwater_flux"]:
        settings.refuse(
            "fabm.salinity_relaxation_to_freshwater_flux", "only false is supported, also by GOTM"
        )
    if settings["fabm.numerics.cnpar"] != settings["time.cnpar"]:
        settings.refuse("fabm.numerics.cnpar", "pools mix with the time.cnpar of the water")
    for key in settings.free.get("fabm.input", ({}, {}))[0]:
        settings.refuse("fabm.use", f"input.{key}: series and profiles of pools are not supported")
    settings.without_effect("fabm", "it changes no result")
    if not ecosystem.models:
        return {}
    return {
        "fabm": {
            "name": "biogeochemistry",
            "models": ecosystem.models,
            "couplings": ecosystem.couplings,
            "initial": ecosystem.initial,
            "scheme": _chosen(settings, "fabm.numerics.ode_method", _SCHEMES),
            "n_substeps": settings["fabm.numerics.split_factor"],
            "sinking": _chosen(settings, "fabm.numerics.w_adv_discr", _ADVECTION),
            "n_sinking_substeps": _n_substeps(settings, ecosystem.models),
            "shading": settings["fabm.feedbacks.shade"],
            "dilution": settings["fabm.freshwater_impact"],
            "clipping": settings["fabm.repair_state"],
            "surface_light": "shortwave",
        }
    }


def _n_substeps(settings, models: Mapping[str, JSON]) -> int:
    """Steps of sinking per time step on cells of equal thickness; GOTM takes as many by itself."""
    speeds = [0.0]
    for section in models.values():
        speeds += [
            abs(float(of)) for key, of in section.items() if key.startswith(("w_", "vertical_velocity"))
        ]
    cells = max(speeds) / 86400.0 * settings.peek("time.dt") * settings.peek("grid.nlev")
    return 1 + int(cells / settings.peek("location.depth"))


def _chosen(settings, key: str, names: dict[str, tuple[str, ...]]) -> str:
    said = str(settings[key]).strip().lower()
    for ours, theirs in names.items():
        if said in theirs:
            return ours
    settings.refuse(
        key, f"{said!r} is not supported; choose one of {', '.join(each[0] for each in names.values())}"
    )
    return next(iter(names))
