"""Runs whose output is written in parts, each a complete file, and put together at the end.

The parts of `OUT.nc` lie in the folder `OUT.nc.parts` beside it, with a note that says which run they are of;
at the end they become `OUT.nc`, and the folder goes.
"""

import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

import netCDF4
import xarray as xr

from .atomic import clear_left_over, replacing
from .dataset import count_frames, write_dataset

_NOTE = "run.json"

_LONGEST_UNWRITTEN = 60.0
"""Seconds of computing that a killed run may lose."""


def parts_folder(path: Path) -> Path:
    """Where the parts of a run lie that has not ended."""
    return path.with_name(path.name + ".parts")


def parts_of(path: Path) -> list[Path]:
    """The parts of a run that has not ended, in order; none of one that has not begun, or has ended."""
    found = sorted(parts_folder(path).glob("[0-9]*.nc"))
    return [part for number, part in enumerate(found) if part.stem == f"{number:06d}"]


class Parts:
    """What was computed of a run: parts on disk, and pieces that are not written yet.

    Raises:
        ValueError: parts of another run.
    """

    def __init__(self, path: Path, identity: str):
        self.path, self.folder, self._identity = path, parts_folder(path), identity
        self._note = self.folder / _NOTE
        self._pieces: list[xr.Dataset] = []
        self._clock = time.monotonic()
        self.paths: list[Path] = []
        if not self._note.exists():
            clear_left_over(self.folder)
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise ValueError(
                    f"{self.folder}: expected no folder, or one with parts of this run, got another one, "
                    f"without {_NOTE}; move it, or choose another output file."
                )
            return
        if json.loads(self._note.read_text(encoding="utf-8"))["identity"] != identity:
            raise ValueError(
                f"{self.folder}: expected parts of this run, got those of a run with another configuration; "
                "finish that one with its own configuration, or remove the folder, or choose another output "
                "file."
            )
        self.paths = parts_of(path)

    @property
    def n_frames(self) -> int:
        """Frames on disk, the start not counted."""
        return sum(count_frames(part) for part in self.paths) - bool(self.paths)

    def add(self, piece: xr.Dataset) -> None:
        self._pieces.append(piece)

    def are_due(self, n_frames: int) -> bool:
        """Whether more than so many frames, or frames of more than a minute, are not written yet."""
        held = sum(piece.sizes["time"] for piece in self._pieces)
        return held > n_frames or time.monotonic() - self._clock > _LONGEST_UNWRITTEN

    def write(self) -> None:
        """Make a part of the pieces."""
        if not self._pieces:
            return
        if not self._note.exists():
            with replacing(self._note) as temporary:
                temporary.write_text(json.dumps({"identity": self._identity}), encoding="utf-8")
        part = self.folder / f"{len(self.paths):06d}.nc"
        write_dataset(self._taken(), part)
        self.paths.append(part)
        self._clock = time.monotonic()

    def finish(self) -> None:
        """Make the file of the run, of all there is."""
        if not self.paths:
            write_dataset(self._taken(), self.path)
            return
        self.write()
        join_parts(self.paths, self.path)
        self._remove()

    def _remove(self) -> None:
        """Remove the parts and their folder, but for what is not of this package in it."""
        for path in (*reversed(self.paths), self._note):  # what a kill leaves is the beginning
            path.unlink(missing_ok=True)
        clear_left_over(self.folder)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _taken(self) -> xr.Dataset:
        pieces, self._pieces = self._pieces, []
        if len(pieces) == 1:
            return pieces[0]
        same: dict = dict.fromkeys(("compat", "join", "combine_attrs"), "override")
        return xr.concat(pieces, "time", data_vars="minimal", coords="minimal", **same)


def join_parts(parts: Sequence[Path], path: Path) -> None:
    """One file from many, one part in memory at a time."""
    with replacing(path) as temporary:
        _join(parts, temporary)


def _join(parts: Sequence[Path], target: Path) -> None:
    """One file from many, one part in memory at a time."""
    with netCDF4.Dataset(parts[0]) as first, netCDF4.Dataset(target, "w") as whole:
        whole.setncatts({name: first.getncattr(name) for name in first.ncattrs()})
        for name, dimension in first.dimensions.items():
            whole.createDimension(name, None if name == "time" else len(dimension))
        for name, variable in first.variables.items():
            created = whole.createVariable(
                name, variable.dtype, variable.dimensions, zlib=variable.ndim > 1, complevel=1
            )
            created.setncatts({key: variable.getncattr(key) for key in variable.ncattrs()})
            if "time" not in variable.dimensions:
                created[...] = variable[...]
        for path in parts:
            at = len(whole.dimensions["time"])
            with netCDF4.Dataset(path) as part:
                for name, variable in part.variables.items():
                    if "time" in variable.dimensions:
                        whole[name][at : at + variable.shape[0]] = variable[...]
