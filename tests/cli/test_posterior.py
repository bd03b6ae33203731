"""`tunax-lite posterior`: from a configuration to files, figures and a part of the report."""

import re
from pathlib import Path

import pytest
import xarray as xr
import yaml

from tests.cli.running import invoked
from tests.errors import missing_from

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


def run(*arguments, code: int = 0) -> str:
    return " ".join(invoked(*arguments, code=code).output.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Configuration, and a posterior in `out`."""
    folder = tmp_path_factory.mktemp("posterior")
    (folder / "config.yaml").write_text(CONFIG)
    known = ("--set", "posterior.noise=0.5", "--set", "posterior.n_observations=20")
    run("posterior", folder / "config.yaml", "--output", folder / "out", *known)
    return folder


@pytest.mark.long
def test_files_hold_the_posterior(folder):
    names = {path.name for path in (folder / "out").iterdir()}
    assert names >= {"posterior.nc", "posterior.yaml", "influences.csv"}
    with xr.open_dataset(folder / "out/posterior.nc") as dataset:
        assert dict(dataset.sizes) == {"chain": 1, "draw": 200, "parameter": 2, "parameter_2": 2}
        assert "synthetic:wind_and_cooling" in dataset.attrs["tunax_lite_config"]
    summary = yaml.safe_load((folder / "out/posterior.yaml").read_text())
    free, tied = (summary["parameters"][name] for name in ("viscosity_scale", "convective_coefficient"))
    assert [5.0 * end for end in free["interval"]] == pytest.approx(tied["interval"])
    header, first, *_ = (folder / "out/influences.csv").read_text().splitlines()
    assert header == "case,output,parameter,unit,value,by_prior,by_posterior,elasticity"
    assert "sea_surface_temperature,viscosity_scale" in first
    for arguments, parts in (
        ((), "posterior.nc"),
        (("--resume", "--overwrite"), "--resume --overwrite"),
        (("--set", "posterior.noise=0.1"), "noise n_observations"),
        (("--set", "posterior.n_draw=9"), "n_draws"),
    ):
        said = run("posterior", folder / "config.yaml", "--output", folder / "out", *arguments, code=2)
        assert not missing_from(said, parts)


@pytest.mark.long
def test_figures_and_the_report_show_it(folder):
    config, out = folder / "config.yaml", folder / "calibrated"
    run("calibrate", config, "--output", out)
    run("posterior", config, "--output", out, "--set", "output.figures=true")
    figures = {f"posterior_{name}.png" for name in ("marginals", "correlations", "spectrum", "bands")}
    assert figures <= {path.name for path in out.iterdir()}
    run("report", out, "--output", folder / "page.html")
    text = (folder / "page.html").read_text()
    assert 'id="posterior"' in text and "Laplace, 200 draws" in text
    assert text.count("data:image/png;base64,") == 2 + 4
    assert not re.search(r"(?:src|href)=.(?!data:)", text)  # nothing to be loaded
    run("plot", out / "posterior.nc", "--output", folder / "figures")
    assert len(list((folder / "figures").iterdir())) == 3


@pytest.mark.long
def test_weighted_runs_are_a_method(folder, tmp_path):
    output = run(
        *("posterior", folder / "config.yaml", "--output", tmp_path / "out", "--method", "importance"),
        *("--parameters", folder / "out/posterior.yaml"),
        *("--set", "posterior.n_runs=16", "--set", "posterior.n_rounds=3"),
    )
    assert re.search(r"effective sample size \d+ of 48 runs", output), output
    with xr.open_dataset(tmp_path / "out/posterior.nc") as dataset:
        assert dataset.attrs["method"] == "importance" and dataset.attrs["n_runs"] == 48
        assert 1.0 <= dataset["effective_size"].values.min() <= 48.0
