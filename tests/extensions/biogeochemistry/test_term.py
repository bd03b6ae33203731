"""Models in a column: sinking, light, rain, bottom, batches, and wrong input."""

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming, missing_from
from tests.extensions.biogeochemistry.columns import DEPTH, N_CELLS, column, windy
from tests.verification.test_lake_levels import moving_case, ran, volumes
from tests.verification.test_lakes import river
from tunax_lite.column.terms.advection import AdvectionScheme
from tunax_lite.extensions import biogeochemistry as bgc
from tunax_lite.extensions.biogeochemistry import schemes
from tunax_lite.ice import Winton

DAY = 86400.0
MIXED = tl.Model(tl.ConstantDiffusivity(1e-3, 1e-3))
STILL = tl.Model(tl.ConstantDiffusivity(0.0, 0.0), molecular_tracer_diffusivity=0.0)
DARK = tl.ConstantForcing(tl.SurfaceFluxes())


def after_hours(term, forcing=None, model=MIXED, dt=600.0, **values) -> tl.State:
    return tl.simulate(model, column(term, forcing, **values), dt=dt, output_interval=3600.0).state


def test_a_tracer_sinks_by_its_speed_and_stays_at_the_bottom():
    term = bgc.Biogeochemistry({"m": bgc.Passive(vertical_velocity=-10.0)}, sinking=AdvectionScheme.UPSTREAM)
    case = column(term, DARK, m_c=jnp.zeros(N_CELLS).at[-1].set(1.0))
    run = tl.simulate(STILL, case, dt=600.0, duration=16 * DAY, output_interval=DAY / 4)
    z, values = case.grid.z_center, np.asarray(run.state.tracers["m_c"])
    height = values @ np.asarray(z) / values.sum(axis=1)
    # The flux of the upstream scheme carries the center of mass exactly, until some reaches the bottom.
    np.testing.assert_allclose(height[:3], height[0] - 2.5 * np.arange(3), atol=1e-3)
    np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=1e-13)
    assert values[-1, 0] > 0.999 and np.all(values >= 0.0)


@pytest.mark.long
def test_a_step_in_which_a_pool_sinks_through_more_than_a_cell_is_an_error():
    term = bgc.Biogeochemistry({"m": bgc.Passive(vertical_velocity=-300.0)})
    with error_naming(ValueError, "m_c 2.5 cells 3600 n_sinking_substeps 3"):
        after_hours(term, DARK, STILL, dt=3600.0)
    enough = after_hours(dataclasses.replace(term, n_sinking_substeps=3), DARK, STILL, dt=3600.0)
    assert np.all(np.asarray(enough.tracers["m_c"]) >= 0.0)


@pytest.mark.long
def test_pools_shade_the_water_below_by_beer_and_lambert():
    term = bgc.Biogeochemistry({"m": bgc.Passive(specific_light_attenuation=0.02)}, shading=True)
    case = column(term, m_c=3.0)
    shade = term.shade(case.start_state, case.grid)
    assert shade is not None
    np.testing.assert_allclose(shade, np.exp(0.06 * np.asarray(case.grid.z_face)), rtol=1e-14)
    z = case.grid.z_face
    expected = case.absorption.infrared(z) + case.absorption.visible(z) * jnp.exp(0.06 * z)
    np.testing.assert_allclose(case.absorption.transmission(case.grid, shade)[1:], expected[1:], rtol=1e-14)
    clear, turbid = (after_hours(dataclasses.replace(term, shading=on), m_c=3.0) for on in (False, True))
    warmer = np.asarray(turbid.temperature[-1] - clear.temperature[-1])
    assert warmer[-1] > 1e-4 and warmer[0] < 0.0


@pytest.mark.long
def test_light_at_the_centers_is_that_of_the_cells_above():
    seen = {}

    class Eye(bgc.AbstractBiogeochemicalModel):
        def pools(self):
            return (bgc.Pool("c", "1", "eye", 2.0),)

        def attenuation(self, pools):
            return 0.05 * pools["c"]

        def rates(self, pools, environment) -> bgc.Exchanges:
            seen["light"] = environment
            return {}

    case = column(bgc.Biogeochemistry({"m": Eye()}, scheme=schemes.Euler()), windy(shortwave=200.0))
    with jax.disable_jit():
        MIXED.step(case.start_state, MIXED.init(case), case, 0.0, 60.0)
    z = np.asarray(case.grid.z_center)
    entering = float(seen["light"].shortwave)
    expected = entering * np.asarray(case.absorption.visible(case.grid.z_center)) * np.exp(0.1 * z)
    np.testing.assert_allclose(seen["light"].light, expected, rtol=1e-12)


@pytest.mark.long
def test_implicit_dilution_takes_from_what_is_left():
    falling = bgc.Passive(vertical_velocity=-12.0)
    term = bgc.Biogeochemistry({"still": bgc.Passive(), "falling": falling}, implicit_dilution=True)
    flux, dt = 1.0, 3600.0
    case = column(term, tl.ConstantForcing(tl.SurfaceFluxes(freshwater_flux=flux)))
    end = tl.simulate(STILL, case, dt=dt, duration=dt, output_interval=dt).state.tracers
    thickness = DEPTH / N_CELLS
    rain = dt * flux / case.equation_of_state.reference_density / thickness
    fallen = 1.0 - 12.0 * dt / 86400.0 / thickness
    np.testing.assert_allclose(end["still_c"][-1, -1], 1.0 / (1.0 + rain), rtol=1e-12)
    np.testing.assert_allclose(end["falling_c"][-1, -1], fallen / (1.0 + rain / fallen), rtol=1e-12)
    np.testing.assert_allclose(end["still_c"][-1, :-1], 1.0, rtol=1e-13)


@pytest.mark.long
def test_a_batch_is_a_loop_over_its_columns():
    term = bgc.Biogeochemistry(
        {"npzd": bgc.NPZD(), "carbon": bgc.Carbonate(), "e": bgc.Ergom(fluff=True)},
        couplings=("npzd_dic = carbon_dic",),
        shading=True,
    )
    cases = [column(term, windy(shortwave=s), npzd_phy=p) for s, p in ((100.0, 0.5), (250.0, 2.0))]
    run = lambda case: tl.simulate(MIXED, case, dt=600.0, output_interval=3600.0).state  # noqa: E731
    together = run(tl.stack_cases(cases))
    for i, case in enumerate(cases):
        alone = run(case)
        for name, values in (alone.tracers | alone.surface).items():
            of_batch = (together.tracers | together.surface)[name][..., i]
            # Sums of light are taken in another order in a batch.
            np.testing.assert_allclose(of_batch, values, rtol=1e-11, atol=1e-13, err_msg=name)


def test_plankton_takes_carbon_from_a_coupled_pool_and_ph_follows():
    term = bgc.Biogeochemistry(
        {"npzd": bgc.NPZD(), "carbon": bgc.Carbonate()},
        couplings=("npzd_dic = carbon_dic",),
        kept=("carbon_pH",),
    )
    case = column(term, windy(wind=0.0), npzd_phy=1.0)
    run = tl.simulate(MIXED, case, dt=600.0, output_interval=6 * 3600.0).state
    pools = ("npzd_nut", "carbon_dic")
    nutrients, carbon = (float(jnp.sum(run.tracers[name][-1] - run.tracers[name][0])) for name in pools)
    # Without wind no carbon leaves. It follows the nutrients by 106 / 16, up to the weights of the scheme, in
    # which the two pools differ.
    assert carbon == pytest.approx(106.0 / 16.0 * nutrients, rel=2e-3) and nutrients < 0.0
    temperature, salinity, eos = run.temperature[-1], run.salinity[-1], case.equation_of_state
    density = eos.density(temperature, salinity, eos.above_sea_level(case.grid.z_center))
    alkalinity = 1e-6 * (520.1 + 51.24 * salinity)
    dissolved = 1e-3 * run.tracers["carbon_dic"][-1] / density
    expected = bgc.equilibrium(dissolved, alkalinity, temperature, salinity).ph
    # Nothing but its water and pools changes it, so that mixing does not.
    np.testing.assert_allclose(run.tracers["carbon_pH"][-1], expected, rtol=1e-13)
    assert 7.5 < float(expected.min()) < float(expected.max()) < 8.5


def test_wrong_settings_are_errors():
    for changes, parts in (
        ({"models": {}}, "models none"),
        ({"kept": ("npzd_pH",)}, "profiles npzd_PAR npzd_pH"),
        ({"couplings": ("npzd_dic = ocean_dic",)}, "npzd_dic ocean_dic npzd_nut"),
        ({"couplings": ("npzd_light = npzd_nut",)}, "npzd_light npzd_dic"),
        ({"initial": {"npzd_plankton": 1.0}}, "npzd_plankton npzd_phy"),
        ({"initial": {"npzd_phy": -1.0}}, "npzd_phy -1 mmol"),
        ({"n_substeps": 0}, "n_substeps 1 0"),
    ):
        with error_naming(ValueError, parts):
            bgc.Biogeochemistry(**({"models": {"npzd": bgc.NPZD()}} | changes))  # pyright: ignore[reportArgumentType]
    with error_naming(ValueError, "wind weather"):
        after_hours(bgc.Biogeochemistry({"carbon": bgc.Carbonate()}), DARK)
    term = bgc.Biogeochemistry({"npzd": bgc.NPZD()})
    case = column(term)
    bare = dataclasses.replace(case, initial_state=dataclasses.replace(case.initial_state, tracers={}))
    with error_naming(ValueError, "npzd_det npzd_nut with_pools"):
        tl.simulate(MIXED, bare, dt=600.0, output_interval=3600.0)
    with error_naming(ValueError, "npzd_plankton npzd_phy"):
        term.with_pools(case.initial_state, {"npzd_plankton": 1.0})


def in_a_lake(term: bgc.Biogeochemistry) -> tl.Case:
    case = column(term, npzd_phy=0.5, npzd_zoo=0.2)
    return dataclasses.replace(case, grid=case.grid.with_hypsography([-DEPTH, -10.0, 0.0], [0.0, 5e5, 1e6]))


@pytest.mark.long
@pytest.mark.parametrize("open_bottom", [False, True])
def test_a_lake_keeps_what_does_not_settle(open_bottom):
    term = bgc.Biogeochemistry(
        {"npzd": bgc.NPZD(w_p=0.0, w_d=-100.0)}, open_bottom=open_bottom, n_sinking_substeps=2
    )
    case, model = in_a_lake(term), tl.Model(tl.PacanowskiPhilander())
    run = tl.simulate(model, case, dt=1800.0, duration=43200.0, output_interval=1800.0)
    roots = np.interp(np.linspace(-DEPTH, 0.0, N_CELLS + 1), [-DEPTH, -10.0, 0.0], np.sqrt([0.0, 5e5, 1e6]))
    volume = DEPTH / N_CELLS / 3.0 * (roots[1:] ** 2 + roots[1:] * roots[:-1] + roots[:-1] ** 2)
    pools = {name: np.asarray(run.state.tracers[f"npzd_{name}"]) for name in ("nut", "phy", "zoo", "det")}
    content = np.sum([values @ volume for values in pools.values()], axis=0)
    assert all(np.min(values) >= 0.0 for values in pools.values())
    if open_bottom:
        # Less in each step than what is in the water, and some in each.
        assert np.all(np.diff(content) < 0.0) and content[-1] > 0.5 * content[0]
    else:
        np.testing.assert_allclose(content, content[0], rtol=1e-13)
        totals = term.totals(run.state.tracers, run.state.surface, case.grid)["nitrogen"]
        np.testing.assert_allclose(np.asarray(totals) * 1e6, content, rtol=1e-13)


@pytest.mark.long
def test_the_nitrogen_of_a_lake_whose_level_moves_is_what_its_rivers_bring():
    term = bgc.Biogeochemistry({"npzd": bgc.NPZD(w_d=-20.0)})
    brought = {"npzd_nut": 40.0, "npzd_det": 2.0}
    streams = {"a": river(3.0, "surface"), "b": river(5.0, "bottom", tracers=brought)}
    case = moving_case(streams, freshwater_flux=2e-3, shortwave_flux=150.0)
    state = term.with_pools(case.initial_state, {"npzd_phy": 0.5, "npzd_zoo": 0.2})
    case = dataclasses.replace(case, initial_state=state, terms={"life": term})
    run = ran(case)
    cells = volumes(case, run)[:, :-1]
    pools = [np.asarray(of) for name, of in run.state.tracers.items() if name.startswith("npzd_")]
    content = np.sum(cells * np.sum(pools, axis=0), axis=1)
    assert abs(float(run.state.surface["surface_elevation"][-1])) > 0.05
    expected = content[0] + 5.0 * sum(brought.values()) * np.asarray(run.time)
    np.testing.assert_allclose(content, expected, rtol=1e-12)
    with error_naming(ValueError, "streams dye phosphate"):
        ran(moving_case({"b": river(5.0, "bottom", tracers={"phosphate": 1.0})}))


@pytest.mark.long
def test_gases_stay_below_ice_and_where_nothing_passes_the_surface():
    ends = {}
    for thickness, exchange in ((0.0, True), (0.0, False), (0.5, True)):
        term = bgc.Biogeochemistry({"gas": bgc.Oxygen()}, dilution=False, surface_exchange=exchange)
        case = column(term, gas_oxy=100.0)
        cold = dataclasses.replace(case.initial_state, temperature=jnp.full(N_CELLS, -1.9))
        case = dataclasses.replace(case, initial_state=cold, ice=Winton(initial_thickness=thickness))
        run = tl.simulate(MIXED, case, dt=600.0, duration=DAY, output_interval=DAY)
        assert (float(run.state.surface["ice_thickness"][-1]) > 0.1) == (thickness > 0.0)
        ends[thickness, exchange] = np.asarray(run.state.tracers["gas_oxy"][-1])
    assert np.mean(ends.pop((0.0, True))) > 101.0
    for values in ends.values():
        np.testing.assert_allclose(values, 100.0, rtol=1e-13)


@pytest.mark.long
def test_the_bottom_of_a_lake_exchanges_nothing():
    term = bgc.Biogeochemistry({"npzd": bgc.NPZD(), "old": bgc.Age(since="bottom")})
    with error_naming(ValueError, "lake bottom old Age hypsography"):
        tl.simulate(MIXED, in_a_lake(term), dt=600.0, output_interval=3600.0)


MISTAKES = {
    """Life({"npzd": NPZD})""": "models class NPZD NPZD(...)",
    """Life(NPZD())""": "models {'mine': NPZD()}",
    """Life({"npzd": "npzd"})""": "models npzd NPZD",
    """Life(one, scheme=Euler)""": "scheme class Euler",
    """Life(one, sinking="upwind")""": "sinking p2_pdm upwind",
    """Life(one, shading="no")""": "shading True False no",
    """Life(one, kept="npzd_PAR")""": "kept list npzd_PAR",
    """life.with_pools(water, {"npzd_phy": np.ones(7)})""": "npzd_phy 8 cells 7 grid.z_center",
    """life.with_pools(water, {"npzd_phy": -0.1})""": "npzd_phy 0 mmol m-3 -0.1",
    """tl.Case(grid, water, forcing, terms={"life": NPZD()})""": "terms NPZD Biogeochemistry",
    """tl.Case(grid, water, forcing, terms=[life])""": "terms {'mine': Biogeochemistry()} list",
}
PROGRAM = """
import numpy as np, tunax_lite as tl
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry as Life
from tunax_lite.extensions.biogeochemistry.schemes import Euler

grid = tl.Grid.uniform(depth=50.0, n_cells=8)
water, forcing = tl.State.from_profiles(grid, temperature=20.0), tl.ConstantForcing(tl.SurfaceFluxes())
one = {"npzd": NPZD()}
life = Life(one)
for call in (
    %s
):
    try:
        call()
    except (TypeError, ValueError) as error:
        print(" ".join(str(error).split()))
"""


@pytest.mark.long
def test_mistakes_of_python_are_one_sentence_before_the_run():
    program = PROGRAM % "\n    ".join(f"lambda: {call}," for call in MISTAKES)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    for (call, parts), said in zip(MISTAKES.items(), done.stdout.splitlines(), strict=True):
        assert "expected" in said and "got" in said and not missing_from(said, parts), (call, said)


def test_profiles_of_pools_are_those_of_the_cells_in_every_column():
    term, profile = bgc.Biogeochemistry({"npzd": bgc.NPZD()}), jnp.arange(8.0)
    state = column(term).initial_state
    given = {"npzd_phy": profile, "npzd_zoo": jnp.stack([profile, profile], axis=1), "npzd_det": 1.0}
    one = term.with_pools(state, given).tracers
    both = term.with_pools(state.broadcast((2,)), given).tracers
    for i in range(2):
        for found in (one["npzd_phy"], one["npzd_zoo"][:, i], both["npzd_phy"][:, i], both["npzd_zoo"][:, i]):
            np.testing.assert_array_equal(found, profile)
    assert one["npzd_det"].dtype == state.temperature.dtype and both["npzd_det"].shape == (8, 2)
