"""Argo profiles in the layout of the core profile files, each trap of the format once."""

from typing import Any

import gsw
import netCDF4
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming, missing_from, notes_in
from tunax_lite._types import InputWarning
from tunax_lite.io import FileFormatError, observations_from_dataset, read_argo
from tunax_lite.io.argo import open_argo

PRESSURE = np.array([4.0, 20.0, 100.0, 500.0])
TEMPERATURE = np.array([18.0, 17.0, 12.0, 6.0])
SALINITY = np.array([35.5, 35.6, 35.2, 34.5])
LONGITUDE, LATITUDE = -30.0, 45.0
START = "2015-01-01"
FIRST_DAY = 23741.0  # 2015-01-01 in days since 1950-01-01


def write(path, n: Any = 2, *, mode="R", days=None, scheme=None, **arrays):
    """`n` profiles; `arrays` replace variables by name, broadcast to all profiles."""
    days = FIRST_DAY + 10.0 * np.arange(n) if days is None else days
    units = {"PRES": "decibar", "TEMP": "degree_Celsius", "PSAL": "psu"}
    with netCDF4.Dataset(path, "w") as file:
        for dimension, length in (("N_PROF", n), ("N_LEVELS", PRESSURE.size), ("STRING256", 256)):
            file.createDimension(dimension, length)

        def characters(name, values, *dimensions):
            file.createVariable(name, "S1", dimensions, fill_value=b" ")[:] = values

        juld = file.createVariable("JULD", "f8", ("N_PROF",), fill_value=999999.0)
        juld.setncatts({"units": "days since 1950-01-01 00:00:00 UTC", "standard_name": "time"})
        juld[:] = days
        for name, degrees in (("LONGITUDE", LONGITUDE), ("LATITUDE", LATITUDE)):
            file.createVariable(name, "f8", ("N_PROF",), fill_value=99999.0)[:] = degrees
        for name in ("JULD_QC", "POSITION_QC"):
            characters(name, np.array(arrays.get(name, [b"1"] * n)), "N_PROF")
        characters(
            "DATA_MODE", np.array([mode.encode()] * n if len(mode) == 1 else list(mode), "S1"), "N_PROF"
        )
        if scheme is not None:
            texts = np.array([list(text.ljust(256)) for text in scheme], "S1")
            characters("VERTICAL_SAMPLING_SCHEME", texts, "N_PROF", "STRING256")
        for key, sent in (("PRES", PRESSURE), ("TEMP", TEMPERATURE), ("PSAL", SALINITY)):
            for name, values in ((key, sent), (f"{key}_ADJUSTED", np.full(4, 99999.0))):
                variable = file.createVariable(name, "f4", ("N_PROF", "N_LEVELS"), fill_value=99999.0)
                variable.units = units[key]
                variable[:] = np.broadcast_to(arrays.get(name, values), (n, 4))
                flags = arrays.get(f"{name}_QC", "1111" if name == key else "    ")
                flags = [flags] * n if isinstance(flags, str) else flags
                characters(f"{name}_QC", np.array([list(f) for f in flags], "S1"), "N_PROF", "N_LEVELS")
    return path


def expected(temperature=TEMPERATURE, salinity=SALINITY, pressure=PRESSURE):
    pressure, salinity = (np.asarray(v, "f4").astype(float) for v in (pressure, salinity))
    absolute = gsw.SA_from_SP(salinity, pressure, LONGITUDE, LATITUDE)
    temperature = gsw.CT_from_t(absolute, np.asarray(temperature, "f4").astype(float), pressure)
    return gsw.z_from_p(pressure, LATITUDE), temperature, absolute


def check(found, profile, *columns):
    found = observations_from_dataset(found, start_time=START)
    known = np.isfinite(columns[0])
    profiles = (found.profiles[name] for name in ("temperature", "salinity"))
    for values, wanted in zip((found.z, *profiles), columns, strict=True):
        deepest_first = np.asarray(wanted)[known][::-1]
        np.testing.assert_allclose(values[profile][: known.sum()], deepest_first, atol=1e-9)


def test_adjusted_values_where_the_mode_says_so(tmp_path):
    adjusted = {
        "PRES_ADJUSTED": PRESSURE - 1.0,
        "TEMP_ADJUSTED": TEMPERATURE,
        "PSAL_ADJUSTED": SALINITY + 0.02,
    } | {f"{key}_ADJUSTED_QC": "1111" for key in ("PRES", "TEMP", "PSAL")}
    for mode in ("A", "D"):
        found = open_argo(write(tmp_path / "a.nc", mode="R" + mode, **adjusted))
        assert list(found.time.values.astype("M8[D]").astype(str)) == ["2015-01-01", "2015-01-11"]
        assert list(found.data_mode.values) == ["R", mode] and found.n_left_out == 0
        check(found, 0, *expected())
        check(found, 1, *expected(salinity=SALINITY + 0.02, pressure=PRESSURE - 1.0))


def test_adjusted_values_that_are_all_fill(tmp_path):
    found = open_argo(write(tmp_path / "a.nc", mode="A"))
    check(found, 0, *expected())
    # The delayed mode gave up on the salinity: what was sent is no better, whatever its flags say.
    found = read_argo(write(tmp_path / "d.nc", mode="D", PSAL_ADJUSTED_QC="4444"), start_time=START)
    assert set(found.profiles) == {"temperature"}
    absolute = gsw.SA_from_SP(35.0, PRESSURE, LONGITUDE, LATITUDE)
    wanted = gsw.CT_from_t(absolute, np.asarray(TEMPERATURE, "f4").astype(float), PRESSURE)
    np.testing.assert_allclose(found.profiles["temperature"][0][::-1], wanted, atol=1e-6)


def test_flags_are_characters(tmp_path):
    found = open_argo(
        write(tmp_path / "q.nc", TEMP_QC=["1258", "1403"], PRES_QC=["1111", "4111"], TEMP=TEMPERATURE)
    )
    z, temperature, salinity = expected()
    check(found, 0, z, temperature, salinity)
    # An infinite value is missing.
    infinite = open_argo(write(tmp_path / "i.nc", TEMP=[18.0, np.inf, 12.0, 6.0]))
    check(infinite, 0, z, np.where(TEMPERATURE == 17.0, np.nan, temperature), salinity)
    # The level without a good pressure is gone; a bad temperature leaves the salinity.
    check(found, 1, [*z[1:], np.nan], [np.nan] * 4, [*salinity[1:], np.nan])


def test_interpolation_stays_within_the_profile(tmp_path):
    heights = np.array([-600.0, -300.0, -50.0, -10.0, -1.0])
    found = read_argo(write(tmp_path / "f.nc"), z=heights, start_time=START)
    z, temperature, salinity = expected()
    np.testing.assert_allclose(found.time, [0.0, 864000.0])
    for key, values in (("temperature", temperature), ("salinity", salinity)):
        wanted = np.interp(heights, z[::-1], values[::-1])
        wanted[[0, 1, 4]] = np.nan  # below, between values 400 m apart, above
        np.testing.assert_allclose(found.profiles[key], [wanted, wanted], atol=1e-9)
    at_levels = read_argo(tmp_path / "f.nc", z=z[::-1], start_time=START)
    np.testing.assert_allclose(at_levels.profiles["temperature"][0], temperature[::-1], atol=1e-9)


def test_profiles_left_out_are_counted(tmp_path):
    scheme = ["Primary sampling: averaged", "Near-surface sampling: unpumped", "Primary sampling: averaged"]
    days = [FIRST_DAY, FIRST_DAY, 999999.0]
    path = write(tmp_path / "s.nc", 3, scheme=scheme, days=days, JULD_QC=[b"1", b"1", b"9"])
    found = open_argo(path)
    assert found.time.size == 1 and found.n_left_out == 2
    # Without a position: lost in silence once, for lack of heights.
    with netCDF4.Dataset(write(tmp_path / "p.nc"), "a") as file:
        file["LATITUDE"][1] = 99999.0
    found = open_argo(tmp_path / "p.nc")
    assert found.time.size == 1 and found.n_left_out == 1 and np.isfinite(found.in_situ_temperature).all()


def test_profiles_out_of_order_are_sorted(tmp_path, recwarn):
    day, warmer = FIRST_DAY, np.stack([TEMPERATURE, TEMPERATURE + 1.0, TEMPERATURE + 2.0])
    ordered = open_argo(write(tmp_path / "o.nc", 3, days=[day, day + 1.0, day + 2.0], TEMP=warmer))
    mixed = write(tmp_path / "m.nc", 3, days=[day + 1.0, day + 2.0, day], TEMP=warmer[[1, 2, 0]])
    assert not notes_in(recwarn)
    found = open_argo(mixed)
    np.testing.assert_array_equal(found.time, ordered.time)
    np.testing.assert_array_equal(found.in_situ_temperature, ordered.in_situ_temperature)
    assert not missing_from(" ".join(notes_in(recwarn)), "JULD 1 3")
    # In files of their own.
    files = [write(tmp_path / f"{after}.nc", 1, days=[day + after]) for after in (20.0, 0.0, 10.0)]
    found = read_argo(files, z=[-50.0, -10.0], start_time=START)
    np.testing.assert_allclose(found.time, 864000.0 * np.arange(3.0))
    with error_naming(FileFormatError, "JULD 2015-01-01T00:00:00.000"):
        open_argo([files[1], files[1]])


def test_files_that_cannot_be_right(tmp_path):
    written: Any
    for number, (written, message) in enumerate(
        (
            ({"TEMP": TEMPERATURE + 273.15}, "TEMP temperature 291.15 2015-01-01T00:00:00 K"),
            ({"PSAL": SALINITY / 1e3}, "PSAL salinity 0.0356 kg"),
            ({"PRES": PRESSURE * 1e4}, "PRES -5 12000 40000"),
            ({"days": [FIRST_DAY, FIRST_DAY]}, "JULD 2015-01-01T00:00:00 1 0"),
            ({"days": [FIRST_DAY, 999999.0]}, "JULD nan 1"),
            ({"JULD_QC": [b"4", b"9"]}, "JULD_QC POSITION_QC 4 9 1"),
            ({"mode": "X"}, "DATA_MODE R A D X 0"),
        )
    ):
        path = write(tmp_path / f"{number}.nc", **written)
        with error_naming(FileFormatError, f"{number}.nc {message}"):
            open_argo(path)


def test_other_files_and_arguments(tmp_path):
    path = write(tmp_path / "BR6903247_090.nc")
    with pytest.warns(InputWarning, match="wrong sign"):
        read_argo(path, start_time=START, position=(-LATITUDE, LONGITUDE))
    with error_naming(ValueError, "z -1 -10"):
        read_argo(path, z=[-1.0, -10.0], start_time=START)
    incomplete: Any = read_argo
    with error_naming(TypeError, "start_time"):  # no fault of the file
        incomplete(path)
    with error_naming(TypeError, "open_argo good_flag"):
        read_argo(path, start_time=START, good_flag=(1,))
    with xr.open_dataset(path, decode_cf=False) as core:
        names = [name for name in core if str(name)[:4] in ("TEMP", "PSAL")]
        core.drop_vars(names).to_netcdf(tmp_path / "BR6903247_091.nc")
    with error_naming(FileFormatError, "TEMP N_PROF"):  # of biogeochemical parameters
        read_argo(tmp_path / "BR6903247_091.nc", start_time=START)
    xr.Dataset({"JULD": ("N_MEASUREMENT", [1.0, 1.0])}).to_netcdf(tmp_path / "traj.nc")
    with error_naming(FileFormatError, "traj.nc JULD N_PROF"):
        open_argo(tmp_path / "traj.nc")


def test_floats_that_measured_temperature_alone(tmp_path):
    names = [f"PSAL{part}" for part in ("", "_QC", "_ADJUSTED", "_ADJUSTED_QC")]
    with xr.open_dataset(write(tmp_path / "core.nc"), decode_cf=False) as dataset:
        dataset.drop_vars(names).to_netcdf(path := tmp_path / "t.nc")
    found = read_argo(path, start_time=START)
    assert set(found.profiles) == {"temperature"}
    absolute = gsw.SA_from_SP(35.0, PRESSURE, LONGITUDE, LATITUDE)
    wanted = gsw.CT_from_t(absolute, TEMPERATURE, PRESSURE)[::-1]
    np.testing.assert_allclose(found.profiles["temperature"][0], wanted, atol=1e-5)
    given = read_argo(path, start_time=START, salinity=(np.array([-1000.0, 0.0]), np.array([34.0, 36.0])))
    salty = np.interp(expected()[0], [-1000.0, 0.0], [34.0, 36.0])
    wanted = gsw.CT_from_t(gsw.SA_from_SP(salty, PRESSURE, LONGITUDE, LATITUDE), TEMPERATURE, PRESSURE)
    np.testing.assert_allclose(given.profiles["temperature"][0], wanted[::-1], atol=1e-5)


def test_temperatures_whose_salinity_is_bad(tmp_path, recwarn):
    path = write(tmp_path / "s.nc", PSAL_QC="1441")
    found, given = (read_argo(path, start_time=START, salinity=salty) for salty in (None, 35.2))
    z = expected()[0]
    between = np.interp(z, z[[3, 0]], SALINITY[[3, 0]])  # of the good ones
    for one, salty in ((found, between), (given, np.where([1, 0, 0, 1], SALINITY, 35.2))):
        assert one.rejected == {"temperature": 0, "salinity": 4}
        absolute = gsw.SA_from_SP(salty, PRESSURE, LONGITUDE, LATITUDE)
        wanted = gsw.CT_from_t(absolute, TEMPERATURE, PRESSURE)
        np.testing.assert_allclose(one.profiles["temperature"][0], wanted[::-1], atol=2e-6)
        assert np.isnan(one.profiles["salinity"][0, 1:3]).all()
    assert not notes_in(recwarn)
    alone = read_argo(write(tmp_path / "b.nc", PSAL_QC="4444"), start_time=START)
    assert set(alone.profiles) == {"temperature"} and "practical salinity 35" in notes_in(recwarn)[0]
    with error_naming(FileFormatError, "c.nc temperature salinity 8"):
        read_argo(write(tmp_path / "c.nc", PSAL_QC="4444", TEMP_QC="4444"), start_time=START)


def test_levels_out_of_order_are_left_out(tmp_path, recwarn):
    spike = [4.0, 900.0, 100.0, 500.0]  # leaves what lies below it
    twice = ([4.0, 4.0, 100.0, 500.0], [0, 2, 3]), ([4.0, 20.0, 20.0, 20.0], [0, 1])
    for number, (pressure, kept) in enumerate((*twice, (spike, [0, 2, 3]))):
        found = open_argo(write(tmp_path / f"{number}.nc", PRES=pressure))
        wanted = expected(TEMPERATURE[kept], SALINITY[kept], np.asarray(pressure)[kept])
        check(found, 0, *wanted)
        assert found.in_situ_temperature.rejected == found.practical_salinity.rejected == 0
        assert not missing_from(notes_in(recwarn)[0], f"{2 * (4 - len(kept))} 8 levels")
    found = open_argo(write(tmp_path / "a.nc", PRES=[-0.5, 20.0, 100.0, 500.0]))  # above the water
    assert np.isfinite(found.in_situ_temperature).all() and not notes_in(recwarn)


def test_the_mode_of_each_parameter(tmp_path):
    adjusted: dict[str, Any] = {"PSAL_ADJUSTED": SALINITY + 0.02, "TEMP_ADJUSTED": TEMPERATURE + 1.0}
    adjusted |= {f"{key}_ADJUSTED_QC": "1111" for key in ("TEMP", "PSAL")}
    with xr.open_dataset(write(tmp_path / "f.nc", **adjusted), engine="netcdf4") as core:
        dims, names = ("N_PROF", "N_PARAM"), np.array([["PRES", "TEMP", "PSAL"]] * 2, "S16")
        modes = np.array([list("RRD"), list("RAD")], "S1")
        given = {"STATION_PARAMETERS": (dims, names), "PARAMETER_DATA_MODE": (dims, modes)}
        core.drop_vars("DATA_MODE").assign(given).to_netcdf(tmp_path / "1_Sprof.nc")
    found = open_argo(tmp_path / "1_Sprof.nc")
    assert list(found.data_mode.values) == ["R", "A"]
    check(found, 0, *expected(salinity=SALINITY + 0.02))
    check(found, 1, *expected(TEMPERATURE + 1.0, SALINITY + 0.02))


def test_profiles_of_copernicus_and_of_argopy(tmp_path):
    with xr.open_dataset(write(tmp_path / "f.nc"), engine="netcdf4") as dataset:
        core = dataset.load()
    wanted = open_argo(tmp_path / "f.nc")
    kept = core.drop_vars([n for n in map(str, core.variables) if n.endswith(("_ADJUSTED", "_QC"))])
    argopy = kept.drop_vars("DATA_MODE").rename(JULD="TIME")
    measured = argopy[["PRES", "TEMP", "PSAL"]]
    copernicus = measured.rename_dims(N_PROF="TIME", N_LEVELS="DEPTH").assign_coords(
        {name: (name, argopy[name].values) for name in ("TIME", "LATITUDE", "LONGITUDE")}
    )
    alone = open_argo(core.isel(N_PROF=1))
    check(alone, 0, *expected())
    for dataset in (core, argopy, copernicus):
        found = open_argo(dataset)
        np.testing.assert_array_equal(found.time, wanted.time)
        check(found, 1, *expected())
