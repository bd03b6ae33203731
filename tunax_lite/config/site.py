"""Cases: a site that a configuration describes, with what was measured there, or one from a file.

An idealised case is a site without date and files. Observations are in the variables of the column.
"""

import abc
import dataclasses
import datetime
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Union

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
from .interior import HypsographySection, InteriorSection, Measures, ProfilesOf
from .profiles import (
    AbsorptionSection,
    EquationOfStateSection,
    Profile,
    ProfileSection,
    stratified,
    with_memory,
)
from .section import Section, closest, invalid, key
from .series import (
    UNITS,
    ConversionSection,
    CoriolisParameter,
    Paths,
    Place,
    SeriesPart,
    Setting,
    TimedSection,
    TracerSection,
    UnitGiven,
    conversions_of,
    increases,
)

Profiles = Mapping[str, Series]
"""Of the case, in the kinds that it states, by variable."""
GoodFlags = Annotated[
    list[Annotated[int, Field(ge=0, le=9)]],
    key("quality flags of values that are used", min_length=1),
]
_LONGEST_GAP = 15.0 * 86400.0


_TRACERS = (
    "variables of the file by the names of tracers of the case, pools included: a name, or `variable` with "
    "unit, factor, offset and sign"
)


class MooringProfiles(Section):
    """A mooring in OceanSITES, IMOS or CMEMS format, or another CF NetCDF file."""

    format: Literal["oceansites"]
    paths: Paths
    variables: dict[Literal["temperature", "salinity", "u", "v"], str | None] = key(
        "names in the file of temperature, salinity, u, v; null to leave one out", default_factory=dict
    )
    tracers: dict[str, TracerSection] = key(_TRACERS, default_factory=dict)
    units: dict[Literal["temperature", "salinity", "u", "v", "time", "z"], UnitGiven] = key(
        UNITS, default_factory=dict
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    depths: Literal["nominal", "measured"] | float = key(
        "for instruments whose depth varies; or the depth [m] of an instrument whose file does not give it",
        "nominal",
    )
    longest_gap: float = key("longest time that is bridged to start or to relax [s]", _LONGEST_GAP, gt=0.0)

    def read(self, site: "SiteCase", key: str, setting: Setting, own: Profiles) -> Observations:
        """The profiles at their own heights."""
        return io.read_oceansites(
            [setting.file(path, key, "paths") for path in self.paths],
            start_time=site.start_time,
            variables={str(name): value for name, value in self.variables.items()},
            units=conversions_of(self.units),
            good_flags=self.good_flags,
            depths=self.depths,
            salinity=_practical_salinity(site, setting, own),
            position=(site.latitude, site.longitude),
            tracers=setting.tracers(self.tracers, key, "tracers"),
            name=site.name,
        )


class ArgoProfilesSection(Section):
    """Profiles of Argo floats."""

    format: Literal["argo"]
    paths: Paths
    z: list[float] | Literal["measured"] | None = key(
        "heights [m] to interpolate to; null for the cells, measured for their own", None
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    tracers: dict[str, TracerSection] = key(
        f"{_TRACERS}; parameters such as NITRATE, DOXY and CHLA", default_factory=dict
    )
    longest_gap: float = key("longest time that is bridged to start or to relax [s]", _LONGEST_GAP, gt=0.0)

    @field_validator("z")
    @classmethod
    def _check_heights(cls, z: list[float] | str | None) -> list[float] | str | None:
        if isinstance(z, list) and not (z and increases(z) and z[-1] <= 0.0):
            raise invalid("heights that increase and end at or below 0", f"{z}", "sort them, deepest first")
        return z

    def read(self, site: "SiteCase", key: str, setting: Setting, own: Profiles) -> Observations:
        """The profiles on heights, or at their own."""
        heights = None if self.z == "measured" else np.asarray(setting.z_center if self.z is None else self.z)
        return io.read_argo(
            [setting.file(path, key, "paths") for path in self.paths],
            z=heights,
            start_time=site.start_time,
            good_flags=self.good_flags,
            salinity=_practical_salinity(site, setting, own),
            position=(site.latitude, site.longitude),
            tracers=setting.tracers(self.tracers, key, "tracers"),
            name=site.name,
        )


MeasuredProfiles = MooringProfiles | ArgoProfilesSection


def _practical_salinity(
    site: "SiteCase", setting: Setting, own: Profiles
) -> tuple[np.ndarray, np.ndarray] | None:
    """Heights and practical salinity of the case at its start, to convert temperatures with."""
    if "salinity" not in own:
        return None
    z, values = setting.z_center, own["salinity"].on(np.zeros(1))[0]
    if site.salinity_kind == "absolute":
        values = sea_water.practical_salinity(values, z, longitude=site.longitude, latitude=site.latitude)
    return z, values


Numbers = tuple[np.ndarray, np.ndarray]
"""Times [s] and values of a scalar observable."""


class NumbersSection(ConversionSection):
    """A scalar observable over time, from a table."""

    path: str = key("CSV or NetCDF file", min_length=1)
    variable: str = key("column or variable of the file", min_length=1)
    kind: Literal["in_situ", "potential", "conservative"] = key("of a temperature of the surface", "in_situ")

    def read(self, name: str, site: "SiteCase", salinity: float, setting: Setting) -> Numbers:
        """The observable within the case, at a salinity of the surface."""
        path = setting.file(self.path, "series", name, "path")
        with setting.naming("series", name):
            found = io.read_numbers(
                path,
                name,
                self.variable,
                start_time=setting.start_time,
                position=(site.latitude, site.longitude),
                unit=self.build(),
            )
            values = found.values
            if name == "sea_surface_temperature":
                values = site.surface_temperature(values, salinity, self.kind)
        during = _during(found.time, site.duration)
        if not during.any():
            raise ConfigError(
                f"{setting.at('series', name)}: expected values from 0 to {site.duration:g} s, got times "
                f"from {found.time[0]:g} to {found.time[-1]:g} s; change start_time or duration."
            )
        return found.time[during], np.asarray(values)[during]


class InputObservations(Section):
    """Observations among the inputs of a case."""

    format: Literal["inputs"]
    surface_temperature: TimedSection | None = key(
        "of the kind of the temperature, as sea_surface_temperature", None
    )
    surface_interval: float | None = key(
        "only its records at multiples of this time [s]; null for all", None, gt=0.0
    )
    profiles: bool = key("those of temperature, of a file", False)
    z: list[Annotated[float, Field(le=0.0)]] | None = key(
        "heights to interpolate them to [m]; null for the cells", None, min_length=1
    )

    def _check(self) -> None:
        if not (self.profiles or self.surface_temperature):
            raise invalid("`surface_temperature` or `profiles`", "neither", "give one of them")

    def read(self, site: "SiteCase", key: str, setting: Setting, own: Profiles) -> Observations:
        """In-situ temperature of the surface and conservative one of profiles, with the case's salinity."""
        profiles, numbers = None, dict[str, Numbers]()
        if self.surface_temperature is not None:
            numbers["sea_surface_temperature"] = self._surface(site, key, setting, own)
        if self.profiles:
            series, heights = own["temperature"], setting.z_center
            chosen = _during(series.time, site.duration)
            time = series.time[chosen]
            values = {"temperature": series.values[chosen], "salinity": own["salinity"].on(time)}
            rows = site.modelled(values, heights)["temperature"]
            if self.z is not None:
                wanted = np.sort(np.asarray(self.z, dtype=float))
                rows = np.stack([np.interp(wanted, heights, row) for row in rows])
                heights = wanted
            observed = {"temperature": jnp.asarray(rows)}
            profiles = Observations(jnp.asarray(time), jnp.asarray(heights), observed, name=site.name)
        joined = _joined(profiles, numbers, site.name)
        assert joined is not None  # `_check` requires one
        return joined

    def _surface(
        self, site: "SiteCase", key: str, setting: Setting, own: Profiles
    ) -> tuple[np.ndarray, np.ndarray]:
        """Times, and temperatures of the surface as in `observables.sea_surface_temperature`."""
        keys, interval = (key, "surface_temperature"), self.surface_interval
        assert self.surface_temperature is not None
        series = self.surface_temperature.read("sea_surface_temperature", setting, *keys)
        if not isinstance(series, Series):
            expected = "expected a series, got a number; name a file, or give `time` with `values`"
            raise ConfigError(f"{setting.at(*keys)}: {expected}.")
        chosen = _during(series.time, site.duration)
        if interval is not None:
            chosen &= np.abs(series.time / interval - np.round(series.time / interval)) < 1e-9
        if not chosen.any():
            raise ConfigError(
                f"{setting.at(*keys)}: expected a record at a multiple of {interval} s, got none; choose "
                "another one."
            )
        time = series.time[chosen]
        values = {"temperature": series.values[chosen][:, None], "salinity": own["salinity"].on(time)[:, -1:]}
        carried = site.modelled(values, setting.z_center[-1:])
        temperature, salinity = carried["temperature"][:, 0], carried["salinity"][:, 0]
        return time, site.surface_temperature(temperature, salinity, "conservative")


ObservationsSection = Annotated[MeasuredProfiles | InputObservations, Field(discriminator="format")]
"""Measured profiles."""


def _during(time: np.ndarray, duration: float) -> np.ndarray:
    return (time >= 0.0) & (time <= duration * (1.0 + 1e-9))


def _placed(time: np.ndarray, own: np.ndarray, values: ArrayLike) -> jax.Array:
    """Insert values at their times into common times, with NaN elsewhere."""
    values = np.asarray(values)
    rows = np.full((time.size, *values.shape[1:]), np.nan)
    rows[np.searchsorted(time, own)] = values
    return jnp.asarray(rows)


_OTHERS = {"temperature": "salinity", "salinity": "temperature"}


class DescribedCase(AbstractCase):
    """Shared by cases whose column is described in the configuration."""

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

    @property
    @abc.abstractmethod
    def prescribed(self) -> FluxesSection | None:
        """Surface fluxes, unless they follow from the weather."""

    def named(self, where: Place) -> str:
        return self.name

    def build(self, grid: GridSection, where: Place, step: float | None = None) -> BuiltCase:
        assert isinstance(self, AnyDescribed)
        return build_case(self, grid, where, step)

    def modelled(self, values: Measures, z: np.ndarray) -> Measures:
        """Temperature and salinity of the column from those that the case gives, at heights [m]."""
        return dict(values)

    def _check(self) -> None:
        # Nothing else would notice a flux of a tracer that the case does not have.
        for name in [] if self.prescribed is None else self.prescribed.tracer_fluxes:
            if name not in self.tracers:
                expected, near = "fluxes of tracers of the case", list(self.tracers) or ["none"]
                raise invalid(expected, f"`{name}`", closest(name, near))
        for name in ("temperature", "salinity", "u", "v"):
            profile: Profile | None = getattr(self, name)
            if profile is None or profile.buoyancy_frequency_squared is None:
                continue
            if name != "temperature" and not (name == "salinity" and profile.everywhere):
                expected = "`buoyancy_frequency_squared` for temperature only"
                raise invalid(expected, f"it for {name}", "give a `gradient` instead")
            other: Profile | None = getattr(self, _OTHERS[name])
            if profile.everywhere and (other is None or not other.is_constant):
                expected = f"constant {_OTHERS[name]} with `{name}.everywhere`"
                raise invalid(expected, "another profile", "change it, or leave `everywhere` out")


class IdealisedCase(DescribedCase):
    """A case without files."""

    format: Literal["idealised"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = key("name for files and figures", "idealised", min_length=1)
    temperature: ProfileSection = key("initial temperature [degC]")
    salinity: ProfileSection = key("initial salinity [g kg-1]", Profile(surface=35.0))
    latitude: float | None = key("latitude [degrees north]", None, ge=-90.0, le=90.0)
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "linear", validate_default=True
    )
    forcing: FluxesSection = key("surface fluxes", FluxesSection())

    # What only a site has.
    longitude: ClassVar[None] = None
    start_time: ClassVar[None] = None
    linear_sunlight: ClassVar[bool] = False
    observations: ClassVar[None] = None
    series: ClassVar[Mapping[str, "NumbersSection"]] = {}
    initial: ClassVar[None] = None
    weather: ClassVar[None] = None

    @property
    def prescribed(self) -> FluxesSection:
        return self.forcing

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
    temperature: ProfileSection | None = key(
        "initial conservative temperature [degC]; null for the measured one", None
    )
    salinity: ProfileSection | None = key(
        "initial absolute salinity [g kg-1]; null for the measured one", None
    )
    temperature_kind: Literal["conservative", "potential", "in_situ"] = key(
        "of the temperature that is given", "conservative"
    )
    salinity_kind: Literal["absolute", "practical"] = key("of the salinity that is given", "absolute")
    decibar_per_metre: bool = key(
        "whether measured water is converted at one decibar per metre of depth, as in GOTM", False
    )
    linear_sunlight: bool = key(
        "whether gaps of more than 3 h in shortwave radiation are bridged by a straight line, as in GOTM; of "
        "columns of text files",
        False,
    )
    salinity_anomaly: bool = key(
        "whether practical salinity is converted with the anomaly of the place, or with the "
        "ratio of the standard ocean",
        True,
    )
    observations: ObservationsSection | None = key(
        "measured profiles, to start from, to relax to and to compare with", None
    )
    series: dict[str, NumbersSection] = key(
        "numbers to compare with, by name of the observable", default_factory=dict
    )
    initial: ObservationsSection | None = key(
        "measured profiles to start from, if other than `observations`", None
    )
    weather: WeatherSection | None = key("the air, from which fluxes follow", None)
    air_sea: AirSeaSection = key("how they follow from it", default_factory=AirSeaSection)
    fluxes: FluxesSection | None = key("surface fluxes, instead of the weather", None)

    @field_validator("start_time")
    @classmethod
    def _check_start(cls, value: str) -> str:
        try:
            start_of_case(value)
        except ValueError:
            raise invalid("an ISO 8601 time", f"'{value}'", "write it like 2012-06-10T00:00:00") from None
        return value

    @property
    def prescribed(self) -> FluxesSection | None:
        return self.fluxes

    def _check(self) -> None:
        super()._check()
        if (self.weather is None) == (self.fluxes is None):
            got = "neither" if self.weather is None else "both"
            raise invalid("`weather` or `fluxes`", got, "give one of them")
        if self.weather is None and "air_sea" in self.model_fields_set:
            raise invalid("`air_sea` together with `weather`", "it with `fluxes`", "remove it")
        measured = self.initial or self.observations
        for name in ("temperature", "salinity"):
            if getattr(self, name) is None and (measured is None or measured.format == "inputs"):
                raise invalid(
                    f"`{name}`, or measured profiles to start from (`observations`)", "neither", "add one"
                )

    def modelled(self, values: Measures, z: np.ndarray) -> Measures:
        """Conservative temperature and absolute salinity from the given kinds, at heights [m]."""
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


def build_case(site: AnyDescribed, grid: GridSection, where: Place, step: float | None = None) -> BuiltCase:
    """Build a described case on a grid; some cases depend on the time step [s]."""
    terms = {name: term_of(given) for name, given in site.terms.items()}
    setting = _setting(site, grid, where, step, terms)
    with where.naming():
        return _build(site, setting, terms)


def _setting(
    site: AnyDescribed,
    grid: GridSection,
    where: Place,
    step: float | None,
    terms: Mapping[str, AbstractTerm],
) -> Setting:
    """Place, grid and times that the parts of a case share."""
    with where.whole.naming("grid"):
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
    """The case on the grid of its setting, and the observations during it."""
    water = site.equation_of_state.build()
    own, forcing = _own_profiles(site, setting, water), _forcing(site, setting, water)
    observations = _observations(site, "observations", setting, own)
    state = _start(site, setting, water, own, observations)
    sources = _sources(site, setting, own, observations)
    interior = site.interior.read(setting, sources, wind_of(forcing), site.modelled)
    rotation, light = site.coriolis_parameter, site.absorption
    if rotation is None:
        rotation = 0.0 if site.latitude is None else coriolis_parameter(site.latitude)
    with setting.naming("terms"):
        for name, note in notes_on_terms(terms, state):
            setting.note(note, "terms", name)
    state = with_memory(state, interior, terms)
    if setting.step is not None:
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
    if isinstance(site.observations, MeasuredProfiles) and observations is not None:
        observations = _within(observations, site, setting)
    numbers: dict[str, Numbers] = {}
    for name, section in site.series.items():
        assert isinstance(site, SiteCase)  # others have no series
        numbers[name] = section.read(name, site, float(np.asarray(state.salinity)[-1]), setting)
    return BuiltCase(case, _joined(observations, numbers, site.name))


def _own_profiles(site: AnyDescribed, setting: Setting, water: AbstractEquationOfState) -> Profiles:
    """Profiles given in the configuration, over the time of the case, in their stated kinds.

    Temperature from N² is left to `_start` where salinity is measured.
    """
    relaxation = site.interior.relaxation
    targets = [rates.profile for rates in (relaxation.temperature, relaxation.salinity) if rates is not None]
    whole = "case" in targets or isinstance(site.observations, InputObservations)
    found: dict[str, Series] = {}
    from_squared: dict[str, Profile] = {}
    for name in ("temperature", "salinity", "u", "v"):
        profile: Profile | None = getattr(site, name)
        if profile is None:
            continue
        if profile.buoyancy_frequency_squared is None:
            found[name] = profile.read(name, setting, name, whole=whole or name in ("u", "v"))
        else:
            from_squared[name] = profile
    for name, profile in from_squared.items():
        if (other := found.get(_OTHERS[name])) is not None:
            found[name] = stratified(profile, other.on(np.zeros(1))[0, -1], name, setting, water)
    for name, profile in site.tracers.items():
        follows = (rates := relaxation.tracers.get(name)) is not None and rates.profile == "case"
        found[name] = profile.read(name, setting, "tracers", name, whole=follows)
    return found


def _start(
    site: AnyDescribed,
    setting: Setting,
    water: AbstractEquationOfState,
    own: Profiles,
    observations: Observations | None,
) -> State:
    """The water at the start, given or measured."""
    z = setting.z_center - setting.draft  # in the sea
    source, key = (site.observations, "observations") if site.initial is None else (site.initial, "initial")
    initial = observations if site.initial is None else _observations(site, "initial", setting, own)
    given: dict[str, np.ndarray] = {}
    known: dict[str, np.ndarray] = {}
    with setting.naming(key):
        if initial is not None and isinstance(source, MeasuredProfiles):
            given = _measured_start(site, source, initial, setting, z)
            known = {name: _measured_levels(source, initial, name, z) for name in given}
        if "salinity" not in own.keys() | given.keys():
            assert isinstance(site, SiteCase)  # others have it
            said = f"no salinity given: using a practical salinity of {sea_water.OCEAN_SALINITY:g}"
            setting.note(said, "salinity")
            given["salinity"] = sea_water.salinity_of_the_ocean(z, site.longitude, site.latitude)
    with setting.naming():
        given |= site.modelled({name: series.on(np.zeros(1))[0] for name, series in own.items()}, z)
    if "temperature" not in given:
        assert site.temperature is not None  # otherwise it is measured
        series = stratified(site.temperature, given["salinity"][-1], "temperature", setting, water)
        given["temperature"] = series.values[0]
    _note_ends(site, setting, given, known)
    arrays = {name: jnp.asarray(values, dtype=float) for name, values in given.items()}
    fields = {name: arrays.pop(name) for name in ("temperature", "salinity", "u", "v")}
    return State.from_profiles(setting.grid, **fields, tracers=arrays)


def _measured_start(
    site: AnyDescribed, source: MeasuredProfiles, initial: Observations, setting: Setting, z: np.ndarray
) -> dict[str, np.ndarray]:
    """Measured profiles at the start, on the cells, for variables that the configuration does not set."""
    names = [name for name in ("temperature", "salinity") if getattr(site, name) is None]
    names += [name for name in source.tracers if name not in site.tracers]
    measured, apart = {}, {}
    for name in names:
        if name != "temperature" and name not in initial.profiles:
            continue
        series = profiles_on_grid(initial, name, z, longest_gap=source.longest_gap, duration=0.0)
        values = series.on(np.zeros(1))[0]
        if name in source.tracers and values.min() < 0.0:
            setting.note(f"{name} starts from 0 where {values.min():g} was measured", "tracers")
            values = np.maximum(values, 0.0)
        measured[name] = values
        time = np.asarray(initial.time)[initial.has_values(name)]
        around = np.concatenate([time[time <= 0.0][-1:], time[time > 0.0][:1]])
        if np.abs(around).min() > 86400.0:
            start = start_of_case(setting.required_start())
            dates = [f"{start + datetime.timedelta(seconds=float(each)):%Y-%m-%d %H:%M}" for each in around]
            apart.setdefault(" and ".join(dates), []).append(name)
    for dates, several in apart.items():
        setting.note(f"no profile of {', '.join(several)} within a day of the start; used {dates}")
    return measured


def _measured_levels(source: MeasuredProfiles, initial: Observations, name: str, z: np.ndarray) -> np.ndarray:
    """Heights of the measured values at the start that the cells take, their own except beyond the ends."""
    levels = jnp.where(jnp.isfinite(initial.profiles[name]), initial.z, jnp.nan)
    heights = dataclasses.replace(initial, profiles={"level": levels})
    series = profiles_on_grid(heights, "level", z, longest_gap=source.longest_gap, duration=0.0)
    return series.on(np.zeros(1))[0]


_MOST_BEYOND, _MOST_ABOVE = 0.1, 10.0
"""Parts of a column without values that need no note: share of the depth, and metres below the surface."""


def _note_ends(
    site: AnyDescribed,
    setting: Setting,
    start: Mapping[str, np.ndarray],
    measured: Mapping[str, np.ndarray],
) -> None:
    """Note where profiles end above the bottom or below the surface; `measured` levels are by variable."""
    sea, cells = setting.z_center - setting.draft, np.diff(np.asarray(setting.grid.z_face))
    for name, values in start.items():
        profile: Profile | None = site.tracers.get(name, getattr(site, name, None))
        z, levels = sea, measured.get(name, sea)
        if profile is not None and profile.z is not None:
            z = setting.z_center
            levels = np.clip(z, profile.z[0], profile.z[-1])
        elif profile is not None and profile.column is not None:
            column = setting.column(profile, name)
            column = dataclasses.replace(column, number=0, quantity="level", scale_factor=1.0, offset=0.0)
            levels = setting.read_profiles(column, whole_period=False).on(np.zeros(1))[0]
        inside = values[np.isclose(levels, z, rtol=0.0, atol=1e-6)]
        for end, side, most in ((0, "below", np.inf), (-1, "above", _MOST_ABOVE)):
            last = inside[:2] if end == 0 else inside[-2:]  # the outermost may be where values end
            is_uniform = last.size > 0 and bool(np.all(last == values[end]))
            gap = abs(levels[end] - z[end])
            if gap > max(min(_MOST_BEYOND * site.depth, most), cells[end]) and not is_uniform:
                ends = f"ends at {levels[end]:.4g} m; its last value, {values[end]:.4g}, is used {side}"
                setting.note(f"the initial {name} {ends}")


def _forcing(site: AnyDescribed, setting: Setting, water: AbstractEquationOfState) -> AbstractForcing:
    """Prescribed fluxes, or those of the weather."""
    if site.prescribed is not None:
        key = "forcing" if site.format == "idealised" else "fluxes"
        return prescribed_forcing(site.prescribed, setting, key)
    assert isinstance(site, SiteCase) and site.weather is not None  # otherwise there are fluxes
    return bulk_forcing(site.weather, site.air_sea, setting, float(water.reference_density))


def _sources(
    site: AnyDescribed, setting: Setting, own: Profiles, observations: Observations | None
) -> dict[str, ProfilesOf]:
    """Profiles over the time of the case to relax to: those of the case, and measured ones."""
    z, measured = setting.z_center - setting.draft, site.observations

    def given(variable: str) -> Series:
        if variable not in own:
            raise ValueError(f"expected a profile of {variable} in the case, got none to follow; add it.")
        if variable not in ("temperature", "salinity"):
            return own[variable]
        both = {name: own[name] for name in ("temperature", "salinity")}
        time, values = on_common_times(both, site.duration)
        return Series(time, site.modelled(values, z)[variable])

    def observed(variable: str) -> Series:
        assert observations is not None and isinstance(measured, MeasuredProfiles)
        gap = measured.longest_gap
        return profiles_on_grid(observations, variable, z, longest_gap=gap, duration=site.duration)

    found: dict[str, ProfilesOf] = {"case": given}
    return found | {"observations": observed} if isinstance(measured, MeasuredProfiles) else found


def _observations(site: AnyDescribed, key: str, setting: Setting, own: Profiles) -> Observations | None:
    """Profiles of one of the two keys for observations."""
    section = getattr(site, key)
    if section is None:
        return None
    with setting.naming(key):
        return section.read(site, key, setting, own)


def _within(observations: Observations, site: AnyDescribed, setting: Setting) -> Observations:
    """Observations during the case and within the column."""
    time, z = np.asarray(observations.time), np.asarray(observations.z)
    during, inside = _during(time, site.duration), z >= -site.depth
    if not (during.any() and inside.any()):
        raise ConfigError(
            f"{setting.at('observations')}: expected profiles from 0 to {site.duration:g} s and from "
            f"{-site.depth:g} m to the surface, got times from {time[0]:g} to {time[-1]:g} s and heights "
            f"from {np.nanmin(z):g} to {np.nanmax(z):g} m; change start_time, duration or depth."
        )

    def on_levels(values: ArrayLike) -> jax.Array:
        if not observations.moves:
            return jnp.asarray(values)[during][:, inside]
        levels = np.take_along_axis(np.where(inside, values, np.nan), upward, axis=1)
        return jnp.asarray(levels[during])

    # Missing heights come last.
    upward = np.argsort(np.where(inside, z, np.nan))[..., : max(1, int(inside.sum(axis=-1).max()))]
    return dataclasses.replace(
        observations,
        time=observations.time[during],
        z=on_levels(z) if observations.moves else observations.z[inside],
        profiles={name: on_levels(values) for name, values in observations.profiles.items()},
    )


def _joined(
    observations: Observations | None, numbers: Mapping[str, Numbers], name: str
) -> Observations | None:
    """Observations with further scalars, on the union of their times."""
    if not numbers:
        return observations
    times = [] if observations is None else [np.asarray(observations.time)]
    time = np.unique(np.concatenate([*times, *(at for at, _ in numbers.values())]))
    series = {key: _placed(time, at, values) for key, (at, values) in numbers.items()}
    if observations is None:
        return Observations(jnp.asarray(time), series=series, name=name)
    placed = functools.partial(_placed, time, np.asarray(observations.time))
    return dataclasses.replace(
        observations,
        time=jnp.asarray(time),
        z=placed(observations.z) if observations.moves else observations.z,
        profiles={key: placed(values) for key, values in observations.profiles.items()},
        series={key: placed(values) for key, values in observations.series.items()} | series,
    )


class LesbraryCase(AbstractFileCase):
    """A large-eddy simulation of the LESbrary; everything comes from the file."""

    format: Literal["lesbrary"]  # pyright: ignore[reportIncompatibleVariableOverride]
    thermal_expansion: float | None = key("instead of that of the file [K-1]", None, gt=0.0, le=1e-3)

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_lesbrary(path, thermal_expansion=self.thermal_expansion)


class LegayCase(AbstractFileCase):
    """The large-eddy simulation of Legay et al. (2024), whose file contains only profiles."""

    format: Literal["legay"]  # pyright: ignore[reportIncompatibleVariableOverride]
    stress_u: float | None = key("eastward stress [N m-2]", None, ge=-50.0, le=50.0)
    stress_v: float | None = key("northward stress [N m-2]", None, ge=-50.0, le=50.0)
    surface_buoyancy_flux: float | None = key("buoyancy into the surface [m2 s-3]", None, ge=-1e-4, le=1e-4)
    coriolis_parameter: float | None = key("Coriolis parameter [s-1]", None, ge=-1e-2, le=1e-2)
    thermal_expansion: float | None = key("thermal expansion [K-1]", None, gt=0.0, le=1e-3)
    reference_temperature: float | None = key("temperature of zero buoyancy [degC]", None, ge=-5.0, le=60.0)

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_legay(path, **self.model_dump(exclude={"format", "path"}, exclude_none=True))


class MappingSection(section_of(cf_netcdf.Mapping)):
    """Information missing in a file."""

    units: dict[str, UnitGiven] = key(UNITS, default_factory=dict)
    equation_of_state: EquationOfStateSection | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density; null for the linear one of the file", None
    )

    def _check(self) -> None:
        self.build()  # raises errors that only the class can detect

    def build(self) -> cf_netcdf.Mapping:
        """The mapping."""
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
