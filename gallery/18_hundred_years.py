"""
A hundred years
===============

**How long does a column take to reach its equilibrium?**

The heat flux of this column has a seasonal cycle and a feedback of 20 W m-2 K-1 to an air
temperature of 12 °C. A custom forcing is a class with one method, so that no file covering a
hundred years is needed.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl

YEAR = 365 * 86400.0


class Seasons(tl.AbstractForcing):
    def at(self, time, water=None):
        season = jnp.cos(2.0 * jnp.pi * time / YEAR)
        heat = -150.0 * season + 20.0 * (12.0 - water.temperature)
        return tl.SurfaceFluxes(stress_u=0.1 + 0.06 * season, heat_flux=heat)

    def check_covers(self, start, end):
        """This forcing covers all times."""


tl.configure()
grid = tl.Grid.stretched(depth=300.0, n_cells=40, surface_zoom=2.0)
water = tl.State.from_profiles(grid, temperature=5.0)
case = tl.Case(
    grid, water, Seasons(), coriolis_parameter=1e-4, background_diffusivity=1e-4, duration=100 * YEAR
)
run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=3600.0, output_interval=YEAR / 4)

# %%
# 876 000 steps. The deep water approaches its temperature exponentially.

years = np.asarray(run.time) / YEAR
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for depth in (0, 50, 100, 200, 290):
    level = int(np.argmin(np.abs(np.asarray(grid.z_center) + depth)))
    mean = np.convolve(run.state.temperature[:, level], np.ones(4) / 4, "valid")
    ax.plot(years[2:-1], mean, label=f"{depth} m")
ax.set(xlabel="year", ylabel="annual mean temperature [°C]")
ax.legend(title="depth", ncols=2)

adjusting = mean < mean[-1] - 0.37 * (mean[-1] - mean[0])
time_scale = years[2:-1][adjusting][-1]
assert abs(time_scale - 10.0) < 1.0
ax.set_title(f"The bottom water needs {time_scale:.0f} years for 63 % of its change")
