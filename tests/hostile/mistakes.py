"""`python -m tests.hostile.mistakes`: everyday mistakes in good input, and which rule notes them.

A row is a good input, a mistake, what it changes and the rule that is to note it; `*` is any rule, or an error.
Rows without a rule are mistakes that nobody could see in the numbers: they do not count.
"""
# ruff: noqa: E501 (a table)

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tunax_lite.plausibility import LIMITS, RULES

from . import plausible_inputs as good
from .plausible_inputs import Change, Given, Said


@dataclass(frozen=True)
class Mistake:
    """A mistake in a good input; `rule` is empty where nobody could see it."""

    base: str
    name: str
    change: Change
    rule: str


BASES: dict[str, tuple[Callable[[], Given], Callable[[Given, Path], Said]]] = {
    "weather": (good.weather, good.csv_weather),
    "daily weather": (lambda: good.weather(400, 86400.0), good.csv_weather),
    "CF weather": (good.weather, good.cf_weather),
    "fluxes": (good.fluxes, good.csv_fluxes),
    "simulation": (good.simulated, good.cf_simulation),
    "LESbrary": (good.simulated, good.jld2_simulation),
    "mooring": (good.moored, good.mooring),
    "float": (good.floated, good.argo),
    "GOTM": (lambda: good.fluxes(20), good.gotm),
    "lake": (good.lake_weather, good.lake),
    "map": (good.gridded, good.gridded_map),
}
"""Good inputs: what they hold, and what becomes of it."""


def scaled(name: str, factor: float, offset: float = 0.0) -> Change:
    return lambda given: given.scale(name, factor, offset)


def code(name: str, value: float, *at: int) -> Change:
    return lambda given: given.put(name, value, *(at or (100, 101, 102, 500)))


def attribute(name: str, **attrs: str) -> Change:
    return lambda given: given.attrs.setdefault(name, {}).update(attrs)


def option(**options: Any) -> Change:
    return lambda given: given.options.update(options)


def swapped(one: str, other: str) -> Change:
    return lambda given: given.swap(one, other)


def replaced(name: str, values: Callable[[Given], np.ndarray]) -> Change:
    return lambda given: given.values.update({name: values(given)})


def both(*changes: Change) -> Change:
    def change(given: Given) -> None:
        for one in changes:
            one(given)

    return change


def called(name: str, other: str) -> Change:
    """A variable of another name, which the user chooses."""
    return option(names={name: other}, variables={name: other})


def _in_humidity(name: str, *changes: Change) -> Change:
    return both(option(humidity=name), *changes)


def _later(hours: int) -> Callable[[Given], np.ndarray]:
    return lambda given: np.roll(given.values["shortwave"], hours)


_RECORDS = [
    ("air_temperature", [-9.99, 0.0, 99.0, 99.9, -99.0, -9.0]),
    ("dew_point", [-9.99, 99.0, 99.9]),
    ("relative_humidity", [0.0, -9.99, 999.0]),
    ("specific_humidity", [0.0, 9.99]),
    ("air_pressure", [0.0, 99999.0, 9999.0]),
    ("wind_u", [99.0, 99.9, -99.9, 999.0]),
    ("shortwave", [-99.0, 999.0 * 2, -9.99]),
    ("longwave", [0.0, 9.99, 99.0, 999.0]),
    ("cloud_cover", [9.0, 99.0, -9.0]),
    ("precipitation", [9.99e-4, -9.99e-5]),
]
_CODES_OF_HUMIDITY = ("dew_point", "specific_humidity", "relative_humidity")


def _codes() -> Iterator[Mistake]:
    for name, values in _RECORDS:
        for value in values:
            change = code(name, value)
            if name in _CODES_OF_HUMIDITY:
                change = _in_humidity(name, change)
            yield Mistake("weather", f"{value:g} for missing {name}", change, "*")
    for name in ("air_temperature", "air_pressure", "relative_humidity", "longwave"):
        yield Mistake("lake", f"0 for missing {name}", code(name, 0.0), "*")
    for name, value in (("TEMP", 0.0), ("TEMP", 99.0), ("TEMP", -9.99), ("PSAL", 0.0), ("PSAL", 99.0)):
        yield Mistake("mooring", f"{value:g} for missing {name}", code(name, value), "*")
    for name, value in (("UCUR", -9.99), ("UCUR", 9.99), ("UCUR", 99.9), ("PSAL", -9.99), ("TEMP", 9.99)):
        rule = "" if (name, value) == ("TEMP", 9.99) else "*"
        yield Mistake("mooring", f"{value:g} for missing {name}", code(name, value), rule)
    for name, value in (
        ("heat_flux", -9999.0),
        ("heat_flux", 999.0),
        ("stress_u", -9.99),
        ("stress_u", 9.99),
    ):
        yield Mistake("fluxes", f"{value:g} for missing {name}", code(name, value), "*")
        yield (
            Mistake("GOTM", f"{value:g} for missing {name}", code(name, value, 50, 51, 52), "*")
            if name != ("stress_u")
            else Mistake("GOTM", f"{value:g} for missing {name}", code(name, value, 50), "*")
        )
    for name, value in (
        ("temperature", 0.0),
        ("temperature", 99.0),
        ("temperature", -9.99),
        ("salinity", 0.0),
    ):
        own = good.water(200.0, 20)[name].copy()
        own[12] = value
        yield Mistake("GOTM", f"{value:g} in a profile of {name}", option(profiles={name: own}), "*")
    for name in ("TEMP", "PSAL"):

        def zeros(given: Given, name: str = name) -> None:
            given.values[name] = given.values[name].copy()
            given.values[name][3, 20:23] = 0.0

        yield Mistake("float", f"0 for missing {name}", zeros, "*")


def _spikes_and_stuck() -> Iterator[Mistake]:
    for name, value in (
        ("air_temperature", 9.0),
        ("air_pressure", -2500.0),
        ("longwave", 250.0),
        ("wind_u", 30.0),
    ):

        def spike(given: Given, name: str = name, value: float = value) -> None:
            given.put(name, float(given.values[name][333]) + value, 333)

        yield Mistake("weather", f"a spike of {name}", spike, "spike")
    for name, value in (("TEMP", 6.0), ("PSAL", -4.0), ("UCUR", 3.0)):

        def spike_at(given: Given, name: str = name, value: float = value) -> None:
            given.values[name] = given.values[name].copy()
            given.values[name][200, 1] += value

        yield Mistake("mooring", f"a spike of {name}", spike_at, "spike")
    yield Mistake(
        "fluxes", "a spike of heat_flux", lambda given: given.put("heat_flux", 1300.0, 400), "spike"
    )
    for name in ("air_temperature", "air_pressure", "wind_u", "longwave"):

        def stuck(given: Given, name: str = name) -> None:
            given.put(name, float(given.values[name][200]), *range(200, 290))

        yield Mistake("weather", f"a stuck sensor of {name}", stuck, "stuck")

    def stuck_lake(given: Given) -> None:
        given.put("air_temperature", float(given.values["air_temperature"][200]), *range(200, 290))

    yield Mistake("lake", "a stuck sensor of air_temperature", stuck_lake, "stuck")

    def stuck_thermistor(given: Given) -> None:
        given.values["TEMP"] = given.values["TEMP"].copy()
        given.values["TEMP"][100:300, 1] = given.values["TEMP"][100, 1]

    yield Mistake("mooring", "a stuck thermistor", stuck_thermistor, "stuck")


def _units() -> Iterator[Mistake]:
    rows: list[tuple[str, str, Change, str]] = [
        ("weather", "wind in knots", both(scaled("wind_u", 1.944), scaled("wind_v", 1.944)), ""),
        ("weather", "wind in km h-1", both(scaled("wind_u", 3.6), scaled("wind_v", 3.6)), "*"),
        ("weather", "wind in cm s-1", both(scaled("wind_u", 100.0), scaled("wind_v", 100.0)), "*"),
        ("weather", "wind in m s-1 called km h-1", both(scaled("wind_u", 1 / 36.0), scaled("wind_v", 1 / 36.0)), "*"),
        ("weather", "air in kelvin", scaled("air_temperature", 1.0, 273.15), "*"),
        ("weather", "air in degF", scaled("air_temperature", 1.8, 32.0), "*"),
        ("weather", "air less 273.15 twice", scaled("air_temperature", 1.0, -273.15), "*"),
        ("weather", "relative humidity as a fraction", scaled("relative_humidity", 0.01), "*"),
        ("weather", "specific humidity in g kg-1", _in_humidity("specific_humidity", scaled("specific_humidity", 1e3)), "*"),
        ("weather", "specific humidity divided twice", _in_humidity("specific_humidity", scaled("specific_humidity", 1e-3)), "*"),
        ("weather", "relative humidity as specific", _in_humidity("specific_humidity", replaced("specific_humidity", lambda g: 1e-2 * g.values["relative_humidity"])), "*"),
        ("weather", "dew point in degF", _in_humidity("dew_point", scaled("dew_point", 1.8, 32.0)), "*"),
        ("weather", "dew point in kelvin", _in_humidity("dew_point", scaled("dew_point", 1.0, 273.15)), "*"),
        ("weather", "pressure in hPa", scaled("air_pressure", 1e-2), "*"),
        ("weather", "pressure in kPa", scaled("air_pressure", 1e-3), "*"),
        ("weather", "pressure in bar", scaled("air_pressure", 1e-5), "*"),
        ("weather", "pressure in mmHg as hPa", scaled("air_pressure", 0.75), "*"),
        ("weather", "pressure of a station at 700 m", scaled("air_pressure", 0.92), "*"),
        ("weather", "cloud in octas", scaled("cloud_cover", 8.0), "*"),
        ("weather", "cloud in tenths", scaled("cloud_cover", 10.0), "*"),
        ("weather", "cloud in octas as %", scaled("cloud_cover", 0.08), "*"),
        ("weather", "cloud in tenths as %", scaled("cloud_cover", 0.1), "*"),
        ("weather", "cloud fraction as %", scaled("cloud_cover", 0.01), "*"),
        ("weather", "cloud in octas as tenths", replaced("cloud_cover", lambda g: 0.1 * np.round(8.0 * g.values["cloud_cover"])), "cloud_cover_steps"),
        ("weather", "rain in mm day-1", scaled("precipitation", 8.64e7), "*"),
        ("weather", "rain in mm h-1", scaled("precipitation", 3.6e6), "*"),
        ("weather", "rain in kg m-2 s-1", scaled("precipitation", 1e3), "*"),
        ("weather", "rain in mm day-1 as mm h-1", scaled("precipitation", 24.0), "*"),
        ("weather", "rain in kg m-2 s-1 as mm day-1", scaled("precipitation", 1.0 / 86400.0), "*"),
        ("weather", "rain in mm h-1 as mm day-1", scaled("precipitation", 1.0 / 24.0), ""),
        ("weather", "rain upward", scaled("precipitation", -1.0), "*"),
        ("weather", "sun in kW m-2", scaled("shortwave", 1e-3), "*"),
        ("weather", "sun in MJ m-2 h-1", scaled("shortwave", 3.6e-3), "*"),
        ("weather", "sun in kJ m-2 h-1", scaled("shortwave", 3.6), "*"),
        ("weather", "sun in J m-2 h-1", scaled("shortwave", 3600.0), "*"),
        ("weather", "sun in cal cm-2 min-1", scaled("shortwave", 1 / 697.0), "*"),
        ("weather", "sun in umol m-2 s-1", scaled("shortwave", 2.1), "*"),
        ("weather", "sun upward", scaled("shortwave", -1.0), "*"),
        ("daily weather", "sun in MJ m-2 day-1", scaled("shortwave", 0.0864), "*"),
        ("daily weather", "sun in cal cm-2 day-1", scaled("shortwave", 2.065), "*"),
        ("daily weather", "sun in kWh m-2 day-1", scaled("shortwave", 0.024), "*"),
        ("daily weather", "sun in J cm-2 day-1", scaled("shortwave", 8.64), "*"),
        ("daily weather", "air in degF", scaled("air_temperature", 1.8, 32.0), "*"),
        ("daily weather", "wind in km h-1", both(scaled("wind_u", 3.6), scaled("wind_v", 3.6)), "*"),
        ("daily weather", "rain in mm day-1 as mm h-1", scaled("precipitation", 24.0), "*"),
        ("weather", "longwave upward", scaled("longwave", -1.0), "*"),
        ("weather", "longwave in kW m-2", scaled("longwave", 1e-3), "*"),
        ("weather", "longwave in MJ m-2 day-1", scaled("longwave", 0.0864), "*"),
        ("weather", "longwave in kJ m-2 h-1", scaled("longwave", 3.6), "*"),
        ("weather", "longwave net as downward", scaled("longwave", 1.0, -390.0), "*"),
        ("weather", "longwave downward as net", option(longwave="net"), "*"),
        ("weather", "longwave net upward", both(option(longwave="net"), scaled("longwave", -1.0, 390.0)), "*"),
        ("fluxes", "heat in kW m-2", scaled("heat_flux", 1e-3), "*"),
        ("fluxes", "heat in K m s-1", scaled("heat_flux", 2.4e-7), "*"),
        ("fluxes", "heat in kJ m-2 h-1", scaled("heat_flux", 3.6), ""),
        ("fluxes", "heat in kJ m-2 day-1", scaled("heat_flux", 86.4), "*"),
        ("fluxes", "heat in J m-2 h-1", scaled("heat_flux", 3600.0), "*"),
        ("fluxes", "heat in MJ m-2 day-1", scaled("heat_flux", 0.0864), ""),
        ("fluxes", "heat upward", scaled("heat_flux", -1.0), "heat_sign"),
        ("fluxes", "heat with the sun beside the sun", replaced("heat_flux", lambda g: g.values["heat_flux"] + g.values["shortwave_flux"]), "*"),
        ("fluxes", "sun in kW m-2", scaled("shortwave_flux", 1e-3), "*"),
        ("fluxes", "sun in K m s-1", scaled("shortwave_flux", 2.4e-7), "*"),
        ("fluxes", "sun in kJ m-2 h-1", scaled("shortwave_flux", 3.6), "*"),
        ("fluxes", "sun upward", scaled("shortwave_flux", -1.0), "*"),
        ("fluxes", "stress in dyn cm-2", both(scaled("stress_u", 10.0), scaled("stress_v", 10.0)), "*"),
        ("fluxes", "stress in m2 s-2", both(scaled("stress_u", 1e-3), scaled("stress_v", 1e-3)), "*"),
        ("fluxes", "wind as stress", both(scaled("stress_u", 60.0), scaled("stress_v", 60.0)), "*"),
        ("fluxes", "stress upward", both(scaled("stress_u", -1.0), scaled("stress_v", -1.0)), ""),
        ("fluxes", "fresh water in mm day-1", scaled("freshwater_flux", 86400.0), "*"),
        ("fluxes", "fresh water in m s-1", scaled("freshwater_flux", 1e-3), ""),
        ("fluxes", "fresh water in mm h-1 as mm day-1", scaled("freshwater_flux", 24.0 * 3.6), "*"),
        ("fluxes", "u twice", replaced("stress_v", lambda g: g.values["stress_u"]), "*"),
        ("GOTM", "heat in kW m-2", scaled("heat_flux", 1e-3), "*"),
        ("GOTM", "heat upward", scaled("heat_flux", -1.0), "heat_sign"),
        ("GOTM", "heat upward by factor", option(heat={"scale_factor": -1.0}), "heat_sign"),
        ("GOTM", "sun in kW m-2", scaled("shortwave_flux", 1e-3), "*"),
        ("GOTM", "stress in dyn cm-2", scaled("stress_u", 10.0), "*"),
        ("GOTM", "stress in m2 s-2", scaled("stress_u", 1e-3), "*"),
        ("lake", "wind in km h-1", both(scaled("wind_u", 3.6), scaled("wind_v", 3.6)), "*"),
        ("lake", "air in degF", scaled("air_temperature", 1.8, 32.0), "*"),
        ("lake", "pressure in hPa", scaled("air_pressure", 1e-2), "*"),
        ("lake", "sun in kW m-2", scaled("shortwave", 1e-3), "*"),
        ("lake", "sun in MJ m-2 h-1", scaled("shortwave", 3.6e-3), "*"),
        ("lake", "discharge of 80 000 m3 s-1", scaled("inflow", 26000.0), "discharge"),
        ("lake", "discharge in l s-1", scaled("inflow", 1000.0), "discharge"),
        ("lake", "discharge in m3 per day", scaled("inflow", 86400.0), "discharge"),
        ("lake", "areas in km2", option(area=[0.1, 0.8, 1.6, 2.4, 3.2, 4.0]), "discharge"),
        ("map", "heat in kW m-2", scaled("heat", 1e-3), "*"),
        ("map", "heat upward", scaled("heat", -1.0), "heat_sign"),
        ("map", "sun in kW m-2", scaled("sun", 1e-3), "*"),
        ("map", "sun in MJ m-2 day-1", scaled("sun", 0.0864), "*"),
        ("map", "sun in kJ m-2 h-1", scaled("sun", 3.6), "*"),
        ("map", "stress in dyn cm-2", scaled("taux", 10.0), "*"),
        ("map", "stress in m2 s-2", both(scaled("taux", 1e-3), scaled("tauy", 1e-3)), "*"),
        ("map", "rain in mm day-1", scaled("rain", 86400.0), "*"),
        ("map", "rain in m s-1", scaled("rain", 1e-3), ""),
        ("map", "temperature in kelvin", scaled("temp", 1.0, 273.15), "*"),
        ("map", "temperature in degF", scaled("temp", 1.8, 32.0), "*"),
        ("map", "salinity in kg kg-1", scaled("salt", 1e-3), "*"),
        ("map", "factor before the unit", option(fields={"heat": {"factor": 1e-3}}), "*"),
        ("mooring", "temperature in degF", scaled("TEMP", 1.8, 32.0), "*"),
        ("mooring", "temperature in kelvin", scaled("TEMP", 1.0, 273.15), "*"),
        ("mooring", "salinity in kg kg-1", scaled("PSAL", 1e-3), "*"),
        ("mooring", "conductivity in mS cm-1 as salinity", replaced("PSAL", lambda g: 38.0 + 0.9 * g.values["TEMP"]), "*"),
        ("mooring", "conductivity in S m-1 as salinity", replaced("PSAL", lambda g: 3.0 + 0.09 * g.values["TEMP"]), "*"),
        ("mooring", "currents in cm s-1", both(scaled("UCUR", 100.0), scaled("VCUR", 100.0)), "*"),
        ("mooring", "currents in mm s-1", both(scaled("UCUR", 1000.0), scaled("VCUR", 1000.0)), "*"),
        ("mooring", "depths in km", scaled("depth", 1e-3), "*"),
        ("mooring", "depths in cm", scaled("depth", 100.0), "*"),
        ("mooring", "depths in feet", scaled("depth", 3.28), ""),
        ("float", "temperature in degF", scaled("TEMP", 1.8, 32.0), "*"),
        ("float", "salinity in kg kg-1", scaled("PSAL", 1e-3), "*"),
        ("float", "pressure in kPa", scaled("PRES", 10.0), "*"),
        ("float", "pressure in MPa", scaled("PRES", 1e-2), ""),
        ("simulation", "heat in kW m-2", scaled("surface_heat_flux", 1e-3), "*"),
        ("simulation", "heat in MJ m-2 day-1", scaled("surface_heat_flux", 0.0864), "heat_budget"),
        ("simulation", "heat in kJ m-2 h-1", scaled("surface_heat_flux", 3.6), "heat_budget"),
        ("simulation", "heat in K m s-1", scaled("surface_heat_flux", 2.4e-7), "*"),
        ("simulation", "heat in cal cm-2 day-1", scaled("surface_heat_flux", 1 / 0.4843), "heat_budget"),
        ("simulation", "stress in dyn cm-2", both(scaled("surface_stress_u", 10.0), scaled("surface_stress_v", 10.0)), "*"),
        ("simulation", "stress in m2 s-2", both(scaled("surface_stress_u", 1e-3), scaled("surface_stress_v", 1e-3)), "*"),
        ("simulation", "fresh water in mm day-1", scaled("surface_freshwater_flux", 86400.0), "*"),
        ("simulation", "fresh water in m s-1", scaled("surface_freshwater_flux", 1e-3), "salt_budget"),
        ("simulation", "f per day", option(coriolis_parameter=1e-4 * 86400.0), "*"),
        ("simulation", "f per hour", option(coriolis_parameter=1e-4 * 3600.0), "*"),
        ("simulation", "temperature in degF", scaled("temperature", 1.8, 32.0), "*"),
        ("simulation", "depths in km", scaled("z", 1e-3), "*"),
        ("simulation", "currents in cm s-1", both(scaled("u", 100.0), scaled("v", 100.0)), "*"),
        ("LESbrary", "heat not divided", option(heat=150.0), "*"),
        ("LESbrary", "stress not divided", option(tau=102.4, tau_v=30.7), "*"),
        ("LESbrary", "stress divided twice", option(tau=1e-4, tau_v=3e-5), "*"),
        ("LESbrary", "f per day", option(coriolis_parameter=8.64), "*"),
    ]  # fmt: skip
    yield from (Mistake(*row) for row in rows)


def _signs_and_places() -> Iterator[Mistake]:
    upside = lambda g: g.values.update(temperature=g.values["temperature"][:, ::-1])  # noqa: E731
    own = lambda depth, **profiles: {"profiles": profiles}  # noqa: E731
    flipped = {k: v[::-1] for k, v in good.water(200.0).items() if k in ("temperature", "salinity")}
    mixed = {"temperature": good.water(200.0)["salinity"], "salinity": good.water(200.0)["temperature"]}
    rows: list[tuple[str, str, Change, str]] = [
        ("simulation", "heat upward", scaled("surface_heat_flux", -1.0), "heat_budget"),
        ("simulation", "stress upward", both(scaled("surface_stress_u", -1.0), scaled("surface_stress_v", -1.0)), "momentum_budget"),
        ("simulation", "rain upward", scaled("surface_freshwater_flux", -1.0), "salt_budget"),
        ("simulation", "stress components swapped", swapped("surface_stress_u", "surface_stress_v"), "momentum_budget"),
        ("simulation", "currents swapped", swapped("u", "v"), "momentum_budget"),
        ("simulation", "f of the other hemisphere", option(coriolis_parameter=-1e-4), "momentum_budget"),
        ("simulation", "latitude of the other hemisphere", lambda g: (g.options.pop("coriolis_parameter"), g.options.update(latitude=-43.3)), "momentum_budget"),
        ("simulation", "latitude in radians", lambda g: (g.options.pop("coriolis_parameter"), g.options.update(latitude=0.756)), ""),
        ("simulation", "profiles upside down", upside, "unstable_profile"),
        ("simulation", "temperature and salinity swapped", swapped("temperature", "salinity"), "*"),
        ("LESbrary", "heat upward", option(heat=-150.0 / (good.DENSITY * good.HEAT_CAPACITY)), "heat_budget"),
        ("LESbrary", "stress upward", option(tau=-0.1, tau_v=-0.03), "momentum_budget"),
        ("LESbrary", "f of the other hemisphere", option(coriolis_parameter=-1e-4), "momentum_budget"),
        ("LESbrary", "profiles upside down", upside, "unstable_profile"),
        ("mooring", "temperature and salinity swapped", swapped("TEMP", "PSAL"), "*"),
        ("mooring", "depths in the other order", lambda g: g.values.update(TEMP=g.values["TEMP"][:, ::-1].copy()), "unstable_profile"),
        ("mooring", "u twice", lambda g: g.values.update(VCUR=g.values["UCUR"]), "currents_swapped"),
        ("mooring", "another place", option(position=(-35.0, 150.0)), "position"),
        ("mooring", "latitude and longitude swapped", option(position=(-9.0, 48.0)), "position"),
        ("mooring", "longitude of the other sign", option(position=(48.0, 9.0)), "position"),
        ("mooring", "a site 500 km off", option(position=(52.5, -9.0)), "position"),
        ("float", "another ocean", scaled("LONGITUDE", 1.0, 150.0), "position"),
        ("float", "longitude of the other sign", scaled("LONGITUDE", -1.0), "position"),
        ("float", "temperature and salinity swapped", swapped("TEMP", "PSAL"), "*"),
        ("float", "profiles upside down", lambda g: g.values.update(TEMP=g.values["TEMP"][:, ::-1].copy()), "unstable_profile"),
        ("weather", "sun at local time 12 h off", replaced("shortwave", _later(12)), "sun_by_night"),
        ("weather", "sun 6 h late", replaced("shortwave", _later(6)), "sun_by_night"),
        ("weather", "sun 4 h early", replaced("shortwave", _later(-4)), "sun_by_night"),
        ("weather", "longitude of the other sign", option(longitude=140.0), "sun_by_night"),
        ("weather", "sun zero by day", lambda g: g.put("shortwave", 0.0, *range(300, 324)), "*"),
        ("fluxes", "sun 12 h off", replaced("shortwave_flux", lambda g: np.roll(g.values["shortwave_flux"], 12)), "sun_by_night"),
        ("daily weather", "latitude of the other hemisphere", option(case_latitude=-48.0), "*"),
        ("daily weather", "times half a year off", option(case_start="2015-08-30"), "*"),
        ("weather", "f of the other hemisphere", option(coriolis_parameter=-1.08e-4), "coriolis_parameter"),
        ("weather", "f per day", option(coriolis_parameter=9.3e-3), "coriolis_parameter"),
        ("weather", "f half", option(coriolis_parameter=0.54e-4), "coriolis_parameter"),
        ("weather", "f of degrees taken as radians", option(coriolis_parameter=-1.12e-4), "coriolis_parameter"),
        ("weather", "wind twice", replaced("wind_v", lambda g: g.values["wind_u"]), "currents_swapped"),
        ("weather", "dew point and air swapped", _in_humidity("dew_point", swapped("dew_point", "air_temperature")), "dew_point_above_air"),
        ("weather", "shortwave and longwave swapped", swapped("shortwave", "longwave"), "*"),
        ("weather", "air and dew point one column off", _in_humidity("dew_point", replaced("dew_point", lambda g: g.values["relative_humidity"] * 0.3)), "dew_point_above_air"),
        ("weather", "initial profiles upside down", option(**own(200.0, **flipped)), "unstable_profile"),
        ("weather", "initial temperature and salinity swapped", option(**own(200.0, **mixed)), "*"),
        ("weather", "year 1015", option(start="1015-03-01", case_start="1015-03-01"), "*"),
        ("weather", "water of the tropics", option(profiles={"temperature": np.full(40, 29.0), "salinity": np.full(40, 35.0)}), "air_and_water"),
        ("lake", "profile upside down", lambda g: g.options.update(temperature=g.options["temperature"][::-1]), "unstable_profile"),
        ("lake", "sun 12 h off", replaced("shortwave", _later(12)), "sun_by_night"),
        ("lake", "f of the other hemisphere", option(case={"coriolis_parameter": -1.08e-4}), "coriolis_parameter"),
        ("lake", "longitude of the other sign", option(case={"longitude": 120.0}), "sun_by_night"),
        ("lake", "temperature in kelvin", lambda g: g.options.update(temperature=[t + 273.15 for t in g.options["temperature"]]), "*"),
        ("lake", "temperature in degF", lambda g: g.options.update(temperature=[1.8 * t + 32.0 for t in g.options["temperature"]]), "*"),
        ("GOTM", "profiles upside down", option(**own(200.0, temperature=good.water(200.0, 20)["temperature"][::-1], salinity=good.water(200.0, 20)["salinity"][::-1])), "unstable_profile"),
        ("GOTM", "temperature and salinity swapped", option(**own(200.0, temperature=good.water(200.0, 20)["salinity"], salinity=good.water(200.0, 20)["temperature"])), "*"),
        ("GOTM", "sun 12 h off", replaced("shortwave_flux", lambda g: np.roll(g.values["shortwave_flux"], 12)), "sun_by_night"),
        ("map", "profiles upside down", lambda g: g.values.update(temp=g.values["temp"][::-1].copy()), "unstable_profile"),
        ("map", "temperature and salinity swapped", swapped("temp", "salt"), "*"),
        ("map", "heat with the sun beside the sun", replaced("heat", lambda g: g.values["heat"] + g.values["sun"]), "*"),
    ]  # fmt: skip
    yield from (Mistake(*row) for row in rows)


def _names() -> Iterator[Mistake]:
    upward = [
        ("heat_flux", "upward surface heat flux"),
        ("heat_flux", "heat loss of the ocean"),
        ("heat_flux", "heat flux from ocean to atmosphere"),
        ("stress_u", "eastward stress on the atmosphere"),
        ("freshwater_flux", "evaporation minus precipitation"),
        ("freshwater_flux", "E-P"),
        ("shortwave_flux", "reflected shortwave radiation"),
    ]
    for name, words in upward:
        change = attribute(f"surface_{name}", long_name=words)
        if name == "shortwave_flux":
            change = both(change, replaced("surface_shortwave_flux", lambda g: 0.0 * g.values["time"] + 5.0),
                          lambda g: g.units.update(surface_shortwave_flux="W m-2"))  # fmt: skip
        yield Mistake("simulation", f"called '{words}'", change, "sign_of_name")
    sunny = both(
        replaced("surface_shortwave_flux", lambda g: 0.0 * g.values["time"] + 100.0),
        lambda g: g.units.update(surface_shortwave_flux="W m-2"),
    )
    for words in ("net surface heat flux", "total heat flux into the ocean"):
        change = both(sunny, attribute("surface_heat_flux", long_name=words))
        yield Mistake("simulation", f"called '{words}' beside the sun", change, "net_of_the_sun")
    rows: list[tuple[str, str, Change, str]] = [
        ("CF weather", "shortwave called net", attribute("shortwave", long_name="net shortwave radiation"), "net_of_the_sun"),
        ("CF weather", "shortwave called upward", attribute("shortwave", long_name="upward shortwave radiation"), "sign_of_name"),
        ("CF weather", "longwave called outgoing", attribute("longwave", long_name="outgoing longwave radiation"), "sign_of_name"),
        ("CF weather", "longwave called net", attribute("longwave", long_name="net longwave"), "net_of_the_sun"),
        ("CF weather", "pressure (hPa) in Pa", attribute("air_pressure", long_name="air pressure (hPa)"), "unit_of_name"),
        ("CF weather", "wind [knots] in m s-1", attribute("wind_u", long_name="eastward wind [knots]"), "unit_of_name"),
        ("CF weather", "air (K) in degC", attribute("air_temperature", long_name="air temperature (K)"), "unit_of_name"),
        ("CF weather", "shortwave (kW m-2) in W m-2", attribute("shortwave", long_name="shortwave (kW m-2)"), "unit_of_name"),
        ("CF weather", "u with the name of v", attribute("wind_u", standard_name="northward_wind"), "another_quantity"),
        ("CF weather", "wind_u called meridional", attribute("wind_u", long_name="meridional wind"), "another_quantity"),
        ("CF weather", "gusts as wind", attribute("wind_u", long_name="wind gust"), "another_quantity"),
        ("CF weather", "dew point as air temperature", attribute("air_temperature", standard_name="dew_point_temperature"), "another_quantity"),
        ("CF weather", "evaporation as rain", attribute("precipitation", long_name="evaporation"), "*"),
        ("CF weather", "sea surface temperature as air", attribute("air_temperature", long_name="sea surface temperature"), "another_quantity"),
        ("CF weather", "wind in km h-1", both(scaled("wind_u", 3.6), scaled("wind_v", 3.6)), "*"),
        ("CF weather", "wind_kn", called("wind_u", "wind_kn"), "unit_of_name"),
        ("CF weather", "p_hPa in Pa", called("air_pressure", "p_hPa"), "unit_of_name"),
        ("CF weather", "photosynthetic radiation as shortwave", attribute("shortwave", long_name="photosynthetic active radiation"), "another_quantity"),
        ("mooring", "conductivity called so", attribute("PSAL", long_name="sea water electrical conductivity"), "another_quantity"),
        ("mooring", "UCUR called northward", attribute("UCUR", standard_name="northward_sea_water_velocity"), "*"),
        ("mooring", "temperature (degF) in degC", attribute("TEMP", long_name="temperature (degF)"), "unit_of_name"),
        ("simulation", "u called northward", attribute("u", long_name="northward velocity"), "another_quantity"),
        ("simulation", "stress_u called y", attribute("surface_stress_u", standard_name="surface_downward_northward_stress"), "another_quantity"),
        ("simulation", "positive: up on heat", attribute("surface_heat_flux", positive="up"), "sign_of_name"),
        ("map", "heat called upward", attribute("heat", long_name="upward heat flux"), "sign_of_name"),
        ("map", "heat called net beside the sun", attribute("heat", long_name="net surface heat flux"), "net_of_the_sun"),
        ("map", "stress on the atmosphere", attribute("taux", long_name="zonal stress on the atmosphere"), "sign_of_name"),
        ("map", "evaporation minus precipitation", attribute("rain", long_name="evaporation - precipitation"), "sign_of_name"),
        ("map", "taux called meridional", attribute("taux", long_name="meridional wind stress"), "another_quantity"),
    ]  # fmt: skip
    yield from (Mistake(*row) for row in rows)


def _summed(given: Given) -> np.ndarray:
    """Sums since midnight of hourly values."""
    values = given.values["shortwave"]
    return np.concatenate([np.cumsum(values[i : i + 24]) for i in range(0, values.size, 24)])


def _polar(given: Given) -> None:
    u, v = given.values["wind_u"], given.values["wind_v"]
    given.values |= {"wind_u": np.hypot(u, v), "wind_v": np.arctan2(v, u) % (2.0 * np.pi)}


def _sensors(change: Callable[[np.ndarray], None]) -> Change:
    def of(given: Given) -> None:
        given.values["TEMP"] = given.values["TEMP"].copy()
        change(given.values["TEMP"])

    return of


def _swap_sensors(values: np.ndarray) -> None:
    values[:, [1, 4]] = values[:, [4, 1]]


def _warm_sensor(values: np.ndarray) -> None:
    values[:, 3] += 3.0


def _half(given: Given) -> np.ndarray:
    values = given.values["air_temperature"].copy()
    values[values.size // 2 :] = 1.8 * values[values.size // 2 :] + 32.0
    return values


def _layouts() -> Iterator[Mistake]:
    """Tried on real files first: a third of them passed without a note when they were written down."""
    daily = lambda g: np.repeat(g.values["shortwave"][:960].reshape(40, 24).mean(axis=1), 24)  # noqa: E731
    area = [0.1, 0.8, 1.6, 2.4, 3.2, 4.0]
    friction = 1.0 / np.sqrt(good.DENSITY * np.hypot(0.1, 0.03))  # velocity over stress
    rows: list[tuple[str, str, Change, str]] = [
        ("weather", "wind as speed and direction in radians", _polar, "wind_direction"),
        ("weather", "wind to where it blows", both(scaled("wind_u", -1.0), scaled("wind_v", -1.0)), ""),
        ("weather", "cloud cover as the clear part", scaled("cloud_cover", -1.0, 1.0), "cloud_and_sun"),
        ("weather", "air 12 h off", replaced("air_temperature", lambda g: np.roll(g.values["air_temperature"], 12)), "warm_nights"),
        ("weather", "sun summed since midnight", replaced("shortwave", _summed), "*"),
        ("weather", "daily means of the sun in hourly records", replaced("shortwave", lambda g: np.append(daily(g), 0.0)), "sun_by_night"),
        ("weather", "air in degF from the middle on", replaced("air_temperature", _half), "*"),
        ("weather", "rain summed since the start", replaced("precipitation", lambda g: np.cumsum(g.values["precipitation"])), "*"),
        ("lake", "areas in km2 as m2", option(area=area), "basin"),
        ("lake", "areas in hectares as m2", option(area=[100.0 * a for a in area]), "basin"),
        ("lake", "areas from the surface down", option(area=[1e6 * a for a in area[::-1]]), "*"),
        ("simulation", "times in hours as s", scaled("time", 1.0 / 3600.0), "heat_budget"),
        ("simulation", "times in minutes as s", scaled("time", 1.0 / 60.0), "heat_budget"),
        ("simulation", "heat twice", scaled("surface_heat_flux", 2.0), "heat_budget"),
        ("simulation", "heat in cal instead of J", scaled("surface_heat_flux", 1.0 / 4.184), "heat_budget"),
        ("simulation", "friction velocity as stress", both(scaled("surface_stress_u", friction), scaled("surface_stress_v", friction)), "momentum_budget"),
        ("simulation", "rain of a tenth", scaled("surface_freshwater_flux", 0.1), "salt_budget"),
        ("LESbrary", "heat twice", option(heat=300.0 / (good.DENSITY * good.HEAT_CAPACITY)), "heat_budget"),
        ("mooring", "two sensors swapped", _sensors(_swap_sensors), "swapped_levels"),
        ("mooring", "a sensor 3 K warm", _sensors(_warm_sensor), "swapped_levels"),
    ]  # fmt: skip
    yield from (Mistake(*row) for row in rows)


TABLE: tuple[Mistake, ...] = (
    *_codes(), *_spikes_and_stuck(), *_units(), *_signs_and_places(), *_names(), *_layouts(),
)  # fmt: skip


def outcome(mistake: Mistake, folder: Path) -> Said:
    """What the package says to an input with a mistake."""
    make, read = BASES[mistake.base]
    given = make()
    mistake.change(given)
    return read(given, folder)


def is_noted(mistake: Mistake, said: Said) -> bool:
    """Whether the rule of the row says it; `*` stands for any rule, or an error."""
    if mistake.rule == "*":
        return bool(said)
    return any(f"[{mistake.rule}]" in one for one in said)


def false_alarms() -> dict[str, Said]:
    """Notes on the good inputs, of which there are to be none."""
    found = {}
    for name, (make, read) in BASES.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = read(make(), Path(folder))
    return found


def rules_as_markdown() -> str:
    """The tables of rules and limits of the page `docs/plausibility.md`."""
    names = {limit.rule for limit in LIMITS}
    lines = ["| rule | notes |", "| --- | --- |"]
    lines += [f"| `{one.name}` | {one.summary} |" for one in RULES.values() if one.name not in names]
    lines += [
        "",
        "| rule | quantity | where | statistic | from | to | record of at least | likely cause |",
        "| --- " * 8 + "|",
    ]
    for limit in LIMITS:
        low, high = ("" if np.isinf(bound) else f"{bound:g}" for bound in (limit.lowest, limit.highest))
        where = limit.group if limit.context == "any" else f"{limit.group}, {limit.context}"
        days = f"{limit.least_days:g} days" if limit.least_days else ""
        cells = (
            limit.rule,
            limit.quantity,
            where,
            limit.statistic.replace("_size", " magnitude"),
            low,
            high,
            days,
            limit.cause,
        )
        lines.append(
            "| `{}` | {} [{}] | {} | {} | {} | {} | {} | {} |".format(
                cells[0], cells[1], limit.unit, *cells[2:]
            )
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table of detection."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.mistakes", description=__doc__)
    parser.add_argument("--only", default="", help="of bases or names that contain this text")
    parser.add_argument("--verbose", action="store_true", help="with what was said")
    parser.add_argument("--rules", action="store_true", help="print the tables of the page on rules")
    options = parser.parse_args()
    if options.rules:
        print(rules_as_markdown(), end="")
        return 0
    clock, tried, noted = time.perf_counter(), Counter[str](), Counter[str]()
    for name, said in false_alarms().items():
        for one in said:
            print(f"FALSE ALARM {name}: {one}")
    for row in TABLE:
        if options.only not in f"{row.base}: {row.name}":
            continue
        with tempfile.TemporaryDirectory() as folder:
            said = outcome(row, Path(folder))
        if not row.rule:
            print(f"nobody sees {row.base}: {row.name}" + (f" (but noted: {said[0]})" if said else ""))
            continue
        tried[row.base] += 1
        noted[row.base] += is_noted(row, said)
        if not is_noted(row, said):
            print(
                f"MISSED {row.base}: {row.name} ({row.rule}); said: {'; '.join(said) or 'nothing'}",
                flush=True,
            )
        elif options.verbose:
            print(f"{row.base}: {row.name}: {'; '.join(said)}", flush=True)
    print(f"\n{'input':16}{'mistakes':>9}{'noted':>7}")
    for name in tried:
        print(f"{name:16}{tried[name]:9d}{noted[name]:7d}")
    share = noted.total() / max(tried.total(), 1)
    print(
        f"{'all':16}{tried.total():9d}{noted.total():7d}  {share:.0%} in {time.perf_counter() - clock:.0f} s"
    )
    return int(share < 0.8)


if __name__ == "__main__":
    import tunax_lite

    tunax_lite.configure(precision="float64")
    sys.exit(main())
