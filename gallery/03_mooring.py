"""
A mooring and the mixed layer
=============================

**Does the column follow the mixed layer that a mooring measures?**

The configuration of the synthetic station reads an OceanSITES file with temperature and salinity at
eleven depths, runs a year from its first profiles, and keeps the observations beside the case.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.config import build_run, load_run

tl.configure()
path = Path(tl.__file__).parents[1] / "configs/runs/synthetic_station.yaml"
station = build_run(load_run(path))
run = tl.simulate(station.model, station.case, dt=station.dt, output_interval=86400.0)
NAME = "mixed_layer_depth_0.5K_from_10m"
modelled = tl.diagnose(run, station.case, [NAME])[NAME]

# %%
# A mooring has gaps: every measured profile is interpolated between the instruments that worked.

days, z = np.asarray(station.observations.time) / 86400.0, np.asarray(station.observations.z)
levels = np.linspace(-140.0, -10.0, 261)
measured = []
for profile in np.asarray(station.observations.profiles["temperature"]):
    known = np.isfinite(profile)
    water = np.interp(levels, z[known], profile[known])
    measured.append(-max(levels[water < water[-1] - 0.5], default=-140.0))
difference = np.interp(days, run.time / 86400.0, modelled) - measured
median = np.median(np.abs(difference))
assert abs(median - 6.6) < 0.5

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(days, measured, "k.", ms=3, label="mooring")
ax.plot(run.time / 86400.0, modelled, "C3", label="k-epsilon")
ax.set(xlabel="day", ylabel="mixed-layer depth [m]", ylim=(145, 0), title=f"Median difference {median:.1f} m")
ax.legend()
