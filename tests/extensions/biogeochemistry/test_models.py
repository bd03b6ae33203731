"""Every model: conserved, positive, differentiable; and rates and constants against other sources."""

import gsw
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.extensions.biogeochemistry.columns import column, environment
from tests.extensions.biogeochemistry.contract import check_model
from tests.helpers import central_difference
from tunax_lite import config as config  # names all models
from tunax_lite.declarations import names_of
from tunax_lite.extensions import biogeochemistry as bgc
from tunax_lite.extensions.biogeochemistry import schemes
from tunax_lite.extensions.biogeochemistry.carbonate import Constants
from tunax_lite.extensions.biogeochemistry.oxygen import oxygen_saturation, schmidt_number

NAMED = names_of(bgc.AbstractBiogeochemicalModel)
MODELS = {name: named.kind for name, named in NAMED.items() if not named.is_variant}
DAY = 86400.0


def filled(model: bgc.AbstractBiogeochemicalModel) -> dict[str, jax.Array]:
    values = {}
    for i, pool in enumerate(model.pools()):
        profile = 0.3 + 0.2 * jnp.arange(3.0) + 0.1 * i
        values[pool.name] = profile[0] if pool.on_bottom else profile
    return values


@pytest.mark.long
def test_exchanges_fit_the_declarations():
    """As published, the respiration of BFM17 does not ask for oxygen, and zooplankton excretes as it eats."""
    for name, kind in MODELS.items():
        check_model(kind(), used_up=("o2o", "z5n", "z5p") if name == "bfm17" else ())


def check_gradient(loss, vector: jax.Array) -> None:
    reverse = np.asarray(jax.jit(jax.grad(loss))(vector))
    weights = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1.5, vector.size)) * vector
    forward = float(jax.jit(lambda of: jax.jvp(loss, (of,), (weights,))[1])(vector))
    # Reverse and forward mode differ by round-off of the sum.
    assert abs(reverse @ weights - forward) <= 1e-9 * np.sum(np.abs(reverse * weights))
    along = jax.jit(jax.vmap(lambda i, x: loss(vector.at[i].set(x)), in_axes=(None, 0)))
    largest = np.max(np.abs(reverse * weights))
    for i, value in enumerate(np.asarray(vector)):
        scale = max(abs(value), 1e-3)
        expected = central_difference(lambda x, i=i: np.asarray(along(i, jnp.asarray(x))), value, scale)
        # Round-off of the loss, over the narrowest difference.
        allowed = 1e-6 * abs(expected.value) + 10.0 * expected.error + 1e-9 * largest / scale
        assert abs(reverse[i] - expected.value) <= allowed, i


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("bfm17", "passive", "age")])
def test_the_gradient_of_two_steps_by_every_parameter_is_that_of_finite_differences(name):
    leaves, of = jax.tree.flatten(MODELS[name]())
    scheme = schemes.ModifiedPatankar()
    start = {f"m_{pool}": values for pool, values in filled(MODELS[name]()).items()}

    def loss(numbers):
        term, pools = bgc.Biogeochemistry({"m": jax.tree.unflatten(of, list(numbers))}), start
        for _ in range(2):
            pools = scheme.step(term.reactions(environment(), tl.Grid.uniform(30.0, 3)), pools, 3600.0)
        return sum(jnp.mean((values - start[name]) ** 2) for name, values in pools.items())

    check_gradient(loss, jnp.asarray([float(leaf) for leaf in leaves]))


@pytest.mark.study
@pytest.mark.parametrize("n_steps", [500])
def test_the_gradient_of_a_column_is_that_of_finite_differences(n_steps):
    model, dt = tl.Model(tl.KEpsilon()), 600.0
    leaves, of = jax.tree.flatten({name: kind() for name, kind in MODELS.items()})
    sunny = tl.SurfaceFluxes(shortwave_flux=150.0, freshwater_flux=1e-5)

    def loss(numbers):
        term = bgc.Biogeochemistry(jax.tree.unflatten(of, list(numbers)), wind_speed=8.0)
        case = column(term, tl.ConstantForcing(sunny))
        run = tl.simulate(model, case, dt=dt, duration=n_steps * dt, output_interval=n_steps * dt)
        # Relative changes: differences of large constants are all round-off.
        change = [(values[-1] - values[0]) / (1.0 + values[0]) for values in run.state.tracers.values()]
        return sum(jnp.mean(values**2) for values in change)

    check_gradient(loss, jnp.asarray([float(leaf) for leaf in leaves]))


NPZD_POOLS = ("nut", "phy", "zoo", "det")


def check_rates(rates, expected) -> None:
    """Rates [s-1] against numbers per day."""
    assert rates.keys() == expected.keys()
    for pair, value in expected.items():
        assert float(rates[pair][0]) * DAY == pytest.approx(value, rel=1e-12), pair


def test_npzd_rates_at_one_point():
    """Rates by hand, for N = 2, P = 1, Z = 0.5, D = 3 at 50 W m-2 below 200 W m-2."""
    pools = {name: jnp.array([x]) for name, x in zip(NPZD_POOLS, (2.0, 1.0, 0.5, 3.0), strict=True)}
    around = environment(light=jnp.array([50.0]), surface_light=jnp.asarray(200.0))
    expected = {
        # I / I_opt = 50 / max(200 / 4, 25) = 1: growth at its maximum of 1 d-1; 2 / 2.3 of it, of P + 0.0225.
        ("nut", "phy"): 1.0 * 2.0 / 2.3 * 1.0225,
        ("phy", "zoo"): 0.5 * (1.0 - np.exp(-1.21)) * 0.5225,
        **{("phy", "nut"): 0.01, ("zoo", "nut"): 0.005, ("det", "nut"): 0.009},
        **{("phy", "det"): 0.02, ("zoo", "det"): 0.01},
    }
    check_rates(bgc.NPZD().rates(pools, around), expected)


def test_a_smooth_change_of_mortality_is_the_mean_at_the_threshold():
    pools = {"nut": jnp.zeros(3), "phy": jnp.ones(3), "zoo": jnp.zeros(3), "det": jnp.zeros(3)}
    around = environment(light=jnp.array([25.0, 1e3, 0.0]))
    deaths = lambda x: bgc.NPZD(transition=2.0, i_min=x).rates(pools, around)["phy", "det"] * DAY  # noqa: E731
    np.testing.assert_allclose(deaths(25.0), [0.06, 0.02, 0.1], rtol=1e-4)
    # d/di_min of (0.02 - 0.1) sigmoid((I - i_min) / 2) is 0.08 / 4 / 2 at I = i_min.
    gradient = jax.grad(lambda x: deaths(x)[0])(25.0)
    assert float(gradient) == pytest.approx(0.01, rel=1e-6)


def test_ergom_decay_uses_oxygen_then_nitrate_then_sulfate():
    model, pools = bgc.Ergom(), {pool.name: jnp.full(3, 0.5) for pool in bgc.Ergom().pools()}
    pools |= {
        "det": jnp.ones(3),
        "oxy": jnp.array([300.0, -300.0, -300.0]),
        "nit": jnp.array([5.0, 5.0, 0.0]),
    }
    rates = model.rates(pools, environment(light=jnp.zeros(3)))
    decay, reduced = np.asarray(rates["det", "amm"]), np.asarray(rates["nit", None])
    np.testing.assert_allclose(reduced / decay, [0.0, 5.3, 0.0], atol=0.01)
    assert np.asarray(rates["amm", "nit"])[0] > 0.0 and np.all(np.asarray(rates["amm", "nit"])[1:] == 0.0)


def test_constants_of_the_carbonate_system_have_their_published_values():
    """At 25 degC and S = 35: Dickson, Sabine and Christian (2007), chapter 5, and Weiss (1974)."""
    found = Constants.of(jnp.asarray(25.0), jnp.asarray(35.0))
    assert float(jnp.log(found.solubility)) == pytest.approx(-3.5617, abs=1e-4)
    assert float(jnp.log(found.boric)) == pytest.approx(-19.7964, abs=1e-4)


def test_oxygen_at_saturation_is_that_of_the_teos_10_library():
    """Garcia and Gordon (1992) give 274.610 umol kg-1 at 10 degC and S = 35."""
    assert float(oxygen_saturation(jnp.asarray(10.0), jnp.asarray(35.0))) == pytest.approx(274.610, abs=6e-4)
    t, s = np.meshgrid(np.linspace(-1.0, 35.0, 7), np.linspace(0.0, 40.0, 5))
    # That library converts the temperature to the scale of 1968, 0.007 K more at 30 degC.
    ours = oxygen_saturation(jnp.asarray(t), jnp.asarray(s))
    np.testing.assert_allclose(ours, gsw.O2sol_SP_pt(s, t), rtol=3e-4)


def test_the_schmidt_number_of_oxygen_is_568_at_20_degrees():
    """Wanninkhof (2014), table 1."""
    assert float(schmidt_number(jnp.asarray(20.0))) == pytest.approx(568.0, abs=1.0)


def two_pools(method, returned) -> bgc.AbstractBiogeochemicalModel:
    usual = {
        "pools": lambda *_: (
            bgc.Pool("nit", "mmol m-3", "nitrate", 8.0),
            bgc.Pool("alg", "mmol m-3", "algae", 0.1),
        ),
        "rates": lambda _, pools, around: {("nit", "alg"): 1e-5 * pools["nit"] * pools["alg"]},
    }
    changed = {method: lambda _, *given: returned(*given)}
    return type("Mine", (bgc.AbstractBiogeochemicalModel,), usual | changed)()


MISTAKES = [
    ("rates", lambda pools, _: {("nti", "alg"): pools["nit"]}, "Mine.rates nit alg nti"),
    ("rates", lambda pools, _: {"nit": pools["nit"]}, "Mine.rates source target nit"),
    ("rates", lambda pools, _: {("nit", "alg"): -pools["nit"]}, "rates nit alg 0"),
    ("rates", lambda pools, _: {("nit", "alg"): pools["nit"][1:]}, "rates nit alg cells"),
    ("rates", lambda pools, _: {("nit", "alg"): 1e-5 + 0.0 * pools["nit"]}, "loss nit alg"),
    ("rates", lambda pools, _: {("nit", "alg"): jnp.sqrt(pools["nit"])}, "derivative nit alg empty"),
    ("velocities", lambda pools, _: {"agl": -1e-5}, "Mine.velocities alg agl"),
    ("velocities", lambda pools, _: {"alg": jnp.ones(4)}, "velocity alg 4"),
    ("contents", lambda: {"nitrogen": {"nit": 1.0, "agl": 1.0}}, "Mine.contents alg agl"),
    ("contents", lambda: {"nitrogen": {"nit": 1.0, "alg": 2.0}}, "nitrogen nit alg 1 2"),
    ("through_surface", lambda pools, _: {(None, "oxy"): 1.0}, "Mine.through_surface oxy"),
    ("through_surface", lambda pools, _: {(None, "alg"): jnp.ones(3)}, "through_surface alg number"),
    ("measurable", lambda: {"PP": ("1", "production")}, "diagnostics PP"),
    ("attenuation", lambda pools: -pools["alg"], "attenuation 0"),
]


def test_a_model_that_does_not_fit_its_declarations_is_refused():
    for method, returned, parts in MISTAKES:
        with error_naming((TypeError, ValueError), parts):
            check_model(two_pools(method, returned))
