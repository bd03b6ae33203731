"""Small case folders of GOTM for tests."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.helpers import get_leaf
from tunax_lite.extensions.gotm import build_gotm, load_gotm

START, STOP = "2011-03-01 00:00:00", "2011-03-02 00:00:00"


def case_data() -> dict:
    """A day of wind over 8 cells of water with linear density."""
    return {
        "version": 7,
        "location": {"latitude": 45.0, "longitude": -30.0, "depth": 16.0},
        "time": {"start": START, "stop": STOP, "dt": 600.0},
        "grid": {"nlev": 8},
        "temperature": {"method": "constant", "constant_value": 12.0, "type": "conservative"},
        "salinity": {"method": "constant", "constant_value": 35.0, "type": "absolute"},
        "surface": {"fluxes": {"tx": {"constant_value": 0.1}}, "ice": {"model": "no_ice"}},
        "turbulence": {"turb_param": {"k_min": 1e-8}},
        "equation_of_state": {"method": "linear_custom"},
        "output": {"prof": {"time_unit": "hour", "time_step": 6, "variables": [{"source": "temp"}]}},
    }


def write_case(folder: Path, *changes: dict) -> Path:
    data = case_data()
    for change in changes:
        _update(data, change)
    path = folder / "small.gotm.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def _update(data: dict, change: dict) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict):
            _update(data[key], value)
        else:
            data[key] = value


def build(folder: Path, *changes: dict, **options: Any) -> Any:
    return build_gotm(load_gotm(write_case(folder, *changes), **options))


def run_of(folder: Path, *changes: dict, **options: Any) -> Any:
    made = build(folder, *changes, **options)
    made.report.check()
    return made.run


def assert_fields(module: object, expected: dict[str, Any]) -> None:
    """Values by dotted path: numbers, classes of parts, options."""
    for path, value in expected.items():
        found = get_leaf(module, path)
        if isinstance(value, type):
            assert isinstance(found, value), path
        elif value is None or isinstance(value, bool | str | tuple):
            assert found == value, path
        else:
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-14, err_msg=path)


def write_series(path: Path, *columns, step: int = 3600, start: str = START) -> Path:
    """A series file with one record per `step` seconds."""
    times = np.datetime64(start.replace(" ", "T")) + step * np.arange(len(columns[0]))
    rows = [
        f"{str(time).replace('T', ' ')} {' '.join(f'{value:.10g}' for value in values)}"
        for time, values in zip(times, zip(*columns, strict=True), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path
