"""Frames of a run as variables of a file: sliced, joined and written without xarray.

Importing xarray takes half a second and, where Dask is installed, writing with it another half.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .writing import replacing


class Frames(NamedTuple):
    """Variables and coordinates by name, each `(dims, values, attributes)`, and global attributes."""

    variables: dict[str, tuple]
    coordinates: dict[str, tuple]
    attributes: dict[str, Any]  # texts and numbers, as stored in files

    @property
    def n_frames(self) -> int:
        return len(self.coordinates["time"][1])

    def after(self, n_frames: int) -> "Frames":
        """The frames without the first `n_frames`."""
        return joined([self], n_frames)


def joined(pieces: Sequence[Frames], start: int = 0) -> Frames:
    """Join pieces, each from frame `start` on; constant variables are taken from the first."""

    def along_time(name: str, given: tuple, place: int) -> tuple:
        dims, values, attributes = given
        if "time" not in (dims if isinstance(dims, tuple) else (dims,)):
            return given
        return dims, np.concatenate([piece[place][name][1][start:] for piece in pieces]), attributes

    first = pieces[0]
    together = [
        {name: along_time(name, given, place) for name, given in first[place].items()} for place in (0, 1)
    ]
    return Frames(together[0], together[1], first.attributes)


def write_frames(frames: Frames, path) -> None:
    """Write to NetCDF atomically, as `replacing` does; the file equals that of `write_dataset`."""
    import netCDF4  # takes long

    given = frames.variables | frames.coordinates
    found = {
        name: ((dims,) if isinstance(dims, str) else tuple(dims), np.asarray(values), attributes)
        for name, (dims, values, attributes) in given.items()
    }
    auxiliary = {name: found[name][0] for name in frames.coordinates if name not in found[name][0]}
    with replacing(path) as temporary, netCDF4.Dataset(temporary, "w") as file:
        file.setncatts(frames.attributes)
        for dims, values, _ in found.values():
            for dim, size in zip(dims, values.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, size)
        for name, (dims, values, attributes) in found.items():
            kind = str if values.dtype.kind in "OU" else values.dtype
            given = dict(attributes)
            packed = {"zlib": len(dims) > 1, "complevel": 1, "shuffle": True}
            packed["fletcher32"] = len(dims) > 0 and kind is not str
            missing = given.pop("_FillValue", False)
            variable = file.createVariable(name, kind, dims, fill_value=missing, **packed)
            variable.setncatts(given)
            beside = [other for other, own in auxiliary.items() if set(own) <= set(dims)]
            if beside and name not in auxiliary and name not in dims:
                variable.coordinates = " ".join(sorted(beside))
            variable[...] = values.astype(object) if kind is str else values
