"""Overwriting: a command replaces its own results, other files on request, and its input never.

Within `protecting`, readers remember their files, and `replacing` refuses to put anything in their place,
whatever the name or the link that leads to them. A command tells `check_outputs` what it is going to write
before it computes. Files say in themselves what they were made of: attributes of NetCDF, texts in figures,
pages and YAML. Without `protecting`, as in a program of one's own, writers write where they are told.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from .. import __version__


@dataclasses.dataclass(frozen=True)
class Provenance:
    """Origin of a file, written as global attributes."""

    version: str = __version__  # of the package
    config: str = ""  # text of the configuration
    case: str = ""  # its name, or that of its file
    parameters: str = ""  # of the closure, as JSON
    command: str = ""  # the command line
    closure: str = ""  # what it is made of besides its parameters, as JSON
    restart: str = ""  # the file and the frame that the run goes on from; empty for one from the start


def read_provenance(path) -> Provenance:
    """Origin recorded in a file of `write_trajectory`; empty if there is none."""
    import netCDF4  # takes long

    with netCDF4.Dataset(path) as file:
        names = [field.name for field in dataclasses.fields(Provenance)]
        return Provenance(**{name: str(getattr(file, f"tunax_lite_{name}", "")) for name in names})


_MARK = "tunax_lite product: "
_MARKED_TEXT = re.compile(re.escape(_MARK).encode() + rb'(.*?)(?:">| -->)')
_BEGIN_OF_TEXT = 4096


class OverwriteError(FileExistsError):
    """A file that must not be overwritten: names it, and says what to do."""

    def __init__(self, path, expected: str, got: str, advice: str):
        super().__init__(f"{path}: expected {expected}, got {got}; {advice}.")


class _Known:
    """What a command reads, may replace, and wrote itself; `products` are what its files are made of."""

    def __init__(self) -> None:
        self.inputs: list[Path] = []
        self.allowed: set[Path] = set()
        self.products: dict[Path, str] = {}


_current: list[_Known] = []


@contextlib.contextmanager
def protecting() -> Iterator[None]:
    """Protect what is read from now on, in all threads, and what is there already."""
    _current.append(_Known())
    try:
        yield
    finally:
        _current.pop()


def _absolute(path) -> Path:
    return Path(os.path.abspath(path))


def note_input(path) -> None:
    """Remember a file that is read, unless it is the command's own output."""
    if _current and _absolute(path) not in (*_current[-1].allowed, *_current[-1].inputs):
        _current[-1].inputs.append(_absolute(path))


def note_made(path) -> None:
    """Remember a file that is written: it may be replaced again."""
    if _current:
        _current[-1].allowed.add(_absolute(path))


def product_of(path) -> str:
    """What `check_outputs` was told that a file is made of; empty if nothing."""
    return _current[-1].products.get(_absolute(path), "") if _current else ""


def check_outputs(
    paths: Iterable[Path], *, overwrite: bool, product: str = "", also: Iterable[Path] = ()
) -> None:
    """Refuse, before anything is computed, to write over what is not the command's own.

    Args:
        overwrite: whether it may replace files that are there, but for what it reads.
        product: what the files are made of; one that says otherwise is another's. Empty for any.
        also: those of them that count as the command's own whatever they say, for what cannot say it.
    """
    own = {_absolute(path) for path in also}
    product = quote(product, safe="/ ")  # fit for every kind of file
    known = _current[-1] if _current else _Known()
    encoding = sys.getfilesystemencoding()
    for path in paths:
        absolute = _absolute(path)
        try:
            str(path).encode(encoding)  # libraries that write files need its letters
        except UnicodeEncodeError:
            expected = f"a name that the locale has letters for ({encoding})"
            advice = "set PYTHONUTF8=1 or LC_ALL=C.UTF-8, or choose another output"
            raise OverwriteError(path, expected, "another one", advice) from None
        _refuse_input(path)
        mark = mark_of(path)
        is_own = absolute in own or (mark is not None and product in ("", mark))
        if not (overwrite or is_own or not os.path.lexists(path)):
            expected = "no file, or the result of the same run"
            advice = "add --overwrite to replace it, or choose another output"
            raise OverwriteError(path, expected, "another file", advice)
        known.allowed.add(absolute)
        known.products[absolute] = product


def check_replaceable(path: Path) -> None:
    """The same where a file is written, for what the command reads, or what is of another program."""
    _refuse_input(path)
    allowed = not _current or _absolute(path) in _current[-1].allowed
    if not allowed and os.path.lexists(path) and mark_of(path) is None:
        expected = "no file, or one that tunax_lite wrote"
        raise OverwriteError(path, expected, "another file", "move it, or choose another output")


def _refuse_input(path: Path) -> None:
    for read in _current[-1].inputs if _current else ():
        try:
            is_same = os.path.samefile(path, read)
        except OSError:  # one of them is not there
            is_same = os.path.realpath(path) == os.path.realpath(read)
        if is_same:
            expected, got = "another file than those that are read", f"{read}, which is one of them"
            raise OverwriteError(path, expected, got, "choose another output")


def text_mark(path) -> str:
    """What a text says about what it is made of; put it into a comment of its first lines."""
    return _MARK + product_of(path)


def product_of_run(about: Provenance) -> str:
    """What tells the results of one run from those of another."""
    parts = json.dumps([about.config, about.case, about.parameters, about.restart])
    return f"run {hashlib.sha256(parts.encode()).hexdigest()[:16]}"


def mark_of(path: Path) -> str | None:
    """What a file says that it is made of; `None` for one that this package did not write."""
    with contextlib.suppress(OSError, RuntimeError, ValueError, TypeError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        match path.suffix.lower():
            case ".nc":
                about = read_provenance(path)
                return product_of_run(about) if about.version else None
            case ".png":
                return _mark_of_figure(path)
            case ".html" | ".md":
                with open(path, "rb") as file:
                    found = _MARKED_TEXT.search(file.read(_BEGIN_OF_TEXT))
                return None if found is None else found[1].decode()
            case ".yaml":
                return "" if b"\n  tunax_lite_version: " in path.read_bytes() else None
            case ".eqx":
                with open(path, "rb") as file:
                    return "" if "fingerprint" in json.loads(file.readline()) else None
    return None


def _mark_of_figure(path: Path) -> str | None:
    """What a PNG of this package says under `Source`."""
    texts = {}
    with open(path, "rb") as file:
        if file.read(8) != b"\x89PNG\r\n\x1a\n":
            return None
        while len(head := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            if kind == b"IDAT":
                break
            if kind == b"tEXt" and length < _BEGIN_OF_TEXT:
                key, _, text = file.read(length).partition(b"\0")
                texts[key] = text.decode("latin-1")
            else:
                file.seek(length, os.SEEK_CUR)
            file.seek(4, os.SEEK_CUR)
    return texts.get(b"Source", "") if texts.get(b"Software") == "tunax_lite" else None
