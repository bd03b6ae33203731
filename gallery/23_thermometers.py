"""
How deep does the surface temperature reach?
============================================

**Which depths does a satellite correct, and which need a thermometer?**

A twin experiment: heat and wind of the column are wrong by slow errors. The surface temperature alone is
assimilated, then also a thermometer in the thermocline; values at all other depths are withheld and judge.
"""

import dataclasses

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.extensions.assimilation import (
    Assimilation,
    Cycles,
    EnsembleTransform,
    FreeRun,
    Operator,
    Process,
    ProfileError,
    Stream,
    System,
)

tl.configure()
DAY, N_DAYS, THERMOCLINE = 86400.0, 40, 9


def rms_of(found, lead, stream=0):
    """Of the forecasts of one lead [K]."""
    skill = found.skill(lead, stream)
    assert skill is not None
    return skill.rms


random = np.random.default_rng(3)
knots = np.arange(N_DAYS + 1.0)
heat, wind = 40.0 + 40.0 * np.sin(knots / 6.0), 0.3 * np.cos(knots / 4.0)
grid = tl.Grid.uniform(depth=50.0, n_cells=20)
water = tl.State.from_profiles(grid, temperature=lambda z: 14.0 + 0.08 * z)
known = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.15, heat_flux=20.0))
duration = N_DAYS * DAY
model, factor = tl.Model(tl.KEpsilon()), jnp.exp(jnp.asarray(wind))
true = tl.CorrectedForcing(known, DAY * knots, heat_flux_bias=jnp.asarray(heat), stress_scale=factor)
truth = tl.simulate(
    model,
    tl.Case(grid, water, true, coriolis_parameter=1e-4, duration=duration),
    dt=1800.0,
    output_interval=DAY,
)
z, time = np.asarray(grid.z_center), np.asarray(truth.time[1:])
values = np.asarray(truth.state.temperature[1:]) + 0.05 * random.normal(size=(N_DAYS, z.size))
streams = tuple(
    Stream(Operator("temperature", float(height)), time, column, np.full(N_DAYS, 0.05))
    for height, column in zip(z, values.T, strict=True)
)
system = System(
    model,
    tl.Case(grid, water, known, coriolis_parameter=1e-4, duration=duration),
    1800.0,
    tuple(each.operator for each in streams),
    (Process("heat_flux_bias", 60.0, 15.0 * DAY), Process("stress_scale", 0.3, 10.0 * DAY)),
    (ProfileError("temperature", 0.2, 10.0),),
)
cycles = Cycles(0.0, N_DAYS * DAY, judged_from=10.0 * DAY)

# %%
# One uncertain column, three ways: a stream that is withheld only judges.

experiments = {"nothing": (), "surface": (z.size - 1,), "surface and thermocline": (THERMOCLINE, z.size - 1)}
figure, axes = plt.subplots(figsize=(5.0, 4.5), layout="constrained")
deep = {}
for name, used in experiments.items():
    seen = tuple(dataclasses.replace(one, withheld=place not in used) for place, one in enumerate(streams))
    found = Assimilation(system, seen, EnsembleTransform(20) if used else FreeRun(), cycles).run()
    rms = [rms_of(found, 0, place) for place in range(z.size)]
    deep[name] = rms[THERMOCLINE - 1]
    axes.plot(rms, z, label=name)
assert deep["surface and thermocline"] < deep["surface"] < deep["nothing"]
axes.set(xlabel="rms of the next day's forecast [K]", ylabel="height [m]", xlim=(0.0, None))
axes.set_title(f"at {z[THERMOCLINE - 1]:.0f} m: " + ", ".join(f"{each:.2f}" for each in deep.values()) + " K")
axes.legend(title="assimilated")
