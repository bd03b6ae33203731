"""What acts within the column: pressure gradients, vertical velocity, friction, waves."""

import jax.numpy as jnp
import numpy as np

from ..io.series import Series, as_series, on_common_times
from ..terms import (
    AbstractPressureGradient,
    AbstractStokesDrift,
    AdvectionScheme,
    BottomFriction,
    BuoyancyGradient,
    DriftProfiles,
    DriftVector,
    DriftVectors,
    FreezingBound,
    HorizontalGradient,
    Interior,
    MeanVelocity,
    PlumeOnSlope,
    StokesDrift,
    SurfaceSlope,
    Vector,
    VelocityAndHeight,
    VelocityAndLevel,
    VelocityAtHeight,
    VerticalVelocity,
    WindSeaDrift,
    WindVector,
)
from ..time_series import TimeSeries
from .hydrography import Hydrography
from .profiles import Inputs

_MOST_KNOTS = 1_000_000
"""Of a tide that stands as a series; with fewer steps the series is exact at the end of every step."""


def read_interior(inputs: Inputs, hydrography: Hydrography, *, vertical_velocity: bool = False) -> Interior:
    """What acts below the surface.

    Args:
        inputs: of the case.
        hydrography: what the water relaxes to, and what of it is held.
        vertical_velocity: whether that of the case carries the profiles.

    Raises:
        ConfigError, FileNotFoundError, FileFormatError: settings or files that cannot be used.
    """
    return Interior(
        relaxation=hydrography.relaxation,
        held=hydrography.held,
        pressure_gradient=_external_pressure(inputs),
        buoyancy_gradient=_internal_pressure(inputs),
        vertical_velocity=_vertical_velocity(inputs, vertical_velocity),
        bottom_friction=_bottom_friction(inputs),
        stokes_drift=read_stokes_drift(inputs),
        surface_elevation=_elevation(inputs),
        freezing_bound=FreezingBound() if _freezes(inputs) else None,
    )


def _tide(inputs: Inputs, path: str, periods: tuple[float, float]) -> Series:
    """Two harmonics around a constant, as a series.

    Source: GOTM counts the time of tides from midnight of the first day.
    """
    settings = inputs.settings
    get = lambda key: settings[f"{path}.tidal.{key}"]  # noqa: E731
    n_steps = round(inputs.period.length / inputs.dt)
    time = np.linspace(0.0, inputs.period.length, min(n_steps, _MOST_KNOTS) + 1)
    since_midnight = time + inputs.period.start % 86400
    values = np.full_like(time, settings[f"{path}.constant_value"])
    for n, period in enumerate(periods, 1):
        values += get(f"amp_{n}") * np.sin(2.0 * np.pi * (since_midnight - get(f"phase_{n}")) / period)
    return Series(time, values)


def _periods(inputs: Inputs, group: str) -> tuple[float, float]:
    """Periods of the two harmonics of a group of settings [s]."""
    paths = [f"{group}.period_{n}" for n in (1, 2)]
    periods = [inputs.settings[path] for path in paths]
    for path, period in zip(paths, periods, strict=True):
        if period <= 0.0:
            raise inputs.settings.error(path, f"expected a positive period [s], got {period:g}")
    return periods[0], periods[1]


def _constant_tide_or_file(inputs: Inputs, path: str, group_of_periods: str) -> Series | float:
    """An input that may also be a tide."""
    if inputs.settings[f"{path}.method"] == "tidal":
        inputs.settings.input(path)
        return _tide(inputs, path, _periods(inputs, group_of_periods))
    inputs.settings.without_effect(f"{path}.tidal", f"{path}.method is not tidal")
    return inputs.scalar(path)


def _external_pressure(inputs: Inputs) -> AbstractPressureGradient | None:
    settings = inputs.settings
    group = "mimic_3d.ext_pressure"
    kind = settings[f"{group}.type"]
    given: dict[str, Series | float] = {
        ours: _constant_tide_or_file(inputs, f"{group}.{theirs}", group)
        for theirs, ours in (("dpdx", "x"), ("dpdy", "y"))
    }
    if kind != "velocity":
        settings.without_effect(f"{group}.h", f"{group}.type is {kind}")
    if kind == "elevation" and all(isinstance(slope, float) and slope == 0.0 for slope in given.values()):
        return None
    if kind == "velocity":
        given["height"] = inputs.scalar(f"{group}.h")
        time, values = as_series(given, inputs.period.length)
        return VelocityAtHeight(TimeSeries(time, VelocityAndHeight(**values), "current"))
    time, values = as_series(given, inputs.period.length)
    series = TimeSeries(time, Vector(**values), "pressure gradient")
    return SurfaceSlope(series) if kind == "elevation" else MeanVelocity(series)


def _internal_pressure(inputs: Inputs) -> BuoyancyGradient | PlumeOnSlope | None:
    settings = inputs.settings
    group = "mimic_3d.int_pressure"
    kind = settings[f"{group}.type"]
    at_surface = settings[f"{group}.plume.type"] == "surface"
    advected = {name: settings[f"{group}.{name}_adv"] for name in ("t", "s")}
    if kind == "plume":
        settings.without_effect(f"{group}.gradients", f"{group}.type is plume")
        if at_surface:
            settings.refuse(
                f"{group}.plume.type", "friction at the surface of a plume below a lid is not supported"
            )
        if any(advected.values()):
            settings.refuse(
                f"{group}.t_adv",
                "advection along prescribed gradients together with a plume is not supported",
            )
        slopes = (settings[f"{group}.plume.{axis}_slope"] for axis in ("x", "y"))
        return PlumeOnSlope(*slopes, at_surface=at_surface)
    settings.without_effect(f"{group}.plume", f"{group}.type is {kind}")
    if at_surface:
        settings.refuse(
            f"{group}.plume.type", "GOTM takes the stress from a lid even without a plume; set it to bottom"
        )
    if kind == "none" and not any(advected.values()):
        settings.without_effect(f"{group}.gradients", f"{group}.type is none")
        return None
    if kind == "none":
        settings.refuse(
            f"{group}.type", "horizontal advection without the pressure gradient is not supported"
        )
    names = {"dtdx": "temperature_x", "dtdy": "temperature_y", "dsdx": "salinity_x", "dsdy": "salinity_y"}
    profiles = {ours: inputs.profile(f"{group}.gradients.{theirs}") for theirs, ours in names.items()}
    time, values = on_common_times(profiles, inputs.period.length)
    gradients = HorizontalGradient(**{name: jnp.asarray(value) for name, value in values.items()})
    return BuoyancyGradient(
        TimeSeries(jnp.asarray(time), gradients, "horizontal gradients"),
        advect_temperature=advected["t"],
        advect_salinity=advected["s"],
    )


def _vertical_velocity(inputs: Inputs, carries: bool) -> VerticalVelocity | None:
    settings = inputs.settings
    if settings["mimic_3d.w.max.method"] != "off" and not carries:
        settings.note(
            "mimic_3d.w.max.method",
            "GOTM 7 reads the velocity and switches it off, so that it carries nothing, here either; "
            "`vertical_velocity: true` of a case in a configuration of this package switches it on",
        )
        settings.without_effect("mimic_3d.w", "GOTM 7 switches the vertical velocity off")
        return None
    if settings["mimic_3d.w.max.method"] == "off":
        settings.input("mimic_3d.w.max")
        settings.without_effect("mimic_3d.w", "mimic_3d.w.max.method is off")
        return None
    scheme = settings["mimic_3d.w.adv_discr"]
    if scheme == "p2":
        settings.refuse("mimic_3d.w.adv_discr", "p2 is not supported, it has no limiter; use p2_pdm")
        scheme = "p2_pdm"
    given: dict[str, Series | float] = {
        "velocity": inputs.scalar("mimic_3d.w.max"),
        "height": inputs.scalar("mimic_3d.w.height"),
    }
    time, values = as_series(given, inputs.period.length)
    fastest = float(np.max(np.abs(np.asarray(values["velocity"]))))
    spacing = float(np.min(np.diff(inputs.z_center)))
    return VerticalVelocity(
        TimeSeries(time, VelocityAndLevel(**values), "vertical velocity"),
        AdvectionScheme(scheme),
        n_substeps=max(1, int(np.ceil(fastest * inputs.dt / spacing))),
    )


def _bottom_friction(inputs: Inputs) -> BottomFriction | None:
    settings = inputs.settings
    if settings["bottom.max_it_z0b"] != 1:
        settings.note(
            "bottom.max_it_z0b", "the roughness is that of the friction velocity before: 1 iteration"
        )
    if not settings["bottom.calc_bottom_stress"]:
        settings.without_effect("bottom", "bottom.calc_bottom_stress is false")
        return None
    roughness, viscosity = settings["bottom.h0b"], settings["physical_constants.avmolu"]
    # KPP has no wall at the bottom; GOTM takes the kappa of the other closures there.
    has_wall = settings["turbulence.turb_method"] != "cvmix"
    von_karman = None if has_wall else settings["turbulence.turb_param.kappa"]
    return BottomFriction(physical_roughness=roughness, von_karman=von_karman, viscosity=viscosity)


def _freezes(inputs: Inputs) -> bool:
    settings = inputs.settings
    return settings["surface.ice.model"] == "simple" and settings["temperature.method"] != "off"


def _elevation(inputs: Inputs) -> TimeSeries | None:
    """Height of the surface above its level at rest; GOTM moves it only without its ice models."""
    settings = inputs.settings
    path = "mimic_3d.zeta"
    ice = settings["surface.ice.model"]
    if ice != "no_ice":
        settings.without_effect(path, f"GOTM follows it only with surface.ice.model no_ice, got {ice}")
        return None
    elevation = _constant_tide_or_file(inputs, path, f"{path}.tidal")
    if isinstance(elevation, float) and elevation == 0.0:
        return None
    if settings["grid.method"] == "file_h":
        settings.note(path + ".method", "as in GOTM, layers of given thickness do not stretch")
        return None
    time, values = as_series({"elevation": elevation}, inputs.period.length)
    lowest, depth = float(np.min(np.asarray(values["elevation"]))), float(-inputs.z_face[0])
    if lowest <= -depth:
        raise settings.error(path, f"expected elevations above the bottom, -{depth:g} m, got {lowest:g} m")
    return TimeSeries(time, values["elevation"], "surface elevation")


def read_stokes_drift(inputs: Inputs) -> AbstractStokesDrift | None:
    """Drift of the shape of `us`, which is that of `vs` too."""
    settings = inputs.settings
    group = "waves.stokes_drift"
    shape = settings[f"{group}.us.method"]
    shears = {name: settings[f"{group}.{name}.method"] for name in ("dusdz", "dvsdz")}
    if shape != "file":
        for name in ("us", "vs", *shears):
            settings.input(f"{group}.{name}")
    # With `off` GOTM has what would come from a file and does not, nothing.
    if shape == "off" and shears["dusdz"] != "file":
        settings.without_effect(group, f"{group}.us.method is off")
        return None
    used = {"exponential": ("us0", "vs0", "exponential"), "empirical": ("empirical",)}.get(shape, ())
    for name in ("us0", "vs0", "exponential", "empirical"):
        if name not in used:
            settings.without_effect(f"{group}.{name}", f"{group}.us.method is {shape}")
    if shape == "off" or shears["dusdz"] != "us":
        settings.refuse(
            f"{group}.dusdz.method",
            f"a shear of {shears['dusdz']} with a drift of {shape} is not supported; it must be that of the "
            "drift, dusdz.method: us",
        )
    if shape == "empirical":
        return _wind_drift(inputs, group)
    return _drift_profiles(inputs, group) if shape == "file" else _exponential_drift(inputs, group)


def _exponential_drift(inputs: Inputs, group: str) -> AbstractStokesDrift:
    settings = inputs.settings
    depth = inputs.scalar(f"{group}.exponential.ds")
    if isinstance(depth, Series):
        settings.refuse(
            f"{group}.exponential.ds.method", "a depth that varies is not supported; give a constant"
        )
        depth = float(np.mean(depth.values))
    surface = {"u": inputs.scalar(f"{group}.us0"), "v": inputs.scalar(f"{group}.vs0")}
    time, values = as_series(surface, inputs.period.length)
    return StokesDrift(TimeSeries(time, DriftVector(**values), "Stokes drift"), decay_depth=depth)


def _wind_drift(inputs: Inputs, group: str) -> AbstractStokesDrift:
    """Drift of the wind of its own inputs, or of that of the air-sea fluxes."""
    settings = inputs.settings
    has_own = settings[f"{group}.empirical.uwnd.method"] != "off"
    paths = (
        (f"{group}.empirical.uwnd", f"{group}.empirical.vwnd") if has_own else ("surface.u10", "surface.v10")
    )
    if has_own:
        paths = (f"{group}.empirical.uwnd", f"{group}.empirical.vwnd")
    else:
        settings.without_effect(f"{group}.empirical", f"{group}.empirical.uwnd.method is off")
    wind: dict[str, Series | float] = {"u": 0.0, "v": 0.0}
    if has_own or settings["surface.fluxes.method"] != "off":
        wind = {"u": inputs.scalar(paths[0]), "v": inputs.scalar(paths[1])}
    else:
        settings.note(
            f"{group}.us.method",
            "GOTM reads no wind with surface.fluxes.method off; there is no drift here too",
        )
    time, values = as_series(wind, inputs.period.length)
    gravity = settings["physical_constants.gravity"]
    return WindSeaDrift(TimeSeries(time, WindVector(**values), "wind of the waves"), gravity=gravity)


def _drift_profiles(inputs: Inputs, group: str) -> AbstractStokesDrift:
    profiles = {"u": inputs.profile(f"{group}.us"), "v": inputs.profile(f"{group}.vs")}
    time, values = on_common_times(profiles, inputs.period.length)
    drift = DriftVectors(**{name: jnp.asarray(value) for name, value in values.items()})
    return DriftProfiles(TimeSeries(jnp.asarray(time), drift, "Stokes drift"))
