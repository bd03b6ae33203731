"""Results of a map: a Zarr store (version 3) that can be read while it grows and is always consistent.

    time, z_center or z_face, and the axes of the map, such as lat and lon

Dimensions, names and units follow CF; heights are a variable, because every column has its own depth. Points
without water, and missing results, are NaN. A tile consists of rows of the first axis of the map, a piece of
frames. Each variable has one shard per tile and piece, a file that one process writes atomically. Attributes
of the store record the division, the provenance, the size and time of the input files and whether it is
complete. Until then the folder `restart` in the store holds the states from which its tiles continue.
"""

import dataclasses
import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...column.trajectory import Restart
from ...io.checksums import sealing, unsealed
from ...io.dataset import attributes_of
from ...io.errors import FileFormatError
from ...io.writing import OverwriteError, replacing_folder
from .plan import Plan
from .setup import INITIAL, Layout, MapRun

if TYPE_CHECKING:
    import zarr

    from .gridded import GriddedColumns

_ROOT, _STATES = "zarr.json", "restart"
_INNER_BYTES = 2**20
"""Approximate size of a chunk in a shard, the smallest unit that can be read [bytes]."""
_FINGERPRINT, _LAYOUT, _COMPLETE, _BROKEN, _INPUTS = (
    f"tunax_lite_{name}" for name in ("fingerprint", "layout", "complete", "not_finite", "inputs")
)


def map_dims(columns: "GriddedColumns") -> tuple[str, ...]:
    """Names of the axes of a map, in the order of its shape."""
    return ("lat", "lon") if len(columns.shape) == 2 else ("point",)


class MapStore:
    """An open store.

    Args:
        path: folder of the store.

    Attributes:
        fingerprint: that of the `MapRun` it was created for.
        layout: division into tiles and pieces.
        is_complete: whether all tiles are finished.

    Raises:
        OverwriteError: a path that is not the store of a map.
    """

    def __init__(self, path: Path):
        import zarr

        self.path = Path(path)
        try:
            known = json.loads((self.path / _ROOT).read_text(encoding="utf-8"))["attributes"]
            self.fingerprint, self.layout = str(known[_FINGERPRINT]), Layout(**known[_LAYOUT])
            self.is_complete, self._inputs = bool(known[_COMPLETE]), known[_INPUTS]
            self._group = zarr.open_group(self.path, mode="r+", zarr_format=3)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise OverwriteError(f"{path} is not the store of a map; choose another output.") from error

    def write(self, name: str, values: np.ndarray, rows: slice, frames: slice | None = None) -> None:
        """Write a variable `(n_frames, ..., n_rows, ...)` at some rows of the map and frames."""
        array: Any = self._group[name]  # zarr types it as array or group
        at = {"time": frames, "lat": rows, "point": rows}
        array[tuple(at.get(dim, slice(None)) for dim in array.metadata.dimension_names)] = values

    def write_state(self, tile: int, n_done: int, broken: np.ndarray, end: Restart) -> None:
        """Replace the state of a tile: count of written pieces, first failed frame per column, last state."""
        with sealing(self.state_path(tile)) as file:
            np.savez(file, np.array(n_done), broken, *map(np.asarray, jax.tree.leaves(end)))

    def read_state(self, tile: int) -> tuple[int, np.ndarray, list[np.ndarray]] | None:
        """The arguments of `write_state`, `end` as a list of its arrays; `None` before the first piece.

        Raises:
            FileFormatError: a damaged file.
        """
        path = self.state_path(tile)
        if not path.exists():
            return None
        contents = unsealed(path, "state of a tile", "remove it: the tile is computed again")
        with np.load(contents, allow_pickle=False) as file:
            n_done, broken, *leaves = (file[f"arr_{i}"] for i in range(len(file.files)))
        return int(n_done), broken, leaves

    def state_path(self, tile: int) -> Path:
        """Path of the state of a tile."""
        return self.path / _STATES / f"{tile:05d}.npz"

    def check_inputs(self, run: MapRun) -> None:
        """Raise `FileFormatError` if input files have changed since the store was created."""
        now = run.stamps()
        if now != self._inputs:
            changed = [name for name, stamp in now if [name, stamp] not in self._inputs]
            got = f"other sizes or times of {', '.join(changed)}" if changed else "fewer files"
            advice = "restore them, or start over with --overwrite"
            raise FileFormatError(self.path, "input", "the files that it was created with", got, advice)

    def finish(self, broken: Sequence[Mapping[str, float]]) -> None:
        """Mark the store as complete, record failed columns, and remove the states of the tiles."""
        self._group.attrs.update({_COMPLETE: True, _BROKEN: list(broken)})
        shutil.rmtree(self.path / _STATES, ignore_errors=True)


def existing_store(path: Path, run: MapRun, *, resume: bool, overwrite: bool) -> MapStore | None:
    """Open the store to continue, or return `None` where a new one can be created.

    Raises:
        OverwriteError: an existing store that must not be overwritten, or another map.
        FileFormatError: files of the input changed since the store was created.
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


def create_store(path: Path, run: MapRun, plan: Plan) -> MapStore:
    """Create a store with all axes and empty variables, atomically; an existing store is replaced.

    Raises:
        OverwriteError: `path` exists and is not the store of a map.
    """
    import xarray as xr  # takes long
    import zarr

    columns = run.columns
    if os.path.lexists(path):
        MapStore(path)  # raises an error for anything else
    path.parent.mkdir(parents=True, exist_ok=True)
    attributes = {
        "Conventions": "CF-1.11",
        "title": f"Water columns on a map {run.about.case}".strip(),
        "source": f"tunax_lite {run.about.version}",
        **run.about.attributes,
        _FINGERPRINT: run.fingerprint,
        _LAYOUT: dataclasses.asdict(plan.layout),
        _COMPLETE: False,
        _BROKEN: [],
        _INPUTS: run.stamps(),
    }
    epoch = f"seconds since {columns.epoch:%Y-%m-%d %H:%M:%S}"
    time = {"standard_name": "time", "long_name": "time", "units": epoch, "calendar": "standard", "axis": "T"}
    coordinates = columns.coordinates | {"time": ("time", run.times, time)}
    with replacing_folder(path) as temporary:
        axes = xr.Dataset(coords=coordinates, attrs=attributes)
        axes.to_zarr(temporary, zarr_format=3, consolidated=False)
        group = zarr.open_group(temporary, mode="r+")
        for name, values in plan.structure.start.items():
            _add_variable(group, name, values.shape[:-1], values.dtype, run, plan.layout, has_time=False)
        for name, values in plan.structure.values.items():
            _add_variable(group, name, values.shape[1:-1], values.dtype, run, plan.layout, has_time=True)
        with warnings.catch_warnings():  # xarray expects consolidated metadata, and zarr warns of them
            warnings.filterwarnings("ignore", message="Consolidated metadata")
            zarr.consolidate_metadata(temporary)
        (temporary / _STATES).mkdir()
    return MapStore(path)


def _add_variable(
    group: "zarr.Group",
    name: str,
    column_shape: tuple[int, ...],
    dtype: np.dtype,
    run: MapRun,
    layout: Layout,
    *,
    has_time: bool,
) -> None:
    """Add an empty variable, with or without time, to a store."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    columns, case = run.columns, run.first_column
    n = case.grid.n_cells
    vertical = {(): (), (n,): ("z_center",), (n + 1,): ("z_face",)}[column_shape]
    attributes: dict[str, Any] = attributes_of(name.removeprefix(INITIAL), case.tracer_units)
    if name.startswith("height_"):
        attributes |= {"units": "m", "positive": "up", "standard_name": "height_above_mean_sea_level"}
    else:
        auxiliary = [f"height_{dim[2:]}" for dim in vertical]
        auxiliary += [name for name, (dims, *_) in columns.coordinates.items() if dims != (name,)]
        if auxiliary:
            attributes["coordinates"] = " ".join(auxiliary)
    if name.startswith(INITIAL):
        attributes["long_name"] += f" at the start, {columns.epoch:%Y-%m-%d %H:%M}"
    tile = (*column_shape, min(layout.n_rows, columns.shape[0]), *columns.shape[1:])
    n_inner = max(1, _INNER_BYTES // (int(np.prod(tile)) * dtype.itemsize))
    while layout.n_frames % n_inner:  # whole chunks per shard
        n_inner -= 1
    group.create_array(
        name,
        shape=(*([len(run.times)] if has_time else []), *column_shape, *columns.shape),
        chunks=(n_inner, *tile) if has_time else tile,
        shards=(layout.n_frames, *tile) if has_time else tile,
        dtype=dtype,
        fill_value=np.nan,
        # Readers of Zarr verify the checksum of every chunk.
        compressors=(BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec()),
        dimension_names=(*(["time"] if has_time else []), *vertical, *map_dims(columns)),
        attributes=attributes,
    )
