"""Bulk formulae by Monin-Obukhov similarity with gustiness: TOGA COARE 2 (Fairall) and COARE 3.6.

In 3.6 temperature and humidity are shifted to the height of the wind, where the fluxes are computed.
Neither includes a cool skin or warm layer: the water temperature is that of the uppermost cell.
"""

import math
from collections import namedtuple

import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, reciprocal
from .air import (
    AIR_HEAT_CAPACITY,
    GRAVITY,
    KARMAN,
    KELVIN,
    LAPSE_RATE,
    AbstractSimilarity,
    Exchange,
    MoistAir,
    WaterSkin,
    bounded,
    inverse_obukhov_length,
    kansas_heat,
    kansas_momentum,
    virtual,
    viscosity,
)

_BOUNDARY_LAYER = 600.0  # height of the atmospheric boundary layer [m]
_CALM = 0.1  # lowest wind for `Fairall`, whose first guess fails in calmer air [m s-1]
_SLOWEST = 0.2  # lowest wind with gusts for `Coare36` [m s-1]
_GUSTINESS = 1.2  # factor of the convective velocity scale [1]
_CRITICAL_RICHARDSON_NUMBER = 0.25  # between surface and instrument; above it fluxes vanish
_LARGEST_ZETA = 50.0

# Rows: upper bound of the roughness Reynolds number; a and b in z_T = a Re^b nu / u*; the same for humidity.
# The source ends at 1000; the last row also serves above.
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


def _log_scalar_reynolds(log_reynolds: Scalar, column: int) -> Scalar:
    """Logarithm of z_T u* / nu (column 1) or z_q u* / nu (column 3); logarithms avoid powers."""
    rows = [(row[0], math.log(row[column]), row[column + 1]) for row in _LIU]
    logarithm = rows[-1][1] + rows[-1][2] * log_reynolds
    for bound, intercept, slope in reversed(rows[:-1]):
        logarithm = jnp.where(log_reynolds < math.log(bound), intercept + slope * log_reynolds, logarithm)
    return logarithm


def convective(argument: Scalar) -> Scalar:
    """Free-convective function of 1 - b zeta: Fairall et al. (1996), J. Geophys. Res. 101, 3747-3764."""
    root_3 = math.sqrt(3.0)
    y = jnp.exp(jnp.log(argument) * (1.0 / 3.0))
    logarithm = 1.5 * jnp.log((1.0 + y + y * y) * (1.0 / 3.0))
    return logarithm - root_3 * jnp.arctan((1.0 + 2.0 * y) * (1.0 / root_3)) + math.pi / root_3


def blend(zeta: Scalar, near_neutral: Scalar, free: Scalar) -> Scalar:
    """Mean of near-neutral and free-convective functions, with weights 1 and zeta² over 1 + zeta²."""
    squared = zeta * zeta
    return (near_neutral + squared * free) / (1.0 + squared)


def gust_squared(buoyant: Scalar, factor: Scalar | float) -> Scalar:
    """Square of the gustiness, factor * buoyant^(2/3) [m2 s-2], 0 in stable air.

    The power has infinite slope at 0. Its value at a small argument is subtracted, so that the gustiness
    starts from 0 with a finite slope, and is too small by less than 6 mm s-1. `buoyant` is [m3 s-3] with a
    factor [1], or [1] with a factor [m2 s-2].
    """
    least = 1e-7
    positive = jnp.where(buoyant > least, buoyant, least)
    return factor * (jnp.exp(jnp.log(positive) * (2.0 / 3.0)) - least ** (2.0 / 3.0))


def _psi(zeta: Scalar, kansas) -> Scalar:
    unstable = at_most(zeta, 0.0)
    psi = blend(unstable, kansas(jnp.sqrt(1.0 - 16.0 * unstable)), convective(1.0 - 12.87 * unstable))
    return jnp.where(zeta > 0.0, -4.7 * zeta, psi)


@named("fairall")
class Fairall(AbstractSimilarity):
    """COARE 2 as in GOTM: no cool skin; latent heat includes the Webb correction (mean vertical velocity).

    Source: Fairall et al. (1996), J. Geophys. Res. 101, 3747-3764; GOTM.
    """

    iterations: int = setting(20, at_least=1, at_most=100)

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        kelvin = air.temperature + KELVIN
        warmer = air.temperature - skin.temperature
        moister = air.specific_humidity - skin.specific_humidity
        buoyant = warmer + 0.61 * kelvin * moister
        sheared = _CRITICAL_RICHARDSON_NUMBER * kelvin * air.wind_speed * air.wind_speed
        turbulent = (9.81 * self.wind_height * buoyant <= sheared) | (buoyant <= 0.0)
        # Where air is not turbulent, fluxes are 0: iterate on neutral air, which stays finite.
        warmer = jnp.where(turbulent, warmer, 0.0)
        moister = jnp.where(turbulent, moister, 0.0)
        friction, temperature_scale, humidity_scale, speed = self._scales(air, warmer, moister, kelvin)
        friction = jnp.where(turbulent, friction, 0.0)
        vaporisation_heat = 2.501e6 - 2370.0 * skin.temperature
        water = air.density * friction * humidity_scale
        webb = -1.61 * friction * humidity_scale - (
            1.0 + 1.61 * air.specific_humidity
        ) * friction * temperature_scale * reciprocal(kelvin)
        return Exchange(
            momentum_transfer=air.density * friction * friction * reciprocal(speed),
            sensible_heat=AIR_HEAT_CAPACITY * air.density * friction * temperature_scale,
            latent_heat=vaporisation_heat * (water - air.density * webb * air.specific_humidity),
            water=water,
            vaporisation_heat=vaporisation_heat,
        )

    def _scales(self, air: MoistAir, warmer: Scalar, moister: Scalar, kelvin: Scalar) -> tuple[Scalar, ...]:
        """Friction velocity, scales of temperature and humidity, and wind speed with gusts."""
        gravity, karman = 9.81, 0.41  # GOTM's, unlike those of COARE 3
        virtual_factor, wind = 1.0 + 0.61 * air.specific_humidity, at_least(air.wind_speed, _CALM)
        nu = viscosity(air.temperature)
        log_viscosity = jnp.log(nu)
        buoyancy = gravity * reciprocal(kelvin)
        obukhov = karman * buoyancy * reciprocal(virtual_factor)
        log_wind_height, log_air_height = math.log(self.wind_height), math.log(self.air_height)

        def iterate(scales):
            friction, temperature_scale, humidity_scale, speed = scales
            virtual_scale = temperature_scale * virtual_factor + 0.61 * kelvin * humidity_scale
            inverse = reciprocal(friction)
            inverse_length = obukhov * virtual_scale * (inverse * inverse)
            log_roughness = jnp.log(0.011 / gravity * friction * friction + 0.11 * nu * inverse)
            psi_m = _psi(self.wind_height * inverse_length, kansas_momentum)
            psi_h = _psi(self.air_height * inverse_length, kansas_heat)
            profile = at_least(log_wind_height - log_roughness - psi_m, 0.5)
            friction = karman * speed * reciprocal(profile)
            log_scale = jnp.log(friction) - log_viscosity
            log_height = log_air_height + log_scale - psi_h
            log_t, log_q = (_log_scalar_reynolds(log_roughness + log_scale, column) for column in (1, 3))
            temperature_scale = karman * warmer * reciprocal(at_least(log_height - log_t, 0.5))
            humidity_scale = karman * moister * reciprocal(at_least(log_height - log_q, 0.5))
            virtual_scale = temperature_scale * virtual_factor + 0.61 * kelvin * humidity_scale
            gust = gust_squared(-_BOUNDARY_LAYER * buoyancy * friction * virtual_scale, _GUSTINESS**2)
            return friction, temperature_scale, humidity_scale, jnp.sqrt(wind * wind + gust)

        # Neutral guess, with u* = 0.04 U; adding 0 gives the speed the shape of all columns.
        first = (0.04 * wind, 0.04 * warmer, 0.04 * moister, wind + 0.0 * (warmer + moister))
        return self._iterated(iterate, first, air)


_Scales = namedtuple("_Scales", "friction temperature humidity log_roughness air_kelvin air_humidity speed")


def _stable(zeta: Scalar, profile: Scalar) -> Scalar:
    decay = jnp.exp(-at_most(0.35 * zeta, 50.0))
    return -(profile + 0.6667 * (zeta - 14.28) * decay + 8.525)


def _unstable(zeta: Scalar, kansas, factor: float) -> Scalar:
    return blend(zeta, kansas(jnp.sqrt(1.0 - 15.0 * zeta)), convective(1.0 - factor * zeta))


def psi_momentum(zeta: Scalar) -> Scalar:
    """Stability function of momentum."""
    negative, positive = at_most(zeta, 0.0), at_least(zeta, 0.0)
    unstable = _unstable(negative, kansas_momentum, 10.15)
    return jnp.where(zeta < 0.0, unstable, _stable(positive, 1.0 + positive))


def psi_heat(zeta: Scalar) -> Scalar:
    """Stability function of heat and vapour."""
    negative, positive = at_most(zeta, 0.0), at_least(zeta, 0.0)
    base = 1.0 + positive * (2.0 / 3.0)
    unstable = _unstable(negative, kansas_heat, 34.15)
    return jnp.where(zeta < 0.0, unstable, _stable(positive, base * jnp.sqrt(base)))


def _charnock(neutral_wind: Scalar) -> Scalar:
    """Charnock parameter for the neutral wind at 10 m [m s-1]."""
    return at_least(at_most(0.0017 * neutral_wind - 0.005, 0.028), 0.0)


def _log_roughness(charnock: Scalar, friction: Scalar, nu: Scalar) -> Scalar:
    roughness = charnock * friction * friction / GRAVITY + 0.11 * nu / friction
    return jnp.log(at_most(at_least(roughness, 1e-9), 1.0))


@named("coare36")
class Coare36(AbstractSimilarity):
    """COARE 3.6, the current version: iterates fluxes, roughness and the air at the height of the wind.

    Source: Edson et al. (2013), J. Phys. Oceanogr. 43, 1589-1610, in the form of AeroBulk.
    """

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        potential = air.temperature + KELVIN + LAPSE_RATE * self.air_height
        nu = viscosity(air.temperature + LAPSE_RATE * self.air_height)
        inputs = air, skin, potential, nu
        first = self._first_guess(*inputs)
        state = self._iterated(lambda scales: self._iterate(scales, *inputs), first, air)
        scales = state.friction, state.temperature, state.humidity
        return self._exchange(scales, (state.speed, state.air_kelvin, state.air_humidity), air, skin)

    def _first_guess(self, air: MoistAir, skin: WaterSkin, potential: Scalar, nu: Scalar) -> _Scales:
        """Scales from the bulk Richardson number; potential temperature [K], viscosity of air [m2 s-1]."""
        height, skin_kelvin = self.wind_height, skin.temperature + KELVIN
        speed = jnp.sqrt(air.wind_speed**2 + 0.25)  # with gusts of 0.5 m s-1
        friction = 0.035 * math.log(10.0 / 1e-4) / math.log(height / 1e-4) * speed
        charnock = _charnock(air.wind_speed)
        log_roughness = _log_roughness(charnock, friction, nu)
        profile = math.log(height) - log_roughness
        # Roughness length for heat from a neutral transfer coefficient of 1.15e-3.
        neutral = (math.log(10.0) - log_roughness) / KARMAN
        log_scalar = math.log(10.0) - KARMAN / 0.00115 * reciprocal(neutral)
        log_scalar = at_least(log_scalar, math.log(1e-8))
        virtual_skin = virtual(skin_kelvin, skin.specific_humidity)
        virtual_air = virtual(potential, air.specific_humidity)
        mean_virtual = 0.5 * (virtual_skin + virtual(potential - LAPSE_RATE * height, air.specific_humidity))
        richardson = GRAVITY * height * (virtual_air - virtual_skin) / (mean_virtual * speed**2)
        zeta_0 = profile**2 / (math.log(self.air_height) - log_scalar) * richardson
        # Fairall et al. (2003), eq. 21: the bulk Richardson number at which convection dominates shear.
        convective_richardson = -height / (_BOUNDARY_LAYER * 0.004 * 1.2**3)
        unstable = zeta_0 / (1.0 + at_most(richardson, 0.0) / convective_richardson)
        zeta = jnp.where(richardson < 0.0, unstable, zeta_0 + 3.0 * richardson**2)
        friction = at_least(KARMAN * speed / (profile - psi_momentum(zeta)), 1e-9)
        height_ratio = self.air_height / height
        psi_h, psi_air = psi_heat(jnp.stack([zeta, height_ratio * zeta]))
        transfer = KARMAN / (math.log(height) - log_scalar - psi_h)
        shift = math.log(height_ratio) + psi_h - psi_air
        warmer = potential - skin_kelvin
        moister = air.specific_humidity - skin.specific_humidity
        # Differences between air and water at the height of the wind, relative to those at that of the air.
        factor = 1.0 - transfer / KARMAN * shift
        return _Scales(
            friction=friction,
            temperature=transfer * warmer * factor,
            humidity=transfer * moister * factor,
            log_roughness=_log_roughness(charnock, friction, nu),
            air_kelvin=skin_kelvin + warmer * factor,
            air_humidity=skin.specific_humidity + moister * factor,
            speed=speed + 0.0 * factor,  # broadcast
        )

    def _iterate(
        self, scales: _Scales, air: MoistAir, skin: WaterSkin, potential: Scalar, nu: Scalar
    ) -> _Scales:
        friction = scales.friction
        inverse_length = inverse_obukhov_length(
            scales.air_kelvin, scales.air_humidity, friction, scales.temperature, scales.humidity
        )
        buoyant = -_BOUNDARY_LAYER / KARMAN * inverse_length
        gust = gust_squared(buoyant, _GUSTINESS**2 * friction * friction)
        speed = jnp.sqrt(at_least(air.wind_speed**2 + gust, _SLOWEST**2))
        zeta = bounded(self.wind_height * inverse_length, _LARGEST_ZETA)
        zeta_air = bounded(self.air_height * inverse_length, _LARGEST_ZETA)
        neutral_wind = friction / KARMAN * (math.log(10.0) - scales.log_roughness)
        log_roughness = _log_roughness(_charnock(neutral_wind), friction, nu)
        log_reynolds = log_roughness + jnp.log(friction) - jnp.log(nu)
        log_scalar = at_most(math.log(5.8e-5) - 0.72 * log_reynolds, math.log(1.6e-4))
        log_scalar = at_least(log_scalar, math.log(1e-9))
        psi_h, psi_air = psi_heat(jnp.stack([zeta, zeta_air]))
        transfer = KARMAN / (math.log(self.wind_height) - log_scalar - psi_h)
        temperature_scale = transfer * (scales.air_kelvin - skin.temperature - KELVIN)
        humidity_scale = transfer * (scales.air_humidity - skin.specific_humidity)
        profile = math.log(self.wind_height) - log_roughness - psi_momentum(zeta)
        shift = math.log(self.air_height / self.wind_height) + psi_h - psi_air
        return _Scales(
            friction=at_least(KARMAN * speed / profile, 1e-9),
            temperature=temperature_scale,
            humidity=humidity_scale,
            log_roughness=log_roughness,
            air_kelvin=potential - temperature_scale / KARMAN * shift,
            air_humidity=air.specific_humidity - humidity_scale / KARMAN * shift,
            speed=speed,
        )
