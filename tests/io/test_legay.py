"""The reader of the simulation of Legay et al. (2024)."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.io.observation_files import fluxes_at
from tunax_lite import constants
from tunax_lite.io import read_legay


def small_file(path: Path) -> Path:
    z = np.arange(-18.0, 0.0, 4.0, dtype=np.float32)
    time = np.arange(3, dtype=np.float32) * 3600.0
    buoyancy = (3e-6 * z + np.zeros((3, 1))).astype(np.float32)
    velocity = np.zeros((3, 5), np.float32)
    dataset = xr.Dataset(
        {
            "z": ("z", z),
            "t": ("t", time),
            "b": (("t", "z"), buoyancy),
            "u": (("t", "z"), velocity),
            "v": (("t", "z"), velocity),
        }
    )
    dataset.to_netcdf(path, engine="netcdf4", format="NETCDF3_CLASSIC", unlimited_dims=["t"])
    return path


def test_small_file(tmp_path):
    case, observations = read_legay(small_file(tmp_path / "a.nc"))
    # A fifth of the depth is no binary fraction.
    np.testing.assert_allclose(case.grid.z_face, [-20.0, -16.0, -12.0, -8.0, -4.0, 0.0], rtol=1e-15)
    # Buoyancy is in single precision.
    gradient = np.diff(case.initial_state.temperature) / 4.0
    n_squared = constants.GRAVITY * 2e-4 * gradient
    np.testing.assert_allclose(n_squared, 3e-6, rtol=1e-5)
    fluxes = fluxes_at(case)
    assert float(fluxes.heat_flux) < 0.0
    np.testing.assert_allclose(fluxes.stress_u, 4e-4 * constants.REFERENCE_DENSITY)
    assert case.duration == 7200.0
    assert observations.profiles["v"].shape == (3, 5)


def test_real_file_changes_its_buoyancy_by_the_surface_flux(legay_path):
    case, observations = read_legay(legay_path())
    temperature = np.asarray(observations.profiles["temperature"])
    heat_per_kelvin = constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY
    thickness = np.asarray(case.grid.cell_thickness)
    change = heat_per_kelvin * ((temperature[-1] - temperature[0]) * thickness).sum()
    # The simulation loses 2.6 % less than its surface flux.
    surface = float(fluxes_at(case).heat_flux)
    assert change / case.duration == pytest.approx(surface, rel=0.03)
    assert case.grid.n_cells == 256
    assert float(case.grid.depth) == pytest.approx(600.0, rel=1e-6)
