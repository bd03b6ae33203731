"""
Your own large-eddy simulation
==============================

**Which constants bring k-epsilon closest to my simulation?**

Horizontal means of a large-eddy simulation fit into a small NetCDF file: profiles of temperature
and velocity over time, and the surface fluxes. This example writes such a file with
xarray, reads it back and calibrates two constants of k-epsilon on it. The synthetic
profiles that stand for a simulation come from k-epsilon with other constants.
"""

import tempfile
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import tunax_lite as tl
from tunax_lite.calibration import FreeParameter, FreeParameters, LevenbergMarquardt, Target, calibrate
from tunax_lite.io import read_cf_netcdf, resolve

tl.configure()
shipped, means = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
path = Path(tempfile.mkdtemp()) / "my_les.nc"
units = {"temperature": "degC", "u": "m s-1", "v": "m s-1"}
water, forcing = shipped.equation_of_state, shipped.forcing
assert isinstance(forcing, tl.TimeSeriesForcing)
arrays: dict[str, tuple] = {
    name: (("time", "z"), np.asarray(means.profiles[name]), {"units": units[name]}) for name in units
}
for name, unit in {"stress_u": "N m-2", "stress_v": "N m-2", "heat_flux": "W m-2"}.items():
    arrays[f"surface_{name}"] = ("flux_time", np.asarray(getattr(forcing.fluxes, name)), {"units": unit})
coordinates = {
    "time": ("time", np.asarray(means.time), {"units": "s"}),
    "flux_time": ("flux_time", np.asarray(forcing.time), {"units": "s", "axis": "T"}),
    "z": ("z", np.asarray(means.z), {"units": "m", "positive": "up"}),
}
constants = {"coriolis_parameter": float(shipped.coriolis_parameter)}
for name in ("thermal_expansion", "gravity", "reference_density", "heat_capacity"):
    constants[name] = float(getattr(water, name))
xr.Dataset(arrays, coordinates, constants).to_netcdf(path)

# %%
# The configuration of a run may name the same file: ``case: {format: cf_netcdf, path: my_les.nc}``.

case, observed = read_cf_netcdf(path)
free = FreeParameters(
    (FreeParameter("c_eps_1", 1.2, 1.7), FreeParameter("length_limit", 0.1, 1.0, scale="log"))
)
target = Target(case, observed, dt=300.0, weights={"temperature": 1.0})
result = calibrate(tl.Model(tl.KEpsilon()), free, [target], LevenbergMarquardt(), n_iterations=6)

# %%
# One simulation cannot show whether the constants hold elsewhere: leave others out with
# ``tunax-lite cross-validate``.

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(observed.profiles["temperature"][-1], observed.z, "k.", label="simulation")
errors = {}
for label, closure in {"default": tl.KEpsilon(), "calibrated": result.closure}.items():
    run = tl.simulate(tl.Model(closure), case, dt=300.0, output_interval=3600.0)
    difference = run.state.temperature - observed.profiles["temperature"]
    errors[label] = 1e3 * float(jnp.sqrt(jnp.mean(difference**2)))
    ax.plot(run.state.temperature[-1], run.grid.z_center, label=f"{label}, {errors[label]:.0f} mK")
assert errors["calibrated"] < 0.7 * errors["default"]
ax.set(xlabel="temperature [°C]", ylabel="z [m]", title="After two days; errors of all profiles")
ax.legend()
