"""Increments of the profiles that a case starts from, the control variables of state estimation.

    temperature = background + increment,        the increment linear between given heights

Above the highest and below the lowest of these heights the increment of the nearest one holds. On heights and
not on cells, so that they mean the same on every grid.
"""

from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import ColumnArray, array_field, as_float_array, is_traced, vector_parameter
from ..grid import Grid
from ..state import State

VARIABLES = ("temperature", "salinity", "u", "v")


class InitialCorrection(eqx.Module):
    """What is added to the initial profiles; `None` is nothing, and costs nothing.

    Args:
        z: heights [m], increasing, at most 0, `(n_heights,)`.
        temperature: increments of conservative temperature at these heights [K].
        salinity: of absolute salinity [g kg-1].
        u, v: of the velocity [m s-1].

    Raises:
        ValueError: heights that do not increase or lie above the surface, or another number of increments.
    """

    z: Float[Array, " height"] = array_field(1, converter=as_float_array)
    temperature: ColumnArray | None = vector_parameter(unit="K", coordinate="z", default=None)
    salinity: ColumnArray | None = vector_parameter(unit="g kg-1", coordinate="z", default=None)
    u: ColumnArray | None = vector_parameter(unit="m s-1", coordinate="z", default=None)
    v: ColumnArray | None = vector_parameter(unit="m s-1", coordinate="z", default=None)

    @classmethod
    def zero(cls, z, variables: Iterable[str] = ("temperature",)) -> "InitialCorrection":
        """Increments of zero, to be found by a calibration.

        Args:
            z: heights [m]; the centers of the cells of a grid for an increment of every cell.
            variables: what is corrected: temperature, salinity, u, v.

        Raises:
            ValueError: another name, or heights that cannot be used.
        """
        variables, z = tuple(variables), jnp.asarray(z, dtype=float)
        unknown = [name for name in variables if name not in VARIABLES]
        if unknown or not variables:
            raise ValueError(
                f"initial correction: expected variables among {', '.join(VARIABLES)}, got "
                f"{', '.join(unknown) or 'none'}."
            )
        return cls(z, **{name: jnp.zeros_like(z) for name in variables})

    def __check_init__(self):
        if is_traced(self) or not isinstance(self.z, jax.Array):
            return
        z = np.asarray(self.z)
        if z.size == 0 or not (np.all(np.isfinite(z)) and np.all(np.diff(z) > 0.0) and z[-1] <= 0.0):
            raise ValueError(
                "initial correction: expected heights [m] that increase and end at or below 0, got "
                f"{np.array2string(z, threshold=6, edgeitems=2)}; sort them, deepest first."
            )
        for name in VARIABLES:
            values = getattr(self, name)
            if isinstance(values, jax.Array) and values.shape[0] != z.shape[0]:
                raise ValueError(
                    f"initial correction: expected an increment of {name} at each of the {z.shape[0]} "
                    f"heights, got {values.shape[0]}."
                )

    def add_to(self, state: State, grid: Grid) -> State:
        """The state with its increments."""
        fraction = _shares(self.z, grid.z_center)

        def corrected(name: str):
            values, increments = getattr(state, name), getattr(self, name)
            if increments is None:
                return values
            return _like(values, increments) + _along_column(fraction, increments)

        return State(**{name: corrected(name) for name in VARIABLES}, tracers=state.tracers)


def _shares(z: Float[Array, " height"], at: ColumnArray) -> Float[Array, "center height *#batch"]:
    """Fraction of the value at each height in that at each center."""
    return jnp.stack([jnp.interp(at, z, row) for row in jnp.eye(z.shape[0], dtype=at.dtype)], axis=1)


def _along_column(fraction, increments):
    if fraction.ndim == 2:
        return jnp.tensordot(fraction, increments, 1)
    return jnp.sum(fraction * _like(increments[None], fraction), axis=1)


def _like(values, batch):
    """Values of one column, to be broadcast over a batch of columns."""
    return values.reshape(values.shape + (1,) * max(0, batch.ndim - values.ndim))
