"""Checksums: whether a file is still the one that was read or written before.

The digest is SHA-256, which a system's own tools compute as well, of a file or of all files below a folder.
Input is read once: its digest is kept with its size, times and inode, and computed again where one of these
differs. Files that only this package reads carry their digest at their end; others have it in a list beside
them.
"""

import contextlib
import datetime
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
from jaxtyping import PyTree

from .errors import FileFormatError, what_is_at
from .writing import replacing, write_text

CHECKSUMS_NAME = "checksums.json"
"""In a folder: the digests of its files, by relative path."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LENGTH = 64  # hexadecimal digits
_SHOWN = 16
_THREADS = 4  # hashing releases the lock of the interpreter


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or of names and digests of all files below a folder.

    Raises:
        FileFormatError: a pipe, a device or a broken link, which is never opened; or a folder that lists
            other digests for its files.
    """
    if not path.is_dir():
        return sha256_of(path)
    found = digests_below(path)
    if CHECKSUMS_NAME in found:
        check_listed(path, found)
    return hashlib.sha256(json.dumps(sorted(found.items())).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file; raises `FileFormatError` for a pipe, a device or a broken link."""
    _check_regular(path)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_regular(path: Path) -> os.stat_result:
    """Reading a device may never end, and a pipe waits for a writer."""
    with contextlib.suppress(OSError):
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            return found
    advice = "remove it, or copy the data without it"
    raise FileFormatError(path, "file", "a regular file", what_is_at(path), advice)


def files_below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Regular files below a folder, through links; anything else raises `FileFormatError`."""
    seen = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:  # a link to a folder above
            folders.clear()
            continue
        seen.add(real)
        for name in names:
            yield Path(place, name), _check_regular(Path(place, name))


def digests_below(folder: Path) -> dict[str, str]:
    """Digests of the files below a folder by relative path."""
    paths = [path for path, _ in files_below(folder)]
    with ThreadPoolExecutor(_THREADS) as pool:
        found = pool.map(sha256_of, paths)
        return {path.relative_to(folder).as_posix(): own for path, own in zip(paths, found, strict=True)}


def check_digest(path: Path, expected: str, since: str, advice: str, found: str | None = None) -> None:
    """Raise `FileFormatError` if a file has another digest, or is gone.

    Args:
        expected: the earlier digest; empty where there was no file.
        since: when that was, in words.
        found: the digest now, where it is known.
    """
    if found is None:
        found = digest_of(path) if os.path.lexists(path) else ""
    if found != expected:
        told, got = (f"SHA-256 {each[:_SHOWN]}..." if each else "no file" for each in (expected, found))
        raise FileFormatError(path, "contents", f"{told} as {since}", got, advice)


class Digests:
    """Digests of files that are read again and again, kept in a file.

    Args:
        kept: that file, which is read here; `None` for none.
    """

    def __init__(self, kept: Path | None):
        self._kept, self._known = kept, dict[str, list[str]]()
        if kept is not None:
            with contextlib.suppress(OSError, ValueError):  # none yet, or damaged: computed again
                self._known = {str(path): list(map(str, told)) for path, told in _read(kept).items()}

    def of(self, paths: Iterable[Path]) -> dict[str, str]:
        """Digests of files or folders, by absolute path; computed where size, times or inode changed."""
        found = {}
        for path in map(Path.absolute, paths):
            stamp = _stamp(path)  # before reading: what changes meanwhile is read again
            known = self._known.get(str(path), [])
            found[str(path)] = known[1] if known[:1] == [stamp] else digest_of(path)
            self._known[str(path)] = [stamp, found[str(path)]]
        return found

    def save(self) -> None:
        """Write the file."""
        if self._kept is not None:
            write_text(self._kept, json.dumps(self._known, indent=1))


def _stamp(path: Path) -> str:
    """Changes with the contents of a file or folder; the time of change of an inode cannot be set back."""
    if path.is_dir():
        stamps = sorted(f"{one} {_told(found)}" for one, found in files_below(path))
        return hashlib.sha256("\n".join(stamps).encode("utf-8", "surrogateescape")).hexdigest()
    return _told(_check_regular(path))


def stamp_of(path: Path) -> str:
    """Size, and time of the last change, of a file or of all files below a folder."""
    paths = path.rglob("*") if path.is_dir() else [path]
    found = [each.stat() for each in paths if each.is_file()]
    changed = datetime.datetime.fromtimestamp(max(each.st_mtime for each in found), datetime.UTC)
    return f"{sum(each.st_size for each in found)} bytes, {changed.isoformat()}"


def _told(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _read(path: Path) -> dict:
    _check_regular(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected a mapping, got another value; remove it.")
    return found


def write_listed(folder: Path, digests: Mapping[str, str]) -> None:
    """Record the digests of the files of a folder in it."""
    write_text(folder / CHECKSUMS_NAME, json.dumps(dict(digests), indent=1))


def read_listed(folder: Path) -> dict[str, str]:
    """What `write_listed` recorded; raises `FileFormatError`."""
    path, advice = folder / CHECKSUMS_NAME, "compute the folder again"
    try:
        return {str(name): str(digest) for name, digest in _read(path).items()}
    except (OSError, ValueError) as error:
        raise FileFormatError(
            path, "file", "the checksums of the files beside it", str(error), advice
        ) from error


def check_listed(folder: Path, found: Mapping[str, str]) -> None:
    """Raise `FileFormatError` for a file whose digest differs from the one recorded in its folder."""
    for name, expected in read_listed(folder).items():
        advice = "the store is damaged: compute or copy it again"
        check_digest(folder / name, expected, "when it was written", advice, found.get(name, ""))


@contextlib.contextmanager
def sealing(path: Path) -> Iterator[io.BufferedRandom]:
    """Replace a file by one that ends with the digest of what is written to it."""
    with replacing(path) as temporary, open(temporary, "wb+") as file:
        yield file
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(digest.encode())


def unsealed(path: Path, kind: str, advice: str) -> io.BytesIO:
    """The contents of a file of `sealing`; raises `FileFormatError` if they changed."""
    _check_regular(path)
    data = path.read_bytes()
    contents, told = data[:-_LENGTH], data[-_LENGTH:].decode("ascii", "replace")
    found = hashlib.sha256(contents).hexdigest()
    expected, got = (
        f"a {kind} whose SHA-256 is {told[:_SHOWN]}... as it says at its end",
        f"{found[:_SHOWN]}...",
    )
    if not re.fullmatch("[0-9a-f]+", told):
        expected = f"a {kind} that ends with its SHA-256"
        got = "another end: it was cut, or is of another version"
    if found != told:
        raise FileFormatError(path, "contents", expected, got, advice)
    return io.BytesIO(contents)


def digest_of_tree(tree: PyTree, *further: object) -> str:
    """SHA-256 of the structure, types, shapes and numbers of a tree, and of `repr` of anything else."""
    leaves, structure = jax.tree.flatten(tree)
    told = _ADDRESS.sub("", str(structure))  # that of a function is another one in every process
    digest = hashlib.sha256(repr((told, *further)).encode())
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        is_number = array.dtype != object  # whose bytes would be an address
        digest.update(array.tobytes() if is_number else _ADDRESS.sub("", repr(leaf)).encode())
    return digest.hexdigest()
