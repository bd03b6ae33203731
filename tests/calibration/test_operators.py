"""Observables, observation operators, means over cells and correlated errors, as a misfit sees them."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.twins import make_case, observe
from tests.errors import error_naming
from tunax_lite.calibration import Correlation, MeanSquare, Target, account, misfit, residuals
from tunax_lite.calibration.observed import faces_from_centers, starting_at
from tunax_lite.column.observables import OBSERVABLES, ColumnState, observable, unit_of_difference

DT = 300.0
MODEL = tl.Model(tl.PacanowskiPhilander())
CASE = make_case(0.1, -200.0)
CENTERS = np.asarray(CASE.grid.z_center)
OBSERVED = observe(tl.Model(tl.PacanowskiPhilander(alpha=4.0)), CASE, dt=DT, interval=1800.0)
NAMES = (*OBSERVABLES, "heat_content_above_6m", "potential_energy_anomaly_above_30m", "temperature", "u")
# Without the start, where N² is the same at all faces and its largest one chance.
ALL = Target(CASE, OBSERVED, dict.fromkeys(NAMES, 1.0), dt=DT, averaging="cell_means", time_window=(1.0, 1e9))
run_residuals = eqx.filter_jit(residuals)
run_misfit = eqx.filter_jit(lambda model, given: misfit(model, given, MeanSquare(), tl.SaveSegments())[0])


def with_alpha(alpha) -> tl.Model:
    return eqx.tree_at(lambda m: m.closure.alpha, MODEL, jnp.asarray(alpha))


def modelled(interval: float = DT):
    return tl.simulate(MODEL, CASE, dt=DT, output_interval=interval).state


@pytest.fixture(scope="module")
def all_found():
    """All observables relative to their largest values: residuals, and what these change with alpha."""
    comparison = ALL.comparison
    sizes = {name: float(jnp.max(jnp.abs(values))) for name, values in comparison.observed.items()}
    factors = {name: jnp.asarray(1.0 / max(size, 1e-30) ** 2) for name, size in sizes.items()}
    comparison = dataclasses.replace(comparison, factors=factors)

    def slopes(alpha):
        return jax.jvp(lambda a: residuals(with_alpha(a), comparison)[0], (alpha,), (jnp.ones_like(alpha),))

    return comparison, *jax.jit(slopes)(jnp.asarray(5.0))


def test_observables_of_two_layers():
    grid = tl.Grid.uniform(40.0, 20)
    state = tl.State.from_profiles(grid, temperature=lambda z: jnp.where(z > -20.0, 20.0, 10.0), u=0.2)
    eos = tl.LinearEquationOfState()
    water = ColumnState(state, grid, eos)
    heat = float(eos.reference_density * eos.heat_capacity)
    expected = {
        "sea_surface_temperature": 20.0,
        "heat_content_above_30m": heat * (20.0 * 20.0 + 10.0 * 10.0),
        "heat_content_above_21m": heat * (20.0 * 20.0 + 10.0),
        "salt_content_above_10m": 1.027 * 35.0 * 10.0,
        "kinetic_energy": 0.5 * 1027.0 * 0.04 * 40.0,
        # Two layers of thickness d: g (rho_1 - rho_2) d / 4 per volume, of 1027 kg m-3 times the buoyancy.
        "potential_energy_anomaly": 1027.0 * 9.81 * 2e-4 * 10.0 * 20.0 / 4.0,
        "potential_energy_anomaly_above_20m": 0.0,
        "mixed_layer_depth_stratification": 20.0,
    }
    for name, value in expected.items():
        assert float(observable(name)(water)) == pytest.approx(value, rel=1e-12, abs=1e-12), name
    units = [unit_of_difference(name) for name in ("sea_surface_temperature", "heat_content_above_5m")]
    assert units == ["K", "J m-2"]


def test_heights_that_move_and_numbers_beside_them():
    times = np.array([600.0, 1500.0, 4321.0])
    z = np.array([[-60.0, -33.3, -0.4], [-41.0, -7.0, np.nan], [-30.0, -20.0, -11.0]])
    values = np.where(np.isfinite(z), 20.0, np.nan)
    values[2, 1] = np.nan
    observed = tl.Observations(
        jnp.asarray(times),
        jnp.asarray(z),
        {"temperature": jnp.asarray(values)},
        series={"sea_surface_temperature": jnp.array([19.0, jnp.nan, 19.5])},
        rejected={"temperature": 3},
        name="float",
    )
    target = Target(CASE, observed, {"temperature": 1.0, "sea_surface_temperature": 2.0}, dt=DT)
    modelled_temperature = np.asarray(modelled().temperature)
    steps = np.arange(len(modelled_temperature)) * DT
    at_times = np.stack([np.interp(times, steps, column) for column in modelled_temperature.T], axis=1)
    at_z = np.stack([np.interp(row, CENTERS, profile) for row, profile in zip(z, at_times, strict=True)])
    profile = np.nanmean((at_z - values) ** 2)
    surface = np.mean((at_times[[0, 2], -1] - [19.0, 19.5]) ** 2)
    found = float(run_misfit(MODEL, target.comparison))
    assert found == pytest.approx((profile + 2.0 * surface) / 3.0, rel=1e-12)
    first, second = account(target)
    counted = first.n_counting, first.n_missing, first.n_rejected, first.n_above, first.n_below
    assert counted == (7, 1, 3, 1, 0) and first.is_notable
    assert not second.is_notable and second.n_counting == 2
    times[2], at_z[2] = 4200.0, np.interp(z[2], CENTERS, modelled_temperature[14])
    observed = dataclasses.replace(observed, time=jnp.asarray(times))  # at steps of the model
    target = dataclasses.replace(target, observations=observed, weights={"temperature": 1.0})
    expected = np.nanmean((at_z - values) ** 2)
    assert float(run_misfit(MODEL, target.comparison)) == pytest.approx(expected, rel=1e-12)


def test_faces_of_cells_follow_from_their_centers():
    grid = tl.Grid.stretched(80.0, 12, surface_zoom=1.5)
    faces = faces_from_centers(np.asarray(grid.z_center), "les")
    np.testing.assert_allclose(faces, grid.z_face, atol=1e-11)
    with error_naming(ValueError, "mooring -100 -50 -10 averaging points"):
        faces_from_centers(np.array([-100.0, -50.0, -10.0]), "mooring")


def test_profiles_of_other_cells_are_compared_as_means():
    start = np.asarray(OBSERVED.profiles["temperature"])
    for n_cells, expected, inside in (
        (8, 0.5 * (start[:, ::2] + start[:, 1::2]), slice(3, 7)),  # of 8 m, wholly between -44 and -4 m
        (32, start, slice(5, 15)),
    ):
        options = {"averaging": "cell_means", "depth_window": (-44.0, -4.0), "time_window": (1.0, 1e9)}
        case = CASE.on(tl.Grid.uniform(64.0, n_cells))
        comparison = Target(case, OBSERVED, dt=DT, **options).comparison
        counts = np.asarray(comparison.counts["temperature"])
        assert np.flatnonzero(counts[1]).tolist() == list(range(16))[inside][: counts.shape[1]]
        got = np.asarray(comparison.observed["temperature"])[1:]
        np.testing.assert_allclose(got[:, inside], expected[1:, inside], rtol=1e-12)
        profile = jnp.asarray(case.grid.z_center) ** 2
        assert np.asarray(comparison.operators["temperature"](profile)).size == counts.shape[1]


@pytest.mark.parametrize(
    ("gaps", "time"),
    [
        ("none", 2500.0),
        ("changing", 0.0),
        *(
            pytest.param(*both, marks=pytest.mark.long)
            for both in (("none", 0.0), ("common", 0.0), ("common", 2500.0))
        ),
    ],
)
@pytest.mark.long
def test_whitened_residuals_sum_to_the_mahalanobis_distance(gaps, time):
    target = correlated(gaps, time)
    values = np.asarray(target.observations.profiles["temperature"])
    t, z = np.meshgrid(np.asarray(OBSERVED.time)[1:], CENTERS, indexing="ij")
    difference = np.asarray(modelled(1800.0).temperature)[1:] - values[1:]
    kept = np.isfinite(difference)
    t, z, difference = t[kept], z[kept], difference[kept]
    covariance = np.exp(-np.abs(z[:, None] - z) / 12.0)
    in_time = np.exp(-np.abs(t[:, None] - t) / time) if time else (t[:, None] == t).astype(float)
    expected = difference @ np.linalg.solve(covariance * in_time, difference)
    comparison = target.comparison
    assert float(run_misfit(MODEL, comparison)) == pytest.approx(expected, rel=1e-9)
    found, mean_squares = run_residuals(MODEL, comparison)
    assert float(jnp.sum(found["temperature"] ** 2)) == pytest.approx(expected, rel=1e-9)
    assert float(mean_squares["temperature"]) == pytest.approx(np.mean(difference**2), rel=1e-12)


def correlated(gaps: str, time: float) -> Target:
    """Temperatures whose errors correlate over 12 m and some time [s], with gaps."""
    values = np.array(OBSERVED.profiles["temperature"])
    if gaps == "common":
        values[:, [3, 9]] = np.nan
    elif gaps == "changing":
        values[2, 4:7] = np.nan
        values[5] = np.nan
    profiles, uncertainty = {"temperature": jnp.asarray(values)}, {"temperature": jnp.asarray(0.02)}
    observed = dataclasses.replace(OBSERVED, profiles=profiles, uncertainty=uncertainty)
    options = {"correlation": Correlation(12.0, time), "reduction": "sum"}
    return Target(CASE, observed, dt=DT, time_window=(1.0, 1e9), **options)


def test_a_case_can_start_from_a_later_profile():
    case, observed = starting_at(CASE, OBSERVED, 3600.0)
    np.testing.assert_allclose(case.initial_state.u, OBSERVED.profiles["u"][2], rtol=1e-12, atol=1e-15)
    assert (case.duration, float(observed.time[0]), observed.time.size) == (7200.0, 0.0, 5)
    truth = tl.Model(tl.PacanowskiPhilander(alpha=4.0))
    rest = tl.simulate(truth, case, dt=DT, output_interval=3600.0).state.temperature[-1]
    # The truth goes on where it was, but for the coefficients that the closure carries over a step.
    np.testing.assert_allclose(rest, OBSERVED.profiles["temperature"][-1], atol=2e-3)
    with error_naming(ValueError, "initial_time 10800 3000 3600"):
        starting_at(CASE, OBSERVED, 3000.0)


def test_targets_that_cannot_be_compared_are_refused():
    temperature = {"temperature": OBSERVED.profiles["temperature"][:, :2]}
    instruments = {"observations": tl.Observations(OBSERVED.time, jnp.array([-50.0, -10.0]), temperature)}
    velocity = dataclasses.replace(OBSERVED, profiles={"u": OBSERVED.profiles["u"]})
    depth = {"weights": {"mixed_layer_depth": 1.0}}
    for change, message in (
        ({**depth, "observations": velocity}, "mixed_layer_depth u"),
        ({**depth, **instruments, "averaging": "cell_means"}, "averaging points -50 -10"),
        # Two instruments, at 50 and at 10 m: nothing says how much heat is below them.
        ({**instruments, "weights": {"heat_content": 1.0}}, "heat_content NaN 10"),
        ({"averaging": "cell_mean"}, "averaging points cell_means cell_mean"),
        ({"reduction": "max"}, "reduction mean sum max"),
        ({"averaging": "cell_means", "depth_window": (-3.0, 0.0)}, "depth_window -3 0 -62 -2"),
    ):
        with error_naming(ValueError, message):
            _ = dataclasses.replace(Target(CASE, OBSERVED, dt=DT), **change).comparison
    with error_naming(ValueError, "temperature depth_window"):
        _ = correlated("changing", 2500.0).comparison
    for given in ((0.0, 0.0), (-1.0, 5.0), (np.inf, 0.0)):
        with error_naming(ValueError, "Correlation 0"):
            Correlation(*given)
    for name in ("heat", "buoyancy_above_10m", "heat_content_above_0m"):
        with error_naming(ValueError, name):
            observable(name)
    profile = {"temperature": jnp.ones((3, 2))}
    for z, series, message in (
        ([[-2.0, -1.0], [-1.0, -2.0], [-2.0, -1.0]], {}, "1 -1"),
        ([[-2.0, -1.0], [np.nan, -1.0], [-2.0, -1.0]], {}, "1 -1"),
        ([-2.0, -1.0], {"temperature": jnp.zeros(3)}, "temperature time 3"),
    ):
        with error_naming(ValueError, message):
            tl.Observations(jnp.arange(3.0), jnp.asarray(z), profile, series=series)


@pytest.mark.long
def test_a_perfect_model_leaves_nothing_and_derivatives_equal_central_differences(all_found):
    perfect = dataclasses.replace(ALL, observations=observe(MODEL, CASE, dt=DT, interval=1800.0)).comparison
    found, mean_squares = run_residuals(MODEL, perfect)
    assert set(found) == set(NAMES)
    comparison, single, slopes = all_found
    step = 1e-4
    ahead, behind = (run_residuals(with_alpha(5.0 + way * step), comparison)[0] for way in (1.0, -1.0))
    for name in NAMES:
        # A depth or an energy is some 1e0 to 1e10: round-off of each by its own size.
        size = float(np.max(np.abs(np.asarray(perfect.observed[name]))))
        assert float(jnp.sqrt(mean_squares[name])) <= 1e-12 * max(size, 1e-3), name
        difference = (np.asarray(ahead[name]) - np.asarray(behind[name])) / (2.0 * step)
        size = np.max(np.abs(difference))
        # What does not change here: contents, and ice, of which there is none.
        conserved = ("heat_content", "salt_content", "mixed_layer_depth_stratification", "ice_thickness")
        assert size > 1e-8 or name in conserved, name
        # Beside the error of the difference, round-off of values of size 1 over the step.
        np.testing.assert_allclose(
            slopes[name], difference, rtol=1e-4, atol=1e-6 * size + 1e-10, err_msg=name
        )


@pytest.mark.long
def test_members_of_a_batch_are_those_of_a_loop_and_reverse_mode_equals_forward_mode(all_found):
    comparison, single, slopes = all_found
    batched, _ = run_residuals(with_alpha(jnp.array([5.0, 9.0])), comparison)
    for name in NAMES:
        values = np.asarray(batched[name])
        assert values.shape == (*np.shape(single[name]), 2)
        np.testing.assert_allclose(values[..., 0], single[name], rtol=1e-7, atol=1e-9, err_msg=name)
    forward = sum(2.0 * float(jnp.sum(single[name] * slopes[name])) for name in NAMES)
    reverse = jax.jit(jax.grad(lambda alpha: run_misfit(with_alpha(alpha), comparison)))(jnp.asarray(5.0))
    assert float(reverse) == pytest.approx(forward, rel=1e-9)
