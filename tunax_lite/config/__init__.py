"""Configuration files: from checked YAML to objects."""

from ..io.yaml_file import ConfigError
from .build import Calibration, build_calibration, build_run, data_files, evaluation_of
from .calibration import CalibrationConfig
from .case import Run
from .closures import closure_names
from .load import Loaded, load_calibration, load_comparison, load_run
from .schema import RunConfig

__all__ = [
    "ConfigError",
    "build_calibration",
    "build_run",
    "load_calibration",
    "load_comparison",
    "load_run",
]


def __dir__() -> list[str]:
    return __all__
