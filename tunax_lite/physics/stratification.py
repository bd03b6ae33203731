"""Rotation, stratification and shear: f, N² = db/dz, S² = (du/dz)² + (dv/dz)², mixed layer depth."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .. import constants
from .._types import CenterArray, InnerFaceArray, Scalar, ScalarLike, check_range
from ..column.grid import Grid
from ..column.state import State
from ..numerics.elementary import difference, mean_of_neighbours, reciprocal
from .equation_of_state import AbstractEquationOfState


def coriolis_parameter(latitude: ScalarLike) -> Scalar:
    """f = (4 pi / sidereal day) sin(latitude) [s-1]; latitude in degrees north, from -90 to 90."""
    check_range("latitude", latitude, (-90.0, 90.0))
    return 4.0 * jnp.pi / constants.ROTATION_PERIOD * jnp.sin(jnp.deg2rad(latitude))


def rotate(
    u: CenterArray, v: CenterArray, coriolis_parameter: ScalarLike, dt: ScalarLike
) -> tuple[CenterArray, CenterArray]:
    """Rotate the velocity by the angle f dt; exact and energy-conserving for any time step."""
    angle = jnp.asarray(coriolis_parameter * dt)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return cosine * u + sine * v, cosine * v - sine * u


def _expansion(state: State, grid: Grid, equation_of_state: AbstractEquationOfState):
    """Expansion and contraction at faces, from the mean of the two neighbouring cells."""
    temperature, salinity = mean_of_neighbours(state.temperature), mean_of_neighbours(state.salinity)
    return equation_of_state.expansion(temperature, salinity, grid.z_face[1:-1])


def buoyancy_frequency_squared(
    state: State, grid: Grid, equation_of_state: AbstractEquationOfState
) -> InnerFaceArray:
    """N² = g (alpha dT/dz - beta dS/dz) [s-2]; negative where the stratification is unstable."""
    grid = grid.matched_to(state.temperature)
    alpha, beta = _expansion(state, grid, equation_of_state)
    change = alpha * difference(state.temperature) - beta * difference(state.salinity)
    # Divide, do not multiply by a reciprocal: see `quotient`. The same holds for S².
    return equation_of_state.gravity * change / grid.center_spacing


def buoyancy_per_kelvin(
    state: State, grid: Grid, equation_of_state: AbstractEquationOfState
) -> InnerFaceArray | Scalar:
    """g alpha [m s-2 K-1], the contribution of temperature to N² per temperature gradient."""
    grid = grid.matched_to(state.temperature)
    return equation_of_state.gravity * _expansion(state, grid, equation_of_state)[0]


def shear_squared(new: State, old: State, grid: Grid) -> InnerFaceArray:
    """S² [s-2] whose product with the viscosity equals the kinetic energy lost to viscosity.

    S² = du' (du' + du) / (2 dz²) plus the same for v, with du the difference between neighbours before and
    du' that after an implicit (backward Euler) viscous step from `old` to `new`. Summed over the column, nu
    S² equals the discrete loss of kinetic energy to round-off, on any grid. Where the shear changes sign
    within one step, S² can be slightly negative.

    Source: Burchard (2002), Ocean Modelling 4, 271-289; the form for one face spacing, identical to GOTM's on
    uniform grids.
    """
    du, dv = difference(new.u), difference(new.v)
    half_sum = du * (du + difference(old.u)) + dv * (dv + difference(old.v))
    return 0.5 * half_sum / grid.matched_to(new.u).center_spacing ** 2


def shear_squared_between_cells(new: State, old: State, grid: Grid, theta: float) -> InnerFaceArray:
    """S² [s-2] as in GOTM, which divides the energy lost by each of the two cells by that cell's thickness.

    S² = sum over both cells of du_theta (U - U_other) / (2 dz h), with du_theta the difference between
    neighbours in the viscous flux, and U - U_other the new value of one minus the old value of the other.
    Equal to `shear_squared` on a uniform grid with theta = 1; on a stretched grid the sum of nu S² is not the
    loss of kinetic energy. The new values have weight theta in the viscous flux.

    Source: Burchard (2002), Ocean Modelling 4, 271-289, as in GOTM.
    """
    grid = grid.matched_to(new.u)
    thickness = grid.cell_thickness
    inverse_lower, inverse_upper = reciprocal(thickness[:-1]), reciprocal(thickness[1:])

    def of(new: CenterArray, old: CenterArray) -> InnerFaceArray:
        new_part, old_part = theta * difference(new), (1.0 - theta) * difference(old)
        upper_jump, lower_jump = new[1:] - old[:-1], old[1:] - new[:-1]
        in_lower = (new_part * upper_jump + old_part * lower_jump) * inverse_lower
        return in_lower + (new_part * lower_jump + old_part * upper_jump) * inverse_upper

    return 0.5 * (of(new.u, old.u) + of(new.v, old.v)) * reciprocal(grid.center_spacing)


_SHALLOW = 20.0  # m


def default_reference_depth(grid: Grid) -> Scalar:
    """Reference depth [m] of a mixed layer: 10 m; in lakes, and in columns of less than 20 m, 1 m.

    10 m lies below diurnal warm layers (de Boyer Montegut et al. 2004). Mixed layers of lakes and shallow
    water are often shallower than 10 m; 1 m lies below the skin that the sun warms.
    """
    depth = jnp.where(grid.depth < _SHALLOW, 1.0, 10.0) if grid.area is None else jnp.ones_like(grid.depth)
    return depth.astype(grid.z_face.dtype)


def mixed_layer_depth(
    temperature: Float[Array, "center *#batch"],
    grid: Grid,
    *,
    difference: float = 0.2,
    reference_depth: float | None = None,
    bounded: bool = False,
) -> Scalar:
    """Depth [m] at which the temperature first differs by `difference` [K] from that at a reference depth.

    Water below may be colder or, under ice and in winter, warmer. The temperature is linear between centers.
    NaN where no center differs as much. Differentiable except where the crossing moves to another pair of
    cells.

    Args:
        temperature: on cells [degC], or another variable, such as density. A batch, such as the times of a
            run, is the last axis; the grid may be that of a single column.
        difference: difference from the reference, in the unit of the variable.
        reference_depth: depth of the reference [m], above which values are ignored; 0 for the uppermost
            cell, by default `default_reference_depth`.
        bounded: whether to return the depth of the deepest center instead of NaN, as a misfit needs.

    Raises:
        ValueError: the length of the first axis is not the number of cells.

    Source: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003, who take 10 m and 0.2 K.
    """
    grid = grid.matched_to(temperature)
    z = jnp.broadcast_to(grid.z_center, temperature.shape)
    reference = -default_reference_depth(grid) if reference_depth is None else -reference_depth
    # The column begins at the reference, with its value.
    temperature = jnp.where(z > reference, _value_at(temperature, z, reference), temperature)
    z = jnp.minimum(z, reference)
    is_beyond = jnp.abs(temperature[:-1] - temperature[-1]) > difference
    # The shallowest crossing is the last True along the upward axis.
    lower = temperature.shape[0] - 2 - jnp.argmax(is_beyond[::-1], axis=0)
    t_low, t_up = _take(temperature, lower), _take(temperature, lower + 1)
    z_low, z_up = _take(z, lower), _take(z, lower + 1)
    threshold = temperature[-1] + jnp.where(t_low < temperature[-1], -difference, difference)
    divisor = jnp.where(t_up == t_low, 1.0, t_up - t_low)
    crossing = z_low + (threshold - t_low) / divisor * (z_up - z_low)
    # The product keeps the NaN of a run that failed.
    fallback = -z[0] + 0.0 * jnp.sum(temperature, axis=0) if bounded else jnp.nan
    return jnp.where(jnp.any(is_beyond, axis=0), -crossing, fallback)


def _take(values: Float[Array, "center *#batch"], index: Int[Array, "*#batch"]) -> Scalar:
    return jnp.take_along_axis(values, index[None], axis=0)[0]


def _value_at(values: Float[Array, "center *#batch"], z: Float[Array, "center *#batch"], height: ScalarLike):
    """Interpolate linearly between centers at heights z [m]; constant beyond the outermost."""
    lower = jnp.clip(jnp.sum(z < height, axis=0) - 1, 0, z.shape[0] - 2)
    z_low, z_up = _take(z, lower), _take(z, lower + 1)
    fraction = jnp.clip((height - z_low) / (z_up - z_low), 0.0, 1.0)
    return (1.0 - fraction) * _take(values, lower) + fraction * _take(values, lower + 1)


def depth_of_first_face(condition: Bool[Array, "face *#batch"], grid: Grid) -> Scalar:
    """Depth [m] of the uppermost inner face where a condition holds; of the bottom if there is none."""
    inner, grid = condition[1:-1], grid.with_batch_rank(condition.ndim - 1)
    from_top = jnp.argmax(inner[::-1], axis=0)
    faces = jnp.broadcast_to(grid.z_face[1:-1], inner.shape)[::-1]
    height = jnp.take_along_axis(faces, from_top[None], axis=0)[0]
    return jnp.where(jnp.any(inner, axis=0), -height, -jnp.broadcast_to(grid.z_face[0], height.shape))
