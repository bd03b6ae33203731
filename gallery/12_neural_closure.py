"""
A neural closure
================

**Can a small network correct a closure?**

`NeuralCorrection` multiplies the coefficients of a physical closure by factors between 0.74 and
1.35 that a small network computes. Its weights are one parameter among others: `calibrate` fits
them to profiles, with gradients through the whole run. It starts as the physical closure.
"""

import math

import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.calibration import LBFGS, FreeParameter, FreeParameters, Target, calibrate
from tunax_lite.closures import NeuralCorrection
from tunax_lite.io import read_cf_netcdf, resolve

tl.configure()
case, observed = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
target = Target(case, observed, dt=600.0, time_window=(7200.0, math.inf))
model = tl.Model(NeuralCorrection(physical=tl.KEpsilon(), seed=0))
result = calibrate(model, FreeParameters((FreeParameter("weights"),)), [target], LBFGS(), 30)

# %%
# The figure shows the error after every evaluation.

loss = 1e3 * result.history.loss
assert abs(loss[0] - 14.6) < 0.2 and 1e3 * result.best_loss < 5.0
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(loss, ".-")
ax.axhline(loss[0], color="k", lw=0.8, ls="--", label="k-epsilon")
ax.set(xlabel="evaluation", ylabel="rms error of temperature [mK]", ylim=(0, None))
ax.set_title(f"{loss[0]:.1f} mK before, {1e3 * result.best_loss:.1f} mK after")
ax.legend()
