"""Stokes drift of surface waves in a CF NetCDF file of profiles, and whether its velocities include it."""

import datetime
import re
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ..column.grid import Grid
from ..column.terms import DriftProfiles, DriftVector, DriftVectors, Interior
from ..column.time_series import TimeSeries
from .axes import VerticalAxis, find_axis, read_time
from .cf_forcing import DRIFT_VARIABLES, Mapping, since_start
from .errors import check_possible
from .netcdf import Contents, Variable
from .series import Series, on_common_times
from .units import unit_alone


def read_waves(
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

    Raises:
        FileFormatError: gaps, an unexpected shape or unit, impossible values, or velocities of both kinds of
            mean.
    """
    found: dict[str, Series | float] = {}
    for key in DRIFT_VARIABLES:
        name = mapping.variables.get(key, key if key in file else None)
        if name is not None:
            variable = file.named(name, key, "correct the mapping")
            found[key] = _read(file, variable, key, mapping, vertical, start, epoch)
    if not found:
        return Interior(), ()
    time, values = on_common_times({key: found.get(key, 0.0) for key in DRIFT_VARIABLES}, 0.0)
    z, centers = vertical.z, np.asarray(grid.z_center)
    profiles = [np.broadcast_to(values[key], (time.size, z.size)) for key in DRIFT_VARIABLES]
    cells = [np.stack([np.interp(centers, z, row) for row in each]) for each in profiles]
    rising = -z[-1] / (z[-1] - z[-2])
    at_surface = [each[:, -1] + rising * (each[:, -1] - each[:, -2]) for each in profiles]

    def over_time(kind: type, parts: Sequence[np.ndarray]) -> TimeSeries:
        arrays = kind(*(jnp.asarray(part, dtype=float) for part in parts))
        return TimeSeries(jnp.asarray(time, dtype=float), arrays, "Stokes drift")

    drift = DriftProfiles(over_time(DriftVectors, cells), over_time(DriftVector, at_surface))
    mean, notes = _mean_of(file, mapping, velocities)
    return Interior(stokes_drift=drift, velocities=mean), notes


def _read(
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
