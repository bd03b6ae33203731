"""The campaign of hostile inputs: a small sample of it, its judge, and what it found."""

from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
from typer.testing import CliRunner

from tests.errors import error_naming
from tests.hostile import material
from tests.hostile.attack import Try
from tests.hostile.catalogue import attacks_of, sample_of
from tests.hostile.judge import Outcome, contents, judge
from tests.hostile.workers import run_attack
from tunax_lite.cli.commands import app
from tunax_lite.column.grid import Grid
from tunax_lite.column.state import State
from tunax_lite.io import FileFormatError, read_cf_netcdf, read_lesbrary
from tunax_lite.io.errors import reading, shortened, within_a_screen
from tunax_lite.io.writing import file_name
from tunax_lite.io.yaml_file import ConfigError, parse_yaml
from tunax_lite.runtime.memory import TooLargeError, check_memory, check_steps, lift_limits


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    return material.write_material(tmp_path_factory.mktemp("hostile") / "material", results=False)


@pytest.fixture
def folder(files, tmp_path, monkeypatch) -> Path:
    """A folder of small valid files."""
    for path in files.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> str:
    """The message with which a command ends."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code in (2, 3), result.output + repr(result.exception)
    return result.stderr


@pytest.mark.parametrize("number", [15, pytest.param(60, marks=pytest.mark.long)])
def test_a_sample_of_the_campaign(files, tmp_path, number):
    needed = ("result.nc", "fit")
    chosen = [one for one in sample_of(number, seed=7) if not one.name.startswith(needed)]
    assert len(chosen) > 0.6 * number
    failed = {}
    for number, attack in enumerate(chosen):
        wrong = run_attack(attack, 7, files, tmp_path / f"{number}")
        if wrong:
            failed[f"{attack.kind}: {attack.name}"] = wrong
    assert not failed


@pytest.mark.parametrize("name", sorted(set(material.CONFIGS) - {"comparison.yaml"}))
def test_what_the_attacks_damage_is_valid_before(folder, name):
    arguments = ["check", name]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output + result.stderr


def test_a_campaign_has_as_many_attacks_as_asked_for_and_is_reproducible():
    names = [(one.kind, one.name) for one in attacks_of(600, 3)]
    assert len(names) >= 600 and len(set(names)) == len(names)
    assert names == [(one.kind, one.name) for one in attacks_of(600, 3)]


WITHOUT = "a message without run.yaml"


@pytest.mark.parametrize(
    "outcome, found",
    [
        (Outcome(None, "", "", 61.0), ["hang: more than 60 s"]),
        (
            Outcome(1, "", "Traceback (most recent call last):\n", 0.1),
            ["traceback", "no message", WITHOUT],
        ),
        (Outcome(3, "", "tunax-lite: error: damaged\n", 0.1), [WITHOUT]),
        (Outcome(3, "", "tunax-lite: error: rerun.yaml\n", 0.1), [WITHOUT]),
        (Outcome(3, "", "tunax-lite: error: run.yaml\n" * 2, 0.1), ["several messages"]),
        (
            Outcome(3, "", "tunax-lite: error: run.yaml" + "\n." * 30, 0.1),
            ["a message of 31 lines and 87 characters"],
        ),
        (Outcome(3, "", "", 0.1), ["no message", WITHOUT]),
        (Outcome(-11, "", "", 0.1), ["no message", WITHOUT, "exit code -11"]),
        (Outcome(0, "", "", 0.1), ["silent: exit code 0"]),
        (
            Outcome(0, "", "x.py:1: RuntimeWarning: overflow", 0.1),
            ["warnings of a library", "silent: exit code 0"],
        ),
    ],
)
def test_the_judge_sees(outcome, found, tmp_path):
    attempt = Try([], ("run.yaml",), must_fail=True)
    assert judge(attempt, outcome, tmp_path, contents(tmp_path)) == found


def test_the_judge_sees_lost_files_and_silent_numbers(tmp_path):
    (tmp_path / "input.nc").write_text("precious")
    before = contents(tmp_path)
    (tmp_path / "input.nc").write_text("gone")
    (tmp_path / ".out.nc.tmp").touch()
    with netCDF4.Dataset(tmp_path / "out.nc", "w") as file:
        file.createDimension("time", 2)
        file.createVariable("temperature", "f8", ("time",))[...] = [20.0, 1e5]
    assert judge(Try([]), Outcome(0, "", "", 0.1), tmp_path, before) == [
        "changed: 'input.nc'",
        "left over: .out.nc.tmp",
        "unasked: '.out.nc.tmp'",
        "silent: temperature from 20 to 1e+05",
    ]


def test_the_judge_finds_nothing_wrong_with_an_error_that_names_its_file(tmp_path):
    outcome = Outcome(2, "", "tunax-lite: error: run.yaml: expected a, got b; do c.\n", 0.1)
    assert judge(Try([], ("run.yaml",), must_fail=True), outcome, tmp_path, contents(tmp_path)) == []


@pytest.mark.parametrize(
    "error", [KeyError("x"), OverflowError("y"), RuntimeError("z"), RecursionError("r"), UnicodeError("u")]
)
def test_errors_of_libraries_name_the_file(error):
    with (
        error_naming(FileFormatError, f"data.nc {error.args[0]}"),
        reading("data.nc", "a table"),
    ):
        raise error


def test_a_message_is_no_longer_than_a_screen():
    message = within_a_screen("\n".join("x" * 90 for _ in range(500)))
    assert len(message) <= 2000 and len(message.splitlines()) <= 25 and "more lines" in message
    assert shortened("a\x1b[31m\nb") == "a\\x1b[31m\\nb" and len(shortened("y" * 10**6)) <= 400
    error = FileFormatError("f" * 5000, "k" * 5000, "e" * 5000, "g" * 5000, "correct it")
    assert len(str(error)) < 2000 and str(error).endswith("correct it.")


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: &a [1]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(3)), None),
        (
            "a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60)),
            "1000000 4.61e+18",  # 2**62
        ),
        ("a: &a [1, *a]\n", "1 alias"),
        ("a: " + "[" * 200 + "]" * 200, "100"),
        ("a: " + "[" * 50_000, "100"),
        ("a: " + "9" * 10_000, "YAML 10000"),
    ],
)
def test_yaml_that_would_fill_the_memory(text, message):
    if message is None:
        assert parse_yaml(text)["b2"] == [[1], [1]]
        return
    with error_naming(ConfigError, message):
        parse_yaml(text)


def test_more_steps_than_anybody_waits_for():
    check_steps(1e9, 1.0)
    with error_naming(TooLargeError, "1e+09 3.15e+12 --no-limits"):
        check_steps(3.15e7, 1e-5)
    lift_limits(True)
    try:
        check_steps(2e9, 1.0)
        with error_naming(TooLargeError, "2147483647"):  # of 32 bits
            check_steps(3e9, 1.0)
    finally:
        lift_limits(False)
    with error_naming(TooLargeError, "1e18"):
        check_memory(1e18, "this")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "run.yaml", "--set", "time.step=1e-300"),
        ("check", "run.yaml", "--set", "case.duration=1e300"),
        ("check", "profiles.yaml", "--set", "time.step=1e-9"),
        ("evaluate", "les.yaml", "--set", "time.step=1e-9"),
        ("calibrate", "calibration.yaml", "--set", "time.step=1e-9"),
        ("compare", "comparison.yaml", "--set", "time_steps=[1e-9]", "--set", "figures.time_step=1e-9"),
        ("check", "gotm.yaml", "--set", "time.dt=1e-9"),
    ],
)
def test_commands_refuse_runs_without_end(folder, arguments):
    message = refused(*arguments)
    assert "expected at most 1e+09 time steps" in message and arguments[1] in message


def test_the_switch_lifts_the_limit_for_one_command(folder):
    arguments = ["check", "run.yaml", "--set", "time.step=1e-6", "--set", "case.duration=1800"]
    arguments += ["--set", "time.output_interval=600"]
    assert "time steps" in refused(*arguments)
    assert CliRunner().invoke(app, ["--no-limits", *arguments]).exit_code == 0
    assert "time steps" in refused(*arguments)


@pytest.mark.parametrize(
    "name, value",
    [
        ("gravity", 0.0),
        ("reference_density", -1025.0),
        ("coriolis_parameter", 1000.0),
        ("infrared_fraction", 5.0),
        ("uncertainty", -1.0),
    ],
)
def test_attributes_have_the_ranges_of_configurations(folder, name, value):
    with netCDF4.Dataset(folder / "profiles.nc", "a") as file:
        (file["temperature"] if name == "uncertainty" else file).setncattr(name, value)
    with error_naming(FileFormatError, f"profiles.nc {name} {value:g}"):
        read_cf_netcdf(folder / "profiles.nc")


def test_arrays_larger_than_the_memory_are_not_allocated(folder):
    with netCDF4.Dataset(folder / "profiles.nc", "a") as file:
        file.createDimension("huge", 10**12)
        file.createVariable("other", "f8", ("huge",), zlib=True, chunksizes=(10**6,))
    with error_naming(FileFormatError, "profiles.nc other 8e3"):
        read_cf_netcdf(folder / "profiles.nc")
    with h5py.File(folder / "les.jld2", "a") as file:
        del file["timeseries/T/0"]
        file.create_dataset("timeseries/T/0", (10**6, 10**6), "f8", chunks=(1000, 1000), compression="gzip")
    with error_naming(FileFormatError, "les.jld2 timeseries/T/0 8e3"):
        read_lesbrary(folder / "les.jld2")


def test_complex_numbers_are_no_temperature(folder):
    with h5py.File(folder / "les.jld2", "a") as file:
        del file["timeseries/T/0"]
        file["timeseries/T/0"] = np.ones(8, complex)
    with error_naming(FileFormatError, "les.jld2 timeseries/T/0 complex128"):
        read_lesbrary(folder / "les.jld2")


@pytest.mark.parametrize("name", ["temperature", "z_center", "a b", "a/b", "", "a" * 300])
def test_tracers_have_names_that_files_can_have(name):
    grid = Grid.uniform(10.0, 4)
    with error_naming(ValueError, "State"):
        State.from_profiles(grid, temperature=20.0, tracers={name: 1.0})
    assert State.from_profiles(grid, temperature=20.0, tracers={"θ_2": 1.0}).tracers


def test_names_of_cases_do_not_leave_the_folder():
    assert file_name("profiles_../../x") == "profiles_.._.._x"
    assert file_name("/a\nb") == "_a_b" and len(file_name("x" * 1000)) == 100


@pytest.mark.parametrize("text", ["1_0", "\u0661", "0x10", "one"])
def test_numbers_of_text_files_are_decimal(folder, text):
    table = (folder / "weather.csv").read_text()
    (folder / "weather.csv").write_text(table.replace(",8.0,", f",{text},", 1))
    assert "weather.csv: line 2: wind_u: expected a number, got" in refused("check", "station.yaml")


def test_a_trajectory_with_exchanged_variables_is_refused(folder):
    assert CliRunner().invoke(app, ["run", "run.yaml", "--output", "result.nc"]).exit_code == 0
    restart = ["run", "run.yaml", "--output", "out.nc", "--restart", "result.nc", "--frame", "1"]
    with netCDF4.Dataset("result.nc", "a") as file:
        file["salinity"][...], file["v"][...] = 0.0, 35.0
    assert "result.nc: v: expected v between -20 and 20, got 35" in refused(*restart)
    with netCDF4.Dataset("result.nc", "a") as file:
        file["v"][...], file["salinity"][...] = np.nan, 35.0
    assert "result.nc: v: expected finite values in frame 1" in refused(*restart)
    with netCDF4.Dataset("result.nc", "a") as file:
        file.renameVariable("step", "other")
        file.renameVariable("salinity", "step")
    assert "result.nc: " in refused(*restart)


def test_profiles_stay_within_what_water_can_be_all_the_way_down(folder):
    said = refused("check", "run.yaml", "--set", "case.temperature.gradient=10")
    assert "temperature: expected values from -5 to 60 [degC] in the whole column, got -130" in said


def test_a_flux_of_a_tracer_that_is_not_there(folder):
    said = refused("check", "run.yaml", "--set", "case.forcing.tracer_fluxes={dye: 1.0}")
    assert "expected fluxes of tracers of the case, got `dye`" in said


def test_parameters_out_of_range_name_their_file(folder):
    material.write_yaml(
        folder / "parameters.yaml", {"closure": "Constant", "parameters": {"viscosity": 1e19}}
    )
    said = refused("run", "run.yaml", "--output", "out.nc", "--parameters", "parameters.yaml")
    assert "parameters.yaml: parameters: viscosity: expected a value between 0 and 1000, got 1e+19" in said
