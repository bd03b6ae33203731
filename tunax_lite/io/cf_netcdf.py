"""Profiles, forcing and waves from CF NetCDF files, the user's or the project's own.

Variables are found by the package's names, by CF standard names, or by a `Mapping`. Levels may be in any
order and direction; units are converted or rejected. Files written by `write_observations` need no mapping.
"""

import datetime
import math
import re
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..column.case import Case
from ..column.grid import Grid
from ..column.observations import Observations
from ..column.state import State
from ..column.terms import BottomHeat, DriftProfiles, DriftVector, DriftVectors, Interior
from ..column.time_series import TimeSeries
from ..physics.stratification import coriolis_parameter
from .attributes import examine
from .axes import TimeAxis, VerticalAxis, degrees_of, find_axis, read_time, read_vertical
from .cf_forcing import DRIFT_VARIABLES, STATE_VARIABLES, STATED, Mapping, read_forcing, since_start
from .errors import check_declared, check_possible, names_its_file
from .netcdf import Contents, Variable, read_contents
from .series import Series, on_common_times, start_of_case
from .units import unit_alone
from .yaml_file import NAMES


@names_its_file("a CF NetCDF file")
def read_cf_netcdf(path, mapping: Mapping | None = None) -> tuple[Case, Observations]:
    """Read profiles over time, forcing, rotation and Stokes drift from a file or an xarray dataset.

    The case starts at the first record with complete profiles; earlier records are left out. The faces of its
    grid lie midway between the levels (or at the bounds of the vertical coordinate), the uppermost at the
    surface; initial values are interpolated linearly to its centers. Attributes `background_viscosity` and
    `background_diffusivity` [m2 s-1] become those of the case. If the profiles show heat diffusing out
    through the bottom down the initial gradient, as in a simulation that prescribes this gradient, the case
    prescribes it too.

    Returns:
        The case on that grid, and the profiles on the levels of the file, NaN where values are missing.

    Raises:
        FileFormatError: a variable or axis that is missing, ambiguous or of an unexpected shape or unit,
            impossible values, no complete profile, gaps in the forcing, or no latitude.
    """
    mapping = Mapping() if mapping is None else mapping
    file = read_contents(path, valid_range=True)
    variables = _find_variables(file, mapping)
    reference = variables["temperature"]
    coordinate = find_axis(file, reference, mapping.time, "time")
    time = read_time(coordinate, unit_alone(mapping.units, "time"))
    levels = find_axis(file, reference, mapping.vertical, "vertical")
    vertical = read_vertical(file, levels, unit_alone(mapping.units, "z"), mapping.positive)
    dims = (coordinate.dims[0], levels.dims[0])
    profiles = {key: _read_profiles(one, key, dims, vertical, mapping) for key, one in variables.items()}
    earliest = -math.inf if mapping.start is None else _seconds_of(file, mapping.start, time)
    first = _first_complete(file, profiles, variables, time.seconds >= earliest)
    start = float(time.seconds[first])

    grid = _grid(vertical, mapping)
    name = name_of_case(file, mapping)
    words = " ".join(str(file.attrs.get(key, "")) for key in ("title", "source"))
    duration = float(time.seconds[-1] - start) if mapping.duration is None else float(mapping.duration)
    if duration <= 0.0:
        got, advice = f"only {time.describe(-1)}", "give 'duration' [s] in the mapping"
        raise time.variable.error("a complete profile and later ones", got, advice)
    velocities = [one for key, one in variables.items() if key in ("u", "v")]
    interior, notes = _read_waves(file, mapping, velocities, vertical, grid, start, time.epoch)
    start_time = None
    # Files of idealised cases count from an arbitrary date.
    if time.epoch is not None and file.attrs.get("start_time") != "":
        start_time = (time.epoch + datetime.timedelta(seconds=start)).isoformat(sep=" ")
    latitude = degrees_of(file, "latitude") if mapping.latitude is None else mapping.latitude
    longitude = degrees_of(file, "longitude")
    stated = {part: kind(**_number_attributes(file, kind, names)) for part, (kind, names) in STATED.items()}
    case = Case(
        grid=grid,
        initial_state=_initial_state(grid, vertical, profiles, first, mapping),
        forcing=read_forcing(file, mapping, start, time.epoch, stated["equation_of_state"]),
        coriolis_parameter=_coriolis_parameter(file, mapping),
        interior=interior,
        **_number_attributes(file, Case, ("background_viscosity", "background_diffusivity")),
        **stated,
        duration=duration,
        name=name,
        start_time=start_time,
        latitude=latitude if latitude is not None and abs(latitude) <= 90.0 else None,
        longitude=longitude if longitude is not None and abs(longitude) <= 360.0 else None,
    )
    case, told = _with_heat_through_bottom(
        case, vertical.z, time.seconds[first:] - start, profiles["temperature"][first:]
    )
    return case, Observations(
        time=jnp.asarray(time.seconds[first:] - start, dtype=float),
        z=jnp.asarray(vertical.z, dtype=float),
        profiles={v: jnp.asarray(values[first:], dtype=float) for v, values in profiles.items()},
        uncertainty=_uncertainties(file, variables),
        name=name,
        # Whether title or source mention a large-eddy simulation.
        source="LES" if re.search(r"(?i:large[- ]eddy)|\bLES", words) else "observations",
        notes=(*notes, *told),
    )


def name_of_case(file: Contents, mapping: Mapping) -> str:
    """Name of the case in a file."""
    return mapping.name or str(file.attrs.get("case") or file.path.stem)


def _find_variables(file: Contents, mapping: Mapping) -> dict[str, Variable]:
    """All variables of the state in the file, and tracers, by the package's names."""
    marked = {name: name for name, one in file.variables.items() if one.attrs.get("role") == "passive tracer"}
    names = {key: mapping.variables.get(key) for key in STATE_VARIABLES} | (mapping.tracers or marked)
    variables = {}
    for key, name in names.items():
        if name is not None:
            variables[key] = file.named(name, key, "correct the mapping")
        elif key not in mapping.variables:
            advice = "choose one in the mapping (variables)"
            variable = file.find(key, (key,), NAMES["cf"][key], advice)
            variables |= {} if variable is None else {key: variable}
    if "temperature" not in variables:
        expected = f"a variable 'temperature' or with the standard name {NAMES['cf']['temperature'][0]}"
        got = f"only {file.listing}"
        raise file.error("temperature", expected, got, "name it in the mapping (variables)")
    return variables


def _read_profiles(
    variable: Variable, key: str, dims: tuple[str, str], vertical: VerticalAxis, mapping: Mapping
) -> np.ndarray:
    """Values `(n_times, n_levels)`, bottom first; tracers keep their units."""
    variable = variable.along(dims, "choose one place, or correct time and vertical in the mapping")
    examine(variable, key, given=mapping.units.get(key))
    values = variable.converted(key, mapping.units.get(key))
    values = values[:, ::-1] if vertical.is_reversed else values
    if np.any(np.isinf(values)):
        raise variable.error("finite values or gaps", "inf", "mark gaps as missing values")
    check_possible(variable.path, variable.name, key, values)
    return values


def _first_complete(
    file: Contents, profiles: dict[str, np.ndarray], variables: dict[str, Variable], allowed: np.ndarray
) -> int:
    """Index of the first allowed record with complete profiles."""
    complete = allowed
    for key, values in profiles.items():
        here = np.isfinite(values).all(axis=1)
        if not np.any(here & allowed):
            best = int(np.isfinite(values).sum(axis=1).max())
            expected = "at least one profile without gaps, for the initial state"
            got = f"at most {best} of {values.shape[1]} levels at any time"
            advice = "fill the gaps, choose fewer levels, or leave the variable out of the mapping"
            raise variables[key].error(expected, got, advice)
        complete = complete & here
    if not np.any(complete):
        names = ", ".join(variable.name for variable in variables.values())
        advice = "fill the gaps, or leave a variable out of the mapping"
        raise file.error(names, "a time at which all profiles are without gaps", "none", advice)
    return int(np.argmax(complete))


def _seconds_of(file: Contents, moment: str, time: TimeAxis) -> float:
    try:
        if time.epoch is None:
            raise ValueError
        date = start_of_case(moment)
    except ValueError:
        expected = "an ISO 8601 time, and times in the file since a reference date"
        advice = "write it as 2011-03-21T00:00:00"
        raise file.error("mapping.start", expected, f"'{moment}'", advice) from None
    return (date - time.epoch).total_seconds()


def _grid(vertical: VerticalAxis, mapping: Mapping) -> Grid:
    z = vertical.z
    if vertical.faces is not None:
        faces = vertical.faces.copy()
    else:
        middle = 0.5 * (z[1:] + z[:-1])
        faces = np.concatenate([[2.0 * z[0] - middle[0]], middle, [0.0]])
    if mapping.depth is not None:
        faces[0] = -mapping.depth
    if abs(faces[-1]) > 1e-6 * abs(faces[0]) or not np.all(np.diff(faces) > 0.0):
        expected = "cells of positive thickness from the bottom to the surface"
        got = f"faces from {faces[0]:g} to {faces[-1]:g} m around levels from {z[0]:g} to {z[-1]:g} m"
        advice = "check the bounds of the levels, or 'depth' in the mapping"
        raise vertical.variable.error(expected, got, advice)
    faces[-1] = 0.0
    uniform = Grid.uniform(-float(faces[0]), z.size)
    slack = 1e-6 * np.diff(faces).min()
    if vertical.faces is None and np.allclose(uniform.z_face, faces, rtol=0.0, atol=slack):
        return uniform
    return Grid(faces)


def _initial_state(
    grid: Grid, vertical: VerticalAxis, profiles: dict[str, np.ndarray], first: int, mapping: Mapping
) -> State:
    centers, initial = np.asarray(grid.z_center), {key: values[first] for key, values in profiles.items()}
    if not np.allclose(centers, vertical.z, rtol=0.0, atol=1e-6 * abs(vertical.z[0])):
        initial = {key: np.interp(centers, vertical.z, values) for key, values in initial.items()}
    initial = {key: jnp.asarray(values, dtype=float) for key, values in initial.items()}
    state = {name: initial.pop(name) for name in STATE_VARIABLES if name in initial}
    return State.from_profiles(grid, **{"salinity": mapping.salinity} | state, tracers=initial)


def _with_heat_through_bottom(
    case: Case, z: np.ndarray, time: np.ndarray, profiles: np.ndarray
) -> tuple[Case, tuple[str, ...]]:
    """Prescribe the initial bottom gradient [K m s-1] where diffusion through it closes the heat budget.

    Returns:
        The case, and a note if it has such a flux.
    """
    diffusivity, complete = case.background_diffusivity, np.flatnonzero(np.isfinite(profiles).all(axis=1))
    if diffusivity is None or z.size < 2 or complete[-1] == 0:
        return case, ()
    eos, last = case.equation_of_state, complete[-1]
    per_area = float(eos.reference_density * eos.heat_capacity)
    out = float(diffusivity) * (profiles[0, 1] - profiles[0, 0]) / (z[1] - z[0])
    times = np.linspace(0.0, time[last], 1001)
    fluxes = jax.vmap(case.forcing.at)(jnp.asarray(times))
    entered = sum(
        np.trapezoid(np.asarray(flux), times) / per_area
        for flux in (fluxes.heat_flux, fluxes.shortwave_flux)
        if flux is not None
    )
    thickness = np.diff(np.asarray(case.grid.z_face))
    gained = float((profiles[last] - profiles[0]) @ thickness)
    # The budget is closer to a prescribed gradient than to an insulated bottom.
    if not 0.5 < (entered - gained) / (out * time[last] or np.inf) < 1.5:
        return case, ()
    heat = BottomHeat(heat_flux=-out * per_area)
    case = eqx.tree_at(lambda c: c.interior.bottom_heat, case, heat, is_leaf=lambda x: x is None)
    per_second = per_area / time[last]
    note = (
        f"heat of {out * per_area:.3g} W m-2 leaves through the bottom, down the initial gradient with the "
        f"background diffusivity: the profiles change by {gained * per_second:.4g} W m-2, of which the "
        f"surface explains {float(entered) * per_second:.4g} W m-2"
    )
    return case, (note,)


def _read_waves(
    file: Contents,
    mapping: Mapping,
    velocities: Sequence[Variable],
    vertical: VerticalAxis,
    grid: Grid,
    start: float,
    epoch: datetime.datetime | None,
) -> tuple[Interior, tuple[str, ...]]:
    """Stokes drift in the cells from `start` [s] since `epoch`, and notes for the user.

    The drift is given on the levels of the profiles, at times of its own or constant in time. It is
    extrapolated linearly to the surface from the two uppermost levels.
    """
    drift: dict[str, Series | float] = dict.fromkeys(DRIFT_VARIABLES, 0.0)
    for key in DRIFT_VARIABLES:
        name = mapping.variables.get(key, key if key in file else None)
        if name is not None:
            variable = file.named(name, key, "correct the mapping")
            drift[key] = _read_drift(file, variable, key, mapping, vertical, start, epoch)
    if not any(isinstance(series, Series) for series in drift.values()):
        return Interior(), ()
    time, values = on_common_times(drift, 0.0)
    z, centers = vertical.z, np.asarray(grid.z_center)
    profiles = [np.broadcast_to(values[key], (time.size, z.size)) for key in DRIFT_VARIABLES]
    cells = [np.stack([np.interp(centers, z, row) for row in each]) for each in profiles]
    rising = -z[-1] / (z[-1] - z[-2])
    at_surface = [each[:, -1] + rising * (each[:, -1] - each[:, -2]) for each in profiles]

    def over_time(kind: type, parts: Sequence[np.ndarray]) -> TimeSeries:
        arrays = kind(*(jnp.asarray(part, dtype=float) for part in parts))
        return TimeSeries(jnp.asarray(time, dtype=float), arrays, "Stokes drift")

    waves = DriftProfiles(over_time(DriftVectors, cells), over_time(DriftVector, at_surface))
    mean, notes = _mean_of(file, mapping, velocities)
    return Interior(stokes_drift=waves, velocities=mean), notes


def _read_drift(
    file: Contents,
    variable: Variable,
    key: str,
    mapping: Mapping,
    vertical: VerticalAxis,
    start: float,
    epoch: datetime.datetime | None,
) -> Series:
    """Profiles over time [m s-1], bottom first."""
    (level,) = vertical.variable.dims
    variable = variable.without_single((level,))
    axis, times = None, np.array([-1e12, 1e12])
    if len(variable.dims) == 2:
        of_profiles = file.variables.get(mapping.time or "")
        shares_time = of_profiles is not None and of_profiles.dims[0] in variable.dims
        coordinate = find_axis(file, variable, mapping.time if shares_time else None, "time")
        axis = read_time(coordinate, unit_alone(mapping.units, "time"))
        times = since_start(axis, key, start, epoch)
    dims = (level,) if axis is None else (axis.variable.dims[0], level)
    variable = variable.along(dims, "give it on the levels of the profiles")
    values = variable.converted(key, mapping.units.get(key))
    check_possible(file.path, variable.name, key, values)
    values = values[..., ::-1] if vertical.is_reversed else values
    if axis is not None:
        axis.check_complete(variable, values.sum(axis=1), "a Stokes drift without gaps")
        return Series(times, values)
    if not np.isfinite(values).all():
        raise variable.error("a Stokes drift without gaps", "missing values", "fill them")
    return Series(times, np.stack([values, values]))


def _mean_of(file: Contents, mapping: Mapping, velocities: Sequence[Variable]) -> tuple[str, tuple[str, ...]]:
    """Whether velocities are Eulerian or Lagrangian means, from the mapping or the attributes."""
    if mapping.velocities is not None:
        return mapping.velocities, ()
    stated = file.attrs.get("velocities")
    sources = [{"velocities": stated}] if stated else [*(one.attrs for one in velocities), file.attrs]
    words = (str(text).lower() for attributes in sources for text in attributes.values())
    means = sorted({mean for text in words for mean in re.findall(r"\b(eulerian|lagrangian)\b", text)})
    if len(means) > 1:
        expected, advice = (
            "either Eulerian or Lagrangian mean velocities",
            "say which in the mapping (velocities)",
        )
        raise file.error("u, v", expected, "attributes with both words", advice)
    if means or not velocities:
        return (means or ["eulerian"])[0], ()
    note = "the file does not say whether velocities contain the Stokes drift (lagrangian); assumed eulerian"
    return "eulerian", (note,)


def _number(file: Contents, key: str, value: PyTree) -> float:
    """An attribute that must be one finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, complex) or np.iscomplexobj(value) or not np.isfinite(number):
        raise file.error(f"attribute {key}", "a number", f"'{value}'", "repair it")
    return number


def _number_attributes(file: Contents, kind: type, names: Sequence[str]) -> dict[str, float]:
    """The attributes present in the file, within the ranges that a class declares."""
    values = {name: _number(file, name, file.attrs[name]) for name in names if name in file.attrs}
    for name, value in values.items():
        check_declared(file.path, f"attribute {name}", kind, name, value)
    return values


def _uncertainties(file: Contents, variables: dict[str, Variable]) -> dict[str, jax.Array]:
    found = {}
    for key, variable in variables.items():
        if "uncertainty" in variable.attrs:
            attribute = f"{variable.name}.uncertainty"
            value = _number(file, attribute, variable.attrs["uncertainty"])
            if value <= 0.0:
                raise file.error(f"attribute {attribute}", "a positive number", f"{value:g}", "repair it")
            found[key] = jnp.asarray(value, dtype=float)
    return found


def _coriolis_parameter(file: Contents, mapping: Mapping) -> float:
    if mapping.coriolis_parameter is not None:
        return float(mapping.coriolis_parameter)
    if mapping.latitude is not None:
        return float(coriolis_parameter(mapping.latitude))
    stated = _number_attributes(file, Case, ("coriolis_parameter",))
    if stated:
        return stated["coriolis_parameter"]
    latitude = degrees_of(file, "latitude")
    if latitude is None and "latitude" in file.attrs:
        _number(file, "latitude", file.attrs["latitude"])  # raises if it is a text
    if latitude is None or abs(latitude) > 90.0:
        expected = "a latitude of -90 to 90 degrees north, or an attribute coriolis_parameter"
        got = "none" if latitude is None else f"{latitude:g}"
        raise file.error("latitude", expected, got, "give one of them in the mapping")
    return float(coriolis_parameter(latitude))
