"""Results are those that are stored; `python -m tests.golden` stores them anew and prints the changes."""

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

from tests.golden import files, runs
from tests.golden.statistics import Item, changes, outcome, read_stored, statistics
from tunax_lite.io import FileFormatError

FILES, RUNS = read_stored(files.STORED), read_stored(runs.STORED)
ITEMS = runs.items()


@pytest.fixture(autouse=True, scope="module")
def _quickly() -> Iterator[None]:
    """Neither optimised nor with types checked at run time, which other tests do."""
    jaxtyping.config.update("jaxtyping_disable", True)
    with runs.compiled_quickly():
        yield
    jaxtyping.config.update("jaxtyping_disable", False)


def assert_same(items: Sequence[Item], stored: dict) -> None:
    """Compute all items before failing with all changes."""
    if any(item.needs for item in items) and not os.environ.get("TUNAX_LITE_DATA"):
        pytest.skip(f"$TUNAX_LITE_DATA is not set: needs {items[0].needs} below that folder")
    lines = []
    for item in items:
        try:
            found = changes(stored[item.label], item.compute(), item.tolerance)
        except AssertionError as error:
            found = [str(error)]
        lines += [f"{item.label}: {line}" for line in found]
    assert not lines, "\n".join(["changed (stored -> computed):", *lines])


@pytest.mark.long
@pytest.mark.parametrize("folder", sorted({label.split("/")[0] for label in FILES}))
def test_files_are_read_as_before(folder):
    assert_same([files.file_item(label) for label in FILES if label.split("/")[0] == folder], FILES)


@pytest.mark.long
@pytest.mark.parametrize("group", dict.fromkeys(item.group for item in ITEMS))
def test_runs_and_calibrations_give_what_they_gave(group):
    assert_same([item for item in ITEMS if item.group == group], RUNS)


def test_every_run_is_stored():
    assert RUNS.keys() == {item.label for item in ITEMS}


TREE = {"temperature": np.array([4.0, 20.0, 7.0, np.nan]), "name": "mooring", "depth": 30.0}


def change_an_extreme(tree):
    tree["temperature"][1] *= 1.0 + 1e-11


def change_the_mean(tree):
    tree["temperature"][2] += 1e-10


def exchange_two(tree):
    tree["temperature"][[1, 2]] = tree["temperature"][[2, 1]]


def change_the_shape(tree):
    tree["temperature"] = tree["temperature"][None]


def lose_a_value(tree):
    tree["temperature"][2] = np.nan


def change_a_scalar(tree):
    tree["depth"] += 1e-9


CHANGES: dict[Callable, str] = {
    change_an_extreme: "temperature highest",
    change_the_mean: "temperature mean",
    exchange_two: "temperature ramp",
    change_the_shape: "temperature shape",
    lose_a_value: "temperature finite",
    change_a_scalar: "depth value",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_seen(change, tmp_path):
    runs_before = statistics(TREE)
    tree = copy.deepcopy(TREE)
    change(tree)
    found = changes(runs_before, statistics(tree))
    assert any(line.startswith(CHANGES[change]) for line in found), found


def test_rounding_is_no_change():
    tree = copy.deepcopy(TREE)
    tree["temperature"] *= 1.0 + 1e-13
    assert not changes(statistics(TREE), statistics(tree))


def test_an_error_is_its_public_type_and_its_key():
    class _Private(FileFormatError):
        pass

    def refuse(kind, key):
        def read():
            raise kind("a/b.nc", key, "a unit", "none", "add it")

        return outcome(read, Path("a/b.nc"))

    known = refuse(FileFormatError, "TEMP")
    assert known == {"error": "FileFormatError", "key": "TEMP"} == refuse(_Private, "TEMP")
    assert refuse(FileFormatError, "line 3: time.dt")["key"] == "time.dt"
    assert refuse(FileFormatError, "line 3")["key"] == "line 3"
    assert changes(known, refuse(FileFormatError, "PSAL")) == ["key: TEMP -> PSAL"]
    assert changes(known, {**known, "error": "ValueError"}) == ["error: FileFormatError -> ValueError"]
    assert len(changes(known, statistics(TREE))) == 5
