"""Results of runs that were made elsewhere or earlier: temperature and velocity of one column over time."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .dataset import read_trajectory
from .errors import ConfigError, FileFormatError, names_its_file
from .netcdf import read_netcdf
from .yaml_file import parse_yaml

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
