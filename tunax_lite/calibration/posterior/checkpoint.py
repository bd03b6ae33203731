"""Arrays on disk with a line about them, complete or not at all: what a posterior needs to go on."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx

from ...io.atomic import replacing
from ..checkpoint import OtherCalibrationError, check_same


def write_tree(path: Path, header: Mapping[str, Any], tree: Any) -> None:
    """Replace a file.

    Args:
        path: of the file.
        header: can be written as JSON; its `fingerprint` says what the arrays belong to.
        tree: of arrays.
    """
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(json.dumps(dict(header)).encode() + b"\n")
        eqx.tree_serialise_leaves(file, tree)


def read_tree(path: Path, parts: Mapping[str, str], like: Callable[[dict], Any]) -> Any:
    """Arrays from `write_tree`.

    Args:
        path: of the file.
        parts: the fingerprint that it must have.
        like: from the header to a tree of the same structure and shapes.

    Raises:
        ValueError: a file that is damaged, or that belongs to something else.
    """
    try:
        with open(path, "rb") as file:
            header = json.loads(file.readline())
            check_same(path, header["fingerprint"], parts)
            return eqx.tree_deserialise_leaves(file, like(header))
    except OtherCalibrationError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path}: expected a file of a posterior to go on with, got one that cannot be read "
            f"({type(error).__name__}: {error}); remove it, or choose another folder."
        ) from error
