"""Cases of GOTM from the command line: the same command as for our own, and clear errors."""

import numpy as np
import pytest

from tests.cli.running import invoked
from tests.errors import missing_from
from tests.extensions.gotm.folders import write_case, write_series
from tunax_lite.io import read_trajectory


@pytest.mark.long
def test_check_and_run_take_a_configuration_of_gotm(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ramp = {"velocities": {"relax": {"tau": 3600.0, "ramp": 86400.0}}}
    path = write_case(tmp_path, ramp, {"fabm": {"repair_state": True}}).rename(tmp_path / "any name.yaml")
    output = invoked("check", path).output
    for part in ("velocities.relax.ramp:", "fabm.repair_state:", "144 steps of 600 s, 4 frames of 21600 s"):
        assert part in output
    path = write_case(tmp_path, {"fabm": {"use": True, "feedbacks": {"shade": True}}})
    for command in ("run", "check"):
        assert f"{path}: line " in invoked(command, path, code=2).output
    output = invoked("run", path, "--ignore-unsupported", "--output", "out.nc").output
    assert "note: " in output and "fabm.use" in output and read_trajectory("out.nc").n_frames == 5
    # Nothing to run is left without a closure.
    path = write_case(
        tmp_path, {"turbulence": {"len_scale_method": "blackadar", "tke_method": "mellor_yamada"}}
    )
    assert "tke_method" in invoked("run", path, "--ignore-unsupported", "--output", "o.nc", code=2).output
    path = write_case(tmp_path, {"surface": {"fluxes": {"tx": {"method": "file", "file": "tau.dat"}}}})
    output = invoked("run", path, "--output", "out.nc", code=3).output
    assert not missing_from(output, f"small.gotm.yaml line 25 surface.fluxes.tx.file {tmp_path}/tau.dat")
    write_series(tmp_path / "tau.dat", 0.1 + np.zeros(20))
    output = invoked("run", path, "--output", "out.nc", code=3).output
    assert not missing_from(output, "tau.dat 2011-03-02 00:00:00 line 25 surface.fluxes.tx.file")
    output = invoked("run", path, "--set", "turbulence.turb_method=third_order", code=2).output
    assert "--set turbulence.turb_method=third_order: turbulence.turb_method: expected one of" in output
