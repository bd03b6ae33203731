"""What acts below the surface: sections of a configuration file, and what each makes with `read`."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import jax.numpy as jnp
import numpy as np
from pydantic import Field

from .. import io, terms
from ..io.series import Series, on_common_times, profiles_on_grid
from ..io.yaml_file import ConfigError
from ..time_series import TimeSeries
from .builder import Made, Section, invalid, key, part_of, section_of
from .lakes import Converted, StreamSection
from .profiles import Profile, ProfileSection, profile_series, values_of
from .series import Paths, Setting, TimedSection, TimedValue, read_together

ProfilesOf = Callable[[str], Series]
"""Profiles of a variable on the cells of the grid over the time of the case."""
Wind = TimeSeries[terms.WindVector] | None
"""At 10 m; of a case without weather there is none."""


def _read(section: Any, kind: Any, title: str, setting: Setting, key: str, **quantities: str) -> TimeSeries:
    """Series of a part of the interior as one of a class."""
    return read_together(section, kind, title, setting, "interior", key, **quantities)


def _read_profiles(
    kind: Any, title: str, setting: Setting, key: str, profiles: Mapping[str, tuple[Profile, str]]
) -> TimeSeries:
    """Profiles of a part of the interior, given with what they are, as one series of a class."""
    series = {
        name: profile_series(profile, quantity, setting, "interior", key, name)
        for name, (profile, quantity) in profiles.items()
    }
    return _together(kind, title, setting, key, series)


def _together(kind: Any, title: str, setting: Setting, key: str, series: Mapping[str, Series]) -> TimeSeries:
    with setting.naming("interior", key):
        time, values = on_common_times(series, setting.duration)
    arrays = {name: jnp.asarray(value) for name, value in values.items()}
    return TimeSeries(jnp.asarray(time), kind(**arrays), title)


TimeScale = Annotated[float, key("time scale [s]", gt=0.0)]
Thickness = Annotated[float, key("thickness of the layer [m]", ge=0.0, le=12000.0)]


class RelaxationRates(Section):
    """How fast the column follows what was observed, with layers of their own at both ends."""

    time_scale: TimeScale | None = key("time scale within the column [s]; null for none", None)
    surface_height: Thickness = key("thickness of the layer at the surface [m]", 0.0)
    surface_time_scale: TimeScale | None = key("time scale there [s]", None)
    bottom_height: Thickness = key("thickness of the layer at the bottom [m]", 0.0)
    bottom_time_scale: TimeScale | None = key("time scale there [s]", None)

    def _check(self) -> None:
        for layer in ("surface", "bottom"):
            height, scale = getattr(self, f"{layer}_height"), getattr(self, f"{layer}_time_scale")
            if (height > 0.0) != (scale is not None):
                raise invalid(
                    f"{layer}_height above 0 together with {layer}_time_scale", "one of them", "give both"
                )
        if self.time_scale is self.surface_time_scale is self.bottom_time_scale is None:
            raise invalid("a time scale [s]", "none", "give time_scale, or that of a layer")

    def target(self, name: str, setting: Setting, key: str, sources: Mapping[str, ProfilesOf]) -> Any:
        """What a variable follows, and how fast."""
        profile = getattr(self, name if key == "velocity" else "profile")
        if profile is None and "observations" not in sources:
            raise ConfigError(
                f"{setting.at('interior', 'relaxation', key)}: expected a profile of {name}, or observations "
                "in the case, got neither; add one of them."
            )
        if isinstance(profile, Profile) and profile.column is None:
            values = values_of(profile)(setting.grid.z_center)
            series = TimeSeries.constant(values, f"relaxation of {name}")
        else:
            with setting.naming("interior", "relaxation", key):
                if isinstance(profile, Profile):
                    found = profile_series(profile, name, setting, "interior", "relaxation", key)
                else:
                    found = sources[profile or "observations"](name)
            if isinstance(self, TracerRelaxation) and self.lag:
                found = found.lagged(self.lag, from_zero=self.from_zero)
            series = TimeSeries(jnp.asarray(found.time), jnp.asarray(found.values), f"observed {name}")
        layers = {key: getattr(self, key) for key in RelaxationRates.model_fields if key != "time_scale"}
        rate = terms.layered_rate(
            setting.grid, np.inf if self.time_scale is None else self.time_scale, **layers
        )
        return terms.RelaxationTarget(series, rate, **(self.given() if isinstance(self, Made) else {}))


Target = Annotated[
    ProfileSection | Literal["case"] | None,
    key(
        "what to relax to: null for the observations, case for the profile that the case starts "
        "from, over the times of its file"
    ),
]


class TracerRelaxation(RelaxationRates):
    profile: Target = None
    lag: float = key("of what it relaxes to [s], one step in GOTM", 0.0, ge=0.0)
    from_zero: bool = key("whether it relaxes to zero until the lag has passed, as GOTM does", False)


class VelocityRelaxation(RelaxationRates, part_of(terms.RelaxationTarget, "fading_period")):
    u: Target = None
    v: Target = None


class RelaxationSection(Section):
    """Relaxation towards observed or given profiles."""

    temperature: TracerRelaxation | None = key("of temperature", None)
    salinity: TracerRelaxation | None = key("of salinity", None)
    velocity: VelocityRelaxation | None = key("of u and v", None)

    def read(self, setting: Setting, sources: Mapping[str, ProfilesOf]) -> terms.Relaxation | None:
        """Targets of what is relaxed."""
        keys = {"temperature": "temperature", "salinity": "salinity", "u": "velocity", "v": "velocity"}
        targets = {
            name: getattr(self, key).target(name, setting, key, sources)
            for name, key in keys.items()
            if getattr(self, key) is not None
        }
        return terms.Relaxation(**targets) if targets else None


class PlaneGradient(Section):
    """A slope of the surface, or the depth-mean current that it keeps up."""

    kind: Literal["surface_slope", "mean_velocity"]
    x: TimedSection = key("eastward slope [1] or current [m s-1]", TimedValue(constant=0.0))
    y: TimedSection = key("northward slope [1] or current [m s-1]", TimedValue(constant=0.0))

    def read(self, setting: Setting) -> terms.AbstractPressureGradient:
        """The pressure gradient."""
        is_slope = self.kind == "surface_slope"
        what = "slope" if is_slope else "velocity"
        found = _read(self, terms.Vector, "pressure gradient", setting, "pressure_gradient", x=what, y=what)
        return terms.SurfaceSlope(found) if is_slope else terms.MeanVelocity(found)


class MeteredGradient(Section):
    """The slope that keeps up the current of a meter."""

    kind: Literal["velocity_at_height"]
    x: TimedSection = key("eastward current [m s-1]", TimedValue(constant=0.0))
    y: TimedSection = key("northward current [m s-1]", TimedValue(constant=0.0))
    height: TimedSection = key("height of the meter above the bottom [m]")

    def read(self, setting: Setting) -> terms.AbstractPressureGradient:
        """The pressure gradient."""
        quantities = {"x": "velocity", "y": "velocity", "height": "height"}
        kind, key = terms.VelocityAndHeight, "pressure_gradient"
        return terms.VelocityAtHeight(_read(self, kind, "current", setting, key, **quantities))


_NO_GRADIENT = Profile(surface=0.0)
_GRADIENTS = ("temperature_x", "temperature_y", "salinity_x", "salinity_y")


class GradientSection(part_of(terms.BuoyancyGradient, "advect_temperature advect_salinity accelerates")):
    """Horizontal gradients of temperature and salinity that do not change in time."""

    kind: Literal["gradients"]
    temperature_x: ProfileSection = key("to the east [K m-1]", _NO_GRADIENT)
    temperature_y: ProfileSection = key("to the north [K m-1]", _NO_GRADIENT)
    salinity_x: ProfileSection = key("to the east [g kg-1 m-1]", _NO_GRADIENT)
    salinity_y: ProfileSection = key("to the north [g kg-1 m-1]", _NO_GRADIENT)

    def _check(self) -> None:
        for name in _GRADIENTS:
            profile = getattr(self, name)
            for value in (profile.surface or 0.0, *(profile.values or ())):
                if abs(value) > 0.1:
                    raise invalid(
                        f"{name} from -0.1 to 0.1, per metre", f"{value:g}", "give it per metre, not per km"
                    )

    def read(self, setting: Setting) -> terms.BuoyancyGradient:
        """The gradients over time and depth."""
        profiles = {name: (getattr(self, name), f"{name[:-2]}_gradient") for name in _GRADIENTS}
        kind, title = terms.HorizontalGradient, "horizontal gradients"
        series = _read_profiles(kind, title, setting, "buoyancy_gradient", profiles)
        return terms.BuoyancyGradient(series, **self.given())


PlumeSection: Any = section_of(terms.PlumeOnSlope, "kind", "plume")


class VerticalVelocitySection(part_of(terms.VerticalVelocity, "scheme")):
    n_substeps: Annotated[int, Field(ge=1, le=10_000)] | None = key(
        "steps of advection in a time step; null for as many as the velocity needs", 1
    )
    velocity: TimedSection = key("extreme of the vertical velocity, positive upward [m s-1]")
    height: TimedSection = key("height at which it is reached, negative [m]")

    def read(self, setting: Setting) -> terms.VerticalVelocity:
        """The velocity, in as many steps as it needs."""
        quantities = {"velocity": "vertical_velocity", "height": "height"}
        kind, key = terms.VelocityAndLevel, "vertical_velocity"
        series = _read(self, kind, "vertical velocity", setting, key, **quantities)
        highest = float(np.max(series.values.height))
        if highest > 0.0:
            raise ConfigError(
                f"{setting.at('interior', key, 'height')}: expected a negative height [m], below the "
                f"surface, got {highest:g}; change its sign."
            )
        n_substeps = self.n_substeps
        if n_substeps is None:
            assert setting.step is not None  # where a case is built for a run
            fastest = float(np.max(np.abs(np.asarray(series.values.velocity))))
            spacing = float(np.min(np.diff(np.asarray(setting.grid.z_center))))
            n_substeps = max(1, int(np.ceil(fastest * setting.step / spacing)))
        return terms.VerticalVelocity(series, n_substeps=n_substeps, **self.given())


class SeagrassSection(part_of(terms.Seagrass, "efficiency")):
    """A canopy on the bottom: numbers at heights."""

    height: list[float] = key("above the bottom, to the top of the canopy [m]", min_length=2)
    excursion: list[float] = key("displacement at which leaves are taut, at these heights [m]")
    friction: list[float] = key("of taut leaves, at these heights [1]")

    def read(self, setting: Setting) -> terms.Seagrass:
        """The canopy."""
        with setting.naming("interior", "seagrass"):
            profiles = {key: jnp.asarray(getattr(self, key)) for key in ("height", "excursion", "friction")}
            return terms.Seagrass(**profiles, **self.given())


class ExponentialDrift(part_of(terms.StokesDrift, "decay_depth")):
    """A drift that decays exponentially with depth."""

    kind: Literal["exponential"]
    u: TimedSection = key("eastward, at the surface [m s-1]", TimedValue(constant=0.0))
    v: TimedSection = key("northward, at the surface [m s-1]", TimedValue(constant=0.0))

    def read(self, setting: Setting, wind: Wind) -> terms.StokesDrift:
        """The drift."""
        what = {"u": "velocity", "v": "velocity"}
        series = _read(self, terms.DriftVector, "Stokes drift", setting, "stokes_drift", **what)
        return terms.StokesDrift(series, **self.given())


class WindSea(part_of(terms.WindSeaDrift, "gravity")):
    """The drift of a sea in equilibrium with the wind."""

    kind: Literal["wind_sea"]
    u: TimedSection | None = key("eastward wind at 10 m [m s-1]; null for that of the weather", None)
    v: TimedSection | None = key("northward wind at 10 m [m s-1]; likewise", None)

    def _check(self) -> None:
        if (self.u is None) != (self.v is None):
            raise invalid("both components of the wind, or none", "one", "give u and v, or remove it")

    def read(self, setting: Setting, wind: Wind) -> terms.WindSeaDrift:
        """The drift, of the wind that is given or of that of the weather."""
        if self.u is not None:
            what = {"u": "wind_u", "v": "wind_v"}
            wind = _read(self, terms.WindVector, "wind of the waves", setting, "stokes_drift", **what)
        if wind is None:
            raise ConfigError(
                f"{setting.at('interior', 'stokes_drift')}: expected u and v, or a case with weather at "
                "10 m, got neither; give the wind at 10 m."
            )
        return terms.WindSeaDrift(wind, **self.given())


class ProfiledDrift(Section):
    """The drift over time and depth: of a CF NetCDF file, or of profiles."""

    kind: Literal["profiles"]
    paths: Paths | None = None
    u: Annotated[str, Field(min_length=1)] | ProfileSection = key(
        "eastward drift: its name in the file, or a profile [m s-1]"
    )
    v: Annotated[str, Field(min_length=1)] | ProfileSection | None = key(
        "northward drift, likewise; null for no such component", None
    )
    units: dict[Literal["u", "v", "time", "z"], str] = key(
        "units, instead of those in the file", default_factory=dict
    )
    longest_gap: float = key("longest time that is bridged [s]", 86400.0, gt=0.0)

    def _check(self) -> None:
        if any(isinstance(each, str) == (self.paths is None) for each in self._components.values()):
            raise invalid("names of u and v with `paths`, or profiles without", "a mixture", "correct it")

    @property
    def _components(self) -> dict[str, Any]:
        return {name: each for name, each in (("u", self.u), ("v", self.v)) if each is not None}

    def read(self, setting: Setting, wind: Wind) -> terms.DriftProfiles:
        """The drift; a component that is not named is zero."""

        def drift(u: Any, v: Any = None) -> terms.DriftVectors:
            return terms.DriftVectors(u, jnp.zeros_like(u) if v is None else v)

        told = drift, "Stokes drift", setting, "stokes_drift"
        if self.paths is None:
            profiles = {name: (each, f"stokes_drift_{name}") for name, each in self._components.items()}
            return terms.DriftProfiles(_read_profiles(*told, profiles))
        keys = "interior", "stokes_drift"
        start_time, z = setting.required_start(*keys), np.asarray(setting.grid.z_center)
        paths = [setting.file(path, *keys, "paths") for path in self.paths]
        with setting.naming(*keys):
            read = io.read_oceansites(
                paths,
                start_time=start_time,
                variables=self._components,
                units={str(name): unit for name, unit in self.units.items()},
                name="Stokes drift",
            )
            options = {"longest_gap": self.longest_gap, "duration": setting.duration}
            series = {name: profiles_on_grid(read, name, z, **options) for name in self._components}
        return terms.DriftProfiles(_together(*told, series))


StokesDriftSection = Annotated[ExponentialDrift | WindSea | ProfiledDrift, Field(discriminator="kind")]
"""The drift of surface waves."""


class InteriorSection(part_of(terms.Interior, "bottom_friction lid_friction held")):
    """What acts on the water besides the fluxes through the surface; each part is absent by default."""

    relaxation: RelaxationSection = key("towards profiles, by variable", RelaxationSection())
    pressure_gradient: Annotated[PlaneGradient | MeteredGradient, Field(discriminator="kind")] | None = key(
        "of the surface: tides, the slope of a river", None
    )
    buoyancy_gradient: Annotated[GradientSection | PlumeSection, Field(discriminator="kind")] | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "horizontal gradients of temperature and salinity, or a plume", None
    )
    vertical_velocity: VerticalVelocitySection | None = key("that carries all profiles up or down", None)
    streams: dict[str, StreamSection] = key(
        "into a lake and out of it, by a name of your choice", default_factory=dict
    )
    seagrass: SeagrassSection | None = key("canopy on the bottom", None)
    stokes_drift: StokesDriftSection | None = key("drift of surface waves", None)
    surface_elevation: TimedSection | None = key("height of the surface above its level at rest [m]", None)
    held: list[Literal["temperature", "salinity"]] = key(
        "what stays as it is at the start, whatever the fluxes", default_factory=list
    )

    def _check(self) -> None:
        for name in self.held:
            if getattr(self.relaxation, name) is not None:
                raise invalid(f"no relaxation.{name} of what is held", "both", "remove one of them")

    def read(
        self, setting: Setting, sources: Mapping[str, ProfilesOf], wind: Wind, converted: Converted
    ) -> terms.Interior:
        """What acts below the surface.

        Args:
            setting: of the case.
            sources: profiles to relax to: those of the `observations`, if there are any, and of the `case`.
            wind: which waves may follow.
            converted: temperatures and salinities of streams.
        """

        def part(section: Any, *needed: Any) -> Any:
            return None if section is None else section.read(setting, *needed)

        streams = {name: each.read(setting, name, converted) for name, each in self.streams.items()}
        elevation, gradient = None, self.buoyancy_gradient
        if self.surface_elevation is not None:
            whole = lambda surface_elevation: surface_elevation  # noqa: E731
            what = {"surface_elevation": "height"}
            elevation = read_together(self, whole, "surface elevation", setting, "interior", **what)
            lowest, depth = float(np.min(elevation.values)), float(setting.grid.depth)
            if lowest <= -depth:
                raise ConfigError(
                    f"{setting.at('interior', 'surface_elevation')}: expected a surface above the bottom, "
                    f"-{depth:g} m, got {lowest:g} m; check its unit and sign."
                )
        with setting.naming("interior"):
            return terms.Interior(
                relaxation=self.relaxation.read(setting, sources),
                pressure_gradient=part(self.pressure_gradient),
                buoyancy_gradient=part(gradient)
                if isinstance(gradient, GradientSection | None)
                else gradient.build(),
                vertical_velocity=part(self.vertical_velocity),
                streams=terms.Streams(streams) if streams else None,
                stokes_drift=part(self.stokes_drift, wind),
                seagrass=part(self.seagrass),
                surface_elevation=elevation,
                **self.given(),
            )
