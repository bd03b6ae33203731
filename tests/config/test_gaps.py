"""Gaps in prescribed fluxes: bridged linearly up to `longest_gap`, with a note, and refused beyond."""

import numpy as np
import pytest

from tests.config.test_conversions import flux_of, run_of
from tests.errors import error_naming
from tunax_lite.io.errors import FileFormatError

# Every hour from -1 h on, 3 W m-2 more each; two values are missing.
VALUES = {hour: "nan" if hour in (5, 6) else f"{3.0 * hour}" for hour in range(-1, 26)}


@pytest.fixture(params=["csv", "dat"])
def given(request, tmp_path):
    moment = {h: np.datetime64("2012-06-10T00:00:00") + np.timedelta64(h, "h") for h in VALUES}
    if request.param == "csv":
        lines = [f"{moment[h]},{VALUES[h]}\n" for h in VALUES]
        (tmp_path / "q.csv").write_text("time,q [W m-2]\n" + "".join(lines), encoding="utf-8")
        return tmp_path, {"path": "q.csv", "variable": "q"}
    lines = [f"{str(moment[h]).replace('T', ' ')} {VALUES[h]}\n" for h in VALUES]
    (tmp_path / "q.dat").write_text("".join(lines), encoding="utf-8")
    return tmp_path, {"path": "q.dat", "column": 1}


def test_missing_values_are_bridged_with_a_note(given):
    folder, keys = given
    _, made = flux_of(folder, **keys, longest_gap=10800.0)
    hours = np.arange(0.0, 24.5, 0.5)
    # The line through the gap is the one that the known values lie on: rounding only.
    found = [float(made.case.forcing.at(3600.0 * hour, None).heat_flux) for hour in hours]
    np.testing.assert_allclose(found, 3.0 * hours, rtol=0.0, atol=1e-9)
    (note,) = [note for note in made.notes if "bridged" in note]
    assert "2 missing values" in note and "3 h" in note and "2012-06-10" in note


def test_longer_gaps_and_gaps_without_the_key_are_refused(given):
    folder, keys = given
    name = keys["path"]
    with error_naming(FileFormatError, f"{name} longest_gap 3 2"):
        flux_of(folder, **keys, longest_gap=7200.0)
    with error_naming(FileFormatError, f"{name} longest_gap nan"):
        flux_of(folder, **keys)


def test_a_gap_at_an_end_is_not_bridged(tmp_path):
    lines = [f"2012-06-{10 + day} 00:00:00 {value}\n" for day, value in enumerate(("nan", 3.0, 3.0))]
    (tmp_path / "q.dat").write_text("".join(lines), encoding="utf-8")
    with error_naming(FileFormatError, "q.dat ends longest_gap"):
        run_of(tmp_path, fluxes={"heat_flux": {"path": "q.dat", "column": 1, "longest_gap": 1e6}})
