"""Unit, factor, offset and sign mean the same for the inputs of all formats: sign (factor x + offset)."""

from typing import Any

import numpy as np
import pytest
import yaml

from tests.errors import error_naming
from tests.io import test_argo as argo
from tests.io import test_era5 as era5
from tests.io import test_oceansites as oceansites
from tests.io.observation_files import cf_dataset, fluxes_at, write_lesbrary
from tunax_lite.config import build_run, load_run
from tunax_lite.io import read_argo, read_cf_netcdf, read_lesbrary
from tunax_lite.io.cf_netcdf import Mapping
from tunax_lite.io.errors import ConfigError, FileFormatError
from tunax_lite.io.table import read_series
from tunax_lite.io.units import Conversion

HOW = {"factor": 2.0, "offset": 0.5, "sign": -1}
START = "2012-06-10T00:00:00"
PLACE = {"format": "site", "latitude": 50.0, "longitude": -145.0, "start_time": START}
SITE = {**PLACE, "duration": 86400.0, "depth": 40.0, "temperature": 10.0, "salinity": 33.0}


def converted(x):
    """The value that `HOW` makes of one in the package's unit."""
    return -(2.0 * np.asarray(x) + 0.5)


def run_of(folder, **case):
    config = {"case": SITE | case, "grid": {"kind": "uniform", "n_cells": 10}}
    (folder / "run.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return build_run(load_run(folder / "run.yaml"))


def flux_of(folder, **given) -> tuple[Any, Any]:
    made = run_of(folder, fluxes={"heat_flux": given})
    return made.case.forcing.at(0.0, None).heat_flux, made


def table(folder):
    days = [f"2012-06-{10 + day}" for day in range(3)]
    (folder / "gotm.dat").write_text("".join(f"{day} 00:00:00 3.0\n" for day in days))
    (folder / "q.csv").write_text("time,q [W m-2]\n" + "".join(f"{day}T00:00:00,3.0\n" for day in days))


GIVEN = {
    "number": {"constant": 3.0},
    "list": {"time": [0.0, 86400.0], "values": [3.0, 3.0]},
    "tide": {"harmonics": [{"amplitude": 0.0, "period": 3600.0}], "constant": 3.0},
    "GOTM": {"path": "gotm.dat", "column": 1},
    "CSV": {"path": "q.csv", "variable": "q"},
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_a_flux_however_it_is_given(tmp_path, given):
    table(tmp_path)
    # The unit comes first: 3 kW are 3 000 W.
    found, _ = flux_of(tmp_path, **given, **HOW, unit="kW m-2")
    np.testing.assert_allclose(found, converted(3000.0))


def test_profiles_that_are_given_in_numbers(tmp_path):
    kelvin = {"unit": "K", "factor": 2.0, "offset": -5.0}
    (tmp_path / "t.dat").write_text("2012-06-10 00:00:00 2 2\n-1.0 283.15\n-39.0 283.15\n")
    for given in (
        {"surface": 283.15, "gradient": 0.0},
        {"z": [-40.0, 0.0], "values": [283.15, 283.15]},
        {"two_layer": {"upper": 283.15, "lower": 283.15, "upper_depth": 5.0, "lower_depth": 9.0}},
        {"path": "t.dat", "column": 1},
    ):
        made = run_of(tmp_path, fluxes={"heat_flux": 0.0}, temperature=given | kelvin)
        np.testing.assert_allclose(made.case.initial_state.temperature, 15.0)


def test_nonsense_is_an_error_that_names_the_key(tmp_path):
    table(tmp_path)
    for given, parts in (
        ({"constant": 3.0, "factor": 0.0}, "factor 0"),
        ({"constant": 3.0, "sign": -2}, "sign"),
        ({"constant": 3.0, "unit": "fathom"}, "W m-2 fathom"),
        ({"constant": 300.0, "unit": "kW m-2"}, "300000"),
        ({"path": "gotm.dat", "column": 1, "unit": "m"}, "W m-2 m"),
        ({"path": "q.csv", "variable": "q", "unit": "degC"}, "q.csv W m-2 degC"),
        ({"path": "gotm.dat", "column": 1, "scale_factor": 2.0}, "scale_factor"),
    ):
        with error_naming((ConfigError, FileFormatError), f"heat_flux {parts}"):
            flux_of(tmp_path, **given)


def test_weather_of_era5_counts_from_the_package_s_zero_and_hour(tmp_path):
    era5.write(tmp_path / "e.nc")
    plain = era5.read(tmp_path / "e.nc").at(10.5 * 3600.0)
    units: dict[str, Any] = {
        "air_temperature": Conversion(factor=0.5, offset=1.0),
        "longwave": Conversion(factor=0.9, offset=7.0),
        "wind_u": Conversion(**HOW),
    }
    weather = era5.read(tmp_path / "e.nc", units=units).at(10.5 * 3600.0)
    np.testing.assert_allclose(weather.air_temperature, 0.5 * plain.air_temperature + 1.0)
    np.testing.assert_allclose(weather.longwave, 0.9 * plain.longwave + 7.0)
    np.testing.assert_allclose(weather.wind_u, converted(plain.wind_u))
    # Upward radiation in kJ, and the air in degC.
    sun, air = -era5.SERIES["ssrd"][1] / 1e3, era5.SERIES["t2m"][1] - 273.15
    era5.write(tmp_path / "other.nc", ssrd=sun, t2m=air)
    units = {"shortwave": Conversion(unit="kJ m-2", sign=-1), "air_temperature": "degC"}
    weather = era5.read(tmp_path / "other.nc", units=units).at(10.5 * 3600.0)
    np.testing.assert_allclose(weather.shortwave, plain.shortwave, rtol=1e-12)
    np.testing.assert_allclose(weather.air_temperature, plain.air_temperature)
    with error_naming(FileFormatError, "ssrd J m-2 m s-1"):
        era5.read(tmp_path / "e.nc", units={"shortwave": "m s-1"})


def test_moorings_and_floats(tmp_path):
    oceansites.write(tmp_path / "t.nc")
    plain = oceansites.read(tmp_path / "t.nc").profiles["temperature"]
    found = oceansites.read(tmp_path / "t.nc", units={"temperature": Conversion(factor=1.01, offset=-0.2)})
    np.testing.assert_allclose(found.profiles["temperature"], 1.01 * plain - 0.2, rtol=1e-6)
    with error_naming(ValueError, "units.z"):
        oceansites.read(tmp_path / "t.nc", units={"z": Conversion(sign=-1)})
    argo.write(tmp_path / "a.nc", 2)
    plain, shifted = (
        read_argo(tmp_path / "a.nc", start_time=START, units=units)
        for units in (None, {"pressure": Conversion(unit="hPa"), "salinity": Conversion(offset=0.1)})
    )
    # A hundredth of the pressure, from which heights follow.
    deepest = np.nanmin(shifted.z) / np.nanmin(plain.z)
    np.testing.assert_allclose(deepest, 0.01, rtol=1e-2)
    np.testing.assert_allclose(
        np.nanmean(shifted.profiles["salinity"] - plain.profiles["salinity"]), 0.1, rtol=2e-2
    )


def test_simulations_and_cf_files(tmp_path):
    path = write_lesbrary(tmp_path / "les.jld2")
    units = {"temperature": Conversion(factor=0.5, offset=1.0), "heat_flux": Conversion(sign=-1)}
    (plain, before), (case, after) = read_lesbrary(path), read_lesbrary(path, units=units)
    halved = 0.5 * before.profiles["temperature"] + 1.0
    np.testing.assert_allclose(after.profiles["temperature"], halved, rtol=1e-6)
    np.testing.assert_allclose(fluxes_at(case).heat_flux, -fluxes_at(plain).heat_flux)
    with error_naming(FileFormatError, "timeseries/T degC m"):
        read_lesbrary(path, units={"temperature": "m"})
    cf_dataset().to_netcdf(tmp_path / "cf.nc")
    mapping = Mapping(units={"heat_flux": Conversion(**HOW), "stress_u": Conversion(factor=3.0)})
    flux = fluxes_at(read_cf_netcdf(tmp_path / "cf.nc", mapping)[0])
    np.testing.assert_allclose([flux.heat_flux, flux.stress_u], [float(converted(-100.0)), 0.3])
    with error_naming(ValueError, "heat_flux upward sign -1"):
        Mapping(upward=("heat_flux",), units={"heat_flux": Conversion(sign=-1)})


def test_a_tracer_keeps_its_unit_and_takes_the_rest(tmp_path):
    table(tmp_path)
    found = read_series(tmp_path / "q.csv", "q", "dye", start_time=START, unit=Conversion(**HOW))
    np.testing.assert_allclose(found.values, converted(3.0))
    with error_naming(ValueError, "dye"):
        read_series(tmp_path / "q.csv", "q", "dye", start_time=START, unit="m")


LAKE = {"salinity": 0.1, "temperature": 10.0, "fluxes": {"heat_flux": 0.0}}


def test_the_basin_of_a_lake(tmp_path):
    (tmp_path / "basin.csv").write_text(f"depth,area\n0,4\n{40.0 / 0.3048!r},1\n")  # a foot
    (tmp_path / "basin.dat").write_text("2 1\n1.0 4.0\n-39.0 1.0\n")
    given: dict[str, Any]
    for given in (
        {"z": [0.0, 4.0], "area": [200.0, 50.0]}
        | {"units": {"z": {"factor": 10.0, "sign": -1}, "area": {"unit": "ha", "factor": 2.0}}},
        {"path": "basin.csv", "units": {"z": "ft", "area": "km2"}},
        {"path": "basin.dat", "units": {"z": {"offset": -1.0}, "area": {"factor": 1e6}}},
    ):
        made = run_of(tmp_path, **LAKE, hypsography=given)
        np.testing.assert_allclose(np.asarray(made.case.grid.area)[[0, -1]], [1e6, 4e6])
    for name, unit in (("area", "m"), ("z", "km2")):
        given = {"z": [-40.0, 0.0], "area": [1.0, 4.0], "units": {name: unit}}
        with error_naming(ConfigError, f"hypsography {unit}"):
            run_of(tmp_path, **LAKE, hypsography=given)
