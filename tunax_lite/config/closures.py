"""Closures by name, with the parts that are not numbers: the only tables of names to classes."""

import dataclasses
import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from ..closures import (
    CATKE,
    EPBL,
    KPP,
    PUBLISHED_SETS,
    TKE,
    AbstractClosure,
    BackgroundMixing,
    Blackadar,
    BougeaultAndre,
    Boundary,
    BoundedSlope,
    BreakingWaves,
    Brueggemann,
    Constant,
    ConstantStability,
    ConstantWindEnergy,
    ConvectiveAdjustment,
    DoubleDiffusion,
    EnergyVelocity,
    Exponents,
    GenericLengthScale,
    Harcourt,
    InteriorConvection,
    KEpsilon,
    KEpsilonTheta,
    KOmega,
    KrausTurner,
    Langmuir,
    LangmuirCells,
    LargeShear,
    MassFluxConvection,
    MellorYamada,
    MunkAnderson,
    MunkAndersonMixing,
    NeuralCorrection,
    OM4WindEnergy,
    OneEquation,
    PacanowskiPhilander,
    PacanowskiPhilanderShear,
    Parabolic,
    Penetration,
    PriceWellerPinkel,
    ReichlHallbergWindEnergy,
    RiBased,
    RobertOuellet,
    SchumannGerz,
    SecondMomentClosure,
    SurfaceFlux,
    SurfaceValue,
    Triangular,
    UpAndDown,
    WaveShear,
    WithinColumn,
    WithinSpacing,
    XingDavies,
)

CLOSURES: dict[str, type[AbstractClosure]] = {
    "catke": CATKE,
    "constant": Constant,
    "convective_adjustment": ConvectiveAdjustment,
    "epbl": EPBL,
    "generic_length_scale": GenericLengthScale,
    "k_epsilon": KEpsilon,
    "k_epsilon_theta": KEpsilonTheta,
    "k_omega": KOmega,
    "kpp": KPP,
    "kraus_turner": KrausTurner,
    "mass_flux": MassFluxConvection,
    "mellor_yamada": MellorYamada,
    "munk_anderson": MunkAndersonMixing,
    "neural": NeuralCorrection,
    "one_equation": OneEquation,
    "pacanowski_philander": PacanowskiPhilander,
    "ri_based": RiBased,
    "price_weller_pinkel": PriceWellerPinkel,
    "tke": TKE,
}
"""Names of closures in configuration files."""

VARIANTS: dict[str, Callable[..., AbstractClosure]] = {
    "epbl_om4": EPBL.as_in_om4,
    "k_epsilon_oceananigans": KEpsilon.as_in_oceananigans,
    "mellor_yamada_harcourt": MellorYamada.harcourt,
    "tke_veros": TKE.veros,
}
"""Names of closures with the constants of another model: class methods of those in `CLOSURES`."""


def _published_set(name: str) -> Callable[..., SecondMomentClosure]:
    return lambda **options: SecondMomentClosure.of(name, **options)


def _langmuir(method: str) -> Callable[..., Langmuir]:
    return lambda **options: Langmuir(method=method, **options)


PARTS: dict[str, dict[str, Callable[..., Any]]] = {
    "stability": {
        **{name: _published_set(name) for name in PUBLISHED_SETS},
        "constant": ConstantStability,
        "munk_anderson": MunkAnderson,
        "schumann_gerz": SchumannGerz,
        "brueggemann": Brueggemann,
        "harcourt": Harcourt,
    },
    "length": {
        "parabolic": Parabolic,
        "triangular": Triangular,
        "xing_davies": XingDavies,
        "robert_ouellet": RobertOuellet,
        "blackadar": Blackadar,
        "bougeault_andre": BougeaultAndre,
    },
    "length_bounds": {
        "within_column": WithinColumn,
        "within_spacing": WithinSpacing,
        "bounded_slope": BoundedSlope,
        "up_and_down": UpAndDown,
    },
    "surface_energy": {"value": SurfaceValue, "flux": SurfaceFlux},
    "langmuir_cells": {"axell": LangmuirCells},
    "penetration": {"exponential": Penetration},
    "internal_waves": {"background_mixing": BackgroundMixing, "wave_shear": WaveShear},
    "shear": {"large": LargeShear, "pacanowski_philander": PacanowskiPhilanderShear},
    "double_diffusion": {"fingers_and_layers": DoubleDiffusion},
    "convection": {"adjustment": InteriorConvection},
    "energy_velocity": {"om4": EnergyVelocity},
    "wind_energy": {
        "constant": ConstantWindEnergy,
        "om4": OM4WindEnergy,
        "reichl_hallberg": ReichlHallbergWindEnergy,
    },
    "langmuir": {
        "li_2016": _langmuir("LWF16"),
        "li_2017": _langmuir("LF17"),
        "reichl_2016": _langmuir("RWHGK16"),
    },
}
"""Parts of closures by the name of their field and their own."""


def closure_class(name: str) -> type[AbstractClosure]:
    """The class of a name of `CLOSURES` or `VARIANTS`, or of an import path `package.module:Class`.

    Raises:
        PydanticCustomError: a name that is neither.
    """
    if name in CLOSURES:
        return CLOSURES[name]
    if name in VARIANTS:
        return getattr(VARIANTS[name], "__self__")  # noqa: B009
    if ":" not in name:
        hint = closest(name, [*CLOSURES, *VARIANTS])
        raise invalid("the name of a closure, or package.module:Class", f"'{name}'", hint)
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise invalid(
            "package.module:Class that can be imported",
            f"'{name}' ({error})",
            "install the package, or add its folder to PYTHONPATH",
        ) from error
    if not (isinstance(found, type) and issubclass(found, AbstractClosure)):
        raise invalid("a subclass of AbstractClosure", f"'{name}'", "name a closure")
    return found


def closure_with(name: str, options: Mapping[str, Any]) -> AbstractClosure:
    """A closure by name, with other settings than its default ones.

    Args:
        name: as for `closure_class`.
        options: settings by the name of their field: text, a switch, `None` for a limit that is off, the
            name of a part or a mapping with its `name` and settings, a mapping for a boundary, three
            exponents, another closure as its name or a mapping with its `name` and `options`.

    Raises:
        PydanticCustomError: a setting or a value that the closure does not have.
    """
    closure = closure_class(name)
    fields = {field.name: field for field in dataclasses.fields(closure)}  # pyright: ignore[reportArgumentType]
    known = [key for key in fields if key != "derived" and _is_option(fields[key])]
    for key, value in options.items():
        if key not in known and not (key in fields and value is None):
            raise invalid(f"an option of {closure.__name__}", f"'{key}'", closest(key, known))
    try:
        return VARIANTS.get(name, closure)(**{key: _setting(key, value) for key, value in options.items()})
    except PydanticCustomError:
        raise
    except (TypeError, ValueError) as error:
        raise invalid(f"options of {closure.__name__} that go together", str(error), "change them") from error


def _is_option(field: dataclasses.Field) -> bool:
    return "valid_range" not in field.metadata and "vector" not in field.metadata


def _setting(key: str, value: Any) -> Any:
    if value is None:
        return None
    if key in PARTS:
        settings = dict(value) if isinstance(value, Mapping) else {"name": value}
        part = settings.pop("name", None)
        if part not in PARTS[key]:
            raise invalid(f"the name of a part for {key}", f"'{part}'", closest(str(part), list(PARTS[key])))
        return PARTS[key][part](**settings)
    if key in ("local", "physical"):
        settings = dict(value) if isinstance(value, Mapping) else {"name": value}
        name, options = settings.pop("name", ""), settings.pop("options", {})
        if settings:
            raise invalid(
                f"{key}: name and options", f"'{next(iter(settings))}'", f"its numbers are {key}.<name>"
            )
        return closure_with(name, options)
    if key in ("surface", "bottom"):
        if not isinstance(value, Mapping):
            keys = "tke, length_scale, breaking_waves"
            raise invalid(f"{key}: a mapping with some of {keys}", repr(value), "write one")
        settings = dict(value)
        if "breaking_waves" in settings:
            settings["breaking_waves"] = BreakingWaves() if settings["breaking_waves"] else None
        return Boundary(**settings)
    return Exponents(*value) if key == "exponents" else value


def closest(name: str, valid: list[str]) -> str:
    """A hint for a name that does not exist: the nearest valid one, or all of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"choose one of: {', '.join(valid)}"


def invalid(expected: str, got: Any, todo: str) -> PydanticCustomError:
    return PydanticCustomError(
        "invalid", "expected {expected}, got {got}; {todo}", {"expected": expected, "got": got, "todo": todo}
    )
