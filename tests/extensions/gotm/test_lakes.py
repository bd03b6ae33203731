"""Hypsographs and streams of GOTM's lake branch."""

import copy
from typing import Any

import numpy as np

from tests.errors import error_naming
from tests.extensions.gotm.folders import assert_fields, build, write_series
from tunax_lite.column.terms import StreamPlace
from tunax_lite.io.yaml_file import ConfigError

RIVER = {"method": 2, "file": "river.dat"}
LAKE = {
    "location": {"hypsograph": "basin.dat"},
    "streams": {
        "river": {"method": 4, "flow": RIVER | {"column": 1}, "temp": RIVER | {"column": 2}},
        "intake": {"method": 3, "zu": -2.0, "zl": -6.0, "flow": {"constant_value": -1.5}},
    },
}


def lake(folder, *changes) -> Any:
    (folder / "basin.dat").write_text("3 2\n0 9e5\n-4 4e5\n-20 0\n")
    write_series(folder / "river.dat", np.linspace(1.0, 3.0, 25), np.full(25, 7.0))
    return build(folder, copy.deepcopy(LAKE), *changes)


def test_the_basin_and_its_streams_arrive(tmp_path):
    made = lake(tmp_path)
    case = made.run.case
    assert float(case.grid.depth) == 20.0 and float(case.grid.area[-1]) == 9e5
    for note in ("the depth is that of the hypsograph, 20 m", "excess water from streams"):
        assert any(note in line for line in made.report.differences)
    assert case.interior.level is None
    parts = case.interior.streams.streams
    assert_fields(parts["intake"], {"lower": -6.0, "upper": -2.0})
    assert (parts["river"].place, parts["intake"].place) == (StreamPlace.INTERLEAVING, StreamPlace.RANGE)
    assert_fields(parts["river"].series.at(43200.0), {"discharge": 2.0, "temperature": 7.0})
    assert parts["intake"].series.at(0.0).temperature is None


def test_what_cannot_be_read_is_refused(tmp_path):
    for change, parts in (
        ({"streams": {"river": {"flow": {"file": ""}}}}, "streams.river.flow.file"),
        ({"streams": {"river": {"depth": 3.0}}}, "streams.river.depth"),
        ({"streams": {"river": {"method": 9}}}, "streams.river.method"),
        ({"streams": {"river": 3.0}}, "streams"),
        ({"location": {"hypsograph": "basin.txt"}}, "basin.txt"),
    ):
        with error_naming((ConfigError, FileNotFoundError), parts):
            lake(tmp_path, change)


def test_a_level_follows_the_water_or_a_series_and_streams_need_a_lake(tmp_path):
    balance = {"water_balance_method": 3}
    report = lake(tmp_path, balance).report
    assert any("zeta.method: water_balance need each other" in error for error in report.errors)
    zeta = {"method": "water_balance", "constant_value": -0.4}
    level = lake(tmp_path, balance, {"mimic_3d": {"zeta": zeta}}).run.case.interior.level
    slope = (np.sqrt(9e5) - np.sqrt(4e5)) / 4.0
    highest = (np.sqrt(9e5) + 2.0 * slope) ** 2
    assert float(level.initial) == -0.4 and level.prescribed is None
    np.testing.assert_allclose([level.basin.z[0], level.basin.z[-1], level.basin.area[-1]], [-20, 2, highest])
    level = lake(tmp_path, {"mimic_3d": {"zeta": {"constant_value": 0.3}}}).run.case.interior.level
    np.testing.assert_allclose(level.prescribed.at(0.0), 0.3)
    assert lake(tmp_path, {"location": {"hypsograph": ""}}).run.case.interior.streams is None
