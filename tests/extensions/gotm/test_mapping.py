"""From a configuration of GOTM to the objects of a run, and what the report says of every key."""

import copy
import dataclasses
import math
from typing import Any

import gsw
import numpy as np
import pytest
import yaml

from tests.errors import error_naming, missing_from
from tests.extensions.gotm.folders import assert_fields, build, run_of, write_case, write_series
from tests.helpers import water_surface
from tunax_lite import closures
from tunax_lite.air_sea import BulkForcing, Clark, Kondo, Payne
from tunax_lite.column import terms
from tunax_lite.column.forcing import ConstantForcing, TimeSeriesForcing
from tunax_lite.column.terms.streams import StreamPlace
from tunax_lite.config import ConfigError, load_run
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.ice.freezing import FreezingBound
from tunax_lite.io.errors import FileFormatError
from tunax_lite.physics.equation_of_state import LinearEquationOfState, SpecificVolumeTeos10

WIND = {"u": 4.0, "v": -3.0}
STATE, INTERIOR = "case.initial_state.", "case.interior."


def constant(value: float) -> dict:
    return {"method": "constant", "constant_value": value}


def test_time_grid_and_constants(tmp_path):
    run = run_of(tmp_path, {"grid": {"ddu": 2.0}, "time": {"cnpar": 0.6}})
    assert_fields(run, {"dt": 600.0, "output_interval": 21600.0, "case.duration": 86400.0})
    assert_fields(run.case, {"start_time": "2011-03-01T00:00:00", "name": "small"})
    assert_fields(run.model, {"theta": 0.6, "molecular_salt_diffusivity": 1.1e-9})
    faces = 16.0 * (np.tanh(2.0 * np.arange(9) / 8) / np.tanh(2.0) - 1.0)
    coriolis = pytest.approx(4 * math.pi / 86164 * math.sin(math.pi / 4))
    assert_fields(run.case, {"grid.z_face": faces})
    assert float(run.case.coriolis_parameter) == coriolis
    alone = write_case(tmp_path).rename(tmp_path / "gotm.yaml")  # as GOTM's own folders have it
    assert load_run(alone).name == tmp_path.name


@pytest.mark.parametrize(("method", "scale"), [("file_sigma", 1.0 / 16.0), ("file_h", 1.0)])
def test_grids_of_files_go_from_the_surface_down(tmp_path, method, scale):
    thickness = np.array([1.0, 1.0, 2.0, 4.0, 8.0])
    grid = {"method": method, "nlev": 5, "file": "grid.dat"}
    (tmp_path / "grid.dat").write_text("5\n" + "".join(f"{scale * h}\n" for h in thickness))
    assert_fields(run_of(tmp_path, {"grid": grid}), {"case.grid.cell_thickness": thickness[::-1]})
    with error_naming(FileFormatError, "1 6"):
        build(tmp_path, {"grid": grid | {"nlev": 6}})
    (tmp_path / "grid.dat").write_text("5\n" + "".join(f"{0.9 * scale * h}\n" for h in thickness))
    with error_naming(FileFormatError, f"grid.dat 1 {16.0 * scale:g} {14.4 * scale:g}"):
        build(tmp_path, {"grid": grid})


GENERIC = {"len_scale_method": "gls", "generic": {"compute_param": True}}


def generic(**numbers: float) -> dict:
    return {"turbulence": GENERIC | {"generic": {"compute_param": True} | numbers}}


def test_settings_that_fit_nothing_name_their_line(tmp_path):
    no_c_mu = {"turb_method": "first_order", "turb_param": {"cm0_fix": 0.0}}
    for change, parts in (
        ({"time": {"start": "2011-03-01"}}, "time.start 2011-03-01 7"),
        ({"time": {"stop": "2011-02-01 00:00:00"}}, "time.stop 8"),
        ({"time": {"dt": 0.0}}, "time.dt 0"),
        ({"turbulence": {"keps": {"ce2": 1.4}}}, "keps.ce2 ce1 1.44 line"),
        ({"turbulence": {"turb_param": {"Ri_st": 0.9}}}, "turb_param.Ri_st 0.843 0.9"),
        ({"turbulence": {"turb_param": {"k_min": 0.0}}}, "turb_param.k_min 0 line"),
        (generic(gen_d=0.0), "generic.compute_param gen_d 0 line"),
        (generic(gen_alpha=-100.0), "generic.compute_param sigma_k line"),
        ({"turbulence": GENERIC | no_c_mu}, "turb_param.cm0_fix c_mu_0"),
        ({"time": {"method": "MaxN"}}, "time.method start_stop"),
        ({"grid": {"nlev": 2}}, "grid.nlev 3 2"),
        ({"output": {"prof": {"time_unit": "fortnight"}}}, "output.prof.time_unit fortnight line"),
        ({"temperature": {"relax": {"tau": 0.0}}}, "temperature.relax.tau 0"),
        ({"temperature": {"method": "buoyancy"}, "salinity": {"method": "two_layer"}}, "salinity"),
        ({"mimic_3d": {"zeta": -20.0}}, "mimic_3d.zeta -16 -20"),
    ):
        with error_naming(ConfigError, parts):
            build(tmp_path, change)


def test_frames_follow_the_finest_file_of_profiles(tmp_path):
    path = write_case(tmp_path, {"output": None})
    text = path.read_text().replace("output: null\n", "")
    profiles, surface = ({"time_unit": "hour", "variables": [{"source": name}]} for name in ("temp", "sst"))
    for files, expected in (
        ({}, 86400.0),
        ({"a": {"time_unit": "day"}, "b": {"time_unit": "hour", "time_step": 3}}, 10800.0),
        ({"a": profiles | {"time_step": 8}, "b": surface}, 28800.0),
        ({"a": {"time_unit": "hour", "use": False}, "b": {"time_unit": "dt", "time_step": 6}}, 3600.0),
        ({"a": {"time_unit": "second", "time_step": 700}}, 600.0),
        ({"a": {"time_unit": "month", "groups": [{"variables": [{"source": "u"}]}]}}, 86400.0),
    ):
        path.write_text(text + yaml.safe_dump({"output": files}))
        made: Any = build_gotm(load_gotm(path))
        assert made.run.output_interval == expected, files


def test_initial_profiles_of_numbers(tmp_path):
    two = {"method": "two_layer", "two_layer": {"z_s": 4.0, "t_s": 20.0, "z_b": 8.0, "t_b": 10.0}}
    run = run_of(tmp_path, {"temperature": two})
    # Depths count from the uppermost center, 1 m below the surface.
    assert_fields(run, {STATE + "temperature": [10, 10, 10, 10, 15, 20, 20, 20]})
    for name, surface, expansion in (("temperature", "t_s", 2e-4), ("salinity", "s_s", -7.5e-4)):
        buoyant = {"method": "buoyancy", "NN": 1e-4, "two_layer": {surface: 30.0}}
        profile = np.asarray(getattr(run_of(tmp_path, {name: buoyant}).case.initial_state, name))
        np.testing.assert_allclose(np.diff(profile) / 2.0 * expansion * 9.81, 1e-4, rtol=1e-12)
    buoyant = {"method": "buoyancy", "NN": 1e-4, "two_layer": {"t_s": 20.0}}
    case = run_of(tmp_path, {"temperature": buoyant, "equation_of_state": {"method": "full_teos-10"}}).case
    temperature = np.asarray(case.initial_state.temperature)
    assert isinstance(case.equation_of_state, SpecificVolumeTeos10)
    alpha = gsw.alpha(35.0, 0.5 * (temperature[1:] + temperature[:-1]), -np.asarray(case.grid.z_face[1:-1]))
    # The second of the two passes has the coefficient of the first guess.
    np.testing.assert_allclose(9.81 * alpha * np.diff(temperature) / 2.0, 1e-4, rtol=2e-4)


def test_measured_profiles_are_converted_at_the_reader(tmp_path):
    (tmp_path / "t.dat").write_text("2011-01-01 00:00:00 2 2\n0 20\n-16 10\n2011-05-01 00:00:00 1 2\n-1 5\n")
    measured = {"method": "file", "file": "t.dat", "type": "in-situ"}
    run = run_of(tmp_path, {"temperature": measured, "salinity": {"type": "practical"}})
    z = np.asarray(run.case.grid.z_center)
    # Interpolated in time first: 59 of 120 days have passed.
    in_situ = (1 - 59 / 120) * (20 + 10 * z / 16) + 59 / 120 * 5.0
    salinity = gsw.SA_from_SP(35.0, -z, -30.0, 45.0)
    assert_fields(run, {STATE + "temperature": gsw.CT_from_t(salinity, in_situ, -z)})
    assert_fields(run, {STATE + "salinity": salinity, INTERIOR + "relaxation": None})


def test_relaxation_has_layers_and_converted_targets_and_may_fade(tmp_path):
    (tmp_path / "s.dat").write_text("2011-03-01 00:00:00 1 2\n-1 34\n2011-03-02 00:00:00 1 2\n-1 36\n")
    relax = {"tau": 1e6, "tau_s": 1e3, "h_s": 3.0, "tau_b": 1e4, "h_b": 1.0}
    run = run_of(tmp_path, {"salinity": {"method": "file", "file": "s.dat", "relax": relax}})
    relaxation = run.case.interior.relaxation
    assert_fields(relaxation, {"temperature": None, "salinity.rate": [1e-4] + 5 * [1e-6] + 2 * [1e-3]})
    # At the end of a step of 600 s that of its start: GOTM converts it at the end, for the next step.
    np.testing.assert_allclose(relaxation.salinity.profiles.at(43200.0 + 600.0), 35.0, atol=1e-12)
    np.testing.assert_allclose(relaxation.salinity.profiles.at(600.0), 34.0, atol=1e-12)
    relax = {"tau": 3600.0}
    case = run_of(tmp_path, {"velocities": {"u": 0.3, "relax": relax}}).case
    assert_fields(case, {"initial_state.u": 0.3, "interior.relaxation.v.rate": 1.0 / 3600.0})
    case = run_of(tmp_path, {"velocities": {"relax": relax | {"ramp": 7200.0}}}).case
    rates = [case.interior.relaxation.u.rate_at(time)[0] * 3600.0 for time in (600.0, 3600.0, 7200.0, 9000.0)]
    np.testing.assert_allclose(rates, [11.0 / 12.0, 0.5, 1.0, 1.0], rtol=1e-12)


def test_the_first_step_of_a_relaxation_goes_to_zero_as_in_gotm(tmp_path):
    """GOTM converts what it relaxes to at the end of a step, and starts with zeros."""
    relaxed = {"relax": {"tau": 86400.0}}
    for kind in ("practical", "absolute"):
        change = {"salinity": {"type": kind} | relaxed, "temperature": relaxed}
        relaxation = run_of(tmp_path, change).case.interior.relaxation
        temperature, salinity = (
            [float(part.profiles.at(n * 600.0)[0]) for n in (1, 2, 30)]
            for part in (relaxation.temperature, relaxation.salinity)
        )
        assert temperature == pytest.approx([12.0] * 3)  # conservative
        start = salinity[2]
        assert salinity == pytest.approx([0.0 if kind == "practical" else start, start, start])
        assert start > 34.9


def test_profiles_of_a_moving_surface_stay_at_their_heights(tmp_path):
    lines = [f"2011-03-0{day} 00:00:00 2 1\n-16.0 {16.0 + day}\n4.0 {36.0 + day}\n" for day in (1, 2, 3)]
    (tmp_path / "t.dat").write_text("".join(lines))
    write_series(tmp_path / "zeta.dat", [2.0] * 3, step=86400)
    change = {
        "time": {"stop": "2011-03-03 00:00:00"},
        "temperature": {"method": "file", "file": "t.dat", "relax": {"tau": 86400.0}},
        "mimic_3d": {"zeta": {"method": "file", "file": "zeta.dat"}},
    }
    case = run_of(tmp_path, change).case
    z, moved = np.asarray(case.grid.z_center), np.asarray(case.grid.z_center + 16.0) * 18.0 / 16.0 - 16.0
    profiles = case.interior.relaxation.temperature.profiles
    np.testing.assert_allclose(case.initial_state.temperature, z + 33.0, rtol=1e-12)
    # One step later, as GOTM converts it; halfway between the second and the third.
    np.testing.assert_allclose(profiles.at(600.0 + 86400.0), z + 34.0, rtol=1e-12)
    expected = 0.5 * (z + 34.0) + 0.5 * (moved + 35.0)
    np.testing.assert_allclose(profiles.at(600.0 + 1.5 * 86400.0), expected, rtol=1e-12)


FLUXES = {"surface": {"fluxes": {"heat": -50.0}, "swr": 100.0, "precip": 1e-7}}


def test_constant_fluxes_of_which_a_variable_that_is_off_takes_none(tmp_path):
    forcing = run_of(tmp_path, FLUXES).case.forcing
    assert isinstance(forcing, ConstantForcing)
    expected = {"stress_u": 0.1, "stress_v": None, "heat_flux": -50.0}
    assert_fields(forcing.at(0.0), expected | {"shortwave_flux": 100.0, "freshwater_flux": 1.027e-4})
    off = {"temperature": {"method": "off"}, "salinity": {"method": "off", "constant_value": 30.0}}
    run = run_of(tmp_path, off, FLUXES)
    absent: dict[str, Any] = dict.fromkeys(("heat_flux", "shortwave_flux", "freshwater_flux"))
    assert_fields(run.case.forcing.at(0.0), absent)
    assert_fields(run, {STATE + "salinity": 30.0, INTERIOR + "held": ("temperature", "salinity")})


def test_series_of_fluxes_share_a_time_axis(tmp_path):
    hours = np.arange(30.0)
    write_series(tmp_path / "tau.dat", 0.01 * hours, -0.02 * hours)
    write_series(tmp_path / "swr.dat", 10.0 * hours, step=10000)
    stress = {"method": "file", "file": "tau.dat"}
    surface = {"fluxes": {"tx": stress, "ty": stress | {"column": 2}}, "albedo": constant(0.1)}
    surface["swr"] = {"method": "file", "file": "swr.dat", "type": 2}
    forcing = run_of(tmp_path, {"surface": surface}).case.forcing
    assert isinstance(forcing, TimeSeriesForcing)
    for time in (0.0, 12345.0, 86400.0):
        expected = {"stress_u": 0.01 * time / 3600, "stress_v": -0.02 * time / 3600}
        assert_fields(forcing.at(time), expected | {"shortwave_flux": 0.9 * 10.0 * time / 10000})


def test_practical_salinity_without_the_anomaly_of_the_place(tmp_path):
    """GOTM 84f8d8e9 built without the table of anomalies writes these salinities of its case `rouse`."""
    change: dict[str, Any] = {"location": {"latitude": 0.0, "longitude": 0.0}}
    change["salinity"] = constant(20.0) | {"type": "practical"}
    for anomaly, expected in ((False, 20.094309), (True, 20.094631)):
        run = run_of(tmp_path, change, salinity_anomaly=anomaly)
        np.testing.assert_allclose(run.case.initial_state.salinity[-1], expected, atol=1e-6)


def test_bulk_fluxes(tmp_path):
    write_series(tmp_path / "air.dat", 5.0 + np.arange(30.0) / 10, 1013.0 + np.zeros(30))
    write_series(tmp_path / "lw.dat", -60.0 + np.zeros(30))
    surface = {
        "fluxes": {"method": "kondo", "heat": {"scale_factor": 1.2}},
        "u10": {"method": "file", "file": "air.dat"},
        "airp": {"method": "file", "file": "air.dat", "column": 2, "scale_factor": 100.0},
        "swr": {"method": "calculate", "scale_factor": 0.9},
        "ssuv_method": "absolute",
        **{"v10": 2.0, "airt": 284.15, "hum": constant(80.0), "cloud": 0.5, "precip": 1e-7},
    }
    water = water_surface(0.0, 0.0, 12.0, 35.0)
    forcing = run_of(tmp_path, {"surface": surface}).case.forcing
    parts = {"bulk": Kondo, "longwave": Clark, "albedo": Payne, "heat_factor": 1.2, "shortwave_factor": 0.9}
    assert_fields(forcing, parts | dict.fromkeys(("relative_wind", "evaporation", "rain_heat"), False))
    weather = {"wind_u": 5.05, "wind_v": 2.0, "air_temperature": 11.0, "air_pressure": 101300.0}
    absent = {"shortwave": None, "longwave": None}
    assert_fields(forcing.weather.at(1800.0), weather | {"cloud_cover": 0.5} | absent)
    fluxes = forcing.at(43200.0, water)
    assert_fields(fluxes, {"freshwater_flux": 1027.0 * 1e-7})  # GOTM's salt flux is -S P
    assert float(fluxes.shortwave_flux) > 100.0
    # Measured radiation; no albedo is taken off a net shortwave flux, whatever its method.
    longwave = {"method": "file", "file": "lw.dat", "type": 1}
    radiation = {"longwave_radiation": longwave, "swr": 200.0, "fluxes": {"method": "fairall"}}
    forcing = run_of(tmp_path, {"surface": surface | radiation}).case.forcing
    assert isinstance(forcing, BulkForcing) and forcing.longwave is None
    assert_fields(forcing.weather.at(0.0), {"cloud_cover": None, "longwave": -60.0})
    assert_fields(forcing.at(0.0, water), {"shortwave_flux": 200.0})


def test_external_pressure_gradients(tmp_path):
    def gradient(**change):
        return run_of(tmp_path, {"mimic_3d": {"ext_pressure": change}}).case.interior.pressure_gradient

    assert gradient() is None
    slope = gradient(dpdx=-1e-5)
    assert isinstance(slope, terms.SurfaceSlope) and float(slope.series.at(500.0).x) == -1e-5
    tide = {"method": "tidal", "constant_value": 0.1, "tidal": {"amp_1": 0.5, "phase_1": 300.0, "amp_2": 0.2}}
    mean = gradient(type="average_velocity", dpdy=tide, period_1=40000.0, period_2=30000.0)
    assert isinstance(mean, terms.MeanVelocity)
    for time in (600.0, 10200.0, 86400.0):
        first, second = math.sin(math.tau * (time - 300) / 40000), math.sin(math.tau * time / 30000)
        assert float(mean.series.at(time).y) == pytest.approx(0.1 + 0.5 * first + 0.2 * second, abs=1e-12)
    at_height = gradient(type="velocity", dpdx=0.3, h=2.0)
    assert isinstance(at_height, terms.VelocityAtHeight)
    assert float(at_height.series.at(0.0).height) == 2.0


def test_internal_pressure_and_plume(tmp_path):
    gradients = {"type": "gradients", "s_adv": True, "gradients": {"dsdx": constant(1e-4)}}
    made = run_of(tmp_path, {"mimic_3d": {"int_pressure": gradients}}).case.interior.buoyancy_gradient
    assert isinstance(made, terms.BuoyancyGradient)
    assert_fields(made, {"advect_salinity": True, "advect_temperature": False})
    np.testing.assert_array_equal(made.series.at(0.0).salinity_x, 1e-4)
    plume = {"type": "plume", "plume": {"x_slope": 0.01}, "t_adv": True}
    interior = run_of(tmp_path, {"mimic_3d": {"int_pressure": plume}}).case.interior
    assert_fields(interior, {"plume": terms.PlumeOnSlope, "plume.slope_x": 0.01, "plume.at_surface": False})
    carried = {"advect_temperature": True, "accelerates": False}
    assert_fields(interior.buoyancy_gradient, carried)


def test_the_vertical_velocity_that_gotm_7_reads_is_off(tmp_path):
    w = {"max": constant(0.005), "height": -8.0, "adv_discr": "superbee"}
    # GOTM 7 sets the method of w to 0 after it has read it (`initialize_gotm`): nothing is carried.
    still = build(tmp_path, {"mimic_3d": {"w": w}})
    assert still.run.case.interior.vertical_velocity is None
    assert "switches it off" in "\n".join(still.report.lines())
    assert build(tmp_path, {"mimic_3d": {"w": w | {"adv_discr": "p2"}}}).report.errors == ()


def test_stokes_drift(tmp_path):
    def drift_of(**changes):
        waves = {"us": {"method": "empirical"}, "dusdz": {"method": "us"}, "dvsdz": {"method": "vs"}}
        run = run_of(tmp_path, {"waves": {"stokes_drift": waves | changes}})
        made = run.case.interior.stokes_drift
        return made, made.at(run.case.grid, 0.0)

    decay = {name: {"method": "exponential"} for name in ("us", "vs")}
    made, _ = drift_of(**decay, us0=constant(0.1), exponential={"ds": constant(3.0)})
    assert isinstance(made, terms.StokesDrift)
    assert float(made.decay_depth) == 3.0 and float(made.series.at(0.0).u) == 0.1
    made, (u, v) = drift_of(empirical={f"{name}wnd": constant(value) for name, value in WIND.items()})
    assert isinstance(made, terms.WindSeaDrift)
    np.testing.assert_allclose(np.asarray(v) * WIND["u"], np.asarray(u) * WIND["v"], rtol=1e-12)
    assert 0.003 < float(u[-1]) < 0.0162 * WIND["u"]
    # Without bulk fluxes GOTM has no wind input.
    made, (u, v) = drift_of()
    assert not np.any(u) and not np.any(v)
    for name, speed in WIND.items():
        text = f"2011-03-01 00:00:00 2 2\n0.0 {speed}\n-16.0 0.0\n"
        (tmp_path / f"{name}s.dat").write_text(text + text.replace("-03-01", "-03-03"))
    made, (u, v) = drift_of(**{f"{n}s": {"method": "file", "file": f"{n}s.dat"} for n in WIND})
    assert isinstance(made, terms.DriftProfiles)
    np.testing.assert_allclose(u, 4.0 * np.arange(1.0, 17.0, 2.0) / 16.0, rtol=1e-12)
    np.testing.assert_allclose(v, -3.0 * np.arange(1.0, 17.0, 2.0) / 16.0, rtol=1e-12)


def test_the_surface_moves_as_a_constant_a_tide_or_a_file(tmp_path):
    def elevation(zeta, **more):
        series = run_of(tmp_path, {"mimic_3d": {"zeta": zeta}, **more}).case.interior.surface_elevation
        return [] if series is None else [float(series.at(time)) for time in (0.0, 3600.0, 7200.0)]

    assert elevation(0.0) == []
    assert elevation(0.5) == [0.5, 0.5, 0.5]
    assert elevation(0.5, surface={"ice": {"model": "simple"}}) == []
    one = {"amp_1": 2.0, "period_1": 28800.0, "phase_1": 7200.0}
    tide = {"method": "tidal", "constant_value": 0.1, "tidal": one | {"amp_2": 0.5, "period_2": 14400.0}}
    np.testing.assert_allclose(elevation(tide), [-1.9, 0.1 - 2.0 * np.sqrt(0.5) + 0.5, 0.1], atol=1e-12)
    write_series(tmp_path / "zeta.dat", np.linspace(0.0, 3.0, 31))
    read = elevation({"method": "file", "file": "zeta.dat"})
    np.testing.assert_allclose(read, [0.0, 0.1, 0.2], atol=1e-12)
    (tmp_path / "h.dat").write_text("8\n" + 8 * "2.0\n")
    made = build(tmp_path, {"grid": {"method": "file_h", "file": "h.dat"}, "mimic_3d": {"zeta": 0.5}})
    assert any("layers of prescribed thickness do not stretch" in line for line in made.report.differences)
    assert made.run.case.interior.surface_elevation is None


def test_sea_grass_of_a_file(tmp_path):
    (tmp_path / "grass.dat").write_text("3 levels\n0.1 0.0 0.05\n0.5 2.d-2 0.1 # a comment\n1.5 0.05 0.2\n")
    grass = {"method": 1, "file": "grass.dat", "alpha": 0.2}
    run = run_of(tmp_path, {"seagrass": grass, "turbulence": {"keps": {"cex": 1.2}}})
    canopy = run.case.interior.seagrass
    profiles = {"height": [0.1, 0.5, 1.5], "excursion": [0.0, 0.02, 0.05], "friction": [0.05, 0.1, 0.2]}
    assert_fields(canopy, profiles | {"efficiency": 0.2})
    assert set(canopy.own_tracers()) <= set(run.case.initial_state.tracers)
    assert float(run.model.closure.stirring_ratio) == pytest.approx(1.2 / 1.44)
    (tmp_path / "grass.dat").write_text("5\n0.1 0.0 0.05\n0.5 0.02 0.1\n")
    with error_naming(FileFormatError, "grass.dat 1 5 2"):
        run_of(tmp_path, {"seagrass": grass})


def test_ice_at_the_freezing_point_and_friction_of_the_bottom(tmp_path):
    assert isinstance(run_of(tmp_path, {"surface": {"ice": {"model": "simple"}}}).case.ice, FreezingBound)
    run = run_of(tmp_path, {"bottom": {"h0b": 0.1}})
    assert_fields(run.case, {"ice": None, "interior.bottom_friction.physical_roughness": 0.1})
    other = dataclasses.replace(run.model, closure=closures.KEpsilon(imposed_von_karman=0.35))
    for model in (run.model, other):
        friction = model.with_von_karman(run.case).interior.bottom_friction
        assert float(friction.von_karman) == float(model.closure.von_karman)
    smooth = run_of(tmp_path, {"bottom": {"calc_bottom_stress": False}})
    assert smooth.case.interior.bottom_friction is None


def test_equations_of_state(tmp_path):
    linear = {"equation_of_state": {"linear": {"alpha": 3e-4, "cp": 4000.0}}}
    eos = run_of(tmp_path, linear).case.equation_of_state
    assert isinstance(eos, LinearEquationOfState)
    assert_fields(eos, {"thermal_expansion": 3e-4, "heat_capacity": 4000.0})
    tangent = run_of(tmp_path, {"equation_of_state": {"method": "linear_teos-10"}}).case.equation_of_state
    assert isinstance(tangent, LinearEquationOfState)
    assert float(tangent.thermal_expansion) == pytest.approx(gsw.alpha(35.0, 15.0, 0.0), rel=3e-3)
    assert float(tangent.haline_contraction) == pytest.approx(gsw.beta(35.0, 15.0, 0.0), rel=3e-3)


def test_light_extinction_of_a_table_of_numbers_and_of_a_file(tmp_path):
    def transmission(fraction, red, blue):
        return fraction * np.exp(z / red) + (1.0 - fraction) * np.exp(z / blue)

    custom = {"method": "custom", "A": 0.4, "g1": 2.93, "g2": 31.3}
    for light, numbers in (({"method": "jerlov-ib"}, (0.67, 1.0, 17.0)), (custom, (0.4, 2.93, 31.3))):
        case = run_of(tmp_path, {"light_extinction": light}).case
        z = np.asarray(case.grid.z_face)
        found = case.absorption.transmission(case.grid)
        np.testing.assert_allclose(found, transmission(*numbers), atol=1e-12)
    write_series(tmp_path / "light.dat", [0.5, 0.7], [1.0, 3.0], step=86400)
    given = {name: {"method": "file", "file": "light.dat", "column": i} for name, i in (("A", 1), ("g1", 2))}
    case = run_of(tmp_path, {"light_extinction": {"method": "custom", **given, "g2": 10.0}}).case
    for day, numbers in ((0.0, (0.5, 1.0)), (0.25, (0.55, 1.5)), (1.0, (0.7, 3.0))):
        found = case.absorption.at(86400.0 * day).fraction(case.grid.z_face)
        np.testing.assert_allclose(found, transmission(*numbers, 10.0))
    write_series(tmp_path / "light.dat", [0.5, 1.7], [1.0, 3.0], step=86400)
    with error_naming(FileFormatError, "2 0 1"):
        run_of(tmp_path, {"light_extinction": {"method": "custom", **given}})


MY = {"len_scale_method": "mellor_yamada", "tke_method": "mellor_yamada"}
OF_WAVES = {"method": "quasi_eq_h15", "scnd_coeff": "kantha_clayson"}
NO_C3 = {"compute_c3": False, "compute_kappa": False, "kappa": 0.41}
GIVEN = {"gen_m": 1.0, "gen_n": -0.67, "gen_p": 3.0, "cpsi1": 1.0, "cpsi2": 1.22, "cpsi3plus": 0.7}
GENERATED = generic(gen_m=1.0, gen_alpha=-2.53, gen_l=0.25)["turbulence"] | {
    "bc": {"ubc_type": "tke_injection"}
}
GENERATED |= {"turb_method": "first_order", "stab_method": "schumann_gerz", "keps": {"ce3plus": 1.0}}
CLOSURES = (
    (
        {"keps": {"ce1": 1.5}, "turb_param": {"Ri_st": 0.2, "length_lim": False}},
        closures.KEpsilon,
        {"c_eps_1": 1.5, "length_limit": None, "turbulent_kinetic_energy_floor": 1e-8}
        | {"steady_state_richardson_number": 0.2, "c_eps_3_minus": None, "imposed_von_karman": None}
        | {"stability": closures.SecondMomentClosure, "stability.equilibrium": "weak"},
    ),
    (
        {"keps": {"ce3minus": -0.4}, "turb_param": NO_C3, "bc": {"k_ubc": "dirichlet"}}
        | {"scnd": {"method": "quasi_eq", "scnd_coeff": "cheng"}},
        closures.KEpsilon,
        {"c_eps_3_minus": -0.4, "von_karman": 0.41, "stability.equilibrium": "quasi"}
        | {"surface.tke": "value", "bottom.tke": "flux"},
    ),
    (
        {"scnd": {"scnd_coeff": "custom", "cc1": 4.0, "ct1": 6.0}},
        closures.KEpsilon,
        {"stability": closures.SecondMomentClosure, "stability.cc1": 4.0, "stability.cc2": 0.8},
    ),
    (
        {"keps": {"sig_peps": True}, "turb_param": {"compute_kappa": False, "kappa": 0.4}},
        closures.KEpsilon,
        {"varying_schmidt_number": True},
    ),
    ({"len_scale_method": "omega"}, closures.KOmega, {}),
    (MY | {"my": {"length": 3}}, closures.MellorYamada, {"wall_length": "linear", "s_h": None}),
    (
        MY | {"scnd": OF_WAVES},
        closures.MellorYamada,
        {"stability": closures.Harcourt, "s_h": 0.41, "e_6": 4.0},
    ),
    (
        {"len_scale_method": "triangular", "keps": {"sig_k": 1.2}},
        closures.OneEquation,
        {"length": closures.Triangular, "sigma_k": 1.2, "von_karman": 0.4},
    ),
    (
        {"turb_method": "no_model", "turb_param": {"const_num": 1e-3}},
        closures.ConstantDiffusivity,
        {"viscosity": 1e-3, "diffusivity": 5e-4},
    ),
    (
        # GOTM's `analyse_model` has (1.5 - ce3plus) n + m in place of cpsi3plus, and its own kappa.
        GENERIC | {"generic": GIVEN, "turb_param": {"compute_kappa": False, "kappa": 0.3}},
        closures.GenericLengthScale,
        {"exponents.p": 3.0, "exponents.m": 1.0, "exponents.n": -0.67, "c_psi_3_plus": 1.0}
        | {"imposed_von_karman": None},
    ),
    (GENERATED, closures.GenericLengthScale, {"stability": closures.SchumannGerz}),
)


def test_closures(tmp_path):
    closure: Any = None
    for turbulence, kind, expected in CLOSURES:
        closure = run_of(tmp_path, {"turbulence": turbulence}).model.closure
        assert isinstance(closure, kind), turbulence
        assert_fields(closure, expected)
        if turbulence.get("scnd") == OF_WAVES:  # whose constants are its own, but for that of the given set
            known = closures.SecondMomentClosure.of("kantha_clayson").stability_functions()
            assert_fields(closure, {"stability.c_mu_0": known.c_mu_0})
    assert isinstance(closure, closures.GenericLengthScale)
    # The generated constants: homogeneous turbulence decays as it was asked to.
    m, n = closure.exponents.m, closure.exponents.n
    assert -2.0 * n / (2.0 * m + n - 2.0 * float(closure.c_psi_2)) == pytest.approx(-1.2)
    assert float(closure.c_psi_3_plus) == pytest.approx(0.5 * n + m)
    report = build(tmp_path, {"turbulence": {"scnd": {"kb_method": "prognostic"}}}).report
    assert any("kb_method: neither of GOTM's two" in line for line in report.without_effect)


def kpp(**layers) -> dict:
    return {"turbulence": {"turb_method": "cvmix"}, "cvmix": layers}


BOTTOM = {"use": True, "Ri_c": 0.4, "match_technique": "gradient", "use_noDGat1": False}
SURFACE = BOTTOM | {"Ri_c": 0.25, "surface_layer_extent": 0.2, "langmuir_method": "lwf16"}
INSIDE = {
    "use": True,
    "background": {"use": True, "diffusivity": 2e-5},
    "shear": {"use": True, "KPP_Ri_zero": 0.8},
}


def test_kpp_with_and_without_interior_mixing_and_on_the_bottom(tmp_path):
    closure = run_of(tmp_path, kpp(surface_layer=SURFACE), {"waves": {"Hs": 1.5}}).model.closure
    assert isinstance(closure, closures.KPP)
    expected = {"critical_richardson_number": 0.25, "surface_layer_fraction": 0.2, "bottom_layer": None}
    expected |= {"shape": "match_gradient", "match_slope": True}
    expected |= {"langmuir.method": "LWF16", "langmuir.wave_roughness": 6.0}
    expected |= {"langmuir.wind_direction": 0.0, "background_viscosity": 0.0, "background_diffusivity": 0.0}
    assert_fields(closure, expected | {"shear": None})
    closure = run_of(tmp_path, kpp(interior=INSIDE)).model.closure
    expected = {"background_diffusivity": 2e-5, "shear": closures.LargeShear}
    assert_fields(closure, expected | {"shear.limiting_richardson_number": 0.8, "langmuir": None})
    closure = run_of(tmp_path, kpp(surface_layer={"use": False}, bottom_layer=BOTTOM)).model.closure
    assert_fields(closure, {"surface_layer": False, "shear": None})
    expected = {"shape": "match_gradient", "match_slope": True, "critical_richardson_number": 0.4}
    assert_fields(closure.bottom_layer, expected)
    assert float(closure.bottom_layer.unresolved_shear_floor) == 1e-14  # GOTM has none, at either end


def test_what_changes_the_result_and_is_not_supported_is_an_error(tmp_path):
    stokes = {"us": {"method": "empirical"}, "dusdz": {"method": "file", "file": "s"}}
    algebraic = {"len_scale_method": "blackadar", "tke_method": "mellor_yamada"}
    over_air: dict[str, Any] = {"fluxes": {"method": "kondo"}, "airp": 101300.0, "airt": 284.15}
    over_air |= {"hum": constant(80.0), "cloud": 0.5, "swr": {"method": "calculate"}}
    for change, parts in (
        (kpp(interior={"use": True, "tidal_mixing": {"use": True}}), "tidal_mixing.use"),
        (kpp(surface_layer={"match_technique": "gradient", "OBL_interp_type": "cubic"}), "OBL_interp_type"),
        (kpp(surface_layer={"check_Ekman_length": True, "langmuir_method": "rwh16"}), "check_Ekman_length"),
        (kpp(surface_layer={"langmuir_method": "rwh16"}), "langmuir_method lwf16"),
        (kpp(interior={"use": True, "shear": {"use": True, "num_smooth_Ri": 2}}), "num_smooth_Ri 1"),
        ({"turbulence": algebraic}, "turbulence.tke_method blackadar"),
        ({"turbulence": {"tke_method": "mellor_yamada"}}, "turbulence.tke_method tke"),
        ({"turbulence": {"len_scale_method": "bougeault_andre"}}, "turbulence.len_scale_method blackadar"),
        ({"turbulence": {"turb_method": "first_order", "stab_method": "icon"}}, "turbulence.stab_method"),
        ({"turbulence": {"iw": {"method": "mellor"}}}, "turbulence.iw.method large"),
        ({"surface": {"ice": {"model": "winton"}}}, "surface.ice.model winton"),
        ({"surface": over_air | {"longwave_radiation": {"method": "josey1"}}}, "josey1 clark"),
        ({"surface": over_air | {"albedo": {"method": "cogley"}}}, "albedo.method cogley payne"),
        ({"surface": {"ice": {"model": "simple", "H": 0.3}}}, "surface.ice.H"),
        ({"fabm": {"use": True, "feedbacks": {"shade": True}}}, "fabm.use"),
        ({"mimic_3d": {"int_pressure": {"plume": {"type": "surface"}}}}, "plume.type"),
        ({"waves": {"stokes_drift": stokes}}, "stokes_drift.dusdz.method"),
    ):
        errors = "\n".join(build(tmp_path, change).report.errors)
        assert not missing_from(errors, f"small.gotm.yaml {parts}"), errors


def test_the_report_tells_followed_from_idle_keys(tmp_path):
    change = {
        "cvmix": {"surface_layer": {"Ri_c": 0.25, "use": False}},
        "bottom": {"max_it_z0b": 1},
        "fabm": {"use": True, "repair_state": False},
        "mimic_3d": {"zeta": 0.5},
    }
    surface = {"u10": {"column": 4}, "sst": {"method": "file", "file": "no"}, "ice": {"model": "simple"}}
    report = build(tmp_path, change, {"surface": surface}).report
    report.check()
    text = "\n".join(report.lines())
    idle = "cvmix.surface_layer: Ri_c, use:", "surface.u10.column:", "surface.sst: method, file:"
    for part in (*idle, "mimic_3d.zeta.constant_value:"):
        assert part in text
    assert any("fabm.use" in line for line in report.differences)
    assert report.n_followed > 15 and not report.errors


def test_an_empty_group_is_left_out_and_one_of_keys_is_not_a_number(tmp_path):
    assert build(tmp_path, {"surface": {"albedo": None}}).run is not None
    with error_naming(ConfigError, "surface.albedo group 0.2"):
        build(tmp_path, {"surface": {"albedo": 0.2}})


def test_keys_of_a_column_are_translated_where_the_file_sets_them(tmp_path):
    column = {"method": "file", "file": "stress.dat"}
    fluxes = {"tx": column, "ty": column | {"column": 2, "scale_factor": 0.5}}
    case = yaml.safe_load(load_gotm(write_case(tmp_path, {"surface": {"fluxes": fluxes}})).short_text)["case"]
    assert case["fluxes"]["stress_u"].keys() == {"path", "column"}
    assert case["fluxes"]["stress_v"].keys() == {"path", "column", "factor"}


RIVER = {"method": 2, "file": "river.dat"}
LAKE = {
    "location": {"hypsograph": "basin.dat"},
    "streams": {
        "river": {"method": 4, "flow": RIVER | {"column": 1}, "temp": RIVER | {"column": 2}},
        "intake": {"method": 3, "zu": -2.0, "zl": -6.0, "flow": {"constant_value": -1.5}},
    },
}


def lake(folder, *changes) -> Any:
    (folder / "basin.dat").write_text("3 2\n0 9e5\n-4 4e5\n-20 0\n")
    write_series(folder / "river.dat", np.linspace(1.0, 3.0, 25), np.full(25, 7.0))
    return build(folder, copy.deepcopy(LAKE), *changes)


def test_the_basin_and_its_streams_arrive(tmp_path):
    made = lake(tmp_path)
    case = made.run.case
    assert float(case.grid.depth) == 20.0 and float(case.grid.area[-1]) == 9e5
    for note in ("the depth is that of the hypsograph, 20 m", "excess water from streams"):
        assert any(note in line for line in made.report.differences)
    assert case.interior.level is None
    parts = case.interior.streams.streams
    assert_fields(parts["intake"], {"lower": -6.0, "upper": -2.0})
    assert (parts["river"].place, parts["intake"].place) == (StreamPlace.INTERLEAVING, StreamPlace.RANGE)
    assert_fields(parts["river"].series.at(43200.0), {"discharge": 2.0, "temperature": 7.0})
    assert parts["intake"].series.at(0.0).temperature is None


def test_what_cannot_be_read_is_refused(tmp_path):
    for change, parts in (
        ({"streams": {"river": {"flow": {"file": ""}}}}, "streams.river.flow.file"),
        ({"streams": {"river": {"depth": 3.0}}}, "streams.river.depth"),
        ({"streams": {"river": {"method": 9}}}, "streams.river.method"),
        ({"streams": {"river": 3.0}}, "streams"),
        ({"location": {"hypsograph": "basin.txt"}}, "basin.txt"),
    ):
        with error_naming((ConfigError, FileNotFoundError), parts):
            lake(tmp_path, change)


def test_a_level_follows_the_water_or_a_series_and_streams_need_a_lake(tmp_path):
    balance = {"water_balance_method": 3}
    report = lake(tmp_path, balance).report
    assert any("zeta.method: water_balance need each other" in error for error in report.errors)
    zeta = {"method": "water_balance", "constant_value": -0.4}
    level = lake(tmp_path, balance, {"mimic_3d": {"zeta": zeta}}).run.case.interior.level
    slope = (np.sqrt(9e5) - np.sqrt(4e5)) / 4.0
    highest = (np.sqrt(9e5) + 2.0 * slope) ** 2
    assert float(level.initial) == -0.4 and level.prescribed is None
    np.testing.assert_allclose([level.basin.z[0], level.basin.z[-1], level.basin.area[-1]], [-20, 2, highest])
    level = lake(tmp_path, {"mimic_3d": {"zeta": {"constant_value": 0.3}}}).run.case.interior.level
    np.testing.assert_allclose(level.prescribed.at(0.0), 0.3)
    assert lake(tmp_path, {"location": {"hypsograph": ""}}).run.case.interior.streams is None
