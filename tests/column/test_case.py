"""Cases and their initial states, moving them to another grid, and several side by side."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tests.errors import error_naming
from tests.helpers import CASES
from tunax_lite import Case, ConstantForcing, Grid, State, SurfaceFluxes, TimeSeriesForcing, stack_cases
from tunax_lite.column.case import remap
from tunax_lite.physics import LinearEquationOfState, Teos10


def plain_case(grid=None, **changes):
    grid = Grid.uniform(20.0, 8) if grid is None else grid
    state = State.from_profiles(grid, temperature=lambda z: 20.0 + 0.1 * z, tracers={"dye": lambda z: z**2})
    forcing = ConstantForcing(SurfaceFluxes(heat_flux=-100.0))
    return Case(grid, state, forcing, **{"name": "harbour", **changes})


def test_density_of_a_place_is_that_of_teos10():
    linear = LinearEquationOfState()
    assert isinstance(plain_case().equation_of_state, LinearEquationOfState)
    for place in ({"latitude": 50.0}, {"longitude": -145.0}):
        assert isinstance(plain_case(**place).equation_of_state, Teos10)
        assert plain_case(**place, equation_of_state=linear).equation_of_state is linear


def test_profiles_from_functions_numbers_and_arrays():
    grid = random_grid(2, 5)
    u = jnp.arange(5.0)
    state = State.from_profiles(
        grid, temperature=lambda z: 20.0 + 0.1 * z, u=u, tracers={"dye": 2.0, "silt": lambda z: -z}
    )
    np.testing.assert_allclose(state.temperature, 20.0 + 0.1 * np.asarray(grid.z_center))
    np.testing.assert_array_equal(state.u, u)
    np.testing.assert_array_equal(state.v, np.zeros(5))
    np.testing.assert_array_equal(state.salinity, np.full(5, 35.0))
    np.testing.assert_array_equal(state.tracers["dye"], np.full(5, 2.0))
    np.testing.assert_array_equal(state.tracers["silt"], -grid.z_center)
    assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {np.dtype(np.float64)}


def test_broadcast_repeats_the_column_and_keeps_columns_that_differ():
    state = State.from_profiles(Grid.uniform(10.0, 5), temperature=lambda z: z, tracers={"dye": 1.0})
    wide = state.broadcast((2, 3))
    assert (state.batch_shape, wide.batch_shape) == ((), (2, 3))
    assert {leaf.shape for leaf in jax.tree.leaves(wide)} == {(5, 2, 3)}
    np.testing.assert_array_equal(wide.temperature[:, 1, 2], state.temperature)
    grid = Grid(np.stack([np.linspace(-d, 0.0, 5) for d in (10.0, 20.0, 30.0)], axis=-1))
    state = State.from_profiles(grid, temperature=lambda z: z)
    assert state.batch_shape == (3,)
    np.testing.assert_array_equal(state.broadcast((3,)).temperature, grid.z_center)
    with error_naming(ValueError, "temperature 5 (6,)"):
        State.from_profiles(Grid.uniform(10.0, 5), temperature=jnp.ones(6))


@pytest.mark.parametrize("n_target", [8, 40])
def test_remapping_conserves_every_content_and_makes_no_new_extremes(n_target):
    source = plain_case(random_grid(70, 11, depth=20.0))
    moved = source.on(random_grid(71, n_target, depth=20.0))
    for x, y in zip(jax.tree.leaves(source.initial_state), jax.tree.leaves(moved.initial_state), strict=True):
        contents = [float(jnp.sum(v * c.grid.cell_thickness)) for v, c in ((x, source), (y, moved))]
        np.testing.assert_allclose(*contents, rtol=1e-12, atol=1e-12)
        # Rounding of the content of the column, divided by a thickness.
        assert jnp.max(y) <= jnp.max(x) + 1e-10 and jnp.min(y) >= jnp.min(x) - 1e-10
    assert (moved.name, moved.duration) == (source.name, source.duration)
    assert eqx.tree_equal(moved.forcing, source.forcing)


def test_remapping_gives_means_over_the_overlap():
    source, target = Grid([-4.0, -3.0, -1.0, 0.0]), Grid([-4.0, -2.0, -1.0, -0.5, 0.0])
    values = jnp.array([1.0, 5.0, 9.0])
    np.testing.assert_allclose(remap(values, source, target), [3.0, 5.0, 9.0, 9.0], rtol=1e-14)
    np.testing.assert_array_equal(remap(values, source, source), values)
    batch = jnp.stack([values, 2.0 * values], axis=-1)
    finer = Grid([-4.0, -3.5, -3.0, -1.0, -0.2, 0.0])
    np.testing.assert_allclose(remap(remap(batch, source, finer), finer, source), batch, rtol=1e-13)


def test_cases_side_by_side():
    one = plain_case(name="a", start_time="2020-01-01T00:00:00", duration=500.0)
    two = plain_case(name="b", duration=300.0)
    assert jax.tree.structure(one) != jax.tree.structure(two)
    assert jax.tree.structure(one.unlabelled()) == jax.tree.structure(two.unlabelled())
    assert stack_cases(list(CASES.values())).batch_shape == (len(CASES),)  # runs: test_closure_contract
    assert stack_cases([one, two]).duration == 300.0  # that of the shortest
    steady = dataclasses.replace(one, forcing=TimeSeriesForcing.from_values([0.0, 500.0], heat_flux=-100.0))
    with error_naming(ValueError, "forcing harbour TimeSeriesForcing ConstantForcing same times"):
        stack_cases([steady, plain_case()])
    forced = dataclasses.replace(one, forcing=ConstantForcing(SurfaceFluxes(stress_u=np.zeros((2, 1)))))
    turning = dataclasses.replace(forced, coriolis_parameter=jnp.zeros(3))
    assert (one.batch_shape, turning.batch_shape) == ((), (2, 3))


def with_value(of, value: float) -> Case:
    """The case with a value in its fourth cell."""
    state = plain_case().initial_state
    return dataclasses.replace(plain_case(), initial_state=eqx.tree_at(of, state, of(state).at[3].set(value)))


def test_cases_that_cannot_be_are_refused():
    first, finer = plain_case(name="first"), Grid.uniform(20.0, 9)
    dry = dataclasses.replace(first, name="dry", forcing=ConstantForcing(SurfaceFluxes(stress_u=0.1)))
    series = (TimeSeriesForcing.from_values([0.0, end], heat_flux=1.0) for end in (3600.0, 7200.0))
    other_times = [dataclasses.replace(first, forcing=each) for each in series]
    for make, parts in (
        (lambda: plain_case(duration=0.0), "harbour duration [s]"),
        (lambda: plain_case(duration=np.inf), "harbour duration [s]"),
        (lambda: dataclasses.replace(plain_case(), grid=finer), "harbour u 9 case.on(grid)"),
        (lambda: with_value(lambda s: s.salinity, np.nan), "salinity 3"),
        (lambda: with_value(lambda s: s.tracers["dye"], np.inf), "dye 3"),
        (lambda: first.on(Grid.uniform(19.0, 8)), "depth 20 19"),
        (lambda: first.on(finer.with_batch_rank(1)), "batch grids"),
        (lambda: stack_cases([first, first, plain_case(finer, name="fine")]), "stack_cases fine"),
        (lambda: stack_cases([first, first, dry]), "stack_cases dry"),
        (lambda: stack_cases([]), "case"),
        (lambda: stack_cases(other_times), "times"),
    ):
        with error_naming(ValueError, parts):
            make()
