"""The vertical grid."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tunax_lite import Grid


def test_uniform():
    grid = Grid.uniform(100.0, 8)
    np.testing.assert_allclose(grid.z_face, np.linspace(-100.0, 0.0, 9), atol=1e-13)
    assert grid.n_cells == 8 and grid.depth == 100.0
    assert grid.z_face[-1] == 0.0


def test_derived_heights_on_an_irregular_grid():
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


def test_zooms_refine_at_their_end():
    thickness = np.asarray(Grid.stretched(50.0, 20, surface_zoom=2.0).cell_thickness)
    assert np.all(np.diff(thickness) < 0.0)
    thickness = np.asarray(Grid.stretched(50.0, 20, bottom_zoom=2.0).cell_thickness)
    assert np.all(np.diff(thickness) > 0.0)
    thickness = np.asarray(Grid.stretched(50.0, 20, surface_zoom=1.5, bottom_zoom=1.5).cell_thickness)
    np.testing.assert_allclose(thickness, thickness[::-1], rtol=1e-12)
    assert thickness[0] < thickness[10]


def test_tiny_zoom_is_nearly_uniform():
    nearly = Grid.stretched(50.0, 20, surface_zoom=1e-6).z_face
    np.testing.assert_allclose(nearly, Grid.uniform(50.0, 20).z_face, atol=1e-9)


def test_bad_faces_are_refused():
    for faces, message in (
        ([-3.0, -1.0, -2.0, 0.0], "bottom"),
        ([0.0, -1.0, -2.0, -3.0], "bottom"),
        ([-3.0, -1.0, -1.0, 0.0], "thickness"),
        ([-3.0, -2.0, np.nan, 0.0], "finite"),
        ([-np.inf, -2.0, -1.0, 0.0], "finite"),
        ([-3.0, -2.0, -1.0, -0.5], "surface"),
        ([0.0, 1.0, 2.0, 3.0], "surface"),
        ([-1.0, -0.5, 0.0], "4 faces"),
        ([], "4 faces"),
        (-1.0, "4 faces"),
        # One bad column of a batch.
        (np.transpose([[-3.0, -2.0, -1.0, 0.0], [-3.0, -1.0, -2.0, 0.0]]), "increase"),
    ):
        with error_naming(ValueError, message):
            Grid(faces)


def test_bad_arguments_are_refused():
    for changes, message in (
        ({"depth": -10.0}, "depth"),
        ({"depth": 0.0}, "depth"),
        ({"depth": math.nan}, "depth"),
        ({"depth": math.inf}, "depth"),
        ({"n_cells": -4}, "3 cells"),
        ({"n_cells": 2}, "3 cells"),
        ({"surface_zoom": -1.0}, "zooms 0"),
        ({"bottom_zoom": math.nan}, "zooms 0"),
        # tanh is 1 to the last digit: the upper cells would have no thickness.
        ({"surface_zoom": 200.0}, "thickness"),
    ):
        with error_naming(ValueError, message):
            Grid.stretched(**{"depth": 10.0, "n_cells": 8, **changes})


def test_batch_rank():
    grid = Grid.uniform(10.0, 5)
    assert grid.with_batch_rank(0) is grid
    wide = grid.with_batch_rank(2)
    assert wide.z_face.shape == (6, 1, 1) and wide.batch_shape == (1, 1)
    np.testing.assert_array_equal(wide.cell_thickness[:, 0, 0], grid.cell_thickness)
    assert wide.with_batch_rank(1) is wide


def test_grid_is_differentiable_and_passes_through_jit():
    grid = random_grid(1, 6)
    thickness = jax.jit(lambda g: g.cell_thickness)(grid)
    np.testing.assert_array_equal(thickness, grid.cell_thickness)
    gradient = jax.grad(lambda z: jnp.sum(Grid(z).cell_thickness ** 2))(grid.z_face)
    h = np.asarray(grid.cell_thickness)
    expected = np.concatenate([[-2.0 * h[0]], 2.0 * (h[:-1] - h[1:]), [2.0 * h[-1]]])
    np.testing.assert_allclose(gradient, expected, atol=1e-12)
