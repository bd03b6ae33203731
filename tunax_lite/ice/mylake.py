"""Single-layer ice on a lake or the sea: frazil, growth by Stefan's law, melting from above and below.

    rho L H dH/dt = k (T_f - T_s),       T_s = (alpha T_f + T_air) / (1 + alpha),   alpha = a / H

while the air is colder than the freezing point T_f; the surface temperature of thin ice is closer to that of
the water. In warmer air, the heat flux from the air melts ice at 0 degC. Heat of the uppermost cell above its
freezing point melts ice from below; a heat deficit forms first frazil, then ice.

The heat budget of ice and water closes: shortwave radiation that reaches the water melts no ice, and freezing
warms the water to T_f, unlike in STIM. Rain adds no ice, but runs into the water.

Source: Saloranta and Andersen (2007), Ecol. Modell. 207, 45-60; constants of STIM.
"""

from typing import ClassVar

import jax.numpy as jnp

from .._types import Scalar, ScalarLike, parameter
from ..column.forcing import IceSurface
from ..column.state import State
from ..declarations import named, setting
from ..numerics.elementary import at_least, reciprocal
from .base import AbstractIce, IceState, IceStep, Sky, UppermostCell, below_cover, flux_like


@named("mylake")
class MyLake(AbstractIce):
    """Ice that grows by conduction.

    Args:
        initial_thickness: initial thickness H [m].
        frazil_limit: thickness at which frazil closes the cover [m].
        insulation: a, ice thickness at which the surface temperature is midway between freezing point and air
            temperature [m].
        conductivity: k of ice [W m-1 K-1].
        ice_density: rho [kg m-3].
        latent_heat: L [J kg-1].
        albedo: albedo of the ice [1].
        light_attenuation: attenuation of shortwave radiation in the ice [m-1].
        exchanges_water: whether ice exchanges fresh water with the water below: growth takes it, melt and
            rain on the ice return it.
    """

    thicknesses: ClassVar[tuple[str, ...]] = ("ice_thickness", "frazil_thickness")
    needs_air: ClassVar[bool] = True
    initial_thickness: Scalar = parameter(0.0, unit="m", valid_range=(0.0, 20.0))
    frazil_limit: Scalar = parameter(0.03, unit="m", valid_range=(1e-4, 1.0))
    insulation: Scalar = parameter(0.1, unit="m", valid_range=(1e-4, 10.0))
    conductivity: Scalar = parameter(2.1, unit="W m-1 K-1", valid_range=(0.1, 10.0))
    ice_density: Scalar = parameter(910.0, unit="kg m-3", valid_range=(500.0, 1000.0))
    latent_heat: Scalar = parameter(333500.0, unit="J kg-1", valid_range=(1e5, 4e5))
    albedo: Scalar = parameter(0.3, valid_range=(0.0, 1.0))
    light_attenuation: Scalar = parameter(5.0, unit="m-1", valid_range=(0.1, 100.0))
    exchanges_water: bool = setting(True)

    def start(self, state: State) -> IceState:
        zeros = 0.0 * state.temperature[-1]
        return {"ice_thickness": self.initial_thickness + zeros, "frazil_thickness": zeros}

    def mass(self, ice: IceState) -> Scalar | None:
        if not self.exchanges_water:
            return None
        return self.ice_density * (ice["ice_thickness"] + ice["frazil_thickness"])

    def step(
        self, ice: IceState, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        assert air_temperature is not None
        thickness, frazil = ice["ice_thickness"], ice["frazil_thickness"]
        freezing, covered = self.freezing_point(cell.salinity), thickness > 0.0
        latent = self.ice_density * self.latent_heat
        melted = (cell.temperature - freezing) * cell.heat_per_kelvin / latent  # by warm water [m]
        # Growth and melting from above.
        cold = air_temperature < freezing
        open_weight = self.insulation * reciprocal(thickness + self.insulation)
        conducting = open_weight * freezing + (1.0 - open_weight) * air_temperature
        ice_temperature = jnp.where(cold, conducting, 0.0)
        fluxes = sky(IceSurface(covered, ice_temperature, self.albedo))
        transmitted = jnp.exp(-self.light_attenuation * thickness)
        light = (1.0 - transmitted) * flux_like(fluxes.shortwave_flux, thickness)
        heat = flux_like(fluxes.heat_flux, thickness) + light
        grows = covered & cold
        squared = thickness**2 + 2.0 * self.conductivity / latent * dt * (freezing - conducting)
        grown = jnp.sqrt(jnp.where(grows, squared, 1.0)) - thickness
        from_air = jnp.where(covered, jnp.where(cold, -latent * grown / dt, at_least(heat, 0.0)), 0.0)
        # Thickness of ice or frazil; negative where the heat exceeds that of all ice.
        balance = jnp.where(covered, thickness, frazil) - from_air * dt / latent - melted
        new_ice = at_least(balance, 0.0)
        temperature = cell.temperature + (new_ice - balance - melted) * latent / cell.heat_per_kelvin
        is_closed = covered | (new_ice >= self.frazil_limit)
        variables = {
            "ice_thickness": jnp.where(is_closed, new_ice, 0.0),
            "frazil_thickness": jnp.where(is_closed, 0.0, new_ice),
        }
        gained = self.ice_density * (new_ice - thickness - frazil) / dt if self.exchanges_water else None
        fluxes = below_cover(covered, fluxes, transmitted, gained)
        return IceStep(variables, temperature, fluxes, from_air, covered, gained)
