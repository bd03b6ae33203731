"""Real files through the rules of plausibility: a note on one of them is a false alarm."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.observation_files import START
from tests.errors import notes_in
from tunax_lite import io
from tunax_lite.config import build_run, load_run
from tunax_lite.plausibility import findings_of, recorded
from tunax_lite.plausibility.inputs import Evidence, evidence_of, observed_of

ROOT = Path(__file__).parents[2]
DATA = [Path(one) for one in os.environ.get("TUNAX_LITE_DATA", "").split(os.pathsep) if one]
MOST = 0.05  # accepted fraction of good files with a note
READERS: dict[str, Callable[[Path], Any]] = {
    "les": lambda path: evidence_of(*io.read_cf_netcdf(path)),
    "lesbrary": lambda path: evidence_of(*io.read_lesbrary(path)),
    "les_legay": lambda path: evidence_of(*io.read_legay(path)),
    "moorings": lambda path: Evidence(observed=observed_of(io.read_oceansites(path, start_time=START))),
    "argo": lambda path: Evidence(observed=observed_of(io.read_argo(path, start_time=START))),
}


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_real_files_raise_no_false_alarm(name):
    folder = next((one / name for one in DATA if (one / name).is_dir()), None)
    if folder is None:
        pytest.skip("no real files in $TUNAX_LITE_DATA")
    found = {}
    for path in (*folder.rglob("*.nc"), *folder.rglob("*.jld2")):
        try:
            with recorded() as warned:
                evidence = READERS[name](path)
        except (ValueError, FileNotFoundError):
            continue  # another test says which files no reader takes
        found[path.name] = [str(one) for one in (*warned, *findings_of(evidence)) if one.rule]
    noted = {file: notes for file, notes in found.items() if notes}
    assert found and len(noted) <= max(1, MOST * len(found)), noted


@pytest.mark.long
def test_a_real_lake_raises_no_false_alarm(recwarn):
    if not any((one / "lakes").is_dir() for one in DATA):
        pytest.skip("no real files in $TUNAX_LITE_DATA")
    build_run(load_run(ROOT / "configs" / "runs" / "lough_feeagh.yaml"))
    assert not [note for note in notes_in(recwarn) if "`accept: [" in note]
