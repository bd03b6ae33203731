"""Downloads: a cache of files with checksums.

A file of the cache has a note beside it with its address, size, SHA-256 and date; one that is not as noted is
fetched again. The folder is `$TUNAX_LITE_DOWNLOADS`, or `tunax_lite/downloads` of the user's cache.
"""

import contextlib
import datetime
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from ...io.checksums import sha256_of
from ...io.writing import file_name, replacing, write_text

TIMEOUT = 60.0
"""Longest time without an answer [s]."""


def folder() -> Path:
    """Of the cache."""
    given = os.environ.get("TUNAX_LITE_DOWNLOADS")
    system = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Path(given or system / "tunax_lite/downloads").expanduser()


def kept(key: str, name: str, fetch: Callable[[Path], object], address: str) -> Path:
    """The file of a request in the cache, fetched if it is not there as it was noted.

    Args:
        key: of the request, everything that its answer depends on.
        name: how the file ends.
        fetch: writes the answer to a path.
        address: for the note and messages.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    path = folder() / f"{digest}-{file_name(name)}"
    note = path.with_name(f"{path.name}.json")
    with contextlib.suppress(OSError, ValueError, KeyError):
        if json.loads(note.read_text(encoding="utf-8"))["sha256"] == sha256_of(path):
            return path
    with replacing(path) as temporary:
        fetch(temporary)
    date = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    told = {"address": address, "size": path.stat().st_size, "sha256": sha256_of(path), "date": date}
    write_text(note, json.dumps(told, indent=1))
    return path


def unpacked(path: Path) -> list[Path]:
    """The files of a zip archive beside it, or the file itself."""
    if not zipfile.is_zipfile(path):
        return [path]
    found = []
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            target = path.with_name(f"{path.stem}-{file_name(Path(name).name)}")
            with replacing(target) as temporary:
                temporary.write_bytes(archive.read(name))
            found.append(target)
    return found


def noted(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of downloads, by address."""
    found = {}
    for path in paths:
        told = json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))
        found[told["address"]] = told["sha256"]
    return found
