"""
Laplace and NUTS
================

**How well do these observations determine the constants?**

`infer` returns the distribution of the constants given the observations: from the curvature at the
most probable values (Laplace, in seconds) or from samples of the exact posterior (NUTS).
"""

import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.calibration import FreeParameter, FreeParameters, Target
from tunax_lite.calibration.posterior import NUTS, Laplace, Likelihood, infer, intervals
from tunax_lite.io import read_cf_netcdf, resolve

tl.configure()
case, observed = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
case = case.on(tl.Grid.uniform(depth=96.0, n_cells=24))
target = Target(case, observed, dt=600.0, time_window=(7200.0, 86400.0), frame_interval=7200.0)
free = FreeParameters(
    (FreeParameter("alpha", 1.0, 20.0), FreeParameter("viscosity_scale", 1e-3, 0.3, scale="log"))
)
model = tl.Model(tl.PacanowskiPhilander())
laplace = infer(model, free, [target], Laplace())
errors = Likelihood(laplace.noise, laplace.n_observations)
nuts = infer(model, free, [target], NUTS(100, 150), likelihood=errors, start=laplace["mode"].values)

# %%
# Where the posterior is narrow, both agree.

figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for ax, path in zip(axes, laplace["parameter"].values, strict=True):
    values = [posterior[path].values for posterior in (nuts, laplace)]
    bins = np.histogram_bin_edges(values[0], 12)
    for name, sample in zip(("NUTS", "Laplace"), values, strict=True):
        ax.hist(np.ravel(sample), bins, density=True, histtype="step", label=name)
    ax.set(xlabel=f"{path} [{laplace[path].units}]", ylabel="probability density")
axes[0].legend()
low, high = intervals(nuts, 0.9)["alpha"]
assert abs(low - 3.0) < 0.7 and abs(high - 8.3) < 1.0
axes[0].set_title(f"90 %: {low:.1f} to {high:.1f}")
