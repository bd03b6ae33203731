"""Build the case and the observations of a site from its checked configuration."""

import dataclasses

import numpy as np

from ..column.case import Case
from ..column.observations import Observations
from ..column.time_series import check_covers
from ..io.gotm_restart import restarted
from ..io.series import Series, on_common_times, profiles_on_grid, start_of_case
from ..physics import AbstractEquationOfState, coriolis_parameter
from . import cases
from .air_sea import bulk_forcing, wind_of
from .closures import term_of
from .fluxes import prescribed_forcing
from .lakes import Measures
from .observed import Placed, keeps_heights, measured_start, modelled, observations_of, with_numbers, within
from .profiles import TwoBandSeriesSection, initial_state, profile_series, stratified
from .series import Setting


def placed_case(section: Placed, setting: Setting) -> tuple[Case, Observations | None]:
    """The case on the grid of its setting, and the observations during it."""
    water, grid = section.equation_of_state.build(), setting.grid
    z = setting.z_center - setting.draft  # in the sea
    own = _own_profiles(section, setting, water)
    observations = observations_of(section, "observations", setting, own)
    initial = observations if section.initial is None else observations_of(section, "initial", setting, own)
    with setting.naming("observations" if section.initial is None else "initial"):
        measured = measured_start(section, initial, setting, z)
    start = {name: series.on(np.zeros(1))[0] for name, series in own.items()}
    with setting.naming():
        start = modelled(section, start, z)
        state = initial_state(section, setting, water, measured | start)
    if isinstance(section, cases.SiteCase) and section.restart is not None:
        path = setting.file(section.restart.path, "restart", "path")
        state = restarted(path, state, allow_missing=section.restart.allow_missing)
    if isinstance(section, cases.IdealisedCase):
        forcing = prescribed_forcing(section.forcing, section, setting, "forcing")
    elif section.fluxes is not None:
        forcing = prescribed_forcing(section.fluxes, section, setting, "fluxes")
    else:
        assert section.weather is not None  # otherwise there are fluxes
        position, density = (section.longitude, section.latitude), float(water.reference_density)
        forcing = bulk_forcing(section.weather, section.air_sea, position, setting, density)

    def given(variable: str) -> Series:
        if variable not in own:
            raise ValueError(f"expected a profile of {variable} in the case, got none to follow; add it.")
        if variable in ("u", "v"):
            return own[variable]
        both = {name: own[name] for name in ("temperature", "salinity")}
        time, values = on_common_times(both, section.duration)
        return Series(time, modelled(section, values, z)[variable])

    def observed(variable: str) -> Series:
        assert observations is not None and isinstance(profiled, cases.MeasuredProfiles)
        gap = profiled.longest_gap
        return profiles_on_grid(observations, variable, z, longest_gap=gap, duration=section.duration)

    def converted(values: Measures, z: np.ndarray) -> Measures:
        return modelled(section, values, z)

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
        check_covers(case.interior, 0.0, section.duration)
    compared = observations
    if keeps_heights(section.observations):
        compared = observations_of(section, "observations", setting, own, at_values=True)
    if compared is not None and profiled is not None:
        compared = within(compared, section, setting)
    return case, with_numbers(compared, section, float(np.asarray(state.salinity)[-1]), setting)


def _own_profiles(section: Placed, setting: Setting, water: AbstractEquationOfState) -> dict[str, Series]:
    """Profiles given in the configuration, over the time of the case, in their stated kinds.

    Profiles from surface values and N² are left to `initial_state`.
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
            values = stratified(profile, getattr(section, other), name, setting, water)
            found[name] = Series(np.array([0.0, setting.duration]), np.stack([values, values]))
        elif profile.buoyancy_frequency_squared is None:
            found[name] = profile_series(profile, name, setting, name, whole=whole or name in ("u", "v"))
    return found
