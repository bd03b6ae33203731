"""
Your own large-eddy simulation
==============================

**Which closure comes closest to my simulation?**

Horizontal means of a large-eddy simulation fit into a small NetCDF file: profiles of temperature
and velocity over time, and the surface fluxes. This example writes such a file with
`write_observations`, here with the synthetic profiles that the package ships, reads it back and
compares three closures with it. Those profiles come from k-epsilon with other constants, so that
k-epsilon has an advantage that it will not have with your simulation.
"""

import tempfile
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.closures import CATKE, KPP
from tunax_lite.io import read_cf_netcdf, resolve, write_observations

tl.configure()
shipped, means = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
path = Path(tempfile.mkdtemp()) / "my_les.nc"
write_observations(path, shipped, means)

# %%
# The configuration of a run may name the same file: ``case: {format: cf_netcdf, path: my_les.nc}``.

case, observed = read_cf_netcdf(path)
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(observed.profiles["temperature"][-1], observed.z, "k.", label="simulation")
errors = {}
for closure in (tl.KEpsilon(), KPP(), CATKE()):
    run = tl.simulate(tl.Model(closure), case, dt=300.0, output_interval=3600.0)
    difference = run.state.temperature - observed.profiles["temperature"]
    name = type(closure).__name__
    errors[name] = 1e3 * float(jnp.sqrt(jnp.mean(difference**2)))
    ax.plot(run.state.temperature[-1], run.grid.z_center, label=f"{name}, {errors[name]:.0f} mK")
assert min(errors, key=errors.get) == "KEpsilon" and abs(errors["KEpsilon"] - 16.0) < 1.0
ax.set(xlabel="temperature [°C]", ylabel="z [m]", title="After two days; errors of all profiles")
ax.legend()
