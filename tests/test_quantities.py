"""The table of variables."""

import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.io.errors import FileFormatError, check_possible
from tunax_lite.io.units import conversion
from tunax_lite.quantities import QUANTITIES, quantity_of


def test_names_are_identifiers_and_standard_names_are_unique():
    for name, variable in QUANTITIES.items():
        assert name.isidentifier() and variable.long_name.isascii() and variable.unit
    standard_names = [v.standard_name for v in QUANTITIES.values() if v.standard_name is not None]
    assert len(standard_names) == len(set(standard_names))
    assert all(name == name.lower().replace(" ", "_") for name in standard_names)
    # Fluxes are found by their names in the forcing, too.
    assert quantity_of("heat_flux") is QUANTITIES["surface_heat_flux"] and quantity_of("u").unit == "m s-1"


def test_a_suspect_unit_lies_beyond_what_is_possible_and_what_has_a_range_converts():
    for quantity in QUANTITIES.values():
        low, high = quantity.possible
        assert low < high
        if quantity.suspect is not None:
            assert not low < quantity.suspect[1] < high or quantity.unit == "Pa"
        if np.isfinite(low):
            unit = "K" if quantity.unit == "degC" else quantity.unit
            assert conversion(quantity.name, unit)[0] == pytest.approx(1.0)


def test_every_reader_says_what_a_value_looks_like():
    for quantity, value, advice in (
        ("heat_flux", 2e4, "sign"),
        ("air_temperature", 283.0, "unit K"),
        ("air_pressure", 1013.0, "hPa unit"),
        ("wind_u", 110.0, "-100 100"),
    ):
        with error_naming(FileFormatError, advice):
            check_possible("a.nc", "x", quantity, np.array([value]))
    # A passive tracer may have any value.
    check_possible("a.nc", "dye", "dye", np.array([1e30]))
