"""Conversion of measured sea water properties to conservative temperature and absolute salinity (TEOS-10).

Instruments and climatologies give in-situ or potential temperature and practical salinity. Readers convert
once, so that no time step has to.
"""

from collections.abc import Sequence

import numpy as np

from .._types import warn_of_input

Numbers = np.ndarray | list | tuple | float | int
"""Array-like numbers of NumPy."""

SalinityGuess = float | tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray]
"""Practical salinity to use where none was measured: a number, or heights [m] and values."""

MIDDLE_LATITUDE = 45.0
"""Latitude [degrees] assumed for gravity without a position: gravity is wrong by at most 0.27 %."""
OCEAN_SALINITY = 35.0
"""Assumed practical salinity: an error of 1 changes 10 degC by 0.02 K, and 30 degC by 0.04 K."""


def sea_pressure(z: Numbers, latitude: Numbers) -> np.ndarray:
    """Sea pressure [dbar] at heights z [m] and a latitude [degrees]; inverse of `gsw.z_from_p`.

    Source: IOC et al. (2010), as implemented in `gsw`.
    """
    import gsw

    return np.asarray(gsw.p_from_z(np.asarray(z, dtype=float), latitude))


def absolute_salinity(
    salinity: Numbers, pressure: Numbers, *, longitude: Numbers, latitude: Numbers, anomaly: bool = True
) -> np.ndarray:
    """Absolute salinity [g kg-1] from practical salinity; its anomaly depends on the position.

    Args:
        salinity: practical [1].
        pressure: sea pressure [dbar], broadcast against the salinity.
        longitude, latitude: [degrees east, degrees north].
        anomaly: whether to add the anomaly; without it the reference-composition ratio is used, except in the
            Baltic Sea.

    Raises:
        ValueError: a salinity outside 0 to 50, or an invalid position.

    Source: McDougall et al. (2012), Ocean Science 8, 1123-1134, as implemented in `gsw`.
    """
    import gsw

    salinity = np.asarray(salinity, dtype=float)
    _check("practical salinity [1]", salinity, 0.0, 50.0)
    _check("latitude [degrees north]", latitude, -90.0, 90.0)
    _check("longitude [degrees east]", longitude, -360.0, 360.0)
    if anomaly:
        return np.asarray(gsw.SA_from_SP(salinity, pressure, longitude, latitude))
    baltic = gsw.SA_from_SP_Baltic(*np.broadcast_arrays(salinity, longitude, latitude))  # NaN elsewhere
    shape = np.broadcast_shapes(np.shape(pressure), baltic.shape)
    standard = np.broadcast_to(gsw.SR_from_SP(salinity), shape)
    return np.where(np.isfinite(baltic), baltic, standard)


def salinity_of_the_ocean(z: np.ndarray, longitude: float, latitude: float) -> np.ndarray:
    """Absolute salinity [g kg-1] assumed at heights z [m] and a position [degrees] without measurements."""
    practical = np.full_like(z, OCEAN_SALINITY)
    return absolute_salinity(practical, sea_pressure(z, latitude), longitude=longitude, latitude=latitude)


def practical_salinity(salinity: Numbers, z: Numbers, *, longitude: Numbers, latitude: Numbers) -> np.ndarray:
    """Practical salinity [1] from absolute salinity [g kg-1] at heights z [m] and a position [degrees].

    Source: IOC et al. (2010), as implemented in `gsw`.
    """
    import gsw

    practical = np.asarray(gsw.SP_from_SA(salinity, sea_pressure(z, latitude), longitude, latitude))
    # The formula of the Baltic mixes sea water with river water of 0.087 g kg-1, which has S_P = 0, and gives
    # negative values for the fresher lakes in its area.
    return np.maximum(practical, 0.0)


def conservative_temperature(
    temperature: Numbers, salinity: Numbers, pressure: Numbers, kind: str
) -> np.ndarray:
    """Conservative temperature [degC] from "conservative", "potential" or "in_situ" temperature [degC].

    The salinity is absolute [g kg-1]; only in-situ temperature needs the sea pressure [dbar].

    Raises:
        ValueError: an unknown kind, or a temperature outside -5 to 50 degC.

    Source: IOC et al. (2010), as implemented in `gsw`.
    """
    import gsw

    temperature = np.asarray(temperature, dtype=float)
    _check(f"{kind} temperature [degC]", temperature, -5.0, 50.0)
    if kind == "conservative":
        return temperature
    if kind == "potential":
        return np.asarray(gsw.CT_from_pt(salinity, temperature))
    if kind == "in_situ":
        return np.asarray(gsw.CT_from_t(salinity, temperature, pressure))
    expected, advice = "the kind 'conservative', 'potential' or 'in_situ'", "name that of the file"
    raise ValueError(f"temperature: expected {expected}, got '{kind}'; {advice}.")


def in_situ_at_surface(temperature: Numbers, salinity: Numbers, kind: str) -> np.ndarray:
    """In-situ temperature [degC] at the surface from a kind as in `conservative_temperature`."""
    import gsw

    temperature = conservative_temperature(temperature, salinity, 0.0, kind)
    return np.asarray(gsw.pt_from_CT(salinity, temperature))


def modelled_water(
    temperature: Numbers,
    salinity: Numbers,
    z: Numbers,
    *,
    temperature_kind: str,
    salinity_kind: str,
    longitude: Numbers = 0.0,
    latitude: Numbers = MIDDLE_LATITUDE,
    anomaly: bool = True,
    pressure: Numbers | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Conservative temperature [degC] and absolute salinity [g kg-1] of measured profiles.

    Args:
        temperature, salinity: of the kinds below, broadcast against each other; NaN stays NaN.
        z: heights [m], at or below 0.
        temperature_kind: as in `conservative_temperature`.
        salinity_kind: "absolute" or "practical"; only the latter needs a position.
        longitude, latitude, anomaly: as in `absolute_salinity`.
        pressure: sea pressure [dbar]; by default that of the heights at the latitude.

    Raises:
        ValueError: an unknown kind, or values out of range.
    """
    _check("height z [m]", z, -12000.0, 0.0)
    at = sea_pressure(z, latitude) if pressure is None else pressure
    if salinity_kind == "practical":
        salinity = absolute_salinity(salinity, at, longitude=longitude, latitude=latitude, anomaly=anomaly)
    elif salinity_kind != "absolute":
        expected, advice = "the kind 'absolute' or 'practical'", "name that of the file"
        raise ValueError(f"salinity: expected {expected}, got '{salinity_kind}'; {advice}.")
    salinity = np.asarray(salinity, dtype=float)
    _check("absolute salinity [g kg-1]", salinity, 0.0, 50.0)
    return conservative_temperature(temperature, salinity, at, temperature_kind), salinity


def salinity_at(
    z: np.ndarray, measured: np.ndarray, stated: SalinityGuess | None, *, name: str, temperature: np.ndarray
) -> np.ndarray:
    """Fill gaps in salinity with `stated`, or else the time mean at neighbouring depths, or else 35.

    Heights z [m], measured salinities and temperatures have the same shape. Warns if 35 is assumed to convert
    temperatures.

    Raises:
        ValueError: heights that do not increase, or a different number of values.
    """
    valid = np.isfinite(measured) & np.isfinite(z)
    if stated is None and not np.isfinite(measured).any() and np.isfinite(temperature).any():
        assumed = f"the practical salinity {OCEAN_SALINITY:g}"
        advice = "give another where the water is fresher (1 off moves 10 degC by 0.02 K)"
        warn_of_input([f"{name}: no good salinity: temperatures are converted with {assumed}; {advice}."])
    if isinstance(stated, tuple):
        levels, values = (np.asarray(part, dtype=float) for part in stated)
        if levels.shape != values.shape or levels.ndim != 1 or not np.all(np.diff(levels) > 0.0):
            got = f"{levels.size} heights and {values.size} values"
            raise ValueError(f"salinity: expected heights [m] that increase and as many values, got {got}.")
    elif stated is not None or not valid.any():
        return np.where(valid, measured, OCEAN_SALINITY if stated is None else stated)
    else:
        levels, index = np.unique(z[valid], return_inverse=True)
        values = np.bincount(index, weights=measured[valid]) / np.bincount(index)
    return np.where(valid, measured, np.interp(z, levels, values))


def _check(name: str, values: Numbers, lowest: float, highest: float) -> None:
    """Raise `ValueError` for a value out of range; NaN marks a gap and passes."""
    values = np.asarray(values, dtype=float)
    for where in np.argwhere((values < lowest) | (values > highest))[:1].tolist():
        got = f"{values[tuple(where)]:g}" + (f" at index {tuple(where)}" if where else "")
        raise ValueError(f"expected {name} from {lowest:g} to {highest:g}, got {got}; check its unit.")
