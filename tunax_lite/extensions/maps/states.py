"""What a map continues from: states of its tiles, and checks that nothing changed since they were written.

The digests of the input are attributes of the store; those of its axes, and of everything once it is
complete, are in a list in it; those of the files of a tile are in the state of the tile.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...io.checksums import (
    check_digest,
    check_listed,
    digest_of,
    digest_of_tree,
    digests_below,
    read_listed,
    sealing,
    unsealed,
)
from ...io.errors import FileFormatError
from ...io.protection import note_made, remove_file
from .columns import ColumnMap
from .setup import MapRun
from .store import INPUTS, MapStore, digests_of_input

_KIND = "state of a tile"
_ADVICE = "remove it: the tile is computed again"


class TileState(NamedTuple):
    """Where a tile is.

    Args:
        done: number of its pieces that are written.
        broken: first frame affected of each failed column, otherwise -1.
        leaves: arrays of the `Restart` at the end of the last piece.
        parts: digests of its files in the store, by relative path.
    """

    done: int
    broken: np.ndarray
    leaves: list[np.ndarray]
    parts: dict[str, str]


def state_path(store: MapStore, tile: int) -> Path:
    """Where the state of a tile is."""
    return store.parts / f"{tile:05d}.npz"


def write_state(store: MapStore, tile: int, state: TileState) -> None:
    """Replace the state of a tile."""
    # Any: NumPy keywords, including switches.
    named: dict[str, Any] = {f"leaf_{i}": leaf for i, leaf in enumerate(state.leaves)}
    named |= {"parts": np.frombuffer(json.dumps(state.parts).encode(), np.uint8)}
    named |= {"identity": np.array(_identity(store, tile)), "n_leaves": len(state.leaves)}
    path = state_path(store, tile)
    note_made(path)  # possibly written by an earlier process
    with sealing(path) as file:
        np.savez(file, done=state.done, broken=state.broken, **named)


def read_state(store: MapStore, tile: int) -> TileState | None:
    """The state of a tile; `None` before its first piece.

    Raises:
        FileFormatError: a file that is damaged, or the state of another tile or run.
    """
    path = state_path(store, tile)
    if not path.exists():
        return None
    with np.load(unsealed(path, _KIND, _ADVICE), allow_pickle=False) as file:
        own, found = _identity(store, tile), str(file["identity"])
        if own != found:
            raise FileFormatError(path, "identity", own, found, _ADVICE)
        leaves = [file[f"leaf_{i}"] for i in range(int(file["n_leaves"]))]
        return TileState(int(file["done"]), file["broken"], leaves, json.loads(file["parts"].tobytes()))


def _identity(store: MapStore, tile: int) -> str:
    run = digest_of_tree((), store.fingerprint, store.attributes.get(INPUTS))
    return f"tile {tile} of the run {run[:16]}"


def check_input(store: MapStore, columns: ColumnMap) -> None:
    """Raise `FileFormatError` if a file of the input is not the one with which the store was begun."""
    begun, now = store.attributes.get(INPUTS), digests_of_input(store.path, columns)
    known = [(str(name), str(digest)) for name, digest in begun] if isinstance(begun, list) else []
    if len(known) != len(now):
        expected, advice = f"the {len(known)} files with which it was begun", "start over with --overwrite"
        raise FileFormatError(store.path, "input", expected, f"{len(now)}", advice)
    for (_, expected), (path, found) in zip(known, now, strict=True):
        advice = f"restore it, or start over with --overwrite: {store.path} has results of both otherwise"
        check_digest(Path(path), expected, f"when {store.path.name} was begun", advice, found)


def verify(store: MapStore, run: MapRun, announce: Callable[[str], None]) -> None:
    """Check the input and the contents of a store; a tile with a damaged file is begun again.

    Raises:
        FileFormatError: another input, or damaged axes, or anything damaged in a complete store.
    """
    check_input(store, run.columns)
    if store.is_complete:
        check_listed(store.path, digests_below(store.path))
        return
    axes = read_listed(store.path)
    check_listed(store.path, _digests(store, axes))
    for tile in run.tiles(store.layout):
        try:
            state = read_state(store, tile)
            found = {} if state is None else _digests(store, list(state.parts))
            for name, expected in ({} if state is None else state.parts).items():
                check_digest(store.path / name, expected, "when it was written", "", found[name])
        except FileFormatError as error:
            said = str(error).rpartition("; ")[0]
            announce(f"{said}: tile {tile} is computed again")
            remove_file(state_path(store, tile))


def _digests(store: MapStore, names: Sequence[str] | dict[str, str]) -> dict[str, str]:
    """Of files of a store; empty for those that are not there."""
    with ThreadPoolExecutor(4) as pool:
        paths = [store.path / name for name in names]
        return dict(zip(names, pool.map(lambda p: digest_of(p) if p.exists() else "", paths), strict=True))
