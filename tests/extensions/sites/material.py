"""Files in the formats that services publish."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray as xr

from tests.cli.running import invoked
from tests.io import test_argo as argo
from tests.io import test_era5 as era5
from tunax_lite.extensions.sites.place import Site

FROM_1950 = 22806.0  # days from 1950-01-01 to 2012-06-10
START, STOP = "2012-06-10", "2012-06-11T12:00"
TIMES = ["--start", START, "--stop", STOP]
HERE = ["--latitude", "50.1", "--longitude", "-144.9", *TIMES]


def place(folder: Path, **changes: Any) -> Site:
    start, stop = map(datetime.datetime.fromisoformat, (START, STOP))
    return dataclasses.replace(Site("papa", 50.1, -144.9, start, stop, folder), **changes)


def site(*arguments: object, code: int = 0) -> str:
    return invoked("site", *arguments, code=code).output


def write_data(folder: Path) -> Path:
    """A folder of data: two days of weather, two profiles of a float, a climatology and a sea floor."""
    for name in ("era5", "argo", "woa", "gebco"):
        (folder / name).mkdir(parents=True)
    era5.write(folder / "era5/two_days.nc")
    profiles = argo.write(folder / "argo/float.nc", 3, days=FROM_1950 + np.array([-3.0, 0.0, 5.0]))
    with netCDF4.Dataset(profiles, "a") as file:
        file["LATITUDE"][:] = [50.3, 50.1, 20.0]  # the last is far away
        file["LONGITUDE"][:] = [215.1, 215.1, 215.1]
    for month in (0, 5, 6, 7):
        atlas(month).to_netcdf(folder / f"woa/woa23_decav_t{month:02d}_01.nc")
        atlas(month, "s_an").to_netcdf(folder / f"woa/woa23_decav_s{month:02d}_01.nc")
    sea_floor().to_netcdf(folder / "gebco/grid.nc")
    return folder


def atlas(month: int, name: str = "t_an") -> xr.Dataset:
    """Temperature 10 + month - depth / 100, or salinity 34, to 200 m in months and to 1000 m in the year."""
    depth = np.array([0.0, 50.0, 100.0, 200.0, *([500.0, 1000.0] if month == 0 else [])])
    values = (10.0 + month - depth / 100.0) if name == "t_an" else np.full(depth.size, 34.0)
    grid = np.broadcast_to(values[:, None, None], (depth.size, 2, 2)).astype("f4").copy()
    grid[:, 0, 0] = np.nan  # land
    return xr.Dataset(
        {name: (("time", "depth", "lat", "lon"), grid[None], {"_FillValue": np.float32(9.96921e36)})},
        coords={
            "time": ("time", [month - 0.5], {"units": "months since 1955-01-01 00:00:00"}),
            "depth": ("depth", depth, {"units": "meters", "positive": "down"}),
            "lat": ("lat", [49.5, 50.5], {"units": "degrees_north"}),
            "lon": ("lon", [-145.5, -144.5], {"units": "degrees_east"}),
        },
    )


def sea_floor() -> xr.Dataset:
    """Elevation -1000 - 100 (latitude - 50) + 10 (longitude + 145), in whole metres."""
    latitude, longitude = np.arange(48.0, 53.0, 0.5), np.arange(-147.0, -142.0, 0.5)
    elevation = -1000.0 - 100.0 * (latitude[:, None] - 50.0) + 10.0 * (longitude + 145.0)
    attributes = {"units": "m", "standard_name": "height_above_mean_sea_level"}
    return xr.Dataset(
        {"elevation": (("lat", "lon"), elevation.astype("i2"), attributes)},
        coords={"lat": latitude, "lon": longitude},
    )
