"""Configuration files: YAML, checked, to objects. The only place where names stand for classes."""

from ..io.yaml_file import ConfigError as ConfigError
from ..run import Run as Run
from .build import build_run as build_run
from .build import configuration_of as configuration_of
from .build import data_files as data_files
from .build_calibration import Calibration as Calibration
from .build_calibration import build_calibration as build_calibration
from .build_calibration import build_checks as build_checks
from .build_calibration import evaluation_of as evaluation_of
from .closures import closure_names as closure_names
from .closures import closure_of as closure_of
from .comparison import ComparisonSetup as ComparisonSetup
from .comparison import load_comparison as load_comparison
from .load import Loaded as Loaded
from .load import load_any as load_any
from .load import load_calibration as load_calibration
from .load import load_run as load_run
from .schema import CalibrationConfig as CalibrationConfig
from .schema import RunConfig as RunConfig
