"""Stratification and shear on inner faces: N² = db/dz, S² = (du/dz)² + (dv/dz)², Ri = N² / S²."""

from .._types import CenterArray, InnerFaceArray, Scalar
from ..grid import Grid
from ..numerics.limiters import at_least, reciprocal
from ..numerics.stencils import difference, gradient, mean_of_neighbours
from ..state import State
from .equation_of_state import AbstractEquationOfState


def buoyancy_frequency_squared(
    state: State, grid: Grid, equation_of_state: AbstractEquationOfState
) -> InnerFaceArray:
    """N² = g (alpha dT/dz - beta dS/dz) [s-2]; negative where the water is unstable.

    Expansion and contraction are those of the mean of the two neighbouring cells.
    """
    temperature = mean_of_neighbours(state.temperature)
    salinity = mean_of_neighbours(state.salinity)
    alpha, beta = equation_of_state.expansion(temperature, salinity, grid.z_face[1:-1])
    thermal = alpha * gradient(state.temperature, grid)
    haline = beta * gradient(state.salinity, grid)
    return equation_of_state.gravity * (thermal - haline)


def buoyancy_per_kelvin(
    state: State, grid: Grid, equation_of_state: AbstractEquationOfState
) -> InnerFaceArray | Scalar:
    """g alpha [m s-2 K-1], the fraction of temperature in N² over its gradient."""
    temperature, salinity = mean_of_neighbours(state.temperature), mean_of_neighbours(state.salinity)
    alpha, _ = equation_of_state.expansion(temperature, salinity, grid.z_face[1:-1])
    return equation_of_state.gravity * alpha


def shear_squared(new: State, old: State, grid: Grid) -> InnerFaceArray:
    """S² [s-2] whose product with the viscosity is the kinetic energy that viscosity took.

    S² = du' (du' + du) / (2 dz²) + the same of v, with du the difference between neighbours before and
    du' after an implicit (backward Euler) viscous step from `old` to `new`. Summed over the column,
    nu S² equals the discrete loss of kinetic energy to round-off, on any grid. Where the velocity turns
    within one step it can be slightly negative.

    Source: Burchard (2002), Ocean Modelling 4, 271-289; the form for one face spacing, which is equal to
    that of GOTM on uniform grids.
    """
    du, dv = difference(new.u), difference(new.v)
    half_sum = du * (du + difference(old.u)) + dv * (dv + difference(old.v))
    return 0.5 * half_sum * reciprocal(grid.center_spacing) ** 2


def shear_squared_between_cells(new: State, old: State, grid: Grid, theta: float) -> InnerFaceArray:
    """S² [s-2] as GOTM has it: the energy that each of two cells loses counts over its own thickness.

    S² = sum over both cells of du_theta (U - U_other) / (2 dz h), with du_theta the difference between
    the neighbours of the viscous flux, and U - U_other that between the new value of one and the old of the
    other. Equal to `shear_squared` on a uniform grid with theta = 1; summed over a stretched column, nu S²
    is not the loss of kinetic energy.

    Args:
        new, old: states after and before a viscous step.
        grid: of both.
        theta: weight of the new values in the viscous flux.

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
    """Gradient Richardson number, Ri = N² / S² [1].

    Below the floor [s-2] it is N² / floor: finite, with zero gradient to S².
    """
    return buoyancy_frequency_squared * reciprocal(at_least(shear_squared, shear_squared_floor))
