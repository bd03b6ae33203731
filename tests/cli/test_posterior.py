"""`tunax-lite posterior`: from a configuration to files, figures and a part of the report."""

import json
from pathlib import Path

import pytest
import xarray as xr
import yaml

from tests.cli.running import CALIBRATION, RUN, configuration, invoked, settings
from tests.errors import missing_from

LAPLACE = {"name": "laplace", "n_draws": 200}
METHOD = {"method": LAPLACE, "n_iterations": 4, "noise": 0.5, "n_observations": 20}


def run(*arguments, code: int = 0) -> str:
    return " ".join(invoked(*arguments, code=code).output.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Configuration, and a calibration with its posterior in `out`."""
    folder = tmp_path_factory.mktemp("posterior")
    free = {"viscosity_scale": {"lower": 1e-3, "upper": 0.1, "scale": "log"}}
    config = configuration(
        folder / "config.yaml",
        CALIBRATION,
        parameters=CALIBRATION["parameters"] | free,
        optimiser={"name": "levenberg_marquardt"},
        n_iterations=2,
        posterior=METHOD,
    )
    run("calibrate", config, "--output", folder / "out")
    run("posterior", config, "--output", folder / "out", *settings(output__figures="true"))
    return folder


@pytest.mark.long
def test_files_hold_the_posterior(folder):
    with xr.open_dataset(folder / "out/posterior.nc") as dataset:
        assert dict(dataset.sizes) == {"chain": 1, "draw": 200, "parameter": 2, "parameter_2": 2}
        assert "synthetic:wind_and_cooling" in dataset.attrs["tunax_lite_config"]
        assert {"python", "jax", "numpy"} <= json.loads(dataset.attrs["tunax_lite_packages"]).keys()
        assert bool(dataset.attrs["tunax_lite_commit"]) == (Path(__file__).parents[2] / ".git").exists()
    summary = yaml.safe_load((folder / "out/posterior.yaml").read_text())
    low, high = summary["parameters"]["viscosity_scale"]["interval"]
    assert 1e-3 < low < high < 0.1
    for arguments, parts in (
        ((), "posterior.nc --overwrite"),
        (("--resume", "--overwrite"), "--resume --overwrite"),
        (("--overwrite", *settings(posterior="{noise: 0.1}")), "noise n_observations"),
    ):
        said = run("posterior", folder / "config.yaml", "--output", folder / "out", *arguments, code=2)
        assert not missing_from(said, parts)


@pytest.mark.long
def test_draws_of_an_own_posterior_have_bands(folder, tmp_path):
    config = configuration(tmp_path / "run.yaml", RUN, time={"dt": 600.0, "duration": 7200.0})
    command = "run", config, "--output", tmp_path / "out.nc", "--draws", "3"
    run(*command, "--posterior", folder / "out/posterior.nc")
    with xr.open_dataset(tmp_path / "out_draws.nc") as bands:
        assert (bands["temperature"].max("quantile") >= bands["temperature"].min("quantile")).all()
        assert float(bands["temperature"].std("quantile").max()) > 0.0
        assert bands.attrs["n_draws"] == 3
    command = "run", config, "--output", tmp_path / "new.nc"
    said = run(*command, "--draws", "3", "--posterior", tmp_path / "out.nc", code=2)
    assert not missing_from(said, "out.nc chain draw")
    assert not missing_from(run(*command, "--posterior", tmp_path / "out.nc", code=2), "--posterior --draws")


@pytest.mark.long
def test_figures_and_the_report_show_it(folder):
    figures = {f"posterior_{name}.png" for name in ("marginals", "correlations")}
    assert figures <= {path.name for path in (folder / "out").iterdir()}
    run("report", folder / "out", "--output", folder / "page.html")
    text = (folder / "page.html").read_text()
    assert 'id="posterior"' in text and text.count("data:image/png;base64,") == 2 + 2
    run("plot", folder / "out/posterior.nc", "--output", folder / "figures")
    assert len(list((folder / "figures").iterdir())) == 2
