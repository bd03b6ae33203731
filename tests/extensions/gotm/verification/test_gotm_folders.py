"""GOTM's own cases, run from their own configurations, against GOTM's results."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.conftest import find_gotm_case
from tunax_lite import simulate
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.physics.stratification import mixed_layer_depth


def rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


# Of the last step before a frame; `tx` is over the density. GOTM's KPP computes no production.
OF_THE_STEP = {
    "SS": "shear_squared",
    "P": "shear_production",
    "G": "buoyancy_production",
    "heat": "surface_heat_flux",
    "tx": "surface_stress_u",
}


def run_of(folder: str, name: str, **options: Any):
    made = build_gotm(load_gotm(find_gotm_case(f"{folder}/{name}.gotm.yaml"), **options))
    made.report.check()
    assert made.run is not None
    return made.run


def ran(folder: str, name: str, reference_path, **options: Any):
    run = run_of(folder, name, **options)
    with xr.open_dataset(reference_path(name), decode_times=False) as dataset:
        # Of some cases not every frame is stored.
        interval = round(float(np.diff(dataset["time"].values[:2])[0]) / run.dt) * run.dt
        keys = {"u", "v", "temp", "salt", "tke", "num", "nuh", "cvmix_zsbl", *OF_THE_STEP}
        keys = keys & set(dataset.variables)
        trajectory = simulate(
            run.model,
            run.case,
            dt=run.dt,
            output_interval=interval,
            duration=min(run.duration_from(0.0), interval * (dataset.sizes["time"] - 1)),
            step_starts=True,
        )
        expected = {key: dataset[key].values.squeeze().astype(float)[: trajectory.n_frames] for key in keys}
    acted = diagnose(trajectory, run.model.with_von_karman(run.case), list(OF_THE_STEP.values()), run.model)
    np.testing.assert_allclose(expected["temp"][0], trajectory.state.temperature[0], atol=1e-5)
    np.testing.assert_allclose(expected["salt"][0], trajectory.state.salinity[0], atol=1e-5)
    density = float(run.case.equation_of_state.reference_density)
    acted = {
        theirs: np.asarray(acted[ours]) / (density if theirs == "tx" else 1.0)
        for theirs, ours in OF_THE_STEP.items()
    }
    return trajectory, acted, expected


IDEALISED = (
    ("couette", "couette"),
    ("channel", "channel"),
    ("entrainment", "entrainment"),
    ("entrainment", "entrainment_gls"),
    ("entrainment", "entrainment_keps"),
    ("entrainment", "entrainment_my"),
    ("wave_breaking", "wave_breaking"),
    ("wave_breaking", "wave_breaking_gls"),
)


@pytest.mark.long
@pytest.mark.parametrize(("folder", "name"), IDEALISED)
def test_idealised_cases(folder, name, reference_path):
    run, acted, expected = ran(folder, name, reference_path)
    # What GOTM's constants in single precision make; S² of one spacing takes 1e-5 from wave_breaking.
    scale = np.ptp(expected["u"])
    assert rms(run.state.u - expected["u"]) < 2e-6 * scale
    assert rms(run.state.v - expected["v"]) < 2e-6 * scale
    assert rms(run.state.temperature - expected["temp"]) < 1e-7
    turbulence = run.clo_state
    for ours, key in (
        (turbulence.turbulent_kinetic_energy, "tke"),  # pyright: ignore[reportAttributeAccessIssue]
        (turbulence.eddy_viscosity, "num"),
        (turbulence.eddy_diffusivity, "nuh"),
    ):
        inner = (slice(1, None), slice(1, -1))
        assert rms(ours[inner] - expected[key][inner]) < 5e-6 * np.abs(expected[key]).max()
    for key in {"SS", "P", "G"} & set(expected):
        inner = (slice(1, None), slice(1, -1))
        assert rms(acted[key][inner] - expected[key][inner]) <= 1e-4 * np.abs(expected[key]).max(), key


@pytest.mark.long
def test_rouse_with_held_temperature_and_salinity(reference_path):
    """Neither is solved for; the reference comes from a GOTM without the table of anomalies."""
    run, _, expected = ran("rouse", "rouse", reference_path, salinity_anomaly=False)
    for ours, theirs in ((run.state.temperature, expected["temp"]), (run.state.salinity, expected["salt"])):
        assert np.ptp(theirs, axis=0).max() == 0.0  # the file holds single precision
        np.testing.assert_array_equal(ours, np.broadcast_to(ours[0], ours.shape))
    assert rms(run.state.u - expected["u"]) < 3e-4 * np.ptp(expected["u"])


@pytest.mark.long
def test_a_plume_below_a_shelf_that_melts(reference_path):
    """From the ice down to where GOTM's file begins; the reference comes from a GOTM without anomalies."""
    run = run_of("plume", "plume", salinity_anomaly=False)
    trajectory = simulate(run.model, run.case, dt=run.dt, output_interval=run.output_interval)
    with xr.open_dataset(reference_path("plume"), decode_times=False) as dataset:
        frames = np.round(dataset["time"].values / run.output_interval).astype(int)
        expected = {key: dataset[key].values.squeeze().astype(float) for key in ("u", "temp", "salt", "tke")}
    below_lid = slice(-expected["temp"].shape[1], None)
    state, k = trajectory.state, trajectory.clo_state.turbulent_kinetic_energy  # pyright: ignore
    assert rms(state.temperature[frames, below_lid] - expected["temp"]) < 1e-4
    assert rms(state.salinity[frames, below_lid] - expected["salt"]) < 1e-4
    assert rms(state.u[frames, below_lid] - expected["u"]) < 1e-4 * np.ptp(expected["u"])
    assert rms(k[frames, -expected["tke"].shape[1] :] - expected["tke"]) < 1e-4 * np.ptp(expected["tke"])


@pytest.mark.long
def test_entrainment_with_kpp(reference_path):
    run, _, expected = ran("entrainment", "entrainment_kpp", reference_path)
    assert rms(run.state.u - expected["u"]) < 1e-8
    assert rms(run.state.temperature - expected["temp"]) < 1e-8
    depth = run.clo_state.boundary_layer_depth  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(depth, -expected["cvmix_zsbl"], atol=1e-6)


@pytest.mark.long
def test_estuary_with_a_moving_surface(reference_path):
    run = run_of("estuary", "estuary")
    # GOTM saves at the step nearest to every hour.
    trajectory = simulate(run.model, run.case, dt=run.dt, output_interval=run.dt)
    with xr.open_dataset(reference_path("estuary"), decode_times=False) as dataset:
        steps = np.round(dataset["time"].values / run.dt).astype(int)
        expected = {key: dataset[key].values.squeeze().astype(float) for key in ("u", "v", "salt", "num")}
    # Cells of different thickness: S² of one spacing makes 20 to 50 times as much.
    assert rms(trajectory.state.u[steps] - expected["u"]) < 5e-5 * np.ptp(expected["u"])
    assert rms(trajectory.state.v[steps] - expected["v"]) < 1e-4 * np.ptp(expected["v"])
    assert rms(trajectory.state.salinity[steps] - expected["salt"]) < 2e-4
    inner = (slice(None), slice(1, -1))
    viscosity = np.asarray(trajectory.clo_state.eddy_viscosity)[steps][inner] - expected["num"][inner]
    assert rms(viscosity) < 2e-4 * expected["num"].max()


MEASURED = [
    pytest.param("ows_papa", "ows_papa_meteo", marks=pytest.mark.long),
    pytest.param("nns_annual", "nns_annual", marks=pytest.mark.long),
    pytest.param("medsea_east", "medsea_east", marks=pytest.mark.study),
    pytest.param("langmuir", "langmuir_exp", marks=pytest.mark.long),
    pytest.param("ows_papa", "ows_papa_kpp_meteo", marks=pytest.mark.long),
    pytest.param("langmuir", "langmuir_kpp_exp", marks=pytest.mark.long),
    # Brackish and fresh water, whose density is not the reference density.
    pytest.param("blacksea", "blacksea", marks=pytest.mark.study),
    pytest.param("lago_maggiore", "lago_maggiore", marks=pytest.mark.study),
]


@pytest.mark.parametrize(("folder", "name"), MEASURED)
def test_measured_cases(folder, name, reference_path):
    run, acted, expected = ran(folder, name, reference_path)
    # Over the water of the frame they would be off by 0.7 W m-2 and 3e-6 m2 s-2. With KPP the surface is.
    for key, limit in (("heat", 0.4 if name == "ows_papa_kpp_meteo" else 0.2), ("tx", 1e-7)):
        assert rms(acted[key][1:] - expected[key][1:]) < limit, key
    # Where a layer of Langmuir turbulence ends, 1e-6 K at the start make 0.9 mK in GOTM itself.
    limit = 4e-3 if name == "langmuir_exp" else 1e-3
    assert rms(run.state.temperature - expected["temp"]) < limit
    assert rms(run.state.temperature[:, -1] - expected["temp"][:, -1]) < 1e-3
    # GOTM draws the first step's practical salinity to zero, which its relaxation mends within days.
    assert rms(run.state.salinity[20:] - expected["salt"][20:]) < 1e-4
    # Frames stand as columns of a batch.
    ours, theirs = (jnp.asarray(field).T for field in (run.state.temperature, expected["temp"]))
    grid = run.grid.with_batch_rank(1)
    depths = (mixed_layer_depth(each, grid, reference_depth=0.0, bounded=True) for each in (ours, theirs))
    assert rms(next(depths) - next(depths)) < 2.0
