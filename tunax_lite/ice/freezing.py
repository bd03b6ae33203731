"""Ice models that reset water to its freezing point: as a bound only, or with freezing degree-days.

Neither closes the heat budget: the bound adds the heat that the air removes below the freezing point.
"""

from typing import ClassVar

import jax.numpy as jnp

from .._types import Scalar, ScalarLike, parameter
from ..column.forcing import IceSurface
from ..column.state import State
from ..declarations import named
from ..numerics.elementary import at_least, at_most
from .base import AbstractIce, IceState, IceStep, Sky, UppermostCell, below_cover

_DAY = 86400.0


@named("simple")
class FreezingBound(AbstractIce):
    """Holds the uppermost cell at or above its freezing point; the water stays exposed to the air.

    Args:
        shown_thickness: ice thickness in the output while water is held at its freezing point [m].

    Source: GOTM, `surface/ice/model: simple`.
    """

    thicknesses: ClassVar[tuple[str, ...]] = ("ice_thickness",)
    shown_thickness: Scalar = parameter(0.1, unit="m", valid_range=(0.0, 10.0))

    def start(self, state: State) -> IceState:
        return {"ice_thickness": 0.0 * state.temperature[-1]}

    def step(
        self, ice: IceState, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        freezing = self.freezing_point(cell.salinity)
        bound = at_least(cell.temperature, freezing)
        thickness = jnp.where(cell.temperature < freezing, self.shown_thickness, 0.0)
        heat_to_water = (bound - cell.temperature) * cell.heat_per_kelvin / dt
        return IceStep({"ice_thickness": thickness}, bound, sky(None), heat_to_water)


@named("lebedev")
class Lebedev(AbstractIce):
    """Ice whose thickness follows from the accumulated freezing degree-days of the air.

        H = 0.01 c F**n,    dF/dt = T_f - T_air [K], F in K day, with ice or if water and air are below T_f

    There is no ice below one degree-day, where STIM also resets the degree-days in every step.

    Args:
        initial_thickness: initial thickness H [m].
        growth: c, thickness in centimetres at one degree-day [1].
        exponent: n [1].
        albedo: albedo of the ice [1].
        light_depth: e-folding depth of shortwave radiation in the ice [m].
        ice_density: density, for the heat content of the ice [kg m-3].
        latent_heat: latent heat, for the heat content of the ice [J kg-1].

    Source: Lebedev (1938), Probl. Arktiki 5, 9-25; constants of STIM.
    """

    thicknesses: ClassVar[tuple[str, ...]] = ("ice_thickness",)
    needs_air: ClassVar[bool] = True
    initial_thickness: Scalar = parameter(0.0, unit="m", valid_range=(0.0, 20.0))
    growth: Scalar = parameter(1.33, valid_range=(0.1, 10.0))
    exponent: Scalar = parameter(0.58, valid_range=(0.1, 1.0))
    albedo: Scalar = parameter(0.545, valid_range=(0.0, 1.0))
    light_depth: Scalar = parameter(1.6, unit="m", valid_range=(0.01, 10.0))
    ice_density: Scalar = parameter(910.0, unit="kg m-3", valid_range=(500.0, 1000.0))
    latent_heat: Scalar = parameter(333500.0, unit="J kg-1", valid_range=(1e5, 4e5))

    def start(self, state: State) -> IceState:
        has_ice = self.initial_thickness > 0.0
        centimetres = jnp.where(has_ice, 100.0 * self.initial_thickness / self.growth, 1.0)
        degree_days = jnp.where(has_ice, jnp.exp(jnp.log(centimetres) / self.exponent), 0.0)
        zeros = 0.0 * state.temperature[-1]
        return {
            "ice_thickness": self.initial_thickness + zeros,
            "freezing_degree_days": degree_days + zeros,
        }

    def step(
        self, ice: IceState, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        assert air_temperature is not None
        thickness, days = ice["ice_thickness"], ice["freezing_degree_days"]
        freezing, covered = self.freezing_point(cell.salinity), thickness > 0.0
        accumulates = covered | ((air_temperature < freezing) & (cell.temperature < freezing))
        days = jnp.where(accumulates, days + (freezing - air_temperature) * (dt / _DAY), 0.0)
        has_ice = days > 1.0
        grown = 0.01 * self.growth * jnp.exp(self.exponent * jnp.log(jnp.where(has_ice, days, 1.0)))
        new_ice = jnp.where(has_ice, grown, 0.0)
        # Degree-days restart from 0 when the ice has gone.
        days = jnp.where(has_ice | ~covered, at_least(days, 0.0), 0.0)
        temperature = jnp.where(has_ice, freezing, at_least(cell.temperature, freezing))
        heat = (temperature - cell.temperature) * cell.heat_per_kelvin
        heat = heat - self.ice_density * self.latent_heat * (new_ice - thickness)
        fluxes = sky(IceSurface(covered, at_most(air_temperature, 0.0), self.albedo))
        fluxes = below_cover(covered, fluxes, jnp.exp(-new_ice / self.light_depth), None)
        return IceStep(
            {"ice_thickness": new_ice, "freezing_degree_days": days}, temperature, fluxes, heat / dt, covered
        )
