"""Ice beside GOTM 84f8d8e9 with STIM: ten days of frost over water at its freezing point."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from tests.extensions.gotm.folders import assert_fields, build, run_of
from tunax_lite import simulate
from tunax_lite.column.terms import LidFriction
from tunax_lite.ice import BasalMelt

AIR = -15.0
FROST = {
    "time": {"stop": "2011-03-11 00:00:00", "dt": 3600.0},
    "temperature": {"constant_value": -1.84},
    "salinity": {"constant_value": 32.0},
    "turbulence": {"turb_method": "no_model"},
    "output": {"prof": {"time_unit": "day", "time_step": 1, "variables": [{"source": "Hice"}]}},
}
WEATHER = {
    "u10": 5.0,
    "airt": AIR,
    "hum": 80.0,
    "airp": 101300.0,
    "cloud": 0.5,
    "fluxes": {"method": "kondo"},
}
# `Hice` [m] of GOTM's file after 1, 5 and 10 days, in single precision.
GOTM = {
    "lebedev": [0.21391108632087708, 0.264065146446228, 0.31839144229888916],
    "mylake": [0.22515085339546204, 0.3106533885002136, 0.3972886800765991],
    "winton": [0.22924935817718506, 0.32614803314208984, 0.42373767495155334],
}


@pytest.mark.long
@pytest.mark.parametrize("model", GOTM)
def test_ice_is_as_thick_as_in_gotm(model, tmp_path):
    ice = {"surface": WEATHER | {"ice": {"model": model, "H": 0.2}}}
    made = build(tmp_path, FROST, ice)
    made.report.check()
    run = made.run
    assert any("surface.ice.model" in line for line in made.report.differences)
    case = run.case
    np.testing.assert_allclose(case.grid.depth, 16.0 - 0.2 * 910.0 / 1027.0, rtol=1e-12)
    if model == "winton":  # GOTM starts its upper half at the temperature of the air
        start = dict.fromkeys(("ice_surface_temperature", "upper_ice_temperature"), jnp.asarray(AIR))
        state = dataclasses.replace(case.initial_state, surface=case.start_state.surface | start)
        case = dataclasses.replace(case, initial_state=state)
    found = simulate(run.model, case, dt=run.dt, output_interval=run.output_interval).state
    np.testing.assert_allclose(found.surface["ice_thickness"][jnp.array([1, 5, 10])], GOTM[model], rtol=3e-7)
    np.testing.assert_allclose(found.temperature[-1], -1.84, atol=1e-6)


def test_a_shelf_of_gotm(tmp_path):
    plume = {"type": "plume", "plume": {"type": "surface", "y_slope": 0.005}}
    lid = {"mimic_3d": {"int_pressure": plume}, "surface": {"roughness": {"z0s_min": 0.01}}}

    def case_of(thickness):
        return run_of(tmp_path, lid, {"surface": {"ice": {"model": "basal_melt", "H": thickness}}}).case

    case, draft = case_of(10.0), 10.0 * 910.0 / 1027.0
    assert_fields(case, {"ice": BasalMelt, "ice.initial_thickness": 10.0, "grid.depth": 16.0 - draft})
    assert_fields(case, {"equation_of_state.draft": draft})
    assert case.interior.lid_friction == LidFriction(0.01, None)
    assert case_of(0.0).ice is None
