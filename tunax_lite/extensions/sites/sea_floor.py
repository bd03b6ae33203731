"""Depth of the column: metres, or a grid of elevations of the sea floor."""

from typing import TYPE_CHECKING

import numpy as np

from ...config import ConfigError
from ...io.axes import number_of
from ...io.netcdf import opened
from ...io.variables import error_in, error_of, listing, numbers_in
from .grids import around, mean_of_known
from .place import Section, Site, netcdf_files

if TYPE_CHECKING:
    import xarray as xr

_NAMES = ("elevation", "z", "Band1", "altitude", "topo", "bathymetry")


def metres(place: Site, where: str) -> Section:
    """Return the column above a sea floor at a known depth [m]."""
    depth = number_of(where) or 0.0
    if not 1.0 <= depth <= 12000.0:
        raise ConfigError(f"--depth {where}: expected metres from 1 to 12000, or a source; correct it.")
    return _column(place, depth)


def grid(place: Site, where: str) -> Section:
    """Return the column above the sea floor of a grid such as GEBCO or ETOPO."""
    with opened(netcdf_files(where, "--depth")[0]) as stored:
        return _column(place, -elevation_at(place, stored))


def elevation_at(place: Site, stored: "xr.Dataset") -> float:
    """Elevation of the sea floor [m] in an open file.

    Raises:
        FileFormatError: no elevation, or land at the position.
    """
    name = next((each for each in _NAMES if each in stored.variables), None)
    if name is None:
        expected = f"the elevation of the sea floor ({', '.join(_NAMES)})"
        raise error_in(stored, "elevation", expected, listing(stored), "use a grid of GEBCO or ETOPO")
    _, variable, weights = around(place, stored, name)
    elevation = float(mean_of_known(numbers_in(variable).reshape(weights.shape), weights))
    if not elevation < -1.0:
        got, advice = f"{elevation:.0f} m, which is land", "move the position, or give --depth METRES"
        raise error_of(variable, "a sea floor below -1 m at the position", got, advice)
    return elevation


def _column(place: Site, depth: float) -> Section:
    """Return a column down to the sea floor, with friction there, or its upper part without."""
    section: Section = {"depth": float(np.round(min(depth, place.column), 1))}
    if depth <= place.column:
        section["interior"] = {"bottom_friction": {}}
    return section
