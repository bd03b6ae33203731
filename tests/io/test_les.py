"""Readers of large-eddy simulations: the LESbrary, and the file of Legay et al."""

import dataclasses
import re
from pathlib import Path

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.io.observation_files import LES_TIMES, N_CELLS, fluxes_at, les_temperature, write_lesbrary
from tunax_lite import constants
from tunax_lite.io import FileFormatError, read_legay, read_lesbrary
from tunax_lite.physics.absorption import TwoBandAbsorption

WATTS = 1027.0 * 3991.86796  # density times heat capacity: W m-2 of a kinematic flux in K m s-1
CASES = ("free_convection", "strong_wind", "strong_wind_no_rotation", "strong_wind_weak_cooling")


def test_iterations_sort_as_numbers_and_halos_are_cut(tmp_path):
    case, observations = read_lesbrary(write_lesbrary(tmp_path / "a.jld2"))
    expected = np.stack([les_temperature(iteration) for iteration in LES_TIMES])
    np.testing.assert_array_equal(observations.profiles["temperature"], expected.astype(float))
    np.testing.assert_array_equal(observations.time, list(LES_TIMES.values()))
    np.testing.assert_array_equal(case.initial_state.temperature, expected[0].astype(float))
    np.testing.assert_array_equal(case.grid.z_face, 4.0 * (np.arange(N_CELLS + 1) - N_CELLS))
    assert case.initial_state.temperature.dtype == jnp.float64
    assert case.duration == 1800.0
    assert case.name == "little_case"
    change = {"timeseries/t/1003": 1800.0000000000002}  # rounding is dropped
    without_halo = read_lesbrary(write_lesbrary(tmp_path / "b.jld2", n_halo=0, change=change))
    jax.tree.map(np.testing.assert_array_equal, (case, observations), without_halo)


def test_upward_fluxes_become_fluxes_into_the_column(tmp_path):
    northward = {"parameters/boundary_condition_v_top": 2e-4}
    case, _ = read_lesbrary(write_lesbrary(tmp_path / "a.jld2", change=northward))
    fluxes = fluxes_at(case)
    assert float(fluxes.stress_u) == 1e-3 * constants.REFERENCE_DENSITY
    assert float(fluxes.stress_v) == -2e-4 * constants.REFERENCE_DENSITY
    without, _ = read_lesbrary(write_lesbrary(tmp_path / "b.jld2"))
    assert float(fluxes_at(without).stress_v) == 0.0
    # The product of three factors may round differently in another order.
    expected = -5e-5 * constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY
    assert float(fluxes.heat_flux) == pytest.approx(expected, rel=1e-15)
    assert float(case.equation_of_state.gravity) == 9.80665
    assert float(case.initial_state.salinity[0]) == 35.0


def test_keys_of_other_generations(tmp_path):
    expected, _ = read_lesbrary(write_lesbrary(tmp_path / "a.jld2"))
    change = {
        "parameters/momentum_flux": None,
        "parameters/boundary_condition_u_top": -1e-3,
        "parameters/temperature_flux": None,
        "parameters/coriolis_parameter": None,
        "coriolis/f": 1e-4,
        "parameters/thermal_expansion_coefficient": None,
        "buoyancy/model/equation_of_state/α": 2e-4,
        "parameters/gravitational_acceleration": None,
        "buoyancy/model/gravitational_acceleration": 9.80665,
        "timeseries/v": None,
    }
    case, observations = read_lesbrary(write_lesbrary(tmp_path / "b.jld2", change=change))
    assert set(observations.profiles) == {"temperature", "u"}
    # The heat flux comes from the buoyancy flux here, one division and one product more.
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-14), case, expected)


def test_a_file_with_buoyancy_alone_gives_temperature(tmp_path):
    change: dict = {
        "timeseries/T": None,
        "parameters/temperature_flux": None,
        "parameters/thermal_expansion_coefficient": None,
        "parameters/gravitational_acceleration": None,
    }
    for iteration in LES_TIMES:
        buoyancy = 9.80665 * 2e-4 * (les_temperature(iteration).astype(float) - 20.0)
        change[f"timeseries/b/{iteration}"] = buoyancy
    case, observations = read_lesbrary(write_lesbrary(tmp_path / "b.jld2", change=change))
    # To and from buoyancy: a subtraction of 20 degC and two products.
    np.testing.assert_allclose(case.initial_state.temperature, les_temperature(0), rtol=1e-13)
    np.testing.assert_allclose(fluxes_at(case).heat_flux, -5e-5 * WATTS, rtol=1e-12)
    assert observations.profiles["temperature"].shape == (4, N_CELLS)


def test_a_stretched_grid_and_shortwave(tmp_path):
    faces = -32.0 * (1.0 - np.linspace(0.0, 1.0, N_CELLS + 1)) ** 1.5
    change = {"grid/zᵃᵃᶠ": faces, "parameters/penetrating_buoyancy_flux": -1e-7}
    case, _ = read_lesbrary(write_lesbrary(tmp_path / "a.jld2", change=change))
    np.testing.assert_array_equal(case.grid.z_face, faces)
    fluxes = fluxes_at(case)
    # 1e-7 m2 s-3 over g alpha, times density and heat capacity.
    np.testing.assert_allclose(fluxes.shortwave_flux, 1e-7 / (9.80665 * 2e-4) * WATTS, rtol=1e-12)
    assert isinstance(case.absorption, TwoBandAbsorption)
    assert float(case.absorption.visible_depth) == 20.0


@pytest.mark.long
def test_real_files(lesbrary_path):
    structures = set()
    for name in CASES:
        path = lesbrary_path(name)
        case, observations = read_lesbrary(path)
        with h5py.File(path) as file:
            first = np.asarray(file["timeseries/T/0"]).ravel()[3:-3].astype(float)
            momentum_flux = float(np.asarray(file["parameters/momentum_flux"]))
        temperature = np.asarray(observations.profiles["temperature"])
        np.testing.assert_array_equal(case.initial_state.temperature, first)
        np.testing.assert_array_equal(temperature[0], first)
        np.testing.assert_array_equal(case.grid.z_face, np.arange(-256.0, 1.0, 4.0))
        np.testing.assert_array_equal(observations.time, 600.0 * np.arange(289))
        fluxes = fluxes_at(case)
        assert float(fluxes.stress_u) == 0.0 - momentum_flux * 1027.0
        structures.add(jax.tree.structure(dataclasses.replace(case, name="")))
        if name in ("free_convection", "strong_wind_weak_cooling"):
            change = WATTS * 4.0 * (temperature[-1] - temperature[0]).sum() / case.duration
            # The simulation also conducts heat through its bottom, a few per cent of the surface flux.
            assert change == pytest.approx(float(fluxes.heat_flux), rel=0.1)
    assert len(structures) == 1


def small_file(path: Path, stress: float = 4e-4, cooling: float = 5e-9) -> Path:
    """Wind [m2 s-2] and cooling [m2 s-3] of the uppermost cell, in inertial oscillations of f = 1e-4 s-1."""
    z = np.arange(-18.0, 0.0, 4.0, dtype=np.float32)
    time = np.arange(3, dtype=np.float32) * 3600.0
    buoyancy, velocity = 3e-6 * z + np.zeros((3, 1)), np.zeros((3, 5), complex)
    buoyancy[:, -1] -= cooling * time / 4.0
    velocity[:, -1] = stress * (1.0 - np.exp(-1e-4j * time)) / 1e-4j / 4.0
    dataset = xr.Dataset(
        {
            "z": ("z", z),
            "t": ("t", time),
            "b": (("t", "z"), buoyancy.astype(np.float32)),
            "u": (("t", "z"), np.real(velocity).astype(np.float32)),
            "v": (("t", "z"), np.imag(velocity).astype(np.float32)),
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


def test_profiles_of_another_simulation_need_its_forcing(tmp_path):
    path = small_file(tmp_path / "LES_buoyancyDominant_results.nc", stress=1e-4, cooling=5e-8)
    with pytest.raises(FileFormatError) as raised:
        read_legay(path)
    assert ".nc: b: " in str(raised.value) and "surface_buoyancy_flux" in str(raised.value)
    numbers = re.findall(r"stress of \((\S+), .* flux of (\S+)", str(raised.value))[0]
    # As written, to the single precision of the file.
    np.testing.assert_allclose([float(number) for number in numbers], [1e-4, -5e-8], rtol=0.01)
    with pytest.raises(FileFormatError) as raised:
        read_legay(path, surface_buoyancy_flux=-5e-8)
    assert ".nc: u: " in str(raised.value)
    case, _ = read_legay(path, surface_buoyancy_flux=-5e-8, stress_u=0.1)
    assert case.name == "legay_buoyancy_dominant"
    heat = -5e-8 / (constants.GRAVITY * 2e-4) * constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY
    np.testing.assert_allclose(fluxes_at(case).heat_flux, heat)


@pytest.mark.long
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
