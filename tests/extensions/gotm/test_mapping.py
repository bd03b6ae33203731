"""From a configuration of GOTM to the objects of a run, and what the report says of every key."""

import dataclasses
import math
from typing import Any

import gsw
import numpy as np
import pytest
import yaml

from tests.errors import error_naming, missing_from
from tests.extensions.gotm.folders import write_case, write_series
from tests.helpers import water_surface
from tunax_lite.air_sea import BulkForcing, Clark, Kondo, Payne
from tunax_lite.closures import (
    KPP,
    Constant,
    GenericLengthScale,
    Harcourt,
    KEpsilon,
    KOmega,
    MellorYamada,
    OneEquation,
    PacanowskiPhilanderShear,
    SchumannGerz,
    SecondMomentClosure,
    Triangular,
)
from tunax_lite.column.forcing import ConstantForcing, TimeSeriesForcing
from tunax_lite.column.terms import (
    BuoyancyGradient,
    DriftProfiles,
    MeanVelocity,
    PlumeOnSlope,
    StokesDrift,
    SurfaceSlope,
    VelocityAtHeight,
    WindSeaDrift,
)
from tunax_lite.config import ConfigError
from tunax_lite.extensions.gotm import GotmOptions, build_gotm, load_gotm
from tunax_lite.ice import FreezingBound
from tunax_lite.io.errors import FileFormatError
from tunax_lite.physics.equation_of_state import LinearEquationOfState, SpecificVolumeTeos10

UV = {"u": 4.0, "v": -3.0}


def build(folder, *changes, overrides=()):
    return build_gotm(load_gotm(write_case(folder, *changes), overrides))


def run_of(folder, *changes) -> Any:
    made = build(folder, *changes)
    made.report.check()
    return made.run


def number(value) -> float:
    return float(value)


def errors_of(folder, *changes) -> str:
    return "\n".join(build(folder, *changes).report.errors)


def test_time_grid_and_constants(tmp_path):
    run = run_of(tmp_path, {"grid": {"ddu": 2.0}, "time": {"cnpar": 0.6}})
    assert (run.dt, run.output_interval, run.case.duration) == (600.0, 21600.0, 86400.0)
    assert run.case.start_time == "2011-03-01T00:00:00" and run.case.name == "small"
    alone = write_case(tmp_path).rename(tmp_path / "gotm.yaml")  # as GOTM's own folders have it
    assert load_gotm(alone).name == tmp_path.name
    faces = np.asarray(run.case.grid.z_face)
    expected = 16.0 * (np.tanh(2.0 * np.arange(9) / 8) / np.tanh(2.0) - 1.0)
    np.testing.assert_allclose(faces, expected, atol=1e-12)
    assert float(run.case.coriolis_parameter) == pytest.approx(4 * math.pi / 86164 * math.sin(math.pi / 4))
    assert run.model.theta == 0.6
    assert float(run.model.molecular_salt_diffusivity) == 1.1e-9


@pytest.mark.parametrize(("method", "scale"), [("file_sigma", 1.0 / 16.0), ("file_h", 1.0)])
def test_grids_of_files_go_from_the_surface_down(tmp_path, method, scale):
    thickness = np.array([1.0, 1.0, 2.0, 4.0, 8.0])
    grid = {"method": method, "nlev": 5, "file": "grid.dat"}
    (tmp_path / "grid.dat").write_text("5\n" + "".join(f"{scale * h}\n" for h in thickness))
    run = run_of(tmp_path, {"grid": grid})
    np.testing.assert_allclose(run.case.grid.cell_thickness, thickness[::-1], atol=1e-12)
    with error_naming(FileFormatError, "1 6"):
        build(tmp_path, {"grid": grid | {"nlev": 6}})
    (tmp_path / "grid.dat").write_text("5\n" + "".join(f"{0.9 * scale * h}\n" for h in thickness))
    with error_naming(FileFormatError, f"grid.dat 1 {16.0 * scale:g} {14.4 * scale:g}"):
        build(tmp_path, {"grid": grid})


def _kpp(**layers) -> dict:
    return {"turbulence": {"turb_method": "cvmix"}, "cvmix": layers}


def test_kpp_with_and_without_interior_mixing(tmp_path):
    surface = {"Ri_c": 0.25, "surface_layer_extent": 0.2, "match_technique": "gradient", "use_noDGat1": False}
    surface |= {"bulk_Ri_interp_type": "cubic", "langmuir_method": "rwh16", "check_Ekman_length": True}
    closure = run_of(tmp_path, _kpp(surface_layer=surface), {"waves": {"Hs": 1.5}}).model.closure
    assert isinstance(closure, KPP) and closure.shape == "match_gradient" and closure.match_slope
    assert float(closure.critical_richardson_number) == 0.25 and float(closure.surface_layer_fraction) == 0.2
    assert closure.depth_interpolation == "cubic" and closure.limit_by_ekman_depth
    assert closure.langmuir is not None and closure.langmuir.method == "RWHGK16"
    assert float(closure.langmuir.wave_roughness) == 6.0 and closure.langmuir.wind_direction == 0.0
    assert closure.shear is closure.convection is closure.double_diffusion is None
    assert float(closure.background_viscosity) == float(closure.background_diffusivity) == 0.0
    interior = {
        "use": True,
        "background": {"use": True, "diffusivity": 2e-5},
        "shear": {"use": True, "mix_scheme": "pp", "PP_alpha": 4.0, "num_smooth_Ri": 2},
        "convection": {"use": True, "diffusivity": 0.5, "triggerBVF": -1e-6},
        "double_diffusion": {"use": True},
    }
    closure = run_of(tmp_path, _kpp(interior=interior)).model.closure
    assert isinstance(closure, KPP) and float(closure.background_diffusivity) == 2e-5
    assert isinstance(closure.shear, PacanowskiPhilanderShear) and float(closure.shear.alpha) == 4.0
    assert closure.n_smoothing == 2 and closure.double_diffusion is not None and closure.langmuir is None
    assert closure.convection is not None and float(closure.convection.threshold) == -1e-6


def test_settings_that_fit_nothing_name_their_line(tmp_path):
    for change, parts in (
        ({"time": {"start": "2011-03-01"}}, "time.start 2011-03-01 7"),
        ({"time": {"stop": "2011-02-01 00:00:00"}}, "time.stop 8"),
        ({"time": {"dt": 0.0}}, "time.dt 0"),
        ({"turbulence": {"keps": {"ce2": 1.4}}}, "keps.ce2 ce1 1.44 line"),
        ({"turbulence": {"turb_param": {"Ri_st": 0.9}}}, "turb_param.Ri_st 0.843 0.9"),
        ({"turbulence": {"turb_param": {"k_min": 0.0}}}, "turb_param.k_min 0 line"),
        ({"turbulence": {"len_scale_method": "gls", "generic": {"gen_n": 0.5}}}, "generic.gen_n 0.5"),
        ({"time": {"method": "MaxN"}}, "time.method start_stop"),
        ({"grid": {"nlev": 2}}, "grid.nlev 3 2"),
        ({"output": {"prof": {"time_unit": "fortnight"}}}, "output.prof.time_unit fortnight line"),
        ({"temperature": {"relax": {"tau": 0.0}}}, "temperature.relax.tau 0"),
        ({"temperature": {"method": "buoyancy"}, "salinity": {"method": "two_layer"}}, "salinity"),
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
        run = build_gotm(load_gotm(path)).run
        assert run is not None and run.output_interval == expected, files


def test_initial_profiles_of_numbers(tmp_path):
    two = {"method": "two_layer", "two_layer": {"z_s": 4.0, "t_s": 20.0, "z_b": 8.0, "t_b": 10.0}}
    state = run_of(tmp_path, {"temperature": two}).case.initial_state
    # Depths count from the uppermost center, 1 m below the surface.
    np.testing.assert_allclose(state.temperature, [10, 10, 10, 10, 15, 20, 20, 20], atol=1e-12)
    buoyant = {"method": "buoyancy", "NN": 1e-4, "two_layer": {"t_s": 20.0}}
    run = run_of(tmp_path, {"temperature": buoyant})
    gradient = np.diff(np.asarray(run.case.initial_state.temperature)) / 2.0
    np.testing.assert_allclose(gradient * 2e-4 * 9.81, 1e-4, rtol=1e-12)
    salty = {"method": "buoyancy", "NN": 1e-4, "two_layer": {"s_s": 30.0}}
    run = run_of(tmp_path, {"salinity": salty})
    np.testing.assert_allclose(np.diff(np.asarray(run.case.initial_state.salinity)), -2e-4 / 7.5e-4 / 9.81)


def test_a_constant_buoyancy_frequency_with_teos10(tmp_path):
    buoyant = {"method": "buoyancy", "NN": 1e-4, "two_layer": {"t_s": 20.0}}
    run = run_of(tmp_path, {"temperature": buoyant, "equation_of_state": {"method": "full_teos-10"}})
    case = run.case
    temperature = np.asarray(case.initial_state.temperature)
    assert isinstance(case.equation_of_state, SpecificVolumeTeos10)
    alpha = gsw.alpha(35.0, 0.5 * (temperature[1:] + temperature[:-1]), -np.asarray(case.grid.z_face[1:-1]))
    # The second of the two passes has the coefficient of the first guess.
    np.testing.assert_allclose(9.81 * alpha * np.diff(temperature) / 2.0, 1e-4, rtol=2e-4)


def test_measured_profiles_are_converted_at_the_reader(tmp_path):
    (tmp_path / "t.dat").write_text("2011-01-01 00:00:00 2 2\n0 20\n-16 10\n2011-05-01 00:00:00 1 2\n-1 5\n")
    run = run_of(
        tmp_path,
        {"temperature": {"method": "file", "file": "t.dat", "type": "in-situ"}},
        {"salinity": {"type": "practical"}},
    )
    z = np.asarray(run.case.grid.z_center)
    # Interpolated in time first: 59 of 120 days have passed.
    measured = (1 - 59 / 120) * (20 + 10 * z / 16) + 59 / 120 * 5.0
    salinity = gsw.SA_from_SP(35.0, -z, -30.0, 45.0)
    expected = gsw.CT_from_t(salinity, measured, -z)
    np.testing.assert_allclose(run.case.initial_state.temperature, expected, atol=1e-12)
    np.testing.assert_allclose(run.case.initial_state.salinity, salinity, atol=1e-12)
    assert run.case.interior.relaxation is None


def test_relaxation_has_layers_and_converted_targets(tmp_path):
    (tmp_path / "s.dat").write_text("2011-03-01 00:00:00 1 2\n-1 34\n2011-03-02 00:00:00 1 2\n-1 36\n")
    relax = {"tau": 1e6, "tau_s": 1e3, "h_s": 3.0, "tau_b": 1e4, "h_b": 1.0}
    run = run_of(tmp_path, {"salinity": {"method": "file", "file": "s.dat", "relax": relax}})
    relaxation = run.case.interior.relaxation
    assert relaxation is not None and relaxation.temperature is None and relaxation.salinity is not None
    target = relaxation.salinity
    np.testing.assert_allclose(target.rate, [1e-4] + 5 * [1e-6] + 2 * [1e-3], rtol=1e-12)
    # At the end of a step of 600 s that of its start: GOTM converts it at the end, for the next step.
    np.testing.assert_allclose(target.profiles.at(43200.0 + 600.0), 35.0, atol=1e-12)
    np.testing.assert_allclose(target.profiles.at(600.0), 34.0, atol=1e-12)
    velocity = run_of(tmp_path, {"velocities": {"u": 0.3, "relax": {"tau": 1e4}}}).case
    np.testing.assert_allclose(velocity.initial_state.u, 0.3)
    assert velocity.interior.relaxation is not None and velocity.interior.relaxation.v is not None


def test_constant_fluxes(tmp_path):
    forcing = run_of(
        tmp_path, {"surface": {"fluxes": {"heat": -50.0}, "swr": 100.0, "precip": 1e-7}}
    ).case.forcing
    assert isinstance(forcing, ConstantForcing)
    fluxes = forcing.at(0.0)
    given = (fluxes.stress_u, fluxes.heat_flux, fluxes.shortwave_flux, fluxes.freshwater_flux)
    np.testing.assert_allclose(np.array(given), [0.1, -50.0, 100.0, 1.027e-4])
    assert fluxes.stress_v is None


def test_series_of_fluxes_share_a_time_axis(tmp_path):
    hours = np.arange(30.0)
    write_series(tmp_path / "tau.dat", 0.01 * hours, -0.02 * hours)
    write_series(tmp_path / "swr.dat", 10.0 * hours, step=10000)
    run = run_of(
        tmp_path,
        {"surface": {"fluxes": {"tx": {"method": "file", "file": "tau.dat"}}}},
        {"surface": {"fluxes": {"ty": {"method": "file", "file": "tau.dat", "column": 2}}}},
        {"surface": {"swr": {"method": "file", "file": "swr.dat", "type": 2}}},
        {"surface": {"albedo": {"method": "constant", "constant_value": 0.1}}},
    )
    assert isinstance(run.case.forcing, TimeSeriesForcing)
    for time in (0.0, 12345.0, 86400.0):
        fluxes = run.case.forcing.at(time)
        assert number(fluxes.stress_u) == pytest.approx(0.01 * time / 3600)
        assert number(fluxes.stress_v) == pytest.approx(-0.02 * time / 3600)
        assert number(fluxes.shortwave_flux) == pytest.approx(0.9 * 10.0 * time / 10000)


def test_variables_that_are_off_take_no_flux_and_are_held(tmp_path):
    off = {"temperature": {"method": "off"}, "salinity": {"method": "off", "constant_value": 30.0}}
    run = run_of(tmp_path, off, {"surface": {"fluxes": {"heat": -50.0}, "swr": 100.0, "precip": 1e-7}})
    fluxes = run.case.forcing.at(0.0)
    assert fluxes.heat_flux is fluxes.shortwave_flux is fluxes.freshwater_flux is None
    np.testing.assert_array_equal(run.case.initial_state.salinity, 30.0)
    assert run.case.interior.held == ("temperature", "salinity")


def test_practical_salinity_without_the_anomaly_of_the_place(tmp_path):
    """GOTM 84f8d8e9 built without the table of anomalies writes these salinities of its case `rouse`."""
    salinity = {"method": "constant", "constant_value": 20.0, "type": "practical"}
    path = write_case(tmp_path, {"location": {"latitude": 0.0, "longitude": 0.0}}, {"salinity": salinity})
    for anomaly, expected in ((False, 20.094309), (True, 20.094631)):
        made = build_gotm(load_gotm(path, config=GotmOptions(salinity_anomaly=anomaly)))
        assert made.run is not None
        np.testing.assert_allclose(made.run.case.initial_state.salinity[-1], expected, atol=1e-6)


def weather_changes(folder):
    write_series(folder / "air.dat", 5.0 + np.arange(30.0) / 10, 1013.0 + np.zeros(30))
    return {
        "surface": {
            "fluxes": {"method": "kondo", "heat": {"scale_factor": 1.2}},
            "u10": {"method": "file", "file": "air.dat"},
            "v10": 2.0,
            "airp": {"method": "file", "file": "air.dat", "column": 2, "scale_factor": 100.0},
            "airt": 284.15,
            "hum": {"method": "constant", "constant_value": 80.0},
            "cloud": 0.5,
            "swr": {"method": "calculate", "scale_factor": 0.9},
            "precip": 1e-7,
            "ssuv_method": "absolute",
        }
    }


def test_bulk_fluxes(tmp_path):
    forcing = run_of(tmp_path, weather_changes(tmp_path)).case.forcing
    assert isinstance(forcing, BulkForcing)
    kinds = (forcing.bulk, forcing.longwave, forcing.albedo)
    assert [type(kind) for kind in kinds] == [Kondo, Clark, Payne]
    weather = forcing.weather.at(1800.0)
    names = ("wind_u", "wind_v", "air_temperature", "air_pressure", "cloud_cover")
    given = np.array([getattr(weather, name) for name in names])
    np.testing.assert_allclose(given, [5.05, 2.0, 11.0, 101300.0, 0.5], atol=1e-10)
    assert weather.shortwave is None and weather.longwave is None
    assert float(forcing.heat_factor) == 1.2 and float(forcing.shortwave_factor) == 0.9
    assert not forcing.relative_wind and not forcing.evaporation and not forcing.rain_heat
    fluxes = forcing.at(43200.0, water_surface(0.0, 0.0, 12.0, 35.0))
    # GOTM's salt flux is -S P.
    assert number(fluxes.freshwater_flux) == pytest.approx(1027.0 * 1e-7)
    assert number(fluxes.shortwave_flux) > 100.0


def test_bulk_fluxes_with_measured_radiation(tmp_path):
    longwave = {"method": "file", "file": "lw.dat", "type": 1}
    write_series(tmp_path / "lw.dat", -60.0 + np.zeros(30))
    surface = {"longwave_radiation": longwave, "swr": 200.0, "fluxes": {"method": "fairall"}}
    forcing = run_of(tmp_path, weather_changes(tmp_path), {"surface": surface}).case.forcing
    assert isinstance(forcing, BulkForcing) and forcing.longwave is None
    weather = forcing.weather.at(0.0)
    assert weather.cloud_cover is None and number(weather.longwave) == -60.0
    # Net shortwave radiation: no albedo is taken off, whatever its method.
    assert number(forcing.at(0.0, water_surface(0.0, 0.0, 12.0, 35.0)).shortwave_flux) == 200.0


def test_external_pressure_gradients(tmp_path):
    def gradient(**change):
        return run_of(tmp_path, {"mimic_3d": {"ext_pressure": change}}).case.interior.pressure_gradient

    assert gradient() is None
    slope = gradient(dpdx=-1e-5)
    assert isinstance(slope, SurfaceSlope) and float(slope.series.at(500.0).x) == -1e-5
    tide = {"method": "tidal", "constant_value": 0.1, "tidal": {"amp_1": 0.5, "phase_1": 300.0, "amp_2": 0.2}}
    mean = gradient(type="average_velocity", dpdy=tide, period_1=40000.0, period_2=30000.0)
    assert isinstance(mean, MeanVelocity)
    for step in (1, 17, 144):
        time = 600.0 * step
        expected = (
            0.1
            + 0.5 * math.sin(2 * math.pi * (time - 300) / 40000)
            + 0.2 * math.sin(2 * math.pi * time / 30000)
        )
        assert float(mean.series.at(time).y) == pytest.approx(expected, abs=1e-12)
    at_height = gradient(type="velocity", dpdx=0.3, h=2.0)
    assert isinstance(at_height, VelocityAtHeight)
    assert float(at_height.series.at(0.0).height) == 2.0


def test_internal_pressure_vertical_velocity_and_waves(tmp_path):
    gradients = {
        "type": "gradients",
        "s_adv": True,
        "gradients": {"dsdx": {"method": "constant", "constant_value": 1e-4}},
    }
    made = run_of(tmp_path, {"mimic_3d": {"int_pressure": gradients}}).case.interior.buoyancy_gradient
    assert isinstance(made, BuoyancyGradient) and made.advect_salinity and not made.advect_temperature
    np.testing.assert_array_equal(made.series.at(0.0).salinity_x, 1e-4)
    plume = {"type": "plume", "plume": {"x_slope": 0.01}}
    made = run_of(tmp_path, {"mimic_3d": {"int_pressure": plume | {"t_adv": True}}}).case.interior
    assert isinstance(made.plume, PlumeOnSlope)
    assert float(made.plume.slope_x) == 0.01 and not made.plume.at_surface
    carried = made.buoyancy_gradient
    assert isinstance(carried, BuoyancyGradient) and carried.advect_temperature and not carried.accelerates
    w = {"max": {"method": "constant", "constant_value": 0.005}, "height": -8.0, "adv_discr": "superbee"}
    # GOTM 7 sets the method of w to 0 after it has read it (`initialize_gotm`): nothing is carried.
    still: Any = build(tmp_path, {"mimic_3d": {"w": w}})
    assert still.run.case.interior.vertical_velocity is None
    assert "switches it off" in "\n".join(still.report.lines())
    loaded = load_gotm(tmp_path / "small.gotm.yaml", config=GotmOptions(vertical_velocity=True))
    run: Any = build_gotm(loaded).run
    made = run.case.interior.vertical_velocity
    assert made is not None and made.n_substeps == 2 and made.scheme.value == "superbee"
    drift = {"us0": {"method": "constant", "constant_value": 0.1}, "us": {"method": "exponential"}}
    drift |= {"vs": {"method": "exponential"}, "dusdz": {"method": "us"}, "dvsdz": {"method": "vs"}}
    drift["exponential"] = {"ds": {"method": "constant", "constant_value": 3.0}}
    made = run_of(tmp_path, {"waves": {"stokes_drift": drift}}).case.interior.stokes_drift
    assert isinstance(made, StokesDrift)
    assert float(made.decay_depth) == 3.0 and float(made.series.at(0.0).u) == 0.1


def test_stokes_drift_of_the_wind_and_of_profiles(tmp_path):
    def drift_of(**changes):
        waves = {"us": {"method": "empirical"}, "dusdz": {"method": "us"}, "dvsdz": {"method": "vs"}}
        run = run_of(tmp_path, {"waves": {"stokes_drift": waves | changes}})
        made = run.case.interior.stokes_drift
        assert made is not None
        return made, made.at(run.case.grid, 0.0)

    wind = {f"{name}wnd": {"method": "constant", "constant_value": value} for name, value in UV.items()}
    made, (u, v) = drift_of(empirical=wind)
    assert isinstance(made, WindSeaDrift)
    np.testing.assert_allclose(np.asarray(v) * UV["u"], np.asarray(u) * UV["v"], rtol=1e-12)
    assert 0.003 < float(u[-1]) < 0.0162 * UV["u"]
    # Without bulk fluxes GOTM has no wind input.
    made, (u, v) = drift_of()
    assert not np.any(u) and not np.any(v)
    for name, speed in UV.items():
        text = f"2011-03-01 00:00:00 2 2\n0.0 {speed}\n-16.0 0.0\n"
        (tmp_path / f"{name}s.dat").write_text(text + text.replace("-03-01", "-03-03"))
    files = {f"{name}s": {"method": "file", "file": f"{name}s.dat"} for name in UV}
    made, (u, v) = drift_of(**files)
    assert isinstance(made, DriftProfiles)
    np.testing.assert_allclose(u, 4.0 * np.arange(1.0, 17.0, 2.0) / 16.0, rtol=1e-12)
    np.testing.assert_allclose(v, -3.0 * np.arange(1.0, 17.0, 2.0) / 16.0, rtol=1e-12)


def test_freezing_fading_relaxation_and_algebraic_lengths(tmp_path):
    freezing = {"surface": {"ice": {"model": "simple"}}}
    assert isinstance(run_of(tmp_path, freezing).case.ice, FreezingBound)
    assert run_of(tmp_path).case.ice is None
    fading = {"velocities": {"relax": {"tau": 3600.0, "ramp": 7200.0}}}
    relaxation = run_of(tmp_path, fading).case.interior.relaxation
    assert relaxation is not None and relaxation.u is not None
    rates = [float(relaxation.u.rate_at(time)[0]) * 3600.0 for time in (600.0, 3600.0, 7200.0, 9000.0)]
    np.testing.assert_allclose(rates, [11.0 / 12.0, 0.5, 1.0, 1.0], rtol=1e-12)
    turbulence = {"len_scale_method": "triangular", "tke_method": "local_eq", "keps": {"sig_k": 1.2}}
    closure = run_of(tmp_path, {"turbulence": turbulence}).model.closure
    assert isinstance(closure, OneEquation) and isinstance(closure.length, Triangular)
    assert closure.local_equilibrium and float(closure.sigma_k) == 1.2 and float(closure.von_karman) == 0.4


def test_the_schmidt_number_under_breaking_waves_needs_kappa(tmp_path):
    waves = {"keps": {"sig_peps": True}, "turb_param": {"compute_kappa": False, "kappa": 0.4}}
    closure = run_of(tmp_path, {"turbulence": waves}).model.closure
    assert isinstance(closure, KEpsilon) and closure.varying_schmidt_number
    with error_naming(ConfigError, "turbulence.keps.sig_peps turb_param"):
        build(tmp_path, {"turbulence": {"keps": {"sig_peps": True}}})
    # The buoyancy variance acts on nothing.
    report = build(tmp_path, {"turbulence": {"scnd": {"kb_method": "prognostic"}}}).report
    assert any("kb_method: neither of GOTM's two" in line for line in report.without_effect)


def test_bottom_friction_has_the_closures_von_karman_constant(tmp_path):
    run = run_of(tmp_path, {"bottom": {"h0b": 0.1}})
    friction = run.case.interior.bottom_friction
    assert friction is not None and float(friction.physical_roughness) == 0.1
    for model in (run.model, dataclasses.replace(run.model, closure=KEpsilon(imposed_von_karman=0.35))):
        friction = model.with_von_karman(run.case).interior.bottom_friction
        assert friction is not None and isinstance(model.closure, KEpsilon)
        assert float(friction.von_karman) == float(model.closure.von_karman)
    assert run_of(tmp_path, {"bottom": {"calc_bottom_stress": False}}).case.interior.bottom_friction is None


def test_equations_of_state_and_light(tmp_path):
    eos = run_of(
        tmp_path, {"equation_of_state": {"linear": {"alpha": 3e-4, "cp": 4000.0}}}
    ).case.equation_of_state
    assert isinstance(eos, LinearEquationOfState)
    assert (float(eos.thermal_expansion), float(eos.heat_capacity)) == (3e-4, 4000.0)
    tangent = run_of(tmp_path, {"equation_of_state": {"method": "linear_teos-10"}}).case.equation_of_state
    assert isinstance(tangent, LinearEquationOfState)
    assert float(tangent.thermal_expansion) == pytest.approx(gsw.alpha(35.0, 15.0, 0.0), rel=3e-3)
    assert float(tangent.haline_contraction) == pytest.approx(gsw.beta(35.0, 15.0, 0.0), rel=3e-3)
    case = run_of(tmp_path, {"light_extinction": {"method": "jerlov-ib"}}).case
    transmission = np.asarray(case.absorption.transmission(case.grid))
    z = np.asarray(case.grid.z_face)
    np.testing.assert_allclose(transmission, 0.67 * np.exp(z) + 0.33 * np.exp(z / 17.0), atol=1e-12)
    custom = {"method": "custom", "A": 0.4, "g1": 2.93, "g2": 31.3}
    case = run_of(tmp_path, {"light_extinction": custom}).case
    np.testing.assert_allclose(
        case.absorption.transmission(case.grid), 0.4 * np.exp(z / 2.93) + 0.6 * np.exp(z / 31.3), atol=1e-12
    )


def closure_of(folder, **turbulence):
    return run_of(folder, {"turbulence": turbulence}).model.closure


def test_closures(tmp_path):
    closure = closure_of(tmp_path, keps={"ce1": 1.5}, turb_param={"Ri_st": 0.2, "length_lim": False})
    assert isinstance(closure, KEpsilon) and isinstance(closure.stability, SecondMomentClosure)
    assert float(closure.c_eps_1) == 1.5 and closure.length_limit is None
    assert float(closure.turbulent_kinetic_energy_floor) == 1e-8
    assert float(closure.steady_state_richardson_number) == 0.2 and closure.c_eps_3_minus is None
    assert closure.stability.equilibrium == "weak" and closure.imposed_von_karman is None
    closure = closure_of(
        tmp_path,
        keps={"ce3minus": -0.4},
        turb_param={"compute_c3": False, "compute_kappa": False, "kappa": 0.41},
        scnd={"method": "quasi_eq", "scnd_coeff": "cheng"},
        bc={"k_ubc": "dirichlet"},
    )
    assert isinstance(closure, KEpsilon) and isinstance(closure.stability, SecondMomentClosure)
    assert closure.c_eps_3_minus is not None and float(closure.c_eps_3_minus) == -0.4
    assert float(closure.von_karman) == pytest.approx(0.41) and closure.stability.equilibrium == "quasi"
    assert closure.surface.tke == "value" and closure.bottom.tke == "flux"
    assert isinstance(closure_of(tmp_path, len_scale_method="omega"), KOmega)
    closure = closure_of(
        tmp_path, len_scale_method="mellor_yamada", tke_method="mellor_yamada", my={"length": 3}
    )
    assert isinstance(closure, MellorYamada) and closure.wall_length == "linear" and closure.s_h is None
    in_waves = {"method": "quasi_eq_h15", "scnd_coeff": "kantha_clayson"}
    closure = closure_of(
        tmp_path, len_scale_method="mellor_yamada", tke_method="mellor_yamada", scnd=in_waves
    )
    assert isinstance(closure, MellorYamada) and isinstance(closure.stability, Harcourt)
    assert (float(closure.s_h or 0.0), float(closure.e_6)) == (0.41, 4.0)
    known = SecondMomentClosure.of("kantha_clayson").stability_functions()
    assert float(closure.stability.stability_functions().c_mu_0) == float(known.c_mu_0)
    closure = closure_of(tmp_path, turb_method="no_model", turb_param={"const_num": 1e-3})
    assert isinstance(closure, Constant)
    assert (float(closure.viscosity), float(closure.diffusivity)) == (1e-3, 5e-4)
    custom = closure_of(tmp_path, scnd={"scnd_coeff": "custom", "cc1": 4.0, "ct1": 6.0})
    assert isinstance(custom, KEpsilon) and isinstance(custom.stability, SecondMomentClosure)
    assert (float(custom.stability.cc1), float(custom.stability.cc2)) == (4.0, 0.8)


def test_generic_length_scale_given_and_generated(tmp_path):
    given = {"gen_m": 1.0, "gen_n": -0.67, "gen_p": 3.0, "cpsi1": 1.0, "cpsi2": 1.22, "cpsi3plus": 0.7}
    closure = closure_of(tmp_path, len_scale_method="gls", generic=given)
    assert isinstance(closure, GenericLengthScale) and tuple(closure.exponents) == (3.0, 1.0, -0.67)
    # GOTM's `analyse_model` has (1.5 - ce3plus) n + m in place of what is given, and its own kappa.
    assert float(closure.c_psi_3_plus) == 1.0
    kappa = {"compute_kappa": False, "kappa": 0.3}
    same: Any = closure_of(tmp_path, len_scale_method="gls", generic=given, turb_param=kappa)
    assert same.imposed_von_karman is None
    generated = {"compute_param": True, "gen_m": 1.0, "gen_alpha": -2.53, "gen_l": 0.25}
    closure = closure_of(
        tmp_path,
        turb_method="first_order",
        stab_method="schumann_gerz",
        len_scale_method="gls",
        generic=generated,
        keps={"ce3plus": 1.0},
        bc={"ubc_type": "tke_injection"},
    )
    assert isinstance(closure, GenericLengthScale) and isinstance(closure.stability, SchumannGerz)
    # The decay of homogeneous turbulence that was asked for, from the exponents and constants.
    m, n = closure.exponents.m, closure.exponents.n
    decay = -2.0 * n / (2.0 * m + n - 2.0 * float(closure.c_psi_2))
    assert decay == pytest.approx(-1.2)
    assert float(closure.c_psi_3_plus) == pytest.approx(0.5 * n + m)


def test_what_changes_the_result_and_is_not_supported_is_an_error(tmp_path):
    stokes = {"us": {"method": "empirical"}, "dusdz": {"method": "file", "file": "s"}}
    algebraic = {"len_scale_method": "blackadar", "tke_method": "mellor_yamada"}
    for change, parts in (
        (_kpp(interior={"use": True, "tidal_mixing": {"use": True}}), "tidal_mixing.use"),
        (_kpp(surface_layer={"match_technique": "both", "OBL_interp_type": "cubic"}), "OBL_interp_type"),
        ({"turbulence": algebraic}, "turbulence.tke_method blackadar"),
        ({"turbulence": {"tke_method": "mellor_yamada"}}, "turbulence.tke_method tke"),
        ({"surface": {"ice": {"model": "winton"}}}, "surface.ice.model winton"),
        ({"surface": {"ice": {"model": "simple", "H": 0.3}}}, "surface.ice.H"),
        ({"fabm": {"use": True, "feedbacks": {"shade": True}}}, "fabm.use"),
        ({"mimic_3d": {"int_pressure": {"plume": {"type": "surface"}}}}, "plume.type"),
        ({"waves": {"stokes_drift": stokes}}, "stokes_drift.dusdz.method"),
        ({"turbulence": {"len_scale_method": "eifler_schrimpf"}}, "turbulence.len_scale_method"),
    ):
        errors = errors_of(tmp_path, change)
        assert not missing_from(errors, f"small.gotm.yaml {parts}"), errors


def test_a_scheme_of_advection_that_is_not_there_is_an_error_where_water_rises(tmp_path):
    change = {"mimic_3d": {"w": {"max": 1e-4, "adv_discr": "p2"}}}
    assert errors_of(tmp_path, change) == ""  # as in GOTM 7, which carries nothing by w
    path, carried = tmp_path / "small.gotm.yaml", GotmOptions(vertical_velocity=True)
    errors = "\n".join(build_gotm(load_gotm(path, config=carried)).report.errors)
    assert f"{path}" in errors and "adv_discr" in errors


def test_the_report_tells_followed_from_idle_keys(tmp_path):
    report = build(
        tmp_path,
        {"cvmix": {"surface_layer": {"Ri_c": 0.25, "use": False}}, "bottom": {"max_it_z0b": 1}},
        {"fabm": {"use": True, "repair_state": False}, "mimic_3d": {"zeta": 0.5}},
        {"surface": {"u10": {"column": 4}, "sst": {"method": "file", "file": "nowhere.dat"}}},
        {"surface": {"ice": {"model": "simple"}}},
    ).report
    text = "\n".join(report.lines())
    report.check()
    for part in ("cvmix.surface_layer: Ri_c, use:", "surface.u10.column:", "surface.sst: method, file:"):
        assert part in text
    assert "mimic_3d.zeta.constant_value:" in text
    assert any("fabm.use" in line for line in report.differences)
    assert report.n_followed > 15 and not report.errors


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


def test_a_surface_below_the_bottom_is_an_error_and_given_layers_do_not_move(tmp_path):
    with error_naming(ConfigError, "mimic_3d.zeta -16 -20"):
        build(tmp_path, {"mimic_3d": {"zeta": -20.0}})
    (tmp_path / "h.dat").write_text("8\n" + 8 * "2.0\n")
    made: Any = build(tmp_path, {"grid": {"method": "file_h", "file": "h.dat"}, "mimic_3d": {"zeta": 0.5}})
    assert any("layers of given thickness do not stretch" in line for line in made.report.differences)
    assert made.run.case.interior.surface_elevation is None


def test_sea_grass_of_a_file(tmp_path):
    (tmp_path / "grass.dat").write_text("3 levels\n0.1 0.0 0.05\n0.5 2.d-2 0.1 # a comment\n1.5 0.05 0.2\n")
    grass = {"method": 1, "file": "grass.dat", "alpha": 0.2}
    run = run_of(tmp_path, {"seagrass": grass})
    canopy = run.case.interior.seagrass
    np.testing.assert_allclose(canopy.height, [0.1, 0.5, 1.5])
    np.testing.assert_allclose(canopy.excursion, [0.0, 0.02, 0.05])
    np.testing.assert_allclose(canopy.friction, [0.05, 0.1, 0.2])
    assert float(canopy.efficiency) == 0.2 and set(canopy.own_tracers()) <= set(
        run.case.initial_state.tracers
    )
    made = run_of(tmp_path, {"seagrass": grass, "turbulence": {"keps": {"cex": 1.2}}}).model.closure
    assert float(made.stirring_ratio) == pytest.approx(1.2 / 1.44)
    (tmp_path / "grass.dat").write_text("5\n0.1 0.0 0.05\n0.5 0.02 0.1\n")
    with error_naming(FileFormatError, "grass.dat 1 5 2"):
        run_of(tmp_path, {"seagrass": grass})


def test_kpp_on_the_bottom_alone(tmp_path):
    bottom = {"use": True, "Ri_c": 0.4, "match_technique": "gradient", "use_noDGat1": False}
    closure = run_of(tmp_path, _kpp(surface_layer={"use": False}, bottom_layer=bottom)).model.closure
    assert closure.surface_layer is False and closure.shear is None
    layer = closure.bottom_layer
    assert (layer.shape, layer.match_slope, float(layer.critical_richardson_number)) == (
        "match_gradient",
        True,
        0.4,
    )
    assert float(layer.unresolved_shear_floor) == 1e-14  # GOTM has none, at either end
    closure = run_of(tmp_path, _kpp()).model.closure
    assert closure.bottom_layer is None


def test_light_extinction_of_a_file_changes_in_time(tmp_path):
    write_series(tmp_path / "light.dat", [0.5, 0.7], [1.0, 3.0], step=86400)
    given = {name: {"method": "file", "file": "light.dat", "column": i} for name, i in (("A", 1), ("g1", 2))}
    case = run_of(tmp_path, {"light_extinction": {"method": "custom", **given, "g2": 10.0}}).case
    z = np.asarray(case.grid.z_face)
    for day, (fraction, depth) in ((0.0, (0.5, 1.0)), (0.25, (0.55, 1.5)), (1.0, (0.7, 3.0))):
        expected = fraction * np.exp(z / depth) + (1.0 - fraction) * np.exp(z / 10.0)
        np.testing.assert_allclose(case.absorption.at(86400.0 * day).fraction(case.grid.z_face), expected)
    write_series(tmp_path / "light.dat", [0.5, 1.7], [1.0, 3.0], step=86400)
    with error_naming(FileFormatError, "2 0 1"):
        run_of(tmp_path, {"light_extinction": {"method": "custom", **given}})


def test_constants_from_which_nothing_follows_name_their_line(tmp_path):
    custom = {"scnd_coeff": "custom", "cc1": 0.0}
    for turbulence, parts in (
        ({"generic": {"gen_d": 0.0}}, "generic.gen_d 0 line"),
        ({"generic": {"gen_alpha": 0.0}}, "gen_alpha 0"),
        ({"generic": {"gen_l": 5.0}}, "gen_l 5"),
        ({"turb_method": "first_order", "turb_param": {"cm0_fix": 0.0}}, "turb_param.cm0_fix c_mu_0"),
        ({"generic": {"gen_alpha": -100.0}}, "generic.compute_param sigma_k line"),
        ({"len_scale_method": "dissipation", "scnd": custom}, "scnd.cc1 line 2 12 0"),
    ):
        generic = {"compute_param": True} | turbulence.get("generic", {})
        with error_naming(ConfigError, f"small.gotm.yaml {parts}"):
            run_of(tmp_path, {"turbulence": {"len_scale_method": "gls", **turbulence, "generic": generic}})


def test_the_first_step_of_a_relaxation_goes_to_zero_as_in_gotm(tmp_path):
    """GOTM converts what it relaxes to at the end of a step, and starts with zeros."""
    relaxed = {"relax": {"tau": 86400.0}}
    for kind in ("practical", "absolute"):
        path = write_case(tmp_path, {"salinity": {"type": kind} | relaxed, "temperature": relaxed})

        def targets(**options):
            made: Any = build_gotm(load_gotm(path, config=GotmOptions(**options)))  # noqa: B023
            relaxation = made.run.case.interior.relaxation
            of = {name: getattr(relaxation, name).profiles for name in ("temperature", "salinity")}
            return {name: [float(series.at(n * 600.0)[0]) for n in (1, 2, 30)] for name, series in of.items()}

        found, always = targets(), targets(relax_from_zero=False)
        assert found["temperature"] == pytest.approx([12.0] * 3)  # conservative
        start = float(always["salinity"][0])
        assert always["salinity"] == pytest.approx([start] * 3) and start > 34.9
        assert found["salinity"] == pytest.approx([0.0 if kind == "practical" else start, start, start])


def test_profiles_of_a_moving_surface_stay_at_their_heights(tmp_path):
    """The third is read when the second has passed, at heights from the level at rest."""
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
