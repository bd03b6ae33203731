"""
First run
=========

**How deep do wind and cooling mix the water in two days?**

The file is one of those that the package ships: profiles and surface fluxes of a synthetic column.
The reader returns the case and its observations; `simulate` runs the k-epsilon closure on the grid
of the file.
"""

import jax
import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.io import read_cf_netcdf, resolve

tl.configure()  # before the first array: float64, compiled programs kept
case, observed = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=60.0, output_interval=3600.0)

# %%
# The mixed layer ends where the water is 0.2 K colder or warmer than at 10 m.

depth = jax.vmap(lambda temperature: tl.mixed_layer_depth(temperature, run.grid))(run.state.temperature)
assert abs(depth[-1] - 50.0) < 1.0

hours = run.time / 3600.0
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
section = ax.pcolormesh(hours, run.grid.z_center, run.state.temperature.T, shading="nearest")
ax.plot(hours, -depth, "w", label="mixed layer")
ax.set(xlabel="time [h]", ylabel="z [m]", title=f"After two days the mixed layer is {depth[-1]:.0f} m deep")
ax.legend(loc="lower left", labelcolor="w", frameon=False)
figure.colorbar(section, label="temperature [°C]")
