"""The command: its file, its figures, and its errors."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from tests.cli.running import invoked
from tests.errors import error_naming
from tunax_lite import Observations
from tunax_lite.cli.commands import app
from tunax_lite.config import ConfigError
from tunax_lite.extensions.assimilation import build_assimilation, load_assimilation
from tunax_lite.extensions.assimilation.figures import assimilation_figures
from tunax_lite.extensions.assimilation.observing import build_streams
from tunax_lite.io.errors import FileFormatError
from tunax_lite.plausibility import InputWarning

CONFIG = """
run:
  case:
    format: site
    name: six_cells
    latitude: 50.0
    longitude: 0.0
    start_time: 2020-01-01T00:00:00
    depth: 30.0
    duration: 345600.0
    temperature: {z: [-30.0, 0.0], values: [9.0, 12.0]}
    salinity: 35.0
    fluxes: {heat_flux: 50.0, stress_u: 0.1}
  grid: {kind: uniform, n_cells: 6}
  model: {closure: {name: constant, parameters: {viscosity: 1.0e-3, diffusivity: 1.0e-3}}}
  time: {dt: 3600.0, output_interval: 21600.0}
observations: {path: sst.dat}
uncertainty:
  profiles: [{variable: temperature, standard_deviation: 0.5, length: 10.0}]
  processes:
    - {of: heat_flux_bias, standard_deviation: 100.0, memory: 86400.0}
    - {of: observations, standard_deviation: 0.05, memory: 86400.0}
method: {name: ensemble_transform, n_members: 8}
cycles: {interval: 21600.0, leads: [21600.0, 43200.0]}
"""
VALUES = np.array([12.1, 12.2, 12.2, 12.4, 12.3, 12.6])


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A configuration and its observations, every six hours from 06:00 on."""
    monkeypatch.chdir(tmp_path)
    write(VALUES)
    path = tmp_path / "six_cells.yaml"
    path.write_text(CONFIG)
    return path


def write(values, *, errors=None, day=1):
    """The file of observations; hours count from the given day of January 2020."""
    errors = np.full(len(values), 0.1) if errors is None else errors
    lines = ["# date and time, SST, its error"]
    for number, (value, error) in enumerate(zip(values, errors, strict=True), 1):
        days, hours = divmod(6 * number, 24)
        lines.append(f"2020-01-{day + days:02d} {hours:02d}:00:00 {value} {error}")
    with open("sst.dat", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def assimilate(*arguments):
    return CliRunner().invoke(app, ["assimilate", "six_cells.yaml", "--output", "out.nc", *arguments])


@pytest.mark.long
def test_file_holds_innovations_and_what_was_found(config):
    said = " ".join(invoked("check", config).output.split())
    assert "6 observations in 1 streams, 6 cycles, 8 members" in said
    done = assimilate("--figures", "figures")
    assert done.exit_code == 0
    with xr.open_dataset("out.nc", decode_timedelta=False) as found:
        assert found.innovation.dims == ("time", "lead")
        np.testing.assert_allclose(found.lead, [0.25, 0.5])
        assert str(found.time.values[0])[:16] == "2020-01-01T06:00"
        np.testing.assert_allclose(found.observation, VALUES)
        np.testing.assert_allclose(found.observation_error, 0.1, rtol=1e-12)
        np.testing.assert_array_equal(np.isfinite(found.innovation).sum("time"), [5, 4])
        np.testing.assert_allclose(found.increment, found.analysis - found.background, atol=1e-12)
        before, after = (np.abs(found.observation - found[name]).mean() for name in ("predicted", "fitted"))
        assert after < before
        assert (found.analysis_spread[:, -1] < found.background_spread[:, -1]).all()
        assert list(found.process.values) == ["heat_flux_bias", "observations"]
    drawn = ["increments", "innovations"]
    assert sorted(assimilation_figures(config.parent / "out.nc")) == drawn
    assert (config.parent / "figures/innovations.png").stat().st_size > 5000


@pytest.mark.long
def test_plot_knows_the_file(config):
    assimilate()
    invoked("plot", "out.nc")
    assert (config.parent / "out_innovations.png").exists()
    assert "sst.dat" in invoked("plot", "out.nc", "sst.dat", code=3).output


def build(config, *settings):
    return build_assimilation(load_assimilation(config, settings))


def test_windows_end_at_the_common_time_of_the_observations(config):
    lines = [f"2020-01-{day:02d} 12:10:00 {value} 0.1" for day, value in enumerate(VALUES[:4], 1)]
    (config.parent / "sst.dat").write_text("\n".join(lines))
    day = "cycles={leads: [86400.0]}"
    with pytest.warns(InputWarning):
        made = build(config, day)
    # At noon, to a step.
    np.testing.assert_array_equal(made.cycles.analysis_time, [129600.0, 216000.0, 302400.0])
    assert ["1 of 4 observations lie outside" in note for note in made.notes()] == [True]
    with error_naming(ConfigError, "cycles leads 43200 start"):
        build(config, "cycles={start: 2020-01-01, leads: [86400.0]}")


def test_bad_settings_are_named(config):
    deep = "observations={path: sst.dat, variable: temperature, depth: 60}"
    for settings, parts in (
        (["cycles.start=2019-12-31T00:00:00"], "six_cells.yaml cycles 86400 s before start"),
        (["cycles.end=2020-01-01T03:00:00"], "cycles at least one window 21600 10800"),
        (["cycles.start=yesterday"], "cycles start yesterday 2021-01-01T12:00:00"),
        (["observations.error=0.0"], "observations.error greater than 0"),
        (["observations.withheld=[5.0]"], "observations withheld variables"),
        (["observations.path=none.dat"], "none.dat observations.path"),
        (["cycles.end=2021-01-01T00:00:00"], "cycles end after the case 345600"),
        (["cycles.judged_from=2021-01-01T00:00:00"], "cycles judged_from 31622400"),
        (["cycles.leads=[5000.0]"], "leads multiple of dt 3600 5000"),
        ([deep], "observations depth 30 m 60 m"),
        (["uncertainty.processes.0.of=heat"], "heat_flux_bias heat"),
        (["cycles.start=2020-01-03", "cycles.end=2020-01-04"], "cycles sst.dat 129600"),
    ):
        with error_naming((ConfigError, FileNotFoundError), parts):
            build(config, *settings)
    write(VALUES, day=20)
    with error_naming(ConfigError, "observations.path case 2020-01-01T00:00:00"):
        build(config)


def test_the_first_wrong_line_of_a_column_is_named(config):
    lines = ["01-01 06:00:00 10.0", "01-01 12:00:00 warm", "01-01 18:00:00 10.0", "01-02 00:00:00 cold"]
    (config.parent / "sst.dat").write_text("".join(f"2020-{line} 0.1\n" for line in lines))
    with error_naming(FileFormatError, "sst.dat: line 2 warm"):
        build(config)


def test_heights_of_another_place_are_refused():
    deep = Observations(
        time=jnp.array([0.0, 1.0]), z=jnp.array([-60.0, -20.0]), profiles={"temperature": jnp.zeros((2, 2))}
    )
    with error_naming(ValueError, "depth temperature 30 m 60 another place"):
        for each in build_streams(deep, ["temperature"], {"temperature": 0.1}):
            each.operator.check((), 30.0)
