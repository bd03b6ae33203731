"""Dissolved inorganic carbon, alkalinity, pH and the exchange of carbon dioxide with the air.

    alkalinity   [HCO3-] + 2 [CO3--] + [B(OH)4-] + [OH-] - [H+],   carbon   [CO2] + [HCO3-] + [CO3--]
    flux         k K_0 (x_air (P - e) - pCO2_water)

Alkalinity increases with pH, and the alkalinity of water alone brackets the root, so that every carbon and
alkalinity has one pH, from Newton's method in ln [H+], with bisection where that leaves the bracket
(Munhoven, 2013, Geosci. Model Dev. 6, 1367-1388); one more step carries the derivative.

Sources: Millero (2010), Mar. Freshw. Res. 61, 139-142, for K_1 and K_2; Millero (1995), Geochim. Cosmochim.
Acta 59, 661-677, for K_w; Dickson (1990) for K_B; Weiss (1974) for K_0; Nightingale et al. (2000), Global
Biogeochem. Cycles 14, 373-387, for the piston velocity; Wanninkhof (1992) for Schmidt numbers. `pml` has K_1
and K_2 of Dickson and Millero (1987) and no water in the alkalinity, as `pml/carbonate` of FABM.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._types import CenterArray, Scalar, parameter
from ...declarations import named, setting
from ...numerics.elementary import at_least, at_most, safe_sqrt
from .interface import DAY, AbstractBiogeochemicalModel, Contents, Environment, Exchanges, Pool, Pools, Values

_KELVIN = 273.15
_LN_10 = float(np.log(10.0))
_LOWEST_PH, _HIGHEST_PH = 1.0, 14.0  # of `pml`
_MOST_ITERATIONS = 60
"""Sea water needs 5 iterations, the worst of 400 000 random waters 22."""


class Equilibrium(NamedTuple):
    """The carbonate system in equilibrium.

    Args:
        hydrogen, carbonic_acid, bicarbonate, carbonate: concentrations [mol kg-1].
        solubility: solubility of carbon dioxide [mol kg-1 atm-1].
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
        """pH on the scale of seawater, which is that of free hydrogen in fresh water."""
        return -jnp.log(self.hydrogen) / _LN_10


class Constants(NamedTuple):
    """Constants of the equilibria at surface pressure, on the seawater scale.

    K_B is on the total scale, which differs by about 0.01 in pK.
    """

    solubility: Values  # K_0 [mol kg-1 atm-1]
    first: Values  # K_1 [mol kg-1]
    second: Values  # K_2 [mol kg-1]
    boric: Values  # K_B [mol kg-1]
    boron: Values  # total [mol kg-1]
    water: Values | None  # K_w [mol2 kg-2]; `None`: alkalinity is that of carbonate and borate

    @classmethod
    def of(cls, temperature: Values, salinity: Values, equilibria: str = "millero_2010") -> "Constants":
        """Constants at a temperature [degC] and salinity [g kg-1].

        Args:
            equilibria: `millero_2010` is valid in fresh water and in sea water from a salinity of 1. Between
                them the effect of the salt grows smoothly: salts of rivers are not those of diluted sea
                water, and a root of the salinity would have no derivative in fresh water. `pml`: FABM's
                constants.
        """
        kelvin = temperature + _KELVIN
        logarithm, salt = jnp.log(kelvin), at_least(salinity, 0.0)
        root = safe_sqrt(salt)
        solubility = (
            -167.8108
            + 9345.17 / kelvin
            + 23.3585 * logarithm
            + (0.023517 - 2.3656e-4 * kelvin + 4.7036e-7 * kelvin**2) * salt
        )
        salt_of_b = (-2890.53 * root - 77.942 * salt + 1.728 * salt * root - 0.0996 * salt**2) / kelvin
        salt_of_b = salt_of_b + 137.1942 * root + 1.62142 * salt
        salt_of_b = salt_of_b - (25.085 * root + 0.2474 * salt) * logarithm + 0.053105 * root * kelvin
        water = None
        if equilibria == "pml":
            pk_1 = 3670.7 / kelvin - 62.008 + 9.7944 * logarithm - 0.0118 * salt + 0.000116 * salt**2
            pk_2 = 1394.7 / kelvin + 4.777 - 0.0184 * salt + 0.000118 * salt**2
        else:
            part = at_most(salt, 1.0)
            saline = part**2 * (3.0 - 2.0 * part)
            salt_of_b = saline * salt_of_b
            salt_of_1 = 13.4038 * root + 0.03206 * salt - 5.242e-5 * salt**2
            salt_of_1 = salt_of_1 - (530.659 * root + 5.8210 * salt) / kelvin - 2.0664 * root * logarithm
            pk_1 = -126.34048 + 6320.813 / kelvin + 19.568224 * logarithm + saline * salt_of_1
            salt_of_2 = 21.3728 * root + 0.1218 * salt - 3.688e-4 * salt**2
            salt_of_2 = salt_of_2 - (788.289 * root + 19.189 * salt) / kelvin - 3.374 * root * logarithm
            pk_2 = -90.18333 + 5143.692 / kelvin + 14.613358 * logarithm + saline * salt_of_2
            ions = (-5.977 + 118.67 / kelvin + 1.0495 * logarithm) * root - 0.01615 * salt
            water = jnp.exp(148.9802 - 13847.26 / kelvin - 23.6521 * logarithm + saline * ions)
        return cls(
            jnp.exp(solubility),
            jnp.exp(-_LN_10 * pk_1),
            jnp.exp(-_LN_10 * pk_2),
            jnp.exp(148.0248 - 8966.90 / kelvin - 24.4344 * logarithm + salt_of_b),
            0.0004128 * salt / 35.0,
            water,
        )


def equilibrium(
    carbon: Values,
    alkalinity: Values,
    temperature: Values,
    salinity: Values,
    equilibria: str = "millero_2010",
) -> Equilibrium:
    """Compute the carbonate system of water.

    Args:
        carbon: dissolved inorganic carbon [mol kg-1], at least 0.
        alkalinity: alkalinity [mol kg-1]; negative in acid water.
        temperature: temperature from -2 to 50 degC.
        salinity: salinity from 0 to 50 g kg-1.
        equilibria: see `Constants.of`. With `pml` an alkalinity must lie above 0 and below twice the carbon
            plus the total boron; otherwise pH is 1 or 14.
    """
    constants = Constants.of(temperature, salinity, equilibria)
    system = carbon, alkalinity, constants
    logarithm = _logarithm_of_hydrogen(*jax.tree.map(lax.stop_gradient, system))
    excess, slope = _excess(logarithm, *system)
    logarithm = logarithm - excess / slope
    if constants.water is None:  # without a root the step leaves the bracket
        logarithm = at_most(at_least(logarithm, -_LN_10 * _HIGHEST_PH), -_LN_10 * _LOWEST_PH)
    hydrogen = jnp.exp(logarithm)
    bicarbonate, carbonate = (carbon * share for share in _shares(hydrogen, constants))
    acid = carbon * hydrogen**2 / _total(hydrogen, constants)
    return Equilibrium(hydrogen, acid, bicarbonate, carbonate, constants.solubility)


def _logarithm_of_hydrogen(carbon: Values, alkalinity: Values, constants: Constants) -> Values:
    """Solve for ln [H+], to round-off."""
    if constants.water is None:
        highest, lowest = (
            jnp.full_like(carbon + alkalinity, -_LN_10 * ph) for ph in (_LOWEST_PH, _HIGHEST_PH)
        )
    else:
        lowest = jnp.log(_hydrogen_of_water(alkalinity, constants.water))
        most = 2.0 * carbon + constants.boron
        highest = jnp.log(_hydrogen_of_water(alkalinity - most, constants.water))

    def step(carry):
        number, x, low, high, _ = carry
        excess, slope = _excess(x, carbon, alkalinity, constants)
        low, high = jnp.where(excess > 0.0, x, low), jnp.where(excess > 0.0, high, x)
        new = x - excess / slope
        new = jnp.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        return number + 1, new, low, high, jnp.abs(new - x)

    def unfinished(carry):
        number, x, _, _, change = carry
        return (number < _MOST_ITERATIONS) & jnp.any(change > 8.0 * jnp.finfo(x.dtype).eps * jnp.abs(x))

    x = jnp.clip(jnp.full_like(lowest + highest, -8.0 * _LN_10), lowest, highest)
    return lax.while_loop(unfinished, step, (0, x, lowest + 0.0 * x, highest + 0.0 * x, jnp.ones_like(x)))[1]


def _hydrogen_of_water(alkalinity: Values, water: Values) -> Values:
    """[H+] of water of an alkalinity [OH-] - [H+], without loss of digits on either side."""
    larger = 0.5 * (jnp.abs(alkalinity) + jnp.sqrt(alkalinity**2 + 4.0 * water))
    return jnp.where(alkalinity > 0.0, water / larger, larger)


def _excess(
    logarithm: Values, carbon: Values, alkalinity: Values, constants: Constants
) -> tuple[Values, Values]:
    """Alkalinity at ln [H+] minus that of the water [mol kg-1], and its derivative, which is negative."""
    hydrogen = jnp.exp(logarithm)
    bicarbonate, carbonate = _shares(hydrogen, constants)
    charge = bicarbonate + 2.0 * carbonate
    borate = constants.boron * constants.boric / (constants.boric + hydrogen)
    excess = carbon * charge + borate - alkalinity
    slope = -carbon * (bicarbonate + 4.0 * carbonate - charge**2)
    slope = slope - borate * hydrogen / (constants.boric + hydrogen)
    if constants.water is not None:
        hydroxide = constants.water / hydrogen
        excess, slope = excess + hydroxide - hydrogen, slope - hydroxide - hydrogen
    return excess, slope


def _total(hydrogen: Values, constants: Constants) -> Values:
    return hydrogen**2 + constants.first * (hydrogen + constants.second)


def _shares(hydrogen: Values, constants: Constants) -> tuple[Values, Values]:
    """Bicarbonate and carbonate per carbon [1]."""
    total = _total(hydrogen, constants)
    return constants.first * hydrogen / total, constants.first * constants.second / total


@named("carbonate")
class Carbonate(AbstractBiogeochemicalModel):
    """Dissolved inorganic carbon [mmol m-3], and alkalinity from the salinity or as a pool [mEq m-3].

    Args:
        alk_param: whether alkalinity follows from salinity, instead of being a pool.
        alk_offset: alkalinity of fresh water [umol kg-1].
        alk_slope: alkalinity per g kg-1 of salinity [umol kg-1].
        pCO2a: mole fraction of carbon dioxide in the dry air [ppm].
        equilibria: constants of Millero (2010) for any salinity, or `pml` as in FABM, without hydroxide.
    """

    alk_param: bool = setting(True)
    # FABM labels both mEq m-3, but its code, too, uses the sum as umol kg-1, without the density.
    alk_offset: Scalar = parameter(520.1, unit="umol kg-1", valid_range=(-5000.0, 5000.0))
    alk_slope: Scalar = parameter(51.24, unit="umol kg-1", valid_range=(-500.0, 500.0))
    pCO2a: Scalar = parameter(367.0, unit="ppm", valid_range=(1.0, 1e4))
    equilibria: str = setting("millero_2010", choices=("millero_2010", "pml"))

    def pools(self) -> tuple[Pool, ...]:
        carbon = Pool("dic", "mmol m-3", "dissolved inorganic carbon", 2185.0)
        alkalinity = Pool("alk", "mEq m-3", "alkalinity", 2333.0)
        return (carbon,) if self.alk_param else (carbon, alkalinity)

    def contents(self) -> Contents:
        return {"carbon": {"dic": 1.0}}

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        return {}

    def _concentrations(self, pools: Pools, environment: Environment) -> tuple[Values, Values]:
        """Carbon and alkalinity [mol kg-1]."""
        if self.alk_param:
            alkalinity = 1e-6 * (self.alk_offset + self.alk_slope * environment.salinity)
        else:
            alkalinity = 1e-3 * pools["alk"] / environment.density
        return 1e-3 * pools["dic"] / environment.density, alkalinity

    def equilibrium(self, pools: Pools, environment: Environment) -> Equilibrium:
        """The carbonate system of the cells."""
        water = environment.temperature, environment.salinity
        return equilibrium(*self._concentrations(pools, environment), *water, self.equilibria)

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        """Source: Nightingale et al. (2000); Schmidt number by Wanninkhof (1992)."""
        t, wind = environment.temperature, environment.wind()
        schmidt = 2073.1 - 125.62 * t + 3.6276 * t**2 - 0.043219 * t**3
        piston = (0.222 * wind**2 + 0.333 * wind) * jnp.sqrt(660.0 / schmidt) * 24.0 / 100.0 / DAY
        equilibrium = self.equilibrium(pools, environment)
        # [mmol m-2 s-1 uatm-1]: 1e3 mmol per mol, and 1e-6 atm per uatm
        transfer_per_uatm = piston * equilibrium.solubility * environment.density * 1e-3
        return {
            (None, "dic"): transfer_per_uatm * self.pCO2a * environment.dry_air(),
            ("dic", None): transfer_per_uatm * 1e6 * equilibrium.pressure,
        }

    def measurable(self) -> dict[str, tuple[str, str]]:
        pressure = "partial pressure of carbon dioxide in the water"
        return {"pH": ("1", "pH on the seawater scale, at surface pressure"), "pCO2": ("uatm", pressure)}

    def diagnostics(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        equilibrium = self.equilibrium(pools, environment)
        return {"pH": equilibrium.ph, "pCO2": 1e6 * equilibrium.pressure}
