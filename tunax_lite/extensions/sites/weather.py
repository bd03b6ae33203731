"""Weather: ERA5 from files or the Climate Data Store, or a table of a station."""

import datetime
import itertools
from collections.abc import Sequence
from pathlib import Path

from ... import io
from ...config import ConfigError
from ...io.errors import existing_file
from ...io.table import radiation_of_table
from ...io.writing import replacing
from ...runtime.machine import needed
from .place import Section, Site, failures_of, netcdf_files

_DATA_SET = "reanalysis-era5-single-levels"
_ACCOUNT = "write your key to ~/.cdsapirc and accept the licence (cds.climate.copernicus.eu/how-to-api)"
_MARGIN = datetime.timedelta(hours=6)
# The service returns one NetCDF file only for parameters of one kind: instantaneous or accumulated.
_INSTANTANEOUS = (
    "10m_u_component_of_wind",
    "10m_v_component_of_wind",
    "2m_temperature",
    "2m_dewpoint_temperature",
    "surface_pressure",
    "total_cloud_cover",
)
_ACCUMULATED = (
    "surface_solar_radiation_downwards",
    "surface_thermal_radiation_downwards",
    "total_precipitation",
)


def era5(place: Site, where: str) -> Section:
    """Return the weather of files of ERA5, which a run reads at the position."""
    return {"weather": {"format": "era5", "paths": [*map(str, netcdf_files(where, "--weather era5"))]}}


def cds(place: Site, where: str) -> Section:
    """Download the weather of ERA5 from the Climate Data Store; needs an account there."""
    paths = [
        *download_era5(place, "instantaneous", _INSTANTANEOUS, margin=0.5),
        *download_era5(place, "accumulated", _ACCUMULATED, margin=0.5),
    ]
    names = [path.name for path in paths]
    return {"weather": {"format": "era5", "paths": names, "accumulation": 3600.0}}


def download_era5(place: Site, stem: str, variables: Sequence[str], *, margin: float) -> list[Path]:
    """Download ERA5 on single levels around a place, month by month, and return the files.

    Files that an earlier command has downloaded are kept: the service may take hours for each.

    Args:
        place: place and time of the run; six hours before and after it are included.
        stem: part of the names of the files.
        variables: names of parameters in the Climate Data Store.
        margin: distance of the edges of the area from the place [degrees].
    """
    cdsapi = needed("cdsapi", "source cds", "or give files (era5:DIR)")
    south, north, west, east = place.box(margin, margin)
    first, last = (place.start - _MARGIN).date(), (place.stop + _MARGIN).date()
    dates = [first + datetime.timedelta(days=day) for day in range((last - first).days + 1)]
    place.folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for (year, month), group in itertools.groupby(dates, lambda date: (date.year, date.month)):
        days = [date.day for date in group]
        label = f"{place.latitude:g}_{place.longitude:g}_{year}-{month:02d}-{days[0]:02d}_{days[-1]:02d}"
        paths.append(place.folder / f"era5_{stem}_{label}.nc")
        if paths[-1].exists():
            continue
        request = {
            "product_type": ["reanalysis"],
            "variable": list(variables),
            "year": [f"{year}"],
            "month": [f"{month:02d}"],
            "day": [f"{day:02d}" for day in days],
            "time": [f"{hour:02d}:00" for hour in range(24)],
            "area": [north, west, south, east],
            "data_format": "netcdf",
            "download_format": "unarchived",
        }
        with replacing(paths[-1]) as temporary, failures_of(f"cds: {_DATA_SET}", _ACCOUNT):
            cdsapi.Client().retrieve(_DATA_SET, request, str(temporary))
    return paths


def table(place: Site, where: str) -> Section:
    """Return the weather of a table; radiation that it lacks follows from the sun and the clouds."""
    if not where:
        raise ConfigError("--weather table: expected a file after the colon, got none; add it.")
    path = existing_file(Path(where).expanduser()).absolute()
    radiation = {"shortwave": "clear_sky", "longwave": "clark"} | radiation_of_table(io.read_table(path))
    return {"weather": {"format": "table", "paths": [str(path)]}, "air_sea": radiation}
