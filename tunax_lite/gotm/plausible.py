"""Values that cannot be what they are called: Kelvin for Celsius, hPa for Pa, a share for per cent."""

import numpy as np

from ..io.errors import FileFormatError
from ..io.yaml_file import ConfigError
from .settings import Source
from .text_file import TextFile, iso

ZERO_CELSIUS = 273.15

# Lowest and highest value that is possible, for the last parts of an input's path.
_RANGES = {
    "heat": (-5e3, 5e3),
    "tx": (-50.0, 50.0),
    "ty": (-50.0, 50.0),
    "u10": (-100.0, 100.0),
    "v10": (-100.0, 100.0),
    "airp": (5e4, 1.2e5),
    "airt": (-90.0, 65.0),
    "precip": (-1e-3, 1e-3),
    "swr": (0.0, 1800.0),
    "longwave_radiation": (-600.0, 700.0),
    "sst": (-5.0, 60.0),
    "sss": (0.0, 60.0),
    "temperature": (-5.0, 60.0),
    "salinity": (0.0, 60.0),
    "u": (-20.0, 20.0),
    "v": (-20.0, 20.0),
    "us0": (-5.0, 5.0),
    "vs0": (-5.0, 5.0),
    "zeta": (-100.0, 100.0),
    "max": (-1.0, 1.0),
}

_HUMIDITY = {
    "relative": (0.0, 120.0),
    "wet_bulb": (-90.0, 65.0),
    "dew_point": (-90.0, 65.0),
    "specific": (0.0, 0.08),
}

_KELVIN = (183.0, 338.0)

# Range of a wrong unit that is easily taken for the right one, and what to do about it.
_SUSPECTS = {
    "airp": ((500.0, 1200.0), "the values look like hPa, set scale_factor: 100"),
    "cloud": ((1.0, 100.0), "the values look like per cent or oktas, set scale_factor: 0.01 or 0.125"),
    "specific": ((0.08, 80.0), "the values look like g/kg, set scale_factor: 0.001"),
    "temperature": (_KELVIN, "the values look like Kelvin, set offset: -273.15"),
    "sst": (_KELVIN, "the values look like Kelvin, set offset: -273.15"),
    "precip": ((1e-3, 1e3), "the values look like mm per hour or day, set scale_factor"),
}


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
    low, high = _HUMIDITY.get(kind, _RANGES.get(kind, (-np.inf, np.inf)))
    low, high = max(low, source.described.low), min(high, source.described.high)
    outside = np.flatnonzero((values < low) | (values > high))
    if outside.size:
        unit = source.described.unit
        suspect, advice = _SUSPECTS.get(kind, ((np.inf, np.inf), "check the unit, the sign and the column"))
        if not suspect[0] <= values[outside[0]] <= suspect[1]:
            advice = "check the unit, the sign, the column and the fill value"
        raise error(int(outside[0]), f"a value from {low:g} to {high:g}{f' {unit}' if unit else ''}", advice)
    if kind == "relative" and values.size > 1 and values.max() <= 1.5 and values.max() > 0.0:
        top = int(np.argmax(values))
        raise error(top, "relative humidity in %, of which some exceeds 1.5", "set scale_factor: 100")


def check_constant(source: Source, value: float, kind: str) -> None:
    """Raise `ConfigError` for a constant that is not possible."""
    low, high = _HUMIDITY.get(kind, _RANGES.get(kind, (-np.inf, np.inf)))
    if not low <= value <= high:
        raise ConfigError(
            f"{source.where}: expected a constant_value from {low:g} to {high:g} [{source.described.unit}], "
            f"got {value:g}; correct it, or use method: file."
        )
