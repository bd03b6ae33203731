"""What a user says of a NetCDF file; and its surface fluxes: numbers, or series on the axes of the file."""

import datetime
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from ..declarations import setting
from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..quantities import quantity_of
from .cf_axes import TimeAxis, converted, find_axis, read_time
from .errors import FileFormatError, check_possible
from .netcdf import Contents, read_contents

STATE_VARIABLES = ("temperature", "salinity", "u", "v")
FLUXES = ("stress_u", "stress_v", "heat_flux", "shortwave_flux", "freshwater_flux", "salt_flux")


@dataclass(frozen=True)
class Mapping:
    """What a file does not say of itself; everything left out is found by name or CF attributes.

    Args:
        variables: name in the file of `temperature`, `salinity`, `u` or `v`; `None` leaves one out.
        tracers: name in the file by name of the passive tracer.
        time, vertical: names of the coordinate variables.
        positive: direction in which the vertical coordinate increases.
        fluxes: a number, or a name in the file, for `stress_u`, `stress_v` [N m-2], `heat_flux`,
            `shortwave_flux` [W m-2], `freshwater_flux` or `salt_flux` [kg m-2 s-1].
        forcing_file: file with the fluxes; relative to the folder of the profiles.
        upward: fluxes that the file counts positive out of the water.
        units: unit by our name, also for `time`, `z` and fluxes; goes before the one in the file.
        latitude: [degrees north]; gives the Coriolis parameter.
        coriolis_parameter: [s-1]; instead of a latitude.
        salinity: constant value where the file has none [g kg-1].
        depth: of the bottom [m]; by default half a level spacing below the deepest level.
        duration: of the case [s]; by default up to the last profile.
        start: ISO 8601 time before which profiles are left out.
        name: of the case; by default that of the file.

    Raises:
        ValueError: names that do not exist, a latitude out of range, or both latitude and f.
    """

    variables: dict[str, str | None] = setting(default_factory=dict)
    tracers: dict[str, str] = setting(default_factory=dict)
    time: str | None = setting(None)
    vertical: str | None = setting(None)
    positive: str | None = setting(None, choices=("up", "down"))
    fluxes: dict[str, float | str] = setting(default_factory=dict)
    forcing_file: str | None = setting(None)
    upward: tuple[str, ...] = setting(())
    units: dict[str, str] = setting(default_factory=dict)
    latitude: float | None = setting(None, at_least=-90.0, at_most=90.0)
    coriolis_parameter: float | None = setting(None, at_least=-1e-2, at_most=1e-2)
    salinity: float = setting(35.0, at_least=0.0, at_most=60.0)
    depth: float | None = setting(None, above=0.0, at_most=12000.0)
    duration: float | None = setting(None, above=0.0)
    start: str | None = setting(None)
    name: str | None = setting(None)

    def __post_init__(self):
        with_units = (*STATE_VARIABLES, *FLUXES, *self.tracers, "time", "z")
        for key, given, known in (
            ("variables", self.variables, STATE_VARIABLES),
            ("fluxes", self.fluxes, FLUXES),
            ("upward", self.upward, FLUXES),
            ("units", self.units, with_units),
        ):
            unknown = [name for name in given if name not in known]
            if unknown:
                raise ValueError(
                    f"mapping.{key}: expected names among {', '.join(known)}, got '{unknown[0]}'."
                )
        if self.positive not in (None, "up", "down"):
            raise ValueError(f"mapping.positive: expected 'up' or 'down', got '{self.positive}'.")
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise ValueError("mapping: expected latitude or coriolis_parameter, got both.")
        if self.latitude is not None and not -90.0 <= self.latitude <= 90.0:
            raise ValueError(f"mapping.latitude: expected degrees north, -90 to 90, got {self.latitude}.")


# The model needs no flux it does not know; these three are always there, so that all cases of
# observation files have the same structure and share compiled functions.
_ALWAYS = ("stress_u", "stress_v", "heat_flux")


def read_forcing(
    path: Path, dataset: Contents, mapping: Mapping, start: float, epoch: datetime.datetime | None
) -> AbstractForcing:
    """Fluxes as the mapping says, or as the names and CF standard names of the file say.

    Args:
        path, dataset: file of the profiles.
        mapping: numbers and names of fluxes.
        start: of the case [s] since `epoch`.
        epoch: of the times of the profiles.

    Raises:
        FileFormatError: no flux at all, a name that does not exist, a gap (with its time), another unit,
            or times that do not fit those of the profiles.
    """
    forcing_path = path
    if mapping.forcing_file is not None:
        forcing_path = path.parent / mapping.forcing_file
        dataset = read_contents(forcing_path)
    constants, series = {}, {}
    for flux in FLUXES:
        name = mapping.fluxes.get(flux, _own_name(dataset, flux))
        if isinstance(name, str):
            values, axis = _read_flux(forcing_path, dataset, flux, name, mapping)
            if axis is None:
                constants[flux] = float(values)
            else:
                series[flux] = (axis, values)
        elif name is not None:
            check_possible("mapping", f"fluxes.{flux}", flux, np.asarray(float(name)))
            constants[flux] = float(name) * _sign(flux, {}, mapping)
    if not constants and not series:
        raise FileFormatError(
            forcing_path,
            "surface fluxes",
            f"variables such as {', '.join('surface_' + flux for flux in _ALWAYS)}",
            "none",
            "give 'fluxes' in the mapping; 0.0 is no flux",
        )
    for flux in _ALWAYS:
        if flux not in series:
            constants.setdefault(flux, 0.0)
    if not series:
        return ConstantForcing(SurfaceFluxes(**constants))
    time, values = _on_common_times(forcing_path, series, start, epoch)
    return TimeSeriesForcing.from_values(
        jnp.asarray(time, dtype=float),
        **constants,
        **{flux: jnp.asarray(array, dtype=float) for flux, array in values.items()},
    )


def _own_name(dataset: Contents, flux: str) -> str | None:
    """The variable with our name or our CF standard name."""
    known = quantity_of(flux)
    if known.name in dataset.variables:
        return known.name
    for name in dataset.variables:
        standard_name = dataset[name].attrs.get("standard_name")
        if standard_name is not None and standard_name == known.standard_name:
            return str(name)
    return None


def _sign(flux: str, attributes: dict, mapping: Mapping) -> float:
    standard_name = str(attributes.get("standard_name", ""))
    leaves_water = "upward" in standard_name or "out_of_sea_water" in standard_name
    return -1.0 if flux in mapping.upward or leaves_water else 1.0


def _read_flux(
    path: Path, dataset: Contents, flux: str, name: str, mapping: Mapping
) -> tuple[np.ndarray, TimeAxis | None]:
    if name not in dataset.variables:
        raise FileFormatError(
            path,
            name,
            f"a variable for {flux}",
            f"only {', '.join(map(str, dataset.variables))}",
            "correct 'fluxes' in the mapping",
        )
    variable = dataset[name].squeeze(
        [dim for dim, size in dataset[name].sizes.items() if size == 1 and dataset[name].ndim > 1]
    )
    if variable.ndim > 1:
        raise FileFormatError(
            path, name, "time as its only dimension", f"{variable.dims}", "choose one place and level"
        )
    values = converted(path, variable, flux, mapping.units.get(flux))
    check_possible(path, name, flux, values)
    # Zero minus the flux: no negative zero.
    values = values if _sign(flux, variable.attrs, mapping) > 0.0 else 0.0 - values
    if variable.ndim == 0:
        if not np.isfinite(values):
            raise FileFormatError(path, name, "a finite number", f"{values}", "repair the file")
        return values, None
    shares_time = mapping.time in dataset.variables and dataset[mapping.time].dims == variable.dims
    coordinate = find_axis(path, dataset, variable, mapping.time if shares_time else None, "time")
    axis = read_time(path, coordinate, mapping.units.get("time"))
    gaps = np.flatnonzero(~np.isfinite(values))
    if gaps.size:
        raise FileFormatError(
            path,
            name,
            "forcing without gaps",
            f"{values[gaps[0]]} at {axis.describe(int(gaps[0]))}",
            f"fill the {gaps.size} missing values before the run",
        )
    return values, axis


def _on_common_times(
    path: Path,
    series: dict[str, tuple[TimeAxis, np.ndarray]],
    start: float,
    epoch: datetime.datetime | None,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """All series on the union of their times where all are known; linear in between, as in the model."""
    times = {}
    for flux, (axis, _) in series.items():
        if (axis.epoch is None) != (epoch is None):
            raise FileFormatError(
                path,
                axis.name,
                "times with a reference date ('since') for both profiles and fluxes, or for neither",
                f"{'none' if axis.epoch is None else axis.epoch} for {flux}, "
                f"{'none' if epoch is None else epoch} for the profiles",
                "give the unit of time in the mapping (units)",
            )
        shift = 0.0
        if axis.epoch is not None and epoch is not None:
            shift = (axis.epoch - epoch).total_seconds()
        times[flux] = axis.seconds + (shift - start)
    first = max(time[0] for time in times.values())
    last = min(time[-1] for time in times.values())
    common = np.unique(np.concatenate(list(times.values())))
    common = common[(common >= first) & (common <= last)]
    if common.size < 2:
        raise FileFormatError(
            path,
            "time",
            "at least two times that all fluxes cover",
            f"{common.size}",
            "extend the series, or give a number instead",
        )
    return common, {flux: np.interp(common, times[flux], values) for flux, (_, values) in series.items()}
