"""From checked configurations to what acts below the surface."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import io
from ..grid import Grid
from ..io.series import Series, on_common_times, profiles_on_grid
from ..io.yaml_file import ConfigError, naming
from ..terms import (
    AbstractPressureGradient,
    AbstractStokesDrift,
    BuoyancyGradient,
    DriftProfiles,
    DriftVector,
    DriftVectors,
    HorizontalGradient,
    Interior,
    MeanVelocity,
    PlumeOnSlope,
    Relaxation,
    RelaxationTarget,
    StokesDrift,
    SurfaceSlope,
    Vector,
    VelocityAndHeight,
    VelocityAndLevel,
    VelocityAtHeight,
    VerticalVelocity,
    WindSeaDrift,
    WindVector,
    layered_rate,
)
from ..time_series import TimeSeries
from .interior import (
    ExponentialDrift,
    InteriorSection,
    MeteredGradient,
    ProfiledDrift,
    RelaxationRates,
    RelaxationSection,
    VerticalVelocitySection,
    WindSea,
)
from .profiles import Profile, values_of
from .series import Setting, read_common

Observed = Callable[[str], Series]
"""Observed profiles of a variable on the cells of the grid over the time of the case."""


def build_interior(
    section: InteriorSection,
    grid: Grid,
    setting: Setting,
    observed: Observed | None = None,
    wind: TimeSeries[WindVector] | None = None,
) -> Interior:
    """What acts below the surface.

    Args:
        section: of the configuration.
        grid: of the case.
        setting: of the case.
        observed: profiles to relax to; `None` for a case without observations.
        wind: at 10 m, which waves may follow; `None` for a case without weather.

    Raises:
        ConfigError: values that do not fit each other.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    elevation = None
    if section.surface_elevation is not None:
        time, values = read_common(
            {"height": (section.surface_elevation, "height")}, setting, "interior", "surface_elevation"
        )
        lowest, depth = float(np.min(values["height"])), float(grid.depth)
        if lowest <= -depth:
            raise ConfigError(
                f"{setting.at('interior', 'surface_elevation')}: expected a surface above the bottom, "
                f"-{depth:g} m, got {lowest:g} m; check its unit and sign."
            )
        elevation = TimeSeries(time, values["height"], "surface elevation")
    friction, drift = section.bottom_friction, section.stokes_drift
    return Interior(
        relaxation=_relaxation(section.relaxation, grid, setting, observed),
        pressure_gradient=_pressure_gradient(section.pressure_gradient, setting),
        buoyancy_gradient=_buoyancy_gradient(section.buoyancy_gradient, grid),
        vertical_velocity=_vertical_velocity(section.vertical_velocity, setting),
        bottom_friction=None if friction is None else friction.build(),
        stokes_drift=None if drift is None else build_stokes_drift(drift, grid, setting, wind),
        surface_elevation=elevation,
        held=tuple(section.held),
    )


def _relaxation(
    section: RelaxationSection, grid: Grid, setting: Setting, observed: Observed | None
) -> Relaxation | None:
    def target(name: str, rates: RelaxationRates, profile: Profile | None, key: str) -> RelaxationTarget:
        if profile is not None:
            series = TimeSeries.constant(values_of(profile)(grid.z_center), f"relaxation of {name}")
        elif observed is None:
            raise ConfigError(
                f"{setting.at('interior', 'relaxation', key)}: expected a profile of {name}, or observations "
                "in the case, got neither; add one of them."
            )
        else:
            with naming(setting.source, ".".join((setting.key, "interior", "relaxation", key))):
                found = observed(name)
            series = TimeSeries(jnp.asarray(found.time), jnp.asarray(found.values), f"observed {name}")
        layers = rates.model_dump(exclude={"profile", "u", "v", "time_scale"})
        inside = np.inf if rates.time_scale is None else rates.time_scale
        return RelaxationTarget(series, layered_rate(grid, inside, **layers))

    targets = {}
    for name in ("temperature", "salinity"):
        rates = getattr(section, name)
        if rates is not None:
            targets[name] = target(name, rates, rates.profile, name)
    if section.velocity is not None:
        for name in ("u", "v"):
            targets[name] = target(name, section.velocity, getattr(section.velocity, name), "velocity")
    return Relaxation(**targets) if targets else None


def _pressure_gradient(section: Any, setting: Setting) -> AbstractPressureGradient | None:
    if section is None:
        return None
    quantity = "slope" if section.kind == "surface_slope" else "velocity"
    parts = {"x": (section.x, quantity), "y": (section.y, quantity)}
    if isinstance(section, MeteredGradient):
        parts["height"] = (section.height, "height")
        time, values = read_common(parts, setting, "interior", "pressure_gradient")
        return VelocityAtHeight(TimeSeries(time, VelocityAndHeight(**values), "current"))
    time, values = read_common(parts, setting, "interior", "pressure_gradient")
    series = TimeSeries(time, Vector(**values), "pressure gradient")
    return SurfaceSlope(series) if quantity == "slope" else MeanVelocity(series)


def _buoyancy_gradient(section: Any, grid: Grid) -> BuoyancyGradient | PlumeOnSlope | None:
    if section is None:
        return None
    if section.kind == "plume":
        return section.build()
    names = ("temperature_x", "temperature_y", "salinity_x", "salinity_y")
    values = {name: values_of(getattr(section, name))(grid.z_center) for name in names}
    return BuoyancyGradient(
        TimeSeries.constant(HorizontalGradient(**values), "horizontal gradients"),
        **section.given(),
    )


def _vertical_velocity(section: VerticalVelocitySection | None, setting: Setting) -> VerticalVelocity | None:
    if section is None:
        return None
    parts = {"velocity": (section.velocity, "vertical_velocity"), "height": (section.height, "height")}
    time, values = read_common(parts, setting, "interior", "vertical_velocity")
    if float(np.max(values["height"])) >= 0.0:
        raise ConfigError(
            f"{setting.at('interior', 'vertical_velocity', 'height')}: expected a negative height [m], below "
            f"the surface, got {float(np.max(values['height'])):g}; change its sign."
        )
    return VerticalVelocity(
        TimeSeries(time, VelocityAndLevel(**values), "vertical velocity"),
        **section.given(),
    )


def build_stokes_drift(
    section: ExponentialDrift | WindSea | ProfiledDrift,
    grid: Grid,
    setting: Setting,
    wind: TimeSeries[WindVector] | None,
) -> AbstractStokesDrift:
    """The drift on the cells of a grid.

    Args:
        section: of the configuration.
        grid: of the case.
        setting: of the case.
        wind: at 10 m, of a case with weather; `None` without.

    Raises:
        ConfigError: a sea of a wind that is not given, or a file for a case without a date.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    if isinstance(section, ProfiledDrift):
        return _profiles(section, grid, setting)
    if isinstance(section, ExponentialDrift):
        parts = {"u": (section.u, "velocity"), "v": (section.v, "velocity")}
        time, values = read_common(parts, setting, "interior", "stokes_drift")
        return StokesDrift(TimeSeries(time, DriftVector(**values), "Stokes drift"), **section.given())
    if section.u is None or section.v is None:
        if wind is None:
            raise ConfigError(
                f"{setting.at('interior', 'stokes_drift')}: expected u and v, or a case with weather at "
                "10 m, got neither; give the wind at 10 m."
            )
        return WindSeaDrift(wind)
    parts = {"u": (section.u, "wind_u"), "v": (section.v, "wind_v")}
    time, values = read_common(parts, setting, "interior", "stokes_drift")
    return WindSeaDrift(TimeSeries(time, WindVector(**values), "wind of the waves"))


def _profiles(section: ProfiledDrift, grid: Grid, setting: Setting) -> DriftProfiles:
    """The drift of a file; a component that is not named is zero."""
    if setting.start_time is None:
        raise ConfigError(
            f"{setting.at('interior', 'stokes_drift')}: expected a case with a start_time, to which the "
            "times of a file refer, got one without; use the format site."
        )
    units: dict[str, str] = {str(key): unit for key, unit in section.units.items()}
    names: dict[str, Any] = {"u": section.u, "v": section.v}
    names = {key: name for key, name in names.items() if name is not None}
    paths = [setting.file(path, "interior", "stokes_drift", "paths") for path in section.paths]
    with naming(setting.source, f"{setting.key}.interior.stokes_drift"):
        read = io.read_oceansites(
            paths, start_time=setting.start_time, variables=names, units=units, name="Stokes drift"
        )
        series = {
            key: profiles_on_grid(
                read,
                key,
                np.asarray(grid.z_center),
                longest_gap=section.longest_gap,
                duration=setting.duration,
            )
            for key in names
        }
        time, values = on_common_times(series, setting.duration)
    values = {"v": np.zeros_like(values["u"])} | values
    drift = DriftVectors(**{key: jnp.asarray(value) for key, value in values.items()})
    return DriftProfiles(TimeSeries(jnp.asarray(time), drift, "Stokes drift"))
