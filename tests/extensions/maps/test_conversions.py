"""A map converts the unit of its fields first, then applies factor, offset and sign."""

from typing import Any

import numpy as np

from tests.errors import error_naming
from tests.extensions.maps.ocean import ocean
from tunax_lite.config import ConfigError
from tunax_lite.extensions.maps import build_map, load_map

MAP = """
map:
  paths: ocean.nc
  start_time: 2001-01-01
  duration: 864000.0
  temperature: {variable: thetao, unit: K, factor: 2.0, offset: -1.0}
  fluxes: {heat_flux: {variable: heat, %s}}
grid: {kind: uniform, n_cells: 10}
time: {step: 1800.0, output_interval: 86400.0}
"""


def test_a_map_converts_the_unit_first(tmp_path):
    dataset = ocean()
    plain = dataset.thetao.values.copy()
    dataset["thetao"] = dataset.thetao.copy(data=plain + 273.15).assign_attrs(units="K")
    dataset.to_netcdf(tmp_path / "ocean.nc")
    (tmp_path / "map.yaml").write_text(MAP % "factor: 2.0, offset: 0.5, sign: -1", encoding="utf-8")
    made = build_map(load_map(tmp_path / "map.yaml"))
    case: Any = made.columns.case(np.arange(2), 0.0, 86400.0)
    # The factor acts on degC, not on K.
    expected = 2.0 * np.nanmax(plain[..., 0, :, :]) - 1.0
    everywhere: Any = made.columns.case(slice(None), 0.0, 86400.0)
    assert float(np.max(everywhere.initial_state.temperature)) <= expected + 1e-3
    (tmp_path / "map.yaml").write_text(MAP % "unit: W m-2", encoding="utf-8")
    as_it_is: Any = build_map(load_map(tmp_path / "map.yaml")).columns.case(np.arange(2), 0.0, 86400.0)
    np.testing.assert_allclose(
        case.forcing.fluxes.heat_flux, -(2.0 * as_it_is.forcing.fluxes.heat_flux + 0.5)
    )
    assert any("map.fluxes.heat_flux: values are multiplied by 2" in note for note in made.columns.notes)
    (tmp_path / "map.yaml").write_text(MAP % "upward: true, sign: -1", encoding="utf-8")
    with error_naming(ConfigError, "map.fluxes.heat_flux upward sign -1"):
        load_map(tmp_path / "map.yaml")
