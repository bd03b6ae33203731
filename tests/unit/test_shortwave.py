"""Absorption of sunlight."""

import jax
import numpy as np
import pytest

from tests.unit.columns import random_grid
from tunax_lite import TwoBandAbsorption
from tunax_lite.physics import JERLOV_WATER_TYPES

PUBLISHED = {
    "I": (0.58, 0.35, 23.0),
    "IA": (0.62, 0.60, 20.0),
    "IB": (0.67, 1.00, 17.0),
    "II": (0.77, 1.50, 14.0),
    "III": (0.78, 1.40, 7.9),
}


def test_water_types_and_default():
    assert JERLOV_WATER_TYPES == PUBLISHED
    default = TwoBandAbsorption()
    assert tuple(map(float, jax.tree.leaves(default))) == PUBLISHED["I"]


@pytest.mark.parametrize("water", PUBLISHED)
def test_cells_absorb_the_integral_of_the_light_and_together_all_of_it(water):
    fraction, infrared, visible = PUBLISHED[water]
    grid = random_grid(50, 12)
    transmission = np.asarray(TwoBandAbsorption(*PUBLISHED[water]).transmission(grid))
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


def test_what_reaches_the_bottom_is_absorbed_there():
    grid = random_grid(51, 6, depth=4.0)
    transmission = TwoBandAbsorption().transmission(grid)
    assert transmission[0] == 0.0 and transmission[-1] == 1.0
    # Shallow and clear: most of the visible light arrives.
    assert transmission[1] > 0.35
