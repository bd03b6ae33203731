"""Units of measured quantities: convert them to the package's units, or reject them.

A unit such as `W m-2`, `W/m2` or `W m**-2` is split into factors, each with a scale and exponents of metre,
second, kilogram and kelvin.
"""

import functools
import re

from .. import constants
from ..quantities import quantity_of

_Dimensions = tuple[int, ...]
_SCALES: dict[_Dimensions, dict[str, float]] = {
    (0, 0, 0, 0): {"1": 1.0, "%": 1e-2},
    (1, 0, 0, 0): dict(m=1.0, meter=1.0, metre=1.0, km=1e3, dm=1e-1, cm=1e-2, mm=1e-3),
    (0, 1, 0, 0): dict(s=1.0, sec=1.0, second=1.0, min=60.0, minute=60.0, h=3600.0, hr=3600.0, hour=3600.0)
    | dict(d=86400.0, day=86400.0, ms=1e-3, millisecond=1e-3, microsecond=1e-6, nanosecond=1e-9),
    (0, 0, 1, 0): dict(kg=1.0, g=1e-3, gr=1e-3),
    (0, 0, 0, 1): dict(K=1.0, kelvin=1.0),
    (1, -2, 1, 0): dict(N=1.0, dyn=1e-5),
    (-1, -2, 1, 0): dict(Pa=1.0, pascal=1.0, hPa=1e2, kPa=1e3, bar=1e5, mbar=1e2, mb=1e2, millibar=1e2)
    | dict(dbar=1e4, decibar=1e4, db=1e4),
    (2, -2, 1, 0): dict(J=1.0),
    (2, -3, 1, 0): dict(W=1.0, kW=1e3, watt=1.0),
}
_FACTORS = {name: (scale, of) for of, names in _SCALES.items() for name, scale in names.items()}
_IN_CAPITALS = {name.upper(): factor for name, factor in _FACTORS.items()}
"""Older files write units in capitals, M/S for one."""
_CELSIUS = {
    *("degc", "deg_c", "degree_c", "degrees_c", "celsius", "degree_celsius", "degrees_celsius"),
    *("deg c", "°c", "c", "deg celsius", "degrees celsius", "degreesc"),
}
_KELVIN = {"kelvin", "degk", "deg_k", "degree_kelvin", "degrees_kelvin", "deg k"}
_PERCENT = {"%", "percent", "per cent"}
_SALINITY = {"psu", "ppt", "pss", "pss-78", "1e-3", "0.001", "practical salinity unit", "g/kg"} | {
    *("pss78", "practical salinity units", "practical_salinity_unit", "dimensionless", "unitless"),
}
_TOKEN = re.compile(r"([A-Za-z]+|1|%)(?:(?:\^|\*\*)?([+-]?\d+))?$")
# Accepted equivalents: a unit, what it is multiplied by, and the powers of density and heat capacity. Fluxes
# may be divided by these, and rain may be a mass of fresh water.
_ALSO = {
    **dict.fromkeys(("surface_stress_u", "surface_stress_v"), ("m2 s-2", 1.0, 1, 0)),
    **dict.fromkeys(("surface_heat_flux", "surface_shortwave_flux"), ("K m s-1", 1.0, 1, 1)),
    "surface_freshwater_flux": ("m s-1", 1000.0, 0, 0),
    "precipitation": ("kg m-2 s-1", 1e-3, 0, 0),
}


@functools.cache
def _parse(unit: str) -> tuple[float, _Dimensions]:
    """Scale and dimensions of a product of factors; a slash divides by the factor that follows it."""
    scale, dimensions = 1.0, [0] * 4
    for position, part in enumerate(unit.split("/")):
        for token in re.split(r"[\s.·]+|(?<!\*)\*(?!\*)", part.strip()):
            match = _TOKEN.match(token)
            if not match:
                raise KeyError(token)
            name, exponent = match[1], int(match[2] or 1) * (-1 if position else 1)
            name = name if name in _FACTORS or name in _IN_CAPITALS else re.sub("[sS]$", "", name)
            factor, of_factor = _FACTORS[name] if name in _FACTORS else _IN_CAPITALS[name]
            scale *= factor**exponent
            dimensions = [before + one * exponent for before, one in zip(dimensions, of_factor, strict=True)]
    return scale, tuple(dimensions)


def conversion(
    quantity: str,
    unit: str,
    density: float = constants.REFERENCE_DENSITY,
    heat_capacity: float = constants.HEAT_CAPACITY,
) -> tuple[float, float]:
    """Scale and offset that convert a quantity from `unit`, as in a file, to the package's unit.

    Density [kg m-3] and heat capacity [J kg-1 K-1] convert kinematic fluxes. Practical salinity is read as g
    kg-1 (0.5 % less than absolute salinity).

    Raises:
        ValueError: an unknown unit, or one of another quantity.
    """
    target = quantity_of(quantity)
    plain = unit.strip().lower().removeprefix("its-90,").lstrip()
    refused = ValueError(f"expected a unit that converts to {target.unit}, got '{unit}'.")
    is_temperature, is_salinity = target.unit == "degC", target.name == "salinity"
    if is_temperature and plain in _CELSIUS or is_salinity and plain in (*_SALINITY, "1"):
        return 1.0, 0.0
    try:
        scale, dimensions = _parse("%" if plain in _PERCENT else "K" if plain in _KELVIN else unit)
    except KeyError:
        raise refused from None
    size, wanted = _parse("K" if is_temperature else target.unit)
    if is_temperature:
        if (scale, dimensions) == (size, wanted):
            return 1.0, -273.15
    elif dimensions == wanted:
        return scale / size, 0.0
    elif target.name in _ALSO and dimensions == _parse(_ALSO[target.name][0])[1]:
        _, factor, of_density, of_heat = _ALSO[target.name]
        return scale * factor * density**of_density * heat_capacity**of_heat, 0.0
    raise refused
