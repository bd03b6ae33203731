"""Three groups of phytoplankton, zooplankton, detritus, nutrients, oxygen and fluff: ERGOM as in GOTM.

Growth follows the scarcest of light, nitrogen and phosphorus; cyanobacteria fix nitrogen. Detritus decays
by oxygen, then by nitrate (denitrification), then by sulfate (negative oxygen). On the bottom it settles as
fluff, which decays, and which a stress above a critical one resuspends.

Source: Neumann, Fennel and Kremp (2002), Global Biogeochem. Cycles 16(3), 7; `gotm/ergom` of FABM.
"""

import jax.numpy as jnp

from ..._types import CenterArray, Scalar, ScalarLike, parameter
from ...declarations import named, setting
from ...numerics.elementary import at_least
from .interface import (
    DAY,
    AbstractBiogeochemicalModel,
    Contents,
    Environment,
    Exchanges,
    Pool,
    Pools,
    Values,
    Velocities,
)

_OXYGEN_WIDTH = 30.0  # width of the transition between oxic and anoxic water [mmol m-3]
_NITRATE_WIDTH = 0.1  # nitrate at half of the denitrification [mmol m-3]
_LEAST_DECAY = 0.2  # decay of fluff in anoxic water, relative to oxic water [1]


@named("ergom")
class Ergom(AbstractBiogeochemicalModel):
    """Nitrogen, phosphorus and oxygen [mmol m-3].

    Args:
        sfl_po: phosphate that enters through the surface [mmol m-2 d-1].
        sfl_ni: nitrate that enters through the surface [mmol m-2 d-1].
        sfl_am: ammonium that enters through the surface [mmol m-2 d-1].
        fluff: whether there is fluff on the bottom.
        p10, p20, p30: background concentration of diatoms, flagellates, cyanobacteria [mmol m-3].
        zo0: background concentration of zooplankton [mmol m-3].
        kc: attenuation of light by phytoplankton and detritus [m2 mmol-1].
        i_min: least optimal light [W m-2].
        r1max, r2max, r3max: largest growth of diatoms, flagellates (doubled in warm water), cyanobacteria
            [d-1].
        alpha1, alpha2, alpha3: nitrogen at half saturation of diatoms, flagellates, cyanobacteria [mmol m-3].
        lpa: exudation by phytoplankton [d-1].
        lpd: mortality of phytoplankton [d-1].
        tf: temperature at half saturation of flagellates [degC].
        tbg: reference temperature of cyanobacteria [degC].
        beta_bg: sensitivity of cyanobacteria to temperature [degC-1].
        g1max, g2max, g3max: largest grazing on diatoms, flagellates, cyanobacteria, at 0 degC [d-1].
        lza: quadratic loss of zooplankton to ammonium [m3 mmol-1 d-1].
        lzd: quadratic loss of zooplankton to detritus [m3 mmol-1 d-1].
        iv: Ivlev's constant of grazing [m3 mmol-1].
        topt: best temperature of grazing [degC].
        lan: nitrification at 0 degC with ample oxygen [d-1].
        oan: oxygen at half saturation of nitrification [mmol m-3].
        beta_an: sensitivity of nitrification to temperature [degC-1].
        lda: remineralisation at 0 degC [d-1].
        tda: temperature at half saturation of remineralisation [degC].
        beta_da: sensitivity of remineralisation to temperature [1].
        sr: phosphorus per nitrogen [mol mol-1].
        s1: nitrate reduced per detritus oxidised [mol mol-1].
        s2: oxygen per nitrogen of growth on ammonium and remineralisation [mol mol-1].
        s3: oxygen per nitrogen of growth on nitrate [mol mol-1].
        s4: oxygen per nitrogen of nitrification [mol mol-1].
        lds: settling of detritus into the fluff [m d-1].
        lsd: resuspension of fluff [d-1].
        tau_crit: critical stress on the bottom [N m-2].
        lsa: decay of fluff at 0 degC in oxic water [d-1].
        bsa: sensitivity of the decay of fluff to temperature [degC-1].
        ph1: inhibition of the release of phosphate by oxygen [1].
        ph2: oxygen at half of `ph1` [mmol m-3].
        w_p1, w_p2, w_p3, w_de: velocity of diatoms, flagellates, cyanobacteria, detritus, upward [m d-1].
    """

    sfl_po: Scalar = parameter(0.0015, unit="mmol m-2 d-1", valid_range=(0.0, 100.0))
    sfl_ni: Scalar = parameter(0.09, unit="mmol m-2 d-1", valid_range=(0.0, 100.0))
    sfl_am: Scalar = parameter(0.07, unit="mmol m-2 d-1", valid_range=(0.0, 100.0))
    fluff: bool = setting(False)
    p10: Scalar = parameter(0.0225, unit="mmol m-3", valid_range=(0.0, 10.0))
    p20: Scalar = parameter(0.0225, unit="mmol m-3", valid_range=(0.0, 10.0))
    p30: Scalar = parameter(0.0225, unit="mmol m-3", valid_range=(0.0, 10.0))
    zo0: Scalar = parameter(0.0225, unit="mmol m-3", valid_range=(0.0, 10.0))
    kc: Scalar = parameter(0.03, unit="m2 mmol-1", valid_range=(0.0, 1.0))
    i_min: Scalar = parameter(25.0, unit="W m-2", valid_range=(1e-3, 500.0))
    r1max: Scalar = parameter(2.0, unit="d-1", valid_range=(0.0, 20.0))
    r2max: Scalar = parameter(0.7, unit="d-1", valid_range=(0.0, 20.0))
    r3max: Scalar = parameter(0.5, unit="d-1", valid_range=(0.0, 20.0))
    alpha1: Scalar = parameter(1.35, unit="mmol m-3", valid_range=(1e-6, 50.0))
    alpha2: Scalar = parameter(0.675, unit="mmol m-3", valid_range=(1e-6, 50.0))
    alpha3: Scalar = parameter(0.5, unit="mmol m-3", valid_range=(1e-6, 50.0))
    lpa: Scalar = parameter(0.01, unit="d-1", valid_range=(0.0, 5.0))
    lpd: Scalar = parameter(0.02, unit="d-1", valid_range=(0.0, 5.0))
    tf: Scalar = parameter(10.0, unit="degC", valid_range=(0.1, 40.0))
    tbg: Scalar = parameter(14.0, unit="degC", valid_range=(-5.0, 40.0))
    beta_bg: Scalar = parameter(1.0, unit="degC-1", valid_range=(0.0, 10.0))
    g1max: Scalar = parameter(0.5, unit="d-1", valid_range=(0.0, 20.0))
    g2max: Scalar = parameter(0.5, unit="d-1", valid_range=(0.0, 20.0))
    g3max: Scalar = parameter(0.25, unit="d-1", valid_range=(0.0, 20.0))
    lza: Scalar = parameter(0.0666666666, unit="m3 mmol-1 d-1", valid_range=(0.0, 10.0))
    lzd: Scalar = parameter(0.1333333333, unit="m3 mmol-1 d-1", valid_range=(0.0, 10.0))
    iv: Scalar = parameter(0.24444444, unit="m3 mmol-1", valid_range=(0.0, 50.0))
    topt: Scalar = parameter(20.0, unit="degC", valid_range=(1.0, 40.0))
    lan: Scalar = parameter(0.1, unit="d-1", valid_range=(0.0, 5.0))
    oan: Scalar = parameter(0.01, unit="mmol m-3", valid_range=(1e-9, 500.0))
    beta_an: Scalar = parameter(0.11, unit="degC-1", valid_range=(0.0, 1.0))
    lda: Scalar = parameter(0.003, unit="d-1", valid_range=(0.0, 5.0))
    tda: Scalar = parameter(13.0, unit="degC", valid_range=(0.1, 40.0))
    beta_da: Scalar = parameter(20.0, valid_range=(0.0, 100.0))
    sr: Scalar = parameter(0.0625, unit="mol mol-1", valid_range=(0.0, 1.0))
    s1: Scalar = parameter(5.3, unit="mol mol-1", valid_range=(0.0, 50.0))
    s2: Scalar = parameter(6.625, unit="mol mol-1", valid_range=(0.0, 50.0))
    s3: Scalar = parameter(8.625, unit="mol mol-1", valid_range=(0.0, 50.0))
    s4: Scalar = parameter(2.0, unit="mol mol-1", valid_range=(0.0, 50.0))
    lds: Scalar = parameter(3.5, unit="m d-1", valid_range=(0.0, 500.0))
    lsd: Scalar = parameter(25.0, unit="d-1", valid_range=(0.0, 1000.0))
    tau_crit: Scalar = parameter(0.07, unit="N m-2", valid_range=(1e-6, 10.0))
    lsa: Scalar = parameter(0.001, unit="d-1", valid_range=(0.0, 5.0))
    bsa: Scalar = parameter(0.15, unit="degC-1", valid_range=(0.0, 1.0))
    ph1: Scalar = parameter(0.15, valid_range=(0.0, 1.0))
    ph2: Scalar = parameter(0.1, unit="mmol m-3", valid_range=(1e-9, 500.0))
    w_p1: Scalar = parameter(-1.0, unit="m d-1", valid_range=(-500.0, 500.0))
    w_p2: Scalar = parameter(-5.0, unit="m d-1", valid_range=(-500.0, 500.0))
    w_p3: Scalar = parameter(-5.0, unit="m d-1", valid_range=(-500.0, 500.0))
    w_de: Scalar = parameter(-3.0, unit="m d-1", valid_range=(-500.0, 500.0))

    def pools(self) -> tuple[Pool, ...]:
        unit = "mmol m-3"
        water = (
            Pool("dia", unit, "diatoms", 4.5),
            Pool("fla", unit, "flagellates", 4.5),
            Pool("cya", unit, "cyanobacteria", 4.5),
            Pool("zoo", unit, "zooplankton", 4.5),
            Pool("det", unit, "detritus", 4.5),
            Pool("amm", unit, "ammonium", 4.5),
            Pool("nit", unit, "nitrate", 4.5),
            Pool("pho", unit, "phosphate", 4.5),
            Pool("oxy", unit, "oxygen", 4.5, positive=False),
        )
        fluff = (Pool("flf", "mmol m-2", "fluff", 0.0, on_bottom=True),) if self.fluff else ()
        return water + fluff

    def contents(self) -> Contents:
        without = ("pho", "oxy")
        return {"nitrogen": {pool.name: 1.0 for pool in self.pools() if pool.name not in without}}

    def velocities(self, pools: Pools, environment: Environment) -> Velocities:
        speeds = {"dia": self.w_p1, "fla": self.w_p2, "cya": self.w_p3, "det": self.w_de}
        return {name: speed / DAY for name, speed in speeds.items()}

    def attenuation(self, pools: Pools) -> CenterArray:
        matter = pools["dia"] + pools["fla"] + pools["cya"] + pools["det"]
        return self.kc * (self.p10 + self.p20 + self.p30 + matter)

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        zoo, det, amm, nit = (pools[name] for name in ("zoo", "det", "amm", "nit"))
        growth, temperature = self.growth(pools, environment), environment.temperature
        nitrogen = at_least(amm + nit, 1e-30)
        on_ammonium, on_nitrate = amm / nitrogen, nit / nitrogen
        oxic, denitrifying, sulfidic = _pathways(pools["oxy"], nit)
        decay = self.lda / DAY * (1.0 + self.beta_da * _half_saturated(self.tda, temperature)) * det
        nitrified = self._nitrification(pools["oxy"], temperature) * amm
        exuded = {name: self.lpa / DAY * pools[name] for name in growth}
        loss = zoo * (zoo + self.zo0) / DAY
        released = decay + exuded["dia"] + exuded["fla"] + exuded["cya"] + self.lza * loss
        respired = released - decay + (oxic + sulfidic) * decay
        grown = growth["dia"] + growth["fla"]
        exchanges: Exchanges = {
            ("zoo", "amm"): self.lza * loss,
            ("zoo", "det"): self.lzd * loss,
            ("det", "amm"): decay,
            ("amm", "nit"): nitrified,
            ("nit", None): self.s1 * denitrifying * decay,
            ("pho", None): self.sr * (grown + growth["cya"]),
            (None, "pho"): self.sr * released,
            (None, "oxy"): self.s2 * (on_ammonium * grown + growth["cya"]) + self.s3 * on_nitrate * grown,
            ("oxy", None): self.s4 * nitrified + self.s2 * respired,
            (None, "cya"): growth["cya"],
        }
        for name, eaten in self._grazing(pools, temperature).items():
            exchanges[name, "zoo"] = eaten
            exchanges[name, "det"] = self.lpd / DAY * pools[name]
            exchanges[name, "amm"] = exuded[name]
        for name in ("dia", "fla"):
            exchanges["amm", name] = on_ammonium * growth[name]
            exchanges["nit", name] = on_nitrate * growth[name]
        return exchanges

    def growth(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        """Growth of the three groups [mmol m-3 s-1]."""
        temperature, phosphate = environment.temperature, pools["pho"]
        lit = environment.adapted_growth(self.i_min)
        nitrogen = pools["amm"] + pools["nit"]

        def scarcest(alpha: Scalar) -> CenterArray:
            return jnp.minimum(_half_saturated(self.sr * alpha, phosphate), lit)

        diatoms = jnp.minimum(_half_saturated(self.alpha1, nitrogen), scarcest(self.alpha1))
        flagellates = jnp.minimum(_half_saturated(self.alpha2, nitrogen), scarcest(self.alpha2))
        warm = 1.0 + _half_saturated(self.tf, temperature)
        warmer = 1.0 / (1.0 + jnp.exp(self.beta_bg * (self.tbg - temperature)))
        return {
            "dia": self.r1max / DAY * diatoms * (pools["dia"] + self.p10),
            "fla": self.r2max / DAY * warm * flagellates * (pools["fla"] + self.p20),
            "cya": self.r3max / DAY * warmer * scarcest(self.alpha3) * (pools["cya"] + self.p30),
        }

    def _grazing(self, pools: Pools, temperature: CenterArray) -> dict[str, CenterArray]:
        food = pools["dia"] + pools["fla"] + pools["cya"] + (self.p10 + self.p20 + self.p30)
        warm = 1.0 + (temperature / self.topt) ** 2 * jnp.exp(1.0 - 2.0 * temperature / self.topt)
        rate = warm * (1.0 - jnp.exp(-((self.iv * food) ** 2))) * (pools["zoo"] + self.zo0) / DAY
        rate = rate / at_least(food, 1e-30)
        largest = {"dia": self.g1max, "fla": self.g2max, "cya": self.g3max}
        return {name: highest * rate * pools[name] for name, highest in largest.items()}

    def _nitrification(self, oxygen: CenterArray, temperature: CenterArray) -> CenterArray:
        """Rate of nitrification [s-1]; none without oxygen."""
        present = at_least(oxygen, 0.0)
        return present / (self.oan + present) * self.lan / DAY * jnp.exp(self.beta_an * temperature)

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        temperature, salinity = environment.temperature, environment.salinity
        piston = _piston_velocity(temperature, environment.wind()) / DAY
        saturated = _oxygen_saturation(temperature, salinity) * environment.relative_saturation()
        return {
            (None, "oxy"): piston * saturated,
            ("oxy", None): piston * pools["oxy"],
            (None, "nit"): self.sfl_ni / DAY + 0.0 * piston,
            (None, "amm"): self.sfl_am / DAY + 0.0 * piston,
            (None, "pho"): self.sfl_po / DAY + 0.0 * piston,
        }

    def through_bottom(self, pools: Pools, environment: Environment) -> Exchanges:
        if not self.fluff:
            return {}
        fluff, oxygen, stress = pools["flf"], pools["oxy"], environment.bottom_stress
        oxic, denitrifying, sulfidic = _pathways(oxygen, pools["nit"])
        aerated = _step(oxygen)
        decay = self.lsa / DAY * jnp.exp(self.bsa * environment.temperature) * fluff
        decay = decay * (_LEAST_DECAY + (1.0 - _LEAST_DECAY) * aerated)
        calm = at_least(self.tau_crit - stress, 0.0) / self.tau_crit
        rough = at_least(stress - self.tau_crit, 0.0) / self.tau_crit
        kept = self.ph1 * aerated * _half_saturated(self.ph2, oxygen)
        return {
            ("det", "flf"): self.lds / DAY * calm * pools["det"],
            ("flf", "det"): self.lsd / DAY * rough * fluff,
            ("flf", "amm"): decay,
            ("flf", None): aerated * decay,
            ("nit", None): self.s1 * denitrifying * decay,
            (None, "pho"): self.sr * (1.0 - kept) * decay,
            ("oxy", None): (self.s4 + self.s2 * (oxic + sulfidic)) * decay,
        }


def _half_saturated(half: ScalarLike, x: Values) -> Values:
    """x² / (half² + x²)."""
    return x**2 / (half**2 + x**2)


def _step(oxygen: Values) -> Values:
    """1 in oxic water, 0 in anoxic water."""
    return 0.5 * (1.0 + jnp.tanh(oxygen / _OXYGEN_WIDTH))


def _pathways(oxygen: Values, nitrate: Values) -> tuple[Values, Values, Values]:
    """Fractions of the decay by oxygen, by nitrate, and by sulfate."""
    present = _half_saturated(_NITRATE_WIDTH, nitrate)
    parts = _step(oxygen) * present, _step(-oxygen) * present, _step(-oxygen) * (1.0 - present)
    total = parts[0] + parts[1] + parts[2]
    # Without nitrate in oxic water all three are zero.
    total = jnp.where(total > 0.0, total, 1.0)
    return parts[0] / total, parts[1] / total, parts[2] / total


def _piston_velocity(temperature: Values, wind_speed: Values) -> Values:
    """Velocity of gas exchange [m d-1]: Liss and Merlivat (1986), at least 0.05 m d-1."""
    schmidt = 1450.0 + (1.1 * temperature - 71.0) * temperature
    root = jnp.sqrt(schmidt)
    calm = 1.003 * wind_speed / schmidt**0.66
    windy = 5.9 * (2.85 * wind_speed - 9.65) / root
    stormy = 5.9 * (5.9 * wind_speed - 49.3) / root
    speed = jnp.where(wind_speed > 13.0, stormy, jnp.where(wind_speed < 3.6, calm, windy))
    return at_least(speed, 0.05)


def _oxygen_saturation(temperature: Values, salinity: Values) -> Values:
    """Oxygen at saturation [mmol m-3]: Weiss (1970), Deep-Sea Res. 17, 721-735."""
    hundreds = (temperature + 273.16) * 0.01
    of_salt = salinity * (-0.033096 + (0.014259 - 0.001700 * hundreds) * hundreds)
    fresh = -173.4292 + 249.6339 / hundreds + 143.3483 * jnp.log(hundreds) - 21.8492 * hundreds
    return 44.661 * jnp.exp(fresh + of_salt)
