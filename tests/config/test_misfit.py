"""What a configuration says about observations and how they are compared."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming, notes_in
from tests.io.observation_files import cf_dataset
from tests.io.test_argo import write as write_argo
from tunax_lite.calibration import ZScore
from tunax_lite.calibration.target import Change, residuals
from tunax_lite.calibration.target import misfit as misfit_of
from tunax_lite.column.checkpointing import SaveEverything
from tunax_lite.config import ConfigError, build_calibration, evaluation_of, load_calibration
from tunax_lite.config.load import load

SYNTHETIC = """
cases:
  - case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}
grid: [{kind: uniform, n_cells: 16}, {kind: uniform, n_cells: 32}]
time: {dt: [300.0, 600.0]}
parameters: {c_eps_1: {lower: 1.2, upper: 1.7}}
"""


ONE_STEP = SYNTHETIC.replace("[300.0, 600.0]", "300.0")


def loaded(tmp_path, text: str):
    path = tmp_path / "calibration.yaml"
    path.write_text(text)
    return load_calibration(path)


def test_every_case_on_every_grid_with_every_step(tmp_path):
    targets = build_calibration(loaded(tmp_path, SYNTHETIC + "misfit: {reduction: sum}\n")).targets
    expected = [(16, 300.0), (16, 600.0), (32, 300.0), (32, 600.0)]
    assert [(t.case.grid.n_cells, t.dt) for t in targets] == expected
    assert {target.reduction for target in targets} == {"sum"}


def test_the_misfit_of_wagner(tmp_path):
    given = "scale: z_score, averaging: cell_means, times: last, bottom_fraction: 0.5, highest: -4.0"
    misfit = f"misfit: {{{given}, weights: {{buoyancy: 2.0, v: 1.0}}}}\n"
    config = loaded(tmp_path, ONE_STEP + misfit)
    fine = build_calibration(config).targets[1]
    assert fine.case.name.endswith("@32") and isinstance(fine.scale, ZScore)
    assert dict(fine.weights) == {"buoyancy": 2.0, "v": 1.0}
    depth, last = float(fine.case.grid.depth), float(np.asarray(fine.observations.time)[-1])
    assert fine.depth_window == (pytest.approx(-0.5 * depth), -4.0)
    assert fine.time_window[0] == last
    _, compared = evaluation_of(config)
    assert list(compared[0].weights)[-1] == "buoyancy" and compared[0].averaging == "cell_means"


SITE = """
cases:
  - case:
      {format: site, name: float, latitude: 45.0, longitude: -30.0, start_time: "2015-01-01T00:00:00",
      duration: 1728000.0, depth: 200.0, fluxes: {stress_u: 0.1, heat_flux: -50.0},
      observations: {format: argo, paths: profiles.nc, z: measured, good_flags: [1]},
      series: {
        sea_surface_temperature: {path: sst.csv, variable: sst},
        mixed_layer_depth: {path: sst.csv, variable: depth}}}
grid: {kind: uniform, n_cells: 20}
time: {dt: 3600.0}
misfit:
  weights: {temperature: 1.0, sea_surface_temperature: 0.5, mixed_layer_depth: 1.0e-4}
  start: 0.0
parameters: {c_eps_1: {lower: 1.2, upper: 1.7}}
"""
TABLE = """time,sst [degC],depth [m]
2015-01-01T00:00:00,18.2,20
2015-01-03T12:00:00,,30
2015-01-06T00:00:00,17.9,
2015-01-09T00:00:00,,40
"""


@pytest.fixture
def site(tmp_path):
    write_argo(tmp_path / "profiles.nc", 2, TEMP_QC=["1111", "1141"])
    (tmp_path / "sst.csv").write_text(TABLE)
    return tmp_path


def test_a_float_and_a_table_are_calibrated_to_by_yaml_alone(site):
    config = loaded(site, SITE)
    (target,) = build_calibration(config).targets
    observations = target.observations
    assert observations.moves and list(np.asarray(observations.time) / 86400.0) == [0.0, 2.5, 5.0, 8.0, 10.0]
    n_used = {
        name: int(np.isfinite(each.observed[target.times]).sum()) for name, each in target.sampled.items()
    }
    # Of the four levels of a profile the one at 500 m lies below the column, one is flagged.
    assert n_used == {"temperature": 5, "sea_surface_temperature": 2, "mixed_layer_depth": 3}
    assert [observations.rejected.get(name, 0) for name in n_used] == [0, 0, 1]
    sst = np.asarray(observations.series["sea_surface_temperature"])
    # In situ, as it was measured.
    np.testing.assert_allclose(sst[[0, 2]], [18.2, 17.9], rtol=1e-9)
    assert np.isnan(sst[[1, 3, 4]]).all()
    comparison = target.comparison
    assert comparison.variables["temperature"].moving is not None and comparison.n_frames == 20
    evaluated = evaluation_of(load(config.path))[1][0]
    assert evaluated.weights.keys() == {"temperature", "sea_surface_temperature", "mixed_layer_depth"}


MISTAKES = [
    ("variable: sst}", "variable: skin}", "sst.csv skin sea_surface_temperature"),
    ("        sea_surface_temperature", "        skin", "cases.0.case.series.skin"),
    ("2015-01-01T00:00:00", "2019-01-01T00:00:00", "cases.0.case.observations float start_time"),
    ("depth: {path: sst.csv", "depth: {path: mld.csv", "series.mixed_layer_depth.path"),
    (
        "grid: {kind: uniform, n_cells: 20}",
        "grid: [{kind: uniform, n_cells: 20}, {kind: uniform, n_cells: 20}]",
        "cases.0.case float@20 n_cells",
    ),
    ("dt: 3600.0", "dt: []", "time.dt"),
]


def test_mistakes_are_named(site):
    for old, new, message in MISTAKES:
        assert old in SITE
        with error_naming((ConfigError, FileNotFoundError, ValueError), message):
            build_calibration(loaded(site, SITE.replace(old, new)))


def test_several_configurations_share_a_file_of_cases(tmp_path):
    case = '{group: made, case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}}'
    (tmp_path / "cases.yaml").write_text(f"cases: [{case}]\n")
    text = "\ncases: cases.yaml\n" + ONE_STEP[ONE_STEP.index("grid") :]
    config = loaded(
        tmp_path,
        text.replace("n_cells: 16", "cell_thickness: 2.0").replace("n_cells: 32", "cell_thickness: 5.0"),
    )
    targets = build_calibration(config).targets
    depth = float(targets[0].case.grid.depth)
    assert [t.case.grid.n_cells for t in targets] == [round(depth / 2.0), round(depth / 5.0)]
    assert [t.group for t in targets] == ["made", "made"]
    with error_naming(ConfigError, "n_cells cell_thickness"):
        loaded(tmp_path, text.replace("n_cells: 16", "cell_thickness: 2.0, n_cells: 16"))
    (tmp_path / "cases.yaml").write_text("cases: {}\n")
    with error_naming(ConfigError, "2 cases cases.yaml"):
        loaded(tmp_path, text)


@pytest.mark.long  # only saves compilation
def test_padded_cases_have_the_residuals_of_their_own_and_share_a_program(tmp_path):
    text = ONE_STEP.replace(", {kind: uniform, n_cells: 32}", "") + "model: {closure: {name: constant}}\n"
    text = text.replace("c_eps_1: {lower: 1.2, upper: 1.7}", "viscosity: {lower: 1.0e-3, upper: 1.0}")
    misfit = "weights: {temperature: 1.0, u: 0.5, mixed_layer_depth_0.05K: 0.1}, scale: change, most_times: 5"
    plain = build_calibration(loaded(tmp_path, text + f"misfit: {{{misfit}}}\n"))
    padded = build_calibration(loaded(tmp_path, text + f"misfit: {{{misfit}, padded: true}}\n"))
    (one,), (other,) = plain.targets, padded.targets
    assert one.times.size == 5 and one.times[-1] == one.observations.time.size - 1
    other = dataclasses.replace(other, padded=(8, 40))
    found = [residuals(plain.model, target.comparison) for target in (one, other)]
    assert other.comparison.variables["temperature"].observed.shape == (9, 40)
    for name in found[0][0]:
        sums = [float(jnp.sum(of[name] ** 2)) for of, _ in found]
        assert sums[1] == pytest.approx(sums[0], rel=1e-10)
        assert float(found[1][1][name]) == pytest.approx(float(found[0][1][name]), rel=1e-10)
    with error_naming(ValueError, "padded"):
        misfit_of(plain.model, other.comparison, plain.score, SaveEverything())


def test_the_scale_of_a_change(tmp_path):
    text = ONE_STEP.replace(", {kind: uniform, n_cells: 32}", "")
    (target,) = build_calibration(loaded(tmp_path, text + "misfit: {scale: change}\n")).targets
    values = np.asarray(target.observations.profiles["temperature"])
    change = (values - values[0])[target.times]
    factor = float(target.comparison.variables["temperature"].factor)
    assert factor == pytest.approx(1.0 / (np.mean(change**2) + 0.005**2), rel=1e-12)
    with error_naming(ValueError, "synthetic_wind_and_cooling mixed_layer_depth 0"):
        Change(mixed_layer_depth=0.0).of("mixed_layer_depth", np.ones(3), np.ones(3), target.observations)


def test_a_case_that_ends_within_a_step_or_at_its_own_end_is_compared_until_then(tmp_path, recwarn):
    early = cf_dataset()
    early["TIME"] = (
        early["TIME"] - np.array([0.0, 0.0, 0.0, 2.0]) / 86400.0
    )  # forcing and profiles end 2 s early
    early.to_netcdf(tmp_path / "early.nc")
    cf_dataset().assign_attrs(case="other").to_netcdf(tmp_path / "other.nc")
    text = ONE_STEP.replace("[16, 32]", "16").replace('"synthetic:wind_and_cooling"', "early.nc")
    text = text.replace("}\ngrid", "}\n  - {case: {format: cf_netcdf, path: other.nc}, end: 7200.0}\ngrid")
    config = loaded(tmp_path, text + "misfit: {start: 0.0}\n")
    setup = build_calibration(config)
    for target in (*setup.targets, *evaluation_of(config)[1]):
        assert float(target.observations.time[target.times[-1]]) == 7200.0
    assert any("298" in note for note in notes_in(recwarn))
