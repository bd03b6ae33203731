"""The board: its rows and scores, results of another program end to end, and what it says of bad input."""

import json
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tunax_lite as tl
from tests.cli.running import invoked
from tests.errors import missing_from
from tests.extensions.board.material import board, write_board, write_result, write_submission
from tunax_lite.calibration.comparison import ComparisonRow
from tunax_lite.extensions.board.command import present
from tunax_lite.extensions.board.scores import Row
from tunax_lite.extensions.board.sections import load_board
from tunax_lite.io.checksums import sha256_of
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
