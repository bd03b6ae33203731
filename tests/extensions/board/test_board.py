"""The board: its rows and scores, results of another program end to end, and what it says of bad input."""

import json
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tunax_lite as tl
from tests.cli.running import invoked
from tests.errors import error_naming, missing_from
from tests.extensions.board.material import board, write_board, write_result, write_submission
from tunax_lite.calibration.comparison import ComparisonRow
from tunax_lite.closures import ConvectiveAdjustment
from tunax_lite.extensions.board import entrainment
from tunax_lite.extensions.board.command import present
from tunax_lite.extensions.board.entrainment import DEPTH, GRADIENT, GRAVITY, LAYER
from tunax_lite.extensions.board.scores import Row
from tunax_lite.extensions.board.sections import load_board
from tunax_lite.io.checksums import sha256_of
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.named_files import read_manifest
from tunax_lite.io.yaml_file import read_document

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "configs/boards/les.yaml"
HOURS = np.arange(49) * 3600.0
LEVELS = -62.0 + 4.0 * np.arange(16)
AT_REST = {name: np.full((49, 16), value) for name, value in (("temperature", 10.0), ("u", 0.0), ("v", 0.0))}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_board(tmp_path)
    return tmp_path


def rows_of(output: Path) -> dict[str, dict]:
    return {row["label"]: row for row in json.loads((output / "board.json").read_text())["rows"]}


def errors_of(row: dict) -> dict[str, float]:
    return {each["case"]: each["temperature_rms"] for each in row["of"]}


def results_of(folder: Path, closure: tl.ConstantDiffusivity, dz: float = 4.0, every: float = 3600.0) -> Path:
    """What another program would write: here runs of a closure of the package."""
    references, *_ = present(load_board(folder / "board.yaml"))
    made = write_submission(folder / "results_of_other")
    for name, reference in references.items():
        case = reference.case.on(tl.Grid.uniform(64.0, round(64.0 / dz)))
        run = tl.simulate(tl.Model(closure), case, dt=1800.0, output_interval=every)
        profiles = {key: np.asarray(getattr(run.state, key)) for key in ("temperature", "u", "v")}
        if case.start_time is None:
            write_result(made / f"{name}.nc", run.time, case.grid.z_center, profiles)
        else:
            days, units = np.asarray(run.time) / 86400.0 + 1.0, {"time": "days since 2000-12-31"}
            write_result(made / f"{name}.nc", days, case.grid.z_center, profiles, units)
    return made


@pytest.mark.long
def test_results_of_another_program_enter_and_score_as_the_same_closure_does(folder):
    made = results_of(folder, tl.ConstantDiffusivity(viscosity=0.02, diffusivity=0.01))
    said = board("--enter", made, "--output", "out")
    assert "gone is left out" in said
    rows = rows_of(folder / "out")
    own, foreign = rows["viscous"], rows["other"]
    assert errors_of(foreign).keys() == {"slab", "warm"}
    for name, error in errors_of(own).items():
        assert errors_of(foreign)[name] == pytest.approx(error, rel=1e-6)
    assert foreign["made_by"] == "Other 1.0: other run.nml"
    # Both saw the source of the second simulation: only the first is left.
    for row in (own, foreign):
        assert row["unseen_simulations"] == ["slab"]
        assert row["unseen"]["mean"] == errors_of(row)["slab"]
        assert row["temperature"]["mean"] == pytest.approx(np.mean(list(errors_of(row).values())))
    assert rows["convective_adjustment"]["unseen"] is None
    assert rows["constant"]["temperature"]["ratio"] == 1.0
    known = json.loads((folder / "out/board.json").read_text())
    for name, about in known["simulations"].items():
        assert about["sha256"] == sha256_of(folder / f"{name}.nc")
    assert list(known["missing"]) == ["gone"] and "gone.nc" in known["missing"]["gone"]
    board("--output", "out", "--rows", "viscous", code=2)  # another board does not replace it


@pytest.mark.long
def test_other_grids_and_times_are_interpolated_and_said(folder):
    closure = tl.ConstantDiffusivity(viscosity=0.02, diffusivity=0.01)
    made = results_of(folder, closure, dz=1.0, every=5400.0)
    board("--rows", "other,viscous", "--enter", made, "--output", "refused", code=3)  # 5400 s are too rare
    made = results_of(folder, closure, dz=1.0, every=1800.0)
    with netCDF4.Dataset(made / "slab.nc", "a") as file:
        file["time"][...] = np.append(0.0, file["time"][1:] + np.where(np.arange(96) < 95, 300.0, 0.0))
    board("--rows", "other,viscous", "--enter", made, "--output", "out")
    rows = rows_of(folder / "out")
    notes = ["interpolated in time (slab)", "on its own grid of 64 cells (slab, warm)"]
    assert rows["other"]["notes"] == notes
    for name, error in errors_of(rows["viscous"]).items():
        assert errors_of(rows["other"])[name] == pytest.approx(error, rel=0.1)


@pytest.mark.long
def test_checks_have_columns_and_costs_are_relative(folder):
    law = {"run": str(ROOT / "configs/runs/kato_phillips.yaml"), "against": "entrainment_law"}
    lacking = {"run": str(folder / "none.yaml"), "skip_if_missing": True}
    settings = f"checks={json.dumps([law | {'settings': {'time.step': 600.0}}, lacking])}"
    board("--rows", "viscous", "--set", settings, "--set", "protocol.n_timings=1", "--output", "out")
    rows = rows_of(folder / "out")
    name = "kato_phillips: mixed layer depth [m]"
    assert rows["viscous"]["checks"][name] > 0.0 and rows["persistence"]["checks"] == {}
    assert rows["constant"]["cost"] == 1.0 and rows["viscous"]["cost"] > 0.0
    assert rows["persistence"]["cost"] is None
    known = json.loads((folder / "out/board.json").read_text())
    assert list(known["missing"]) == ["gone", "check 1"]


def row_with(errors: dict[str, float], label: str = "row") -> Row:
    nothing = {"n_cells": 1, "time_step": 1.0, "velocity_rms": 0.0, "mixed_layer_depth_rms": 0.0}
    nothing |= {"closure": label, "microseconds_per_step": 1.0, "finite": True}
    of = (ComparisonRow(case=name, temperature_rms=error, **nothing) for name, error in errors.items())
    return Row(label, "closure", "", (), "", tuple(of))


def test_intervals_are_those_of_the_mean_and_ratios_are_paired():
    draws = np.random.default_rng(1).lognormal(size=200)
    reference = row_with({str(place): 2.0 * error for place, error in enumerate(draws)})
    found = row_with({str(place): error for place, error in enumerate(draws)}).score(reference)
    assert found is not None
    half = 1.645 * draws.std() / np.sqrt(draws.size)  # of the normal distribution
    assert found.upper - found.lower == pytest.approx(2.0 * half, rel=0.1)
    assert found.ratio == found.ratio_lower == found.ratio_upper == pytest.approx(0.5)
    few = row_with({"0": 1.0, "1": 3.0}).score(reference)
    assert few is not None and (few.mean, few.worst, few.n) == (2.0, 3.0, 2) and np.isnan(few.lower)
    assert few.ratio == pytest.approx(2.0 / (draws[0] + draws[1]))  # on the same two
    assert row_with({"0": 1.0}).score(reference, only=()) is None
    failed = row_with({"0": np.nan, "1": 1.0, "2": 1.0}).score(reference)
    assert failed is not None and np.isnan([failed.mean, failed.lower, failed.ratio]).all()


def results_at_rest(folder: Path, **changed) -> Path:
    made = write_submission(folder / "results_of_other", **changed)
    write_result(made / "slab.nc", HOURS, LEVELS, AT_REST)
    return made


def _changed(change):
    def act(path: Path) -> None:
        with netCDF4.Dataset(path, "a") as file:
            change(file)

    return act


def _values(name: str, at, values):
    return _changed(lambda file: file[name].__setitem__(at, values))


GAP = HOURS[19] + 10.0 * np.arange(1, 11)
BAD_FILES = (
    (_changed(lambda file: file.renameVariable("v", "x")), "slab.nc v variables"),
    (_changed(lambda file: file["u"].setncattr("units", "kg m-3")), "slab.nc u kg m-3 m s-1"),
    (_values("temperature", ..., 285.0), "slab.nc temperature 285 K"),
    (_values("time", ..., HOURS + 1e6), "slab.nc time 7200 172800 1e6"),
    (_values("time", ..., HOURS / 2.0), "slab.nc time 172800 86400"),
    (_values("time", slice(20, 30), GAP), "slab.nc time 3600"),
    (_values("z", ..., -32.0 + np.arange(16) * 2.0), "slab.nc z 64 -32"),
    (_values("u", (3, 2), np.nan), "slab.nc u finite"),
    (lambda path: path.write_bytes(path.read_bytes()[:3000]), "slab.nc"),
)
BAD_SUBMISSIONS = (
    ({"saw": ["elsewhere"]}, 2, "submission.yaml saw elsewhere"),
    ({"label": "constant"}, 2, "constant labels"),
    ({"time_step": "fast"}, 2, "submission.yaml time_step"),
    ({"mapping": {"variables": {"temperature": "temp"}}}, 3, "slab.nc temp mapping"),
)


@pytest.mark.long
def test_bad_results_are_one_message(folder):
    def check(made, code: int, parts: str) -> None:
        said = board("--enter", made, "--output", "out", code=code)
        assert said.count("tunax-lite: error:") == 1 and not missing_from(said, parts), said
        assert not (folder / "out/board.json").exists()

    for changed, code, parts in BAD_SUBMISSIONS:
        made = results_at_rest(folder, **changed)
        check(made, code, parts)
    made = results_at_rest(folder)
    for change, parts in BAD_FILES:
        made = results_at_rest(folder)
        change(made / "slab.nc")
        check(made, 3, parts)
    (made / "slab.nc").unlink()
    check(made, 2, "slab.nc")


BAD_REQUESTS = (
    (["--enter", "k_epsilom"], 2, "k_epsilon name rows"),
    (["--enter", "nowhere.at_all:Closure"], 2, "nowhere.at_all:Closure PYTHONPATH"),
    (["--rows", "viscuos"], 2, "viscuos viscous --rows"),
    (["--cases", "slap"], 2, "slap slab --cases"),
    (["--set", f'simulations.0.sha256="{"0" * 64}"'], 3, "slab.nc SHA-256 0000000000000000"),
    (["--set", "rows.1.saw=[thre]"], 2, "viscous thre there"),
    (["--set", "protocol.reference=k_epsilon"], 2, "protocol.reference k_epsilon"),
    (["--cases", "gone"], 2, "gone.nc"),
)


def test_a_bad_request_is_one_message_and_check_says_what_is_here(folder):
    for arguments, code, parts in BAD_REQUESTS:
        said = board(*arguments, "--output", "out", code=code)
        assert said.count("tunax-lite: error:") == 1 and not missing_from(said, parts), said
    assert not missing_from(invoked("check", "board.yaml").output, "2 of 3 simulations gone")


def test_the_shipped_board_has_all_simulations_and_says_what_recommended_sets_saw():
    config, manifest = load_board(SHIPPED).config, read_manifest()
    shown = [(one.source, one.case.format, str(getattr(one.case, "path", ""))) for one in config.simulations]
    cases = read_document(ROOT / "configs/cases/les.yaml").data["cases"]
    known = [(one["group"], one["case"]["format"], one["case"]["path"]) for one in cases]
    assert shown[: len(known)] == known
    assert [source for source, *_ in shown[len(known) :]] == ["lesbrary_unseen"] * 2
    for one, (_, _, path) in zip(config.simulations, shown, strict=True):
        assert one.sha256 is not None
        assert path not in manifest or one.sha256 == manifest[path].sha256
    seen = {one.name for one in config.simulations[: len(known)]}
    for row in config.rows:
        if row.constants == "recommended":
            assert config.seen(row.saw or ()) == seen, row.title
        if str(row.parameters).startswith("../parameters/lesbrary"):
            assert row.saw == ["lesbrary"], row.title


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
def entrainment_folder(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    about = "entrainment: {source: there, path: simulations.csv, n_cells: 32, time_step: 3600.0}\n"
    path = write_board(tmp_path)
    path.write_text(path.read_text() + about)
    assert len(rows) == 2
    return tmp_path


@pytest.mark.long
def test_another_program_enters_with_its_entrainment(entrainment_folder, rows):
    made = write_submission(entrainment_folder / "other")
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
    known = json.loads((entrainment_folder / "out/board.json").read_text())
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
        assert "other (1 of 2)" in (entrainment_folder / "out" / name).read_text()


@pytest.mark.long
def test_entrainment_of_other_programs_needs_the_last_inertial_period(entrainment_folder):
    made = write_submission(entrainment_folder / "other")
    z = -DEPTH + 2.56 * (np.arange(64) + 0.5)
    for number, time in enumerate((np.arange(0.0, 86401.0, 1800.0), np.arange(0.0, 172801.0, 14400.0))):
        write_result(made / "calm.nc", time, z, {"temperature": np.full((time.size, 64), 12.0)})
        said = board("--enter", "other", "--output", number, code=3)
        assert not missing_from(said, "calm.nc time"), said


@pytest.mark.long
def test_a_board_without_the_table_says_so_and_chosen_cases_leave_it_out(entrainment_folder):
    board("--rows", "constant", "--output", "some", "--cases", "slab")
    (entrainment_folder / "simulations.csv").unlink()
    assert "entrainment is left out" in board("--rows", "constant", "--output", "none")
    for name in ("some", "none"):
        known = json.loads((entrainment_folder / name / "board.json").read_text())
        assert known["entrainment"]["n"] == 0
        assert all(row["entrainment"] is None for row in known["rows"])
