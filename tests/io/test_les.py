"""Readers of large-eddy simulations: the LESbrary, and the file of Legay et al."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.errors import notes_in
from tests.io.observation_files import LES_TIMES, N_CELLS, fluxes_at, les_temperature, write_lesbrary
from tunax_lite import constants
from tunax_lite.io import FileFormatError, read_legay, read_lesbrary
from tunax_lite.physics.absorption import TwoBandAbsorption

HEAT_PER_KELVIN = 1027.0 * 3991.86796  # density times heat capacity


def test_iterations_sort_as_numbers_and_halos_are_cut(tmp_path):
    case, observations = read_lesbrary(write_lesbrary(tmp_path / "a.jld2"))
    expected = np.stack([les_temperature(iteration) for iteration in LES_TIMES])
    np.testing.assert_array_equal(observations.profiles["temperature"], expected.astype(float))
    np.testing.assert_array_equal(observations.time, list(LES_TIMES.values()))
    np.testing.assert_array_equal(case.initial_state.temperature, expected[0].astype(float))
    np.testing.assert_array_equal(case.grid.z_face, 4.0 * (np.arange(N_CELLS + 1) - N_CELLS))
    assert case.initial_state.temperature.dtype == jnp.float64
    assert case.duration == 1800.0 and case.name == "little_case"
    change = {"timeseries/t/1003": 1800.0000000000002}  # rounding is dropped
    without_halo = read_lesbrary(write_lesbrary(tmp_path / "b.jld2", n_halo=0, change=change))
    jax.tree.map(np.testing.assert_array_equal, (case, observations), without_halo)


def test_upward_fluxes_become_fluxes_into_the_column(tmp_path):
    faces = -32.0 * (1.0 - np.linspace(0.0, 1.0, N_CELLS + 1)) ** 1.5
    change = {"parameters/boundary_condition_v_top": 2e-4, "parameters/penetrating_buoyancy_flux": -1e-7}
    case, _ = read_lesbrary(write_lesbrary(tmp_path / "a.jld2", change={"grid/zᵃᵃᶠ": faces, **change}))
    np.testing.assert_array_equal(case.grid.z_face, faces)
    fluxes = fluxes_at(case)
    assert float(fluxes.stress_u) == 1e-3 * constants.REFERENCE_DENSITY
    assert float(fluxes.stress_v) == -2e-4 * constants.REFERENCE_DENSITY
    # The product of three factors may round differently in another order.
    np.testing.assert_allclose(fluxes.heat_flux, -5e-5 * HEAT_PER_KELVIN, rtol=1e-15)
    # 1e-7 m2 s-3 over g alpha, times density and heat capacity.
    np.testing.assert_allclose(fluxes.shortwave_flux, 1e-7 / (9.80665 * 2e-4) * HEAT_PER_KELVIN, rtol=1e-12)
    assert isinstance(case.absorption, TwoBandAbsorption) and float(case.absorption.visible_depth) == 20.0
    assert float(case.equation_of_state.gravity) == 9.80665
    assert float(case.initial_state.salinity[0]) == 35.0


def test_keys_of_other_generations(tmp_path, recwarn):
    expected, _ = read_lesbrary(write_lesbrary(tmp_path / "a.jld2"))
    assert float(fluxes_at(expected).stress_v) == 0.0
    removed = "momentum_flux temperature_flux coriolis_parameter thermal_expansion_coefficient"
    change: dict = {f"parameters/{name}": None for name in f"{removed} gravitational_acceleration".split()}
    change |= {"parameters/boundary_condition_u_top": -1e-3, "coriolis/f": 1e-4, "timeseries/v": None}
    stated = {
        "buoyancy/model/equation_of_state/α": 2e-4,
        "buoyancy/model/gravitational_acceleration": 9.80665,
    }
    case, observations = read_lesbrary(write_lesbrary(tmp_path / "b.jld2", change=change | stated))
    assert set(observations.profiles) == {"temperature", "u"}
    # The heat flux comes from the buoyancy flux here, one division and one product more.
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-14), case, expected)
    # Buoyancy alone gives temperature: a subtraction of 20 degC and two products there and back.
    change |= {"timeseries/T": None}
    for iteration in LES_TIMES:
        buoyancy = 9.80665 * 2e-4 * (les_temperature(iteration).astype(float) - 20.0)
        change[f"timeseries/b/{iteration}"] = buoyancy
    case, observations = read_lesbrary(write_lesbrary(tmp_path / "c.jld2", change=change))
    np.testing.assert_allclose(case.initial_state.temperature, les_temperature(0), rtol=1e-13)
    np.testing.assert_allclose(fluxes_at(case).heat_flux, -5e-5 * HEAT_PER_KELVIN, rtol=1e-12)
    assert observations.profiles["temperature"].shape == (4, N_CELLS)
    # Twice the expansion that is assumed halves the range of temperatures.
    (note,) = notes_in(recwarn)
    given, _ = read_lesbrary(tmp_path / "c.jld2", thermal_expansion=4e-4)
    assert "thermal_expansion = 0.0002" in note and "thermal_expansion" not in notes_in(recwarn)[0]
    np.testing.assert_allclose(given.initial_state.temperature - 20.0, 0.5 * (les_temperature(0) - 20.0))


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


def test_small_file(tmp_path, recwarn):
    case, observations = read_legay(small_file(tmp_path / "a.nc"))
    np.testing.assert_allclose(case.grid.z_face, [-20.0, -16.0, -12.0, -8.0, -4.0, 0.0], rtol=1e-15)
    gradient = np.diff(case.initial_state.temperature) / 4.0
    n_squared = constants.GRAVITY * 2e-4 * gradient
    np.testing.assert_allclose(n_squared, 3e-6, rtol=1e-5)
    fluxes = fluxes_at(case)
    assert float(fluxes.heat_flux) < 0.0
    np.testing.assert_allclose(fluxes.stress_u, 4e-4 * constants.REFERENCE_DENSITY)
    assert case.duration == 7200.0 and len(notes_in(recwarn)) == 1  # expansion, temperature of b = 0
    assert observations.profiles["v"].shape == (3, 5)


def test_profiles_of_another_simulation_need_its_forcing(tmp_path):
    path = small_file(tmp_path / "LES_buoyancyDominant_results.nc", stress=1e-4, cooling=5e-8)
    with pytest.raises(FileFormatError) as raised:
        read_legay(path)
    assert ".nc: b: " in str(raised.value) and "surface_buoyancy_flux" in str(raised.value)
    with pytest.raises(FileFormatError) as raised:
        read_legay(path, surface_buoyancy_flux=-5e-8)
    assert ".nc: u: " in str(raised.value)
    case, _ = read_legay(path, surface_buoyancy_flux=-5e-8, stress_u=0.1)
    assert case.name == "legay_buoyancy_dominant"
    heat = -5e-8 / (constants.GRAVITY * 2e-4) * HEAT_PER_KELVIN
    np.testing.assert_allclose(fluxes_at(case).heat_flux, heat)
