"""Remapping: fields that are linear, coasts, and an independent library."""

import numpy as np
import xarray as xr
from scipy import sparse

from tests.errors import error_naming
from tunax_lite.extensions.maps.remapping import Points, Remapping

LATITUDE, LONGITUDE = np.arange(-80.0, 81.0, 10.0), np.arange(5.0, 360.0, 10.0)
SOURCE = Points(LATITUDE, LONGITUDE, True)


def grid_of(spacing: float) -> Points:
    lat, lon = (
        np.linspace(*ends, round((ends[1] - ends[0]) / spacing) + 1) for ends in ((-90, 90), (0, 360))
    )
    return Points(0.5 * (lat[1:] + lat[:-1]), 0.5 * (lon[1:] + lon[:-1]), True)


def on(points: Points, function) -> np.ndarray:
    return function(*points.all())


def test_bilinear_is_exact_for_linear_fields_around_the_globe():
    rng = np.random.default_rng(1)
    target = Points(rng.uniform(-80.0, 80.0, 200), rng.uniform(-360.0, 360.0, 200), False)
    matrix = Remapping(target, 0.0).weights(SOURCE)
    np.testing.assert_allclose(
        matrix @ on(SOURCE, lambda lat, lon: 2.0 - 0.3 * lat), 2.0 - 0.3 * target.latitude
    )
    inside = (target.longitude % 360.0 > 5.0) & (target.longitude % 360.0 < 355.0)
    linear = matrix @ on(SOURCE, lambda lat, lon: lon)
    np.testing.assert_allclose(linear[inside], (target.longitude % 360.0)[inside])
    # Second order, across the meridian where the file begins too: h² / 8 of the second derivative.
    wave = matrix @ on(SOURCE, lambda lat, lon: np.cos(np.deg2rad(lon)))
    assert np.abs(wave - np.cos(np.deg2rad(target.longitude))).max() < np.deg2rad(10.0) ** 2 / 8.0


def test_agrees_with_another_library():
    source, target = grid_of(2.0), grid_of(5.0)
    values = on(source, lambda lat, lon: np.sin(np.deg2rad(2.0 * lat)) + np.cos(np.deg2rad(3.0 * lon)))
    given = xr.DataArray(values.reshape(source.shape), {"lat": source.latitude, "lon": source.longitude})
    expected = given.interp(lat=target.latitude, lon=target.longitude).values
    found = (Remapping(target, 0.0).weights(source) @ values).reshape(target.shape)
    np.testing.assert_allclose(found[1:-1, 1:-1], expected[1:-1, 1:-1], rtol=0.0, atol=1e-12)


def test_coasts_take_wet_neighbours_and_what_is_farther_is_left_out():
    wet = on(SOURCE, lambda lat, lon: lon < 200.0)
    target = Points(np.array([0.0, 0.0, 0.0]), np.array([193.0, 207.0, 280.0]), False)
    values = np.where(wet, on(SOURCE, lambda lat, lon: lon), 1e30)
    chosen = np.arange(3)
    found, filled, empty = Remapping(target, 2e6).around_coasts(SOURCE, wet, chosen)
    np.testing.assert_allclose((found @ values)[:2], [193.0, 195.0])
    assert filled.tolist() == [False, True, False] and empty.tolist() == [False, False, True]
    # 12 degrees on the equator are 1334 km.
    for reach, expected in ((1.33e6, [False, True, True]), (1.34e6, [False, False, True])):
        assert Remapping(target, reach).around_coasts(SOURCE, wet, chosen)[2].tolist() == expected
    assert isinstance(found, sparse.csr_array)


def test_points_outside_have_no_weight():
    part = Points(np.array([0.0, 10.0]), np.array([350.0, 0.0]), True)
    target = Points(np.array([4.0, 4.0, 30.0, 4.0]), np.array([-4.0, 4.0, 355.0, 180.0]), False)
    np.testing.assert_allclose(Remapping(target, 0.0).weights(part).sum(axis=1), [1.0, 1.0, 0.0, 0.0])


def test_what_cannot_be_remapped_is_refused():
    curved = Points(np.array([0.0, 1.0]), np.array([0.0, 1.0]), False)
    with error_naming(ValueError, "latitude longitude points"):
        Remapping(grid_of(10.0), 0.0).weights(curved)
