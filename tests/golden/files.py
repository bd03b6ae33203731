"""Published files below `$TUNAX_LITE_DATA`: what their readers return, or why they reject a file."""

import datetime
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.observation_files import READERS, START
from tests.golden.statistics import Entry, Item, outcome
from tunax_lite.extensions.maps.fields import FileField
from tunax_lite.extensions.maps.sections import Gridded
from tunax_lite.extensions.maps.sources import open_source

STORED = Path(__file__).with_name("files.json")


def data_path(label: str) -> Path:
    """The file or folder of that name in the first folder of `$TUNAX_LITE_DATA` that has it.

    Raises:
        AssertionError: the variable promises a file that does not exist.
    """
    folders = [Path(folder) for folder in os.environ["TUNAX_LITE_DATA"].split(os.pathsep) if folder]
    found = next((folder / label for folder in folders if (folder / label).exists()), None)
    assert found is not None, (
        f"{label} does not exist below $TUNAX_LITE_DATA, {os.environ['TUNAX_LITE_DATA']}"
    )
    return found


def labels() -> list[str]:
    """Paths of all files that a reader fits."""
    folders = [Path(folder) for folder in os.environ["TUNAX_LITE_DATA"].split(os.pathsep) if folder]
    paths = {
        str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*") if path.is_file()
    }
    return sorted(name for name in paths if _readers(name))


def file_item(label: str) -> Item:
    """What the first reader that accepts a file returns, or the error of the first reader."""

    def read() -> Entry:
        path = data_path(label)
        results = [outcome(lambda one=one: _arrays(one(path)), path) for one in _readers(label)]
        return next((one for one in results if "error" not in one), results[0])

    return Item(label, label.split("/")[0], read, needs=label)


def _readers(label: str) -> list[Callable[[Path], object]]:
    return [
        _map_field if label.startswith("maps/") else read
        for pattern, _, read in READERS
        if re.match(pattern, label)
    ]


def _arrays(result: object) -> object:
    """The result of a reader without the classes that hold it: tables are arrays by name of the column."""
    columns = getattr(result, "variables", None)
    return result if columns is None else {name: column.values for name, column in columns.items()}


def _map_field(path: Path) -> dict[str, object]:
    """Points, times and first record of the variable of most dimensions of a gridded file."""
    dataset = open_source(path, Path)
    name = max(map(str, dataset.data_vars), key=lambda one: dataset[one].ndim)
    start = datetime.datetime.fromisoformat(START)
    reader = FileField("", Gridded(variable=name), [dataset], start, 86400.0)
    found = {"variable": name, "points": reader.points.all(), "first": reader.block(np.zeros(1, int))}
    if reader.times is not None:
        found |= {"seconds": reader.times.seconds, "records": reader.times.records}
    return found
