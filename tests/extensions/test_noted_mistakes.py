"""Maps and set-ups of GOTM are looked at by the rules of plausibility, too."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.extensions.gotm.folders import write_case, write_series
from tests.extensions.maps.ocean import SETTINGS, ocean
from tests.plausibility.inputs import Notes, fluxes, water
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.extensions.maps import build_map, load_map


def gotm(folder: Path, profiles: dict[str, np.ndarray], **heat: float) -> Notes:
    start, given = "2015-03-01 00:00:00", fluxes().values
    stop = str(np.datetime64(start.replace(" ", "T")) + np.timedelta64(3600 * (given["time"].size - 2), "s"))
    stop = stop.replace("T", " ")
    for name in ("stress_u", "heat_flux", "shortwave_flux"):
        write_series(folder / f"{name}.dat", given[name], start=start)
    for name, values in profiles.items():
        z = -10.0 * (np.arange(20) + 0.5)
        levels = "".join(f"{height:g} {value:.8g}\n" for height, value in zip(z, values[::-1], strict=True))
        (folder / f"{name}.dat").write_text("".join(f"{time} 20 2\n{levels}" for time in (start, stop)))

    def file(name: str, **more: object) -> dict:
        return {"method": "file", "file": f"{name}.dat", **more}

    changes = {
        "location": {"latitude": 48.0, "longitude": -9.0, "depth": 200.0},
        "time": {"start": start, "stop": stop, "dt": 3600.0},
        "grid": {"nlev": 20},
        "temperature": file("temperature"),
        "salinity": file("salinity"),
        "surface": {
            "fluxes": {"heat": file("heat_flux", **heat), "tx": file("stress_u")},
            "swr": file("shortwave_flux"),
            "albedo": {"method": "constant", "constant_value": 0.0},
        },
        "equation_of_state": {"method": "full_teos-10"},
    }
    run = build_gotm(load_gotm(write_case(folder, changes))).run
    assert run is not None
    return tuple(note for note in run.notes if "`accept: [" in note)


def test_mistakes_in_a_folder_of_gotm(tmp_path):
    profiles = water(200.0, 20)
    assert gotm(tmp_path, profiles) == ()
    assert any("[heat_sign]" in note for note in gotm(tmp_path, profiles, scale_factor=-1.0))
    profiles["temperature"][12] = 0.0
    assert any("[missing_code]" in note for note in gotm(tmp_path, profiles))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_mistakes_in_a_map(tmp_path, sign):
    sea = ocean([30.0, 36.0], [-40.0, -35.0])
    season = np.cos(2.0 * np.pi * ((np.arange(12.0) + 0.5) / 12.0 - 0.55))[:, None, None]
    sea["heat"] = sea.heat.copy(data=sign * (-150.0 - 40.0 * season) + 0.0 * sea.heat.values)
    sea["sun"] = sea.heat.copy(data=190.0 + 60.0 * season + 0.0 * sea.heat.values)
    sea.to_netcdf(tmp_path / "ocean.nc")
    section = {"paths": "ocean.nc", "fluxes": SETTINGS["fluxes"] | {"shortwave_flux": "sun"}}
    content = {
        "map": SETTINGS | section | {"start_time": "2001-02-01", "duration": 230.0 * 86400.0},
        "grid": {"kind": "uniform", "n_cells": 10},
        "time": {"step": 3600.0, "output_interval": 864000.0},
    }
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(content))
    notes = build_map(load_map(tmp_path / "map.yaml")).columns.notes
    assert any("`accept: [heat_sign]`" in note for note in notes) == (sign < 0.0)
