"""Trajectories as xarray datasets and as CF-1.11 NetCDF files, without loss.

The dimensions are `time`, `z_center`, `z_face`, and the batch axes `column`, `column_1`, ... Coordinates
along the batch axes identify the columns: site names, positions, parameters that differ. Times are seconds in
a file, and dates in a dataset if the case has a date.

Every value keeps its precision, so a run restarted from a file reproduces the same numbers bit for bit.
"""

import contextlib
import dataclasses
import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import ArrayLike, PyTree

from .. import closures
from .._types import iterate_parameters
from ..column.case import Case
from ..column.grid import Grid
from ..column.observables import is_depth_of_a_criterion, variable_of
from ..column.trajectory import Means, Trajectory
from ..quantities import GRID_NAMES, Quantity
from .provenance import Provenance
from .writing import replacing

if TYPE_CHECKING:
    import xarray as xr

IDEALISED_EPOCH = "2000-01-01 00:00:00"
"""Start of cases that have no date."""

SELECTED = "selected_variables"
"""Attribute of a file with selected variables only; no trajectory can be read from it."""

STATE_NAMES = ("temperature", "salinity", "u", "v")
_DIMS = {"center": ("z_center",), "face": ("z_face",), "scalar": ()}
TracerUnits = Mapping[str, tuple[str, str]]
"""Units and long names of tracers, as in `Case.tracer_units`."""
_COORDINATES = ("time", "z_center", "z_face")


def write_dataset(dataset: "xr.Dataset", path) -> None:
    """Write a dataset to NetCDF atomically, as `replacing` does."""
    with replacing(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4", encoding=_encoding(dataset))


_FRAMES_OF_A_CHUNK = 64
"""Frames that NetCDF compresses together in a file to which frames are appended."""


@contextlib.contextmanager
def appending_frames(path) -> Iterator[Callable[["xr.Dataset"], None]]:
    """Provide a function that appends datasets along time to a NetCDF file, written atomically.

    Variables that do not vary in time are those of the first dataset.
    """
    import netCDF4  # takes long

    n_frames = 0
    with replacing(path) as temporary:

        def append(dataset: "xr.Dataset") -> None:
            nonlocal n_frames
            if n_frames == 0:
                encoding = _encoding(dataset)
                for name, variable in dataset.variables.items():
                    if variable.dims[:1] == ("time",):
                        frames = min(_FRAMES_OF_A_CHUNK, variable.shape[0])
                        encoding[str(name)]["chunksizes"] = (frames, *variable.shape[1:])
                dataset.to_netcdf(temporary, engine="netcdf4", encoding=encoding, unlimited_dims=["time"])
            else:
                with netCDF4.Dataset(temporary, "a") as file:
                    for name, variable in dataset.variables.items():
                        if variable.dims[:1] == ("time",):
                            file[str(name)][n_frames:] = variable.values
            n_frames += dataset.sizes["time"]

        yield append


def _encoding(dataset: "xr.Dataset") -> dict[str, dict[str, Any]]:
    """NetCDF encoding of variables: compressed, with checksums, and without an implicit fill value."""
    keys = ("units", "calendar", "dtype")  # of times
    return {
        str(name): ({} if "_FillValue" in variable.attrs else {"_FillValue": None})
        | {key: variable.encoding[key] for key in keys if key in variable.encoding}
        | ({"zlib": True, "complevel": 1, "shuffle": True} if variable.ndim > 1 else {})
        | ({"fletcher32": True} if variable.ndim > 0 and variable.dtype.kind in "fiubmM" else {})
        for name, variable in dataset.variables.items()
    }


def attributes_of(name: str, tracers: TracerUnits = MappingProxyType({})) -> dict[str, str]:
    """CF attributes of a variable, tracer (`Case.tracer_units`) or term, or else the name as long name."""
    variable = _quantity(name, tracers)
    if variable is None:
        return _attributes_of_term(name, tracers) or {"long_name": name.replace("_", " ")}
    attributes = {"long_name": variable.long_name, "units": variable.unit}
    if variable.standard_name is not None:
        attributes["standard_name"] = variable.standard_name
    if is_depth_of_a_criterion(name):
        attributes["comment"] = "missing (NaN) where the criterion is met nowhere above the bottom"
    return attributes


def _quantity(name: str, tracers: TracerUnits) -> Quantity | None:
    if name not in tracers:
        return variable_of(name)
    unit, meaning = tracers[name]
    return Quantity(name, meaning, unit, "center")


UNITS_OF_BUDGETS = {"heat": "W m-2", "salt": "kg m-2 s-1", "kinetic_energy": "W m-2"}
"""Units of the budgets of every run; those of tracers are in the unit of the tracer times m s-1."""


def _attributes_of_term(name: str, tracers: TracerUnits) -> dict[str, str]:
    """Attributes of the effect of a term, as in `heat_budget_surface_exchange`; empty for other names."""
    parts = re.fullmatch(r"(?P<name>\w+?)_(?P<kind>budget|tendency)_(?P<term>\w+)", name)
    if parts is None:
        return {}
    name, is_budget = parts["name"], parts["kind"] == "budget"
    variable = None if name in UNITS_OF_BUDGETS else _quantity(name, tracers)
    meaning, unit = name.replace("_", " "), UNITS_OF_BUDGETS.get(name)
    if variable is not None:
        meaning = variable.long_name
        unit = f"{variable.unit_of_differences} {'m s-1' if is_budget else 's-1'}"
        unit = unit.removeprefix("1 ").replace("m s-1 s-1", "m s-2").replace("m-3 m s-1", "m-2 s-1")
    where = " of the column" if is_budget else ""
    attributes = {"long_name": f"change of the {meaning}{where}: {parts['term'].replace('_', ' ')}"}
    return attributes if unit is None else attributes | {"units": unit}


def height_coordinates(grid: Grid, dims: Sequence[str] = (), draft: float | None = None) -> dict[str, tuple]:
    """Centers, faces and bounds of the cells as variables of a dataset with these batch axes.

    Heights count from the sea surface; the column begins `draft` [m] below it.
    """
    faces = np.asarray(grid.z_face)
    attributes = {"standard_name": "height_above_mean_sea_level", "units": "m", "positive": "up", "axis": "Z"}
    variables: dict[str, tuple] = {}
    if grid.area is not None:
        area, attrs = np.asarray(grid.area), {"long_name": "area of the lake at the faces", "units": "m2"}
        is_shared = area[0].size == 1
        area_dims = ("z_face",) if is_shared else ("z_face", *dims)
        variables["face_area"] = (area_dims, area.reshape(-1) if is_shared else area, attrs)
    if faces[0].size > 1:
        face_attrs = {"long_name": "height of the faces"} | attributes
        variables["height_face"] = (("z_face", *dims), faces, face_attrs)
        if np.ptp(faces.reshape(len(faces), -1), axis=1).any():
            # Columns on different grids share no heights, so the dimensions have no coordinate.
            return variables
    faces = faces.reshape(len(faces), -1)[:, 0]
    if draft is not None:
        name = {"long_name": "height of the faces above the surface of the column", "units": "m"}
        variables["height_face"] = ("z_face", faces, name)  # without the rounding of faces minus draft
        faces = faces - draft
    bounds = np.stack([faces[:-1], faces[1:]], axis=1)
    center = {"long_name": "height of the cell centers", "bounds": "z_center_bounds"} | attributes
    return variables | {
        "z_center": ("z_center", 0.5 * (faces[1:] + faces[:-1]), center),
        "z_face": ("z_face", faces, {"long_name": "height of the cell faces"} | attributes),
        "z_center_bounds": (("z_center", "bounds"), bounds, {}),
    }


def to_dataset(
    trajectory: Trajectory,
    *,
    case: Case | None = None,
    closure: closures.AbstractClosure | None = None,
    diagnostics: Mapping[str, ArrayLike] | None = None,
    provenance: Provenance | None = None,
    start_time: str | None = None,
    dims: Sequence[str] = (),
    dates: bool = True,
) -> "xr.Dataset":
    """Convert a trajectory to a dataset with names, units, heights, dates and position.

    Args:
        trajectory: of one column or a batch.
        case: that was run; provides the start time, position, site names, and its parameters that differ
            between columns.
        closure: of the model; provides its parameters that differ between columns.
        diagnostics: further variables on the same frames, from `diagnose`.
        provenance: origin of the run.
        start_time: ISO 8601 start time; by default that of the case. Without a start time, time is in
            seconds.
        dims: names of the batch axes; by default `column`, `column_1`, ...
        dates: whether times are dates; otherwise they are seconds, as in a file.

    Raises:
        ValueError: a tracer or closure variable whose name is taken, `dims` that do not fit the batch, or a
            closure state that contains anything but arrays on cells, faces or per column.
    """
    import xarray as xr  # takes long

    start_time = start_time or (None if case is None else case.start_time)
    shape = np.shape(trajectory.state.u)[2:]
    names = tuple(dims) or ("column", *(f"column_{i}" for i in range(1, len(shape))))[: len(shape)]
    taken = {"time", "z_center", "z_face", "bounds"}
    if len(names) != len(shape) or len(set(names)) != len(names) or taken.intersection(names):
        expected = f"a different name for each of the {len(shape)} axes of the batch of shape {shape}"
        raise ValueError(f"to_dataset: expected {expected}, got dims = {names}.")
    variables = _variables(trajectory, diagnostics or {}, names, start_time, case)
    coordinates = _coordinates(case, closure, names, shape)
    if duplicates := coordinates.keys() & variables.keys():
        raise _duplicate("coordinate", min(duplicates), ", which is a variable; rename it")
    coordinates |= {name: variables.pop(name) for name in _COORDINATES if name in variables}
    origin = provenance or Provenance()
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    attributes: dict[str, object] = {
        "Conventions": "CF-1.11",
        "title": f"Water column {origin.case}".strip(),
        "source": f"tunax_lite {origin.version}",
        "history": f"{now}: {origin.command or 'tunax_lite.to_dataset'}",
        **origin.attributes,
        "start_time": start_time or "",
        **{key: class_name(type(clo)) for key, clo in _closure_states("closure_state", trajectory.clo_state)},
        "tracers": " ".join(trajectory.state.tracers),
        "surface": " ".join(trajectory.state.surface),
        "grid_batch_rank": len(trajectory.grid.batch_shape),
    }
    if case is not None:
        attributes["equation_of_state"] = type(case.equation_of_state).__name__
        for info in iterate_parameters(case.equation_of_state):
            if info.value is not None and np.ndim(info.value) == 0:
                attributes[info.path] = float(info.value)
    dataset = xr.Dataset(variables, coordinates, attributes)
    if not start_time or not dates:
        return dataset
    return xr.decode_cf(dataset, mask_and_scale=False, decode_coords=False, decode_timedelta=False)


def _variables(
    trajectory: Trajectory,
    diagnostics: Mapping[str, ArrayLike],
    batch: tuple[str, ...],
    start_time: str | None,
    case: Case | None,
) -> dict[str, tuple]:
    """Time-dependent variables and the coordinates of the axes."""
    state, grid, tracers = trajectory.state, trajectory.grid, {} if case is None else case.tracer_units
    profiles = {name: getattr(state, name) for name in STATE_NAMES}
    closure = _closure_arrays(trajectory.clo_state) | state.surface
    diagnostics = {name: values for name, values in diagnostics.items() if name not in closure}
    clash = {*profiles, *GRID_NAMES, *diagnostics}.intersection((*state.tracers, *closure))
    if clash := clash | (closure.keys() & state.tracers.keys()):
        raise _duplicate("variable", min(clash), " twice; rename the tracer or the closure variable")
    variables: dict[str, tuple] = {}

    def add(name: str, values: ArrayLike, location: str = "center", **attributes: str) -> None:
        variables[name] = _variable(name, values, ("time", *_DIMS[location], *batch), tracers, **attributes)

    for name, values in profiles.items():
        add(name, values)
    for name, values in diagnostics.items():
        add(name, values, _location(name), role="diagnostic")
    steps = {"long_name": "time steps since the start of the case", "units": "1"}
    variables["step"] = ("time", np.asarray(trajectory.step), steps)
    draft = None if case is None or grid.batch_shape else case.equation_of_state.draft
    variables |= height_coordinates(grid, batch, None if draft is None or np.ndim(draft) else float(draft))
    for name, values in state.tracers.items():
        add(name, values, role="passive tracer")
    locations = {(): "scalar", (grid.n_cells + 1,): "face", (grid.n_cells,): "center"}
    for name, values in closure.items():
        if not isinstance(values, (jax.Array, np.ndarray)):
            expected = f"arrays, None or closure states in {class_name(type(trajectory.clo_state))}"
            got = f"{type(values).__name__} in '{name}'; keep other values out of the state"
            raise ValueError(f"to_dataset: expected {expected}, got {got}.")
        location = locations.get(values.shape[1 : values.ndim - len(batch)])
        if location is None:
            expected = f"'{name}' on cells, faces or per column"
            raise ValueError(f"to_dataset: expected {expected}, got shape {values.shape}.")
        add(name, values, location)
    time = {"long_name": "time", "standard_name": "time", "calendar": "standard", "axis": "T"}
    time["units"] = f"seconds since {start_time or IDEALISED_EPOCH}"
    if trajectory.means is not None:
        time["bounds"] = "time_bounds"
        variables |= _mean_variables(trajectory.time, trajectory.means, variables, batch, tracers)
    variables["time"] = ("time", np.asarray(trajectory.time), time)
    return variables


def _location(name: str) -> str:
    """Location of a diagnostic, or of the effect of a term."""
    variable = variable_of(name)
    return ("center" if "_tendency_" in name else "scalar") if variable is None else variable.location


def _variable(
    name: str, values: ArrayLike, dims: tuple[str, ...], tracers: TracerUnits, **attributes: str
) -> tuple[tuple[str, ...], np.ndarray, dict[str, Any]]:
    """A variable in xarray's form, with the attributes of its name."""
    array, attrs = np.asarray(values), attributes | attributes_of(name, tracers)
    fill = {"_FillValue": array.dtype.type(np.nan)} if is_depth_of_a_criterion(name) else {}
    return dims, array, attrs | fill


def _mean_variables(
    time: jax.Array,
    means: Means,
    points: Mapping[str, tuple],
    batch: tuple[str, ...],
    tracers: TracerUnits,
) -> dict[str, tuple]:
    """Means of state and closure state, on the dimensions of instantaneous values, and all other means."""
    state, cell_methods = means.state, {"cell_methods": "time: mean"}
    values = {name: getattr(state, name) for name in STATE_NAMES} | dict(state.tracers)
    values |= _closure_arrays(means.clo_state) | state.surface
    variables: dict[str, tuple] = {
        "time_bounds": (("time", "bounds"), np.stack([means.since, time], axis=1), {})
    }
    for name, mean in values.items():
        dims, _, attributes = points[name]
        variables[f"{name}_mean"] = (dims, np.asarray(mean), attributes | cell_methods)
    for name, mean in means.others.items():
        role = "diagnostic"
        if variable_of(name) is None:
            role = "budget" if "_budget_" in name else "tendency"
        dims = ("time", *_DIMS[_location(name)], *batch)
        key = f"{name}_mean" if role == "diagnostic" else name
        variables[key] = _variable(name, mean, dims, tracers, role=role, **cell_methods)
    if taken := variables.keys() & points.keys():
        raise _duplicate("variable", min(taken), " twice; rename the tracer")
    return variables


def _duplicate(kind: str, name: str, advice: str) -> ValueError:
    return ValueError(f"to_dataset: expected a different name for every {kind}, got '{name}'{advice}.")


def class_name(cls: type) -> str:
    """Module and name of a class, as stored in files."""
    return f"{cls.__module__}.{cls.__qualname__}"


def _closure_states(
    name: str, clo_state: closures.AbstractCloState
) -> Iterator[tuple[str, closures.AbstractCloState]]:
    """Yield a closure state and those nested in it, with names of attributes: fields joined to `name`."""
    yield name, clo_state
    for field in dataclasses.fields(clo_state):
        nested = getattr(clo_state, field.name)
        if isinstance(nested, closures.AbstractCloState):
            yield from _closure_states(f"{name}_{field.name}", nested)


def _closure_arrays(clo_state: closures.AbstractCloState) -> dict[str, PyTree]:
    """Values of a closure state and of the closure states nested in it."""
    states = [state for _, state in _closure_states("", clo_state)]
    pairs = [(field.name, getattr(each, field.name)) for each in states for field in dataclasses.fields(each)]
    skipped = (type(None), closures.AbstractCloState)
    return {name: values for name, values in pairs if not isinstance(values, skipped)}


def _coordinates(
    case: Case | None, closure: closures.AbstractClosure | None, dims: tuple[str, ...], shape: tuple[int, ...]
) -> dict[str, tuple]:
    """Positions, site names, and parameters that differ between columns, with underscores for dots."""
    coordinates: dict[str, tuple] = {}
    for name, unit in (("latitude", "degrees_north"), ("longitude", "degrees_east")):
        value = getattr(case, name, None)
        if value is not None:
            attributes = {"standard_name": name, "long_name": name, "units": unit}
            on, size = (dims, shape) if np.ndim(value) > 0 else ((), ())
            coordinates[name] = (on, np.broadcast_to(value, size), attributes)
    if case is not None and shape and len(case.sites) == shape[-1]:
        names = np.array(case.sites, dtype=object)
        coordinates["site"] = (dims, np.broadcast_to(names, shape), {"long_name": "name of the site"})
    for info in [info for part in (closure, case) if part is not None for info in iterate_parameters(part)]:
        values = np.asarray(info.value)
        if values.ndim and shape and np.ptp(values) > 0.0:
            attributes = {"long_name": f"parameter {info.path}", "units": info.unit}
            coordinates[info.path.replace(".", "_")] = (dims, np.broadcast_to(values, shape), attributes)
    return coordinates


def write_trajectory(trajectory: Trajectory, path, **options: Any) -> None:  # Any: options of `to_dataset`
    """Write a trajectory to NetCDF; takes the options of `to_dataset`, see also `write_dataset`."""
    write_dataset(to_dataset(trajectory, dates=False, **options), path)


def described(dims, values, long_name: str, unit: str = "1", **more) -> tuple:
    """A variable in xarray's form, with long name, unit and further attributes."""
    return (dims, values, {"long_name": long_name, "units": unit, **more})


def titled(kind: str, closure: str) -> dict[str, str]:
    """Global attributes of a file with parameters of a closure."""
    return {"Conventions": "CF-1.11", "title": f"{kind} of {closure}", "closure": closure}


def variable_name(path: str) -> str:
    """Convert the path of a parameter to a variable name; names of cases may contain any character."""
    return re.sub(r"[^A-Za-z0-9]+", "_", path).strip("_")
