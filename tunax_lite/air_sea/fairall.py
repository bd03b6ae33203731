"""Bulk formulae of Fairall et al. (1996), TOGA COARE 2: Monin-Obukhov similarity with gustiness."""

import math

import jax
import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named, setting
from ..numerics.limiters import at_least, at_most, reciprocal
from .base import KELVIN, AbstractBulkFormula, Exchange, MoistAir, WaterSkin
from .similarity import blend, convective, gust_squared, kansas_heat, kansas_momentum

GRAVITY = 9.81
KARMAN = 0.41
AIR_HEAT_CAPACITY = 1008.0
"""[J kg-1 K-1]"""
CALM = 0.1
"""Wind below which the coefficients are those of this wind [m s-1]: the first guess is of no use there."""
CRITICAL_RICHARDSON_NUMBER = 0.25
"""Of the air between surface and instrument; above it there is no turbulence and no flux."""
GUSTINESS, BOUNDARY_LAYER = 1.2, 600.0
"""Gustiness over the convective velocity [1], height of the boundary layer [m]."""

# Roughness Reynolds number below which a row holds; factor and exponent for temperature and for humidity,
# z_T = a Re^b nu / u*. Beyond 1000 the last row is kept.
_LIU = (
    (0.11, 0.177, 0.0, 0.292, 0.0),
    (0.825, 1.376, 0.929, 1.808, 0.826),
    (3.0, 1.026, -0.599, 1.393, -0.528),
    (10.0, 1.625, -1.018, 1.956, -0.870),
    (30.0, 4.661, -1.475, 4.994, -1.297),
    (100.0, 34.904, -2.067, 30.709, -1.845),
    (300.0, 1667.190, -2.907, 1448.680, -2.682),
    (math.inf, 588000.0, -3.935, 298000.0, -3.616),
)


def _log_scalar_roughness(log_reynolds: Scalar) -> tuple[Scalar, Scalar]:
    """Logarithms of z_T u* / nu and of z_q u* / nu: no power has to be taken."""
    roughness = []
    for factor, exponent in ((1, 2), (3, 4)):
        rows = tuple((row[0], math.log(row[factor]), row[exponent]) for row in _LIU)
        total = rows[-1][1] + rows[-1][2] * log_reynolds
        for bound, intercept, slope in reversed(rows[:-1]):
            below = log_reynolds < math.log(bound)
            total = jnp.where(below, intercept + slope * log_reynolds, total)
        roughness.append(total)
    return roughness[0], roughness[1]


def _psi(zeta: Scalar, kansas) -> Scalar:
    unstable = at_most(zeta, 0.0)
    psi = blend(unstable, kansas(jnp.sqrt(1.0 - 16.0 * unstable)), convective(1.0 - 12.87 * unstable))
    return jnp.where(zeta > 0.0, -4.7 * zeta, psi)


@named("fairall")
class Fairall(AbstractBulkFormula):
    """GOTM's form: no cool skin, the latent heat corrected for the mean vertical velocity (Webb).

    Args:
        wind_height: of the wind [m].
        air_height: of temperature and humidity [m].
        iterations: a fixed number.

    Source: Fairall et al. (1996), J. Geophys. Res. 101, 3747-3764; GOTM.
    """

    wind_height: float = setting(10.0, above=0.1, at_most=1000.0)
    air_height: float = setting(2.0, above=0.1, at_most=1000.0)
    iterations: int = setting(20, at_least=1, at_most=100, null_is_default=True)

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        kelvin = air.temperature + KELVIN
        humid = 1.0 + 0.61 * air.specific_humidity
        warmer = air.temperature - skin.temperature
        moister = air.specific_humidity - skin.specific_humidity
        wind = at_least(air.wind_speed, CALM)
        buoyant = warmer + 0.61 * kelvin * moister
        turbulent = (
            GRAVITY * self.wind_height * buoyant
            <= CRITICAL_RICHARDSON_NUMBER * kelvin * air.wind_speed * air.wind_speed
        ) | (buoyant <= 0.0)
        # What is not turbulent iterates as neutral air: finite, and not used.
        warmer = jnp.where(turbulent, warmer, 0.0)
        moister = jnp.where(turbulent, moister, 0.0)
        friction, temperature_scale, humidity_scale, speed = self._scales(
            air, wind, warmer, moister, kelvin, humid
        )
        friction = jnp.where(turbulent, friction, 0.0)
        vaporisation_heat = 2.501e6 - 2370.0 * skin.temperature
        water = air.density * friction * humidity_scale
        lift = -1.61 * friction * humidity_scale - (
            1.0 + 1.61 * air.specific_humidity
        ) * friction * temperature_scale * reciprocal(kelvin)
        return Exchange(
            momentum_transfer=air.density * friction * friction * reciprocal(speed),
            sensible_heat=AIR_HEAT_CAPACITY * air.density * friction * temperature_scale,
            latent_heat=vaporisation_heat * (water - air.density * lift * air.specific_humidity),
            water=water,
            vaporisation_heat=vaporisation_heat,
        )

    def _scales(
        self,
        air: MoistAir,
        wind: Scalar,
        warmer: Scalar,
        moister: Scalar,
        kelvin: Scalar,
        humid: Scalar,
    ) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """Friction velocity, scales of temperature and humidity, and wind with gusts."""
        t = air.temperature
        viscosity = 1.326e-5 * (1.0 + t * (6.542e-3 + t * (8.301e-6 - 4.84e-9 * t)))
        log_viscosity = jnp.log(viscosity)
        buoyancy = GRAVITY * reciprocal(kelvin)
        obukhov = KARMAN * buoyancy * reciprocal(humid)
        log_wind_height, log_air_height = math.log(self.wind_height), math.log(self.air_height)

        def iterate(_, scales):
            friction, temperature_scale, humidity_scale, speed = scales
            virtual = temperature_scale * humid + 0.61 * kelvin * humidity_scale
            inverse = reciprocal(friction)
            inverse_length = obukhov * virtual * (inverse * inverse)
            log_roughness = jnp.log(0.011 / GRAVITY * friction * friction + 0.11 * viscosity * inverse)
            psi_m = _psi(self.wind_height * inverse_length, kansas_momentum)
            psi_h = _psi(self.air_height * inverse_length, kansas_heat)
            profile = at_least(log_wind_height - log_roughness - psi_m, 0.5)
            friction = KARMAN * speed * reciprocal(profile)
            log_scale = jnp.log(friction) - log_viscosity
            log_t, log_q = _log_scalar_roughness(log_roughness + log_scale)
            above = log_air_height + log_scale - psi_h
            temperature_scale = KARMAN * warmer * reciprocal(at_least(above - log_t, 0.5))
            humidity_scale = KARMAN * moister * reciprocal(at_least(above - log_q, 0.5))
            virtual = temperature_scale * humid + 0.61 * kelvin * humidity_scale
            gust = gust_squared(-BOUNDARY_LAYER * buoyancy * friction * virtual, GUSTINESS**2)
            return friction, temperature_scale, humidity_scale, jnp.sqrt(wind * wind + gust)

        first = (0.04 * wind, 0.04 * warmer, 0.04 * moister, wind + 0.0 * (warmer + moister))
        shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*first, air.pressure)))
        first = tuple(jnp.broadcast_to(x, shape) for x in first)
        return jax.lax.fori_loop(0, self.iterations, iterate, first)
