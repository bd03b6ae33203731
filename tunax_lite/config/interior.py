"""Sections of a configuration file on what acts below the surface."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..terms import (
    BuoyancyGradient,
    Interior,
    PlumeOnSlope,
    RelaxationTarget,
    StokesDrift,
    VerticalVelocity,
    WindSeaDrift,
)
from .builder import Section, invalid, section_of
from .profiles import Profile, ProfileSection
from .series import Paths, TimedSection, TimedValue

TimeScale = Annotated[float, Field(gt=0.0, description="time scale [s]")]
Thickness = Annotated[float, Field(ge=0.0, le=12000.0, description="thickness of the layer [m]")]


_Fading: Any = section_of(RelaxationTarget, only=("fading_period",), partial=True)


class RelaxationRates(Section):
    """How fast the column follows what was observed, with layers of their own at both ends."""

    time_scale: TimeScale | None = Field(
        default=None, description="time scale within the column [s]; null for none"
    )
    surface_height: Thickness = Field(default=0.0, description="thickness of the layer at the surface [m]")
    surface_time_scale: TimeScale | None = Field(default=None, description="time scale there [s]")
    bottom_height: Thickness = Field(default=0.0, description="thickness of the layer at the bottom [m]")
    bottom_time_scale: TimeScale | None = Field(default=None, description="time scale there [s]")

    @model_validator(mode="after")
    def _check_layers(self) -> "RelaxationRates":
        for layer in ("surface", "bottom"):
            height, scale = getattr(self, f"{layer}_height"), getattr(self, f"{layer}_time_scale")
            if (height > 0.0) != (scale is not None):
                raise invalid(
                    f"{layer}_height above 0 together with {layer}_time_scale", "one of them", "give both"
                )
        if self.time_scale is self.surface_time_scale is self.bottom_time_scale is None:
            raise invalid("a time scale [s]", "none", "give time_scale, or that of a layer")
        return self


Target = Annotated[
    ProfileSection | Literal["case"] | None,
    Field(
        description="what to relax to: null for the observations, case for the profile that the case starts "
        "from, over the times of its file"
    ),
]


class TracerRelaxation(RelaxationRates):
    profile: Target = None
    lag: float = Field(default=0.0, ge=0.0, description="of what it relaxes to [s], one step in GOTM")


class VelocityRelaxation(RelaxationRates, _Fading):
    u: Target = None
    v: Target = None


class RelaxationSection(Section):
    """Relaxation towards observed or given profiles."""

    temperature: TracerRelaxation | None = Field(default=None, description="of temperature")
    salinity: TracerRelaxation | None = Field(default=None, description="of salinity")
    velocity: VelocityRelaxation | None = Field(default=None, description="of u and v")


class PlaneGradient(Section):
    """A slope of the surface, or the depth-mean current that it keeps up."""

    kind: Literal["surface_slope", "mean_velocity"]
    x: TimedSection = Field(
        default=TimedValue(constant=0.0), description="eastward slope [1] or current [m s-1]"
    )
    y: TimedSection = Field(
        default=TimedValue(constant=0.0), description="northward slope [1] or current [m s-1]"
    )


class MeteredGradient(Section):
    """The slope that keeps up the current of a meter."""

    kind: Literal["velocity_at_height"]
    x: TimedSection = Field(default=TimedValue(constant=0.0), description="eastward current [m s-1]")
    y: TimedSection = Field(default=TimedValue(constant=0.0), description="northward current [m s-1]")
    height: TimedSection = Field(description="height of the meter above the bottom [m]")


_NO_GRADIENT = Profile(surface=0.0)


_Advected: Any = section_of(BuoyancyGradient, only=("advect_temperature", "advect_salinity"), partial=True)


class GradientSection(_Advected):
    """Horizontal gradients of temperature and salinity that do not change in time."""

    kind: Literal["gradients"]
    temperature_x: ProfileSection = Field(default=_NO_GRADIENT, description="to the east [K m-1]")
    temperature_y: ProfileSection = Field(default=_NO_GRADIENT, description="to the north [K m-1]")
    salinity_x: ProfileSection = Field(default=_NO_GRADIENT, description="to the east [g kg-1 m-1]")
    salinity_y: ProfileSection = Field(default=_NO_GRADIENT, description="to the north [g kg-1 m-1]")

    @model_validator(mode="after")
    def _check_sizes(self) -> "GradientSection":
        for name in ("temperature_x", "temperature_y", "salinity_x", "salinity_y"):
            profile = getattr(self, name)
            for value in (profile.surface or 0.0, *(profile.values or ())):
                if abs(value) > 0.1:
                    raise invalid(
                        f"{name} from -0.1 to 0.1, per metre", f"{value:g}", "give it per metre, not per km"
                    )
        return self


PlumeSection: Any = section_of(PlumeOnSlope, "kind", "plume")
_Advection: Any = section_of(VerticalVelocity, only=("scheme",), partial=True)
_WindSea: Any = section_of(WindSeaDrift, only=("gravity",), partial=True)
_Decay: Any = section_of(StokesDrift, only=("decay_depth",), partial=True)


class VerticalVelocitySection(_Advection):
    n_substeps: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=1, description="steps of advection in a time step; null for as many as the velocity needs"
    )
    velocity: TimedSection = Field(description="extreme of the vertical velocity, positive upward [m s-1]")
    height: TimedSection = Field(description="height at which it is reached, negative [m]")


class ExponentialDrift(_Decay):
    """A drift that decays exponentially with depth."""

    kind: Literal["exponential"]
    u: TimedSection = Field(default=TimedValue(constant=0.0), description="eastward, at the surface [m s-1]")
    v: TimedSection = Field(default=TimedValue(constant=0.0), description="northward, at the surface [m s-1]")


class WindSea(_WindSea):
    """The drift of a sea in equilibrium with the wind."""

    kind: Literal["wind_sea"]
    u: TimedSection | None = Field(
        default=None, description="eastward wind at 10 m [m s-1]; null for that of the weather"
    )
    v: TimedSection | None = Field(default=None, description="northward wind at 10 m [m s-1]; likewise")

    @model_validator(mode="after")
    def _check_components(self) -> "WindSea":
        if (self.u is None) != (self.v is None):
            raise invalid("both components of the wind, or none", "one", "give u and v, or remove it")
        return self


class ProfiledDrift(Section):
    """The drift over time and depth: of a CF NetCDF file, or of profiles."""

    kind: Literal["profiles"]
    paths: Paths | None = None
    u: Annotated[str, Field(min_length=1)] | ProfileSection = Field(
        description="eastward drift: its name in the file, or a profile [m s-1]"
    )
    v: Annotated[str, Field(min_length=1)] | ProfileSection | None = Field(
        default=None, description="northward drift, likewise; null for no such component"
    )
    units: dict[Literal["u", "v", "time", "z"], str] = Field(
        default_factory=dict, description="units, instead of those in the file"
    )
    longest_gap: float = Field(default=86400.0, gt=0.0, description="longest time that is bridged [s]")

    @model_validator(mode="after")
    def _check_combination(self) -> "ProfiledDrift":
        if any(
            isinstance(each, str) == (self.paths is None) for each in (self.u, self.v) if each is not None
        ):
            raise invalid("names of u and v with `paths`, or profiles without", "a mixture", "correct it")
        return self


StokesDriftSection = Annotated[ExponentialDrift | WindSea | ProfiledDrift, Field(discriminator="kind")]
"""The drift of surface waves."""


_Parts: Any = section_of(Interior, only=("bottom_friction", "freezing_bound", "held"), partial=True)


class InteriorSection(_Parts):
    """What acts on the water besides the fluxes through the surface; each part is absent by default."""

    relaxation: RelaxationSection = Field(
        default=RelaxationSection(), description="towards profiles, by variable"
    )
    pressure_gradient: Annotated[PlaneGradient | MeteredGradient, Field(discriminator="kind")] | None = Field(
        default=None, description="of the surface: tides, the slope of a river"
    )
    buoyancy_gradient: Annotated[GradientSection | PlumeSection, Field(discriminator="kind")] | None = Field(  # pyright: ignore[reportInvalidTypeForm]
        default=None, description="horizontal gradients of temperature and salinity, or a plume"
    )
    vertical_velocity: VerticalVelocitySection | None = Field(
        default=None, description="that carries all profiles up or down"
    )
    stokes_drift: StokesDriftSection | None = Field(default=None, description="drift of surface waves")
    surface_elevation: TimedSection | None = Field(
        default=None, description="height of the surface above its level at rest [m]"
    )
    held: list[Literal["temperature", "salinity"]] = Field(
        default_factory=list, description="what stays as it is at the start, whatever the fluxes"
    )

    @model_validator(mode="after")
    def _check_held(self) -> "InteriorSection":
        for name in self.held:
            if getattr(self.relaxation, name) is not None:
                raise invalid(f"no relaxation.{name} of what is held", "both", "remove one of them")
        return self
