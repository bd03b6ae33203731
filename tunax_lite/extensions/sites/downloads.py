"""Downloads: time limits, retries, and a cache of files with checksums.

A file of the cache has a note beside it with its address, size, SHA-256 and date; one that is not as noted is
fetched again. The folder is `$TUNAX_LITE_DOWNLOADS`, or `tunax_lite/downloads` of the user's cache.
"""

import contextlib
import datetime
import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ...io.checksums import sha256_of
from ...io.errors import FileFormatError, shortened
from ...io.writing import file_name, replacing, write_text

T = TypeVar("T")
TIMEOUT = 60.0
"""Longest time without an answer or further bytes [s]."""
PAUSES = (1.0, 5.0)
"""Between attempts [s]; one more attempt than pauses."""
_AT_ONCE = 8
_BLOCK = 1 << 20
_FAILURES = (OSError, http.client.HTTPException, RuntimeError)


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
        retried(lambda: fetch(temporary), address)
    date = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    told = {"address": address, "size": path.stat().st_size, "sha256": sha256_of(path), "date": date}
    write_text(note, json.dumps(told, indent=1))
    return path


def retried(work: Callable[[], T], address: str) -> T:
    """What a service answers; failures of the network are tried again, refusals are not.

    Raises:
        FileFormatError: no answer, with the last reason.
    """
    reason = ""
    for pause in (*PAUSES, None):
        try:
            return work()
        except urllib.error.HTTPError as error:
            reason = f"{error.code} {error.reason}"
            error.close()
            if error.code in (401, 403):
                advice = "check your account and its key with the service"
                raise FileFormatError(address, "download", "an answer", reason, advice) from None
            if error.code < 500 and error.code != 429:
                advice = "check position, dates and address, or use another source"
                raise FileFormatError(address, "download", "an answer", reason, advice) from None
        except FileFormatError:
            raise
        except _FAILURES as error:
            reason = shortened(getattr(error, "reason", None) or error or type(error).__name__, 200)
        if pause is not None:
            time.sleep(pause)
    advice = "check the network and the address, try again later, or use files instead"
    raise FileFormatError(address, "download", "an answer", str(reason), advice)


def download(address: str) -> Path:
    """A file by its address, from the cache or the network.

    Raises:
        FileFormatError: no answer, or one that ends too early.
    """
    name = urllib.parse.urlsplit(address).path.rpartition("/")[2] or "file"
    return kept(address, name, lambda path: _stream(address, path), address)


def download_all(addresses: Iterable[str]) -> list[Path]:
    """Several files, some at the same time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(download, addresses))


def _stream(address: str, path: Path) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "tunax_lite"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, open(path, "wb") as file:
        expected, got = answer.headers.get("Content-Length"), 0
        while block := answer.read(_BLOCK):
            got += file.write(block)
    if expected is not None and got != int(expected):
        raise OSError(f"{got} of {expected} bytes")


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
