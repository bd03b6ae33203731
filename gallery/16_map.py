"""
Columns on a map
================

**How deep is the mixed layer of a whole basin?**

A map is a configuration that names gridded files. The columns run in tiles and
write one Zarr store, which xarray opens. The ocean of this example is synthetic and small: 89
columns, a month of weather.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import xarray as xr

import tunax_lite as tl
from tunax_lite.extensions.maps import build_map, create_store, load_map, planned, run_map
from tunax_lite.runtime.engine import ThisProcess

tl.configure()
path = Path(tl.__file__).parents[1] / "configs/maps/synthetic.yaml"
settings = ["model.closure.name=pacanowski_philander", "map.temperature_kind=conservative"]
basin = build_map(load_map(path, settings))
store = Path(tempfile.mkdtemp()) / "basin.zarr"
report = run_map(basin, create_store(store, basin, planned(basin)), ThisProcess())

# %%
# On the command line: ``tunax-lite map configs/maps/synthetic.yaml --output basin.zarr``.

depth = xr.open_zarr(store, chunks=None).mixed_layer_depth.isel(time=-1)
assert basin.columns.n_columns == 89 and not report.broken
assert abs(float(depth.median()) - 40.0) < 1.0
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
depth.plot(ax=ax, cmap="viridis_r", cbar_kwargs={"label": "mixed-layer depth after a month [m]"})
ax.set(title="", xlabel="longitude [°]", ylabel="latitude [°]")
