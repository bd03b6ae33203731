"""A file of a run with some of its variables only."""

from collections.abc import Collection
from pathlib import Path

import netCDF4

from .atomic import replacing
from .dataset import SELECTED, grid_names


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
