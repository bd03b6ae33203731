"""Values that cannot be what they are called: Kelvin for Celsius, hPa for Pa, a fraction for per cent."""

import numpy as np

from ..io.errors import FileFormatError
from ..io.yaml_file import ConfigError
from ..quantities import Quantity, quantity_of
from .settings import Source
from .text_file import TextFile, iso

ZERO_CELSIUS = 273.15

# Names in the table of quantities where they are others than the last part of an input's path.
_OURS = {
    "heat": "heat_flux",
    "tx": "stress_u",
    "ty": "stress_v",
    "u10": "wind_u",
    "v10": "wind_v",
    "airp": "air_pressure",
    "airt": "air_temperature",
    "cloud": "cloud_cover",
    "precip": "precipitation",
    "swr": "shortwave",
    "longwave_radiation": "longwave",
    "sst": "sea_surface_temperature",
    "sss": "salinity",
    "us0": "stokes_drift_u",
    "vs0": "stokes_drift_v",
    "zeta": "surface_elevation",
    "max": "vertical_velocity",
    "relative": "relative_humidity",
    "specific": "specific_humidity",
}

# What to do about a wrong unit that is easily taken for the right one.
_REMEDIES = {
    "hPa": "hPa, set scale_factor: 100",
    "%": "per cent or oktas, set scale_factor: 0.01 or 0.125",
    "g kg-1": "g/kg, set scale_factor: 0.001",
    "K": "Kelvin, set offset: -273.15",
    "mm h-1 or mm day-1": "mm per hour or day, set scale_factor",
}
_ANYTHING = Quantity("", "", "1", "outside")


def _quantity(kind: str) -> Quantity:
    try:
        return quantity_of(_OURS.get(kind, kind))
    except KeyError:
        return _ANYTHING


def without_kelvin(values: np.ndarray) -> np.ndarray:
    """Temperatures [degC] from such in degC or, above 100, in K: GOTM's convention for the air."""
    return np.where(values > 100.0, values - ZERO_CELSIUS, values)


def check_plausible(
    source: Source, file: TextFile, indices: np.ndarray, time: np.ndarray, values: np.ndarray, kind: str
) -> None:
    """Raise `FileFormatError` for a gap, or a value out of the range of GOTM's key or of what is possible.

    Args:
        source: the input.
        file, indices: the line of each value.
        time: of each value [s] since 1970.
        values: after scale factor and offset.
        kind: what the values are: the name of the input, or a measure of humidity.
    """

    def error(index: int, expected: str, advice: str) -> FileFormatError:
        got = f"{values[index]:g} at {iso(time[index])}"
        return file.error(int(indices[index]), f"{expected} for {source.path}", got, advice)

    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise error(int(bad[0]), "a finite value", "fill the gap before the run")
    known = _quantity(kind)
    low, high = known.possible
    low, high = max(low, source.described.low), min(high, source.described.high)
    outside = np.flatnonzero((values < low) | (values > high))
    if outside.size:
        unit = source.described.unit
        advice = "check the unit, the sign, the column and the fill value"
        if known.suspect is not None and known.suspect[1] <= values[outside[0]] <= known.suspect[2]:
            advice = f"the values look like {_REMEDIES[known.suspect[0]]}"
        raise error(int(outside[0]), f"a value from {low:g} to {high:g}{f' {unit}' if unit else ''}", advice)
    if kind == "relative" and values.size > 1 and values.max() <= 1.5 and values.max() > 0.0:
        top = int(np.argmax(values))
        raise error(top, "relative humidity in %, of which some exceeds 1.5", "hPa, set scale_factor: 100")


def check_constant(source: Source, value: float, kind: str) -> None:
    """Raise `ConfigError` for a constant that is not possible."""
    low, high = _quantity(kind).possible
    if not low <= value <= high:
        raise ConfigError(
            f"{source.where}: expected a constant_value from {low:g} to {high:g} [{source.described.unit}], "
            f"got {value:g}; correct it, or use method: file."
        )
