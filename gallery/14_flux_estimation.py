"""
Estimating a flux
=================

**Can profiles tell what is wrong with the heat flux?**

A `CorrectedForcing` adds a bias to a flux, linear between knots. Its values are free parameters
with a prior, and Levenberg-Marquardt finds them. In this twin experiment the true bias is known.
"""

import dataclasses

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.calibration import (
    CorrelatedNormal,
    FreeParameter,
    FreeParameters,
    LevenbergMarquardt,
    MeanSquare,
    Target,
    calibrate,
)

tl.configure()
DAY = 86400.0
knots = np.arange(0.0, 31.0, 5.0) * DAY
truth = 40.0 * np.sin(2.0 * np.pi * knots / knots[-1])  # W m-2
grid = tl.Grid.uniform(depth=60.0, n_cells=30)
fluxes = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.05, heat_flux=20.0))
case = tl.Case(
    grid,
    tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.05 * z),
    tl.CorrectedForcing.neutral(fluxes, ["heat_flux_bias"], knots),
    coriolis_parameter=1e-4,
    duration=30 * DAY,
    name="twin",
)
model = tl.Model(tl.KEpsilon())

# %%
# The observations are a run with the true bias, once a day, with noise of 0.05 K.

true_case = dataclasses.replace(case, forcing=dataclasses.replace(case.forcing, heat_flux_bias=truth))
run = tl.simulate(model, true_case, dt=1800.0, output_interval=DAY)
noise = 0.05 * np.random.default_rng(0).normal(size=run.state.temperature.shape)
observed = tl.Observations(run.time, grid.z_center, {"temperature": run.state.temperature + noise})
prior = CorrelatedNormal(0.0, 50.0, length=5 * DAY)
free = FreeParameters((FreeParameter("cases.twin.forcing.heat_flux_bias", prior=prior),))
weight = 2.0 * 0.05**2 / noise.size  # of the prior, against a mean square with this noise
options = {"score": MeanSquare(), "prior_weight": weight}
result = calibrate(model, free, [Target(case, observed, dt=1800.0)], LevenbergMarquardt(), 6, **options)
found = np.array(list(result.best.values()))
error = float(jnp.sqrt(jnp.mean((found - truth) ** 2)))
assert error < 8.0

figure, ax = plt.subplots(figsize=(6.5, 3.3), layout="constrained")
ax.plot(knots / DAY, truth, "k", label="truth")
ax.plot(knots / DAY, found, "C3o", label="estimate")
ax.set(xlabel="day", ylabel="bias of the heat flux [W m$^{-2}$]", title=f"rms error {error:.1f} W m$^{{-2}}$")
ax.legend()
