"""Hypsographs and streams of GOTM's lake branch."""

import copy
from typing import Any

import numpy as np

from tests.errors import error_naming
from tests.extensions.gotm.folders import write_case, write_series
from tunax_lite.column.terms import StreamPlace
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.io.yaml_file import ConfigError

LAKE = {
    "location": {"hypsograph": "basin.dat"},
    "streams": {
        "river": {
            "method": 4,
            "flow": {"method": 2, "file": "river.dat", "column": 1},
            "temp": {"method": 2, "file": "river.dat", "column": 2},
        },
        "intake": {"method": 3, "zu": -2.0, "zl": -6.0, "flow": {"constant_value": -1.5}},
    },
}


def lake(folder, *changes) -> Any:
    (folder / "basin.dat").write_text("3 2\n0 9e5\n-4 4e5\n-20 0\n")
    write_series(folder / "river.dat", np.linspace(1.0, 3.0, 25), np.full(25, 7.0))
    return build_gotm(load_gotm(write_case(folder, copy.deepcopy(LAKE), *changes)))


def test_the_basin_and_its_streams_arrive(tmp_path):
    made = lake(tmp_path)
    case = made.run.case
    grid = case.grid
    assert float(grid.depth) == 20.0 and float(grid.area[-1]) == 9e5
    assert any("the depth is that of the hypsograph, 20 m" in note for note in made.report.differences)
    assert any("excess water from streams" in note for note in made.report.differences)
    assert case.interior.level is None
    parts = case.interior.streams.streams
    river, intake = parts["river"], parts["intake"]
    assert (river.place, intake.place) == (StreamPlace.INTERLEAVING, StreamPlace.RANGE)
    assert (float(intake.lower), float(intake.upper)) == (-6.0, -2.0)
    water = river.series.at(43200.0)
    np.testing.assert_allclose([water.discharge, water.temperature], [2.0, 7.0])
    assert intake.series.at(0.0).temperature is None


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
    report = lake(tmp_path, {"water_balance_method": 3}).report
    assert any("zeta.method: water_balance need each other" in error for error in report.errors)
    zeta = {"method": "water_balance", "constant_value": -0.4}
    made = lake(tmp_path, {"water_balance_method": 3, "mimic_3d": {"zeta": zeta}})
    level = made.run.case.interior.level
    assert float(level.initial) == -0.4 and level.prescribed is None
    np.testing.assert_allclose([level.basin.z[0], level.basin.z[-1]], [-20.0, 2.0])
    slope = (np.sqrt(9e5) - np.sqrt(4e5)) / 4.0
    np.testing.assert_allclose(np.sqrt(level.basin.area[-1]), np.sqrt(9e5) + 2.0 * slope)
    made = lake(tmp_path, {"mimic_3d": {"zeta": {"constant_value": 0.3}}})
    level = made.run.case.interior.level
    np.testing.assert_allclose(level.prescribed.at(0.0), 0.3)
    made = lake(tmp_path, {"location": {"hypsograph": ""}})
    assert made.run.case.interior.streams is None
