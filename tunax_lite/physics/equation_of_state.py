"""Equations of state of sea water.

N² and buoyancy fluxes need the thermal expansion alpha and the haline contraction beta, N² = g (alpha dT/dz -
beta dS/dz). Only comparisons of water parcels use the density: KPP, plumes on slopes, streams, energies.
"""

import abc

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .. import constants
from .._types import Scalar, is_traced, parameter
from ..declarations import named
from ..numerics.elementary import horner, reciprocal
from ..views import AbstractShown
from . import teos10

Values = Float[Array, "..."]


class AbstractEquationOfState(AbstractShown):
    """Density of sea water, its derivatives, and the associated constants.

    Args:
        gravity: acceleration of gravity [m s-2].
        reference_density: reference density for fluxes and buoyancy [kg m-3].
        heat_capacity: heat capacity of sea water [J kg-1 K-1].
        draft: depth of the top of the column below sea level, under ice [m]. `expansion` takes heights above
            the top of the column and subtracts the draft; `density` takes heights above sea level.
    """

    gravity: Scalar = parameter(constants.GRAVITY, unit="m s-2", valid_range=(1e-3, 100.0))
    reference_density: Scalar = parameter(
        constants.REFERENCE_DENSITY, unit="kg m-3", valid_range=(500.0, 2000.0)
    )
    heat_capacity: Scalar = parameter(constants.HEAT_CAPACITY, unit="J kg-1 K-1", valid_range=(1.0, 1e5))
    draft: Scalar | None = parameter(None, unit="m", valid_range=(0.0, 5000.0))

    def above_sea_level(self, z: Values) -> Values:
        """Height above sea level [m] from the height above the top of the column."""
        return z if self.draft is None else z - self.draft

    @abc.abstractmethod
    def density(self, temperature: Values, salinity: Values, z: Values) -> Values:
        """Density [kg m-3] at height `z` [m]."""

    @abc.abstractmethod
    def expansion(self, temperature: Values, salinity: Values, z: Values) -> tuple[Values, Values]:
        """Thermal expansion [K-1] and haline contraction [kg g-1] at height `z` [m].

        Both are relative to the reference density, as Boussinesq buoyancy is: they are -1/rho_0 drho/dT and
        1/rho_0 drho/dS, not derivatives divided by the local density.
        """

    def buoyancy(self, temperature: Values, salinity: Values, z: Values) -> Values:
        """Buoyancy [m s-2] at height `z` [m], relative to water of the reference density.

        Evaluate all parcels at the same `z` to compare them.
        """
        lighter = self.reference_density - self.density(temperature, salinity, z)
        return self.gravity / self.reference_density * lighter


@named("linear")
class LinearEquationOfState(AbstractEquationOfState):
    """Linear equation of state: rho = rho_0 (1 - alpha (T - T_0) + beta (S - S_0)).

    Args:
        thermal_expansion: alpha [K-1].
        haline_contraction: beta [kg g-1].
        reference_temperature: T_0, at the reference density [degC].
        reference_salinity: S_0, at the reference density [g kg-1].

    Source of the defaults: GOTM's `linear_custom` with its default constants.
    """

    thermal_expansion: Scalar = parameter(2e-4, unit="K-1", valid_range=(0.0, 1e-3))
    haline_contraction: Scalar = parameter(7.8e-4, unit="kg g-1", valid_range=(0.0, 1e-2))
    reference_temperature: Scalar = parameter(20.0, unit="degC", valid_range=(-5.0, 60.0))
    reference_salinity: Scalar = parameter(35.0, unit="g kg-1", valid_range=(0.0, 60.0))

    @classmethod
    def from_teos10(
        cls,
        temperature: float,
        salinity: float,
        pressure: float = 0.0,
        water: AbstractEquationOfState | None = None,
        **constants: float,
    ) -> "LinearEquationOfState":
        """Linearise TEOS-10 at one point.

        Args:
            temperature: conservative temperature [degC].
            salinity: absolute salinity [g kg-1].
            pressure: sea pressure [dbar].
            water: equation of state to linearise; by default `Teos10` with these constants.
            constants: gravity, reference density and heat capacity; defaults as in the class.

        Raises:
            ValueError: a point that is not finite, or a salinity or pressure below 0.
        """
        point = (temperature, salinity, pressure)
        if not is_traced(point) and not (np.all(np.isfinite(point)) and min(salinity, pressure) >= 0.0):
            raise ValueError(
                "LinearEquationOfState.from_teos10: expected a finite temperature [degC], and salinity "
                f"[g kg-1] and pressure [dbar] of at least 0, got {point}."
            )
        z = jnp.asarray(-pressure, dtype=float)
        temperature_and_salinity = (jnp.asarray(temperature, dtype=float), jnp.asarray(salinity, dtype=float))
        water = Teos10(**constants) if water is None else water
        alpha, beta = water.expansion(*temperature_and_salinity, z)
        return cls(
            thermal_expansion=alpha,
            haline_contraction=beta,
            reference_temperature=temperature,
            reference_salinity=salinity,
            **constants,
        )

    def density(self, temperature: Values, salinity: Values, z: Values) -> Values:
        return self.reference_density * (1.0 - self._lightness(temperature, salinity))

    def buoyancy(self, temperature: Values, salinity: Values, z: Values) -> Values:
        # Do not subtract densities: rounding would swamp small differences.
        return self.gravity * self._lightness(temperature, salinity)

    def _lightness(self, temperature: Values, salinity: Values) -> Values:  # (rho_0 - rho) / rho_0
        warmer = temperature - self.reference_temperature
        saltier = salinity - self.reference_salinity
        return self.thermal_expansion * warmer - self.haline_contraction * saltier

    def expansion(self, temperature: Values, salinity: Values, z: Values) -> tuple[Values, Values]:
        return self.thermal_expansion, self.haline_contraction


@named("teos10")
class Teos10(AbstractEquationOfState):
    """Density from conservative temperature [degC], absolute salinity [g kg-1] and height [m].

    It agrees with the specific volume of TEOS-10 (75 terms) to 3e-4 kg m-3 in an ocean climatology down to
    5000 m, to 9e-4 in all cold water down to 6000 m, and to 6e-3 in trenches. Expansion and contraction are
    relative to the reference density: 1 % off in the upper 500 m, 3 % in the abyss and in brackish seas.

    Source: Roquet et al. (2015), Ocean Modelling 90, 29-43.
    """

    def density(self, temperature: Values, salinity: Values, z: Values) -> Values:
        s, tau, zeta = teos10.scaled(temperature, salinity, z, teos10.DENSITY_OFFSET)
        return zeta * horner(teos10.PROFILE, zeta) + teos10.polynomial(teos10.DENSITY, s, tau, zeta)

    def expansion(self, temperature: Values, salinity: Values, z: Values) -> tuple[Values, Values]:
        s, tau, zeta = teos10.scaled(temperature, salinity, self.above_sea_level(z), teos10.DENSITY_OFFSET)
        relative = reciprocal(self.reference_density)
        alpha = -relative * teos10.polynomial(teos10.DENSITY_BY_TEMPERATURE, s, tau, zeta)
        beta = relative * (teos10.polynomial(teos10.DENSITY_BY_SALINITY, s, tau, zeta) * reciprocal(s))
        return alpha, beta


@named("specific_volume")
class SpecificVolumeTeos10(AbstractEquationOfState):
    """In-situ density, with expansion and contraction relative to it, as in the GSW library and in GOTM.

    N² = g (alpha dT/dz - beta dS/dz) is then relative to the local instead of the reference density, which
    makes it 1.4 % larger in water of 1013 kg m-3. The Boussinesq equations of the column conserve energy with
    the reference density, as in `Teos10`.

    Source: Roquet et al. (2015), Ocean Modelling 90, 29-43.
    """

    def density(self, temperature: Values, salinity: Values, z: Values) -> Values:
        scaled = teos10.scaled(temperature, salinity, z, teos10.VOLUME_OFFSET)
        return reciprocal(teos10.polynomial(teos10.VOLUME, *scaled))

    def expansion(self, temperature: Values, salinity: Values, z: Values) -> tuple[Values, Values]:
        s, tau, zeta = teos10.scaled(temperature, salinity, self.above_sea_level(z), teos10.VOLUME_OFFSET)
        volume, by_temperature, by_salinity = teos10.volume_and_derivatives(s, tau, zeta)
        density = reciprocal(volume)
        return density * by_temperature, -density * (by_salinity * reciprocal(s))


def default_equation_of_state(latitude: object, longitude: object) -> AbstractEquationOfState:
    """Default equation of state: TEOS-10 for a position, linear for an idealised case.

    The linear expansion is constant, which is twice too large at 5 degC, but a step of `KEpsilon` takes a
    third less time. A date alone does not make a position: simulations have dates, too.
    """
    return LinearEquationOfState() if latitude is None and longitude is None else Teos10()


def carries_conservative_temperature(equation_of_state: AbstractEquationOfState | None) -> bool:
    """Return whether columns with this equation of state carry conservative temperature (TEOS-10)."""
    return isinstance(equation_of_state, Teos10 | SpecificVolumeTeos10)
