"""Moorings in the layouts of OceanSITES, IMOS and Copernicus, as files and as datasets of xarray."""

from typing import Any

import gsw
import numpy as np
import xarray as xr

from tests.errors import error_naming, missing_from, notes_in
from tunax_lite.io import FileFormatError, read_oceansites

START = "2018-12-13"
N = 6
HOURS = np.arange(N)
TEMPERATURE = 18.0 + 0.25 * HOURS
DAYS = 25183.0 + HOURS / 24.0  # since 1950
IN_SITU = {"standard_name": "sea_water_temperature", "units": "degrees_Celsius"}
SALT = {"standard_name": "sea_water_practical_salinity", "units": "1"}
OF_TIME = {"standard_name": "time", "units": "days since 1950-01-01 00:00:00 UTC", "calendar": "gregorian"}
OF_DEPTH = {"standard_name": "depth", "units": "m", "positive": "down"}
PLACE = {
    "LATITUDE": ((), -32.0, {"standard_name": "latitude"}),
    "LONGITUDE": ((), 115.4, {"standard_name": "longitude"}),
}


def instrument(**changed: Any) -> xr.Dataset:
    """One instrument whose depth moves around 27 m, at 29 m on the mean."""
    variables: dict[str, Any] = {
        "TIME": ("TIME", DAYS, OF_TIME),
        "TEMP": ("TIME", TEMPERATURE, IN_SITU | {"ancillary_variables": "TEMP_quality_control"}),
        "TEMP_quality_control": ("TIME", np.array([1, 1, 4, 1, 1, 2], "i1"), {}),
        "DEPTH": ("TIME", np.array([29.0, 28.5, 29.0, np.nan, 30.0, 31.0]), OF_DEPTH),
        "DEPTH_quality_control": ("TIME", np.array([1, 1, 1, 1, 4, 1], "i1"), {}),
        "NOMINAL_DEPTH": ((), 27.0, OF_DEPTH),
        **PLACE,
    }
    return xr.Dataset({name: one for name, one in (variables | changed).items() if one is not None})


def read(dataset, **options: Any):
    return read_oceansites(dataset, **{"start_time": START, "conservative": False, **options})


def test_an_instrument_whose_depth_moves():
    good = [0, 1, 3, 4, 5]
    nominal = read(instrument())
    np.testing.assert_array_equal(nominal.z, [-27.0])
    np.testing.assert_allclose(nominal.time, 3600.0 * HOURS[good])
    np.testing.assert_allclose(nominal.profiles["temperature"][:, 0], TEMPERATURE[good])
    assert nominal.rejected == {"temperature": 1}
    moved = read(instrument(), depths="measured")
    # A depth that is missing or flagged as bad is none.
    np.testing.assert_allclose(moved.time, 3600.0 * HOURS[[0, 1, 5]])
    np.testing.assert_allclose(moved.z, [[-29.0], [-28.5], [-31.0]])


def test_instruments_at_given_depths_that_measure_others(recwarn):
    pressure = np.stack([gsw.p_from_z(-10.0 - HOURS, -32.0), np.full(N, np.nan), np.full(N, np.nan)], axis=1)
    pressure[:, 2] = gsw.p_from_z(-50.0 - 3.0 * HOURS, -32.0)
    both = ("TIME", "DEPTH")
    water = {"TEMP": (both, np.stack([TEMPERATURE] * 3, axis=1), IN_SITU), "TIME": ("TIME", DAYS, OF_TIME)}
    water |= {"PRES": (both, pressure, {"standard_name": "sea_water_pressure", "units": "dbar"}), **PLACE}
    mooring = xr.Dataset(water, {"DEPTH": ("DEPTH", [10.0, 30.0, 50.0], OF_DEPTH)})
    read(mooring)
    assert not missing_from(notes_in(recwarn)[0], "TEMP 15 depths")
    moved = read(mooring, depths="measured")
    # The middle one has no sensor of pressure.
    assert not missing_from(notes_in(recwarn)[0], f"TEMP {N} {3 * N} no good depth")
    np.testing.assert_allclose(moved.z, -np.stack([50.0 + 3.0 * HOURS, 10.0 + HOURS], axis=1), atol=1e-6)
    read(mooring.drop_vars("PRES"), depths="measured")
    assert not missing_from(notes_in(recwarn)[0], "TEMP depths nominal")


def test_without_a_nominal_depth_the_median_or_as_measured():
    fixed = read(instrument(NOMINAL_DEPTH=None))
    np.testing.assert_allclose(fixed.z, [-29.0])  # of 28.5, 29, 29 and 31
    depth = ("TIME", np.linspace(10.0, 60.0, N), OF_DEPTH)
    profiler = read(instrument(NOMINAL_DEPTH=None, DEPTH=depth, DEPTH_quality_control=None))
    assert profiler.moves and float(profiler.z[-1, 0]) == -60.0
    absent = {"NOMINAL_DEPTH": None, "DEPTH": None, "DEPTH_quality_control": None}
    with error_naming(FileFormatError, "TEMP DEPTH TIME depths"):
        read(instrument(**absent))
    np.testing.assert_array_equal(read(instrument(**absent), depths=43.0).z, [-43.0])
    stated = instrument(**absent).assign_attrs(geospatial_vertical_min=44.0, geospatial_vertical_max="46")
    np.testing.assert_array_equal(read(stated).z, [-45.0])
    pressure = ("TIME", np.full(N, 30.0), {"standard_name": "sea_water_pressure", "units": "decibar"})
    of_pressure = read(instrument(**absent, PRES=pressure))
    np.testing.assert_allclose(of_pressure.z, [gsw.z_from_p(30.0, -32.0)])
    with error_naming(ValueError, "depths nominal measured deep"):
        read(instrument(), depths="deep")


def current_meter() -> xr.Dataset:
    """Four cells above a sensor at 44 m, the uppermost above the water."""
    speed = 0.1 * np.arange(4.0) + 0.01 * HOURS[:, None]
    attributes = {"standard_name": "eastward_sea_water_velocity", "units": "m s-1"}
    relative = {"standard_name": "height", "units": "m", "positive": "up", "reference_datum": "sensor"}
    return instrument(
        HEIGHT_ABOVE_SENSOR=("HEIGHT_ABOVE_SENSOR", np.array([10.0, 20.0, 30.0, 50.0]), relative),
        UCUR=(("TIME", "HEIGHT_ABOVE_SENSOR", "STATION"), speed[:, :, None], attributes),
        DEPTH=("TIME", 43.0 + 0.1 * HOURS, OF_DEPTH),
        DEPTH_quality_control=None,
        NOMINAL_DEPTH=((), 44.0, OF_DEPTH),
    )


def test_cells_above_a_sensor():
    found = read(current_meter())
    np.testing.assert_allclose(found.z, [-44.0, -34.0, -24.0, -14.0])
    np.testing.assert_allclose(found.profiles["u"][2, 1:], 0.02 + 0.1 * np.arange(3.0))
    np.testing.assert_allclose(found.profiles["temperature"][0], [18.0, np.nan, np.nan, np.nan])
    moved = read(current_meter(), depths="measured")
    np.testing.assert_allclose(moved.z[2, :3], [-33.2, -23.2, -13.2])
    np.testing.assert_allclose(moved.profiles["u"][2, :3], 0.02 + 0.1 * np.arange(3.0))


def aggregated(time, index, depth) -> xr.Dataset:
    """Values of two instruments one after the other, with the number of each."""
    return xr.Dataset(
        {
            "TEMP": ("OBSERVATION", 18.0 + np.arange(10.0), IN_SITU),
            "TEMP_max": ("OBSERVATION", 30.0 + np.arange(10.0), IN_SITU | {"cell_methods": "TIME: maximum"}),
            "DEPTH": ("OBSERVATION", depth, OF_DEPTH),
            "TIME": ("OBSERVATION", time, OF_TIME),
            "instrument_index": ("OBSERVATION", index, {"instance_dimension": "INSTRUMENT"}),
            "NOMINAL_DEPTH": ("INSTRUMENT", [23.0, 55.0], OF_DEPTH),
            **{name: ("INSTRUMENT", np.full(2, one[1]), one[2]) for name, one in PLACE.items()},
        }
    )


def test_instruments_one_after_the_other():
    index = np.repeat([0, 1], [N, 4])
    two = aggregated(np.append(DAYS, DAYS[:4]), index, np.where(index == 0, 22.5, 54.0))
    found = read(two)
    np.testing.assert_array_equal(found.z, [-55.0, -23.0])
    expected = np.array([[24.0, 25.0, 26.0, 27.0, np.nan, np.nan], 18.0 + np.arange(6.0)]).T
    np.testing.assert_allclose(found.profiles["temperature"], expected)
    contiguous = two.drop_vars("instrument_index")
    contiguous["row_size"] = ("INSTRUMENT", [6, 4], {"sample_dimension": "OBSERVATION"})
    np.testing.assert_allclose(read(contiguous).profiles["temperature"], expected)
    np.testing.assert_allclose(read(two, depths="measured").z[0], [-54.0, -22.5])
    # Several depths of one instrument at one time: the nominal one is that of none of them.
    cells = read(aggregated(np.repeat(DAYS[:5], 2), np.zeros(10, int), np.tile([20.0, 30.0], 5)))
    assert cells.moves and cells.z.shape == (5, 2)
    np.testing.assert_allclose(cells.profiles["temperature"][1], [21.0, 20.0])


def test_of_several_resolutions_that_of_most_quantities():
    dataset = instrument(TIME_HR=("TIME_HR", DAYS[::2], OF_TIME), TIME_DY=("TIME_DY", DAYS[:1], OF_TIME))
    for end, n, temperature in (("HR", 3, 19.0), ("DY", 1, 20.0)):
        dataset[f"TEMP_{end}"] = (f"TIME_{end}", np.full(n, temperature), IN_SITU)
        dataset[f"PSAL_{end}"] = (f"TIME_{end}", np.full(n, temperature + 15.0), SALT)
    found = read(dataset)
    assert found.time.shape == (3,) and float(found.profiles["salinity"][0, 0]) == 34.0
    assert float(found.profiles["temperature"][0, 0]) == 19.0
    fine = read(dataset, variables={"temperature": "TEMP", "salinity": None})
    assert fine.time.shape == (5,) and set(fine.profiles) == {"temperature"}


def test_levels_of_copernicus_whose_depth_is_given_at_each_time():
    depth = np.tile([1.0, 10.0], (N, 1))
    depth[2, 1] = np.nan
    flags = np.array([[1, 1]] * (N - 1) + [[4, 9]], "i1")
    levels = ("TIME", "DEPTH")
    dataset = xr.Dataset(
        {
            "TIME": ("TIME", DAYS, OF_TIME),
            "TEMP": (levels, TEMPERATURE[:, None] - [0.0, 1.0], IN_SITU),
            "TEMP_QC": (levels, flags, {}),
            "DEPH": (levels, depth, OF_DEPTH),
            "DEPH_QC": (levels, np.full((N, 2), 7, "i1"), {}),
            "LATITUDE": ("LATITUDE", np.full(N, 50.0)),
            "LONGITUDE": ("LONGITUDE", np.full(N, -145.0)),
        }
    )
    for source in (dataset, dataset.transpose("DEPTH", ...)):
        found = read(source)
        np.testing.assert_array_equal(found.z, [-10.0, -1.0])
        expected = (TEMPERATURE[:, None] - [1.0, 0.0])[: N - 1]
        np.testing.assert_allclose(found.profiles["temperature"], expected, atol=1e-6)
        assert found.rejected == {"temperature": 2}
    measured = read(dataset, depths="measured", conservative=True, salinity=([-20.0, 0.0], [35.0, 33.0]))
    assert np.isnan(measured.z[2, 1]) and set(measured.profiles) == {"temperature"}
    pressure = gsw.p_from_z(-10.0, 50.0)
    absolute = gsw.SA_from_SP(34.0, pressure, -145.0, 50.0)
    expected = gsw.CT_from_t(absolute, TEMPERATURE[0] - 1.0, pressure)
    np.testing.assert_allclose(measured.profiles["temperature"][0, 0], expected, atol=1e-9)


def test_other_names_and_units():
    without = {"NOMINAL_DEPTH": None, "DEPTH": None}
    as_adjusted = ("TIME", TEMPERATURE, IN_SITU)
    for changed in (
        {"TEMP": None, "sea_temp": ("TIME", TEMPERATURE, IN_SITU | {"units": "deg C"})},
        {"TEMP": None, "T_20": ("TIME", TEMPERATURE, {"units": "C"})},
        {"TEMP": None, "Sea_Water_Temperature": ("TIME", TEMPERATURE + 273.15, {"units": "Kelvin"})},
        {"TEMP": ("TIME", TEMPERATURE, IN_SITU | {"sensor_depth": 27.0}), **without},
        {"DEPTH": ((), 27.0, {"standard_name": "depth"}), "NOMINAL_DEPTH": None},
        {"NOMINAL_DEPTH": ((), -27.0, OF_DEPTH | {"positive": "up"})},
        {"TEMP": ("TIME", 0.0 * TEMPERATURE, IN_SITU), "TEMP_ADJUSTED": as_adjusted},
        {"LATITUDE": ("TIME", np.full(N, -32.0)), "LONGITUDE": ("TIME", np.full(N, 115.4))},
    ):
        found = read(instrument(TEMP_quality_control=None, DEPTH_quality_control=None, **changed))
        np.testing.assert_allclose(found.z, [-27.0])
        np.testing.assert_allclose(found.time, 3600.0 * HOURS, atol=0.5)
        np.testing.assert_allclose(found.profiles["temperature"][:, 0], TEMPERATURE)


def test_pressure_in_place_of_depth():
    values = TEMPERATURE[:, None] - [0.0, 1.0]
    of_pressure = {"standard_name": "sea_water_pressure", "units": "decibar"}
    pressure, dims = np.array([5.0, 50.0]), ("TIME", "PRES")
    dataset = xr.Dataset(
        {"TEMP": (dims, values, IN_SITU), "PRES": ("PRES", pressure, of_pressure)},
        {"TIME": ("TIME", DAYS, OF_TIME)},
        {"geospatial_lat_min": "50.1", "geospatial_lon_min": -145.0},
    )
    z = gsw.z_from_p(pressure[::-1], 50.1)
    np.testing.assert_allclose(read(dataset).z, z)
    of_each = dataset.rename_dims(PRES="LEVEL").drop_vars("PRES")
    of_each["PRES"] = (("TIME", "LEVEL"), np.tile(pressure, (N, 1)), {"units": "dbar"})
    np.testing.assert_allclose(read(of_each).z, z)
    # That of IMOS includes the air.
    total = dataset.assign_attrs(Conventions="CF-1.6,IMOS-1.4")
    total["PRES"] = ("PRES", pressure + 10.1325, of_pressure)
    np.testing.assert_allclose(read(total).z, z)
    np.testing.assert_allclose(
        read(dataset, position=(0.0, 0.0), conservative=True, salinity=35.0).profiles["temperature"][0, 1],
        gsw.CT_from_t(gsw.SA_from_SP(35.0, 5.0, -145.0, 50.1), TEMPERATURE[0], 4.96),
        atol=1e-5,
    )


def test_flags_under_other_names_or_with_another_meaning():
    for name in ("temp_qc", "TEMP_FLAG", "TEMP_qc_flag", "QT_5020"):
        flags = ("TIME", np.array([1, 1, 4, 1, 3, 1]), {})
        dataset = instrument(TEMP_quality_control=None, **{name: flags})
        dataset = dataset.rename(TEMP="T_20") if name == "QT_5020" else dataset
        assert read(dataset).rejected == {"temperature": 2}, name
    said = {"flag_values": [1, 4, 5], "flag_meanings": "highest_quality lower_quality sensor_failed"}
    flags = ("TIME", np.array([1, 1, 4, 1, 5, 1]), said)
    assert read(instrument(TEMP_quality_control=flags)).rejected == {"temperature": 2}
    # Numbers that mean the opposite, in a variable whose attributes alone say what it is.
    checked = ("TIME", np.array([0, 1, 0, 0, 1, 0]), {"flag_values": [0, 1], "flag_meanings": "good bad"})
    temperature = ("TIME", TEMPERATURE, IN_SITU | {"ancillary_variables": "checked"})
    found = read(instrument(TEMP=temperature, TEMP_quality_control=None, checked=checked))
    np.testing.assert_allclose(found.profiles["temperature"][:, 0], TEMPERATURE[[0, 2, 3, 5]])
    # A stamp that is flagged as bad need not be in order.
    stamps = ("TIME", np.where(HOURS == 3, 0.0, DAYS), OF_TIME)
    flags = ("TIME", np.array([1, 1, 1, 4, 1, 1], "i1"), {})
    found = read(instrument(TIME=stamps, TIME_QC=flags, TEMP_quality_control=None))
    np.testing.assert_allclose(found.time, 3600.0 * HOURS[[0, 1, 2, 4, 5]])


def test_one_profile_with_its_time_beside_it():
    dataset = xr.Dataset(
        {
            "TEMP": ("DEPTH", [10.0, 9.0], IN_SITU),
            "DEPTH": ("DEPTH", [5.0, 50.0], OF_DEPTH),
            "TIME": ((), np.datetime64("2018-12-14T00:00:00", "ns")),
        }
    )
    found = read(dataset)
    np.testing.assert_allclose(found.time, [86400.0])
    np.testing.assert_allclose(found.profiles["temperature"], [[9.0, 10.0]])


def test_files_that_cannot_be_used():
    both = {"TEMP": (("TIME", "STATION"), np.zeros((N, 2)), IN_SITU), "TEMP_quality_control": None}
    for changed, message in (
        ({"TEMP_quality_control": ("TIME", np.full(N, 4, "i1"))}, "TEMP_quality_control [4] 6"),
        ({"TIME": ("TIME", DAYS * 1e6, OF_TIME)}, "TIME 1 9999 2.5183e+10 0"),
        ({"DEPTH": ("TIME", np.full(N, -2.0), OF_DEPTH), "NOMINAL_DEPTH": None}, "TEMP 6"),
        (both, "TEMP depths TIME STATION"),
    ):
        with error_naming(FileFormatError, f"buoy 7 {message}"):
            read(instrument(DEPTH_quality_control=None, **changed).assign_attrs(title="buoy 7"))


def test_a_salinity_without_good_values_or_with_another_unit(recwarn):
    for psal, said in (
        ({"PSAL_QC": ("TIME", np.full(N, 4, "i1"))}, "PSAL_QC [4] 6"),
        ({"PSAL": ("TIME", np.full(N, np.nan), SALT)}, "PSAL 0"),
    ):
        found = read(instrument(**{"PSAL": ("TIME", np.full(N, 35.0), SALT), **psal}))
        assert set(found.profiles) == {"temperature"} and not missing_from(notes_in(recwarn)[0], said)
    found = read(instrument(PSAL=("TIME", np.full(N, 35.0), {})))
    assert float(found.profiles["salinity"][0, 0]) == 35.0
    assert not missing_from(notes_in(recwarn)[0], "PSAL practical unit units.salinity")
    with error_naming(FileFormatError, "PSAL g S salinity"):
        read(instrument(PSAL=("TIME", np.full(N, 35.0), {"units": "S m-1"})))


def test_only_what_was_measured_in_the_water(recwarn):
    times = {"time_deployment_start": "2018-12-13T01:00:00Z", "time_deployment_end": "2018-12-13T03:59:59Z"}
    found = read(instrument().assign_attrs(times))
    np.testing.assert_allclose(found.time, [3600.0, 10800.0])  # the third is flagged
    assert not missing_from(notes_in(recwarn)[0], "TEMP 3 5")
    late = times | {"time_deployment_start": "2018-12-14"}
    with error_naming(FileFormatError, "TEMP time_deployment_start time_deployment_end 5"):
        read(instrument().assign_attrs(late))


def test_decoded_by_xarray_or_not(tmp_path):
    instrument().to_netcdf(tmp_path / "one.nc", engine="netcdf4")
    expected = read(tmp_path / "one.nc")
    options: Any
    for options in ({}, {"decode_times": False}, {"decode_cf": False}):
        with xr.open_dataset(tmp_path / "one.nc", engine="netcdf4", **options) as dataset:
            found = read(dataset)
        np.testing.assert_allclose(found.time, expected.time, atol=1e-3)
        np.testing.assert_array_equal(found.profiles["temperature"], expected.profiles["temperature"])
    with error_naming(ValueError, "xarray int"):
        read(1)
