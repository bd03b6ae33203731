"""Columns that break down, and what the command, the engine and the figures say."""

import dataclasses
import fcntl
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.dates import date2num

from tests.cli.running import invoked
from tests.errors import error_naming
from tests.extensions.maps.synthetic import HOUR, RUN, SMALL, SyntheticMap
from tunax_lite.extensions.maps import map_figures
from tunax_lite.extensions.maps import store as stores
from tunax_lite.extensions.maps.plan import planned
from tunax_lite.extensions.maps.run import run_map
from tunax_lite.extensions.maps.sources import open_source
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.protection import OverwriteError
from tunax_lite.runtime.engine import ThisProcess, open_engine
from tunax_lite.runtime.engine.worker import Raised

ROOT = Path(__file__).parents[3]
BROKEN = 7
TINY = dataclasses.replace(RUN, columns=SyntheticMap(broken=(BROKEN, 40 * HOUR)))


@pytest.fixture(scope="module")
def made(plan, tmp_path_factory):
    path = tmp_path_factory.mktemp("broken") / "map.zarr"
    report = run_map(TINY, path, SMALL, plan.variables, ThisProcess())
    return path, report


@pytest.mark.long
def test_a_column_that_breaks_down_is_named_and_the_others_are_kept(made):
    path, report = made
    (broken,) = report.broken
    columns = TINY.columns
    assert broken == (columns.latitude[BROKEN], columns.longitude[BROKEN], 42 * HOUR)
    assert broken.described(columns.epoch) == "12 S 5 E before 2001-03-02 18:00"
    with xr.open_zarr(path, chunks=None) as store:
        assert store.attrs["tunax_lite_not_finite"] == [broken._asdict()]
        values = store.heat_content.values.reshape(16, -1)[:, columns.index]
    missing = np.zeros_like(values, dtype=bool)
    missing[6:, BROKEN] = True  # from the frame on in which it broke down
    np.testing.assert_array_equal(np.isnan(values), missing)


@pytest.mark.long
def test_figures_show_maps_and_points_of_a_store(made):
    figures = map_figures(made[0], [(-60.0, 4.0)])
    assert set(figures) == {
        *(f"map_{name}" for name in ("heat_content", "mixed_layer_depth", "sea_surface_temperature")),
        *(f"sections_{name}" for name in ("temperature", "temperature_mean", "eddy_diffusivity")),
    }
    of_map = figures["map_sea_surface_temperature"]
    assert "white: no value" in of_map.axes[-1].get_ylabel().replace("\n", " ")  # a column failed
    assert [panel.get_title() for panel in of_map.axes[:2]] == ["2001-03-01 00:00", "2001-03-02 06:00"]
    first, last = np.datetime64("2001-03-01"), np.datetime64("2001-03-05")
    for name, start in (("temperature", first), ("temperature_mean", first + np.timedelta64(6, "h"))):
        mesh: Any = figures[f"sections_{name}"].axes[0].collections[0]  # a QuadMesh
        edges = mesh.get_coordinates()[0, :, 0]
        middles = 0.5 * (edges[1:] + edges[:-1])[[0, -1]]
        np.testing.assert_allclose(middles, date2num([start, last]), atol=1e-6, err_msg=name)
    assert figures["sections_temperature"].axes[0].get_title() == "60°S 5°E"
    with error_naming(ValueError, "--point 0 N 180 E"):
        map_figures(made[0], [(0.0, 180.0)])
    with error_naming(FileFormatError, str(made[0].parent)):
        map_figures(made[0].parent)


def test_sites_have_names_sections_a_coast_and_say_who_is_missing(tmp_path):
    names = [f"site {i}" for i in range(10)]
    heights, temperature = np.full((2, 10), -1.0), np.random.default_rng(3).uniform(5.0, 9.0, (2, 2, 10))
    heights[:, 3] = np.nan  # left out
    surface = temperature[:, 1].copy()
    surface[:, 5] = np.nan
    coordinates = {
        "time": ("time", [0.0, 3600.0], {"units": "seconds since 2001-01-01 00:00:00"}),
        "height_center": (("z_center", "point"), heights),
        "lat": ("point", np.linspace(-40.0, 40.0, 10)),
        "lon": ("point", np.linspace(150.0, 210.0, 10)),
        "site": ("point", names),
    }
    about = {"long_name": "temperature", "units": "degC"}
    fields: dict = {"temperature": (("time", "z_center", "point"), temperature, about)}
    fields["sea_surface_temperature"] = ("time", "point"), surface, about
    store, coast = tmp_path / "s.zarr", tmp_path / "coast.geojson"
    xr.Dataset(fields, coordinates, {"tunax_lite_map_dims": ["point"]}).to_zarr(store, zarr_format=2)
    line = {"type": "LineString", "coordinates": [[170.0, 0.0], [179.0, 5.0], [-179.0, 6.0], [-170.0, 9.0]]}
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    features = [{"type": "Feature", "geometry": each} for each in (line, square, None)]
    coast.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    figures = map_figures(store, (), coast)
    panel = figures["map_sea_surface_temperature"].axes[0]
    assert {text.get_text() for text in panel.texts} == set(names) and len(panel.lines) == 2
    assert np.isnan(np.asarray(panel.lines[0].get_xdata())[2])  # no line across the map
    titles = [ax.get_title() for n in (1, 2) for ax in figures[f"sections_temperature_{n}"].axes]
    assert [title.split(",")[0] for title in titles if title] == [n for n in names if n != "site 3"]
    with error_naming(FileFormatError, "coast.geojson lines polygons"):
        coast.write_text('{"type": "FeatureCollection", "features": []}', encoding="utf-8")
        map_figures(store, (), coast)


@pytest.mark.long
def test_a_list_of_points_has_a_store_and_figures(tmp_path):
    path = tmp_path / "sites.zarr"
    run = dataclasses.replace(RUN, columns=SyntheticMap(shape=(5,)), means=(), duration=24 * HOUR)
    plan = planned(run, 2**31)
    run_map(run, path, plan.layout, plan.variables, ThisProcess())
    with xr.open_zarr(path, chunks=None) as store:
        assert store.temperature.dims == ("time", "z_center", "point")
        assert np.isfinite(store.temperature.values[..., [0, 1, 3, 4]]).all()
    assert "sections_temperature" in map_figures(path)


@pytest.mark.long
def test_what_is_no_store_is_not_written_over(tmp_path, made):
    other, damaged = tmp_path / "other.zarr", tmp_path / "damaged.zarr"
    other.mkdir()
    (other / "thesis.txt").write_text("")
    shutil.copytree(made[0], damaged)
    (damaged / "zarr.json").write_text("{")
    for path, resume, parts in (
        (other, False, str(other)),
        (damaged, True, str(damaged)),
        (made[0], False, "complete --overwrite"),
    ):
        with error_naming(OverwriteError, parts):
            stores.prepare(path, TINY.fingerprint, resume=resume, overwrite=path is other)
    assert (other / "thesis.txt").exists()


@pytest.mark.long
def test_the_command_runs_refuses_goes_on_and_draws(tmp_path):
    store = tmp_path / "ocean.zarr"
    command = ["map", ROOT / "configs/maps/synthetic.yaml", "--output", store]
    command += ["--set", "time.duration=172800", "--set", "model.closure.name=pacanowski_philander"]

    def run(code: int, *more: str) -> str:
        return invoked(*command, *more, code=code).output

    said = run(0)
    assert "89 columns of 9 x 10 points, 96 steps of 1800 s, 2 frames" in said and f"wrote {store}" in said
    assert "--overwrite" in run(2)
    assert "complete" in run(0, "--resume")
    with open(tmp_path / ".ocean.zarr.lock", "w") as lock:  # as another process holds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "only process" in run(2, "--resume")
    assert "another" in run(2, "--resume", "--set", "time.step=900")
    assert "expected at least" in run(1, "--overwrite", "--memory", "1MB")
    assert "--memory" in run(2, "--overwrite", "--memory", "2 pages")
    drawn = invoked("plot", store, "--output", tmp_path).output
    assert drawn.count("wrote") == 3 and (tmp_path / "ocean_map_mixed_layer_depth.png").is_file()
    assert "--point 91,0" in invoked("plot", store, "--point", "91,0", code=2).output


def test_an_engine_that_cannot_be_says_why_and_errors_come_back_from_workers():
    for workers, scheduler, parts in ((2, "tcp://127.0.0.1:1", "--workers --scheduler"), (0, None, "1 0")):
        with error_naming(ValueError, parts), open_engine(workers, scheduler=scheduler):
            pass
    told = FileFormatError("ocean.nc", "wind", "numbers", "none", "fill them")
    error = pickle.loads(pickle.dumps(Raised(type(told), told.args))).error()
    assert isinstance(error, FileFormatError) and str(error) == str(told)


class _Runs:
    """Makes a file where it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_store_that_would_run_a_program_is_refused_before_it_is_read(tmp_path):
    """Versions of zarr before 3.4 unpickle what a store of version 2 says; later ones refuse most of it."""
    array = tmp_path / "sea.zarr" / "x"
    array.mkdir(parents=True)
    (array.parent / ".zgroup").write_text('{"zarr_format": 2}')
    told = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "compressor": None}
    filters = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]
    told |= {"fill_value": None, "order": "C", "filters": filters}
    (array / ".zarray").write_text(json.dumps(told))
    (array / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    (array / "0").write_bytes(pickle.dumps([_Runs(str(tmp_path / "ran"))]))
    with error_naming(FileFormatError, "sea.zarr x pickle"):
        open_source("sea.zarr", lambda name: tmp_path / name)
    assert not (tmp_path / "ran").exists()
