"""CF NetCDF files of cases, written by users or by this package: profiles, fluxes and waves.

Variables are found by the package's names, by CF standard names, or by a `Mapping`. Levels may
increase or decrease, upward or downward; units are converted or rejected.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._types import warn_of_input
from ..column.case import Case
from ..column.forcing import FLUXES
from ..column.observations import Observations
from ..declarations import check_settings, setting
from ..physics import AbstractEquationOfState
from ..quantities import quantity_of
from .attributes import examine, leaves_water
from .axes import degrees_of, find_axis, read_vertical
from .case import STOKES_DRIFT, WATER, case_from_dataset, part_from_attributes
from .errors import check_names, check_possible, name_of, names_its_file
from .netcdf import read_netcdf
from .times import describe, is_dated, read_time
from .units import Conversion, Conversions, as_conversion, is_known, unit_alone, unit_of
from .variables import (
    array,
    error_in,
    error_of,
    find_variable,
    in_unit,
    like,
    listing,
    name_in_file,
    note_of_unused,
    numbers_in,
    on_axes,
    variable_named,
    variables_of,
)
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_OTHER_NAMES: dict[str, tuple[tuple[str, ...], float, float]] = {
    "thermal_expansion": (("alpha", "thermal_expansion_coefficient"), 1e-5, 1e-3),
    "haline_contraction": (("beta", "haline_contraction_coefficient"), 1e-4, 2e-3),
    "reference_density": (("rho0", "rho_0", "rho_ref"), 900.0, 1100.0),
    "heat_capacity": (("cp", "c_p", "cp0"), 3000.0, 5000.0),
    "gravity": (("g", "gravitational_acceleration"), 9.0, 10.0),
}
"""Other names in simulations, of attributes or scalars, and the range of values with this meaning.

The beta of a simulation may be the gradient of f [m-1 s-1], which is far smaller.
"""


@dataclass(frozen=True)
class Mapping:
    """Information missing from a file; everything else is found by name or CF attributes.

    Args:
        variables: names in the file of `temperature`, `salinity`, `u`, `v`, `stokes_drift_u` or
            `stokes_drift_v`; `None` leaves one out.
        tracers: names in the file, by name of the passive tracer.
        time, vertical: names of the coordinate variables.
        positive: direction in which the vertical coordinate increases.
        fluxes: name in the file, or number in the unit in `units` or else that of the package, by name in
            `SurfaceFluxes`.
        forcing_file: file with the fluxes, relative to the folder of the profiles.
        units: units or conversions by the package's names, also of fluxes, and the units of `time` and `z`;
            override those in the file.
        latitude: [degrees north]; gives the Coriolis parameter.
        coriolis_parameter: [s-1]; instead of a latitude.
        salinity: constant if the file has no profiles [g kg-1].
        equation_of_state: instead of the linear one with the constants of the file.
        velocities: whether u and v are `eulerian` or `lagrangian` means (the latter include the Stokes
            drift); by default taken from the attributes of the file.
        name: of the case; by default the name of the file.

    Raises:
        ValueError: unknown names, numbers out of range, or both latitude and f.
    """

    variables: dict[str, str | None] = setting(default_factory=dict)
    tracers: dict[str, str] = setting(default_factory=dict)
    time: str | None = setting(None)
    vertical: str | None = setting(None)
    positive: str | None = setting(None, choices=("up", "down"))
    fluxes: dict[str, float | str] = setting(default_factory=dict)
    forcing_file: str | None = setting(None)
    units: Conversions = setting(default_factory=dict)
    latitude: float | None = setting(None, at_least=-90.0, at_most=90.0)
    coriolis_parameter: float | None = setting(None, at_least=-1e-2, at_most=1e-2)
    salinity: float = setting(35.0, at_least=0.0, at_most=60.0)
    equation_of_state: AbstractEquationOfState | None = setting(None)
    velocities: str | None = setting(None, choices=("eulerian", "lagrangian"))
    name: str | None = setting(None)

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]
        check_names("mapping.variables", self.variables, (*WATER, *STOKES_DRIFT))
        check_names("mapping.fluxes", self.fluxes, FLUXES)
        with_units = (*WATER, *STOKES_DRIFT, *FLUXES, *self.tracers, "time", "z")
        check_names("mapping.units", self.units, with_units)
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise ValueError("mapping: expected latitude or coriolis_parameter, got both.")


@names_its_file("a CF NetCDF file")
def read_cf_netcdf(path, mapping: Mapping | None = None) -> tuple[Case, Observations]:
    """Read profiles over time, forcing, rotation and Stokes drift from a file or an xarray dataset.

    Returns:
        The case, and the profiles on the levels of the file, NaN where values are missing; see
        `case_from_dataset`.

    Raises:
        FileFormatError: a variable or axis that is missing, ambiguous or of an unexpected shape or unit,
            impossible values, no complete profile, gaps in the forcing, or no latitude.
    """
    mapping = Mapping() if mapping is None else mapping
    return case_from_dataset(open_cf(path, mapping), equation_of_state=mapping.equation_of_state)


def open_cf(path, mapping: Mapping | None = None) -> "xr.Dataset":
    """Read a CF file as a dataset with the package's names and units; see `open_observations`.

    The mapping's constants become attributes, except for its `equation_of_state`: pass that to
    `case_from_dataset`.
    """
    mapping = Mapping() if mapping is None else mapping
    file = read_netcdf(path)
    dataset = read_profiles(file, mapping)
    constants = _constants(file)
    dataset = dataset.assign_attrs(constants, salinity=mapping.salinity)
    dataset.attrs["case"] = mapping.name or str(file.attrs.get("case") or Path(name_of(file)).stem)
    if mapping.latitude is not None:  # in place of the rotation of the file
        dataset.attrs.pop("coriolis_parameter", None)
    for key in ("coriolis_parameter", "velocities"):
        if (stated := getattr(mapping, key)) is not None:
            dataset.attrs[key] = stated
    water = mapping.equation_of_state or part_from_attributes(dataset, "equation_of_state")
    elsewhere = mapping.forcing_file and Path(name_of(file)).parent / mapping.forcing_file
    fluxes = _fluxes(read_netcdf(elsewhere) if elsewhere else file, mapping, dataset, water)
    dataset = dataset.assign(_drift(file, mapping, dataset) | fluxes).sortby("z")
    for axis in ("latitude", "longitude"):
        stated = mapping.latitude if axis == "latitude" else None
        degrees = degrees_of(file, axis) if stated is None else stated
        if degrees is not None:
            dataset = dataset.assign_coords({axis: degrees})
    warn_of_input(note_of_unused(file, [name_in_file(dataset[name]) for name in dataset.variables]))
    dataset.encoding["source"] = name_of(file)
    return dataset


def read_profiles(file: "xr.Dataset", mapping: Mapping) -> "xr.Dataset":
    """Profiles over `time` and `z` [m], in the order of the file; errors as in `read_cf_netcdf`."""
    import xarray as xr  # takes long

    variables = _find_variables(file, mapping)
    first = variables["temperature"]
    times = read_time(find_axis(file, first, mapping.time, "time"), unit_alone(mapping.units, "time"))
    levels = find_axis(file, first, mapping.vertical, "vertical")
    z = read_vertical(file, levels, unit_alone(mapping.units, "z"), mapping.positive)
    dataset = xr.Dataset(coords={"time": like(times, times.values, ("time",)), "z": z}, attrs=file.attrs)
    dataset.encoding |= {"source": name_of(file), "level": levels.dims[0]}
    for key, variable in variables.items():
        unit = mapping.units.get(key)
        examine(variable, key, requested=unit)
        profiles = _converted(variable, key, (*times.dims, *levels.dims), ("time", "z"), unit)
        if np.any(np.isinf(profiles.values)):
            raise error_of(variable, "finite values or gaps", "inf", "mark gaps as missing values")
        dataset[key] = profiles
    return dataset


def _converted(
    variable: "xr.DataArray",
    key: str,
    dims: Sequence[Hashable],
    axes: Sequence[str],
    unit: str | Conversion | None,
    **of_water: float,
) -> "xr.DataArray":
    """Convert a variable over `dims` to the package's unit, over `axes` instead; gaps stay NaN."""
    variable = on_axes(variable, dims, "choose one place and level, or correct time and vertical (mapping)")
    values = in_unit(variable, key, unit, **of_water)
    check_possible(name_of(variable), name_in_file(variable), key, values)
    variable = like(variable, values, axes)
    return variable.assign_attrs(units=unit_of(key)) if is_known(key) else variable


def _find_variables(file: "xr.Dataset", mapping: Mapping) -> dict[str, "xr.DataArray"]:
    marked = [var.name for var in variables_of(file) if var.attrs.get("role") == "passive tracer"]
    tracers = mapping.tracers or {str(name): str(name) for name in marked}

    def find(key: str, name: str | None) -> "xr.DataArray | None":
        if name is not None:
            return variable_named(file, name, key, "correct the mapping")
        if key in mapping.variables:
            return None
        return find_variable(file, key, (key,), NAMES["cf"][key], "choose one in the mapping (variables)")

    wanted = {key: mapping.variables.get(key) for key in WATER} | tracers
    variables = {key: var for key, name in wanted.items() if (var := find(key, name)) is not None}
    for key in tracers:
        variables[key] = variables[key].assign_attrs(role="passive tracer")
    if "temperature" not in variables:
        expected = f"a variable 'temperature' or with the standard name {NAMES['cf']['temperature'][0]}"
        got = f"only {listing(file)}"
        raise error_in(file, "temperature", expected, got, "name it in the mapping (variables)")
    return variables


def _drift(file: "xr.Dataset", mapping: Mapping, profiles: "xr.Dataset") -> dict[str, "xr.DataArray"]:
    """Stokes drift on the levels of the profiles [m s-1], over time or constant.

    Short names such as `us` also mean other things, and count only on these levels.
    """
    drift, level = {}, profiles.encoding["level"]
    for key in STOKES_DRIFT:
        if key in mapping.variables:
            names = [name for name in [mapping.variables[key]] if name is not None]
        else:
            usual = [name for name in map(str, file.variables) if name.lower() in NAMES["stokes_drift"][key]]
            names = [name for name in usual if name.lower() == key or level in file[name].dims]
        if len(names) > 1:
            advice = "choose one in the mapping (variables)"
            raise error_in(file, key, "one variable of the Stokes drift", " and ".join(names), advice)
        for name in names:
            variable = variable_named(file, name, key, "correct the mapping")
            drift[key] = _over_time(file, variable, key, mapping, profiles, (level,))
    return drift


def _over_time(
    file: "xr.Dataset",
    variable: "xr.DataArray",
    key: str,
    mapping: Mapping,
    profiles: "xr.Dataset",
    level: tuple[str, ...],
    *,
    upward: bool = False,
    **of_water: float,
) -> "xr.DataArray":
    """Read a flux or, over the dimension `level`, a Stokes drift, over time or constant; gaps are refused.

    Times other than those of the profiles become the axis `<quantity>_time`. Fluxes that count `upward`
    change their sign.
    """
    variable = variable.squeeze(drop=True)
    times = _times_of(file, variable, mapping) if len(variable.dims) > len(level) else None
    dims = level if times is None else (*times.dims, *level)
    name, axes = quantity_of(key).name, ("z",) * len(level)
    if times is not None:
        if is_dated(times) is not is_dated(profiles["time"]):
            expected = f"times with a reference date ('since') for both profiles and {name}, or for neither"
            got, advice = "a date for one of the two", "give the unit of time in the mapping (units)"
            raise error_of(times, expected, got, advice)
        is_shared = np.array_equal(times.values, profiles["time"].values)
        axes = ("time" if is_shared else f"{name}_time", *axes)
    result = _converted(variable, key, dims, axes, mapping.units.get(key), **of_water)
    values = np.asarray(0.0 - result.values) if upward else result.values  # without negative zero
    for at in np.argwhere(~np.isfinite(values))[:1].tolist():  # the first one
        moment = "" if times is None else f" at {describe(times, at[0])}"
        got, advice = f"{values[tuple(at)]}{moment}", "fill the gap before the run"
        raise error_of(variable, "finite values", got, advice)
    result = like(result, values)
    return result if times is None else result.assign_coords({axes[0]: like(times, times.values, axes[:1])})


def _fluxes(
    file: "xr.Dataset", mapping: Mapping, profiles: "xr.Dataset", water: AbstractEquationOfState
) -> dict[str, "xr.DataArray"]:
    """Surface fluxes from the mapping, or from the file by name and CF standard name.

    Kinematic fluxes are multiplied by density and heat capacity of the water, by which the model divides
    them.
    """
    fluxes = {}
    of_water = {"density": float(water.reference_density), "heat_capacity": float(water.heat_capacity)}
    names = {k: mapping.fluxes[k] if k in mapping.fluxes else _name_of_flux(file, k) for k in FLUXES}
    has_sun = names["shortwave_flux"] is not None
    for flux, name in names.items():
        key, unit = quantity_of(flux).name, mapping.units.get(flux)
        if isinstance(name, str):
            is_mapped, advice = flux in mapping.fluxes, "correct 'fluxes' in the mapping"
            variable = variable_named(file, name, flux, advice) if is_mapped else file[name]
            flips = leaves_water(variable)
            examine(variable, flux, requested=unit, is_reversed=flips, has_sun=has_sun)
            fluxes[key] = _over_time(file, variable, flux, mapping, profiles, (), upward=flips, **of_water)
        elif name is not None:
            scale, offset = as_conversion(unit).linear(flux, None, **of_water)
            value = np.asarray(float(name) * scale + offset)
            check_possible("mapping", f"fluxes.{flux}", flux, value)
            fluxes[key] = array("mapping", f"fluxes.{flux}", (), value, {"units": unit_of(key)})
    return fluxes


def _name_of_flux(file: "xr.Dataset", flux: str) -> str | None:
    """Find a flux by the package's name, or else by its CF standard name; `FileFormatError` for several."""
    entry, advice = quantity_of(flux), f"choose one in the mapping (fluxes: {flux})"
    variable = find_variable(file, flux, (entry.name,), (entry.standard_name or "none of them",), advice)
    return None if variable is None else str(variable.name)


def _times_of(file: "xr.Dataset", variable: "xr.DataArray", mapping: Mapping) -> "xr.DataArray":
    """Times of a flux or a Stokes drift; `mapping.time` counts only for variables along its dimension."""
    mapped = file.get(mapping.time or "")
    is_along = mapped is not None and len(mapped.dims) == 1 and mapped.dims[0] in variable.dims
    coordinate = find_axis(file, variable, mapping.time if is_along else None, "time")
    return read_time(coordinate, unit_alone(mapping.units, "time"))


def _constants(file: "xr.Dataset") -> dict[str, float]:
    """Constants of the water from `_OTHER_NAMES`; warns of numbers outside their range."""
    constants = {}
    for name, (others, lowest, highest) in _OTHER_NAMES.items():
        for other in others if name not in file.attrs else ():
            value = file.attrs.get(other)
            if value is None and other in file and file[other].size == 1:
                value = numbers_in(file[other]).item()
            number = np.asarray(value)
            if value is None or number.ndim or number.dtype.kind not in "fiu" or not np.isfinite(number):
                continue
            if lowest <= value <= highest:
                constants[name] = float(value)
                break
            note = f"{other} = {value:g} is not used: it is no {name.replace('_', ' ')}"
            warn_of_input([f"{name_of(file)}: {note}"])
    return constants
