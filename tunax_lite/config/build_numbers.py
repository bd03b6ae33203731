"""Numbers of the column that a configuration names, beside the profiles that were observed."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import io
from ..io.sea_water import conservative_temperature
from ..io.yaml_file import ConfigError, naming
from ..observations import Observations
from .series import Setting
from .site import NumbersSection, SiteCase


def with_numbers(
    observations: Observations | None, section: SiteCase, salinity: float, setting: Setting
) -> Observations | None:
    """The observations with the series of the section, on the times of all of them.

    Args:
        observations: profiles; `None` where there are none.
        section: of the case.
        salinity: absolute, of the surface at the start [g kg-1], to convert temperatures with.
        setting: of the case.

    Raises:
        ConfigError: a name that is no number of the column, or a series beyond the case.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    if not section.series:
        return observations
    read = {name: _read(name, given, section, salinity, setting) for name, given in section.series.items()}
    old = Observations(jnp.zeros(1), series={"": jnp.zeros(1)}) if observations is None else observations
    times = [] if observations is None else [np.asarray(old.time)]
    time = np.unique(np.concatenate([*times, *(times for times, _, _ in read.values())]))

    def placed(at: np.ndarray, values: Any) -> Any:
        values = np.asarray(values)
        rows = np.full((time.size, *values.shape[1:]), np.nan)
        rows[np.searchsorted(time, at)] = values
        return jnp.asarray(rows)

    series = {name: placed(at, values) for name, (at, values, _) in read.items()}
    rejected = {name: n_rejected for name, (_, _, n_rejected) in read.items()}
    if observations is None:
        return Observations(jnp.asarray(time), series=series, name=section.name, rejected=rejected)
    return dataclasses.replace(
        old,
        time=jnp.asarray(time),
        z=placed(np.asarray(old.time), old.z) if old.moves else old.z,
        profiles={name: placed(np.asarray(old.time), values) for name, values in old.profiles.items()},
        series=series,
        rejected={**old.rejected, **rejected},
    )


def _read(
    name: str, given: NumbersSection, section: SiteCase, salinity: float, setting: Setting
) -> tuple[np.ndarray, np.ndarray, int]:
    """Times within the case [s], values, and how many were rejected."""
    path = setting.file(given.path, "series", name, "path")
    with naming(setting.source, f"{setting.key}.series.{name}"):
        found, n_rejected = io.read_numbers(
            path,
            name,
            given.variable,
            start_time=setting.start_time,
            unit=given.unit,
            flags=given.flags,
            good_flags=given.good_flags,
        )
        values = found.values
        if name == "sea_surface_temperature":
            values = conservative_temperature(values, salinity, 0.0, given.kind)
    during = (found.time >= 0.0) & (found.time <= section.duration * (1.0 + 1e-9))
    if not during.any():
        raise ConfigError(
            f"{setting.at('series', name)}: expected values from 0 to {section.duration:g} s, got times from "
            f"{found.time[0]:g} to {found.time[-1]:g} s; change start_time or duration."
        )
    return found.time[during], np.asarray(values)[during], n_rejected
