"""What is prescribed below the surface."""

import dataclasses
import math
import operator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, column_of, random_grid
from tests.errors import error_naming
from tests.helpers import Differentiated
from tunax_lite import (
    Case,
    ConstantForcing,
    Grid,
    Model,
    State,
    SurfaceFluxes,
    simulate,
)
from tunax_lite.closures import Constant, KEpsilon
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.column.terms import (
    AdvectionScheme,
    BottomFriction,
    BottomHeat,
    BuoyancyGradient,
    DriftVector,
    HorizontalGradient,
    Interior,
    LidFriction,
    MeanVelocity,
    PlumeOnSlope,
    Relaxation,
    RelaxationTarget,
    StokesDrift,
    SurfaceSlope,
    Vector,
    VelocityAndHeight,
    VelocityAndLevel,
    VelocityAtHeight,
    VerticalVelocity,
    WindSeaDrift,
    WindVector,
    advect,
    layered_rate,
)
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.physics import LinearEquationOfState

steady = TimeSeries.constant


def still_case(grid: Grid, interior: Interior, **options) -> Case:
    state = State.from_profiles(
        grid, temperature=lambda z: 15.0 + 0.05 * z, salinity=lambda z: 35.0 - 0.01 * z
    )
    return Case(grid, state, ConstantForcing(SurfaceFluxes()), interior=interior, duration=1e5, **options)


def final(case: Case, dt: float, n_steps: int, closure=None) -> State:
    model = Model(Constant(0.0, 0.0) if closure is None else closure)
    model = dataclasses.replace(model, molecular_viscosity=0.0, molecular_diffusivity=0.0)
    run = simulate(model, case, dt=dt, duration=n_steps * dt, output_interval=n_steps * dt)
    return jax.tree.map(lambda values: values[-1], run.state)


def accelerations(term, column) -> list:
    """Of u and v [m s-2], by a term."""
    given = term.on_velocity(column)
    return [given[name].cells / column.grid.cell_thickness for name in ("u", "v")]


def test_a_slope_accelerates_the_column_and_does_not_shear_it():
    case = still_case(
        Grid.uniform(20.0, 8), Interior(pressure_gradient=SurfaceSlope(steady(Vector(-1e-6, 2e-6))))
    )
    state = final(case, 100.0, 6)
    np.testing.assert_allclose(state.u, 9.81e-6 * 600.0, rtol=1e-12)
    np.testing.assert_allclose(state.v, -9.81e-6 * 2.0 * 600.0, rtol=1e-12)


def test_a_lid_slows_the_uppermost_cell_and_stirs_it():
    """Law of the wall, u* = kappa |u| / ln(1 + h / (2 z_0)): implicit drag; and what the closure is told."""
    thickness, z_0, dt = 2.0, 0.003, 600.0
    case = still_case(Grid.uniform(10.0, 5), Interior(lid_friction=LidFriction(z_0, 0.4)))
    moving = dataclasses.replace(case.initial_state, u=jnp.full(5, 0.3), v=jnp.full(5, -0.4))
    case = dataclasses.replace(case, initial_state=moving)
    ratio, speed = 0.4 / math.log(1.0 + 0.5 * thickness / z_0), 0.5
    end = final(case, dt, 1)
    left = np.array([1.0, 1.0, 1.0, 1.0, 1.0 / (1.0 + dt * ratio**2 * speed / thickness)])
    np.testing.assert_allclose(end.u, 0.3 * left, rtol=1e-12)
    np.testing.assert_allclose(end.v, -0.4 * left, rtol=1e-12)
    model = Model(KEpsilon())
    told, _ = model.inputs_of_closure(moving, model.init(case), moving, case, 0.0, dt)
    np.testing.assert_allclose(told.surface_friction_velocity, ratio * speed, rtol=1e-12)
    np.testing.assert_allclose(told.friction_velocity_of_sea, ratio * speed, rtol=1e-12)
    flux = np.array([-0.3, 0.4]) * ratio**2 * speed
    np.testing.assert_allclose(told.surface_momentum_flux, flux, rtol=1e-12)


def test_air_over_moving_water_pulls_less():
    """C (U - u) with u at the end of the step: h (u - u_0) = dt C (U - u) / rho."""
    still = still_case(Grid.uniform(10.0, 5), Interior())
    moving = dataclasses.replace(still.initial_state, u=jnp.full(5, 0.5), v=jnp.full(5, -0.2))
    drag, air = 0.05, (8.0, -3.0)  # kg m-2 s-1, m s-1
    fluxes = SurfaceFluxes(stress_u=drag * (air[0] - 0.5), stress_v=drag * (air[1] + 0.2), surface_drag=drag)
    case = dataclasses.replace(still, initial_state=moving, forcing=ConstantForcing(fluxes))
    end, dt = final(case, 3600.0, 1), 3600.0
    pull = dt * drag / (2.0 * float(case.equation_of_state.reference_density))
    for of, start, wind in ((end.u, 0.5, air[0]), (end.v, -0.2, air[1])):
        np.testing.assert_allclose(of[:-1], start, rtol=1e-13)
        np.testing.assert_allclose(of[-1], (start + pull * wind) / (1.0 + pull), rtol=1e-12)


def test_prescribed_currents_are_met():
    grid = random_grid(1, 12)
    u, v = jnp.sin(grid.z_center), jnp.cos(0.2 * grid.z_center)
    mean = MeanVelocity(steady(Vector(0.3, -0.1)))
    column = column_of(State.from_profiles(grid, temperature=10.0), grid, time=5.0)
    new_u, new_v = mean.after_velocity(u, v, column)
    np.testing.assert_allclose(jnp.sum(new_u * grid.cell_thickness) / grid.depth, 0.3, rtol=1e-12)
    np.testing.assert_allclose(jnp.sum(new_v * grid.cell_thickness) / grid.depth, -0.1, rtol=1e-12)
    np.testing.assert_allclose(jnp.diff(new_u), jnp.diff(u), rtol=1e-10, atol=1e-12)
    for height in (0.0, 3.3, 17.0, 40.0):
        at = VelocityAtHeight(steady(VelocityAndHeight(0.3, -0.1, height)))
        corrected = at.after_velocity(u, v, column)
        heights = np.asarray(grid.z_center - grid.z_face[0])
        got = [np.interp(height, heights, np.asarray(values)) for values in corrected]
        np.testing.assert_allclose(got, [0.3, -0.1], atol=1e-12)


def test_horizontal_gradients_accelerate_by_the_weight_above():
    grid = Grid.uniform(40.0, 80)
    zero = jnp.zeros(80)
    gradient = HorizontalGradient(zero + 1e-5, zero, zero, zero + 2e-6)
    given = BuoyancyGradient(steady(gradient), advect_temperature=True)
    column = column_of(State.from_profiles(grid, temperature=10.0, u=0.5), grid)
    to_x, to_y = accelerations(given, column)
    np.testing.assert_allclose(to_x, -9.81 * 2e-4 * 1e-5 * grid.z_center, rtol=1e-12)
    np.testing.assert_allclose(to_y, 9.81 * 7.8e-4 * 2e-6 * grid.z_center, rtol=1e-12)
    assert given.on_scalars(column).keys() == {"temperature"}


def test_water_of_another_kind_is_carried_along():
    """dS/dt = -u dS/dx - v dS/dy with u = 0.5 and v = -0.2 m s-1, likewise T."""
    grid = Grid.uniform(40.0, 5)
    gradient = HorizontalGradient(*(jnp.full(5, value) for value in (1e-5, 3e-5, 2e-6, -4e-6)))
    column = column_of(State.from_profiles(grid, temperature=10.0, u=0.5, v=-0.2), grid)
    both = BuoyancyGradient(steady(gradient), advect_temperature=True, advect_salinity=True)
    rates = {name: np.asarray(of.cells) / 8.0 for name, of in both.on_scalars(column).items()}
    np.testing.assert_allclose(rates["temperature"], -(0.5 * 1e-5 - 0.2 * 3e-5), rtol=1e-12)
    np.testing.assert_allclose(rates["salinity"], -(0.5 * 2e-6 + 0.2 * 4e-6), rtol=1e-12)


def test_plumes_run_down_the_slope():
    grid = Grid.uniform(10.0, 5)
    state = State.from_profiles(grid, temperature=jnp.array([8.0, 8.0, 10.0, 10.0, 10.0]))
    dense = -9.81 * 2e-4 * 2.0
    slope = PlumeOnSlope(slope_x=0.01, slope_y=-0.02)
    column = column_of(state, grid)
    to_x, to_y = accelerations(slope, column)
    np.testing.assert_allclose(to_x, 0.01 * dense * np.array([1, 1, 0, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(to_y, -0.02 * dense * np.array([1, 1, 0, 0, 0]), atol=1e-12)
    first, second = (column._replace(time=jnp.asarray(time)) for time in (60.0, 120.0))
    begins = PlumeOnSlope(slope_x=0.01, slope_y=-0.02, from_rest=True)
    np.testing.assert_array_equal(accelerations(begins, first)[0], 0.0)
    np.testing.assert_array_equal(accelerations(begins, second)[0], to_x)
    lid = accelerations(PlumeOnSlope(slope_x=0.01, at_surface=True), column)
    np.testing.assert_allclose(lid[0], -0.01 * dense * np.array([0, 0, 1, 1, 1]), atol=1e-12)


def test_relaxation_is_implicit_and_each_variable_has_its_own_rate():
    grid = random_grid(2, 10)
    rates = [layered_rate(grid, 3600.0, surface_height=10.0, surface_time_scale=60.0), jnp.full(10, 1e-3)]
    profiles = [jnp.linspace(5.0, 9.0, 10), jnp.linspace(33.0, 34.0, 10)]
    targets = [RelaxationTarget(steady(p), r) for p, r in zip(profiles, rates, strict=True)]
    flow = RelaxationTarget(steady(jnp.full(10, 0.2)), jnp.full(10, 1e-4))
    case = still_case(grid, Interior(relaxation=Relaxation(*targets, u=flow, v=flow)))
    state = final(case, 600.0, 1)
    start = case.initial_state
    for old, new, profile, rate in zip(
        (start.temperature, start.salinity), (state.temperature, state.salinity), profiles, rates, strict=True
    ):
        np.testing.assert_allclose(new, (old + 600.0 * rate * profile) / (1.0 + 600.0 * rate), rtol=1e-12)
    np.testing.assert_allclose(state.u, 0.06 * 0.2 / 1.06, rtol=1e-12)
    near = np.asarray(grid.z_center) >= -10.0
    np.testing.assert_array_equal(np.asarray(rates[0] == 1.0 / 60.0), near)


def test_bad_targets_are_refused():
    with error_naming(ValueError, "s-1 0"):
        RelaxationTarget(steady(jnp.zeros(4)), jnp.array([0.0, 1.0, -1.0, 0.0]))
    slow, fast = (RelaxationTarget(steady(jnp.zeros(4)), jnp.full(4, rate)) for rate in (1.0, 2.0))
    with error_naming(ValueError, "rate"):
        Relaxation(u=slow, v=fast)
    for component in "uv":
        alone: dict[str, Any] = {component: slow}
        with error_naming(ValueError, "u v"):
            Relaxation(**alone)


def test_the_law_of_the_wall_is_solved():
    friction = BottomFriction(physical_roughness=0.05)
    u_star, z0, coefficient = friction.at(jnp.asarray(0.3), jnp.asarray(-0.4), 2.0)
    np.testing.assert_allclose(z0, 0.1 * 1.3e-6 / u_star + 0.0015, rtol=1e-6)
    np.testing.assert_allclose(u_star, 0.4 / np.log((z0 + 1.0) / z0) * 0.5, rtol=1e-6)
    np.testing.assert_allclose(coefficient, (u_star / 0.5) ** 2, rtol=1e-12)
    at_rest = friction.at(jnp.asarray(0.0), jnp.asarray(0.0), 2.0)
    assert at_rest[0] == 0.0
    slope = jax.grad(lambda u: friction.at(u, jnp.asarray(0.0), 2.0)[0])(0.0)
    assert np.isfinite(slope)


def drag_coefficient(speed: float, thickness: float) -> float:
    """(u* / speed)² of the law of the wall, by iteration; the roughness is 0.03 times 0.05 m."""
    roughness, u_star = 0.0015, speed
    for _ in range(50):
        u_star = 0.4 * speed / np.log(1.0 + 0.5 * thickness / roughness)
        roughness = 0.1 * 1.3e-6 / u_star + 0.0015
    return (u_star / speed) ** 2


def test_the_bottom_takes_the_momentum_that_the_law_says():
    grid = Grid.uniform(20.0, 10)
    case = still_case(grid, Interior(bottom_friction=BottomFriction()))
    case = eqx.tree_at(lambda c: c.initial_state.u, case, jnp.full(10, 0.5))
    state = final(case, 60.0, 1)
    expected = 0.5 / (1.0 + 60.0 * drag_coefficient(0.5, 2.0) * 0.5 / 2.0)
    np.testing.assert_allclose(state.u[0], expected, rtol=1e-8)
    np.testing.assert_allclose(state.u[1:], 0.5, rtol=1e-12)


@pytest.mark.long
def test_opposing_the_stokes_drift_is_a_steady_state():
    grid = random_grid(3, 16)
    drift = StokesDrift(steady(DriftVector(0.1, 0.02)), decay_depth=8.0)
    u_s, v_s = drift.at(grid, 0.0)
    faces = np.asarray(grid.z_face)
    means = [
        np.mean(np.exp(np.linspace(a, b, 2001) / 8.0)) for a, b in zip(faces[:-1], faces[1:], strict=True)
    ]
    np.testing.assert_allclose(u_s, 0.1 * np.array(means), rtol=1e-3)
    case = still_case(grid, Interior(stokes_drift=drift), coriolis_parameter=1e-4)
    case = eqx.tree_at(lambda c: (c.initial_state.u, c.initial_state.v), case, (-u_s, -v_s))
    state = final(case, 600.0, 50)
    np.testing.assert_allclose(state.u, -u_s, atol=1e-14)
    np.testing.assert_allclose(state.v, -v_s, atol=1e-14)


def carried(values, w, h, dt, scheme):
    """One step of vertical advection written as a loop over faces."""
    n = len(values)
    spacing = 0.5 * (h[1:] + h[:-1])
    flux = np.zeros(n + 1)
    for j in range(1, n):
        c = abs(w[j]) * dt / spacing[j - 1]
        up, down = (j - 1, j) if w[j] > 0 else (j, j - 1)
        far = min(max(2 * up - down, 0), n - 1)
        ahead, behind = values[down] - values[up], values[up] - values[far]
        value = values[up]
        if ahead * behind > 0.0:
            r = behind / ahead
            x = (1.0 - 2.0 * c) / 6.0
            limiter = {
                "upstream": 0.0,
                "superbee": max(min(2 * r, 1.0), min(r, 2.0)),
                "muscl": min(2 * r, 0.5 * (1 + r), 2.0),
                "p2_pdm": min(2 * r / (c + 1e-10), 0.5 + x + (0.5 - x) * r, 2.0 / (1.0 - c)),
            }[scheme]
            value += 0.5 * limiter * (1.0 - c) * ahead
        flux[j] = w[j] * value
    return values - dt * (np.diff(flux) - values * np.diff(w)) / h


def test_advection_is_the_scheme_that_it_says():
    grid = random_grid(4, 30)
    rng = np.random.default_rng(0)
    values, h = np.cumsum(rng.normal(size=30)), np.asarray(grid.cell_thickness)
    velocity = np.concatenate([[0.0], 1e-3 * rng.normal(size=29), [0.0]])
    for scheme in AdvectionScheme:
        once, twice = (
            advect(jnp.asarray(values), jnp.asarray(velocity), grid, 100.0, scheme=scheme, n_substeps=n)
            for n in (1, 2)
        )
        expected = carried(values, velocity, h, 100.0, scheme.value)
        np.testing.assert_allclose(once, expected, rtol=1e-8, atol=1e-10)
        expected = carried(carried(values, velocity, h, 50.0, scheme.value), velocity, h, 50.0, scheme.value)
        np.testing.assert_allclose(twice, expected, rtol=1e-8, atol=1e-10)
        uniform = advect(jnp.full(30, 7.0), jnp.asarray(velocity), grid, 100.0, scheme=scheme)
        np.testing.assert_allclose(uniform, 7.0, rtol=1e-13)


@pytest.mark.long  # the scheme by itself: above
def test_upwelling_lifts_the_thermocline():
    grid = Grid.uniform(100.0, 200)
    vertical = VerticalVelocity(steady(VelocityAndLevel(1e-4, -50.0)))
    w = vertical.at(grid, 0.0)
    np.testing.assert_allclose(w, np.interp(grid.z_face, [-100.0, -50.0, 0.0], [0.0, 1e-4, 0.0]), atol=1e-18)
    case = still_case(grid, Interior(vertical_velocity=vertical))
    step = jnp.where(grid.z_center > -40.0, 20.0, 10.0)
    case = eqx.tree_at(lambda c: c.initial_state.temperature, case, step)
    state = final(case, 600.0, 60)
    # Heights above the extreme shrink exponentially, dz/dt = w (-z) / 50 m.
    expected = -40.0 * np.exp(-1e-4 / 50.0 * 36000.0)
    depth = 0.5 * np.sum(np.asarray(state.temperature) > 15.0)
    assert abs(-depth - expected) <= 0.5
    # The scheme is monotone where the velocity is uniform; here it converges.
    assert float(state.temperature.min()) >= 10.0 - 1e-3 and float(state.temperature.max()) <= 20.0 + 1e-3
    with error_naming(ValueError, "n_substeps"):
        VerticalVelocity(steady(VelocityAndLevel(1e-4, -50.0)), n_substeps=0)


def everything(grid: Grid) -> Interior:
    n = grid.n_cells
    zero = jnp.zeros(n)
    target = RelaxationTarget(steady(15.0 + 0.04 * grid.z_center), jnp.full(n, 1e-5))
    return Interior(
        relaxation=Relaxation(temperature=target),
        pressure_gradient=SurfaceSlope(steady(Vector(2e-6, -1e-6))),
        buoyancy_gradient=BuoyancyGradient(
            steady(HorizontalGradient(zero + 1e-6, zero, zero, zero + 1e-7)), True, True
        ),
        vertical_velocity=VerticalVelocity(steady(VelocityAndLevel(1e-5, -15.0))),
        bottom_friction=BottomFriction(),
        stokes_drift=StokesDrift(steady(DriftVector(0.05, 0.01))),
    )


def windy_case() -> Case:
    grid = Grid.stretched(40.0, 16, surface_zoom=1.0)
    case = still_case(grid, everything(grid), coriolis_parameter=1e-4)
    return dataclasses.replace(case, forcing=ConstantForcing(SurfaceFluxes(stress_u=0.1, heat_flux=-50.0)))


LEAVES = {
    "slope": lambda c: c.interior.pressure_gradient.series.values.x,
    "target": lambda c: c.interior.relaxation.temperature.profiles.values,
    "rate": lambda c: c.interior.relaxation.temperature.rate,
    "gradient": lambda c: c.interior.buoyancy_gradient.series.values.temperature_x,
    "lift": lambda c: c.interior.vertical_velocity.series.values.velocity,
    "roughness": lambda c: c.interior.bottom_friction.physical_roughness,
    "drift": lambda c: c.interior.stokes_drift.series.values.u,
    "decay": lambda c: c.interior.stokes_drift.decay_depth,
}


@pytest.mark.long  # of single terms: test_restoring
def test_gradients_with_respect_to_what_acts_below_the_surface():
    case, model = windy_case(), Model(KEpsilon())

    def energy(factors):
        changed = case
        for leaf, factor in zip(LEAVES.values(), factors, strict=True):
            changed = eqx.tree_at(leaf, changed, leaf(case) * factor)
        run = simulate(model, changed, dt=60.0, duration=3000.0, output_interval=3000.0)
        return jnp.sum(run.state.u[-1] ** 2 + run.state.v[-1] ** 2) + jnp.sum(run.state.temperature[-1] ** 2)

    found, ones, step = Differentiated(energy), jnp.ones(len(LEAVES)), 1e-4
    gradient = found.reverse(ones)
    for index, name in enumerate(LEAVES):
        direction = np.eye(len(LEAVES))[index]
        up, down = (found.value(ones + sign * step * direction) for sign in (1.0, -1.0))
        numeric = (up - down) / (2.0 * step)
        np.testing.assert_allclose(gradient[index], numeric, rtol=1e-5, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found.forward(ones, jnp.asarray(direction)), gradient[index], rtol=1e-9)


@pytest.mark.long  # in test_gabls
def test_what_is_held_stays_as_it_is_to_the_bit():
    """GOTM's `temperature.method: off`: not mixed, carried, heated or drawn along."""
    grid = Grid.uniform(20.0, 8)
    rising = VerticalVelocity(steady(VelocityAndLevel(1e-3, -10.0)))
    gradients = HorizontalGradient(*(1e-5 * jnp.ones((4, 8))))
    carried = BuoyancyGradient(steady(gradients), advect_temperature=True, advect_salinity=True)
    fluxes = ConstantForcing(SurfaceFluxes(stress_u=0.1, heat_flux=-200.0, freshwater_flux=-1e-4))
    for held in (("temperature",), ("salinity",)):
        interior = Interior(vertical_velocity=rising, buoyancy_gradient=carried, held=held)
        case = dataclasses.replace(still_case(grid, interior), forcing=fluxes)
        end = final(case, 600.0, 3, Constant(1e-2, 1e-2))
        for name in ("temperature", "salinity"):
            start, found = getattr(case.initial_state, name), getattr(end, name)
            assert bool(jnp.all(found == start)) == (name in held)
        assert float(end.u[-1]) > 0.0


def test_what_cannot_be_held_is_refused():
    with error_naming(ValueError, "held temperature salinity u"):
        Interior(held=("u",))
    target = RelaxationTarget(steady(jnp.zeros(8)), jnp.ones(8))
    with error_naming(ValueError, "relaxation salinity held"):
        Interior(held=("salinity",), relaxation=Relaxation(salinity=target))


def test_a_run_beyond_a_series_is_refused():
    series = TimeSeries(jnp.array([0.0, 1000.0]), Vector(jnp.zeros(2), jnp.zeros(2)), "tide")
    case = still_case(Grid.uniform(20.0, 8), Interior(pressure_gradient=SurfaceSlope(series)))
    with error_naming(ValueError, "tide"):
        final(case, 600.0, 3)


@pytest.mark.long
def test_salt_may_diffuse_more_slowly_than_heat():
    grid = Grid.uniform(20.0, 8)
    case = still_case(grid, Interior())
    slow = Model(Constant(0.0, 0.0), molecular_diffusivity=1e-2)
    frozen = dataclasses.replace(slow, molecular_salt_diffusivity=0.0)
    shared, own = (
        simulate(model, case, dt=600.0, duration=6000.0, output_interval=6000.0) for model in (slow, frozen)
    )
    np.testing.assert_allclose(own.state.temperature, shared.state.temperature, rtol=1e-13)
    np.testing.assert_allclose(own.state.salinity[-1], case.initial_state.salinity, rtol=1e-15)
    assert float(jnp.max(jnp.abs(shared.state.salinity[-1] - case.initial_state.salinity))) > 1e-3


@pytest.mark.long
def test_a_tide_stretches_the_cells():
    grid = Grid.uniform(20.0, 8)
    tide = TimeSeries(jnp.array([0.0, 1e6]), jnp.array([0.0, 5.0]), "tide")
    still, moving = (
        Interior(bottom_friction=BottomFriction(), surface_elevation=zeta) for zeta in (None, tide)
    )

    def placed(interior):
        case = still_case(grid, interior)
        return case.grid, case.placed(case.initial_state, 4e5).grid

    at_rest, high = placed(moving)
    np.testing.assert_allclose(high.z_face, at_rest.z_face * 1.1, rtol=1e-12)
    assert operator.is_(*placed(still))

    def stressed(interior):
        fluxes = ConstantForcing(SurfaceFluxes(stress_u=1.027))
        case = dataclasses.replace(still_case(grid, interior), forcing=fluxes)
        return final(case, 1000.0, 1)

    # The same stress accelerates a thicker cell less.
    rise = 1.0 + 5.0 * 1e-3 / 20.0
    np.testing.assert_allclose(stressed(moving).u[-1] * rise, stressed(still).u[-1], rtol=1e-9)


@pytest.mark.long
def test_members_of_an_ensemble_relax_to_the_profile_of_the_single_case():
    grid = Grid.uniform(20.0, 8)
    profile = jnp.linspace(5.0, 12.0, 8)
    target = RelaxationTarget(steady(profile), jnp.linspace(1e-4, 1e-3, 8))
    gradients = HorizontalGradient(profile * 1e-6, 0.0 * profile, 0.0 * profile, 0.0 * profile)
    interior = Interior(
        relaxation=Relaxation(temperature=target),
        buoyancy_gradient=BuoyancyGradient(steady(gradients), advect_temperature=True),
    )
    case = still_case(grid, interior)
    # As many members as levels: a profile that is taken for a row of columns would not be noticed.
    diffusivities = jnp.linspace(0.0, 1e-2, 8)
    together = final(case, 600.0, 5, Constant(0.0, diffusivities))
    for column in (0, 5):
        alone = final(case, 600.0, 5, Constant(0.0, diffusivities[column]))
        np.testing.assert_allclose(together.temperature[:, column], alone.temperature, rtol=1e-12)
        np.testing.assert_allclose(together.u[:, column], alone.u, rtol=1e-9, atol=1e-14)


@pytest.mark.long
def test_drift_of_a_wind_sea_is_the_published_layer_mean():
    """Layer means of Li et al. (2017), term by term, against the profile of cells."""
    grid, speed, gravity = Grid.stretched(60.0, 12, surface_zoom=2.0), 8.0, 9.81
    wind = TimeSeries.constant(WindVector(0.6 * speed, -0.8 * speed), "wind")
    u, v = WindSeaDrift(wind).at(grid, 0.0)
    surface, peak = 0.0162 * speed, 0.877 * gravity / (2.0 * np.pi * 1.075 * speed)
    transport = 0.125 * np.pi * 0.667 * 1.296 * peak * (0.0246 * speed**2) ** 2
    k = 0.176 * surface / transport
    spread = 2.56 * k

    def layer_mean(depth):
        r1 = (0.151 / (k * depth) - 0.84) * (1.0 - np.exp(-2.0 * k * depth))
        root, more = np.sqrt(2.0 * k * depth), np.sqrt(2.0 * spread * depth)
        r2 = -(0.84 + 0.0591 / (k * depth)) * np.sqrt(np.pi) * root * math.erfc(root)
        r3 = (0.0632 / (spread * depth) + 0.125) * (1.0 - np.exp(-2.0 * spread * depth))
        r4 = (0.125 + 0.0946 / (spread * depth)) * np.sqrt(np.pi) * more * math.erfc(more)
        return surface * (0.715 + r1 + r2 + r3 + r4)

    faces = -np.asarray(grid.z_face)
    above = np.array([layer_mean(depth) * depth for depth in faces[:-1]] + [0.0])
    expected = (above[:-1] - above[1:]) / np.asarray(grid.cell_thickness)
    np.testing.assert_allclose(u, 0.6 * expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(v, -0.8 * expected, rtol=1e-10, atol=1e-14)
    # The whole transport; and no wind gives no drift, with a finite gradient.
    assert np.sum(expected * np.asarray(grid.cell_thickness)) == pytest.approx(transport, rel=0.02)
    calm = jax.grad(lambda w: WindSeaDrift(TimeSeries.constant(WindVector(w, w))).at(grid, 0.0)[0].sum())(0.0)
    assert np.isfinite(calm)


@pytest.mark.long  # steps of GOTM: tests/verification
def test_the_bottom_drags_v_by_the_new_u_and_gradients_are_carried_by_the_new_velocity_in_gotm():
    """One step by hand, without any mixing, as `uequation`, `vequation` and `salinity` of GOTM 84f8d8e9."""
    grid, dt = Grid.uniform(3.0, 3), 600.0
    zero = jnp.zeros(3)
    gradients = HorizontalGradient(zero, zero, zero + 1e-4, zero)
    case = still_case(
        grid,
        Interior(
            buoyancy_gradient=BuoyancyGradient(steady(gradients), False, True),
            bottom_friction=BottomFriction(von_karman=0.4),
        ),
        equation_of_state=LinearEquationOfState(haline_contraction=0.0),
    )
    case = eqx.tree_at(lambda c: (c.initial_state.u, c.initial_state.v), case, (zero + 0.3, zero + 0.4))
    closure = Constant(viscosity=0.0, diffusivity=0.0)
    model = Model(
        closure, molecular_viscosity=0.0, molecular_diffusivity=0.0, discretisation=GotmDiscretisation()
    )
    new, _ = model.step(case.initial_state, model.init(case), case, 0.0, dt)
    coefficient = drag_coefficient(0.5, 1.0)
    u = 0.3 / (1.0 + dt * coefficient * 0.5)
    v = 0.4 / (1.0 + dt * coefficient * np.hypot(u, 0.4))
    np.testing.assert_allclose(new.u, [u, 0.3, 0.3], rtol=1e-6)
    np.testing.assert_allclose(new.v, [v, 0.4, 0.4], rtol=1e-6)
    change = np.asarray(new.salinity - case.initial_state.salinity)
    np.testing.assert_allclose(change, -dt * 1e-4 * np.array([u, 0.3, 0.3]), rtol=1e-6)


@pytest.mark.long  # steps of GOTM: tests/verification
def test_the_drag_of_the_bottom_begins_as_in_gotm():
    """None in the first step, in the second that of z_0 = 0.1 m + 0.03 h_0: `friction.F90` from u* = 0."""
    grid, dt, zero = Grid.uniform(3.0, 3), 600.0, jnp.zeros(3)
    case = still_case(grid, Interior(bottom_friction=BottomFriction(von_karman=0.4, from_rest=True)))
    case = eqx.tree_at(lambda c: c.initial_state.u, case, zero + 0.3)
    model = Model(
        Constant(0.0, 0.0),
        molecular_viscosity=0.0,
        molecular_diffusivity=0.0,
        discretisation=GotmDiscretisation(),
    )
    run = simulate(model, case, dt=dt, duration=3 * dt, output_interval=dt)
    u = np.asarray(run.state.u[:, 0])
    coefficient = (0.4 / np.log1p(0.5 / (0.1 + 0.03 * 0.05))) ** 2
    np.testing.assert_allclose(u[1], 0.3, rtol=1e-14)
    np.testing.assert_allclose(u[2], 0.3 / (1.0 + dt * coefficient * 0.3), rtol=1e-12)
    coefficient = drag_coefficient(u[2], 1.0)
    np.testing.assert_allclose(u[3], u[2] / (1.0 + dt * coefficient * u[2]), rtol=1e-6)


@pytest.mark.long
def test_waves_may_change_in_depth_and_turbulence_need_not_feel_their_shear():
    grid = random_grid(4, 12)
    depths = TimeSeries(jnp.asarray([0.0, 100.0]), jnp.asarray([2.0, 6.0]))
    given = StokesDrift(steady(DriftVector(0.1, 0.02)), depths=depths)
    for time, depth in ((0.0, 2.0), (50.0, 4.0), (100.0, 6.0)):
        expected = StokesDrift(steady(DriftVector(0.1, 0.02)), decay_depth=depth).at(grid, 0.0)
        np.testing.assert_allclose(given.at(grid, time), expected, rtol=1e-13)
    parts = {"stokes_drift": given, "wave_height": TimeSeries(depths.time, jnp.asarray([1.0, 3.0]))}
    state = State.from_profiles(grid, temperature=10.0, u=lambda z: 0.01 * z)
    for feels in (True, False):
        case = still_case(grid, Interior(**parts, stokes_shear=feels))
        case = dataclasses.replace(case, initial_state=state)
        model = Model(KEpsilon())
        inputs, _ = model.inputs_of_closure(state, model.init(case), state, case, 0.0, 50.0)
        waves = inputs.waves
        assert waves is not None and waves.height is not None and float(waves.height) == 2.0
        assert bool(np.all(np.asarray(waves.shear) > 0.0)) == feels and np.any(waves.shear_squared) == feels


@pytest.mark.long
def test_a_canopy_has_a_constant_of_its_own_in_the_equation_for_the_length():
    """What leaves stir counts with `stirring_ratio` times c_1: a tenth more is a tenth of it less at 0."""
    grid = Grid.uniform(4.0, 8)
    inputs = closure_inputs(grid, 0.0, 1e-4, friction_velocity=0.01)
    stirred = dataclasses.replace(inputs, stirring=jnp.full(7, 1e-6))

    def dissipation(ratio, given):
        closure = KEpsilon(stirring_ratio=ratio)
        stepper = closure.prepare()
        return np.asarray(stepper.step(stepper.init(given), given, 1.0).dissipation_rate[1:-1])

    without = dissipation(0.0, stirred), dissipation(0.5, stirred), dissipation(1.0, stirred)
    np.testing.assert_allclose(without[2], dissipation(None, stirred), rtol=1e-13)
    np.testing.assert_allclose(without[1], 0.5 * (without[0] + without[2]), rtol=1e-12)
    assert np.all(without[2] > 1.5 * without[0])


def test_heat_through_the_bottom_is_that_of_its_flux():
    grid = Grid.uniform(20.0, 8)
    case = still_case(grid, Interior(bottom_heat=BottomHeat(heat_flux=-40.0)))
    state = final(case, 600.0, 36)
    eos = case.equation_of_state
    gained = (np.asarray(state.temperature) - np.asarray(case.initial_state.temperature)) @ np.full(8, 2.5)
    per_area = float(eos.reference_density * eos.heat_capacity)
    np.testing.assert_allclose(gained * per_area, -40.0 * 36 * 600.0, rtol=1e-9)
