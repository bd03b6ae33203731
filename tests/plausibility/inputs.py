"""Good inputs of several kinds, small and synthetic, in which tests make everyday mistakes."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

import tunax_lite as tl
from tunax_lite import io
from tunax_lite.air_sea import BulkForcing, ClearSky, DownwardLongwave, SolarPosition
from tunax_lite.physics import Teos10, coriolis_parameter
from tunax_lite.plausibility import recorded, remarks

DAY = 86400.0
DENSITY, HEAT_CAPACITY = 1025.0, 3991.86795711963


@dataclasses.dataclass
class Given:
    """What a mistake may change: values with units and attributes by name, and options of the case."""

    values: dict[str, np.ndarray]
    units: dict[str, str]
    options: dict[str, Any]
    attrs: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)

    def scale(self, name: str, factor: float, offset: float = 0.0) -> None:
        self.values[name] = self.values[name] * factor + offset

    def put(self, name: str, value: float, *at: Any) -> None:
        self.values[name] = self.values[name].copy()
        for index in at:
            self.values[name][index] = value

    def swap(self, one: str, other: str) -> None:
        self.values[one], self.values[other] = self.values[other], self.values[one]


Notes = tuple[str, ...]


def noted(make: Callable[[], tuple[Any, Any]]) -> Notes:
    """Notes on a case and its observations, or the error on the way."""
    try:
        with recorded() as notes:
            case, observations = make()
        return tuple(str(note) for note in (*notes, *remarks(case, observations)) if note.rule)
    except ValueError as error:
        return (f"error: {error}",)


def _sun(time: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """Shortwave radiation under a clear sky [W m-2]."""
    sun = SolarPosition(options["start"], options["latitude"], options["longitude"])
    now = sun.at(jnp.asarray(time))
    return np.asarray(ClearSky().downward(sun.cosine_of_zenith(now), sun.noon_altitude(now), 0.0))


def _noise(n: int, seed: int, memory: float = 0.95) -> np.ndarray:
    """Red noise of unit variance."""
    draws, found = np.random.default_rng(seed).standard_normal(n), np.zeros(n)
    for i in range(1, n):
        found[i] = memory * found[i - 1] + np.sqrt(1.0 - memory**2) * draws[i]
    return found


def weather(days: int = 40, step: float = 3600.0) -> Given:
    """The weather of a temperate sea in spring, or over a year."""
    time = np.arange(0.0, days * DAY + 1.0, step)
    n, memory = time.size, float(np.exp(-step / 7.0e4))
    options = {"latitude": 48.0, "longitude": -9.0, "start": "2015-03-01", "depth": 200.0}
    cloud = np.clip(0.6 + 0.4 * _noise(n, 1, memory), 0.0, 1.0)
    season = -5.0 * np.cos(2.0 * np.pi * (time / DAY + 31.0) / 365.25) * (days > 100)
    air = 11.0 + season + 1.5 * _noise(n, 2, memory) + 0.8 * np.sin(2.0 * np.pi * (time / DAY - 0.4))
    relative = np.clip(78.0 + 9.0 * _noise(n, 3, memory), 30.0, 100.0)
    vapour = 0.01 * relative * 610.94 * np.exp(17.625 * air / (air + 243.04))
    smooth = max(1, round(DAY / step))
    pressure = 101400.0 + 900.0 * np.convolve(_noise(n, 4, memory), np.ones(smooth) / smooth, "same")
    log = np.log(vapour / 610.94)
    # Daily records hold the mean of the day.
    hours = np.zeros(1) if step < 0.5 * DAY else np.arange(24.0) * 3600.0 - 43200.0
    light = _sun((time[:, None] + hours).ravel(), options).reshape(n, -1).mean(axis=1)
    named: dict[str, tuple[str, np.ndarray]] = {
        "time": ("s", time),
        "wind_u": ("m s-1", 4.0 + 4.0 * _noise(n, 5, memory)),
        "wind_v": ("m s-1", 1.0 + 4.0 * _noise(n, 6, memory)),
        "air_temperature": ("degC", air),
        "relative_humidity": ("%", relative),
        "specific_humidity": ("1", 0.622 * vapour / (pressure - 0.378 * vapour)),
        "dew_point": ("degC", 243.04 * log / (17.625 - log)),
        "air_pressure": ("Pa", pressure),
        "cloud_cover": ("1", np.round(cloud, 3)),
        "precipitation": ("m s-1", np.maximum(_noise(n, 7, memory) - 1.0, 0.0) * 4e-7),
        "shortwave": ("W m-2", light * (1.0 - 0.62 * cloud)),
        "longwave": ("W m-2", 5.67e-8 * (air + 273.15) ** 4 * (0.78 + 0.14 * cloud)),
    }
    return _given(named, options)


def _given(named: Mapping[str, tuple[str, np.ndarray]], options: dict[str, Any]) -> Given:
    return Given({k: v for k, (_, v) in named.items()}, {k: u for k, (u, _) in named.items()}, options)


def water(depth: float, n_cells: int = 40) -> dict[str, np.ndarray]:
    """A stratified column of the sea, bottom first."""
    z = -depth * (np.arange(n_cells)[::-1] + 0.5) / n_cells
    return {"temperature": 8.0 + 4.0 * np.exp(z / 40.0), "salinity": 35.2 - 0.3 * np.exp(z / 60.0)}


def _column(given: Given, forcing: Any) -> tl.Case:
    o = given.options
    profiles = water(o["depth"]) | o.get("profiles", {})
    temperature, salinity = (jnp.asarray(profiles[name]) for name in ("temperature", "salinity"))
    at = o.get("case_latitude", o["latitude"])
    return tl.Case(
        tl.Grid.uniform(o["depth"], 40),
        tl.State(0.0 * temperature, 0.0 * temperature, temperature, salinity),
        forcing,
        coriolis_parameter=o.get("coriolis_parameter", coriolis_parameter(at)),
        equation_of_state=Teos10(),
        start_time=o.get("case_start", o["start"]),
        latitude=at,
        longitude=o["longitude"],
        name="case",
    )


def _dataset(given: Given, axis: str = "", dims: tuple[str, ...] = ()) -> xr.Dataset:
    """Variables over time, or over `dims` if they are matrices; `axis` is a coordinate."""
    since = {"units": f"seconds since {given.options['start']}", "standard_name": "time"}
    variables = {}
    for name, values in given.values.items():
        if name not in ("time", axis):
            attributes = {"units": given.units[name]} | given.attrs.get(name, {})
            variables[name] = (dims if values.ndim == 2 else ("time",), values, attributes)
    return xr.Dataset(variables, {"time": ("time", given.values["time"], since)})


def weather_file(given: Given, folder: Path) -> Notes:
    o, path = given.options, folder / "weather.nc"
    humidity: Any = o.get("humidity", "relative_humidity")
    longwave = o.get("longwave", "downward")
    _dataset(given).rename(o.get("names", {})).to_netcdf(path)

    def make() -> tuple[Any, Any]:
        series, measure = io.read_weather(
            path,
            start_time=o["start"],
            longwave=longwave,
            humidity_measure=humidity.removesuffix("_humidity"),
            variables={"humidity": humidity} | o.get("names", {}),
        )
        sky = DownwardLongwave() if longwave == "downward" else None
        return _column(given, BulkForcing(series, humidity_measure=measure, longwave=sky)), None

    return noted(make)


def fluxes() -> Given:
    """Prescribed fluxes over a temperate sea in spring."""
    given = weather()
    a = given.values
    speed = np.hypot(a["wind_u"], a["wind_v"])
    named = {
        "time": ("s", a["time"]),
        "stress_u": ("N m-2", 1.6e-3 * speed * a["wind_u"]),
        "stress_v": ("N m-2", 1.6e-3 * speed * a["wind_v"]),
        "heat_flux": ("W m-2", -90.0 - 9.0 * (speed - 6.0) + 15.0 * _noise(speed.size, 8)),
        "shortwave_flux": ("W m-2", 0.94 * a["shortwave"]),
        "freshwater_flux": ("kg m-2 s-1", 1e3 * a["precipitation"] - 3.5e-5 - 2e-6 * (speed - 6.0)),
    }
    return _given(named, given.options)


def prescribed(given: Given, folder: Path) -> Notes:
    values = {name: jnp.asarray(value) for name, value in given.values.items() if name != "time"}
    time = given.values["time"]
    return noted(lambda: (_column(given, tl.TimeSeriesForcing.from_values(time, **values)), None))


def simulated(rotation: float = 1e-4, drift: float = 0.0) -> Given:
    """A slab of 40 m under constant fluxes and a surface Stokes drift [m s-1]; it closes its budgets."""
    time = np.arange(0.0, 2.0 * DAY + 1.0, 3600.0)
    z = -1.0 - 2.0 * np.arange(32.0)[::-1]
    slab, tau, heat, rain = z > -40.0, 0.1 + 0.03j, -150.0, 2e-4
    of_waves = drift * np.exp(z / 5.0)
    ekman = tau / DENSITY / (1j * rotation) - 2.0 * of_waves.sum()
    transport = ekman * (1.0 - np.exp(-1j * rotation * time))
    warming = heat * time[:, None] / (DENSITY * HEAT_CAPACITY * 40.0) * slab
    dilution = 35.0 * rain * time[:, None] / (DENSITY * 40.0) * slab
    below = np.where(slab, 0.0, z + 40.0)
    named = {
        "time": ("s", time),
        "z": ("m", z),
        "temperature": ("degC", 16.0 + 0.03 * below + warming),
        "salinity": ("g kg-1", 35.0 - 0.002 * below - dilution),
        "u": ("m s-1", transport.real[:, None] / 40.0 * slab),
        "v": ("m s-1", transport.imag[:, None] / 40.0 * slab),
        "surface_stress_u": ("N m-2", tau.real + 0.0 * time),
        "surface_stress_v": ("N m-2", tau.imag + 0.0 * time),
        "surface_heat_flux": ("W m-2", heat + 0.0 * time),
        "surface_freshwater_flux": ("kg m-2 s-1", rain + 0.0 * time),
    }
    if drift:
        named["stokes_drift_u"] = ("m s-1", of_waves + 0.0 * time[:, None])
    return _given(named, {"start": "2001-01-01", "coriolis_parameter": rotation})


def cf_simulation(given: Given, folder: Path) -> Notes:
    path, o = folder / "les.nc", given.options
    heights = ("z", given.values["z"], {"units": "m", "positive": "up", "axis": "Z"})
    data = _dataset(given, "z", ("time", "z")).assign_coords(z=heights)
    data.attrs |= {key: o[key] for key in ("coriolis_parameter", "latitude") if key in o}
    constants = {"reference_density": DENSITY, "heat_capacity": HEAT_CAPACITY}
    data.attrs |= constants  # no title: what the file contains says that it is a simulation
    data.to_netcdf(path)
    return noted(lambda: io.read_cf_netcdf(path))


def moored(days: int = 60) -> Given:
    """Temperature, salinity and currents of a mooring every two hours."""
    time, z = np.arange(0.0, days * DAY, 7200.0), np.array([1.0, 10.0, 25.0, 50.0, 100.0, 180.0])
    n = time.size
    tide = np.sin(2.0 * np.pi * time / 44714.0)[:, None]
    temperature = 8.0 + 4.0 * np.exp(-z / 40.0) + 0.1 * _noise(n, 9)[:, None] + 0.05 * tide
    named = {
        "time": ("s", time),
        "depth": ("m", z),
        "TEMP": ("degree_Celsius", temperature),
        "PSAL": ("1", 35.2 - 0.3 * np.exp(-z / 60.0) + 0.02 * _noise(n, 10)[:, None]),
        "UCUR": ("m s-1", 0.2 * tide + 0.03 * _noise(n, 11)[:, None] + 0.0 * z),
        "VCUR": ("m s-1", 0.1 * np.roll(tide, 1) + 0.03 * _noise(n, 12)[:, None] + 0.0 * z),
    }
    return _given(named, {"start": "2015-03-01", "latitude": 48.0, "longitude": -9.0, "depth": 200.0})


def mooring(given: Given, folder: Path) -> Notes:
    """Notes on a mooring at a site with steady wind and cooling."""
    o = given.options
    place = o.get("position", (o["latitude"], o["longitude"]))
    data = _dataset(given, "depth", ("time", "depth")).assign_coords(
        depth=("depth", given.values["depth"], {"units": "m", "positive": "down", "axis": "Z"}),
        LATITUDE=("LATITUDE", [place[0]], {"units": "degrees_north"}),
        LONGITUDE=("LONGITUDE", [place[1]], {"units": "degrees_east"}),
    )
    data.to_netcdf(folder / "mooring.nc")
    steady = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, heat_flux=-50.0))
    path = folder / "mooring.nc"
    read = functools.partial(io.read_oceansites, path, start_time=o["start"])
    return noted(lambda: (_column(given, steady), read(position=(o["latitude"], o["longitude"]))))
