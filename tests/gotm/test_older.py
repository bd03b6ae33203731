"""Configurations of GOTM 5 and 6 say what the same one of version 7 says."""

import pytest
import yaml

from tests.gotm.folders import START, STOP
from tunax_lite.config import ConfigError
from tunax_lite.gotm import load_gotm, translate

_GRADIENT = {"method": "constant", "constant_value": 1e-5}

COMMON = {
    "location": {"latitude": 45.0, "longitude": -30.0, "depth": 16.0},
    "time": {"start": START, "stop": STOP, "dt": 600.0},
    "grid": {"nlev": 8},
    "turbulence": {"turb_param": {"galp": 0.3}},
}
SEVEN = COMMON | {
    "version": 7,
    "temperature": {"method": "two_layer", "two_layer": {"z_s": 5.0, "t_s": 12.0, "z_b": 8.0, "t_b": 9.0}},
    "salinity": {"method": "constant", "constant_value": 33.0},
    "surface": {
        "u10": {"constant_value": 7.0},
        "fluxes": {"method": "fairall"},
        "airp": {"constant_value": 1.013e5},
        "airt": {"constant_value": 11.0},
        "hum": {"constant_value": 80.0},
        "longwave_radiation": {"method": "bignami"},
        "ice": {"model": "no_ice"},
    },
    "mimic_3d": {
        "ext_pressure": {"dpdx": {"method": "tidal", "tidal": {"amp_1": 1e-6, "phase_1": 100.0}}},
        "int_pressure": {"type": "gradients", "gradients": {"dsdx": _GRADIENT}, "s_adv": True},
        "zeta": {"method": "tidal", "tidal": {"amp_1": 0.3, "period_1": 40000.0}},
    },
    "equation_of_state": {
        "method": "linear_custom",
        "rho0": 1025.0,
        "linear": {"alpha": 0.2 / 1025.0, "beta": 0.78 / 1025.0, "T0": 10.0, "S0": 35.0},
    },
}
SIX = SEVEN | {
    "version": 6,
    "surface": {key: value for key, value in SEVEN["surface"].items() if key != "ice"},
    "mimic_3d": {
        "ext_pressure": SEVEN["mimic_3d"]["ext_pressure"],
        "int_press": {"dsdx": _GRADIENT, "s_adv": True},
        "zeta": SEVEN["mimic_3d"]["zeta"],
    },
    "physical_constants": {"rho_0": 1025.0},
    "buoyancy": {"NN_ini": 1e-4},
    "eq_state": {
        "method": "unesco",
        "form": "linear_custom",
        "linear": {"dtr0": -0.2, "dsr0": 0.78, "T0": 10.0, "S0": 35.0},
    },
}
del SIX["equation_of_state"]
FIVE = SIX | {
    "temperature": {
        "method": 1,
        "analytical": {"method": 2, "z_t1": 5.0, "t_1": 12.0, "z_t2": 8.0, "t_2": 9.0},
    },
    "salinity": {"method": 1, "analytical": {"s_1": 33.0}},
    "surface": {
        "fluxes": {"method": 2},
        "meteo": {name: SIX["surface"][name] for name in ("u10", "airp", "airt", "hum")},
        "longwave_radiation": {"method": 3},
        "ice": {"model": 0},
    },
    "mimic_3d": {
        "ext_pressure": {"dpdx": {"method": 1, "AmpM": 1e-6, "PhaseM": 100.0}, "PeriodM": 44714.0},
        "int_press": SIX["mimic_3d"]["int_press"],
        "zeta": {"method": 1, "amp_1": 0.3, "period_1": 40000.0},
    },
    "eq_state": {"mode": 1, "method": 4, "dtr0": -0.2, "dsr0": 0.78, "T0": 10.0, "S0": 35.0},
}
del FIVE["version"]


def read(tmp_path, data):
    path = tmp_path / "old.gotm.yaml"
    # As these versions wrote it: no YAML.
    output = "output:\n   prof:\n      time_unit: hour\n      variables:\n      - source: *   # all\n"
    path.write_text(yaml.safe_dump(data, sort_keys=False) + output)
    return translate(load_gotm(path))


@pytest.mark.parametrize(("old", "version"), [(SIX, "version 6"), (FIVE, "no version, which is 5")])
def test_an_older_configuration_says_what_the_newest_says(tmp_path, old, version):
    new, made = read(tmp_path, SEVEN), read(tmp_path, old)
    assert made.report.errors == ()
    assert made.content == new.content
    assert any(version in line for line in made.report.differences)


def test_lines_are_those_of_the_older_file(tmp_path):
    wrong = FIVE | {"temperature": {"method": 1, "analytical": {"t_1": "warm"}}}
    with pytest.raises(ConfigError, match=r"line 17: temperature.two_layer.t_s: expected a number .*'warm'"):
        read(tmp_path, wrong)
    both = FIVE | {"surface": FIVE["surface"] | {"u10": {"constant_value": 3.0}}}
    with pytest.raises(ConfigError, match=r"expected one value of surface.u10.constant_value, got"):
        read(tmp_path, both)
    with pytest.raises(ConfigError, match=r"buoyancies: unknown key"):
        read(tmp_path, SIX | {"buoyancies": {"NN_ini": 1e-4}})


def test_what_is_off_was_zero_and_the_albedo_took_its_part(tmp_path):
    (tmp_path / "light.dat").write_text("2011-03-01 00:00:00 100.0\n2011-03-02 00:00:00 200.0\n")
    salinity = {"method": 0, "analytical": {"method": 1, "s_1": 20.0}}
    light = {"method": 2, "file": "light.dat"}
    old = FIVE | {"salinity": salinity}
    old["surface"] = old["surface"] | {"meteo": old["surface"]["meteo"] | {"swr": light}}
    case = read(tmp_path, old).content["case"]
    assert case["salinity"] == 0.0
    assert case["air_sea"]["shortwave"] == "downward" and case["air_sea"]["albedo"] == "payne"
