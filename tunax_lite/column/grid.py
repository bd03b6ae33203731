"""The vertical grid: faces z_0 < z_1 < ... < z_n enclose cells; everything else follows from the faces.

Index 0 is the bottom; z is positive upward and zero at the surface. In a lake the faces have areas. Volumes
and areas are divided by the surface area A_s, so that surface fluxes and contents are those of an ocean
column; without areas, a volume is a thickness:

    V_i = h_i (A_i + sqrt(A_i A_{i+1}) + A_{i+1}) / (3 A_s),    a_i = A_i / A_s

If the level of a lake varies, so do its faces, and volumes are those of the basin between them.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, array_field, is_traced
from ..views import AbstractShown


def _describe(values: np.ndarray) -> str:
    return np.array2string(values, threshold=6, edgeitems=2, precision=6)


def _root(area: Float[Array, "..."]) -> Float[Array, "..."]:
    """Square root of an area, or of a product of areas, with a zero derivative at 0."""
    positive = area > 0.0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, area, 1.0)), 0.0)


class Hypsography(eqx.Module):
    """The basin of a lake: areas at heights, with linear interpolation of their square root r.

        A = r²,    V = sum_k (r_k² + r_k r + r²) t / 3,    t = z - z_k in interval k of the table

    Args:
        z: heights above the level at rest [m], `(n, *batch)`, increasing.
        area: at these heights [m2], at least 0.

    Raises:
        ValueError: fewer than two heights, heights that do not increase, or an area that is missing or
            negative.
    """

    z: FaceArray = array_field(1)
    area: FaceArray = array_field(1)

    def __init__(self, z, area):
        self.z, self.area = (
            jnp.asarray(x, dtype=None if isinstance(x, jax.Array) else float) for x in (z, area)
        )

    def __check_init__(self):
        if is_traced((self.z, self.area)):
            return
        z, area = np.asarray(self.z), np.asarray(self.area)
        if z.ndim < 1 or z.shape != area.shape or len(z) < 2 or not np.all(np.diff(z, axis=0) > 0.0):
            raise ValueError(
                f"hypsography: expected heights that increase, with one area each, got {_describe(z)}; sort "
                "them from the bottom up."
            )
        if not (np.all(np.isfinite(area)) and np.all(area >= 0.0)):
            raise ValueError(f"hypsography: expected areas of at least 0 m2, got {_describe(area)}.")

    def up_to(self, top: float) -> "Hypsography":
        """The basin extended to a height [m], with a shore extrapolated from the last two areas."""
        z, root = np.asarray(self.z), np.sqrt(np.asarray(self.area))
        if top <= z[-1]:
            return self
        slope = max(0.0, (root[-1] - root[-2]) / (z[-1] - z[-2]))
        return Hypsography(np.append(z, top), np.append(root, root[-1] + slope * (top - z[-1])) ** 2)

    def area_at(self, z: FaceArray) -> FaceArray:
        """Area [m2] at heights [m] along axis 0."""
        within, root, slope = self._intervals_below(z)
        return (root[0] + jnp.sum(slope * within, axis=0)) ** 2

    def volume_below(self, z: FaceArray) -> FaceArray:
        """Volume [m3] between the lowest height of the table and heights [m] along axis 0."""
        within, root, slope = self._intervals_below(z)
        upper = root + slope * within
        return jnp.sum((root * root + root * upper + upper * upper) * within, axis=0) / 3.0

    def height_of(self, volume: FaceArray) -> FaceArray:
        """Height [m] below which the basin holds volumes [m3] along axis 0: the inverse of the volume."""
        z, root = self.z[:, None], _root(self.area)[:, None]
        slope = (root[1:] - root[:-1]) / (z[1:] - z[:-1])
        below = self.volume_below(self.z)[:, None]
        filled = jnp.clip(volume[None] - below[:-1], 0.0, below[1:] - below[:-1])
        is_wet = filled > 0.0
        upper_cubed = jnp.where(is_wet, root[:-1] ** 3 + 3.0 * slope * filled, 1.0)
        upper = jnp.cbrt(upper_cubed)
        areas = jnp.where(is_wet, upper * upper + upper * root[:-1] + root[:-1] ** 2, 1.0)
        # t = 3 V / (r_k² + r_k r + r²), because (r - r_k) / slope is 0 / 0 between vertical walls.
        return z[0] + jnp.sum(jnp.where(is_wet, 3.0 * filled / areas, 0.0), axis=0)

    def _intervals_below(self, z: FaceArray) -> tuple[Float[Array, "..."], ...]:
        """Part of each interval of the table below z [m], root of the area at its lower end, and slope."""
        heights, root = self.z[:, None], _root(self.area)[:, None]
        slope = (root[1:] - root[:-1]) / (heights[1:] - heights[:-1])
        return jnp.clip(z[None] - heights[:-1], 0.0, heights[1:] - heights[:-1]), root[:-1], slope


class Grid(AbstractShown):
    """Faces of the cells of one column, or of a batch of columns.

    Args:
        z_face: heights of the faces [m], shape `(n_cells + 1, *batch)`, increasing, the last one 0.
        area: areas of the faces of a lake [m2], same shape, not decreasing upward; `None` if the area does
            not vary with depth.
        volume: volumes of the cells of a lake [m3], `(n_cells, *batch)`; by default those of frusta.

    Raises:
        ValueError: fewer than three cells; heights that are not finite, do not increase or do not end at 0;
            areas of another shape, that decrease upward or are not positive above the bottom.
    """

    z_face: FaceArray = array_field(1)
    area: FaceArray | None = array_field(1, default=None)
    volume: CenterArray | None = array_field(1, default=None)

    def __init__(self, z_face, area=None, volume=None):
        # A JAX array keeps its precision: the grid must not promote a column in float32.
        self.z_face = jnp.asarray(z_face, dtype=None if isinstance(z_face, jax.Array) else float)
        self.area = None if area is None else jnp.asarray(area, dtype=self.z_face.dtype)
        self.volume = None if volume is None else jnp.asarray(volume, dtype=self.z_face.dtype)

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
        if self.area is None or is_traced(self.area):
            return
        areas = np.asarray(self.area)
        if areas.shape != faces.shape:
            raise ValueError(f"Grid: expected an area of every face, shape {faces.shape}, got {areas.shape}.")
        if not (np.all(np.isfinite(areas)) and np.all(areas[1:] > 0.0) and np.all(areas[0] >= 0.0)):
            raise ValueError(f"Grid: expected positive areas above the bottom [m2], got {_describe(areas)}.")
        if not np.all(np.diff(areas, axis=0) >= -1e-12 * areas[1:]):
            raise ValueError(
                f"Grid: expected areas that do not decrease upward, got {_describe(areas)}; the first one is "
                "that of the bottom."
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
            surface_zoom: d_u >= 0; 2 alone makes the uppermost cells 14 times thinner than the lowest.
            bottom_zoom: d_l >= 0. Both zero give a uniform grid.

        Raises:
            TypeError: texts, or a number of cells that is no integer.
            ValueError: depth not positive, fewer than three cells, or a negative zoom.

        Source: GOTM, `ddu` and `ddl` of its analytical grid.
        """
        if isinstance(depth, str) or isinstance(n_cells, str) or n_cells != int(n_cells):
            got = f"{depth!r} and {n_cells!r}"
            raise TypeError(f"Grid: expected a depth [m] and an integer number of cells, got {got}.")
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

    def with_hypsography(self, z, area) -> "Grid":
        """Add the areas of a lake to the faces.

        Args:
            z: heights [m], increasing, from the depth of the grid or below up to 0 or above.
            area: areas at these heights [m2]; the square root of the area is interpolated linearly.

        Raises:
            ValueError: heights that do not increase or do not span the column, or a negative area.
        """
        z, area = np.asarray(z, dtype=float), np.asarray(area, dtype=float)
        Hypsography(z, area)  # raises if invalid
        depth = float(np.max(np.asarray(self.depth)))
        if z[0] > (-1.0 + 1e-6) * depth or z[-1] < -1e-6 * depth:
            raise ValueError(
                f"hypsography: expected areas from {-depth:g} m to the surface, got heights from {z[0]:g} "
                f"to {z[-1]:g} m; correct the depth, or extend the table."
            )
        roots = np.interp(np.asarray(self.z_face, dtype=float), z, np.sqrt(area))
        return Grid(self.z_face, roots**2)

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
    def relative_area(self) -> FaceArray | None:
        """Areas of the faces divided by the surface area [1]."""
        return None if self.area is None else self.area / self.area[-1:]

    @property
    def cell_volume(self) -> CenterArray:
        """Volume of the cells divided by the surface area [m]; without areas, their thickness."""
        a = self.relative_area
        if a is None or self.area is None:
            return self.cell_thickness
        if self.volume is not None:
            return self.volume / self.area[-1:]
        product = a[1:] * a[:-1]
        return self.cell_thickness * (a[1:] + _root(product) + a[:-1]) / 3.0

    @property
    def cell_area(self) -> CenterArray | None:
        """Mean area of the cells divided by the surface area [1]."""
        return None if self.area is None else self.cell_volume / self.cell_thickness

    @property
    def mean_depth(self) -> Scalar:
        """Volume of the column divided by the surface area [m]."""
        return self.depth if self.area is None else jnp.sum(self.cell_volume, axis=0)

    @property
    def center_spacing(self) -> InnerFaceArray:
        """Distance between neighbouring centers [m], on inner faces."""
        return 0.5 * (self.z_face[2:] - self.z_face[:-2])

    def with_batch_rank(self, rank: int) -> "Grid":
        """Add trailing axes of length 1, so that the grid broadcasts to `rank` batch axes."""
        missing = rank - len(self.batch_shape)
        if missing <= 0:
            return self
        return jax.tree.map(lambda values: values.reshape(values.shape + (1,) * missing), self)

    def matched_to(self, profiles: CenterArray) -> "Grid":
        """Add the batch axes of profiles `(center, *batch)` to the grid, such as the times of a run.

        Raises `ValueError` for profiles whose first axis does not have one value per cell.
        """
        if profiles.shape[:1] != (self.n_cells,):
            got = f"shape {profiles.shape}; the times of a run come first: transpose them, or use jax.vmap"
            raise ValueError(f"profiles: expected {self.n_cells} cells along the first axis, got {got}.")
        return self.with_batch_rank(profiles.ndim - 1)
