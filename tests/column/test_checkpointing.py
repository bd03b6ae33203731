"""What is kept for the gradient changes its cost, never its value."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite import AutoCheckpointing, SaveEverything, SavePairs, SaveSegments, SaveSteps
from tunax_lite.column.checkpointing import Layout, scan_frames

LAYOUTS = [SaveEverything(), SaveSteps(), SaveSegments(4), SaveSegments(5, levels=2), SavePairs(4)]
LAYOUTS += [SavePairs(1000), AutoCheckpointing(memory_budget=1)]  # pairs longer than the run


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


@pytest.mark.long
def test_memory_falls_with_every_layout():
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
    np.testing.assert_allclose(gradients[1:], [gradients[0]] * 4, rtol=1e-8, atol=1e-14)
    everything, steps, segments, pairs, levels = memory
    # With n = 900 steps and C bytes of state: at least 5 n C, 2 n C, 3 sqrt(n) C, and less.
    assert steps < 0.6 * everything
    assert segments < 0.15 * steps
    assert pairs < 0.9 * segments
    assert levels < 0.85 * pairs
    assert steps < 5.0 * n_steps * state.nbytes


@pytest.mark.long  # of first order, by the start: above
def test_layouts_have_the_derivatives_by_start_constants_and_inputs():
    def run(start, rate, inputs, layout):
        last, saved = scan_frames(
            lambda c: {"x": jnp.sin(rate * c["x"]) + 0.5, "n": c["n"] + 1},
            lambda c, given: given * c["x"] ** 2,
            {"x": start, "n": jnp.zeros((), jnp.int32)},
            n_frames=8,
            steps_per_frame=3,
            checkpointing=layout,
            inputs=inputs,
        )
        return jnp.sum(saved) + last["x"]

    arguments = jnp.asarray(0.3), jnp.asarray(1.1), jnp.linspace(0.5, 2.0, 8)

    @partial(jax.jit, static_argnums=0)
    def derivatives(layout):
        by = lambda which: jax.grad(run, which)(*arguments, layout)  # noqa: E731
        second = jax.jacfwd(jax.grad(run, 1), 1)(*arguments, layout)
        return [by(0), by(1), by(2), by((0, 1, 2)), jax.jacfwd(run, 1)(*arguments, layout), second]

    expected = derivatives(SaveEverything())
    np.testing.assert_allclose(expected[4], expected[1], rtol=1e-12)
    for layout in (SaveSegments(5), SaveSegments(5, levels=2), SavePairs(4)):
        for x, y in zip(jax.tree.leaves(derivatives(layout)), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, err_msg=f"{layout}")
    by_rate = lambda rate: jax.grad(run, 1)(arguments[0], rate, arguments[2], SavePairs(4))  # noqa: E731
    batch = jax.jit(jax.vmap(by_rate))(jnp.asarray([0.9, 1.0, 1.1]))
    np.testing.assert_allclose(batch[2], expected[1], rtol=1e-12)
    with jax.disable_jit():
        np.testing.assert_allclose(by_rate(arguments[1]), expected[1], rtol=1e-12)


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
    for make, parts in (
        (lambda: SaveSegments(levels=0), "1 2 0"),
        (lambda: SaveSegments(levels=3), "1 2 3"),
        (lambda: SaveSegments(-3), "SaveSegments 1 -3"),
        (lambda: SavePairs(-3), "SavePairs 1 -3"),
    ):
        with error_naming(ValueError, parts):
            make()


def test_auto_takes_the_layout_that_fits_its_budget():
    for budget, sizes, expected in (
        (1_750_000, (1000, 1000), SaveSteps()),
        (1_750_000, (1000, 1001), SaveSegments()),
        (1_750_000, (1001, 1000), SaveSegments()),
        # Of 1000 steps, 24-step segments keep 83.7 states, pairs of 17-step ones 59.2.
        (60_000, (1000, 1000), SavePairs()),
        (10_000, (1000, 1000), SaveSegments(levels=2)),
    ):
        assert AutoCheckpointing(memory_budget=budget).layout(*sizes) == expected.layout(*sizes)
