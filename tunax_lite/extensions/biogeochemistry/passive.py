"""Passive tracers that float, sink or rise, and the age of water."""

import jax.numpy as jnp

from ..._types import CenterArray, Scalar, parameter
from ...declarations import named, setting
from .interface import (
    DAY,
    AbstractBiogeochemicalModel,
    Contents,
    Environment,
    Exchanges,
    Pool,
    Pools,
    Velocities,
)


@named("passive")
class Passive(AbstractBiogeochemicalModel):
    """A tracer that moves through the water, absorbs light, and enters or leaves through the surface.

    Args:
        vertical_velocity: velocity through the water, positive upward [m d-1].
        specific_light_attenuation: attenuation of light per concentration [m2 mol-1].
        surface_flux: flux into the water [mol m-2 d-1].
        initial: concentration at the start [mol m-3].
    """

    vertical_velocity: Scalar = parameter(0.0, unit="m d-1", valid_range=(-1000.0, 1000.0))
    specific_light_attenuation: Scalar = parameter(0.0, unit="m2 mol-1", valid_range=(0.0, 1e3))
    surface_flux: Scalar = parameter(0.0, unit="mol m-2 d-1", valid_range=(-1e5, 1e5))
    initial: float = setting(1.0)

    def pools(self) -> tuple[Pool, ...]:
        return (Pool("c", "mol m-3", "passive tracer", self.initial),)

    def contents(self) -> Contents:
        return {"tracer": {"c": 1.0}}

    def velocities(self, pools: Pools, environment: Environment) -> Velocities:
        return {"c": self.vertical_velocity / DAY}

    def attenuation(self, pools: Pools) -> CenterArray:
        return self.specific_light_attenuation * pools["c"]

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        return {}

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        flux = self.surface_flux / DAY + 0.0 * pools["c"]
        return {(None, "c"): jnp.maximum(flux, 0.0), ("c", None): jnp.maximum(-flux, 0.0)}


@named("age")
class Age(AbstractBiogeochemicalModel):
    """Time since the water was at the surface, or at the bottom.

    Args:
        since: end of the column that renews the water.
        renewal_time: time scale of the renewal [s]; at least the step of an explicit scheme.
    """

    since: str = setting("surface", choices=("surface", "bottom"))
    renewal_time: Scalar = parameter(3600.0, unit="s", valid_range=(1.0, 1e7))

    def pools(self) -> tuple[Pool, ...]:
        return (Pool("age", "d", f"time since contact with the {self.since}", 0.0, diluted=False),)

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        return {(None, "age"): 1.0 / DAY + 0.0 * pools["age"]}

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        return self._renewed(pools, environment) if self.since == "surface" else {}

    def through_bottom(self, pools: Pools, environment: Environment) -> Exchanges:
        return self._renewed(pools, environment) if self.since == "bottom" else {}

    def _renewed(self, pools: Pools, environment: Environment) -> Exchanges:
        return {("age", None): pools["age"] * environment.thickness / self.renewal_time}
