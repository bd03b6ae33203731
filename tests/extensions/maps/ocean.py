"""A gridded ocean in memory, known in closed form: land, a sloping floor, fluxes of each month."""

import numpy as np
import xarray as xr

DEPTH = np.array([0.0, 10.0, 20.0, 40.0, 80.0, 120.0])
MONTHS = (np.arange(12) + 0.5) * 365.0 / 12.0
SETTINGS = {
    "start_time": "2001-01-01T00:00:00",
    "duration": 30 * 86400.0,
    "fluxes": {"stress_u": "taux", "heat_flux": "heat"},
}


def floor(latitude, longitude):
    """Depth of the sea [m]; land between 100 and 150 degrees east."""
    depth = 60.0 + latitude + 0.0 * longitude
    east = longitude % 360.0
    return np.where((east > 100.0) & (east < 150.0), np.nan, depth)


def temperature(latitude, longitude, depth):
    return 20.0 - 0.1 * latitude - 0.05 * depth + np.cos(np.deg2rad(longitude))


def heat(month, latitude, longitude):
    """Of a month from 0 to 12 [W m-2]."""
    return 10.0 * month + latitude + 5.0 * np.sin(np.deg2rad(longitude))


def ocean(latitude=None, longitude=None, *, fill=None) -> xr.Dataset:
    """On axes of any order and convention; missing values NaN, or a number that attributes declare."""
    latitude = np.arange(-40.0, 41.0, 10.0) if latitude is None else np.asarray(latitude)
    longitude = np.arange(0.0, 360.0, 10.0) if longitude is None else np.asarray(longitude)
    lat, lon = np.meshgrid(latitude, longitude, indexing="ij")
    land = np.isnan(floor(lat, lon))
    dry = land | (DEPTH[:, None, None] > floor(lat, lon))
    month = np.arange(12)[:, None, None] + 0.5
    depth = DEPTH[:, None, None]
    of_month, of_depth = ("time", "lat", "lon"), ("depth", "lat", "lon")

    def field(dims, is_missing, values, units, kind=None):
        attributes = {"units": units} | ({} if fill is None else {"_FillValue": fill})
        attributes |= {} if kind is None else {"standard_name": f"sea_water_{kind}"}
        return dims, np.where(is_missing, np.nan if fill is None else fill, values), attributes

    variables = {
        "thetao": field(of_depth, dry, temperature(lat, lon, depth), "degC", "conservative_temperature"),
        "so": field(of_depth, dry, 35.0 + 0.01 * depth + 0.0 * lat, "g kg-1", "absolute_salinity"),
        "heat": field(of_month, land, heat(month, lat, lon), "W m-2"),
        "taux": field(of_month, land, 0.1 + 0.0 * month + 0.0 * lat, "N/m2"),
    }
    coordinates = {
        "time": ("time", MONTHS, {"units": "days since 0001-01-01", "calendar": "noleap"}),
        "depth": ("depth", DEPTH, {"units": "m", "positive": "down"}),
        "lat": ("lat", latitude, {"units": "degrees_north"}),
        "lon": ("lon", longitude, {"units": "degrees_east"}),
    }
    return xr.Dataset(variables, coordinates)
