"""
Yesterday's analysis, tomorrow's forecast
=========================================

**How far ahead is a forecast from daily surface temperatures better than persistence?**

A twin experiment: the true heat flux differs from the known one by a slow error. Each day the surface
temperature is observed with an error of 0.1 K; an ensemble filter changes water and flux, and a forecast
begins.
"""

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
    Persistence,
    Process,
    ProfileError,
    Stream,
    System,
)

tl.configure()
DAY, N_DAYS = 86400.0, 60
random = np.random.default_rng(8)


def rms_of(found, lead, stream=0):
    """Of the forecasts of one lead [K]."""
    skill = found.skill(lead, stream)
    assert skill is not None
    return skill.rms


def process(size, memory):
    """An autoregressive process, one value a day; memory [d]."""
    values = [0.0]
    for noise in random.normal(size=N_DAYS + 10):
        kept = np.exp(-1.0 / memory)
        values.append(kept * values[-1] + size * np.sqrt(1.0 - kept**2) * noise)
    return np.array(values)


weather, error = process(150.0, 4.0), process(60.0, 15.0)  # W m-2, known and not
knots = DAY * np.arange(weather.size)
grid = tl.Grid.uniform(depth=60.0, n_cells=24)
water = tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.06 * z)
fluxes = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.08, heat_flux=40.0))
known, true = (
    tl.CorrectedForcing(fluxes, knots, heat_flux_bias=jnp.asarray(each))
    for each in (weather, weather + error)
)
duration = (N_DAYS + 10) * DAY
model = tl.Model(tl.KEpsilon())
truth = tl.simulate(
    model,
    tl.Case(grid, water, true, coriolis_parameter=1e-4, duration=duration),
    dt=1800.0,
    output_interval=DAY,
)
surface = np.asarray(truth.state.temperature[1 : N_DAYS + 1, -1])
days = np.arange(1.0, N_DAYS + 1.0)
seen = Stream(
    Operator("sea_surface_temperature"),
    days * DAY,
    surface + 0.1 * random.normal(size=N_DAYS),
    np.full(N_DAYS, 0.1),
)

# %%
# The forecast keeps what the filter has found of the flux, and lets it decay with its memory.

system = System(
    model, tl.Case(grid, water, known, coriolis_parameter=1e-4, duration=duration), 1800.0, (seen.operator,),
    (Process("heat_flux_bias", 60.0, 15.0 * DAY),), (ProfileError("temperature", 0.3, 20.0),),
)  # fmt: skip
leads = np.array([1.0, 3.0, 6.0, 10.0])
cycles = Cycles(0.0, N_DAYS * DAY, leads=tuple(leads * DAY), judged_from=10.0 * DAY)
methods = {"free run": FreeRun(), "persistence": Persistence(), "ensemble filter": EnsembleTransform(20)}
found = {name: Assimilation(system, (seen,), method, cycles).run() for name, method in methods.items()}
rms = {name: [rms_of(each, place) for place in range(leads.size)] for name, each in found.items()}
assert rms["ensemble filter"][-1] < 0.8 * min(rms["persistence"][-1], rms["free run"][-1])
figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
for name, values in rms.items():
    axes[0].plot(leads, values, "o-", label=name)
axes[0].set(xlabel="lead [d]", ylabel="rms [K]", ylim=(0.0, None))
axes[0].legend()
statistics = found["ensemble filter"].by_cycle
bias, spread = statistics.processes[:, 0], statistics.processes_spread[:, 0]
axes[1].fill_between(days, bias - spread, bias + spread, alpha=0.3, lw=0)
axes[1].plot(days, bias, label="found")
axes[1].plot(days, error[1 : N_DAYS + 1], "k", label="true")
axes[1].set(xlabel="time [d]", ylabel="error of the heat flux [W m$^{-2}$]")
axes[1].legend()
axes[0].set_title(f"after {leads[-1]:.0f} days: {rms['ensemble filter'][-1]:.2f} K")
