"""Maps in notebooks: diagnostics of datasets of any origin, columns that are run and put on a map again."""

import gsw
import numpy as np
import pytest

from tests.errors import error_naming
from tests.extensions.maps.ocean import DEPTH, SETTINGS, ocean
from tunax_lite import Grid, Model, PacanowskiPhilander, simulate
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.extensions.maps.datasets import columns_from_dataset
from tunax_lite.io import to_dataset

EDGES = np.concatenate([[0.0], 0.5 * (DEPTH[1:] + DEPTH[:-1]), [140.0]])


def profiles():
    """A mixed layer of 35 m in the west and of the whole depth in the east, of three kinds of salinity."""
    dataset = ocean()
    lat, lon = np.meshgrid(dataset.lat, dataset.lon, indexing="ij")
    warm = np.where(lon < 180.0, 20.0 - 0.1 * np.maximum(DEPTH[:, None, None] - 30.0, 0.0), 15.0)
    dataset["thetao"] = dataset.thetao.copy(data=np.where(np.isnan(dataset.thetao), np.nan, warm + 0.0 * lat))
    dataset["so"] = dataset.so.copy(data=np.where(np.isnan(dataset.so), np.nan, 35.0))
    return dataset


def test_mixed_layers_of_profiles_are_where_the_density_says():
    dataset = profiles()
    found = dataset.tunax.mixed_layer_depth(by="temperature")
    assert found.dims == ("lat", "lon") and found.attrs["units"] == "m"
    west, east = slice(0.0, 100.0), slice(180.0, 350.0)
    deep = dataset.lat > -20.0  # where there is water at 40 m
    # Cell centers of the levels at 20 and 40 m; 0.2 K below the 20 degC at 10 m.
    upper, lower = 0.5 * (EDGES[2:4] + EDGES[3:5])
    crossing = upper + 0.2 / 1.0 * (lower - upper)
    np.testing.assert_allclose(found.sel(lon=west).where(deep, drop=True), crossing)
    # In the east nothing differs from the water at 10 m: no depth, as on land.
    assert np.isnan(found.sel(lon=east)).all() and np.isfinite(dataset.thetao.sel(lon=east)).any()
    by_density = dataset.tunax.mixed_layer_depth(0.125, 10.0)
    crossing = upper + 0.125 / (gsw.sigma0(35.0, 19.0) - gsw.sigma0(35.0, 20.0)) * (lower - upper)
    # Of the 55-term polynomial, which is fitted to it.
    np.testing.assert_allclose(by_density.sel(lon=west).where(deep, drop=True), crossing, rtol=2e-3)


def test_heat_counts_down_to_the_bottom_and_kinds_are_converted():
    dataset = profiles()
    east = dataset.sel(lon=[200.0])
    thickness = np.diff(EDGES)[:, None, None] * np.isfinite(east.thetao)
    found = east.tunax.heat_content()
    expected = 1027.0 * 3991.86795711963 * 15.0 * thickness.sum("depth")
    np.testing.assert_allclose(found, expected.where(np.isfinite(found)), rtol=5e-3)  # of rho_0
    ratio = found / thickness.sum("depth")
    np.testing.assert_allclose(ratio, ratio.max(), rtol=1e-7)
    assert np.isfinite(found).sum() == 9
    potential = east.assign(thetao=east.thetao.assign_attrs(standard_name="sea_water_potential_temperature"))
    change = float(gsw.CT_from_pt(35.0, 15.0)) / 15.0
    np.testing.assert_allclose(potential.tunax.heat_content() / found, change, rtol=1e-9)
    plain = east.drop_vars("so")
    plain["thetao"].attrs = {"units": "degC"}
    said = plain.tunax.heat_content(salinity=35.0, temperature_kind="conservative")
    np.testing.assert_allclose(said, found)


def test_chunks_stay_lazy():
    pytest.importorskip("dask")
    dataset = profiles()
    found = dataset.chunk({"lat": 3}).tunax.heat_content(50.0)
    assert found.chunks is not None
    np.testing.assert_array_equal(found.compute(), dataset.tunax.heat_content(50.0))


@pytest.mark.long
def test_columns_that_were_run_come_back_on_the_map():
    case = columns_from_dataset(
        ocean(), Grid.uniform(1.0, 6), columns=slice(0, 96, 2), **{**SETTINGS, "duration": 7200.0}
    )
    trajectory = simulate(Model(PacanowskiPhilander()), case, dt=600.0, output_interval=3600.0)
    dataset = to_dataset(trajectory, case=case)
    on_map = dataset.tunax.on_map()
    assert on_map.temperature.sizes == {"time": 3, "z_center": 6, "latitude": 3, "longitude": 16}
    found = on_map.temperature.sel(latitude=-40.0, longitude=20.0)
    np.testing.assert_array_equal(found, trajectory.state.temperature[:, :, 1])
    depth = dataset.tunax.diagnostic("mixed_layer_depth")
    expected = diagnose(trajectory, case, ["mixed_layer_depth"])["mixed_layer_depth"]
    np.testing.assert_allclose(depth, expected, rtol=1e-9)


def test_what_is_no_dataset_of_profiles_is_refused():
    tunax, surface = ocean().tunax, ocean().isel(depth=0).tunax
    for make, parts in (
        (lambda: tunax.diagnostic("buoyancy"), "buoyancy"),
        (lambda: tunax.mixed_layer_depth(by="wind"), "by density temperature wind"),
        (lambda: tunax.on_map(), "on_map latitude longitude depth lat lon time"),
        (lambda: surface.heat_content(), "thetao lat lon positive axis standard_name"),
    ):
        with error_naming(ValueError, parts):
            make()
