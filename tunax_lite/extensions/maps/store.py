"""Results of a map: a Zarr store (version 3) that can be read while it grows and is always consistent.

    time, z_center or z_face, and the axes of the map, such as lat and lon

Dimensions, names and units follow CF; heights are a variable, because every column has its own depth. Points
without water, and missing results, are NaN. A tile consists of rows of the first axis of the map, a piece of
frames: the part of a variable in both is one shard, a file that one process writes atomically. Attributes of
the store record the division, the provenance, the size and time of the input files and whether it is
complete. Until then the folder `restart` in the store holds the states from which its tiles continue.
"""

import dataclasses
import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...io.checksums import sealing, unsealed
from ...io.dataset import attributes_of
from ...io.errors import FileFormatError
from ...io.writing import OverwriteError, replacing_folder
from .setup import ColumnMap, Layout, MapRun, MapVariable

if TYPE_CHECKING:
    import zarr

_ROOT, _STATES = "zarr.json", "restart"
_INNER_BYTES = 2**20
"""Approximate size of a chunk in a shard: the least that a reader gets."""
_FINGERPRINT, _LAYOUT, _COMPLETE, _BROKEN, _INPUTS, _DIMS = (
    f"tunax_lite_{name}" for name in ("fingerprint", "layout", "complete", "not_finite", "inputs", "map_dims")
)


def map_dims(columns: ColumnMap) -> tuple[str, ...]:
    """Names of the axes of a map, in the order of its shape."""
    dims = tuple(dict.fromkeys(dim for along, *_ in columns.coordinates.values() for dim in _axes(along)))
    if len(dims) != len(columns.shape):
        expected = f"coordinates along the {len(columns.shape)} axes of the map"
        raise ValueError(f"map: expected {expected}, got some along {dims}.")
    return dims


def _axes(along: str | Sequence[str]) -> tuple[str, ...]:
    return (along,) if isinstance(along, str) else tuple(along)


class TileState(NamedTuple):
    """State of a tile.

    Args:
        done: number of its pieces that are written.
        broken: first frame affected of each failed column, otherwise -1.
        leaves: arrays of the `Restart` at the end of the last piece.
    """

    done: int
    broken: np.ndarray
    leaves: list[np.ndarray]


class MapStore:
    """An open store.

    Args:
        path: folder of the store.

    Raises:
        OverwriteError: another file or folder.
    """

    def __init__(self, path: Path):
        import zarr

        self.path = Path(path)
        try:
            known = json.loads((self.path / _ROOT).read_text(encoding="utf-8"))["attributes"]
            self.fingerprint, self.layout = str(known[_FINGERPRINT]), Layout(**known[_LAYOUT])
            self.is_complete, self._inputs = bool(known[_COMPLETE]), known[_INPUTS]
            self._rank = len(known[_DIMS])
            self._group = zarr.open_group(self.path, mode="r+", zarr_format=3)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise OverwriteError(f"{path} is not the store of a map; choose another output.") from error

    def write(self, name: str, values: np.ndarray, rows: slice, frames: slice | None = None) -> None:
        """Write rows of the map of a variable, and of its frames those of a piece."""
        array: Any = self._group[name]  # or a group, of other stores
        levels = array.ndim - self._rank - (frames is not None)
        array[(*(() if frames is None else (frames,)), *[slice(None)] * levels, rows)] = values

    def write_state(self, tile: int, state: TileState) -> None:
        """Replace the state of a tile."""
        leaves: dict[str, Any] = {f"leaf_{i}": leaf for i, leaf in enumerate(state.leaves)}
        with sealing(self.state_path(tile)) as file:
            np.savez(file, done=state.done, broken=state.broken, n_leaves=len(leaves), **leaves)

    def read_state(self, tile: int) -> TileState | None:
        """The state of a tile; `None` before its first piece.

        Raises:
            FileFormatError: a damaged file.
        """
        path = self.state_path(tile)
        if not path.exists():
            return None
        contents = unsealed(path, "state of a tile", "remove it: the tile is computed again")
        with np.load(contents, allow_pickle=False) as file:
            leaves = [file[f"leaf_{i}"] for i in range(int(file["n_leaves"]))]
            return TileState(int(file["done"]), file["broken"], leaves)

    def state_path(self, tile: int) -> Path:
        """Path of the state of a tile."""
        return self.path / _STATES / f"{tile:05d}.npz"

    def check_inputs(self, run: MapRun) -> None:
        """Raise `FileFormatError` if the input is not that with which the store was begun."""
        now = run.stamps()
        if now != self._inputs:
            several = [name for name, stamp in now if [name, stamp] not in self._inputs]
            got = f"other sizes or times of {', '.join(several) or 'fewer files'}"
            advice = "restore them, or start over with --overwrite"
            raise FileFormatError(self.path, "input", "the files with which it was begun", got, advice)

    def finish(self, broken: Sequence[Mapping[str, float]]) -> None:
        """Mark the store as complete, record failed columns, and remove the states of the tiles."""
        self._group.attrs.update({_COMPLETE: True, _BROKEN: list(broken)})
        shutil.rmtree(self.path / _STATES, ignore_errors=True)


def prepare(path: Path, run: MapRun, *, resume: bool, overwrite: bool) -> MapStore | None:
    """Check whether a map can be written there: returns its store to continue, or `None` to begin.

    Raises:
        OverwriteError: an existing store that must not be overwritten, or another map.
        FileFormatError: files of the input changed since the store was begun.
    """
    store = MapStore(path) if os.path.lexists(path) else None
    if store is None or overwrite:
        return None
    if not resume:
        advice = "use --resume to continue, --overwrite to start over, or choose another output"
        raise OverwriteError(f"{path} exists; {advice}.")
    if store.fingerprint != run.fingerprint:
        raise OverwriteError(
            f"{path}: this store has another configuration, parameters or input; choose another output, or "
            "use --overwrite to start over."
        )
    store.check_inputs(run)
    for left_over in path.rglob("*.partial"):  # of killed processes
        left_over.unlink(missing_ok=True)
    return store


def create(path: Path, run: MapRun, variables: Sequence[MapVariable], layout: Layout) -> MapStore:
    """Create a store with all axes and empty variables, atomically, replacing that of another map."""
    import xarray as xr  # takes long
    import zarr

    columns = run.columns
    if os.path.lexists(path):
        MapStore(path)  # nothing else is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    attributes = {
        "Conventions": "CF-1.11",
        "title": f"Water columns on a map {run.about.case}".strip(),
        "source": f"tunax_lite {run.about.version}",
        **{f"tunax_lite_{name}": text for name, text in dataclasses.asdict(run.about).items()},
        _DIMS: list(map_dims(columns)),
        _FINGERPRINT: run.fingerprint,
        _LAYOUT: dataclasses.asdict(layout),
        _COMPLETE: False,
        _BROKEN: [],
        _INPUTS: run.stamps(),
    }
    with replacing_folder(path) as temporary:
        axes = xr.Dataset(coords=columns.coordinates | _times(run), attrs=attributes)
        axes.to_zarr(temporary, zarr_format=3, consolidated=False)
        group = zarr.open_group(temporary, mode="r+")
        for variable in variables:
            _add_variable(group, variable, run, layout)
        with warnings.catch_warnings():  # xarray expects it, and zarr warns of it
            warnings.filterwarnings("ignore", message="Consolidated metadata")
            zarr.consolidate_metadata(temporary)
        (temporary / _STATES).mkdir()
    return MapStore(path)


def _times(run: MapRun) -> dict[str, tuple]:
    """Ends of the frames, and their bounds where there are means, as coordinates."""
    epoch = f"seconds since {run.columns.epoch:%Y-%m-%d %H:%M:%S}"
    time = {"standard_name": "time", "long_name": "time", "units": epoch, "calendar": "standard", "axis": "T"}
    if not run.means:
        return {"time": ("time", run.times, time)}
    bounds = np.stack([np.append(0.0, run.times[:-1]), run.times], axis=1)
    return {
        "time": ("time", run.times, time | {"bounds": "time_bounds"}),
        "time_bounds": (("time", "bounds"), bounds, {}),
    }


def _add_variable(group: "zarr.Group", variable: MapVariable, run: MapRun, layout: Layout) -> None:
    from zarr.codecs import BloscCodec, Crc32cCodec

    tracers = {} if variable.told is None else {variable.quantity: variable.told}
    shape, attributes = run.columns.shape, dict[str, Any](attributes_of(variable.quantity, tracers))
    own = (*variable.shape, min(layout.n_rows, shape[0]), *shape[1:])
    n_inner = max(1, _INNER_BYTES // (int(np.prod(own)) * variable.dtype.itemsize))
    while layout.n_frames % n_inner:  # whole chunks per shard
        n_inner -= 1
    time, chunks, shards = (len(run.times),), (n_inner, *own), (layout.n_frames, *own)
    if variable.is_static:
        time, chunks, shards = (), own, own
    if variable.is_height:
        attributes |= {"units": "m", "positive": "up", "standard_name": "height_above_mean_sea_level"}
    else:
        places = [name for name, (along, *_) in run.columns.coordinates.items() if _axes(along) != (name,)]
        others = [*(f"height_{dim[2:]}" for dim in variable.dims), *places]
        attributes |= {"coordinates": " ".join(others)} if others else {}
    if variable.is_mean:
        attributes |= {"cell_methods": "time: mean"}
    if variable.is_initial:
        attributes["long_name"] += f" at the start, {run.columns.epoch:%Y-%m-%d %H:%M}"
    group.create_array(
        variable.name,
        shape=(*time, *variable.shape, *shape),
        chunks=chunks,
        shards=shards,
        dtype=variable.dtype,
        fill_value=np.nan,
        # Readers of Zarr verify the checksum of every chunk.
        compressors=(BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec()),
        dimension_names=(*(["time"] if time else []), *variable.dims, *map_dims(run.columns)),
        attributes=attributes,
    )
