"""Mapping of a user's NetCDF file, reading of its surface fluxes, and writing of a case with its profiles."""

import datetime
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..column.case import Case
from ..column.forcing import FLUXES, AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..column.observations import Observations
from ..declarations import check_settings, setting
from ..physics import AbstractEquationOfState, LinearEquationOfState, TwoBandAbsorption
from ..quantities import quantity_of
from .attributes import examine
from .axes import TimeAxis, find_axis, read_time
from .dataset import IDEALISED_EPOCH, attributes_of, height_coordinates, write_dataset
from .errors import check_names, check_possible
from .netcdf import Contents, read_contents
from .series import Series, on_common_times
from .units import Conversions, as_conversion, unit_alone

STATE_VARIABLES = ("temperature", "salinity", "u", "v")
DRIFT_VARIABLES = ("stokes_drift_u", "stokes_drift_v")
_NUMBERS = "thermal_expansion haline_contraction reference_temperature reference_salinity gravity"
STATED: dict[str, tuple[type, list[str]]] = {
    "equation_of_state": (LinearEquationOfState, [*_NUMBERS.split(), "reference_density", "heat_capacity"]),
    "absorption": (TwoBandAbsorption, ["infrared_fraction", "infrared_depth", "visible_depth"]),
}
"""Parts of a case of which global attributes hold the numbers: their class, and names."""

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
    velocities: str | None = setting(None, choices=("eulerian", "lagrangian"))
    depth: float | None = setting(None, above=0.0, at_most=12000.0)
    duration: float | None = setting(None, above=0.0)
    start: str | None = setting(None)
    name: str | None = setting(None)

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]
        check_names("mapping.variables", self.variables, (*STATE_VARIABLES, *DRIFT_VARIABLES))
        check_names("mapping.fluxes", self.fluxes, FLUXES)
        check_names("mapping.upward", self.upward, FLUXES)
        with_units = (*STATE_VARIABLES, *DRIFT_VARIABLES, *FLUXES, *self.tracers, "time", "z")
        check_names("mapping.units", self.units, with_units)
        for name in self.upward:
            if as_conversion(self.units.get(name)).sign < 0:
                expected = f"{name} in upward, or the sign -1 in units"
                raise ValueError(f"mapping: expected {expected}, got both, which cancel; remove one of them.")
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise ValueError("mapping: expected latitude or coriolis_parameter, got both.")


def read_forcing(
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
    if mapping.forcing_file is not None:
        file = read_contents(file.path.parent / mapping.forcing_file, valid_range=True)
    constants, series = {}, {}
    for flux in FLUXES:
        name = mapping.fluxes.get(flux, _own_name(file, flux))
        if isinstance(name, str):
            values, axis = _read_flux(file, flux, name, mapping, of_water)
            if axis is None:
                constants[flux] = float(values)
            else:
                series[flux] = Series(since_start(axis, flux, start, epoch), values)
        elif name is not None:
            scale, offset = as_conversion(mapping.units.get(flux)).linear(flux, None, **of_water)
            constants[flux] = (float(name) * scale + offset) * _sign(flux, "", mapping)
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


def _own_name(file: Contents, flux: str) -> str | None:
    """The variable with the package's name or CF standard name."""
    known = quantity_of(flux)
    standard = known.standard_name or "none of them"
    matching = [name for name, one in file.variables.items() if one.attrs.get("standard_name") == standard]
    return known.name if known.name in file else next(iter(matching), None)


def _sign(flux: str, standard_name: object, mapping: Mapping) -> float:
    leaves_water = any(words in str(standard_name) for words in ("upward", "out_of_sea_water"))
    return -1.0 if flux in mapping.upward or leaves_water else 1.0


def _read_flux(
    file: Contents, flux: str, name: str, mapping: Mapping, of_water: dict[str, float]
) -> tuple[np.ndarray, TimeAxis | None]:
    variable = file.named(name, flux, "correct 'fluxes' in the mapping")
    variable = variable if len(variable.dims) < 2 else variable.without_single()
    if len(variable.dims) > 1:
        raise variable.error("time as its only dimension", variable.dims, "choose one place and level")
    turned = _sign(flux, variable.attrs.get("standard_name"), mapping) < 0.0
    examine(variable, flux, given=mapping.units.get(flux), turned=turned)
    values = variable.converted(flux, mapping.units.get(flux), **of_water)
    check_possible(file.path, name, flux, values)
    # Zero minus the flux avoids negative zero.
    values = np.asarray(0.0 - values) if turned else values
    if not variable.dims:
        if not np.isfinite(values):
            raise variable.error("a finite number", values, "repair the file")
        return values, None
    of_profiles = file.variables.get(mapping.time or "")
    shares_time = of_profiles is not None and of_profiles.dims == variable.dims
    coordinate = find_axis(file, variable, mapping.time if shares_time else None, "time")
    axis = read_time(coordinate, unit_alone(mapping.units, "time"))
    axis.check_complete(variable, values, "forcing without gaps")
    return values, axis


def since_start(axis: TimeAxis, what: str, start: float, epoch: datetime.datetime | None) -> np.ndarray:
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
    for part, (kind, names) in STATED.items():
        module = getattr(case, part)
        if not isinstance(module, kind):
            expected = f"{kind.__name__}, which attributes of the file can say"
            got = type(module).__name__
            raise ValueError(f"{path}: expected {expected}, got {got}; replace it in the case first.")
        stated |= {name: float(getattr(module, name)) for name in names}
    return forcing, stated
