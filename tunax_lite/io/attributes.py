"""What names and attributes of a variable say against its use: sign, unit, another quantity.

Findings are left for whoever builds a case (`plausibility.collecting`).
"""

import re
from collections.abc import Iterator

from ..plausibility import Finding, leave
from ..quantities import QUANTITIES, quantity_of
from .netcdf import Variable
from .units import AbstractConversion, Conversion, conversion

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
_PARTS = re.compile(r"\[([^\[\]]+)\]|\(([^()]+)\)")
_ENDS = re.compile(
    r"_(kn|kt|kts|knots?|kmh|kmph|kph|hpa|kpa|mbar|mb|degf|f|degk|cms|mph|mms|mmh|kw|psi|ft|km|cm)$"
)
_MEANT = {
    "kn": "knots", "kt": "knots", "kts": "knots", "knot": "knots", "kmh": "km h-1", "kmph": "km h-1",
    "kph": "km h-1", "hpa": "hPa", "kpa": "kPa", "mbar": "mbar", "mb": "mbar", "degf": "degF", "f": "degF",
    "degk": "K", "cms": "cm s-1", "mms": "mm s-1", "mmh": "mm h-1", "kw": "kW m-2",
}  # fmt: skip
_FOREIGN = re.compile(
    r"^(knots?|kts?|mph|deg ?f|°f|fahrenheit|cal\b.*|ly\b.*|langley.*|oktas?|tenths?|psi|inhg|mmhg)", re.I
)
"""Units that no conversion knows."""
_NORTH = re.compile(r"\bnorthward|\bmeridional|\by[- _](component|stress|velocity)|\bv[- ]component")
_EAST = re.compile(r"\beastward|\bzonal|\bx[- _](component|stress|velocity)|\bu[- ]component")
_WORDS = {
    "salinity": ("conductivity", "temperature", "density"),
    "temperature": ("salinity", "conductivity", "air temperature", "air_temperature", "density"),
    "air_temperature": ("dew", "wet bulb", "sea surface", "water temperature", "humidity"),
    "dew_point": ("relative humidity", "specific humidity"),
    "relative_humidity": ("specific humidity", "dew", "mixing ratio"),
    "specific_humidity": ("relative humidity", "dew"),
    "surface_heat_flux": ("shortwave", "short wave", "solar radiation"),
    "shortwave": ("longwave", "photosynthetic", "thermal radiation", "quantum"),
    "longwave": ("shortwave", "solar"),
    "precipitation": ("evaporation",),
    "wind_u": ("gust", "wind direction", "stress"),
    "wind_v": ("gust", "wind direction", "stress"),
}
"""Words in names of other quantities."""


def examine(
    variable: Variable,
    quantity: str,
    *,
    given: str | AbstractConversion | None = None,
    turned: bool = False,
    kind: str | None = None,
) -> None:
    """Leave findings on a variable that serves as a quantity.

    Args:
        variable: with its name and attributes.
        quantity: in the table of quantities.
        given: conversion, or unit alone, by the user.
        turned: whether its sign is changed by the reader.
        kind: `downward` or `net`, of radiation.
    """
    try:
        known = quantity_of(quantity).name
    except KeyError:  # a tracer or a parameter
        return
    texts = [
        str(variable.attrs.get(key, "")) for key in ("long_name", "standard_name", "description", "comment")
    ]
    if kind is not None and known == texts[1]:
        return
    said = " ".join(texts[:3] if len(texts[3]) > 200 else texts).lower().replace("_", " ")
    where = f"{variable.path}: {variable.name}"
    how = given if isinstance(given, AbstractConversion) else Conversion(unit=given)
    turned = turned or how.sign * how.factor < 0.0
    leave(_of_sign(said, known, where, variable, turned=turned))
    leave(_of_kind(said, known, where, kind))
    if (how.factor, how.offset) == (1.0, 0.0):  # otherwise the unit is not that of the name
        leave(_of_unit(variable, known, where, how.unit))
    leave(_of_quantity(said, known, where, variable))


def _of_sign(said: str, quantity: str, where: str, variable: Variable, *, turned: bool) -> Iterator[Finding]:
    positive = quantity_of(quantity).positive
    if positive not in ("into the water", "eastward", "northward") or quantity in ("u", "v") or turned:
        return
    own = f"{said} {variable.name.lower().replace('_', ' ')}"
    water = quantity in ("surface_freshwater_flux", "precipitation") and _EVAPORATION.search(own)
    if "wind" in quantity or "drift" in quantity:
        return
    if water or _UPWARD.search(own) and not _DOWNWARD.search(own):
        found = (water or _UPWARD.search(own))[0]  # pyright: ignore[reportOptionalSubscript]
        text = f"expected {quantity.replace('_', ' ')} {positive}, got a name that says '{found.strip()}'"
        yield Finding("sign_of_name", quantity, where, text, "it counts the other way", "`sign: -1`")
    ways = str(variable.attrs.get("positive", "")).lower()
    if ways == "up":
        text = "expected a flux that counts downward, got the attribute positive: up"
        yield Finding("sign_of_name", quantity, where, text, "it counts upward", "`sign: -1`")


def _of_kind(said: str, quantity: str, where: str, kind: str | None) -> Iterator[Finding]:
    if (
        quantity == "surface_heat_flux"
        and _WHOLE.search(said)
        and not _PART_OF_HEAT.search(f"{said} {where}")
    ):
        text = f"expected heat without shortwave radiation, got a name that says '{_WHOLE.search(said)[0]}'"  # pyright: ignore[reportOptionalSubscript]
        cause = "the sun is counted in it too"
        yield Finding(
            "net_of_the_sun", quantity, where, text, cause, "subtract the sun, or leave shortwave_flux out"
        )
    words = {"downward": r"\bnet\b|absorbed|minus upw", "net": r"\b(incoming|downwelling|incident|global)\b"}
    if (
        kind in words
        and (match := re.search(words[kind], said))
        and "net downward" not in said * (kind == "net")
    ):
        text = f"expected {kind} radiation, got a name that says '{match[0]}'"
        yield Finding("net_of_the_sun", quantity, where, text, "the other kind", f"air_sea.{quantity}")


def _of_unit(variable: Variable, quantity: str, where: str, unit: str | None) -> Iterator[Finding]:
    stated = unit if unit is not None else variable.attrs.get("units")
    long_name, name = str(variable.attrs.get("long_name", "")), variable.name.lower()
    named = [one or other for one, other in _PARTS.findall(long_name)]
    named += [_MEANT.get(end[1], end[1]) for end in [_ENDS.search(name)] if end]
    for other in named:
        try:
            is_same = conversion(quantity, other) == conversion(quantity, str(stated))
        except ValueError:
            is_same = not _FOREIGN.match(other.strip())
        if not is_same:
            text = f"expected the unit of the attribute, '{stated}', got a name that says '{other}'"
            yield Finding("unit_of_name", quantity, where, text, "one of the two is wrong", "`unit`")


def _of_quantity(said: str, quantity: str, where: str, variable: Variable) -> Iterator[Finding]:
    standard = str(variable.attrs.get("standard_name", ""))
    # Which temperature a file has is the business of its reader.
    known = (each.name for each in QUANTITIES.values() if each.standard_name == standard)
    other = next((name for name in known if name != "potential_temperature"), quantity)
    text = f"expected {quantity.replace('_', ' ')}, got a variable that says "
    if other != quantity and not {other, quantity} & {"sea_surface_temperature"}:
        said_ = f"{text}'{standard}'"
        yield Finding(
            "another_quantity", quantity, where, said_, "another variable", "its name in the configuration"
        )
        return
    if quantity in ("u", "wind_u", "surface_stress_u", "stokes_drift_u"):
        wrong, right = _NORTH, _EAST
    elif quantity in ("v", "wind_v", "surface_stress_v", "stokes_drift_v"):
        wrong, right = _EAST, _NORTH
    else:
        wrong = right = None
    if wrong is not None and right is not None and wrong.search(said) and not right.search(said):
        found = wrong.search(said)[0]  # pyright: ignore[reportOptionalSubscript]
        yield Finding(
            "another_quantity", quantity, where, f"{text}'{found}'", "swapped components", "the variables"
        )
    words = " ".join(str(variable.attrs.get(key, "")) for key in ("long_name", "standard_name"))
    words = f"{words} {variable.name}".lower().replace("_", " ")
    for word in _WORDS.get(quantity, ()):
        if word in words:
            yield Finding(
                "another_quantity", quantity, where, f"{text}'{word}'", "another variable", "the variable"
            )
            return
