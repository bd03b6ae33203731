"""What is kept for the gradient changes its cost, never its value."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.unit.columns import random_grid
from tunax_lite import (
    Auto,
    Case,
    ConstantForcing,
    KEpsilon,
    Model,
    PacanowskiPhilander,
    SaveEverything,
    SaveSegments,
    SaveSteps,
    State,
    SurfaceFluxes,
    simulate,
)
from tunax_lite.checkpointing import Layout, scan_frames

GRID = random_grid(97, 8, depth=16.0)
CASE = Case(
    GRID,
    State.from_profiles(GRID, temperature=lambda z: 15.0 + 0.1 * z),
    ConstantForcing(SurfaceFluxes(stress_u=0.2, heat_flux=-300.0)),
    coriolis_parameter=1e-4,
)


@pytest.mark.parametrize(
    "checkpointing",
    [SaveEverything(), SaveSteps(), SaveSegments(), Auto(), Auto(memory_budget=1)]
    + [SaveSegments(n) for n in (1, 2, 4, 12, 20, 1000)],
    ids=repr,
)
@pytest.mark.parametrize(("n_frames", "steps_per_frame"), [(11, 3), (3, 11), (1, 33), (33, 1), (4, 8)])
def test_every_layout_runs_the_same_steps_and_saves_the_same_frames(checkpointing, n_frames, steps_per_frame):
    """A scalar map that is not linear, so that a step too many, too few or out of order shows."""

    @jax.jit
    def run(x):
        def loss(x):
            last, saved = scan_frames(
                lambda c: {"x": jnp.sin(c["x"]) + 0.5, "n": c["n"] + 1},
                lambda c, _: (c["x"], c["n"]),
                {"x": x, "n": jnp.zeros((), jnp.int32)},
                n_frames=n_frames,
                steps_per_frame=steps_per_frame,
                checkpointing=checkpointing,
            )
            return jnp.sum(saved[0]) + last["x"], (saved, last["n"])

        return jax.value_and_grad(loss, has_aux=True)(x)

    (_, ((saved, steps), n)), gradient = run(jnp.asarray(0.3))
    x, slope, total = 0.3, 1.0, 0.0
    expected = []
    for i in range(1, n_frames * steps_per_frame + 1):
        x, slope = np.sin(x) + 0.5, slope * np.cos(x)
        if i % steps_per_frame == 0:
            expected.append(x)
            total += slope
    assert n == n_frames * steps_per_frame
    np.testing.assert_array_equal(steps, steps_per_frame * np.arange(1, n_frames + 1))
    np.testing.assert_allclose(saved, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, total + slope, rtol=1e-11)


def gradient_of_run(closure, checkpointing, n_frames, steps_per_frame):
    """Compiled gradient of the mean temperature of all frames to parameters and initial temperature."""
    dt = 60.0

    def loss(parameters, temperature):
        case = eqx.tree_at(lambda c: c.initial_state.temperature, CASE, temperature)
        run = simulate(
            Model(parameters),
            case,
            dt=dt,
            duration=dt * n_frames * steps_per_frame,
            output_interval=dt * steps_per_frame,
            checkpointing=checkpointing,
        )
        return jnp.mean(run.state.temperature**2)

    arguments = (closure, CASE.initial_state.temperature)
    compiled = jax.jit(jax.grad(loss, argnums=(0, 1))).lower(*arguments).compile()
    memory = compiled.memory_analysis()
    assert memory is not None
    return compiled(*arguments), memory.temp_size_in_bytes


@pytest.mark.slow
def test_gradient_of_k_epsilon_is_the_same_in_segments():
    # 11 frames of 3 steps: groups of 4 frames leave a remainder of 3.
    plain, _ = gradient_of_run(KEpsilon(), SaveEverything(), 11, 3)
    assert np.any(np.asarray(plain[0].c_eps_2) != 0.0)
    found, _ = gradient_of_run(KEpsilon(), SaveSegments(12), 11, 3)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
        # Rounding, in another order of operations.
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-13)


def test_gradient_is_the_same_and_its_memory_falls_with_every_layout():
    plain, everything = gradient_of_run(PacanowskiPhilander(), SaveEverything(), 2, 450)
    by_steps, steps = gradient_of_run(PacanowskiPhilander(), SaveSteps(), 2, 450)
    by_segments, segments = gradient_of_run(PacanowskiPhilander(), SaveSegments(), 2, 450)
    by_levels, levels = gradient_of_run(PacanowskiPhilander(), SaveSegments(levels=2), 2, 450)
    for found in (by_steps, by_segments, by_levels):
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-12)
    # With n = 900 steps, C bytes of state and closure state: at least 5 n C, 2 n C, 3 sqrt(n) C, and less.
    state = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(CASE.initial_state))
    assert steps < 0.6 * everything
    assert segments < 0.15 * steps
    assert levels < 0.7 * segments
    assert steps < 5.0 * 900 * state


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("n_frames, steps_per_frame", [(7, 13), (120, 1), (1, 200)])
def test_segments_give_the_same_frames_and_gradient(levels, n_frames, steps_per_frame):
    inputs = jnp.linspace(0.5, 2.0, n_frames)

    def run(x, checkpointing):
        return scan_frames(
            lambda c: jnp.sin(1.1 * c + x),
            lambda c, given: given * c,
            x,
            n_frames=n_frames,
            steps_per_frame=steps_per_frame,
            checkpointing=checkpointing,
            inputs=inputs,
        )[1]

    x, layout = jnp.asarray(0.3), SaveSegments(5, levels=levels)
    np.testing.assert_allclose(run(x, layout), run(x, SaveEverything()), rtol=1e-14)
    slopes = [jax.jacrev(run)(x, c) for c in (layout, SaveEverything())]
    np.testing.assert_allclose(*slopes, rtol=1e-10)


def test_layouts():
    assert SaveEverything().layout(10**9, 175) == Layout(False, ())
    assert SaveSteps().layout(10**9, 175) == Layout(True, ())
    assert SaveSegments().layout(10**9, 175) == Layout(True, (10,))
    assert SaveSegments().layout(1, 1) == Layout(True, (1,))
    assert SaveSegments(7).layout(10**9, 175) == Layout(True, (7,))
    # Cube root of n / q² = 8: 14 segments of 14 segments of 8 steps.
    assert SaveSegments(levels=2).layout(1, 1568) == Layout(True, (8 * 14, 8))


def test_auto_takes_the_layout_that_fits_its_budget():
    auto = Auto(memory_budget=1_750_000)
    assert auto.layout(bytes_per_step=1000, n_steps=1000) == SaveSteps().layout(1000, 1000)
    assert auto.layout(bytes_per_step=1000, n_steps=1001) == SaveSegments().layout(1000, 1001)
    assert auto.layout(bytes_per_step=1001, n_steps=1000) == SaveSegments().layout(1001, 1000)
    frugal = Auto(memory_budget=10_000)
    assert frugal.layout(bytes_per_step=1000, n_steps=1000) == SaveSegments(levels=2).layout(1000, 1000)


@pytest.mark.parametrize("levels", [0, 3])
def test_levels_other_than_one_and_two_are_refused(levels):
    with pytest.raises(ValueError, match=f"1 or 2, got {levels}"):
        SaveSegments(levels=levels)


@pytest.mark.parametrize("steps", [0, -3])
def test_empty_segment_is_refused(steps):
    with pytest.raises(ValueError, match=f"at least 1, got {steps}"):
        SaveSegments(steps)
