"""Mistakes in configurations, settings, parameters and arguments: kind of error, file, key and numbers."""

import pytest
from typer.testing import CliRunner

from tests.errors import error_naming, missing_from
from tests.io.observation_files import write_lesbrary
from tunax_lite.cli.commands import app
from tunax_lite.runtime.memory import TooLargeError, check_memory, check_steps

RUN = """
case: {format: idealised, depth: 50.0, duration: 7200.0, temperature: {surface: 20.0, gradient: 0.01},
       forcing: {stress_u: 0.1}}
grid: {kind: uniform, n_cells: 10}
model: {closure: {name: k_epsilon, parameters: {c_eps_1: 1.44}}}
time: {dt: 60.0, output_interval: 600.0}
"""
CALIBRATION = """
cases: [{case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}}]
grid: {kind: uniform, n_cells: 8}
parameters: {c_eps_1: {lower: 1.2, upper: 1.7}}
"""
COMPARISON = """
closures: [k_epsilon, {name: constant, parameters: {viscosity: 0.1}}]
cases: [{format: lesbrary, path: little.jld2}]
grid: [{kind: uniform, n_cells: 8}, {kind: uniform, n_cells: 4}]
time: {dt: [60.0, 600.0]}
start: 600.0
"""
SITE = """
case:
  {format: site, latitude: 48.0, longitude: -9.0, start_time: "2015-03-01T00:00:00", duration: 86400.0,
  depth: 150.0, observations: {format: oceansites, paths: "synthetic:station_profiles"},
  weather: {format: table, paths: "synthetic:station_weather"},
  air_sea: {longwave: clark, shortwave: clear_sky}}
grid: {kind: uniform, n_cells: 10}
time: {dt: 3600.0, output_interval: 86400.0}
"""
FILES = {"run": RUN, "calibration": CALIBRATION, "comparison": COMPARISON, "site": SITE}

# Settings of a good run; exit code, if it is not 2; and what the message names.
SETTINGS = [
    ("tme={dt: 60}", "tme time"),
    ("time.step=60", "time.step did you mean 'dt'"),
    ("time.dt=fast", "time.dt [s] fast expected"),
    ("grid.kind=unifrom", "grid kind mean uniform unifrom"),
    ("case.heat_flux=1", "case.heat_flux forcing"),
    ("time.dt=.nan", "time.dt nan"),
    ("time.output_interval=90", "time 60 90"),
    ("time.duration=700", "700"),
    ("time.dt=1e-300", "2.15e+09 7.2e303"),
    ("grid=null", "grid mapping None"),
    ("grid={n_cells: 10}", "grid kind none"),
    ("grid={kind: native}", "grid idealised native"),
    ("grid={kind: faces, z_face: [-50, -20, -30, 0]}", "grid -30"),
    ("model.closure.name=k_epsilom", "model.closure.name k_epsilon k_epsilom"),
    ("model.closure.parameters.c_eps_1=7.0", "c_eps_1 1 2.5 7"),
    ("case={format: idealised, duration: 60, temperature: 20}", "case.depth"),
    ("case.forcing.heat_flux=-200 W m-2", "case.forcing.heat_flux number unit constant '-200 W m-2'"),
    ("case.temperature=20 degC", "case.temperature number surface '20 degC'"),
    ("case.temperature=293.15", "case.temperature -5 60 293.15 K"),
    ("case.temperature={surface: 300, gradient: 0.1}", "case.temperature 300 K"),
    ("case.temperature={z: [-500, -60, 0], values: [300, 10, 20]}", "case.temperature 300 K"),
    ("case.temperature={gradient: 1}", "case.temperature surface gradient"),
    ("case.temperature={z: [-50, 0], values: [1, 2, 3]}", "case.temperature 2 3"),
    ("case.temperature={z: [0, -50], values: [20, 10]}", "case.temperature increase"),
    ("case.forcing.stress_u=1000", "case.forcing stress_u 50 1000"),
    ("case.forcing.tracer_fluxes={dye: 1.0}", "case.forcing.tracer_fluxes dye"),
    ("case.forcing.heat_flux={time: [0, 3600, 7200], values: [1, 2]}", "case.forcing.heat_flux 3 2"),
    ("case.forcing.heat_flux={time: [0, 3600, 7200], values: [1, .nan, 2]}", "case.forcing.heat_flux nan"),
    ("case.forcing.heat_flux={time: [0, 3600], values: [1, 2]}", "7200 3600"),
    ("case.forcing.heat_flux={time: [0, 7200, 3600], values: [1, 2, 3]}", "case.forcing increase"),
    ("case={format: lesbrary, path: nowhere.jld2}", 3, "case.path nowhere.jld2"),
    ("case={format: cf_netcdf, path: 'synthetic:wind_and_cooling', mapping: {variables: {temp: t}}}",
     "mapping.variables temp temperature"),
    ("time.dt", "--set time.dt key.path=value"),
    ("time.dt.x=1", "--set time.dt.x=1 60"),
    ("time={dt: [1", "--set 1"),
]  # fmt: skip

# Settings of a good run at a site.
INTERIOR = "case.interior."
SLOPE = "case.interior.pressure_gradient={kind: surface_slope, x: "
CONSTANT = "case.weather={format: constant, wind_u: 1, "
SITES = [
    ("case={format: site}", "case.latitude"),
    ("case.start_time=June 2015", "case.start_time 8601 June"),
    ("case.start_time=2019-01-01", "case.observations start_time"),
    ("case.duration=1e8", "case.duration 1e8"),
    ("case.weather=null", "case weather fluxes"),
    ("case.fluxes={heat_flux: 1}", "case weather fluxes both"),
    ("case.observations=null", "case temperature"),
    ("grid={kind: faces, z_face: [-9, -5, -2, 0]}", "grid 150 9"),
    ("case.weather.variables={wind: u}", "case.weather wind_u wind"),
    ("case.weather.variables={precipitation: tp}", 3, "precipitation tp"),
    (CONSTANT + "air_temperature: 9, humidity: 80, air_pressure: 1013}", "case.weather.air_pressure 1013"),
    (CONSTANT + "air_temperature: 9, humidity: 0.8, cloud_cover: 0.5}", "case.weather 0.8 100"),
    ("case.air_sea.bulk={name: kondo, air_height: 4}", "case.air_sea.bulk"),
    ("case.air_sea.shortwave=downward", 3, "shortwave wind_u"),
    ("case.air_sea={shortwave: net, albedo: payne}", "air_sea albedo"),
    ("case={format: site, fluxes: {}, air_sea: {}, latitude: 0, longitude: 0, start_time: 2015-03-01,"
     " duration: 9, depth: 9, temperature: 9, salinity: 35}", "case air_sea weather"),
    ("case.equation_of_state={name: linear, thermal_expansion: 2e-4,"
     " tangent_to_teos10: {temperature: 10, salinity: 35}}", "tangent_to_teos10 thermal_expansion"),
    (INTERIOR + "relaxation.salinity={}", "relaxation.salinity none"),
    (INTERIOR + "relaxation.salinity={surface_height: 10}", "relaxation.salinity surface_time_scale"),
    (INTERIOR + "relaxation.velocity={time_scale: 3600}", "case.interior.relaxation.velocity temperature"),
    (SLOPE + "1.0}", "pressure_gradient.x 1"),
    (SLOPE + "{constant: 0, path: a}}", "pressure_gradient.x harmonics path"),
    (SLOPE + "{time: [0, 60], values: [0, 0]}}", "pressure gradient 60"),
    (INTERIOR + "vertical_velocity={velocity: 1e-5, height: 50}", "vertical_velocity.height 50"),
    (INTERIOR + "stokes_drift={kind: wind_sea, u: 8}", "stokes_drift u v"),
    ("case.interior={held: [salinity], relaxation: {salinity: {time_scale: 9.0}}}", "interior salinity"),
    (INTERIOR + "surface_elevation=-200", "surface_elevation -150 -200"),
]  # fmt: skip

CALIBRATIONS = [
    ("parameters={}", "parameters 1"),
    ("parameters={c_eps_9: {}}", "parameters c_eps_9 c_eps_1"),
    ("posterior.method={name: nuts, n_warmup: 100}", "posterior.method.n_warmup 150 100"),
    ("parameters.c_eps_1={prior: normal, mean: 1.44}", "c_eps_1 normal standard_deviation"),
    ("misfit.weights={nitrate: 1}", "cases.0 nitrate temperature"),
    ("misfit.start=1e9", "cases.0 time_window 1e9"),
    ("misfit={padded: true, frame_interval: 7200.0}", "misfit.padded frame_interval 7200"),
    ("cases.0.case={format: idealised, depth: 9, duration: 60, temperature: 20}", "cases.0.case"),
    ("cases.3.weight=1", "--set cases.3.weight=1 0"),
    ("time.dt=1e-9", "2.15e+09"),
]

COMPARISONS = [
    ("closures=[constant, all]", "labels constant label"),
    ("closures.1.options={stability: cheng}", "closures.1.options stability"),
    ("closures.1.parameters={speed: 1.0}", "closures.1 speed viscosity"),
    ("closures.1.parameters=nowhere.yaml", "constant parameters nowhere.yaml"),
    ("closures.1.parameters=other.yaml", "closure ConstantDiffusivity KEpsilon"),
    ("time.dt=[60, 60]", "60 twice"),
    ("time_steps=60", "time_steps 'time.dt'"),
    ("time.step=60", "time.step 'dt'"),
    ("cases=[{format: idealised, depth: 9, duration: 60, temperature: 20}]", "cases.0.format observations"),
]

# Texts of a configuration.
TEXTS = [
    ("", "bad.yaml empty"),
    ("- 1\n- 2\n", "bad.yaml list"),
    ("case:\n  format: idealised\n depth: 5\n", "bad.yaml 3"),
    ("\x00\x01", "bad.yaml YAML"),
    ("grid: {kind: uniform, n_cells: 10}\n", "bad.yaml case"),
]

# Texts of a file of parameters.
PARAMETERS = [
    ("closure: KEpsilon\nparameters: {c_eps_9: 1.0}\n", "bad.yaml c_eps_9 c_eps_1"),
    ("closure: KEpsilon\nparameters: {c_eps_1: {value: 9.0}}\n", "bad.yaml c_eps_1 2.5 9"),
    ("closure: KEpsilon\n", "bad.yaml parameters"),
]

ARGUMENTS = [
    ("run .", "folder"),
    ("run run.yaml --output out.txt", "--output out.txt .nc"),
    ("run run.yaml --output run.yaml/out.nc", "run.yaml"),
    ("run run.yaml --parameters nowhere.yaml", "nowhere.yaml"),
    ("run run.yaml --restart run.yaml", 3, "run.yaml NetCDF"),
    ("evaluate run.yaml", "case.format observations"),
    ("evaluate comparison.yaml", "comparison compare"),
    ("compare comparison.yaml --closures k_epsilom", "--closures k_epsilon"),
    ("compare comparison.yaml --cases large_case", "--cases little_case"),
    ("plot run.yaml", 3, "run.yaml NetCDF"),
    # All mistakes of a configuration come at once.
    (
        "check run.yaml --set time.dt=-1 --set precision=double --set grid.n_cells=1",
        "time.dt precision grid.n_cells",
    ),
]


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Run rows in a folder of good files; what does not end in its error, or leaves a file, is returned."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    write_lesbrary(tmp_path / "little.jld2")
    (tmp_path / "other.yaml").write_text("closure: KEpsilon\nparameters: {c_eps_1: 1.44}\n")

    def run(rows) -> list:
        before, failures = set(tmp_path.rglob("*")), []
        for arguments, *code, parts in rows:
            result = CliRunner().invoke(app, arguments)
            missing = missing_from(result.stderr, parts)
            is_error = result.stderr.startswith("tunax-lite: error: ") and "Traceback" not in result.output
            is_clean = set(tmp_path.rglob("*")) == before
            if result.exit_code != (code or [2])[0] or missing or not is_error or not is_clean:
                failures.append((arguments, result.exit_code, missing, result.output))
        return failures

    return run


COMMANDS = {
    "run run.yaml --output out.nc": SETTINGS,
    "check site.yaml": SITES,
    "calibrate calibration.yaml --output out": CALIBRATIONS,
    "compare comparison.yaml --output out": COMPARISONS,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_settings_are_refused(refused, command):
    settings = COMMANDS[command]
    assert not refused([([*command.split(), "--set", setting], *rest) for setting, *rest in settings])


def test_arguments_are_refused(refused):
    assert not refused([(arguments.split(), *rest) for arguments, *rest in ARGUMENTS])


@pytest.mark.parametrize("command", ["run bad.yaml", "run run.yaml --parameters bad.yaml"])
def test_texts_are_refused(refused, tmp_path, command):
    for text, parts in TEXTS if command == "run bad.yaml" else PARAMETERS:
        (tmp_path / "bad.yaml").write_text(text)
        assert not refused([(command.split(), parts)])


def test_more_steps_than_can_be_counted_are_refused(tmp_path, monkeypatch):
    check_steps(2e9, 1.0)
    with error_naming(TooLargeError, "2.15e+09 3e+09"):  # of 32 bits
        check_steps(3e9, 1.0)
    with error_naming(TooLargeError, "1e18"):
        check_memory(1e18, "this")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(RUN)
    many = ["check", "run.yaml", "--set", "time.dt=1e-7", "--set", "time.output_interval=600"]
    assert CliRunner().invoke(app, [*many, "--set", "case.duration=1800"]).exit_code == 2
