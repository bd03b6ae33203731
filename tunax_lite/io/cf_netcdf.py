"""CF NetCDF files of cases, the user's or the project's own: profiles, fluxes and waves, read and written.

Variables are found by the package's names, by CF standard names, or by a `Mapping`. Levels may be in any
order and direction; units are converted or rejected. Files written by `write_observations` need no mapping.
"""

import dataclasses
import datetime
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..column.case import Case
from ..column.forcing import FLUXES, AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..column.grid import Grid
from ..column.observations import Observations
from ..column.state import State
from ..column.terms import BottomHeat, DriftProfiles, DriftVector, DriftVectors, Interior
from ..column.terms.base import or_zero
from ..column.terms.surface import kinematic_fluxes
from ..column.time_series import TimeSeries
from ..declarations import check_settings, setting
from ..physics import AbstractEquationOfState, LinearEquationOfState, Teos10, TwoBandAbsorption
from ..physics.stratification import coriolis_parameter
from ..quantities import quantity_of
from .attributes import examine, leaves_water
from .axes import TimeAxis, VerticalAxis, degrees_of, find_axis, read_time, read_vertical
from .dataset import IDEALISED_EPOCH, attributes_of, height_coordinates, write_dataset
from .errors import check_declared, check_names, check_possible, names_its_file
from .netcdf import Contents, Variable, note_of_unused, read_contents
from .series import Series, on_common_times, start_of_case
from .units import Conversions, as_conversion, unit_alone
from .yaml_file import NAMES

_STATE = ("temperature", "salinity", "u", "v")
_DRIFT = ("stokes_drift_u", "stokes_drift_v")
_NUMBERS = "thermal_expansion haline_contraction reference_temperature reference_salinity gravity"
_STATED: dict[str, tuple[type, list[str]]] = {
    "equation_of_state": (LinearEquationOfState, [*_NUMBERS.split(), "reference_density", "heat_capacity"]),
    "absorption": (TwoBandAbsorption, ["infrared_fraction", "infrared_depth", "visible_depth"]),
}
"""Parts of a case of which global attributes hold the numbers: their class, and names."""
_ALSO: dict[str, tuple[tuple[str, ...], float, float]] = {
    "thermal_expansion": (("alpha", "thermal_expansion_coefficient"), 1e-5, 1e-3),
    "haline_contraction": (("beta", "haline_contraction_coefficient"), 1e-4, 2e-3),
    "reference_density": (("rho0", "rho_0", "rho_ref"), 900.0, 1100.0),
    "heat_capacity": (("cp", "c_p", "cp0"), 3000.0, 5000.0),
    "gravity": (("g", "gravitational_acceleration"), 9.0, 10.0),
}
"""Other names in simulations, as attributes or numbers, and between which values they have this meaning.

The beta of a simulation may be the gradient of f [m-1 s-1], which is far smaller.
"""
_BACKGROUND = ("background_viscosity", "background_diffusivity")

# These three fluxes are always set, so that all cases from observation files share one structure and with it
# the compiled functions.
_ALWAYS = ("stress_u", "stress_v", "heat_flux")


@dataclass(frozen=True)
class Mapping:
    """Information missing from a file; everything else is found by name or CF attributes.

    Args:
        variables: names in the file of `temperature`, `salinity`, `u`, `v`, `stokes_drift_u` or
            `stokes_drift_v`; `None` leaves one out.
        tracers: names in the file, by name of the passive tracer.
        time, vertical: names of the coordinate variables.
        positive: direction in which the vertical coordinate increases.
        fluxes: a number in the unit of the package or a name in the file, for a flux of `SurfaceFluxes`.
        forcing_file: file with the fluxes, relative to the folder of the profiles.
        upward: fluxes that the file counts positive out of the water.
        units: units or conversions by the package's names, also of fluxes, and the units of `time` and `z`;
            override those in the file.
        latitude: [degrees north]; gives the Coriolis parameter.
        coriolis_parameter: [s-1]; instead of a latitude.
        salinity: constant value where the file has none [g kg-1].
        equation_of_state: instead of the linear one with the constants of the file.
        velocities: whether u and v are `eulerian` or `lagrangian` means (the latter include the Stokes
            drift); by default taken from the attributes of the file.
        depth: of the bottom [m]; by default half a level spacing below the deepest level.
        duration: of the case [s]; by default up to the last profile.
        start: ISO 8601 time (universal time if it has no offset); earlier profiles are left out.
        name: of the case; by default the name of the file.

    Raises:
        ValueError: unknown names, a latitude out of range, or both latitude and f.
    """

    variables: dict[str, str | None] = setting(default_factory=dict)
    tracers: dict[str, str] = setting(default_factory=dict)
    time: str | None = setting(None)
    vertical: str | None = setting(None)
    positive: str | None = setting(None, choices=("up", "down"))
    fluxes: dict[str, float | str] = setting(default_factory=dict)
    forcing_file: str | None = setting(None)
    upward: tuple[str, ...] = setting(())
    units: Conversions = setting(default_factory=dict)
    latitude: float | None = setting(None, at_least=-90.0, at_most=90.0)
    coriolis_parameter: float | None = setting(None, at_least=-1e-2, at_most=1e-2)
    salinity: float = setting(35.0, at_least=0.0, at_most=60.0)
    equation_of_state: AbstractEquationOfState | None = setting(None)
    velocities: str | None = setting(None, choices=("eulerian", "lagrangian"))
    depth: float | None = setting(None, above=0.0, at_most=12000.0)
    duration: float | None = setting(None, above=0.0)
    start: str | None = setting(None)
    name: str | None = setting(None)

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]
        check_names("mapping.variables", self.variables, (*_STATE, *_DRIFT))
        check_names("mapping.fluxes", self.fluxes, FLUXES)
        check_names("mapping.upward", self.upward, FLUXES)
        with_units = (*_STATE, *_DRIFT, *FLUXES, *self.tracers, "time", "z")
        check_names("mapping.units", self.units, with_units)
        for name in self.upward:
            if as_conversion(self.units.get(name)).sign < 0:
                expected = f"{name} in upward, or the sign -1 in units"
                raise ValueError(f"mapping: expected {expected}, got both, which cancel; remove one of them.")
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise ValueError("mapping: expected latitude or coriolis_parameter, got both.")


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
    file = read_contents(path)
    variables, time, vertical, profiles = read_profiles(file, mapping)
    earliest = -math.inf if mapping.start is None else _seconds_of(file, mapping.start, time)
    first = _first_complete(file, profiles, variables, time.seconds >= earliest)
    start = float(time.seconds[first])
    late = _note_of_late_start(file, time, profiles, first, earliest)

    grid = grid_around(vertical, mapping.depth)
    name = name_of_case(file, mapping)
    words = " ".join(str(file.attrs.get(key, "")) for key in ("title", "source"))
    duration = float(time.seconds[-1] - start) if mapping.duration is None else float(mapping.duration)
    if duration <= 0.0:
        got, advice = f"only {time.describe(-1)}", "give 'duration' [s] in the mapping"
        raise time.variable.error("a complete profile and later ones", got, advice)
    velocities = [one for key, one in variables.items() if key in ("u", "v")]
    interior, notes = _read_waves(file, mapping, velocities, vertical, grid, start, time.epoch)
    notes += tuple(note_of_unused(file, _used(file, mapping, variables, time, vertical)))
    start_time = None
    # Files of idealised cases count from an arbitrary date.
    if time.epoch is not None and file.attrs.get("start_time") != "":
        start_time = (time.epoch + datetime.timedelta(seconds=start)).isoformat(sep=" ")
    latitude = degrees_of(file, "latitude") if mapping.latitude is None else mapping.latitude
    longitude = degrees_of(file, "longitude")
    state = _initial_state(grid, vertical, profiles, first, mapping)
    water, of_water = _read_water(file, mapping, state)
    stated = {part: kind(**_number_attributes(file, kind, names)) for part, (kind, names) in _STATED.items()}
    stated["equation_of_state"] = water
    case = Case(
        grid=grid,
        initial_state=state,
        forcing=_read_forcing(file, mapping, start, time.epoch, water),
        coriolis_parameter=_coriolis_parameter(file, mapping),
        interior=interior,
        **_number_attributes(file, Case, _BACKGROUND),
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
        notes=(*notes, *of_water, *told, *late),
    )


def _note_of_late_start(
    file: Contents, time: TimeAxis, profiles: dict[str, np.ndarray], first: int, earliest: float
) -> tuple[str, ...]:
    """A note on profiles before the start that have gaps."""
    wanted = int(np.argmax(time.seconds >= earliest))
    if first <= wanted:
        return ()
    lacking = [key for key, values in profiles.items() if not np.isfinite(values[wanted:first]).all()]
    return (
        f"{file.path}: the run starts at {time.describe(first)}, not at {time.describe(wanted)}: "
        f"{first - wanted} earlier profiles have gaps in {' and '.join(lacking)}; fill them, or choose a "
        "start (mapping.start)",
    )


class ProfilesInFile(NamedTuple):
    """Variables by the package's names, their axes, and values `(n_times, n_levels)`, bottom first."""

    variables: dict[str, Variable]
    time: TimeAxis
    vertical: VerticalAxis
    values: dict[str, np.ndarray]


def read_profiles(file: Contents, mapping: Mapping) -> ProfilesInFile:
    """Temperature, and what else of the state and of tracers a file has; errors as in `read_cf_netcdf`."""
    variables = _find_variables(file, mapping)
    reference = variables["temperature"]
    unit = partial(unit_alone, mapping.units)
    time = read_time(find_axis(file, reference, mapping.time, "time"), unit("time"))
    levels = find_axis(file, reference, mapping.vertical, "vertical")
    vertical = read_vertical(file, levels, unit("z"), mapping.positive)
    dims = (time.variable.dims[0], vertical.variable.dims[0])
    values = {key: _read_profiles(one, key, dims, vertical, mapping) for key, one in variables.items()}
    return ProfilesInFile(variables, time, vertical, values)


def name_of_case(file: Contents, mapping: Mapping) -> str:
    """Name of the case in a file."""
    return mapping.name or str(file.attrs.get("case") or file.path.stem)


def _find_variables(file: Contents, mapping: Mapping) -> dict[str, Variable]:
    """All variables of the state in the file, and tracers, by the package's names."""
    marked = {name: name for name, one in file.variables.items() if one.attrs.get("role") == "passive tracer"}
    names = {key: mapping.variables.get(key) for key in _STATE} | (mapping.tracers or marked)

    def find(key: str, name: str | None) -> Variable | None:
        if name is not None:
            return file.named(name, key, "correct the mapping")
        advice = "choose one in the mapping (variables)"
        return None if key in mapping.variables else file.find(key, (key,), NAMES["cf"][key], advice)

    found = {key: find(key, name) for key, name in names.items()}
    variables = {key: one for key, one in found.items() if one is not None}
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
    values = _values_of(variable, key, mapping)
    return values[:, ::-1] if vertical.is_reversed else values


def _values_of(variable: Variable, key: str, mapping: Mapping) -> np.ndarray:
    """Values in the package's unit, which must be possible."""
    examine(variable, key, given=mapping.units.get(key))
    values = variable.converted(key, mapping.units.get(key))
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


def grid_around(vertical: VerticalAxis, depth: float | None) -> Grid:
    """Faces midway between levels or at their bounds, the lowest at a depth [m] if it is given."""
    z = vertical.z
    if vertical.faces is not None:
        faces = vertical.faces.copy()
    else:
        middle = 0.5 * (z[1:] + z[:-1])
        faces = np.concatenate([[2.0 * z[0] - middle[0]], middle, [0.0]])
    if depth is not None:
        faces[0] = -depth
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
    state = {name: initial.pop(name) for name in _STATE if name in initial}
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
    entering = kinematic_fluxes(case.initial_state, eos, fluxes)["temperature"]
    entering = entering + or_zero(fluxes.shortwave_flux, case.initial_state) / per_area
    entered = np.trapezoid(np.broadcast_to(np.asarray(entering), times.shape), times)
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
    drift: dict[str, Series | float] = dict.fromkeys(_DRIFT, 0.0)
    for key in _DRIFT:
        name = mapping.variables.get(key, _own_drift(file, key, vertical))
        if name is not None:
            variable = file.named(name, key, "correct the mapping")
            drift[key] = _read_drift(file, variable, key, mapping, vertical, start, epoch)
    if not any(isinstance(series, Series) for series in drift.values()):
        return Interior(), ()
    time, values = on_common_times(drift, 0.0)
    z, centers = vertical.z, np.asarray(grid.z_center)
    profiles = [np.broadcast_to(values[key], (time.size, z.size)) for key in _DRIFT]
    cells = [np.stack([np.interp(centers, z, row) for row in each]) for each in profiles]
    rising = -z[-1] / (z[-1] - z[-2])
    at_surface = [each[:, -1] + rising * (each[:, -1] - each[:, -2]) for each in profiles]

    def over_time(kind: type, parts: Sequence[np.ndarray]) -> TimeSeries:
        arrays = kind(*(jnp.asarray(part, dtype=float) for part in parts))
        return TimeSeries(jnp.asarray(time, dtype=float), arrays, "Stokes drift")

    waves = DriftProfiles(over_time(DriftVectors, cells), over_time(DriftVector, at_surface))
    mean, notes = _mean_of(file, mapping, velocities)
    return Interior(stokes_drift=waves, velocities=mean), notes


def _own_drift(file: Contents, key: str, vertical: VerticalAxis) -> str | None:
    """The variable of a component of the Stokes drift, by name.

    Short names such as `us` have other meanings, too, and count only on the levels of the profiles.
    """
    known, (level,) = NAMES["stokes_drift"][key], vertical.variable.dims
    named = {name: one for name, one in file.variables.items() if name.lower() in known}
    found = [name for name, one in named.items() if name.lower() == key or level in one.dims]
    if len(found) > 1:
        advice = "choose one in the mapping (variables)"
        raise file.error(key, "one variable of the Stokes drift", " and ".join(found), advice)
    return found[0] if found else None


def _used(
    file: Contents,
    mapping: Mapping,
    variables: dict[str, Variable],
    time: TimeAxis,
    vertical: VerticalAxis,
) -> set[str]:
    """Names of the variables of a file that are read."""
    fluxes = (mapping.fluxes.get(flux, _own_name(file, flux)) for flux in FLUXES)
    drift = (mapping.variables.get(key, _own_drift(file, key, vertical)) for key in _DRIFT)
    own = {time.variable.name, vertical.variable.name, *(one.name for one in variables.values())}
    return own | {name for name in (*fluxes, *drift) if isinstance(name, str)}


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
        axis = _times_of(file, variable, mapping)
        times = _since_start(axis, key, start, epoch)
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

    def read(name: str) -> float:
        value = _number(file, name, file.attrs[name])
        check_declared(file.path, f"attribute {name}", kind, name, value)
        return value

    return {name: read(name) for name in names if name in file.attrs}


def _read_water(
    file: Contents, mapping: Mapping, state: State
) -> tuple[AbstractEquationOfState, tuple[str, ...]]:
    """The equation of state, and notes on constants that are assumed or not used."""
    found, unused = _number_attributes(file, *_STATED["equation_of_state"]), list[str]()
    for name, (others, lowest, highest) in _ALSO.items():
        for other in others if name not in found else ():
            value = _constant(file, other)
            if value is None:
                continue
            if lowest <= value <= highest:
                found[name] = value
                break
            unused.append(f"{file.path}: {other} = {value:g} is not used: it is no {name.replace('_', ' ')}")
    if (given := mapping.equation_of_state) is not None:
        instead = f"{file.path}: the mapping replaces {', '.join(sorted(found))} of the file"
        return given, (*unused, *([instead] if found else []))
    water = LinearEquationOfState(**found)
    assumed = _note_on_assumed(water, found, state.temperature, state.salinity)
    remedy = "give equation_of_state in the mapping, or attributes in the file, if it has others"
    return water, (*unused, *([] if assumed is None else [f"{file.path}: {assumed}; {remedy}"]))


def _note_on_assumed(
    water: LinearEquationOfState, given: Collection[str], temperature: jax.Array, salinity: jax.Array
) -> str | None:
    """Note which constants of a linear equation of state are assumed, and what TEOS-10 has at the surface.

    Args:
        given: names of the constants that are known.
        temperature, salinity: at the start, bottom first [degC, g kg-1].
    """
    units = {field.name: field.metadata.get("unit") for field in dataclasses.fields(water)}
    acting = ["thermal_expansion", "reference_density", "heat_capacity", "gravity"]
    acting += ["haline_contraction"] if np.ptp(np.asarray(salinity)) > 0.0 else []
    missing = [name for name in acting if name not in given]
    if not missing:
        return None
    listed = ", ".join(f"{name} = {float(getattr(water, name)):g} {units[name]}" for name in missing)
    note = f"assumed for a linear equation of state: {listed}"
    if "thermal_expansion" not in missing:
        return note
    warmth = jnp.asarray(temperature)[-1]
    alpha = float(Teos10().expansion(warmth, jnp.asarray(salinity)[-1], jnp.zeros_like(warmth))[0])
    return f"{note}; TEOS-10 has {alpha:.3g} K-1 at the surface, at {float(warmth):.3g} degC"


def _constant(file: Contents, name: str) -> float | None:
    """A number in a file, an attribute or a variable without axes; `None` for anything else."""
    value = file.attrs.get(name)
    if value is None and name in file and file[name].values.size == 1:
        value = file[name].numbers().item()
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return None
    return float(value) if np.isfinite(value) else None


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


def _read_forcing(
    file: Contents,
    mapping: Mapping,
    start: float,
    epoch: datetime.datetime | None,
    water: AbstractEquationOfState,
) -> AbstractForcing:
    """Fluxes from the mapping, or from the file of the profiles by name and CF standard name.

    The case starts at `start` [s] since `epoch`, the epoch of the profiles. Kinematic fluxes are multiplied
    by density and heat capacity of `water`, by which the model divides them.
    """
    of_water = {"density": float(water.reference_density), "heat_capacity": float(water.heat_capacity)}
    file = _file_of_fluxes(file, mapping)
    constants, series = {}, {}
    for flux in FLUXES:
        name = mapping.fluxes.get(flux, _own_name(file, flux))
        if isinstance(name, str):
            values, axis = _read_flux(file, flux, name, mapping, of_water)
            if axis is None:
                constants[flux] = float(values)
            else:
                series[flux] = Series(_since_start(axis, flux, start, epoch), values)
        elif name is not None:
            scale, offset = as_conversion(mapping.units.get(flux)).linear(flux, None, **of_water)
            constants[flux] = (float(name) * scale + offset) * (-1.0 if flux in mapping.upward else 1.0)
            check_possible("mapping", f"fluxes.{flux}", flux, np.asarray(constants[flux]))
    if not constants and not series:
        expected = f"variables such as {', '.join('surface_' + flux for flux in _ALWAYS)}"
        advice = "give 'fluxes' in the mapping; 0.0 is no flux"
        raise file.error("surface fluxes", expected, "none", advice)
    for flux in _ALWAYS:
        if flux not in series:
            constants.setdefault(flux, 0.0)
    if all(np.all(one.values == one.values[0]) for one in series.values()):  # as in idealised simulations
        constants |= {flux: float(one.values[0]) for flux, one in series.items()}
        return ConstantForcing(SurfaceFluxes(**constants))
    try:
        time, values = on_common_times(series, 0.0)
    except ValueError:
        expected = "at least two times that all fluxes cover"
        raise file.error("time", expected, "fewer", "extend the series, or give a number instead") from None
    return TimeSeriesForcing.from_values(
        jnp.asarray(time, dtype=float),
        **constants,
        **{flux: jnp.asarray(array, dtype=float) for flux, array in values.items()},
    )


def _file_of_fluxes(file: Contents, mapping: Mapping) -> Contents:
    if mapping.forcing_file is None:
        return file
    return read_contents(file.path.parent / mapping.forcing_file)


def _own_name(file: Contents, flux: str) -> str | None:
    """The variable with the package's name or CF standard name."""
    known = quantity_of(flux)
    standard = known.standard_name or "none of them"
    matching = [name for name, one in file.variables.items() if one.attrs.get("standard_name") == standard]
    return known.name if known.name in file else next(iter(matching), None)


def _read_flux(
    file: Contents, flux: str, name: str, mapping: Mapping, of_water: dict[str, float]
) -> tuple[np.ndarray, TimeAxis | None]:
    variable = file.named(name, flux, "correct 'fluxes' in the mapping")
    variable = variable if len(variable.dims) < 2 else variable.without_single()
    if len(variable.dims) > 1:
        raise variable.error("time as its only dimension", variable.dims, "choose one place and level")
    turned = flux in mapping.upward or leaves_water(variable)
    examine(variable, flux, given=mapping.units.get(flux), turned=turned)
    values = variable.converted(flux, mapping.units.get(flux), **of_water)
    check_possible(file.path, name, flux, values)
    # Zero minus the flux avoids negative zero.
    values = np.asarray(0.0 - values) if turned else values
    if not variable.dims:
        if not np.isfinite(values):
            raise variable.error("a finite number", values, "repair the file")
        return values, None
    axis = _times_of(file, variable, mapping)
    axis.check_complete(variable, values, "forcing without gaps")
    return values, axis


def _times_of(file: Contents, variable: Variable, mapping: Mapping) -> TimeAxis:
    """Times of a flux or a Stokes drift: those of the profiles where it shares them."""
    profiles = file.variables.get(mapping.time or "")
    shares_time = profiles is not None and len(profiles.dims) == 1 and profiles.dims[0] in variable.dims
    coordinate = find_axis(file, variable, mapping.time if shares_time else None, "time")
    return read_time(coordinate, unit_alone(mapping.units, "time"))


def _since_start(axis: TimeAxis, what: str, start: float, epoch: datetime.datetime | None) -> np.ndarray:
    """Times [s] of a flux or a Stokes drift since the start of the case."""
    if axis.epoch is None or epoch is None:
        if axis.epoch is not epoch:
            expected = f"times with a reference date ('since') for both profiles and {what}, or for neither"
            got = f"{axis.epoch or 'none'} for {what}, {epoch or 'none'} for the profiles"
            raise axis.variable.error(expected, got, "give the unit of time in the mapping (units)")
        return axis.seconds + (0.0 - start)
    return axis.seconds + ((axis.epoch - epoch).total_seconds() - start)


def write_observations(
    path, case: Case, observations: Observations, attributes: dict[str, str] | None = None
) -> None:
    """Write a case and its profiles to one file that `read_cf_netcdf` reads without a mapping.

    The initial state is not written: readers take the first complete profile. `attributes` are global
    attributes such as title and source.

    Raises:
        ValueError: a batch of columns, or fluxes (such as those of passive tracers), an equation of state or
            an absorption that the format cannot represent.
        OSError: a path that cannot be written to.
    """
    import xarray as xr  # takes long

    if observations.moves or observations.series:
        expected = "profiles at the same heights at all times and no series of numbers"
        expected += ", which the format does not hold"
        raise ValueError(f"{path}: expected {expected}, got others; leave them out.")
    forcing, stated = _stated(path, case)
    variables: dict[str, tuple] = {}
    for name, values in observations.profiles.items():
        own: dict[str, object] = dict(attributes_of(name))
        if name in case.initial_state.tracers:
            own["role"] = "passive tracer"
        if name in observations.uncertainty:
            own["uncertainty"] = float(observations.uncertainty[name])
        variables[name] = (("time", "z_center"), np.asarray(values), own)
    since = f"seconds since {case.start_time or IDEALISED_EPOCH}"
    of_time = {"standard_name": "time", "axis": "T", "units": since}
    coordinates: dict[str, tuple] = {"time": ("time", np.asarray(observations.time), of_time)}
    dims: tuple[str, ...] = ()
    if isinstance(forcing, TimeSeriesForcing):
        dims = ("time",) if np.array_equal(forcing.time, observations.time) else ("forcing_time",)
        if dims == ("forcing_time",):
            of_time = of_time | {"long_name": "time of the fluxes"}
            coordinates["forcing_time"] = (dims, np.asarray(forcing.time), of_time)
    for flux in FLUXES:
        values, name = getattr(forcing.fluxes, flux), quantity_of(flux).name
        if values is not None:
            variables[name] = (dims, np.asarray(values), attributes_of(name))
    heights = height_coordinates(case.grid)
    z, of_z = np.asarray(observations.z), dict(heights["z_center"][2])
    if z.shape == (case.grid.n_cells,) and np.allclose(z, case.grid.z_center, rtol=0.0, atol=1e-6):
        variables["z_center_bounds"] = heights["z_center_bounds"]
    else:
        of_z.pop("bounds")
    coordinates["z_center"] = ("z_center", z, of_z)
    write_dataset(xr.Dataset(variables, coordinates, stated | (attributes or {})), path)


def _stated(path, case: Case) -> tuple[ConstantForcing | TimeSeriesForcing, dict[str, object]]:
    """The forcing of a case, and global attributes for what the format stores as attributes."""
    forcing = case.forcing
    known = isinstance(forcing, (ConstantForcing, TimeSeriesForcing))
    if not known or case.batch_shape or forcing.fluxes.tracer_fluxes:
        raise ValueError(
            f"{path}: expected a single column with constant or tabulated fluxes of momentum, heat and "
            f"salt, got a batch of shape {case.batch_shape} or another forcing."
        )
    stated: dict[str, object] = {"Conventions": "CF-1.11", "case": case.name}
    stated |= {"start_time": case.start_time or "", "coriolis_parameter": float(case.coriolis_parameter)}
    for part, (kind, names) in _STATED.items():
        module = getattr(case, part)
        if not isinstance(module, kind):
            expected = f"{kind.__name__}, which attributes of the file can say"
            got = type(module).__name__
            raise ValueError(f"{path}: expected {expected}, got {got}; replace it in the case first.")
        stated |= {name: float(getattr(module, name)) for name in names}
    return forcing, stated
