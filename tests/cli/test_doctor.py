"""`tunax-lite doctor`: what it reports, and that it notices what is wrong."""

import importlib
import json

import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

from tests.cli.running import invoked
from tests.errors import missing_from
from tests.helpers import with_leaf
from tunax_lite import simulate
from tunax_lite.cli.commands import app
from tunax_lite.cli.doctor import DT, Check, SelfTest, Speed, check_run, problem, self_test
from tunax_lite.runtime import configuration, configure

MODULE = importlib.import_module("tunax_lite.cli.doctor")
FINE = SelfTest((Speed("float64", 1, 10, 5.5, 1.5),), (Check("finite", True, "0 values"),))
BROKEN = SelfTest(FINE.speeds, (*FINE.checks, Check("heat budget", False, "off by 0.3")))
HURRIED = SelfTest(FINE.speeds, FINE.checks, ("float32, 128 columns",))


@pytest.fixture
def doctor(monkeypatch):

    def run(*arguments, tested=FINE):
        monkeypatch.setattr(MODULE, "self_test", lambda seconds: tested)
        return CliRunner().invoke(app, ["doctor", *arguments])

    return run


@pytest.mark.long
def test_self_test_passes_here(monkeypatch):
    monkeypatch.setattr(MODULE, "_MOST_REPETITIONS", 1)
    tested = self_test(1e6)
    kinds = [(precision, *sizes) for sizes in ((1, 2880), (128, 480)) for precision in ("float64", "float32")]
    assert [speed[:3] for speed in tested.speeds] == kinds and tested.skipped == ()
    assert all(speed.microseconds > 0.0 and speed.compile_seconds > 0.0 for speed in tested.speeds)
    assert len(tested.checks) == 13 and all(check.passed for check in tested.checks), tested.checks


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
    for name, values, found in (
        ("temperature", temperature.at[1, 3].add(1e-9), ["heat budget"]),
        ("temperature", temperature.at[1, 3].set(jnp.nan), ["finite", "heat budget"]),
        ("u", right.state.u.at[1, 0].set(jnp.inf), ["finite"]),
    ):
        assert failed(with_leaf(right, f"state.{name}", values), case) == found


def test_report_names_what_one_asks_for(doctor, monkeypatch):
    found = {"posterior": {"blackjax": "1.2.5"}, "cluster": {"dask": "2025.1", "zarr": None}}
    monkeypatch.setattr(MODULE, "installed", lambda: found)
    result = doctor()
    assert result.exit_code == 0, result.output
    named = "jaxlib cpu float64 hits misses 5.50 XLA_PYTHON_CLIENT_ALLOCATOR blackjax 1.2.5 zarr "
    assert not missing_from(result.output, named + configuration().xla_flags)
    for option in ([], ["--json"]):
        result = doctor(*option, tested=BROKEN)
        assert result.exit_code == 1 and "heat budget: off by 0.3" in result.stdout


def test_json_is_one_object(doctor, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
    report = json.loads(doctor("--json").stdout)
    assert report["problems"] == [] and report["self_test"]["speeds"][0]["microseconds"] == 5.5
    device = report["devices"][0]
    assert device["platform"] == "cpu" and device["free_bytes"] > 0 and device["used_bytes"] > 0
    assert report["cache"]["folder"] == str(configuration().cache_folder)
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
    assert in_command("--no-cache")["folder"] is None
    (tmp_path / "file").write_text("")
    for options in (["--cache-folder", tmp_path / "file"], ["--cache-folder", tmp_path, "--no-cache"]):
        assert "cache" in invoked(*options, "doctor", code=2).stderr
