"""
Weather and bulk formulae
=========================

**How much do bulk formulae differ over a year?**

`read_weather` reads a table of wind, temperature, humidity, pressure and clouds. A `BulkForcing`
computes the fluxes from this weather and the water's own surface, so that a surface that is too
warm loses more heat.
"""

import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.air_sea import BulkForcing, Clark, ClearSky, Coare36, Kondo, LargeYeager, Payne, SolarPosition
from tunax_lite.io import read_weather, resolve

tl.configure()
start = "2015-03-01T00:00:00"
no_radiation = {"shortwave": None, "longwave": None}  # formulae compute it
path = resolve("synthetic:station_weather")
weather, humidity_measure = read_weather(path, start_time=start, **no_radiation)
sun = SolarPosition(latitude=48.0, longitude=-9.0, start_time=start)
grid = tl.Grid.stretched(depth=150.0, n_cells=40, surface_zoom=1.5)
water = tl.State.from_profiles(grid, temperature=11.0, salinity=35.5)

# %%
# One column for each formula; all else is equal.

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
warmest = {}
for bulk in (Kondo(), LargeYeager(), Coare36()):
    air_sea = {"longwave": Clark(), "shortwave": ClearSky(), "albedo": Payne(), "sun": sun}
    forcing = BulkForcing(weather, bulk, humidity_measure=humidity_measure, **air_sea)
    case = tl.Case(grid, water, forcing, latitude=48.0, start_time=start, duration=360 * 86400.0)
    run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=1800.0, output_interval=86400.0)
    surface, name = run.state.temperature[:, -1], type(bulk).__name__
    warmest[name] = float(surface.max())
    ax.plot(run.time / 86400.0, surface, label=f"{name}: up to {warmest[name]:.1f} °C")
assert abs(warmest["Kondo"] - warmest["LargeYeager"] - 0.53) < 0.05  # K
ax.set(xlabel="day since 1 March 2015", ylabel="surface temperature [°C]")
ax.legend()
