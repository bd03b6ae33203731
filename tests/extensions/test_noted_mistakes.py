"""Maps are looked at by the rules of plausibility, too."""

import numpy as np
import pytest
import yaml

from tests.extensions.maps.ocean import SETTINGS, ocean
from tunax_lite.extensions.maps import build_map, load_map


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
        "time": {"dt": 3600.0, "output_interval": 864000.0},
    }
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(content))
    notes = build_map(load_map(tmp_path / "map.yaml")).columns.notes
    assert any("`accept: [heat_sign]`" in note for note in notes) == (sign < 0.0)
