"""Outputs: an input is never replaced, an existing file only on request."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.cli.running import settings
from tests.cli.test_cli import CONFIGS, KATO, SHORT, _files, invoke  # noqa: F401
from tests.errors import error_naming, missing_from
from tunax_lite.io.netcdf import read_netcdf
from tunax_lite.io.writing import OverwriteError, check_outputs

STATION = CONFIGS / "runs" / "synthetic_station.yaml"
SMALL = ["--set", "n_iterations=1", "--set", "grid.n_cells=16", "--set", "misfit.end=21600"]
SMALL += ["--set", "model.closure.name=pacanowski_philander"]
SMALL += ["--set", "parameters={alpha: {lower: 1.0, upper: 20.0}}"]


def test_an_input_is_never_replaced(tmp_path):
    read = tmp_path / "folder" / "read.txt"
    read.parent.mkdir()
    read.write_text("observed", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(read)
    (tmp_path / "hard.txt").hardlink_to(read)
    (tmp_path / "same").symlink_to(read.parent)
    for way in ("folder/read.txt", "link.txt", "hard.txt", "same/read.txt", "folder/../folder/read.txt"):
        with error_naming(OverwriteError, str(read)):
            check_outputs([tmp_path / way], overwrite=True, inputs=[read])
    for folder, other in ((read.parent, read), (read.parent / "new.nc", read.parent)):
        with error_naming(OverwriteError, f"{folder} {other}"):
            check_outputs([folder], overwrite=True, inputs=[other], folders=True)
    check_outputs([tmp_path / "free.txt"], overwrite=False, inputs=[read])


def test_what_exists_is_replaced_only_on_request(tmp_path):
    path, dangling = tmp_path / "table.csv", tmp_path / "dangling"
    path.write_text("mine", encoding="utf-8")
    dangling.symlink_to(tmp_path / "nothing")
    for there in (path, dangling):
        with error_naming(OverwriteError, f"{there} --overwrite"):
            check_outputs([there], overwrite=False)
    check_outputs([path], overwrite=True)
    with error_naming(IsADirectoryError, str(tmp_path)):
        check_outputs([tmp_path], overwrite=True)


@pytest.mark.long
def test_commands_keep_inputs_and_existing_outputs(invoke, tmp_path):  # noqa: F811
    run = ["run", KATO, *SHORT, "--output"]
    invoke(*run, "out.nc")
    before = (tmp_path / "out.nc").read_bytes()
    assert not missing_from(invoke(*run, "out.nc", code=2).stderr, "out.nc --overwrite")
    shutil.copy(KATO, tmp_path / "run.nc")  # a configuration of this name
    for command in (
        ["run", "run.nc", *SHORT, "--output", "run.nc"],
        [*run, "out.nc", "--restart", "out.nc", "--set", "time.duration=1800"],
        ["plot", "out.nc", "--output", "out.nc"],
    ):
        assert not missing_from(invoke(*command, "--overwrite", code=2).stderr, "input")
    assert (tmp_path / "out.nc").read_bytes() == before
    invoke(*run, "out.nc", "--overwrite")


@pytest.mark.long
def test_a_restart_names_what_differs(invoke, tmp_path):  # noqa: F811
    invoke("run", KATO, *SHORT, "--output", "one.nc")
    again = ["run", KATO, *SHORT, "--set", "time.duration=1800", "--restart", "one.nc", "--output", "two.nc"]
    for setting, parts in (
        ("model.closure.name=k_omega", "KOmega KEpsilon"),  # of one family, with the same state
        ("grid={kind: stretched, n_cells: 16, surface_zoom: 2.0}", "16 50"),
    ):
        assert not missing_from(invoke(*again, "--set", setting, code=2).stderr, parts)
    assert _files(tmp_path) == {"one.nc"}
    other = ["--set", "model.closure.parameters={c_eps_1: 1.5}"]
    default = ["--set", "model.closure.options={stability: canuto_a}"]  # an option written out
    assert not missing_from(invoke(*again, *other, *default).output, "c_eps_1 1.44 1.5")
    assert read_netcdf(tmp_path / "two.nc").attrs["tunax_lite_restart"] == "one.nc at 1200 s"


@pytest.mark.long
def test_a_restart_is_not_moved_to_another_date(invoke, tmp_path):  # noqa: F811
    short = settings(case__observations="null", case__temperature=12.0, case__salinity=35.0)
    short += settings(case__interior="{}", time__duration=3600, time__output_interval=3600)
    invoke("run", STATION, *short, "--output", "one.nc")
    shifted = ["--set", "case.start_time=2015-03-02T00:00:00", "--restart", "one.nc", "--output", "two.nc"]
    error = invoke("run", STATION, *short, *shifted, code=2).stderr
    assert not missing_from(error, "case.start_time 2015-03-02 2015-03-01")
    same = "case.start_time=2015-03-01T01:00:00+01:00"
    invoke("run", STATION, *short, "--set", same, "--restart", "one.nc", "--output", "two.nc")


@pytest.mark.long  # a process
def test_a_wrong_variable_is_one_message(tmp_path):
    variable = "JAX_PLATFORMS"
    command = [sys.executable, "-c", "from tunax_lite.cli import main; main()", "run", KATO, *SHORT]
    environment = os.environ | {variable: "--nonsense"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"tunax-lite: error: {variable}") and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
