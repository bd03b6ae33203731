"""Cases of GOTM from the command line: the same command as for our own, and clear errors."""

import numpy as np
import pytest

from tests.cli.running import invoked
from tests.extensions.gotm.folders import write_case, write_series
from tunax_lite.io import read_trajectory


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return lambda *arguments, code=0: invoked(*arguments, code=code).output


def test_check_prints_the_report(invoke, tmp_path):
    ramp = {"velocities": {"relax": {"tau": 3600.0, "ramp": 86400.0}}}
    path = write_case(tmp_path, ramp, {"fabm": {"repair_state": True}}).rename(tmp_path / "any name.yaml")
    output = invoke("check", path)
    for part in ("velocities.relax.ramp:", "fabm.repair_state:", "144 steps of 600 s, 4 frames of 21600 s"):
        assert part in output


@pytest.mark.long
def test_unsupported_settings_end_the_run_unless_they_are_to_be_ignored(invoke, tmp_path):
    path = write_case(tmp_path, {"fabm": {"use": True, "feedbacks": {"shade": True}}})
    for command in ("run", "check"):
        output = invoke(command, path, code=2)
        assert f"{path}: line " in output
        assert "fabm.use: biogeochemistry that acts back" in output
    output = invoke("run", path, "--ignore-unsupported", "--output", "out.nc")
    assert "note: " in output and "fabm.use" in output
    assert read_trajectory("out.nc").n_frames == 5
    # Nothing to run is left without a closure.
    path = write_case(
        tmp_path, {"turbulence": {"len_scale_method": "blackadar", "tke_method": "mellor_yamada"}}
    )
    assert "tke_method" in invoke("run", path, "--ignore-unsupported", "--output", "other.nc", code=2)


@pytest.mark.long
def test_a_missing_forcing_file_names_configuration_line_and_file(invoke, tmp_path):
    path = write_case(tmp_path, {"surface": {"fluxes": {"tx": {"method": "file", "file": "tau.dat"}}}})
    output = invoke("run", path, "--output", "out.nc", code=3)
    assert "small.gotm.yaml: line" in output and "surface.fluxes.tx.file" in output
    assert f"{tmp_path}/tau.dat" in output
    write_series(tmp_path / "tau.dat", 0.1 + np.zeros(20))
    output = invoke("run", path, "--output", "out.nc", code=3)
    assert "tau.dat: stress_u: expected times from 2011-03-01 00:00:00 to 2011-03-02 00:00:00" in output
    assert "line 25: surface.fluxes.tx.file" in output
    output = invoke("run", path, "--set", "turbulence.turb_method=third_order", code=2)
    assert "--set turbulence.turb_method=third_order: turbulence.turb_method: expected one of" in output
