"""Sea grass against a loop over cells; its derivatives."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import central_difference
from tunax_lite import Case, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.closures import ConstantDiffusivity, KEpsilon
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.column.terms import BottomFriction, Interior, Seagrass, SurfaceSlope
from tunax_lite.column.terms.pressure import Vector
from tunax_lite.column.time_series import TimeSeries

LEVELS = {
    "height": jnp.array([0.1, 0.5, 1.3]),
    "excursion": jnp.array([0.0, 0.02, 0.05]),
    "friction": jnp.array([0.02, 0.05, 0.01]),
}
MEMORY = ("seagrass_x", "seagrass_y", "seagrass_drag")


def wavy_case(efficiency: float = 0.3) -> Case:
    """Waves of 60 s over a meadow in 4 m of stratified water."""
    time = np.linspace(0.0, 600.0, 121)
    slope = Vector(2e-4 + 2e-3 * np.sin(2.0 * np.pi * time / 60.0), 1e-3 * np.cos(2.0 * np.pi * time / 60.0))
    grid = Grid.stretched(4.0, 16, bottom_zoom=1.0)
    state = State.from_profiles(
        grid, temperature=lambda z: 10.0 + 0.1 * z, u=0.2, tracers=dict.fromkeys(MEMORY, 0.0)
    )
    interior = Interior(
        pressure_gradient=SurfaceSlope(TimeSeries(jnp.asarray(time), slope)),
        bottom_friction=BottomFriction(),
        seagrass=Seagrass(efficiency=efficiency, **LEVELS),
    )
    return Case(grid, state, ConstantForcing(SurfaceFluxes(stress_u=0.02)), interior=interior, duration=600.0)


@pytest.mark.long  # against GOTM: test_gotm_folders
def test_leaves_move_until_they_are_taut_as_a_loop_says():
    """Cells one by one, as `seagrass.F90` and `uequation.F90` of GOTM 84f8d8e9, without any mixing."""
    case, dt, n_steps = wavy_case(), 2.0, 40
    interior: Any = dataclasses.replace(case.interior, bottom_friction=None)
    case = dataclasses.replace(case, interior=interior, forcing=ConstantForcing(SurfaceFluxes()))
    still: dict[str, Any] = {"molecular_viscosity": 0.0, "molecular_diffusivity": 0.0}
    model = Model(ConstantDiffusivity(0.0, 0.0), discretisation=GotmDiscretisation(), **still)
    run = simulate(model, case, dt=dt, duration=n_steps * dt, output_interval=dt)
    series = interior.pressure_gradient.series
    height, thickness = np.asarray(case.grid.z_center) + 4.0, np.asarray(case.grid.cell_thickness)
    n_taut = 0
    for k, (z, h) in enumerate(zip(height, thickness, strict=True)):
        u, v, x, y, drag = 0.2, 0.0, 0.0, 0.0, 0.0
        limit, friction = (np.interp(z, LEVELS["height"], LEVELS[name]) for name in ("excursion", "friction"))
        for n in range(1, n_steps + 1):
            slope = series.at(n * dt)
            u = (u - 9.81 * dt * float(slope.x)) / (1.0 + dt * drag / h * np.hypot(u, v))
            v = (v - 9.81 * dt * float(slope.y)) / (1.0 + dt * drag / h * np.hypot(u, v))
            if z < LEVELS["height"][-1]:
                x, y = x + dt * u, y + dt * v
                length = np.hypot(x, y)
                drag = friction if length > limit else 0.0
                x, y = (x * limit / length, y * limit / length) if drag else (x, y)
            n_taut += drag > 0.0
            got = [run.state.u[n, k], run.state.v[n, k], *(run.state.tracers[name][n, k] for name in MEMORY)]
            np.testing.assert_allclose(got, [u, v, x, y, drag], rtol=1e-9, atol=1e-12)
    assert 20 < n_taut < 300  # leaves are slack between


def test_the_drag_of_leaves_stirs():
    """alpha C |u|³, means of two cells, at 0.5 m s-1."""
    drag = {**dict.fromkeys(MEMORY, 0.0), "seagrass_drag": jnp.array([0.04, 0.02, 0.0, 0.0])}
    state = State.from_profiles(Grid.uniform(4.0, 4), temperature=10.0, u=0.3, v=-0.4, tracers=drag)
    stirring = Seagrass(efficiency=2.0, **LEVELS).stirring(state)
    np.testing.assert_allclose(stirring, 2.0 * 0.125 * np.array([0.03, 0.01, 0.0]), rtol=1e-12)


def numbers_of(case):
    canopy = case.interior.seagrass
    return [canopy.friction, canopy.excursion, canopy.efficiency, case.initial_state.u]


@pytest.mark.study  # derivatives of other terms: test_interior
def test_derivatives():
    case, model = wavy_case(), Model(KEpsilon())

    @eqx.filter_jit
    def energy(factors):
        changed = eqx.tree_at(
            numbers_of, case, [factors[i] * each for i, each in enumerate(numbers_of(case))]
        )
        state = simulate(model, changed, dt=2.0, duration=80.0, output_interval=80.0).state
        return jnp.sum(state.u[-1] ** 2 + state.v[-1] ** 2 + 0.1 * state.temperature[-1] ** 2)

    ones, direction = jnp.ones(4), jnp.linspace(0.5, 1.0, 4)
    reverse = eqx.filter_jit(jax.grad(energy))(ones)
    _, forward = jax.jvp(energy, (ones,), (direction,))
    np.testing.assert_allclose(forward, jnp.sum(reverse * direction), rtol=1e-9)
    assert float(jnp.abs(reverse[0])) > 1e-3
    for i in range(4):  # how far leaves may move says when they drag, not how much
        changed = lambda points, i=i: np.stack([energy(ones.at[i].set(x)) for x in points])  # noqa: E731
        difference = central_difference(changed, 1.0, 0.1)
        assert difference.holds(1e-10) and difference.agrees(reverse[i], 1e-10), f"{i}: {difference}"


def test_a_canopy_that_cannot_be_is_refused():
    for change, words in (
        ({"height": [0.1, 0.1, 0.3]}, "heights"),
        ({"friction": [0.1, -0.1, 0.3]}, "negative"),
        ({"excursion": [0.1, 0.2]}, "levels"),
    ):
        with error_naming(ValueError, words):
            Seagrass(**(LEVELS | {name: jnp.array(values) for name, values in change.items()}))
