"""Broken observation files: each ends in an error that names what is wrong, and nothing is left open."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming, missing_from
from tests.io.observation_files import LES_TIMES, N_CELLS, cf_dataset, les_temperature, write_lesbrary
from tests.io.test_les import small_file
from tunax_lite.io import (
    FileFormatError,
    Mapping,
    read_cf_netcdf,
    read_legay,
    read_lesbrary,
    read_netcdf,
    read_trajectory,
    read_weather,
)
from tunax_lite.io.errors import shortened

Row = tuple[Callable[[], Any], str]


def wrong(rows: list[Row], folder: Path, kind: type[Exception] = FileFormatError) -> list:
    """Readings that do not end in an error of this kind that names all, or that leave a file, open or not."""
    descriptors = Path("/proc/self/fd")

    def around() -> tuple[list[Path], int]:
        return sorted(folder.rglob("*")), len(os.listdir(descriptors)) if descriptors.is_dir() else 0

    found = []
    for read, parts in rows:
        before = around()
        try:
            read()
            found.append((parts, "no error"))
        except Exception as error:
            missing = missing_from(str(error), parts)
            if type(error) is not kind or missing or not str(error).endswith("."):
                found.append((parts, missing, repr(error)))
        if around() != before:
            found.append((parts, "left something open or behind"))
    return found


def nan_profile() -> np.ndarray:
    values = np.pad(les_temperature(96), 3)
    values[5] = np.nan
    return values


KELVIN = {f"timeseries/T/{i}": les_temperature(i) + 273.15 for i in LES_TIMES}
REVERSED = -np.arange(0.0, 4.0 * N_CELLS + 1.0, 4.0)
LESBRARY: list[tuple[dict[str, Any], str]] = [
    ({"timeseries": None}, "timeseries/t grid parameters"),
    ({"timeseries/T": None}, "timeseries/T t u v"),
    ({"grid/Nz": None}, "grid/Nz"),
    ({"grid/Nz": 2}, "grid/Nz 3 2"),
    ({"timeseries/u/96": np.zeros(5)}, "timeseries/u/96 8 14 5"),
    ({"timeseries/T/96": np.zeros((8, 4, 4))}, "timeseries/T/96 8 128"),
    ({"timeseries/T/96": nan_profile()}, "timeseries/T/96 nan 2"),
    (KELVIN, "timeseries/T temperature 292.15 K"),
    ({"timeseries/T/104": None}, "timeseries/T/104"),
    ({"timeseries/t/104": 600.0}, "timeseries/t 600 2"),
    ({f"timeseries/t/{i}": None for i in (96, 104, 1003)}, "timeseries/t 1"),
    ({"timeseries/u/0": np.bytes_("zero")}, "timeseries/u/0 S4"),
    ({"timeseries/T/0": h5py.SoftLink("/timeseries/T/0")}, "JLD2"),
    ({"parameters/momentum_flux": np.nan}, "parameters/momentum_flux nan"),
    ({"parameters/temperature_flux": None, "parameters/buoyancy_flux": None}, "parameters/buoyancy_flux"),
    ({"parameters/temperature_flux": 100.0}, "heat_flux -10000 10000"),
    ({"parameters/coriolis_parameter": None}, "parameters/coriolis_parameter coriolis/f"),
    ({"parameters/coriolis_parameter": 5.0}, "parameters/coriolis_parameter -0.01 0.01 5"),
    ({"grid/zᵃᵃᶠ": None, "grid/Lz": -5.0}, "grid/Lz 5 0 negative below the surface"),
    ({"parameters/gravitational_acceleration": -9.8}, "parameters/gravitational_acceleration -9.8"),
    ({"grid/zᵃᵃᶠ": REVERSED}, "grid/zᵃᵃᶠ -4 1"),
    ({"grid/zᵃᵃᶠ": REVERSED[::-1] + 4.0}, "grid/zᵃᵃᶠ 0 -28 4"),
]


def test_broken_files_of_the_lesbrary(tmp_path):
    rows: list[Row] = []
    for number, (change, parts) in enumerate(LESBRARY):
        path = write_lesbrary(tmp_path / f"{number}.jld2", change=change)
        rows.append((lambda path=path: read_lesbrary(path), f"{path.name} {parts}"))
    halos = write_lesbrary(tmp_path / "halos.jld2", n_halo=1)
    rows.append((lambda: read_lesbrary(halos), "halos.jld2 grid/zᵃᵃᶠ 9 15 11"))
    assert not wrong(rows, tmp_path)


def changed(changes: dict[str, Any]) -> xr.Dataset:
    """A mooring with other variables (`name`) and attributes (`name.key`, `.key`); `None` removes one."""
    dataset = cf_dataset().isel(changes.pop("isel", {}))
    for key, new in changes.items():
        name, _, attribute = key.partition(".")
        if attribute:
            attributes = (dataset[name] if name else dataset).attrs
            attributes.update({attribute: new}) if new is not None else attributes.pop(attribute)
        elif new is None:
            dataset = dataset.drop_vars(name)
        else:
            old = dataset.get(name, dataset["TEMP"])
            new = new(old.copy()) if callable(new) else old.copy(data=np.array(new))
            assert isinstance(new, xr.DataArray)
            dataset = dataset.assign({name: new.assign_attrs(old.attrs)})
    return dataset


def at(index, new: float) -> Callable[[xr.DataArray], xr.DataArray]:
    def change(one: xr.DataArray) -> xr.DataArray:
        one.values[index] = new
        return one

    return change


CF: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"TEMP": None}, {}, "temperature sea_water_conservative_temperature"),
    ({"TEMP2": lambda one: one}, {}, "temperature TEMP TEMP2"),
    ({"TEMP.units": None}, {}, "TEMP units"),
    ({"TEMP.uncertainty": -1.0}, {}, "TEMP uncertainty -1"),
    ({"TEMP": lambda one: one + 273.15}, {}, "TEMP temperature -5 60 K"),
    ({"TEMP": lambda one: one.astype(str)}, {}, "TEMP type"),
    ({"TEMP": lambda one: one.expand_dims(station=2)}, {}, "TEMP TIME DEPTH station"),
    ({"TEMP": lambda one: one.isel(DEPTH=0, drop=True)}, {}, "TEMP vertical TIME"),
    ({"TEMP": at((1, 1), np.inf)}, {}, "TEMP inf"),
    ({"TEMP": at((slice(None), 2), np.nan)}, {}, "TEMP gaps"),
    ({}, {"time": "hours"}, "hours time"),
    ({}, {"time": "surface_heat_flux"}, "surface_heat_flux TIME DEPTH TEMP time"),
    ({"TIME": [0.0, 0.08, 0.04, 0.12]}, {}, "TIME 2010-06-01T06:57:36 2 2010-06-01T07:55:12 1"),
    ({"TIME": [0.0, 0.04, 0.08, np.nan]}, {}, "TIME nan 3"),
    ({"TIME.units": None}, {}, "TIME units"),
    ({"TIME.units": "months since 2010-06-01"}, {}, "TIME months 2010-06-01"),
    ({"TIME.calendar": "360_day"}, {}, "TIME 360_day"),
    ({"DEPTH.positive": None}, {}, "DEPTH positive down 0 2 14"),
    ({}, {"positive": "up"}, "DEPTH positive 14"),
    ({"DEPTH.units": "dbar"}, {}, "DEPTH m dbar"),
    ({"DEPTH": [2.0, 10.0, 6.0, 14.0]}, {}, "DEPTH -10 -6 2"),
    ({"isel": {"DEPTH": slice(2)}}, {}, "DEPTH 3 2"),
    ({"isel": {"TIME": [0]}, "surface_stress_u": None}, {}, "TIME 2010-06-01T06:00:00 record"),
    ({"surface_stress_u": None, "surface_heat_flux": None}, {}, "surface_stress_u surface_heat_flux fluxes"),
    ({"surface_stress_u": at(2, np.nan)}, {}, "surface_stress_u nan 2010-06-01T08:00:00 2"),
    ({"surface_stress_u": at(2, -np.inf)}, {}, "surface_stress_u finite -inf 2010-06-01T08:00:00 2"),
    ({}, {"fluxes": {"stress_u": "taux"}}, "taux stress_u"),
    ({}, {"fluxes": {"heat_flux": "TEMP"}}, "TEMP TIME DEPTH"),
    ({".latitude": None}, {}, "latitude -90 90 coriolis_parameter"),
    ({".latitude": "45 N"}, {}, "latitude 45 N"),
    ({".gravity": 0.0}, {}, "gravity 0"),
]


def test_broken_cf_files(tmp_path):
    rows: list[Row] = []
    for number, (changes, mapping, parts) in enumerate(CF):
        path = tmp_path / f"{number}.nc"
        changed(dict(changes)).to_netcdf(path, engine="netcdf4")
        read = lambda path=path, mapping=mapping: read_cf_netcdf(path, Mapping(**mapping))  # noqa: E731
        rows.append((read, f"{path.name} {parts}"))
    rows.append((lambda: read_trajectory(tmp_path / "0.nc"), "0.nc run"))
    assert not wrong(rows, tmp_path)


LEGAY: list[tuple[Callable[[xr.Dataset], xr.Dataset], str]] = [
    (lambda dataset: dataset.drop_vars("u"), "u t z b v"),
    (lambda dataset: dataset.where(dataset["b"] < -1e-5), "b"),
    (lambda dataset: dataset.isel(z=slice(None, None, -1)), "z 5 -2 -18"),
]


def test_broken_files_of_legay(tmp_path):
    rows: list[Row] = []
    good = xr.load_dataset(small_file(tmp_path / "good.nc"), decode_times=False)
    for number, (change, parts) in enumerate(LEGAY):
        changed, path = change(good), tmp_path / f"{number}.nc"
        changed.encoding = {}
        changed.to_netcdf(path, engine="netcdf4", format="NETCDF3_CLASSIC")
        rows.append((lambda path=path: read_legay(path), f"{path.name} {parts}"))
    assert not wrong(rows, tmp_path)


def test_truncated_files_and_files_of_another_kind(tmp_path):
    les, cf, legay = write_lesbrary(tmp_path / "a.jld2"), tmp_path / "b.nc", small_file(tmp_path / "c.nc")
    cf_dataset().to_netcdf(cf, engine="netcdf4")
    text = tmp_path / "text.nc"
    text.write_text("time,temperature\n0,18\n")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"time,a\n\xff\0\n")
    rows: list[Row] = [
        (lambda: read_lesbrary(text), "text.nc JLD2"),
        (lambda: read_cf_netcdf(text), "text.nc NetCDF"),
        (lambda: read_weather(binary, start_time=START), "binary.csv"),
    ]
    for path, parts, read, word in (
        (les, (0.6,), read_lesbrary, "JLD2"),
        (cf, np.arange(0.05, 1.0, 0.05), read_cf_netcdf, "NetCDF"),
        (legay, (0.1, 0.9), read_legay, "truncated"),
    ):
        read(path)
        for keep in parts:
            content, cut = path.read_bytes(), tmp_path / f"cut_{keep:.2f}_{path.name}"
            cut.write_bytes(content[: int(keep * len(content))])
            rows.append((lambda read=read, cut=cut: read(cut), f"{cut.name} {word}"))
    assert not wrong(rows, tmp_path)
    absent: list[Row] = [
        (lambda: read_lesbrary(tmp_path / "no.jld2"), "no.jld2"),
        (lambda: read_lesbrary(tmp_path), "folder"),
        (lambda: read_cf_netcdf(cf, Mapping(forcing_file="weather.nc")), "weather.nc"),
    ]
    assert not wrong(absent, tmp_path, FileNotFoundError)


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_classic_files_that_scipy_cannot_map(tmp_path, kind):
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("time", None)
        file.createVariable("counts", "i2", ("time",))[:] = np.arange(1001)
    assert read_netcdf(path)["counts"].sum() == 500500
    path.write_bytes(path.read_bytes()[:1000])
    with error_naming(FileFormatError, "truncated"):
        read_netcdf(path)


def test_arrays_larger_than_the_memory_are_not_allocated(tmp_path):
    cf_dataset().to_netcdf(tmp_path / "a.nc", engine="netcdf4")
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as file:
        file.createDimension("huge", 10**12)
        file.createVariable("other", "f8", ("huge",), zlib=True, chunksizes=(10**6,))
    path = write_lesbrary(tmp_path / "les.jld2")
    with h5py.File(path, "a") as file:
        del file["timeseries/T/0"]
        file.create_dataset("timeseries/T/0", (10**6, 10**6), "f8", chunks=(1000, 1000), compression="gzip")
    rows: list[Row] = [
        (lambda: read_cf_netcdf(tmp_path / "a.nc"), "a.nc other 8e3"),
        (lambda: read_lesbrary(path), "les.jld2 timeseries/T/0 8e3"),
    ]
    assert not wrong(rows, tmp_path)


NAMES = (
    "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],relative_humidity [%],air_pressure [hPa],"
    "shortwave [W m-2],longwave [W m-2]"
)
START = "2015-03-01T00:00:00"
LINES = [f"2015-03-0{day}T{hour:02d}:00:00,5,0,10,80,1013,0,300" for day in (1, 2) for hour in (0, 6, 12, 18)]
NOON = "2015-03-01T12:00:00"


def table(names: str = NAMES, **lines: str) -> str:
    """A table whose lines, counted from the one of names, are replaced."""
    return "\n".join(lines.get(f"line{i}", line) for i, line in enumerate([names, *LINES], 1)) + "\n"


def cell(name: str, text: str) -> str:
    """A table whose fourth line has another value."""
    at = [column.partition(" ")[0] for column in NAMES.split(",")].index(name)
    cells = LINES[2].split(",")
    return table(line4=",".join([*cells[:at], text, *cells[at + 1 :]]))


TABLES = [
    (cell("air_temperature", "283"), f"air_temperature 60 283 {NOON} 2 K"),
    (cell("relative_humidity", "").replace(",80,", ",0.8,"), "relative_humidity % 0.8"),
    (cell("wind_u", ""), "wind_u 6 12 2015-03-01T06:00:00 1 longest_gap"),
    *((cell("wind_u", text), f"line 4 wind_u {text}") for text in ("calm", "1_0", "0x10", "\u0661")),
    (table(line4=LINES[2].replace("2015-03-01", "01/03/2015")), "line 4 time ISO"),
    (table(line4=LINES[7], line5=LINES[7], line6=LINES[7]), "time increase"),
    (table(line4="#", line5="#"), "wind_u 6 18 longest_gap"),
    (table(line4=f"{NOON},5"), "line 4 8 2"),
    (table(names=LINES[0]), "line 1 names"),
    (table(NAMES.replace("wind_v", "wind_u")), "line 1 wind_u"),
    (table(NAMES.replace(" [%]", "")), "relative_humidity units none"),
    (table(NAMES.replace("%", "W")), "relative_humidity % W"),
    (table(NAMES.replace("relative", "absolute")), "humidity dew_point none"),
    (table().replace(",300", ",-60"), "longwave downward -60"),
    ("# nothing\n", "0"),
]


def test_broken_tables(tmp_path):
    rows: list[Row] = []
    for number, (text, parts) in enumerate([*TABLES, (table(), "good")]):
        path = tmp_path / f"{number}.csv"
        path.write_text(text, encoding="utf-8")
        read = lambda path=path: read_weather(path, start_time=START, longest_gap=21600.0)  # noqa: E731
        rows.append((read, f"{path.name} {parts}"))
    good, _ = rows.pop()
    good()
    assert not wrong(rows, tmp_path)


def test_a_message_shortens_its_parts():
    assert shortened("a\x1b[31m\nb") == "a\\x1b[31m\\nb" and len(shortened("y" * 10**6)) <= 400
    error = FileFormatError("f" * 5000, "k" * 5000, "e" * 5000, "g" * 5000, "correct it")
    assert len(str(error)) < 2000 and str(error).endswith("correct it.")
