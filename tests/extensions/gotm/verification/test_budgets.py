"""Heat and salt of measured cases over their whole time: what the column gains is what came in."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from tests.conftest import find_gotm_case
from tunax_lite import Case, Model
from tunax_lite._types import Scalar
from tunax_lite.column.forcing import WaterSurface
from tunax_lite.column.integrate import start_of
from tunax_lite.column.state import State
from tunax_lite.extensions.gotm import build_gotm, load_gotm


class Gains(NamedTuple):
    """Sums over the steps, per area [W m-2 s for heat, g kg-1 m for salt]."""

    surface_heat: Scalar
    shortwave: Scalar
    shortwave_through_bottom: Scalar
    heat_relaxation: Scalar
    surface_salt: Scalar
    salt_relaxation: Scalar

    def add(self, gains: "Gains") -> "Gains":
        return Gains(*(old + new for old, new in zip(self, gains, strict=True)))


def gains_of_step(case: Case, before: State, after: State, end, dt) -> Gains:
    """What a step brings: fluxes of the old surface at the end of the step, relaxation of the new values."""
    thickness = case.grid.cell_thickness
    eos, targets = case.equation_of_state, case.interior.relaxation
    fluxes = case.forcing.at(end, WaterSurface.of(before))
    assert fluxes.heat_flux is not None and fluxes.shortwave_flux is not None
    zero = jnp.zeros(())
    pulls = {"temperature": zero, "salinity": zero}
    for name in pulls:
        target = getattr(targets, name, None)
        if target is not None:
            missing = target.profiles.at(end) - getattr(after, name)
            pulls[name] = jnp.sum(target.rate * missing * thickness)
    rain = zero if fluxes.freshwater_flux is None else fluxes.freshwater_flux
    gains = Gains(
        surface_heat=fluxes.heat_flux,
        shortwave=fluxes.shortwave_flux,
        shortwave_through_bottom=-fluxes.shortwave_flux * case.absorption.fraction(case.grid.z_face[:1])[0],
        heat_relaxation=eos.reference_density * eos.heat_capacity * pulls["temperature"],
        surface_salt=-before.salinity[-1] * rain / eos.reference_density,
        salt_relaxation=pulls["salinity"],
    )
    return jax.tree.map(lambda rate: dt * rate, gains)


@eqx.filter_jit
def summed(model: Model, case: Case, dt: float, n_steps: int) -> tuple[State, State, Gains, Gains]:
    """First and last state of a run made by `Model.step`; what all steps brought, and the sum of its size."""
    start = start_of(model, case)

    def step(carried, number):
        before, clo_state, net, gross = carried
        time = number * dt
        after, clo_state = model.step(before, clo_state, case, time, jnp.asarray(dt))
        gains = gains_of_step(case, before, after, time + dt, dt)
        sizes = jax.tree.map(jnp.abs, gains)
        return (after, clo_state, net.add(gains), gross.add(sizes)), None

    nothing = Gains(*(jnp.zeros(()) for _ in Gains._fields))
    first = (start.state, start.clo_state, nothing, nothing)
    (last, _, net, gross), _ = jax.lax.scan(step, first, jnp.arange(n_steps, dtype=float))
    return start.state, last, net, gross


SHALLOW = (
    *("temperature.relax.tau=1e6", "location.depth=30."),
    *("surface.precip.flux_impact=true", "surface.calc_evaporation=true"),
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "overrides"),
    [("ows_papa/ows_papa_meteo", SHALLOW), ("nns_annual/nns_annual", ())],
    ids=["shallow Papa with rain and relaxed heat", "North Sea"],
)
def test_heat_and_salt_of_a_year(name, overrides):
    run = build_gotm(load_gotm(find_gotm_case(f"{name}.gotm.yaml"), overrides)).run
    assert run is not None
    case, eos = run.case.unlabelled(), run.case.equation_of_state
    n_steps = round(run.case.duration / run.dt)
    first, last, net, gross = summed(run.model, case, run.dt, n_steps)
    warmer, saltier = last.temperature - first.temperature, last.salinity - first.salinity
    heat = eos.reference_density * eos.heat_capacity * jnp.sum(case.grid.cell_thickness * warmer)
    salt = jnp.sum(case.grid.cell_thickness * saltier)
    heat_error, salt_error = abs(heat - sum(net[:4])), abs(salt - sum(net[4:]))
    assert heat_error < 1e-10 * abs(heat)
    # The salt ends almost where it began: only what came and went has a size.
    assert salt_error < 1e-10 * sum(gross[4:])
    if overrides:
        assert all(size > 0.0 for size in gross)
