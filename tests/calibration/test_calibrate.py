"""The loop: twins are recovered, interruptions leave no trace, bad evaluations do no harm."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import tunax_lite as tl
from tests.calibration import twins
from tests.calibration.twins import CHEAP_FREE, calibrate_cheap, cheap_targets, make_case
from tests.errors import error_naming
from tunax_lite import calibration as cal
from tunax_lite.calibration import FreeParameter, FreeParameters
from tunax_lite.calibration.problem import GradientEvaluator
from tunax_lite.calibration.results import write_tree
from tunax_lite.io.dataset import write_dataset
from tunax_lite.plotting import save_figures


@pytest.fixture(scope="module")
def uninterrupted():
    return calibrate_cheap(None, "lbfgs", 8)


def test_a_cheap_twin_is_recovered():
    result = calibrate_cheap(None, "lbfgs", 60)
    for path, value in twins.CHEAP_TRUTH.items():
        assert result.best[path] == pytest.approx(value, rel=1e-2)
    assert result.best_loss < 1e-6 * result.history.loss[0]
    assert float(result.closure.alpha) == result.best["alpha"]  # pyright: ignore[reportAttributeAccessIssue]


def test_another_calibration_is_not_resumed(tmp_path):
    calibrate_cheap(tmp_path, "adam", 2)
    before = _contents(tmp_path)
    wider = FreeParameters((FreeParameter("alpha", 1.0, 30.0), *CHEAP_FREE.parameters[1:]))
    targets = [dataclasses.replace(target, weights={"u": 1.0}) for target in cheap_targets()]
    other = tl.Model(tl.PacanowskiPhilander(exponent=1.5))  # pyright: ignore[reportArgumentType]
    for changed, named in (
        ({"method": cal.LBFGS()}, "method Adam LBFGS"),
        ({"free_parameters": wider}, "alpha 1 20 30 linear"),
        ({"targets": targets}, "stress 0.1 heat -200"),
        ({"model": other}, "model"),
    ):
        with error_naming(cal.OtherCalibrationError, named):
            calibrate_cheap(tmp_path, "adam", 3, resume=True, **changed)
    assert _contents(tmp_path) == before


def _contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_good_results_are_not_overwritten_by_accident(tmp_path):
    cal.write_results(calibrate_cheap(tmp_path, "adam", 1), tmp_path)
    before = _contents(tmp_path)
    for options, named in (
        ({}, "checkpoint.eqx parameters.yaml"),
        ({"resume": True, "overwrite": True}, "resume overwrite"),
        ({"n_iterations": 0}, "n_iterations 1 0"),
        ({"max_non_finite": 0}, "max_non_finite 1 0"),
    ):
        with error_naming(ValueError, named):
            calibrate_cheap(tmp_path, "adam", **{"n_iterations": 2, **options})
    assert _contents(tmp_path) == before
    calibrate_cheap(tmp_path, "lbfgs", 1, overwrite=True)
    checkpoint = tmp_path / "checkpoint.eqx"
    assert list(tmp_path.iterdir()) == [checkpoint]
    good = checkpoint.read_bytes()
    checkpoint.write_bytes(good[: len(good) // 2])
    with error_naming(ValueError, "checkpoint.eqx SHA-256"):
        calibrate_cheap(tmp_path, "lbfgs", 3, resume=True)
    checkpoint.rename(tmp_path / "parameters.yaml")
    with error_naming(ValueError, "parameters.yaml"):
        calibrate_cheap(tmp_path, "lbfgs", 2, resume=True)


def _breaking(monkeypatch, broken: set[int]) -> list[np.ndarray]:
    """Let some evaluations come out as NaN; the list fills with the iterates."""
    plain, seen = GradientEvaluator.__call__, []

    def call(self, x):
        seen.append(np.asarray(x))
        found = plain(self, x)
        if len(seen) - 1 not in broken:
            return found
        names = "loss", "scores", "errors", "gradient"
        return dataclasses.replace(found, **{name: getattr(found, name) * np.nan for name in names})

    monkeypatch.setattr(GradientEvaluator, "__call__", call)
    return seen


def test_a_broken_evaluation_is_rejected_and_reported(monkeypatch, tmp_path):
    seen = _breaking(monkeypatch, {3, 4})
    result = calibrate_cheap(tmp_path, "lbfgs", 10)
    assert result.n_non_finite == 2 and result.history.rejected[3:5].all()
    np.testing.assert_allclose(seen[4] - seen[2], 0.5 * (seen[3] - seen[2]), rtol=1e-9, atol=1e-14)
    assert result.history.best_iteration > 4 and np.isfinite(list(result.best.values())).all()


def test_only_broken_evaluations_end_with_the_best_result(monkeypatch, tmp_path):
    _breaking(monkeypatch, set(range(3, 100)))
    result = calibrate_cheap(tmp_path, "adam", 50, max_non_finite=4)
    assert result.history.n_iterations == 7 and result.history.best_iteration < 3
    assert "4 evaluations" in result.stop_reason
    assert "not finite" in calibrate_cheap(tmp_path, "adam", 50, max_non_finite=4, resume=True).stop_reason


class _Fragile(tl.PacanowskiPhilander):
    """Mixing whose run breaks with a large `alpha`."""

    def _stable(self, ri):
        viscosity, diffusivity = super()._stable(ri)
        return jnp.where(self.alpha > 6.0, jnp.nan, viscosity), diffusivity


def test_members_may_fail_where_jax_looks_for_nan():
    method = cal.EnsembleKalman(noise=0.1, n_members=8)
    with jax.debug_nans(True), jax.debug_infs(True):
        result = calibrate_cheap(None, "ensemble_kalman", 2, model=tl.Model(_Fragile()), method=method)
    assert np.isfinite(result.best_loss) and float(result.best["alpha"]) < 6.0


@pytest.mark.long
def test_a_broken_start_names_the_case_and_leaves_old_results(tmp_path):
    cal.write_results(calibrate_cheap(tmp_path, "adam", 1), tmp_path)
    before = _contents(tmp_path)
    good, target = cheap_targets()
    # So much heat that the run overflows, which no constructor accepts.
    case = eqx.tree_at(lambda case: case.forcing.fluxes.heat_flux, make_case(0.1, 1e3), jnp.asarray(1e308))
    targets = [good, dataclasses.replace(target, case=dataclasses.replace(case, name="scorched"))]
    with error_naming(FloatingPointError, "scorched"):
        calibrate_cheap(tmp_path, "adam", 5, targets=targets, overwrite=True, score=cal.RootMeanSquare())
    assert _contents(tmp_path) == before


def test_the_files_hold_the_result(tmp_path, uninterrupted):
    result = uninterrupted
    first = result.case_names[0]
    assert set(result.errors()) == set(result.case_names)
    assert result.errors()[first]["temperature"] < result.errors(0)[first]["temperature"]
    assert result.start == {"alpha": 5.0, "viscosity_scale": 0.01, "convective_coefficient": 0.1}
    parameters, history = cal.write_results(result, tmp_path, {"version": "1.2.3"})
    assert cal.read_parameters(parameters, "PacanowskiPhilander") == result.best
    with xr.open_dataset(history) as dataset:
        assert dict(dataset.sizes) == {"iteration": 8, "case": 2}
        np.testing.assert_array_equal(dataset.loss, result.history.loss)
        np.testing.assert_array_equal(dataset.alpha, result.history.values[:, 0])
        assert dataset.viscosity_scale.attrs["units"] == "m2 s-1"
        assert dataset.temperature_error.attrs["units"] == "K"
        assert dataset.attrs["version"] == "1.2.3"
        assert list(dataset.case.values) == list(result.case_names)


def test_bad_parameter_files_are_refused(tmp_path):
    path = tmp_path / "parameters.yaml"
    for content, message in (
        ("", "parameters"),
        ("parameters: {alpha: {value: .nan}}", "parameters.alpha nan"),
        ("parameters: {alpha: yes}", "parameters.alpha yes"),
        ("parameters: {alpha: [", "YAML"),
        ("closure: ConstantDiffusivity\nparameters: {}", "closure KEpsilon ConstantDiffusivity"),
    ):
        path.write_text(content)
        with error_naming(ValueError, f"{path} {message}"):
            cal.read_parameters(path, "KEpsilon")
    path.write_text("parameters:\n  alpha: 1e-3\n  exponent: {value: 2}\n")
    assert cal.read_parameters(path) == {"alpha": 1e-3, "exponent": 2.0}
    with error_naming(FileNotFoundError, "none.yaml"):
        cal.read_parameters(tmp_path / "none.yaml")


@pytest.mark.long
def test_a_calibration_that_replaces_another_takes_its_posterior_and_figures_along(tmp_path):
    calibrate_cheap(tmp_path, "levenberg_marquardt", 1)
    for name in ("posterior.nc", "history.nc"):
        write_dataset(xr.Dataset(attrs={"tunax_lite_version": "1.2.3"}), tmp_path / name)
    write_tree(tmp_path / "posterior_chain_0.eqx", {"fingerprint": {}}, np.zeros(1))
    (tmp_path / "posterior.yaml").write_text("provenance:\n  tunax_lite_version: 1.2.3\n")
    save_figures({"loss": Figure(), "series_case": Figure(), "posterior_marginals": Figure()}, tmp_path)
    (tmp_path / "posterior_mine.png").write_bytes(b"\x89PNG\r\n\x1a\n of another program")
    calibrate_cheap(tmp_path, "levenberg_marquardt", 2, resume=True)  # the same one: all stays
    assert (tmp_path / "posterior.nc").exists() and (tmp_path / "loss.png").exists()
    calibrate_cheap(tmp_path, "levenberg_marquardt", 1, overwrite=True)
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert left == {"checkpoint.eqx", "posterior_mine.png"}
