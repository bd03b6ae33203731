"""Reading configurations: YAML as people write it, overrides, and the objects that come out."""

from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import get_leaf
from tunax_lite.calibration import FreeParameter, LogNormal, LogUniform, Normal, Uniform
from tunax_lite.config import ConfigError, Run, build_run, load_calibration, load_run
from tunax_lite.config.build import build_calibration
from tunax_lite.config.calibration import free_parameters
from tunax_lite.declarations import names_of
from tunax_lite.io.yaml_file import read_document, with_overrides
from tunax_lite.physics.absorption import TwoBandAbsorption
from tunax_lite.physics.equation_of_state import AbstractEquationOfState

CONFIG = """
case:
  format: idealised
  name: column
  depth: 40.0
  duration: 5400.0
  latitude: 45
  temperature: {surface: 20.0, buoyancy_frequency_squared: 1e-4}
  salinity: {z: [-40, -20, 0], values: [36.0, 35.0, 35.0]}
  tracers: {dye: 2}
  absorption: III
  forcing: {stress_u: {time: [0, 5400], values: [0.0, 0.1]}, heat_flux: -100, tracer_fluxes: {dye: 1e-6}}
grid: {kind: stretched, n_cells: 20, surface_zoom: 1.0}
model: {theta: 0.5, closure: {name: k_epsilon, parameters: {c_eps_1: 1.5, stability: {cc1: 4.5}}}}
time: {dt: 30, output_interval: 960}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(CONFIG)
    return path


def _chosen(run: Run) -> tuple[float, float]:
    """Values of the two parameters that the configuration sets."""
    return get_leaf(run.model.closure, "c_eps_1"), get_leaf(run.model.closure, "stability.cc1")


def test_numbers_and_texts_are_read_as_in_yaml_1_2(tmp_path):
    path = tmp_path / "values.yaml"
    path.write_text("a: 1e-3\nb: 12:30\nc: 2020-01-01\nd: on\ne: 010\nf: .5\ng:\nh: true\ni: [1, 2.0]\n")
    data = read_document(path).data
    assert list(data.values()) == [1e-3, "12:30", "2020-01-01", "on", 10, 0.5, None, True, [1, 2.0]]
    assert isinstance(data["i"][0], int) and isinstance(data["i"][1], float)


def test_overrides_reach_dotted_names_lists_and_new_sections(config):
    document = read_document(config)
    document.data["parameters"] = {"stability.cc1": {"lower": 1.0}}
    document.data["cases"] = [{"weight": 1.0}, {"weight": 1.0}]
    settings = "parameters.stability.cc1.lower=2 cases.1.weight=0.5 output.folder=elsewhere"
    times = ["time={dt: 10}", "time.output_interval=100"]
    changed = with_overrides(document, [*settings.split(), *times]).data
    assert changed["parameters"] == {"stability.cc1": {"lower": 2}}
    assert changed["cases"] == [{"weight": 1.0}, {"weight": 0.5}]
    assert changed["output"] == {"folder": "elsewhere"}
    assert changed["time"] == {"dt": 10, "output_interval": 100}
    assert document.data["time"] == {"dt": 30, "output_interval": 960}


def test_everything_of_an_idealised_case_arrives(config):
    run = build_run(load_run(config))
    z = np.asarray(run.case.grid.z_center)
    state = run.case.initial_state
    assert run.case.grid.n_cells == 20 and float(run.case.grid.depth) == 40.0
    assert float(run.case.grid.cell_thickness[-1]) < 0.5 * float(run.case.grid.cell_thickness[0])
    np.testing.assert_allclose(state.temperature, 20.0 + 1e-4 / (9.81 * 2e-4) * z, rtol=1e-13)
    np.testing.assert_allclose(state.salinity, np.interp(z, [-40, -20, 0], [36, 35, 35]), rtol=1e-13)
    np.testing.assert_array_equal(state.tracers["dye"], 2.0)
    np.testing.assert_allclose(run.case.coriolis_parameter, tl.coriolis_parameter(45.0), rtol=1e-14)
    assert isinstance(run.case.absorption, TwoBandAbsorption)
    assert float(run.case.absorption.visible_depth) == 7.9
    fluxes = run.case.forcing.at(2700.0)
    given = np.array([fluxes.stress_u, fluxes.heat_flux, fluxes.tracer_fluxes["dye"]], dtype=float)
    np.testing.assert_allclose(given, [0.05, -100.0, 1e-6], rtol=1e-13)
    assert run.model.theta == 0.5 and _chosen(run) == (1.5, 4.5) and run.dt == 30.0
    # A file of parameters replaces those of the configuration; without any there are the closure's own.
    assert _chosen(build_run(load_run(config), {"c_eps_1": 1.3})) == (1.3, 4.5)
    model = build_run(load_run(config, ["model={}"])).model
    assert eqx.tree_equal(model.closure, tl.KEpsilon()) and model.theta == 1.0
    # The case ends at 5400 s, which is no multiple of 960 s: the last frame is shorter, also after a restart.
    assert run.duration_from(0.0) == 5400.0
    assert run.duration_from(960.0) == 4440.0


def test_message_names_file_line_key_and_hint(config):
    config.write_text(CONFIG.replace("theta", "thta"))
    with error_naming(ConfigError, "run.yaml 14 model.thta theta"):
        load_run(config)


def _calibration(tmp_path, text: str):
    path = tmp_path / "calibration.yaml"
    path.write_text("grid: {kind: native}\n" + text)
    return load_calibration(path)


def test_calibration_arrives(tmp_path):
    text = """
cases:
  - {case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}, weight: 2.0, weights: {u: 1.0}}
parameters:
  c_eps_1: {lower: 1.2, upper: 1.7, start: 1.5}
  stability.cc1:
misfit: {scale: z_score, score: mean_square, start: 3600, end: 86400, lowest: -50, highest: -5}
optimiser: {name: lbfgs, memory_size: 5}
n_iterations: 7
"""
    setup = build_calibration(_calibration(tmp_path, text))
    (target,) = setup.targets
    assert target.case.grid.n_cells == 32
    assert (dict(target.weights), target.weight, target.dt) == ({"u": 1.0}, 2.0, 60.0)
    assert (target.time_window, target.depth_window) == ((3600.0, 86400.0), (-50.0, -5.0))
    kinds = [type(part).__name__ for part in (target.scale, setup.score, setup.method)]
    assert kinds == ["ZScore", "MeanSquare", "LBFGS"] and setup.n_iterations == 7
    free = setup.free_parameters
    assert free.paths == ("c_eps_1", "stability.cc1")
    assert [(f.lower, f.upper, f.start) for f in free.numbers] == [(1.2, 1.7, 1.5), (2.0, 12.0, 5.0)]


def test_priors_arrive(tmp_path):
    text = """
cases: [{case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}}]
parameters:
  c_eps_1: {prior: normal, mean: 1.44, standard_deviation: 0.1}
  sigma_eps: {prior: log_normal, median: 1.3, log_standard_deviation: 0.2, start: 1.5}
  c_eps_2: {prior: uniform, lower: 1.5, upper: 2.5}
  turbulent_kinetic_energy_floor: {prior: uniform, lower: 1e-12, upper: 1e-5, scale: log}
  c_eps_3_plus: {prior: bounded, upper: 2.0}
misfit: {prior_weight: 0.01}
"""
    loaded = _calibration(tmp_path, text)
    free = free_parameters(loaded.config.parameters)
    assert loaded.config.misfit.prior_weight == 0.01
    assert free.parameters == (
        FreeParameter("c_eps_1", prior=Normal(1.44, 0.1)),
        FreeParameter("sigma_eps", start=1.5, prior=LogNormal(1.3, 0.2)),
        FreeParameter("c_eps_2", prior=Uniform(1.5, 2.5)),
        FreeParameter("turbulent_kinetic_energy_floor", prior=LogUniform(1e-12, 1e-5)),
        FreeParameter("c_eps_3_plus", upper=2.0),
    )
    (tmp_path / "again.yaml").write_text(loaded.text)
    assert load_calibration(tmp_path / "again.yaml").text == loaded.text


def test_equation_of_state_by_name(config):
    run = build_run(load_run(config, ["case.equation_of_state={name: teos10, reference_density: 1025.0}"]))
    eos = run.case.equation_of_state
    assert isinstance(eos, names_of(AbstractEquationOfState)["teos10"].kind)
    assert eos.reference_density == 1025.0
    # The gradient that was asked for as N² is taken at the surface.
    state, z = run.case.initial_state, run.case.grid.z_center
    alpha, _ = eos.expansion(*(jnp.asarray(x) for x in (20.0, 35.0, 0.0)))
    slope = (state.temperature[-1] - state.temperature[-2]) / (z[-1] - z[-2])
    np.testing.assert_allclose(slope, 1e-4 / (9.81 * float(alpha)), rtol=1e-9)


def test_what_is_stored_with_results_is_a_configuration_of_the_same_run(config, tmp_path):
    runs = Path(__file__).parents[2] / "configs/runs"
    for path in (config, *sorted(runs.glob("*.yaml"))):
        loaded = load_run(path)
        (tmp_path / "again.yaml").write_text(loaded.text)
        assert load_run(tmp_path / "again.yaml").text == loaded.text, path


TERM = """
from tunax_lite._types import Scalar, parameter
from tunax_lite.column.terms import AbstractTerm, Tendency


class Heater(AbstractTerm):
    rate: Scalar = parameter(1e-5, unit="K s-1", valid_range=(0.0, 1e-3))

    def on_scalars(self, column):
        return {"temperature": Tendency(cells=self.rate * column.grid.cell_thickness)}
"""


def test_a_term_of_ones_own_acts_in_a_run(config, tmp_path, monkeypatch):
    (tmp_path / "my_heater.py").write_text(TERM)
    monkeypatch.syspath_prepend(tmp_path)
    run = build_run(load_run(config, ["case.terms={sun: {name: 'my_heater:Heater', rate: 2e-5}}"]))
    assert float(get_leaf(run.case.terms["sun"], "rate")) == 2e-5
    usual = build_run(load_run(config, ["case.terms={sun: 'my_heater:Heater'}"])).case.terms["sun"]
    assert float(get_leaf(usual, "rate")) == 1e-5
    for said, message in (
        ("{sun: {name: 'my_heater:Heater', rate: 2.0}}", "case.terms.sun.rate 0.001 2"),
        ("{sun: {name: 'my_heater:Heater', rat: 2.0}}", "case.terms.sun.rat rate"),
        ("{sun: {name: 'my_heater:Sun'}}", "case.terms.sun my_heater:Sun"),
        ("{sun: {name: heater}}", "case.terms.sun package.module:Class heater"),
    ):
        with error_naming(ConfigError, message):
            load_run(config, [f"case.terms={said}"])
