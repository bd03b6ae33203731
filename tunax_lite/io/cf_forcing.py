"""Surface fluxes of a NetCDF file: numbers, or series on the time axes of the file."""

import datetime
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..quantities import quantity_of
from .cf_axes import TimeAxis, converted, find_axis, read_time
from .contents import Contents, read_contents
from .errors import FileFormatError, check_possible
from .mapping import FLUXES, Mapping

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
