"""The example of the page on files, from a mooring and ERA5 to a run, works as it is printed."""

import datetime
import re
import runpy
from pathlib import Path

import gsw
import numpy as np
import pytest

from tests.io import test_era5 as era5
from tests.io import test_oceansites as oceansites

pytestmark = pytest.mark.long  # the example of a page, whose parts other tests read
PAGE = Path(__file__).parents[2] / "docs" / "files.md"
ACCUMULATED = ("ssrd", "strd", "tp")
DEPTHS = np.array([1.0, 10.0, 20.0, 50.0, 120.0])


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    instant = {key: value for key, value in era5.SERIES.items() if key not in ACCUMULATED}
    era5.write(folder / "era5_instant.nc", instant)
    era5.write(folder / "era5_accumulated.nc", {key: era5.SERIES[key] for key in ACCUMULATED})
    days = (datetime.date(2012, 6, 10) - datetime.date(2010, 6, 1)).days
    hours = 24.0 * days + np.arange(25.0)
    temperature = np.broadcast_to(np.interp(DEPTHS, [20.0, 50.0], [9.0, 6.0]), (25, 5)).copy()
    temperature[0, 1] = 1e35  # the first record has a gap
    salinity = np.broadcast_to(np.interp(DEPTHS, [20.0, 120.0], [32.6, 33.5]), (25, 5))
    for letter, name, values in (("T", "TEMP", temperature), ("S", "PSAL", salinity)):
        path = folder / f"mooring_{letter}.nc"
        oceansites.write(path, name, values, depths=DEPTHS, hours=hours, fill_name="FillValue_")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    script = folder / "example.py"
    script.write_text(next(block for block in blocks if "read_era5" in block))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return runpy.run_path(str(script))


def test_starts_from_the_first_complete_record(example):
    assert example["first"] == 1
    absolute = gsw.SA_from_SP(np.float32(32.6), 5.0, -144.9, 50.1)
    start = example["case"].initial_state
    np.testing.assert_allclose(start.salinity[-3], absolute, atol=1e-4)
    np.testing.assert_allclose(start.temperature[-3], gsw.CT_from_t(absolute, 9.0, 5.0), atol=2e-3)


def test_run_follows_the_weather(example):
    trajectory, case = example["trajectory"], example["case"]
    temperature = np.asarray(trajectory.state.temperature)
    assert temperature.shape == (25, 60) and np.isfinite(temperature).all()
    assert 0.0 < example["error"] < 1.0
    thickness = np.asarray(case.grid.cell_thickness)
    water = case.equation_of_state
    content = (
        water.reference_density * water.heat_capacity * np.sum((temperature[-1] - temperature[0]) * thickness)
    )
    # The radiation by NumPy from what the files hold; the bulk formula adds what air of 10 degC, saturated
    # at 7 degC, gives and takes at 8 to 13 m s-1 over water of about 9 degC: some 10 W m-2 either way.
    shortwave, sky = (np.sum(era5.SERIES[key][1][1:25]) for key in ("ssrd", "strd"))
    emitted = 5.67e-8 * (273.15 + np.mean(temperature[:, -1])) ** 4 * 86400.0
    assert abs(content - (0.94 * shortwave + sky - emitted)) < 30.0 * 86400.0
