"""Passive tracers that float, sink or rise, and the age of water."""

import jax.numpy as jnp

from ..._types import CenterArray, Scalar, ScalarLike, parameter
from ...declarations import named, setting
from .interface import DAY, AbstractBiogeochemicalModel, Environment, Exchanges, Pool, Pools


@named("passive")
class Passive(AbstractBiogeochemicalModel):
    """A tracer that moves through the water, absorbs light, and enters or leaves through the surface.

    Args:
        vertical_velocity: positive upward [m d-1].
        specific_light_attenuation: attenuation of light per concentration [m2 mol-1].
        surface_flux: into the water [mol m-2 d-1].
        initial: concentration at the start [mol m-3].
    """

    vertical_velocity: Scalar = parameter(0.0, unit="m d-1", valid_range=(-1000.0, 1000.0))
    specific_light_attenuation: Scalar = parameter(0.0, unit="m2 mol-1", valid_range=(0.0, 1e3))
    surface_flux: Scalar = parameter(0.0, unit="mol m-2 d-1", valid_range=(-1e5, 1e5))
    initial: float = setting(1.0)

    def pools(self) -> tuple[Pool, ...]:
        return (Pool("c", "mol m-3", "passive tracer", self.initial),)

    def contents(self) -> dict[str, dict[str, ScalarLike]]:
        return {"tracer": {"c": 1.0}}

    def velocities(self, pools: Pools, environment: Environment) -> dict[str, ScalarLike | CenterArray]:
        return {"c": self.vertical_velocity / DAY}

    def attenuation(self, pools: Pools) -> CenterArray:
        return self.specific_light_attenuation * pools["c"]

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        return {}

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        flux = self.surface_flux / DAY + 0.0 * pools["c"]
        return {(None, "c"): jnp.maximum(flux, 0.0), ("c", None): jnp.maximum(-flux, 0.0)}
