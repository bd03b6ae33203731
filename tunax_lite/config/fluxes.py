"""Prescribed surface fluxes in a configuration, and the resulting forcing."""

import math

import jax.numpy as jnp
import numpy as np

from .. import io
from ..air_sea.daylight import MeanSun, days_of, diurnal_cycle, time_between_records
from ..air_sea.radiation import ConstantAlbedo, SolarPosition
from ..column.forcing import FLUXES, AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..io.series import Series, on_common_times
from ..io.yaml_file import ConfigError
from .cases import FluxesSection
from .conversions import conversions_of
from .section import SomeCase
from .series import Setting, read_timed


def prescribed_forcing(section: FluxesSection, case: SomeCase, setting: Setting, key: str) -> AbstractForcing:
    """The fluxes of a section: series, numbers or ERA5 files; `ConfigError` for missing variables."""
    if section.era5 is not None:
        if case.latitude is None or case.longitude is None or setting.start_time is None:
            raise ConfigError(
                f"{setting.at(key, 'era5')}: expected a case with `latitude`, `longitude` and `start_time`, "
                "got none; choose the format site."
            )
        return io.read_era5_fluxes(
            [setting.file(path, key, "era5", "paths") for path in section.era5.paths],
            latitude=case.latitude,
            longitude=case.longitude,
            start_time=setting.start_time,
            units=conversions_of(section.era5.units),
            **section.era5.model_dump(exclude={"paths", "units"}),
        )
    given = {
        name: read_timed(getattr(section, name), name, setting, key, name)
        for name in FLUXES
        if getattr(section, name) is not None
    }
    tracers = {
        f"tracer {name}": read_timed(flux, name, setting, key, "tracer_fluxes", name)
        for name, flux in section.tracer_fluxes.items()
    }
    if section.albedo is not None or section.diurnal_cycle:
        given["shortwave_flux"] = _entering(given["shortwave_flux"], section, case, setting, key)
    # A series of zeros is omitted and costs nothing.
    given = {k: flux for k, flux in given.items() if not isinstance(flux, Series) or np.any(flux.values)}
    both = given | tracers
    with setting.naming(key):
        time, values = on_common_times(both, setting.duration)
    fluxes = {name: value for name, value in values.items() if name in given}
    of_tracers = {name: values[f"tracer {name}"] for name in section.tracer_fluxes}
    if not any(isinstance(flux, Series) for flux in both.values()):
        return ConstantForcing(SurfaceFluxes(**fluxes, tracer_fluxes=of_tracers))
    return TimeSeriesForcing.from_values(time, **fluxes, tracer_fluxes=of_tracers)


_MOST_STEPS = 2_000_000
"""Of a case, for light that stands as a series."""


def _entering(
    light: Series | float, section: FluxesSection, case: SomeCase, setting: Setting, key: str
) -> Series | float:
    """Shortwave radiation [W m-2] that enters, exact at the end of every step."""
    albedo = ConstantAlbedo(0.0) if section.albedo is None else section.albedo.build()
    if not albedo.needs_sun and not section.diurnal_cycle:
        entering = 1.0 - float(albedo.value(0.0, 0.0))
        return Series(light.time, entering * light.values) if isinstance(light, Series) else entering * light
    if case.latitude is None or case.longitude is None or setting.start_time is None or setting.step is None:
        raise ConfigError(
            f"{setting.at(key, 'albedo')}: expected a case with `latitude`, `longitude` and `start_time`, "
            "from which the height of the sun follows, got none; choose the format site, or a number."
        )
    sun, how = (
        SolarPosition(setting.start_time, case.latitude, case.longitude),
        MeanSun(section.albedo_of, section.diurnal_cycle),
    )
    interval = time_between_records(light.time, light.values) if isinstance(light, Series) else np.inf
    setting.notes.extend(f"{setting.at(key)}: {note}." for note in how.notes(albedo, interval))
    n_steps = min(max(1, math.ceil(setting.duration / setting.step)), _MOST_STEPS)
    time = setting.step * np.arange(n_steps + 1.0)
    if isinstance(light, Series):
        time = np.union1d(time[(time >= light.time[0]) & (time <= light.time[-1])], light.time)
    now = sun.at(jnp.asarray(time))
    cosine = sun.cosine_of_zenith(now)
    downward = light.on(time) if isinstance(light, Series) else np.full_like(time, light)
    if how.spreads(interval):
        days = days_of(sun, float(time[0]), float(time[-1]))
        records = light if isinstance(light, Series) else Series(time, downward)
        cycle = diurnal_cycle(days, records.time, records.values, sun, setting.step)
        downward = np.asarray(cycle.downward(jnp.asarray(time), cosine, jnp.zeros(())))
    reflected = how.albedo(albedo, case.latitude, interval).value(jnp.rad2deg(jnp.arccos(cosine)), now.day)
    return Series(time, (1.0 - np.asarray(reflected)) * downward)
