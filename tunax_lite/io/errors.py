"""The error of every reader, and the checks that all readers share."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from .protection import note_input


class FileFormatError(ValueError):
    """A file that cannot be used: says which file and key, what was expected and got, what to do.

    Args:
        path: the file.
        key: variable, group or attribute in it.
        expected, got: without a full stop.
        advice: what the user can do.
    """

    def __init__(self, path, key: str, expected: str, got: str, advice: str):
        super().__init__(f"{path}: {key}: expected {expected}, got {got}; {advice}.")


# Beyond these values a number is in another unit or a fill value, not sea water or air.
_POSSIBLE = {
    "temperature": (-5.0, 60.0),
    "salinity": (0.0, 60.0),
    "u": (-20.0, 20.0),
    "v": (-20.0, 20.0),
    "stress_u": (-50.0, 50.0),
    "stress_v": (-50.0, 50.0),
    "heat_flux": (-1e4, 1e4),
    "shortwave_flux": (-1.0, 2e3),
    "freshwater_flux": (-1.0, 1.0),
    "salt_flux": (-1.0, 1.0),
    "wind_u": (-120.0, 120.0),
    "wind_v": (-120.0, 120.0),
    "air_temperature": (-90.0, 60.0),
    "wet_bulb": (-90.0, 60.0),
    "dew_point": (-100.0, 60.0),
    "relative_humidity": (0.0, 130.0),
    "specific_humidity": (0.0, 0.1),
    "air_pressure": (5e4, 1.1e5),
    "cloud_cover": (0.0, 1.0),
    "precipitation": (-1e-4, 1e-3),
    "shortwave": (-50.0, 2000.0),
    "longwave": (-500.0, 700.0),
    "slope": (-1e-2, 1e-2),
    "velocity": (-20.0, 20.0),
    "vertical_velocity": (-1.0, 1.0),
    "height": (-12000.0, 12000.0),
}
_IN_KELVIN = (183.0, 340.0, "give the unit K")
# Values of a wrong unit that is easily taken for the right one.
_SUSPECTS = {
    "temperature": _IN_KELVIN,
    "air_temperature": _IN_KELVIN,
    "wet_bulb": _IN_KELVIN,
    "dew_point": _IN_KELVIN,
    "specific_humidity": (0.1, 60.0, "it looks like g kg-1: give that unit"),
    "air_pressure": (500.0, 1100.0, "it looks like hPa: give that unit"),
    "cloud_cover": (1.0, 100.0, "it looks like %: give that unit"),
    "precipitation": (1e-3, 1e3, "it looks like mm h-1 or mm day-1: give that unit"),
}


def existing_file(path) -> Path:
    """The path, if there is a file to read.

    Raises:
        FileNotFoundError: no such file, or a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise FileNotFoundError(f"{path}: expected a file, got a folder; name a file in it.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected an existing file, got none; check the path.")
    note_input(path)
    return path


def check_increasing(
    path, key: str, values: np.ndarray, describe: Callable[[int], str] | None = None
) -> None:
    """Raise `FileFormatError` unless the values are finite and increase; `describe` names a record."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise FileFormatError(
            path, key, "finite values", f"{values[bad[0]]} in record {bad[0]}", "repair the file"
        )
    stuck = np.flatnonzero(np.diff(values) <= 0.0)
    if stuck.size:
        at = int(stuck[0])
        got = f"{values[at + 1]:g} after {values[at]:g} in record {at + 1}"
        raise FileFormatError(
            path,
            key,
            "values that increase",
            got if describe is None else f"{describe(at + 1)} after {describe(at)}",
            "sort the records and remove duplicates",
        )


def check_possible(
    path, key: str, quantity: str, values: np.ndarray, describe: Callable[[int], str] | None = None
) -> None:
    """Raise `FileFormatError` if a value cannot be what it is called, for example Kelvin for degC.

    Args:
        path, key: for the message.
        quantity: its name in this package.
        values: in the unit of this package; NaN passes.
        describe: says when a record (the first axis) was taken.
    """
    if quantity not in _POSSIBLE:
        return
    low, high = _POSSIBLE[quantity]
    wrong = np.argwhere(np.isfinite(values) & ((values < low) | (values > high)))
    if len(wrong):
        value = values[tuple(wrong[0])]
        least, most, suspicion = _SUSPECTS.get(quantity, (0.0, 0.0, ""))
        likely = least < value < most
        advice = suspicion if likely else "check the unit, the sign and the fill value"
        when = "" if describe is None else f" at {describe(int(wrong[0][0]))}"
        raise FileFormatError(
            path, key, f"{quantity} between {low:g} and {high:g}", f"{value:g}{when}", advice
        )
    if quantity == "relative_humidity" and values.size > 1 and 0.0 < np.max(values) <= 1.5:
        raise FileFormatError(
            path,
            key,
            "relative humidity in %, some of it above 1.5",
            f"at most {np.max(values):g}",
            "it looks like a fraction: give the unit 1",
        )
