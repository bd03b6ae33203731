"""Configurations of GOTM 5 and 6 say what the same one of version 7 says."""

from typing import Any

import yaml

from tests.errors import error_naming
from tests.extensions.gotm.folders import START, STOP, write_series
from tunax_lite.config import ConfigError
from tunax_lite.extensions.gotm import load_gotm

COMMON = {
    "location": {"latitude": 45.0, "longitude": -30.0, "depth": 16.0},
    "time": {"start": START, "stop": STOP, "dt": 600.0},
    "grid": {"nlev": 8},
    "turbulence": {"turb_param": {"galp": 0.3}},
}
WEATHER = {
    name: {"constant_value": value} for name, value in (("u10", 7.0), ("airp", 1.013e5), ("hum", 80.0))
}
WEATHER |= {"airt": {"constant_value": 11.0}}
TIDE = {"method": "tidal", "tidal": {"amp_1": 1e-6, "phase_1": 100.0}}
TILT = {"dsdx": {"method": "constant", "constant_value": 1e-5}}
LINEAR = {"alpha": 0.2 / 1025.0, "beta": 0.78 / 1025.0, "T0": 10.0, "S0": 35.0}
OLD_LINEAR = {"dtr0": -0.2, "dsr0": 0.78, "T0": 10.0, "S0": 35.0}
SURFACE = WEATHER | {"fluxes": {"method": "fairall"}, "longwave_radiation": {"method": "bignami"}}
SEVEN = COMMON | {
    "version": 7,
    "temperature": {"method": "two_layer", "two_layer": {"z_s": 5.0, "t_s": 12.0, "z_b": 8.0, "t_b": 9.0}},
    "salinity": {"method": "constant", "constant_value": 33.0},
    "surface": SURFACE | {"ice": {"model": "no_ice"}},
    "mimic_3d": {
        "ext_pressure": {"dpdx": TIDE},
        "int_pressure": {"type": "gradients", "gradients": TILT, "s_adv": True},
        "zeta": {"method": "tidal", "tidal": {"amp_1": 0.3, "period_1": 40000.0}},
    },
    "equation_of_state": {"method": "linear_custom", "rho0": 1025.0, "linear": LINEAR},
}
SIX = SEVEN | {
    "version": 6,
    "surface": SURFACE,
    "mimic_3d": {
        "ext_pressure": {"dpdx": TIDE},
        "int_press": TILT | {"s_adv": True},
        "zeta": SEVEN["mimic_3d"]["zeta"],
    },
    "physical_constants": {"rho_0": 1025.0},
    "buoyancy": {"NN_ini": 1e-4},
    "eq_state": {"method": "unesco", "form": "linear_custom", "linear": OLD_LINEAR},
}
del SIX["equation_of_state"]
TWO_LAYERS = {"method": 2, "z_t1": 5.0, "t_1": 12.0, "z_t2": 8.0, "t_2": 9.0}
FIVE = SIX | {
    "temperature": {"method": 1, "analytical": TWO_LAYERS},
    "salinity": {"method": 1, "analytical": {"s_1": 33.0}},
    "surface": {
        "fluxes": {"method": 2},
        "meteo": WEATHER,
        "longwave_radiation": {"method": 3},
        "ice": {"model": 0},
    },
    "mimic_3d": {
        "ext_pressure": {"dpdx": {"method": 1, "AmpM": 1e-6, "PhaseM": 100.0}, "PeriodM": 44714.0},
        "int_press": SIX["mimic_3d"]["int_press"],
        "zeta": {"method": 1, "amp_1": 0.3, "period_1": 40000.0},
    },
    "eq_state": {"mode": 1, "method": 4, **OLD_LINEAR},
}
del FIVE["version"]


def read_path(tmp_path, data):
    path = tmp_path / "old.gotm.yaml"
    # As these versions wrote it: no YAML.
    output = "output:\n   prof:\n      time_unit: hour\n      variables:\n      - source: *   # all\n"
    path.write_text(yaml.safe_dump(data, sort_keys=False) + output)
    return path


def read(tmp_path, data) -> Any:
    return load_gotm(read_path(tmp_path, data))


def content_of(loaded):
    return yaml.safe_load(loaded.short_text)


def test_an_older_configuration_says_what_the_newest_says(tmp_path):
    new = read(tmp_path, SEVEN)
    for old, version in ((SIX, "version 6"), (FIVE, "no version, taken as 5")):
        made = read(tmp_path, old)
        assert made.report.errors == () and content_of(made) == content_of(new)
        assert any(version in line for line in made.report.differences)


def test_lines_are_those_of_the_older_file(tmp_path):
    warm = {"method": 1, "analytical": {"t_1": "warm"}}
    both = FIVE["surface"] | {"u10": {"constant_value": 3.0}}
    for wrong, parts in (
        (FIVE | {"temperature": warm}, "17 temperature.two_layer.t_s warm"),
        (FIVE | {"surface": both}, "surface.u10.constant_value"),
        (SIX | {"buoyancies": {"NN_ini": 1e-4}}, "buoyancies"),
    ):
        with error_naming(ConfigError, parts):
            read(tmp_path, wrong)


def test_overrides_have_the_names_of_the_newest_and_win(tmp_path):
    path = read_path(tmp_path, FIVE)
    given = {"equation_of_state.linear.alpha": 3e-4, "time.dt": 300.0, "equation_of_state.method": 2}
    water = content_of(load_gotm(path, given))["case"]["equation_of_state"]
    assert "tangent_to_teos10" in water  # 2 is that of version 7
    made = content_of(load_gotm(path, ["equation_of_state.linear.alpha=3e-4"]))
    assert made["case"]["equation_of_state"]["thermal_expansion"] == 3e-4


def test_sea_grass_stands_in_a_namelist_beside_older_files(tmp_path):
    (tmp_path / "seagrass.nml").write_text("&canopy seagrass_calc=.true. grassfile='g.dat' XP_rat=0.5 /\n")
    (tmp_path / "g.dat").write_text("2\n0.1 0.0 0.05\n0.5 0.02 0.1\n")
    made = content_of(read(tmp_path, SIX))["case"]["interior"]["seagrass"]
    assert made["efficiency"] == 0.5 and made["height"] == [0.1, 0.5]
    assert "seagrass" not in content_of(read(tmp_path, SEVEN))["case"]["interior"]


def test_what_is_off_was_zero_and_the_albedo_took_its_part(tmp_path):
    (tmp_path / "light.dat").write_text("2011-03-01 00:00:00 100.0\n2011-03-02 00:00:00 200.0\n")
    salinity = {"method": 0, "analytical": {"method": 1, "s_1": 20.0}}
    light = {"method": 2, "file": "light.dat"}
    old = FIVE | {"salinity": salinity}
    old["surface"] = old["surface"] | {"meteo": old["surface"]["meteo"] | {"swr": light}}
    case = read(tmp_path, old).config.case
    assert case.salinity.surface == 0.0
    assert (case.air_sea.shortwave.name, case.air_sea.albedo.name) == ("downward", "payne")
    assert case.air_sea.albedo_of == "instant"  # as GOTM, also for the daily means of this file


NAMELISTS = {
    "gotmrun.nml": """! General set-up of GOTM 5: this text is no namelist
 &model_setup
   title = 'A day', nlev = 8   ! two in a line
   dt = 6.d2,
   cnpar = 1.0 buoy_method = 1
 /
 &station  name="it's here", latitude=45., longitude=-30.0, depth=16.0 /
 &time
   timefmt = 2, MaxN = 800,
   start = '{start}',
   stop  = '{stop}',
 &end
 &output  out_fn = 'day', nsave = 36, out_fmt = 2 /
 &eqstate eq_state_mode = 1, eq_state_method = 4, T0 = 10., S0 = 35., p0 = 0., dtr0 = -0.2, dsr0 = 0.78 /
""",
    "gotmmean.nml": "&meanflow\n h0b = 0.1, rho_0 = 1025., no_shear = .false., hypsograph_file = ''\n/\n",
    "gotmturb.nml": "&turbulence turb_method = 3 /\n&turb_param galp = 0.3, compute_kappa = .true. /\n",
    "airsea.nml": """&airsea
 calc_fluxes = .false., fluxes_method = 2, meteo_file = 'none.dat', wind_factor = 1.0,
 heat_method = 0, const_heat = -50.0, momentum_method = 2, momentumflux_file = 'tau.dat',
 swr_method = 1, const_swr = 100.0, swr_factor = 0.5, precip_method = 0, albedo_method = 0
/
""",
    "obs.nml": """&tprofile t_prof_method = 1, t_analyt_method = 2, z_t1 = 5., t_1 = 12., z_t2 = 8.,
 t_2 = 9. /
&sprofile s_prof_method = 1, s_analyt_method = 1, s_1 = 33., SRelaxTauM = 86400. /
&ext_pressure ext_press_method = 1, ext_press_mode = 0, PressConstU = 2e-6, AmpMu = 1e-6, PeriodM = 40000. /
&extinct extinct_method = 7, A = 0.6, g1 = 0.5, g2 = 5. /
""",
}


def write_namelists(folder, **changes):
    for name, text in NAMELISTS.items():
        text = text.replace("{start}", START).replace("{stop}", STOP)
        for old, new in changes.items():
            text = text.replace(old, new)
        (folder / name).write_text(text)
    write_series(folder / "tau.dat", [0.1] * 25, [0.0] * 25)
    return folder / "gotmrun.nml"


def test_namelists_say_what_the_newest_configuration_says(tmp_path):
    loaded: Any = load_gotm(write_namelists(tmp_path))
    made = content_of(loaded)
    flux = {"method": "file", "file": "tau.dat"}
    tide = {"method": "tidal", "constant_value": 2e-6, "tidal": {"amp_1": 1e-6}}
    new = COMMON | {
        "version": 7,
        "temperature": SEVEN["temperature"] | {"constant_value": 12.0},
        "salinity": SEVEN["salinity"] | {"relax": {"tau": 86400.0}},
        "surface": {
            "fluxes": {"tx": flux, "ty": flux | {"column": 2}},
            "swr": {"method": "constant", "constant_value": 100.0, "scale_factor": 0.5},
            "ice": {"model": "no_ice"},
        },
        "bottom": {"h0b": 0.1},
        "mimic_3d": {"ext_pressure": {"dpdx": tide, "dpdy": {"method": "tidal"}, "period_1": 40000.0}},
        "light_extinction": {"method": "custom", "A": 0.6, "g1": 0.5, "g2": 5.0},
        "equation_of_state": SEVEN["equation_of_state"],
        "output": {"day": {"time_unit": "dt", "time_step": 36, "variables": [{"source": "/*"}]}},
    }
    path = tmp_path / "new.gotm.yaml"
    path.write_text(yaml.safe_dump(new))
    expected = content_of(load_gotm(path))
    assert loaded.report.errors == () and made["case"]["name"] == tmp_path.name
    made["case"]["name"] = expected["case"]["name"]
    assert made == expected


def test_what_a_namelist_has_wrong_is_named_with_its_line(tmp_path):
    for old, new, words in (
        ("nlev = 8", "nlevs = 8", "gotmrun.nml 3 model_setup.nlevs"),
        ("nlev = 8", "nlev = many", "gotmrun.nml 3 grid.nlev"),
        ("no_shear = .false.", "no_shear = T", "gotmmean.nml 2 meanflow.no_shear"),
        ("heat_method = 0", "heat_method = 7", "airsea.nml 3 airsea.heat_method 0"),
        ("h0b = 0.1", "h0b = 0.1 0.2", "gotmmean.nml 2 meanflow.h0b"),
        ("h0b = 0.1", "0.1", "gotmmean.nml 2"),
        ("''\n/", "''\n", "gotmmean.nml 2 &meanflow"),
        ("'A day'", "'A day", "gotmrun.nml 3 quotation"),
    ):
        with error_naming(ConfigError, words):
            load_gotm(write_namelists(tmp_path, **{old: new}))
    (tmp_path / "streams.nml").write_text("&stream name = 'brook', method = 3 /\n")
    with error_naming(ConfigError, "streams.nml gotm.yaml"):
        load_gotm(write_namelists(tmp_path))
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/obs.nml").write_text(NAMELISTS["obs.nml"])
    with error_naming(ConfigError, "obs.nml gotmrun.nml"):
        load_gotm(tmp_path / "alone/obs.nml")
