"""Services, as a local server or a client in their place answers; every fault is one message."""

import sys
import threading
import types
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tests.extensions.sites.material import HERE, arco, atlas, fetch, place, sea_floor, site
from tests.io import test_argo as argo
from tests.io import test_era5 as era5
from tunax_lite.extensions.sites import downloads, services
from tunax_lite.extensions.sites.sources import chosen
from tunax_lite.io import FileFormatError
from tunax_lite.runtime.machine import MissingPackageError


def client(monkeypatch, name: str, **members) -> None:
    """A package in the place of the real one."""
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return arco(tmp_path_factory.mktemp("arco"))


def test_the_weather_of_a_zarr_store_over_http(server, store):
    server.serve_folder(store, "/era5")
    found = fetch("weather", "arco", place(), f"{server.url}/era5/")
    weather = found.files["weather.nc"]
    expected = 8.0 + 0.1 * np.arange(weather.sizes["valid_time"])
    np.testing.assert_allclose(weather.u10.values.ravel(), expected, atol=1e-5)  # float32
    assert found.case["weather"]["accumulation"] == 3600.0
    # 37 hours and one after it in pieces of 12 by 2 by 2, of which two in longitude and two in latitude.
    asked = [path for path in server.asked if "2m_temperature/" in path]
    assert sorted(path.rpartition("/")[2] for path in asked)[0] == "0.0.0" and len(asked) in (4, 8, 16)
    before = len(server.asked)
    fetch("weather", "arco", place(), f"{server.url}/era5")
    assert len(server.asked) == before  # from the cache


@pytest.mark.long
def test_faults_of_a_store_are_one_message_and_leave_nothing(server, store, tmp_path):
    server.serve_folder(store, "/era5")
    piece = "/era5/2m_temperature/0.0.0"
    server.faults[piece] = ["closed", "broken"]  # the third answer is good
    fetch("weather", "arco", place(), f"{server.url}/era5")
    assert server.asked.count(piece) == 3
    pieces = downloads.folder().glob("*0.0.0")
    damaged = next(path for path in pieces if downloads.noted([path]) and path.stat().st_size)
    damaged.write_bytes(b"damaged")
    fetch("weather", "arco", place(), f"{server.url}/era5")  # fetched again
    for n, (faults, parts) in enumerate(
        ((["broken"] * 3, "0.0.0 bytes"), (["503"] * 3, "503"), (["404"], "404"), (["403"], "403 key"))
    ):
        server.faults[piece] = list(faults)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TUNAX_LITE_DOWNLOADS", str(tmp_path / f"other{n}"))
            with error_naming(FileFormatError, f"{server.url}{piece} {parts}"):
                fetch("weather", "arco", place(), f"{server.url}/era5")
            assert not [path for path in downloads.folder().iterdir() if path.name.endswith(".tmp")]
    del server.files["/era5/.zmetadata"]
    with error_naming(FileFormatError, ".zmetadata 404"), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TUNAX_LITE_DOWNLOADS", str(tmp_path / "empty"))
        fetch("weather", "arco", place(), f"{server.url}/era5")


def test_a_store_without_a_parameter_or_with_too_much(server, tmp_path, monkeypatch):
    server.serve_folder(arco(tmp_path, surface_pressure=None), "/short")
    with error_naming(FileFormatError, "surface_pressure"):
        fetch("weather", "arco", place(), f"{server.url}/short")
    monkeypatch.setattr(services, "_MOST_BYTES", 100.0)
    with error_naming(FileFormatError, "GB cds"):
        fetch("weather", "arco", place(), f"{server.url}/short")


def test_a_service_that_does_not_answer(server, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.1)
    over = threading.Event()
    server.answers.append(("/x.nc", lambda request: over.wait()))
    with error_naming(FileFormatError, f"{server.url}/x.nc timed out"):
        downloads.download(f"{server.url}/x.nc")
    over.set()
    assert not list(downloads.folder().iterdir())
    server.http.shutdown()
    server.http.server_close()
    with error_naming(FileFormatError, f"{server.url}/y.nc refused"):
        downloads.download(f"{server.url}/y.nc")
    calls = []

    def refused():
        calls.append(1)
        raise urllib.error.HTTPError("http://x", 401, "Unauthorized", None, None)  # pyright: ignore

    with error_naming(FileFormatError, "http://x 401 account"):
        downloads.retried(refused, "http://x")
    assert len(calls) == 1  # a refusal is not asked again


def test_the_depth_of_erddap(server, tmp_path):
    floor = sea_floor().rename(elevation="altitude", lat="latitude", lon="longitude")
    floor.to_netcdf(tmp_path / "floor.nc")
    body = (tmp_path / "floor.nc").read_bytes()
    server.answers.append(("/erddap/griddap/etopo180.nc?", lambda request: server.send(request, body)))
    found = fetch("depth", "erddap", place(column=2000.0), f"{server.url}/erddap/griddap/etopo180?altitude")
    assert found.case["depth"] == pytest.approx(1009.0, abs=1.0)  # whole metres at the points
    ranges = "[(50.0500):(50.1500)][(-144.9500):(-144.8500)]"
    assert server.asked == [f"/erddap/griddap/etopo180.nc?altitude{ranges}"]


def test_the_climatology_of_opendap(server, monkeypatch):
    for month in (0, 5, 6):
        base = "/woa/{}/netcdf/decav/1.00/woa23_decav_{}{:02d}_01.nc"
        server.serve_opendap(atlas(month), base.format("temperature", "t", month))
        server.serve_opendap(atlas(month, "s_an"), base.format("salinity", "s", month))
    found = fetch("water", "thredds", place(), f"{server.url}/woa")
    water = found.files["water.nc"]
    assert water.TEMP.values[1, water.depth.values == 50.0] == pytest.approx(15.5, abs=0.01)
    # Nothing twice; the library fetches small variables as a whole.
    asked = [path for path in server.asked if ".dods?" in path and "t_an" in path]
    assert asked
    before = len(server.asked)
    fetch("water", "thredds", place(), f"{server.url}/woa")
    assert len(server.asked) == before
    path = "/woa/temperature/netcdf/decav/1.00/woa23_decav_t00_01.nc"
    monkeypatch.setenv("TUNAX_LITE_DOWNLOADS", str(downloads.folder() / "other"))
    server.faults[f"{path}.dods"] = ["broken"] * 9
    with error_naming(FileFormatError, f"{server.url}{path}"):
        fetch("water", "thredds", place(), f"{server.url}/woa")
    assert not list(downloads.folder().iterdir())
    with error_naming(FileFormatError, "nowhere woa23_decav_t00_01.nc files"):
        fetch("water", "thredds", place(), f"{server.url}/nowhere")


def test_the_weather_of_the_climate_data_store(server, monkeypatch, tmp_path):
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


def test_unknown_users_and_missing_packages(server, monkeypatch, tmp_path):
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


def test_the_reanalysis_of_copernicus(server, monkeypatch):
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


def test_floats_of_argopy(server, monkeypatch, tmp_path):
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
