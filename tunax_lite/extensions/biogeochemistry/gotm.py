"""The section `fabm` of a GOTM configuration, as a term of the column."""

import difflib
from collections.abc import Mapping

from ..._types import JSON
from .interface import Pool

_SCHEMES = {
    "euler": ("fe", "1", "forward euler"),
    "modified_patankar": ("mp1", "7"),
    "modified_patankar_2": ("mp2", "8"),
}
_WITHOUT_SURFACE = ("modified_patankar", "modified_patankar_2")
"""Schemes with which GOTM omits the exchange of models with the air."""
_ADVECTION = {
    "upstream": ("upstream", "1"),
    "superbee": ("superbee", "4"),
    "muscl": ("muscl", "5"),
    "p2_pdm": ("p2_pdm", "6"),
}

_NONE = 1e15
"""Time scale [s] from which on relaxation is off: GOTM's default."""
_RELAXATION = {
    "relax_tau": (_NONE, "s"),
    "relax_tau_surf": (_NONE, "s"),
    "relax_tau_bot": (_NONE, "s"),
    "thickness_surf": (0.0, "m"),
    "thickness_bot": (0.0, "m"),
}
"""Keys of an input of a pool, with their defaults and units."""


def fabm_module(settings) -> dict[str, dict[str, JSON]]:
    """Translate the section `fabm`: its term, initial profiles of its tracers, and their relaxation.

    Args:
        settings: `Settings` of a GOTM configuration that uses FABM; they record unsupported keys.
    """
    from .fabm import read_fabm  # imports the configuration, which imports this module

    inputs = settings.named_inputs("fabm.input", _RELAXATION)
    constants = {name: each.value for name, (each, _) in inputs.items() if not isinstance(each, dict)}
    ecosystem = read_fabm(settings.folder / settings["fabm.yaml_file"], constants)
    for problem in ecosystem.problems:
        settings.refuse("fabm.use", problem)
    for name in ("albedo", "surface_drag"):
        if settings[f"fabm.feedbacks.{name}"]:
            settings.without_effect(f"fabm.feedbacks.{name}", "no available model changes it")
    if settings["fabm.salinity_relaxation_to_freshwater_flux"]:
        settings.refuse(
            "fabm.salinity_relaxation_to_freshwater_flux", "only false is supported, also by GOTM"
        )
    if settings["fabm.numerics.cnpar"] != settings["time.cnpar"]:
        settings.refuse("fabm.numerics.cnpar", "pools mix with time.cnpar; set both to the same value")
    settings.without_effect("fabm", "it changes no result")
    if not ecosystem.models:
        return {}
    scheme = _chosen(settings, "fabm.numerics.ode_method", _SCHEMES)
    closed = settings["fabm.debug.no_surface"]
    if scheme in _WITHOUT_SURFACE:
        closed = True
        settings.note("fabm.numerics.ode_method", f"as in GOTM, {scheme} has no exchange with the air")
        for name, model in ecosystem.models.items():
            if isinstance(model, dict) and model["name"] == "ergom":
                why = f"in GOTM gotm/ergom does not react with {scheme}; here {name} does"
                settings.note("fabm.numerics.ode_method", why)
    method = settings["surface.precip.method"]
    is_dry = method == "off" or method == "constant" and settings["surface.precip.constant_value"] == 0.0
    term = {
        "name": "biogeochemistry",
        "models": ecosystem.models,
        "couplings": ecosystem.couplings,
        "initial": ecosystem.initial,
        "scheme": scheme,
        "n_substeps": settings["fabm.numerics.split_factor"],
        "sinking": _chosen(settings, "fabm.numerics.w_adv_discr", _ADVECTION),
        "n_sinking_substeps": None,
        "shading": settings["fabm.feedbacks.shade"],
        "dilution": settings["fabm.freshwater_impact"],
        "implicit_dilution": not is_dry,
        "surface_exchange": not closed,
        "clipping": settings["fabm.repair_state"],
        "surface_light": "shortwave",
        "gases_ignore_pressure": True,
    }
    if settings["surface.fluxes.method"] == "off":
        term["wind_speed"] = 0.0
        settings.note(
            "surface.fluxes.method", "GOTM reads no wind with off: gases are exchanged as in a calm"
        )
    if ecosystem.problems:
        return {"terms": {"fabm": term}}
    pools = {f"{name}_{pool.name}": pool for name, model in ecosystem.built.items() for pool in model.pools()}
    inputs = {name: content for name, content in inputs.items() if name not in ecosystem.used}
    sections = _pool_sections(settings, pools, inputs)
    return {"terms": {"fabm": term | {"initial": ecosystem.initial | sections.pop("initial")}}} | sections


def _pool_sections(settings, pools: Mapping[str, Pool], inputs) -> dict[str, dict[str, JSON]]:
    """Profiles of tracers, values of pools on the bottom, and relaxation from the section `input`."""
    tracers, initial, relaxed = {}, {}, {}
    for name, (values, numbers) in inputs.items():
        at = f"fabm.input.{name}"
        if name not in pools:
            near = difflib.get_close_matches(name, list(pools), n=1)
            hint = f"did you mean {near[0]}" if near else f"available are {', '.join(pools)}"
            settings.refuse(at, f"{name!r} is no pool of these models; {hint}")
        elif pools[name].on_bottom:
            if isinstance(values, dict) or numbers["relax_tau"].value < _NONE:
                settings.refuse(
                    at, "a pool on the bottom starts from a constant, and does not relax; use one"
                )
            else:
                initial[name] = values.value
        else:
            tracers[name] = values
            relaxed |= _relaxation(settings, name, numbers)
    return {
        "tracers": tracers,
        "initial": initial,
        "relaxation": {"tracers": relaxed} if relaxed else {},
    }


def _relaxation(settings, name: str, numbers) -> dict[str, dict[str, JSON]]:
    """Relaxation of a tracer towards the profiles that it starts from; empty if there is none."""
    for key, keyed in numbers.items():
        if keyed.value == 0.0 and key.startswith("relax_tau"):
            raise settings.error(keyed.key, "expected a time scale [s] above 0, got 0; correct it")
    relaxation = {"time_scale": numbers["relax_tau"]}
    for ours, theirs in (("surface", "surf"), ("bottom", "bot")):
        if numbers[f"thickness_{theirs}"].value > 0.0:
            relaxation[f"{ours}_height"] = numbers[f"thickness_{theirs}"]
            relaxation[f"{ours}_time_scale"] = numbers[f"relax_tau_{theirs}"]
    if all(keyed.value >= _NONE for key, keyed in relaxation.items() if key.endswith("time_scale")):
        return {}
    return {name: {"profile": "case", **relaxation}}


def _chosen(settings, key: str, names: dict[str, tuple[str, ...]]) -> str:
    word = str(settings[key]).strip().lower()
    for ours, theirs in names.items():
        if word in theirs:
            return ours
    settings.refuse(
        key, f"{word!r} is not supported; choose one of {', '.join(each[0] for each in names.values())}"
    )
    return next(iter(names))
