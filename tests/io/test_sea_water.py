"""Conversion of measured to modelled sea water."""

from typing import Any

import numpy as np

from tests.errors import error_naming
from tunax_lite.io.sea_water import (
    absolute_salinity,
    conservative_temperature,
    modelled_water,
    practical_salinity,
)

NAN = float("nan")


def test_published_check_values_of_teos10():
    # The check values printed with gsw_SA_from_SP and gsw_CT_from_t in the TEOS-10 manual.
    salinity = absolute_salinity([34.5487, 34.7275], [10.0, 50.0], longitude=188.0, latitude=4.0)
    # The atlas of composition behind it has been revised since, in the fifth decimal.
    np.testing.assert_allclose(salinity, [34.711778344814114, 34.891522618230098], atol=1e-4)
    absolute = [34.7118, 34.8915, 35.0256, 34.8472, 34.7366, 34.7324]
    in_situ = [28.7856, 28.4329, 22.8103, 10.2600, 6.8863, 4.4036]
    depth = [10.0, 50.0, 125.0, 250.0, 600.0, 1000.0]
    expected = [28.80991983, 28.43922781, 22.78617689, 10.22618927, 6.82721363, 4.32357575]
    found = conservative_temperature(in_situ, absolute, depth, "in_situ")
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_without_the_anomaly_the_ratio_is_that_of_the_standard_ocean():
    found = absolute_salinity(33.0, [0.0, 1000.0], longitude=-145.0, latitude=50.0, anomaly=False)
    np.testing.assert_allclose(found, 33.0 * 35.16504 / 35.0, rtol=1e-12)  # Millero et al. (2008)
    # In the Baltic Sea 0.087 g/kg more at S = 0, and as much as elsewhere at 35: Millero and Kremling (1976).
    baltic = absolute_salinity(7.0, 0.0, longitude=20.0, latitude=58.0, anomaly=False)
    np.testing.assert_allclose(baltic, 0.087 + 7.0 * (35.16504 - 0.087) / 35.0, rtol=1e-12)


def test_fresh_lakes_within_the_area_of_the_baltic_have_no_negative_salinity():
    absolute = np.array([0.0, 0.05, 0.087, 5.0982])
    found = practical_salinity(absolute, np.full(4, -3.0), longitude=18.6, latitude=59.8)
    np.testing.assert_allclose(found, [0.0, 0.0, 0.0, 5.0], atol=1e-4)
    elsewhere = practical_salinity(absolute, np.full(4, -3.0), longitude=-9.5, latitude=53.9)
    np.testing.assert_allclose(elsewhere, absolute * 35.0 / 35.16504, rtol=1e-3)


def test_kinds_differ_as_they_should():
    # Compression warms: the same reading is colder water when it was taken in situ at depth.
    surface, deep = (
        modelled_water(10.0, 35.0, z, salinity_kind="absolute", temperature_kind="in_situ")[0]
        for z in (0.0, -1000.0)
    )
    assert 0.09 < surface - deep < 0.15
    potential = conservative_temperature(10.0, 35.0, NAN, "potential")
    np.testing.assert_allclose(potential, surface, atol=1e-10)
    assert conservative_temperature(10.0, NAN, NAN, "conservative") == 10.0


def test_what_cannot_be_is_refused():
    good: dict[str, Any] = {"temperature": [10.0, 11.0], "salinity": [34.0, 34.0], "z": [-10.0, 0.0]}
    good |= {"temperature_kind": "in_situ", "salinity_kind": "practical", "longitude": 0.0, "latitude": 45.0}
    change: dict[str, Any]
    for change, message in (
        ({"temperature": [280.0, 281.0]}, "temperature [degC] -5 50 280 0"),
        ({"salinity": [0.034, -1.0]}, "salinity 0 50 -1 1"),
        ({"z": [10.0, 20.0]}, "z [m] -12000 0 10"),
        ({"latitude": 95.0}, "latitude -90 90 95"),
        ({"temperature_kind": "absolute"}, "temperature conservative potential in_situ absolute"),
        ({"salinity_kind": "psu"}, "salinity absolute practical psu"),
    ):
        with error_naming(ValueError, message):
            modelled_water(**(good | change))
