"""Every command and interface that takes input notes the same about it, in the same words."""

from pathlib import Path

import pytest

from tests.cli.running import configuration, invoked
from tests.errors import missing_from
from tests.plausibility.inputs import cf_simulation, simulated

CASE = {"format": "cf_netcdf", "path": "les.nc"}
RUN = {
    "case": CASE,
    "grid": {"kind": "uniform", "n_cells": 8},
    "model": {"closure": {"name": "constant"}},
    "time": {"dt": 3600.0, "output_interval": 172800.0},
    "output": {"figures": False},
}
CALIBRATION = {
    **{name: RUN[name] for name in ("grid", "model")},
    "cases": [{"case": CASE}],
    "time": {"dt": 3600.0},
    "misfit": {"weights": {"temperature": 1.0}},
    "parameters": {"viscosity": {"lower": 1.0e-6, "upper": 1.0}},
}
COMPARISON = {
    "closures": ["constant"],
    "cases": [CASE],
    "grid": {"kind": "uniform", "n_cells": 8},
    "time": {"dt": 3600.0},
    "persistence": False,
}
COMMANDS = {
    "run": ["run", "run.yaml"],
    "check of a calibration": ["check", "calibration.yaml"],
    "evaluate": ["evaluate", "run.yaml"],
    "evaluate a calibration": ["evaluate", "calibration.yaml"],
    "compare": ["compare", "comparison.yaml"],
}


def write_upward(tmp_path, monkeypatch) -> Path:
    """A simulation that cools while its flux, which counts upward, warms; and configurations of it."""
    given = simulated()
    given.scale("surface_heat_flux", -1.0)
    cf_simulation(given, tmp_path)
    for name, content in (("run", RUN), ("calibration", CALIBRATION), ("comparison", COMPARISON)):
        configuration(tmp_path / f"{name}.yaml", content)
        configuration(tmp_path / f"accepting_{name}.yaml", content, accept=["heat_budget"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def upward(tmp_path, monkeypatch) -> Path:
    return write_upward(tmp_path, monkeypatch)


def notes_of(*arguments: str) -> list[str]:
    lines = invoked(*arguments).output.splitlines()
    return [line for line in lines if line.startswith("note: ") and "accept: [" in line]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.long
def test_commands_note_the_same(upward, command):
    (said,) = notes_of(*COMMANDS[command])
    # 150 W m-2 for two days.
    assert not missing_from(said, "fluxes.heat_flux -2.59e+07 2.59e+07 sign -1 heat_budget"), said
    name = COMMANDS[command][1]
    assert notes_of(*(f"accepting_{name}" if one == name else one for one in COMMANDS[command])) == []
