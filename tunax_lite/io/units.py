"""Units of measured quantities: convert them to the package's units, or reject them.

A unit such as `W m-2`, `W/m2` or `W m**-2` is split into factors, each with a scale and exponents of metre,
second, kilogram, kelvin and mole. With a `Conversion` users correct inputs of any format.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .. import constants
from ..declarations import check_settings, setting
from ..quantities import QUANTITIES, quantity_of

_Dimensions = tuple[int, ...]
_SCALES: dict[_Dimensions, dict[str, float]] = {
    (0, 0, 0, 0, 0): {"1": 1.0, "%": 1e-2, "okta": 0.125, "octa": 0.125, "tenth": 0.1},
    (1, 0, 0, 0, 0): dict(m=1.0, meter=1.0, metre=1.0, km=1e3, dm=1e-1, cm=1e-2, mm=1e-3)
    | dict.fromkeys(("ft", "foot", "feet"), 0.3048),
    (2, 0, 0, 0, 0): dict(ha=1e4, hectare=1e4, acre=4046.8564224),
    (0, 1, 0, 0, 0): dict(s=1.0, sec=1.0, second=1.0, min=60.0, minute=60.0, h=3600.0, hr=3600.0, hour=3600.0)
    | dict(d=86400.0, day=86400.0, ms=1e-3, millisecond=1e-3, microsecond=1e-6, nanosecond=1e-9),
    (0, 0, 1, 0, 0): dict(kg=1.0, g=1e-3, gr=1e-3, gram=1e-3, mg=1e-6, ug=1e-9, ng=1e-12),
    (0, 0, 0, 1, 0): dict(K=1.0, kelvin=1.0),
    (1, -2, 1, 0, 0): dict(N=1.0, dyn=1e-5),
    (-1, -2, 1, 0, 0): dict(Pa=1.0, pascal=1.0, hPa=1e2, kPa=1e3, bar=1e5, mbar=1e2, mb=1e2, millibar=1e2)
    | dict(dbar=1e4, decibar=1e4, db=1e4),
    (1, -1, 0, 0, 0): dict.fromkeys(("knot", "kn", "kt"), 1852.0 / 3600.0),
    (2, -2, 1, 0, 0): dict(J=1.0, kJ=1e3, MJ=1e6, cal=4.184, kcal=4184.0),
    (2, -3, 1, 0, 0): dict(W=1.0, kW=1e3, MW=1e6, watt=1.0),
    (0, 0, 0, 0, 1): dict(mol=1.0, mole=1.0, mmol=1e-3, millimole=1e-3, umol=1e-6, micromole=1e-6)
    | dict(nmol=1e-9, eq=1.0, Eq=1.0, meq=1e-3, mEq=1e-3, ueq=1e-6, uEq=1e-6),
    (3, 0, 0, 0, 0): dict(l=1e-3, L=1e-3, liter=1e-3, litre=1e-3, ml=1e-6, mL=1e-6),
    (-3, 0, 0, 0, 1): dict(uM=1e-3, nM=1e-6),
}
_FACTORS = {name: (scale, of) for of, names in _SCALES.items() for name, scale in names.items()}
_IN_CAPITALS = {name.upper(): factor for name, factor in _FACTORS.items()}
"""Older files write units in capitals, such as M/S."""
_CELSIUS = re.compile(r"(?:its-90, *)?(?:°|deg(?:ree)?s?)?[ _]?c(?:elsius)?", re.IGNORECASE)
_TEMPERATURE = re.compile(
    r"(?i:(?:°\s*|\bdeg(?:rees?)?[ _]?)(?:C|celsius|K|kelvin)|\bcelsius|\bkelvin)(?![A-Za-z])"
)
"""Unit of a temperature, or of a temperature difference in a product such as degC m/s."""
_SALINITY = re.compile(
    r"\b(?:psu|ppt|pss(?:-?78)?|practical[ _]salinity[ _]units?|1e-3|0\.001|g\s*/\s*kg|g\s+kg(?:\^|\*\*)?-1)"
    r"(?![A-Za-z\d])",
    re.IGNORECASE,
)
_WORDS = {"percent": "%", "per cent": "%", "dimensionless": "1", "unitless": "1"}
DEGREES = {"°", "deg", "degree", "degrees", "degrees_true", "degt", "degree_true"}
"""Units of directions."""
_SUBSTANCE = re.compile(
    r"((?:milli|micro|nano|[munµμ])?(?:mol(?:es?)?|g(?:rams?)?|[Ee]q))[ _-]+"
    r"(?:chl[-_a-z]*|C|N|P|Si|Fe|O2?|NO3|NH4|PO4)\b(?![-+]?\d)",
    re.IGNORECASE,
)
"""An amount of a substance, such as `mmol N` or `mg Chl`: the substance is no part of the unit."""
BRACKETS = re.compile(r"(.*?)\s*\(([^()]*)\)$")
_RAISED = str.maketrans("²³⁻¹", "23-1")
_MICRO = str.maketrans("µμ", "uu")
_PER_VOLUME = (-3, 0, 1, 0, 0)
"""Dimensions of density, which converts a concentration per mass of water to one per volume."""
_TOKEN = re.compile(r"([A-Za-z]+|1|%)(?:(?:\^|\*\*)?([+-]?\d+))?$")
# Other accepted units of a quantity, with a factor and powers of density and heat capacity to multiply by:
# fluxes may be kinematic, and rain may be a mass of fresh water.
_EQUIVALENTS = {
    **dict.fromkeys(("surface_stress_u", "surface_stress_v"), ("m2 s-2", 1.0, 1, 0)),
    **dict.fromkeys(("surface_heat_flux", "surface_shortwave_flux"), ("K m s-1", 1.0, 1, 1)),
    "surface_freshwater_flux": ("m s-1", 1000.0, 0, 0),
    "surface_salt_flux": ("g kg-1 m s-1", 1e-3, 1, 0),
    "precipitation": ("kg m-2 s-1", 1e-3, 0, 0),
}


@functools.cache
def _parse(unit: str) -> tuple[float, _Dimensions]:
    """Scale and dimensions of a product of factors, where all after a slash divide; `KeyError` if unknown."""
    scale, dimensions, plain = 1.0, [0] * 5, unit.strip()
    plain = _WORDS.get(plain.lower(), "K" if _CELSIUS.fullmatch(plain) else plain)
    for position, part in enumerate(_TEMPERATURE.sub("K", plain.translate(_RAISED)).split("/")):
        for token in re.split(r"[\s.·]+|(?<!\*)\*(?!\*)", part.strip()):
            match = _TOKEN.match(token)
            if not match:
                raise KeyError(token)
            name, exponent = match[1], int(match[2] or 1) * (-1 if position else 1)
            name = name if name in _FACTORS or name in _IN_CAPITALS else re.sub("[sS]$", "", name)
            factor, of_factor = _FACTORS[name] if name in _FACTORS else _IN_CAPITALS[name]
            scale *= factor**exponent
            dimensions = [before + n * exponent for before, n in zip(dimensions, of_factor, strict=True)]
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
    plain = unit.strip().lower()
    if target.name == "salinity" and (_SALINITY.fullmatch(plain) or _WORDS.get(plain, plain) == "1"):
        return 1.0, 0.0
    try:
        return between(unit, target.unit)
    except ValueError:
        if target.name not in _EQUIVALENTS:
            raise
    equivalent, factor, of_density, of_heat = _EQUIVALENTS[target.name]
    if "g kg-1" in equivalent:
        # A salinity has no dimension, and metres per second alone are no flux of salt.
        unit, n_salinities = _SALINITY.subn("g kg-1", unit)
        equivalent = equivalent if n_salinities else target.unit
    try:
        scale, _ = between(unit, equivalent)
    except ValueError:
        raise ValueError(f"expected a unit that converts to {target.unit}, got '{unit}'.") from None
    return scale * factor * density**of_density * heat_capacity**of_heat, 0.0


def between(unit: str, wanted: str) -> tuple[float, float]:
    """Scale and offset between two units; `ValueError` if their dimensions differ."""
    from_celsius, to_celsius = (_CELSIUS.fullmatch(each.strip()) is not None for each in (unit, wanted))
    wanted_scale, wanted_dims = _parse(wanted)
    try:
        scale, dimensions = _parse(unit)
    except KeyError:
        scale, dimensions = 1.0, ()
    if dimensions != wanted_dims:
        raise ValueError(f"expected a unit that converts to {wanted}, got '{unit}'.")
    return scale / wanted_scale, 273.15 * (from_celsius - to_celsius)


def unit_in_brackets(name: str) -> tuple[str, str | None]:
    """Split a name such as `Wind Speed (m/s)` from the unit in its brackets; UTC and GMT are removed."""
    match = BRACKETS.match(name)
    if match is None or not (_is_unit(match[2]) or match[2].upper() in ("UTC", "GMT")):
        return name, None
    return match[1], match[2] if _is_unit(match[2]) else None


def _is_unit(text: str) -> bool:
    try:
        _parse(text)
    except KeyError:
        plain = text.strip().lower()
        return plain in DEGREES or _SALINITY.fullmatch(plain) is not None
    return True


_SPELLED = {
    "celsius": "degC", "kelvin": "K", "percent": "%", "decimalfraction": "1", "degree": "degree",
    "meter": "m", "metersquared": "m2", "permeter": "m-1", "meterpersecond": "m s-1", "knot": "knot",
    "kilometerperhour": "km h-1", "centimeterpersecond": "cm s-1", "metercubedpersecond": "m3 s-1",
    "millimeterperday": "mm day-1", "millimeterperhour": "mm h-1", "millimeterpersecond": "mm s-1",
    "wattpermetersquared": "W m-2", "joulepermetersquared": "J m-2", "pascal": "Pa", "hectopascal": "hPa",
    "kilopascal": "kPa", "millibar": "mbar", "practicalsalinityunit": "psu", "milligramperliter": "mg L-1",
    "microgramperliter": "ug L-1", "kilogramperkilogram": "kg kg-1", "gramperkilogram": "g kg-1",
    "fraction": "1", "centimeter": "cm", "millimeter": "mm", "newtonpermetersquared": "N m-2",
}  # fmt: skip
"""Units in words, in the singular, as in files of LakeEnsemblR: `wattPerMeterSquared`."""


def unit_at_end(name: str) -> tuple[str, str | None]:
    """Split a name from the unit at its end: `Rain_millimeterPerHour`, `air_temperature_degC`.

    Without a known unit of more than one letter the name is returned unchanged.
    """
    for match in re.finditer("_", name):
        end = name[match.end() :]
        singular = re.sub("(?<!u)s(?=per|squared|cubed|$)", "", end.lower().replace("metre", "meter"))
        if singular in _SPELLED:
            return name[: match.start()], _SPELLED[singular]
        # As in `W_m-2` or `mm_h`: a further factor without a minus divides.
        first, *others = end.replace("_per_", "_").split("_")
        unit = first + "".join(f" {part}" if "-" in part else f"/{part}" for part in others)
        is_number_or_extreme = first[:1].isdigit() or end == "min"  # a depth, or the lowest value
        if len(end) > 1 and not is_number_or_extreme and _is_unit(unit):
            return name[: match.start()], unit
    return name, None


def concentration(unit: str, wanted: str) -> tuple[float, int]:
    """Scale between two units of a tracer, and the power of the density of water [kg m-3] to multiply by.

    The power is 1 from an amount per mass of water (`umol kg-1`) to one per volume (`mmol m-3`), -1 the other
    way, 0 otherwise.

    Raises:
        ValueError: an unknown unit, or one of another kind: masses are not amounts of substance.
    """
    try:
        (scale, dimensions), (wanted_scale, wanted_dims) = (
            _parse(_SUBSTANCE.sub(r"\1", each).translate(_MICRO)) for each in (unit, wanted)
        )
        differing = tuple(b - a for a, b in zip(dimensions, wanted_dims, strict=True))
        for power in (0, 1, -1):
            if differing == tuple(power * exponent for exponent in _PER_VOLUME):
                return scale / wanted_scale, power
        is_mass = differing[4] == -differing[2] != 0
    except KeyError:
        is_mass = False
    advice = "; a mass needs the molar mass: give the wanted unit and a factor" if is_mass else ""
    raise ValueError(f"expected a unit that converts to {wanted}, got '{unit}'{advice}.")


def is_known(quantity: str) -> bool:
    """Return whether a quantity is in the table; tracers and parameters are not, and keep their units."""
    return quantity in QUANTITIES or f"surface_{quantity}" in QUANTITIES


def unit_of(quantity: str) -> str:
    """The package's unit of a quantity, for messages."""
    return quantity_of(quantity).unit if is_known(quantity) else f"that of {quantity}"


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """Conversion of an input to a quantity of the package: sign (factor x + offset).

    Here x is the value after conversion from its unit to that of the package.

    Args:
        unit: unit of the values, instead of that in the file.
        factor: factor applied after conversion of the unit [1].
        offset: added after the factor, in the unit of the package.
        sign: of the result; -1 if the input has the opposite sign.

    Raises:
        ValueError: a factor of 0, a number that is not finite, or a sign other than 1 and -1.
    """

    unit: str | None = setting(None)
    factor: float = setting(1.0)
    offset: float = setting(0.0)
    sign: int = setting(1, choices=(1, -1))

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]
        if self.factor == 0.0:
            raise ValueError(
                "factor: expected a number other than 0, which would remove the input, got 0; correct it, or "
                "give the constant 0 instead."
            )

    def linear(self, quantity: str, unit: str | None, **of_water: float) -> tuple[float, float]:
        """Scale and offset from values in a file to the package's unit.

        Args:
            quantity: name in the table of quantities, or of a tracer, which keeps its unit.
            unit: unit in the file, `None` for that of the package; a unit of the conversion overrides it.
            of_water: as in `conversion`.

        Raises:
            ValueError: an unknown unit, or one of another quantity.
        """
        unit = unit if self.unit is None else self.unit
        if self.unit is not None and not is_known(quantity):
            expected = f"no unit for {quantity}, which keeps that of the file"
            raise ValueError(f"unit: expected {expected}, got '{self.unit}'; give a factor instead.")
        scale, offset = (1.0, 0.0) if unit is None else conversion(quantity, unit, **of_water)
        return self._after(scale, offset)

    def _after(self, scale: float, offset: float = 0.0) -> tuple[float, float]:
        """Apply factor, offset and sign after a conversion of units with this scale and offset."""
        return self.sign * self.factor * scale, self.sign * (self.factor * offset + self.offset)

    def linear_of_tracer(self, wanted: str) -> tuple[float, float]:
        """Scale and offset to the unit of a tracer; values without a unit are taken to be in it.

        Raises:
            ValueError: an unknown unit, or one of another kind, such as an amount per mass of water.
        """
        scale, of_density = (1.0, 0) if self.unit is None else concentration(self.unit, wanted)
        if of_density:
            raise ValueError(
                f"unit: expected a unit per volume, as {wanted}, got '{self.unit}'; no density is "
                "known here: give a factor instead."
            )
        return self._after(scale)


Conversions = Mapping[str, str | Conversion]
"""Units or conversions by the package's names."""


def as_conversion(requested: str | Conversion | None) -> Conversion:
    """Build a conversion from a unit; conversions pass unchanged."""
    return requested if isinstance(requested, Conversion) else Conversion(unit=requested)


def unit_alone(units: Conversions, name: str) -> str | None:
    """Unit requested for a coordinate; `ValueError` for a factor, offset or sign."""
    requested = as_conversion(units.get(name))
    if requested != Conversion(unit=requested.unit):
        raise ValueError(f"units.{name}: expected a unit alone, got a factor, offset or sign too; remove it.")
    return requested.unit
