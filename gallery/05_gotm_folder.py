"""
A set-up of GOTM
================

**Does my GOTM set-up run here, and what changes?**

`load_gotm` translates a `gotm.yaml`, and reports every setting that is not supported; `build_gotm`
reads the files that it names, and returns a model and a case. This example writes its own small
set-up: wind over linearly stratified water. Rotation ends the deepening within half a pendulum day,
at 1.7 u*/√(N f).
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.extensions.gotm import build_gotm, load_gotm

tl.configure()
folder = Path(tempfile.mkdtemp())
(folder / "profile.dat").write_text("2000-01-01 00:00:00 2 2\n 0.0 20.0\n -50.0 15.0\n")
(folder / "gotm.yaml").write_text("""\
version: 7
title: wind over stratified water
location: {latitude: 45.0, longitude: 0.0, depth: 50.0}
time: {start: 2000-01-01 00:00:00, stop: 2000-01-02 06:00:00, dt: 60.0}
grid: {nlev: 100}
temperature: {method: file, file: profile.dat, type: conservative}
salinity: {method: constant, constant_value: 35.0, type: absolute}
surface: {fluxes: {tx: {method: constant, constant_value: 0.1}}}
equation_of_state: {method: linear_custom, rho0: 1027.0, linear: {alpha: 2.0e-4, beta: 0.0}}
turbulence: {turb_method: second_order, tke_method: tke, len_scale_method: dissipation}
output: {wind: {time_unit: hour, time_step: 1, variables: [{source: temp}]}}
""")

# %%
# The set-up gives model, case and times; from here on it is a run like any other.

made = build_gotm(load_gotm(folder / "gotm.yaml"))
made.report.check()  # raises if a setting that changes the result is not supported
print("\n".join(made.report.lines()[:3]))
run = tl.simulate(made.run.model, made.run.case, dt=made.run.dt, output_interval=made.run.output_interval)
depth = [float(tl.mixed_layer_depth(temperature, run.grid)) for temperature in run.state.temperature]
assert abs(depth[-1] - 14.0) < 0.3

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(run.time / 3600.0, depth, label=type(made.run.model.closure).__name__)
velocity, stability, rotation = (0.1 / 1027.0) ** 0.5, (9.81 * 2e-4 * 0.1) ** 0.5, 1.03e-4
limit = 1.7 * velocity / (stability * rotation) ** 0.5
ax.axhline(limit, color="k", ls="--", label=f"Pollard et al. (1973): {limit:.1f} m")
ax.set(xlabel="time [h]", ylabel="mixed-layer depth [m]", ylim=(16, 0))
ax.legend()
