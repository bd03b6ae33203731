"""Cases: a site described in the configuration, with its measurements, or a case from a file.

An idealised case is a site without date and files. Observations are in the variables of the column.
"""

import dataclasses
import datetime
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike
from pydantic import Field, field_validator

from .. import io
from ..column.case import Case
from ..column.forcing import AbstractForcing
from ..column.observations import Observations
from ..column.state import State
from ..column.terms import AbstractTerm
from ..column.time_series import check_covers
from ..ice import AbstractIce
from ..io import cf_netcdf, sea_water
from ..io.place import Place
from ..io.series import GOOD_FLAGS, Series, on_common_times, profiles_on_grid, start_of_case
from ..io.yaml_file import ConfigError
from ..physics import AbstractEquationOfState, coriolis_parameter
from ..physics.equation_of_state import carries_conservative_temperature
from ..registry import additions
from .air_sea import AirSeaSection, FluxesSection, WeatherSection, bulk_forcing, prescribed_forcing, wind_of
from .builder import one_of, section_of
from .case import AbstractCase, AbstractFileCase, BuiltCase, GridSection
from .closures import TermSection, term_of
from .formats import notes_on_terms
from .interior import HypsographySection, InteriorSection, Measures
from .profiles import (
    AbsorptionSection,
    EquationOfStateSection,
    Profile,
    ProfileSection,
    WaterProfile,
    WaterProfileSection,
    stratified,
    with_memory,
)
from .section import Section, invalid, key
from .series import (
    UNITS,
    ConversionSection,
    CoriolisParameter,
    Paths,
    SeriesPart,
    Setting,
    TimedSection,
    TracerSection,
    UnitGiven,
    conversions_of,
)

Profiles = Mapping[str, Series]
"""Profiles of the configuration by variable, in its kinds of temperature and salinity."""
GoodFlags = Annotated[
    list[Annotated[int, Field(ge=0, le=9)]],
    key("quality flags of values that are used", min_length=1),
]


class MeasuredProfiles(Section):
    """Keys common to all formats of measured profiles."""

    paths: Paths
    tracers: dict[str, TracerSection] = key(
        "variables of the file by the names of tracers of the case, pools included: a name, or `variable` "
        "with unit, factor, offset and sign",
        default_factory=dict,
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    longest_gap: float = key("longest time that is bridged to start or to relax [s]", 15.0 * 86400.0, gt=0.0)

    def shared(self, site: "SiteCase", key: str, setting: Setting, configured: Profiles) -> dict[str, Any]:
        """Arguments common to the readers of all formats."""
        salinity = None  # that of the file
        if "salinity" in configured:
            z, salt = setting.z_center, configured["salinity"].on(np.zeros(1))[0]
            if site.salinity_kind == "absolute":
                salt = sea_water.practical_salinity(salt, z, longitude=site.longitude, latitude=site.latitude)
            salinity = z, salt
        return {
            "paths": [setting.file(path, key, "paths") for path in self.paths],
            "start_time": site.start_time,
            "good_flags": self.good_flags,
            "salinity": salinity,
            "position": (site.latitude, site.longitude),
            "tracers": setting.tracers(self.tracers, key, "tracers"),
            "name": site.name,
        }


class MooringProfiles(MeasuredProfiles):
    """A mooring in OceanSITES, IMOS or CMEMS format, or another CF NetCDF file."""

    format: Literal["oceansites"]
    variables: dict[Literal["temperature", "salinity", "u", "v"], str | None] = key(
        "names in the file of temperature, salinity, u, v; null to leave one out", default_factory=dict
    )
    units: dict[Literal["temperature", "salinity", "u", "v", "time", "z"], UnitGiven] = key(
        UNITS, default_factory=dict
    )
    depths: Literal["nominal", "measured"] | float = key(
        "for instruments whose depth varies; or the depth [m] of an instrument whose file does not give it",
        "nominal",
    )

    def read(self, site: "SiteCase", key: str, setting: Setting, configured: Profiles) -> Observations:
        """Profiles at the heights of the instruments."""
        variables = {str(name): value for name, value in self.variables.items()}
        return io.read_oceansites(
            **self.shared(site, key, setting, configured),
            variables=variables,
            units=conversions_of(self.units),
            depths=self.depths,
        )


class ArgoProfilesSection(MeasuredProfiles):
    """Profiles of Argo floats, whose tracers are parameters such as NITRATE, DOXY and CHLA."""

    format: Literal["argo"]
    z: list[float] | Literal["measured"] | None = key(
        "heights [m] to interpolate to; null for the cells, measured for their own", None
    )

    def read(self, site: "SiteCase", key: str, setting: Setting, configured: Profiles) -> Observations:
        """Profiles interpolated to heights, or at the measured ones."""
        heights = None if self.z == "measured" else np.asarray(setting.z_center if self.z is None else self.z)
        return io.read_argo(**self.shared(site, key, setting, configured), z=heights)


class NumbersSection(ConversionSection):
    """A scalar observable over time, from a table."""

    path: str = key("CSV or NetCDF file", min_length=1)
    variable: str = key("column or variable of the file", min_length=1)
    kind: Literal["in_situ", "potential", "conservative"] = key("kind of a temperature", "in_situ")

    def read(self, name: str, site: "SiteCase", salinity: float, setting: Setting) -> Observations:
        """The observable during the case; `salinity` [g kg-1] is that of the surface at the start."""
        path = setting.file(self.path, "series", name, "path")
        with setting.naming("series", name):
            observed = io.read_numbers(
                path,
                name,
                self.variable,
                start_time=setting.start_time,
                position=(site.latitude, site.longitude),
                unit=self.build(),
            )
            during = _during(observed.time, site.duration)
            if not during.any():
                raise ValueError(
                    f"expected values from 0 to {site.duration:g} s, got times from {observed.time[0]:g} to "
                    f"{observed.time[-1]:g} s; change start_time or duration."
                )
            time, values = observed.time[during], observed.values[during]
            if name == "sea_surface_temperature":
                values = site.surface_temperature(values, salinity, self.kind)
            return Observations(time, series={name: np.asarray(values)}, name=site.name)


class InputObservations(Section):
    """Inputs of a case that are its observations, too."""

    format: Literal["inputs"]
    surface_temperature: TimedSection | None = key(
        "of the kind of the temperature, as sea_surface_temperature", None
    )
    surface_interval: float | None = key(
        "use its records at multiples of this time only [s]; null for all", None, gt=0.0
    )
    profiles: bool = key("those of temperature, of a file", False)
    z: list[Annotated[float, Field(le=0.0)]] | None = key(
        "heights to interpolate them to [m]; null for the cells", None, min_length=1
    )

    def _check(self) -> None:
        if not (self.profiles or self.surface_temperature):
            raise invalid("`surface_temperature` or `profiles`", "neither", "give one of them")

    def read(self, site: "SiteCase", key: str, setting: Setting, configured: Profiles) -> Observations:
        """Observations in the variables of the column, with the salinity of the case."""
        parts: list[Observations] = []
        if self.profiles:
            time, z = configured["temperature"].time, setting.z_center
            time = time[_during(time, site.duration)]
            given = {name: configured[name].on(time) for name in ("temperature", "salinity")}
            rows = site.modelled(given, z)["temperature"]
            if self.z is not None:
                wanted = np.unique(self.z)
                rows, z = np.stack([np.interp(wanted, z, row) for row in rows]), wanted
            parts.append(Observations(time, z, {"temperature": rows}, name=site.name))
        if self.surface_temperature is not None:
            series = self.surface_temperature.read(
                "sea_surface_temperature", setting, key, "surface_temperature"
            )
            time, values = on_common_times({"surface": series}, site.duration)
            chosen = _during(time, site.duration)
            if (interval := self.surface_interval) is not None:
                chosen &= np.abs(time / interval - np.round(time / interval)) < 1e-9
            if not chosen.any():
                at = "" if interval is None else f" at a multiple of surface_interval, {interval:g} s"
                raise ValueError(
                    f"expected a record during the case{at}, got none; change the dates or this."
                )
            time, surface = time[chosen], np.broadcast_to(values["surface"], time.shape)[chosen]
            given = {"temperature": surface[:, None], "salinity": configured["salinity"].on(time)[:, -1:]}
            water = site.modelled(given, setting.z_center[-1:])
            surface = site.surface_temperature(
                water["temperature"][:, 0], water["salinity"][:, 0], "conservative"
            )
            observed = {"sea_surface_temperature": np.asarray(surface)}
            parts.append(Observations(time, series=observed, name=site.name))
        return _joined(parts)


MeasuredSection = Annotated[MooringProfiles | ArgoProfilesSection, Field(discriminator="format")]
ObservationsSection = Annotated[
    MooringProfiles | ArgoProfilesSection | InputObservations, Field(discriminator="format")
]


def _during(time: np.ndarray, duration: float) -> np.ndarray:
    return (time >= 0.0) & (time <= duration * (1.0 + 1e-9))


_PARTNER = {"temperature": "salinity", "salinity": "temperature"}
"""The other variable, which is needed to convert each of the two, or to compute it from N²."""


class DescribedCase(AbstractCase):
    """A case whose column is described in the configuration."""

    name: str = key("name for files and figures", "", min_length=1)
    depth: float = key("depth of the column [m]", gt=0.0, le=12000.0)
    hypsography: HypsographySection | None = key("how large a lake is at its depths", None)
    duration: float = key("length of the case [s]", gt=0.0)
    coriolis_parameter: CoriolisParameter | None = key(
        "Coriolis parameter, instead of that of the latitude [s-1]", None
    )
    u: ProfileSection = key("initial eastward velocity [m s-1]", Profile(surface=0.0))
    v: ProfileSection = key("initial northward velocity [m s-1]", Profile(surface=0.0))
    tracers: dict[str, ProfileSection] = key(
        "passive tracers by name, and initial profiles of those of terms", default_factory=dict
    )
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "teos10", validate_default=True
    )
    absorption: AbsorptionSection = key("how deep shortwave radiation goes", "I", validate_default=True)  # pyright: ignore[reportInvalidTypeForm]
    interior: InteriorSection = key("prescribed terms below the surface", InteriorSection())
    terms: dict[str, TermSection] = key("further terms, by a name of your choice", default_factory=dict)
    ice: one_of(AbstractIce) | None = key("ice on the water", None)  # pyright: ignore[reportInvalidTypeForm]

    def named(self, where: Place) -> str:
        return self.name

    def build(self, grid: GridSection, where: Place, step: float) -> BuiltCase:
        assert isinstance(self, AnyDescribed)
        terms = {name: term_of(given) for name, given in self.terms.items()}
        setting = _setting(self, grid, where, step, terms)
        with where.naming():
            return _build(self, setting, terms)

    def modelled(self, values: Measures, z: np.ndarray) -> Measures:
        """Convert temperature and salinity at heights [m] from the kinds of the case to the column's."""
        return dict(values)

    def _check(self) -> None:
        for name, other in _PARTNER.items():
            profile, also = getattr(self, name), getattr(self, other)
            if profile is None or profile.buoyancy_frequency_squared is None:
                continue
            if also is None and name == "temperature" and not profile.everywhere:
                continue  # the salinity is measured
            if also is None or also.buoyancy_frequency_squared is not None:
                expected = f"numbers or a file of {other} beside `{name}.buoyancy_frequency_squared`"
                got = "none" if also is None else "another `buoyancy_frequency_squared`"
                raise invalid(expected, got, f"give `{other}`, for example with `gradient`")
            if profile.everywhere and (also.surface is None or also.gradient):
                expected = f"constant {other} with `{name}.everywhere`"
                raise invalid(expected, "another profile", "change it, or leave `everywhere` out")


class IdealisedCase(DescribedCase):
    """A case without files."""

    format: Literal["idealised"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = key("name for files and figures", "idealised", min_length=1)
    temperature: WaterProfileSection = key("initial temperature [degC]")
    salinity: WaterProfileSection = key("initial salinity [g kg-1]", WaterProfile(surface=35.0))
    latitude: float | None = key("latitude [degrees north]", None, ge=-90.0, le=90.0)
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "linear", validate_default=True
    )
    forcing: FluxesSection = key("surface fluxes", FluxesSection())

    # Keys of a site, so that both kinds of case can be built alike.
    longitude: ClassVar[None] = None
    start_time: ClassVar[None] = None
    linear_sunlight: ClassVar[bool] = False
    observations: ClassVar[None] = None
    series: ClassVar[Mapping[str, "NumbersSection"]] = {}
    initial: ClassVar[None] = None
    weather: ClassVar[None] = None

    def _check(self) -> None:
        super()._check()
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise invalid("`latitude` or `coriolis_parameter`", "both", "remove one of them")


class SiteCase(DescribedCase):
    """A site with a date: weather or fluxes, and measured profiles."""

    format: Literal["site"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = key("name for files and figures", "site", min_length=1)
    latitude: float = key("latitude [degrees north]", ge=-90.0, le=90.0)
    longitude: float = key("longitude [degrees east]", ge=-360.0, le=360.0)
    start_time: str = key("date and time of the start, ISO 8601, Universal Time")
    temperature: WaterProfileSection | None = key(
        "initial conservative temperature [degC]; null for the measured one", None
    )
    salinity: WaterProfileSection | None = key(
        "initial absolute salinity [g kg-1]; null for the measured one", None
    )
    temperature_kind: Literal["conservative", "potential", "in_situ"] = key(
        "kind of `temperature`", "conservative"
    )
    salinity_kind: Literal["absolute", "practical"] = key("kind of `salinity`", "absolute")
    decibar_per_metre: bool = key(
        "whether temperature and salinity of other kinds are converted at one decibar per metre of depth, as "
        "in GOTM",
        False,
    )
    linear_sunlight: bool = key(
        "whether gaps of more than 3 h in shortwave radiation are bridged by a straight line, as in GOTM, "
        "not along the clear sky; of columns of text files",
        False,
    )
    salinity_anomaly: bool = key(
        "whether practical salinity in the configuration is converted with the anomaly of the place, or with "
        "the ratio of the standard ocean",
        True,
    )
    observations: ObservationsSection | None = key(
        "measured profiles, to start from, to relax to and to compare with", None
    )
    series: dict[str, NumbersSection] = key(
        "numbers to compare with, by name of the observable", default_factory=dict
    )
    initial: MeasuredSection | None = key(
        "measured profiles to start from, if other than `observations`", None
    )
    weather: WeatherSection | None = key("the air, from which fluxes follow", None)
    air_sea: AirSeaSection = key("how fluxes follow from the weather", default_factory=AirSeaSection)
    fluxes: FluxesSection | None = key("surface fluxes, instead of the weather", None)

    @field_validator("start_time")
    @classmethod
    def _check_start(cls, value: str) -> str:
        start_of_case(value)  # raises if it cannot be read
        return value

    def _check(self) -> None:
        super()._check()
        if (self.weather is None) == (self.fluxes is None):
            got = "neither" if self.weather is None else "both"
            raise invalid("`weather` or `fluxes`", got, "give one of them")
        if self.weather is None and "air_sea" in self.model_fields_set:
            raise invalid("`air_sea` together with `weather`", "it with `fluxes`", "remove it")
        has_profiles = self.initial is not None or self.observations is not None
        is_measured = has_profiles and not isinstance(self.observations, InputObservations)
        for name in ("temperature", "salinity"):
            if getattr(self, name) is None and not is_measured:
                raise invalid(
                    f"`{name}`, or measured profiles to start from (`observations`)", "neither", "add one"
                )

    def modelled(self, values: Measures, z: np.ndarray) -> Measures:
        """Convert to conservative temperature and absolute salinity, at heights [m].

        Raises:
            ValueError: only one of them, with a kind to convert from.
        """
        kinds = {name: getattr(self, name) for name in ("temperature_kind", "salinity_kind")}
        if tuple(kinds.values()) == ("conservative", "absolute"):
            return dict(values)
        if not {"temperature", "salinity"} <= values.keys():
            raise ValueError(
                "temperature_kind, salinity_kind: expected profiles of both in the case, got one of them; "
                "add the other, or leave the kinds out."
            )
        place = {"longitude": self.longitude, "latitude": self.latitude, "anomaly": self.salinity_anomaly}
        place["pressure"] = -z if self.decibar_per_metre else None
        both = sea_water.modelled_water(values["temperature"], values["salinity"], z, **kinds, **place)
        return {**values, "temperature": both[0], "salinity": both[1]}

    def surface_temperature(
        self, temperature: np.ndarray, salinity: np.ndarray | float, kind: str
    ) -> np.ndarray:
        """Temperatures of the surface as in `observables.sea_surface_temperature`."""
        if carries_conservative_temperature(self.equation_of_state.build()):
            return sea_water.in_situ_at_surface(temperature, salinity, kind)
        return sea_water.conservative_temperature(temperature, salinity, 0.0, kind)


AnyDescribed = IdealisedCase | SiteCase


def _setting(
    site: AnyDescribed,
    grid: GridSection,
    where: Place,
    step: float,
    terms: Mapping[str, AbstractTerm],
) -> Setting:
    """Place, grid and times that the parts of a case share."""
    with where.root.naming("grid"):
        levels = grid.of(site.depth)
        if levels is None:
            raise ValueError(
                f"expected kind uniform, stretched or faces, got native, which {site.format} cases do "
                "not have; choose one of these."
            )
        depth = -float(np.asarray(levels.z_face)[0])
        if abs(depth - site.depth) > 1e-6 * site.depth:
            raise ValueError(
                f"expected faces down to the depth of the case, {site.depth:g} m, got "
                f"{depth:g} m; correct one of the two."
            )
    basin = None
    if site.hypsography is not None:
        levels, basin = site.hypsography.around(levels, where)
    units = {name: unit for term in terms.values() for name, (unit, _) in term.tracer_units().items()}
    carried = [name for term in terms.values() for name in term.initial_tracers()]
    return Setting(
        **vars(where),
        grid=levels,
        basin=basin,
        start_time=site.start_time,
        duration=site.duration,
        position=None if site.longitude is None else (site.latitude, site.longitude),
        step=step,
        elevation=site.interior.surface_elevation,
        draft=site.equation_of_state.draft or 0.0,
        linear_sunlight=site.linear_sunlight,
        tracer_units=units,
        tracer_names=tuple(dict.fromkeys((*site.tracers, *carried))),
    )


def _build(site: AnyDescribed, setting: Setting, terms: dict[str, AbstractTerm]) -> BuiltCase:
    """Build the case on the grid of its setting, and its observations."""
    water = site.equation_of_state.build()
    configured, forcing = _configured_profiles(site, setting, water), _forcing(site, setting, water)
    observations = _observations(site, "observations", setting, configured)
    initial = observations if site.initial is None else _observations(site, "initial", setting, configured)
    state = _initial_state(site, setting, water, configured, initial)
    followed = functools.partial(_followed, site, setting, configured, observations)
    interior = site.interior.read(setting, followed, wind_of(forcing), site.modelled)
    rotation, light = site.coriolis_parameter, site.absorption
    if rotation is None:
        rotation = 0.0 if site.latitude is None else coriolis_parameter(site.latitude)
    with setting.naming("terms"):
        for name, note in notes_on_terms(terms, state):
            setting.note(note, "terms", name)
    state = with_memory(state, interior, terms)
    terms = {name: term.adapted_to(state, setting.grid, setting.step) for name, term in terms.items()}
    case = Case(
        grid=setting.grid,
        initial_state=state,
        forcing=forcing,
        coriolis_parameter=rotation,
        equation_of_state=water,
        absorption=light.read(setting, "absorption") if isinstance(light, SeriesPart) else light.build(),
        interior=interior,
        terms=terms,
        ice=None if site.ice is None else site.ice.build(),
        duration=site.duration,
        name=site.name,
        start_time=None if site.start_time is None else start_of_case(site.start_time).isoformat(),
        latitude=site.latitude,
        longitude=site.longitude,
    )
    with setting.naming("duration"):
        forcing.check_covers(0.0, site.duration)
        check_covers((case.interior, case.absorption), 0.0, site.duration)
    parts: list[Observations] = []
    if observations is not None:
        is_file = isinstance(site.observations, MeasuredProfiles)
        parts.append(_within(observations, site, setting) if is_file else observations)
    for name, section in site.series.items():
        assert isinstance(site, SiteCase)  # others have no series
        parts.append(section.read(name, site, float(np.asarray(state.salinity)[-1]), setting))
    return BuiltCase(case, _joined(parts) if len(parts) > 1 else next(iter(parts), None))


def _configured_profiles(site: AnyDescribed, setting: Setting, water: AbstractEquationOfState) -> Profiles:
    """Read the profiles of the configuration over time, in its kinds of temperature and salinity.

    Temperature from N² is left to `_initial_state` where salinity is measured.
    """
    relaxation = site.interior.relaxation
    targets = {"temperature": relaxation.temperature, "salinity": relaxation.salinity} | relaxation.tracers
    followed = {name for name, rates in targets.items() if rates is not None and rates.profile == "case"}
    whole_period = bool(followed & _PARTNER.keys()) or isinstance(site.observations, InputObservations)
    found = {name: getattr(site, name).read(name, setting, name) for name in ("u", "v")}
    for name in _PARTNER:
        profile: WaterProfile | None = getattr(site, name)
        if profile is not None and profile.buoyancy_frequency_squared is None:
            found[name] = profile.read(name, setting, name, whole_period=whole_period)
    for name, other in _PARTNER.items():
        profile = getattr(site, name)
        if profile is not None and profile.buoyancy_frequency_squared is not None and other in found:
            found[name] = stratified(profile, found[other].on(np.zeros(1))[0, -1], name, setting, water)
    for name, profile in site.tracers.items():
        found[name] = profile.read(name, setting, "tracers", name, whole_period=name in followed)
    return found


def _initial_state(
    site: AnyDescribed,
    setting: Setting,
    water: AbstractEquationOfState,
    configured: Profiles,
    initial: Observations | None,
) -> State:
    """State at the start, from profiles of the configuration, and measured ones for the others."""
    z = setting.z_center - setting.draft  # in the sea
    source, key = (site.observations, "observations") if site.initial is None else (site.initial, "initial")
    values: dict[str, np.ndarray] = {}
    with setting.naming(key):
        if initial is not None and isinstance(source, MeasuredProfiles):
            values = _measured_start(site, source, initial, setting, z)
        if "salinity" not in configured.keys() | values.keys():
            assert isinstance(site, SiteCase)  # others have it
            message = f"no salinity given: using a practical salinity of {sea_water.OCEAN_SALINITY:g}"
            setting.note(message, "salinity")
            values["salinity"] = sea_water.salinity_of_the_ocean(z, site.longitude, site.latitude)
    with setting.naming():
        values |= site.modelled({name: series.on(np.zeros(1))[0] for name, series in configured.items()}, z)
    if "temperature" not in values:
        assert site.temperature is not None  # otherwise it is measured
        series = stratified(site.temperature, values["salinity"][-1], "temperature", setting, water)
        values["temperature"] = series.values[0]
    given = {name: getattr(site, name) for name in ("temperature", "salinity", "u", "v")} | site.tracers
    for name, profile in given.items():
        if profile is not None and profile.z is not None:
            _note_ends(setting, name, *profile.ends)
    arrays = {name: jnp.asarray(each, dtype=float) for name, each in values.items()}
    fields = {name: arrays.pop(name) for name in ("temperature", "salinity", "u", "v")}
    return State.from_profiles(setting.grid, **fields, tracers=arrays)


def _measured_start(
    site: AnyDescribed, source: MeasuredProfiles, initial: Observations, setting: Setting, z: np.ndarray
) -> dict[str, np.ndarray]:
    """Measured profiles at the start, on the cells, of variables that the configuration does not set."""
    names = [name for name in ("temperature", "salinity") if getattr(site, name) is None]
    names += [name for name in source.tracers if name not in site.tracers]
    measured, used = {}, {}
    for name in names:
        if name != "temperature" and name not in initial.profiles:
            continue
        series = profiles_on_grid(initial, name, z, longest_gap=source.longest_gap, duration=0.0)
        values = series.on(np.zeros(1))[0]
        if name in source.tracers and values.min() < 0.0:
            setting.note(f"{name} starts from 0 where {values.min():g} was measured", "tracers")
            values = np.maximum(values, 0.0)
        measured[name] = values
        time = np.asarray(initial.time)
        near = np.abs(time) <= source.longest_gap
        heights = np.where(np.isfinite(initial.profiles[name]), initial.z, np.nan)[near]
        _note_ends(setting, name, np.nanmin(heights) + setting.draft, np.nanmax(heights) + setting.draft)
        time = time[initial.has_values(name)]
        around = np.concatenate([time[time <= 0.0][-1:], time[time > 0.0][:1]])
        if np.abs(around).min() > 86400.0:
            start = start_of_case(setting.date_and_position()[0])
            dates = [f"{start + datetime.timedelta(seconds=float(each)):%Y-%m-%d %H:%M}" for each in around]
            used.setdefault(" and ".join(dates), []).append(name)
    for dates, several in used.items():
        setting.note(f"no profile of {', '.join(several)} within a day of the start; used {dates}")
    return measured


def _note_ends(setting: Setting, name: str, lowest: float, highest: float) -> None:
    """Note an initial profile whose lowest or highest value [m] is far from the bottom or the surface."""
    z_face = np.asarray(setting.grid.z_face)
    share, (bottom, top) = -0.1 * z_face[0], np.diff(z_face)[[0, -1]]
    for height, missing, most, side in (
        (lowest, lowest - z_face[0], max(share, bottom), "below"),
        (highest, z_face[-1] - highest, max(min(share, 10.0), top), "above"),
    ):
        if missing > most:
            setting.note(f"the initial {name} ends at {height:.4g} m; its last value is used {side}")


def _forcing(site: AnyDescribed, setting: Setting, water: AbstractEquationOfState) -> AbstractForcing:
    """Prescribed fluxes, or those of the weather."""
    if isinstance(site, SiteCase) and site.weather is not None:
        return bulk_forcing(site.weather, site.air_sea, setting, float(water.reference_density))
    key = "forcing" if isinstance(site, IdealisedCase) else "fluxes"
    return prescribed_forcing(getattr(site, key), setting, key)


def _followed(
    site: AnyDescribed,
    setting: Setting,
    configured: Profiles,
    observations: Observations | None,
    variable: str,
    profile: Literal["case"] | None,
) -> Series:
    """Profiles over the time of the case to relax a variable to: measured ones, or those of the case."""
    z, measured = setting.z_center - setting.draft, site.observations
    if profile is None:
        if observations is None or not isinstance(measured, MeasuredProfiles):
            raise ValueError(
                f"expected a profile of {variable}, or observations in the case, got neither; add one."
            )
        gap = measured.longest_gap
        return profiles_on_grid(observations, variable, z, longest_gap=gap, duration=site.duration)
    if variable not in configured:
        raise ValueError(f"expected a profile of {variable} in the case, got none to follow; add it.")
    if variable not in _PARTNER:
        return configured[variable]
    time, values = on_common_times(
        {name: configured[name] for name in _PARTNER if name in configured}, site.duration
    )
    return Series(time, site.modelled(values, z)[variable])


def _observations(
    site: AnyDescribed, key: str, setting: Setting, configured: Profiles
) -> Observations | None:
    """Observations of the key `observations` or `initial`; `None` without it."""
    section = getattr(site, key)
    if section is None:
        return None
    with setting.naming(key):
        return section.read(site, key, setting, configured)


def _within(observations: Observations, site: AnyDescribed, setting: Setting) -> Observations:
    """Observations during the case and within the column; `ConfigError` if there are none."""
    time, z = np.asarray(observations.time), np.asarray(observations.z)
    during, inside = _during(time, site.duration), z >= -site.depth
    if not (during.any() and inside.any()):
        raise ConfigError(
            f"{setting.at('observations')}: expected profiles from 0 to {site.duration:g} s and from "
            f"{-site.depth:g} m to the surface, got times from {time[0]:g} to {time[-1]:g} s and heights "
            f"from {np.nanmin(z):g} to {np.nanmax(z):g} m; change start_time, duration or depth."
        )

    inside = np.broadcast_to(inside, (time.size, z.shape[-1]))
    levels = np.argsort(~inside, axis=1, kind="stable")[:, : max(1, int(inside.sum(axis=1).max()))]

    def kept(values: ArrayLike) -> jax.Array:
        """Values during the case, those within the column first, and NaN after them."""
        return jnp.asarray(np.take_along_axis(np.where(inside, values, np.nan), levels, axis=1)[during])

    return dataclasses.replace(
        observations,
        time=observations.time[during],
        z=kept(z) if observations.moves else observations.z[levels[0]],
        profiles={name: kept(values) for name, values in observations.profiles.items()},
    )


def _joined(parts: Sequence[Observations]) -> Observations:
    """Join the profiles of the first part and the scalars of all on the union of their times."""
    first, time = parts[0], np.unique(np.concatenate([np.asarray(part.time) for part in parts]))

    def placed(part: Observations, values: ArrayLike) -> jax.Array:
        """Values at these times, NaN where the part has none."""
        values = np.asarray(values)
        rows = np.full((time.size, *values.shape[1:]), np.nan)
        rows[np.searchsorted(time, np.asarray(part.time))] = values
        return jnp.asarray(rows)

    return dataclasses.replace(
        first,
        time=jnp.asarray(time),
        z=placed(first, first.z) if first.moves else first.z,
        profiles={name: placed(first, values) for name, values in first.profiles.items()},
        series={name: placed(part, values) for part in parts for name, values in part.series.items()},
    )


class LesbraryCase(AbstractFileCase):
    """A large-eddy simulation of the LESbrary; everything comes from the file."""

    format: Literal["lesbrary"]  # pyright: ignore[reportIncompatibleVariableOverride]
    thermal_expansion: float | None = key(
        "thermal expansion, instead of that of the file [K-1]", None, gt=0.0, le=1e-3
    )

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_lesbrary(path, thermal_expansion=self.thermal_expansion)


class LegayCase(AbstractFileCase):
    """The large-eddy simulation of Legay et al. (2024), whose file contains only profiles."""

    format: Literal["legay"]  # pyright: ignore[reportIncompatibleVariableOverride]
    stress_u: float | None = key("eastward stress [N m-2]", None, ge=-50.0, le=50.0)
    surface_buoyancy_flux: float | None = key("buoyancy into the surface [m2 s-3]", None, ge=-1e-4, le=1e-4)

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_legay(path, **self.model_dump(exclude={"format", "path"}, exclude_none=True))


class MappingSection(section_of(cf_netcdf.Mapping)):
    """Information that a file lacks."""

    units: dict[str, UnitGiven] = key(UNITS, default_factory=dict)
    equation_of_state: EquationOfStateSection | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density; null for the linear one of the file", None
    )

    def _check(self) -> None:
        self.build()  # raises errors that only the class can detect

    def build(self) -> cf_netcdf.Mapping:
        """Build the mapping."""
        water = None if self.equation_of_state is None else self.equation_of_state.build()
        return cf_netcdf.Mapping(**self.given(), units=conversions_of(self.units), equation_of_state=water)


class CfNetcdfCase(AbstractFileCase):
    """Profiles over time in a CF NetCDF file."""

    format: Literal["cf_netcdf"]  # pyright: ignore[reportIncompatibleVariableOverride]
    mapping: MappingSection = key("information missing in the file", MappingSection())

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_cf_netcdf(path, self.mapping.build())


_FROM_FILES = (LesbraryCase, LegayCase, CfNetcdfCase, *additions("formats", "CASE_FORMATS"))
CaseSection = Annotated[Union[*_FROM_FILES, IdealisedCase, SiteCase], Field(discriminator="format")]
"""Where a case comes from; extensions add formats."""
