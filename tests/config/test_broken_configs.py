"""Every broken configuration, setting and parameter file ends in its own message, and leaves no file."""

import textwrap

import pytest
from typer.testing import CliRunner

from tests.io.observation_files import write_lesbrary
from tunax_lite.cli.commands import app

GOOD_RUN = """
case:
  format: idealised
  depth: 50.0
  duration: 7200.0
  temperature: {surface: 20.0, gradient: 0.01}
  forcing: {stress_u: 0.1}
grid: {kind: uniform, n_cells: 10}
model:
  closure: {name: k_epsilon, parameters: {c_eps_1: 1.44}}
time: {step: 60.0, output_interval: 600.0}
"""
GOOD_CALIBRATION = """
cases:
  - case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}
grid: {kind: uniform, n_cells: 8}
parameters:
  c_eps_1: {lower: 1.2, upper: 1.7}
"""

# name, settings of a good run, exit code, what the message holds
SETTINGS = [
    ("unknown key", "tme={step: 60}", 2, ["tme", "unknown key", "'time'"]),
    ("unknown nested key", "time.stpe=60", 2, ["time.stpe", "unknown key", "'step'"]),
    ("text for a number", "time.step=fast", 2, ["time.step", "number", "[s]", "'fast'"]),
    ("truth for a number", "time.step=true", 2, ["time.step", "number", "True"]),
    ("negative step", "time.step=-60", 2, ["time.step", "greater than 0", "-60"]),
    ("step that is not a number", "time.step=.nan", 2, ["time.step", "finite", "nan"]),
    ("interval between steps", "time.output_interval=90", 2, ["time", "multiple of step = 60 s", "90 s"]),
    ("duration between steps", "time.duration=700", 2, ["multiple of step", "700 s"]),
    ("unknown grid", "grid.kind=unifrm", 2, ["grid", "'stretched'", "'unifrm'"]),
    ("grid without kind", "grid={n_cells: 10}", 2, ["grid", "kind", "'uniform'", "none"]),
    ("no cells", "grid.n_cells=0", 2, ["grid.n_cells", "3", "0"]),
    ("half a cell", "grid.n_cells=10.5", 2, ["grid.n_cells", "integer", "10.5"]),
    ("native grid without file", "grid={kind: native}", 2, ["grid", "idealised", "native"]),
    (
        "faces that do not increase",
        "grid={kind: faces, z_face: [-50, -20, -30, 0]}",
        2,
        ["grid", "increase", "-30"],
    ),
    (
        "faces that end below the surface",
        "grid={kind: faces, z_face: [-50, -20, -10, -5]}",
        2,
        ["grid", "z = 0"],
    ),
    (
        "unknown closure",
        "model.closure.name=k_epsilom",
        2,
        ["model.closure.name", "'k_epsilon'", "k_epsilom"],
    ),
    (
        "unknown parameter",
        "model.closure.parameters.c_eps_9=1.0",
        2,
        ["model.closure.parameters", "c_eps_9", "c_eps_1"],
    ),
    (
        "parameter out of range",
        "model.closure.parameters.c_eps_1=7.0",
        2,
        ["c_eps_1", "between 1 and 2.5", "7"],
    ),
    (
        "parameter that is text",
        "model.closure.parameters.c_eps_1=large",
        2,
        ["model.closure.parameters.c_eps_1", "number", "'large'"],
    ),
    ("theta out of range", "model.theta=1.5", 2, ["model.theta", "less than or equal to 1", "1.5"]),
    ("unknown precision", "precision=float16", 2, ["precision", "'float64'", "'float16'"]),
    ("unknown format", "case.format=grib", 2, ["case", "'lesbrary'", "grib"]),
    ("missing depth", "case={format: idealised, duration: 60, temperature: 20}", 2, ["case.depth", "add"]),
    ("temperature in Kelvin", "case.temperature=293.15", 2, ["case", "degC", "293.15"]),
    ("incomplete profile", "case.temperature={gradient: 1}", 2, ["case.temperature", "surface", "gradient"]),
    (
        "profile of two lengths",
        "case.temperature={z: [-50, 0], values: [1, 2, 3]}",
        2,
        ["case.temperature", "2", "3"],
    ),
    (
        "profile upside down",
        "case.temperature={z: [0, -50], values: [20, 10]}",
        2,
        ["case.temperature", "increase"],
    ),
    ("latitude beyond the pole", "case.latitude=95", 2, ["case.latitude", "90", "95"]),
    ("unknown water", "case.absorption=IV", 2, ["case.absorption", "IB", "IV"]),
    ("stress in another unit", "case.forcing.stress_u=1000", 2, ["case.forcing", "stress_u", "50", "1000"]),
    ("flux that is text", "case.forcing.heat_flux=warm", 2, ["case.forcing.heat_flux", "number", "warm"]),
    ("series without time", "case.forcing.heat_flux=[1, 2]", 2, ["case.forcing", "time", "heat_flux"]),
    (
        "series of two lengths",
        "case.forcing={time: [0, 3600, 7200], heat_flux: [1, 2]}",
        2,
        ["case.forcing", "heat_flux", "3", "2"],
    ),
    (
        "series with a gap",
        "case.forcing={time: [0, 3600, 7200], heat_flux: [1, .nan, 2]}",
        2,
        ["case.forcing.heat_flux", "finite", "nan"],
    ),
    (
        "series that is too short",
        "case.forcing={time: [0, 3600], heat_flux: [1, 2]}",
        2,
        ["time", "7200 s", "3600 s"],
    ),
    (
        "times out of order",
        "case.forcing={time: [0, 7200, 3600], heat_flux: [1, 2, 3]}",
        2,
        ["case.forcing", "increase"],
    ),
    (
        "missing file",
        "case={format: lesbrary, path: nowhere.jld2}",
        3,
        ["case.path", "nowhere.jld2", "expected"],
    ),
    (
        "unknown data name",
        "case={format: lesbrary, path: 'lesbrary:weakest_wind'}",
        3,
        ["case.path", "lesbrary:weakest_wind", "known are"],
    ),
    ("setting without value", "time.step", 2, ["--set time.step", "key.path=value"]),
    ("setting below a number", "time.step.x=1", 2, ["--set time.step.x=1", "60.0"]),
    ("setting that is not YAML", "time={step: [1", 2, ["--set", "line 1"]),
    (
        "mapping of a variable that does not exist",
        "case={format: cf_netcdf, path: 'synthetic:wind_and_cooling', mapping: {variables: {temp: t}}}",
        2,
        ["mapping.variables", "temp", "temperature"],
    ),
    (
        "explicit scheme that blows up",
        "model={theta: 0.0, closure: {name: constant, parameters: {viscosity: 100.0}}}",
        1,
        ["finite", "at", "s", "time step"],
    ),
]

# name, text of the file, what the message holds
FILES = [
    ("empty file", "", ["empty"]),
    ("list", "- 1\n- 2\n", ["top level", "list"]),
    ("bad indentation", "case:\n  format: idealised\n depth: 5\n", ["line 3"]),
    ("bracket not closed", "time: {step: 60\ngrid: 1\n", ["line 2"]),
    ("same key twice", GOOD_RUN + "time: {step: 30.0}\n", ["line 12", "time", "line 11"]),
    ("same nested key twice", "case: {depth: 1, depth: 2}\n", ["line 1", "case.depth"]),
    ("not text", "\x00\x01", ["YAML"]),
    ("no case", "grid: {kind: uniform, n_cells: 10}\n", ["case", "add"]),
]

# name, text of the parameter file, what the message holds
PARAMETERS = [
    ("unknown name", "closure: KEpsilon\nparameters: {c_eps_9: 1.0}\n", ["c_eps_9", "c_eps_1"]),
    ("out of range", "closure: KEpsilon\nparameters: {c_eps_1: {value: 9.0}}\n", ["c_eps_1", "2.5", "9"]),
    ("not a number", "closure: KEpsilon\nparameters: {c_eps_1: {value: high}}\n", ["c_eps_1", "'high'"]),
    ("NaN", "closure: KEpsilon\nparameters: {c_eps_1: {value: .nan}}\n", ["c_eps_1", "finite", "nan"]),
    (
        "other closure",
        "closure: Constant\nparameters: {viscosity: 1.0}\n",
        ["closure", "KEpsilon", "Constant"],
    ),
    ("no parameters", "closure: KEpsilon\n", ["parameters"]),
    ("not YAML", "parameters: {c_eps_1: [\n", ["YAML"]),
]

# name, setting of a good calibration, exit code, what the message holds
CALIBRATIONS = [
    ("no parameters", "parameters={}", 2, ["parameters", "at least 1"]),
    ("unknown parameter", "parameters={c_eps_9: {}}", 2, ["parameters", "c_eps_9", "c_eps_1"]),
    ("bounds upside down", "parameters.c_eps_1={lower: 1.7, upper: 1.2}", 2, ["c_eps_1", "1.7", "1.2"]),
    ("bounds beyond the range", "parameters.c_eps_1.upper=99", 2, ["c_eps_1", "valid range", "99"]),
    ("start on a bound", "parameters.c_eps_1.start=1.2", 2, ["c_eps_1", "1.2"]),
    ("no start", "parameters={c_eps_3_minus: {lower: -1, upper: 1}}", 2, ["c_eps_3_minus", "start"]),
    (
        "log scale over zero",
        "parameters={c_eps_3_plus: {lower: -1, upper: 2, scale: log}}",
        2,
        ["c_eps_3_plus", "positive"],
    ),
    (
        "unknown prior",
        "parameters.c_eps_1={prior: gaussian}",
        2,
        ["parameters.c_eps_1", "gaussian", "normal"],
    ),
    ("prior without mean", "parameters.c_eps_1={prior: normal}", 2, ["c_eps_1.mean", "got none"]),
    (
        "key of another prior",
        "parameters.c_eps_1={prior: normal, mean: 1.4, median: 1.4}",
        2,
        ["parameters.c_eps_1", "median", "unknown key"],
    ),
    (
        "prior beyond the range",
        "parameters.c_eps_1={prior: normal, mean: 1.44, standard_deviation: 1.0}",
        2,
        ["parameters", "c_eps_1", "four standard deviations", "1 to 2.5"],
    ),
    (
        "prior upside down",
        "parameters.c_eps_1={prior: uniform, lower: 2, upper: 1}",
        2,
        ["c_eps_1", "2", "1"],
    ),
    ("tied to nothing", "parameters.c_eps_2={tied_to: sigma}", 2, ["c_eps_2", "sigma", "c_eps_1"]),
    ("tied by nothing", "parameters.c_eps_2={tied_to: c_eps_1, factor: 0}", 2, ["c_eps_2", "factor", "0"]),
    (
        "tied and bounded",
        "parameters.c_eps_2={tied_to: c_eps_1, lower: 1}",
        2,
        ["c_eps_2", "lower", "unknown key"],
    ),
    ("negative prior weight", "misfit.prior_weight=-1", 2, ["misfit.prior_weight", "0", "-1"]),
    ("unknown optimiser", "optimiser={name: sgd}", 2, ["optimiser", "'adam'", "sgd"]),
    ("no iterations", "n_iterations=0", 2, ["n_iterations", "1", "0"]),
    ("negative weight", "misfit.weights={temperature: -1}", 2, ["misfit.weights.temperature", "0", "-1"]),
    ("weight of nothing", "misfit.weights={nitrate: 1}", 2, ["cases.0", "nitrate", "temperature"]),
    ("window without data", "misfit.start=1e9", 2, ["cases.0", "time_window", "1e+09"]),
    ("levels without data", "misfit.highest=-5000", 2, ["cases.0", "depth_window"]),
    (
        "case without observations",
        "cases.0.case={format: idealised, depth: 9, duration: 60, temperature: 20}",
        2,
        ["cases.0.case", "observations"],
    ),
    ("item that does not exist", "cases.3.weight=1", 2, ["--set cases.3.weight=1", "0 to 0"]),
]

GOOD_COMPARISON = """
closures: [k_epsilon, {name: constant, parameters: {viscosity: 0.1}}]
cases: [{format: lesbrary, path: little.jld2}]
n_cells: [4, 8]
time_steps: [60.0, 600.0]
figures: {n_cells: 8, time_step: 60.0}
start: 600.0
"""

# name, what follows the configuration of a good comparison, exit code, what the message holds
COMPARISONS = [
    ("unknown closure", ["closures=[k_epsilom]"], 2, ["closures", "'k_epsilon'", "k_epsilom"]),
    ("closure that is a number", ["closures=[7]"], 2, ["closures", "7"]),
    ("no closures", ["closures=[]"], 2, ["closures", "at least 1"]),
    ("same closure twice", ["closures=[constant, all]"], 2, ["labels", "'constant' twice", "label"]),
    ("unknown key of a closure", ["closures.1.parametres=1"], 2, ["closures.1", "'parameters'"]),
    ("unknown option", ["closures.1.options={stability: cheng}"], 2, ["closures.1.options", "stability"]),
    ("unknown parameter", ["closures.1.parameters={speed: 1.0}"], 2, ["closures.1", "speed", "viscosity"]),
    ("parameter that is text", ["closures.1.parameters={viscosity: high}"], 2, ["viscosity", "'high'"]),
    (
        "missing parameters",
        ["closures.1.parameters=nowhere.yaml"],
        2,
        ["constant: parameters", "nowhere.yaml"],
    ),
    ("other parameters", ["closures.1.parameters=other.yaml"], 2, ["closure", "Constant", "KEpsilon"]),
    ("no cells", ["n_cells=[2]"], 2, ["n_cells", "3", "2"]),
    ("negative step", ["time_steps=[-60]"], 2, ["time_steps", "greater than 0", "-60"]),
    ("step between the profiles", ["time_steps=[60.0, 700.0]"], 2, ["cases.0", "600 s", "700 s"]),
    ("figures of nothing", ["figures.n_cells=16"], 2, ["figures.n_cells", "4, 8", "16"]),
    ("start after the end", ["start=1e6"], 2, ["little_case", "1800 s", "1e+06 s"]),
    (
        "case without observations",
        ["cases=[{format: idealised, depth: 9, duration: 60, temperature: 20}]"],
        2,
        ["cases.0.format", "observations"],
    ),
    ("missing file", ["cases.0.path=nowhere.jld2"], 3, ["cases.0.path", "nowhere.jld2"]),
]


@pytest.fixture
def refuse(tmp_path, monkeypatch):
    """Run the command line in an empty folder and check that it refuses as it should."""
    monkeypatch.chdir(tmp_path)

    def invoke(arguments, code, fragments):
        before = set(tmp_path.rglob("*"))
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        assert result.stderr.startswith("tunax-lite: error: ")
        assert "Traceback" not in result.output
        for fragment in fragments:
            assert fragment in result.stderr
        assert set(tmp_path.rglob("*")) == before

    return invoke


def _write(path, text):
    path.write_text(textwrap.dedent(text))
    return path


@pytest.mark.parametrize(
    ("setting", "code", "fragments"), [c[1:] for c in SETTINGS], ids=[c[0] for c in SETTINGS]
)
def test_run_refuses_setting(tmp_path, refuse, setting, code, fragments):
    config = _write(tmp_path / "run.yaml", GOOD_RUN)
    refuse(["run", config, "--output", "out.nc", "--set", setting], code, fragments)


@pytest.mark.parametrize(("text", "fragments"), [c[1:] for c in FILES], ids=[c[0] for c in FILES])
def test_run_refuses_file(tmp_path, refuse, text, fragments):
    config = _write(tmp_path / "run.yaml", text)
    refuse(["run", config], 2, ["run.yaml", *fragments])


@pytest.mark.parametrize(("text", "fragments"), [c[1:] for c in PARAMETERS], ids=[c[0] for c in PARAMETERS])
def test_run_refuses_parameter_file(tmp_path, refuse, text, fragments):
    config = _write(tmp_path / "run.yaml", GOOD_RUN)
    parameters = _write(tmp_path / "parameters.yaml", text)
    refuse(["run", config, "--parameters", parameters], 2, fragments)


@pytest.mark.parametrize(
    ("setting", "code", "fragments"), [c[1:] for c in CALIBRATIONS], ids=[c[0] for c in CALIBRATIONS]
)
def test_calibrate_refuses_setting(tmp_path, refuse, setting, code, fragments):
    config = _write(tmp_path / "calibration.yaml", GOOD_CALIBRATION)
    refuse(["calibrate", config, "--output", "out", "--set", setting], code, fragments)


@pytest.mark.parametrize(
    ("settings", "code", "fragments"), [c[1:] for c in COMPARISONS], ids=[c[0] for c in COMPARISONS]
)
def test_compare_refuses_setting(tmp_path, refuse, settings, code, fragments):
    config = _comparison(tmp_path)
    options = [word for setting in settings for word in ("--set", setting)]
    refuse(["compare", config, "--output", "out", *options], code, fragments)


def _comparison(folder):
    write_lesbrary(folder / "little.jld2")
    _write(folder / "other.yaml", "closure: KEpsilon\nparameters: {c_eps_1: 1.44}\n")
    return _write(folder / "comparison.yaml", GOOD_COMPARISON)


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["compare", "comparison.yaml", "--closures", "k_epsilom"], ["--closures", "'k_epsilon'"]),
        (["compare", "comparison.yaml", "--cases", "large_case"], ["--cases", "little_case"]),
        (["run", "comparison.yaml"], ["of a run", "of a comparison", "`closures`"]),
        (["evaluate", "comparison.yaml"], ["of a comparison", "tunax-lite compare"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_arguments_with_a_comparison_are_refused(tmp_path, refuse, arguments, fragments):
    _comparison(tmp_path)
    refuse(arguments, 2, fragments)


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        (["run", "nowhere.yaml"], 2, ["nowhere.yaml", "expected a YAML file"]),
        (["run", "."], 2, ["a folder"]),
        (["run", "run.yaml", "--output", "out.txt"], 2, ["--output out.txt", ".nc"]),
        (["run", "run.yaml", "--output", "run.yaml/out.nc"], 2, ["run.yaml"]),
        (["run", "run.yaml", "--parameters", "nowhere.yaml"], 2, ["nowhere.yaml"]),
        (["run", "run.yaml", "--restart", "nowhere.nc"], 3, ["nowhere.nc"]),
        (["run", "run.yaml", "--restart", "run.yaml"], 3, ["run.yaml", "NetCDF"]),
        (["evaluate", "run.yaml"], 2, ["case.format", "observations"]),
        (["calibrate", "run.yaml"], 2, ["of a calibration", "of a run", "`case`"]),
        (["plot", "nowhere.nc"], 3, ["nowhere.nc"]),
        (["plot", "run.yaml"], 3, ["run.yaml", "NetCDF"]),
        (["check", "run.yaml", "--set", "case.depth=-1"], 2, ["case.depth", "greater than 0", "-1"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_arguments_are_refused(tmp_path, refuse, arguments, code, fragments):
    _write(tmp_path / "run.yaml", GOOD_RUN)
    refuse(arguments, code, fragments)


def test_all_problems_of_a_file_are_named_at_once(tmp_path, refuse):
    config = _write(tmp_path / "run.yaml", GOOD_RUN)
    settings = ["--set", "time.step=-1", "--set", "precision=double", "--set", "grid.n_cells=1"]
    refuse(["check", config, *settings], 2, ["time.step", "precision", "grid.n_cells"])
