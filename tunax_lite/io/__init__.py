"""Reading observation files and writing results: one reader per format, and names for known files.

Names whose modules need xarray or h5py, which take long to import, are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .cf_forcing import Mapping as Mapping
from .errors import FileFormatError as FileFormatError
from .protection import Provenance as Provenance
from .registry import read_manifest as read_manifest
from .registry import resolve as resolve
from .writing import replacing as replacing

if TYPE_CHECKING:
    from .argo import ArgoProfiles as ArgoProfiles
    from .argo import read_argo as read_argo
    from .argo import read_argo_profiles as read_argo_profiles
    from .cf_netcdf import read_cf_netcdf as read_cf_netcdf
    from .dataset import count_frames as count_frames
    from .dataset import read_trajectory as read_trajectory
    from .dataset import to_dataset as to_dataset
    from .dataset import write_dataset as write_dataset
    from .dataset import write_trajectory as write_trajectory
    from .era5 import read_era5 as read_era5
    from .legay import read_legay as read_legay
    from .lesbrary import read_lesbrary as read_lesbrary
    from .observation_file import write_observations as write_observations
    from .oceansites import read_oceansites as read_oceansites
    from .runs import keep_variables as keep_variables
    from .table import read_numbers as read_numbers
    from .table import read_series as read_series
    from .table import read_table as read_table
    from .weather import read_weather as read_weather

_MODULES = {
    "ArgoProfiles": "argo",
    "read_argo": "argo",
    "read_argo_profiles": "argo",
    "read_cf_netcdf": "cf_netcdf",
    "count_frames": "dataset",
    "read_trajectory": "dataset",
    "to_dataset": "dataset",
    "write_dataset": "dataset",
    "write_trajectory": "dataset",
    "read_era5": "era5",
    "read_legay": "legay",
    "read_lesbrary": "lesbrary",
    "write_observations": "observation_file",
    "read_numbers": "table",
    "read_oceansites": "oceansites",
    "keep_variables": "runs",
    "read_series": "table",
    "read_table": "table",
    "read_weather": "weather",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
