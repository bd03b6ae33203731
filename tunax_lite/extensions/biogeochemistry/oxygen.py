"""Dissolved oxygen with air-sea exchange, for models that produce and consume it.

    flux = 0.251 cm h-1 / (m s-1)² U² (Sc / 660)^-1/2 (saturation (P - e) / (1 atm - e) - O2)

Sources: Wanninkhof (2014), Limnol. Oceanogr. Methods 12, 351-362; Garcia and Gordon (1992), Limnol. Oceanogr.
37, 1307-1312, with the coefficients from the data of Benson and Krause.
"""

import jax.numpy as jnp

from ..._types import Scalar, parameter
from ...declarations import named
from ...numerics.elementary import horner
from .interface import AbstractBiogeochemicalModel, Contents, Environment, Exchanges, Pool, Pools, Values

_TEMPERATURE = (5.80871, 3.20291, 4.17887, 5.10006, -9.86643e-2, 3.80369)
_SALINITY = (-7.01577e-3, -7.70028e-3, -1.13864e-2, -9.51519e-3)
_SALINITY_SQUARED = -2.75915e-7
_SCHMIDT = (1920.4, -135.6, 5.2122, -0.10939, 0.00093777)
_CM_PER_HOUR = 0.01 / 3600.0


def oxygen_saturation(temperature: Values, salinity: Values) -> Values:
    """Oxygen at saturation with moist air of one atmosphere [umol kg-1].

    Args:
        temperature: temperature [degC].
        salinity: practical salinity, or absolute salinity [g kg-1], which differs by 0.5 %.
    """
    scaled = jnp.log((298.15 - temperature) / (273.15 + temperature))
    fresh = horner(_TEMPERATURE, scaled)
    return jnp.exp(fresh + salinity * horner(_SALINITY, scaled) + _SALINITY_SQUARED * salinity**2)


def schmidt_number(temperature: Values) -> Values:
    """Schmidt number of oxygen in sea water [1], -2 to 40 degC."""
    return horner(_SCHMIDT, temperature)


@named("oxygen")
class Oxygen(AbstractBiogeochemicalModel):
    """Dissolved oxygen [mmol m-3].

    Args:
        transfer: piston velocity at a wind of 1 m s-1 and a Schmidt number of 660 [cm h-1].
    """

    transfer: Scalar = parameter(0.251, unit="cm h-1", valid_range=(0.0, 5.0))

    def pools(self) -> tuple[Pool, ...]:
        return (Pool("oxy", "mmol m-3", "dissolved oxygen", 250.0),)

    def contents(self) -> Contents:
        return {"oxygen": {"oxy": 1.0}}

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        return {}

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        t = environment.temperature
        piston = self.transfer * _CM_PER_HOUR * environment.wind() ** 2 * jnp.sqrt(660.0 / schmidt_number(t))
        saturated = _saturated(environment)
        return {(None, "oxy"): piston * saturated, ("oxy", None): piston * pools["oxy"]}


def _saturated(environment: Environment) -> Values:
    """Oxygen at saturation under the pressure of the air [mmol m-3]."""
    standard = oxygen_saturation(environment.temperature, environment.salinity)
    return 1e-3 * environment.density * standard * environment.relative_saturation()
