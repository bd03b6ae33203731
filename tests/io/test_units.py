"""Conversion and refusal of units."""

import pytest

from tunax_lite import constants
from tunax_lite.io.units import conversion


@pytest.mark.parametrize(
    ("quantity", "unit", "value", "expected"),
    [
        ("temperature", "degC", 20.0, 20.0),
        ("temperature", "degrees_Celsius", 20.0, 20.0),
        ("temperature", "K", 293.15, 20.0),
        ("u", "cm/s", 50.0, 0.5),
        ("u", "m s**-1", 0.5, 0.5),
        ("u", "meters second-1", 0.5, 0.5),
        ("salinity", "psu", 35.0, 35.0),
        ("salinity", "1e-3", 35.0, 35.0),
        ("salinity", "kg kg-1", 0.035, 35.0),
        ("z", "km", 0.2, 200.0),
        ("interval", "hours", 2.0, 7200.0),
        ("stress_u", "Pa", 0.1, 0.1),
        ("stress_u", "dyn cm-2", 1.0, 0.1),
        ("stress_u", "m2 s-2", 1e-4, 1e-4 * constants.REFERENCE_DENSITY),
        ("heat_flux", "W m^-2", -100.0, -100.0),
        ("heat_flux", "J/m2/day", 8.64e6, 100.0),
        ("freshwater_flux", "kg/m2/s", 1e-4, 1e-4),
        ("freshwater_flux", "mm day-1", 86.4, 1e-3),
        ("wind_u", "knots", 3600.0, 1852.0),
        ("heat_flux", "MJ m-2 day-1", 8.64, 100.0),
        ("shortwave", "kJ m-2 h-1", 3.6, 1.0),
        ("shortwave", "cal cm-2 day-1", 8640.0, 4184.0),
        ("cloud_cover", "octas", 4.0, 0.5),
    ],
)
def test_converts(quantity, unit, value, expected):
    scale, offset = conversion(quantity, unit)
    # One multiplication and one addition of decimal literals.
    assert value * scale + offset == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("quantity", "unit"),
    [
        ("temperature", "m s-1"),
        ("temperature", "degF"),
        ("u", "furlongs s-1"),
        ("u", "m"),
        ("stress_u", "W m-2"),
        ("heat_flux", "J m-2"),
        ("z", "dbar"),
        ("interval", "months"),
        ("u", ""),
    ],
)
def test_refuses(quantity, unit):
    with pytest.raises(ValueError, match="expected a unit that converts to"):
        conversion(quantity, unit)
