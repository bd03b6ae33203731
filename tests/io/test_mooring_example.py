"""The example of the page on files, from a mooring and ERA5 to a run, works as it is printed."""

import datetime
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.io import test_era5 as era5
from tests.io import test_oceansites as oceansites

PAGE = Path(__file__).parents[2] / "docs" / "files.md"
DEPTHS = np.array([1.0, 10.0, 20.0, 50.0, 120.0])


@pytest.mark.long  # the example of a page, whose parts other tests read
def test_a_run_starts_from_the_first_complete_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    era5.write("era5_instant.nc", era5.without(*era5.SUMS))
    era5.write("era5_accumulated.nc", {key: era5.SERIES[key] for key in era5.SUMS})
    hours = 24.0 * (datetime.date(2012, 6, 10) - datetime.date(2010, 6, 1)).days + np.arange(25.0)
    temperature = np.tile(np.interp(DEPTHS, [20.0, 50.0], [9.0, 6.0]), (25, 1))
    temperature[0, 1] = 1e35  # the first record has a gap
    salinity = np.tile(np.interp(DEPTHS, [20.0, 120.0], [32.6, 33.5]), (25, 1))
    oceansites.write("mooring_T.nc", "TEMP", temperature, depths=DEPTHS, hours=hours)
    oceansites.write("mooring_S.nc", "PSAL", salinity, depths=DEPTHS, hours=hours)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    Path("example.py").write_text(next(block for block in blocks if "read_era5" in block))
    example = runpy.run_path("example.py")

    assert example["first"] == 1
    trajectory = example["trajectory"]
    temperature = np.asarray(trajectory.state.temperature)
    assert temperature.shape == (25, 60) and np.isfinite(temperature).all()
    assert 0.0 < example["error"] < 1.0
