"""Configurations of maps: short and long words for fields, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.cli.running import invoked
from tests.errors import error_naming
from tests.extensions.maps.ocean import ocean
from tunax_lite.config import ConfigError, load_any
from tunax_lite.extensions.maps import build_map, load_map
from tunax_lite.extensions.maps.sections import MapConfig

MAP = """
map:
  paths: ocean.nc
  start_time: 2001-01-01
  duration: 864000.0
  fluxes:
    stress_u: taux
    heat_flux: [heat, {variable: heat, factor: 0.5, upward: true}, 3]
  parameters: {c_eps_1: 1.4, case.absorption.visible_depth: 11}
grid: {kind: uniform, n_cells: 10}
time: {step: 1800.0, output_interval: 86400.0}
"""

WEATHER = "{wind_u: 1, wind_v: 2, air_temperature: 3, humidity: 40}"
FLUXES = MAP[MAP.index("  fluxes:") : MAP.index("  parameters:")]


def write(folder: Path, text: str = MAP) -> Path:
    if not (folder / "ocean.nc").exists():
        ocean().to_netcdf(folder / "ocean.nc")
    (folder / "map.yaml").write_text(text, encoding="utf-8")
    return folder / "map.yaml"


def test_a_map_is_built_from_its_file(tmp_path):
    parts = build_map(load_map(write(tmp_path)))
    assert parts.columns.n_columns == 288 and (parts.dt, parts.duration) == (1800.0, 864000.0)
    assert "288 columns" in parts.columns.notes[0] and "36 land" in parts.columns.notes[0]
    case: Any = parts.columns.case(np.arange(3), 0.0, 86400.0)
    with xr.open_dataset(tmp_path / "ocean.nc", decode_times=False) as dataset:
        january = dataset.heat.values[0, 0, :3]
        time = np.asarray(case.forcing.time)
        at = np.argmin(np.abs(time - 15.2 * 86400.0))
    np.testing.assert_allclose(case.forcing.fluxes.heat_flux[at], 0.5 * january + 3.0)
    np.testing.assert_allclose(case.absorption.visible_depth, 11.0)
    closure: Any = parts.columns.model(parts.model, np.arange(3)).closure
    np.testing.assert_allclose(closure.c_eps_1, 1.4)
    assert isinstance(load_any(tmp_path / "map.yaml").config, MapConfig)


def test_a_map_converts_the_unit_first(tmp_path):
    """Then it applies factor, offset and sign."""
    heat, changed = "{variable: heat, factor: 2.0, offset: 0.5, sign: -1}", "{variable: heat, unit: W m-2}"
    given = "[heat, {variable: heat, factor: 0.5, upward: true}, 3]"

    def columns_of(old, new) -> Any:
        return build_map(load_map(write(tmp_path, MAP.replace(old, new)))).columns

    runs = [columns_of(given, one) for one in (heat, changed)]
    one, plain = (run.case(np.arange(2), 0.0, 86400.0).forcing.fluxes.heat_flux for run in runs)
    np.testing.assert_allclose(one, -(2.0 * plain + 0.5))
    assert any("map.fluxes.heat_flux" in note for note in runs[0].notes)
    with xr.open_dataset(tmp_path / "ocean.nc", decode_times=False) as dataset:
        kelvin = dataset.thetao.copy(data=dataset.thetao + 273.15).assign_attrs(units="K")
        kelvin.to_dataset(name="kelvin").to_netcdf(tmp_path / "kelvin.nc")
        warmest = float(dataset.thetao.max())
    field = "{variable: kelvin, paths: kelvin.nc, unit: K, factor: 2.0, offset: -1.0}"
    case = columns_of("  fluxes:", f"  temperature: {field}\n  fluxes:").case(slice(None), 0.0, 86400.0)
    assert float(np.max(case.initial_state.temperature)) <= 2.0 * warmest - 1.0 + 1e-3
    with error_naming(ConfigError, "map.fluxes.heat_flux upward sign -1"):
        load_map(write(tmp_path, MAP.replace(given, "{variable: heat, upward: true, sign: -1}")))


def test_broken_maps_are_refused(tmp_path):
    for old, new, parts in (
        ("  fluxes:", "  flxes:", "map.flxes fluxes"),
        ("stress_u: taux", "stress_u: {variable: taux, colour: red}", "map.fluxes.stress_u.colour unit"),
        ("stress_u: taux", "stress_u: {constant: 0.1, unit: N m-2}", "map.fluxes.stress_u constant unit"),
        ("  paths: ocean.nc", "  paths: none.nc", "map.paths none.nc"),
        ("  fluxes:", "  points: {name: grid, spacing: 7.0}\n  fluxes:", "points.latitude 7 -90 90"),
        ("  fluxes:", "  remapping: spline\n  fluxes:", "map.remapping bilinear conservative"),
        ("  fluxes:", "  air_sea: {heat_factor: 1.1}\n  fluxes:", "map air_sea weather fluxes"),
        ("  fluxes:", f"  weather: {WEATHER}\n  fluxes:", "map weather fluxes"),
        (FLUXES, f"  weather: {WEATHER}\n", "map longwave air_sea"),
        ("uniform, n_cells: 10", "native", "uniform stretched faces native"),
        ("output_interval", "duration: 1728000.0, output_interval", "time.duration map.duration 864000"),
        ("heat_flux: [heat,", "heat_flux: [taux,", "taux W N/m2"),
        ("c_eps_1: 1.4", "c_eps_1: 99.0", "parameters.c_eps_1 1 2.5 99 40 S"),
        ("c_eps_1: 1.4", "c_eps_9: 1.0", "parameters.c_eps_9"),
    ):
        assert old in MAP
        with error_naming((ConfigError, FileNotFoundError, ValueError), parts):
            build_map(load_map(write(tmp_path, MAP.replace(old, new))))


@pytest.mark.long
def test_commands_say_what_a_map_is_and_that_it_is_no_run(tmp_path):
    path = write(tmp_path)
    output = invoked("check", path).output
    assert "map: 9 x 36 points, 10 cells in a column" in output and "480 steps" in output
    for command in ("run", "evaluate", "calibrate"):
        assert "got that of a map" in invoked(command, path, code=2).stderr
