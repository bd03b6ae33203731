"""Dissolved inorganic carbon, alkalinity, pH and the exchange of carbon dioxide with the air.

    alkalinity   [HCO3-] + 2 [CO3--] + [B(OH)4-],   carbon   [CO2] + [HCO3-] + [CO3--]
    flux         k K_0 (pCO2_air - pCO2_water)

Hydrogen follows from alkalinity by Newton's method in its logarithm, which converges from any start because
alkalinity increases with pH; the last iteration carries the derivative.

Sources: Millero (1995) and Weiss (1974) for the constants, as in OCMIP (`pml/carbonate` of FABM);
Nightingale et al. (2000), Global Biogeochem. Cycles 14, 373-387, for the piston velocity; Wanninkhof (1992)
for Schmidt numbers.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..._types import CenterArray, Scalar, parameter
from ...declarations import named, setting
from .interface import DAY, AbstractBiogeochemicalModel, Contents, Environment, Exchanges, Pool, Pools, Values

_KELVIN = 273.15
_N_ITERATIONS = 12
"""Newton iterations: eight reach round-off for pH 6 to 10 from 8."""


class Equilibrium(NamedTuple):
    """The carbonate system [mol kg-1]; partial pressure [atm].

    Args:
        hydrogen, carbonic_acid, bicarbonate, carbonate: concentrations [mol kg-1].
        solubility: of carbon dioxide [mol kg-1 atm-1].
    """

    hydrogen: Values
    carbonic_acid: Values
    bicarbonate: Values
    carbonate: Values
    solubility: Values

    @property
    def pressure(self) -> Values:
        """Partial pressure of carbon dioxide [atm]."""
        return self.carbonic_acid / self.solubility

    @property
    def ph(self) -> Values:
        """pH on the scale of the constants, that of seawater."""
        return -jnp.log(self.hydrogen) / jnp.log(10.0)


class Constants(NamedTuple):
    """Constants of the equilibria at the surface."""

    solubility: Values  # K_0 [mol kg-1 atm-1]
    first: Values  # K_1 [mol kg-1]
    second: Values  # K_2 [mol kg-1]
    boric: Values  # K_B [mol kg-1]
    boron: Values  # total [mol kg-1]

    @classmethod
    def of(cls, temperature: Values, salinity: Values) -> "Constants":
        """Constants at a temperature [degC] and salinity [g kg-1]."""
        kelvin = temperature + _KELVIN
        logarithm, root = jnp.log(kelvin), jnp.sqrt(salinity)
        solubility = (
            -167.8108
            + 9345.17 / kelvin
            + 23.3585 * logarithm
            + (0.023517 - 2.3656e-4 * kelvin + 4.7036e-7 * kelvin**2) * salinity
        )
        first = 3670.7 / kelvin - 62.008 + 9.7944 * logarithm - 0.0118 * salinity + 0.000116 * salinity**2
        second = 1394.7 / kelvin + 4.777 - 0.0184 * salinity + 0.000118 * salinity**2
        boric = (
            -8966.90 - 2890.53 * root - 77.942 * salinity + 1.728 * salinity * root - 0.0996 * salinity**2
        ) / kelvin
        boric = boric + 148.0248 + 137.1942 * root + 1.62142 * salinity
        boric = boric - (24.4344 + 25.085 * root + 0.2474 * salinity) * logarithm + 0.053105 * root * kelvin
        ten = jnp.log(10.0)
        return cls(
            jnp.exp(solubility),
            jnp.exp(-ten * first),
            jnp.exp(-ten * second),
            jnp.exp(boric),
            0.0004128 * salinity / 35.0,
        )


def equilibrium(carbon: Values, alkalinity: Values, temperature: Values, salinity: Values) -> Equilibrium:
    """The carbonate system of water.

    Args:
        carbon: dissolved inorganic carbon [mol kg-1].
        alkalinity: [mol kg-1].
        temperature: [degC].
        salinity: [g kg-1].
    """
    constants = Constants.of(temperature, salinity)

    def improved(logarithm: Values) -> Values:
        hydrogen = jnp.exp(logarithm)
        bicarbonate, carbonate = _species(hydrogen, carbon, constants)
        borate = constants.boron * constants.boric / (constants.boric + hydrogen)
        excess = bicarbonate + 2.0 * carbonate + borate - alkalinity
        # d(alkalinity) / d(ln H), which is negative.
        fractions = bicarbonate / carbon, carbonate / carbon
        mean = fractions[0] + 2.0 * fractions[1]
        slope = -carbon * (fractions[0] + 4.0 * fractions[1] - mean**2)
        slope = slope - borate * hydrogen / (constants.boric + hydrogen)
        return logarithm - jnp.clip(excess / slope, -2.0, 2.0)

    logarithm = jnp.log(1e-8) + 0.0 * carbon
    for _ in range(_N_ITERATIONS):
        logarithm = improved(logarithm)
    hydrogen = jnp.exp(improved(lax.stop_gradient(logarithm)))
    bicarbonate, carbonate = _species(hydrogen, carbon, constants)
    acid = carbon - bicarbonate - carbonate
    return Equilibrium(hydrogen, acid, bicarbonate, carbonate, constants.solubility)


def _species(hydrogen: Values, carbon: Values, constants: Constants) -> tuple[Values, Values]:
    """Bicarbonate and carbonate [mol kg-1]."""
    first, both = constants.first * hydrogen, constants.first * constants.second
    total = hydrogen**2 + first + both
    return carbon * first / total, carbon * both / total


@named("carbonate")
class Carbonate(AbstractBiogeochemicalModel):
    """Dissolved inorganic carbon [mmol m-3], and alkalinity from the salinity or as a pool [mEq m-3].

    Args:
        alk_param: whether alkalinity follows from salinity.
        alk_offset: alkalinity of fresh water [mEq m-3].
        alk_slope: alkalinity per salinity [mEq m-3].
        pCO2a: mole fraction of carbon dioxide in the air [ppm].
    """

    alk_param: bool = setting(True)
    alk_offset: Scalar = parameter(520.1, unit="mEq m-3", valid_range=(-5000.0, 5000.0))
    alk_slope: Scalar = parameter(51.24, unit="mEq m-3", valid_range=(-500.0, 500.0))
    pCO2a: Scalar = parameter(367.0, unit="ppm", valid_range=(1.0, 1e4))

    def pools(self) -> tuple[Pool, ...]:
        carbon = Pool("dic", "mmol m-3", "dissolved inorganic carbon", 2185.0)
        alkalinity = Pool("alk", "mEq m-3", "alkalinity", 2333.0)
        return (carbon,) if self.alk_param else (carbon, alkalinity)

    def contents(self) -> Contents:
        return {"carbon": {"dic": 1.0}}

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        return {}

    def equilibrium(self, pools: Pools, environment: Environment) -> Equilibrium:
        """The carbonate system of the cells."""
        density, salinity = environment.density, environment.salinity
        if self.alk_param:
            alkalinity = 1e-6 * (self.alk_offset + self.alk_slope * salinity)
        else:
            alkalinity = 1e-3 * pools["alk"] / density
        return equilibrium(1e-3 * pools["dic"] / density, alkalinity, environment.temperature, salinity)

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        """Source: Nightingale et al. (2000); Schmidt number by Wanninkhof (1992)."""
        t, wind = environment.temperature, environment.wind()
        schmidt = 2073.1 - 125.62 * t + 3.6276 * t**2 - 0.043219 * t**3
        piston = (0.222 * wind**2 + 0.333 * wind) * jnp.sqrt(660.0 / schmidt) * 24.0 / 100.0 / DAY
        found = self.equilibrium(pools, environment)
        at_pressure = piston * found.solubility * environment.density * 1e-3
        return {
            (None, "dic"): at_pressure * self.pCO2a,
            ("dic", None): at_pressure * 1e6 * found.pressure,
        }

    def measurable(self) -> dict[str, tuple[str, str]]:
        pressure = "partial pressure of carbon dioxide in the water"
        return {"pH": ("1", "pH on the scale of seawater, at the surface"), "pCO2": ("uatm", pressure)}

    def diagnostics(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        found, per_volume = self.equilibrium(pools, environment), 1e3 * environment.density
        return {
            "pH": found.ph,
            "pCO2": 1e6 * found.pressure,
            "CarbA": per_volume * found.carbonic_acid,
            "Bicarb": per_volume * found.bicarbonate,
            "Carb": per_volume * found.carbonate,
        }
