"""Budgets of heat, salt, tracers, momentum and kinetic energy: closed to round-off, with the known terms."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import CASES, some_long
from tests.ice.test_ice import column as icy
from tests.verification.test_lake_levels import FULL, moving_case
from tunax_lite import Case, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.closures import (
    KPP,
    ConstantDiffusivity,
    KEpsilonTheta,
    MassFluxConvection,
    PacanowskiPhilander,
)
from tunax_lite.column.budgets import StepBudget, quantities
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.column.integrate import start_of
from tunax_lite.column.model import batched_case
from tunax_lite.column.terms import BottomFriction, BottomHeat, BuoyancyGradient, Interior, LidFriction
from tunax_lite.column.terms.interior import Relaxation, RelaxationTarget
from tunax_lite.column.terms.pressure import HorizontalGradient, MeanVelocity, Vector
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.column.trajectory import Restart
from tunax_lite.ice import Winton

DT = 900.0
SIMPLE = PacanowskiPhilander()
lasting = TimeSeries.constant


def full_case() -> Case:
    """All surface fluxes, and terms of every kind below: implicit, explicit, that set or move something."""
    case, n = CASES["everything"], CASES["everything"].grid.n_cells
    pull = RelaxationTarget(lasting(jnp.full(n, 0.1)), jnp.full(n, 1e-5))
    interior = Interior(
        relaxation=Relaxation(temperature=pull, u=pull, v=pull),
        bottom_friction=BottomFriction(),
        bottom_heat=BottomHeat(5.0),
        lid_friction=LidFriction(),
        pressure_gradient=MeanVelocity(lasting(Vector(0.2, 0.1))),
        buoyancy_gradient=BuoyancyGradient(lasting(HorizontalGradient(*[jnp.full(n, 1e-7)] * 4)), True, True),
        surface_elevation=TimeSeries(jnp.array([0.0, 1e6]), jnp.array([0.0, 50.0])),
    )
    return dataclasses.replace(case, interior=interior)


def raining(streams: str) -> Case:
    given, fresh = FULL[streams]
    case = moving_case(given, freshwater_flux=fresh, heat_flux=-200.0)
    return eqx.tree_at(lambda one: one.initial_state.u, case, jnp.linspace(0.0, 0.2, 16))


STEPS = {
    "all terms": (Model(SIMPLE), full_case()),
    "as in GOTM": (Model(SIMPLE, discretisation=GotmDiscretisation()), full_case()),
    "centered in time": (Model(SIMPLE, theta=0.5), CASES["everything"]),
    "non-local": (Model(KPP()), CASES["everything"]),
    "against the gradient": (Model(KEpsilonTheta()), CASES["cooling"]),
    "plumes in a lake with streams": (Model(MassFluxConvection()), raining("drought")),
    "rain on a lake": (Model(SIMPLE), raining("rain")),
    "ice": (Model(SIMPLE), icy(Winton())),
}


@pytest.mark.parametrize("name", some_long(STEPS, lambda name: name != "all terms"))
def test_the_terms_of_a_step_sum_to_the_change_of_every_content(name):
    model, case = STEPS[name]
    case = batched_case(model, case)

    @jax.jit
    def step(start: Restart):
        time = start.step.astype(float) * DT
        stepped = model.stepped(start.state, start.clo_state, case, time, DT)
        budget = StepBudget.of(stepped, start, case, DT)
        contents = {of: budget.contents(of) for of in quantities(start.state)} | {"": budget.energy()}
        tendencies = {of: budget.tendencies(of) for of in quantities(start.state)}
        return Restart(stepped.state, stepped.clo_state, start.step + 1), contents, tendencies

    now = start_of(model, case)
    for _ in range(4):
        before, (now, contents, tendencies) = now, step(now)
        for of, terms in contents.items():
            storage = terms.pop("storage")
            largest = max(map(abs, [storage, *terms.values()]))
            # A hundred roundings of the content of some 20 m, and of the terms.
            values = before.state.u**2 + before.state.v**2 if not of else quantities(before.state)[of]
            content = 20.0 * float(jnp.max(jnp.abs(values)))
            assert abs(storage - sum(terms.values())) <= 2e-14 * (content / DT + largest), of
        for of, terms in tendencies.items():
            old, new = (np.asarray(quantities(end.state)[of]) for end in (before, now))
            rounding = 1e-13 * (np.abs(new).max() / DT + max(np.abs(term).max() for term in terms.values()))
            np.testing.assert_allclose(sum(terms.values()), (new - old) / DT, rtol=0.0, atol=rounding)


def windy_case(**fluxes) -> Case:
    """Twenty metres without rotation."""
    grid = Grid.uniform(20.0, 10)
    given = {"stress_u": 0.1, "heat_flux": -300.0, "shortwave_flux": 100.0, "freshwater_flux": 1e-4} | fluxes
    state = State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z, salinity=35.0)
    return Case(grid, state, ConstantForcing(SurfaceFluxes(**given)))


@pytest.mark.long
def test_means_are_those_of_the_steps_and_terms_are_what_the_forcing_gives():
    case, model, names = windy_case(), Model(SIMPLE), ("budgets", "surface_freshwater_flux", "heat_content")
    every = simulate(model, case, dt=DT, duration=8 * DT, output_interval=DT, means=names)
    rarely = simulate(model, case, dt=DT, duration=8 * DT, output_interval=4 * DT, means=names)
    assert every.means is not None and rarely.means is not None
    of_steps, means = every.means.others, rarely.means.others
    assert set(means) == set(of_steps) and not any(name.startswith("dye") for name in means)
    for name, values in means.items():
        # Means of numbers of one sign and size: a few roundings of the largest.
        expected = np.asarray(of_steps[name])[1:].reshape(2, 4).mean(axis=1)
        np.testing.assert_allclose(values[1:], expected, rtol=0.0, atol=1e-14 * np.abs(of_steps[name]).max())
    np.testing.assert_allclose(means["heat_budget_surface_exchange"][1:], -300.0, rtol=1e-14)
    # Water 20 m deep lets the bottom absorb the rest: all radiation stays in the column.
    np.testing.assert_allclose(means["heat_budget_shortwave_heating"][1:], 100.0, rtol=1e-14)
    np.testing.assert_allclose(means["surface_freshwater_flux"], 1e-4, rtol=1e-14)
    salinity, u = np.asarray(every.state.salinity)[:, -1], np.asarray(every.state.u)[:, -1]
    diluted = -1e-3 * 1e-4 * salinity[:-1]
    np.testing.assert_allclose(of_steps["salt_budget_surface_exchange"][1:], diluted, rtol=1e-13)
    work = 0.1 * 0.5 * (u[1:] + u[:-1])
    np.testing.assert_allclose(of_steps["kinetic_energy_budget_surface_exchange"][1:], work, rtol=1e-12)
    # Without rotation, what the wind does not leave as kinetic energy is lost to mixing.
    density, squared = case.equation_of_state.reference_density, np.asarray(rarely.state.u) ** 2
    stored = np.diff(0.5 * float(density) * 2.0 * squared.sum(axis=1)) / (4 * DT)
    lost = np.asarray(means["kinetic_energy_budget_mixing"])[1:]
    assert np.all(lost < 0.0)
    np.testing.assert_allclose(stored, work.reshape(2, 4).mean(axis=1) + lost, rtol=1e-11)
    assert not np.asarray(means["heat_budget_surface_exchange"])[0].any()  # no step before the first frame
    with error_naming(ValueError, "salt_bugdet budgets"):
        simulate(model, case, means=("salt_bugdet",))


@pytest.mark.long  # of one column: above
def test_a_batch_has_the_means_of_its_columns_and_a_depth_without_base_does_not_stay():
    both = windy_case(heat_flux=jnp.asarray([-300.0, 200.0]), shortwave_flux=jnp.asarray(0.0))
    # The first column is mixed to the bottom, the second warms at once.
    mixed = jnp.stack([jnp.full(10, 15.0), jnp.linspace(15.0, 15.19, 10)], axis=-1)
    both = eqx.tree_at(lambda case: case.initial_state.temperature, both, mixed)
    model, names = (
        Model(ConstantDiffusivity(1e-2, 1e-5)),
        ("budgets", "tendencies", "mixed_layer_depth_0.2K_from_0m"),
    )
    options = {"dt": DT, "duration": 12 * DT, "output_interval": 6 * DT, "means": names}
    whole, blocks = (simulate(model, both, **options, column_block=block) for block in (None, 1))
    assert whole.means is not None and blocks.means is not None
    found = whole.means.others
    assert all(values.shape[-1] == 2 for values in found.values())
    for name, values in blocks.means.others.items():
        np.testing.assert_allclose(values, found[name], rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(found["heat_budget_storage"][1:], [[-300.0, 200.0]] * 2, rtol=1e-9)
    heat = both.equation_of_state.reference_density * both.equation_of_state.heat_capacity
    gained = heat * 2.0 * sum(np.asarray(found[name]).sum(axis=1) for name in found if "ature_tend" in name)
    np.testing.assert_allclose(gained[1:], [[-300.0, 200.0]] * 2, rtol=1e-9)
    depths = np.asarray(found["mixed_layer_depth_0.2K_from_0m"])
    assert np.isnan(depths[0]).all() and np.isfinite(depths[1:, 1]).any()
