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
        rf"les\.jld2: {message}",
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
        "CF: " + name, write, lambda path: read_cf_netcdf(path, Mapping(**mapping)), rf"cf\.nc: {message}"
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
    Broken(
        "no file", lambda folder: folder / "no.jld2", read_lesbrary, "no.jld2: expected", FileNotFoundError
    ),
    Broken("a folder", lambda folder: folder, read_lesbrary, "got a folder", FileNotFoundError),
    Broken("text as JLD2", text, read_lesbrary, r"text\.nc: file: expected a JLD2 file"),
    Broken(
        "LESbrary: truncated",
        cut(lambda folder: write_lesbrary(folder / "les.jld2"), 0.6),
        read_lesbrary,
        r"les\.jld2: file: expected a JLD2 file, got .*truncated",
    ),
    les("no time series", r"timeseries/t: expected a group, got none", {"timeseries": None}),
    les("no temperature", r"timeseries/T: expected a group, got none beside t", {"timeseries/T": None}),
    les("no number of cells", r"grid/Nz: expected a number, got none", {"grid/Nz": None}),
    les("two cells", r"grid/Nz: expected at least 3 cells, got 2", {"grid/Nz": 2}),
    les("halos that fit neither", r"grid/zᵃᵃᶠ: expected 9 values, or 15 .* got 11", n_halo=1),
    les(
        "a profile of another length",
        r"timeseries/u/96: expected 8 values, or 14 .* got 5",
        {"timeseries/u/96": np.zeros(5)},
    ),
    les(
        "a field of three dimensions",
        r"timeseries/T/96: expected 8 values, .* got 128",
        {"timeseries/T/96": np.zeros((8, 4, 4))},
    ),
    les(
        "NaN in a profile",
        r"timeseries/T/96: expected finite values, got nan in cell 2",
        {"timeseries/T/96": nan_profile()},
    ),
    les("Kelvin", r"timeseries/T: expected temperature between .* got 292.15; give the unit K", KELVIN),
    les(
        "a velocity of 30 m/s",
        r"timeseries/v: expected v between -20 and 20, got 30",
        {"timeseries/v/0": np.full(N_CELLS, 30.0)},
    ),
    les("a missing iteration", r"timeseries/T/104: expected a profile", {"timeseries/T/104": None}),
    les(
        "an iteration twice",
        r"timeseries/t: expected every iteration once, got both 0?96 and 0?96",
        {"timeseries/t/096": 600.0},
    ),
    les(
        "times that stand still",
        r"timeseries/t: expected values that increase, got 600 after 600 in record 2",
        {"timeseries/t/104": 600.0},
    ),
    les(
        "a single time",
        r"timeseries/t: expected at least two iterations, got 1",
        {f"timeseries/t/{i}": None for i in (96, 104, 1003)},
    ),
    les(
        "text as a profile",
        r"timeseries/u/0: expected an array of numbers",
        {"timeseries/u/0": np.bytes_("zero")},
    ),
    les("no stress", r"parameters/momentum_flux: expected a number", {"parameters/momentum_flux": None}),
    les(
        "no heat flux",
        r"parameters/buoyancy_flux: expected a number",
        {"parameters/temperature_flux": None, "parameters/buoyancy_flux": None},
    ),
    les(
        "a heat flux in W m-2",
        r"parameters \(heat_flux\): expected heat_flux between",
        {"parameters/temperature_flux": 100.0},
    ),
    les(
        "NaN as a flux",
        r"parameters/momentum_flux: expected a finite number, got nan",
        {"parameters/momentum_flux": np.nan},
    ),
    les(
        "no rotation",
        r"parameters/coriolis_parameter: expected a number there or in coriolis/f, got none",
        {"parameters/coriolis_parameter": None},
    ),
    les(
        "no expansion",
        r"parameters/thermal_expansion_coefficient: expected a number",
        {"parameters/thermal_expansion_coefficient": None},
    ),
    les(
        "negative gravity",
        r"parameters/gravitational_acceleration: expected a positive number, got -9.8",
        {"parameters/gravitational_acceleration": -9.8},
    ),
    les("faces from the top", r"grid/zᵃᵃᶠ: expected values that increase", {"grid/zᵃᵃᶠ": REVERSED}),
    les(
        "faces above the surface",
        r"grid/zᵃᵃᶠ: expected faces from the bottom up to the surface",
        {"grid/zᵃᵃᶠ": REVERSED[::-1] + 4.0},
    ),
    Broken("text as NetCDF", text, read_cf_netcdf, r"text\.nc: file: expected a NetCDF file"),
    Broken(
        "CF: truncated",
        cut(cf("", "").write, 0.6),
        read_cf_netcdf,
        r"cf\.nc: file: expected a NetCDF file, got .*damaged",
    ),
    cf("no temperature", r"temperature: expected a variable", without("TEMP")),
    cf(
        "a wrong name",
        r"temp: expected a variable for temperature, got only .*TEMP.*correct the mapping",
        variables={"temperature": "temp"},
    ),
    cf(
        "two temperatures",
        r"temperature: expected one variable .* got TEMP and TEMP2; choose",
        lambda dataset: dataset.assign(TEMP2=dataset["TEMP"]),
    ),
    cf(
        "temperature without a unit",
        r"TEMP: expected an attribute 'units', got none; give the unit of temperature",
        with_attribute("TEMP", "units", None),
    ),
    cf(
        "Fahrenheit",
        r"TEMP: expected a unit that converts to degC, got 'degF'",
        with_attribute("TEMP", "units", "degF"),
    ),
    cf(
        "Kelvin called Celsius",
        r"TEMP: expected temperature between -5 and 60, got 28\d.*; give the unit K",
        lambda dataset: dataset.assign(TEMP=(dataset["TEMP"] + 273.15).assign_attrs(dataset["TEMP"].attrs)),
    ),
    cf(
        "a fill value that is not declared",
        r"TEMP: expected temperature between -5 and 60, got 1e\+35; check",
        with_value("TEMP", (1, 1), 1e35),
    ),
    cf(
        "infinity",
        r"TEMP: expected finite values or gaps, got inf",
        with_value("TEMP", (1, 1), np.inf),
    ),
    cf(
        "temperature of text",
        r"TEMP: expected numbers, got type",
        lambda dataset: dataset.assign(TEMP=dataset["TEMP"].astype(str).assign_attrs(units="degC")),
    ),
    cf(
        "a map of columns",
        r"TEMP: expected the dimensions \('TIME', 'DEPTH'\), got \('station', 'TIME', 'DEPTH'\)",
        lambda dataset: dataset.assign(
            TEMP=dataset["TEMP"].expand_dims(station=2).assign_attrs(dataset["TEMP"].attrs)
        ),
    ),
    cf(
        "no vertical dimension",
        r"TEMP: expected one vertical coordinate among the dimensions \('TIME',\)",
        lambda dataset: dataset.assign(
            TEMP=dataset["TEMP"].isel(DEPTH=0, drop=True).assign_attrs(dataset["TEMP"].attrs)
        ),
    ),
    cf("a wrong time axis", r"hours: expected a variable for the time axis", time="hours"),
    cf("depth as time axis", r"surface_heat_flux: expected one of the dimensions", time="surface_heat_flux"),
    cf(
        "times that go back",
        r"TIME: .* got 2010-06-01T06:57:36 \(record 2\) after 2010-06-01T07:55:12 \(record 1\)",
        with_coordinate("TIME", [0.0, 0.08, 0.04, 0.12]),
    ),
    cf(
        "NaN among the times",
        r"TIME: expected finite values, got nan in record 3",
        with_coordinate("TIME", [0.0, 0.04, 0.08, np.nan]),
    ),
    cf(
        "times without a unit",
        r"TIME: expected an attribute 'units', got none; give the unit of time",
        with_attribute("TIME", "units", None),
    ),
    cf(
        "times in months",
        r"TIME: expected a unit such as .* got 'months since 2010-06-01'",
        with_attribute("TIME", "units", "months since 2010-06-01"),
    ),
    cf(
        "a calendar of 360 days",
        r"TIME: expected a unit such as .* standard calendar, got .*'360_day'",
        with_attribute("TIME", "calendar", "360_day"),
    ),
    cf(
        "depths that do not say so",
        r"DEPTH: expected heights of at most 0 m, .* got 2 to 14; say 'positive: down'",
        with_attribute("DEPTH", "positive", None),
    ),
    cf("depths called heights", r"DEPTH: expected levels at or below the surface, got 14 m", positive="up"),
    cf(
        "pressure as vertical axis",
        r"DEPTH: expected a unit that converts to m, got 'dbar'",
        with_attribute("DEPTH", "units", "dbar"),
    ),
    cf(
        "levels in disorder",
        r"DEPTH: expected values that increase",
        with_coordinate("DEPTH", [2.0, 10.0, 6.0, 14.0]),
    ),
    cf(
        "two levels",
        r"DEPTH: expected at least 3 levels, got 2",
        lambda dataset: dataset.isel(DEPTH=slice(2)),
    ),
    cf("a bottom above the levels", r"DEPTH: expected cells of positive thickness", depth=9.0),
    cf(
        "no complete profile",
        r"TEMP: expected at least one profile without gaps, .* got at most 3 of 4 levels",
        with_value("TEMP", (slice(None), 2), np.nan),
    ),
    cf("a start after the end", r"TEMP: expected at least one profile", start="2011-01-01"),
    cf("a start that is no date", r"mapping\.start: expected an ISO 8601 time", start="tomorrow"),
    cf(
        "one profile and no duration",
        r"TIME: expected a complete profile and later ones, got only 2010-06-01T06:00:00",
        lambda dataset: dataset.drop_vars("surface_stress_u").isel(TIME=[0]),
    ),
    cf(
        "no forcing",
        r"surface fluxes: expected variables such as surface_stress_u.* 0.0 is no flux",
        without("surface_stress_u", "surface_heat_flux"),
    ),
    cf(
        "a gap in the forcing",
        r"surface_stress_u: expected forcing without gaps, got nan at 2010-06-01T08:00:00 \(record 2\)",
        with_value("surface_stress_u", 2, np.nan),
    ),
    cf(
        "a wrong name of a flux",
        r"taux: expected a variable for stress_u, got only",
        fluxes={"stress_u": "taux"},
    ),
    cf(
        "a stress in W m-2",
        r"surface_stress_u: expected a unit that converts to N m-2, got 'W m-2'",
        with_attribute("surface_stress_u", "units", "W m-2"),
    ),
    cf(
        "a stress of 1000 N m-2",
        r"surface_stress_u: expected stress_u between -50 and 50, got 1000",
        with_value("surface_stress_u", 1, 1000.0),
    ),
    cf(
        "a flux of two dimensions",
        r"TEMP: expected time as its only dimension, got \('TIME', 'DEPTH'\)",
        fluxes={"heat_flux": "TEMP"},
    ),
    cf("no latitude", r"latitude: expected a latitude of -90 to 90 .* got none", without_latitude),
    cf(
        "a latitude of 120 degrees",
        r"latitude: expected a latitude .* got 120",
        lambda dataset: dataset.assign_attrs(latitude=120.0),
    ),
    cf(
        "a latitude in words",
        r"attribute latitude: expected a number, got '45 N'",
        lambda dataset: dataset.assign_attrs(latitude="45 N"),
    ),
    Broken(
        "CF: forcing file that does not exist",
        cf("", "").write,
        lambda path: read_cf_netcdf(path, Mapping(forcing_file="weather.nc")),
        r"weather\.nc: expected an existing file",
        FileNotFoundError,
    ),
    Broken(
        "Legay: truncated",
        cut(lambda folder: small_file(folder / "legay.nc"), 0.9),
        read_legay,
        r"legay\.nc: file: expected at least \d+ bytes, got \d+; it is truncated",
    ),
    Broken(
        "Legay: truncated in its header",
        cut(lambda folder: small_file(folder / "legay.nc"), 0.1),
        read_legay,
        r"legay\.nc: file: expected at least \d+ bytes, got \d+; it is truncated",
    ),
    Broken(
        "Legay: no velocity",
        legay(lambda dataset: dataset.drop_vars("u")),
        read_legay,
        r"legay\.nc: u: expected a variable of shape \(t, z\) = \(3, 5\), got none",
    ),
    Broken(
        "Legay: axes swapped",
        legay(lambda dataset: dataset.transpose("z", "t")),
        read_legay,
        r"legay\.nc: b: expected a variable of shape \(t, z\) = \(3, 5\), got \(5, 3\)",
    ),
    Broken(
        "Legay: NaN",
        legay(lambda dataset: dataset.where(dataset["b"] < -1e-5)),
        read_legay,
        r"legay\.nc: .*: expected finite values, got nan",
    ),
    Broken(
        "Legay: uppermost level first",
        legay(lambda dataset: dataset.isel(z=slice(None, None, -1))),
        read_legay,
        r"legay\.nc: z: expected values that increase",
    ),
    Broken(
        "another file as trajectory",
        with_trajectory_file,
        read_trajectory,
        r"run\.nc: attribute closure_state: expected the name of a class",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_broken_file(broken, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = broken.write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(broken.error, match=broken.message) as caught:
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
