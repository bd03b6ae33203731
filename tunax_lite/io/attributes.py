"""What names and attributes of a variable say against its use: sign, unit, another quantity.

Readers warn of it (`InputWarning`).
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._types import warn_of_input
from ..plausibility.rules import unlikely
from ..quantities import QUANTITIES, quantity_of
from .errors import name_of
from .units import Conversion, as_conversion, conversion
from .variables import name_in_file
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_WAY = r"(ocean|sea|water|lake)"
_UPWARD = re.compile(
    rf"\bupwards?\b|outgoing|\bout of (the )?{_WAY}|\b(in)?to (the )?(atmosphere|air)\b|\breflected\b"
    rf"|\b(heat|energy|water|buoyancy) loss\b|\bloss (of|from)\b|\b{_WAY}[ -]to[ -](air|atmosphere)"
    rf"|positive up\b|leaving the|\bon (the )?(atmosphere|air)\b|\bfrom (the )?{_WAY}\b"
)
_DOWNWARD = re.compile(
    r"downward|incoming|into (the )?(ocean|sea|water|lake)|\bon (the )?(ocean|sea|water)\b"
)
_EVAPORATION = re.compile(
    r"evap\w*\s*(minus|less|-)\s*(precip|rain)|\be\s?-\s?p\b|\bemp\b|water (flux )?out of|^evaporation\b"
)
_WHOLE = re.compile(r"\b(net|total)\b")
_PART_OF_HEAT = re.compile(
    r"non-?solar|without|exclud|no (sun|short)|long ?wave|\blw|lwdn|thermal|turbulent|minus|sensible|latent"
)
_KINDS = {"downward": r"\bnet\b|absorbed|minus upw", "net": r"\b(incoming|downwelling|incident|global)\b"}
"""What names of the other kind of radiation say."""
_PARTS = re.compile(r"\[([^\[\]]+)\]|\(([^()]+)\)")
_ENDS = re.compile(
    r"_(kn|kt|kts|knots?|kmh|kmph|kph|hpa|kpa|mbar|mb|degf|f|degk|cms|mph|mms|mmh|kw|psi|ft|km|cm)$"
)
_FOREIGN = re.compile(
    r"^(knots?|kts?|mph|deg ?f|°f|fahrenheit|cal\b.*|ly\b.*|langley.*|oktas?|tenths?|psi|inhg|mmhg)", re.I
)
"""Units that no conversion knows."""
_NORTH = re.compile(r"\bnorthward|\bmeridional|\by[- _](component|stress|velocity)|\bv[- ]component")
_EAST = re.compile(r"\beastward|\bzonal|\bx[- _](component|stress|velocity)|\bu[- ]component")
_COMPONENTS = {
    **dict.fromkeys(("u", "wind_u", "surface_stress_u", "stokes_drift_u"), (_NORTH, _EAST)),
    **dict.fromkeys(("v", "wind_v", "surface_stress_v", "stokes_drift_v"), (_EAST, _NORTH)),
}
"""What names of the other component say, and those of a component itself."""
_Claims = Iterator[tuple[str, str, str, str]]
"""Rules, what was expected and got, likely causes, and what to change."""


def examine(
    variable: "xr.DataArray",
    quantity: str,
    *,
    given: str | Conversion | None = None,
    turned: bool = False,
    kind: str | None = None,
    has_sun: bool = False,
) -> None:
    """Warn of what a variable says against its use as a quantity.

    Args:
        variable: with its name and attributes.
        quantity: in the table of quantities.
        given: conversion, or unit alone, by the user.
        turned: whether its sign is changed by the reader.
        kind: `downward` or `net`, of radiation.
        has_sun: whether shortwave radiation is given, too.
    """
    try:
        known = quantity_of(quantity).name
    except KeyError:  # a tracer or a parameter
        return
    keys = ("long_name", "standard_name", "description", "comment")
    texts = [str(variable.attrs.get(key, "")) for key in keys]
    if kind is not None and known == texts[1]:
        return
    said = " ".join(texts[:3] if len(texts[3]) > 200 else texts).lower().replace("_", " ")
    where = f"{name_of(variable)}: {name_in_file(variable)}"
    how = as_conversion(given)
    claims = [] if turned or how.sign * how.factor < 0.0 else [*_sign_claims(said, known, variable)]
    claims += _kind_claims(said, known, where, kind, has_sun=has_sun)
    if (how.factor, how.offset) == (1.0, 0.0):  # otherwise the unit is not that of the name
        claims += _unit_claims(variable, known, how.unit)
    claims += _quantity_claims(said, known, variable)
    first = {claim[0]: claim for claim in reversed(claims)}  # of each rule
    warn_of_input(unlikely(rule, where, *texts) for rule, *texts in first.values())


def leaves_water(variable: "xr.DataArray") -> bool:
    """Whether the standard name of a flux counts it out of the water."""
    said = str(variable.attrs.get("standard_name"))
    return "upward" in said or "out_of_sea_water" in said


def _sign_claims(said: str, quantity: str, variable: "xr.DataArray") -> _Claims:
    positive = quantity_of(quantity).positive
    is_flux = positive in ("into the water", "eastward", "northward") and quantity not in ("u", "v")
    if not is_flux or "wind" in quantity or "drift" in quantity:
        return
    name = f"{said} {name_in_file(variable).lower().replace('_', ' ')}"
    is_water = quantity in ("surface_freshwater_flux", "precipitation")
    upward = None if _DOWNWARD.search(name) else _UPWARD.search(name)
    if match := (_EVAPORATION.search(name) if is_water else None) or upward:
        text = f"expected {quantity.replace('_', ' ')} {positive}, got a name that says '{match[0].strip()}'"
        yield "sign_of_name", text, "it counts the other way", "`sign: -1`"
    if str(variable.attrs.get("positive", "")).lower() == "up":
        text = "expected a flux that counts downward, got the attribute positive: up"
        yield "sign_of_name", text, "it counts upward", "`sign: -1`"


def _kind_claims(said: str, quantity: str, where: str, kind: str | None, *, has_sun: bool) -> _Claims:
    whole = _WHOLE.search(said) if has_sun and quantity == "surface_heat_flux" else None
    if whole and not _PART_OF_HEAT.search(f"{said} {where}"):
        text = f"expected heat without shortwave radiation, got a name that says '{whole[0]}'"
        remedy = "subtract the sun, or leave shortwave_flux out"
        yield "net_of_the_sun", text, "the sun is counted in it too", remedy
    match = re.search(_KINDS[kind], said) if kind in _KINDS else None
    if match and not (kind == "net" and "net downward" in said):
        text = f"expected {kind} radiation, got a name that says '{match[0]}'"
        yield "net_of_the_sun", text, "the other kind", f"air_sea.{quantity}"


def _unit_claims(variable: "xr.DataArray", quantity: str, unit: str | None) -> _Claims:
    stated = unit if unit is not None else variable.attrs.get("units")
    named = [one or other for one, other in _PARTS.findall(str(variable.attrs.get("long_name", "")))]
    if end := _ENDS.search(name_in_file(variable).lower()):
        named.append(NAMES["units_in_names"].get(end[1], end[1]))
    for other in named:
        try:
            is_same = conversion(quantity, other) == conversion(quantity, str(stated))
        except ValueError:
            is_same = not _FOREIGN.match(other.strip())
        if not is_same:
            text = f"expected the unit of the attribute, '{stated}', got a name that says '{other}'"
            yield "unit_of_name", text, "one of the two is wrong", "`unit`"


def _quantity_claims(said: str, quantity: str, variable: "xr.DataArray") -> _Claims:
    standard = str(variable.attrs.get("standard_name", ""))
    # Which temperature a file has is the business of its reader.
    known = (each.name for each in QUANTITIES.values() if each.standard_name == standard)
    other = next((name for name in known if name != "potential_temperature"), quantity)
    text = f"expected {quantity.replace('_', ' ')}, got a variable that says "
    if other != quantity and "sea_surface_temperature" not in (other, quantity):
        yield "another_quantity", f"{text}'{standard}'", "another variable", "its name in the configuration"
        return
    if quantity in _COMPONENTS:
        wrong, right = (direction.search(said) for direction in _COMPONENTS[quantity])
        if wrong and not right:
            yield "another_quantity", f"{text}'{wrong[0]}'", "swapped components", "the variables"
    words = f"{variable.attrs.get('long_name', '')} {standard} {name_in_file(variable)}"
    words = words.lower().replace("_", " ")
    for word in NAMES["words_of_others"].get(quantity, ()):
        if word in words:
            yield "another_quantity", f"{text}'{word}'", "another variable", "the variable"
            return
