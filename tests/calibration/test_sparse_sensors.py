"""Depths of the mixed layer by other thresholds and references, and from the few instruments of a mooring."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.calibration import Target, errors_of, residuals
from tunax_lite.calibration.observed import smoothing_matrix
from tunax_lite.calibration.target import MeanSquare, misfit
from tunax_lite.closures import Constant
from tunax_lite.column.case import Case
from tunax_lite.column.checkpointing import SaveEverything
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes
from tunax_lite.column.grid import Grid
from tunax_lite.column.integrate import simulate
from tunax_lite.column.model import Model
from tunax_lite.column.observables import ColumnState, observable, unit_of_difference, variable_of
from tunax_lite.column.observations import Observations
from tunax_lite.column.state import State
from tunax_lite.physics.equation_of_state import LinearEquationOfState

GRID = Grid.uniform(200.0, 100)
"""Centers at odd depths: 1, 3, 5 m, ..."""


def warm_skin(z):
    """21 degC above 4 m, 20 degC down to 30 m, and 0.1 K m-1 below."""
    return jnp.where(z > -4.0, 21.0, 20.0 + 0.1 * jnp.minimum(z + 30.0, 0.0))


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        # 20.8 degC lies a fifth of the way from the center at 3 m to that at 5 m.
        ("mixed_layer_depth_from_0m", 3.4),
        ("mixed_layer_depth", 32.0),
        ("mixed_layer_depth_from_10m", 32.0),
        ("mixed_layer_depth_0.5K_from_10m", 35.0),
        ("mixed_layer_depth_1.5K_from_0m", 35.0),
        ("mixed_layer_depth_1.5K", 45.0),
        # The reference lies in the gradient, at 18 degC, which is at 50 m.
        ("mixed_layer_depth_0.2K_from_50m", 52.0),
        # 0.125 kg m-3 over 1027 kg m-3 times 2e-4 K-1 is 0.60857 K.
        ("mixed_layer_depth_density_0.125kg_from_10m", 30.0 + 6.085686),
        ("mixed_layer_depth_density_from_10m", 30.0 + 1.460565),
    ],
)
def test_thresholds_and_references_by_hand(name, depth):
    state = State.from_profiles(GRID, temperature=warm_skin)
    water = ColumnState(state, GRID, LinearEquationOfState())
    assert float(observable(name)(water)) == pytest.approx(depth, rel=1e-6)
    assert unit_of_difference(name) == "m"
    case = case_of(warm_skin)
    run = simulate(MODEL, case, dt=60.0, duration=60.0, output_interval=60.0)
    assert diagnose(run, case, [name])[name][0] == pytest.approx(depth, rel=1e-6)


def test_names_say_what_they_are():
    variable = variable_of("mixed_layer_depth_0.5K_from_10m")
    assert variable is not None and variable.unit == "m"
    assert variable.long_name == "depth where the temperature differs from that at 10 m by 0.5 K"
    assert variable.standard_name == "ocean_mixed_layer_thickness_defined_by_temperature"
    density = variable_of("mixed_layer_depth_density_0.125kg")
    assert density is not None
    assert (
        density.long_name
        == "depth where the potential density differs from that at 10 m (in shallow water 1 m) by "
        "0.125 kg m-3"
    )
    layer = variable_of("heat_content_above_100m")
    assert layer is not None and layer.long_name == "heat relative to 0 degC of the water above 100 m"


@pytest.mark.parametrize(
    "name", ["mixed_layer_depth_0.5kg", "mixed_layer_depth_density_0.5K", "mixed_layer_depth_0K_from_10m"]
)
def test_thresholds_without_meaning_are_refused(name):
    with error_naming(ValueError, name):
        observable(name)


MODEL = Model(Constant(0.0, 0.0), molecular_viscosity=0.0, molecular_diffusivity=0.0)


def case_of(temperature) -> Case:
    state = State.from_profiles(GRID, temperature=temperature)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.0, heat_flux=0.0))
    return Case(GRID, state, forcing, duration=120.0, name="still water")


# Ocean Station Papa (50 N, 145 W), 8 June 2007, 12 UTC: depths [m] and temperatures [degC] of the moored
# instruments, as PMEL's Ocean Climate Stations project gives them.
DEPTHS = (1.0, 5.0, 8.0, 10.0, 30.0, 32.0, 35.0, 45.0, 80.0, 100.0, 120.0, 150.0)
PAPA = (7.07, 7.05, 7.05, 7.05, 6.99, 6.98, 6.95, 6.63, 5.08, 5.52, 6.16, 5.72)


def observed(values, depths=DEPTHS) -> Observations:
    """The same profile twice, [degC] from the surface down."""
    z, row = -jnp.asarray(depths)[::-1], jnp.asarray(values, dtype=float)[::-1]
    return Observations(jnp.array([60.0, 120.0]), z, {"temperature": jnp.stack([row, row])})


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        # 6.85 degC between 6.95 at 35 m and 6.63 at 45 m.
        ("mixed_layer_depth_from_10m", {}, 35.0 + 10.0 * 0.10 / 0.32),
        # 6.55 degC between 6.63 at 45 m and 5.08 at 80 m.
        ("mixed_layer_depth_0.5K_from_10m", {}, 45.0 + 35.0 * 0.08 / 1.55),
        # Without the instrument at 45 m, between 35 m and 80 m.
        ("mixed_layer_depth_from_10m", {45.0: np.nan}, 35.0 + 45.0 * 0.10 / 1.87),
        ("sea_surface_temperature", {}, 7.07),
    ],
)
def test_a_mooring_gives_the_depth_between_its_instruments(name, change, expected):
    values = [change.get(depth, value) for depth, value in zip(DEPTHS, PAPA, strict=True)]
    comparison = Target(case_of(warm_skin), observed(values), {name: 1.0}, dt=60.0).comparison
    # The line between the instruments bends at 10 m, between two centers of the model: 0.003 K at a slope of
    # 0.04 K per metre or more.
    np.testing.assert_allclose(comparison.observed[name][1:, 0], expected, atol=0.08)
    assert float(comparison.counts[name].sum()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        # The mixed layer reaches below the last instrument with a value.
        ("mixed_layer_depth_from_10m", dict.fromkeys((45.0, 80.0, 100.0, 120.0, 150.0), np.nan)),
        # No value at or above the reference.
        ("mixed_layer_depth_from_10m", dict.fromkeys((1.0, 5.0, 8.0, 10.0), np.nan)),
        ("sea_surface_temperature", dict.fromkeys((1.0, 5.0, 8.0, 10.0), np.nan)),
        # The heat above 160 m, with nothing below 150 m.
        ("heat_content_above_160m", {}),
    ],
)
def test_what_instruments_do_not_reach_does_not_count(name, change):
    values = [change.get(depth, value) for depth, value in zip(DEPTHS, PAPA, strict=True)]
    with error_naming(ValueError, f"{name} NaN 10"):
        _ = Target(case_of(warm_skin), observed(values), {name: 1.0}, dt=60.0).comparison


def test_the_model_is_seen_at_the_same_depths():
    # 8 degC above 40 m and 5 degC below, which nobody can tell from a line between 35 and 45 m.
    case = case_of(lambda z: jnp.where(z > -40.0, 8.0, 5.0))
    values = [8.0 if depth < 40.0 else 5.0 for depth in DEPTHS]
    name = "mixed_layer_depth_from_10m"
    target = Target(case, observed(values), {name: 1.0}, dt=60.0)
    comparison = target.comparison
    np.testing.assert_allclose(comparison.observed[name][1:, 0], 35.0 + 10.0 * 0.2 / 3.0, rtol=1e-9)
    found, _ = residuals(MODEL, comparison)
    np.testing.assert_allclose(found[name], 0.0, atol=1e-9)
    # At its own resolution the model has it between its centers at 39 and 41 m.
    full = dataclasses.replace(comparison, seen={})
    difference = residuals(MODEL, full)[0][name][1:, 0] / np.sqrt(0.5)
    np.testing.assert_allclose(difference, 39.0 + 2.0 * 0.2 / 3.0 - (35.0 + 2.0 / 3.0), rtol=1e-9)


def test_mean_errors_have_a_sign():
    # Still water of 10 degC, observed 0.5 K too warm at 30 m and 0.25 K too cold at 10 m.
    z, row = jnp.array([-30.0, -10.0]), jnp.array([10.5, 9.75])
    seen = Observations(jnp.array([60.0, 120.0]), z, {"temperature": jnp.stack([row, row])})
    found = errors_of(MODEL, Target(case_of(lambda z: 10.0 + 0.0 * z), seen, dt=60.0).comparison)[
        "temperature"
    ]
    assert found.mean == pytest.approx(-0.125, rel=1e-9)
    assert found.root_mean_square == pytest.approx(np.sqrt(0.5 * (0.25 + 0.0625)), rel=1e-9)


def test_heights_that_move_and_a_profile_without_values():
    z = jnp.array([[-30.0, -20.0, -8.0], [-33.0, -21.0, -9.0], [-30.0, -20.0, -8.0]])
    # 0.1 K m-1 below 20 m, then below 21 m; nothing at the last time.
    temperature = jnp.array([[9.0, 10.0, 10.0], [8.8, 10.0, 10.0], [jnp.nan, jnp.nan, jnp.nan]])
    moving = Observations(jnp.array([0.0, 60.0, 120.0]), z, {"temperature": temperature})
    comparison = Target(case_of(warm_skin), moving, {"mixed_layer_depth_from_10m": 1.0}, dt=60.0).comparison
    np.testing.assert_allclose(
        comparison.observed["mixed_layer_depth_from_10m"][:, 0], [22.0, 23.0, 0.0], rtol=1e-9
    )
    np.testing.assert_allclose(comparison.counts["mixed_layer_depth_from_10m"][:, 0], [0.5, 0.5, 0.0])


def test_what_a_few_heights_show_is_linear_between_them():
    matrix = smoothing_matrix(np.array([-4.0, -2.0]), np.array([-5.0, -4.0, -3.0, -2.0, -1.0]))
    profile = np.array([50.0, 4.0, 100.0, 2.0, -7.0])
    np.testing.assert_allclose(matrix @ profile, [4.0, 4.0, 3.0, 2.0, 2.0])


def test_a_modelled_layer_without_a_base_counts_as_deep_and_leaves_the_gradient_finite():
    name = "mixed_layer_depth_from_10m"
    observed_depth = 35.0 + 10.0 * 0.10 / 0.32
    target = Target(case_of(lambda z: 7.0 + 0.0 * z), observed(PAPA), {name: 1.0}, dt=60.0)
    found, slope = jax.value_and_grad(lambda heat: _misfit_under(heat, target))(0.0)
    # Uniform water of 200 m; seen through the instruments, its lowest center is at 199 m.
    assert float(found) == pytest.approx((199.0 - observed_depth) ** 2, rel=1e-3)
    assert float(slope) == 0.0


def _misfit_under(heat, target: Target):
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.0, heat_flux=heat))
    comparison = dataclasses.replace(
        target.comparison, case=dataclasses.replace(target.comparison.case, forcing=forcing)
    )
    return misfit(MODEL, comparison, MeanSquare(), SaveEverything())[0]


def test_observations_without_a_base_do_not_count():
    uniform = observed([7.0] * len(DEPTHS))
    with error_naming(ValueError, "mixed_layer_depth_from_10m NaN 10"):
        _ = Target(case_of(warm_skin), uniform, {"mixed_layer_depth_from_10m": 1.0}, dt=60.0).comparison
