"""Observations at the site of a case: profiles and scalars, in the variables of the column."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from .. import io
from ..column.observations import Observations
from ..io import sea_water
from ..io.series import Series, profiles_on_grid
from ..io.yaml_file import ConfigError
from ..physics.equation_of_state import carries_conservative_temperature
from . import cases
from .conversions import conversions_of
from .lakes import Measures
from .profiles import profile_series
from .series import Setting, read_timed

Placed = cases.IdealisedCase | cases.SiteCase


def modelled(section: Placed, values: Measures, z: np.ndarray) -> Measures:
    """Conservative temperature and absolute salinity from the given kinds, at heights [m]."""
    if (section.temperature_kind, section.salinity_kind) == ("conservative", "absolute"):
        return dict(values)
    assert isinstance(section, cases.SiteCase)  # the only case with kinds
    if not {"temperature", "salinity"} <= values.keys():
        raise ValueError(
            "temperature_kind, salinity_kind: expected profiles of both in the case, got one of them; add "
            "the other, or leave the kinds out."
        )
    names = ("temperature_kind", "salinity_kind", "longitude", "latitude")
    kinds = {name: getattr(section, name) for name in names}
    both = (values["temperature"], values["salinity"])
    temperature, salinity = sea_water.modelled_water(*both, z, **kinds, anomaly=section.salinity_anomaly)
    return {**values, "temperature": temperature, "salinity": salinity}


def _observed_inputs(
    section: Placed, given: cases.InputObservations, setting: Setting, own: Mapping[str, Series]
) -> Observations:
    """In-situ temperature of the surface and conservative one of profiles, with the salinity of the case."""
    z, found = setting.z_center, {}
    parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    if given.surface_temperature is not None:
        keys = ("observations", "surface_temperature")
        series = read_timed(given.surface_temperature, "sea_surface_temperature", setting, *keys)
        assert isinstance(series, Series)
        chosen, interval = _during(series.time, section.duration), given.surface_interval
        if interval is not None:
            chosen &= np.abs(series.time / interval - np.round(series.time / interval)) < 1e-9
        if not chosen.any():
            raise ConfigError(
                f"{setting.at(*keys)}: expected a record at a multiple of {interval} s, got none; choose "
                "another one."
            )
        time = series.time[chosen]
        values = {"temperature": series.values[chosen][:, None], "salinity": own["salinity"].on(time)[:, -1:]}
        carried = modelled(section, values, z[-1:])
        temperature, salinity = carried["temperature"][:, 0], carried["salinity"][:, 0]
        parts["surface"] = time, _of_surface(section, temperature, salinity, "conservative")
    if given.profiles:
        series = own["temperature"]
        chosen = _during(series.time, section.duration)
        time = series.time[chosen]
        values = {"temperature": series.values[chosen], "salinity": own["salinity"].on(time)}
        rows, heights = modelled(section, values, z)["temperature"], z
        if given.z is not None:
            heights = np.sort(np.asarray(given.z, dtype=float))
            rows = np.stack([np.interp(heights, z, row) for row in rows])
        parts["profiles"] = time, rows
        found["z"] = jnp.asarray(heights)
    time = np.unique(np.concatenate([own_time for own_time, _ in parts.values()]))
    placed = {name: _placed(time, *part) for name, part in parts.items()}
    if "surface" in placed:
        found["series"] = {"sea_surface_temperature": placed["surface"]}
    if "profiles" in placed:
        found["profiles"] = {"temperature": placed["profiles"]}
    return Observations(jnp.asarray(time), name=section.name, **found)


def _of_surface(
    section: Placed, temperature: np.ndarray, salinity: np.ndarray | float, kind: str
) -> np.ndarray:
    """Temperatures of the surface as in `observables.sea_surface_temperature`."""
    if carries_conservative_temperature(section.equation_of_state.build()):
        return sea_water.in_situ_at_surface(temperature, salinity, kind)
    return sea_water.conservative_temperature(temperature, salinity, 0.0, kind)


def _during(time: np.ndarray, duration: float) -> np.ndarray:
    return (time >= 0.0) & (time <= duration * (1.0 + 1e-9))


def _placed(time: np.ndarray, own: np.ndarray, values: ArrayLike) -> jax.Array:
    """Insert values at their times into common times, with NaN elsewhere."""
    values = np.asarray(values)
    rows = np.full((time.size, *values.shape[1:]), np.nan)
    rows[np.searchsorted(time, own)] = values
    return jnp.asarray(rows)


def keeps_heights(given: object) -> bool:
    """Whether profiles are compared at time-varying heights."""
    if isinstance(given, cases.ArgoProfilesSection):
        return given.z == "measured"
    return isinstance(given, cases.MooringProfiles) and given.depths == "measured"


def _practical(
    given: cases.MooringProfiles | cases.ArgoProfilesSection,
    section: cases.SiteCase,
    key: str,
    setting: Setting,
    own: Mapping[str, Series],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Heights and practical salinity for conversion of temperatures, from the section or the case."""
    z, start, keys = setting.z_center, np.zeros(1), (key, "practical_salinity")
    if isinstance(given.practical_salinity, str):
        return io.read_salinity(setting.file(given.practical_salinity, *keys))
    if given.practical_salinity is not None:
        series = profile_series(given.practical_salinity, "salinity", setting, *keys, whole=False)
        return z, series.on(start)[0]
    if "salinity" not in own:
        return None
    values = own["salinity"].on(start)[0]
    if section.salinity_kind == "absolute":
        values = sea_water.practical_salinity(
            values, z, longitude=section.longitude, latitude=section.latitude
        )
    return z, values


def observations_of(
    section: Placed, key: str, setting: Setting, own: Mapping[str, Series], at_values: bool = False
) -> Observations | None:
    """Profiles of one of the two keys for observations; floats on cells, or at their own levels."""
    given = getattr(section, key)
    if given is None:
        return None
    if isinstance(given, cases.InputObservations):
        return _observed_inputs(section, given, setting, own)
    assert isinstance(section, cases.SiteCase)  # the only case with them
    paths = [setting.file(path, key, "paths") for path in given.paths]
    with setting.naming(key):
        if isinstance(given, cases.MooringProfiles):
            read = io.read_oceansites(
                paths,
                start_time=section.start_time,
                variables={str(name): value for name, value in given.variables.items()},
                units=conversions_of(given.units),
                good_flags=given.good_flags,
                depths="nominal" if given.depths == "measured" and not at_values else given.depths,
                salinity=_practical(given, section, key, setting, own),
                position=(section.longitude, section.latitude),
                name=section.name,
            )
        else:
            assert isinstance(given, cases.ArgoProfilesSection)
            heights = given.z if isinstance(given.z, list) else setting.z_center
            read = io.read_argo(
                paths,
                z=None if at_values else np.asarray(heights),
                start_time=section.start_time,
                good_flags=given.good_flags,
                salinity=_practical(given, section, key, setting, own),
                largest_spacing=given.largest_spacing,
                units=conversions_of(given.units),
                name=section.name,
            )
    setting.notes.extend(f"{setting.at(key)}: {note}" for note in read.notes)
    return read


def measured_start(
    section: Placed, initial: Observations | None, setting: Setting, z: np.ndarray
) -> dict[str, np.ndarray]:
    """Measured initial profiles, for variables that the configuration does not set."""
    source = section.initial or section.observations
    measured = {}
    for name in ("temperature", "salinity"):
        if getattr(section, name) is None:
            assert isinstance(section, cases.SiteCase) and isinstance(source, cases.MeasuredProfiles)
            assert initial is not None
            if name == "salinity" and name not in initial.profiles:
                said = f"neither given nor measured: practical {sea_water.OF_THE_OCEAN:g} serves"
                setting.notes.append(f"{setting.at(name)}: {said}.")
                measured[name] = sea_water.salinity_of_the_ocean(z, section.longitude, section.latitude)
                continue
            series = profiles_on_grid(initial, name, z, longest_gap=source.longest_gap, duration=0.0)
            measured[name] = series.values[0] if series.time.size < 2 else series.on(np.zeros(1))[0]
    return measured


def within(observations: Observations, section: Placed, setting: Setting) -> Observations:
    """Observations during the case and within the column."""
    time, z = np.asarray(observations.time), np.asarray(observations.z)
    if observations.moves:
        observations = _above(observations, -section.depth)
        z = z[np.isfinite(z)]
    during = np.flatnonzero(_during(time, section.duration))
    inside = np.flatnonzero(z >= -section.depth)
    if not (during.size and inside.size):
        raise ConfigError(
            f"{setting.at('observations')}: expected profiles from 0 to {section.duration:g} s and from "
            f"{-section.depth:g} m to the surface, got times from {time[0]:g} to {time[-1]:g} s and heights "
            f"from {z[0]:g} to {z[-1]:g} m; change start_time, duration or depth."
        )
    kept = np.arange(observations.z.shape[-1]) if observations.moves else inside
    return dataclasses.replace(
        observations,
        time=observations.time[during],
        z=observations.z[during] if observations.moves else observations.z[kept],
        profiles={name: values[during][:, kept] for name, values in observations.profiles.items()},
    )


def _above(observations: Observations, lowest: float) -> Observations:
    """Profiles at time-varying heights, without values below a height [m]."""
    z = np.asarray(observations.z)
    arrays = np.stack([z, *map(np.asarray, observations.profiles.values())])
    rows = np.full(arrays.shape, np.nan)
    for time, heights in enumerate(z):
        inside = arrays[:, time, heights >= lowest]
        rows[:, time, : inside.shape[1]] = inside
    longest = max(1, int(np.isfinite(rows[0]).sum(axis=1).max()))
    z, *profiles = (jnp.asarray(row[:, :longest]) for row in rows)
    return dataclasses.replace(
        observations, z=z, profiles=dict(zip(observations.profiles, profiles, strict=True))
    )


def with_numbers(
    observations: Observations | None, section: Placed, salinity: float, setting: Setting
) -> Observations | None:
    """Add the scalar series of the section to the observations, on the union of their times."""
    if not section.series:
        return observations
    read = {name: _read(name, given, section, salinity, setting) for name, given in section.series.items()}
    times = [] if observations is None else [np.asarray(observations.time)]
    time = np.unique(np.concatenate([*times, *(times for times, _, _ in read.values())]))
    series = {name: _placed(time, at, values) for name, (at, values, _) in read.items()}
    rejected = {name: n_rejected for name, (_, _, n_rejected) in read.items()}
    if observations is None:
        return Observations(jnp.asarray(time), series=series, name=section.name, rejected=rejected)
    old, placed = observations, functools.partial(_placed, time, np.asarray(observations.time))
    return dataclasses.replace(
        old,
        time=jnp.asarray(time),
        z=placed(old.z) if old.moves else old.z,
        profiles={name: placed(values) for name, values in old.profiles.items()},
        series=series,
        rejected={**old.rejected, **rejected},
    )


def _read(
    name: str, given: cases.NumbersSection, section: Placed, salinity: float, setting: Setting
) -> tuple[np.ndarray, np.ndarray, int]:
    """Times within the case [s], values, and the number of rejected values."""
    path = setting.file(given.path, "series", name, "path")
    with setting.naming("series", name):
        options: dict[str, Any] = {"unit": given.conversion}  # of `read_numbers`
        options |= given.model_dump(include={"flags", "good_flags"})
        if section.latitude is not None and section.longitude is not None:
            options["position"] = (section.longitude, section.latitude)
        found, n_rejected = io.read_numbers(
            path, name, given.variable, start_time=setting.start_time, **options
        )
        values = found.values
        if name == "sea_surface_temperature":
            values = _of_surface(section, values, salinity, given.kind)
    during = _during(found.time, section.duration)
    if not during.any():
        raise ConfigError(
            f"{setting.at('series', name)}: expected values from 0 to {section.duration:g} s, got times from "
            f"{found.time[0]:g} to {found.time[-1]:g} s; change start_time or duration."
        )
    return found.time[during], np.asarray(values)[during], n_rejected
