"""Lakes against their thermistor chains, as they come and calibrated: `python -m benchmarks.lakes`.

Lough Feeagh (Ireland), Erken (Sweden) and Sparkling Lake (Wisconsin), from the folder `lakes` below
`TUNAX_LITE_DATA`: k-epsilon, hourly steps. Four numbers are calibrated on one period and validated
on another: the penetration depth of visible light, factors of wind and shortwave, and background turbulence.
"""

import argparse
import csv
import dataclasses
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.air_sea import (
    BulkForcing,
    DownwardLongwave,
    MeanLight,
    Payne,
    SolarPosition,
    Weather,
    with_mean_light,
)
from tunax_lite.air_sea.radiation import Clark
from tunax_lite.calibration import (
    FreeParameter,
    FreeParameters,
    LevenbergMarquardt,
    Target,
    calibrate,
    with_case_parameters,
    with_parameters,
)
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.column.terms import BottomFriction, Interior
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.config import build_run, load_run
from tunax_lite.ice.freezing import FreezingBound
from tunax_lite.io import read_hypsography, read_weather
from tunax_lite.io.sea_water import conservative_temperature
from tunax_lite.physics import Teos10, TwoBandAbsorption, coriolis_parameter

from .harness import Row

DAY, DT = 86400.0, 3600.0
LAYERS = {"0-5 m": (0.0, 5.0), "5-15 m": (5.0, 15.0), "below": (15.0, 1e3)}
SEASONS = {"DJF": (12, 1, 2), "MAM": (3, 4, 5), "JJA": (6, 7, 8), "SON": (9, 10, 11)}

Chain = dict[datetime.date, tuple[np.ndarray, np.ndarray]]
"""Depths [m] and in-situ temperatures [degC] of a day."""


def folder() -> Path:
    """Where the lakes are."""
    path = os.environ.get("TUNAX_LITE_DATA")
    if not path:
        raise SystemExit("benchmarks: set TUNAX_LITE_DATA to the folder that holds lakes/feeagh")
    return Path(path) / "lakes"


def chain(path: Path, date: str, depth: str, temperature: str) -> Chain:
    """What a thermistor chain measured, by day, from a table with a line per value."""
    found: dict[datetime.date, dict[float, float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row[temperature] not in ("", "NA", "NaN"):
                day = datetime.date.fromisoformat(row[date][:10].strip())
                found.setdefault(day, {})[float(row[depth])] = float(row[temperature])
    return {
        day: (np.array(sorted(values)), np.array([values[z] for z in sorted(values)]))
        for day, values in found.items()
        if len(values) > 2
    }


@dataclasses.dataclass(frozen=True)
class Lake:
    """A lake, its weather, and where files have what.

    Args:
        columns: of the weather: wind, air temperature, humidity, shortwave, and longwave, pressure, cloud and
            rain where they are known.
        visible_depth: one over the extinction that others measured there [m].
        periods: for calibration, and for validation.
    """

    name: str
    place: tuple[float, float, float]  # latitude, longitude [degrees], depth [m]
    hypsography: str | tuple[list[float], list[float]]
    weather: str
    columns: dict[str, str]
    chain: tuple[str, str, str, str]
    visible_depth: float
    periods: tuple[tuple[str, str], tuple[str, str]]

    def case(
        self, start: datetime.date, end: datetime.date, profile: tuple[np.ndarray, np.ndarray]
    ) -> tl.Case:
        """The lake from a day to another, from the profile of the first."""
        latitude, longitude, depth = self.place
        table = self.hypsography
        if isinstance(table, str):
            table = read_hypsography(folder() / table, depth)
        grid = tl.Grid.uniform(depth, 2 * round(depth)).with_hypsography(*table)
        temperature = np.interp(-np.asarray(grid.z_center), *profile)
        values = self._weather(start)
        sun = SolarPosition(start.isoformat(), latitude, longitude)
        longwave = Clark() if values.values.longwave is None else DownwardLongwave()
        rains = values.values.precipitation is not None
        duration = (end - start).days * DAY
        forcing = BulkForcing(values, longwave=longwave, albedo=Payne(), sun=sun, evaporation=rains)
        forcing, _ = with_mean_light(forcing, MeanLight(), dt=DT, duration=duration)  # daily, but at Erken
        return tl.Case(
            grid,
            tl.State.from_profiles(grid, temperature=in_the_column(temperature), salinity=0.0),
            forcing,
            coriolis_parameter(latitude),
            equation_of_state=Teos10(),
            absorption=TwoBandAbsorption(0.55, 0.5, self.visible_depth),
            interior=Interior(bottom_friction=BottomFriction(von_karman=None)),
            ice=FreezingBound(),
            duration=duration,
            start_time=start.isoformat(),
        )

    def _weather(self, start: datetime.date) -> TimeSeries[Weather]:
        given: dict[str, str | float] = {"wind_v": 0.0, "air_pressure": 95500.0, **self.columns}
        weather, _ = read_weather(
            folder() / self.weather,
            start_time=start.isoformat(),
            variables=given,
            units=_UNITS,
            humidity_measure="relative",
            longwave="downward" if "longwave" in self.columns else None,
        )
        return weather


_UNITS = {
    "wind_u": "m s-1",
    "air_temperature": "degC",
    "humidity": "%",
    "shortwave": "W m-2",
    "longwave": "W m-2",
    "cloud_cover": "1",
    "air_pressure": "Pa",
    "precipitation": "mm day-1",
}
_LER = {
    "wind_u": "Ten_Meter_Elevation_Wind_Speed_meterPerSecond",
    "air_temperature": "Air_Temperature_celsius",
    "humidity": "Relative_Humidity_percent",
    "shortwave": "Shortwave_Radiation_Downwelling_wattPerMeterSquared",
}
_FEEAGH_CHAIN = (
    "feeagh/LER_feeagh_wtemp_profile_1day_2004-2016.csv",
    "datetime",
    "Depth_meter",
    "Water_Temperature_celsius",
)
LAKES = (
    Lake(
        "Feeagh, daily weather",
        (53.9, -9.5, 46.8),
        "feeagh/LakeEnsemblR_bathymetry_standard.csv",
        "feeagh/LakeEnsemblR_meteo_standard_daily.csv",
        _LER
        | {
            "longwave": "Longwave_Radiation_Downwelling_wattPerMeterSquared",
            "air_pressure": "Surface_Level_Barometric_Pressure_pascal",
            "precipitation": "Precipitation_millimeterPerDay",
        },
        _FEEAGH_CHAIN,
        1.0 / 0.98,
        (("2010-01-01", "2012-01-01"), ("2013-01-01", "2015-01-01")),
    ),
    Lake(
        "Erken, every 10 minutes",
        (59.84, 18.63, 21.0),
        "erken/LakeEnsemblR_bathy_Erken.csv",
        "erken/LakeEnsemblR_meteo_Erken_10mins.csv",
        _LER
        | {
            "cloud_cover": "Cloud_Cover_decimalFraction",
            "air_pressure": "Surface_Level_Barometric_Pressure_pascal",
        },
        ("erken/Erken_temp_daily.csv", "TIMESTAMP", "DEPTH", "WTEMP"),
        1.0 / 0.61,
        (("2010-05-01", "2010-08-01"), ("2010-08-01", "2010-11-15")),
    ),
    Lake(
        "Sparkling, daily weather",
        (46.00881, -89.69953, 18.288),
        ([-18.288 + 1.3062857 * i for i in range(15)], [45545.82636 * i for i in range(15)]),
        "sparkling/nldas_driver.csv",
        {
            "wind_u": "WindSpeed",
            "air_temperature": "AirTemp",
            "humidity": "RelHum",
            "shortwave": "ShortWave",
            "longwave": "LongWave",
        },
        ("sparkling/sparkling_lter_temp.csv", "datetime", "depth", "temp"),
        1.0 / 0.331,
        (("1986-04-15", "1986-11-15"), ("1990-04-15", "1990-11-15")),
    ),
)


def in_the_column(temperature: np.ndarray) -> jnp.ndarray:
    """Conservative temperature of fresh water, which is 5 % above that of a thermometer."""
    return jnp.asarray(conservative_temperature(temperature, 0.0, 0.0, "in_situ"))


def hourly_feeagh(
    start: datetime.date, end: datetime.date, profile: tuple[np.ndarray, np.ndarray]
) -> tl.Case:
    """The shipped configuration, with the river, from another day."""
    z, values = -profile[0][::-1], profile[1][::-1]
    path = Path(__file__).parents[1] / "configs/runs/lough_feeagh.yaml"
    changes: dict[str, Any] = {
        "case.start_time": start.isoformat() + "T00:00:00",
        "case.duration": (end - start).days * DAY,
        "case.temperature": {"z": z.tolist(), "values": values.tolist()},
    }
    return dataclasses.replace(build_run(load_run(path, changes)).case, name="Feeagh, hourly weather")


def period(
    case_of: Any, chain: Chain, span: tuple[str, str]
) -> tuple[tl.Case, tl.Observations, datetime.date]:
    """The case from the first profile of a period on, what was measured, at noon, and the first day."""
    first, end = map(datetime.date.fromisoformat, span)
    days = sorted(day for day in chain if first <= day < end)
    start = days[0]
    depths = np.array(sorted({float(z) for day in days for z in chain[day][0]}))[::-1]
    rows = np.full((len(days), depths.size), np.nan)
    for row, day in zip(rows, days, strict=True):
        known = dict(zip(*chain[day], strict=True))
        row[:] = [known.get(z, np.nan) for z in depths]
    case = case_of(start, end, chain[start])
    deepest = float(case.grid.depth) - 0.5 * float(case.grid.cell_thickness[0])
    kept = (depths <= deepest) & (depths >= -float(case.grid.z_center[-1]))
    noon = jnp.array([((day - start).days + 0.5) * DAY for day in days])
    values = np.where(np.isfinite(rows), np.asarray(in_the_column(np.nan_to_num(rows))), np.nan)[:, kept]
    observed = tl.Observations(
        noon, jnp.asarray(-depths[kept]), {"temperature": jnp.asarray(values)}, name=case.name
    )
    return case, observed, start


def errors(model: tl.Model, case: tl.Case, observed: tl.Observations) -> np.ndarray:
    """Model less observation, of a thermometer [K]; the slope of the conversion is that of fresh water."""
    run = tl.simulate(model, case, dt=DT, duration=case.duration, output_interval=0.5 * DAY)
    frames = np.round(np.asarray(observed.time) / (0.5 * DAY)).astype(int)
    at_noon = np.asarray(run.state.temperature)[frames]
    z = np.asarray(case.grid.z_center)
    found = np.stack([np.interp(observed.z, z, row) for row in at_noon])
    return (found - np.asarray(observed.profiles["temperature"])) / 1.05


def free(case: Any) -> FreeParameters:
    """What is calibrated; light may go half or twice as deep as others measured."""
    depth = float(case.absorption.visible_depth)
    return FreeParameters(
        (
            FreeParameter("case.absorption.visible_depth", 0.5 * depth, 2.0 * depth, scale="log"),
            FreeParameter("case.forcing.wind_factor", 0.6, 2.0),
            FreeParameter("case.forcing.shortwave_factor", 0.8, 1.2),
            FreeParameter("turbulent_kinetic_energy_floor", 1e-9, 1e-4, start=1e-6, scale="log"),
        )
    )


def rms(values: np.ndarray) -> float:
    """Root mean square of what is known; NaN of nothing."""
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def scores(error: np.ndarray, observed: tl.Observations, start: datetime.date) -> Row:
    """rms over all [K], by depth and by season, and the bias."""
    depth = -np.asarray(observed.z)
    month = np.array([(start + datetime.timedelta(seconds=float(t))).month for t in observed.time])
    row: Row = {"rms": rms(error), "bias": float(np.nanmean(error))}
    row |= {name: rms(error[:, (depth >= a) & (depth < b)]) for name, (a, b) in LAYERS.items()}
    return row | {name: rms(error[np.isin(month, of)]) for name, of in SEASONS.items()}


def measure(quick: bool = False, only: str = "") -> Iterator[Row]:
    """A row for every lake whose name contains a text, and period: default, and calibrated on the first."""
    feeagh = chain(folder() / _FEEAGH_CHAIN[0], *_FEEAGH_CHAIN[1:])
    half_years = (("2010-01-01", "2010-07-01"), ("2010-07-01", "2010-12-01"))
    given: list[Any] = [("Feeagh, hourly weather", hourly_feeagh, feeagh, half_years)]
    for lake in LAKES:
        given.append((lake.name, lake.case, chain(folder() / lake.chain[0], *lake.chain[1:]), lake.periods))
    plain = tl.Model(tl.KEpsilon(turbulent_kinetic_energy_floor=1e-6))
    given = [one for one in given if only in one[0]]
    for name, case_of, measured, spans in given[:1] if quick else given:
        fitted = period(case_of, measured, spans[0])
        target = Target(*fitted[:2], dt=DT, frame_interval=0.5 * DAY)
        found = calibrate(plain, free(fitted[0]), [target], LevenbergMarquardt(), 2 if quick else 12)
        values = found.free_parameters.by_path(found.history.values[found.history.best_iteration])
        calibrated = dataclasses.replace(plain, closure=with_parameters(plain.closure, values))
        for span, part in zip(spans, (fitted, period(case_of, measured, spans[1])), strict=True):
            case, observed, start = part
            kind = "fitted" if span == spans[0] else "validated"
            runs = {"default": (plain, case)}
            runs[f"calibrated ({kind})"] = calibrated, with_case_parameters(case, values)
            for how, run in runs.items():
                of: Row = {"lake": name, "period": " to ".join(span), "numbers": how}
                yield of | scores(errors(*run, observed), observed, start)
        yield {"lake": name, "numbers": ", ".join(f"{path} = {value:.3g}" for path, value in values.items())}


def climatology(span: tuple[str, str] = ("2010-07-01", "2010-12-01"), half: int = 7) -> float:
    """Feeagh: rms [K] of the mean of all earlier years within so many days of the same day of the year."""
    measured = chain(folder() / _FEEAGH_CHAIN[0], *_FEEAGH_CHAIN[1:])
    first, end = map(datetime.date.fromisoformat, span)
    found = []
    for day in (each for each in measured if first <= each < end):
        around = [day + datetime.timedelta(days=shift) for shift in range(-half, half + 1)]
        years = range(min(measured).year, first.year)
        days = [each.replace(year=each.year - day.year + year) for year in years for each in around]
        earlier = [dict(zip(*measured[each], strict=True)) for each in days if each in measured]
        for depth, value in zip(*measured[day], strict=True):
            values = [each[depth] for each in earlier if depth in each]
            if values:
                found.append(value - np.mean(values))
    return rms(np.array(found))


def water_balance(quick: bool = False) -> Row:
    """Lough Feeagh through 2010 with a level that follows streams, rain and evaporation.

    Where the level goes [m], and the largest residual of a step over the volume. No file has levels that
    were observed, for this lake or the others, whose streams are not known either.
    """
    path = Path(__file__).parents[1] / "configs/runs/lough_feeagh.yaml"
    changes: dict[str, Any] = {
        "case.hypsography.top": 5.0,
        "case.interior.level": {},
        "case.air_sea.evaporation": True,
    }
    if quick:
        changes["case.duration"] = 10 * DAY
    built = build_run(load_run(path, changes))
    model, case = built.model, built.case
    run = tl.simulate(model, case, dt=DT, output_interval=DT, step_starts=True)
    names = ("stream_inflow", "stream_outflow", "surface_freshwater_flux")
    entering, leaving, rain = (np.asarray(of)[1:] for of in diagnose(run, case, names, model).values())
    grids = jax.vmap(lambda state: case.placed(state).grid)(run.state)
    volume, area = np.asarray(grids.volume).sum(axis=1), np.asarray(grids.area)[:-1, -1]
    fresh = rain / float(case.equation_of_state.reference_density) * area
    residual = np.diff(volume) - DT * (entering - leaving + fresh)
    level = np.asarray(run.state.surface["surface_elevation"])
    return {
        "lowest": float(level.min()),
        "highest": float(level.max()),
        "last": float(level[-1]),
        "of a step": float(np.max(np.abs(residual)) / volume[0]),
        "of the run": float(abs(np.sum(residual)) / volume[0]),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lakes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one lake, two iterations")
    parser.add_argument("--lake", default="", help="only lakes whose name contains this text")
    quick, only = parser.parse_args().quick, parser.parse_args().lake
    tl.configure()
    balance = ", ".join(f"{name} {value:.3g}" for name, value in water_balance(quick).items())
    print(f"Feeagh, level [m] and residual of the water over its volume: {balance}")
    print(f"Feeagh, July to November 2010, rms of the climatology of earlier years: {climatology():.2f} K")
    names = ("rms", "bias", *LAYERS, *SEASONS)
    print("| lake | period | parameters | " + " | ".join(names) + " |")
    print("| --- " * (3 + len(names)) + "|")
    for row in measure(quick, only):
        if "rms" not in row:
            print(f"{row['lake']}: {row['numbers']}", flush=True)
            continue
        cells = ["" if np.isnan(row[name]) else f"{row[name]:.2f}" for name in names]
        print("| " + " | ".join([row["lake"], row["period"], row["numbers"], *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
