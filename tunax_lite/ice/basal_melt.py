"""Melting below an ice shelf: the three equations of the ice-ocean boundary layer.

    heat:             gamma_T (T - T_b) = m (c_i / c (T_b - T_i) + L / c)
    salt:             gamma_S (S - S_b) = m S_b
    freezing point:   T_b = l_1 S_b + l_2 + l_3 H rho_i / rho

for temperature T_b and salinity S_b at the ice and the melt rate m [m s-1 of water]. The transfer velocities
gamma are those of a rough wall with a viscous sublayer, in which heat and salt diffuse at their own rates.

Source: Hellmer and Olbers (1989), Antarct. Sci. 1, 325-336; Holland and Jenkins (1999), J. Phys. Oceanogr.
29, 1787-1800; Kader and Yaglom (1972), Int. J. Heat Mass Transf. 15, 2329-2351, for the wall; Burchard et al.
(2022), J. Adv. Model. Earth Syst. 14, e2021MS002925; constants of STIM.
"""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from .._types import Scalar, ScalarLike, parameter
from ..column.forcing import SurfaceFluxes
from ..column.state import State
from ..declarations import named, setting
from ..numerics.elementary import at_least, safe_sqrt
from .base import AbstractIce, IceState, IceStep, Sky, UppermostCell


class MeltLayer(NamedTuple):
    """Water at the ice, and exchange with it."""

    temperature: Scalar  # [degC]
    salinity: Scalar  # [g kg-1]
    melt_rate: Scalar  # [m s-1] of water; negative for freezing
    heat_exchange: Scalar  # gamma_T (T - T_b) [K m s-1]


@named("basal_melt")
class BasalMelt(AbstractIce):
    """An ice shelf that always covers the water and melts at its base.

    Args:
        initial_thickness: initial thickness of the ice [m].
        roughness_length: roughness length of the ice base [m].
        ice_temperature: temperature in the interior of the ice [degC].
        ice_density: [kg m-3].
        ice_heat_capacity: [J kg-1 K-1].
        latent_heat: latent heat of melting [J kg-1].
        water_density, water_heat_capacity: values for the melt rate and the pressure below the ice [kg m-3, J
            kg-1 K-1]; `None` for those of the equation of state.
        viscosity: viscosity of the water [m2 s-1].
        prandtl_number, schmidt_number: molecular values for heat and salt [1].
        turbulent_prandtl_number: [1].
        von_karman: kappa [1].
        replenished: whether ice flow replaces the melted ice and keeps the thickness constant.
    """

    thicknesses: ClassVar[tuple[str, ...]] = ("ice_thickness",)
    initial_thickness: Scalar = parameter(300.0, unit="m", valid_range=(0.0, 5000.0))
    roughness_length: Scalar = parameter(0.01, unit="m", valid_range=(1e-6, 1.0))
    ice_temperature: Scalar = parameter(-20.0, unit="degC", valid_range=(-60.0, 0.0))
    ice_density: Scalar = parameter(910.0, unit="kg m-3", valid_range=(500.0, 1000.0))
    ice_heat_capacity: Scalar = parameter(1995.0, unit="J kg-1 K-1", valid_range=(1e3, 4e3))
    latent_heat: Scalar = parameter(333500.0, unit="J kg-1", valid_range=(1e5, 4e5))
    water_density: Scalar | None = parameter(None, unit="kg m-3", valid_range=(900.0, 1100.0))
    water_heat_capacity: Scalar | None = parameter(None, unit="J kg-1 K-1", valid_range=(3e3, 5e3))
    viscosity: Scalar = parameter(1.95e-6, unit="m2 s-1", valid_range=(1e-7, 1e-4))
    prandtl_number: Scalar = parameter(13.8, valid_range=(1.0, 100.0))
    schmidt_number: Scalar = parameter(2432.0, valid_range=(10.0, 1e5))
    turbulent_prandtl_number: Scalar = parameter(0.7, valid_range=(0.1, 2.0))
    von_karman: Scalar = parameter(0.4, valid_range=(0.1, 1.0))
    replenished: bool = setting(True)

    def start(self, state: State) -> IceState:
        return {"ice_thickness": self.initial_thickness + 0.0 * state.temperature[-1]}

    def mass(self, ice: IceState) -> Scalar | None:
        return None if self.replenished else self.ice_density * ice["ice_thickness"]

    def melt(self, thickness: Scalar, cell: UppermostCell) -> MeltLayer:
        """Solve the three equations below ice of a thickness [m]; no melting if the water is at rest."""
        density, capacity = self._water(cell)
        r_heat, r_salt = (
            self._resistance(cell, molecular) for molecular in (self.prandtl_number, self.schmidt_number)
        )
        gamma_heat = self.von_karman * cell.friction_velocity / (self.turbulent_prandtl_number * r_heat)
        gamma_ratio = r_heat / r_salt  # gamma_S / gamma_T
        # Quadratic equation for S_b; its other root is negative.
        freezing = _FRESH + _BY_DEPTH * thickness * self.ice_density / density
        c_ratio = self.ice_heat_capacity / capacity
        heat_of_ice = self.ice_heat_capacity * (freezing - self.ice_temperature) + self.latent_heat
        melting = gamma_ratio / capacity * heat_of_ice
        a = _BY_SALT * (1.0 - gamma_ratio * c_ratio)
        b = gamma_ratio * cell.salinity * _BY_SALT * c_ratio - melting - (cell.temperature - freezing)
        half = -0.5 * b / a
        salinity = half + safe_sqrt(half**2 - cell.salinity * melting / a)
        temperature = _BY_SALT * salinity + freezing
        exchange = gamma_heat * (cell.temperature - temperature)
        warming = c_ratio * (temperature - self.ice_temperature) + self.latent_heat / capacity
        return MeltLayer(temperature, salinity, exchange / warming, exchange)

    def step(
        self, ice: IceState, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        thickness = ice["ice_thickness"]
        melting = self.melt(thickness, cell)
        density, capacity = self._water(cell)
        zeros = jnp.zeros_like(thickness)
        # Water at the cell's temperature is replaced by meltwater at T_b, in a column of constant volume.
        heat_loss = density * capacity * (melting.heat_exchange - melting.melt_rate * melting.temperature)
        heat_loss = heat_loss + cell.density * cell.heat_capacity * melting.melt_rate * cell.temperature
        fluxes = SurfaceFluxes(heat_flux=-heat_loss, freshwater_flux=cell.density * melting.melt_rate)
        taken = None if self.replenished else -cell.density * melting.melt_rate
        if not self.replenished:
            melted = density / self.ice_density * melting.melt_rate * dt
            thickness = at_least(thickness - melted, 0.0)
        covered = jnp.ones_like(zeros, bool)
        return IceStep({"ice_thickness": thickness}, cell.temperature, fluxes, zeros, covered, taken)

    def _water(self, cell: UppermostCell) -> tuple[Scalar, Scalar]:
        density = cell.density if self.water_density is None else self.water_density
        return density, cell.heat_capacity if self.water_heat_capacity is None else self.water_heat_capacity

    def _resistance(self, cell: UppermostCell, molecular: Scalar) -> Scalar:
        """ln((z + z_0) / z_0) + kappa / Pr_t beta [1], at the center of the cell."""
        turbulent, z_0 = self.turbulent_prandtl_number, self.roughness_length
        roughness = safe_sqrt(z_0 * cell.friction_velocity / self.viscosity)
        rough = 0.55 * jnp.exp(0.5 * self.von_karman * _ROUGH_INTERCEPT) * roughness
        beta = rough * (jnp.cbrt(molecular) ** 2 - 0.2) - turbulent * _ROUGH_INTERCEPT + 9.5
        return jnp.log1p(0.5 * cell.thickness / z_0) + self.von_karman / turbulent * beta


_ROUGH_INTERCEPT = 8.5
"""Intercept of the logarithmic layer over rough walls [1]."""
_BY_SALT, _FRESH, _BY_DEPTH = -5.6705121472405570e-2, 7.5436448744204881e-2, 7.6828512903539831e-4
"""Potential freezing point: by salinity [K per g kg-1], of fresh water [degC], by depth [K m-1]."""
