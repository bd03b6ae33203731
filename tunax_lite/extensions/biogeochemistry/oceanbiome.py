"""Nutrients, phytoplankton, zooplankton, detritus: the model of OceanBioME.

    growth    mu_0 f N / (k_N + N) alpha I / sqrt(m² + alpha² I²) P,   f = q10^(T / 10 K)
    grazing   g P² / (k_P² + P²) Z, of which a fraction is assimilated and the rest becomes detritus

In its program m is mu_0, and temperature affects the growth alone; in the equations of its manual, which are
those of the source, m is mu_0 f, and losses of phytoplankton and zooplankton follow temperature, too.

Source: Kuhn et al. (2015), Prog. Oceanogr. 137, 149-174; Strong-Wright et al. (2023), J. Open Source
Softw. 8, 5669.
"""

import jax.numpy as jnp

from ..._types import CenterArray, Scalar, ScalarLike, parameter
from ...declarations import named, setting
from ...numerics.elementary import at_least
from .interface import DAY, AbstractBiogeochemicalModel, Environment, Exchanges, Pool, Pools


@named("oceanbiome_npzd")
class OceanBioMENPZD(AbstractBiogeochemicalModel):
    """Nitrogen in nutrients, phytoplankton, zooplankton and detritus [mmol m-3].

    Args:
        mu_0: largest growth at 0 degC [d-1].
        k_n: nutrients at half saturation [mmol m-3].
        alpha: initial slope of growth against light [m2 W-1 d-1].
        q10: of rates that follow temperature, per 10 K [1].
        l_pn: loss of phytoplankton to nutrients [d-1].
        l_pd: mortality of phytoplankton [d-1].
        g_max: largest grazing [d-1].
        k_p: phytoplankton at half saturation of grazing [mmol m-3].
        beta: fraction of food that is assimilated [1].
        l_zn: excretion by zooplankton [d-1].
        l_zd: quadratic mortality of zooplankton [m3 mmol-1 d-1].
        r_dn: remineralisation of detritus [d-1].
        w_p: velocity of phytoplankton, positive upward [m d-1].
        w_d: velocity of detritus, positive upward [m d-1].
        chi: attenuation of blue light by one milligram of pigments per cubic metre [m-1].
        e_chi: its exponent [1].
        chlorophyll: per nitrogen of phytoplankton [mg mmol-1].
        pigment_ratio: chlorophyll per pigments [1].
        warm: what follows temperature: growth, as in the program, or growth and losses, as in the manual.
    """

    mu_0: Scalar = parameter(0.6989, unit="d-1", valid_range=(0.01, 20.0))
    k_n: Scalar = parameter(2.3868, unit="mmol m-3", valid_range=(1e-6, 50.0))
    alpha: Scalar = parameter(0.1953, unit="m2 W-1 d-1", valid_range=(1e-4, 10.0))
    q10: Scalar = parameter(1.88, valid_range=(1.0, 5.0))
    l_pn: Scalar = parameter(0.066, unit="d-1", valid_range=(0.0, 5.0))
    l_pd: Scalar = parameter(0.0101, unit="d-1", valid_range=(0.0, 5.0))
    g_max: Scalar = parameter(2.1522, unit="d-1", valid_range=(0.0, 20.0))
    k_p: Scalar = parameter(0.5573, unit="mmol m-3", valid_range=(1e-6, 50.0))
    beta: Scalar = parameter(0.9116, valid_range=(0.0, 1.0))
    l_zn: Scalar = parameter(0.0102, unit="d-1", valid_range=(0.0, 5.0))
    l_zd: Scalar = parameter(0.3395, unit="m3 mmol-1 d-1", valid_range=(0.0, 10.0))
    r_dn: Scalar = parameter(0.1213, unit="d-1", valid_range=(0.0, 5.0))
    w_p: Scalar = parameter(-0.2551, unit="m d-1", valid_range=(-500.0, 500.0))
    w_d: Scalar = parameter(-2.7489, unit="m d-1", valid_range=(-500.0, 500.0))
    chi: Scalar = parameter(0.074, unit="m-1", valid_range=(0.0, 1.0))
    e_chi: Scalar = parameter(0.674, valid_range=(0.1, 2.0))
    chlorophyll: Scalar = parameter(1.31, unit="mg mmol-1", valid_range=(0.0, 20.0))
    pigment_ratio: Scalar = parameter(0.7, valid_range=(0.1, 1.0))
    warm: str = setting("growth", choices=("growth", "growth and losses"))

    def pools(self) -> tuple[Pool, ...]:
        unit = "mmol m-3"
        return (
            Pool("nut", unit, "nutrients", 4.5),
            Pool("phy", unit, "phytoplankton", 0.1),
            Pool("zoo", unit, "zooplankton", 0.1),
            Pool("det", unit, "detritus", 0.1),
        )

    def contents(self) -> dict[str, dict[str, ScalarLike]]:
        return {"nitrogen": dict.fromkeys(("nut", "phy", "zoo", "det"), 1.0)}

    def velocities(self, pools: Pools, environment: Environment) -> dict[str, ScalarLike | CenterArray]:
        return {"phy": self.w_p / DAY, "det": self.w_d / DAY}

    def attenuation(self, pools: Pools) -> CenterArray:
        # Below a few metres blue light is what is left. Without plankton the power would have no derivative.
        pigments = at_least(self.chlorophyll / self.pigment_ratio * pools["phy"], 1e-12)
        return self.chi * pigments**self.e_chi

    def growth(self, pools: Pools, environment: Environment) -> CenterArray:
        """Growth of phytoplankton [mmol m-3 s-1]."""
        response = self.q10 ** (0.1 * environment.temperature)
        highest = self.mu_0 * (response if self.warm == "growth and losses" else 1.0)
        slope = self.alpha * environment.light
        lit = slope / jnp.sqrt(highest**2 + slope**2)
        return self.mu_0 / DAY * response * lit * pools["nut"] / (self.k_n + pools["nut"]) * pools["phy"]

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        phy, zoo, det = (pools[name] for name in ("phy", "zoo", "det"))
        grazed = self.g_max / DAY * phy**2 / (self.k_p**2 + phy**2) * zoo
        loss = 1.0 / DAY
        if self.warm == "growth and losses":
            loss = self.q10 ** (0.1 * environment.temperature) / DAY
        return {
            ("nut", "phy"): self.growth(pools, environment),
            ("phy", "zoo"): self.beta * grazed,
            ("phy", "det"): (1.0 - self.beta) * grazed + self.l_pd * loss * phy,
            ("phy", "nut"): self.l_pn * loss * phy,
            ("zoo", "nut"): self.l_zn * loss * zoo,
            ("zoo", "det"): self.l_zd * loss * zoo**2,
            ("det", "nut"): self.r_dn / DAY * det,
        }

    def diagnostics(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        return {"PPR": DAY * self.growth(pools, environment), "chlorophyll": self.chlorophyll * pools["phy"]}
