"""Reading observation files and writing results: one reader per format, and names for known files.

Libraries that take long to import (xarray, netCDF4, h5py, gsw) are imported when they are first used.
"""

from .argo import ArgoProfiles as ArgoProfiles
from .argo import read_argo as read_argo
from .argo import read_argo_profiles as read_argo_profiles
from .cf_forcing import Mapping as Mapping
from .cf_forcing import write_observations as write_observations
from .cf_netcdf import read_cf_netcdf as read_cf_netcdf
from .dataset import to_dataset as to_dataset
from .dataset import write_dataset as write_dataset
from .dataset import write_trajectory as write_trajectory
from .era5 import read_era5 as read_era5
from .errors import FileFormatError as FileFormatError
from .les import read_legay as read_legay
from .les import read_lesbrary as read_lesbrary
from .oceansites import read_oceansites as read_oceansites
from .protection import Provenance as Provenance
from .registry import read_manifest as read_manifest
from .registry import resolve as resolve
from .runs import count_frames as count_frames
from .runs import keep_variables as keep_variables
from .runs import read_trajectory as read_trajectory
from .table import read_numbers as read_numbers
from .table import read_series as read_series
from .table import read_table as read_table
from .table import read_weather as read_weather
from .writing import replacing as replacing
