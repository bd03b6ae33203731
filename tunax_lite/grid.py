"""The vertical grid: faces z_0 < z_1 < ... < z_n enclose cells; everything else follows from the faces.

Index 0 is the bottom; z is positive upward and zero at the surface.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._types import CenterArray, FaceArray, InnerFaceArray, Scalar, array_field, is_traced


def _describe(values: np.ndarray) -> str:
    return np.array2string(values, threshold=6, edgeitems=2, precision=6)


class Grid(eqx.Module):
    """Faces of the cells of one column, or of a batch of columns.

    Args:
        z_face: heights of the faces [m], shape `(n_cells + 1, *batch)`, increasing, the last one 0.

    Raises:
        ValueError: fewer than three cells, heights that are not finite or do not increase, or a top face
            that is not at the surface z = 0.
    """

    z_face: FaceArray = array_field(1)

    def __init__(self, z_face):
        # An array of JAX keeps its precision: a column in float32 must not be promoted by its grid.
        self.z_face = jnp.asarray(z_face, dtype=None if isinstance(z_face, jax.Array) else float)

    def __check_init__(self):
        if is_traced(self.z_face):
            return
        faces = np.asarray(self.z_face)
        if faces.ndim == 0 or faces.shape[0] < 4:
            raise ValueError(
                f"Grid: expected at least 4 faces (3 cells) along axis 0, got shape {faces.shape}."
            )
        if not np.all(np.isfinite(faces)):
            raise ValueError(f"Grid: expected finite face heights, got {_describe(faces)}.")
        if not np.all(np.diff(faces, axis=0) > 0.0):
            raise ValueError(
                "Grid: expected face heights that increase from the bottom to the surface, got "
                f"{_describe(faces)}; every cell needs a positive thickness."
            )
        if not np.all(np.abs(faces[-1]) <= 1e-9 * np.abs(faces[0])):
            raise ValueError(
                f"Grid: expected the last face at the surface, z = 0 m, got {_describe(faces[-1:])}; "
                "heights are negative below the surface."
            )

    @classmethod
    def uniform(cls, depth: float, n_cells: int) -> "Grid":
        """Cells of equal thickness over `depth` [m]."""
        return cls.stretched(depth, n_cells)

    @classmethod
    def stretched(
        cls, depth: float, n_cells: int, *, surface_zoom: float = 0.0, bottom_zoom: float = 0.0
    ) -> "Grid":
        """Cells refined towards the surface and the bottom,

            z_j = H ([tanh((d_l + d_u) j / n - d_l) + tanh d_l] / [tanh d_l + tanh d_u] - 1).

        Args:
            depth: H [m].
            n_cells: n.
            surface_zoom: d_u >= 0; 0 for no refinement, 2 for cells about ten times thinner.
            bottom_zoom: d_l >= 0. Both zero give a uniform grid.

        Raises:
            ValueError: depth not positive, fewer than three cells, or a negative zoom.

        Source: GOTM, `ddu` and `ddl` of its analytical grid.
        """
        if not (np.isfinite(depth) and depth > 0.0):
            raise ValueError(f"Grid: expected a positive depth [m], got {depth}.")
        if n_cells < 3:
            raise ValueError(f"Grid: expected at least 3 cells, got n_cells = {n_cells}.")
        if not (surface_zoom >= 0.0 and bottom_zoom >= 0.0):
            raise ValueError(
                "Grid: expected zooms of at least 0, got "
                f"surface_zoom = {surface_zoom}, bottom_zoom = {bottom_zoom}."
            )
        fraction = np.arange(n_cells + 1) / n_cells
        if surface_zoom + bottom_zoom > 0.0:
            numerator = np.tanh((bottom_zoom + surface_zoom) * fraction - bottom_zoom)
            scale = np.tanh(bottom_zoom) + np.tanh(surface_zoom)
            fraction = (numerator + np.tanh(bottom_zoom)) / scale
        z_face = depth * (fraction - 1.0)
        z_face[-1] = 0.0
        return cls(z_face)

    @property
    def n_cells(self) -> int:
        return self.z_face.shape[0] - 1

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.z_face.shape[1:]

    @property
    def depth(self) -> Scalar:
        """Depth of the column [m], positive."""
        return -self.z_face[0]

    @property
    def z_center(self) -> CenterArray:
        """Heights of the cell centers [m]."""
        return 0.5 * (self.z_face[1:] + self.z_face[:-1])

    @property
    def cell_thickness(self) -> CenterArray:
        """Thickness of the cells [m]."""
        return self.z_face[1:] - self.z_face[:-1]

    @property
    def center_spacing(self) -> InnerFaceArray:
        """Distance between neighbouring centers [m], on inner faces."""
        return 0.5 * (self.z_face[2:] - self.z_face[:-2])

    def with_batch_rank(self, rank: int) -> "Grid":
        """The same grid with trailing axes of length one, so that it broadcasts to `rank` batch axes."""
        missing = rank - len(self.batch_shape)
        if missing <= 0:
            return self
        return Grid(self.z_face.reshape(self.z_face.shape + (1,) * missing))
