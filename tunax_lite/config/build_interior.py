"""From checked configurations to what acts below the surface."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..grid import Grid
from ..io.series import Series
from ..io.yaml_file import ConfigError, naming
from ..terms import (
    AbstractPressureGradient,
    BuoyancyGradient,
    HorizontalGradient,
    Interior,
    MeanVelocity,
    PlumeOnSlope,
    Relaxation,
    RelaxationTarget,
    SurfaceSlope,
    Vector,
    VelocityAndHeight,
    VelocityAndLevel,
    VelocityAtHeight,
    VerticalVelocity,
    WindVector,
    layered_rate,
)
from ..time_series import TimeSeries
from .build_waves import build_stokes_drift
from .interior import (
    InteriorSection,
    MeteredGradient,
    RelaxationRates,
    RelaxationSection,
    VerticalVelocitySection,
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
