"""The simulations of entrainment by Li and Fox-Kemper: set-up, waves, measure."""

import numpy as np
import pytest

import tunax_lite as tl
from benchmarks import li_fox_kemper
from benchmarks.li_fox_kemper import DEPTH, GRADIENT, GRAVITY, LAYER
from tunax_lite.closures import ConvectiveAdjustment

HEADER = "name,b0,wind_speed,stress,wave_age,dpedt,stokes_drift_at_0.64_m,boundary_layer_depth"
ROWS = ("calm,1e-07,5.0,0.0,,0.01,,44.0", "waves,1e-09,10.0,0.1,0.8,0.0006,0.1,50.0")


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "simulations.csv").write_text("\n".join((HEADER, *ROWS)) + "\n")
    return li_fox_kemper.read_simulations(tmp_path / "simulations.csv")


def test_rows_become_columns(rows):
    calm, waves = rows
    assert (calm.wave_age, calm.drift, waves.wave_age, waves.drift) == (None, None, 0.8, 0.1)
    case = li_fox_kemper.case_of(waves)
    assert li_fox_kemper.case_of(calm).interior.stokes_drift is None and case.name == "waves"
    eos, fluxes = case.equation_of_state, case.forcing.at(0.0)
    assert fluxes.heat_flux is not None
    loss = -fluxes.heat_flux * GRAVITY * 2e-4 / (eos.reference_density * eos.heat_capacity)
    np.testing.assert_allclose(loss, waves.buoyancy_flux, rtol=1e-12)
    # The drift is that of the simulation in its first cell, 1.28 m, on any grid.
    for n_cells in (128, 256):
        there = case.on(tl.Grid.uniform(DEPTH, n_cells))
        assert there.interior.stokes_drift is not None
        drift = there.interior.stokes_drift.at(there.grid, 0.0)[0]
        np.testing.assert_allclose(drift[-n_cells // 128 :].mean(), 0.1, rtol=1e-12)


def test_the_drift_of_a_wind_sea():
    grid, omega = tl.Grid.uniform(DEPTH, 1024), np.linspace(0.1, 20.0, 40000)
    found = li_fox_kemper.donelan_drift(grid, 10.0, 1.2)
    assert np.all(np.diff(found) > 0.0) and 0.05 < found[-1] < 0.3
    peak = GRAVITY / 12.0
    spectrum = 0.006 * 1.2**-0.55 * GRAVITY**2 / (peak * omega**4) * np.exp(-((peak / omega) ** 4))
    width = 0.08 * (1.0 + 4.0 * 1.2**3)
    spectrum *= 1.7 ** np.exp(-((omega / peak - 1.0) ** 2) / (2.0 * width**2))
    for cell in (-20, -100):
        here = spectrum * np.exp(2.0 * omega**2 / GRAVITY * float(grid.z_center[cell]))
        expected = np.trapezoid(2.0 * omega**3 / GRAVITY * here, omega)
        np.testing.assert_allclose(found[cell], expected, rtol=1e-3)


@pytest.mark.long
def test_cooling_alone_leaves_no_entrainment(rows):
    """Without penetration N² h² / 2 grows as B t, and the potential energy as rho B (H - h / 2)."""
    calm = rows[0]
    rate = li_fox_kemper.rates(tl.Model(ConvectiveAdjustment()), [calm], 256, 600.0)[0]
    frequency_squared, time = GRAVITY * 2e-4 * GRADIENT, 172800.0 - 0.5 * 2.0 * np.pi / li_fox_kemper.CORIOLIS
    depth = np.sqrt(LAYER**2 + 2.0 * calm.buoyancy_flux * time / frequency_squared)
    expected = 1000.0 * calm.buoyancy_flux * (DEPTH - 0.5 * depth)
    # The adjustment leaves the layer slightly unstable, and so less deep: 0.4 %. The deepening counts 5 %.
    np.testing.assert_allclose(rate, expected, rtol=1e-2)
    own = calm._replace(rate=expected * 1.25, boundary_layer_depth=depth)
    np.testing.assert_allclose(own.entrainment, 0.25 * expected, rtol=1e-12)
    of = li_fox_kemper.judged(
        np.array([expected, 1.5 * expected]), [own, own._replace(name="waves", wave_age=1.0)]
    )
    found = [*of.range, of.bias, of.rms(), of.rms(waves=True), of.rms(waves=False)]
    np.testing.assert_allclose(found, [0.8, 1.2, 0.0, 1.0, 1.0, 1.0], atol=1e-12)
