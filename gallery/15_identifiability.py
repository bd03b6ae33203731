"""
Jacobian and identifiability
============================

**Which constants can these profiles tell apart?**

The Jacobian of all profiles by the constants is computed in forward mode, a few constants at a
time. Two constants whose columns are parallel change the profiles alike: no observation of this
case distinguishes them. Here all six are nearly parallel, so that two days of one column determine
one combination of them. More cases tell them apart.
"""

import equinox as eqx
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.io import read_cf_netcdf, resolve

tl.configure()
case, _ = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
names = ("c_eps_1", "c_eps_2", "sigma_k", "sigma_eps", "length_limit", "surface_roughness_length")
start = {name: getattr(tl.KEpsilon(), name) for name in names}


def temperature(parameters, case):
    closure = eqx.tree_at(
        lambda c: [getattr(c, name) for name in names], tl.KEpsilon(), [parameters[n] for n in names]
    )
    run = tl.simulate(
        tl.Model(closure),
        case,
        dt=300.0,
        duration=172800.0,
        output_interval=7200.0,
        checkpointing=tl.SaveEverything(),
    )
    return run.state.temperature


result = tl.jacobian(temperature, start, case.unlabelled())
print(result.plan)

# %%
# Columns are in alphabetical order of the names; each is scaled by its parameter.

ordered = sorted(names)
scaled = np.asarray(result.matrix) * [float(start[name]) for name in ordered]
size = np.linalg.norm(scaled, axis=0)
cosine = (scaled / size).T @ (scaled / size)
assert np.abs(cosine).min() > 0.9  # every pair is nearly parallel

figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
image = ax.imshow(cosine, vmin=-1.0, vmax=1.0, cmap="RdBu_r")
ax.set_xticks(range(6), ordered, rotation=30, ha="right")
ax.set_yticks(range(6), ordered)
for i, j in np.ndindex(cosine.shape):
    ax.text(j, i, f"{cosine[i, j]:.2f}", ha="center", va="center", color="w", fontsize="small")
figure.colorbar(image, label="cosine of the angle between columns [1]")
