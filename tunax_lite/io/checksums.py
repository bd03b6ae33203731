"""Hashes of inputs and computations, and files that contain the hash of their content."""

import contextlib
import datetime
import hashlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from jaxtyping import PyTree

from .errors import FileFormatError, existing_file
from .writing import replacing

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LENGTH = 64  # hexadecimal digits


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with existing_file(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp_of(path: Path) -> str:
    """Size, and time of the last change, of a file or of all files below a folder."""
    paths = path.rglob("*") if path.is_dir() else [path]
    stats = [each.stat() for each in paths if each.is_file()]
    changed = datetime.datetime.fromtimestamp(
        max((each.st_mtime for each in stats), default=0.0), datetime.UTC
    )
    return f"{sum(each.st_size for each in stats)} bytes, {changed.isoformat()}"


@contextlib.contextmanager
def sealing(path: Path) -> Iterator[io.BufferedRandom]:
    """Open a file for writing, append the SHA-256 of its contents, and replace `path` by it."""
    with replacing(path) as temporary, open(temporary, "wb+") as file:
        yield file
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(digest.encode())


def unsealed(path: Path, kind: str, advice: str) -> io.BytesIO:
    """Return the contents of a file written by `sealing`; `FileFormatError` if they were changed."""
    data = existing_file(path).read_bytes()
    contents, recorded = data[:-_LENGTH], data[-_LENGTH:]
    if hashlib.sha256(contents).hexdigest().encode() != recorded:
        expected, got = f"a {kind} that ends with its SHA-256", "damaged contents, or another version"
        raise FileFormatError(path, "contents", expected, got, advice)
    return io.BytesIO(contents)


def digest_of_tree(tree: PyTree, *further: object) -> str:
    """SHA-256 of the structure, types, shapes and numbers of a tree, and of `repr` of anything else."""
    leaves, structure = jax.tree.flatten(tree)
    text = _ADDRESS.sub("", str(structure))  # addresses of functions differ between processes
    digest = hashlib.sha256(repr((text, *further)).encode())
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        is_number = array.dtype != object  # the bytes of an object are its address
        digest.update(array.tobytes() if is_number else _ADDRESS.sub("", repr(leaf)).encode())
    return digest.hexdigest()
