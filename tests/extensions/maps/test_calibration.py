"""Corrections of columns and shared parameters are fitted together, and read again as they were found."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tests.extensions.maps.synthetic import HOUR, SyntheticMap
from tunax_lite import Model, simulate
from tunax_lite.calibration import read_parameters
from tunax_lite.closures import ConstantDiffusivity
from tunax_lite.column.corrections import CorrectedForcing
from tunax_lite.extensions.maps.calibration import (
    Equations,
    MapFit,
    Progress,
    equations_of,
    fit_map,
    write_fit,
)
from tunax_lite.extensions.maps.sections import MapCalibrationSection
from tunax_lite.extensions.maps.setup import MapRun
from tunax_lite.io.provenance import Provenance
from tunax_lite.runtime.engine import ThisProcess, open_engine


@dataclasses.dataclass(frozen=True)
class Observed(SyntheticMap):
    values: Any = None

    def observed(self, columns, times):
        return self.values[np.round(times / (6 * HOUR)).astype(int)][:, columns]


SHAPE = 3, 6
N = SyntheticMap(shape=SHAPE).n_columns
TRUTH, CORRECTION = 3e-3, np.linspace(-60.0, 90.0, N)
MODEL = Model(ConstantDiffusivity())
DIFFUSIVITY = {"diffusivity": {"lower": 1e-4, "upper": 1.0, "scale": "log"}}
SETTINGS = MapCalibrationSection(parameters=DIFFUSIVITY, penalty=1e-6, start=6 * HOUR)  # pyright: ignore


def surface_temperature(diffusivity: float, correction: np.ndarray) -> np.ndarray:
    case = SyntheticMap(shape=SHAPE).case(np.arange(N), 0.0, 48 * HOUR)
    forcing = CorrectedForcing(case.forcing, None, heat_flux_bias=jnp.asarray(correction)[None])
    case, model = dataclasses.replace(case, forcing=forcing), Model(ConstantDiffusivity(1e-3, diffusivity))
    return np.asarray(simulate(model, case, dt=HOUR, output_interval=6 * HOUR).state.temperature[:, -1])


@pytest.fixture(scope="module")
def fit() -> MapFit:
    columns = Observed(shape=SHAPE, values=surface_temperature(TRUTH, CORRECTION))
    run = MapRun(MODEL, columns, HOUR, 6 * HOUR, 48 * HOUR, ())
    return MapFit(run, SETTINGS)


@pytest.fixture(scope="module")
def fitted(fit):
    return fit_map(fit, 8, ThisProcess())


@pytest.mark.long
def test_a_twin_is_recovered(fit, fitted):
    assert fitted.losses[-1] < 1e-6 * fitted.losses[0] and np.all(fitted.weight > 0.0)
    np.testing.assert_allclose(fitted.correction, CORRECTION, atol=0.5)
    np.testing.assert_allclose(fit.values(fitted.x), TRUTH, rtol=0.02)


@pytest.mark.long
def test_columns_that_cannot_be_followed_do_not_move_what_all_share(fit):
    values = fit.run.columns.values.copy()  # type: ignore
    strange = [2, 5]
    values[:, strange] = surface_temperature(30.0 * TRUTH, CORRECTION)[:, strange]
    run = dataclasses.replace(fit.run, columns=dataclasses.replace(fit.run.columns, values=values))
    found = {}
    for scale in (None, 0.01):
        other = MapFit(run, SETTINGS.model_copy(update={"misfit_scale": scale}))
        progress = fit_map(other, 10, ThisProcess())
        found[scale] = float(other.values(progress.x)[0])
        assert progress.losses[-1] < 0.3 * progress.losses[0]
        u = np.linspace(0.0, 4.0, 9) * (scale or 1.0) ** 2
        slope = (other.contribution(u + 1e-9) - other.contribution(u)) / 1e-9
        flat = Equations(u, np.zeros((2, u.size)), np.zeros((2, 2, u.size)))
        np.testing.assert_allclose(other.weight(flat), slope, rtol=1e-5)
    assert found[None] > 1.5 * TRUTH
    assert found[0.01] == pytest.approx(TRUTH, rel=0.01)


@pytest.mark.long
def test_equations_are_those_of_differences(fit):
    diffusivity, correction = 1e-2, np.linspace(20.0, -20.0, N)
    x = np.asarray(fit.free.to_unconstrained({"diffusivity": diffusivity}))
    found = equations_of(fit, (np.arange(N), x, correction))
    observed = fit.run.columns.values[2:]  # type: ignore

    def residuals(shift, more):
        (value,) = fit.values(x + shift)
        return surface_temperature(value, correction + more)[2:] - observed

    rows = residuals(1e-3, 0.0) - residuals(-1e-3, 0.0), residuals(0.0, 0.1) - residuals(0.0, -0.1)
    jacobian = np.stack(rows) / np.array([2e-3, 0.2])[:, None, None]
    base = residuals(0.0, 0.0)
    square = np.mean(base**2, axis=0) + (SETTINGS.penalty * correction) ** 2
    np.testing.assert_allclose(found.mean_square, square, rtol=1e-9)
    np.testing.assert_allclose(found.gradient, np.mean(jacobian * base, axis=1), rtol=1e-4, atol=1e-9)
    matrix = np.mean(jacobian[:, None] * jacobian[None], axis=2)
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-4, atol=1e-9)


def test_a_step_is_that_of_all_equations_together(fit):
    random, n, m, damping = np.random.default_rng(0), 7, 3, 0.3
    jacobian = 0.2 * random.standard_normal((m + 1, 20, n))
    residuals = 0.1 * random.standard_normal((20, n))
    gradient = np.mean(jacobian * residuals, axis=1)
    matrix = np.mean(jacobian[:, None] * jacobian[None], axis=2)
    area, dampings = random.random(n), np.append(damping, random.random(n))
    area /= area.sum()
    whole, right = np.zeros((n + m, n + m)), np.zeros(n + m)
    for i in range(n):
        own = [*range(m), m + i]
        whole[np.ix_(own, own)] += area[i] * matrix[:, :, i]
        whole[m + i, m + i] += area[i] * dampings[1 + i] * matrix[-1, -1, i]
        right[own] += area[i] * gradient[:, i]
    whole[range(m), range(m)] *= 1.0 + damping
    expected = np.linalg.solve(whole, -right)
    zero, equations = np.zeros(n), Equations(np.zeros(n), gradient, matrix)
    progress = Progress(np.zeros(m), zero, equations, area, np.ones(1), dampings)
    shared, own = progress.step(fit)
    assert np.abs(expected[:m]).max() < 0.5  # or the step is shortened
    np.testing.assert_allclose(shared, expected[:m], rtol=1e-9)
    np.testing.assert_allclose(own, expected[m:], rtol=1e-9)


def same(one, two) -> None:
    for name in ("losses", "x", "correction"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.long
def test_a_fit_goes_on_to_the_same_bits_and_workers_give_them_too(fit, fitted, tmp_path):
    path, begun = tmp_path / "iterations.eqx", []
    fit_map(fit, 3, ThisProcess(), path=path)
    report = lambda progress: begun.append(len(progress.losses))  # noqa: E731
    same(fit_map(fit, 8, ThisProcess(), path=path, report=report), fitted)
    assert begun == [3, *range(4, 9)]
    with error_naming(ValueError, "calibration"):
        fit_map(MapFit(fit.run, SETTINGS.model_copy(update={"penalty": 1.0})), 8, ThisProcess(), path=path)
    path.write_bytes(b"half")
    with error_naming(ValueError, "iterations.eqx SHA-256"):
        fit_map(fit, 8, ThisProcess(), path=path)
    with open_engine(workers=2) as engine:
        same(fit_map(fit, 8, engine), fitted)


@pytest.mark.long
def test_columns_that_break_down_are_left_out(fit, fitted):
    broken = dataclasses.replace(fit.run.columns, broken=(4, 6 * HOUR))
    other = dataclasses.replace(fit, run=dataclasses.replace(fit.run, columns=broken))
    found = fit_map(other, 8, ThisProcess())
    assert np.sum(found.weight == 0.0) == 1 and found.correction[4] == 0.0
    others = np.delete(np.arange(N), 4)
    np.testing.assert_allclose(found.correction[others], CORRECTION[others], atol=0.5)


def test_what_was_found_is_written_for_maps_and_runs(fit, fitted, tmp_path):
    paths = write_fit(fit, fitted, tmp_path, Provenance(case="twin"))
    with xr.open_dataset(paths[0]) as found:
        values = found.heat_flux_correction
        assert values.dims == ("lat", "lon") and values.units == "W m-2"
        np.testing.assert_array_equal(values.values.ravel()[fit.run.columns.index], fitted.correction)
        assert int(values.isnull().sum()) == np.prod(SHAPE) - N
        assert float(found.misfit.max()) < 0.1 * np.sqrt(fitted.losses[0])
        np.testing.assert_array_equal(found.loss, fitted.losses)
        assert found.attrs["tunax_lite_case"] == "twin"
    values = read_parameters(paths[1], "ConstantDiffusivity")
    assert values == {"diffusivity": pytest.approx(TRUTH, rel=0.02)}
