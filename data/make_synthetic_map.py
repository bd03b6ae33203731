"""Make `data/synthetic_map.nc`: monthly weather over a small ocean with an island, its depth and its water.

    python data/make_synthetic_map.py [FOLDER]

Everything follows from formulae: winds of the trades and the westerlies, a seasonal cycle of the air that
grows with latitude, a thermocline that shoals towards the east, a shelf around the coasts.
"""

import sys
from pathlib import Path

import netCDF4
import numpy as np

LATITUDE, LONGITUDE = np.arange(10.0, 55.0, 5.0), np.arange(-70.0, -20.0, 5.0)
DEPTH = np.array([0.0, 10.0, 25.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 400.0])
MONTHS = (np.arange(12) + 0.5) * 365.0 / 12.0
AXES = {
    "time": (MONTHS, {"units": "days since 0001-01-01", "calendar": "noleap", "standard_name": "time"}),
    "depth": (DEPTH, {"units": "m", "standard_name": "depth", "positive": "down"}),
    "latitude": (LATITUDE, {"units": "degrees_north", "standard_name": "latitude"}),
    "longitude": (LONGITUDE, {"units": "degrees_east", "standard_name": "longitude"}),
}


def sea_floor() -> np.ndarray:
    """Depth of the sea [m]: a basin with a shelf around it, and an island; not a number on land."""
    latitude, longitude = np.meshgrid(LATITUDE, LONGITUDE, indexing="ij")
    to_coast = np.minimum(longitude + 72.0, -23.0 - longitude) + 0.2 * (latitude - 10.0)
    to_island = np.hypot(latitude - 30.0, longitude + 45.0)
    depth = np.minimum(60.0 * np.minimum(to_coast, to_island), 380.0)
    return np.where(depth > 20.0, depth, np.nan)


def fields() -> dict[str, tuple[np.ndarray, str, str]]:
    """Values, unit and CF standard name by name."""
    time, latitude = MONTHS[:, None, None] / 365.0, LATITUDE[:, None]
    summer = np.cos(2.0 * np.pi * (time - 0.55)) + 0.0 * LONGITUDE
    mean = 29.0 - 0.012 * latitude**2
    air = mean - 1.0 + 0.12 * latitude * summer
    storms = 1.0 - 0.3 * summer * (latitude > 30.0)
    u = -7.0 * np.cos(np.pi * (latitude - 10.0) / 30.0) * storms
    v = 2.0 * np.sin(np.pi * (latitude - 10.0) / 20.0) + 0.0 * summer
    floor = sea_floor()
    z, east = DEPTH[:, None, None], (LONGITUDE + 70.0) / 45.0
    thermocline = 60.0 - 25.0 * east
    temperature = 8.0 + (mean - 9.0) * np.exp(-((z / (2.0 * thermocline)) ** 1.5)) - 0.005 * z
    salinity = 35.0 + 1.2 * np.exp(-(((latitude - 25.0) / 15.0) ** 2)) * np.exp(-z / 200.0) + 0.0 * east
    wet = z <= floor
    return {
        "wind_u": (u + 0.0 * summer, "m s-1", "eastward_wind"),
        "wind_v": (v, "m s-1", "northward_wind"),
        "air_temperature": (air, "degC", "air_temperature"),
        "relative_humidity": (80.0 + 3.0 * summer, "%", "relative_humidity"),
        "cloud_cover": (0.55 - 0.1 * summer * (latitude > 20.0), "1", "cloud_area_fraction"),
        "temperature": (np.where(wet, temperature, np.nan), "degC", "sea_water_potential_temperature"),
        "salinity": (np.where(wet, salinity, np.nan), "1", "sea_water_practical_salinity"),
        "sea_floor_depth": (floor, "m", "sea_floor_depth_below_mean_sea_level"),
    }


def main(folder: Path) -> None:
    with netCDF4.Dataset(folder / "synthetic_map.nc", "w") as file:
        file.setncatts({"Conventions": "CF-1.11", "title": "A small ocean that does not exist"})
        for name, (values, attributes) in AXES.items():
            file.createDimension(name, values.size)
            file.createVariable(name, "f8", (name,))[:] = values
            file[name].setncatts(attributes)
        horizontal = ("latitude", "longitude")
        for name, (values, unit, standard_name) in fields().items():
            first = {2: (), 3: ("depth",) if name in ("temperature", "salinity") else ("time",)}[values.ndim]
            options = {"zlib": True, "shuffle": True, "fill_value": np.float32(1e20)}
            one = file.createVariable(name, "f4", (*first, *horizontal), **options)
            one.setncatts({"units": unit, "standard_name": standard_name})
            one[:] = np.ma.masked_invalid(np.broadcast_to(values, one.shape))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
