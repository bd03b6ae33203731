"""Chemistry beside PyCO2SYS, and rates beside FABM by `pyfabm`, where these are installed."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.extensions.biogeochemistry.columns import environment
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry, Fasham, equilibrium
from tunax_lite.extensions.biogeochemistry.schemes import tendencies

TEMPERATURE = np.array([2.0, 10.0, 18.0, 26.0])
SALINITY = np.array([31.0, 34.0, 35.0, 37.0])
CARBON = np.array([2150.0, 2100.0, 2030.0, 1990.0])  # [umol kg-1]
ALKALINITY = np.array([2250.0, 2300.0, 2310.0, 2380.0])


def theirs():
    """PyCO2SYS on the seawater scale, with constants by Dickson and Millero (1987) and our total boron."""
    library = pytest.importorskip("PyCO2SYS", reason="PyCO2SYS is not installed")
    return library.sys(
        par1=ALKALINITY,
        par2=CARBON,
        par1_type=1,
        par2_type=2,
        salinity=SALINITY,
        temperature=TEMPERATURE,
        opt_k_carbonic=4,
        opt_pH_scale=2,
        total_borate=412.8 * SALINITY / 35.0,
    )


def ours(alkalinity: np.ndarray):
    values = (1e-6 * CARBON, 1e-6 * alkalinity, TEMPERATURE, SALINITY)
    return equilibrium(*(jnp.asarray(each) for each in values), equilibria="pml")


def test_the_carbonate_system_is_that_of_pyco2sys():
    """`pml/carbonate` counts no hydroxide, 1 to 9 umol kg-1, in the alkalinity."""
    expected = theirs()
    found = ours(ALKALINITY - expected["OH"])
    # That of boric acid is on the total scale, 2 % smaller than on that of sea water: 1 umol kg-1 of borate.
    np.testing.assert_allclose(found.ph, expected["pH"], atol=3e-3)
    np.testing.assert_allclose(1e6 * np.asarray(found.pressure), expected["fCO2"], rtol=7e-3)
    np.testing.assert_allclose(1e6 * np.asarray(found.carbonate), expected["CO3"], rtol=7e-3)
    np.testing.assert_allclose(1e6 * np.asarray(found.bicarbonate), expected["HCO3"], rtol=1e-3)
    # With it the pH is higher, by 0.02 at most.
    assert np.all(np.asarray(ours(ALKALINITY).ph) - expected["pH"] < 0.02)


BOXES = {"npzd": (NPZD, "gotm/npzd"), "fasham": (Fasham, "gotm/fasham")}
"""Models of which every parameter of FABM's is one of ours."""


@pytest.mark.parametrize("name", BOXES)
def test_rates_in_a_box_are_those_of_fabm(name, tmp_path):
    """Of random pools in light and in the dark; parameters at a tenth above their defaults."""
    library = pytest.importorskip("pyfabm", reason="pyfabm, which FABM's sources build, is not installed")
    kind, foreign = BOXES[name]
    numbers = {
        field.name: 1.1 * float(getattr(kind(), field.name))
        for field in dataclasses.fields(kind)
        if field.name not in ("transition", "dic_per_n")
    }
    parameters = "".join(f"      {key}: {value!r}\n" for key, value in numbers.items())
    file = tmp_path / "fabm.yaml"
    file.write_text(f"instances:\n  box:\n    model: {foreign}\n    parameters:\n{parameters}")
    box, term = library.Model(str(file)), Biogeochemistry({"box": kind(**numbers)})
    box.cell_thickness = 10.0
    rng = np.random.default_rng(0)
    for light in (0.0, 3.0, 60.0):
        for given in box.dependencies:
            given.value = 160.0 if given.name.startswith("surface") else light
        assert box.start()
        pools = {pool: jnp.asarray(rng.uniform(0.05, 5.0, 3)) for pool in term.pools()}
        around = environment(light=jnp.full(3, light), surface_light=jnp.asarray(160.0))
        ours = tendencies(term.reactions(around, tl.Grid.uniform(30.0, 3)), pools)
        for cell in range(3):
            names = [variable.name.replace("/", "_") for variable in box.interior_state_variables]
            for variable, pool in zip(box.interior_state_variables, names, strict=True):
                variable.value = float(pools[pool][cell])
            for pool, rate in zip(names, box.getRates(), strict=True):
                np.testing.assert_allclose(ours[pool][cell], rate, rtol=1e-12, atol=1e-18)
