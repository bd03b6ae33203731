"""What is kept for the gradient changes its cost, never its value."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import cooled_case
from tunax_lite import (
    Auto,
    Model,
    PacanowskiPhilander,
    SaveEverything,
    SavePairs,
    SaveSegments,
    SaveSteps,
    simulate,
)
from tunax_lite.column.checkpointing import Layout, scan_frames

CASE = cooled_case()


LAYOUTS = [
    SaveEverything(),
    SaveSteps(),
    SaveSegments(4),
    SaveSegments(5, levels=2),
    SavePairs(4),
    SavePairs(1000),  # longer than the run
    Auto(memory_budget=1),
]


@pytest.mark.parametrize("checkpointing", LAYOUTS, ids=repr)
@pytest.mark.parametrize(
    ("n_frames", "steps_per_frame"),
    [(11, 3), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((1, 33), (33, 1)))],
)
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


@pytest.mark.long  # of a run in segments: test_integrate
def test_gradient_of_a_run_is_the_same_in_segments_and_pairs():
    closure, temperature = PacanowskiPhilander(), CASE.initial_state.temperature
    # 11 frames of 3 steps: groups of 4 frames leave a remainder of 3.
    options: dict[str, Any] = {"dt": 60.0, "duration": 1980.0, "output_interval": 180.0}

    def gradient(layout):
        def loss(closure, temperature):
            case = eqx.tree_at(lambda c: c.initial_state.temperature, CASE, temperature)
            run = simulate(Model(closure), case, checkpointing=layout, **options)
            return jnp.mean(run.state.temperature**2)

        return jax.jit(jax.grad(loss, argnums=(0, 1)))(closure, temperature)

    plain = gradient(SaveEverything())
    assert np.any(np.asarray(plain[0].alpha) != 0.0)
    for layout in (SaveSegments(12), SavePairs(6)):
        for x, y in zip(jax.tree.leaves(gradient(layout)), jax.tree.leaves(plain), strict=True):
            # Rounding, in another order of operations.
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-13)


@pytest.mark.long
def test_memory_falls_with_every_layout():
    """Of a step that leaves several arrays as large as its state for the gradient."""
    n_steps, state = 900, jnp.linspace(0.0, 1.0, 100)

    def step(x):
        return jnp.sin(jnp.roll(x, 1)) * jnp.cos(x) + jnp.exp(-(x**2)) * jnp.tanh(0.5 * x)

    def gradient(layout):
        def loss(x):
            options = {"n_frames": 2, "steps_per_frame": n_steps // 2, "checkpointing": layout}
            return jnp.sum(scan_frames(step, lambda x, _: x, x, **options)[1] ** 2)

        compiled = jax.jit(jax.grad(loss)).lower(state).compile()
        memory = compiled.memory_analysis()
        assert memory is not None
        return compiled(state), memory.temp_size_in_bytes

    layouts = (SaveEverything(), SaveSteps(), SaveSegments(), SavePairs(), SaveSegments(levels=2))
    gradients, memory = zip(*map(gradient, layouts), strict=True)
    for found in gradients[1:]:
        np.testing.assert_allclose(found, gradients[0], rtol=1e-8, atol=1e-14)
    everything, steps, segments, pairs, levels = memory
    # With n = 900 steps and C bytes of state: at least 5 n C, 2 n C, 3 sqrt(n) C, and less.
    assert steps < 0.6 * everything
    assert segments < 0.15 * steps
    assert pairs < 0.9 * segments
    assert levels < 0.85 * pairs
    assert steps < 5.0 * n_steps * state.nbytes


DERIVATIVES = {
    "reverse": jax.jacrev,
    "forward": jax.jacfwd,
    "second": lambda run: jax.jacfwd(jax.jacrev(run)),
}


@pytest.mark.long  # of first order: above
def test_layouts_give_the_same_frames_and_derivatives():
    inputs = jnp.linspace(0.5, 2.0, 7)

    def frames_and_derivatives(layout):
        def run(x):
            options = {"n_frames": 7, "steps_per_frame": 13, "checkpointing": layout, "inputs": inputs}
            return scan_frames(lambda c: jnp.sin(1.1 * c + x), lambda c, given: given * c, x, **options)[1]

        return jax.jit(lambda x: (run(x), [of(run)(x) for of in DERIVATIVES.values()]))(jnp.asarray(0.3))

    plain_frames, plain = frames_and_derivatives(SaveEverything())
    for layout in (SaveSegments(5), SaveSegments(5, levels=2), SavePairs(5)):
        frames, derivatives = frames_and_derivatives(layout)
        np.testing.assert_allclose(frames, plain_frames, rtol=1e-14)
        for found, expected, name in zip(derivatives, plain, DERIVATIVES, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, err_msg=f"{layout} {name}")


@pytest.mark.long  # the gradient itself: another test
def test_pairs_follow_what_is_differentiated_and_nothing_else():
    """By the start, what the step closes over, and inputs, each alone and all together; in a batch, too."""

    def run(start, rate, inputs, layout):
        last, saved = scan_frames(
            lambda c: {"x": jnp.sin(rate * c["x"]) + 0.5, "n": c["n"] + 1},
            lambda c, given: given * c["x"] ** 2,
            {"x": start, "n": jnp.zeros((), jnp.int32)},
            n_frames=8,
            steps_per_frame=2,
            checkpointing=layout,
            inputs=inputs,
        )
        return jnp.sum(saved) + last["x"]

    def gradient(which, layout):
        return jax.jit(jax.grad(run, argnums=which), static_argnums=3)(*arguments, layout)

    arguments = jnp.asarray(0.3), jnp.asarray(1.1), jnp.linspace(0.5, 2.0, 8)
    expected = gradient((0, 1, 2), SaveSteps())
    for which in ((0,), (1,), (2,), (0, 1, 2)):
        found = gradient(which, SavePairs(4))
        for x, i in zip(found, which, strict=True):
            np.testing.assert_allclose(x, expected[i], rtol=1e-12)
    rates, by_rate = jnp.asarray([0.9, 1.0, 1.1]), jax.grad(run, argnums=1)
    batch = jax.jit(jax.vmap(lambda rate: by_rate(arguments[0], rate, arguments[2], SavePairs(4))))(rates)
    np.testing.assert_allclose(batch[2], expected[1], rtol=1e-12)
    with jax.disable_jit():
        np.testing.assert_allclose(by_rate(*arguments, SavePairs(4)), batch[2], rtol=1e-12)


def test_layouts():
    assert SaveEverything().layout(10**9, 175) == Layout(False, ())
    assert SaveSteps().layout(10**9, 175) == Layout(True, ())
    assert SaveSegments().layout(10**9, 175) == Layout(True, (10,))
    assert SaveSegments().layout(1, 1) == Layout(True, (1,))
    assert SaveSegments(7).layout(10**9, 175) == Layout(True, (7,))
    # 2 q s = n / s for s = 10.
    assert SavePairs().layout(10**9, 350) == Layout(True, (10,), in_pairs=True)
    assert SavePairs(7).layout(1, 1) == Layout(True, (7,), in_pairs=True)
    # Cube root of n / q² = 8: 14 segments of 14 segments of 8 steps.
    assert SaveSegments(levels=2).layout(1, 1568) == Layout(True, (8 * 14, 8))


def test_auto_takes_the_layout_that_fits_its_budget():
    auto = Auto(memory_budget=1_750_000)
    assert auto.layout(bytes_per_step=1000, n_steps=1000) == SaveSteps().layout(1000, 1000)
    assert auto.layout(bytes_per_step=1000, n_steps=1001) == SaveSegments().layout(1000, 1001)
    assert auto.layout(bytes_per_step=1001, n_steps=1000) == SaveSegments().layout(1001, 1000)
    # Of 1000 steps, 24-step segments keep 83.7 states, pairs of 17-step ones 59.2.
    pairs = Auto(memory_budget=60_000)
    assert pairs.layout(bytes_per_step=1000, n_steps=1000) == SavePairs().layout(1000, 1000)
    frugal = Auto(memory_budget=10_000)
    assert frugal.layout(bytes_per_step=1000, n_steps=1000) == SaveSegments(levels=2).layout(1000, 1000)


def test_empty_segments_and_other_levels_are_refused():
    for levels in (0, 3):
        with error_naming(ValueError, f"1 2 {levels}"):
            SaveSegments(levels=levels)
    for layout in (SaveSegments, SavePairs):
        with error_naming(ValueError, f"{layout.__name__} 1 -3"):
            layout(-3)
