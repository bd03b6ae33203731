"""A command of the command line in this process, and small configurations for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from tunax_lite.cli.commands import app

CALIBRATION: dict[str, Any] = {
    "cases": [{"case": {"format": "cf_netcdf", "path": "synthetic:wind_and_cooling"}}],
    "grid": {"kind": "uniform", "n_cells": 16},
    "model": {"closure": {"name": "pacanowski_philander"}},
    "time": {"dt": 600.0},
    "misfit": {"weights": {"temperature": 1.0}, "end": 21600.0},
    "parameters": {"viscosity_scale": {"lower": 1e-3, "upper": 0.1}, "alpha": {"lower": 1.0, "upper": 10.0}},
    "n_iterations": 1,
    "output": {"figures": False},
}

RUN: dict[str, Any] = {
    "case": {
        "format": "idealised",
        "depth": 50.0,
        "duration": 864000.0,
        "temperature": {"surface": 20.0, "gradient": 0.01},
        "latitude": 45.0,
        "forcing": {"stress_u": 0.1, "heat_flux": -50.0},
    },
    "grid": {"kind": "uniform", "n_cells": 40},
    "model": {"closure": {"name": "pacanowski_philander"}},
    "time": {"dt": 5.0, "output_interval": 3600.0},
    "output": {"figures": False, "diagnostics": ["heat_content"]},
}


def invoked(*arguments: object, code: int = 0, env: Mapping[str, str] | None = None) -> Result:
    """The result of a command, which must end with this exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    assert result.exit_code == code, result.output
    return result


def settings(**values: object) -> list[str]:
    """Options that set keys of a configuration; two underscores stand for a point."""
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def configuration(path: Path, content: Mapping[str, Any], **changes: Any) -> Path:
    """Write a configuration with some of its sections replaced."""
    path.write_text(yaml.safe_dump({**content, **changes}, sort_keys=False), encoding="utf-8")
    return path
