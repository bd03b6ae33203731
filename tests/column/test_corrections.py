"""Corrections of fluxes and initial profiles: what they do to a case, and that a calibration finds them."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import yaml

from tests.calibration.twins import CHEAP_TRUTH, make_case, observe
from tests.errors import error_naming
from tunax_lite.calibration import (
    LBFGS,
    Adam,
    CorrelatedNormal,
    FreeParameter,
    FreeParameters,
    LevenbergMarquardt,
    MeanSquare,
    Normal,
    Physical,
    Target,
    Tied,
    calibrate,
    read_parameters,
    with_case_parameters,
    with_parameters,
    write_results,
)
from tunax_lite.calibration.problem import (
    EnsembleEvaluator,
    GradientEvaluator,
    NormalEquationsEvaluator,
    Problem,
)
from tunax_lite.closures import Constant, PacanowskiPhilander
from tunax_lite.column.corrections import CorrectedForcing, InitialCorrection
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes
from tunax_lite.column.grid import Grid
from tunax_lite.column.integrate import start_of
from tunax_lite.column.model import Model

KNOTS = [0.0, 3600.0, 10800.0]
HEIGHTS = [-60.0, -30.0, -5.0]


def corrected_case(stress: float, heat_flux: float, name: str):
    case = make_case(stress, heat_flux)
    return dataclasses.replace(
        case,
        name=name,
        forcing=CorrectedForcing.neutral(case.forcing, ("heat_flux_bias", "stress_scale"), KNOTS),
        initial_correction=InitialCorrection.zero(HEIGHTS),
    )


WINDY, CALM = corrected_case(0.1, -200.0, "windy"), corrected_case(0.05, 50.0, "calm")
CASES = {"windy": WINDY, "calm": CALM}
HEAT = CorrelatedNormal(0.0, 50.0, length=3600.0)
FREE = FreeParameters(
    (
        FreeParameter("alpha", 1.0, 20.0),
        FreeParameter("cases.windy.forcing.heat_flux_bias", prior=HEAT),
        FreeParameter("cases.calm.forcing.heat_flux_bias", prior=HEAT),
        FreeParameter("case.initial_correction.temperature", prior=CorrelatedNormal(0.0, 0.2, length=20.0)),
        FreeParameter("case.coriolis_parameter", prior=Normal(1e-4, 1e-5)),
    )
)
"""What is free in one case is like what is free in the other, so that they share their programs."""
TRUTH = {
    **{f"cases.windy.forcing.heat_flux_bias[{i}]": value for i, value in enumerate((40.0, -30.0, 10.0))},
    **{f"cases.calm.forcing.heat_flux_bias[{i}]": value for i, value in enumerate((-20.0, 10.0, 0.0))},
    **{f"case.initial_correction.temperature[{i}]": value for i, value in enumerate((0.05, -0.1, 0.1))},
}


@functools.cache
def targets() -> tuple[Target, ...]:
    truth = Model(with_parameters(PacanowskiPhilander(), CHEAP_TRUTH))
    weights = {"temperature": 1.0, "u": 10.0, "v": 10.0}
    return tuple(
        Target(
            case,
            observe(truth, with_case_parameters(case, TRUTH), dt=300.0, interval=1800.0),
            weights,
            dt=300.0,
            scale=Physical(),
        )
        for case in CASES.values()
    )


def test_fluxes_are_scaled_and_shifted_between_knots():
    fluxes = SurfaceFluxes(stress_u=0.2, heat_flux=-100.0, surface_drag=0.01)
    forcing = CorrectedForcing(
        ConstantForcing(fluxes),
        jnp.array([0.0, 100.0, 300.0]),
        stress_scale=jnp.array([1.5]),
        heat_flux_bias=jnp.array([0.0, 10.0, -10.0]),
        heat_flux_scale=jnp.array([1.0, 2.0, 2.0]),
        salt_flux_bias=jnp.array([1e-6]),
    )
    now = forcing.at(50.0)
    np.testing.assert_allclose([now.stress_u, now.surface_drag], [0.3, 0.015])  # pyright: ignore
    np.testing.assert_allclose([now.heat_flux, now.salt_flux], [1.5 * -100.0 + 5.0, 1e-6])  # pyright: ignore
    assert now.stress_v is None
    assert now.shortwave_flux is None
    after = forcing.at(900.0)  # the last knot holds
    assert after.heat_flux == 2.0 * -100.0 - 10.0
    neutral = CorrectedForcing.neutral(ConstantForcing(fluxes), ("heat_flux_scale", "heat_flux_bias"))
    assert neutral.at(50.0).heat_flux == -100.0


def test_knots_of_a_period_repeat_and_join():
    knots, values = np.array([10.0, 100.0, 300.0]), np.array([5.0, 20.0, -10.0])

    def bias(time, values, period=400.0):
        forcing = CorrectedForcing(
            ConstantForcing(SurfaceFluxes()), jnp.asarray(knots), heat_flux_bias=values, period=period
        )
        return forcing.at(time).heat_flux

    # NumPy's own interpolation of periodic values, before the first knot and over several periods.
    times = np.array([0.0, 10.0, 55.0, 300.0, 399.0, 405.0, 410.0, 777.0, 2000.5])
    expected = np.interp(times, knots, values, period=400.0)
    at_once = jax.jit(jax.vmap(bias, in_axes=(0, None)))(times, jnp.asarray(values))
    np.testing.assert_allclose(at_once, expected, rtol=1e-12)
    # Linear in the knots, so that the rows of the Jacobian are those of the unit vectors.
    rows = [np.interp(times, knots, unit, period=400.0) for unit in np.eye(3)]
    found = jax.jacrev(jax.vmap(bias, in_axes=(0, None)), 1)(times, jnp.asarray(values))
    np.testing.assert_allclose(found, np.transpose(rows), atol=1e-12)
    # A batch of columns with cycles of their own.
    columns = jnp.stack([values, 2.0 * values], axis=1)
    np.testing.assert_allclose(
        np.asarray(bias(405.0, columns)), expected[5] * np.array([1.0, 2.0]), rtol=1e-12
    )
    for period in (290.0, 0.0, np.inf):
        with error_naming(ValueError, "period"):
            bias(0.0, jnp.asarray(values), period)
    with error_naming(ValueError, "knots"):
        CorrectedForcing.neutral(ConstantForcing(SurfaceFluxes()), ["heat_flux_bias"], period=1.0)


def test_the_initial_state_is_shifted_linearly_between_heights():
    grid = Grid.uniform(64.0, 16)
    case = dataclasses.replace(
        make_case(0.1, 0.0),
        initial_correction=InitialCorrection(
            jnp.array([-50.0, -20.0]), temperature=jnp.array([1.0, -0.5]), v=jnp.array([0.2, 0.2])
        ),
    )
    z = np.asarray(grid.z_center)
    expected = np.interp(z, [-50.0, -20.0], [1.0, -0.5])
    np.testing.assert_allclose(case.start_state.temperature - case.initial_state.temperature, expected)
    np.testing.assert_allclose(case.start_state.v, 0.2)
    assert case.start_state.u is case.initial_state.u
    # On another grid the increment is the same function of height.
    finer = case.on(Grid.uniform(64.0, 32))
    increment = finer.start_state.temperature - finer.initial_state.temperature
    np.testing.assert_allclose(increment, np.interp(finer.grid.z_center, [-50.0, -20.0], [1.0, -0.5]))
    started = start_of(Model(Constant()), case)
    np.testing.assert_array_equal(started.state.temperature, case.start_state.temperature)


def test_one_correction_serves_every_column_of_a_batch():
    case = make_case(0.1, 0.0)
    profiles = jnp.linspace(10.0, 12.0, 16)[:, None] + jnp.array([0.0, 1.0, 3.0])
    state = dataclasses.replace(case.initial_state, temperature=profiles)
    one = InitialCorrection(jnp.array([-50.0, -20.0]), temperature=jnp.array([1.0, -0.5]))
    added = np.asarray(np.interp(case.grid.z_center, [-50.0, -20.0], [1.0, -0.5]))
    np.testing.assert_allclose(one.add_to(state, case.grid).temperature, profiles + added[:, None])
    # One of each column, on a grid of each column, and the state of one.
    three = dataclasses.replace(one, temperature=jnp.array([[1.0, 2.0, 4.0], [-0.5, -1.0, -2.0]]))
    grids = dataclasses.replace(case.grid, z_face=case.grid.z_face[:, None] + jnp.zeros(3))
    for correction, grid in ((three, case.grid), (three, grids)):
        found = correction.add_to(case.initial_state, grid).temperature
        expected = case.initial_state.temperature[:, None] + added[:, None] * jnp.array([1.0, 2.0, 4.0])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_correlated_prior_has_its_covariance():
    z = np.array([-100.0, -70.0, -40.0, -10.0])
    correction = InitialCorrection.zero(z)
    case = dataclasses.replace(make_case(0.1, 0.0), name="a", initial_correction=correction)
    path = "case.initial_correction.temperature"
    free = FreeParameters((FreeParameter(path, prior=CorrelatedNormal(0.5, 2.0, length=30.0)),))
    resolved = free.resolve(PacanowskiPhilander(), {"a": case})
    assert resolved.paths == tuple(f"{path}[{i}]" for i in range(4))
    jacobian = np.asarray(jax.jacfwd(resolved.to_physical)(jnp.zeros(4)))
    expected = 4.0 * np.exp(-((z[:, None] - z) ** 2) / (2.0 * 30.0**2))
    np.testing.assert_allclose(jacobian @ jacobian.T, expected, rtol=1e-7)
    np.testing.assert_allclose(resolved.to_physical(jnp.zeros(4)), 0.5)
    values = dict(zip(resolved.paths, (1.0, -0.5, 0.2, 3.0), strict=True))
    x = resolved.to_unconstrained(values)
    np.testing.assert_allclose(resolved.to_physical(x), list(values.values()), rtol=1e-9)


@pytest.mark.long  # a calibration of corrections: below
def test_gradients_are_those_of_central_differences_and_each_case_has_its_own():
    free = FREE.resolve(PacanowskiPhilander(), CASES)
    assert free.units["cases.windy.forcing.heat_flux_bias[1]"] == "W m-2"
    assert free.units["case.initial_correction.temperature[0]"] == "K"
    problem = Problem(Model(PacanowskiPhilander()), free, targets(), MeanSquare())
    assert [own.places for own in problem.in_cases] == [(0, 1, 2, 3, *range(7, 11)), (0, *range(4, 11))]
    x = free.start() + 0.2
    gradient = GradientEvaluator(problem)
    reverse = gradient(x).gradient
    assert gradient.n_compiled == 1
    forward = NormalEquationsEvaluator(problem)(x)
    np.testing.assert_allclose(forward.gradient, reverse, rtol=1e-9, atol=1e-14)
    assert np.all(reverse != 0.0)
    loss = lambda x: gradient(x).fit.loss  # noqa: E731
    differences = [(loss(x.at[i].add(1e-5)) - loss(x.at[i].add(-1e-5))) / 2e-5 for i in range(len(x))]
    np.testing.assert_allclose(reverse, differences, rtol=1e-6, atol=1e-9 * np.abs(reverse).max())
    # A number of one case has no curvature with one of the other.
    np.testing.assert_array_equal(forward.matrix[1:4, 4:7], 0.0)
    assert np.all(forward.matrix[1:4, 7:10] != 0.0)
    members = jnp.stack([x, x - 0.3], axis=1)
    ensemble = EnsembleEvaluator(problem)(members)
    np.testing.assert_allclose(ensemble.losses, [loss(member) for member in members.T], rtol=1e-10)


@pytest.mark.long  # methods and corrections by themselves: above
def test_a_calibration_corrects_cases_resumes_and_writes_its_numbers(tmp_path):
    def run(folder, n_iterations, method=None, **options):
        model, method = Model(PacanowskiPhilander()), method or Adam(0.1)
        options = {"score": MeanSquare(), "folder": folder, **options}
        return calibrate(model, FREE, targets(), method, n_iterations, **options)

    for method in (LBFGS(), LevenbergMarquardt()):
        fitted = run(tmp_path / type(method).__name__, 4, method)
        assert fitted.best_loss < 0.9 * fitted.history.loss[0]
    result = run(tmp_path / "whole", 4)
    assert result.best_loss < 0.9 * result.history.loss[0]
    run(tmp_path / "parts", 2)
    np.testing.assert_array_equal(run(tmp_path / "parts", 4, resume=True).history.x, result.history.x)
    # What is written gives the same cases and closure back.
    parameters, history = write_results(result, tmp_path)
    values = read_parameters(parameters, "PacanowskiPhilander")
    written = yaml.safe_load(parameters.read_text())["parameters"]["cases.windy.forcing.heat_flux_bias"]
    assert (written["unit"], written["coordinate"]) == ("W m-2", KNOTS)
    for case in CASES.values():
        again, best = with_case_parameters(case, values), result.cases[case.name]
        leaves = zip(jax.tree.leaves(again), jax.tree.leaves(best), strict=True)
        assert all(np.array_equal(a, b) for a, b in leaves)
    assert with_parameters(PacanowskiPhilander(), values).alpha == result.closure.alpha  # pyright: ignore
    with xr.open_dataset(history) as dataset:
        bias = dataset["cases_windy_forcing_heat_flux_bias"]
        assert bias.attrs["units"] == "W m-2"
        assert bias.shape == (4, 3)
        np.testing.assert_array_equal(dataset["cases_windy_forcing_heat_flux_bias_coordinate"], KNOTS)


def test_numbers_that_cannot_be_free_are_refused():
    for path, prior, message in (
        ("cases.windy.forcing.heat_flux_bais", None, "cases.windy.forcing.heat_flux_bias"),
        ("cases.stormy.forcing.heat_flux_bias", None, "cases.windy"),
        ("case.forcing.salt_flux_bias", None, "case"),
        ("case.coriolis_parameter", CorrelatedNormal(0.0, 1e-4, length=1.0), "time"),
        ("case.forcing.stress_scale", CorrelatedNormal(0.5, 0.5, length=3600.0), "deviations"),
    ):
        with error_naming(ValueError, message):
            FreeParameters((FreeParameter(path, prior=prior),)).resolve(PacanowskiPhilander(), CASES)


def test_a_number_is_free_once_per_case():
    both = tuple(FreeParameter(f"{start}coriolis_parameter", 0.0, 2e-4) for start in ("case.", "cases.calm."))
    with error_naming(ValueError, "coriolis_parameter"):
        FreeParameters(both).resolve(PacanowskiPhilander(), CASES)
    tied = (Tied("cases.windy.coriolis_parameter", to="cases.calm.coriolis_parameter"),)
    with error_naming(ValueError, "tied"):
        FreeParameters(both[1:], tied).resolve(PacanowskiPhilander(), CASES)


def test_bad_corrections_are_refused():
    two, one = jnp.array([0.0, 1.0]), jnp.array([-5.0])
    for make, message in (
        (lambda: CorrectedForcing.neutral(WINDY.forcing, ("wind_scale",)), "stress_u_bias"),
        (lambda: CorrectedForcing.neutral(WINDY.forcing, ("stress_scale",), [0.0, 0.0]), "times"),
        (lambda: CorrectedForcing(WINDY.forcing, two, salt_flux_bias=jnp.zeros(3)), "knots 2 3"),
        (lambda: CorrectedForcing.neutral(WINDY.forcing, ("salt_flux_scale",)).at(0.0), "salt_flux_scale"),
        (lambda: InitialCorrection.zero([-5.0, -60.0]), "deepest"),
        (lambda: InitialCorrection.zero([-5.0], ("density",)), "salinity u v density"),
        (lambda: InitialCorrection(one, u=jnp.zeros(2)), "heights 1 2"),
    ):
        with error_naming(ValueError, message):
            make()
