"""Numbers that stand for a missing value, whatever the quantity."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .finding import Finding, rule
from .inputs import Evidence, Samples

_CODES = np.array(
    [sign * base for base in (9.0, 9.9, 9.99, 9.999, 99.0, 99.9, 99.99, 99.999, 999.0, 999.9, 999.99, 9999.0)
     for sign in (-1.0, 1.0)]
    + [-1.0, -8.0, -88.0, -888.0, 8888.0, -8888.0, 9999.9, -9999.9, 99999.0, -99999.0, 32767.0, -32768.0]
)  # fmt: skip
"""Numbers that files put where there is no value; zero is another."""
_MOST_PROFILES = 400
_BACKGROUND = {
    "air_temperature": 3.0, "dew_point": 3.0, "wet_bulb": 3.0, "relative_humidity": 12.0,
    "specific_humidity": 1.5e-3, "air_pressure": 500.0, "wind_speed": 6.0, "wind_u": 8.0, "wind_v": 8.0,
    "cloud_cover": 2.0, "longwave": 60.0, "shortwave": 700.0, "precipitation": 3e-5,
    "temperature": 1.5, "sea_surface_temperature": 1.5, "salinity": 1.0, "u": 0.6, "v": 0.6,
    "surface_heat_flux": 500.0, "surface_stress_u": 1.5, "surface_stress_v": 1.5,
    "surface_shortwave_flux": 700.0, "surface_freshwater_flux": 0.01,
}  # fmt: skip
"""Difference from both neighbours that happens in good records of any quantity [its unit]."""
_THROUGH_ZERO = ("wind_u", "wind_v", "u", "v", "precipitation", "shortwave", "cloud_cover", "wind_speed")
"""Quantities of which an exact zero is common."""
_NEVER_NEGATIVE = (
    "shortwave", "surface_shortwave_flux", "precipitation", "relative_humidity", "specific_humidity",
    "cloud_cover", "wind_speed", "salinity",
)  # fmt: skip


def codes_in(values: np.ndarray, quantity: str) -> tuple[float, int] | None:
    """A missing code that stands among values far from it, and how often."""
    if values.size < 4:
        return None
    unique, counts = np.unique(values, return_counts=True)
    zeros = () if quantity in _THROUGH_ZERO or quantity.startswith("surface_") else (0.0,)
    for code in (*_CODES, *zeros):
        near = 1e-6 * max(abs(code), 1e-3)
        at = np.flatnonzero(np.abs(unique - code) <= near)
        n = int(counts[at].sum())
        if not n or n > 0.5 * values.size:
            continue
        others = values[(np.abs(values - code) > near) & ~np.isin(values, _CODES[np.abs(_CODES) > 90.0])]
        if others.size < 3:
            continue
        below_nothing = quantity in _NEVER_NEGATIVE and code <= -5.0
        usual = np.max(counts[(np.abs(unique - code) > near) & (unique != 0.0)], initial=1)
        # Values of many digits do not meet a round number again and again.
        fine = unique.size > 0.8 * np.count_nonzero(values)
        popular = (abs(code) > 900.0 or fine and code) and n >= 3 and n > 4 * usual and values.size > 50
        if below_nothing or popular or _is_apart(code, others, quantity):
            return code, n
    return None


def _is_apart(code: float, others: np.ndarray, quantity: str) -> bool:
    """Whether a code lies well outside of all other values."""
    gap = max(np.min(others) - code, code - np.max(others))
    spread = np.quantile(others, 0.99) - np.quantile(others, 0.01)
    return bool(gap > max(0.6 * spread, 0.25 * _BACKGROUND.get(quantity, 0.0), 1e-9))


@rule
def missing_code(evidence: Evidence) -> Iterator[Finding]:
    """Note a number such as -9.99, 0, 99 or 9999 among values far from it."""
    for one in evidence.everything():
        if one.quantity != "stress":
            yield from in_file(one)


def in_profiles(quantity: str, where: str, profiles: Sequence[np.ndarray]) -> Iterator[Finding]:
    """Missing codes in profiles of any number of levels, before they are interpolated."""
    if quantity in ("temperature", "salinity", "u", "v"):
        yield from _codes(quantity, where, profiles)


def in_file(one: Samples) -> Iterator[Finding]:
    """Missing codes in values as a file has them: a code is no code after a conversion."""
    yield from _codes(one.quantity, one.where, one.columns())


def _codes(quantity: str, where: str, columns: Iterable[np.ndarray]) -> Iterator[Finding]:
    for values in itertools.islice(columns, _MOST_PROFILES):
        found = codes_in(values, quantity)
        if found is not None:
            said = f"expected measured values, got {found[0]:g} in {found[1]} of {values.size} records"
            remedy = "mark it as missing in the file (`_FillValue`, an empty cell)"
            yield Finding("missing_code", quantity, where, said, "a code for missing values", remedy)
            return
