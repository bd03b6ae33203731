"""Maps that continue: with the same input only, and from nothing that was damaged."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from tests.errors import error_naming
from tests.extensions.maps.ocean import SETTINGS, ocean
from tests.extensions.maps.synthetic import HOUR, RUN, SMALL, assert_identical, interrupt
from tunax_lite import Grid, Model, PacanowskiPhilander
from tunax_lite.extensions.maps import GridPoints, map_input
from tunax_lite.extensions.maps import store as stores
from tunax_lite.extensions.maps.gridded import GriddedColumns
from tunax_lite.extensions.maps.run import run_map
from tunax_lite.extensions.maps.setup import Layout, MapRun, MapVariable
from tunax_lite.io.errors import FileFormatError
from tunax_lite.runtime.engine import ThisProcess


@pytest.fixture(scope="module")
def unfinished(plan, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("unfinished") / "map.zarr"
    stores.create(path, RUN, plan.variables, SMALL)
    interrupt(RUN, path, list(RUN.tiles(SMALL)))
    return path


def flip(path: Path, share: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(share * len(data))] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def exchange(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


TEMPERATURE = "temperature/c/{piece}/0/{tile}/0"
DAMAGE = {
    "an empty state": (lambda state, part: state(1).write_bytes(b""), "1.npz"),
    "states exchanged": (lambda state, part: exchange(state(0), state(1)), "expected tile 0 of the"),
    "a chunk that is gone": (lambda state, part: part(0, 1).unlink(), "got no file"),
    "chunks exchanged": (lambda state, part: exchange(part(0, 0), part(0, 1)), "expected SHA-256"),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_tile_with_a_damaged_file_is_computed_again(unfinished, whole, tmp_path, kind):
    path, said = tmp_path / "map.zarr", []
    for folder in (unfinished, stores.parts_of(unfinished)):
        shutil.copytree(folder, tmp_path / folder.name)
    store = stores.prepare(path, RUN.fingerprint, resume=True, overwrite=False)
    assert store is not None
    assert all((state := store.read_state(tile)) and 0 < state.done < 4 for tile in (0, 1))
    damage, named = DAMAGE[kind]
    damage(store.state_path, lambda piece, tile: path / TEMPERATURE.format(piece=piece, tile=tile))
    run_map(RUN, path, SMALL, (), ThisProcess(), store=store, announce=said.append)
    assert named in said[0] and "is computed again" in said[0]
    assert len(said) == (2 if "exchanged" in kind else 1)
    assert_identical(path, whole)


@pytest.mark.long
def test_a_complete_store_is_complete(whole, tmp_path):
    chunk = TEMPERATURE.format(piece=2, tile=1)
    damages = ((chunk, flip), (chunk, cut), ("zarr.json", lambda it: flip(it, 0.9)))
    for number, (name, damage) in enumerate(damages):
        path = tmp_path / f"{number}.zarr"
        shutil.copytree(whole, path)
        damage(path / name)
        named = path if name == "zarr.json" else path / name
        with error_naming((FileFormatError, stores.OverwriteError), str(named)):
            store = stores.prepare(path, RUN.fingerprint, resume=True, overwrite=False)
            run_map(RUN, path, SMALL, (), ThisProcess(), store=store)
    # Chunks have the checksum of Zarr, which xarray compares.
    with xr.open_zarr(tmp_path / "0.zarr", chunks=None) as store, error_naming(ValueError, "checksum"):
        store.temperature.load()


LEVELS, LAYOUT = Grid.stretched(1.0, 8, surface_zoom=1.0), Layout(1, 2, 9, 9, 0)
FLOAT, SST = np.dtype(float), "sea_surface_temperature"
VARIABLES = (
    MapVariable("height_center", "height_center", (8,), ("z_center",), FLOAT),
    MapVariable("height_face", "height_face", (9,), ("z_face",), FLOAT),
    MapVariable(SST, SST, (), (), FLOAT),
    MapVariable(f"initial_{SST}", SST, (), (), FLOAT, is_initial=True),
)


def run_on(path: Path) -> MapRun:
    points = GridPoints(spacing=40.0, latitude=(-40.0, 40.0))
    columns = GriddedColumns(map_input(**SETTINGS, points=points), LEVELS, sources=[str(path)])
    return MapRun(Model(PacanowskiPhilander()), columns, HOUR, 6 * HOUR, 48 * HOUR, (SST,))


def triple_the_wind(path: Path) -> None:
    """Or undo that: in the middle of the file, whose size and times remain; or in a chunk of the store."""
    if path.is_file():
        data, found = path.read_bytes(), path.stat()
        before, after = (np.full(20, value).tobytes() for value in (0.1, 0.3))
        if before not in data:  # tripled already
            before, after = after, before
        assert data.count(before) > 100
        path.write_bytes(data.replace(before, after))
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    else:
        stress = zarr.open_group(path, mode="r+")["taux"]
        stress[...] = 3.0 * np.asarray(stress[...])  # type: ignore


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_a_map_does_not_continue_with_another_input(tmp_path, kind):
    source = tmp_path / f"ocean.{kind}"
    values = ocean(np.arange(-40.0, 41.0, 2.0), np.arange(0.0, 360.0, 2.0))
    values = values[["thetao", "taux", "so", "heat"]]  # 2.1 MB, the stress amid
    values.to_netcdf(source) if kind == "nc" else values.to_zarr(source, zarr_format=3, consolidated=False)
    path, run = tmp_path / "map.zarr", run_on(source)
    stores.create(path, run, VARIABLES, LAYOUT)
    interrupt(run, path, list(run.tiles(LAYOUT)))
    triple_the_wind(source)
    other = run_on(source)
    assert other.fingerprint == run.fingerprint  # of settings; what is in the file is compared by itself
    store = stores.prepare(path, other.fingerprint, resume=True, overwrite=False)
    with error_naming(FileFormatError, f"{source} SHA-256 map.zarr --overwrite"):
        run_map(other, path, LAYOUT, (), ThisProcess(), store=store)
    shutil.rmtree(path)
    shutil.rmtree(stores.parts_of(path))
    changed = []

    def change(done: float, where: str) -> None:
        if not changed:
            changed.append(triple_the_wind(source))

    again = run_on(source)
    with error_naming(FileFormatError, f"{source} SHA-256 {path} --overwrite"):
        run_map(again, path, LAYOUT, VARIABLES, ThisProcess(), report=change)  # while it runs
    assert not stores.MapStore(path).is_complete
