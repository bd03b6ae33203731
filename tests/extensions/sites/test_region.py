"""A map from the sources of a site: every column has the weather and the water of the site at its point."""

import jax
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming, missing_from
from tests.extensions.sites.material import TIMES, place, site
from tunax_lite.air_sea import BulkForcing
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.extensions.maps.build import build_map, load_map
from tunax_lite.extensions.sites.region import Region

# The weather ends at 50.5 N, a point at 50.75 N has none.
HERE = ["--latitude", "50:51", "--longitude", "-145.25:-144.75", "--every", "0.5", *TIMES, "--column", "100"]


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("map") / "gulf"
    fast = ["--set", "model.closure.name=pacanowski_philander", "--set", "model.closure.options={}"]
    fast += ["--set", "grid.n_cells=20", "--set", "output.variables=[sea_surface_temperature]"]
    return folder, site(*HERE, "--data", data, "--output", folder, *fast)


@pytest.mark.long
def test_a_column_is_the_site_at_its_point(made, data, tmp_path):
    folder, _ = made
    there = ["--latitude", "50.25", "--longitude", "-145.0", *TIMES, "--column", "100", "--no-run"]
    there += ["--set", "grid.n_cells=20"]
    site(*there, "--data", data, "--output", tmp_path / "one")
    with jax.enable_x64(True):
        alone = build_run(load_run(tmp_path / "one/site.yaml")).case
        columns = build_map(load_map(folder / "map.yaml", ())).columns
        column = columns.case(slice(0, 1), 0.0, 129600.0)
        assert columns.n_columns == 1 and float(column.grid.depth[0]) == float(alone.grid.depth) == 100.0
        assert isinstance(alone.forcing, BulkForcing) and isinstance(column.forcing, BulkForcing)
        own, others = alone.forcing.weather, column.forcing.weather
        assert alone.forcing.humidity_measure == column.forcing.humidity_measure == "dew_point"
        assert type(alone.forcing.longwave) is type(column.forcing.longwave)
        # Sums over an hour end in a jump.
        times = np.arange(900.0, 129600.0, 1800.0)
        for name, values in vars(own.values).items():
            of_map = np.interp(times, others.time, getattr(others.values, name)[:, 0])
            of_site = np.interp(times, own.time, values)
            # The files of maps are in single precision.
            np.testing.assert_allclose(of_map, of_site, rtol=3e-7, atol=1e-9, err_msg=name)
        for name in ("temperature", "salinity"):
            np.testing.assert_allclose(column.grid.z_center[:, 0], alone.grid.z_center)
            inside = slice(1, -1)  # the outer levels of the map are half a level off
            own, of_map = (getattr(each.initial_state, name) for each in (alone, column))
            np.testing.assert_allclose(of_map[inside, 0], own[inside], atol=1e-6, err_msg=name)


@pytest.mark.long
def test_a_folder_holds_the_map_a_run_figures_and_what_was_left_out(made):
    folder, said = made
    names = {path.name for path in folder.iterdir()}
    assert {"map.yaml", "ocean.zarr", "inputs.png", "README.md", "origin.json"} <= names
    assert "ocean_map_sea_surface_temperature.png" in names and ".tmp" not in said
    page = (folder / "README.md").read_text()
    left = "without weather: 1 point, 50.75 N 145 W; the first: "
    assert left in page and left in said and "two_days.nc" in page and "CC-BY 4.0" in page
    with xr.open_dataset(folder / "weather.nc", decode_times=False) as weather:
        assert weather.wind_u.dims == ("time", "latitude", "longitude") and weather.license
        assert np.isnan(weather.wind_u[:, 1]).all() and np.isfinite(weather.wind_u[:, 0]).all()
    store = xr.open_zarr(folder / "ocean.zarr")
    surface = np.asarray(store.sea_surface_temperature)
    assert surface.shape == (36, 2, 1) and np.isfinite(surface[:, 0]).all()
    assert np.isnan(surface[:, 1]).all()
    first = np.asarray(store.initial_sea_surface_temperature)
    np.testing.assert_allclose(first[0], surface[0, 0], atol=0.5)  # an hour earlier
    assert np.isnan(first[1]).all()


def test_regions_that_are_none(data, tmp_path):
    given = ["--data", data, "--output", tmp_path / "out", *TIMES]
    corner = ["--latitude", "50:51", "--longitude", "-145:-144"]
    assert "--every" in site(*corner, *given, code=2)
    assert "--sites" in site(*corner, "--every", 0.5, "--sites", "a.csv", *given, code=2)
    assert "--latitude 50:x" in site("--latitude", "50:x", *corner[2:], "--every", 0.5, *given, code=2)
    assert "0.3" in site(*corner, "--every", 0.3, *given, code=2)
    assert "--waves" in site(*corner, "--every", 0.5, "--waves", "era5:x", *given, code=2)
    assert "north" in site("--latitude", "north", "--longitude", "1", *given, code=2)
    # Where no point has all inputs, each kind is told with its number and the reason of the first.
    said = site("--latitude", "10:11", *corner[2:], "--every", 0.5, *given, code=3)
    assert "grid around" in said and not missing_from(said, "none without depth 4 points first 10.25 N")
    assert not (tmp_path / "out").exists()
    edges = (80.0, 91.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 361.0)
    for south, north, west, east in edges:
        with error_naming(ConfigError, "expected edges"):
            Region.between(place(), (south, north), (west, east), 1.0)
