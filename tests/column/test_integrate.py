"""Runs: frames, restarts, ensembles, compiled programs, and what is refused."""

import dataclasses
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import CASES
from tunax_lite.column.checkpointing import SavePairs, SaveSegments

DT = 60.0
MODEL = tl.Model(tl.PacanowskiPhilander())
CASE = CASES["everything"]


@cache
def whole_run():
    return tl.simulate(MODEL, dataclasses.replace(CASE, duration=900.0), dt=DT, output_interval=180.0)


def assert_identical(one, other):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(x, y)


def frames_of(trajectory, frames):
    return jax.tree.map(lambda x: x[frames], (trajectory.time, trajectory.state, trajectory.clo_state))


def test_frames_begin_with_the_start_and_restarts_go_on_from_them_to_the_bit():
    run = whole_run()
    np.testing.assert_array_equal(run.time, 180.0 * np.arange(6))
    np.testing.assert_array_equal(run.step, 3 * np.arange(6))
    assert_identical(frames_of(run, 0)[1:], (CASE.initial_state, MODEL.init(CASE)))
    for frame in (0, 3):
        start = run.restart(frame)
        again = tl.simulate(MODEL, CASE, dt=DT, duration=180.0, output_interval=180.0, start=start)
        assert_identical(frames_of(again, slice(None)), frames_of(run, slice(frame, frame + 2)))
        np.testing.assert_array_equal(again.step, run.step[frame : frame + 2])
    for frame in (6, -7):
        with error_naming(ValueError, f"frame 0 5 {frame}"):
            run.restart(frame)
    beyond = eqx.tree_at(lambda r: r.step, run.restart(), jnp.asarray(720, jnp.int32))
    with error_naming(ValueError, "43200 43800"):
        tl.simulate(MODEL, CASE, dt=DT, duration=600.0, start=beyond)


def slope_by_viscosity(of_run, **options):
    """Value and derivative of a number of a run of some steps of one minute in the wind."""

    def value(viscosity):
        return of_run(
            tl.simulate(
                tl.Model(tl.ConstantDiffusivity(viscosity=viscosity)), CASES["wind"], dt=DT, **options
            )
        )

    return jax.jit(jax.value_and_grad(value))(jnp.asarray(1e-3, dtype=float))


@pytest.mark.long  # gradients of whole frames: tests/test_closure_contract.py
def test_gradients_of_means_and_of_a_shorter_last_frame():
    means = slope_by_viscosity(
        lambda run: jnp.sum(run.means.state.u[1:] ** 2), duration=360.0, output_interval=180.0, means=True
    )
    steps = slope_by_viscosity(
        lambda run: jnp.sum(jnp.mean(run.state.u[1:].reshape(2, 3, -1), axis=1) ** 2),
        duration=360.0,
        output_interval=DT,
    )
    last: dict[str, Any] = {"of_run": lambda run: jnp.sum(run.state.u[-1] ** 2), "duration": 420.0}
    whole = slope_by_viscosity(**last, output_interval=420.0)
    assert float(whole[1]) != 0.0 and float(steps[1]) != 0.0
    np.testing.assert_allclose(means, steps, rtol=1e-10)
    for layout in (SaveSegments(2), SavePairs(2)):
        shorter = slope_by_viscosity(**last, output_interval=180.0, checkpointing=layout)
        np.testing.assert_allclose(shorter, whole, rtol=1e-10)


@pytest.mark.long  # whole frames: above
def test_the_last_frame_is_at_the_end_of_the_run():
    times: dict[str, Any] = {"dt": DT, "duration": 1140.0}  # six whole frames of 180 s, and a step
    often = tl.simulate(MODEL, CASE, output_interval=DT, **times)
    run = tl.simulate(MODEL, CASE, output_interval=180.0, means=True, step_starts=True, **times)
    np.testing.assert_array_equal(run.time, [*180.0 * np.arange(7), 1140.0])
    np.testing.assert_array_equal(run.step, [*3 * np.arange(7), 19])
    assert_identical(frames_of(run, slice(None)), frames_of(often, np.array([*range(0, 19, 3), 19])))
    assert run.means is not None and run.step_starts is not None
    np.testing.assert_array_equal(run.means.since[-2:], [900.0, 1080.0])
    # A mean over one step is that step; the step before the end is that of the run that saves all.
    np.testing.assert_array_equal(run.means.state.u[-1], often.state.u[-1])
    np.testing.assert_array_equal(run.step_starts.state.u[-1], often.state.u[-2])


def test_times_that_do_not_fit_are_refused():
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"dt": 0.0}, "dt [s] 0"),
        ({"output_interval": 90.0}, "output_interval dt 60 90"),
        ({"output_interval": 0.0}, "output_interval"),
        ({"duration": 1000.0}, "duration"),
        ({"duration": -600.0}, "duration"),
        ({"duration": 172800.0}, "0 172800 43200"),
    ]
    for arguments, message in wrong:
        with error_naming(ValueError, message):
            tl.simulate(MODEL, CASE, **{"dt": DT, "output_interval": 600.0, "duration": 1200.0, **arguments})
    # Time steps that are no binary fractions.
    run = tl.simulate(MODEL, CASE, dt=0.1, duration=0.9, output_interval=0.3)
    np.testing.assert_allclose(run.time, [0.0, 0.3, 0.6, 0.9], rtol=1e-14)


def test_non_finite_values_are_found_with_variable_and_first_time():
    run = whole_run()
    assert tl.first_non_finite(run) is None
    for of, place, value, expected in (
        (lambda r: r.state.temperature, np.s_[4:, 3], jnp.nan, ("temperature", 720.0)),
        (lambda r: r.clo_state.eddy_viscosity, np.s_[2, 5], jnp.inf, ("eddy_viscosity", 360.0)),
        (lambda r: r.state.tracers["dye"], np.s_[1], jnp.nan, ("dye", 180.0)),
    ):
        run = eqx.tree_at(of, run, of(run).at[place].set(value))  # earlier each time
        found = tl.first_non_finite(run)
        assert found is not None and expected[0] in found[0] and found[1] == expected[1]
