"""A mean salinity profile from another file, such as a climatology, for converting temperatures."""

import warnings

import numpy as np

from .axes import find_axis, read_vertical
from .errors import names_its_file
from .netcdf import read_contents
from .yaml_file import NAMES


@names_its_file("a file with salinity over depth")
def read_salinity(
    path, *, variable: str | None = None, unit: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Heights [m], increasing, and the salinity there, averaged over all times and points of the file.

    The result is practical salinity and fits the argument `salinity` of `read_oceansites` and `read_argo`.

    Args:
        path: NetCDF file or xarray dataset with a coordinate of depth or height.
        variable: name in the file; by default one of those used for moorings, or found by CF standard name.
        unit: overrides the one in the file.

    Raises:
        FileFormatError: no such variable, fewer than three levels, or no value.
    """
    file, known = read_contents(path, valid_range=True), NAMES["oceansites"]["salinity"]
    advice = "name it (variable)"
    found = None if variable else file.find("salinity", known["names"], known["kinds"], advice)
    found = file.named(variable or "salinity", "salinity", advice) if found is None else found
    levels = find_axis(file, found, None, "vertical")
    vertical = read_vertical(file, levels, None, None)
    values = np.moveaxis(found.converted("salinity", unit), found.dims.index(levels.dims[0]), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # levels without a value
        mean = np.nanmean(values.reshape(values.shape[0], -1), axis=1)
    mean = mean[::-1] if vertical.is_reversed else mean
    known_at = np.isfinite(mean)
    if not known_at.any():
        raise found.error("a value", f"none of {values.size}", "choose another file")
    return vertical.z[known_at], mean[known_at]
