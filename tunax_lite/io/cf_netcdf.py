"""Profiles and forcing from plain CF NetCDF files: those of users, and the project's own.

Variables are found by the names of the package, by their CF standard names, or by a `Mapping`. Levels may
be in any order and direction; units are converted or refused. A file written by `write_observations`
needs no mapping.
"""

import datetime
import math
import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..case import Case
from ..grid import Grid
from ..observations import Observations
from ..physics.absorption import TwoBandAbsorption
from ..physics.equation_of_state import LinearEquationOfState
from ..physics.stratification import coriolis_parameter
from ..state import State
from .cf_axes import TimeAxis, VerticalAxis, converted, find_axis, numbers, read_time, read_vertical
from .cf_forcing import STATE_VARIABLES, Mapping, read_forcing
from .errors import FileFormatError, check_declared, check_possible, names_its_file
from .netcdf import Contents, Variable, read_contents

_STANDARD_NAMES = {
    "temperature": (
        "sea_water_conservative_temperature",
        "sea_water_potential_temperature",
        "sea_water_temperature",
    ),
    "salinity": ("sea_water_absolute_salinity", "sea_water_practical_salinity", "sea_water_salinity"),
    "u": ("eastward_sea_water_velocity", "sea_water_x_velocity"),
    "v": ("northward_sea_water_velocity", "sea_water_y_velocity"),
}
EQUATION_OF_STATE_ATTRIBUTES = (
    "thermal_expansion",
    "haline_contraction",
    "reference_temperature",
    "reference_salinity",
    "gravity",
    "reference_density",
    "heat_capacity",
)
ABSORPTION_ATTRIBUTES = ("infrared_fraction", "infrared_depth", "visible_depth")


@names_its_file("a CF NetCDF file")
def read_cf_netcdf(path, mapping: Mapping | None = None) -> tuple[Case, Observations]:
    """Read profiles over time, the forcing and the rotation.

    The case starts at the first record at which every profile is complete; earlier ones are left out.
    Its grid has faces midway between the levels (or at the bounds of the vertical coordinate) and a top
    face at the surface; initial values are interpolated linearly from the levels to its centers.

    Args:
        path: file of the profiles.
        mapping: what the file does not say of itself.

    Returns:
        The case on that grid, and the profiles on the levels of the file, NaN where values are missing.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a variable or axis that is missing, ambiguous, of another shape or unit, with
            impossible values or without a complete profile, gaps in the forcing, or no latitude.
    """
    path, mapping = Path(path), Mapping() if mapping is None else mapping
    dataset = read_contents(path)
    names = _find_variables(path, dataset, mapping)
    reference = dataset[names["temperature"]]
    time_variable = find_axis(path, dataset, reference, mapping.time, "time")
    time = read_time(path, time_variable, mapping.units.get("time"))
    vertical_variable = find_axis(path, dataset, reference, mapping.vertical, "vertical")
    vertical = read_vertical(path, dataset, vertical_variable, mapping.units.get("z"), mapping.positive)
    dims = (str(time_variable.dims[0]), str(vertical_variable.dims[0]))
    profiles = {
        variable: _read_profiles(path, dataset[name], variable, dims, vertical, mapping)
        for variable, name in names.items()
    }
    first = _first_complete(path, profiles, names, time, mapping)
    start = float(time.seconds[first])

    grid = _grid(path, vertical, mapping)
    place = _place(path, dataset, mapping)
    name = mapping.name or str(dataset.attrs.get("case") or path.stem)
    case = Case(
        grid=grid,
        initial_state=_initial_state(grid, vertical, profiles, first, mapping),
        forcing=read_forcing(path, dataset, mapping, start, time.epoch),
        coriolis_parameter=_coriolis_parameter(path, dataset, mapping),
        equation_of_state=LinearEquationOfState(
            **_number_attributes(path, dataset, LinearEquationOfState, EQUATION_OF_STATE_ATTRIBUTES)
        ),
        absorption=TwoBandAbsorption(
            **_number_attributes(path, dataset, TwoBandAbsorption, ABSORPTION_ATTRIBUTES)
        ),
        duration=_duration(path, time, start, mapping),
        name=name,
        start_time=_start_time(dataset, time, start),
        latitude=place["latitude"],
        longitude=place["longitude"],
    )
    return case, Observations(
        time=jnp.asarray(time.seconds[first:] - start, dtype=float),
        z=jnp.asarray(vertical.z, dtype=float),
        profiles={v: jnp.asarray(values[first:], dtype=float) for v, values in profiles.items()},
        uncertainty=_uncertainties(path, dataset, names),
        name=name,
        source=_source(dataset),
    )


def _source(dataset: Contents) -> str:
    """Whether title or source of a file speak of a large-eddy simulation."""
    words = " ".join(str(dataset.attrs.get(key, "")) for key in ("title", "source"))
    return "LES" if re.search(r"(?i:large[- ]eddy)|\bLES", words) else "observations"


def _find_variables(path: Path, dataset: Contents, mapping: Mapping) -> dict[str, str]:
    """Name in the file by our name, for every variable of the state that is there."""
    found = {}
    for variable in STATE_VARIABLES:
        if variable in mapping.variables:
            name = mapping.variables[variable]
        else:
            name = _find_by_name(path, dataset, variable)
        if name is not None:
            found[variable] = name
    own_tracers = {
        str(name): str(name)
        for name in dataset.variables
        if dataset[name].attrs.get("role") == "passive tracer"
    }
    found |= mapping.tracers or own_tracers
    listing = ", ".join(map(str, dataset.variables)) or "an empty file"
    for variable, name in found.items():
        if name not in dataset.variables:
            raise FileFormatError(
                path, name, f"a variable for {variable}", f"only {listing}", "correct the mapping"
            )
    if "temperature" not in found:
        raise FileFormatError(
            path,
            "temperature",
            f"a variable 'temperature' or with the standard name {_STANDARD_NAMES['temperature'][0]}",
            f"only {listing}",
            "name it in the mapping (variables)",
        )
    return found


def _find_by_name(path: Path, dataset: Contents, variable: str) -> str | None:
    if variable in dataset.variables:
        return variable
    matching = [
        str(name)
        for name in dataset.variables
        if dataset[name].attrs.get("standard_name") in _STANDARD_NAMES[variable]
    ]
    if len(matching) > 1:
        raise FileFormatError(
            path,
            variable,
            "one variable with its CF standard name",
            " and ".join(matching),
            "choose one in the mapping (variables)",
        )
    return matching[0] if matching else None


def _read_profiles(
    path: Path,
    variable: Variable,
    quantity: str,
    dims: tuple[str, str],
    vertical: VerticalAxis,
    mapping: Mapping,
) -> np.ndarray:
    """Values `(n_times, n_levels)`, bottom first; tracers keep their unit."""
    single = [d for d, n in variable.sizes.items() if n == 1 and d not in dims]
    variable = variable.squeeze(single)
    if set(variable.dims) != set(dims):
        raise FileFormatError(
            path,
            str(variable.name),
            f"the dimensions {dims}",
            f"{variable.dims}",
            "choose one place, or correct time and vertical in the mapping",
        )
    variable = variable.transpose(*dims)
    unit = mapping.units.get(quantity)
    if quantity in STATE_VARIABLES:
        values = converted(path, variable, quantity, unit)
    else:
        values = numbers(path, variable)
    values = values[:, ::-1] if vertical.is_reversed else values
    if np.any(np.isinf(values)):
        raise FileFormatError(
            path, str(variable.name), "finite values or gaps", "inf", "mark gaps as missing values"
        )
    check_possible(path, str(variable.name), quantity, values)
    return values


def _first_complete(
    path: Path,
    profiles: dict[str, np.ndarray],
    names: dict[str, str],
    time: TimeAxis,
    mapping: Mapping,
) -> int:
    """The record at which the case starts."""
    allowed = np.ones(time.seconds.size, dtype=bool)
    if mapping.start is not None:
        allowed = time.seconds >= _seconds_of(path, mapping.start, time)
    complete = allowed
    for variable, values in profiles.items():
        here = np.isfinite(values).all(axis=1)
        if not np.any(here & allowed):
            best = int(np.isfinite(values).sum(axis=1).max())
            raise FileFormatError(
                path,
                names[variable],
                "at least one profile without gaps, for the initial state",
                f"at most {best} of {values.shape[1]} levels at any time",
                "fill the gaps, choose fewer levels, or leave the variable out of the mapping",
            )
        complete = complete & here
    if not np.any(complete):
        raise FileFormatError(
            path,
            ", ".join(names.values()),
            "a time at which all profiles are without gaps",
            "none",
            "fill the gaps, or leave a variable out of the mapping",
        )
    return int(np.argmax(complete))


def _seconds_of(path: Path, moment: str, time: TimeAxis) -> float:
    try:
        if time.epoch is None:
            raise ValueError
        date = datetime.datetime.fromisoformat(moment).replace(tzinfo=None)
    except ValueError:
        raise FileFormatError(
            path,
            "mapping.start",
            "an ISO 8601 time, and times in the file since a reference date",
            f"'{moment}'",
            "write it as 2011-03-21T00:00:00",
        ) from None
    return (date - time.epoch).total_seconds()


def _grid(path: Path, vertical: VerticalAxis, mapping: Mapping) -> Grid:
    z = vertical.z
    if vertical.faces is not None:
        faces = vertical.faces.copy()
    else:
        middle = 0.5 * (z[1:] + z[:-1])
        faces = np.concatenate([[2.0 * z[0] - middle[0]], middle, [0.0]])
    if mapping.depth is not None:
        faces[0] = -mapping.depth
    if abs(faces[-1]) > 1e-6 * abs(faces[0]) or not np.all(np.diff(faces) > 0.0):
        raise FileFormatError(
            path,
            vertical.name,
            "cells of positive thickness from the bottom to the surface",
            f"faces from {faces[0]:g} to {faces[-1]:g} m around levels from {z[0]:g} to {z[-1]:g} m",
            "check the bounds of the levels, or 'depth' in the mapping",
        )
    faces[-1] = 0.0
    uniform = Grid.uniform(-float(faces[0]), z.size)
    if vertical.faces is None and np.allclose(
        uniform.z_face, faces, rtol=0.0, atol=1e-6 * np.diff(faces).min()
    ):
        return uniform
    return Grid(faces)


def _initial_state(
    grid: Grid, vertical: VerticalAxis, profiles: dict[str, np.ndarray], first: int, mapping: Mapping
) -> State:
    centers = np.asarray(grid.z_center)

    def on_grid(values: np.ndarray):
        if np.allclose(centers, vertical.z, rtol=0.0, atol=1e-6 * abs(vertical.z[0])):
            return jnp.asarray(values, dtype=float)
        return jnp.asarray(np.interp(centers, vertical.z, values), dtype=float)

    initial = {variable: on_grid(values[first]) for variable, values in profiles.items()}
    state = {name: initial.pop(name) for name in STATE_VARIABLES if name in initial}
    return State.from_profiles(grid, **{"salinity": mapping.salinity} | state, tracers=initial)


def _number(path: Path, key: str, value: Any) -> float:
    """An attribute that is one finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, complex) or np.iscomplexobj(value) or not np.isfinite(number):
        raise FileFormatError(path, f"attribute {key}", "a number", f"'{value}'", "repair it")
    return number


def _number_attributes(path: Path, dataset: Contents, kind: type, names) -> dict[str, Any]:
    """Those of the attributes that are there, within the ranges that a class declares."""
    values = {}
    for name in names:
        if name in dataset.attrs:
            values[name] = _number(path, name, dataset.attrs[name])
            check_declared(path, f"attribute {name}", kind, name, values[name])
    return values


def _uncertainties(path: Path, dataset: Contents, names: dict[str, str]) -> dict[str, Any]:
    found = {}
    for variable, name in names.items():
        if "uncertainty" in dataset[name].attrs:
            value = _number(path, f"{name}.uncertainty", dataset[name].attrs["uncertainty"])
            if value <= 0.0:
                raise FileFormatError(
                    path, f"attribute {name}.uncertainty", "a positive number", f"{value:g}", "repair it"
                )
            found[variable] = jnp.asarray(value, dtype=float)
    return found


def _coriolis_parameter(path: Path, dataset: Contents, mapping: Mapping) -> float:
    if mapping.coriolis_parameter is not None:
        return float(mapping.coriolis_parameter)
    if mapping.latitude is not None:
        return float(coriolis_parameter(mapping.latitude))
    stated = _number_attributes(path, dataset, Case, ("coriolis_parameter",))
    if stated:
        return stated["coriolis_parameter"]
    latitude = _degrees(path, dataset, "latitude")
    if not -90.0 <= latitude <= 90.0:
        raise FileFormatError(
            path,
            "latitude",
            "a latitude of -90 to 90 degrees north, or an attribute coriolis_parameter",
            "none" if np.isnan(latitude) else f"{latitude:g}",
            "give one of them in the mapping",
        )
    return float(coriolis_parameter(latitude))


def _degrees(path: Path, dataset: Contents, name: str) -> float:
    """Latitude or longitude of the file, a variable of one value or an attribute; NaN without one."""
    degrees = _number(path, name, dataset.attrs[name]) if name in dataset.attrs else math.nan
    for alias in (name, name[:3], name.upper()):
        if alias in dataset.variables and dataset[alias].size == 1:
            degrees = float(dataset[alias].values.reshape(()))
    return degrees


def _place(path: Path, dataset: Contents, mapping: Mapping) -> dict[str, float | None]:
    """Latitude and longitude, `None` where they are not known."""
    latitude = _degrees(path, dataset, "latitude") if mapping.latitude is None else mapping.latitude
    place = {"latitude": (latitude, 90.0), "longitude": (_degrees(path, dataset, "longitude"), 360.0)}
    return {name: x if abs(x) <= largest else None for name, (x, largest) in place.items()}


def _duration(path: Path, time: TimeAxis, start: float, mapping: Mapping) -> float:
    if mapping.duration is not None:
        return float(mapping.duration)
    if time.seconds[-1] <= start:
        raise FileFormatError(
            path,
            time.name,
            "a complete profile and later ones",
            f"only {time.describe(-1)}",
            "give 'duration' [s] in the mapping",
        )
    return float(time.seconds[-1] - start)


def _start_time(dataset: Contents, time: TimeAxis, start: float) -> str | None:
    # The project's own files of idealised cases count from a date that means nothing.
    if time.epoch is None or dataset.attrs.get("start_time") == "":
        return None
    return (time.epoch + datetime.timedelta(seconds=start)).isoformat(sep=" ")
