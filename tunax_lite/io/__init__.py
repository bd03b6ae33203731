"""Reading observation files and writing results: one reader per format, and names for known files."""

from .atomic import replacing as replacing
from .cf_netcdf import read_cf_netcdf as read_cf_netcdf
from .dataset import Provenance as Provenance
from .dataset import read_trajectory as read_trajectory
from .dataset import to_dataset as to_dataset
from .dataset import write_dataset as write_dataset
from .dataset import write_trajectory as write_trajectory
from .errors import FileFormatError as FileFormatError
from .legay import read_legay as read_legay
from .lesbrary import read_lesbrary as read_lesbrary
from .mapping import Mapping as Mapping
from .observation_file import write_observations as write_observations
from .registry import read_manifest as read_manifest
from .registry import resolve as resolve
