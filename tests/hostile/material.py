"""Small valid files of every format that the package reads, which the attacks then damage."""

import subprocess
import sys
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import xarray as xr
import yaml

N_CELLS, N_TIMES = 8, 5
_LISTED = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
CONFIGS = {name: content for name, content in _LISTED.items() if not name.startswith(".")}
"""Configurations by the name of their file."""


def write_yaml(path: Path, content: object) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _profiles() -> xr.Dataset:
    """Profiles and fluxes as CF NetCDF."""
    depth, time = np.arange(N_CELLS) * 2.0 + 1.0, np.arange(N_TIMES) * 1200.0
    dims = ("time", "depth")
    temperature = 18.0 - 0.1 * depth + 0.001 * np.arange(N_TIMES)[:, None]
    still = {name: (dims, 0.0 * temperature, {"units": "m s-1"}) for name in ("u", "v")}
    return xr.Dataset(
        {"temperature": (dims, temperature, {"units": "degC"})}
        | still
        | {
            "surface_stress_u": ("time", 0.1 + 0.0 * time, {"units": "N m-2"}),
            "surface_heat_flux": ((), -100.0, {"units": "W m-2"}),
        },
        {
            "time": ("time", time, {"units": "seconds since 2010-06-01 00:00:00", "axis": "T"}),
            "depth": ("depth", depth, {"units": "m", "positive": "down", "axis": "Z"}),
        },
        {"latitude": 45.0, "gravity": 9.81, "reference_density": 1025.0},
    )


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


def _mooring() -> xr.Dataset:
    """Temperature and salinity at fixed depths, with flags."""
    dims, shape = ("TIME", "DEPTH"), (N_TIMES, 4)
    measured = {"TEMP": (12.0, "degree_Celsius"), "PSAL": (35.0, "1")}
    depth = ("DEPTH", [1.0, 5.0, 10.0, 15.0], {"units": "m", "positive": "down"})
    return xr.Dataset(
        {name: (dims, np.full(shape, value), {"units": unit}) for name, (value, unit) in measured.items()}
        | {f"{name}_QC": (dims, np.ones(shape, "i1")) for name in measured},
        {
            "TIME": ("TIME", np.arange(N_TIMES) / 72.0, {"units": "days since 2015-03-01T00:00:00Z"}),
            "DEPTH": depth,
            "LATITUDE": ("LATITUDE", [48.0], {"units": "degrees_north"}),
            "LONGITUDE": ("LONGITUDE", [-9.0], {"units": "degrees_east"}),
        },
    )


def _float(path: Path) -> None:
    """Two profiles of an Argo float."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("N_PROF", 2)
        file.createDimension("N_LEVELS", 4)

        def add(name: str, kind: str, dims: tuple[str, ...], values, unit: str = "") -> None:
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


def _reanalysis() -> xr.Dataset:
    """The weather of ERA5 at four points."""
    wind, thermal = (
        {"u10": ("m s**-1", 8.0), "v10": ("m s**-1", 1.0)},
        {"t2m": ("K", 283.0), "d2m": ("K", 281.0)},
    )
    radiation = {"sp": ("Pa", 101300.0), "ssrd": ("J m**-2", 0.0), "strd": ("J m**-2", 1.1e6)}
    time = np.arange(5) * 3600 + 1425168000 - 3600
    axes = {
        "valid_time": ("valid_time", time, {"units": "seconds since 1970-01-01"}),
        "latitude": ("latitude", [48.25, 47.75], {"units": "degrees_north"}),
        "longitude": ("longitude", [-9.25, -8.75], {"units": "degrees_east"}),
    }
    parameters = wind | thermal | radiation
    values = {
        name: (tuple(axes), np.full((5, 2, 2), value), {"units": unit})
        for name, (unit, value) in parameters.items()
    }
    return xr.Dataset(values, axes)


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
    for name, data in (("profiles", _profiles()), ("mooring", _mooring()), ("era5", _reanalysis())):
        data.to_netcdf(folder / f"{name}.nc", engine="netcdf4")
    _profiles().to_netcdf(folder / "profiles3.nc", format="NETCDF3_CLASSIC", engine="netcdf4")
    _float(folder / "float.nc")
    _simulation(folder / "les.jld2")
    _tables(folder)
    values = {"viscosity": 1e-3, "diffusivity": {"value": 1e-4, "unit": "m2 s-1"}}
    write_yaml(folder / "parameters.yaml", {"closure": "Constant", "parameters": values})
    if results:
        more = ("--output", "fit")
        run_command(folder, "run", "run.yaml", "--output", "result.nc")
        run_command(folder, "calibrate", "calibration.yaml", *more)
        run_command(folder, "posterior", "calibration.yaml", *more, "--set", "posterior.n_members=4")
    return folder
