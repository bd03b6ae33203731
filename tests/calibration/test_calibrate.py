"""The loop: twins are recovered, interruptions leave no trace, bad evaluations do no harm."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from tests.calibration.twins import (
    CHEAP_FREE,
    CHEAP_TRUTH,
    calibrate_cheap,
    cheap_targets,
    make_case,
    make_targets,
)
from tests.errors import error_naming
from tunax_lite.calibration import (
    LBFGS,
    Adam,
    CosineDecay,
    FreeParameter,
    FreeParameters,
    MeanSquare,
    OtherCalibrationError,
    RootMeanSquare,
    calibrate,
    read_parameters,
    with_parameters,
    write_results,
)
from tunax_lite.calibration.problem import Evaluation, Fit, GradientEvaluator
from tunax_lite.calibration.results import write_tree
from tunax_lite.closures import KEpsilon, PacanowskiPhilander
from tunax_lite.column.model import Model
from tunax_lite.io.dataset import write_dataset
from tunax_lite.plotting import save_figures

ROOT = Path(__file__).resolve().parents[2]


def _same_history(first, second) -> None:
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.fixture(scope="module")
def uninterrupted():
    return {name: calibrate_cheap(None, name, 12) for name in ("adam", "lbfgs")}


def test_a_cheap_twin_is_recovered():
    result = calibrate_cheap(None, "lbfgs", 60)
    for path, value in CHEAP_TRUTH.items():
        assert result.best[path] == pytest.approx(value, rel=1e-2)
    assert result.best_loss < 1e-6 * result.history.loss[0]
    assert isinstance(result.closure, PacanowskiPhilander)
    assert float(result.closure.alpha) == result.best["alpha"]


@pytest.mark.slow
@pytest.mark.long  # the cheap twin above is a shorter one
def test_five_parameters_of_k_epsilon_are_recovered():
    start = KEpsilon(turbulent_kinetic_energy_floor=1e-6, dissipation_rate_floor=1e-9)  # pyright: ignore
    truth = {
        "c_eps_1": 1.35,
        "c_eps_2": 2.05,
        "c_eps_3_minus": -0.3,
        "sigma_k": 1.2,
        "length_limit": 0.35,
    }
    free = FreeParameters(
        (
            FreeParameter("c_eps_1", 1.1, 1.7),
            FreeParameter("c_eps_2", 1.7, 2.5),
            FreeParameter("c_eps_3_minus", -1.5, 0.8, start=-0.62),
            FreeParameter("sigma_k", 0.5, 2.0),
            FreeParameter("length_limit", 0.1, 0.8),
        )
    )
    cases = (make_case(0.1, -50.0, n_cells=32, hours=12.0), make_case(0.2, 50.0, n_cells=32, hours=12.0))
    targets = make_targets(Model(with_parameters(start, truth)), cases, dt=120.0, interval=1200.0)
    results = {
        method: calibrate(Model(start), free, targets, method, 60, score=MeanSquare())
        for method in (LBFGS(), Adam(0.1, CosineDecay(60, 0, 0.05)))
    }
    lbfgs, adam = results.values()
    for path, value in truth.items():
        assert lbfgs.best[path] == pytest.approx(value, rel=1e-2)
    assert adam.best_loss < 0.1 * adam.history.loss[0]
    assert lbfgs.best_loss < 1e-3 * adam.best_loss


@pytest.mark.slow
@pytest.mark.long  # interrupted by Ctrl-C: below; what a killed process leaves half-written: test_protection
@pytest.mark.parametrize(("method", "where"), [("adam", "report"), ("lbfgs", "write")])
def test_a_killed_calibration_goes_on_bit_by_bit(method, where, tmp_path, uninterrupted):
    folder = tmp_path / "calibration"
    program = [sys.executable, "-m", "tests.calibration.twins"]
    cache = {"JAX_COMPILATION_CACHE_DIR": str(jax.config.jax_compilation_cache_dir)}  # pyright: ignore
    killed = subprocess.run(
        [*program, str(folder), method, "12", where, "5"],
        cwd=ROOT,
        env=os.environ | cache,
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    result = calibrate_cheap(folder, method, 12, resume=True)
    _same_history(result.history, uninterrupted[method].history)
    assert result.best == uninterrupted[method].best
    assert [path.name for path in folder.iterdir()] == ["checkpoint.eqx"]


def test_ctrl_c_loses_nothing(tmp_path, uninterrupted):
    seen = []

    def report(iteration):
        seen.append((iteration.number, iteration.loss))
        if iteration.number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrate_cheap(tmp_path, "lbfgs", 12, report=report)
    result = calibrate_cheap(
        tmp_path, "lbfgs", 12, resume=True, report=lambda it: seen.append((it.number, it.loss))
    )
    _same_history(result.history, uninterrupted["lbfgs"].history)
    assert seen == list(enumerate(result.history.loss.tolist()))


def test_a_finished_calibration_can_be_prolonged(tmp_path, uninterrupted):
    calibrate_cheap(tmp_path, "adam", 3)
    result = calibrate_cheap(tmp_path, "adam", 12, resume=True)
    _same_history(result.history, uninterrupted["adam"].history)
    again = calibrate_cheap(tmp_path, "adam", 12, resume=True)
    _same_history(again.history, result.history)


def test_another_calibration_is_not_resumed(tmp_path):
    calibrate_cheap(tmp_path, "adam", 2)
    before = (tmp_path / "checkpoint.eqx").read_bytes()
    with error_naming(OtherCalibrationError, "method Adam LBFGS"):
        calibrate_cheap(tmp_path, "lbfgs", 3, resume=True)

    def resume(free=CHEAP_FREE, targets=None, closure=None):
        model = Model(closure or PacanowskiPhilander())
        method = Adam(0.1, CosineDecay(30, 3))
        targets = targets or cheap_targets()
        return calibrate(model, free, targets, method, 3, folder=tmp_path, resume=True, score=MeanSquare())

    wider = FreeParameters((FreeParameter("alpha", 1.0, 30.0), *CHEAP_FREE.parameters[1:]))
    with error_naming(OtherCalibrationError, "alpha 1 20 30 linear"):
        resume(free=wider)
    with error_naming(OtherCalibrationError, "convective_coefficient"):
        resume(free=FreeParameters(CHEAP_FREE.parameters[:2]))
    other_weights = [dataclasses.replace(target, weights={"u": 1.0}) for target in cheap_targets()]
    with error_naming(OtherCalibrationError, "stress 0.1 heat -200"):
        resume(targets=other_weights)
    with error_naming(OtherCalibrationError, "model"):
        resume(closure=PacanowskiPhilander(exponent=1.5))  # pyright: ignore[reportArgumentType]
    assert (tmp_path / "checkpoint.eqx").read_bytes() == before


def test_good_results_are_not_overwritten_by_accident(tmp_path):
    result = calibrate_cheap(tmp_path, "adam", 2)
    write_results(result, tmp_path)
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with error_naming(ValueError, "checkpoint.eqx parameters.yaml"):
        calibrate_cheap(tmp_path, "adam", 2)
    with error_naming(ValueError, "resume overwrite"):
        calibrate_cheap(tmp_path, "adam", 2, resume=True, overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == held
    calibrate_cheap(tmp_path, "lbfgs", 1, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.eqx"]
    (tmp_path / "checkpoint.eqx").rename(tmp_path / "parameters.yaml")
    with error_naming(ValueError, "parameters.yaml"):
        calibrate_cheap(tmp_path, "adam", 2, resume=True)


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"{}", lambda data: b""]
)
def test_a_damaged_checkpoint_is_named(tmp_path, damage):
    calibrate_cheap(tmp_path, "adam", 2)
    path = tmp_path / "checkpoint.eqx"
    path.write_bytes(damage(path.read_bytes()))
    with error_naming(ValueError, "checkpoint.eqx SHA-256"):
        calibrate_cheap(tmp_path, "adam", 3, resume=True)


def _breaking(monkeypatch, broken: set[int]) -> list[np.ndarray]:
    """Let some evaluations come out as NaN; the list fills with the iterates."""
    plain, seen = GradientEvaluator.__call__, []

    def call(self, x):
        seen.append(np.asarray(x))
        evaluation = plain(self, x)
        if len(seen) - 1 in broken:
            nan = np.full_like(evaluation.gradient, np.nan)
            fit = evaluation.fit
            return Evaluation(Fit(np.nan, fit.scores * np.nan, fit.errors * np.nan), nan)
        return evaluation

    monkeypatch.setattr(GradientEvaluator, "__call__", call)
    return seen


@pytest.mark.parametrize("method", ["adam", "lbfgs"])
def test_a_broken_evaluation_is_rejected_and_reported(monkeypatch, tmp_path, method):
    seen = _breaking(monkeypatch, {3, 4})
    result = calibrate_cheap(tmp_path, method, 12)
    assert result.n_non_finite == 2
    assert result.history.rejected[3] and result.history.rejected[4]
    np.testing.assert_allclose(seen[4] - seen[2], 0.5 * (seen[3] - seen[2]), rtol=1e-9, atol=1e-14)
    assert result.history.best_iteration > 4
    assert np.isfinite(list(result.best.values())).all()


def test_only_broken_evaluations_end_with_the_best_result(monkeypatch, tmp_path):
    _breaking(monkeypatch, set(range(3, 100)))
    result = calibrate_cheap(tmp_path, "adam", 50, max_non_finite=4)
    assert result.history.n_iterations == 7
    assert result.history.best_iteration < 3
    assert "4 evaluations in a row were not finite" in result.stop_reason
    assert "not finite" in calibrate_cheap(tmp_path, "adam", 50, max_non_finite=4, resume=True).stop_reason


def test_a_broken_start_names_the_case_and_leaves_old_results(tmp_path):
    result = calibrate_cheap(tmp_path, "adam", 2)
    write_results(result, tmp_path)
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    good, target = cheap_targets()
    # So much heat that the run overflows, which no constructor accepts.
    scorched = eqx.tree_at(
        lambda case: case.forcing.fluxes.heat_flux, make_case(0.1, 1e3), jnp.asarray(1e308)
    )
    scorched = dataclasses.replace(scorched, name="scorched")
    with error_naming(FloatingPointError, "scorched"):
        calibrate(
            Model(PacanowskiPhilander()),
            CHEAP_FREE,
            [good, dataclasses.replace(target, case=scorched)],
            Adam(),
            5,
            folder=tmp_path,
            overwrite=True,
            score=RootMeanSquare(),
        )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == held


@pytest.mark.parametrize("options", [{"n_iterations": 0}, {"n_iterations": 1, "max_non_finite": 0}])
def test_no_iterations_are_refused(options):
    with error_naming(ValueError, "n_iterations 1 0"):
        calibrate_cheap(None, "adam", **options)


def test_the_files_hold_the_result(tmp_path, uninterrupted):
    import xarray as xr

    result = uninterrupted["lbfgs"]
    parameters, history = write_results(result, tmp_path, {"version": "1.2.3"})
    assert read_parameters(parameters, "PacanowskiPhilander") == result.best
    with xr.open_dataset(history) as dataset:
        assert dict(dataset.sizes) == {"iteration": 12, "case": 2}
        np.testing.assert_array_equal(dataset.loss, result.history.loss)
        np.testing.assert_array_equal(dataset.alpha, result.history.values[:, 0])
        assert dataset.viscosity_scale.attrs["units"] == "m2 s-1"
        assert dataset.temperature_error.attrs["units"] == "K"
        assert dataset.attrs["version"] == "1.2.3"
        assert list(dataset.case.values) == list(result.case_names)
        for variable in dataset.variables.values():
            assert variable.attrs["long_name"]
    closure = with_parameters(PacanowskiPhilander(), read_parameters(parameters))
    assert float(closure.alpha) == result.best["alpha"]  # pyright: ignore[reportAttributeAccessIssue]


def test_errors_by_case_and_variable(uninterrupted):
    result = uninterrupted["lbfgs"]
    assert set(result.errors()) == set(result.case_names)
    first = result.case_names[0]
    assert result.errors()[first]["temperature"] < result.errors(0)[first]["temperature"]
    assert result.start == {"alpha": 5.0, "viscosity_scale": 0.01, "convective_coefficient": 0.1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("parameters: [1, 2]", "parameters.yaml parameters"),
        ("closure: KEpsilon", "parameters.yaml parameters"),
        ("", "parameters.yaml parameters"),
        ("parameters: {alpha: {unit: '1'}}", "parameters.alpha None"),
        ("parameters: {alpha: {value: .nan}}", "parameters.alpha nan"),
        ("parameters: {alpha: yes}", "parameters.alpha yes"),
        ("parameters: {alpha: five}", "parameters.alpha five"),
        ("parameters: {alpha: [", "parameters.yaml YAML"),
        ("closure: Constant\nparameters: {}", "parameters.yaml closure KEpsilon Constant"),
    ],
)
def test_bad_parameter_files_are_refused(tmp_path, content, message):
    path = tmp_path / "parameters.yaml"
    path.write_text(content)
    with error_naming(ValueError, message) as raised:
        read_parameters(path, "KEpsilon")
    assert str(path) in str(raised.value)


def test_numbers_by_hand_are_accepted(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text("parameters:\n  alpha: 1e-3\n  exponent: {value: 2}\n")
    assert read_parameters(path) == {"alpha": 1e-3, "exponent": 2.0}
    with error_naming(FileNotFoundError, "none.yaml"):
        read_parameters(tmp_path / "none.yaml")


def test_a_calibration_that_replaces_another_takes_its_posterior_and_figures_along(tmp_path):
    calibrate_cheap(tmp_path, "levenberg_marquardt", 1)
    origin = {"tunax_lite_version": "1.2.3"}
    for name in ("posterior.nc", "history.nc"):
        write_dataset(xr.Dataset(attrs=origin), tmp_path / name)
    write_tree(tmp_path / "posterior_mode.eqx", {"fingerprint": {}}, np.zeros(1))
    (tmp_path / "posterior.yaml").write_text("provenance:\n  tunax_lite_version: 1.2.3\n")
    (tmp_path / "influences.csv").write_text("parameter\n")
    save_figures({"loss": Figure(), "series_case": Figure(), "posterior_bands": Figure()}, tmp_path)
    kept = {"posterior_mine.png": b"\x89PNG\r\n\x1a\n of another program", "notes.txt": b"mine"}
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    calibrate_cheap(tmp_path, "levenberg_marquardt", 2, resume=True)  # the same one: all stays
    assert (tmp_path / "posterior.nc").exists() and (tmp_path / "loss.png").exists()
    calibrate_cheap(tmp_path, "levenberg_marquardt", 1, overwrite=True)
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert left == {"checkpoint.eqx", *kept}
