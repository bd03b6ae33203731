"""Prescribed surface fluxes in a configuration, and the resulting forcing."""

import math
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from pydantic import BeforeValidator, model_validator

from .. import io
from .._types import JSON
from ..air_sea.daylight import AlbedoOf, MeanSun, days_of, diurnal_cycle, time_between_records
from ..air_sea.radiation import ConstantAlbedo, SolarPosition
from ..column.forcing import FLUXES, AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..io.series import Series, on_common_times
from ..io.yaml_file import ConfigError
from .air_sea import AlbedoSection, Era5Source
from .section import SomeCase, invalid, key
from .series import Setting, TimedSection, TimedValue, conversions_of, read_timed, timed

_Flux = Annotated[
    TimedSection,
    BeforeValidator(lambda v: v, json_schema_input_type=TimedValue | float | list[float] | None),
]


class FluxesSection(timed(SurfaceFluxes, FLUXES, _Flux)):
    """Surface fluxes, each a number, a series, or a list with one value per `time`; positive downward."""

    time: list[float] | None = key("times of the lists [s] since the start, increasing", None, min_length=2)
    albedo: AlbedoSection | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "reflected fraction of shortwave_flux: a number, payne or cogley at the end of each step", None
    )
    albedo_of: AlbedoOf | None = key("as in air_sea", None)
    diurnal_cycle: bool = key("whether shortwave_flux is spread over the day, as in air_sea", False)
    tracer_fluxes: dict[str, TimedSection] = key(
        "tracer fluxes by name [tracer unit m s-1]", default_factory=dict
    )
    era5: Era5Source | None = key("all of them, as ERA5 computed them", None)

    def _check(self) -> None:
        self.check_possible()
        if self.albedo is not None and self.shortwave_flux is None:
            raise invalid("shortwave_flux with an albedo", "none", "add it, or remove the albedo")
        if self.diurnal_cycle and self.shortwave_flux is None:
            raise invalid("shortwave_flux with a diurnal_cycle", "none", "add it, or remove the cycle")
        others = sorted(self.model_fields_set - {"era5"})
        if self.era5 is not None and others:
            raise invalid("`era5` alone", f"{others[0]} too", "remove one of the two")

    @model_validator(mode="before")
    @classmethod
    def _with_times(cls, data: JSON) -> JSON:
        """Convert lists to series over `time`."""

        def placed(name: str, value: JSON) -> JSON:
            if not isinstance(value, list) or name == "time":
                return value
            if data.get("time") is None:
                raise invalid(f"`time` with the list of {name}", "none", "add `time`, or give one number")
            return {"time": data["time"], "values": value}

        if not isinstance(data, dict):
            return data
        flat = {name: placed(name, value) for name, value in data.items()}
        if isinstance(tracers := data.get("tracer_fluxes"), dict):
            flat["tracer_fluxes"] = {name: placed(name, value) for name, value in tracers.items()}
        return flat


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
        given["shortwave_flux"] = _net_shortwave(given["shortwave_flux"], section, case, setting, key)
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


def _net_shortwave(
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
