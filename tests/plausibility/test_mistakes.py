"""Each rule notes an everyday mistake in good input, and no rule notes the good input itself."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import some_long
from tests.plausibility import inputs
from tests.plausibility.inputs import DENSITY, Given, Notes
from tunax_lite.plausibility import RULES, findings_of
from tunax_lite.plausibility.inputs import Evidence, Samples
from tunax_lite.plausibility.rules import LIMITS

Change = Callable[[Given], object]

BASES: dict[str, tuple[Callable[[], Given], Callable[[Given, Path], Notes]]] = {
    "weather": (inputs.weather, inputs.weather_file),
    "daily weather": (lambda: inputs.weather(400, 86400.0), inputs.weather_file),
    "fluxes": (inputs.fluxes, inputs.prescribed),
    "simulation": (inputs.simulated, inputs.cf_simulation),
    "waves": (lambda: inputs.simulated(drift=0.3), inputs.cf_simulation),
    "mooring": (inputs.moored, inputs.mooring),
}


def times(factor: float, *names: str) -> Change:
    return lambda given: [given.scale(name, factor) for name in names]


def plus(offset: float, name: str) -> Change:
    return lambda given: given.scale(name, 1.0, offset)


def put(name: str, value: float, *at: Any) -> Change:
    return lambda given: given.put(name, value, *at)


def called(name: str, **attributes: str) -> Change:
    return lambda given: given.attrs.update({name: attributes})


def option(**options) -> Change:
    return lambda given: given.options.update(options)


def stuck(given: Given) -> None:
    given.put("air_pressure", float(given.values["air_pressure"][200]), slice(200, 290))


def spike(size: float, name: str, *at: int) -> Change:
    return lambda given: given.put(name, float(given.values[name][at]) + size, at)


def swapped(one: str, other: str) -> Change:
    return lambda given: given.swap(one, other)


def let(**made: Callable[[dict[str, np.ndarray]], np.ndarray]) -> Change:
    return lambda given: given.values.update({name: make(given.values) for name, make in made.items()})


def both(*changes: Change) -> Change:
    return lambda given: [change(given) for change in changes]


def since_midnight(values: dict[str, np.ndarray]) -> np.ndarray:
    rain = np.append(values["precipitation"], np.zeros(-len(values["time"]) % 24)).reshape(-1, 24)
    return np.cumsum(rain, axis=1).ravel()[: len(values["time"])]


def sunny(given: Given) -> None:
    given.values["surface_shortwave_flux"] = -0.5 * given.values["surface_heat_flux"]
    given.units["surface_shortwave_flux"] = "W m-2"


def latitude_south(given: Given) -> None:
    given.options.pop("coriolis_parameter")
    given.options["latitude"] = -43.3


WARM = {"temperature": np.full(40, 29.0), "salinity": np.full(40, 35.0)}
STRESS = ("surface_stress_u", "surface_stress_v")
FRICTION = 1.0 / np.sqrt(DENSITY * np.hypot(0.1, 0.03))  # velocity over stress
ERROR, UNNOTED = "error", "unnoted"

# Input, mistake, and the rule that notes it (or that reading it is an error, or that nothing notes it).
MISTAKES: list[tuple[str, Change, str]] = [
    ("weather", put("air_temperature", -9.99, 100, 101, 102, 500), "missing_code"),
    ("mooring", put("PSAL", 0.0, (slice(100, 103), 1)), "missing_code"),
    ("weather", times(3.6, "wind_u", "wind_v"), "wind_speed"),
    ("weather", plus(273.15, "air_temperature"), ERROR),
    ("weather", plus(30.0, "air_temperature"), "air_temperature"),
    ("weather", times(0.01, "relative_humidity"), ERROR),
    ("weather", both(option(humidity="specific_humidity"), times(1e-3, "specific_humidity")), "humidity"),
    ("weather", both(option(humidity="dew_point"), swapped("dew_point", "air_temperature")),
     "dew_point_above_air"),
    ("weather", times(0.92, "air_pressure"), "air_pressure"),
    ("weather", times(0.08, "cloud_cover"), "cloud_cover"),
    ("weather", times(24.0, "precipitation"), "precipitation"),
    ("weather", times(1e-3, "shortwave"), "sun_amount"),
    ("weather", times(2.2, "shortwave"), "shortwave"),
    ("weather", let(shortwave=lambda v: np.roll(v["shortwave"], 6)), "sun_by_night"),
    ("weather", option(longitude=140.0), "sun_by_night"),
    ("weather", times(0.5, "longwave"), "longwave"),
    ("weather", option(longwave="net"), ERROR),
    ("weather", let(wind_v=lambda v: v["wind_u"]), "currents_swapped"),
    ("weather", option(profiles=WARM), "air_and_water"),
    ("weather", option(coriolis_parameter=-1.08e-4), "coriolis_parameter"),
    ("daily weather", option(case_start="2015-08-30"), "sun_amount"),
    ("weather", called("shortwave", long_name="net shortwave radiation"), "net_of_the_sun"),
    ("weather", called("wind_u", standard_name="northward_wind"), "another_quantity"),
    ("fluxes", times(1e-3, "heat_flux"), "surface_heat_flux"),
    ("fluxes", times(-1.0, "heat_flux"), "heat_sign"),
    ("fluxes", let(heat_flux=lambda v: v["heat_flux"] + v["shortwave_flux"]), "sun_counted_twice"),
    ("fluxes", times(1e-3, "shortwave_flux"), "surface_shortwave_flux"),
    ("fluxes", times(60.0, "stress_u", "stress_v"), "surface_stress"),
    ("fluxes", times(90.0, "freshwater_flux"), "surface_freshwater_flux"),
    ("simulation", times(-1.0, "surface_heat_flux"), "heat_budget"),
    ("simulation", times(-1.0, "surface_freshwater_flux"), "salt_budget"),
    ("simulation", times(-1.0, *STRESS), "momentum_budget"),
    ("simulation", times(FRICTION, *STRESS), "momentum_budget"),
    ("simulation", swapped(*STRESS), "momentum_budget"),
    ("simulation", latitude_south, "momentum_budget"),
    ("waves", times(-1.0, *STRESS), "momentum_budget"),
    ("waves", swapped(*STRESS), "momentum_budget"),
    ("waves", latitude_south, "momentum_budget"),
    ("simulation", let(temperature=lambda v: v["temperature"][:, ::-1]), "unstable_profile"),
    ("simulation", called("surface_heat_flux", long_name="heat loss of the ocean"), "sign_of_name"),
    ("simulation", called("surface_heat_flux", positive="up"), "sign_of_name"),
    ("simulation", called("surface_freshwater_flux", long_name="E-P"), "sign_of_name"),
    ("simulation", both(sunny, called("surface_heat_flux", long_name="net heat flux")), "net_of_the_sun"),
    ("simulation", times(100.0, "u", "v"), "water_velocity"),
    ("mooring", plus(28.0, "TEMP"), "water_temperature"),
    ("mooring", swapped("TEMP", "PSAL"), "water_swapped"),
    ("mooring", let(VCUR=lambda v: v["UCUR"]), "currents_swapped"),
    ("mooring", let(PSAL=lambda v: 38.0 + 0.9 * v["TEMP"]), "salinity"),
    ("mooring", times(1e-3, "PSAL"), ERROR),
    ("mooring", option(position=(48.0, 9.0)), "position"),
    ("mooring", option(position=(-9.0, 48.0)), "position"),
    ("weather", spike(9.0, "air_temperature", 333), UNNOTED),
    ("weather", stuck, UNNOTED),
    ("weather", let(cloud_cover=lambda v: 0.1 * np.round(8.0 * v["cloud_cover"])), UNNOTED),
    ("weather", both(times(-1.0, "cloud_cover"), plus(1.0, "cloud_cover")), UNNOTED),
    ("weather", let(precipitation=since_midnight), UNNOTED),
    ("weather", put("shortwave", 0.0, slice(300, 324)), UNNOTED),
    ("weather", let(air_temperature=lambda v: np.roll(v["air_temperature"], 12)), UNNOTED),
    ("weather", let(wind_u=lambda v: np.hypot(v["wind_u"], v["wind_v"]),
                    wind_v=lambda v: np.arctan2(v["wind_v"], v["wind_u"]) % (2.0 * np.pi)), UNNOTED),
    ("weather", called("air_pressure", long_name="air pressure (hPa)"), UNNOTED),
    ("weather", option(names={"wind_u": "wind_kn"}), UNNOTED),
    ("mooring", times(1e-3, "depth"), UNNOTED),
    ("mooring", let(TEMP=lambda v: v["TEMP"][:, [0, 4, 2, 3, 1, 5]]), UNNOTED),
]  # fmt: skip


@pytest.mark.parametrize("base", some_long(BASES, lambda base: base == "weather"))
def test_mistakes_are_noted_and_good_input_is_not(base, tmp_path):
    make, read = BASES[base]
    good = make()
    assert read(good, tmp_path) == ()
    missed = []
    for number, (kind, change, rule) in enumerate(MISTAKES):
        if kind == base:
            given = copy.deepcopy(good)
            change(given)
            notes = read(given, tmp_path)
            wanted = "error: " if rule == ERROR else f"accept: [{rule}]"
            if bool(notes) == (rule == UNNOTED) or notes and not any(wanted in note for note in notes):
                missed.append((number, rule, notes))
    assert not missed


LAKE: dict[str, Any] = {"is_lake": True}


def test_every_rule_has_its_mistake():
    assert findings_of(Evidence(**LAKE)) == ()
    limits = {limit.rule for limit in LIMITS}  # below
    assert {rule for *_, rule in MISTAKES} - {ERROR, UNNOTED} | limits == set(RULES)


def test_every_limit_notes_what_lies_beyond():
    time = np.arange(0.0, 30.0 * 86400.0, 3600.0)
    for limit in (one for one in LIMITS if one.group != "derived"):
        group = {"weather": "weather", "fluxes": "fluxes", "profiles": "observed"}[limit.group]
        lake: dict[str, Any] = LAKE if limit.context == "fresh" else {}
        for bound, outward in ((limit.lowest, -1.0), (limit.highest, 1.0)):
            if np.isfinite(bound):
                step = outward * 0.02 * max(abs(bound), 1e-9)
                records = (np.full(time.size, bound + change) for change in (-step, step))
                inside, beyond = (Samples(limit.quantity, limit.quantity, time, values) for values in records)
                assert not limit.exceeded_by(inside) and limit.exceeded_by(beyond), limit
                found = findings_of(Evidence(**{group: {limit.quantity: beyond}}, **lake))
                assert limit.rule in {one.rule for one in found}, limit
