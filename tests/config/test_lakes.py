"""Lakes in configurations: hypsographies of files and numbers, and streams."""

import gsw
import numpy as np
import pytest
import yaml

from tests.errors import error_naming
from tunax_lite.column.terms.streams import StreamPlace
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.io import FileFormatError, read_hypsography

DAY = 86400.0
PLACE = {"format": "site", "latitude": 53.9, "longitude": -9.5, "start_time": "2010-01-01T00:00:00"}
WATER = {"depth": 12.0, "temperature": 10.0, "salinity": 0.0}
CASE = {**PLACE, **WATER, "duration": DAY, "fluxes": {"heat_flux": -50.0}}
TABLE = {"z": [-12.0, -4.0, 0.0], "area": [0.0, 4e5, 9e5]}
RIVER = {"discharge": {"time": [0.0, DAY], "values": [1.0, 3.0]}, "temperature": 6.0}


@pytest.fixture
def lake(tmp_path):
    def build(**case):
        times, grid = {"dt": 3600.0, "output_interval": DAY}, {"kind": "uniform", "n_cells": 6}
        text = yaml.safe_dump({"case": CASE | case, "grid": grid, "time": times})
        (tmp_path / "lake.yaml").write_text(text)
        return build_run(load_run(tmp_path / "lake.yaml")).case

    return build


def test_a_hypsography_of_numbers_or_a_file_in_every_order(lake, tmp_path):
    areas = np.interp([-12, -10, -8, -6, -4, -2, 0], TABLE["z"], np.sqrt(TABLE["area"])) ** 2
    np.testing.assert_allclose(lake(hypsography=TABLE).grid.area, areas, rtol=1e-13)
    (tmp_path / "basin.csv").write_text('"Depth_meter","Area_meterSquared"\n0,9e5\n4,4e5\n12,0\n')
    np.testing.assert_allclose(lake(hypsography={"path": "basin.csv"}).grid.area, areas, rtol=1e-13)
    assert lake().grid.area is None
    quoted = (
        '"","Depth_meter","basin","Area_meterSquared"\n"1",0,"north, deep","9e5"\n"2",4,all,4e5\n"3",12,,0\n'
    )
    for text in (
        quoted,
        "3 1\n-12 0\n-4 4e5\n0 9e5\n",
        "3\t2\n0\t9e5\n-4\t4e5\n-12\t0\n",
        "3 3\n0 0\n8 4e5\n12 9e5\n",
        "! from the bottom\n3 4\n12 9e5\n8 4e5\n0 0\n",
        "z [m],area [m2]\n-12,0\n-4,4e5\n0,9e5\n",
    ):
        (tmp_path / "basin.dat").write_text(text)
        z, area = read_hypsography(tmp_path / "basin.dat", 12.0)
        np.testing.assert_array_equal(z, TABLE["z"])
        np.testing.assert_array_equal(area, TABLE["area"])


def test_broken_hypsographies(tmp_path):
    for text, message in (
        ("2 1\n", "basin.dat 1"),
        ("9 1\n-2 1\n0 2\n", "1 9 2"),
        ("2 7\n-2 1\n0 2\n", "1 2 3 4"),
        ("2 1\n-2 one\n0 2\n", "2 -2 one"),
        ("2 1\n-2 -1\n0 2\n", "2 [m2] -1"),
        ("2 1\n0 1\n0 2\n", "3 0"),
        ("2 3\n0 1\n5 2\n", "basin.dat depth"),
        ("depth,area,volume\n0,9e5,1\n4,,7\n", "3 4,,7"),
        ("depth,area\n0,inf\n4,1\n", "2 inf"),
        ("# nothing\n", "basin.dat lines"),
        ("level,area\n-2,1\n0,2\n", "1 level area depth height"),
    ):
        (tmp_path / "basin.dat").write_text(text)
        with error_naming(FileFormatError, message):
            read_hypsography(tmp_path / "basin.dat")


def test_streams_arrive_with_what_they_bring(lake):
    outlet = {"discharge": -2.0, "place": "range", "lower": -5.0, "upper": -1.0}
    brought = {"npzd_nut": 40.0, "dye": {"time": [0.0, DAY], "values": [1.0, 3.0]}}
    case = lake(
        hypsography=TABLE,
        temperature_kind="in_situ",
        interior={"streams": {"river": RIVER | {"tracers": brought}, "outlet": outlet}},
        tracers={"dye": 0.0},
        terms={"life": {"name": "biogeochemistry", "models": {"npzd": "npzd"}}},
    )
    river, out = (case.interior.streams.streams[name] for name in ("river", "outlet"))
    water = river.series.at(0.5 * DAY)
    assert (river.place, out.place) == (StreamPlace.SURFACE, StreamPlace.RANGE)
    assert float(water.discharge) == 2.0 and float(out.lower) == -5.0
    # The column carries conservative temperature, which is 5 % higher in fresh water.
    np.testing.assert_allclose(water.temperature, gsw.CT_from_t(0.0, 6.0, 0.0), rtol=1e-12)
    assert out.series.at(0.0).temperature is None
    assert {name: float(value) for name, value in water.tracers.items()} == {"npzd_nut": 40.0, "dye": 2.0}


def test_levels_arrive(lake):
    basin = TABLE | {"top": 1.0}
    free = lake(hypsography=basin, interior={"level": {"initial": 0.2}}).interior.level
    assert float(free.initial) == 0.2 and free.prescribed is None and float(free.basin.z[-1]) == 1.0
    falling = {"time": [0.0, DAY], "values": [0.5, -0.5]}
    case = lake(hypsography=basin, interior={"surface_elevation": falling})
    assert case.interior.surface_elevation is None
    np.testing.assert_allclose(case.interior.level.prescribed.at(0.25 * DAY), 0.25)


def level(**interior):
    return {"hypsography": TABLE, "interior": interior}


def streams(**changed):
    return level(streams={"a": RIVER | changed})


IMPOSSIBLE = [
    ({"interior": {"streams": {"a": RIVER}}}, "case hypsography"),
    (level(surface_elevation=0.5), "case.interior.surface_elevation -12 0 0.5 top"),
    (level(level={"initial": 0.5}), "case.interior.level -12 0 0.5 top"),
    ({"interior": {"level": {}}}, "case.interior.level hypsography"),
    (level(level={}, surface_elevation=-0.5), "case.interior level surface_elevation"),
    ({"hypsography": {"z": [-12.0, 0.0]}}, "case.hypsography path z area"),
    ({"hypsography": TABLE | {"area": [1.0, 2.0]}}, "case.hypsography 3 2"),
    ({"hypsography": {"z": [-9.0, 0.0], "area": [1.0, 2.0]}}, "case.hypsography -12 -9"),
    (streams(place="interleaving", temperature=None), "case.interior.streams.a temperature"),
    (streams(tracers={"dye": 1.0}), "case.interior.streams.a.tracers.dye none dye"),
]


def test_lakes_that_cannot_be(lake):
    for case, message in IMPOSSIBLE:
        with error_naming(ConfigError, message):
            lake(**case)
