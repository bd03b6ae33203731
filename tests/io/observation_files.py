"""Small valid observation files, which tests then read or break."""

from pathlib import Path
from typing import Any

import h5py
import jax.numpy as jnp
import numpy as np
import xarray as xr

import tunax_lite as tl

N_CELLS, N_HALO = 8, 3
LES_TIMES = {0: 0.0, 96: 600.0, 104: 1200.0, 1003: 1800.0}
"""Iterations whose order as text is another than as numbers."""


def les_temperature(iteration: int) -> np.ndarray:
    """Interior values of one profile, different in every iteration."""
    return (19.0 + 0.1 * np.arange(N_CELLS) - 1e-4 * iteration).astype(np.float32)


def write_lesbrary(
    path: Path, *, change: dict[str, Any] | None = None, n_halo: int = N_HALO, n_cells: int = N_CELLS
) -> Path:
    """A small file with the keys of LESbrary; `change` replaces values by key, or removes them (`None`)."""

    def padded(values, n):
        return np.pad(np.asarray(values), n)[:, None, None]

    faces = 4.0 * (np.arange(-n_halo, n_cells + 1 + n_halo) - n_cells)
    content: dict[str, Any] = {
        "grid/Nz": n_cells,
        "grid/Hz": N_HALO,
        "grid/Lz": 4.0 * n_cells,
        "grid/zᵃᵃᶠ": faces,
        "parameters/name": np.bytes_("little_case"),
        "parameters/momentum_flux": -1e-3,
        "parameters/temperature_flux": 5e-5,
        "parameters/buoyancy_flux": 5e-5 * 2e-4 * 9.80665,
        "parameters/coriolis_parameter": 1e-4,
        "parameters/thermal_expansion_coefficient": 2e-4,
        "parameters/gravitational_acceleration": 9.80665,
        "timeseries/T/serialized/boundary": 1.0,
    }
    for iteration, time in LES_TIMES.items():
        content[f"timeseries/t/{iteration}"] = time
        temperature = np.resize(les_temperature(iteration), n_cells)
        content[f"timeseries/T/{iteration}"] = padded(temperature, n_halo)
        for name in ("u", "v"):
            values = np.full(n_cells, 0.01 * time / 600.0, np.float32)
            content[f"timeseries/{name}/{iteration}"] = padded(values, n_halo)
    for key, value in (change or {}).items():
        content = {k: old for k, old in content.items() if k != key and not k.startswith(key + "/")}
        if value is not None:
            content[key] = value
    with h5py.File(path, "w") as file:
        for key, value in content.items():
            file[key] = value
    return path


def cf_dataset(**profile_attributes) -> xr.Dataset:
    """A mooring in CF terms: three hours, four depths, uppermost first, constant and tabulated fluxes."""
    depth = np.array([2.0, 6.0, 10.0, 14.0])
    hours = np.arange(4.0)
    temperature = 18.0 - 0.1 * depth + 0.01 * hours[:, None]
    return xr.Dataset(
        {
            "TEMP": (
                ("TIME", "DEPTH"),
                temperature,
                {"standard_name": "sea_water_temperature", "units": "degrees_C"} | profile_attributes,
            ),
            "surface_stress_u": ("TIME", 0.1 + 0.01 * hours, {"units": "N m-2"}),
            "surface_heat_flux": ((), -100.0, {"units": "W/m2"}),
        },
        {
            "TIME": ("TIME", hours / 24.0, {"units": "days since 2010-06-01T06:00:00Z", "axis": "T"}),
            "DEPTH": ("DEPTH", depth, {"units": "m", "positive": "down", "axis": "Z"}),
        },
        {"latitude": 45.0},
    )


def fluxes_at(case: tl.Case, seconds: float = 0.0) -> Any:
    """Surface fluxes of a case; of no stated type, because each may be `None`."""
    return case.forcing.at(jnp.asarray(seconds))
