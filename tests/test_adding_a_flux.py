"""The guide to a surface flux and to a variable of the weather, done to a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.errors import missing_from

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
EDIT = re.compile(
    r"^```python\n# (\S+), (before|instead of) `([^`\n]+)`\n(.*?)^```", re.MULTILINE | re.DOTALL
)

SCRIPT = """
import dataclasses, importlib.util, json, pathlib
import jax
import numpy as np
jax.config.update("jax_enable_x64", True)
import tunax_lite as tl
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.plausibility.budgets import heat_budget
from tunax_lite.plausibility.inputs import evidence_of
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.config.json_schema import json_schema
from tunax_lite.io import read_weather, to_dataset

NAME = "surface_spray_heat_flux"

def built(case, **others):
    config = {"case": case, "grid": {"kind": "uniform", "n_cells": 4},
              "time": {"dt": 600.0, "output_interval": 3600.0}, **others}
    pathlib.Path("case.yaml").write_text(json.dumps(config))
    return build_run(load_run(pathlib.Path("case.yaml")))

idealised = {"format": "idealised", "depth": 10.0, "duration": 3600.0, "temperature": 20.0}
forced = idealised | {"forcing": {"spray_heat_flux": -100.0}}
run = built(forced, corrections={"fluxes": ["spray_heat_flux_bias"]})
trajectory = tl.simulate(run.model, run.case, dt=run.dt, output_interval=run.output_interval)
water, change = run.case.equation_of_state, np.asarray(trajectory.state.temperature).mean(axis=1)
diagnosed = diagnose(trajectory, run.case, [NAME])
plain = dataclasses.replace(run.case, forcing=run.case.forcing.forcing)
profiles = {"temperature": trajectory.state.temperature}
seen = tl.Observations(trajectory.time, run.case.grid.z_center, profiles)
found = {
    "heat": float((change[-1] - change[0]) * 10.0 * water.reference_density * water.heat_capacity),
    "budget": heat_budget(plain, seen),
    "file": to_dataset(trajectory, case=run.case, diagnostics=diagnosed)[NAME].attrs["units"],
    "inputs": [(one.name, one.unit) for one in evidence_of(plain).everything()],
    "bias": run.case.forcing.spray_heat_flux_bias.tolist(),
    "schema": json_schema("run")["$defs"]["FluxesSection"]["properties"]["spray_heat_flux"]["description"],
}
try:
    built(idealised | {"forcing": {"spray_heat_flux": 1e6}})
except ConfigError as error:
    found["refused"] = str(error)

site = {"format": "site", "latitude": 50.0, "longitude": -145.0, "start_time": "2012-06-10T00:00:00",
        "duration": 3600.0, "depth": 10.0, "temperature": 12.0, "salinity": 33.0}
air = {"format": "constant", "wind_u": 1.0, "air_temperature": 9.0, "humidity": 85.0,
       "shortwave": 0.0, "longwave": 300.0}
calm, gusty = (built(site | {"weather": air | more}).case for more in ({}, {"gustiness": 5.0}))
surface = tl.column.forcing.WaterSurface.of(calm.initial_state)
found["latent"] = [float(case.forcing.at(0.0, surface).latent_heat_flux) for case in (calm, gusty)]
found["weather"] = [(one.name, one.unit) for one in evidence_of(gusty).everything()]
found["offset"] = "forcing.offsets.gustiness" in {info.path for info in tl.iterate_parameters(gusty)}
pathlib.Path("station.csv").write_text(
    "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],relative_humidity [%],air_pressure [hPa],"
    "gustiness [cm s-1]\\n"
    "2012-06-10T00:00:00,1,0,9,85,1013,300\\n2012-06-10T03:00:00,1,0,9,85,1013,500\\n")
formulae = {"shortwave": None, "longwave": None}
series, _ = read_weather(["station.csv"], start_time=site["start_time"], **formulae)
found["station"] = series.values.gustiness.tolist()
if importlib.util.find_spec("tunax_lite.extensions.coupling") is not None:
    from tunax_lite.extensions.coupling.bmi import FLUXES
    found["coupling"] = NAME in FLUXES
if importlib.util.find_spec("tunax_lite.extensions.maps") is not None:
    from tests.extensions.maps.ocean import SETTINGS, ocean
    from tunax_lite.extensions.maps import columns_from_dataset
    gridded = {name: value for name, value in SETTINGS.items() if name != "fluxes"}
    constants = {"wind_u": 3.0, "wind_v": 0.0, "air_temperature": 10.0, "humidity": 80.0, "gustiness": 2.0,
                 "shortwave": 0.0, "longwave": 300.0}
    def forcing(**given):
        levels = tl.Grid.uniform(1.0, 6)
        return columns_from_dataset(ocean(), levels, columns=slice(0, 3), **gridded, **given).forcing
    found["map"] = np.ravel(forcing(fluxes={"spray_heat_flux": -50.0}).at(0.0).spray_heat_flux)[0]
    found["map_of_weather"] = np.ravel(forcing(weather=constants).weather.values.gustiness)[0]
print(json.dumps(found, default=float))
"""


def test_a_new_flux_and_a_new_variable_of_the_weather_are_everywhere(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tunax_lite", tmp_path / "tunax_lite", ignore=ignored)
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    edits = EDIT.findall(guide[guide.index("**A surface flux**") : guide.index("**A reader**")])
    names = [name.removeprefix("tunax_lite/") for name, *_ in edits]
    assert set(names[:3]) == {"column/forcing.py", "column/terms/surface.py"}
    assert names[3:] == ["air_sea/bulk_forcing.py"] * 3
    for name, how, anchor, text in edits:
        path = tmp_path / name
        before = path.read_text()
        assert before.count(anchor) == 1, f"{name}: expected once {anchor}"
        path.write_text(before.replace(anchor, text + anchor if how == "before" else text.strip()))
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", SCRIPT]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    assert found["heat"] == pytest.approx(-100.0 * 3600.0, rel=1e-9)
    assert found["budget"] == pytest.approx([-100.0] * 2, rel=1e-9)
    assert found["file"] == "W m-2" and ["spray_heat_flux", "W m-2"] in found["inputs"]
    assert found["schema"] == "heat of sea spray [W m-2]" and found["bias"] == [0.0]
    assert found.get("coupling", True) and found.get("map", -50.0) == -50.0  # those are extensions
    assert not missing_from(found["refused"], "spray_heat_flux -2000 2000 1e6")
    calm, gusty = found["latent"]
    assert gusty < 2.0 * calm < 0.0
    assert ["gustiness", "m s-1"] in found["weather"] and found["offset"]
    assert found["station"] == pytest.approx([3.0, 5.0]) and found.get("map_of_weather", 2.0) == 2.0
