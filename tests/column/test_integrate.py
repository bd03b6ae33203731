"""Runs: frames, restarts, ensembles, compiled programs, and what is refused."""

import dataclasses
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tests.helpers import CASES, Differentiated
from tunax_lite import (
    Case,
    Constant,
    ConstantForcing,
    Model,
    PacanowskiPhilander,
    State,
    SurfaceFluxes,
    first_non_finite,
    simulate,
)
from tunax_lite.column.checkpointing import SaveSegments

DT = 60.0
MODEL = Model(PacanowskiPhilander())
CASE = CASES["everything"]


@cache
def whole_run():
    return simulate(MODEL, CASE, dt=DT, duration=5 * 180.0, output_interval=180.0)


def assert_identical(one, other):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(x, y)


def frames_of(trajectory, frames):
    return jax.tree.map(lambda x: x[frames], (trajectory.time, trajectory.state, trajectory.clo_state))


def test_frames_begin_with_the_start():
    run = whole_run()
    np.testing.assert_array_equal(run.time, 180.0 * np.arange(6))
    np.testing.assert_array_equal(run.step, 3 * np.arange(6))
    assert run.n_frames == 6
    assert_identical(jax.tree.map(lambda x: x[0], run.state), CASE.initial_state)
    assert_identical(jax.tree.map(lambda x: x[0], run.clo_state), MODEL.init(CASE))


@pytest.mark.long  # of a mean and of a gradient: below
def test_a_mean_has_the_gradient_of_the_mean_of_the_steps():
    def mean_squared(viscosity, output_interval: float):
        model = Model(Constant(viscosity=viscosity))
        means = output_interval > DT
        run = simulate(
            model, CASES["wind"], dt=DT, duration=360.0, output_interval=output_interval, means=means
        )
        if run.means is not None:
            return jnp.sum(run.means.state.u[1:] ** 2)
        return jnp.sum(jnp.mean(run.state.u[1:].reshape(2, 3, -1), axis=1) ** 2)

    value = jnp.asarray(1e-3, dtype=float)
    (of_means, slope), (of_steps, expected) = (
        jax.jit(jax.value_and_grad(mean_squared), static_argnums=1)(value, interval)
        for interval in (180.0, DT)
    )
    np.testing.assert_allclose(of_means, of_steps, rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-10)
    assert float(expected) != 0.0


@pytest.mark.long  # whole frames: above
def test_the_last_frame_is_at_the_end_of_the_run():
    times: dict[str, Any] = {"dt": DT, "duration": 1140.0}  # six whole frames of 180 s, and a step
    often = simulate(MODEL, CASE, output_interval=60.0, **times)
    run = simulate(MODEL, CASE, output_interval=180.0, means=True, step_starts=True, **times)
    np.testing.assert_array_equal(run.time, [*180.0 * np.arange(7), 1140.0])
    np.testing.assert_array_equal(run.step, [*3 * np.arange(7), 19])
    assert_identical(frames_of(run, slice(None)), frames_of(often, np.array([*range(0, 19, 3), 19])))
    assert run.means is not None and run.step_starts is not None
    np.testing.assert_array_equal(run.means.since[-2:], [900.0, 1080.0])
    # A mean over one step is that step; the step before the end is that of the run that saves all.
    np.testing.assert_array_equal(run.means.state.u[-1], often.state.u[-1])
    np.testing.assert_array_equal(run.step_starts.state.u[-1], often.state.u[-2])


@pytest.mark.long  # gradients of whole frames: tests/test_closure_contract.py
def test_the_gradient_reaches_through_a_shorter_last_frame():
    layout = SaveSegments(2)

    def squared(viscosity, output_interval: float):
        model = Model(Constant(viscosity=viscosity))
        times: dict[str, Any] = {"duration": 420.0, "dt": DT}
        run = simulate(model, CASES["wind"], output_interval=output_interval, checkpointing=layout, **times)
        return jnp.sum(run.state.u[-1] ** 2)

    value = jnp.asarray(1e-3, dtype=float)
    (one, slope), (other, expected) = (
        jax.jit(jax.value_and_grad(squared), static_argnums=1)(value, interval) for interval in (180.0, 420.0)
    )
    np.testing.assert_allclose(one, other, rtol=1e-13)
    np.testing.assert_allclose(slope, expected, rtol=1e-10)
    assert float(expected) != 0.0


@pytest.mark.long
def test_frames_are_what_single_steps_give():
    run = whole_run()
    step = eqx.filter_jit(MODEL.step)
    state, clo_state = CASE.initial_state, MODEL.init(CASE)
    for i in range(1, 7):
        state, clo_state = step(state, clo_state, CASE, jnp.asarray((i - 1) * DT), jnp.asarray(DT))
        if i % 3 == 0:
            expected = jax.tree.map(lambda x, i=i: x[i // 3], (run.state, run.clo_state))
            for x, y in zip(jax.tree.leaves((state, clo_state)), jax.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-13)


def test_restart_from_a_frame_is_bit_identical():
    run = whole_run()
    for frame in (0, 3):
        start = run.restart(frame)
        again = simulate(MODEL, CASE, dt=DT, duration=180.0, output_interval=180.0, start=start)
        assert_identical(frames_of(again, slice(None)), frames_of(run, slice(frame, frame + 2)))
        np.testing.assert_array_equal(again.step, run.step[frame : frame + 2])
    for frame in (6, -7):
        with error_naming(ValueError, f"frame 0 5 {frame}"):
            run.restart(frame)


@pytest.mark.long  # from other frames: above
def test_restarted_run_goes_on_to_the_end_of_the_case_by_itself():
    model, case = MODEL, dataclasses.replace(CASE, duration=900.0)
    run = simulate(model, case, dt=DT, output_interval=180.0)
    assert run.time[-1] == 900.0
    again = simulate(model, case, dt=DT, output_interval=180.0, start=run.restart(2))
    assert_identical(frames_of(again, slice(None)), frames_of(run, slice(2, None)))


def test_times_that_do_not_fit_are_refused():
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"dt": 0.0}, "dt [s] 0"),
        ({"dt": np.nan}, "dt"),
        ({"dt": np.inf}, "dt"),
        ({"output_interval": 90.0}, "output_interval dt 60 90"),
        ({"output_interval": 30.0}, "output_interval"),
        ({"output_interval": 0.0}, "output_interval"),
        ({"output_interval": np.nan}, "output_interval"),
        ({"duration": 1000.0}, "duration"),
        ({"duration": -600.0}, "duration"),
        ({"duration": np.inf}, "duration"),
        ({"duration": 172800.0}, "0 172800 43200"),
    ]
    for arguments, message in wrong:
        with error_naming(ValueError, message):
            simulate(MODEL, CASE, **{"dt": DT, "output_interval": 600.0, "duration": 1200.0, **arguments})


def test_restart_beyond_the_forcing_is_refused():
    end = eqx.tree_at(lambda r: r.step, whole_run().restart(), jnp.asarray(720, jnp.int32))
    with error_naming(ValueError, "43200 43800"):
        simulate(MODEL, CASE, dt=DT, duration=600.0, start=end)


@pytest.mark.long
def test_time_steps_that_are_no_binary_fractions_are_accepted():
    run = simulate(Model(Constant()), CASE, dt=0.1, duration=0.9, output_interval=0.3)
    np.testing.assert_allclose(run.time, [0.0, 0.3, 0.6, 0.9], rtol=1e-14)


@pytest.mark.long  # of cases: tests/test_closure_contract.py
def test_parameters_with_a_batch_axis_make_an_ensemble():
    viscosity, scale = jnp.array([1e-4, 1e-3, 1e-2]), jnp.array([[5e-3], [2e-2]])
    closure = PacanowskiPhilander(background_viscosity=viscosity, viscosity_scale=scale)
    run: dict[str, Any] = {"dt": DT, "duration": 1800.0, "output_interval": 900.0}
    ensemble = simulate(Model(closure), CASE, **run)
    assert ensemble.state.temperature.shape == (3, CASE.grid.n_cells, 2, 3)
    assert ensemble.clo_state.eddy_viscosity.shape == (3, CASE.grid.n_cells + 1, 2, 3)
    for i, j in ((0, 0), (1, 2)):
        one = PacanowskiPhilander(background_viscosity=viscosity[j], viscosity_scale=scale[i, 0])
        alone = simulate(Model(one), CASE, **run)
        for x, y in zip(jax.tree.leaves(ensemble.state), jax.tree.leaves(alone.state), strict=True):
            np.testing.assert_allclose(x[..., i, j], y, rtol=1e-10, atol=1e-12)


def test_non_finite_values_are_found_with_variable_and_first_time():
    run = whole_run()
    assert first_non_finite(run) is None
    late = eqx.tree_at(lambda r: r.state.temperature, run, run.state.temperature.at[4:, 3].set(jnp.nan))
    assert first_non_finite(late) == ("temperature", 720.0)
    both = eqx.tree_at(
        lambda r: r.clo_state.eddy_viscosity, late, late.clo_state.eddy_viscosity.at[2, 5].set(jnp.inf)
    )
    assert first_non_finite(both) == ("eddy_viscosity", 360.0)
    dye = eqx.tree_at(lambda r: r.state.tracers["dye"], run, run.state.tracers["dye"].at[1].set(jnp.nan))
    found = first_non_finite(dye)
    assert found is not None and "dye" in found[0] and found[1] == 180.0


@pytest.mark.long  # found in a run: above
def test_a_run_that_blows_up_is_returned_and_found():
    # Explicit diffusion far beyond its limit of stability: each step multiplies the velocity.
    model = Model(Constant(viscosity=100.0), theta=0.0)
    run = simulate(model, CASE, dt=600.0, duration=43200.0)
    found = first_non_finite(run)
    assert found is not None and found[0] in ("u", "v") and found[1] > 600.0
    before = round(found[1] / 600.0) - 1
    assert np.all(np.isfinite(run.state.u[before])) and np.max(np.abs(run.state.u[before])) > 1e100


@pytest.mark.long
def test_gradient_to_one_number_that_touches_one_variable_only():
    """A heat flux leaves velocity and salinity alone; their tangents and cotangents are all zero."""
    grid = random_grid(96, 8)
    state = State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z)

    def heat(flux):
        case = Case(grid, state, ConstantForcing(SurfaceFluxes(heat_flux=flux)))
        run = simulate(MODEL, case, dt=DT, duration=600.0)
        return jnp.sum(run.state.temperature[-1] * grid.cell_thickness)

    flux, found = jnp.asarray(-100.0), Differentiated(heat)
    expected = 600.0 / (1027.0 * 3991.86796)
    np.testing.assert_allclose(found.reverse(flux), expected, rtol=1e-9)
    np.testing.assert_allclose(found.forward(flux, jnp.ones(())), expected, rtol=1e-9)
