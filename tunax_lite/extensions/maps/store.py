"""Results of a map: a Zarr store (version 3) that can be read while it grows and is always consistent.

    time, z_center or z_face, and the axes of the map, such as lat and lon

Dimensions, names and units follow CF; heights are a variable, because every column has its own depth. Points
without water, and missing results, are NaN. A tile consists of rows of the first axis of the map, a piece of
frames: the part of a variable in both is one shard, a file that one process writes atomically. Attributes of
the store record the division, the provenance and whether it is complete.
"""

import dataclasses
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..._types import JSON
from ...io.checksums import Digests, digest_of, digests_below, read_listed, write_listed
from ...io.dataset import attributes_of
from ...io.errors import FileFormatError
from ...io.protection import OverwriteError, Provenance, check_outputs, check_removable, make_folder, remove
from ...io.writing import replacing_folder
from .columns import ColumnMap
from .setup import Layout, MapVariable

if TYPE_CHECKING:
    import zarr

_ROOT, _KEPT = "zarr.json", "inputs.json"
_INNER_BYTES = 2**20
"""Of a chunk in a shard, about: what a reader gets at least."""
_FINGERPRINT, _LAYOUT, _COMPLETE, _BROKEN, INPUTS = (
    f"tunax_lite_{name}" for name in ("fingerprint", "layout", "complete", "not_finite", "inputs")
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


class MapStore:
    """An open store.

    Args:
        path: folder of the store.
    """

    def __init__(self, path: Path):
        self.path, self._group = Path(path), _open(Path(path))
        self.attributes: dict[str, JSON] = dict(self._group.attrs)
        self.layout = Layout(**self.attributes[_LAYOUT])

    @property
    def fingerprint(self) -> str:
        return str(self.attributes[_FINGERPRINT])

    @property
    def is_complete(self) -> bool:
        return bool(self.attributes[_COMPLETE])

    @property
    def parts(self) -> Path:
        """Folder for the states from which tiles continue, beside the store."""
        return parts_of(self.path)

    def write(self, rows: slice, frames: slice, values: Mapping[str, np.ndarray]) -> dict[str, str]:
        """Write a piece of a tile: arrays over time, levels and the rows of the map, NaN where missing.

        Returns the digests of its files, by path relative to the store.
        """
        piece, written = frames.start // self.layout.n_frames, {}
        for name, found in values.items():
            array = self._array(name)
            array[(frames, *[slice(None)] * (array.ndim - 1 - self._rank), rows)] = found
            written |= self._digest(array, name, rows, piece)
        return written

    def _array(self, name: str) -> "zarr.Array":
        return self._group[name]  # pyright: ignore[reportReturnType]

    def write_static(self, rows: slice, values: Mapping[str, np.ndarray]) -> dict[str, str]:
        """The same for variables without time."""
        written = {}
        for name, found in values.items():
            array = self._array(name)
            array[(*[slice(None)] * (array.ndim - self._rank), rows)] = found
            written |= self._digest(array, name, rows)
        return written

    def _digest(self, array: "zarr.Array", name: str, rows: slice, *piece: int) -> dict[str, str]:
        """Of the file of a tile; empty if there is none, where all values are missing."""
        levels = array.ndim - len(piece) - self._rank
        at = (*piece, *[0] * levels, rows.start // self.layout.n_rows, *[0] * (self._rank - 1))
        own = f"{name}/{array.metadata.encode_chunk_key(at)}"
        path = self.path / own
        return {own: digest_of(path) if path.exists() else ""}

    @property
    def _rank(self) -> int:
        return len(self.attributes["tunax_lite_map_dims"])

    def finish(self, broken: Sequence[Mapping[str, float]], parts: Mapping[str, str]) -> None:
        """Mark the store as complete, record failed columns, and remove the states of the tiles.

        `parts` are the digests of everything that was written to it.
        """
        listed = read_listed(self.path) | dict(parts)
        listed.pop(_ROOT, None)  # which changes now
        write_listed(self.path, listed)
        self._group.attrs.update({_COMPLETE: True, _BROKEN: list(broken)})
        write_listed(self.path, listed | {_ROOT: digest_of(self.path / _ROOT)})
        remove(self.parts)

    def clear_left_over(self) -> None:
        """Remove incomplete files of killed processes."""
        for path in self.path.rglob("*.partial"):
            path.unlink(missing_ok=True)


def parts_of(path: Path) -> Path:
    """Folder beside a store for the states from which a map continues."""
    return path.with_name(f"{path.name}.parts")


def digests_of_input(path: Path, columns: ColumnMap) -> list[tuple[str, str]]:
    """Paths and digests of the input of a store; those known from before are beside it."""
    kept = parts_of(path) / _KEPT
    digests = Digests(kept if kept.exists() else None)
    found = digests.of(columns.inputs)
    digests.save()
    return list(found.items())


def prepare(path: Path, fingerprint: str, *, resume: bool, overwrite: bool) -> MapStore | None:
    """Check whether a map can be written there: returns its store to continue, or `None` to begin.

    Raises:
        OverwriteError: an existing store that must not be overwritten, or another map.
    """
    check_outputs([path], overwrite=True, folders=True)  # inputs are never replaced
    check_removable(parts_of(path))
    store = _present(path)
    if store is None or overwrite:
        return None
    state = "complete" if store.is_complete else "unfinished"
    if not resume:
        advice = "add --overwrite to start over, or choose another output"
        if not store.is_complete:
            advice = f"add --resume to continue, {advice.removeprefix('add ')}"
        raise OverwriteError(path, "no store", f"the {state} store of a map", advice)
    if store.fingerprint != fingerprint:
        expected = "the store of this map, with the same configuration, parameters and input"
        raise OverwriteError(
            path, expected, "that of another one", "choose another output, or add --overwrite"
        )
    if store.is_complete:
        remove(store.parts)
    else:
        store.clear_left_over()
    return store


def _present(path: Path) -> MapStore | None:
    """The store at a path; what is no store of a map is an `OverwriteError`."""
    if not os.path.lexists(path):
        return None
    try:
        return MapStore(path)
    except FileFormatError as error:
        expected, got = "no file, or the store of a map", "another file or folder"
        raise OverwriteError(path, expected, got, "move it, or choose another output") from error


def create(
    path: Path,
    columns: ColumnMap,
    variables: Sequence[MapVariable],
    times: np.ndarray,
    layout: Layout,
    fingerprint: str,
    about: Provenance,
) -> MapStore:
    """Create a store with all axes and empty variables, atomically, replacing that of another map.

    `times` are the ends of the frames [s].
    """
    import zarr
    from zarr.storage import LocalStore

    dims, digests = map_dims(columns), Digests(parts_of(path) / _KEPT)
    _present(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    attributes = {
        "Conventions": "CF-1.11",
        "title": f"Water columns on a map {about.case}".strip(),
        "source": f"tunax_lite {about.version}",
        **{f"tunax_lite_{name}": text for name, text in dataclasses.asdict(about).items()},
        "tunax_lite_map_dims": list(dims),
        _FINGERPRINT: fingerprint,
        _LAYOUT: dataclasses.asdict(layout),
        _COMPLETE: False,
        _BROKEN: [],
        INPUTS: [list(each) for each in digests.of(columns.inputs).items()],
    }
    axes = columns.coordinates | _time_axes(columns, times, variables)
    places = [name for name, (along, *_) in columns.coordinates.items() if _axes(along) != (name,)]
    with replacing_folder(path) as temporary:
        group = zarr.create_group(LocalStore(temporary), zarr_format=3, attributes=attributes)
        for name, (along, values, *told) in axes.items():
            _add(group, name, np.asarray(values), _axes(along), dict(*told))
        for variable in variables:
            _add_variable(group, variable, len(times), columns.shape, dims, layout, places)
        _consolidate(temporary)
        write_listed(temporary, digests_below(temporary))
        make_folder(parts_of(path))
        digests.save()
    return MapStore(path)


def _time_axes(columns: ColumnMap, times: np.ndarray, variables: Sequence[MapVariable]) -> dict[str, tuple]:
    epoch = f"seconds since {columns.epoch:%Y-%m-%d %H:%M:%S}"
    time = {"standard_name": "time", "long_name": "time", "units": epoch, "calendar": "standard", "axis": "T"}
    if not any(variable.is_mean for variable in variables):
        return {"time": ("time", times, time)}
    bounds = np.stack([np.append(0.0, times[:-1]), times], axis=1)
    return {
        "time": ("time", times, time | {"bounds": "time_bounds"}),
        "time_bounds": (("time", "bounds"), bounds, {}),
    }


def _add(group: "zarr.Group", name: str, values: np.ndarray, dims: tuple[str, ...], told: dict) -> None:
    """An axis, written immediately."""
    values = values.astype(np.dtypes.StringDType()) if values.dtype == object else values
    if values.dtype.kind == "M":
        raise ValueError(f"map: expected the coordinate {name} as numbers or text, got dates; leave it out.")
    group.create_array(name, data=values, dimension_names=dims, attributes=_plain(told), chunks=values.shape)


def _add_variable(
    group: "zarr.Group",
    variable: MapVariable,
    n_times: int,
    shape: tuple[int, ...],
    dims: tuple[str, ...],
    layout: Layout,
    places: Sequence[str],
) -> None:
    from zarr.codecs import BloscCodec, Crc32cCodec

    is_static = variable.quantity.startswith("height_")
    own = (*variable.shape, min(layout.n_rows, shape[0]), *shape[1:])
    n_inner = max(1, _INNER_BYTES // (int(np.prod(own)) * variable.dtype.itemsize))
    while layout.n_frames % n_inner:  # whole chunks per shard
        n_inner -= 1
    time = () if is_static else ("time",)
    attributes = attributes_of(variable.quantity)
    if is_static:
        attributes |= {"units": "m", "positive": "up", "standard_name": "height_above_mean_sea_level"}
    else:
        others = [*(f"height_{dim[2:]}" for dim in variable.dims), *places]
        attributes |= {"coordinates": " ".join(others)} if others else {}
    if variable.is_mean:
        attributes |= {"cell_methods": "time: mean"}
    group.create_array(
        variable.name,
        shape=(*(() if is_static else (n_times,)), *variable.shape, *shape),
        chunks=own if is_static else (n_inner, *own),
        shards=own if is_static else (layout.n_frames, *own),
        dtype=variable.dtype,
        fill_value=np.nan,
        # A checksum of every chunk, which all readers of Zarr compare.
        compressors=(BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec()),
        dimension_names=(*time, *variable.dims, *dims),
        attributes=_plain(attributes),
    )


def _plain(attributes: Mapping[str, JSON]) -> dict[str, JSON]:
    """NumPy numbers as JSON numbers."""
    return {
        name: value.item() if isinstance(value, np.generic) else value for name, value in attributes.items()
    }


def _consolidate(path: Path) -> None:
    """Consolidate the metadata of all arrays, as xarray expects; zarr warns about it."""
    import zarr

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        zarr.consolidate_metadata(path)


def _open(path: Path) -> "zarr.Group":
    """Open the group of a store of this package; anything else raises `FileFormatError`."""
    import zarr

    expected, advice = "the store of a map (`tunax-lite map`)", "name such a store"
    try:
        known = json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"]
        if not {_FINGERPRINT, _LAYOUT, _COMPLETE} <= set(known):
            raise FileFormatError(path, "store", expected, "one of another program", advice)
        return zarr.open_group(path, mode="r+", zarr_format=3)
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(path, "store", expected, f"something else ({error})", advice) from error
