"""Simulations that no constants saw arrive with their signs, units and order of levels."""

import h5py
import numpy as np

from benchmarks.unseen import converted
from tunax_lite.io import read_cf_netcdf
from tunax_lite.physics import LinearEquationOfState


def test_profiles_and_fluxes_arrive(tmp_path):
    """75 W m-2 leave the water, whose uppermost cell is the first and warmest, and drag it east."""
    with h5py.File(tmp_path / "one.jld2", "w") as file:
        numbers = {"cP": 4000.0, "f": 1e-4, "g": 10.0, "α": 2e-4, "κ": 1e-4, "ρ₀": 1000.0}
        numbers = {f"constants/{name}": value for name, value in numbers.items()}
        numbers |= {"boundary_conditions/Fb": 3.75e-8, "boundary_conditions/Fu": -1e-4, "grid/L": 30.0}
        for name, value in (numbers | {"grid/N": 3}).items():
            file[name] = value
        for record, time in (("0", 0.0), ("40", 100.0), ("200", 500.0)):
            file[f"timeseries/t/{record}"] = time
            for name, surface in (("T", 293.15 - 1e-3 * time), ("U", 1e-3 * time), ("V", 0.0)):
                file[f"timeseries/{name}/{record}"] = surface - np.array([0.0, 1.0, 2.0]).reshape(3, 1, 1)
    converted(tmp_path / "one.jld2").to_netcdf(tmp_path / "one.nc")
    case, observations = read_cf_netcdf(tmp_path / "one.nc")
    fluxes = case.forcing.at(0.0)
    for name, expected in (("heat_flux", -75.0), ("stress_u", 0.1), ("stress_v", 0.0)):
        np.testing.assert_allclose(getattr(fluxes, name), expected)
    np.testing.assert_allclose(case.grid.z_center, [-25.0, -15.0, -5.0])
    np.testing.assert_allclose(case.initial_state.temperature, [18.0, 19.0, 20.0])
    np.testing.assert_allclose(observations.time, [0.0, 100.0, 500.0])
    np.testing.assert_allclose(observations.profiles["u"][-1], [-1.5, -0.5, 0.5])
    assert isinstance(case.equation_of_state, LinearEquationOfState)
    assert float(case.equation_of_state.thermal_expansion) == 2e-4
