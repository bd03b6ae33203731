"""Conversion and refusal of units."""

import pytest

from tests.errors import error_naming
from tunax_lite import constants
from tunax_lite.io.units import conversion, unit_at_end

# Quantity, unit, value and the value in the package's unit.
CONVERTED = [
    ("temperature", "degrees_Celsius", 20.0, 20.0), ("temperature", "K", 293.15, 20.0),
    ("u", "cm/s", 50.0, 0.5), ("u", "m s**-1", 0.5, 0.5), ("u", "meters second-1", 0.5, 0.5),
    ("salinity", "psu", 35.0, 35.0), ("salinity", "1e-3", 35.0, 35.0), ("salinity", "kg kg-1", 0.035, 35.0),
    ("z", "km", 0.2, 200.0), ("interval", "hours", 2.0, 7200.0), ("cloud_cover", "octas", 4.0, 0.5),
    ("stress_u", "Pa", 0.1, 0.1), ("stress_u", "dyn cm-2", 1.0, 0.1),
    ("stress_u", "m2 s-2", 1e-4, 1e-4 * constants.REFERENCE_DENSITY),
    ("heat_flux", "W m^-2", -100.0, -100.0), ("heat_flux", "J/m2/day", 8.64e6, 100.0),
    ("heat_flux", "MJ m-2 day-1", 8.64, 100.0), ("shortwave", "kJ m-2 h-1", 3.6, 1.0),
    ("shortwave", "cal cm-2 day-1", 8640.0, 4184.0), ("wind_u", "knots", 3600.0, 1852.0),
    ("freshwater_flux", "kg/m2/s", 1e-4, 1e-4), ("freshwater_flux", "mm day-1", 86.4, 1e-3),
    ("precipitation", "kg m-2 s-1", 1e-4, 1e-7), ("precipitation", "mm h-1", 3.6, 1e-6),
]  # fmt: skip
REFUSED = [
    ("temperature", "degC", "m s-1"), ("temperature", "degC", "degF"), ("u", "m s-1", "furlongs s-1"),
    ("u", "m s-1", "m"), ("stress_u", "N m-2", "W m-2"), ("heat_flux", "W m-2", "J m-2"),
    ("z", "m", "dbar"), ("interval", "s", "months"), ("u", "m s-1", ""),
]  # fmt: skip


def test_units_are_converted():
    for quantity, unit, value, expected in CONVERTED:
        scale, offset = conversion(quantity, unit)
        # One multiplication and one addition of decimal literals.
        assert value * scale + offset == pytest.approx(expected, rel=1e-13), (quantity, unit)
    water = {"density": 1000.0, "heat_capacity": 4000.0}  # that of a file
    assert conversion("heat_flux", "K m s-1", **water) == (4e6, 0.0)
    assert conversion("stress_v", "m2 s-2", **water) == (1000.0, 0.0)


def test_units_of_other_quantities_are_refused():
    for quantity, own, unit in REFUSED:
        with error_naming(ValueError, f"unit {own} {unit}"):
            conversion(quantity, unit)


@pytest.mark.parametrize("unit", ["degC m/s", "degC m s-1", "K m/s", "°C m/s", "deg C m s-1", "celsius*m/s"])
def test_kinematic_fluxes_of_heat(unit):
    assert conversion("heat_flux", unit, 1000.0, 4000.0) == (pytest.approx(4e6), 0.0)


@pytest.mark.parametrize("unit", ["psu m/s", "psu m s-1", "PSU m s-1", "g/kg m/s", "g kg-1 m s-1"])
def test_kinematic_fluxes_of_salt(unit):
    assert conversion("salt_flux", unit, 1000.0) == (pytest.approx(1.0), 0.0)
    with pytest.raises(ValueError):
        conversion("salt_flux", "m s-1")


def test_a_depth_or_an_extreme_at_the_end_of_a_name_is_no_unit():
    assert unit_at_end("wind_speed_m_s") == ("wind_speed", "m/s")
    for name in ("wtr_10", "Temp_0.5", "temp_min"):
        assert unit_at_end(name) == (name, None)
