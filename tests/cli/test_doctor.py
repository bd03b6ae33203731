"""`tunax-lite doctor`: what it reports, and that it notices what is wrong."""

import importlib
import json
from pathlib import Path

import pytest

from tests.cli.running import invoked
from tests.errors import missing_from
from tunax_lite.runtime.jax_setup import configuration

MODULE = importlib.import_module("tunax_lite.cli.doctor")


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(MODULE, "_step", lambda: {"microseconds": 5.5, "compile_seconds": 1.5})


def test_a_step_is_timed():
    report = json.loads(invoked("doctor", "--json").stdout)
    assert report["step"]["microseconds"] > 0.0 and report["step"]["compile_seconds"] > 0.0
    assert report["problems"] == [] and report["precision"] == "float64"


def test_report_names_versions_and_problems(quick, monkeypatch):
    named = "jaxlib cpu float64 5.50 " + configuration().xla_flags
    assert not missing_from(invoked("doctor").output, named)
    monkeypatch.setattr(MODULE, "DRIVER", Path(__file__))
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    assert "problem: devices" in invoked("doctor", code=1).stdout
