"""Coordinates of a dataset that say where a column is, and what tells those of a batch apart."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from .._types import iterate_parameters
from ..case import Case
from ..closures import AbstractClosure

_PLACE = {
    "latitude": {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"},
    "longitude": {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"},
}


def batch_dims(rank: int) -> tuple[str, ...]:
    """Names of so many batch axes."""
    return tuple("column" if i == 0 else f"column_{i}" for i in range(rank))


def with_batch(
    dataset: xr.Dataset,
    shape: tuple[int, ...],
    dims: Sequence[str],
    case: Case | None,
    closure: AbstractClosure | None,
    coordinates: Mapping[str, Any],
) -> xr.Dataset:
    """A dataset whose batch axes have their names and coordinates; arguments as for `to_dataset`.

    Args:
        shape: of the batch.
    """
    own = batch_dims(len(shape))
    names = tuple(dims) or own
    if (
        len(names) != len(own)
        or len(set(names)) != len(names)
        or set(names) & (set(dataset.sizes) - set(own))
    ):
        raise ValueError(
            f"to_dataset: expected a name of its own for each of the {len(own)} axes of the batch of shape "
            f"{shape}, got dims = {names}."
        )
    dataset = dataset.rename_dims({old: new for old, new in zip(own, names, strict=True) if old != new})
    found = {**_places(case, names, shape), **_parameters(closure, case, names, shape)}
    found |= {name: _given(name, values, names, shape) for name, values in coordinates.items()}
    for name in found:
        if name in dataset.variables:
            raise ValueError(
                f"to_dataset: expected a name of its own for every coordinate, got '{name}', which is a "
                "variable; rename it."
            )
    return dataset.assign_coords(found)


def _places(case: Case | None, dims: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, xr.Variable]:
    """Latitude and longitude, and names of the sites."""
    found = {}
    for name, attributes in _PLACE.items():
        value = None if case is None else getattr(case, name)
        if value is not None:
            values = np.asarray(value)
            found[name] = _along(
                values, dims if values.ndim else (), shape if values.ndim else (), attributes
            )
    if case is not None and shape and len(case.sites) == shape[-1]:
        names = np.array(case.sites, dtype=object)
        found["site"] = _along(names, dims, shape, {"long_name": "name of the site"})
    return found


def _parameters(
    closure: AbstractClosure | None, case: Case | None, dims: tuple[str, ...], shape: tuple[int, ...]
) -> dict[str, xr.Variable]:
    """Parameters that differ between the columns; a dot in a path becomes an underscore."""
    infos = [info for module in (closure, case) if module is not None for info in iterate_parameters(module)]
    return {
        info.path.replace(".", "_"): _along(
            np.asarray(info.value), dims, shape, {"long_name": f"parameter {info.path}", "units": info.unit}
        )
        for info in infos
        if np.ndim(info.value) and shape and np.ptp(np.asarray(info.value)) > 0.0
    }


def _along(values: np.ndarray, dims: Sequence[str], shape: tuple[int, ...], attributes: dict[str, str]):
    return xr.Variable(dims, np.broadcast_to(values, shape), attributes)


def _given(name: str, values: Any, dims: tuple[str, ...], shape: tuple[int, ...]) -> xr.Variable:
    """A coordinate that the caller gave, checked to lie along the axes of the batch."""
    sizes = dict(zip(dims, shape, strict=True))
    is_pair = isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], str | tuple | list)
    along, numbers = values if is_pair else (dims if np.ndim(values) else (), values)
    along = (along,) if isinstance(along, str) else tuple(along)
    expected = tuple(sizes.get(dim) for dim in along)
    if np.shape(numbers) != expected:
        raise ValueError(
            f"to_dataset: expected the coordinate '{name}' along the axes of the batch, {sizes}, got shape "
            f"{np.shape(numbers)} along {along}; give values of the shape of the batch, or (axes, values)."
        )
    return xr.Variable(along, np.asarray(numbers), {"long_name": name.replace("_", " ")})
