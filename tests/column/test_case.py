"""Cases, moving them to another grid, and several side by side."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tests.helpers import CASES, column
from tunax_lite import (
    Case,
    ConstantForcing,
    Grid,
    Model,
    PacanowskiPhilander,
    State,
    SurfaceFluxes,
    TimeSeriesForcing,
    simulate,
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


@pytest.mark.parametrize("duration", [0.0, -3600.0, np.nan, np.inf])
def test_duration_must_be_positive(duration):
    with error_naming(ValueError, "harbour duration [s]"):
        plain_case(duration=duration)


def test_state_of_another_grid_is_refused_with_a_remedy():
    case = plain_case()
    with error_naming(ValueError, "harbour u 6 case.on(grid)"):
        dataclasses.replace(case, grid=Grid.uniform(20.0, 6))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_value_that_is_not_finite_is_named_with_its_cell(bad):
    case = plain_case()
    for where, name in (
        (lambda c: c.initial_state.salinity, "salinity"),
        (lambda c: c.initial_state.tracers["dye"], "dye"),
    ):
        broken = eqx.tree_at(where, case, where(case).at[3].set(bad))
        with error_naming(ValueError, f"{name} 3"):
            dataclasses.replace(broken)


@pytest.mark.parametrize("n_target", [3, 8, 13, 40])
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


def test_identical_grids_give_identical_values():
    case = plain_case(random_grid(72, 9))
    again = case.on(Grid(np.asarray(case.grid.z_face)))
    for x, y in zip(jax.tree.leaves(case.initial_state), jax.tree.leaves(again.initial_state), strict=True):
        np.testing.assert_array_equal(x, y)


def test_refining_and_going_back_loses_nothing():
    coarse = random_grid(73, 6)
    faces = np.asarray(coarse.z_face)
    fine = Grid(np.sort(np.concatenate([faces, 0.3 * faces[:-1] + 0.7 * faces[1:]])))
    values = jnp.asarray(np.random.default_rng(73).normal(size=(6, 2)))
    there = remap(values, coarse, fine)
    assert there.shape == (12, 2)
    np.testing.assert_allclose(remap(there, fine, coarse), values, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("depth", [19.0, 25.0])
def test_another_depth_is_refused(depth):
    with error_naming(ValueError, f"depth 20 {depth:g}"):
        plain_case().on(Grid.uniform(depth, 8))


def test_batches_of_grids_are_refused():
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


def test_stacked_cases_run_as_they_do_alone():
    cases = list(CASES.values())
    together = stack_cases(cases)
    assert together.batch_shape == (len(cases),)
    assert together.duration == cases[0].duration
    model = Model(PacanowskiPhilander())
    run: dict[str, Any] = {"dt": 300.0, "duration": 7200.0, "output_interval": 3600.0}
    batch = simulate(model, together, **run)
    for i, case in enumerate(cases):
        alone = simulate(model, case, **run)
        for x, y in zip(jax.tree.leaves(batch.state), jax.tree.leaves(alone.state), strict=True):
            # Rounding, grown over 24 steps of a closure that depends on differences.
            np.testing.assert_allclose(column(x, i), y, rtol=1e-9, atol=1e-11)


def test_stack_runs_as_long_as_the_shortest():
    assert stack_cases([plain_case(duration=500.0), plain_case(duration=300.0)]).duration == 300.0


def test_cases_that_do_not_fit_are_refused_by_name():
    first = plain_case(name="first")
    dry = dataclasses.replace(first, name="dry", forcing=ConstantForcing(SurfaceFluxes(stress_u=0.1)))
    for other in (plain_case(Grid.uniform(20.0, 9), name="fine"), dry):
        with error_naming(ValueError, f"stack_cases {other.name}"):
            stack_cases([first, first, other])
    with error_naming(ValueError, "case"):
        stack_cases([])


def test_series_on_different_times_are_refused():
    cases = [
        dataclasses.replace(plain_case(), forcing=TimeSeriesForcing.from_values([0.0, end], heat_flux=1.0))
        for end in (3600.0, 7200.0)
    ]
    with error_naming(ValueError, "times"):
        stack_cases(cases)
