"""The project's own observation files: a case and its profiles as CF NetCDF."""

import numpy as np
import xarray as xr

from ..case import Case
from ..forcing import ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..observations import Observations
from ..physics import LinearEquationOfState, TwoBandAbsorption
from ..quantities import quantity_of
from .cf_forcing import FLUXES
from .cf_netcdf import ABSORPTION_ATTRIBUTES, EQUATION_OF_STATE_ATTRIBUTES
from .dataset import IDEALISED_EPOCH, attributes_of, height_coordinates, write_dataset


def write_observations(
    path, case: Case, observations: Observations, attributes: dict[str, str] | None = None
) -> None:
    """Write a case and its profiles to one file that `read_cf_netcdf` reads without a mapping.

    The initial state is not written: a reader takes the first complete profile.

    Args:
        path: of the new file; an older one is replaced only by a complete one.
        case: of a single column, without fluxes of passive tracers.
        observations: on the grid of the case, or on levels of their own.
        attributes: global attributes, such as title and source.

    Raises:
        ValueError: a batch of columns, or fluxes, an equation of state or an absorption that the format does
            not hold.
        OSError: a path that cannot be written.
    """
    if observations.moves or observations.series:
        raise ValueError(
            f"{path}: expected profiles at the same heights at all times and no series of numbers, which the "
            "format does not hold, got others; leave them out."
        )
    forcing = case.forcing
    known = isinstance(forcing, (ConstantForcing, TimeSeriesForcing))
    if case.batch_shape or not known or forcing.fluxes.tracer_fluxes:
        raise ValueError(
            f"{path}: expected a single column with constant or tabulated fluxes of momentum, heat and "
            f"salt, got a batch of shape {case.batch_shape} or another forcing."
        )
    for module, kind in (
        (case.equation_of_state, LinearEquationOfState),
        (case.absorption, TwoBandAbsorption),
    ):
        if not isinstance(module, kind):
            raise ValueError(
                f"{path}: expected {kind.__name__}, which attributes of the file can say, got "
                f"{type(module).__name__}; replace it in the case first."
            )
    variables = {
        name: (("time", "z_center"), np.asarray(values), _profile_attributes(name, case, observations))
        for name, values in observations.profiles.items()
    }
    coordinates, flux_dims = _time_coordinates(case, forcing, observations)
    variables |= _flux_variables(forcing.fluxes, flux_dims)
    heights = height_coordinates(case.grid)
    z, z_attributes = np.asarray(observations.z), heights["z_center"][2]
    if z.shape == (case.grid.n_cells,) and np.allclose(z, case.grid.z_center, rtol=0.0, atol=1e-6):
        variables["z_center_bounds"] = heights["z_center_bounds"]
    else:
        z_attributes = {name: value for name, value in z_attributes.items() if name != "bounds"}
    coordinates["z_center"] = ("z_center", z, z_attributes)
    write_dataset(xr.Dataset(variables, coordinates, _global_attributes(case) | (attributes or {})), path)


def _profile_attributes(name: str, case: Case, observations: Observations) -> dict[str, object]:
    attributes: dict[str, object] = dict(attributes_of(name))
    if name in case.initial_state.tracers:
        attributes["role"] = "passive tracer"
    if name in observations.uncertainty:
        attributes["uncertainty"] = float(observations.uncertainty[name])
    return attributes


def _time_coordinates(
    case: Case, forcing: ConstantForcing | TimeSeriesForcing, observations: Observations
) -> tuple[dict[str, tuple], tuple[str, ...]]:
    """Coordinates of the profiles and of the fluxes, and the dimensions of the fluxes."""
    attributes = {
        "standard_name": "time",
        "axis": "T",
        "units": f"seconds since {case.start_time or IDEALISED_EPOCH}",
    }
    coordinates: dict[str, tuple] = {"time": ("time", np.asarray(observations.time), attributes)}
    if isinstance(forcing, ConstantForcing):
        return coordinates, ()
    times = np.asarray(forcing.time)
    if np.array_equal(times, observations.time):
        return coordinates, ("time",)
    attributes = attributes | {"long_name": "time of the fluxes"}
    return coordinates | {"forcing_time": ("forcing_time", times, attributes)}, ("forcing_time",)


def _flux_variables(fluxes: SurfaceFluxes, dims: tuple[str, ...]) -> dict[str, tuple]:
    variables = {}
    for flux in FLUXES:
        values = getattr(fluxes, flux)
        if values is not None:
            name = quantity_of(flux).name
            variables[name] = (dims, np.asarray(values), attributes_of(name))
    return variables


def _global_attributes(case: Case) -> dict[str, object]:
    numbers = {"coriolis_parameter": float(case.coriolis_parameter)}
    for module, names in (
        (case.equation_of_state, EQUATION_OF_STATE_ATTRIBUTES),
        (case.absorption, ABSORPTION_ATTRIBUTES),
    ):
        numbers |= {name: float(getattr(module, name)) for name in names}
    return {"Conventions": "CF-1.11", "case": case.name, "start_time": case.start_time or "", **numbers}
