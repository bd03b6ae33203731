"""From checked configurations to the Stokes drift of surface waves."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import io
from ..grid import Grid
from ..io.series import on_common_times, profiles_on_grid
from ..io.yaml_file import ConfigError, naming
from ..terms import (
    AbstractStokesDrift,
    DriftProfiles,
    DriftVector,
    DriftVectors,
    StokesDrift,
    WindSeaDrift,
    WindVector,
)
from ..time_series import TimeSeries
from .interior import ExponentialDrift, ProfiledDrift, WindSea
from .series import Setting, read_common


def build_stokes_drift(
    section: ExponentialDrift | WindSea | ProfiledDrift,
    grid: Grid,
    setting: Setting,
    wind: TimeSeries[WindVector] | None,
) -> AbstractStokesDrift:
    """The drift on the cells of a grid.

    Args:
        section: of the configuration.
        grid: of the case.
        setting: of the case.
        wind: at 10 m, of a case with weather; `None` without.

    Raises:
        ConfigError: a sea of a wind that is not given, or a file for a case without a date.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    if isinstance(section, ProfiledDrift):
        return _profiles(section, grid, setting)
    if isinstance(section, ExponentialDrift):
        parts = {"u": (section.u, "velocity"), "v": (section.v, "velocity")}
        time, values = read_common(parts, setting, "interior", "stokes_drift")
        return StokesDrift(TimeSeries(time, DriftVector(**values), "Stokes drift"), **section.given())
    if section.u is None or section.v is None:
        if wind is None:
            raise ConfigError(
                f"{setting.at('interior', 'stokes_drift')}: expected u and v, or a case with weather at "
                "10 m, got neither; give the wind at 10 m."
            )
        return WindSeaDrift(wind)
    parts = {"u": (section.u, "wind_u"), "v": (section.v, "wind_v")}
    time, values = read_common(parts, setting, "interior", "stokes_drift")
    return WindSeaDrift(TimeSeries(time, WindVector(**values), "wind of the waves"))


def _profiles(section: ProfiledDrift, grid: Grid, setting: Setting) -> DriftProfiles:
    """The drift of a file; a component that is not named is zero."""
    if setting.start_time is None:
        raise ConfigError(
            f"{setting.at('interior', 'stokes_drift')}: expected a case with a start_time, to which the "
            "times of a file refer, got one without; use the format site."
        )
    units: dict[str, str] = {str(key): unit for key, unit in section.units.items()}
    names: dict[str, Any] = {"u": section.u, "v": section.v}
    names = {key: name for key, name in names.items() if name is not None}
    paths = [setting.file(path, "interior", "stokes_drift", "paths") for path in section.paths]
    with naming(setting.source, f"{setting.key}.interior.stokes_drift"):
        read = io.read_oceansites(
            paths, start_time=setting.start_time, variables=names, units=units, name="Stokes drift"
        )
        series = {
            key: profiles_on_grid(
                read,
                key,
                np.asarray(grid.z_center),
                longest_gap=section.longest_gap,
                duration=setting.duration,
            )
            for key in names
        }
        time, values = on_common_times(series, setting.duration)
    values = {"v": np.zeros_like(values["u"])} | values
    drift = DriftVectors(**{key: jnp.asarray(value) for key, value in values.items()})
    return DriftProfiles(TimeSeries(jnp.asarray(time), drift, "Stokes drift"))
