"""A restart from a result whose variables were exchanged or lost their values is refused."""

import netCDF4
import numpy as np

from tests.cli.running import invoked
from tests.config.test_mistakes import RUN
from tests.errors import missing_from


def test_a_trajectory_with_exchanged_variables_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(RUN.replace("k_epsilon, parameters: {c_eps_1: 1.44}", "constant"))
    small = ("--set", "case.duration=1200")
    invoked("run", "run.yaml", *small, "--output", "result.nc")

    def refused(parts: str) -> None:
        restart = ("--restart", "result.nc", "--frame", "1")
        message = invoked("run", "run.yaml", *small, "--output", "out.nc", *restart, code=3).stderr
        assert not missing_from(message, f"result.nc {parts}"), message

    with netCDF4.Dataset("result.nc", "a") as file:
        file["salinity"][...], file["v"][...] = 0.0, 35.0
    refused("v -20 20 35")
    with netCDF4.Dataset("result.nc", "a") as file:
        file["v"][...], file["salinity"][...] = np.nan, 35.0
    refused("v 1")
    with netCDF4.Dataset("result.nc", "a") as file:
        file.renameVariable("step", "other")
        file.renameVariable("salinity", "step")
    refused("salinity")
