"""Runs over several devices, which the process must have: `test_devices.py` starts one with four.

Columns are spread by `devices`, or by the program around, whose arrays are distributed already. Right values
are those of one device without a mesh. On a machine with four GPUs, run this file by itself.
"""

import functools
import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import CASES, column, with_leaf
from tunax_lite.runtime.devices import Devices

STRESS = jnp.linspace(0.02, 0.2, 8)
SPLIT, COPIED, RESULTS = PartitionSpec("columns"), PartitionSpec(), PartitionSpec(None, None, "columns")
each_closure = pytest.mark.parametrize("kind", [tl.KPP])  # with a state and branches


def with_wind(stress) -> tl.Case:
    """Cooled water under this wind stress [N m-2]."""
    grid = tl.Grid.uniform(depth=64.0, n_cells=16)
    start = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=stress, heat_flux=-50.0))
    return tl.Case(grid, start, forcing, coriolis_parameter=1e-4)


def run(stress, closure, **options):
    times: dict[str, Any] = {"dt": 600.0, "duration": 3600.0, "output_interval": 1800.0}
    return tl.simulate(tl.Model(closure), with_wind(stress), **times, **options).state.temperature


def loss(stress, closure, **options):
    return jnp.mean(run(stress, closure, **options)[-1] ** 2)


def gradient_of(both):
    return eqx.filter_jit(eqx.filter_grad(lambda both: loss(*both)))(both)


@functools.cache
def expected(kind):
    return run(STRESS, kind()), gradient_of((STRESS, kind()))


def assert_equal(one, other, rtol=0.0):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.max(np.abs(y), initial=0.0))


def placed(tree, spec, kind=AxisType.Auto):
    mesh = jax.make_mesh((4,), ("columns",), axis_types=(kind,))
    arrays, others = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(mesh, spec)), others)


def columns_of_run(trajectory: tl.Trajectory, index):
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


def test_columns_that_the_caller_has_split_run_in_blocks():
    one_block: Any = eqx.filter_jit(functools.partial(run, column_block=1))
    found = one_block(placed(STRESS, SPLIT), placed(tl.PacanowskiPhilander(), COPIED))
    assert_equal(found, expected(tl.PacanowskiPhilander)[0], rtol=1e-6)


def test_explicit_axes_of_a_mesh_are_refused():
    closure = tl.ConstantDiffusivity()
    for given in (
        (placed(STRESS, SPLIT, AxisType.Explicit), closure),
        (STRESS, placed(closure, COPIED, AxisType.Explicit)),
    ):
        with error_naming(ValueError, "AxisType.Auto"):
            run(*given)


@each_closure
def test_shard_map_of_the_caller(kind):
    mesh = jax.make_mesh((4,), ("columns",), axis_types=(AxisType.Auto,))
    (numbers, others), (right, gradient) = eqx.partition(kind(), eqx.is_inexact_array), expected(kind)

    def local(stress, numbers):
        return run(stress, eqx.combine(numbers, others))

    split = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(SPLIT, COPIED), out_specs=RESULTS))
    assert_equal(split(STRESS, numbers), right)

    def together(both):
        mean = lambda *given: jax.lax.pmean(jnp.mean(local(*given)[-1] ** 2), "columns")  # noqa: E731
        return jax.shard_map(mean, mesh=mesh, in_specs=(SPLIT, COPIED), out_specs=COPIED)(*both)

    program = jax.jit(jax.grad(together)).lower((STRESS, numbers)).compile()
    assert_equal(program((STRESS, numbers)), gradient, rtol=1e-6)
    assert count_collectives(program)[1] == 0  # sums over the devices come after the loop


def test_devices_within_a_mesh_of_the_caller_are_refused():
    mesh, closure = jax.make_mesh((4,), ("columns",), axis_types=(AxisType.Auto,)), tl.ConstantDiffusivity()
    inside = lambda x: run(x, closure, devices="all")  # noqa: E731
    with error_naming(ValueError, "devices jax.shard_map"):
        jax.shard_map(inside, mesh=mesh, in_specs=SPLIT, out_specs=RESULTS)(STRESS)
    with jax.set_mesh(mesh):
        with error_naming(ValueError, "devices jax.set_mesh"):
            inside(STRESS)
        found = run(placed(STRESS, SPLIT), closure)
    assert_equal(found, run(STRESS, closure))


ONE = CASES["everything"].unlabelled()
WINDS = np.linspace(-0.2, 0.3, 8)
N_CELLS = ONE.grid.n_cells
N_TIMES = ONE.forcing.time.shape[0]  # pyright: ignore[reportAttributeAccessIssue]
FLUX = "forcing.fluxes.stress_u"
SIMPLE = tl.Model(tl.PacanowskiPhilander())


def with_winds(winds) -> tl.Case:
    """The case with all fluxes, its wind stress offset by another number in every column [N m-2]."""
    series = ONE.forcing.fluxes.stress_u  # pyright: ignore[reportAttributeAccessIssue]
    return with_leaf(ONE, FLUX, series[:, None] + jnp.asarray(winds))


def run_case(model: tl.Model, case: tl.Case, devices: Devices | None = "all", **options) -> tl.Trajectory:
    return tl.simulate(model, case, output_interval=600.0, devices=devices, **{"duration": 3600.0, **options})


def test_column_is_the_same_to_the_bit_on_any_device_and_beside_any_other():
    model = tl.Model(tl.KEpsilon())
    straight, reversed_ = run_case(model, with_winds(WINDS)), run_case(model, with_winds(WINDS[::-1]))
    for index in range(8):
        assert_equal(columns_of_run(straight, index), columns_of_run(reversed_, 7 - index))
    others = run_case(model, with_winds(np.where(np.arange(8) == 1, WINDS, 1.0)))
    assert_equal(columns_of_run(straight, 1), columns_of_run(others, 1))


def test_gradient_equals_that_of_one_device_and_no_device_waits_for_another():
    def loss(alpha, warming, devices):
        case = with_winds(WINDS[:5])
        start = case.initial_state.temperature[:, None] + warming
        case = with_leaf(case, "initial_state.temperature", start)
        model = with_leaf(SIMPLE, "closure.alpha", alpha)
        state = run_case(model, case, devices, checkpointing=tl.SaveSegments()).state
        return jnp.mean(state.temperature**2 + state.u**2)

    gradient = jax.jit(jax.grad(loss, argnums=(0, 1)), static_argnums=2)
    values = tl.PacanowskiPhilander().alpha, jnp.linspace(0.0, 0.1, 5)
    split = gradient.lower(*values, "all").compile()
    assert_equal(split(*values), gradient(*values, None), rtol=1e-9)
    total, in_loop = count_collectives(split)
    # The gradient to the parameter that all columns share is summed over the devices, once.
    assert total > 0 and in_loop == 0
    forward = jax.jit(lambda case: run_case(SIMPLE, case).state.temperature)
    assert count_collectives(forward.lower(with_winds(WINDS)).compile()) == (0, 0)


def test_restart_over_devices_goes_on_bit_by_bit():
    case = with_winds(WINDS[:5])
    whole = run_case(SIMPLE, case)
    rest = run_case(SIMPLE, case, duration=1800.0, start=whole.restart(3))
    expected = jax.tree.map(lambda x: x[3:], columns_of_run(whole, slice(None)))
    assert_equal(columns_of_run(rest, slice(None)), expected)


@pytest.mark.parametrize("n_columns", [5, N_TIMES])  # uneven; as many as times
def test_any_number_of_columns_gives_what_one_device_gives(n_columns):
    case = with_winds(np.linspace(-0.2, 0.3, n_columns))
    split = run_case(SIMPLE, case)
    assert split.state.u.shape == (7, N_CELLS, n_columns)
    assert_equal(split, run_case(SIMPLE, case, None), rtol=1e-9)


def test_parameters_and_several_batch_axes_are_split():
    devices = jax.devices()[:2]
    temperature = run_case(SIMPLE, with_winds(WINDS), devices).state.temperature
    fractions = {shard.device: shard.index[-1] for shard in temperature.addressable_shards}
    assert fractions == {devices[0]: slice(0, 4), devices[1]: slice(4, 8)}
    model = with_leaf(SIMPLE, "closure.alpha", jnp.linspace(4.0, 6.0, N_CELLS))
    split = run_case(model, ONE)
    assert_equal(split, run_case(model, ONE, None), rtol=1e-9)
    assert len(split.state.u.sharding.device_set) == len(jax.devices())
    model = with_leaf(SIMPLE, "closure.alpha", jnp.linspace(4.0, 6.0, 3)[:, None])
    split = run_case(model, with_winds(WINDS[:4]))
    assert split.state.u.shape == (7, N_CELLS, 3, 4)
    assert_equal(split, run_case(model, with_winds(WINDS[:4]), None), rtol=1e-9)


def test_blocks_and_means_on_several_devices():
    case = with_winds(WINDS)
    whole = run_case(SIMPLE, case, devices=None, column_block=None, means=True)
    split = run_case(SIMPLE, case, column_block=1, means=True)
    assert_equal((split.state, split.means), (whole.state, whole.means), rtol=1e-9)
