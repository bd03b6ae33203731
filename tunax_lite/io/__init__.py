"""Read observation files and write results: one reader per format, with the variable names of known files.

Readers take a path; most also take an xarray dataset. A missing file raises `FileNotFoundError`.
Modules that are slow to import (xarray, netCDF4, h5py, gsw) are imported on first use.
"""

from .argo import read_argo
from .case import case_from_dataset, observations_from_dataset
from .cf_netcdf import Mapping, read_cf_netcdf
from .dataset import to_dataset, write_dataset, write_trajectory
from .era5 import read_era5, read_era5_fluxes
from .errors import FileFormatError
from .hypsography import read_hypsography
from .les import read_legay, read_lesbrary
from .named_files import read_manifest, resolve
from .netcdf import read_netcdf
from .oceansites import read_oceansites
from .open import FORMATS, Format, open_observations
from .provenance import Provenance
from .runs import keep_variables, read_trajectory
from .table import read_numbers, read_series, read_table, read_weather
from .writing import replacing

__all__ = [
    "FORMATS",
    "FileFormatError",
    "Format",
    "case_from_dataset",
    "observations_from_dataset",
    "open_observations",
    "read_argo",
    "read_cf_netcdf",
    "read_era5",
    "read_era5_fluxes",
    "read_legay",
    "read_lesbrary",
    "read_oceansites",
    "read_series",
    "read_table",
    "read_trajectory",
    "read_weather",
    "resolve",
    "to_dataset",
    "write_dataset",
    "write_trajectory",
]


def __dir__() -> list[str]:
    return __all__
