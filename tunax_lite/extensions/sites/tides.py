"""Tidal currents of an atlas on this machine, predicted by pyTMD."""

from pathlib import Path

import numpy as np

from ...io.errors import FileFormatError
from ...runtime.machine import needed
from .place import Section, Site, failures_of

_STEP = 600.0  # [s] between values


def pytmd(place: Site, where: str) -> Section:
    """Write the depth-mean tidal current; the column is driven by the surface slope that sustains it.

    Args:
        place: place and time of the run.
        where: MODEL@DIR, a model of pyTMD's database and the folder with its files, or FILE.json, a
            definition of a model with files relative to its folder.

    Raises:
        FileFormatError: no such atlas, or no current at the place.
    """
    compute = needed("pyTMD.compute", "--tides pytmd", "or leave out --tides")
    model, _, folder_or_file = where.rpartition("@")
    path = Path(folder_or_file).expanduser()
    if not (path.is_dir() if model else path.is_file()):
        expected = "MODEL@DIR with the folder of an atlas, or a definition FILE.json"
        raise FileFormatError(where or "--tides pytmd", "tides", expected, "none", "name one of them")
    atlas = {"model": model, "directory": path}
    if not model:
        atlas = {"definition_file": path, "directory": path.parent}
    time = np.arange(0.0, place.duration + 2.0 * _STEP, _STEP)
    longitude = np.array([(place.longitude + 180.0) % 360.0 - 180.0])
    latitude = np.array([place.latitude])
    epoch = place.start.timetuple()[:6]
    with failures_of("pyTMD", "check the files of the atlas"):
        current = compute.tide_currents(longitude, latitude, time, epoch=epoch, type="time series", **atlas)
        u, v = (0.01 * np.asarray(current[axis], dtype=float).reshape(-1) for axis in ("u", "v"))  # cm s-1
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        got, advice = "missing values, as on land", "move the position, or use another atlas"
        raise FileFormatError(path, "tides", "a current at the position", got, advice)
    place.write_series("tides.nc", {"time": ("s", time), "u": ("m s-1", u), "v": ("m s-1", v)})
    axes = {axis: {"path": "tides.nc", "variable": name} for axis, name in (("x", "u"), ("y", "v"))}
    return {"interior": {"pressure_gradient": {"kind": "mean_velocity", **axes}, "bottom_friction": {}}}
