"""What happens without the optional packages: every command says what to install."""

import importlib
import importlib.metadata
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.errors import error_naming
from tunax_lite.calibration.posterior.chains import blackjax_module
from tunax_lite.cli import session
from tunax_lite.cli.commands import app
from tunax_lite.runtime import extras
from tunax_lite.runtime.engine import open_engine

ROOT = Path(__file__).parents[2]
MAP = ROOT / "configs/maps/synthetic.yaml"
CALIBRATION = ROOT / "configs/calibrations/synthetic.yaml"


class Absent:
    """Finds none of the optional packages, as in an installation without extras."""

    names = {name for packages in extras.EXTRAS.values() for name in packages}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in cls.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture
def bare(monkeypatch):
    """Run a command where pip brought no extra."""
    for name in [name for name in sys.modules if name.partition(".")[0] in Absent.names]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])

    def missing(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr("importlib.metadata.version", missing)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_extras_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, packages in extras.EXTRAS.items():
        for package in packages:
            assert any(package in requirement for requirement in declared[extra]), package


@pytest.mark.parametrize("command", ["map", "check"])
def test_a_map_without_zarr(bare, tmp_path, command):
    output = ["--output", tmp_path / "out.zarr"] if command == "map" else []
    result = bare(command, MAP, *output)
    assert result.exit_code == session.BAD_INPUT, result.output
    assert "tunax-lite map: expected the package zarr, got none" in result.stderr
    assert "pip install 'tunax_lite[cluster]' (in a clone: pip install '.[cluster]')" in result.stderr


def test_workers_without_dask(bare):
    with error_naming(extras.MissingPackageError, "--workers 2 distributed") as e:
        open_engine(2, None, None, None).__enter__()
    assert "tunax_lite[cluster]" in str(e.value) and "leave the option out" in str(e.value)


def test_sampling_without_blackjax(bare):
    with error_naming(ImportError, "NUTS blackjax tunax_lite[posterior]"):
        blackjax_module("")


def test_check_says_that_a_posterior_lacks_its_sampler(bare):
    small = ["--set", "grid.n_cells=16", "--set", "posterior.method=nuts"]
    result = bare("check", CALIBRATION, *small)
    assert result.exit_code == 0, result.output
    assert "note: posterior.method: NUTS: expected the package blackjax" in result.stdout


def test_any_other_import_of_an_optional_package_names_its_extra(bare, capsys):
    with pytest.raises(session.Exit) as caught, session.errors_as_messages():
        importlib.import_module("zarr.codecs")
    assert caught.value.exit_code == session.BAD_INPUT
    assert "expected the package zarr, got none; pip install 'tunax_lite[cluster]'" in capsys.readouterr().err
    with pytest.raises(session.Exit), session.errors_as_messages():
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")
    assert "unexpected ModuleNotFoundError" in capsys.readouterr().err


def test_what_is_installed_is_told(bare):
    assert extras.installed()["grib"] == {"cfgrib": None}
    assert "tunax_lite[grib]" in str(extras.command_for("cfgrib")) and extras.command_for("numpy") is None
