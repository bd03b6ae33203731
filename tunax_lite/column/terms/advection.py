"""Vertical advection by a prescribed velocity, dY/dt = -w dY/dz, with monotone upwind schemes.

The form is not conservative: the divergence of the vertical velocity is balanced by lateral flow, so that a
uniform profile stays uniform. The value at a face is that of the upwind cell plus a limited fraction of the
difference to the downwind cell.

Source: Leonard (1991), Comput. Methods Appl. Mech. Eng. 88, 17-74, for the limiters; Pietrzak (1998), Mon.
Wea. Rev. 126, 812-830.
"""

import enum

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._types import (
    CenterArray,
    FaceArray,
    InnerFaceArray,
    ScalarLike,
    SeriesOrScalar,
    array_field,
    as_float_array,
)
from ...declarations import setting
from ...numerics.elementary import reciprocal, unfused, with_end_faces
from ..grid import Grid
from ..state import State
from ..time_series import TimeSeries
from .base import AbstractTerm, Column


class AdvectionScheme(enum.Enum):
    """Schemes for values at faces; the first is first order, the others are up to third order."""

    UPSTREAM = "upstream"
    SUPERBEE = "superbee"
    MUSCL = "muscl"
    P2_PDM = "p2_pdm"

    def limited(self, behind: FaceArray, ahead: FaceArray, courant: FaceArray) -> FaceArray:
        """Limited difference to the downwind cell, for a Courant number below 1.

        Args:
            behind, ahead: absolute differences to the upwind and downwind cell, of equal sign; limiters are
                usually functions of their ratio, but that takes a division for each face and step.
            courant: Courant number of the face [1].
        """
        match self:
            case AdvectionScheme.UPSTREAM:
                return jnp.zeros_like(ahead)
            case AdvectionScheme.SUPERBEE:
                return jnp.maximum(jnp.minimum(2.0 * behind, ahead), jnp.minimum(behind, 2.0 * ahead))
            case AdvectionScheme.MUSCL:
                return jnp.minimum(2.0 * jnp.minimum(behind, ahead), 0.5 * (behind + ahead))
            case AdvectionScheme.P2_PDM:
                x = (1.0 - 2.0 * courant) / 6.0
                third_order = (0.5 + x) * ahead + (0.5 - x) * behind
                steepest = jnp.minimum(
                    2.0 * behind * reciprocal(courant + 1e-10),
                    2.0 * ahead * reciprocal(1.0 - courant + 1e-10),
                )
                return jnp.minimum(third_order, steepest)


class VelocityAndLevel(eqx.Module):
    """Extremum of the vertical velocity [m s-1], positive upward, and its height z [m], negative."""

    velocity: SeriesOrScalar = array_field(0, converter=as_float_array)
    height: SeriesOrScalar = array_field(0, converter=as_float_array)


class VerticalVelocity(AbstractTerm):
    """A vertical velocity that is zero at both ends and varies linearly between them and its extremum.

    Args:
        series: extremum and its height over time; the height is limited to 1 to 99 % of the depth.
        scheme: scheme of advection.
        n_substeps: advection steps per time step; the Courant number |w| dt / (n dz) must stay below 1.
    """

    series: TimeSeries[VelocityAndLevel]
    scheme: AdvectionScheme = setting(AdvectionScheme.P2_PDM)
    n_substeps: int = setting(1, at_least=1, at_most=10_000)

    def at(self, grid: Grid, time: ScalarLike) -> FaceArray:
        """Velocity on faces [m s-1]."""
        extremum = self.series.at(time)
        z, bottom = grid.z_face[1:-1], grid.z_face[0]
        height = jnp.clip(extremum.height, 0.99 * bottom, 0.01 * bottom)
        fraction = jnp.where(z > height, z / height, (z - bottom) / (height - bottom))
        return with_end_faces(fraction * extremum.velocity)

    def advect(self, column: Column) -> State:
        velocity = self.at(column.grid, column.time)
        options = {"scheme": self.scheme, "n_substeps": self.n_substeps}
        move = lambda values: advect(values, velocity, column.grid, column.dt, **options)  # noqa: E731
        return jax.tree.map(move, column.advected)


def advect(
    values: CenterArray,
    velocity: FaceArray,
    grid: Grid,
    dt: ScalarLike,
    *,
    scheme: AdvectionScheme = AdvectionScheme.P2_PDM,
    n_substeps: int = 1,
    moving: CenterArray | None = None,
) -> CenterArray:
    """Advect values vertically over `dt`.

    Args:
        values: values on cells.
        velocity: velocity on faces [m s-1], zero at both ends.
        dt: time step [s].
        scheme: scheme for values at faces.
        n_substeps: number of explicit substeps; Courant numbers must stay below 1.
        moving: volume of the cells per surface area [m], for matter that moves through the water, such as
            sinking particles, and conserves its content; what sinks onto the shores of a lake stays there.
    """
    substep, per_size = dt / n_substeps, reciprocal(grid.cell_thickness if moving is None else moving)
    flow, per_distance = velocity, reciprocal(grid.center_spacing)
    if moving is not None and grid.relative_area is not None:
        flow = velocity * grid.relative_area
        per_distance = jnp.where(velocity[1:-1] > 0.0, per_size[:-1], per_size[1:])
    flow_inside, divergence = flow[1:-1], velocity[1:] - velocity[:-1]
    courant = per_distance * jnp.abs(flow_inside) * substep
    for _ in range(n_substeps):
        inner = flow_inside * _at_faces(values, velocity[1:-1], courant, scheme)
        # Both cells beside a face use its flux, which XLA would otherwise compute for each.
        flux = with_end_faces(jax.lax.optimization_barrier(inner))
        gained = flux[:-1] - flux[1:]
        if moving is None:
            gained = gained + values * divergence
        values = values + substep * gained * per_size
    return values


def _at_faces(
    values: CenterArray, velocity: InnerFaceArray, courant: InnerFaceArray, scheme: AdvectionScheme
) -> InnerFaceArray:
    """Values carried through the inner faces."""
    n, upward = len(values), velocity > 0.0
    # Beyond an end, repeat the value of the end cell.
    cells = unfused(jnp.concatenate([values[:1], values, values[-1:]]))
    below, lower, upper, above = (cells[i : i + n - 1] for i in range(4))
    upwind = jnp.where(upward, lower, upper)
    downwind = jnp.where(upward, upper, lower)
    far_upwind = jnp.where(upward, below, above)
    ahead, behind = downwind - upwind, upwind - far_upwind
    smooth, rising = ahead * behind > 0.0, ahead > 0.0
    size = scheme.limited(jnp.abs(behind), jnp.abs(ahead), courant)
    change = 0.5 * (1.0 - courant) * jnp.where(rising, size, -size)
    return upwind + jnp.where(smooth, change, 0.0)
