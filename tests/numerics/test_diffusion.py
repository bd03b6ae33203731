"""One step of vertical diffusion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import exchange_matrix, random_grid
from tunax_lite.numerics import CarryingRates, diffuse
from tunax_lite.numerics.diffusion import EndValues, Sources

N = 12
every_theta = pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])


def random_column(seed):
    """Thickness, conductance over six orders of magnitude, and values."""
    rng = np.random.default_rng(seed)
    grid = random_grid(seed, N)
    diffusivity = jnp.asarray(10.0 ** rng.uniform(-6.0, 0.0, N - 1))
    return grid.cell_thickness, diffusivity / grid.center_spacing, jnp.asarray(rng.normal(10.0, 5.0, N))


@every_theta
def test_conserves_content(theta, seed=1):
    thickness, conductance, values = random_column(seed)
    dt = 1.0 if theta == 0.0 else 3600.0
    new = diffuse(values, conductance, thickness, dt, source=Sources(), theta=theta)
    assert np.max(np.abs(new - values)) > 1e-2
    # Round-off of a solve whose entries are up to dt K / h, about 1e4, times the values.
    np.testing.assert_allclose(np.sum(thickness * new), np.sum(thickness * values), rtol=1e-12)


@every_theta
def test_equals_dense_matrices(theta):
    thickness, conductance, values = random_column(3)
    rng = np.random.default_rng(4)
    source, sink = jnp.asarray(rng.normal(size=N)), jnp.asarray(rng.uniform(0.0, 1e-2, N))
    dt = 50.0
    exchange = exchange_matrix(conductance, N)
    left = np.diag(np.asarray(thickness * (1.0 + dt * sink))) - theta * dt * exchange
    right = (np.diag(thickness) + (1.0 - theta) * dt * exchange) @ values + dt * np.asarray(source)
    new = diffuse(values, conductance, thickness, dt, source=Sources(source), sink_rate=sink, theta=theta)
    np.testing.assert_allclose(new, np.linalg.solve(left, right), rtol=1e-11)


def test_boundary_fluxes_enter_the_end_cells():
    thickness, conductance, values = random_column(5)
    source = Sources(bottom=jnp.asarray(0.3), surface=jnp.asarray(-0.2))
    new = diffuse(values, conductance, thickness, 60.0, source=source)
    gained = np.sum(thickness * (new - values))
    np.testing.assert_allclose(gained, 60.0 * (0.3 - 0.2), rtol=1e-10)
    # Without conductance nothing leaves the end cells.
    alone = diffuse(values, jnp.zeros(N - 1), thickness, 60.0, source=source)
    np.testing.assert_allclose(alone[0] - values[0], 60.0 * 0.3 / thickness[0], rtol=1e-10)
    np.testing.assert_allclose(alone[-1] - values[-1], -60.0 * 0.2 / thickness[-1], rtol=1e-10)
    np.testing.assert_allclose(alone[1:-1], values[1:-1], rtol=1e-14)


def test_stays_positive_with_sinks_at_long_time_steps(dt=1e9):
    rng = np.random.default_rng(6)
    thickness, conductance, _ = random_column(6)
    values = jnp.asarray(10.0 ** rng.uniform(-12.0, 2.0, N))
    sink = jnp.asarray(10.0 ** rng.uniform(-8.0, 4.0, N))
    new = diffuse(values, conductance, thickness, dt, source=Sources(), sink_rate=sink)
    assert np.all(new > 0.0)
    assert np.sum(thickness * new) < np.sum(thickness * values)


def test_flow_equals_dense_matrices_conserves_and_stays_positive():
    thickness, conductance, _ = random_column(5)
    rng = np.random.default_rng(6)
    up, down = (jnp.asarray(10.0 ** rng.uniform(-6.0, 1.0, N - 1)) for _ in range(2))
    values, dt = jnp.asarray(10.0 ** rng.uniform(-10.0, 1.0, N)), 600.0
    carries = np.zeros((N, N))
    for i in range(N - 1):
        carries[i, i] -= up[i]
        carries[i + 1, i] += up[i]
        carries[i + 1, i + 1] -= down[i]
        carries[i, i + 1] += down[i]
    left = np.diag(np.asarray(thickness)) - dt * (exchange_matrix(conductance, N) + carries)
    new = diffuse(values, conductance, thickness, dt, source=Sources(), flow=CarryingRates(up, down))
    np.testing.assert_allclose(new, np.linalg.solve(left, thickness * values), rtol=1e-9)
    np.testing.assert_allclose(np.sum(thickness * new), np.sum(thickness * values), rtol=1e-12)
    assert float(jnp.min(new)) > 0.0


@pytest.mark.parametrize("upward", [0.0, 1e-3])
@pytest.mark.parametrize("ends", [{"surface": -2.0}, {"bottom": 3.0, "surface": -2.0}])
def test_held_ends_equal_dense_matrices(ends, upward):
    thickness, conductance, values = random_column(7)
    dt, flow = 60.0, CarryingRates(upward=upward * jnp.ones(N - 1)) if upward else None
    carries = np.diag([*np.full(N - 1, -upward), 0.0]) + np.diag(np.full(N - 1, upward), -1)
    left = np.diag(np.asarray(thickness)) - dt * (exchange_matrix(conductance, N) + carries)
    right = np.array(thickness * values)
    for end, value in ends.items():
        level = 0 if end == "bottom" else N - 1
        left[level], right[level] = np.eye(N)[level], value
    held = EndValues(**{end: jnp.asarray(value) for end, value in ends.items()})
    new = diffuse(values, conductance, thickness, dt, source=Sources(), held=held, flow=flow)
    np.testing.assert_allclose(new, np.linalg.solve(left, right), rtol=1e-9)


def test_content_follows_the_fluxes_through_both_ends():
    content = lambda bottom, surface: Sources(bottom=bottom, surface=surface).add_to(jnp.ones(3), 60.0)  # noqa: E731
    at = jnp.asarray(0.1), jnp.asarray(-0.2)
    np.testing.assert_allclose(content(*at), [7.0, 1.0, -11.0])
    np.testing.assert_array_equal(jax.jacrev(content, (0, 1))(*at), [[60.0, 0.0, 0.0], [0.0, 0.0, 60.0]])
