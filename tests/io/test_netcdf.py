"""The door through which NetCDF files are read: missing values, packing, parts, and where errors are."""

import zipfile

import netCDF4
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.io import FileFormatError
from tunax_lite.io.netcdf import read_netcdf
from tunax_lite.io.variables import find_variable, in_unit, on_axes, variable_named, variables_of


@pytest.fixture
def path(tmp_path):
    with netCDF4.Dataset(tmp_path / "file.nc", "w") as file:
        file.title = "a file"
        file.createDimension("time", 4)
        file.createDimension("place", 1)
        packed = file.createVariable("packed", "i2", ("time",), fill_value=-99)
        packed.set_auto_maskandscale(False)
        packed.setncatts({"scale_factor": 0.5, "add_offset": 10.0, "units": "degC"})
        packed[:] = [2, -99, 4, 6]
        odd = file.createVariable("odd", "f4", ("time", "place"))
        odd.setncatts({"FillValue_": 1e35, "valid_min": np.float32(0.0), "units": "m"})
        odd[:] = np.array([[1e35], [-1.0], [2.0], [3.0]], dtype="f4")
        file.createVariable("unwritten", "f8", ("time",))
        file.createVariable("steps", "i8", ("time",))[:] = [1, 2, 3, 4]
        small = file.createVariable("small", "i1", ("time",))
        small.set_auto_maskandscale(False)
        small._Unsigned = "true"
        small[:] = np.array([-1, 0, 1, 2], dtype="i1")
        file.createVariable("flags", "S1", ("time",))[:] = np.array(list("1249"), dtype="S1")
    return tmp_path / "file.nc"


def test_missing_values_are_nan_and_packed_ones_unpacked(path):
    file = read_netcdf(path)
    np.testing.assert_array_equal(file["packed"].values, [11.0, np.nan, 12.0, 13.0])
    assert file["packed"].attrs == {"units": "degC"}
    np.testing.assert_array_equal(file["odd"].values[:, 0], [np.nan, np.nan, 2.0, 3.0])  # -1 is out of range
    assert np.isnan(file["unwritten"].values).all()
    assert file["steps"].values.dtype == np.int64
    np.testing.assert_array_equal(file["small"].values, [255, 0, 1, 2])
    assert b"".join(file["flags"].values) == b"1249"
    assert file.attrs == {"title": "a file"}


def test_parts_of_a_file(path):
    file = read_netcdf(path, only=("steps", "odd"), at={"time": [1, 3]})
    assert set(file.variables) == {"steps", "odd"}
    np.testing.assert_array_equal(file["steps"].values, [2, 4])
    every = read_netcdf(path, at={"time": slice(None, None, 3)})
    np.testing.assert_array_equal(every["steps"].values, [1, 4])


def test_variables_that_are_not_as_expected(path):
    file = read_netcdf(path)
    assert on_axes(file["odd"], ("place", "time"), "choose one place").shape == (1, 4)
    assert find_variable(file, "salinity", ("PSAL",), (), "choose") is None
    for call, message in (
        (lambda: on_axes(file["odd"], ("place",), "choose one place"), "file.nc odd place time"),
        (lambda: variable_named(file, "PSAL", "salinity", "correct its name"), "PSAL salinity packed odd"),
        (lambda: in_unit(file["flags"], "z", "m"), "flags S1"),
        (lambda: in_unit(file["steps"], "z", None), "steps units z"),
    ):
        with error_naming(FileFormatError, message):
            call()


def test_other_kinds_of_files_under_the_name(tmp_path):
    path = tmp_path / "e.nc"
    for start, named in (
        (b"\x1f\x8b\x08", "gzip gunzip"),
        (b"GRIB\x00\x00", "GRIB grib_to_netcdf"),
        (b"\n<!DOCTYPE html><html>", "web"),
    ):
        path.write_bytes(start)
        with error_naming(FileFormatError, f"e.nc NetCDF {named}"):
            read_netcdf(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("instant.nc", b"CDF")
    with error_naming(FileFormatError, "e.nc zip unzip"):
        read_netcdf(path)


def test_variables_keep_their_order_and_scalars_may_have_names_of_dimensions(path):
    with netCDF4.Dataset(path, "a") as file:
        file.createVariable("place", "f8", ())[:] = 5.0
        file.createVariable("time", "f8", ("time",))[:] = range(4)
        file.createVariable("last", "f8", ("time",))[:] = 0.0
    file = read_netcdf(path)
    assert [one.name for one in variables_of(file)][-3:] == ["place", "time", "last"]
    assert file["place"].dims == ("place",) and file["place"].item() == 5.0
