"""Entrainment on the board: its simulations are read, its waves and its measure are right, others enter."""

import json

import netCDF4
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming, missing_from
from tests.extensions.board.material import board, write_board, write_result, write_submission
from tunax_lite.closures import ConvectiveAdjustment
from tunax_lite.extensions.board import entrainment
from tunax_lite.extensions.board.entrainment import DEPTH, GRADIENT, GRAVITY, LAYER
from tunax_lite.io.errors import FileFormatError

HEADER = "name,b0,wind_speed,stress,wave_age,dpedt,stokes_drift_at_0.64_m,boundary_layer_depth"
ROWS = ("calm,1e-07,5.0,0.0,,0.01,,44.0", "waves,1e-09,10.0,0.1,0.8,0.0006,0.1,50.0")


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "simulations.csv").write_text("\n".join((HEADER, *ROWS)) + "\n")
    return entrainment.read_simulations(tmp_path / "simulations.csv")


def test_rows_become_columns(rows):
    calm, waves = rows
    assert (calm.wave_age, calm.drift, waves.wave_age, waves.drift) == (None, None, 0.8, 0.1)
    case = entrainment.case_of(waves)
    assert entrainment.case_of(calm).interior.stokes_drift is None and case.name == "waves"
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
    """Its shape in a few numbers of one wave per frequency, and the mean of a cell between its ends."""
    grid, omega = tl.Grid.uniform(DEPTH, 1024), np.linspace(0.1, 20.0, 40000)
    found = entrainment.donelan_drift(grid, 10.0, 1.2)
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
    rate = entrainment.rates(tl.Model(ConvectiveAdjustment()), [calm], 256, 600.0)[0]
    frequency_squared, time = GRAVITY * 2e-4 * GRADIENT, 172800.0 - 0.5 * 2.0 * np.pi / entrainment.CORIOLIS
    depth = np.sqrt(LAYER**2 + 2.0 * calm.buoyancy_flux * time / frequency_squared)
    expected = 1000.0 * calm.buoyancy_flux * (DEPTH - 0.5 * depth)
    # The adjustment leaves the layer slightly unstable, and so less deep: 0.4 %. The deepening counts 5 %.
    np.testing.assert_allclose(rate, expected, rtol=1e-2)
    own = calm._replace(rate=expected * 1.25, boundary_layer_depth=depth)
    np.testing.assert_allclose(own.entrainment, 0.25 * expected, rtol=1e-12)
    of = entrainment.judged(
        np.array([expected, 1.5 * expected]), [own, own._replace(name="waves", wave_age=1.0)]
    )
    found = [*of.range, of.bias, of.rms(), of.rms(waves=True), of.rms(waves=False)]
    np.testing.assert_allclose(found, [0.8, 1.2, 0.0, 1.0, 1.0, 1.0], atol=1e-12)


def test_a_bad_table_is_one_message(tmp_path):
    for text, parts in (
        ("name,b0\ncalm,1e-7\n", "header wind_speed"),
        (f"{HEADER}\ncalm,1e-7,5.0,calm,,0.01,,44.0\n", "line 2 stress calm"),
        (f"{HEADER}\ncalm,1e-7,5.0,0.0,,,,44.0\n", "line 2 dpedt"),
        (f"{HEADER}\n\ncalm,1e-7,5.0,0.0\n", "line 3 dpedt None"),
    ):
        (tmp_path / "simulations.csv").write_text(text)
        with error_naming(FileFormatError, f"simulations.csv {parts}"):
            entrainment.read_simulations(tmp_path / "simulations.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch, rows):
    """A folder with a board of profiles and entrainment, in which commands run."""
    monkeypatch.chdir(tmp_path)
    about = "entrainment: {source: there, path: simulations.csv, n_cells: 32, time_step: 3600.0}\n"
    path = write_board(tmp_path)
    path.write_text(path.read_text() + about)
    assert len(rows) == 2
    return tmp_path


@pytest.mark.long
def test_another_program_enters_with_its_entrainment(folder, rows):
    """A layer that deepens at a known rate: on 256 uneven levels, with dates, at times of its own."""
    made = write_submission(folder / "other")
    faces = -DEPTH * np.linspace(1.0, 0.0, 257) ** 1.5
    time, speed = np.arange(0.0, 172801.0, 1800.0), 1e-5
    depth = LAYER + speed * (time - 172800.0) + 3.0
    below = 12.0 + GRADIENT * np.minimum(faces + LAYER, 0.0)
    # Means of cells: the integral of a linear profile below a layer of the mean temperature above.
    integral = np.concatenate([[0.0], np.cumsum(0.5 * (below[1:] + below[:-1]) * np.diff(faces))])
    total = integral[-1]
    until = np.interp(-depth, faces, integral)[:, None]
    share = 1.0 + faces / depth[:, None]
    whole = np.where(share < 0.0, integral, until + (total - until) * share)
    z, profiles = 0.5 * (faces[1:] + faces[:-1]), {"temperature": np.diff(whole) / np.diff(faces)}
    write_result(made / "calm.nc", time / 86400.0, z, profiles, {"time": "days since 2001-01-01"})
    with netCDF4.Dataset(made / "calm.nc", "a") as file:
        file.createDimension("ends", 2)
        file["z"].bounds = "z_bounds"
        file.createVariable("z_bounds", "f8", ("z", "ends"))[...] = np.stack([faces[:-1], faces[1:]], 1)
    board("--enter", "other", "--output", "out")
    known = json.loads((folder / "out/board.json").read_text())
    found = {row["label"]: row for row in known["rows"]}
    # Mixing of a stratified layer of mean temperature over the depth h: dPE/dt = rho N^2 h (h - L) / 4 dh/dt
    # for h near L, whose potential energy is rho N^2 (h - L)^2 (2 h + L) / 12, less that of what was there.
    h = depth[time >= entrainment.LATE]
    energy = 1000.0 * GRAVITY * 2e-4 * GRADIENT * (h - LAYER) ** 2 * (h + 2.0 * LAYER) / 12.0
    expected = np.polyfit(time[time >= entrainment.LATE], energy, 1)[0]
    np.testing.assert_allclose(found["other"]["entrainment"]["ratios"]["calm"], expected / 0.01, rtol=0.05)
    assert found["other"]["entrainment"]["with_waves"] == [] and found["other"]["saw_entrainment"] is True
    assert found["other"]["of"] == []
    # Closures have both, and stand in both tables; what never saw them says so.
    assert set(found["viscous"]["entrainment"]["errors"]) == {"calm", "waves"}
    assert found["constant"]["saw_entrainment"] is False
    assert found["convective_adjustment"]["saw_entrainment"] is None
    assert known["entrainment"]["n"] == 2 and known["entrainment"]["sha256"]
    for name in ("board.md", "board.html"):
        assert "other (1 of 2)" in (folder / "out" / name).read_text()


@pytest.mark.long
def test_entrainment_of_other_programs_needs_the_last_inertial_period(folder):
    made = write_submission(folder / "other")
    z = -DEPTH + 2.56 * (np.arange(64) + 0.5)
    for number, time in enumerate((np.arange(0.0, 86401.0, 1800.0), np.arange(0.0, 172801.0, 14400.0))):
        write_result(made / "calm.nc", time, z, {"temperature": np.full((time.size, 64), 12.0)})
        said = board("--enter", "other", "--output", number, code=3)
        assert not missing_from(said, "calm.nc time"), said


@pytest.mark.long
def test_a_board_without_the_table_says_so_and_chosen_cases_leave_it_out(folder):
    board("--rows", "constant", "--output", "some", "--cases", "slab")
    (folder / "simulations.csv").unlink()
    assert "entrainment is left out" in board("--rows", "constant", "--output", "none")
    for name in ("some", "none"):
        known = json.loads((folder / name / "board.json").read_text())
        assert known["entrainment"]["n"] == 0
        assert all(row["entrainment"] is None for row in known["rows"])
