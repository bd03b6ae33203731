"""BFM17: rates, sinking and carbon of its own program, and oxygen at saturation."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.extensions.biogeochemistry.columns import environment as any_environment
from tunax_lite.extensions.biogeochemistry import BFM17
from tunax_lite.extensions.biogeochemistry.interface import Environment

DAY = 86400.0
# Pools, and their rates of change [s-1], in three cells at Bermuda after 30 days of the authors' program
# (BFM17-Opt, gfortran 12.2, Parameters_BGC-BATS.in), 1.48, 69.6 and 128.8 m below the surface.
PROGRAM_OUTPUT = """
o2o 205.327162841 205.312389711 205.506096914 9.24800723504e-7 -3.38515550781e-7 -2.85504316098e-7
n1p 0.0258255902754 0.0258263488833 0.0426104386579 9.60802057795e-10 9.67104749975e-10 1.56120428689e-9
n3n 0.236474875005 0.236565932678 0.715911941178 -4.07312891393e-8 2.34551723472e-8 1.94212542024e-8
n4n 0.212886599537 0.212969184333 0.177486256082 -5.93553380803e-8 6.98544207538e-9 5.75916274874e-9
p2c 1.2910628642 1.28215230575 0.230115451835 6.91775944961e-6 -1.90605391271e-7 -1.2275954428e-7
p2n 0.0244172299561 0.0242609357011 0.00446482550815 1.28122788465e-7 -2.86011694727e-9 -2.36001612351e-9
p2p 7.88233405762e-4 7.88339664557e-4 2.76891864353e-4 8.87311737277e-10 8.82170582588e-10 -1.17240245152e-10
p2l 0.00776377092246 0.0077203240104 0.00166847971367 2.78934541401e-8 -3.05177688706e-10 -7.39225378624e-10
z5c 1.07993616762 1.07994716768 0.82486403618 -8.81400028494e-7 -8.79526491542e-7 -6.72386428741e-7
z5n 0.0136040531606 0.0136041923909 0.010392617176 -1.11095416944e-8 -1.10858042132e-8 -8.47168121864e-9
z5p 8.48850966884e-4 8.48859654165e-4 6.48466582983e-4 -6.93198597505e-10 -6.91717505568e-10 -5.28606166476e-10
r1c 6.30820841972 6.29796288953 4.07614445479 5.58914853889e-6 -2.46429643644e-6 -2.05997615427e-6
r1n 0.0426012360768 0.0426046353806 0.0342390675717 -1.74237277223e-8 -1.69414712593e-8 -1.31562092597e-8
r1p 0.00279897290607 0.00279899060276 0.00222183108618 -1.15785330987e-9 -1.15877857765e-9 -8.57780939214e-10
r6c 0.223473814348 0.225906863724 0.261246834818 3.91779735522e-8 3.51658462156e-8 -1.04819565022e-7
r6n 0.00223169252121 0.00225594047392 0.0025749280544 4.97108171122e-10 4.46777997125e-10 -1.19251034934e-9
r6p 9.32492146333e-5 9.42646333125e-5 1.09339475395e-4 2.93811230541e-12 1.22075065168e-12 -5.75769360448e-11
"""  # noqa: E501
ROWS = [line.split() for line in PROGRAM_OUTPUT.strip().splitlines()]
PROGRAM = {name: (list(map(float, numbers[:3])), list(map(float, numbers[3:]))) for name, *numbers in ROWS}
LIGHT = (253.794649742, 12.8990460026, 0.969532729)  # at the top of these cells [umol m-2 s-1]
TEMPERATURE = (20.1626956465, 19.9395054682, 19.7515953292)
SALINITY = (36.7012195292, 36.6014875114, 36.5951671393)
SINKING = (0.12075543979, 0.114696794683, 0.0)  # of phytoplankton [m d-1]


def one_cell_each(values) -> jax.Array:
    return jnp.asarray(values)[None]


def environment() -> Environment:
    cells = {"temperature": TEMPERATURE, "salinity": SALINITY, "density": 3 * (1025.0,), "light": 3 * (50.0,)}
    cells |= {"depth": 3 * (0.5,), "thickness": 3 * (150.0 / 152.0,)}
    return any_environment(
        **{name: one_cell_each(values) for name, values in cells.items()},
        surface_light=jnp.full(3, 100.0),
        shortwave=0.217 / 0.4 * jnp.asarray(LIGHT),
        wind_speed=jnp.full(3, 6.0),
        bottom_stress=jnp.zeros(3),
    )


def pools() -> dict[str, jax.Array]:
    return {name: one_cell_each(values) for name, (values, _) in PROGRAM.items()}


def change(model: BFM17) -> dict[str, jax.Array]:
    found = {name: jnp.zeros((1, 3)) for name in PROGRAM}
    for (source, target), rate in model.rates(pools(), environment()).items():
        if source is not None:
            found[source] -= rate
        if target is not None:
            found[target] += rate
    return found


def test_rates_are_those_of_the_authors_program():
    found = change(BFM17(own_light=True))
    for name, (_, rates) in PROGRAM.items():
        # Pools and rates have 12 digits here, and rates are differences of larger ones.
        np.testing.assert_allclose(found[name][0], rates, rtol=1e-8, atol=1e-17, err_msg=name)


def test_hungry_phytoplankton_sinks_as_in_the_authors_program():
    velocities = BFM17(p_rr6m=10.0).velocities(pools(), environment())
    np.testing.assert_allclose(-DAY * np.asarray(velocities["p2c"])[0], SINKING, rtol=1e-9)
    np.testing.assert_allclose(-DAY * velocities["r6n"], 10.0, rtol=1e-14)


def test_oxygen_at_saturation():
    # Weiss (1970), table 4: 5.17 mL L-1 at 20 degC and a salinity of 35.
    at = environment()._replace(temperature=jnp.full((1, 3), 20.0), salinity=jnp.full((1, 3), 35.0)).cell(-1)
    top = {name: of[-1] for name, of in pools().items()}
    fluxes = BFM17(molar_volume=22.39).through_surface(top, at)
    equal = fluxes[None, "o2o"] / (fluxes["o2o", None] / top["o2o"])
    np.testing.assert_allclose(equal, 5.17 / 22.39 * 1e3, rtol=1e-3)


def test_coupled_carbon_is_what_organic_carbon_lacks():
    model, organic = BFM17(), ("p2c", "z5c", "r1c", "r6c")
    exchanges = model.rates(pools() | {"dic": jnp.full((1, 3), 2000.0)}, environment())
    net = exchanges[None, "dic"] - exchanges["dic", None]
    gained = sum(change(model)[name] for name in organic)
    np.testing.assert_allclose(12.0 * net, -gained, rtol=1e-10)
