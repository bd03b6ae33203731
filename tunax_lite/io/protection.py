"""Overwriting: a command replaces its own results, other files on request, and never its input.

Within `protecting`, readers record their files, and `replacing` refuses to overwrite these under any name or
link. A command announces its outputs to `check_outputs` before it computes. Files record their origin:
attributes in NetCDF, text in figures, pages and YAML; folders that are removed hold a mark. Outside
`protecting`, as in a user's program, writers overwrite freely; folders without a mark stay there, too.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import shutil
import stat
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
    case: str = ""  # name of the case, or of its file
    parameters: str = ""  # parameters of the closure, as JSON
    command: str = ""  # the command line
    closure: str = ""  # settings of the closure other than parameters, as JSON
    restart: str = ""  # file and frame from which the run was restarted; empty for a run from the start
    date: str = ""  # of the start, in UTC
    commit: str = ""  # of the code, where it is a checkout
    machine: str = ""  # processors, devices and system
    packages: str = ""  # versions of Python and of what computes, as JSON
    data: str = ""  # SHA-256 of the files that the configuration names, as JSON


def read_provenance(path) -> Provenance:
    """Origin recorded in a file of `write_trajectory`; empty if there is none."""
    import netCDF4  # takes long

    with netCDF4.Dataset(path) as file:
        names = [field.name for field in dataclasses.fields(Provenance)]
        return Provenance(**{name: str(getattr(file, f"tunax_lite_{name}", "")) for name in names})


_MARK = "tunax_lite product: "
_MARKED_TEXT = re.compile(re.escape(_MARK).encode() + rb'(.*?)(?:">| -->)')
_BEGIN_OF_TEXT = 4096
CALIBRATION, POSTERIOR = "calibration", "posterior"
"""Origins of NetCDF, YAML and checkpoints whose content says no more."""
_MARK_OF_FOLDER = ".tunax_lite"
_OF_STORES = "zarr.json", ".zgroup", ".zarray"


class OverwriteError(FileExistsError):
    """A file that must not be overwritten: names it and a remedy."""

    def __init__(self, path, expected: str, got: str, advice: str):
        FileExistsError.__init__(self, f"{path}: expected {expected}, got {got}; {advice}.")


class _Known:
    """Files that a command reads, may replace, and wrote itself; `products`: origins of its outputs."""

    def __init__(self) -> None:
        self.inputs: list[Path] = []
        self.allowed: set[Path] = set()
        self.products: dict[Path, str] = {}


_current: list[_Known] = []


@contextlib.contextmanager
def protecting() -> Iterator[None]:
    """Protect existing files, and files read from now on in any thread."""
    _current.append(_Known())
    try:
        yield
    finally:
        _current.pop()


def _absolute(path) -> Path:
    return Path(os.path.abspath(path))


def note_input(path) -> None:
    """Record a file that is read, unless it is the command's own output."""
    if _current and _absolute(path) not in (*_current[-1].allowed, *_current[-1].inputs):
        _current[-1].inputs.append(_absolute(path))


def note_made(path) -> None:
    """Record a file that is written: it may be replaced again."""
    if _current:
        _current[-1].allowed.add(_absolute(path))


def product_of(path) -> str:
    """Origin of an output as announced to `check_outputs`; empty if unknown."""
    return _current[-1].products.get(_absolute(path), "") if _current else ""


def check_outputs(
    paths: Iterable[Path],
    *,
    overwrite: bool,
    product: str = "",
    also: Iterable[Path] = (),
    folders: bool = False,
) -> None:
    """Refuse, before computing, to overwrite files that are not the command's own.

    Args:
        overwrite: whether existing files may be replaced, except inputs.
        product: origin of the files; a file with another origin is foreign. Empty: all that exist are.
        also: outputs that count as the command's own even if they record no origin.
        folders: whether the outputs are folders, which are replaced as a whole.
    """
    own = {_absolute(path) for path in also}
    product = quote(product, safe="/ ")  # safe in every file format
    known = _current[-1] if _current else _Known()
    for path in paths:
        absolute = _absolute(path)
        check_letters(path)
        _refuse_input(path)
        if path.is_dir() and not folders:
            raise OverwriteError(path, "a file to write", "a folder", "name a file in it")
        is_own = absolute in own or (product != "" and product == mark_of(path))
        if not (overwrite or is_own or not os.path.lexists(path)):
            expected = "no file, or the result of the same run"
            advice = "add --overwrite to replace it, or choose another output"
            raise OverwriteError(path, expected, "another file", advice)
        known.allowed.add(absolute)
        known.products[absolute] = product


def check_letters(path: Path) -> None:
    """Refuse a path that the locale cannot represent: libraries that write files need the characters."""
    encoding = sys.getfilesystemencoding()
    try:
        str(path).encode(encoding)
    except UnicodeEncodeError:
        expected = f"a name that the locale has letters for ({encoding})"
        advice = "set PYTHONUTF8=1 or LC_ALL=C.UTF-8, or choose another output"
        raise OverwriteError(path, expected, "another one", advice) from None


def check_replaceable(path: Path) -> None:
    """The same at the moment of writing, for inputs and for files of other programs or commands."""
    _refuse_input(path)
    allowed = not _current or _absolute(path) in _current[-1].allowed
    if not allowed and os.path.lexists(path) and mark_of(path) not in (CALIBRATION, POSTERIOR):
        expected = "no file, or one that the same command wrote"
        raise OverwriteError(path, expected, "another file", "move it, or choose another output")


def _refuse_input(path: Path) -> None:
    """Refuse what is read, a folder that holds it, and the inside of a Zarr store, of which all is read."""
    place = Path(os.path.realpath(path))
    for read in _current[-1].inputs if _current else ():
        real = Path(os.path.realpath(read))
        is_same = real == place or place in real.parents
        with contextlib.suppress(OSError):  # one of them does not exist
            is_same = is_same or os.path.samefile(path, read)  # a hard link
        if is_same:
            expected = "another file than those that are read"
            got = f"a folder with {read}" if place in real.parents else f"{read}, which is one of them"
            raise OverwriteError(path, expected, got, "choose another output")
    is_free = not _current or _absolute(path) in _current[-1].allowed
    for folder in () if is_free else place.parents:
        if any((folder / name).is_file() for name in _OF_STORES):
            expected = "a path outside of Zarr stores"
            raise OverwriteError(path, expected, f"one inside of {folder}", "choose another output")


def make_folder(path: Path) -> None:
    """Create an empty folder that `remove` may remove; an earlier one of this package goes."""
    remove(path)
    path.mkdir(parents=True)
    text = f"Made by tunax_lite {__version__}; removed by it, too.\n"
    (path / _MARK_OF_FOLDER).write_text(text, encoding="utf-8")


def check_removable(path: Path) -> None:
    """Refuse, before computing, a file or folder in the way that this package did not make."""
    _refuse_input(path)
    is_made = path.is_dir() and not path.is_symlink()
    is_made = is_made and ((path / _MARK_OF_FOLDER).is_file() or not any(path.iterdir()))
    if os.path.lexists(path) and not is_made:
        expected, advice = "nothing, or a folder that tunax_lite made", "move it, or choose another output"
        raise OverwriteError(path, expected, "another one", advice)


def remove(path: Path) -> None:
    """Remove a folder of `make_folder` if there is one; anything else there is an `OverwriteError`."""
    check_removable(path)
    shutil.rmtree(path, ignore_errors=True)


def remove_file(path: Path) -> None:
    """Remove a file of this command if there is one; one that it only reads is an `OverwriteError`."""
    _refuse_input(path)
    path.unlink(missing_ok=True)


def text_mark(path) -> str:
    """Origin of a text file; put it into a comment in its first lines."""
    return _MARK + product_of(path)


def product_of_run(about: Provenance) -> str:
    """String that identifies the results of one run."""
    parts = json.dumps([about.config, about.case, about.parameters, about.restart])
    return f"run {hashlib.sha256(parts.encode()).hexdigest()[:16]}"


def mark_of(path: Path) -> str | None:
    """Origin recorded in a file; `None` if this package did not write it."""
    with contextlib.suppress(OSError, RuntimeError, ValueError, TypeError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            head = file.read(_BEGIN_OF_TEXT)
        match path.suffix.lower():
            case ".nc" if (about := read_provenance(path)).version:
                import netCDF4  # takes long

                with netCDF4.Dataset(path) as file:
                    if "closure_state" in file.ncattrs() or "quantile" in file.variables:
                        return product_of_run(about)
                    if "tunax_lite_product" in file.ncattrs():
                        return str(file.getncattr("tunax_lite_product"))
                    return POSTERIOR if "information" in file.variables else CALIBRATION
            case ".png" if b"tEXtSoftware\0tunax_lite" in head:
                length, _, rest = (head[:4] + head).partition(b"tEXtSource\0")
                return rest[: int.from_bytes(length[-4:]) - len(b"Source\0")].decode("latin-1")
            case ".html" | ".md":
                found = _MARKED_TEXT.search(head)
                return None if found is None else found[1].decode()
            case ".yaml":
                text = path.read_bytes()
                kind = CALIBRATION if b"\ncalibration:" in text else POSTERIOR
                return kind if b"\n  tunax_lite_version: " in text else None
            case ".eqx":
                with open(path, "rb") as file:
                    header = json.loads(file.readline())
                kind = CALIBRATION if "likelihood" not in header else POSTERIOR
                return kind if "fingerprint" in header else None
    return None
