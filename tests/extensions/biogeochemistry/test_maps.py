"""Biogeochemistry on a map: the columns of a batch, initial pools from gridded files, names and units."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

import tunax_lite as tl
from tests.errors import error_naming, missing_from
from tests.extensions.maps.ocean import ocean
from tunax_lite.config import ConfigError
from tunax_lite.extensions.maps import build_map, create_store, load_map, planned, run_map
from tunax_lite.runtime.engine import ThisProcess

DAY = 86400.0
N_COLUMNS = 12
POOLS = ["npzd_nut", "npzd_phy", "npzd_zoo", "npzd_det"]
LIFE = {"name": "biogeochemistry", "models": {"npzd": {"name": "npzd"}}}
MAP = {
    "map": {
        "paths": "ocean.nc",
        "start_time": "2001-01-01",
        "duration": 5 * DAY,
        "fluxes": {"stress_u": "taux", "heat_flux": "heat", "shortwave_flux": 150.0},
        "terms": {"life": LIFE | {"initial": {"npzd_phy": 0.1}}},
        "tracers": {"npzd_nut": {"variable": "no3", "factor": 1.025}},
    },
    "grid": {"kind": "uniform", "n_cells": 10},
    "time": {"dt": 3600.0, "output_interval": DAY},
    "output": {"variables": ["temperature", *POOLS]},
}


def write(folder, **changes):
    data = ocean(np.array([-20.0, 0.0, 20.0]), np.arange(0.0, 360.0, 90.0))
    data["no3"] = 0.01 * data.depth + 0.0 * data.thetao
    data.no3.attrs["units"] = "umol kg-1"
    if not (folder / "ocean.nc").exists():
        data.to_netcdf(folder / "ocean.nc")
    (folder / "map.yaml").write_text(yaml.safe_dump(MAP | {"map": MAP["map"] | changes}))
    return folder / "map.yaml"


@pytest.mark.long
def test_a_map_with_plankton_is_a_batch_of_its_columns(tmp_path):
    run = build_map(load_map(write(tmp_path)))
    (note,) = [said for said in run.columns.notes if "default" in said]
    assert not missing_from(note, "map.terms.life npzd_zoo npzd_det 4.5") and "npzd_nut" not in note
    case: Any = run.columns.case(np.arange(N_COLUMNS), 0.0, run.duration)
    start = np.asarray(case.initial_state.tracers["npzd_nut"])
    z = np.asarray(case.grid.z_center)
    # The file is linear over depth, down to its deepest level in water.
    shallow = z > -40.0
    np.testing.assert_allclose(start[shallow], -1.025 * 0.01 * z[shallow], rtol=1e-6)
    np.testing.assert_array_equal(case.initial_state.tracers["npzd_phy"], 0.1)
    run_map(run, create_store(tmp_path / "map.zarr", run, planned(run)), ThisProcess())
    expected = tl.simulate(run.model, case, dt=run.dt, output_interval=DAY).state.tracers
    with xr.open_zarr(tmp_path / "map.zarr", chunks=None) as store:
        for name in POOLS:
            found = store[name].values.reshape(*store[name].shape[:2], N_COLUMNS)
            np.testing.assert_allclose(found, expected[name][1:], rtol=1e-6, atol=1e-9)
        assert store.npzd_phy.units == "mmol m-3"
    totals = case.terms["life"].totals(expected, {}, case.grid)["nitrogen"]
    np.testing.assert_allclose(totals, np.broadcast_to(totals[0], totals.shape), rtol=1e-12)


@pytest.mark.long
def test_substeps_of_sinking_are_those_of_the_thinnest_cells(tmp_path):
    life = LIFE | {"models": {"npzd": {"name": "npzd", "w_d": -400.0}}, "n_sinking_substeps": None}
    columns = build_map(load_map(write(tmp_path, terms={"life": life}))).columns
    case: Any = columns.case(np.arange(N_COLUMNS), 0.0, DAY)
    thinnest: Any = np.min(np.diff(np.asarray(case.grid.z_face), axis=0))
    assert case.terms["life"].n_sinking_substeps == 1 + int(400.0 / DAY * 3600.0 / thinnest) > 1
    bare = build_map(load_map(write(tmp_path, terms={})))  # tracers that no term carries are passive
    assert set(bare.columns.case(np.arange(2), 0.0, DAY).initial_state.tracers) == {"npzd_nut"}
    with error_naming(ConfigError, "map.terms.life npz npzd"):
        load_map(write(tmp_path, terms={"life": life | {"models": {"npzd": {"name": "npz"}}}}))
