"""`tunax-lite posterior`: from a configuration to files, figures and a part of the report."""

import re
from pathlib import Path

import pytest
import xarray as xr
import yaml
from typer.testing import CliRunner

from tunax_lite.cli.commands import app

CONFIG = """
cases:
  - case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}
grid: {kind: uniform, n_cells: 16}
model:
  closure: {name: pacanowski_philander}
time: {step: 600.0}
misfit: {weights: {temperature: 1.0}, end: 21600.0}
parameters:
  viscosity_scale: {lower: 1.0e-3, upper: 0.1, scale: log}
  alpha: {lower: 1.0, upper: 10.0}
  convective_coefficient: {tied_to: viscosity_scale, factor: 5.0}
optimiser: {name: levenberg_marquardt}
n_iterations: 2
output: {figures: false}
posterior: {n_draws: 200, n_members: 4, n_iterations: 4}
"""


def run(*arguments) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Configuration, and a calibration with its posterior in `out`."""
    folder = tmp_path_factory.mktemp("posterior")
    config, out = folder / "config.yaml", folder / "out"
    config.write_text(CONFIG)
    assert run("calibrate", config, "--output", out)[0] == 0
    code, output = run("posterior", config, "--output", out, "--set", "output.figures=true")
    assert code == 0, output
    assert "most probable" in output and "combinations are constrained" in output
    return folder


def test_files_and_figures(folder):
    names = {path.name for path in (folder / "out").iterdir()}
    assert names >= {"posterior.nc", "posterior.yaml", "influences.csv"} | {
        f"posterior_{name}.png" for name in ("marginals", "correlations", "spectrum", "bands")
    }
    with xr.open_dataset(folder / "out/posterior.nc") as dataset:
        assert dict(dataset.sizes) == {"chain": 1, "draw": 200, "parameter": 2, "parameter_2": 2}
        assert "synthetic:wind_and_cooling" in dataset.attrs["tunax_lite_config"]
    summary = yaml.safe_load((folder / "out/posterior.yaml").read_text())
    free, tied = (summary["parameters"][name] for name in ("viscosity_scale", "convective_coefficient"))
    assert [5.0 * end for end in free["interval"]] == pytest.approx(tied["interval"])
    header, first, *_ = (folder / "out/influences.csv").read_text().splitlines()
    assert header == "case,output,parameter,unit,value,by_prior,by_posterior,elasticity"
    assert "sea_surface_temperature,viscosity_scale" in first


def test_the_report_has_a_part_about_it(folder):
    code, output = run("report", folder / "out", "--output", folder / "page.html")
    assert code == 0, output
    text = (folder / "page.html").read_text()
    assert 'id="posterior"' in text and "Laplace, 200 draws" in text
    assert text.count("data:image/png;base64,") == 2 + 4
    assert not re.search(r"(?:src|href)=.(?!data:)", text)  # nothing to be loaded
    code, output = run("plot", folder / "out/posterior.nc", "--output", folder / "figures")
    assert code == 0, output
    assert len(list((folder / "figures").iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ((), "without a posterior, got posterior.nc"),
        (("--resume", "--overwrite"), "either --resume or --overwrite"),
        (("--set", "posterior.noise=0.1"), "noise and n_observations, or neither"),
        (("--set", "posterior.n_draw=9"), "n_draws"),
    ],
)
def test_what_cannot_be_is_said(folder, arguments, fragment):
    code, output = run("posterior", folder / "config.yaml", "--output", folder / "out", *arguments)
    assert code == 2 and fragment in output


def test_weighted_runs_are_a_method(folder, tmp_path):
    code, output = run(
        *("posterior", folder / "config.yaml", "--output", tmp_path / "out", "--method", "importance"),
        *("--parameters", folder / "out/parameters.yaml"),
        *("--set", "posterior.n_runs=16", "--set", "posterior.n_rounds=3"),
    )
    assert code == 0, output
    assert re.search(r"effective sample size \d+ of 48 runs of each case", output), output
    with xr.open_dataset(tmp_path / "out/posterior.nc") as dataset:
        assert dataset.attrs["method"] == "importance" and dataset.attrs["n_runs"] == 48
        assert 1.0 <= dataset["effective_size"].values.min() <= 48.0
