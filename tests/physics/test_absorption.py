"""Absorption of shortwave radiation."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tunax_lite import TwoBandAbsorption
from tunax_lite.physics.absorption import JERLOV_WATER_TYPES, RgbAbsorption

PUBLISHED = {
    "I": (0.58, 0.35, 23.0),
    "I_upper_50m": (0.68, 1.20, 28.0),
    "IA": (0.62, 0.60, 20.0),
    "IB": (0.67, 1.00, 17.0),
    "II": (0.77, 1.50, 14.0),
    "III": (0.78, 1.40, 7.9),
}


@pytest.mark.parametrize("water", PUBLISHED)
def test_cells_absorb_the_integral_of_the_light_and_together_all_of_it(water):
    fraction, infrared, visible = PUBLISHED[water]
    grid = random_grid(50, 12)
    transmission = np.asarray(TwoBandAbsorption(*JERLOV_WATER_TYPES[water]).transmission(grid))
    absorbed = np.diff(transmission)
    assert np.all(absorbed > 0.0)
    np.testing.assert_allclose(np.sum(absorbed), 1.0, rtol=1e-15)
    # The derivative of the two exponentials, integrated over each cell by Gauss quadrature.
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for i in range(1, 12):
        bottom, top = np.asarray(grid.z_face[i : i + 2])
        z = 0.5 * (top + bottom) + 0.5 * (top - bottom) * nodes
        heating = fraction / infrared * np.exp(z / infrared)
        heating = heating + (1.0 - fraction) / visible * np.exp(z / visible)
        np.testing.assert_allclose(absorbed[i], 0.5 * (top - bottom) * np.sum(weights * heating), rtol=1e-8)


def test_gradient_to_the_two_bands():
    """R exp(z/a) + (1 - R) exp(z/b), differentiated by hand."""
    grid, (fraction, infrared, visible) = random_grid(52, 8), (0.6, 1.1, 14.0)

    def light(numbers):
        return TwoBandAbsorption(*numbers, bottom_absorbs=False).transmission(grid)

    found = jax.jit(jax.jacrev(light))(jnp.array([fraction, infrared, visible]))
    z = np.asarray(grid.z_face)
    of_infrared, of_visible = np.exp(z / infrared), np.exp(z / visible)
    expected = (
        of_infrared - of_visible,
        -fraction * z / infrared**2 * of_infrared,
        -(1.0 - fraction) * z / visible**2 * of_visible,
    )
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("absorption", [TwoBandAbsorption(), RgbAbsorption()], ids=["two_band", "rgb"])
def test_light_at_the_bottom_is_absorbed_or_leaves(absorption):
    grid = random_grid(51, 6, depth=4.0)
    closed = absorption.transmission(grid)
    assert closed[0] == 0.0 and closed[-1] == 1.0
    # Shallow and clear: most of the visible light arrives, but for the red.
    assert closed[1] > 0.28
    open_bottom = dataclasses.replace(absorption, bottom_absorbs=False).transmission(grid)
    np.testing.assert_array_equal(open_bottom[1:], closed[1:])
    assert 0.2 < open_bottom[0] < closed[1]


# Chlorophyll [mg m-3], attenuation of blue, green, red [m-1]: entries of the table of NEMO.
ATTENUATION = [
    (0.01, 0.01618, 0.07464, 0.37807),
    (10.0**-1.3, 0.02501, 0.07866, 0.38189),
    (0.1, 0.03288, 0.08219, 0.38526),
    (10.0**-0.7, 0.04540, 0.08775, 0.39056),
    (10.0**-0.3, 0.07424, 0.10040, 0.40270),
    (1.0, 0.11114, 0.11639, 0.41809),
    (10.0**0.3, 0.16978, 0.14158, 0.44240),
    (10.0**0.7, 0.30502, 0.19903, 0.49803),
    (10.0, 0.47804, 0.27178, 0.56870),
]


def test_three_visible_bands_follow_the_published_table():
    grid = random_grid(52, 20)
    z = np.asarray(grid.z_face[1:])
    for chlorophyll, *bands in ATTENUATION:
        expected = 0.58 * np.exp(z / 0.35) + 0.14 * sum(np.exp(k * z) for k in bands)
        found = RgbAbsorption(chlorophyll=chlorophyll).transmission(grid)[1:]
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_gradient_to_chlorophyll_and_batches_of_waters():
    grid = random_grid(53, 8)

    def third(chlorophyll):
        return RgbAbsorption(chlorophyll=chlorophyll).transmission(grid)[3]

    slope = (third(0.5 + 1e-4) - third(0.5 - 1e-4)) / 2e-4
    np.testing.assert_allclose(jax.grad(third)(jnp.asarray(0.5)), slope, rtol=1e-6)
    assert np.isfinite(jax.grad(third)(jnp.asarray(0.0)))  # below the table: that of its first entry
    waters = jnp.asarray([0.1, 2.0])
    together = RgbAbsorption(chlorophyll=waters).transmission(grid.with_batch_rank(1))
    for index, water in enumerate(waters):
        alone = RgbAbsorption(chlorophyll=water).transmission(grid)
        np.testing.assert_allclose(together[:, index], alone, rtol=1e-14)
