"""The board: its rows and scores, and errors for bad input."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import invoked
from tests.errors import missing_from
from tests.plausibility.inputs import cf_simulation, simulated
from tunax_lite.calibration.validation import ErrorRow
from tunax_lite.extensions.board.scores import Row
from tunax_lite.extensions.board.sections import load_board
from tunax_lite.io.checksums import sha256_of
from tunax_lite.io.named_files import read_manifest
from tunax_lite.io.yaml_file import read_document

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "configs/boards/les.yaml"

BOARD = """
protocol: {version: test-1, cell_thickness: 4.0, dt: 1800.0, reference: constant}
sources:
  here: {title: a slab, licence: MIT}
  there: {title: slabs, licence: MIT, url: "https://example.org"}
simulations:
  - {name: slab, source: here, case: {format: cf_netcdf, path: slab.nc}}
  - {name: warm, source: there, case: {format: cf_netcdf, path: warm.nc}}
  - {name: gone, source: there, case: {format: cf_netcdf, path: gone.nc}}
rows:
  - {name: constant, constants_from: defaults, saw: []}
  - {name: constant, label: viscous, parameters: {viscosity: 0.02, diffusivity: 0.01}, saw: [there]}
  - {name: convective_adjustment}
"""


def board(*arguments: object, code: int = 0) -> str:
    return invoked("board", "board.yaml", *arguments, code=code).output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A board with two simulations, the second warmer, and one that is missing."""
    monkeypatch.chdir(tmp_path)
    for name, warmer in (("slab", 0.0), ("warm", 2.0)):
        given = simulated()
        given.values["temperature"] = given.values["temperature"] + warmer
        cf_simulation(given, tmp_path)
        (tmp_path / "les.nc").rename(tmp_path / f"{name}.nc")
    (tmp_path / "board.yaml").write_text(BOARD, encoding="utf-8")
    return tmp_path


def rows_of(output: Path) -> dict[str, dict]:
    return {row["label"]: row for row in json.loads((output / "board.json").read_text())["rows"]}


def errors_of(row: dict) -> dict[str, float]:
    return {
        one["case"]: one["root_mean_square"] for one in row["results"] if one["variable"] == "temperature"
    }


@pytest.mark.long
def test_rows_are_judged_with_and_without_what_their_constants_saw(folder):
    assert "gone is left out" in board("--output", "out", "--enter", "k_epsilon")
    rows = rows_of(folder / "out")
    errors = errors_of(rows["viscous"])
    assert errors.keys() == {"slab", "warm"} and rows["k_epsilon"]["unseen"] is None
    assert rows["viscous"]["unseen_simulations"] == ["slab"]  # it saw the source of the other one
    assert rows["viscous"]["unseen"]["mean"] == errors["slab"]
    assert rows["viscous"]["temperature"]["mean"] == pytest.approx(np.mean(list(errors.values())))
    assert rows["convective_adjustment"]["unseen"] is None
    assert rows["constant"]["temperature"]["ratio"] == 1.0
    known = json.loads((folder / "out/board.json").read_text())
    for name, digest in known["simulations"].items():
        assert digest == sha256_of(folder / f"{name}.nc")
    assert list(known["missing"]) == ["gone"] and "gone.nc" in known["missing"]["gone"]
    board("--output", "out", "--rows", "viscous", code=2)  # another board does not replace it


def row_with(errors: dict[str, float], label: str = "row") -> Row:
    about = "cells of 2 m", 60.0
    of = (ErrorRow(label, name, "temperature", "K", error, 0.0, *about) for name, error in errors.items())
    return Row(label, "", (), tuple(of))


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
