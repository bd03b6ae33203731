"""Files and a local server in the formats that the services publish."""

import datetime
import json
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import netCDF4
import numpy as np
import xarray as xr

from tests.cli.running import invoked
from tests.io import test_argo as argo
from tests.io import test_era5 as era5
from tunax_lite.extensions.sites.files import era5_names
from tunax_lite.extensions.sites.sources import Found, Place, chosen

FROM_1950 = 22806.0  # days from 1950-01-01 to 2012-06-10
START, STOP = "2012-06-10", "2012-06-11T12:00"
TIMES = ["--start", START, "--stop", STOP]
HERE = ["--latitude", "50.1", "--longitude", "-144.9", *TIMES]


def place(**changes: Any) -> Place:
    start, stop = map(datetime.datetime.fromisoformat, (START, STOP))
    papa = {"name": "papa", "latitude": 50.1, "longitude": -144.9, "start": start, "stop": stop}
    return Place(**papa | changes)


def fetch(kind: Any, name: str, where: Place, text: object = "") -> Found:
    return chosen(kind, name)[0].fetch(where, str(text))


def site(*arguments: object, code: int = 0) -> str:
    return invoked("site", *arguments, code=code).output


def write_data(folder: Path) -> Path:
    """A folder of data: two days of weather, two profiles of a float, a climatology and a sea floor."""
    for name in ("era5", "argo", "woa", "gebco"):
        (folder / name).mkdir(parents=True)
    era5.write(folder / "era5/two_days.nc")
    profiles = argo.write(folder / "argo/float.nc", 3, days=FROM_1950 + np.array([-3.0, 0.0, 5.0]))
    with netCDF4.Dataset(profiles, "a") as file:
        file["LATITUDE"][:] = [50.3, 50.1, 20.0]  # the last is far away
        file["LONGITUDE"][:] = [215.1, 215.1, 215.1]
    for month in (0, 5, 6, 7):
        atlas(month).to_netcdf(folder / f"woa/woa23_decav_t{month:02d}_01.nc")
        atlas(month, "s_an").to_netcdf(folder / f"woa/woa23_decav_s{month:02d}_01.nc")
    sea_floor().to_netcdf(folder / "gebco/grid.nc")
    return folder


def atlas(month: int, name: str = "t_an") -> xr.Dataset:
    """Temperature 10 + month - depth / 100, or salinity 34, to 200 m in months and to 1000 m in the year."""
    depth = np.array([0.0, 50.0, 100.0, 200.0, *([500.0, 1000.0] if month == 0 else [])])
    values = (10.0 + month - depth / 100.0) if name == "t_an" else np.full(depth.size, 34.0)
    grid = np.broadcast_to(values[:, None, None], (depth.size, 2, 2)).astype("f4").copy()
    grid[:, 0, 0] = np.nan  # land
    return xr.Dataset(
        {name: (("time", "depth", "lat", "lon"), grid[None], {"_FillValue": np.float32(9.96921e36)})},
        coords={
            "time": ("time", [month - 0.5], {"units": "months since 1955-01-01 00:00:00"}),
            "depth": ("depth", depth, {"units": "meters", "positive": "down"}),
            "lat": ("lat", [49.5, 50.5], {"units": "degrees_north"}),
            "lon": ("lon", [-145.5, -144.5], {"units": "degrees_east"}),
        },
    )


def sea_floor() -> xr.Dataset:
    """Elevation -1000 - 100 (latitude - 50) + 10 (longitude + 145), in whole metres."""
    latitude, longitude = np.arange(48.0, 53.0, 0.5), np.arange(-147.0, -142.0, 0.5)
    elevation = -1000.0 - 100.0 * (latitude[:, None] - 50.0) + 10.0 * (longitude + 145.0)
    attributes = {"units": "m", "standard_name": "height_above_mean_sea_level"}
    return xr.Dataset(
        {"elevation": (("lat", "lon"), elevation.astype("i2"), attributes)},
        coords={"lat": latitude, "lon": longitude},
    )


Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.answers: list[tuple[str, Answer]] = []
        self.asked: list[str] = []
        self.faults: dict[str, list[str]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(request.path)
        self.asked.append(path)
        faults = self.faults.get(path.partition("?")[0], [])
        fault = faults.pop(0) if faults else ""
        request.headers["broken"] = str(fault == "broken")
        if fault.isdigit():
            request.send_error(int(fault))
        elif fault != "closed":
            for start, function in self.answers:
                if path.startswith(start):
                    return function(request)
            if path in self.files:
                self.send(request, self.files[path])
            else:
                request.send_error(404)

    @staticmethod
    def send(request: BaseHTTPRequestHandler, body: bytes) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if request.headers["broken"] == "True" else body)

    def serve_folder(self, folder: Path, at: str) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                self.files[f"{at}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()

    def serve_opendap(self, dataset: xr.Dataset, at: str) -> None:
        self.answers.append((f"{at}.", lambda request: _opendap(dataset, request)))


def arco(folder: Path, **left_out: object) -> Path:
    """A Zarr store of version 2 with the names and axes of ARCO-ERA5, hours in pieces of twelve."""
    with xr.open_dataset(era5.write(folder / "source.nc"), decode_cf=False) as opened:
        file = opened.load()
    names = {name: long for name, long in era5_names().items() if name in file}
    dims = ("time", "latitude", "longitude")
    variables = {
        long: (dims, file[name].values.astype("f4"), {"units": file[name].units})
        for name, long in names.items()
        if long not in left_out
    }
    hours = (file["valid_time"].values // 3600 + 613608).astype("i8")  # since 1900
    coordinates = {
        "time": ("time", hours, {"units": "hours since 1900-01-01"}),
        "latitude": file["latitude"].values,
        "longitude": file["longitude"].values % 360.0,
    }
    dataset = xr.Dataset(variables, coordinates)
    encoding = {long: {"chunks": (12, 2, 2)} for long in variables}
    path = folder / "arco.zarr"
    dataset.to_zarr(path, zarr_format=2, consolidated=True, encoding=encoding)
    assert json.loads((path / ".zmetadata").read_text())["zarr_consolidated_format"] == 1
    return path


# DAP 2.0, https://www.opendap.org/pdf/ESE-RFC-004v1.2.pdf: a description (DDS), attributes (DAS), and XDR.
_TYPES = {"f4": "Float32", "f8": "Float64", "i2": "Int16", "i4": "Int32"}


def _opendap(dataset: xr.Dataset, request: BaseHTTPRequestHandler) -> None:
    path, _, query = unquote(request.path).partition("?")
    kind = path.rpartition(".")[2]
    if kind == "das":
        lines = []
        for name, one in dataset.variables.items():
            texts = [f'String {key} "{value}"' for key, value in one.attrs.items() if isinstance(value, str)]
            texts += [
                f"Float32 {key} {float(v):.7g}" for key, v in one.attrs.items() if not isinstance(v, str)
            ]
            lines += [f"  {name} {{", *(f"    {text};" for text in texts), "  }"]
        Server.send(request, "\n".join(["Attributes {", *lines, "}", ""]).encode())
        return
    chosen = [each for each in query.split(",") if each] or list(map(str, dataset.variables))
    body, described = b"", []
    for each in chosen:
        name, *ranges = each.replace("]", "").split("[")
        variable = dataset.variables[name.rpartition(".")[2]]
        index = tuple(_range(text) for text in ranges) or (slice(None),) * variable.ndim
        part = variable.values[index]
        code = part.dtype.str[1:]
        sides = "".join(f"[{dim} = {n}]" for dim, n in zip(variable.dims, part.shape, strict=True))
        described.append(f"    {_TYPES[code]} {name.rpartition('.')[2]}{sides};")
        count = struct.pack(">II", part.size, part.size)
        body += count + part.astype(">i4" if code == "i2" else f">{code}").tobytes()
    text = "\n".join(["Dataset {", *described, "} data;", ""]).encode()
    Server.send(request, text + b"\nData:\n" + body if kind == "dods" else text)


def _range(text: str) -> slice:
    numbers = [int(each) for each in text.split(":")]
    step = numbers[1] if len(numbers) == 3 else 1
    return slice(numbers[0], numbers[-1] + 1, step)
