"""Files of runs: in parts while they go on, with some of their variables, and those of other models.

The parts of `OUT.nc` lie in the folder `OUT.nc.parts` beside it, with a note that says which run they are of;
at the end they become `OUT.nc`, and the folder goes."""

import contextlib
import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import netCDF4
import numpy as np
import xarray as xr

from .dataset import SELECTED, count_frames, grid_names, read_trajectory, write_dataset
from .errors import ConfigError, FileFormatError, names_its_file
from .netcdf import read_netcdf
from .writing import clear_left_over, replacing
from .yaml_file import parse_yaml

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


def keep_variables(path: str | Path, names: Collection[str]) -> None:
    """Leave in a file the variables of these names, their means, and what says when and where they are.

    Such a file can be plotted and compared by any tool, but no run goes on from it.

    Args:
        path: a file of `write_trajectory`, replaced when the smaller one is complete.
        names: of variables.

    Raises:
        ValueError: a name that the file does not have.
    """
    with netCDF4.Dataset(path) as source, replacing(path) as temporary:
        absent = [name for name in names if name not in source.variables]
        if absent:
            raise ValueError(
                f"{path}: expected variables of the file, got {', '.join(absent)}; it has "
                f"{', '.join(source.variables)}."
            )
        with netCDF4.Dataset(temporary, "w") as target:
            target.setncatts({name: source.getncattr(name) for name in source.ncattrs()})
            target.setncattr(SELECTED, " ".join(names))
            for name, dimension in source.dimensions.items():
                target.createDimension(name, None if dimension.isunlimited() else len(dimension))
            wanted = {*names, *(f"{name}_mean" for name in names)}
            for name, variable in source.variables.items():
                if name in wanted or name in grid_names or _is_coordinate(source, variable):
                    _copy(variable, target)


def _is_coordinate(source: netCDF4.Dataset, variable: netCDF4.Variable) -> bool:
    """Whether any other variable names it as its coordinate."""
    return (
        any(
            variable.name in str(getattr(other, "coordinates", "")).split()
            for other in source.variables.values()
        )
        or variable.name in source.dimensions
    )


def _copy(variable: netCDF4.Variable, target: netCDF4.Dataset) -> None:
    is_text = variable.dtype is str
    made = target.createVariable(
        variable.name,
        variable.dtype,
        variable.dimensions,
        zlib=variable.ndim > 1 and not is_text,
        complevel=1,
    )
    made.setncatts({key: variable.getncattr(key) for key in variable.ncattrs()})
    variable.set_auto_maskandscale(False)
    made.set_auto_maskandscale(False)
    made[...] = variable[...]


_SECONDS = {"seconds": 1.0, "hours": 3600.0, "days": 86400.0}
_GOTM = {"temperature": "temp", "u": "u", "v": "v"}


@dataclass(frozen=True)
class StoredRun:
    """What a file holds of a run.

    Args:
        time: since the start [s], `(n_times,)`.
        z_face: heights of the faces [m], `(n_cells + 1,)`.
        profiles: of temperature, u and v, `(n_cells, n_times)`.
        dt: time step that it was made with [s]; NaN if the file does not say.
    """

    time: np.ndarray
    z_face: np.ndarray
    profiles: dict[str, np.ndarray]
    dt: float


@names_its_file("the result of a run")
def read_stored_run(path: str | Path) -> StoredRun:
    """Read a result of this package, or one of GOTM on a grid that does not move.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file of neither kind, of several columns, or without one of the profiles.
    """
    path = Path(path)
    dataset = read_netcdf(path)
    if "closure_state" in dataset.attrs:
        trajectory = read_trajectory(path)
        if trajectory.grid.batch_shape or trajectory.state.temperature.ndim != 2:
            raise FileFormatError(path, "temperature", "one column", "several", "choose one of them")
        profiles = {name: np.asarray(getattr(trajectory.state, name)).T for name in _GOTM}
        time = np.asarray(trajectory.time)
        return StoredRun(time - time[0], np.asarray(trajectory.grid.z_face), profiles, float("nan"))
    for name in ("time", "zi", *_GOTM.values()):
        if name not in dataset.variables:
            raise FileFormatError(
                path,
                name,
                "a result of tunax_lite, or of GOTM with temp, u, v and zi",
                "a file without it",
                "name another file, or let GOTM write these variables",
            )
    time = dataset["time"].values
    faces = np.atleast_2d(dataset["zi"].values.squeeze())
    profiles = {name: dataset[theirs].values.squeeze().T for name, theirs in _GOTM.items()}
    expected = (faces.shape[1] - 1, time.size)
    if np.ptp(faces, axis=0).max() > 0.0 or any(one.shape != expected for one in profiles.values()):
        raise FileFormatError(
            path, "zi", "one column whose faces do not move", f"faces {faces.shape}", "name another file"
        )
    unit = str(dataset["time"].attrs.get("units", "")).partition(" since ")[0]
    if unit not in _SECONDS:
        raise FileFormatError(
            path, "time", f"units of {', '.join(_SECONDS)} since", unit or "none", "correct the attribute"
        )
    return StoredRun(
        (time - time[0]) * _SECONDS[unit],
        faces[0] - faces[0, -1],
        profiles,
        _time_step(dataset.attrs.get("gotm_yaml", "")),
    )


def _time_step(text: str) -> float:
    """Of a configuration of GOTM."""
    try:
        return float(parse_yaml(str(text))["time"]["dt"])
    except (ConfigError, KeyError, TypeError, ValueError):
        return float("nan")
