"""Sections of a configuration file on what acts below the surface."""

from typing import Annotated, Any, Literal

from pydantic import Field

from ..terms import (
    BuoyancyGradient,
    Interior,
    PlumeOnSlope,
    RelaxationTarget,
    StokesDrift,
    VerticalVelocity,
    WindSeaDrift,
)
from .builder import Section, invalid, key, part_of, section_of
from .profiles import Profile, ProfileSection
from .series import Paths, TimedSection, TimedValue

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


class VelocityRelaxation(RelaxationRates, part_of(RelaxationTarget, "fading_period")):
    u: Target = None
    v: Target = None


class RelaxationSection(Section):
    """Relaxation towards observed or given profiles."""

    temperature: TracerRelaxation | None = key("of temperature", None)
    salinity: TracerRelaxation | None = key("of salinity", None)
    velocity: VelocityRelaxation | None = key("of u and v", None)


class PlaneGradient(Section):
    """A slope of the surface, or the depth-mean current that it keeps up."""

    kind: Literal["surface_slope", "mean_velocity"]
    x: TimedSection = key("eastward slope [1] or current [m s-1]", TimedValue(constant=0.0))
    y: TimedSection = key("northward slope [1] or current [m s-1]", TimedValue(constant=0.0))


class MeteredGradient(Section):
    """The slope that keeps up the current of a meter."""

    kind: Literal["velocity_at_height"]
    x: TimedSection = key("eastward current [m s-1]", TimedValue(constant=0.0))
    y: TimedSection = key("northward current [m s-1]", TimedValue(constant=0.0))
    height: TimedSection = key("height of the meter above the bottom [m]")


_NO_GRADIENT = Profile(surface=0.0)


class GradientSection(part_of(BuoyancyGradient, "advect_temperature advect_salinity")):
    """Horizontal gradients of temperature and salinity that do not change in time."""

    kind: Literal["gradients"]
    temperature_x: ProfileSection = key("to the east [K m-1]", _NO_GRADIENT)
    temperature_y: ProfileSection = key("to the north [K m-1]", _NO_GRADIENT)
    salinity_x: ProfileSection = key("to the east [g kg-1 m-1]", _NO_GRADIENT)
    salinity_y: ProfileSection = key("to the north [g kg-1 m-1]", _NO_GRADIENT)

    def _check(self) -> None:
        for name in ("temperature_x", "temperature_y", "salinity_x", "salinity_y"):
            profile = getattr(self, name)
            for value in (profile.surface or 0.0, *(profile.values or ())):
                if abs(value) > 0.1:
                    raise invalid(
                        f"{name} from -0.1 to 0.1, per metre", f"{value:g}", "give it per metre, not per km"
                    )


PlumeSection: Any = section_of(PlumeOnSlope, "kind", "plume")


class VerticalVelocitySection(part_of(VerticalVelocity, "scheme")):
    n_substeps: Annotated[int, Field(ge=1, le=10_000)] | None = key(
        "steps of advection in a time step; null for as many as the velocity needs", 1
    )
    velocity: TimedSection = key("extreme of the vertical velocity, positive upward [m s-1]")
    height: TimedSection = key("height at which it is reached, negative [m]")


class ExponentialDrift(part_of(StokesDrift, "decay_depth")):
    """A drift that decays exponentially with depth."""

    kind: Literal["exponential"]
    u: TimedSection = key("eastward, at the surface [m s-1]", TimedValue(constant=0.0))
    v: TimedSection = key("northward, at the surface [m s-1]", TimedValue(constant=0.0))


class WindSea(part_of(WindSeaDrift, "gravity")):
    """The drift of a sea in equilibrium with the wind."""

    kind: Literal["wind_sea"]
    u: TimedSection | None = key("eastward wind at 10 m [m s-1]; null for that of the weather", None)
    v: TimedSection | None = key("northward wind at 10 m [m s-1]; likewise", None)

    def _check(self) -> None:
        if (self.u is None) != (self.v is None):
            raise invalid("both components of the wind, or none", "one", "give u and v, or remove it")


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
        if any(
            isinstance(each, str) == (self.paths is None) for each in (self.u, self.v) if each is not None
        ):
            raise invalid("names of u and v with `paths`, or profiles without", "a mixture", "correct it")


StokesDriftSection = Annotated[ExponentialDrift | WindSea | ProfiledDrift, Field(discriminator="kind")]
"""The drift of surface waves."""


class InteriorSection(part_of(Interior, "bottom_friction freezing_bound held")):
    """What acts on the water besides the fluxes through the surface; each part is absent by default."""

    relaxation: RelaxationSection = key("towards profiles, by variable", RelaxationSection())
    pressure_gradient: Annotated[PlaneGradient | MeteredGradient, Field(discriminator="kind")] | None = key(
        "of the surface: tides, the slope of a river", None
    )
    buoyancy_gradient: Annotated[GradientSection | PlumeSection, Field(discriminator="kind")] | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "horizontal gradients of temperature and salinity, or a plume", None
    )
    vertical_velocity: VerticalVelocitySection | None = key("that carries all profiles up or down", None)
    stokes_drift: StokesDriftSection | None = key("drift of surface waves", None)
    surface_elevation: TimedSection | None = key("height of the surface above its level at rest [m]", None)
    held: list[Literal["temperature", "salinity"]] = key(
        "what stays as it is at the start, whatever the fluxes", default_factory=list
    )

    def _check(self) -> None:
        for name in self.held:
            if getattr(self.relaxation, name) is not None:
                raise invalid(f"no relaxation.{name} of what is held", "both", "remove one of them")
