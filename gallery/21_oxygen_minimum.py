"""
An oxygen minimum of your own
=============================

**At which depth does the oxygen run short?**

Detritus sinks out of the mixed layer and consumes oxygen as it decays: a model of a dozen lines, coupled to
the exchange of `Oxygen` with the air. The tracer `Age` tells how long ago the water was at the surface. The
bottom renews the oxygen, as deep currents do.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.extensions.biogeochemistry import (
    AbstractBiogeochemicalModel,
    Age,
    Biogeochemistry,
    Oxygen,
    Pool,
)

DAY, YEAR = 86400.0, 365.0 * 86400.0


class Snow(AbstractBiogeochemicalModel):
    export: tl.Scalar = tl.parameter(20.0, unit="mmol m-2 d-1", valid_range=(0.0, 100.0))
    sinking: tl.Scalar = tl.parameter(10.0, unit="m d-1", valid_range=(0.0, 100.0))
    decay: tl.Scalar = tl.parameter(0.05, unit="d-1", valid_range=(0.0, 1.0))

    def pools(self):
        return (Pool("det", "mmol m-3", "carbon of detritus", 0.0),)

    def links(self):
        return ("oxy",)

    def velocities(self, pools, environment):
        return {"det": -self.sinking / DAY}

    def rates(self, pools, environment):
        decay = self.decay / DAY * pools["det"]
        scarce = pools["oxy"] / (pools["oxy"] + 5.0)  # bacteria stop without oxygen
        return {("det", None): scarce * decay, ("oxy", None): scarce * decay}

    def through_surface(self, pools, environment):
        return {(None, "det"): self.export / DAY + 0.0 * pools["det"]}

    def through_bottom(self, pools, environment):
        renewal = environment.thickness / (5.0 * DAY)
        return {(None, "oxy"): 200.0 * renewal + 0.0 * pools["oxy"], ("oxy", None): renewal * pools["oxy"]}


class TradeWind(tl.AbstractForcing):
    def at(self, time, water=None):
        heat = 20.0 * (25.0 - water.temperature)
        return tl.SurfaceFluxes(stress_u=0.08, heat_flux=heat)

    def wind_speed(self, time, water=None):
        return jnp.asarray(7.0)

    def check_covers(self, start, end):
        """This forcing covers all times."""


tl.configure()
models = {"snow": Snow(), "gas": Oxygen(), "water": Age(renewal_time=DAY)}
life = Biogeochemistry(models, couplings=("snow_oxy = gas_oxy",), open_bottom=True)
grid = tl.Grid.stretched(depth=800.0, n_cells=80, surface_zoom=2.0)
water = tl.State.from_profiles(grid, temperature=lambda z: 5.0 + 20.0 * jnp.exp(z / 150.0), salinity=35.0)
case = tl.Case(
    grid,
    life.with_pools(water, {"gas_oxy": 200.0}),
    TradeWind(),
    coriolis_parameter=3e-5,
    background_diffusivity=1e-4,
    terms={"life": life},
    duration=40 * YEAR,
)
run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=7200.0, output_interval=YEAR)

# %%
# Most of the detritus decays just below the mixed layer, where the water is young: the air renews its oxygen.
# The deep water is old, but hardly any detritus reaches it. The oxygen runs short in between.

oxygen, age = (np.asarray(run.state.tracers[name]) for name in ("gas_oxy", "water_age"))
figure, axes = plt.subplots(1, 3, figsize=(7.5, 3.8), sharey=True, layout="constrained")
for year in (2, 5, 10, 20, 40):
    axes[0].plot(oxygen[year], grid.z_center, label=f"{year}")
axes[0].legend(title="year")
axes[1].plot(run.state.tracers["snow_det"][-1], grid.z_center, "C5")
axes[2].plot(age[-1] / 365.0, grid.z_center, "C4")
labels = "oxygen [mmol m$^{-3}$]", "detritus [mmol m$^{-3}$]", "age [years]"
for ax, label in zip(axes, labels, strict=True):
    ax.set(xlabel=label)
axes[0].set(ylabel="z [m]")
deepest = float(grid.z_center[oxygen[-1].argmin()])
assert -450.0 < deepest < -250.0 and oxygen[-1].min() < 150.0 and age[-1].argmax() == 0
axes[1].set_title(f"The minimum lies at {-deepest:.0f} m")
