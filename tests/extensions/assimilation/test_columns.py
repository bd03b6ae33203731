"""Columns of a map assimilate the surface temperature above them, each for itself, here and on workers."""

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from tests.cli.running import invoked
from tests.errors import missing_from
from tests.extensions.maps.ocean import ocean
from tunax_lite.cli.commands import app
from tunax_lite.extensions.assimilation.columns import ColumnsAssimilation

MAP = """
map:
  paths: ocean.nc
  start_time: 2001-01-01
  duration: 432000.0
  points: {name: grid, spacing: 10.0, latitude: [5.0, 25.0], longitude: [85.0, 115.0]}
  fluxes: {stress_u: taux, heat_flux: heat}
  observed: {temperature: {variable: sst, paths: sst.nc}}
grid: {kind: uniform, n_cells: 6}
model: {closure: {name: constant, parameters: {viscosity: 1.0e-3, diffusivity: 1.0e-3}}}
time: {step: 7200.0, output_interval: 86400.0}
"""
CONFIG = """
columns: map.yaml
observations: {variables: [sea_surface_temperature], error: {sea_surface_temperature: 0.1}}
uncertainty:
  profiles: [{variable: temperature, standard_deviation: 0.5, length: 10.0}]
  processes: [{of: heat_flux_bias, standard_deviation: 50.0, memory: 86400.0}]
method: {name: ensemble_transform, n_members: 6}
cycles: {leads: [86400.0]}
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Four columns of water and two of land, observed at the end of every day."""
    monkeypatch.chdir(tmp_path)
    dataset = ocean()
    dataset.to_netcdf("ocean.nc")
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "columns.yaml").write_text(CONFIG)
    day = np.arange(6.0)
    sst = dataset.thetao.isel(depth=0).drop_vars("depth") + 0.2 * xr.DataArray(day, dims="time")
    sst = sst.transpose("time", "lat", "lon").assign_coords(time=("time", day))
    sst.time.attrs = {"units": "days since 2001-01-01", "calendar": "standard"}
    sst.attrs = {"units": "degC", "standard_name": "sea_water_conservative_temperature"}
    sst.to_dataset(name="sst").to_netcdf("sst.nc")
    return tmp_path


def assimilate(*arguments):
    return CliRunner().invoke(app, ["assimilate", "columns.yaml", *arguments])


@pytest.mark.long
def test_two_workers_give_the_bits_of_one_process_and_a_kept_column_is_not_computed_again(
    config, monkeypatch
):
    for options in ("--output one.nc", "--output two.nc --workers 2"):
        done = assimilate(*options.split())
        assert done.exit_code == 0, done.output
    one, two = (xr.load_dataset(name, decode_timedelta=False) for name in ("one.nc", "two.nc"))
    assert one.innovation.dims == ("time", "lead", "lat", "lon") and one.sizes["time"] == 5
    for name in one.variables:
        np.testing.assert_array_equal(one[name], two[name], err_msg=str(name))
    # Water everywhere but at 110 degrees east; each column follows its own observations.
    wet = np.isfinite(one.analysis[:, -1])
    assert wet.values[..., :2].all() and not wet.values[..., 2].any()
    before, after = (np.abs(one.observation - one[name]).mean() for name in ("predicted", "fitted"))
    assert after < before
    assert float(one.observation[-1, 0, 0] - one.observation[0, 0, 0]) == pytest.approx(0.8)
    assert not list(config.glob("*.columns"))

    compute = ColumnsAssimilation.compute

    def stopped(self, number):
        if number == 3:
            raise OSError("the power went")
        return compute(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(ColumnsAssimilation, "compute", stopped)
        assert assimilate("--output", "again.nc").exit_code != 0
    assert len(list((config / "again.nc.columns").glob("*.npz"))) == 3
    done = assimilate("--output", "again.nc", "--resume")
    assert done.exit_code == 0 and "3 of 4 columns are complete" in done.output
    again = xr.load_dataset("again.nc", decode_timedelta=False)
    np.testing.assert_array_equal(one.analysis, again.analysis)
    assert "4 columns, 5 cycles, 6 members" in invoked("check", "columns.yaml").output
    invoked("plot", "one.nc")
    assert (config / "one_errors.png").stat().st_size > 5000
    assert "one column" in invoked("report", "one.nc", code=3).output


def test_bad_input_is_named(config):
    (config / "bare.yaml").write_text("\n".join(line for line in MAP.splitlines() if "observed" not in line))
    for setting, parts in (
        ("observations.error={temperature: 0.1}", "observations.error sea_surface_temperature"),
        ("observations.variables=[temperature]", "columns map temperature"),
        ("cycles.end=2001-02-01", "cycles duration map 432000"),
        ("columns=sst.nc", "sst.nc"),
        ("columns=bare.yaml", "observed"),
    ):
        done = assimilate("--output", "out.nc", "--set", setting)
        assert done.exit_code in (2, 3) and not missing_from(done.output, parts), done.output
    done = assimilate("--output", "out.nc", "--figures", "here")
    assert done.exit_code == 2 and not missing_from(done.output, "--figures one column")
    assert not list(config.glob("out*"))
