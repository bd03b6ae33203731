"""Configuration files: from checked YAML to objects."""

from ..io.yaml_file import ConfigError
from .build import GotmRun, build_gotm, build_run, configuration_of, data_files
from .build_calibration import Calibration, build_calibration, build_checks, evaluation_of
from .build_map import build_map, build_map_fit
from .calibration import CalibrationConfig
from .closures import closure_names, closure_of
from .comparison import ComparisonSetup, load_comparison
from .load import Loaded, load_any, load_calibration, load_map, load_run
from .maps import MapConfig
from .run import Run
from .schema import RunConfig
