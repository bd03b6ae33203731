"""The command line from end to end: files that are complete, numbers that agree, exit codes."""

import base64
import hashlib
import importlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import yaml

from tests.cli.running import invoked
from tests.errors import missing_from
from tests.helpers import some_long
from tests.io.observation_files import write_lesbrary
from tunax_lite.cli.application import of_json
from tunax_lite.config import build_calibration, load_calibration, load_comparison
from tunax_lite.io import read_trajectory
from tunax_lite.io.netcdf import read_netcdf

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
RUNS = sorted(CONFIGS.glob("runs/*.yaml"))
CALIBRATIONS = sorted(CONFIGS.glob("calibrations/*.yaml"))
COMPARISONS = sorted(CONFIGS.glob("comparisons/*.yaml"))
KATO = str(CONFIGS / "runs/kato_phillips.yaml")
FREE_CONVECTION = str(CONFIGS / "runs/free_convection.yaml")
SYNTHETIC = str(CONFIGS / "runs/synthetic.yaml")
SHORT = ["--set", "time.duration=1200", "--set", "time.output_interval=600", "--set", "grid.n_cells=16"]
WHOLE_GRID = ["--set", "grid={kind: uniform, n_cells: 16}"]

# A case of GOTM has a grid and a step of its own; a year has long steps.
LONG_STEPS = [*SHORT[:4], *WHOLE_GRID, "--set", "time.step=600"]


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return invoked


def _needs_data(path: Path) -> None:
    """Skip a configuration with files below $TUNAX_LITE_DATA if that is not set; else they must exist."""
    if os.environ.get("TUNAX_LITE_DATA"):
        return
    text = path.read_text()
    text += "".join((path.parent / cases).read_text() for cases in re.findall(r"(?m)^cases: *(\S+)$", text))
    for name in re.findall(r"\bpaths?: *[\"\[]*([^\s\"\]},]+)", text):
        if not name.startswith("synthetic:") and not (path.parent / name).is_file():
            pytest.skip(f"{path.name} needs {name} below $TUNAX_LITE_DATA, which is not set")


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_run_says_where_rain_exceeds_a_cell(invoke):
    cells = ["--set", "grid={kind: faces, z_face: [-50.0, -10.0, -5.0, -0.01, 0.0]}"]
    rain = [*SHORT[:4], *cells, "--set", "case.forcing={freshwater_flux: 1.0}"]
    rain += ["--set", "model.closure={name: constant, parameters: {diffusivity: 1e-7}}"]
    said = invoke("run", KATO, *rain, "--output", "out.nc", code=1).output
    assert not missing_from(said, "salinity 0.005 600") and Path("out.nc").is_file()


@pytest.mark.parametrize(
    ("cooling", "code", "expected"),
    [
        # 10 m of water at 0 degC lose 4.4 K in a day, or 19 K: 2.4 K below the -1.92 degC of S = 35, or 17 K.
        pytest.param(2075.0, 0, r"temperature -4\.\d+ degC .* 2\.[45]\d* K ", marks=pytest.mark.long),
        (9000.0, 1, r"temperature -1[89]\..* 17\.?\d* K "),
    ],
)
def test_water_below_its_freezing_point_is_said(invoke, cooling, code, expected):
    cold = {
        "grid": "{kind: uniform, n_cells: 4}",
        "time": "{step: 600, output_interval: 86400, duration: 86400}",
        "case.depth": 10.0,
        "case.duration": 86400.0,
        "case.temperature": "{surface: 0.0}",
        "case.salinity": "{surface: 35.0}",
        "case.forcing": f"{{heat_flux: {-cooling}}}",
        "model.closure": "{name: constant, parameters: {diffusivity: 1.0, viscosity: 1.0}}",
    }
    settings = [word for name, value in cold.items() for word in ("--set", f"{name}={value}")]
    result = invoke("run", KATO, *settings, "--output", "out.nc", code=code)
    assert re.search(f"{expected}.*ice: winton", result.output, re.DOTALL), result.output
    assert Path("out.nc").is_file()
    with_ice = invoke("run", KATO, *settings, "--set", "case.ice=simple", "--output", "ice.nc")
    assert "water" not in with_ice.output


# Hardly mixed, 6 m of water at 20 degC lose Q 172 800 s / (1025 * 3992 * 6) K in two days: 24.6, or 63.3 K.
STILL = "{name: constant, parameters: {diffusivity: 1.0e-8, viscosity: 1.0e-8}}"


@pytest.mark.parametrize(
    ("cooling", "code", "expected"),
    [
        (3500, 0, r"note: unlikely water: temperature -4\.[67]\d* degC at 3 m"),
        pytest.param(
            9000, 1, r"temperature -43\.[2-4]\d* degC at 3 m, .* 41\.\d* K ", marks=pytest.mark.long
        ),
    ],
)
def test_errors_of_water_that_cannot_be_are_no_result(invoke, cooling, code, expected):
    settings = ["--set", "grid.n_cells=16", "--set", "time.step=600", "--set", f"model.closure={STILL}"]
    settings += ["--set", f"case.mapping={{fluxes: {{heat_flux: -{cooling}}}}}"]
    said = invoke("evaluate", SYNTHETIC, *settings, code=code).output
    assert "root mean square errors" in said and re.search(expected, said), said


@pytest.mark.long
def test_a_calibration_whose_water_cannot_be_ends_with_an_error(invoke):
    settings = {
        "cases": '[{case: {format: cf_netcdf, path: "synthetic:wind_and_cooling", '
        "mapping: {fluxes: {heat_flux: -9000.0}}}}]",
        "model.closure": STILL,
        "parameters": "{diffusivity: {lower: 1e-9, upper: 1e-7}}",
        "optimiser": "{name: levenberg_marquardt}",
        **{"grid.n_cells": 16, "time.step": 600, "n_iterations": 1, "output.figures": "false"},
    }
    options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    config = CONFIGS / "calibrations/synthetic.yaml"
    said = invoke("calibrate", config, *options, "--output", "cold", code=1).output
    assert re.search(r"temperature -43\.\d* .* 172800 s", said), said
    assert Path("cold/parameters.yaml").is_file()


@pytest.mark.parametrize("path", some_long(RUNS, lambda path: path != Path(KATO), lambda path: path.stem))
def test_every_run_configuration_runs(invoke, tmp_path, path):
    _needs_data(path)
    if path != Path(KATO):  # below
        invoke("check", path)
    text = path.read_text()
    short = [*SHORT[:4], *WHOLE_GRID] if "cell_thickness" in text else SHORT
    short = LONG_STEPS if re.search("format: (gotm|site)", text) else short
    invoke("run", path, *short, "--output", "out.nc")
    assert _files(tmp_path) == {"out.nc"}
    trajectory = read_trajectory(tmp_path / "out.nc")
    assert (trajectory.n_frames, trajectory.grid.n_cells) == (3, 16)


@pytest.mark.long
def test_every_calibration_and_comparison_configuration_is_fine():
    for path in CALIBRATIONS:
        _needs_data(path)
        build_calibration(load_calibration(path))
    for path in COMPARISONS:
        _needs_data(path)
        setup = load_comparison(path)
        assert len(setup.candidates()) > 1 and len(setup.references()) >= 4, path


# Those of other closures differ in their parameters alone, and the contract tests know their gradients.
@pytest.mark.long
@pytest.mark.parametrize(("name", "further"), [("synthetic", {"series.png"}), ("lesbrary_k_epsilon", set())])
def test_calibration_configuration_runs(invoke, tmp_path, name, further):
    path = CONFIGS / f"calibrations/{name}.yaml"
    _needs_data(path)
    settings = ["n_iterations=2", "misfit.end=21600", "grid.n_cells=16", "checks=[]"]
    options = [word for setting in settings for word in ("--set", setting)]
    result = invoke("calibrate", path, *options, "--output", "out")
    names = {"parameters.yaml", "history.nc", "loss.png", "parameters.png", "profiles.png", "checkpoint.eqx"}
    names |= further  # measurements are drawn over time, simulations as profiles
    assert _files(tmp_path / "out") == names
    for name in names - {"checkpoint.eqx"}:
        assert f"wrote out/{name}" in result.output


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of a short run."""
    path = tmp_path_factory.mktemp("whole") / "whole.nc"
    invoked("run", KATO, *SHORT, "--output", path)
    return path


@pytest.mark.long
def test_restart_goes_on_bit_by_bit_and_not_from_another_run(invoke, tmp_path, whole):
    restart = ("run", KATO, *SHORT, "--restart", whole)
    invoke(*restart, "--set", "time.duration=600", "--frame", "1", "--output", "rest.nc")
    expected, rest = read_trajectory(whole), read_trajectory(tmp_path / "rest.nc")
    np.testing.assert_array_equal(rest.time, expected.time[1:])
    for after, before in zip(
        jax.tree.leaves((rest.state, rest.clo_state)),
        jax.tree.leaves((expected.state, expected.clo_state)),
        strict=True,
    ):
        np.testing.assert_array_equal(after, before[1:])
    invoke("run", KATO, *SHORT, "--set", "precision=float32", "--output", "single.nc")
    single = read_netcdf(tmp_path / "single.nc")["temperature"]
    assert single.dtype == np.float32
    # Round-off of single precision at 20 degC is 2e-6 a step, over 20 steps.
    np.testing.assert_allclose(single, expected.state.temperature, rtol=0.0, atol=1e-4)
    for option, parts in (
        (("--set", "grid.n_cells=20"), "grid"),
        (("--set", "time.step=30"), "time.step 60"),
        (("--set", "model.closure.name=constant"), "TurbulenceState"),
        (("--set", "case.tracers={dye: 1}"), "dye"),
        (("--restart", "single.nc"), "float32 float64"),
        (("--frame", "9"), "0 2 9"),
    ):
        said = invoke(*restart, *option, "--output", "x.nc", code=2).stderr
        assert not missing_from(said, parts), said
    assert _files(tmp_path) == {"rest.nc", "single.nc"}


@pytest.mark.long
def test_default_output_has_figures_and_provenance(invoke, tmp_path):
    result = invoke("run", KATO, *SHORT)
    names = {"kato_phillips.nc", "kato_phillips_sections.png", "kato_phillips_profiles.png"}
    assert _files(tmp_path) == {f"results/{name}" for name in names}
    assert all(f"wrote results/{name}" in result.output for name in names)
    attributes = read_netcdf(tmp_path / "results/kato_phillips.nc").attrs
    assert attributes["tunax_lite_case"] == "kato_phillips"
    assert yaml.safe_load(attributes["tunax_lite_config"])["time"]["duration"] == 1200.0
    assert json.loads(attributes["tunax_lite_parameters"])["c_eps_2"] == pytest.approx(1.92)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A short calibration from two starts, which took a break between them."""
    folder = tmp_path_factory.mktemp("calibration")
    (folder / "config.yaml").write_text(CALIBRATION)
    arguments = ["calibrate", folder / "config.yaml", "--output", folder / "out"]
    first = invoked(*arguments, "--show-parameters").output
    second = invoked(*arguments, "--set", "n_iterations=5", "--resume").output
    return folder / "out", arguments, first, second


def test_calibration_reports_and_goes_on(calibrated, invoke):
    folder, arguments, first, second = calibrated
    assert "iteration 1 of 3, loss" in first and "iteration 3 of 3, loss" in first
    assert "iteration 4 of 5, loss" in second and "iteration 3 of 5" not in second
    assert re.search(r"  temperature  \S+ -> \S+, persistence \S+  \[K\]\n", first)
    assert "alpha=5  " in first and "score of synthetic_wind_and_cooling=" in first
    assert "alpha=" not in second  # only on request
    assert "lowest loss by start" in second and "lowest loss by start" not in first
    assert read_netcdf(folder / "history.nc").sizes["iteration"] == 5
    before = (folder / "parameters.yaml").read_bytes()
    result = invoke(*arguments, code=2)
    assert "--resume" in result.stderr and "--overwrite" in result.stderr
    assert (folder / "parameters.yaml").read_bytes() == before


def test_run_and_evaluate_take_calibrated_parameters(calibrated, invoke, tmp_path):
    values = calibrated[0] / "parameters.yaml"
    given = ("--set", "model.closure={name: pacanowski_philander}", "--parameters", values)
    invoke("run", SYNTHETIC, *SHORT, *given, "--output", "out.nc")
    used = json.loads(read_netcdf(tmp_path / "out.nc").attrs["tunax_lite_parameters"])
    found = yaml.safe_load(values.read_text())["parameters"]
    assert used["alpha"] == pytest.approx(found["alpha"]["value"], rel=1e-12)
    assert used["alpha"] != 5.0
    settings = ["evaluation.end=21600", "grid.n_cells=16", "time.step=600"]
    options = [word for setting in settings for word in ("--set", setting)]
    result = invoke("evaluate", SYNTHETIC, *given, *options, "--output", "table.csv", "--json")
    rows = [line.split(",") for line in (tmp_path / "table.csv").read_text().splitlines()]
    assert rows[0] == ["case", "variable", "unit", "configuration", "parameters"]
    assert [row[1] for row in rows[1:]] == ["temperature", "u", "v"]
    history = read_netcdf(values.with_name("history.nc"))
    recorded = history["temperature_error"].values[:, 0]
    best = recorded[int(history.attrs["best_iteration"]) - 1]
    # The same windows and levels as in the calibration: the errors are those that it recorded.
    assert [float(value) for value in rows[1][3:]] == pytest.approx([recorded[0], best], rel=1e-9)
    answer = json.loads(result.stdout)
    assert [row["variable"] for row in answer["errors"]] == ["temperature", "u", "v"]
    assert answer["errors"][0]["errors"]["configuration"] > 0.0 and answer["checks"] == []
    _, means = result.stderr.split("mean errors, model minus observed\n")
    # Of every variable one signed number for the configuration and one for the parameters.
    assert len(re.findall(r"[ ][+-]\d\.\d+", means)) == 6


@pytest.mark.long
def test_plot_draws_any_output(calibrated, invoke, tmp_path, whole):
    shutil.copy(whole, "out.nc")
    invoke("plot", "out.nc")
    invoke("plot", calibrated[0] / "history.nc", "--output", "figures")
    figures = {f"figures/history_{name}.png" for name in ("loss", "parameters")}
    assert _files(tmp_path) == {"out.nc", "out_sections.png", "out_profiles.png", *figures}


def test_report_is_one_page_with_everything(calibrated, invoke, tmp_path):
    folder, *_ = calibrated
    page = tmp_path / "page.html"
    assert f"wrote {page}" in invoke("report", folder, "--output", page).output
    text = page.read_text()
    best = yaml.safe_load((folder / "parameters.yaml").read_text())
    for path, entry in best["parameters"].items():
        assert f"<code>{path}</code>" in text and f">{entry['value']:.4g}<" in text
    assert "= 10.0 * viscosity_scale + 0.0" in text and "Lowest loss by start" in text
    data = ROOT / "data/synthetic_wind_and_cooling.nc"
    assert hashlib.sha256(data.read_bytes()).hexdigest() in text
    assert re.search(r"Calibrated on 20\d\d-\d\d-\d\d \d\d:\d\d UTC with tunax_lite \d", text)
    assert text.count("data:image/png;base64,") == 2  # losses, parameters
    assert not re.search(r"(?:src|href)=.(?!data:)", text)  # nothing to be loaded
    for files, code, parts in (
        ({}, 3, "parameters.yaml history.nc"),
        ({"parameters.yaml": "a: [", "history.nc": ""}, 2, "parameters.yaml closure parameters"),
    ):
        for name, content in files.items():
            (tmp_path / name).write_text(content)
        assert not missing_from(invoke("report", tmp_path, code=code).output, parts)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")
def test_report_in_a_browser(calibrated, invoke, tmp_path):
    folder, *_ = calibrated
    page = tmp_path / "page.html"
    invoke("report", folder, "--output", page)
    # Every figure has a size once it is decoded, and no table is wider than the page.
    question = """({figures: [...document.images].map(i => i.naturalWidth),
        rows: document.querySelectorAll("#parameters + .scroll tbody tr").length,
        wide: document.documentElement.scrollWidth > innerWidth})"""
    found, messages = _in_chromium(page, tmp_path / "profile", question)
    assert not messages
    n_parameters = len(yaml.safe_load((folder / "parameters.yaml").read_text())["parameters"])
    assert min(found["figures"]) > 300 and len(found["figures"]) == 2
    assert (found["rows"], found["wide"]) == (n_parameters, False)


@pytest.mark.filterwarnings("default")
def test_report_of_a_run_holds_its_numbers(invoke, tmp_path):
    invoke("run", SYNTHETIC, *SHORT, "--output", "out.nc")
    assert "wrote out.html" in invoke("report", "out.nc").output
    text = (tmp_path / "out.html").read_text()
    assert not re.search(r"(?:src|href)=", text)  # nothing to be loaded
    shown = json.loads(re.findall(r'id="shown">(.*?)</script>', text)[0])
    temperature = read_netcdf(tmp_path / "out.nc")["temperature"].values
    (field,) = [each for each in shown["fields"] if each["label"] == "temperature"]
    counts = np.frombuffer(base64.b64decode(field["values"]), "<u2").reshape(temperature.shape)
    stored = field["low"] + (field["high"] - field["low"]) * counts / 65534.0
    # Sixteen bits, rounded to nearest.
    np.testing.assert_allclose(stored, temperature, rtol=0.0, atol=np.ptp(temperature) / 65534.0)
    assert shown["times"] == ["0 h", "0.1667 h", "0.3333 h"] and field["unit"] == "°C"
    data = ROOT / "data/synthetic_wind_and_cooling.nc"
    assert hashlib.sha256(data.read_bytes()).hexdigest() in text


def _in_chromium(page: Path, folder: Path, question: str):
    """What a script finds on a page once it is loaded, and the messages of the console."""
    probe = (
        f'<script>addEventListener("load", () => {{ document.title = JSON.stringify({question}) }})</script>'
    )
    page.write_text(page.read_text().replace("</body>", f"{probe}</body>"))
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --dump-dom"
    command = ["chromium", *flags.split(), "--enable-logging=stderr", f"--user-data-dir={folder}"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    title = done.stdout.partition("<title>")[2].partition("</title>")[0]
    return json.loads(title.replace("&quot;", '"')), re.findall("CONSOLE.*", done.stderr)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")
@pytest.mark.filterwarnings("default")
def test_report_of_a_run_moves_through_time(invoke, tmp_path):
    invoke("run", SYNTHETIC, *SHORT, "--output", "out.nc")
    invoke("report", "out.nc")
    question = """(() => {
        const frames = [0, 2].map(frame => {
            slider.value = frame; slider.dispatchEvent(new Event("input"));
            const {canvas, caption} = run.fields[0];
            return [moment.textContent, canvas.toDataURL(), caption.textContent] });
        return {moments: frames.map(each => each[0]), moved: frames[0][1] !== frames[1][1],
            caption: frames[1][2], wide: document.documentElement.scrollWidth > innerWidth} })()"""
    found, messages = _in_chromium(tmp_path / "out.html", tmp_path / "browser", question)
    caption = found.pop("caption")
    assert found == {"moments": ["0 h", "0.3333 h"], "moved": True, "wide": False} and not messages
    told = re.fullmatch(r"temperature: (.+) °C at (.+) m", caption)
    surface = read_netcdf(tmp_path / "out.nc")["temperature"].values[-1, -1]
    assert told and float(told[1]) == pytest.approx(surface, abs=0.01) and float(told[2]) > -10.0


def test_late_convection_is_told_by_the_check(invoke, tmp_path):
    cooled = ["--set", "model.closure.name=k_epsilon", "--set", "grid.n_cells=25"]
    recommended = ("--set", "model.closure.constants=recommended")
    assert "convection does not begin" in invoke("check", FREE_CONVECTION, *cooled).output
    assert "note" not in invoke("check", FREE_CONVECTION, *cooled, *recommended).output
    cases = []
    for name in ("calm", "still"):
        changes = {"parameters/momentum_flux": 0.0, "parameters/name": np.bytes_(name)}
        changes |= {"parameters/temperature_flux": 5e-4, "parameters/buoyancy_flux": 5e-4 * 2e-4 * 9.80665}
        write_lesbrary(tmp_path / f"{name}.jld2", change=changes)
        cases.append({"case": {"format": "lesbrary", "path": f"{name}.jld2"}})
    content = {
        "cases": cases,
        "grid": {"kind": "native"},
        "time": {"step": 60.0},
        "misfit": {"weights": {"temperature": 1.0}, "start": 600.0},
        "parameters": {"c_eps_1": {"lower": 1.2, "upper": 1.7}},
        "model": {"closure": {"name": "k_epsilon"}},
    }
    (tmp_path / "calm.yaml").write_text(yaml.safe_dump(content))
    assert "note: calm, still: " in " ".join(invoke("check", "calm.yaml").output.split())
    assert "note: calm" not in invoke("check", "calm.yaml", *recommended).output


def test_recommended_constants_beyond_their_resolutions_are_told(invoke):
    """In cells or steps larger than those in which they were judged, and not for other constants."""
    closure = "--set", "model.closure={name: k_epsilon, constants: recommended}"
    coarse = "--set", "grid.n_cells=12", "--set", "time.step=900"
    assert not missing_from(invoke("check", FREE_CONVECTION, *closure, *coarse).output, "8 8.33333 600 900")
    assert "recommended" not in invoke("check", FREE_CONVECTION, *coarse).output


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


@pytest.mark.long
def test_installed_command(tmp_path):
    command = [sys.executable, "-c", "from tunax_lite.cli import main; main()"]
    done = subprocess.run(
        [*command, "run", KATO, *SHORT, "--output", "out.nc"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert read_netcdf(tmp_path / "out.nc")["temperature"].dtype == np.float64
    version = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert re.fullmatch(r"tunax_lite \d+\.\d+\.\d+\S*\n", version.stdout)


def test_answers_for_scripts_are_one_json_object_on_standard_output(invoke, tmp_path):
    result = invoke("check", KATO, "--json")
    checked = json.loads(result.stdout)
    assert checked["time"] == {"n_steps": 1800, "step": 60.0, "n_frames": 60, "output_interval": 1800.0}
    assert checked["kind"] == "run" and checked["model"]["closure"] == "KEpsilon"
    assert checked["cases"][0]["fluxes_at_start"] == {"stress_u": 0.1027}
    for fragment in ("100 cells over 50 m", "stress_u = 0.1027", "1800 steps of 60 s"):
        assert fragment in result.stderr
    assert result.stderr.rstrip().endswith("fine") and not _files(tmp_path)
    assert of_json({"a": [math.nan, 1.0], "b": {"c": -math.inf}}) == {"a": [None, 1.0], "b": {"c": None}}


@pytest.mark.study  # `make run` does the same
def test_demo_calibrates_runs_and_names_its_figures(invoke, tmp_path):
    output = invoke("demo", "--output", "demo").output
    assert {"calibration.yaml", "parameters.yaml", "profiles.png", "run.nc", "run_fit.png"} <= _files(
        tmp_path / "demo"
    )
    loss = re.search(r"loss: ([\d.]+) at the start, ([\d.]+) at the best", output)
    assert loss is not None and float(loss[2]) < 0.5 * float(loss[1])
    assert "profiles.png" in output.splitlines()[-2] and "run_fit.png" in output.splitlines()[-1]
    # Changed by the user, a configuration is not replaced unasked.
    (tmp_path / "demo/run.yaml").write_text("changed: true\n")
    assert "run.yaml" in invoke("demo", "--output", "demo", code=2).stderr


CALIBRATION = """
cases: [{case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}}]
grid: {kind: uniform, n_cells: 16}
model: {closure: {name: pacanowski_philander}}
time: {step: 600.0}
misfit: {weights: {temperature: 1.0, u: 0.5, v: 0.5}, scale: z_score, end: 21600.0}
parameters:
  alpha: {lower: 1.0, upper: 10.0}
  viscosity_scale: {lower: 1.0e-3, upper: 0.1}
  convective_coefficient: {tied_to: viscosity_scale, factor: 10.0}
optimiser: {name: adam, learning_rate: 0.1, schedule: constant}
starts: {number: 2, iterations_each: 3, spread: 0.1}
n_iterations: 3
output: {figures: false}
"""
