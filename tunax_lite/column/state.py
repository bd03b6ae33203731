"""The prognostic variables of the column."""

import dataclasses
import re
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import CenterArray, ScalarLike, array_field, batch_shape_of, without_index
from ..quantities import GRID_NAMES, QUANTITIES
from ..views import AbstractShown
from .grid import Grid

_NAME = re.compile(r"\w[^\s/\x00-\x1f\x7f]{0,99}")

Profile = CenterArray | ScalarLike | Callable[[CenterArray], CenterArray]
"""Initial values: an array on the centers, one number, or a function of the height [m]."""


class State(AbstractShown):
    """Velocity, temperature, salinity and passive tracers at cell centers.

    Args:
        u, v: eastward and northward velocity [m s-1].
        temperature: [degC].
        salinity: [g kg-1].
        tracers: any number of passive tracers by name, each in its own unit.
        surface: one number per column by name: prognostic variables of the ice, a varying lake level, and
            other variables that terms store at the surface or the bottom.

    Raises:
        ValueError: a tracer whose name is not a valid variable name in files, or is already taken.
    """

    u: CenterArray = array_field(1)
    v: CenterArray = array_field(1)
    temperature: CenterArray = array_field(1)
    salinity: CenterArray = array_field(1)
    tracers: dict[str, CenterArray] = array_field(1, default_factory=dict)
    surface: dict[str, Float[Array, "..."]] = array_field(0, default_factory=dict)

    def __check_init__(self):
        for name in self.tracers:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise ValueError(
                    "State: expected tracer names of at most 100 characters without blanks or slashes, "
                    f"got {str(name)[:100]!r}; rename the tracer."
                )
            if (name in QUANTITIES and QUANTITIES[name].location != "outside") or name in GRID_NAMES:
                raise ValueError(
                    f"State: expected a tracer name that is not a variable of the model, got '{name}'; "
                    "rename the tracer."
                )

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
        """State on `grid` from arrays at its centers, numbers, or functions of the height z [m].

        Raises `TypeError` for a text, and `ValueError` for an array of a different number of cells.
        """

        def on_grid(name: str, profile: Profile) -> CenterArray:
            initial = profile(grid.z_center) if callable(profile) else profile
            if isinstance(initial, str):  # JAX would read the text "35" as a number
                raise TypeError(f"State: expected {name} as numbers or a function of z [m], got {initial!r}.")
            values = jnp.asarray(without_index(initial), dtype=float)
            if values.ndim > 0 and values.shape[0] != grid.n_cells:
                raise ValueError(
                    f"State: expected {name} on the {grid.n_cells} centers of the grid, got shape "
                    f"{values.shape}; interpolate it to grid.z_center."
                )
            return jnp.broadcast_to(values, (grid.n_cells, *grid.batch_shape)) if values.ndim < 2 else values

        return cls(
            u=on_grid("u", u),
            v=on_grid("v", v),
            temperature=on_grid("temperature", temperature),
            salinity=on_grid("salinity", salinity),
            tracers={name: on_grid(name, profile) for name, profile in (tracers or {}).items()},
        )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return batch_shape_of(self)

    def broadcast(self, batch_shape: tuple[int, ...]) -> "State":
        """Broadcast the state to every column of a batch."""

        def to_batch(values: CenterArray) -> CenterArray:
            missing = len(batch_shape) - (values.ndim - 1)
            values = values.reshape(values.shape + (1,) * missing) if values.ndim == 1 else values
            return jnp.broadcast_to(values, values.shape[:1] + batch_shape)

        water = jax.tree.map(to_batch, self.without_surface())
        surface = {name: jnp.broadcast_to(values, batch_shape) for name, values in self.surface.items()}
        return dataclasses.replace(water, surface=surface)

    def without_surface(self) -> "State":
        """State with profiles only, without surface variables."""
        return dataclasses.replace(self, surface={}) if self.surface else self
