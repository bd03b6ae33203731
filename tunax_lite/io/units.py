"""Units of measured quantities: converted to those of the package, or refused.

A unit such as `W m-2`, `W/m2` or `W m**-2` is split into factors, each of which has a scale and the
exponents of metre, second, kilogram and kelvin.
"""

import re
from dataclasses import dataclass

from .. import constants

_Dimensions = tuple[int, int, int, int]
_NONE: _Dimensions = (0, 0, 0, 0)

_FACTORS: dict[str, tuple[float, _Dimensions]] = {
    "1": (1.0, _NONE),
    "m": (1.0, (1, 0, 0, 0)),
    "meter": (1.0, (1, 0, 0, 0)),
    "metre": (1.0, (1, 0, 0, 0)),
    "km": (1e3, (1, 0, 0, 0)),
    "dm": (1e-1, (1, 0, 0, 0)),
    "cm": (1e-2, (1, 0, 0, 0)),
    "mm": (1e-3, (1, 0, 0, 0)),
    "s": (1.0, (0, 1, 0, 0)),
    "sec": (1.0, (0, 1, 0, 0)),
    "second": (1.0, (0, 1, 0, 0)),
    "min": (60.0, (0, 1, 0, 0)),
    "minute": (60.0, (0, 1, 0, 0)),
    "h": (3600.0, (0, 1, 0, 0)),
    "hr": (3600.0, (0, 1, 0, 0)),
    "hour": (3600.0, (0, 1, 0, 0)),
    "d": (86400.0, (0, 1, 0, 0)),
    "day": (86400.0, (0, 1, 0, 0)),
    "kg": (1.0, (0, 0, 1, 0)),
    "g": (1e-3, (0, 0, 1, 0)),
    "K": (1.0, (0, 0, 0, 1)),
    "kelvin": (1.0, (0, 0, 0, 1)),
    "N": (1.0, (1, -2, 1, 0)),
    "Pa": (1.0, (-1, -2, 1, 0)),
    "pascal": (1.0, (-1, -2, 1, 0)),
    "hPa": (1e2, (-1, -2, 1, 0)),
    "kPa": (1e3, (-1, -2, 1, 0)),
    "bar": (1e5, (-1, -2, 1, 0)),
    "mbar": (1e2, (-1, -2, 1, 0)),
    "millibar": (1e2, (-1, -2, 1, 0)),
    "dyn": (1e-5, (1, -2, 1, 0)),
    "J": (1.0, (2, -2, 1, 0)),
    "W": (1.0, (2, -3, 1, 0)),
    "kW": (1e3, (2, -3, 1, 0)),
    "watt": (1.0, (2, -3, 1, 0)),
}
_CELSIUS = {
    *("degc", "deg_c", "degree_c", "degrees_c", "celsius", "degree_celsius", "degrees_celsius"),
    *("deg c", "°c", "c", "deg celsius", "degrees celsius", "degreesc"),
}
_PERCENT = {"%", "percent", "per cent"}
_SALINITY = {"psu", "pss", "pss-78", "1e-3", "0.001", "practical salinity unit", "g/kg"}
_TOKEN = re.compile(r"([A-Za-z]+|1)(?:(?:\^|\*\*)?([+-]?\d+))?$")


@dataclass(frozen=True)
class Quantity:
    """What a variable is: its unit in the package, scales of other kinds of the same thing, and that unit.

    `size` is the unit of the package in metre, second, kilogram and kelvin.
    """

    unit: str
    dimensions: _Dimensions
    also: tuple[tuple[_Dimensions, float], ...] = ()
    size: float = 1.0


_RHO, _RHO_CP = constants.REFERENCE_DENSITY, constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY
# Fluxes per mass or heat capacity are taken with the constants of the package; rain in m s-1 is fresh.
QUANTITIES: dict[str, Quantity] = {
    "temperature": Quantity("degC", (0, 0, 0, 1)),
    "salinity": Quantity("g kg-1", _NONE),
    "u": Quantity("m s-1", (1, -1, 0, 0)),
    "v": Quantity("m s-1", (1, -1, 0, 0)),
    "z": Quantity("m", (1, 0, 0, 0)),
    "interval": Quantity("s", (0, 1, 0, 0)),
    "stress_u": Quantity("N m-2", (-1, -2, 1, 0), (((2, -2, 0, 0), _RHO),)),
    "stress_v": Quantity("N m-2", (-1, -2, 1, 0), (((2, -2, 0, 0), _RHO),)),
    "heat_flux": Quantity("W m-2", (0, -3, 1, 0), (((1, -1, 0, 1), _RHO_CP),)),
    "shortwave_flux": Quantity("W m-2", (0, -3, 1, 0), (((1, -1, 0, 1), _RHO_CP),)),
    "freshwater_flux": Quantity("kg m-2 s-1", (-2, -1, 1, 0), (((1, -1, 0, 0), 1000.0),)),
    "salt_flux": Quantity("kg m-2 s-1", (-2, -1, 1, 0)),
    "wind_u": Quantity("m s-1", (1, -1, 0, 0)),
    "wind_v": Quantity("m s-1", (1, -1, 0, 0)),
    "air_temperature": Quantity("degC", (0, 0, 0, 1)),
    "wet_bulb": Quantity("degC", (0, 0, 0, 1)),
    "dew_point": Quantity("degC", (0, 0, 0, 1)),
    "relative_humidity": Quantity("%", _NONE, size=1e-2),
    "specific_humidity": Quantity("kg kg-1", _NONE),
    "air_pressure": Quantity("Pa", (-1, -2, 1, 0)),
    "cloud_cover": Quantity("1", _NONE),
    "precipitation": Quantity("m s-1", (1, -1, 0, 0), (((-2, -1, 1, 0), 1e-3),)),
    "shortwave": Quantity("W m-2", (0, -3, 1, 0)),
    "longwave": Quantity("W m-2", (0, -3, 1, 0)),
    "slope": Quantity("1", _NONE),
    "velocity": Quantity("m s-1", (1, -1, 0, 0)),
    "vertical_velocity": Quantity("m s-1", (1, -1, 0, 0)),
    "height": Quantity("m", (1, 0, 0, 0)),
    "energy_per_area": Quantity("J m-2", (0, -2, 1, 0)),
    "energy_per_volume": Quantity("J m-3", (-1, -2, 1, 0)),
    "mass_per_area": Quantity("kg m-2", (-2, 0, 1, 0)),
}


def _parse(unit: str) -> tuple[float, _Dimensions]:
    """Scale and dimensions of a product of factors; a slash divides by the factors that follow it."""
    scale, dimensions = 1.0, [0, 0, 0, 0]
    for position, part in enumerate(unit.split("/")):
        for token in re.split(r"[\s.·]+|(?<!\*)\*(?!\*)", part.strip()):
            match = _TOKEN.match(token)
            if not match:
                raise KeyError(token)
            name, exponent = match[1], int(match[2] or 1) * (-1 if position else 1)
            name = name if name in _FACTORS else name.removesuffix("s")
            factor, factor_dimensions = _FACTORS[name]
            scale *= factor**exponent
            for i, dimension in enumerate(factor_dimensions):
                dimensions[i] += dimension * exponent
    return scale, (dimensions[0], dimensions[1], dimensions[2], dimensions[3])


def conversion(quantity: str, unit: str) -> tuple[float, float]:
    """Scale and offset that bring a quantity from `unit` to the unit of the package.

    Args:
        quantity: a name of `QUANTITIES`.
        unit: as written in the file. Practical salinity counts as g kg-1 (0.5 % less than absolute).

    Raises:
        ValueError: a unit that is not known, or that belongs to another quantity.
    """
    target = QUANTITIES[quantity]
    plain = unit.strip().lower()
    is_temperature = target.unit == "degC"
    if is_temperature and plain in _CELSIUS:
        return 1.0, 0.0
    if quantity == "salinity" and (plain in _SALINITY or plain == "1"):
        return 1.0, 0.0
    try:
        scale, dimensions = (1e-2, _NONE) if plain in _PERCENT else _parse(unit)
    except KeyError:
        raise ValueError(f"expected a unit that converts to {target.unit}, got '{unit}'.") from None
    if is_temperature and dimensions == target.dimensions and scale == 1.0:
        return 1.0, -273.15
    if quantity == "salinity" and dimensions == _NONE:
        return scale * 1e3, 0.0
    for accepted, factor in ((target.dimensions, 1.0), *target.also):
        if dimensions == accepted and not is_temperature:
            return scale * factor / target.size, 0.0
    raise ValueError(f"expected a unit that converts to {target.unit}, got '{unit}'.")
