"""Carbonate chemistry of any water, and gases under any air pressure."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.extensions.biogeochemistry.columns import environment
from tunax_lite.extensions.biogeochemistry import BFM17, Biogeochemistry, Carbonate, Ergom, Oxygen
from tunax_lite.extensions.biogeochemistry.carbonate import Constants, equilibrium

PYCO2SYS = {
    # (carbon, alkalinity [umol kg-1], degC, g kg-1): pH, pCO2 [uatm] of PyCO2SYS 1.8.3.4 with
    # opt_pH_scale=2,
    # opt_k_carbonic=8 (fresh water) up to a salinity of 0.2 and 14 (Millero, 2010) from 1,
    # total_borate=412.8 * salinity / 35.
    (300.0, 800.0, 20.0, 0.0): (10.6486, 0.15),
    (100.0, 5.0, 20.0, 0.0): (5.3841, 2328.29),
    (1000.0, 950.0, 20.0, 0.0): (7.6420, 1332.83),
    (1000.0, 950.0, 20.0, 0.2): (7.6420, 1332.83),
    (2000.0, 2250.0, 0.0, 1.0): (9.3786, 27.42),
    (1500.0, 1600.0, 15.0, 5.0): (8.4582, 160.74),
    (1800.0, 1900.0, 5.0, 15.0): (8.2289, 244.25),
    (2100.0, 2330.0, 10.0, 35.0): (8.1349, 315.91),
    (2000.0, 2250.0, 25.0, 40.0): (7.8963, 554.30),
}


def test_ph_and_pressure_are_those_of_pyco2sys_from_fresh_to_salt_water():
    carbon, alkalinity, temperature, salinity = jnp.asarray(list(PYCO2SYS)).T
    found = equilibrium(1e-6 * carbon, 1e-6 * alkalinity, temperature, salinity)
    ph, pressure = np.asarray(list(PYCO2SYS.values())).T
    # At a salinity of 0.2 a tenth of the effect of sea salt acts; boric acid is on the total scale, 0.003.
    np.testing.assert_allclose(found.ph, ph, atol=0.01)
    # PyCO2SYS subtracts what carbon dioxide is less ideal than a perfect gas, 0.3 to 0.4 %.
    np.testing.assert_allclose(1e6 * np.asarray(found.pressure), pressure, rtol=0.015, atol=0.005)


def test_every_carbon_and_alkalinity_has_one_ph():
    random = np.random.default_rng(3)
    carbon = np.append(10.0 ** random.uniform(-7.0, -1.0, 2000), 0.0)
    alkalinity = random.choice([-1.0, 1.0], 2001) * 10.0 ** random.uniform(-7.0, -1.0, 2001)
    salinity, temperature = random.uniform(0.0, 50.0, (2, 2001))
    water = jnp.asarray(temperature), jnp.asarray(salinity)
    found, constants = equilibrium(jnp.asarray(carbon), jnp.asarray(alkalinity), *water), Constants.of(*water)
    assert constants.water is not None
    borate = constants.boron / (1.0 + found.hydrogen / constants.boric)
    water = constants.water / found.hydrogen - found.hydrogen
    residual = found.bicarbonate + 2.0 * found.carbonate + borate + water - alkalinity
    scale = carbon + np.abs(alkalinity) + borate + np.abs(water)
    assert np.max(np.abs(residual) / scale) < 1e-12
    total = found.carbonic_acid + found.bicarbonate + found.carbonate
    np.testing.assert_allclose(total, carbon, rtol=1e-9)
    assert np.all(np.isfinite(found.pressure)) and np.min(found.pressure) >= 0.0


def test_pml_limits_ph_where_the_alkalinity_has_no_root():
    carbon, temperature, salinity = jnp.full(2, 2e-3), jnp.full(2, 10.0), jnp.full(2, 35.0)
    limited = equilibrium(carbon, jnp.array([5e-3, -1e-4]), temperature, salinity, "pml")
    np.testing.assert_allclose(limited.ph, [14.0, 1.0], rtol=1e-12)
    assert np.isfinite(limited.pressure).all()


@pytest.mark.parametrize("model", [Carbonate(alk_param=False), Oxygen(), Ergom(), BFM17()])
def test_derivatives_of_gases_are_finite_and_right_in_fresh_water(model):
    around = environment(salinity=jnp.zeros(3), air_pressure=jnp.asarray(9e4)).cell(-1)
    pools = {pool.name: jnp.asarray(pool.initial or 0.5) for pool in model.pools()}

    def inflow(salinity):
        flux = model.through_surface(pools, around._replace(salinity=jnp.asarray(salinity)))
        return sum(of for (source, _), of in flux.items() if source is None)

    slope = float(jax.grad(inflow)(jnp.asarray(0.0)))
    # From zero upwards, since there is nothing below.
    one_sided = (-3.0 * inflow(0.0) + 4.0 * inflow(1e-3) - inflow(2e-3)) / 2e-3
    assert slope == pytest.approx(float(one_sided), rel=1e-2)


def _lake(model, pressure, salinity=0.0, **pools) -> tl.Case:
    life = Biogeochemistry({"m": model}, wind_speed=8.0, air_pressure=pressure)
    grid = tl.Grid.uniform(depth=2.0, n_cells=4)
    state = tl.State.from_profiles(grid, temperature=9.2, salinity=salinity)
    return tl.Case(
        grid,
        life.with_pools(state, pools),
        tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1)),
        terms={"life": life},
        duration=20 * 86400.0,
    )


@pytest.mark.parametrize(("pressure", "expected"), [(101325.0, 359.6), (70000.0, 247.2)])
def test_oxygen_comes_to_saturation_under_the_pressure_of_the_air(pressure, expected):
    """Garcia and Gordon (1992) times (P - e) / (1 atm - e), with e = 1.163 kPa at 9.2 degC."""
    case = _lake(Oxygen(), pressure, m_oxy=300.0)
    run = tl.simulate(
        tl.Model(tl.ConstantDiffusivity(0.1, 0.1)), case, dt=3600.0, output_interval=20 * 86400.0
    )
    assert float(run.state.tracers["m_oxy"][-1, -1]) == pytest.approx(expected, abs=0.5)


def test_carbon_dioxide_of_the_air_is_a_mole_fraction_in_dry_air():
    """420 ppm are 407 uatm at 25 degC and sea level: the vapour of Weiss and Price (1980) is 0.0313 atm."""
    warm = environment(temperature=jnp.full(3, 25.0), salinity=jnp.zeros(3))
    for pressure, expected in ((101325.0, 407.0), (70000.0, 420.0 * (0.6908 - 0.0313))):
        there = warm._replace(air_pressure=jnp.asarray(pressure))
        assert float(420.0 * jnp.ravel(there.dry_air())[-1]) == pytest.approx(expected, abs=0.3)


@pytest.mark.long
def test_gradients_of_a_run_in_fresh_water_are_finite():
    case = _lake(Carbonate(alk_param=False), 101325.0, m_dic=1000.0, m_alk=950.0)

    def end(both):
        closure, pressure = both
        changed = eqx.tree_at(lambda case: case.terms["life"].models["m"].pCO2a, case, pressure)
        run = tl.simulate(tl.Model(closure), changed, dt=600.0, duration=3600.0, output_interval=3600.0)
        return run.state.tracers["m_dic"][-1, -1]

    slopes = eqx.filter_grad(end)((tl.KEpsilon(), jnp.asarray(367.0)))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(slopes))
    difference = end((tl.KEpsilon(), jnp.asarray(368.0))) - end((tl.KEpsilon(), jnp.asarray(366.0)))
    assert float(slopes[1]) == pytest.approx(float(difference) / 2.0, rel=1e-6)
