"""Temperature of the sea surface as the air meets it."""

from .._types import Scalar

# (potential - conservative temperature) [K] by power of (S - 35) / 40, then of T / 40.
_DIFFERENCE = (
    (-0.00074, 0.04472, -0.00713, -0.23738, 0.22596, -0.07528),
    (0.1737, 2.38985, -0.61891, 0.32567, -0.0731),
    (0.1937, -0.14994, 0.10575, -0.02337),
    (0.0108, -0.00318, 0.02113),
)


def surface_temperature(temperature: Scalar, salinity: Scalar) -> Scalar:
    """In-situ temperature [degC] at the surface, where it is the potential temperature.

    A least-squares polynomial through TEOS-10, within 2e-4 K of it for salinities from 28 to 42 g kg-1 and
    2e-3 K for all; it replaces an iteration in every step of a run with bulk fluxes.

    Args:
        temperature: conservative [degC], -2 to 36.
        salinity: absolute [g kg-1].

    Source: IOC et al. (2010), the inverse of the conservative temperature.
    """
    t, s = temperature * (1.0 / 40.0), (salinity - 35.0) * (1.0 / 40.0)
    difference = 0.0
    for row in reversed(_DIFFERENCE):
        by_temperature = row[-1]
        for coefficient in reversed(row[:-1]):
            by_temperature = by_temperature * t + coefficient
        difference = difference * s + by_temperature
    return temperature + difference
