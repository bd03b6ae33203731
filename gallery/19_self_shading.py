"""
Algae that warm the sea
=======================

**How much warmer does a bloom make the surface?**

Algae absorb visible light. With `shading` the heat of the sun stays where they are: the surface becomes
warmer, the water below colder, and the mixed layer shallower. Two runs differ by this feedback alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry

tl.configure()
DAY = 86400.0
grid = tl.Grid.uniform(depth=80.0, n_cells=80)
water = tl.State.from_profiles(grid, temperature=lambda z: 10.0 + 0.02 * z)
sun = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.03, heat_flux=-110.0, shortwave_flux=180.0))
runs = {}
for shading in (False, True):
    life = Biogeochemistry({"npzd": NPZD(gmax=0.4, kc=0.06, w_p=-0.2, rdn=0.05)}, shading=shading)
    start = life.with_pools(water, {"npzd_nut": 8.0, "npzd_phy": 0.5, "npzd_zoo": 0.1, "npzd_det": 0.0})
    case = tl.Case(grid, start, sun, coriolis_parameter=1.2e-4, terms={"life": life}, duration=40 * DAY)
    runs[shading] = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=900.0, output_interval=0.5 * DAY)

# %%
# The light that reaches the deep water is missing there; the heat of the column is the same.

shaded, clear = runs[True].state.temperature, runs[False].state.temperature
warming = np.asarray(shaded - clear)
days = np.asarray(runs[True].time) / DAY
assert 1.2 < warming[:, -1].max() < 1.6 and abs(warming[-1].sum()) < 1e-10 * np.abs(warming[-1]).sum()
figure, axes = plt.subplots(2, 1, figsize=(6.5, 5.6), sharex=True, layout="constrained")
algae = axes[0].pcolormesh(
    days, grid.z_center, runs[True].state.tracers["npzd_phy"].T, cmap="YlGn", shading="nearest"
)
figure.colorbar(algae, label="phytoplankton [mmol m$^{-3}$]")
largest = np.abs(warming).max()
heat = axes[1].pcolormesh(
    days, grid.z_center, warming.T, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="nearest"
)
figure.colorbar(heat, label="effect on temperature [K]")
axes[0].set(ylabel="z [m]", title=f"The surface becomes {warming[:, -1].max():.1f} K warmer")
axes[1].set(xlabel="time [d]", ylabel="z [m]")
