"""What is prescribed below the surface."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, column_of, random_grid
from tests.errors import error_naming
from tests.helpers import Differentiated
from tunax_lite import Case, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.closures import ConstantDiffusivity, KEpsilon
from tunax_lite.column import terms
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.column.terms import BottomFriction, HorizontalGradient, Interior, RelaxationTarget
from tunax_lite.column.terms.pressure import Vector
from tunax_lite.column.time_series import TimeSeries

steady = TimeSeries.constant
GOTM = {"discretisation": GotmDiscretisation()}


def still_case(grid: Grid, interior: Interior, u: float = 0.0, v: float = 0.0, **options) -> Case:
    state = State.from_profiles(
        grid, temperature=lambda z: 15.0 + 0.05 * z, salinity=lambda z: 35.0 - 0.01 * z, u=u, v=v
    )
    given = {"forcing": ConstantForcing(SurfaceFluxes()), "duration": 1e5} | options
    return Case(grid, state, interior=interior, **given)


def steps_of(case: Case, dt: float, n_steps: int, closure=None, **options) -> State:
    """States with the start, by default without any mixing."""
    unmixed: dict[str, Any] = {"molecular_viscosity": 0.0, "molecular_diffusivity": 0.0}
    model = Model(ConstantDiffusivity(0.0, 0.0) if closure is None else closure, **(unmixed | options))
    return simulate(model, case, dt=dt, duration=n_steps * dt, output_interval=dt).state


def final(*arguments, **options) -> State:
    return jax.tree.map(lambda values: values[-1], steps_of(*arguments, **options))


def accelerations(term, column) -> list:
    """Of u and v [m s-2], by a term."""
    given = term.on_velocity(column)
    return [given[name].cells / column.grid.cell_thickness for name in ("u", "v")]


def test_a_slope_accelerates_the_column_and_does_not_shear_it():
    slope = terms.SurfaceSlope(steady(Vector(-1e-6, 2e-6)))
    state = final(still_case(Grid.uniform(20.0, 8), Interior(pressure_gradient=slope)), 100.0, 6)
    np.testing.assert_allclose(state.u, 9.81e-6 * 600.0, rtol=1e-12)
    np.testing.assert_allclose(state.v, -9.81e-6 * 2.0 * 600.0, rtol=1e-12)


def test_a_lid_slows_the_uppermost_cell_and_stirs_it():
    """Law of the wall, u* = kappa |u| / ln(1 + h / (2 z_0)): implicit drag; and what the closure is told."""
    thickness, z_0, dt = 2.0, 0.003, 600.0
    lid = Interior(lid_friction=terms.LidFriction(z_0, 0.4))
    case = still_case(Grid.uniform(10.0, 5), lid, 0.3, -0.4)
    ratio, speed = 0.4 / math.log(1.0 + 0.5 * thickness / z_0), 0.5
    end = final(case, dt, 1)
    left = np.array([1.0, 1.0, 1.0, 1.0, 1.0 / (1.0 + dt * ratio**2 * speed / thickness)])
    np.testing.assert_allclose([end.u, end.v], [0.3 * left, -0.4 * left], rtol=1e-12)
    model, start = Model(KEpsilon()), case.initial_state
    told, _ = model.inputs_of_closure(start, model.init(case), start, case, 0.0, dt)
    speeds = told.surface_friction_velocity, told.friction_velocity_of_sea
    np.testing.assert_allclose(speeds, ratio * speed, rtol=1e-12)
    flux = np.array([-0.3, 0.4]) * ratio**2 * speed
    np.testing.assert_allclose(told.surface_momentum_flux, flux, rtol=1e-12)


def test_air_over_moving_water_pulls_less():
    """C (U - u) with u at the end of the step: h (u - u_0) = dt C (U - u) / rho."""
    drag, air, dt = 0.05, (8.0, -3.0), 3600.0  # kg m-2 s-1, m s-1, s
    fluxes = SurfaceFluxes(stress_u=drag * (air[0] - 0.5), stress_v=drag * (air[1] + 0.2), surface_drag=drag)
    case = still_case(Grid.uniform(10.0, 5), Interior(), 0.5, -0.2, forcing=ConstantForcing(fluxes))
    end = final(case, dt, 1)
    pull = dt * drag / (2.0 * float(case.equation_of_state.reference_density))
    for of, start, wind in ((end.u, 0.5, air[0]), (end.v, -0.2, air[1])):
        np.testing.assert_allclose(of[:-1], start, rtol=1e-13)
        np.testing.assert_allclose(of[-1], (start + pull * wind) / (1.0 + pull), rtol=1e-12)


def test_prescribed_currents_are_met():
    grid = random_grid(1, 12)
    u, v = jnp.sin(grid.z_center), jnp.cos(0.2 * grid.z_center)
    column = column_of(State.from_profiles(grid, temperature=10.0), grid, time=5.0)
    new = jnp.stack(terms.MeanVelocity(steady(Vector(0.3, -0.1))).after_velocity(u, v, column))
    np.testing.assert_allclose(new @ grid.cell_thickness / grid.depth, [0.3, -0.1], rtol=1e-12)
    np.testing.assert_allclose(jnp.diff(new[0]), jnp.diff(u), rtol=1e-10, atol=1e-12)
    heights = np.asarray(grid.z_center - grid.z_face[0])
    for height in (0.0, 3.3, 17.0, 40.0):
        at = terms.VelocityAtHeight(steady(terms.VelocityAndHeight(0.3, -0.1, height)))
        got = [np.interp(height, heights, np.asarray(each)) for each in at.after_velocity(u, v, column)]
        np.testing.assert_allclose(got, [0.3, -0.1], atol=1e-12)


def test_horizontal_gradients_accelerate_by_the_weight_above_and_are_carried_along():
    """dS/dt = -u dS/dx - v dS/dy with u = 0.5 and v = -0.2 m s-1, likewise T."""
    grid = Grid.uniform(40.0, 80)
    column = column_of(State.from_profiles(grid, temperature=10.0, u=0.5, v=-0.2), grid)
    gradient = HorizontalGradient(*(jnp.full(80, value) for value in (1e-5, 3e-5, 2e-6, -4e-6)))
    given = terms.BuoyancyGradient(steady(gradient), advect_temperature=True)
    to_x, to_y = accelerations(given, column)
    np.testing.assert_allclose(to_x, 9.81 * (7.8e-4 * 2e-6 - 2e-4 * 1e-5) * grid.z_center, rtol=1e-12)
    np.testing.assert_allclose(to_y, -9.81 * (7.8e-4 * 4e-6 + 2e-4 * 3e-5) * grid.z_center, rtol=1e-12)
    assert given.on_scalars(column).keys() == {"temperature"}
    both = terms.BuoyancyGradient(steady(gradient), advect_temperature=True, advect_salinity=True)
    rates = {name: np.asarray(of.cells) / 0.5 for name, of in both.on_scalars(column).items()}
    np.testing.assert_allclose(rates["temperature"], -(0.5 * 1e-5 - 0.2 * 3e-5), rtol=1e-12)
    np.testing.assert_allclose(rates["salinity"], -(0.5 * 2e-6 + 0.2 * 4e-6), rtol=1e-12)


def test_plumes_run_down_the_slope():
    grid = Grid.uniform(10.0, 5)
    column = column_of(State.from_profiles(grid, temperature=jnp.array([8.0, 8.0, 10.0, 10.0, 10.0])), grid)
    dense = -9.81 * 2e-4 * 2.0
    to_x, to_y = accelerations(terms.PlumeOnSlope(slope_x=0.01, slope_y=-0.02), column)
    np.testing.assert_allclose(to_x, 0.01 * dense * np.array([1, 1, 0, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(to_y, -0.02 * dense * np.array([1, 1, 0, 0, 0]), atol=1e-12)
    begins = terms.PlumeOnSlope(slope_x=0.01, slope_y=-0.02, from_rest=True)
    for time, expected in ((60.0, 0.0), (120.0, to_x)):
        there = column._replace(time=jnp.asarray(time))
        np.testing.assert_array_equal(accelerations(begins, there)[0], expected)
    lid = accelerations(terms.PlumeOnSlope(slope_x=0.01, at_surface=True), column)
    np.testing.assert_allclose(lid[0], -0.01 * dense * np.array([0, 0, 1, 1, 1]), atol=1e-12)


def test_relaxation_is_implicit_and_each_variable_has_its_own_rate():
    grid = random_grid(2, 10)
    near = terms.layered_rate(grid, 3600.0, surface_height=10.0, surface_time_scale=60.0)
    np.testing.assert_array_equal(near == 1.0 / 60.0, grid.z_center >= -10.0)
    rates, profiles = (near, jnp.full(10, 1e-3)), (jnp.linspace(5.0, 9.0, 10), jnp.linspace(33.0, 34.0, 10))
    targets = [RelaxationTarget(steady(p), r) for p, r in zip(profiles, rates, strict=True)]
    flow = RelaxationTarget(steady(jnp.full(10, 0.2)), jnp.full(10, 1e-4))
    case = still_case(grid, Interior(relaxation=terms.Relaxation(*targets, u=flow, v=flow)))
    state = final(case, 600.0, 1)
    for name, profile, rate in zip(("temperature", "salinity"), profiles, rates, strict=True):
        expected = (getattr(case.initial_state, name) + 600.0 * rate * profile) / (1.0 + 600.0 * rate)
        np.testing.assert_allclose(getattr(state, name), expected, rtol=1e-12)
    np.testing.assert_allclose(state.u, 0.06 * 0.2 / 1.06, rtol=1e-12)


SLOW, FAST = (RelaxationTarget(steady(jnp.zeros(8)), jnp.full(8, rate)) for rate in (1.0, 2.0))
TIDE = TimeSeries(jnp.array([0.0, 1000.0]), Vector(jnp.zeros(2), jnp.zeros(2)), "tide")
SHORT = Interior(pressure_gradient=terms.SurfaceSlope(TIDE))


def test_bad_parts_are_refused():
    for make, parts in (
        (lambda: RelaxationTarget(steady(jnp.zeros(3)), jnp.array([0.0, -1.0, 0.0])), "s-1 0"),
        (lambda: terms.Relaxation(u=SLOW, v=FAST), "rate"),
        (lambda: terms.Relaxation(u=SLOW), "u v"),
        (lambda: Interior(held=("u",)), "held temperature salinity u"),
        (
            lambda: Interior(held=("salinity",), relaxation=terms.Relaxation(salinity=SLOW)),
            "relaxation salinity held",
        ),
        (lambda: final(still_case(Grid.uniform(20.0, 8), SHORT), 600.0, 3), "tide"),  # beyond the series
    ):
        with error_naming(ValueError, parts):
            make()


def drag_coefficient(speed: float, thickness: float) -> float:
    """(u* / speed)² of the law of the wall, by iteration; the roughness is 0.03 times 0.05 m."""
    roughness, u_star = 0.0015, speed
    for _ in range(50):
        u_star = 0.4 * speed / np.log(1.0 + 0.5 * thickness / roughness)
        roughness = 0.1 * 1.3e-6 / u_star + 0.0015
    return (u_star / speed) ** 2


def test_the_bottom_takes_the_momentum_that_the_law_says():
    friction = BottomFriction(physical_roughness=0.05)
    u_star, z0, coefficient = friction.at(jnp.asarray(0.3), jnp.asarray(-0.4), 2.0)
    np.testing.assert_allclose(z0, 0.1 * 1.3e-6 / u_star + 0.0015, rtol=1e-6)
    np.testing.assert_allclose([coefficient, (u_star / 0.5) ** 2], drag_coefficient(0.5, 2.0), rtol=1e-6)
    along = lambda u: friction.at(u, jnp.asarray(0.0), 2.0)[0]  # noqa: E731
    assert along(jnp.asarray(0.0)) == 0.0 and np.isfinite(jax.grad(along)(0.0))
    state = final(
        still_case(Grid.uniform(20.0, 10), Interior(bottom_friction=BottomFriction()), 0.5), 60.0, 1
    )
    expected = 0.5 / (1.0 + 60.0 * drag_coefficient(0.5, 2.0) * 0.5 / 2.0)
    np.testing.assert_allclose(state.u, [expected, *[0.5] * 9], rtol=1e-8)


@pytest.mark.long
def test_opposing_the_stokes_drift_is_a_steady_state():
    grid = random_grid(3, 16)
    drift = terms.StokesDrift(steady(terms.DriftVector(0.1, 0.02)), decay_depth=8.0)
    u_s, v_s = drift.at(grid, 0.0)
    edges = zip(grid.z_face[:-1], grid.z_face[1:], strict=True)
    means = np.array([np.mean(np.exp(np.linspace(a, b, 2001) / 8.0)) for a, b in edges])
    np.testing.assert_allclose(u_s, 0.1 * means, rtol=1e-3)
    case = still_case(grid, Interior(stokes_drift=drift), coriolis_parameter=1e-4)
    case = eqx.tree_at(lambda c: (c.initial_state.u, c.initial_state.v), case, (-u_s, -v_s))
    state = final(case, 600.0, 50)
    np.testing.assert_allclose([state.u, state.v], [-u_s, -v_s], atol=1e-14)


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
    grid, rng = random_grid(4, 30), np.random.default_rng(0)
    values, h = np.cumsum(rng.normal(size=30)), np.asarray(grid.cell_thickness)
    velocity = np.concatenate([[0.0], 1e-3 * rng.normal(size=29), [0.0]])
    for scheme in terms.AdvectionScheme:
        half = carried(values, velocity, h, 50.0, scheme.value)
        for given, n, expected in (
            (values, 1, carried(values, velocity, h, 100.0, scheme.value)),
            (values, 2, carried(half, velocity, h, 50.0, scheme.value)),
            (np.full(30, 7.0), 1, 7.0),
        ):
            found = terms.advect(
                jnp.asarray(given), jnp.asarray(velocity), grid, 100.0, scheme=scheme, n_substeps=n
            )
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.long  # the scheme by itself: above
def test_rising_water_carries_everything_but_what_is_held():
    grid = Grid.uniform(100.0, 20)
    vertical = terms.VerticalVelocity(steady(terms.VelocityAndLevel(1e-4, -50.0)))
    w = np.interp(grid.z_face, [-100.0, -50.0, 0.0], [0.0, 1e-4, 0.0])
    np.testing.assert_allclose(vertical.at(grid, 0.0), w, atol=1e-18)
    rain, interior = (
        SurfaceFluxes(freshwater_flux=1e-4),
        Interior(vertical_velocity=vertical, held=("salinity",)),
    )
    case = still_case(grid, interior, forcing=ConstantForcing(rain))
    expected = np.where(grid.z_center > -40.0, 20.0, 10.0)
    case = eqx.tree_at(lambda c: c.initial_state.temperature, case, jnp.asarray(expected))
    state = final(case, 600.0, 3)
    np.testing.assert_array_equal(state.salinity, case.initial_state.salinity)
    for _ in range(3):
        expected = carried(expected, w, np.full(20, 5.0), 600.0, "p2_pdm")
    np.testing.assert_allclose(state.temperature, expected, rtol=1e-12)


def everything(grid: Grid) -> Interior:
    n = grid.n_cells
    target = RelaxationTarget(steady(15.0 + 0.04 * grid.z_center), jnp.full(n, 1e-5))
    gradient = HorizontalGradient(*(jnp.full(n, value) for value in (1e-6, 0.0, 0.0, 1e-7)))
    return Interior(
        relaxation=terms.Relaxation(temperature=target),
        pressure_gradient=terms.SurfaceSlope(steady(Vector(2e-6, -1e-6))),
        buoyancy_gradient=terms.BuoyancyGradient(steady(gradient), True, True),
        vertical_velocity=terms.VerticalVelocity(steady(terms.VelocityAndLevel(1e-5, -15.0))),
        bottom_friction=BottomFriction(),
        stokes_drift=terms.StokesDrift(steady(terms.DriftVector(0.05, 0.01))),
    )


LEAVES = {
    "slope": lambda c: c.interior.pressure_gradient.series.values.x,
    "target": lambda c: c.interior.relaxation.temperature.profiles.values,
    "rate": lambda c: c.interior.relaxation.temperature.rate,
    "gradient": lambda c: c.interior.buoyancy_gradient.series.values.temperature_x,
    "lift": lambda c: c.interior.vertical_velocity.series.values.velocity,
    "roughness": lambda c: c.interior.bottom_friction.physical_roughness,
    "drift": lambda c: c.interior.stokes_drift.series.values.u,
    "decay": lambda c: c.interior.stokes_drift.decay_depth,
    "capacity": lambda c: c.equation_of_state.heat_capacity,
}


@pytest.mark.long
def test_gradients_with_respect_to_what_acts_below_the_surface():
    grid, windy = Grid.stretched(40.0, 16, surface_zoom=1.0), SurfaceFluxes(stress_u=0.1, heat_flux=-50.0)
    case = still_case(grid, everything(grid), coriolis_parameter=1e-4, forcing=ConstantForcing(windy))

    def energy(factors):
        changed = case
        for leaf, factor in zip(LEAVES.values(), factors, strict=True):
            changed = eqx.tree_at(leaf, changed, leaf(case) * factor)
        end = final(changed, 60.0, 50, KEpsilon(), molecular_viscosity=1.3e-6, molecular_diffusivity=1.4e-7)
        return jnp.sum(end.u**2 + end.v**2) + jnp.sum(end.temperature**2)

    found, ones, step = Differentiated(energy), jnp.ones(len(LEAVES)), 1e-4
    gradient = found.reverse(ones)
    for index, name in enumerate(LEAVES):
        direction = np.eye(len(LEAVES))[index]
        up, down = (found.value(ones + sign * step * direction) for sign in (1.0, -1.0))
        numeric = (up - down) / (2.0 * step)
        np.testing.assert_allclose(gradient[index], numeric, rtol=1e-5, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found.forward(ones, jnp.asarray(direction)), gradient[index], rtol=1e-9)


@pytest.mark.long
def test_members_of_an_ensemble_relax_to_the_profile_of_the_single_case():
    grid, profile = Grid.uniform(20.0, 8), jnp.linspace(5.0, 12.0, 8)
    target = RelaxationTarget(steady(profile), jnp.linspace(1e-4, 1e-3, 8))
    gradients = HorizontalGradient(profile * 1e-6, 0.0 * profile, 0.0 * profile, 0.0 * profile)
    interior = Interior(
        relaxation=terms.Relaxation(temperature=target),
        buoyancy_gradient=terms.BuoyancyGradient(steady(gradients), advect_temperature=True),
    )
    case = still_case(grid, interior)
    # As many members as levels: a profile that is taken for a row of columns would not be noticed.
    viscosities, diffusivities = jnp.array([[0.0], [1e-3]]), jnp.linspace(0.0, 1e-2, 8)
    together = final(case, 600.0, 5, ConstantDiffusivity(viscosities, diffusivities))
    assert together.u.shape == (8, 2, 8)
    for i, j in ((0, 0), (1, 5)):
        alone = final(case, 600.0, 5, ConstantDiffusivity(viscosities[i, 0], diffusivities[j]))
        np.testing.assert_allclose(together.temperature[:, i, j], alone.temperature, rtol=1e-12)
        np.testing.assert_allclose(together.u[:, i, j], alone.u, rtol=1e-9, atol=1e-14)


@pytest.mark.long
def test_drift_of_a_wind_sea_is_the_published_layer_mean():
    """Layer means of Li et al. (2017), term by term, against the profile of cells."""
    grid, speed, gravity = Grid.stretched(60.0, 12, surface_zoom=2.0), 8.0, 9.81
    wind = steady(terms.WindVector(0.6 * speed, -0.8 * speed), "wind")
    u, v = terms.WindSeaDrift(wind).at(grid, 0.0)
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

    above = np.array([layer_mean(depth) * depth for depth in -np.asarray(grid.z_face)[:-1]] + [0.0])
    expected = (above[:-1] - above[1:]) / np.asarray(grid.cell_thickness)
    np.testing.assert_allclose([u, v], [0.6 * expected, -0.8 * expected], rtol=1e-10, atol=1e-14)
    # The whole transport; and no wind gives no drift, with a finite gradient.
    assert np.sum(expected * np.asarray(grid.cell_thickness)) == pytest.approx(transport, rel=0.02)
    drift = lambda w: terms.WindSeaDrift(steady(terms.WindVector(w, w))).at(grid, 0.0)[0].sum()  # noqa: E731
    assert np.isfinite(jax.grad(drift)(0.0))


@pytest.mark.long
def test_waves_may_change_in_depth_and_turbulence_need_not_feel_their_shear():
    grid, drift = random_grid(4, 12), steady(terms.DriftVector(0.1, 0.02))
    depths = TimeSeries(jnp.asarray([0.0, 100.0]), jnp.asarray([2.0, 6.0]))
    given = terms.StokesDrift(drift, depths=depths)
    for time, depth in ((0.0, 2.0), (50.0, 4.0), (100.0, 6.0)):
        expected = terms.StokesDrift(drift, decay_depth=depth).at(grid, 0.0)
        np.testing.assert_allclose(given.at(grid, time), expected, rtol=1e-13)
    parts = {"stokes_drift": given, "wave_height": TimeSeries(depths.time, jnp.asarray([1.0, 3.0]))}
    state, model = State.from_profiles(grid, temperature=10.0, u=lambda z: 0.01 * z), Model(KEpsilon())
    for feels in (True, False):
        case = Case(
            grid, state, ConstantForcing(SurfaceFluxes()), interior=Interior(**parts, stokes_shear=feels)
        )
        waves = model.inputs_of_closure(state, model.init(case), state, case, 0.0, 50.0)[0].waves
        assert waves is not None and waves.height is not None and float(waves.height) == 2.0
        assert bool(np.all(np.asarray(waves.shear) > 0.0)) == feels and np.any(waves.shear_squared) == feels


@pytest.mark.long
def test_a_canopy_has_a_constant_of_its_own_in_the_equation_for_the_length():
    """What leaves stir counts with `stirring_ratio` times c_1: a tenth more is a tenth of it less at 0."""
    inputs = closure_inputs(Grid.uniform(4.0, 8), 0.0, 1e-4, friction_velocity=0.01)
    stirred = dataclasses.replace(inputs, stirring=jnp.full(7, 1e-6))

    def dissipation(ratio):
        stepper = KEpsilon(stirring_ratio=ratio).prepare()
        return np.asarray(stepper.step(stepper.init(stirred), stirred, 1.0).dissipation_rate[1:-1])

    none, half, whole, default = (dissipation(ratio) for ratio in (0.0, 0.5, 1.0, None))
    np.testing.assert_allclose(whole, default, rtol=1e-13)
    np.testing.assert_allclose(half, 0.5 * (none + whole), rtol=1e-12)
    assert np.all(whole > 1.5 * none)


def test_heat_through_the_bottom_is_that_of_its_flux():
    case = still_case(Grid.uniform(20.0, 8), Interior(bottom_heat=terms.BottomHeat(heat_flux=-40.0)))
    eos, state = case.equation_of_state, final(case, 600.0, 36)
    gained = float(jnp.sum(state.temperature - case.initial_state.temperature)) * 2.5
    per_area = float(eos.reference_density * eos.heat_capacity)
    np.testing.assert_allclose(gained * per_area, -40.0 * 36 * 600.0, rtol=1e-9)
