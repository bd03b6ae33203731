"""What happens without the optional packages: every command says what to install."""

import importlib
import importlib.metadata
import tomllib
from pathlib import Path

import pytest

from tests.errors import error_naming, missing_from
from tunax_lite.calibration.posterior.samplers import optional_module
from tunax_lite.cli import session
from tunax_lite.runtime import machine
from tunax_lite.runtime.engine import open_engine

ROOT = Path(__file__).parents[2]
CALIBRATION = ROOT / "configs/calibrations/synthetic.yaml"


def test_extras_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, packages in machine.EXTRAS.items():
        for package in packages:
            assert any(package in requirement for requirement in declared[extra]), package


def test_check_says_that_a_posterior_lacks_its_sampler(bare):
    small = ["--set", "grid.n_cells=16", "--set", "posterior.method=nuts"]
    result = bare("check", CALIBRATION, *small)
    assert result.exit_code == 0, result.output
    assert not missing_from(result.stdout, "note posterior.method NUTS blackjax")


def test_any_other_import_of_an_optional_package_names_its_extra(bare, capsys):
    with pytest.raises(session.Exit) as caught, session.errors_as_messages():
        importlib.import_module("zarr.codecs")
    assert caught.value.exit_code == session.BAD_INPUT
    assert not missing_from(capsys.readouterr().err, "zarr tunax_lite[cluster]")
    with pytest.raises(session.Exit), session.errors_as_messages():
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")
    assert "unexpected ModuleNotFoundError" in capsys.readouterr().err
    assert machine.command_for("numpy") is None


def test_workers_without_dask_and_sampling_without_blackjax(bare):
    with error_naming(machine.MissingPackageError, "--workers 2 distributed tunax_lite[cluster]"):
        open_engine(2).__enter__()
    with error_naming(ImportError, "NUTS blackjax tunax_lite[posterior]"):
        optional_module("blackjax")
