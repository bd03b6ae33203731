"""The command line from end to end: files that are complete, numbers that agree, exit codes."""

import importlib
import json
import math
import os
import re
import shutil
from pathlib import Path

import jax
import jaxtyping
import netCDF4
import numpy as np
import pytest
import yaml

from tests.cli.running import CALIBRATION, configuration, invoked, settings
from tests.errors import missing_from
from tunax_lite.cli.application import of_json
from tunax_lite.config import build_calibration, load_calibration, load_comparison
from tunax_lite.config.build import candidates_of, case_on_grids, targets_of
from tunax_lite.io import read_trajectory
from tunax_lite.io.checksums import stamp_of
from tunax_lite.io.netcdf import read_netcdf

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
KATO = str(CONFIGS / "runs/kato_phillips.yaml")
SYNTHETIC = str(CONFIGS / "runs/synthetic.yaml")
SHORT = settings(time__duration=1200, time__output_interval=600, grid__n_cells=16)


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return invoked


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_water_below_its_freezing_point_is_said(invoke):
    cold = settings(
        grid="{kind: uniform, n_cells: 4}",
        time="{dt: 600, output_interval: 86400, duration: 86400}",
        case__depth=10.0,
        case__duration=86400.0,
        case__temperature="{surface: 0.0}",
        case__salinity="{surface: 35.0}",
        model__closure="{name: constant, parameters: {diffusivity: 1.0, viscosity: 1.0}}",
    )
    # 10 m of water at 0 degC lose 4.4 K in a day, or 19 K: 2.4 K below the -1.92 degC of S = 35, or 17 K.
    for cooling, code, expected in (
        (2075.0, 0, r"temperature -4\.\d+ degC .* 2\.[45]\d* K "),
        (9000.0, 1, r"temperature -1[89]\..* 17\.?\d* K "),
    ):
        flux = settings(case__forcing=f"{{heat_flux: {-cooling}}}")
        said = invoke("run", KATO, *cold, *flux, "--output", f"{code}.nc", code=code).output
        assert re.search(f"{expected}.*ice: winton", said, re.DOTALL), said
        assert Path(f"{code}.nc").is_file()
    with_ice = invoke("run", KATO, *cold, *flux, *settings(case__ice="simple"), "--output", "ice.nc")
    assert "water" not in with_ice.output


def test_errors_of_water_that_cannot_be_are_no_result(invoke):
    # Hardly mixed, 6 m at 20 degC lose 9000 W m-2 172 800 s / (1025 * 3992 * 6) K in two days: 63.3 K.
    still = settings(
        model__closure="{name: constant, parameters: {diffusivity: 1.0e-8, viscosity: 1.0e-8}}",
        case__mapping="{fluxes: {heat_flux: -9000}}",
        grid__n_cells=16,
        time__dt=600,
    )
    said = invoke("evaluate", SYNTHETIC, *still, code=1).output
    assert "root mean square errors" in said
    assert re.search(r"temperature -43\.[2-4]\d* degC at 3 m, .* 41\.\d* K ", said), said


@pytest.mark.long
@pytest.mark.skipif(not os.environ.get("TUNAX_LITE_DATA"), reason="TUNAX_LITE_DATA is not set")
def test_every_configuration_is_fine(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # types are checked elsewhere
    for path in CONFIGS.glob("runs/*.yaml"):
        invoked("check", path)
    read = []  # by several of them, and here once
    for path in CONFIGS.glob("calibrations/*.yaml"):
        loaded = load_calibration(path)
        cases = [str(each.case) for each in loaded.config.cases]
        if cases in read:
            del loaded.config.cases[1:]
        read.append(cases)
        build_calibration(loaded)
    for path in CONFIGS.glob("comparisons/*.yaml"):
        setup = load_comparison(path)
        cases = [str(each.case) for each in setup.config.cases]
        assert len(candidates_of(setup)) > 1 and len(cases) >= 4, path
        assert case_on_grids(setup, 0) if cases in read else targets_of(setup)
        read.append(cases)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.nc"
    invoked("run", KATO, *SHORT, "--output", path)
    return path


@pytest.mark.long
def test_restart_goes_on_bit_by_bit_and_not_from_another_run(invoke, tmp_path, whole):
    restart = ("run", KATO, *SHORT, "--restart", whole)
    invoke(*restart, *settings(time__duration=600), "--frame", "1", "--output", "rest.nc")
    expected, rest = read_trajectory(whole), read_trajectory(tmp_path / "rest.nc")
    np.testing.assert_array_equal(rest.time, expected.time[1:])
    of_both = (jax.tree.leaves((each.state, each.clo_state)) for each in (rest, expected))
    for after, before in zip(*of_both, strict=True):
        np.testing.assert_array_equal(after, before[1:])
    for option, parts in (
        (settings(grid__n_cells=20), "grid"),
        (settings(time__dt=30), "time.dt 60"),
        (settings(model__closure__name="constant"), "TurbulenceState"),
        (settings(case__tracers="{dye: 1}"), "dye"),
        (settings(model__closure__options="{stability: munk_anderson}"), "options MunkAndersonStability"),
        (("--frame", "9"), "0 2 9"),
    ):
        said = invoke(*restart, *option, "--output", "x.nc", code=2).stderr
        assert not missing_from(said, parts), said
    assert _files(tmp_path) == {"rest.nc"}


def test_a_trajectory_with_exchanged_variables_is_refused(invoke, whole):
    shutil.copy(whole, "result.nc")

    def refused(parts: str) -> None:
        restart = ("--restart", "result.nc", "--frame", "1", "--output", "out.nc")
        message = invoke("run", KATO, *SHORT, *restart, code=3).stderr
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


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A short calibration, which took a break between them."""
    folder = tmp_path_factory.mktemp("calibration")
    config = configuration(
        folder / "config.yaml",
        CALIBRATION,
        misfit={"weights": {"temperature": 1.0, "u": 0.5, "v": 0.5}, "scale": "z_score", "end": 21600.0},
        optimiser={"name": "adam", "learning_rate": 0.1, "final_fraction": 1.0},
        n_iterations=3,
    )
    arguments = ["calibrate", config, "--output", folder / "out"]
    first = invoked(*arguments).output
    second = invoked(*arguments, *settings(n_iterations=5), "--resume").output
    return folder / "out", arguments, first, second


def test_calibration_reports_and_goes_on(calibrated, invoke):
    folder, arguments, first, second = calibrated
    assert "iteration 3 of 3, loss" in first
    assert "iteration 4 of 5, loss" in second and "iteration 3 of 5" not in second
    assert read_netcdf(folder / "history.nc").sizes["iteration"] == 5
    before = (folder / "parameters.yaml").read_bytes()
    assert not missing_from(invoke(*arguments, code=2).stderr, "--resume --overwrite")
    assert (folder / "parameters.yaml").read_bytes() == before


def test_run_and_evaluate_take_calibrated_parameters(calibrated, invoke, tmp_path):
    values = calibrated[0] / "parameters.yaml"
    given = (*settings(model__closure="{name: pacanowski_philander}"), "--parameters", values)
    invoke("run", SYNTHETIC, *SHORT, *given, "--output", "out.nc")
    used = json.loads(read_netcdf(tmp_path / "out.nc").attrs["tunax_lite_parameters"])
    found = yaml.safe_load(values.read_text())["parameters"]
    assert used["alpha"] == pytest.approx(found["alpha"]["value"], rel=1e-12)
    assert used["alpha"] != 5.0
    options = settings(evaluation__end=21600, grid__n_cells=16, time__dt=600)
    result = invoke("evaluate", SYNTHETIC, *given, *options, "--json")
    errors = json.loads(result.stdout)["errors"]
    history = read_netcdf(values.with_name("history.nc"))
    recorded = history["temperature_error"].values[:, 0]
    best = recorded[int(history.attrs["best_iteration"]) - 1]
    # The same windows and levels as in the calibration: the errors are those that it recorded.
    assert [row["variable"] for row in errors] == ["temperature", "u", "v"] * 2
    both = [row["root_mean_square"] for row in errors if row["variable"] == "temperature"]
    assert both == pytest.approx([recorded[0], best], rel=1e-9)
    assert "mean errors, model minus observed" in result.stderr


DATA = stamp_of(ROOT / "data/synthetic_wind_and_cooling.nc")


def test_report_is_one_page_with_everything(calibrated, invoke, tmp_path):
    folder, *_ = calibrated
    page = tmp_path / "page.html"
    assert f"wrote {page}" in invoke("report", folder, "--output", page).output
    text = page.read_text()
    best = yaml.safe_load((folder / "parameters.yaml").read_text())
    for path, entry in best["parameters"].items():
        assert f"<code>{path}</code>" in text and f">{entry['value']:.4g}<" in text
    assert DATA in text
    assert re.search(r"Calibrated on 20\d\d-\d\d-\d\d \d\d:\d\d UTC with tunax_lite \d", text)
    assert text.count("data:image/png;base64,") == 2  # losses, parameters
    assert not re.search(r"(?:src|href)=.(?!data:)", text)  # nothing to be loaded
    assert not missing_from(invoke("report", tmp_path, code=3).output, "parameters.yaml history.nc")
    shutil.copy(folder / "history.nc", tmp_path)
    (tmp_path / "parameters.yaml").write_text("closure: KEpsilon")
    assert not missing_from(invoke("report", tmp_path, code=3).output, "parameters.yaml calibration")


def test_errors_and_interrupts_have_their_codes(invoke, monkeypatch, tmp_path):
    assert "Traceback" in invoke("run", "nowhere.yaml", "--debug", code=2).stderr
    assert "No such option" in invoke("run", KATO, "--outptu", "x.nc", code=2).stderr
    for error, code, said in (
        (RuntimeError("out of luck"), 1, "unexpected RuntimeError: out of luck"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ):

        def fail(*args, error=error, **kwargs):
            raise error

        monkeypatch.setattr(importlib.import_module("tunax_lite.cli.streaming"), "simulate", fail)
        assert said in invoke("run", KATO, *SHORT, code=code).stderr
    assert not _files(tmp_path)


def test_answers_for_scripts_are_one_json_object_on_standard_output(invoke, tmp_path):
    result = invoke("check", KATO, "--json")
    checked = json.loads(result.stdout)
    assert checked["time"] == {"n_steps": 1800, "dt": 60.0, "n_frames": 60, "output_interval": 1800.0}
    assert checked["kind"] == "run" and checked["model"]["closure"] == "KEpsilon"
    assert checked["cases"][0]["fluxes_at_start"] == {"stress_u": 0.1027}
    assert not missing_from(result.stderr, "cells 100 50 stress_u 0.1027 steps 1800 60")
    assert not _files(tmp_path)
    assert of_json({"a": [math.nan, 1.0], "b": {"c": -math.inf}}) == {"a": [None, 1.0], "b": {"c": None}}
