"""The vertical grid of a GOTM configuration."""

import numpy as np

from ..grid import Grid
from ..io.errors import reading
from ..io.yaml_file import ConfigError
from .schema import Input
from .settings import Settings, Source
from .text_file import read_columns, read_text


def read_grid(settings: Settings) -> Grid:
    """Cells between the bottom and the mean surface.

    Raises:
        ConfigError: a depth, a number of layers or thicknesses that make no grid.
        FileNotFoundError, FileFormatError: a file of thicknesses that is missing or wrong.
    """
    method, depth, n_cells = (settings[path] for path in ("grid.method", "location.depth", "grid.nlev"))
    settings.without_effect("grid.fixed_grid", "it chooses coordinates of GOTM's output")
    try:
        if method == "analytical":
            settings.without_effect("grid.file", "grid.method is analytical")
            zooms = {"surface_zoom": settings["grid.ddu"], "bottom_zoom": settings["grid.ddl"]}
            return Grid.stretched(depth, n_cells, **zooms)
        for key in ("grid.ddu", "grid.ddl"):
            settings.without_effect(key, f"grid.method is {method}")
        thickness = _thicknesses(settings, n_cells, depth if method == "file_h" else 1.0)
        # The last face is the surface to the last bit.
        depths = np.concatenate([[0.0], np.cumsum(thickness)])
        return Grid(-depth * depths[::-1] / depths[-1])
    except ConfigError:
        raise
    except ValueError as error:
        if "line" in str(error):
            raise
        raise settings.error("grid", str(error).rstrip(".")) from error


def _thicknesses(settings: Settings, n_cells: int, total: float) -> np.ndarray:
    """Thicknesses from the surface down, as the file has them."""
    path = "grid.file"
    name = settings[path]
    if not name:
        raise settings.error(path, "expected the name of a file of layer thicknesses, got none")
    with reading(settings.folder / name, "a file of layer thicknesses"):
        return _read_thicknesses(settings, name, n_cells, total)


def _read_thicknesses(settings: Settings, name: str, n_cells: int, total: float) -> np.ndarray:
    path = "grid.file"
    file = read_text(
        Source(path, "file", 0.0, settings.folder / name, 1, 1.0, 0.0, Input("m"), settings.where(path))
    )
    values = read_columns(file, np.arange(len(file.texts)), (0,), skip=0, names="layer thickness")[:, 0]
    if int(values[0]) != n_cells or values.size < n_cells + 1:
        raise file.error(
            0,
            f"the number of layers, {n_cells} as grid.nlev says, and as many lines",
            f"{values[0]:g} and {values.size - 1} lines",
            "correct the file or grid.nlev",
        )
    thickness = values[1 : n_cells + 1]
    bad = np.flatnonzero(~(thickness > 0.0))
    if bad.size:
        raise file.error(
            int(bad[0]) + 1, "a positive thickness", f"{thickness[bad[0]]:g}", "correct the line"
        )
    if abs(thickness.sum() - total) > 1e-5 * max(total, 1.0):
        raise file.error(
            0,
            f"thicknesses that add up to {total:g}",
            f"{thickness.sum():g}",
            "correct the file or the depth",
        )
    return thickness
