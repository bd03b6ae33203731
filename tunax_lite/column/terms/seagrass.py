"""Seagrass: leaves that move with the water until they are taut, and then exert drag.

    slack:   dx/dt = u                     for the displacement x of the leaves, at most the excursion
    taut:    du/dt = ... - c |U| U / h,    P = alpha c |U|³

P produces turbulent kinetic energy. The drag of a step uses the leaves at the end of the previous step.

c and P apply to a cell of any thickness h, as in GOTM.

Source: Verduin and Backhaus (2000), Estuar. Coast. Shelf Sci. 50, 185-204.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import CenterArray, InnerFaceArray, Scalar, array_field, as_float_array, is_traced, parameter
from ...numerics.elementary import interpolated, mean_of_neighbours, reciprocal, vector_norm
from ..state import State
from .base import AbstractTerm, Column, Tendency

_TRACERS = ("seagrass_x", "seagrass_y", "seagrass_drag")


class Seagrass(AbstractTerm):
    """A canopy on the bottom; its state is the tracers seagrass_x, seagrass_y [m] and seagrass_drag [1].

    Args:
        height: heights above the bottom, increasing up to the top of the canopy [m].
        excursion: displacement at which leaves are taut, at these heights [m].
        friction: c of taut leaves, at these heights [1].
        efficiency: alpha [1].

    Raises:
        ValueError: heights that do not increase, or values at them that are missing or negative.
    """

    height: Float[Array, "..."] = array_field(1, converter=as_float_array)
    excursion: Float[Array, "..."] = array_field(1, converter=as_float_array)
    friction: Float[Array, "..."] = array_field(1, converter=as_float_array)
    efficiency: Scalar = parameter(0.0, valid_range=(0.0, 100.0))

    def __check_init__(self):
        table = self.height, self.excursion, self.friction
        if is_traced(table):
            return
        if len({values.shape[:1] for values in table}) > 1 or table[0].shape[0] < 2:
            sizes = ", ".join(str(values.shape) for values in table)
            raise ValueError(
                f"Seagrass: expected height, excursion and friction of at least two levels, got {sizes}."
            )
        if not (np.all(np.diff(table[0], axis=0) > 0.0) and all(np.all(np.asarray(x) >= 0.0) for x in table)):
            raise ValueError(
                "Seagrass: expected heights that increase and nothing negative; sort levels from the bottom."
            )

    def own_tracers(self) -> tuple[str, ...]:
        return _TRACERS

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        rate = column.state.tracers["seagrass_drag"] * vector_norm(*column.velocity)
        rate = rate / column.grid.cell_thickness
        return {"u": Tendency(loss_rate=rate), "v": Tendency(loss_rate=rate)}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        """Replace displacement and drag of the leaves, stored as tracers, by those at the end of the step."""
        old, (u, v) = [column.state.tracers[name] for name in _TRACERS], column.velocity
        z = column.grid.z_center - column.grid.z_face[0]
        within = z < self.height[-1]
        x, y = (jnp.where(within, x + column.dt * vel, 0.0) for x, vel in zip(old, (u, v), strict=False))
        limit, distance = self._at(z, self.excursion), vector_norm(x, y)
        taut = within & (distance > limit)
        fraction = jnp.where(taut, limit * reciprocal(jnp.where(taut, distance, 1.0)), 1.0)
        new = fraction * x, fraction * y, jnp.where(taut, self._at(z, self.friction), 0.0)
        per_time = column.grid.cell_thickness / column.dt
        return {
            name: Tendency(cells=(end - start) * per_time)
            for name, start, end in zip(_TRACERS, old, new, strict=True)
        }

    def stirring(self, state: State) -> InnerFaceArray:
        speed = vector_norm(state.u, state.v)
        produced = self.efficiency * state.tracers["seagrass_drag"] * (speed * speed * speed)
        return mean_of_neighbours(produced)

    def _at(self, z: CenterArray, values: Float[Array, "..."]) -> CenterArray:
        """Values at heights above the bottom [m]."""
        return interpolated(z, self.height[:, None], values[:, None])
