"""Make `data/synthetic_station_weather.csv` and `data/synthetic_station_profiles.nc`: a year at a station.

    python data/make_synthetic_station.py [FOLDER]

The weather is a seasonal cycle with storms that follow from a seed. The truth is a run of k-epsilon under
this weather on 150 levels, without relaxation, with other parameters and heat fluxes than the configuration
`configs/runs/synthetic_station.yaml`; the mooring measures it at the depths of its instruments once a day, in
the terms of OceanSITES: in-situ temperature and practical salinity, with noise, and an instrument that fails
for three weeks.
"""

import sys
from pathlib import Path

import jax
import netCDF4
import numpy as np

jax.config.update("jax_enable_x64", True)

import gsw  # noqa: E402

import tunax_lite as tl  # noqa: E402
from tunax_lite.config import build_run, load_run  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
LATITUDE, LONGITUDE = 48.0, -9.0
START = np.datetime64("2015-03-01T00:00:00")
N_DAYS = 365
DEPTHS = np.array([1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0])  # m
NOISE = {"TEMP": 0.02, "PSAL": 0.005}
FAILURE = (slice(120, 141), 3)  # days, instrument
SEED = 20150301
TRUTH = (
    "case.temperature={z: [-150.0, 0.0], values: [11.0, 11.2]}",
    "case.salinity={z: [-150.0, 0.0], values: [35.6, 35.5]}",
    "case.observations=null",
    "case.interior.relaxation={}",
    "case.air_sea.heat_factor=0.92",
    "case.absorption=II",
    "model.closure.parameters={c_eps_3_plus: 1.2, stability.cc1: 4.5}",
    "grid={kind: uniform, n_cells: 150}",
    "time.dt=900",
)


def write_weather(path: Path) -> None:
    """Six-hourly weather of a year, and a day on."""
    generator = np.random.default_rng(SEED)
    time = 0.25 * np.arange(4 * (N_DAYS + 1) + 1)  # days
    season = np.cos(2.0 * np.pi * (time - 150.0) / 365.0)  # 1 in late July

    def weather_systems(days: float) -> np.ndarray:
        """Noise of unit deviation that forgets itself in some days."""
        kept = np.exp(-0.25 / days)
        values = np.zeros_like(time)
        for i in range(1, time.size):
            values[i] = kept * values[i - 1] + np.sqrt(1.0 - kept**2) * generator.normal()
        return values

    strength = 7.0 - 2.0 * season
    columns = {
        "wind_u [m s-1]": (2.0 + strength * weather_systems(2.0), 2),
        "wind_v [m s-1]": (1.0 + strength * weather_systems(2.0), 2),
        "air_temperature [degC]": (13.0 + 4.0 * season + 1.5 * weather_systems(3.0), 2),
        "relative_humidity [%]": (np.clip(80.0 + 8.0 * weather_systems(2.0), 45.0, 100.0), 1),
        "air_pressure [hPa]": (1014.0 + 9.0 * weather_systems(4.0), 1),
        "cloud_cover [%]": (np.clip(65.0 - 10.0 * season + 25.0 * weather_systems(1.0), 0.0, 100.0), 0),
        "precipitation [mm h-1]": (np.clip(0.4 * (weather_systems(1.0) - 0.6), 0.0, None), 2),
    }
    stamps = START + np.round(time * 86400.0).astype("timedelta64[s]")
    lines = ["# SYNTHETIC weather (not measured), made by data/make_synthetic_station.py"]
    lines.append(",".join(["time", *columns]))
    for i, stamp in enumerate(stamps):
        lines.append(",".join([str(stamp), *(f"{values[i]:.{n}f}" for values, n in columns.values())]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_profiles(path: Path, trajectory: tl.Trajectory) -> None:
    """What the instruments measure at noon of each day."""
    generator = np.random.default_rng(SEED + 1)
    z = np.asarray(trajectory.grid.z_center)
    at_depths = lambda values: np.stack([np.interp(-DEPTHS, z, row) for row in np.asarray(values)])  # noqa: E731
    noon = slice(1, None, 2)
    absolute = at_depths(trajectory.state.salinity)[noon]
    pressure = gsw.p_from_z(-DEPTHS, LATITUDE)
    measured = {
        "TEMP": gsw.t_from_CT(absolute, at_depths(trajectory.state.temperature)[noon], pressure),
        "PSAL": gsw.SP_from_SA(absolute, pressure, LONGITUDE, LATITUDE),
    }
    days = (START - np.datetime64("1950-01-01T00:00:00")) / np.timedelta64(1, "D")
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("TIME", N_DAYS), ("DEPTH", DEPTHS.size), ("LATITUDE", 1), ("LONGITUDE", 1)):
            file.createDimension(name, size)
        coordinates = {
            "TIME": (days + 0.5 + np.arange(N_DAYS), "time", "days since 1950-01-01T00:00:00Z"),
            "DEPTH": (DEPTHS, "depth", "m"),
            "LATITUDE": ([LATITUDE], "latitude", "degrees_north"),
            "LONGITUDE": ([LONGITUDE], "longitude", "degrees_east"),
        }
        for name, (values, standard_name, units) in coordinates.items():
            variable = file.createVariable(name, "f8", (name,))
            variable.setncatts({"standard_name": standard_name, "units": units})
            variable[:] = values
        file["DEPTH"].positive = "down"
        names = {
            "TEMP": ("sea_water_temperature", "degree_Celsius"),
            "PSAL": ("sea_water_practical_salinity", "1"),
        }
        for name, values in measured.items():
            values = values + generator.normal(0.0, NOISE[name], values.shape)
            values[FAILURE] = np.nan
            packing = {"zlib": True, "fill_value": np.float32(99999.0), "least_significant_digit": 3}
            variable = file.createVariable(name, "f4", ("TIME", "DEPTH"), **packing)
            variable.setncatts(dict(zip(("standard_name", "units"), names[name], strict=True)))
            variable[:] = np.ma.masked_invalid(values)
        file.setncatts(
            {
                "title": "SYNTHETIC profiles of a mooring (not measured)",
                "history": "made by data/make_synthetic_station.py",
                "synthetic": "true",
            }
        )


def main(folder: Path) -> None:
    """Write the weather, run the truth and write what the mooring sees of it."""
    weather, profiles = folder / "synthetic_station_weather.csv", folder / "synthetic_station_profiles.nc"
    write_weather(weather)
    settings = [*TRUTH, f"case.weather.paths={weather}", "time.output_interval=43200"]
    run = build_run(load_run(ROOT / "configs" / "runs" / "synthetic_station.yaml", settings))
    trajectory = tl.simulate(run.model, run.case, dt=run.dt, output_interval=run.output_interval)
    assert tl.first_non_finite(trajectory) is None
    write_profiles(profiles, trajectory)
    for path in (weather, profiles):
        print(f"wrote {path}, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
