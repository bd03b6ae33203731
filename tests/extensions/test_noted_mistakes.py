"""Maps and set-ups of GOTM are looked at by the rules of plausibility, too."""

import datetime
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from tests.plausibility.inputs import Given, Notes, fluxes, water
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.extensions.maps import build_map, load_map


def gotm(given: Given, folder: Path, **heat: float) -> Notes:
    """Notes on a folder of GOTM with fluxes and profiles as text."""
    start = datetime.datetime(2015, 3, 1)
    stamps = [str(start + datetime.timedelta(seconds=float(t))) for t in given.values["time"]]
    for name in ("stress_u", "heat_flux", "shortwave_flux"):
        rows = zip(stamps, given.values[name], strict=True)
        (folder / f"{name}.dat").write_text("".join(f"{stamp} {value:.8g}\n" for stamp, value in rows))
    z = -10.0 * (np.arange(20) + 0.5)
    profiles = water(200.0, 20) | given.options.get("profiles", {})
    for name, values in profiles.items():
        levels = "".join(f"{height:g} {value:.8g}\n" for height, value in zip(z, values[::-1], strict=True))
        (folder / f"{name}.dat").write_text("".join(f"{s} 20 2\n{levels}" for s in (stamps[0], stamps[-1])))

    def file(name: str, **more: object) -> dict:
        return {"method": "file", "file": f"{name}.dat", **more}

    surface = {"fluxes": {"heat": file("heat_flux", **heat), "tx": file("stress_u")}}
    surface |= {"swr": file("shortwave_flux"), "ice": {"model": "no_ice"}}
    content = {
        "version": 7,
        "location": {"latitude": 48.0, "longitude": -9.0, "depth": 200.0},
        "time": {"start": stamps[0], "stop": stamps[-2], "dt": 3600.0},
        "grid": {"nlev": 20},
        "temperature": file("temperature", type="conservative"),
        "salinity": file("salinity", type="absolute"),
        "surface": surface | {"albedo": {"method": "constant", "constant_value": 0.0}},
        "turbulence": {"turb_param": {"k_min": 1e-8}},
    }
    (folder / "gotm.yaml").write_text(yaml.safe_dump(content))
    run = build_gotm(load_gotm(folder / "gotm.yaml")).run
    assert run is not None
    return tuple(note for note in run.notes if "`accept: [" in note)


def test_mistakes_in_a_folder_of_gotm(tmp_path):
    given = fluxes()
    assert gotm(given, tmp_path) == ()
    assert any("[heat_sign]" in note for note in gotm(given, tmp_path, scale_factor=-1.0))
    holed = water(200.0, 20)["temperature"].copy()
    holed[12] = 0.0
    given.options["profiles"] = {"temperature": holed}
    assert any("[missing_code]" in note for note in gotm(given, tmp_path))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_mistakes_in_a_map(tmp_path, sign):
    """Monthly fluxes and water on two by two points."""
    days = (np.arange(12.0) + 0.5) * 30.4375
    season = np.cos(2.0 * np.pi * (days / 365.25 - 0.55))[:, None, None] * np.ones((1, 2, 2))
    depth, level = np.array([5.0, 20.0, 50.0, 100.0, 200.0, 400.0]), np.ones((6, 2, 2))
    over_time, over_depth = ("time", "lat", "lon"), ("depth", "lat", "lon")
    warm = 5.0 + 18.0 * np.exp(-depth / 300.0)[:, None, None]
    xr.Dataset(
        {
            "taux": (over_time, 0.0 * season + 0.08, {"units": "N m-2"}),
            "heat": (over_time, sign * (-150.0 - 40.0 * season), {"units": "W m-2"}),
            "sun": (over_time, 190.0 + 60.0 * season, {"units": "W m-2"}),
            "temp": (over_depth, level * warm, {"units": "degC"}),
            "salt": (over_depth, level * 35.5, {"units": "1"}),
        },
        {
            "time": ("time", days, {"units": "days since 2001-01-01", "standard_name": "time"}),
            "depth": ("depth", depth, {"units": "m", "positive": "down", "axis": "Z"}),
            "lat": ("lat", [30.0, 36.0], {"units": "degrees_north"}),
            "lon": ("lon", [-40.0, -35.0], {"units": "degrees_east"}),
        },
    ).to_netcdf(tmp_path / "ocean.nc")
    names = {"stress_u": "taux", "heat_flux": "heat", "shortwave_flux": "sun"}
    section = {"paths": "ocean.nc", "start_time": "2001-02-01", "duration": 1.9872e7, "largest_depth": 300.0}
    section |= {"temperature": {"variable": "temp"}, "salinity": {"variable": "salt"}}
    section |= {"temperature_kind": "potential", "salinity_kind": "practical"}
    section["fluxes"] = {flux: {"variable": name} for flux, name in names.items()}
    content = {
        "map": section,
        "grid": {"kind": "uniform", "n_cells": 10},
        "time": {"step": 3600.0, "output_interval": 864000.0},
    }
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(content))
    notes = build_map(load_map(tmp_path / "map.yaml")).columns.notes
    assert any("`accept: [heat_sign]`" in note for note in notes) == (sign < 0.0)
