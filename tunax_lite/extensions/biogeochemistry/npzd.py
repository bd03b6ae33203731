"""Nutrients, phytoplankton, zooplankton, detritus: the model of GOTM and FABM (`gotm/npzd`).

    uptake      r_max L N / (alpha + N) (P + P_0),   L = I / I_opt exp(1 - I / I_opt)
    I_opt       max(I_surface / 4, I_min)
    grazing     g_max (1 - exp(-iv² P²)) (Z + Z_0)

with linear losses. The mortality of phytoplankton changes at the light I_min.

Source: Fennel and Neumann (1996), Deutsche Hydrogr. Z. 48, 49-71; Burchard et al. (2005), Ocean Dyn. 55,
326-337; `gotm/npzd` of FABM.
"""

import jax
import jax.numpy as jnp

from ..._types import CenterArray, Scalar, parameter
from ...declarations import named, setting
from .interface import (
    DAY,
    AbstractBiogeochemicalModel,
    Contents,
    Environment,
    Exchanges,
    Pool,
    Pools,
    Velocities,
)


@named("npzd")
class NPZD(AbstractBiogeochemicalModel):
    """Nitrogen in nutrients, phytoplankton, zooplankton and detritus [mmol m-3].

    Args:
        p0: background concentration of phytoplankton [mmol m-3].
        z0: background concentration of zooplankton [mmol m-3].
        kc: attenuation of light by phytoplankton and detritus [m2 mmol-1].
        i_min: least optimal light, and light below which mortality is higher [W m-2].
        rmax: largest growth rate [d-1].
        gmax: largest grazing rate [d-1].
        iv: Ivlev's constant of grazing [m3 mmol-1].
        alpha: nutrients at half saturation of the uptake [mmol m-3].
        rpn: loss of phytoplankton to nutrients [d-1].
        rzn: loss of zooplankton to nutrients [d-1].
        rdn: remineralisation of detritus [d-1].
        rpdu: mortality of phytoplankton in light [d-1].
        rpdl: mortality of phytoplankton in the dark [d-1].
        rzd: mortality of zooplankton [d-1].
        dic_per_n: carbon per nitrogen of biomass, for coupled dissolved carbon [mol mol-1].
        w_p: velocity of phytoplankton, positive upward [m d-1].
        w_d: velocity of detritus, positive upward [m d-1].
        transition: width of the change of mortality at i_min [W m-2], for gradients; 0 is a jump, as in FABM.
    """

    p0: Scalar = parameter(0.0225, unit="mmol m-3", valid_range=(0.0, 10.0))
    z0: Scalar = parameter(0.0225, unit="mmol m-3", valid_range=(0.0, 10.0))
    kc: Scalar = parameter(0.03, unit="m2 mmol-1", valid_range=(0.0, 1.0))
    i_min: Scalar = parameter(25.0, unit="W m-2", valid_range=(1e-3, 500.0))
    rmax: Scalar = parameter(1.0, unit="d-1", valid_range=(0.0, 20.0))
    gmax: Scalar = parameter(0.5, unit="d-1", valid_range=(0.0, 20.0))
    iv: Scalar = parameter(1.1, unit="m3 mmol-1", valid_range=(0.0, 50.0))
    alpha: Scalar = parameter(0.3, unit="mmol m-3", valid_range=(1e-6, 50.0))
    rpn: Scalar = parameter(0.01, unit="d-1", valid_range=(0.0, 5.0))
    rzn: Scalar = parameter(0.01, unit="d-1", valid_range=(0.0, 5.0))
    rdn: Scalar = parameter(0.003, unit="d-1", valid_range=(0.0, 5.0))
    rpdu: Scalar = parameter(0.02, unit="d-1", valid_range=(0.0, 5.0))
    rpdl: Scalar = parameter(0.1, unit="d-1", valid_range=(0.0, 5.0))
    rzd: Scalar = parameter(0.02, unit="d-1", valid_range=(0.0, 5.0))
    dic_per_n: Scalar = parameter(106.0 / 16.0, unit="mol mol-1", valid_range=(0.0, 50.0))
    w_p: Scalar = parameter(-1.0, unit="m d-1", valid_range=(-500.0, 500.0))
    w_d: Scalar = parameter(-5.0, unit="m d-1", valid_range=(-500.0, 500.0))
    transition: float = setting(0.0, at_least=0.0)

    def pools(self) -> tuple[Pool, ...]:
        unit = "mmol m-3"
        return (
            Pool("nut", unit, "nutrients", 4.5),
            Pool("phy", unit, "phytoplankton", 0.0),
            Pool("zoo", unit, "zooplankton", 0.0),
            Pool("det", unit, "detritus", 4.5),
        )

    def links(self) -> tuple[str, ...]:
        return ("dic",)

    def contents(self) -> Contents:
        return {"nitrogen": dict.fromkeys(("nut", "phy", "zoo", "det"), 1.0)}

    def velocities(self, pools: Pools, environment: Environment) -> Velocities:
        return {"phy": self.w_p / DAY, "det": self.w_d / DAY}

    def attenuation(self, pools: Pools) -> CenterArray:
        return self.kc * (self.p0 + pools["phy"] + pools["det"])

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        nut, phy, zoo, det = (pools[name] for name in ("nut", "phy", "zoo", "det"))
        growth = self.rmax / DAY * environment.adapted_growth(self.i_min)
        uptake = growth * nut / (self.alpha + nut) * (phy + self.p0)
        grazing = self.gmax / DAY * (1.0 - jnp.exp(-((self.iv * phy) ** 2))) * (zoo + self.z0)
        released = self.rpn / DAY * phy, self.rzn / DAY * zoo, self.rdn / DAY * det
        exchanges: Exchanges = {
            ("nut", "phy"): uptake,
            ("phy", "zoo"): grazing,
            ("phy", "nut"): released[0],
            ("zoo", "nut"): released[1],
            ("det", "nut"): released[2],
            ("phy", "det"): self._mortality(environment.light) / DAY * phy,
            ("zoo", "det"): self.rzd / DAY * zoo,
        }
        if "dic" in pools:
            exchanges["dic", None] = self.dic_per_n * uptake
            exchanges[None, "dic"] = self.dic_per_n * sum(released)
        return exchanges

    def _mortality(self, light: CenterArray) -> CenterArray:
        """Mortality of phytoplankton [d-1]."""
        if self.transition == 0.0:
            return jnp.where(light >= self.i_min, self.rpdu, self.rpdl)
        lit = jax.nn.sigmoid((light - self.i_min) / self.transition)
        return self.rpdl + (self.rpdu - self.rpdl) * lit

    def measurable(self) -> dict[str, tuple[str, str]]:
        production = "mmol m-3 d-1", "net primary production of nitrogen"
        return {"NPR": production, "PAR": ("W m-2", "photosynthetically active radiation")}

    def diagnostics(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        gross = self.rates(pools, environment)["nut", "phy"] * DAY
        return {"NPR": gross - self.rpn * pools["phy"], "PAR": environment.light}
