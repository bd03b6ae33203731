"""Runs over two devices, which the process must have: `test_devices.py` starts one that does.

On a machine with several GPUs: `pytest tests/runtime/two_devices.py`.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import CASES, column, with_leaf
from tunax_lite import Case, KEpsilon, Model, PacanowskiPhilander, SaveSegments, Trajectory, simulate
from tunax_lite.runtime import Devices, column_mesh
from tunax_lite.runtime.devices import AXIS

ONE = CASES["everything"].unlabelled()
WINDS = np.linspace(-0.2, 0.3, 6)
N_CELLS = ONE.grid.n_cells
N_TIMES = ONE.forcing.time.shape[0]  # pyright: ignore[reportAttributeAccessIssue]
FLUX = "forcing.fluxes.stress_u"
SIMPLE, K_EPSILON = Model(PacanowskiPhilander()), Model(KEpsilon())


def with_winds(winds) -> Case:
    """The case with all fluxes, its wind stress offset by another number in every column [N m-2]."""
    series = ONE.forcing.fluxes.stress_u  # pyright: ignore[reportAttributeAccessIssue]
    return with_leaf(ONE, FLUX, series[:, None] + jnp.asarray(winds))


def run(model: Model, case: Case, devices: Devices | None = "all", **options) -> Trajectory:
    return simulate(model, case, duration=3600.0, output_interval=600.0, devices=devices, **options)


def assert_identical(one, other):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(x, y)


def assert_close(one, other):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def columns_of_run(trajectory: Trajectory, index):
    return jax.tree.map(np.asarray, column((trajectory.state, trajectory.clo_state), index))


def count_collectives(program: jax.stages.Compiled) -> tuple[int, int]:
    """Number of collective operations of a program: all, and those inside of a loop."""
    computation, caller, found = "", {}, []
    for line in str(program.as_text()).splitlines():
        header = re.match(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$", line)
        computation = header[1] if header else computation
        for role, called in re.findall(r"(body|condition|to_apply|calls)=%?([\w.\-]+)", line):
            caller[called] = role, computation
        if re.search(r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)[\w-]*\(", line):
            found.append(computation)

    def is_in_loop(name: str) -> bool:
        role, outer = caller.get(name, ("", ""))
        return role in ("body", "condition") or (outer != "" and is_in_loop(outer))

    return len(found), sum(map(is_in_loop, found))


@pytest.mark.parametrize("model", [SIMPLE, K_EPSILON], ids=["pacanowski_philander", "k_epsilon"])
def test_column_is_the_same_to_the_bit_on_either_device_and_beside_any_other(model):
    straight, reversed_ = run(model, with_winds(WINDS)), run(model, with_winds(WINDS[::-1]))
    for index in range(6):
        assert_identical(columns_of_run(straight, index), columns_of_run(reversed_, 5 - index))
    others = run(model, with_winds(np.where(np.arange(6) == 1, WINDS, 1.0)))
    assert_identical(columns_of_run(straight, 1), columns_of_run(others, 1))


def test_gradient_equals_that_of_one_device_and_no_device_waits_inside_of_the_loop():
    def loss(alpha, warming, devices):
        case = with_winds(WINDS[:5])
        start = case.initial_state.temperature[:, None] + warming
        case = with_leaf(case, "initial_state.temperature", start)
        model = with_leaf(SIMPLE, "closure.alpha", alpha)
        state = run(model, case, devices, checkpointing=SaveSegments()).state
        return jnp.mean(state.temperature**2 + state.u**2)

    gradient = jax.jit(jax.grad(loss, argnums=(0, 1)), static_argnums=2)
    values = PacanowskiPhilander().alpha, jnp.linspace(0.0, 0.1, 5)
    split = gradient.lower(*values, "all").compile()
    assert_close(split(*values), gradient(*values, None))
    total, in_loop = count_collectives(split)
    # The gradient to the parameter that all columns share is summed over the devices, once.
    assert total > 0 and in_loop == 0


def test_forward_run_has_no_communication_at_all():
    program = jax.jit(lambda case: run(SIMPLE, case).state.temperature).lower(with_winds(WINDS)).compile()
    assert count_collectives(program) == (0, 0)


def test_count_of_collectives_sees_one_in_a_loop():
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(jax.lax.psum(y, AXIS)), x)

    spec = jax.P(AXIS)
    split = jax.shard_map(loop, mesh=column_mesh("all", 2), in_specs=spec, out_specs=spec, check_vma=False)
    assert count_collectives(jax.jit(split).lower(jnp.ones(4)).compile()) == (1, 1)


def test_restart_over_devices_goes_on_bit_by_bit():
    model, case = SIMPLE, with_winds(WINDS[:5])
    whole = run(model, case)
    rest = simulate(
        model, case, duration=1800.0, output_interval=600.0, devices="all", start=whole.restart(3)
    )
    expected = jax.tree.map(lambda x: x[3:], columns_of_run(whole, slice(None)))
    assert_identical(columns_of_run(rest, slice(None)), expected)


@pytest.mark.parametrize("n_columns", [2, 5, N_TIMES])
def test_any_number_of_columns_gives_what_one_device_gives(n_columns):
    case = with_winds(np.linspace(-0.2, 0.3, n_columns))
    split = run(SIMPLE, case)
    assert split.state.u.shape == (7, N_CELLS, n_columns)
    assert_close(split, run(SIMPLE, case, None))


def test_parameters_and_several_batch_axes_are_split():
    devices = jax.devices()[:2]
    assert len(devices) == 2
    temperature = run(SIMPLE, with_winds(WINDS), devices).state.temperature
    fractions = {shard.device: shard.index[-1] for shard in temperature.addressable_shards}
    assert fractions == {devices[0]: slice(0, 3), devices[1]: slice(3, 6)}
    model = with_leaf(SIMPLE, "closure.alpha", jnp.linspace(4.0, 6.0, N_CELLS))
    split = run(model, ONE)
    assert_close(split, run(model, ONE, None))
    assert len(split.state.u.sharding.device_set) == len(jax.devices())
    model, case = (
        with_leaf(SIMPLE, "closure.alpha", jnp.linspace(4.0, 6.0, 3)[:, None]),
        with_winds(WINDS[:4]),
    )
    split = run(model, case)
    assert split.state.u.shape == (7, N_CELLS, 3, 4)
    assert_close(split, run(model, case, None))


def test_blocks_and_means_on_two_devices():
    case = with_winds(WINDS)
    whole = run(SIMPLE, case, devices=None, column_block=None, means=True)
    for block in ("auto", 2):
        split = run(SIMPLE, case, column_block=block, means=True)
        assert_close((split.state, split.means), (whole.state, whole.means))
