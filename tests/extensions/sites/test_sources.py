"""A site from files and services: what is written, and what is refused."""

import datetime
import sys
import types
from pathlib import Path

import gsw
import numpy as np
import pytest
import xarray as xr

from tests.cli.running import invoked
from tests.errors import error_naming, missing_from
from tests.extensions.sites.material import FROM_1950, HERE, START, atlas, place, site
from tests.io import test_argo as argo
from tests.io import test_era5 as era5
from tunax_lite.extensions.sites import sea_floor, tides, water, waves, weather
from tunax_lite.io import FileFormatError
from tunax_lite.io.netcdf import opened
from tunax_lite.runtime.machine import MissingPackageError


def profiles_of(folder: Path) -> xr.Dataset:
    with xr.open_dataset(folder / "water.nc", decode_times=False) as file:
        return file.load()


@pytest.fixture(scope="module")
def written(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites") / "papa"
    small = ["--column", 100, "--set", "grid.n_cells=20", "--set", "output.figures=false"]
    small += ["--set", "model.closure={name: pacanowski_philander}"]
    site(*HERE, "--data", data, "--output", folder, *small)
    return folder


@pytest.mark.long
def test_a_folder_holds_a_configuration_its_inputs_and_a_run(written, tmp_path, monkeypatch):
    assert {"water.nc", "site.yaml", "site.nc", "inputs.png"} <= {path.name for path in written.iterdir()}
    with xr.open_dataset(written / "site.nc") as run:
        assert run.sizes == {**run.sizes, "time": 37, "z_center": 20}
    monkeypatch.chdir(tmp_path)
    invoked("check", written / "site.yaml")
    assert "doi:10.1002/qj.3803" in (written / "site.yaml").read_text()


@pytest.mark.long
def test_the_water_is_that_of_the_float(written):
    salinity = gsw.SA_from_SP(np.asarray(argo.SALINITY, "f4"), argo.PRESSURE, -144.9, 50.1)
    temperature = gsw.CT_from_t(salinity, np.asarray(argo.TEMPERATURE, "f4"), argo.PRESSURE)
    z = gsw.z_from_p(argo.PRESSURE, 50.1)
    found = profiles_of(written)
    assert found.sizes["time"] == 2  # the third profile is far away
    expected = np.interp([-20.0, -50.0, -98.0], z[::-1], temperature[::-1])
    found = found.TEMP.sel(time=0.0).sel(depth=[20.0, 50.0, 98.0])
    np.testing.assert_allclose(found, expected, atol=2e-4)  # float32 of the file


def test_options_that_make_no_site(data, tmp_path):
    given = ["--output", tmp_path / "out", "--data", data]
    position = ["--latitude", "50.1", "--longitude", "-144.9"]
    for arguments, code, parts in (
        (["--latitude", 95, "--longitude", 0, "--start", START, "--stop", "2013-01-01"], 2, "--latitude 90"),
        ([*position, "--start", "2012-06-12", "--stop", "2012-06-10"], 2, "--stop 2012-06-10"),
        ([*position, "--start", "June", "--stop", "2012-06-10"], 2, "--start June"),
        ([*HERE, "--depth", "gebko"], 2, "--depth gebko gebco"),
        ([*HERE, "--depth", "0.5"], 2, "--depth 0.5"),
        ([*HERE, "--weather", "table:none.csv"], 3, "none.csv"),
        ([*HERE, "--water", "woa:nowhere"], 3, "--water nowhere"),
        ([*HERE, "--water", "argo"], 2, "--water argo"),
        ([*HERE, "--weather", f"era5:{tmp_path}"], 2, f"{tmp_path}/out/site.yaml {tmp_path}"),
    ):
        assert not missing_from(site(*given, *arguments, code=code), parts)
        assert not (tmp_path / "out/site.yaml").exists()
    assert "--depth" in site(*HERE, "--output", tmp_path / "out", "--water", f"woa:{data}/woa", code=2)


def test_without_a_profile_during_the_run_it_starts_from_those_beside_it(data, tmp_path):
    start = datetime.datetime(2012, 6, 12)
    here = place(tmp_path, start=start, stop=start + datetime.timedelta(days=1))
    water.woa(here, f"{data}/woa")
    found = profiles_of(tmp_path)
    at, surface = found["time"].values.tolist().index(0.0), found["TEMP"].values[:, -1]
    share = (start - datetime.datetime(2012, 5, 16)).total_seconds() / (31 * 86400.0)
    expected = (1.0 - share) * surface[at - 1] + share * surface[at + 1]
    np.testing.assert_allclose(surface[at], expected, rtol=1e-12)
    assert surface[at - 1] < surface[at] < surface[at + 1]
    start += datetime.timedelta(days=8)
    water.argo(place(tmp_path, start=start, stop=start + datetime.timedelta(days=1)), f"{data}/argo")
    found = profiles_of(tmp_path)
    assert found["time"].values[-1] == 0.0
    np.testing.assert_array_equal(found["TEMP"][-1], found["TEMP"][-2])


def test_the_climatology_is_that_of_the_months_and_of_the_year_below(tmp_path):
    for month in (0, 5, 6, 7):  # axes are recognised by their units
        for name in ("t_an", "s_an"):
            file = atlas(month, name).rename(lat="YAXLEV", lon="XAXLEV", depth="ZAXLEV")
            file.to_netcdf(tmp_path / f"woa23_decav_{name[0]}{month:02d}_01.nc")
    water.woa(place(tmp_path / "site", column=900.0), str(tmp_path))
    found = profiles_of(tmp_path / "site")
    # In-situ 16 - depth / 100 in June; the means of other months of the year where the file has none.
    salinity = gsw.SA_from_SP(34.0, gsw.p_from_z(-100.0, 50.1), -144.9, 50.1)
    expected = gsw.CT_from_t(salinity, 15.0, gsw.p_from_z(-100.0, 50.1))
    # The pressure of the readers is that of 1 dbar per metre and no latitude.
    np.testing.assert_allclose(found.TEMP.sel(depth=100.0)[-1], expected, atol=3e-4)
    deep = found.TEMP.sel(depth=500.0).values  # of the year: 5 degC
    assert np.ptp(deep) == 0.0
    assert abs(float(deep[0]) - 5.0) < 0.1


def test_places_without_inputs_are_refused(data, tmp_path):
    lat_lon = {"lat": [50.0, 51.0], "lon": [-145.0, -144.0]}
    xr.Dataset({"z": (("lat", "lon"), np.full((2, 2), 12.0))}, lat_lon).to_netcdf(tmp_path / "land.nc")
    (tmp_path / "salty").mkdir()
    argo.write(tmp_path / "salty/bad.nc", 1, days=[FROM_1950], PSAL_QC="4444")
    far = place(tmp_path, latitude=-60.0, radius=1000.0)
    for source, where, given, parts in (
        (sea_floor.grid, place(tmp_path, latitude=60.0), data / "gebco", "lat 52.5"),
        (sea_floor.grid, place(tmp_path), tmp_path / "land.nc", "z 12 --depth"),
        (water.argo, far, data / "argo", "--radius 1000 --water"),
        (water.argo, place(tmp_path), tmp_path / "salty", "2012-06-10"),
    ):
        with error_naming(FileFormatError, parts):
            source(where, str(given))


def test_the_depth_of_a_grid_and_in_metres(data, tmp_path):
    # 1000 + 100 * 0.1 - 10 * 0.1, cut into whole metres at the points.
    found = sea_floor.grid(place(tmp_path, column=2000.0), f"{data}/gebco")
    assert found == {"depth": pytest.approx(1009.0, abs=0.3), "interior": {"bottom_friction": {}}}
    assert sea_floor.metres(place(tmp_path), "1000") == {"depth": 300.0}


def test_the_sea_floor_across_the_date_line(tmp_path):
    grid = xr.Dataset({"z": (("lat", "lon"), [[-100.0, -300.0]])}, {"lat": [0.0], "lon": [-179.5, 179.5]})
    grid.to_netcdf(tmp_path / "line.nc")
    with opened(tmp_path / "line.nc") as read:
        here = place(tmp_path, latitude=0.0, longitude=-179.75)
        assert sea_floor.elevation_at(here, read) == pytest.approx(-150.0)


def test_waves_of_their_height_and_period(tmp_path):
    clock = ("valid_time", np.arange(0.0, 49.0), {"units": "hours since 2012-06-10"})
    axes = {"valid_time": clock, "latitude": [50.1], "longitude": [-144.9]}
    values = {"swh": ("m", 2.0), "mwp": ("s", 8.0), "mwd": ("Degree true", 270.0)}
    given = {
        name: (tuple(axes), np.full((49, 1, 1), x), {"units": unit}) for name, (unit, x) in values.items()
    }
    xr.Dataset(given, axes).to_netcdf(tmp_path / "given.nc")
    found = waves.era5(place(tmp_path), f"{tmp_path}/given.nc")
    # A wave from the west of amplitude 2 / (2 sqrt(2)) m: a^2 omega k, and 1 / (2 k).
    omega = 2.0 * np.pi / 8.0
    k = omega**2 / 9.81
    with xr.open_dataset(tmp_path / "waves.nc") as drift:
        np.testing.assert_allclose(drift.u, 0.5 * omega * k)
        np.testing.assert_allclose(drift.v, 0.0, atol=1e-12)
        np.testing.assert_allclose(drift.decay_depth, 1.0 / (2.0 * k))
    assert found["interior"]["wave_height"]["variable"] == "height"


def test_radiation_that_a_table_lacks_follows_from_the_clouds(tmp_path):
    header = "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],cloud_cover [%],longwave [W m-2]"
    (tmp_path / "buoy.csv").write_text(f"{header}\n2012-06-10T00:00:00,1,1,9,50,310\n")
    found = weather.table(place(tmp_path), f"{tmp_path}/buoy.csv")
    assert found["air_sea"] == {"shortwave": "clear_sky", "longwave": "downward"}
    assert found["weather"] == {"format": "table", "paths": [f"{tmp_path}/buoy.csv"]}


def client(monkeypatch, name: str, **members) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.long
def test_the_weather_of_the_climate_data_store_is_downloaded_once(data, tmp_path, monkeypatch):
    requests = []

    class Client:
        def retrieve(self, data_set, request, target):
            assert data_set == "reanalysis-era5-single-levels" and request["data_format"] == "netcdf"
            requests.append(request)
            names = {"10m_u_component_of_wind": "u10 v10 t2m d2m sp tcc"}
            kept = names.get(request["variable"][0], "ssrd strd tp").split()
            era5.write(target, {name: era5.SERIES[name] for name in kept})

    client(monkeypatch, "cdsapi", Client=Client)
    given = [*HERE, "--data", data, "--output", tmp_path / "papa", "--no-run", "--column", 50]
    site(*given, "--weather", "cds")
    assert [each["day"] for each in requests] == [["09", "10", "11"]] * 2
    assert [each["month"] for each in requests] == [["06"]] * 2 and len(requests[0]["time"]) == 24
    assert requests[0]["area"] == pytest.approx([50.6, -145.4, 49.6, -144.4])
    site(*given, "--weather", "cds", code=2)
    site(*given, "--weather", "cds", "--overwrite")
    assert len(requests) == 2
    site(*given, "--weather", "cds", "--overwrite", "--latitude", "50.2")
    assert len(requests) == 4


def test_unknown_users_and_missing_packages(monkeypatch, tmp_path):
    def unknown(*arguments, **options):
        raise RuntimeError("401 Client Error: operation not allowed\nmore lines")

    for name in ("argopy", "copernicusmarine", "cdsapi", "pyTMD"):
        monkeypatch.setitem(sys.modules, name, None)
    for source, parts in (
        (weather.cds, "cdsapi tunax_lite[sites]"),
        (waves.cds, "cdsapi tunax_lite[sites]"),
        (water.argopy, "--water argopy tunax_lite[sites]"),
        (water.copernicus, "--water copernicusmarine tunax_lite[sites]"),
        (tides.pytmd, "--tides pyTMD tunax_lite[sites]"),
    ):
        with error_naming(MissingPackageError, parts):
            source(place(tmp_path), "")
    client(monkeypatch, "cdsapi", Client=lambda: types.SimpleNamespace(retrieve=unknown))
    client(monkeypatch, "copernicusmarine", subset=unknown)
    with error_naming(FileFormatError, "reanalysis-era5-single-levels 401 cdsapirc"):
        weather.cds(place(tmp_path), "")
    with error_naming(FileFormatError, "copernicusmarine 401 login"):
        water.copernicus(place(tmp_path), "")
    assert not list(tmp_path.iterdir())


def test_the_reanalysis_of_copernicus(tmp_path, monkeypatch):
    def subset(*, dataset_id, output_directory, output_filename, overwrite, **request):
        assert dataset_id == "cmems_mod_glo_phy_my_0.083deg_P1D-m" and request["variables"] == [
            "thetao",
            "so",
        ]
        assert (request["start_datetime"], request["end_datetime"]) == (
            "2012-06-09T00:00:00",
            "2012-06-12T12:00:00",
        )
        assert (request["minimum_longitude"], request["maximum_latitude"]) == pytest.approx((-145.0, 50.2))
        depth, time = np.array([0.5, 100.0, 400.0]), np.arange("2012-06-09", "2012-06-12", dtype="M8[D]")
        axes = {"time": time.astype("M8[ns]"), "depth": depth}
        axes |= {"latitude": [50.0, 50.2], "longitude": [-145.0, -144.8]}
        values = {"thetao": 10.0 - depth / 100.0, "so": np.full(3, 34.0)}
        cubes = {n: (tuple(axes), np.broadcast_to(v[:, None, None], (3, 3, 2, 2))) for n, v in values.items()}
        xr.Dataset(cubes, axes).to_netcdf(Path(output_directory) / output_filename)

    client(monkeypatch, "copernicusmarine", subset=subset)
    water.copernicus(place(tmp_path), "")
    found = profiles_of(tmp_path)
    np.testing.assert_allclose(found.time, [-86400.0, 0.0, 86400.0])
    assert float(found.TEMP.sel(depth=100.0)[0]) == pytest.approx(9.0, abs=0.02)  # conservative


def test_floats_of_argopy(tmp_path, monkeypatch):
    argo.write(tmp_path / "float.nc", 2, days=22806.0 + np.array([0.0, 1.0]))
    with xr.open_dataset(tmp_path / "float.nc") as file:
        profiles = file.load()
    profiles["LATITUDE"][:], profiles["LONGITUDE"][:] = 50.0, -145.0
    profiles["PLATFORM_NUMBER"] = ("N_PROF", [4900001, 4900002])
    boxes = []

    class Points:
        argo = types.SimpleNamespace(point2profile=lambda: profiles)

    class DataFetcher:
        def region(self, box):
            boxes.append(box)
            return types.SimpleNamespace(to_xarray=Points)

    client(monkeypatch, "argopy", DataFetcher=DataFetcher)
    water.argopy(place(tmp_path), "")
    assert profiles_of(tmp_path).attrs["floats"] == "4900001, 4900002"
    assert boxes[0][6:] == ["2012-05-11", "2012-07-11"] and boxes[0][0] < -145.0 < boxes[0][1]


def test_tides_of_an_atlas_by_pytmd(monkeypatch, tmp_path):
    asked_for = {}

    def tide_currents(x, y, time, **options):
        asked_for.update(options, x=x, y=y)
        u = 20.0 * np.cos(2.0 * np.pi * time / 44714.0)  # [cm s-1]
        values = u if y[0] < 60.0 else np.full_like(u, np.nan)
        return {axis: xr.DataArray(scale * values[None]) for axis, scale in (("u", 1.0), ("v", 0.5))}

    client(monkeypatch, "pyTMD", compute=None)
    client(monkeypatch, "pyTMD.compute", tide_currents=tide_currents)
    found = tides.pytmd(place(tmp_path), f"FES2014@{tmp_path}")
    with xr.open_dataset(tmp_path / "tides.nc") as file:
        np.testing.assert_allclose(file.v, 0.5 * file.u)
        assert float(abs(file.u).max()) == pytest.approx(0.2) and file.u.attrs["units"] == "m s-1"
    assert found["interior"]["pressure_gradient"]["kind"] == "mean_velocity"
    assert asked_for["model"] == "FES2014" and asked_for["directory"] == tmp_path
    assert asked_for["epoch"] == (2012, 6, 10, 0, 0, 0) and asked_for["type"] == "time series"
    assert [asked_for["x"], asked_for["y"]] == [[-144.9], [50.1]]
    with error_naming(FileFormatError, "MODEL@DIR"):
        tides.pytmd(place(tmp_path), "FES2014@nowhere")
    with error_naming(FileFormatError, "land"):
        tides.pytmd(place(tmp_path, latitude=80.0), f"FES2014@{tmp_path}")
