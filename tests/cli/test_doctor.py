"""`tunax-lite doctor`: what it reports, and that it notices what is wrong."""

import importlib
import json
from types import SimpleNamespace

import pytest

from tests.cli.running import invoked
from tests.errors import missing_from
from tunax_lite.runtime import configure
from tunax_lite.runtime.jax_setup import configuration

MODULE = importlib.import_module("tunax_lite.cli.doctor")


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(MODULE, "_step", lambda: {"microseconds": 5.5, "compile_seconds": 1.5})


def test_a_step_is_timed():
    report = json.loads(invoked("doctor", "--json").stdout)
    assert report["step"]["microseconds"] > 0.0 and report["step"]["compile_seconds"] > 0.0
    assert report["problems"] == [] and report["precision"] == "float64"


def test_report_names_versions_extras_and_problems(quick, monkeypatch):
    monkeypatch.setattr(MODULE, "installed", lambda: {"cluster": {"dask": "2025.1", "zarr": None}})
    named = "jaxlib cpu float64 5.50 dask 2025.1 zarr " + configuration().xla_flags
    assert not missing_from(invoked("doctor").output, named)
    monkeypatch.setattr(MODULE, "os", SimpleNamespace(access=lambda *_: False, W_OK=2, X_OK=1))
    assert "problem: cache" in invoked("doctor", code=1).stdout


@pytest.fixture
def cache_as_before():
    before = configuration()
    yield
    configure(cache_folder=before.cache_folder, cache_minimum_seconds=before.cache_minimum_seconds)


def in_command(*options: str) -> dict:
    return json.loads(invoked(*options, "doctor", "--json").stdout)["cache"]


def test_cache_is_an_option_of_every_command(quick, tmp_path, cache_as_before):
    found = in_command("--cache-folder", str(tmp_path / "mine"), "--cache-seconds", "2.5")
    assert (found["folder"], found["minimum_seconds"]) == (str(tmp_path / "mine"), 2.5)
    assert in_command("--no-cache")["folder"] is None
    (tmp_path / "file").write_text("")
    for options in (["--cache-folder", tmp_path / "file"], ["--cache-folder", tmp_path, "--no-cache"]):
        assert "cache" in invoked(*options, "doctor", code=2).stderr
