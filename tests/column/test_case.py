"""Cases, moving them to another grid, and several side by side."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tests.helpers import CASES
from tunax_lite import (
    Case,
    ConstantForcing,
    Grid,
    State,
    SurfaceFluxes,
    TimeSeriesForcing,
    stack_cases,
)
from tunax_lite.column.case import remap


def plain_case(grid=None, **changes):
    grid = Grid.uniform(20.0, 8) if grid is None else grid
    state = State.from_profiles(grid, temperature=lambda z: 20.0 + 0.1 * z, tracers={"dye": lambda z: z**2})
    forcing = ConstantForcing(SurfaceFluxes(heat_flux=-100.0))
    return Case(grid, state, forcing, **{"name": "harbour", **changes})


def content(case):
    return jax.tree.map(lambda x: float(jnp.sum(x * case.grid.cell_thickness)), case.initial_state)


def test_duration_must_be_positive():
    for duration in (0.0, -3600.0, np.nan, np.inf):
        with error_naming(ValueError, "harbour duration [s]"):
            plain_case(duration=duration)


def test_state_of_another_grid_is_refused_with_a_remedy():
    case = plain_case()
    with error_naming(ValueError, "harbour u 6 case.on(grid)"):
        dataclasses.replace(case, grid=Grid.uniform(20.0, 6))


def test_value_that_is_not_finite_is_named_with_its_cell():
    case = plain_case()
    for where, name, bad in (
        (lambda c: c.initial_state.salinity, "salinity", np.nan),
        (lambda c: c.initial_state.tracers["dye"], "dye", np.inf),
    ):
        broken = eqx.tree_at(where, case, where(case).at[3].set(bad))
        with error_naming(ValueError, f"{name} 3"):
            dataclasses.replace(broken)


@pytest.mark.parametrize("n_target", [8, 40])
def test_remapping_conserves_every_content_and_makes_no_new_extremes(n_target):
    source = plain_case(random_grid(70, 11, depth=20.0))
    moved = source.on(random_grid(71, n_target, depth=20.0))
    before, after = content(source), content(moved)
    for x, y in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)
    for x, y in zip(jax.tree.leaves(source.initial_state), jax.tree.leaves(moved.initial_state), strict=True):
        # Rounding of the content of the column, divided by a thickness.
        assert jnp.max(y) <= jnp.max(x) + 1e-10 and jnp.min(y) >= jnp.min(x) - 1e-10
    assert (moved.name, moved.duration) == (source.name, source.duration)
    assert eqx.tree_equal(moved.forcing, source.forcing)


def test_remapping_gives_means_over_the_overlap():
    source, target = Grid([-4.0, -3.0, -1.0, 0.0]), Grid([-4.0, -2.0, -1.0, -0.5, 0.0])
    values = jnp.array([1.0, 5.0, 9.0])
    np.testing.assert_allclose(remap(values, source, target), [3.0, 5.0, 9.0, 9.0], rtol=1e-14)


def test_refining_and_going_back_loses_nothing():
    coarse = random_grid(73, 6)
    faces = np.asarray(coarse.z_face)
    fine = Grid(np.sort(np.concatenate([faces, 0.3 * faces[:-1] + 0.7 * faces[1:]])))
    values = jnp.asarray(np.random.default_rng(73).normal(size=(6, 2)))
    np.testing.assert_array_equal(remap(values, coarse, Grid(faces)), values)
    there = remap(values, coarse, fine)
    assert there.shape == (12, 2)
    np.testing.assert_allclose(remap(there, fine, coarse), values, rtol=1e-11, atol=1e-12)


def test_other_depths_and_batches_of_grids_are_refused():
    for depth in (19.0, 25.0):
        with error_naming(ValueError, f"depth 20 {depth:g}"):
            plain_case().on(Grid.uniform(depth, 8))
    with error_naming(ValueError, "batch grids"):
        plain_case().on(Grid.uniform(20.0, 5).with_batch_rank(1))


def test_unlabelled_cases_share_their_structure():
    one = plain_case(name="a", start_time="2020-01-01T00:00:00", duration=100.0)
    two = plain_case(name="b", duration=200.0)
    assert jax.tree.structure(one) != jax.tree.structure(two)
    assert jax.tree.structure(one.unlabelled()) == jax.tree.structure(two.unlabelled())


def test_batch_shape_is_common_to_all_parts():
    case = plain_case()
    assert case.batch_shape == ()
    forced = dataclasses.replace(case, forcing=ConstantForcing(SurfaceFluxes(stress_u=np.zeros((2, 1)))))
    turning = dataclasses.replace(forced, coriolis_parameter=jnp.zeros(3))
    assert turning.batch_shape == (2, 3)


def test_stack_runs_as_long_as_the_shortest():
    assert stack_cases(list(CASES.values())).batch_shape == (len(CASES),)  # runs: test_closure_contract
    assert stack_cases([plain_case(duration=500.0), plain_case(duration=300.0)]).duration == 300.0


def test_cases_that_do_not_fit_are_refused_by_name():
    first = plain_case(name="first")
    dry = dataclasses.replace(first, name="dry", forcing=ConstantForcing(SurfaceFluxes(stress_u=0.1)))
    for other in (plain_case(Grid.uniform(20.0, 9), name="fine"), dry):
        with error_naming(ValueError, f"stack_cases {other.name}"):
            stack_cases([first, first, other])
    with error_naming(ValueError, "case"):
        stack_cases([])
    series = (TimeSeriesForcing.from_values([0.0, end], heat_flux=1.0) for end in (3600.0, 7200.0))
    with error_naming(ValueError, "times"):
        stack_cases([dataclasses.replace(first, forcing=each) for each in series])
