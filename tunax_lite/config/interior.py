"""Sections of a configuration for terms below the surface, Stokes drift and lakes."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from pydantic import Field

from ..column import terms
from ..column.grid import Grid, Hypsography
from ..column.time_series import TimeSeries
from ..io import read_hypsography
from ..io.place import Place
from ..io.series import Series
from ..io.yaml_file import ConfigError
from .builder import section_of
from .profiles import Profile, ProfileSection
from .section import Section, invalid, key, reject
from .series import (
    SeriesPart,
    Setting,
    TimedSection,
    TimedValue,
    check_keys,
    check_table,
    read_together,
    series_of,
)

Measures = dict[str, Any]  # numbers or arrays of NumPy or JAX, by quantity
Converted = Callable[[Measures, np.ndarray], Measures]
"""Convert temperature and salinity at heights [m] from the kinds of the case to those of the column."""


class HypsographySection(Section):
    """Area of a lake at given heights; its square root is interpolated linearly."""

    path: str | None = key(
        "text in the format of GOTM's lake branch, or CSV with depth and area", None, min_length=1
    )
    z: list[float] | None = key("heights, increasing, from the bottom to 0 [m]", None, min_length=2)
    area: list[Annotated[float, Field(ge=0.0)]] | None = key("areas there [m2]", None, min_length=2)
    top: float | None = key(
        "height up to which the shore is extrapolated from the last two areas [m]; null for the last height",
        None,
    )

    def _check(self) -> None:
        check_keys(self, (({"path"}, {"top"}), ({"z", "area"}, {"top"})), "`path`, or `z` with `area`")
        if self.z is not None and self.area is not None:
            check_table(self.z, self.area, "heights")

    def around(self, grid: Grid, where: Place) -> tuple[Grid, Hypsography]:
        """Return the grid with the areas of the lake, and the shape of its basin."""
        with where.naming("hypsography"):
            if self.path is not None:
                path = where.file(self.path, "hypsography", "path")
                z, area = read_hypsography(path, float(grid.depth))
            else:
                z, area = np.asarray(self.z), np.asarray(self.area)
            grid, basin = grid.with_hypsography(z, area), Hypsography(z, area)
            return grid, basin if self.top is None else basin.up_to(self.top)


class StreamSection(section_of(terms.Stream)):
    """A stream into or out of a lake."""

    discharge: TimedSection = key("flow into the lake, out of it where negative [m3 s-1]")
    temperature: TimedSection | None = key(
        "temperature in the kind of the case [degC]; null for that of the lake where it enters", None
    )
    salinity: TimedSection = key("salinity in the kind of the case", TimedValue(constant=0.0))
    tracers: dict[str, TimedSection] = key(
        "concentrations in the stream, by name of tracers of the case, pools included; 0 for all others",
        default_factory=dict,
    )

    def read(self, setting: Setting, name: str, converted: Converted) -> terms.Stream:
        """Read the stream, and convert temperature and salinity to the kinds of the column."""
        at = "interior", "streams", name
        given = {"discharge": self.discharge, "salinity": self.salinity, "temperature": self.temperature}
        values = {k: each.read(k, setting, *at, k) for k, each in given.items() if each is not None}
        for tracer, section in self.tracers.items():
            setting.check_tracer(tracer, *at, "tracers", tracer)
            values[f"tracer {tracer}"] = section.read(tracer, setting, *at, "tracers", tracer)

        def water(discharge: Array, **values: Array) -> terms.StreamWater:
            tracers = {tracer: values.pop(f"tracer {tracer}") for tracer in self.tracers}
            if "temperature" in values:
                columns = {k: np.asarray(each)[:, None] for k, each in values.items()}
                values = {k: jnp.asarray(each[:, 0]) for k, each in converted(columns, np.zeros(1)).items()}
            return terms.StreamWater(discharge, **values, tracers=tracers)

        with setting.naming(*at):
            return terms.Stream(series_of(values, water, f"stream {name}", setting, *at), **self.given())


Wind = TimeSeries[terms.WindVector] | None
"""Wind at 10 m; `None` without weather, or with a wind at another height."""
Followed = Callable[[str, Literal["case"] | None], Series]
"""Profiles of a variable over the time of the case, on the cells: measured ones, or those of the `case`."""


TimeScale = Annotated[float, key("time scale [s]", gt=0.0)]
Thickness = Annotated[float, key("thickness of the layer [m]", ge=0.0, le=12000.0)]


class RelaxationRates(Section):
    """Relaxation rates towards observations, with separate layers at surface and bottom."""

    time_scale: TimeScale | None = key("time scale within the column [s]; null for none", None)
    surface_height: Thickness = key("thickness of the layer at the surface [m]", 0.0)
    surface_time_scale: TimeScale | None = key("time scale in this layer [s]", None)
    bottom_height: Thickness = key("thickness of the layer at the bottom [m]", 0.0)
    bottom_time_scale: TimeScale | None = key("time scale in this layer [s]", None)

    def _check(self) -> None:
        for layer in ("surface", "bottom"):
            height, scale = getattr(self, f"{layer}_height"), getattr(self, f"{layer}_time_scale")
            if (height > 0.0) != (scale is not None):
                raise invalid(
                    f"{layer}_height above 0 together with {layer}_time_scale", "one of them", "give both"
                )
        if self.time_scale is self.surface_time_scale is self.bottom_time_scale is None:
            raise invalid("a time scale [s]", "none", "give time_scale, or that of a layer")

    def target(
        self,
        name: str,
        profile: Profile | Literal["case"] | None,
        setting: Setting,
        followed: Followed,
        *keys: str,
    ) -> terms.RelaxationTarget:
        """Profiles to which a variable is relaxed, and the rate; `keys` leads to this section in the file."""
        with setting.naming(*keys):
            is_given = isinstance(profile, Profile)
            profiles = profile.read(name, setting, *keys) if is_given else followed(name, profile)
        is_constant = is_given and profile.column is None
        if isinstance(self, TracerRelaxation) and self.lag and not is_constant:
            profiles = profiles.lagged(self.lag, from_zero=self.from_zero)
        series = TimeSeries(jnp.asarray(profiles.time), jnp.asarray(profiles.values), f"observed {name}")
        layers = {key: getattr(self, key) for key in RelaxationRates.model_fields}
        rate = terms.layered_rate(setting.grid, **layers | {"time_scale": self.time_scale or np.inf})
        fading = self.given() if isinstance(self, VelocityRelaxation) else {}
        return terms.RelaxationTarget(series, rate, **fading)


Target = Annotated[
    ProfileSection | Literal["case"] | None,
    key(
        "target of the relaxation: null for the observations, case for the profile that the case starts "
        "from, over the times of its file"
    ),
]


class TracerRelaxation(RelaxationRates):
    """Relaxation of temperature, salinity or a tracer."""

    profile: Target = None
    lag: float = key("time lag of the relaxation target [s], one step in GOTM", 0.0, ge=0.0)
    from_zero: bool = key("whether it relaxes to zero until the lag has passed, as GOTM does", False)


class VelocityRelaxation(RelaxationRates, section_of(terms.RelaxationTarget)):
    """Relaxation of both velocity components."""

    u: Target = None
    v: Target = None


class RelaxationSection(Section):
    """Relaxation towards profiles, by variable."""

    temperature: TracerRelaxation | None = key("relaxation of temperature", None)
    salinity: TracerRelaxation | None = key("relaxation of salinity", None)
    velocity: VelocityRelaxation | None = key("relaxation of u and v", None)
    tracers: dict[str, TracerRelaxation] = key(
        "relaxation of tracers, pools of biogeochemistry included, by name", default_factory=dict
    )

    def read(self, setting: Setting, followed: Followed) -> terms.Relaxation | None:
        """Read the targets of all relaxed variables; `None` without any."""
        at, targets, tracers = ("interior", "relaxation"), dict[str, Any](), dict[str, Any]()
        for name in ("temperature", "salinity"):
            if (rates := getattr(self, name)) is not None:
                targets[name] = rates.target(name, rates.profile, setting, followed, *at, name)
        if (rates := self.velocity) is not None:
            for name in ("u", "v"):
                targets[name] = rates.target(name, getattr(rates, name), setting, followed, *at, "velocity")
        for name, rates in self.tracers.items():
            setting.check_tracer(name, *at, "tracers", name)
            tracers[name] = rates.target(name, rates.profile, setting, followed, *at, "tracers", name)
        return terms.Relaxation(**targets, tracers=tracers) if targets or tracers else None


_NONE = TimedValue(constant=0.0)


class SurfaceSlope(SeriesPart):
    """A slope of the surface."""

    makes, quantities = terms.SurfaceSlope, {"x": "slope", "y": "slope"}
    kind: Literal["surface_slope"]
    x: TimedSection = key("eastward slope [1]", _NONE)
    y: TimedSection = key("northward slope [1]", _NONE)


class MeanVelocity(SeriesPart):
    """The slope that maintains the depth-mean current."""

    makes, quantities = terms.MeanVelocity, {"x": "velocity", "y": "velocity"}
    kind: Literal["mean_velocity"]
    x: TimedSection = key("eastward current [m s-1]", _NONE)
    y: TimedSection = key("northward current [m s-1]", _NONE)


class VelocityAtHeight(SeriesPart):
    """The slope that maintains the current at a current meter."""

    makes, quantities = terms.VelocityAtHeight, {"x": "velocity", "y": "velocity", "height": "height"}
    kind: Literal["velocity_at_height"]
    x: TimedSection = key("eastward current [m s-1]", _NONE)
    y: TimedSection = key("northward current [m s-1]", _NONE)
    height: TimedSection = key("height of the meter above the bottom [m]")


PressureGradient = Annotated[SurfaceSlope | MeanVelocity | VelocityAtHeight, Field(discriminator="kind")]


_NO_GRADIENT = Profile(surface=0.0)


class GradientSection(section_of(terms.BuoyancyGradient), SeriesPart):
    """Horizontal gradients of temperature and salinity, constant in time."""

    makes = terms.BuoyancyGradient
    quantities = {
        f"{name}_{axis}": f"{name}_gradient" for name in ("temperature", "salinity") for axis in "xy"
    }
    temperature_x: ProfileSection = key("to the east [K m-1]", _NO_GRADIENT)
    temperature_y: ProfileSection = key("to the north [K m-1]", _NO_GRADIENT)
    salinity_x: ProfileSection = key("to the east [g kg-1 m-1]", _NO_GRADIENT)
    salinity_y: ProfileSection = key("to the north [g kg-1 m-1]", _NO_GRADIENT)


class VerticalVelocitySection(section_of(terms.VerticalVelocity), SeriesPart):
    """A vertical velocity that advects the profiles."""

    makes, quantities = terms.VerticalVelocity, {"velocity": "vertical_velocity", "height": "height"}
    velocity: TimedSection = key("extreme of the vertical velocity, positive upward [m s-1]")
    height: TimedSection = key("height at which it is reached, negative [m]")

    def read(self, setting: Setting, *keys: str, wind: Wind = None) -> terms.VerticalVelocity:
        """Read the velocity; `ConfigError` for a height above the surface."""
        velocity = super().read(setting, *keys)
        if (highest := float(np.max(velocity.series.values.height))) > 0.0:
            expected = f"expected a negative height [m], below the surface, got {highest:g}"
            raise ConfigError(f"{setting.at(*keys, 'height')}: {expected}; change its sign.")
        return velocity


class ExponentialDrift(SeriesPart):
    """A Stokes drift that decays exponentially with depth."""

    makes, quantities = terms.StokesDrift, {"u": "velocity", "v": "velocity"}
    kind: Literal["exponential"]
    decay_depth: TimedSection = key("d of exp(z / d), at least 0.001 [m]", TimedValue(constant=5.0))
    u: TimedSection = key("eastward, at the surface [m s-1]", TimedValue(constant=0.0))
    v: TimedSection = key("northward, at the surface [m s-1]", TimedValue(constant=0.0))

    def _check(self) -> None:
        depth = self.decay_depth.constant
        if depth is not None and not 1e-3 <= depth <= 1e4:
            expected = f"expected a depth from 0.001 to 10000 [m], got {depth:g}"
            reject(f"{expected}; correct it", "decay_depth")

    def read(self, setting: Setting, *keys: str, wind: Wind = None) -> terms.StokesDrift:
        """The drift."""
        series = self.series(setting, *keys)
        depth = self.decay_depth.read("height", setting, *keys, "decay_depth")
        if not isinstance(depth, Series):
            return terms.StokesDrift(series, decay_depth=depth)
        depths = TimeSeries(jnp.asarray(depth.time), jnp.asarray(depth.values))
        return terms.StokesDrift(series, depths=depths)


class WindSea(section_of(terms.WindSeaDrift), SeriesPart):
    """The Stokes drift of a wind sea in equilibrium."""

    makes, quantities = terms.WindSeaDrift, {"u": "wind_u", "v": "wind_v"}
    kind: Literal["wind_sea"]
    u: TimedSection | None = key("eastward wind at 10 m [m s-1]; null for that of the weather", None)
    v: TimedSection | None = key("northward wind at 10 m [m s-1]; likewise", None)

    def _check(self) -> None:
        if (self.u is None) != (self.v is None):
            raise invalid("both components of the wind, or none", "one", "give u and v, or remove it")

    def read(self, setting: Setting, *keys: str, wind: Wind = None) -> terms.WindSeaDrift:
        """Read the wind, or use that of the weather, `wind`; `ConfigError` without either."""
        wind = wind if self.u is None else self.series(setting, *keys)
        if wind is None:
            raise ConfigError(
                f"{setting.at(*keys)}: expected u and v, or a case with weather at 10 m, got "
                "neither; give the wind at 10 m."
            )
        return terms.WindSeaDrift(wind, **self.given())


class ProfiledDrift(Section):
    """Stokes drift over time and depth."""

    kind: Literal["profiles"]
    u: ProfileSection = key("eastward drift [m s-1]")
    v: ProfileSection = key("northward drift [m s-1]", Profile(surface=0.0))
    surface_u: TimedSection | None = key(
        "eastward drift at the surface [m s-1]; null for that of the cells", None
    )
    surface_v: TimedSection | None = key("northward drift at the surface [m s-1]; likewise", None)

    def _check(self) -> None:
        if (self.surface_u is None) != (self.surface_v is None):
            raise invalid("surface_u and surface_v, or none", "one", "give both")

    def read(self, setting: Setting, *keys: str, wind: Wind = None) -> terms.DriftProfiles:
        """The drift."""
        drift = {"u": "stokes_drift_u", "v": "stokes_drift_v"}
        profiles = read_together(self, terms.DriftVectors, "Stokes drift", setting, *keys, **drift)
        if self.surface_u is None:
            return terms.DriftProfiles(profiles)
        what = {"surface_u": "velocity", "surface_v": "velocity"}
        at_surface = lambda surface_u, surface_v: terms.DriftVector(surface_u, surface_v)  # noqa: E731
        surface = read_together(self, at_surface, "Stokes drift", setting, *keys, **what)
        return terms.DriftProfiles(profiles, surface)


StokesDriftSection = Annotated[ExponentialDrift | WindSea | ProfiledDrift, Field(discriminator="kind")]
"""The drift of surface waves."""


class SeagrassSection(section_of(terms.Seagrass)):
    """A canopy on the bottom: values at heights."""

    height: list[float] = key("above the bottom, to the top of the canopy [m]", min_length=2)
    excursion: list[float] = key("displacement at which leaves are taut, at these heights [m]")
    friction: list[float] = key("of taut leaves, at these heights [1]")

    def read(self, setting: Setting, *keys: str) -> terms.Seagrass:
        """The canopy."""
        with setting.naming(*keys):
            names = "height", "excursion", "friction"
            profiles = {name: jnp.asarray(getattr(self, name)) for name in names}
            return terms.Seagrass(**profiles, **self.given())


class InteriorSection(section_of(terms.Interior)):
    """Terms below the surface; all are off by default."""

    relaxation: RelaxationSection = key("relaxation towards profiles, by variable", RelaxationSection())
    pressure_gradient: PressureGradient | None = key(
        "pressure gradient of a sloping surface: tides, rivers", None
    )
    buoyancy_gradient: GradientSection | None = key("horizontal gradients of temperature and salinity", None)
    vertical_velocity: VerticalVelocitySection | None = key("velocity that advects all profiles", None)
    streams: dict[str, StreamSection] = key(
        "flows into and out of a lake, by a name of your choice", default_factory=dict
    )
    seagrass: SeagrassSection | None = key("canopy on the bottom", None)
    stokes_drift: StokesDriftSection | None = key("drift of surface waves", None)
    wave_height: TimedSection | None = key(
        "significant wave height, for Langmuir turbulence in KPP [m]", None
    )
    surface_elevation: TimedSection | None = key("height of the surface above its level at rest [m]", None)
    level: section_of(terms.LakeLevel) | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "of a lake, where it follows the water; null where it stays", None
    )
    held: list[Literal["temperature", "salinity"]] = key(
        "profiles that stay at their initial values, whatever the fluxes", default_factory=list
    )

    def _check(self) -> None:
        if self.level is not None and self.surface_elevation is not None:
            expected = "a level that follows the water, or a surface_elevation"
            raise invalid(expected, "both", "remove one of them")

    def read(self, setting: Setting, followed: Followed, wind: Wind, converted: Converted) -> terms.Interior:
        """Read all terms.

        Args:
            setting: grid, files and dates of the case.
            followed: function that returns the profiles to which a variable is relaxed.
            wind: wind of the weather at 10 m, for the drift of a wind sea.
            converted: function that converts temperature and salinity of streams.
        """

        def part(key: str, **needed: Wind) -> Any:  # built by the section of the key
            section = getattr(self, key)
            return None if section is None else section.read(setting, "interior", key, **needed)

        streams = {name: each.read(setting, name, converted) for name, each in self.streams.items()}
        elevation, level = self._moving_surface(setting)
        with setting.naming("interior"):
            return terms.Interior(
                relaxation=self.relaxation.read(setting, followed),
                pressure_gradient=part("pressure_gradient"),
                buoyancy_gradient=part("buoyancy_gradient"),
                vertical_velocity=part("vertical_velocity"),
                streams=terms.Streams(streams) if streams else None,
                stokes_drift=part("stokes_drift", wind=wind),
                wave_height=self._over_time("wave_height", "waves", setting),
                seagrass=part("seagrass"),
                surface_elevation=elevation,
                level=level,
                held=tuple(self.held),
                **self.given(),
            )

    def _over_time(self, name: str, title: str, setting: Setting) -> TimeSeries | None:
        """Read a height over time; `None` without the key."""
        section: TimedValue | None = getattr(self, name)
        if section is None:
            return None
        values = {name: section.read("height", setting, "interior", name)}
        return series_of(values, lambda **given: given[name], title, setting, "interior", name)

    def _moving_surface(self, setting: Setting) -> tuple[TimeSeries | None, terms.LakeLevel | None]:
        """Read the surface elevation of the sea, or the level of a lake, prescribed or computed."""
        elevation, basin = self._over_time("surface_elevation", "surface elevation", setting), setting.basin
        if self.level is not None and basin is None:
            expected = "a hypsography where the level of a lake moves, got none; give it to the case"
            raise ConfigError(f"{setting.at('interior', 'level')}: expected {expected}.")
        lowest, depth = 0.0 if elevation is None else float(np.min(elevation.values)), setting.grid.depth
        if lowest <= -float(depth):
            raise ConfigError(
                f"{setting.at('interior', 'surface_elevation')}: expected a surface above the bottom, "
                f"-{depth:g} m, got {lowest:g} m; check its unit and sign."
            )
        if basin is None or (elevation is None and self.level is None):
            return elevation, None
        with setting.naming("interior", "surface_elevation" if self.level is None else "level"):
            given = {} if self.level is None else self.level.given()
            return None, terms.LakeLevel(basin, prescribed=elevation, **given)
