"""The prognostic variables of the column."""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._types import CenterArray, ScalarLike
from .grid import Grid

Profile = CenterArray | ScalarLike | Callable[[CenterArray], CenterArray]
"""Initial values: an array on the centers, one number, or a function of the height [m]."""


class State(eqx.Module):
    """Velocity, temperature, salinity and passive tracers at cell centers.

    Args:
        u, v: eastward and northward velocity [m s-1].
        temperature: [degC].
        salinity: [g kg-1].
        tracers: any number of passive tracers by name, each in its own unit.
    """

    u: CenterArray
    v: CenterArray
    temperature: CenterArray
    salinity: CenterArray
    tracers: dict[str, CenterArray] = eqx.field(default_factory=dict)

    @classmethod
    def from_profiles(
        cls,
        grid: Grid,
        *,
        temperature: Profile,
        salinity: Profile = 35.0,
        u: Profile = 0.0,
        v: Profile = 0.0,
        tracers: Mapping[str, Profile] | None = None,
    ) -> "State":
        """State on `grid` from arrays, numbers or functions of the height z [m]."""

        def on_grid(profile: Profile) -> CenterArray:
            values = profile(grid.z_center) if callable(profile) else profile
            return jnp.broadcast_to(jnp.asarray(values, dtype=float), grid.z_center.shape)

        return cls(
            u=on_grid(u),
            v=on_grid(v),
            temperature=on_grid(temperature),
            salinity=on_grid(salinity),
            tracers={name: on_grid(profile) for name, profile in (tracers or {}).items()},
        )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(leaf.shape[1:] for leaf in jax.tree.leaves(self)))

    def broadcast(self, batch_shape: tuple[int, ...]) -> "State":
        """The same state for every column of a batch."""

        def spread(values: CenterArray) -> CenterArray:
            missing = len(batch_shape) - (values.ndim - 1)
            values = values.reshape(values.shape + (1,) * missing) if values.ndim == 1 else values
            return jnp.broadcast_to(values, values.shape[:1] + batch_shape)

        return jax.tree.map(spread, self)
