"""Maps in notebooks: columns from xarray datasets, and diagnostics of any dataset with profiles.

Importing this module registers the accessor `tunax` for datasets.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array

from ...column.case import Case
from ...column.grid import Grid
from ...column.observables import ColumnState, is_number, observable
from ...column.state import State
from ...io.axes import is_position
from ...io.dataset import attributes_of
from ...io.errors import Source
from ...io.sea_water import modelled_water
from ...io.units import conversion
from ...physics import Teos10
from .gridded import GriddedColumns
from .settings import Gridded, map_input
from .sources import axis_of, header_of, kind_of, levels_of, variable_of

_FEWEST_LEVELS = 3
"""Of a column that has a mixed layer, or any other number."""
_BLOCK = 8192
"""Profiles that are computed at once."""
_NOTHING = 1e-6
"""Thickness of cells below the bottom [m]."""


def columns_from_dataset(
    sources: Source | Sequence[Source],
    levels: Grid,
    *,
    columns: slice | np.ndarray = slice(None),
    water: Mapping[str, Any] | None = None,  # arguments of `GriddedColumns`
    **given: Any,  # of `map_input`
) -> Case:
    """Columns from gridded datasets as one batch, with their positions.

    Args:
        sources: a dataset, a path, or several; datasets may be decoded or not, and chunked by Dask.
        levels: grid whose faces are stretched to the depth of each column.
        columns: indices of the water points to use; all by default.
        water: arguments of `GriddedColumns` by name, such as the equation of state or `bulk`.
        given: as in `map_input`: arguments of `MapInput`, with names of variables for fields.

    Returns:
        A case of batch shape `(n_columns,)`, as long as `duration`.

    Raises:
        FileFormatError, ValueError: as in `GriddedColumns`.
    """
    several = list(sources) if isinstance(sources, list | tuple) else [sources]
    found = GriddedColumns(map_input(**given), levels, sources=several, **(water or {}))
    case = found.case(columns, 0.0, found.duration)
    sites = found.coordinates.get("site")
    return case if sites is None else replace(case, sites=tuple(sites[1][found.index[columns]]))


@xr.register_dataset_accessor("tunax")
class Diagnostics:
    """Diagnostics of any dataset with profiles of temperature.

    Variables, levels and kinds of temperature and salinity are found by CF attributes and common names.
    """

    def __init__(self, dataset: xr.Dataset):
        self._dataset = dataset

    def diagnostic(
        self,
        name: str,
        *,
        temperature: str | None = None,
        salinity: str | float | None = None,
        temperature_kind: str | None = None,
        salinity_kind: str | None = None,
    ) -> xr.DataArray:
        """One number per profile, by name of the observable.

        Args:
            name: such as `mixed_layer_depth_density_0.03kg_from_10m` or `heat_content_above_300m`.
            temperature, salinity: names of the variables; a number for uniform salinity [g kg-1].
            temperature_kind, salinity_kind: as in `MapInput`, if no CF standard name gives them.

        Returns:
            The number along all other dimensions; NaN on land, and for profiles of fewer than three levels.

        Raises:
            FileFormatError: no profiles, or unusable ones.
            ValueError: a name that is not that of a scalar observable.
        """
        compute, data = _program(name), self._dataset
        if not is_number(name):
            raise ValueError(f"expected a number per column, got the profile {name}; take another name.")
        values, kinds = {}, {"salinity_kind": "absolute"}
        several = ("temperature", temperature, temperature_kind), ("salinity", salinity, salinity_kind)
        for quantity, given, said in several:
            if isinstance(given, int | float):
                values[quantity] = xr.full_like(values["temperature"], float(given))
                continue
            own = variable_of(quantity, Gridded(given), [data])
            header = header_of(data, own)
            kinds[f"{quantity}_kind"] = kind_of(header, quantity, said)
            scale, offset = conversion(quantity, header.unit(None, quantity))
            values[quantity] = data[own] * scale + offset
        dim, faces, is_downward = self._levels(str(values["temperature"].name))
        upward = [one.isel({dim: slice(None, None, -1)}) if is_downward else one for one in values.values()]
        found = xr.apply_ufunc(
            functools.partial(_numbers, compute=compute, kinds=kinds),
            *upward,
            faces,
            *(self._place(axis) for axis in ("latitude", "longitude")),
            input_core_dims=[[dim], [dim], ["_face"], [], []],
            dask="parallelized",
            output_dtypes=[float],
        )
        return found.rename(name).assign_attrs(attributes_of(name))

    def mixed_layer_depth(
        self,
        difference: float | None = None,
        reference_depth: float | None = None,
        by: str = "density",
        **said: Any,  # of `diagnostic`
    ) -> xr.DataArray:
        """Mixed layer depth [m].

        Args:
            difference: from the reference; 0.03 kg m-3 or 0.2 K by default.
            reference_depth: of the reference [m]; by default 10, and 1 in water of less than 20 m.
            by: "density" or "temperature".
            said: as in `diagnostic`.
        """
        if by not in ("density", "temperature"):
            raise ValueError(f"by: expected density or temperature, got {by!r}; choose one of them.")
        base, unit = (
            ("mixed_layer_depth", "K") if by == "temperature" else ("mixed_layer_depth_density", "kg")
        )
        threshold = "" if difference is None else f"_{difference:g}{unit}"
        reference = "" if reference_depth is None else f"_from_{reference_depth:g}m"
        return self.diagnostic(f"{base}{threshold}{reference}", **said)

    def heat_content(self, depth: float | None = None, **said: Any) -> xr.DataArray:  # of `diagnostic`
        """Heat content relative to 0 degC [J m-2] above a depth [m] or of the column; see `diagnostic`."""
        return self.diagnostic("heat_content" if depth is None else f"heat_content_above_{depth:g}m", **said)

    def on_map(self) -> xr.Dataset:
        """Put a dataset along `column` on the axes of its coordinates `latitude` and `longitude`.

        Raises:
            ValueError: no such columns, or two at the same position.
        """
        data = self._dataset
        if not {"latitude", "longitude"} <= set(data.coords) or "column" not in data.dims:
            expected = "columns with latitude and longitude, as to_dataset writes them"
            raise ValueError(f"on_map: expected {expected}, got the dimensions {tuple(data.dims)}.")
        placed = data.set_index(column=["latitude", "longitude"])
        if not placed.indexes["column"].is_unique:
            raise ValueError("on_map: expected columns at different places, got two at one; choose members.")
        return placed.unstack("column")

    def _levels(self, name: str) -> tuple[str, xr.DataArray, bool]:
        """The vertical dimension, heights of faces from the bottom up [m], and whether levels go down."""
        data = self._dataset
        if "height_face" in data and "z_center" in data[name].dims:  # heights vary between columns
            return "z_center", data["height_face"].rename({"z_face": "_face"}), False
        dim, coordinate = axis_of(data, name, "vertical")
        if dim is None or coordinate is None:
            header = header_of(data, name)
            advice = "give its coordinate an attribute 'positive', 'axis' or 'standard_name'"
            raise header.error("a dimension of depth", header.dims, advice)
        _, lower_edge, is_downward = levels_of(data, coordinate)
        return dim, xr.DataArray(-np.append(0.0, lower_edge)[::-1], dims="_face"), is_downward

    def _place(self, axis: str) -> xr.DataArray | float:
        """Latitude or longitude [degrees]; 0 if the dataset gives none."""
        names = [str(name) for name in self._dataset.variables]
        known = [name for name in names if is_position(header_of(self._dataset, name), axis)]
        return self._dataset[known[0]] if known else 0.0


def _numbers(
    temperature: np.ndarray,
    salinity: np.ndarray,
    faces: np.ndarray,
    latitude: np.ndarray | float,
    longitude: np.ndarray | float,
    *,
    compute: Callable[..., Array],
    kinds: dict[str, str],
) -> np.ndarray:
    """An observable of profiles along the last axis.

    Below the deepest value, cells of zero thickness are filled with the same water, so that one program
    serves all profiles.
    """
    shapes = [np.shape(each)[:-1] for each in (temperature, salinity, faces)]
    shape = np.broadcast_shapes(*shapes, np.shape(latitude), np.shape(longitude))
    n = np.shape(temperature)[-1]
    place = [np.broadcast_to(each, shape).ravel() for each in (latitude, longitude)]
    both = [np.broadcast_to(each, (*shape, n)).reshape(-1, n) for each in (temperature, salinity)]
    z_face = np.broadcast_to(faces, (*shape, n + 1)).reshape(-1, n + 1)
    # Use values from the surface down to the first gap.
    known = np.cumprod((np.isfinite(both[0]) & np.isfinite(both[1]))[:, ::-1], axis=1)[:, ::-1].astype(bool)
    own = np.flatnonzero(known.sum(axis=1) >= _FEWEST_LEVELS)
    found = np.full(known.shape[0], np.nan)
    for some in np.array_split(own, range(_BLOCK, own.size, _BLOCK)) if own.size else []:
        wet, z = known[some].T, z_face[some].T - z_face[some, -1]
        at = {"latitude": place[0][some], "longitude": place[1][some] % 360.0}
        water = [np.where(wet, each[some].T, np.nan) for each in both]
        water = modelled_water(water[0], water[1], 0.5 * (z[1:] + z[:-1]), **kinds, **at)
        deepest = np.argmax(wet, axis=0)
        water = [np.where(wet, each, np.take_along_axis(each, deepest[None], axis=0)) for each in water]
        bottom = np.take_along_axis(z, deepest[None], axis=0)
        below = _NOTHING * np.minimum(np.arange(n + 1)[:, None] - deepest, 0)
        z = np.where(below < 0.0, bottom + below, z)
        padded = [np.pad(each, ((0, 0), (0, _BLOCK - some.size)), mode="edge") for each in (z, *water)]
        found[some] = compute(*map(jnp.asarray, padded))[: some.size]
    return found.reshape(shape)


@functools.cache
def _program(name: str) -> Callable[..., Array]:
    """An observable of profiles on faces, compiled."""
    compute = observable(name)

    @jax.jit
    def of(z_face, temperature, salinity):
        at_rest = jnp.zeros_like(temperature)
        return compute(ColumnState(State(at_rest, at_rest, temperature, salinity), Grid(z_face), Teos10()))

    return of
