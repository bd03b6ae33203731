"""From checked configurations to what acts below the surface."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import io, terms
from ..io.series import Series, on_common_times, profiles_on_grid
from ..io.yaml_file import ConfigError
from ..time_series import TimeSeries
from .interior import (
    InteriorSection,
    MeteredGradient,
    ProfiledDrift,
    RelaxationRates,
    RelaxationSection,
    VelocityRelaxation,
    VerticalVelocitySection,
    WindSea,
)
from .profiles import Profile, profile_series, values_of
from .series import Setting, read_common

Observed = Callable[[str], Series]
"""Observed profiles of a variable on the cells of the grid over the time of the case."""


def build_interior(
    section: InteriorSection,
    setting: Setting,
    observed: Observed | None = None,
    wind: TimeSeries[terms.WindVector] | None = None,
    given: Callable[[str], Series] | None = None,
) -> terms.Interior:
    """What acts below the surface.

    Args:
        section, setting: of the configuration, and of the case.
        observed: profiles to relax to; `None` for a case without observations.
        wind: at 10 m, which waves may follow; `None` for a case without weather.
        given: profiles that the case starts from, over the times of their files.
    """
    elevation = None
    if section.surface_elevation is not None:
        time, values = read_common(
            {"height": (section.surface_elevation, "height")}, setting, "interior", "surface_elevation"
        )
        lowest, depth = float(np.min(values["height"])), float(setting.grid.depth)
        if lowest <= -depth:
            raise ConfigError(
                f"{setting.at('interior', 'surface_elevation')}: expected a surface above the bottom, "
                f"-{depth:g} m, got {lowest:g} m; check its unit and sign."
            )
        elevation = TimeSeries(time, values["height"], "surface elevation")
    with setting.naming("interior"):
        return terms.Interior(
            relaxation=_relaxation(section.relaxation, setting, observed, given),
            pressure_gradient=_pressure_gradient(section.pressure_gradient, setting),
            buoyancy_gradient=_buoyancy_gradient(section.buoyancy_gradient, setting),
            vertical_velocity=_vertical_velocity(section.vertical_velocity, setting),
            stokes_drift=_stokes_drift(section.stokes_drift, setting, wind),
            surface_elevation=elevation,
            **section.given(),
        )


def _relaxation(
    section: RelaxationSection, setting: Setting, observed: Observed | None, given: Observed | None
) -> terms.Relaxation | None:
    def target(name: str, rates: Any, profile: Any, key: str) -> terms.RelaxationTarget:
        if profile is None and observed is None:
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
                    source = observed if profile is None else given
                    assert source is not None  # the case has profiles
                    found = source(name)
            time, values = found.time, found.values
            if lag := getattr(rates, "lag", 0.0):
                time, values = np.append(time[0], time + lag), values[[0, *range(time.size)]]
            series = TimeSeries(jnp.asarray(time), jnp.asarray(values), f"observed {name}")
        layers = {key: getattr(rates, key) for key in RelaxationRates.model_fields if key != "time_scale"}
        inside = np.inf if rates.time_scale is None else rates.time_scale
        fading = rates.given() if isinstance(rates, VelocityRelaxation) else {}
        return terms.RelaxationTarget(series, terms.layered_rate(setting.grid, inside, **layers), **fading)

    targets = {}
    for name in ("temperature", "salinity", "u", "v"):
        key = "velocity" if name in ("u", "v") else name
        if (rates := getattr(section, key)) is not None:
            profile = getattr(rates, name if key == "velocity" else "profile")
            targets[name] = target(name, rates, profile, key)
    return terms.Relaxation(**targets) if targets else None


def _pressure_gradient(section: Any, setting: Setting) -> terms.AbstractPressureGradient | None:
    if section is None:
        return None
    quantity = "slope" if section.kind == "surface_slope" else "velocity"
    parts = {"x": (section.x, quantity), "y": (section.y, quantity)}
    if isinstance(section, MeteredGradient):
        parts["height"] = (section.height, "height")
    time, values = read_common(parts, setting, "interior", "pressure_gradient")
    if isinstance(section, MeteredGradient):
        return terms.VelocityAtHeight(TimeSeries(time, terms.VelocityAndHeight(**values), "current"))
    series = TimeSeries(time, terms.Vector(**values), "pressure gradient")
    return terms.SurfaceSlope(series) if quantity == "slope" else terms.MeanVelocity(series)


def _common_profiles(
    profiles: Mapping[str, tuple[Profile, str]], setting: Setting, key: str
) -> tuple[Any, dict[str, Any]]:
    """Profiles of one part of the interior over common times."""
    series = {
        name: profile_series(profile, quantity, setting, "interior", key, name)
        for name, (profile, quantity) in profiles.items()
    }
    with setting.naming("interior", key):
        time, values = on_common_times(series, setting.duration)
    return jnp.asarray(time), {name: jnp.asarray(value) for name, value in values.items()}


def _buoyancy_gradient(section: Any, setting: Setting) -> terms.BuoyancyGradient | terms.PlumeOnSlope | None:
    if section is None:
        return None
    if section.kind == "plume":
        return section.build()
    names = ("temperature_x", "temperature_y", "salinity_x", "salinity_y")
    profiles = {name: (getattr(section, name), f"{name[:-2]}_gradient") for name in names}
    time, values = _common_profiles(profiles, setting, "buoyancy_gradient")
    series = TimeSeries(time, terms.HorizontalGradient(**values), "horizontal gradients")
    return terms.BuoyancyGradient(series, **section.given())


def _vertical_velocity(
    section: VerticalVelocitySection | None, setting: Setting
) -> terms.VerticalVelocity | None:
    if section is None:
        return None
    parts = {"velocity": (section.velocity, "vertical_velocity"), "height": (section.height, "height")}
    time, values = read_common(parts, setting, "interior", "vertical_velocity")
    if float(np.max(values["height"])) > 0.0:
        raise ConfigError(
            f"{setting.at('interior', 'vertical_velocity', 'height')}: expected a negative height [m], below "
            f"the surface, got {float(np.max(values['height'])):g}; change its sign."
        )
    n_substeps = section.n_substeps
    if n_substeps is None:
        assert setting.step is not None  # where a case is built for a run
        fastest = float(np.max(np.abs(np.asarray(values["velocity"]))))
        spacing = float(np.min(np.diff(np.asarray(setting.grid.z_center))))
        n_substeps = max(1, int(np.ceil(fastest * setting.step / spacing)))
    series = TimeSeries(time, terms.VelocityAndLevel(**values), "vertical velocity")
    return terms.VerticalVelocity(series, n_substeps=n_substeps, **section.given())


def _stokes_drift(
    section: Any, setting: Setting, wind: TimeSeries[terms.WindVector] | None
) -> terms.AbstractStokesDrift | None:
    """The drift of waves; `wind` at 10 m, of a case with weather."""
    if section is None:
        return None
    if isinstance(section, ProfiledDrift):
        return _drift_profiles(section, setting)
    if isinstance(section, WindSea) and (section.u is None or section.v is None):
        if wind is None:
            raise ConfigError(
                f"{setting.at('interior', 'stokes_drift')}: expected u and v, or a case with weather at "
                "10 m, got neither; give the wind at 10 m."
            )
        return terms.WindSeaDrift(wind, **section.given())
    name = "wind_{}" if isinstance(section, WindSea) else "velocity"
    parts = {key: (getattr(section, key), name.format(key)) for key in ("u", "v")}
    time, values = read_common(parts, setting, "interior", "stokes_drift")
    if isinstance(section, WindSea):
        series = TimeSeries(time, terms.WindVector(**values), "wind of the waves")
        return terms.WindSeaDrift(series, **section.given())
    series = TimeSeries(time, terms.DriftVector(**values), "Stokes drift")
    return terms.StokesDrift(series, **section.given())


def _drift_profiles(section: ProfiledDrift, setting: Setting) -> terms.DriftProfiles:
    """The drift of a file; a component that is not named is zero."""
    given = {key: getattr(section, key) for key in ("u", "v") if getattr(section, key) is not None}
    if section.paths is None:
        quantities = {key: (profile, f"stokes_drift_{key}") for key, profile in given.items()}
        time, values = _common_profiles(quantities, setting, "stokes_drift")
    else:
        start_time = setting.required_start("interior", "stokes_drift")
        paths = [setting.file(path, "interior", "stokes_drift", "paths") for path in section.paths]
        units: dict[str, str] = {str(key): unit for key, unit in section.units.items()}
        with setting.naming("interior", "stokes_drift"):
            read = io.read_oceansites(
                paths, start_time=start_time, variables=given, units=units, name="Stokes drift"
            )
            z, gap = np.asarray(setting.grid.z_center), section.longest_gap
            series = {
                key: profiles_on_grid(read, key, z, longest_gap=gap, duration=setting.duration)
                for key in given
            }
            time, values = on_common_times(series, setting.duration)
    values = {"v": np.zeros_like(values["u"])} | values
    drift = terms.DriftVectors(**{key: jnp.asarray(value) for key, value in values.items()})
    return terms.DriftProfiles(TimeSeries(jnp.asarray(time), drift, "Stokes drift"))
