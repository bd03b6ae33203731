"""Times, means, valid ranges and stores by the conventions of NetCDF and CF, against other libraries."""

import cftime
import gsw
import netCDF4
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming, notes_in
from tests.io.test_layouts import IN_SITU, OF_DEPTH, SALT, instrument
from tests.io.test_les_netcdf import les_dataset
from tunax_lite.io import read_cf_netcdf, read_oceansites, read_weather
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.netcdf import read_netcdf
from tunax_lite.plausibility import recorded

START = "2015-01-01T00:00:00"
NAMES = {
    "UWND": (5.0, "m s-1", "eastward_wind"),
    "VWND": (1.0, "m s-1", "northward_wind"),
    "AIRT": (10.0, "degree_C", "air_temperature"),
    "RELH": (80.0, "%", "relative_humidity"),
    "ATMS": (1013.0, "hPa", "air_pressure"),
    "SW": (100.0, "W m-2", "surface_downwelling_shortwave_flux_in_air"),
    "LW": (300.0, "W m-2", "surface_downwelling_longwave_flux_in_air"),
}


def weather(path, times, units, *, bounds=None, methods=None, about=None, **changed):
    """A file of weather, with means over intervals if bounds are given; `about` adds attributes of time."""
    attributes = {"units": units, "standard_name": "time", **(about or {})}
    dataset = xr.Dataset(coords={"time": ("time", np.asarray(times, float), attributes)})
    for name, (value, unit, standard_name) in NAMES.items():
        attributes = {"units": unit, "standard_name": standard_name}
        attributes |= {} if methods is None else {"cell_methods": methods}
        dataset[name] = ("time", np.broadcast_to(changed.get(name, value), len(times)), attributes)
    if bounds is not None:
        dataset["time_bnds"] = (("time", "nv"), bounds)
        dataset["time"].attrs["bounds"] = "time_bnds"
    dataset.to_netcdf(path, encoding={name: {"_FillValue": -999.0} for name in NAMES})
    return path


ZONES = [
    ("2015-01-01 00:00:00 +02:00", -2.0), ("2015-01-01 00:00:00 +2", -2.0),
    ("2015-01-01 00:00:00 UTC+2", -2.0), ("2015-01-01 00:00 UTC +02:00", -2.0),
    ("2015-01-01 00:00:00 GMT-05:00", 5.0),
    ("2015-01-01T00:00:00UTC-6", 6.0), ("2015-01-01 00:00:00 -0330", 3.5), ("2015-01-01 00:00:00 +2.5", -2.5),
    ("2015-01-01 12:30:15.5", 12.0 + 30.0 / 60.0 + 15.5 / 3600.0), ("2015-01-01", 0.0), ("2015-1-1 6", 6.0),
    ("2015-01-01T00:00:00Z", 0.0), ("2015-01-01 00:00:00 utc", 0.0), ("2015-01-01 00:00:00.0-7:00", 7.0),
]  # fmt: skip


@pytest.mark.parametrize(("reference", "hours"), ZONES)
def test_zones_of_a_unit_of_time_are_applied(tmp_path, reference, hours):
    path = weather(tmp_path / "w.nc", np.arange(3.0), f"hours since {reference}")
    assert float(read_weather(path, start_time=START)[0].time[0]) == pytest.approx(3600.0 * hours, abs=1e-3)


NO_DATES = [
    "2015-01-01 00:00 EST",
    "2015-01-01 Europe/Rome",
    "noon",
    "2015-13-01",
    "01-06-2015",
    "0000-01-01",
]


@pytest.mark.parametrize("reference", NO_DATES)
def test_references_that_are_no_date_in_universal_time_are_refused(tmp_path, reference):
    path = weather(tmp_path / "w.nc", np.arange(3.0), f"hours since {reference}")
    with error_naming(FileFormatError, reference):
        read_weather(path, start_time=START)


@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian"])
@pytest.mark.parametrize(
    "units", ["hours since 1-1-1 00:00:0.0", "days since 1500-03-01", "days since 0001-01-01"]
)
def test_references_before_the_gregorian_calendar_are_those_of_cftime(tmp_path, units, calendar):
    first = cftime.date2num(cftime.datetime(2015, 1, 1, 6, calendar=calendar), units, calendar)
    path = weather(tmp_path / "w.nc", first + np.arange(3.0), units, about={"calendar": calendar})
    assert float(read_weather(path, start_time=START)[0].time[0]) == pytest.approx(6 * 3600.0, abs=1e-3)


DAYS = 24.0 * np.arange(10.0)
BOUNDS = np.stack([DAYS, DAYS + 24.0], axis=1)
SUN = np.where(np.arange(10) % 2 == 0, 80.0, 0.0)


def means_of(series, interval):
    """Exact means of a piecewise linear series over intervals [s] from 0 on."""
    time, values = np.asarray(series.time), np.asarray(series.values.shortwave)
    edges = np.arange(0.0, time[-1] + 1.0, interval)
    knots = np.unique(np.concatenate([time, edges]))
    on_knots = np.interp(knots, time, values)
    integral = np.append(0.0, np.cumsum(0.5 * np.diff(knots) * (on_knots[1:] + on_knots[:-1])))
    return np.diff(np.interp(edges, knots, integral)) / interval


@pytest.mark.parametrize(
    ("given", "shift"),
    [
        ({"bounds": BOUNDS, "methods": "time: mean"}, 0.0),
        ({"bounds": BOUNDS}, 24.0),  # stamped at the end
        ({"stamp": "start"}, 0.0),
        ({"stamp": "middle"}, 12.0),
        ({"stamp": "end"}, 24.0),
    ],
)
def test_means_over_days_keep_their_integral_and_cover_all_days(tmp_path, given, shift):
    stamp = given.pop("stamp", None)
    path = weather(tmp_path / "w.nc", DAYS + shift, "hours since 2015-01-01", SW=SUN, **given)
    series, _ = read_weather(path, start_time=START, stamp=stamp)
    assert (float(series.time[0]), float(series.time[-1])) == (0.0, 10 * 86400.0)
    np.testing.assert_allclose(means_of(series, 86400.0), SUN, atol=1e-4)


def test_values_at_instants_stay_as_they_are_and_means_without_bounds_get_a_note(tmp_path):
    for methods, noted in (("time: point", False), ("time: mean", True)):
        bounds = BOUNDS if methods == "time: point" else None
        given = {"bounds": bounds, "methods": methods, "SW": SUN}
        path = weather(tmp_path / "w.nc", DAYS, "hours since 2015-01-01", **given)
        with recorded() as notes:
            series, _ = read_weather(path, start_time=START)
        np.testing.assert_array_equal(np.asarray(series.values.shortwave), SUN)
        assert any("without bounds" in str(note) for note in notes) == noted


@pytest.mark.filterwarnings("ignore:WARNING. valid_max not used:UserWarning")
def test_values_outside_the_declared_range_are_missing_as_in_netcdf4(tmp_path):
    path = tmp_path / "ranges.nc"
    unsigned = {"_Unsigned": "true", "valid_range": np.array([0, -6], "i2"), "scale_factor": 0.001}
    kinds = {
        "unsigned": ("i2", unsigned),
        "packed": ("i2", {"valid_min": np.int16(-100), "valid_max": np.int16(30000), "add_offset": 5.0}),
        "floats": ("f4", {"valid_range": np.array([-2.5, 30.1], "f4")}),
        "wide": ("i2", {"valid_max": 1e9}),
        "bytes": ("i1", {"_Unsigned": "true", "valid_max": np.int8(-56)}),
    }
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 6)
        for name, (kind, attributes) in kinds.items():
            variable = file.createVariable(name, kind, ("x",), fill_value=7)
            variable.set_auto_maskandscale(False)
            variable.setncatts(attributes)
            values = np.array([0, 1, 2, 7, 30, 120]) if kind == "i1" else np.array([0, 1, -5, 7, 32, 31000])
            variable[:] = values.astype("u1").view("i1") if kind == "i1" else values.astype(kind)
        file["bytes"][4:] = np.array([-60, -50], "i1")
    found = read_netcdf(path)
    with netCDF4.Dataset(path) as file:
        for name in kinds:
            expected = np.ma.filled(file[name][:].astype(float), np.nan)
            np.testing.assert_allclose(found[name].values, expected, rtol=1e-6, err_msg=name)


def deep_water(**where) -> xr.Dataset:
    names = {
        "TEMP_quality_control": None,
        "DEPTH_quality_control": None,
        "NOMINAL_DEPTH": None,
        "DEPTH": None,
    }
    water = {"TEMP": ("TIME", np.full(6, 1.5), IN_SITU), "PSAL": ("TIME", np.full(6, 34.68), SALT)}
    return instrument(**(names | water | where))


def test_a_range_that_excludes_everything_is_named():
    simulation = les_dataset()
    simulation["temperature"].attrs["valid_range"] = np.array([100.0, 200.0])
    with error_naming(FileFormatError, "temperature valid_range"):
        read_cf_netcdf(simulation)


def test_water_at_depth_is_converted_at_its_true_pressure():
    """gsw at the measured pressure, and at that of 6 000 m: 16 mK from that at one decibar per metre."""
    of_pressure = {"standard_name": "sea_water_pressure_due_to_sea_water", "units": "decibar"}
    for pressure, where, depths in (
        (5000.0, {"PRES": ("TIME", np.full(6, 5000.0), of_pressure)}, "measured"),
        (gsw.p_from_z(-6000.0, -32.0), {"NOMINAL_DEPTH": ((), 6000.0, OF_DEPTH)}, "nominal"),
    ):
        found = read_oceansites(deep_water(**where), start_time="2018-12-13", depths=depths)
        absolute = gsw.SA_from_SP(34.68, pressure, 115.4, -32.0)
        expected = gsw.CT_from_t(absolute, 1.5, pressure)
        np.testing.assert_allclose(np.ravel(found.profiles["temperature"]), expected, atol=1e-9)
        np.testing.assert_allclose(np.ravel(found.profiles["salinity"]), absolute, atol=1e-9)


def test_a_start_that_moves_to_the_first_complete_profile_is_noted(recwarn):
    dataset = les_dataset()
    dataset["temperature"] = dataset["temperature"].where(dataset["time"] + dataset["z"] > dataset["z"][0])
    case, _ = read_cf_netcdf(dataset)
    assert case.start_time == "2000-01-01 00:15:00"
    assert any("2000-01-01T00:15:00" in note and "temperature" in note for note in notes_in(recwarn))


def test_a_simulation_is_read_from_zarr_as_from_netcdf(tmp_path):
    dataset = les_dataset()
    dataset.to_netcdf(tmp_path / "run.nc")
    dataset.to_zarr(tmp_path / "run.zarr", consolidated=False)
    (case, observed), (other, others) = (read_cf_netcdf(tmp_path / f"run.{end}") for end in ("nc", "zarr"))
    assert case.start_time == other.start_time and case.duration == other.duration
    np.testing.assert_array_equal(observed.profiles["temperature"], others.profiles["temperature"])


def test_a_range_of_times_that_excludes_them_is_no_reason_to_lose_the_file(tmp_path):
    path = weather(tmp_path / "w.nc", np.arange(3.0), "hours since 2015-01-01", about={"valid_min": 1e6})
    np.testing.assert_allclose(read_weather(path, start_time=START)[0].time, 3600.0 * np.arange(3))
