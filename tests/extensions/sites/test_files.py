"""A site from files and services: what is written, and what is refused."""

import datetime
import json
import sys
import types
import zipfile
from pathlib import Path

import gsw
import numpy as np
import pytest
import xarray as xr

from tests.cli.running import invoked
from tests.errors import error_naming, missing_from
from tests.extensions.sites.material import (
    FROM_1950,
    HERE,
    START,
    atlas,
    fetch,
    place,
    site,
)
from tests.io import test_argo as argo
from tests.io import test_era5 as era5
from tunax_lite import io
from tunax_lite.config import ConfigError
from tunax_lite.extensions.sites import command, downloads, files, services
from tunax_lite.extensions.sites.sources import ask, chosen
from tunax_lite.extensions.sites.tides import Harmonic, arguments, current
from tunax_lite.io import FileFormatError
from tunax_lite.runtime.machine import MissingPackageError


@pytest.fixture(scope="module")
def written(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites") / "papa"
    small = ["--column", 100, "--set", "grid.n_cells=20", "--set", "output.figures=false"]
    small += ["--set", "model.closure={name: pacanowski_philander}"]
    said = site(*HERE, "--data", data, "--output", folder, *small)
    return folder, said


@pytest.mark.long
def test_a_folder_holds_inputs_a_run_figures_and_their_origin(written, tmp_path, monkeypatch):
    folder, said = written
    names = {path.name for path in folder.iterdir()}
    wanted = {"weather.nc", "water.nc", "site.yaml", "site.nc", "inputs.png", "README.md", "origin.json"}
    assert wanted <= names and ".tmp" not in said
    with xr.open_dataset(folder / "weather.nc", decode_times=False) as weather:
        assert weather.sizes["latitude"] == weather.sizes["longitude"] == 1
        np.testing.assert_allclose(weather.u10.values.ravel()[:3], [8.0, 8.1, 8.2])
        assert weather.attrs["license"].startswith("Copernicus")
    # 1000 + 100 * 0.1 - 10 * 0.1, cut into whole metres at the points.
    assert "sea floor at 1009 m" in said
    with xr.open_dataset(folder / "site.nc") as run:
        told = json.loads(run.attrs["origin_of_inputs"])
        assert [one["kind"] for one in told] == ["depth", "weather", "water"]
        digests = {name: digest for one in told for name, digest in one["places"].items()}
        assert len(digests["float.nc"]) == 64
        assert run.sizes["time"] == 37
    monkeypatch.chdir(tmp_path)
    invoked("check", folder / "site.yaml")


@pytest.mark.long
def test_the_water_is_that_of_the_float(written):
    folder, _ = written
    salinity = gsw.SA_from_SP(np.asarray(argo.SALINITY, "f4"), argo.PRESSURE, -144.9, 50.1)
    temperature = gsw.CT_from_t(salinity, np.asarray(argo.TEMPERATURE, "f4"), argo.PRESSURE)
    z = gsw.z_from_p(argo.PRESSURE, 50.1)
    with xr.open_dataset(folder / "water.nc") as water:
        assert water.sizes["time"] == 2  # the third profile is far away
        found = water.TEMP.sel(time=START).sel(depth=[20.0, 50.0, 98.0])
        expected = np.interp([-20.0, -50.0, -98.0], z[::-1], temperature[::-1])
        np.testing.assert_allclose(found.values.ravel(), expected, atol=2e-4)  # float32 of the file


def test_all_mistakes_are_told_at_once(data, tmp_path):
    out = ["--output", tmp_path / "out", "--data", data]
    wrong = ["--latitude", 95, "--longitude", 0, "--start", "2012-06-12", "--stop", "2012-06-10"]
    said = site(*wrong, *out, "--weather", "nasa:x", "--depth", "gebko", code=2)
    assert not missing_from(said, "latitude -90 90 --stop 2012-06-10 --weather nasa:x --depth gebko")
    said = site(*HERE, *out, "--weather", "table:none.csv", "--water", f"woa:{tmp_path}/none", code=3)
    assert "none.csv" in said and f"{tmp_path}/none" in said.replace("\n", "")
    # Nothing is asked of a service once the run cannot be; its settings are named as they were given.
    said = site(*HERE, *out, "--depth", "gebco:none", "--weather", "cds", code=3)
    assert "none" in said and "cdsapi" not in said
    table = tmp_path / "buoy.csv"
    names = "time,wind_u [furlong],wind_v [m s-1],air_temperature [degX],dew_point [degC],cloud_cover [1]"
    times = [f"2012-06-{day:02d}T{hour:02d}:00" for day in range(9, 13) for hour in (0, 6, 12, 18)]
    table.write_text("\n".join([names, *(f"{time},1.0,1.0,9.0,0.8,0.5" for time in times)]) + "\n")
    said = site(*HERE, *out, "--weather", f"table:{table}", code=3)
    assert not missing_from(said, "weather.nc buoy.csv furlong degX")
    assert not (tmp_path / "out").exists()


def test_without_a_profile_during_the_run_it_starts_from_those_beside_it(data):
    start = datetime.datetime(2012, 6, 12)
    here = place(start=start, stop=start + datetime.timedelta(days=1))
    found, origin = ask(here, "water", f"woa:{data / 'woa'}")
    water = found.files["water.nc"]
    assert "no profile during the run" in origin.notes[-1]
    at = water["time"].values.tolist().index(0.0)
    surface = water["TEMP"].values[:, -1]
    share = (start - datetime.datetime(2012, 5, 16)).total_seconds() / (31 * 86400.0)
    expected = (1.0 - share) * surface[at - 1] + share * surface[at + 1]
    np.testing.assert_allclose(surface[at], expected, rtol=1e-12)
    assert surface[at - 1] < surface[at] < surface[at + 1]
    here = place(start=start + datetime.timedelta(days=8), stop=start + datetime.timedelta(days=9))
    water = ask(here, "water", f"argo:{data / 'argo'}")[0].files["water.nc"]
    assert water["time"].values[-1] == 0.0
    np.testing.assert_array_equal(water["TEMP"][-1], water["TEMP"][-2])


def test_the_climatology_is_that_of_the_months_and_of_the_year_below(tmp_path):
    for month in (0, 5, 6, 7):  # axes are recognised by their units
        for name in ("t_an", "s_an"):
            file = atlas(month, name).rename(lat="YAXLEV", lon="XAXLEV", depth="ZAXLEV")
            file.to_netcdf(tmp_path / f"woa23_decav_{name[0]}{month:02d}_01.nc")
    found = fetch("water", "woa", place(column=900.0), tmp_path)
    water = found.files["water.nc"].set_coords("depth")
    # In-situ 16 - depth / 100 in June; the means of other months of the year where the file has none.
    salinity = gsw.SA_from_SP(34.0, gsw.p_from_z(-100.0, 50.1), -144.9, 50.1)
    expected = gsw.CT_from_t(salinity, 15.0, gsw.p_from_z(-100.0, 50.1))
    june = water.TEMP.values[1, water.depth.values == 100.0]
    # The pressure of the readers is that of 1 dbar per metre and no latitude.
    np.testing.assert_allclose(june, expected, atol=3e-4)
    deep = water.TEMP.values[:, water.depth.values == 500.0]  # of the year: 5 degC
    assert np.ptp(deep) == 0.0
    assert abs(float(deep[0, 0]) - 5.0) < 0.1


def test_places_without_inputs_are_refused(data, tmp_path):
    lat_lon = {"lat": [50.0, 51.0], "lon": [-145.0, -144.0]}
    xr.Dataset({"z": (("lat", "lon"), np.full((2, 2), 12.0))}, lat_lon).to_netcdf(tmp_path / "land.nc")
    (tmp_path / "salty").mkdir()
    argo.write(tmp_path / "salty/bad.nc", 1, days=[FROM_1950], PSAL_QC="4444")
    far = place(latitude=-60.0, radius=1000.0)
    for kind, name, where, given, parts in (
        ("depth", "gebco", place(latitude=60.0), data / "gebco", "lat 52.5"),
        ("depth", "etopo", place(), tmp_path / "land.nc", "z 12 --depth"),
        ("water", "argo", far, data / "argo", "--radius 1000 --water"),
        ("water", "argo", place(), tmp_path / "salty", "2012-06-10"),
    ):
        with error_naming(FileFormatError, parts):
            fetch(kind, name, where, given)


def test_the_sea_floor_across_the_date_line(tmp_path):
    grid = xr.Dataset({"z": (("lat", "lon"), [[-100.0, -300.0]])}, {"lat": [0.0], "lon": [-179.5, 179.5]})
    grid.to_netcdf(tmp_path / "line.nc")
    with files.opened(tmp_path / "line.nc") as read:
        assert files.elevation_at(place(latitude=0.0, longitude=-179.75), read) == pytest.approx(150.0)


def test_waves_of_their_height_and_period(tmp_path):
    clock = ("valid_time", np.arange(0.0, 49.0), {"units": "hours since 2012-06-10"})
    axes = {"valid_time": clock, "latitude": [50.1], "longitude": [-144.9]}
    values = {"swh": ("m", 2.0), "mwp": ("s", 8.0), "mwd": ("Degree true", 270.0)}
    waves = {
        name: (tuple(axes), np.full((49, 1, 1), x), {"units": unit}) for name, (unit, x) in values.items()
    }
    xr.Dataset(waves, axes).to_netcdf(tmp_path / "waves.nc")
    found = fetch("waves", "era5", place(), tmp_path / "waves.nc")
    drift = found.files["waves.nc"]
    # A wave from the west of amplitude 2 / (2 sqrt(2)) m: a^2 omega k, and 1 / (2 k).
    omega = 2.0 * np.pi / 8.0
    k = omega**2 / 9.81
    np.testing.assert_allclose(drift.u, 0.5 * omega * k)
    np.testing.assert_allclose(drift.v, 0.0, atol=1e-12)
    np.testing.assert_allclose(drift.decay_depth, 1.0 / (2.0 * k))
    assert found.case["interior"]["wave_height"]["variable"] == "height"


def test_tides_follow_the_moon_and_the_sun():
    # S2 is high at noon and midnight; the others return after their known periods.
    start = datetime.datetime(2012, 6, 10)
    time, u, _ = current([Harmonic("S2", 1.0, 0.0, 0.0, 0.0)], start, 86400.0)
    np.testing.assert_allclose(u[time % 43200.0 == 0.0], 1.0, atol=1e-6)
    for name, hours in (("M2", 12.4206012), ("K1", 23.9344697), ("O1", 25.8193417), ("N2", 12.6583482)):
        _, phase = arguments(name, np.array([4000.2, 4000.2 + hours / 24.0]))
        turned = (phase[1] - phase[0] + 180.0) % 360.0 - 180.0
        assert abs(turned) < 0.05, name  # the node moves
    # At the new moon, moon and sun cross the meridian together: M2 is in phase with S2.
    new_moon = datetime.datetime(2012, 6, 19, 15, 2) - datetime.datetime(2000, 1, 1, 12)
    days = new_moon.total_seconds() / 86400.0
    _, phase = arguments("M2", np.array([days]))
    apart = (phase[0] - 720.0 * days + 180.0) % 360.0 - 180.0
    assert abs(apart) < 15.0  # the moon's longitude is its mean one, 6 degrees off at most


def test_tides_of_a_table(tmp_path):
    table = tmp_path / "tides.csv"
    names = "constituent,amplitude_u,phase_u,amplitude_v,phase_v"
    table.write_text(f"{names}\nM2,0.3,20,0.1,110\nXX,0.1,0,0.1,0\n")
    with error_naming(FileFormatError, "tides.csv constituent XX M2"):
        fetch("tides", "harmonics", place(), table)
    table.write_text(table.read_text().replace("XX", "k1"))
    found = fetch("tides", "harmonics", place(), table)
    assert found.case["interior"]["pressure_gradient"]["kind"] == "mean_velocity"
    assert 0.2 < float(np.abs(found.files["tides.nc"].u).max()) < 0.45


def weather_table(path, hours=range(-6, 60, 6)):
    """A station beside the site; the wind is the number of hours since the start."""
    header = "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],relative_humidity [%],"
    header += "air_pressure [hPa],cloud_cover [%],longwave [W m-2]"
    start = np.datetime64("2012-06-10T00:00:00")
    lines = [f"{start + np.timedelta64(hour, 'h')},{hour},1.0,9.5,80,1012,50,310" for hour in hours]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_the_weather_of_a_table(tmp_path):
    path = weather_table(tmp_path / "station.csv")
    found = fetch("weather", "table", place(), path)
    assert found.case["air_sea"] == {"shortwave": "clear_sky", "longwave": "downward"}
    assert found.notes == ("shortwave radiation by the formula clear_sky",)
    weather = found.files["weather.nc"]
    # Six hours beside the run of a day and a half.
    np.testing.assert_array_equal(weather["wind_u"], np.arange(-6, 43, 6))
    np.testing.assert_array_equal(weather["time"], 3600.0 * np.arange(-6, 43, 6))
    assert weather["air_pressure"].attrs["units"] == "hPa" and len(found.places["station.csv"]) == 64
    read, measure = io.read_weather(weather, start_time="2012-06-10T00:00:00", shortwave=None)
    assert measure == "relative" and read.values.wind_u.tolist() == list(range(-6, 43, 6))
    short = weather_table(tmp_path / "short.csv", range(0, 30, 6))
    for error, given, parts in (
        (FileFormatError, short, "short.csv time 2012-06-11"),
        (FileNotFoundError, tmp_path / "none.csv", "none.csv"),
        (ConfigError, "", "--weather table:"),
    ):
        with error_naming(error, parts):
            fetch("weather", "table", place(), given)


def test_settings_are_checked_before_any_source_is_asked(data, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ask", lambda *_: pytest.fail("a source was asked"))
    out = ["--output", tmp_path / "out", "--data", data]
    for wrong in ("time.stepp=3", "model.closure.name=kppp", "output.variables=3", "grid"):
        assert f"--set {wrong.partition('=')[0]}" in site(*HERE, *out, "--set", wrong, code=2)
    assert not (tmp_path / "out").exists()


def client(monkeypatch, name: str, **members) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_the_weather_of_the_climate_data_store(monkeypatch, tmp_path):
    requests = []

    class Client:
        def __init__(self, **options):
            pass

        def retrieve(self, data_set, request, target):
            requests.append((data_set, request))
            era5.write(tmp_path / "answer.nc")
            with zipfile.ZipFile(target, "w") as archive:  # as for parameters of two kinds
                archive.write(tmp_path / "answer.nc", "data_stream-oper_stepType-instant.nc")

    client(monkeypatch, "cdsapi", Client=Client)
    source, where = chosen("weather", "cds")
    found, origin = source.ask(place(), where)
    assert found.files["weather.nc"].u10.values.ravel()[0] == 8.0 and "Copernicus" in origin.licence
    ((data_set, request),) = requests
    assert data_set == "reanalysis-era5-single-levels" and request["month"] == ["06"]
    assert request["area"] == [50.6, pytest.approx(-145.4), 49.6, pytest.approx(-144.4)]
    source.ask(place(), where)
    assert len(requests) == 1
    (address,) = origin.places
    assert address == "cds:reanalysis-era5-single-levels/era5_2012_06.nc"


def test_unknown_users_and_missing_packages(monkeypatch, tmp_path):
    def unknown(*arguments, **options):
        raise RuntimeError("401 Client Error: operation not allowed\nmore lines")

    client(monkeypatch, "cdsapi", Client=lambda **options: types.SimpleNamespace(retrieve=unknown))
    client(monkeypatch, "copernicusmarine", subset=unknown)
    with error_naming(FileFormatError, "reanalysis-era5-single-levels 401 cdsapirc"):
        fetch("weather", "cds", place())
    with error_naming(FileFormatError, "copernicusmarine 401 login"):
        fetch("water", "copernicus", place())
    assert not list(downloads.folder().iterdir())
    with error_naming(MissingPackageError, "--water argopy tunax_lite[sites]"):
        chosen("water", "argopy")[0].ask(place(), "")
    said = site(*HERE, "--depth", "100", "--output", tmp_path / "papa", code=3)
    assert "cdsapirc" in said and not (tmp_path / "papa").exists()


def test_the_reanalysis_of_copernicus(monkeypatch):
    def subset(*, dataset_id, output_directory, output_filename, **request):
        assert dataset_id == services.GLORYS and request["variables"] == ["thetao", "so"]
        depth, time = np.array([0.5, 100.0, 400.0]), np.arange("2012-06-09", "2012-06-12", dtype="M8[D]")
        axes = {"time": time.astype("M8[ns]"), "depth": depth}
        axes |= {"latitude": [50.0, 50.2], "longitude": [-145.0, -144.8]}
        values = {"thetao": 10.0 - depth / 100.0, "so": np.full(3, 34.0)}
        cubes = {n: (tuple(axes), np.broadcast_to(v[:, None, None], (3, 3, 2, 2))) for n, v in values.items()}
        xr.Dataset(cubes, axes).to_netcdf(Path(output_directory) / output_filename)

    client(monkeypatch, "copernicusmarine", subset=subset)
    water = fetch("water", "copernicus", place()).files["water.nc"]
    np.testing.assert_allclose(water.time, [-86400.0, 0.0, 86400.0])
    assert water.TEMP.values[0, water.depth.values == 100.0] == pytest.approx(9.0, abs=0.02)  # conservative


def test_floats_of_argopy(monkeypatch, tmp_path):
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
    found = fetch("water", "argopy", place())
    assert found.files["water.nc"].attrs["floats"] == "4900001, 4900002", found.notes
    assert boxes[0][6:] == ["2012-05-11", "2012-07-11"] and boxes[0][0] < -145.0 < boxes[0][1]


def test_tides_of_an_atlas_by_pytmd(monkeypatch, tmp_path):
    asked_for = {}

    def tide_currents(x, y, time, **options):
        asked_for.update(options, x=x, y=y)
        u = 20.0 * np.cos(2.0 * np.pi * time / 44714.0)  # [cm s-1]
        values = u if y[0] < 60.0 else np.full_like(u, np.nan)
        return {"u": values[None], "v": 0.5 * values[None]}

    client(monkeypatch, "pyTMD", compute=None)
    client(monkeypatch, "pyTMD.compute", tide_currents=tide_currents)
    found = fetch("tides", "pytmd", place(), f"FES2014@{tmp_path}")
    file = found.files["tides.nc"]
    np.testing.assert_allclose(file.v, 0.5 * file.u)
    assert float(abs(file.u).max()) == pytest.approx(0.2) and file.u.attrs["units"] == "m s-1"
    assert found.case["interior"]["pressure_gradient"]["kind"] == "mean_velocity"
    assert asked_for["model"] == "FES2014" and asked_for["directory"] == tmp_path
    assert asked_for["epoch"] == (2012, 6, 10, 0, 0, 0) and asked_for["type"] == "time series"
    assert [asked_for["x"], asked_for["y"]] == [[place().longitude], [place().latitude]]
    with error_naming(FileFormatError, "MODEL@DIR"):
        fetch("tides", "pytmd", place(), "FES2014@nowhere")
    with error_naming(FileFormatError, "land"):
        fetch("tides", "pytmd", place(latitude=80.0), f"FES2014@{tmp_path}")
