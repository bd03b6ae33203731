"""Broken observation files: each ends in its own clear error, and nothing is left behind.

The table gives how a valid file is broken, how it is read, and what the message has to say.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tests.io.observation_files import LES_TIMES, N_CELLS, cf_dataset, les_temperature, write_lesbrary
from tests.io.test_les import small_file
from tunax_lite.io import (
    FileFormatError,
    Mapping,
    read_cf_netcdf,
    read_legay,
    read_lesbrary,
    read_trajectory,
)


class Broken(NamedTuple):
    """Writes a file into a folder, and says what reading it must answer."""

    name: str
    write: Callable[[Path], Path]
    read: Callable[[Path], Any]
    message: str
    error: type[Exception] = FileFormatError


def les(name: str, message: str, change: dict[str, Any] | None = None, **options) -> Broken:
    return Broken(
        "LESbrary: " + name,
        lambda folder: write_lesbrary(folder / "les.jld2", change=change, **options),
        read_lesbrary,
        f"les.jld2 {message}",
    )


def cf(
    name: str,
    message: str,
    change: Callable[[xr.Dataset], xr.Dataset | None] = lambda dataset: None,
    **mapping,
) -> Broken:
    """`change` returns a new dataset, or changes the one it gets."""

    def write(folder: Path) -> Path:
        dataset = cf_dataset()
        changed = change(dataset)
        (dataset if changed is None else changed).to_netcdf(folder / "cf.nc", engine="netcdf4")
        return folder / "cf.nc"

    return Broken(
        "CF: " + name, write, lambda path: read_cf_netcdf(path, Mapping(**mapping)), f"cf.nc {message}"
    )


def cut(write: Callable[[Path], Path], keep: float) -> Callable[[Path], Path]:
    """The same file without its end."""

    def write_cut(folder: Path) -> Path:
        path = write(folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(keep * len(content))])
        return path

    return write_cut


def text(folder: Path) -> Path:
    path = folder / "text.nc"
    path.write_text("time,temperature\n0,18\n")
    return path


def with_value(key: str, index, value) -> Callable[[xr.Dataset], None]:
    def change(dataset: xr.Dataset) -> None:
        dataset[key].values[index] = value

    return change


def with_attribute(key: str, name: str, value) -> Callable[[xr.Dataset], None]:
    def change(dataset: xr.Dataset) -> None:
        if value is None:
            del dataset[key].attrs[name]
        else:
            dataset[key].attrs[name] = value

    return change


def with_coordinate(key: str, values) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda dataset: dataset.assign_coords({key: (key, np.array(values), dataset[key].attrs)})


def without(*names: str) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda dataset: dataset.drop_vars(names)


def without_latitude(dataset: xr.Dataset) -> None:
    del dataset.attrs["latitude"]


def with_trajectory_file(folder: Path) -> Path:
    cf_dataset().to_netcdf(folder / "run.nc", engine="netcdf4")
    return folder / "run.nc"


def legay(change: Callable[[xr.Dataset], xr.Dataset]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        changed = change(xr.load_dataset(small_file(folder / "old.nc"), decode_times=False))
        (folder / "old.nc").unlink()
        changed.encoding = {}
        changed.to_netcdf(folder / "legay.nc", engine="netcdf4", format="NETCDF3_CLASSIC")
        return folder / "legay.nc"

    return write


def nan_profile() -> np.ndarray:
    values = np.pad(les_temperature(96), 3)
    values[5] = np.nan
    return values


KELVIN = {f"timeseries/T/{i}": les_temperature(i) + 273.15 for i in LES_TIMES}
REVERSED = -np.arange(0.0, 4.0 * N_CELLS + 1.0, 4.0)

BROKEN = [
    Broken("no file", lambda folder: folder / "no.jld2", read_lesbrary, "no.jld2", FileNotFoundError),
    Broken("a folder", lambda folder: folder, read_lesbrary, "folder", FileNotFoundError),
    Broken("text as JLD2", text, read_lesbrary, "text.nc JLD2"),
    Broken(
        "LESbrary: truncated",
        cut(lambda folder: write_lesbrary(folder / "les.jld2"), 0.6),
        read_lesbrary,
        "les.jld2 JLD2 truncated",
    ),
    les("no time series", "timeseries/t grid parameters", {"timeseries": None}),
    les("no temperature", "timeseries/T t u v", {"timeseries/T": None}),
    les("no number of cells", "grid/Nz", {"grid/Nz": None}),
    les("two cells", "grid/Nz 3 2", {"grid/Nz": 2}),
    les("halos that fit neither", "grid/zᵃᵃᶠ 9 15 11", n_halo=1),
    les(
        "a profile of another length",
        "timeseries/u/96 8 14 5",
        {"timeseries/u/96": np.zeros(5)},
    ),
    les(
        "a field of three dimensions",
        "timeseries/T/96 8 128",
        {"timeseries/T/96": np.zeros((8, 4, 4))},
    ),
    les(
        "NaN in a profile",
        "timeseries/T/96 nan 2",
        {"timeseries/T/96": nan_profile()},
    ),
    les("Kelvin", "timeseries/T temperature 292.15 K", KELVIN),
    les(
        "a velocity of 30 m/s",
        "timeseries/v v -20 20 30",
        {"timeseries/v/0": np.full(N_CELLS, 30.0)},
    ),
    les("a missing iteration", "timeseries/T/104", {"timeseries/T/104": None}),
    les(
        "an iteration twice",
        "timeseries/t 96",
        {"timeseries/t/096": 600.0},
    ),
    les(
        "times that stand still",
        "timeseries/t 600 2",
        {"timeseries/t/104": 600.0},
    ),
    les(
        "a single time",
        "timeseries/t 1",
        {f"timeseries/t/{i}": None for i in (96, 104, 1003)},
    ),
    les(
        "text as a profile",
        "timeseries/u/0 S4",
        {"timeseries/u/0": np.bytes_("zero")},
    ),
    les("no stress", "parameters/momentum_flux", {"parameters/momentum_flux": None}),
    les(
        "no heat flux",
        "parameters/buoyancy_flux",
        {"parameters/temperature_flux": None, "parameters/buoyancy_flux": None},
    ),
    les(
        "a heat flux in W m-2",
        "heat_flux -10000 10000",
        {"parameters/temperature_flux": 100.0},
    ),
    les(
        "NaN as a flux",
        "parameters/momentum_flux nan",
        {"parameters/momentum_flux": np.nan},
    ),
    les(
        "no rotation",
        "parameters/coriolis_parameter coriolis/f",
        {"parameters/coriolis_parameter": None},
    ),
    les(
        "no expansion",
        "parameters/thermal_expansion_coefficient",
        {"parameters/thermal_expansion_coefficient": None},
    ),
    les(
        "negative gravity",
        "parameters/gravitational_acceleration -9.8",
        {"parameters/gravitational_acceleration": -9.8},
    ),
    les("faces from the top", "grid/zᵃᵃᶠ -4 1", {"grid/zᵃᵃᶠ": REVERSED}),
    les(
        "faces above the surface",
        "grid/zᵃᵃᶠ 0 -28 4",
        {"grid/zᵃᵃᶠ": REVERSED[::-1] + 4.0},
    ),
    Broken("text as NetCDF", text, read_cf_netcdf, "text.nc NetCDF"),
    Broken(
        "CF: truncated",
        cut(cf("", "").write, 0.6),
        read_cf_netcdf,
        "cf.nc NetCDF",
    ),
    cf("no temperature", "temperature sea_water_conservative_temperature", without("TEMP")),
    cf(
        "a wrong name",
        "temp TEMP",
        variables={"temperature": "temp"},
    ),
    cf(
        "two temperatures",
        "temperature TEMP TEMP2",
        lambda dataset: dataset.assign(TEMP2=dataset["TEMP"]),
    ),
    cf(
        "temperature without a unit",
        "TEMP units",
        with_attribute("TEMP", "units", None),
    ),
    cf(
        "Fahrenheit",
        "TEMP degC degF",
        with_attribute("TEMP", "units", "degF"),
    ),
    cf(
        "Kelvin called Celsius",
        "TEMP temperature -5 60 K",
        lambda dataset: dataset.assign(TEMP=(dataset["TEMP"] + 273.15).assign_attrs(dataset["TEMP"].attrs)),
    ),
    cf(
        "a fill value that is not declared",
        "TEMP -5 60 1e+35",
        with_value("TEMP", (1, 1), 1e35),
    ),
    cf(
        "infinity",
        "TEMP inf",
        with_value("TEMP", (1, 1), np.inf),
    ),
    cf(
        "temperature of text",
        "TEMP object",
        lambda dataset: dataset.assign(TEMP=dataset["TEMP"].astype(str).assign_attrs(units="degC")),
    ),
    cf(
        "a map of columns",
        "TEMP TIME DEPTH station",
        lambda dataset: dataset.assign(
            TEMP=dataset["TEMP"].expand_dims(station=2).assign_attrs(dataset["TEMP"].attrs)
        ),
    ),
    cf(
        "no vertical dimension",
        "TEMP vertical TIME",
        lambda dataset: dataset.assign(
            TEMP=dataset["TEMP"].isel(DEPTH=0, drop=True).assign_attrs(dataset["TEMP"].attrs)
        ),
    ),
    cf("a wrong time axis", "hours time", time="hours"),
    cf("depth as time axis", "surface_heat_flux TIME DEPTH TEMP time", time="surface_heat_flux"),
    cf(
        "times that go back",
        "TIME 2010-06-01T06:57:36 2 2010-06-01T07:55:12 1",
        with_coordinate("TIME", [0.0, 0.08, 0.04, 0.12]),
    ),
    cf(
        "NaN among the times",
        "TIME nan 3",
        with_coordinate("TIME", [0.0, 0.04, 0.08, np.nan]),
    ),
    cf(
        "times without a unit",
        "TIME units",
        with_attribute("TIME", "units", None),
    ),
    cf(
        "times in months",
        "TIME months 2010-06-01",
        with_attribute("TIME", "units", "months since 2010-06-01"),
    ),
    cf(
        "a calendar of 360 days",
        "TIME 360_day",
        with_attribute("TIME", "calendar", "360_day"),
    ),
    cf(
        "depths that do not say so",
        "DEPTH positive down 0 2 14",
        with_attribute("DEPTH", "positive", None),
    ),
    cf("depths called heights", "DEPTH positive 14", positive="up"),
    cf(
        "pressure as vertical axis",
        "DEPTH m dbar",
        with_attribute("DEPTH", "units", "dbar"),
    ),
    cf(
        "levels in disorder",
        "DEPTH -10 -6 2",
        with_coordinate("DEPTH", [2.0, 10.0, 6.0, 14.0]),
    ),
    cf(
        "two levels",
        "DEPTH 3 2",
        lambda dataset: dataset.isel(DEPTH=slice(2)),
    ),
    cf("a bottom above the levels", "DEPTH -9 0 -14 -2", depth=9.0),
    cf(
        "no complete profile",
        "TEMP 3 4",
        with_value("TEMP", (slice(None), 2), np.nan),
    ),
    cf("a start after the end", "TEMP 4", start="2011-01-01"),
    cf("a start that is no date", "mapping.start tomorrow 8601", start="tomorrow"),
    cf(
        "one profile and no duration",
        "TIME 2010-06-01T06:00:00 duration",
        lambda dataset: dataset.drop_vars("surface_stress_u").isel(TIME=[0]),
    ),
    cf(
        "no forcing",
        "surface_stress_u surface_heat_flux fluxes",
        without("surface_stress_u", "surface_heat_flux"),
    ),
    cf(
        "a gap in the forcing",
        "surface_stress_u nan 2010-06-01T08:00:00 2",
        with_value("surface_stress_u", 2, np.nan),
    ),
    cf(
        "a wrong name of a flux",
        "taux stress_u",
        fluxes={"stress_u": "taux"},
    ),
    cf(
        "a stress in W m-2",
        "surface_stress_u N W",
        with_attribute("surface_stress_u", "units", "W m-2"),
    ),
    cf(
        "a stress of 1000 N m-2",
        "surface_stress_u stress_u -50 50 1000",
        with_value("surface_stress_u", 1, 1000.0),
    ),
    cf(
        "a flux of two dimensions",
        "TEMP TIME DEPTH",
        fluxes={"heat_flux": "TEMP"},
    ),
    cf("no latitude", "latitude -90 90 coriolis_parameter", without_latitude),
    cf(
        "a latitude of 120 degrees",
        "latitude 120",
        lambda dataset: dataset.assign_attrs(latitude=120.0),
    ),
    cf(
        "a latitude in words",
        "latitude 45 N",
        lambda dataset: dataset.assign_attrs(latitude="45 N"),
    ),
    Broken(
        "CF: forcing file that does not exist",
        cf("", "").write,
        lambda path: read_cf_netcdf(path, Mapping(forcing_file="weather.nc")),
        "weather.nc",
        FileNotFoundError,
    ),
    Broken(
        "Legay: truncated",
        cut(lambda folder: small_file(folder / "legay.nc"), 0.9),
        read_legay,
        "legay.nc truncated",
    ),
    Broken(
        "Legay: truncated in its header",
        cut(lambda folder: small_file(folder / "legay.nc"), 0.1),
        read_legay,
        "legay.nc truncated",
    ),
    Broken(
        "Legay: no velocity",
        legay(lambda dataset: dataset.drop_vars("u")),
        read_legay,
        "legay.nc u t z 3 5",
    ),
    Broken(
        "Legay: axes swapped",
        legay(lambda dataset: dataset.transpose("z", "t")),
        read_legay,
        "legay.nc b 3 5",
    ),
    Broken(
        "Legay: NaN",
        legay(lambda dataset: dataset.where(dataset["b"] < -1e-5)),
        read_legay,
        "legay.nc nan",
    ),
    Broken(
        "Legay: uppermost level first",
        legay(lambda dataset: dataset.isel(z=slice(None, None, -1))),
        read_legay,
        "legay.nc z -6 -2 1",
    ),
    Broken(
        "another file as trajectory",
        with_trajectory_file,
        read_trajectory,
        "run.nc closure_state",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_broken_file(broken, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = broken.write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with error_naming(broken.error, broken.message) as caught:
        broken.read(path)
    assert type(caught.value) is broken.error
    assert str(caught.value).endswith(".")
    assert sorted(tmp_path.rglob("*")) == before
    if open_before:
        assert len(os.listdir("/proc/self/fd")) == open_before


def test_the_files_are_valid_before_they_are_broken(tmp_path):
    read_lesbrary(write_lesbrary(tmp_path / "les.jld2"))
    read_cf_netcdf(cf("", "").write(tmp_path))
    read_legay(small_file(tmp_path / "legay.nc"))
    with h5py.File(tmp_path / "les.jld2") as file:
        assert "timeseries/T/serialized" in file


def test_every_message_is_its_own(tmp_path):
    messages = [broken.message for broken in BROKEN]
    repeated = {message for message in messages if messages.count(message) > 1}
    # The two truncated files of one format share theirs.
    assert len(repeated) == 1
