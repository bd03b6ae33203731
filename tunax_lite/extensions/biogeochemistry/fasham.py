"""Phytoplankton, zooplankton, bacteria, detritus, nitrate, ammonium and dissolved organic nitrogen.

    growth    v_p alpha I / sqrt(v_p² + alpha² I²),  limited by (N/K1 + A/K2) / (1 + N/K1 + A/K2)
    grazing   g_max r_i c_i² (Z + Z_0) / (K3 sum r c + sum r c²)  of phytoplankton, bacteria, detritus

Source: Fasham, Ducklow and McKelvie (1990), J. Mar. Res. 48, 591-639, modified as in `gotm/fasham` of FABM.
"""

import jax.numpy as jnp

from ..._types import CenterArray, Scalar, parameter
from ...declarations import named
from ...numerics.elementary import safe_sqrt
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


@named("fasham")
class Fasham(AbstractBiogeochemicalModel):
    """Nitrogen in seven pools [mmol m-3].

    Args:
        p0: background concentration of phytoplankton [mmol m-3].
        vp: largest uptake by phytoplankton [d-1].
        alpha: initial slope of growth against light [m2 W-1 d-1].
        k1: nitrate at half saturation [mmol m-3].
        k2: ammonium at half saturation [mmol m-3].
        mu1: largest mortality of phytoplankton [d-1].
        k5: phytoplankton at half of `mu1` [mmol m-3].
        gamma: fraction of the growth that is exuded [1].
        w_p: velocity of phytoplankton, positive upward [m d-1].
        kc: attenuation of light by phytoplankton [m2 mmol-1].
        z0: background concentration of zooplankton [mmol m-3].
        gmax: largest ingestion [d-1].
        k3: food at half saturation [mmol m-3].
        beta: fraction of food that is assimilated [1].
        mu2: largest loss of zooplankton [d-1].
        k6: zooplankton at half of `mu2` [mmol m-3].
        delta: fraction of the loss to dissolved organic nitrogen [1].
        epsi: fraction of the loss to ammonium [1].
        r1, r2, r3: preference for phytoplankton, bacteria, detritus [1].
        b0: background concentration of bacteria [mmol m-3].
        vb: largest uptake by bacteria [d-1].
        k4: dissolved nitrogen at half saturation [mmol m-3].
        mu3: excretion by bacteria [d-1].
        eta: ammonium per dissolved organic nitrogen in the uptake by bacteria [1].
        mu4: breakdown of detritus [d-1].
        w_d: velocity of detritus, positive upward [m d-1].
    """

    p0: Scalar = parameter(0.0, unit="mmol m-3", valid_range=(0.0, 10.0))
    vp: Scalar = parameter(1.5, unit="d-1", valid_range=(1e-6, 20.0))
    alpha: Scalar = parameter(0.065, unit="m2 W-1 d-1", valid_range=(0.0, 5.0))
    k1: Scalar = parameter(0.2, unit="mmol m-3", valid_range=(1e-6, 50.0))
    k2: Scalar = parameter(0.8, unit="mmol m-3", valid_range=(1e-6, 50.0))
    mu1: Scalar = parameter(0.05, unit="d-1", valid_range=(0.0, 5.0))
    k5: Scalar = parameter(0.2, unit="mmol m-3", valid_range=(1e-6, 50.0))
    gamma: Scalar = parameter(0.05, valid_range=(0.0, 1.0))
    w_p: Scalar = parameter(-1.0, unit="m d-1", valid_range=(-500.0, 500.0))
    kc: Scalar = parameter(0.03, unit="m2 mmol-1", valid_range=(0.0, 1.0))
    z0: Scalar = parameter(0.0, unit="mmol m-3", valid_range=(0.0, 10.0))
    gmax: Scalar = parameter(1.0, unit="d-1", valid_range=(0.0, 20.0))
    k3: Scalar = parameter(1.0, unit="mmol m-3", valid_range=(1e-6, 50.0))
    beta: Scalar = parameter(0.625, valid_range=(0.0, 1.0))
    mu2: Scalar = parameter(0.3, unit="d-1", valid_range=(0.0, 5.0))
    k6: Scalar = parameter(0.2, unit="mmol m-3", valid_range=(1e-6, 50.0))
    delta: Scalar = parameter(0.1, valid_range=(0.0, 1.0))
    epsi: Scalar = parameter(0.7, valid_range=(0.0, 1.0))
    r1: Scalar = parameter(0.55, valid_range=(0.0, 1.0))
    r2: Scalar = parameter(0.4, valid_range=(0.0, 1.0))
    r3: Scalar = parameter(0.05, valid_range=(0.0, 1.0))
    b0: Scalar = parameter(0.0, unit="mmol m-3", valid_range=(0.0, 10.0))
    vb: Scalar = parameter(1.2, unit="d-1", valid_range=(0.0, 20.0))
    k4: Scalar = parameter(0.5, unit="mmol m-3", valid_range=(1e-6, 50.0))
    mu3: Scalar = parameter(0.15, unit="d-1", valid_range=(0.0, 5.0))
    eta: Scalar = parameter(0.0, valid_range=(0.0, 10.0))
    mu4: Scalar = parameter(0.02, unit="d-1", valid_range=(0.0, 5.0))
    w_d: Scalar = parameter(-2.0, unit="m d-1", valid_range=(-500.0, 500.0))

    def pools(self) -> tuple[Pool, ...]:
        unit = "mmol m-3"
        return (
            Pool("phy", unit, "phytoplankton", 0.056666666),
            Pool("zoo", unit, "zooplankton", 0.05),
            Pool("bac", unit, "bacteria", 0.001),
            Pool("det", unit, "detritus", 0.416666666),
            Pool("nit", unit, "nitrate", 8.3),
            Pool("amm", unit, "ammonium", 0.22),
            Pool("ldn", unit, "labile dissolved organic nitrogen", 0.14),
        )

    def contents(self) -> Contents:
        return {"nitrogen": {pool.name: 1.0 for pool in self.pools()}}

    def velocities(self, pools: Pools, environment: Environment) -> Velocities:
        return {"phy": self.w_p / DAY, "det": self.w_d / DAY}

    def attenuation(self, pools: Pools) -> CenterArray:
        return self.kc * (self.p0 + pools["phy"])

    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        phy, zoo, bac = pools["phy"], pools["zoo"], pools["bac"]
        det, amm, ldn = pools["det"], pools["amm"], pools["ldn"]
        growth, by_nitrate, by_ammonium = self._growth(pools, environment)
        grazing = self._grazing(phy, zoo, bac, det)
        decay = self.mu1 / DAY * (phy + self.p0) / (self.k5 + phy + self.p0) * phy
        lost = self.mu2 / DAY * (zoo + self.z0) / (self.k6 + zoo + self.z0) * zoo
        taken = jnp.minimum(amm, self.eta * ldn)
        uptake = self.vb / DAY * (bac + self.b0) / (self.k4 + taken + ldn)
        assimilated, wasted = self.beta, 1.0 - self.beta
        return {
            ("nit", "phy"): growth * by_nitrate * (phy + self.p0),
            ("amm", "phy"): growth * by_ammonium * (phy + self.p0),
            ("phy", "ldn"): self.gamma * growth * (by_nitrate + by_ammonium) * phy,
            ("phy", "det"): decay + wasted * grazing["phy"],
            ("phy", "zoo"): assimilated * grazing["phy"],
            ("bac", "zoo"): assimilated * grazing["bac"],
            ("bac", "det"): wasted * grazing["bac"],
            ("det", "zoo"): assimilated * grazing["det"],
            ("bac", "amm"): self.mu3 / DAY * bac,
            ("det", "ldn"): self.mu4 / DAY * det,
            ("zoo", "det"): (1.0 - self.epsi - self.delta) * lost,
            ("zoo", "amm"): self.epsi * lost,
            ("zoo", "ldn"): self.delta * lost,
            ("amm", "bac"): uptake * taken,
            ("ldn", "bac"): uptake * ldn,
        }

    def _growth(self, pools: Pools, environment: Environment) -> tuple[CenterArray, CenterArray, CenterArray]:
        """Growth in this light [s-1], and its limitation by nitrate and by ammonium [1]."""
        slope, nitrate, ammonium = (
            self.alpha * environment.light,
            pools["nit"] / self.k1,
            pools["amm"] / self.k2,
        )
        growth = self.vp / DAY * slope / safe_sqrt(self.vp**2 + slope**2)
        supply = 1.0 + nitrate + ammonium
        return growth, nitrate / supply, ammonium / supply

    def _grazing(
        self, phy: CenterArray, zoo: CenterArray, bac: CenterArray, det: CenterArray
    ) -> dict[str, CenterArray]:
        """Ingestion of each food [mmol m-3 s-1]; zero without food."""
        food = {"phy": (self.r1, phy), "bac": (self.r2, bac), "det": (self.r3, det)}
        total = sum(self.k3 * r * c + r * c**2 for r, c in food.values())
        some = total > 0.0
        rate = self.gmax / DAY * (zoo + self.z0) / jnp.where(some, total, 1.0)
        return {name: jnp.where(some, rate * r * c**2, 0.0) for name, (r, c) in food.items()}
