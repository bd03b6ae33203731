"""
Carbon dioxide and a bloom
==========================

**How much carbon does a bloom draw from the air?**

Two models in one column: what the algae of `NPZD` fix, the carbonate chemistry of `Carbonate` loses. The
water then takes up carbon dioxide from the air, far slower than the bloom consumed it.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.air_sea import BulkForcing, Kondo, Weather
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry, Carbonate, equilibrium

tl.configure()
DAY, AIR = 86400.0, 420.0
weather = {
    "wind_u": 7.0,
    "wind_v": 0.0,
    "air_temperature": 9.0,
    "humidity": 80.0,
    "air_pressure": 101300.0,
    "shortwave": 170.0,
    "longwave": -50.0,
}
forcing = BulkForcing(
    tl.TimeSeries.constant(Weather(**{name: jnp.asarray(value) for name, value in weather.items()})),
    bulk=Kondo(),
    humidity_measure="relative",
    longwave=None,
)
life = Biogeochemistry(
    {"npzd": NPZD(gmax=0.2), "carbon": Carbonate(pCO2a=AIR)}, couplings=("npzd_dic = carbon_dic",)
)
grid = tl.Grid.uniform(depth=80.0, n_cells=40)
water = tl.State.from_profiles(grid, temperature=lambda z: 9.0 + 0.03 * z, salinity=35.0)
start = life.with_pools(water, {"carbon_dic": 2205.0, "npzd_nut": 8.0, "npzd_phy": 0.1, "npzd_det": 0.0})
case = tl.Case(grid, start, forcing, coriolis_parameter=1.2e-4, terms={"life": life}, duration=120 * DAY)
run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=1800.0, output_interval=DAY)

# %%
# Partial pressure follows from carbon, alkalinity, temperature and salinity at the surface. The sum of
# dissolved carbon and that of biomass changes by nothing but the flux from the air.

state, days = run.state, np.asarray(run.time) / DAY
pressure = 1e6 * np.asarray(
    equilibrium(
        1e-6 * state.tracers["carbon_dic"][:, -1] / 1.026,
        1e-6 * (520.1 + 51.24 * state.salinity[:, -1]),
        state.temperature[:, -1],
        state.salinity[:, -1],
    ).pressure
)
biomass = sum(state.tracers[f"npzd_{name}"] for name in ("phy", "zoo", "det"))
thickness = grid.cell_thickness  # [m]
content = np.asarray((state.tracers["carbon_dic"] + 106.0 / 16.0 * biomass) @ thickness)
from_air = 1e-3 * (content - content[0])
in_biomass = 1e-3 * 106.0 / 16.0 * np.asarray(biomass @ thickness)
assert 2.0 < in_biomass.max() / from_air[-1] < 10.0 and pressure.min() < 320.0
figure, axes = plt.subplots(2, 1, figsize=(6.5, 5.0), sharex=True, layout="constrained")
axes[0].plot(days, pressure, label="water at the surface")
axes[0].axhline(AIR, color="k", ls="--", label="air")
axes[0].set(ylabel="CO$_2$ [µatm, ppm]")
axes[0].legend()
axes[1].plot(days, in_biomass, "C2", label="in biomass and detritus")
axes[1].plot(days, from_air, "C3", label="taken up from the air")
axes[1].set(xlabel="time [d]", ylabel="carbon [mol m$^{-2}$]")
axes[1].legend()
axes[0].set_title(f"{from_air[-1]:.2f} mol m$^{{-2}}$ of carbon came from the air")
