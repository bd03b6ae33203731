"""Moorings in the format of OceanSITES, each trap of the format once."""

import datetime
from typing import Any

import gsw
import netCDF4
import numpy as np
import xarray as xr

from tests.errors import error_naming
from tunax_lite.io import FileFormatError, read_oceansites
from tunax_lite.io.oceansites import open_oceansites

DEPTHS = np.array([1.0, 10.0, 40.0])
PRESSURES = gsw.p_from_z(-DEPTHS, 50.1)
START = "2010-06-01T00:00:00"
FIRST_DAY = (datetime.date(2010, 6, 1) - datetime.date(1950, 1, 1)).days
HOURS = 0.5 + np.arange(4.0)  # hourly means, stamped in the middle
TEMPERATURE = 12.0 - 0.1 * DEPTHS + 0.25 * np.arange(4.0)[:, None]
SALINITY = 32.5 + 0.01 * DEPTHS + 0.0 * np.arange(4.0)[:, None]


def write(
    path, name="TEMP", values=TEMPERATURE, flags=None, *, depths=DEPTHS, hours=HOURS, **attributes: Any
):
    """A file with the layout of the format manual: everything over TIME, DEPTH, LATITUDE, LONGITUDE."""
    dims = ("TIME", "DEPTH", "LATITUDE", "LONGITUDE")
    kind, unit = {"TEMP": ("temperature", "degree_Celsius"), "PSAL": ("practical_salinity", "1")}[name]
    attributes = {"standard_name": f"sea_water_{kind}", "units": unit} | attributes
    of_time = {"standard_name": "time", "units": "days since 1950-01-01T00:00:00Z", "axis": "T"}
    of_depth = {"standard_name": "depth", "units": "meters", "positive": "down", "axis": "Z"}
    dataset = xr.Dataset(
        {name: (dims, np.asarray(values, "f4")[:, :, None, None], attributes)},
        {
            "TIME": ("TIME", FIRST_DAY + np.asarray(hours) / 24.0, of_time),
            "DEPTH": ("DEPTH", np.asarray(depths, "f4"), of_depth),
            "LATITUDE": ("LATITUDE", [50.1]),
            "LONGITUDE": ("LONGITUDE", [-144.9]),
        },
    )
    if flags is not None:
        dataset[f"{name}_QC"] = (dims, np.asarray(flags)[:, :, None, None])
    dataset.to_netcdf(path, unlimited_dims=["TIME"], encoding={name: {"_FillValue": np.float32(1e35)}})
    return path


def read(path, conservative=False, **options: Any):
    return read_oceansites(path, start_time=START, conservative=conservative, **options)


def test_depths_become_heights_and_means_keep_the_middle_of_their_hour(tmp_path):
    found = read(write(tmp_path / "t.nc"))
    np.testing.assert_array_equal(found.z, [-40.0, -10.0, -1.0])
    np.testing.assert_allclose(found.time, 3600.0 * HOURS)
    np.testing.assert_allclose(found.profiles["temperature"], TEMPERATURE[:, ::-1], rtol=1e-6)


def test_only_values_with_a_good_flag_are_kept(tmp_path):
    flags = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 1, 1]])
    values = np.where(flags == 4, 280.0, TEMPERATURE)  # what is flagged may be nonsense
    expected = np.where(np.isin(flags, (1, 2, 5, 8)), TEMPERATURE, np.nan)
    for shown in (flags.astype("i1"), flags.astype("S1")):
        found = read(write(tmp_path / "t.nc", values=values, flags=shown)).profiles["temperature"]
        np.testing.assert_allclose(found, expected[:, ::-1], rtol=1e-6)
    path = write(tmp_path / "unchecked.nc", flags=np.zeros((4, 3), "i1"))
    with error_naming(FileFormatError, "unchecked.nc TEMP_QC 12 good_flags"):
        read(path)
    assert np.isfinite(read(path, good_flags=(0, 1)).profiles["temperature"]).all()


def test_temperature_and_salinity_apart_become_those_of_the_column(tmp_path):
    upper = DEPTHS[[0, 2]]
    files = [
        write(tmp_path / "t.nc"),
        write(tmp_path / "s.nc", "PSAL", SALINITY[:3, [0, 2]], depths=upper, hours=HOURS[:3] + 1e-7),
    ]
    found = read(files, conservative=True)
    # The instrument at 10 m measures no salinity: that of its neighbours, linear in height.
    salinity = SALINITY.astype("f4")
    absolute = gsw.SA_from_SP(salinity, PRESSURES, -144.9, 50.1)
    expected = gsw.CT_from_t(absolute, TEMPERATURE.astype("f4"), PRESSURES)
    np.testing.assert_allclose(found.profiles["temperature"], expected[:, ::-1], atol=1e-6)
    measured = found.profiles["salinity"]
    np.testing.assert_allclose(measured[:3, [2, 0]], absolute[:3, [0, 2]], atol=1e-5)
    assert np.isnan(measured[:, 1]).all() and np.isnan(measured[3]).all()


def test_one_year_after_the_other_and_contradictions(tmp_path):
    first = write(tmp_path / "a.nc", values=TEMPERATURE[:2], hours=HOURS[:2])
    second = write(tmp_path / "b.nc", values=TEMPERATURE[2:], hours=HOURS[2:])
    np.testing.assert_allclose(read([second, first]).time, 3600.0 * HOURS)
    other = write(tmp_path / "c.nc", values=TEMPERATURE[1:] + 0.5, hours=HOURS[1:])
    with error_naming(FileFormatError, "c.nc temperature 2010-06-01T01:30:00 -40"):
        read([first, other])


def test_files_that_cannot_be_right(tmp_path):
    written: Any
    options: Any
    for number, (written, options, message) in enumerate(
        (
            ({"values": TEMPERATURE + 273.15}, {}, "TEMP temperature 281.15 2010-06-01T00:30:00 K"),
            ({"hours": [0.5, 1.5, 1.5, 3.5]}, {}, "TIME 2010-06-01T01:30:00 2 1"),
            ({"depths": [-1.0, -10.0, -40.0]}, {}, "DEPTH positive 40"),
            ({}, {"units": {"temperature": "Pa"}}, "TEMP degC Pa"),
        )
    ):
        path = write(tmp_path / f"{number}.nc", **written)
        with error_naming(FileFormatError, f"{number}.nc {message}"):
            read(path, **options)


def test_nothing_to_read(tmp_path):
    path = write(tmp_path / "t.nc", standard_name="x")
    with netCDF4.Dataset(path, "a") as file:
        file.renameVariable("TEMP", "AIRT")
    with error_naming(FileFormatError, "TEMP PSAL UCUR VCUR AIRT"):
        read(path)
    assert np.isfinite(read(path, variables={"temperature": "AIRT"}).profiles["temperature"]).all()


def test_a_single_cast_in_a_table_has_fixed_heights(tmp_path):
    lines = ["2012-06-10,0,10.0", "2012-06-10,20,9.5", "2012-06-10,40,nan", "2012-06-10,60,9.0"]
    (tmp_path / "cast.csv").write_text("\n".join(["time,depth [m],TEMP [degC]", *lines]))
    found = read_oceansites(tmp_path / "cast.csv", start_time="2012-06-10", conservative=False)
    np.testing.assert_array_equal(found.z, [-60.0, -20.0, 0.0])
    np.testing.assert_array_equal(found.profiles["temperature"], [[9.0, 9.5, 10.0]])


def test_repeated_values_keep_the_kind_of_their_temperature():
    about = {"units": "degC", "standard_name": "sea_water_potential_temperature"}
    time = {"units": "days since 2020-01-01", "axis": "T"}
    columns = {"TEMP": ([9.0, 10.0, 11.0], about), "TIME": ([0.0, 0.0, 1.0], time)}
    columns["index"] = [0, 0, 0], {"instance_dimension": "INSTRUMENT"}
    file = xr.Dataset({name: ("OBSERVATION", *column) for name, column in columns.items()})
    file["NOMINAL_DEPTH"] = "INSTRUMENT", [5.0], {"units": "m", "positive": "down"}
    assert "potential_temperature" in open_oceansites(file)
