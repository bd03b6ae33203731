"""The vertical grid."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tunax_lite import Grid


def test_heights_of_uniform_and_irregular_grids():
    grid = Grid.uniform(100.0, 8)
    np.testing.assert_allclose(grid.z_face, np.linspace(-100.0, 0.0, 9), atol=1e-13)
    assert (grid.n_cells, grid.depth, grid.z_face[-1]) == (8, 100.0, 0.0)
    grid = Grid([-10.0, -7.0, -6.0, -1.0, 0.0])
    np.testing.assert_array_equal(grid.z_center, [-8.5, -6.5, -3.5, -0.5])
    np.testing.assert_array_equal(grid.cell_thickness, [3.0, 1.0, 5.0, 1.0])
    np.testing.assert_array_equal(grid.center_spacing, [2.0, 3.0, 3.0])


def test_stretched_follows_the_published_formula():
    depth, n = 50.0, 10
    for surface, bottom in ((2.0, 0.0), (0.0, 1.5), (2.0, 1.0)):
        total = math.tanh(bottom) + math.tanh(surface)
        expected = [
            depth * ((math.tanh((bottom + surface) * j / n - bottom) + math.tanh(bottom)) / total - 1.0)
            for j in range(n + 1)
        ]
        grid = Grid.stretched(depth, n, surface_zoom=surface, bottom_zoom=bottom)
        np.testing.assert_allclose(grid.z_face, expected, atol=1e-12)
    nearly = Grid.stretched(depth, n, surface_zoom=1e-6).z_face
    np.testing.assert_allclose(nearly, Grid.uniform(depth, n).z_face, atol=1e-9)


def stretched(depth=10.0, n_cells=8, **zooms):
    return lambda: Grid.stretched(depth, n_cells, **zooms)


def test_bad_faces_and_arguments_are_refused():
    one_bad = np.transpose([[-3.0, -2.0, -1.0, 0.0], [-3.0, -1.0, -2.0, 0.0]])  # column of a batch
    for make, parts in (
        (lambda: Grid([0.0, -1.0, -2.0, -3.0]), "bottom"),
        (lambda: Grid([-3.0, -1.0, -1.0, 0.0]), "thickness"),
        (lambda: Grid([-3.0, -2.0, np.nan, 0.0]), "finite"),
        (lambda: Grid([0.0, 1.0, 2.0, 3.0]), "surface"),
        (lambda: Grid([-1.0, -0.5, 0.0]), "4 faces"),
        (lambda: Grid(-1.0), "4 faces"),
        (lambda: Grid(one_bad), "increase"),
        (stretched(depth=0.0), "depth"),
        (stretched(depth=math.inf), "depth"),
        (stretched(n_cells=2), "3 cells"),
        (stretched(surface_zoom=-1.0), "zooms 0"),
        # tanh is 1 to the last digit: the upper cells would have no thickness.
        (stretched(surface_zoom=200.0), "thickness"),
    ):
        with error_naming(ValueError, parts):
            make()


def test_grid_is_differentiable_and_passes_through_jit():
    grid = random_grid(1, 6)
    gradient = jax.jit(jax.grad(lambda z: jnp.sum(Grid(z).cell_thickness ** 2)))(grid.z_face)
    h = np.asarray(grid.cell_thickness)
    expected = np.concatenate([[-2.0 * h[0]], 2.0 * (h[:-1] - h[1:]), [2.0 * h[-1]]])
    np.testing.assert_allclose(gradient, expected, atol=1e-12)
