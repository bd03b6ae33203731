"""Good inputs of many formats, small and synthetic, into which `mistakes` puts everyday mistakes.

Each makes files in a folder, reads them as a user would, and returns what was noted, or the error.
"""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import jax.numpy as jnp
import netCDF4
import numpy as np
import xarray as xr
import yaml

import tunax_lite as tl
from tunax_lite import io
from tunax_lite.air_sea import BulkForcing, ClearSky, DownwardLongwave, SolarPosition
from tunax_lite.air_sea.air import HumidityMeasure
from tunax_lite.column.forcing import TimeSeriesForcing
from tunax_lite.config import build_run, load_run
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.extensions.maps import build_map, load_map
from tunax_lite.physics import Teos10, coriolis_parameter
from tunax_lite.plausibility import collecting, remarks

DAY = 86400.0
DENSITY, HEAT_CAPACITY = 1025.0, 3991.86795711963


@dataclasses.dataclass
class Given:
    """What a mistake may change: values and their units and attributes by name, and options of the case."""

    values: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    units: dict[str, str] = dataclasses.field(default_factory=dict)
    attrs: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def scale(self, name: str, factor: float, offset: float = 0.0) -> None:
        self.values[name] = self.values[name] * factor + offset

    def put(self, name: str, value: float, *at: int) -> None:
        self.values[name] = self.values[name].copy()
        self.values[name][list(at)] = value

    def swap(self, one: str, other: str) -> None:
        self.values[one], self.values[other] = self.values[other], self.values[one]


Change = Callable[[Given], object]
Said = tuple[str, ...]


def sun_of(given: Given) -> np.ndarray:
    """Shortwave radiation under a clear sky, of the package's formula [W m-2]."""
    o = given.options
    sun = SolarPosition(o["start"], o["latitude"], o["longitude"])
    now = sun.at(jnp.asarray(given.values["time"]))
    return np.asarray(ClearSky().downward(sun.cosine_of_zenith(now), sun.noon_altitude(now), 0.0))


def _noise(n: int, seed: int, memory: float = 0.95) -> np.ndarray:
    """Of unit variance, that remembers."""
    draws, found = np.random.default_rng(seed).standard_normal(n), np.zeros(n)
    for i in range(1, n):
        found[i] = memory * found[i - 1] + np.sqrt(1.0 - memory**2) * draws[i]
    return found


def weather(days: int = 40, step: float = 3600.0, latitude: float = 48.0, start: str = "2015-03-01") -> Given:
    """The weather of a temperate sea in spring, or over a year."""
    time = np.arange(0.0, days * DAY + 1.0, step)
    n, memory = time.size, float(np.exp(-step / 7.0e4))
    given = Given({"time": time}, options={"latitude": latitude, "longitude": -9.0, "start": start})
    cloud = np.clip(0.6 + 0.4 * _noise(n, 1, memory), 0.0, 1.0)
    season = -5.0 * np.cos(2.0 * np.pi * (time / DAY + 31.0) / 365.25) * (days > 100)
    air = 11.0 + season + 1.5 * _noise(n, 2, memory) + 0.8 * np.sin(2.0 * np.pi * (time / DAY - 0.4))
    relative = np.clip(78.0 + 9.0 * _noise(n, 3, memory), 30.0, 100.0)
    vapour = 0.01 * relative * 610.94 * np.exp(17.625 * air / (air + 243.04))
    smooth = max(1, round(DAY / step))
    pressure = 101400.0 + 900.0 * np.convolve(_noise(n, 4, memory), np.ones(smooth) / smooth, "same")
    log = np.log(vapour / 610.94)
    light = sun_of(given) if step < 0.5 * DAY else _daily_sun(given)
    given.values |= {
        "wind_u": 4.0 + 4.0 * _noise(n, 5, memory),
        "wind_v": 1.0 + 4.0 * _noise(n, 6, memory),
        "air_temperature": air,
        "relative_humidity": relative,
        "specific_humidity": 0.622 * vapour / (pressure - 0.378 * vapour),
        "dew_point": 243.04 * log / (17.625 - log),
        "air_pressure": pressure,
        "cloud_cover": np.round(cloud, 3),
        "precipitation": np.maximum(_noise(n, 7, memory) - 1.0, 0.0) * 4e-7,
        "shortwave": light * (1.0 - 0.62 * cloud),
        "longwave": 5.67e-8 * (air + 273.15) ** 4 * (0.78 + 0.14 * cloud),
    }
    given.units = dict(
        zip(
            given.values,
            ["s", "m s-1", "m s-1", "degC", "%", "1", "degC", "Pa", "1", "m s-1", "W m-2", "W m-2"],
            strict=True,
        )
    )
    given.options |= {"humidity": "relative_humidity", "depth": 200.0, "longwave": "downward"}
    return given


def _daily_sun(given: Given) -> np.ndarray:
    days, hours = given.values["time"], np.arange(24.0) * 3600.0 - 43200.0
    fine = dataclasses.replace(given, values={"time": (days[:, None] + hours).ravel()})
    return sun_of(fine).reshape(days.size, 24).mean(axis=1)


def water(depth: float, n_cells: int = 40) -> dict[str, np.ndarray]:
    """A stratified column of the sea, bottom first."""
    z = -depth * (np.arange(n_cells)[::-1] + 0.5) / n_cells
    return {
        "z": z,
        "temperature": 8.0 + 4.0 * np.exp(z / 40.0),
        "salinity": 35.2 - 0.3 * np.exp(z / 60.0),
        "u": 0.0 * z,
        "v": 0.0 * z,
    }


def noted(make: Callable[[], tuple[Any, Any]]) -> Said:
    """Notes on a case and its observations, or the error on the way."""
    try:
        with collecting() as left:
            case, observations = make()
        return tuple(map(str, remarks(case, observations, left=left)))
    except (ValueError, FileNotFoundError) as error:
        return (f"error: {error}",)


def _stamps(given: Given) -> list[str]:
    start = datetime.datetime.fromisoformat(given.options["start"])
    return [(start + datetime.timedelta(seconds=float(t))).isoformat() for t in given.values["time"]]


def _csv(path: Path, given: Given, names: list[str]) -> None:
    header = ",".join(["time", *(f"{name} [{given.units[name]}]" for name in names)])
    rows = zip(_stamps(given), *(given.values[name] for name in names), strict=True)
    lines = [",".join([row[0], *(f"{value:.8g}" for value in row[1:])]) for row in rows]
    path.write_text("\n".join([header, *lines]) + "\n")


def _column(given: Given, forcing: Any) -> tl.Case:
    o, profiles = given.options, water(given.options["depth"]) | given.options.get("profiles", {})
    grid = tl.Grid.uniform(o["depth"], 40)
    u, v, temperature, salinity = (
        jnp.asarray(profiles[name]) for name in ("u", "v", "temperature", "salinity")
    )
    at = o.get("case_latitude", o["latitude"])
    return tl.Case(
        grid,
        tl.State(u, v, temperature, salinity),
        forcing,
        coriolis_parameter=o.get("coriolis_parameter", coriolis_parameter(at)),
        equation_of_state=Teos10(),
        start_time=o.get("case_start", o["start"]),
        latitude=at,
        longitude=o["longitude"],
        name="case",
    )


def _of_weather(given: Given, path: Path) -> tl.Case:
    o = given.options
    series, measure = io.read_weather(
        path,
        start_time=o["start"],
        longwave=o["longwave"],
        humidity_measure=next(k for k, v in _MEASURES.items() if v == o["humidity"]),
        variables={"humidity": o["humidity"]} | o.get("variables", {}),
        longest_gap=None,
    )
    longwave = DownwardLongwave() if o["longwave"] == "downward" else None
    forcing = BulkForcing(series, humidity_measure=measure, longwave=longwave)
    return _column(given, forcing)


_MEASURES: dict[HumidityMeasure, str] = {
    "relative": "relative_humidity",
    "specific": "specific_humidity",
    "dew_point": "dew_point",
}


def csv_weather(given: Given, folder: Path) -> Said:
    names = [name for name in given.values if name != "time"]
    _csv(folder / "weather.csv", given, names)
    return noted(lambda: (_of_weather(given, folder / "weather.csv"), None))


def _dataset(given: Given, dims: Mapping[Any, tuple[str, ...]] | None = None) -> xr.Dataset:
    since = {"units": f"seconds since {given.options['start']}", "standard_name": "time"}
    variables = {
        name: (
            (dims or {}).get(name, ("time",)),
            values,
            {"units": given.units[name]} | given.attrs.get(name, {}),
        )
        for name, values in given.values.items()
        if name != "time"
    }
    names = given.options.get("names", {})
    return xr.Dataset(variables, {"time": ("time", given.values["time"], since)}).rename(names)


def cf_weather(given: Given, folder: Path) -> Said:
    """NetCDF with names and attributes."""
    path = folder / "weather.nc"
    _dataset(given).to_netcdf(path)
    return noted(lambda: (_of_weather(given, path), None))


def fluxes(days: int = 40) -> Given:
    """Prescribed fluxes over a temperate sea in spring."""
    given = weather(days)
    a, light = given.values, given.values["shortwave"]
    speed = np.hypot(a["wind_u"], a["wind_v"])
    chosen = {
        "stress_u": 1.6e-3 * speed * a["wind_u"],
        "stress_v": 1.6e-3 * speed * a["wind_v"],
        "heat_flux": -90.0 - 9.0 * (speed - 6.0) + 15.0 * _noise(speed.size, 8),
        "shortwave_flux": 0.94 * light,
        "freshwater_flux": 1e3 * a["precipitation"] - 3.5e-5 - 2e-6 * (speed - 6.0),
    }
    units = dict(zip(chosen, ["N m-2", "N m-2", "W m-2", "W m-2", "kg m-2 s-1"], strict=True))
    return Given({"time": a["time"]} | chosen, {"time": "s"} | units, options=given.options)


def csv_fluxes(given: Given, folder: Path) -> Said:
    names = [name for name in given.values if name != "time"]
    _csv(folder / "fluxes.csv", given, names)

    def make() -> tuple[Any, Any]:
        read = {
            n: io.read_series(folder / "fluxes.csv", n, n, start_time=given.options["start"]) for n in names
        }
        time = next(iter(read.values())).time
        forcing = TimeSeriesForcing.from_values(
            time, **{n: jnp.asarray(one.values) for n, one in read.items()}
        )
        return _column(given, forcing), None

    return noted(make)


def simulated(rotation: float = 1e-4) -> Given:
    """A slab of 40 m under constant fluxes for two days, which closes its budgets."""
    time = np.arange(0.0, 2.0 * DAY + 1.0, 3600.0)
    z = -1.0 - 2.0 * np.arange(32.0)[::-1]
    slab, tau, heat, rain = z > -40.0, 0.1 + 0.03j, -150.0, 2e-4
    transport = tau / DENSITY * (1.0 - np.exp(-1j * rotation * time)) / (1j * rotation)
    temperature = (
        16.0
        + 0.03 * np.where(slab, 0.0, z + 40.0)
        + heat * time[:, None] / (DENSITY * HEAT_CAPACITY * 40.0) * slab
    )
    salinity = (
        35.0 - np.where(slab, 0.0, 0.002 * (z + 40.0)) - 35.0 * rain * time[:, None] / (DENSITY * 40.0) * slab
    )
    values = {
        "time": time,
        "z": z,
        "temperature": temperature,
        "salinity": salinity,
        "u": transport.real[:, None] / 40.0 * slab,
        "v": transport.imag[:, None] / 40.0 * slab,
        "surface_stress_u": tau.real + 0.0 * time,
        "surface_stress_v": tau.imag + 0.0 * time,
        "surface_heat_flux": heat + 0.0 * time,
        "surface_freshwater_flux": rain + 0.0 * time,
    }
    units = ["s", "m", "degC", "g kg-1", "m s-1", "m s-1", "N m-2", "N m-2", "W m-2", "kg m-2 s-1"]
    options = {"start": "2001-01-01", "coriolis_parameter": rotation, "title": "large-eddy simulation"}
    return Given(values, dict(zip(values, units, strict=True)), options=options)


def cf_simulation(given: Given, folder: Path) -> Said:
    path, o = folder / "les.nc", given.options
    dims = dict.fromkeys(("temperature", "salinity", "u", "v"), ("time", "z"))
    shown = dataclasses.replace(given, values={k: v for k, v in given.values.items() if k != "z"})
    data = _dataset(shown, dims).assign_coords(
        z=(
            "z",
            given.values["z"],
            {"units": given.units["z"], "positive": "up", "axis": "Z"} | given.attrs.get("z", {}),
        )
    )
    place = {key: o[key] for key in ("coriolis_parameter", "latitude") if key in o}
    data.attrs |= place | {"title": o["title"], "reference_density": DENSITY, "heat_capacity": HEAT_CAPACITY}
    data.to_netcdf(path)
    mapping = io.Mapping(**o.get("mapping", {}))
    return noted(lambda: io.read_cf_netcdf(path, mapping))


def jld2_simulation(given: Given, folder: Path) -> Said:
    """The same as LESbrary keeps it: kinematic fluxes, positive upward."""
    path, v, o = folder / "les.jld2", given.values, given.options
    content: dict[str, Any] = {
        "grid/Nz": 32,
        "grid/Hz": 0,
        "grid/Lz": 64.0,
        "parameters/momentum_flux": -o.get("tau", 0.1) / 1024.0,
        "parameters/boundary_condition_v_top": -o.get("tau_v", 0.03) / 1024.0,
        "parameters/temperature_flux": o.get("heat", 150.0 / (DENSITY * HEAT_CAPACITY)),
        "parameters/coriolis_parameter": o["coriolis_parameter"],
        "parameters/thermal_expansion_coefficient": 2e-4,
        "parameters/gravitational_acceleration": 9.80665,
    }
    for i, time in enumerate(v["time"]):
        content[f"timeseries/t/{i}"] = time
        for name, key in (("temperature", "T"), ("u", "u"), ("v", "v")):
            content[f"timeseries/{key}/{i}"] = v[name][i]
    with h5py.File(path, "w") as file:
        for key, value in content.items():
            file[key] = value
    return noted(lambda: io.read_lesbrary(path))


def moored(days: int = 60) -> Given:
    """Temperature, salinity and currents of a mooring every two hours."""
    time, z = np.arange(0.0, days * DAY, 7200.0), np.array([1.0, 10.0, 25.0, 50.0, 100.0, 180.0])
    n = time.size
    tide = np.sin(2.0 * np.pi * time / 44714.0)[:, None]
    values = {
        "time": time,
        "depth": z,
        "TEMP": 8.0 + 4.0 * np.exp(-z / 40.0) + 0.1 * _noise(n, 9)[:, None] + 0.05 * tide,
        "PSAL": 35.2 - 0.3 * np.exp(-z / 60.0) + 0.02 * _noise(n, 10)[:, None],
        "UCUR": 0.2 * tide + 0.03 * _noise(n, 11)[:, None] + 0.0 * z,
        "VCUR": 0.1 * np.roll(tide, 1) + 0.03 * _noise(n, 12)[:, None] + 0.0 * z,
    }
    units = ["s", "m", "degree_Celsius", "1", "m s-1", "m s-1"]
    options = {"start": "2015-03-01", "latitude": 48.0, "longitude": -9.0, "depth": 200.0}
    return Given(values, dict(zip(values, units, strict=True)), options=options)


def mooring(given: Given, folder: Path) -> Said:
    path, o = folder / "mooring.nc", given.options
    dims = dict.fromkeys(("TEMP", "PSAL", "UCUR", "VCUR"), ("time", "depth"))
    shown = dataclasses.replace(given, values={k: v for k, v in given.values.items() if k != "depth"})
    of_depth = {"units": given.units["depth"], "positive": "down", "axis": "Z"}
    place = o.get("position", (o["latitude"], o["longitude"]))
    data = _dataset(shown, dims).assign_coords(
        depth=("depth", given.values["depth"], of_depth),
        LATITUDE=("LATITUDE", [place[0]], {"units": "degrees_north"}),
        LONGITUDE=("LONGITUDE", [place[1]], {"units": "degrees_east"}),
    )
    data.to_netcdf(path)
    return noted(
        lambda: (_at_site(given), io.read_oceansites(path, start_time=o["start"], **o.get("reader", {})))
    )


def _at_site(given: Given) -> tl.Case:
    time = [0.0, 60.0 * DAY]
    return _column(given, TimeSeriesForcing.from_values(time, stress_u=[0.1, 0.1], heat_flux=[-50.0, -50.0]))


def floated() -> Given:
    """Twelve profiles of a float in its first months."""
    pressure = np.concatenate([np.arange(2.0, 200.0, 6.0), np.arange(200.0, 2000.0, 50.0)])
    n = np.arange(12.0)[:, None]
    values = {
        "time": np.arange(12.0) * 10.0,
        "PRES": np.broadcast_to(pressure, (12, pressure.size)).copy(),
        "TEMP": 4.0 + 9.0 * np.exp(-pressure / 250.0) + 0.1 * np.cos(n) * np.exp(-pressure / 100.0),
        "PSAL": 34.9 + 0.5 * np.exp(-pressure / 400.0) + 0.0 * n,
        "LATITUDE": 48.0 + 0.02 * np.arange(12.0),
        "LONGITUDE": -9.0 - 0.03 * np.arange(12.0),
    }
    units = {"PRES": "decibar", "TEMP": "degree_Celsius", "PSAL": "psu"}
    options = {"start": "2015-03-01", "latitude": 48.0, "longitude": -9.0, "depth": 1800.0}
    options["profiles"] = dict(
        zip(("temperature", "salinity"), (4.0 + 0.0 * np.zeros(40), 35.0 + np.zeros(40)), strict=True)
    )
    return Given(values, units, options=options)


def argo(given: Given, folder: Path) -> Said:
    path, v = folder / "float.nc", given.values
    shape = v["PRES"].shape
    with netCDF4.Dataset(path, "w") as file:
        for name, size in zip(("N_PROF", "N_LEVELS"), shape, strict=True):
            file.createDimension(name, size)

        def add(name: str, kind: str, dims: tuple[str, ...], values: Any, unit: str = "") -> None:
            variable = file.createVariable(name, kind, dims, fill_value=b" " if kind == "S1" else 99999.0)
            variable.units = unit
            variable[...] = values

        add("JULD", "f8", ("N_PROF",), v["time"] + 23800.0, "days since 1950-01-01 00:00:00 UTC")
        for name in ("LATITUDE", "LONGITUDE"):
            add(name, "f8", ("N_PROF",), v[name])
        for name in ("JULD_QC", "POSITION_QC"):
            add(name, "S1", ("N_PROF",), np.full(shape[0], b"1"))
        add("DATA_MODE", "S1", ("N_PROF",), np.full(shape[0], b"R"))
        for name in ("PRES", "TEMP", "PSAL"):
            add(name, "f8", ("N_PROF", "N_LEVELS"), v[name], given.units[name])
            add(f"{name}_QC", "S1", ("N_PROF", "N_LEVELS"), np.full(shape, b"1"))
    return noted(lambda: (_at_site(given), io.read_argo(path, start_time=given.options["start"])))


def _run(folder: Path, content: dict[str, Any], build: Callable[[Path], Any]) -> Said:
    (folder / "case.yaml").write_text(yaml.safe_dump(content))
    try:
        return tuple(note for note in build(folder / "case.yaml") if "`accept: [" in note)
    except (ValueError, FileNotFoundError) as error:
        return (f"error: {error}",)


def gotm(given: Given, folder: Path) -> Said:
    """A folder of GOTM with fluxes and profiles in its text format."""
    v, o = given.values, given.options
    stamps = [stamp.replace("T", " ") for stamp in _stamps(given)]
    for name in ("stress_u", "heat_flux", "shortwave_flux"):
        lines = (f"{stamp} {value:.8g}\n" for stamp, value in zip(stamps, v[name], strict=True))
        (folder / f"{name}.dat").write_text("".join(lines))
    own = water(o["depth"], 20) | o.get("profiles", {})
    for name in ("temperature", "salinity"):
        levels = "".join(f"{z:.6g} {x:.8g}\n" for z, x in zip(own["z"][::-1], own[name][::-1], strict=True))
        (folder / f"{name}.dat").write_text("".join(f"{s} 20 2\n{levels}" for s in (stamps[0], stamps[-1])))
    file = lambda name, **more: {"method": "file", "file": f"{name}.dat", **more}  # noqa: E731
    content = {
        "version": 7,
        "location": {"latitude": o["latitude"], "longitude": o["longitude"], "depth": o["depth"]},
        "time": {"start": stamps[0], "stop": stamps[-2], "dt": 3600.0},
        "grid": {"nlev": 20},
        "temperature": file("temperature", type="conservative"),
        "salinity": file("salinity", type="absolute"),
        "surface": {
            "fluxes": {
                "heat": file("heat_flux", **o.get("heat", {})),
                "tx": file("stress_u"),
            },
            "swr": file("shortwave_flux"),
            "albedo": {"method": "constant", "constant_value": 0.0},
            "ice": {"model": "no_ice"},
        },
        "turbulence": {"turb_param": {"k_min": 1e-8}},
    } | o.get("gotm", {})

    def build(path: Path) -> tuple[str, ...]:
        run = build_gotm(load_gotm(path)).run
        assert run is not None
        return run.notes

    return _run(folder, content, build)


def lake_weather() -> Given:
    """The weather of a lake, with its river."""
    given = weather(40, start="2015-06-01")
    given.values["air_temperature"] = given.values["air_temperature"] + 5.0
    given.values["longwave"] = given.values["longwave"] * 1.07
    n = given.values["time"].size
    given.values |= {"inflow": 3.0 + 0.8 * _noise(n, 13), "river": 12.0 + _noise(n, 14)}
    given.units |= {"inflow": "m3 s-1", "river": "degC"}
    z = [-30.0, -25.0, -20.0, -15.0, -10.0, -7.0, -4.0, -1.0]
    given.options |= {
        "z": z,
        "temperature": [7.0, 7.1, 7.3, 8.0, 10.0, 13.0, 15.0, 15.6],
        "area": [1e5, 8e5, 1.6e6, 2.4e6, 3.2e6, 4e6],
        "case": {},
    }
    return given


def lake(given: Given, folder: Path) -> Said:
    names = [name for name in given.values if name not in ("time", "specific_humidity", "dew_point")]
    _csv(folder / "weather.csv", given, names)
    o, column = given.options, lambda name: {"path": "weather.csv", "variable": name}
    case = {
        "format": "site",
        "latitude": o["latitude"],
        "longitude": o["longitude"],
        "start_time": o["start"],
        "depth": 30.0,
        "duration": float(given.values["time"][-1]),
        "hypsography": {"z": [-30.0, -24.0, -18.0, -12.0, -6.0, 0.0], "area": o["area"]},
        "temperature": {"z": o["z"], "values": o["temperature"]},
        "salinity": o.get("salinity", {"surface": 0.05}),
        "weather": {"format": "table", "paths": "weather.csv", "humidity_measure": "relative",
                    "variables": {"humidity": "relative_humidity"}},
        "interior": {"streams": {"river": {"place": "surface", "discharge": column("inflow"),
                                             "temperature": column("river")}}},
    } | o["case"]  # fmt: skip
    content = {
        "case": case,
        "grid": {"kind": "uniform", "n_cells": 30},
        "time": {"step": 3600.0, "output_interval": 86400.0},
    }
    return _run(folder, content, lambda path: build_run(load_run(path)).notes)


def gridded() -> Given:
    """Monthly fluxes and water on six by four points."""
    time = (np.arange(12.0) + 0.5) * 30.4375 * DAY
    latitude, longitude = (
        np.array([30.0, 36.0, 42.0, 48.0]),
        np.array([-40.0, -35.0, -30.0, -25.0, -20.0, -15.0]),
    )
    season = np.cos(2.0 * np.pi * (time / DAY / 365.25 - 0.55))[:, None, None]
    flat = np.ones((12, 4, 6))
    depth = np.array([5.0, 20.0, 50.0, 100.0, 200.0, 400.0])
    level = np.ones((6, 4, 6))
    warm = (24.0 - 0.3 * (latitude - 30.0))[:, None]
    values = {
        "time": time,
        "depth": depth,
        "taux": flat * 0.08,
        "tauy": flat * 0.02,
        "heat": (-150.0 - 40.0 * season) * flat,
        "sun": (190.0 + 60.0 * season) * flat,
        "rain": flat * 1e-5,
        "temp": level * (5.0 + (warm - 5.0) * np.exp(-depth / 300.0)[:, None, None]),
        "salt": level * 35.5,
    }
    units = ["s", "m", "N m-2", "N m-2", "W m-2", "W m-2", "kg m-2 s-1", "degC", "1"]
    options = {"start": "2001-01-01", "latitude": latitude, "longitude": longitude, "map": {}, "fields": {}}
    return Given(values, dict(zip(values, units, strict=True)), options=options)


def gridded_map(given: Given, folder: Path) -> Said:
    o, v = given.options, given.values
    horizontal = ("lat", "lon")
    dims = {name: ("depth" if name in ("temp", "salt") else "time", *horizontal) for name in v}
    shown = dataclasses.replace(given, values={k: x for k, x in v.items() if k != "depth"})
    data = _dataset(shown, dims).assign_coords(
        depth=("depth", v["depth"], {"units": "m", "positive": "down", "axis": "Z"}),
        lat=("lat", o["latitude"], {"units": "degrees_north"}),
        lon=("lon", o["longitude"], {"units": "degrees_east"}),
    )
    data.to_netcdf(folder / "ocean.nc")
    field = lambda name: {"variable": name} | o["fields"].get(name, {})  # noqa: E731
    section = {
        "paths": "ocean.nc", "start_time": "2001-02-01", "duration": 1.9872e7, "largest_depth": 300.0,
        "temperature": field("temp"), "salinity": field("salt"),
        "temperature_kind": "potential", "salinity_kind": "practical",
        "fluxes": {"stress_u": field("taux"), "stress_v": field("tauy"), "heat_flux": field("heat"),
                   "shortwave_flux": field("sun"), "freshwater_flux": field("rain")},
    } | o["map"]  # fmt: skip
    content = {
        "map": section,
        "grid": {"kind": "uniform", "n_cells": 10},
        "time": {"step": 3600.0, "output_interval": 864000.0},
    }
    return _run(folder, content, lambda path: build_map(load_map(path)).columns.notes)
