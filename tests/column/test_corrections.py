"""Corrections of fluxes and initial profiles: what they do to a case, and that a calibration finds them."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import yaml

from tests.calibration.twins import CHEAP_TRUTH, make_case, observe
from tests.errors import error_naming
from tunax_lite import ConstantForcing, Grid, Model, SurfaceFluxes, calibration
from tunax_lite.calibration import CorrelatedNormal, FreeParameter, FreeParameters, problem, with_parameters
from tunax_lite.closures import ConstantDiffusivity, PacanowskiPhilander
from tunax_lite.column.corrections import CorrectedForcing, InitialCorrection
from tunax_lite.column.integrate import start_of

KNOTS = [0.0, 3600.0, 10800.0]
HEIGHTS = [-60.0, -30.0, -5.0]


def corrected_case(stress: float, heat_flux: float, name: str):
    case, correction = make_case(stress, heat_flux), InitialCorrection.zero(HEIGHTS)
    forcing = CorrectedForcing.neutral(case.forcing, ("heat_flux_bias", "stress_scale"), KNOTS)
    return dataclasses.replace(case, name=name, forcing=forcing, initial_correction=correction)


WINDY, CALM = corrected_case(0.1, -200.0, "windy"), corrected_case(0.05, 50.0, "calm")
CASES = {"windy": WINDY, "calm": CALM}
HEAT = CorrelatedNormal(0.0, 50.0, length=3600.0)
FREE = FreeParameters(
    (
        FreeParameter("alpha", 1.0, 20.0),
        FreeParameter("cases.windy.forcing.heat_flux_bias", prior=HEAT),
        FreeParameter("cases.calm.forcing.heat_flux_bias", prior=HEAT),
        FreeParameter("case.initial_correction.temperature", prior=CorrelatedNormal(0.0, 0.2, length=20.0)),
        FreeParameter("case.coriolis_parameter", prior=calibration.Normal(1e-4, 1e-5)),
    )
)
"""What is free in one case is like what is free in the other, so that they share their programs."""
TRUTH = {
    **{f"cases.windy.forcing.heat_flux_bias[{i}]": value for i, value in enumerate((40.0, -30.0, 10.0))},
    **{f"cases.calm.forcing.heat_flux_bias[{i}]": value for i, value in enumerate((-20.0, 10.0, 0.0))},
    **{f"case.initial_correction.temperature[{i}]": value for i, value in enumerate((0.05, -0.1, 0.1))},
}


@functools.cache
def targets() -> tuple[calibration.Target, ...]:
    truth = Model(with_parameters(PacanowskiPhilander(), CHEAP_TRUTH))
    options: dict[str, Any] = {"dt": 300.0, "scale": calibration.Physical()}
    options["weights"] = {"temperature": 1.0, "u": 10.0, "v": 10.0}
    corrected = [calibration.with_case_parameters(case, TRUTH) for case in CASES.values()]
    observed = [observe(truth, case, dt=300.0, interval=1800.0) for case in corrected]
    return tuple(calibration.Target(*pair, **options) for pair in zip(CASES.values(), observed, strict=True))


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
    now: Any = forcing.at(50.0)
    found = [now.stress_u, now.surface_drag, now.heat_flux, now.salt_flux]
    np.testing.assert_allclose(found, [0.3, 0.015, 1.5 * -100.0 + 5.0, 1e-6])
    assert now.stress_v is None and now.shortwave_flux is None
    assert forcing.at(900.0).heat_flux == 2.0 * -100.0 - 10.0  # the last knot holds
    neutral = CorrectedForcing.neutral(ConstantForcing(fluxes), ("heat_flux_scale", "heat_flux_bias"))
    assert neutral.at(50.0).heat_flux == -100.0


def test_knots_of_a_period_repeat_and_join():
    knots, values = np.array([10.0, 100.0, 300.0]), np.array([5.0, 20.0, -10.0])

    def bias(time, values, period=400.0) -> Any:
        still, at = ConstantForcing(SurfaceFluxes()), jnp.asarray(knots)
        return CorrectedForcing(still, at, heat_flux_bias=values, period=period).at(time).heat_flux

    # NumPy's own interpolation of periodic values, before the first knot and over several periods.
    times = np.array([0.0, 10.0, 55.0, 300.0, 399.0, 405.0, 410.0, 777.0, 2000.5])
    expected = np.interp(times, knots, values, period=400.0)
    at_times = jax.jit(jax.vmap(bias, in_axes=(0, None)))
    np.testing.assert_allclose(at_times(times, jnp.asarray(values)), expected, rtol=1e-12)
    # Linear in the knots, so that the rows of the Jacobian are those of the unit vectors.
    rows = [np.interp(times, knots, unit, period=400.0) for unit in np.eye(3)]
    found = jax.jacrev(at_times, 1)(times, jnp.asarray(values))
    np.testing.assert_allclose(found, np.transpose(rows), atol=1e-12)
    # A batch of columns with cycles of their own.
    columns = jnp.stack([values, 2.0 * values], axis=1)
    np.testing.assert_allclose(bias(405.0, columns), expected[5] * np.array([1.0, 2.0]), rtol=1e-12)
    for period in (290.0, 0.0, np.inf):
        with error_naming(ValueError, "period"):
            bias(0.0, jnp.asarray(values), period)


def test_the_initial_state_is_shifted_linearly_between_heights():
    heights, added = jnp.array([-50.0, -20.0]), jnp.array([1.0, -0.5])
    one = InitialCorrection(heights, temperature=added, v=jnp.array([0.2, 0.2]))
    case = dataclasses.replace(make_case(0.1, 0.0), initial_correction=one)
    for here in (case, case.on(Grid.uniform(64.0, 32))):
        increment = here.start_state.temperature - here.initial_state.temperature
        np.testing.assert_allclose(increment, np.interp(here.grid.z_center, heights, added))
    np.testing.assert_allclose(case.start_state.v, 0.2)
    assert case.start_state.u is case.initial_state.u
    started = start_of(Model(ConstantDiffusivity()), case)
    np.testing.assert_array_equal(started.state.temperature, case.start_state.temperature)
    # One for all columns of a batch; one of each column, on a grid of each column, and the state of one.
    increment, state = np.interp(np.asarray(case.grid.z_center), heights, added)[:, None], case.initial_state
    profiles = jnp.linspace(10.0, 12.0, 16)[:, None] + jnp.array([0.0, 1.0, 3.0])
    found = one.add_to(dataclasses.replace(state, temperature=profiles), case.grid).temperature
    np.testing.assert_allclose(found, profiles + increment)
    three = InitialCorrection(heights, temperature=added[:, None] * jnp.array([1.0, 2.0, 4.0]))
    grids = dataclasses.replace(case.grid, z_face=case.grid.z_face[:, None] + jnp.zeros(3))
    for grid in (case.grid, grids):
        expected = state.temperature[:, None] + increment * jnp.array([1.0, 2.0, 4.0])
        np.testing.assert_allclose(three.add_to(state, grid).temperature, expected, rtol=1e-12)


def test_a_correlated_prior_has_its_covariance():
    z = np.array([-100.0, -70.0, -40.0, -10.0])
    correction = InitialCorrection.zero(z)
    case = dataclasses.replace(make_case(0.1, 0.0), name="a", initial_correction=correction)
    path, prior = "case.initial_correction.temperature", CorrelatedNormal(0.5, 2.0, length=30.0)
    free = FreeParameters((FreeParameter(path, prior=prior),))
    resolved = free.resolve(PacanowskiPhilander(), {"a": case})
    assert resolved.paths == tuple(f"{path}[{i}]" for i in range(4))
    jacobian = np.asarray(jax.jacfwd(resolved.to_physical)(jnp.zeros(4)))
    expected = 4.0 * np.exp(-((z[:, None] - z) ** 2) / (2.0 * 30.0**2))
    np.testing.assert_allclose(jacobian @ jacobian.T, expected, rtol=1e-7)
    np.testing.assert_allclose(resolved.to_physical(jnp.zeros(4)), 0.5)
    values = (1.0, -0.5, 0.2, 3.0)
    x = resolved.to_unconstrained(dict(zip(resolved.paths, values, strict=True)))
    np.testing.assert_allclose(resolved.to_physical(x), values, rtol=1e-9)


@pytest.mark.long  # a calibration of corrections: below
def test_gradients_are_those_of_central_differences_and_each_case_has_its_own():
    free = FREE.resolve(PacanowskiPhilander(), CASES)
    assert free.units["cases.windy.forcing.heat_flux_bias[1]"] == "W m-2"
    assert free.units["case.initial_correction.temperature[0]"] == "K"
    whole = problem.Problem(Model(PacanowskiPhilander()), free, targets(), calibration.MeanSquare())
    assert [own.places for own in whole.in_cases] == [(0, 1, 2, 3, *range(7, 11)), (0, *range(4, 11))]
    x = free.start() + 0.2
    gradient = problem.GradientEvaluator(whole)
    reverse = gradient(x).gradient
    assert gradient.program.n_compiled == 1
    forward = problem.NormalEquationsEvaluator(whole)(x)
    np.testing.assert_allclose(forward.gradient, reverse, rtol=1e-9, atol=1e-14)
    assert np.all(reverse != 0.0)
    loss = lambda x: gradient(x).loss  # noqa: E731
    differences = [(loss(x.at[i].add(1e-5)) - loss(x.at[i].add(-1e-5))) / 2e-5 for i in range(len(x))]
    np.testing.assert_allclose(reverse, differences, rtol=1e-6, atol=1e-9 * np.abs(reverse).max())
    # A number of one case has no curvature with one of the other.
    np.testing.assert_array_equal(forward.matrix[1:4, 4:7], 0.0)
    assert np.all(forward.matrix[1:4, 7:10] != 0.0)
    ensemble = problem.EnsembleEvaluator(whole)(jnp.stack([x, x - 0.3], axis=1))
    np.testing.assert_allclose(ensemble.losses, [loss(x), loss(x - 0.3)], rtol=1e-10)


@pytest.mark.long  # methods and corrections by themselves: above
def test_a_calibration_corrects_cases_and_writes_its_numbers(tmp_path):
    for method in (calibration.LevenbergMarquardt(), calibration.Adam(0.1)):
        options = {"score": calibration.MeanSquare(), "folder": tmp_path / type(method).__name__}
        result = calibration.calibrate(Model(PacanowskiPhilander()), FREE, targets(), method, 4, **options)
        assert result.best_loss < 0.9 * result.history.loss[0]
    # What is written gives the same cases and closure back.
    parameters, history = calibration.write_results(result, tmp_path)
    values = calibration.read_parameters(parameters, "PacanowskiPhilander")
    written = yaml.safe_load(parameters.read_text())["parameters"]["cases.windy.forcing.heat_flux_bias"]
    assert (written["unit"], written["coordinate"]) == ("W m-2", KNOTS)
    for case in CASES.values():
        assert eqx.tree_equal(calibration.with_case_parameters(case, values), result.cases[case.name])
    assert with_parameters(PacanowskiPhilander(), values).alpha == result.closure.alpha  # pyright: ignore
    with xr.open_dataset(history) as dataset:
        bias = dataset["cases_windy_forcing_heat_flux_bias"]
        assert (bias.attrs["units"], bias.shape) == ("W m-2", (4, 3))
        np.testing.assert_array_equal(dataset["cases_windy_forcing_heat_flux_bias_coordinate"], KNOTS)


def refused_as_free(*free):
    return lambda: FreeParameters(tuple(free)).resolve(PacanowskiPhilander(), CASES)


def test_bad_corrections_and_numbers_that_cannot_be_free_are_refused():
    two, one, still = jnp.array([0.0, 1.0]), jnp.array([-5.0]), CASES["windy"].forcing
    neutral, prior = CorrectedForcing.neutral, CorrelatedNormal(0.0, 1e-4, length=1.0)
    coriolis, low = "coriolis_parameter", CorrelatedNormal(0.5, 0.5, length=3600.0)
    both = [FreeParameter(f"{start}{coriolis}", 0.0, 2e-4) for start in ("case.", "cases.calm.")]
    misspelt, expected = "cases.windy.forcing.heat_flux_bais", "cases.windy.forcing.heat_flux_bias"
    for make, message in (
        (lambda: neutral(still, ("wind_scale",)), "stress_u_bias"),
        (lambda: neutral(still, ("stress_scale",), [0.0, 0.0]), "times"),
        (lambda: neutral(still, ["heat_flux_bias"], period=1.0), "knots"),
        (lambda: CorrectedForcing(still, two, salt_flux_bias=jnp.zeros(3)), "knots 2 3"),
        (lambda: neutral(still, ("salt_flux_scale",)).at(0.0), "salt_flux_scale"),
        (lambda: InitialCorrection.zero([-5.0, -60.0]), "deepest"),
        (lambda: InitialCorrection.zero([-5.0], ("density",)), "salinity u v density"),
        (lambda: InitialCorrection(one, u=jnp.zeros(2)), "heights 1 2"),
        (refused_as_free(FreeParameter(misspelt)), expected),
        (refused_as_free(FreeParameter("cases.stormy.forcing.heat_flux_bias")), "cases.windy"),
        (refused_as_free(FreeParameter("case.forcing.salt_flux_bias")), "case"),
        (refused_as_free(FreeParameter(f"case.{coriolis}", prior=prior)), "time"),
        (refused_as_free(FreeParameter("case.forcing.stress_scale", prior=low)), "deviations"),
        (refused_as_free(*both), coriolis),  # once per case
    ):
        with error_naming(ValueError, message):
            make()
