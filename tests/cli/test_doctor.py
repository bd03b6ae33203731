"""`tunax-lite doctor`: what it reports, and that it notices what is wrong."""

import importlib
import json
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

from tests.cli.running import invoked
from tunax_lite import simulate
from tunax_lite.cli.commands import app
from tunax_lite.cli.doctor import DT, Check, SelfTest, Speed, check_run, problem, self_test
from tunax_lite.runtime import configuration, configure

FINE = SelfTest((Speed("float64", 1, 10, 5.5, 1.5),), (Check("finite", True, "0 values"),))
BROKEN = SelfTest(FINE.speeds, (*FINE.checks, Check("heat budget", False, "off by 0.3")))
HURRIED = SelfTest(FINE.speeds, FINE.checks, ("float32, 128 columns",))


@pytest.fixture
def doctor(monkeypatch):
    """Run the command with a self-test that found something before."""

    def run(*arguments, tested=FINE):
        module = importlib.import_module("tunax_lite.cli.doctor")
        monkeypatch.setattr(module, "self_test", lambda seconds: tested)
        return CliRunner().invoke(app, ["doctor", *arguments])

    return run


@pytest.mark.long
def test_self_test_passes_here(monkeypatch):
    monkeypatch.setattr(importlib.import_module("tunax_lite.cli.doctor"), "_MOST_REPETITIONS", 1)
    tested = self_test(1e6)
    assert [speed[:3] for speed in tested.speeds] == [
        ("float64", 1, 2880),
        ("float32", 1, 2880),
        ("float64", 128, 480),
        ("float32", 128, 480),
    ]
    assert tested.skipped == ()
    assert all(speed.microseconds > 0.0 and speed.compile_seconds > 0.0 for speed in tested.speeds)
    assert [check for check in tested.checks if not check.passed] == []
    assert len(tested.checks) == 13


@pytest.mark.long
def test_self_test_skips_what_there_is_no_time_for(doctor):
    tested = self_test(0.0)
    assert [speed[:3] for speed in tested.speeds] == [("float64", 1, 2880)]
    others = ("float32, 1 column", "float64, 128 columns", "float32, 128 columns", "jit = no jit")
    assert tested.skipped == others
    assert "skipped  float32, 128 columns" in doctor(tested=HURRIED).stdout


@pytest.fixture(scope="module")
def run():
    model, case = problem("float64", 1)
    return case, simulate(model, case, dt=DT, duration=600.0, output_interval=600.0)


def failed(run, case, precision="float64"):
    return [check.name.split(" (")[0] for check in check_run(run, case, precision, 1) if not check.passed]


def test_checks_notice_what_is_wrong(run):
    case, right = run
    temperature = right.state.temperature
    assert failed(right, case) == []
    assert failed(right, case, "float32") == ["precision"]

    def replaced(value):
        return eqx.tree_at(lambda r: r.state.temperature, right, value)

    assert failed(replaced(temperature.at[1, 3].add(1e-9)), case) == ["heat budget"]
    assert failed(replaced(temperature.at[1, 3].set(jnp.nan)), case) == ["finite", "heat budget"]
    velocity = eqx.tree_at(lambda r: r.state.u, right, right.state.u.at[1, 0].set(jnp.inf))
    assert failed(velocity, case) == ["finite"]


def test_report_names_what_one_asks_for(doctor):
    result = doctor()
    assert result.exit_code == 0, result.output
    for fragment in (
        *("tunax_lite", "jaxlib", "equinox", "optax", "numpy", "python", "cpu", "processors"),
        *("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR"),
        *("float64 in commands", "hits", "misses", configuration().xla_flags),
        *("5.50", "compile [s]", "passed  finite"),
    ):
        assert fragment in result.output
    for option in ([], ["--json"]):
        result = doctor(*option, tested=BROKEN)
        assert result.exit_code == 1 and "heat budget: off by 0.3" in result.stdout


def test_json_is_one_object(doctor, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
    report = json.loads(doctor("--json").stdout)
    assert report["problems"] == []
    assert report["devices"][0]["platform"] == "cpu"
    assert report["devices"][0]["free_bytes"] > 0 and report["devices"][0]["used_bytes"] > 0
    assert report["cache"]["folder"] == str(configuration().cache_folder)
    assert {"hits", "misses", "programs", "bytes", "minimum_seconds"} <= set(report["cache"])
    assert report["self_test"]["speeds"][0]["microseconds"] == 5.5
    assert set(report["versions"]) >= {"tunax_lite", "jax", "jaxlib", "python"}
    assert report["memory"]["XLA_PYTHON_CLIENT_ALLOCATOR"] == "platform"


@pytest.fixture
def cache_as_before():
    before = configuration()
    yield
    configure(cache_folder=before.cache_folder, cache_minimum_seconds=before.cache_minimum_seconds)


def in_command(*options: str) -> dict:
    return json.loads(invoked(*options, "doctor", "--json").stdout)["cache"]


def test_cache_is_an_option_of_every_command(doctor, tmp_path, cache_as_before):
    doctor()  # replaces the self-test
    found = in_command("--cache-folder", str(tmp_path / "mine"), "--cache-seconds", "2.5")
    assert (found["folder"], found["minimum_seconds"]) == (str(tmp_path / "mine"), 2.5)
    assert Path(found["folder"]).is_dir()
    assert in_command("--no-cache")["folder"] is None
    (tmp_path / "file").write_text("")
    for options in (["--cache-folder", tmp_path / "file"], ["--cache-folder", tmp_path, "--no-cache"]):
        assert "cache" in invoked(*options, "doctor", code=2).stderr


def test_optional_packages_are_listed_with_how_to_install_them(doctor, monkeypatch):
    module = importlib.import_module("tunax_lite.cli.doctor")
    found = {"posterior": {"blackjax": "1.2.5"}, "cluster": {"dask": "2025.1", "zarr": None}}
    monkeypatch.setattr(module, "installed", lambda: found)
    lines = doctor().stdout.splitlines()
    assert any(line.split() == ["[posterior]", "blackjax", "1.2.5"] for line in lines)
    (cluster,) = (line for line in lines if line.startswith("[cluster]"))
    assert "dask 2025.1; without zarr: pip install 'tunax_lite[cluster]'" in cluster
