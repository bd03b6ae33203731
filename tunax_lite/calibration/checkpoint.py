"""A calibration on disk: everything that the next iterate depends on, in one file that is never half written.

The file is a line of JSON (what is calibrated, how many iterations) and the arrays of the method's state
and of the history.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..io.errors import shortened
from ..io.writing import replacing
from .evaluation import Problem
from .history import History
from .methods import MethodState

CHECKPOINT_NAME = "checkpoint.eqx"
_FORMAT = 3


def fingerprint(problem: Problem, method: Any) -> dict[str, str]:
    """What makes a calibration this one, by part: readable where short, else a digest."""
    parts = {
        "precision": str(problem.free_parameters.start().dtype),
        "method": repr(method),
        "score": repr(problem.score),
        "closure": type(problem.model.closure).__name__,
        "model": _digest(problem.model),
        "prior weight": repr(problem.prior_weight),
        "case weights": repr(problem.weights.tolist()),
    }
    for free in problem.free_parameters.numbers:
        known = free.scale if free.prior is None else repr(free.prior)
        parts[f"free parameter {free.path}"] = (
            f"{free.lower!r} to {free.upper!r} from {free.start!r}, {known}"
        )
    for tied in problem.free_parameters.tied:
        parts[f"tied parameter {tied.path}"] = str(tied)
    for name, comparison in zip(problem.case_names, problem.comparisons, strict=True):
        parts[f"case {name}"] = _digest(comparison)
    return parts


def _digest(tree) -> str:
    digest = hashlib.sha256()
    leaves, structure = jax.tree_util.tree_flatten(tree)
    digest.update(str(structure).encode())
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class CheckpointFile:
    """The checkpoint of a folder."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / CHECKPOINT_NAME

    def write(self, parts: Mapping[str, str], state: MethodState, history: History) -> None:
        """Replace the checkpoint."""
        header = {"format": _FORMAT, "n_iterations": history.n_iterations, "fingerprint": dict(parts)}
        write_tree(self.path, header, (state, history))

    def read(
        self, parts: Mapping[str, str], state: MethodState, shape: tuple[int, int, int]
    ) -> tuple[MethodState, History]:
        """State of the method and history of the same calibration.

        Args:
            parts: from `fingerprint`.
            state: of the same structure as the one on disk.
            shape: numbers of parameters, cases and variables.

        Raises:
            ValueError: a file that is damaged, or the checkpoint of another calibration.
        """

        def like(header: dict) -> tuple[MethodState, History]:
            return state, History.empty(header["n_iterations"], *shape)

        return read_tree(self.path, parts, like, "checkpoint of a calibration")


def write_tree(path: Path, header: Mapping[str, Any], tree: Any) -> None:
    """Replace a file of arrays.

    Args:
        path: of the file.
        header: can be written as JSON; its `fingerprint` says what the arrays belong to.
        tree: of arrays.
    """
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(json.dumps(dict(header)).encode() + b"\n")
        eqx.tree_serialise_leaves(file, tree)


def read_tree(path: Path, parts: Mapping[str, str], like: Callable[[dict], Any], kind: str) -> Any:
    """Arrays from `write_tree`.

    Args:
        path: of the file.
        parts: the fingerprint that it must have.
        like: from the header to a tree of the same structure and shapes.
        kind: of file, for the message.

    Raises:
        ValueError: a file that is damaged, or that belongs to something else.
    """
    try:
        with open(path, "rb") as file:
            header = json.loads(file.readline())
            check_same(path.parent, header["fingerprint"], parts)
            return eqx.tree_deserialise_leaves(file, like(header))
    except OtherCalibrationError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path}: expected a {kind}, got a file that cannot be read ({shortened(repr(error))}); "
            "remove it or choose another folder."
        ) from error


class OtherCalibrationError(ValueError):
    """A folder that holds another calibration than the one to go on with."""


def check_same(folder: Path, started: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise where two fingerprints differ, with what differs."""
    different = [name for name in {**started, **now} if started.get(name) != now.get(name)]
    if different:
        listed = "; ".join(
            f"{name}: started with {started.get(name, 'none')}, now {now.get(name, 'none')}"
            for name in different
        )
        raise OtherCalibrationError(
            f"{folder}: expected to go on with the calibration that was started there, got another one "
            f"({listed}). Restore the settings, or choose another folder."
        )
