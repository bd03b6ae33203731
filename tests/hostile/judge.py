"""The rules by which an outcome is judged."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import netCDF4
import numpy as np

from tests.errors import missing_from

from .attack import Try

DOCUMENTED = (0, 1, 2, 3, 129, 130, 143)
_LARGEST = 10**8
"""Files beyond this size [bytes] are not read to compare them."""
_MOST_LINES, _MOST_CHARACTERS = 25, 2000
_RANGES = {"temperature": (-5.0, 60.0), "salinity": (0.0, 60.0), "u": (-20.0, 20.0), "v": (-20.0, 20.0)}


@dataclass(frozen=True)
class Outcome:
    """What a command did.

    Args:
        code: its exit status; `None` if it did not end in time, negative if a signal ended it.
        stdout, stderr: what it said.
        seconds: that it took.
    """

    code: int | None
    stdout: str
    stderr: str
    seconds: float


def contents(folder: Path) -> dict[str, str]:
    """Digest of every file below a folder; of what is no file, what it is."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file() and path.stat().st_size > _LARGEST:
            found[name] = f"{path.stat().st_size} bytes of {path.stat().st_mtime_ns}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder" if path.is_dir() else "special"
    return found


def judge(attempt: Try, outcome: Outcome, folder: Path, before: dict[str, str]) -> list[str]:
    """What is wrong with an outcome; nothing if all is well."""
    if outcome.code is None:
        return [f"hang: more than {attempt.seconds:g} s"]
    wrong = _of_messages(attempt, outcome)
    if outcome.code not in DOCUMENTED:
        wrong.append(f"exit code {outcome.code}")
    if outcome.code == 0 and attempt.must_fail:
        wrong.append("silent: exit code 0")
    return wrong + _of_files(attempt, outcome, folder, before)


def _of_messages(attempt: Try, outcome: Outcome) -> list[str]:
    text, wrong = outcome.stderr, []
    if "Traceback (most recent" in text + outcome.stdout:
        wrong.append("traceback")
    if "error: unexpected" in text:
        wrong.append("an unexpected error")
    if re.search(r"\w*Warning: |HDF5-DIAG", text):
        wrong.append("warnings of a library")
    if outcome.code == 0:
        return wrong
    if len(text.splitlines()) > _MOST_LINES or len(text) > _MOST_CHARACTERS:
        wrong.append(f"a message of {len(text.splitlines())} lines and {len(text)} characters")
    if text.count("error: ") + text.count("Error: ") + text.count("interrupted") < 1:
        wrong.append("no message")
    if text.count("tunax-lite: error:") > 1:
        wrong.append("several messages")
    if attempt.names and all(missing_from(text, name) for name in attempt.names):
        wrong.append(f"a message without {' or '.join(attempt.names)}")
    return wrong


def _of_files(attempt: Try, outcome: Outcome, folder: Path, before: dict[str, str]) -> list[str]:
    after, wrong = contents(folder), []
    for name, digest in before.items():
        if after.get(name) != digest and not _is_product(name, attempt):
            wrong.append(f"{'changed' if name in after else 'removed'}: {name[:60]!r}")
    new = [name for name in after if name not in before]
    wrong += [f"left over: {name}" for name in new if name.endswith(".tmp")]
    wrong += [f"unasked: {name[:60]!r}" for name in new if not _is_product(name, attempt)]
    for name in new:
        if name.endswith(".nc") and outcome.code == 0 and after[name] not in ("folder", "special"):
            wrong += _of_result(folder / name)
    if outcome.code != 0 and "out.nc" in new and attempt.also is None:
        wrong.append("a result of a command that failed")
    return wrong


def _is_product(name: str, attempt: Try) -> bool:
    return any(
        name == product or name.startswith((f"{product}/", product + ".")) for product in attempt.products
    )


def _of_result(path: Path) -> list[str]:
    """Values of the state that are not finite, or cannot be those of water."""
    wrong = []
    try:
        with netCDF4.Dataset(path) as file:
            for name, (low, high) in _RANGES.items():
                if name not in file.variables:
                    continue
                values = np.ma.filled(file[name][...].astype(float), np.nan)
                if not np.isfinite(values).all():
                    wrong.append(f"silent: {name} that is not finite")
                elif values.size and not (low <= values.min() and values.max() <= high):
                    wrong.append(f"silent: {name} from {values.min():.3g} to {values.max():.3g}")
    except OSError as error:
        wrong.append(f"a damaged result: {error}")
    return wrong
