"""Rotation, stratification and shear: f, N² = db/dz, S² = (du/dz)² + (dv/dz)², depth of the mixed layer."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .. import constants
from .._types import CenterArray, InnerFaceArray, Scalar, ScalarLike
from ..grid import Grid
from ..numerics.elementary import at_least, difference, mean_of_neighbours, reciprocal
from ..state import State
from .equation_of_state import AbstractEquationOfState


def coriolis_parameter(latitude: ScalarLike) -> Scalar:
    """f = (4 pi / sidereal day) sin(latitude) [s-1]; latitude in degrees north."""
    return 4.0 * jnp.pi / constants.ROTATION_PERIOD * jnp.sin(jnp.deg2rad(latitude))


def rotate(
    u: CenterArray, v: CenterArray, coriolis_parameter: ScalarLike, dt: ScalarLike
) -> tuple[CenterArray, CenterArray]:
    """Rotate the velocity by the angle f dt: exact and energy-conserving for any time step."""
    angle = jnp.asarray(coriolis_parameter * dt)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return cosine * u + sine * v, cosine * v - sine * u


def _expansion(state: State, grid: Grid, equation_of_state: AbstractEquationOfState):
    """Expansion and contraction of the mean of the two neighbouring cells."""
    temperature, salinity = mean_of_neighbours(state.temperature), mean_of_neighbours(state.salinity)
    return equation_of_state.expansion(temperature, salinity, grid.z_face[1:-1])


def buoyancy_frequency_squared(
    state: State, grid: Grid, equation_of_state: AbstractEquationOfState
) -> InnerFaceArray:
    """N² = g (alpha dT/dz - beta dS/dz) [s-2]; negative where the water is unstable."""
    alpha, beta = _expansion(state, grid, equation_of_state)
    change = alpha * difference(state.temperature) - beta * difference(state.salinity)
    # Not times a reciprocal: see `quotient`. So S².
    return equation_of_state.gravity * change / grid.center_spacing


def buoyancy_per_kelvin(
    state: State, grid: Grid, equation_of_state: AbstractEquationOfState
) -> InnerFaceArray | Scalar:
    """g alpha [m s-2 K-1], the fraction of temperature in N² over its gradient."""
    return equation_of_state.gravity * _expansion(state, grid, equation_of_state)[0]


def shear_squared(new: State, old: State, grid: Grid) -> InnerFaceArray:
    """S² [s-2] whose product with the viscosity is the kinetic energy lost to viscosity.

    S² = du' (du' + du) / (2 dz²) + the same of v, with du the difference between neighbours before and
    du' after an implicit (backward Euler) viscous step from `old` to `new`. Summed over the column,
    nu S² equals the discrete loss of kinetic energy to round-off, on any grid. Where the velocity turns
    within one step it can be slightly negative.

    Source: Burchard (2002), Ocean Modelling 4, 271-289; the form for one face spacing, which is equal to
    that of GOTM on uniform grids.
    """
    du, dv = difference(new.u), difference(new.v)
    half_sum = du * (du + difference(old.u)) + dv * (dv + difference(old.v))
    return 0.5 * half_sum / grid.center_spacing**2


def shear_squared_between_cells(new: State, old: State, grid: Grid, theta: float) -> InnerFaceArray:
    """S² [s-2] as GOTM has it: the energy that each of two cells loses counts over its own thickness.

    S² = sum over both cells of du_theta (U - U_other) / (2 dz h), with du_theta the difference between
    the neighbours of the viscous flux, and U - U_other that between the new value of one and the old of the
    other. Equal to `shear_squared` on a uniform grid with theta = 1; summed over a stretched column, nu S²
    is not the loss of kinetic energy. The new values have the weight theta in the viscous flux.

    Source: Burchard (2002), Ocean Modelling 4, 271-289, as in GOTM.
    """
    thickness = grid.cell_thickness
    lower, upper = reciprocal(thickness[:-1]), reciprocal(thickness[1:])

    def of(new: CenterArray, old: CenterArray) -> InnerFaceArray:
        after, before = theta * difference(new), (1.0 - theta) * difference(old)
        new_upper, new_lower = new[1:] - old[:-1], old[1:] - new[:-1]
        over_lower = (after * new_upper + before * new_lower) * lower
        return over_lower + (after * new_lower + before * new_upper) * upper

    return 0.5 * (of(new.u, old.u) + of(new.v, old.v)) * reciprocal(grid.center_spacing)


def richardson_number(
    buoyancy_frequency_squared: InnerFaceArray,
    shear_squared: InnerFaceArray,
    *,
    shear_squared_floor: float = 1e-14,
) -> InnerFaceArray:
    """Gradient Richardson number, N² / S² [1]; below the floor [s-2] N² / floor, with zero gradient to S²."""
    return buoyancy_frequency_squared * reciprocal(at_least(shear_squared, shear_squared_floor))


def mixed_layer_depth(
    temperature: Float[Array, "center *#batch"],
    grid: Grid,
    *,
    difference: float = 0.2,
    reference_depth: float | None = None,
) -> Scalar:
    """Depth [m] at which the temperature is first `difference` [K] below that of a reference above.

    Linear between centers; the depth of the deepest center where the criterion is met nowhere.
    Differentiable except where the crossing moves to another pair of cells.

    Args:
        temperature: on the cells [degC], or minus another variable that grows with depth.
        difference: to the reference, in the unit of the variable.
        reference_depth: of the reference [m]; what lies above does not count. `None` for the uppermost cell.

    Source: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003, who take 10 m and 0.2 K.
    """
    z = jnp.broadcast_to(grid.z_center, temperature.shape)
    if reference_depth is not None:
        # As if the water above were that of the reference, and began there.
        temperature = jnp.where(
            z > -reference_depth, _value_at(temperature, z, -reference_depth), temperature
        )
        z = jnp.minimum(z, -reference_depth)
    threshold = temperature[-1] - difference
    below, above = temperature[:-1] < threshold, temperature[1:] >= threshold
    # The shallowest crossing: the last True along the upward axis.
    is_crossing = below & above
    steps_from_top = jnp.argmax(is_crossing[::-1], axis=0)
    lower = temperature.shape[0] - 2 - steps_from_top
    t_low, t_up = _take(temperature, lower), _take(temperature, lower + 1)
    z_low, z_up = _take(z, lower), _take(z, lower + 1)
    spread = jnp.where(t_up > t_low, t_up - t_low, 1.0)
    crossing = z_low + (threshold - t_low) / spread * (z_up - z_low)
    return jnp.where(jnp.any(is_crossing, axis=0), -crossing, -z[0])


def _take(values: Float[Array, "center *#batch"], index: Int[Array, "*#batch"]) -> Scalar:
    return jnp.take_along_axis(values, index[None], axis=0)[0]


def _value_at(values: Float[Array, "center *#batch"], z: Float[Array, "center *#batch"], height: float):
    """Linear between centers at heights z [m], constant beyond the first and the last."""
    lower = jnp.clip(jnp.sum(z < height, axis=0) - 1, 0, z.shape[0] - 2)
    z_low, z_up = _take(z, lower), _take(z, lower + 1)
    fraction = jnp.clip((height - z_low) / (z_up - z_low), 0.0, 1.0)
    return (1.0 - fraction) * _take(values, lower) + fraction * _take(values, lower + 1)


def first_face_below(met: Bool[Array, "face *#batch"], grid: Grid) -> Scalar:
    """Depth [m] of the first inner face from the surface where a condition is met, or of the bottom."""
    inner = met[1:-1]
    from_top = jnp.argmax(inner[::-1], axis=0)
    faces = jnp.broadcast_to(grid.z_face[1:-1], inner.shape)[::-1]
    found = jnp.take_along_axis(faces, from_top[None], axis=0)[0]
    return jnp.where(jnp.any(inner, axis=0), -found, -jnp.broadcast_to(grid.z_face[0], found.shape))
