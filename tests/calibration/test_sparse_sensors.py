"""Depths of the mixed layer by other thresholds and references, and from the few instruments of a mooring."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite.calibration import Target, residuals
from tunax_lite.calibration.target import MeanSquare, misfit
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.observables import ColumnState, observable, unit_of_difference, variable_of

GRID = tl.Grid.uniform(200.0, 100)  # centers at odd depths: 1, 3, 5 m, ...


def warm_skin(z):
    """21 degC above 4 m, 20 degC down to 30 m, and 0.1 K m-1 below."""
    return jnp.where(z > -4.0, 21.0, 20.0 + 0.1 * jnp.minimum(z + 30.0, 0.0))


@pytest.mark.long
def test_thresholds_and_references_by_hand():
    case, state = case_of(warm_skin), tl.State.from_profiles(GRID, temperature=warm_skin)
    water = ColumnState(state, GRID, tl.LinearEquationOfState())
    expected = {
        # 20.8 degC lies a fifth of the way from the center at 3 m to that at 5 m.
        "mixed_layer_depth_from_0m": 3.4,
        "mixed_layer_depth": 32.0,
        "mixed_layer_depth_0.5K_from_10m": 35.0,
        "mixed_layer_depth_1.5K_from_0m": 35.0,
        "mixed_layer_depth_1.5K": 45.0,
        # The reference lies in the gradient, at 18 degC, which is at 50 m.
        "mixed_layer_depth_0.2K_from_50m": 52.0,
        # 0.125 kg m-3 over 1027 kg m-3 times 2e-4 K-1 is 0.60857 K.
        "mixed_layer_depth_density_0.125kg_from_10m": 30.0 + 6.085686,
        "mixed_layer_depth_density_from_10m": 30.0 + 1.460565,
    }
    run = tl.simulate(MODEL, case, dt=60.0, duration=60.0, output_interval=60.0)
    diagnosed = diagnose(run, case, list(expected))
    for name, depth in expected.items():
        assert float(observable(name)(water)) == pytest.approx(depth, rel=1e-6), name
        assert diagnosed[name][0] == pytest.approx(depth, rel=1e-6), name
        variable = variable_of(name)
        assert unit_of_difference(name) == "m" and variable is not None and variable.unit == "m"
    for wrong in ("0.5kg", "density_0.5K", "0K_from_10m"):
        with error_naming(ValueError, f"mixed_layer_depth_{wrong}"):
            observable(f"mixed_layer_depth_{wrong}")


def of_papa(name: str, missing: tuple[float, ...] = ()):
    values = [np.nan if depth in missing else value for depth, value in zip(DEPTHS, PAPA, strict=True)]
    return Target(case_of(warm_skin), observed(values), {name: 1.0}, dt=60.0).comparison


MODEL = tl.Model(tl.ConstantDiffusivity(0.0, 0.0), molecular_viscosity=0.0, molecular_diffusivity=0.0)


def case_of(temperature) -> tl.Case:
    state = tl.State.from_profiles(GRID, temperature=temperature)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.0, heat_flux=0.0))
    return tl.Case(GRID, state, forcing, duration=120.0, name="still water")


# Ocean Station Papa (50 N, 145 W), 8 June 2007, 12 UTC: depths [m] and temperatures [degC] of the moored
# instruments, as PMEL's Ocean Climate Stations project gives them.
DEPTHS = (1.0, 5.0, 8.0, 10.0, 30.0, 32.0, 35.0, 45.0, 80.0, 100.0, 120.0, 150.0)
PAPA = (7.07, 7.05, 7.05, 7.05, 6.99, 6.98, 6.95, 6.63, 5.08, 5.52, 6.16, 5.72)


def observed(values, depths=DEPTHS) -> tl.Observations:
    """The same profile twice, [degC] from the surface down."""
    z, row = -jnp.asarray(depths)[::-1], jnp.asarray(values, dtype=float)[::-1]
    return tl.Observations(jnp.array([60.0, 120.0]), z, {"temperature": jnp.stack([row, row])})


def test_a_mooring_gives_the_depth_between_its_instruments():
    for name, missing, expected in (
        # 6.85 degC between 6.95 at 35 m and 6.63 at 45 m.
        ("mixed_layer_depth_from_10m", (), 35.0 + 10.0 * 0.10 / 0.32),
        # Without the instrument at 45 m, between 35 m and 80 m.
        ("mixed_layer_depth_from_10m", (45.0,), 35.0 + 45.0 * 0.10 / 1.87),
        ("sea_surface_temperature", (), 7.07),
    ):
        comparison = of_papa(name, missing)
        # The line between the instruments bends at 10 m, between two centers of the model: 0.003 K at a slope
        # of 0.04 K per metre or more.
        np.testing.assert_allclose(comparison.variables[name].observed[1:, 0], expected, atol=0.08)
        assert float(comparison.variables[name].shares.sum()) == pytest.approx(1.0)


def test_what_instruments_do_not_reach_does_not_count():
    for name, missing in (
        ("mixed_layer_depth_from_10m", DEPTHS[7:]),  # it reaches below the last instrument with a value
        ("mixed_layer_depth_from_10m", DEPTHS[:4]),  # no value at or above the reference
        ("sea_surface_temperature", DEPTHS[:4]),
        ("heat_content_above_160m", ()),  # nothing below 150 m
    ):
        with error_naming(ValueError, f"{name} NaN 10"):
            of_papa(name, missing)
    name = "mixed_layer_depth_from_10m"
    with error_naming(ValueError, f"{name} NaN 10"):  # uniform water: no base
        _ = Target(case_of(warm_skin), observed([7.0] * len(DEPTHS)), {name: 1.0}, dt=60.0).comparison


def test_the_model_is_seen_at_the_same_depths():
    # 8 degC above 40 m and 5 degC below, which nobody can tell from a line between 35 and 45 m.
    case = case_of(lambda z: jnp.where(z > -40.0, 8.0, 5.0))
    values = [8.0 if depth < 40.0 else 5.0 for depth in DEPTHS]
    name = "mixed_layer_depth_from_10m"
    comparison = Target(case, observed(values), {name: 1.0}, dt=60.0).comparison
    np.testing.assert_allclose(comparison.variables[name].observed[1:, 0], 35.0 + 10.0 * 0.2 / 3.0, rtol=1e-9)
    np.testing.assert_allclose(residuals(MODEL, comparison)[0][name], 0.0, atol=1e-9)
    # At its own resolution the model has it between its centers at 39 and 41 m.
    own = dataclasses.replace(comparison.variables[name], smoothing=None)
    full = dataclasses.replace(comparison, variables={name: own})
    difference = residuals(MODEL, full)[0][name][1:, 0] / np.sqrt(0.5)
    np.testing.assert_allclose(difference, 39.0 + 2.0 * 0.2 / 3.0 - (35.0 + 2.0 / 3.0), rtol=1e-9)


def test_heights_that_move_and_a_profile_without_values():
    name = "mixed_layer_depth_from_10m"
    z = jnp.array([[-30.0, -20.0, -8.0], [-33.0, -21.0, -9.0], [-30.0, -20.0, -8.0]])
    # 0.1 K m-1 below 20 m, then below 21 m; nothing at the last time.
    temperature = jnp.array([[9.0, 10.0, 10.0], [8.8, 10.0, 10.0], [jnp.nan, jnp.nan, jnp.nan]])
    moving = tl.Observations(jnp.array([0.0, 60.0, 120.0]), z, {"temperature": temperature})
    comparison = Target(case_of(warm_skin), moving, {name: 1.0}, dt=60.0).comparison
    np.testing.assert_allclose(comparison.variables[name].observed[:, 0], [22.0, 23.0, 0.0], rtol=1e-9)
    np.testing.assert_allclose(comparison.variables[name].shares[:, 0], [0.5, 0.5, 0.0])


@pytest.mark.long
def test_a_modelled_layer_without_a_base_counts_as_deep_and_leaves_the_gradient_finite():
    name, observed_depth = "mixed_layer_depth_from_10m", 35.0 + 10.0 * 0.10 / 0.32
    target = Target(case_of(lambda z: 7.0 + 0.0 * z), observed(PAPA), {name: 1.0}, dt=60.0)

    def misfit_under(heat):
        forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.0, heat_flux=heat))
        case = dataclasses.replace(target.comparison.case, forcing=forcing)
        comparison = dataclasses.replace(target.comparison, case=case)
        return misfit(MODEL, comparison, MeanSquare(), tl.SaveEverything())[0]

    found, slope = jax.value_and_grad(misfit_under)(0.0)
    # Uniform water of 200 m; seen through the instruments, its lowest center is at 199 m.
    assert float(found) == pytest.approx((199.0 - observed_depth) ** 2, rel=1e-3)
    assert float(slope) == 0.0
