"""The reader of plain CF NetCDF files, its mapping, and the project's own observation files."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.errors import error_naming, notes_in
from tests.io.observation_files import cf_dataset, fluxes_at
from tunax_lite.io import (
    Mapping,
    case_from_dataset,
    open_observations,
    read_cf_netcdf,
)
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.units import Conversion


def save(dataset: xr.Dataset, path):
    dataset.to_netcdf(path, engine="netcdf4")
    return path


def test_finds_everything_by_cf_attributes(tmp_path):
    case, observations = read_cf_netcdf(save(cf_dataset(), tmp_path / "mooring.nc"))
    np.testing.assert_array_equal(observations.z, [-14.0, -10.0, -6.0, -2.0])
    np.testing.assert_array_equal(observations.time, [0.0, 3600.0, 7200.0, 10800.0])
    # 18 - 0.1 depth, deepest first; the values are decimal literals.
    np.testing.assert_allclose(observations.profiles["temperature"][0], [16.6, 17.0, 17.4, 17.8])
    np.testing.assert_array_equal(case.initial_state.temperature, observations.profiles["temperature"][0])
    np.testing.assert_array_equal(case.grid.z_face, [-16.0, -12.0, -8.0, -4.0, 0.0])
    assert (case.start_time, case.duration, case.name) == ("2010-06-01 06:00:00", 10800.0, "mooring")
    assert float(case.coriolis_parameter) == float(tl.coriolis_parameter(45.0))
    # Half an hour into a series that rises by 0.01 N m-2 an hour.
    np.testing.assert_allclose(fluxes_at(case, 1800.0).stress_u, 0.105)
    np.testing.assert_array_equal(fluxes_at(case, 1800.0).heat_flux, -100.0)


def test_mapping_gives_names_units_signs_and_direction(tmp_path):
    dataset = cf_dataset().rename(TEMP="theta", TIME="minutes", DEPTH="level")
    for name in dataset.variables:
        dataset[name].attrs = {}
    dataset = dataset.assign_coords(minutes=dataset["minutes"] * 1440.0)
    dataset["theta"] = dataset["theta"] + 273.15
    dataset["dye"] = dataset["theta"] * 0.0 + 2.0
    del dataset.attrs["latitude"]
    mapping = Mapping(
        variables={"temperature": "theta"},
        tracers={"dye": "dye"},
        time="minutes",
        vertical="level",
        positive="down",
        fluxes={"stress_u": "surface_stress_u", "heat_flux": 50.0},
        units={
            "temperature": "K",
            "time": "min",
            "z": "dm",
            "stress_u": Conversion(unit="Pa", sign=-1),
            "heat_flux": Conversion(sign=-1),
        },
        coriolis_parameter=-1e-4,
        salinity=34.0,
        name="other",
    )
    case, observations = read_cf_netcdf(save(dataset, tmp_path / "m.nc"), mapping)
    np.testing.assert_allclose(observations.z, [-1.4, -1.0, -0.6, -0.2])
    # Adding and taking 273.15 costs digits: 4e-14 relative of 300 K.
    np.testing.assert_allclose(observations.profiles["temperature"][0], [16.6, 17.0, 17.4, 17.8], atol=2e-13)
    np.testing.assert_array_equal(observations.profiles["dye"], np.full((4, 4), 2.0))
    np.testing.assert_array_equal(case.initial_state.tracers["dye"], np.full(4, 2.0))
    fluxes = fluxes_at(case)
    assert (float(fluxes.stress_u), float(fluxes.heat_flux)) == (-0.1, -50.0)
    assert float(case.coriolis_parameter) == -1e-4
    assert float(case.initial_state.salinity[0]) == 34.0
    assert case.name == "other" and case.start_time is None


def test_initial_values_lie_on_the_profile_of_uneven_levels(tmp_path):
    dataset = cf_dataset().assign_coords(
        DEPTH=("DEPTH", [1.0, 3.0, 10.0, 40.0], {"units": "m", "positive": "down"})
    )
    dataset["TEMP"] = (
        (18.0 - 0.1 * dataset["DEPTH"]).broadcast_like(dataset["TEMP"]).assign_attrs(dataset["TEMP"].attrs)
    )
    case, _ = read_cf_netcdf(save(dataset, tmp_path / "m.nc"))
    np.testing.assert_array_equal(case.grid.z_face, [-55.0, -25.0, -6.5, -2.0, 0.0])
    # Linear profile: exact between levels, and the value of the end level beyond.
    np.testing.assert_allclose(case.initial_state.temperature, [14.0, 18.0 - 1.575, 17.575, 17.9])


def test_the_first_complete_profile_starts_the_case(tmp_path):
    dataset = cf_dataset()
    dataset["TEMP"].values[0, 1] = np.nan
    dataset["TEMP"].values[2, 3] = np.nan
    case, observations = read_cf_netcdf(save(dataset, tmp_path / "gaps.nc"))
    assert case.start_time == "2010-06-01 07:00:00"
    np.testing.assert_array_equal(observations.time, [0.0, 3600.0, 7200.0])
    assert np.argwhere(np.isnan(observations.profiles["temperature"])).tolist() == [[1, 0]]
    # The forcing keeps its clock: 0.11 N m-2 at seven o'clock.
    np.testing.assert_allclose(fluxes_at(case).stress_u, 0.11)
    case.forcing.check_covers(0.0, case.duration)


def test_directions_and_kinematic_units_of_fluxes(tmp_path):
    for name, sign in (
        ("water_flux_into_sea_water_from_rivers", 1.0),
        ("water_flux_out_of_sea_water", -1.0),
        ("surface_upward_water_flux", -1.0),
    ):
        dataset, mapping = cf_dataset(), Mapping(fluxes={"freshwater_flux": "rain"})
        dataset["rain"] = ((), 8.64, {"units": "mm day-1", "standard_name": name})
        case, _ = read_cf_netcdf(save(dataset, tmp_path / f"{name}.nc"), mapping)
        np.testing.assert_allclose(fluxes_at(case).freshwater_flux, sign * 1e-4, rtol=1e-12)
    dataset["rain_too"] = dataset["rain"].assign_attrs(standard_name="water_flux_into_sea_water")
    dataset["rain"].attrs["standard_name"] = "water_flux_into_sea_water"
    with error_naming(FileFormatError, "freshwater_flux rain rain_too fluxes"):
        read_cf_netcdf(save(dataset, tmp_path / "two.nc"))
    # The model divides by the density and heat capacity of the file: what it stated comes back.
    dataset, density, capacity = cf_dataset(), 1035.0, 4181.3
    dataset.attrs.update({"reference_density": density, "heat_capacity": capacity})
    for name, unit, value in (("heat_flux", "K m s-1", -2e-5), ("stress_u", "m2 s-2", 1e-4)):
        given = {key: 0.0 for key in ("stress_u", "stress_v", "heat_flux")} | {name: "kinematic"}
        dataset["kinematic"] = ((), value, {"units": unit})
        case, _ = read_cf_netcdf(save(dataset, tmp_path / f"{name}.nc"), Mapping(fluxes=given))
        expected = value * density * (capacity if name == "heat_flux" else 1.0)
        np.testing.assert_allclose(getattr(fluxes_at(case), name), expected, rtol=1e-12)


def test_forcing_of_another_file_with_another_clock(tmp_path):
    path = save(cf_dataset().drop_vars("surface_stress_u"), tmp_path / "m.nc")
    time = ("t", np.array([0.0, 6.0, 12.0]), {"units": "hours since 2010-06-01"})
    time_2 = ("t2", np.array([3.0, 9.0, 15.0]), {"units": "hours since 2010-06-01"})
    upward = {"units": "W m-2", "standard_name": "surface_upward_heat_flux_in_air"}
    weather = xr.Dataset(
        {"taux": ("t", [0.0, 0.6, 1.2], {"units": "N m-2"}), "q": ("t2", [30.0, 90.0, 150.0], upward)},
        {"t": time, "t2": time_2},
    )
    save(weather, tmp_path / "weather.nc")
    fluxes: dict[str, float | str] = {"stress_u": "taux", "heat_flux": "q"}
    case, _ = read_cf_netcdf(path, Mapping(fluxes=fluxes, forcing_file="weather.nc"))
    # The case starts at six o'clock; both series are 0.1 or 10 times the hour of the day.
    for hours in (0.0, 1.0, 5.5):
        now = fluxes_at(case, 3600.0 * hours)
        np.testing.assert_allclose(now.stress_u, 0.1 * (6.0 + hours))
        np.testing.assert_allclose(now.heat_flux, -10.0 * (6.0 + hours))
    assert isinstance(case.forcing, tl.TimeSeriesForcing)
    np.testing.assert_array_equal(case.forcing.time, 3600.0 * np.array([-3.0, 0.0, 3.0, 6.0]))
    twice = Mapping(fluxes=fluxes, forcing_file="weather.nc", units={"heat_flux": Conversion(sign=-1)})
    with error_naming(FileFormatError, "weather.nc q sign -1 upward"):
        read_cf_netcdf(path, twice)


def test_mistakes_in_a_mapping():
    arguments: Any
    for arguments, message in (
        ({"variables": {"temp": "T"}}, "mapping.variables temperature salinity temp"),
        ({"fluxes": {"wind": 0.1}}, "mapping.fluxes stress_u wind"),
        ({"units": {"pressure": "dbar"}}, "mapping.units stress_u pressure"),
        ({"positive": "downwards"}, "Mapping positive up down downwards"),
        ({"latitude": 95.0}, "Mapping latitude -90 90 95"),
        ({"latitude": 50.0, "coriolis_parameter": 1e-4}, "mapping latitude coriolis_parameter"),
    ):
        with error_naming(ValueError, message):
            Mapping(**arguments)


@pytest.mark.parametrize(("leaving", "expected"), [(1.0, -41.0), (0.0, None)], ids=["held", "closed"])
def test_a_gradient_held_at_the_bottom_is_seen_in_the_budget_of_heat(tmp_path, recwarn, leaving, expected):
    # Of diffusion alone: 1e-4 m2 s-1 times 0.1 K m-1 leave, or nothing does.
    dataset = cf_dataset()
    seconds = 3600.0 * np.arange(4)[:, None]
    first, density, capacity = np.asarray(dataset["TEMP"])[0], 1025.0, 4000.0
    entering = -100.0 / (density * capacity)
    uniform = (entering - leaving * 1e-4 * 0.1) * seconds / 16.0
    dataset["TEMP"] = (("TIME", "DEPTH"), first + uniform, dataset["TEMP"].attrs)
    stated = {"background_diffusivity": 1e-4, "reference_density": density, "heat_capacity": capacity}
    dataset.attrs.update(stated)
    case, _ = read_cf_netcdf(save(dataset, tmp_path / "les.nc"))
    heat = case.interior.bottom_heat
    assert (heat is None) == (expected is None)
    said = [note for note in notes_in(recwarn) if "through the bottom" in note]
    assert (said == []) == (expected is None)
    if heat is not None:
        np.testing.assert_allclose(heat.heat_flux, expected)


def test_the_stokes_drift_of_a_simulation_is_read_and_the_rest_listed(tmp_path, recwarn):
    data = cf_dataset()
    drift = 0.1 * np.exp(-np.array([2.0, 6.0, 10.0, 14.0]) / 5.0)
    data["us"] = ("DEPTH", drift, {"units": "m s-1"})
    data["ust"] = ("TIME", np.full(4, 0.01), {"units": "m s-1"})  # the friction velocity
    case, _ = read_cf_netcdf(save(data, tmp_path / "les.nc"))
    found = case.interior.stokes_drift
    assert found is not None
    np.testing.assert_allclose(found.at(case.grid, 0.0)[0], drift[::-1])
    assert any(note.endswith("not used: ust") for note in notes_in(recwarn))


def test_the_mapping_wins_over_attributes_and_names_say_nothing(tmp_path):
    data = cf_dataset().assign_attrs(salinity="34.5 psu", coriolis_parameter=1e-4, notes="Lagrangian mean")
    data["us"] = ("DEPTH", np.full(4, 0.1), {"units": "m s-1"})
    data["u"] = data["TEMP"] * 0.0
    data["u"].attrs = {"units": "m s-1"}
    path = save(data, tmp_path / "a-eulerian.nc")
    mapping = Mapping(latitude=10.0, salinity=33.0)
    for case, _ in (
        read_cf_netcdf(path, mapping),
        case_from_dataset(open_observations(path, mapping=mapping)),
    ):
        assert float(case.coriolis_parameter) == float(tl.coriolis_parameter(10.0))
        np.testing.assert_array_equal(case.initial_state.salinity, 33.0)
        assert case.interior.velocities == "lagrangian"
