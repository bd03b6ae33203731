"""Storage for resuming a comparison: one file per candidate and resolution."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...io.checksums import digest_of_tree, sealing, unsealed
from ...io.protection import remove_file
from .compare import AbstractKept, Candidate, OfCase
from .summary import ComparisonRow


class KeptRows(AbstractKept):
    """Files in a folder, each named after everything that its rows depend on.

    Args:
        folder: created with the first rows; other files in it are ignored.
        candidates: of the comparison; their numbers and settings identify the files.
        settings: everything else that rows depend on, as text.
    """

    def __init__(self, folder: Path, candidates: Sequence[Candidate], settings: str):
        self._folder, self._models = folder, {}
        for candidate in candidates:
            identity = digest_of_tree(candidate.model, settings, candidate.label)
            self._models[candidate.label] = identity

    def find(self, label: str, n_cells: int | float) -> list[OfCase] | None:
        path = self._path(label, n_cells)
        if not path.is_file():
            return None
        advice = "remove it: its rows are computed again"
        with np.load(unsealed(path, "part of a comparison", advice), allow_pickle=False) as file:
            rows = [ComparisonRow(**row) for row in json.loads(str(file["rows"]))]
            names = [name.split("/") for name in file.files if name != "rows"]
            shown = [
                {name: file[f"{index}/{name}"] for at, name in names if at == str(index)}
                for index in range(len(rows))
            ]
        return [(row, profiles or None) for row, profiles in zip(rows, shown, strict=True)]

    def keep(self, label: str, n_cells: int | float, found: Sequence[OfCase]) -> None:
        rows = json.dumps([dataclasses.asdict(row) for row, _ in found])
        profiles = {
            f"{index}/{name}": values
            for index, (_, of_case) in enumerate(found)
            for name, values in (of_case or {}).items()
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        with sealing(self._path(label, n_cells)) as file:
            np.savez(file, allow_pickle=False, rows=np.array(rows), **profiles)

    def clear(self) -> None:
        """Remove the files of these candidates, and the folder if it is then empty."""
        known = set(self._models.values())
        for path in self._folder.glob("*.npz"):
            if path.stem.partition("_")[0] in known:
                remove_file(path)
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _path(self, label: str, n_cells: int | float) -> Path:
        return self._folder / f"{self._models[label]}_{n_cells!r}.npz"
