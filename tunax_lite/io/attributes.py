"""Warnings where name or attributes of a variable contradict its use: sign, kind of radiation, quantity."""

import re
from typing import TYPE_CHECKING

from .._types import warn_of_input
from ..plausibility.rules import unlikely
from ..quantities import QUANTITIES, quantity_of
from .errors import name_of
from .units import Conversion, as_conversion
from .variables import error_of, name_in_file
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_WATER = r"(ocean|sea|water|lake)"
_UPWARD = re.compile(
    rf"\bupwards?\b|outgoing|\bout of (the )?{_WATER}|\b(in)?to (the )?(atmosphere|air)\b|\breflected\b"
    rf"|\b(heat|energy|water|buoyancy) loss\b|\bloss (of|from)\b|\b{_WATER}[ -]to[ -](air|atmosphere)"
    rf"|positive up\b|leaving the|\bon (the )?(atmosphere|air)\b|\bfrom (the )?{_WATER}\b"
)
_DOWNWARD = re.compile(
    r"downward|incoming|into (the )?(ocean|sea|water|lake)|\bon (the )?(ocean|sea|water)\b"
)
_EVAPORATION = re.compile(
    r"evap\w*\s*(minus|less|-)\s*(precip|rain)|\be\s?-\s?p\b|\bemp\b|water (flux )?out of|^evaporation\b"
)
_NET_OR_TOTAL = re.compile(r"\b(net|total)\b")
_PART_OF_HEAT = re.compile(
    r"non-?solar|without|exclud|no (sun|short)|long ?wave|\blw|lwdn|thermal|turbulent|minus|sensible|latent"
)
_KINDS = {"downward": r"\bnet\b|absorbed|minus upw", "net": r"\b(incoming|downwelling|incident|global)\b"}
"""Words in names of the other kind of radiation."""
_NORTH = re.compile(r"\bnorthward|\bmeridional|\by[- _](component|stress|velocity)|\bv[- ]component")
_EAST = re.compile(r"\beastward|\bzonal|\bx[- _](component|stress|velocity)|\bu[- ]component")
_COMPONENTS = {
    **dict.fromkeys(("u", "wind_u", "surface_stress_u", "stokes_drift_u"), (_NORTH, _EAST)),
    **dict.fromkeys(("v", "wind_v", "surface_stress_v", "stokes_drift_v"), (_EAST, _NORTH)),
}
"""Words in names of the other component, and in those of the component itself."""


def examine(
    variable: "xr.DataArray",
    quantity: str,
    *,
    requested: str | Conversion | None = None,
    is_reversed: bool = False,
    kind: str | None = None,
    has_sun: bool = False,
) -> None:
    """Warn if name or attributes of a variable contradict its use as a quantity.

    Args:
        variable: with its name and attributes.
        quantity: name in the table of quantities; others are not examined.
        requested: unit or conversion that the user gave.
        is_reversed: whether the reader changes the sign of the values.
        kind: `downward` or `net`, of radiation.
        has_sun: whether the input has shortwave radiation, too.

    Raises:
        FileFormatError: `requested` changes the sign a second time.
    """
    change = as_conversion(requested)
    if is_reversed and change.sign < 0:
        got = "`sign: -1` with a standard name of an upward flux"
        raise error_of(variable, "one change of sign", got, "remove `sign`")
    try:
        entry = quantity_of(quantity)
    except KeyError:  # a tracer or a parameter
        return
    keys = ("long_name", "standard_name", "description", "comment")
    long_name, standard_name, _, comment = texts = [str(variable.attrs.get(key, "")) for key in keys]
    if kind is not None and entry.name == standard_name:
        return
    words = " ".join(texts[:3] if len(comment) > 200 else texts).lower().replace("_", " ")
    name = name_in_file(variable).lower()
    where = f"{name_of(variable)}: {name_in_file(variable)}"
    claims: dict[str, tuple[str, str, str]] = {}  # expected and got, likely cause and remedy, by rule
    stated = "got a name that says"

    is_flux = entry.positive in ("into the water", "eastward", "northward") and entry.name not in ("u", "v")
    is_flux = is_flux and "wind" not in entry.name and "drift" not in entry.name
    if is_flux and not is_reversed and change.sign * change.factor > 0.0:
        labels, title = f"{words} {name.replace('_', ' ')}", entry.name.replace("_", " ")
        is_water = entry.name in ("surface_freshwater_flux", "precipitation")
        evaporation = _EVAPORATION.search(labels) if is_water else None
        upward = evaporation or (None if _DOWNWARD.search(labels) else _UPWARD.search(labels))
        if upward:
            text = f"expected {title} {entry.positive}, {stated} '{upward[0].strip()}'"
            claims["sign_of_name"] = (text, "it counts the other way", "`sign: -1`")
        elif str(variable.attrs.get("positive", "")).lower() == "up":
            text = "expected a flux that counts downward, got the attribute positive: up"
            claims["sign_of_name"] = (text, "it counts upward", "`sign: -1`")

    net = _NET_OR_TOTAL.search(words) if has_sun and entry.name == "surface_heat_flux" else None
    other_kind = re.search(_KINDS[kind], words) if kind in _KINDS else None
    if net and not _PART_OF_HEAT.search(f"{words} {where}"):
        text = f"expected heat without shortwave radiation, {stated} '{net[0]}'"
        remedy = "subtract the shortwave radiation, or leave shortwave_flux out"
        claims["net_of_the_sun"] = (text, "shortwave radiation would count twice", remedy)
    elif other_kind and not (kind == "net" and "net downward" in words):
        text = f"expected {kind} radiation, {stated} '{other_kind[0]}'"
        claims["net_of_the_sun"] = (text, "another kind of radiation", f"air_sea.{entry.name}")

    text = f"expected {entry.name.replace('_', ' ')}, got a variable that says "
    # Readers distinguish the kinds of temperature themselves.
    names = (each.name for each in QUANTITIES.values() if each.standard_name == standard_name)
    claimed = next((each for each in names if each != "potential_temperature"), entry.name)
    all_words = f"{long_name} {standard_name} {name}".lower().replace("_", " ")
    directions = _COMPONENTS.get(entry.name)
    wrong, right = (each.search(words) for each in directions) if directions else (None, None)
    if claimed != entry.name and "sea_surface_temperature" not in (claimed, entry.name):
        remedy = "its name in the configuration"
        claims["another_quantity"] = (f"{text}'{standard_name}'", "another variable", remedy)
    elif wrong and not right:
        claims["another_quantity"] = (f"{text}'{wrong[0]}'", "swapped components", "the variables")
    elif word := next((w for w in NAMES["words_of_others"].get(entry.name, ()) if w in all_words), None):
        claims["another_quantity"] = (f"{text}'{word}'", "another variable", "the variable")
    warn_of_input(unlikely(rule, where, *claim) for rule, claim in claims.items())


def leaves_water(variable: "xr.DataArray") -> bool:
    """Return whether a flux counts out of the water, by its standard name."""
    name = str(variable.attrs.get("standard_name"))
    return "upward" in name or "out_of_sea_water" in name
