"""From a checked configuration of a place in the ocean to its case and its observations."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from .. import io
from ..case import Case
from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..io import sea_water
from ..io.series import Series, on_common_times, profiles_on_grid, start_of_case
from ..io.yaml_file import ConfigError
from ..observations import Observations
from ..physics import AbstractEquationOfState, coriolis_parameter
from . import cases
from .air_sea import bulk_forcing, wind_of
from .closures import term_of
from .profiles import TwoBandSeriesSection, initial_state, profile_series, stratified
from .series import Setting, read_timed

Placed = cases.IdealisedCase | cases.SiteCase


def placed_case(section: Placed, setting: Setting) -> tuple[Case, Observations | None]:
    """The case on the grid of its setting, and what was measured there during it."""
    water, grid = section.equation_of_state.build(), setting.grid
    z = np.asarray(water.in_sea(grid.z_center))
    own = _own_profiles(section, setting, water)
    observations = _observations(section, "observations", setting, own)
    initial = observations if section.initial is None else _observations(section, "initial", setting, own)
    with setting.naming("observations" if section.initial is None else "initial"):
        measured = _start(section, initial, setting, z)
    start = {name: series.on(np.zeros(1))[0] for name, series in own.items()}
    with setting.naming():
        start = _converted(section, start, z)
        state = initial_state(section, grid, water, measured | start)
    if isinstance(section, cases.IdealisedCase):
        forcing = _fluxes(section.forcing, section, setting, "forcing")
    elif section.fluxes is not None:
        forcing = _fluxes(section.fluxes, section, setting, "fluxes")
    else:
        assert section.weather is not None  # or there are fluxes
        position, density = (section.longitude, section.latitude), float(water.reference_density)
        forcing = bulk_forcing(section.weather, section.air_sea, position, setting, density)

    def given(variable: str) -> Series:
        if variable not in own:
            raise ValueError(f"expected a profile of {variable} in the case, got none to follow; add it.")
        if variable in ("u", "v"):
            return own[variable]
        both = {name: own[name] for name in ("temperature", "salinity")}
        time, values = on_common_times(both, section.duration)
        return Series(time, _converted(section, values, z)[variable])

    def observed(variable: str) -> Series:
        assert observations is not None and isinstance(profiled, cases.MeasuredProfiles)
        gap = profiled.longest_gap
        return profiles_on_grid(observations, variable, z, longest_gap=gap, duration=section.duration)

    def converted(values: Mapping[str, Any], z: np.ndarray) -> dict[str, Any]:
        return _converted(section, values, z)

    profiled = None if isinstance(section.observations, cases.InputObservations) else section.observations
    rotation = section.coriolis_parameter
    if rotation is None:
        rotation = 0.0 if section.latitude is None else coriolis_parameter(section.latitude)

    sources = {"case": given} if profiled is None else {"case": given, "observations": observed}
    interior = section.interior.read(setting, sources, wind_of(forcing), converted)
    terms = {name: term_of(given) for name, given in section.terms.items()}
    memory = {name for term in (*interior.terms(), *terms.values()) for name in term.own_tracers()}
    at_rest = {name: 0.0 * state.temperature for name in sorted(memory - state.tracers.keys())}
    light = section.absorption
    case = Case(
        grid=grid,
        initial_state=dataclasses.replace(state, tracers=state.tracers | at_rest),
        forcing=forcing,
        coriolis_parameter=rotation,
        equation_of_state=water,
        absorption=light.build_over(setting) if isinstance(light, TwoBandSeriesSection) else light.build(),
        interior=interior,
        terms=terms,
        ice=None if section.ice is None else section.ice.build(),
        duration=section.duration,
        name=section.name,
        start_time=None if section.start_time is None else start_of_case(section.start_time).isoformat(),
        latitude=section.latitude,
        longitude=section.longitude,
    )
    with setting.naming("duration"):
        forcing.check_covers(0.0, section.duration)
        case.interior.check_covers(0.0, section.duration)
    compared = observations
    if _keeps_heights(section.observations):
        compared = _observations(section, "observations", setting, own, at_values=True)
    if compared is not None and profiled is not None:
        compared = _within(compared, section, setting)
    return case, with_numbers(compared, section, float(state.salinity[-1]), setting)


def _own_profiles(section: Placed, setting: Setting, water: AbstractEquationOfState) -> dict[str, Series]:
    """Profiles that the configuration gives, over the time of the case, in the kinds that it says.

    What follows from N² at the surface is left to `initial_state`.
    """
    relaxation = section.interior.relaxation
    targets = [rates.profile for rates in (relaxation.temperature, relaxation.salinity) if rates is not None]
    whole = "case" in targets or isinstance(section.observations, cases.InputObservations)
    found = {}
    for name, other in (("temperature", "salinity"), ("salinity", "temperature"), ("u", ""), ("v", "")):
        profile = getattr(section, name)
        if profile is None:
            continue
        if profile.everywhere:
            values = stratified(profile, getattr(section, other), name, setting.grid, water)
            found[name] = Series(np.array([0.0, setting.duration]), np.stack([values, values]))
        elif profile.buoyancy_frequency_squared is None:
            found[name] = profile_series(profile, name, setting, name, whole=whole or name in ("u", "v"))
    return found


def _converted(section: Placed, values: Mapping[str, Any], z: np.ndarray) -> dict[str, Any]:
    """Conservative temperature and absolute salinity of the kinds that are given, at heights [m]."""
    if (section.temperature_kind, section.salinity_kind) == ("conservative", "absolute"):
        return dict(values)
    assert isinstance(section, cases.SiteCase)  # which alone has kinds
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
    """Conservative temperature of the surface and of profiles, with the salinity of the case."""
    z, found = np.asarray(setting.grid.z_center), {}
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
        parts["surface"] = time, _converted(section, values, z[-1:])["temperature"][:, 0]
    if given.profiles:
        series = own["temperature"]
        chosen = _during(series.time, section.duration)
        time = series.time[chosen]
        values = {"temperature": series.values[chosen], "salinity": own["salinity"].on(time)}
        rows, heights = _converted(section, values, z)["temperature"], z
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


def _during(time: np.ndarray, duration: float) -> np.ndarray:
    return (time >= 0.0) & (time <= duration * (1.0 + 1e-9))


def _placed(time: np.ndarray, own: np.ndarray, values: ArrayLike) -> jax.Array:
    """Values at their times among others, and NaN at those."""
    values = np.asarray(values)
    rows = np.full((time.size, *values.shape[1:]), np.nan)
    rows[np.searchsorted(time, own)] = values
    return jnp.asarray(rows)


def _keeps_heights(given: Any) -> bool:
    """Whether profiles are compared at heights that change from time to time."""
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
    """Heights and practical salinity to convert measured temperatures with, of the section or the case."""
    z, start, keys = np.asarray(setting.grid.z_center), np.zeros(1), (key, "practical_salinity")
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


def _observations(
    section: Placed, key: str, setting: Setting, own: Mapping[str, Series], at_values: bool = False
) -> Observations | None:
    """The profiles of one of the two keys that name them; of floats on cells, or at the heights of values."""
    given = getattr(section, key)
    if given is None:
        return None
    if isinstance(given, cases.InputObservations):
        return _observed_inputs(section, given, setting, own)
    assert isinstance(section, cases.SiteCase)  # which alone has any
    paths = [setting.file(path, key, "paths") for path in given.paths]
    with setting.naming(key):
        if isinstance(given, cases.MooringProfiles):
            read = io.read_oceansites(
                paths,
                start_time=section.start_time,
                variables={str(name): value for name, value in given.variables.items()},
                units={str(name): value for name, value in given.units.items()},
                good_flags=given.good_flags,
                depths="nominal" if given.depths == "measured" and not at_values else given.depths,
                salinity=_practical(given, section, key, setting, own),
                position=(section.longitude, section.latitude),
                name=section.name,
            )
        else:
            assert isinstance(given, cases.ArgoProfilesSection)
            heights = given.z if isinstance(given.z, list) else setting.grid.z_center
            read = io.read_argo(
                paths,
                z=None if at_values else np.asarray(heights),
                start_time=section.start_time,
                good_flags=given.good_flags,
                salinity=_practical(given, section, key, setting, own),
                largest_spacing=given.largest_spacing,
                name=section.name,
            )
    setting.notes.extend(f"{setting.at(key)}: {note}" for note in read.notes)
    return read


def _start(
    section: Placed, initial: Observations | None, setting: Setting, z: np.ndarray
) -> dict[str, np.ndarray]:
    """Measured profiles of the start, of what the configuration does not give."""
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


def _within(observations: Observations, section: Placed, setting: Setting) -> Observations:
    """What was measured during the case and within the column."""
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
    """Profiles at heights of their own, without values below a height [m]."""
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


def _fluxes(section: cases.FluxesSection, case: Placed, setting: Setting, key: str) -> AbstractForcing:
    if section.era5 is not None:
        if case.latitude is None or case.longitude is None or setting.start_time is None:
            raise ConfigError(
                f"{setting.at(key, 'era5')}: expected a case with `latitude`, `longitude` and `start_time`, "
                "got none; choose the format site."
            )
        return io.read_era5_fluxes(
            [setting.file(path, key, "era5", "paths") for path in section.era5.paths],
            latitude=case.latitude,
            longitude=case.longitude,
            start_time=setting.start_time,
            **section.era5.model_dump(exclude={"paths"}),
        )
    names = [name for name in type(section).model_fields if name not in ("time", "tracer_fluxes", "era5")]
    given = {
        name: read_timed(getattr(section, name), name, setting, key, name)
        for name in names
        if getattr(section, name) is not None
    }
    tracers = {
        f"tracer {name}": read_timed(flux, name, setting, key, "tracer_fluxes", name)
        for name, flux in section.tracer_fluxes.items()
    }
    # A file that is zero all the time is no flux: it costs nothing.
    given = {k: flux for k, flux in given.items() if not isinstance(flux, Series) or np.any(flux.values)}
    both = given | tracers
    with setting.naming(key):
        time, values = on_common_times(both, setting.duration)
    fluxes = {name: value for name, value in values.items() if name in given}
    of_tracers = {name: values[f"tracer {name}"] for name in section.tracer_fluxes}
    if not any(isinstance(flux, Series) for flux in both.values()):
        return ConstantForcing(SurfaceFluxes(**fluxes, tracer_fluxes=of_tracers))
    return TimeSeriesForcing.from_values(time, **fluxes, tracer_fluxes=of_tracers)


def with_numbers(
    observations: Observations | None, section: Placed, salinity: float, setting: Setting
) -> Observations | None:
    """The observations with the series of the section, on the times of all of them."""
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
    """Times within the case [s], values, and how many were rejected."""
    path = setting.file(given.path, "series", name, "path")
    with setting.naming("series", name):
        options = given.model_dump(include={"unit", "flags", "good_flags"})
        if section.latitude is not None and section.longitude is not None:
            options["position"] = (section.longitude, section.latitude)
        found, n_rejected = io.read_numbers(
            path, name, given.variable, start_time=setting.start_time, **options
        )
        values = found.values
        if name == "sea_surface_temperature":
            values = sea_water.conservative_temperature(values, salinity, 0.0, given.kind)
    during = _during(found.time, section.duration)
    if not during.any():
        raise ConfigError(
            f"{setting.at('series', name)}: expected values from 0 to {section.duration:g} s, got times from "
            f"{found.time[0]:g} to {found.time[-1]:g} s; change start_time or duration."
        )
    return found.time[during], np.asarray(values)[during], n_rejected
