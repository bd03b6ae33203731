"""Unit, factor, offset and sign mean the same for the inputs of all formats: sign (factor x + offset)."""

from typing import Any

import numpy as np
import pytest
import yaml

from tests.errors import error_naming
from tests.io import test_oceansites as oceansites
from tests.io.observation_files import cf_dataset, fluxes_at
from tunax_lite.config import build_run, load_run
from tunax_lite.io import read_cf_netcdf
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


def test_moorings(tmp_path):
    oceansites.write(tmp_path / "t.nc")
    plain = oceansites.read(tmp_path / "t.nc").profiles["temperature"]
    found = oceansites.read(tmp_path / "t.nc", units={"temperature": Conversion(factor=1.01, offset=-0.2)})
    np.testing.assert_allclose(found.profiles["temperature"], 1.01 * plain - 0.2, rtol=1e-6)
    with error_naming(ValueError, "units.z"):
        oceansites.read(tmp_path / "t.nc", units={"z": Conversion(sign=-1)})


def test_cf_files(tmp_path):
    cf_dataset().to_netcdf(tmp_path / "cf.nc")
    mapping = Mapping(units={"heat_flux": Conversion(**HOW), "stress_u": Conversion(factor=3.0)})
    flux = fluxes_at(read_cf_netcdf(tmp_path / "cf.nc", mapping)[0])
    np.testing.assert_allclose([flux.heat_flux, flux.stress_u], [float(converted(-100.0)), 0.3])


def test_a_tracer_keeps_its_unit_and_takes_the_rest(tmp_path):
    table(tmp_path)
    found = read_series(tmp_path / "q.csv", "q", "dye", start_time=START, unit=Conversion(**HOW))
    np.testing.assert_allclose(found.values, converted(3.0))
    with error_naming(ValueError, "dye"):
        read_series(tmp_path / "q.csv", "q", "dye", start_time=START, unit="m")
