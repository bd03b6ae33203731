"""The Biogeochemical Flux Model with 17 pools: phytoplankton, zooplankton, dissolved and particulate matter.

Plankton, detritus and dissolved matter have variable ratios of carbon, nitrogen and phosphorus; chlorophyll
adapts to light. In the rates, f is the response to temperature and n the scarcest nutrient within the cell:

    photosynthesis   r_p f (1 - exp(-alpha l I / r_p)) P,   l = chlorophyll per carbon
    lysis            h / (n + h) d P,   in part as detritus
    exudation        (b + (1 - b)(1 - n)) of photosynthesis
    grazing          r_z f F / (F + h_z) Z,   F = delta P² / (P + h_f)
    nutrients        demand of growth and deficit of the cell, at most the affinity times the nutrient

Bacteria are not explicit: detritus and dissolved matter turn into nutrients at constant rates.

Source: Smith et al. (2021), Geosci. Model Dev. 14, 2419-2441; constants of its program, BFM17-Opt.
"""

import jax.numpy as jnp

from ..._types import CenterArray, Scalar, ScalarLike, parameter
from ...declarations import named, setting
from ...numerics.elementary import at_least, quotient, reciprocal
from .interface import DAY, AbstractBiogeochemicalModel, Environment, Exchanges, Pool, Pools, Values, once

_CARBON = 12.0  # [mg mmol-1]
_WATTS = 0.217  # of photosynthetically active radiation per light [W m-2 per umol m-2 s-1]
_TINY = 1e-30
_PHYTOPLANKTON = ("p2c", "p2n", "p2p", "p2l")
_DETRITUS = ("r6c", "r6n", "r6p")


@named("bfm17")
class BFM17(AbstractBiogeochemicalModel):
    """Carbon [mg m-3], nitrogen, phosphorus, oxygen [mmol m-3], and chlorophyll [mg m-3].

    Inorganic carbon is no pool; a coupled `dic` [mmol m-3] exchanges with the organic carbon.

    Args:
        own_light: whether light follows from `p_par` and `p_eps0`, as in the source, instead of the visible
            light of the case.
        p_par: photosynthetically active fraction of the shortwave radiation, with `own_light` [1].
        p_eps0: attenuation of light by water, with `own_light` [m-1].
        p_eps_chla: attenuation of light by chlorophyll [m2 mg-1].
        p_eps_r6: attenuation of light by detritus [m2 mg-1].
        p_sum: largest photosynthesis per carbon [d-1].
        p_srs: basal respiration of phytoplankton [d-1].
        p_sdmo: largest lysis of starved phytoplankton [d-1].
        p_thdo: nutrients within the cell, relative to the best, at half of `p_sdmo` [1].
        p_pu_ea: fraction of photosynthesis that is always exuded [1].
        p_pu_ra: fraction of assimilated carbon that is respired [1].
        p_qun: affinity to nitrogen [m3 mg-1 d-1].
        p_ln4: ammonium that halves the uptake of nitrate [mmol m-3].
        p_qnlc, p_qncppy: least and best nitrogen per carbon of phytoplankton [mmol mg-1].
        p_xqn: largest nitrogen per carbon, relative to the best [1].
        p_qup: affinity to phosphate [m3 mg-1 d-1].
        p_qplc, p_qpcppy: least and best phosphorus per carbon of phytoplankton [mmol mg-1].
        p_xqp: largest phosphorus per carbon, relative to the best [1].
        p_esni: nutrients within the cell, relative to the best, below which phytoplankton sinks [1].
        p_res: downward velocity of phytoplankton per relative nutrients below `p_esni` [m d-1].
        p_alpha_chl: initial slope of photosynthesis [mg m2 mg-1 umol-1]: carbon per chlorophyll and light.
        p_qlcppy: largest chlorophyll per carbon [1].
        z_srs: basal respiration of zooplankton [d-1].
        z_sum: largest grazing [d-1].
        z_sdo: additional mortality of zooplankton without oxygen [d-1].
        z_sd: mortality of zooplankton [d-1].
        z_pu: fraction of food that is assimilated [1].
        z_pu_ea: fraction of food that is excreted [1].
        p_pe_r1c, p_pe_r1n, p_pe_r1p: dissolved fraction of carbon, nitrogen, phosphorus released by
            zooplankton [1].
        z_chro: oxygen that halves its availability to zooplankton [mmol m-3].
        z_chuc: food at half of the largest grazing [mg m-3].
        z_minfood: phytoplankton at which half of it is available to zooplankton [mg m-3].
        z_qpcmiz, z_qncmiz: phosphorus and nitrogen per carbon of zooplankton, above which it excretes
            [mmol mg-1].
        z_pappy: fraction of phytoplankton that is food [1].
        p_sn4n3: nitrification at 20 degC [d-1].
        p_clo2o: oxygen at half of `p_sn4n3` [mmol m-3].
        p_sr6o3, p_sr6n1, p_sr6n4: remineralisation of carbon, phosphorus, nitrogen of detritus [d-1].
        p_sr1o3, p_sr1n1, p_sr1n4: remineralisation of carbon, phosphorus, nitrogen of dissolved matter [d-1].
        p_rr6m: velocity of detritus, downward [m d-1].
        schmidt_o2: Schmidt number to which the exchange of oxygen refers [1].
        d_wan: piston velocity of oxygen per square of the wind speed [cm h-1 s2 m-2].
        p_qon_nitri: oxygen per nitrogen of nitrification [mol mol-1].
        molar_volume: molar volume of oxygen at saturation [L mol-1]; the source of the saturation refers to
            0 degC, where it is 22.39.
        q10: factor per 20 K of all rates that depend on temperature [1].
    """

    own_light: bool = setting(False)
    p_par: Scalar = parameter(0.4, valid_range=(0.25, 0.75), only_if={"own_light": (True,)})
    p_eps0: Scalar = parameter(0.0435, unit="m-1", valid_range=(0.03, 0.05), only_if={"own_light": (True,)})
    p_eps_chla: Scalar = parameter(0.03, unit="m2 mg-1", valid_range=(0.005, 0.045))
    p_eps_r6: Scalar = parameter(0.1e-3, unit="m2 mg-1", valid_range=(0.15e-4, 0.15e-3))
    p_sum: Scalar = parameter(1.6, unit="d-1", valid_range=(1.0, 5.0))
    p_srs: Scalar = parameter(0.05, unit="d-1", valid_range=(0.005, 0.075))
    p_sdmo: Scalar = parameter(0.05, unit="d-1", valid_range=(0.005, 0.075))
    p_thdo: Scalar = parameter(0.1, valid_range=(0.005, 0.15))
    p_pu_ea: Scalar = parameter(0.05, valid_range=(0.005, 0.1))
    p_pu_ra: Scalar = parameter(0.05, valid_range=(0.005, 0.1))
    p_qun: Scalar = parameter(0.025, unit="m3 mg-1 d-1", valid_range=(0.005, 0.05))
    p_ln4: Scalar = parameter(1.5, unit="mmol m-3", valid_range=(0.25, 5.0))
    p_qnlc: Scalar = parameter(6.87e-3, unit="mmol mg-1", valid_range=(5e-4, 1e-2))
    p_qncppy: Scalar = parameter(1.26e-2, unit="mmol mg-1", valid_range=(1e-4, 5e-2))
    p_xqn: Scalar = parameter(1.5, valid_range=(1.0, 5.0))
    p_qup: Scalar = parameter(2.5e-3, unit="m3 mg-1 d-1", valid_range=(1e-3, 5e-3))
    p_qplc: Scalar = parameter(4.29e-4, unit="mmol mg-1", valid_range=(1e-4, 1e-3))
    p_qpcppy: Scalar = parameter(7.86e-4, unit="mmol mg-1", valid_range=(1e-4, 1e-3))
    p_xqp: Scalar = parameter(1.5, valid_range=(1.0, 5.0))
    p_esni: Scalar = parameter(0.75, valid_range=(0.05, 1.0))
    p_res: Scalar = parameter(0.5, unit="m d-1", valid_range=(0.25, 1.0))
    p_alpha_chl: Scalar = parameter(1.52e-5, unit="mg m2 mg-1 umol-1", valid_range=(5e-6, 5e-5))
    p_qlcppy: Scalar = parameter(0.016, valid_range=(0.005, 0.05))
    z_srs: Scalar = parameter(0.02, unit="d-1", valid_range=(0.01, 0.1))
    z_sum: Scalar = parameter(2.0, unit="d-1", valid_range=(1.0, 7.5))
    z_sdo: Scalar = parameter(0.25, unit="d-1", valid_range=(0.05, 0.5))
    z_sd: Scalar = parameter(0.05, unit="d-1", valid_range=(0.025, 0.1))
    z_pu: Scalar = parameter(0.5, valid_range=(0.05, 1.0))
    z_pu_ea: Scalar = parameter(0.25, valid_range=(0.05, 1.0))
    p_pe_r1c: Scalar = parameter(0.6, valid_range=(0.05, 1.0))
    p_pe_r1n: Scalar = parameter(0.72, valid_range=(0.05, 1.0))
    p_pe_r1p: Scalar = parameter(0.832, valid_range=(0.05, 1.0))
    z_chro: Scalar = parameter(0.5, unit="mmol m-3", valid_range=(0.25, 5.0))
    z_chuc: Scalar = parameter(200.0, unit="mg m-3", valid_range=(50.0, 500.0))
    z_minfood: Scalar = parameter(50.0, unit="mg m-3", valid_range=(25.0, 100.0))
    z_qpcmiz: Scalar = parameter(7.862e-4, unit="mmol mg-1", valid_range=(1e-4, 1e-3))
    z_qncmiz: Scalar = parameter(1.258e-2, unit="mmol mg-1", valid_range=(5e-3, 5e-2))
    z_pappy: Scalar = parameter(1.0, valid_range=(0.05, 1.0))
    p_sn4n3: Scalar = parameter(0.01, unit="d-1", valid_range=(0.005, 0.1))
    p_clo2o: Scalar = parameter(10.0, unit="mmol m-3", valid_range=(1.0, 10.0))
    p_sr6o3: Scalar = parameter(0.1, unit="d-1", valid_range=(0.005, 0.75))
    p_sr6n1: Scalar = parameter(0.1, unit="d-1", valid_range=(0.005, 0.75))
    p_sr6n4: Scalar = parameter(0.1, unit="d-1", valid_range=(0.005, 0.75))
    p_sr1o3: Scalar = parameter(0.05, unit="d-1", valid_range=(0.005, 0.75))
    p_sr1n1: Scalar = parameter(0.05, unit="d-1", valid_range=(0.005, 0.75))
    p_sr1n4: Scalar = parameter(0.05, unit="d-1", valid_range=(0.005, 0.75))
    p_rr6m: Scalar = parameter(1.0, unit="m d-1", valid_range=(0.5, 10.0))
    schmidt_o2: Scalar = parameter(660.0, valid_range=(500.0, 700.0))
    d_wan: Scalar = parameter(0.31, unit="cm h-1 s2 m-2", valid_range=(0.0, 1.0))
    p_qon_nitri: Scalar = parameter(2.0, unit="mol mol-1", valid_range=(0.0, 5.0))
    molar_volume: Scalar = parameter(24.4665, unit="L mol-1", valid_range=(20.0, 30.0))
    q10: Scalar = parameter(2.0, valid_range=(1.0, 5.0))

    def pools(self) -> tuple[Pool, ...]:
        carbon, others, chlorophyll = "mg m-3", "mmol m-3", "mg m-3"
        return (
            Pool("o2o", others, "dissolved oxygen", 219.0),
            Pool("n1p", others, "phosphate", 0.003),
            Pool("n3n", others, "nitrate", 0.04),
            Pool("n4n", others, "ammonium", 0.008),
            Pool("p2c", carbon, "carbon in phytoplankton", 11.5),
            Pool("p2n", others, "nitrogen in phytoplankton", 0.145),
            Pool("p2p", others, "phosphorus in phytoplankton", 0.00904),
            Pool("p2l", chlorophyll, "chlorophyll in phytoplankton", 0.23),
            Pool("z5c", carbon, "carbon in zooplankton", 11.5),
            Pool("z5n", others, "nitrogen in zooplankton", 0.145),
            Pool("z5p", others, "phosphorus in zooplankton", 0.00904),
            Pool("r1c", carbon, "dissolved organic carbon", 12.4),
            Pool("r1n", others, "dissolved organic nitrogen", 0.0781),
            Pool("r1p", others, "dissolved organic phosphorus", 0.00487),
            Pool("r6c", carbon, "particulate organic carbon", 12.4),
            Pool("r6n", others, "particulate organic nitrogen", 0.156),
            Pool("r6p", others, "particulate organic phosphorus", 0.00975),
        )

    def links(self) -> tuple[str, ...]:
        return ("dic",)

    def contents(self) -> dict[str, dict[str, ScalarLike]]:
        return {
            "nitrogen": dict.fromkeys(("n3n", "n4n", "p2n", "z5n", "r1n", "r6n"), 1.0),
            "phosphorus": dict.fromkeys(("n1p", "p2p", "z5p", "r1p", "r6p"), 1.0),
        }

    def velocities(self, pools: Pools, environment: Environment) -> dict[str, ScalarLike | CenterArray]:
        starving = at_least(self.p_esni - self._fed(pools), 0.0)
        sinking = -self.p_res / DAY * starving
        velocities: dict[str, ScalarLike | CenterArray] = dict.fromkeys(_PHYTOPLANKTON, sinking)
        velocities.update(dict.fromkeys(_DETRITUS, -self.p_rr6m / DAY))
        return velocities

    def attenuation(self, pools: Pools) -> CenterArray:
        return self.p_eps_chla * pools["p2l"] + self.p_eps_r6 * pools["r6c"]

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        temperature = environment.temperature
        speed = (
            self.d_wan * environment.wind() ** 2 * jnp.sqrt(self.schmidt_o2 / _schmidt_number(temperature))
        )
        speed = speed * 24.0 / 100.0 / DAY
        saturated = 1e3 / self.molar_volume * _oxygen_saturation(temperature, environment.salinity)
        saturated = saturated * environment.relative_saturation()
        return {(None, "o2o"): speed * saturated, ("o2o", None): speed * pools["o2o"]}

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        exchanges: Exchanges = {}
        light, response = self._light(pools, environment), self._response(environment.temperature)
        for part in (
            self._phytoplankton(pools, light, response),
            self._zooplankton(pools, response),
            self._chemistry(pools, response),
        ):
            for pair, rate in part.items():
                exchanges[pair] = exchanges[pair] + rate / DAY if pair in exchanges else rate / DAY
        if "dic" not in pools:
            return exchanges
        fixed, respired = (
            exchanges[None, "p2c"],
            [exchanges[name, None] for name in ("p2c", "z5c", "r6c", "r1c")],
        )
        return exchanges | {("dic", None): fixed / _CARBON, (None, "dic"): sum(respired) / _CARBON}

    def measurable(self) -> dict[str, tuple[str, str]]:
        return {
            "PON": ("mmol m-3", "nitrogen in plankton and detritus"),
            "POP": ("mmol m-3", "phosphorus in plankton and detritus"),
            "POC": ("mg m-3", "carbon in plankton and detritus"),
            "NPP": ("mg m-3 d-1", "net primary production of carbon"),
        }

    def diagnostics(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        light, response = self._light(pools, environment), self._response(environment.temperature)
        exchanges = self._phytoplankton(pools, light, response)
        organic = {of: pools[f"p2{of}"] + pools[f"z5{of}"] + pools[f"r6{of}"] for of in "cnp"}
        return {
            "POC": organic["c"],
            "PON": organic["n"],
            "POP": organic["p"],
            "NPP": exchanges[None, "p2c"] - exchanges["p2c", None],
        }

    # ---- parts, in rates per day ----

    def _response(self, temperature: CenterArray) -> CenterArray:
        """Rates relative to those at 20 degC [1]."""
        return once(jnp.exp(jnp.log(self.q10) * (0.05 * temperature - 1.0)))  # loops of powers are slow

    def _light(self, pools: Pools, environment: Environment) -> CenterArray:
        """Mean light of the cells [umol m-2 d-1]."""
        attenuation = self.attenuation(pools)
        if self.own_light:
            attenuation = attenuation + self.p_eps0
        depth = attenuation * environment.thickness
        # Cell mean of an exponential relative to its value at the center, sinh(x) / x; a series near x = 0.
        half = 0.5 * depth
        squared, growth = half * half, jnp.exp(half)
        series = 1.0 + squared / 6.0 * (1.0 + squared / 20.0 * (1.0 + squared / 42.0))
        mean = jnp.where(half > 0.05, 0.5 * (growth - reciprocal(growth)) / at_least(half, 0.05), series)
        if self.own_light:
            above = jnp.cumsum(depth[::-1], axis=0)[::-1] - half
            light = self.p_par * environment.shortwave * jnp.exp(-above)
        else:
            light = environment.light
        return once(at_least(light * mean * (DAY / _WATTS), 0.0))

    def _fed(self, pools: Pools) -> CenterArray:
        """Nutrients within the cell relative to the best, of the scarcer one [1]."""
        per_carbon = _per_carbon(pools)
        # Calibrations may put the best below the least: then any content above the least is enough.
        of_nitrogen = reciprocal(at_least(self.p_qncppy - self.p_qnlc, 1e-9))
        of_phosphorus = reciprocal(at_least(self.p_qpcppy - self.p_qplc, 1e-9))
        nitrogen = (pools["p2n"] * per_carbon - self.p_qnlc) * of_nitrogen
        phosphorus = (pools["p2p"] * per_carbon - self.p_qplc) * of_phosphorus
        return once(jnp.clip(jnp.minimum(nitrogen, phosphorus), 0.0, 1.0))

    def _phytoplankton(self, pools: Pools, light: CenterArray, response: CenterArray) -> Exchanges:
        carbon, chlorophyll, fed = pools["p2c"], pools["p2l"], self._fed(pools)
        per_carbon = _per_carbon(pools)
        slope = self.p_alpha_chl * light
        greenness = slope * reciprocal(self.p_sum) * (chlorophyll * per_carbon)
        production = once(self.p_sum * response * _saturated(greenness))
        assimilated = production * (1.0 - self.p_pu_ea) * fed
        respired = self.p_pu_ra * assimilated + self.p_srs * response
        lysed = self.p_thdo * self.p_sdmo * reciprocal(fed + self.p_thdo)
        # Detrital fraction of the lysis: least over actual content, of the richer nutrient.
        richest = jnp.maximum(
            pools["p2p"] * per_carbon * reciprocal(self.p_qplc),
            pools["p2n"] * per_carbon * reciprocal(self.p_qnlc),
        )
        detrital = reciprocal(at_least(richest, 1.0))
        grown = at_least(assimilated - respired - lysed, 0.0) * carbon
        # Chlorophyll is produced for the light that is used, at most `p_qlcppy` of the carbon assimilated.
        kept = (1.0 - self.p_pu_ra) * assimilated * carbon
        greening = self.p_qlcppy * jnp.minimum(
            kept, quotient(kept * kept, at_least(slope * chlorophyll, _TINY))
        )
        exchanges: Exchanges = {
            (None, "p2c"): production * carbon,
            ("p2c", None): respired * carbon,
            ("p2c", "r1c"): ((1.0 - detrital) * lysed + production - assimilated) * carbon,
            ("p2c", "r6c"): detrital * lysed * carbon,
            (None, "o2o"): production * carbon / _CARBON,
            ("o2o", None): respired * carbon / _CARBON,
            (None, "p2l"): greening,
            ("p2l", None): (lysed + self.p_srs * response) * chlorophyll,
        }
        lacking = self.p_sum * response, grown
        for of, parts in (("n", self._nitrogen(pools, *lacking)), ("p", self._phosphorus(pools, *lacking))):
            exchanges |= parts
            lost = lysed * pools[f"p2{of}"]
            exchanges[f"p2{of}", f"r1{of}"] = exchanges[f"p2{of}", f"r1{of}"] + (1.0 - detrital) * lost
            exchanges[f"p2{of}", f"r6{of}"] = detrital * lost
        return exchanges

    def _nitrogen(self, pools: Pools, adaptation: CenterArray, grown: CenterArray) -> Exchanges:
        carbon, ammonium = pools["p2c"], pools["n4n"]
        preference = self.p_ln4 * reciprocal(self.p_ln4 + ammonium)
        of_nitrate = self.p_qun * pools["n3n"] * carbon * preference
        of_ammonium = self.p_qun * ammonium * carbon
        most, ratio = of_nitrate + of_ammonium, self.p_xqn * self.p_qncppy
        uptake, released = _exchanged(ratio, carbon, pools["p2n"], adaptation, grown, most)
        part = quotient(uptake, at_least(most, _TINY))
        return {
            ("n3n", "p2n"): part * of_nitrate,
            ("n4n", "p2n"): part * of_ammonium,
            ("p2n", "r1n"): released,
        }

    def _phosphorus(self, pools: Pools, adaptation: CenterArray, grown: CenterArray) -> Exchanges:
        carbon, ratio = pools["p2c"], self.p_xqp * self.p_qpcppy
        most = self.p_qup * pools["n1p"] * carbon
        uptake, released = _exchanged(ratio, carbon, pools["p2p"], adaptation, grown, most)
        return {("n1p", "p2p"): uptake, ("p2p", "r1p"): released}

    def _zooplankton(self, pools: Pools, response: CenterArray) -> Exchanges:
        prey, carbon = pools["p2c"], pools["z5c"]
        availability = self.z_pappy * quotient(prey, prey + self.z_minfood)
        of_prey = quotient(self.z_sum * response * availability * carbon, availability * prey + self.z_chuc)
        eaten = of_prey * prey
        # Both fractions may exceed one together within their ranges; nothing is then respired.
        active = eaten * at_least(1.0 - self.z_pu - self.z_pu_ea, 0.0)
        basal = self.z_srs * response * carbon
        suffocating = self.z_chro * reciprocal(pools["o2o"] + self.z_chro)
        mortality = suffocating * self.z_sdo + self.z_sd
        released = eaten * (1.0 - self.z_pu) * self.z_pu_ea + mortality * carbon
        exchanges: Exchanges = {
            ("p2c", "z5c"): eaten,
            ("p2l", None): of_prey * pools["p2l"],
            ("z5c", None): basal + active,
            ("o2o", None): (basal + active) / _CARBON,
            ("z5c", "r1c"): self.p_pe_r1c * released,
            ("z5c", "r6c"): (1.0 - self.p_pe_r1c) * released,
        }
        gained = at_least(eaten * (1.0 - self.z_pu_ea) - active, 0.0)
        elements = (("n", "n4n", self.p_pe_r1n, self.z_qncmiz), ("p", "n1p", self.p_pe_r1p, self.z_qpcmiz))
        for of, nutrient, dissolved, kept in elements:
            zooplankton, food_of = pools[f"z5{of}"], of_prey * pools[f"p2{of}"]
            released = food_of * self.z_pu_ea + mortality * zooplankton
            surplus = food_of * (1.0 - self.z_pu_ea) + self.z_srs * response * zooplankton - kept * gained
            exchanges[f"p2{of}", f"z5{of}"] = food_of
            exchanges[f"z5{of}", f"r1{of}"] = dissolved * released
            exchanges[f"z5{of}", f"r6{of}"] = (1.0 - dissolved) * released
            exchanges[f"z5{of}", nutrient] = jnp.where(gained > 0.0, at_least(surplus, 0.0), 0.0)
        return exchanges

    def _chemistry(self, pools: Pools, response: CenterArray) -> Exchanges:
        oxygen = pools["o2o"]
        nitrified = self.p_sn4n3 * response * quotient(oxygen, oxygen + self.p_clo2o) * pools["n4n"]
        detrital, dissolved = self.p_sr6o3 * pools["r6c"], self.p_sr1o3 * pools["r1c"]
        return {
            ("n4n", "n3n"): nitrified,
            ("o2o", None): self.p_qon_nitri * nitrified + (detrital + dissolved) / _CARBON,
            ("r6c", None): detrital,
            ("r6n", "n4n"): self.p_sr6n4 * pools["r6n"],
            ("r6p", "n1p"): self.p_sr6n1 * pools["r6p"],
            ("r1c", None): dissolved,
            ("r1n", "n4n"): self.p_sr1n4 * pools["r1n"],
            ("r1p", "n1p"): self.p_sr1n1 * pools["r1p"],
        }


def _per_carbon(pools: Pools) -> Values:
    """Reciprocal of the carbon in phytoplankton [m3 mg-1], with a finite derivative also in float32."""
    carbon = at_least(pools["p2c"], _TINY)
    return quotient(jnp.ones_like(carbon), carbon)


def _saturated(x: Values) -> Values:
    """1 - exp(-x) of numbers of at least zero, to round-off; XLA's `expm1` has divisions."""
    series = jnp.ones_like(x)
    for n in range(8, 1, -1):
        series = 1.0 - x * (1.0 / n) * series
    return jnp.where(x > 0.05, 1.0 - jnp.exp(-x), x * series)


def _exchanged(
    ratio: ScalarLike, carbon: Values, content: Values, adaptation: Values, grown: Values, most: Values
) -> tuple[Values, Values]:
    """Uptake of a nutrient, at most `most`, and release of an excess in the cell [mmol m-3 d-1]."""
    demand = ratio * grown + adaptation * (ratio * carbon - content)
    return at_least(jnp.minimum(demand, most), 0.0), at_least(-demand, 0.0)


def _schmidt_number(temperature: Values) -> Values:
    """Schmidt number of oxygen [1]: Wanninkhof (1992), J. Geophys. Res. 97, 7373-7382."""
    return 1953.4 + temperature * (-128.0 + temperature * (3.9918 - 0.050091 * temperature))


def _oxygen_saturation(temperature: Values, salinity: Values) -> Values:
    """Oxygen at saturation [mL L-1]: Weiss (1970), Deep-Sea Res. 17, 721-735."""
    hundreds = (temperature + 273.15) * 0.01
    of_salt = salinity * (-0.033096 + (0.014259 - 0.0017 * hundreds) * hundreds)
    fresh = -173.4292 + 249.6339 / hundreds + 143.3483 * jnp.log(hundreds) - 21.8492 * hundreds
    return jnp.exp(fresh + of_salt)
