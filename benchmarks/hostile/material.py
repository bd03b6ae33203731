"""Small valid files of every format that the package reads, which the attacks then damage."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import h5py
import netCDF4
import numpy as np
import yaml

N_CELLS, N_TIMES = 8, 5
RUN = {
    "case": {
        "format": "idealised",
        "depth": 16.0,
        "duration": 3600.0,
        "temperature": {"surface": 20.0, "gradient": 0.01},
        "coriolis_parameter": 1e-4,
        "forcing": {"stress_u": 0.1, "heat_flux": -50.0},
    },
    "grid": {"kind": "uniform", "n_cells": N_CELLS},
    "model": {"closure": {"name": "constant"}},
    "time": {"step": 600.0, "output_interval": 1200.0},
    "output": {"figures": False},
    "evaluation": {"start": 600.0, "variables": ["temperature"]},
}


def of_file(format_: str, path: str, **more) -> dict:
    """The configuration of a run whose case is a file."""
    return RUN | {"case": {"format": format_, "path": path, **more}, "grid": {"kind": "native"}}


CALIBRATION = {
    "cases": [{"case": {"format": "cf_netcdf", "path": "profiles.nc"}}],
    "grid": {"kind": "native"},
    "model": {"closure": {"name": "constant"}},
    "time": {"step": 600.0},
    "misfit": {"start": 600.0, "weights": {"temperature": 1.0}},
    "parameters": {"viscosity": {"lower": 1e-6, "upper": 1.0}, "diffusivity": {"lower": 1e-6, "upper": 1.0}},
    "n_iterations": 2,
    "output": {"figures": False},
}
COMPARISON = {
    "cases": [{"format": "cf_netcdf", "path": "profiles.nc"}],
    "closures": ["constant"],
    "n_cells": [N_CELLS],
    "time_steps": [600.0],
    "n_timings": 0,
    "start": 600.0,
    "figures": {"n_cells": N_CELLS, "time_step": 600.0},
}
STATION = RUN | {
    "case": {
        "format": "site",
        "latitude": 48.0,
        "longitude": -9.0,
        "start_time": "2015-03-01T00:00:00",
        "duration": 3600.0,
        "depth": 16.0,
        "observations": {"format": "oceansites", "paths": "mooring.nc"},
        "weather": {"format": "table", "paths": "weather.csv"},
    },
}
_ERA5 = {"format": "era5", "paths": "era5.nc"}
_FLOAT = {"format": "argo", "paths": "float.nc"}
GOTM = {
    "version": 7,
    "location": {"latitude": 45.0, "longitude": -30.0, "depth": 16.0},
    "time": {"start": "2011-03-01 00:00:00", "stop": "2011-03-01 04:00:00", "dt": 600.0},
    "grid": {"nlev": N_CELLS},
    "temperature": {"method": "file", "file": "tprof.dat", "type": "conservative"},
    "salinity": {"method": "constant", "constant_value": 35.0, "type": "absolute"},
    "surface": {"fluxes": {"tx": {"method": "file", "file": "momentum.dat"}}, "ice": {"model": "no_ice"}},
    "turbulence": {"turb_param": {"k_min": 1e-8}},
    "equation_of_state": {"method": "linear_custom"},
    "output": {"prof": {"time_unit": "hour", "time_step": 2, "variables": [{"source": "temp"}]}},
}
CONFIGS = {
    "run.yaml": RUN,
    "profiles.yaml": of_file("cf_netcdf", "profiles.nc"),
    "profiles3.yaml": of_file("cf_netcdf", "profiles3.nc"),
    "les.yaml": of_file("lesbrary", "les.jld2"),
    "calibration.yaml": CALIBRATION,
    "comparison.yaml": COMPARISON,
    "station.yaml": STATION,
    "float.yaml": STATION | {"case": STATION["case"] | {"observations": _FLOAT}},
    "era5.yaml": STATION | {"case": STATION["case"] | {"weather": _ERA5}},
    "gotm.yaml": GOTM,
}
"""Configurations by the name of their file."""


def write_yaml(path: Path, content: object) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _profiles(path: Path, format_: Literal["NETCDF4", "NETCDF3_CLASSIC"]) -> None:
    """Profiles and fluxes as CF NetCDF."""
    with netCDF4.Dataset(path, "w", format=format_) as file:
        file.latitude, file.gravity, file.reference_density = 45.0, 9.81, 1025.0
        file.createDimension("time", N_TIMES)
        file.createDimension("depth", N_CELLS)

        def add(name: str, dims: tuple[str, ...], values: np.ndarray, **attributes) -> None:
            variable = file.createVariable(name, "f8", dims)
            variable.setncatts(attributes)
            variable[...] = values

        depth = np.arange(N_CELLS) * 2.0 + 1.0
        time = np.arange(N_TIMES) * 1200.0
        add("time", ("time",), time, units="seconds since 2010-06-01 00:00:00", axis="T")
        add("depth", ("depth",), depth, units="m", positive="down", axis="Z")
        temperature = 18.0 - 0.1 * depth + 0.001 * np.arange(N_TIMES)[:, None]
        add("temperature", ("time", "depth"), temperature, units="degC")
        for name in ("u", "v"):
            add(name, ("time", "depth"), 0.0 * temperature, units="m s-1")
        add("surface_stress_u", ("time",), 0.1 + 0.0 * time, units="N m-2")
        add("surface_heat_flux", (), np.array(-100.0), units="W m-2")


def _simulation(path: Path) -> None:
    """A large-eddy simulation as LESbrary keeps it."""
    content: dict = {
        "grid/Nz": N_CELLS,
        "grid/Hz": 0,
        "grid/Lz": 2.0 * N_CELLS,
        "grid/zᵃᵃᶠ": 2.0 * (np.arange(N_CELLS + 1.0) - N_CELLS),
        "parameters/momentum_flux": -1e-4,
        "parameters/temperature_flux": 5e-5,
        "parameters/coriolis_parameter": 1e-4,
        "parameters/thermal_expansion_coefficient": 2e-4,
        "parameters/gravitational_acceleration": 9.80665,
    }
    for iteration in range(N_TIMES):
        content[f"timeseries/t/{iteration}"] = 1200.0 * iteration
        content[f"timeseries/T/{iteration}"] = 19.0 + 0.1 * np.arange(N_CELLS) - 1e-4 * iteration
        for name in ("u", "v"):
            content[f"timeseries/{name}/{iteration}"] = np.zeros(N_CELLS)
    with h5py.File(path, "w") as file:
        for key, value in content.items():
            file[key] = value


def _mooring(path: Path) -> None:
    """Temperature and salinity at fixed depths, with flags."""
    with netCDF4.Dataset(path, "w") as file:
        for name, n in (("TIME", N_TIMES), ("DEPTH", 4), ("LATITUDE", 1), ("LONGITUDE", 1)):
            file.createDimension(name, n)
        columns = {
            "TIME": (("TIME",), np.arange(N_TIMES) / 72.0, {"units": "days since 2015-03-01T00:00:00Z"}),
            "DEPTH": (("DEPTH",), np.array([1.0, 5.0, 10.0, 15.0]), {"units": "m", "positive": "down"}),
            "LATITUDE": (("LATITUDE",), np.array([48.0]), {"units": "degrees_north"}),
            "LONGITUDE": (("LONGITUDE",), np.array([-9.0]), {"units": "degrees_east"}),
        }
        shape = (N_TIMES, 4)
        for name, value, unit in (("TEMP", 12.0, "degree_Celsius"), ("PSAL", 35.0, "1")):
            columns[name] = (("TIME", "DEPTH"), np.full(shape, value), {"units": unit})
        for name, (dims, values, attributes) in columns.items():
            variable = file.createVariable(name, "f8", dims)
            variable.setncatts(attributes)
            variable[...] = values
        for name in ("TEMP_QC", "PSAL_QC"):
            file.createVariable(name, "i1", ("TIME", "DEPTH"))[...] = np.ones(shape, "i1")


def _float(path: Path) -> None:
    """Two profiles of an Argo float."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("N_PROF", 2)
        file.createDimension("N_LEVELS", 4)

        def add(name: str, kind: str, dims: tuple[str, ...], values: Any, unit: str = "") -> None:
            variable = file.createVariable(name, kind, dims, fill_value=b" " if kind == "S1" else 99999.0)
            variable.units = unit
            variable[...] = values

        add("JULD", "f8", ("N_PROF",), [23799.9, 23800.02], "days since 1950-01-01 00:00:00 UTC")
        add("LONGITUDE", "f8", ("N_PROF",), -9.0)
        add("LATITUDE", "f8", ("N_PROF",), 48.0)
        for name in ("JULD_QC", "POSITION_QC"):
            add(name, "S1", ("N_PROF",), np.array([b"1", b"1"]))
        add("DATA_MODE", "S1", ("N_PROF",), np.array([b"R", b"R"]))
        measured = (("PRES", [1.0, 5.0, 10.0, 16.0], "decibar"), ("TEMP", 12.0, "degree_Celsius"))
        for key, values, unit in (*measured, ("PSAL", 35.0, "psu")):
            add(key, "f4", ("N_PROF", "N_LEVELS"), np.broadcast_to(values, (2, 4)), unit)
            add(f"{key}_QC", "S1", ("N_PROF", "N_LEVELS"), np.full((2, 4), b"1"))


def _reanalysis(path: Path) -> None:
    """The weather of ERA5 at four points."""
    parameters = {
        "u10": ("m s**-1", 8.0),
        "v10": ("m s**-1", 1.0),
        "t2m": ("K", 283.0),
        "d2m": ("K", 281.0),
        "sp": ("Pa", 101300.0),
        "ssrd": ("J m**-2", 0.0),
        "strd": ("J m**-2", 1.1e6),
    }
    axes = {
        "valid_time": (np.arange(5) * 3600 + 1425168000 - 3600, "seconds since 1970-01-01"),
        "latitude": (np.array([48.25, 47.75]), "degrees_north"),
        "longitude": (np.array([-9.25, -8.75]), "degrees_east"),
    }
    with netCDF4.Dataset(path, "w") as file:
        for name, (values, unit) in axes.items():
            file.createDimension(name, values.size)
            variable = file.createVariable(name, values.dtype, (name,))
            variable.units = unit
            variable[...] = values
        for name, (unit, value) in parameters.items():
            variable = file.createVariable(name, "f8", tuple(axes))
            variable.units = unit
            variable[...] = value


def _tables(folder: Path) -> None:
    names = "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],specific_humidity [1],"
    lines = [names + "air_pressure [Pa],shortwave [W m-2],longwave [W m-2]"]
    lines += [f"2015-03-01T0{hour}:00:00,8.0,1.0,10.0,0.006,101300.0,100.0,320.0" for hour in range(5)]
    (folder / "weather.csv").write_text("\n".join(lines) + "\n")
    hours = [f"2011-03-01 0{hour}:00:00" for hour in range(6)]
    (folder / "momentum.dat").write_text("".join(f"{hour} 0.1 0.0\n" for hour in hours))
    levels = "".join(f"{-2.0 * level - 1.0:g} {12.0 - 0.1 * level:g}\n" for level in range(N_CELLS))
    (folder / "tprof.dat").write_text("".join(f"{hour} {N_CELLS} 2\n{levels}" for hour in hours[::5]))


COMMAND = [sys.executable, "-c", "from tunax_lite.cli import main; main()"]
"""`tunax-lite` of this interpreter."""


def run_command(folder: Path, *arguments: str) -> None:
    """Run a command that has to succeed."""
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"expected `tunax-lite {' '.join(arguments)}` to work, got\n{done.stderr}")


def write_material(folder: Path, *, results: bool = True) -> Path:
    """The files, and results of a run, a calibration and its posterior if they are wanted."""
    folder.mkdir(parents=True)
    for name, content in CONFIGS.items():
        write_yaml(folder / name, content)
    _profiles(folder / "profiles.nc", "NETCDF4")
    _profiles(folder / "profiles3.nc", "NETCDF3_CLASSIC")
    _simulation(folder / "les.jld2")
    _mooring(folder / "mooring.nc")
    _float(folder / "float.nc")
    _reanalysis(folder / "era5.nc")
    _tables(folder)
    values = {"viscosity": 1e-3, "diffusivity": {"value": 1e-4, "unit": "m2 s-1"}}
    write_yaml(folder / "parameters.yaml", {"closure": "Constant", "parameters": values})
    if results:
        run_command(folder, "run", "run.yaml", "--output", "result.nc")
        run_command(folder, "calibrate", "calibration.yaml", "--output", "fit")
        run_command(
            folder, "posterior", "calibration.yaml", "--output", "fit", "--set", "posterior.n_members=4"
        )
    return folder
